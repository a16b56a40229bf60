/* addends.c: looks an element's scalar up on the tape that made it. */
#include "oracle/judge/addends.h"
#include "oracle/tape/tape_impl.h"

static double size_of(const struct tape *t, sid id)
{
	const struct num *v = &t->val[id];
	return v->flags & NUM_SPECIAL ? INFINITY : dtype_is_float((enum dtype)v->dtype) ? fabs(v->hi) : fabs((double)v->i);
}

static void add_list(struct addends *out, const struct tape *t, const sid *e, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		out->abs += size_of(t, e[i]);
	out->n = n;
}

static void add_products(struct addends *out, const struct tape *t, const sid *a, int64_t step_a, const sid *b, int64_t step_b, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		out->abs += size_of(t, a[i * step_a]) * size_of(t, b[i * step_b]);
	out->n = n;
}

static void of_scalar(struct addends *out, const struct tape *t, sid id)
{
	const struct tape_block *b = tape_block_of(t, id);
	double scale = 1;
	while (b->f == SF_COPY || b->f == SF_DETACH || b->f == SF_CAST || b->f == SF_NEG || (b->f == SF_DIV && b->param != 0)) {
		int64_t k = (int64_t)(id - b->first);
		if (b->f == SF_DIV)
			scale /= size_of(t, b->b[k]);
		id = b->a[k];
		b = tape_block_of(t, id);
	}
	int64_t k = (int64_t)(id - b->first), n;
	if (b->f == SF_SUM || b->f == SF_SUMPROD) {
		const sid *e = block_list(b, k, &n);
		if (b->f == SF_SUM)
			add_list(out, t, e, n);
		else
			add_products(out, t, e, 2, e + 1, 2, n / 2);
	} else if (b->f == SF_CUMSUM) {
		add_list(out, t, b->a + k / b->len * b->len, k % b->len + 1);
	} else if (b->f == SF_MATMUL) {
		int64_t m = b->dim[1], cols = b->dim[2], z = k / (m * cols), i = k / cols % m, j = k % cols;
		add_products(out, t, b->a + (z * m + i) * b->len, 1, b->b + z * b->len * cols + j, cols, b->len);
	}
	out->abs *= scale;
}

bool ref_addends(struct addends *out, const struct reference *ref, const struct ref_value *v, int64_t k)
{
	*out = (struct addends){0};
	if (v->ids)
		of_scalar(out, ref->tape, v->ids[k]);
	else if (ref->adj && v->present)
		*out = (struct addends){ref->adj[v->leaf + (sid)k].n, ref->adj[v->leaf + (sid)k].abs};
	return out->n >= 2 && isfinite(out->abs);
}
