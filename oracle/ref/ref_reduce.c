/* ref_reduce.c: reductions. Elements are grouped into rows (kept index, reduced index) and each row becomes one list scalar.
 * Results are contiguous whatever self's strides. Rows of tensors with half dtypes whose operator computes several steps inside
 * one kernel (mean) take the inner steps in f32. */
#include "oracle/num/licence.h"
#include "oracle/ref/order.h"
#include "oracle/ref/shape.h"
#include "oracle/ref/row_rules.h"

#include <math.h>

/* Rows of self: n rows of len entries; the result's sizes. */
struct reduced_rows {
	int64_t n, len, size[MAX_RANK];
	int rank;
	const sid *e;
	bool mask[MAX_RANK];
};

static void rows_of(struct ref_ctx *c, struct reduced_rows *r, const bool mask[MAX_RANK], bool keepdim, enum dtype dt)
{
	memcpy(r->mask, mask, sizeof r->mask);
	r->rank = ref_reduced(r->size, meta_of(c, A_reduction_self), mask, keepdim);
	r->e = ref_cast(c, ref_rows(c, c->in[A_reduction_self], mask, &r->n, &r->len), meta_numel(meta_of(c, A_reduction_self)), dt);
}

static void all_dims(bool mask[MAX_RANK], const struct meta *m)
{
	for (int d = 0; d < MAX_RANK; d++)
		mask[d] = d < m->rank;
}

static bool one_dim(struct ref_ctx *c, bool mask[MAX_RANK], int arg)
{
	int d;
	if (!shape_dim(c, &d, arg, meta_of(c, A_reduction_self)))
		return false;
	for (int k = 0; k < MAX_RANK; k++)
		mask[k] = k == d && meta_of(c, A_reduction_self)->rank > 0;
	return true;
}

static bool reduce(struct ref_ctx *c, const bool mask[MAX_RANK], bool keepdim, enum sf f, enum dtype in, enum dtype out, double param)
{
	struct reduced_rows r;
	rows_of(c, &r, mask, keepdim, in);
	return ref_out_block(c, 0, out, r.size, r.rank, NULL, tape_rows(c->t, f, out, r.e, r.n, r.len, param));
}

/* ---- sums --------------------------------------------------------------------------------------------------------- */

/* PyTorch's CPU sum of n numbers (SumKernel.cpp, multi_row_sum): blocks of 2^p, p = max(4, log2(n) / 4), blocks of blocks, and so on,
 * four levels; then the levels, four interleaved rows and the lanes of a vector are added up. */
static double cascade_depth(int64_t n)
{
	enum { LEVELS = 4, REST = LEVELS - 1 + 6 + 2 * 16 }; /* levels; four rows and what is left of them; lanes and the tail */
	int log = 0, p = 4;
	while (log < 62 && ((int64_t)1 << log) < n)
		log++;
	p = MAX(p, log / LEVELS);
	double depth = REST, left = (double)n, block = (double)((int64_t)1 << p);
	for (int k = 0; k < LEVELS; k++) {
		depth += k < LEVELS - 1 ? fmin(block, left) : left;
		left = ceil(left / block);
	}
	return depth;
}

/* How many additions an element goes through, 0 where any order is possible. The iterator sums along one run of memory (dims that continue
 * each other) by the cascade and adds the runs one after the other; which run it takes first the strides decide, here: the worst. */
static double sum_depth(const struct ref_ctx *c, const bool mask[MAX_RANK], enum dtype dt)
{
	const struct meta *m = meta_of(c, A_reduction_self);
	double worst = 0, all = 1;
	int64_t run = 1;
	int last = -1;
	if (!dtype_is_float(dt) || !(c->t->lic->rule[LC_SUM][dt].flags & LF_CASCADE))
		return 0;
	for (int d = 0; d < m->rank; d++)
		all *= mask[d] ? (double)m->size[d] : 1;
	for (int d = m->rank - 1; d >= -1; d--) {
		if (d >= 0 && (!mask[d] || m->size[d] <= 1))
			continue;
		bool joins = d >= 0 && last >= 0 && m->dtype == dt && m->stride[d] == m->stride[last] * m->size[last] && m->stride[last] != 0;
		if (last >= 0 && !joins) {
			worst = fmax(worst, cascade_depth(run) + all / (double)run);
			run = 1;
		}
		run *= d >= 0 ? m->size[d] : 1;
		last = d;
	}
	return worst;
}

/* Integers and bools add up and multiply in i64 unless a dtype is given, for which there must be kernels. */
static bool sum_type(enum dtype *dt, struct ref_ctx *c, int dtype_arg)
{
	const enum dtype own = meta_of(c, A_reduction_self)->dtype;
	*dt = ref_given(c, dtype_arg) ? c->n->arg[dtype_arg].dtype : dtype_is_float(own) ? own : DT_I64;
	return dtype_info[*dt].rows == DR_FULL
		|| err_set(c->err, "%s is not implemented for %s", op_info[c->n->op].name, dtype_info[*dt].torch);
}

/* A sum over several dims in a half dtype that self is not. */
static bool narrows(const struct ref_ctx *c, const bool mask[MAX_RANK], enum dtype dt)
{
	const struct meta *m = meta_of(c, A_reduction_self);
	int several = 0;
	for (int d = 0; d < m->rank; d++)
		several += mask[d] && m->size[d] > 1;
	return dtype_is_narrow(dt) && (several > 1 || c->t->lic->rule[LC_SUM][dt].flags & LF_NARROW) && m->dtype != dt;
}

/* Then self is converted first, or not: PyTorch 2.11's CPU converts for dims [0, 1] and [2, 3] of four, but sums [0, 2], [1, 3] and
 * [0, 3] in f32 and rounds once (measured, 400 tensors each; integers alike). */
static void may_be_narrowed(struct tape *t, sid first, int64_t n, enum dtype dt)
{
	const struct num_format *f = &num_format[dt];
	for (int64_t k = 0; k < n && !t->over; k++) {
		struct num x = t->val[first + (sid)k];
		bool same = num_is_exact(&x) && num_fits(dt, x.hi, x.lo) && fabs(x.hi) <= f->max;
		if (same || x.flags & (NUM_NOFIN | NUM_ANY))
			continue;
		int over = num_mag(&x) >= f->overflow ? x.hi > 0 ? NUM_PINF : NUM_NINF : 0;
		num_widen(&x, num_half_ulp(f, num_mag(&x)));
		x.flags |= over;
		tape_replace(t, first + (sid)k, x);
	}
}

static const sid *narrowed(struct ref_ctx *c, const sid *ids, int64_t n, enum dtype dt)
{
	sid first = tape_map1(c->t, SF_CAST, DT_F32, ids, n);
	may_be_narrowed(c->t, first, n, dt);
	return ref_ids_block(c, first, n);
}

static bool narrow_sum(struct ref_ctx *c, const bool mask[MAX_RANK], bool keepdim, enum dtype dt)
{
	struct tape *t = c->t;
	struct reduced_rows r;
	r.rank = ref_reduced(r.size, meta_of(c, A_reduction_self), mask, keepdim);
	const sid *self = ref_rows(c, c->in[A_reduction_self], mask, &r.n, &r.len);
	int64_t n = r.n * r.len;
	sid *out = tape_ids(t, r.n);
	const sid *e = narrowed(c, self, n, dt);
	sid sum = tape_rows(t, SF_SUM, DT_F32, e, r.n, r.len, sum_depth(c, mask, DT_F32));
	for (int64_t k = 0; k < r.n; k++)
		out[k] = t->over ? 0 : sum + (sid)k;
	return ref_out_ids(c, 0, dt, r.size, r.rank, NULL, ref_cast(c, out, r.n, dt));
}

REFERENCE(sum, VIEW)
{
	bool mask[MAX_RANK];
	enum dtype dt;
	if (!sum_type(&dt, c, 1))
		return false;
	all_dims(mask, meta_of(c, A_sum_self));
	return narrows(c, mask, dt) ? narrow_sum(c, mask, false, dt) : reduce(c, mask, false, SF_SUM, dt, dt, sum_depth(c, mask, dt));
}

REFERENCE(sum_dim, VIEW)
{
	bool mask[MAX_RANK];
	enum dtype dt;
	if (!sum_type(&dt, c, 3))
		return false;
	return ref_dims(c, mask, A_sum_dim_dim, meta_of(c, A_sum_dim_self)->rank, true)
		&& (narrows(c, mask, dt) ? narrow_sum(c, mask, flag_of(c, A_sum_dim_keepdim), dt)
								 : reduce(c, mask, flag_of(c, A_sum_dim_keepdim), SF_SUM, dt, dt, sum_depth(c, mask, dt)));
}

/* What is NaN is no summand. */
static const sid *numbers(struct ref_ctx *c, const sid *e, int64_t n, enum dtype dt)
{
	const double infinity[FORMULA_SCALARS] = {INFINITY};
	const sid *const x[3] = {e};
	return dtype_is_float(dt) ? ref_ids_block(c, tape_map(c->t, SF_UNLESS_NAN, dt, x, n, infinity), n) : e;
}

REFERENCE(nansum, ANEW)
{
	struct reduced_rows r;
	bool mask[MAX_RANK];
	enum dtype dt;
	const enum dtype own = meta_of(c, A_nansum_self)->dtype;
	if (!sum_type(&dt, c, 3) || !ref_dims(c, mask, A_nansum_dim, meta_of(c, A_nansum_self)->rank, true))
		return false;
	if (dtype_is_float(own) && !dtype_is_float(dt))
		return ref_unsupported(c, "nansum of floats into integers: PyTorch 2.11 refuses it, 2.15 does not");
	int several = 0;
	for (int d = 0; d < meta_of(c, A_nansum_self)->rank; d++)
		several += mask[d] && meta_of(c, A_nansum_self)->size[d] > 1;
	if (dtype_is_narrow(dt) && several > 1)
		return ref_unsupported(c, "nansum of a half over several dims: the CPU rounds after each of some of them");
	const bool keepdim = flag_of(c, A_nansum_keepdim), narrow = narrows(c, mask, dt);
	const enum dtype in = narrow ? DT_F32 : dt;
	rows_of(c, &r, mask, keepdim, narrow ? own : dt);
	if (narrow)
		r.e = narrowed(c, r.e, r.n * r.len, dt);
	const sid *e = numbers(c, r.e, r.n * r.len, in);
	const sid *sum = ref_ids_block(c, tape_rows(c->t, SF_SUM, in, e, r.n, r.len, sum_depth(c, mask, in)), r.n);
	return ref_out_ids(c, 0, dt, r.size, r.rank, NULL, ref_cast(c, sum, r.n, dt));
}

REFERENCE(count_nonzero, ANEW)
{
	struct reduced_rows r;
	bool mask[MAX_RANK];
	const struct meta *m = meta_of(c, A_count_nonzero_self);
	int d;
	all_dims(mask, m);
	if (c->n->arg[1].tag == ARG_INT) {
		if (!shape_dim(c, &d, 1, m))
			return false;
		for (int k = 0; k < m->rank; k++)
			mask[k] = k == d;
	} else if (!ref_dims(c, mask, 1, m->rank, true)) {
		return false;
	}
	rows_of(c, &r, mask, false, m->dtype);
	const int64_t n = r.n * r.len;
	const sid zero = dtype_is_float(m->dtype) ? tape_const_f(c->t, m->dtype, 0) : tape_const_i(c->t, m->dtype, 0);
	const sid *there = ref_ids_block(c, tape_map2(c->t, SF_NE, DT_B8, r.e, ref_ids_repeat(c, zero, n), n), n);
	return ref_out_block(c, 0, DT_I64, r.size, r.rank, NULL, tape_rows(c->t, SF_SUM, DT_I64, ref_cast(c, there, n, DT_I64), r.n, r.len, 0));
}

REFERENCE(prod, VIEW)
{
	bool mask[MAX_RANK];
	enum dtype dt;
	if (!sum_type(&dt, c, 1))
		return false;
	all_dims(mask, meta_of(c, A_prod_self));
	return reduce(c, mask, false, SF_PROD, dt, dt, PROD_SCANS);
}

REFERENCE(prod_dim, VIEW)
{
	bool mask[MAX_RANK];
	enum dtype dt;
	if (!sum_type(&dt, c, 3))
		return false;
	return one_dim(c, mask, 1) && reduce(c, mask, flag_of(c, A_prod_dim_keepdim), SF_PROD, dt, dt, PROD_SCANS);
}

/* Where a sum of numbers that may be finite overflows, Welford's running mean need not (its rounding errors are nary_sum's,
 * LF_WELFORD). */
static void allow_welford(struct ref_ctx *c, const struct reduced_rows *r, sid mean, enum dtype dt)
{
	struct tape *t = c->t;
	for (int64_t k = 0; k < r->n && r->len > 1 && !t->over; k++) {
		bool finite = true;
		for (int64_t i = 0; i < r->len && finite; i++)
			finite = !(t->val[r->e[k * r->len + i]].flags & NUM_NOFIN);
		if (t->val[mean + (sid)k].flags & NUM_SPECIAL && finite)
			tape_replace(t, mean + (sid)k, num_any(dt));
	}
}

/* Sum over n, inner steps in f32 for f16 and bf16; ids of the quotients. */
static const sid *mean_ids(struct ref_ctx *c, const struct reduced_rows *r, enum dtype dt, bool welford)
{
	enum dtype in = dtype_compute(dt);
	int64_t n = r->n * r->len;
	bool narrow = n && dtype_is_narrow(dt) && meta_of(c, A_reduction_self)->dtype != dt && c->t->lic->rule[LC_SUM][dt].flags & LF_NARROW;
	const sid *e = narrow ? narrowed(c, r->e, n, dt) : ref_cast(c, r->e, n, in);
	double depth = welford ? 0 : sum_depth(c, r->mask, in);
	sid sum = tape_rows(c->t, SF_SUM, in, e, r->n, r->len, depth), count = tape_const_f(c->t, in, (double)r->len);
	const sid *num = ref_ids_block(c, sum, r->n);
	/* The quotient has the result's dtype: forward it is rounded once, backward g / n is rounded to it before it leaves. */
	sid first = tape_map2(c->t, SF_DIV, dt, num, ref_ids_repeat(c, count, r->n), r->n);
	if (welford)
		allow_welford(c, r, first, in);
	return ref_ids_block(c, first, r->n);
}

static bool mean_over(struct ref_ctx *c, const bool mask[MAX_RANK], bool keepdim, int dtype_arg)
{
	bool given = ref_given(c, dtype_arg);
	enum dtype dt = given ? c->n->arg[dtype_arg].dtype : meta_of(c, A_reduction_self)->dtype;
	if (!dtype_is_float(dt))
		return err_set(c->err, "mean(): could not infer output dtype. %s dtype must be either a floating point or complex dtype",
			given ? "Optional" : "Input");
	struct reduced_rows r;
	rows_of(c, &r, mask, keepdim, dtype_compute(dt)); /* a half result of a wider self: never rounded on the way */
	return ref_out_ids(c, 0, dt, r.size, r.rank, NULL, mean_ids(c, &r, dt, false));
}

REFERENCE(mean, ANEW)
{
	bool mask[MAX_RANK];
	all_dims(mask, meta_of(c, A_mean_self));
	return mean_over(c, mask, false, 1);
}

REFERENCE(mean_dim, ANEW)
{
	bool mask[MAX_RANK];
	return ref_dims(c, mask, A_mean_dim_dim, meta_of(c, A_mean_dim_self)->rank, true)
		&& mean_over(c, mask, flag_of(c, A_mean_dim_keepdim), 3);
}

/* ---- largest and smallest ----------------------------------------------------------------------------------------- */

/* A dim of size 0 has no largest element. */
static bool has_elements(struct ref_ctx *c, const bool mask[MAX_RANK])
{
	const struct meta *m = meta_of(c, A_reduction_self);
	for (int d = 0; d < m->rank; d++)
		if (mask[d] && m->size[d] == 0)
			return err_set(c->err, "%s(): expected reduction dim %d to have non-zero size", op_info[c->n->op].name, d);
	return true;
}

static bool extreme_all(struct ref_ctx *c, enum sf f)
{
	bool mask[MAX_RANK];
	const struct meta *m = meta_of(c, A_reduction_self);
	all_dims(mask, m);
	if (meta_numel(m) == 0)
		return err_set(c->err, "%s(): expected reduction dim to be specified for input.numel() == 0", op_info[c->n->op].name);
	return reduce(c, mask, false, f, m->dtype, m->dtype, NANS_SHARE);
}

REFERENCE(max, ANEW) { return extreme_all(c, SF_MAXN); }
REFERENCE(min, ANEW) { return extreme_all(c, SF_MINN); }

/* Equals share the gradient. */
static bool extreme_dims(struct ref_ctx *c, enum sf f)
{
	bool mask[MAX_RANK];
	const struct meta *m = meta_of(c, A_reduction_self);
	if (!ref_dims(c, mask, A_extreme_dims_dim, m->rank, true))
		return false;
	if (c->n->arg[A_extreme_dims_dim].n == 0 && meta_numel(m) == 0)
		return err_set(c->err, "%s(): expected reduction dim to be specified for input.numel() == 0", op_info[c->n->op].name);
	return has_elements(c, mask) && reduce(c, mask, flag_of(c, A_extreme_dims_keepdim), f, m->dtype, m->dtype, 0);
}

REFERENCE(amax, ANEW) { return extreme_dims(c, SF_MAXN); }
REFERENCE(amin, ANEW) { return extreme_dims(c, SF_MINN); }

REFERENCE(aminmax, ANEW)
{
	struct reduced_rows r;
	bool mask[MAX_RANK];
	const struct meta *m = meta_of(c, A_aminmax_self);
	all_dims(mask, m);
	if (!ref_given(c, A_aminmax_dim) && meta_numel(m) == 0)
		return err_set(c->err, "aminmax of nothing has no value");
	if ((ref_given(c, A_aminmax_dim) && !one_dim(c, mask, A_aminmax_dim)) || !has_elements(c, mask))
		return false;
	rows_of(c, &r, mask, flag_of(c, A_aminmax_keepdim), m->dtype);
	for (int k = 0; k < 2; k++)
		if (!ref_out_block(c, k, m->dtype, r.size, r.rank, NULL, tape_rows(c->t, k ? SF_MAXN : SF_MINN, m->dtype, r.e, r.n, r.len, 0)))
			return false;
	return true;
}

/* Position of the largest along dim, or in the flattened tensor: torch.argmax documents that of several equal ones the first wins. On the
 * CPU (2.11.0, 2.15.0) that holds for infinities and NaNs, too: measured, sizes 1 to 5000, all dtypes. */
static bool arg_extreme(struct ref_ctx *c, enum sf f)
{
	bool mask[MAX_RANK], whole = !ref_given(c, A_argmax_dim);
	const struct meta *m = meta_of(c, A_reduction_self);
	if (m->dtype == DT_B8)
		return err_set(c->err, "%s(): does not support bool input", op_info[c->n->op].name);
	if (whole && meta_numel(m) == 0)
		return err_set(c->err, "%s(): expected reduction dim to be specified for input.numel() == 0", op_info[c->n->op].name);
	all_dims(mask, m);
	return (whole || one_dim(c, mask, 1)) && has_elements(c, mask)
		&& reduce(c, mask, flag_of(c, A_argmax_keepdim), f, m->dtype, DT_I64, PICK_FIRST);
}

REFERENCE(argmax, ANEW) { return arg_extreme(c, SF_KARGMAX); }
REFERENCE(argmin, ANEW) { return arg_extreme(c, SF_KARGMIN); }

/* ---- any, all: b8, but u8 of u8 ---------------------------------------------------------------------------------------- */

static bool truth(struct ref_ctx *c, const bool mask[MAX_RANK], bool keepdim, enum sf f)
{
	const struct meta *m = meta_of(c, A_reduction_self);
	if (m->dtype != DT_U8)
		return reduce(c, mask, keepdim, f, m->dtype, DT_B8, 0);
	struct reduced_rows r;
	rows_of(c, &r, mask, keepdim, m->dtype);
	sid bit = tape_rows(c->t, f, DT_B8, r.e, r.n, r.len, 0), *ids = tape_ids(c->t, r.n);
	for (int64_t k = 0; k < r.n; k++)
		ids[k] = c->t->over ? 0 : bit + (sid)k;
	return ref_out_ids(c, 0, DT_U8, r.size, r.rank, NULL, ref_cast(c, ids, r.n, DT_U8));
}

static bool truth_all(struct ref_ctx *c, enum sf f)
{
	bool mask[MAX_RANK];
	all_dims(mask, meta_of(c, A_reduction_self));
	return truth(c, mask, false, f);
}

static bool truth_dim(struct ref_ctx *c, enum sf f)
{
	bool mask[MAX_RANK];
	return one_dim(c, mask, 1) && truth(c, mask, flag_of(c, A_any_dim_keepdim), f);
}

/* [] is no dim, None all of them. */
static bool truth_dims(struct ref_ctx *c, enum sf f)
{
	bool mask[MAX_RANK];
	return ref_dims(c, mask, 1, meta_of(c, A_reduction_self)->rank, false) && truth(c, mask, flag_of(c, A_any_dims_keepdim), f);
}

REFERENCE(any, ANEW) { return truth_all(c, SF_ANY); }
REFERENCE(all, ANEW) { return truth_all(c, SF_ALL); }
REFERENCE(any_dim, ANEW) { return truth_dim(c, SF_ANY); }
REFERENCE(all_dim, ANEW) { return truth_dim(c, SF_ALL); }
REFERENCE(any_dims, ANEW) { return truth_dims(c, SF_ANY); }
REFERENCE(all_dims, ANEW) { return truth_dims(c, SF_ALL); }

/* ---- moments, logarithms of sums ------------------------------------------------------------------------------------------ */

/* (self, dims, correction, keepdim): rows, correction and function, shared by var and var_mean. */
static bool var_rows(struct ref_ctx *c, struct reduced_rows *r, double *correction, enum sf *f)
{
	bool mask[MAX_RANK];
	const struct meta *m = meta_of(c, A_reduction_self);
	if (!dtype_is_float(m->dtype))
		return err_set(c->err, "std and var only support floating point and complex dtypes");
	if (!ref_dims(c, mask, A_variance_dim, m->rank, true))
		return false;
	if (c->grad && ref_given(c, A_variance_dim) && c->n->arg[A_variance_dim].n == 0 && m->rank > 0)
		return ref_unsupported(c,
			"gradient of var over dim=[]: PyTorch's backward takes the number of elements for 1 (wrong in 2.11); "
			"name the dims");
	*f = ref_given(c, A_variance_dim) && m->rank > 0 ? SF_VAR : SF_VARALL;
	const struct scalar *s = scalar_of(c, A_variance_correction);
	*correction = !ref_given(c, A_variance_correction) ? 1 : s->kind == SC_FLOAT ? s->f : (double)s->i;
	rows_of(c, r, mask, flag_of(c, A_variance_keepdim), m->dtype);
	return true;
}

REFERENCE(var, ANEW)
{
	struct reduced_rows r;
	double correction;
	enum sf f;
	enum dtype dt = meta_of(c, A_var_self)->dtype;
	return var_rows(c, &r, &correction, &f)
		&& ref_out_block(c, 0, dt, r.size, r.rank, NULL, tape_rows(c->t, f, dt, r.e, r.n, r.len, correction));
}

REFERENCE(var_mean, ANEW)
{
	struct reduced_rows r;
	double correction;
	enum sf f;
	enum dtype dt = meta_of(c, A_var_mean_self)->dtype;
	c->t->result = TAPE_EVERY; /* what both read: copies of elements that overlap */
	if (!var_rows(c, &r, &correction, &f))
		return false;
	c->t->result = 0;
	if (!ref_out_block(c, 0, dt, r.size, r.rank, NULL, tape_rows(c->t, f, dt, r.e, r.n, r.len, correction)))
		return false;
	c->t->result = 1; /* each has a derivative of its own, left out if nothing asks for it */
	return ref_out_ids(c, 1, dt, r.size, r.rank, NULL, mean_ids(c, &r, dt, true));
}

/* Roots of the variances of rows, rounded once. The derivative is one of operators that read self and the root as it was rounded. */
static const sid *deviations(struct ref_ctx *c, const struct reduced_rows *r, enum sf f, double correction, enum dtype dt)
{
	struct tape *t = c->t;
	const enum dtype in = t->lic->rule[LC_VAR][dt].acc;
	const double none[FORMULA_SCALARS] = {0};
	const int64_t n = r->n * r->len;
	const sid *x = ref_cast(c, ref_ids_block(c, tape_map1(t, SF_DETACH, dt, r->e, n), n), n, in);
	const sid *variance = ref_ids_block(c, tape_rows(t, f, in, x, r->n, r->len, correction), r->n);
	const sid *root = ref_ids_block(c, tape_map1(t, SF_SQRT, dt, variance, r->n), r->n);
	if (!c->grad)
		return root;
	const sid *own = ref_ids_block(c, tape_rows(t, f, dt, r->e, r->n, r->len, correction), r->n);
	const sid *const of[3] = {own, ref_ids_block(c, tape_map1(t, SF_DETACH, dt, root, r->n), r->n)};
	const sid *held = ref_ids_block(c, tape_map(t, SF_ROOTED, dt, of, r->n, none), r->n);
	return ref_ids_block(c, tape_map2(t, SF_GRAFT, dt, root, held, r->n), r->n);
}

REFERENCE(std, ANEW)
{
	struct reduced_rows r;
	double correction;
	enum sf f;
	const enum dtype dt = meta_of(c, A_std_self)->dtype;
	return var_rows(c, &r, &correction, &f) && ref_out_ids(c, 0, dt, r.size, r.rank, NULL, deviations(c, &r, f, correction, dt));
}

REFERENCE(std_mean, ANEW)
{
	struct reduced_rows r;
	double correction;
	enum sf f;
	const enum dtype dt = meta_of(c, A_std_mean_self)->dtype;
	c->t->result = TAPE_EVERY; /* what both read: copies of elements that overlap */
	if (!var_rows(c, &r, &correction, &f))
		return false;
	c->t->result = 0;
	if (!ref_out_ids(c, 0, dt, r.size, r.rank, NULL, deviations(c, &r, f, correction, dt)))
		return false;
	c->t->result = 1; /* each has a derivative of its own, left out if nothing asks for it */
	return ref_out_ids(c, 1, dt, r.size, r.rank, NULL, mean_ids(c, &r, dt, true));
}

static double norm_order(const struct ref_ctx *c, int k)
{
	const struct scalar *s = scalar_of(c, k);
	return !ref_given(c, k) ? 2 : s->kind == SC_FLOAT ? s->f : (double)s->i;
}

/* The norm of order 0, 1 or 2 of each row; e: its entries. */
static const sid *norms(struct ref_ctx *c, const struct reduced_rows *r, const sid *e, double order, enum dtype dt)
{
	struct tape *t = c->t;
	const enum dtype in = dtype_compute(dt);
	const int64_t n = r->n * r->len;
	const sid *x = ref_cast(c, e, n, in);
	if (order == 2 && r->len == 1)
		return ref_ids_block(c, tape_map1(t, SF_NORM_OF_ONE, dt, x, n), n);
	if (order == 2) {
		sid *pair = tape_ids(t, 2 * n);
		for (int64_t k = 0; k < 2 * n; k++)
			pair[k] = x[k / 2];
		const sid *square = ref_ids_block(c, tape_rows(t, SF_SUMPROD, in, pair, r->n, 2 * r->len, 0), r->n);
		return ref_ids_block(c, tape_map1(t, SF_SQRT, dt, square, r->n), r->n);
	}
	const sid *there = ref_ids_block(c, tape_map2(t, SF_NE, DT_B8, x, ref_ids_repeat(c, tape_const_f(t, in, 0), n), n), n);
	const sid *each = order == 1 ? ref_ids_block(c, tape_map1(t, SF_NORM1, in, x, n), n) : ref_cast(c, there, n, in);
	return ref_cast(c, ref_ids_block(c, tape_rows(t, SF_SUM, in, each, r->n, r->len, 0), r->n), r->n, dt);
}

/* The norms of rows. The derivative is one of operators that read the entries and the norm as it was rounded. */
static bool give_norms(struct ref_ctx *c, const struct reduced_rows *r, double order, enum dtype dt)
{
	struct tape *t = c->t;
	const int64_t n = r->n * r->len;
	if (isinf(order)) {
		const sid *size = ref_ids_block(c, tape_map1(t, SF_NORM1, dt, r->e, n), n);
		return ref_out_block(
			c, 0, dt, r->size, r->rank, NULL, tape_rows(t, order > 0 ? SF_MAXN : SF_MINN, dt, size, r->n, r->len, NANS_SHARE));
	}
	const sid *fixed = ref_ids_block(c, tape_map1(t, SF_DETACH, dt, r->e, n), n);
	const sid *norm = norms(c, r, fixed, order, dt);
	if (!c->grad)
		return ref_out_ids(c, 0, dt, r->size, r->rank, NULL, norm);
	sid *of_entry = tape_ids(t, n);
	for (int64_t k = 0; k < n; k++)
		of_entry[k] = norm[k / r->len];
	const sid *const x[3] = {r->e, ref_ids_block(c, tape_map1(t, SF_DETACH, dt, of_entry, n), n)};
	const double none[FORMULA_SCALARS] = {0};
	const sid share = order == 2 ? tape_map(t, SF_NORM2, dt, x, n, none) : tape_map1(t, SF_NORM1, dt, r->e, n);
	const sid *held = ref_ids_block(c, tape_rows(t, SF_SUM, dt, ref_ids_block(c, share, n), r->n, r->len, 0), r->n);
	return ref_out_block(c, 0, dt, r->size, r->rank, NULL, tape_map2(t, SF_GRAFT, dt, norm, held, r->n));
}

REFERENCE(vector_norm, ANEW)
{
	struct reduced_rows r;
	bool mask[MAX_RANK];
	const struct meta *m = meta_of(c, A_vector_norm_self);
	const double order = norm_order(c, A_vector_norm_self + 1);
	const enum dtype dt = m->dtype;
	if (!dtype_is_float(dt))
		return err_set(c->err, "norm: expected a floating point or complex tensor as input");
	if (!ref_dims(c, mask, A_vector_norm_dim, m->rank, true) || (isinf(order) && !has_elements(c, mask)))
		return false;
	if (!isinf(order) && order != 0 && order != 1 && order != 2)
		return ref_unsupported(c, "a norm of order %g: its powers are not modelled", order);
	if (order == 0 && c->grad)
		return ref_unsupported(c, "gradient of a norm of order 0, which PyTorch leaves undefined: None, not zeros");
	rows_of(c, &r, mask, flag_of(c, A_vector_norm_keepdim), dt);
	return give_norms(c, &r, order, dt);
}

/* The norm of a difference, which is a tensor. */
REFERENCE(dist, ANEW)
{
	const struct meta *a = meta_of(c, A_dist_self), *b = meta_of(c, A_dist_other);
	struct result_type type = SHAPE_TYPE_NONE;
	int64_t size[MAX_RANK];
	int rank = 0;
	enum dtype dt;
	const double order = norm_order(c, A_dist_p);
	shape_type_tensor(&type, a);
	shape_type_tensor(&type, b);
	if (!shape_broadcast(c, size, &rank, a) || !shape_broadcast(c, size, &rank, b) || !shape_type(&dt, c, &type))
		return false;
	if (!isinf(order) && order != 1 && order != 2)
		return ref_unsupported(c, "a dist of order %g: its powers are not modelled, and of 0 PyTorch's backward raises", order);
	const int64_t n = shape_numel(size, rank);
	if (isinf(order) && n == 0)
		return err_set(c->err, "dist of nothing: there is no largest element");
	const sid *x = ref_cast(c, ref_ids_expanded(c, c->in[A_dist_self], size, rank), n, dt);
	const sid *y = ref_cast(c, ref_ids_expanded(c, c->in[A_dist_other], size, rank), n, dt);
	const struct reduced_rows r = {.n = 1, .len = n, .e = ref_ids_block(c, tape_map2(c->t, SF_SUB, dt, x, y, n), n)};
	return give_norms(c, &r, order, dt);
}

/* dim=[] reduces nothing but a 0-d or an empty tensor: PyTorch trips over its own shapes otherwise. */
REFERENCE(logsumexp, ANEW)
{
	bool mask[MAX_RANK];
	const struct meta *m = meta_of(c, A_logsumexp_self);
	enum dtype dt = dtype_is_float(m->dtype) ? m->dtype : DT_F32;
	if (!ref_dims(c, mask, A_logsumexp_dim, m->rank, true))
		return false;
	if (c->n->arg[A_logsumexp_dim].n == 0 && m->rank > 0 && meta_numel(m) > 0 && !flag_of(c, A_logsumexp_keepdim))
		return err_set(c->err, "logsumexp: output with shape [] doesn't match the broadcast shape");
	return reduce(c, mask, flag_of(c, A_logsumexp_keepdim), SF_LSE, dt, dt, 0);
}

/* ---- running sums and products ------------------------------------------------------------------------------------------------ */

/* The scalars from `first` on, with PyTorch's derivative where dtype= is not self's dtype: the cotangent is converted to self's dtype first
 * (derivatives.yaml: grad.to(self.scalar_type())). cumsum then sums in that dtype; cumprod multiplies by its result, in the wider one. */
static sid scan_backward(struct ref_ctx *c, sid first, enum sf f, const sid *own, int64_t n, int64_t len, enum dtype self)
{
	const enum dtype dt = tape_dtype(c->t, first);
	sid *value = tape_ids(c->t, n * len), *there = tape_ids(c->t, n * len);
	sid narrow = f == SF_CUMSUM ? tape_scan(c->t, f, self, own, n, len) : first;
	for (int64_t k = 0; k < n * len; k++) {
		value[k] = first + (sid)k;
		there[k] = narrow + (sid)k;
	}
	return tape_map2(c->t, SF_GRAFT, dt, value, ref_cast(c, ref_cast(c, there, n * len, self), n * len, dt), n * len);
}

static bool scan(struct ref_ctx *c, enum sf f)
{
	const struct meta *m = meta_of(c, A_reduction_self);
	bool mask[MAX_RANK];
	int64_t n, len;
	enum dtype dt;
	if (!sum_type(&dt, c, 2))
		return false;
	if (!one_dim(c, mask, 1))
		return false;
	if (dt == DT_B8 && m->rank > 0 && meta_numel(m) > 0)
		return err_set(c->err, "%s is not implemented for bool", op_info[c->n->op].name);
	const bool of_two = c->grad && dtype_is_float(m->dtype) && dt != m->dtype;
	if (of_two && f == SF_CUMPROD && dtype_nbytes(dt) <= dtype_nbytes(m->dtype))
		return ref_unsupported(c, "gradient of %s into %s, which self is not: its backward works in self's dtype; convert self first",
			op_info[c->n->op].name, dtype_info[dt].name);
	const sid *own = ref_rows(c, c->in[A_reduction_self], mask, &n, &len), *e = ref_cast(c, own, meta_numel(m), dt);
	sid first = tape_scan(c->t, f, dt, e, n, len);
	if (of_two && meta_numel(m) && !c->t->over)
		first = scan_backward(c, first, f, own, n, len, m->dtype);
	return ref_out_rows(c, 0, dt, m, mask, first);
}

REFERENCE(cumsum, SELF) { return scan(c, SF_CUMSUM); }
REFERENCE(cumprod, SELF) { return scan(c, SF_CUMPROD); }

/* ---- value and position ---------------------------------------------------------------------------------------------------- */

/* torch.max documents "the indices of the first maximal value"; NaNs: as argmax. */
static bool pick_dim(struct ref_ctx *c, enum sf value, enum sf position)
{
	const struct meta *m = meta_of(c, A_reduction_self);
	bool mask[MAX_RANK];
	struct reduced_rows r;
	if (!one_dim(c, mask, 1) || !has_elements(c, mask))
		return false;
	rows_of(c, &r, mask, flag_of(c, A_max_dim_keepdim), m->dtype);
	return ref_out_block(c, 0, m->dtype, r.size, r.rank, NULL, tape_rows(c->t, value, m->dtype, r.e, r.n, r.len, PICK_FIRST))
		&& ref_out_block(c, 1, DT_I64, r.size, r.rank, NULL, tape_rows(c->t, position, DT_I64, r.e, r.n, r.len, PICK_FIRST));
}

REFERENCE(max_dim, ANEW) { return pick_dim(c, SF_KMAX, SF_KARGMAX); }
REFERENCE(min_dim, ANEW) { return pick_dim(c, SF_KMIN, SF_KARGMIN); }

/* Results 0 and 1, whose ids are `of`: the first k along the dim of argument dim_arg and where they were, largest or smallest first. NaN
 * counts as largest in both, so the j-th smallest is the (n-1-j)-th largest. stride: of both results; NULL: contiguous. */
static bool give_ranked(struct ref_ctx *c, int dim_arg, int64_t k, bool largest, const int64_t *stride, sid *of[2])
{
	const struct meta *m = meta_of(c, A_reduction_self);
	bool mask[MAX_RANK];
	int64_t size[MAX_RANK], inner = 1;
	struct reduced_rows r;
	int d;
	if (!one_dim(c, mask, dim_arg) || !shape_dim(c, &d, dim_arg, m))
		return false;
	rows_of(c, &r, mask, true, m->dtype);
	memcpy(size, m->size, sizeof size);
	if (m->rank)
		size[d] = k;
	else
		k = 1;
	for (int i = d + 1; i < m->rank; i++)
		inner *= m->size[i];
	sid *val = ref_out(c, 0, m->dtype, size, m->rank, stride), *pos = val ? ref_out(c, 1, DT_I64, size, m->rank, stride) : NULL;
	if (!pos)
		return false;
	of[0] = val;
	of[1] = pos;
	for (int64_t j = 0; j < k; j++) {
		double rank = (double)(largest ? j : r.len - 1 - j);
		sid v = tape_rows(c->t, SF_KMAX, m->dtype, r.e, r.n, r.len, rank);
		sid p = tape_rows(c->t, SF_KARGMAX, DT_I64, r.e, r.n, r.len, rank);
		for (int64_t i = 0; i < r.n && !c->t->over; i++) {
			int64_t at = (i / inner * k + j) * inner + i % inner;
			val[at] = v + (sid)i;
			pos[at] = p + (sid)i;
		}
	}
	return true;
}

/* The k largest, or smallest. */
REFERENCE(topk, ANEW)
{
	const struct meta *m = meta_of(c, A_topk_self);
	int64_t k = ref_arg_int(c, A_topk_k);
	int d;
	if (!shape_dim(c, &d, A_topk_dim, m))
		return false;
	if (k < 0 || k > shape_size(m, d))
		return err_set(c->err, "selected index k out of range");
	if (m->dtype == DT_B8)
		return err_set(c->err, "topk does not support bool dtypes");
	if (!give_ranked(c, A_topk_dim, k, flag_of(c, A_topk_largest), NULL, (sid *[2]){0}))
		return false;
	if (!flag_of(c, A_topk_sorted) && k > 1)
		c->out[0].shuffled = c->out[1].shuffled = 1 + d; /* the same elements in any order: refrun.c looks who reads them */
	return true;
}

/* All of them, in self's layout. Which of several equals comes first is open: only stable=True says (Sorting.cpp: sort_stable's meta). */
REFERENCE(sort, ANEW)
{
	const struct meta *m = meta_of(c, A_sort_self);
	int64_t stride[MAX_RANK];
	int d;
	if (!shape_dim(c, &d, A_sort_dim, m))
		return false;
	shape_strides_like(stride, m);
	return give_ranked(c, A_sort_dim, shape_size(m, d), flag_of(c, A_sort_descending), stride, (sid *[2]){0});
}

/* ---- order that is known ---------------------------------------------------------------------------------------------------- */

/* stable=True: equals keep their order. Where rounding leaves the order of a row open, positions are as sort's. */
REFERENCE(sort_stable, ANEW)
{
	const struct meta *m = meta_of(c, A_sort_stable_self);
	int64_t stride[MAX_RANK], inner = 1;
	sid *of[2];
	bool mask[MAX_RANK];
	struct reduced_rows r;
	int d;
	if (!shape_dim(c, &d, A_sort_stable_dim, m))
		return false;
	shape_strides_like(stride, m);
	const bool descending = flag_of(c, A_sort_stable_descending);
	if (!give_ranked(c, A_sort_stable_dim, shape_size(m, d), descending, stride, of))
		return false;
	if (!ref_given(c, A_sort_stable_stable) || !flag_of(c, A_sort_stable_stable) || c->t->over)
		return true;
	one_dim(c, mask, A_sort_stable_dim);
	rows_of(c, &r, mask, true, m->dtype);
	for (int i = d + 1; i < m->rank; i++)
		inner *= m->size[i];
	int64_t *pos = ARENA_NEW(c->t->arena, int64_t, r.len + 1);
	for (int64_t i = 0; i < r.n && !c->t->over; i++) {
		if (!order_known(pos, c->t, r.e + i * r.len, r.len, descending))
			continue;
		for (int64_t j = 0; j < r.len && !c->t->over; j++) {
			const int64_t at = (i / inner * r.len + j) * inner + i % inner;
			of[0][at] = r.e[i * r.len + pos[j]];
			of[1][at] = tape_const_i(c->t, DT_I64, pos[j]);
		}
	}
	return true;
}

/* The j-th smallest of each row and where it was; NaN counts as largest. */
static bool give_chosen(struct ref_ctx *c, const struct reduced_rows *r, const int64_t *j)
{
	const enum dtype dt = meta_of(c, A_reduction_self)->dtype;
	sid *value = tape_ids(c->t, r->n), *place = tape_ids(c->t, r->n);
	for (int64_t i = 0; i < r->n; i++) {
		const double rank = (double)(r->len - 1 - j[i]);
		value[i] = tape_rows(c->t, SF_KMAX, dt, r->e + i * r->len, 1, r->len, rank);
		place[i] = tape_rows(c->t, SF_KARGMAX, DT_I64, r->e + i * r->len, 1, r->len, rank);
	}
	return ref_out_ids(c, 0, dt, r->size, r->rank, NULL, value) && ref_out_ids(c, 1, DT_I64, r->size, r->rank, NULL, place);
}

REFERENCE(kthvalue, ANEW)
{
	const struct meta *m = meta_of(c, A_kthvalue_self);
	const int64_t k = ref_arg_int(c, A_kthvalue_k);
	bool mask[MAX_RANK];
	struct reduced_rows r;
	int d;
	if (!one_dim(c, mask, A_kthvalue_dim) || !has_elements(c, mask) || !shape_dim(c, &d, A_kthvalue_dim, m))
		return false;
	if (k < 1 || k > shape_size(m, d))
		return err_set(c->err, "kthvalue(): selected number k out of range for dimension %d", d);
	if (m->dtype == DT_B8)
		return err_set(c->err, "kthvalue does not support bool dtypes");
	rows_of(c, &r, mask, flag_of(c, A_kthvalue_keepdim), m->dtype);
	int64_t *j = ARENA_NEW(c->t->arena, int64_t, r.n + 1);
	for (int64_t i = 0; i < r.n; i++)
		j[i] = k - 1;
	return give_chosen(c, &r, j);
}

/* Which smallest element of n is the median, how many of them NaN: -1: rounding leaves that open. */
static int64_t median_at(struct ref_ctx *c, const sid *e, int64_t n, bool skips_nan)
{
	int64_t nans = 0;
	for (int64_t i = 0; i < n && !c->t->over; i++) {
		const struct num *x = &c->t->val[e[i]];
		if (dtype_is_float((enum dtype)x->dtype) && x->flags & (NUM_NAN | NUM_ANY) && !order_is_nan(x))
			return ref_undecided(c, "what is NaN or not, in"), -1;
		nans += dtype_is_float((enum dtype)x->dtype) && order_is_nan(x);
	}
	if (skips_nan)
		return n == nans ? 0 : (n - nans - 1) / 2;
	return nans ? n - 1 : (n - 1) / 2;
}

static bool median_dim(struct ref_ctx *c, bool skips_nan)
{
	const struct meta *m = meta_of(c, A_median_dim_self);
	bool mask[MAX_RANK];
	struct reduced_rows r;
	if (!one_dim(c, mask, A_median_dim_dim) || !has_elements(c, mask))
		return false;
	if (m->dtype == DT_B8)
		return err_set(c->err, "median does not support bool dtypes");
	for (int d = 0; d < m->rank; d++)
		if (mask[d] && m->size[d] > 1 && m->stride[d] == 0)
			return ref_unsupported(c, "%s along an expanded dim, where PyTorch reads outside of self", op_info[c->n->op].name);
	rows_of(c, &r, mask, flag_of(c, A_median_dim_keepdim), m->dtype);
	int64_t *j = ARENA_NEW(c->t->arena, int64_t, r.n + 1);
	for (int64_t i = 0; i < r.n; i++)
		if ((j[i] = median_at(c, r.e + i * r.len, r.len, skips_nan)) < 0)
			return false;
	return give_chosen(c, &r, j);
}

REFERENCE(median_dim, ANEW) { return median_dim(c, false); }
REFERENCE(nanmedian_dim, ANEW) { return median_dim(c, true); }

/* Equals share the gradient, NaNs that of a NaN. */
static bool median_all(struct ref_ctx *c, bool skips_nan)
{
	struct tape *t = c->t;
	const struct meta *m = meta_of(c, A_median_self);
	const enum dtype dt = m->dtype;
	const int64_t n = meta_numel(m);
	if (n == 0)
		return ref_unsupported(c, "the median of nothing");
	if (c->grad && !ref_not_on_cuda(c)) /* where NaN reaches all of self */
		return false;
	if (dt == DT_B8)
		return err_set(c->err, "median does not support bool dtypes");
	const sid *e = ref_ids(c, c->in[A_median_self]);
	const int64_t j = median_at(c, e, n, skips_nan);
	if (j < 0)
		return false;
	const sid *own = c->grad ? ref_ids_block(c, tape_map1(t, SF_DETACH, dt, e, n), n) : e;
	const sid y = tape_rows(t, SF_KMAX, dt, own, 1, n, (double)(n - 1 - j));
	if (!c->grad || t->over)
		return ref_out_block(c, 0, dt, NULL, 0, NULL, y);
	const sid yes = tape_const_i(t, DT_B8, 1), no = tape_const_i(t, DT_B8, 0);
	sid *wins = tape_ids(t, n);
	if (order_is_nan(&t->val[y]))
		for (int64_t i = 0; i < n; i++)
			wins[i] = order_is_nan(&t->val[e[i]]) ? yes : no;
	else
		wins = ref_ids_block(c, tape_map2(t, SF_EQ, DT_B8, own, ref_ids_repeat(c, y, n), n), n);
	const sid *zero = ref_ids_repeat(c, tape_const_f(t, dt, 0), n);
	const sid count = tape_rows(t, SF_SUM, DT_I64, ref_cast(c, wins, n, DT_I64), 1, n, 0);
	const enum dtype in = dtype_compute(dt); /* g / count: the count is not rounded to a half */
	const sid *of = ref_cast(c, ref_ids_block(c, count, 1), 1, in);
	const sid *each = ref_ids_block(c, tape_map3(t, SF_SELECT, dt, wins, e, zero, n), n);
	const sid *sum = ref_ids_block(c, tape_rows(t, SF_SUM, dt, each, 1, n, 0), 1);
	const sid *held = ref_ids_block(c, tape_map2(t, SF_DIV, dt, ref_cast(c, sum, 1, in), of, 1), 1);
	return ref_out_block(c, 0, dt, NULL, 0, NULL, tape_map2(t, SF_GRAFT, dt, ref_ids_block(c, y, 1), held, 1));
}

REFERENCE(median, ANEW) { return median_all(c, false); }
REFERENCE(nanmedian, ANEW) { return median_all(c, true); }
