/* shard.c: the loop of a shard. One idea: nothing waits for a target as long as something else can be done; a program is a job
 * that moves from the generator to the cheap slot, to the queue, to the main slot; if it diverges, a sighting of it to the fresh slot. */
#include "fuzz/shard.h"

#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>

#include "compiled/targets/proc.h"
#include "fuzz/edit.h"
#include "fuzz/exec.h"
#include "fuzz/gen.h"
#include "fuzz/novelty.h"
#include "fuzz/plain.h"
#include "fuzz/sightings.h"

struct job {
	struct arena arena;
	struct prog prog;
	int64_t index;
	int draw, next_target;
	double score;
	bool hit;                       /* a rank-1 prediction mismatch */
	bool twin;                      /* made of a program that passed with suspects */
	struct outcome *raised;         /* waits for what the plain stage says of a raise (plain.h), with its result; NULL: nothing does */
	struct result *raised_result;
	const char *hint;               /* operator of the worst mismatch, "" if none */
};

/* A sighting that is being tried again. */
struct trial {
	struct arena arena;
	struct sighting of;
	struct shard_finding f;
	struct prog prog;
	const char *hint;
	bool on_target;                 /* or still on the plain stage */
};

struct delta { int draw, target; int64_t n[NVERDICTS]; };

struct shard {
	const struct options *o;
	struct arena arena;             /* lives as long as the shard */
	struct exec *main, *cheap, *fresh;
	struct job *in_main, *in_cheap;
	struct trial *trial;
	struct job *queue[QUEUE_MAX];
	int nqueue;
	struct sightings *sightings;
	bool compiles, cheap_on, draining;
	struct target cheap_target, plain_target;
	char *target_name[MAX_TARGETS + 1];
	int64_t next;                   /* number of the next program */
	int64_t made;
	int nfailed;                    /* numbers in a row that gave no program */
	struct policy policy;
	int ndraw;
	char **draw;
	struct novelty *novelty;
	struct shard_stats stats;
	struct delta *delta;
	int ndelta;
	struct shard_reason reason[MAX_REASONS];
	int nreason;
	struct strbuf findings;
	uint32_t nfindings;
	double start;
	struct err fatal;
};

static double now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* ---- counting ------------------------------------------------------------------------------------------------------------- */

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

static void count_reasons(struct shard *s, struct arena *a, int target, const struct outcome *o)
{
	const char *why = verdict_reason(o, a);
	if (why[0])
		shard_reason_add(s->reason, &s->nreason, target, why, 1);
	for (int i = 0; i < NFREEDOMS; i++)
		if (o->freedoms & freedoms[i].bit)
			shard_reason_add(s->reason, &s->nreason, target, arena_printf(a, "%s, legitimately different: %s", verdict_name[o->verdict], freedoms[i].reason), 1);
}

static void count_elements(struct shard *s, const struct outcome *o)
{
	for (int k = 0; k < NFILL_CLASSES; k++) {
		const struct element_counts *c = &o->by_fill[k];
		struct element_counts *e = &s->stats.elements[k];
		e->exact += c->exact;
		e->agree += c->agree;
		e->weak += c->weak;
		e->suspect += c->suspect;
		e->undecided += c->undecided;
		e->disagree += c->disagree;
	}
}

/* ---- jobs ----------------------------------------------------------------------------------------------------------------- */

static void job_free(struct job *j)
{
	arena_free(&j->arena);
	free(j);
}

static bool draw_policy(struct shard *s, int64_t block)
{
	if (block < s->ndraw && s->draw[block])
		return true;
	struct choices c;
	struct policy_limits limits = {s->o->ops, s->o->dtypes};
	choices_from_seed(&c, mix64(s->o->seed ^ mix64((uint64_t)block + 0x5ca77e4)));
	if (!policy_draw(&s->policy, s->o->policy, &limits, &c, &s->fatal))
		return false;
	struct strbuf sb;
	sb_init(&sb);
	policy_print(&sb, &s->policy);
	s->draw = xrealloc(s->draw, sizeof *s->draw * (size_t)(block + 1));
	for (; s->ndraw <= block; s->ndraw++)
		s->draw[s->ndraw] = NULL;
	s->draw[block] = arena_strdup(&s->arena, sb.s);
	sb_free(&sb);
	choices_free(&c);
	return true;
}

/* The program of the next number; NULL: it has none. */
static struct job *job_of_next(struct shard *s)
{
	double t = now_ms();
	int64_t block = s->next / PROGRAMS_PER_DRAW;
	if (!draw_policy(s, block))
		return NULL;
	struct job *j = xmalloc(sizeof *j);
	*j = (struct job){.index = s->next, .draw = (int)block, .hint = ""};
	arena_init(&j->arena);
	struct choices c;
	choices_from_seed(&c, mix64(s->o->seed + mix64((uint64_t)s->next)));
	struct err err = {0};
	bool ok = gen_program(&j->prog, &j->arena, &c, &s->policy, &err);
	choices_free(&c);
	s->next += s->o->shard_count;
	s->stats.generate_ms += now_ms() - t;
	if (!ok) {              /* a number without a program, now and then; operators and dtypes that have none together: always */
		enum { ALWAYS = 50 };
		if (++s->nfailed == ALWAYS)
			err_set(&s->fatal, "%s", err.msg);
		job_free(j);
		return NULL;
	}
	s->nfailed = 0;
	s->made++;
	s->stats.generated++;
	return j;
}

static bool may_generate(const struct shard *s)
{
	int64_t share = s->o->programs / s->o->shard_count + (s->o->shard_index < s->o->programs % s->o->shard_count);
	return !s->draining && !s->fatal.msg[0] && (!s->o->programs || s->made < share);
}

static struct job *job_new(struct shard *s)
{
	struct job *j = NULL;
	while (!j && may_generate(s))
		j = job_of_next(s);
	return j;
}

/* ---- judging ------------------------------------------------------------------------------------------------------------------ */

static void judge_job(struct shard *s, struct job *j, const struct result *r, const struct target *t, struct outcome *out)
{
	double begin = now_ms();
	outcome_of(out, &j->prog, r, t, j->hint, &j->arena);
	s->stats.reference_ms += now_ms() - begin;
	s->stats.target_ms += r->target_ms;
	count_elements(s, out);
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
	struct shard_finding f = {.target = name.s, .versions = versions.s, .device = device.s, .text = prog_text(&j->prog, &a),
		.policy = j->twin ? arena_printf(&a, "%s, its wide twin", s->draw[j->draw]) : s->draw[j->draw], .kind = o->kind, .severity = o->severity, .signature = o->signature, .tensor = o->tensor,
		.pattern = o->pattern, .detail = o->detail, .report = o->report, .stderr_tail = stderr_tail, .call = o->call, .how = "",
		.program_index = j->index, .compiles = s->stats.compiled, .found_ms = now_ms() - s->start};
	shard_put_finding(out, &f);
	sb_free(&versions);
	sb_free(&device);
	sb_free(&name);
	arena_free(&a);
}

static void send_finding(struct shard *s, const struct shard_finding *f)
{
	shard_put_finding(&s->findings, f);
	s->nfindings++;
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
	sb_printf(&sb, "%d %s %s", (int)t->family, t->version, o->signature);
	struct hash128 h = hash_bytes(sb.s, sb.len);
	sb_free(&sb);
	memcpy(&key, h.b, sizeof key);
	return key;
}

static const struct target *target_of(const struct shard *s, int target)
{
	return target < s->o->ntarget ? &s->o->target[target] : &s->cheap_target;
}

/* A divergence: new signatures wait for a trial in a fresh process, those of settled ones are further observations. Takes the job. */
static void diverged(struct shard *s, struct job *j, const struct exec *e, int target, const struct outcome *o, const struct result *r)
{
	const struct target *t = target_of(s, target);
	if (s->stats.first_divergence_ms == 0 && o->severity != SEVERITY_LOW) {
		s->stats.first_divergence_ms = now_ms() - s->start;
		s->stats.first_divergence_compiles = s->stats.compiled;
	}
	struct sighting w = {.key = signature_key(o, t), .draw = j->draw, .target = target, .hint = xstrdup(j->hint)};
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
	if (s->nqueue == QUEUE_MAX) {   /* drop the least promising */
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
	s->queue[s->nqueue++] = j;
}

static struct job *queue_pop(struct shard *s)
{
	int best = 0;
	for (int i = 0; i < s->nqueue; i++) {
		if (s->cheap_on)        /* what is new changes with every compile */
			s->queue[i]->score = promise(s, s->queue[i]);
		if (s->queue[i]->score > s->queue[best]->score)
			best = i;
	}
	struct job *j = s->queue[best];
	s->queue[best] = s->queue[--s->nqueue];
	return j;
}

/* The same on data of a dtype that leaves no room. */
static void queue_twin(struct shard *s, const struct job *of)
{
	struct err err = {0};
	struct job *j = xmalloc(sizeof *j);
	*j = (struct job){.index = of->index, .draw = of->draw, .hint = "", .twin = true};
	arena_init(&j->arena);
	if (!edit_widen(&j->prog, &of->prog, &j->arena, &err)) {        /* dtypes that do not fit together any more */
		job_free(j);
		return;
	}
	j->score = promise(s, j);
	s->stats.twins++;
	queue_push(s, j);
}

static void suspected(struct shard *s, struct job *j, int target, const struct outcome *o)
{
	enum { SHOWN = 4 };     /* per shard: there is not much room for reasons */
	const char *again = arena_printf(&j->arena, "gen --seed %" PRIu64 "%s%s%s%s%s%s --program %" PRId64, s->o->seed,
		str_eq(s->o->policy, "default") ? "" : " --policy ", str_eq(s->o->policy, "default") ? "" : s->o->policy,
		s->o->ops ? " --ops " : "", s->o->ops ? s->o->ops : "", s->o->dtypes ? " --dtypes " : "", s->o->dtypes ? s->o->dtypes : "", j->index);
	const char *what = s->stats.suspected++ >= SHOWN ? "others" : arena_printf(&j->arena, "%" PRId64 " elements%s, %s", o->all.suspect,
		j->twin ? ", as its wide twin" : "", again);
	shard_reason_add(s->reason, &s->nreason, target, arena_printf(&j->arena, "pass with suspects: %s", what), 1);
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
	judge_job(s, j, &r, &s->cheap_target, &o);
	count(s, j->draw, MAX_TARGETS, o.verdict);
	count_reasons(s, &j->arena, MAX_TARGETS, &o);
	note_hint(j, &r);
	s->stats.cheap_hits += j->hit;
	if (verdict_diverges(o.verdict)) {
		diverged(s, j, s->cheap, MAX_TARGETS, &o, &r);
	} else if (o.verdict == VD_PASS) {
		j->score = promise(s, j);
		queue_push(s, j);
	} else {
		job_free(j);
	}
}

/* A raise of a compiled program that no cheap stage has run: the plain stage is asked first. */
static void doubt(struct shard *s, struct job *j, int target, const struct outcome *o, const struct result *r)
{
	struct target plain = plain_of(&s->o->target[target]);
	j->raised = ARENA_NEW(&j->arena, struct outcome, 1);
	j->raised_result = ARENA_NEW(&j->arena, struct result, 1);
	*j->raised = *o;
	*j->raised_result = *r;
	s->in_main = j;
	exec_submit(s->main, &j->prog, &plain);
}

static void take_doubted(struct shard *s)
{
	struct job *j = s->in_main;
	struct result plain;
	struct outcome *o = j->raised;
	int target = j->next_target - 1;
	s->in_main = NULL;
	j->raised = NULL;
	exec_take(&plain, &j->arena, s->main);
	plain_settle(o, &plain);
	count(s, j->draw, target, o->verdict);
	count_reasons(s, &j->arena, target, o);
	if (verdict_diverges(o->verdict))
		diverged(s, j, s->main, target, o, j->raised_result);
	else
		job_free(j);
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
	exec_take(&r, &j->arena, s->main);
	if (r.bad_target) {             /* as every other program would be */
		err_set(&s->fatal, "target '%s': %s", s->target_name[target], r.message);
		job_free(j);
		return;
	}
	judge_job(s, j, &r, &s->o->target[target], &o);
	if (s->compiles) {
		s->stats.compiled++;
		if (s->stats.first_compile_ms == 0)
			s->stats.first_compile_ms = now_ms() - s->start;
	}
	if (!s->cheap_on && plain_needed(&o, &r, &s->o->target[target])) {
		doubt(s, j, target, &o, &r);
		return;
	}
	count(s, j->draw, target, o.verdict);
	count_reasons(s, &j->arena, target, &o);
	if (o.all.suspect)
		suspected(s, j, target, &o);
	if (verdict_diverges(o.verdict))
		diverged(s, j, s->main, target, &o, &r);
	else if (j->next_target < s->o->ntarget && o.verdict != VD_INVALID)
		s->in_main = j, exec_submit(s->main, &j->prog, &s->o->target[j->next_target]);
	else
		job_free(j);
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

/* In a process that has run nothing else: first the plain stage (is the program valid, is the reference right?), then the target itself. */
static void start_fresh(struct shard *s)
{
	struct trial *x = xmalloc(sizeof *x);
	*x = (struct trial){0};
	CHECK(sightings_next(&x->of, s->sightings));
	s->trial = x;
	arena_init(&x->arena);
	finding_of(&x->f, &x->of, &x->arena);
	x->hint = x->of.hint;
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
	x->on_target = !s->compiles || t == &s->cheap_target;
	s->stats.confirm_ms -= now_ms();
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
	f.confirm_ms = now_ms() - s->start - f.found_ms;
	if (verdict_diverges(o->verdict)) {
		f.confirmed = true;
		f.how = x->on_target ? "again in a fresh process" : "the plain stage diverges, in a fresh process";
		f.kind = o->kind, f.severity = o->severity, f.call = o->call;
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
	exec_take(&r, &x->arena, s->fresh);
	for (int i = 0; i < r.nmismatch; i++)
		if (r.mismatch[i].rank == 1)
			x->hint = r.mismatch[i].op;
	outcome_of(&o, &x->prog, &r, ran, x->hint, &x->arena);
	if (!x->on_target && o.verdict == VD_PASS) {
		x->on_target = true;
		exec_submit(s->fresh, &x->prog, t);
		return;
	}
	s->stats.confirm_ms += now_ms();
	s->stats.confirmations++;
	if (!x->on_target && !verdict_diverges(o.verdict)) {    /* the plain stage refuses the program: invalid, unsupported, harness */
		s->stats.refused_confirmations++;
		count_reasons(s, &x->arena, x->of.target, &o);
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
		s->stats.confirm_ms += now_ms();
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
	if (s->compiles)
		novelty_mark(s->novelty, &j->prog);
	j->next_target = 0;
	s->in_main = j;
	exec_submit(s->main, &j->prog, &s->o->target[0]);
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
	if (s->cheap_on && !s->in_cheap && (j = job_new(s))) {
		s->in_cheap = j;
		exec_submit(s->cheap, &j->prog, &s->cheap_target);
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
	return !s->in_main && !s->trial && !s->in_cheap && !sightings_waiting(s->sightings) && (!s->nqueue || s->draining) && !may_generate(s);
}

static void work(struct shard *s, double until)
{
	if (s->draining) {      /* no new compiles: what runs is finished, what waits for confirmation is confirmed */
		while (s->nqueue)
			job_free(s->queue[--s->nqueue]);
	}
	do {
		bool did = take_work(s);
		did |= start_work(s);
		if (idle(s))
			break;
		if (!did) {
			double begin = now_ms();
			struct proc *p[3] = {s->in_main ? exec_proc(s->main) : NULL, s->in_cheap ? exec_proc(s->cheap) : NULL,
				s->trial ? exec_proc(s->fresh) : NULL};
			proc_wait(p, 3, (int)MAX(1.0, until - begin));
			s->stats.wait_ms += now_ms() - begin;
		}
	} while (now_ms() < until);
}

static bool serve(void *ctx, const void *req, size_t nreq, struct strbuf *answer)
{
	struct shard *s = ctx;
	struct wire w = {.p = req, .end = (const uint8_t *)req + nreq};
	double ms = (double)wire_u32(&w), begin = now_ms();
	enum shard_mode mode = (enum shard_mode)wire_u8(&w);
	s->draining = mode != SHARD_WORK;
	if (mode == SHARD_GIVE_UP)
		give_up_trials(s);
	else
		work(s, begin + ms);
	s->stats.wall_ms += now_ms() - begin;
	s->stats.exhausted = mode == SHARD_GIVE_UP || idle(s);
	s->stats.queue = s->nqueue;
	s->stats.target_rss = proc_rss(exec_proc(s->main)) + (s->cheap ? proc_rss(exec_proc(s->cheap)) : 0);
	wire_put_str(answer, s->fatal.msg);
	shard_put_stats(answer, &s->stats);
	int n = 0;
	struct strbuf counters;
	sb_init(&counters);
	for (int i = 0; i < s->ndelta; i++)
		for (int v = 0; v < NVERDICTS; v++)
			if (s->delta[i].n[v]) {
				wire_put_str(&counters, s->draw[s->delta[i].draw]);
				wire_put_str(&counters, s->target_name[s->delta[i].target]);
				wire_put_str(&counters, verdict_name[v]);
				wire_put_i64(&counters, s->delta[i].n[v]);
				n++;
			}
	s->ndelta = 0;
	struct strbuf reasons;
	sb_init(&reasons);
	for (int i = 0; i < s->nreason; i++) {
		wire_put_u32(&reasons, (uint32_t)s->reason[i].target);
		wire_put_str(&reasons, s->reason[i].text);
		wire_put_i64(&reasons, s->reason[i].n);
	}
	wire_put_u32(answer, (uint32_t)n);
	sb_put(answer, counters.s, counters.len);
	sb_free(&counters);
	wire_put_u32(answer, (uint32_t)s->nreason);
	sb_put(answer, reasons.s, reasons.len);
	sb_free(&reasons);
	s->nreason = 0;
	wire_put_u32(answer, s->nfindings);
	sb_put(answer, s->findings.s, s->findings.len);
	sb_reset(&s->findings);
	s->nfindings = 0;
	return !s->fatal.msg[0];
}

static bool open_slots(struct shard *s, struct err *err)
{
	const struct target *t = &s->o->target[0];
	struct exec_options eo = {.self = s->o->self, .python = s->o->python, .limit_ms = s->o->limit_ms};
	for (int i = 0; i < s->o->ntarget; i++)
		s->compiles |= target_stage(&s->o->target[i])->compiles;
	s->main = exec_open(t, &eo, err);
	if (!s->main)
		return false;
	s->plain_target = s->cheap_target = *t;
	s->plain_target.noptions = s->cheap_target.noptions = 0;
	s->plain_target.stage = 0;
	s->cheap_on = s->compiles && t->family == FAM_TORCH && !s->o->no_cheap;
	for (int k = 0; k < target_families[t->family].nstages; k++)
		if (str_eq(target_families[t->family].stage[k].name, "fake"))
			s->plain_target.stage = s->cheap_target.stage = k;      /* plain values, and which prediction is impossible */
	if (s->cheap_on)
		s->cheap = exec_open(t, &eo, err);
	for (int i = 0; i <= MAX_TARGETS; i++) {
		struct strbuf sb;
		sb_init(&sb);
		target_print(&sb, i < s->o->ntarget ? &s->o->target[i] : &s->cheap_target);
		s->target_name[i] = arena_strdup(&s->arena, sb.s);
		sb_free(&sb);
	}
	return !s->cheap_on || s->cheap;
}

int shard_main(const struct options *o)
{
	struct shard *s = xmalloc(sizeof *s);
	struct err err = {0};
	*s = (struct shard){.o = o, .next = o->shard_index, .start = now_ms()};
	arena_init(&s->arena);
	sb_init(&s->findings);
	s->sightings = sightings_new();
	s->novelty = xmalloc(sizeof *s->novelty);
	memset(s->novelty, 0, sizeof *s->novelty);
	int rc = EXIT_TARGET;
	if (!open_slots(s, &err))
		fprintf(stderr, "%s\n", err.msg);      /* the campaign shows it */
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
	arena_free(&s->arena);
	free(s);
	return rc;
}
