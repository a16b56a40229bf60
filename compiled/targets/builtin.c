/* builtin.c: both ends of the pipe to a built-in target. */
#include "compiled/targets/builtin.h"

#include "compiled/targets/wire.h"
#include "eager/interp.h"

void builtin_spec(struct proc_spec *out, struct arena *a, const char *self)
{
	const char **argv = ARENA_ZNEW(a, const char *, 3);
	argv[0] = self;
	argv[1] = BUILTIN_VERB;
	*out = (struct proc_spec){.name = "built-in target", .argv = argv, .start_limit_ms = 20000, .max_rss = (int64_t)4 << 30};
}

bool builtin_submit(struct proc *p, const struct prog *prog, const struct target *t, int limit_ms, struct err *err)
{
	struct strbuf text, msg;
	sb_init(&text);
	sb_init(&msg);
	prog_print(&text, prog);
	wire_put_str(&msg, target_stage(t)->name);
	wire_put_blob(&msg, text.s, text.len);
	bool ok = proc_submit(p, msg.s, msg.len, limit_ms ? limit_ms : 20000, err);
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
		for (int i = 0; i < q.nnode; i++)
			if (q.node[i].op == OP_input)
				out[k * n + q.node[i].out[0].storage] =
					(size_t)meta_extent(node_meta(&q, i)) * (size_t)dtype_nbytes(node_meta(&q, i)->dtype);
	}
	return out;
}

static int count_grads(const struct prog *p)
{
	int n = 0;
	for (int i = 0; p->nback && i < p->nnode; i++) {
		int k = p->node[i].op == OP_input || p->node[i].op == OP_input_view ? op_param(p->node[i].op, "requires_grad") : -1;
		n += k >= 0 && p->node[i].arg[k].b;
	}
	return n;
}

static void outcome(struct result *out, enum result_status status, struct arena *a, struct proc *p)
{
	*out = (struct result){.status = status, .message = arena_strdup(a, proc_why(p)), .stderr_tail = arena_strdup(a, proc_tail(p))};
}

void builtin_take(struct result *out, struct arena *a, struct proc *p, const struct prog *prog)
{
	CHECK(proc_ready(p));
	if (proc_state(p) == PROC_ENDED) {
		enum proc_end end = proc_end(p);
		outcome(out, end == PROC_END_TIME ? RES_HANG : end == PROC_END_DIED || end == PROC_END_MEMORY ? RES_CRASH : RES_HARNESS, a, p);
	} else {
		struct wire_expect expect = {.nouts = prog->nret, .ngrads = count_grads(prog), .nstorages = prog_input_storages(prog),
			.ncalls = prog->ncall + 1, .storage_nbytes = storage_sizes(prog, a)};
		struct err err = {0};
		size_t n;
		const uint8_t *answer = proc_answer(p, &n);
		struct wire w = {.p = answer, .end = answer + n};
		if (!wire_get_result(out, a, &w, &expect, &err))
			*out = (struct result){.status = RES_HARNESS, .message = arena_strdup(a, err.msg), .stderr_tail = arena_strdup(a, proc_tail(p))};
	}
	proc_release(p);
}

static bool serve(void *ctx, const void *req, size_t nreq, struct strbuf *answer)
{
	struct arena *a = ctx;
	struct err err = {0};
	struct prog p;
	struct result res = {.status = RES_HARNESS, .message = "", .stderr_tail = ""};
	arena_reset(a);
	struct wire w = {.p = req, .end = (const uint8_t *)req + nreq};
	const char *stage = wire_str(&w, a);
	size_t ntext;
	const char *text = wire_blob(&w, a, &ntext);
	if (w.bad) {
		res.message = "the request does not decode";
	} else if (!str_eq(stage, "eager")) {
		res.status = RES_UNSUPPORTED;
		res.message = "this built-in stage does not exist yet";
	} else if (!prog_read(&p, a, text, ntext, READ_STRICT, &err)) {
		res.message = arena_printf(a, "%d:%d: %s", err.line, err.col, err.msg);
	} else {
		bug_context(arena_printf(a, "%.*s", (int)ntext, text));
		interp_run(&res, &p, a, NULL, &err);     /* whatever comes, res says it */
		bug_context(NULL);
	}
	wire_put_result(answer, &res);
	return true;
}

int builtin_child(void)
{
	struct arena a;
	arena_init(&a);
	int rc = proc_serve("builtin", 7, serve, &a);
	arena_free(&a);
	return rc;
}
