/* prog.c: building and copying programs. Operands are indices, so a copy is a copy of arrays. */
#include "eager/lang/prog.h"
#include "generated/op_input.h"

const char *const surface_name[NSURFACES] = {"aten", "torch", "python"};

void prog_init(struct prog *p, struct arena *a) { *p = (struct prog){.arena = a}; }

static void *grow(struct arena *a, void *old, int n, int *cap, size_t size)
{
	if (n < *cap)
		return old;
	int bigger = *cap ? *cap * 2 : 16;
	void *p = arena_zalloc(a, mul_size(size, (size_t)bigger));
	if (n)
		memcpy(p, old, size * (size_t)n);
	*cap = bigger;
	return p;
}

int prog_find(const struct prog *p, const char *name)
{
	for (int i = 0; i < p->nnode; i++)
		if (p->node[i].name && str_eq(p->node[i].name, name))
			return i;
	return -1;
}

/* "sum", then "sum_1", ...; the operator's trailing '_' of in-place rows is kept, as in FX. */
static const char *fresh_name(const struct prog *p, int op)
{
	const char *full = op_info[op].name;
	int n = (int)strcspn(full, ".");
	char name[MAX_NAME];
	snprintf(name, sizeof name, "%.*s", n, full);
	for (int k = 1; prog_find(p, name) >= 0; k++)
		snprintf(name, sizeof name, "%.*s_%d", n, full, k);
	return arena_strdup(p->arena, name);
}

int prog_add(struct prog *p, int op, const char *name)
{
	CHECK(op >= 0 && op < op_nrows && p->nnode < MAX_NODES);
	bool unnamed = name && !name[0];
	const char *given = unnamed ? "" : name && prog_find(p, name) < 0 ? arena_strdup(p->arena, name) : fresh_name(p, op);
	p->node = grow(p->arena, p->node, p->nnode, &p->cap_node, sizeof *p->node);
	p->node[p->nnode] = (struct node){.op = op, .name = given};
	return p->nnode++;
}

void prog_defaults(struct prog *p, int node)
{
	struct node *n = &p->node[node];
	const struct op_info *op = &op_info[n->op];
	for (int k = 0; k < op->nparam; k++) {
		const struct param *q = &op->param[k];
		if (n->arg[k].tag != ARG_NONE || !q->has_default || q->dflt_none)
			continue;
		switch (q->kind) {
		case K_DIM:
		case K_INDEX:
		case K_STEP:
		case K_INT: n->arg[k] = arg_int(q->dflt.i); break;
		case K_FLOAT: n->arg[k] = arg_scalar_f(q->dflt.kind == SC_FLOAT ? q->dflt.f : (double)q->dflt.i); break;
		case K_SCALAR: n->arg[k] = (struct arg){.tag = ARG_SCALAR, .scalar = q->dflt}; break;
		case K_BOOL: n->arg[k] = arg_bool(q->dflt.i != 0); break;
		case K_STR: n->arg[k] = arg_str(p, q->dflt_str); break;
		case K_DTYPE: {
			enum dtype t;
			CHECK(dtype_find(&t, q->dflt_str));
			n->arg[k] = arg_dtype(t);
			break;
		}
		case K_FORMAT: {
			enum memory_format f;
			CHECK(memory_format_find(&f, q->dflt_str));
			n->arg[k] = arg_format(f);
			break;
		}
		case K_DIMS:
		case K_INTS:
			n->arg[k] = arg_ints(p, (const int64_t[]){q->dflt.i, q->dflt.i + (q->kind == K_DIMS)}, q->dflt.kind == SC_INT ? 2 : 0);
			break;
		default: BUG("%s.%s: no default of this kind", op->name, q->name);
		}
	}
}

struct arg arg_tensor(int node) { return (struct arg){.tag = ARG_TENSOR, .node = node}; }
struct arg arg_int(int64_t v) { return (struct arg){.tag = ARG_INT, .i = {v, -1}}; }
struct arg arg_bool(bool b) { return (struct arg){.tag = ARG_BOOL, .b = b}; }
struct arg arg_scalar_i(int64_t v) { return (struct arg){.tag = ARG_SCALAR, .scalar = {SC_INT, v, 0}}; }
struct arg arg_scalar_f(double v) { return (struct arg){.tag = ARG_SCALAR, .scalar = {SC_FLOAT, 0, v}}; }
struct arg arg_dtype(enum dtype t) { return (struct arg){.tag = ARG_DTYPE, .dtype = t}; }
struct arg arg_format(enum memory_format f) { return (struct arg){.tag = ARG_FORMAT, .format = f}; }
struct arg arg_str(struct prog *p, const char *s) { return (struct arg){.tag = ARG_STR, .str = arena_strdup(p->arena, s)}; }

struct arg arg_ints(struct prog *p, const int64_t *v, int n)
{
	CHECK(n <= MAX_LIST);
	struct arg a = {.tag = ARG_INTS, .n = n, .ints = ARENA_NEW(p->arena, struct iexpr, n)};
	for (int i = 0; i < n; i++)
		a.ints[i] = (struct iexpr){v[i], -1};
	return a;
}

struct arg arg_bools(struct prog *p, const bool *v, int n)
{
	struct arg a = {.tag = ARG_BOOLS, .n = n, .bools = ARENA_NEW(p->arena, bool, MAX(n, 1))};
	if (n)
		memcpy(a.bools, v, (size_t)n * sizeof *v);
	return a;
}

struct arg arg_data(struct prog *p, const struct scalar *v, int n)
{
	CHECK(n <= MAX_DATA);
	struct arg a = {.tag = ARG_DATA, .n = n, .data = ARENA_NEW(p->arena, struct scalar, n)};
	for (int i = 0; i < n; i++)
		a.data[i] = v[i];
	return a;
}

struct arg arg_nodes(struct prog *p, const int *node, int n)
{
	CHECK(n <= MAX_LIST);
	struct arg a = {.tag = ARG_TENSORS, .n = n, .nodes = ARENA_NEW(p->arena, int, n)};
	for (int i = 0; i < n; i++)
		a.nodes[i] = node[i];
	return a;
}

/* Bit for bit: 0.0 and -0.0 are two numbers. */
static bool same_scalar(const struct scalar *a, const struct scalar *b)
{
	return a->kind == b->kind && (a->kind == SC_FLOAT ? memcmp(&a->f, &b->f, sizeof a->f) == 0 : a->i == b->i);
}

bool arg_same(const struct arg *a, const struct arg *b)
{
	if (a->tag != b->tag)
		return false;
	switch (a->tag) {
	case ARG_NONE: return true;
	case ARG_TENSOR: return a->node == b->node;
	case ARG_TENSORS: return a->n == b->n && memcmp(a->nodes, b->nodes, (size_t)a->n * sizeof *a->nodes) == 0;
	case ARG_INT: return a->i.value == b->i.value;
	case ARG_INTS:
		for (int i = 0; a->n == b->n && i < a->n; i++)
			if (a->ints[i].value != b->ints[i].value)
				return false;
		return a->n == b->n;
	case ARG_SCALAR: return same_scalar(&a->scalar, &b->scalar);
	case ARG_BOOL: return a->b == b->b;
	case ARG_DTYPE: return a->dtype == b->dtype;
	case ARG_FORMAT: return a->format == b->format;
	case ARG_STR: return str_eq(a->str, b->str);
	case ARG_BOOLS: return a->n == b->n && memcmp(a->bools, b->bools, (size_t)a->n * sizeof *a->bools) == 0;
	case ARG_DATA: return false;
	}
	return false;
}

static void *copy_array(struct arena *a, const void *src, size_t n, size_t size)
{
	void *p = arena_alloc(a, mul_size(n, size));
	if (n)
		memcpy(p, src, n * size);
	return p;
}

static void node_clone(struct node *n, struct arena *a)
{
	n->name = arena_strdup(a, n->name);
	for (int k = 0; k < op_info[n->op].nparam; k++) {
		struct arg *g = &n->arg[k];
		if (g->tag == ARG_TENSORS)
			g->nodes = copy_array(a, g->nodes, (size_t)g->n, sizeof *g->nodes);
		else if (g->tag == ARG_INTS)
			g->ints = copy_array(a, g->ints, (size_t)g->n, sizeof *g->ints);
		else if (g->tag == ARG_DATA)
			g->data = copy_array(a, g->data, (size_t)g->n, sizeof *g->data);
		else if (g->tag == ARG_BOOLS)
			g->bools = copy_array(a, g->bools, (size_t)g->n, sizeof *g->bools);
		else if (g->tag == ARG_STR)
			g->str = arena_strdup(a, g->str);
	}
	n->out = copy_array(a, n->out, (size_t)n->nout, sizeof *n->out);
	n->refusal = n->refusal ? arena_strdup(a, n->refusal) : NULL;
}

void prog_clone(struct prog *out, const struct prog *p, struct arena *a)
{
	struct prog q = *p;
	q.arena = a;
	q.node = copy_array(a, p->node, (size_t)p->nnode, sizeof *p->node);
	q.expr = copy_array(a, p->expr, (size_t)p->nexpr, sizeof *p->expr);
	q.raises = p->raises ? arena_strdup(a, p->raises) : NULL;
	q.cap_node = p->nnode;
	q.cap_expr = p->nexpr;
	for (int i = 0; i < q.nnode; i++)
		node_clone(&q.node[i], a);
	for (int c = 0; c < q.ncall; c++) {
		struct call *k = &q.call[c];
		k->input = copy_array(a, k->input, (size_t)k->ninput, sizeof *k->input);
		k->sym = copy_array(a, k->sym, (size_t)k->nsym, sizeof *k->sym);
		for (int i = 0; i < k->ninput; i++) {
			struct arg *d = &k->input[i].data;
			if (k->input[i].fill)
				k->input[i].fill = arena_strdup(a, k->input[i].fill);
			if (d->tag == ARG_DATA)
				d->data = copy_array(a, d->data, (size_t)d->n, sizeof *d->data);
		}
	}
	*out = q;
}

int prog_add_expr(struct prog *p, struct expr e)
{
	p->expr = grow(p->arena, p->expr, p->nexpr, &p->cap_expr, sizeof *p->expr);
	p->expr[p->nexpr] = e;
	return p->nexpr++;
}

int prog_input_storages(const struct prog *p)
{
	int n = 0;
	for (int i = 0; i < p->nnode; i++)
		if (p->node[i].op == OP_input)
			n++;
	return n;
}

int64_t prog_storage_cells(const struct prog *p, int storage)
{
	int64_t cells = 0;
	for (int i = 0; i < p->nnode; i++) {
		const struct node *n = &p->node[i];
		if (n->op == OP_input && n->out[0].storage == storage)
			cells = meta_extent(&n->out[0].meta);
	}
	return cells;
}

size_t prog_storage_nbytes(const struct prog *p, int storage)
{
	for (int i = 0; i < p->nnode; i++)
		if (p->node[i].op == OP_input && p->node[i].out[0].storage == storage && node_meta(p, i)->device != DEV_META)
			return (size_t)prog_storage_cells(p, storage) * (size_t)dtype_nbytes(node_meta(p, i)->dtype);
	return 0;
}

int prog_ngrads(const struct prog *p)
{
	int n = 0;
	for (int i = 0; p->nback && i < p->nnode; i++)
		n += node_requires_grad(&p->node[i]);
	return n;
}

bool node_is_sym(const struct node *n) { return n->op == OP_sym || n->op == OP_sym_size || n->op == OP_item; }
bool node_is_run(const struct node *n) { return n->op == OP_item || (!node_is_sym(n) && !node_is_input(n)); }
bool node_is_input(const struct node *n) { return n->op == OP_input || n->op == OP_input_view; }
bool node_is_source(const struct node *n) { return op_info[n->op].family == F_INPUT || op_info[n->op].family == F_FACTORY; }

bool prog_has_symbols(const struct prog *p)
{
	for (int i = 0; i < p->nnode; i++)
		if (node_is_sym(&p->node[i]))
			return true;
	return false;
}

bool prog_has_empty(const struct prog *p)
{
	for (int i = 0; i < p->nnode; i++)
		for (int k = 0; k < p->node[i].nout && !node_is_sym(&p->node[i]); k++)
			if (meta_numel(&p->node[i].out[k].meta) == 0)
				return true;
	return false;
}

int prog_operators(const struct prog *p)
{
	int n = 0;
	for (int i = 0; i < p->nnode; i++)
		n += !node_is_source(&p->node[i]);
	return n;
}


bool node_divides_integers(const struct node *n)
{
	for (int k = 0; k < op_info[n->op].nparam; k++)
		if (role_has(op_info[n->op].param[k].role, RF_DIVIDES) && n->arg[k].tag == ARG_TENSOR)
			return !dtype_is_float(n->out[0].meta.dtype);
	return false;
}

bool node_requires_grad(const struct node *n)
{
	return n->op == OP_input ? n->arg[A_input_requires_grad].b : n->op == OP_input_view && n->arg[A_input_view_requires_grad].b;
}

/* ---- operands ------------------------------------------------------------------------------------------------------------ */

void expr_mark(const struct prog *p, int expr, bool *set)
{
	if (expr < 0)
		return;
	const struct expr *x = &p->expr[expr];
	if (x->op == EX_SYM) {
		set[x->a] = true;
	} else if (x->op != EX_CONST) {
		expr_mark(p, x->a, set);
		expr_mark(p, x->op == EX_NEG ? -1 : x->b, set);
	}
}

void node_mark_operands(const struct prog *p, const struct node *n, bool *set)
{
	for (int k = 0; k < op_info[n->op].nparam; k++) {
		const struct arg *a = &n->arg[k];
		if (a->tag == ARG_TENSOR)
			set[a->node] = true;
		else if (a->tag == ARG_INT)
			expr_mark(p, a->i.expr, set);
		for (int i = 0; a->tag == ARG_TENSORS && i < a->n; i++)
			if (a->nodes[i] >= 0)
				set[a->nodes[i]] = true;
		for (int i = 0; a->tag == ARG_INTS && i < a->n; i++)
			expr_mark(p, a->ints[i].expr, set);
	}
}

bool node_reads(const struct prog *p, const struct node *n, const bool *set)
{
	bool mine[MAX_NODES] = {0};
	node_mark_operands(p, n, mine);
	for (int i = 0; i < p->nnode; i++)
		if (mine[i] && set[i])
			return true;
	return false;
}

int node_ints(int64_t out[MAX_LIST], const struct node *n, int k)
{
	const struct arg *a = &n->arg[k];
	CHECK(a->tag == ARG_INTS && a->n <= MAX_LIST);
	for (int i = 0; i < a->n; i++)
		out[i] = a->ints[i].value;
	return a->n;
}
