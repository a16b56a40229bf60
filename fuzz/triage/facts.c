/* facts.c: facts as JSON, a function per key, in the order of facts.h. The reference is derived again: a judgement keeps counts and samples
 * of it, no elements. */
#include "fuzz/triage/facts.h"

#include <math.h>
#include <stdlib.h>

#include "compiled/targets/driver.h"
#include "eager/base/json.h"
#include "fuzz/triage/expected.h"

static void put_known(struct json *j, const char *key, const char *text)
{
	if (text && text[0])
		json_string(j, key, text);
}

static void put_ints(struct json *j, const char *key, const int64_t *v, int n)
{
	json_array(j, key);
	for (int i = 0; i < n; i++)
		json_int(j, NULL, v[i]);
	json_end(j);
}

/* Into the object that is open. */
static void put_layout(struct json *j, const struct meta *m)
{
	json_string(j, "dtype", dtype_info[m->dtype].name);
	put_ints(j, "size", m->size, m->rank);
	put_ints(j, "stride", m->stride, m->rank);
	json_int(j, "offset", m->offset);
}

/* ---- the wrong tensor ---------------------------------------------------------------------------------------------------------------- */

struct wrong {
	const struct tensor_verdict *v;
	bool expected_none, got_none;
	struct meta expected, got;
	int storage;
	const struct num *val; /* what the elements must be; NULL: … */
	const void *then;      /* … what they were */
	const void *data;      /* what they are; NULL: none */
};

/* An input's storage: cells in a row. */
static void find_storage(struct wrong *w, const struct reference *ref, const struct result *r)
{
	const int index = w->v->index;
	const struct ref_cells *cells = &ref->storage[index];
	meta_make_contiguous(&w->expected, cells->dtype, &cells->n, 1);
	w->got = w->expected;
	w->storage = index;
	w->val = cells->val;
	w->data = r->call[w->v->call].storage[index].data;
}

static void find_value(struct wrong *w, const struct reference *ref, const struct result *r)
{
	const struct result_call *c = &r->call[w->v->call];
	const struct ref_value *must = expected_value(ref, w->v->role, w->v->index);
	const struct result_tensor *is = w->v->role == TR_OUTPUT ? &c->out[w->v->index] : &c->grad[w->v->index];
	w->expected_none = !must->present;
	w->expected = must->meta;
	w->val = must->val;
	w->got_none = !is->present;
	w->got = is->meta;
	w->storage = is->storage;
	w->data = is->present ? is->data : NULL;
}

/* What it was is what it must be. */
static void find_later(struct wrong *w, const struct result *r)
{
	for (int i = 0; i < r->nchange; i++) {
		const struct result_change *c = &r->change[i];
		if (c->call != w->v->call || c->role != w->v->role || c->index != w->v->index)
			continue;
		w->expected_none = w->got_none;
		w->expected = w->got;
		w->val = NULL;
		w->then = w->data;
		w->data = c->role == TR_STORAGE ? c->storage.data : c->tensor.data;
		if (c->role == TR_STORAGE || c->what[0])
			continue;
		w->got_none = !c->tensor.present;
		w->got = c->tensor.meta;
	}
}

/* False: no tensor is wrong, or the reference does not have it. */
static bool find_wrong(struct wrong *w, const struct facts *f, struct references *refs)
{
	const struct tensor_verdict *v = failure_tensor(&f->ran->outcome);
	const struct reference_of *of = v ? references_get(refs, f->t) : NULL;
	*w = (struct wrong){.v = v};
	if (!of || !of->ok || v->call >= of->jc.ncalls || v->call >= f->ran->result.ncalls)
		return false;
	if (v->role == TR_STORAGE)
		find_storage(w, &of->jc.ref[v->call], &f->ran->result);
	else
		find_value(w, &of->jc.ref[v->call], &f->ran->result);
	if (v->later)
		find_later(w, &f->ran->result);
	return true;
}

static void put_tensor(struct json *j, const struct facts *f, const struct wrong *w)
{
	static const char *const role_name[NTENSOR_ROLES] = {[TR_OUTPUT] = "output", [TR_GRADIENT] = "gradient", [TR_STORAGE] = "input"};
	json_object(j, "tensor");
	json_string(j, "name", f->ran->outcome.tensor);
	json_string(j, "role", role_name[w->v->role]);
	json_int(j, "index", w->v->index);
	if (w->v->call)
		json_int(j, "call", w->v->call);
	if (w->v->later)
		json_bool(j, "later", true);
	if (w->expected_none) {
		json_null(j, "expected");
	} else {
		json_object(j, "expected");
		put_layout(j, &w->expected);
		json_end(j);
	}
	if (w->got_none) {
		json_null(j, "got");
	} else {
		json_object(j, "got");
		put_layout(j, &w->got);
		json_int(j, "storage", w->storage);
		json_end(j);
	}
	json_end(j);
}

/* ---- its elements -------------------------------------------------------------------------------------------------------------------- */

/* The digits that a number of that dtype needs: whoever reads them as a double and rounds it to the dtype has it again. No fewer than
 * stand before the point: 20, not 2e+01. */
static int digits_of(double v, enum dtype dt)
{
	enum { MOST = 17 };
	char text[64];
	const double size = fabs(v);
	int digits = 1;
	for (double most = 10; digits < MOST && size < 0x1p53 && size >= most; most *= 10)
		digits++;
	for (; digits < MOST; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, v);
		if (dtype_round(dt, strtod(text, NULL)) == v)
			return digits;
	}
	return MOST;
}

static void put_float(struct json *j, double v, enum dtype dt)
{
	if (isfinite(v))
		json_digits(j, NULL, v, digits_of(v, dt));
	else
		json_string(j, NULL, isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
}

/* The one number that it must be, or the middle of an interval. */
static void put_num(struct json *j, const struct num *v, enum dtype dt)
{
	static const struct {
		int flag;
		double value;
	} special[] = {{NUM_PINF, INFINITY}, {NUM_NINF, -INFINITY}, {NUM_NAN, NAN}};
	const bool finite = !(v->flags & NUM_NOFIN);
	double value = finite ? num_rn(dt, v->hi, v->lo) : NAN;
	int n = finite;
	for (int i = 0; i < ARRAY_LEN(special); i++)
		if (v->flags & special[i].flag) {
			value = special[i].value;
			n++;
		}
	if (n != 1 || v->flags & (NUM_ANY | NUM_UNDEC) || (finite && !isfinite(value)))
		json_null(j, NULL);
	else
		put_float(j, value == 0 && !(v->flags & NUM_MOVED) ? 0 : value, dt);
}

static void put_cell(struct json *j, enum dtype dt, const void *data, int64_t k)
{
	const unsigned char *at = (const unsigned char *)data + k * dtype_nbytes(dt);
	if (dtype_is_float(dt))
		put_float(j, dtype_load_f(dt, at), dt);
	else
		json_int(j, NULL, dtype_load_i(dt, at));
}

static void put_expected(struct json *j, const struct wrong *w, int64_t k)
{
	const struct num *v = w->val ? &w->val[k] : NULL;
	if (!v)
		put_cell(j, w->expected.dtype, w->then, k);
	else if (dtype_is_float(w->expected.dtype))
		put_num(j, v, w->expected.dtype);
	else if (v->flags & (NUM_ANY | NUM_UNDEC))
		json_null(j, NULL);
	else
		json_int(j, NULL, v->i);
}

struct window {
	const struct meta *of;
	int64_t from[MAX_RANK], size[MAX_RANK];
};

/* Around the element of that number. */
static void window_around(struct window *w, const struct meta *m, int64_t element)
{
	*w = (struct window){.of = m};
	for (int d = m->rank - 1; d >= 0; d--) {
		const int64_t at = element % m->size[d], most = m->rank - d <= 2 ? FACTS_WINDOW : 1;
		element /= m->size[d];
		w->size[d] = MIN(m->size[d], most);
		w->from[d] = MAX(0, MIN(at - most / 2, m->size[d] - w->size[d]));
	}
}

/* The next element of the window, row-major. at: in it, zeros at first. False: that was the last. */
static bool window_next(int64_t at[MAX_RANK], const struct window *w)
{
	for (int d = w->of->rank - 1; d >= 0; d--) {
		if (++at[d] < w->size[d])
			return true;
		at[d] = 0;
	}
	return false;
}

static int64_t window_element(const struct window *w, const int64_t at[MAX_RANK])
{
	int64_t k = 0;
	for (int d = 0; d < w->of->rank; d++)
		k = k * w->of->size[d] + w->from[d] + at[d];
	return k;
}

static void put_values(struct json *j, const struct wrong *w)
{
	const struct compared *c = &w->v->cmp;
	struct window win;
	if (!c->count[EL_DISAGREE] || !w->data || !(w->val || w->then) || !meta_same_sizes(&w->expected, &w->got))
		return;
	window_around(&win, &w->expected, c->nsample ? c->sample[0].index : 0);
	json_object(j, "values");
	put_ints(j, "size", win.size, win.of->rank);
	put_ints(j, "from", win.from, win.of->rank);
	for (int side = 0; side < 2; side++) {
		int64_t at[MAX_RANK] = {0};
		json_array(j, side == 0 ? "expected" : "got");
		do {
			const int64_t k = window_element(&win, at);
			if (side == 0)
				put_expected(j, w, k);
			else
				put_cell(j, w->got.dtype, w->data, k);
		} while (window_next(at, &win));
		json_end(j);
	}
	json_end(j);
}

static void put_wrong(struct json *j, const struct facts *f, struct arena *a)
{
	struct references refs;
	struct wrong w;
	references_in(&refs, f->p, a);
	if (!find_wrong(&w, f, &refs))
		return;
	const struct compared *c = &w.v->cmp;
	put_tensor(j, f, &w);
	put_values(j, &w);
	if (c->n > 0) {
		json_int(j, "wrong", c->count[EL_DISAGREE]);
		json_int(j, "checked", c->n);
	}
	const double ratio = c->count[EL_DISAGREE] && !w.v->later ? compared_ratio(NULL, c) : NAN;
	if (isfinite(ratio))
		json_string(j, "ratio", arena_printf(a, "%.6g", ratio));
}

/* ---- what blame found ---------------------------------------------------------------------------------------------------------------- */

static void put_rung(struct json *j, const char *stage, enum verdict v)
{
	json_object(j, NULL);
	json_string(j, "stage", stage);
	json_string(j, "verdict", verdict_name[v]);
	json_end(j);
}

static void put_ladder(struct json *j, const struct facts *f)
{
	const struct blame *b = f->blame;
	const char *own = target_stage(f->t)->name;
	json_array(j, "ladder");
	for (int i = 0; i < b->nrungs; i++)
		put_rung(j, b->rung[i].stage, b->rung[i].verdict);
	if (!b->nrungs || !str_eq(b->rung[b->nrungs - 1].stage, own))
		put_rung(j, own, f->ran->outcome.verdict);
	json_end(j);
}

static void put_cures(struct json *j, const struct blame *b)
{
	json_array(j, "cures");
	for (int i = 0; i < b->ncures; i++) {
		const struct target_option *o = &b->cure[i].option;
		char option[sizeof o->name + sizeof o->value + 1];
		snprintf(option, sizeof option, "%s=%s", o->name, o->value);
		json_object(j, NULL);
		if (o->name[0])
			json_string(j, "option", option);
		json_string(j, "what", b->cure[i].what);
		json_end(j);
	}
	json_end(j);
	json_int(j, "tried", b->ntried);
	put_known(j, "culprit", b->culprit);
}

static void put_suspect(struct json *j, const struct suspect *s, struct arena *a)
{
	if (!s->op[0])
		return;
	json_object(j, "suspect");
	json_string(j, "op", s->op);
	put_known(j, "node", s->node);
	if (s->graph[0])
		json_string(j, "graph", arena_printf(a, "%s graph", s->graph));
	json_string(j, "why", s->why);
	json_end(j);
}

static void put_predicted(struct json *j, const struct blame *b)
{
	const struct result_meta_mismatch *m = &b->prediction;
	if (!b->predicted[0])
		return;
	json_object(j, "predicted");
	json_string(j, "op", m->op);
	if (m->backward)
		json_bool(j, "backward", true);
	if (m->layouts) {
		json_object(j, "fake");
		put_layout(j, &m->fake);
		json_end(j);
		json_object(j, "real");
		put_layout(j, &m->real);
		json_end(j);
	} else {
		json_string(j, "detail", m->detail);
	}
	json_end(j);
}

static void put_raised(struct json *j, const struct result *r)
{
	enum { MOST = 2000 };
	if (r->status != RES_OK && r->message && r->message[0])
		json_text(j, "raised", r->message, utf8_cut(r->message, MIN(strlen(r->message), (size_t)MOST)));
}

/* ---- the program --------------------------------------------------------------------------------------------------------------------- */

static void put_inputs(struct json *j, const struct prog *p)
{
	json_array(j, "inputs");
	for (int i = 0; i < p->nnode; i++) {
		if (!node_is_input(&p->node[i]) || !p->node[i].nout)
			continue;
		json_object(j, NULL);
		json_string(j, "name", p->node[i].name);
		put_layout(j, node_meta(p, i));
		json_int(j, "storage", p->node[i].out[0].storage);
		json_bool(j, "requires_grad", node_requires_grad(&p->node[i]));
		json_end(j);
	}
	json_end(j);
}

/* Of a row with several results those that read them speak. */
static void put_layouts(struct json *j, const struct prog *p)
{
	json_array(j, "layouts");
	for (int i = 0; i < p->nnode; i++) {
		const struct node *n = &p->node[i];
		if (node_is_input(n) || node_is_sym(n) || n->nout != 1)
			continue;
		json_object(j, NULL);
		json_string(j, "name", n->name);
		put_layout(j, node_meta(p, i));
		json_end(j);
	}
	json_end(j);
}

const char *facts_json(const struct facts *f, struct arena *a)
{
	const struct outcome *o = &f->ran->outcome;
	struct strbuf sb;
	sb_init(&sb);
	struct json j = json_into(&sb, JSON_SPACED);
	json_object(&j, NULL);
	json_int(&j, "schema", FACTS_SCHEMA);
	json_string(&j, "target", target_text(f->t, a));
	put_known(&j, "versions", f->versions);
	json_string(&j, "kind", finding_kind_name[o->kind]);
	put_known(&j, "pattern", o->pattern);
	put_wrong(&j, f, a);
	put_ladder(&j, f);
	put_suspect(&j, &f->blame->suspect, a);
	put_cures(&j, f->blame);
	put_predicted(&j, f->blame);
	put_known(&j, "first_wrong", f->blame->first_wrong);
	put_known(&j, "reach", f->reach);
	put_raised(&j, &f->ran->result);
	put_inputs(&j, f->p);
	put_layouts(&j, f->p);
	put_known(&j, "same", f->same);
	json_end(&j);
	const char *text = arena_strdup(a, sb.s);
	sb_free(&sb);
	return text;
}
