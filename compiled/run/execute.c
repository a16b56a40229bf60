/* execute.c: runs what compile() made, call after call. Every part runs on memory that it is given: the first one on the source's inputs, a
 * backward part on these as the first one left them, on the values that it saved, and on what the cotangents' rows computed in between. */
#include "compiled/run/execute.h"
#include "compiled/compile.h"

#include "compiled/defects/defects.h"
#include "compiled/loops/shape.h"
#include "compiled/symbols/dynamic.h"
#include "eager/lang/fill.h"
#include "eager/run/autograd.h"
#include "eager/run/interp.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

/* What runs call after call. Calls of the same sizes share the code; those of any size that `dynamic` serves share its. */
struct running {
	const struct compile_options *o;
	const struct prog *p;
	struct arena *arena;
	struct hash128 structure; /* of the call that `compiled` is of */
	struct compiled compiled;
	struct code *code[MAX_PARTS];
	struct dynamic *dynamic;              /* NULL: each call is compiled for its own sizes */
	struct code *dynamic_code[MAX_PARTS]; /* of its loops, which are one part's */
	int ngraphs;
	bool planted; /* the defect found something to spoil, in some call */
	int nshape;   /* of the loops of all calls */
	uint64_t shape[MAX_RESULT_SHAPES];
};

static bool ended(struct result *out, enum result_status status, const struct err *err, struct arena *a)
{
	*out = (struct result){.status = status, .compiling = status != RES_HARNESS, .message = arena_strdup(a, err->msg), .stderr_tail = ""};
	return false;
}

/* ---- compiling ---- */

static bool ended_broken(struct result *out, const struct result_violation *violation, const struct err *err, struct arena *a)
{
	ended(out, RES_INVARIANT, err, a);
	out->violation = *violation;
	return false;
}

static void close_code(struct code *code[MAX_PARTS])
{
	for (int i = 0; i < MAX_PARTS; i++) {
		code_close(code[i]);
		code[i] = NULL;
	}
}

static void add_shapes(struct running *r, const struct code *code)
{
	uint64_t shape[MAX_RESULT_SHAPES];
	const int n = code_shapes(shape, MAX_RESULT_SHAPES, code);
	for (int i = 0; i < n; i++)
		shape_add(r->shape, &r->nshape, MAX_RESULT_SHAPES, shape[i]);
}

static bool open_code(struct running *r, struct err *err)
{
	for (int i = 0; r->o->to_code && i < r->compiled.npart; i++) {
		if (!code_open(&r->code[i], &r->compiled.part[i].p, &r->o->code, r->o->defect, err))
			return false;
		r->planted |= code_planted(r->code[i]);
		add_shapes(r, r->code[i]);
	}
	return true;
}

/* compiled and code become those of this call. */
static bool compile_call(struct result *out, struct running *r, const struct prog *bound)
{
	struct err err = {0};
	if (r->o->to_code && r->p->ncall) { /* the only ones that another call may find code of */
		const struct hash128 structure = prog_hash(bound);
		if (r->code[0] && memcmp(&structure, &r->structure, sizeof structure) == 0)
			return true;
		r->structure = structure;
	}
	close_code(r->code);
	const enum compile_status status = compile(&r->compiled, bound, r->o, r->arena, &err);
	if (status == COMPILE_BROKEN)
		return ended_broken(out, &r->compiled.violation, &err, r->arena);
	if (status != COMPILE_OK)
		return ended(out, status == COMPILE_RAISES ? RES_RAISED : RES_UNSUPPORTED, &err, r->arena);
	r->ngraphs += r->compiled.npart;
	r->planted |= r->compiled.planted;
	return open_code(r, &err) || ended(out, RES_UNSUPPORTED, &err, r->arena);
}

/* Before the first call: what serves others, too. */
static bool compile_dynamic(struct result *out, struct running *r, const struct prog *bound)
{
	struct err err = {0};
	struct dynamic_made made;
	const enum compile_status status = dynamic_compile(&r->dynamic, &made, bound, r->o, r->arena, &err);
	if (status == COMPILE_BROKEN)
		return ended_broken(out, &made.violation, &err, r->arena);
	if (status != COMPILE_OK)
		return ended(out, status == COMPILE_RAISES ? RES_RAISED : RES_UNSUPPORTED, &err, r->arena);
	if (!r->dynamic)
		return true;
	r->ngraphs++;
	r->planted |= made.planted;
	const struct loops *l = dynamic_loops(r->dynamic);
	if (!l)
		return true;
	if (!code_open_loops(&r->dynamic_code[0], l, &dynamic_compiled(r->dynamic)->part[0].p, &r->o->code, &err))
		return ended(out, RES_UNSUPPORTED, &err, r->arena);
	add_shapes(r, r->dynamic_code[0]);
	return true;
}

/* ---- one part ---- */

/* A call on its way. */
struct execution {
	struct running *r;
	const struct compiled *compiled;
	struct code *const *code;           /* by part */
	const struct call_sizes *sizes;     /* of loops of any size; NULL: it is compiled for its own */
	struct result_storage *memory;      /* of the source's inputs */
	struct result_call part[MAX_PARTS]; /* what those that have run reported */
	struct result_call caller;          /* the cotangents */
	bool unfit;                         /* a size that is data is none that the code is made for */
};

/* A tensor as it lies in memory of its own, in its layout; cells that it does not reach are zeros. */
static struct result_storage laid_out(const struct result_tensor *t, const struct meta *m, struct arena *a)
{
	struct tensor to = {*m, NULL}, from = {*m, NULL};
	const size_t nbytes = mul_size((size_t)meta_extent(m), (size_t)dtype_nbytes(m->dtype));
	CHECK(t->meta.dtype == m->dtype && meta_same_sizes(&t->meta, m) && (t->data || meta_numel(m) == 0));
	to.base = memset(arena_alloc(a, MAX(nbytes, 1)), 0, MAX(nbytes, 1));
	if (meta_numel(m) == 0)
		return (struct result_storage){nbytes, to.base};
	meta_make_contiguous(&from.meta, m->dtype, m->size, m->rank);
	from.base = (unsigned char *)(uintptr_t)t->data; /* is read only */
	tensor_copy(&to, &from);
	return (struct result_storage){nbytes, to.base};
}

static const struct meta *storage_meta(const struct prog *p, int storage)
{
	int i = 0;
	while (p->node[i].op != OP_input || p->node[i].out[0].storage != storage)
		i++;
	return node_meta(p, i);
}

static struct result_storage *inputs_of(const struct execution *x, const struct part *part)
{
	struct arena *a = x->r->arena;
	const int n = prog_input_storages(&part->p);
	struct result_storage *out = ARENA_NEW(a, struct result_storage, MAX(n, 1));
	for (int s = 0; s < n; s++) {
		const struct part_input *from = &part->input[s];
		const struct meta *m = storage_meta(&part->p, s);
		switch (from->from) {
		case FROM_SOURCE: out[s] = x->memory[from->index]; break;
		case FROM_FORWARD: out[s] = laid_out(&x->part[0].out[x->compiled->nout + from->index], m, a); break;
		case FROM_CALLER: out[s] = laid_out(&x->caller.out[from->index], m, a); break;
		}
	}
	return out;
}

/* Does somebody else hold what it gave? Then the part must leave it as it was. That is asked of what ran, not of what was compiled. */
static bool is_held(const struct execution *x, const struct part_input *from)
{
	const struct result_call *forward = &x->part[0];
	const int k = x->compiled->nout + from->index;
	for (int i = 0; from->from == FROM_FORWARD && i < forward->nouts; i++)
		if (i != k && forward->out[i].storage == forward->out[k].storage)
			return true;
	return from->from == FROM_CALLER;
}

/* The source's inputs are what the part left there. */
static void take_memory(struct execution *x, const struct part *part, const struct result_storage *given, const struct result_call *ran)
{
	CHECK(ran->nstorages == prog_input_storages(&part->p));
	for (int s = 0; s < ran->nstorages; s++) {
		const struct part_input *from = &part->input[s];
		if (from->from == FROM_SOURCE)
			x->memory[from->index] = ran->storage[s];
		else if (is_held(x, from) && ran->storage[s].nbytes && memcmp(ran->storage[s].data, given[s].data, given[s].nbytes) != 0)
			BUG("the %s part wrote input storage %d, which is not its own", part->name, s);
	}
}

static bool run_part(struct result *out, struct execution *x, int k)
{
	struct running *r = x->r;
	const struct part *part = &x->compiled->part[k];
	const struct result_storage *given = inputs_of(x, part);
	struct err err = {0};
	struct result one;
	if (x->code[k])
		x->unfit = !code_run(&one, x->code[k], x->sizes, given, r->arena);
	else
		interp_run(&one, &part->p, r->arena, &(struct interp_options){.given = given}, &err);
	if (one.status != RES_OK) {
		if (!x->unfit)
			*out = one;
		return false;
	}
	x->part[k] = one.call[0];
	take_memory(x, part, given, &x->part[k]);
	return true;
}

/* The cotangents, which the caller computes. */
static bool run_caller(struct result *out, struct execution *x, const struct prog *bound)
{
	const struct prog *p = &x->compiled->caller;
	struct result_storage *given = ARENA_ZNEW(x->r->arena, struct result_storage, MAX(prog_input_storages(p), 1));
	struct err err = {0};
	struct result one;
	for (int i = 0; i < p->nnode; i++)
		if (p->node[i].op == OP_input)
			given[p->node[i].out[0].storage] = x->memory[bound->node[prog_find(bound, p->node[i].name)].out[0].storage];
	interp_run(&one, p, x->r->arena, &(struct interp_options){.given = given}, &err);
	if (one.status != RES_OK)
		*out = one;
	else
		x->caller = one.call[0];
	return one.status == RES_OK;
}

/* ---- one call ---- */

/* A gradient comes in its leaf's layout; one of other sizes or another dtype is wrong, and stays what it is. */
static void leaf_layout(struct meta *m, const struct meta *leaf)
{
	const enum device device = m->device;
	if (m->dtype != leaf->dtype || !meta_same_sizes(m, leaf))
		return;
	graph_grad_layout(m, leaf);
	m->device = device;
}

/* gradient: the first one. */
static void put_gradients(
	struct result_call *c, const struct compiled *k, const struct result_tensor *gradient, const struct prog *bound, struct arena *a)
{
	int fresh = MAX_NODES, g = 0;
	for (int i = 0; i < k->npart; i++)
		fresh = MAX(fresh, k->part[i].p.nstorage);
	c->ngrads = k->ngrad;
	c->grad = ARENA_ZNEW(a, struct result_tensor, MAX(k->ngrad, 1));
	for (int i = 0; i < bound->nnode && g < k->ngrad; i++) {
		if (!node_requires_grad(&bound->node[i]))
			continue;
		if (k->grad[g]) {
			c->grad[g] = *gradient++;
			leaf_layout(&c->grad[g].meta, node_meta(bound, i));
			c->grad[g].storage = fresh + g;
		}
		g++;
	}
}

/* The source's numbers of input storages: a forward part may have fewer. */
static void put_outputs(struct result_call *c, const struct execution *x)
{
	const struct compiled *k = x->compiled;
	const int ninput = prog_input_storages(&k->part[0].p);
	c->nouts = k->nout;
	for (int i = 0; i < k->nout; i++) {
		if (x->r->o->stage >= STAGE_JOINT)
			c->out[i].requires_grad = k->requires_grad[i];
		if (c->out[i].storage < ninput)
			c->out[i].storage = k->part[0].input[c->out[i].storage].index;
	}
}

/* Does what is compiled for any size serve this call, which eager does not refuse? Kernels of eager look at no guards on their way. */
static bool is_served(const struct running *r, const struct prog *bound)
{
	struct err err = {0};
	if (!r->dynamic || interp_legal(bound, NULL, &err) != INTERP_OK)
		return false;
	return r->dynamic_code[0] ? dynamic_serves(r->dynamic, bound, &err) : dynamic_fits(r->dynamic, bound, &err);
}

/* x is about to run what is compiled for any size, as *at and *sizes say. */
static bool take_dynamic(struct result *out, struct execution *x, struct compiled *at, struct call_sizes *sizes, const struct prog *bound)
{
	const struct running *r = x->r;
	struct result_violation violation;
	struct err err = {0}, no = {0};
	if (r->o->validate && dynamic_fits(r->dynamic, bound, &no) && !dynamic_validate(&violation, r->dynamic, bound, r->arena, &err))
		return ended_broken(out, &violation, &err, r->arena);
	dynamic_at(at, sizes, r->dynamic, bound, r->arena);
	x->compiled = at;
	x->sizes = sizes;
	x->code = r->dynamic_code;
	return true;
}

static bool run_parts(struct result *out, struct execution *x, int k, const struct prog *bound)
{
	const bool two = x->compiled->npart == MAX_PARTS;
	if (!run_part(out, x, 0) || (two && (!run_caller(out, x, bound) || !run_part(out, x, 1))))
		return false;
	struct result_call *c = &out->call[k];
	*c = x->part[0];
	c->run_ms += x->part[1].run_ms;
	c->nstorages = prog_input_storages(bound);
	c->storage = x->memory;
	put_outputs(c, x);
	if (x->r->o->stage >= STAGE_JOINT)
		put_gradients(c, x->compiled, two ? x->part[1].out : c->out + c->nouts, bound, x->r->arena);
	out->ncalls++;
	return true;
}

/* Compiled for its own sizes after all, and run on fresh memory. */
static bool specialised(struct result *out, struct running *r, int k, const struct prog *bound)
{
	struct execution x = {.r = r, .compiled = &r->compiled, .code = r->code};
	if (!compile_call(out, r, bound))
		return false;
	x.memory = fill_storages(bound, r->arena);
	return run_parts(out, &x, k, bound);
}

static bool run_call(struct result *out, struct running *r, int k)
{
	struct prog bound;
	struct err err = {0};
	struct compiled at;
	struct call_sizes sizes;
	struct execution x = {.r = r, .compiled = &r->compiled, .code = r->code};
	if (!prog_bind(&bound, r->p, k, r->arena, &err))
		return ended(out, RES_HARNESS, &err, r->arena);
	if (r->o->code.dynamic && k == 0 && !compile_dynamic(out, r, &bound))
		return false;
	const bool served = is_served(r, &bound);
	if (!(served ? take_dynamic(out, &x, &at, &sizes, &bound) : compile_call(out, r, &bound)))
		return false;
	x.memory = fill_storages(&bound, r->arena);
	return run_parts(out, &x, k, &bound) || (x.unfit && specialised(out, r, k, &bound));
}

/* ---- what calls left behind ---- */

static const void *copy_of(const void *data, size_t nbytes, struct arena *a)
{
	return data ? memcpy(arena_alloc(a, MAX(nbytes, 1)), data, nbytes) : NULL;
}

static struct result_tensor *tensors_copy(const struct result_tensor *t, int n, struct arena *a)
{
	struct result_tensor *out = ARENA_NEW(a, struct result_tensor, MAX(n, 1));
	for (int i = 0; i < n; i++) {
		out[i] = t[i];
		out[i].data = copy_of(t[i].data, t[i].nbytes, a);
	}
	return out;
}

/* The call as it is now, whatever is written later to the memory in which it lies. */
static struct result_call call_copy(const struct result_call *c, struct arena *a)
{
	struct result_call out = *c;
	out.out = tensors_copy(c->out, c->nouts, a);
	out.grad = tensors_copy(c->grad, c->ngrads, a);
	out.storage = ARENA_NEW(a, struct result_storage, MAX(c->nstorages, 1));
	for (int s = 0; s < c->nstorages; s++)
		out.storage[s] = (struct result_storage){c->storage[s].nbytes, copy_of(c->storage[s].data, c->storage[s].nbytes, a)};
	return out;
}

static void note_tensors(
	struct result *out, int call, enum tensor_role role, const struct result_tensor *then, const struct result_tensor *now, int n)
{
	for (int i = 0; i < n; i++)
		if (then[i].data && memcmp(then[i].data, now[i].data, then[i].nbytes) != 0)
			out->change[out->nchange++] = (struct result_change){.call = call, .role = role, .index = i, .what = "", .tensor = now[i]};
}

/* out->call are copies of what the calls left, `live` is what they left. */
static void note_changes(struct result *out, const struct result_call *live, struct arena *a)
{
	int most = 0;
	for (int k = 0; k < out->ncalls; k++)
		most += live[k].nouts + live[k].ngrads + live[k].nstorages;
	out->change = ARENA_NEW(a, struct result_change, MAX(most, 1));
	for (int k = 0; k < out->ncalls; k++) {
		const struct result_call *then = &out->call[k], *now = &live[k];
		note_tensors(out, k, TR_OUTPUT, then->out, now->out, now->nouts);
		note_tensors(out, k, TR_GRADIENT, then->grad, now->grad, now->ngrads);
		for (int s = 0; s < now->nstorages; s++)
			if (now->storage[s].nbytes && memcmp(then->storage[s].data, now->storage[s].data, now->storage[s].nbytes) != 0)
				out->change[out->nchange++] =
					(struct result_change){.call = k, .role = TR_STORAGE, .index = s, .what = "", .storage = now->storage[s]};
	}
}

void compile_run(struct result *out, const struct prog *p, const struct compile_options *o, struct arena *a)
{
	struct running r = {.o = o, .p = p, .arena = a};
	*out = (struct result){.status = RES_OK, .message = "", .stderr_tail = ""};
	out->call = ARENA_ZNEW(a, struct result_call, p->ncall + 1);
	struct err err = {0};
	/* First of all: a program that must raise would be refused by a step, and nothing would show that none of it can run. */
	bool ok = !o->to_code || code_can_run(&o->code, &err) || ended(out, RES_UNSUPPORTED, &err, a);
	struct result_call *live = ARENA_NEW(a, struct result_call, p->ncall + 1);
	for (int k = 0; ok && k <= p->ncall; k++) {
		ok = run_call(out, &r, k);
		if (ok && p->ncall) {
			live[k] = out->call[k];
			out->call[k] = call_copy(&live[k], a);
		}
	}
	if (ok && p->ncall)
		note_changes(out, live, a);
	close_code(r.code);
	close_code(r.dynamic_code);
	if (ok)
		out->ngraphs = r.ngraphs;
	if (ok && o->defect && !r.planted)
		out->message = arena_printf(a, "defect %s found nothing to spoil", o->defect->name);
	out->nshape = r.nshape;
	out->shape = ARENA_NEW(a, uint64_t, MAX(r.nshape, 1));
	memcpy(out->shape, r.shape, (size_t)r.nshape * sizeof *r.shape);
}

/* ---- for people ---- */

enum { FEW_NUMBERS = 256 };

static void give(struct node *n, const struct result_storage *cells, struct arena *a)
{
	const struct meta *m = &n->out[0].meta;
	const size_t ncells = cells->nbytes / (size_t)dtype_nbytes(m->dtype);
	if (ncells == 0 || ncells > (dtype_is_float(m->dtype) ? FEW_NUMBERS : MAX_DATA))
		return;
	n->arg[A_input_data] = fill_to_data(cells->data, (int)ncells, m->dtype, a);
	n->arg[A_input_fill].str = "dyadic"; /* the default, beside which there may be numbers */
	n->arg[A_input_seed] = arg_int(0);
}

void compile_give(struct compiled *c, const struct prog *bound, struct arena *a)
{
	struct running r = {.arena = a, .compiled = *c};
	struct execution x = {.r = &r, .compiled = c, .code = r.code, .memory = fill_storages(bound, a)};
	struct result raised;
	if (c->npart < MAX_PARTS || !run_part(&raised, &x, 0) || !run_caller(&raised, &x, bound))
		return;
	const struct result_storage *given = inputs_of(&x, &c->part[1]);
	for (int i = 0; i < c->part[1].p.nnode; i++) {
		struct node *n = &c->part[1].p.node[i];
		if (n->op == OP_input && c->part[1].input[n->out[0].storage].from != FROM_SOURCE)
			give(n, &given[n->out[0].storage], a);
	}
}
