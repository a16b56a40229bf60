/* scatter_region.c: slice_scatter, select_scatter, diagonal_scatter: a copy of self in which a view's region is replaced by src.
 * The region is what the view operator's own shape rule says on the same arguments (without src), applied to the result.
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

/* The view `rule` of `self`, from the arguments of n without its second (src). */
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
	int64_t start = node_given(v->n, A_slice_scatter_start) ? node_int(v->n, A_slice_scatter_start) : NO_INT;
	int64_t end = node_given(v->n, A_slice_scatter_end) ? node_int(v->n, A_slice_scatter_end) : NO_INT;
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
