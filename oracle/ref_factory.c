/* ref_factory.c: tensors made from nothing. */
#include "oracle/ref.h"

/* full(size, value, dtype): dtype of the scalar if absent: f32, i64, b8. */
bool ref_full(struct ref_ctx *c)
{
	const struct arg *a = &c->n->arg[0];
	const struct scalar *s = &c->n->arg[1].scalar;
	int64_t size[MAX_RANK], n = 1;
	if (a->n > MAX_RANK)
		return err_set(c->err, "full: more than %d dimensions", MAX_RANK);
	for (int d = 0; d < a->n; d++)
		size[d] = a->ints[d].value;
	enum dtype dt = ref_given(c, 2) ? c->n->arg[2].dtype : s->kind == SC_FLOAT ? DT_F32 : s->kind == SC_INT ? DT_I64 : DT_B8;
	sid *out = ref_out(c, 0, dt, size, a->n, NULL);
	if (!out)
		return false;
	n = meta_numel(&c->out[0].meta);
	sid v = tape_const(c->t, dt, s);
	for (int64_t i = 0; i < n; i++)
		out[i] = v;
	return true;
}
