/* reduce_prod.c: prod, cumsum, cumprod and their derivatives (accumulation: reduce.h; scans in double, of f16 and bf16 in
 * float, as PyTorch's CPU does). */
#include "eager/ops/reduce.h"
#include "eager/ops/row_rules.h"

/* ---- prod ---- */

static double lane_prod(const struct lanes *l, int64_t lane, const double *x, enum dtype t)
{
	double acc = 1;
	for (int64_t i = 0; i < l->count; i++)
		acc = dtype_round(t, acc * x[lane_at(l, lane, i)]);
	return acc;
}

bool kern_prod(struct kern_ctx *c)
{
	struct lanes l;
	enum dtype t = c->out->meta.dtype;
	reduce_lanes(&l, c->n, &c->in[A_prod_self]->meta, c->scratch);
	if (dtype_is_float(t)) {
		const double *x = load_doubles(c->in[A_prod_self], t, c->scratch);
		for (int64_t lane = 0; lane < l.nlane; lane++)
			put_double(c->out, lane, lane_prod(&l, lane, x, t));
		return true;
	}
	const int64_t *x = load_ints(c->in[A_prod_self], t, c->scratch);
	for (int64_t lane = 0; lane < l.nlane; lane++) {
		int64_t acc = 1;
		for (int64_t i = 0; i < l.count; i++)
			acc = wrap_mul(acc, x[lane_at(&l, lane, i)]);
		put_int(c->out, lane, acc);
	}
	return true;
}

/* For each element the product of the others of its lane: what comes before it times what comes after it (prod_safe_zeros_backward). */
static int product_of_others(struct build *b, int x, int dim)
{
	struct meta one = *build_meta(b, x);
	int64_t d = dim, count = one.size[dim];
	one.size[dim] = 1;
	int ones = emit_ones(b, one.size, one.rank, (int)one.dtype);
	int before = emit_slice_Tensor(b, x, dim, 0, count - 1, 1);
	before = emit_cat(b, (int[]){ones, before}, 2, dim);
	before = emit_cumprod(b, before, dim, -1);
	int after = emit_slice_Tensor(b, x, dim, 1, count, 1);
	after = emit_flip(b, after, &d, 1);
	after = emit_cat(b, (int[]){ones, after}, 2, dim);
	after = emit_cumprod(b, after, dim, -1);
	after = emit_flip(b, after, &d, 1);
	return emit_mul_Tensor(b, before, after);
}

/* g times the product of the others, which PyTorch computes where a zero may be (always when it traces). Where its eager mode sees none it
 * computes g * (result / self); that cannot be decided without the data, and is less exact. */
void vjp_prod(struct vjp *v)
{
	const struct meta *self = vjp_meta(v, A_prod_self);
	bool over_dim = op_arg(v->n->op, N_dim) >= 0;
	int64_t numel = meta_numel(self);
	int dim = over_dim && self->rank ? reduce_dim(v) : 0, g = reduce_restored(v, v->g[0]);
	if (numel == 0) {
		v->grad[A_prod_self] = emit_expand(v->b, g, self->size, self->rank);
		return;
	}
	if (self->rank > 0 && (over_dim ? self->size[dim] : numel) != 1) {
		int x = reduce_as(v, v->in[A_prod_self], (int)build_meta(v->b, g)->dtype);
		x = over_dim ? x : emit_reshape(v->b, x, &numel, 1);
		x = product_of_others(v->b, x, dim);
		g = emit_mul_Tensor(v->b, g, x);
	}
	v->grad[A_prod_self] = over_dim || self->rank == 0 ? g : emit_view(v->b, g, self->size, self->rank);
}

/* ---- scans ---- */

static bool scan(struct kern_ctx *c, bool product)
{
	struct lanes l;
	enum dtype t = c->out->meta.dtype;
	reduce_lanes(&l, c->n, &c->in[A_reduction_self]->meta, c->scratch);
	const double *x = dtype_is_float(t) ? load_doubles(c->in[A_reduction_self], t, c->scratch) : NULL;
	enum dtype carried = dtype_info[t].acc;
	const int64_t *k = dtype_is_float(t) ? NULL : load_ints(c->in[A_reduction_self], t, c->scratch);
	for (int64_t lane = 0; lane < l.nlane; lane++) {
		double acc = product ? 1 : 0;
		int64_t iacc = product ? 1 : 0;
		for (int64_t i = 0; i < l.count; i++) {
			int64_t at = lane_at(&l, lane, i);
			if (x) {
				acc = product ? acc * x[at] : acc + x[at];
				acc = dtype_round(carried, acc);
				put_double(c->out, at, acc);
			} else {
				iacc = product ? wrap_mul(iacc, k[at]) : wrap_add(iacc, k[at]);
				put_int(c->out, at, iacc);
			}
		}
	}
	return true;
}

bool kern_cumsum(struct kern_ctx *c) { return scan(c, false); }
bool kern_cumprod(struct kern_ctx *c) { return scan(c, true); }

static int reversed_cumsum(struct build *b, int x, int64_t dim)
{
	x = emit_flip(b, x, &dim, 1);
	x = emit_cumsum(b, x, dim, -1);
	return emit_flip(b, x, &dim, 1);
}

/* Is a scan over this dim the identity? */
static bool scans_nothing(const struct vjp *v)
{
	const struct meta *self = vjp_meta(v, A_reduction_self);
	return meta_numel(self) <= 1 || self->size[reduce_dim(v)] == 1;
}

/* d x[i] = sum of g[j], j >= i; the cotangent is converted to the operand's dtype first. */
void vjp_cumsum(struct vjp *v)
{
	int g = reduce_as(v, v->g[0], (int)vjp_meta(v, A_cumsum_self)->dtype);
	v->grad[A_cumsum_self] = scans_nothing(v) ? g : reversed_cumsum(v->b, g, reduce_dim(v));
}

/* d x[i] = sum over j >= i of g[j] * prod of x[k], k <= j, k != i, in O(n) (cumprod_backward). With z a lane's first zero:
 * before z: sum over i <= j < z of g[j] y[j] / x[i]; at z: y[z - 1] * sum over j >= z of g[j] * prod of x[k], z < k <= j, up to the second
 * zero; after z: 0. PyTorch finds z with max.dim; here it is the zero up to which one zero was counted. */
struct cumprod {
	int64_t dim;
	int x, y, g;
	int zero, nzeros; /* is it one; how many up to here */
};

static int before_first_zero(struct build *b, const struct cumprod *c)
{
	int w = emit_mul_Tensor(b, c->y, c->g);
	int rest = emit_ne_Scalar(b, c->nzeros, scalar_int(0));
	w = emit_masked_fill(b, w, rest, scalar_float(0));
	w = reversed_cumsum(b, w, c->dim);
	return emit_div_Tensor(b, w, c->x);
}

/* y moved on by one, 1 first. */
static int previous(struct build *b, const struct cumprod *c)
{
	struct meta one = *build_meta(b, c->y);
	int64_t count = one.size[c->dim];
	one.size[c->dim] = 1;
	int ones = emit_ones(b, one.size, one.rank, (int)one.dtype);
	int y = emit_slice_Tensor(b, c->y, c->dim, 0, count - 1, 1);
	return emit_cat(b, (int[]){ones, y}, 2, c->dim);
}

static int at_first_zero(struct build *b, const struct cumprod *c)
{
	int follows = emit_logical_not(b, c->zero);
	int elsewhere = emit_ne_Scalar(b, c->nzeros, scalar_int(1)); /* not between the first zero and the second */
	int here = emit_logical_not(b, elsewhere);
	follows = emit_logical_and(b, follows, here);
	int others = emit_logical_not(b, follows);
	int run = emit_masked_fill(b, c->x, others, scalar_float(1));
	run = emit_cumprod(b, run, c->dim, -1);
	int g = emit_masked_fill(b, c->g, elsewhere, scalar_float(0));
	run = emit_mul_Tensor(b, run, g);
	run = emit_sum_dim(b, run, &c->dim, 1, true, -1);
	int before = previous(b, c);
	return emit_mul_Tensor(b, run, before);
}

void vjp_cumprod(struct vjp *v)
{
	struct build *b = v->b;
	struct cumprod c = {.x = v->in[A_cumprod_self], .y = v->out[0]};
	c.g = reduce_as(v, v->g[0], (int)vjp_meta(v, A_cumprod_self)->dtype);
	v->grad[A_cumprod_self] = c.g; /* a lane of one element: g itself, whatever x is */
	if (scans_nothing(v))
		return;
	c.dim = reduce_dim(v);
	c.zero = emit_eq_Scalar(b, c.x, scalar_int(0));
	c.nzeros = emit_cumsum(b, c.zero, c.dim, -1);
	int grad = vjp_zeros(b, vjp_meta(v, A_cumprod_self));
	int mask = emit_eq_Scalar(b, c.nzeros, scalar_int(0));
	int part = before_first_zero(b, &c);
	grad = emit_where_self(b, mask, part, grad);
	mask = emit_eq_Scalar(b, c.nzeros, scalar_int(1));
	mask = emit_logical_and(b, mask, c.zero);
	part = at_first_zero(b, &c);
	v->grad[A_cumprod_self] = emit_where_self(b, mask, part, grad);
}
