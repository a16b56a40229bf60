/* pointwise_inst.h: the element loops of every POINTWISE row for one compute type; included by pointwise.c once per type with
 *   T          the compute type: float, double or int64_t
 *   FN(x)      x with the type's suffix
 *   INST_INT   1 if T is int64_t: then FLOAT rows have no instance
 * Transcendental functions are double's in every instance: a float row rounds the double result once. */

/* ---- elements in and out ---- */

/* n elements of `dt`, `stride` cells apart, as T. */
static void FN(load)(T *dst, const struct tensor *t, int64_t cell, int64_t stride, int n)
{
	enum dtype dt = t->meta.dtype;
	int64_t step = stride * dtype_nbytes(dt);
	const unsigned char *p = tensor_at(t, cell);
	for (int i = 0; i < n; i++, p += step)
		dst[i] = dtype_is_float(dt) ? (T)dtype_load_f(dt, p)
			: dtype_is_unsigned(dt) ? (T)(uint64_t)dtype_load_i(dt, p)
									: (T)dtype_load_i(dt, p);
}

static void FN(store)(struct tensor *t, int64_t cell, int64_t stride, const T *src, int n)
{
	enum dtype dt = t->meta.dtype;
	int64_t step = stride * dtype_nbytes(dt);
	unsigned char *p = tensor_at(t, cell);
	for (int i = 0; i < n; i++, p += step) {
		if (dtype_is_float(dt))
			dtype_store_f(dt, p, (double)src[i]);
		else
			dtype_store_i(dt, p, (int64_t)src[i]);
	}
}

/* v as an element of the common dtype. */
static T FN(in_dtype)(enum dtype dt, T v)
{
#if INST_INT
	return dtype_wrap(dt, v);
#else
	return (T)dtype_round(dt, (double)v);
#endif
}

static T FN(scalar)(const struct scalar *s)
{
#if INST_INT
	return s->kind == SC_FLOAT ? (T)s->f : s->i; /* a factor; checked to fit */
#else
	return s->kind == SC_FLOAT ? (T)s->f : (T)s->i;
#endif
}

#include "eager/ops/pointwise_words.h"

#define ROW_BEGIN                                                                                                                          \
	const T s = k->s, t = k->t, u = k->u, w = k->w;                                                                                        \
	const bool has_s = k->has_s, has_t = k->has_t;                                                                                         \
	(void)s, (void)t, (void)u, (void)w, (void)has_s, (void)has_t;                                                                          \
	for (int i = 0; i < n; i++) {                                                                                                          \
		const T a = v[0][i], b = v[1][i], c = v[2][i];                                                                                     \
		(void)a, (void)b, (void)c;
#define ROW_END }

#define POINTWISE(id, name, schema, dts, traits, saves, lic, promo, fwd, d0, d1, d2)                                                       \
	static void FN(fwd_##id)(T * out, T v[][CHUNK], const struct FN(consts) * k, int n)                                                    \
	{                                                                                                                                      \
		ROW_BEGIN                                                                                                                          \
		out[i] = (T)(ROW_##promo(fwd));                                                                                                    \
		ROW_END                                                                                                                            \
	}
#define OP(...)
#define INPLACE(...)
#include "eager/lang/ops.def"

/* ---- running a row over its operands ---- */

/* Loads operand q of the walk; true operands only (a missing one stays as it is). */
static void FN(operands)(T v[][CHUNK], const struct pointwise_operands *c, const struct pointwise_walk *w, int64_t at, int n)
{
	for (int q = 0; q < c->types.nin; q++) {
		FN(load)(v[q], c->in[q], w->cell[q] + at * w->stride[q][w->rank - 1], w->stride[q][w->rank - 1], n);
		if (c->types.narrow[q])
			for (int i = 0; i < n; i++)
				v[q][i] = FN(in_dtype)(c->types.common, v[q][i]);
	}
}

static T FN(constant)(const struct pointwise_operands *c, int k)
{
	if (!c->types.scalar[k])
		return 0;
	const T v = FN(scalar)(c->types.scalar[k]);
	return c->types.narrow_scalars ? FN(in_dtype)(c->types.common, v) : v;
}

static struct FN(consts) FN(constants)(const struct pointwise_operands *c)
{
	return (struct FN(consts)){.s = FN(constant)(c, 0),
		.t = FN(constant)(c, 1),
		.u = FN(constant)(c, 2),
		.w = FN(constant)(c, 3),
		.has_s = c->types.scalar[0] != NULL,
		.has_t = c->types.scalar[1] != NULL,
		.common = c->types.common};
}

static void FN(forward)(const struct pointwise_operands *c, struct pointwise_walk *w, struct tensor *out,
	void (*row)(T *, T (*)[CHUNK], const struct FN(consts) *, int))
{
	T v[MAX_IN][CHUNK] = {{0}}, y[CHUNK];
	struct FN(consts) k = FN(constants)(c);
	int o = c->types.nin, last = w->rank - 1;
	do {
		for (int64_t at = 0; at < w->size[last]; at += CHUNK) {
			int n = (int)MIN((int64_t)CHUNK, w->size[last] - at);
			FN(operands)(v, c, w, at, n);
			row(y, v, &k, n);
			FN(store)(out, w->cell[o] + at * w->stride[o][last], w->stride[o][last], y, n);
		}
	} while (pointwise_walk_next(w));
}

#include "eager/ops/pointwise_words_end.h"
#undef ROW_BEGIN
#undef ROW_END
#undef T
#undef FN
#undef INST_INT
