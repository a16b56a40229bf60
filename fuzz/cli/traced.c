/* traced.c: one function at a time: run it, trace it, judge its graphs, compare the whole. Every step is a process of its own, so a script
 * that breaks one ends that step. What happens without a compiler is the script's doing, and what happens only with one is a finding. */
#include "fuzz/cli/traced.h"

#include <inttypes.h>

#include "compiled/targets/driver.h"
#include "compiled/targets/exec.h"
#include "eager/base/escape.h"
#include "eager/base/json.h"
#include "eager/base/output.h"
#include "eager/lang/fill.h"
#include "eager/lang/fx.h"
#include "eager/lang/fx_cut.h"
#include "fuzz/triage/verdict.h"
#include "generated/op_input.h"

enum { MAX_OWN_DATA = 1 << 15 }; /* numbers in one program: its text stays below MAX_TEXT */

struct function {
	struct traced_check *c;
	struct arena arena;
	struct trace_request request; /* of every step */
	struct exec_options options;
	struct target home;
	const char *shown; /* the word, harmless */
	struct traced eager;
	int rc; /* exit_of_both so far */
};

/* ---- the word ---------------------------------------------------------------------------------------------------------------- */

static const char *name_of(const char *word)
{
	const char *colon = strrchr(word, ':');
	return colon && colon - word > 3 && memcmp(colon - 3, ".py", 3) == 0 && colon[1] ? colon + 1 : NULL;
}

bool traced_named(const char *word) { return name_of(word) != NULL; }

static bool traces(const struct target *t) { return t->driver->trace != NULL; }

/* The first target that can, or the one of its kind that people mean. */
static void home_of(struct target *home, const struct options *o)
{
	struct options own = {.ntarget = 0};
	struct err err = {0};
	for (int i = 0; i < o->ntarget; i++)
		if (traces(&o->target[i])) {
			*home = o->target[i];
			return;
		}
	if (!options_target(&own, "torch:inductor@cpu", &err))
		BUG("%s", err.msg);
	*home = own.target[0];
}

static void step(struct traced *out, struct function *f, enum trace_task task, const struct target *t)
{
	f->request.task = task;
	f->request.target = t;
	t->driver->trace(out, &f->arena, &f->request, &f->options);
}

static void add(struct function *f, int rc) { f->rc = exit_of_both(f->rc, rc); }

/* ---- what is said ------------------------------------------------------------------------------------------------------------ */

static void say_text(const struct function *f, const char *verdict, const struct target *t, const char *why)
{
	const struct options *o = f->c->o;
	if (o->quiet && str_eq(verdict, verdict_name[VD_PASS]))
		return;
	printf("%s: %s on %s, as a whole: %s\n", f->shown, verdict, target_text(t, (struct arena *)&f->arena),
		escaped_lines((struct arena *)&f->arena, "  ", why));
}

static void say_json(const struct function *f, const char *verdict, const struct target *t, const struct traced *r, const char *why)
{
	struct strbuf sb;
	struct json j = json_into(&sb, JSON_TIGHT);
	sb_init(&sb);
	json_object(&j, NULL);
	json_string(&j, "function", f->shown);
	json_string(&j, "target", target_text(t, (struct arena *)&f->arena));
	json_string(&j, "versions", r->versions);
	json_string(&j, "verdict", verdict);
	json_string(&j, "why", why);
	json_int(&j, "tensors", r->ncompared);
	json_double(&j, "largest", r->largest);
	json_array(&j, "differences");
	for (int i = 0; i < r->ndifference; i++) {
		json_object(&j, NULL);
		json_string(&j, "tensor", r->difference[i].tensor);
		json_string(&j, "what", r->difference[i].what);
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
	printf("%s\n", sb.s);
	sb_free(&sb);
}

/* Of the function as a whole, on t. */
static void say(const struct function *f, enum verdict v, const struct target *t, const struct traced *r, const char *why)
{
	if (f->c->o->json)
		say_json(f, verdict_name[v], t, r, why);
	else
		say_text(f, verdict_name[v], t, why);
	fflush(stdout);
}

/* The script's, or the machine's: nothing was judged. */
static void failed(struct function *f, const char *when, const struct traced *r)
{
	struct err why = {0};
	const bool script = r->status == TRACE_CRASH || r->status == TRACE_HANG;
	err_set(&why, "%s: %s%s", f->shown, script ? when : "", escaped_line(&f->arena, r->message));
	complain("%s", why.msg);
	f->c->n.failed++;
	f->c->tell.unread(f->c->tell.ctx, f->shown, 0, &why);
	add(f, r->status == TRACE_BROKEN ? EXIT_TARGET : EXIT_USAGE);
}

/* ---- graphs as programs ------------------------------------------------------------------------------------------------------ */

static const struct traced_input *data_of(const struct traced_graph *g, const struct node *n)
{
	for (int i = 0; i < g->ninput; i++)
		if (g->input[i].given && str_eq(g->input[i].name, n->name) && g->input[i].dtype == n->out[0].meta.dtype
			&& g->input[i].ncell == meta_extent(&n->out[0].meta))
			return &g->input[i];
	return NULL;
}

static bool is_plain_input(const struct node *n) { return n->op == OP_input; }

/* The memory of inputs as the function had it, integers first: they are positions and classes. Returns how many inputs have theirs. */
static int own_data(struct prog *p, const struct traced_graph *g, bool floats)
{
	int64_t room = MAX_OWN_DATA;
	int n = 0;
	for (int pass = 0; pass < (floats ? 2 : 1); pass++)
		for (int i = 0; i < p->nnode; i++) {
			struct node *in = &p->node[i];
			const struct traced_input *own = is_plain_input(in) ? data_of(g, in) : NULL;
			if (!own || dtype_is_float(own->dtype) != (pass == 1) || own->ncell > room || own->ncell == 0)
				continue;
			in->arg[A_input_fill] = arg_str(p, "dyadic");
			in->arg[A_input_data] = fill_to_data(own->cells, (int)own->ncell, own->dtype, p->arena);
			room -= own->ncell;
			n++;
		}
	return n;
}

static int plain_inputs(const struct prog *p)
{
	int n = 0;
	for (int i = 0; i < p->nnode; i++)
		n += is_plain_input(&p->node[i]);
	return n;
}

/* Every input without data: floats are `normal`, in further calls special, tied and exactly summed numbers. Returns how many floats. */
static int adversarial(struct prog *p, bool calls)
{
	static const char *const fill[] = {"special", "ties", "dyadic"};
	enum { SEEDS = 1000 };
	int n = 0;
	p->ncall = calls ? ARRAY_LEN(fill) : 0;
	for (int k = 0; k < p->ncall; k++)
		p->call[k] =
			(struct call){.input = ARENA_NEW(p->arena, struct call_input, p->nnode), .sym = ARENA_NEW(p->arena, struct call_sym, MAX_SYMS)};
	for (int i = 0; i < p->nnode; i++) {
		struct node *in = &p->node[i];
		if (!is_plain_input(in) || node_given(in, A_input_data))
			continue;
		bool is_float = dtype_is_float(in->out[0].meta.dtype);
		if (is_float)
			in->arg[A_input_fill] = arg_str(p, "normal");
		n += is_float;
		for (int k = 0; k < p->ncall; k++)
			p->call[k].input[p->call[k].ninput++] = (struct call_input){
				.node = i, .seed = (uint64_t)node_int(in, A_input_seed) + (uint64_t)(SEEDS * (k + 1)), .fill = is_float ? fill[k] : NULL};
	}
	return n;
}

static void judge_program(struct function *f, const struct prog *p, const char *graph, const char *data, const char *text)
{
	struct err err = {0};
	const char *name = arena_printf(&f->arena, "%s, %s", graph, data);
	if (!prog_validate(p, &err) || !prog_validate_calls(p, &err)) {
		complain("%s: %s", name, err.msg);
		f->c->tell.unread(f->c->tell.ctx, name, 1, &err);
		add(f, EXIT_USAGE);
		return;
	}
	bug_context(text);
	add(f, f->c->judge(f->c->ctx, name, p));
	bug_context(NULL);
}

static void judge_graph(struct function *f, const struct prog *read, const struct traced_graph *g, const char *graph, const char *text)
{
	struct prog p;
	prog_clone(&p, read, &f->arena);
	int all = plain_inputs(&p), own = own_data(&p, g, true);
	adversarial(&p, false);
	if (own)
		judge_program(f, &p, graph, own == all ? "own data" : arena_printf(&f->arena, "own data of %d of %d inputs", own, all), text);
	prog_clone(&p, read, &f->arena);
	own_data(&p, g, false);
	if (adversarial(&p, true) || !own)
		judge_program(f, &p, graph, "adversarial data", text);
}

static void unreadable(struct function *f, const char *graph, struct err *why, const char *text, size_t len)
{
	struct strbuf source;
	sb_init(&source);
	fx_source(&source, text, len, why->line);
	complain("%s, line %d: %s%s%s", graph, why->line, why->msg, source.len ? "; at " : "", escaped_line(&f->arena, source.s));
	sb_free(&source);
	f->c->n.unjudged++;
	f->c->tell.unread(f->c->tell.ctx, f->shown, 1, why);
	add(f, EXIT_USAGE);
}

/* "model.py:f, forward graph", of several "…, backward graph 2": counted as they were compiled. */
static const char *graph_name(struct function *f, const struct traced *t, int i)
{
	int before = 0, all = 0;
	for (int k = 0; k < t->ngraph; k++) {
		bool same = str_eq(t->graph[k].kind, t->graph[i].kind);
		before += same && k < i;
		all += same;
	}
	const char *kind = escaped_line(&f->arena, t->graph[i].kind);
	return arena_printf(&f->arena, "%s, %s graph%s", f->shown, kind, all > 1 ? arena_printf(&f->arena, " %d", before + 1) : "");
}

static void one_graph(struct function *f, const struct traced *t, int i)
{
	struct fx_graph *g;
	struct fx_cut *cut = ARENA_NEW(&f->arena, struct fx_cut, 1);
	struct prog *p;
	struct err err = {0};
	const char *graph = graph_name(f, t, i), *text = t->graph[i].text;
	f->c->n.graphs++;
	if (fx_graphs(&g, &f->arena, text, strlen(text)) != 1) {
		unreadable(f, graph, (err_at(&err, 1, 1, "not one graph"), &err), text, strlen(text));
		return;
	}
	int n = fx_programs(&p, cut, &f->arena, g[0].text, g[0].len, &err);
	if (!n && err.msg[0]) {
		unreadable(f, graph, &err, g[0].text, g[0].len);
		return;
	}
	f->c->tell.graph(f->c->tell.ctx, graph, &g[0], 0, cut);
	f->c->n.in_parts += cut->ncut > 0 && cut->nread > 0;
	for (int k = 0; k < n && cut->nread > 0; k++)
		judge_graph(f, &p[k], &t->graph[i], n == 1 ? graph : arena_printf(&f->arena, "%s, program %d of %d", graph, k + 1, n), g[0].text);
	f->c->n.unjudged += cut->nread == 0 && cut->ncut > 0;
}

/* ---- the steps --------------------------------------------------------------------------------------------------------------- */

static void set_version(struct target *t, const struct traced *r)
{
	if (r->version[0])
		snprintf(t->version, sizeof t->version, "%s", r->version);
}

static enum verdict verdict_of(enum trace_status s)
{
	static const enum verdict v[] = {[TRACE_OK] = VD_PASS,
		[TRACE_SCRIPT] = VD_INVALID,
		[TRACE_COMPILER] = VD_MISMATCH,
		[TRACE_OTHER] = VD_UNJUDGED,
		[TRACE_CRASH] = VD_CRASH,
		[TRACE_HANG] = VD_HANG,
		[TRACE_BROKEN] = VD_HARNESS};
	return v[s];
}

static int code_of(enum verdict v)
{
	return v == VD_PASS       ? EXIT_CLEAN
		: verdict_diverges(v) ? EXIT_FINDINGS
		: v == VD_UNJUDGED    ? EXIT_VOID
		: v == VD_HARNESS     ? EXIT_TARGET
							  : EXIT_USAGE;
}

static void judge_graphs(struct function *f)
{
	struct traced t;
	struct target of = f->home;
	step(&t, f, TRACE_GRAPHS, &f->home);
	set_version(&of, &t);
	if (t.status == TRACE_OK) {
		if (!t.ngraph)
			complain("%s: nothing of it becomes a graph", f->shown);
		for (int i = 0; i < t.ngraph; i++)
			one_graph(f, &t, i);
		return;
	}
	if (t.status == TRACE_SCRIPT || t.status == TRACE_BROKEN) {
		failed(f, "", &t);
		return;
	}
	f->c->n.failed++;
	say(f, verdict_of(t.status), &of, &t, arena_printf(&f->arena, "while it is traced: %s", t.message));
	add(f, code_of(verdict_of(t.status)));
}

static const char *comparison(struct function *f, const struct traced *t)
{
	struct strbuf sb;
	sb_init(&sb);
	if (!t->ndifference)
		sb_printf(&sb, "%d tensor%s as eager has them; the largest difference is %.2g of a tensor's largest number", t->ncompared,
			plural(t->ncompared), t->largest);
	else
		sb_printf(&sb, "%d of %d tensors differ from eager", t->ndifference, t->ncompared);
	sb_puts(&sb, t->note);
	for (int i = 0; i < t->ndifference; i++)
		sb_printf(&sb, "\n%s: %s", t->difference[i].tensor, t->difference[i].what);
	const char *text = arena_strdup(&f->arena, sb.s);
	sb_free(&sb);
	return text;
}

static void compare_whole(struct function *f, const struct target *t)
{
	struct traced r;
	struct target of = *t;
	step(&r, f, TRACE_COMPARE, t);
	set_version(&of, &r);
	if (r.status == TRACE_SCRIPT || r.status == TRACE_BROKEN) {
		failed(f, "", &r);
		return;
	}
	enum verdict v = r.status == TRACE_OK && r.ndifference ? VD_MISMATCH : verdict_of(r.status);
	say(f, v, &of, &r,
		r.status == TRACE_OK             ? comparison(f, &r)
			: r.status == TRACE_COMPILER ? arena_printf(&f->arena, "raises, and eager does not: %s", r.message)
										 : r.message);
	f->c->n.compared += v != VD_UNJUDGED;
	f->c->n.uncompared += v == VD_UNJUDGED;
	f->c->n.differ += verdict_diverges(v);
	add(f, code_of(v));
}

/* On every target that compiles and takes functions; on the home's compiler if no compiler was named. */
static void compare_all(struct function *f)
{
	const struct options *o = f->c->o;
	int n = 0;
	for (int i = 0; i < o->ntarget; i++)
		if (target_stage(&o->target[i])->compiles && !target_stage(&o->target[i])->predicts) {
			if (traces(&o->target[i]))
				compare_whole(f, &o->target[i]);
			n++;
		}
	if (!n && target_stage(&f->home)->compiles)
		compare_whole(f, &f->home);
}

int traced_function(struct traced_check *c, const char *word)
{
	struct function f = {.c = c, .rc = EXIT_VOID, .options = {.self = c->o->self, .python = c->o->python, .limit_ms = c->o->limit_ms}};
	struct strbuf path;
	arena_init(&f.arena);
	sb_init(&path);
	const char *name = name_of(word);
	sb_put(&path, word, (size_t)(name - 1 - word));
	path_make_absolute(&path);
	home_of(&f.home, c->o);
	f.shown = escaped_line(&f.arena, word);
	f.request = (struct trace_request){.file = arena_strdup(&f.arena, path.s), .name = name, .args = c->o->args ? c->o->args : ""};
	sb_free(&path);
	c->n.functions++;
	step(&f.eager, &f, TRACE_EAGER, &f.home);
	if (f.eager.status == TRACE_OK) {
		f.request.eager = f.eager.results;
		f.request.neager = f.eager.nresults;
		judge_graphs(&f);
		compare_all(&f);
	} else {
		failed(&f, "run without a compiler: ", &f.eager);
	}
	arena_free(&f.arena);
	return f.rc;
}

void traced_summary(struct strbuf *sb, const struct traced_counts *n)
{
	sb_printf(sb, "%" PRId64 " graph%s of %" PRId64 " function%s", n->graphs, plural(n->graphs), n->functions, plural(n->functions));
	const char *before = " (", *after = "";
	if (n->in_parts)
		sb_printf(sb, "%s%" PRId64 " in parts", before, n->in_parts), before = ", ", after = ")";
	if (n->unjudged)
		sb_printf(sb, "%s%" PRId64 " not judged", before, n->unjudged), after = ")";
	sb_puts(sb, after);
	if (n->compared)
		sb_printf(sb, "; as a whole %" PRId64 " of %" PRId64 " differ%s from eager", n->differ, n->compared, n->differ == 1 ? "s" : "");
	if (n->uncompared)
		sb_printf(sb, "; %" PRId64 " whole%s not compared", n->uncompared, plural(n->uncompared));
	if (n->failed)
		sb_printf(sb, "; %" PRId64 " error%s", n->failed, plural(n->failed));
	sb_puts(sb, "\n");
}

void traced_json(struct json *j, const struct traced_counts *n)
{
	json_int(j, "functions", n->functions);
	json_int(j, "functions_failed", n->failed);
	json_int(j, "graphs", n->graphs);
	json_int(j, "graphs_in_parts", n->in_parts);
	json_int(j, "graphs_unjudged", n->unjudged);
	json_int(j, "wholes", n->compared);
	json_int(j, "wholes_uncompared", n->uncompared);
	json_int(j, "wholes_differ", n->differ);
}
