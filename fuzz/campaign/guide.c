/* guide.c: a set of features and a ring of programs. */
#include "fuzz/campaign/guide.h"

#include <dirent.h>
#include <stdlib.h>

#include "fuzz/campaign/load.h"
#include "fuzz/gen/mutate.h"
#include "fuzz/triage/verdict.h"

struct guide *guide_new(void)
{
	struct guide *g = xmalloc(sizeof *g);
	memset(g, 0, sizeof *g);
	arena_init(&g->seeds);
	for (int i = 0; i < GUIDE_KEPT; i++)
		arena_init(&g->kept[i].arena);
	return g;
}

void guide_free(struct guide *g)
{
	if (!g)
		return;
	for (int i = 0; i < GUIDE_KEPT; i++)
		arena_free(&g->kept[i].arena);
	arena_free(&g->seeds);
	free(g->seed);
	free(g);
}

static void keep(struct guide *g, const struct prog *p)
{
	struct guide_entry *e = &g->kept[g->nkept++ % GUIDE_KEPT];
	arena_reset(&e->arena);
	prog_clone(&e->prog, p, &e->arena);
}

void guide_restart(struct guide *g, int64_t at)
{
	g->next = at;
	g->nkept = 0;
	memset(&g->seen, 0, sizeof g->seen);
	g->seen.loops = g->loops;
	for (int i = 0; i < g->nseed; i++)
		if (features_add(&g->seen, &g->seed[i]))
			keep(g, &g->seed[i]);
}

/* ---- seeds ----------------------------------------------------------------------------------------------------------------------- */

static int take_seed(void *ctx, const char *name, const struct prog *p)
{
	struct guide *g = ctx;
	(void)name;
	if (p->must_raise)
		return 0;
	if (g->nseed == g->cap_seed) {
		g->cap_seed = g->cap_seed ? 2 * g->cap_seed : 64;
		g->seed = xrealloc(g->seed, mul_size((size_t)g->cap_seed, sizeof *g->seed));
	}
	prog_clone(&g->seed[g->nseed], p, &g->seeds);
	const char *text = prog_text(p, &g->seeds);
	struct hash128 h = hash_bytes(text, strlen(text));
	uint64_t part;
	memcpy(&part, h.b, sizeof part);
	g->fingerprint = mix64(g->fingerprint ^ part);
	g->nseed++;
	return 0;
}

static bool has_programs(const char *dir)
{
	DIR *d = opendir(dir);
	bool some = false;
	for (struct dirent *e; d && (e = readdir(d));) {
		size_t n = strlen(e->d_name);
		some |= n > 5 && e->d_name[0] != '.' && str_eq(e->d_name + n - 5, ".prog");
	}
	if (d)
		closedir(d);
	return some;
}

bool guide_read(struct guide *g, const char *dir, struct err *err)
{
	if (has_programs(dir) && load_programs(dir, take_seed, g) != 0)
		return err_set(err, "--corpus: %s has a file that does not read", dir);
	return true;
}

/* ---- programs -------------------------------------------------------------------------------------------------------------------- */

/* The latest are likelier: what was new just now has neighbours that nobody has seen. */
static const struct prog *pick(const struct guide *g, struct choices *c)
{
	enum { LATEST = 32 };
	int n = MIN(g->nkept, (int)GUIDE_KEPT), latest = MIN(n, (int)LATEST);
	int back = choose_chance(c, 50) ? (int)choose_below(c, (uint64_t)n) : (int)choose_below(c, (uint64_t)latest);
	return &g->kept[(g->nkept - 1 - back) % GUIDE_KEPT].prog;
}

bool guide_mutant(struct prog *out, struct arena *a, const struct guide *g, uint64_t draw, const struct policy *pol)
{
	struct choices c;
	struct err err = {0};
	if (g->nkept < GUIDE_LEAST)
		return false;
	choices_from_seed(&c, draw);
	bool ok = choose_chance(&c, GUIDE_SHARE);
	if (ok) {
		const struct prog *parent = pick(g, &c), *donor = pick(g, &c);
		ok = mutate_program(out, parent, donor, a, &c, pol, NULL, &err);
	}
	choices_free(&c);
	return ok;
}

void guide_take(struct guide *g, const struct prog *p)
{
	if (p->must_raise || !features_add(&g->seen, p))
		return;
	keep(g, p);
	if (g->kept_one)
		g->kept_one(g->ctx, p);
}
