/* pooled.c: see pooled.h. */
#include "eager/lang/pooled.h"

#include "generated/op_args.h"

/* For dim d of a list: one entry alone is for all, of none what `otherwise` says. */
static int64_t entry_of(const struct node *n, int list, int d, int64_t otherwise)
{
	int64_t v[MAX_LIST];
	const int given = node_ints(v, n, op_arg(n->op, list));
	return given == 0 ? otherwise : v[given == 1 ? 0 : d];
}

bool pooled_is_read(int op)
{
	for (int k = 0; k < op_info[op].nparam; k++)
		if (op_info[op].param[k].role == R_POOLED_AT || op_info[op].param[k].role == R_UNPOOLED_AT)
			return true;
	return false;
}

/* Some place of window `at` of `windows` that divide a dim. */
static int64_t place_of_share(int64_t at, int64_t windows, int64_t size, pooled_choose *choose, void *ctx)
{
	return choose(ctx, at * size / windows, ((at + 1) * size + windows - 1) / windows - 1);
}

/* Some place of the window at `at` along dim d that is inside. */
static int64_t place_inside(const struct node *n, int d, int64_t at, int64_t size, pooled_choose *choose, void *ctx)
{
	const int64_t kernel = entry_of(n, N_kernel_size, d, 1), stride = entry_of(n, N_stride, d, kernel),
				  dilation = entry_of(n, N_dilation, d, 1), start = at * stride - entry_of(n, N_padding, d, 0);
	const int64_t first = start < 0 ? (dilation - 1 - start) / dilation : 0, last = MIN(kernel - 1, (size - 1 - start) / dilation);
	return start + choose(ctx, first, last) * dilation;
}

/* One number for each cell of a tensor that lies as `at` says: of element k, row-major. */
static struct arg laid_out(struct prog *p, const struct meta *at, const int64_t *number)
{
	const int64_t extent = meta_extent(at);
	struct scalar *cell = ARENA_NEW(p->arena, struct scalar, extent + 1);
	for (int64_t i = 0; i < extent; i++)
		cell[i] = (struct scalar){SC_INT, 0, 0};
	for (int64_t k = 0; k < meta_numel(at); k++) {
		int64_t rest = k, where = at->offset;
		for (int d = at->rank - 1; d >= 0; rest /= at->size[d--])
			where += rest % at->size[d] * at->stride[d];
		cell[where].i = number[k];
	}
	return arg_data(p, cell, (int)extent);
}

struct arg pooled_distinct(struct prog *p, int64_t places, int64_t room, const struct meta *at, pooled_choose *choose, void *ctx)
{
	int64_t *number = ARENA_NEW(p->arena, int64_t, meta_numel(at) + 1), *left = ARENA_NEW(p->arena, int64_t, room + 1);
	for (int64_t k = 0; k < meta_numel(at); k++) {
		const int64_t of = k % places;
		for (int64_t i = 0; i < room && of == 0; i++)
			left[i] = i;
		const int64_t i = choose(ctx, of % room, room - 1);
		number[k] = left[i];
		left[i] = left[of % room];
	}
	return laid_out(p, at, number);
}

struct arg pooled_data(
	struct prog *p, const struct node *n, const struct meta *self, const struct meta *at, pooled_choose *choose, void *ctx)
{
	const int first = self->rank - (op_info[n->op].param[op_arg(n->op, N_self)].role == R_VOLUMES ? 3 : 2);
	int64_t *number = ARENA_ZNEW(p->arena, int64_t, meta_numel(at) + 1);
	for (int64_t k = 0; k < meta_numel(at); k++) {
		int64_t index[MAX_RANK], rest = k;
		for (int d = at->rank - 1; d >= 0; rest /= at->size[d--])
			index[d] = rest % at->size[d];
		for (int d = first; d < self->rank; d++)
			number[k] = number[k] * self->size[d]
				+ (op_arg(n->op, N_kernel_size) < 0 ? place_of_share(index[d], at->size[d], self->size[d], choose, ctx)
													: place_inside(n, d - first, index[d], self->size[d], choose, ctx));
	}
	return laid_out(p, at, number);
}
