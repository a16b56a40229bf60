/* shard.c: the loop of a shard. One idea: nothing waits for a target as long as something else can be done; a program is a job
 * that moves from the generator to the cheap slot, to the queue, to the main slot and, if it diverges, to the fresh slot. */
#include "fuzz/shard.h"

#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>

#include "compiled/targets/proc.h"
#include "fuzz/exec.h"
#include "fuzz/gen.h"
#include "fuzz/novelty.h"

struct job {
	struct arena arena;
	struct prog prog;
	int64_t index;
	int draw, next_target;
	double score;
	bool hit;                       /* a rank-1 prediction mismatch */
	const char *hint;               /* operator of the worst mismatch, "" if none */
	struct outcome outcome;         /* of the divergence that waits for confirmation */
	int bad_target;
	int64_t compiles;
	double found_ms;
	int confirm_step;
	uint64_t seen_key;
};

struct seen { uint64_t key; const char *stored; };
struct delta { int draw, target; int64_t n[NVERDICTS]; };

struct shard {
	const struct options *o;
	struct arena arena;             /* lives as long as the shard */
	struct exec *main, *cheap, *fresh;
	struct job *in_main, *in_cheap, *in_fresh;
	struct job *queue[QUEUE_MAX], *confirm[QUEUE_MAX];
	int nqueue, nconfirm;
	bool compiles, cheap_on, draining;
	struct target cheap_target, plain_target;
	char *target_name[MAX_TARGETS + 1];
	int64_t next;                   /* number of the next program */
	int64_t made;
	struct policy policy;
	int ndraw;
	char **draw;
	struct novelty *novelty;
	struct seen seen[MAX_SEEN];
	int nseen;
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

static void count(struct shard *s, const struct job *j, int target, enum verdict v)
{
	s->stats.verdict[target][v]++;
	for (int i = s->ndelta - 1; i >= 0; i--)
		if (s->delta[i].draw == j->draw && s->delta[i].target == target) {
			s->delta[i].n[v]++;
			return;
		}
	s->delta = xrealloc(s->delta, sizeof *s->delta * (size_t)(s->ndelta + 1));
	s->delta[s->ndelta] = (struct delta){.draw = j->draw, .target = target};
	s->delta[s->ndelta++].n[v]++;
}

static void count_reasons(struct shard *s, struct job *j, int target, const struct outcome *o)
{
	struct arena *a = &j->arena;
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

static struct job *job_new(struct shard *s)
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
	bool ok = gen_program(&j->prog, &j->arena, &c, &s->policy, &s->fatal);
	choices_free(&c);
	s->next += s->o->shard_count;
	s->stats.generate_ms += now_ms() - t;
	if (!ok) {
		job_free(j);
		return NULL;
	}
	s->made++;
	s->stats.generated++;
	return j;
}

static bool may_generate(const struct shard *s)
{
	int64_t share = s->o->programs / s->o->shard_count + (s->o->shard_index < s->o->programs % s->o->shard_count);
	return !s->draining && !s->fatal.msg[0] && (!s->o->programs || s->made < share);
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

/* The signature that a divergence like this one was stored under in this run, NULL if it is new. */
static const char *seen_before(struct shard *s, const struct outcome *o, const struct target *t, uint64_t *key)
{
	struct strbuf sb;
	sb_init(&sb);
	sb_printf(&sb, "%d %s ", (int)t->family, t->version);
	sb_puts(&sb, o->signature);
	struct hash128 h = hash_bytes(sb.s, sb.len);
	sb_free(&sb);
	memcpy(key, h.b, sizeof *key);
	for (int i = 0; i < s->nseen; i++)
		if (s->seen[i].key == *key)
			return s->seen[i].stored;
	if (s->nseen < MAX_SEEN)
		s->seen[s->nseen++] = (struct seen){*key, arena_strdup(&s->arena, o->signature)};
	return NULL;
}

/* Confirmation knew more (the operator whose prediction is impossible): later ones of the kind go under the same name. */
static void seen_as(struct shard *s, uint64_t key, const char *signature)
{
	for (int i = 0; i < s->nseen; i++)
		if (s->seen[i].key == key && !str_eq(s->seen[i].stored, signature))
			s->seen[i].stored = arena_strdup(&s->arena, signature);
}

static void emit(struct shard *s, const struct job *j, const struct exec *e, const struct target *t, const struct outcome *o, bool confirmed,
                 const char *how, const char *stderr_tail, double confirm_ms)
{
	struct strbuf versions, device, name;
	struct arena a;
	arena_init(&a);
	sb_init(&versions);
	sb_init(&device);
	sb_init(&name);
	exec_versions(&versions, &device, e);
	target_print(&name, t);
	struct shard_finding f = {.target = name.s, .versions = versions.s, .device = device.s, .text = prog_text(&j->prog, &a), .policy = s->draw[j->draw],
		.kind = o->kind, .severity = o->severity, .signature = o->signature, .tensor = o->tensor, .pattern = o->pattern, .detail = o->detail,
		.report = o->report, .stderr_tail = stderr_tail, .call = o->call, .confirmed = confirmed, .how = how, .program_index = j->index,
		.compiles = j->compiles, .found_ms = j->found_ms, .confirm_ms = confirm_ms};
	shard_put_finding(&s->findings, &f);
	s->nfindings++;
	sb_free(&versions);
	sb_free(&device);
	sb_free(&name);
	arena_free(&a);
}

/* A divergence: new signatures go to a fresh process first, the others are further observations. Takes the job. */
static void diverged(struct shard *s, struct job *j, const struct exec *e, int target, const struct outcome *o, const struct result *r)
{
	const struct target *t = target < s->o->ntarget ? &s->o->target[target] : &s->cheap_target;
	j->found_ms = now_ms() - s->start;
	j->compiles = s->stats.compiled;
	if (s->stats.first_divergence_ms == 0 && o->severity != SEVERITY_LOW) {
		s->stats.first_divergence_ms = j->found_ms;
		s->stats.first_divergence_compiles = s->stats.compiled;
	}
	const char *again = seen_before(s, o, t, &j->seen_key);
	if (again || s->o->no_confirm || s->nconfirm == QUEUE_MAX) {
		struct outcome named = *o;
		named.signature = again ? again : o->signature;
		emit(s, j, e, t, &named, false, again ? "seen before in this run" : "not confirmed", r->stderr_tail, 0);
		job_free(j);
		return;
	}
	j->outcome = *o;
	j->bad_target = target;
	s->confirm[s->nconfirm++] = j;
}

/* ---- the slots -------------------------------------------------------------------------------------------------------------------- */

static double promise(const struct shard *s, const struct job *j)
{
	return (j->hit ? 1e6 : 0) + novelty_score(s->novelty, &j->prog);
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
	count(s, j, MAX_TARGETS, o.verdict);
	count_reasons(s, j, MAX_TARGETS, &o);
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

static void take_main(struct shard *s)
{
	struct job *j = s->in_main;
	struct result r;
	struct outcome o;
	int target = j->next_target++;
	s->in_main = NULL;
	exec_take(&r, &j->arena, s->main);
	judge_job(s, j, &r, &s->o->target[target], &o);
	count(s, j, target, o.verdict);
	count_reasons(s, j, target, &o);
	if (s->compiles) {
		s->stats.compiled++;
		if (s->stats.first_compile_ms == 0)
			s->stats.first_compile_ms = now_ms() - s->start;
	}
	if (verdict_diverges(o.verdict))
		diverged(s, j, s->main, target, &o, &r);
	else if (j->next_target < s->o->ntarget && o.verdict != VD_INVALID)
		s->in_main = j, exec_submit(s->main, &j->prog, &s->o->target[j->next_target]);
	else
		job_free(j);
}

/* Confirmation, in a process that has run nothing else: first the plain stage (is the program valid, is the reference right?),
 * then the target itself. */
static void start_fresh(struct shard *s)
{
	struct job *j = s->confirm[--s->nconfirm];
	const struct target *t = j->bad_target < s->o->ntarget ? &s->o->target[j->bad_target] : &s->cheap_target;
	struct exec_options eo = {.self = s->o->self, .python = s->o->python, .limit_ms = s->o->limit_ms};
	struct err err = {0};
	exec_close(s->fresh);
	s->fresh = exec_open(t, &eo, &err);
	if (!s->fresh) {
		emit(s, j, s->main, t, &j->outcome, false, err.msg, "", 0);
		job_free(j);
		return;
	}
	s->in_fresh = j;
	j->confirm_step = 0;
	s->stats.confirm_ms -= now_ms();
	exec_submit(s->fresh, &j->prog, s->compiles && t != &s->cheap_target ? &s->plain_target : t);
	if (!(s->compiles && t != &s->cheap_target))
		j->confirm_step = 1;
}

static void take_fresh(struct shard *s)
{
	struct job *j = s->in_fresh;
	const struct target *t = j->bad_target < s->o->ntarget ? &s->o->target[j->bad_target] : &s->cheap_target;
	struct result r;
	struct outcome o;
	exec_take(&r, &j->arena, s->fresh);
	const struct target *ran = j->confirm_step == 0 ? &s->plain_target : t;
	note_hint(j, &r);
	outcome_of(&o, &j->prog, &r, ran, j->hint, &j->arena);
	if (j->confirm_step == 0 && o.verdict == VD_PASS) {
		j->confirm_step = 1;
		exec_submit(s->fresh, &j->prog, t);
		return;
	}
	s->stats.confirm_ms += now_ms();
	s->stats.confirmations++;
	s->in_fresh = NULL;
	double took = now_ms() - s->start - j->found_ms;
	if (j->confirm_step == 0 && !verdict_diverges(o.verdict)) {
		s->stats.refused_confirmations++;
		count_reasons(s, j, j->bad_target, &o);
		count(s, j, j->bad_target, o.verdict);  /* the plain stage refuses the program: invalid, unsupported, harness */
	} else if (verdict_diverges(o.verdict)) {
		if (ran == t)
			seen_as(s, j->seen_key, o.signature);
		emit(s, j, s->fresh, ran, &o, true, ran == t ? "again in a fresh process" : "the plain stage diverges, in a fresh process", r.stderr_tail, took);
	} else {
		j->outcome.kind = FINDING_NONDETERMINISTIC;
		emit(s, j, s->fresh, t, &j->outcome, false, "not seen again in a fresh process", r.stderr_tail, took);
	}
	exec_close(s->fresh);
	s->fresh = NULL;
	job_free(j);
}

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
	if (!s->in_fresh && s->nconfirm) {
		start_fresh(s);
		did = true;
	}
	if (!s->in_main && s->nqueue) {
		submit_main(s, queue_pop(s));
		did = true;
	}
	struct job *j;
	if (s->cheap_on && !s->in_cheap && may_generate(s) && (j = job_new(s))) {
		s->in_cheap = j;
		exec_submit(s->cheap, &j->prog, &s->cheap_target);
		did = true;
	}
	if (!s->cheap_on && s->nqueue < 2 && may_generate(s) && (j = job_new(s))) {
		j->score = -(double)j->index;
		queue_push(s, j);
		did = true;
	}
	return did;
}

static bool take_work(struct shard *s)
{
	bool did = false;
	if (s->in_fresh && exec_ready(s->fresh))
		did = true, take_fresh(s);
	if (s->in_cheap && exec_ready(s->cheap))
		did = true, take_cheap(s);
	if (s->in_main && exec_ready(s->main))
		did = true, take_main(s);
	return did;
}

static bool idle(const struct shard *s)
{
	return !s->in_main && !s->in_fresh && !s->in_cheap && !s->nconfirm && (!s->nqueue || s->draining) && !may_generate(s);
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
				s->in_fresh ? exec_proc(s->fresh) : NULL};
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
	s->draining = wire_u8(&w) != 0;
	work(s, begin + ms);
	s->stats.wall_ms += now_ms() - begin;
	s->stats.exhausted = idle(s);
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
	for (int i = 1; i < s->o->ntarget; i++)
		if (s->o->target[i].family != t->family || !str_eq(s->o->target[i].version, t->version) || s->o->target[i].device != t->device)
			return err_set(err, "one campaign runs targets of one family, version and device");
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
	s->novelty = xmalloc(sizeof *s->novelty);
	memset(s->novelty, 0, sizeof *s->novelty);
	int rc = EXIT_TARGET;
	if (!open_slots(s, &err))
		fprintf(stderr, "scatterproof: %s\n", err.msg);
	else
		rc = proc_serve("shard", 5, serve, s);
	exec_close(s->main);
	exec_close(s->cheap);
	exec_close(s->fresh);
	free(s->novelty);
	free(s->delta);
	free(s->draw);
	sb_free(&s->findings);
	arena_free(&s->arena);
	free(s);
	return rc;
}
