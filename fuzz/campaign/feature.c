/* feature.c: one walk over the rows; every feature is a hash of what it is made of. */
#include "fuzz/campaign/feature.h"

#include "compiled/compile.h"
#include "compiled/loops/shape.h"
#include "generated/op_args.h"

enum layout_class layout_of(const struct meta *m)
{
	if (m->rank == 0)
		return LAYOUT_SCALAR;
	if (meta_numel(m) == 0)
		return LAYOUT_EMPTY;
	if (meta_is_contiguous(m))
		return LAYOUT_CONTIGUOUS;
	if (meta_overlaps_itself(m))
		return LAYOUT_BROADCAST;
	if (meta_is_non_overlapping_and_dense(m))
		return LAYOUT_PERMUTED;
	return meta_has_duplicates(m) ? LAYOUT_OVERLAP : LAYOUT_GAPPED;
}

struct visit {
	const struct prog *p;
	bool grad[MAX_NODES];
	void (*take)(void *ctx, enum feature_kind kind, uint64_t hash);
	void *ctx;
};

static void feature(const struct visit *v, enum feature_kind kind, uint64_t h) { v->take(v->ctx, kind, mix64(h ^ (uint64_t)kind << 60)); }

/* Calls `see` for every tensor operand of n. */
static void operands_each(const struct node *n, void (*see)(void *ctx, int k, int node), void *ctx)
{
	for (int k = 0; k < op_info[n->op].nparam; k++) {
		const struct arg *a = &n->arg[k];
		if (a->tag == ARG_TENSOR)
			see(ctx, k, a->node);
		for (int j = 0; a->tag == ARG_TENSORS && j < a->n; j++)
			if (a->nodes[j] >= 0)
				see(ctx, k, a->nodes[j]);
	}
}

/* ---- gradients ------------------------------------------------------------------------------------------------------------------ */

/* Tensor-level gradient path, near enough for a feature: some operand of floating dtype descends from such an input. */
static void grad_path(struct visit *v)
{
	for (int i = 0; i < v->p->nnode; i++) {
		const struct node *n = &v->p->node[i];
		v->grad[i] = node_requires_grad(n) || (!node_is_constant(v->p, n) && node_reads(v->p, n, v->grad));
	}
}

/* ---- rows and edges ------------------------------------------------------------------------------------------------------------- */

enum storage_class { CLASS_HALF, CLASS_FLOAT, CLASS_DOUBLE, CLASS_BYTE, CLASS_INT, CLASS_BOOL };
static enum storage_class class_of(enum dtype t)
{
	if (dtype_is_float(t))
		return dtype_is_narrow(t) ? CLASS_HALF : dtype_nbytes(t) == 4 ? CLASS_FLOAT : CLASS_DOUBLE;
	return t == DT_B8 ? CLASS_BOOL : dtype_nbytes(t) < 4 ? CLASS_BYTE : CLASS_INT;
}

struct row {
	const struct visit *v;
	int at;
	uint64_t shape;
};

static void see_operand(void *ctx, int k, int from)
{
	struct row *r = ctx;
	const struct node *d = &r->v->p->node[from], *n = &r->v->p->node[r->at];
	if (d->nout < 1)
		return;
	uint64_t layout = layout_of(&d->out[0].meta), class = class_of(d->out[0].meta.dtype);
	r->shape = mix64(r->shape ^ (layout + 16 * (uint64_t)k) * 0x9e3779b97f4a7c15u);
	feature(r->v, FEATURE_EDGE,
		(uint64_t)d->op << 44 ^ (uint64_t)n->op << 28 ^ layout << 20 ^ class << 16 ^ (uint64_t)r->v->grad[r->at] << 8 ^ (uint64_t)k);
}

static void see_row(const struct visit *v, int at, bool symbolic)
{
	const struct node *n = &v->p->node[at];
	struct row r = {v, at, (uint64_t)n->op << 32 ^ (uint64_t)n->out[0].meta.dtype << 8 ^ (uint64_t)v->grad[at]};
	for (int k = 0; k < op_info[n->op].nparam; k++)
		if (n->arg[k].tag == ARG_SCALAR && op_info[n->op].param[k].kind == K_TENSOR) /* a number instead of a tensor */
			r.shape = mix64(r.shape ^ (15 + 16 * (uint64_t)k) * 0x9e3779b97f4a7c15u);
	operands_each(n, see_operand, &r);
	feature(v, FEATURE_ROW, r.shape);
	feature(v, FEATURE_SPELLED, (uint64_t)n->op << 8 ^ (uint64_t)v->p->surface << 1 ^ (uint64_t)symbolic);
}

/* ---- aliases -------------------------------------------------------------------------------------------------------------------- */

/* How a reader comes to memory that somebody wrote: through what was written, what the writer returned, a base of it, or some other way. */
enum alias_way { WAY_RESULT, WAY_SAME, WAY_BASE, WAY_VIEW, WAY_OTHER };

static bool is_base_of(const struct prog *p, int base, int view)
{
	while (view > base && node_shares_memory(p, &p->node[view]) && p->node[view].arg[A_VIEW_self].tag == ARG_TENSOR)
		view = p->node[view].arg[A_VIEW_self].node;
	return view == base;
}

struct alias {
	const struct visit *v;
	int write, reader;
};

static void see_reader(void *ctx, int k, int node)
{
	const struct alias *s = ctx;
	const struct prog *p = s->v->p;
	const struct node *w = &p->node[s->write], *n = &p->node[s->reader];
	if (!p->node[node].nout || w->arg[A_INPLACE_self].tag != ARG_TENSOR || p->node[node].out[0].storage != w->out[0].storage)
		return;
	int self = w->arg[A_INPLACE_self].node;
	enum alias_way way = node == s->write ? WAY_RESULT
		: node == self                    ? WAY_SAME
		: is_base_of(p, node, self)       ? WAY_BASE
		: is_base_of(p, self, node)       ? WAY_VIEW
										  : WAY_OTHER;
	bool input = w->out[0].storage < prog_input_storages(p), before = node < s->write;
	feature(s->v, FEATURE_ALIAS,
		(uint64_t)w->op << 44 ^ (uint64_t)n->op << 28 ^ (uint64_t)p->node[self].op << 12 ^ (uint64_t)way << 8 ^ (uint64_t)input << 7
			^ (uint64_t)before << 6 ^ (uint64_t)s->v->grad[s->reader] << 5 ^ (uint64_t)MIN(k, 15));
}

static void see_write(const struct visit *v, int at)
{
	for (int i = at + 1; i < v->p->nnode; i++)
		operands_each(&v->p->node[i], see_reader, &(struct alias){v, at, i});
}

void features_each(const struct prog *p, void (*take)(void *ctx, enum feature_kind kind, uint64_t hash), void *ctx)
{
	struct visit v = {.p = p, .take = take, .ctx = ctx};
	bool symbolic = p->nnode && node_is_sym(&p->node[0]);
	grad_path(&v);
	for (int i = 0; i < p->nnode; i++) {
		if (p->node[i].nout < 1)
			continue;
		see_row(&v, i, symbolic);
		if (op_has(p->node[i].op, T_MUTATES))
			see_write(&v, i);
	}
}

/* ---- loops ---------------------------------------------------------------------------------------------------------------------- */

/* Of the first call. */
void features_each_loop(const struct prog *p, void (*take)(void *ctx, enum feature_kind kind, uint64_t hash), void *ctx)
{
	const struct compile_options o = {.stage = compile_nstages() - 1, .to_code = true, .code = {.schedule = true}};
	const struct visit v = {.p = p, .take = take, .ctx = ctx};
	uint64_t shape[MAX_RESULT_SHAPES];
	struct prog bound;
	struct compiled c;
	struct loops l;
	struct arena a;
	struct err why = {0};
	bool planted;
	arena_init(&a);
	bool ok = prog_bind(&bound, p, 0, &a, &why) && compile(&c, &bound, &o, &a, &why) == COMPILE_OK
		&& code_loops(&l, &planted, &c.part[0].p, &o.code, NULL, &a, &why);
	const int n = ok ? loops_shapes(shape, MAX_RESULT_SHAPES, &l) : 0;
	for (int i = 0; i < n; i++)
		feature(&v, FEATURE_LOOP, shape[i]);
	arena_free(&a);
}

/* ---- sets ------------------------------------------------------------------------------------------------------------------------ */

struct asking {
	const struct feature_set *ask;
	struct feature_set *add; /* NULL: nothing is */
	int fresh;
};

static bool has(const struct feature_set *s, uint64_t hash) { return s->seen[hash % FEATURE_BITS >> 6] >> (hash & 63) & 1; }

bool feature_set_add(struct feature_set *s, uint64_t hash)
{
	if (has(s, hash))
		return false;
	s->seen[hash % FEATURE_BITS >> 6] |= (uint64_t)1 << (hash & 63);
	s->nseen++;
	return true;
}

static void take(void *ctx, enum feature_kind kind, uint64_t hash)
{
	struct asking *a = ctx;
	(void)kind;
	a->fresh += a->add ? feature_set_add(a->add, hash) : !has(a->ask, hash);
}

static int ask_all(struct asking *a, const struct prog *p)
{
	features_each(p, take, a);
	if (a->ask->loops)
		features_each_loop(p, take, a);
	return a->fresh;
}

int features_new(const struct feature_set *s, const struct prog *p) { return ask_all(&(struct asking){.ask = s}, p); }

int features_add(struct feature_set *s, const struct prog *p) { return ask_all(&(struct asking){.ask = s, .add = s}, p); }
