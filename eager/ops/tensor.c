/* tensor.c: tensors with data: allocation, conversion, broadcast views (see rules.h). */
#include "eager/ops/pointwise.h"
#include "eager/ops/rules.h"

void tensor_new(struct tensor *out, const struct meta *m, struct arena *a)
{
	out->meta = *m;
	out->meta.offset = 0;
	int64_t cells = meta_extent(&out->meta);
	out->base = arena_zalloc(a, mul_size((size_t)cells, (size_t)dtype_nbytes(m->dtype)));
}

void tensor_number(struct tensor *out, const struct scalar *s, struct arena *a)
{
	struct meta m = {.dtype = s->kind == SC_FLOAT ? DT_F64 : s->kind == SC_INT ? DT_I64 : DT_B8, .number = true};
	tensor_new(out, &m, a);
	if (s->kind == SC_FLOAT)
		dtype_store_f(DT_F64, out->base, s->f);
	else
		dtype_store_i(m.dtype, out->base, s->i);
}

bool tensor_broadcast(struct tensor *out, const struct tensor *t, const int64_t *size, int rank)
{
	int shift = rank - t->meta.rank;
	if (shift < 0)
		return false;
	struct tensor v = *t;
	v.meta.rank = rank;
	for (int d = 0; d < rank; d++) {
		int64_t have = d < shift ? 1 : t->meta.size[d - shift];
		if (have != size[d] && have != 1)
			return false;
		v.meta.size[d] = size[d];
		v.meta.stride[d] = have == size[d] && d >= shift ? t->meta.stride[d - shift] : 0;
	}
	*out = v;
	return true;
}

/* Conversions of aten::copy_: a float becomes an integer by float_truncate, bool is "not zero", f64 and integers become f16 and bf16 by way
 * of f32. */
static void convert(enum dtype to, void *dst, enum dtype from, const void *src)
{
	if (!dtype_is_float(to)) {
		if (!dtype_is_float(from)) {
			dtype_store_i(to, dst, dtype_load_i(from, src));
			return;
		}
		double v = dtype_load_f(from, src);
		dtype_store_i(to, dst, to == DT_B8 ? v != 0 : float_truncate(v, float_truncates_into(to)));
		return;
	}
	if (to == DT_F64) {
		dtype_store_f(to, dst, dtype_load_f(from, src));
		return;
	}
	float v = dtype_is_float(from) ? (float)dtype_load_f(from, src)
		: from == DT_U64           ? f32_of_u64(dtype_load_i(from, src))
								   : (float)dtype_load_i(from, src);
	dtype_store_f(to, dst, (double)v);
}

void tensor_copy(struct tensor *dst, const struct tensor *src)
{
	CHECK(meta_same_sizes(&dst->meta, &src->meta));
	if (meta_numel(&dst->meta) == 0)
		return;
	enum dtype to = dst->meta.dtype, from = src->meta.dtype;
	size_t nbytes = (size_t)dtype_nbytes(to);
	if (to == from && meta_is_contiguous(&dst->meta) && meta_is_contiguous(&src->meta)) {
		memmove(tensor_at(dst, dst->meta.offset), tensor_at(src, src->meta.offset), nbytes * (size_t)meta_numel(&dst->meta));
		return;
	}
	struct meta_iter d, s;
	meta_iter_start(&d, &dst->meta);
	meta_iter_start(&s, &src->meta);
	do {
		if (to == from)
			memcpy(tensor_at(dst, d.off), tensor_at(src, s.off), nbytes); /* NaN payloads survive */
		else
			convert(to, tensor_at(dst, d.off), from, tensor_at(src, s.off));
	} while (meta_iter_next(&d, &dst->meta) && meta_iter_next(&s, &src->meta));
}
