/* emit_checks.c: see emit_checks.h. Nothing is said in surface aten: a graph holds no such lines, and compilers must do without them. */
#include "compiled/targets/torch/emit_checks.h"

#include <inttypes.h>

#include "compiled/targets/torch/emit_python.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

static bool is_said(const struct prog *p) { return p->surface != SURFACE_ATEN; }

/* Asks of the row as every call binds it. */
static bool in_every_call(const struct prog *p, int node, int arg, int64_t bound, bool (*holds)(const struct prog *, int, int, int64_t))
{
	bool all = true;
	for (int k = 0; k <= p->ncall && all; k++) {
		struct arena a;
		struct prog q;
		arena_init(&a);
		all = prog_bind(&q, p, k, &a, NULL) && holds(&q, node, arg, bound);
		arena_free(&a);
	}
	return all;
}

static bool is_not_negative(const struct prog *p, int node, int arg, int64_t bound) { return node_int(&p->node[node], arg) >= bound; }

void emit_check_sign(struct strbuf *sb, const struct prog *p, int node)
{
	if (p->node[node].op != OP_item || !is_said(p) || !in_every_call(p, node, A_item_value, 0, is_not_negative))
		return;
	sb_puts(sb, "    torch._check(");
	emit_name(sb, p, node);
	sb_puts(sb, " >= 0)\n");
}

/* The size of the dimension that a row's positions lie in; -1: there is none. */
static int64_t size_along(const struct prog *p, const struct node *n)
{
	const int self = op_self(n->op), dim = op_arg(n->op, N_dim);
	if (n->nout == 0 || self < 0 || dim < 0 || n->arg[self].tag != ARG_TENSOR || n->arg[dim].tag != ARG_INT)
		return -1;
	const struct meta *m = node_meta(p, n->arg[self].node);
	const int64_t d = node_int(n, dim) + (node_int(n, dim) < 0 ? m->rank : 0);
	return d < 0 || d >= m->rank ? -1 : m->size[d];
}

static bool is_within(const struct prog *p, int node, int arg, int64_t size)
{
	const struct node *n = &p->node[node];
	const int64_t at = node_int(n, arg), past = str_eq(op_info[n->op].param[arg].name, "index") ? size - 1 : size;
	return size_along(p, n) == size && at >= 0 && at <= past;
}

void emit_check_bounds(struct strbuf *sb, const struct prog *p, int node)
{
	const struct node *n = &p->node[node];
	for (int k = 0; is_said(p) && k < op_info[n->op].nparam; k++) {
		const struct param *q = &op_info[n->op].param[k];
		const int e = q->kind == K_INDEX && n->arg[k].tag == ARG_INT ? n->arg[k].i.expr : -1;
		const int64_t size = e < 0 ? -1 : size_along(p, n);
		if (size < 0 || p->expr[e].op != EX_SYM || p->node[p->expr[e].a].op != OP_item || !in_every_call(p, node, k, size, is_within))
			continue;
		sb_puts(sb, "    torch._check(");
		emit_name(sb, p, p->expr[e].a);
		sb_printf(sb, " %s %" PRId64 ")\n", str_eq(q->name, "index") ? "<" : "<=", size);
	}
}
