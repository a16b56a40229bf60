/* queue_test.c: which program a shard compiles next, and what it sets aside because a known cause explains it. */
#include <stdlib.h>

#include "fuzz/campaign/shard_internal.h"
#include "fuzz/triage/signature.h"
#include "tests/test.h"

#define SLICE_SCATTER "aten.slice_scatter.default"
#define AS_STRIDED    "aten.as_strided_scatter.default"

struct bench {
	struct options o;
	struct shard *s;
};

/* A shard that compiles, has a cheap stage and makes no programs of its own; or goes on making them. */
static void set_up(struct bench *b, bool goes_on)
{
	b->o = (struct options){.shard_count = 1, .programs = goes_on ? 1000 : 1};
	b->s = calloc(1, sizeof *b->s);
	*b->s = (struct shard){.o = &b->o, .cheap_on = true, .compiles = true, .made = 1};
	b->s->sightings = sightings_new();
	b->s->compiled = calloc(1, sizeof *b->s->compiled);
}

static void tear_down(struct bench *b)
{
	for (int i = 0; i < b->s->nqueue; i++)
		job_free(b->s->queue[i]);
	sightings_free(b->s->sightings);
	free(b->s->compiled);
	free(b->s);
}

/* hints: operators that are predicted impossibly, ends with NULL. */
static void push(struct shard *s, int64_t index, const char *const *hints)
{
	static const char text[] = "# scatterproof 1\nx = input([4])\ny = add.Tensor(x, x)\nreturn (y,)\n";
	struct err err = {0};
	struct job *j = xmalloc(sizeof *j);
	*j = (struct job){.index = index, .hint = "", .text = text};
	arena_init(&j->arena);
	references_init(&j->refs, &j->prog);
	CHECK(prog_read(&j->prog, &j->arena, text, strlen(text), READ_STRICT, &err));
	for (; *hints; hints++) {
		j->hit = true;
		j->hint = j->hints[j->nhint++] = *hints;
	}
	queue_push(s, j);
}

/* The number of the next one, -1: none. */
static int64_t pop(struct shard *s)
{
	struct job *j = queue_pop(s);
	int64_t index = j ? j->index : -1;
	if (j)
		job_free(j);
	return index;
}

static const char *const plain[] = {NULL}, *const known[] = {SLICE_SCATTER, NULL}, *const both[] = {SLICE_SCATTER, AS_STRIDED, NULL};

static void impossible_predictions_first(void)
{
	struct bench b;
	set_up(&b, true);
	push(b.s, 0, plain);
	push(b.s, 1, known);
	EXPECT_INT(queue_unexplained(b.s), 2);
	EXPECT_INT(pop(b.s), 1);
	EXPECT_INT(pop(b.s), 0);
	EXPECT_INT(pop(b.s), -1);
	tear_down(&b);
}

static void what_is_explained_goes_behind(void)
{
	struct bench b;
	set_up(&b, true);
	explained_add(&b.s->explained, SLICE_SCATTER);
	push(b.s, 0, known);
	push(b.s, 1, plain);
	push(b.s, 2, both); /* the other operator is news */
	EXPECT_INT(queue_unexplained(b.s), 2);
	EXPECT_INT(pop(b.s), 2);
	EXPECT_INT(pop(b.s), 1);
	EXPECT_INT(pop(b.s), -1); /* others are on their way */
	EXPECT_INT(b.s->nqueue, 1);
	b.o.programs = 1; /* nothing else is going to come */
	EXPECT_INT(pop(b.s), 0);
	EXPECT_INT(b.s->stats.set_aside, 0);
	tear_down(&b);
}

static void learned_while_it_waits(void)
{
	struct bench b;
	set_up(&b, true);
	push(b.s, 0, known);
	push(b.s, 1, plain);
	explained_add(&b.s->explained, SLICE_SCATTER);
	EXPECT_INT(pop(b.s), 1);
	tear_down(&b);
}

static void while_a_divergence_is_confirmed(void)
{
	struct bench b;
	struct sighting *w = sighting_new();
	w->f.signature = "gradient predicted layout overlaps: " SLICE_SCATTER;
	set_up(&b, true);
	CHECK(sightings_wait(b.s->sightings, w));
	push(b.s, 0, known);
	EXPECT_INT(queue_unexplained(b.s), 0);
	b.s->trial = sightings_next(b.s->sightings);
	CHECK(b.s->trial == w);
	EXPECT_INT(queue_unexplained(b.s), 0);
	sighting_free(w); /* the trial failed */
	b.s->trial = NULL;
	EXPECT_INT(queue_unexplained(b.s), 1);
	tear_down(&b);
}

static void one_turn_in_sixteen(void)
{
	struct bench b;
	int64_t explained = 0;
	set_up(&b, true);
	explained_add(&b.s->explained, SLICE_SCATTER);
	for (int i = 0; i < 10; i++)
		push(b.s, 1000 + i, known);
	for (int i = 0; i < 4 * EXPLAINED_TURN; i++) {
		push(b.s, i, plain);
		explained += pop(b.s) >= 1000;
	}
	EXPECT_INT(explained, 4);
	tear_down(&b);
}

static void set_aside_is_counted(void)
{
	struct bench b;
	set_up(&b, true);
	explained_add(&b.s->explained, SLICE_SCATTER);
	for (int i = 0; i < 5; i++)
		push(b.s, 1000 + i, known);
	for (int i = 0; i < QUEUE_MAX; i++)
		push(b.s, i, plain);
	EXPECT_INT(b.s->stats.set_aside, 5); /* a full queue drops them first */
	EXPECT_INT(queue_unexplained(b.s), QUEUE_MAX);
	EXPECT_INT(pop(b.s) >= 0, 1);
	push(b.s, 2000, known);
	b.s->draining = true;
	queue_drain(b.s);
	EXPECT_INT(b.s->nqueue, 0);
	EXPECT_INT(b.s->stats.set_aside, 6);
	tear_down(&b);
}

static void switched_off(void)
{
	struct bench b;
	set_up(&b, true);
	b.o.no_avoid = true;
	explained_add(&b.s->explained, SLICE_SCATTER);
	push(b.s, 0, plain);
	push(b.s, 1, known);
	EXPECT_INT(pop(b.s), 1);
	tear_down(&b);
}

static void names_of_findings(void)
{
	EXPECT_STR(signature_hint("gradient predicted layout overlaps: " SLICE_SCATTER), SLICE_SCATTER);
	EXPECT_STR(signature_hint("value predicted layout overlaps: " SLICE_SCATTER), SLICE_SCATTER);
	EXPECT_STR(signature_hint("gradient all zero add.Tensor"), "");
	EXPECT_STR(signature_hint("raise: predicted layout overlaps: nothing"), "");
	EXPECT_STR(signature_hint(""), "");
}

static void told_and_told_back(void)
{
	struct explained e = {0}, read;
	struct strbuf sb;
	struct arena a;
	arena_init(&a);
	sb_init(&sb);
	explained_add(&e, SLICE_SCATTER);
	explained_add(&e, AS_STRIDED);
	explained_add(&e, SLICE_SCATTER);
	explained_add(&e, "");
	EXPECT_INT(e.n, 2);
	explained_put(&sb, &e);
	struct wire w = {.p = (const uint8_t *)sb.s, .end = (const uint8_t *)sb.s + sb.len};
	explained_get(&read, &w, &a);
	EXPECT_INT(w.bad, 0);
	EXPECT_INT(read.n, 2);
	EXPECT(explained_has(&read, AS_STRIDED) && !explained_has(&read, "aten.add.Tensor"), "names");
	sb_free(&sb);
	arena_free(&a);
}

int main(void)
{
	RUN(impossible_predictions_first);
	RUN(what_is_explained_goes_behind);
	RUN(learned_while_it_waits);
	RUN(while_a_divergence_is_confirmed);
	RUN(one_turn_in_sixteen);
	RUN(set_aside_is_counted);
	RUN(switched_off);
	RUN(names_of_findings);
	RUN(told_and_told_back);
	return TEST_END();
}
