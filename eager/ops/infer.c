/* infer.c: from operands to metas and storages, node by node, through the shape rules; and the structural invariants.
 *
 * Storage numbers: the storages of `input` rows come first (0.. in node order), because results and reports name them so; every
 * other storage is numbered where it appears. A view takes its base's number, an in-place row returns self's value itself. */
#include "eager/lang/fill.h"
#include "eager/lang/object.h"
#include "eager/ops/promote.h"
#include "eager/ops/rules.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

#include <inttypes.h>

const struct meta *meta_list(const struct meta_ctx *c, int arg, int k)
{
	int node = c->n->arg[arg].nodes[k];
	return node < 0 ? NULL : node_meta(c->p, node);
}

const struct meta *meta_operand(const struct prog *p, const struct node *n, int k)
{
	static const struct meta number[] = {
		[SC_BOOL] = {.dtype = DT_B8, .number = true},
		[SC_INT] = {.dtype = DT_I64, .number = true},
		[SC_FLOAT] = {.dtype = DT_F64, .number = true},
	};
	const struct arg *a = &n->arg[k];
	const struct param *q = &op_info[n->op].param[k];
	if (q->kind != K_TENSOR || q->role == R_TUPLE)
		return NULL;
	return a->tag == ARG_TENSOR ? node_meta(p, a->node) : a->tag == ARG_SCALAR ? &number[a->scalar.kind] : NULL;
}

static bool err_node(struct err *err, const struct node *n, const char *what)
{
	char copy[MAX_ERR];
	snprintf(copy, sizeof copy, "%s", what);
	if (err)
		err->msg[0] = 0;
	return err_at(err, n->line, n->col, "%s: %s", op_info[n->op].name, copy); /* err->limit stays */
}

static bool single(const struct prog *p, int node, const struct node *user, struct err *err)
{
	if (node < 0 || node >= p->nnode || p->node[node].nout != 1 || node_is_sym(&p->node[node]))
		return err_at(err, user->line, user->col, "%s: operand '%s' is not a single tensor", op_info[user->op].name,
			node >= 0 && node < p->nnode ? p->node[node].name : "?");
	return true;
}

/* Where numbers may stand for tensors, one operand must still be a tensor: of numbers alone PyTorch makes a tensor that no graph holds. */
static bool check_numbers(const struct prog *p, int node, struct err *err)
{
	const struct node *n = &p->node[node];
	for (int k = 0; k < op_info[n->op].nparam; k++)
		if (n->arg[k].tag == ARG_TENSOR)
			return true;
	return err_at(err, n->line, n->col, "%s: every operand is a number; at least one must be a tensor", op_info[n->op].name);
}

/* Tags fit kinds, required arguments are there, operands are earlier single tensors. */
static bool check_args(const struct prog *p, int node, struct err *err)
{
	static const enum arg_tag want[NKINDS] = {
		[K_TENSOR] = ARG_TENSOR,
		[K_TENSORS] = ARG_TENSORS,
		[K_SIZE] = ARG_INTS,
		[K_INTS] = ARG_INTS,
		[K_DIM] = ARG_INT,
		[K_DIMS] = ARG_INTS,
		[K_INDEX] = ARG_INT,
		[K_STEP] = ARG_INT,
		[K_INT] = ARG_INT,
		[K_SCALAR] = ARG_SCALAR,
		[K_BOOL] = ARG_BOOL,
		[K_DTYPE] = ARG_DTYPE,
		[K_FORMAT] = ARG_FORMAT,
		[K_STR] = ARG_STR,
		[K_FLOAT] = ARG_SCALAR,
		[K_BOOLS] = ARG_BOOLS,
		[K_DATA] = ARG_DATA,
	};
	const struct node *n = &p->node[node];
	const struct op_info *op = &op_info[n->op];
	for (int k = 0; k < op->nparam; k++) {
		const struct param *q = &op->param[k];
		const struct arg *a = &n->arg[k];
		if (a->tag == ARG_NONE) {
			if (!q->optional && !q->dflt_none)
				return err_at(err, n->line, n->col, "%s: argument '%s' is missing", op->name, q->name);
			continue;
		}
		bool number = q->kind == K_TENSOR && a->tag == ARG_SCALAR && op_takes_number(n->op, k);
		if (a->tag != want[q->kind] && !number)
			return err_at(err, n->line, n->col, "%s: argument '%s' has the wrong kind", op->name, q->name);
		if (a->tag == ARG_TENSOR && q->role != R_TUPLE && !single(p, a->node, n, err))
			return false;
		if (a->tag == ARG_TENSOR && a->node >= node)
			return err_at(err, n->line, n->col, "%s: operand '%s' comes later", op->name, q->name);
		for (int i = 0; a->tag == ARG_TENSORS && i < a->n; i++) {
			if (a->nodes[i] < 0 && !q->holes)
				return err_at(err, n->line, n->col, "%s: None in '%s'", op->name, q->name);
			if (a->nodes[i] >= node || (a->nodes[i] >= 0 && !single(p, a->nodes[i], n, err)))
				return err_at(err, n->line, n->col, "%s: bad entry %d of '%s'", op->name, i, q->name);
		}
	}
	return !op_has(n->op, T_NUMBERS) || check_numbers(p, node, err);
}

/* Symbols come before the integers that read them. */
static bool check_symbols(const struct prog *p, int node, struct err *err)
{
	const struct node *n = &p->node[node];
	bool read[MAX_NODES] = {0};
	if (!p->nexpr)
		return true;
	node_mark_operands(p, n, read);
	for (int i = node; i < p->nnode; i++)
		if (read[i])
			return err_at(err, n->line, n->col, "%s: symbol '%s' comes later", op_info[n->op].name, p->node[i].name);
	return true;
}

/* The element types of self that the row takes. A shape rule that knows better has refused already; pointwise ones look at the common
 * one. */
static bool check_self_dtype(const struct meta_ctx *c, struct err *err)
{
	const struct op_info *op = &op_info[c->n->op];
	for (int k = 0; k < op->nparam && !op_has(c->n->op, T_POINTWISE); k++)
		if (op->param[k].kind == K_TENSOR && str_eq(op->param[k].name, "self") && c->in[k] && !(op->dtypes & DTS(c->in[k]->dtype)))
			return dtype_refuse(c->n->op, c->in[k]->dtype, err);
	return true;
}

static bool is_full(enum dtype t) { return dtype_info[t].rows == DR_FULL; }

/* A BARE or STORED dtype is taken where the row names it, as an operand or as a dtype to make or convert to; and nowhere else. Of pointwise
 * rows the common dtype counts, which their shape rule looks at. */
static bool check_rows_of_dtypes(const struct meta_ctx *c, struct err *err)
{
	const struct op_info *op = &op_info[c->n->op];
	const bool makes = op->family == F_INPUT || op->family == F_FACTORY || op->family == F_VIEW || op->licence == LC_CONVERT;
	for (int k = 0; k < op->nparam; k++) {
		const struct arg *a = &c->n->arg[k];
		if (c->in[k] && !is_full(c->in[k]->dtype) && !(op->dtypes & DTS(c->in[k]->dtype)))
			return dtype_refuse(c->n->op, c->in[k]->dtype, err);
		if (a->tag == ARG_DTYPE && !is_full(a->dtype) && !(makes && op->dtypes & DTS(a->dtype)))
			return dtype_refuse(c->n->op, a->dtype, err);
	}
	return true;
}

/* PyTorch's canCast (c10/core/ScalarType.h): a result may not be written to a narrower category. */
static bool can_cast(enum dtype from, enum dtype to)
{
	if (dtype_is_float(from) && !dtype_is_float(to))
		return false;
	return from == DT_B8 || to != DT_B8;
}

/* What the functional result must satisfy to be written into self. */
static bool check_inplace(const struct meta_ctx *c, struct err *err)
{
	const struct meta *self = c->in[A_INPLACE_self], *res = &c->out[0];
	const struct dtype_info *to = &dtype_info[self->dtype], *from = &dtype_info[res->dtype];
	if (op_is_told_dtype(c->n->op) && self->dtype == DT_B8) /* PyTorch runs it where there is nothing to add up */
		return err_limit(err, "not implemented for dtype %s", dtype_info[self->dtype].name);
	if (op_is_told_dtype(c->n->op) && node_given(c->n, op_arg(c->n->op, N_dtype)) && res->dtype != self->dtype)
		return err_set(
			err, "Bad in-place call: input tensor dtype %s and output tensor dtype %s should match", to->full_cpp, from->full_cpp);
	if (c->n->op != OP_copy_ && !can_cast(res->dtype, self->dtype))
		return err_set(err, "result type %s can't be cast to the desired output type %s", from->c10,
			clamps_by_numbers(c->n->op) ? to->full_cpp : to->c10);
	return meta_same_sizes(self, res) || err_set(err, "the result's sizes do not match self's");
}

static int fresh_storage(struct prog *p, int node, int i)
{
	if (p->node[node].op == OP_input) {
		int before = 0;
		for (int k = 0; k < node; k++)
			before += p->node[k].op == OP_input;
		return before;
	}
	(void)i;
	return p->nstorage++;
}

static int alias_storage(const struct prog *p, const struct meta_ctx *c, int arg, int i)
{
	const struct arg *a = &c->n->arg[arg];
	if (op_info[c->n->op].param[arg].role == R_TUPLE)
		return p->node[a->node].out[c->n->arg[A_getitem_index].i.value].storage;
	(void)i;
	return p->node[a->node].out[0].storage;
}

/* Beside an operand without data nothing is computed: an in-place row leaves its destination as it is, where it is (PyTorch: cpu.add_(meta)
 * is right, #166626). A functional row has one device; a number may come from the CPU. */
static bool devices(struct meta_ctx *c, struct meta *in, bool *meta)
{
	const struct node *n = c->n;
	const bool writes = op_has(n->op, T_MUTATES);
	const struct meta *other = NULL;
	*meta = false;
	for (int k = 0; k < op_info[n->op].nparam; k++)
		*meta |= c->in[k] && c->in[k]->device == DEV_META;
	for (int k = 0; *meta && k < op_info[n->op].nparam; k++) {
		if (!c->in[k])
			continue;
		if (c->in[k]->rank > 0 && c->in[k]->device != DEV_META)
			other = c->in[k];
		if (n->op == OP_copy_ || !writes)
			continue;
		in[k] = *c->in[k];
		in[k].device = c->in[A_INPLACE_self]->device;
		c->in[k] = &in[k];
	}
	return writes || !other
		|| err_set(c->err, "Expected all tensors to be on the same device, but found at least two devices, cpu and meta!");
}

/* For a shape rule. This runs for every row after every change: only the results that a row has are cleared. */
static void context_of(struct meta_ctx *c, const struct prog *p, const struct node *n, struct err *err)
{
	const int nout = op_info[n->op].nret == 1 ? 1 : MAX_OUTS;
	c->p = p;
	c->n = n;
	c->nout = 1;
	c->err = err;
	memset(c->in, 0, sizeof c->in);
	memset(c->out, 0, (size_t)nout * sizeof c->out[0]);
	for (int i = 0; i < nout; i++)
		c->alias[i] = -1;
}

bool prog_infer_node(struct prog *p, int node, struct err *err)
{
	struct node *n = &p->node[node];
	const struct op_info *op = &op_info[n->op];
	struct err local;
	if (!err)
		err = err_clear(&local);
	if (!check_args(p, node, err) || !check_symbols(p, node, err))
		return false;
	if (p->nstorage == 0)
		p->nstorage = MAX_NODES; /* fresh storages are numbered after all possible inputs */
	if (!op_meta[n->op])
		return err_at(err, n->line, n->col, "%s: has no shape rule yet", op->name);
	struct meta_ctx c;
	context_of(&c, p, n, err);
	for (int k = 0; k < op->nparam; k++)
		c.in[k] = meta_operand(p, n, k);
	struct meta in[MAX_ARGS];
	bool meta;
	if (!check_rows_of_dtypes(&c, err) || !devices(&c, in, &meta) || !op_meta[n->op](&c)
		|| (op_has(n->op, T_MUTATES) && !check_inplace(&c, err)) || !check_self_dtype(&c, err))
		return err_node(err, n, err->msg);
	for (int i = 0; i < c.nout && meta; i++)
		c.out[i].device = DEV_META;
	CHECK(c.nout >= 0 && c.nout <= MAX_OUTS);
	if (n->op == OP_sym_size)
		prog_size_read(p, node, c.in[A_sym_size_self]);
	if (n->op == OP_item)
		n->sym_value = node_int(n, A_item_value);
	if (op_has(n->op, T_MUTATES)) {
		n->nout = 1;
		n->out = ARENA_NEW(p->arena, struct value, 1);
		n->out[0] = p->node[n->arg[A_INPLACE_self].node].out[0];
		return true;
	}
	n->nout = c.nout;
	n->out = ARENA_NEW(p->arena, struct value, c.nout);
	for (int i = 0; i < c.nout; i++) {
		if (!meta_check_sizes(c.out[i].size, c.out[i].rank, err))
			return err_node(err, n, err->msg);
		n->out[i].meta = c.out[i];
		n->out[i].storage = c.alias[i] >= 0 ? alias_storage(p, &c, c.alias[i], i) : fresh_storage(p, node, i);
	}
	return true;
}

bool node_functional_meta(struct meta *out, const struct prog *p, int node, struct err *err)
{
	const struct node *n = &p->node[node];
	struct meta_ctx c;
	struct meta in[MAX_ARGS];
	context_of(&c, p, n, err);
	for (int k = 0; k < op_info[n->op].nparam; k++)
		if (meta_operand(p, n, k)) {
			in[k] = *meta_operand(p, n, k);
			in[k].device = node_meta(p, n->arg[A_INPLACE_self].node)->device;
			c.in[k] = &in[k];
		}
	if (!op_meta[n->op](&c))
		return false;
	*out = c.out[0];
	return true;
}

bool node_is_constant(const struct prog *p, const struct node *n)
{
	if (n->op == OP_getitem)
		return op_info[p->node[n->arg[A_getitem_self].node].op].constant >> n->arg[A_getitem_index].i.value & 1;
	return op_has(n->op, T_NONDIFF);
}

bool node_shares_memory(const struct prog *p, const struct node *n)
{
	if (op_has(n->op, T_VIEW))
		return true;
	return op_has(n->op, T_MAYBE_VIEW) && n->out[0].storage == p->node[n->arg[A_viewed_self].node].out[0].storage;
}

static const char *operand_refusal(const struct prog *p, const struct node *n)
{
	const char *why = NULL;
	for (int k = 0; !why && k < op_info[n->op].nparam; k++) {
		const struct arg *a = &n->arg[k];
		if (a->tag == ARG_TENSOR)
			why = p->node[a->node].refusal;
		for (int i = 0; !why && a->tag == ARG_TENSORS && i < a->n; i++)
			why = a->nodes[i] < 0 ? NULL : p->node[a->nodes[i]].refusal;
	}
	return why;
}

bool prog_infer_or_refuse(struct prog *p, int node, struct err *err)
{
	struct node *n = &p->node[node];
	const char *name = op_info[n->op].name;
	struct err own;
	err_clear(&own);
	n->refusal = p->must_raise ? operand_refusal(p, n) : NULL;
	if (!n->refusal && prog_infer_node(p, node, &own))
		return true;
	if (!n->refusal && (!p->must_raise || own.limit || op_info[n->op].family == F_INPUT))
		return err_copy(err, &own);
	if (!n->refusal) /* PyTorch's text does not begin with our row's name */
		n->refusal = arena_strdup(p->arena, own.msg + (str_starts(own.msg, name) ? strlen(name) + 2 : 0));
	n->nout = 0;
	n->out = NULL;
	return true;
}

bool prog_infer(struct prog *p, struct err *err)
{
	p->nstorage = 0;
	for (int i = 0; i < p->nnode; i++)
		if (!prog_infer_or_refuse(p, i, err))
			return false;
	return true;
}

/* ---- which node belongs to which function ------------------------------------------------------------------------- */

/* Operands come before their users, so one sweep from the end finds all. */
static void close_operands(const struct prog *p, bool *set)
{
	for (int i = p->nnode - 1; i >= 0; i--)
		if (set[i])
			node_mark_operands(p, &p->node[i], set);
}

void prog_partition(const struct prog *p, bool *forward, bool *cot)
{
	memset(cot, 0, (size_t)p->nnode * sizeof *cot);
	for (int i = 0; i < p->nback; i++)
		cot[p->back[i].cotangent] = true;
	close_operands(p, cot);
	for (int i = 0; i < p->nnode; i++)
		forward[i] = !cot[i];
	close_operands(p, forward);
}

static bool shape_same(const struct value *a, const struct value *b)
{
	return meta_equivalent(&a->meta, &b->meta) && a->meta.offset == b->meta.offset;
}

static bool unlike_cotangent(const struct prog *p, const struct backward *b, struct err *err)
{
	struct strbuf sb;
	sb_init(&sb);
	sb_printf(&sb, "backward: cotangent '%s' is ", p->node[b->cotangent].name);
	meta_print(&sb, node_meta(p, b->cotangent));
	sb_printf(&sb, ", but '%s' is ", p->node[b->node].name);
	meta_print(&sb, node_meta(p, b->node));
	sb_puts(&sb, " (dtype and sizes must be the same)");
	err_set(err, "%s", sb.s);
	sb_free(&sb);
	return false;
}

static bool validate_ends(const struct prog *p, struct err *err)
{
	if (p->nret < 1)
		return err_set(err, "the program returns nothing");
	for (int i = 0; i < p->nret; i++)
		if (!p->node[p->ret[i]].refusal && (p->node[p->ret[i]].nout != 1 || node_is_sym(&p->node[p->ret[i]])))
			return err_set(err, "return: '%s' is not a single tensor", p->node[p->ret[i]].name);
	for (int i = 0; i < p->nback; i++) {
		const struct backward *b = &p->back[i];
		bool returned = false;
		for (int k = 0; k < p->nret; k++)
			returned |= p->ret[k] == b->node;
		if (!returned)
			return err_set(err, "backward: '%s' is not returned", p->node[b->node].name);
		if (p->must_raise) /* whatever is wrong here eager refuses */
			continue;
		const struct meta *o = node_meta(p, b->node), *c = node_meta(p, b->cotangent);
		if (o->dtype != c->dtype || !meta_same_sizes(o, c))
			return unlike_cotangent(p, b, err);
		if (!dtype_is_float(o->dtype))
			return err_set(err, "backward: '%s' is not a floating point tensor", p->node[b->node].name);
	}
	return true;
}

static bool validate_partition(const struct prog *p, struct err *err)
{
	bool forward[MAX_NODES], cot[MAX_NODES];
	prog_partition(p, forward, cot);
	for (int i = 0; i < p->nnode; i++) {
		const struct node *n = &p->node[i];
		if (forward[i] && cot[i] && n->op != OP_sym)
			return err_at(err, n->line, n->col, "'%s' is needed by a cotangent and by the function itself", n->name);
		if (cot[i] && (op_has(n->op, T_MUTATES) || node_requires_grad(n)))
			return err_at(err, n->line, n->col, "'%s': a cotangent may not mutate or require grad", n->name);
	}
	for (int i = 0; i < p->nret; i++)
		if (cot[p->ret[i]])
			return err_set(err, "return: '%s' is needed by a cotangent", p->node[p->ret[i]].name);
	return true;
}

bool prog_validate(const struct prog *p, struct err *err)
{
	struct arena a;
	arena_init(&a);
	struct prog q;
	prog_clone(&q, p, &a);
	bool ok = prog_rebind(&q, err);
	for (int i = 0; ok && i < p->nnode; i++) {
		const struct node *n = &p->node[i];
		if (prog_find(p, n->name) != i)
			ok = err_at(err, n->line, n->col, "name '%s' is given twice", n->name);
		if (ok && n->nout != q.node[i].nout)
			ok = err_at(err, n->line, n->col, "'%s': %d results recorded, %d inferred", n->name, n->nout, q.node[i].nout);
		for (int k = 0; ok && k < n->nout; k++)
			if (!shape_same(&n->out[k], &q.node[i].out[k]))
				ok = err_at(err, n->line, n->col, "'%s': recorded meta differs from the inferred one", n->name);
	}
	ok = ok && validate_ends(&q, err) && validate_partition(&q, err) && objects_renamed(&q, err);
	arena_free(&a);
	return ok;
}

/* ---- binding a call ------------------------------------------------------------------------------------------------- */

static int64_t floordiv(int64_t a, int64_t b)
{
	int64_t q = a / b;
	return q - (a % b != 0 && (a < 0) != (b < 0));
}

bool expr_apply(int64_t *out, enum expr_op op, int64_t a, int64_t b, struct err *err)
{
	bool ok = true;
	switch (op) {
	case EX_ADD: ok = add_i64(out, a, b); break;
	case EX_SUB: ok = b != INT64_MIN && add_i64(out, a, -b); break;
	case EX_MUL: ok = mul_i64(out, a, b); break;
	case EX_NEG: ok = mul_i64(out, a, -1); break;
	default:
		if (b == 0 || (a == INT64_MIN && b == -1))
			return err_set(err, "division of %" PRId64 " by %" PRId64 " in a size expression", a, b);
		*out = op == EX_FLOORDIV ? floordiv(a, b) : a - b * floordiv(a, b);
	}
	return ok ? true : err_set(err, "overflow in a size expression");
}

static bool eval_expr(const struct prog *p, int e, int64_t *out, struct err *err)
{
	const struct expr *x = &p->expr[e];
	int64_t a = 0, b = 0;
	if (x->op == EX_CONST) {
		*out = x->value;
		return true;
	}
	if (x->op == EX_SYM) {
		*out = p->node[x->a].sym_value;
		return true;
	}
	if (!eval_expr(p, x->a, &a, err) || (x->op != EX_NEG && !eval_expr(p, x->b, &b, err)))
		return false;
	return expr_apply(out, x->op, a, b, err);
}

bool iexpr_eval(const struct prog *p, struct iexpr *i, struct err *err) { return i->expr < 0 || eval_expr(p, i->expr, &i->value, err); }

static bool eval_node(struct prog *p, struct node *n, struct err *err)
{
	for (int k = 0; k < op_info[n->op].nparam; k++) {
		struct arg *a = &n->arg[k];
		if (a->tag == ARG_INT && !iexpr_eval(p, &a->i, err))
			return err_node(err, n, err ? err->msg : "");
		for (int j = 0; a->tag == ARG_INTS && j < a->n; j++)
			if (!iexpr_eval(p, &a->ints[j], err))
				return err_node(err, n, err ? err->msg : "");
	}
	if (n->op == OP_item)
		n->sym_value = node_int(n, A_item_value);
	return true;
}

bool prog_rebind(struct prog *p, struct err *err)
{
	p->nstorage = 0;
	for (int i = 0; i < p->nnode; i++)
		if (!eval_node(p, &p->node[i], err) || !prog_infer_or_refuse(p, i, err))
			return false;
	return true;
}

/* The layout that an input row states, taken at its word. */
static bool state_input(struct prog *p, int node, struct err *err)
{
	const struct node *n = &p->node[node];
	const struct arg *size = &n->arg[op_arg(n->op, N_size)], *stride = &n->arg[op_arg(n->op, N_stride)];
	struct meta *m = &p->node[node].out[0].meta;
	int64_t sizes[MAX_RANK];
	const enum device device = m->device;
	if (size->n > MAX_RANK)
		return err_node(err, n, "too many dimensions");
	for (int d = 0; d < size->n; d++)
		sizes[d] = size->ints[d].value;
	if (!meta_check_sizes(sizes, size->n, err))
		return false;
	meta_make_contiguous(m, m->dtype, sizes, size->n);
	for (int d = 0; stride->tag == ARG_INTS && d < m->rank && d < stride->n; d++)
		m->stride[d] = stride->ints[d].value;
	m->offset = node_int(n, op_arg(n->op, N_offset));
	m->device = device;
	return true;
}

bool prog_eval_node(struct prog *p, int node, struct err *err)
{
	struct node *n = &p->node[node];
	if (!eval_node(p, n, err))
		return false;
	return !node_is_input(n) || state_input(p, node, err);
}

void prog_size_read(struct prog *p, int node, const struct meta *of)
{
	struct node *n = &p->node[node];
	int64_t dim = node_int(n, A_sym_size_dim);
	n->sym_value = of->size[dim < 0 ? dim + of->rank : dim];
}

bool prog_bind_inputs(struct prog *out, const struct prog *p, int k, struct arena *a, struct err *err)
{
	CHECK(k >= 0 && k <= p->ncall);
	struct prog q;
	prog_clone(&q, p, a);
	q.ncall = 0;
	const struct call none = {0}, *call = k ? &p->call[k - 1] : &none;
	for (int i = 0; i < call->nsym; i++) {
		q.node[call->sym[i].node].sym_value = call->sym[i].value;
		q.node[call->sym[i].node].arg[A_sym_value] = arg_int(call->sym[i].value); /* what it prints */
	}
	for (int i = 0; i < call->ninput; i++) {
		struct node *n = &q.node[call->input[i].node];
		n->arg[A_input_seed] = arg_int((int64_t)call->input[i].seed);
		if (call->input[i].fill)
			n->arg[A_input_fill] = arg_str(&q, call->input[i].fill);
		if (call->input[i].data.tag == ARG_DATA)
			n->arg[A_input_data] = call->input[i].data;
	}
	for (int i = 0; call->nsym && i < q.nnode; i++) {
		const struct node *n = &q.node[i], *of = n->op == OP_sym_size ? &q.node[n->arg[A_sym_size_self].node] : NULL;
		if (!prog_eval_node(&q, i, err))
			return false;
		if (of && node_is_input(of))
			prog_size_read(&q, i, &of->out[0].meta);
	}
	*out = q;
	return true;
}

bool prog_bind(struct prog *out, const struct prog *p, int k, struct arena *a, struct err *err)
{
	struct prog q;
	if (!prog_bind_inputs(&q, p, k, a, err) || (k && p->call[k - 1].nsym && !prog_rebind(&q, err)))
		return false;
	*out = q;
	return true;
}

/* ---- hash ------------------------------------------------------------------------------------------------------------- */

struct hash128 prog_hash(const struct prog *p)
{
	/* The canonical text of a copy whose nodes are named by position and whose inputs have all one data. */
	struct arena a;
	arena_init(&a);
	struct prog q;
	prog_clone(&q, p, &a);
	q.ncall = 0;
	for (int i = 0; i < q.nnode; i++) {
		q.node[i].name = arena_printf(&a, "n%d", i);
		if (q.node[i].op != OP_input)
			continue;
		q.node[i].arg[A_input_seed] = arg_int(0);
		q.node[i].arg[A_input_fill] = arg_str(&q, fill_name[0]);
		q.node[i].arg[A_input_high] = arg_int(0);
		q.node[i].arg[A_input_data] = (struct arg){.tag = ARG_NONE};
	}
	struct strbuf sb;
	sb_init(&sb);
	prog_print(&sb, &q);
	struct hash128 h = hash_bytes(sb.s, sb.len);
	sb_free(&sb);
	arena_free(&a);
	return h;
}

bool prog_validate_calls(const struct prog *p, struct err *err)
{
	struct arena a;
	bool ok = true;
	arena_init(&a);
	for (int k = 0; ok && k < p->ncall; k++) {
		const struct call *c = &p->call[k];
		struct err own = {0};
		struct prog q;
		if (!c->nsym)
			continue;
		ok = prog_bind(&q, p, k + 1, &a, &own) && prog_validate(&q, &own);
		if (!ok)
			err_at(err, c->line, 1, "call %d: %s", k + 1, own.msg);
		arena_reset(&a);
	}
	arena_free(&a);
	return ok;
}
