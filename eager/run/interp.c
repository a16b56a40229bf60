/* interp.c: see interp.h. One struct interp_run per call; everything of it but the reported data lives in an arena of its own. */
#include "eager/run/interp.h"

#include "eager/run/autograd.h"
#include "eager/lang/fill.h"
#include "eager/run/legality.h"
#include "eager/run/zones.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

static const size_t default_max_bytes = (size_t)1 << 30;

struct storage {
	int id;
	unsigned char *data; /* NULL: device meta */
	size_t nbytes;
	int64_t ncells;
};

struct interp_run {
	const struct prog *p;
	const struct interp_options *o;
	struct arena *a; /* what is reported */
	struct arena mem, scratch;
	struct graph g;
	int nstorage, cap_storage, ninputs;
	struct storage *storage; /* the inputs' first, by id */
	size_t bytes;
	struct err *err;
};

/* ---- storages --------------------------------------------------------------------------------------------------- */

static struct storage *storage_add(struct interp_run *r, int id, int64_t ncells, enum dtype t, enum device device, struct arena *a)
{
	if (r->nstorage == r->cap_storage) {
		r->cap_storage = MAX(32, 2 * r->cap_storage);
		struct storage *s = ARENA_NEW(&r->mem, struct storage, r->cap_storage);
		if (r->nstorage)
			memcpy(s, r->storage, (size_t)r->nstorage * sizeof *s);
		r->storage = s;
	}
	size_t max = r->o && r->o->max_bytes ? r->o->max_bytes : default_max_bytes;
	size_t nbytes = mul_size((size_t)ncells, (size_t)dtype_nbytes(t));
	if (nbytes > max || r->bytes > max - nbytes) {
		err_set(r->err, "the program needs more than %zu bytes", max);
		return NULL;
	}
	r->bytes += nbytes;
	struct storage *s = &r->storage[r->nstorage++];
	*s = (struct storage){.id = id, .nbytes = nbytes, .ncells = ncells};
	if (device == DEV_META || r->g.metas)
		return s;
	s->data = zones_alloc(a, nbytes, t);
	return s;
}

static void zones_check(const struct interp_run *r, const char *after)
{
	if (r->o && r->o->no_zones)
		return;
	for (int k = 0; k < r->nstorage; k++) {
		const struct storage *s = &r->storage[k];
		if (!s->data || zones_intact(s->data, s->nbytes))
			continue;
		struct strbuf text;
		sb_init(&text);
		prog_print(&text, r->p);
		bug_context(text.s);
		BUG("%s wrote outside of storage %d", after, s->id);
	}
}

/* ---- nodes ------------------------------------------------------------------------------------------------------ */

/* PyTorch's class of a kernel's message; kernels give the text only. */
static enum step raised(struct interp_run *r, const struct err *e)
{
	const char *class = strstr(e->msg, "Error: ") ? "" : str_starts(e->msg, "index ") ? "IndexError: " : "RuntimeError: ";
	err_set(r->err, "%s%s", class, e->msg);
	return STEP_RAISED;
}

/* Operands with data; false in *data if one of them is on device meta. */
static void kernel_context(struct kern_ctx *c, struct interp_run *r, int node, struct err *err, bool *data)
{
	const struct node *n = &r->p->node[node];
	*c = (struct kern_ctx){.n = n, .nout = n->nout, .scratch = &r->scratch, .err = err};
	*data = true;
	for (int k = 0; k < op_info[n->op].nparam; k++) {
		const struct arg *a = &n->arg[k];
		if (op_info[n->op].param[k].kind == K_TENSOR && a->tag == ARG_SCALAR) {
			struct tensor *number = ARENA_NEW(&r->scratch, struct tensor, 1);
			tensor_number(number, &a->scalar, &r->scratch);
			c->in[k] = number;
			continue;
		}
		int count = a->tag == ARG_TENSORS ? a->n : a->tag == ARG_TENSOR;
		struct tensor *t = ARENA_NEW(&r->scratch, struct tensor, MAX(count, 1));
		const struct tensor **list = ARENA_ZNEW(&r->scratch, const struct tensor *, MAX(count, 1));
		for (int i = 0; i < count; i++) {
			int operand = a->tag == ARG_TENSORS ? a->nodes[i] : a->node;
			if (operand < 0)
				continue;
			graph_tensor(&t[i], &r->g, operand, 0);
			*data = *data && t[i].meta.device != DEV_META;
			list[i] = &t[i];
		}
		if (a->tag == ARG_TENSORS)
			c->list[k] = list;
		else
			c->in[k] = list[0];
	}
}

static bool has_kernel(struct interp_run *r, int node)
{
	int op = r->p->node[node].op;
	return op_kern[op] || err_set(r->err, "%s has no kernel yet", op_info[op].name);
}

static enum step run_functional(struct interp_run *r, int node)
{
	const struct node *n = &r->p->node[node];
	struct tensor *out = ARENA_NEW(&r->scratch, struct tensor, n->nout);
	unsigned char **base = ARENA_NEW(&r->scratch, unsigned char *, n->nout);
	if (!has_kernel(r, node))
		return STEP_UNSUPPORTED;
	enum step step = graph_before(&r->g, node, r->err);
	if (step != STEP_OK)
		return step;
	bool data;
	struct err err = {0};
	struct kern_ctx c;
	kernel_context(&c, r, node, &err, &data);
	for (int k = 0; k < n->nout; k++) {
		const struct meta *m = &n->out[k].meta;
		struct storage *s = storage_add(r, n->out[k].storage, meta_extent(m), m->dtype, data ? m->device : DEV_META, &r->mem);
		if (!s)
			return STEP_UNSUPPORTED;
		out[k] = (struct tensor){*m, s->data};
		base[k] = s->data;
		data = data && s->data;
	}
	c.out = out;
	if (data && !op_kern[n->op](&c))
		return raised(r, &err);
	graph_fresh(&r->g, node, base);
	return STEP_OK;
}

/* Stores the new value. Where self overlaps itself only elements that change are written, in order: masked_fill_, index_fill_ and
 * index_put_ leave the others alone. (An element that is written with its old value cannot be told from one that is not written;
 * such programs are not generated.) */
static void store(struct tensor *self, const struct tensor *value, struct arena *a)
{
	if (!meta_has_duplicates(&self->meta)) {
		tensor_copy(self, value);
		return;
	}
	struct tensor was, now;
	meta_make_contiguous(&was.meta, self->meta.dtype, self->meta.size, self->meta.rank);
	tensor_new(&was, &was.meta, a);
	tensor_new(&now, &was.meta, a);
	tensor_copy(&was, self);
	tensor_copy(&now, value);
	size_t nbytes = (size_t)dtype_nbytes(self->meta.dtype), c = 0;
	struct meta_iter it;
	meta_iter_start(&it, &self->meta);
	do {
		if (memcmp(was.base + c, now.base + c, nbytes) != 0)
			memcpy(tensor_at(self, it.off), now.base + c, nbytes);
		c += nbytes;
	} while (meta_iter_next(&it, &self->meta));
}

static enum step run_inplace(struct interp_run *r, int node)
{
	const struct node *n = &r->p->node[node];
	if (!has_kernel(r, node))
		return STEP_UNSUPPORTED;
	enum step step = graph_before(&r->g, node, r->err);
	if (step != STEP_OK)
		return step;
	if (!legality_check(&r->g, node, r->err))
		return STEP_RAISED;
	struct err err = {0};
	struct tensor value, self;
	if (!node_functional_meta(&value.meta, r->p, node, &err))
		return raised(r, &err);
	graph_tensor(&self, &r->g, n->arg[A_INPLACE_self].node, 0);
	bool data;
	struct kern_ctx c;
	kernel_context(&c, r, node, &err, &data);
	c.out = &value;
	if (data && self.base) {
		struct storage *s = storage_add(r, -1, meta_extent(&value.meta), value.meta.dtype, DEV_RUN, &r->mem);
		if (!s)
			return STEP_UNSUPPORTED;
		value.base = s->data;
		if (!op_kern[n->op](&c))
			return raised(r, &err);
		store(&self, &value, &r->scratch);
	}
	graph_written(&r->g, node);
	return STEP_OK;
}

static enum step run_input(struct interp_run *r, int node)
{
	const struct node *n = &r->p->node[node];
	const struct storage *s = &r->storage[n->out[0].storage];
	return graph_input(&r->g, node, s->data, s->ncells, node_requires_grad(n), r->err);
}

static enum step run_node(struct interp_run *r, int node)
{
	const struct node *n = &r->p->node[node];
	if (!node_is_input(n) && !node_is_run(n))
		return STEP_OK;
	if (n->refusal) {
		struct err why = {0};
		err_set(&why, "%s", n->refusal);
		return raised(r, &why);
	}
	if (!legality_version(r->p, node, r->o ? r->o->torch_minor : 0, r->err))
		return STEP_RAISED;
	if (node_is_input(n))
		return run_input(r, node);
	if (node_shares_memory(r->p, n))
		return graph_view(&r->g, node, r->err);
	struct arena_mark mark = arena_mark(&r->scratch);
	enum step step = op_has(n->op, T_MUTATES) ? run_inplace(r, node) : run_functional(r, node);
	arena_release(&r->scratch, mark);
	zones_check(r, op_info[n->op].name);
	return step;
}

/* ---- one call --------------------------------------------------------------------------------------------------- */

static bool make_inputs(struct interp_run *r)
{
	r->ninputs = prog_input_storages(r->p);
	for (int s = 0; s < r->ninputs; s++) {
		const struct meta *m = NULL;
		for (int i = 0; i < r->p->nnode && !m; i++)
			if (r->p->node[i].op == OP_input && r->p->node[i].out[0].storage == s)
				m = node_meta(r->p, i);
		struct storage *t = storage_add(r, s, prog_storage_cells(r->p, s), m->dtype, m->device, r->a);
		if (!t)
			return false;
		struct arena_mark mark = arena_mark(&r->scratch);
		if (t->nbytes && t->data)
			memcpy(t->data, r->o && r->o->given ? r->o->given[s].data : fill_storage(r->p, s, &r->scratch), t->nbytes);
		arena_release(&r->scratch, mark);
	}
	return true;
}

static enum step run_nodes(struct interp_run *r)
{
	bool *forward = ARENA_NEW(&r->mem, bool, r->p->nnode), *cot = ARENA_NEW(&r->mem, bool, r->p->nnode);
	enum step step = STEP_OK;
	prog_partition(r->p, forward, cot);
	for (int i = 0; i < r->p->nnode && step == STEP_OK; i++)
		if (forward[i])
			step = run_node(r, i);
	r->g.grad_mode = false;
	for (int i = 0; i < r->p->nnode && step == STEP_OK; i++)
		if (cot[i] && !forward[i])
			step = run_node(r, i);
	return step;
}

static enum step run_backward(struct interp_run *r)
{
	struct cotangent cot[MAX_RETURNS];
	for (int i = 0; i < r->p->nback; i++) {
		const struct meta *y = node_meta(r->p, r->p->back[i].node), *g = node_meta(r->p, r->p->back[i].cotangent);
		if (!meta_same_sizes(y, g) || y->dtype != g->dtype) { /* must-raise programs */
			err_set(r->err, "RuntimeError: Mismatch in %s: grad_output[%d] and output[%d] differ",
				meta_same_sizes(y, g) ? "dtype" : "shape", i, i);
			return STEP_RAISED;
		}
		cot[i].node = r->p->back[i].node;
		graph_tensor(&cot[i].value, &r->g, r->p->back[i].cotangent, 0);
		if (r->g.metas)
			continue;
		if (!cot[i].value.base || node_meta(r->p, cot[i].node)->device == DEV_META) {
			err_set(r->err, "gradients on device meta");
			return STEP_UNSUPPORTED;
		}
	}
	for (int i = 0; !r->g.metas && i < r->p->nnode; i++)
		for (int k = 0; r->g.fn[i].tracked && k < r->g.fn[i].nedge; k++)
			if (!r->g.root[r->g.var[r->g.fn[i].edge[k].var].root].base) {
				err_set(r->err, "gradients on device meta");
				return STEP_UNSUPPORTED;
			}
	enum step step = graph_backward(&r->g, cot, r->p->nback, &r->scratch, r->err);
	zones_check(r, "backward");
	return step;
}

static void report_tensor(struct result_tensor *out, const struct tensor *t, struct arena *a)
{
	struct tensor c;
	meta_make_contiguous(&c.meta, t->meta.dtype, t->meta.size, t->meta.rank);
	size_t nbytes = mul_size((size_t)meta_numel(&t->meta), (size_t)dtype_nbytes(t->meta.dtype));
	*out = (struct result_tensor){.present = true, .meta = t->meta, .nbytes = nbytes};
	if (!t->base || t->meta.device == DEV_META)
		return;
	c.base = arena_alloc(a, MAX(nbytes, 1));
	tensor_copy(&c, t);
	out->data = c.base;
}

static void report(struct result_call *out, struct interp_run *r)
{
	const struct prog *p = r->p;
	*out = (struct result_call){.nouts = p->nret, .nstorages = r->ninputs};
	out->out = ARENA_NEW(r->a, struct result_tensor, p->nret);
	for (int i = 0; i < p->nret; i++) {
		struct tensor t;
		graph_tensor(&t, &r->g, p->ret[i], 0);
		report_tensor(&out->out[i], &t, r->a);
		out->out[i].requires_grad = graph_requires_grad(&r->g, p->ret[i]);
		out->out[i].storage = p->node[p->ret[i]].out[0].storage;
	}
	out->storage = ARENA_NEW(r->a, struct result_storage, r->ninputs);
	for (int s = 0; s < r->ninputs; s++)
		out->storage[s] = (struct result_storage){r->storage[s].data ? r->storage[s].nbytes : 0, r->storage[s].data};
	if (!p->nback)
		return;
	out->grad = ARENA_NEW(r->a, struct result_tensor, p->nnode);
	for (int i = 0; i < p->nnode; i++) {
		const struct node *n = &p->node[i];
		if (!node_requires_grad(n))
			continue;
		struct result_tensor *t = &out->grad[out->ngrads];
		struct tensor g;
		*t = (struct result_tensor){0};
		if (graph_grad(&g, &r->g, i, &r->mem)) {
			report_tensor(t, &g, r->a);
			t->meta.device = n->out[0].meta.device;
			t->storage = MAX(p->nstorage, MAX_NODES) + out->ngrads;
		}
		out->ngrads++;
	}
}

static bool input_on_meta(const struct prog *p)
{
	for (int i = 0; i < p->nnode; i++)
		if (p->node[i].op == OP_input && node_meta(p, i)->device == DEV_META)
			return true;
	return false;
}

/* out: NULL: nothing has data, nothing is computed. */
static enum step run_call(struct result_call *out, const struct prog *p, struct arena *a, const struct interp_options *o, struct err *err)
{
	struct interp_run r = {.p = p, .o = o, .a = a, .err = err};
	arena_init(&r.mem);
	arena_init(&r.scratch);
	graph_init(&r.g, p, &r.mem);
	r.g.metas = !out;
	enum step step = STEP_UNSUPPORTED;
	if (p->nback && input_on_meta(p))
		err_set(err, "gradients beside tensors on device meta");
	else if (make_inputs(&r))
		step = run_nodes(&r);
	if (step == STEP_OK && p->nback)
		step = run_backward(&r);
	if (step == STEP_OK && out)
		report(out, &r);
	arena_free(&r.mem);
	arena_free(&r.scratch);
	return step;
}

enum interp_status interp_run(struct result *out, const struct prog *p, struct arena *a, const struct interp_options *o, struct err *err)
{
	struct err why = {0};
	*out = (struct result){.status = RES_OK, .message = "", .stderr_tail = ""};
	out->call = ARENA_ZNEW(a, struct result_call, p->ncall + 1);
	for (int k = 0; k <= p->ncall; k++) {
		struct prog bound;
		if (!prog_bind(&bound, p, k, a, &why)) {
			out->status = RES_HARNESS;
			out->message = arena_strdup(a, why.msg);
			err_at(err, why.line, why.col, "%s", why.msg);
			return INTERP_INVALID;
		}
		enum step step = run_call(&out->call[k], &bound, a, o, &why);
		if (step != STEP_OK) {
			out->status = step == STEP_RAISED ? RES_RAISED : RES_UNSUPPORTED;
			out->message = arena_strdup(a, why.msg);
			if (step == STEP_RAISED)
				return INTERP_OK;
			err_set(err, "%s", why.msg);
			return INTERP_UNSUPPORTED;
		}
		out->ncalls++;
	}
	return INTERP_OK;
}

enum interp_status interp_legal(const struct prog *bound, const struct interp_options *o, struct err *err)
{
	enum step step = run_call(NULL, bound, NULL, o, err);
	return step == STEP_OK ? INTERP_OK : step == STEP_RAISED ? INTERP_RAISES : INTERP_UNSUPPORTED;
}
