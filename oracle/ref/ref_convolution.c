/* ref_convolution.c: convolutions of one to three dims, and transposed ones. Windows slide over an image; each filter makes one number of
 * what lies under a window: a map of places. A transposed convolution makes an image of a map.
 *
 * One list of products for each element of the result: of a map, the image under the window times the filter, what lies in the padding
 * being id 0; of an image, the places whose windows show it times the filter. Then 1 times the bias (SUMPROD_SLIDES). The gradients are
 * such lists, too.
 *
 * Layout: channels-last, if input or weight suggest it (Convolution.cpp, determine_backend_memory_format), else contiguous. One dim is
 * taken as the second of two, its input made contiguous before. Of three dims Slow3d and its like, which double takes always, look at no
 * layout, oneDNN does: what is not double is not said here. Nor is the gradient of a weight that is contiguous in both orders where the
 * input alone suggests channels-last: oneDNN's follows the input, ConvolutionMM2d.cpp's the weight. (Measured, 2.11.0 and 2.15.0.) */
#include "oracle/ref/shape.h"
#include "oracle/ref/row_rules.h"
#include "generated/op_id.h"

#include <math.h>

enum { DIMS = 3 };

/* Dims that are not there come first. */
struct slide {
	enum dtype dt;
	int ndim, rank;
	bool transposed, last;                                   /* last: results lie channels-last */
	int64_t samples, channels, filters, groups, part, share; /* of the image, of the map; of a group: channels, filters */
	int64_t stride[DIMS], padding[DIMS], dilation[DIMS], more[DIMS];
	int64_t image[DIMS], kernel[DIMS], map[DIMS];
};

static bool read_list(struct ref_ctx *c, int64_t to[DIMS], int name, const char *what, int ndim, int64_t least)
{
	const struct arg *a = &c->n->arg[op_arg(c->n->op, name)];
	if (a->n != 1 && a->n != ndim)
		return err_set(c->err, "%s: %d values of %s for %d dimensions", op_info[c->n->op].name, a->n, what, ndim);
	for (int d = 0; d < DIMS - ndim; d++)
		to[d] = least; /* any padding is 0, any stride 1 */
	for (int d = 0; d < ndim; d++) {
		const int64_t v = a->ints[a->n == 1 ? 0 : d].value;
		if (v < least)
			return err_set(c->err, "%s: a %s of %lld is too small", op_info[c->n->op].name, what, (long long)v);
		if (v > INT32_MAX)
			return ref_unsupported(c, "a %s of %lld", what, (long long)v);
		to[DIMS - ndim + d] = v;
	}
	return true;
}

static struct meta in_planes(const struct meta *m)
{
	struct meta as4 = *m;
	if (m->rank == 3) {
		as4.rank = 4;
		as4.size[3] = m->size[2];
		as4.stride[3] = m->stride[2];
		as4.size[2] = 1;
		as4.stride[2] = m->size[2] * m->stride[2];
	}
	return as4;
}

static bool read_layout(struct ref_ctx *c, struct slide *s, const struct meta *input, const struct meta *weight)
{
	const struct meta x = in_planes(input), w = in_planes(weight);
	const bool by_input = shape_format(&x) && (s->ndim > 1 || layout_is_contiguous(input)), by_weight = shape_format(&w);
	s->last = (by_input || by_weight) && s->ndim < 3;
	if ((by_input || by_weight) && s->ndim == 3 && s->dt != DT_F64)
		return ref_unsupported(c, "the layout that a convolution of three dims with channels last gives depends on the kernel");
	const bool weight_asked = c->n->op == OP_convolution || c->n->arg[A_convolution_backward_output_mask].bools[1];
	if (weight_asked && s->last && !by_weight && shape_in_format(&w, FORMAT_CHANNELS_LAST))
		return ref_unsupported(c, "the layout of this weight's gradient depends on the kernel");
	return true;
}

static int64_t product_of(const int64_t size[DIMS]) { return size[0] * size[1] * size[2]; }

/* Along dim d: image and map, of which the input is one. */
static bool read_dim(struct ref_ctx *c, struct slide *s, int d, int64_t given)
{
	const int64_t span = s->dilation[d] * (s->kernel[d] - 1) + 1, around = 2 * s->padding[d];
	s->image[d] = s->map[d] = given;
	if (s->transposed && s->more[d] >= s->stride[d] && s->more[d] >= s->dilation[d])
		return err_set(c->err, "output padding must be smaller than either stride or dilation");
	if (s->transposed)
		s->image[d] = (given - 1) * s->stride[d] + span + s->more[d] - around;
	else if (given + around < span)
		return err_set(c->err, "Kernel size can't be greater than actual input size");
	else
		s->map[d] = (given + around - span) / s->stride[d] + 1;
	return s->image[d] > 0 || given == 0 || ref_unsupported(c, "a transposed convolution of no elements: some kernels refuse it");
}

static bool read_sizes(struct ref_ctx *c, struct slide *s, const struct meta *input, const struct meta *weight)
{
	const char *w = shape_text(c, weight->size, weight->rank), *x = shape_text(c, input->size, input->rank);
	s->groups = ref_arg_int(c, op_arg(c->n->op, N_groups));
	if (s->groups < 1)
		return err_set(c->err, "non-positive groups is not supported");
	if (input->rank != weight->rank)
		return err_set(c->err, "convolution: a weight of size %s slides over no input of size %s", w, x);
	s->samples = input->size[0];
	s->filters = weight->size[0];
	s->part = weight->size[1];
	if (s->filters < s->groups || s->filters % s->groups)
		return err_set(c->err, "convolution: %lld groups do not divide weight of size %s", (long long)s->groups, w);
	s->channels = s->groups * s->part;
	if (input->size[1] != (s->transposed ? s->filters : s->channels))
		return err_set(c->err, "convolution: input of size %s has other channels than weight of size %s expects", x, w);
	s->share = s->filters / s->groups;
	for (int d = 0; d < DIMS; d++) {
		const int at = s->rank - DIMS + d;
		s->kernel[d] = at < 2 ? 1 : weight->size[at];
		if (!read_dim(c, s, d, at < 2 ? 1 : input->size[at]))
			return false;
	}
	return true;
}

static bool read_slide(struct ref_ctx *c, struct slide *s)
{
	const struct meta *input = &ref_operand(c, N_input)->meta, *weight = &ref_operand(c, N_weight)->meta;
	*s = (struct slide){
		.dt = input->dtype, .ndim = weight->rank - 2, .rank = weight->rank, .transposed = flag_of(c, op_arg(c->n->op, N_transposed))};
	if (s->ndim < 1)
		return err_set(c->err, "weight should have at least three dimensions");
	if (s->ndim > DIMS)
		return ref_unsupported(c, "a convolution of %d dimensions", s->ndim);
	if (!read_list(c, s->stride, N_stride, "stride", s->ndim, 1) || !read_list(c, s->padding, N_padding, "padding", s->ndim, 0)
		|| !read_list(c, s->dilation, N_dilation, "dilation", s->ndim, 1)
		|| !read_list(c, s->more, N_output_padding, "output_padding", s->ndim, 0) || !read_sizes(c, s, input, weight))
		return false;
	if (!s->transposed && (s->more[0] || s->more[1] || s->more[2]))
		return c->n->op == OP_convolution ? ref_unsupported(c, "output_padding of a convolution that is not transposed")
										  : err_set(c->err, "output_padding is not supported for non-transposed convolutions");
	if (meta_numel(input) == 0 || meta_numel(weight) == 0)
		return ref_unsupported(c, "a convolution without elements: the layout of its result depends on the kernel");
	if (weight->dtype != s->dt && c->n->op == OP_convolution_backward)
		return ref_unsupported(c, "gradients of %s and %s", dtype_info[s->dt].name, dtype_info[weight->dtype].name);
	if (weight->dtype != s->dt)
		return err_set(c->err, "convolution of %s and %s", dtype_info[s->dt].torch, dtype_info[weight->dtype].torch);
	return (dtype_is_float(s->dt) && dtype_info[s->dt].rows == DR_FULL) ? read_layout(c, s, input, weight)
																		: ref_unsupported(c, "a convolution of %s", dtype_info[s->dt].name);
}

/* The result: its sizes, and how many elements a channel has. */
static bool result_sizes(struct ref_ctx *c, const struct slide *s, int64_t size[MAX_RANK])
{
	const int64_t *last = s->transposed ? s->image : s->map;
	size[0] = s->samples;
	size[1] = s->transposed ? s->channels : s->filters;
	for (int d = 0; d < s->ndim; d++)
		size[2 + d] = last[DIMS - s->ndim + d];
	return meta_check_sizes(size, s->rank, c->err);
}
static int64_t result_plane(const struct slide *s) { return product_of(s->transposed ? s->image : s->map); }

/* ---- products ---- */

enum { PADDING = -1 };
struct product {
	int64_t cell, w, place; /* elements of the image (or PADDING), the weight, the map */
};
typedef void use_product(void *data, const struct product *p);

static int64_t products_of(const struct slide *s) { return s->samples * s->filters * product_of(s->map) * s->part * product_of(s->kernel); }

/* The cell of a plane of the image that entry (i, j, k) of the window at `at` shows. */
static int64_t cell_under(const struct slide *s, const int64_t at[DIMS], int64_t i, int64_t j, int64_t k)
{
	const int64_t entry[DIMS] = {i, j, k};
	int64_t cell = 0;
	for (int d = 0; d < DIMS; d++) {
		const int64_t x = at[d] * s->stride[d] + entry[d] * s->dilation[d] - s->padding[d];
		if (x < 0 || x >= s->image[d])
			return PADDING;
		cell = cell * s->image[d] + x;
	}
	return cell;
}

/* What one filter makes of the window at `at`. */
static void use_window(const struct slide *s, int64_t n, int64_t f, const int64_t at[DIMS], int64_t place, use_product *use, void *data)
{
	const int64_t plane = product_of(s->image);
	struct product p = {.w = f * s->part * product_of(s->kernel), .place = place};
	for (int64_t channel = f / s->share * s->part; channel < (f / s->share + 1) * s->part; channel++)
		for (int64_t i = 0; i < s->kernel[0]; i++)
			for (int64_t j = 0; j < s->kernel[1]; j++)
				for (int64_t k = 0; k < s->kernel[2]; k++, p.w++) {
					p.cell = cell_under(s, at, i, j, k);
					if (p.cell != PADDING)
						p.cell += (n * s->channels + channel) * plane;
					use(data, &p);
				}
}

static void each_product(const struct slide *s, use_product *use, void *data)
{
	int64_t at[DIMS], place = 0;
	for (int64_t n = 0; n < s->samples; n++)
		for (int64_t f = 0; f < s->filters; f++)
			for (at[0] = 0; at[0] < s->map[0]; at[0]++)
				for (at[1] = 0; at[1] < s->map[1]; at[1]++)
					for (at[2] = 0; at[2] < s->map[2]; at[2]++)
						use_window(s, n, f, at, place++, use, data);
}

/* Lists of pairs, in the making: counted first, then filled. */
struct lists {
	uint32_t *start, *at;
	sid *entry;
	int64_t n;
};

static bool begin_lists(struct ref_ctx *c, struct lists *l, int64_t n, int64_t pairs)
{
	if (c->t->over || n > c->t->limit.nodes || pairs > c->t->limit.entries / 2) {
		c->t->over = true;
		return ref_unsupported(c, "too many scalars");
	}
	l->n = n;
	l->start = ARENA_ZNEW(c->t->arena, uint32_t, n + 1);
	l->at = ARENA_ZNEW(c->t->arena, uint32_t, n + 1);
	l->entry = tape_ids(c->t, 2 * pairs);
	return true;
}

static void fix_starts(struct lists *l) /* at: how many entries each has */
{
	for (int64_t k = 0; k < l->n; k++) {
		l->start[k + 1] = l->start[k] + l->at[k];
		l->at[k] = l->start[k];
	}
}

static void put_pair(struct lists *l, int64_t k, sid a, sid b, bool counting)
{
	if (counting) {
		l->at[k] += 2;
		return;
	}
	l->entry[l->at[k]++] = a;
	l->entry[l->at[k]++] = b;
}

static int64_t full_of(const struct slide *s) { return s->share * product_of(s->kernel); }

/* Infinite or NaN, or maybe. */
static bool is_odd(const struct ref_ctx *c, sid x) { return !c->t->over && tape_val(c->t, x)->flags & NUM_SPECIAL; }

/* An odd element of n; 0: there is none. */
static sid odd_of(const struct ref_ctx *c, const sid *x, int64_t n)
{
	for (int64_t k = 0; k < n; k++)
		if (is_odd(c, x[k]))
			return x[k];
	return 0;
}

/* oneDNN multiplies halves in pairs of channels (vdpbf16ps), and what it pairs with the last of an odd number is 0 times some element
 * outside of the window: which one is each kernel's own (measured: an infinity two cells away made NaN). So an odd one opens
 * every result. */
static bool opens(const struct ref_ctx *c, const struct slide *s, const sid *x, int64_t n)
{
	return dtype_is_narrow(s->dt) && odd_of(c, x, n);
}

/* oneDNN's image, of which not all places of its windows are in the map, multiplies the others' weights by 0: such a list gets one more
 * pair, of the padding and an odd weight. */
static void count_odd(const struct slide *s, struct lists *x, sid odd)
{
	for (int64_t k = 0; k < x->n && odd; k++)
		if (x->at[k] < (uint32_t)(2 * full_of(s)))
			x->at[k] += 2;
}

/* Last, where it was counted. */
static void put_odd(struct lists *x, sid odd)
{
	for (int64_t k = 0; k < x->n; k++)
		while (x->at[k] < x->start[k + 1])
			put_pair(x, k, 0, odd, false);
}

/* Each element of an operand has a name of its own, so that its gradient is one sum. */
static const sid *names_of(struct ref_ctx *c, const struct ref_tensor *t)
{
	return ref_copies(c, ref_ids(c, t), meta_numel(&t->meta), t->meta.dtype);
}

/* Result k of these sizes. */
static bool give(struct ref_ctx *c, const struct slide *s, int k, const int64_t *size, const struct lists *l, double slides)
{
	int64_t stride[MAX_RANK];
	const bool last = s->last && shape_channels_last(stride, size, s->rank, s->rank);
	return ref_out_block(
		c, k, s->dt, size, s->rank, last ? stride : NULL, tape_nary(c->t, SF_SUMPROD, s->dt, l->start, l->entry, l->n, slides));
}

/* ---- forward ---- */

struct sums {
	struct lists *l;
	const sid *x, *w;
	const struct slide *s;
	bool counting, *seen; /* seen: elements of the input that some list has */
};
/* What falls outside of an image goes into one list more. */
static void add_sum(void *data, const struct product *p)
{
	const struct sums *f = data;
	const bool outside = p->cell == PADDING;
	const int64_t x = f->s->transposed ? p->place : p->cell;
	if (x != PADDING)
		f->seen[x] = true;
	put_pair(f->l,
		!f->s->transposed ? p->place
			: outside     ? f->l->n - 1
						  : p->cell,
		x == PADDING || f->counting ? 0 : f->x[x], f->counting ? 0 : f->w[p->w], f->counting);
}

REFERENCE(convolution, ANEW)
{
	const struct ref_tensor *bias = c->in[A_convolution_bias];
	const struct meta *weight = meta_of(c, A_convolution_weight);
	struct slide s;
	int64_t size[MAX_RANK];
	if (!ref_not_on_cuda(c) || !read_slide(c, &s) || !result_sizes(c, &s, size))
		return false;
	if (bias && (bias->meta.rank != 1 || bias->meta.size[0] != size[1]))
		return err_set(c->err, "Given weight of size %s, expected bias to be 1-dimensional", shape_text(c, weight->size, weight->rank));
	if (bias && bias->meta.dtype != s.dt)
		return ref_unsupported(c, "convolution of %s with a bias of %s", dtype_info[s.dt].torch, dtype_info[bias->meta.dtype].torch);
	struct lists l;
	const int64_t n = shape_numel(size, s.rank), cells = meta_numel(meta_of(c, A_convolution_input));
	if (!begin_lists(c, &l, n + s.transposed, products_of(&s) + 3 * n + cells))
		return false;
	if (s.transposed)
		c->t->op = OP_convolution_backward; /* whose kernels compute it */
	struct sums f = {.l = &l,
		.x = names_of(c, c->in[A_convolution_input]),
		.w = names_of(c, c->in[A_convolution_weight]),
		.s = &s,
		.counting = true,
		.seen = ARENA_ZNEW(c->t->arena, bool, cells)};
	const sid *b = bias ? names_of(c, bias) : NULL, one = bias ? tape_const_f(c->t, s.dt, 1) : 0;
	const bool open = opens(c, &s, f.x, cells);
	if (c->grad && (open || opens(c, &s, f.w, meta_numel(weight)))) /* the tape's gradient would not know */
		return ref_unsupported(c, "gradient of a convolution of halves that are infinite or NaN: oneDNN spreads NaN");
	const sid odd = open ? tape_const_f(c->t, s.dt, INFINITY) : s.transposed ? odd_of(c, f.w, meta_numel(weight)) : 0;
	each_product(&s, add_sum, &f);
	if (!open)
		count_odd(&s, &l, odd);
	for (int64_t k = 0; k < n; k++)
		l.at[k] += (b ? 2U : 0) + (open ? 2U : 0);
	for (int64_t k = 0; k < cells; k++)
		l.at[0] += f.seen[k] ? 0 : 2;
	fix_starts(&l);
	f.counting = false;
	each_product(&s, add_sum, &f);
	for (int64_t k = 0; b && k < n; k++)
		put_pair(&l, k, one, b[k / result_plane(&s) % size[1]], false);
	for (int64_t k = 0; k < cells; k++)
		if (!f.seen[k])
			put_pair(&l, 0, f.x[k], 0, false);
	put_odd(&l, odd);
	return give(c, &s, 0, size, &l, s.transposed ? SUMPROD_FALLS : SUMPROD_SLIDES(full_of(&s)));
}

/* ---- backward ---- */

struct gradients {
	struct lists *x, *w;
	const sid *grad, *input, *weight;
	bool counting;
	const struct slide *s;
};

static void add_gradients(void *data, const struct product *p)
{
	const struct gradients *b = data;
	const bool outside = p->cell == PADDING, transposed = b->s->transposed;
	const sid *image = transposed ? b->grad : b->input, *map = transposed ? b->input : b->grad;
	const sid cell = outside ? 0 : image[p->cell];
	if (b->x && transposed)
		put_pair(b->x, p->place, cell, b->weight[p->w], b->counting);
	else if (b->x && !outside)
		put_pair(b->x, p->cell, map[p->place], b->weight[p->w], b->counting);
	if (b->w)
		put_pair(b->w, p->w, cell, map[p->place], b->counting);
}

static bool bias_gradient(struct ref_ctx *c, const struct slide *s, int64_t channels, const sid *grad)
{
	const int64_t plane = result_plane(s), len = s->samples * plane;
	sid *rows = tape_ids(c->t, channels * len);
	for (int64_t f = 0; f < channels; f++)
		for (int64_t k = 0; k < len; k++)
			rows[f * len + k] = grad[(k / plane * channels + f) * plane + k % plane];
	return ref_out_block(c, 2, s->dt, &channels, 1, NULL, tape_rows(c->t, SF_SUM, s->dt, rows, channels, len, 0));
}

REFERENCE(convolution_backward, ANEW)
{
	const struct meta *grad = meta_of(c, A_convolution_backward_grad_output), *input = meta_of(c, A_convolution_backward_input),
					  *weight = meta_of(c, A_convolution_backward_weight);
	const bool *asked = c->n->arg[A_convolution_backward_output_mask].bools;
	struct slide s;
	struct lists x, w;
	int64_t size[MAX_RANK];
	if (!ref_not_on_cuda(c) || !read_slide(c, &s) || !result_sizes(c, &s, size))
		return false;
	if (!shape_equal(grad->size, grad->rank, size, s.rank))
		return ref_unsupported(c, "grad_output of size %s for a result of size %s: not every kernel looks at it",
			shape_text(c, grad->size, grad->rank), shape_text(c, size, s.rank));
	if (grad->dtype != s.dt)
		return err_set(c->err, "convolution_backward of %s and %s", dtype_info[grad->dtype].torch, dtype_info[s.dt].torch);
	if (asked[2] && !asked[1])
		return ref_unsupported(c, "convolution_backward: oneDNN gives the weight's gradient with the bias', asked for or not");
	c->t->result = TAPE_EVERY;
	struct gradients b = {.counting = true,
		.s = &s,
		.grad = names_of(c, c->in[A_convolution_backward_grad_output]),
		.input = names_of(c, c->in[A_convolution_backward_input]),
		.weight = names_of(c, c->in[A_convolution_backward_weight])};
	if (asked[0] && !begin_lists(c, b.x = &x, meta_numel(input), products_of(&s) + 2 * meta_numel(input)))
		return false;
	if (asked[1] && !begin_lists(c, b.w = &w, meta_numel(weight), products_of(&s) + meta_numel(weight)))
		return false;
	const bool open =
		opens(c, &s, b.grad, meta_numel(grad)) || opens(c, &s, b.input, meta_numel(input)) || opens(c, &s, b.weight, meta_numel(weight));
	const sid odd = open ? tape_const_f(c->t, s.dt, INFINITY) : s.transposed ? 0 : odd_of(c, b.weight, meta_numel(weight));
	struct lists *const lists[] = {b.x, b.w};
	each_product(&s, add_gradients, &b);
	if (b.x && !open)
		count_odd(&s, b.x, odd);
	for (int i = 0; i < ARRAY_LEN(lists); i++) {
		for (int64_t k = 0; lists[i] && open && k < lists[i]->n; k++)
			lists[i]->at[k] += 2;
		if (lists[i])
			fix_starts(lists[i]);
	}
	b.counting = false;
	each_product(&s, add_gradients, &b);
	for (int i = 0; i < ARRAY_LEN(lists); i++)
		if (lists[i] && odd)
			put_odd(lists[i], odd);
	c->t->result = 0;
	if (!(asked[0] ? give(c, &s, 0, input->size, &x, SUMPROD_SLIDES(0)) : ref_out_none(c, 0)))
		return false;
	c->t->result = 1;
	if (!(asked[1] ? give(c, &s, 1, weight->size, &w, SUMPROD_SLIDES(0)) : ref_out_none(c, 1)))
		return false;
	c->t->result = 2;
	return asked[2] ? bias_gradient(c, &s, size[1], b.grad) : ref_out_none(c, 2);
}
