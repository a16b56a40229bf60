/* ref_factory.c: tensors made from one number: full, zeros_like, ones_like, fill_. */
#include "oracle/shape.h"

static bool fill_out(struct ref_ctx *c, enum dtype dt, const int64_t *size, int rank, const int64_t *stride, sid value)
{
	sid *out = ref_out(c, 0, dt, size, rank, stride);
	if (!out)
		return false;
	int64_t n = meta_numel(&c->out[0].meta);
	for (int64_t i = 0; i < n; i++)
		out[i] = value;
	return true;
}

/* full(size, value, dtype): dtype of the scalar if absent: f32, i64, b8. */
bool ref_full(struct ref_ctx *c)
{
	const struct arg *a = &c->n->arg[0];
	const struct scalar *s = scalar_of(c, 1);
	int64_t size[MAX_RANK];
	if (a->n > MAX_RANK)
		return err_set(c->err, "rank %d exceeds the limit %d", a->n, MAX_RANK);
	for (int d = 0; d < a->n; d++)
		size[d] = a->ints[d].value;
	static const enum dtype of[] = {[SC_BOOL] = DT_B8, [SC_INT] = DT_I64, [SC_FLOAT] = DT_F32};
	enum dtype dt = ref_given(c, 2) ? c->n->arg[2].dtype : of[s->kind];
	if (!meta_check_sizes(size, a->n, c->err) || !shape_fill_fits(c, s, dt, shape_numel(size, a->n)))
		return false;
	return fill_out(c, dt, size, a->n, NULL, shape_const(c, dt, s));
}

static bool number_like(struct ref_ctx *c, int64_t value)
{
	const struct meta *m = meta_of(c, 0);
	int64_t stride[MAX_RANK];
	shape_strides_like(stride, m);
	const struct scalar s = {SC_INT, value, 0};
	return fill_out(c, m->dtype, m->size, m->rank, stride, shape_const(c, m->dtype, &s));
}

bool ref_zeros_like(struct ref_ctx *c) { return number_like(c, 0); }
bool ref_ones_like(struct ref_ctx *c) { return number_like(c, 1); }

/* fill_(self, value). */
bool ref_fill(struct ref_ctx *c)
{
	const struct meta *m = meta_of(c, 0);
	const struct scalar *s = scalar_of(c, 1);
	if (!shape_fill_fits(c, s, m->dtype, meta_numel(m)))
		return false;
	return fill_out(c, m->dtype, m->size, m->rank, NULL, shape_const(c, m->dtype, s));
}
