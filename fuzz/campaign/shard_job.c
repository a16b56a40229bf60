/* shard_job.c: a program is its number. So jobs are made from numbers: the next one of this shard, or one of a shard that died. */
#include "fuzz/campaign/shard_internal.h"

#include <signal.h>
#include <stdlib.h>

#include "eager/base/clock.h"
#include "eager/lang/edit.h"

/* In hand from now on: what its parent and a BUG name. */
void shard_take_up(struct shard *s, int64_t index, bool twin, const char *text, const char *doing, const struct target *t)
{
	struct strbuf sb;
	sb_init(&sb);
	sb_puts(&sb, doing);
	if (t)
		target_print(&sb, t);
	shard_note_take(s->note, index, twin, sb.s, text);
	sb_free(&sb);
}

void shard_take_up_job(struct shard *s, const struct job *j, const char *doing, const struct target *t)
{
	shard_take_up(s, j->index, j->twin, j->text, doing, t);
}

/* plant=bug-making, bug-judging, bug-confirming, kill-judging of builtin:eager: this process dies of some programs. */
void shard_die_if_planted(const struct shard *s, const char *when, bool this_one)
{
	const char *plant = target_option(&s->target[0], "plant");
	if (!plant || !this_one)
		return;
	if (str_starts(plant, "kill-") && str_eq(plant + 5, when))
		raise(SIGKILL);
	if (str_starts(plant, "bug-") && str_eq(plant + 4, when))
		BUG("planted");
}

void job_free(struct job *j)
{
	references_free(&j->refs);
	arena_free(&j->arena);
	free(j);
}

/* The block's policy draw is in s->draw. */
static void note_draw(struct shard *s, int64_t block)
{
	if (block >= s->ndraw) {
		s->draw = xrealloc(s->draw, sizeof *s->draw * (size_t)(block + 1));
		for (; s->ndraw <= block; s->ndraw++)
			s->draw[s->ndraw] = NULL;
	}
	if (s->draw[block])
		return;
	struct strbuf sb;
	sb_init(&sb);
	policy_print(&sb, &s->source.drawn);
	s->draw[block] = arena_strdup(&s->arena, sb.s);
	sb_free(&sb);
}

/* The program_source's: one more program that does not admit the policy's form. Names of its tensors are left out, so that reasons can be
 * counted. */
static void count_redrawn(void *ctx, const char *why)
{
	struct shard *s = ctx;
	struct strbuf sb;
	sb_init(&sb);
	sb_puts(&sb, "drawn again: ");
	for (bool name = false; *why; why++) {
		name ^= *why == '\'';
		if (!name)
			sb_printf(&sb, "%c", *why == '\'' ? '_' : *why);
	}
	shard_add_reason(s, 0, &(struct made){.index = s->next}, sb.s);
	s->stats.redrawn++;
	sb_free(&sb);
}

/* The guide's: for the corpus of the campaign. */
static void send_kept(void *ctx, const struct prog *p)
{
	struct shard *s = ctx;
	struct strbuf text;
	if (!features_add(s->sent, p)) /* it was new in its era only */
		return;
	sb_init(&text);
	prog_print(&text, p);
	wire_put_str(&s->kept, text.s);
	s->nkept++;
	sb_free(&text);
}

/* The program of a number; NULL: it has none, err says why, or s->fatal. */
static struct job *job_of(struct shard *s, int64_t index, struct err *err)
{
	double t = clock_ms();
	shard_take_up(s, index, false, "", "making", NULL);
	shard_die_if_planted(s, "making", index % 64 == 5);
	if (!source_draw(&s->source, index, &s->fatal))
		return NULL;
	note_draw(s, source_block(index));
	struct job *j = xmalloc(sizeof *j);
	*j = (struct job){.index = index, .draw = (int)source_block(index), .hint = ""};
	arena_init(&j->arena);
	references_init(&j->refs, &j->prog);
	bool ok = source_begin(&s->source, err);
	if (s->source.guide && s->source.corpus) {
		s->source.guide->kept_one = send_kept;
		s->source.guide->ctx = s;
	}
	ok = ok && source_program(&j->prog, &j->arena, &s->source, index, err);
	s->stats.generate_ms += clock_ms() - t;
	if (!ok) {
		job_free(j);
		return NULL;
	}
	j->text = prog_text(&j->prog, &j->arena);
	return j;
}

/* The same on data of a dtype that leaves no room. NULL: dtypes do not fit together any more. */
struct job *job_widened(struct shard *s, const struct job *of)
{
	struct err err = {0};
	shard_take_up_job(s, of, "widening", NULL);
	struct job *j = xmalloc(sizeof *j);
	*j = (struct job){.index = of->index, .draw = of->draw, .hint = "", .twin = true};
	arena_init(&j->arena);
	references_init(&j->refs, &j->prog);
	if (!edit_widen(&j->prog, &of->prog, &j->arena, &err)) {
		job_free(j);
		return NULL;
	}
	j->text = prog_text(&j->prog, &j->arena);
	return j;
}

bool shard_skips(const struct shard *s, int64_t index, bool twin)
{
	for (int i = 0; i < s->nskip; i++)
		if (s->skip[i].index == index && s->skip[i].twin == twin)
			return true;
	return false;
}

/* The program of the next number; NULL: it has none. */
static struct job *job_of_next(struct shard *s)
{
	struct err err = {0};
	bool dead = shard_skips(s, s->next, false);
	s->source.ctx = s;
	s->source.refused = count_redrawn; /* not where a program is made once more */
	struct job *j = dead ? NULL : job_of(s, s->next, &err);
	s->source.refused = NULL;
	s->next += s->o->shard_count;
	s->made += dead || j;
	if (j) {
		s->nfailed = 0;
		s->stats.generated++;
	} else if (!dead
		&& !s->fatal.msg[0]) { /* a number without a program, now and then; operators and dtypes that have none together: always */
		enum { ALWAYS = 50 };
		if (++s->nfailed == ALWAYS)
			err_set(&s->fatal, "%s", err.msg);
	}
	return j;
}

/* What a shard before this one still had to do with. NULL: there is nothing (any more). */
static struct job *job_again(struct shard *s)
{
	while (s->nagain) {
		const struct shard_pending *q = &s->again[--s->nagain];
		struct err err = {0};
		struct job *j = s->draining && !q->diverged && !q->why ? NULL : job_of(s, q->index, &err), *of = j;
		if (j && q->twin) {
			j = job_widened(s, of);
			job_free(of);
		}
		if (j) {
			j->counted = q->counted;
			j->diverged = q->diverged;
			j->why = q->why;
			if (j->why)
				j->next_target = q->counted - 1;
			return j;
		}
	}
	return NULL;
}

bool shard_may_generate(const struct shard *s)
{
	return !s->draining && !s->fatal.msg[0]
		&& (!s->o->programs || s->made < source_share(s->o->programs, s->o->shard_index, s->o->shard_count));
}

struct job *job_new(struct shard *s)
{
	struct job *j = job_again(s);
	while (!j && shard_may_generate(s))
		j = job_of_next(s);
	return j;
}
