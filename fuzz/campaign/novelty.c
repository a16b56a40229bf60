/* novelty.c: features as hashes; a collision only makes a program look a little less new. */
#include "fuzz/campaign/novelty.h"
#include "generated/op_input.h"

const char *const layout_name[NLAYOUTS] = {"contiguous", "0-d", "empty", "broadcast", "overlapping", "permuted", "gapped"};

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
	const struct novelty *ask;
	struct novelty *mark;
	int fresh;
};

static void feature(struct visit *v, uint64_t h)
{
	uint64_t bit = mix64(h) % NOVELTY_BITS, mask = (uint64_t)1 << (bit & 63);
	if (v->ask && !(v->ask->seen[bit >> 6] & mask))
		v->fresh++;
	if (v->mark && !(v->mark->seen[bit >> 6] & mask)) {
		v->mark->seen[bit >> 6] |= mask;
		v->mark->nseen++;
	}
}

/* Tensor-level gradient path, near enough for a feature: some operand of floating dtype descends from such an input. */
static void grad_path(const struct prog *p, bool *on)
{
	for (int i = 0; i < p->nnode; i++) {
		const struct node *n = &p->node[i];
		on[i] = node_requires_grad(n);
		if (op_has(n->op, T_NONDIFF))
			continue;
		for (int k = 0; k < op_info[n->op].nparam; k++) {
			const struct arg *a = &n->arg[k];
			if (a->tag == ARG_TENSOR)
				on[i] |= on[a->node];
			for (int j = 0; a->tag == ARG_TENSORS && j < a->n; j++)
				on[i] |= a->nodes[j] >= 0 && on[a->nodes[j]];
		}
	}
}

static void operand(struct visit *v, const struct prog *p, const struct node *n, int k, int from, bool grad, uint64_t *shape)
{
	const struct node *d = &p->node[from];
	if (d->nout < 1)
		return;
	uint64_t layout = layout_of(&d->out[0].meta);
	*shape = mix64(*shape ^ (layout + 16 * (uint64_t)k) * 0x9e3779b97f4a7c15u);
	feature(v, (uint64_t)d->op << 40 ^ (uint64_t)n->op << 24 ^ layout << 16 ^ (uint64_t)grad << 8 ^ (uint64_t)k ^ (uint64_t)1 << 60);
}

static void walk(struct visit *v, const struct prog *p)
{
	bool on[MAX_NODES], symbolic = p->nnode && p->node[0].op == OP_sym;
	grad_path(p, on);
	for (int i = 0; i < p->nnode; i++) {
		const struct node *n = &p->node[i];
		if (n->nout < 1)
			continue;
		uint64_t shape =
			(uint64_t)n->op << 32 ^ (uint64_t)p->surface << 28 ^ (uint64_t)symbolic << 27 ^ (uint64_t)n->out[0].meta.dtype << 8 ^ on[i];
		for (int k = 0; k < op_info[n->op].nparam; k++) {
			const struct arg *a = &n->arg[k];
			if (a->tag == ARG_TENSOR)
				operand(v, p, n, k, a->node, on[i], &shape);
			else if (a->tag == ARG_SCALAR && op_info[n->op].param[k].kind == K_TENSOR)
				shape = mix64(shape ^ (15 + 16 * (uint64_t)k) * 0x9e3779b97f4a7c15u); /* a number instead of a tensor */
			for (int j = 0; a->tag == ARG_TENSORS && j < a->n; j++)
				if (a->nodes[j] >= 0)
					operand(v, p, n, k, a->nodes[j], on[i], &shape);
		}
		feature(v, shape);
	}
}

int novelty_score(const struct novelty *v, const struct prog *p)
{
	struct visit w = {.ask = v};
	walk(&w, p);
	return w.fresh;
}

void novelty_mark(struct novelty *v, const struct prog *p)
{
	struct visit w = {.mark = v};
	walk(&w, p);
}
