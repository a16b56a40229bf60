/* ref_adaptive.c: _adaptive_avg_pool2d: window i of m along a dim of size n covers floor(i * n / m) up to ceil((i + 1) * n / m). The sum is
 * divided by the window's height, then by its width, in f32 for halves; a gradient is divided in its own dtype, and each addition of the
 * shares is rounded (measured, 2.11.0 and 2.15.0). */
#include "oracle/ref/shape.h"
#include "oracle/ref/row_rules.h"

struct adapted {
	enum dtype dt;
	int64_t planes, in[2], out[2], windows, n, elements;
	uint32_t *start; /* of each window's cells */
	int64_t *cell;
	int64_t *height, *width; /* by window */
};

static bool has_plane(struct ref_ctx *c, const struct meta *m)
{
	bool valid = m->rank == 3 || m->rank == 4;
	for (int d = m->rank - 2; valid && d < m->rank; d++)
		valid = m->size[d] > 0;
	if (!valid)
		return err_set(c->err, "%s: Expected 3D or 4D tensor of planes that are not empty, but got %s", op_info[c->n->op].name,
			shape_text(c, m->size, m->rank));
	return m->size[m->rank - 3] > 0 || ref_unsupported(c, "no channels");
}

static bool has_kernel(struct ref_ctx *c, enum dtype dt)
{
	return (dtype_is_float(dt) && dtype_info[dt].rows == DR_FULL)
		|| err_set(c->err, "\"%s\" not implemented for '%s'", op_info[c->n->op].name + 1, dtype_info[dt].c10);
}

/* in and out are known. */
static bool find_windows(struct ref_ctx *c, struct adapted *p, const struct meta *m)
{
	int64_t first[2], end[2], taps = 1;
	p->dt = m->dtype;
	p->planes = 1;
	for (int d = 0; d < m->rank - 2; d++)
		p->planes *= m->size[d];
	for (int d = 0; d < 2; d++) {
		p->in[d] = m->size[m->rank - 2 + d];
		if (p->out[d] < 1)
			return ref_unsupported(c, "%lld windows", (long long)p->out[d]);
		if (p->in[d] > 256 || p->out[d] > c->t->limit.nodes)
			return ref_unsupported(c, "a window of more than 256 places, whose number a half may not hold, or too many windows");
		taps *= p->in[d] / p->out[d] + 2;
	}
	p->windows = p->planes * p->out[0] * p->out[1];
	p->elements = meta_numel(m);
	if (p->windows > c->t->limit.entries / taps)
		return ref_unsupported(c, "too many scalars");
	p->start = ARENA_NEW(c->t->arena, uint32_t, p->windows + 1);
	p->cell = ARENA_NEW(c->t->arena, int64_t, p->windows * taps + 1);
	p->height = ARENA_NEW(c->t->arena, int64_t, p->windows + 1);
	p->width = ARENA_NEW(c->t->arena, int64_t, p->windows + 1);
	p->n = 0;
	for (int64_t k = 0; k < p->windows; k++) {
		const int64_t at[] = {k / p->out[1] % p->out[0], k % p->out[1]}, plane = k / (p->out[0] * p->out[1]);
		for (int d = 0; d < 2; d++) {
			first[d] = at[d] * p->in[d] / p->out[d];
			end[d] = ((at[d] + 1) * p->in[d] - 1) / p->out[d] + 1;
		}
		p->start[k] = (uint32_t)p->n;
		for (int64_t y = first[0]; y < end[0]; y++)
			for (int64_t x = first[1]; x < end[1]; x++)
				p->cell[p->n++] = (plane * p->in[0] + y) * p->in[1] + x;
		p->height[k] = end[0] - first[0];
		p->width[k] = end[1] - first[1];
	}
	p->start[p->windows] = (uint32_t)p->n;
	return true;
}

static const sid *numbers(struct ref_ctx *c, const int64_t *v, int64_t n, enum dtype dt)
{
	sid *ids = tape_ids(c->t, n);
	sid known[257] = {0};
	for (int64_t k = 0; k < n; k++) {
		if (!known[v[k]])
			known[v[k]] = tape_const_f(c->t, dt, (double)v[k]);
		ids[k] = known[v[k]];
	}
	return ids;
}

/* n numbers of dtype dt, divided by one list, then by the other. */
static const sid *divided(struct ref_ctx *c, const sid *x, const int64_t *by, const int64_t *then, int64_t n, enum dtype dt)
{
	x = ref_ids_block(c, tape_map2(c->t, SF_DIV, dt, x, numbers(c, by, n, dt), n), n);
	return ref_ids_block(c, tape_map2(c->t, SF_DIV, dt, x, numbers(c, then, n, dt), n), n);
}

static const sid *grafted(struct ref_ctx *c, const sid *value, const sid *there, enum dtype dt, int64_t n)
{
	return ref_ids_block(c, tape_map2(c->t, SF_GRAFT, dt, value, there, n), n);
}

static const int64_t *lies_as(int64_t stride[MAX_RANK], const struct meta *m, const int64_t *size)
{
	return m->rank == 4 && shape_channels_last(stride, size, m->rank, shape_format(m)) ? stride : NULL;
}

static const sid *sums(struct ref_ctx *c, const struct adapted *p, const sid *own, enum dtype dt)
{
	sid *entry = tape_ids(c->t, p->n);
	for (int64_t k = 0; k < p->n; k++)
		entry[k] = own[p->cell[k]];
	return ref_ids_block(c, tape_nary(c->t, SF_SUM, dt, p->start, ref_cast(c, entry, p->n, dt), p->windows, 0), p->windows);
}

/* The gradient is divided by the height first, so the graft divides by it last. */
REFERENCE(adaptive_avg_pool2d, ANEW)
{
	const struct meta *m = meta_of(c, A_adaptive_avg_pool2d_self);
	const struct arg *out = &c->n->arg[A_adaptive_avg_pool2d_output_size];
	struct adapted p;
	int64_t size[MAX_RANK], stride[MAX_RANK];
	if (out->n != 2)
		return err_set(c->err, "adaptive_avg_pool2d: output_size must be 2");
	memcpy(size, m->size, sizeof size);
	for (int d = 0; d < 2; d++)
		p.out[d] = out->ints[d].value;
	if (!ref_not_on_cuda(c) || !has_plane(c, m) || !find_windows(c, &p, m) || !has_kernel(c, m->dtype))
		return false;
	for (int d = 0; d < 2; d++)
		size[m->rank - 2 + d] = p.out[d];
	const enum dtype wide = dtype_compute(p.dt);
	const sid *own = ref_copies(c, ref_ids(c, c->in[A_adaptive_avg_pool2d_self]), p.elements, p.dt);
	const sid *y = ref_cast(c, divided(c, sums(c, &p, own, wide), p.height, p.width, p.windows, wide), p.windows, p.dt);
	if (c->grad)
		y = grafted(c, y, divided(c, sums(c, &p, own, p.dt), p.width, p.height, p.windows, p.dt), p.dt, p.windows);
	return ref_out_ids(c, 0, p.dt, size, m->rank, lies_as(stride, m, size), y);
}

/* What each element gets of the windows' shares, in the windows' order. */
static const sid *added_up(struct ref_ctx *c, const struct adapted *p, const sid *share, enum dtype dt)
{
	uint32_t *start = ARENA_ZNEW(c->t->arena, uint32_t, p->elements + 2);
	sid *entry = tape_ids(c->t, p->n);
	for (int64_t i = 0; i < p->n; i++)
		start[p->cell[i] + 2]++;
	for (int64_t k = 1; k <= p->elements; k++)
		start[k + 1] += start[k];
	for (int64_t k = 0; k < p->windows; k++)
		for (uint32_t i = p->start[k]; i < p->start[k + 1]; i++)
			entry[start[p->cell[i] + 1]++] = share[k];
	return ref_ids_block(c, tape_nary(c->t, SF_SUM, dt, start, entry, p->elements, 0), p->elements);
}

REFERENCE(adaptive_avg_pool2d_backward, ANEW)
{
	const struct meta *m = meta_of(c, A_adaptive_avg_pool2d_backward_self), *g = meta_of(c, A_adaptive_avg_pool2d_backward_grad_output);
	struct adapted p;
	int64_t stride[MAX_RANK];
	if (!ref_not_on_cuda(c) || !has_plane(c, g))
		return false;
	if (m->rank != g->rank)
		return err_set(c->err, "Expected dimensions %d for `grad_output` but got dimensions %d", m->rank, g->rank);
	for (int d = 0; d < m->rank; d++)
		if (d < m->rank - 2 ? m->size[d] != g->size[d] : m->size[d] == 0)
			return ref_unsupported(c, "a gradient of other planes than self has: kernels do not look");
	if (g->dtype != m->dtype)
		return err_set(c->err, "a gradient of %s for %s", dtype_info[g->dtype].torch, dtype_info[m->dtype].torch);
	for (int d = 0; d < 2; d++)
		p.out[d] = g->size[g->rank - 2 + d];
	if (!find_windows(c, &p, m) || !has_kernel(c, m->dtype))
		return false;
	const enum dtype wide = dtype_compute(p.dt);
	const sid *grad = ref_ids(c, c->in[A_adaptive_avg_pool2d_backward_grad_output]);
	const sid *x = added_up(c, &p, divided(c, grad, p.height, p.width, p.windows, p.dt), p.dt);
	if (c->grad && p.elements) {
		const sid *share = divided(c, ref_cast(c, grad, p.windows, wide), p.width, p.height, p.windows, wide);
		x = grafted(c, x, ref_cast(c, added_up(c, &p, share, wide), p.elements, p.dt), p.dt, p.elements);
	}
	return ref_out_ids(c, 0, p.dt, m->size, m->rank, lies_as(stride, m, m->size), x);
}
