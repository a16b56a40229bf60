/* sightings_test.c: who waits for whom, in which order, and that no sighting is lost. */
#include <stdlib.h>

#include "fuzz/campaign/sightings.h"
#include "tests/test.h"

static struct sighting *make(uint64_t key, int number)
{
	struct sighting *w = sighting_new();
	w->key = key;
	w->draw = number;
	w->f.signature = arena_printf(&w->arena, "finding %d", number);
	return w;
}

static bool wait_for(struct sightings *s, uint64_t key, int number)
{
	struct sighting *w = make(key, number);
	bool ok = sightings_wait(s, w);
	if (!ok)
		sighting_free(w);
	return ok;
}

/* The number of the next one, -1: none. */
static int next(struct sightings *s)
{
	struct sighting *w = sightings_next(s);
	if (!w)
		return -1;
	int number = w->draw;
	sighting_free(w);
	return number;
}

struct seen {
	int n, number[8];
};

static void note(void *ctx, const struct sighting *w)
{
	struct seen *seen = ctx;
	seen->number[seen->n++] = w->draw;
}

static void first_come_first_tried(void)
{
	struct sightings *s = sightings_new();
	for (int i = 0; i < 5; i++)
		EXPECT(wait_for(s, (uint64_t)i, i), "%d", i);
	for (int i = 0; i < 5; i++)
		EXPECT_INT(next(s), i);
	EXPECT_INT(next(s), -1);
	sightings_free(s);
}

static void later_ones_join_the_first(void)
{
	struct sightings *s = sightings_new();
	struct seen seen = {0};
	static const uint64_t key[] = {7, 8, 7, 9, 7, 8};
	for (int i = 0; i < ARRAY_LEN(key); i++)
		EXPECT(wait_for(s, key[i], i), "%d", i);
	EXPECT_INT(next(s), 0);
	EXPECT(!sightings_name(s, 7), "named before its trial ended");
	sightings_settle(s, 7, "seven", note, &seen);
	EXPECT(seen.n == 2 && seen.number[0] == 2 && seen.number[1] == 4, "%d: %d %d", seen.n, seen.number[0], seen.number[1]);
	EXPECT_STR(sightings_name(s, 7), "seven");
	EXPECT_INT(sightings_waiting(s), 3);
	EXPECT_INT(next(s), 1);
	EXPECT_INT(next(s), 3);
	EXPECT_INT(next(s), 5);
	sightings_settle(s, 7, "again", note, &seen);
	EXPECT_STR(sightings_name(s, 7), "again");
	EXPECT_INT(seen.n, 2);
	wait_for(s, 8, 6); /* freed with the table: the sanitizer looks */
	sightings_free(s);
}

static void a_signature_has_few_trials(void)
{
	struct sightings *s = sightings_new();
	for (int i = 1; i < MAX_TRIALS; i++)
		EXPECT(!sightings_failed(s, 7), "after %d", i);
	EXPECT(!sightings_failed(s, 8), "of another");
	EXPECT(sightings_failed(s, 7), "after %d", MAX_TRIALS);
	sightings_free(s);
}

static void room_is_kept_for_first_ones(void)
{
	struct sightings *s = sightings_new();
	int n = 0;
	while (wait_for(s, 7, n))
		n++;
	EXPECT_INT(n, MAX_WAITING);
	EXPECT(!wait_for(s, 7, n), "no more of a signature that has its first one");
	while (wait_for(s, (uint64_t)(1000 + n), n))
		n++;
	EXPECT_INT(n, MAX_WAITING + MAX_WAITING_FIRST);
	for (int i = 0; i < n; i++)
		EXPECT_INT(next(s), i);
	sightings_free(s);
}

int main(void)
{
	RUN(first_come_first_tried);
	RUN(later_ones_join_the_first);
	RUN(a_signature_has_few_trials);
	RUN(room_is_kept_for_first_ones);
	return TEST_END();
}
