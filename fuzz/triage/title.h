/* title.h: a cause in plain words, as an issue's title and a line of a list say it:
 *
 *     `repeat` of `as_strided`: gradient is all zero with torch.compile
 *     `argmin`: wrong result with torch.compile
 *     `index_fill`, `sum`: raises "AssertionError: n=copy_" with torch.compile
 *     `slice_scatter`: gradient is wrong (its layout is predicted wrong) with torch.compile
 *
 * What is called, in the order of the program (the smallest that shows it; inputs and constants left out); of a program that nobody has
 * made smaller, the operator that makes the wrong tensor ("`mean` among 24 operators: result is wrong"), or, of what raises, how many there
 * are ("24 operators, not minimised yet: raises ..."). Then which tensor is wrong and
 * how; where. A title is for people: nothing compares titles. */
#ifndef SCATTERPROOF_TITLE_H
#define SCATTERPROOF_TITLE_H

#include "reports/cause/store_cause.h"

/* c: as the store has it. In a. */
const char *title_of(const struct store_cause *c, struct arena *a);
/* How sentences end that are about the cause's stage, or about another one of the same family: "with torch.compile". In a. */
const char *title_where(const struct store_cause *c, struct arena *a);
const char *title_where_of(const char *target, struct arena *a);
/* The title of the cause that has this finding (32 hex digits); "" if the store cannot say. In a. */
const char *title_of_finding(struct store *s, const char *full_id, struct arena *a);
/* Writes the titles of all. */
void titles_write(struct store_causes *all, struct arena *a);

#endif
