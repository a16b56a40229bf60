/* shard_trial.c: from a divergence to a finding. One process that has run nothing else decides for all sightings of a signature. */
#include "fuzz/campaign/shard_internal.h"

#include <stdlib.h>

#include "eager/base/clock.h"
#include "fuzz/triage/signature.h"

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
	shard_send_finding(s, &f);
	arena_free(&a);
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

/* A divergence: new signatures wait for a trial in a fresh process, those of settled ones are further observations. Takes the job. */
void shard_diverged(struct shard *s, struct job *j, const struct exec *e, int target, const struct outcome *o, const struct result *r)
{
	const struct target *t = shard_target(s, target);
	if (s->stats.first_divergence_ms == 0 && o->severity != SEVERITY_TRIVIAL) {
		s->stats.first_divergence_ms = clock_ms() - s->start;
		s->stats.first_divergence_compiles = s->stats.compiled;
	}
	struct sighting w = {
		.key = signature_key(o, t), .index = j->index, .twin = j->twin, .draw = j->draw, .target = target, .hint = xstrdup(j->hint)};
	w.explains = xstrdup(signature_hint(o->signature));
	sb_init(&w.finding);
	describe(&w.finding, s, j, e, t, o, r->stderr_tail);
	const char *name = sightings_name(s->sightings, w.key);
	if (name) {
		send_untried(s, &w, name, HOW_SEEN_BEFORE);
	} else if (s->o->no_confirm) {
		send_untried(s, &w, NULL, "not confirmed");
		settle_finding(s, w.key, o->signature);
	} else if (!sightings_wait(s->sightings, &w)) {
		send_untried(s, &w, NULL, "not confirmed: too many others wait");
	}
	sighting_free(&w);
	job_free(j);
}

void trial_end(struct shard *s)
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
void trial_start(struct shard *s)
{
	struct trial *x = xmalloc(sizeof *x);
	*x = (struct trial){0};
	CHECK(sightings_next(&x->of, s->sightings));
	s->trial = x;
	arena_init(&x->arena);
	finding_of(&x->f, &x->of, &x->arena);
	x->hint = x->of.hint;
	shard_take_up(s, x->of.index, x->of.twin, x->f.text, "confirming on ", shard_target(s, x->of.target));
	const struct target *t = shard_target(s, x->of.target);
	struct exec_options eo = {.self = s->o->self, .python = s->o->python, .limit_ms = s->o->limit_ms};
	eo.patient = x->f.kind == FINDING_HANG; /* all shards may have had a slow machine */
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
		f.how = f.kind == FINDING_HANG ? "slow: it answers in a fresh process that has four times as long"
									   : "not seen again in a fresh process";
		f.kind = FINDING_NONDETERMINISTIC;
	}
	shard_send_finding(s, &f);
	sb_free(&name);
}

void trial_take(struct shard *s)
{
	struct trial *x = s->trial;
	const struct target *t = shard_target(s, x->of.target), *ran = x->on_target ? t : &s->plain_target;
	struct result r;
	struct outcome o;
	shard_take_up(s, x->of.index, x->of.twin, x->f.text, "confirming on ", ran);
	exec_take(&r, &x->arena, s->fresh);
	shard_die_if_planted(s, "confirming", hash_bytes(x->f.text, strlen(x->f.text)).b[1] % 4 == 1);
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
		shard_count_reasons(s, &x->arena, x->of.target, &(struct made){x->of.index, x->of.twin, x->of.draw, x->f.text}, &o);
		shard_count(s, x->of.draw, x->of.target, o.verdict);
		trial_failed(s);
	} else {
		send_tried(s, ran, &o, &r);
		/* The trial may have known more: an operator whose prediction is impossible. */
		if (x->on_target && verdict_diverges(o.verdict))
			settle_finding(s, x->of.key, o.signature);
		else
			trial_failed(s);
	}
	trial_end(s);
}

/* The campaign ends: what has no trial yet is sent as it is. */
void trials_give_up(struct shard *s)
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
