/* campaign.c: the parent of a campaign: starts shards, shows progress, alone writes the database. It knows nothing about tensors: shards answer with counters and findings, it adds and stores them. */
#include "fuzz/commands.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "compiled/targets/proc.h"
#include "eager/escape.h"
#include "fuzz/progress.h"
#include "fuzz/shard.h"
#include "reports/lifecycle.h"

enum { CHUNK_MS = 500, DRAIN_S = 240, GIVE_UP_S = 5 };

struct campaign {
	const struct options *o;
	struct arena arena, scratch;
	struct store *store;
	struct hash128 run;
	int nshards;
	struct proc **shard;
	struct shard_stats *stats;      /* latest of each shard's present process */
	struct shard_stats *past;       /* sums of processes that died */
	struct shard_reason reason[MAX_REASONS];
	int nreason;
	bool *done;
	int64_t nnew, nmeta, nobs, nknown, shard_deaths;
	double first_found_ms, first_found_compile_ms;
	int64_t first_found_compiles;
	double start, last_flush;
	enum shard_mode mode;
	struct progress progress;
	bool store_failed;
	bool refused;                   /* a shard says that the request itself is wrong */
};

static volatile sig_atomic_t stop_signal, nsignals;
static void on_signal(int sig)
{
	stop_signal = sig;
	nsignals++;
}

/* They interrupt a write whose reader does not read (no SA_RESTART). nohup(1) ignores SIGHUP for us. */
static void catch_signals(void)
{
	const struct sigaction end = {.sa_handler = on_signal};
	struct sigaction hup;
	sigaction(SIGINT, &end, NULL);
	sigaction(SIGTERM, &end, NULL);
	if (sigaction(SIGHUP, NULL, &hup) == 0 && hup.sa_handler != SIG_IGN)
		sigaction(SIGHUP, &end, NULL);
}

static double now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int64_t unix_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- sums over shards ------------------------------------------------------------------------------------------------------ */

static void add_stats(struct shard_stats *sum, const struct shard_stats *s)
{
	sum->generated += s->generated;
	sum->compiled += s->compiled;
	sum->cheap_runs += s->cheap_runs;
	sum->cheap_hits += s->cheap_hits;
	sum->confirmations += s->confirmations;
	sum->refused_confirmations += s->refused_confirmations;
	sum->suspected += s->suspected;
	sum->twins += s->twins;
	for (int t = 0; t <= MAX_TARGETS; t++)
		for (int v = 0; v < NVERDICTS; v++)
			sum->verdict[t][v] += s->verdict[t][v];
	for (int k = 0; k < NFILL_CLASSES; k++) {
		sum->elements[k].exact += s->elements[k].exact;
		sum->elements[k].agree += s->elements[k].agree;
		sum->elements[k].weak += s->elements[k].weak;
		sum->elements[k].suspect += s->elements[k].suspect;
		sum->elements[k].undecided += s->elements[k].undecided;
		sum->elements[k].disagree += s->elements[k].disagree;
	}
	sum->generate_ms += s->generate_ms;
	sum->reference_ms += s->reference_ms;
	sum->target_ms += s->target_ms;
	sum->wait_ms += s->wait_ms;
	sum->confirm_ms += s->confirm_ms;
	sum->wall_ms += s->wall_ms;
	sum->queue += s->queue;
	sum->target_rss += s->target_rss;
}

static void total(const struct campaign *c, struct shard_stats *out)
{
	*out = (struct shard_stats){0};
	for (int i = 0; i < c->nshards; i++) {
		add_stats(out, &c->past[i]);
		add_stats(out, &c->stats[i]);
	}
}

/* ---- findings ------------------------------------------------------------------------------------------------------------------ */

static bool stored(struct campaign *c, enum store_status st)
{
	if (st == STORE_OK)
		return true;
	if (!c->store_failed) {
		progress_clear(&c->progress);
		fprintf(stderr, "scatterproof: %s\n", store_message(c->store));
	}
	c->store_failed = true;
	return false;
}

static const char *family_text(const char *target, struct arena *a)
{
	char *s = arena_strdup(a, target);
	s[strcspn(s, ":")] = 0;
	return s;
}

static bool write_rows(struct campaign *c, const struct shard_finding *f, struct hash128 *id, bool exists, struct arena *a)
{
	struct err err = {0};
	struct prog p;
	struct hash128 program, env;
	const char *ops[MAX_NODES];
	int64_t at = unix_ms();
	const char *tool = SCATTERPROOF;
	int nops = prog_read(&p, a, f->text, strlen(f->text), READ_STRICT, &err) ? prog_ops(ops, MAX_NODES, &p) : 0;
	if (store_program(c->store, &program, f->text, ops, nops) != STORE_OK ||
	    store_environment(c->store, &env, f->target, f->versions, f->device) != STORE_OK)
		return false;
	struct store_finding sf = {.program = program, .family = family_text(f->target, a), .kind = f->kind, .severity = f->severity,
		.signature = f->signature, .at = at, .tool = tool};
	if (!exists && store_finding(c->store, id, &sf) != STORE_OK)
		return false;
	struct store_observation so = {.finding = *id, .environment = env, .run = c->run, .at = at,
		.verdict = f->kind == FINDING_CRASH ? "crash" : f->kind == FINDING_HANG ? "hang" : "mismatch", .tensor = f->tensor, .fill = -1,
		.call = f->call, .detail = f->detail};
	if (store_observation(c->store, &so) != STORE_OK)
		return false;
	if (!exists) {
		store_artifact(c->store, id, "report", at, f->report, strlen(f->report));
		if (f->stderr_tail[0])
			store_artifact(c->store, id, "stderr", at, f->stderr_tail, strlen(f->stderr_tail));
		struct store_event note = {.finding = *id, .at = at, .kind = EVENT_NOTE, .tool = tool,
			.payload = arena_printf(a, "program %" PRId64 " of seed %" PRIu64 ", compile %" PRId64 ", %s%spolicy %s", f->program_index, c->o->seed,
		                                f->compiles, f->confirmed ? "" : f->how, f->confirmed ? "" : ", ", f->policy)};
		store_event(c->store, &note);
	}
	if (f->confirmed) {
		struct store_event ev = {.finding = *id, .at = at, .kind = EVENT_CONFIRMED, .tool = tool, .payload = f->how};
		store_event(c->store, &ev);
	}
	return true;
}

/* In one transaction. exists, state: of a finding with this signature that was there before. */
static bool store_it(struct campaign *c, const struct shard_finding *f, struct hash128 *id, bool *exists, enum finding_state *state)
{
	struct arena *a = &c->scratch;
	if (!stored(c, store_open_by_signature(c->store, exists, id, state, f->signature, family_text(f->target, a))))
		return false;
	store_begin(c->store);  /* its failure is store_commit's too */
	write_rows(c, f, id, *exists, a);
	return stored(c, store_commit(c->store));
}

/* Seen again after its fix: as good as new. */
static bool regressed(struct campaign *c, const struct shard_finding *f, const struct hash128 *id)
{
	bool yes = false;
	stored(c, finding_seen_after_fix(&yes, c->store, id, f->versions, unix_ms(), SCATTERPROOF));
	return yes;
}

static void accept(struct campaign *c, const struct shard_finding *f)
{
	struct hash128 id = hash_bytes(f->text, strlen(f->text));
	bool exists = false;
	enum finding_state state = STATE_CANDIDATE;
	const char *what = f->confirmed ? "confirmed" : "candidate";
	c->nobs++;
	if (c->store && !store_it(c, f, &id, &exists, &state)) {
		if (!exists)    /* all that is left of it is what is printed here; the report ends with the program */
			fprintf(stderr, "scatterproof: a finding could not be stored:\n%s", f->report);
		return;
	}
	if (exists && state == STATE_FIXED_IN && f->confirmed && regressed(c, f, &id)) {
		what = "regressed";
	} else if (exists) {      /* decided already, or counted when it was new */
		c->nknown += state == STATE_KNOWN || state == STATE_DISMISSED || state == STATE_FIXED_IN;
		return;
	}
	if (!c->store && str_eq(f->how, HOW_SEEN_BEFORE))
		return;
	if (f->severity == SEVERITY_LOW)
		c->nmeta++;
	else
		c->nnew++;
	if (c->first_found_ms == 0 && f->severity != SEVERITY_LOW) {
		c->first_found_ms = f->found_ms;
		c->first_found_compiles = f->compiles;
	}
	if (!progress_finding(&c->progress, f, what, &id) && !stop_signal)
		stop_signal = SIGPIPE;  /* the reader of our pipe has gone */
}

/* The status line, if it is due. */
static void status(struct campaign *c, bool force)
{
	struct shard_stats s;
	if (!force && !progress_due(&c->progress))
		return;
	total(c, &s);
	progress_status(&c->progress, &s, c->nnew + c->nmeta, c->mode != SHARD_WORK);
}

/* ---- shards ---------------------------------------------------------------------------------------------------------------------- */

static bool answer_decode(struct campaign *c, int i, const void *p, size_t n, struct err *err)
{
	struct arena *a = &c->scratch;
	arena_reset(a);
	struct wire w = {.p = p, .end = (const uint8_t *)p + n};
	const char *fatal = wire_str(&w, a);
	struct shard_stats s;
	shard_get_stats(&s, &w);
	if (w.bad)
		return err_set(err, "a shard's answer does not decode");
	c->stats[i] = s;
	c->done[i] = s.exhausted;
	for (uint32_t k = wire_u32(&w); k > 0 && !w.bad; k--) {
		const char *draw = wire_str(&w, a), *target = wire_str(&w, a), *verdict = wire_str(&w, a);
		int64_t count = wire_i64(&w);
		if (!w.bad && c->store)
			store_counter_add(c->store, &c->run, draw, target, verdict, count);
	}
	for (uint32_t k = wire_u32(&w); k > 0 && !w.bad; k--) {
		int target = (int)wire_u32(&w);
		const char *text = wire_str(&w, a);
		int64_t count = wire_i64(&w);
		if (!w.bad)
			shard_reason_add(c->reason, &c->nreason, target, text, count);
	}
	for (uint32_t k = wire_u32(&w); k > 0 && !w.bad; k--) {
		struct shard_finding f;
		shard_get_finding(&f, &w, a);
		if (!w.bad)
			accept(c, &f);
	}
	c->refused = fatal[0] != 0;
	return fatal[0] ? err_set(err, "%s", fatal) : true;
}

static bool submit_chunk(struct campaign *c, int i, struct err *err)
{
	struct strbuf sb;
	sb_init(&sb);
	wire_put_u32(&sb, CHUNK_MS);
	wire_put_u8(&sb, (uint8_t)c->mode);
	bool ok = proc_submit(c->shard[i], sb.s, sb.len, 600000, err);
	sb_free(&sb);
	return ok;
}

static void shard_died(struct campaign *c, int i)
{
	progress_clear(&c->progress);
	fprintf(stderr, "scatterproof: shard %d ended: %s\n  %s\n", i, proc_why(c->shard[i]),
	        escaped_lines(&c->scratch, "  ", proc_tail(c->shard[i])));
	add_stats(&c->past[i], &c->stats[i]);
	c->past[i].queue = c->past[i].target_rss = 0;
	c->past[i].verdict[0][VD_HARNESS]++;
	c->stats[i] = (struct shard_stats){0};
	c->shard_deaths++;
	c->done[i] = true;      /* its numbering cannot be resumed in the same place: the campaign goes on without it */
}

static bool all_done(const struct campaign *c)
{
	for (int i = 0; i < c->nshards; i++)
		if (!c->done[i] || proc_state(c->shard[i]) == PROC_BUSY)
			return false;
	return true;
}

static bool run(struct campaign *c, struct err *err)
{
	double deadline = c->o->time_s > 0 ? c->start + c->o->time_s * 1e3 : 0, end = 0;
	for (;;) {
		double t = now_ms();
		if (c->mode == SHARD_WORK && (c->store_failed || (deadline > 0 && t > deadline))) {
			c->mode = SHARD_DRAIN;
			end = t + DRAIN_S * 1e3;
		}
		if (c->mode != SHARD_GIVE_UP && (stop_signal || (c->mode == SHARD_DRAIN && t > end))) {
			c->mode = SHARD_GIVE_UP;
			end = t + GIVE_UP_S * 1e3;
		}
		if (c->mode == SHARD_GIVE_UP && t < end - (GIVE_UP_S - 1) * 1e3)
			nsignals = 0;   /* timeout(1) and a shell may both send the first one; one of a second later is a person's */
		if (c->mode == SHARD_GIVE_UP && (nsignals > 0 || t > end))
			return true;
		for (int i = 0; i < c->nshards; i++) {
			enum proc_state st = proc_state(c->shard[i]);
			if (!c->done[i] && (st == PROC_IDLE || st == PROC_EMPTY) && !submit_chunk(c, i, err))
				return false;
		}
		if (all_done(c))
			return true;
		proc_wait(c->shard, c->nshards, 200);
		for (int i = 0; i < c->nshards; i++) {
			if (!proc_ready(c->shard[i]))
				continue;
			size_t n;
			bool ok = true;
			if (proc_state(c->shard[i]) == PROC_DONE) {
				const void *p = proc_answer(c->shard[i], &n);
				ok = answer_decode(c, i, p, n, err);
			} else if (c->shard_deaths == 0 && c->stats[i].generated == 0) {
				ok = err_set(err, "%s", proc_tail(c->shard[i])[0] ? proc_tail(c->shard[i]) : proc_why(c->shard[i]));
			} else {
				shard_died(c, i);
			}
			proc_release(c->shard[i]);
			if (!ok)
				return false;
		}
		if (c->store && !c->store_failed && t - c->last_flush > 1000) {
			c->last_flush = t;
			stored(c, store_flush(c->store));
		}
		status(c, false);
	}
}

/* ---- the end ------------------------------------------------------------------------------------------------------------------------ */

static void summary_json(const struct campaign *c, const struct shard_stats *s)
{
	printf("{\"summary\": {\"policy\": \"%s\", \"seed\": %" PRIu64 ", \"seconds\": %.1f, \"programs\": %" PRId64 ", \"compiled\": %" PRId64 ", \"cheap\": %" PRId64,
	       c->o->policy, c->o->seed, (now_ms() - c->start) / 1e3, s->generated, s->compiled, s->cheap_runs);
	for (int v = 0; v < NVERDICTS; v++)
		printf(", \"%s\": %" PRId64, verdict_name[v], verdicts(s, (enum verdict)v) + s->verdict[MAX_TARGETS][v]);
	printf(", \"new_findings\": %" PRId64 ", \"new_strides_only\": %" PRId64 ", \"divergent\": %" PRId64 ", \"known\": %" PRId64 "}}\n",
	       c->nnew, c->nmeta, c->nobs, c->nknown);
}

static void summary(const struct campaign *c)
{
	struct shard_stats s;
	total(c, &s);
	if (c->o->json) {
		summary_json(c, &s);
		return;
	}
	printf("\n%s: seed %" PRIu64 ", %.0f s, %" PRId64 " programs generated", c->o->policy, c->o->seed, (now_ms() - c->start) / 1e3, s.generated);
	if (s.compiled)
		printf(", %" PRId64 " compiled", s.compiled);
	if (s.cheap_runs)
		printf(", %" PRId64 " through the cheap stage (%" PRId64 " with a predicted meta that overlaps itself)", s.cheap_runs, s.cheap_hits);
	printf("\n");
	for (int t = 0; t <= MAX_TARGETS; t++) {
		if (t >= c->o->ntarget && t < MAX_TARGETS)
			continue;
		int64_t n = 0;
		for (int v = 0; v < NVERDICTS; v++)
			n += s.verdict[t][v];
		if (!n)
			continue;
		struct strbuf sb;
		sb_init(&sb);
		if (t < MAX_TARGETS)
			target_print(&sb, &c->o->target[t]);
		printf("  %-28s", t < MAX_TARGETS ? sb.s : "cheap stage");
		for (int v = 0; v < NVERDICTS; v++)
			if (s.verdict[t][v])
				printf(" %s %" PRId64, verdict_name[v], s.verdict[t][v]);
		printf("\n");
		sb_free(&sb);
		for (int i = 0; i < c->nreason; i++)
			if (c->reason[i].target == t)
				printf("    %8" PRId64 "  %s\n", c->reason[i].n, c->reason[i].text);
	}
	for (int k = 0; k < NFILL_CLASSES; k++) {
		const struct element_counts *e = &s.elements[k];
		double n = (double)(e->exact + e->agree + e->weak + e->suspect + e->undecided + e->disagree);
		if (n > 0)
			printf("  elements, %-8s %12.0f: exact %.2f%%, enclosed %.2f%%, weak %.2f%%, suspect %" PRId64 ", undecided %.3f%%, disagree %" PRId64 "\n",
			       fill_class_name[k], n, 100 * (double)e->exact / n, 100 * (double)e->agree / n, 100 * (double)e->weak / n,
			       e->suspect, 100 * (double)e->undecided / n, e->disagree);
	}
	if (s.suspected)
		printf("  programs that pass with suspects: %" PRId64 "; %" PRId64 " of them queued as their wide twins\n", s.suspected, s.twins);
	double wall = MAX(s.wall_ms, 1.0);
	printf("  time: generating %.1f%%, reference and comparison %.1f%%, waiting for targets %.1f%%\n", 100 * s.generate_ms / wall,
	       100 * s.reference_ms / wall, 100 * s.wait_ms / wall);
	for (int i = 0; i < c->nshards; i++)
		if (c->stats[i].first_divergence_ms > c->stats[i].first_compile_ms && c->stats[i].first_compile_ms > 0)
			printf("  shard %d: first compile done after %.1f s; first divergence %.1f s later, at compile %" PRId64 "\n", i,
			       c->stats[i].first_compile_ms / 1e3, (c->stats[i].first_divergence_ms - c->stats[i].first_compile_ms) / 1e3,
			       c->stats[i].first_divergence_compiles);
	struct rusage ru;
	getrusage(RUSAGE_SELF, &ru);
	printf("  memory: parent %ld MiB, targets %" PRId64 " MiB\n", ru.ru_maxrss / 1024, s.target_rss >> 20);
	printf("%" PRId64 " new findings, %" PRId64 " more that differ in strides only, %" PRId64 " divergent programs in all (%" PRId64 " of known findings)\n",
	       c->nnew, c->nmeta, c->nobs, c->nknown);
	if (c->o->db && c->nnew + c->nmeta)
		progress_command("list them:  scatterproof findings", c->o->db);
}

static int exit_code(const struct campaign *c)
{
	struct shard_stats s;
	total(c, &s);
	if (stop_signal)
		return 128 + (int)stop_signal;
	if (c->store_failed)
		return EXIT_TARGET;
	if (c->nnew || (c->nmeta && c->o->fail_on_meta))
		return EXIT_FINDINGS;
	int64_t judged = verdicts(&s, VD_PASS) + verdicts(&s, VD_MISMATCH) + s.verdict[MAX_TARGETS][VD_PASS];
	int64_t harness = verdicts(&s, VD_HARNESS) + s.verdict[MAX_TARGETS][VD_HARNESS];
	if (judged == 0 && harness && !c->shard_deaths) {
		fprintf(stderr, "scatterproof: no program ran: the target is missing or broken (%" PRId64 " harness faults)\n", harness);
		return EXIT_TARGET;
	}
	if (judged == 0 || harness > judged || c->shard_deaths) {
		fprintf(stderr, "scatterproof: this run does not count: %" PRId64 " programs judged, %" PRId64 " harness faults, %" PRId64 " shards lost\n", judged,
		        harness, c->shard_deaths);
		return EXIT_VOID;
	}
	return EXIT_CLEAN;
}

static bool open_store(struct campaign *c, int *rc)
{
	enum store_status st;
	struct err err = {0};
	if (!c->o->db)
		return true;
	c->store = store_open(&st, c->o->db, STORE_CREATE, &err);
	if (!c->store) {
		fprintf(stderr, "scatterproof: %s\n", err.msg);
		*rc = store_exit_code(st);
		return false;
	}
	struct store_run r = {.seed = c->o->seed, .shard = arena_printf(&c->arena, "%d/%d", c->o->shard_index, c->o->shard_count), .policy = c->o->policy,
		.versions = SCATTERPROOF, .started = unix_ms()};
	if (store_run_begin(c->store, &c->run, &r) == STORE_OK)
		return true;
	fprintf(stderr, "scatterproof: %s\n", store_message(c->store));
	*rc = EXIT_TARGET;
	return false;
}

/* What shards would refuse one by one. */
static bool policy_usable(const struct options *o, struct err *err)
{
	struct policy p;
	struct choices c;
	struct policy_limits limits = {o->ops, o->dtypes};
	choices_from_seed(&c, 1);
	bool ok = policy_draw(&p, o->policy, &limits, &c, err);
	choices_free(&c);
	if (ok) {
		bool any = !p.restricted;
		for (int op = 0; op < NOPS; op++)
			any |= p.op[op];
		ok = any || err_set(err, "--ops names no operator");
	}
	return ok;
}

/* A shard has one environment; cross-version questions are `repro --target`'s. */
static bool one_home(const struct options *o, struct err *err)
{
	const struct target *t = &o->target[0];
	for (int i = 1; i < o->ntarget; i++)
		if (o->target[i].family != t->family || !str_eq(o->target[i].version, t->version) || o->target[i].device != t->device)
			return err_set(err, "fuzz: one campaign runs targets of one family, version and device");
	return true;
}

int cmd_fuzz(const struct options *given)
{
	struct options o = *given;
	struct err err = {0};
	int rc = EXIT_TARGET;
	if (!o.ntarget) {
		fprintf(stderr, "scatterproof: fuzz: no --target given (`scatterproof targets` lists them)\n");
		return EXIT_USAGE;
	}
	if (!policy_usable(&o, &err) || !one_home(&o, &err)) {
		fprintf(stderr, "scatterproof: %s\n", err.msg);
		return EXIT_USAGE;
	}
	if (!o.seed_given)
		o.seed = (uint64_t)unix_ms() % 1000000007;
	struct campaign c = {.o = &o, .nshards = o.jobs, .start = now_ms()};
	progress_begin(&c.progress, &o);
	arena_init(&c.arena);
	arena_init(&c.scratch);
	catch_signals();
	signal(SIGPIPE, SIG_IGN);
	if (!open_store(&c, &rc))
		return rc;
	c.shard = ARENA_ZNEW(&c.arena, struct proc *, c.nshards);
	c.stats = ARENA_ZNEW(&c.arena, struct shard_stats, c.nshards);
	c.past = ARENA_ZNEW(&c.arena, struct shard_stats, c.nshards);
	c.done = ARENA_ZNEW(&c.arena, bool, c.nshards);
	struct proc_spec *spec = ARENA_ZNEW(&c.arena, struct proc_spec, c.nshards);
	bool ok = true;
	for (int i = 0; ok && i < c.nshards; i++) {
		spec[i] = (struct proc_spec){.name = "shard", .argv = (const char *const *)options_argv(&o, SHARD_VERB, i, &c.arena)};
		c.shard[i] = proc_open(&spec[i], &err);
		ok = c.shard[i] != NULL;
	}
	if (!o.quiet)
		fprintf(stderr, "scatterproof fuzz: seed %" PRIu64 ", policy %s, %d shard%s%s%s\n", o.seed, o.policy, o.jobs, o.jobs == 1 ? "" : "s",
		        o.time_s > 0 || o.programs ? "" : "; runs until Ctrl-C (--time, --programs)", o.db ? "" : "; findings are not kept (--db)");
	ok = ok && run(&c, &err);
	status(&c, true);
	progress_end(&c.progress);
	for (int i = 0; i < c.nshards; i++)
		proc_close(c.shard[i]);
	if (ok) {
		summary(&c);
		rc = exit_code(&c);
	} else {
		fprintf(stderr, "scatterproof: %s\n", err.msg);
		rc = c.refused ? EXIT_USAGE : EXIT_TARGET;
	}
	if (c.store && store_close(c.store, &err) != STORE_OK) {
		fprintf(stderr, "scatterproof: %s\n", err.msg);
		rc = EXIT_TARGET;
	}
	arena_free(&c.scratch);
	arena_free(&c.arena);
	return rc;
}
