/* driver.c: the family `jax`: programs in the core dialect (compiled/targets/dialect.h), which lower.py says in JAX's functions. */
#include "compiled/targets/driver.h"

#include "compiled/targets/dialect.h"
#include "compiled/targets/exec.h"
#include "compiled/targets/installed.h"
#include "compiled/targets/jax/arithmetic.h"
#include "compiled/targets/jax/short_script.h"
#include "compiled/targets/python/worker.h"

#include <glob.h>

#define DEFAULT_VERSION "0.10.2" /* the newest for Python 3.11 */

extern const unsigned char jax_lower_py[]; /* lower.py, embedded by the build; NUL-terminated */

static const struct target_stage stages[] = {
	{.name = "op",
		.what = "JAX, operator by operator: the joint program in rows of the core dialect",
		.takes = TAKES_CORE,
		.by_rows = true},
	{.name = "jit",
		.where = "with jax.jit",
		.what = "the same in one jax.jit: XLA",
		.compiles = true,
		.options = true,
		.takes = TAKES_CORE,
		.rungs = 1},
};

static const struct target_freedom freedoms[] = {
#define FREEDOM(bit, stage, reason, source) {bit, stage, reason, source},
#include "compiled/targets/jax/freedoms.def"
#undef FREEDOM
};

static const struct target_knob knobs[] = {
#define KNOB(option, value, what) {"jit", option, value, what, NULL},
#include "compiled/targets/jax/knobs.def"
#undef KNOB
};

/* What XLA calls them: which there are, its compiler says. */
static bool option_fits(const struct target *t, const struct target_option *o, const char *text, struct err *err)
{
	if (!target_stage(t)->compiles)
		return err_set(err, "target '%s': stage %s takes no options, and so no '%s'", text, target_stage(t)->name, o->name);
	if (str_eq(o->name, "probe.keep"))
		return str_eq(o->value, "1") || err_set(err, "target '%s': option probe.keep is 1, not '%s'", text, o->value);
	return str_starts(o->name, "xla_") || err_set(err, "target '%s': '%s' is no option of XLA: their names begin with xla_", text, o->name);
}

/* Artifacts "StableHLO graph", "optimised HLO graph": what XLA is given, and what it makes of it. */
static bool probe(struct target_option *out, const struct target *t, const struct target_probe *p)
{
	*out = (struct target_option){.name = "probe.keep", .value = "1"};
	return p->kind == PROBE_KEEP && target_stage(t)->compiles;
}

static void facts(struct target_facts *out, const struct target *t)
{
	out->known = true;
	out->arithmetic.kernels = target_stage(t)->compiles ? &jax_jit_kernels : &jax_op_kernels;
	out->arithmetic.traced = true;
}

/* What decides of a user's own runs how something is compiled is none of a target's business, whose name says that. */
static const char *const withheld[] = {"XLA_", "JAX_", "TF_", NULL};

static bool spec(struct proc_spec *out, struct arena *a, const struct target *t, const struct exec_options *o, struct err *err)
{
	const struct proc_file lower = {"lower.py", jax_lower_py, strlen((const char *)jax_lower_py)};
	struct strbuf python;
	sb_init(&python);
	const bool ok = target_python(&python, t, o->python, err);
	python_spec(out, a, arena_strdup(a, python.s), "lower.py", &lower);
	out->not_env = withheld;
	sb_free(&python);
	return ok;
}

/* Its metadata name the version. */
static void read_version(struct target_installed *t, const char *dir, struct arena *a)
{
	static const char begin[] = "/jax-";
	glob_t g;
	if (glob(arena_printf(a, "%s/lib/python3*/site-packages/jax-*.dist-info", dir), 0, NULL, &g) != 0)
		return;
	const char *version = strrchr(g.gl_pathv[0], '/') + sizeof begin - 1;
	t->holds = arena_printf(a, "%.*s", (int)(strlen(version) - strlen(".dist-info")), version);
	globfree(&g);
}

/* Stage op stands beside jit; beside op there is nothing but what is right. */
static const struct target_script script = {.beside = "op by op", .brief = jax_short_script};

extern const struct target_driver jax_driver;
static int installed(struct target_installed **out, struct arena *a) { return installed_environments(out, &jax_driver, read_version, a); }

const struct target_driver jax_driver = {
	.name = "jax",
	.title = "JAX",
	.default_version = DEFAULT_VERSION,
	.devices = 1u << TDEV_CPU,
	.stage = stages,
	.nstages = ARRAY_LEN(stages),
	.freedom = freedoms,
	.nfreedoms = ARRAY_LEN(freedoms),
	.package = "/jax/",
	.knob = knobs,
	.nknobs = ARRAY_LEN(knobs),
	.option_fits = option_fits,
	.probe = probe,
	.facts = facts,
	.spec = spec,
	.hello = python_hello,
	.submit = python_submit,
	.take = python_take,
	.installed = installed,
	.script = &script,
};
