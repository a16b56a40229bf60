/* folded.c: defects of constant folding. */
#include "compiled/defects/spoil.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

static bool rounds_to_f32(const struct defect_site *s, struct node *n, int i)
{
	(void)s;
	(void)i;
	struct scalar *v = &n->arg[A_full_fill_value].scalar;
	if (n->op != OP_full || n->out[0].meta.dtype != DT_F64 || v->kind != SC_FLOAT || v->f == (double)(float)v->f || v->f != v->f)
		return false;
	v->f = (double)(float)v->f;
	return true;
}

bool defect_folded_in_f32(struct defect_site *s) { return spoil_row(s, 0, rounds_to_f32); }

static bool loses_dtype(const struct defect_site *s, struct node *n, int i)
{
	(void)s;
	(void)i;
	if (n->op != OP_full || !dtype_is_float(n->out[0].meta.dtype) || n->out[0].meta.dtype == DT_F32)
		return false;
	n->arg[A_full_dtype] = arg_dtype(DT_F32);
	return true;
}

bool defect_folded_dtype_lost(struct defect_site *s) { return spoil_row(s, 0, loses_dtype); }

static bool fills_all(const struct defect_site *s, struct node *n, int i)
{
	(void)i;
	if (n->op != OP_masked_fill)
		return false;
	const struct arg value = n->arg[A_masked_fill_value];
	become_unary(s->g->p, n, OP_fill_Scalar);
	n->arg[A_fill_Scalar_value] = value;
	return true;
}

bool defect_mask_folded(struct defect_site *s) { return spoil_row(s, 0, fills_all); }
