/* reuse_test.c: buffers that become one are never needed at the same time. The loops of a program are looked at as they are lowered,
 * where every value has a buffer of its own, and as loops_reuse_buffers leaves them: values in one buffer must not be alive at once. What
 * a called kernel (`extern`) reads and writes counts. */
#include "compiled/loops/lower.h"
#include "compiled/loops/reuse.h"
#include "fuzz/campaign/source.h"
#include "tests/unit/expanded.h"
#include "tests/unit/program.h"

#define HEAD "# scatterproof 1\n"

enum { MOST_BUFFERS = 512 };

/* By buffer of the loops as they were: the nests, numbered by their first instruction, in which it is needed, and what it became. */
struct life {
	int first, last, to;
	bool called; /* a called kernel writes it */
};

static struct loops *lowered(const struct prog *p)
{
	struct loops *l = ARENA_NEW(&arena, struct loops, 1);
	struct err err = {0};
	return lower(l, expanded(p, &arena), &(struct lower_options){.no_fusion = false}, &arena, &err) && l->nbuffer <= MOST_BUFFERS ? l
																																  : NULL;
}

static void needed(struct life *v, int buffer, int to, int nest)
{
	if (v[buffer].to == -1)
		v[buffer] = (struct life){nest, nest, to, false};
	EXPECT(v[buffer].to == to, "buffer b%d became b%d and b%d", buffer, v[buffer].to, to);
	v[buffer].last = MAX(v[buffer].last, nest);
}

static void needed_by_call(struct life *v, const struct loop_call *was, const struct loop_call *is, int nest)
{
	for (int k = 0; k < was->nin; k++)
		needed(v, was->in[k].buffer, is->in[k].buffer, nest);
	for (int k = 0; k < was->nout; k++) {
		needed(v, was->out[k].buffer, is->out[k].buffer, nest);
		v[was->out[k].buffer].called = true;
	}
}

static void find_lives(struct life *v, const struct loops *was, const struct loops *is)
{
	for (int b = 0; b < was->nbuffer; b++)
		v[b] = (struct life){.to = -1};
	for (int i = 0, nest = 0, depth = 0; i < was->nins; i++) {
		const struct loop_ins *a = &was->ins[i], *b = &is->ins[i];
		nest = depth ? nest : i;
		depth += (a->op == LOOP_FOR || a->op == LOOP_IF) - (a->op == LOOP_END);
		CHECK(a->op == b->op);
		if (a->op == LOOP_LOAD || a->op == LOOP_STORE)
			needed(v, a->buffer, b->buffer, nest);
		if (a->call)
			needed_by_call(v, a->call, b->call, nest);
	}
	for (int k = 0; k < was->nret; k++)
		needed(v, was->ret[k].buffer, is->ret[k].buffer, was->nins);
	for (int b = 0; b < was->nbuffer; b++) /* an input is there from the beginning, and reported at the end */
		if (was->buffer[b].input >= 0 && v[b].to != -1)
			v[b].first = 0, v[b].last = was->nins;
}

static struct {
	int programs, calls, shared, shared_with_call;
} seen;

static void look(const struct prog *p, const char *text)
{
	struct life v[MOST_BUFFERS];
	const struct loops *was = lowered(p);
	struct loops *is = was ? lowered(p) : NULL;
	if (!is)
		return;
	loops_reuse_buffers(is);
	find_lives(v, was, is);
	seen.programs++;
	for (int i = 0; i < was->nins; i++)
		seen.calls += was->ins[i].call != NULL;
	for (int a = 0; a < was->nbuffer; a++)
		for (int b = a + 1; b < was->nbuffer; b++) {
			if (v[a].to == -1 || v[a].to != v[b].to)
				continue;
			EXPECT(
				v[a].last < v[b].first || v[b].last < v[a].first, "b%d and b%d share b%d, and are needed at once\n%s", a, b, v[a].to, text);
			seen.shared++;
			seen.shared_with_call += v[a].called || v[b].called;
		}
}

/* A value that is read behind a call, and one that is not; a result that is read, one that is returned, one that nobody reads. */
static void around_a_call(void)
{
	static const char *const texts[] = {
		HEAD
		"x = input([300])\na = neg(x)\nb = sum(a)\nt = sort(a)\ns = getitem(t, 0)\ni = getitem(t, 1)\nc = sum(a)\nd = cumsum(s, dim=0)\n"
		"e = sum(d)\nreturn (b, c, e, i)\n",
		HEAD
		"x = input([300])\na = cumsum(x, dim=0)\nt = sort(a)\ns = getitem(t, 0)\nb = cumsum(s, dim=0)\nu = sort(b)\nv = getitem(u, 0)\n"
		"c = sum(v)\nreturn (c,)\n",
		HEAD "x = input([300])\na = cumsum(x, dim=0)\nt = topk(x, 300)\nb = cumsum(a, dim=0)\ns = getitem(t, 0)\nc = sum(s)\nd = sum(b)\n"
			 "return (c, d)\n",
	};
	for (int i = 0; i < ARRAY_LEN(texts); i++)
		look(program(texts[i]), texts[i]);
	EXPECT(seen.programs == ARRAY_LEN(texts) && seen.calls == 4, "%d programs with %d calls", seen.programs, seen.calls);
	EXPECT(seen.shared_with_call > 0, "no memory of a call's result was another value's");
}

static void generated(void)
{
	struct program_source source = {.seed = 1, .policy = "extern", .legal = true};
	for (int k = 0; k < 400; k++) {
		struct prog p, bound;
		struct err err = {0};
		struct strbuf sb;
		arena_reset(&arena);
		if (!source_program(&p, &arena, &source, k, &err) || !prog_bind(&bound, &p, 0, &arena, &err))
			continue;
		sb_init(&sb);
		prog_print(&sb, &p);
		look(&bound, sb.s);
		sb_free(&sb);
	}
	printf("  %d programs, %d calls, %d pairs of values share a buffer, %d with one that a call writes\n", seen.programs, seen.calls,
		seen.shared, seen.shared_with_call);
	EXPECT(seen.calls > 200 && seen.shared_with_call > 50, "%d calls, %d pairs with one", seen.calls, seen.shared_with_call);
}

int main(void)
{
	arena_init(&arena);
	RUN(around_a_call);
	RUN(generated);
	arena_free(&arena);
	return TEST_END();
}
