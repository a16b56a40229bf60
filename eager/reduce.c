/* reduce.c: dimensions, lanes and shapes of reductions, and the shape rules of the whole family (see reduce.h). */
#include "eager/reduce.h"

#include "eager/promote.h"

static const struct arg *named_arg(const struct node *n, const char *name)
{
	int k = op_param(n->op, name);
	return k >= 0 && n->arg[k].tag != ARG_NONE ? &n->arg[k] : NULL;
}

bool reduce_keepdim(const struct node *n)
{
	const struct arg *a = named_arg(n, "keepdim");
	return a && a->b;
}

bool node_dtype(enum dtype *out, const struct node *n)
{
	const struct arg *a = named_arg(n, "dtype");
	if (a)
		*out = a->dtype;
	return a != NULL;
}

bool reduce_dims(bool reduced[MAX_RANK], const struct node *n, int rank, struct err *err)
{
	const struct arg *a = named_arg(n, "dim");
	int d;
	memset(reduced, 0, sizeof(bool) * MAX_RANK);
	if (!a || (a->tag == ARG_INTS && a->n == 0)) {
		for (d = 0; d < rank; d++)
			reduced[d] = true;
		return true;
	}
	if (a->tag == ARG_INT) {
		if (!dim_wrap(&d, a->i.value, rank, err))
			return false;
		reduced[d] = true;
		return true;
	}
	for (int i = 0; i < a->n; i++) {
		if (!dim_wrap(&d, a->ints[i].value, rank, err))
			return false;
		if (reduced[d])
			return err_set(err, "dim %d appears multiple times in the list of dims", d);
		reduced[d] = true;
	}
	return true;
}

void reduce_shape(struct meta *out, const struct meta *in, const bool *reduced, bool keepdim, enum dtype t)
{
	int64_t size[MAX_RANK];
	int rank = 0;
	for (int d = 0; d < in->rank; d++)
		if (!reduced[d] || keepdim)
			size[rank++] = reduced[d] ? 1 : in->size[d];
	meta_make_contiguous(out, t, size, rank);
	out->device = in->device;
}

/* Cells of a contiguous tensor along the chosen dims, in row-major order. */
static const int64_t *cells(int64_t *n, const struct meta *m, const bool *reduced, bool want, struct arena *a)
{
	struct meta part = {.rank = 0};
	for (int d = 0; d < m->rank; d++) {
		if (reduced[d] != want)
			continue;
		part.size[part.rank] = m->size[d];
		part.stride[part.rank++] = m->stride[d];
	}
	*n = meta_numel(&part);
	int64_t *cell = ARENA_NEW(a, int64_t, *n);
	struct meta_iter it;
	meta_iter_start(&it, &part);
	for (int64_t i = 0; i < *n; i++, meta_iter_next(&it, &part))
		cell[i] = it.off;
	return cell;
}

void lanes_make(struct lanes *out, const int64_t *size, int rank, const bool *reduced, struct arena *a)
{
	struct meta m;
	meta_make_contiguous(&m, DT_F64, size, rank);
	out->base = cells(&out->nlane, &m, reduced, false, a);
	out->step = cells(&out->count, &m, reduced, true, a);
}

void reduce_lanes(struct lanes *out, const struct node *n, const struct meta *in, struct arena *a)
{
	bool reduced[MAX_RANK];
	CHECK(reduce_dims(reduced, n, in->rank, NULL));
	lanes_make(out, in->size, in->rank, reduced, a);
}

/* t itself, or a copy of it in dtype `as`. */
static struct tensor as_dtype(const struct tensor *t, enum dtype as, struct arena *a)
{
	if (t->meta.dtype == as)
		return *t;
	struct tensor c;
	struct meta m;
	meta_make_contiguous(&m, as, t->meta.size, t->meta.rank);
	tensor_new(&c, &m, a);
	tensor_copy(&c, t);
	return c;
}

double *load_doubles(const struct tensor *src, enum dtype as, struct arena *a)
{
	struct tensor t = as_dtype(src, as, a);
	int64_t n = meta_numel(&t.meta);
	double *v = ARENA_NEW(a, double, n);
	struct meta_iter it;
	meta_iter_start(&it, &t.meta);
	for (int64_t i = 0; i < n; i++, meta_iter_next(&it, &t.meta))
		v[i] = dtype_load_f(as, tensor_at(&t, it.off));
	return v;
}

int64_t *load_ints(const struct tensor *src, enum dtype as, struct arena *a)
{
	struct tensor t = as_dtype(src, as, a);
	int64_t n = meta_numel(&t.meta);
	int64_t *v = ARENA_NEW(a, int64_t, n);
	struct meta_iter it;
	meta_iter_start(&it, &t.meta);
	for (int64_t i = 0; i < n; i++, meta_iter_next(&it, &t.meta))
		v[i] = dtype_load_i(as, tensor_at(&t, it.off));
	return v;
}

/* ---- shape rules ---- */

static bool shape_rule(struct meta_ctx *c, enum dtype t)
{
	bool reduced[MAX_RANK];
	if (!reduce_dims(reduced, c->n, c->in[0]->rank, c->err))
		return false;
	reduce_shape(&c->out[0], c->in[0], reduced, reduce_keepdim(c->n), t);
	return true;
}

/* Sums and products of integers and bools are i64 unless told otherwise. */
static enum dtype sum_dtype(const struct meta_ctx *c)
{
	enum dtype t = c->in[0]->dtype;
	if (!dtype_is_float(t))
		t = DT_I64;
	node_dtype(&t, c->n);
	return t;
}

bool meta_sum(struct meta_ctx *c) { return shape_rule(c, sum_dtype(c)); }
bool meta_sum_dim(struct meta_ctx *c) { return shape_rule(c, sum_dtype(c)); }
bool meta_prod(struct meta_ctx *c) { return shape_rule(c, sum_dtype(c)); }
bool meta_prod_dim(struct meta_ctx *c) { return shape_rule(c, sum_dtype(c)); }

bool meta_mean(struct meta_ctx *c)
{
	enum dtype t = c->in[0]->dtype;
	bool given = node_dtype(&t, c->n);
	if (!dtype_is_float(t))
		return err_set(c->err, "mean(): could not infer output dtype. %s dtype must be either a floating point or complex dtype. Got: %s",
			       given ? "Optional" : "Input", promote_torch_name(t));
	return shape_rule(c, t);
}

bool meta_mean_dim(struct meta_ctx *c) { return meta_mean(c); }
