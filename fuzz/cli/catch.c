/* catch.c: see catch.h. */
#include "fuzz/cli/catch.h"

#include <math.h>

#include "eager/run/interp.h"
#include "eager/lang/stated.h"
#include "oracle/judge/addends.h"
#include "fuzz/triage/profile.h"
#include "generated/op_input.h"

const char *const plant_name[NPLANTS] = {"dropped operand", "factor n/(n-len)", "zeroed row", "stale tensor", "+1 ULP on exact"};

enum knowledge knowledge_of(const struct num *n)
{
	int kinds = !(n->flags & NUM_NOFIN) + !!(n->flags & NUM_PINF) + !!(n->flags & NUM_NINF) + !!(n->flags & NUM_NAN);
	if (n->flags & (NUM_UNDEC | NUM_ANY) || kinds > 1)
		return KNOWN_NOT;
	if (num_is_exact(n) || n->flags & NUM_NOFIN)
		return KNOWN_EXACT;
	return n->rad > fabs(n->hi) / 2 ? KNOWN_WEAK : KNOWN_ENCLOSED;
}

struct catch_count catch_sum(const struct catch_table *t, enum plant p)
{
	struct catch_count c = {0};
	for (int k = 0; k < NKNOWLEDGE; k++) {
		c.planted += t->count[p][k].planted;
		c.flagged += t->count[p][k].flagged;
	}
	return c;
}

/* ---- programs ---------------------------------------------------------------------------------------------------------------------- */

static bool plain_float(const struct node *n)
{
	return n->op == OP_input && dtype_is_float(n->out[0].meta.dtype) && str_eq(n->arg[A_input_fill].str, "dyadic");
}

/* Data that decide sizes stay as they are. */
static void set_fill(struct prog *p, const char *fill)
{
	bool decides[MAX_NODES] = {false};
	prog_deciders(p, decides);
	for (int k = 0; k < p->ncall; k++)
		for (int i = 0; i < p->call[k].ninput; i++) {
			const int input = p->call[k].input[i].node;
			if (plain_float(&p->node[input]) && !decides[input])
				p->call[k].input[i].fill = NULL;
		}
	for (int i = 0; i < p->nnode; i++)
		if (plain_float(&p->node[i]) && !decides[i])
			p->node[i].arg[A_input_fill] = arg_str(p, fill);
}

bool catch_generate(struct prog *out, struct catch_case *c, int ncall, struct err *err)
{
	arena_reset(c->arena);
	if (!source_program(out, c->arena, &c->source, c->next++, err))
		return false;
	out->ncall = MIN(out->ncall, ncall);
	if (c->fill)
		set_fill(out, c->fill);
	return true;
}

/* ---- places ------------------------------------------------------------------------------------------------------------------------- */

struct plant_site {
	int call;
	bool grad;
	int index;
	const struct reference *ref;
	const struct ref_value *want;
	const struct result_tensor *got;
};

struct planter {
	struct catch_case *c;
	struct catch_table *t;
	struct prog *p;
	struct judge_case jc;
	struct result r;
	struct choices rnd;
	int nplace;
	struct plant_site *place;
};

static void add_place(struct planter *w, int call, bool grad, int index)
{
	const struct reference *ref = &w->jc.ref[call];
	const struct ref_value *want = grad ? &ref->grad[index] : &ref->out[index];
	const struct result_call *rc = &w->r.call[call];
	const struct result_tensor *got = grad ? &rc->grad[index] : &rc->out[index];
	if (want->present && got->present && got->data && want->n > 0 && want->meta.dtype == w->c->dtype)
		w->place[w->nplace++] = (struct plant_site){call, grad, index, ref, want, got};
}

static void find_places(struct planter *w)
{
	int n = 0;
	for (int k = 0; k < w->jc.ncalls; k++)
		n += w->jc.ref[k].nouts + w->jc.ref[k].ngrads;
	w->place = ARENA_NEW(w->c->arena, struct plant_site, n + 1);
	for (int k = 0; k < w->jc.ncalls; k++) {
		for (int i = 0; i < w->jc.ref[k].nouts; i++)
			add_place(w, k, false, i);
		for (int i = 0; i < w->jc.ref[k].ngrads; i++)
			add_place(w, k, true, i);
	}
}

static int64_t below(struct planter *w, int64_t n) { return (int64_t)choose_below(&w->rnd, (uint64_t)n); }

/* ---- plants: each fills `data` (a copy of the tensor) or says that this place does not do ---------------------------------------- */

typedef bool plant_fn(struct planter *w, const struct plant_site *at, unsigned char *data);

static double load(const struct plant_site *at, const void *data, int64_t k)
{
	return dtype_load_f(at->want->meta.dtype, (const unsigned char *)data + k * dtype_nbytes(at->want->meta.dtype));
}

static void store(const struct plant_site *at, unsigned char *data, int64_t k, double v)
{
	enum dtype t = at->want->meta.dtype;
	dtype_store_f(t, data + k * dtype_nbytes(t), dtype_round(t, v));
}

static bool plant_operand(struct planter *w, const struct plant_site *at, unsigned char *data)
{
	struct addends s;
	int64_t k = below(w, at->want->n);
	if (!ref_addends(&s, at->ref, at->want, k))
		return false;
	double typical = s.abs / (double)s.n;
	store(at, data, k, load(at, data, k) - (choose_chance(&w->rnd, 50) ? typical : -typical));
	return true;
}

static int long_dim(struct planter *w, const struct meta *m)
{
	int dim[MAX_RANK], n = 0;
	for (int d = 0; d < m->rank; d++)
		if (m->size[d] >= 2)
			dim[n++] = d;
	return n ? dim[below(w, n)] : -1;
}

static bool plant_factor(struct planter *w, const struct plant_site *at, unsigned char *data)
{
	int d = long_dim(w, &at->want->meta);
	if (d < 0)
		return false;
	int64_t n = at->want->meta.size[d], len = 1 + below(w, n - 1);
	for (int64_t k = 0; k < at->want->n; k++)
		store(at, data, k, load(at, data, k) * (double)n / (double)(n - len));
	return true;
}

static bool plant_row(struct planter *w, const struct plant_site *at, unsigned char *data)
{
	const struct meta *m = &at->want->meta;
	int d = long_dim(w, m);
	if (d < 0)
		return false;
	int64_t i = below(w, m->size[d]), inner = 1;
	for (int e = d + 1; e < m->rank; e++)
		inner *= m->size[e];
	for (int64_t k = 0; k < at->want->n; k++)
		if (k / inner % m->size[d] == i)
			store(at, data, k, 0);
	return true;
}

static bool plant_stale(struct planter *w, const struct plant_site *at, unsigned char *data)
{
	for (int k = 0; k < w->nplace; k++) {
		const struct plant_site *q = &w->place[k];
		if (q->call != at->call && q->grad == at->grad && q->index == at->index && meta_same_sizes(&q->want->meta, &at->want->meta)) {
			memcpy(data, q->got->data, at->got->nbytes);
			return true;
		}
	}
	return false;
}

static bool plant_ulp(struct planter *w, const struct plant_site *at, unsigned char *data)
{
	int64_t k = below(w, at->want->n);
	const struct num *want = &at->want->val[k];
	enum dtype t = at->want->meta.dtype;
	double v = load(at, data, k);
	if (!num_is_exact(want) || !isfinite(v))
		return false;
	/* Numbers of one sign are ordered as their bits are. */
	unsigned char *p = data + k * dtype_nbytes(t);
	uint64_t bits = 0;
	memcpy(&bits, p, (size_t)dtype_nbytes(t));
	bits++;
	memcpy(p, &bits, (size_t)dtype_nbytes(t));
	return true;
}

static plant_fn *const plants[NPLANTS] = {plant_operand, plant_factor, plant_row, plant_stale, plant_ulp};

/* ---- counting ------------------------------------------------------------------------------------------------------------------------ */

/* The best known element that differs; NKNOWLEDGE: none does. */
static enum knowledge changed(const struct plant_site *at, const unsigned char *data, int64_t *where)
{
	enum knowledge best = NKNOWLEDGE;
	for (int64_t k = 0; k < at->want->n; k++) {
		double a = load(at, at->got->data, k), b = load(at, data, k);
		if (a == b || (isnan(a) && isnan(b)))
			continue;
		enum knowledge q = knowledge_of(&at->want->val[k]);
		if (q < best) {
			best = q;
			*where = k;
		}
	}
	return best;
}

static bool flagged(struct planter *w, const struct plant_site *at, const unsigned char *data)
{
	struct arena *a = w->c->arena;
	struct result r = w->r;
	struct judgement j;
	r.call = ARENA_NEW(a, struct result_call, r.ncalls);
	memcpy(r.call, w->r.call, (size_t)r.ncalls * sizeof *r.call);
	struct result_call *c = &r.call[at->call];
	int n = at->grad ? c->ngrads : c->nouts;
	struct result_tensor *t = ARENA_NEW(a, struct result_tensor, n);
	memcpy(t, at->grad ? c->grad : c->out, (size_t)n * sizeof *t);
	t[at->index].data = data;
	if (at->grad)
		c->grad = t;
	else
		c->out = t;
	judge(&j, &w->jc, &r, 0, a);
	return j.status == JUDGE_MISMATCH;
}

static void report(
	struct planter *w, const struct plant_site *at, enum plant what, enum knowledge k, int64_t where, const unsigned char *data)
{
	if (w->c->missed)
		w->c->missed(w->c->ctx, w->p, what, k, w->p->node[at->want->node].name, &at->want->val[where], load(at, data, where));
}

static void plant(struct planter *w, enum plant what)
{
	enum { TRIES = 60 };
	struct arena_mark m = arena_mark(w->c->arena);
	for (int try = 0; try < TRIES && w->nplace; try++) {
		const struct plant_site *at = &w->place[below(w, w->nplace)];
		unsigned char *data = arena_alloc(w->c->arena, at->got->nbytes + 8);
		int64_t where = 0;
		memcpy(data, at->got->data, at->got->nbytes);
		enum knowledge k = plants[what](w, at, data) ? changed(at, data, &where) : NKNOWLEDGE;
		if (k == NKNOWLEDGE) {
			arena_release(w->c->arena, m);
			continue;
		}
		bool seen = flagged(w, at, data);
		w->t->count[what][k].planted++;
		w->t->count[what][k].flagged += seen;
		if (!seen)
			report(w, at, what, k, where, data);
		arena_release(w->c->arena, m);
		return;
	}
	arena_release(w->c->arena, m);
	w->t->idle[what]++;
}

bool catch_one(struct catch_table *t, struct catch_case *c, struct err *err)
{
	struct prog p;
	struct planter w = {.c = c, .t = t, .p = &p};
	struct licence_profile l;
	struct judgement j;
	struct err why = {0};
	int64_t number = c->next;
	CHECK(profile_named(&l, c->licence ? c->licence : "builtin:eager"));
	if (!catch_generate(&p, c, 1, err))
		return false;
	t->programs++;
	if (interp_run(&w.r, &p, c->arena, NULL, &why) != INTERP_OK || w.r.status != RES_OK
		|| !judge_prepare(&w.jc, &p, &l, TAPE_LIMITS_DEFAULT, c->arena)) {
		t->unjudged++;
		return true;
	}
	judge(&j, &w.jc, &w.r, 0, c->arena);
	if (j.status != JUDGE_PASS) {
		t->diverged++;
		return true;
	}
	find_places(&w);
	choices_from_seed(&w.rnd, mix64(c->source.seed ^ mix64((uint64_t)number + 0xca7c4)));
	for (int k = 0; k < NPLANTS; k++)
		plant(&w, (enum plant)k);
	choices_free(&w.rnd);
	return true;
}
