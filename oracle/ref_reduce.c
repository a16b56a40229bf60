/* ref_reduce.c: index formulas of the reductions. */
#include "oracle/ref.h"

/* sum(self, dim, keepdim, dtype): integers and bools add up in i64; dtype converts first. Dims None or [] reduce everything. */
bool ref_sum_dim(struct ref_ctx *c)
{
	const struct meta *m = &c->in[0]->meta;
	bool mask[MAX_RANK];
	int64_t size[MAX_RANK], nkept, nreduced;
	if (!ref_dims(c, mask, 1, m->rank, true))
		return false;
	enum dtype dt = ref_given(c, 3) ? c->n->arg[3].dtype : dtype_is_float(m->dtype) ? m->dtype : DT_I64;
	int rank = ref_reduced(size, m, mask, c->n->arg[2].b);
	const sid *e = ref_rows(c, c->in[0], mask, &nkept, &nreduced);
	e = ref_cast(c, e, nkept * nreduced, dt);
	return ref_out_block(c, 0, dt, size, rank, NULL, tape_rows(c->t, SF_SUM, dt, e, nkept, nreduced, 0));
}
