/* scatter_region.c: slice_scatter, select_scatter, diagonal_scatter: a copy of self in which a view's region is replaced by src.
 * The region is what the view operator's own shape rule says on the same arguments (without src), applied to the result.
 *
 * Strides (clone_preserve_strides): a base in which a dim of size > 1 has stride 0 is cloned densely; every other base keeps its
 * strides AND storage offset, gaps included. src may have another dtype: it is converted as copy_ does. */
#include "eager/ops/move.h"

/* The view `rule` of `self`, from the arguments of n without its second (src). */
static bool region(struct meta *out, const struct meta *self, const struct node *n, meta_fn *rule, struct err *err)
{
	struct node v = *n;
	memmove(&v.arg[1], &v.arg[2], sizeof v.arg[0] * (MAX_ARGS - 2));
	struct meta_ctx c = {.n = &v, .in = {self}, .nout = 1, .err = err};
	if (!rule(&c))
		return false;
	*out = c.out[0];
	return true;
}

static bool region_meta(struct meta_ctx *c, meta_fn *rule, const char *what)
{
	const struct meta *self = c->in[0], *src = c->in[1];
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
	tensor_move(&c->out[0], c->in[0]);
	tensor_assign(&hole, c->in[1]);
	return true;
}

/* self: the cotangent with zeros in the region; src: the cotangent's region, in src's dtype. */
static void region_grad(struct grad_ctx *c, meta_fn *rule)
{
	struct err err = {0};
	if (c->gin[0]) {
		struct tensor hole = *c->gin[0];
		CHECK(region(&hole.meta, &c->gin[0]->meta, c->n, rule, &err));
		tensor_move(c->gin[0], &c->gout[0]);
		tensor_zero(&hole);
	}
	if (c->gin[1]) {
		struct tensor part = c->gout[0];
		CHECK(region(&part.meta, &c->gout[0].meta, c->n, rule, &err));
		tensor_assign(c->gin[1], &part);
	}
}

bool meta_slice_scatter(struct meta_ctx *c) { return region_meta(c, meta_slice, "slice"); }
bool kern_slice_scatter(struct kern_ctx *c) { return region_kern(c, meta_slice); }
void grad_slice_scatter(struct grad_ctx *c) { region_grad(c, meta_slice); }

bool meta_select_scatter(struct meta_ctx *c) { return region_meta(c, meta_select, "slice"); }
bool kern_select_scatter(struct kern_ctx *c) { return region_kern(c, meta_select); }
void grad_select_scatter(struct grad_ctx *c) { region_grad(c, meta_select); }

bool meta_diagonal_scatter(struct meta_ctx *c) { return region_meta(c, meta_diagonal, "slice"); }
bool kern_diagonal_scatter(struct kern_ctx *c) { return region_kern(c, meta_diagonal); }
void grad_diagonal_scatter(struct grad_ctx *c) { region_grad(c, meta_diagonal); }
