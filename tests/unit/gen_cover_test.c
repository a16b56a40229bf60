/* gen_cover_test.c: what the default policy makes: every row of the op table, with every dtype that it allows, every argument with its
 * default and without, and every differentiable row where a gradient passes. What is not made must be stated in fuzz/gen/nogen.def, and
 * what is stated there must not be made: a new row that the generator cannot make fails here by itself. A row is one of five hundred: of
 * those that lack something after FEW programs, the same policy is then asked alone (as by --ops).
 *
 *   gen_cover_test [programs]         at most so many; fewer if everything was seen */
#include "fuzz/gen/gen.h"
#include "tests/test.h"
#include "generated/op_id.h"

#include <stdlib.h>

enum { MOST_WORDS = 8 }; /* of a str */
struct seen {
	int64_t made, gradient, dtype[NDTYPES];
	int64_t plain[MAX_ARGS], other[MAX_ARGS]; /* per argument: its default or None; anything else */
	int64_t word[MOST_WORDS];
};
static struct seen seen[NOPS];

/* ---- counting ------------------------------------------------------------------------------------------------------------- */

/* The node whose dtype is the row's: self, or the node itself if the row has none. */
static const struct node *self_of(const struct prog *p, const struct node *n)
{
	int k = op_self(n->op);
	if (op_info[n->op].nparam && op_info[n->op].param[0].role == R_TUPLE)
		k = 0;
	if (k < 0)
		return n;
	if (n->arg[k].tag == ARG_SCALAR) /* a number in its place: the other operand */
		k++;
	return &p->node[n->arg[k].tag == ARG_TENSORS ? n->arg[k].nodes[0] : n->arg[k].node];
}

static void count_node(const struct prog *p, const struct node *n)
{
	const struct op_info *op = &op_info[n->op];
	struct seen *s = &seen[n->op];
	const struct node *self = self_of(p, n);
	s->made++;
	if (self->nout)
		s->dtype[self->out[0].meta.dtype]++;
	for (int k = 0; k < op->nparam; k++) {
		const struct param *q = &op->param[k];
		bool plain = q->has_default ? arg_is_default(q, &n->arg[k]) : n->arg[k].tag == ARG_NONE;
		s->plain[k] += plain;
		s->other[k] += !plain;
		char word[MAX_WORD];
		for (int i = 0; q->kind == K_STR && param_word(word, q, i); i++) {
			CHECK(i < MOST_WORDS);
			s->word[i] += n->arg[k].tag == ARG_STR && str_eq(n->arg[k].str, word);
		}
	}
}

/* Nodes through which a gradient passes: a leaf that requires grad is above, a returned value with a cotangent below. */
static void count_gradients(const struct prog *p)
{
	bool above[MAX_NODES] = {false}, below[MAX_NODES] = {false};
	for (int i = 0; i < p->nnode; i++) {
		const struct node *n = &p->node[i];
		int grad = op_param(n->op, "requires_grad");
		above[i] = grad >= 0 ? n->arg[grad].b : node_reads(p, n, above) && !node_is_constant(p, n);
	}
	for (int i = 0; i < p->nback; i++)
		below[p->back[i].node] = true;
	for (int i = p->nnode - 1; i >= 0; i--) {
		if (below[i] && above[i])
			node_mark_operands(p, &p->node[i], below);
		seen[p->node[i].op].gradient += above[i] && below[i];
	}
}

static void count(const struct prog *p)
{
	for (int i = 0; i < p->nnode; i++)
		count_node(p, &p->node[i]);
	count_gradients(p);
}

/* ---- what is missing --------------------------------------------------------------------------------------------------------- */

static bool stated(int op, const char *what)
{
	const char *w;
	for (int k = 0; gen_never(op, k, &w); k++)
		if (str_eq(w, what) || !w[0])
			return true;
	return false;
}

typedef void missing_fn(int op, const char *what);

static bool differentiable(int op)
{
	const struct op_info *o = &op_info[op];
	return o->family != F_INPUT && o->dtypes & DTS_FLOAT && !(o->traits & T_NONDIFF) && op_self(op) >= 0
		&& !role_has(o->param[op_self(op)].role, RF_NO_GRADIENT);
}

static int missing_of(int op, missing_fn *say)
{
	const struct op_info *o = &op_info[op];
	const struct seen *s = &seen[op];
	int n = 0;
#define MISSING(cond, what)                                                                                                                \
	do {                                                                                                                                   \
		if ((cond) && !stated(op, what)) {                                                                                                 \
			n++;                                                                                                                           \
			if (say)                                                                                                                       \
				say(op, what);                                                                                                             \
		}                                                                                                                                  \
	} while (0)
	MISSING(!s->made, "");
	if (!s->made)
		return n;
	MISSING(differentiable(op) && !s->gradient, "gradient");
	for (int t = 0; t < NDTYPES; t++)
		MISSING(o->dtypes & DTS(t) && !s->dtype[t], dtype_info[t].name);
	for (int k = 0; k < o->nparam; k++) {
		const struct param *q = &o->param[k];
		MISSING(!s->other[k], q->name);
		MISSING((q->has_default || q->optional) && !s->plain[k], q->name);
		char word[MAX_WORD];
		for (int i = 0; q->kind == K_STR && param_word(word, q, i); i++)
			MISSING(!s->word[i], word);
	}
#undef MISSING
	return n;
}

static int missing(missing_fn *say)
{
	int n = 0;
	for (int op = 0; op < op_nrows; op++)
		n += missing_of(op, say);
	return n;
}

static void report(int op, const char *what)
{
	EXPECT(false, "the default policy never makes %s%s%s: teach fuzz/gen/gen_*.c to, or say why not in fuzz/gen/nogen.def",
		op_info[op].name, what[0] ? " with another " : "", what);
}

/* ---- tests ------------------------------------------------------------------------------------------------------------------ */

enum { FEW = 30000, STEP = 2500 };
static int most = 100000;

/* of: what it is asked for. False: a block of the policy has none of their dtypes. */
static bool make(int i, struct prog *p, struct policy *pol, const struct policy_limits *of, struct arena *a)
{
	struct choices c;
	struct err err = {0};
	if (i % POLICY_BLOCK == 0) {
		choices_from_seed(&c, 1000 + (uint64_t)(i / POLICY_BLOCK));
		if (!policy_draw(pol, "default", of, &c, &err))
			BUG("%s", err.msg);
		choices_free(&c);
	}
	choices_from_seed(&c, mix64(5) + (uint64_t)i);
	const bool made = gen_program(p, a, &c, pol, &err);
	if (!made && !of->ops)
		BUG("%s", err.msg);
	choices_free(&c);
	return made;
}

static void add_name(struct strbuf *names, const char *name) { sb_printf(names, "%s%s", names->len ? "," : "", name); }

/* Rows that lack something, and the dtypes that are all that some of them lack. */
static void lacking(struct strbuf *rows, struct strbuf *dtypes)
{
	bool of[NDTYPES] = {false};
	sb_reset(rows);
	sb_reset(dtypes);
	for (int op = 0; op < op_nrows; op++) {
		if (missing_of(op, NULL))
			add_name(rows, op_info[op].name);
		for (int t = 0; t < NDTYPES; t++)
			of[t] |= missing_of(op, NULL) && op_info[op].dtypes & DTS(t) && !seen[op].dtype[t];
	}
	for (int t = 0; t < NDTYPES; t++)
		if (of[t])
			add_name(dtypes, dtype_info[t].name);
}

static void every_row_is_made(void)
{
	struct policy pol;
	struct policy_limits of = {NULL, NULL};
	struct arena a;
	struct strbuf rows, dtypes;
	int i = 0;
	arena_init(&a);
	sb_init(&rows);
	sb_init(&dtypes);
	while (i < most && (i % STEP || missing(NULL) || !i)) {
		struct prog p;
		if (i >= FEW && i % STEP == 0) { /* a multiple of POLICY_BLOCK */
			lacking(&rows, &dtypes);
			of.ops = rows.s;
			of.dtypes = i / STEP % 2 && dtypes.len ? dtypes.s : NULL;
		}
		if (make(i++, &p, &pol, &of, &a) && !p.must_raise) /* that one is made wrong on purpose */
			count(&p);
		arena_reset(&a);
	}
	sb_free(&rows);
	sb_free(&dtypes);
	arena_free(&a);
	printf("%d programs, %d rows\n", i, NOPS);
	EXPECT(missing(report) == 0, "not everything is made");
}

/* What nogen.def says is true, and says something. */
static void what_is_stated_is_not_made(void)
{
	for (int op = 0; op < op_nrows; op++) {
		const struct seen *s = &seen[op];
		const char *what, *why;
		for (int k = 0; (why = gen_never(op, k, &what)); k++) {
			enum dtype t;
			int arg = op_param(op, what);
			bool dtype = what[0] && arg < 0 && dtype_find(&t, what);
			EXPECT(!what[0] || arg >= 0 || dtype || str_eq(what, "gradient"), "nogen.def: %s has no '%s'", op_info[op].name, what);
			bool made = !what[0] ? s->made : arg >= 0 ? s->other[arg] && s->plain[arg] : dtype ? s->dtype[t] : s->gradient;
			EXPECT(!made, "nogen.def says that %s %s is not made, but it is: delete the row", op_info[op].name, what);
			EXPECT(strlen(why) > 10, "nogen.def: %s gives no reason", op_info[op].name);
		}
	}
}

int main(int argc, char **argv)
{
	most = argc > 1 ? atoi(argv[1]) : most;
	RUN(every_row_is_made);
	RUN(what_is_stated_is_not_made);
	return TEST_END();
}
