/* factory.c: constants: full, zeros_like, ones_like, and the in-place fills. Facts: ATen/native/TensorFactories.cpp, Fill.cpp. */
#include "eager/move.h"

bool meta_full(struct meta_ctx *c)
{
	const struct node *n = c->n;
	const struct scalar *value = &n->arg[1].scalar;
	int64_t size[MAX_RANK];
	char text[SIZES_TEXT];
	enum dtype t = node_given(n, 2)             ? n->arg[2].dtype
	               : value->kind == SC_BOOL     ? DT_B8
	               : value->kind == SC_INT      ? DT_I64
	                                            : DT_F32;
	if (n->arg[0].n > MAX_RANK)
		return err_set(c->err, "rank %d exceeds the limit %d", n->arg[0].n, MAX_RANK);
	for (int d = 0; d < n->arg[0].n; d++)
		size[d] = n->arg[0].ints[d].value;
	for (int d = 0; d < n->arg[0].n; d++)
		if (size[d] < 0)
			return err_set(c->err, "Trying to create tensor with negative dimension %lld: %s", (long long)size[d],
			               sizes_text(text, size, n->arg[0].n));
	if (!meta_check_sizes(size, n->arg[0].n, c->err))
		return false;
	meta_make_contiguous(&c->out[0], t, size, n->arg[0].n);
	return scalar_fits_fill(value, &c->out[0], c->err);
}

bool kern_full(struct kern_ctx *c)
{
	tensor_fill_scalar(&c->out[0], &c->n->arg[1].scalar);
	return true;
}

bool kern_zeros_like(struct kern_ctx *c)
{
	tensor_zero(&c->out[0]);
	return true;
}

bool kern_ones_like(struct kern_ctx *c)
{
	tensor_fill_scalar(&c->out[0], &(struct scalar){SC_INT, 1, 0});
	return true;
}

bool meta_fill(struct meta_ctx *c)
{
	layout_preserve(&c->out[0], c->in[0]);
	return scalar_fits_fill(&c->n->arg[1].scalar, c->in[0], c->err);
}

bool kern_fill(struct kern_ctx *c)
{
	return kern_full(c);
}

/* Nothing of self is left: its cotangent stays zero. */
void grad_fill(struct grad_ctx *c)
{
	(void)c;
}
