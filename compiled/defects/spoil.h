/* spoil.h: how defects change programs: rows in place, rows put in the place of others, values taken for others. Whatever was changed is
 * inferred again with all that reads it; what the shape rules then refuse is undone, and the next row is tried. */
#ifndef SCATTERPROOF_SPOIL_H
#define SCATTERPROOF_SPOIL_H

#include "compiled/defects/defects.h"

/* Changes *n, row i of s->g->p: another operator, other arguments (never the entries of a list, which others may share). False: it is as
 * it was. */
typedef bool row_spoiler(const struct defect_site *s, struct node *n, int i);
/* Of the rows from `from` on the first that can be spoiled. */
bool spoil_row(struct defect_site *s, int from, row_spoiler *spoil);

/* Appends rows that are to stand in the place of row i, and returns their value, NO_VALUE: none do. */
typedef int row_maker(struct build *b, const struct defect_site *s, int i);
/* Not behind the step functional, whose rows others have numbers of. Values have the layout of what they replace. */
bool spoil_with(struct defect_site *s, int from, row_maker *make);
/* The same, whatever layout the values have. */
bool spoil_with_layout(struct defect_site *s, int from, row_maker *make);

/* The earlier value that row i is taken for, NO_VALUE: none. */
typedef int row_twin(const struct defect_site *s, int i);
/* Whoever reads row i reads its twin, whatever layout that has. */
bool spoil_readers(struct defect_site *s, int from, row_twin *twin);

/* Row n becomes `op` of its own first operand alone. */
void become_unary(struct prog *p, struct node *n, int op);
/* Is the value a result in this role? */
bool is_result(const struct pure *g, int value, enum result_role role);

/* One function per row of defects.def. */
#define DEFECT(name, step, caught, what, like) bool defect_##name(struct defect_site *s);
#include "compiled/defects/defects.def"
#undef DEFECT

#endif
