/* driver.c: the family `torch`: its stages, what is known of them, and how a program becomes a request to the worker (torch.h). */
#include "compiled/targets/driver.h"

#include "compiled/targets/exec.h"
#include "compiled/targets/torch/emit_python.h"
#include "compiled/targets/torch/installed.h"
#include "compiled/targets/torch/script_parts.h"
#include "compiled/targets/torch/torch.h"

/* What `torch:` without a version means: it still has the founding bug. */
#define DEFAULT_VERSION "2.11.0"

static const struct target_stage stages[] = {
	{.name = "eager", .what = "PyTorch, operator by operator"},
	{.name = "fake", .what = "eager, every operator's predicted meta compared with the real one", .predicts = true, .rungs = 1},
	{.name = "aot_fake",
		.what = "AOTAutograd with Inductor's decompositions, each node's predicted meta compared",
		.compiles = true,
		.predicts = true,
		.rungs = 2},
	{.name = "aot_eager", .what = "Dynamo and AOTAutograd, graphs run by eager kernels", .compiles = true, .rungs = 3},
	{.name = "aot_eager_decomp_partition", .what = "the same with Inductor's decompositions and partitioner", .compiles = true, .rungs = 4},
	{.name = "inductor", .what = "torch.compile: generated kernels", .compiles = true, .options = true, .rungs = 5},
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
#define REFUSAL(stage, fragment, reason, source) {stage, fragment, reason, source},
#include "compiled/targets/torch/refusals.def"
#undef REFUSAL
};

static const char *const wrapping[] = {"backend='inductor' raised:\n", "backend='aot_eager' raised:\n", NULL};
static const char *const of_child[] = {"import", NULL};

/* ---- names ------------------------------------------------------------------------------------------------------------------ */

static bool is_dynamo(const struct target *t) { return str_eq(target_stage(t)->name, "dynamo"); }

/* `dynamic` belongs to every stage that compiles, backend and import to dynamo, all other names to Inductor, which knows them. */
static bool option_fits(const struct target *t, const struct target_option *o, const char *text, struct err *err)
{
	const struct target_stage *st = target_stage(t);
	if (str_eq(o->name, "dynamic") && st->compiles)
		return str_eq(o->value, "0") || str_eq(o->value, "1")
			|| err_set(err, "target '%s': option dynamic is 0 or 1, not '%s'", text, o->value);
	if (is_dynamo(t))
		return str_eq(o->name, "backend") || str_eq(o->name, "import")
			|| err_set(err, "target '%s': stage dynamo takes backend, import and dynamic, not '%s'", text, o->name);
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
	return major < 2 ? 0 : major > 2 ? 1000 : minor;
}

/* clamp_backward: 2.11.0 passes g at a bound, 2.15.0 does not (both measured); between, nobody looked. */
static enum clamp_rule clamp_of(int minor) { return minor >= 15 ? CLAMP_BLOCKS : minor < 0 || minor >= 12 ? CLAMP_EITHER : CLAMP_PASSES; }
/* The first versions of the ranges that differ in facts. */
static const char *const steps[] = {"0.0.0", "2.12.0", "2.15.0", NULL};

/* The decompositions of aot_eager_decomp_partition and the emission of Inductor need the wider rows, and so may a backend that nobody knows. */
static enum licence_target kernels_of(const char *stage)
{
	bool eager = str_eq(stage, "eager") || str_eq(stage, "fake") || str_eq(stage, "aot_fake") || str_eq(stage, "aot_eager");
	return eager ? LT_TORCH_EAGER : LT_TORCH_INDUCTOR;
}

static void facts(struct target_facts *out, const struct target *t)
{
	int minor = minor_of(t->version[0] ? t->version : DEFAULT_VERSION);
	const char *tanh = target_option(t, "cpp.use_decompose_tanh");
	out->known = true;
	out->arithmetic.kernels = kernels_of(target_stage(t)->name);
	out->arithmetic.clamp = clamp_of(minor);
	/* codegen/cpp.py: CppVecOverrides.expm1 is exp - 1 in 2.11.0, the library's in 2.15.0; tanh is the library's unless asked. */
	out->arithmetic.library_expm1 = out->arithmetic.clamp == CLAMP_BLOCKS && t->device == TDEV_CPU;
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

static bool hello(struct target_hello *out, const struct proc *p)
{
	struct torch_hello h;
	if (!torch_hello(&h, p))
		return false;
	*out = (struct target_hello){.versions = ""};
	snprintf(out->version, sizeof out->version, "%s", h.torch);
	snprintf(out->versions, sizeof out->versions, "torch %s, python %s%s%s", h.torch, h.python, h.module[0] ? ", " : "", h.module);
	snprintf(out->device, sizeof out->device, "%s", h.device);
	return true;
}

static bool submit(
	struct proc *child, const struct prog *p, const struct target *t, int limit_ms, struct arena *a, void **request, struct err *err)
{
	struct torch_request *r = ARENA_NEW(a, struct torch_request, 1);
	if (!emit_request(r, p, t, a, err))
		return false;
	r->limit_ms = limit_ms;
	*request = r;
	return torch_submit(child, r, err);
}

static void take(struct result *out, struct arena *a, struct proc *child, const struct prog *p, void *request)
{
	(void)p;
	torch_take(out, a, child, request);
}

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
	.script = &torch_script,
};
