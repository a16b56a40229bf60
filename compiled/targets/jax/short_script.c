/* short_script.c: one line of f for each row that what is returned depends on, inputs by the plainest function that makes their numbers. */
#include "compiled/targets/jax/short_script.h"

#include <inttypes.h>

#include "compiled/targets/dialect.h"
#include "compiled/targets/message.h"
#include "compiled/targets/short_numbers.h"
#include "eager/base/escape.h"
#include "eager/lang/fill.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

static const struct spelling {
	const char *row, *text;
	bool arithmetic;
} spellings[] = {
#define SPELL(row, text) {row, text, false},
#define ARITH(row, text) {row, text, true},
#include "compiled/targets/jax/spellings.def"
};

/* The function that is written. */
struct writer {
	const struct prog *p;                           /* in the core dialect */
	const char *name[MAX_NODES], *param[MAX_NODES]; /* param: of an input, as f's parameter */
	bool needed[MAX_NODES];
	bool along; /* a line calls along() */
	const char *why;
	struct arena *a;
};

static const struct spelling *spelling_of(int op)
{
	for (int i = 0; i < ARRAY_LEN(spellings); i++)
		if (str_eq(spellings[i].row, op_info[op].name))
			return &spellings[i];
	return NULL;
}

static const char *dtype_name(enum dtype t, struct arena *a)
{
	return t == DT_B8 ? "bool" : arena_printf(a, "jnp.%s", dtype_info[t].torch);
}

/* ---- a line of f ----------------------------------------------------------------------------------------------------------------- */

/* The argument of that name, NULL: the row has none. */
static const struct arg *arg_named(const struct node *n, const char *name)
{
	const int k = op_param(n->op, name);
	return k < 0 ? NULL : &n->arg[k];
}

static void operand(struct strbuf *sb, const struct writer *w, int node, const struct meta *result, const struct spelling *s)
{
	sb_puts(sb, w->name[node]);
	if (s->arithmetic && node_meta(w->p, node)->dtype != result->dtype)
		sb_printf(sb, ".astype(%s)", dtype_name(result->dtype, w->a));
}

static void argument(struct strbuf *sb, const struct writer *w, const struct arg *x, const struct meta *result, const struct spelling *s)
{
	switch (x->tag) {
	case ARG_TENSOR: operand(sb, w, x->node, result, s); return;
	case ARG_INT: sb_printf(sb, "%" PRId64, x->i.value); return;
	case ARG_SCALAR: short_number(sb, &x->scalar); return;
	case ARG_BOOL: sb_puts(sb, x->b ? "True" : "False"); return;
	case ARG_DTYPE: sb_puts(sb, dtype_name(x->dtype, w->a)); return;
	case ARG_STR: escape_python(sb, x->str); return;
	case ARG_NONE:
	case ARG_FORMAT:
	case ARG_BOOLS:
	case ARG_DATA: sb_puts(sb, "None"); return;
	case ARG_TENSORS:
	case ARG_INTS: break;
	}
	sb_putc(sb, x->tag == ARG_INTS ? '(' : '[');
	for (int k = 0; k < x->n; k++) {
		sb_puts(sb, k ? ", " : "");
		if (x->tag == ARG_INTS)
			sb_printf(sb, "%" PRId64, x->ints[k].value);
		else
			operand(sb, w, x->nodes[k], result, s);
	}
	sb_puts(sb, x->tag != ARG_INTS ? "]" : x->n == 1 ? ",)" : ")");
}

static int64_t int_named(const struct node *n, const char *name, int64_t otherwise)
{
	const struct arg *x = arg_named(n, name);
	return x && x->tag == ARG_INT ? x->i.value : otherwise;
}

/* ":, :, " up to the dimension of argument `dim`. */
static void dims_before(struct strbuf *sb, const struct writer *w, const struct node *n)
{
	const int rank = node_meta(w->p, n->arg[0].node)->rank;
	const int64_t dim = int_named(n, "dim", 0);
	for (int64_t d = 0; d < (dim < 0 ? dim + rank : dim); d++)
		sb_puts(sb, ":, ");
}

static void sliced(struct strbuf *sb, const struct writer *w, const struct node *n)
{
	const int64_t start = int_named(n, "start", 0), end = int_named(n, "end", INT64_MAX), step = int_named(n, "step", 1);
	dims_before(sb, w, n);
	if (start)
		sb_printf(sb, "%" PRId64, start);
	sb_putc(sb, ':');
	if (end != INT64_MAX)
		sb_printf(sb, "%" PRId64, end);
	if (step != 1)
		sb_printf(sb, ":%" PRId64, step);
}

static void indices(struct strbuf *sb, const struct writer *w, const struct arg *x)
{
	for (int k = 0; k < x->n; k++)
		sb_printf(sb, "%s%s", k ? ", " : "", x->nodes[k] < 0 ? ":" : w->name[x->nodes[k]]);
}

/* ":, 2" of argument `index`. */
static void selected(struct strbuf *sb, const struct writer *w, const struct node *n)
{
	dims_before(sb, w, n);
	sb_printf(sb, "%" PRId64, int_named(n, "index", 0));
}

static bool is_set(const struct node *n, const char *name)
{
	const struct arg *x = arg_named(n, name);
	return x && x->b;
}

/* A word of spellings.def in capitals; false: it is none. */
static bool made_word(struct strbuf *sb, const struct writer *w, const struct node *n, const struct spelling *s, const char *what)
{
	const struct meta *m = &n->out[0].meta;
	const struct arg *dim = arg_named(n, "dim"), *list = arg_named(n, "indices"), all = {.tag = ARG_NONE};
	if (str_eq(what, "SIZE"))
		short_tuple(sb, m->size, m->rank);
	else if (str_eq(what, "DTYPE"))
		sb_puts(sb, dtype_name(m->dtype, w->a));
	else if (str_eq(what, "DTYPE?") && m->dtype != node_meta(w->p, n->arg[0].node)->dtype)
		sb_printf(sb, ", dtype=%s", dtype_name(m->dtype, w->a));
	else if (str_eq(what, "KEEP?") && is_set(n, "keepdim"))
		sb_puts(sb, ", keepdims=True");
	else if (str_eq(what, "AXIS") && dim)
		argument(sb, w, dim->tag == ARG_INTS && dim->n ? dim : &all, m, s);
	else if (str_eq(what, "SLICE"))
		sliced(sb, w, n);
	else if (str_eq(what, "AT"))
		selected(sb, w, n);
	else if (str_eq(what, "INDICES") && list)
		indices(sb, w, list);
	else if (str_eq(what, "HOW"))
		sb_puts(sb, is_set(n, "accumulate") ? "add" : "set");
	else
		return what[strlen(what) - 1] == '?';
	return true;
}

/* What stands in braces. */
static void placeholder(struct strbuf *sb, const struct writer *w, const struct node *n, const struct spelling *s, const char *what)
{
	const size_t length = strcspn(what, "*");
	const bool factor = what[length];
	if (made_word(sb, w, n, s, what))
		return;
	const struct arg *x = arg_named(n, arena_printf(w->a, "%.*s", (int)length, what));
	CHECK(x);
	if (factor && x->tag == ARG_SCALAR && short_value(&x->scalar) == 1)
		return;
	argument(sb, w, x, &n->out[0].meta, s);
	sb_puts(sb, factor ? " * " : "");
}

/* The right side of the line. */
static const char *expression(struct writer *w, const struct node *n, const struct spelling *s)
{
	struct strbuf sb;
	sb_init(&sb);
	for (const char *at = s->text; *at; at++) {
		const char *end = *at == '{' ? strchr(at, '}') : NULL;
		if (!end) {
			sb_putc(&sb, *at);
			continue;
		}
		placeholder(&sb, w, n, s, arena_printf(w->a, "%.*s", (int)(end - at - 1), at + 1));
		at = end;
	}
	const char *text = arena_strdup(w->a, sb.s);
	sb_free(&sb);
	w->along |= strstr(text, "along(") != NULL;
	return text;
}

/* ---- f ------------------------------------------------------------------------------------------------------------------------------ */

/* No word of the script's, and no other node's. */
static const char *free_name(const struct writer *w, int node, const char *wish)
{
	static const char *const taken[] = {"jax", "jnp", "lax", "np", "sys", "f", "run", "along", "float", "bool", "inf", "nan"};
	const char *name = wish;
	bool again = true;
	for (int k = 1; again; k++) {
		again = python_keyword(name, strlen(name));
		for (int i = 0; i < ARRAY_LEN(taken); i++)
			again |= str_eq(name, taken[i]);
		for (int i = 0; i < w->p->nnode; i++)
			again |= i != node && w->name[i] && str_eq(w->name[i], name);
		name = again ? arena_printf(w->a, "%s_%d", wish, k) : name;
	}
	return name;
}

/* "sum_1" of a row sum.dim_IntList. */
static const char *row_name(const struct writer *w, int node)
{
	const char *op = op_info[w->p->node[node].op].name;
	op += strspn(op, "_");
	return free_name(w, node, arena_printf(w->a, "%.*s", (int)strcspn(op, "."), op));
}

/* Marks what is returned, and what that needs. */
static void mark_needed(struct writer *w)
{
	const struct prog *p = w->p;
	for (int k = 0; k < p->nret; k++)
		w->needed[p->ret[k]] = true;
	for (int i = 0; i < p->nnode; i++)
		for (int k = 0; k < p->nret && p->node[i].op == OP_copy_; k++)
			w->needed[i] |= p->ret[k] == p->node[i].arg[A_copy__self].node; /* returned as it is after the write */
	for (int i = p->nnode - 1; i >= 0; i--)
		if (w->needed[i])
			node_mark_operands(p, &p->node[i], w->needed);
}

/* copy_ to an input at the end: the input's name stands for the new value from there on. False: not without a line more. */
static bool written(struct writer *w, int node)
{
	const struct node *n = &w->p->node[node];
	const int to = n->arg[A_copy__self].node, from = n->arg[A_copy__src].node;
	const struct meta *x = node_meta(w->p, to), *y = node_meta(w->p, from);
	if (x->dtype != y->dtype || !meta_same_sizes(x, y)) {
		w->why = "an input is written in another dtype or size";
		return false;
	}
	w->name[node] = w->name[to] = w->name[from];
	return true;
}

static bool line(struct strbuf *sb, struct writer *w, int node)
{
	const struct node *n = &w->p->node[node];
	const struct spelling *s = spelling_of(n->op);
	if (n->op == OP_copy_)
		return written(w, node);
	if (!s) {
		w->why = arena_printf(w->a, "%s has no plain spelling in jax.numpy", op_info[n->op].name);
		return false;
	}
	if (!s->text[0]) {
		w->name[node] = w->name[n->arg[0].node];
		return true;
	}
	w->name[node] = row_name(w, node);
	sb_printf(sb, "    %s = %s\n", w->name[node], expression(w, n, s));
	return true;
}

/* "x, y" of the inputs that f needs. */
static const char *parameters(const struct writer *w)
{
	const char *all = "";
	for (int i = 0; i < w->p->nnode; i++)
		if (w->needed[i] && node_is_input(&w->p->node[i]))
			all = arena_printf(w->a, "%s%s%s", all, all[0] ? ", " : "", w->param[i]);
	return all;
}

static bool function(struct strbuf *sb, const char **params, struct writer *w)
{
	const struct prog *p = w->p;
	struct strbuf lines;
	bool ok = true;
	mark_needed(w);
	for (int i = 0; i < p->nnode; i++)
		if (w->needed[i] && node_is_input(&p->node[i]))
			w->param[i] = w->name[i] = free_name(w, i, p->node[i].name);
	*params = parameters(w);
	sb_init(&lines);
	for (int i = 0; i < p->nnode && ok; i++)
		if (w->needed[i] && !node_is_input(&p->node[i]) && !node_is_sym(&p->node[i]))
			ok = line(&lines, w, i);
	if (w->along)
		sb_puts(sb,
			"def along(index, dim):  # positions for x.at[…]: index along dim, an element's own along the others\n"
			"    at = list(jnp.indices(index.shape, sparse=True))\n    at[dim] = index\n    return tuple(at)\n\n");
	sb_printf(sb, "def f(%s):\n%s    return ", *params, lines.s);
	for (int k = 0; k < p->nret && ok; k++)
		sb_printf(sb, "%s%s", k ? ", " : "", w->name[p->ret[k]]);
	sb_putc(sb, '\n');
	sb_free(&lines);
	return ok;
}

/* ---- inputs ------------------------------------------------------------------------------------------------------------------------- */

/* The elements of an input in row-major order; *n: how many. NULL: more than a program lists. */
static const struct scalar *elements(int64_t *n, const struct prog *source, int node, struct arena *a)
{
	const struct meta *m = node_meta(source, node);
	const unsigned char *cells = fill_storage(source, source->node[node].out[0].storage, a);
	const int width = dtype_nbytes(m->dtype);
	struct meta_iter it;
	*n = meta_numel(m);
	if (*n > MAX_DATA || !*n)
		return NULL;
	unsigned char *own = ARENA_NEW(a, unsigned char, *n *width);
	meta_iter_start(&it, m);
	for (int64_t k = 0; k < *n; k++) {
		memcpy(own + k * width, cells + it.off * width, (size_t)width);
		meta_iter_next(&it, m);
	}
	return fill_to_data(own, (int)*n, m->dtype, a).data;
}

/* "jnp.full((2, 3), 1.5, jnp.float32)"; value NULL: the function knows it. */
static void factory(struct strbuf *sb, const char *name, const struct meta *m, const struct scalar *value, struct arena *a)
{
	sb_printf(sb, "jnp.%s(", name);
	short_tuple(sb, m->size, m->rank);
	sb_puts(sb, ", ");
	if (value) {
		short_number(sb, value);
		sb_puts(sb, ", ");
	}
	sb_printf(sb, "%s)", dtype_name(m->dtype, a));
}

/* False: more numbers than a person reads. */
static bool input(struct strbuf *sb, const struct prog *source, int node, int number, bool random, struct arena *a)
{
	const struct meta *m = node_meta(source, node);
	const char *dtype = dtype_name(m->dtype, a);
	int64_t n;
	if (random && dtype_is_float(m->dtype)) {
		sb_printf(sb, "jnp.asarray(np.random.default_rng(%d).standard_normal(", number);
		short_tuple(sb, m->size, m->rank);
		sb_printf(sb, "), %s)", dtype);
		return true;
	}
	const struct scalar *v = elements(&n, source, node, a);
	if (!v && n)
		return false;
	switch (n ? short_pattern_of(v, n) : SHORT_ZEROS) {
	case SHORT_ZEROS: factory(sb, "zeros", m, NULL, a); break;
	case SHORT_ONES: factory(sb, "ones", m, NULL, a); break;
	case SHORT_SAME: factory(sb, "full", m, v, a); break;
	case SHORT_COUNTED:
		sb_printf(sb, "jnp.arange(%" PRId64 ", dtype=%s)", n, dtype);
		if (m->rank != 1) {
			sb_puts(sb, ".reshape");
			short_tuple(sb, m->size, m->rank);
		}
		break;
	case SHORT_LISTED:
		sb_puts(sb, "jnp.array(");
		short_nested(sb, &v, m->size, m->rank);
		sb_printf(sb, ", %s)", dtype);
		return n <= SHORT_LITERAL;
	}
	return true;
}

/* ---- the run ------------------------------------------------------------------------------------------------------------------------- */

/* Which of f's results is looked at; -1: none of them. */
static int looked_at(const struct script_look *look, const struct compiled *c)
{
	int at = c->nout;
	if (look->at == LOOK_RUN)
		return 0;
	if (look->at == LOOK_OUTPUT)
		return look->index;
	if (look->at != LOOK_GRADIENT || !c->grad[look->index])
		return -1;
	for (int k = 0; k < look->index; k++)
		at += c->grad[k];
	return at;
}

static bool run(
	struct strbuf *sb, const struct writer *w, const struct prog *source, const struct script_look *look, int result, const char *params)
{
	int number = 0;
	sb_puts(sb, "\ndef run(f):\n");
	for (int i = 0; i < w->p->nnode; i++) {
		if (!w->needed[i] || !node_is_input(&w->p->node[i]))
			continue;
		sb_printf(sb, "    %s = ", w->param[i]);
		if (!input(sb, source, prog_find(source, w->p->node[i].name), number++, look->random, w->a))
			return false;
		sb_putc(sb, '\n');
	}
	sb_printf(sb, "    return f(%s)", params);
	if (w->p->nret > 1)
		sb_printf(sb, "[%d]", result);
	sb_puts(sb, "\n\n");
	return true;
}

/* As lower.py's option_value has it. */
static void compiler_options(struct strbuf *sb, const struct target *t)
{
	int n = 0;
	for (int i = 0; i < t->noptions; i++) {
		const char *v = t->option[i].value;
		if (!str_starts(t->option[i].name, "xla_"))
			continue;
		sb_puts(sb, n++ ? ", " : ", compiler_options={");
		escape_python(sb, t->option[i].name);
		sb_puts(sb, ": ");
		if (str_eq(v, "true") || str_eq(v, "false"))
			sb_puts(sb, v[0] == 't' ? "True" : "False");
		else if (v[v[0] == '-'] && strspn(v + (v[0] == '-'), "0123456789") == strlen(v) - (v[0] == '-'))
			sb_puts(sb, v);
		else
			escape_python(sb, v);
	}
	sb_puts(sb, n ? "}" : "");
}

/* Only the error of this bug ends with 1. */
static void must_run(struct strbuf *sb, const char *fn, const char *raised, const struct target *t, struct arena *a)
{
	if (!raised) {
		sb_printf(sb, "print(\"compiled:\", run(%s))  # dies\n", fn);
		return;
	}
	sb_printf(sb, "try:\n    print(\"compiled:\", run(%s))\nexcept Exception as error:\n", fn);
	sb_puts(sb, "    print(\"compiled:\", repr(error))\n    sys.exit(1 if ");
	escape_python(sb, message_part(raised, t, a));
	sb_puts(sb, " in str(error) else 2)\n");
}

static void compare(struct strbuf *sb, const struct writer *w, const struct script_look *look, int result, const struct target *t)
{
	const bool compiles = target_stage(t)->compiles, stated = !compiles || look->beside_right;
	const enum dtype dt = node_meta(w->p, w->p->ret[result])->dtype;
	struct strbuf fn;
	sb_init(&fn);
	sb_puts(&fn, compiles ? "jax.jit(f" : "f");
	if (compiles) {
		compiler_options(&fn, t);
		sb_putc(&fn, ')');
	}
	if (compiles)
		sb_printf(sb,
			"jax.config.update(\"jax_disable_most_optimizations\", True)  # operator by operator\n%s"
			"jax.config.update(\"jax_disable_most_optimizations\", False)\n",
			look->at == LOOK_RUN || stated ? "print(\"op by op:\", run(f))\n" : "want = run(f)\nprint(\"op by op:\", want)\n");
	if (look->at == LOOK_RUN) {
		must_run(sb, fn.s, look->raised, t, w->a);
		sb_free(&fn);
		return;
	}
	sb_printf(sb, "got = run(%s)\nprint(\"%s:\", got)\n", fn.s, compiles ? "compiled" : "op by op");
	if (stated)
		sb_printf(sb, "want = jnp.array(%s, got.dtype)\n", look->expected);
	sb_printf(
		sb, "sys.exit(0 if %s else 1)\n", dtype_is_float(dt) ? "jnp.allclose(got, want, equal_nan=True)" : "jnp.array_equal(got, want)");
	sb_free(&fn);
}

static const char *not_short(const struct script_look *look, const struct prog *p, const struct target *t)
{
	if (p->ncall)
		return "it has several calls";
	if (p->must_raise)
		return "eager must refuse the program";
	if (look->at == LOOK_STORAGE)
		return "it is about an input's memory";
	if (look->at != LOOK_RUN && look->fact != FACT_ELEMENTS)
		return "what is wrong is no element";
	if (!target_stage(t)->compiles && (look->at == LOOK_RUN || !look->expected))
		return "nothing stands beside it, and what is right cannot be written in a line";
	return NULL;
}

bool jax_short_script(
	struct strbuf *sb, const struct script_look *look, const struct prog *p, const struct target *t, struct arena *a, struct err *err)
{
	const char *why = not_short(look, p, t), *params;
	struct said said;
	struct strbuf fn, body;
	if (why)
		return err_set(err, "%s", why);
	if (!dialect_say(&said, p, TAKES_CORE, a, err))
		return false;
	const struct compiled *c = &said.call[0].compiled;
	struct writer *w = ARENA_ZNEW(a, struct writer, 1);
	w->p = &c->part[0].p;
	w->a = a;
	const int result = looked_at(look, c);
	if (result < 0)
		return err_set(err, "what is wrong is no element");
	sb_init(&fn);
	sb_init(&body);
	bool ok = function(&fn, &params, w) || err_set(err, "%s", w->why);
	ok = ok && (run(&body, w, &said.call[0].bound, look, result, params) || err_set(err, "its inputs are more than a few numbers"));
	if (ok) {
		sb_puts(sb,
			"import sys\n"
			"sys.excepthook = lambda *error: sys.__excepthook__(*error) or sys.exit(2)  # 0: right, 1: wrong, 2: it does not run\n"
			"import jax\nimport jax.numpy as jnp\n");
		sb_puts(sb, strstr(body.s, "np.random") ? "import numpy as np\n" : "");
		sb_puts(sb, strstr(fn.s, "lax.") ? "from jax import lax\n" : "");
		sb_puts(sb, "\njax.config.update(\"jax_platforms\", \"cpu\")\njax.config.update(\"jax_enable_x64\", True)\n");
		sb_puts(sb, target_stage(t)->compiles ? "\n" : "jax.config.update(\"jax_disable_most_optimizations\", True)\n\n");
		sb_printf(sb, "%s%s", fn.s, body.s);
		compare(sb, w, look, result, t);
	}
	sb_free(&body);
	sb_free(&fn);
	return ok;
}
