/* run.c: see run.h. */
#include "compiled/loops/run.h"

#include "compiled/loops/symbols.h"
#include "eager/base/clock.h"
#include "eager/ops/rules.h"
#include "eager/run/zones.h"

enum { MAX_BYTES = 1 << 30 }; /* of all buffers: what eager allows */

/* ---- calls of kernels ---- */

static struct tensor tensor_at_place(const struct loop_frame *f, const struct place *p)
{
	return (struct tensor){p->meta, f->data[p->buffer]};
}

bool loop_frame_call(struct loop_frame *f, const struct loop_call *call)
{
	const struct node *n = &f->p->node[call->node];
	struct kern_ctx c = {.n = n, .nout = call->nout, .scratch = f->scratch, .err = f->err};
	struct arena_mark mark = arena_mark(f->scratch);
	struct tensor *in = ARENA_NEW(f->scratch, struct tensor, call->nin + op_info[n->op].nparam);
	const struct place *next = call->in;
	for (int k = 0; k < op_info[n->op].nparam; k++) {
		const struct arg *a = &n->arg[k];
		if (op_info[n->op].param[k].kind == K_TENSOR && a->tag == ARG_SCALAR) {
			tensor_number(in, &a->scalar, f->scratch);
			c.in[k] = in++;
		} else if (a->tag == ARG_TENSOR) {
			*in = tensor_at_place(f, next++);
			c.in[k] = in++;
		} else if (a->tag == ARG_TENSORS) {
			const struct tensor **list = ARENA_ZNEW(f->scratch, const struct tensor *, MAX(a->n, 1));
			for (int i = 0; i < a->n; i++)
				if (a->nodes[i] >= 0) {
					*in = tensor_at_place(f, next++);
					list[i] = in++;
				}
			c.list[k] = list;
		}
	}
	struct tensor out[MAX_OUTS];
	for (int k = 0; k < call->nout; k++)
		out[k] = tensor_at_place(f, &call->out[k]);
	c.out = out;
	const bool ok = op_kern[n->op](&c);
	arena_release(f->scratch, mark);
	return ok;
}

bool loop_frame_bound(int64_t *out, struct loop_frame *f, const struct loop_ins *i, int64_t a)
{
	*out = i->negative && a < 0 ? a + i->imm : a;
	if (*out >= 0 && *out < i->imm)
		return true;
	const long long at = (long long)a, dim = (long long)i->imm2, size = (long long)i->imm;
	if (dim == BOUND_IN_SELF)
		return err_set(f->err, "index out of range in self");
	if (dim == BOUND_IN_DATA)
		return err_set(f->err, "INDICES element is out of DATA bounds, id=%lld axis_dim=%lld", at, size);
	if (dim == BOUND_SOURCE)
		return err_set(f->err, "Number of elements of source < number of ones in mask");
	if (dim == BOUND_DIVISOR)
		return err_set(f->err, "ZeroDivisionError");
	return err_set(f->err, "index %lld is out of bounds for dimension %lld with size %lld", at, dim, size);
}

/* ---- symbols of data ---- */

static unsigned unbound(const struct loop_frame *f)
{
	unsigned out = 0;
	for (int s = 0; f->any && s < f->any->nsymbol; s++)
		if (f->symbol[s] == UNBOUND)
			out |= 1u << s;
	return out;
}

/* Buffers that are not there, of cells that are known. */
static bool make_buffers(struct loop_frame *f)
{
	const struct loops *l = f->loops;
	const unsigned open = unbound(f);
	for (int b = 0; b < l->nbuffer; b++) {
		const size_t nbytes = loop_buffer_bytes(&l->buffer[b]);
		if (f->data[b] || (f->any && loops_symbols_of_cells(f->any, b) & open))
			continue;
		if (nbytes > MAX_BYTES - f->bytes)
			return err_set(f->err, "the program needs more than %d bytes", MAX_BYTES);
		f->bytes += nbytes;
		f->data[b] = zones_alloc(f->memory, nbytes, l->buffer[b].dtype);
	}
	return true;
}

bool loop_frame_stated(struct loop_frame *f, int64_t ins, int64_t v)
{
	if (v != f->loops->ins[ins].imm)
		return err_set(f->err, "the program states %lld, but the data give %lld", (long long)f->loops->ins[ins].imm, (long long)v);
	const int s = f->any ? loops_binds(f->any, (int)ins) : -1;
	if (s < 0 || f->symbol[s] != UNBOUND)
		return true;
	f->symbol[s] = v;
	f->unfit = !loops_guards_of_hold(f->any, f->symbol, 1u << s, unbound(f), f->err) || !make_buffers(f);
	return !f->unfit;
}

/* ---- does it fit? ---- */

static bool place_fits(const struct loops *l, const struct place *p, const struct meta *m, const char *what, struct err *err)
{
	const struct loop_buffer *b = &l->buffer[p->buffer];
	if (m && (p->meta.dtype != m->dtype || !meta_same_sizes(&p->meta, m)))
		return err_set(err, "%s has another dtype or other sizes than the program says", what);
	for (int d = 0; d < p->meta.rank; d++)
		if (p->meta.size[d] < 0 || p->meta.stride[d] < 0 || p->meta.size[d] > MAX_NUMEL || p->meta.stride[d] > MAX_NUMEL)
			return err_set(err, "%s has a layout that no tensor has", what);
	if (b->dtype != p->meta.dtype || p->meta.offset < 0 || p->meta.offset > MAX_NUMEL || !meta_check_sizes(p->meta.size, p->meta.rank, err)
		|| meta_extent(&p->meta) > b->ncells)
		return err_set(err, "%s does not lie in buffer b%d", what, p->buffer);
	return true;
}

static bool call_fits(const struct loops *l, const struct prog *p, const struct loop_call *call, struct err *err)
{
	if (call->node < 0 || call->node >= p->nnode || !op_kern[p->node[call->node].op])
		return err_set(err, "extern %d is no row that has a kernel", call->node);
	const struct node *n = &p->node[call->node];
	int nin = 0;
	for (int k = 0; k < op_info[n->op].nparam; k++) {
		const struct arg *a = &n->arg[k];
		for (int i = 0; i < (a->tag == ARG_TENSORS ? a->n : a->tag == ARG_TENSOR); i++) {
			const int operand = a->tag == ARG_TENSORS ? a->nodes[i] : a->node;
			if (operand < 0)
				continue;
			if (nin == call->nin || !place_fits(l, &call->in[nin], node_meta(p, operand), "an operand of an extern", err))
				return err_set(err, "extern %d has too few operands", call->node);
			nin++;
		}
	}
	if (nin != call->nin || call->nout != MAX(n->nout, 1))
		return err_set(err, "extern %d has other operands or results than its row", call->node);
	for (int k = 0; k < call->nout; k++)
		if (!place_fits(l, &call->out[k], NULL, "a result of an extern", err))
			return false;
	return true;
}

bool loops_fit(const struct loops *l, const struct prog *p, struct err *err)
{
	for (int b = 0; b < l->nbuffer; b++) {
		const int input = l->buffer[b].input;
		if (input >= 0 && (input >= prog_input_storages(p) || l->buffer[b].ncells != prog_storage_cells(p, input)))
			return err_set(err, "buffer b%d is not the program's input %d", b, input);
	}
	if (l->nret != p->nret)
		return err_set(err, "it returns %d tensors, the program %d", l->nret, p->nret);
	for (int i = 0; i < l->nret; i++)
		if (!place_fits(l, &l->ret[i], node_meta(p, p->ret[i]), "a result", err))
			return false;
	for (int i = 0; i < l->nins; i++)
		if (l->ins[i].call && !call_fits(l, p, l->ins[i].call, err))
			return false;
	return true;
}

/* ---- one run ---- */

/* Before the first instruction: the inputs' buffers are filled. */
static bool begin_buffers(struct loop_frame *f, const struct result_storage *inputs)
{
	const struct loops *l = f->loops;
	f->data = ARENA_ZNEW(f->memory, unsigned char *, MAX(l->nbuffer, 1));
	if (!make_buffers(f))
		return false;
	for (int b = 0; b < l->nbuffer; b++)
		if (l->buffer[b].input >= 0 && loop_buffer_bytes(&l->buffer[b]))
			memcpy(f->data[b], inputs[l->buffer[b].input].data, loop_buffer_bytes(&l->buffer[b]));
	return true;
}

/* The call's sizes; those that are data are to be found. */
static bool begin_symbols(struct loop_frame *f, struct loops *at, const struct loops *l, const int64_t *symbol)
{
	f->loops = l;
	if (!l->nsymbol)
		return true;
	f->loops = at;
	f->any = l;
	memcpy(f->said, symbol, sizeof f->said);
	memcpy(f->symbol, symbol, sizeof f->symbol);
	for (int s = 0; s < l->nsymbol; s++)
		if (l->symbol[s].data)
			f->symbol[s] = UNBOUND;
	return loops_at(at, l, f->said, f->memory, f->err);
}

static void check_zones(const struct loop_frame *f)
{
	for (int b = 0; b < f->loops->nbuffer; b++)
		if (f->data[b] && !zones_intact(f->data[b], loop_buffer_bytes(&f->loops->buffer[b])))
			BUG("compiled code wrote outside of buffer b%d", b);
}

/* Its elements in row-major order. */
static void report_tensor(struct result_tensor *out, const struct value *v, unsigned char *base, struct arena *a)
{
	const struct tensor from = {v->meta, base};
	struct tensor copy;
	struct meta dense;
	meta_make_contiguous(&dense, v->meta.dtype, v->meta.size, v->meta.rank);
	tensor_new(&copy, &dense, a);
	tensor_copy(&copy, &from);
	*out = (struct result_tensor){.present = true,
		.meta = v->meta,
		.storage = v->storage,
		.nbytes = (size_t)meta_numel(&dense) * (size_t)dtype_nbytes(dense.dtype),
		.data = copy.base};
}

static void report(struct result_call *out, const struct loop_frame *f, struct arena *a)
{
	const struct prog *p = f->p;
	*out = (struct result_call){.nouts = p->nret, .nstorages = prog_input_storages(p)};
	out->out = ARENA_ZNEW(a, struct result_tensor, MAX(p->nret, 1));
	out->storage = ARENA_ZNEW(a, struct result_storage, MAX(out->nstorages, 1));
	for (int i = 0; i < p->nret; i++) {
		const struct value *v = &p->node[p->ret[i]].out[0];
		report_tensor(&out->out[i], v, f->data[f->loops->ret[i].buffer], a);
	}
	for (int b = 0; b < f->loops->nbuffer; b++) {
		const struct loop_buffer *buffer = &f->loops->buffer[b];
		if (buffer->input < 0)
			continue;
		const size_t nbytes = loop_buffer_bytes(buffer);
		unsigned char *copy = arena_alloc(a, MAX(nbytes, 1));
		memcpy(copy, f->data[b], nbytes);
		out->storage[buffer->input] = (struct result_storage){nbytes, copy};
	}
}

enum loop_end loops_run(struct result_call *out, const struct loops *l, const struct prog *p, const int64_t *symbol,
	const struct result_storage *inputs, loop_engine *engine, void *ctx, struct arena *a, struct err *err)
{
	struct arena memory, scratch;
	struct loop_frame f = {.callbacks = &loop_callbacks, .p = p, .scratch = &scratch, .memory = &memory, .err = err};
	struct loops at;
	CHECK(symbol || !l->nsymbol);
	arena_init(&memory);
	arena_init(&scratch);
	const bool fits = begin_symbols(&f, &at, l, symbol) && begin_buffers(&f, inputs);
	enum loop_end end = fits ? LOOPS_RAN : LOOPS_TOO_LARGE;
	if (!fits && symbol && !loops_guards_hold(l, symbol, err)) /* there are no loops for what it states of its data */
		end = LOOPS_UNFIT;
	const double begin = clock_ms();
	if (end == LOOPS_RAN && !engine(&f, ctx))
		end = f.unfit ? LOOPS_UNFIT : LOOPS_RAISED;
	const double ran = clock_ms();
	if (fits)
		check_zones(&f);
	if (end == LOOPS_RAN) {
		report(out, &f, a);
		out->run_ms = f.ms > 0 ? f.ms : ran - begin;
	}
	arena_free(&memory);
	arena_free(&scratch);
	return end;
}
