/* exec.c: a slot of any family: its driver says what to start, what to send and what an answer means. A request that cannot even be
 * submitted is kept as a harness result until exec_take. */
#include "compiled/targets/exec.h"

#include <stdlib.h>

#include "compiled/targets/dialect.h"
#include "compiled/targets/driver.h"
#include "eager/base/version.h"

struct exec {
	const struct target_driver *driver;
	struct proc *proc;
	struct arena spec_arena, arena;
	struct proc_spec spec;
	void *request; /* the driver's, of the program in hand */
	struct target target;
	const struct prog *prog;
	bool busy, failed;
	const char *unsent; /* why this target does not get the program; NULL: it does */
	int limit_ms;
	struct err err;
};

struct exec *exec_open(const struct target *t, const struct exec_options *o, struct err *err)
{
	struct exec *e = xmalloc(sizeof *e);
	*e = (struct exec){.driver = t->driver, .target = *t, .limit_ms = o->limit_ms};
	arena_init(&e->spec_arena);
	arena_init(&e->arena);
	bool ok = t->driver->spec(&e->spec, &e->spec_arena, t, o, err);
	if (o->background) {
		e->spec.nice = 10; /* about a tenth of what others get, so that it comes to an end */
		e->spec.start_limit_ms = 600000;
	}
	if (o->patient)
		e->spec.patience = EXEC_PATIENCE;
	e->proc = ok ? proc_open(&e->spec, err) : NULL;
	if (!e->proc) {
		exec_close(e);
		return NULL;
	}
	return e;
}

void exec_close(struct exec *e)
{
	if (!e)
		return;
	proc_close(e->proc);
	arena_free(&e->arena);
	arena_free(&e->spec_arena);
	free(e);
}

bool exec_warm(struct exec *e, struct err *err) { return proc_start(e->proc, err); }

/* The version that the child said, in the form of names; false: it has said nothing. */
static bool version_said(char out[MAX_VERSION_TEXT], const struct exec *e)
{
	struct target_hello h;
	size_t n = e->driver->hello(&h, e->proc, &e->target) ? strcspn(h.version, "+") : 0;
	if (n == 0 || n >= MAX_VERSION_TEXT)
		return false;
	snprintf(out, MAX_VERSION_TEXT, "%.*s", (int)n, h.version);
	return true;
}

/* "2.11" and "2.11.0+cu130" are named by a 2.11.0+cu130, "2.11.0+cpu" is not. */
static bool names(const struct target *t, const struct exec *e, struct err *err)
{
	struct target_hello h;
	struct strbuf name;
	CHECK(e->driver->hello(&h, e->proc, &e->target));
	if (!t->version[0] || (version_compare(t->version, h.version) == 0 && (!strchr(t->version, '+') || str_eq(t->version, h.version))))
		return true;
	sb_init(&name);
	target_print(&name, t);
	err_set(err, "target '%s' names version %s, but %s has %s %s", name.s, t->version, e->spec.argv[0], e->driver->name, h.version);
	sb_free(&name);
	return false;
}

/* A program that is sent to a device that is not there would only say so. */
static bool has_device(const struct target *t, const struct exec *e, struct err *err)
{
	struct target_hello h;
	struct strbuf name;
	CHECK(e->driver->hello(&h, e->proc, t));
	if (!h.missing[0])
		return true;
	sb_init(&name);
	target_print(&name, t);
	err_set(err, "target '%s': its device is missing: %s", name.s, h.missing);
	sb_free(&name);
	return false;
}

enum exec_identity exec_identify(struct target *t, struct exec *e, struct err *err)
{
	enum { STEP_MS = 100 };
	char version[MAX_VERSION_TEXT];
	if (!target_has_versions(t))
		return EXEC_IDENTIFIED;
	if (proc_state(e->proc) == PROC_EMPTY && !proc_start(e->proc, err))
		return EXEC_BROKEN;
	while (proc_state(e->proc) == PROC_STARTING)
		proc_wait(&e->proc, 1, STEP_MS);
	if (!version_said(version, e)) {
		struct arena a;
		arena_init(&a);
		const char *why = proc_why(e->proc), *last = last_line(proc_tail(e->proc), &a);
		err_set(err, "%s%s%s", why[0] ? why : "the child does not say which version it is", last[0] ? ": " : "", last);
		arena_free(&a);
		return EXEC_BROKEN;
	}
	if (!names(t, e, err))
		return EXEC_OTHER;
	if (!has_device(t, e, err))
		return EXEC_BROKEN;
	snprintf(t->version, sizeof t->version, "%s", version);
	return EXEC_IDENTIFIED;
}

/* A program that must raise because of a position in its data, not of its metas: kernels on a GPU check by an assertion. */
bool exec_withholds(const struct prog *p, const struct target *t)
{
	bool positions = false, refused = false;
	for (int i = 0; p->must_raise && i < p->nnode; i++) {
		const struct op_info *o = &op_info[p->node[i].op];
		for (int k = 0; k < o->nparam; k++)
			positions = positions || role_is_positions(o->param[k].role);
		refused = refused || p->node[i].refusal;
	}
	return t->device == TDEV_CUDA && p->must_raise && positions && !refused;
}

void exec_submit(struct exec *e, const struct prog *p, const struct target *t) { exec_submit_first(e, p, t, NULL, 0); }

void exec_submit_first(struct exec *e, const struct prog *p, const struct target *t, const char *const *next, int nnext)
{
	CHECK(!e->busy);
	arena_reset(&e->arena);
	e->err = (struct err){0};
	e->prog = p;
	e->target = *t;
	e->busy = true;
	e->unsent = NULL;
	if (exec_withholds(p, t)) {
		e->unsent = "an index out of range takes a CUDA device down";
		return;
	}
	struct target_request r = {.p = p, .t = t, .limit_ms = e->limit_ms, .next = next, .nnext = nnext};
	struct said said;
	if (dialect_of(t) != TAKES_ATEN) {
		if (!dialect_say(&said, p, dialect_of(t), &e->arena, &e->err)) {
			e->unsent = e->err.msg;
			return;
		}
		r.said = &said;
	}
	e->failed = !e->driver->submit(e->proc, &r, &e->arena, &e->request, &e->err);
}

bool exec_ready(const struct exec *e) { return e->busy && (e->failed || e->unsent || proc_ready(e->proc)); }

void exec_take(struct result *out, struct arena *a, struct exec *e)
{
	CHECK(exec_ready(e));
	e->busy = false;
	if (e->unsent)
		*out = (struct result){.status = RES_UNSUPPORTED, .message = arena_strdup(a, e->unsent), .stderr_tail = ""};
	else if (e->failed)
		*out = (struct result){.status = RES_HARNESS, .message = arena_strdup(a, e->err.msg), .stderr_tail = ""};
	else
		e->driver->take(out, a, e->proc, e->prog, e->request);
	struct err other = {0};
	char version[MAX_VERSION_TEXT];
	if (version_said(version, e) && !names(&e->target, e, &other))
		*out = (struct result){.status = RES_HARNESS, .bad_target = true, .message = arena_strdup(a, other.msg), .stderr_tail = ""};
}

void exec_await(struct result *out, struct arena *a, struct exec *e)
{
	while (!exec_ready(e))
		proc_wait(&e->proc, 1, -1);
	exec_take(out, a, e);
}

void exec_run(struct result *out, struct arena *a, struct exec *e, const struct prog *p, const struct target *t)
{
	exec_submit(e, p, t);
	exec_await(out, a, e);
}

struct proc *exec_proc(struct exec *e) { return e->proc; }

void exec_versions(struct strbuf *versions, struct strbuf *device, const struct exec *e)
{
	struct target_hello h;
	if (e->driver->hello(&h, e->proc, &e->target)) {
		sb_puts(versions, h.versions);
		sb_puts(device, h.device);
	}
}
