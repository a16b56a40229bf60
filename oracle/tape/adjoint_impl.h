/* adjoint_impl.h: what the files of adjoint.c share. */
#ifndef SCATTERPROOF_ADJOINT_IMPL_H
#define SCATTERPROOF_ADJOINT_IMPL_H

#include "oracle/tape/adjoint.h"
#include "oracle/tape/nary_impl.h"

/* One scalar's adjoint on its way to the operands. */
struct adjoint_pass {
	struct adjoint *A;
	const struct tape_block *b;
	struct how h;
	int p, slot;
};

/* adjoint.c */
void adj_either_infinity(struct num *v);
struct num adj_finished(const struct adjoint_pass *s, int64_t k);  /* of scalar k of the block */
void adj_send(const struct adjoint_pass *s, sid id, struct num c); /* to one operand, converted to its dtype */
struct num adj_undecided(const struct num *g, const struct how *h);
void adj_add_group(const struct adjoint_pass *s, const sid *e, int64_t n, const struct num *g, bool tied);

/* adjoint_product.c */
void adj_prod(const struct adjoint_pass *s, const sid *e, int64_t n, const struct num *g, const struct num *y);
void adj_cumsum(const struct adjoint_pass *s);
void adj_cumprod(const struct adjoint_pass *s);

/* nary_slides.c */
void adj_slides(struct adjoint_pass *s);

/* rows.c */
void adj_rows(struct adjoint_pass *s);

/* adjoint_extreme.c */
void adj_extreme(const struct adjoint_pass *s, const sid *e, int64_t n, const struct num *g, const struct num *y);
void adj_picked(const struct adjoint_pass *s, const sid *e, int64_t n, const struct num *g);

#endif
