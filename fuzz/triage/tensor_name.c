/* tensor_name.c: names of tensors. The one idea: the parser prints the names that the program has and compares; there is no grammar. */
#include "fuzz/triage/tensor_name.h"
#include "generated/op_input.h"

/* The program node that names the tensor; -1: there is no such tensor. */
static int node_of(const struct prog *p, enum tensor_role role, int index)
{
	int left = index;
	if (role == TR_OUTPUT)
		return index >= 0 && index < p->nret ? p->ret[index] : -1;
	for (int i = 0; i < p->nnode; i++) {
		if (role == TR_GRADIENT && node_requires_grad(&p->node[i]) && left-- == 0)
			return i;
		if (role == TR_STORAGE && p->node[i].op == OP_input && p->node[i].out[0].storage == index)
			return i;
	}
	return -1;
}

void tensor_name_of(struct tensor_name *out, const struct prog *p, enum tensor_role role, int index)
{
	int node = node_of(p, role, index);
	CHECK(node >= 0);
	*out = (struct tensor_name){.role = role, .index = index};
	snprintf(out->node, sizeof out->node, "%s", p->node[node].name);
}

void tensor_name_of_verdict(struct tensor_name *out, const struct prog *p, const struct tensor_verdict *v)
{
	tensor_name_of(out, p, v->role, v->index);
	out->later = v->later;
}

void tensor_name_print(struct strbuf *sb, const struct tensor_name *n)
{
	const char *when = n->later ? " after the last call" : n->role == TR_STORAGE ? " afterwards" : "";
	switch (n->role) {
	case TR_OUTPUT: sb_printf(sb, "out %d (%s)%s", n->index, n->node, when); return;
	case TR_GRADIENT: sb_printf(sb, "%s.grad%s", n->node, when); return;
	case TR_STORAGE: sb_printf(sb, "input %s%s", n->node, when); return;
	}
	BUG("tensor role %d", (int)n->role);
}

const char *tensor_name_text(const struct tensor_name *n, struct arena *a)
{
	struct strbuf sb;
	sb_init(&sb);
	tensor_name_print(&sb, n);
	const char *s = arena_strdup(a, sb.s);
	sb_free(&sb);
	return s;
}

bool tensor_name_read(struct tensor_name *out, const char *text, const struct prog *p, struct err *err)
{
	static const enum tensor_role roles[] = {TR_OUTPUT, TR_GRADIENT, TR_STORAGE};
	struct strbuf sb;
	bool found = false;
	sb_init(&sb);
	for (int r = 0; !found && r < 2 * ARRAY_LEN(roles); r++)
		for (int i = 0; !found && node_of(p, roles[r / 2], i) >= 0; i++) {
			struct tensor_name n;
			tensor_name_of(&n, p, roles[r / 2], i);
			n.later = r % 2;
			sb_reset(&sb);
			tensor_name_print(&sb, &n);
			found = str_eq(sb.s, text);
			if (found)
				*out = n;
		}
	sb_free(&sb);
	return found || err_set(err, "'%.100s' is no tensor of the program", text);
}
