/* spoil_loops.h: how defects of the steps lower and reuse change loops: instructions in place, put before others, moved up, and registers
 * read in the place of others. What is changed is text that loops_read reads back as the same. No defect touches a cell outside of its
 * buffer: loads and stores are changed only where the ranges of their registers show that. */
#ifndef SCATTERPROOF_SPOIL_LOOPS_H
#define SCATTERPROOF_SPOIL_LOOPS_H

#include "compiled/defects/defects.h"

/* Changes instruction i, or puts others before or behind it. False: it is as it was. */
typedef bool ins_spoiler(struct loops *l, int i);
bool spoil_each(struct loops *l, ins_spoiler *spoil);  /* wherever it can, from the last on */
bool spoil_first(struct loops *l, ins_spoiler *spoil); /* where it can first */

/* Moves n instructions, which open no blocks, from `from` up to before `to`. */
void spoil_move_up(struct loops *l, int from, int n, int to);
/* What was appended since there were `before` instructions is put before instruction `to`. */
void spoil_insert(struct loops *l, int before, int to);
/* The last two instructions, an IF and its END, move around instructions [begin, end), which hold whole blocks. */
void spoil_enclose(struct loops *l, int begin, int end);
/* From instruction `from` on, register `to` is read in the place of `reg`. */
void spoil_reads(struct loops *l, int from, int reg, int to);

const struct loop_ins *spoil_definer(const struct loops *l, int reg); /* its instruction; of a VAR that, not those that set it */
bool spoil_is_row(const struct loops *l, int reg, int row);           /* is it a result of that row? */
bool spoil_in_buffer(const struct loops *l, const struct loop_ins *i, const struct affine *at); /* are all its cells known to be? */
int spoil_loop_around(const struct loops *l, int i);                                            /* the innermost FOR; -1: none */

#endif
