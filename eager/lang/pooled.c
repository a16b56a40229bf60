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

/* Some place of the window at `at` along dim d that is inside. */
static int64_t place_inside(const struct node *n, int d, int64_t at, int64_t size, pooled_choose *choose, void *ctx)
{
	const int64_t kernel = entry_of(n, N_kernel_size, d, 1), stride = entry_of(n, N_stride, d, kernel),
				  dilation = entry_of(n, N_dilation, d, 1), start = at * stride - entry_of(n, N_padding, d, 0);
	const int64_t first = start < 0 ? (dilation - 1 - start) / dilation : 0, last = MIN(kernel - 1, (size - 1 - start) / dilation);
	return start + choose(ctx, first, last) * dilation;
}

struct arg pooled_data(
	struct prog *p, const struct node *n, const struct meta *self, const struct meta *at, pooled_choose *choose, void *ctx)
{
	const int first = self->rank - (op_info[n->op].param[op_arg(n->op, N_self)].role == R_VOLUMES ? 3 : 2);
	const int64_t extent = meta_extent(at);
	struct scalar *cell = ARENA_NEW(p->arena, struct scalar, extent + 1);
	for (int64_t i = 0; i < extent; i++)
		cell[i] = (struct scalar){SC_INT, 0, 0};
	for (int64_t k = 0; k < meta_numel(at); k++) {
		int64_t index[MAX_RANK], rest = k, where = at->offset;
		for (int d = at->rank - 1; d >= 0; d--) {
			index[d] = rest % at->size[d];
			rest /= at->size[d];
			where += index[d] * at->stride[d];
		}
		for (int d = first; d < self->rank; d++)
			cell[where].i = cell[where].i * self->size[d] + place_inside(n, d - first, index[d], self->size[d], choose, ctx);
	}
	return arg_data(p, cell, (int)extent);
}
