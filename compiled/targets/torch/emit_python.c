/* emit_python.c: one line per node, as the program's surface has it (spell.c) or, driven by the schema's kinds, as ATen has it: no
 * operator is named here but those that are not ATen's (input, input_view, sym, getitem). */
#include "compiled/targets/torch/emit_python.h"

#include <inttypes.h>
#include <math.h>

#include "compiled/targets/torch/emit_checks.h"
#include "compiled/targets/torch/spell.h"
#include "eager/base/escape.h"
#include "eager/lang/fill.h"
#include "eager/lang/stated.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

/* A word of Python's, or one that means something in what is emitted. */
static bool is_taken(const char *s, size_t n)
{
	static const char *const own[] = {"torch", "float", "abs", "f", "cotangents"};
	for (int i = 0; i < ARRAY_LEN(own); i++)
		if (strlen(own[i]) == n && memcmp(own[i], s, n) == 0)
			return true;
	return python_keyword(s, n);
}

void emit_name(struct strbuf *sb, const struct prog *p, int node)
{
	const char *name = p->node[node].name;
	size_t n = strlen(name);
	bool taken = is_taken(name, n);
	while (!taken && n && name[n - 1] == '_') /* lambda_ becomes lambda__: names stay different */
		taken = is_taken(name, --n);
	sb_printf(sb, "%s%s", name, taken ? "_" : "");
}

static void emit_expr(struct strbuf *sb, const struct prog *p, int e, bool outermost)
{
	static const char *const sign[] = {[EX_ADD] = " + ", [EX_SUB] = " - ", [EX_MUL] = " * ", [EX_FLOORDIV] = " // ", [EX_MOD] = " % "};
	const struct expr *x = &p->expr[e];
	if (x->op == EX_CONST) {
		sb_printf(sb, "%" PRId64, x->value);
	} else if (x->op == EX_SYM) {
		emit_name(sb, p, x->a);
	} else {
		sb_puts(sb, outermost ? "" : "(");
		if (x->op == EX_NEG)
			sb_putc(sb, '-');
		emit_expr(sb, p, x->a, false);
		if (x->op != EX_NEG) {
			sb_puts(sb, sign[x->op]);
			emit_expr(sb, p, x->b, false);
		}
		sb_puts(sb, outermost ? "" : ")");
	}
}

void emit_int(struct strbuf *sb, const struct prog *p, const struct iexpr *i)
{
	if (i->expr >= 0)
		emit_expr(sb, p, i->expr, true);
	else
		sb_printf(sb, "%" PRId64, i->value);
}

static void emit_scalar(struct strbuf *sb, const struct scalar *s)
{
	if (s->kind == SC_FLOAT && !isfinite(s->f))
		sb_printf(sb, "float('%s')", isnan(s->f) ? "nan" : s->f < 0 ? "-inf" : "inf");
	else
		scalar_print(sb, s);
}

void emit_arg(struct strbuf *sb, const struct prog *p, const struct arg *a)
{
	switch (a->tag) {
	case ARG_NONE: sb_puts(sb, "None"); return;
	case ARG_TENSOR: emit_name(sb, p, a->node); return;
	case ARG_INT: emit_int(sb, p, &a->i); return;
	case ARG_SCALAR: emit_scalar(sb, &a->scalar); return;
	case ARG_BOOL: sb_puts(sb, a->b ? "True" : "False"); return;
	case ARG_DTYPE: sb_printf(sb, "torch.%s", dtype_info[a->dtype].torch); return;
	case ARG_FORMAT: sb_printf(sb, "torch.%s", memory_format_name[a->format]); return;
	case ARG_STR: escape_python(sb, a->str); return;
	case ARG_DATA: BUG("data belongs to an input, which is not a line of Python");
	case ARG_TENSORS:
	case ARG_BOOLS:
	case ARG_INTS: break;
	}
	sb_putc(sb, '[');
	for (int k = 0; k < a->n; k++) {
		sb_puts(sb, k ? ", " : "");
		if (a->tag == ARG_INTS)
			emit_int(sb, p, &a->ints[k]);
		else if (a->tag == ARG_BOOLS)
			sb_puts(sb, a->bools[k] ? "True" : "False");
		else if (a->nodes[k] < 0)
			sb_puts(sb, "None");
		else
			emit_name(sb, p, a->nodes[k]);
	}
	sb_putc(sb, ']');
}

static void emit_aten(struct strbuf *sb, const struct prog *p, int node, enum target_device device)
{
	const struct node *n = &p->node[node];
	const struct op_info *op = &op_info[n->op];
	sb_puts(sb, "    ");
	emit_name(sb, p, node);
	sb_puts(sb, " = ");
	if (n->op == OP_getitem) {
		emit_name(sb, p, n->arg[A_getitem_self].node);
		sb_printf(sb, "[%" PRId64 "]\n", n->arg[A_getitem_index].i.value);
		return;
	}
	sb_printf(sb, "torch.ops.aten.%s%s(", op->name, strchr(op->name, '.') ? "" : ".default");
	int last = -1;
	bool first = true;
	for (int k = 0; k < op->nparam; k++) {
		if (!op->param[k].kwonly && !arg_is_default(&op->param[k], &n->arg[k]))
			last = k;
	}
	for (int k = 0; k < op->nparam; k++) {
		const struct param *q = &op->param[k];
		if (param_is_stated(q) || (q->kwonly ? arg_is_default(q, &n->arg[k]) : k > last))
			continue;
		sb_puts(sb, first ? "" : ", ");
		if (q->kwonly)
			sb_printf(sb, "%s=", q->name);
		emit_arg(sb, p, &n->arg[k]);
		first = false;
	}
	if (torch_says_device(n->op) && device == TDEV_CUDA)
		sb_puts(sb, ", device='cuda'");
	sb_puts(sb, ")\n");
}

static bool is_input(const struct node *n) { return node_is_input(n) || n->op == OP_sym; }

/* What each of the two functions takes: tensors of its nodes, symbols that they read. Sizes of inputs are not written, so a symbol that
 * only they read, or only a statement, is nobody's. */
static void parameters(const struct prog *p, bool *to_f, bool *to_cotangents)
{
	bool forward[MAX_NODES], cot[MAX_NODES], f_reads[MAX_NODES] = {0}, cot_reads[MAX_NODES] = {0};
	prog_partition(p, forward, cot);
	for (int i = 0; i < p->nnode; i++) {
		if (is_input(&p->node[i]))
			continue;
		if (forward[i])
			stated_mark_others(p, &p->node[i], f_reads);
		if (cot[i])
			stated_mark_others(p, &p->node[i], cot_reads);
	}
	for (int i = 0; i < p->nnode; i++) {
		bool sym = p->node[i].op == OP_sym, input = is_input(&p->node[i]);
		to_f[i] = input && (sym ? f_reads[i] : forward[i]);
		to_cotangents[i] = p->nback && input && (sym ? cot_reads[i] : cot[i]);
	}
}

static void emit_function(
	struct strbuf *sb, const struct prog *p, const char *name, const bool *mine, const bool *takes, enum target_device device)
{
	struct spell_plan plan;
	bool first = true;
	spell_plan(&plan, p, mine, device);
	sb_printf(sb, "def %s(", name);
	for (int i = 0; i < p->nnode; i++) {
		if (!takes[i])
			continue;
		sb_puts(sb, first ? "" : ", ");
		emit_name(sb, p, i);
		first = false;
	}
	sb_puts(sb, "):\n");
	for (int i = 0; i < p->nnode; i++) {
		if (!mine[i] || is_input(&p->node[i]))
			continue;
		emit_check_bounds(sb, p, i);
		if (!spell_node(sb, &plan, p, i))
			emit_aten(sb, p, i, device);
		emit_check_sign(sb, p, i);
	}
}

static void emit_tuple(struct strbuf *sb, const struct prog *p, const int *node, int n)
{
	sb_puts(sb, "    return (");
	for (int i = 0; i < n; i++) {
		sb_puts(sb, i ? ", " : "");
		emit_name(sb, p, node[i]);
	}
	sb_puts(sb, n == 1 ? ",)\n" : ")\n");
}

void emit_python(struct strbuf *sb, const struct prog *p, enum target_device device)
{
	bool forward[MAX_NODES], cot[MAX_NODES], to_f[MAX_NODES], to_cotangents[MAX_NODES];
	prog_partition(p, forward, cot);
	parameters(p, to_f, to_cotangents);
	emit_function(sb, p, "f", forward, to_f, device);
	emit_tuple(sb, p, p->ret, p->nret);
	if (!p->nback)
		return;
	int cotangent[MAX_RETURNS];
	for (int i = 0; i < p->nback; i++)
		cotangent[i] = p->back[i].cotangent;
	sb_puts(sb, "\n\n");
	emit_function(sb, p, "cotangents", cot, to_cotangents, device);
	emit_tuple(sb, p, cotangent, p->nback);
}

static bool emit_call(
	struct torch_call *c, const struct prog *p, int k, const int *node, int ninputs, int nstorages, struct arena *a, struct err *err)
{
	struct prog q;
	if (!prog_bind(&q, p, k, a, err))
		return false;
	struct meta *meta = ARENA_ZNEW(a, struct meta, ninputs);
	int64_t *symbol = ARENA_ZNEW(a, int64_t, ninputs);
	struct torch_bytes *storage = ARENA_ZNEW(a, struct torch_bytes, nstorages);
	for (int i = 0; i < ninputs; i++) {
		if (q.node[node[i]].op == OP_sym)
			symbol[i] = q.node[node[i]].sym_value;
		else
			meta[i] = *node_meta(&q, node[i]);
	}
	for (int s = 0; s < nstorages; s++) {
		storage[s].data = fill_storage(&q, s, a);
		storage[s].nbytes = prog_storage_nbytes(&q, s);
	}
	*c = (struct torch_call){.meta = meta, .symbol = symbol, .storage = storage};
	return true;
}

bool emit_request(struct torch_request *out, const struct prog *p, const struct target *t, struct arena *a, struct err *err)
{
	bool to_f[MAX_NODES], to_cotangents[MAX_NODES];
	parameters(p, to_f, to_cotangents);
	int *node = ARENA_NEW(a, int, p->nnode), *back = ARENA_NEW(a, int, MAX_RETURNS);
	struct torch_input *input = ARENA_ZNEW(a, struct torch_input, p->nnode);
	struct torch_call *call = ARENA_ZNEW(a, struct torch_call, p->ncall + 1);
	int n = 0;
	for (int i = 0; i < p->nnode; i++) {
		const struct node *d = &p->node[i];
		if (!is_input(d))
			continue;
		bool sym = d->op == OP_sym;
		input[n] = (struct torch_input){.name = d->name,
			.symbol = sym,
			.to_f = to_f[i],
			.to_cotangents = to_cotangents[i],
			.requires_grad = node_requires_grad(d),
			.storage = sym ? 0 : d->out[0].storage};
		node[n++] = i;
	}
	int nstorages = prog_input_storages(p);
	for (int k = 0; k <= p->ncall; k++)
		if (!emit_call(&call[k], p, k, node, n, nstorages, a, err))
			return false;
	for (int i = 0; i < p->nback; i++)
		for (int r = 0; r < p->nret; r++)
			if (p->ret[r] == p->back[i].node) {
				back[i] = r;
				break;
			}
	struct strbuf sb;
	sb_init(&sb);
	emit_python(&sb, p, t->device);
	*out = (struct torch_request){.target = *t,
		.source = arena_strdup(a, sb.s),
		.ninputs = n,
		.nstorages = nstorages,
		.nouts = p->nret,
		.ncalls = p->ncall + 1,
		.nbackward = p->nback,
		.input = input,
		.call = call,
		.backward = back,
		.late = p->late};
	sb_free(&sb);
	return true;
}
