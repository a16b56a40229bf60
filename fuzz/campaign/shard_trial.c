/* shard_trial.c: from a divergence to a finding. One process that has run nothing else decides for all sightings of a signature. */
#include "fuzz/campaign/shard_internal.h"

#include "eager/base/clock.h"
#include "fuzz/triage/signature.h"

/* Without a trial of its own. signature: NULL for its own. */
static void send_untried(struct shard *s, const struct sighting *w, const char *signature, const char *how)
{
	struct finding f = w->f;
	f.signature = signature ? signature : f.signature;
	f.how = how;
	shard_send_finding(s, &f);
}

static void send_another(void *ctx, const struct sighting *w)
{
	struct shard *s = ctx;
	send_untried(s, w, sightings_name(s->sightings, w->key), HOW_SEEN_BEFORE);
}

static void settle(struct shard *s, uint64_t key, const char *name) { sightings_settle(s->sightings, key, name, send_another, s); }

/* As a finding, which explains what its name predicts. */
static void settle_finding(struct shard *s, uint64_t key, const char *name)
{
	explained_add(&s->explained, signature_hint(name));
	settle(s, key, name);
}

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

static struct sighting *sighting_of(const struct shard *s, const struct job *j, int target, const struct outcome *o, const struct result *r)
{
	const struct target *t = shard_target(s, target);
	struct sighting *w = sighting_new();
	w->key = signature_key(o, t);
	w->twin = j->twin;
	w->draw = j->draw;
	w->target = target;
	w->hint = arena_strdup(&w->arena, j->hint);
	prog_clone(&w->prog, &j->prog, &w->arena);
	shard_finding(&w->f, s, &(struct made){j->index, j->twin, j->draw, &w->prog}, t, o, r->stderr_tail, &w->arena);
	return w;
}

/* A divergence: new signatures wait for a trial in a fresh process, those of settled ones are further observations. Takes the job. */
void shard_diverged(struct shard *s, struct job *j, int target, const struct outcome *o, const struct result *r)
{
	if (s->stats.first_divergence_ms == 0 && o->severity != SEVERITY_TRIVIAL) {
		s->stats.first_divergence_ms = clock_ms() - s->start;
		s->stats.first_divergence_compiles = s->stats.compiled;
	}
	struct sighting *w = sighting_of(s, j, target, o, r);
	job_free(j);
	const char *name = sightings_name(s->sightings, w->key);
	if (!name && !s->o->no_confirm && sightings_wait(s->sightings, w))
		return;
	if (name) {
		send_untried(s, w, name, HOW_SEEN_BEFORE);
	} else if (s->o->no_confirm) {
		send_untried(s, w, NULL, "not confirmed");
		settle_finding(s, w->key, w->f.signature);
	} else {
		send_untried(s, w, NULL, "not confirmed: too many others wait");
	}
	sighting_free(w);
}

void trial_end(struct shard *s)
{
	exec_close(s->fresh);
	s->fresh = NULL;
	sighting_free(s->trial);
	s->trial = NULL;
}

/* Not again: the next sighting of the signature has its turn, unless these were enough. */
static void trial_failed(struct shard *s)
{
	if (sightings_failed(s->sightings, s->trial->key))
		settle(s, s->trial->key, s->trial->f.signature);
}

/* In a process that has run nothing else: first the plain stage, if there is one (is the program valid, is the reference right?), then the
 * target itself. What cannot be tried is sent as it is, and its likes with it. */
void trial_start(struct shard *s)
{
	struct sighting *w = sightings_next(s->sightings);
	CHECK(w);
	const struct target *t = shard_target(s, w->target);
	struct exec_options eo = {.self = s->o->self, .python = s->o->python, .limit_ms = s->o->limit_ms};
	struct err err = {0};
	s->trial = w;
	shard_take_up(s, w->f.index, w->twin, w->f.program, "confirming on ", t);
	eo.patient = w->f.kind == FINDING_HANG; /* all shards may have had a slow machine */
	s->fresh = exec_open(t, &eo, &err);
	if (!s->fresh) {
		send_untried(s, w, NULL, err.msg);
		settle(s, w->key, w->f.signature);
		trial_end(s);
		return;
	}
	s->trial_on_target = !s->compiles || !target_has_plain(t) || t == &s->cheap_target;
	s->stats.confirm_ms -= clock_ms();
	exec_submit(s->fresh, &w->prog, s->trial_on_target ? t : &s->plain_target);
}

static void send_tried(struct shard *s, const struct target *ran, const struct outcome *o, const struct result *r)
{
	struct sighting *w = s->trial;
	struct finding f = w->f;
	f.confirm_ms = clock_ms() - s->start - f.found_ms;
	f.confirmed = verdict_diverges(o->verdict);
	if (f.confirmed) {
		finding_judged(&f, o, ran, r->stderr_tail, &w->arena);
		f.how = s->trial_on_target ? "again in a fresh process" : "the plain stage diverges, in a fresh process";
	} else {
		f.target = *ran;
		f.stderr_tail = r->stderr_tail;
		f.how = f.kind == FINDING_HANG ? "slow: it answers in a fresh process that has four times as long"
									   : "not seen again in a fresh process";
		f.kind = FINDING_NONDETERMINISTIC;
	}
	shard_send_finding(s, &f);
}

void trial_take(struct shard *s)
{
	struct sighting *w = s->trial;
	const struct target *t = shard_target(s, w->target), *ran = s->trial_on_target ? t : &s->plain_target;
	struct result r;
	struct outcome o;
	shard_take_up(s, w->f.index, w->twin, w->f.program, "confirming on ", ran);
	exec_take(&r, &w->arena, s->fresh);
	shard_die_if_planted(s, "confirming", hash_bytes(w->f.program, strlen(w->f.program)).b[1] % 4 == 1);
	for (int i = 0; i < r.nmismatch; i++)
		if (r.mismatch[i].rank == 1)
			w->hint = r.mismatch[i].op;
	outcome_of(&o, &w->prog, &r, ran, w->hint, &w->arena);
	if (!s->trial_on_target && o.verdict == VD_PASS) {
		s->trial_on_target = true;
		exec_submit(s->fresh, &w->prog, t);
		return;
	}
	s->stats.confirm_ms += clock_ms();
	s->stats.confirmations++;
	if (!s->trial_on_target && !verdict_diverges(o.verdict)) { /* the plain stage refuses the program: invalid, unsupported, harness */
		s->stats.refused_confirmations++;
		shard_count_reasons(s, &w->arena, w->target, &(struct made){w->f.index, w->twin, w->draw, &w->prog}, &o);
		shard_count(s, w->draw, w->target, o.verdict);
		trial_failed(s);
	} else {
		send_tried(s, ran, &o, &r);
		/* The trial may have known more: an operator whose prediction is impossible. */
		if (s->trial_on_target && verdict_diverges(o.verdict))
			settle_finding(s, w->key, o.signature);
		else
			trial_failed(s);
	}
	trial_end(s);
}

/* The campaign ends: what has no trial yet is sent as it is. */
void trials_give_up(struct shard *s)
{
	static const char how[] = "the campaign ended before its confirmation";
	if (s->trial) {
		s->stats.confirm_ms += clock_ms();
		send_untried(s, s->trial, NULL, how);
		trial_end(s);
	}
	for (struct sighting *w; (w = sightings_next(s->sightings)) != NULL; sighting_free(w))
		send_untried(s, w, NULL, how);
}
