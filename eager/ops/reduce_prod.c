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

/* g times the product of all other elements of the lane: before[i] * after[i]. */
static void prod_of_others(double *gx, const struct lanes *l, int64_t lane, const double *x, double g)
{
	double before = 1, after = 1;
	for (int64_t i = 0; i < l->count; i++) {
		gx[i] = before;
		before *= x[lane_at(l, lane, i)];
	}
	for (int64_t i = l->count - 1; i >= 0; i--) {
		gx[i] = g * (gx[i] * after);
		after *= x[lane_at(l, lane, i)];
	}
}

/* g * (y / x) without zeros; with them the product of the others, for every lane as soon as one has a zero (PyTorch looks at
 * the whole tensor); prod over everything with two zeros or more: zeros. */
void grad_prod(struct grad_ctx *c)
{
	struct lanes l;
	enum dtype t = c->gout[0].meta.dtype;
	bool over_dim = op_arg(c->n->op, N_dim) >= 0;
	reduce_lanes(&l, c->n, &c->in[A_prod_self]->meta, c->scratch);
	const double *x = load_doubles(c->in[A_prod_self], t, c->scratch), *y = load_doubles(&c->out[0], t, c->scratch);
	const double *g = load_doubles(&c->gout[0], t, c->scratch);
	double *gx = ARENA_NEW(c->scratch, double, l.count);
	int64_t nzero = 0;
	for (int64_t i = 0; i < l.nlane * l.count; i++)
		nzero += x[i] == 0;
	for (int64_t lane = 0; lane < l.nlane; lane++) {
		if (nzero > 0)
			prod_of_others(gx, &l, lane, x, g[lane]);
		for (int64_t i = 0; i < l.count; i++) {
			int64_t at = lane_at(&l, lane, i);
			double v = c->in[A_prod_self]->meta.rank == 0 ? g[lane]
				: nzero == 0                              ? g[lane] * dtype_round(t, y[lane] / x[at])
				: nzero > 1 && !over_dim                  ? 0
														  : gx[i];
			put_double(c->gin[A_prod_self], at, dtype_round(t, v));
		}
	}
}

/* ---- scans ---- */

static bool scan(struct kern_ctx *c, bool product)
{
	struct lanes l;
	enum dtype t = c->out->meta.dtype;
	reduce_lanes(&l, c->n, &c->in[A_reduction_self]->meta, c->scratch);
	const double *x = dtype_is_float(t) ? load_doubles(c->in[A_reduction_self], t, c->scratch) : NULL;
	bool narrow = t == DT_F16 || t == DT_BF16;
	const int64_t *k = dtype_is_float(t) ? NULL : load_ints(c->in[A_reduction_self], t, c->scratch);
	for (int64_t lane = 0; lane < l.nlane; lane++) {
		double acc = product ? 1 : 0;
		int64_t iacc = product ? 1 : 0;
		for (int64_t i = 0; i < l.count; i++) {
			int64_t at = lane_at(&l, lane, i);
			if (x) {
				acc = product ? acc * x[at] : acc + x[at];
				if (narrow)
					acc = (double)(float)acc;
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

/* d x[i] = sum of g[j], j >= i; the cotangent is converted to the operand's dtype first. */
void grad_cumsum(struct grad_ctx *c)
{
	struct lanes l;
	reduce_lanes(&l, c->n, &c->gin[A_cumsum_self]->meta, c->scratch);
	const double *g = load_doubles(&c->gout[0], c->gin[A_cumsum_self]->meta.dtype, c->scratch);
	for (int64_t lane = 0; lane < l.nlane; lane++) {
		double acc = 0;
		for (int64_t i = l.count - 1; i >= 0; i--) {
			acc += g[lane_at(&l, lane, i)];
			put_double(c->gin[A_cumsum_self], lane_at(&l, lane, i), acc);
		}
	}
}

/* d x[i] = sum over j >= i of g[j] * prod of x[k], k <= j, k != i.
 * Before the lane's first zero z: sum over i <= j < z of g[j] y[j] / x[i]; at z: prod before * sum over j >= z of g[j] * prod of
 * x[k], z < k <= j, up to the second zero; after z: 0. */
static void cumprod_lane(double *gin, const struct lanes *l, int64_t lane, const double *x, const double *y, const double *g)
{
	int64_t z = 0;
	while (z < l->count && x[lane_at(l, lane, z)] != 0)
		z++;
	double acc = 0;
	for (int64_t i = z - 1; i >= 0; i--) {
		int64_t at = lane_at(l, lane, i);
		acc += g[at] * y[at];
		gin[at] = acc / x[at];
	}
	if (z == l->count)
		return;
	double before = 1, after = 1;
	for (int64_t i = 0; i < z; i++)
		before *= x[lane_at(l, lane, i)]; /* not y: it may be rounded to a narrower dtype */
	acc = 0;
	for (int64_t j = z; j < l->count; j++) {
		int64_t at = lane_at(l, lane, j);
		if (j > z)
			after *= x[at];
		if (j > z && x[at] == 0)
			break;
		acc += g[at] * after;
	}
	gin[lane_at(l, lane, z)] = before * acc;
}

void grad_cumprod(struct grad_ctx *c)
{
	struct lanes l;
	enum dtype t = c->in[A_cumprod_self]->meta.dtype;
	reduce_lanes(&l, c->n, &c->in[A_cumprod_self]->meta, c->scratch);
	const double *x = load_doubles(c->in[A_cumprod_self], t, c->scratch), *y = load_doubles(&c->out[0], c->out[0].meta.dtype, c->scratch);
	const double *g = load_doubles(&c->gout[0], t, c->scratch); /* in the operand's dtype first */
	int64_t n = l.nlane * l.count;
	double *gx = ARENA_ZNEW(c->scratch, double, n);
	for (int64_t lane = 0; lane < l.nlane; lane++)
		cumprod_lane(gx, &l, lane, x, y, g);
	for (int64_t i = 0; i < n; i++)
		put_double(c->gin[A_cumprod_self], i, l.count == 1 ? g[i] : gx[i]); /* a lane of one element: g itself, whatever x is */
}
