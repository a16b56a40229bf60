/* sweep.c: see sweep.h. A row is a program and a target; what was found stands in its place in every series and is run once. */
#include "fuzz/triage/sweep.h"

#include <inttypes.h>
#include <stdlib.h>

#include "compiled/targets/driver.h"
#include "eager/base/clock.h"
#include "eager/base/escape.h"
#include "eager/base/version.h"
#include "eager/lang/shrink_size.h"
#include "eager/lang/vary.h"
#include "fuzz/triage/tensor_name.h"
#include "generated/op_id.h"

const char *const sweep_axis_name[NSWEEP_AXES] = {
#define AXIS(id, name, on, values) name,
	SWEEP_AXES(AXIS)
#undef AXIS
};
const char *const sweep_answer_name[NSWEEP_ANSWERS] = {"fails", "otherwise", "passes", "open"};

enum { MAX_SWEPT_NUMEL = 1 << 16, MAX_RUNGS = 16 };
/* Vector and tile widths, and their neighbours. */
static const int64_t ladder[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257};

struct sweep {
	struct sweep_plan plan;
	struct runner *r;
	struct target t; /* with its version */
	struct failure failure;
	struct sweep_row base;
	const char *text; /* of the program as found */
	enum tensor_role role;
	int index; /* of the wrong tensor as found; -1: none */
	struct sweep_series *now;
	double until; /* of the series */
	int64_t runs, most;
	bool stopped;
	struct arena *a, once;
};

/* ---- one row ------------------------------------------------------------------------------------------------------------------------- */

static enum dtype dtype_in(const struct sweep *s, const struct prog *q)
{
	int inputs = 0, leaves = 0;
	if (s->role == TR_OUTPUT && s->index >= 0 && s->index < q->nret)
		return node_meta(q, q->ret[s->index])->dtype;
	for (int i = 0; i < q->nnode; i++) {
		const struct node *n = &q->node[i];
		bool leaf = node_requires_grad(n) && leaves++ == s->index, storage = n->op == OP_input && inputs++ == MAX(s->index, 0);
		if (s->role == TR_GRADIENT && s->index >= 0 ? leaf : storage)
			return n->out[0].meta.dtype;
	}
	return DT_F32;
}

static const char *place_text(int64_t index, const struct meta *m, struct arena *a)
{
	int64_t at[MAX_RANK];
	struct strbuf sb;
	sb_init(&sb);
	if (!m)
		sb_printf(&sb, "[%" PRId64 "]", index);
	for (int d = m ? m->rank - 1 : -1; d >= 0; d--) {
		at[d] = index % m->size[d];
		index /= m->size[d];
	}
	sb_puts(&sb, m ? "[" : "");
	for (int d = 0; m && d < m->rank; d++)
		sb_printf(&sb, "%s%" PRId64, d ? "," : "", at[d]);
	sb_puts(&sb, m ? "]" : "");
	const char *text = arena_strdup(a, sb.s);
	sb_free(&sb);
	return text;
}

/* Elements that are wrong: which, and what all of them add up to. */
static void describe_elements(struct sweep_row *row, const struct prog *q, const struct tensor_verdict *v, struct arena *a)
{
	struct tensor_name name;
	const struct compared *c = &v->cmp;
	tensor_name_of_verdict(&name, q, v);
	row->tensor = tensor_name_text(&name, a);
	row->pattern = pattern_name[c->pattern];
	row->call = v->call;
	row->element = c->sample[0];
	row->at = place_text(c->sample[0].index, v->shape, a);
	row->want_sum = c->want_sum;
	row->got_sum = c->got_sum;
	row->ratio = compared_ratio(&row->within, c);
}

enum sweep_answer sweep_answer_of(const struct failure *f, const struct outcome *o)
{
	struct failure alike = *f;
	if (alike.sort == ERROR_ZERO || alike.sort == ERROR_STALE)
		alike.sort = ERROR_OTHER; /* where it begins, and how large a tensor is, decides what a wrong one looks like */
	if (verdict_diverges(o->verdict))
		return failure_is(&alike, o) ? SWEEP_FAILS : SWEEP_OTHERWISE;
	return o->verdict == VD_PASS ? SWEEP_PASSES : SWEEP_OPEN;
}

static void describe(struct sweep *s, struct sweep_row *row, const struct prog *q, const struct ran *ran)
{
	const struct outcome *o = &ran->outcome;
	const struct tensor_verdict *v = failure_tensor(o);
	row->verdict = verdict_name[o->verdict];
	row->why = row->short_why = "";
	row->answer = sweep_answer_of(&s->failure, o);
	if (v && v->cmp.count[EL_DISAGREE])
		describe_elements(row, q, v, s->a);
	else if (o->verdict != VD_PASS)
		row->why = row->short_why = arena_strdup(s->a, v && v->detail[0] ? v->detail : o->why);
	if (verdict_diverges(o->verdict) && !v)
		row->short_why = arena_strdup(s->a, o->signature);
}

static bool is_over(struct sweep *s) { return s->stopped || (s->until > 0 && clock_s() >= s->until) || (s->most && s->runs >= s->most); }

static void run(struct sweep *s, struct sweep_row *row, const struct prog *q, const struct target *t)
{
	struct ran ran = {0};
	struct target named = *t;
	struct err err = {0};
	arena_reset(&s->once);
	if (target_has_versions(t) && !t->version[0] && runner_start(s->r, &named, &err) != EXEC_IDENTIFIED) {
		row->answer = SWEEP_OPEN;
		row->verdict = verdict_name[VD_HARNESS];
		row->why = row->short_why = arena_strdup(s->a, err.msg);
		return;
	}
	row->target = target_text(&named, s->a);
	bug_context(prog_text(q, &s->once));
	runner_judge(&ran, s->r, q, &named, &s->once);
	bug_context(NULL);
	s->runs++;
	describe(s, row, q, &ran);
}

/* Whatever became of it, it is told. */
static void finish(struct sweep *s, const struct sweep_row *row)
{
	CHECK(s->now->n < MAX_SWEEP_ROWS);
	s->now->row[s->now->n++] = *row;
	s->stopped |= !s->plan.row(s->plan.ctx, s->now, row);
}

/* What is tried. q: NULL if there is no such program, and why. own: as it was found. */
struct variation {
	const char *value;
	double number;
	bool own, moved;
	const struct prog *q;
	const char *why;
	struct target t;
};

static void no_program(struct sweep *s, struct sweep_row *row, const char *why)
{
	row->answer = SWEEP_OPEN;
	row->verdict = "no program";
	row->why = row->short_why = arena_strdup(s->a, why);
}

static void run_changed(struct sweep *s, struct sweep_row *row, const struct variation *v)
{
	struct strbuf varied;
	sb_init(&varied);
	vary_print(&varied, s->plan.p, v->q);
	row->varied = arena_strdup(s->a, varied.s);
	row->dtype = dtype_info[dtype_in(s, v->q)].name;
	run(s, row, v->q, &v->t);
	sb_free(&varied);
}

/* It is run, unless it is what was found. */
static void one_row(struct sweep *s, const struct variation *v)
{
	struct sweep_row row = {.varied = "", .why = "", .tensor = "", .pattern = "", .at = "", .dtype = s->base.dtype, .ratio = NAN};
	if (!v->own && v->q && is_over(s)) {
		s->now->left++;
		return;
	}
	if (v->own)
		row = s->base;
	row.as_found = v->own;
	row.value = v->value;
	row.number = v->number;
	row.moved = v->moved;
	row.target = target_text(&v->t, s->a);
	if (!v->q)
		no_program(s, &row, v->why);
	else if (!v->own && str_eq(prog_text(v->q, &s->once), s->text) && str_eq(row.target, s->base.target))
		no_program(s, &row, "the program stays as it is");
	else if (!v->own)
		run_changed(s, &row, v);
	finish(s, &row);
}

/* ---- series -------------------------------------------------------------------------------------------------------------------------- */

static void begin(struct sweep *s, enum sweep_axis axis, const char *name)
{
	*s->now = (struct sweep_series){.axis = axis, .name = name, .bound = ""};
	s->plan.begin(s->plan.ctx, s->now);
}

static void end(struct sweep *s) { s->plan.end(s->plan.ctx, s->now); }

static void same_program(struct sweep *s, const char *value, const struct target *t)
{
	bool own = str_eq(target_text(t, s->a), s->base.target);
	one_row(s, &(struct variation){.value = arena_strdup(s->a, value), .number = NAN, .own = own, .q = s->plan.p, .t = *t});
}

static void sweep_stages(struct sweep *s)
{
	struct target rung[MAX_RUNGS];
	int n = target_ladder(rung, MAX_RUNGS, &s->t);
	begin(s, SWEEP_STAGES, "stages");
	for (int i = 0; i < n; i++)
		same_program(s, target_stage(&rung[i])->name, &rung[i]);
	same_program(s, target_stage(&s->t)->name, &s->t);
	end(s);
}

static bool has_dtype(const struct prog *p, enum dtype dt)
{
	for (int i = 0; i < p->nnode; i++)
		if (node_is_source(&p->node[i]) && !node_is_sym(&p->node[i]) && p->node[i].nout && node_meta(p, i)->dtype == dt)
			return true;
	return false;
}

/* The dtypes of a set, the widest ones first. */
static int listed(enum dtype out[NDTYPES], int set)
{
	int n = 0;
	for (int t = NDTYPES - 1; t >= 0; t--)
		if (set >> t & 1)
			out[n++] = (enum dtype)t;
	return n;
}

static void sweep_dtypes(struct sweep *s)
{
	for (int from = 0; from < NDTYPES; from++) {
		enum dtype to[NDTYPES];
		const int n = listed(to, dtype_is_float((enum dtype)from) ? DTS_FLOAT : DTS_INT);
		if ((enum dtype)from == DT_B8 || !has_dtype(s->plan.p, (enum dtype)from))
			continue;
		begin(s, SWEEP_DTYPES, arena_printf(s->a, "dtype %s", dtype_info[from].name));
		for (int i = 0; i < n; i++) {
			struct arena edited;
			struct prog q;
			struct err err = {0};
			arena_init(&edited);
			bool own = to[i] == (enum dtype)from, ok = own || vary_dtype(&q, s->plan.p, (enum dtype)from, to[i], &edited, &err);
			one_row(s, &(struct variation){dtype_info[to[i]].name, NAN, own, false, own ? s->plan.p : ok ? &q : NULL, err.msg, s->t});
			arena_free(&edited);
		}
		end(s);
	}
}

/* Its own options left away, those that its driver says are worth switching, the further targets that were named. */
static void sweep_options(struct sweep *s)
{
	const struct target_driver *d = s->t.driver;
	begin(s, SWEEP_OPTIONS, "options");
	same_program(s, "as found", &s->t);
	for (int i = 0; i < s->t.noptions; i++) {
		const struct target t = target_without(&s->t, i);
		same_program(s, arena_printf(s->a, "without %s=%s", s->t.option[i].name, s->t.option[i].value), &t);
	}
	for (int i = 0; i < d->nknobs; i++) {
		struct target t;
		struct target_option o;
		struct err err = {0};
		snprintf(o.name, sizeof o.name, "%s", d->knob[i].option);
		snprintf(o.value, sizeof o.value, "%s", d->knob[i].value);
		if (str_eq(d->knob[i].stage, target_stage(&s->t)->name) && target_with(&t, &s->t, &o, &err))
			same_program(s, arena_printf(s->a, "%s=%s", o.name, o.value), &t);
	}
	for (int i = 0; i < s->plan.nalso; i++)
		same_program(s, target_text(&s->plan.also[i], s->a), &s->plan.also[i]);
	end(s);
}

static int64_t largest(const struct prog *p)
{
	int64_t most = 0;
	for (int i = 0; i < p->nnode; i++)
		for (int k = 0; k < p->node[i].nout && !node_is_sym(&p->node[i]); k++)
			most = MAX(most, meta_numel(&p->node[i].out[k].meta));
	return most;
}

/* One size. False: it and what is larger make tensors that are too large. */
static bool one_size(struct sweep *s, int64_t from, int64_t to)
{
	struct arena edited;
	struct prog q;
	struct err err = {0};
	struct variation v = {.value = arena_printf(s->a, "%" PRId64, to), .number = (double)to, .own = from == to, .t = s->t};
	arena_init(&edited);
	if (v.own)
		v.q = s->plan.p;
	else if (vary_size(&q, s->plan.p, from, to, &v.moved, &edited, &err))
		v.q = &q;
	v.why = err.msg;
	bool fits = !v.q || v.own || largest(v.q) <= MAX(MAX_SWEPT_NUMEL, largest(s->plan.p));
	if (fits)
		one_row(s, &v);
	arena_free(&edited);
	return fits;
}

static void sweep_size(struct sweep *s, int64_t from)
{
	bool fits = true, seen = false;
	begin(s, SWEEP_SHAPES, arena_printf(s->a, "size %" PRId64, from));
	for (int i = 0; i < ARRAY_LEN(ladder) && fits; i++) {
		if (!seen && from <= ladder[i])
			seen = one_size(s, from, from);
		if (ladder[i] != from && !(fits = one_size(s, from, ladder[i])))
			s->now->bound =
				arena_printf(s->a, "from %" PRId64 " on a tensor has more than %" PRId64 " elements", ladder[i], (int64_t)MAX_SWEPT_NUMEL);
	}
	if (!seen)
		one_size(s, from, from);
	end(s);
}

/* As many versions as there are here, and the one that was found to fail. */
static void sweep_versions(struct sweep *s)
{
	struct target_installed *there;
	int n = s->t.driver->installed && !s->plan.one_version ? s->t.driver->installed(&there, s->a) : 0;
	bool seen = false;
	begin(s, SWEEP_VERSIONS, "versions");
	if (!target_has_versions(&s->t))
		s->now->bound = arena_printf(s->a, "%s has no versions", target_family(&s->t));
	else if (s->plan.one_version)
		s->now->bound = "the interpreter that was named is one version";
	for (int i = 0; i <= n && target_has_versions(&s->t); i++) {
		struct target t = s->t;
		int order = i < n ? version_compare(there[i].version, s->t.version) : 1;
		if (!seen && order >= 0) {
			same_program(s, s->t.version, &s->t);
			seen = true;
		}
		if (i == n || order == 0)
			continue;
		snprintf(t.version, sizeof t.version, "%s", there[i].version);
		if (there[i].problem[0])
			one_row(s, &(struct variation){there[i].version, NAN, false, false, NULL, there[i].problem, t});
		else
			same_program(s, there[i].version, &t);
	}
	end(s);
}

/* ---- all of them --------------------------------------------------------------------------------------------------------------------- */

/* What is left of time and runs, shared evenly by `parts` series. */
static void share(struct sweep *s, int parts)
{
	double now = clock_s();
	s->until = s->plan.until > 0 ? now + (s->plan.until - now) / MAX(parts, 1) : 0;
	s->most = s->plan.programs ? s->runs + (s->plan.programs - s->runs) / MAX(parts, 1) : 0;
	if (s->plan.programs && s->most == s->runs)
		s->most = MIN(s->runs + 1, s->plan.programs);
}

static void sweep_shapes(struct sweep *s, int more)
{
	int64_t size[MAX_SHRINK_SIZES];
	int n = shrink_sizes(size, s->plan.p);
	for (int i = 0; i < n; i++) {
		share(s, n - i + more);
		sweep_size(s, size[i]);
	}
}

struct sweep *sweep_begin(struct sweep_row *base, const struct sweep_plan *plan, struct runner *r, struct arena *a)
{
	struct sweep *s = xmalloc(sizeof *s);
	struct ran ran = {0};
	*s = (struct sweep){.plan = *plan, .r = r, .t = plan->t, .a = a, .index = -1};
	arena_init(&s->once);
	s->text = prog_text(plan->p, a);
	s->now = ARENA_NEW(a, struct sweep_series, 1);
	s->base = (struct sweep_row){.value = "as found",
		.as_found = true,
		.varied = "",
		.target = target_text(&s->t, a),
		.tensor = "",
		.pattern = "",
		.at = "",
		.number = NAN,
		.ratio = NAN};
	runner_run(&ran, r, plan->p, &s->t, &s->once);
	s->runs = 1;
	failure_of(&s->failure, &ran.outcome);
	const struct tensor_verdict *v = failure_tensor(&ran.outcome);
	if (v) {
		s->role = v->role;
		s->index = v->index;
	}
	describe(s, &s->base, plan->p, &ran);
	s->base.dtype = dtype_info[dtype_in(s, plan->p)].name;
	*base = s->base;
	if (base->answer == SWEEP_FAILS)
		return s;
	arena_free(&s->once);
	free(s);
	return NULL;
}

const struct failure *sweep_failure(const struct sweep *s) { return &s->failure; }

void sweep_run(struct sweep *s)
{
	int left = 0;
	for (int k = 0; k < NSWEEP_AXES; k++)
		left += (s->plan.axes >> k & 1) != 0;
	for (int k = 0; k < NSWEEP_AXES; k++) {
		if (!(s->plan.axes >> k & 1))
			continue;
		share(s, left--);
		switch ((enum sweep_axis)k) {
		case SWEEP_STAGES: sweep_stages(s); break;
		case SWEEP_DTYPES: sweep_dtypes(s); break;
		case SWEEP_OPTIONS: sweep_options(s); break;
		case SWEEP_SHAPES: sweep_shapes(s, left); break;
		case SWEEP_VERSIONS: sweep_versions(s); break;
		case NSWEEP_AXES: break;
		}
	}
	arena_free(&s->once);
	free(s);
}
