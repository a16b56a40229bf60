/* shape.c: PyTorch's rules for sizes, dtypes and strides as the oracle states them (shape.h). */
#include "oracle/ref/layout.h"
#include "oracle/ref/shape.h"

#include "generated/op_args.h"

#include <math.h>
#include <stdlib.h>

int shape_param(const struct ref_ctx *c, int name)
{
	int k = op_arg(c->n->op, name);
	CHECK(k >= 0);
	return k;
}

bool shape_dim(struct ref_ctx *c, int *dim, int arg, const struct meta *m) { return ref_dim(c, dim, ref_arg_int(c, arg), m->rank); }

bool shape_equal(const int64_t *a, int ra, const int64_t *b, int rb)
{
	if (ra != rb)
		return false;
	for (int d = 0; d < ra; d++)
		if (a[d] != b[d])
			return false;
	return true;
}

int64_t shape_numel(const int64_t *size, int rank)
{
	int64_t n = 1;
	for (int d = 0; d < rank; d++)
		n *= size[d];
	return n;
}

const char *shape_text(struct ref_ctx *c, const int64_t *size, int rank)
{
	struct strbuf sb;
	sb_init(&sb);
	sb_putc(&sb, '[');
	for (int d = 0; d < rank; d++)
		sb_printf(&sb, "%s%lld", d ? ", " : "", (long long)size[d]);
	sb_putc(&sb, ']');
	const char *s = arena_strdup(c->t->arena, sb.s);
	sb_free(&sb);
	return s;
}

/* ---- dtypes ------------------------------------------------------------------------------------------------- */

/* Rank of a dtype among its kind; u8 stands beside i8. */
enum dtype shape_promote(enum dtype a, enum dtype b)
{
	if (a == b)
		return a;
	bool fa = dtype_is_float(a), fb = dtype_is_float(b);
	if (fa != fb)
		return fa ? a : b;
	if (fa) {
		if (dtype_is_narrow(a) && dtype_is_narrow(b))
			return DT_F32; /* f16 with bf16: neither holds the other */
		return dtype_nbytes(a) > dtype_nbytes(b) ? a : b;
	}
	if (a == DT_B8 || b == DT_B8)
		return a == DT_B8 ? b : a;
	if (dtype_nbytes(a) == 1 && dtype_nbytes(b) == 1)
		return DT_I16; /* u8 with i8 */
	return dtype_nbytes(a) > dtype_nbytes(b) ? a : b;
}

/* BARE and STORED dtypes have a common one with no other, but for BARE ones and floats. */
static bool have_common(enum dtype a, enum dtype b)
{
	const enum dtype_rows ra = dtype_info[a].rows, rb = dtype_info[b].rows;
	const bool any_stored = ra == DR_STORED || rb == DR_STORED, any_float = dtype_is_float(a) || dtype_is_float(b);
	return a == b || (ra == DR_FULL && rb == DR_FULL) || (any_float && !any_stored);
}

static int type_join(struct result_type *r, int have, enum dtype dt)
{
	if (have < 0 || !have_common((enum dtype)have, dt)) {
		r->none |= have >= 0;
		return (int)dt;
	}
	return (int)shape_promote((enum dtype)have, dt);
}

void shape_type_tensor(struct result_type *r, const struct meta *m)
{
	int *slot = m->rank ? &r->dims : &r->zero;
	*slot = type_join(r, *slot, m->dtype);
}

void shape_type_scalar(struct result_type *r, const struct scalar *s)
{
	static const enum dtype of[] = {[SC_BOOL] = DT_B8, [SC_INT] = DT_I64, [SC_FLOAT] = DT_F32};
	r->wrapped = type_join(r, r->wrapped, of[s->kind]);
}

/* The lower category speaks only with a higher kind (bool < int < float). */
static int type_combine(struct result_type *r, int higher, int lower)
{
	if (higher < 0 || lower < 0)
		return higher < 0 ? lower : higher;
	enum dtype h = (enum dtype)higher, l = (enum dtype)lower;
	if (dtype_is_float(h))
		return higher;
	if (h == DT_B8 || dtype_is_float(l))
		return type_join(r, higher, l);
	return higher;
}

bool shape_type(enum dtype *out, struct ref_ctx *c, struct result_type *r)
{
	int t = type_combine(r, r->dims, type_combine(r, r->zero, r->wrapped));
	CHECK(t >= 0);
	*out = (enum dtype)t;
	return !r->none || err_set(c->err, "promotion of these dtypes is not supported");
}

bool shape_can_cast(struct ref_ctx *c, enum dtype from, enum dtype to)
{
	bool lossy_kind = (dtype_is_float(from) && !dtype_is_float(to)) || (from != DT_B8 && to == DT_B8);
	if (!lossy_kind)
		return true;
	return err_set(c->err, "result type %s can't be cast to the desired output type %s", dtype_info[from].torch, dtype_info[to].torch);
}


bool shape_fits(struct ref_ctx *c, const struct scalar *s, enum dtype dt, int64_t n)
{
	if (n == 0 || dt == DT_B8)
		return true;
	bool fits = true;
	if (dtype_is_float(dt)) {
		double v = s->kind == SC_FLOAT ? s->f : (double)s->i;
		fits = isnan(v) || (isinf(v) && !num_format[dt].no_inf) || fabs(v) <= num_format[dt].max;
	} else {
		int bits = 8 * dtype_nbytes(dt);
		bool is_unsigned = dtype_is_unsigned(dt);
		double lo = is_unsigned ? 0 : -ldexp(1, bits - 1), end = ldexp(1, is_unsigned ? bits : bits - 1);
		if (s->kind == SC_FLOAT)
			fits = s->f >= lo && s->f < end; /* NaN fits nowhere */
		else if (bits < 64)
			fits = s->i < (int64_t)end && s->i >= (is_unsigned ? 1 - (int64_t)end : (int64_t)lo);
	}
	if (fits)
		return true;
	return err_set(c->err, "value cannot be converted to type %s without overflow", dtype_info[dt].torch);
}

bool shape_fill_fits(struct ref_ctx *c, const struct scalar *s, enum dtype dt, int64_t n)
{
	return (n == 1 && dtype_is_narrow(dt)) || shape_fits(c, s, dt, 1);
}

/* ---- sizes -------------------------------------------------------------------------------------------------- */

bool shape_broadcast(struct ref_ctx *c, int64_t size[MAX_RANK], int *rank, const struct meta *m)
{
	int r = MAX(*rank, m->rank);
	int64_t out[MAX_RANK];
	for (int back = 1; back <= r; back++) {
		int64_t a = back <= *rank ? size[*rank - back] : 1, b = back <= m->rank ? m->size[m->rank - back] : 1;
		if (a != b && a != 1 && b != 1)
			return err_set(c->err, "the size of tensor a (%lld) must match the size of tensor b (%lld) at non-singleton dimension %d",
				(long long)a, (long long)b, r - back);
		out[r - back] = a == 1 ? b : a;
	}
	memcpy(size, out, sizeof(int64_t) * (size_t)r);
	*rank = r;
	return true;
}

bool shape_expands(const struct meta *m, const int64_t *size, int rank)
{
	if (m->rank > rank)
		return false;
	for (int d = 0; d < m->rank; d++) {
		int64_t want = size[rank - m->rank + d];
		if (m->size[d] != want && m->size[d] != 1)
			return false;
	}
	return true;
}

const sid *shape_expand_ids(struct ref_ctx *c, const sid *ids, const struct meta *m, const int64_t *size, int rank)
{
	if (shape_equal(m->size, m->rank, size, rank))
		return ids;
	int64_t n = shape_numel(size, rank), index[MAX_RANK] = {0}, dense[MAX_RANK], step[MAX_RANK] = {0};
	shape_row_major(dense, m->size, m->rank);
	for (int d = 0; d < m->rank; d++)
		step[rank - m->rank + d] = m->size[d] == 1 ? 0 : dense[d];
	sid *out = tape_ids(c->t, n);
	for (int64_t k = 0; k < n; k++) {
		int64_t at = 0;
		for (int d = 0; d < rank; d++)
			at += index[d] * step[d];
		out[k] = ids[at];
		shape_next(index, size, rank);
	}
	return out;
}

bool shape_infer(struct ref_ctx *c, int64_t size[MAX_RANK], int *rank, int arg, int64_t numel)
{
	const struct arg *a = &c->n->arg[arg];
	int hole = -1;
	int64_t known = 1;
	if (a->n > MAX_RANK)
		return err_set(c->err, "rank %d exceeds the limit %d", a->n, MAX_RANK);
	*rank = a->n;
	for (int d = 0; d < a->n; d++) {
		size[d] = a->ints[d].value;
		if (size[d] == -1) {
			if (hole >= 0)
				return err_set(c->err, "only one dimension can be inferred");
			hole = d;
		} else if (size[d] < 0) {
			return err_set(c->err, "invalid shape dimension %lld", (long long)size[d]);
		} else if (!mul_i64(&known, known, size[d])) {
			return err_set(c->err, "shape is invalid for input of size %lld", (long long)numel);
		}
	}
	if (hole >= 0 && known == 0 && numel == 0)
		return err_set(c->err, "cannot reshape tensor of 0 elements: the unspecified dimension can be any value");
	if (hole >= 0 && known > 0 && numel % known == 0)
		size[hole] = numel / known;
	else if (hole >= 0 || known != numel)
		return err_set(c->err, "shape %s is invalid for input of size %lld", shape_text(c, size, *rank), (long long)numel);
	return true;
}

/* ---- strides ------------------------------------------------------------------------------------------------ */

void shape_row_major(int64_t stride[MAX_RANK], const int64_t *size, int rank)
{
	int64_t s = 1;
	for (int d = rank - 1; d >= 0; d--) {
		stride[d] = s;
		s *= MAX(size[d], 1);
	}
}

/* One operand as the iterator sees it: its stride along each dimension of the result, 0 where it is broadcast. */
struct view_of {
	int64_t stride[MAX_RANK];
};

/* Does dimension a belong outside dimension b? 1 yes, -1 no, 0 no operand has an opinion. A stride 0 has none. */
static int order_of(int a, int b, const int64_t *size, const struct view_of *v, int n)
{
	for (int k = 0; k < n; k++) {
		int64_t sa = v[k].stride[a], sb = v[k].stride[b];
		if (sa == 0 || sb == 0)
			continue;
		if (sa != sb)
			return sa < sb ? -1 : 1;
		if (size[a] > size[b])
			return 1;
	}
	return 0;
}

/* Dimensions from innermost to outermost. PyTorch's insertion sort, to the letter: with ambiguous pairs the relation is not
 * transitive, so another sort would give another order. */
static void order_dims(int perm[MAX_RANK], const int64_t *size, int rank, const struct view_of *v, int n)
{
	for (int d = 0; d < rank; d++)
		perm[d] = rank - 1 - d;
	for (int i = 1; i < rank; i++) {
		int at = i;
		for (int j = i - 1; j >= 0; j--) {
			int o = order_of(perm[j], perm[at], size, v, n);
			if (o < 0)
				break;
			if (o > 0) {
				int t = perm[j];
				perm[j] = perm[at];
				perm[at] = t;
				at = j;
			}
		}
	}
}

static void pack_dims(int64_t stride[MAX_RANK], const int perm[MAX_RANK], const int64_t *size, int rank)
{
	int64_t s = 1;
	for (int k = 0; k < rank; k++) {
		stride[perm[k]] = s;
		s *= MAX(size[perm[k]], 1);
	}
}

void shape_strides_like(int64_t stride[MAX_RANK], const struct meta *m)
{
	if (layout_is_dense(m)) {
		memcpy(stride, m->stride, sizeof(int64_t) * (size_t)m->rank);
		return;
	}
	struct view_of v = {{0}};
	int perm[MAX_RANK];
	memcpy(v.stride, m->stride, sizeof(int64_t) * (size_t)m->rank);
	order_dims(perm, m->size, m->rank, &v, 1);
	pack_dims(stride, perm, m->size, m->rank);
}

/* The number of dimensions that a channels-last format is for. */
static int format_rank(enum memory_format f) { return f == FORMAT_CHANNELS_LAST ? 4 : f == FORMAT_CHANNELS_LAST_3D ? 5 : 0; }

bool shape_in_format(const struct meta *m, enum memory_format f)
{
	int64_t want[MAX_RANK];
	if (f == FORMAT_CONTIGUOUS || f == FORMAT_PRESERVE)
		return layout_is_contiguous(m);
	if (!shape_channels_last(want, m->size, m->rank, format_rank(f)))
		return false;
	for (int d = 0; d < m->rank; d++)
		if (m->size[d] != 1 && m->stride[d] != want[d])
			return false;
	return true;
}

bool shape_format_strides(struct ref_ctx *c, int64_t stride[MAX_RANK], const struct meta *m, enum memory_format f)
{
	if (f == FORMAT_PRESERVE)
		shape_strides_like(stride, m);
	else if (f == FORMAT_CONTIGUOUS)
		shape_row_major(stride, m->size, m->rank);
	else if (!shape_channels_last(stride, m->size, m->rank, format_rank(f)))
		return err_set(c->err, "required rank %d tensor to use %s format", format_rank(f), memory_format_name[f]);
	return true;
}

enum memory_format shape_format_asked(const struct ref_ctx *c, enum memory_format otherwise)
{
	int k = op_arg(c->n->op, N_memory_format);
	return k >= 0 && ref_given(c, k) ? c->n->arg[k].format : otherwise;
}

void shape_iterator(int64_t stride[MAX_RANK], const int64_t *size, int rank, const struct meta *m, int n)
{
	bool same = true, contiguous = true, last = true, dense = true, equal = true;
	for (int k = 0; k < n; k++) {
		same &= shape_equal(m[k].size, m[k].rank, size, rank);
		contiguous &= layout_is_contiguous(&m[k]);
		last &= shape_in_format(&m[k], FORMAT_CHANNELS_LAST);
		dense &= layout_is_dense(&m[k]);
		equal &= k == 0 || shape_equal(m[k].stride, m[k].rank, m[0].stride, m[0].rank);
	}
	if (same && contiguous) {
		shape_row_major(stride, size, rank);
		return;
	}
	if (same && last) {
		shape_channels_last(stride, size, rank, 4);
		return;
	}
	if (same && dense && equal) {
		memcpy(stride, m[0].stride, sizeof(int64_t) * (size_t)rank);
		return;
	}
	struct view_of v[MAX_LIST + 1];
	CHECK(n <= ARRAY_LEN(v));
	for (int k = 0; k < n; k++) {
		v[k] = (struct view_of){{0}};
		int lead = rank - m[k].rank;
		for (int d = 0; d < m[k].rank; d++)
			v[k].stride[lead + d] = m[k].size[d] == 1 && size[lead + d] != 1 ? 0 : m[k].stride[d];
	}
	int perm[MAX_RANK];
	order_dims(perm, size, rank, v, n);
	pack_dims(stride, perm, size, rank);
}

/* Old dims are taken in runs that advance like one dimension; each run is cut into new dims of its own. */
bool shape_view(int64_t stride[MAX_RANK], const struct meta *m, const int64_t *size, int rank)
{
	int64_t n = meta_numel(m);
	if (n == 0) {
		if (shape_equal(m->size, m->rank, size, rank))
			memcpy(stride, m->stride, sizeof(int64_t) * (size_t)rank);
		else
			shape_row_major(stride, size, rank);
		return true;
	}
	int d = m->rank - 1, k = rank - 1;
	for (int i = 0; i < rank && m->rank == 0; i++)
		stride[i] = 1;
	if (m->rank == 0)
		return true;
	while (d >= 0) {
		/* A size 1 may start a run, too: its stride is what the new sizes 1 get. */
		int64_t base = m->stride[d], run = m->size[d--], cut = 1;
		for (; d >= 0 && (m->size[d] == 1 || m->stride[d] == run * base); d--)
			run *= m->size[d];
		for (; k >= 0 && (cut < run || size[k] == 1); k--) {
			stride[k] = cut * base;
			cut *= size[k];
		}
		if (cut != run)
			return false;
	}
	return k < 0;
}

int shape_format(const struct meta *m)
{
	static const int order4[] = {1, 3, 2, 0}, order5[] = {1, 4, 3, 2, 0};
	if ((m->rank != 4 && m->rank != 5) || m->stride[1] == 0)
		return 0;
	const int *order = m->rank == 4 ? order4 : order5;
	int64_t least = 0;
	for (int k = 0; k < m->rank; k++) {
		int d = order[k];
		if (m->size[d] == 0 || m->stride[d] < least)
			return 0;
		if (d == 0 && least == m->stride[1])
			return 0; /* N111 and N11W: taken as plain */
		least = m->stride[d] * MAX(m->size[d], 1);
	}
	return m->rank;
}

bool shape_is_samples(const struct meta *m, int alone)
{
	bool is = m->rank == alone || m->rank == alone + 1;
	for (int d = m->rank - alone; is && d < m->rank; d++)
		is = m->size[d] > 0;
	return is;
}

bool shape_channels_last(int64_t stride[MAX_RANK], const int64_t *size, int rank, int format)
{
	if (format == 0 || format != rank)
		return false;
	int64_t s = 1;
	stride[1] = s;
	s *= size[1];
	for (int d = rank - 1; d >= 2; d--) {
		stride[d] = s;
		s *= size[d];
	}
	stride[0] = s;
	return true;
}

/* ---- ids ---------------------------------------------------------------------------------------------------- */

sid shape_const(struct ref_ctx *c, enum dtype dt, const struct scalar *s)
{
	if (num_format[dt].no_inf) /* what is beyond it is the target's to say, as in a conversion */
		return shape_number(c, s, dt);
	if (s->kind == SC_FLOAT && !dtype_is_float(dt))
		return tape_const_i(c->t, dt, dt == DT_B8 ? s->f != 0 : s->f >= 0x1p63 ? (int64_t)(uint64_t)s->f : (int64_t)s->f);
	return tape_const(c->t, dt, s);
}

sid shape_number(struct ref_ctx *c, const struct scalar *s, enum dtype dt)
{
	if (dtype_is_narrow(dt)) {
		sid wide = shape_number(c, s, DT_F32);
		return tape_map1(c->t, SF_CAST, dt, ref_ids_repeat(c, wide, 1), 1);
	}
	return shape_const(c, dt, s);
}

sid shape_zero(struct ref_ctx *c, enum dtype dt) { return dtype_is_float(dt) ? tape_const_f(c->t, dt, 0) : tape_const_i(c->t, dt, 0); }

sid shape_const_or_rounded(struct ref_ctx *c, enum dtype half, const struct scalar *s)
{
	struct tape *t = c->t;
	sid whole = tape_const(t, DT_F32, s), rounded = tape_const(t, half, s);
	if (t->over || !num_is_exact(&t->val[whole]) || t->val[whole].hi == t->val[rounded].hi)
		return whole;
	struct num f = t->val[whole], r = t->val[rounded];
	sid either = tape_map1(t, SF_COPY, DT_F32, ref_ids_repeat(c, whole, 1), 1);
	if (num_is_exact(&r))
		tape_either(t, either, f.hi, r.hi);
	else /* rounded to an infinity, or the centre of two roundings */
		tape_replace(t, either, num_hull(&f, &r));
	return either;
}

const sid *shape_scaled_half(struct ref_ctx *c, const sid *ids, int64_t n, const struct scalar *alpha, enum dtype dt)
{
	struct tape *t = c->t;
	sid factor = tape_const(t, dt, alpha), *times = tape_ids(t, n), *out = tape_ids(t, n);
	double f = (double)(float)(alpha->kind == SC_FLOAT ? alpha->f : (double)alpha->i);
	if (!t->over && f != t->val[factor].hi && isfinite(f)) {
		factor = tape_map1(t, SF_COPY, dt, ref_ids_repeat(c, factor, 1), 1);
		if (!t->over)
			tape_either(t, factor, t->val[factor].hi, f);
	}
	for (int64_t k = 0; k < n; k++)
		times[k] = factor;
	sid first = tape_map2(t, SF_MUL, dt, ids, times, n);
	for (int64_t k = 0; k < n; k++) {
		out[k] = t->over ? 0 : first + (sid)k;
		if (t->over)
			continue;
		const struct num *x = &t->val[ids[k]], *a = &t->val[factor];
		const struct num *y = &t->val[out[k]];
		double whole = num_is_exact(x) && num_is_exact(a) ? x->hi * a->hi : NAN;
		if (num_is_exact(y) && isfinite(whole) && whole != y->hi)
			tape_either(t, out[k], y->hi, whole);
		else if (y->flags & NUM_INF && y->flags & NUM_NOFIN && !(x->flags & (NUM_NOFIN | NUM_ANY))) { /* overflows only if it is rounded */
			struct num product = num_mul(x, a);
			product.flags |= y->flags & NUM_INF;
			tape_replace(t, out[k], product);
		}
	}
	return out;
}

bool shape_decided(const struct ref_ctx *c, sid id) { return !(tape_val(c->t, id)->flags & (NUM_UNDEC | NUM_ANY)); }

sid *shape_out_like(struct ref_ctx *c, const struct meta *m, const int64_t *stride)
{
	return ref_out(c, 0, m->dtype, m->size, m->rank, stride);
}

bool shape_next(int64_t index[MAX_RANK], const int64_t *size, int rank)
{
	for (int d = rank - 1; d >= 0; d--) {
		if (++index[d] < size[d])
			return true;
		index[d] = 0;
	}
	return false;
}
