/* ref_convolution.c: convolutions of one or two dims, not transposed. One list of products for each element: the input under the window
 * times the filter, then 1 times the bias; what lies in the padding is id 0 (SUMPROD_SLIDES). The gradients are such lists, too.
 *
 * Layout: contiguous, unless input or weight suggest that the channels lie together (Convolution.cpp, determine_backend_memory_format,
 * which takes one dim as the second of two): what a kernel then makes of it differs (measured, 2.11.0 and 2.15.0), and is not said here. */
#include "oracle/ref/shape.h"
#include "oracle/ref/row_rules.h"
#include "generated/op_id.h"

/* One dim is the second of two. */
struct slide {
	enum dtype dt;
	int ndim, rank;
	int64_t samples, channels, filters, groups, part, share; /* of a group: channels, filters */
	int64_t stride[2], padding[2], dilation[2], in[2], kernel[2], out[2];
};

static bool read_list(struct ref_ctx *c, int64_t to[2], int name, const char *what, int ndim, int64_t least)
{
	const struct arg *a = &c->n->arg[op_arg(c->n->op, name)];
	if (a->n != 1 && a->n != ndim)
		return err_set(c->err, "%s: %d values of %s for %d dimensions", op_info[c->n->op].name, a->n, what, ndim);
	to[0] = least; /* of the dim that is not there: any padding is 0, any stride 1 */
	for (int d = 0; d < ndim; d++) {
		const int64_t v = a->ints[a->n == 1 ? 0 : d].value;
		if (v < least)
			return err_set(c->err, "%s: a %s of %lld is too small", op_info[c->n->op].name, what, (long long)v);
		if (v > INT32_MAX)
			return ref_unsupported(c, "a %s of %lld", what, (long long)v);
		to[2 - ndim + d] = v;
	}
	return true;
}

/* Do the channels lie together, or does a size of 1 make it look so? */
static bool looks_channels_last(const struct meta *m)
{
	struct meta as4 = *m;
	if (m->rank == 3) {
		as4.rank = 4;
		as4.size[3] = m->size[2];
		as4.stride[3] = m->stride[2];
		as4.size[2] = 1;
		as4.stride[2] = m->size[2] * m->stride[2];
	}
	return shape_format(&as4) != 0;
}

static bool read_layout(struct ref_ctx *c, const struct meta *input, const struct meta *weight)
{
	return (!looks_channels_last(input) && !looks_channels_last(weight))
		|| ref_unsupported(c, "the layout that a convolution with channels last gives depends on the kernel");
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
	s->channels = input->size[1];
	s->filters = weight->size[0];
	s->part = weight->size[1];
	if (s->filters < s->groups || s->filters % s->groups)
		return err_set(c->err, "convolution: %lld groups do not divide weight of size %s", (long long)s->groups, w);
	if (s->channels % s->groups || s->channels / s->groups != s->part)
		return err_set(c->err, "convolution: input of size %s has other channels than weight of size %s expects", x, w);
	s->share = s->filters / s->groups;
	for (int d = 0; d < 2; d++) {
		const int at = s->rank - 2 + d;
		s->in[d] = at < 2 ? 1 : input->size[at];
		s->kernel[d] = at < 2 ? 1 : weight->size[at];
		const int64_t room = s->in[d] + 2 * s->padding[d] - s->dilation[d] * (s->kernel[d] - 1) - 1;
		if (room < 0)
			return err_set(c->err, "Kernel size can't be greater than actual input size");
		s->out[d] = room / s->stride[d] + 1;
	}
	return true;
}

static bool read_slide(struct ref_ctx *c, struct slide *s)
{
	const struct meta *input = &ref_operand(c, N_input)->meta, *weight = &ref_operand(c, N_weight)->meta;
	int64_t none[2];
	if (flag_of(c, op_arg(c->n->op, N_transposed)))
		return ref_unsupported(c, "a transposed convolution");
	*s = (struct slide){.dt = input->dtype, .ndim = weight->rank - 2, .rank = weight->rank};
	if (s->ndim < 1)
		return err_set(c->err, "weight should have at least three dimensions");
	if (s->ndim > 2)
		return ref_unsupported(c, "a convolution of %d dimensions", s->ndim);
	if (!read_list(c, s->stride, N_stride, "stride", s->ndim, 1) || !read_list(c, s->padding, N_padding, "padding", s->ndim, 0)
		|| !read_list(c, s->dilation, N_dilation, "dilation", s->ndim, 1)
		|| !read_list(c, none, N_output_padding, "output_padding", s->ndim, 0) || !read_sizes(c, s, input, weight))
		return false;
	if (none[0] || none[1])
		return c->n->op == OP_convolution ? ref_unsupported(c, "output_padding of a convolution that is not transposed")
										  : err_set(c->err, "output_padding is not supported for non-transposed convolutions");
	if (meta_numel(input) == 0 || meta_numel(weight) == 0)
		return ref_unsupported(c, "a convolution without elements: the layout of its result depends on the kernel");
	if (weight->dtype != s->dt && c->n->op == OP_convolution_backward)
		return ref_unsupported(c, "gradients of %s and %s", dtype_info[s->dt].name, dtype_info[weight->dtype].name);
	if (weight->dtype != s->dt)
		return err_set(c->err, "convolution of %s and %s", dtype_info[s->dt].torch, dtype_info[weight->dtype].torch);
	return (dtype_is_float(s->dt) && dtype_info[s->dt].rows == DR_FULL) ? read_layout(c, input, weight)
																		: ref_unsupported(c, "a convolution of %s", dtype_info[s->dt].name);
}

/* ---- products ---- */

enum { PADDING = -1 };
struct product {
	int64_t x, w, y; /* elements of input (or PADDING), weight, result */
};
typedef void use_product(void *data, const struct product *p);

static int64_t products_of(const struct slide *s)
{
	return s->samples * s->filters * s->out[0] * s->out[1] * s->part * s->kernel[0] * s->kernel[1];
}

/* By result, those of each together. */
static void each_product(const struct slide *s, use_product *use, void *data)
{
	struct product p = {.y = 0};
	for (int64_t n = 0; n < s->samples; n++)
		for (int64_t f = 0; f < s->filters; f++)
			for (int64_t row = 0; row < s->out[0]; row++)
				for (int64_t col = 0; col < s->out[1]; col++, p.y++) {
					p.w = f * s->part * s->kernel[0] * s->kernel[1];
					for (int64_t k = 0; k < s->part; k++)
						for (int64_t i = 0; i < s->kernel[0]; i++)
							for (int64_t j = 0; j < s->kernel[1]; j++, p.w++) {
								const int64_t a = row * s->stride[0] + i * s->dilation[0] - s->padding[0];
								const int64_t b = col * s->stride[1] + j * s->dilation[1] - s->padding[1];
								const bool inside = a >= 0 && a < s->in[0] && b >= 0 && b < s->in[1];
								p.x = inside ? ((n * s->channels + f / s->share * s->part + k) * s->in[0] + a) * s->in[1] + b : PADDING;
								use(data, &p);
							}
				}
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

static void put_pair(struct lists *l, int64_t k, sid a, sid b)
{
	l->entry[l->at[k]++] = a;
	l->entry[l->at[k]++] = b;
}

/* full: of how many places of windows the gradient of a first entry is made. */
static sid sums_of(struct ref_ctx *c, enum dtype dt, const struct lists *l, int64_t full)
{
	return tape_nary(c->t, SF_SUMPROD, dt, l->start, l->entry, l->n, SUMPROD_SLIDES(full));
}

static int64_t full_of(const struct slide *s) { return s->share * s->kernel[0] * s->kernel[1]; }

/* Each element of an operand has a name of its own, so that its gradient is one sum. */
static const sid *names_of(struct ref_ctx *c, const struct ref_tensor *t)
{
	return ref_copies(c, ref_ids(c, t), meta_numel(&t->meta), t->meta.dtype);
}

/* ---- forward ---- */

struct sums {
	struct lists *l;
	const sid *x, *w, *bias;
	sid one;
	const struct slide *s;
};
static void add_sum(void *data, const struct product *p)
{
	const struct sums *f = data;
	const struct slide *s = f->s;
	put_pair(f->l, p->y, p->x == PADDING ? 0 : f->x[p->x], f->w[p->w]);
	const int64_t each = s->part * s->kernel[0] * s->kernel[1];
	if (f->bias && p->w % each == each - 1)
		put_pair(f->l, p->y, f->one, f->bias[p->w / each]);
}

/* Which elements of the input lie under some window. */
static void mark_seen(void *data, const struct product *p)
{
	bool *seen = data;
	if (p->x != PADDING)
		seen[p->x] = true;
}

REFERENCE(convolution, ANEW)
{
	const struct ref_tensor *bias = c->in[A_convolution_bias];
	const struct meta *weight = meta_of(c, A_convolution_weight);
	struct slide s;
	if (!ref_not_on_cuda(c) || !read_slide(c, &s))
		return false;
	if (bias && (bias->meta.rank != 1 || bias->meta.size[0] != s.filters))
		return err_set(c->err, "Given weight of size %s, expected bias to be 1-dimensional", shape_text(c, weight->size, weight->rank));
	if (bias && bias->meta.dtype != s.dt)
		return ref_unsupported(c, "convolution of %s with a bias of %s", dtype_info[s.dt].torch, dtype_info[bias->meta.dtype].torch);
	int64_t size[MAX_RANK] = {s.samples, s.filters};
	for (int d = 0; d < s.ndim; d++)
		size[2 + d] = s.out[2 - s.ndim + d];
	struct lists l;
	if (!meta_check_sizes(size, s.rank, c->err))
		return false;
	const int64_t n = shape_numel(size, s.rank), pairs = products_of(&s) + (bias ? n : 0),
				  cells = meta_numel(meta_of(c, A_convolution_input));
	if (!begin_lists(c, &l, n, pairs + cells))
		return false;
	bool *seen = ARENA_ZNEW(c->t->arena, bool, cells);
	each_product(&s, mark_seen, seen);
	for (int64_t k = 0; k < n; k++)
		l.at[k] = (uint32_t)(2 * pairs / n);
	for (int64_t k = 0; k < cells; k++)
		l.at[0] += seen[k] ? 0 : 2;
	fix_starts(&l);
	struct sums f = {&l, names_of(c, c->in[A_convolution_input]), names_of(c, c->in[A_convolution_weight]), bias ? names_of(c, bias) : NULL,
		bias ? tape_const_f(c->t, s.dt, 1) : 0, &s};
	each_product(&s, add_sum, &f);
	for (int64_t k = 0; k < cells; k++)
		if (!seen[k])
			put_pair(&l, 0, f.x[k], 0);
	return ref_out_block(c, 0, s.dt, size, s.rank, NULL, sums_of(c, s.dt, &l, full_of(&s)));
}

/* ---- backward ---- */

struct gradients {
	struct lists *x, *w;
	const sid *grad, *input, *weight;
	bool counting;
};
static void add_gradients(void *data, const struct product *p)
{
	const struct gradients *b = data;
	if (b->counting) {
		if (b->x && p->x != PADDING)
			b->x->at[p->x] += 2;
		if (b->w)
			b->w->at[p->w] += 2;
		return;
	}
	if (b->x && p->x != PADDING)
		put_pair(b->x, p->x, b->grad[p->y], b->weight[p->w]);
	if (b->w)
		put_pair(b->w, p->w, p->x == PADDING ? 0 : b->input[p->x], b->grad[p->y]);
}

static bool bias_gradient(struct ref_ctx *c, const struct slide *s, const sid *grad)
{
	const int64_t plane = s->out[0] * s->out[1], len = s->samples * plane;
	sid *rows = tape_ids(c->t, s->filters * len);
	for (int64_t f = 0; f < s->filters; f++)
		for (int64_t k = 0; k < len; k++)
			rows[f * len + k] = grad[(k / plane * s->filters + f) * plane + k % plane];
	return ref_out_block(c, 2, s->dt, &s->filters, 1, NULL, tape_rows(c->t, SF_SUM, s->dt, rows, s->filters, len, 0));
}

/* Result k, of m's sizes. */
static bool gradient(struct ref_ctx *c, const struct slide *s, int k, const struct meta *m, const struct lists *l)
{
	c->t->result = k;
	return ref_out_block(c, k, s->dt, m->size, m->rank, NULL, sums_of(c, s->dt, l, 0));
}

/* A weight that is infinite or NaN, or may be; 0: there is none. */
static sid odd_weight(const struct ref_ctx *c, const sid *weight, int64_t n)
{
	for (int64_t k = 0; k < n && !c->t->over; k++)
		if (tape_val(c->t, weight[k])->flags & NUM_SPECIAL)
			return weight[k];
	return 0;
}

/* oneDNN's gradient of an input that not all places of its windows have a cotangent for multiplies the others' weights by 0: such a list
 * gets one more pair, of the padding and an odd weight. `put`: it was counted before. */
static void pair_odd(const struct slide *s, struct lists *x, sid odd, bool put)
{
	const uint32_t full = (uint32_t)(2 * full_of(s));
	for (int64_t k = 0; k < x->n && odd; k++) {
		if (!put && x->at[k] < full)
			x->at[k] += 2;
		else if (put && x->at[k] < x->start[k + 1])
			put_pair(x, k, 0, odd);
	}
}

REFERENCE(convolution_backward, ANEW)
{
	const struct meta *grad = meta_of(c, A_convolution_backward_grad_output), *input = meta_of(c, A_convolution_backward_input),
					  *weight = meta_of(c, A_convolution_backward_weight);
	const bool *asked = c->n->arg[A_convolution_backward_output_mask].bools;
	struct slide s;
	struct lists x, w;
	if (!ref_not_on_cuda(c) || !read_slide(c, &s))
		return false;
	int64_t size[MAX_RANK] = {s.samples, s.filters};
	for (int d = 0; d < s.ndim; d++)
		size[2 + d] = s.out[2 - s.ndim + d];
	if (!shape_equal(grad->size, grad->rank, size, s.rank))
		return ref_unsupported(c, "grad_output of size %s for a result of size %s: not every kernel looks at it",
			shape_text(c, grad->size, grad->rank), shape_text(c, size, s.rank));
	if (grad->dtype != s.dt)
		return err_set(c->err, "convolution_backward of %s and %s", dtype_info[grad->dtype].torch, dtype_info[s.dt].torch);
	if (asked[2] && !asked[1])
		return ref_unsupported(c, "convolution_backward: oneDNN gives the weight's gradient with the bias', asked for or not");
	c->t->result = TAPE_EVERY;
	struct gradients b = {.counting = true,
		.grad = names_of(c, c->in[A_convolution_backward_grad_output]),
		.input = names_of(c, c->in[A_convolution_backward_input]),
		.weight = names_of(c, c->in[A_convolution_backward_weight])};
	if (asked[0] && !begin_lists(c, b.x = &x, meta_numel(input), products_of(&s) + meta_numel(input)))
		return false;
	if (asked[1] && !begin_lists(c, b.w = &w, meta_numel(weight), products_of(&s)))
		return false;
	const sid odd = b.x ? odd_weight(c, b.weight, meta_numel(weight)) : 0;
	each_product(&s, add_gradients, &b);
	if (b.x) {
		pair_odd(&s, &x, odd, false);
		fix_starts(&x);
	}
	if (b.w)
		fix_starts(&w);
	b.counting = false;
	each_product(&s, add_gradients, &b);
	if (b.x)
		pair_odd(&s, &x, odd, true);
	if (!(asked[0] ? gradient(c, &s, 0, input, &x) : ref_out_none(c, 0))
		|| !(asked[1] ? gradient(c, &s, 1, weight, &w) : ref_out_none(c, 1)))
		return false;
	c->t->result = 2;
	return asked[2] ? bias_gradient(c, &s, b.grad) : ref_out_none(c, 2);
}
