/* driver.c: the family `torch`: its stages, what is known of them, and how a program becomes a request to the worker (torch.h). */
#include "compiled/targets/driver.h"

#include "compiled/targets/exec.h"
#include "compiled/targets/torch/emit_python.h"
#include "compiled/targets/torch/about.h"
#include "compiled/targets/torch/arithmetic.h"
#include "compiled/targets/torch/installed.h"
#include "compiled/targets/torch/script_parts.h"
#include "compiled/targets/torch/spell.h"
#include "compiled/targets/torch/torch.h"
#include "compiled/targets/torch/trace_torch.h"

/* What `torch:` without a version means: it still has the founding bug. */
#define DEFAULT_VERSION "2.11.0"

static const struct target_stage stages[] = {
	{.name = "eager", .where = "in eager mode", .what = "PyTorch, operator by operator"},
	{.name = "fake", .what = "eager, every operator's predicted meta compared with the real one", .predicts = true, .rungs = 1},
	{.name = "aot_fake",
		.what = "AOTAutograd with Inductor's decompositions, each node's predicted meta compared",
		.compiles = true,
		.predicts = true,
		.rungs = 2},
	{.name = "aot_eager",
		.where = "with torch.compile(backend=\"aot_eager\")",
		.what = "Dynamo and AOTAutograd, graphs run by eager kernels",
		.compiles = true,
		.rungs = 3},
	{.name = "aot_eager_decomp_partition",
		.where = "with torch.compile(backend=\"aot_eager_decomp_partition\")",
		.what = "the same with Inductor's decompositions and partitioner",
		.compiles = true,
		.rungs = 4},
	{.name = "inductor",
		.where = "with torch.compile",
		.what = "torch.compile: generated kernels",
		.compiles = true,
		.options = true,
		.rungs = 5},
	{.name = "dynamo",
		.what = "torch.compile with a backend of yours: +backend=NAME,import=MODULE",
		.compiles = true,
		.options = true,
		.rungs = 2},
};

static const struct target_freedom freedoms[] = {
#define FREEDOM(bit, stage, reason, source) {bit, stage, reason, source},
#include "compiled/targets/torch/freedoms.def"
#undef FREEDOM
};

static const struct target_refusal refusals[] = {
#define REFUSAL(stage, fragment, reason, source)    {stage, fragment, reason, source, false, TDEV_CPU},
#define NO_KERNEL(device, fragment, reason, source) {"eager", fragment, reason, source, true, device},
#include "compiled/targets/torch/refusals.def"
#undef REFUSAL
#undef NO_KERNEL
};

static const struct target_knob knobs[] = {
#define KNOB(stage, option, value, subsystem, what) {stage, option, value, what, subsystem},
#include "compiled/targets/torch/knobs.def"
#undef KNOB
};

static const char *const wrapping[] = {"backend='inductor' raised:\n", "backend='aot_eager' raised:\n", NULL};
static const char *const of_child[] = {"import", NULL};

/* ---- names ------------------------------------------------------------------------------------------------------------------ */

static bool is_dynamo(const struct target *t) { return str_eq(target_stage(t)->name, "dynamo"); }

/* ---- probes (probe.py) ---- */

/* Every piece of a list between commas. */
static bool each_piece(const char *value, bool (*fits)(const char *piece, size_t n))
{
	for (;; value++) {
		size_t n = strcspn(value, ",");
		if (!fits(value, n))
			return false;
		value += n;
		if (!*value)
			return true;
	}
}

static bool is_one(const char *value) { return str_eq(value, "1"); }
static bool is_word(const char *s, size_t n) { return n > 0 && !memchr(s, ':', n) && !memchr(s, '%', n) && !memchr(s, '-', n); }
static bool is_operator(const char *s, size_t n) { return is_word(s, n) && memchr(s, '.', n); }
static bool is_place(const char *s, size_t n)
{
	bool graph = n > 3 && (memcmp(s, "fw:", 3) == 0 || memcmp(s, "bw:", 3) == 0);
	return graph && (s[3] == '%' ? is_word(s + 4, n - 4) : is_operator(s + 3, n - 3));
}
static bool are_words(const char *value) { return each_piece(value, is_word); }
static bool are_operators(const char *value) { return each_piece(value, is_operator); }
static bool are_places(const char *value) { return each_piece(value, is_place); }
static bool is_count(const char *value)
{
	size_t n = strcspn(value, ":");
	return is_word(value, n) && value[n] && value[n + 1] && !value[n + 1 + strspn(value + n + 1, "0123456789")];
}

static const struct probe_row {
	const char *name, *form;
	bool (*fits)(const char *value);
	bool changes; /* what is compiled */
	bool aot;     /* the stages aot_eager and aot_eager_decomp_partition take it too */
} probes[] = {
	{"probe.keep", "1", is_one, false, true},
	{"probe.clone", "fw:OP, bw:OP, fw:%NODE or bw:%NODE", are_places, true, true},
	{"probe.fallback", "OP (as in aten.neg.default)", are_operators, true, false},
	{"probe.off", "SUBSYSTEM", are_words, true, true},
	{"probe.first", "SUBSYSTEM:N", is_count, true, true},
	{"probe.excuse", "1", is_one, false, true},
	{"probe.values", "1", is_one, false, false},
};

static bool stage_probes(const struct target *t, const struct probe_row *p)
{
	const char *stage = target_stage(t)->name;
	bool aot = str_eq(stage, "aot_eager") || str_eq(stage, "aot_eager_decomp_partition");
	return str_eq(stage, "inductor") || (aot && p->aot);
}

static bool is_probe(const char *name) { return strncmp(name, "probe.", 6) == 0; }

bool torch_probe_changes(const char *name)
{
	for (int i = 0; i < ARRAY_LEN(probes); i++)
		if (str_eq(probes[i].name, name))
			return probes[i].changes;
	return false;
}

static bool probe_fits(const struct target *t, const struct target_option *o, const char *text, struct err *err)
{
	char known[256] = "";
	for (int i = 0; i < ARRAY_LEN(probes); i++) {
		if (!stage_probes(t, &probes[i]))
			continue;
		if (str_eq(probes[i].name, o->name))
			return probes[i].fits(o->value)
				|| err_set(err, "target '%s': option %s is %s, not '%s'", text, o->name, probes[i].form, o->value);
		size_t used = strlen(known);
		snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", probes[i].name);
	}
	return err_set(
		err, "target '%s': stage %s has no probe '%s'; it has: %s", text, target_stage(t)->name, o->name, known[0] ? known : "none");
}

static bool probe_option(struct target_option *out, const struct target *t, const struct target_probe *p)
{
	static const char *const name[NPROBES] = {"probe.keep", "probe.clone", "probe.fallback", "probe.first", "probe.excuse", "probe.values"};
	int n = 0;
	*out = (struct target_option){.value = "1"};
	snprintf(out->name, sizeof out->name, "%s", name[p->kind]);
	if (p->kind == PROBE_CLONE)
		n = snprintf(out->value, sizeof out->value, "%s:%s", p->backward ? "bw" : "fw", p->what);
	else if (p->kind == PROBE_FALLBACK)
		n = snprintf(out->value, sizeof out->value, "%s", p->what);
	else if (p->kind == PROBE_FIRST)
		n = snprintf(out->value, sizeof out->value, "%s:%d", p->what, p->first);
	return n < (int)sizeof out->value && probe_fits(t, out, "", NULL);
}

bool torch_option_of_dynamo(const char *name) { return str_eq(name, "dynamic") || str_eq(name, "compiled_autograd"); }

/* `dynamic` and `compiled_autograd` belong to every stage that compiles, backend and import to dynamo, all other names to Inductor, which
 * knows them. */
static bool option_fits(const struct target *t, const struct target_option *o, const char *text, struct err *err)
{
	const struct target_stage *st = target_stage(t);
	if (is_probe(o->name))
		return probe_fits(t, o, text, err);
	if (str_eq(o->name, "dynamic") && st->compiles)
		return str_eq(o->value, "0") || str_eq(o->value, "1")
			|| err_set(err, "target '%s': option dynamic is 0 or 1, not '%s'", text, o->value);
	if (str_eq(o->name, "compiled_autograd") && st->compiles)
		return str_eq(o->value, "1") || str_eq(o->value, "alone")
			|| err_set(err, "target '%s': option compiled_autograd is 1 or alone, not '%s'", text, o->value);
	if (is_dynamo(t))
		return str_eq(o->name, "backend") || str_eq(o->name, "import")
			|| err_set(err, "target '%s': stage dynamo takes backend, import, dynamic and compiled_autograd, not '%s'", text, o->name);
	return st->options || err_set(err, "target '%s': stage %s takes no option '%s'", text, st->name, o->name);
}

static bool complete(const struct target *t, const char *text, struct err *err)
{
	return !is_dynamo(t) || target_option(t, "backend")
		|| err_set(err, "target '%s': stage dynamo needs +backend=NAME (and +import=MODULE, if a module of yours registers it)", text);
}

/* ---- facts ------------------------------------------------------------------------------------------------------------------ */

/* The minor version of 2.<minor>; of other major versions one far away. -1: t's version is no number, or no version at all. */
static int minor_of(const char *version)
{
	int major, minor;
	if (sscanf(version, "%d.%d", &major, &minor) != 2)
		return -1;
	return major < 2 ? 0 : major > 2 ? 1000 : MAX(0, MIN(minor, 1000));
}

/* Loss.cu has a kernel of its own for one sample (nll_loss_forward_reduce_cuda_kernel_1d); the decomposition averages. */
static struct target_semantics semantics_of(int minor, bool cuda, bool decomposed)
{
	struct target_semantics s = {.overlap_write = cuda ? OVERLAP_RESTORES : OVERLAP_SETS,
		.loss_of_one = !cuda ? LOSS_AVERAGED
			: decomposed     ? LOSS_ZERO_IGNORED
							 : LOSS_ALONE,
		.layout = cuda ? LAYOUT_LOADS : LAYOUT_CONVERTS};
#define SEMANTICS(first, last, gradient, nan, beyond, small)                                                                               \
	if (minor >= (first) && minor <= (last)) {                                                                                             \
		s.clamp_gradient = gradient;                                                                                                       \
		s.clamp_nan = nan;                                                                                                                 \
		s.clamp_beyond = beyond;                                                                                                           \
		s.small_overflow = small;                                                                                                          \
	}
#include "compiled/targets/torch/semantics.def"
	return s;
}
/* The first versions of the ranges that differ in facts: of semantics.def, and of library_expm1. */
static const char *const steps[] = {"0.0.0", "2.12.0", "2.15.0", NULL};

/* The decompositions of aot_eager_decomp_partition and the emission of Inductor need other rows than ATen's kernels. A backend that nobody
 * knows may need either. */
static const struct licence_kernels *kernels_of(const char *stage)
{
	bool eager = str_eq(stage, "eager") || str_eq(stage, "fake") || str_eq(stage, "aot_fake") || str_eq(stage, "aot_eager");
	return eager ? &torch_eager_kernels : &torch_inductor_kernels;
}

static void facts(struct target_facts *out, const struct target *t)
{
	int minor = minor_of(t->version[0] ? t->version : DEFAULT_VERSION);
	const char *tanh = target_option(t, "cpp.use_decompose_tanh");
	out->known = true;
	out->arithmetic.kernels = kernels_of(target_stage(t)->name);
	out->semantics = semantics_of(minor, t->device == TDEV_CUDA, out->arithmetic.kernels == &torch_inductor_kernels);
	out->arithmetic.traced = target_stage(t)->compiles;
	/* codegen/cpp.py: CppVecOverrides.expm1 is exp - 1 in 2.11.0, the library's in 2.15.0; tanh is the library's unless asked. */
	out->arithmetic.library_expm1 = minor >= 15 && t->device == TDEV_CPU;
	const char *autograd = target_option(t, "compiled_autograd"); /* alone: the forward runs by ATen's kernels */
	bool others = str_eq(target_stage(t)->name, "dynamo") || (autograd && str_eq(autograd, "alone"));
	out->arithmetic.others = others ? &torch_eager_kernels : NULL;
	out->arithmetic.decomposed_tanh = tanh && str_eq(tanh, "1");
	out->torch_minor = t->version[0] && t->version[0] == '2' ? MAX(minor, 0) : 0;
}

/* ---- running ---------------------------------------------------------------------------------------------------------------- */

static bool spec(struct proc_spec *out, struct arena *a, const struct target *t, const struct exec_options *o, struct err *err)
{
	struct strbuf path;
	sb_init(&path);
	bool ok = target_python(&path, t, o->python, err);
	if (ok)
		torch_spec(out, a, path.s, target_option(t, "import"));
	sb_free(&path);
	return ok;
}

static bool hello(struct target_hello *out, const struct proc *p, const struct target *t)
{
	struct torch_hello h;
	if (!torch_hello(&h, p))
		return false;
	*out = (struct target_hello){.versions = ""};
	snprintf(out->version, sizeof out->version, "%s", h.torch);
	snprintf(out->versions, sizeof out->versions, "torch %s, python %s%s%s", h.torch, h.python, h.module[0] ? ", " : "", h.module);
	snprintf(out->device, sizeof out->device, "%s", h.device);
	if (t->device == TDEV_CUDA)
		snprintf(out->missing, sizeof out->missing, "%s", h.no_cuda);
	return true;
}

static bool submit(struct proc *child, const struct target_request *of, struct arena *a, void **request, struct err *err)
{
	struct torch_request *r = ARENA_NEW(a, struct torch_request, 1);
	if (!emit_request(r, of->p, of->t, a, err))
		return false;
	r->limit_ms = of->limit_ms;
	*request = r;
	return torch_submit(child, r, err);
}

static void take(struct result *out, struct arena *a, struct proc *child, const struct prog *p, void *request)
{
	(void)p;
	torch_take(out, a, child, request);
}

static bool spelled(const struct prog *p, const struct target *t) { return spell_all(p, t->device); }

const struct target_driver torch_driver = {
	.name = "torch",
	.title = "PyTorch",
	.default_version = DEFAULT_VERSION,
	.devices = 1u << TDEV_CPU | 1u << TDEV_CUDA,
	.stage = stages,
	.nstages = ARRAY_LEN(stages),
	.freedom = freedoms,
	.nfreedoms = ARRAY_LEN(freedoms),
	.refusal = refusals,
	.nrefusals = ARRAY_LEN(refusals),
	.wrapping = wrapping,
	.knob = knobs,
	.nknobs = ARRAY_LEN(knobs),
	.probe = probe_option,
	.package = "/torch/",
	.version_steps = steps,
	.option_fits = option_fits,
	.complete = complete,
	.of_child = of_child,
	.facts = facts,
	.spec = spec,
	.hello = hello,
	.submit = submit,
	.take = take,
	.installed = torch_installed,
	.about = torch_about,
	.trace = torch_trace,
	.spelled = spelled,
	.script = &torch_script,
};
