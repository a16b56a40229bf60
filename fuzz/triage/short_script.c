/* short_script.c: what is looked at; plainer programs, from the plainest on: the spelling first, then the inputs' numbers, then the
 * cotangents; and whether the text of one does what it says. The target answers first, because it is warm; a fresh process decides. */
#include "fuzz/triage/short_script.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "compiled/targets/driver.h"
#include "eager/base/capture.h"
#include "eager/base/escape.h"
#include "eager/lang/edit.h"
#include "eager/lang/fill.h"
#include "eager/lang/names.h"
#include "fuzz/triage/expected.h"
#include "generated/op_args.h"
#include "generated/op_id.h"
#include "generated/op_input.h"

/* ---- what is looked at ----------------------------------------------------------------------------------------------------------- */

/* The fact that shows it; a META finding may be about any of dtype, sizes and strides. */
static bool fact_of(enum script_fact *out, const struct claim *c)
{
	if (c->parts & CLAIM_ELEMENTS)
		*out = FACT_ELEMENTS;
	else if (c->parts & CLAIM_MEMORY)
		*out = FACT_MEMORY;
	else if (c->parts & CLAIM_STRIDES)
		*out = FACT_META;
	else if (c->parts & CLAIM_REQUIRES_GRAD && c->tensor.role == TR_OUTPUT)
		*out = FACT_REQUIRES_GRAD;
	else if (c->parts & CLAIM_PRESENT)
		*out = FACT_PRESENT;
	else
		return false;
	return true;
}

/* x * 2, x / 2: their rows are linear in each operand alone. */
static bool scales(const struct node *n)
{
	const char *name = op_info[n->op].name;
	return (str_eq(name, "mul.Tensor") || str_eq(name, "div.Tensor")) && n->arg[1].tag == ARG_SCALAR;
}

/* Does every value of the function depend on its inputs linearly, each element of an operand counting once, or *weighed? */
static bool is_linear(bool *weighed, const struct prog *p)
{
	bool forward[MAX_NODES], cot[MAX_NODES];
	prog_partition(p, forward, cot);
	*weighed = false;
	for (int i = 0; i < p->nnode; i++) {
		const struct op_info *op = &op_info[p->node[i].op];
		if (!forward[i] || node_is_source(&p->node[i]) || p->node[i].op == OP_getitem)
			continue;
		if ((!(op->traits & (T_LINEAR | T_VIEW)) && !scales(&p->node[i])) || op->traits & T_MUTATES)
			return false;
		*weighed |= !(op->traits & (T_PURE_MOVE | T_VIEW)) && !str_starts(op->name, "sum");
	}
	return true;
}

static bool all_ones(const struct prog *p)
{
	for (int i = 0; i < p->nback; i++) {
		const struct node *n = &p->node[p->back[i].cotangent];
		n = n->op == OP_expand ? &p->node[n->arg[A_expand_self].node] : n;
		if (n->op != OP_full
			|| (n->arg[A_full_fill_value].scalar.kind == SC_FLOAT ? n->arg[A_full_fill_value].scalar.f != 1
																  : n->arg[A_full_fill_value].scalar.i != 1))
			return false;
	}
	return true;
}

/* A linear function's gradient in index notation; NULL: it has none. */
static const char *law_of(const struct script_look *look, const struct claim *c, const struct prog *p, struct arena *a)
{
	bool weighed;
	if (look->at != LOOK_GRADIENT || look->fact != FACT_ELEMENTS || !is_linear(&weighed, p))
		return NULL;
	const char *x = c->tensor.node;
	if (weighed)
		return arena_printf(a, "%s.grad[i] = sum over k of g[k] * d out[k] / d %s[i]%s", x, x, all_ones(p) ? ", g = 1," : "");
	if (all_ones(p))
		return arena_printf(a, "%s.grad[i] = how many elements of the result read %s[i]", x, x);
	return arena_printf(a, "%s.grad[i] = sum of g[k] over the elements k of the result that read %s[i]", x, x);
}

static bool look_of(
	struct script_look *out, const struct claim *c, const struct prog *p, const struct target *t, bool random, struct arena *a)
{
	struct claim named = *c;
	*out = (struct script_look){.at = LOOK_RUN, .random = random};
	if (c->subject == CLAIM_RUN)
		return !c->refused || !target_stage(t)->compiles;
	if (c->subject != CLAIM_TENSOR || c->tensor.later || !fact_of(&out->fact, c))
		return false;
	out->at = c->tensor.role == TR_OUTPUT ? LOOK_OUTPUT : c->tensor.role == TR_GRADIENT ? LOOK_GRADIENT : LOOK_STORAGE;
	out->index = c->tensor.index;
	if (out->fact != FACT_ELEMENTS)
		return true;
	tensor_name_of(&named.tensor, p, c->tensor.role, c->tensor.index); /* by place: p's names are not the claim's */
	out->law = law_of(out, &named, p, a);
	out->expected = expected_list(&named, p, t, a);
	return true;
}

/* ---- plainer programs ------------------------------------------------------------------------------------------------------------ */

/* The inputs' numbers, the plainest first. */
enum { ONES, COUNTED, RANDOM, OWN, NNUMBERS };
enum { READABLE = 64 }; /* numbers of an input that a script may list */
/* The cotangents: of sum().backward(), of backward(torch.ones(…)), counted numbers, the program's own. */
enum { OF_SUM, OF_ONES, OF_COUNT, OF_PROGRAM, NCOTANGENTS };
static const enum surface plainest[] = {SURFACE_PYTHON, SURFACE_TORCH, SURFACE_ATEN};

static void give_data(struct prog *q, int node, enum dtype dt, int numbers, int64_t n, struct arena *a)
{
	struct scalar *v = ARENA_NEW(a, struct scalar, n);
	const enum scalar_kind kind = dtype_is_float(dt) ? SC_FLOAT : dt == DT_B8 ? SC_BOOL : SC_INT;
	for (int64_t k = 0; k < n; k++)
		v[k] = (struct scalar){.kind = kind, .i = numbers == ONES ? 1 : k, .f = numbers == ONES ? 1 : (double)k};
	static const int of_fills[] = {A_input_fill, A_input_seed, A_input_high, A_input_dim};
	for (int i = 0; i < ARRAY_LEN(of_fills); i++)
		q->node[node].arg[of_fills[i]] = (struct arg){.tag = ARG_NONE};
	q->node[node].arg[A_input_data] = arg_data(q, v, (int)n);
	prog_defaults(q, node);
}

/* What nobody would write as a list, and no index of which a 1 would be out of range: the target says whether it still fails. */
static bool takes_numbers(const struct meta *m) { return dtype_is_float(m->dtype) || meta_extent(m) > READABLE; }

/* Other calls give an input what it has in the first one. */
static void in_every_call(struct prog *q, int node)
{
	for (int k = 0; k < q->ncall; k++) {
		struct call *call = &q->call[k];
		int n = 0;
		for (int i = 0; i < call->ninput; i++)
			if (call->input[i].node != node)
				call->input[n++] = call->input[i];
		call->ninput = n;
	}
}

/* Every float input of the function gets these, and every large one. False: one is too large for that, or there is none. */
static bool with_numbers(struct prog *q, int numbers, struct arena *a)
{
	struct err err = {0};
	bool some = false, forward[MAX_NODES], cot[MAX_NODES];
	prog_partition(q, forward, cot);
	for (int i = 0; i < q->nnode; i++) {
		const struct meta *m = node_meta(q, i);
		if (q->node[i].op != OP_input || !forward[i] || !takes_numbers(m) || m->device == DEV_META)
			continue;
		const int64_t n = meta_extent(m);
		some = true;
		in_every_call(q, i);
		if (numbers == RANDOM && !dtype_is_float(m->dtype))
			return false;
		if (numbers == RANDOM) {
			q->node[i].arg[A_input_data] = (struct arg){.tag = ARG_NONE};
			q->node[i].arg[A_input_fill] = arg_str(q, fill_name[FILL_NORMAL]);
			continue;
		}
		if (n > MAX_DATA)
			return false;
		if (n > 0)
			give_data(q, i, m->dtype, numbers, n, a);
	}
	return some && prog_infer(q, &err) && prog_validate(q, &err) && prog_validate_calls(q, &err);
}

static int add_cotangent(struct prog *q, const struct meta *m, int how, struct arena *a)
{
	const int node = prog_add(q, how == OF_COUNT ? OP_input : OP_full, NULL);
	const struct arg size = arg_ints(q, m->size, how == OF_SUM ? 0 : m->rank);
	if (how == OF_COUNT) {
		q->node[node].arg[A_input_size] = size;
		q->node[node].arg[A_input_dtype] = arg_dtype(m->dtype);
		give_data(q, node, m->dtype, COUNTED, meta_numel(m), a);
	} else {
		q->node[node].arg[A_full_size] = size;
		q->node[node].arg[A_full_dtype] = arg_dtype(m->dtype);
		q->node[node].arg[A_full_fill_value] = arg_scalar_f(1);
	}
	prog_defaults(q, node);
	if (how != OF_SUM || !m->rank)
		return node;
	const int expanded = prog_add(q, OP_expand, NULL);
	q->node[expanded].arg[A_expand_self] = arg_tensor(node);
	q->node[expanded].arg[A_expand_size] = arg_ints(q, m->size, m->rank);
	return expanded;
}

/* Every cotangent becomes a plain one. */
static bool with_cotangents(struct prog *q, int how, struct arena *a)
{
	struct err err = {0};
	if (q->nnode + 2 * q->nback > MAX_NODES)
		return false;
	for (int i = 0; i < q->nback; i++) {
		const struct meta m = *node_meta(q, q->back[i].node);
		if (how == OF_COUNT && (meta_numel(&m) > MAX_DATA || !meta_numel(&m)))
			return false;
		q->back[i].cotangent = add_cotangent(q, &m, how, a);
	}
	return q->nback && prog_infer(q, &err) && edit_sweep(q, q, a, &err) && prog_validate(q, &err) && prog_validate_calls(q, &err);
}

/* mul.Scalar becomes mul.Tensor of a number, which is what x * 2 is. */
static void with_public_operators(struct prog *q)
{
	for (int i = 0; i < q->nnode; i++) {
		struct node *n = &q->node[i];
		const char *name = op_info[n->op].name, *overload = strchr(name, '.');
		if (!overload || !str_eq(overload, ".Scalar"))
			continue;
		const int op = op_find(arena_printf(q->arena, "%.*s.Tensor", (int)(overload - name), name));
		if (op < 0 || op_info[op].nparam != op_info[n->op].nparam || !op_takes_number(op, 1))
			continue;
		n->op = op;
	}
}

/* Has q, whose nodes still have p's names, the claim's tensor at the claim's place? */
static bool same_place(const struct prog *q, const struct prog *p, const struct claim *c, struct arena *a)
{
	struct tensor_name was, is;
	if (c->subject != CLAIM_TENSOR)
		return true;
	tensor_name_of(&was, p, c->tensor.role, c->tensor.index);
	return tensor_name_read(&is, tensor_name_text(&was, a), q, NULL) && is.role == was.role && is.index == was.index;
}

/* One of the programs to try; false: there is no such. */
static bool plainer(
	struct prog *out, const struct claim *c, const struct prog *p, enum surface surface, int numbers, int cotangents, struct arena *a)
{
	struct prog q;
	struct err err = {0};
	prog_clone(&q, p, a);
	q.surface = surface;
	if (numbers != OWN && !with_numbers(&q, numbers, a))
		return false;
	if (surface != SURFACE_ATEN)
		with_public_operators(&q);
	if (cotangents != OF_PROGRAM && !with_cotangents(&q, cotangents, a))
		return false;
	if (!prog_infer(&q, &err) || !prog_validate(&q, &err) || q.nret != p->nret || !same_place(&q, p, c, a))
		return false;
	prog_name_nodes(&q);
	*out = q;
	return true;
}

/* ---- running ----------------------------------------------------------------------------------------------------------------------- */

static int limit_s(const struct short_ask *ask) { return MAX(300, ask->limit_ms / 1000); }

struct ended {
	int code;     /* capture_run's */
	bool reached; /* an answer was printed: whatever ended it came after that */
};

/* What stands beside t is the first that is printed. */
static bool run_text(struct ended *out, const struct target *t, const char *python, const struct strbuf *text, const struct short_ask *ask,
	struct arena *a, struct err *err)
{
	enum { MOST = 1 << 22 };
	const char *tmp = getenv("TMPDIR");
	char *dir = arena_printf(a, "%s/scatterproof-XXXXXX", tmp && tmp[0] ? tmp : "/tmp");
	struct strbuf said;
	if (!mkdtemp(dir))
		return err_set(err, "%s: %s", dir, strerror(errno));
	const char *file = arena_printf(a, "%s/repro.py", dir);
	const char *argv[] = {python, "-u", file, NULL}; /* what it prints before it dies is read */
	const struct capture c = {.argv = argv, .errors = true, .most = MOST, .limit_s = limit_s(ask)};
	sb_init(&said);
	const bool ok = sb_write_file(file, text, err);
	*out = (struct ended){.code = ok ? capture_run(&said, &c) : 127};
	const char *answer = arena_printf(a, "\n%s:", t->driver->script->beside);
	out->reached = str_starts(said.s, answer + 1) || strstr(said.s, answer);
	sb_free(&said);
	unlink(file);
	rmdir(dir);
	return ok;
}

static bool dies(const struct ended *e) { return e->code > 128; }
static bool killed(const struct ended *e) { return e->code == 128; } /* its time was over, mostly */
/* What crashes the process where eager does not leaves it nothing to say (claim_judge counts it, too). */
static bool shows(const struct ended *e) { return e->reached && (e->code == 1 || dies(e)); }

static void add_run(struct short_runs *runs, const char *version, const struct ended *e)
{
	if (runs->n == SHORT_RUNS_MOST)
		return;
	runs->run[runs->n].version = version;
	runs->run[runs->n].dies = dies(e);
	runs->run[runs->n++].verdict = shows(e) ? "wrong" : e->code == 0 ? "right" : "does not run";
}

/* Those that are installed beside t's own. */
static void other_versions(
	struct short_runs *runs, const struct strbuf *text, const struct target *t, const struct short_ask *ask, struct arena *a)
{
	struct target_installed *list;
	const int n = t->driver->installed ? t->driver->installed(&list, a) : 0;
	for (int i = 0; i < n; i++) {
		struct ended e;
		struct err err = {0};
		if (list[i].problem[0] || str_eq(list[i].version, t->version) || !run_text(&e, t, list[i].python, text, ask, a, &err) || killed(&e))
			continue;
		add_run(runs, list[i].version, &e);
	}
}

/* "2.11.0: wrong (exit code 1); 2.15.0: right (exit code 0)". */
static void put_runs(struct strbuf *sb, const struct short_runs *runs)
{
	for (int i = 0; i < runs->n; i++) {
		const char *verdict = runs->run[i].verdict;
		const char *words = str_eq(verdict, "wrong") ? runs->run[i].dies ? "wrong (dies of a signal)" : "wrong (exit code 1)"
			: str_eq(verdict, "right")               ? "right (exit code 0)"
													 : "it does not run through";
		sb_printf(sb, "%s%s: %s", i ? "; " : "", runs->run[i].version, words);
	}
}

/* ---- the search ------------------------------------------------------------------------------------------------------------------ */

enum { MAX_TEXTS = ARRAY_LEN(plainest) * NNUMBERS * NCOTANGENTS, MAX_RUNS = 6 };

struct search {
	const struct claim *c;
	const struct prog *p;
	const struct target *t;
	const char *python;
	const struct short_ask *ask;
	struct hash128 seen[MAX_TEXTS];
	int nseen, nruns;
	bool broken;       /* err says why nothing runs */
	struct ended last; /* how the last of them ended */
	bool right;        /* on one the target does not fail */
};

static bool seen_before(struct search *s, const struct strbuf *text)
{
	const struct hash128 h = hash_bytes(text->s, text->len);
	for (int i = 0; i < s->nseen; i++)
		if (memcmp(&s->seen[i], &h, sizeof h) == 0)
			return true;
	s->seen[s->nseen++] = h;
	return false;
}

static bool brief(
	struct strbuf *text, const struct search *s, const struct script_look *look, const struct prog *q, struct arena *a, struct err *err)
{
	sb_reset(text);
	return s->t->driver->script->brief(text, look, q, s->t, a, err);
}

/* Does this text show it? */
static bool run_one(const struct strbuf *text, struct search *s, struct arena *a, struct err *err)
{
	s->nruns++;
	s->broken = !run_text(&s->last, s->t, s->python, text, s->ask, a, err);
	return !s->broken && shows(&s->last);
}

/* Can the target be compared with what is right? */
static bool has_right(const struct script_look *look, const struct target *t)
{
	return look->at != LOOK_RUN && look->fact == FACT_ELEMENTS && look->expected && !look->random && target_stage(t)->compiles;
}

/* Does this one show it? text, look: of it. */
static bool try_one(
	struct strbuf *text, struct script_look *look, struct search *s, const struct prog *q, bool random, struct arena *a, struct err *err)
{
	const char *raised = NULL;
	if (!look_of(look, s->c, q, s->t, random, a))
		return err_set(err, "what is wrong is nothing that a few lines show");
	if (!brief(text, s, look, q, a, err) || seen_before(s, text))
		return false;
	if (!s->ask->holds(s->ask->ctx, &raised, q, a)) {
		s->right = true;
		return false;
	}
	if (look->at == LOOK_RUN && !q->must_raise)
		look->raised = raised;
	if (!brief(text, s, look, q, a, err))
		return false;
	if (run_one(text, s, a, err))
		return true;
	look->beside_right = !s->broken && s->last.code == 0 && has_right(look, s->t);
	return look->beside_right && brief(text, s, look, q, a, err) && run_one(text, s, a, err);
}

/* last: why the last of them was not to be. */
static void say_why(struct err *err, const struct search *s, const char *last)
{
	if (s->broken || (!s->nruns && !s->right))
		return;
	*err = (struct err){0}; /* it keeps the first sentence */
	if (s->nruns && s->last.code == 0)
		err_set(err, "compared with %s by allclose, nothing is wrong", s->t->driver->script->beside);
	else if (s->nruns)
		err_set(err, "as a script of its own it does not run through");
	else if (last[0])
		err_set(err, "with plainer numbers the target does not fail, and as it is %s", last);
	else
		err_set(err, "the target does not fail any more");
}

static bool find(struct strbuf *text, struct script_look *look, struct search *s, struct arena *a, struct err *err)
{
	for (int k = 0; k < MAX_TEXTS && s->nruns < MAX_RUNS && !s->broken; k++) {
		const int cotangents = k % NCOTANGENTS, numbers = k / NCOTANGENTS % NNUMBERS;
		struct prog q;
		struct err why = {0};
		if (!plainer(&q, s->c, s->p, plainest[k / NCOTANGENTS / NNUMBERS], numbers, cotangents, a))
			continue;
		if (try_one(text, look, s, &q, numbers == RANDOM, a, &why))
			return true;
		if (why.msg[0])
			*err = why;
	}
	say_why(err, s, arena_strdup(a, err->msg));
	return false;
}

static void put_script(
	struct strbuf *sb, const char *headline, const struct target *t, const struct short_runs *runs, const struct strbuf *text)
{
	sb_puts(sb, "# ");
	escape_lines(sb, "# ", headline, strlen(headline));
	sb_printf(sb, "\n# Run with %s ", t->driver->title);
	put_runs(sb, runs);
	sb_printf(sb, ".\n%s", text->s);
}

bool short_script(struct strbuf *sb, const struct claim *c, const struct prog *p, const struct target *t, const char *python,
	const char *headline, const struct short_ask *ask, struct short_runs *runs, struct arena *a, struct err *err)
{
	struct strbuf text;
	struct script_look look;
	struct search s = {.c = c, .p = p, .t = t, .python = python, .ask = ask};
	if (!t->driver->script || !t->driver->script->brief)
		return err_set(err, "targets of the family %s have no scripts of a few lines", target_family(t));
	*runs = (struct short_runs){0};
	sb_init(&text);
	const bool found = find(&text, &look, &s, a, err);
	if (found) {
		runs->raised = look.raised;
		add_run(runs, arena_strdup(a, t->version), &s.last);
		other_versions(runs, &text, t, ask, a);
		put_script(sb, headline, t, runs, &text);
	}
	sb_free(&text);
	return found;
}

/* ---- a kept one -------------------------------------------------------------------------------------------------------------------- */

static bool was_wrong(const struct short_runs *runs, const char *version)
{
	for (int i = 0; i < runs->n; i++)
		if (str_eq(runs->run[i].version, version))
			return str_eq(runs->run[i].verdict, "wrong");
	return false;
}

/* Behind the comments. */
static const char *below_head(const char *script)
{
	while (*script == '#') {
		script += strcspn(script, "\n");
		script += *script == '\n';
	}
	return script;
}

/* Is that the text of q, or its text beside what is right? It is in text then. */
static bool is_text_of(
	struct strbuf *text, const char *want, const struct search *s, const struct prog *q, bool random, const char *raised, struct arena *a)
{
	struct script_look look;
	struct err err = {0};
	if (!look_of(&look, s->c, q, s->t, random, a))
		return false;
	if (look.at == LOOK_RUN && !q->must_raise)
		look.raised = raised;
	if (!brief(text, s, &look, q, a, &err))
		return false;
	if (str_eq(text->s, want))
		return true;
	look.beside_right = has_right(&look, s->t);
	return look.beside_right && brief(text, s, &look, q, a, &err) && str_eq(text->s, want);
}

bool short_script_kept(struct strbuf *sb, const char *kept, const struct short_runs *runs, const struct claim *c, const struct prog *p,
	const struct target *t, const char *headline, struct arena *a)
{
	struct strbuf text;
	bool is = false;
	const struct search s = {.c = c, .p = p, .t = t};
	const char *want = below_head(kept);
	if (!t->driver->script || !t->driver->script->brief || !was_wrong(runs, t->version))
		return false;
	sb_init(&text);
	for (int k = 0; k < MAX_TEXTS && !is; k++) {
		const int numbers = k / NCOTANGENTS % NNUMBERS;
		struct prog q;
		is = plainer(&q, c, p, plainest[k / NCOTANGENTS / NNUMBERS], numbers, k % NCOTANGENTS, a)
			&& is_text_of(&text, want, &s, &q, numbers == RANDOM, runs->raised, a);
	}
	if (is)
		put_script(sb, headline, t, runs, &text);
	sb_free(&text);
	return is;
}
