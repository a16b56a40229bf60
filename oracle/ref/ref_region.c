/* ref_region.c: a region of a tensor, named as a view names it (slice, select, diagonal, unfold), replaced by another tensor, or filled
 * with a gradient among zeros. Replacing moves ids. */
#include "oracle/ref/ref_scatter.h"
#include "oracle/ref/ref_impl.h"
#include "oracle/ref/shape_index.h"
#include "oracle/ref/row_rules.h"

/* ---- a region of self replaced: slice_scatter, select_scatter, diagonal_scatter ------------------------------------ */

/* A region in numbers of self's row-major logical elements. */
struct region {
	int64_t size[MAX_RANK], stride[MAX_RANK], offset;
	int rank;
};

/* The region's elements, in its own row-major order. */
static const int64_t *region_cells(struct ref_ctx *c, const struct region *g)
{
	int64_t n = shape_numel(g->size, g->rank), index[MAX_RANK] = {0}, *cell = ARENA_NEW(c->t->arena, int64_t, n + 1);
	for (int64_t k = 0; k < n; k++) {
		cell[k] = g->offset;
		for (int d = 0; d < g->rank; d++)
			cell[k] += index[d] * g->stride[d];
		shape_next(index, g->size, g->rank);
	}
	return cell;
}

bool ref_scatter_clones(const struct meta *self) { return !layout_is_dense(self) && layout_is_expanded(self); }

sid *ref_scatter_base(struct ref_ctx *c, int self, int64_t *stride)
{
	const struct meta *m = meta_of(c, self);
	if (ref_scatter_clones(m))
		shape_strides_like(stride, m);
	else
		memcpy(stride, m->stride, sizeof m->stride);
	sid *out = shape_out_like(c, m, stride);
	if (!out)
		return NULL;
	memcpy(out, ref_ids(c, c->in[self]), (size_t)meta_numel(m) * sizeof *out);
	if (!ref_scatter_clones(m)) {
		c->keeps_cells = true;
		c->out[0].meta.offset = m->offset;
	}
	return out;
}

static bool replace_region(struct ref_ctx *c, const struct region *g)
{
	const struct meta *m = meta_of(c, A_region_scatter_self), *src = meta_of(c, A_region_scatter_src);
	int64_t stride[MAX_RANK];
	if (!shape_equal(src->size, src->rank, g->size, g->rank))
		return err_set(c->err, "expected src to have a size equal to the slice of self. src size = %s, slice size = %s",
			shape_text(c, src->size, src->rank), shape_text(c, g->size, g->rank));
	if (!ref_scatter_clones(m) && layout_overlaps(m) && !c->inplace)
		return ref_unsupported(
			c, "%s of a self whose elements share cells, though no stride is 0: clone self first", op_info[c->n->op].name);
	sid *out = ref_scatter_base(c, A_region_scatter_self, stride);
	if (!out)
		return false;
	int64_t n = shape_numel(g->size, g->rank);
	const sid *from = ref_cast(c, ref_ids(c, c->in[A_region_scatter_src]), n, m->dtype);
	const int64_t *cell = region_cells(c, g);
	for (int64_t k = 0; k < n; k++)
		out[cell[k]] = from[k];
	return true;
}

static struct region whole(const struct meta *m)
{
	struct region g = {.rank = m->rank};
	memcpy(g.size, m->size, sizeof g.size);
	shape_row_major(g.stride, m->size, m->rank);
	return g;
}

static void drop_dim(struct region *g, int d)
{
	g->rank--;
	for (; d < g->rank; d++) {
		g->size[d] = g->size[d + 1];
		g->stride[d] = g->stride[d + 1];
	}
}

/* Which elements of a tensor m the arguments of a view name. */
typedef bool region_fn(struct ref_ctx *c, struct region *g, const struct meta *m);

static bool slice_region(struct ref_ctx *c, struct region *g, const struct meta *m)
{
	int d;
	if (m->rank == 0)
		return err_set(c->err, "slice() cannot be applied to a 0-dim tensor");
	if (!shape_dim(c, &d, A_sliced_dim, m))
		return false;
	int64_t n = m->size[d], step = ref_arg_int(c, A_sliced_step), lo = 0, hi = n;
	if (step <= 0)
		return err_set(c->err, "slice step must be positive");
	if (ref_given(c, A_sliced_start))
		lo = ref_arg_int(c, A_sliced_start) < 0 ? ref_arg_int(c, A_sliced_start) + n : ref_arg_int(c, A_sliced_start);
	if (ref_given(c, A_sliced_end))
		hi = ref_arg_int(c, A_sliced_end) < 0 ? ref_arg_int(c, A_sliced_end) + n : ref_arg_int(c, A_sliced_end);
	lo = lo < 0 ? 0 : MIN(lo, n);
	hi = hi < lo ? lo : MIN(hi, n);
	*g = whole(m);
	g->offset = lo * g->stride[d];
	g->size[d] = lo == hi ? 0 : (hi - lo - 1) / step + 1;
	g->stride[d] = g->size[d] > 1 ? g->stride[d] * step : 0;
	return true;
}

static bool select_region(struct ref_ctx *c, struct region *g, const struct meta *m)
{
	int d;
	if (m->rank == 0)
		return err_set(c->err, "select() cannot be applied to a 0-dim tensor");
	if (!shape_dim(c, &d, A_selected_dim, m))
		return false;
	int64_t i = ref_arg_int(c, A_selected_index), n = m->size[d];
	if (i < -n || i >= n)
		return err_set(c->err, "select(): index %lld out of range for size %lld of dimension %d", (long long)i, (long long)n, d);
	*g = whole(m);
	g->offset = (i < 0 ? i + n : i) * g->stride[d];
	drop_dim(g, d);
	return true;
}

static bool diagonal_region(struct ref_ctx *c, struct region *g, const struct meta *m)
{
	int a, b;
	if (!shape_dim(c, &a, A_on_diagonal_dim1, m) || !shape_dim(c, &b, A_on_diagonal_dim2, m))
		return false;
	if (a == b)
		return err_set(c->err, "diagonal dimensions cannot be identical %d, %d", a, b);
	*g = whole(m);
	int64_t off = ref_arg_int(c, A_on_diagonal_offset), row = off < 0 ? wrap_sub(0, off) : 0, col = off > 0 ? off : 0;
	int64_t n = MIN(wrap_sub(m->size[a], row), wrap_sub(m->size[b], col)), step = g->stride[a] + g->stride[b];
	n = MAX(n, 0);
	g->offset = n ? row * g->stride[a] + col * g->stride[b] : 0;
	drop_dim(g, MAX(a, b));
	drop_dim(g, MIN(a, b));
	g->size[g->rank] = n;
	g->stride[g->rank++] = step;
	return true;
}

/* Windows of `size` every `step` along dim; the place in a window comes last. */
static bool unfold_region(struct ref_ctx *c, struct region *g, const struct meta *m)
{
	int d;
	if (!shape_dim(c, &d, A_unfold_backward_dim, m))
		return false;
	int64_t n = shape_size(m, d), len = ref_arg_int(c, A_unfold_backward_size), step = ref_arg_int(c, A_unfold_backward_step);
	if (len < 0 || len > n)
		return err_set(c->err, "unfold: size %lld must be within 0 and the size %lld of dimension %d", (long long)len, (long long)n, d);
	if (step <= 0)
		return err_set(c->err, "unfold: step is %lld but must be > 0", (long long)step);
	if (m->rank == MAX_RANK)
		return err_set(c->err, "rank %d exceeds the limit %d", m->rank + 1, MAX_RANK);
	*g = whole(m);
	g->size[g->rank] = len;
	g->stride[g->rank] = m->rank ? g->stride[d] : 1;
	if (m->rank) {
		g->size[d] = (n - len) / step + 1;
		g->stride[d] = g->size[d] > 1 ? g->stride[d] * step : 0;
	}
	g->rank++;
	return true;
}

static bool scatter_region(struct ref_ctx *c, region_fn *region_of)
{
	struct region g;
	return region_of(c, &g, meta_of(c, A_region_scatter_self)) && replace_region(c, &g);
}

REFERENCE(slice_scatter, REGION) { return scatter_region(c, slice_region); }
REFERENCE(select_scatter, REGION) { return scatter_region(c, select_region); }
REFERENCE(diagonal_scatter, REGION) { return scatter_region(c, diagonal_region); }

/* ---- zeros with a gradient in a region: slice_backward, select_backward, diagonal_backward, unfold_backward ------------ */

/* Result 0: zeros of the sizes given, contiguous, like the gradient; m: its meta. */
static sid *zeros_given(struct ref_ctx *c, struct meta *m)
{
	const struct arg *sizes = &c->n->arg[A_region_backward_input_sizes];
	*m = (struct meta){.dtype = meta_of(c, 0)->dtype, .rank = sizes->n};
	if (sizes->n > MAX_RANK) {
		err_set(c->err, "rank %d exceeds the limit %d", sizes->n, MAX_RANK);
		return NULL;
	}
	for (int d = 0; d < m->rank; d++)
		m->size[d] = sizes->ints[d].value;
	if (!meta_check_sizes(m->size, m->rank, c->err))
		return NULL;
	sid *out = ref_out(c, 0, m->dtype, m->size, m->rank, NULL), zero = shape_zero(c, m->dtype);
	for (int64_t i = 0, n = shape_numel(m->size, m->rank); out && i < n; i++)
		out[i] = zero;
	return out;
}

/* The gradient is copied into the region, and broadcasts to it; its own cotangent is then summed inside the operator. */
static bool copy_to_region(struct ref_ctx *c, sid *out, const struct region *g)
{
	const struct meta *m = meta_of(c, 0);
	if (m->rank > g->rank || !shape_expands(m, g->size, g->rank))
		return err_set(c->err, "a gradient of shape %s does not broadcast to a region of shape %s", shape_text(c, m->size, m->rank),
			shape_text(c, g->size, g->rank));
	int64_t n = shape_numel(g->size, g->rank);
	const sid *from = ref_ids_expanded(c, c->in[0], g->size, g->rank);
	const int64_t *cell = region_cells(c, g);
	if (n != meta_numel(m))
		from = ref_copies(c, from, n, m->dtype);
	for (int64_t k = 0; k < n; k++)
		out[cell[k]] = from[k];
	return true;
}

static bool backward_region(struct ref_ctx *c, region_fn *region_of)
{
	struct meta m;
	struct region g;
	sid *out = zeros_given(c, &m);
	return out && region_of(c, &g, &m) && copy_to_region(c, out, &g);
}

REFERENCE(slice_backward, PART) { return backward_region(c, slice_region); }
REFERENCE(select_backward, PART) { return backward_region(c, select_region); }
REFERENCE(diagonal_backward, PART) { return backward_region(c, diagonal_region); }

/* Windows that overlap are added up, in any order. */
REFERENCE(unfold_backward, PART)
{
	struct meta m;
	struct region g;
	if (ref_arg_int(c, A_unfold_backward_step) >= ref_arg_int(c, A_unfold_backward_size))
		return backward_region(c, unfold_region);
	sid *out = zeros_given(c, &m);
	if (!out || !unfold_region(c, &g, &m))
		return false;
	const struct meta *grad = meta_of(c, A_unfold_backward_grad_in);
	if (!shape_equal(grad->size, grad->rank, g.size, g.rank))
		return err_set(c->err, "unfold_backward: a gradient of shape %s instead of %s is not checked by PyTorch",
			shape_text(c, grad->size, grad->rank), shape_text(c, g.size, g.rank));
	struct writes w = {meta_numel(grad), region_cells(c, &g), ref_ids(c, c->in[A_unfold_backward_grad_in])};
	scatter_combine(c, out, shape_numel(m.size, m.rank), &w, &(struct combine){.f = SF_SUM, .dt = m.dtype}, NULL);
	return true;
}
