/* driver.c: the family `python`: a module of the user's, named by its file, runs the programs. We know nothing of its compiler, so the
 * widest licence judges it. There is no plain stage to ask whether a program is right: the reference and the interpreter must know.
 * Each call of a program goes to the worker (worker.py, which documents what a module must give) as JSON with the bytes of its inputs. */
#include "compiled/targets/driver.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiled/targets/answer.h"
#include "compiled/targets/exec.h"
#include "compiled/targets/python/program_json.h"
#include "compiled/targets/torch/arithmetic.h"
#include "eager/lang/fill.h"
#include "eager/lang/wire.h"

enum { LIMIT_MS = 60000 };

extern const unsigned char python_worker_py[]; /* worker.py, embedded by the build; NUL-terminated */

static const struct target_stage stages[] = {
	{.name = "module", .what = "a compiler of yours: FILE.py gives run(program) (docs/adding-a-target.md)", .compiles = true},
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
	(void)t;
	return err_set(err, "target '%s': targets of family python take no options, and so no '%s'", text, o->name);
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

static const char *const worker_env[] = {
	"OMP_NUM_THREADS=1", "MKL_NUM_THREADS=1", "PYTHONHASHSEED=0", "PYTHONUNBUFFERED=1", "PYTHONDONTWRITEBYTECODE=1", NULL};

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
	const char **argv = ARENA_ZNEW(a, const char *, 4);
	struct proc_file *files = ARENA_ZNEW(a, struct proc_file, 2);
	struct strbuf python, file;
	sb_init(&python);
	sb_init(&file);
	bool ok = find_file(&file, t, err) && find_python(&python, t, o->python, err);
	argv[0] = arena_strdup(a, python.s);
	argv[1] = "worker.py";
	argv[2] = arena_strdup(a, file.s);
	files[0] = (struct proc_file){"worker.py", python_worker_py, strlen((const char *)python_worker_py)};
	*out = (struct proc_spec){
		.name = "the Python worker",
		.argv = argv,
		.env = worker_env,
		.files = files,
		.max_served = 20000,
		.recycle_rss = (int64_t)3 << 30,
		.max_rss = (int64_t)8 << 30,
		.last_words = SIGUSR1,
	};
	sb_free(&file);
	sb_free(&python);
	return ok;
}

static bool hello(struct target_hello *out, const struct proc *p, const struct target *t)
{
	(void)t;
	size_t n;
	const uint8_t *bytes = proc_hello(p, &n);
	struct wire w = {bytes, bytes + n, n == 0};
	struct arena a;
	arena_init(&a);
	*out = (struct target_hello){.device = "cpu"};
	snprintf(out->versions, sizeof out->versions, "%s", wire_str(&w, &a));
	arena_free(&a);
	return !w.bad && w.p == w.end;
}

/* ---- requests --------------------------------------------------------------------------------------------------------------- */

/* What the answer must fit. */
struct request {
	struct wire_expect expect;
};

/* nbytes: of each storage in this call. */
static bool put_call(struct strbuf *msg, size_t *nbytes, const struct prog *p, int k, int nstorages, struct arena *a, struct err *err)
{
	struct prog bound;
	struct strbuf json;
	if (!prog_bind(&bound, p, k, a, err))
		return false;
	sb_init(&json);
	program_json(&json, &bound);
	wire_put_blob(msg, json.s, json.len);
	sb_free(&json);
	for (int s = 0; s < nstorages; s++) {
		nbytes[s] = prog_storage_nbytes(&bound, s);
		wire_put_blob(msg, fill_storage(&bound, s, a), nbytes[s]);
	}
	return true;
}

static bool submit(struct proc *child, const struct target_request *of, struct arena *a, void **request, struct err *err)
{
	const struct prog *p = of->p;
	int nstorages = prog_input_storages(p), ncalls = p->ncall + 1;
	size_t *nbytes = ARENA_ZNEW(a, size_t, nstorages * ncalls + 1);
	struct request *r = ARENA_NEW(a, struct request, 1);
	struct strbuf text, msg;
	bool ok = true;
	r->expect = (struct wire_expect){
		.nouts = p->nret, .ngrads = prog_ngrads(p), .nstorages = nstorages, .ncalls = ncalls, .storage_nbytes = nbytes};
	*request = r;
	sb_init(&text);
	sb_init(&msg);
	prog_print(&text, p);
	wire_put_blob(&msg, text.s, text.len);
	wire_put_u32(&msg, (uint32_t)nstorages);
	wire_put_u32(&msg, (uint32_t)ncalls);
	for (int k = 0; k < ncalls && ok; k++)
		ok = put_call(&msg, nbytes + k * nstorages, p, k, nstorages, a, err);
	ok = ok && proc_submit(child, msg.s, msg.len, of->limit_ms ? of->limit_ms : LIMIT_MS, err);
	sb_free(&msg);
	sb_free(&text);
	return ok;
}

/* ---- answers ---------------------------------------------------------------------------------------------------------------- */

/* A flag, then what wire.h says. */
static void read_answer(struct result *out, struct arena *a, struct proc *p, const struct request *r)
{
	size_t n;
	const uint8_t *answer = proc_answer(p, &n);
	struct wire w = {answer, answer + n, false};
	struct err err = {0};
	bool no_module = wire_u8(&w); /* it cannot be imported, or has no run */
	if (!wire_get_result(out, a, &w, &r->expect, &err)) {
		answer_failed(out, RES_HARNESS, err.msg, a, p);
		proc_recycle(p);
		return;
	}
	out->bad_target = out->status == RES_HARNESS && no_module;
	out->stderr_tail = out->status == RES_OK ? "" : arena_strdup(a, proc_tail(p));
}

static void take(struct result *out, struct arena *a, struct proc *p, const struct prog *prog, void *request)
{
	(void)prog;
	CHECK(proc_ready(p));
	if (proc_state(p) == PROC_ENDED)
		answer_failed(out, answer_status(proc_end(p)), proc_why(p), a, p);
	else
		read_answer(out, a, p, request);
	proc_release(p);
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
	.submit = submit,
	.take = take,
};
