/* gen_input.c: sizes, layouts and input rows. A program draws its dims from a small pool of sizes, so that operands often fit. */
#include "fuzz/gen/gen_internal.h"
#include "generated/op_input.h"

int64_t gen_numel(const struct shape *s)
{
	int64_t n = 1;
	for (int d = 0; d < s->rank; d++)
		n *= s->size[d];
	return n;
}

struct shape shape_of(const struct meta *m)
{
	struct shape s = {.rank = m->rank};
	memcpy(s.size, m->size, sizeof s.size);
	return s;
}

void draw_pool(struct world *w)
{
	static const int64_t ladder[] = {15, 16, 17, 31, 32, 33, 63, 64, 65}, large[] = {255, 256, 257, 1023, 1024, 1025};
	w->npool = 3;
	for (int i = 0; i < w->npool; i++) {
		if (chance(w, PF_large))
			w->pool[i] = large[choose_below(w->c, ARRAY_LEN(large))];
		else if (chance(w, PF_ladder))
			w->pool[i] = ladder[choose_below(w->c, ARRAY_LEN(ladder))];
		else
			w->pool[i] = choose_int(w->c, 2, 9);
	}
}

int64_t draw_size(struct world *w)
{
	if (chance(w, PF_size_zero))
		return 0;
	if (chance(w, PF_size_one))
		return 1;
	return w->pool[choose_below(w->c, (uint64_t)w->npool)];
}

/* Zeros count as ones: strides are products of sizes even where there are no elements. */
static int64_t shape_bulk(const struct shape *s)
{
	int64_t n = 1;
	for (int d = 0; d < s->rank; d++)
		if (!mul_i64(&n, n, MAX(s->size[d], 1)))
			return INT64_MAX;
	return n;
}

void shape_limit(struct shape *s, int64_t max_numel)
{
	while (shape_bulk(s) > max_numel) {
		int big = 0;
		for (int d = 1; d < s->rank; d++)
			if (s->size[d] > s->size[big])
				big = d;
		s->size[big] = s->size[big] > 9 && s->rank > 1 ? 3 : MAX(s->size[big] / 2, 1);
	}
}

void draw_shape(struct world *w, struct shape *s, int min_rank, int max_rank)
{
	static const int ranks[] = {2, 1, 3, 4, 0, 5}, weights[] = {38, 22, 24, 8, 5, 3}, alone[] = {27, 18, 20, 15, 10, 10};
	s->rank = ranks[choose_weighted(w->c, w->alone ? alone : weights, ARRAY_LEN(weights))];
	s->rank = MIN(MAX(s->rank, min_rank), max_rank);
	for (int d = 0; d < s->rank; d++)
		s->size[d] = draw_size(w);
	shape_limit(s, w->max_numel);
}

bool draw_dtype(struct world *w, uint32_t mask, enum dtype *out)
{
	int weight[NDTYPES];
	for (int t = 0; t < NDTYPES; t++)
		weight[t] = mask & DTS(t) ? w->pol->dtype[t] : 0;
	int t = choose_weighted(w->c, weight, NDTYPES);
	if (t < 0)
		return false;
	*out = (enum dtype)t;
	return true;
}

/* ---- layouts -------------------------------------------------------------------------------------------------------- */

static void draw_order(struct world *w, int *order, int rank)
{
	for (int d = 0; d < rank; d++)
		order[d] = d;
	for (int d = rank - 1; d > 0; d--) {
		/* Offset from d: choice 0 leaves the order alone. */
		int e = d - (int)choose_below(w->c, (uint64_t)d + 1), t = order[d];
		order[d] = order[e];
		order[e] = t;
	}
}

/* Strides and offset for m's sizes. The simplest is contiguous. */
static void draw_layout(struct world *w, struct meta *m, bool no_overlap)
{
	int order[MAX_RANK];
	bool permuted = m->rank > 1 && chance(w, PF_permuted), gapped = m->rank > 0 && chance(w, PF_gapped);
	if (permuted)
		draw_order(w, order, m->rank);
	if (w->alone && permuted && m->rank >= 4 && choose_chance(w->c, 40)) /* channels last */
		for (int k = 0; k < m->rank; k++)
			order[k] = k == 0 ? 0 : k == m->rank - 1 ? 1 : k + 1;
	int64_t s = gapped ? choose_int(w->c, 1, 3) : 1;
	for (int k = m->rank - 1; k >= 0; k--) {
		int d = permuted ? order[k] : k;
		m->stride[d] = s;
		s *= MAX(m->size[d], 1) + (gapped ? (int64_t)choose_below(w->c, 3) : 0);
	}
	m->offset = chance(w, PF_offset) ? choose_int(w->c, 1, 9) : 0;
	if (no_overlap || !m->rank)
		return;
	if (chance(w, PF_broadcast)) {
		int d = (int)choose_below(w->c, (uint64_t)m->rank);
		m->stride[d] = 0;
		for (int e = 0; e < m->rank; e++)
			if (choose_chance(w->c, 30))
				m->stride[e] = 0;
	} else if (m->rank > 1 && chance(w, PF_overlap)) {
		/* Windows: one dim steps through memory no faster than another. */
		int d = (int)choose_below(w->c, (uint64_t)m->rank), e = (int)choose_below(w->c, (uint64_t)m->rank);
		m->stride[d] = m->stride[e];
	}
}

static bool is_default_layout(const struct meta *m)
{
	struct meta k;
	meta_make_contiguous(&k, m->dtype, m->size, m->rank);
	return m->offset == 0 && meta_same_strides(&k, m);
}

static void infer_or_bug(struct world *w, int node)
{
	struct err err = {0};
	if (!prog_infer_node(w->p, node, &err))
		BUG("generated %s refused: %s", w->p->node[node].name, err.msg);
}

/* Another input on base's storage: some of base's dims cut, two of them swapped. */
static int add_view(struct world *w, int base)
{
	struct meta m = *node_meta(w->p, base);
	for (int d = 0; d < m.rank; d++) {
		if (m.size[d] > 1 && choose_chance(w->c, 40)) {
			int64_t len = m.size[d] - (int64_t)choose_below(w->c, (uint64_t)m.size[d]);
			m.offset += m.stride[d] * (int64_t)choose_below(w->c, (uint64_t)(m.size[d] - len) + 1);
			m.size[d] = len;
		}
	}
	if (m.rank > 1 && choose_chance(w->c, 30)) {
		int64_t t = m.size[0], u = m.stride[0];
		m.size[0] = m.size[1], m.stride[0] = m.stride[1];
		m.size[1] = t, m.stride[1] = u;
	}
	int node = prog_add(w->p, OP_input_view, NULL);
	struct node *n = &w->p->node[node];
	n->arg[A_input_view_base] = arg_tensor(base);
	n->arg[A_input_view_size] = arg_ints(w->p, m.size, m.rank);
	n->arg[A_input_view_stride] = arg_ints(w->p, m.stride, m.rank);
	n->arg[A_input_view_offset] = arg_int(m.offset);
	bool grad = dtype_has_grad(m.dtype) && w->pol->chance[PF_grad] && choose_chance(w->c, 25);
	n->arg[A_input_view_requires_grad] = arg_bool(grad);
	infer_or_bug(w, node);
	fact_input(w, node, &(struct input_spec){.dtype = m.dtype}, grad, base);
	return node;
}

static const char *input_name(struct world *w)
{
	static const char *const names[] = {"x", "y", "z", "u", "v"};
	int ninput = 0;
	for (int i = 0; i < w->p->nnode; i++)
		ninput += w->p->node[i].op == OP_input;
	return ninput < ARRAY_LEN(names) ? names[ninput] : arena_printf(w->p->arena, "x%d", ninput);
}

/* The data of a row for tests. NULL: dyadic. */
static const char *draw_data(struct world *w)
{
	static const char *const fill[] = {NULL, "normal", "special", "ties"};
	static const int weight[] = {4, 3, 2, 1};
	return fill[choose_weighted(w->c, weight, ARRAY_LEN(weight))];
}

int add_input(struct world *w, const struct shape *s, const struct input_spec *spec)
{
	struct meta m;
	if (shape_bulk(s) > 16 * w->max_numel)
		return -1;
	meta_make_contiguous(&m, spec->dtype, s->size, s->rank);
	if (!spec->row_major)
		draw_layout(w, &m, spec->no_overlap);
	bool grad = dtype_has_grad(spec->dtype) && !spec->no_grad && chance(w, PF_grad);
	bool positive = spec->positive && dtype_is_float(spec->dtype) && chance(w, PF_positive);
	struct input_spec all = *spec;
	if (!spec->fill && dtype_is_int(spec->dtype) && chance(w, PF_wide))
		all.fill = "wide";
	if (w->alone && !all.fill && !positive)
		all.fill = draw_data(w);
	int node = prog_add(w->p, OP_input, input_name(w));
	struct node *n = &w->p->node[node];
	n->arg[A_input_size] = arg_ints(w->p, m.size, m.rank);
	if (!is_default_layout(&m)) {
		n->arg[A_input_stride] = arg_ints(w->p, m.stride, m.rank);
		n->arg[A_input_offset] = arg_int(m.offset);
	}
	n->arg[A_input_dtype] = arg_dtype(spec->dtype);
	if (all.fill || positive)
		n->arg[A_input_fill] = arg_str(w->p, all.fill ? all.fill : "positive");
	n->arg[A_input_seed] = arg_int(w->seed++);
	if (spec->high)
		n->arg[A_input_high] = arg_int(spec->high);
	if (spec->dim)
		n->arg[A_input_dim] = arg_int(spec->dim);
	n->arg[A_input_requires_grad] = arg_bool(grad);
	prog_defaults(w->p, node);
	infer_or_bug(w, node);
	fact_input(w, node, &all, grad, -1);
	if (!all.fill && !spec->no_view && !spec->no_overlap && !grad && meta_numel(&m) > 1 && chance(w, PF_input_view))
		add_view(w, node);
	return node;
}
