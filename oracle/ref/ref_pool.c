/* ref_pool.c: pools of planes, the last two dims, and of volumes, the last three; a plane is a volume of depth 1. One list for each window:
 * the elements inside, from which follow the sum or the largest.
 *
 * PyTorch (2.11.0, 2.15.0; measured): windows begin inside or in the padding before, and with ceil_mode the last one may stand out; what
 * an average divides by is clipped at the padding's end all the same. Results lie as self does where that suggests channels-last, those of
 * volumes if they have elements; volumes without samples do if samples of one volume were channels-last, and backward looks at the
 * gradient.
 * Kernels on the CPU add an average in f32 for halves and round the quotient once; its gradient is a quotient in the tensor's dtype (by
 * the divisor in it: 257 is 256 in bf16), and each addition is rounded.
 * Adaptive windows: window i of m along a dim of size n covers floor(i * n / m) up to ceil((i + 1) * n / m). A sum is divided by extents
 * one after the other; of volumes of halves each addition is rounded, and results of volumes are contiguous. */
#include "oracle/ref/shape.h"
#include "oracle/ref/row_rules.h"
#include "generated/op_id.h"

struct pools {
	enum dtype dt;
	int rank;
	int64_t size[MAX_RANK]; /* of the result */
	int64_t planes, windows;
	int n; /* dims that are pooled, the last of each list */
	int64_t in[3], kernel[3], stride[3], padding[3], dilation[3], out[3];
	bool with_padding, adaptive;
	int64_t divisor;
};

/* ---- arguments ---- */

static const struct arg *argument(const struct ref_ctx *c, int name)
{
	const int k = op_arg(c->n->op, name);
	return k < 0 ? NULL : &c->n->arg[k];
}

static bool read_list(struct ref_ctx *c, const struct pools *p, int64_t to[3], int name, const char *what, const int64_t *none)
{
	const struct arg *a = argument(c, name);
	if (!a)
		return true;
	if ((a->n != p->n && a->n != 1) && (a->n || !none))
		return err_set(c->err, "%s: %s of %d values", op_info[c->n->op].name, what, a->n);
	for (int d = 3 - p->n; d < 3; d++) {
		to[d] = a->n == 0 ? none[d] : a->ints[a->n == 1 ? 0 : d - (3 - p->n)].value;
		if (to[d] > INT32_MAX || to[d] < -INT32_MAX)
			return ref_unsupported(c, "a %s of %lld", what, (long long)to[d]);
	}
	return true;
}

static bool read_divisor(struct ref_ctx *c, struct pools *p)
{
	const struct arg *a = argument(c, N_divisor_override);
	if (!a || a->tag == ARG_NONE)
		return true;
	p->divisor = a->i.value;
	return p->divisor != 0 || err_set(c->err, "divisor must be not zero");
}

static bool read_window(struct ref_ctx *c, struct pools *p, int d, bool ceil)
{
	if (p->stride[d] <= 0 || p->kernel[d] <= 0 || p->dilation[d] <= 0)
		return err_set(c->err, "%s: kernel %lld, stride %lld and dilation %lld should be greater than zero", op_info[c->n->op].name,
			(long long)p->kernel[d], (long long)p->stride[d], (long long)p->dilation[d]);
	if (p->padding[d] < 0 || p->padding[d] > p->kernel[d] / 2)
		return err_set(c->err, "pad should be at most half of kernel size, but got pad=%lld, kernel_size=%lld", (long long)p->padding[d],
			(long long)p->kernel[d]);
	const int64_t fits = p->in[d] + p->padding[d] - 1 - p->dilation[d] * (p->kernel[d] - 1); /* where the last whole one may begin */
	p->out[d] = 0;
	for (int64_t at = -p->padding[d]; at <= fits; at += p->stride[d])
		p->out[d]++;
	/* One more that stands out, if less than a stride does, and it begins inside. */
	const int64_t next = p->out[d] * p->stride[d] - p->padding[d];
	if (ceil && next - fits < p->stride[d] && next < p->in[d])
		p->out[d]++;
	return p->out[d] > 0
		|| err_set(
			c->err, "%s: a kernel of %lld does not fit into %lld", op_info[c->n->op].name, (long long)p->kernel[d], (long long)p->in[d]);
}

/* Volumes without samples: their channels are taken for samples. */
static bool has_format(struct ref_ctx *c, const struct meta *m, int n)
{
	return n == 2 || m->rank == 5 || shape_format(m) == 0
		|| err_set(c->err, "Unsupported memory format. Supports only ChannelsLast3d, Contiguous");
}

static bool read_self(struct ref_ctx *c, const struct meta *m, int n)
{
	if (!shape_is_samples(m, n + 1))
		return err_set(c->err, "Expected %dD or %dD (batch mode) tensor with optional 0 dim batch size for input, but got:%s", n + 1, n + 2,
			shape_text(c, m->size, m->rank));
	return has_format(c, m, n);
}

static bool read_pools(struct ref_ctx *c, struct pools *p, const struct meta *m)
{
	*p = (struct pools){.dt = m->dtype, .rank = m->rank, .planes = 1, .n = ref_dims_named(c), .with_padding = true};
	for (int d = 0; d < 3; d++)
		p->in[d] = p->out[d] = p->kernel[d] = p->stride[d] = p->dilation[d] = 1;
	if (!read_list(c, p, p->kernel, N_kernel_size, "kernel_size", NULL) || !read_list(c, p, p->stride, N_stride, "stride", p->kernel)
		|| !read_list(c, p, p->padding, N_padding, "padding", NULL) || !read_list(c, p, p->dilation, N_dilation, "dilation", NULL)
		|| !read_divisor(c, p) || !read_self(c, m, p->n))
		return false;
	if (argument(c, N_count_include_pad))
		p->with_padding = argument(c, N_count_include_pad)->b;
	memcpy(p->size, m->size, sizeof p->size);
	for (int d = 0; d < m->rank - p->n; d++)
		p->planes *= m->size[d];
	for (int d = 3 - p->n; d < 3; d++) {
		p->in[d] = m->size[m->rank - 3 + d];
		if (!read_window(c, p, d, argument(c, N_ceil_mode)->b))
			return false;
		p->size[m->rank - 3 + d] = p->out[d];
	}
	p->windows = p->planes * p->out[0] * p->out[1] * p->out[2];
	return true;
}

/* ---- windows ---- */

/* Elements inside each window, row-major; entry[start[k]] … of window k. */
struct inside {
	uint32_t *start;
	int64_t *cell;
	int64_t n;
};

/* Along one dim: the places inside of window `at`. */
static int places_along(int64_t *place, const struct pools *p, int d, int64_t window)
{
	const int64_t from = p->adaptive ? window * p->in[d] / p->out[d] : window * p->stride[d] - p->padding[d];
	int n = 0;
	for (int64_t at = from; p->adaptive && at * p->out[d] < (window + 1) * p->in[d]; at++)
		place[n++] = at;
	if (p->adaptive)
		return n;
	for (int64_t k = 0, at = from; k < p->kernel[d]; k++, at += p->dilation[d])
		if (at >= 0 && at < p->in[d])
			place[n++] = at;
	return n;
}

static bool find_inside(struct ref_ctx *c, struct inside *in, const struct pools *p)
{
	int64_t taps = 1, *place[3], k = 0;
	for (int d = 0; d < 3; d++)
		taps = p->kernel[d] > c->t->limit.entries ? p->kernel[d] : MIN(taps, c->t->limit.entries) * p->kernel[d];
	if (c->t->over || taps > c->t->limit.entries || p->windows > c->t->limit.entries / MAX(taps, 1)) {
		c->t->over = true;
		return ref_unsupported(c, "too many scalars");
	}
	in->start = ARENA_NEW(c->t->arena, uint32_t, p->windows + 1);
	in->cell = ARENA_NEW(c->t->arena, int64_t, p->windows * taps + 1);
	in->n = 0;
	for (int d = 0; d < 3; d++)
		place[d] = ARENA_NEW(c->t->arena, int64_t, p->kernel[d]);
	for (; k < p->windows; k++) {
		int n[3];
		int64_t rest = k;
		for (int d = 2; d >= 0; rest /= p->out[d--])
			n[d] = places_along(place[d], p, d, rest % p->out[d]);
		in->start[k] = (uint32_t)in->n;
		for (int x = 0; x < n[0]; x++)
			for (int y = 0; y < n[1]; y++)
				for (int z = 0; z < n[2]; z++)
					in->cell[in->n++] = ((rest * p->in[0] + place[0][x]) * p->in[1] + place[1][y]) * p->in[2] + place[2][z];
	}
	in->start[p->windows] = (uint32_t)in->n;
	return true;
}

static int64_t plane_of(const struct pools *p) { return p->in[0] * p->in[1] * p->in[2]; }

/* Would samples of one such volume be channels-last, and do its elements not lie row by row? */
static bool is_one_channels_last(const struct meta *m)
{
	struct meta one = *m;
	one.rank = m->rank + 1;
	one.size[0] = 1;
	one.stride[0] = 0;
	memcpy(one.size + 1, m->size, sizeof *m->size * (size_t)m->rank);
	memcpy(one.stride + 1, m->stride, sizeof *m->stride * (size_t)m->rank);
	return shape_in_format(&one, FORMAT_CHANNELS_LAST_3D) && !shape_in_format(m, FORMAT_CONTIGUOUS);
}

/* Strides of a fresh tensor like m in those sizes; false: contiguous. */
static bool lies_as(int64_t stride[MAX_RANK], const struct pools *p, const struct meta *m, const int64_t *size)
{
	int64_t one[MAX_RANK] = {1}, there[MAX_RANK];
	if ((p->n == 3 || p->adaptive) && p->planes == 0)
		return false;
	if (p->n == 3 && p->adaptive)
		return false;
	if (m->rank == p->n + 2)
		return shape_channels_last(stride, size, m->rank, shape_format(m));
	if (p->n == 2 || !is_one_channels_last(m))
		return false;
	memcpy(one + 1, size, sizeof *size * (size_t)m->rank);
	shape_channels_last(there, one, m->rank + 1, m->rank + 1);
	memcpy(stride, there + 1, sizeof *stride * (size_t)m->rank);
	return true;
}

/* ---- averages ---- */

/* How many places count, along one dim. */
static int64_t counted(const struct pools *p, int d, int64_t at)
{
	const int64_t start = at * p->stride[d] - p->padding[d], stop = start + p->kernel[d];
	return p->with_padding ? MIN(stop, p->in[d] + p->padding[d]) - start : MIN(stop, p->in[d]) - MAX(start, 0);
}

static int64_t divisor_of(const struct pools *p, int64_t window)
{
	int64_t n = 1;
	for (int d = 2; d >= 0; window /= p->out[d--])
		n *= counted(p, d, window % p->out[d]);
	return p->divisor ? p->divisor : n;
}

/* As numbers of dtype dt, by window. NULL: one is none, and kernels differ in whether they round it (c->unsupported). */
static const sid *divisors(struct ref_ctx *c, const struct pools *p, enum dtype dt)
{
	sid *ids = tape_ids(c->t, p->windows);
	for (int64_t k = 0; k < p->windows && !c->t->over; k++) {
		const int64_t v = divisor_of(p, k);
		bool found = false;
		for (int64_t j = k - 1; j >= 0 && j >= k - p->out[2] - 1 && !found; j--)
			if ((found = divisor_of(p, j) == v))
				ids[k] = ids[j];
		if (!found)
			ids[k] = tape_const_f(c->t, dt, (double)v);
		if (!c->t->over && tape_val(c->t, ids[k])->hi != (double)v) {
			ref_unsupported(c, "a divisor of %lld, which %s does not hold: kernels round it, or do not", (long long)v, dtype_info[dt].name);
			return NULL;
		}
	}
	return ids;
}

static bool is_averaged(struct ref_ctx *c, const struct pools *p)
{
	if (p->dt == DT_I64)
		return ref_unsupported(c, "an average of i64");
	return (dtype_is_float(p->dt) && dtype_info[p->dt].rows == DR_FULL)
		|| err_set(c->err, "\"%s\" not implemented for '%s'", op_info[c->n->op].name, dtype_info[p->dt].c10);
}

/* Sums of windows in dtype `in`, divided and rounded once to p's. */
static sid quotients(struct ref_ctx *c, const struct pools *p, enum dtype in, const uint32_t *start, const sid *entry, const sid *by)
{
	const sid sum = tape_nary(c->t, SF_SUM, in, start, entry, p->windows, 0);
	return tape_map2(c->t, SF_DIV, p->dt, ref_ids_block(c, sum, p->windows), by, p->windows);
}

/* The values of n scalars from `value` on, with the derivatives of those from `there` on: of halves one of the two is rounded at each step
 * and the other only at its end. */
static sid grafted(struct ref_ctx *c, sid value, sid there, enum dtype dt, int64_t n)
{
	return tape_map2(c->t, SF_GRAFT, dt, ref_ids_block(c, value, n), ref_ids_block(c, there, n), n);
}

REFERENCE(avg_pool2d, ANEW)
{
	const struct meta *m = meta_of(c, A_avg_pool2d_self);
	struct pools p;
	struct inside in;
	int64_t stride[MAX_RANK];
	if (!read_pools(c, &p, m) || !is_averaged(c, &p) || !find_inside(c, &in, &p))
		return false;
	const enum dtype wide = dtype_compute(p.dt);
	const sid *own = ref_copies(c, ref_ids(c, c->in[A_avg_pool2d_self]), meta_numel(m), p.dt);
	const sid *by = divisors(c, &p, c->grad ? p.dt : wide);
	if (!by)
		return false;
	sid *entry = tape_ids(c->t, in.n);
	for (int64_t k = 0; k < in.n; k++)
		entry[k] = own[in.cell[k]];
	sid first = quotients(c, &p, wide, in.start, ref_cast(c, entry, in.n, wide), ref_cast(c, by, p.windows, wide));
	if (c->grad && wide != p.dt)
		first = grafted(c, first, quotients(c, &p, p.dt, in.start, entry, by), p.dt, p.windows);
	return ref_out_block(c, 0, p.dt, p.size, p.rank, lies_as(stride, &p, m, p.size) ? stride : NULL, first);
}

/* What goes backward has the result's sizes and self's dtype. */
static bool fits_result(struct ref_ctx *c, const struct pools *p, const struct meta *grad)
{
	const bool same = grad->rank == p->rank && shape_equal(grad->size + p->rank - 3, 3, p->size + p->rank - 3, 3);
	if (grad->rank != p->rank || (!same && p->n == 2))
		return err_set(c->err, "%s: a gradient of size %s for a result of size %s", op_info[c->n->op].name,
			shape_text(c, grad->size, grad->rank), shape_text(c, p->size, p->rank));
	if (!same || grad->size[0] != p->size[0] || grad->size[1] != p->size[1])
		return ref_unsupported(c, "a gradient of sizes %s, of which 2.11.0 reads what is not there", shape_text(c, grad->size, grad->rank));
	return grad->dtype == p->dt
		|| err_set(c->err, "%s of %s and %s", op_info[c->n->op].name, dtype_info[grad->dtype].torch, dtype_info[p->dt].torch);
}

/* The shares from `share` on, of dtype dt, summed by element. */
static sid added_up(struct ref_ctx *c, const struct inside *in, const struct pools *p, enum dtype dt, sid share, int64_t elements)
{
	const sid *of = ref_ids_block(c, share, p->windows);
	sid *each = tape_ids(c->t, in->n);
	for (int64_t k = 0; k < p->windows; k++)
		for (uint32_t i = in->start[k]; i < in->start[k + 1]; i++)
			each[i] = of[k];
	return ref_sums_at(c, dt, in->cell, each, in->n, elements);
}

REFERENCE(avg_pool2d_backward, ANEW)
{
	const struct meta *m = meta_of(c, A_avg_pool2d_backward_self);
	struct pools p;
	struct inside in;
	int64_t stride[MAX_RANK];
	if (!read_pools(c, &p, m) || !is_averaged(c, &p) || !fits_result(c, &p, meta_of(c, A_avg_pool2d_backward_grad_output))
		|| !find_inside(c, &in, &p))
		return false;
	const sid *by = divisors(c, &p, p.dt);
	if (!by)
		return false;
	const enum dtype wide = dtype_compute(p.dt);
	const sid *grad = ref_ids(c, c->in[A_avg_pool2d_backward_grad_output]);
	sid first = added_up(c, &in, &p, p.dt, tape_map2(c->t, SF_DIV, p.dt, grad, by, p.windows), meta_numel(m));
	if (c->grad && wide != p.dt && meta_numel(m)) {
		const sid share = tape_map2(c->t, SF_DIV, wide, ref_cast(c, grad, p.windows, wide), ref_cast(c, by, p.windows, wide), p.windows);
		const sid *sum = ref_ids_block(c, added_up(c, &in, &p, wide, share, meta_numel(m)), meta_numel(m));
		const sid *there = ref_cast(c, sum, meta_numel(m), p.dt);
		first = grafted(c, first, there[0], p.dt, meta_numel(m));
	}
	return ref_out_block(c, 0, p.dt, m->size, m->rank, lies_as(stride, &p, m, m->size) ? stride : NULL, first);
}

/* ---- the largest ---- */

static bool is_certain_nan(const struct num *x) { return (x->flags & (NUM_SPECIAL | NUM_UNDEC | NUM_ANY)) == (NUM_NOFIN | NUM_NAN); }

/* Of several NaNs PyTorch names the last: where one is certain, and nothing behind it may be another, it stands alone. */
static bool leave_nans(struct ref_ctx *c, struct inside *in, const struct pools *p, const sid *own)
{
	int64_t n = 0;
	for (int64_t k = 0; k < p->windows && !c->t->over; k++) {
		int64_t first = in->start[k];
		const int64_t stop = in->start[k + 1];
		if (first == stop)
			return ref_unsupported(c, "a window without an element, whose index is none");
		for (int64_t i = stop - 1; i >= first && dtype_is_float(p->dt); i--) {
			const struct num *x = tape_val(c->t, own[in->cell[i]]);
			if (!(x->flags & (NUM_NAN | NUM_ANY)))
				continue;
			if (!is_certain_nan(x))
				return ref_unsupported(c, "the largest of numbers that may be NaN: which of them is named is open");
			in->cell[first] = in->cell[i];
			in->start[k] = (uint32_t)n;
			in->cell[n++] = in->cell[first];
			first = stop;
			break;
		}
		if (first == stop)
			continue;
		in->start[k] = (uint32_t)n;
		for (int64_t i = first; i < stop; i++)
			in->cell[n++] = in->cell[i];
	}
	in->start[p->windows] = (uint32_t)n;
	in->n = n;
	return true;
}

/* The index of what window k picked; several, where it is not decided. 0: too many. */
static sid index_of(struct ref_ctx *c, const struct inside *in, int64_t plane, int64_t k, sid place)
{
	const int64_t *at, *cell = in->cell + in->start[k];
	const int64_t n = ref_positions(c, &at, place);
	if (n == 0)
		return 0;
	int64_t low = cell[at[0]] % plane, high = low;
	for (int64_t i = 1; i < n; i++) {
		low = MIN(low, cell[at[i]] % plane);
		high = MAX(high, cell[at[i]] % plane);
	}
	if (low == high)
		return tape_const_i(c->t, DT_I64, low);
	struct num set = {.i = low, .rad = (double)(high - low), .dtype = DT_I64, .flags = NUM_UNDEC};
	for (int64_t i = 0; i < n && high - low < 64; i++)
		set.among |= (uint64_t)1 << (cell[at[i]] % plane - low);
	return tape_sets(c->t, DT_I64, &set, 1);
}

static bool largest_of(struct ref_ctx *c, const struct pools *p, struct inside *in, const struct meta *m, const struct ref_tensor *self)
{
	int64_t stride[MAX_RANK];
	c->t->result = TAPE_EVERY;
	const sid *own = ref_copies(c, ref_ids(c, self), meta_numel(m), p->dt);
	if (!leave_nans(c, in, p, own))
		return false;
	sid *entry = tape_ids(c->t, in->n), *index = tape_ids(c->t, p->windows);
	for (int64_t k = 0; k < in->n; k++)
		entry[k] = own[in->cell[k]];
	const int64_t *lies = lies_as(stride, p, m, p->size) ? stride : NULL;
	c->t->result = 0;
	if (!ref_out_block(c, 0, p->dt, p->size, p->rank, lies, tape_nary(c->t, SF_KMAX, p->dt, in->start, entry, p->windows, PICK_FIRST)))
		return false;
	c->t->result = 1;
	const sid place = tape_nary(c->t, SF_KARGMAX, DT_I64, in->start, entry, p->windows, PICK_FIRST);
	for (int64_t k = 0; k < p->windows && !c->t->over; k++)
		if (!(index[k] = index_of(c, in, plane_of(p), k, place + (sid)k)))
			return ref_unsupported(c, "an index that is open among too many");
	return ref_out_ids(c, 1, DT_I64, p->size, p->rank, lies, index);
}

/* The index of the last place, where channels come last, in an integer as wide as those that are compared. */
static bool counts_far_enough(struct ref_ctx *c, const struct pools *p, const struct meta *m)
{
	int64_t stride[MAX_RANK];
	const int64_t most = p->dt == DT_U8 || p->dt == DT_I8 ? INT8_MAX : p->dt == DT_I16 ? INT16_MAX : INT32_MAX;
	return plane_of(p) <= most || meta_numel(m) == 0 || !lies_as(stride, p, m, p->size)
		|| err_set(c->err, "a plane of %lld places, whose indices %s does not hold", (long long)plane_of(p), dtype_info[p->dt].torch);
}

REFERENCE(max_pool_with_indices, ANEW)
{
	const struct meta *m = meta_of(c, A_max_pool_with_indices_self);
	struct pools p;
	struct inside in;
	if (!read_pools(c, &p, m) || !find_inside(c, &in, &p) || (p.n == 3 && !ref_not_on_cuda(c))) /* which lies and adds otherwise */
		return false;
	if (p.dt == DT_B8 || dtype_info[p.dt].rows != DR_FULL)
		return err_set(c->err, "\"max_pool%dd\" not implemented for '%s'", p.n, dtype_info[p.dt].c10);
	if (!counts_far_enough(c, &p, m))
		return false;
	return largest_of(c, &p, &in, m, c->in[A_max_pool_with_indices_self]);
}

/* Do the windows of each plane step evenly through memory? PyTorch's second derivative needs them so. */
static bool is_viewed_by_plane(const struct meta *m, int n)
{
	int64_t size[MAX_RANK], stride[MAX_RANK];
	const int last = m->rank - n;
	memcpy(size, m->size, sizeof size);
	for (int d = last + 1; d < m->rank; d++)
		size[last] *= size[d];
	return meta_numel(m) == 0 || shape_view(stride, m, size, last + 1);
}

/* Each gradient to the element of its window that the index names; the result lies like `like`. */
static bool handed_out(struct ref_ctx *c, const struct pools *p, struct inside *in, const struct meta *m, const struct meta *like,
	const struct ref_tensor *indices, const struct ref_tensor *gradient)
{
	int64_t stride[MAX_RANK];
	const int64_t *at = ref_ints(c, indices), plane = plane_of(p);
	if (!at)
		return false;
	for (int64_t k = 0; k < p->windows; k++) { /* one entry of each window is left, the one that its index names */
		const int64_t cell = k * p->planes / p->windows * plane + at[k];
		bool found = false;
		for (uint32_t i = in->start[k]; i < in->start[k + 1]; i++)
			found = found || in->cell[i] == cell;
		if (!found || at[k] < 0 || at[k] >= plane)
			return ref_unsupported(c, "an index outside of its window: kernels do not look");
		in->cell[k] = cell;
	}
	const sid *grad = ref_ids(c, gradient);
	const sid first = ref_sums_at(c, p->dt, in->cell, grad, p->windows, meta_numel(m));
	return ref_out_block(c, 0, p->dt, m->size, m->rank, lies_as(stride, p, like, m->size) ? stride : NULL, first);
}

REFERENCE(max_pool_with_indices_backward, ANEW)
{
	const struct meta *m = meta_of(c, A_max_pool_with_indices_backward_self),
					  *of = meta_of(c, A_max_pool_with_indices_backward_grad_output),
					  *ix = meta_of(c, A_max_pool_with_indices_backward_indices);
	struct pools p;
	struct inside in;
	if (!read_pools(c, &p, m) || (p.n == 3 && !ref_not_on_cuda(c)))
		return false;
	if (!dtype_is_float(p.dt) || dtype_info[p.dt].rows != DR_FULL)
		return err_set(c->err, "\"max_pool%dd_backward\" not implemented for '%s'", p.n, dtype_info[p.dt].c10);
	if (!fits_result(c, &p, of) || !has_format(c, of, p.n))
		return false;
	if (!shape_equal(ix->size, ix->rank, p.size, p.rank) || ix->dtype != DT_I64)
		return err_set(
			c->err, "a pool's gradient at indices of size %s, %s", shape_text(c, ix->size, ix->rank), dtype_info[ix->dtype].torch);
	if (ref_has_grad(c->r, c->in[A_max_pool_with_indices_backward_grad_output]) && !is_viewed_by_plane(ix, p.n))
		return ref_unsupported(c, "a derivative that views indices across their strides");
	return find_inside(c, &in, &p)
		&& handed_out(c, &p, &in, m, m->rank == 4 && p.n == 3 ? of : m, c->in[A_max_pool_with_indices_backward_indices],
			c->in[A_max_pool_with_indices_backward_grad_output]);
}

/* ---- windows that are as many as is said ---- */

/* self has the sizes m, the result, or the gradient of one, `out`. */
static bool read_adaptive(struct ref_ctx *c, struct pools *p, const struct meta *m, const int64_t *out)
{
	*p = (struct pools){.dt = m->dtype, .rank = m->rank, .planes = 1, .n = ref_dims_named(c), .adaptive = true};
	if (!ref_not_on_cuda(c))
		return false;
	if (m->rank == p->n + 2 && m->size[1] == 0)
		return ref_unsupported(c, "no channels");
	for (int d = 1; d < m->rank; d++)
		if (m->size[d] == 0)
			return err_set(c->err, "%s: Expected input to have non-zero size for non-batch dimensions, but it has %s",
				op_info[c->n->op].name, shape_text(c, m->size, m->rank));
	if (m->rank != p->n + 1 && m->rank != p->n + 2)
		return err_set(c->err, "%s: Expected %dD or %dD tensor, but got %s", op_info[c->n->op].name, p->n + 1, p->n + 2,
			shape_text(c, m->size, m->rank));
	if (m->rank == p->n + 1 && m->size[0] == 0)
		return ref_unsupported(c, "no channels");
	memcpy(p->size, m->size, sizeof p->size);
	for (int d = 0; d < 3; d++)
		p->in[d] = p->out[d] = p->kernel[d] = 1;
	for (int d = 0; d < m->rank - p->n; d++)
		p->planes *= m->size[d];
	for (int d = 3 - p->n; d < 3; d++) {
		p->in[d] = m->size[m->rank - 3 + d];
		p->size[m->rank - 3 + d] = p->out[d] = out[d - (3 - p->n)];
		if (p->out[d] < 1 || p->out[d] > c->t->limit.nodes || p->in[d] > 256)
			return ref_unsupported(
				c, "%lld windows, or one of more than 256 places, whose number a half may not hold", (long long)p->out[d]);
		p->kernel[d] = p->in[d] / p->out[d] + 2;
	}
	p->windows = p->planes * p->out[0] * p->out[1] * p->out[2];
	return true;
}

static bool read_shares(struct ref_ctx *c, struct pools *p)
{
	const struct arg *out = argument(c, N_output_size);
	int64_t size[MAX_RANK] = {0};
	if (out->n != ref_dims_named(c))
		return err_set(c->err, "%s: output_size must be %d", op_info[c->n->op].name, ref_dims_named(c));
	for (int d = 0; d < out->n; d++)
		size[d] = out->ints[d].value;
	return read_adaptive(c, p, meta_of(c, op_arg(c->n->op, N_self)), size);
}

static bool read_shares_backward(struct ref_ctx *c, struct pools *p)
{
	const struct meta *m = meta_of(c, op_arg(c->n->op, N_self)), *g = meta_of(c, op_arg(c->n->op, N_grad_output));
	const int n = ref_dims_named(c);
	if (m->rank != g->rank || m->rank < n + 1)
		return err_set(
			c->err, "%s: Expected dimensions %d for the gradient but got dimensions %d", op_info[c->n->op].name, m->rank, g->rank);
	for (int d = 1; d < g->rank; d++)
		if (g->size[d] == 0)
			return d < g->rank - n ? ref_unsupported(c, "no channels") : err_set(c->err, "%s: an empty gradient", op_info[c->n->op].name);
	if (!shape_equal(m->size, m->rank - n, g->size, g->rank - n))
		return ref_unsupported(c, "a gradient of other planes than self has: kernels do not look");
	return (g->dtype == m->dtype || err_set(c->err, "a gradient of %s for %s", dtype_info[g->dtype].torch, dtype_info[m->dtype].torch))
		&& read_adaptive(c, p, m, g->size + g->rank - n);
}

static bool is_pooled(struct ref_ctx *c, const struct pools *p)
{
	return (dtype_is_float(p->dt) && dtype_info[p->dt].rows == DR_FULL)
		|| err_set(
			c->err, "\"%s\" not implemented for '%s'", op_info[c->n->op].name + (op_info[c->n->op].name[0] == '_'), dtype_info[p->dt].c10);
}

/* Windows' numbers, of dtype dt, divided by their extents along each dim: the first one first, or last. */
static const sid *shared_out(struct ref_ctx *c, const struct pools *p, const sid *x, enum dtype dt, bool last_first)
{
	for (int i = 3 - p->n; i < 3; i++) {
		const int d = last_first ? 2 - (i - (3 - p->n)) : i;
		sid *by = tape_ids(c->t, p->windows), known[259] = {0};
		for (int64_t k = 0; k < p->windows; k++) {
			int64_t window = k;
			for (int j = 2; j > d; j--)
				window /= p->out[j];
			window %= p->out[d];
			const int64_t extent = ((window + 1) * p->in[d] + p->out[d] - 1) / p->out[d] - window * p->in[d] / p->out[d];
			if (!known[extent])
				known[extent] = tape_const_f(c->t, dt, (double)extent);
			by[k] = known[extent];
		}
		x = ref_ids_block(c, tape_map2(c->t, SF_DIV, dt, x, by, p->windows), p->windows);
	}
	return x;
}

static const sid *window_sums(struct ref_ctx *c, const struct pools *p, const struct inside *in, const sid *own, enum dtype dt)
{
	sid *entry = tape_ids(c->t, in->n);
	for (int64_t k = 0; k < in->n; k++)
		entry[k] = own[in->cell[k]];
	return ref_ids_block(c, tape_nary(c->t, SF_SUM, dt, in->start, ref_cast(c, entry, in->n, dt), p->windows, 0), p->windows);
}

/* The gradient is divided by the first extent first, so the graft divides by it last. */
REFERENCE(adaptive_avg_pool, ANEW)
{
	const struct meta *m = meta_of(c, op_arg(c->n->op, N_self));
	struct pools p;
	struct inside in;
	int64_t stride[MAX_RANK];
	if (!read_shares(c, &p) || !is_pooled(c, &p) || !find_inside(c, &in, &p))
		return false;
	const enum dtype wide = p.n == 3 ? p.dt : dtype_compute(p.dt);
	const sid *own = ref_copies(c, ref_ids(c, c->in[op_arg(c->n->op, N_self)]), meta_numel(m), p.dt);
	const sid *y = ref_cast(c, shared_out(c, &p, window_sums(c, &p, &in, own, wide), wide, false), p.windows, p.dt);
	if (c->grad && p.windows) {
		const sid *there = shared_out(c, &p, window_sums(c, &p, &in, own, p.dt), p.dt, true);
		y = ref_ids_block(c, tape_map2(c->t, SF_GRAFT, p.dt, y, there, p.windows), p.windows);
	}
	return ref_out_ids(c, 0, p.dt, p.size, p.rank, lies_as(stride, &p, m, p.size) ? stride : NULL, y);
}

static const sid *shares_added_up(
	struct ref_ctx *c, const struct pools *p, const struct inside *in, const sid *share, enum dtype dt, int64_t n)
{
	sid *each = tape_ids(c->t, in->n);
	for (int64_t k = 0; k < p->windows; k++)
		for (uint32_t i = in->start[k]; i < in->start[k + 1]; i++)
			each[i] = share[k];
	return ref_ids_block(c, ref_sums_at(c, dt, in->cell, each, in->n, n), n);
}

REFERENCE(adaptive_avg_pool_backward, ANEW)
{
	const struct meta *m = meta_of(c, op_arg(c->n->op, N_self));
	const int64_t n = meta_numel(m);
	struct pools p;
	struct inside in;
	int64_t stride[MAX_RANK];
	if (!read_shares_backward(c, &p) || !is_pooled(c, &p) || !find_inside(c, &in, &p))
		return false;
	const enum dtype wide = p.n == 3 ? p.dt : dtype_compute(p.dt);
	const sid *grad = ref_ids(c, c->in[op_arg(c->n->op, N_grad_output)]);
	const sid *x = shares_added_up(c, &p, &in, shared_out(c, &p, grad, p.dt, false), p.dt, n);
	if (c->grad && n) {
		const sid *share = shared_out(c, &p, ref_cast(c, grad, p.windows, wide), wide, true);
		const sid *there = ref_cast(c, shares_added_up(c, &p, &in, share, wide, n), n, p.dt);
		x = ref_ids_block(c, tape_map2(c->t, SF_GRAFT, p.dt, x, there, n), n);
	}
	return ref_out_ids(c, 0, p.dt, m->size, m->rank, lies_as(stride, &p, m, m->size) ? stride : NULL, x);
}

REFERENCE(adaptive_max_pool, ANEW)
{
	struct pools p;
	struct inside in;
	const struct ref_tensor *self = c->in[op_arg(c->n->op, N_self)];
	return read_shares(c, &p) && is_pooled(c, &p) && find_inside(c, &in, &p)
		&& largest_of(c, &p, &in, meta_of(c, op_arg(c->n->op, N_self)), self);
}

REFERENCE(adaptive_max_pool_backward, ANEW)
{
	const int at = op_arg(c->n->op, N_indices), grad = op_arg(c->n->op, N_grad_output);
	const struct meta *m = meta_of(c, op_arg(c->n->op, N_self)), *ix = meta_of(c, at);
	struct pools p;
	struct inside in;
	if (!read_shares_backward(c, &p) || !is_pooled(c, &p))
		return false;
	if (!shape_equal(ix->size, ix->rank, p.size, p.rank) || ix->dtype != DT_I64)
		return err_set(c->err, "indices of sizes %s, %s", shape_text(c, ix->size, ix->rank), dtype_info[ix->dtype].torch);
	if (p.n == 3 && !shape_in_format(ix, FORMAT_CONTIGUOUS))
		return ref_unsupported(c, "indices that kernels read as if they lay row by row");
	if (ref_has_grad(c->r, c->in[grad]) && !is_viewed_by_plane(ix, p.n))
		return ref_unsupported(c, "a derivative that views indices across their strides");
	return find_inside(c, &in, &p) && handed_out(c, &p, &in, m, m, c->in[at], c->in[grad]);
}

/* ---- back to places ---- */

REFERENCE(max_unpool, ANEW)
{
	const struct meta *m = meta_of(c, A_max_unpool_self), *ix = meta_of(c, A_max_unpool_indices);
	const struct arg *out = &c->n->arg[A_max_unpool_output_size], *step = argument(c, N_stride), *pad = argument(c, N_padding);
	const int n = ref_dims_named(c);
	int64_t size[MAX_RANK], stride[MAX_RANK], room = 1, places = 1;
	if (n == 3 && !ref_not_on_cuda(c)) /* a campaign there saw sums of it that are not explained */
		return false;
	if (ix->dtype != DT_I64)
		return err_set(c->err, "elements in indices should be type int64");
	if (out->n != n || (step && (step->n != n || pad->n != n)))
		return err_set(c->err, "%s: There should be exactly %d elements in each list", op_info[c->n->op].name, n);
	for (int d = 0; step && d < n; d++)
		if (step->ints[d].value <= 0)
			return err_set(c->err, "strides should be greater than zero");
	if ((m->rank != n + 1 && m->rank != n + 2) || !shape_equal(m->size, m->rank, ix->size, ix->rank))
		return err_set(c->err, "%s of sizes %s and indices %s", op_info[c->n->op].name, shape_text(c, m->size, m->rank),
			shape_text(c, ix->size, ix->rank));
	for (int d = 1; d < m->rank; d++)
		if (m->size[d] == 0)
			return err_set(c->err, "Expected input to have non-zero size for non-batch dimensions");
	if (!dtype_is_float(m->dtype) || dtype_info[m->dtype].rows != DR_FULL)
		return err_set(c->err, "\"%s\" not implemented for '%s'", op_info[c->n->op].name, dtype_info[m->dtype].c10);
	memcpy(size, m->size, sizeof size);
	for (int d = 0; d < n; d++) {
		places *= m->size[m->rank - n + d];
		size[m->rank - n + d] = out->ints[d].value;
		if (out->ints[d].value <= 0 || out->ints[d].value > c->t->limit.entries / room)
			return ref_unsupported(c, "planes without elements, or of too many");
		room *= out->ints[d].value;
	}
	const int64_t numel = meta_numel(m), all = numel / places * room;
	if (ref_has_grad(c->r, c->in[A_max_unpool_self]) && !is_viewed_by_plane(ix, n))
		return ref_unsupported(c, "a derivative that views indices across their strides");
	const int64_t *at = ref_ints(c, c->in[A_max_unpool_indices]);
	if (!at || all > c->t->limit.entries)
		return at ? ref_unsupported(c, "too many scalars") : false;
	const bool last = n == 2 && numel && m->rank == 4 && shape_channels_last(stride, size, m->rank, shape_format(m));
	const sid *own = ref_copies(c, ref_ids(c, c->in[A_max_unpool_self]), numel, m->dtype);
	sid *to = ref_out(c, 0, m->dtype, size, m->rank, last ? stride : NULL), zero = shape_zero(c, m->dtype);
	if (!to)
		return false;
	for (int64_t k = 0; k < all; k++)
		to[k] = zero;
	for (int64_t k = 0; k < numel; k++) {
		if (at[k] < 0 || at[k] >= room)
			return err_set(c->err, "Found an invalid max index: %lld", (long long)at[k]);
		sid *cell = &to[k / places * room + at[k]];
		if (*cell != zero)
			return ref_unsupported(c, "two values for one element, whose order is open");
		*cell = own[k];
	}
	return true;
}
