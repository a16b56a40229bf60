/* grounds.c: a table of PyTorch's sentences. Each has a predicate over the text of the program and its storages, and shares nothing with
 * the code that refuses. */
#include "fuzz/triage/grounds.h"

#include "generated/op_args.h"
#include "generated/op_id.h"

/* A view in place counts as a write: autograd refuses it where it refuses those. */
static const struct value *written(const struct prog *p, const struct node *n)
{
	return op_has(n->op, T_MUTATES | T_INPLACE_VIEW) ? &p->node[n->arg[A_INPLACE_self].node].out[0] : NULL;
}

/* A tensor of argument k lies in this storage. */
static bool lies_in(const struct prog *p, const struct arg *k, int storage)
{
	bool found = k->tag == ARG_TENSOR && p->node[k->node].out[0].storage == storage;
	for (int i = 0; k->tag == ARG_TENSORS && i < k->n; i++)
		found = found || (k->nodes[i] >= 0 && p->node[k->nodes[i]].out[0].storage == storage);
	return found;
}

/* n keeps something for its derivative that lies in this storage. An in-place row keeps a copy of its self. */
static bool keeps(const struct prog *p, const struct node *n, int storage)
{
	bool kept = false;
	for (int s = 0; s < op_info[n->op].nsave; s++) {
		int what = op_info[n->op].save[s].what;
		if (what >= SAVE_RESULT)
			kept = kept || (what - SAVE_RESULT < n->nout && n->out[what - SAVE_RESULT].storage == storage);
		else if (!(what == A_INPLACE_self && op_has(n->op, T_MUTATES)))
			kept = kept || lies_in(p, &n->arg[what], storage);
	}
	return kept;
}

/* "modified by an inplace operation": kept first, then written, and there is a backward. */
static bool kept_and_written(const struct prog *p)
{
	for (int w = 0; p->has_backward && w < p->nnode; w++) {
		const struct value *self = written(p, &p->node[w]);
		for (int i = 0; self && i <= w; i++)
			if (keeps(p, &p->node[i], self->storage))
				return true;
	}
	return false;
}

/* "a leaf Variable that requires grad": what is written is the memory of an input that requires grad. */
static bool writes_leaf(const struct prog *p)
{
	for (int w = 0; w < p->nnode; w++) {
		const struct value *self = written(p, &p->node[w]);
		for (int i = 0; self && i < w; i++)
			if (node_requires_grad(&p->node[i]) && p->node[i].out[0].storage == self->storage)
				return true;
	}
	return false;
}

/* "a function that returns multiple views": there is one, and its memory is written. */
static bool writes_split(const struct prog *p)
{
	for (int w = 0; w < p->nnode; w++) {
		const struct value *self = written(p, &p->node[w]);
		for (int i = 0; self && i < w; i++)
			if (op_has(p->node[i].op, T_MULTI_VIEW) && p->node[i].nout && p->node[i].out[0].storage == self->storage)
				return true;
	}
	return false;
}

/* Two elements in one place: a dimension of stride 0, or strides so small that rows run into each other. */
static bool crowded(const struct value *v)
{
	int64_t span = 1, n = 1;
	for (int d = 0; d < v->meta.rank; d++) {
		span += (v->meta.size[d] - 1) * v->meta.stride[d];
		n *= v->meta.size[d];
	}
	bool crossing = false; /* a window may leave gaps and still meet itself */
	for (int d = 0; d < v->meta.rank; d++)
		for (int e = 0; e < v->meta.rank; e++)
			crossing = crossing
				|| (d != e && v->meta.size[d] > 1 && v->meta.size[e] > 1 && v->meta.stride[d] <= v->meta.stride[e]
					&& v->meta.stride[d] * (v->meta.size[d] - 1) >= v->meta.stride[e]);
	return n > span || crossing;
}

static bool writes_crowded(const struct prog *p)
{
	for (int w = 0; w < p->nnode; w++)
		if (op_has(p->node[w].op, T_MUTATES) && crowded(written(p, &p->node[w])))
			return true;
	return false;
}

/* "some elements of the input tensor and the written-to tensor": an operand lies in the memory that is written. */
static bool writes_operand(const struct prog *p)
{
	bool found = false;
	for (int w = 0; w < p->nnode; w++) {
		const struct node *n = &p->node[w];
		for (int k = A_INPLACE_self + 1; written(p, n) && k < op_info[n->op].nparam; k++)
			found = found || lies_in(p, &n->arg[k], written(p, n)->storage);
	}
	return found;
}

static bool clamps_integers(const struct prog *p)
{
	bool found = false;
	for (int i = 0; i < p->nnode; i++)
		found = found || (op_computing(p->node[i].op) == OP_clamp && p->node[i].nout && !dtype_is_float(node_meta(p, i)->dtype));
	return found;
}

static bool has_backward(const struct prog *p) { return p->has_backward; }

/* A source that is larger than its index: the derivative reads as many as the index has. */
static bool larger_source(const struct prog *p)
{
	for (int i = 0; i < p->nnode; i++) {
		const struct arg *index = node_arg(&p->node[i], N_index), *src = node_arg(&p->node[i], N_src);
		if (index && src && index->tag == ARG_TENSOR && src->tag == ARG_TENSOR
			&& !meta_same_sizes(node_meta(p, index->node), node_meta(p, src->node)))
			return true;
	}
	return false;
}

/* Rows whose derivative refuses sizes that the row itself takes. */
static bool gradient_by(const struct prog *p, int op)
{
	for (int i = 0; i < p->nnode; i++)
		if (p->node[i].op == op && node_is_run(&p->node[i]))
			return p->has_backward;
	return false;
}

static bool sums_embedding(const struct prog *p) { return gradient_by(p, OP_embedding_dense_backward); }
static bool scatters_strided(const struct prog *p) { return gradient_by(p, OP_as_strided_scatter); }

/* "Autograd not support dtype": a row that may be told a dtype was told one that is no float. */
static bool told_integer(const struct prog *p)
{
	for (int i = 0; i < p->nnode; i++) {
		const struct arg *t = node_arg(&p->node[i], N_dtype);
		if (t && t->tag != ARG_NONE && node_is_run(&p->node[i]) && p->node[i].nout && !dtype_is_float(node_meta(p, i)->dtype))
			return true;
	}
	return false;
}

static const struct {
	const char *says;
	bool (*ground)(const struct prog *p);
} refusals[] = {
	{"modified by an inplace operation", kept_and_written},
	{"leaf Variable that requires grad is being used in an in-place operation", writes_leaf},
	{"function that returns multiple views", writes_split},
	{"more than one element of the written-to tensor refers to a single memory location", writes_crowded},
	{"some elements of the input tensor and the written-to tensor refer to a single memory location", writes_operand},
	{"is outside the representable range of", clamps_integers},
	{"does not require grad and does not have a grad_fn", has_backward},
	{"Mismatch in shape: grad_output", has_backward},
	{"returned an invalid gradient at index 0", sums_embedding},
	{"can be any value and is ambiguous", sums_embedding},
	{"are out of bounds for storage of size", scatters_strided},
	{"returned an invalid gradient at index 1", larger_source},
	{"must match the size of tensor b", larger_source},
	{"Autograd not support dtype", told_integer},
};

bool grounds_for(const struct prog *p, const char *message)
{
	for (int i = 0; i < ARRAY_LEN(refusals); i++)
		if (strstr(message, refusals[i].says))
			return refusals[i].ground(p);
	return false;
}
