/* gen_call_test.c: calls of one row (gen_call.h): of every row, with self of every dtype, with each argument given and not, right ones and
 * wrong ones; each follows from seed, row and number alone; with a dtype that the row does not list, self has it. */
#include "fuzz/gen/gen_call.h"

#include "fuzz/gen/gen.h"
#include "generated/op_args.h"
#include "generated/op_id.h"
#include "tests/test.h"

enum { CALLS = 80 };

struct seen {
	int right, refused, dtype[NDTYPES], given[MAX_ARGS];
};

static bool is_given(const struct param *q, const struct arg *a) { return q->has_default ? !arg_is_default(q, a) : a->tag != ARG_NONE; }

/* Reads a call back: inputs and the row, nothing else. */
static void count_call(struct seen *s, int op, const char *text, struct arena *a)
{
	struct prog *p = ARENA_NEW(a, struct prog, 1);
	struct err err = {0};
	if (!prog_read(p, a, text, strlen(text), READ_LENIENT, &err)) { /* an argument that no program may have is wrong, too */
		s->refused++;
		return;
	}
	const struct node *n = &p->node[p->nnode - 1];
	const int self = op_self(op);
	EXPECT(n->op == op, "%s: another row\n%s", op_info[op].name, text);
	for (int i = 0; i < p->nnode - 1; i++)
		EXPECT(p->node[i].op == OP_input, "%s: more than inputs\n%s", op_info[op].name, text);
	for (int k = 0; k < op_info[op].nparam; k++)
		s->given[k] += is_given(&op_info[op].param[k], &n->arg[k]);
	const int first = self < 0            ? -1
		: n->arg[self].tag == ARG_TENSOR  ? n->arg[self].node
		: n->arg[self].tag == ARG_TENSORS ? n->arg[self].nodes[0]
										  : -1;
	if (first >= 0)
		s->dtype[p->node[first].arg[A_input_dtype].dtype]++;
	const bool right = prog_infer(p, &err);
	s->right += right;
	s->refused += !right;
}

static bool never_given(int op, int k)
{
	const char *what;
	for (int i = 0; gen_never(op, i, &what); i++)
		if (str_eq(what, op_info[op].param[k].name))
			return true;
	return false;
}

static void test_row(int op, struct seen *all)
{
	struct seen s = {0};
	struct arena a;
	struct strbuf sb;
	struct err err = {0};
	arena_init(&a);
	sb_init(&sb);
	for (int i = 0; i < CALLS; i++) {
		sb_reset(&sb);
		arena_reset(&a);
		EXPECT(gen_call(&sb, op, -1, 7, i, &a, &err), "%s", err.msg);
		count_call(&s, op, sb.s, &a);
	}
	EXPECT(s.right >= CALLS / 2, "%s: %d of %d calls are right", op_info[op].name, s.right, CALLS);
	for (int t = 0; t < NDTYPES && op_self(op) >= 0; t++)
		EXPECT(s.dtype[t] || !(op_info[op].dtypes & DTS(t)), "%s: no self of dtype %s", op_info[op].name, dtype_info[t].name);
	for (int k = 0; k < op_info[op].nparam; k++)
		EXPECT(s.given[k] || never_given(op, k), "%s: '%s' is never given", op_info[op].name, op_info[op].param[k].name);
	all->right += s.right;
	all->refused += s.refused;
	sb_free(&sb);
	arena_free(&a);
}

static void every_row(void)
{
	struct seen all = {0};
	for (int op = 0; op < op_nrows; op++)
		if (gen_call_makes(op))
			test_row(op, &all);
	printf("%d calls right, %d refused\n", all.right, all.refused);
	EXPECT(all.refused * 100 > all.right * 7 && all.refused * 100 < all.right * 25, "%d of %d calls are refused", all.refused, all.right);
}

/* The same whatever was made before. */
static void follows_from_number(void)
{
	struct arena a;
	struct strbuf one, again;
	struct err err = {0};
	arena_init(&a);
	sb_init(&one);
	sb_init(&again);
	EXPECT(gen_call(&one, OP_gather, -1, 3, 11, &a, &err), "%s", err.msg);
	EXPECT(gen_call(&again, OP_mm, -1, 3, 10, &a, &err), "%s", err.msg);
	sb_reset(&again);
	EXPECT(gen_call(&again, OP_gather, -1, 3, 11, &a, &err), "%s", err.msg);
	EXPECT(str_eq(one.s, again.s), "another call of the same number:\n%s%s", one.s, again.s);
	sb_reset(&again);
	EXPECT(gen_call(&again, OP_gather, -1, 3, 12, &a, &err), "%s", err.msg);
	EXPECT(!str_eq(one.s, again.s), "the same call of another number:\n%s", one.s);
	sb_free(&one);
	sb_free(&again);
	arena_free(&a);
}

/* Dtypes that a row does not list. */
static void excluded(void)
{
	struct arena a;
	struct strbuf sb;
	struct err err = {0};
	struct seen s = {0};
	int bools = 0;
	arena_init(&a);
	sb_init(&sb);
	for (int i = 0; i < CALLS; i++) {
		sb_reset(&sb);
		EXPECT(gen_call(&sb, OP_mm, DT_B8, 1, i, &a, &err), "%s", err.msg);
		count_call(&s, OP_mm, sb.s, &a);
		bools += strstr(sb.s, "dtype=b8") != NULL;
	}
	EXPECT(bools >= CALLS * 9 / 10, "%d of %d calls have bools", bools, CALLS);
	EXPECT(s.right <= CALLS / 5, "%d calls of mm of bools are right", s.right);
	sb_free(&sb);
	arena_free(&a);
}

int main(void)
{
	RUN(every_row);
	RUN(follows_from_number);
	RUN(excluded);
	return TEST_END();
}
