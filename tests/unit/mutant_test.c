/* mutant_test.c: mutants of generated programs, and mutants of those: each is as valid as a generated program (it reads back, validates,
 * runs on the interpreter in every call, the reference agrees), the same choices make the same one, every kind of change happens, and
 * operators, dtypes and rows stay within what the policy allows. Pieces of the motifs' graphs, and what is made of them, are valid, too. */
#include <stdlib.h>

#include "eager/run/interp.h"
#include "fuzz/gen/gen.h"
#include "fuzz/gen/motif.h"
#include "fuzz/gen/mutate.h"
#include "fuzz/triage/verdict.h"
#include "tests/test.h"

enum { NPOOL = 64 };
struct pool {
	struct arena arena[NPOOL];
	struct prog prog[NPOOL];
	int n;
};

static void pool_init(struct pool *k)
{
	k->n = 0;
	for (int i = 0; i < NPOOL; i++)
		arena_init(&k->arena[i]);
}

static void pool_free(struct pool *k)
{
	for (int i = 0; i < NPOOL; i++)
		arena_free(&k->arena[i]);
}

static void pool_put(struct pool *k, const struct prog *p, struct choices *c)
{
	int at = k->n < NPOOL ? k->n++ : (int)choose_below(c, NPOOL);
	arena_reset(&k->arena[at]);
	prog_clone(&k->prog[at], p, &k->arena[at]);
}

static void draw_policy(struct policy *pol, const struct policy_limits *limits, struct choices *c)
{
	struct err err = {0};
	if (!policy_draw(pol, "default", limits, c, &err))
		BUG("%s", err.msg);
	pol->chance[PF_illegal] = pol->chance[PF_outside] = 0;
}

/* One step of a chain: a mutant of something in the pool, or a fresh program; into the pool, too. Was it a mutant? */
static bool step(
	struct prog *p, struct pool *k, uint64_t seed, const struct policy_limits *limits, struct arena *a, int64_t done[NMUTATIONS])
{
	struct choices c;
	struct policy pol;
	struct err err = {0};
	bool mutant = false;
	choices_from_seed(&c, seed);
	draw_policy(&pol, limits, &c);
	if (k->n && choose_chance(&c, 80))
		mutant = mutate_program(
			p, &k->prog[choose_below(&c, (uint64_t)k->n)], &k->prog[choose_below(&c, (uint64_t)k->n)], a, &c, &pol, done, &err);
	if (!mutant && !gen_program(p, a, &c, &pol, &err))
		BUG("%s", err.msg);
	pool_put(k, p, &c);
	choices_free(&c);
	return mutant;
}

static void expect_valid(const struct prog *p, struct arena *a, int64_t verdict[NVERDICTS])
{
	const char *text = prog_text(p, a);
	struct prog q;
	struct err err = {0};
	struct result r;
	struct outcome o;
	struct target t;
	bug_context(text);
	EXPECT(prog_validate(p, &err), "%s\n%s", err.msg, text);
	EXPECT(prog_read(&q, a, text, strlen(text), READ_STRICT, &err), "%d:%d: %s\n%s", err.line, err.col, err.msg, text);
	EXPECT(interp_run(&r, p, a, NULL, &err) == INTERP_OK && r.status == RES_OK, "%s%s\n%s", err.msg, r.message ? r.message : "", text);
	CHECK(target_parse(&t, "builtin:eager", &err));
	outcome_of(&o, p, &r, &t, NULL, a);
	verdict[o.verdict]++;
	EXPECT(o.verdict == VD_PASS || o.verdict == VD_UNJUDGED, "%s: %s\n%s\n%s", verdict_name[o.verdict], o.why, o.report, text);
	bug_context(NULL);
}

static int64_t nsteps = 800;
static uint64_t first_seed = 1;

static void mutants_are_valid(void)
{
	struct pool *k = xmalloc(sizeof *k);
	struct arena a;
	int64_t done[NMUTATIONS] = {0}, verdict[NVERDICTS] = {0}, mutants = 0, rows = 0;
	pool_init(k);
	arena_init(&a);
	for (int64_t i = 0; i < nsteps; i++) {
		struct prog p;
		arena_reset(&a);
		mutants += step(&p, k, mix64(first_seed * 1000003 + (uint64_t)i), NULL, &a, done);
		rows += prog_operators(&p);
		expect_valid(&p, &a, verdict);
	}
	for (int m = 0; m < NMUTATIONS; m++)
		EXPECT(done[m] > 0, "never: %s", mutation_name[m]);
	EXPECT(mutants > nsteps * 3 / 4, "%" PRId64 " mutants", mutants);
	EXPECT(verdict[VD_PASS] > nsteps * 9 / 10, "%" PRId64 " pass", verdict[VD_PASS]);
	printf("%" PRId64 " programs, %" PRId64 " mutants, %.1f rows each, %" PRId64 " pass, %" PRId64 " unjudged\n", nsteps, mutants,
		(double)rows / (double)nsteps, verdict[VD_PASS], verdict[VD_UNJUDGED]);
	pool_free(k);
	free(k);
	arena_free(&a);
}

/* A library that is read no more would leave nothing but generated programs. */
static void motifs_are_valid(void)
{
	enum { PROGRAMS = 300 };
	int64_t verdict[NVERDICTS] = {0}, rows = 0, none = 0;
	bool used[MAX_OPS] = {false};
	struct arena a;
	arena_init(&a);
	EXPECT(motif_graphs() > 100, "%d graphs", motif_graphs());
	for (int i = 0; i < PROGRAMS; i++) {
		struct choices c;
		struct policy pol;
		struct prog piece, p;
		struct err err = {0};
		arena_reset(&a);
		choices_from_seed(&c, mix64(first_seed * 7919 + (uint64_t)i));
		draw_policy(&pol, NULL, &c);
		EXPECT(motif_piece(&piece, &a, &c, &err), "%s", err.msg);
		EXPECT(prog_validate(&piece, &err), "%s\n%s", err.msg, prog_text(&piece, &a));
		for (int k = 0; k < piece.nnode; k++)
			used[piece.node[k].op] = true;
		const bool made = motif_program(&p, &a, &c, &pol, &err);
		choices_free(&c);
		none += !made;
		if (!made)
			continue;
		rows += prog_operators(&p);
		expect_valid(&p, &a, verdict);
	}
	int operators = 0;
	for (int op = 0; op < op_nrows; op++)
		operators += used[op] && op_info[op].family != F_INPUT;
	EXPECT(none < PROGRAMS / 10, "%" PRId64 " of %d pieces made no program", none, PROGRAMS);
	EXPECT(operators > 50, "%d operators", operators);
	printf("%d graphs, pieces of %d operators, %.1f rows a program, %" PRId64 " pass, %" PRId64 " unjudged, %" PRId64 " none\n",
		motif_graphs(), operators, (double)rows / PROGRAMS, verdict[VD_PASS], verdict[VD_UNJUDGED], none);
	arena_free(&a);
}

/* The texts of 200 steps. */
static void chain_text(struct strbuf *sb, uint64_t seed)
{
	struct pool *k = xmalloc(sizeof *k);
	struct arena a;
	int64_t done[NMUTATIONS] = {0};
	pool_init(k);
	arena_init(&a);
	for (int i = 0; i < 200; i++) {
		struct prog p;
		arena_reset(&a);
		step(&p, k, mix64(seed + (uint64_t)i), NULL, &a, done);
		prog_print(sb, &p);
	}
	pool_free(k);
	free(k);
	arena_free(&a);
}

static void same_choices_same_mutants(void)
{
	struct strbuf one, two, other;
	sb_init(&one);
	sb_init(&two);
	sb_init(&other);
	chain_text(&one, 7);
	chain_text(&two, 7);
	chain_text(&other, 1007);
	EXPECT_STR(one.s, two.s);
	EXPECT(strcmp(one.s, other.s) != 0, "another seed, the same programs");
	sb_free(&one);
	sb_free(&two);
	sb_free(&other);
}

/* --ops: rows that end and derive a program are there without being named, as in generated ones. */
static void limits_hold(void)
{
	const struct policy_limits limits = {"slice_scatter,mul.Tensor,sum.dim_IntList,transpose.int", "f32"};
	struct pool *k = xmalloc(sizeof *k);
	struct arena a;
	int64_t done[NMUTATIONS] = {0};
	pool_init(k);
	arena_init(&a);
	for (int i = 0; i < 500; i++) {
		struct prog p;
		arena_reset(&a);
		step(&p, k, mix64(99 + (uint64_t)i), &limits, &a, done);
		for (int j = 0; j < p.nnode; j++) {
			const struct op_info *op = &op_info[p.node[j].op];
			bool known = op->family == F_INPUT || strstr(",slice_scatter,mul.Tensor,sum.dim_IntList,transpose.int,", op->name)
				|| node_is_sym(&p.node[j]) || str_eq(op->name, "full") || str_eq(op->name, "expand") || op_has(p.node[j].op, T_VIEW)
				|| (op_has(p.node[j].op, T_REDUCE) && op_has(p.node[j].op, T_LINEAR));
			EXPECT(known, "%s\n%s", op->name, prog_text(&p, &a));
			EXPECT(p.node[j].nout == 0 || !dtype_is_float(node_meta(&p, j)->dtype) || node_meta(&p, j)->dtype == DT_F32, "%s",
				prog_text(&p, &a));
		}
	}
	pool_free(k);
	free(k);
	arena_free(&a);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		nsteps = atoll(argv[1]);
	if (argc > 2)
		first_seed = (uint64_t)atoll(argv[2]);
	RUN(mutants_are_valid);
	RUN(motifs_are_valid);
	RUN(same_choices_same_mutants);
	RUN(limits_hold);
	return TEST_END();
}
