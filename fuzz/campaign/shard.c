/* shard.c: the loop of a shard. One idea: nothing waits for a target as long as something else can be done; a program is a job
 * that moves from the generator to the cheap slot, to the queue, to the main slot; if it diverges, a sighting of it to the fresh slot. */
#include "fuzz/campaign/shard.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "eager/base/clock.h"
#include "eager/base/proc.h"
#include "eager/lang/edit.h"
#include "compiled/targets/driver.h"
#include "compiled/targets/exec.h"
#include "fuzz/gen/gen.h"
#include "fuzz/campaign/novelty.h"
#include "fuzz/triage/plain.h"
#include "fuzz/campaign/shard_note.h"
#include "fuzz/campaign/sightings.h"

struct job {
	struct arena arena;
	struct prog prog;
	struct references refs;
	const char *text;
	int64_t index;
	int draw, next_target;
	int counted;   /* verdicts of it that a shard before this one counted: see struct shard_pending */
	bool diverged; /* there */
	double score;
	bool hit;               /* a rank-1 prediction mismatch */
	bool twin;              /* made of a program that passed with suspects */
	bool ran_eagerly;       /* on the cheap stage: whoever raises now raises alone */
	struct outcome *raised; /* waits for what the plain stage says of a raise (plain.h), with its result; NULL: nothing does */
	struct result *raised_result;
	const char *hint; /* operator of the worst mismatch, "" if none */
};

/* A sighting that is being tried again. */
struct trial {
	struct arena arena;
	struct sighting of;
	struct shard_finding f;
	struct prog prog;
	const char *hint;
	bool on_target; /* or still on the plain stage */
};

struct delta {
	int draw, target;
	int64_t n[NVERDICTS];
};

struct shard {
	const struct options *o;
	struct arena arena; /* lives as long as the shard */
	struct target target[MAX_TARGETS];
	struct shard_note *note;
	bool begun, identified; /* a first request came; targets have the version that they are */
	struct strbuf versions, hello;
	struct exec *main, *cheap, *fresh;
	struct job *in_main, *in_cheap;
	struct trial *trial;
	struct job *queue[QUEUE_MAX];
	int nqueue;
	struct sightings *sightings;
	bool compiles, cheap_on, draining;
	struct target cheap_target, plain_target;
	char *target_name[MAX_TARGETS + 1];
	int64_t next; /* number of the next program */
	int64_t made;
	int nfailed;                 /* numbers in a row that gave no program */
	struct shard_pending *again; /* what a shard before this one still had to do with; npending of them */
	int nagain;
	struct shard_culprit *skip; /* what it died of */
	int nskip;
	struct program_source source;
	int ndraw;
	char **draw; /* of each block its policy draw, in words; NULL: not drawn here */
	struct novelty *novelty;
	struct shard_stats stats;
	struct delta *delta;
	int ndelta;
	struct shard_reason reason[MAX_REASONS];
	int nreason;
	const char *refused[MAX_REASONS]; /* reasons of which a program was kept: see send_refused */
	int nrefused;
	struct strbuf findings;
	uint32_t nfindings;
	double start;
	double main_since; /* when the main slot got what it has, or lost what it had */
	int64_t last_hit;  /* cheap runs until the latest hit */
	struct err fatal;
	int fatal_code;
};

static const struct target *target_of(const struct shard *s, int target)
{
	return target < s->o->ntarget ? &s->target[target] : &s->cheap_target;
}

/* ---- counting ------------------------------------------------------------------------------------------------------------- */

/* Which program something is said of. */
struct made {
	int64_t index;
	bool twin;
	int draw;
	const char *text;
};

static void send_finding(struct shard *s, const struct shard_finding *f)
{
	shard_put_finding(&s->findings, f);
	s->nfindings++;
}

/* Eager refuses a program that neither the reference nor the interpreter refuses: the first one of each reason is kept. */
static void send_refused(
	struct shard *s, struct arena *a, const struct made *m, const struct target *ran, const char *reason, const char *message)
{
	struct strbuf name;
	const struct target eager = plain_of(ran);
	for (int i = 0; i < s->nrefused; i++)
		if (str_eq(s->refused[i], reason))
			return;
	if (s->nrefused == MAX_REASONS)
		return;
	s->refused[s->nrefused++] = arena_strdup(&s->arena, reason);
	sb_init(&name);
	target_print(&name, &eager);
	const char *policy = m->twin ? arena_printf(a, "%s, its wide twin", s->draw[m->draw]) : s->draw[m->draw];
	const struct shard_finding f = {.target = name.s,
		.versions = s->versions.s,
		.device = s->hello.s,
		.text = m->text,
		.policy = policy,
		.kind = FINDING_RAISE,
		.severity = SEVERITY_TRIVIAL,
		.verdict = verdict_name[VD_INVALID],
		.signature = reason,
		.tensor = "",
		.pattern = "",
		.detail = message,
		.report = arena_printf(a, "%s\n%s", message, m->text),
		.stderr_tail = "",
		.call = -1,
		.how = "eager refuses it, neither the reference nor the interpreter does",
		.program_index = m->index,
		.compiles = s->stats.compiled,
		.found_ms = clock_ms() - s->start};
	send_finding(s, &f);
	sb_free(&name);
}

static void count(struct shard *s, int draw, int target, enum verdict v)
{
	s->stats.verdict[target][v]++;
	for (int i = s->ndelta - 1; i >= 0; i--)
		if (s->delta[i].draw == draw && s->delta[i].target == target) {
			s->delta[i].n[v]++;
			return;
		}
	s->delta = xrealloc(s->delta, sizeof *s->delta * (size_t)(s->ndelta + 1));
	s->delta[s->ndelta] = (struct delta){.draw = draw, .target = target};
	s->delta[s->ndelta++].n[v]++;
}

static void add_reason(struct shard *s, int target, const struct made *m, const char *text)
{
	struct shard_reason r = {.target = target, .n = 1, .index = m->index, .twin = m->twin};
	snprintf(r.text, sizeof r.text, "%s", text);
	shard_reason_add(s->reason, &s->nreason, &r);
}

static void count_reasons(struct shard *s, struct arena *a, int target, const struct made *m, const struct outcome *o)
{
	const char *why = verdict_reason(o, a);
	if (why[0])
		add_reason(s, target, m, why);
	const struct target_driver *d = target_of(s, target)->driver;
	for (int i = 0; i < d->nfreedoms; i++)
		if (o->freedoms & d->freedom[i].bit)
			add_reason(s, target, m, arena_printf(a, "%s, legitimately different: %s", verdict_name[o->verdict], d->freedom[i].reason));
	if (o->unexpected)
		send_refused(s, a, m, target_of(s, target), why, o->why);
}

/* In hand from now on: what its parent and a BUG name. */
static void take_up(struct shard *s, int64_t index, bool twin, const char *text, const char *doing, const struct target *t)
{
	struct strbuf sb;
	sb_init(&sb);
	sb_puts(&sb, doing);
	if (t)
		target_print(&sb, t);
	shard_note_take(s->note, index, twin, sb.s, text);
	sb_free(&sb);
}

static void take_up_job(struct shard *s, const struct job *j, const char *doing, const struct target *t)
{
	take_up(s, j->index, j->twin, j->text, doing, t);
}

/* plant=bug-making, bug-judging, bug-confirming, kill-judging of builtin:eager: this process dies of some programs. */
static void planted(const struct shard *s, const char *when, bool this_one)
{
	const char *plant = target_option(&s->target[0], "plant");
	if (!plant || !this_one)
		return;
	if (str_starts(plant, "kill-") && str_eq(plant + 5, when))
		raise(SIGKILL);
	if (str_starts(plant, "bug-") && str_eq(plant + 4, when))
		BUG("planted");
}

static void count_elements(struct shard *s, const struct outcome *o)
{
	for (int k = 0; k < NFILL_CLASSES; k++)
		element_counts_add(&s->stats.elements[k], &o->by_fill[k]);
}

/* ---- jobs ----------------------------------------------------------------------------------------------------------------- */

static void job_free(struct job *j)
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

/* The program of a number; NULL: it has none, err says why, or s->fatal. */
static struct job *job_of(struct shard *s, int64_t index, struct err *err)
{
	double t = clock_ms();
	take_up(s, index, false, "", "making", NULL);
	planted(s, "making", index % 64 == 5);
	if (!source_draw(&s->source, index, &s->fatal))
		return NULL;
	note_draw(s, source_block(index));
	struct job *j = xmalloc(sizeof *j);
	*j = (struct job){.index = index, .draw = (int)source_block(index), .hint = ""};
	arena_init(&j->arena);
	references_init(&j->refs, &j->prog);
	bool ok = source_program(&j->prog, &j->arena, &s->source, index, err);
	s->stats.generate_ms += clock_ms() - t;
	if (!ok) {
		job_free(j);
		return NULL;
	}
	j->text = prog_text(&j->prog, &j->arena);
	return j;
}

/* The same on data of a dtype that leaves no room. NULL: dtypes do not fit together any more. */
static struct job *job_widened(struct shard *s, const struct job *of)
{
	struct err err = {0};
	take_up_job(s, of, "widening", NULL);
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

static bool skipped(const struct shard *s, int64_t index, bool twin)
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
	bool dead = skipped(s, s->next, false);
	struct job *j = dead ? NULL : job_of(s, s->next, &err);
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
		struct job *j = s->draining && !q->diverged ? NULL : job_of(s, q->index, &err), *of = j;
		if (j && q->twin) {
			j = job_widened(s, of);
			job_free(of);
		}
		if (j) {
			j->counted = q->counted;
			j->diverged = q->diverged;
			return j;
		}
	}
	return NULL;
}

static bool may_generate(const struct shard *s)
{
	return !s->draining && !s->fatal.msg[0]
		&& (!s->o->programs || s->made < source_share(s->o->programs, s->o->shard_index, s->o->shard_count));
}

static struct job *job_new(struct shard *s)
{
	struct job *j = job_again(s);
	while (!j && may_generate(s))
		j = job_of_next(s);
	return j;
}

/* ---- judging ------------------------------------------------------------------------------------------------------------------ */

static void judge_job(struct shard *s, struct job *j, const struct result *r, int target, struct outcome *out)
{
	const struct target *t = target_of(s, target);
	double begin = clock_ms();
	take_up_job(s, j, "judging on ", t);
	planted(s, "judging", hash_bytes(j->text, strlen(j->text)).b[1] % 64 == 5);
	outcome_with(out, &j->refs, r, t, j->hint, &j->arena);
	s->stats.reference_ms += clock_ms() - begin;
	s->stats.target_ms += r->target_ms;
}

/* The reference for t, while t runs the program. */
static void refer(struct shard *s, struct job *j, const struct target *t)
{
	double begin = clock_ms();
	take_up_job(s, j, "judging on ", t);
	references_get(&j->refs, t);
	s->stats.reference_ms += clock_ms() - begin;
}

/* If no shard before this one has. Stage 1 is the cheap one, 2 + t is target t. */
static void count_job(struct shard *s, struct job *j, int target, const struct outcome *o)
{
	int stage = target == MAX_TARGETS ? 1 : 2 + target;
	if (stage <= j->counted)
		return;
	count_elements(s, o);
	count(s, j->draw, target, o->verdict);
	count_reasons(s, &j->arena, target, &(struct made){j->index, j->twin, j->draw, j->text}, o);
}

/* A divergence as it goes to the parent. Unconfirmed: trials make theirs from this one. */
static void describe(struct strbuf *out, const struct shard *s, const struct job *j, const struct exec *e, const struct target *t,
	const struct outcome *o, const char *stderr_tail)
{
	struct strbuf versions, device, name;
	struct arena a;
	arena_init(&a);
	sb_init(&versions);
	sb_init(&device);
	sb_init(&name);
	exec_versions(&versions, &device, e);
	target_print(&name, t);
	struct shard_finding f = {.target = name.s,
		.versions = versions.s,
		.device = device.s,
		.text = j->text,
		.policy = j->twin ? arena_printf(&a, "%s, its wide twin", s->draw[j->draw]) : s->draw[j->draw],
		.kind = o->kind,
		.severity = o->severity,
		.verdict = verdict_name[o->verdict],
		.signature = o->signature,
		.tensor = o->tensor,
		.pattern = o->pattern,
		.detail = o->detail,
		.report = o->report,
		.stderr_tail = stderr_tail,
		.call = o->call,
		.how = "",
		.program_index = j->index,
		.compiles = s->stats.compiled,
		.found_ms = clock_ms() - s->start};
	shard_put_finding(out, &f);
	sb_free(&versions);
	sb_free(&device);
	sb_free(&name);
	arena_free(&a);
}

static void finding_of(struct shard_finding *out, const struct sighting *w, struct arena *a)
{
	struct wire wire = {.p = (const uint8_t *)w->finding.s, .end = (const uint8_t *)w->finding.s + w->finding.len};
	shard_get_finding(out, &wire, a);
	CHECK(!wire.bad);
}

/* Without a trial of its own. signature: NULL for its own. */
static void send_untried(struct shard *s, const struct sighting *w, const char *signature, const char *how)
{
	struct arena a;
	struct shard_finding f;
	arena_init(&a);
	finding_of(&f, w, &a);
	f.signature = signature ? signature : f.signature;
	f.how = how;
	send_finding(s, &f);
	arena_free(&a);
}

static void send_another(void *ctx, const struct sighting *w)
{
	struct shard *s = ctx;
	send_untried(s, w, sightings_name(s->sightings, w->key), HOW_SEEN_BEFORE);
}

static void settle(struct shard *s, uint64_t key, const char *name) { sightings_settle(s->sightings, key, name, send_another, s); }

static uint64_t signature_key(const struct outcome *o, const struct target *t)
{
	struct strbuf sb;
	uint64_t key;
	sb_init(&sb);
	sb_printf(&sb, "%s %s %s", target_family(t), t->version, o->signature);
	struct hash128 h = hash_bytes(sb.s, sb.len);
	sb_free(&sb);
	memcpy(&key, h.b, sizeof key);
	return key;
}

/* A divergence: new signatures wait for a trial in a fresh process, those of settled ones are further observations. Takes the job. */
static void diverged(struct shard *s, struct job *j, const struct exec *e, int target, const struct outcome *o, const struct result *r)
{
	const struct target *t = target_of(s, target);
	if (s->stats.first_divergence_ms == 0 && o->severity != SEVERITY_TRIVIAL) {
		s->stats.first_divergence_ms = clock_ms() - s->start;
		s->stats.first_divergence_compiles = s->stats.compiled;
	}
	struct sighting w = {
		.key = signature_key(o, t), .index = j->index, .twin = j->twin, .draw = j->draw, .target = target, .hint = xstrdup(j->hint)};
	sb_init(&w.finding);
	describe(&w.finding, s, j, e, t, o, r->stderr_tail);
	const char *name = sightings_name(s->sightings, w.key);
	if (name) {
		send_untried(s, &w, name, HOW_SEEN_BEFORE);
	} else if (s->o->no_confirm) {
		send_untried(s, &w, NULL, "not confirmed");
		settle(s, w.key, o->signature);
	} else if (!sightings_wait(s->sightings, &w)) {
		send_untried(s, &w, NULL, "not confirmed: too many others wait");
	}
	sighting_free(&w);
	job_free(j);
}

/* ---- the slots -------------------------------------------------------------------------------------------------------------------- */

static double promise(const struct shard *s, const struct job *j)
{
	return (j->hit ? 1e6 : 0) + (j->twin ? 1e5 : 0) + novelty_score(s->novelty, &j->prog);
}

static void queue_push(struct shard *s, struct job *j)
{
	if (s->draining && !j->diverged) {
		job_free(j);
		return;
	}
	if (s->nqueue == QUEUE_MAX) { /* drop the least promising */
		int worst = 0;
		for (int i = 1; i < s->nqueue; i++)
			if (s->queue[i]->score < s->queue[worst]->score)
				worst = i;
		if (s->queue[worst]->score >= j->score) {
			job_free(j);
			return;
		}
		job_free(s->queue[worst]);
		s->queue[worst] = s->queue[--s->nqueue];
	}
	references_drop(&j->refs); /* of the stage before, which computed otherwise if this one compiles */
	s->queue[s->nqueue++] = j;
}

static struct job *queue_pop(struct shard *s)
{
	int best = 0;
	for (int i = 0; i < s->nqueue; i++) {
		if (s->cheap_on) /* what is new changes with every compile */
			s->queue[i]->score = promise(s, s->queue[i]);
		if (s->queue[i]->score > s->queue[best]->score)
			best = i;
	}
	struct job *j = s->queue[best];
	s->queue[best] = s->queue[--s->nqueue];
	return j;
}

static void queue_twin(struct shard *s, const struct job *of)
{
	struct job *j = skipped(s, of->index, true) ? NULL : job_widened(s, of);
	if (!j)
		return;
	j->score = promise(s, j);
	s->stats.twins++;
	queue_push(s, j);
}

static void suspected(struct shard *s, struct job *j, int target, const struct outcome *o)
{
	enum { SHOWN = 4 }; /* per shard: there is not much room for reasons */
	const char *again = source_command(&s->source, j->index, &j->arena);
	const char *what = s->stats.suspected++ >= SHOWN
		? "others"
		: arena_printf(&j->arena, "%" PRId64 " elements%s, %s", o->all.suspect, j->twin ? ", as its wide twin" : "", again);
	add_reason(s, target, &(struct made){j->index, j->twin, j->draw, j->text}, arena_printf(&j->arena, "pass with suspects: %s", what));
	if (!j->twin)
		queue_twin(s, j);
}

static void note_hint(struct job *j, const struct result *r)
{
	for (int i = 0; i < r->nmismatch; i++)
		if (r->mismatch[i].rank == 1) {
			j->hit = true;
			j->hint = r->mismatch[i].op;
		}
}

static void take_cheap(struct shard *s)
{
	struct job *j = s->in_cheap;
	struct result r;
	struct outcome o;
	s->in_cheap = NULL;
	exec_take(&r, &j->arena, s->cheap);
	s->stats.cheap_runs++;
	judge_job(s, j, &r, MAX_TARGETS, &o);
	count_job(s, j, MAX_TARGETS, &o);
	note_hint(j, &r);
	s->stats.cheap_hits += j->hit;
	if (j->hit)
		s->last_hit = s->stats.cheap_runs;
	if (verdict_diverges(o.verdict)) {
		diverged(s, j, s->cheap, MAX_TARGETS, &o, &r);
	} else if (o.verdict == VD_PASS) {
		j->ran_eagerly = true;
		j->score = promise(s, j);
		queue_push(s, j);
	} else {
		job_free(j);
	}
}

/* To the target that is next. */
static void send_main(struct shard *s, struct job *j)
{
	const struct target *t = &s->target[j->next_target];
	s->in_main = j;
	s->main_since = clock_ms();
	exec_submit(s->main, &j->prog, t);
	refer(s, j, t);
}

/* Counts what is known now, and goes on with the job. */
static void settle_main(struct shard *s, struct job *j, int target, const struct outcome *o, const struct result *r)
{
	count_job(s, j, target, o);
	if (o->all.suspect)
		suspected(s, j, target, o);
	if (verdict_diverges(o->verdict))
		diverged(s, j, s->main, target, o, r);
	else if (j->next_target < s->o->ntarget && o->verdict != VD_INVALID)
		send_main(s, j);
	else
		job_free(j);
}

/* A raise of a compiled program that no cheap stage has run (--no-cheap, a wide twin, a slot that starved): the plain stage is asked
 * before anything counts. */
static void doubt(struct shard *s, struct job *j, int target, const struct outcome *o, const struct result *r)
{
	const struct target plain = plain_of(&s->target[target]);
	take_up_job(s, j, "sending to ", &plain);
	j->raised = ARENA_NEW(&j->arena, struct outcome, 1);
	j->raised_result = ARENA_NEW(&j->arena, struct result, 1);
	*j->raised = *o;
	*j->raised_result = *r;
	s->in_main = j;
	s->main_since = clock_ms();
	exec_submit(s->main, &j->prog, &plain);
}

static void take_doubted(struct shard *s)
{
	struct job *j = s->in_main;
	struct result plain;
	struct outcome o = *j->raised;
	int target = j->next_target - 1;
	s->in_main = NULL;
	s->stats.main_ms += clock_ms() - s->main_since;
	s->main_since = clock_ms();
	exec_take(&plain, &j->arena, s->main);
	s->stats.target_ms += plain.target_ms;
	take_up_job(s, j, "judging on ", &s->target[target]);
	plain_settle(&o, j->raised_result, &plain);
	j->raised = NULL;
	settle_main(s, j, target, &o, j->raised_result);
}

static void take_main(struct shard *s)
{
	struct job *j = s->in_main;
	struct result r;
	struct outcome o;
	if (j->raised) {
		take_doubted(s);
		return;
	}
	int target = j->next_target++;
	s->in_main = NULL;
	s->stats.main_ms += clock_ms() - s->main_since;
	s->main_since = clock_ms();
	exec_take(&r, &j->arena, s->main);
	if (r.bad_target) { /* as every other program would be */
		err_set(&s->fatal, "target '%s': %s", s->target_name[target], r.message);
		job_free(j);
		return;
	}
	judge_job(s, j, &r, target, &o);
	if (s->compiles) {
		s->stats.compiled++;
		if (s->stats.first_compile_ms == 0)
			s->stats.first_compile_ms = clock_ms() - s->start;
	}
	if (!j->ran_eagerly && plain_needed(&o, &s->target[target]))
		doubt(s, j, target, &o, &r);
	else
		settle_main(s, j, target, &o, &r);
}

/* ---- trials -------------------------------------------------------------------------------------------------------------------- */

static void trial_end(struct shard *s)
{
	exec_close(s->fresh);
	s->fresh = NULL;
	sighting_free(&s->trial->of);
	arena_free(&s->trial->arena);
	free(s->trial);
	s->trial = NULL;
}

/* Not again: the next sighting of the signature has its turn, unless these were enough. */
static void trial_failed(struct shard *s)
{
	if (sightings_failed(s->sightings, s->trial->of.key))
		settle(s, s->trial->of.key, s->trial->f.signature);
}

/* What cannot be tried is sent as it is, and its likes with it. */
static void trial_impossible(struct shard *s, const char *why)
{
	send_untried(s, &s->trial->of, NULL, why);
	settle(s, s->trial->of.key, s->trial->f.signature);
	trial_end(s);
}

/* In a process that has run nothing else: first the plain stage, if there is one (is the program valid, is the reference right?), then the
 * target itself. */
static void start_fresh(struct shard *s)
{
	struct trial *x = xmalloc(sizeof *x);
	*x = (struct trial){0};
	CHECK(sightings_next(&x->of, s->sightings));
	s->trial = x;
	arena_init(&x->arena);
	finding_of(&x->f, &x->of, &x->arena);
	x->hint = x->of.hint;
	take_up(s, x->of.index, x->of.twin, x->f.text, "confirming on ", target_of(s, x->of.target));
	const struct target *t = target_of(s, x->of.target);
	struct exec_options eo = {.self = s->o->self, .python = s->o->python, .limit_ms = s->o->limit_ms};
	struct err err = {0};
	if (!prog_read(&x->prog, &x->arena, x->f.text, strlen(x->f.text), READ_STRICT, &err)) {
		trial_impossible(s, arena_printf(&x->arena, "its program does not read: %d:%d: %s", err.line, err.col, err.msg));
		return;
	}
	s->fresh = exec_open(t, &eo, &err);
	if (!s->fresh) {
		trial_impossible(s, err.msg);
		return;
	}
	x->on_target = !s->compiles || !target_has_plain(t) || t == &s->cheap_target;
	s->stats.confirm_ms -= clock_ms();
	exec_submit(s->fresh, &x->prog, x->on_target ? t : &s->plain_target);
}

static void send_tried(struct shard *s, const struct target *ran, const struct outcome *o, const struct result *r)
{
	struct trial *x = s->trial;
	struct strbuf name;
	struct shard_finding f = x->f;
	sb_init(&name);
	target_print(&name, ran);
	f.target = name.s;
	f.stderr_tail = r->stderr_tail;
	f.confirm_ms = clock_ms() - s->start - f.found_ms;
	if (verdict_diverges(o->verdict)) {
		f.confirmed = true;
		f.how = x->on_target ? "again in a fresh process" : "the plain stage diverges, in a fresh process";
		f.kind = o->kind, f.severity = o->severity, f.call = o->call, f.verdict = verdict_name[o->verdict];
		f.signature = o->signature, f.tensor = o->tensor, f.pattern = o->pattern, f.detail = o->detail, f.report = o->report;
	} else {
		f.kind = FINDING_NONDETERMINISTIC;
		f.how = "not seen again in a fresh process";
	}
	send_finding(s, &f);
	sb_free(&name);
}

static void take_fresh(struct shard *s)
{
	struct trial *x = s->trial;
	const struct target *t = target_of(s, x->of.target), *ran = x->on_target ? t : &s->plain_target;
	struct result r;
	struct outcome o;
	take_up(s, x->of.index, x->of.twin, x->f.text, "confirming on ", ran);
	exec_take(&r, &x->arena, s->fresh);
	planted(s, "confirming", hash_bytes(x->f.text, strlen(x->f.text)).b[1] % 4 == 1);
	for (int i = 0; i < r.nmismatch; i++)
		if (r.mismatch[i].rank == 1)
			x->hint = r.mismatch[i].op;
	outcome_of(&o, &x->prog, &r, ran, x->hint, &x->arena);
	if (!x->on_target && o.verdict == VD_PASS) {
		x->on_target = true;
		exec_submit(s->fresh, &x->prog, t);
		return;
	}
	s->stats.confirm_ms += clock_ms();
	s->stats.confirmations++;
	if (!x->on_target && !verdict_diverges(o.verdict)) { /* the plain stage refuses the program: invalid, unsupported, harness */
		s->stats.refused_confirmations++;
		count_reasons(s, &x->arena, x->of.target, &(struct made){x->of.index, x->of.twin, x->of.draw, x->f.text}, &o);
		count(s, x->of.draw, x->of.target, o.verdict);
		trial_failed(s);
	} else {
		send_tried(s, ran, &o, &r);
		/* The trial may have known more: an operator whose prediction is impossible. */
		if (x->on_target && verdict_diverges(o.verdict))
			settle(s, x->of.key, o.signature);
		else
			trial_failed(s);
	}
	trial_end(s);
}

/* The campaign ends: what has no trial yet is sent as it is. */
static void give_up_trials(struct shard *s)
{
	static const char how[] = "the campaign ended before its confirmation";
	struct sighting w;
	if (s->trial) {
		s->stats.confirm_ms += clock_ms();
		send_untried(s, &s->trial->of, NULL, how);
		trial_end(s);
	}
	while (sightings_next(&w, s->sightings)) {
		send_untried(s, &w, NULL, how);
		sighting_free(&w);
	}
}

/* ---- the loop -------------------------------------------------------------------------------------------------------------------- */

static void submit_main(struct shard *s, struct job *j)
{
	take_up_job(s, j, "sending to ", &s->target[0]);
	if (s->compiles)
		novelty_mark(s->novelty, &j->prog);
	j->next_target = 0;
	s->stats.starved_ms += clock_ms() - s->main_since;
	send_main(s, j);
}

/* The cheap stage has its turn: it still predicts something, or the queue needs it. */
static bool cheap_wanted(const struct shard *s)
{
	return s->cheap_on && !s->in_cheap && (s->nqueue < CHEAP_ENOUGH || s->stats.cheap_runs - s->last_hit < CHEAP_PATIENCE);
}

static bool main_starves(const struct shard *s)
{
	return s->cheap_on && !s->in_main && !s->nqueue && clock_ms() - s->main_since > MAIN_PATIENCE_MS;
}

/* Everything that can be started now; false: nothing could. */
static bool start_work(struct shard *s)
{
	bool did = false;
	if (!s->trial && sightings_waiting(s->sightings)) {
		start_fresh(s);
		did = true;
	}
	if (!s->in_main && s->nqueue) {
		submit_main(s, queue_pop(s));
		did = true;
	}
	struct job *j;
	if (main_starves(s) && (j = job_new(s))) {
		submit_main(s, j);
		did = true;
	}
	if (cheap_wanted(s) && (j = job_new(s))) {
		s->in_cheap = j;
		take_up_job(s, j, "sending to ", &s->cheap_target);
		exec_submit(s->cheap, &j->prog, &s->cheap_target);
		refer(s, j, &s->cheap_target);
		did = true;
	}
	if (!s->cheap_on && s->nqueue < 2 && (j = job_new(s))) {
		j->score = -(double)j->index;
		queue_push(s, j);
		did = true;
	}
	return did;
}

static bool take_work(struct shard *s)
{
	bool did = false;
	if (s->trial && exec_ready(s->fresh))
		did = true, take_fresh(s);
	if (s->in_cheap && exec_ready(s->cheap))
		did = true, take_cheap(s);
	if (s->in_main && exec_ready(s->main))
		did = true, take_main(s);
	return did;
}

static bool idle(const struct shard *s)
{
	return !s->in_main && !s->trial && !s->in_cheap && !sightings_waiting(s->sightings) && !s->nqueue && !s->nagain && !may_generate(s);
}

static void work(struct shard *s, double until)
{
	if (s->draining) { /* no new compiles: what runs is finished, what waits for confirmation is confirmed */
		int kept = 0;
		for (int i = 0; i < s->nqueue; i++)
			if (s->queue[i]->diverged)
				s->queue[kept++] = s->queue[i];
			else
				job_free(s->queue[i]);
		s->nqueue = kept;
	}
	do {
		bool did = take_work(s);
		did |= start_work(s);
		shard_note_clear(s->note);
		if (idle(s))
			break;
		if (!did) {
			double begin = clock_ms(), most = s->cheap_on && !s->in_main ? MAIN_PATIENCE_MS / 4 : until - begin;
			struct proc *p[3] = {
				s->in_main ? exec_proc(s->main) : NULL, s->in_cheap ? exec_proc(s->cheap) : NULL, s->trial ? exec_proc(s->fresh) : NULL};
			proc_wait(p, 3, (int)MAX(1.0, MIN(most, until - begin)));
			s->stats.wait_ms += clock_ms() - begin;
		}
	} while (clock_ms() < until);
}

/* ---- requests and answers --------------------------------------------------------------------------------------------------------- */

/* Another shard's place is taken, or number one's. */
static bool begin_at(struct shard *s, struct shard_request *r)
{
	if (r->note[0] && !(s->note = shard_note_open(r->note, &s->fatal)))
		return false;
	s->next = r->state.next;
	s->made = r->state.made;
	s->again = r->state.pending;
	s->nagain = r->state.npending;
	s->skip = r->skip;
	s->nskip = r->nskip;
	return true;
}

/* Which version is it? Both children start side by side. */
static bool identify(struct shard *s)
{
	if (!exec_warm(s->main, &s->fatal) || (s->cheap && !exec_warm(s->cheap, &s->fatal))) {
		s->fatal_code = EXIT_TARGET;
		return false;
	}
	struct target first = s->target[0];
	enum exec_identity id = exec_identify(&first, s->main, &s->fatal);
	if (id != EXEC_IDENTIFIED) {
		s->fatal_code = id == EXEC_OTHER ? EXIT_USAGE : EXIT_TARGET;
		return false;
	}
	struct target *all[MAX_TARGETS + 2] = {&s->cheap_target, &s->plain_target};
	for (int i = 0; i < s->o->ntarget; i++)
		all[2 + i] = &s->target[i];
	for (int i = 0; i < s->o->ntarget + 2; i++)
		memcpy(all[i]->version, first.version, sizeof first.version);
	for (int i = 0; i <= MAX_TARGETS; i++) {
		struct strbuf sb;
		sb_init(&sb);
		target_print(&sb, target_of(s, i));
		s->target_name[i] = arena_strdup(&s->arena, sb.s);
		sb_free(&sb);
	}
	exec_versions(&s->versions, &s->hello, s->main);
	s->main_since = clock_ms();
	s->stats.ready_ms = s->main_since - s->start;
	return s->identified = true;
}

static int add_pending(struct shard_pending *list, int n, const struct job *j, int counted)
{
	list[n] = (struct shard_pending){.index = j->index, .twin = j->twin, .counted = MAX(j->counted, counted)};
	return n + 1;
}

static struct shard_pending diverged_of(const struct sighting *w)
{
	return (struct shard_pending){
		.index = w->index, .twin = w->twin, .diverged = true, .counted = w->target == MAX_TARGETS ? 1 : 2 + w->target};
}

/* Everything that this shard would still have to do. */
static struct shard_state where_it_stands(const struct shard *s, struct arena *a)
{
	struct shard_pending *list = ARENA_ZNEW(a, struct shard_pending, s->nqueue + sightings_waiting(s->sightings) + s->nagain + 3);
	int n = 0;
	for (int i = 0; i < s->nqueue; i++)
		n = add_pending(list, n, s->queue[i], s->queue[i]->next_target + 1);
	if (s->in_main) /* a raise in doubt is not counted */
		n = add_pending(list, n, s->in_main, s->in_main->next_target + !s->in_main->raised);
	if (s->in_cheap)
		n = add_pending(list, n, s->in_cheap, 0);
	if (s->trial)
		list[n++] = diverged_of(&s->trial->of);
	for (int i = 0; i < sightings_waiting(s->sightings); i++)
		list[n++] = diverged_of(sightings_at(s->sightings, i));
	for (int i = 0; i < s->nagain; i++)
		list[n++] = s->again[i];
	return (struct shard_state){.next = s->next, .made = s->made, .npending = n, .pending = list};
}

static void put_counters(struct shard *s, struct strbuf *answer)
{
	int n = 0;
	struct strbuf sb;
	sb_init(&sb);
	for (int i = 0; i < s->ndelta; i++)
		for (int v = 0; v < NVERDICTS; v++)
			if (s->delta[i].n[v]) {
				wire_put_str(&sb, s->draw[s->delta[i].draw]);
				wire_put_u32(&sb, (uint32_t)s->delta[i].target);
				wire_put_str(&sb, verdict_name[v]);
				wire_put_i64(&sb, s->delta[i].n[v]);
				n++;
			}
	s->ndelta = 0;
	wire_put_u32(answer, (uint32_t)n);
	sb_put(answer, sb.s, sb.len);
	sb_free(&sb);
}

static void put_reasons(struct shard *s, struct strbuf *answer)
{
	wire_put_u32(answer, (uint32_t)s->nreason);
	for (int i = 0; i < s->nreason; i++)
		shard_put_reason(answer, &s->reason[i]);
	s->nreason = 0;
}

static void put_answer(struct shard *s, struct strbuf *answer)
{
	struct arena a;
	arena_init(&a);
	const struct shard_answer head = {.fatal = s->fatal.msg,
		.fatal_code = s->fatal_code,
		.version = s->identified ? s->target[0].version : "",
		.versions = s->versions.s,
		.hello = s->hello.s,
		.stats = s->stats,
		.state = where_it_stands(s, &a)};
	shard_put_answer(answer, &head);
	arena_free(&a);
	put_counters(s, answer);
	put_reasons(s, answer);
	wire_put_u32(answer, s->nfindings);
	sb_put(answer, s->findings.s, s->findings.len);
	sb_reset(&s->findings);
	s->nfindings = 0;
}

static bool serve(void *ctx, const void *req, size_t nreq, struct strbuf *answer)
{
	struct shard *s = ctx;
	struct shard_request r;
	struct wire w = {.p = req, .end = (const uint8_t *)req + nreq};
	double begin = clock_ms();
	shard_get_request(&r, &w, &s->arena);
	CHECK(!w.bad);
	s->draining = r.mode != SHARD_WORK;
	CHECK(r.fresh == !s->begun);
	s->begun = true;
	bool ok = (!r.fresh || begin_at(s, &r)) && (s->identified || identify(s));
	if (ok && r.mode == SHARD_GIVE_UP)
		give_up_trials(s);
	else if (ok)
		work(s, clock_ms() + r.ms);
	shard_note_clear(s->note);
	s->stats.wall_ms += clock_ms() - begin;
	s->stats.exhausted = r.mode == SHARD_GIVE_UP || idle(s);
	s->stats.queue = s->nqueue;
	s->stats.target_rss = proc_rss(exec_proc(s->main)) + (s->cheap ? proc_rss(exec_proc(s->cheap)) : 0);
	put_answer(s, answer);
	return !s->fatal.msg[0];
}

static bool open_slots(struct shard *s, struct err *err)
{
	const struct target *t = &s->o->target[0];
	struct exec_options eo = {.self = s->o->self, .python = s->o->python, .limit_ms = s->o->limit_ms};
	for (int i = 0; i < s->o->ntarget; i++) {
		s->target[i] = s->o->target[i];
		s->compiles |= target_stage(&s->target[i])->compiles;
	}
	s->main = exec_open(t, &eo, err);
	if (!s->main)
		return false;
	bool predicts = target_predicting(&s->cheap_target, t); /* plain values, and which prediction is impossible */
	if (!predicts)
		s->cheap_target = target_plain(t);
	s->plain_target = s->cheap_target;
	s->cheap_on = s->compiles && predicts && !s->o->no_cheap;
	eo.background = true;
	if (s->cheap_on)
		s->cheap = exec_open(t, &eo, err);
	return !s->cheap_on || s->cheap;
}

int shard_main(const struct options *o)
{
	struct shard *s = xmalloc(sizeof *s);
	struct err err = {0};
	*s = (struct shard){.o = o, .source = options_source(o), .start = clock_ms(), .fatal_code = EXIT_USAGE};
	arena_init(&s->arena);
	sb_init(&s->findings);
	sb_init(&s->versions);
	sb_init(&s->hello);
	s->sightings = sightings_new();
	s->novelty = xmalloc(sizeof *s->novelty);
	memset(s->novelty, 0, sizeof *s->novelty);
	int rc = EXIT_TARGET;
	if (o->directory && chdir(o->directory) != 0) /* names of targets may be paths */
		fprintf(stderr, "%s: %s\n", o->directory, strerror(errno));
	else if (!open_slots(s, &err))
		fprintf(stderr, "%s\n", err.msg); /* the campaign shows it */
	else
		rc = proc_serve("shard", 5, serve, s);
	exec_close(s->main);
	exec_close(s->cheap);
	if (s->trial)
		trial_end(s);
	sightings_free(s->sightings);
	free(s->novelty);
	free(s->delta);
	free(s->draw);
	sb_free(&s->findings);
	sb_free(&s->versions);
	sb_free(&s->hello);
	arena_free(&s->arena);
	free(s);
	return rc;
}
