/* gen.c: a program: nodes, ends (returns, linear reductions), cotangents, calls; then inputs are moved to the front. */
#include "eager/lang/edit.h"
#include "eager/lang/stated.h"
#include "fuzz/gen/gen_internal.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

/* ---- nodes --------------------------------------------------------------------------------------------------------- */

static bool is_plain(int op)
{
	return (op_info[op].family == F_POINTWISE || op_has(op_computing(op), T_POINTWISE)) && !op_has(op, T_NUMBERS);
}

int draw_op(struct world *w)
{
	if (w->pol->nlibrary && chance(w, PF_library))
		return w->pol->library[choose_below(w->c, (uint64_t)w->pol->nlibrary)];
	int f = choose_weighted(w->c, w->pol->family, NFAMILIES);
	if (f < 0)
		return -1;
	/* x + 1, x / 2 are what Python programs are full of: pointwise rows that take a number have three draws, the others one. In place most
	 * rows are pointwise ones; fills, scatters and x += y are what goes wrong. */
	int op = w->pol->by_family[f][choose_below(w->c, (uint64_t)w->pol->nby_family[f])];
	const int more = f == F_POINTWISE ? 2 : f == F_INPLACE ? 4 : 0;
	for (int again = 0; again < more && is_plain(op); again++)
		op = w->pol->by_family[f][choose_below(w->c, (uint64_t)w->pol->nby_family[f])];
	return op;
}

static bool add_nodes(struct world *w)
{
	int want = (int)choose_int(w->c, w->pol->min_nodes, w->pol->max_nodes), made = 0;
	/* A draw may be impossible for the dtypes of this block or the values at hand. */
	for (int tries = 0; made < want && tries < 4 * want + 24; tries++) {
		int op = draw_op(w);
		if (op < 0)
			return false;
		if (w->p->nnode > MAX_NODES / 2)
			break;
		bool assigned = chance(w, PF_assign);
		int node = assigned ? -1 : add_op(w, op, -1);
		made += assigned ? add_assignment(w) : node >= 0;
		if (node >= 0 && (chance(w, PF_twin) || (w->zeros && choose_chance(w->c, 50))))
			add_twin(w, node);
	}
	return made > 0;
}

/* ---- ends ------------------------------------------------------------------------------------------------------------ */

bool is_input(const struct world *w, int node) { return op_info[w->p->node[node].op].family == F_INPUT; }

/* A linear reduction of the value, or the value itself. */
static int reduced(struct world *w, int node)
{
	if (!has_grad(w, node) || !w->pol->nreduction || !chance(w, PF_reduce_end))
		return node;
	int op = w->pol->reduction[choose_below(w->c, (uint64_t)w->pol->nreduction)];
	int r = add_op(w, op, node);
	return r < 0 ? node : r;
}

static bool returned(const struct prog *p, int node)
{
	for (int i = 0; i < p->nret; i++)
		if (p->ret[i] == node)
			return true;
	return false;
}

void add_return(struct world *w, int node)
{
	if (w->p->nret < MAX_RETURNS && !returned(w->p, node) && !w->fact[node].renamed)
		w->p->ret[w->p->nret++] = node;
}

void add_ends(struct world *w)
{
	struct prog *p = w->p;
	int nnode = p->nnode, sink[MAX_NODES], n = 0;
	for (int i = 0; i < nnode; i++) {
		if (!w->fact[i].usable || is_input(w, i) || returned(p, i))
			continue;
		bool changed = home_of(w, i)->written && !op_has(p->node[i].op, T_MUTATES);
		if (w->fact[i].nuse == 0 || w->fact[i].kept || chance(w, PF_extra_return) || (changed && chance(w, PF_alias)))
			sink[n++] = i;
	}
	for (int i = 0; i < n; i++)
		add_return(w, reduced(w, sink[i]));
}

/* ---- cotangents ---------------------------------------------------------------------------------------------------------- */

static int add_full(struct world *w, const struct meta *m, int rank)
{
	int node = prog_add(w->p, OP_full, NULL);
	struct node *n = &w->p->node[node];
	n->arg[A_full_size] = arg_ints(w->p, m->size, rank);
	n->arg[A_full_fill_value] = arg_scalar_f(choose_chance(w->c, 30) ? 0.5 : 1.0);
	if (m->dtype != DT_F32)
		n->arg[A_full_dtype] = arg_dtype(m->dtype);
	if (!prog_infer_node(w->p, node, NULL))
		BUG("full refused");
	return node;
}

static int expanded(struct world *w, int node, const struct meta *m)
{
	int e = prog_add(w->p, OP_expand, NULL);
	w->p->node[e].arg[A_expand_self] = arg_tensor(node);
	w->p->node[e].arg[A_expand_size] = arg_ints(w->p, m->size, m->rank);
	if (!prog_infer_node(w->p, e, NULL))
		BUG("expand refused");
	return e;
}

/* Windows over data of fewer cells, along one dim; -1: no room for them. */
static int add_windows(struct world *w, const struct meta *m)
{
	int d = m->rank < 2 || differentiates_scatter(w) ? -1 : (int)choose_below(w->c, (uint64_t)m->rank - 1);
	if (d < 0 || m->size[d] == 0 || m->size[m->rank - 1] == 0)
		return -1;
	struct shape s = shape_of(m);
	int64_t length = s.size[--s.rank], step = choose_int(w->c, 1, length);
	s.size[d] = (m->size[d] - 1) * step + length;
	int base = add_input(w, &s, &(struct input_spec){.dtype = m->dtype, .no_grad = true, .no_overlap = true, .no_view = true});
	if (base < 0)
		return -1;
	int node = prog_add(w->p, OP_unfold, NULL);
	struct node *n = &w->p->node[node];
	n->arg[A_unfold_self] = arg_tensor(base);
	n->arg[A_unfold_dimension] = arg_int(d);
	n->arg[A_unfold_size] = arg_int(length);
	n->arg[A_unfold_step] = arg_int(step);
	if (!prog_infer_node(w->p, node, NULL))
		BUG("unfold refused");
	return node;
}

/* Ones (or halves) of stride 0; windows; data, dense or with a layout of its own; data expanded from fewer dims. */
static int add_cotangent(struct world *w, const struct meta *m)
{
	struct input_spec spec = {.dtype = m->dtype, .no_grad = true, .no_overlap = true, .no_view = true};
	struct shape s = shape_of(m);
	int windows = chance(w, PF_cot_overlap) ? add_windows(w, m) : -1;
	if (windows >= 0)
		return windows;
	if (m->rank && chance(w, PF_cot_broadcast)) {
		if (choose_chance(w->c, 50))
			return expanded(w, add_full(w, m, 0), m);
		s.size[choose_below(w->c, (uint64_t)s.rank)] = 1;
		int part = add_input(w, &s, &spec);
		return expanded(w, part < 0 ? add_full(w, m, 0) : part, m);
	}
	if (choose_chance(w->c, 25))
		return add_full(w, m, m->rank);
	/* A plain input unless layouts are wanted here. */
	struct policy plain = *w->pol;
	const struct policy *old = w->pol;
	if (!chance(w, PF_cot_layout)) {
		plain.chance[PF_permuted] = plain.chance[PF_gapped] = plain.chance[PF_offset] = 0;
		w->pol = &plain;
	}
	int node = add_input(w, &s, &spec);
	w->pol = old;
	return node < 0 ? add_full(w, m, m->rank) : node;
}

enum { LATE_CHANCE = 20 }; /* percent of the programs with a backward: the next forward runs before it */

static void add_backward(struct world *w)
{
	struct prog *p = w->p;
	for (int i = 0; i < p->nret; i++) {
		if (p->node[p->ret[i]].refusal || !has_grad(w, p->ret[i]))
			continue;
		struct meta m = *node_meta(p, p->ret[i]);
		int cot = add_cotangent(w, &m);
		p->back[p->nback++] = (struct backward){p->ret[i], cot};
		p->has_backward = true;
	}
}

/* ---- calls ------------------------------------------------------------------------------------------------------------------ */

static const char *draw_fill(struct world *w, int call)
{
	if (!w->no_special && chance(w, PF_special))
		return "special";
	if (chance(w, PF_ties))
		return "ties";
	return call == 0 || choose_chance(w->c, 50) ? "normal" : NULL;
}

/* Other seeds everywhere, but of data that decide sizes; another fill where the input has the default one. */
static void add_calls(struct world *w)
{
	struct prog *p = w->p;
	bool decides[MAX_NODES] = {false};
	prog_deciders(p, decides);
	p->ncall = 2 + choose_chance(w->c, 20);
	for (int c = 0; c < p->ncall; c++) {
		const char *fill = draw_fill(w, c);
		struct call *k = &p->call[c];
		*k = (struct call){.input = ARENA_NEW(p->arena, struct call_input, p->nnode)};
		for (int i = 0; i < p->nnode; i++) {
			const struct node *n = &p->node[i];
			if (n->op != OP_input || node_given(n, A_input_data) || decides[i])
				continue;
			bool plain = str_eq(n->arg[A_input_fill].str, "dyadic") && dtype_is_float(n->arg[A_input_dtype].dtype);
			bool ints = str_eq(n->arg[A_input_fill].str, "dyadic") && n->arg[A_input_dtype].dtype != DT_B8;
			uint64_t seed = (uint64_t)n->arg[A_input_seed].i.value + 100 * (uint64_t)(c + 1);
			k->input[k->ninput++] = (struct call_input){.node = i, .seed = seed, .fill = plain || ints ? fill : NULL};
		}
	}
}

/* ---- order --------------------------------------------------------------------------------------------------------------------- */

/* Inputs of the function first, then its nodes, then the cotangents with their inputs. */
static bool inputs_first(struct world *w, int ncompute, struct err *err)
{
	struct prog *p = w->p;
	int order[MAX_NODES], n = 0;
	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < ncompute; i++)
			if (is_input(w, i) == (pass == 0))
				order[n++] = i;
	for (int i = ncompute; i < p->nnode; i++)
		order[n++] = i;
	return edit_reorder(p, order, n, err);
}

/* ---- surface ------------------------------------------------------------------------------------------------------------------- */

static void draw_surface(struct world *w)
{
	int torch = w->pol->chance[PF_torch], python = w->pol->chance[PF_python];
	const int weight[NSURFACES] = {[SURFACE_ATEN] = MAX(100 - torch - python, 0), [SURFACE_TORCH] = torch, [SURFACE_PYTHON] = python};
	w->p->surface = (enum surface)choose_weighted(w->c, weight, NSURFACES);
}

bool finish_program(struct world *w, struct err *err)
{
	int ncompute = w->p->nnode;
	add_backward(w);
	if (!inputs_first(w, ncompute, err))
		return false;
	add_calls(w);
	if (!w->p->must_raise && prog_states(w->p) && chance(w, PF_counts))
		vary_counts(w);
	if (!w->p->must_raise && chance(w, PF_symbols))
		add_symbol(w);
	draw_surface(w);
	if (!w->p->must_raise && chance(w, PF_items))
		add_item(w);
	w->p->late = w->p->has_backward && !w->p->must_raise && choose_chance(w->c, LATE_CHANCE);
	return true;
}

void begin_program(struct world *w, struct prog *out, struct arena *a, struct choices *c, const struct policy *pol)
{
	prog_init(out, a);
	w->p = out;
	w->c = c;
	w->pol = pol;
	w->no_special = w->lane = w->alone = false;
	w->self_dtype = -1;
	w->unseen = chance(w, PF_unseen);
	w->zeros = chance(w, PF_zeros);
	w->seed = 1 + 10 * (int64_t)choose_below(c, 1000);
	w->max_numel = pol->max_numel;
	draw_pool(w);
}

bool gen_program_stats(
	struct prog *out, struct arena *a, struct choices *c, const struct policy *pol, struct gen_stats *stats, struct err *err)
{
	/* Facts of nodes are written when nodes are added: no need to clear them. */
	struct world *w = ARENA_NEW(a, struct world, 1);
	for (int attempt = 0;; attempt++) {
		begin_program(w, out, a, c, pol);
		w->stats = stats;
		if (add_nodes(w)) {
			add_ends(w);
			if (out->nret)
				break;
		}
		if (attempt == 8)
			return err_set(err, "the policy admits no operator for its dtypes");
	}
	if (!pol->restricted && chance(w, PF_illegal) && choose_chance(c, 50))
		add_illegality(w);
	else if (!pol->restricted && chance(w, PF_outside))
		add_outside(w);
	if (!finish_program(w, err))
		return false;
	if (stats)
		stats->nprogram++;
	return true;
}

bool gen_program(struct prog *out, struct arena *a, struct choices *c, const struct policy *pol, struct err *err)
{
	return gen_program_stats(out, a, c, pol, NULL, err);
}
