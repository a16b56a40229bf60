/* lower.c: see lower.h. What is here knows no operator: which values are in memory, which pending, and the nests that put them there. */
#include "compiled/loops/lower.h"

#include "compiled/passes/pass.h" /* meta_identical */
#include "eager/ops/layout.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

extern const struct lower_rule lower_item, lower_copy_; /* the language's own, and the only in-place row without a functional form */
#define CORE(id) extern const struct lower_rule lower_##id;
#define CORE_VIEW(id)
#include "compiled/decompose/core.def"

static const struct lower_rule *const op_lower[NOPS] = {
	[OP_item] = &lower_item,
	[OP_copy_] = &lower_copy_,
#define CORE(id) [OP_##id] = &lower_##id,
#define CORE_VIEW(id)
#include "compiled/decompose/core.def"
};

/* NULL: a view, or a row of another dialect that decompose leaves. */
static const struct lower_rule *rule_of(const struct node *n)
{
	const int row = op_computing(n->op);
	if (op_has(row, T_POINTWISE))
		return node_divides_integers(n) ? &lower_division : &lower_pointwise;
	return op_lower[n->op] ? op_lower[n->op] : op_lower[row];
}

/* ---- elements ---- */

int lower_operand(const struct lowering *l, int node, int arg)
{
	const struct arg *a = &l->p->node[node].arg[arg];
	CHECK(a->tag == ARG_TENSOR);
	return a->node;
}

struct affine lower_cell(const struct meta *m, const struct affine *idx)
{
	struct affine cell = affine_const(m->offset);
	for (int d = 0; d < m->rank; d++)
		affine_add(&cell, &idx[d], m->stride[d]);
	return cell;
}

struct place lower_place(const struct lowering *l, int node)
{
	const struct value *v = &l->p->node[node].out[0];
	CHECK(l->buffer_of[v->storage] != -1);
	return (struct place){.buffer = l->buffer_of[v->storage], .meta = v->meta};
}

int lower_give(struct lowering *l, enum dtype t, int value, enum form form)
{
	const bool bits = l->out->reg[value] == REG_BITS;
	if (form == AS_BITS)
		return bits ? value : loops_pack(l->out, t, value);
	return bits ? loops_unpack(l->out, t, value) : value;
}

int lower_scalar(struct lowering *l, enum dtype t, const struct scalar *s, enum form form)
{
	unsigned char cell[8] = {0};
	union computed v = {0};
	scalar_store(cell, t, s);
	if (form == AS_BITS) {
		v.i64 = (int64_t)get_le(cell, dtype_nbytes(t));
		return loops_const(l->out, REG_BITS, v);
	}
	if (t == DT_F64)
		v.f64 = dtype_load_f(t, cell);
	else if (dtype_is_float(t))
		v.f32 = (float)dtype_load_f(t, cell);
	else
		v.i64 = dtype_load_i(t, cell);
	return loops_const(l->out, reg_type_of(t), v);
}

/* Memory in which cells tell the index: from the largest stride on, each is more than all smaller ones reach. */
static bool is_mixed_radix(const struct meta *m, int order[MAX_RANK])
{
	int n = 0;
	for (int d = 0; d < m->rank; d++) {
		if (m->size[d] == 1)
			continue;
		int at = n++;
		for (; at > 0 && m->stride[order[at - 1]] < m->stride[d]; at--)
			order[at] = order[at - 1];
		order[at] = d;
	}
	int64_t reach = 0;
	for (int k = n - 1; k >= 0; k--) {
		if (m->stride[order[k]] <= reach)
			return false;
		reach += (m->size[order[k]] - 1) * m->stride[order[k]];
	}
	return true;
}

void lower_divide(struct affine *quotient, struct affine *rest, struct lowering *l, const struct affine *at, int64_t by)
{
	int64_t least, greatest;
	*quotient = affine_const(at->base / by);
	*rest = affine_const(at->base % by);
	for (int i = 0; i < at->n; i++) {
		const struct affine variable = affine_reg(at->term[i].reg);
		const bool whole = at->term[i].times % by == 0;
		affine_add(whole ? quotient : rest, &variable, whole ? at->term[i].times / by : at->term[i].times);
	}
	if (affine_range(&least, &greatest, l->out, rest) && least >= 0 && greatest < by)
		return;
	const int whole = loops_index(l->out, at);
	*quotient = affine_reg(loops_div(l->out, whole, by));
	*rest = affine_reg(loops_mod(l->out, whole, by));
}

void lower_index_of_cell(struct affine *out, struct lowering *l, const struct meta *base, const struct affine *cell)
{
	int order[MAX_RANK], n = 0;
	struct affine rest = *cell;
	CHECK(is_mixed_radix(base, order));
	for (int d = 0; d < base->rank; d++) {
		out[d] = affine_const(0);
		n += base->size[d] != 1;
	}
	rest.base -= base->offset;
	for (int k = 0; k < n; k++) {
		struct affine left;
		lower_divide(&out[order[k]], &left, l, &rest, base->stride[order[k]]);
		rest = left;
	}
}

/* idx with few enough terms for a cell: where there are many, each entry becomes one register. */
static void few_terms(struct affine *out, struct lowering *l, const struct affine *idx, int rank)
{
	int n = 0;
	for (int d = 0; d < rank; d++)
		n += idx[d].n;
	for (int d = 0; d < rank; d++)
		out[d] = n > MAX_RANK && idx[d].n > 1 ? affine_reg(loops_index(l->out, &idx[d])) : idx[d];
}

int lower_element(struct lowering *l, int node, const struct affine *at, enum form form)
{
	const struct value *v = &l->p->node[node].out[0];
	const int producer = l->pending[v->storage];
	struct affine idx[MAX_RANK];
	few_terms(idx, l, at, v->meta.rank);
	const struct affine cell = lower_cell(&v->meta, idx);
	const enum dtype held = producer == -1 ? l->out->buffer[l->buffer_of[v->storage]].dtype : node_meta(l->p, producer)->dtype;
	if (held != v->meta.dtype && form == AS_VALUE) /* a view of another dtype */
		return loops_unpack(l->out, v->meta.dtype, lower_element(l, node, at, AS_BITS));
	if (producer == -1) {
		CHECK(l->buffer_of[v->storage] != -1);
		return loops_load(l->out, form == AS_BITS ? REG_BITS : reg_type_of(v->meta.dtype), l->buffer_of[v->storage], &cell);
	}
	if (producer == node)
		return rule_of(&l->p->node[node])->element(l, node, idx, form);
	struct affine of_base[MAX_RANK];
	lower_index_of_cell(of_base, l, node_meta(l->p, producer), &cell);
	few_terms(of_base, l, of_base, node_meta(l->p, producer)->rank);
	return rule_of(&l->p->node[producer])->element(l, producer, of_base, form);
}

int lower_broadcast(struct lowering *l, int node, const struct affine *idx, int rank, enum form form)
{
	const struct meta *m = node_meta(l->p, node);
	struct affine own[MAX_RANK];
	for (int d = 0; d < m->rank; d++)
		own[d] = m->size[d] == 1 ? affine_const(0) : idx[d + rank - m->rank];
	return lower_element(l, node, own, form);
}

int lower_converted(struct lowering *l, int node, const struct affine *idx, int rank, enum dtype t, enum form form)
{
	const enum dtype from = node_meta(l->p, node)->dtype;
	if (t == from)
		return lower_broadcast(l, node, idx, rank, form);
	return lower_give(l, t, loops_cast(l->out, t, from, lower_broadcast(l, node, idx, rank, AS_VALUE)), form);
}

/* ---- conditions ---- */

int lower_replaced(
	struct lowering *l, int otherwise, int inside, int node, const struct affine *idx, int rank, enum dtype t, enum form form)
{
	if (inside == NEVER)
		return otherwise;
	if (inside == ALWAYS)
		return lower_converted(l, node, idx, rank, t, form);
	const int var = loops_var(l->out, otherwise);
	loops_if(l->out, inside);
	loops_set(l->out, var, lower_converted(l, node, idx, rank, t, form));
	loops_end(l->out);
	return var;
}

int lower_within(struct lowering *l, const struct affine *at, int64_t least, int64_t past)
{
	int64_t from, to;
	const bool known = affine_range(&from, &to, l->out, at);
	if (known && from >= least && to < past)
		return ALWAYS;
	if (known && (to < least || from >= past))
		return NEVER;
	const int value = loops_index(l->out, at);
	int condition = ALWAYS;
	if (!known || from < least)
		condition = loops_row(l->out, OP_ge_Scalar, DT_I64, value, NO_REG, NO_REG, loops_int(l->out, least), NO_REG);
	if (!known || to >= past) {
		const int below = loops_row(l->out, OP_lt_Scalar, DT_I64, value, NO_REG, NO_REG, loops_int(l->out, past), NO_REG);
		condition = lower_both(l, condition, below);
	}
	return condition;
}

int lower_both(struct lowering *l, int a, int b)
{
	if (a == NEVER || b == NEVER)
		return NEVER;
	if (a == ALWAYS || b == ALWAYS)
		return a == ALWAYS ? b : a;
	return loops_row(l->out, OP_logical_and, DT_I64, a, b, NO_REG, NO_REG, NO_REG);
}

int lower_add(struct lowering *l, enum dtype t, int a, int b)
{
	const int one = lower_scalar(l, t, &(struct scalar){SC_INT, 1, 0}, AS_VALUE);
	return loops_row(l->out, OP_add_Tensor, t, a, b, NO_REG, one, NO_REG);
}

/* ---- nests ---- */

int lower_loops(struct lowering *l, const struct meta *m, struct affine *idx)
{
	int n = 0;
	for (int d = 0; d < m->rank; d++) {
		const bool one = m->size[d] == 1 || (m->size[d] > 1 && m->stride[d] == 0);
		idx[d] = one ? affine_const(0) : affine_reg(loops_for(l->out, m->size[d]));
		n += !one;
	}
	return n;
}

void lower_ends(struct lowering *l, int n)
{
	for (int i = 0; i < n; i++)
		loops_end(l->out);
}

void lower_put(struct lowering *l, int k, const struct affine *idx, int value)
{
	const struct affine cell = lower_cell(&l->place[k].meta, idx);
	loops_store(l->out, l->place[k].buffer, &cell, value);
}

static enum form natural_form(const struct node *n) { return !rule_of(n) || rule_of(n)->moves ? AS_BITS : AS_VALUE; }

void lower_nest(struct lowering *l, int node, int (*element)(struct lowering *l, int node, const struct affine *idx, enum form form))
{
	struct affine idx[MAX_RANK];
	const struct node *n = &l->p->node[node];
	if (meta_numel(&l->place[0].meta) == 0)
		return;
	const int depth = lower_loops(l, &l->place[0].meta, idx);
	const int value = element(l, node, idx, natural_form(n));
	lower_put(l, 0, idx, value);
	lower_ends(l, depth);
}

static void new_buffer(struct lowering *l, const struct value *v)
{
	l->buffer_of[v->storage] = loops_buffer(l->out, v->meta.dtype, meta_extent(&v->meta), -1);
}

/* Does the kernel's order of writing decide what its result holds? A region scatter keeps the strides of a base that overlaps itself
 * without a stride of 0, and there a cell of the region may be one outside of it, too. */
static bool is_by_kernel(const struct node *n)
{
	int order[MAX_RANK];
	const struct meta *m = &n->out[0].meta;
	return !is_mixed_radix(m, order) && !meta_overlaps_itself(m) && meta_has_duplicates(m);
}

/* By the row's rule, or by its kernel. */
static void fill_places(struct lowering *l, int node, struct place *place)
{
	const struct lower_rule *rule = rule_of(&l->p->node[node]);
	l->place = place;
	if (!rule || is_by_kernel(&l->p->node[node]))
		lower_extern(l, node);
	else if (rule->nests)
		rule->nests(l, node);
	else
		lower_nest(l, node, rule->element);
}

/* The results of a row in fresh memory. */
static void fill_results(struct lowering *l, int node)
{
	const struct node *n = &l->p->node[node];
	struct place place[MAX_OUTS];
	for (int k = 0; k < n->nout; k++) {
		new_buffer(l, &n->out[k]);
		place[k] = (struct place){.buffer = l->buffer_of[n->out[k].storage], .meta = n->out[k].meta};
	}
	fill_places(l, node, place);
}

static void into_memory(struct lowering *l, int storage)
{
	const int node = l->pending[storage];
	if (node == -1)
		return;
	l->pending[storage] = -1;
	CHECK(l->buffer_of[storage] == -1);
	fill_results(l, node);
}

/* ---- rows ---- */

static void count_read(struct lowering *l, int node)
{
	if (node_is_sym(&l->p->node[node]) || l->p->node[node].nout == 0)
		return;
	l->reads[l->p->node[node].out[0].storage]++;
	l->reader[l->p->node[node].out[0].storage] = l->now;
}

static void each_operand(struct lowering *l, const struct node *n, void (*visit)(struct lowering *, int))
{
	for (int k = 0; k < op_info[n->op].nparam; k++) {
		if (n->arg[k].tag == ARG_TENSOR)
			visit(l, n->arg[k].node);
		for (int i = 0; n->arg[k].tag == ARG_TENSORS && i < n->arg[k].n; i++)
			if (n->arg[k].nodes[i] >= 0)
				visit(l, n->arg[k].nodes[i]);
	}
}

static bool is_computed(const struct lowering *l, const struct node *n)
{
	return node_is_run(n) && n->op != OP_getitem && !node_shares_memory(l->p, n);
}

static void count_reads(struct lowering *l)
{
	for (l->now = 0; l->now < l->p->nnode; l->now++)
		if (is_computed(l, &l->p->node[l->now]))
			each_operand(l, &l->p->node[l->now], count_read);
	for (int i = 0; i < l->p->nret; i++)
		l->reads[l->p->node[l->p->ret[i]].out[0].storage] += 2;
}

static void operand_into_memory(struct lowering *l, int node)
{
	for (int k = 0; k < l->p->node[node].nout; k++)
		into_memory(l, l->p->node[node].out[k].storage);
}

void lower_settle(struct lowering *l, int node)
{
	struct place *place = l->place;
	each_operand(l, &l->p->node[node], operand_into_memory);
	l->place = place;
}

/* Does what is pending there read this storage, itself or by way of others that are pending? */
static bool reads_storage(const struct lowering *l, int producer, int storage)
{
	const struct node *n = &l->p->node[producer];
	for (int k = 0; k < op_info[n->op].nparam; k++) {
		const struct arg *a = &n->arg[k];
		const int count = a->tag == ARG_TENSORS ? a->n : a->tag == ARG_TENSOR;
		for (int i = 0; i < count; i++) {
			const int node = a->tag == ARG_TENSORS ? a->nodes[i] : a->node;
			if (node < 0)
				continue;
			const int from = l->p->node[node].out[0].storage;
			if (from == storage || (l->pending[from] != -1 && reads_storage(l, l->pending[from], storage)))
				return true;
		}
	}
	return false;
}

/* Will what is pending there be read? By a row to come, or one that is pending itself. */
static bool is_awaited(const struct lowering *l, int storage)
{
	const int reader = l->reader[storage];
	if (reader == -1)
		return false;
	if (reader >= l->now)
		return true;
	const struct node *n = &l->p->node[reader];
	return n->nout == 1 && l->pending[n->out[0].storage] == reader && is_awaited(l, n->out[0].storage);
}

static void settle_readers(struct lowering *l, int storage)
{
	for (int i = 0; i < l->p->nnode; i++) {
		const struct node *n = &l->p->node[i];
		if (n->nout == 1 && l->pending[n->out[0].storage] == i && is_awaited(l, n->out[0].storage) && reads_storage(l, i, storage))
			into_memory(l, n->out[0].storage);
	}
}

/* May the new value of self be stored element by element as it is computed? Only if no operand shows a cell of self elsewhere. */
static bool reads_in_step(const struct lowering *l, const struct node *n, const struct value *self)
{
	for (int k = 1; k < op_info[n->op].nparam; k++) {
		if (n->arg[k].tag == ARG_TENSORS)
			return false;
		if (n->arg[k].tag != ARG_TENSOR)
			continue;
		const struct value *v = &l->p->node[n->arg[k].node].out[0];
		if (v->storage == self->storage && !meta_identical(&v->meta, &self->meta))
			return false;
	}
	return true;
}

/* self, the memory, from the new value in dtype t: an element, or a place. */
static void store_new_value(struct lowering *l, int node, enum dtype t, const struct place *from)
{
	const struct node *n = &l->p->node[node];
	const struct value *self = &n->out[0];
	struct affine idx[MAX_RANK];
	const int depth = lower_loops(l, &self->meta, idx);
	enum form form = natural_form(n);
	if (t != self->meta.dtype)
		form = AS_VALUE;
	int value;
	if (from) {
		const struct affine cell = lower_cell(&from->meta, idx);
		value = loops_load(l->out, form == AS_BITS ? REG_BITS : reg_type_of(t), from->buffer, &cell);
	} else {
		value = rule_of(n)->element(l, node, idx, form);
	}
	if (t != self->meta.dtype)
		value = loops_cast(l->out, self->meta.dtype, t, value);
	const struct affine cell = lower_cell(&self->meta, idx);
	if (l->out->buffer[l->buffer_of[self->storage]].dtype != self->meta.dtype) /* a view of another dtype */
		value = lower_give(l, self->meta.dtype, value, AS_BITS);
	loops_store(l->out, l->buffer_of[self->storage], &cell, value);
	lower_ends(l, depth);
}

static bool write_row(struct lowering *l, int node, struct err *err)
{
	const struct node *n = &l->p->node[node];
	const struct lower_rule *rule = rule_of(n);
	const struct value *self = &n->out[0];
	struct place value = {0};
	into_memory(l, self->storage);
	settle_readers(l, self->storage);
	if (!node_functional_meta(&value.meta, l->p, node, err))
		return false;
	if (meta_has_duplicates(&self->meta))
		return err_set(err, "%s writes to memory that overlaps itself", op_info[n->op].name);
	if (rule && rule->element && reads_in_step(l, n, self)) {
		store_new_value(l, node, value.meta.dtype, NULL);
		return true;
	}
	value.buffer = loops_buffer(l->out, value.meta.dtype, meta_extent(&value.meta), -1);
	fill_places(l, node, &value);
	store_new_value(l, node, value.meta.dtype, &value);
	return true;
}

static void longest_chain(struct lowering *l, int node)
{
	const int storage = l->p->node[node].nout ? l->p->node[node].out[0].storage : -1;
	if (storage != -1 && l->pending[storage] != -1)
		l->longest = MAX(l->longest, l->length[storage]);
}

/* A nest may have a condition within a condition for each row of the chain that it computes, beside its loops. */
enum { MAX_CHAIN = MAX_LOOP_DEPTH - 4 * MAX_RANK };

static bool row(struct lowering *l, int node, struct err *err)
{
	const struct node *n = &l->p->node[node];
	if (!is_computed(l, n))
		return true;
	if (op_has(n->op, T_MUTATES))
		return write_row(l, node, err);
	int order[MAX_RANK];
	l->longest = 0;
	each_operand(l, n, longest_chain);
	const struct lower_rule *rule = rule_of(n);
	const bool waits = rule && rule->element && !l->o->no_fusion && l->reads[n->out[0].storage] <= 1 && l->longest < MAX_CHAIN
		&& meta_numel(&n->out[0].meta) > 0 && is_mixed_radix(&n->out[0].meta, order);
	if (waits) {
		l->pending[n->out[0].storage] = node;
		l->length[n->out[0].storage] = l->longest + 1;
		return true;
	}
	fill_results(l, node);
	return true;
}

static void input_buffers(struct lowering *l)
{
	for (int s = 0; s < prog_input_storages(l->p); s++)
		for (int i = 0; i < l->p->nnode; i++)
			if (l->p->node[i].op == OP_input && l->p->node[i].out[0].storage == s)
				l->buffer_of[s] = loops_buffer(l->out, node_meta(l->p, i)->dtype, prog_storage_cells(l->p, s), s);
}

bool lower(struct loops *out, const struct prog *p, const struct lower_options *o, struct arena *a, struct err *err)
{
	const int nstorage = MAX(p->nstorage, MAX_NODES);
	struct lowering l = {.o = o, .p = p, .out = out, .arena = a};
	l.buffer_of = ARENA_NEW(a, int, nstorage);
	l.pending = ARENA_NEW(a, int, nstorage);
	l.reads = ARENA_ZNEW(a, int, nstorage);
	l.reader = ARENA_NEW(a, int, nstorage);
	l.length = ARENA_ZNEW(a, int, nstorage);
	for (int s = 0; s < nstorage; s++)
		l.buffer_of[s] = l.pending[s] = l.reader[s] = -1;
	loops_init(out, a);
	input_buffers(&l);
	count_reads(&l);
	for (l.now = 0; l.now < p->nnode; l.now++) {
		if (p->node[l.now].nout && node_meta(p, l.now)->device == DEV_META)
			return err_set(err, "tensors on device meta");
		if (!row(&l, l.now, err))
			return false;
	}
	for (int i = 0; i < p->nret; i++)
		operand_into_memory(&l, p->ret[i]);
	out->nret = p->nret;
	out->ret = ARENA_NEW(a, struct place, MAX(p->nret, 1));
	for (int i = 0; i < p->nret; i++)
		out->ret[i] = lower_place(&l, p->ret[i]);
	return true;
}
