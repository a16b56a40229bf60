/* reduce_sum.c: sum, mean and their derivatives (accumulation: reduce.h). */
#include "eager/reduce.h"

/* ---- sum and mean ---- */

static void sum_ints(struct tensor *out, const struct lanes *l, const int64_t *x)
{
	for (int64_t lane = 0; lane < l->nlane; lane++) {
		int64_t acc = 0;
		for (int64_t i = 0; i < l->count; i++)
			acc = out->meta.dtype == DT_B8 ? acc | x[lane_at(l, lane, i)] : wrap_add(acc, x[lane_at(l, lane, i)]);
		put_int(out, lane, acc);
	}
}

static double lane_sum(const struct lanes *l, int64_t lane, const double *x)
{
	double acc = 0;
	for (int64_t i = 0; i < l->count; i++)
		acc += x[lane_at(l, lane, i)];
	return acc;
}

bool kern_sum(struct kern_ctx *c)
{
	struct lanes l;
	enum dtype t = c->out->meta.dtype;
	reduce_lanes(&l, c->n, &c->in[0]->meta, c->scratch);
	if (!dtype_is_float(t)) {
		sum_ints(c->out, &l, load_ints(c->in[0], t, c->scratch));
		return true;
	}
	const double *x = load_doubles(c->in[0], t, c->scratch);
	for (int64_t lane = 0; lane < l.nlane; lane++)
		put_double(c->out, lane, lane_sum(&l, lane, x));
	return true;
}

bool kern_mean(struct kern_ctx *c)
{
	struct lanes l;
	reduce_lanes(&l, c->n, &c->in[0]->meta, c->scratch);
	const double *x = load_doubles(c->in[0], c->out->meta.dtype, c->scratch);
	for (int64_t lane = 0; lane < l.nlane; lane++)
		put_double(c->out, lane, lane_sum(&l, lane, x) / (double)l.count);
	return true;
}

/* gin = g expanded over the reduced dims, converted to the operand's dtype. */
static void expand_to(struct tensor *gin, const struct node *n, const struct tensor *g)
{
	bool reduced[MAX_RANK];
	struct tensor v = *g;
	struct meta *m = &v.meta;
	CHECK(reduce_dims(reduced, n, gin->meta.rank, NULL));
	struct meta kept;
	reduce_shape(&kept, &gin->meta, reduced, true, m->dtype);
	kept.offset = m->offset;
	*m = kept;      /* the same elements with the reduced dims as size 1 */
	CHECK(tensor_broadcast(&v, &v, gin->meta.size, gin->meta.rank));
	tensor_copy(gin, &v);
}

void grad_sum(struct grad_ctx *c) { expand_to(c->gin[0], c->n, &c->gout[0]); }

void grad_mean(struct grad_ctx *c)
{
	struct lanes l;
	struct tensor g;
	reduce_lanes(&l, c->n, &c->gin[0]->meta, c->scratch);
	tensor_new(&g, &c->gout[0].meta, c->scratch);
	const double *v = load_doubles(&c->gout[0], g.meta.dtype, c->scratch);
	for (int64_t lane = 0; lane < l.nlane; lane++)
		put_double(&g, lane, v[lane] / (double)l.count);
	expand_to(c->gin[0], c->n, &g);
}
