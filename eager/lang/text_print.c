/* text_print.c: programs to text. The printed form is canonical: a required argument prints by position until the first named
 * one; dimensions, positions and whatever has a default print as name=value, and only if they differ from the default. */
#include "eager/lang/prog.h"
#include "generated/op_input.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static void print_nan(struct strbuf *sb, double v)
{
	uint64_t bits;
	memcpy(&bits, &v, 8);
	if (bits == 0x7ff8000000000000u)
		sb_puts(sb, "nan");
	else
		sb_printf(sb, "nan(0x%016" PRIx64 ")", bits);
}

void scalar_print(struct strbuf *sb, const struct scalar *s)
{
	if (s->kind == SC_BOOL) {
		sb_puts(sb, s->i ? "True" : "False");
		return;
	}
	if (s->kind == SC_INT) {
		sb_printf(sb, "%" PRId64, s->i);
		return;
	}
	if (isnan(s->f)) {
		print_nan(sb, s->f);
		return;
	}
	sb_double(sb, s->f, 1);
}

static void print_expr(struct strbuf *sb, const struct prog *p, int e, int outer)
{
	static const char *const sign[] = {[EX_ADD] = " + ", [EX_SUB] = " - ", [EX_MUL] = "*", [EX_FLOORDIV] = " // ", [EX_MOD] = " % "};
	const struct expr *x = &p->expr[e];
	if (x->op == EX_CONST) {
		sb_printf(sb, "%" PRId64, x->value);
	} else if (x->op == EX_SYM) {
		sb_puts(sb, p->node[x->a].name);
	} else if (x->op == EX_NEG) {
		sb_puts(sb, "-");
		print_expr(sb, p, x->a, 3);
	} else {
		int level = x->op == EX_ADD || x->op == EX_SUB ? 1 : 2;
		if (level <= outer)
			sb_putc(sb, '(');
		print_expr(sb, p, x->a, level - 1);
		sb_puts(sb, sign[x->op]);
		print_expr(sb, p, x->b, level);
		if (level <= outer)
			sb_putc(sb, ')');
	}
}

static void print_int(struct strbuf *sb, const struct prog *p, const struct iexpr *i)
{
	if (i->expr < 0)
		sb_printf(sb, "%" PRId64, i->value);
	else
		print_expr(sb, p, i->expr, 0);
}

static void print_arg(struct strbuf *sb, const struct prog *p, const struct arg *a)
{
	switch (a->tag) {
	case ARG_NONE: sb_puts(sb, "None"); return;
	case ARG_TENSOR: sb_puts(sb, p->node[a->node].name); return;
	case ARG_INT: print_int(sb, p, &a->i); return;
	case ARG_SCALAR: scalar_print(sb, &a->scalar); return;
	case ARG_BOOL: sb_puts(sb, a->b ? "True" : "False"); return;
	case ARG_DTYPE: sb_puts(sb, dtype_info[a->dtype].name); return;
	case ARG_FORMAT: sb_puts(sb, memory_format_name[a->format]); return;
	case ARG_STR: sb_printf(sb, "\"%s\"", a->str); return;
	case ARG_TENSORS:
	case ARG_INTS:
	case ARG_BOOLS:
	case ARG_DATA: break;
	}
	sb_putc(sb, '[');
	for (int k = 0; k < a->n; k++) {
		sb_puts(sb, k ? ", " : "");
		if (a->tag == ARG_INTS)
			print_int(sb, p, &a->ints[k]);
		else if (a->tag == ARG_BOOLS)
			sb_puts(sb, a->bools[k] ? "True" : "False");
		else if (a->tag == ARG_DATA)
			scalar_print(sb, &a->data[k]);
		else
			sb_puts(sb, a->nodes[k] < 0 ? "None" : p->node[a->nodes[k]].name);
	}
	sb_putc(sb, ']');
}

bool arg_is_default(const struct param *q, const struct arg *a)
{
	if (!q->has_default)
		return false;
	if (a->tag == ARG_NONE || q->dflt_none)
		return a->tag == ARG_NONE;
	switch (a->tag) {
	case ARG_INT: return a->i.expr < 0 && a->i.value == q->dflt.i;
	case ARG_BOOL: return a->b == (q->dflt.i != 0);
	case ARG_STR: return str_eq(a->str, q->dflt_str);
	case ARG_DTYPE: return str_eq(dtype_info[a->dtype].name, q->dflt_str);
	case ARG_FORMAT: return str_eq(memory_format_name[a->format], q->dflt_str);
	case ARG_INTS:
		for (int i = 0; i < a->n; i++)
			if (a->ints[i].expr >= 0 || a->ints[i].value != q->dflt.i + (q->kind == K_DIMS ? i : 0))
				return false;
		return a->n == (q->dflt.kind == SC_INT ? param_default_length(q) : 0);
	case ARG_SCALAR:
		return a->scalar.kind == q->dflt.kind && (q->dflt.kind == SC_FLOAT ? a->scalar.f == q->dflt.f : a->scalar.i == q->dflt.i);
	default: return false;
	}
}

/* One, or a tuple of them. */
static void print_annotations(struct strbuf *sb, const struct node *n)
{
	bool single = op_info[n->op].nret == 1;
	sb_puts(sb, single ? ": " : ": (");
	for (int k = 0; k < n->nout; k++) {
		sb_puts(sb, k ? ", \"" : "\"");
		meta_print(sb, &n->out[k].meta);
		sb_putc(sb, '"');
	}
	sb_puts(sb, single ? "" : n->nout == 1 ? ",)" : ")");
}

void node_print(struct strbuf *sb, const struct prog *p, int node)
{
	const struct node *n = &p->node[node];
	const struct op_info *op = &op_info[n->op];
	sb_puts(sb, n->name);
	if (node_is_sym(n))
		sb_printf(sb, ": \"Sym(%" PRId64 ")\"", n->op == OP_sym ? n->arg[A_sym_value].i.value : n->sym_value);
	else if (!n->refusal)
		print_annotations(sb, n);
	sb_printf(sb, " = %s(", op->name);
	bool named = false, first = true;
	for (int k = 0; k < op->nparam; k++) {
		const struct param *q = &op->param[k];
		if (arg_is_default(q, &n->arg[k]))
			continue;
		named |= q->has_default || q->kwonly || q->kind == K_DIM || q->kind == K_DIMS || q->kind == K_INDEX || q->kind == K_STEP;
		sb_puts(sb, first ? "" : ", ");
		if (named)
			sb_printf(sb, "%s=", q->name);
		print_arg(sb, p, &n->arg[k]);
		first = false;
	}
	sb_puts(sb, ")\n");
}

static void print_call(struct strbuf *sb, const struct prog *p, const struct call *c)
{
	sb_puts(sb, "call (");
	for (int i = 0; i < c->ninput; i++) {
		const struct call_input *in = &c->input[i];
		sb_printf(sb, "%s%s: ", i ? ", " : "", p->node[in->node].name);
		if (in->data.tag == ARG_DATA) {
			sb_puts(sb, "data=");
			print_arg(sb, p, &in->data);
			continue;
		}
		sb_printf(sb, "seed=%" PRIu64, in->seed);
		if (in->fill)
			sb_printf(sb, " fill=%s", in->fill);
	}
	for (int i = 0; i < c->nsym; i++)
		sb_printf(sb, "%s%s=%" PRId64, i || c->ninput ? ", " : "", p->node[c->sym[i].node].name, c->sym[i].value);
	sb_puts(sb, ")\n");
}

void prog_print(struct strbuf *sb, const struct prog *p)
{
	sb_puts(sb, "# scatterproof 1\n");
	if (p->surface != SURFACE_ATEN)
		sb_printf(sb, "surface %s\n", surface_name[p->surface]);
	for (int i = 0; i < p->nnode; i++)
		node_print(sb, p, i);
	sb_puts(sb, "return (");
	for (int i = 0; i < p->nret; i++)
		sb_printf(sb, "%s%s", i ? ", " : "", p->node[p->ret[i]].name);
	sb_puts(sb, p->nret == 1 ? ",)\n" : ")\n");
	if (p->has_backward) {
		sb_puts(sb, "backward (");
		for (int i = 0; i < p->nback; i++)
			sb_printf(sb, "%s%s: %s", i ? ", " : "", p->node[p->back[i].node].name, p->node[p->back[i].cotangent].name);
		sb_printf(sb, "%s%s\n", p->nback == 1 ? ",)" : ")", p->late ? " late" : "");
	}
	if (p->must_raise) {
		char quote = p->raises && strchr(p->raises, '"') ? '\'' : '"';
		sb_puts(sb, "raises");
		if (p->raises)
			sb_printf(sb, " %c%s%c", quote, p->raises, quote);
		sb_putc(sb, '\n');
	}
	for (int i = 0; i < p->ncall; i++)
		print_call(sb, p, &p->call[i]);
}
