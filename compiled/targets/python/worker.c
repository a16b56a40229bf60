/* worker.c: each call of a program goes to the worker as JSON (program_json.h) with the bytes of its inputs. */
#include "compiled/targets/python/worker.h"

#include <signal.h>

#include "compiled/targets/answer.h"
#include "compiled/targets/python/program_json.h"
#include "eager/lang/fill.h"
#include "eager/lang/wire.h"

enum { LIMIT_MS = 60000 };

extern const unsigned char python_worker_py[]; /* worker.py, embedded by the build; NUL-terminated */

/* ---- the child -------------------------------------------------------------------------------------------------------------- */

static const char *const worker_env[] = {
	"OMP_NUM_THREADS=1", "MKL_NUM_THREADS=1", "PYTHONHASHSEED=0", "PYTHONUNBUFFERED=1", "PYTHONDONTWRITEBYTECODE=1", NULL};

void python_spec(struct proc_spec *out, struct arena *a, const char *python, const char *module, const struct proc_file *file)
{
	const char **argv = ARENA_ZNEW(a, const char *, 4);
	struct proc_file *files = ARENA_ZNEW(a, struct proc_file, 3);
	argv[0] = python;
	argv[1] = "worker.py";
	argv[2] = module;
	files[0] = (struct proc_file){"worker.py", python_worker_py, strlen((const char *)python_worker_py)};
	if (file)
		files[1] = *file;
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
}

bool python_hello(struct target_hello *out, const struct proc *p, const struct target *t)
{
	(void)t;
	size_t n;
	const uint8_t *bytes = proc_hello(p, &n);
	struct wire w = {bytes, bytes + n, n == 0};
	struct arena a;
	arena_init(&a);
	*out = (struct target_hello){.device = "cpu"};
	snprintf(out->versions, sizeof out->versions, "%s", wire_str(&w, &a));
	snprintf(out->version, sizeof out->version, "%s", wire_str(&w, &a));
	arena_free(&a);
	return !w.bad && w.p == w.end;
}

/* ---- requests --------------------------------------------------------------------------------------------------------------- */

/* What the answer must fit. */
struct request {
	struct wire_expect expect;
};

/* nbytes: of each storage in this call. */
static bool put_call(
	struct strbuf *msg, size_t *nbytes, const struct target_request *of, int k, int nstorages, struct arena *a, struct err *err)
{
	const struct said_call *said = of->said ? &of->said->call[k] : NULL;
	struct prog own;
	struct strbuf json;
	if (!said && !prog_bind(&own, of->p, k, a, err))
		return false;
	const struct prog *bound = said ? &said->bound : &own;
	sb_init(&json);
	program_json(&json, bound, said, of->t);
	wire_put_blob(msg, json.s, json.len);
	sb_free(&json);
	for (int s = 0; s < nstorages; s++) {
		nbytes[s] = prog_storage_nbytes(bound, s);
		wire_put_blob(msg, fill_storage(bound, s, a), nbytes[s]);
	}
	return true;
}

bool python_submit(struct proc *child, const struct target_request *of, struct arena *a, void **request, struct err *err)
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
		ok = put_call(&msg, nbytes + k * nstorages, of, k, nstorages, a, err);
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

void python_take(struct result *out, struct arena *a, struct proc *p, const struct prog *prog, void *request)
{
	(void)prog;
	CHECK(proc_ready(p));
	if (proc_state(p) == PROC_ENDED)
		answer_failed(out, answer_status(proc_end(p)), proc_why(p), a, p);
	else
		read_answer(out, a, p, request);
	proc_release(p);
}
