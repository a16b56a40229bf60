/* layout.c: layout arithmetic of the shape rules (see layout.h). */
#include "eager/ops/layout.h"
#include "generated/op_args.h"

#include <inttypes.h>
#include <math.h>

bool dim_wrap(int *out, int64_t dim, int rank, struct err *err)
{
	int n = MAX(rank, 1);
	if (dim < -n || dim >= n)
		return err_set(err, "Dimension out of range (expected to be in range of [%d, %d], but got %" PRId64 ")", -n, n - 1, dim);
	*out = (int)(dim < 0 ? dim + n : dim);
	return true;
}

const char *sizes_text(char buf[SIZES_TEXT], const int64_t *size, int n)
{
	size_t len = 0;
	buf[len++] = '[';
	for (int d = 0; d < n; d++) {
		int k = snprintf(buf + len, SIZES_TEXT - len, "%s%" PRId64, d ? ", " : "", size[d]);
		if (k < 0 || len + (size_t)k + 2 > SIZES_TEXT)
			break; /* lists longer than MAX_RANK are only ever quoted */
		len += (size_t)k;
	}
	buf[len++] = ']';
	buf[len] = 0;
	return buf;
}

void meta_insert_dim(struct meta *m, int dim, int64_t size, int64_t stride)
{
	CHECK(m->rank < MAX_RANK && dim >= 0 && dim <= m->rank);
	for (int d = m->rank; d > dim; d--) {
		m->size[d] = m->size[d - 1];
		m->stride[d] = m->stride[d - 1];
	}
	m->size[dim] = size;
	m->stride[dim] = stride;
	m->rank++;
}

void meta_remove_dim(struct meta *m, int dim)
{
	CHECK(dim >= 0 && dim < m->rank);
	m->rank--;
	for (int d = dim; d < m->rank; d++) {
		m->size[d] = m->size[d + 1];
		m->stride[d] = m->stride[d + 1];
	}
	m->size[m->rank] = m->stride[m->rank] = 0;
}

bool meta_room(const struct meta *m, int more, struct err *err)
{
	if (m->rank + more > MAX_RANK)
		return err_limit(err, "rank %d exceeds the limit %d", m->rank + more, MAX_RANK);
	return true;
}

/* ---- fresh results ------------------------------------------------------------------------------------------------ */

void layout_contiguous(struct meta *out, const struct meta *self, const int64_t *size, int rank)
{
	enum device device = self->device;
	meta_make_contiguous(out, self->dtype, size, rank);
	out->device = device;
}

/* One comparison of TensorIterator's sort: > 0 swap, < 0 in order, 0 ambiguous. Stride 0 decides nothing. */
static int stride_order(int64_t stride0, int64_t stride1, int64_t size0, int64_t size1)
{
	if (stride0 == 0 || stride1 == 0)
		return 0;
	if (stride0 != stride1)
		return stride0 < stride1 ? -1 : 1;
	return size0 > size1 ? 1 : 0;
}

/* Sorts dims (fastest first) by insertion with an order that may be ambiguous: PyTorch's exact algorithm, since the outcome of an
 * inconsistent order depends on it. stride[k] are operand k's strides, tried in turn until one decides. */
static void sort_dims(int *perm, int rank, const int64_t *size, const int64_t (*stride)[MAX_RANK], int n)
{
	for (int d = 0; d < rank; d++)
		perm[d] = rank - 1 - d;
	for (int i = 1; i < rank; i++) {
		int dim1 = i;
		for (int dim0 = i - 1; dim0 >= 0; dim0--) {
			int a = perm[dim0], b = perm[dim1], cmp = 0;
			for (int k = 0; k < n && cmp == 0; k++)
				cmp = stride_order(stride[k][a], stride[k][b], size[a], size[b]);
			if (cmp < 0)
				break;
			if (cmp > 0) {
				perm[dim0] = b;
				perm[dim1] = a;
				dim1 = dim0;
			}
		}
	}
}

static void strides_from_order(struct meta *out, const int *perm)
{
	int64_t s = 1;
	for (int k = 0; k < out->rank; k++) {
		out->stride[perm[k]] = s;
		s *= out->size[perm[k]];
	}
}

void layout_preserve(struct meta *out, const struct meta *self)
{
	struct meta m = *self; /* out may be self */
	m.offset = 0;
	if (!meta_is_non_overlapping_and_dense(self)) {
		int perm[MAX_RANK];
		sort_dims(perm, m.rank, m.size, &self->stride, 1);
		strides_from_order(&m, perm);
	}
	*out = m;
}

bool layout_is_samples(const struct meta *m, int alone)
{
	bool is = m->rank == alone || m->rank == alone + 1;
	for (int d = m->rank - alone; is && d < m->rank; d++)
		is = m->size[d] > 0;
	return is;
}

void layout_channels_last(struct meta *out)
{
	CHECK(out->rank >= 3);
	int64_t s = 1;
	out->stride[1] = s;
	s *= out->size[1]; /* a size 0 makes strides 0, other than in row-major order */
	for (int d = out->rank - 1; d >= 2; d--) {
		out->stride[d] = s;
		s *= out->size[d];
	}
	out->stride[0] = s;
}

enum memory_format format_given(const struct node *n, enum memory_format otherwise)
{
	const struct arg *a = node_arg(n, N_memory_format);
	return a && a->tag == ARG_FORMAT ? a->format : otherwise;
}

static int format_rank(enum memory_format f) { return f == FORMAT_CHANNELS_LAST ? 4 : 5; }

bool layout_formatted(struct meta *out, const struct meta *self, enum memory_format f, struct err *err)
{
	if (f == FORMAT_PRESERVE) {
		layout_preserve(out, self);
		return true;
	}
	layout_contiguous(out, self, self->size, self->rank);
	if (f == FORMAT_CONTIGUOUS)
		return true;
	if (self->rank != format_rank(f))
		return err_set(err, "required rank %d tensor to use %s format", format_rank(f), memory_format_name[f]);
	layout_channels_last(out);
	return true;
}

bool meta_is_formatted(const struct meta *m, enum memory_format f)
{
	if (f == FORMAT_CONTIGUOUS || f == FORMAT_PRESERVE)
		return meta_is_contiguous(m);
	if (m->rank != format_rank(f))
		return false;
	struct meta want = *m;
	layout_channels_last(&want);
	for (int d = 0; d < m->rank; d++)
		if (m->size[d] != 1 && m->stride[d] != want.stride[d])
			return false;
	return true;
}

/* Strides that grow in the order C, W, H, (D,) N; as c10's is_channels_last_strides. */
bool meta_is_channels_last(const struct meta *m)
{
	if ((m->rank != 4 && m->rank != 5) || m->stride[1] == 0)
		return false;
	int64_t min = 0;
	for (int k = 0; k < m->rank; k++) {
		int d = k == 0 ? 1 : k == m->rank - 1 ? 0 : m->rank - k;
		if (m->size[d] == 0 || m->stride[d] < min)
			return false;
		if (d == 0 && min == m->stride[1])
			return false; /* N111 and the like: contiguous first */
		min = m->stride[d];
		if (m->size[d] > 1)
			min *= m->size[d];
	}
	return true;
}

/* All operands have the output's sizes and one common simple layout. */
static bool iterator_fast(struct meta *out, const struct meta *const *in, int n)
{
	bool contiguous = true, channels_last = true, dense = true;
	const struct meta *last = NULL;
	for (int k = 0; k < n; k++) {
		if (!in[k])
			continue;
		if (!meta_same_sizes(in[k], out))
			return false;
		contiguous &= meta_is_contiguous(in[k]);
		channels_last &= meta_is_formatted(in[k], FORMAT_CHANNELS_LAST);
		dense &= meta_is_non_overlapping_and_dense(in[k]);
		if (last && !meta_same_strides(last, in[k]))
			dense = false;
		last = in[k];
	}
	CHECK(last);
	if (contiguous)
		meta_make_contiguous(out, out->dtype, out->size, out->rank);
	else if (channels_last)
		layout_channels_last(out);
	else if (dense)
		memcpy(out->stride, last->stride, sizeof out->stride);
	return contiguous || channels_last || dense;
}

void layout_iterator(struct meta *out, const struct meta *const *in, int n)
{
	struct meta m = *out;
	if (iterator_fast(&m, in, n)) {
		memcpy(out->stride, m.stride, sizeof m.stride);
		return;
	}
	int64_t stride[MAX_ARGS][MAX_RANK] = {{0}};
	int nop = 0;
	for (int k = 0; k < n; k++) {
		if (!in[k])
			continue;
		CHECK(nop < MAX_ARGS);
		int shift = out->rank - in[k]->rank;
		for (int d = shift; d < out->rank; d++)
			if (in[k]->size[d - shift] == out->size[d])
				stride[nop][d] = in[k]->stride[d - shift] * dtype_nbytes(in[k]->dtype);
		nop++;
	}
	int perm[MAX_RANK];
	sort_dims(perm, out->rank, out->size, (const int64_t(*)[MAX_RANK])stride, nop);
	bool plain = true;
	for (int d = 0; d < out->rank; d++)
		plain &= perm[d] == out->rank - 1 - d;
	if (plain)
		meta_make_contiguous(&m, out->dtype, out->size, out->rank);
	else
		strides_from_order(&m, perm);
	memcpy(out->stride, m.stride, sizeof m.stride);
}

/* ---- views -------------------------------------------------------------------------------------------------------- */

bool layout_view_strides(int64_t *stride, const struct meta *self, const int64_t *size, int rank)
{
	int64_t numel = meta_numel(self);
	int v = rank - 1;
	if (self->rank == 0 || numel == 0) {
		struct meta m = {.rank = rank};
		bool same = self->rank == rank && memcmp(self->size, size, sizeof *size * (size_t)rank) == 0;
		meta_make_contiguous(&m, self->dtype, size, rank);
		for (int d = 0; d < rank; d++)
			stride[d] = self->rank == 0 ? 1 : same ? self->stride[d] : m.stride[d];
		return true;
	}
	/* Walk self from the last dim in chunks that are laid out as one; each chunk must split into whole new dims. */
	int64_t base = self->stride[self->rank - 1], old = 1, new = 1;
	for (int d = self->rank - 1; d >= 0; d--) {
		old *= self->size[d];
		if (d > 0 && (self->size[d - 1] == 1 || self->stride[d - 1] == old * base))
			continue;
		for (; v >= 0 && (new < old || size[v] == 1); v--) {
			stride[v] = new *base;
			new *= size[v];
		}
		if (new != old)
			return false;
		if (d > 0) {
			base = self->stride[d - 1];
			old = new = 1;
		}
	}
	return v == -1;
}

bool layout_infer_size(int64_t *out, const int64_t *size, int rank, int64_t numel, struct err *err)
{
	char text[SIZES_TEXT];
	int64_t known = 1;
	int unknown = -1;
	for (int d = 0; d < rank; d++) {
		out[d] = size[d];
		if (size[d] == -1 && unknown >= 0)
			return err_set(err, "only one dimension can be inferred");
		if (size[d] == -1)
			unknown = d;
		else if (size[d] < 0)
			return err_set(err, "invalid shape dimension %" PRId64, size[d]);
		else if (!mul_i64(&known, known, size[d]))
			return err_set(err, "shape '%s' is invalid for input of size %" PRId64, sizes_text(text, size, rank), numel);
	}
	if (known == 0 && unknown >= 0 && numel == 0)
		return err_set(err,
			"cannot reshape tensor of 0 elements into shape %s because the unspecified dimension size -1 "
			"can be any value and is ambiguous",
			sizes_text(text, size, rank));
	if (unknown >= 0 ? known == 0 || numel % known != 0 : known != numel)
		return err_set(err, "shape '%s' is invalid for input of size %" PRId64, sizes_text(text, size, rank), numel);
	if (unknown >= 0)
		out[unknown] = numel / known;
	return true;
}

bool layout_broadcast(int64_t *size, int *rank, const struct meta *a, const struct meta *b, struct err *err)
{
	int n = MAX(a->rank, b->rank);
	for (int d = n - 1; d >= 0; d--) {
		int64_t sa = d >= n - a->rank ? a->size[d - (n - a->rank)] : 1;
		int64_t sb = d >= n - b->rank ? b->size[d - (n - b->rank)] : 1;
		if (sa != sb && sa != 1 && sb != 1)
			return err_set(err,
				"The size of tensor a (%" PRId64 ") must match the size of tensor b (%" PRId64 ") at non-singleton dimension %d", sa, sb,
				d);
		size[d] = sa == 1 ? sb : sa;
	}
	*rank = n;
	return true;
}

bool layout_expand(struct meta *out, const struct meta *self, const int64_t *size, int rank, struct err *err)
{
	char want[SIZES_TEXT], have[SIZES_TEXT];
	int shift = rank - self->rank;
	if (shift < 0)
		return err_set(err, "the number of sizes provided (%d) must be greater or equal to the number of dimensions in the tensor (%d)",
			rank, self->rank);
	struct meta m = {.dtype = self->dtype, .device = self->device, .rank = rank, .offset = self->offset};
	for (int d = rank - 1; d >= 0; d--) {
		/* A new leading dim of size 1 gets the stride that would continue the layout. */
		int64_t s = d >= shift ? self->size[d - shift] : 1;
		int64_t stride = d >= shift ? self->stride[d - shift] : self->rank == 0 ? 0 : m.size[d + 1] * m.stride[d + 1];
		int64_t target = size[d];
		if (target == -1 && d < shift)
			return err_set(err, "The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension %d", d);
		if (target == -1)
			target = s;
		if (s != target && s != 1)
			return err_set(err,
				"The expanded size of the tensor (%" PRId64 ") must match the existing size (%" PRId64
				") at non-singleton dimension %d.  Target sizes: %s.  Tensor sizes: %s",
				target, s, d, sizes_text(want, size, rank), sizes_text(have, self->size, self->rank));
		m.size[d] = target;
		m.stride[d] = s != target ? 0 : stride;
	}
	*out = m;
	return true;
}

int64_t slice_clamp(int64_t *start, int64_t *end, int64_t size, int64_t step)
{
	if (*start < 0)
		*start += size;
	if (*end < 0)
		*end += size;
	*start = *start < 0 ? 0 : MIN(*start, size);
	*end = *end < *start ? *start : MIN(*end, size);
	return *end == *start ? 0 : (*end - *start - 1) / step + 1;
}

/* ---- scalars ------------------------------------------------------------------------------------------------------ */

/* c10::overflows: an integer may wrap below an unsigned type by as much as its range, a double may not leave the type's range;
 * infinities fit floating types only, everything fits bool. */
static bool scalar_overflows(const struct scalar *s, enum dtype t)
{
	if (t == DT_B8)
		return false;
	if (dtype_is_float(t)) {
		double v = s->kind == SC_FLOAT ? s->f : (double)s->i;
		return (!isinf(v) || dtype_info[t].overflow == OVERFLOW_TO_NAN) && fabs(v) > dtype_max(t);
	}
	const uint64_t max = (uint64_t)dtype_int_max(t), i = (uint64_t)s->i;
	const int64_t min = dtype_int_min(t);
	if (s->kind == SC_FLOAT)
		return !(s->f >= (double)min && s->f <= (double)max);
	if (dtype_is_unsigned(t))
		return (s->i < 0 ? 0 - i : i) > max;
	return s->i > (int64_t)max || s->i < min;
}

bool scalar_fits(const struct scalar *s, enum dtype t, struct err *err)
{
	if (s->kind != SC_BOOL && scalar_overflows(s, t))
		return err_set(err, "value cannot be converted to type %s without overflow", dtype_info[t].cpp);
	return true;
}

bool scalar_fits_fill(const struct scalar *s, const struct meta *m, struct err *err)
{
	return (dtype_is_narrow(m->dtype) && meta_numel(m) == 1) || scalar_fits(s, m->dtype, err);
}

/* The largest double that passes the test above for int64_t is 2^63, which C cannot convert; PyTorch's machines give the minimum. */
static int64_t truncate_f(enum dtype t, double v)
{
	if (dtype_is_unsigned(t) && v >= 9223372036854775808.0)
		return v < 18446744073709551616.0 ? (int64_t)(uint64_t)v : 0;
	return v >= 9223372036854775808.0 || v < -9223372036854775808.0 || isnan(v) ? INT64_MIN : (int64_t)v;
}

void scalar_store(unsigned char *cell, enum dtype t, const struct scalar *s)
{
	/* Half types are made from float, so a double is rounded twice. */
	if (t == DT_F64)
		dtype_store_f(t, cell, s->kind == SC_FLOAT ? s->f : (double)s->i);
	else if (dtype_is_float(t))
		dtype_store_f(t, cell, (double)(s->kind == SC_FLOAT ? (float)s->f : (float)s->i));
	else if (t == DT_B8)
		dtype_store_i(t, cell, s->kind == SC_FLOAT ? s->f != 0 : s->i != 0);
	else
		dtype_store_i(t, cell, s->kind == SC_FLOAT ? truncate_f(t, s->f) : s->i);
}
