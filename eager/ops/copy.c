/* copy.c: fresh tensors with the elements of their operands in another order or number. Each is a set of views of the result
 * that are moved from views of the operands; derivatives move the cotangent the other way and add where an element was used
 * more than once. Facts: ATen/native/TensorFactories.cpp, TensorShape.cpp, TensorTransformations.cpp, PadNd.cpp. */
#include "eager/ops/move.h"
#include "eager/ops/row_rules.h"

#include <inttypes.h>

/* ---- clone, contiguous, reshape: the elements in order -------------------------------------------------------------- */

bool meta_clone(struct meta_ctx *c)
{
	return layout_formatted(&c->out[0], c->in[A_clone_self], format_given(c->n, FORMAT_PRESERVE), c->err);
}

/* lift_fresh, then a contiguous copy. */
bool meta_lift_fresh_copy(struct meta_ctx *c)
{
	meta_make_contiguous(
		&c->out[0], c->in[A_lift_fresh_copy_self]->dtype, c->in[A_lift_fresh_copy_self]->size, c->in[A_lift_fresh_copy_self]->rank);
	c->out[0].device = c->in[A_lift_fresh_copy_self]->device;
	return true;
}

bool kern_clone(struct kern_ctx *c)
{
	tensor_move(&c->out[0], c->in[A_clone_self]);
	return true;
}

void vjp_clone(struct vjp *v) { v->grad[A_clone_self] = v->g[0]; }

static bool ints_values(int64_t *out, int *n, const struct meta_ctx *c, int k)
{
	*n = c->n->arg[k].n;
	if (*n > MAX_RANK)
		return err_limit(c->err, "rank %d exceeds the limit %d", *n, MAX_RANK);
	for (int i = 0; i < *n; i++)
		out[i] = c->n->arg[k].ints[i].value;
	return true;
}

bool meta_contiguous(struct meta_ctx *c)
{
	const struct meta *self = c->in[A_contiguous_self];
	const enum memory_format f = c->n->arg[A_contiguous_memory_format].format;
	if (meta_is_formatted(self, f)) {
		c->out[0] = *self;
		c->alias[0] = A_contiguous_self;
		return true;
	}
	if (f == FORMAT_PRESERVE)
		return err_set(c->err, "preserve memory format is unsupported by the contiguous operator");
	return layout_formatted(&c->out[0], self, f, c->err);
}

bool meta_reshape(struct meta_ctx *c)
{
	int64_t size[MAX_RANK], known[MAX_RANK], stride[MAX_RANK];
	const struct meta *self = c->in[A_reshape_self];
	int n;
	if (!ints_values(size, &n, c, A_reshape_shape) || !layout_infer_size(known, size, n, meta_numel(self), c->err)
		|| !meta_check_sizes(known, n, c->err))
		return false;
	layout_contiguous(&c->out[0], self, known, n);
	if (layout_view_strides(stride, self, known, n)) {
		memcpy(c->out[0].stride, stride, sizeof *stride * (size_t)n);
		c->out[0].offset = self->offset;
		c->alias[0] = A_reshape_self;
	}
	return true;
}

bool kern_reshape(struct kern_ctx *c)
{
	struct tensor out = tensor_with_sizes(&c->out[0], c->in[A_reshape_self]->meta.size, c->in[A_reshape_self]->meta.rank);
	tensor_move(&out, c->in[A_reshape_self]);
	return true;
}

void vjp_reshape(struct vjp *v)
{
	const struct meta *self = vjp_meta(v, A_reshape_self);
	v->grad[A_reshape_self] = emit_reshape(v->b, v->g[0], self->size, self->rank);
}

/* ---- one element of self, or a constant, for each element of the result, dimension by dimension ---------------------------- */

/* pos[d][i]: where position i of result dim d comes from in self's dim d - shift, -1 if it is a constant. NULL for d < shift. */
struct cell_map {
	int shift;
	int64_t *pos[MAX_RANK];
};

static void map_init(struct cell_map *m, const struct meta *self, const struct meta *out, struct arena *a)
{
	*m = (struct cell_map){.shift = out->rank - self->rank};
	for (int d = m->shift; d < out->rank; d++) {
		m->pos[d] = ARENA_NEW(a, int64_t, out->size[d] + 1);
		for (int64_t i = 0; i < out->size[d]; i++)
			m->pos[d][i] = i;
	}
}

/* Offset of the element of `t` (self or its gradient) that result index `at` comes from; false: the constant. */
static bool map_offset(int64_t *offset, const struct cell_map *m, const struct meta *t, const int64_t *at)
{
	*offset = t->offset;
	for (int d = 0; d < t->rank; d++) {
		int64_t p = m->pos[d + m->shift][at[d + m->shift]];
		if (p < 0)
			return false;
		*offset += p * t->stride[d];
	}
	return true;
}

static void map_kern(struct kern_ctx *c, const struct cell_map *m, const unsigned char *constant)
{
	const struct tensor *self = c->in[A_remapped_self];
	struct tensor *out = &c->out[0];
	int nbytes = dtype_nbytes(out->meta.dtype);
	int64_t offset;
	struct walk w;
	walk_init(&w, out->meta.size, out->meta.rank);
	walk_add(&w, out);
	for (bool more = walk_start(&w); more; more = walk_next(&w))
		cell_move(w.at[0], map_offset(&offset, m, &self->meta, w.index) ? tensor_at(self, offset) : constant, nbytes);
}

/* flip */

static bool flip_dims(bool *flips, const struct node *n, int rank, struct err *err)
{
	memset(flips, 0, MAX_RANK * sizeof *flips);
	for (int i = 0; i < n->arg[A_flip_dims].n; i++) {
		int d;
		if (!dim_wrap(&d, n->arg[A_flip_dims].ints[i].value, rank, err))
			return false;
		if (flips[d])
			return err_set(err, "dim %d appears multiple times in the list of dims", d);
		flips[d] = true;
	}
	return true;
}

bool meta_flip(struct meta_ctx *c)
{
	bool flips[MAX_RANK];
	layout_preserve(&c->out[0], c->in[A_flip_self]);
	return flip_dims(flips, c->n, c->in[A_flip_self]->rank, c->err);
}

static void flip_map(struct cell_map *m, const struct node *n, const struct meta *self, struct arena *a)
{
	bool flips[MAX_RANK];
	map_init(m, self, self, a);
	CHECK(flip_dims(flips, n, self->rank, NULL));
	for (int d = 0; d < self->rank; d++)
		for (int64_t i = 0; flips[d] && i < self->size[d]; i++)
			m->pos[d][i] = self->size[d] - 1 - i;
}

bool kern_flip(struct kern_ctx *c)
{
	struct cell_map m;
	flip_map(&m, c->n, &c->in[A_flip_self]->meta, c->scratch);
	map_kern(c, &m, NULL);
	return true;
}

void vjp_flip(struct vjp *v)
{
	int64_t dims[MAX_LIST];
	int n = node_ints(dims, v->n, A_flip_dims);
	v->grad[A_flip_self] = emit_flip(v->b, v->g[0], dims, n);
}

/* roll: PyTorch cats the two halves per dim, so a half that is empty decides the memory format too. */

static int64_t roll_start(int64_t shift, int64_t size)
{
	int64_t s = shift % size; /* in (-size, size) */
	return ((size - s) % size + size) % size;
}

bool meta_roll(struct meta_ctx *c)
{
	const struct arg *shifts = &c->n->arg[A_roll_shifts], *dims = &c->n->arg[A_roll_dims];
	const struct meta *self = c->in[A_roll_self];
	struct meta *o = &c->out[0];
	int d;
	if (shifts->n == 0)
		return err_set(c->err, "`shifts` required");
	*o = *self;
	o->offset = 0;
	if (dims->n == 0 && shifts->n == 1) {
		layout_contiguous(o, self, self->size, self->rank);
		return true;
	}
	if (shifts->n != dims->n)
		return err_set(c->err, "shifts and dimensions must align. shifts: %d, dims:%d", shifts->n, dims->n);
	if (meta_numel(self) == 0) {
		layout_preserve(o, self);
		return true;
	}
	for (int i = 0; i < dims->n; i++) {
		if (self->rank == 0)
			return err_set(c->err, "Dimension specified as %" PRId64 " but tensor has no dimensions", dims->ints[i].value);
		if (!dim_wrap(&d, dims->ints[i].value, self->rank, c->err))
			return false;
		struct meta half = *o;
		half.size[d] -= roll_start(shifts->ints[i].value, self->size[d]);
		bool last = meta_is_channels_last(&half);
		half.size[d] = self->size[d] - half.size[d];
		last = last && meta_is_channels_last(&half);
		layout_contiguous(o, o, self->size, self->rank);
		if (last)
			layout_channels_last(o);
	}
	return true;
}

/* Position i of the result comes from start + i of self. Without dims everything is one dim. */
static void roll_map(struct cell_map *m, const struct node *n, const struct meta *self, struct arena *a)
{
	const struct arg *shifts = &n->arg[A_roll_shifts], *dims = &n->arg[A_roll_dims];
	int64_t start[MAX_RANK] = {0};
	map_init(m, self, self, a);
	if (meta_numel(self) == 0)
		return;
	for (int i = 0; i < shifts->n; i++) {
		int d = 0;
		CHECK(dims->n == 0 || dim_wrap(&d, dims->ints[i].value, self->rank, NULL));
		start[d] = (start[d] + roll_start(shifts->ints[i].value, self->size[d])) % self->size[d];
	}
	for (int d = 0; d < self->rank; d++)
		for (int64_t i = 0; i < self->size[d]; i++)
			m->pos[d][i] = (start[d] + i) % self->size[d];
}

bool kern_roll(struct kern_ctx *c)
{
	struct cell_map m;
	struct tensor flat_in, flat_out;
	const struct tensor *flat = &flat_in;
	struct kern_ctx k = *c;
	if (c->n->arg[A_roll_dims].n == 0) {
		int64_t numel = meta_numel(&c->in[A_roll_self]->meta);
		flat_in = tensor_contiguous(c->in[A_roll_self], c->scratch);
		flat_in = tensor_with_sizes(&flat_in, &numel, 1);
		flat_out = tensor_with_sizes(&c->out[0], &numel, 1);
		k.in[A_roll_self] = flat;
		k.out = &flat_out;
	}
	roll_map(&m, c->n, &k.in[A_roll_self]->meta, c->scratch);
	map_kern(&k, &m, NULL);
	return true;
}

/* Back again, the last roll first. */
void vjp_roll(struct vjp *v)
{
	int64_t shift[MAX_LIST], dim[MAX_LIST], back[MAX_LIST], of[MAX_LIST];
	int nshift = node_ints(shift, v->n, A_roll_shifts), ndim = node_ints(dim, v->n, A_roll_dims);
	for (int i = 0; i < nshift; i++)
		back[i] = wrap_mul(shift[nshift - 1 - i], -1);
	for (int i = 0; i < ndim; i++)
		of[i] = dim[ndim - 1 - i];
	v->grad[A_roll_self] = emit_roll(v->b, v->g[0], back, nshift, of, ndim);
}

/* repeat */

bool meta_repeat(struct meta_ctx *c)
{
	const struct meta *self = c->in[A_repeat_self];
	int64_t size[MAX_RANK];
	char text[SIZES_TEXT];
	int n;
	if (!ints_values(size, &n, c, A_repeat_repeats))
		return false;
	if (n < self->rank)
		return err_set(c->err, "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor");
	for (int d = n - self->rank; d < n; d++)
		if (!mul_i64(&size[d], size[d], self->size[d - (n - self->rank)]))
			return err_limit(c->err, "more than %" PRId64 " elements", MAX_NUMEL);
	for (int d = 0; d < n; d++)
		if (size[d] < 0)
			return err_set(c->err, "Trying to create tensor with negative dimension %" PRId64 ": %s", size[d], sizes_text(text, size, n));
	if (!meta_check_sizes(size, n, c->err))
		return false;
	layout_contiguous(&c->out[0], self, size, n);
	return true;
}

static void repeat_map(struct cell_map *m, const struct meta *self, const struct meta *out, struct arena *a)
{
	map_init(m, self, out, a);
	for (int d = m->shift; d < out->rank; d++)
		for (int64_t i = 0; i < out->size[d]; i++)
			m->pos[d][i] = i % self->size[d - m->shift];
}

bool kern_repeat(struct kern_ctx *c)
{
	struct cell_map m;
	repeat_map(&m, &c->in[A_repeat_self]->meta, &c->out[0].meta, c->scratch);
	map_kern(c, &m, NULL);
	return true;
}

/* Sizes in which every repeat has a dim of its own before the dim that it repeats, and those dims; true if they fit. */
static bool repeats_apart(int64_t *size, int *rank, int64_t *dims, int *ndim, const struct meta *self, const int64_t *repeat)
{
	*rank = *ndim = 0;
	for (int d = 0; d < self->rank; d++) {
		if (*rank + 1 + (repeat[d] != 1) > MAX_RANK)
			return false;
		if (repeat[d] != 1) {
			dims[(*ndim)++] = *rank;
			size[(*rank)++] = repeat[d];
		}
		size[(*rank)++] = self->size[d];
	}
	return true;
}

/* Where they do not fit: a dim at a time, in double, so that the sum is rounded once all the same. */
static int repeats_summed_singly(struct build *b, int g, const struct meta *self, const int64_t *repeat)
{
	static const int64_t repeats = 1;
	int64_t size[MAX_RANK];
	const struct meta *m = build_meta(b, g);
	memcpy(size, m->size, sizeof size);
	for (int d = 0; d < self->rank; d++) {
		if (repeat[d] == 1)
			continue;
		int64_t parts[] = {1, repeat[d], self->size[d], 1};
		for (int k = 0; k < self->rank; k++)
			parts[k < d ? 0 : 3] *= k == d ? 1 : size[k];
		g = emit_reshape(b, g, parts, 4);
		g = emit_sum_dim(b, g, &repeats, 1, false, DT_F64);
		size[d] = self->size[d];
	}
	return emit_reshape(b, g, self->size, self->rank);
}

/* repeat_backward: the new dims one after another, each sum rounded; then the repeats of self's own dims at once. */
void vjp_repeat(struct vjp *v)
{
	static const int64_t first = 0;
	const struct meta *self = vjp_meta(v, A_repeat_self);
	int64_t repeat[MAX_LIST], size[MAX_RANK], dims[MAX_RANK];
	int n = node_ints(repeat, v->n, A_repeat_repeats), rank, ndim, g = v->g[0];
	if (meta_numel(build_meta(v->b, g)) == 0)
		return;
	for (int d = self->rank; d < n; d++)
		g = emit_sum_dim(v->b, g, &first, 1, false, -1);
	const int64_t *own = repeat + (n - self->rank);
	if (!repeats_apart(size, &rank, dims, &ndim, self, own)) {
		v->grad[A_repeat_self] = repeats_summed_singly(v->b, g, self, own);
		return;
	}
	g = emit_reshape(v->b, g, size, rank);
	v->grad[A_repeat_self] = ndim ? emit_sum_dim(v->b, g, dims, ndim, false, -1) : g;
}

/* constant_pad_nd: pads come in pairs from the last dim; negative ones cut off. */

bool meta_constant_pad_nd(struct meta_ctx *c)
{
	const struct arg *pad = &c->n->arg[A_constant_pad_nd_pad];
	const struct meta *self = c->in[A_constant_pad_nd_self];
	struct meta cut = *self;
	bool grows = false;
	if (pad->n % 2 != 0)
		return err_set(c->err, "Length of pad must be even but instead it equals %d", pad->n);
	if (pad->n > 2 * self->rank)
		return err_set(c->err,
			"Length of pad should be no more than twice the number of dimensions of the input. Pad length is %d"
			"while the input has %ddimensions.",
			pad->n, self->rank);
	for (int i = 0; i < pad->n; i++) {
		int64_t p = pad->ints[i].value;
		int d = self->rank - 1 - i / 2;
		grows |= p > 0;
		if (p > 0)
			continue;
		if (p < -cut.size[d])
			return err_set(c->err, "narrow(): length must be non-negative.");
		cut.size[d] += p;
	}
	if (!grows) {
		layout_preserve(&c->out[0], &cut);
		return true;
	}
	for (int i = 0; i < pad->n; i++) {
		int d = self->rank - 1 - i / 2;
		if (pad->ints[i].value > 0 && !add_i64(&cut.size[d], cut.size[d], pad->ints[i].value))
			return err_limit(c->err, "more than %" PRId64 " elements", MAX_NUMEL);
	}
	if (!meta_check_sizes(cut.size, cut.rank, c->err))
		return false;
	layout_contiguous(&c->out[0], self, cut.size, cut.rank);
	if (meta_is_channels_last(self))
		layout_channels_last(&c->out[0]);
	return scalar_fits_fill(&c->n->arg[A_constant_pad_nd_value].scalar, &c->out[0], c->err);
}

static void pad_map(struct cell_map *m, const struct node *n, const struct meta *self, const struct meta *out, struct arena *a)
{
	map_init(m, self, out, a);
	for (int k = 0; k < n->arg[A_constant_pad_nd_pad].n / 2; k++) {
		int d = self->rank - 1 - k;
		for (int64_t i = 0; i < out->size[d]; i++) {
			int64_t p = i - n->arg[A_constant_pad_nd_pad].ints[2 * k].value;
			m->pos[d][i] = p < self->size[d] ? MAX(p, -1) : -1;
		}
	}
}

bool kern_constant_pad_nd(struct kern_ctx *c)
{
	struct cell_map m;
	unsigned char cell[8];
	scalar_store(cell, c->out[0].meta.dtype, &c->n->arg[A_constant_pad_nd_value].scalar);
	pad_map(&m, c->n, &c->in[A_constant_pad_nd_self]->meta, &c->out[0].meta, c->scratch);
	map_kern(c, &m, cell);
	return true;
}

/* What was padded is cut off, what was cut off is padded with zeros. */
void vjp_constant_pad_nd(struct vjp *v)
{
	int64_t pad[MAX_LIST];
	int n = node_ints(pad, v->n, A_constant_pad_nd_pad);
	for (int i = 0; i < n; i++)
		pad[i] = -pad[i];
	v->grad[A_constant_pad_nd_self] = emit_constant_pad_nd(v->b, v->g[0], pad, n, scalar_int(0));
}

/* ---- triangles of the last two dims ------------------------------------------------------------------------------------- */

bool meta_tri(struct meta_ctx *c)
{
	const struct meta *self = c->in[A_tri_self];
	if (self->rank < 2)
		return err_set(c->err, "%s: input tensor must have at least 2 dimensions", op_info[c->n->op].name);
	layout_contiguous(&c->out[0], self, self->size, self->rank);
	return true;
}

/* Column minus row at most (lower) or at least (upper) the diagonal stays, the rest is zero. */
static void triangle(struct tensor *out, const struct tensor *in, int64_t diagonal, bool lower)
{
	static const unsigned char zero[8];
	int nbytes = dtype_nbytes(out->meta.dtype), rank = out->meta.rank;
	struct walk w;
	walk_init(&w, out->meta.size, rank);
	walk_add(&w, out);
	walk_add(&w, in);
	for (bool more = walk_start(&w); more; more = walk_next(&w)) {
		int64_t at = w.index[rank - 1] - w.index[rank - 2];
		bool keep = lower ? at <= diagonal : at >= diagonal;
		cell_move(w.at[0], keep ? w.at[1] : zero, nbytes);
	}
}

bool kern_tril(struct kern_ctx *c)
{
	triangle(&c->out[0], c->in[A_tril_self], node_int(c->n, A_tril_diagonal), true);
	return true;
}

bool kern_triu(struct kern_ctx *c)
{
	triangle(&c->out[0], c->in[A_triu_self], node_int(c->n, A_triu_diagonal), false);
	return true;
}

void vjp_tril(struct vjp *v) { v->grad[A_tril_self] = emit_tril(v->b, v->g[0], node_int(v->n, A_tril_diagonal)); }

void vjp_triu(struct vjp *v) { v->grad[A_triu_self] = emit_triu(v->b, v->g[0], node_int(v->n, A_triu_diagonal)); }

/* ---- pixel_shuffle: the channels of each group of r * r become the pixels of a square of r by r (PixelShuffle.cpp) ---- */

bool meta_pixel_shuffle(struct meta_ctx *c)
{
	const struct meta *self = c->in[A_pixel_shuffle_self];
	int64_t r = node_int(c->n, A_pixel_shuffle_upscale_factor), size[MAX_RANK];
	int ch = self->rank - 3;
	if (ch < 0)
		return err_set(c->err, "pixel_shuffle expects input to have at least 3 dimensions, but got input with %d dimension(s)", self->rank);
	if (r <= 0)
		return err_set(c->err, "pixel_shuffle expects a positive upscale_factor, but got %" PRId64, r);
	memcpy(size, self->size, sizeof size);
	if (r > INT32_MAX || size[ch] % (r * r) != 0)
		return err_set(c->err,
			"pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, "
			"but input.size(-3)=%" PRId64 " is not divisible by %" PRId64 " squared",
			size[ch], r);
	size[ch] /= r * r;
	if (!mul_i64(&size[ch + 1], size[ch + 1], r) || !mul_i64(&size[ch + 2], size[ch + 2], r) || !meta_check_sizes(size, self->rank, c->err))
		return err_set(c->err, "pixel_shuffle: the result is too large");
	layout_contiguous(&c->out[0], self, size, self->rank);
	if (meta_numel(self) == 0 || !meta_is_channels_last(self))
		return true;
	if (self->rank == 5)
		return err_set(c->err, "Unsupported memory format. Supports only ChannelsLast, Contiguous");
	layout_channels_last(&c->out[0]);
	return true;
}

/* Pixel (i, j) of every square of `fine` and the channel of each group that it comes from. */
static void pixel_and_channel(
	struct tensor *pixel, struct tensor *channel, const struct tensor *fine, const struct tensor *coarse, int64_t r, int64_t i, int64_t j)
{
	const struct meta *m = &coarse->meta;
	int ch = m->rank - 3;
	struct tensor rows = tensor_slice(fine, ch + 1, i, m->size[ch + 1], r);
	*pixel = tensor_slice(&rows, ch + 2, j, m->size[ch + 2], r);
	*channel = tensor_slice(coarse, ch, i * r + j, m->size[ch] / (r * r), r * r);
}

bool kern_pixel_shuffle(struct kern_ctx *c)
{
	int64_t r = node_int(c->n, A_pixel_shuffle_upscale_factor);
	struct tensor pixel, channel;
	for (int64_t k = 0; k < r * r && meta_numel(&c->out[0].meta); k++) {
		pixel_and_channel(&pixel, &channel, &c->out[0], c->in[A_pixel_shuffle_self], r, k / r, k % r);
		tensor_move(&pixel, &channel);
	}
	return true;
}

/* pixel_unshuffle: [n, h, r, w, r] to [n, r, r, h, w], where n counts groups of channels. */
void vjp_pixel_shuffle(struct vjp *v)
{
	static const int64_t pixels_first[] = {0, 2, 4, 1, 3};
	const struct meta *self = vjp_meta(v, A_pixel_shuffle_self);
	int64_t r = node_int(v->n, A_pixel_shuffle_upscale_factor), h = self->size[self->rank - 2], w = self->size[self->rank - 1];
	if (meta_numel(self) == 0)
		return;
	int64_t size[] = {meta_numel(self) / (r * r * h * w), h, r, w, r};
	int g = emit_reshape(v->b, v->g[0], size, 5);
	g = emit_permute(v->b, g, pixels_first, 5);
	v->grad[A_pixel_shuffle_self] = emit_reshape(v->b, g, self->size, self->rank);
}

/* ---- pixel_unshuffle: the other way round. Of nothing PyTorch makes a clone, of self's sizes. ---- */

bool meta_pixel_unshuffle(struct meta_ctx *c)
{
	const struct meta *self = c->in[A_pixel_unshuffle_self];
	const int64_t r = node_int(c->n, A_pixel_unshuffle_downscale_factor);
	const int ch = self->rank - 3;
	int64_t size[MAX_RANK];
	if (ch < 0)
		return err_set(
			c->err, "pixel_unshuffle expects input to have at least 3 dimensions, but got input with %d dimension(s)", self->rank);
	if (r <= 0)
		return err_set(c->err, "pixel_unshuffle expects a positive downscale_factor, but got %" PRId64, r);
	memcpy(size, self->size, sizeof size);
	for (int d = ch + 1; d <= ch + 2; d++) {
		if (size[d] % r != 0)
			return err_set(c->err,
				"pixel_unshuffle expects %s to be divisible by downscale_factor, but input.size(%d)=%" PRId64
				" is not divisible by %" PRId64,
				d == ch + 1 ? "height" : "width", d - self->rank, size[d], r);
		size[d] /= r;
	}
	if (meta_numel(self) == 0) {
		layout_preserve(&c->out[0], self);
		return true;
	}
	size[ch] *= r * r;
	layout_contiguous(&c->out[0], self, size, self->rank);
	if (!meta_is_channels_last(self))
		return true;
	if (self->rank == 5)
		return err_set(c->err, "Unsupported memory format. Supports only ChannelsLast, Contiguous");
	layout_channels_last(&c->out[0]);
	return true;
}

bool kern_pixel_unshuffle(struct kern_ctx *c)
{
	const int64_t r = node_int(c->n, A_pixel_unshuffle_downscale_factor);
	struct tensor pixel, channel;
	for (int64_t k = 0; k < r * r && meta_numel(&c->out[0].meta); k++) {
		pixel_and_channel(&pixel, &channel, c->in[A_pixel_unshuffle_self], &c->out[0], r, k / r, k % r);
		tensor_move(&channel, &pixel);
	}
	return true;
}

void vjp_pixel_unshuffle(struct vjp *v)
{
	if (meta_numel(vjp_meta(v, A_pixel_unshuffle_self)))
		v->grad[A_pixel_unshuffle_self] = emit_pixel_shuffle(v->b, v->g[0], node_int(v->n, A_pixel_unshuffle_downscale_factor));
}
