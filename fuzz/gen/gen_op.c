/* gen_op.c: one operator node. Self is chosen first, then plain arguments, then the other tensors, each by its role: an existing
 * value that fits, or a new input made to fit. Whatever turns out impossible is undone by cutting the program back. */
#include "fuzz/gen/gen_internal.h"

#include "eager/lang/object.h"
#include "eager/lang/pooled.h"
#include "eager/lang/stated.h"
#include "eager/run/legality.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

enum { MAX_SELF = 16 }; /* candidates looked at, newest first */

static const struct param *param_of(const struct making *m, int k) { return &op_info[m->op].param[k]; }

/* ---- self --------------------------------------------------------------------------------------------------------- */


static void rank_range(const struct param *q, int *lo, int *hi)
{
	*lo = role_info[q->role].min_rank;
	*hi = MIN(role_info[q->role].max_rank, MAX_DRAWN_RANK);
}

/* A minimum or maximum over nothing does not exist. */
static bool needs_elements(int op) { return magnitude_of(op) == MAG_PICKS || magnitude_of(op) == MAG_FINDS; }

static bool is_transcendental(int op) { return magnitude_of(op) == MAG_FUNCTION || magnitude_of(op) == MAG_POWER; }

/* A view whose schema does not say so: _unsafe_view. */
static bool shares_unsaid(int op)
{
	for (int k = 0; k < op_info[op].nparam; k++)
		if (op_info[op].param[k].is_alias)
			return false;
	return op_has(op, T_VIEW);
}

/* Nobody else holds the memory of such a value: fresh and unused. */
static bool unheld(const struct world *w, int node)
{
	const struct fact *f = &w->fact[node];
	return f->home == node && f->root == node && f->nuse == 0 && op_info[w->p->node[node].op].family != F_INPUT;
}

/* Strides of sizes 1, too, which may look like channels last. */
static bool is_row_major(const struct meta *m)
{
	struct meta k;
	meta_make_contiguous(&k, m->dtype, m->size, m->rank);
	return meta_same_strides(&k, m);
}

/* Does m lie in memory as operands of q's role do? */
static bool lies_well(const struct param *q, const struct meta *m)
{
	if (role_has(q->role, RF_ROW_MAJOR) && !is_row_major(m))
		return false;
	return !role_has(q->role, RF_SIDE_BY_SIDE) || (m->rank && meta_numel(m) && m->stride[m->rank - 1] == 1 && !meta_overlaps_itself(m));
}

/* A new one lies so; calls that are drawn alone have other layouts, too, where a role takes some. */
static bool drawn_row_major(struct world *w, const struct param *q)
{
	return role_has(q->role, RF_ROW_MAJOR) || (role_has(q->role, RF_SIDE_BY_SIDE) && (!w->alone || choose_chance(w->c, 70)));
}

/* May node be given other sizes in place? That counts as a write. Dynamo ends the graph where it is an input ("Getting an inplace view on a
 * graph input is not supported"). */
static bool may_rename(struct world *w, int node) { return w->alone || (writable(w, node) && !is_input(w, node_object(w->p, node))); }

/* An input of integers that are not 0, which nobody writes to before it is read. */
static bool is_never_zero(struct world *w, int node)
{
	const struct node *n = &w->p->node[node];
	const char *fill = n->op == OP_input && node_given(n, A_input_fill) ? n->arg[A_input_fill].str : "";
	return (str_eq(fill, "nonzero") || str_eq(fill, "positive")) && !home_of(w, node)->written;
}

bool self_fits(struct world *w, int op, const struct param *q, int node)
{
	const struct meta *m = node_meta(w->p, node);
	int lo, hi;
	rank_range(q, &lo, &hi);
	if (!w->fact[node].usable || !(op_info[op].dtypes & DTS(m->dtype)) || m->rank < lo || m->rank > hi)
		return false;
	if (q->role == R_DENSE && !meta_is_non_overlapping_and_dense(m))
		return false;
	if (takes_no_gradient(op, q) && has_grad(w, node))
		return false;
	if (role_has(q->role, RF_DIVIDES) && !dtype_is_float(m->dtype) && !is_never_zero(w, node))
		return false;
	if (!lies_well(q, m))
		return false;
	if (q->role == R_PACKED && !(meta_is_contiguous(m) && m->offset == 0 && !has_grad(w, node)))
		return false;
	if (needs_elements(op) && meta_numel(m) == 0 && !w->alone)
		return false;
	if (op_has(op, T_INPLACE_VIEW) && !may_rename(w, node))
		return false;
	return (!op_has(op, T_MUTATES) || writable(w, node)) && (!shares_unsaid(op) || w->alone || unheld(w, node));
}

/* One of several nodes, newest first: the newest is the simplest and the likeliest, so that chains grow. */
static int pick(struct world *w, const int *node, int n)
{
	if (n == 0)
		return -1;
	return node[choose_chance(w->c, 55) ? choose_below(w->c, (uint64_t)n) : 0];
}

/* One dimension longer than those that compilers put in order by loops. A reference of all its ranks, and of their gradients, costs its
 * square: hence few ranks of topk (value_COUNT), and few gradients. */
enum { LANE = 257 };
static void draw_lane(struct world *w, struct shape *s)
{
	s->rank = 1 + choose_chance(w->c, 50);
	s->size[0] = s->size[1] = choose_int(w->c, 1, 3);
	s->size[choose_below(w->c, (uint64_t)s->rank)] = choose_int(w->c, LANE, LANE + 3);
}

static bool has_lane(const struct meta *m) { return m->rank && m->size[longest_dim(m)] >= LANE; }

static int new_self(struct world *w, struct making *m, const struct param *q)
{
	struct input_spec spec = {.positive = is_transcendental(m->op)};
	struct shape s;
	int lo, hi;
	if (!draw_dtype(w, op_info[m->op].dtypes, &spec.dtype))
		return -1;
	if (w->alone && w->self_dtype >= 0)
		spec.dtype = (enum dtype)w->self_dtype;
	rank_range(q, &lo, &hi);
	draw_shape(w, &s, lo, hi);
	if (w->lane)
		draw_lane(w, &s);
	if ((needs_elements(m->op) && !w->alone) || role_has(q->role, RF_SIDE_BY_SIDE))
		for (int d = 0; d < s.rank; d++)
			s.size[d] = MAX(s.size[d], 1);
	spec.no_overlap = (op_has(m->op, T_MUTATES) && !w->overlap) || q->role == R_DENSE;
	spec.no_grad = op_has(m->op, T_MUTATES | T_INPLACE_VIEW) || q->role == R_PACKED || takes_no_gradient(m->op, q)
		|| (w->lane && !choose_chance(w->c, 30));
	spec.row_major = drawn_row_major(w, q);
	spec.fill = w->lane && choose_chance(w->c, 80) ? "normal" : NULL; /* fewer of them equal */
	if (role_has(q->role, RF_DIVIDES) && !dtype_is_float(spec.dtype))
		spec.fill = "nonzero";
	int node = add_input(w, &s, &spec);
	return node >= 0 && self_fits(w, m->op, q, node) ? node : -1;
}

/* Candidates that matter for aliasing: views to write, storages that were written to read. If there are any, only those. */
static int prefer_aliases(struct world *w, int op, int *node, int n)
{
	int kept = 0, some[MAX_SELF];
	for (int i = 0; i < n; i++) {
		bool wanted = op_has(op, T_MUTATES) ? w->fact[node[i]].home != node[i] : home_of(w, node[i])->written;
		if (wanted)
			some[kept++] = node[i];
	}
	if (!kept || !chance(w, PF_alias))
		return n;
	memcpy(node, some, sizeof *node * (size_t)kept);
	return kept;
}

bool has_mask(int op)
{
	for (int k = 0; k < op_info[op].nparam; k++)
		if (op_info[op].param[k].role == R_MASK)
			return true;
	return false;
}

/* Candidates that overlap themselves, if there are any. (A mask may set one index of a cell and not another: backward of that depends on
 * the order, so there gradients stay away.) */
static int prefer_overlaps(struct world *w, int op, int *node, int n)
{
	int kept = 0, some[MAX_SELF];
	for (int i = 0; i < n && w->overlap; i++)
		if (meta_has_duplicates(node_meta(w->p, node[i])) && !(has_mask(op) && has_grad(w, node[i])))
			some[kept++] = node[i];
	if (kept)
		memcpy(node, some, sizeof *node * (size_t)kept);
	return kept ? kept : n;
}

/* A new view of base that overlaps itself; -1: none came of a few tries, and nothing is left of them. */
static int overlapping_view(struct world *w, int base)
{
	enum { TRIES = 6 };
	const struct policy *pol = w->pol;
	for (int i = 0; i < TRIES && pol->nby_family[F_VIEW]; i++) {
		int nnode = w->p->nnode, nstorage = w->p->nstorage;
		int64_t seed = w->seed;
		const int op = pol->by_family[F_VIEW][choose_below(w->c, (uint64_t)pol->nby_family[F_VIEW])];
		int node = op_has(op, T_INPLACE_VIEW) ? -1 : add_op(w, op, base); /* the base has other readers */
		if (node >= 0 && meta_has_duplicates(node_meta(w->p, node)))
			return node;
		w->p->nnode = nnode;
		w->p->nstorage = nstorage;
		w->seed = seed;
	}
	return -1;
}

static void make_overlap(struct world *w, struct making *m, const struct param *q)
{
	if (m->self < 0 || meta_has_duplicates(node_meta(w->p, m->self)))
		return;
	int view = overlapping_view(w, m->self);
	w->overlap = true; /* the view was made by a row of its own */
	if (view >= 0 && self_fits(w, m->op, q, view) && !(has_mask(m->op) && has_grad(w, view)))
		m->self = view;
}

static bool choose_self(struct world *w, struct making *m)
{
	const struct param *q = param_of(m, m->anchor);
	int found[MAX_SELF], n = 0;
	w->overlap = legality_sets_one_value(m->op) && chance(w, PF_overlap_write);
	w->lane = m->self < 0 && op_has(m->op, T_ORDER) && chance(w, PF_lanes);
	if (m->self < 0 && w->p->nnode && chance(w, PF_chain)) {
		for (int i = w->p->nnode - 1; i >= 0 && n < MAX_SELF; i--)
			if (self_fits(w, m->op, q, i) && (!w->lane || has_lane(node_meta(w->p, i))))
				found[n++] = i;
		n = prefer_overlaps(w, m->op, found, n);
		m->self = pick(w, found, prefer_aliases(w, m->op, found, n));
		const bool held = shares_unsaid(m->op) || op_has(m->op, T_INPLACE_VIEW);
		if (m->self < 0 && held) /* an input is held by the caller */
			return false;
	} else if (m->self >= 0 && !self_fits(w, m->op, q, m->self)) {
		return false;
	}
	if (m->self < 0)
		m->self = new_self(w, m, q);
	if (w->overlap)
		make_overlap(w, m, q);
	if (m->self < 0)
		return false;
	m->meta = *node_meta(w->p, m->self);
	if (q->kind == K_TENSOR)
		m->arg[m->anchor] = arg_tensor(m->self);
	m->done[m->anchor] = q->kind == K_TENSOR;
	return true;
}

/* ---- other operands --------------------------------------------------------------------------------------------------- */

static bool broadcasts_to(const struct meta *m, const struct shape *s)
{
	if (m->rank > s->rank)
		return false;
	for (int d = 0; d < m->rank; d++) {
		int64_t want = s->size[s->rank - m->rank + d];
		if (m->size[d] != want && m->size[d] != 1)
			return false;
	}
	return true;
}

static bool broadcasts_with(const struct world *w, const struct meta *m, const struct shape *s)
{
	int64_t n = 1;
	int rank = MAX(m->rank, s->rank);
	for (int k = 1; k <= rank; k++) {
		int64_t a = k <= m->rank ? m->size[m->rank - k] : 1, b = k <= s->rank ? s->size[s->rank - k] : 1;
		if (a != b && a != 1 && b != 1)
			return false;
		n *= a == 1 ? b : a;
	}
	return n <= 2 * w->max_numel;
}

/* In-place rows: operands must lie elsewhere, or (pointwise ones) be exactly the written tensor. */
static bool apart(struct world *w, const struct making *m, const struct param *q, int node)
{
	if (!op_has(m->op, T_MUTATES) || w->fact[node].home != w->fact[m->self].home)
		return true;
	const struct meta *a = node_meta(w->p, node);
	return (q->role == R_BCAST_TO || q->role == R_DIVISOR_TO) && meta_equivalent(a, &m->meta) && a->offset == m->meta.offset
		&& chance(w, PF_self_operand);
}

static int existing(struct world *w, const struct making *m, const struct param *q, enum dtype t, const struct shape *s, enum fit fit)
{
	int found[16], n = 0;
	if (!chance(w, PF_reuse))
		return -1;
	for (int i = w->p->nnode - 1; i >= 0 && n < ARRAY_LEN(found); i--) {
		if (!w->fact[i].usable || (takes_no_gradient(m->op, q) && has_grad(w, i)))
			continue;
		const struct meta *a = node_meta(w->p, i);
		if (a->dtype != t || !lies_well(q, a))
			continue;
		bool fits = fit == FIT_BCAST ? broadcasts_with(w, a, s)
			: fit == FIT_BCAST_TO    ? broadcasts_to(a, s)
									 : a->rank == s->rank && memcmp(a->size, s->size, sizeof(int64_t) * (size_t)s->rank) == 0;
		if (fits && apart(w, m, q, i))
			found[n++] = i;
	}
	return pick(w, found, n);
}

/* Sizes that broadcast: ones for some dims, leading dims dropped; with FIT_BCAST also more than self has. */
static void draw_broadcast(struct world *w, struct shape *s, enum fit fit)
{
	if (fit == FIT_SAME || !choose_chance(w->c, 45))
		return;
	int drop = s->rank ? (int)choose_below(w->c, (uint64_t)s->rank + 1) : 0;
	if (!choose_chance(w->c, 50))
		drop = 0;
	s->rank -= drop;
	memmove(s->size, s->size + drop, sizeof(int64_t) * (size_t)s->rank);
	int64_t room = w->max_numel / MAX(gen_numel(s), 1);
	for (int d = 0; d < s->rank; d++) {
		if (s->size[d] != 1 && choose_chance(w->c, 30)) {
			s->size[d] = 1;
		} else if (s->size[d] == 1 && fit == FIT_BCAST && choose_chance(w->c, 50)) {
			int64_t n = draw_size(w);
			if (n <= room)
				s->size[d] = n;
			room /= MAX(s->size[d], 1);
		}
	}
}

/* A value of dtype t that fits, reused or new. */
static int operand(struct world *w, const struct making *m, const struct param *q, enum dtype t, struct shape s, enum fit fit)
{
	int node = existing(w, m, q, t, &s, fit);
	if (node >= 0)
		return node;
	draw_broadcast(w, &s, fit);
	struct input_spec spec = {.dtype = t, .positive = is_transcendental(m->op), .fill = t == DT_B8 && q->role == R_MASK ? "mask" : NULL};
	spec.no_grad = takes_no_gradient(m->op, q) || (op_has(m->op, T_MUTATES) && !dtype_is_float(m->meta.dtype));
	spec.row_major = drawn_row_major(w, q);
	const int made = add_input(w, &s, &spec);
	return made < 0 || lies_well(q, node_meta(w->p, made)) ? made : -1;
}

/* Where no two values may be alike, some that are counted from the end are so for one size only. */
static bool positions_fit(const struct fact *f, int64_t high, int unique_dim, bool around)
{
	bool counted = !f->around || (around && (unique_dim < 0 || f->high == high));
	return f->high <= high && counted && (unique_dim < 0 || (f->unique && f->unique_dim == unique_dim));
}

/* Positions below `high`: an existing index tensor or a new input. unique_dim < 0: repetition is fine; around: the row takes those that
 * are counted from the end, too. */
static int index_operand(struct world *w, const struct making *m, const struct shape *s, int64_t high, int unique_dim, bool around)
{
	static const char *const fill[2][2] = {{"index", "around"}, {"unique", "unique_around"}};
	int found[8], n = 0;
	bool reuse = chance(w, PF_reuse);
	for (int i = w->p->nnode - 1; reuse && i >= 0 && n < ARRAY_LEN(found); i--) {
		const struct fact *f = &w->fact[i];
		const struct meta *a = f->index ? node_meta(w->p, i) : NULL;
		if (!a || !f->usable || a->rank != s->rank || memcmp(a->size, s->size, sizeof(int64_t) * (size_t)s->rank))
			continue;
		if (positions_fit(f, high, unique_dim, around) && w->fact[i].home != w->fact[m->self].home)
			found[n++] = i;
	}
	int node = pick(w, found, n);
	if (node >= 0)
		return node;
	struct input_spec spec = {.dtype = DT_I64, .no_grad = true, .high = MAX(high, 1)};
	spec.fill = fill[unique_dim >= 0][around && chance(w, PF_negative)];
	spec.no_overlap = unique_dim >= 0;
	spec.dim = MAX(unique_dim, 0);
	return add_input(w, s, &spec);
}

static int64_t draw_count(struct world *w, int64_t most)
{
	if (most <= 0 || chance(w, PF_size_zero))
		return 0;
	return choose_int(w->c, 1, MIN(most, 70));
}

static int index_1d(struct world *w, struct making *m, bool unique)
{
	int d = making_dim(m);
	int64_t n = d < m->meta.rank ? m->meta.size[d] : 1;
	struct shape s = {.rank = 1, .size = {draw_count(w, unique || !n ? n : n + 3)}};
	if (m->meta.rank == 0)
		s.size[0] = 1;
	return index_operand(w, m, &s, n, unique ? 0 : -1, false);
}

/* Self's rank; no larger than self except along dim. Shorter in other dims now and then. */
static int index_nd(struct world *w, struct making *m, bool unique)
{
	struct shape s = shape_of(&m->meta);
	int d = making_dim(m);
	int64_t n = d < s.rank ? s.size[d] : 1;
	for (int e = 0; e < s.rank; e++) {
		if (e == d)
			s.size[e] = draw_count(w, unique || !n ? n : n + 2);
		else if (s.size[e] > 1 && choose_chance(w->c, 25))
			s.size[e] = choose_int(w->c, 1, s.size[e]);
	}
	shape_limit(&s, 2 * w->max_numel);
	return index_operand(w, m, &s, n, unique ? d : -1, false);
}

static int operand_SRCN(struct world *w, struct making *m, const struct param *q)
{
	int index = -1;
	for (int k = 0; k < op_info[m->op].nparam; k++)
		if (role_has(param_of(m, k)->role, RF_FULL))
			index = m->arg[k].node;
	CHECK(index >= 0);
	struct shape s = shape_of(node_meta(w->p, index));
	bool larger = false;
	for (int d = 0; d < s.rank; d++) {
		/* PyTorch derives only with a source of exactly the index's sizes. */
		if (!has_grad(w, m->self) && choose_chance(w->c, 20)) {
			s.size[d] += choose_int(w->c, 0, 2);
			larger = true;
		}
	}
	if (larger)
		return add_input(w, &s, &(struct input_spec){.dtype = m->meta.dtype, .no_grad = true});
	return operand(w, m, q, m->meta.dtype, s, FIT_SAME);
}

static int operand_SRCN_NO_GRADIENT(struct world *w, struct making *m, const struct param *q) { return operand_SRCN(w, m, q); }

/* Indices for some leading dims, holes between; at least one. */
static bool index_list(struct world *w, struct making *m, int k, bool unique)
{
	int node[MAX_RANK], rank = m->meta.rank, last = (int)choose_below(w->c, (uint64_t)rank);
	/* All tensors broadcast to one shape; unique ones are 1-d, the first of them distinct throughout. */
	struct shape s = {.rank = unique || !choose_chance(w->c, 25) ? 1 : (int)choose_below(w->c, 3)};
	bool given[MAX_RANK], first = true;
	int64_t least = INT64_MAX;
	for (int d = 0; d <= last; d++) {
		given[d] = d == last || choose_chance(w->c, 60);
		if (given[d] && least == INT64_MAX)
			least = m->meta.size[d];
	}
	for (int e = 0; e < s.rank; e++)
		s.size[e] = draw_count(w, unique ? least : 9);
	for (int d = 0; d <= last; d++)
		if (given[d] && m->meta.size[d] == 0)
			s = (struct shape){.rank = 1, .size = {0}};
	for (int d = 0; d <= last; d++) {
		node[d] = -1;
		if (!given[d])
			continue;
		struct shape t = s;
		if (!first && choose_chance(w->c, 30) && gen_numel(&s))
			for (int e = 0; e < t.rank; e++)
				t.size[e] = 1;
		node[d] = index_operand(w, m, &t, m->meta.size[d], unique && first ? 0 : -1, true);
		if (node[d] < 0)
			return false;
		first = false;
	}
	m->arg[k] = arg_nodes(w->p, node, last + 1);
	return true;
}

/* A mask over some dims of self, from one on; values of one element then fit whatever it selects. */
static bool mask_list(struct world *w, struct making *m, int k)
{
	int node[MAX_RANK], rank = m->meta.rank, first = (int)choose_below(w->c, (uint64_t)rank);
	int values = op_arg(m->op, N_values), many = 1 + (int)choose_below(w->c, (uint64_t)(rank - first));
	struct shape s = {.rank = many}, one = {.rank = (int)choose_below(w->c, 2), .size = {1}};
	memcpy(s.size, m->meta.size + first, sizeof *s.size * (size_t)many);
	for (int d = 0; d < first; d++)
		node[d] = -1;
	node[first] = operand(w, m, param_of(m, k), DT_B8, s, FIT_SAME);
	int value = node[first] < 0 ? -1 : operand(w, m, param_of(m, values), m->meta.dtype, one, FIT_SAME);
	if (value < 0)
		return false;
	m->arg[k] = arg_nodes(w->p, node, first + 1);
	m->arg[values] = arg_tensor(value);
	m->done[values] = true;
	return true;
}

/* Sizes that row `like` gives on the arguments of the same names; false if it refuses them. */
static bool like_shape(struct world *w, const struct making *m, int like, struct shape *s)
{
	struct arena_mark mark = arena_mark(w->p->arena);
	int nnode = w->p->nnode, nstorage = w->p->nstorage, cap = w->p->cap_node;
	int node = prog_add(w->p, like, "like");
	struct node *n = &w->p->node[node];
	for (int k = 0; k < op_info[m->op].nparam; k++) {
		int j = op_param(like, param_of(m, k)->name);
		if (j >= 0 && m->arg[k].tag != ARG_NONE)
			n->arg[j] = m->arg[k];
	}
	prog_defaults(w->p, node);
	bool ok = prog_infer_node(w->p, node, NULL);
	if (ok)
		*s = shape_of(node_meta(w->p, node));
	w->p->nnode = nnode;
	w->p->nstorage = nstorage;
	if (cap == w->p->cap_node)
		arena_release(w->p->arena, mark);
	return ok;
}

static int like_operand(struct world *w, struct making *m, const struct param *q, int like, enum fit fit)
{
	struct shape s;
	CHECK(like >= 0);
	if (!like_shape(w, m, like, &s) || gen_numel(&s) > 4 * w->max_numel)
		return -1;
	return operand(w, m, q, m->meta.dtype, s, fit);
}

static int operand_IDS(struct world *w, struct making *m, const struct param *q)
{
	(void)q;
	struct shape s;
	draw_shape(w, &s, 0, 2);
	int64_t row = m->meta.rank > 1 ? m->meta.size[1] : 1;
	shape_limit(&s, MAX(w->max_numel / MAX(row, 1), 1));
	if (m->meta.size[0] == 0)
		s = (struct shape){.rank = 1, .size = {0}};
	return index_operand(w, m, &s, m->meta.size[0], -1, false);
}

static int operand_PLACES(struct world *w, struct making *m, const struct param *q)
{
	(void)q;
	struct shape s;
	const int64_t n = meta_numel(&m->meta);
	if (m->accumulate)
		draw_shape(w, &s, 0, 2);
	else
		s = (struct shape){.rank = 1, .size = {draw_count(w, n)}};
	shape_limit(&s, w->max_numel);
	if (n == 0)
		s = (struct shape){.rank = 1, .size = {0}};
	return index_operand(w, m, &s, n, m->accumulate ? -1 : 0, true);
}

/* PyTorch 2.11.0 and 2.15.0 refuse the gradient of embedding_dense_backward without elements ("cannot reshape tensor of 0 elements"). */
static int operand_ROWS(struct world *w, struct making *m, const struct param *q)
{
	(void)q;
	struct shape s = shape_of(&m->meta);
	int64_t rows = m->arg[op_arg(m->op, N_num_weights)].i.value;
	s.rank--;
	if (meta_numel(&m->meta) == 0 && has_grad(w, m->self))
		return -1;
	return rows == 0 && gen_numel(&s) ? -1 : index_operand(w, m, &s, rows, -1, false);
}

static int operand_SOURCE(struct world *w, struct making *m, const struct param *q)
{
	/* As many elements as self and mask broadcast to. */
	int64_t n = meta_numel(&m->meta);
	for (int k = 0; k < op_info[m->op].nparam; k++)
		if (param_of(m, k)->role == R_MASK)
			n = MAX(n, 1) * MAX(meta_numel(node_meta(w->p, m->arg[k].node)), 1);
	struct shape s = shape_of(&m->meta);
	if (s.rank == 0 || n > gen_numel(&s)) {
		const struct meta *mask = NULL;
		for (int k = 0; k < op_info[m->op].nparam; k++)
			if (param_of(m, k)->role == R_MASK)
				mask = node_meta(w->p, m->arg[k].node);
		if (!mask || !broadcasts_to(mask, &s) || s.rank == 0)
			s = (struct shape){.rank = 1, .size = {n}};
	}
	if (gen_numel(&s) > 4 * w->max_numel)
		return -1;
	return operand(w, m, q, m->meta.dtype, s, FIT_SAME);
}

/* Dtype of the other operand of a row that promotes: mostly self's. In-place: nothing that self cannot hold. */
static enum dtype other_dtype(struct world *w, const struct making *m)
{
	uint32_t mask = op_info[m->op].dtypes;
	enum dtype t = m->meta.dtype, u;
	if (op_info[m->op].licence != LC_CONVERT) /* they have no common dtype with another */
		mask &= dtype_info[t].rows == DR_FULL ? DTS_ALL : 0;
	if (op_has(m->op, T_MUTATES) && op_info[m->op].licence != LC_CONVERT)
		mask &= dtype_is_float(t) ? DTS_ALL : dtype_is_int(t) ? DTS_INT | DTS_BOOL : DTS_BOOL;
	return chance(w, PF_mixed) && draw_dtype(w, mask, &u) ? u : t;
}

static int operand_VEC2(struct world *w, struct making *m, const struct param *q)
{
	struct shape s = {.rank = 1, .size = {m->meta.size[m->meta.rank - 1]}};
	return operand(w, m, q, m->meta.dtype, s, FIT_SAME);
}

static int operand_MAT2(struct world *w, struct making *m, const struct param *q)
{
	struct shape s = shape_of(&m->meta);
	int64_t rows = s.rank > 1 ? s.size[s.rank - 2] : 1, work = gen_numel(&s);
	s.size[s.rank - 2] = s.size[s.rank - 1];
	s.size[s.rank - 1] = draw_size(w);
	/* Products cost: keep rows * inner * columns small. */
	while (work * s.size[s.rank - 1] > 8 * w->max_numel || rows * s.size[s.rank - 1] > 2 * w->max_numel)
		s.size[s.rank - 1] /= 2;
	return operand(w, m, q, m->meta.dtype, s, FIT_SAME);
}

/* Broadcasts to the product of the two factors that follow it. */
static int operand_BIAS(struct world *w, struct making *m, const struct param *q)
{
	struct shape s = {.rank = 2, .size = {m->meta.size[0], 1}};
	for (int k = 0; k < op_info[m->op].nparam; k++)
		if (param_of(m, k)->role == R_MAT2)
			s.size[1] = node_meta(w->p, m->arg[k].node)->size[1];
	return operand(w, m, q, m->meta.dtype, s, FIT_BCAST_TO);
}

/* The same of a batch of products. */
static int operand_BATCH_BIAS(struct world *w, struct making *m, const struct param *q)
{
	struct shape s = {.rank = 3, .size = {m->meta.size[0], m->meta.size[1], 1}};
	for (int k = 0; k < op_info[m->op].nparam; k++)
		if (param_of(m, k)->role == R_MAT2)
			s.size[2] = node_meta(w->p, m->arg[k].node)->size[2];
	return operand(w, m, q, m->meta.dtype, s, FIT_BCAST_TO);
}

/* ---- one function per OPERAND_ROLE of role.def, which returns the node, -1 if there is none; a role without one does not compile ---- */

static int operand_BCAST(struct world *w, struct making *m, const struct param *q)
{
	return operand(w, m, q, other_dtype(w, m), shape_of(&m->meta), FIT_BCAST);
}

static int operand_BCAST_NO_GRADIENT(struct world *w, struct making *m, const struct param *q) { return operand_BCAST(w, m, q); }

static int operand_BCAST_TO(struct world *w, struct making *m, const struct param *q)
{
	return operand(w, m, q, other_dtype(w, m), shape_of(&m->meta), FIT_BCAST_TO);
}

static int operand_BCAST_TO_NO_GRADIENT(struct world *w, struct making *m, const struct param *q) { return operand_BCAST_TO(w, m, q); }

/* No integer is 0 that divides one. None is -1 where the quotient is towards 0: PyTorch's kernel traps at the least integer. */
static int divisor(struct world *w, struct making *m, const struct param *q, enum fit fit)
{
	const enum dtype t = other_dtype(w, m);
	struct shape s = shape_of(&m->meta);
	const int mode = op_arg(m->op, N_rounding_mode);
	if (dtype_is_float(t) || dtype_is_float(m->meta.dtype))
		return operand(w, m, q, t, s, fit);
	draw_broadcast(w, &s, fit);
	const bool towards_0 = mode >= 0 && m->arg[mode].tag == ARG_STR && str_eq(m->arg[mode].str, "trunc");
	return add_input(w, &s, &(struct input_spec){.dtype = t, .no_grad = true, .fill = towards_0 ? "positive" : "nonzero"});
}

static int operand_DIVISOR(struct world *w, struct making *m, const struct param *q) { return divisor(w, m, q, FIT_BCAST); }
static int operand_DIVISOR_NO_GRADIENT(struct world *w, struct making *m, const struct param *q) { return divisor(w, m, q, FIT_BCAST); }
static int operand_DIVISOR_TO(struct world *w, struct making *m, const struct param *q) { return divisor(w, m, q, FIT_BCAST_TO); }
static int operand_DIVISOR_TO_NO_GRADIENT(struct world *w, struct making *m, const struct param *q)
{
	return divisor(w, m, q, FIT_BCAST_TO);
}

static int operand_SAME(struct world *w, struct making *m, const struct param *q)
{
	return operand(w, m, q, m->meta.dtype, shape_of(&m->meta), FIT_SAME);
}

static int operand_ZERO_DIM(struct world *w, struct making *m, const struct param *q)
{
	return operand(w, m, q, m->meta.dtype, (struct shape){0}, FIT_SAME);
}

static int operand_ZERO_DIM_NO_GRADIENT(struct world *w, struct making *m, const struct param *q) { return operand_ZERO_DIM(w, m, q); }

static int operand_MASK(struct world *w, struct making *m, const struct param *q)
{
	return operand(w, m, q, DT_B8, shape_of(&m->meta), m->mask_fit);
}

static int operand_LIKE(struct world *w, struct making *m, const struct param *q)
{
	return like_operand(w, m, q, op_find(q->like), FIT_SAME);
}

static int operand_VALUES(struct world *w, struct making *m, const struct param *q)
{
	return like_operand(w, m, q, OP_index_Tensor, FIT_BCAST_TO);
}

static int operand_NORMED(struct world *w, struct making *m, const struct param *q)
{
	struct shape s = {.rank = m->arg[op_arg(m->op, N_normalized_shape)].n};
	memcpy(s.size, &m->meta.size[m->meta.rank - s.rank], sizeof *s.size * (size_t)s.rank);
	return operand(w, m, q, m->meta.dtype, s, FIT_SAME);
}

static int operand_NORMED_NO_GRADIENT(struct world *w, struct making *m, const struct param *q) { return operand_NORMED(w, m, q); }
static int operand_SAME_NO_GRADIENT(struct world *w, struct making *m, const struct param *q) { return operand_SAME(w, m, q); }

static int operand_MOMENT_NO_GRADIENT(struct world *w, struct making *m, const struct param *q)
{
	struct shape s = shape_of(&m->meta);
	for (int i = 0; i < m->arg[op_arg(m->op, N_normalized_shape)].n; i++)
		s.size[s.rank - 1 - i] = 1;
	(void)q; /* nobody differentiates by it */
	return add_input(w, &s, &(struct input_spec){.dtype = m->meta.dtype, .no_grad = true, .positive = true});
}

static int operand_PER_CHANNEL(struct world *w, struct making *m, const struct param *q)
{
	return operand(w, m, q, m->meta.dtype, (struct shape){.rank = 1, .size = {m->meta.size[1]}}, FIT_SAME);
}

static int operand_PER_CHANNEL_NO_GRADIENT(struct world *w, struct making *m, const struct param *q)
{
	return operand_PER_CHANNEL(w, m, q);
}

static int operand_PER_GROUP_NO_GRADIENT(struct world *w, struct making *m, const struct param *q)
{
	const struct shape s = {.rank = 2, .size = {m->meta.size[0], m->arg[op_arg(m->op, N_group)].i.value}};
	(void)q; /* nobody differentiates by it */
	return add_input(w, &s, &(struct input_spec){.dtype = m->meta.dtype, .no_grad = true, .positive = true, .row_major = true});
}

/* Of no elements PyTorch's backward divides by their number, which ends its process. */
static int moments(struct world *w, const struct making *m, bool positive)
{
	const struct shape s = {.rank = 1, .size = {m->meta.size[1]}};
	if (meta_numel(&m->meta) == 0)
		return -1;
	return add_input(w, &s, &(struct input_spec){.dtype = m->meta.dtype, .no_grad = true, .positive = positive, .row_major = true});
}

static int operand_RUNNING(struct world *w, struct making *m, const struct param *q)
{
	(void)q; /* nobody differentiates by it */
	return moments(w, m, false);
}

static int operand_RUNNING_VARIANCE(struct world *w, struct making *m, const struct param *q)
{
	(void)q;
	return moments(w, m, true);
}

static int operand_SAVED_NO_GRADIENT(struct world *w, struct making *m, const struct param *q)
{
	(void)q;
	return moments(w, m, true);
}

static int operand_SAMPLED_NO_GRADIENT(struct world *w, struct making *m, const struct param *q) { return operand_SAME(w, m, q); }

static struct shape keys_of(struct world *w, const struct making *m)
{
	struct shape s = shape_of(&m->meta);
	const int key = op_arg(m->op, N_key);
	s.size[2] = m->arg[key].tag == ARG_TENSOR ? node_meta(w->p, m->arg[key].node)->size[2] : choose_int(w->c, 1, 7);
	return s;
}

static int operand_KEYS(struct world *w, struct making *m, const struct param *q)
{
	return operand(w, m, q, m->meta.dtype, keys_of(w, m), FIT_SAME);
}

static int operand_KEYED(struct world *w, struct making *m, const struct param *q) { return operand_KEYS(w, m, q); }
static int operand_KEYS_NO_GRADIENT(struct world *w, struct making *m, const struct param *q) { return operand_KEYS(w, m, q); }
static int operand_KEYED_NO_GRADIENT(struct world *w, struct making *m, const struct param *q) { return operand_KEYS(w, m, q); }

static int operand_SCORES_NO_GRADIENT(struct world *w, struct making *m, const struct param *q)
{
	const struct shape keys = keys_of(w, m);
	struct shape s = shape_of(&m->meta);
	(void)q; /* nobody differentiates by it */
	s.size[3] = keys.size[2];
	if (choose_chance(w->c, 50))
		s = (struct shape){.rank = 2, .size = {s.size[2], s.size[3]}};
	for (int d = 0; d < s.rank; d++)
		s.size[d] = choose_chance(w->c, 25) ? 1 : s.size[d];
	return add_input(w, &s, &(struct input_spec){.dtype = m->meta.dtype, .no_grad = true});
}

static int operand_PER_QUERY_NO_GRADIENT(struct world *w, struct making *m, const struct param *q)
{
	struct shape s = shape_of(&m->meta);
	(void)q;
	s.rank = 3;
	return add_input(w, &s, &(struct input_spec){.dtype = dtype_compute(m->meta.dtype), .no_grad = true});
}

/* What slides, as it was drawn (value_SLIDING). */
static int operand_FILTER(struct world *w, struct making *m, const struct param *q)
{
	return operand(w, m, q, m->meta.dtype, shape_of(&m->strided), FIT_SAME);
}

static int operand_FILTER_NO_GRADIENT(struct world *w, struct making *m, const struct param *q) { return operand_FILTER(w, m, q); }

static int operand_CONVOLVED_NO_GRADIENT(struct world *w, struct making *m, const struct param *q)
{
	return like_operand(w, m, q, OP_convolution, FIT_SAME);
}

static int operand_HALF_NO_GRADIENT(struct world *w, struct making *m, const struct param *q)
{
	return like_operand(w, m, q, OP_glu, FIT_SAME);
}

static int64_t choose_between(void *ctx, int64_t low, int64_t high) { return choose_int(((struct world *)ctx)->c, low, high); }

/* An element of each window: kernels do not look whether it is one. In a program they lie row-major: their derivative views them. */
static int operand_POOLED_AT(struct world *w, struct making *m, const struct param *q)
{
	struct node pooled = {.op = m->op};
	struct shape s;
	(void)q;
	memcpy(pooled.arg, m->arg, sizeof m->arg);
	const bool volumes = op_info[m->op].param[op_arg(m->op, N_self)].role == R_VOLUMES;
	if (op_arg(m->op, N_kernel_size) < 0)
		s = shape_of(node_meta(w->p, m->arg[op_arg(m->op, N_grad_output)].node));
	else if (!like_shape(w, m, volumes ? OP_max_pool3d_with_indices : OP_max_pool2d_with_indices, &s))
		return -1;
	if (gen_numel(&s) > 4 * w->max_numel)
		return -1;
	const int node = add_input(
		w, &s, &(struct input_spec){.dtype = DT_I64, .no_grad = true, .no_overlap = true, .row_major = !w->alone, .fill = "dyadic"});
	if (node < 0)
		return -1;
	w->p->node[node].arg[A_input_data] = pooled_data(w->p, &pooled, &m->meta, node_meta(w->p, node), choose_between, w);
	w->fact[node].usable = false; /* of these windows alone */
	return node;
}

static int operand_ADAPTED(struct world *w, struct making *m, const struct param *q)
{
	struct shape s = shape_of(&m->meta);
	const int n = op_info[m->op].param[op_arg(m->op, N_self)].role == R_VOLUMES ? 3 : 2;
	if (meta_numel(&m->meta) == 0)
		return -1;
	for (int d = s.rank - n; d < s.rank; d++)
		s.size[d] = choose_int(w->c, 1, MIN(s.size[d] + 1, n == 2 ? 7 : 4));
	return operand(w, m, q, m->meta.dtype, s, FIT_SAME);
}

/* Elements of planes, none twice: which of two values would be left is open. */
static int operand_UNPOOLED_AT(struct world *w, struct making *m, const struct param *q)
{
	const struct shape s = shape_of(&m->meta);
	const struct arg *out = &m->arg[op_arg(m->op, N_output_size)];
	(void)q;
	if (gen_numel(&s) > 4 * w->max_numel)
		return -1;
	const int node = add_input(
		w, &s, &(struct input_spec){.dtype = DT_I64, .no_grad = true, .no_overlap = true, .row_major = !w->alone, .fill = "dyadic"});
	if (node < 0)
		return -1;
	int64_t room = 1, places = 1;
	for (int d = 0; d < out->n; d++) {
		room *= out->ints[d].value;
		places *= s.size[s.rank - out->n + d];
	}
	w->p->node[node].arg[A_input_data] = pooled_distinct(w->p, places, room, node_meta(w->p, node), choose_between, w);
	w->fact[node].usable = false;
	return node;
}

static int operand_PER_FILTER(struct world *w, struct making *m, const struct param *q)
{
	const struct shape s = {.rank = 1, .size = {filters_drawn(m)}};
	return operand(w, m, q, m->meta.dtype, s, FIT_SAME);
}

static int operand_LABELS(struct world *w, struct making *m, const struct param *q)
{
	(void)q;
	const int64_t classes = m->meta.size[m->meta.rank - 1];
	const struct shape s = {.rank = m->meta.rank - 1, .size = {m->meta.size[0]}};
	return classes ? index_operand(w, m, &s, classes, -1, false) : -1;
}

static int operand_CLASS_WEIGHTS(struct world *w, struct making *m, const struct param *q)
{
	const struct shape s = {.rank = 1, .size = {m->meta.size[m->meta.rank - 1]}};
	(void)q; /* nobody differentiates by it */
	return add_input(w, &s, &(struct input_spec){.dtype = m->meta.dtype, .no_grad = true, .positive = true});
}

static int operand_TOTAL(struct world *w, struct making *m, const struct param *q)
{
	(void)q;
	return add_input(w, &(struct shape){0}, &(struct input_spec){.dtype = m->meta.dtype, .no_grad = true, .positive = true});
}

static int operand_LOSS(struct world *w, struct making *m, const struct param *q)
{
	const bool each = m->arg[op_arg(m->op, N_reduction)].i.value == 0 && m->meta.rank == 2;
	const struct shape s = {.rank = each, .size = {m->meta.size[0]}};
	return operand(w, m, q, m->meta.dtype, s, FIT_SAME);
}

static int operand_LOSS_OF(struct world *w, struct making *m, const struct param *q)
{
	const bool each = m->arg[op_arg(m->op, N_reduction)].i.value == 0;
	return each ? operand_BCAST_TO(w, m, q) : operand(w, m, q, m->meta.dtype, (struct shape){0}, FIT_SAME);
}

static int operand_INDEX1(struct world *w, struct making *m, const struct param *q)
{
	(void)q;
	return index_1d(w, m, false);
}

static int operand_UNIQUE1(struct world *w, struct making *m, const struct param *q)
{
	(void)q;
	return index_1d(w, m, true);
}

static int operand_INDEXN(struct world *w, struct making *m, const struct param *q)
{
	(void)q;
	return index_nd(w, m, false);
}

static int operand_UNIQUEN(struct world *w, struct making *m, const struct param *q)
{
	(void)q;
	return index_nd(w, m, true);
}

typedef int operand_fn(struct world *, struct making *, const struct param *);

static int draw_operand(struct world *w, struct making *m, int k)
{
	static operand_fn *const of_role[NROLES] = {
#define ROLE(...)
#define SELF_ROLE(...)
#define LIST_ROLE(...)
#define VALUE_ROLE(...)
#define OPERAND_ROLE(ID, ...) [R_##ID] = operand_##ID,
#include "eager/lang/role.def"
	};
	const struct param *q = param_of(m, k);
	m->mask_fit =
		op_has(m->op, T_MUTATES) || choose_chance(w->c, 80) ? FIT_BCAST_TO : FIT_BCAST; /* drawn for all: seeds keep their programs */
	return of_role[q->role] ? of_role[q->role](w, m, q) : -1;
}

/* Further entries of cat's and stack's lists. */
static bool tensor_list(struct world *w, struct making *m, int k)
{
	const struct param *q = param_of(m, k);
	int node[4] = {m->self}, n = 1 + (int)choose_below(w->c, 3);
	int at = (int)choose_below(w->c, (uint64_t)n);
	for (int i = 1; i < n; i++) {
		struct shape s = shape_of(&m->meta);
		if (q->role == R_CAT && choose_chance(w->c, 40))
			s.size[making_dim(m)] = draw_size(w);
		shape_limit(&s, w->max_numel);
		for (int d = 0; d < s.rank; d++)
			if (s.size[d] != m->meta.size[d] && (q->role != R_CAT || d != making_dim(m)))
				s = shape_of(&m->meta);
		node[i] = operand(w, m, q, other_dtype(w, m), s, FIT_SAME);
		if (node[i] < 0)
			return false;
	}
	node[0] = node[at];
	node[at] = m->self;
	m->arg[k] = arg_nodes(w->p, node, n);
	return true;
}

/* Operands whose form follows from self alone come first, then those that follow from them. */
static int order_of(enum role r) { return role_has(r, RF_FOLLOWS_LAST) ? 2 : role_has(r, RF_FOLLOWS) ? 1 : 0; }

/* Is operand k of none of the results that the row is asked for? Where a list of bools asks, its entries are the gradients of input,
 * weight and bias; of a bias that the row is not given, weight says the dtype. */
static bool may_be_none(const struct making *m, int k)
{
	const int asks = op_arg(m->op, N_output_mask), weight = op_arg(m->op, N_weight), bias = op_arg(m->op, N_bias);
	const int train = op_arg(m->op, N_train); /* then saved moments are read, else running ones */
	if (train >= 0 && k != weight)
		return m->arg[train].b != (param_of(m, k)->role == R_SAVED_NO_GRADIENT);
	if (asks < 0 || (k != weight && k != bias))
		return true;
	const bool *asked = m->arg[asks].bools;
	return k == bias ? !asked[2] : !asked[1] && (bias >= 0 || !asked[2]);
}

static bool draw_operands(struct world *w, struct making *m)
{
	for (int order = 0; order < 3; order++) {
		for (int k = 0; k < op_info[m->op].nparam; k++) {
			const struct param *q = param_of(m, k);
			if (m->done[k] || order_of(q->role) != order || (q->kind != K_TENSOR && q->kind != K_TENSORS))
				continue;
			m->done[k] = true;
			if (q->kind == K_TENSORS) {
				if (q->role == R_UINDICES && chance(w, PF_masks)) {
					if (!mask_list(w, m, k))
						return false;
				} else if (role_is_positions(q->role)) {
					if (!index_list(w, m, k, role_has(q->role, RF_UNIQUE) && !m->accumulate))
						return false;
				} else if (!tensor_list(w, m, k)) {
					return false;
				}
				continue;
			}
			if (draw_number(w, m, k))
				continue;
			if (q->optional && may_be_none(m, k) && choose_chance(w->c, 40))
				continue;
			int node = draw_operand(w, m, k);
			if (node < 0)
				return false;
			m->arg[k] = arg_tensor(node);
		}
	}
	return true;
}

/* ---- the node ------------------------------------------------------------------------------------------------------------ */

static void refuse(struct world *w, int op, const char *why)
{
	if (!w->stats)
		return;
	w->stats->refused[op]++;
	snprintf(w->stats->why[op], sizeof w->stats->why[op], "%.119s", why);
}

bool small_enough(struct world *w, int node)
{
	int64_t n = 0;
	for (int i = 0; i < w->p->node[node].nout; i++)
		n += meta_numel(&w->p->node[node].out[i].meta);
	return n <= 4 * w->max_numel;
}

void count_uses(struct world *w, const struct node *n)
{
	for (int k = 0; k < op_info[n->op].nparam; k++) {
		if (n->arg[k].tag == ARG_TENSOR)
			w->fact[n->arg[k].node].nuse++;
		for (int i = 0; n->arg[k].tag == ARG_TENSORS && i < n->arg[k].n; i++)
			if (n->arg[k].nodes[i] >= 0)
				w->fact[n->arg[k].nodes[i]].nuse++;
	}
}

/* Results of a row with several are taken apart at once: all of a few, some of many. */
static void add_getitems(struct world *w, int tuple)
{
	int nout = w->p->node[tuple].nout;
	for (int i = 0; i < nout; i++) {
		if (w->p->node[tuple].out[i].meta.absent)
			continue;
		if (nout > 3 && !(i == 0 || choose_chance(w->c, 300 / nout)))
			continue;
		int node = prog_add(w->p, OP_getitem, NULL);
		w->p->node[node].arg[A_getitem_self] = arg_tensor(tuple);
		w->p->node[node].arg[A_getitem_index] = arg_int(i);
		const char *why;
		if (!prog_infer_node(w->p, node, NULL) || !admit(w, node, &why))
			BUG("getitem refused");
		w->fact[tuple].nuse++;
	}
}

static bool build(struct world *w, struct making *m)
{
	struct err err = {0};
	if (m->anchor >= 0 && !choose_self(w, m))
		return false;
	if (!draw_plain_args(w, m) || !draw_operands(w, m))
		return false;
	draw_number_first(w, m);
	int node = prog_add(w->p, m->op, NULL);
	memcpy(w->p->node[node].arg, m->arg, sizeof m->arg);
	prog_defaults(w->p, node);
	if (!state_count(w, node) || !prog_infer_node(w->p, node, &err)) {
		refuse(w, m->op, err.msg);
		w->fact[node] = (struct fact){.root = node, .home = node, .usable = true};
		return w->alone; /* a call that must be refused */
	}
	const char *why = NULL;
	return small_enough(w, node) && admit(w, node, &why);
}

int add_op(struct world *w, int op, int self)
{
	struct prog *p = w->p;
	int nnode = p->nnode, nstorage = p->nstorage;
	int64_t seed = w->seed;
	struct making m = {.op = op, .anchor = op_self(op), .self = self};
	if (!build(w, &m)) {
		p->nnode = nnode;
		p->nstorage = nstorage;
		w->seed = seed;
		return -1;
	}
	int node = p->nnode - 1;
	count_uses(w, &p->node[node]);
	if (w->stats)
		w->stats->made[op]++;
	if (!w->fact[node].usable)
		add_getitems(w, node);
	return node;
}

void add_twin(struct world *w, int node)
{
	struct prog *p = w->p;
	const struct node *n = &p->node[node];
	struct making m = {.op = n->op, .anchor = op_self(n->op), .self = -1};
	const char *why;
	const int nnode = p->nnode, nstorage = p->nstorage;
	if (op_has(n->op, T_MUTATES | T_INPLACE_VIEW) || op_stated(n->op) >= 0 || n->nout != 1)
		return;
	memcpy(m.arg, n->arg, sizeof m.arg);
	if (m.anchor >= 0 && m.arg[m.anchor].tag == ARG_TENSOR)
		m.meta = *node_meta(p, m.self = m.arg[m.anchor].node);
	if (!draw_other_arg(w, &m))
		return;
	const int twin = prog_add(p, m.op, NULL);
	for (int k = 0; k < MAX_ARGS; k++)
		p->node[twin].arg[k] = own_copy(w, m.arg[k]);
	if (prog_infer_node(p, twin, NULL) && small_enough(w, twin) && admit(w, twin, &why)) {
		count_uses(w, &p->node[twin]);
		return;
	}
	p->nnode = nnode;
	p->nstorage = nstorage;
}
