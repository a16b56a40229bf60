/* spell.c: reads the templates of spellings.def. One pass over a template asks whether it says the node exactly, another writes it. */
#include "compiled/targets/torch/spell.h"

#include <inttypes.h>

#include "compiled/targets/torch/emit_python.h"
#include "eager/lang/stated.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

struct spelling {
	bool listed;
	const char *in[NSURFACES];
};
static const struct spelling spellings[NOPS] = {
#define SPELL(id, torch, python) [OP_##id] = {true, {[SURFACE_TORCH] = (torch), [SURFACE_PYTHON] = (python)}},
#define ASIS(id, reason)         [OP_##id] = {true, {NULL}},
#include "compiled/targets/torch/spellings.def"
};
/* Of a row that is not listed. One with an overload must be (surface_test): its name is no Python. */
static const char *const unlisted[NOPS] = {
#define OP(id, name, ...)      [OP_##id] = "torch." name "(...)",
#define INPLACE(id, name, ...) [OP_##id] = "$self." name "(...)",
#define INPLACE_VIEW           INPLACE
#include "eager/lang/ops.def"
};

static const char *spelling(int op, enum surface surface)
{
	return spellings[op].listed ? spellings[op].in[surface] : surface == SURFACE_ATEN ? NULL : unlisted[op];
}

/* One alternative of a template, for one node. */
struct template
{
	const struct prog *p;
	const struct node *n;
	const char *s, *end;         /* what is written */
	const char *cond, *cond_end; /* after " if ", empty if there is none */
	bool statement;
};

/* ---- conditions ------------------------------------------------------------------------------------------------------- */

static const struct arg *arg_of(const struct node *n, int name)
{
	int k = op_arg(n->op, name);
	CHECK(k >= 0);
	return &n->arg[k];
}

static const struct meta *operand(const struct prog *p, const struct node *n, int name) { return node_meta(p, arg_of(n, name)->node); }

/* A slice of the whole dimension is no operator where it is an index. */
static bool part_of_dim(const struct prog *p, const struct node *n)
{
	const struct meta *self = operand(p, n, N_self);
	const struct arg *start = arg_of(n, N_start), *end = arg_of(n, N_end);
	int64_t d = arg_of(n, N_dim)->i.value;
	return (start->tag != ARG_NONE && start->i.value != 0)
		|| (end->tag != ARG_NONE && end->i.value < self->size[d < 0 ? d + self->rank : d]) || arg_of(n, N_step)->i.value != 1;
}

static bool has_dtype(const struct prog *p, const struct node *n)
{
	(void)p;
	return arg_of(n, N_dtype)->tag == ARG_DTYPE;
}

static bool converts(const struct prog *p, const struct node *n)
{
	return has_dtype(p, n) && arg_of(n, N_dtype)->dtype != operand(p, n, N_self)->dtype;
}

/* torch.nn.functional.pad makes every number a float. */
static bool real_value(const struct prog *p, const struct node *n)
{
	(void)p;
	return arg_of(n, N_value)->scalar.kind == SC_FLOAT;
}

/* torch.nn.functional.hardtanh refuses a lower bound above the upper one. */
static bool bounds_in_order(const struct prog *p, const struct node *n)
{
	(void)p;
	const struct scalar *low = &arg_of(n, N_min_val)->scalar, *high = &arg_of(n, N_max_val)->scalar;
	return !((low->kind == SC_FLOAT ? low->f : (double)low->i) > (high->kind == SC_FLOAT ? high->f : (double)high->i));
}

static bool unscaled(const struct prog *p, const struct node *n)
{
	(void)p;
	const struct scalar *scale = &arg_of(n, N_scale)->scalar, *inside = &arg_of(n, N_input_scale)->scalar;
	return scale->kind == SC_INT && scale->i == 1 && inside->kind == SC_INT && inside->i == 1;
}

static bool no_holes(const struct prog *p, const struct node *n)
{
	(void)p;
	const struct arg *a = arg_of(n, N_indices);
	for (int i = 0; i < a->n; i++)
		if (a->nodes[i] < 0)
			return false;
	return true;
}

/* A tensor without dimensions is read as a number; a last hole says nothing. */
static bool an_index(const struct prog *p, const struct node *n)
{
	const struct arg *a = arg_of(n, N_indices);
	for (int i = 0; i < a->n; i++)
		if (a->nodes[i] >= 0 && node_meta(p, a->nodes[i])->rank == 0)
			return false;
	return a->n > 0 && a->nodes[a->n - 1] >= 0;
}

/* Assignment drops leading dimensions of size 1 by a view; a value without dimensions at a mask is a fill in some versions. */
static bool assigned_at_once(const struct prog *p, const struct node *n)
{
	const struct meta *v = operand(p, n, N_values);
	const struct arg *a = arg_of(n, N_indices);
	for (int i = 0; v->rank == 0 && i < a->n; i++)
		if (a->nodes[i] >= 0 && node_meta(p, a->nodes[i])->dtype == DT_B8)
			return false;
	return an_index(p, n) && (v->rank == 0 || v->size[0] != 1);
}

/* Assignment expands the value by operators of its own. */
static bool same_sizes(const struct prog *p, const struct node *n) { return meta_same_sizes(operand(p, n, N_self), operand(p, n, N_src)); }

#define CONDITION(f)                                                                                                                       \
	{                                                                                                                                      \
#f, f                                                                                                                              \
	}
static const struct condition {
	const char *name;
	bool (*holds)(const struct prog *p, const struct node *n);
} conditions[] = {
	CONDITION(part_of_dim),
	CONDITION(has_dtype),
	CONDITION(converts),
	CONDITION(real_value),
	CONDITION(bounds_in_order),
	CONDITION(unscaled),
	CONDITION(no_holes),
	CONDITION(an_index),
	CONDITION(assigned_at_once),
	CONDITION(same_sizes),
};

static const struct condition *condition_find(int op, const char *name)
{
	for (int i = 0; i < ARRAY_LEN(conditions); i++)
		if (str_eq(conditions[i].name, name))
			return &conditions[i];
	BUG("spellings.def: %s: no condition '%s'", op_info[op].name, name);
}

/* x=TEXT: the argument's own text. */
static bool is_written(const struct template *t, const char *text)
{
	char name[MAX_NAME];
	const char *equals = strchr(text, '=');
	snprintf(name, sizeof name, "%.*s", (int)(equals - text), text);
	struct strbuf sb;
	sb_init(&sb);
	emit_arg(&sb, t->p, &t->n->arg[op_param(t->n->op, name)]);
	bool same = str_eq(sb.s, equals + 1);
	sb_free(&sb);
	return same;
}

/* The next condition into text; false: there is none. */
static bool next_condition(const struct template *t, const char **s, char *text, size_t max)
{
	static const char and[] = " and ";
	if (*s >= t->cond_end)
		return false;
	const char *stop = strstr(*s, and);
	if (!stop || stop > t->cond_end)
		stop = t->cond_end;
	snprintf(text, max, "%.*s", (int)(stop - *s), *s);
	*s = stop + (sizeof and-1);
	return true;
}

static bool conditions_hold(const struct template *t)
{
	char text[64];
	for (const char *s = t->cond; next_condition(t, &s, text, sizeof text);)
		if (!(strchr(text, '=') ? is_written(t, text) : condition_find(t->n->op, text)->holds(t->p, t->n)))
			return false;
	return true;
}

/* ---- templates -------------------------------------------------------------------------------------------------------- */

enum mark { MARK_PLAIN, MARK_NUMBER, MARK_ENTRIES, MARK_INDEX, MARK_OPTIONAL, MARK_STEP };

/* At a '$': the mark, the parameter; moves behind it. */
static int reference(const struct template *t, const char **s, enum mark *mark)
{
	static const char sign[] = " #*@?:";
	char name[MAX_NAME];
	size_t n = 0;
	const char *m = strchr(sign, *++*s);
	*mark = m ? (enum mark)(m - sign) : MARK_PLAIN;
	*s += m != NULL;
	while (n + 1 < sizeof name && strchr("abcdefghijklmnopqrstuvwxyz_0123456789", (*s)[n]) && (*s)[n])
		n++;
	snprintf(name, sizeof name, "%.*s", (int)n, *s);
	*s += n;
	int k = op_param(t->n->op, name);
	if (k < 0)
		BUG("spellings.def: %s has no argument '%s'", op_info[t->n->op].name, name);
	return k;
}

static bool at_rest(const struct template *t, const char *s) { return strncmp(s, "...", 3) == 0 && (s == t->s || s[-1] != '['); }

static const char *find(const char *s, const char *end, const char *what)
{
	const char *at = strstr(s, what);
	return at && at < end ? at : NULL;
}

/* A condition x=TEXT says what x is. */
static bool is_conditional(const struct template *t, const char *name)
{
	char text[MAX_NAME + 1];
	snprintf(text, sizeof text, "%s=", name);
	return find(t->cond, t->cond_end, text) != NULL;
}

/* Parameters that the template mentions; whether "..." takes the others. */
static bool mentions(const struct template *t, bool *mentioned, enum mark *mark)
{
	bool rest = false;
	memset(mentioned, 0, MAX_ARGS * sizeof *mentioned);
	for (const char *s = t->s; s < t->end;) {
		enum mark m;
		rest |= at_rest(t, s);
		if (*s != '$') {
			s++;
			continue;
		}
		int k = reference(t, &s, &m);
		mentioned[k] = true;
		mark[k] = m;
	}
	return rest;
}

static bool fits(const struct template *t)
{
	const struct op_info *op = &op_info[t->n->op];
	bool mentioned[MAX_ARGS];
	enum mark mark[MAX_ARGS] = {0};
	bool rest = mentions(t, mentioned, mark);
	for (int k = 0; k < op->nparam; k++) {
		const struct arg *a = &t->n->arg[k];
		bool number = op->param[k].kind == K_TENSOR && a->tag == ARG_SCALAR;
		if (number && !(mentioned[k] && mark[k] == MARK_NUMBER))
			return false;
		if (mentioned[k] && mark[k] == MARK_ENTRIES && a->n == 0)
			return false;
		bool said = mentioned[k] || rest || is_conditional(t, op->param[k].name) || param_is_stated(&op->param[k]);
		if (!said && !arg_is_default(&op->param[k], a))
			return false;
	}
	return conditions_hold(t);
}

/* The nth alternative; false: there are no more. */
static bool alternative(struct template *t, const struct prog *p, int node, int nth)
{
	const char *s = spelling(p->node[node].op, p->surface);
	for (; s && nth > 0; nth--) {
		s = strstr(s, " | ");
		s = s ? s + 3 : NULL;
	}
	if (!s || !*s)
		return false;
	const char *end = strstr(s, " | ");
	end = end ? end : s + strlen(s);
	const char *cond = find(s, end, " if ");
	*t = (struct template){.p = p, .n = &p->node[node], .s = s, .end = cond ? cond : end, .cond = cond ? cond + 4 : end, .cond_end = end};
	t->statement = str_starts(s, "do ");
	t->s += t->statement ? 3 : 0;
	return true;
}

int spell_alternatives(int op, enum surface surface)
{
	struct node node = {.op = op};
	struct prog p = {.nnode = 1, .node = &node, .surface = surface};
	struct template t;
	int n = 0;
	for (; alternative(&t, &p, 0, n); n++) {
		bool mentioned[MAX_ARGS];
		enum mark mark[MAX_ARGS];
		char text[64];
		mentions(&t, mentioned, mark);
		for (const char *s = t.cond; next_condition(&t, &s, text, sizeof text);)
			if (strchr(text, '=')) {
				*strchr(text, '=') = 0;
				CHECK(op_param(op, text) >= 0);
			} else {
				condition_find(op, text);
			}
	}
	return n;
}

/* The program as each call binds it: its own data first, then every call of other sizes. */
struct bindings {
	int n;
	struct prog prog[MAX_CALLS + 1];
};

static void bind_calls(struct bindings *out, const struct prog *p, struct arena *a)
{
	out->n = 0;
	for (int k = 0; k <= p->ncall; k++)
		if ((k == 0 || p->call[k - 1].nsym > 0) && prog_bind(&out->prog[out->n], p, k, a, NULL))
			out->n++;
}

static int first_that_fits(const struct bindings *b, int node)
{
	struct template t;
	for (int nth = 0; alternative(&t, &b->prog[0], node, nth); nth++) {
		bool ok = true;
		for (int k = 0; k < b->n && ok; k++)
			ok = alternative(&t, &b->prog[k], node, nth) && fits(&t);
		if (ok)
			return nth;
	}
	return -1;
}

/* The template that was chosen; false: none. */
static bool chosen(struct template *t, const struct spell_plan *plan, const struct prog *p, int node)
{
	return plan->choice[node] >= 0 && alternative(t, p, node, plan->choice[node]);
}

/* ---- writing ---------------------------------------------------------------------------------------------------------- */

static void write_entries(struct strbuf *sb, const struct prog *p, const struct arg *a, const char *hole)
{
	for (int i = 0; i < a->n; i++) {
		sb_puts(sb, i ? ", " : "");
		if (a->tag == ARG_INTS)
			emit_int(sb, p, &a->ints[i]);
		else if (a->nodes[i] < 0)
			sb_puts(sb, hole);
		else
			emit_name(sb, p, a->nodes[i]);
	}
}

static void write_value(struct strbuf *sb, const struct template *t, int k, enum mark mark)
{
	const struct param *q = &op_info[t->n->op].param[k];
	const struct arg *a = &t->n->arg[k];
	if (mark == MARK_ENTRIES || mark == MARK_INDEX)
		write_entries(sb, t->p, a, ":");
	else if (mark == MARK_STEP && arg_is_default(q, a))
		return;
	else if (mark == MARK_OPTIONAL && a->tag == ARG_NONE)
		return;
	else if (q->kind == K_DIMS && str_eq(q->name, "dim") && a->tag == ARG_INTS && a->n == 1)
		emit_int(sb, t->p, &a->ints[0]);
	else {
		sb_puts(sb, mark == MARK_STEP ? ":" : "");
		emit_arg(sb, t->p, a);
	}
}

static bool by_name(const struct param *q)
{
	return q->has_default || q->kwonly || q->kind == K_DIM || q->kind == K_DIMS || q->kind == K_INDEX || q->kind == K_STEP;
}

bool torch_says_device(int op)
{
	bool tensors = false;
	for (int k = 0; k < op_info[op].nparam; k++)
		tensors |= op_info[op].param[k].kind == K_TENSOR || op_info[op].param[k].kind == K_TENSORS;
	return !tensors || op_arg(op, N_steps) >= 0;
}

/* What "..." stands for. */
static void write_rest(struct strbuf *sb, const struct template *t, enum target_device device)
{
	const struct op_info *op = &op_info[t->n->op];
	bool mentioned[MAX_ARGS], named = false;
	enum mark mark[MAX_ARGS];
	mentions(t, mentioned, mark);
	bool first = t->s < t->end && sb->s[sb->len - 1] == '(';
	for (int k = 0; k < op->nparam; k++) {
		const struct param *q = &op->param[k];
		if (mentioned[k] || param_is_stated(q) || arg_is_default(q, &t->n->arg[k]))
			continue;
		named |= by_name(q);
		sb_puts(sb, first ? "" : ", ");
		if (named)
			sb_printf(sb, "%s=", q->name);
		write_value(sb, t, k, MARK_PLAIN);
		first = false;
	}
	if (torch_says_device(t->n->op) && device == TDEV_CUDA)
		sb_puts(sb, ", device='cuda'");
}

/* "torch.var(x, ...)" of nothing further leaves no ", ". */
static void drop_comma(struct strbuf *sb)
{
	if (sb->len >= 2 && strcmp(sb->s + sb->len - 2, ", ") == 0) {
		sb->len -= 2;
		sb->s[sb->len] = 0;
	}
}

static void write_template(struct strbuf *sb, const struct template *t, enum target_device device)
{
	int64_t behind = 0; /* dimensions after the indexed one, if it is counted from the end */
	for (const char *s = t->s; s < t->end;) {
		enum mark mark;
		if (at_rest(t, s)) {
			drop_comma(sb);
			write_rest(sb, t, device);
			s += 3;
		} else if (*s != '$') {
			for (; *s == ']' && behind > 0; behind--)
				sb_puts(sb, ", :");
			sb_putc(sb, *s++);
		} else {
			int k = reference(t, &s, &mark);
			if (s < t->end && *s == '~') {
				int64_t d = t->n->arg[k].i.value;
				for (int64_t i = 0; i < d; i++)
					sb_puts(sb, ":, ");
				sb_puts(sb, d < 0 ? "..., " : "");
				behind = d < 0 ? -d - 1 : 0;
				s++;
			} else {
				write_value(sb, t, k, mark);
			}
		}
	}
}

static void write_named(struct strbuf *sb, const struct spell_plan *plan, const struct prog *p, int node, int value)
{
	if (plan->nuse[node] == 0)
		return;
	sb_puts(sb, "    ");
	emit_name(sb, p, node);
	sb_puts(sb, " = ");
	emit_name(sb, p, value);
	sb_puts(sb, "\n");
}

static void write_alone(struct strbuf *sb, const struct spell_plan *plan, const struct template *t, int node)
{
	sb_puts(sb, "    ");
	if (!t->statement) {
		emit_name(sb, t->p, node);
		sb_puts(sb, " = ");
	}
	write_template(sb, t, plan->device);
	sb_puts(sb, "\n");
	if (t->statement)
		write_named(sb, plan, t->p, node, t->n->arg[A_INPLACE_self].node);
}

/* VIEW = src, or VIEW += operand: the operator and the operand are what follows self in the in-place row's spelling. */
static void write_assignment(struct strbuf *sb, const struct spell_plan *plan, const struct prog *p, int node)
{
	struct template view, write;
	bool some = chosen(&view, plan, p, plan->from[node]);
	CHECK(some);
	sb_puts(sb, "    ");
	write_template(sb, &view, plan->device);
	if (plan->form[node] == SPELL_ASSIGN) {
		sb_puts(sb, " = ");
		emit_arg(sb, p, arg_of(&p->node[node], N_src));
	} else {
		some = chosen(&write, plan, p, plan->by[node]);
		CHECK(some);
		write.s = find(write.s, write.end, " ");
		write_template(sb, &write, plan->device);
	}
	sb_puts(sb, "\n");
}

bool spell_node(struct strbuf *sb, const struct spell_plan *plan, const struct prog *p, int node)
{
	struct template t;
	switch (plan->form[node]) {
	case SPELL_FOLDED: return true;
	case SPELL_ASSIGN:
	case SPELL_AUGMENT: write_assignment(sb, plan, p, node); return true;
	case SPELL_ALONE: break;
	}
	if (!chosen(&t, plan, p, node))
		return false;
	write_alone(sb, plan, &t, node);
	return true;
}

/* ---- several nodes in one statement --------------------------------------------------------------------------------------- */

static void count_uses(struct spell_plan *plan, const struct prog *p)
{
	memset(plan->nuse, 0, sizeof plan->nuse);
	for (int i = 0; i < p->nnode; i++) {
		const struct node *n = &p->node[i];
		for (int k = 0; k < op_info[n->op].nparam; k++) {
			if (n->arg[k].tag == ARG_TENSOR)
				plan->nuse[n->arg[k].node]++;
			for (int j = 0; n->arg[k].tag == ARG_TENSORS && j < n->arg[k].n; j++)
				if (n->arg[k].nodes[j] >= 0)
					plan->nuse[n->arg[k].nodes[j]]++;
		}
	}
	for (int i = 0; i < p->nret; i++)
		plan->nuse[p->ret[i]]++;
	for (int i = 0; i < p->nback; i++)
		plan->nuse[p->back[i].cotangent]++;
}

/* Is the node written as an index of its first operand? */
static bool is_subscript(const struct spell_plan *plan, const struct prog *p, int node, bool view)
{
	struct template t;
	return op_has(p->node[node].op, T_VIEW) == view && chosen(&t, plan, p, node) && find(t.s, t.end, view ? "~" : "[$@");
}

/* Is it written x += y, with operand `self` and nothing that the statement does not say? */
static bool is_augmented(const struct spell_plan *plan, const struct prog *p, int node, int self)
{
	struct template t;
	if (!op_has(p->node[node].op, T_MUTATES) || p->node[node].arg[A_INPLACE_self].node != self || !chosen(&t, plan, p, node))
		return false;
	return t.statement && find(t.s, t.end, "= ") && !find(t.s, t.end, "[");
}

static bool same_text(const struct spell_plan *plan, const struct prog *p, int a, int b)
{
	struct template t, u;
	struct strbuf x, y;
	if (p->node[a].op != p->node[b].op || !chosen(&t, plan, p, a) || !chosen(&u, plan, p, b))
		return false;
	sb_init(&x);
	sb_init(&y);
	write_template(&x, &t, plan->device);
	write_template(&y, &u, plan->device);
	bool same = str_eq(x.s, y.s);
	sb_free(&x);
	sb_free(&y);
	return same;
}

static void fold(struct spell_plan *plan, enum spell_form form, int last, int from, int by)
{
	plan->form[last] = form;
	plan->from[last] = (short)from;
	plan->by[last] = (short)by;
}

/* x[1:3] = y: nodes at[0], at[1]. */
static bool fold_assign(struct spell_plan *plan, const struct bindings *b, const int *at, int n)
{
	const struct prog *p = &b->prog[0];
	if (n < 2 || p->node[at[1]].op != OP_copy_ || !is_subscript(plan, p, at[0], true) || plan->nuse[at[0]] != 1 || plan->nuse[at[1]] != 0)
		return false;
	const struct node *copy = &p->node[at[1]];
	if (copy->arg[A_copy__self].node != at[0] || arg_of(copy, N_src)->tag != ARG_TENSOR)
		return false;
	for (int k = 0; k < b->n; k++)
		if (!same_sizes(&b->prog[k], &b->prog[k].node[at[1]]))
			return false;
	plan->form[at[0]] = SPELL_FOLDED;
	fold(plan, SPELL_ASSIGN, at[1], at[0], -1);
	return true;
}

/* x[1:3] += y: a view, the write, the same view, copy_ of what was written. */
static bool fold_view_augment(struct spell_plan *plan, const struct prog *p, const int *at, int n)
{
	if (n < 4 || p->node[at[3]].op != OP_copy_ || !is_subscript(plan, p, at[0], true) || !is_augmented(plan, p, at[1], at[0])
		|| !same_text(plan, p, at[0], at[2]))
		return false;
	const struct node *copy = &p->node[at[3]];
	const struct arg *src = arg_of(copy, N_src);
	if (copy->arg[A_copy__self].node != at[2] || src->tag != ARG_TENSOR || src->node != at[1])
		return false;
	if (plan->nuse[at[0]] != 1 || plan->nuse[at[1]] != 1 || plan->nuse[at[2]] != 1 || plan->nuse[at[3]] != 0)
		return false;
	for (int i = 0; i < 3; i++)
		plan->form[at[i]] = SPELL_FOLDED;
	fold(plan, SPELL_AUGMENT, at[3], at[0], at[1]);
	return true;
}

/* x[i] += y: index, the write, index_put_ of what was written. */
static bool fold_index_augment(struct spell_plan *plan, const struct prog *p, const int *at, int n)
{
	struct template put;
	if (n < 3 || p->node[at[2]].op != OP_index_put_ || !is_subscript(plan, p, at[0], false) || !is_augmented(plan, p, at[1], at[0]))
		return false;
	const struct node *get = &p->node[at[0]], *last = &p->node[at[2]];
	const struct arg *a = arg_of(get, N_indices), *b = arg_of(last, N_indices), *values = arg_of(last, N_values);
	if (!chosen(&put, plan, p, at[2]) || !put.statement || last->arg[A_index_put__self].node != get->arg[A_index_Tensor_self].node
		|| a->n != b->n || values->tag != ARG_TENSOR || values->node != at[1]
		|| memcmp(a->nodes, b->nodes, sizeof *a->nodes * (size_t)a->n) != 0)
		return false;
	if (plan->nuse[at[0]] != 1 || plan->nuse[at[1]] != 1 || plan->nuse[at[2]] != 0)
		return false;
	plan->form[at[0]] = plan->form[at[1]] = SPELL_FOLDED;
	fold(plan, SPELL_AUGMENT, at[2], at[0], at[1]);
	return true;
}

void spell_plan(struct spell_plan *out, const struct prog *p, const bool *mine, enum target_device device)
{
	struct bindings b;
	struct arena a;
	int line[MAX_NODES], n = 0;
	memset(out->form, 0, sizeof out->form);
	memset(out->choice, -1, sizeof out->choice);
	out->device = device;
	if (p->surface == SURFACE_ATEN)
		return;
	arena_init(&a);
	bind_calls(&b, p, &a);
	count_uses(out, p);
	for (int i = 0; i < p->nnode; i++) {
		out->choice[i] = (signed char)(mine[i] ? first_that_fits(&b, i) : -1);
		if (mine[i] && op_info[p->node[i].op].family != F_INPUT)
			line[n++] = i;
	}
	for (int i = 0; p->surface == SURFACE_PYTHON && i < n; i++)
		if (out->form[line[i]] == SPELL_ALONE && !fold_view_augment(out, p, line + i, n - i)
			&& !fold_index_augment(out, p, line + i, n - i))
			fold_assign(out, &b, line + i, n - i);
	arena_free(&a);
}

bool spell_all(const struct prog *p, enum target_device device)
{
	bool forward[MAX_NODES], cot[MAX_NODES];
	struct spell_plan plan;
	prog_partition(p, forward, cot);
	spell_plan(&plan, p, forward, device);
	for (int i = 0; i < p->nnode; i++)
		if (forward[i] && op_info[p->node[i].op].family != F_INPUT && p->node[i].op != OP_getitem && plan.form[i] == SPELL_ALONE
			&& plan.choice[i] < 0)
			return false;
	return true;
}
