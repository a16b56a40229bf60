/* judge_alias.c: who shares memory with whom: outputs with inputs and with each other, as eager does it; gradients with nothing but what
 * eager's autograd hands on without copying it. */
#include "oracle/judge/judge_alias.h"
#include "oracle/ref/handed.h"
#include "oracle/ref/layout.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

/* ---- outputs ---- */
static bool equal(const struct result_tensor *a, const struct result_tensor *b)
{
	return meta_same_sizes(&a->meta, &b->meta) && a->meta.dtype == b->meta.dtype && a->meta.offset == b->meta.offset
		&& a->nbytes == b->nbytes && memcmp(a->meta.stride, b->meta.stride, (size_t)a->meta.rank * sizeof *a->meta.stride) == 0
		&& memcmp(a->data, b->data, a->nbytes) == 0;
}

/* One of the views that unbind or split made. */
static bool one_of_several(const struct prog *p, int node)
{
	return node >= 0 && p->node[node].op == OP_getitem && op_has(p->node[p->node[node].arg[A_getitem_self].node].op, T_VIEW);
}

/* Which freedom lets the aliasing of output i with output k (-1: with an input) differ. want: they should share. */
static unsigned alias_freedom(const struct prog *p, const struct reference *ref, const struct result_call *got, int i, int k, bool want)
{
	bool grad = ref->out[i].requires_grad || (k >= 0 && ref->out[k].requires_grad);
	if (!want)
		return k >= 0 && equal(&got->out[i], &got->out[k]) ? FREE_EQUAL_SHARED : 0;
	unsigned free = FREE_ALIAS;
	if (k >= 0 && !grad)
		free |= FREE_PLAIN_ALIAS;
	if ((ref->out[i].requires_grad && one_of_several(p, ref->out[i].node))
		|| (k >= 0 && ref->out[k].requires_grad && one_of_several(p, ref->out[k].node)))
		free |= FREE_SEVERAL_VIEWS;
	return free;
}

enum alias_rule judge_output_rule(const struct prog *p, const struct reference *ref, int i, int k, unsigned freedoms)
{
	if (k >= 0 && ref->out[i].memory != ref->out[k].memory)
		return freedoms & FREE_EQUAL_SHARED ? ALIAS_EQUAL : ALIAS_APART;
	return freedoms & alias_freedom(p, ref, NULL, i, k, true) ? ALIAS_ANY : ALIAS_SHARED;
}

/* The result has it apart from an output that it shares memory with in eager (or from all of them; a freedom, or said already). */
static bool lies_apart(const struct reference *ref, const struct result_call *got, int i)
{
	bool apart = ref->out[i].memory < ref->nstorages;
	for (int k = 0; k < got->nouts; k++)
		apart = apart || (ref->out[k].n && ref->out[k].memory == ref->out[i].memory && got->out[k].storage != got->out[i].storage);
	return apart;
}

/* Where the output begins in its memory: as in eager, or, of two that share it, as far from each other. One that lies apart is a copy,
 * which begins at the start. With FREE_OFFSET what comes before an output need not be there; other strides bring another offset. */
static void compare_offset(
	struct tensor_verdict *v, const struct reference *ref, const struct result_call *got, int i, unsigned freedoms, struct arena *a)
{
	const struct ref_value *want = &ref->out[i];
	const struct result_tensor *have = &got->out[i];
	int64_t expected = want->meta.offset;
	bool told = want->memory < ref->nstorages && have->storage == want->memory;
	for (int k = 0; k < i && !told; k++) {
		told = want->memory == ref->out[k].memory && have->storage == got->out[k].storage && ref->out[k].n > 0;
		if (told)
			expected = got->out[k].meta.offset + want->meta.offset - ref->out[k].meta.offset;
	}
	if (have->meta.offset == expected || (!told && have->meta.offset == 0 && lies_apart(ref, got, i)))
		return;
	bool laid_out_anew = v->layout & 1u << LAYOUT_STRIDES || v->used & FREE_STRIDES;
	if (!told && freedoms & FREE_OFFSET && (have->meta.offset == 0 || laid_out_anew))
		v->used |= FREE_OFFSET;
	else
		judge_note(v, MM_ALIAS, a, "storage offset %lld, expected %lld", (long long)have->meta.offset, (long long)expected);
}

/* Output i shares memory with an input, or with output k < i, exactly when the reference says so. */
void judge_output_alias(struct tensor_verdict *v, const struct prog *p, const struct reference *ref, const struct result_call *got, int i,
	unsigned freedoms, struct arena *a)
{
	int want = ref->out[i].memory, have = got->out[i].storage;
	bool want_input = want < ref->nstorages, have_input = have >= 0 && have < got->nstorages;
	if (ref->out[i].n == 0)
		return; /* empty tensors: PyTorch gives them null pointers */
	if (have_input && (!want_input || want != have)) {
		judge_note(v, MM_ALIAS, a, "output shares the storage of input %d and should not", have);
	} else if (want_input && !have_input) {
		unsigned free = freedoms & alias_freedom(p, ref, got, i, -1, true);
		v->used |= free;
		if (!free)
			judge_note(v, MM_ALIAS, a, "output should share the storage of input %d", want);
	}
	for (int k = 0; k < i; k++) {
		bool w = want == ref->out[k].memory, h = have == got->out[k].storage;
		if (ref->out[k].n == 0 || want_input || have_input || w == h)
			continue;
		unsigned free = freedoms & alias_freedom(p, ref, got, i, k, w);
		v->used |= free;
		if (!free)
			judge_note(v, MM_ALIAS, a,
				w ? "output should share storage with output %d" : "output shares storage with output %d and should not", k);
	}
	compare_offset(v, ref, got, i, freedoms, a);
}

/* ---- gradients ---- */
/* Eager hands on what handed.h says. A compiled backward may merge more operators that change nothing: how a leaf takes its gradient from a
 * history (a base), at most: */
enum takes { TAKES_NOT, TAKES_SAME, TAKES_VIEW };

/* May backward of this operator hand on what it gets? (A product of one factor does, and addmm its bias.) */
static bool hands_on(int op) { return !op_has(op, T_POINTWISE) || handed_on(op); }

static bool as_view(int op) { return op_has(op, T_VIEW | T_MAYBE_VIEW | T_SCATTER | T_REDUCE) || handed_as_view(op); }

/* Node i writes through a view of a history. */
static bool writes_view(const struct prog *p, int i)
{
	if (!op_has(p->node[i].op, T_MUTATES))
		return false;
	while (op_has(p->node[i].op, T_MUTATES))
		i = p->node[i].arg[A_INPLACE_self].node;
	return op_has(p->node[i].op, T_VIEW | T_MAYBE_VIEW) || one_of_several(p, i);
}

/* how[base], for a leaf whose own base is known. parts: what is written through a view gets a view of the history's gradient, which eager
 * copies (CopySlices), and a compiled backward need not. */
static enum takes *taken_from(const struct ref *r, int leaf, bool parts, struct arena *a)
{
	enum takes *how = ARENA_ZNEW(a, enum takes, r->nbase + 1);
	how[r->node[leaf].out[0].base] = TAKES_SAME;
	for (int i = 0; i < r->p->nnode; i++) {
		const struct ref_node *n = &r->node[i];
		int op = r->p->node[i].op;
		if (n->nout == 0 || op_info[op].family == F_INPUT || !hands_on(op))
			continue;
		enum takes best = TAKES_NOT;
		for (int k = 0; k < n->nread; k++)
			best = MAX(best, how[n->read[k].base]);
		if (best && (as_view(op) || (parts && writes_view(r->p, i))))
			best = TAKES_VIEW;
		for (int k = 0; k < n->nout; k++)
			how[n->out[k].base] = MAX(how[n->out[k].base], best);
	}
	return how;
}

static bool may_share(const struct ref *r, int leaf, int other, struct arena *a)
{
	const enum takes *x = taken_from(r, leaf, true, a), *y = taken_from(r, other, true, a);
	for (int b = 0; b < r->nbase; b++)
		if (x[b] && y[b] && MAX(x[b], y[b]) == TAKES_VIEW)
			return true;
	/* One cotangent, or two in one memory, for two results. */
	for (int i = 0; i < r->p->nback; i++)
		for (int k = 0; k < r->p->nback; k++) {
			const struct ref_tensor *g = &r->node[r->p->back[i].cotangent].out[0], *h = &r->node[r->p->back[k].cotangent].out[0];
			enum takes u = x[r->node[r->p->back[i].node].out[0].base], w = y[r->node[r->p->back[k].node].out[0].base];
			if (g->storage == h->storage && u && w && MAX(u, w) == TAKES_VIEW)
				return true;
		}
	return false;
}

/* The memory is that of a cotangent of which the leaf may take a view. */
static bool takes_cotangent(const struct ref *r, const enum takes *how, int memory)
{
	for (int i = 0; i < r->p->nback; i++) {
		const struct ref_tensor *g = &r->node[r->p->back[i].cotangent].out[0];
		if (r->storage[g->storage].memory == memory && how[r->node[r->p->back[i].node].out[0].base] == TAKES_VIEW)
			return true;
	}
	return false;
}

/* May the leaf's gradient lie there? *used: the freedom that it takes. */
static bool may_keep(unsigned *used, const struct ref *r, int leaf, int memory, unsigned freedoms, struct arena *a)
{
	*used = 0;
	if (takes_cotangent(r, taken_from(r, leaf, false, a), memory))
		return true;
	*used = freedoms & FREE_GRADIENT_PARTS;
	return *used && takes_cotangent(r, taken_from(r, leaf, true, a), memory);
}

/* May they share memory? *used: the freedom that it takes. */
static bool may_be_parts(unsigned *used, const struct ref *r, int leaf, int other, unsigned freedoms, struct arena *a)
{
	*used = 0;
	if (handed_together(r, leaf, other, a))
		return true;
	*used = freedoms & FREE_GRADIENT_PARTS;
	return *used && may_share(r, leaf, other, a);
}

/* The bytes that a dense tensor has in each cell of its memory, from its offset on. NULL: its elements are not dense, or not known. */
static const unsigned char *cells_of(const struct result_tensor *t, struct arena *a)
{
	size_t size = (size_t)dtype_nbytes(t->meta.dtype);
	if (!t->data || !layout_is_dense(&t->meta))
		return NULL;
	unsigned char *cells = arena_alloc(a, t->nbytes + 1);
	const unsigned char *from = t->data;
	struct meta_iter it;
	meta_iter_start(&it, &t->meta);
	do {
		memcpy(cells + (size_t)(it.off - t->meta.offset) * size, from, size);
		from += size;
	} while (meta_iter_next(&it, &t->meta));
	return cells;
}

/* Two tensors, of one memory by their own account, that have different bytes in a cell: so they are not. */
static bool contradict(const struct result_tensor *g, const struct result_tensor *h, struct arena *a)
{
	int64_t first = MAX(g->meta.offset, h->meta.offset), size = dtype_nbytes(g->meta.dtype);
	int64_t end = MIN(g->meta.offset + meta_numel(&g->meta), h->meta.offset + meta_numel(&h->meta));
	struct arena_mark m = arena_mark(a);
	const unsigned char *x = cells_of(g, a), *y = cells_of(h, a);
	bool differ = x && y && g->meta.dtype == h->meta.dtype && first < end
		&& memcmp(x + (first - g->meta.offset) * size, y + (first - h->meta.offset) * size, (size_t)((end - first) * size)) != 0;
	arena_release(a, m);
	return differ;
}

bool judge_gradient_from_start(const struct reference *ref, int i, unsigned freedoms, struct arena *a)
{
	return !(freedoms & FREE_GRADIENT_PARTS) && handed_from_start(ref->run, ref->grad[i].node, a);
}

static void compare_gradient_offset(
	struct tensor_verdict *v, const struct reference *ref, const struct result_tensor *g, int i, unsigned freedoms, struct arena *a)
{
	if (g->meta.offset == 0 || !judge_gradient_from_start(ref, i, 0, a))
		return;
	v->used |= freedoms & FREE_GRADIENT_PARTS;
	if (judge_gradient_from_start(ref, i, freedoms, a))
		judge_note(v, MM_ALIAS, a, "gradient begins at element %lld of its memory, expected 0", (long long)g->meta.offset);
}

void judge_gradient_alias(
	struct tensor_verdict *v, const struct reference *ref, const struct result_call *got, int i, unsigned freedoms, struct arena *a)
{
	const struct result_tensor *g = &got->grad[i];
	if (!g->present || !ref->grad[i].present || ref->grad[i].n == 0)
		return;
	unsigned used;
	if (g->storage >= 0 && g->storage < got->nstorages) {
		if (may_keep(&used, ref->run, ref->grad[i].node, g->storage, freedoms, a))
			v->used |= used;
		else
			judge_note(v, MM_ALIAS, a, "gradient shares the storage of input %d", g->storage);
	}
	for (int k = 0; k < got->nouts; k++)
		if (ref->out[k].n && g->storage >= got->nstorages && got->out[k].storage == g->storage)
			judge_note(v, MM_ALIAS, a, "gradient shares storage with output %d", k);
	for (int k = 0; k < i; k++) {
		const struct result_tensor *h = &got->grad[k];
		if (!h->present || !ref->grad[k].n || h->storage != g->storage || g->storage < got->nstorages)
			continue;
		if (contradict(g, h, a)) {
			judge_note(v, MM_ALIAS, a, "gradient shares storage with that of input %d, which holds other numbers there", k);
			continue;
		}
		if (may_be_parts(&used, ref->run, ref->grad[i].node, ref->grad[k].node, freedoms, a)) {
			v->used |= used;
			continue;
		}
		if (freedoms & FREE_EQUAL_SHARED && equal(g, h))
			v->used |= FREE_EQUAL_SHARED;
		else
			judge_note(v, MM_ALIAS, a, "gradient shares storage with that of input %d", k);
	}
	compare_gradient_offset(v, ref, g, i, freedoms, a);
}

enum alias_rule judge_gradient_rule(const struct reference *ref, int i, enum tensor_role other, int k, unsigned freedoms, struct arena *a)
{
	int leaf = ref->grad[i].node;
	unsigned used;
	if (other == TR_STORAGE)
		return may_keep(&used, ref->run, leaf, k, freedoms, a) ? ALIAS_ANY : ALIAS_APART;
	if (other == TR_OUTPUT)
		return ALIAS_APART;
	return may_be_parts(&used, ref->run, leaf, ref->grad[k].node, freedoms, a) ? ALIAS_ANY
		: freedoms & FREE_EQUAL_SHARED                                         ? ALIAS_EQUAL
																			   : ALIAS_APART;
}
