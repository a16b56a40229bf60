/* emit_parts.h: what the texts for a processor (emit_c.c) and for a GPU (emit_cuda.c) share: the language is C for one and C++ for the
 * other, and both take these. A text defines bool, and CONSTS, CONSTS_GIVEN and CONSTS_OPEN: how a row's function gets its numbers. */
#ifndef SCATTERPROOF_EMIT_PARTS_H
#define SCATTERPROOF_EMIT_PARTS_H

#include "compiled/loops/loops.h"

extern const char *const emit_types; /* integers by size, moves of bits, enum dtype */
/* Wrapping integers, halves, pow; needs memcpy, pow, sqrt. declared: how those are that take more than one step; the longest of them may be
 * declared otherwise, by LARGE_FUNCTION (eager/lang/half.h). */
void emit_functions(struct strbuf *sb, const char *declared);
void emit_rows(struct strbuf *sb, const struct loops *const *l, int n); /* a function for each row and type that these n use */
/* A number of l, or the polynomial that it is, over variables s0, s1, ... */
void emit_number(struct strbuf *sb, const struct loops *l, int of, int64_t v);
void emit_register(struct strbuf *sb, const struct loops *l, int r);   /* its declaration */
void emit_statement(struct strbuf *sb, const struct loops *l, int at); /* instruction `at`; a loop's head ends with its brace */
/* The first position behind the tile that a loop is within, an expression. */
void emit_past_tile(struct strbuf *sb, const struct loop_ins *loop);
/* The type of a cell in memory, as bits or as a number (of halves: bits). */
const char *emit_cell_type(enum dtype t, bool bits);

#endif
