/* ref_scatter.c: index formulas of the scatters. */
#include "oracle/ref.h"

/* slice.Tensor's arithmetic: start and end wrapped and clamped as in aten/src/ATen/native/TensorShape.cpp (slice). */
static bool slice_bounds(struct ref_ctx *c, int *dim, int64_t *start, int64_t *length, int first_arg, const struct meta *m)
{
	int64_t step = ref_arg_int(c, first_arg + 3);
	if (m->rank == 0)
		return err_set(c->err, "slice() cannot be applied to a 0-dim tensor.");
	if (!ref_dim(c, dim, ref_arg_int(c, first_arg), m->rank))
		return false;
	if (step <= 0)
		return err_set(c->err, "slice step must be positive");
	int64_t n = m->size[*dim], s = ref_given(c, first_arg + 1) ? ref_arg_int(c, first_arg + 1) : 0;
	int64_t e = ref_given(c, first_arg + 2) ? ref_arg_int(c, first_arg + 2) : INT64_MAX;
	s = s < 0 ? s + n : s;
	e = e < 0 ? e + n : e;
	s = s < 0 ? 0 : MIN(s, n);
	e = e < s ? s : MIN(e, n);
	*start = s;
	*length = (e - s + step - 1) / step;
	return true;
}

/* out = self, with out[…, start + i*step, …] = src[…, i, …]. A functional scatter: the result keeps self's strides if self
 * does not overlap itself, else it is contiguous (SEEDS: pytorch #180164). */
bool ref_slice_scatter(struct ref_ctx *c)
{
	const struct meta *m = &c->in[0]->meta, *src = &c->in[1]->meta;
	int dim;
	int64_t start, length, step = ref_arg_int(c, 5);
	if (!slice_bounds(c, &dim, &start, &length, 2, m))
		return false;
	if (src->rank != m->rank)
		return err_set(c->err, "expected src to have a size equal to the slice of self");
	for (int d = 0; d < m->rank; d++)
		if (src->size[d] != (d == dim ? length : m->size[d]))
			return err_set(c->err, "expected src to have a size equal to the slice of self");
	bool dense = meta_is_non_overlapping_and_dense(m);
	sid *out = ref_out(c, 0, m->dtype, m->size, m->rank, dense ? m->stride : NULL);
	if (!out)
		return false;
	const sid *a = ref_ids(c, c->in[0]), *b = ref_cast(c, ref_ids(c, c->in[1]), meta_numel(src), m->dtype);
	int64_t inner = 1, outer = 1, n = m->size[dim];
	for (int d = 0; d < m->rank; d++)
		*(d < dim ? &outer : d > dim ? &inner : &(int64_t){1}) *= m->size[d];
	memcpy(out, a, (size_t)(outer * n * inner) * sizeof *out);
	for (int64_t o = 0; o < outer; o++)
		for (int64_t i = 0; i < length; i++)
			for (int64_t k = 0; k < inner; k++)
				out[(o * n + start + i * step) * inner + k] = b[(o * length + i) * inner + k];
	return true;
}
