/* ref_group_norm.c: group normalisation: moments of the groups of a sample's channels, of which PyTorch's kernels make one factor and one
 * shift for each channel, so that a result is x * factor + shift. Backward, sums over a channel's elements of g * x and of g come first,
 * then what weight and moments make of them: the tape has the same steps. All is computed in f32 for halves. */
#include "generated/op_id.h"
#include "oracle/ref/ref_impl.h"
#include "oracle/ref/row_rules.h"
#include "oracle/ref/shape.h"

struct groups {
	enum dtype dt, in, kept;                /* of the elements; computed in; of the moments */
	int64_t samples, channels, each, group; /* each: elements of a channel */
	int64_t n, rows, len;                   /* elements; groups of all samples; elements of a group */
};

static int64_t number(const struct ref_ctx *c, int name) { return ref_arg_int(c, op_arg(c->n->op, name)); }

/* ---- what is refused ---- */

static bool check_groups(struct ref_ctx *c, struct groups *r)
{
	const struct meta *input = &ref_operand(c, N_input)->meta;
	*r = (struct groups){.dt = input->dtype,
		.in = dtype_compute(input->dtype),
		.kept = input->dtype,
		.samples = number(c, N_N),
		.channels = number(c, N_C),
		.each = number(c, N_HxW),
		.group = number(c, N_group),
		.n = meta_numel(input)};
	if (r->channels < 1 || r->each < 1 || r->samples < 0)
		return ref_unsupported(c, "channels without elements, which PyTorch 2.15 refuses");
	if (r->group < 1)
		return err_set(c->err, "Expected num groups to be greater than 0, got %lld", (long long)r->group);
	if (r->channels % r->group)
		return err_set(c->err,
			"Expected number of channels in input to be divisible by num_groups, but got input of shape %s and num_groups=%lld",
			shape_text(c, input->size, input->rank), (long long)r->group);
	for (int k = 0; k < 2; k++) {
		const struct ref_tensor *w = ref_operand(c, k ? N_bias : N_weight);
		if (w && !shape_equal(w->meta.size, w->meta.rank, &r->channels, 1))
			return err_set(c->err, "Expected %s to be a vector of size equal to the number of channels in input", k ? "bias" : "weight");
	}
	return true;
}

static bool check_layout(struct ref_ctx *c, const struct meta *m, const char *name)
{
	if (shape_format(m) != 0)
		return ref_unsupported(c, "%s with channels last, for which PyTorch has other kernels", name);
	return layout_is_contiguous(m) || ref_unsupported(c, "%s that is not contiguous, which PyTorch 2.11 refuses", name);
}

/* Parameters have the dtype of the elements, or all of them f32 beside halves. (Backward: check_moments.) */
static bool check_dtypes(struct ref_ctx *c, struct groups *r, const char *kernel)
{
	const struct ref_tensor *pair[2] = {ref_operand(c, N_weight), ref_operand(c, N_bias)}, *first = pair[0] ? pair[0] : pair[1];
	const bool forward = c->n->op == OP_native_group_norm;
	r->kept = first && forward ? first->meta.dtype : r->dt;
	if (r->kept != r->dt && (r->kept != DT_F32 || (pair[1] && pair[1]->meta.dtype != DT_F32)))
		return err_set(c->err, "mixed dtype (CPU): expect parameter to have scalar type of Float");
	if (r->kept != r->dt && r->in == r->dt)
		return err_set(c->err, "mixed dtype (CPU): all inputs must share same datatype.");
	if (!dtype_is_float(r->dt) || dtype_info[r->dt].rows != DR_FULL)
		return err_set(c->err, "\"%s\" not implemented for '%s'", kernel, dtype_info[r->dt].c10);
	return !forward || !pair[1] || pair[1]->meta.dtype == r->kept
		|| err_set(c->err, "expected scalar type %s but found %s", dtype_info[r->kept].c10, dtype_info[pair[1]->meta.dtype].c10);
}

static bool read_groups(struct ref_ctx *c, struct groups *r, const char *kernel)
{
	const struct meta *input = &ref_operand(c, N_input)->meta;
	if (!check_groups(c, r))
		return false;
	if (r->samples && r->n != r->samples * r->channels * r->each)
		return err_set(c->err, "Expected X.numel() == N * C * HxW to be true, but got false.");
	if (input->rank < 2 || input->size[0] != r->samples || input->size[1] != r->channels || r->n != r->samples * r->channels * r->each)
		return ref_unsupported(c, "N, C and HxW that are not input's sizes");
	for (int k = 0; k < 2; k++) {
		const struct ref_tensor *w = ref_operand(c, k ? N_bias : N_weight);
		if (w && !layout_is_contiguous(&w->meta))
			return ref_unsupported(c, "a weight or bias that is not contiguous, of which PyTorch 2.11 reads other memory");
	}
	r->rows = r->samples * r->group;
	r->len = r->channels / r->group * r->each;
	return check_layout(c, input, "input") && check_dtypes(c, r, kernel);
}

/* ---- steps ---- */

struct map {
	struct ref_ctx *c;
	enum dtype dt; /* computed in */
	int64_t n;
};
static const sid *map1(const struct map *m, enum sf f, const sid *a)
{
	return ref_ids_block(m->c, tape_map1(m->c->t, f, m->dt, a, m->n), m->n);
}
static const sid *map2(const struct map *m, enum sf f, const sid *a, const sid *b)
{
	return ref_ids_block(m->c, tape_map2(m->c->t, f, m->dt, a, b, m->n), m->n);
}

/* n scalars that stand in `of` every `each` scalars. */
static const sid *spread(struct ref_ctx *c, const sid *of, int64_t n, int64_t each)
{
	sid *out = tape_ids(c->t, n);
	for (int64_t k = 0; k < n; k++)
		out[k] = of[k / each];
	return out;
}

/* A number for each channel, as one for each channel of each sample. */
static const sid *each_sample(struct ref_ctx *c, const struct groups *r, const sid *of)
{
	const int64_t n = r->samples * r->channels;
	sid *out = tape_ids(c->t, n);
	for (int64_t k = 0; k < n; k++)
		out[k] = of[k % r->channels];
	return out;
}

static const sid *computed(struct ref_ctx *c, const struct groups *r, const struct ref_tensor *t)
{
	return ref_cast(c, ref_ids(c, t), meta_numel(&t->meta), r->in);
}

/* ---- forward ---- */

/* What a channel's factor and shift are made of: of the program, or detached. */
struct parts {
	const sid *x, *mean, *rstd; /* [n], [rows], [rows] */
	const sid *weight, *bias;   /* [channels]; NULL: none */
};

static const sid *detached(struct ref_ctx *c, const struct groups *r, const sid *ids, int64_t n)
{
	return ids ? map1(&(struct map){c, r->in, n}, SF_DETACH, ids) : NULL;
}

/* x * factor + shift, of channels' moments. */
static const sid *normalized(struct ref_ctx *c, const struct groups *r, const struct parts *of)
{
	const int64_t channels = r->samples * r->channels, each = r->channels / r->group;
	const struct map channel = {c, r->in, channels}, element = {c, r->in, r->n};
	const sid *factor = spread(c, of->rstd, channels, each);
	if (of->weight)
		factor = map2(&channel, SF_MUL, factor, each_sample(c, r, of->weight));
	const sid *product = map2(&channel, SF_MUL, factor, spread(c, of->mean, channels, each));
	const sid *shift = of->bias ? map2(&channel, SF_SUB, each_sample(c, r, of->bias), product) : map1(&channel, SF_NEG, product);
	return map2(&element, SF_ADD, map2(&element, SF_MUL, of->x, spread(c, factor, r->n, r->each)), spread(c, shift, r->n, r->each));
}

/* A function of rows, of which a weight for each channel makes what each element is multiplied by or gets. */
static const sid *weighed(
	struct ref_ctx *c, const struct groups *r, enum sf f, const sid *x, const sid *weight, const double eps[FORMULA_SCALARS])
{
	const int64_t channels = r->samples * r->channels;
	const sid *op[3] = {x}, *row = ref_ids_block(c, tape_formula(c->t, f, r->in, op, r->rows, r->len, eps), r->rows);
	const sid *channel = spread(c, row, channels, r->channels / r->group);
	if (weight)
		channel = map2(&(struct map){c, r->in, channels}, SF_MUL, channel, each_sample(c, r, weight));
	return spread(c, channel, r->n, r->each);
}

/* What input's gradient comes of. A channel's sums come first, then weights, then sums over the channels of a group. */
static const sid *input_path(
	struct ref_ctx *c, const struct groups *r, const struct parts *p, const struct parts *fixed, const double eps[FORMULA_SCALARS])
{
	const struct map element = {c, r->in, r->n}, channel = {c, r->in, r->samples * r->channels};
	const sid *factor = spread(c, fixed->rstd, channel.n, r->channels / r->group);
	factor = fixed->weight ? map2(&channel, SF_MUL, factor, each_sample(c, r, fixed->weight)) : factor;
	const sid *own = map2(&element, SF_MUL, p->x, spread(c, factor, r->n, r->each));
	const sid *slope = map2(&element, SF_MUL, fixed->x, weighed(c, r, SF_GROUP_FACTOR, p->x, fixed->weight, eps));
	return map2(&element, SF_ADD, own, map2(&element, SF_ADD, slope, weighed(c, r, SF_GROUP_SHIFT, p->x, fixed->weight, eps)));
}

/* The same of halves, whose kernel reads moments as they were stored: layer norm's steps, which multiply by weights before any sum. */
static const sid *input_path_of_halves(
	struct ref_ctx *c, const struct groups *r, const struct parts *fixed, const double eps[FORMULA_SCALARS])
{
	const sid *none = ref_ids_repeat(c, tape_const_f(c->t, r->in, 0), r->n), *one = ref_ids_repeat(c, tape_const_f(c->t, r->in, 1), r->n);
	const sid *weight = fixed->weight ? spread(c, each_sample(c, r, fixed->weight), r->n, r->each) : one;
	const sid *op[3] = {ref_ids(c, ref_operand(c, N_input)), weight, none};
	const enum sf f = r->kept == r->dt ? SF_LAYER_NORM : SF_LAYER_NORM_MIXED;
	return ref_cast(c, ref_ids_block(c, tape_formula(c->t, f, r->dt, op, r->rows, r->len, eps), r->n), r->n, r->in);
}

/* Weights of halves that overflow in a sum or in the product with it: the order matters. */
static bool order_matters(const struct ref_ctx *c, const struct groups *r, const sid *weight)
{
	for (int64_t k = 0; weight && !c->t->over && r->in != r->dt && k < r->channels; k++) {
		const struct num *w = tape_val(c->t, weight[k]);
		if (w->flags & NUM_SPECIAL || fabs(w->hi) + w->rad > 0x1p60)
			return true;
	}
	return false;
}

/* y, whose gradients are the kernel's: only the gradients of what is added to y here are anything. */
static const sid *with_gradients(struct ref_ctx *c, const struct groups *r, const sid *y, const struct parts *p, const struct parts *fixed,
	const double eps[FORMULA_SCALARS])
{
	const struct map element = {c, r->in, r->n};
	const struct parts stored = {fixed->x, ref_cast(c, ref_cast(c, fixed->mean, r->rows, r->kept), r->rows, r->in),
		ref_cast(c, ref_cast(c, fixed->rstd, r->rows, r->kept), r->rows, r->in), p->weight, p->bias};
	const sid *of_input = r->in == r->dt ? input_path(c, r, p, fixed, eps) : input_path_of_halves(c, r, fixed, eps);
	return map2(&element, SF_GRAFT, y, map2(&element, SF_ADD, of_input, normalized(c, r, &stored)));
}

static bool moment(struct ref_ctx *c, const struct groups *r, int k, const sid *ids)
{
	return ref_out_ids(c, k, r->kept, (int64_t[]){r->samples, r->group}, 2, NULL, ref_cast(c, ids, r->rows, r->kept));
}

REFERENCE(native_group_norm, ANEW)
{
	const struct ref_tensor *input = c->in[A_native_group_norm_input];
	const double eps[FORMULA_SCALARS] = {c->n->arg[A_native_group_norm_eps].scalar.f};
	struct groups r;
	if (!ref_not_on_cuda(c) || !read_groups(c, &r, "GroupNormKernelImpl"))
		return false;
	if (ref_operand(c, N_bias) && !ref_operand(c, N_weight))
		return ref_unsupported(c, "a bias without a weight, of which PyTorch 2.11 has no gradient");
	const struct ref_tensor *weight = ref_operand(c, N_weight), *bias = ref_operand(c, N_bias);
	struct parts p = {
		.x = computed(c, &r, input), .weight = weight ? computed(c, &r, weight) : NULL, .bias = bias ? computed(c, &r, bias) : NULL};
	if (c->grad && order_matters(c, &r, p.weight))
		return ref_unsupported(c, "gradients of halves by weights near infinity, where the order of the kernel's sums is not modelled");
	struct parts of = p;
	if (c->grad)
		of = (struct parts){
			.x = detached(c, &r, p.x, r.n), .weight = detached(c, &r, p.weight, r.channels), .bias = detached(c, &r, p.bias, r.channels)};
	const sid *op[3] = {of.x};
	of.mean = ref_ids_block(c, tape_formula(c->t, SF_ROW_MEAN, r.in, op, r.rows, r.len, eps), r.rows);
	of.rstd = ref_ids_block(c, tape_formula(c->t, SF_ROW_RSTD, r.in, op, r.rows, r.len, eps), r.rows);
	const sid *y = normalized(c, &r, &of);
	y = c->grad ? with_gradients(c, &r, y, &p, &of, eps) : y;
	if (!ref_out_ids(c, 0, r.dt, input->meta.size, input->meta.rank, NULL, ref_cast(c, y, r.n, r.dt)))
		return false;
	c->t->result = 1;
	if (!moment(c, &r, 1, of.mean))
		return false;
	c->t->result = 2;
	return moment(c, &r, 2, of.rstd);
}

/* ---- backward ---- */

/* What the kernel reads, in the type it computes in, and the sums of each channel of each sample. */
struct upstream {
	const sid *g, *x, *mean, *rstd, *weight; /* weight: [samples * channels]; NULL: none */
	const sid *ds, *db;                      /* of g * x, of g */
};

static const sid *sums(struct ref_ctx *c, const struct groups *r, const sid *entry, int64_t n, int64_t len)
{
	return ref_ids_block(c, tape_rows(c->t, SF_SUM, r->in, entry, n, len, 0), n);
}

/* g * factor + x * slope + shift. */
static const sid *to_input(struct ref_ctx *c, const struct groups *r, const struct upstream *b)
{
	const int64_t channels = r->samples * r->channels, each = r->channels / r->group;
	const struct map element = {c, r->in, r->n}, channel = {c, r->in, channels}, row = {c, r->in, r->rows};
	const sid *share = ref_ids_repeat(c, tape_const_f(c->t, r->in, 1 / (double)r->len), r->rows);
	const sid *s = sums(c, r, b->weight ? map2(&channel, SF_MUL, b->ds, b->weight) : b->ds, r->rows, each);
	const sid *d = sums(c, r, b->weight ? map2(&channel, SF_MUL, b->db, b->weight) : b->db, r->rows, each);
	const sid *slope = map2(&row, SF_SUB, map2(&row, SF_MUL, d, b->mean), s);
	for (int k = 0; k < 3; k++)
		slope = map2(&row, SF_MUL, slope, b->rstd);
	slope = map2(&row, SF_MUL, slope, share);
	const sid *shift = map1(
		&row, SF_NEG, map2(&row, SF_ADD, map2(&row, SF_MUL, slope, b->mean), map2(&row, SF_MUL, map2(&row, SF_MUL, d, b->rstd), share)));
	const sid *factor = spread(c, b->rstd, channels, each);
	factor = b->weight ? map2(&channel, SF_MUL, factor, b->weight) : factor;
	const sid *sum = map2(&element, SF_ADD, map2(&element, SF_MUL, b->g, spread(c, factor, r->n, r->each)),
		map2(&element, SF_MUL, b->x, spread(c, slope, r->n, r->len)));
	return map2(&element, SF_ADD, sum, spread(c, shift, r->n, r->len));
}

/* The sum over all samples of a channel's terms. */
static const sid *over_samples(struct ref_ctx *c, const struct groups *r, const sid *term)
{
	const int64_t n = r->samples * r->channels;
	sid *column = tape_ids(c->t, n);
	for (int64_t k = 0; k < n; k++)
		column[k % r->channels * r->samples + k / r->channels] = term[k];
	return sums(c, r, column, r->channels, r->samples);
}

static const sid *to_weight(struct ref_ctx *c, const struct groups *r, const struct upstream *b)
{
	const int64_t n = r->samples * r->channels, each = r->channels / r->group;
	const struct map channel = {c, r->in, n};
	const sid *centred = map2(&channel, SF_SUB, b->ds, map2(&channel, SF_MUL, b->db, spread(c, b->mean, n, each)));
	return over_samples(c, r, map2(&channel, SF_MUL, centred, spread(c, b->rstd, n, each)));
}

/* What the forward part gives has these sizes, dtypes and layouts. */
static bool check_moments(struct ref_ctx *c, struct groups *r)
{
	const struct meta *input = &ref_operand(c, N_input)->meta, *grad = &ref_operand(c, N_grad_out)->meta;
	const struct ref_tensor *weight = ref_operand(c, N_weight);
	r->kept = ref_operand(c, N_mean)->meta.dtype;
	bool fits = shape_equal(grad->size, grad->rank, input->size, input->rank) && grad->dtype == r->dt
		&& (r->kept == r->dt || (r->kept == DT_F32 && r->in != r->dt)) && (!weight || weight->meta.dtype == r->kept);
	for (int k = 0; k < 2; k++) {
		const struct meta *m = &ref_operand(c, k ? N_rstd : N_mean)->meta;
		fits =
			fits && shape_equal(m->size, m->rank, (int64_t[]){r->samples, r->group}, 2) && m->dtype == r->kept && layout_is_contiguous(m);
	}
	return fits ? check_layout(c, grad, "grad_out") : ref_unsupported(c, "operands unlike those that native_group_norm gives");
}

static bool give(struct ref_ctx *c, int k, const struct meta *m, const sid *ids)
{
	return ref_out_ids(c, k, m->dtype, m->size, m->rank, NULL, ref_cast(c, ids, meta_numel(m), m->dtype));
}

REFERENCE(native_group_norm_backward, ANEW)
{
	const struct ref_tensor *weight = ref_operand(c, N_weight), *input = ref_operand(c, N_input);
	const bool *asked = c->n->arg[A_native_group_norm_backward_output_mask].bools;
	struct groups r;
	if (!ref_not_on_cuda(c) || !read_groups(c, &r, "GroupNormBackwardKernelImpl") || !check_moments(c, &r))
		return false;
	if (!weight && (asked[1] || asked[2]))
		return ref_unsupported(c, "gradients of a weight or bias without a weight, which PyTorch 2.11 refuses");
	const int64_t channels = r.samples * r.channels;
	struct upstream b = {.g = computed(c, &r, ref_operand(c, N_grad_out)),
		.x = computed(c, &r, input),
		.mean = computed(c, &r, ref_operand(c, N_mean)),
		.rstd = computed(c, &r, ref_operand(c, N_rstd)),
		.weight = weight ? each_sample(c, &r, computed(c, &r, weight)) : NULL};
	b.ds = sums(c, &r, map2(&(struct map){c, r.in, r.n}, SF_MUL, b.g, b.x), channels, r.each);
	b.db = sums(c, &r, b.g, channels, r.each);
	return (asked[0] ? give(c, 0, &input->meta, to_input(c, &r, &b)) : ref_out_none(c, 0))
		&& (asked[1] ? give(c, 1, &weight->meta, to_weight(c, &r, &b)) : ref_out_none(c, 1))
		&& (asked[2] ? give(c, 2, &weight->meta, over_samples(c, &r, b.db)) : ref_out_none(c, 2));
}
