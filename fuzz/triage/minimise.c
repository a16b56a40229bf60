/* minimise.c: greedy: kinds of edits in their order, each until none of it helps, all of them until a whole round changes nothing. An
 * accepted edit makes a new list, of which the search goes on at the same place: what stood before it was refused a moment ago. */
#include "fuzz/triage/minimise.h"

#include <stdlib.h>

#include "eager/lang/shrink_size.h"
#include "eager/lang/stated.h"
#include "eager/run/count.h"
#include "fuzz/triage/verdict.h"

/* Texts that were asked about: an open-addressing set of hashes. */
struct seen {
	struct hash128 *slot;
	bool *used;
	int n, cap;
};

static bool seen_add(struct seen *s, const struct hash128 *h);

static void seen_grow(struct seen *s)
{
	struct seen old = *s;
	s->cap = MAX(256, old.cap * 2);
	s->slot = xmalloc((size_t)s->cap * sizeof *s->slot);
	s->used = xmalloc((size_t)s->cap * sizeof *s->used);
	memset(s->used, 0, (size_t)s->cap * sizeof *s->used);
	s->n = 0;
	for (int i = 0; i < old.cap; i++)
		if (old.used[i])
			seen_add(s, &old.slot[i]);
	free(old.slot);
	free(old.used);
}

/* False: it is there already. */
static bool seen_add(struct seen *s, const struct hash128 *h)
{
	uint64_t at;
	if (s->n * 2 >= s->cap)
		seen_grow(s);
	memcpy(&at, h->b, sizeof at);
	for (at %= (uint64_t)s->cap; s->used[at]; at = (at + 1) % (uint64_t)s->cap)
		if (memcmp(&s->slot[at], h, sizeof *h) == 0)
			return false;
	s->slot[at] = *h;
	s->used[at] = true;
	s->n++;
	return true;
}

struct search {
	struct prog now;
	struct arena here, next; /* of the program that there is, of the one that is tried */
	struct seen seen;
	struct minimise_count *count;
	minimise_question *ask;
	void *ctx;
};

/* The edit, and what a mask that it changed selects. Nothing selected is no program that shrink_apply would make. */
static bool edited(struct prog *q, const struct search *s, const struct shrink *edit, struct arena *a)
{
	struct err err = {0};
	if (!shrink_apply(q, &s->now, edit, a, &err))
		return false;
	if (!prog_states(q))
		return true;
	if (!count_restate(q, &err))
		return false;
	shrink_refit_cotangents(q);
	return prog_infer(q, &err) && prog_validate(q, &err) && prog_validate_calls(q, &err) && (!prog_has_empty(q) || prog_has_empty(&s->now));
}

/* Takes the edit if the program that it makes still fails. */
static bool try_edit(struct search *s, const struct shrink *edit)
{
	struct prog q;
	arena_reset(&s->next);
	if (!edited(&q, s, edit, &s->next))
		return false;
	const char *text = prog_text(&q, &s->next);
	struct hash128 h = hash_bytes(text, strlen(text));
	if (!seen_add(&s->seen, &h))
		return false;
	s->count->asked++;
	enum minimise_answer answer = s->ask(s->ctx, &q, text, edit);
	s->count->stopped = answer == MINIMISE_STOP;
	if (answer != MINIMISE_YES)
		return false;
	s->count->accepted++;
	arena_reset(&s->here);
	prog_clone(&s->now, &q, &s->here);
	return true;
}

/* One kind of edit until none of it helps. */
static bool try_kind(struct search *s, enum shrink_kind kind)
{
	bool some = false;
	struct arena lists;
	arena_init(&lists);
	struct shrink *list;
	int n = shrink_list(&list, &s->now, kind, &lists);
	for (int i = 0; i < n && !s->count->stopped;) {
		if (!try_edit(s, &list[i])) {
			i++;
			continue;
		}
		some = true;
		arena_reset(&lists);
		n = shrink_list(&list, &s->now, kind, &lists);
	}
	arena_free(&lists);
	return some;
}

void minimise(struct prog *out, struct minimise_count *count, const struct prog *p, minimise_question *ask, void *ctx, struct arena *a)
{
	struct search s = {.count = count, .ask = ask, .ctx = ctx};
	arena_init(&s.here);
	arena_init(&s.next);
	*count = (struct minimise_count){0};
	prog_clone(&s.now, p, &s.here);
	const char *text = prog_text(&s.now, &s.next);
	struct hash128 h = hash_bytes(text, strlen(text));
	seen_add(&s.seen, &h);
	for (bool some = true; some && !count->stopped;) {
		some = false;
		for (int kind = 0; kind < NSHRINKS && !count->stopped; kind++)
			some |= try_kind(&s, (enum shrink_kind)kind);
	}
	prog_clone(out, &s.now, a);
	free(s.seen.slot);
	free(s.seen.used);
	arena_free(&s.next);
	arena_free(&s.here);
}
