/* guide_test.c: what features tell apart, what a guide keeps and forgets, and what a corpus writes. */
#include <stdlib.h>
#include <unistd.h>

#include "fuzz/campaign/corpus.h"
#include "fuzz/campaign/source.h"
#include "tests/test.h"

static void read_program(struct prog *p, const char *text, struct arena *a)
{
	struct err err = {0};
	bool ok = prog_read(p, a, text, strlen(text), READ_STRICT, &err);
	EXPECT(ok, "%d:%d: %s", err.line, err.col, err.msg);
}

static struct feature_set *new_set(void)
{
	struct feature_set *s = xmalloc(sizeof *s);
	memset(s, 0, sizeof *s);
	return s;
}

/* How many features the second program has beyond the first one. */
static int beyond(const char *first, const char *second)
{
	struct feature_set *s = new_set();
	struct arena a;
	struct prog p, q;
	arena_init(&a);
	read_program(&p, first, &a);
	read_program(&q, second, &a);
	features_add(s, &p);
	int n = features_new(s, &q);
	EXPECT_INT(features_new(s, &q), n); /* asking changes nothing */
	EXPECT_INT(features_add(s, &q), n);
	EXPECT_INT(features_add(s, &q), 0);
	arena_free(&a);
	free(s);
	return n;
}

#define HEAD "# scatterproof 1\n"
static void features_tell_apart(void)
{
	static const char base[] = HEAD "x = input([4, 5])\na = neg(x)\nb = sum(a)\nreturn (b,)\n";
	EXPECT_INT(beyond(base, HEAD "y = input([7, 3], seed=9)\nc = neg(y)\nd = sum(c)\nreturn (d,)\n"), 0); /* names, sizes, data */
	EXPECT(beyond(base, HEAD "x = input([4, 5], stride=[1, 4])\na = neg(x)\nb = sum(a)\nreturn (b,)\n") > 0, "a layout");
	EXPECT(beyond(base, HEAD "x = input([4, 5], dtype=f16)\na = neg(x)\nb = sum(a)\nreturn (b,)\n") > 0, "a dtype");
	EXPECT(beyond(base, HEAD "x = input([4, 5], requires_grad=True)\na = neg(x)\nb = sum(a)\nreturn (b,)\n") > 0, "a gradient");
	EXPECT(beyond(base, HEAD "surface python\nx = input([4, 5])\na = neg(x)\nb = sum(a)\nreturn (b,)\n") > 0, "a spelling");
}

/* The same rows; only who reads what after the write differs. */
/* Which dims a reduction runs over is no feature of rows; the loops differ. */
static void features_see_loops(void)
{
	struct arena a;
	struct prog rows, all;
	arena_init(&a);
	read_program(&rows, HEAD "x = input([3, 4, 5], seed=1)\ny = sum.dim_IntList(x, dim=[2])\nreturn (y,)\n", &a);
	read_program(&all, HEAD "x = input([3, 4, 5], seed=1)\ny = sum.dim_IntList(x, dim=[1, 2])\nreturn (y,)\n", &a);
	struct feature_set *plain = new_set(), *loops = new_set();
	loops->loops = true;
	EXPECT(features_add(loops, &rows) > features_add(plain, &rows), "loops are no features");
	EXPECT_INT(features_new(plain, &all), 0);
	EXPECT(features_new(loops, &all) > 0, "other loops are nothing new");
	EXPECT(features_add(loops, &all) > 0, "and are not added");
	EXPECT_INT(features_add(loops, &all), 0);
	arena_free(&a);
	free(plain);
	free(loops);
}

static void features_see_aliases(void)
{
	static const char before[] =
		HEAD "x = input([4])\nc = clone(x)\nv = view(c, [2, 2])\na = neg(v)\nw = zero_(c)\ns = neg(c)\nreturn (a, s)\n";
	static const char after[] =
		HEAD "x = input([4])\nc = clone(x)\nv = view(c, [2, 2])\nw = zero_(c)\na = neg(v)\ns = neg(c)\nreturn (a, s)\n";
	EXPECT(beyond(before, after) > 0, "a view that is read after its base was written");
	EXPECT_INT(beyond(after, before), 0);
}

static void text_of(struct strbuf *sb, struct program_source *s, int64_t number)
{
	struct arena a;
	struct prog p;
	struct err err = {0};
	arena_init(&a);
	EXPECT(source_program(&p, &a, s, number, &err), "%s", err.msg);
	sb_reset(sb);
	prog_print(sb, &p);
	arena_free(&a);
}

/* Whoever begins in the middle, or goes back, or crosses the border of an era, makes the same programs. */
static void numbers_name_programs(void)
{
	struct program_source on = {.seed = 3, .policy = "default", .guided = true, .shard = 1, .nshards = 2}, jump = on;
	const int64_t places[] = {300, 150, 299, GUIDE_ERA + 2, GUIDE_ERA, 10};
	struct strbuf want[ARRAY_LEN(places)], have;
	sb_init(&have);
	for (int i = 0; i < ARRAY_LEN(places); i++)
		sb_init(&want[i]);
	for (int64_t k = 0; k <= 300; k++) {
		text_of(&have, &on, 2 * k + 1);
		for (int i = 0; i < ARRAY_LEN(places); i++)
			if (places[i] == k)
				sb_puts(&want[i], have.s);
	}
	EXPECT(on.guide->nkept > GUIDE_LEAST, "%d kept", on.guide->nkept);
	for (int i = 0; i < ARRAY_LEN(places); i++) {
		text_of(&have, &jump, 2 * places[i] + 1);
		if (places[i] <= 300)
			EXPECT_STR(have.s, want[i].s);
		if (places[i] == GUIDE_ERA)
			EXPECT_INT(jump.guide->nkept, 1); /* a new era begins with nothing */
		sb_free(&want[i]);
	}
	sb_free(&have);
	source_end(&on);
	source_end(&jump);
}

static void keep_text(void *ctx, const struct prog *p)
{
	struct strbuf sb;
	sb_init(&sb);
	prog_print(&sb, p);
	corpus_add(ctx, sb.s);
	corpus_add(ctx, sb.s); /* said twice */
	sb_free(&sb);
}

static int64_t features_of(const struct corpus *c, struct arena *a)
{
	struct feature_set *s = new_set();
	for (int i = 0; i < c->n; i++) {
		struct prog p;
		read_program(&p, c->text[i], a);
		features_add(s, &p);
	}
	int64_t n = s->nseen;
	free(s);
	return n;
}

static void corpus_covers(void)
{
	char dir[] = "/tmp/guide_test.XXXXXX";
	struct program_source s = {.seed = 8, .policy = "default", .guided = true};
	struct corpus c = {0};
	struct arena a;
	struct err err = {0};
	struct corpus_written w;
	struct guide *none = guide_new(), *back = guide_new();
	struct strbuf sb;
	arena_init(&a);
	sb_init(&sb);
	CHECK(mkdtemp(dir) && source_begin(&s, &err));
	s.guide->kept_one = keep_text;
	s.guide->ctx = &c;
	for (int64_t k = 0; k < 400; k++)
		text_of(&sb, &s, k);
	EXPECT_INT(c.n, s.guide->nkept);
	EXPECT(corpus_write(&w, &c, none, dir, &a, &err), "%s", err.msg);
	EXPECT_INT(w.left, 0);
	EXPECT_INT(w.features, features_of(&c, &a));
	EXPECT(w.programs < c.n, "%d of %d", w.programs, c.n);
	EXPECT(guide_read(back, dir, &err), "%s", err.msg);
	EXPECT_INT(back->nseed, w.programs);
	guide_restart(back, 0);
	EXPECT_INT(back->seen.nseen, w.features);
	EXPECT_INT(unlink(w.path), 0);
	EXPECT(corpus_write(&w, &c, back, dir, &a, &err) && !w.programs && !w.path, "what is there already is written again");
	EXPECT_INT(rmdir(dir), 0);
	guide_free(none);
	guide_free(back);
	corpus_free(&c);
	source_end(&s);
	sb_free(&sb);
	arena_free(&a);
}

int main(void)
{
	RUN(features_tell_apart);
	RUN(features_see_loops);
	RUN(features_see_aliases);
	RUN(numbers_name_programs);
	RUN(corpus_covers);
	return TEST_END();
}
