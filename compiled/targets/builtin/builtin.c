/* builtin.c: the family `builtin`: this very binary, started again as a child with the verb BUILTIN_VERB, so that a crash of what is under
 * test costs one result and never the oracle. Request: the target's name, the program's text and those of what comes next (ahead.h);
 * answer: the result as wire.h encodes it.
 * The child reads the text strictly: what is sent is what is stored. Both ends of the pipe are in this file. */
#include "compiled/run/execute.h"
#include "compiled/targets/builtin/builtin.h"

#include <unistd.h>

#include "compiled/run/ahead.h"
#include "compiled/defects/defects.h"
#include "compiled/passes/pass.h"
#include "compiled/targets/answer.h"
#include "compiled/targets/builtin/arithmetic.h"
#include "compiled/targets/driver.h"
#include "compiled/targets/exec.h"
#include "eager/base/clock.h"
#include "eager/base/guess.h"
#include "eager/base/version.h"
#include "eager/lang/wire.h"
#include "eager/run/interp.h"

static const struct target_stage stages[] = {
	{.name = "eager", .what = "own eager interpreter: the plain meaning of the language", .options = true},
	{.name = "functional", .what = "own compiler, views and writes turned into functions, run by eager's kernels and autograd", .rungs = 1},
	{.name = "joint", .what = "own compiler, forward and backward as one program, run by eager's kernels", .rungs = 2},
	{.name = "partitioned",
		.what = "own compiler, that in a forward and a backward program with saved values, run by eager's kernels",
		.rungs = 3},
	{.name = "decomposed", .what = "own compiler, the joint program in rows of the core dialect alone, run by eager's kernels", .rungs = 4},
	{.name = "passes", .what = "own compiler, the joint program after all passes, run by eager's kernels", .rungs = 5},
	{.name = "loops", .what = "own compiler, the same program as loops, which an interpreter walks", .rungs = 6},
	{.name = "jit", .what = "own compiler, the loops as C, compiled by libtcc in memory", .rungs = 7},
	{.name = "o2",
		.what = "own compiler, the C compiled by gcc -O2, or by what options say, and loaded",
		.ahead = AHEAD_PROGRAMS,
		.rungs = 7},
	{.name = "package", .what = "own compiler, that library in a folder on disk, run by a fresh process", .rungs = 8},
	{.name = "cuda",
		.what = "own compiler, the loops as CUDA C++, compiled by NVRTC and run on an NVIDIA GPU",
		.ahead = AHEAD_PROGRAMS,
		.rungs = 7},
};

static const struct target_freedom freedoms[] = {
#define FREEDOM(bit, stage, reason, source) {bit, stage, reason, source},
#include "compiled/targets/builtin/freedoms.def"
#undef FREEDOM
};

/* What each stage from the passes on can leave out. */
#define PASS_KNOBS(stage)                                                                                                                  \
	{stage, "passes", "-noop", "the removal of rows that return what they are given", NULL},                                               \
		{stage, "passes", "-views", "the simplification of views", NULL}, {stage, "passes", "-cse", "common subexpressions", NULL},        \
		{stage, "passes", "-dce", "dead code", NULL},                                                                                      \
	{                                                                                                                                      \
		stage, "reinplace", "0", "rows and scatters that overwrite their operand", NULL                                                    \
	}
/* Where loops run in another order than theirs: +order=reversed. */
#define ORDER_KNOB                                                                                                                         \
	{                                                                                                                                      \
		"loops", "order", "forward", "the order of loops", "order"                                                                         \
	}
#define LOOP_KNOBS(stage)                                                                                                                  \
	{stage, "dynamic", "0", "one compilation for calls of any size", "sizes"},                                                             \
		{stage, "buffer_reuse", "0", "the sharing of buffers", "buffers"}, {stage, "fusion", "off", "fusion", NULL}, PASS_KNOBS(stage)

static const struct target_knob knobs[] = {
	PASS_KNOBS("passes"),
	{"passes", "passes", "-all", "all passes", "passes"},
	ORDER_KNOB,
	LOOP_KNOBS("loops"),
	LOOP_KNOBS("jit"),
};

static const char *const plants[] = {
	"zero", "row", "stale", "scale", "crash", "hang", "refuse", "bug-making", "bug-judging", "bug-confirming", "kill-judging"};

static bool one_of(const char *const *known, int n, const struct target_option *o, const char *text, struct err *err)
{
	struct strbuf all;
	sb_init(&all);
	bool found = false;
	for (int i = 0; i < n; i++) {
		found |= str_eq(o->value, known[i]);
		sb_printf(&all, "%s%s", i ? ", " : "", known[i]);
	}
	if (!found)
		err_set(err, "target '%s': %s=%s is not one of %s%s", text, o->name, o->value, all.s,
			guess_from(&(struct guess){0}, o->value, known, sizeof known[0], n));
	sb_free(&all);
	return found;
}

/* "-cse,-dce" as a mask of passes that are off; "-all" is every one of them. */
static bool read_off(unsigned *off, const char *value, const char *text, struct err *err)
{
	*off = 0;
	for (const char *s = value; *s; s += *s == ',') {
		char name[MAX_OPTION_TEXT];
		const size_t n = strcspn(s, ",");
		snprintf(name, sizeof name, "%.*s", (int)n, s);
		const int pass = name[0] == '-' ? pass_find(name + 1) : -1;
		if (pass < 0 && !str_eq(name, "-all"))
			return err_set(err, "target '%s': passes=%s: '%s' is not -all or - and the name of a pass: %s", text, value, name,
				"-fold, -noop, -views, -cse, -dce");
		*off |= pass < 0 ? ~0u : 1u << pass;
		s += n;
	}
	return *off != 0 || err_set(err, "target '%s': passes= names no pass", text);
}

/* The last step of what t's stage runs: behind the passes, stages differ in what runs the program. False: it compiles nothing. */
static bool last_step(int *out, const struct target *t)
{
	if (!compile_stage_find(out, target_stage(t)->name))
		*out = compile_nstages() - 1;
	return !str_eq(target_stage(t)->name, "eager");
}

/* How a stage runs loops. */
struct engine_of {
	const char *stage;
	enum code_engine engine;
};
static const struct engine_of engines[] = {
	{"loops", CODE_INTERPRETED}, {"jit", CODE_JIT}, {"o2", CODE_NATIVE}, {"package", CODE_PACKAGE}, {"cuda", CODE_CUDA}};

static const struct engine_of *engine_of(const struct target *t) /* NULL: its stage runs none */
{
	for (int i = 0; i < ARRAY_LEN(engines); i++)
		if (str_eq(engines[i].stage, target_stage(t)->name))
			return &engines[i];
	return NULL;
}

static bool has_loops(const struct target *t) { return engine_of(t) != NULL; }

/* Does a C compiler of the machine make its code? */
static bool is_native(const struct target *t)
{
	return has_loops(t) && (engine_of(t)->engine == CODE_NATIVE || engine_of(t)->engine == CODE_PACKAGE);
}

static bool is_cuda(const struct target *t) { return has_loops(t) && engine_of(t)->engine == CODE_CUDA; }

static bool has_schedule(const struct target *t) { return is_native(t) || is_cuda(t) || str_eq(target_stage(t)->name, "loops"); }

/* A planted defect of a step that t's stage has. */
static bool defect_fits(const struct target *t, const struct target_option *o, const char *text, struct err *err)
{
	const struct defect *d = defect_find(o->value);
	int stage, step;
	if (!d)
		return err_set(err, "target '%s': there is no defect '%s'%s", text, o->value,
			guess_from(&(struct guess){0}, o->value, &defects[0].name, sizeof defects[0], ndefects));
	if (!last_step(&stage, t))
		return err_set(err, "target '%s': stage %s compiles nothing, so it has no defects", text, target_stage(t)->name);
	const bool too_late = compile_stage_find(&step, d->step) && step > stage;
	return !(too_late || (defect_is_of_loops(d) && !has_loops(t)) || (defect_is_of_schedule(d) && !has_schedule(t)))
		|| err_set(
			err, "target '%s': defect %s is of step %s, which stage %s does not have", text, d->name, d->step, target_stage(t)->name);
}

/* A step on loops; -1: it is none. */
static int loop_step(const char *name)
{
	const int step = step_find(name);
	return step >= STEP_lower ? step : -1;
}

/* May t's stage stop behind that step? */
static bool may_stop(const struct target *t, int step)
{
	if (step <= STEP_functional || compile_steps[step].kind == STEP_OF_END)
		return false;
	return (step < STEP_lower && compile_steps[step].kind != STEP_OF_CODE) || (has_loops(t) && (step < STEP_schedule || has_schedule(t)));
}

static bool until_fits(const struct target *t, const struct target_option *o, const char *text, struct err *err)
{
	struct strbuf all;
	if (may_stop(t, step_find(o->value)))
		return true;
	sb_init(&all);
	for (int s = 0; s < NSTEPS; s++)
		if (may_stop(t, s))
			sb_printf(&all, "%s%s", all.len ? ", " : "", compile_steps[s].name);
	err_set(err, "target '%s': until=%s is no step behind which stage %s may stop: %s", text, o->value, target_stage(t)->name, all.s);
	sb_free(&all);
	return false;
}

static bool option_is(const struct target *t, const char *name, const char *value)
{
	const char *given = target_option(t, name);
	return given && str_eq(given, value);
}

/* What is compiled once for calls of several sizes is in one part. */
static bool pair_fits(const struct target *t, const struct target_option *o, const char *text, struct err *err)
{
	const char *const pair[] = {"partition", "dynamic"};
	for (int i = 0; i < ARRAY_LEN(pair); i++)
		if (str_eq(o->name, pair[i]) && str_eq(o->value, "1") && option_is(t, pair[1 - i], "1"))
			return err_set(
				err, "target '%s': partition=1 and dynamic=1 do not go together: what is compiled for any size is in one part", text);
	return true;
}

static bool option_fits(const struct target *t, const struct target_option *o, const char *text, struct err *err)
{
	static const char *const names[] = {"plant", "partition", "recompute", "decompose", "passes", "freezing", "reinplace", "fusion",
		"buffer_reuse", "blas", "order", "fast", "cc", "opt", "sanitize", "defect", "dynamic", "until"};
	static const char *const switches[] = {"0", "1"}, *const fusion[] = {"on", "off"}, *const compilers[] = {"gcc", "clang"},
							 *const levels[] = {"0", "1", "2", "3"}, *const one[] = {"1"}, *const orders[] = {"forward", "reversed"};
	const bool native = is_native(t), loops = has_loops(t), passes_stage = loops || str_eq(target_stage(t)->name, "passes"),
			   partitioned = str_eq(target_stage(t)->name, "partitioned"),
			   behind = passes_stage || str_eq(target_stage(t)->name, "decomposed");
	unsigned off;
	if (!pair_fits(t, o, text, err))
		return false;
	if (str_eq(o->name, "defect"))
		return defect_fits(t, o, text, err);
	if (passes_stage && str_eq(o->name, "until"))
		return until_fits(t, o, text, err);
	if ((behind && str_eq(o->name, "partition")) || ((behind || partitioned) && str_eq(o->name, "recompute")))
		return one_of(switches, ARRAY_LEN(switches), o, text, err);
	if (str_eq(o->name, "plant"))
		return one_of(plants, ARRAY_LEN(plants), o, text, err);
	if (loops && str_eq(o->name, "buffer_reuse"))
		return one_of(switches, ARRAY_LEN(switches), o, text, err);
	if (loops && !is_cuda(t) && str_eq(o->name, "blas"))
		return one_of(switches, ARRAY_LEN(switches), o, text, err);
	if (str_eq(target_stage(t)->name, "loops") && str_eq(o->name, "order"))
		return one_of(orders, ARRAY_LEN(orders), o, text, err);
	if (is_cuda(t) && str_eq(o->name, "fast"))
		return one_of(one, ARRAY_LEN(one), o, text, err);
	if (native && str_eq(o->name, "cc"))
		return one_of(compilers, ARRAY_LEN(compilers), o, text, err);
	if (native && str_eq(o->name, "opt"))
		return one_of(levels, ARRAY_LEN(levels), o, text, err);
	if (native && str_eq(o->name, "sanitize"))
		return one_of(one, ARRAY_LEN(one), o, text, err);
	if (passes_stage && str_eq(o->name, "passes"))
		return read_off(&off, o->value, text, err);
	if (passes_stage && str_eq(o->name, "dynamic"))
		return one_of(switches, ARRAY_LEN(switches), o, text, err);
	if (passes_stage && (str_eq(o->name, "decompose") || str_eq(o->name, "freezing") || str_eq(o->name, "reinplace")))
		return one_of(switches, ARRAY_LEN(switches), o, text, err);
	if (loops && str_eq(o->name, "fusion"))
		return one_of(fusion, ARRAY_LEN(fusion), o, text, err);
	const char *has = "plant; from stage functional on defect; from partitioned on recompute; from decomposed on partition; from passes on "
					  "decompose, passes, freezing, reinplace, dynamic, until; from loops on fusion, "
					  "buffer_reuse; those of a processor blas; loops order; cuda fast; o2 and package cc, opt, sanitize";
	for (int i = 0; i < ARRAY_LEN(names); i++)
		if (str_eq(o->name, names[i]))
			return err_set(err, "target '%s': stage %s has no option '%s'; builtin has: %s", text, target_stage(t)->name, o->name, has);
	return err_set(err, "target '%s': builtin has no option '%s'; it has: %s%s", text, o->name, has,
		guess_from(&(struct guess){0}, o->name, names, sizeof names[0], ARRAY_LEN(names)));
}

/* The steps on loops of a subsystem: none of them, and then one more each time. */
struct step_range {
	const char *subsystem;
	int first, last;
};

/* What a knob of t's asks about, so that it says for each step whether that is the one; false: t has no such subsystem. */
static bool steps_probed(struct step_range *out, const struct target *t, const char *subsystem)
{
	const bool dynamic = option_is(t, "dynamic", "1");
	const struct step_range all[] = {{"sizes", STEP_lower, STEP_symbols}, {"buffers", dynamic ? STEP_symbols : STEP_lower, STEP_reuse},
		{"order", STEP_reuse, STEP_reorder}};
	for (int i = 0; i < ARRAY_LEN(all); i++)
		if (str_eq(all[i].subsystem, subsystem) && (all[i].last < STEP_schedule || has_schedule(t))) {
			*out = all[i];
			return true;
		}
	return false;
}

/* How many steps behind decompose a program may stop at, before its loops; step: the number of that one. */
static int stops_behind_decompose(int step)
{
	int n = 0;
	for (int s = step_stop(STEP_decompose + 1); s >= 0 && s <= step; s = step_stop(s + 1))
		n++;
	return n;
}

static int stop_behind_decompose(int nth)
{
	int s = STEP_decompose;
	for (int k = 0; k < nth; k++)
		s = step_stop(s + 1);
	return s;
}

/* until=STEP, by how many steps of those behind decompose: PROBE_FIRST of the knob that switches all passes off. Of the one that
 * gives each value a buffer of its own: by how many behind lower. */
static bool probe(struct target_option *out, const struct target *t, const struct target_probe *p)
{
	const int most = stops_behind_decompose(STEP_reinplace);
	struct step_range range;
	if (p->kind == PROBE_FIRST && has_loops(t) && steps_probed(&range, t, p->what)) {
		const int first = MAX(0, MIN(p->first, range.last - range.first));
		*out = (struct target_option){.name = "until"};
		snprintf(out->value, sizeof out->value, "%s", compile_steps[range.first + first].name);
		return true;
	}
	if (p->kind != PROBE_FIRST || !str_eq(p->what, "passes") || !str_eq(target_stage(t)->name, "passes"))
		return false;
	snprintf(out->name, sizeof out->name, "until");
	snprintf(out->value, sizeof out->value, "%s", compile_steps[stop_behind_decompose(MAX(0, MIN(p->first, most)))].name);
	return true;
}

static void facts(struct target_facts *out, const struct target *t)
{
	int last;
	const bool joint = last_step(&last, t) && last >= STAGE_JOINT;
	out->known = true;
	out->arithmetic.kernels = joint ? &builtin_joint_kernels : &builtin_kernels;
	out->arithmetic.device = is_cuda(t) ? LD_CUDA : LD_CPU;
}

static bool spec(struct proc_spec *out, struct arena *a, const struct target *t, const struct exec_options *o, struct err *err)
{
	(void)t;
	(void)err;
	const char **argv = ARENA_ZNEW(a, const char *, 3);
	argv[0] = o->self;
	argv[1] = BUILTIN_VERB;
	*out = (struct proc_spec){.name = "built-in target", .argv = argv, .start_limit_ms = 20000, .max_rss = (int64_t)4 << 30};
	return true;
}

/* It is this binary: there is nothing to wait for. */
static bool hello(struct target_hello *out, const struct proc *p, const struct target *t)
{
	struct strbuf gpu;
	(void)p;
	*out = (struct target_hello){.versions = SCATTERPROOF, .device = "cpu"};
	if (!is_cuda(t))
		return true;
	sb_init(&gpu);
	gpu_names(&gpu);
	snprintf(out->device, sizeof out->device, "cuda, %s", gpu.len ? gpu.s : "no GPU");
	sb_free(&gpu);
	return true;
}

/* Which application of which subsystem a step on loops is, and how many that one has. */
static char *probed_loops(int step, struct arena *a)
{
	static const struct {
		const char *subsystem;
		int number, asked;
	} of[NSTEPS] = {[STEP_lower] = {"buffers", 0, 1},
		[STEP_symbols] = {"sizes", 1, 1},
		[STEP_reuse] = {"buffers", 1, 1},
		[STEP_schedule] = {"order", 1, 2},
		[STEP_reorder] = {"order", 2, 2}};
	return arena_printf(a, "first %s:%d: %d asked, the last that was on: %s\n", of[step].subsystem, of[step].number, of[step].asked,
		compile_steps[step].name);
}

/* What PROBE_FIRST is answered, which is known before the child says anything, and though it may die. In a; NULL: it was not asked. */
static char *until_answer(const struct target *t, struct arena *a)
{
	const char *until = target_option(t, "until");
	if (until && loop_step(until) >= 0)
		return probed_loops(loop_step(until), a);
	if (!until || step_find(until) < 0)
		return NULL;
	return arena_printf(a, "first passes:%d: %d asked, the last that was on: %s\n", stops_behind_decompose(step_find(until)),
		stops_behind_decompose(STEP_reinplace), until);
}

static bool submit(struct proc *child, const struct target_request *of, struct arena *a, void **request, struct err *err)
{
	struct strbuf text, msg;
	/* A C compiler takes a second for fifty rows, and the machine may be busy. */
	const int limit_ms = of->limit_ms ? of->limit_ms : is_native(of->t) || is_cuda(of->t) ? 180000 : 20000;
	*request = until_answer(of->t, a);
	sb_init(&text);
	sb_init(&msg);
	prog_print(&text, of->p);
	wire_put_str(&msg, target_text(of->t, a));
	wire_put_blob(&msg, text.s, text.len);
	wire_put_u32(&msg, (uint32_t)limit_ms);
	wire_put_u32(&msg, (uint32_t)of->nnext);
	for (int i = 0; i < of->nnext; i++)
		wire_put_str(&msg, of->next[i]);
	bool ok = proc_submit(child, msg.s, msg.len, limit_ms, err);
	sb_free(&text);
	sb_free(&msg);
	return ok;
}

/* Sizes of every input storage in every call. */
static const size_t *storage_sizes(const struct prog *p, struct arena *a)
{
	int n = prog_input_storages(p);
	size_t *out = ARENA_ZNEW(a, size_t, (size_t)n * (size_t)(p->ncall + 1));
	for (int k = 0; k <= p->ncall; k++) {
		struct prog q;
		if (!prog_bind(&q, p, k, a, NULL))
			continue;
		for (int i = 0; i < n; i++)
			out[k * n + i] = prog_storage_nbytes(&q, i);
	}
	return out;
}

static void take(struct result *out, struct arena *a, struct proc *p, const struct prog *prog, void *request)
{
	CHECK(proc_ready(p));
	if (proc_state(p) == PROC_ENDED) {
		answer_failed(out, answer_status(proc_end(p)), proc_why(p), a, p);
	} else {
		struct wire_expect expect = {.nouts = prog->nret,
			.ngrads = prog_ngrads(prog),
			.nstorages = prog_input_storages(prog),
			.ncalls = prog->ncall + 1,
			.storage_nbytes = storage_sizes(prog, a)};
		struct err err = {0};
		size_t n;
		const uint8_t *answer = proc_answer(p, &n);
		struct wire w = {.p = answer, .end = answer + n};
		if (!wire_get_result(out, a, &w, &expect, &err))
			answer_failed(out, RES_HARNESS, err.msg, a, p);
	}
	if (request) {
		out->artifact = ARENA_NEW(a, struct result_artifact, 1);
		out->artifact[0] = (struct result_artifact){"probe", arena_strdup(a, request)};
		out->nartifact = 1;
	}
	proc_release(p);
}

const struct target_driver builtin_driver = {
	.name = "builtin",
	.title = "built-in",
	.devices = 1u << TDEV_CPU,
	.stage = stages,
	.nstages = ARRAY_LEN(stages),
	.freedom = freedoms,
	.nfreedoms = ARRAY_LEN(freedoms),
	.plain_is_interpreter = true,
	.knob = knobs,
	.nknobs = ARRAY_LEN(knobs),
	.option_fits = option_fits,
	.probe = probe,
	.facts = facts,
	.spec = spec,
	.hello = hello,
	.submit = submit,
	.take = take,
};

/* ---- the child ---- */

/* plant=KIND spoils the results of one program in eight (by its text without `call` lines, so that a program behaves the same every
 * time): the campaign, the store and the comparison are tested with it, without any real compiler. */
enum { PLANT_ONE_IN = 8 };

static void plant_values(struct result *r, const char *kind, struct arena *a)
{
	for (int k = 0; k < r->ncalls; k++) {
		struct result_call *c = &r->call[k];
		struct result_tensor *t = c->ngrads && c->grad[0].present ? &c->grad[0] : &c->out[0];
		int64_t n = meta_numel(&t->meta), row = t->meta.rank ? t->meta.size[t->meta.rank - 1] : 1;
		int size = dtype_nbytes(t->meta.dtype);
		if (!n || !t->data)
			continue;
		unsigned char *p = arena_alloc(a, t->nbytes);
		memcpy(p, t->data, t->nbytes);
		if (str_eq(kind, "zero"))
			memset(p, 0, t->nbytes);
		else if (str_eq(kind, "row"))
			memset(p, 0, (size_t)(row * size));
		else if (str_eq(kind, "stale") && k > 0 && r->call[0].out[0].nbytes == c->out[0].nbytes && t == &c->out[0])
			memcpy(p, r->call[0].out[0].data, t->nbytes);
		for (int64_t i = 0; str_eq(kind, "scale") && dtype_is_float(t->meta.dtype) && i < n; i++)
			dtype_store_f(t->meta.dtype, p + i * size, 2 * dtype_load_f(t->meta.dtype, p + i * size));
		t->data = p;
	}
}

static void plant(struct result *r, const char *kind, const char *text, size_t ntext, struct arena *a)
{
	if (str_starts(kind, "bug-") || str_starts(kind, "kill-")) /* the shard dies of them, not this child (fuzz/campaign/shard.c) */
		kind = str_eq(kind, "bug-confirming") ? "zero" : "none";
	const char *calls = memmem(text, ntext, "\ncall (", 7);
	if (hash_bytes(text, calls ? (size_t)(calls + 1 - text) : ntext).b[0] % PLANT_ONE_IN != 0)
		return;
	if (str_eq(kind, "crash"))
		BUG("planted crash");
	while (str_eq(kind, "hang"))
		pause();
	if (str_eq(kind, "refuse"))
		*r = (struct result){
			.status = RES_RAISED, .stderr_tail = "", .message = arena_printf(a, "RuntimeError: planted refusal of %zu bytes", ntext)};
	if (r->status == RES_OK)
		plant_values(r, kind, a);
}

const char *builtin_wheels(void)
{
	static char pattern[4096];
	struct strbuf dir;
	sb_init(&dir);
	if (!pattern[0] && targets_dir(&dir, NULL))
		snprintf(pattern, sizeof pattern, "%s/*/lib/python*/site-packages/nvidia/*/lib", dir.s);
	sb_free(&dir);
	return pattern;
}

bool builtin_compile_options(struct compile_options *out, const struct target *t)
{
	const char *off = target_option(t, "passes"), *defect = target_option(t, "defect"), *until = target_option(t, "until");
	const char *cc = target_option(t, "cc"), *level = target_option(t, "opt");
	const struct engine_of *e = engine_of(t);
	*out = (struct compile_options){.validate = true, .freezing = option_is(t, "freezing", "1"), .to_code = e != NULL};
	out->partition = option_is(t, "partition", "1") || str_eq(target_stage(t)->name, "partitioned");
	out->save_all = option_is(t, "recompute", "0");
	out->decompose = option_is(t, "decompose", "1") || str_eq(target_stage(t)->name, "decomposed");
	if (off && !read_off(&out->off, off, off, NULL))
		BUG("passes=%s", off);
	if (option_is(t, "reinplace", "0"))
		out->off |= 1u << npasses;
	out->defect = defect ? defect_find(defect) : NULL;
	if (e)
		out->code.engine = e->engine;
	out->code.lower.no_fusion = option_is(t, "fusion", "off");
	out->code.lower.blas = option_is(t, "blas", "1");
	out->code.no_reuse = option_is(t, "buffer_reuse", "0");
	out->code.schedule = option_is(t, "order", "reversed") || is_native(t) || is_cuda(t);
	out->code.dynamic = option_is(t, "dynamic", "1");
	out->code.reorder = out->code.schedule;
	out->code.native = (struct native_options){
		.compiler = cc ? cc : "gcc", .level = level ? level[0] - '0' : 2, .sanitize = option_is(t, "sanitize", "1")};
	out->code.gpu = (struct gpu_options){.fast = option_is(t, "fast", "1"), .search = builtin_wheels()};
	if (until && loop_step(until) >= 0) { /* behind all passes */
		out->code.no_reuse |= loop_step(until) <= STEP_symbols;
		out->code.dynamic &= loop_step(until) >= STEP_symbols;
		out->code.schedule &= loop_step(until) >= STEP_schedule;
		out->code.reorder = loop_step(until) == STEP_reorder;
		until = NULL;
	}
	return t->driver == &builtin_driver && (until ? compile_stage_find(&out->stage, until) : last_step(&out->stage, t));
}

struct child {
	struct arena arena; /* of a request */
	struct code_ahead *ahead;
};

/* What runs on each stage: a stage of the table above that has nothing here is our mistake, never another stage's result. text: the
 * program's, then those of what comes next. */
static void run_stage(
	struct result *out, struct child *c, const struct prog *p, const struct target *t, const char *const *text, int ntext, int limit_ms)
{
	struct err err = {0};
	struct compile_options o;
	if (str_eq(target_stage(t)->name, "eager")) {
		interp_run(out, p, &c->arena, NULL, &err); /* whatever comes, out says it */
		return;
	}
	if (!builtin_compile_options(&o, t))
		BUG("builtin:%s has nothing that runs it", target_stage(t)->name);
	if (ntext > 1)
		compile_ahead(c->ahead, text, ntext, &o, limit_ms);
	o.code.ahead = c->ahead;
	compile_run(out, p, &o, &c->arena);
}

/* The program's text, then those of what comes next; the time that the program has. */
static const char **texts_of(int *n, int *limit_ms, struct wire *w, struct arena *a)
{
	size_t ntext;
	const char *first = wire_blob(w, a, &ntext);
	*limit_ms = (int)wire_u32(w);
	const uint32_t nnext = wire_u32(w);
	*n = 0;
	if (w->bad || nnext > AHEAD_PROGRAMS)
		return NULL;
	const char **text = ARENA_NEW(a, const char *, nnext + 1);
	text[(*n)++] = arena_printf(a, "%.*s", (int)ntext, first);
	while (*n <= (int)nnext)
		text[(*n)++] = wire_str(w, a);
	return text;
}

static bool serve(void *ctx, const void *req, size_t nreq, struct strbuf *answer)
{
	struct child *c = ctx;
	struct arena *a = &c->arena;
	struct err err = {0};
	struct prog p;
	struct result res = {.status = RES_HARNESS, .message = "", .stderr_tail = ""};
	arena_reset(a);
	struct wire w = {.p = req, .end = (const uint8_t *)req + nreq};
	struct target t;
	int ntext, limit_ms;
	const char *name = wire_str(&w, a), *const *text = texts_of(&ntext, &limit_ms, &w, a);
	if (w.bad || !text || !target_parse(&t, name, &err)) {
		res.message = "the request does not decode";
	} else if (!prog_read(&p, a, text[0], strlen(text[0]), READ_STRICT, &err)) {
		res.message = arena_printf(a, "%d:%d: %s", err.line, err.col, err.msg);
	} else {
		bug_context(text[0]);
		const double begin = clock_ms();
		run_stage(&res, c, &p, &t, text, ntext, limit_ms);
		if (target_option(&t, "plant"))
			plant(&res, target_option(&t, "plant"), text[0], strlen(text[0]), a);
		res.target_ms = clock_ms() - begin;
		bug_context(NULL);
	}
	wire_put_result(answer, &res);
	return true;
}

int builtin_child(void)
{
	struct child c = {.ahead = code_ahead_new()};
	arena_init(&c.arena);
	int rc = proc_serve("builtin", 7, serve, &c);
	code_ahead_free(c.ahead);
	arena_free(&c.arena);
	return rc;
}
