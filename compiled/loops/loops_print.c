/* loops_print.c: loop programs as text, a line each (loops.h has an example). */
#include "compiled/loops/loops_text.h"
#include "compiled/loops/symbols.h"

#include <inttypes.h>

/* Instructions that a word begins, `r3: f32 = load ...`; table rows have their own names. */
const char *const loop_word[NLOOPOPS] = {
	[LOOP_CONST] = "const",
	[LOOP_INDEX] = "index",
	[LOOP_LOAD] = "load",
	[LOOP_AS] = "as",
	[LOOP_ROUND] = "rounded",
	[LOOP_CAST] = "cast",
	[LOOP_PACK] = "pack",
	[LOOP_UNPACK] = "unpack",
	[LOOP_DIV] = "div",
	[LOOP_MOD] = "mod",
	[LOOP_SELECT] = "choose",
	[LOOP_VAR] = "var",
	[LOOP_BOUND] = "bound",
};

static void put_number(struct strbuf *sb, const struct loops *l, int of, int64_t v)
{
	if (of)
		poly_print(sb, &l->poly[of]);
	else
		sb_printf(sb, "%" PRId64, v);
}

/* In an index: what is more than a number or a symbol stands in parentheses. */
static void put_factor(struct strbuf *sb, const struct loops *l, int of, int64_t v)
{
	const struct poly *p = of ? &l->poly[of] : NULL;
	bool alone = !p;
	for (int k = 0; p && k < MAX_POLY_SYMBOLS; k++) {
		const struct poly symbol = poly_symbol(k);
		alone |= poly_same(p, &symbol);
	}
	sb_puts(sb, alone ? "" : "(");
	put_number(sb, l, of, v);
	sb_puts(sb, alone ? "" : ")");
}

static void put_at(struct strbuf *sb, const struct loops *l, const struct affine *at)
{
	for (int k = 0; k < at->n; k++) {
		const struct affine_term *t = &at->term[k];
		sb_printf(sb, "%sr%d", k ? " + " : "", t->reg);
		if (t->times != 1 || t->times_of) {
			sb_puts(sb, "*");
			put_factor(sb, l, t->times_of, t->times);
		}
	}
	if (at->base != 0 || at->base_of || at->n == 0) {
		sb_puts(sb, at->n ? " + " : "");
		put_factor(sb, l, at->base_of, at->base);
	}
}

static void put_const(struct strbuf *sb, const struct loop_ins *i)
{
	struct scalar s = {.kind = i->type == REG_F32 || i->type == REG_F64 ? SC_FLOAT : SC_INT, .i = i->value.i64};
	if (s.kind == SC_FLOAT)
		s.f = i->type == REG_F32 ? (double)i->value.f32 : i->value.f64;
	sb_puts(sb, " ");
	scalar_print(sb, &s);
}

static void put_operands(struct strbuf *sb, const int *reg, int n)
{
	for (int k = 0; k < n; k++) {
		sb_puts(sb, k ? ", " : "");
		if (reg[k] == NO_REG)
			sb_puts(sb, "_");
		else
			sb_printf(sb, "r%d", reg[k]);
	}
}

static void put_row(struct strbuf *sb, const struct loop_ins *i)
{
	const int operand[] = {i->a, i->b, i->c};
	int n = 3;
	while (n > 1 && operand[n - 1] == NO_REG)
		n--;
	sb_printf(sb, "%s %s(", op_info[i->row].name, dtype_info[i->dtype].name);
	put_operands(sb, operand, n);
	int given = ROW_NUMBERS;
	while (given > 0 && i->scalar[given - 1] == NO_REG)
		given--;
	if (given) {
		sb_puts(sb, "; ");
		put_operands(sb, i->scalar, given);
	}
	sb_puts(sb, ")");
}

static void put_computed(struct strbuf *sb, const struct loops *l, const struct loop_ins *i)
{
	sb_printf(sb, "r%d: %s = ", i->dst, reg_type_name[i->type]);
	if (i->op == LOOP_ROW) {
		put_row(sb, i);
		return;
	}
	sb_puts(sb, loop_word[i->op]);
	if (i->op == LOOP_ROUND || i->op == LOOP_CAST || i->op == LOOP_PACK || i->op == LOOP_UNPACK)
		sb_printf(sb, " %s", dtype_info[i->dtype].name);
	if (i->op == LOOP_CAST)
		sb_printf(sb, " from %s", dtype_info[i->from].name);
	if (i->op == LOOP_CONST && i->number_of) {
		sb_puts(sb, " ");
		put_number(sb, l, i->number_of, 0);
	} else if (i->op == LOOP_CONST) {
		put_const(sb, i);
	}
	if (i->op == LOOP_LOAD)
		sb_printf(sb, " b%d[", i->buffer);
	if (i->op == LOOP_INDEX)
		sb_puts(sb, " ");
	if (i->at)
		put_at(sb, l, i->at);
	if (i->op == LOOP_LOAD)
		sb_puts(sb, "]");
	if (i->a != NO_REG)
		sb_printf(sb, " r%d", i->a);
	if (i->op == LOOP_SELECT)
		sb_printf(sb, " r%d r%d", i->b, i->c);
	if (i->op == LOOP_DIV || i->op == LOOP_MOD || i->op == LOOP_BOUND) {
		sb_puts(sb, i->op == LOOP_BOUND ? " of " : " ");
		put_number(sb, l, i->number_of, i->imm);
	}
	if (i->op == LOOP_BOUND)
		sb_printf(sb, " dim %" PRId64 "%s", i->imm2, i->negative ? " wrapping" : "");
}

static void put_numbers(struct strbuf *sb, const struct loops *l, const int *of, const int64_t *v, int n)
{
	sb_puts(sb, "[");
	for (int k = 0; k < n; k++) {
		sb_puts(sb, k ? ", " : "");
		put_number(sb, l, of[k], v[k]);
	}
	sb_puts(sb, "]");
}

static void put_places(struct strbuf *sb, const struct loops *l, const struct place *p, int n)
{
	for (int k = 0; k < n; k++) {
		const struct meta *m = &p[k].meta;
		sb_printf(sb, "%sb%d %s", k ? ", " : "", p[k].buffer, dtype_info[m->dtype].name);
		put_numbers(sb, l, p[k].of.size, m->size, m->rank);
		put_numbers(sb, l, p[k].of.stride, m->stride, m->rank);
		sb_puts(sb, "+");
		put_factor(sb, l, p[k].of.offset, m->offset);
	}
}

static void put_for(struct strbuf *sb, const struct loops *l, const struct loop_ins *i)
{
	sb_printf(sb, "for r%d < ", i->dst);
	put_number(sb, l, i->number_of, i->imm);
	if (i->a != NO_REG)
		sb_printf(sb, " in r%d + %" PRId64, i->a, i->imm2);
	else if (i->imm2)
		sb_printf(sb, " by %" PRId64, i->imm2);
	sb_puts(sb, i->parallel ? " parallel" : i->summed ? " summed" : "");
}

static void put_ins(struct strbuf *sb, const struct loops *l, const struct loop_ins *i)
{
	switch (i->op) {
	case LOOP_FOR: put_for(sb, l, i); break;
	case LOOP_IF: sb_printf(sb, "if r%d", i->a); break;
	case LOOP_ELSE: sb_puts(sb, "else"); break;
	case LOOP_END: sb_puts(sb, "end"); break;
	case LOOP_SET: sb_printf(sb, "r%d := r%d", i->dst, i->a); break;
	case LOOP_STORE:
		sb_printf(sb, "store b%d[", i->buffer);
		put_at(sb, l, i->at);
		sb_printf(sb, "] = r%d", i->a);
		break;
	case LOOP_STATED:
		sb_printf(sb, "stated r%d = ", i->a);
		put_number(sb, l, i->number_of, i->imm);
		break;
	case LOOP_EXTERN:
		sb_printf(sb, "extern %d(", i->call->node);
		put_places(sb, l, i->call->in, i->call->nin);
		sb_puts(sb, ") -> (");
		put_places(sb, l, i->call->out, i->call->nout);
		sb_puts(sb, ")");
		break;
	default: put_computed(sb, l, i);
	}
	sb_puts(sb, "\n");
}

static void put_head(struct strbuf *sb, const struct loops *l)
{
	for (int s = 0; s < l->nsymbol; s++) {
		const struct size_symbol *from = &l->symbol[s];
		if (!from->bound)
			continue;
		if (from->data)
			sb_printf(sb, "s%d = data of argument %d, %" PRId64 "\n", s, from->dim, from->hint);
		else if (from->input >= 0)
			sb_printf(sb, "s%d = size %d of input %d, %" PRId64 "\n", s, from->dim, from->input, from->hint);
		else
			sb_printf(sb, "s%d = argument %d, %" PRId64 "\n", s, from->dim, from->hint);
	}
	for (int k = 0; k < l->nguard; k++) {
		sb_puts(sb, "guard ");
		guard_print(sb, &l->guard[k]);
		sb_puts(sb, "\n");
	}
}

static void put_buffer(struct strbuf *sb, const struct loops *l, int b)
{
	const struct loop_buffer *buffer = &l->buffer[b];
	const char *before = " uses ";
	sb_printf(sb, "b%d: %s[", b, dtype_info[buffer->dtype].name);
	put_number(sb, l, buffer->ncells_of, buffer->ncells);
	sb_puts(sb, "]");
	if (buffer->input >= 0)
		sb_printf(sb, " = input %d", buffer->input);
	if (buffer->local)
		sb_puts(sb, " local");
	for (int s = 0; s < l->nsymbol; s++)
		if (buffer->uses & 1u << s) {
			sb_printf(sb, "%ss%d", before, s);
			before = ", ";
		}
	sb_puts(sb, "\n");
}

void loops_print(struct strbuf *sb, const struct loops *l)
{
	int depth = 0;
	sb_puts(sb, "loops 1\n");
	put_head(sb, l);
	for (int b = 0; b < l->nbuffer; b++)
		put_buffer(sb, l, b);
	for (int i = 0; i < l->nins; i++) {
		const enum loop_op op = l->ins[i].op;
		depth -= op == LOOP_END || op == LOOP_ELSE;
		sb_printf(sb, "%*s", 2 * depth, "");
		put_ins(sb, l, &l->ins[i]);
		depth += op == LOOP_FOR || op == LOOP_IF || op == LOOP_ELSE;
	}
	sb_puts(sb, l->results_stay ? "return kept " : "return ");
	put_places(sb, l, l->ret, l->nret);
	sb_puts(sb, "\n");
}
