/* sightings.c: see sightings.h. One queue for all signatures: what waits for a trial and what waits for another's trial differ in
 * nothing. */
#include "fuzz/campaign/sightings.h"

#include <stdlib.h>

#include "fuzz/triage/signature.h"

struct signature {
	uint64_t key;
	char *name;
	int failed;
}; /* name: NULL until settled */

struct sightings {
	struct signature known[MAX_SIGNATURES];
	int nknown;
	struct sighting *queue[MAX_WAITING + MAX_WAITING_FIRST]; /* oldest first */
	int n;
};

struct sightings *sightings_new(void)
{
	struct sightings *s = xmalloc(sizeof *s);
	memset(s, 0, sizeof *s);
	return s;
}

struct sighting *sighting_new(void)
{
	struct sighting *w = xmalloc(sizeof *w);
	*w = (struct sighting){0};
	arena_init(&w->arena);
	return w;
}

void sighting_free(struct sighting *w)
{
	arena_free(&w->arena);
	free(w);
}

const char *sighting_explains(const struct sighting *w) { return signature_hint(w->f.signature); }

void sightings_free(struct sightings *s)
{
	for (int i = 0; s && i < s->nknown; i++)
		free(s->known[i].name);
	for (int i = 0; s && i < s->n; i++)
		sighting_free(s->queue[i]);
	free(s);
}

/* Index in known, or -1. */
static int find(const struct sightings *s, uint64_t key)
{
	for (int i = 0; i < s->nknown; i++)
		if (s->known[i].key == key)
			return i;
	return -1;
}

/* NULL: the table is full. */
static struct signature *find_or_add(struct sightings *s, uint64_t key)
{
	int i = find(s, key);
	if (i < 0 && s->nknown < MAX_SIGNATURES) {
		i = s->nknown++;
		s->known[i] = (struct signature){.key = key};
	}
	return i < 0 ? NULL : &s->known[i];
}

const char *sightings_name(const struct sightings *s, uint64_t key)
{
	int i = find(s, key);
	return i < 0 ? NULL : s->known[i].name;
}

bool sightings_wait(struct sightings *s, struct sighting *w)
{
	bool first = true;
	for (int i = 0; i < s->n && first; i++)
		first = s->queue[i]->key != w->key;
	if (s->n >= (first ? MAX_WAITING + MAX_WAITING_FIRST : MAX_WAITING))
		return false;
	s->queue[s->n++] = w;
	return true;
}

struct sighting *sightings_next(struct sightings *s)
{
	if (!s->n)
		return NULL;
	struct sighting *w = s->queue[0];
	memmove(s->queue, s->queue + 1, sizeof *s->queue * (size_t)--s->n);
	return w;
}

bool sightings_explain(const struct sightings *s, const char *op)
{
	for (int i = 0; i < s->n; i++)
		if (str_eq(sighting_explains(s->queue[i]), op))
			return true;
	return false;
}

int sightings_waiting(const struct sightings *s) { return s->n; }

const struct sighting *sightings_at(const struct sightings *s, int i)
{
	CHECK(i >= 0 && i < s->n);
	return s->queue[i];
}

void sightings_settle(struct sightings *s, uint64_t key, const char *name, sighting_fn *fn, void *ctx)
{
	struct signature *k = find_or_add(s, key);
	if (k) {
		free(k->name);
		k->name = xstrdup(name);
	}
	int kept = 0;
	for (int i = 0; i < s->n; i++) {
		if (s->queue[i]->key == key) {
			fn(ctx, s->queue[i]);
			sighting_free(s->queue[i]);
		} else {
			s->queue[kept++] = s->queue[i];
		}
	}
	s->n = kept;
}

bool sightings_failed(struct sightings *s, uint64_t key)
{
	struct signature *k = find_or_add(s, key);
	return k && ++k->failed >= MAX_TRIALS;
}
