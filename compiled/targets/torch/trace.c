/* trace.c: requests to trace.py and its answers. A process serves one request: what a script did to it concerns no other. */
#include "compiled/targets/trace.h"

#include <unistd.h>

#include "compiled/targets/driver.h"
#include "compiled/targets/exec.h"
#include "compiled/targets/torch/torch.h"
#include "compiled/targets/torch/trace_torch.h"
#include "eager/lang/wire.h"

enum { RUN_MS = 120000, COMPILE_MS = 240000 };

/* trace.py, rounding.py and worker.py, embedded by the build; NUL-terminated. */
extern const unsigned char trace_py[], rounding_py[], worker_py[];

static const char *const task_name[] = {[TRACE_EAGER] = "eager", [TRACE_GRAPHS] = "graphs", [TRACE_COMPARE] = "compare"};

static void fail(struct traced *out, enum trace_status status, const char *message)
{
	out->status = status;
	out->message = message;
}

/* The worker's installation, environment and limits, another program. */
static void trace_spec(struct proc_spec *out, struct arena *a, const char *python)
{
	enum { OWN = 3, MAX_WORKER_FILES = 6 };
	torch_spec(out, a, python, NULL);
	const char **argv = ARENA_ZNEW(a, const char *, 3);
	struct proc_file *files = ARENA_ZNEW(a, struct proc_file, OWN + MAX_WORKER_FILES);
	int n = 0;
	argv[0] = out->argv[0];
	argv[1] = "scatterproof_trace.py";
	files[n++] = (struct proc_file){"scatterproof_trace.py", trace_py, strlen((const char *)trace_py)};
	files[n++] = (struct proc_file){"scatterproof_rounding.py", rounding_py, strlen((const char *)rounding_py)};
	files[n++] = (struct proc_file){"scatterproof_worker.py", worker_py, strlen((const char *)worker_py)};
	for (const struct proc_file *f = out->files; f->name; f++)
		if (!str_eq(f->name, "worker.py")) {
			CHECK(n < OWN + MAX_WORKER_FILES - 1);
			files[n++] = *f;
		}
	out->argv = argv;
	out->files = files;
	out->name = "the process of the script";
	out->last_words = 0;
}

static void put_request(struct strbuf *sb, const struct trace_request *r)
{
	char cwd[4096];
	const struct target *t = r->target;
	wire_put_str(sb, task_name[r->task]);
	wire_put_str(sb, r->file);
	wire_put_str(sb, r->name);
	wire_put_str(sb, r->args);
	wire_put_str(sb, getcwd(cwd, sizeof cwd) ? cwd : "/");
	wire_put_u8(sb, r->decompose);
	wire_put_str(sb, target_stage(t)->name);
	wire_put_u32(sb, (uint32_t)t->noptions);
	for (int i = 0; i < t->noptions; i++) {
		wire_put_str(sb, t->option[i].name);
		wire_put_str(sb, t->option[i].value);
	}
	wire_put_blob(sb, r->eager, r->neager);
}

static void get_input(struct traced_input *in, struct wire *w, struct arena *a)
{
	size_t n = 0;
	*in = (struct traced_input){.name = wire_str(w, a), .given = wire_u8(w) == 1};
	if (!in->given)
		return;
	const char *dtype = wire_str(w, a);
	in->ncell = wire_i64(w);
	in->cells = wire_blob(w, a, &n);
	if (!dtype_find(&in->dtype, dtype) || in->ncell < 0 || in->ncell > MAX_DATA || n != (size_t)in->ncell * (size_t)dtype_nbytes(in->dtype))
		w->bad = true;
}

/* As many as the bytes that are left can hold: nothing is allocated for a number that somebody made up. */
static int count(struct wire *w, size_t least)
{
	uint32_t n = wire_u32(w);
	if (n > (size_t)(w->end - w->p) / least)
		w->bad = true;
	return w->bad ? 0 : (int)n;
}

static void get_graphs(struct traced *out, struct wire *w, struct arena *a)
{
	out->ngraph = count(w, 12);
	out->graph = ARENA_ZNEW(a, struct traced_graph, out->ngraph + 1);
	for (int i = 0; i < out->ngraph && !w->bad; i++) {
		struct traced_graph *g = &out->graph[i];
		g->kind = wire_str(w, a);
		g->text = wire_str(w, a);
		g->ninput = count(w, 5);
		g->input = ARENA_ZNEW(a, struct traced_input, g->ninput + 1);
		for (int k = 0; k < g->ninput && !w->bad; k++)
			get_input(&g->input[k], w, a);
	}
}

static void get_comparison(struct traced *out, struct wire *w, struct arena *a)
{
	out->ncompared = (int)wire_u32(w);
	out->largest = wire_f64(w);
	out->note = wire_str(w, a);
	out->ndifference = count(w, 8);
	out->difference = ARENA_ZNEW(a, struct trace_difference, out->ndifference + 1);
	for (int i = 0; i < out->ndifference && !w->bad; i++) {
		out->difference[i].tensor = wire_str(w, a);
		out->difference[i].what = wire_str(w, a);
	}
}

static void get_answer(struct traced *out, struct arena *a, const struct trace_request *r, const uint8_t *bytes, size_t n)
{
	struct wire w = {bytes, bytes + n, false};
	unsigned status = wire_u8(&w);
	out->message = wire_str(&w, a);
	out->status = status <= TRACE_OTHER ? (enum trace_status)status : TRACE_BROKEN;
	if (out->status == TRACE_OK && r->task == TRACE_EAGER)
		out->results = wire_blob(&w, a, &out->nresults);
	else if (out->status == TRACE_OK && r->task == TRACE_GRAPHS)
		get_graphs(out, &w, a);
	else if (out->status == TRACE_OK)
		get_comparison(out, &w, a);
	if (w.bad || w.p != w.end || status > TRACE_OTHER) {
		*out = (struct traced){.output = out->output, .versions = out->versions, .message = ""};
		fail(out, TRACE_BROKEN, "the process of the script answered what makes no sense");
	}
}

static void ended(struct traced *out, struct arena *a, struct proc *p)
{
	enum proc_end end = proc_end(p);
	const char *last = last_line(out->output, a);
	fail(out,
		end == PROC_END_TIME                                 ? TRACE_HANG
			: end == PROC_END_DIED || end == PROC_END_MEMORY ? TRACE_CRASH
															 : TRACE_BROKEN,
		arena_printf(a, "%s%s%s", proc_why(p), last[0] ? ": " : "", last));
}

static int limit_of(const struct trace_request *r, const struct exec_options *o)
{
	if (r->task == TRACE_EAGER)
		return o->limit_ms ? o->limit_ms : RUN_MS;
	return o->limit_ms ? o->limit_ms + COMPILE_MS / 2 : COMPILE_MS;
}

static void ask(struct traced *out, struct arena *a, const struct trace_request *r, const struct exec_options *o, struct proc *p)
{
	struct strbuf sb;
	struct torch_hello h;
	struct err err = {0};
	sb_init(&sb);
	put_request(&sb, r);
	bool sent = proc_submit(p, sb.s, sb.len, limit_of(r, o), &err);
	sb_free(&sb);
	if (!sent) {
		fail(out, TRACE_BROKEN, arena_strdup(a, err.msg));
		return;
	}
	while (!proc_ready(p))
		proc_wait(&p, 1, -1);
	out->output = arena_strdup(a, proc_tail(p));
	if (torch_hello(&h, p)) {
		snprintf(out->version, sizeof out->version, "%.*s", (int)MIN(strcspn(h.torch, "+"), sizeof out->version - 1), h.torch);
		out->versions = arena_printf(a, "torch %s, python %s", h.torch, h.python);
	}
	if (proc_state(p) == PROC_ENDED) {
		ended(out, a, p);
	} else {
		size_t n;
		const uint8_t *bytes = proc_answer(p, &n);
		get_answer(out, a, r, bytes, n);
	}
	proc_release(p);
}

void torch_trace(struct traced *out, struct arena *a, const struct trace_request *r, const struct exec_options *o)
{
	struct strbuf python;
	struct proc_spec spec;
	struct err err = {0};
	*out = (struct traced){.message = "", .output = "", .versions = ""};
	sb_init(&python);
	if (!target_python(&python, r->target, o->python, &err)) {
		fail(out, TRACE_BROKEN, arena_strdup(a, err.msg));
		sb_free(&python);
		return;
	}
	trace_spec(&spec, a, python.s);
	sb_free(&python);
	struct proc *p = proc_open(&spec, &err);
	if (p)
		ask(out, a, r, o, p);
	else
		fail(out, TRACE_BROKEN, arena_strdup(a, err.msg));
	proc_close(p);
}
