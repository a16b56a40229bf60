/* scatter_region.c: slice_scatter, select_scatter, diagonal_scatter: a copy of self in which a view's region is replaced by src; and
 * slice_backward and its like, zeros in whose region the gradient is put. The region is what the view operator's own shape rule says on
 * the same arguments (without src, or without the sizes of the zeros), applied to the result.
 *
 * Strides (clone_preserve_strides): a base in which a dim of size > 1 has stride 0 is cloned densely; every other base keeps its
 * strides AND storage offset, gaps included. src may have another dtype: it is converted as copy_ does. */
#include "eager/ops/move.h"
#include "eager/ops/row_rules.h"

/* Without src the arguments are the view's. */
enum { SRC = A_region_scatter_src };
_Static_assert((int)A_VIEW_self < (int)SRC, "self comes before src");
_Static_assert((int)A_slice_scatter_dim == (int)A_slice_dim + 1 && (int)A_slice_scatter_start == (int)A_slice_start + 1
		&& (int)A_slice_scatter_end == (int)A_slice_end + 1 && (int)A_slice_scatter_step == (int)A_slice_step + 1,
	"slice_scatter");
_Static_assert(
	(int)A_select_scatter_dim == (int)A_select_dim + 1 && (int)A_select_scatter_index == (int)A_select_index + 1, "select_scatter");
_Static_assert((int)A_diagonal_scatter_offset == (int)A_diagonal_offset + 1 && (int)A_diagonal_scatter_dim1 == (int)A_diagonal_dim1 + 1
		&& (int)A_diagonal_scatter_dim2 == (int)A_diagonal_dim2 + 1,
	"diagonal_scatter");
_Static_assert((int)A_region_backward_input_sizes == (int)SRC && (int)A_slice_backward_dim == (int)A_slice_scatter_dim
		&& (int)A_slice_backward_start == (int)A_slice_scatter_start && (int)A_slice_backward_end == (int)A_slice_scatter_end
		&& (int)A_slice_backward_step == (int)A_slice_scatter_step && (int)A_select_backward_dim == (int)A_select_scatter_dim
		&& (int)A_select_backward_index == (int)A_select_scatter_index && (int)A_diagonal_backward_offset == (int)A_diagonal_scatter_offset
		&& (int)A_diagonal_backward_dim1 == (int)A_diagonal_scatter_dim1 && (int)A_diagonal_backward_dim2 == (int)A_diagonal_scatter_dim2
		&& (int)A_unfold_backward_dim == (int)A_unfold_dimension + 1 && (int)A_unfold_backward_size == (int)A_unfold_size + 1
		&& (int)A_unfold_backward_step == (int)A_unfold_step + 1,
	"what the backward operators say beside input_sizes is what the views say");

/* The view `rule` of `self`, from the arguments of n without its second (src, input_sizes). */
static bool region(struct meta *out, const struct meta *self, const struct node *n, meta_fn *rule, struct err *err)
{
	struct node v = *n;
	memmove(&v.arg[SRC], &v.arg[SRC + 1], sizeof v.arg[A_region_scatter_self] * (MAX_ARGS - SRC - 1));
	struct meta_ctx c = {.n = &v, .in = {self}, .nout = 1, .err = err};
	if (!rule(&c))
		return false;
	*out = c.out[0];
	return true;
}

static bool region_meta(struct meta_ctx *c, meta_fn *rule, const char *what)
{
	const struct meta *self = c->in[A_region_scatter_self], *src = c->in[A_region_scatter_src];
	struct meta hole;
	char have[SIZES_TEXT], want[SIZES_TEXT];
	c->out[0] = *self;
	if (meta_overlaps_itself(self))
		layout_preserve(&c->out[0], self);
	if (!region(&hole, self, c->n, rule, c->err))
		return false;
	if (!meta_same_sizes(&hole, src))
		return err_set(c->err, "expected src to have a size equal to the slice of self. src size = %s, %s size = %s",
			sizes_text(have, src->size, src->rank), what, sizes_text(want, hole.size, hole.rank));
	return true;
}

static bool region_kern(struct kern_ctx *c, meta_fn *rule)
{
	struct tensor hole = c->out[0];
	CHECK(region(&hole.meta, &c->out[0].meta, c->n, rule, c->err));
	tensor_move(&c->out[0], c->in[A_region_scatter_self]);
	tensor_assign(&hole, c->in[A_region_scatter_src]);
	return true;
}

bool meta_slice_scatter(struct meta_ctx *c) { return region_meta(c, meta_slice, "slice"); }
bool kern_slice_scatter(struct kern_ctx *c) { return region_kern(c, meta_slice); }

bool meta_select_scatter(struct meta_ctx *c) { return region_meta(c, meta_select, "slice"); }
bool kern_select_scatter(struct kern_ctx *c) { return region_kern(c, meta_select); }

bool meta_diagonal_scatter(struct meta_ctx *c) { return region_meta(c, meta_diagonal, "slice"); }
bool kern_diagonal_scatter(struct kern_ctx *c) { return region_kern(c, meta_diagonal); }

/* self's cotangent has zeros in the region, src's is the region. */

void vjp_slice_scatter(struct vjp *v)
{
	int64_t dim = node_int(v->n, A_slice_scatter_dim), step = node_int(v->n, A_slice_scatter_step);
	int64_t start = build_int_of(v->n, A_slice_scatter_start);
	int64_t end = build_int_of(v->n, A_slice_scatter_end);
	if (v->want[A_slice_scatter_self]) {
		int zero = vjp_zeros(v->b, vjp_meta(v, A_slice_scatter_src));
		v->grad[A_slice_scatter_self] = emit_slice_scatter(v->b, v->g[0], zero, dim, start, end, step);
	}
	if (v->want[A_slice_scatter_src])
		v->grad[A_slice_scatter_src] = emit_slice_Tensor(v->b, v->g[0], dim, start, end, step);
}

void vjp_select_scatter(struct vjp *v)
{
	int64_t dim = node_int(v->n, A_select_scatter_dim), index = node_int(v->n, A_select_scatter_index);
	if (v->want[A_select_scatter_self]) {
		int zero = vjp_zeros(v->b, vjp_meta(v, A_select_scatter_src));
		v->grad[A_select_scatter_self] = emit_select_scatter(v->b, v->g[0], zero, dim, index);
	}
	if (v->want[A_select_scatter_src])
		v->grad[A_select_scatter_src] = emit_select_int(v->b, v->g[0], dim, index);
}

void vjp_diagonal_scatter(struct vjp *v)
{
	int64_t offset = node_int(v->n, A_diagonal_scatter_offset);
	int64_t dim1 = node_int(v->n, A_diagonal_scatter_dim1), dim2 = node_int(v->n, A_diagonal_scatter_dim2);
	if (v->want[A_diagonal_scatter_self]) {
		int zero = vjp_zeros(v->b, vjp_meta(v, A_diagonal_scatter_src));
		v->grad[A_diagonal_scatter_self] = emit_diagonal_scatter(v->b, v->g[0], zero, offset, dim1, dim2);
	}
	if (v->want[A_diagonal_scatter_src])
		v->grad[A_diagonal_scatter_src] = emit_diagonal(v->b, v->g[0], offset, dim1, dim2);
}

/* ---- the views' backward: zeros with the gradient in the region. Its own derivative is the view. Facts: FunctionsManual.cpp and
 * TensorShape.cpp (zeros, the view, copy_: the gradient may broadcast), UnfoldBackward.cpp ---------------------------------- */

enum { GRAD_OUTPUT = A_slice_backward_grad_output };
_Static_assert((int)GRAD_OUTPUT == (int)A_unfold_backward_grad_in, "the gradient comes first");

static bool zeros_meta(struct meta_ctx *c)
{
	const struct arg *sizes = &c->n->arg[A_region_backward_input_sizes];
	int64_t size[MAX_RANK];
	if (sizes->n > MAX_RANK)
		return err_limit(c->err, "rank %d exceeds the limit %d", sizes->n, MAX_RANK);
	for (int d = 0; d < sizes->n; d++) {
		size[d] = sizes->ints[d].value;
		if (size[d] < 0)
			return err_set(c->err, "zeros: Dimension size must be non-negative.");
	}
	if (!meta_check_sizes(size, sizes->n, c->err))
		return false;
	layout_contiguous(&c->out[0], c->in[GRAD_OUTPUT], size, sizes->n);
	return true;
}

/* copy_ into the region: the gradient broadcasts to it. */
static bool fits_region(const struct meta *hole, const struct meta *grad, struct err *err)
{
	struct meta both = *hole;
	char have[SIZES_TEXT], want[SIZES_TEXT];
	if (!layout_broadcast(both.size, &both.rank, hole, grad, err))
		return false;
	return meta_same_sizes(&both, hole)
		|| err_set(err, "output with shape %s doesn't match the broadcast shape %s", sizes_text(have, hole->size, hole->rank),
			sizes_text(want, both.size, both.rank));
}

static bool backward_meta(struct meta_ctx *c, meta_fn *rule)
{
	struct meta hole;
	return zeros_meta(c) && region(&hole, &c->out[0], c->n, rule, c->err) && fits_region(&hole, c->in[GRAD_OUTPUT], c->err);
}

static bool backward_kern(struct kern_ctx *c, meta_fn *rule)
{
	struct tensor hole = c->out[0];
	CHECK(region(&hole.meta, &c->out[0].meta, c->n, rule, c->err));
	tensor_zero(&c->out[0]);
	tensor_move(&hole, c->in[GRAD_OUTPUT]);
	return true;
}

/* The contiguous `to` becomes the sum of the cells of `from` that stand, over `size`, beside its cells as `seen` shows them. */
static void add_cells(struct tensor *to, const struct tensor *seen, const struct tensor *from, const struct meta *size, struct arena *a)
{
	struct wide sum;
	struct walk w;
	wide_zero(&sum, to->meta.dtype, meta_numel(&to->meta), a);
	walk_init(&w, size->size, size->rank);
	walk_add(&w, seen);
	walk_add(&w, from);
	for (bool more = walk_start(&w); more; more = walk_next(&w))
		wide_add(&sum, cell_number(to, w.at[0]), w.at[1]);
	wide_store(&sum, to);
}

bool meta_slice_backward(struct meta_ctx *c) { return backward_meta(c, meta_slice); }
bool kern_slice_backward(struct kern_ctx *c) { return backward_kern(c, meta_slice); }
void vjp_slice_backward(struct vjp *v)
{
	const struct node *n = v->n;
	v->grad[GRAD_OUTPUT] = emit_slice_Tensor(v->b, v->g[0], node_int(n, A_slice_backward_dim), node_int(n, A_slice_backward_start),
		node_int(n, A_slice_backward_end), node_int(n, A_slice_backward_step));
}

bool meta_select_backward(struct meta_ctx *c) { return backward_meta(c, meta_select); }
bool kern_select_backward(struct kern_ctx *c) { return backward_kern(c, meta_select); }
void vjp_select_backward(struct vjp *v)
{
	v->grad[GRAD_OUTPUT] = emit_select_int(v->b, v->g[0], node_int(v->n, A_select_backward_dim), node_int(v->n, A_select_backward_index));
}

bool meta_diagonal_backward(struct meta_ctx *c) { return backward_meta(c, meta_diagonal); }
bool kern_diagonal_backward(struct kern_ctx *c) { return backward_kern(c, meta_diagonal); }
void vjp_diagonal_backward(struct vjp *v)
{
	v->grad[GRAD_OUTPUT] = emit_diagonal(v->b, v->g[0], node_int(v->n, A_diagonal_backward_offset),
		node_int(v->n, A_diagonal_backward_dim1), node_int(v->n, A_diagonal_backward_dim2));
}

/* Windows that overlap add up, and then PyTorch does not look at the gradient's sizes: it reads what the last dimension's stride leads to.
 * A gradient that unfold does not give is refused here. */
bool meta_unfold_backward(struct meta_ctx *c)
{
	struct meta windows;
	bool apart = node_int(c->n, A_unfold_backward_step) >= node_int(c->n, A_unfold_backward_size);
	if (apart)
		return backward_meta(c, meta_unfold);
	return zeros_meta(c) && region(&windows, &c->out[0], c->n, meta_unfold, c->err)
		&& (meta_same_sizes(&windows, c->in[GRAD_OUTPUT])
			|| err_set(c->err, "unfold_backward: a gradient of other sizes than unfold gives is not checked by PyTorch"));
}

/* Windows that lie apart are copied: a -0 stays. */
bool kern_unfold_backward(struct kern_ctx *c)
{
	if (node_int(c->n, A_unfold_backward_step) >= node_int(c->n, A_unfold_backward_size))
		return backward_kern(c, meta_unfold);
	struct tensor windows = c->out[0];
	CHECK(region(&windows.meta, &c->out[0].meta, c->n, meta_unfold, c->err));
	tensor_zero(&c->out[0]);
	add_cells(&c->out[0], &windows, c->in[GRAD_OUTPUT], &windows.meta, c->scratch);
	return true;
}

void vjp_unfold_backward(struct vjp *v)
{
	v->grad[GRAD_OUTPUT] = emit_unfold(v->b, v->g[0], node_int(v->n, A_unfold_backward_dim), node_int(v->n, A_unfold_backward_size),
		node_int(v->n, A_unfold_backward_step));
}
