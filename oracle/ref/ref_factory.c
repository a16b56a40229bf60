/* ref_factory.c: tensors made from one number: full, zeros_like, ones_like, fill_. */
#include "oracle/ref/shape.h"
#include "oracle/ref/row_rules.h"
#include "generated/op_id.h"

#include <math.h>

static bool fill_out(struct ref_ctx *c, enum dtype dt, const int64_t *size, int rank, const int64_t *stride, sid value)
{
	sid *out = ref_out(c, 0, dt, size, rank, stride);
	if (!out)
		return false;
	int64_t n = meta_numel(&c->out[0].meta);
	for (int64_t i = 0; i < n; i++)
		out[i] = value;
	return true;
}

/* A tensor made of nothing but the number: it has no gradient. */
static bool make_out(struct ref_ctx *c, enum dtype dt, const int64_t *size, int rank, const int64_t *stride, sid value)
{
	c->cuts = true;
	return fill_out(c, dt, size, rank, stride, value);
}

static enum dtype dtype_of(const struct ref_ctx *c, enum dtype otherwise)
{
	int k = shape_param(c, N_dtype);
	return ref_given(c, k) ? c->n->arg[k].dtype : otherwise;
}

/* Sizes in argument `size`, all elements s. */
static bool constant_of(struct ref_ctx *c, int size_arg, enum dtype dt, const struct scalar *s)
{
	const struct arg *a = &c->n->arg[size_arg];
	int64_t size[MAX_RANK];
	if (a->n > MAX_RANK)
		return err_set(c->err, "rank %d exceeds the limit %d", a->n, MAX_RANK);
	for (int d = 0; d < a->n; d++)
		size[d] = a->ints[d].value;
	if (!meta_check_sizes(size, a->n, c->err) || !shape_fill_fits(c, s, dt, shape_numel(size, a->n)))
		return false;
	return make_out(c, dt, size, a->n, NULL, shape_const(c, dt, s));
}

static bool constant(struct ref_ctx *c, enum dtype dt, const struct scalar *s) { return constant_of(c, A_sized_size, dt, s); }

/* full(size, value, dtype): dtype of the scalar if absent: f32, i64, b8. */
REFERENCE(full, ANEW)
{
	static const enum dtype of[] = {[SC_BOOL] = DT_B8, [SC_INT] = DT_I64, [SC_FLOAT] = DT_F32};
	return constant(c, dtype_of(c, of[scalar_of(c, A_full_fill_value)->kind]), scalar_of(c, A_full_fill_value));
}

REFERENCE(zeros, ANEW) { return constant(c, dtype_of(c, DT_F32), &(struct scalar){SC_INT, 0, 0}); }
REFERENCE(ones, ANEW) { return constant(c, dtype_of(c, DT_F32), &(struct scalar){SC_INT, 1, 0}); }

REFERENCE(new_zeros, ANEW)
{
	return constant_of(c, A_new_zeros_size, dtype_of(c, meta_of(c, A_new_zeros_self)->dtype), &(struct scalar){SC_INT, 0, 0});
}

REFERENCE(new_ones, ANEW)
{
	return constant_of(c, A_new_ones_size, dtype_of(c, meta_of(c, A_new_ones_self)->dtype), &(struct scalar){SC_INT, 1, 0});
}

REFERENCE(new_full, ANEW)
{
	return constant_of(c, A_new_full_size, dtype_of(c, meta_of(c, A_new_full_self)->dtype), scalar_of(c, A_new_full_fill_value));
}

/* One number; f32 whatever kind it is. */
REFERENCE(scalar_tensor, ANEW)
{
	const struct scalar *s = scalar_of(c, A_scalar_tensor_s);
	enum dtype dt = dtype_of(c, DT_F32);
	return shape_fill_fits(c, s, dt, 1) && make_out(c, dt, (const int64_t[]){0}, 0, NULL, shape_const(c, dt, s));
}

static bool is_whole_of(enum dtype dt, double v) { return fabs(v) < 0x1p63 && (double)num_wrap(dt, (int64_t)v) == v; }

/* An end of a range, a number or a 0-d tensor; a range of integers has it cut to a whole number. PyTorch refuses -0.5 of bytes: it asks
 * for the range before it cuts. */
static bool end_of_range(struct ref_ctx *c, int name, enum dtype dt, double *out)
{
	const int k = shape_param(c, name);
	bool held = true;
	if (c->in[k]) {
		if (meta_of(c, k)->rank)
			return err_set(c->err, "%s only supports 0-dimensional start and end tensors", op_info[c->n->op].name);
		const struct num *x = tape_val(c->t, *ref_ids(c, c->in[k]));
		held = !c->t->over && x->rad == 0 && !(x->flags & ~NUM_MOVED);
		*out = dtype_is_float((enum dtype)x->dtype) ? x->hi : (double)x->i;
	} else {
		const struct scalar *s = scalar_of(c, k);
		*out = s->kind == SC_FLOAT ? s->f : (double)s->i;
	}
	if (dtype_is_float(dt)) {
		held = held && fabs(*out) <= num_format[dt].max;
	} else {
		held = held && fabs(*out) <= 0x1p31 && is_whole_of(dt, floor(*out)) && is_whole_of(dt, ceil(*out));
		*out = trunc(*out);
	}
	c->undecided = !held; /* PyTorch may refuse it */
	return held || ref_unsupported(c, "an end of a range that is rounded, or that %s does not hold", dtype_info[dt].name);
}

/* Element k of n whole numbers, in f64: steps that it does not hold come to a whole number, or nearly to it. */
static struct num whole_in_range(enum dtype dt, const double end[2], int64_t k, int64_t n)
{
	const int64_t last = MAX(n - 1, 1), first = (int64_t)end[0], distance = (int64_t)(end[1] - end[0]);
	const int64_t sum = first * last + distance * k;
	const int64_t x = sum / last;
	const double step = (double)distance / (double)last;
	struct num out = num_int(dt, x);
	if (sum % last == 0 && x != 0 && fma(step, (double)last, -(double)distance) != 0)
		out.i -= x > 0, out.rad = 1, out.flags |= NUM_UNDEC;
	return out;
}

/* Element k of n floats. Where the dtype does not hold each and their distance, versions differ in what they round, and where. */
static bool float_in_range(struct ref_ctx *c, struct num *out, enum dtype dt, const double end[2], int64_t k, int64_t n)
{
	const double step = n > 1 ? (end[1] - end[0]) / (double)(n - 1) : 0;
	const double x = end[0] + step * (double)k, far = step * (double)k, near = step * (double)(n - 1 - k);
	const bool sums = x - end[0] == far && (n == 1 || end[1] - x == near) && fma(step, (double)k, -far) == 0;
	if (!sums || fma(step, (double)(n - 1), -(end[1] - end[0])) != 0 || !num_fits(dt, x, 0) || !num_fits(dt, step, 0)
		|| !num_fits(dt, far, 0) || !num_fits(dt, near, 0) || !num_fits(dt, end[1] - end[0], 0))
		return ref_unsupported(c, "linspace of numbers, or at a distance, that the dtype does not hold");
	*out = num_exact(dt, n == 1 ? end[0] : k < n / 2 ? x : end[1] - near); /* of two zeros PyTorch's */
	return true;
}

/* steps numbers from start to end at equal distances. */
REFERENCE(linspace, ANEW)
{
	const enum dtype dt = dtype_of(c, DT_F32);
	const int64_t n = ref_arg_int(c, shape_param(c, N_steps));
	const bool tensors = c->in[shape_param(c, N_start)] || c->in[shape_param(c, N_end)];
	double end[2];
	if (n < 0)
		return err_set(c->err, "number of steps must be non-negative");
	if (dt == DT_B8 || dtype_info[dt].rows != DR_FULL || n > MAX_NUMEL)
		return n > 1 && dt == DT_B8 ? err_set(c->err, "linspace is not implemented for bool") : ref_unsupported(c, "such a linspace");
	if (!end_of_range(c, N_start, dt, &end[0]) || !end_of_range(c, N_end, dt, &end[1]))
		return false;
	end[1] = n == 1 ? end[0] : end[1];
	sid *out = ref_out(c, 0, dt, &n, 1, NULL);
	c->cuts = !tensors;
	for (int64_t k = 0; out && k < n; k++) {
		struct num x;
		if (!dtype_is_float(dt))
			x = whole_in_range(dt, end, k, n);
		else if (!float_in_range(c, &x, dt, end, k, n))
			return false;
		if (dtype_is_float(dt) && (!tensors || x.hi != 0)) /* else of two zeros whatever the tensor held */
			x.flags |= NUM_MOVED;
		out[k] = tape_sets(c->t, dt, &x, 1);
	}
	return out != NULL;
}

/* Exponent k of n powers: doubles, which are rounded three times. */
static struct num exponent_in_range(const double end[2], int64_t k, int64_t n)
{
	const double last = (double)MAX(n - 1, 1), distance = end[1] - end[0], step = distance / last;
	const bool low = n == 1 || k < n / 2;
	const double times = low ? (double)k : (double)(n - 1 - k), far = step * times, from = end[!low], x = low ? from + far : from - far;
	struct num out = num_exact(DT_F64, x);
	const bool exact = fma(step, last, -distance) == 0 && fma(step, times, -far) == 0
		&& (low ? x - from == far && x - far == from : from - x == far && x + far == from);
	if (!exact)
		out.rad = 0x1p-51 * (fabs(from) + fabs(far) + fabs(distance));
	return out;
}

/* Does a tensor of dt take one power for certain? PyTorch fills it with a number, and refuses a finite one that is beyond dt, but not of
 * halves (shape_fill_fits). */
static bool takes_power(enum dtype dt, const struct num *x)
{
	if (dtype_is_narrow(dt))
		return true;
	if (x->flags & NUM_SPECIAL)
		return dtype_is_float(dt) && x->flags & NUM_NOFIN && !(x->flags & NUM_ANY);
	const double low = x->hi - x->rad, high = x->hi + x->rad;
	return dtype_is_float(dt) ? MAX(fabs(low), fabs(high)) <= num_format[dt].max
							  : is_whole_of(dt, floor(low)) && is_whole_of(dt, ceil(high));
}

/* base to the power of each of steps numbers at equal distances. Ends, or a distance, that the dtype does not hold are rounded by the
 * kernel and kept by PyTorch's decomposition. */
REFERENCE(logspace, ANEW)
{
	const enum dtype dt = dtype_of(c, DT_F32);
	const int64_t n = ref_arg_int(c, shape_param(c, N_steps));
	const bool tensors = c->in[shape_param(c, N_start)] || c->in[shape_param(c, N_end)];
	double end[2];
	if (!ref_not_on_cuda(c)) /* whose kernel takes powers in another precision */
		return false;
	if (n < 0)
		return err_set(c->err, "number of steps must be non-negative");
	if (dt == DT_B8 || dtype_info[dt].rows != DR_FULL || n > MAX_NUMEL)
		return n > 1 && dt == DT_B8 ? err_set(c->err, "logspace is not implemented for bool") : ref_unsupported(c, "such a logspace");
	const enum dtype read = n == 1 ? DT_F64 : dt;
	if (!end_of_range(c, N_start, read, &end[0]) || !end_of_range(c, N_end, read, &end[1]))
		return false;
	if (n == 1)
		end[1] = end[0];
	else if (dtype_is_float(dt) && (!num_fits(dt, end[0], 0) || !num_fits(dt, end[1], 0) || !num_fits(dt, end[1] - end[0], 0)))
		return ref_unsupported(c, "logspace between numbers, or of a distance, that the dtype does not hold");
	sid *out = ref_out(c, 0, dt, &n, 1, NULL);
	c->cuts = !tensors;
	if (!out || n == 0)
		return out != NULL;
	struct num *x = ARENA_NEW(c->t->arena, struct num, n);
	for (int64_t k = 0; k < n; k++)
		x[k] = exponent_in_range(end, k, n);
	const sid *exponent = ref_ids_block(c, tape_sets(c->t, DT_F64, x, n), n);
	const sid *base = ref_ids_repeat(c, shape_const(c, DT_F64, scalar_of(c, shape_param(c, N_base))), n);
	const sid power = tape_map2(c->t, SF_RAISE, DT_F64, base, exponent, n);
	c->undecided = n == 1 && !c->t->over && !takes_power(dt, tape_val(c->t, power));
	if (c->undecided)
		return ref_unsupported(c, "one power that %s may not hold", dtype_info[dt].name);
	memcpy(out, ref_cast(c, ref_ids_block(c, power, n), n, dt), (size_t)n * sizeof *out);
	return true;
}

/* 1 where row and column are the same. */
static bool identity(struct ref_ctx *c, int64_t rows, int64_t columns)
{
	const enum dtype dt = dtype_of(c, DT_F32);
	const int64_t size[] = {rows, columns};
	const struct scalar number[] = {{SC_INT, 0, 0}, {SC_INT, 1, 0}};
	if (rows < 0 || columns < 0)
		return err_set(c->err, "eye of a negative size");
	if (dtype_info[dt].rows == DR_BARE)
		return err_set(c->err, "\"eye\" not implemented for %s", dtype_info[dt].c10);
	c->cuts = true;
	sid *out = ref_out(c, 0, dt, size, 2, NULL);
	const sid zero = shape_const(c, dt, &number[0]), one = shape_const(c, dt, &number[1]);
	for (int64_t k = 0; out && k < rows * columns; k++)
		out[k] = k / columns == k % columns ? one : zero;
	return out != NULL;
}

REFERENCE(eye, ANEW) { return identity(c, ref_arg_int(c, A_eye_n), ref_arg_int(c, A_eye_n)); }
REFERENCE(eye_m, ANEW) { return identity(c, ref_arg_int(c, A_eye_m_n), ref_arg_int(c, A_eye_m_m)); }

/* start + step * k for k = 0, 1, … before end. Sums that the dtype does not hold are rounded in ways that differ (lanes
 * start anew from a rounded element). The parts of integer ranges are cut to whole numbers; how many there are is counted with the parts as
 * given, but of i64 by version 2.11 with the cut ones. */
REFERENCE(arange, ANEW)
{
	struct scalar part[3] = {{SC_INT, 0, 0}, {SC_INT, 0, 0}, {SC_INT, 1, 0}}; /* start, end, step */
	static const int name[] = {N_start, N_end, N_step};
	bool floats = false;
	double v[3];
	for (int k = 0; k < 3; k++) {
		int arg = op_arg(c->n->op, name[k]);
		if (arg >= 0)
			part[k] = *scalar_of(c, arg);
		floats = floats || part[k].kind == SC_FLOAT;
		v[k] = part[k].kind == SC_FLOAT ? part[k].f : (double)part[k].i;
		if (!isfinite(v[k]))
			return k == 2 ? ref_unsupported(c, "a range whose step is not finite") : err_set(c->err, "unsupported range");
	}
	enum dtype dt = dtype_of(c, floats ? DT_F32 : DT_I64);
	if (dt == DT_B8)
		return err_set(c->err, "arange is not implemented for bool");
	bool whole = !dtype_is_float(dt);
	double length = (v[1] - v[0]) / v[2];
	if (v[2] == 0)
		return err_set(c->err, "step must be nonzero");
	for (int k = 0; whole && k < 3; k++) {
		if (fabs(v[k]) >= 0x1p53)
			return ref_unsupported(c, "a range of integers with large parts");
		v[k] = trunc(v[k]);
	}
	if (whole && (v[2] == 0 || (dt == DT_I64 && ceil((v[1] - v[0]) / v[2]) != ceil(length))))
		return ref_unsupported(c, "a range of integers with parts that are not whole, which versions of PyTorch count in two ways");
	if (v[2] > 0 ? v[1] < v[0] : v[1] > v[0])
		return err_set(c->err, "upper bound and lower bound inconsistent with step sign");
	if (ceil(length) > (double)MAX_NUMEL)
		return ref_unsupported(c, "arange of %.17g elements", length);
	int64_t n = (int64_t)ceil(length);
	sid *out = ref_out(c, 0, dt, &n, 1, NULL);
	c->cuts = true;
	for (int64_t k = 0; out && k < n; k++) {
		double x = v[0] + v[2] * (double)k;
		if (!whole && (!num_fits(dt, x, 0) || x - v[0] != v[2] * (double)k || fma(v[2], (double)k, -(x - v[0])) != 0))
			return ref_unsupported(c, "arange of numbers that the dtype does not hold");
		out[k] = whole ? tape_const_i(c->t, dt, (int64_t)x) : tape_const_f(c->t, dt, x);
	}
	return out != NULL;
}

static bool number_like(struct ref_ctx *c, const struct scalar *s)
{
	const struct meta *m = meta_of(c, A_number_like_self);
	const enum dtype dt = c->n->op == OP_zero_ ? m->dtype : dtype_of(c, m->dtype);
	int64_t stride[MAX_RANK];
	return shape_format_strides(c, stride, m, shape_format_asked(c, FORMAT_PRESERVE)) && shape_fill_fits(c, s, dt, meta_numel(m))
		&& make_out(c, dt, m->size, m->rank, stride, shape_const(c, dt, s));
}

REFERENCE(zeros_like, ANEW) { return number_like(c, &(struct scalar){SC_INT, 0, 0}); }
REFERENCE(ones_like, ANEW) { return number_like(c, &(struct scalar){SC_INT, 1, 0}); }
REFERENCE(full_like, ANEW) { return number_like(c, scalar_of(c, A_full_like_fill_value)); }

/* fill_(self, value), or a tensor like self. */
REFERENCE(fill, ANEW)
{
	const struct meta *m = meta_of(c, A_fill_self);
	const struct scalar *s = scalar_of(c, A_filled_value);
	int64_t stride[MAX_RANK];
	shape_strides_like(stride, m);
	if (!shape_fill_fits(c, s, m->dtype, meta_numel(m)))
		return false;
	return fill_out(c, m->dtype, m->size, m->rank, c->inplace ? NULL : stride, shape_const(c, m->dtype, s));
}

/* The same with a 0-d tensor: converted once, its derivative is the sum. */
REFERENCE(fill_Tensor, ANEW)
{
	const struct meta *m = meta_of(c, A_fill_Tensor_self), *value = meta_of(c, A_fill_Tensor_value);
	int64_t stride[MAX_RANK];
	shape_strides_like(stride, m);
	if (value->rank)
		return err_set(c->err, "fill_ only supports 0-dimension value tensor");
	return fill_out(
		c, m->dtype, m->size, m->rank, c->inplace ? NULL : stride, *ref_cast(c, ref_ids(c, c->in[A_fill_Tensor_value]), 1, m->dtype));
}
