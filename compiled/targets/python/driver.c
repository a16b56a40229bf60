/* driver.c: the family `python`: a module of the user's, named by its file, runs the programs. We know nothing of its compiler, so the
 * widest licence judges it. There is no plain stage to ask whether a program is right: the reference and the interpreter must know.
 * worker.py documents what a module must give. */
#include "compiled/targets/driver.h"

#include <sys/stat.h>
#include <unistd.h>

#include "compiled/targets/dialect.h"
#include "compiled/targets/exec.h"
#include "compiled/targets/python/worker.h"
#include "compiled/targets/torch/arithmetic.h"

static const struct target_stage stages[] = {
	{.name = "module",
		.what = "a compiler of yours: FILE.py gives run(program) (docs/adding-a-target.md)",
		.compiles = true,
		.options = true},
};

static const struct target_freedom freedoms[] = {
#define FREEDOM(bit, stage, reason, source) {bit, stage, reason, source},
#include "compiled/targets/python/freedoms.def"
#undef FREEDOM
};

/* ---- names ------------------------------------------------------------------------------------------------------------------ */

/* As it is given, relative to the directory where the user is. Whether the file is there is asked when it runs: stores may name what is
 * gone. */
static bool subject(struct target *t, const char *text, size_t n, const char *target, struct err *err)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789./_-", ending[] = ".py";
	enum { NEND = sizeof ending - 1 };
	if (n == 0)
		return err_set(err, "target '%s': no file; the form is python:FILE.py", target);
	if (n >= sizeof t->subject)
		return err_set(err, "target '%s': a file's name is at most %zu characters long here", target, sizeof t->subject - 1);
	snprintf(t->subject, sizeof t->subject, "%.*s", (int)n, text);
	if (strspn(t->subject, allowed) != n)
		return err_set(err, "target '%s': '%s' has other characters than letters, digits, '.', '/', '_' and '-'", target, t->subject);
	if (n <= NEND || !str_eq(t->subject + n - NEND, ending))
		return err_set(err, "target '%s': '%s' does not end in .py; the form is python:FILE.py", target, t->subject);
	return true;
}

static bool option_fits(const struct target *t, const struct target_option *o, const char *text, struct err *err)
{
	enum target_dialect d;
	(void)t;
	if (!str_eq(o->name, "dialect"))
		return err_set(err, "target '%s': python has no option '%s'; it has: dialect", text, o->name);
	return dialect_find(&d, o->value)
		|| err_set(err, "target '%s': dialect=%s is not one of %s, %s", text, o->value, dialect_name(TAKES_ATEN), dialect_name(TAKES_CORE));
}

/* The rows of Inductor (sums in any order, fused multiply-adds, wider intermediates), and those of ATen's kernels. */
static void facts(struct target_facts *out, const struct target *t)
{
	(void)t;
	out->known = true;
	out->arithmetic.kernels = &torch_inductor_kernels;
	out->arithmetic.others = &torch_eager_kernels;
	out->arithmetic.traced = true;
	out->semantics.clamp_gradient = CLAMP_PASSES_EITHER;
	out->semantics.clamp_nan = CLAMP_NAN_EITHER;
	out->semantics.clamp_beyond = CLAMP_BEYOND_EITHER;
	out->semantics.small_overflow = SMALL_OVERFLOW_EITHER;
}

/* ---- the worker ------------------------------------------------------------------------------------------------------------- */

static bool find_file(struct strbuf *path, const struct target *t, struct err *err)
{
	struct stat st;
	sb_puts(path, t->subject);
	path_make_absolute(path);
	if (stat(path->s, &st) != 0 || !S_ISREG(st.st_mode))
		return err_set(err,
			"target 'python:%s': there is no file %s; the name is a path of a Python file, relative to the current "
			"directory",
			t->subject, path->s);
	return access(path->s, R_OK) == 0 || err_set(err, "target 'python:%s': %s may not be read", t->subject, path->s);
}

static bool find_python(struct strbuf *path, const struct target *t, const char *override, struct err *err)
{
	if (override)
		return target_python(path, t, override, err);
	return target_python(path, t, "python3", NULL)
		|| err_set(err, "target 'python:%s': there is no python3 in PATH; give --python PATH (3.9 or later)", t->subject);
}

static bool spec(struct proc_spec *out, struct arena *a, const struct target *t, const struct exec_options *o, struct err *err)
{
	struct strbuf python, file;
	sb_init(&python);
	sb_init(&file);
	const bool ok = find_file(&file, t, err) && find_python(&python, t, o->python, err);
	python_spec(out, a, arena_strdup(a, python.s), arena_strdup(a, file.s), NULL);
	sb_free(&file);
	sb_free(&python);
	return ok;
}

static bool hello(struct target_hello *out, const struct proc *p, const struct target *t)
{
	const bool said = python_hello(out, p, t);
	out->version[0] = '\0'; /* such targets have none */
	return said;
}

const struct target_driver python_driver = {
	.name = "python",
	.title = "a Python module",
	.subject_form = "FILE.py",
	.devices = 1u << TDEV_CPU,
	.stage = stages,
	.nstages = ARRAY_LEN(stages),
	.freedom = freedoms,
	.nfreedoms = ARRAY_LEN(freedoms),
	.option_fits = option_fits,
	.subject = subject,
	.facts = facts,
	.spec = spec,
	.hello = hello,
	.submit = python_submit,
	.take = python_take,
};
