/* vary.h: the same program with another size or another dtype, to see for which of them something happens (sweeps). */
#ifndef SCATTERPROOF_VARY_H
#define SCATTERPROOF_VARY_H

#include "eager/lang/prog.h"

/* `to` wherever a size is `from`: of inputs, symbols, regions, views (shrink_size.h says what stays and what follows). *moved: positions
 * had to. Refused where that makes no program. */
bool vary_size(struct prog *out, const struct prog *p, int64_t from, int64_t to, bool *moved, struct arena *a, struct err *err);
/* `to` wherever the program says the dtype `from`, in words or by a default. */
bool vary_dtype(struct prog *out, const struct prog *p, enum dtype from, enum dtype to, struct arena *a, struct err *err);
/* What differs in q, which came of p: "x: 4x13x33 -> 4x14x33, slice_scatter.end: 6 -> 7". Nothing: "". */
void vary_print(struct strbuf *sb, const struct prog *p, const struct prog *q);

#endif
