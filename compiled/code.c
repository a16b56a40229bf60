/* code.c: see code.h. */
#include "compiled/code.h"

#include <stdlib.h>

#include "compiled/defects/defects.h"
#include "compiled/loops/cuda.h"
#include "compiled/loops/jit.h"
#include "compiled/loops/package.h"
#include "compiled/loops/reorder.h"
#include "compiled/loops/reuse.h"
#include "compiled/loops/schedule.h"
#include "compiled/loops/shape.h"
#include "compiled/loops/symbols.h"
#include "compiled/steps/steps.h"
#include "compiled/loops/marks.h"

struct code {
	struct arena arena;
	const struct prog *p;
	const struct loops *l;
	struct loops own;
	struct jit *jit; /* at most one of the four; none: the loops are interpreted */
	struct native *native;
	struct package *package;
	struct cuda *cuda;
	bool planted;
	struct result_storage *kept; /* loops.results_stay: by result, the memory that the first run reported it in */
};

bool code_lower(struct loops *out, bool *planted, const struct prog *p, const struct code_options *o, const struct defect *d,
	struct arena *a, struct err *err)
{
	struct defect_site site = {.l = out};
	*planted = false;
	if (!lower(out, p, &o->lower, a, err))
		return false;
	*planted = defect_plant(d, compile_steps[STEP_lower].name, &site);
	return true;
}

static bool is_on(enum compile_step s, const struct loops *l, const struct code_options *o)
{
	switch (s) {
	case STEP_reuse: return !o->no_reuse;
	case STEP_schedule: return o->schedule;
	case STEP_reorder: return o->schedule && o->reorder && !l->nsymbol;
	default: BUG("step %s", compile_steps[s].name);
	}
}

static void run_step(struct loops *l, enum compile_step s, const struct code_options *o)
{
	if (s == STEP_reuse)
		loops_reuse_buffers(l);
	else if (s == STEP_reorder)
		loops_reorder(l, o->engine == CODE_CUDA ? REORDER_GPU : REORDER_CPU);
	else if (l->nsymbol)
		loops_schedule_any_size(l);
	else
		loops_schedule(l);
}

bool code_rest(struct loops *l, bool *planted, const struct code_options *o, const char **broken, const struct defect *d, struct err *err)
{
	for (int s = STEP_symbols + 1; s < NSTEPS; s++) {
		struct defect_site site = {.l = l};
		if (!is_on((enum compile_step)s, l, o))
			continue;
		run_step(l, (enum compile_step)s, o);
		*planted |= defect_plant(d, compile_steps[s].name, &site);
		if (!broken)
			continue;
		*broken = compile_steps[s].name;
		if (!loops_validate_symbols(l, err))
			return false;
	}
	return true;
}

bool code_loops(struct loops *out, bool *planted, const struct prog *p, const struct code_options *o, const struct defect *d,
	struct arena *a, struct err *err)
{
	return code_lower(out, planted, p, o, d, a, err) && code_rest(out, planted, o, NULL, d, err);
}

/* ---- ahead ---- */

struct code_ahead {
	struct batches *native, *cuda;
};

struct code_ahead *code_ahead_new(void)
{
	struct code_ahead *h = xmalloc(sizeof *h);
	*h = (struct code_ahead){.native = batches_new(&native_batches), .cuda = batches_new(&cuda_batches)};
	return h;
}

void code_ahead_free(struct code_ahead *h)
{
	if (!h)
		return;
	batches_free(h->native);
	batches_free(h->cuda);
	free(h);
}

/* NULL: there are none of this engine's. */
static struct batches *batches_of(const struct code_ahead *h, const struct code_options *o)
{
	return !h ? NULL : o->engine == CODE_NATIVE ? h->native : o->engine == CODE_CUDA ? h->cuda : NULL;
}

bool code_can_be_ahead(const struct code_options *o)
{
	return o->engine == CODE_NATIVE || (o->engine == CODE_CUDA && cuda_can_run(&o->gpu, NULL));
}

bool code_can_run(const struct code_options *o, struct err *err)
{
	switch (o->engine) {
	case CODE_INTERPRETED:
	case CODE_JIT: return true;
	case CODE_NATIVE:
	case CODE_PACKAGE: return native_can_build(&o->native, err);
	case CODE_CUDA: return cuda_can_run(&o->gpu, err);
	}
	BUG("engine %d", (int)o->engine);
}

bool code_is_ahead(const struct code_ahead *h, const struct loops *l, const struct code_options *o)
{
	const struct batches *b = batches_of(h, o);
	return o->engine == CODE_CUDA ? cuda_is_ahead(b, l, &o->gpu) : native_is_ahead(b, l, &o->native);
}

bool code_make_ahead(struct code_ahead *h, bool (*make)(void *ctx, const char *path), void *ctx, const struct code_options *o, int limit_ms)
{
	struct batches *b = batches_of(h, o);
	return b && batches_make(b, make, ctx, limit_ms);
}

bool code_build_all(const char *path, const struct loops *const *l, int n, const struct code_options *o, struct err *err)
{
	return o->engine == CODE_CUDA ? cuda_build_all(path, l, n, &o->gpu, err) : native_build_all(path, l, n, &o->native, err);
}

/* ---- making it ---- */

static bool built(enum native_end end, const struct err *err)
{
	if (end == NATIVE_BROKEN)
		BUG("%s", err->msg);
	return end == NATIVE_OK;
}

static bool make(struct code *c, const struct code_options *o, struct err *err)
{
	switch (o->engine) {
	case CODE_INTERPRETED: return true;
	case CODE_JIT: c->jit = jit_open(c->l, err); return built(c->jit ? NATIVE_OK : NATIVE_BROKEN, err);
	case CODE_NATIVE: return built(native_open(&c->native, c->l, &o->native, batches_of(o->ahead, o), err), err);
	case CODE_PACKAGE: return built(package_open(&c->package, c->l, c->p, &o->native, err), err);
	case CODE_CUDA: {
		const enum gpu_end end = cuda_open(&c->cuda, c->l, &o->gpu, batches_of(o->ahead, o), err);
		return built(end == GPU_OK ? NATIVE_OK : end == GPU_MISSING ? NATIVE_MISSING : NATIVE_BROKEN, err);
	}
	}
	BUG("engine %d", (int)o->engine);
}

static struct code *code_new(const struct prog *p)
{
	struct code *c = xmalloc(sizeof *c);
	*c = (struct code){.p = p};
	arena_init(&c->arena);
	return c;
}

static bool opened(struct code **out, struct code *c, bool ok)
{
	*out = ok ? c : NULL;
	if (ok && c->l->results_stay)
		c->kept = ARENA_ZNEW(&c->arena, struct result_storage, MAX(c->p->nret, 1));
	if (!ok)
		code_close(c);
	return ok;
}

bool code_open(struct code **out, const struct prog *p, const struct code_options *o, const struct defect *d, struct err *err)
{
	struct code *c = code_new(p);
	c->l = &c->own;
	return opened(out, c, code_loops(&c->own, &c->planted, p, o, d, &c->arena, err) && make(c, o, err));
}

bool code_open_loops(struct code **out, const struct loops *l, const struct prog *p, const struct code_options *o, struct err *err)
{
	struct code *c = code_new(p);
	c->l = l;
	return opened(out, c, make(c, o, err));
}

void code_close(struct code *c)
{
	if (!c)
		return;
	jit_close(c->jit);
	native_close(c->native);
	package_close(c->package);
	cuda_close(c->cuda);
	arena_free(&c->arena);
	free(c);
}

bool code_planted(const struct code *c) { return c->planted; }
int code_shapes(uint64_t *out, int max, const struct code *c) { return loops_shapes(out, max, c->l); }

/* loops.results_stay. */
static void report_in_kept(struct result_call *r, const struct code *c)
{
	for (int i = 0; c->kept && i < r->nouts; i++) {
		struct result_storage *k = &c->kept[i];
		if (k->data && k->nbytes == r->out[i].nbytes && r->out[i].data)
			r->out[i].data = memcpy((void *)(uintptr_t)k->data, r->out[i].data, k->nbytes);
		else
			*k = (struct result_storage){r->out[i].nbytes, r->out[i].data};
	}
}

bool code_run(struct result *out, const struct code *c, const struct call_sizes *at, const struct result_storage *inputs, struct arena *a)
{
	struct err err = {0};
	if (c->package) {
		package_run(out, c->package, at, inputs, a);
		if (out->status == RES_CRASH)
			BUG("%s", out->message);
		if (out->status == RES_OK)
			report_in_kept(&out->call[0], c);
		return true;
	}
	loop_engine *engine = c->jit ? jit_run : c->native ? native_run : c->cuda ? cuda_run : loops_interpret;
	void *ctx = c->jit ? (void *)c->jit : c->native ? (void *)c->native : c->cuda;
	*out = (struct result){.status = RES_OK, .message = "", .stderr_tail = "", .call = ARENA_ZNEW(a, struct result_call, 1)};
	const enum loop_end end = loops_run(&out->call[0], c->l, at ? at->p : c->p, at ? at->symbol : NULL, inputs, engine, ctx, a, &err);
	out->ncalls = end == LOOPS_RAN;
	if (end == LOOPS_RAN) {
		report_in_kept(&out->call[0], c);
		return true;
	}
	out->status = end == LOOPS_RAISED ? RES_RAISED : RES_UNSUPPORTED;
	out->message = arena_strdup(a, err.msg);
	return end != LOOPS_UNFIT;
}
