/* names.c: sources first, because letters are theirs; then a node after the other, each by its operator. */
#include "eager/lang/names.h"

#include "generated/op_id.h"

static const char *numbered(const struct prog *p, const char *word, int k) { return k ? arena_printf(p->arena, "%s_%d", word, k) : word; }

static void name_cotangents(struct prog *p)
{
	int n = 0;
	for (int i = 0; i < p->nback; i++) {
		struct node *g = &p->node[p->back[i].cotangent];
		if (!g->name) /* one may be given twice */
			g->name = numbered(p, "g", n++);
	}
}

static void name_sources(struct prog *p)
{
	static const char *const letter[] = {"x", "y", "z", "w", "v", "u"};
	int ninputs = 0, nsyms = 0;
	for (int i = 0; i < p->nnode; i++) {
		struct node *n = &p->node[i];
		if (n->name || (!node_is_input(n) && n->op != OP_sym))
			continue;
		if (n->op == OP_sym)
			n->name = arena_printf(p->arena, "s%d", nsyms++);
		else if (ninputs < ARRAY_LEN(letter))
			n->name = letter[ninputs++];
		else
			n->name = numbered(p, "x", ++ninputs - ARRAY_LEN(letter));
	}
}

void prog_name_nodes(struct prog *p)
{
	struct err err = {0};
	for (int i = 0; i < p->nnode; i++)
		p->node[i].name = NULL;
	name_cotangents(p);
	name_sources(p);
	for (int i = 0; i < p->nnode; i++) {
		if (p->node[i].name)
			continue;
		const char *op = op_info[p->node[i].op].name;
		const char *word = arena_printf(p->arena, "%.*s", (int)strcspn(op, "."), op), *name = word;
		for (int k = 1; prog_find(p, name) >= 0; k++)
			name = numbered(p, word, k);
		p->node[i].name = name;
	}
	if (p->must_raise && !prog_infer(p, &err))
		BUG("%s", err.msg);
}

bool prog_names_tell(const struct prog *p)
{
	struct arena a;
	struct prog q;
	bool same = true;
	arena_init(&a);
	prog_clone(&q, p, &a);
	prog_name_nodes(&q);
	for (int i = 0; i < p->nnode; i++)
		same = same && str_eq(p->node[i].name, q.node[i].name);
	arena_free(&a);
	return same;
}
