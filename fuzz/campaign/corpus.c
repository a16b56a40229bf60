/* corpus.c: greedy set cover. A program's gain only falls while others are taken, so an entry whose gain is as it was when it was put in
 * order is the best one (lazy greedy: Minoux, 1978). */
#include "fuzz/campaign/corpus.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "fuzz/triage/verdict.h"

static bool same_id(const struct hash128 *a, const struct hash128 *b) { return memcmp(a, b, sizeof *a) == 0; }

void corpus_add(struct corpus *c, const char *text)
{
	struct hash128 id = hash_bytes(text, strlen(text));
	for (int i = c->n - 1; i >= 0; i--) /* a shard that took another's place says again what that one said last */
		if (same_id(&c->id[i], &id))
			return;
	if (c->n == c->cap) {
		c->cap = c->cap ? 2 * c->cap : 256;
		c->text = xrealloc(c->text, mul_size((size_t)c->cap, sizeof *c->text));
		c->id = xrealloc(c->id, mul_size((size_t)c->cap, sizeof *c->id));
	}
	c->id[c->n] = id;
	c->text[c->n++] = xstrdup(text);
}

void corpus_free(struct corpus *c)
{
	for (int i = 0; i < c->n; i++)
		free(c->text[i]);
	free(c->text);
	free(c->id);
	*c = (struct corpus){0};
}

/* ---- cover ------------------------------------------------------------------------------------------------------------------------ */

struct candidate {
	const char *text;
	int64_t nbytes;
	int gain; /* at most: as many features were new when it was last asked */
};

static bool better(const struct candidate *a, const struct candidate *b)
{
	return (int64_t)a->gain * b->nbytes > (int64_t)b->gain * a->nbytes;
}

/* Binary heap, the best on top. */
static void sink_down(struct candidate *h, int n, int i)
{
	for (;;) {
		int best = i;
		for (int k = 2 * i + 1; k <= 2 * i + 2 && k < n; k++)
			if (better(&h[k], &h[best]))
				best = k;
		if (best == i)
			return;
		struct candidate t = h[i];
		h[i] = h[best];
		h[best] = t;
		i = best;
	}
}

/* Read again whenever it is asked: tens of thousands of programs do not fit into memory at once. */
static const struct prog *read_kept(const char *text, struct arena *scratch)
{
	struct prog *p;
	struct err err = {0};
	arena_reset(scratch);
	p = ARENA_NEW(scratch, struct prog, 1);
	if (!prog_read(p, scratch, text, strlen(text), READ_STRICT, &err))
		BUG("a kept program does not read: %d:%d: %s\n%s", err.line, err.col, err.msg, text);
	return p;
}

static int list_candidates(struct candidate *h, const struct corpus *c, const struct feature_set *have, struct arena *scratch)
{
	int n = 0;
	for (int i = 0; i < c->n; i++) {
		h[n] = (struct candidate){c->text[i], (int64_t)strlen(c->text[i]), features_new(have, read_kept(c->text[i], scratch))};
		n += h[n].gain > 0;
	}
	for (int i = n / 2 - 1; i >= 0; i--)
		sink_down(h, n, i);
	return n;
}

/* Appends the chosen programs to `all`. room, bytes: how much more the folder takes. */
static void cover(struct corpus_written *out, struct strbuf *all, struct candidate *h, int n, struct feature_set *have, int room,
	int64_t bytes, struct arena *scratch)
{
	while (n) {
		const struct prog *p = read_kept(h[0].text, scratch);
		int gain = features_new(have, p);
		if (gain == h[0].gain && gain && out->programs < room && out->bytes + h[0].nbytes <= bytes) {
			out->features += features_add(have, p);
			out->programs++;
			out->bytes += h[0].nbytes;
			sb_puts(all, h[0].text);
			gain = 0;
		} else if (gain == h[0].gain && gain) { /* no room for it */
			out->left += gain;
			features_add(have, p);
			gain = 0;
		}
		h[0].gain = gain;
		if (!gain)
			h[0] = h[--n];
		sink_down(h, n, 0);
	}
}

/* ---- the file ---------------------------------------------------------------------------------------------------------------------- */

static bool write_file(const char *path, const struct strbuf *text, struct err *err)
{
	FILE *f = fopen(path, "w");
	bool ok = f && fwrite(text->s, 1, text->len, f) == text->len;
	ok = f && fclose(f) == 0 && ok;
	return ok || err_set(err, "cannot write %s: %s", path, strerror(errno));
}

bool corpus_write(
	struct corpus_written *out, const struct corpus *c, const struct guide *seeds, const char *dir, struct arena *a, struct err *err)
{
	struct feature_set *have = xmalloc(sizeof *have);
	struct candidate *h = xmalloc(mul_size(sizeof *h, (size_t)MAX(c->n, 1)));
	struct strbuf all;
	struct arena scratch;
	int64_t bytes = 0;
	bool ok = true;
	sb_init(&all);
	memset(have, 0, sizeof *have);
	have->loops = seeds->loops;
	*out = (struct corpus_written){0};
	for (int i = 0; i < seeds->nseed; i++) {
		features_add(have, &seeds->seed[i]);
		bytes += (int64_t)strlen(prog_text(&seeds->seed[i], a));
	}
	arena_init(&scratch);
	int n = list_candidates(h, c, have, &scratch);
	cover(out, &all, h, n, have, CORPUS_PROGRAMS - seeds->nseed, CORPUS_BYTES - bytes, &scratch);
	arena_free(&scratch);
	if (out->programs) {
		char hex[33];
		struct hash128 id = hash_bytes(all.s, all.len);
		hash_hex(hex, &id);
		out->path = arena_printf(a, "%s/guided-%.8s.prog", dir, hex);
		ok = (mkdir(dir, 0777) == 0 || errno == EEXIST || err_set(err, "cannot make %s: %s", dir, strerror(errno)))
			&& write_file(out->path, &all, err);
	}
	sb_free(&all);
	free(h);
	free(have);
	return ok;
}
