/* shard.c: the loop of a shard. One idea: nothing waits for a target as long as something else can be done; a program is a job
 * that moves from the generator to the cheap slot, to the queue, to the main slot; if it diverges, a sighting of it to the fresh slot. */
#include "fuzz/campaign/shard_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "eager/base/clock.h"
#include "eager/base/proc.h"
#include "compiled/targets/driver.h"
#include "fuzz/triage/plain.h"

/* ---- judging ------------------------------------------------------------------------------------------------------------------ */

static void judge_job(struct shard *s, struct job *j, const struct result *r, int target, struct outcome *out)
{
	const struct target *t = shard_target(s, target);
	double begin = clock_ms();
	shard_take_up_job(s, j, "judging on ", t);
	shard_die_if_planted(s, "judging", hash_bytes(j->text, strlen(j->text)).b[1] % 64 == 5);
	outcome_with(out, &j->refs, r, t, j->hint, &j->arena);
	s->stats.reference_ms += clock_ms() - begin;
	s->stats.target_ms += r->target_ms;
}

/* The reference for t, while t runs the program. */
static void refer(struct shard *s, struct job *j, const struct target *t)
{
	double begin = clock_ms();
	shard_take_up_job(s, j, "judging on ", t);
	references_get(&j->refs, t);
	s->stats.reference_ms += clock_ms() - begin;
}

/* ---- the slots -------------------------------------------------------------------------------------------------------------------- */

static void queue_twin(struct shard *s, const struct job *of)
{
	struct job *j = shard_skips(s, of->index, true) ? NULL : job_widened(s, of);
	if (!j)
		return;
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
	shard_add_reason(
		s, target, &(struct made){j->index, j->twin, j->draw, &j->prog}, arena_printf(&j->arena, "pass with suspects: %s", what));
	if (!j->twin)
		queue_twin(s, j);
}

static void note_operator(struct job *j, const char *op)
{
	for (int i = 0; i < j->nhint; i++)
		if (str_eq(j->hints[i], op))
			return;
	j->many_hints |= j->nhint == MAX_HINTS;
	if (!j->many_hints)
		j->hints[j->nhint++] = op;
}

static void note_hint(struct job *j, const struct result *r)
{
	for (int i = 0; i < r->nmismatch; i++)
		if (r->mismatch[i].rank == 1) {
			j->hit = true;
			j->hint = r->mismatch[i].op;
			note_operator(j, j->hint);
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
	shard_count_job(s, j, MAX_TARGETS, &o);
	note_hint(j, &r);
	s->stats.cheap_hits += j->hit;
	if (j->hit && !queue_explains(s, j))
		s->last_hit = s->stats.cheap_runs;
	if (verdict_diverges(o.verdict)) {
		shard_diverged(s, j, MAX_TARGETS, &o, &r);
	} else if (o.verdict == VD_PASS) {
		j->ran_eagerly = true;
		queue_push(s, j);
	} else {
		job_free(j);
	}
}

/* To the target that is next, with what the queue holds if it compiles several in one go. */
static void send_main(struct shard *s, struct job *j)
{
	const struct target *t = &s->target[j->next_target];
	const char *next[QUEUE_MAX];
	s->in_main = j;
	s->main_since = clock_ms();
	const int most = MAX(target_stage(t)->ahead - 1, 0);
	exec_submit_first(s->main, &j->prog, t, next, j->why ? sample_texts(next, most, s) : queue_texts(next, most, s));
	refer(s, j, t);
}

/* Counts what is known now, and goes on with the job. */
static void settle_main(struct shard *s, struct job *j, int target, const struct outcome *o, const struct result *r)
{
	shard_count_job(s, j, target, o);
	if (o->all.suspect)
		suspected(s, j, target, o);
	sample_see(s, j, r);
	if (verdict_diverges(o->verdict)) {
		sample_finding(s, j);
		shard_diverged(s, j, target, o, r);
	} else if (o->verdict != VD_INVALID && j->next_target < (j->why ? s->o->ntarget : shard_nplain(s))) {
		send_main(s, j);
	} else if (o->verdict != VD_INVALID && sample_wants(s, j)) {
		sample_push(s, j);
	} else {
		job_free(j);
	}
}

/* A raise of a compiled program that no cheap stage has run (--no-cheap, a wide twin, a slot that starved): the plain stage is asked
 * before anything counts. */
static void doubt(struct shard *s, struct job *j, int target, const struct outcome *o, const struct result *r)
{
	const struct target plain = plain_of(&s->target[target]);
	shard_take_up_job(s, j, "sending to ", &plain);
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
	shard_take_up_job(s, j, "judging on ", &s->target[target]);
	plain_settle(&o, j->raised_result, &plain, &j->prog, &s->target[target], &j->arena);
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

/* ---- the loop -------------------------------------------------------------------------------------------------------------------- */

static void submit_main(struct shard *s, struct job *j)
{
	j->next_target = j->why ? j->next_target : 0;
	shard_take_up_job(s, j, "sending to ", &s->target[j->next_target]);
	if (s->compiles)
		features_add(s->compiled, &j->prog);
	s->stats.starved_ms += clock_ms() - s->main_since;
	send_main(s, j);
}

/* The cheap stage has its turn: it still predicts something new, or the queue needs it. */
static bool cheap_wanted(const struct shard *s)
{
	return s->cheap_on && !s->in_cheap && (queue_unexplained(s) < CHEAP_ENOUGH || s->stats.cheap_runs - s->last_hit < CHEAP_PATIENCE);
}

static bool main_starves(const struct shard *s)
{
	return s->cheap_on && !s->in_main && !queue_unexplained(s) && clock_ms() - s->main_since > MAIN_PATIENCE_MS;
}

/* What compiles several in one go gets the first one when the others are there. */
static bool queue_full_enough(const struct shard *s)
{
	return s->nqueue >= s->ahead || s->cheap_on || !(s->nagain || shard_may_generate(s));
}

/* Everything that can be started now; false: nothing could. */
static bool start_work(struct shard *s)
{
	bool did = false;
	if (!s->trial && sightings_waiting(s->sightings)) {
		trial_start(s);
		did = true;
	}
	struct job *j;
	if (!s->in_main && (j = sample_pop(s))) {
		submit_main(s, j);
		did = true;
	}
	if (!s->in_main && queue_full_enough(s) && (j = queue_pop(s))) {
		submit_main(s, j);
		did = true;
	}
	if (main_starves(s) && (j = job_new(s))) {
		submit_main(s, j);
		did = true;
	}
	if (cheap_wanted(s) && (j = job_new(s))) {
		s->in_cheap = j;
		shard_take_up_job(s, j, "sending to ", &s->cheap_target);
		exec_submit(s->cheap, &j->prog, &s->cheap_target);
		refer(s, j, &s->cheap_target);
		did = true;
	}
	if (!s->cheap_on && s->nqueue < MAX(2, s->ahead) && (j = job_new(s))) {
		if (j->why)
			sample_push(s, j);
		else
			queue_push(s, j);
		did = true;
	}
	return did;
}

static bool take_work(struct shard *s)
{
	bool did = false;
	if (s->trial && exec_ready(s->fresh))
		did = true, trial_take(s);
	if (s->in_cheap && exec_ready(s->cheap))
		did = true, take_cheap(s);
	if (s->in_main && exec_ready(s->main))
		did = true, take_main(s);
	return did;
}

static bool idle(const struct shard *s)
{
	return !s->in_main && !s->trial && !s->in_cheap && !sightings_waiting(s->sightings) && !s->nqueue && !s->nsampled && !s->nagain
		&& !shard_may_generate(s);
}

static void work(struct shard *s, double until)
{
	if (s->draining) /* no new compiles: what runs is finished, what waits for confirmation is confirmed */
		queue_drain(s);
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
		target_print(&sb, shard_target(s, i));
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
	list[n] = (struct shard_pending){.index = j->index, .twin = j->twin, .why = j->why, .counted = MAX(j->counted, counted)};
	return n + 1;
}

static struct shard_pending diverged_of(const struct sighting *w)
{
	return (struct shard_pending){
		.index = w->f.index, .twin = w->twin, .diverged = true, .counted = w->target == MAX_TARGETS ? 1 : 2 + w->target};
}

/* Everything that this shard would still have to do. */
static struct shard_state where_it_stands(const struct shard *s, struct arena *a)
{
	struct shard_pending *list =
		ARENA_ZNEW(a, struct shard_pending, s->nqueue + s->nsampled + sightings_waiting(s->sightings) + s->nagain + 3);
	int n = 0;
	for (int i = 0; i < s->nqueue; i++)
		n = add_pending(list, n, s->queue[i], s->queue[i]->next_target + 1);
	for (int i = 0; i < s->nsampled; i++)
		n = add_pending(list, n, s->sampled[i], s->sampled[i]->next_target + 1);
	if (s->in_main) /* a raise in doubt is not counted */
		n = add_pending(list, n, s->in_main, s->in_main->next_target + !s->in_main->raised);
	if (s->in_cheap)
		n = add_pending(list, n, s->in_cheap, 0);
	if (s->trial)
		list[n++] = diverged_of(s->trial);
	for (int i = 0; i < sightings_waiting(s->sightings); i++)
		list[n++] = diverged_of(sightings_at(s->sightings, i));
	for (int i = 0; i < s->nagain; i++)
		list[n++] = s->again[i];
	return (struct shard_state){.next = s->next, .made = s->made, .npending = n, .pending = list};
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
		.state = where_it_stands(s, &a),
		.explained = s->explained};
	shard_put_answer(answer, &head);
	arena_free(&a);
	shard_put_counters(s, answer);
	shard_put_reasons(s, answer);
	wire_put_u32(answer, s->nfindings);
	sb_put(answer, s->findings.s, s->findings.len);
	sb_reset(&s->findings);
	s->nfindings = 0;
	wire_put_u32(answer, s->nkept);
	sb_put(answer, s->kept.s, s->kept.len);
	sb_reset(&s->kept);
	s->nkept = 0;
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
	explained_add_all(&s->explained, &r.explained);
	bool ok = (!r.fresh || begin_at(s, &r)) && (s->identified || identify(s));
	if (ok && r.mode == SHARD_GIVE_UP) {
		trials_give_up(s);
		queue_drain(s);
		sample_drop(s);
	}
	if (ok && r.mode != SHARD_GIVE_UP)
		work(s, clock_ms() + r.ms);
	shard_note_clear(s->note);
	s->stats.wall_ms += clock_ms() - begin;
	s->stats.exhausted = r.mode == SHARD_GIVE_UP || idle(s);
	s->stats.queue = s->nqueue;
	s->stats.own_rss = process_rss(getpid());
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
		int *ahead = i < shard_nplain(s) ? &s->ahead : &s->ahead_sampled;
		*ahead = MAX(*ahead, target_stage(&s->target[i])->ahead);
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
	*s = (struct shard){.o = o, .source = options_source(o), .start = clock_ms(), .fatal_code = EXIT_USAGE, .ahead = 1, .ahead_sampled = 1};
	arena_init(&s->arena);
	sb_init(&s->findings);
	sb_init(&s->kept);
	sb_init(&s->versions);
	sb_init(&s->hello);
	s->sightings = sightings_new();
	s->compiled = xmalloc(sizeof *s->compiled);
	memset(s->compiled, 0, sizeof *s->compiled);
	s->shapes = xmalloc(sizeof *s->shapes);
	memset(s->shapes, 0, sizeof *s->shapes);
	s->sent = xmalloc(sizeof *s->sent);
	memset(s->sent, 0, sizeof *s->sent);
	s->sent->loops = o->loop_shapes;
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
	sample_drop(s);
	free(s->sampled);
	free(s->shapes);
	free(s->compiled);
	free(s->sent);
	source_end(&s->source);
	free(s->delta);
	free(s->draw);
	sb_free(&s->findings);
	sb_free(&s->kept);
	sb_free(&s->versions);
	sb_free(&s->hello);
	arena_free(&s->arena);
	free(s);
	return rc;
}
