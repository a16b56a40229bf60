/* rows.h: a program in one line, for tests of what a pass leaves. */
#ifndef SCATTERPROOF_TEST_ROWS_H
#define SCATTERPROOF_TEST_ROWS_H

#include "generated/op_id.h"
#include "tests/unit/program.h"

/* "v = slice.Tensor(x); ": the operator and its tensor operands, of `full` the number. */
static void print_row(struct strbuf *sb, const struct prog *p, const struct node *n)
{
	const char *comma = "";
	sb_printf(sb, "%s = %s(", n->name, op_info[n->op].name);
	for (int k = 0; k < op_info[n->op].nparam; k++) {
		if (n->arg[k].tag == ARG_TENSOR) {
			sb_printf(sb, "%s%s", comma, p->node[n->arg[k].node].name);
			comma = ", ";
		}
		if (n->op == OP_full && n->arg[k].tag == ARG_SCALAR)
			scalar_print(sb, &n->arg[k].scalar);
	}
	sb_puts(sb, "); ");
}

static const char *rows(const struct prog *p)
{
	struct strbuf sb;
	sb_init(&sb);
	for (int i = 0; i < p->nnode; i++)
		if (!node_is_input(&p->node[i]))
			print_row(&sb, p, &p->node[i]);
	sb_puts(&sb, "return");
	for (int i = 0; i < p->nret; i++)
		sb_printf(&sb, " %s", p->node[p->ret[i]].name);
	const char *s = arena_strdup(&arena, sb.s);
	sb_free(&sb);
	return s;
}

#endif
