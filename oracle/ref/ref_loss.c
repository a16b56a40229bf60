/* ref_loss.c: the negative log likelihood of labels, and what its backward sends to the classes. Its kernels compute, and add up, in the
 * tensor's dtype: each step is a scalar of it (LossNLL.cpp; measured on 2.11.0: 300 bf16 weights that sum to 306 gave 304). */
#include "oracle/num/licence.h"
#include "oracle/ref/ref_impl.h"
#include "oracle/ref/row_rules.h"
#include "oracle/ref/shape.h"

enum { NONE, MEAN, SUM };

/* Samples that count, and the class that each of them names. */
struct samples {
	enum dtype dt;
	int64_t n, classes; /* n: with those that do not count */
	int64_t count;
	int64_t *sample, *label; /* [count] */
	bool each;               /* a loss per sample */
	int64_t reduction;
};

static bool check_sizes(struct ref_ctx *c, const struct meta *self, const struct meta *target, bool forward)
{
	if (self->rank < 1 || self->rank > 2)
		return err_set(c->err, "input tensor should be 1D or 2D");
	if (target->rank > 1)
		return err_set(c->err, "0D or 1D target tensor expected, multi-target not supported");
	bool same = target->rank == 1 && target->size[0] == self->size[0];
	if (forward && self->rank == 1 && target->rank == 1 && target->size[0] != 1)
		return err_set(c->err, "For 1D input, 1D target must have size 1, but got target size: %lld", (long long)target->size[0]);
	/* The backward part compares the sizes of a single sample, too. */
	bool matters = forward ? self->rank == 2 : self->rank == 2 || target->rank == 1;
	if (matters && !same)
		return err_set(c->err, "size mismatch (got input: %s, target: %s)", shape_text(c, self->size, self->rank),
			shape_text(c, target->size, target->rank));
	return true;
}

static bool check_weight(struct ref_ctx *c, const struct meta *self, const struct meta *weight)
{
	int64_t classes = self->size[self->rank - 1];
	if (weight && (weight->rank != 1 || weight->size[0] != classes))
		return err_set(c->err,
			"weight tensor should be defined either for all %lld classes or no classes but got weight tensor of shape: %s",
			(long long)classes, shape_text(c, weight->size, weight->rank));
	return true;
}

static bool same_dtype(struct ref_ctx *c, const struct meta *self, const struct meta *m)
{
	return m->dtype == self->dtype
		|| err_set(c->err, "expected scalar type %s but found %s", dtype_info[self->dtype].c10, dtype_info[m->dtype].c10);
}

static const struct ref_tensor *operand(const struct ref_ctx *c, int name) { return c->in[shape_param(c, name)]; }

/* PyTorch's kernel for a loss of each sample trusts the labels in backward, and writes outside of its result and reads outside of weight
 * (LossNLL.cpp, nll_loss_backward_out_frame; corpus/regressions/nll_loss_backward_of_no_class.prog). */
static bool no_class(struct ref_ctx *c, const struct samples *s, int64_t label, bool forward)
{
	if (s->each && !forward)
		return ref_unsupported(c, "nll_loss_backward of a label that names no class, with reduction 0: PyTorch does not look");
	return err_set(c->err, "Target %lld is out of bounds.", (long long)label);
}

/* The labels, read: all that do not name `ignored` must name a class. */
static bool read_labels(struct ref_ctx *c, struct samples *s, const struct ref_tensor *target, bool forward)
{
	int64_t ignored = ref_arg_int(c, shape_param(c, N_ignore_index));
	const int64_t *label = ref_ints(c, target);
	s->n = meta_numel(&target->meta);
	s->sample = ARENA_NEW(c->t->arena, int64_t, s->n + 1);
	s->label = ARENA_NEW(c->t->arena, int64_t, s->n + 1);
	if (!label)
		return false;
	for (int64_t k = 0; k < s->n; k++) {
		if (label[k] == ignored)
			continue;
		if (label[k] < 0 || label[k] >= s->classes)
			return no_class(c, s, label[k], forward);
		s->sample[s->count] = k;
		s->label[s->count++] = label[k];
	}
	return true;
}

static bool check_operands(struct ref_ctx *c, struct samples *s, bool forward)
{
	const struct meta *self = &operand(c, N_self)->meta, *target = &operand(c, N_target)->meta;
	const struct ref_tensor *weight = operand(c, N_weight);
	if (!check_sizes(c, self, target, forward) || !check_weight(c, self, weight ? &weight->meta : NULL))
		return false;
	*s = (struct samples){
		.dt = self->dtype, .classes = self->size[self->rank - 1], .reduction = ref_arg_int(c, shape_param(c, N_reduction))};
	s->each = self->rank == 2 && s->reduction == NONE;
	if (s->classes == 0)
		return ref_unsupported(c, "a loss without classes");
	if (!dtype_is_float(self->dtype))
		return err_set(c->err, "\"%s\" not implemented for '%s'", forward ? "nll_loss_out_frame" : "nll_loss_backward_out_frame",
			dtype_info[self->dtype].c10);
	if (s->reduction < NONE || s->reduction > SUM)
		return ref_unsupported(c, "reduction %lld, which PyTorch takes for a sum", (long long)s->reduction);
	if (weight && !same_dtype(c, self, &weight->meta))
		return false;
	if (target->dtype == DT_I64 || target->dtype == DT_U8)
		return true;
	return meta_numel(target)
		? err_set(c->err, "expected scalar type Long but found %s", dtype_info[target->dtype].c10)
		: ref_unsupported(c, "labels of %s without samples, at which PyTorch does not look", dtype_info[target->dtype].name);
}

static sid zero(struct ref_ctx *c, enum dtype dt) { return tape_const_f(c->t, dt, 0); }

/* What the other classes get: eager's +0; decomposed, a product with 0, of either sign. */
static sid nothing(struct ref_ctx *c, enum dtype dt) { return tape_sets(c->t, dt, &(const struct num){.dtype = (uint8_t)dt}, 1); }

/* -x * weight[label] for each sample that counts. */
static const sid *weighed(struct ref_ctx *c, const struct samples *s, const sid *x, const sid *weight)
{
	sid *minus = ref_ids_block(c, tape_map1(c->t, SF_NEG, s->dt, x, s->count), s->count);
	return weight ? ref_ids_block(c, tape_map2(c->t, SF_MUL, s->dt, minus, weight, s->count), s->count) : minus;
}

/* The weight of each sample that counts; NULL: all are 1. */
static const sid *weights_of(struct ref_ctx *c, const struct samples *s)
{
	const struct ref_tensor *weight = operand(c, N_weight);
	if (!weight)
		return NULL;
	const sid *of_class = ref_ids(c, weight);
	sid *w = tape_ids(c->t, s->count);
	for (int64_t k = 0; k < s->count; k++)
		w[k] = of_class[s->label[k]];
	return w;
}

static sid total_of(struct ref_ctx *c, const struct samples *s, const sid *weight)
{
	return weight ? tape_rows(c->t, SF_SUM, s->dt, weight, 1, s->count, 0) : tape_const_f(c->t, s->dt, (double)s->count);
}

/* Whether a mean is one sample's that has no batch, and the target does not average it (LOSS_ALONE). */
static bool is_alone(struct ref_ctx *c, const struct samples *s)
{
	return s->reduction == MEAN && operand(c, N_self)->meta.rank == 1 && c->t->lic->semantics.loss_of_one == LOSS_ALONE;
}

/* -x, NaN if the weight is 0; so is its derivative. */
static sid alone(struct ref_ctx *c, const struct samples *s, const sid *x, const sid *weight)
{
	sid minus = tape_map1(c->t, SF_NEG, s->dt, x, 1);
	if (!weight)
		return minus;
	const sid *naught = ref_ids_repeat(c, zero(c, s->dt), 1), *nan = ref_ids_repeat(c, tape_const_f(c->t, s->dt, NAN), 1);
	const sid *one = ref_ids_repeat(c, tape_const_f(c->t, s->dt, 1), 1);
	const sid *none = ref_ids_block(c, tape_map2(c->t, SF_EQ, DT_B8, weight, naught, 1), 1);
	const sid *factor = ref_ids_block(c, tape_map3(c->t, SF_SELECT, s->dt, none, nan, one, 1), 1);
	return tape_map2(c->t, SF_MUL, s->dt, ref_ids_repeat(c, minus, 1), factor, 1);
}

/* nll_loss_forward_reduce_cuda_kernel_2d of Loss.cu adds halves in f32 and divides before it rounds. */
static sid unrounded_mean(struct ref_ctx *c, const struct samples *s, const sid *loss, const sid *weight)
{
	struct samples wide = *s;
	wide.dt = DT_F32;
	sid sum = tape_rows(c->t, SF_SUM, DT_F32, ref_cast(c, loss, s->count, DT_F32), 1, s->count, 0);
	sid total = total_of(c, &wide, weight ? ref_cast(c, weight, s->count, DT_F32) : NULL);
	sid mean = tape_map2(c->t, SF_DIV, DT_F32, ref_ids_repeat(c, sum, 1), ref_ids_repeat(c, total, 1), 1);
	return *ref_cast(c, ref_ids_repeat(c, mean, 1), 1, s->dt);
}

/* The mean of losses: sum / total. x: of the samples that count. */
static sid mean_of(struct ref_ctx *c, const struct samples *s, const sid *x, const sid *loss, const sid *weight, sid sum, sid total)
{
	if (!s->count && operand(c, N_self)->meta.rank == 1 && c->t->lic->semantics.loss_of_one != LOSS_AVERAGED)
		return zero(c, s->dt);
	sid mean = tape_map2(c->t, SF_DIV, s->dt, ref_ids_repeat(c, sum, 1), ref_ids_repeat(c, total, 1), 1), value;
	if (s->count && is_alone(c, s))
		value = alone(c, s, x, weight);
	else if (c->t->lic->semantics.loss_of_one == LOSS_ALONE && dtype_is_narrow(s->dt))
		value = unrounded_mean(c, s, loss, weight);
	else
		return mean;
	/* its derivative is the rounded mean's */
	return tape_map2(c->t, SF_GRAFT, s->dt, ref_ids_repeat(c, value, 1), ref_ids_repeat(c, mean, 1), 1);
}

REFERENCE(nll_loss_forward, ANEW)
{
	const struct ref_tensor *self = c->in[A_nll_loss_self];
	struct samples s;
	if (!check_operands(c, &s, true) || !read_labels(c, &s, c->in[A_nll_loss_target], true))
		return false;
	const sid *ids = ref_ids(c, self), *weight = weights_of(c, &s);
	sid *x = tape_ids(c->t, s.count);
	for (int64_t k = 0; k < s.count; k++)
		x[k] = ids[s.sample[k] * s.classes + s.label[k]];
	const sid *loss = weighed(c, &s, x, weight);
	if (s.each) {
		sid *out = ref_out(c, 0, s.dt, &s.n, 1, NULL), none = zero(c, s.dt);
		for (int64_t k = 0; out && k < s.n; k++)
			out[k] = none;
		for (int64_t k = 0; out && k < s.count; k++)
			out[s.sample[k]] = loss[k];
		return out && ref_out_ids(c, 1, s.dt, NULL, 0, NULL, &none);
	}
	sid total = total_of(c, &s, weight), sum = tape_rows(c->t, SF_SUM, s.dt, loss, 1, s.count, 0);
	sid result = s.reduction == MEAN ? mean_of(c, &s, x, loss, weight, sum, total) : sum;
	return ref_out_ids(c, 0, s.dt, NULL, 0, NULL, &result) && ref_out_ids(c, 1, s.dt, NULL, 0, NULL, &total);
}

/* grad_output of each sample that counts, of a mean divided by `total`, once. */
static const sid *slopes(struct ref_ctx *c, const struct samples *s, const sid *g, const sid *total)
{
	sid *out = tape_ids(c->t, s->count), one = g[0];
	if (s->reduction == MEAN && !s->each)
		one = tape_map2(c->t, SF_DIV, s->dt, g, total, 1);
	for (int64_t k = 0; k < s->count; k++)
		out[k] = s->each ? g[s->sample[k]] : one;
	return out;
}

/* The slope of each sample that counts. Its derivative by grad_output is a loss of its own, and divides by the weights that it finds
 * itself, whatever total_weight says (derivatives.yaml). */
static const sid *sent(struct ref_ctx *c, const struct samples *s)
{
	const sid *weight = weights_of(c, s);
	const sid *g = ref_ids(c, c->in[A_nll_loss_backward_grad_output]), *total = ref_ids(c, c->in[A_nll_loss_backward_total_weight]);
	if (s->reduction != MEAN || !ref_has_grad(c->r, c->in[A_nll_loss_backward_grad_output]))
		return weighed(c, s, slopes(c, s, g, total), weight);
	const sid *held_back = ref_ids_block(c, tape_map1(c->t, SF_DETACH, s->dt, g, 1), 1);
	const sid *value = weighed(c, s, slopes(c, s, held_back, total), weight);
	if (is_alone(c, s))
		return ref_ids_block(c, tape_map2(c->t, SF_GRAFT, s->dt, value, ref_ids_repeat(c, alone(c, s, g, weight), 1), 1), 1);
	const sid *held = weighed(c, s, slopes(c, s, g, ref_ids_repeat(c, total_of(c, s, weight), 1)), weight);
	return ref_ids_block(c, tape_map2(c->t, SF_GRAFT, s->dt, value, held, s->count), s->count);
}

REFERENCE(nll_loss_backward, ANEW)
{
	const struct meta *self = meta_of(c, A_nll_loss_backward_self), *grad = meta_of(c, A_nll_loss_backward_grad_output);
	const struct meta *total = meta_of(c, A_nll_loss_backward_total_weight);
	struct samples s;
	if (!check_operands(c, &s, false))
		return false;
	if (s.each ? grad->rank != 1 || grad->size[0] != self->size[0] : grad->rank > 1 || meta_numel(grad) != 1)
		return err_set(c->err, "Expected a %s grad_output tensor, but got: %s", s.each ? "1-dimensional" : "single element",
			shape_text(c, grad->size, grad->rank));
	if (total->rank || meta_numel(total) != 1)
		return ref_unsupported(c, "total_weight with dimensions");
	if (!same_dtype(c, self, grad) || (!s.each && !same_dtype(c, self, total)))
		return false;
	if (!read_labels(c, &s, c->in[A_nll_loss_backward_target], false))
		return false;
	if (!s.each && s.count > 2 && dtype_is_narrow(s.dt) && ref_has_grad(c->r, c->in[A_nll_loss_backward_grad_output]))
		return ref_unsupported(c,
			"gradient of nll_loss_backward of %s by one grad_output for all samples: the order of its additions, each "
			"rounded, is not modelled; use f32",
			dtype_info[s.dt].name);
	if (!s.count && s.reduction == MEAN && ref_has_grad(c->r, c->in[A_nll_loss_backward_grad_output]))
		return ref_unsupported(c, "gradient of nll_loss_backward where no sample counts: PyTorch gives NaN, a mean of nothing");
	sid *out = shape_out_like(c, self, NULL), none = nothing(c, s.dt);
	const sid *slope = s.count ? sent(c, &s) : NULL;
	for (int64_t k = 0, n = meta_numel(self); out && k < n; k++)
		out[k] = none;
	for (int64_t k = 0; out && k < s.count; k++)
		out[s.sample[k] * s.classes + s.label[k]] = slope[k];
	return out != NULL;
}

/* ---- losses of pairs: mse_loss, huber_loss, smooth_l1_loss ---- */

/* Sizes and dtypes. */
static bool pairs_checked(struct ref_ctx *c, const struct meta *self, const struct meta *target)
{
	const int64_t reduction = ref_arg_int(c, shape_param(c, N_reduction));
	if (self->dtype != target->dtype || !meta_same_sizes(self, target))
		return ref_unsupported(c, "%s of operands that differ in dtype or sizes", op_info[c->n->op].name);
	if (!dtype_is_float(self->dtype))
		return err_set(c->err, "%s is not implemented for integers", op_info[c->n->op].name);
	if (reduction < NONE || reduction > SUM)
		return ref_unsupported(c, "reduction %lld, which PyTorch refuses or takes for a sum", (long long)reduction);
	return true;
}

/* What its loss is divided by. */
static double share_of(struct ref_ctx *c, const struct meta *self)
{
	return ref_arg_int(c, shape_param(c, N_reduction)) == MEAN ? (double)meta_numel(self) : 1;
}

/* Operands without a history: or 0 times an infinite difference comes back. */
static void held_back(struct ref_ctx *c, const sid *out[2], const sid *const x[3], enum dtype dt, int64_t n)
{
	for (int k = 0; k < 2; k++)
		out[k] = ref_ids_block(c, tape_map1(c->t, SF_DETACH, dt, x[k], n), n);
}

/* stride: of a loss of each pair; value: what it loses, rounded; held: the share of each in the result, whose derivative is one kernel that
 * knows how many there are. Their sum or mean is an operator of the dtype. */
static bool reduced(struct ref_ctx *c, const struct meta *self, const int64_t *stride, const sid *value, const sid *held)
{
	const int64_t reduction = ref_arg_int(c, shape_param(c, N_reduction)), n = meta_numel(self);
	const enum dtype dt = self->dtype, in = dtype_compute(dt);
	if (reduction == NONE)
		return ref_out_block(c, 0, dt, self->size, self->rank, stride, tape_map2(c->t, SF_GRAFT, dt, value, held, n));
	sid total = tape_rows(c->t, SF_SUM, in, ref_cast(c, value, n, in), 1, n, 0), shares = tape_rows(c->t, SF_SUM, dt, held, 1, n, 0);
	if (reduction == MEAN)
		total = tape_map2(c->t, SF_DIV, dt, ref_ids_repeat(c, total, 1), ref_ids_repeat(c, tape_const_f(c->t, in, (double)n), 1), 1);
	else if (in != dt)
		total = tape_map1(c->t, SF_CAST, dt, ref_ids_repeat(c, total, 1), 1);
	return ref_out_block(
		c, 0, dt, NULL, 0, NULL, tape_map2(c->t, SF_GRAFT, dt, ref_ids_repeat(c, total, 1), ref_ids_repeat(c, shares, 1), 1));
}

/* A difference and its square are operators of the dtype. */
REFERENCE(mse_loss, ANEW)
{
	const struct meta *self = meta_of(c, A_mse_loss_self), *target = meta_of(c, A_mse_loss_target);
	const struct meta op[2] = {*self, *target};
	const int64_t n = meta_numel(self);
	const enum dtype dt = self->dtype;
	int64_t stride[MAX_RANK];
	if (!pairs_checked(c, self, target))
		return false;
	shape_iterator(stride, self->size, self->rank, op, 2);
	const double scalar[FORMULA_SCALARS] = {share_of(c, self)};
	const sid *const x[3] = {ref_ids(c, c->in[A_mse_loss_self]), ref_ids(c, c->in[A_mse_loss_target])}, *fixed[2];
	held_back(c, fixed, x, dt, n);
	const sid *d = ref_ids_block(c, tape_map2(c->t, SF_SUB, dt, fixed[0], fixed[1], n), n);
	const sid *value = ref_ids_block(c, tape_map2(c->t, SF_MUL, dt, d, d, n), n);
	return reduced(c, self, stride, value, ref_ids_block(c, tape_map(c->t, SF_SQUARED_DISTANCE, dt, x, n, scalar), n));
}

/* The numbers of a loss f that bends at one: it, how many losses there are, and the float on its other side. */
static void bent_at(double scalar[FORMULA_SCALARS], enum dtype dt, double bend, double count)
{
	const float near = (float)bend;
	const float beyond = (double)near == bend ? near : nextafterf(near, (double)near < bend ? INFINITY : -INFINITY);
	const double numbers[FORMULA_SCALARS] = {bend, count, dt == DT_F64 ? bend : (double)beyond};
	memcpy(scalar, numbers, sizeof numbers);
}

/* huber_loss and smooth_l1_loss: f of each pair is one kernel. */
static bool bent_loss(struct ref_ctx *c, enum sf f, double bend, const int64_t *stride)
{
	const struct ref_tensor *a = operand(c, N_self), *b = operand(c, N_target);
	const int64_t n = meta_numel(&a->meta);
	const enum dtype dt = a->meta.dtype;
	double each[FORMULA_SCALARS], share[FORMULA_SCALARS];
	bent_at(each, dt, bend, 1);
	bent_at(share, dt, bend, share_of(c, &a->meta));
	const sid *const x[3] = {ref_ids(c, a), ref_ids(c, b)}, *fixed[3] = {0};
	held_back(c, fixed, x, dt, n);
	const sid *value = ref_ids_block(c, tape_map(c->t, f, dt, fixed, n, each), n);
	return reduced(c, &a->meta, stride, value, ref_ids_block(c, tape_map(c->t, f, dt, x, n, share), n));
}

/* PyTorch makes its result like self. */
REFERENCE(huber_loss, ANEW)
{
	const struct meta *self = meta_of(c, A_huber_loss_self), *target = meta_of(c, A_huber_loss_target);
	const double delta = c->n->arg[A_huber_loss_delta].scalar.f;
	int64_t stride[MAX_RANK];
	if (!(delta > 0))
		return err_set(c->err, "huber_loss does not support non-positive values for delta.");
	if (!ref_not_on_cuda(c) || !pairs_checked(c, self, target))
		return false;
	shape_strides_like(stride, self);
	return bent_loss(c, SF_HUBER, delta, stride);
}

REFERENCE(smooth_l1_loss, ANEW)
{
	const struct meta *self = meta_of(c, A_smooth_l1_loss_self), *target = meta_of(c, A_smooth_l1_loss_target);
	const struct meta op[2] = {*self, *target};
	const double beta = c->n->arg[A_smooth_l1_loss_beta].scalar.f;
	int64_t stride[MAX_RANK];
	if (!(beta >= 0))
		return err_set(c->err, "smooth_l1_loss does not support negative values for beta.");
	if (!ref_not_on_cuda(c) || !pairs_checked(c, self, target))
		return false;
	shape_iterator(stride, self->size, self->rank, op, 2);
	return bent_loss(c, SF_SMOOTH_L1, beta, stride);
}

/* What arrives at self of a loss whose backward is f of self, target and what arrives at the loss. */
static bool slopes_of_pairs(struct ref_ctx *c, enum sf f, const double scalar[FORMULA_SCALARS])
{
	const struct ref_tensor *a = operand(c, N_self), *b = operand(c, N_target), *arriving = operand(c, N_grad_output);
	const int64_t n = meta_numel(&a->meta);
	int64_t size[MAX_RANK];
	int rank = a->meta.rank;
	memcpy(size, a->meta.size, sizeof size);
	if (!shape_broadcast(c, size, &rank, &arriving->meta))
		return false;
	if (arriving->meta.dtype != a->meta.dtype)
		return ref_unsupported(c, "%s of two dtypes: some refuse, some compute", op_info[c->n->op].name);
	if (rank != a->meta.rank || shape_numel(size, rank) != n)
		return ref_unsupported(c, "%s of a gradient that does not broadcast to self", op_info[c->n->op].name);
	const sid *g = shape_expand_ids(c, ref_ids(c, arriving), &arriving->meta, size, rank);
	const sid *const x[3] = {ref_ids(c, a), ref_ids(c, b), g};
	return ref_out_block(c, 0, a->meta.dtype, size, rank, NULL, tape_map(c->t, f, a->meta.dtype, x, n, scalar));
}

REFERENCE(mse_loss_backward, ANEW)
{
	const struct meta *self = meta_of(c, A_mse_loss_backward_self), *target = meta_of(c, A_mse_loss_backward_target);
	if (!ref_not_on_cuda(c) || !pairs_checked(c, self, target)) /* whose own gradient multiplies by 1 / n there */
		return false;
	return slopes_of_pairs(c, SF_DISTANCE_BACKWARD, (const double[FORMULA_SCALARS]){share_of(c, self)});
}

REFERENCE(huber_loss_backward, ANEW)
{
	const struct meta *self = meta_of(c, A_huber_loss_backward_self), *target = meta_of(c, A_huber_loss_backward_target);
	const double delta = c->n->arg[A_huber_loss_backward_delta].scalar.f;
	if (!ref_not_on_cuda(c) || !pairs_checked(c, self, target))
		return false;
	if (!(delta > 0))
		return ref_unsupported(c, "huber_loss_backward where delta is not positive: vectors and tails differ");
	if (ref_arg_int(c, A_huber_loss_backward_reduction) != NONE && meta_of(c, A_huber_loss_backward_grad_output)->rank)
		return ref_unsupported(c, "huber_loss_backward of a loss of all, with dimensions");
	double scalar[FORMULA_SCALARS];
	bent_at(scalar, self->dtype, delta, share_of(c, self));
	return slopes_of_pairs(c, SF_HUBER_BACKWARD, scalar);
}

REFERENCE(smooth_l1_loss_backward, ANEW)
{
	const struct meta *self = meta_of(c, A_smooth_l1_loss_backward_self), *target = meta_of(c, A_smooth_l1_loss_backward_target);
	const double beta = c->n->arg[A_smooth_l1_loss_backward_beta].scalar.f;
	if (!ref_not_on_cuda(c) || !pairs_checked(c, self, target))
		return false;
	if (!(beta >= 0))
		return ref_unsupported(c, "smooth_l1_loss_backward where beta is negative: vectors and tails differ");
	return slopes_of_pairs(c, SF_SMOOTH_L1_BACKWARD, (const double[FORMULA_SCALARS]){beta, share_of(c, self)});
}

/* ---- binary_cross_entropy_with_logits ---- */

/* Each step is an operator of the dtype: (1 - target) * self - log_sigmoid(self), the latter times (pos_weight - 1) * target + 1, then a
 * weight. */
REFERENCE(bce_with_logits, ANEW)
{
	const struct meta *self = meta_of(c, A_bce_with_logits_self), *target = meta_of(c, A_bce_with_logits_target);
	const int64_t n = meta_numel(self);
	const enum dtype dt = self->dtype;
	const sid *weight[2] = {0};
	int64_t stride[MAX_RANK];
	if (!ref_not_on_cuda(c) || !pairs_checked(c, self, target))
		return false;
	for (int k = A_bce_with_logits_weight; k <= A_bce_with_logits_pos_weight; k++) {
		const struct ref_tensor *w = c->in[k];
		if (!w)
			continue;
		if (w->meta.dtype != dt || !shape_expands(&w->meta, self->size, self->rank))
			return ref_unsupported(c, "a weight of another dtype, or that does not broadcast to self");
		weight[k - A_bce_with_logits_weight] = shape_expand_ids(c, ref_ids(c, w), &w->meta, self->size, self->rank);
	}
	if (c->grad && weight[0] && weight[1])
		return ref_unsupported(c, "gradient of a loss with both weights: its steps are not modelled");
	if (weight[1] && dtype_is_narrow(dt) && ref_has_grad(c->r, c->in[A_bce_with_logits_target]))
		return ref_unsupported(c, "gradient by target of a loss of halves with pos_weight: its steps are not modelled");
	shape_strides_like(stride, target);
	const double scalar[FORMULA_SCALARS] = {share_of(c, self)};
	const enum sf f = weight[0] ? SF_BCE_WEIGHED : weight[1] ? SF_BCE_POS_WEIGHED : SF_BCE_WITH_LOGITS;
	const sid *const x[3] = {
		ref_ids(c, c->in[A_bce_with_logits_self]), ref_ids(c, c->in[A_bce_with_logits_target]), weight[weight[1] != NULL]};
	const sid *fixed[2];
	held_back(c, fixed, x, dt, n);
	const sid *one = ref_ids_repeat(c, tape_const_f(c->t, dt, 1), n);
#define STEP(f, a, b) ref_ids_block(c, tape_map2(c->t, f, dt, a, b, n), n)
	const sid *log = ref_ids_block(c, tape_map(c->t, SF_LOG_SIGMOID, dt, (const sid *const[3]){fixed[0]}, n, NULL), n);
	if (weight[1])
		log = STEP(SF_MUL, log, STEP(SF_ADD, STEP(SF_MUL, STEP(SF_SUB, weight[1], one), fixed[1]), one));
	const sid *value = STEP(SF_SUB, STEP(SF_MUL, STEP(SF_SUB, one, fixed[1]), fixed[0]), log);
	if (weight[0])
		value = STEP(SF_MUL, value, weight[0]);
#undef STEP
	return reduced(c, self, stride, value, ref_ids_block(c, tape_map(c->t, f, dt, x, n, scalar), n));
}
