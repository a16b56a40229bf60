/* torch.c: requests to the PyTorch worker and its answers. The one idea: nothing that comes back is believed before it was
 * measured against the request (wire_get_result), and every way of not answering has its own status. See torch.h. */
#include "compiled/targets/torch/torch.h"

#include "compiled/targets/answer.h"
#include "compiled/targets/driver.h"
#include "eager/lang/wire.h"

#include <signal.h>
#include <unistd.h>

enum { WARMED = 1, FIRST_COMPILE_MS = 120000 };

/* worker.py, probe.py, toolchain.py and values.py, embedded by the build; NUL-terminated. */
extern const unsigned char worker_py[], probe_py[], toolchain_py[], values_py[];

/* ---- the worker ------------------------------------------------------------------------------------------- */

/* Caches off, because a stale one silently changes compiles; but not force_disable_caches, which would build the C++ headers
 * again in every process (toolchain.py). One thread everywhere: the parent runs several workers. */
static const char *const worker_env[] = {
	"TORCHINDUCTOR_COMPILE_THREADS=1",
	"TORCHINDUCTOR_FX_GRAPH_CACHE=0",
	"TORCHINDUCTOR_AUTOGRAD_CACHE=0",
	"TORCHINDUCTOR_AUTOTUNE_REMOTE_CACHE=0",
	"OMP_NUM_THREADS=1",
	"MKL_NUM_THREADS=1",
	"PYTHONHASHSEED=0",
	"PYTHONUNBUFFERED=1",
	"PYTHONDONTWRITEBYTECODE=1",
	NULL,
};
/* What decides of a user's own runs whether and how something is compiled is none of a target's business, whose name says that: with
 * TORCHDYNAMO_DISABLE=1, TORCH_COMPILE_DISABLE=1 or TORCHDYNAMO_SUPPRESS_ERRORS=1 nothing would be compiled, and all would pass. */
static const char *const withheld[] = {
	"TORCHDYNAMO_",
	"TORCH_DYNAMO_",
	"TORCHINDUCTOR_",
	"INDUCTOR_",
	"AOT_",
	"AOTINDUCTOR_",
	"TORCH_COMPILE", /* _DISABLE, _OVERRIDE_BACKENDS, _OVERRIDE_INDUCTOR_CONFIGS, _DYNAMIC_SOURCES, ... */
	"TORCH_CACHING_PRECOMPILE",
	"TORCH_STRICT_PRECOMPILE",
	"TORCH_FAKE_TENSOR_",
	"TORCH_LOGS",
	"TORCH_TRACE",
	"PARTITIONER_",
	"FAKE_ALLOW_META",
	NULL,
};
static const char *const worker_dirs[] = {"TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", NULL};

void torch_spec(struct proc_spec *out, struct arena *a, const char *python, const char *module)
{
	const char **argv = ARENA_ZNEW(a, const char *, 5);
	struct proc_file *files = ARENA_ZNEW(a, struct proc_file, 5);
	char cwd[4096];
	argv[0] = arena_strdup(a, python);
	argv[1] = "worker.py";
	if (module) { /* it may be in the directory where the user is */
		argv[2] = arena_strdup(a, module);
		argv[3] = getcwd(cwd, sizeof cwd) ? arena_strdup(a, cwd) : "";
	}
	files[0] = (struct proc_file){"worker.py", worker_py, strlen((const char *)worker_py)};
	/* Under names that no module of a user has. */
	files[1] = (struct proc_file){"scatterproof_probe.py", probe_py, strlen((const char *)probe_py)};
	files[2] = (struct proc_file){"scatterproof_toolchain.py", toolchain_py, strlen((const char *)toolchain_py)};
	files[3] = (struct proc_file){"scatterproof_values.py", values_py, strlen((const char *)values_py)};
	*out = (struct proc_spec){
		.name = "the PyTorch worker",
		.argv = argv,
		.env = worker_env,
		.not_env = withheld,
		.dir_env = worker_dirs,
		.files = files,
		.max_served = 20000,
		.recycle_rss = (int64_t)3 << 30,
		.max_rss = (int64_t)8 << 30,
		.last_words = SIGUSR1,
	};
}

static void hello_text(char *out, size_t max, struct wire *w, struct arena *a) { snprintf(out, max, "%s", wire_str(w, a)); }

bool torch_hello(struct torch_hello *out, const struct proc *p)
{
	size_t n;
	const uint8_t *bytes = proc_hello(p, &n);
	struct wire w = {bytes, bytes + n, n == 0};
	struct arena a;
	arena_init(&a);
	hello_text(out->torch, sizeof out->torch, &w, &a);
	hello_text(out->git, sizeof out->git, &w, &a);
	hello_text(out->python, sizeof out->python, &w, &a);
	hello_text(out->cuda, sizeof out->cuda, &w, &a);
	hello_text(out->device, sizeof out->device, &w, &a);
	hello_text(out->module, sizeof out->module, &w, &a);
	hello_text(out->no_cuda, sizeof out->no_cuda, &w, &a);
	arena_free(&a);
	return !w.bad && w.p == w.end;
}

/* ---- requests --------------------------------------------------------------------------------------------- */

static void check_request(const struct torch_request *r)
{
	CHECK(r->target.driver == &torch_driver && r->ncalls >= 1 && r->nouts >= 0 && r->nbackward >= 0);
	for (int i = 0; i < r->ninputs; i++)
		CHECK(r->input[i].symbol || (r->input[i].storage >= 0 && r->input[i].storage < r->nstorages));
	for (int i = 0; i < r->nbackward; i++)
		CHECK(r->backward[i] >= 0 && r->backward[i] < r->nouts);
	for (int c = 0; c < r->ncalls; c++)
		for (int i = 0; i < r->ninputs; i++) {
			const struct meta *m = &r->call[c].meta[i];
			if (r->input[i].symbol || m->device == DEV_META)
				continue;
			size_t need = (size_t)meta_extent(m) * (size_t)dtype_nbytes(m->dtype);
			CHECK(need <= r->call[c].storage[r->input[i].storage].nbytes);
		}
}

static void put_input(struct strbuf *sb, const struct torch_input *in)
{
	wire_put_str(sb, in->name);
	wire_put_u8(sb, in->symbol);
	wire_put_u8(sb, in->to_f);
	wire_put_u8(sb, in->to_cotangents);
	wire_put_u8(sb, in->requires_grad && !in->symbol);
	wire_put_u32(sb, in->symbol ? 0 : (uint32_t)in->storage);
}

static void put_request(struct strbuf *sb, const struct torch_request *r)
{
	const struct target *t = &r->target;
	wire_put_str(sb, target_stage(t)->name);
	wire_put_str(sb, target_device_name(t->device));
	wire_put_u32(sb, (uint32_t)t->noptions);
	for (int i = 0; i < t->noptions; i++) {
		wire_put_str(sb, t->option[i].name);
		wire_put_str(sb, t->option[i].value);
	}
	wire_put_str(sb, r->source);
	wire_put_u32(sb, (uint32_t)r->nstorages);
	wire_put_u32(sb, (uint32_t)r->ninputs);
	for (int i = 0; i < r->ninputs; i++)
		put_input(sb, &r->input[i]);
	wire_put_u32(sb, (uint32_t)r->nbackward);
	for (int i = 0; i < r->nbackward; i++)
		wire_put_u32(sb, (uint32_t)r->backward[i]);
	wire_put_u8(sb, r->late);
	wire_put_u32(sb, (uint32_t)r->nouts);
	wire_put_u32(sb, (uint32_t)r->ncalls);
	for (int c = 0; c < r->ncalls; c++) {
		for (int i = 0; i < r->ninputs; i++)
			if (r->input[i].symbol)
				wire_put_i64(sb, r->call[c].symbol[i]);
			else
				wire_put_meta(sb, &r->call[c].meta[i]);
		for (int i = 0; i < r->nstorages; i++)
			wire_put_blob(sb, r->call[c].storage[i].data, r->call[c].storage[i].nbytes);
	}
}

/* Generous: a limit is for hangs, and the machine may be busy. Stages that compile get more, a child's first compile most. */
static int time_limit(const struct target *t, int given, bool fresh)
{
	bool compiles = target_stage(t)->compiles;
	int limit = given > 0 ? given : compiles ? 120000 : 30000;
	return compiles && fresh ? limit + FIRST_COMPILE_MS : limit;
}

int torch_limit_ms(const struct target *t) { return time_limit(t, 0, true); }

bool torch_submit(struct proc *p, const struct torch_request *req, struct err *err)
{
	struct strbuf sb;
	check_request(req);
	sb_init(&sb);
	put_request(&sb, req);
	bool ok = proc_submit(p, sb.s, sb.len, time_limit(&req->target, req->limit_ms, proc_noted(p) != WARMED), err);
	sb_free(&sb);
	return ok;
}

/* ---- answers ---------------------------------------------------------------------------------------------- */

static void no_answer(struct result *out, struct arena *a, struct proc *p)
{
	answer_failed(out, answer_status(proc_end(p)), proc_why(p), a, p);
	const char *last = proc_end(p) == PROC_END_START ? last_line(out->stderr_tail, a) : "";
	if (last[0]) /* "ModuleNotFoundError: No module named 'torch'" */
		out->message = arena_printf(a, "%s: %s", out->message, last);
}

static void expect_of(struct wire_expect *e, struct arena *a, const struct torch_request *req)
{
	size_t *nbytes = ARENA_NEW(a, size_t, req->ncalls * req->nstorages + 1);
	for (int c = 0; c < req->ncalls; c++)
		for (int s = 0; s < req->nstorages; s++)
			nbytes[c * req->nstorages + s] = req->call[c].storage[s].nbytes;
	*e = (struct wire_expect){.nouts = req->nouts, .nstorages = req->nstorages, .ncalls = req->ncalls, .storage_nbytes = nbytes};
	for (int i = 0; req->nbackward > 0 && i < req->ninputs; i++)
		e->ngrads += req->input[i].requires_grad && !req->input[i].symbol;
}

/* A device that is not there, or that somebody else has, says nothing about a program. */
static bool device_missing(const struct result *r, const struct torch_request *req)
{
	static const char *const said[] = {"Found no NVIDIA driver", "no CUDA-capable device", "No CUDA GPUs are available",
		"CUDA driver version is insufficient", "CUDA driver initialization failed", "CUDA-capable device(s) is/are busy",
		"Torch not compiled with CUDA enabled"};
	for (int i = 0; i < ARRAY_LEN(said); i++)
		if (req->target.device == TDEV_CUDA && r->status == RES_RAISED && strstr(r->message, said[i]))
			return true;
	return false;
}

/* A failure of the compiler that we know becomes `unsupported`; so does a compiling stage that compiled nothing. */
static void judge_refusals(struct result *r, struct arena *a, const struct torch_request *req)
{
	if (r->status == RES_OK && target_stage(&req->target)->compiles && r->ngraphs == 0) {
		r->status = RES_UNSUPPORTED;
		r->message = "compiled nothing: the program does no work that a graph could hold";
		return;
	}
	if (r->status != RES_RAISED || r->compiling != target_stage(&req->target)->compiles)
		return;
	const struct target_refusal *known = target_refusal_of(&req->target, r->message);
	if (known) {
		r->status = RES_UNSUPPORTED;
		r->message = arena_printf(a, "%s (%.400s)", known->reason, r->message);
	}
}

void torch_take(struct result *out, struct arena *a, struct proc *p, const struct torch_request *req)
{
	CHECK(proc_ready(p));
	if (proc_state(p) == PROC_ENDED) {
		no_answer(out, a, p);
		proc_release(p);
		return;
	}
	size_t n;
	const uint8_t *bytes = proc_answer(p, &n);
	struct wire w = {bytes, bytes + n, false};
	struct wire_expect expect;
	struct err err = {0};
	expect_of(&expect, a, req);
	unsigned flags = wire_u8(&w); /* 1: do not ask this process again; 2: the target's options are bad; 4: raised while compiling */
	bool recycle = flags & 1;
	if (!wire_get_result(out, a, &w, &expect, &err)) {
		answer_failed(out, RES_HARNESS, err.msg, a, p);
		recycle = true; /* whoever answers nonsense is not asked again */
	} else {
		out->stderr_tail = out->status == RES_OK ? "" : arena_strdup(a, proc_tail(p));
		out->bad_target = out->status == RES_HARNESS && flags & 2;
		out->compiling = out->status == RES_RAISED && flags & 4;
		if (device_missing(out, req))
			answer_failed(out, RES_HARNESS, arena_printf(a, "the device is missing: %.400s", out->message), a, p);
		judge_refusals(out, a, req);
		if (out->ngraphs > 0 && target_stage(&req->target)->options)
			proc_note(p, WARMED);
	}
	if (recycle && out->status == RES_RAISED) { /* the device is lost with it, as a process would be */
		answer_failed(out, RES_CRASH, out->message, a, p);
		out->device_lost = true;
	}
	if (recycle)
		proc_recycle(p);
	proc_release(p);
}

void torch_run(struct result *out, struct arena *a, struct proc *p, const struct torch_request *req)
{
	struct err err = {0};
	if (!torch_submit(p, req, &err)) {
		*out = (struct result){.status = RES_HARNESS, .message = arena_strdup(a, err.msg), .stderr_tail = ""};
		return;
	}
	while (!proc_ready(p))
		proc_wait(&p, 1, -1);
	torch_take(out, a, p, req);
}
