/* dynamic.c: see dynamic.h. */
#include "compiled/symbols/dynamic.h"

#include <inttypes.h>

#include "compiled/defects/defects.h"
#include "compiled/loops/schedule.h"
#include "compiled/loops/symbols.h"
#include "compiled/passes/validate.h"
#include "compiled/symbols/relations.h"
#include "eager/lang/stated.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

enum { MAX_SAMPLES = 160, LEAST_CONFIRMED = 2, FAR = 24 };

struct dynamic {
	const struct compile_options *o;
	struct sampled sampled;
	struct compilation_of hint; /* its loops: lowered, with symbols */
	int *of;                    /* by word: an entry of hint.l.poly, 0: the number */
	struct loops l;             /* behind all steps */
	struct arena *arena;
	int nsample;
	struct sample sample[MAX_SAMPLES];
	bool inside[MAX_SAMPLES]; /* it is the same program there */
	struct sample *unlike;    /* the first of a lattice that is another program */
	int64_t step;
};

/* ---- samples ---- */

static struct sample *take(struct dynamic *d, const int64_t *value)
{
	for (int k = 0; k < d->nsample; k++)
		if (memcmp(d->sample[k].value, value, sizeof d->sample[k].value) == 0)
			return &d->sample[k];
	if (d->nsample == MAX_SAMPLES)
		return NULL;
	sample_take(&d->sample[d->nsample], &d->sampled, value, d->arena);
	return &d->sample[d->nsample++];
}

static const int64_t *hint_of(const struct dynamic *d) { return d->sample[0].value; }

/* The sample at point k of the lattice: first those that polynomials are made of, then those beyond, which must confirm them. NULL: the
 * point is too small, or there is no room. */
static struct sample *lattice_sample(struct dynamic *d, int64_t step, int k)
{
	const int n = fit_points(d->sampled.nsymbol);
	int64_t value[MAX_POLY_SYMBOLS];
	int point[MAX_POLY_SYMBOLS];
	if (k < n)
		fit_point(point, k, d->sampled.nsymbol);
	else
		fit_point_beyond(point, k - n, d->sampled.nsymbol);
	for (int s = 0; s < MAX_POLY_SYMBOLS; s++)
		value[s] = hint_of(d)[s] + step * point[s];
	for (int s = 0; s < d->sampled.nsymbol; s++)
		if (value[s] < LEAST_SYMBOL)
			return NULL;
	return take(d, value);
}

static bool lattice_is_alike(struct dynamic *d, int64_t step, struct sample **at)
{
	for (int k = 0; k < fit_points(d->sampled.nsymbol); k++) {
		at[k] = lattice_sample(d, step, k);
		if (!at[k] || !sample_alike(&d->sample[0], at[k])) {
			if (at[k] && !d->unlike)
				d->unlike = at[k];
			return false;
		}
	}
	return true;
}

/* ---- polynomials ---- */

/* A word as an integer; false: a float that is none. */
static bool whole(int64_t *out, const struct sample *s, int k)
{
	double d = 0;
	*out = s->word[k];
	if (s->kind[k] == WORD_NUMBER)
		return true;
	if (s->kind[k] == WORD_F64) {
		memcpy(&d, &s->word[k], sizeof d);
	} else {
		float f;
		const uint32_t narrow = (uint32_t)s->word[k];
		memcpy(&f, &narrow, sizeof f);
		d = (double)f;
	}
	if (!(d > -0x1p50 && d < 0x1p50) || d != (double)(int64_t)d)
		return false;
	*out = (int64_t)d;
	return true;
}

static bool word_fits(int *of, struct dynamic *d, struct sample *const *at, int64_t step, int k)
{
	const int n = fit_points(d->sampled.nsymbol);
	int64_t value[MAX_FIT_POINTS], steps[MAX_POLY_SYMBOLS];
	struct poly p;
	bool one = true;
	*of = 0;
	for (int i = 0; i < n; i++)
		one &= at[i]->word[k] == at[0]->word[k];
	if (one)
		return true;
	for (int i = 0; i < n; i++)
		if (!whole(&value[i], at[i], k))
			return false;
	for (int s = 0; s < MAX_POLY_SYMBOLS; s++)
		steps[s] = step;
	if (!poly_fit(&p, d->sampled.nsymbol, hint_of(d), steps, value))
		return false;
	*of = loops_poly(&d->hint.l, &p);
	return true;
}

static bool fit(struct dynamic *d, struct sample *const *at, int64_t step, struct err *why)
{
	for (int k = 0; k < d->sample[0].n; k++)
		if (d->sample[0].kind[k] != WORD_FIXED && !word_fits(&d->of[k], d, at, step, k))
			return err_set(why, "a number is no polynomial of the sizes");
	d->step = step;
	return true;
}

/* Is word k of the hint's kind, and the number that its polynomial gives? */
static bool is_as_named(const struct dynamic *d, const struct sample *s, int k)
{
	int64_t is, must;
	if (s->kind[k] != d->sample[0].kind[k])
		return false;
	if (!d->of[k])
		return s->word[k] == d->sample[0].word[k];
	return whole(&is, s, k) && poly_value(&must, &d->hint.l.poly[d->of[k]], s->value) && is == must;
}

static bool is_inside(const struct dynamic *d, const struct sample *s)
{
	if (!sample_alike(&d->sample[0], s))
		return false;
	for (int k = 0; k < s->n; k++)
		if (!is_as_named(d, s, k))
			return false;
	return true;
}

/* Do the points beyond give the same program? Guards are made of the polynomials, so a wrong one may exclude what refutes it. */
static bool is_confirmed(struct dynamic *d, int64_t step)
{
	const int n = fit_points(d->sampled.nsymbol);
	for (int k = n; k < n + fit_points_beyond(d->sampled.nsymbol); k++) {
		const struct sample *at = lattice_sample(d, step, k);
		if (!at || !is_inside(d, at))
			return false;
	}
	return true;
}

/* ---- guards ---- */

/* Symbols are at least LEAST_SYMBOL, and of the lattice's residue. */
static void guard_symbols(struct dynamic *d)
{
	const int64_t by = d->step < 0 ? -d->step : d->step;
	for (int s = 0; s < d->sampled.nsymbol; s++) {
		struct poly p = poly_symbol(s), less = poly_number(LEAST_SYMBOL - 1);
		if (by > 1)
			guard_add(&d->hint.l, &(struct guard){GUARD_REST, p, by, hint_of(d)[s] % by});
		CHECK(poly_add(&p, &p, &less, -1));
		guard_add(&d->hint.l, &(struct guard){.relation = GUARD_GREATER, .p = p});
	}
}

/* A sample more, if there is room: what is seen there. False: there is no room. */
static bool look(struct dynamic *d, struct relations *r, const int64_t *value)
{
	const int before = d->nsample;
	if (!take(d, value))
		return false;
	if (d->nsample > before && (d->inside[before] = is_inside(d, &d->sample[before])))
		relations_see(r, value);
	return true;
}

static bool admitted_by_rest(const struct dynamic *d, const int64_t *value)
{
	const int64_t by = d->step < 0 ? -d->step : d->step;
	for (int s = 0; s < d->sampled.nsymbol; s++)
		if ((value[s] - hint_of(d)[s]) % by)
			return false;
	return true;
}

/* Sizes nearest to the hint at which the relation has a sign that was not seen yet. */
static bool witness(int64_t *value, const struct dynamic *d, const struct relation *r, unsigned sign)
{
	for (int64_t far = 1; far <= FAR; far++)
		for (int s = 0; s < 2 * d->sampled.nsymbol; s++) {
			memcpy(value, hint_of(d), sizeof d->sample[0].value);
			value[s / 2] += s % 2 ? far : -far;
			if (value[s / 2] >= LEAST_SYMBOL && admitted_by_rest(d, value) && relation_sign(r, value) == sign)
				return true;
		}
	return false;
}

/* Small sizes, where most of what sizes decide is decided, and some around the hint; `times` that of the hint. */
static const struct {
	int64_t times, more;
} usual[] = {{0, 2}, {0, 3}, {0, 4}, {0, 5}, {0, 7}, {0, 8}, {0, 9}, {0, 12}, {0, 16}, {0, 23}, {1, 5}, {1, 10}, {1, 18}, {1, -6}, {2, 2}};

static int64_t usual_value(const struct dynamic *d, int s, int k)
{
	return usual[k % ARRAY_LEN(usual)].times * hint_of(d)[s] + usual[k % ARRAY_LEN(usual)].more;
}

/* One symbol other than it was, and then all of them, no two alike. */
static void look_at_usual(struct dynamic *d, struct relations *r)
{
	int64_t value[MAX_POLY_SYMBOLS];
	for (int k = 0; k < ARRAY_LEN(usual); k++)
		for (int one = -1; one < d->sampled.nsymbol; one++) {
			bool sound = true;
			memcpy(value, hint_of(d), sizeof value);
			for (int s = 0; s < d->sampled.nsymbol; s++) {
				if (one == s || one == -1)
					value[s] = usual_value(d, s, one == -1 ? k + 3 * s : k);
				sound &= value[s] >= LEAST_SYMBOL;
			}
			if (sound && admitted_by_rest(d, value))
				look(d, r, value);
		}
}

static void learn(struct dynamic *d, struct relations *r)
{
	int64_t value[MAX_POLY_SYMBOLS];
	for (int k = 0; k < d->nsample; k++)
		if ((d->inside[k] = is_inside(d, &d->sample[k])))
			relations_see(r, d->sample[k].value);
	look_at_usual(d, r);
	for (int k = 0; k < r->n; k++)
		for (unsigned sign = SIGN_LESS; sign <= SIGN_MORE; sign *= 2)
			if (!(r->of[k].seen & sign) && witness(value, d, &r->of[k], sign) && !look(d, r, value))
				return;
}

/* The polynomial that is 0 or more where a guard of order holds; of NOT_EQUAL: where it does because p is above 0. */
static bool at_least_zero(struct poly *out, const struct guard *g)
{
	const struct poly one = poly_number(1);
	*out = g->p;
	return g->relation == GUARD_GREATER_EQUAL || poly_add(out, &g->p, &one, -1);
}

/* Does a hold wherever b does? Proven. */
static bool implies(const struct guard *b, const struct guard *a)
{
	static const int64_t least[MAX_POLY_SYMBOLS] = {LEAST_SYMBOL, LEAST_SYMBOL, LEAST_SYMBOL};
	const bool of_order = (a->relation == GUARD_GREATER || a->relation == GUARD_GREATER_EQUAL || a->relation == GUARD_NOT_EQUAL)
		&& (b->relation == GUARD_GREATER || b->relation == GUARD_GREATER_EQUAL);
	struct poly x, y, more;
	return of_order && at_least_zero(&x, a) && at_least_zero(&y, b) && poly_add(&more, &x, &y, -1) && poly_is_positive(&more, least, false);
}

/* Those from `from` on that others imply. */
static void drop_implied(struct loops *l, int from)
{
	for (int k = from; k < l->nguard; k++) {
		bool implied = false;
		for (int i = 0; i < l->nguard && !implied; i++)
			implied = i != k && implies(&l->guard[i], &l->guard[k]) && !(i > k && implies(&l->guard[k], &l->guard[i]));
		if (!implied)
			continue;
		memmove(&l->guard[k], &l->guard[k + 1], (size_t)(l->nguard - k - 1) * sizeof *l->guard);
		l->nguard--;
		k--;
	}
}

static bool guard_relations(struct dynamic *d, struct err *why)
{
	struct relations r;
	struct guard g;
	int confirmed = 0;
	CHECK(relations_find(&r, &d->hint, d->of, d->hint.l.poly, d->o->freezing, d->arena));
	learn(d, &r);
	guard_symbols(d);
	const int first = d->hint.l.nguard; /* what proofs rest on stays as it is */
	for (int k = 0; k < r.n; k++)
		if (relation_guard(&g, &r.of[k]))
			guard_add(&d->hint.l, &g);
	for (int k = 0; k < d->nsample; k++) {
		const struct sample *s = &d->sample[k];
		confirmed += d->inside[k];
		if (!d->inside[k] && s->compiled && loops_guards_hold(&d->hint.l, s->value, NULL))
			return err_set(why, "guards do not tell its sizes apart");
	}
	drop_implied(&d->hint.l, first);
	return confirmed >= fit_points(d->sampled.nsymbol) + LEAST_CONFIRMED || err_set(why, "too few sizes confirm it");
}

/* ---- the loops ---- */

/* Nothing but statements of rows reads it. */
static bool is_of_data(const struct prog *p, int sym)
{
	bool others[MAX_NODES] = {false}, stated = false;
	for (int i = 0; i < p->nnode; i++) {
		const int k = op_stated(p->node[i].op), e = k < 0 ? -1 : p->node[i].arg[k].i.expr;
		stated |= e >= 0 && p->expr[e].op == EX_SYM && p->expr[e].a == sym;
		stated_mark_others(p, &p->node[i], others);
	}
	return stated && !others[sym];
}

/* Where the symbol's value is read: a size of an input that is just it, else the argument, unless data give it. */
static struct size_symbol binding(const struct dynamic *d, int s)
{
	const struct prog *p = &d->hint.source;
	struct size_symbol out = {.bound = true, .hint = hint_of(d)[s], .input = -1, .dim = s, .data = is_of_data(p, d->sampled.symbol[s])};
	int input = 0;
	for (int i = 0; i < p->nnode; i++) {
		if (!node_is_input(&p->node[i]))
			continue;
		const struct arg *size = node_arg(&p->node[i], N_size);
		for (int k = 0; k < size->n; k++) {
			const int e = size->ints[k].expr;
			if (e >= 0 && p->expr[e].op == EX_SYM && p->expr[e].a == d->sampled.symbol[s]) {
				out.input = input;
				out.dim = k;
				return out;
			}
		}
		input++;
	}
	return out;
}

struct naming {
	const int *of;
	int next;
};

static void name_number(struct words *w, enum word_kind kind, int64_t *value, int *of)
{
	struct naming *n = w->ctx;
	(void)value;
	if (kind != WORD_FIXED && of)
		*of = n->of[n->next];
	n->next++;
}

/* The hint's lowered loops get their polynomials. */
static void name_numbers(struct dynamic *d)
{
	struct naming n = {.of = d->of};
	struct words w = {.word = name_number, .ctx = &n, .changes = true};
	d->hint.l.nsymbol = d->sampled.nsymbol;
	for (int s = 0; s < d->sampled.nsymbol; s++)
		d->hint.l.symbol[s] = binding(d, s);
	sample_walk(&w, &d->hint);
	loops_find_uses(&d->hint.l);
}

/* ---- the whole ---- */

/* False: which sizes make another program of it. */
static bool unlike(const struct dynamic *d, struct err *why)
{
	char text[64] = "";
	for (int s = 0, n = 0; d->unlike && s < d->sampled.nsymbol; s++)
		n += snprintf(text + n, sizeof text - (size_t)n, "%ss%d = %" PRId64, s ? ", " : "", s, d->unlike->value[s]);
	return err_set(why, "other sizes are compiled to another program%s%s", text[0] ? ": " : "", text);
}

static bool generalised(struct dynamic *d, struct err *why)
{
	static const int64_t steps[] = {1, -1, 2, -2, 3, 4, 6};
	struct sample *at[MAX_FIT_POINTS];
	for (int s = 0; s < d->sampled.nsymbol; s++)
		if (hint_of(d)[s] < LEAST_SYMBOL)
			return err_set(why, "a size of %lld", (long long)hint_of(d)[s]);
	d->of = ARENA_ZNEW(d->arena, int, d->sample[0].n);
	bool alike = false, fits = false;
	for (int k = 0; k < ARRAY_LEN(steps) && !fits; k++)
		if (lattice_is_alike(d, steps[k], at)) {
			struct err no = {0};
			alike = true;
			fits = fit(d, at, steps[k], &no) && is_confirmed(d, steps[k]);
		}
	if (!fits)
		return alike ? err_set(why, "a number is no polynomial of the sizes") : unlike(d, why);
	return guard_relations(d, why);
}

static enum compile_status broken(
	struct dynamic_made *made, const struct dynamic *d, const char *step, const struct err *why, struct err *err)
{
	made->violation = validate_violation(why->msg, step, d->arena);
	err_set(err, "invariant after %s: %s", step, why->msg);
	return COMPILE_BROKEN;
}

static enum compile_status finish(struct dynamic *d, struct dynamic_made *made, struct err *err)
{
	const struct code_options *code = &d->o->code;
	const char *step = "symbols";
	struct err why = {0};
	bool spoilt = false;
	if (!d->o->to_code)
		return COMPILE_OK;
	loops_clone(&d->l, &d->hint.l, d->arena);
	struct defect_site site = {.l = &d->l};
	made->planted |= defect_plant(d->o->defect, "symbols", &site);
	if (d->o->validate && !loops_validate_symbols(&d->l, &why))
		return broken(made, d, step, &why, err);
	const bool ok = code_rest(&d->l, &spoilt, code, d->o->validate ? &step : NULL, d->o->defect, &why);
	made->planted |= spoilt;
	return ok ? COMPILE_OK : broken(made, d, step, &why, err);
}

/* A program in another process, or on a GPU, has all its memory before it begins. */
static bool takes_data(const struct compile_options *o)
{
	return !o->to_code || (o->code.engine != CODE_PACKAGE && o->code.engine != CODE_CUDA);
}

enum compile_status dynamic_compile(struct dynamic **out, struct dynamic_made *made, const struct prog *bound,
	const struct compile_options *o, struct arena *a, struct err *err)
{
	struct dynamic *d = ARENA_ZNEW(a, struct dynamic, 1);
	CHECK(!o->partition);
	*out = NULL;
	*made = (struct dynamic_made){.planted = false};
	d->o = o;
	d->arena = a;
	if (!sampled_of(&d->sampled, bound, o, err))
		return COMPILE_OK;
	const enum compile_status status = sample_compile(&d->hint, bound, o, true, a, err);
	d->sampled.bound = &d->hint.source;
	*made = (struct dynamic_made){.planted = d->hint.planted, .violation = d->hint.c.violation};
	if (status != COMPILE_OK)
		return status;
	int64_t value[MAX_POLY_SYMBOLS] = {LEAST_SYMBOL, LEAST_SYMBOL, LEAST_SYMBOL};
	for (int s = 0; s < d->sampled.nsymbol; s++)
		value[s] = bound->node[d->sampled.symbol[s]].sym_value;
	sample_of(&d->sample[d->nsample++], &d->hint, value, a);
	if (!d->sampled.nsymbol) {
		err_set(err, "it has no symbols");
		return COMPILE_OK;
	}
	for (int s = 0; s < d->sampled.nsymbol; s++)
		if (!takes_data(o) && is_of_data(d->sampled.bound, d->sampled.symbol[s])) {
			err_set(err, "a size that is data, which this stage's code cannot bind on its way");
			return COMPILE_OK;
		}
	if (!generalised(d, err))
		return COMPILE_OK;
	name_numbers(d);
	*out = d;
	return finish(d, made, err);
}

const struct loops *dynamic_loops(const struct dynamic *d) { return d->o->to_code ? &d->l : NULL; }
const struct compiled *dynamic_compiled(const struct dynamic *d) { return &d->hint.c; }

/* ---- calls ---- */

static bool values_of(int64_t *value, const struct dynamic *d, const struct prog *bound, struct err *err)
{
	return loops_bind_symbols(value, &d->hint.l, bound, err);
}

bool dynamic_serves(const struct dynamic *d, const struct prog *bound, struct err *why)
{
	int64_t value[MAX_POLY_SYMBOLS];
	return values_of(value, d, bound, why) && loops_guards_of_hold(&d->hint.l, value, 0, loops_symbols_of_data(&d->hint.l), why);
}

bool dynamic_fits(const struct dynamic *d, const struct prog *bound, struct err *why)
{
	int64_t value[MAX_POLY_SYMBOLS];
	return values_of(value, d, bound, why) && loops_guards_hold(&d->hint.l, value, why);
}

struct writing {
	const struct dynamic *d;
	const int64_t *value;
	int next;
};

static void write_number(struct words *w, enum word_kind kind, int64_t *value, int *of)
{
	struct writing *x = w->ctx;
	const int entry = x->d->of[x->next++];
	int64_t v;
	(void)of;
	if (kind == WORD_FIXED || !entry)
		return;
	CHECK(poly_value(&v, &x->d->hint.l.poly[entry], x->value));
	*value = kind == WORD_NUMBER ? v : word_of_float(kind, v);
}

static void skip(struct words *w, enum word_kind kind, int64_t *value, int *of)
{
	(void)kind;
	(void)value;
	(void)of;
	((struct writing *)w->ctx)->next++;
}

/* Inputs are the first rows of both, in one order. */
static void give_data(struct prog *p, const struct prog *bound)
{
	static const int names[] = {N_seed, N_fill, N_data, N_high};
	int next = 0;
	for (int i = 0; i < bound->nnode; i++) {
		if (!node_is_input(&bound->node[i]))
			continue;
		CHECK(next < p->nnode && p->node[next].op == bound->node[i].op);
		for (int k = 0; k < ARRAY_LEN(names); k++)
			if (node_arg(&bound->node[i], names[k]))
				p->node[next].arg[op_arg(p->node[next].op, names[k])] = *node_arg(&bound->node[i], names[k]);
		next++;
	}
}

void dynamic_at(struct compiled *out, struct call_sizes *sizes, const struct dynamic *d, const struct prog *bound, struct arena *a)
{
	struct writing x = {.d = d, .value = sizes->symbol};
	struct words skipping = {.word = skip, .ctx = &x}, writing = {.word = write_number, .ctx = &x, .changes = true};
	struct compilation_of hint = d->hint;
	CHECK(values_of(sizes->symbol, d, bound, NULL));
	words_of_program(&skipping, &hint.source);
	*out = d->hint.c;
	struct prog *p = &out->part[0].p;
	p->arena = a;
	p->node = ARENA_NEW(a, struct node, MAX(p->nnode, 1));
	p->cap_node = p->nnode;
	memcpy(p->node, d->hint.c.part[0].p.node, (size_t)p->nnode * sizeof *p->node);
	words_of_program(&writing, p);
	give_data(p, bound);
	sizes->p = p;
}

/* ---- I6b ---- */

/* Loops that are marked in `marked` and not in `sound`. */
static bool marks_hold(const struct loops *marked, const struct loops *sound, struct err *err)
{
	for (int i = 0; i < marked->nins; i++)
		if ((marked->ins[i].parallel && !sound->ins[i].parallel)
			|| (marked->ins[i].summed && !sound->ins[i].summed && !sound->ins[i].parallel))
			return err_set(err, "I6b: loop %d is marked, though its order matters at this call's sizes", i);
	return true;
}

static bool validate_marks(const struct dynamic *d, const int64_t *value, struct arena *a, struct err *err)
{
	struct loops at, sound;
	struct err why = {0};
	if (!d->o->to_code || !d->o->code.schedule || d->o->defect)
		return true;
	if (!loops_at(&at, &d->l, value, a, &why) || !loops_at(&sound, &d->l, value, a, &why))
		return err_set(err, "I6b: %s", why.msg);
	for (int i = 0; i < sound.nins; i++)
		sound.ins[i].parallel = sound.ins[i].summed = false;
	loops_schedule(&sound);
	return marks_hold(&at, &sound, err);
}

/* Which row of which program a word is of: the compiled one's, unless it is the source's. */
struct finding {
	int next, at;
	const struct prog *p;
	const struct node *node; /* NULL: none */
};

static void find_node(struct words *w, enum word_kind kind, int64_t *value, int *of)
{
	struct finding *f = w->ctx;
	(void)kind;
	(void)value;
	(void)of;
	if (f->next++ == f->at && w->node >= 0 && w->what != WORD_LOOPS)
		f->node = &f->p->node[w->node];
}

/* The first row in which s is other than the polynomials say; NULL: the first difference is in no row. */
static const struct node *first_other(const struct dynamic *d, const struct sample *s)
{
	struct compilation_of hint = d->hint;
	struct finding f = {.at = 0, .p = &hint.source};
	struct words w = {.word = find_node, .ctx = &f};
	const int n = s->compiled ? MIN(s->n, d->sample[0].n) : 0;
	while (f.at < n && is_as_named(d, s, f.at))
		f.at++;
	if (f.at == n)
		return NULL;
	words_of_program(&w, &hint.source);
	f.p = &hint.c.part[0].p;
	words_of_program(&w, &hint.c.part[0].p);
	return f.node;
}

static bool validate_words(const struct dynamic *d, const struct sample *s, struct err *err)
{
	if (is_inside(d, s))
		return true;
	const struct node *other = first_other(d, s);
	if (other)
		return err_set(err, "I6b: compiled for this call's sizes '%s' (%s) is another row", other->name, op_info[other->op].name);
	return err_set(err, "I6b: compiled for this call's sizes it is another program");
}

bool dynamic_validate(
	struct result_violation *violation, const struct dynamic *d, const struct prog *bound, struct arena *a, struct err *err)
{
	struct arena own;
	struct sample s;
	int64_t value[MAX_POLY_SYMBOLS];
	struct err why = {0};
	bool ok = values_of(value, d, bound, &why);
	arena_init(&own);
	if (ok) {
		sample_take(&s, &d->sampled, value, &own);
		ok = validate_words(d, &s, &why) && validate_marks(d, value, &own, &why);
	}
	arena_free(&own);
	if (ok)
		return true;
	*violation = validate_violation(why.msg, "symbols", a);
	return err_set(err, "invariant after symbols: %s", why.msg);
}
