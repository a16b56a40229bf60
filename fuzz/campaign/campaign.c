/* campaign.c: the parent of a campaign: starts shards, shows progress, alone writes the database. It knows nothing about tensors: shards
 * answer with counters and findings, it adds and stores them. */
#include "fuzz/campaign/campaign.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "eager/base/clock.h"
#include "eager/base/proc.h"
#include "eager/base/escape.h"
#include "eager/base/interrupt.h"
#include "eager/base/output.h"
#include "fuzz/campaign/corpus.h"
#include "fuzz/campaign/environment.h"
#include "fuzz/campaign/keep.h"
#include "compiled/targets/message.h"
#include "fuzz/campaign/progress.h"
#include "fuzz/campaign/recheck.h"
#include "fuzz/campaign/shard.h"
#include "fuzz/campaign/shard_note.h"
#include "fuzz/campaign/summary.h"
#include "fuzz/campaign/tally.h"
#include "fuzz/triage/signature.h"
#include "eager/base/json.h"

#define BASELINE_WORDS "known (baseline)"
enum { CHUNK_MS = 500, DRAIN_S = 240, GIVE_UP_S = 5, MAX_RESTARTS = 16 };

/* Where a shard stands, for the process that takes the place of a dead one. */
struct shard_place {
	struct arena arena;       /* of state */
	struct shard_state state; /* at its last answer */
	struct shard_culprit skip[MAX_RESTARTS];
	int nskip, deaths;
	bool begun; /* its present process was told all that */
	struct shard_note *note;
	char note_name[SHARD_NOTE_NAME];
};

struct campaign {
	const struct options *o;
	struct program_source source;
	struct arena arena, scratch;
	struct store *store;
	struct hash128 run;
	int nshards;
	struct proc **shard;
	struct shard_stats *stats; /* latest of each shard's present process */
	struct shard_stats *past;  /* sums of processes that died */
	struct shard_place *place;
	struct target target[MAX_TARGETS + 1]; /* with the version that they are, once a shard has said it; the last is the cheap stage */
	char *versions, *hello;                /* as exec_versions says; NULL while unknown */
	struct hash128 env[MAX_TARGETS + 1];
	bool env_stored[MAX_TARGETS + 1];
	struct shard_reason reason[MAX_REASONS];
	int nreason;
	bool *done;
	struct tally *tally;
	struct corpus corpus;            /* --corpus: what shards kept */
	const struct baseline *baseline; /* NULL: none */
	struct recheck recheck;
	int64_t nobs, lost_programs, lost_uncounted, lost_shards; /* lost programs: a shard died of them; uncounted in the store */
	double first_found_ms, first_found_compile_ms;
	int64_t first_found_compiles;
	double start, last_flush;
	enum shard_mode mode;
	struct progress progress;
	bool store_failed;
	struct explained explained;
	int refused; /* exit code with which a shard says that the campaign cannot go on */
};

/* ---- sums over shards ------------------------------------------------------------------------------------------------------ */

static void total(const struct campaign *c, struct shard_stats *out)
{
	*out = (struct shard_stats){0};
	for (int i = 0; i < c->nshards; i++) {
		shard_stats_add(out, &c->past[i]);
		shard_stats_add(out, &c->stats[i]);
	}
}

/* ---- findings ------------------------------------------------------------------------------------------------------------------ */

static bool stored(struct campaign *c, enum store_status st)
{
	if (st == STORE_OK)
		return true;
	if (!c->store_failed) {
		progress_clear(&c->progress);
		complain("%s", store_message(c->store));
	}
	c->store_failed = true;
	return false;
}

/* In one transaction. exists, state: of a finding with this signature that was there before. */
static bool store_it(struct campaign *c, const struct finding *f, struct hash128 *id, bool *exists, enum finding_state *state)
{
	struct arena *a = &c->scratch;
	const char *note = arena_printf(a, "program %" PRId64 " of seed %" PRIu64 ", compile %" PRId64 ", %s%spolicy %s", f->index, c->o->seed,
		f->compiles, f->confirmed ? "" : f->how, f->confirmed ? "" : ", ", f->policy);
	return stored(c, keep_finding(c->store, &c->run, f, note, id, exists, state, a));
}

static void show_finding(struct campaign *c, const struct finding *f, const char *what, const struct hash128 *id)
{
	if (!progress_finding(&c->progress, f, what, id))
		interrupt_ask(SIGPIPE); /* the reader of our pipe has gone */
}

/* One that the store had before this run, or a baseline, once per run. state: in words. */
static void print_seen_again(
	struct campaign *c, const struct hash128 *id, const char *state, enum finding_severity of, const char *signature)
{
	const char *severity = finding_severity_name[of];
	char hex[33];
	hash_hex(hex, id);
	progress_clear(&c->progress);
	if (c->o->json) {
		struct strbuf sb;
		sb_init(&sb);
		struct json j = json_into(&sb, JSON_SPACED);
		json_object(&j, NULL);
		json_text(&j, "seen_again", hex, STORE_ID_DIGITS);
		json_string(&j, "state", state);
		json_string(&j, "severity", severity);
		json_string(&j, "signature", signature);
		json_end(&j);
		printf("%s\n", sb.s);
		sb_free(&sb);
	} else if (!c->o->quiet) {
		printf("seen again: %.*s  %s, %s: %s\n", STORE_ID_DIGITS, hex, state, severity, escaped_line(&c->scratch, signature));
	}
	fflush(stdout);
}

/* A finding that was there before; regressed, it is as good as new. */
static void meet_again(struct campaign *c, const struct finding *f, const struct hash128 *id)
{
	struct store_loaded now;
	enum met how = MET_OPEN;
	if (!stored(c, keep_meet(&how, &now, c->store, f, id, &c->scratch)))
		return;
	how = keep_met(how, c->baseline, f);
	if (!tally_meet(c->tally, id, how, now.severity))
		return;
	if (how == MET_REGRESSED)
		show_finding(c, f, "regressed", id);
	else
		print_seen_again(c, id, how == MET_BASELINE ? BASELINE_WORDS : finding_state_name[now.state], now.severity, now.signature);
}

static void accept(struct campaign *c, const struct finding *f)
{
	struct hash128 id = hash_bytes(f->program, strlen(f->program)), signature = hash_bytes(f->signature, strlen(f->signature));
	bool exists = false;
	enum finding_state state = STATE_CANDIDATE;
	c->nobs++;
	if (c->store && !store_it(c, f, &id, &exists, &state)) {
		if (!exists) /* all that is left of it is what is printed here; the report ends with the program */
			fprintf(stderr, "scatterproof: a finding could not be stored:\n%s", f->report);
		return;
	}
	if (exists) {
		meet_again(c, f, &id);
		return;
	}
	enum met how = keep_met(MET_NEW, c->baseline, f);
	if (!tally_meet(c->tally, c->store ? &id : &signature, how, f->severity))
		return;
	if (how == MET_BASELINE) {
		print_seen_again(c, &id, BASELINE_WORDS, f->severity, f->signature);
		return;
	}
	if (c->first_found_ms == 0 && f->severity != SEVERITY_TRIVIAL) {
		c->first_found_ms = f->found_ms;
		c->first_found_compiles = f->compiles;
	}
	show_finding(c, f, how == MET_REGRESSED ? "regressed" : f->confirmed ? "confirmed" : "candidate", &id);
}

/* The status line, if it is due. */
static void status(struct campaign *c, bool force)
{
	struct shard_stats s;
	if (!force && !progress_due(&c->progress))
		return;
	total(c, &s);
	progress_status(&c->progress, &s, tally_count(c->tally, MET_NEW) + tally_count(c->tally, MET_REGRESSED), c->mode != SHARD_WORK);
}

/* ---- shards ---------------------------------------------------------------------------------------------------------------------- */

/* Of what has not said what it is (its shard died before): as it was asked for, version "". */
static void count(struct campaign *c, const char *draw, int target, const char *verdict, int64_t n)
{
	if (!c->store)
		return;
	if (!c->env_stored[target]) {
		const char *versions = c->versions ? c->versions : "", *hello = c->hello ? c->hello : "";
		if (!stored(c, keep_environment(c->store, &c->env[target], &c->target[target], versions, hello, &c->scratch)))
			return;
		c->env_stored[target] = c->versions != NULL;
	}
	store_counter_add(c->store, &c->run, draw, &c->env[target], verdict, n);
}

static void count_lost(struct campaign *c)
{
	if (c->lost_uncounted)
		count(c, "", 0, verdict_name[VD_HARNESS], c->lost_uncounted);
	c->lost_uncounted = 0;
}

/* A shard has said which version its targets are. */
static void identified(struct campaign *c, const struct shard_answer *head)
{
	if (c->versions || !head->versions[0])
		return;
	c->versions = arena_strdup(&c->arena, head->versions);
	c->hello = arena_strdup(&c->arena, head->hello);
	for (int i = 0; i <= MAX_TARGETS; i++)
		snprintf(c->target[i].version, sizeof c->target[i].version, "%s", head->version);
	count_lost(c);
}

static void copy_state(struct shard_place *p, const struct shard_state *s)
{
	arena_reset(&p->arena);
	p->state = *s;
	p->state.pending = ARENA_NEW(&p->arena, struct shard_pending, s->npending);
	memcpy(p->state.pending, s->pending, sizeof *s->pending * (size_t)s->npending);
}

static bool answer_decode(struct campaign *c, int i, const void *p, size_t n, struct err *err)
{
	struct arena *a = &c->scratch;
	arena_reset(a);
	struct wire w = {.p = p, .end = (const uint8_t *)p + n};
	struct shard_answer head;
	shard_get_answer(&head, &w, a);
	if (w.bad)
		return err_set(err, "a shard's answer does not decode");
	identified(c, &head);
	c->stats[i] = head.stats;
	c->done[i] = head.stats.exhausted;
	copy_state(&c->place[i], &head.state);
	explained_add_all(&c->explained, &head.explained);
	for (uint32_t k = wire_u32(&w); k > 0 && !w.bad; k--) {
		const char *draw = wire_str(&w, a);
		uint32_t target = wire_u32(&w);
		const char *verdict = wire_str(&w, a);
		int64_t times = wire_i64(&w);
		w.bad |= target > MAX_TARGETS;
		if (!w.bad)
			count(c, draw, (int)target, verdict, times);
	}
	for (uint32_t k = wire_u32(&w); k > 0 && !w.bad; k--) {
		struct shard_reason r;
		shard_get_reason(&r, &w, a);
		if (!w.bad)
			shard_reason_add(c->reason, &c->nreason, &r);
	}
	for (uint32_t k = wire_u32(&w); k > 0 && !w.bad; k--) {
		struct finding f;
		finding_get(&f, &w, a);
		if (!w.bad)
			accept(c, &f);
	}
	for (uint32_t k = wire_u32(&w); k > 0 && !w.bad; k--) {
		const char *text = wire_str(&w, a);
		if (!w.bad)
			corpus_add(&c->corpus, text);
	}
	c->refused = head.fatal[0] ? head.fatal_code : 0;
	return head.fatal[0] ? err_set(err, "%s", head.fatal) : true;
}

static bool submit_chunk(struct campaign *c, int i, struct err *err)
{
	struct shard_place *p = &c->place[i];
	struct strbuf sb;
	if (proc_state(c->shard[i]) == PROC_EMPTY && p->begun) { /* it died with nothing to do */
		shard_stats_add(&c->past[i], &c->stats[i]);
		c->stats[i] = (struct shard_stats){0};
		p->begun = false;
	}
	const struct shard_request r = {.ms = CHUNK_MS,
		.mode = c->mode,
		.fresh = !p->begun,
		.note = p->note_name,
		.state = p->state,
		.nskip = p->nskip,
		.skip = p->skip,
		.explained = c->explained};
	sb_init(&sb);
	shard_put_request(&sb, &r);
	bool ok = proc_submit(c->shard[i], sb.s, sb.len, 600000, err);
	p->begun = true;
	sb_free(&sb);
	return ok;
}

/* ---- shards that die ----------------------------------------------------------------------------------------------------------------- */

/* What a BUG of ours said, else how the process ended: the signature of such faults. */
static const char *fault_text(struct proc *p, struct arena *a)
{
	static const char mark[] = "scatterproof: BUG at ";
	const char *bug = NULL;
	for (const char *s = proc_tail(p); (s = strstr(s, mark)) != NULL;)
		bug = s += strlen(mark);
	if (!bug)
		return message_generalised(proc_why(p), a);
	size_t path = strcspn(bug, ":\n"), base = path;
	while (base && bug[base - 1] != '/')
		base--;
	return arena_printf(a, "BUG at %.*s", (int)strcspn(bug + base, "\n"), bug + base);
}

/* Kept like any finding, of the target `scatterproof`: with its program, told apart by what went wrong. id_text: "" if it is not kept. */
static void keep_fault(struct campaign *c, char id_text[33], const struct shard_note *n, struct proc *shard)
{
	struct arena *a = &c->scratch;
	struct hash128 id = {{0}};
	bool exists = false;
	enum finding_state state;
	enum met how;
	struct store_loaded now;
	const char *none = arena_printf(
		a, "# scatterproof 1\n# No program: making number %" PRId64 " of seed %" PRIu64 " did not come to an end.\n", n->index, c->o->seed);
	const char *where = arena_printf(a, "%s%s, program %" PRId64 " of seed %" PRIu64 ", policy %s", n->doing,
		n->twin ? " (its wide twin)" : "", n->index, c->o->seed, c->o->policy);
	struct finding f = {.versions = SCATTERPROOF,
		.device = "",
		.program = n->text[0] ? n->text : none,
		.policy = "",
		.verdict = VD_CRASH,
		.kind = FINDING_CRASH,
		.severity = SEVERITY_NORMAL,
		.tensor = "",
		.call = -1,
		.how = "",
		.signature = arena_printf(a, "crash of scatterproof: %s", fault_text(shard, a)),
		.detail = arena_printf(a, "%s; %s", proc_why(shard), where),
		.report = where,
		.stderr_tail = proc_tail(shard)};
	finding_read_ops(&f, a);
	if (!stored(c, keep_finding(c->store, &c->run, &f, where, &id, &exists, &state, a)))
		return;
	hash_hex(id_text, &id);
	if (exists)
		stored(c, keep_meet(&how, &now, c->store, &f, &id, a));
}

/* The program is one that its last answer still had to do with: then it is counted as made already. */
static bool take_from_pending(struct shard_state *s, const struct shard_note *n)
{
	for (int i = 0; i < s->npending; i++)
		if (s->pending[i].index == n->index && s->pending[i].twin == n->twin) {
			s->pending[i] = s->pending[--s->npending];
			return true;
		}
	return false;
}

/* A program ended its shard: it is counted, kept, and not done again. */
static void lose_program(struct campaign *c, int i)
{
	struct shard_place *p = &c->place[i];
	char id[33] = "";
	c->lost_programs++;
	if (c->store && !c->store_failed)
		keep_fault(c, id, p->note, c->shard[i]);
	fprintf(stderr,
		"a fault of scatterproof itself, %s, with program %" PRId64 " of seed %" PRIu64 "%s; this campaign goes on without it%s%.*s\n%s\n",
		p->note->doing, p->note->index, c->o->seed, p->note->twin ? " (its wide twin)" : "", id[0] ? "; kept as " : "", STORE_ID_DIGITS, id,
		p->note->text);
	if (!take_from_pending(&p->state, p->note)) {
		c->past[i].generated += !p->note->twin;
		p->skip[p->nskip++] = (struct shard_culprit){p->note->index, p->note->twin};
	}
	c->past[i].verdict[0][VD_HARNESS]++;
	c->lost_uncounted++;
	if (c->versions)
		count_lost(c);
}

static void shard_died(struct campaign *c, int i)
{
	struct shard_place *p = &c->place[i];
	arena_reset(&c->scratch);
	progress_clear(&c->progress);
	fprintf(stderr, "scatterproof: shard %d ended: %s\n  %s\n", i, proc_why(c->shard[i]),
		escaped_lines(&c->scratch, "  ", proc_tail(c->shard[i])));
	shard_stats_add(&c->past[i], &c->stats[i]);
	c->past[i].queue = c->past[i].own_rss = c->past[i].target_rss = 0;
	c->stats[i] = (struct shard_stats){0};
	p->begun = false;
	p->deaths++;
	if (p->note->index >= 0)
		lose_program(c, i);
	p->note->index = -1;
	c->done[i] = c->mode == SHARD_GIVE_UP || p->deaths >= MAX_RESTARTS;
	if (p->deaths >= MAX_RESTARTS) {
		fprintf(stderr, "scatterproof: shard %d ended %d time%s: it is given up\n", i, p->deaths, plural(p->deaths));
		c->lost_shards++;
	}
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
		double t = clock_ms();
		if (c->mode == SHARD_WORK && (c->store_failed || (deadline > 0 && t > deadline))) {
			c->mode = SHARD_DRAIN;
			end = t + DRAIN_S * 1e3;
		}
		if (c->mode != SHARD_GIVE_UP && (interrupt_asked() || (c->mode == SHARD_DRAIN && t > end))) {
			c->mode = SHARD_GIVE_UP;
			end = t + GIVE_UP_S * 1e3;
		}
		if (c->mode == SHARD_GIVE_UP && (interrupt_insisted() || t > end))
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
			} else if (!c->versions && c->place[i].note->index < 0) { /* it never began */
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

static void summary(const struct campaign *c)
{
	struct shard_stats sum;
	total(c, &sum);
	const struct summary end = {.o = c->o,
		.source = &c->source,
		.seconds = (clock_ms() - c->start) / 1e3,
		.sum = &sum,
		.shard = c->stats,
		.nshards = c->nshards,
		.target = c->target,
		.reason = c->reason,
		.nreason = c->nreason,
		.tally = c->tally,
		.recheck = &c->recheck,
		.explained = &c->explained,
		.nobs = c->nobs,
		.lost_programs = c->lost_programs};
	summary_print(&end);
}

static bool write_corpus(struct campaign *c, const char *dir, struct err *err)
{
	struct corpus_written w;
	if (!dir)
		return true;
	if (!corpus_write(&w, &c->corpus, c->source.guide, dir, &c->arena, err))
		return false;
	if (!c->o->quiet && !c->o->json)
		printf("  corpus: %d seed%s; %d program%s kept; %d with the %" PRId64 " feature%s that the seeds do not have%s%s\n",
			c->source.guide->nseed, plural(c->source.guide->nseed), c->corpus.n, plural(c->corpus.n), w.programs, w.features,
			plural(w.features), w.path ? ": " : "", w.path ? w.path : "");
	if (w.left && !c->o->quiet && !c->o->json)
		printf("  corpus: no room in %s for programs with %" PRId64 " further feature%s\n", dir, w.left, plural(w.left));
	return true;
}

/* Programs that eager refuses are rare: so many say something about our rules, and little about targets. */
static bool too_many_invalid(int64_t n, int64_t of)
{
	bool many = n > INVALID_FEW && n > of / INVALID_ONE_IN;
	if (many)
		fprintf(stderr,
			"scatterproof: this run does not count: eager refuses %" PRId64 " of %" PRId64 " program%s, more than one in %d; the summary "
			"has the reasons\n",
			n, of, plural(of), INVALID_ONE_IN);
	return many;
}

static int exit_code(const struct campaign *c)
{
	struct shard_stats s;
	total(c, &s);
	if (interrupt_asked())
		return 128 + interrupt_asked();
	if (c->store_failed)
		return EXIT_TARGET;
	const int64_t invalid = shard_stats_verdicts(&s, VD_INVALID) + s.verdict[MAX_TARGETS][VD_INVALID];
	if (tally_fails(c->tally, &c->o->fail_on) || (c->o->fail_on.invalid && invalid))
		return EXIT_FINDINGS;
	int64_t judged = shard_stats_verdicts(&s, VD_PASS) + shard_stats_verdicts(&s, VD_MISMATCH) + s.verdict[MAX_TARGETS][VD_PASS];
	int64_t harness = shard_stats_verdicts(&s, VD_HARNESS) + s.verdict[MAX_TARGETS][VD_HARNESS];
	if (judged == 0 && harness && !c->lost_programs && !c->lost_shards) {
		fprintf(stderr, "scatterproof: no program ran: the target is missing or broken (%" PRId64 " harness fault%s)\n", harness,
			plural(harness));
		return EXIT_TARGET;
	}
	if (too_many_invalid(invalid, s.generated))
		return EXIT_VOID;
	if (judged == 0 || harness > judged || c->lost_shards) {
		fprintf(stderr,
			"scatterproof: this run does not count: %" PRId64 " program%s judged, %" PRId64 " harness fault%s, %" PRId64 " shard%s lost\n",
			judged, plural(judged), harness, plural(harness), c->lost_shards, plural(c->lost_shards));
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
		complain("%s", err.msg);
		*rc = store_exit_code(st);
		return false;
	}
	struct store_run r = {.seed = c->o->seed,
		.shard = arena_printf(&c->arena, "%d/%d", c->o->shard_index, c->o->shard_count),
		.policy = c->o->policy,
		.versions = SCATTERPROOF,
		.started = clock_unix_ms()};
	if (store_run_begin(c->store, &c->run, &r) == STORE_OK)
		return true;
	complain("%s", store_message(c->store));
	*rc = EXIT_TARGET;
	return false;
}

static bool take_signature(void *ctx, int ncols, const char *const *names, const struct store_value *v)
{
	(void)ncols, (void)names;
	if (v)
		explained_add(ctx, signature_hint(v[0].s));
	return true;
}

/* What the findings of the store explain, in whatever state they are. */
static void load_explained(struct campaign *c)
{
	const char *sql = arena_printf(&c->arena,
		"select distinct s.signature from finding_summary s join finding f on f.id = s.finding where f.family = '%s' order by 1",
		target_family(&c->o->target[0]));
	if (c->store && !c->o->no_avoid)
		stored(c, store_query_sql(c->store, sql, NULL, take_signature, &c->explained));
}

/* Shards with the places where they stand. */
static bool open_shards(struct campaign *c, struct proc_spec *spec, struct err *err)
{
	for (int i = 0; i < c->nshards; i++) {
		struct shard_place *p = &c->place[i];
		spec[i] = (struct proc_spec){.name = "shard", .argv = (const char *const *)options_argv(c->o, SHARD_VERB, i, &c->arena)};
		p->state.next = c->o->shard_index * c->o->jobs + i;
		p->note = shard_note_new(p->note_name, err);
		c->shard[i] = p->note ? proc_open(&spec[i], err) : NULL;
		if (!c->shard[i])
			return false;
	}
	return true;
}

static void close_shards(struct campaign *c)
{
	for (int i = 0; i < c->nshards; i++) {
		proc_close(c->shard[i]);
		shard_note_free(c->place[i].note);
		arena_free(&c->place[i].arena);
	}
}

/* The names by which they were asked for, until a shard says what they are. */
static void name_targets(struct campaign *c)
{
	for (int i = 0; i < c->o->ntarget; i++)
		c->target[i] = c->o->target[i];
	if (!target_predicting(&c->target[MAX_TARGETS], &c->o->target[0]))
		c->target[MAX_TARGETS] = target_plain(&c->o->target[0]);
}

/* Everything that shards stand in, but for the shards. */
static void make_places(struct campaign *c)
{
	c->shard = ARENA_ZNEW(&c->arena, struct proc *, c->nshards);
	c->stats = ARENA_ZNEW(&c->arena, struct shard_stats, c->nshards);
	c->past = ARENA_ZNEW(&c->arena, struct shard_stats, c->nshards);
	c->done = ARENA_ZNEW(&c->arena, bool, c->nshards);
	c->place = ARENA_ZNEW(&c->arena, struct shard_place, c->nshards);
	for (int i = 0; i < c->nshards; i++)
		arena_init(&c->place[i].arena);
	c->tally = tally_new();
}

static void print_begin(const struct options *o)
{
	if (!o->quiet)
		fprintf(stderr, "scatterproof fuzz: seed %" PRIu64 ", policy %s, %d shard%s%s%s\n", o->seed, o->policy, o->jobs,
			o->jobs == 1 ? "" : "s", o->time_s > 0 || o->programs ? "" : "; runs until Ctrl-C (--time, --programs)",
			o->db ? "" : "; findings are not kept (--db)");
}

/* Shards are told which seeds they must find. */
static bool begin_corpus(struct campaign *c, struct options *o, struct err *err)
{
	struct stat st;
	if (!o->corpus)
		return true;
	if (stat(o->corpus, &st) == 0 && !S_ISDIR(st.st_mode))
		return err_set(err, "--corpus: %s is no folder", o->corpus);
	if (!source_begin(&c->source, err))
		return false;
	if (!strchr(o->corpus, '#'))
		o->corpus = arena_printf(&c->arena, "%s#%016" PRIx64, o->corpus, c->source.guide->fingerprint);
	c->source.corpus = o->corpus;
	return true;
}

static uint64_t seed_of(const struct options *o) { return o->seed_given ? o->seed : (uint64_t)clock_unix_ms() % 1000000007; }

/* Its targets have one home: a shard has one child for them all. */
static int one_campaign(const struct options *given)
{
	struct options o = *given;
	struct baseline baseline = {0};
	struct err err = {0};
	int rc = EXIT_TARGET;
	const struct program_source asked = options_source(&o);
	if (!source_usable(&asked, &err) || (o.baseline && !baseline_read(&baseline, o.baseline, &err))) {
		complain("%s", err.msg);
		return EXIT_USAGE;
	}
	o.seed = seed_of(&o);
	struct campaign c = {
		.o = &o, .source = options_source(&o), .nshards = o.jobs, .start = clock_ms(), .baseline = o.baseline ? &baseline : NULL};
	c.source.nshards = o.shard_count * o.jobs;
	progress_begin(&c.progress, &o);
	arena_init(&c.arena);
	if (!begin_corpus(&c, &o, &err)) {
		complain("%s", err.msg);
		return EXIT_USAGE;
	}
	arena_init(&c.scratch);
	interrupt_catch(NULL);
	signal(SIGPIPE, SIG_IGN);
	if (!open_store(&c, &rc))
		return rc;
	make_places(&c);
	name_targets(&c);
	bool ok = open_shards(&c, ARENA_ZNEW(&c.arena, struct proc_spec, c.nshards), &err);
	print_begin(&o);
	load_explained(&c);
	if (ok && c.store && !o.no_recheck && !recheck_run(&c.recheck, c.store, c.tally, &o))
		stored(&c, STORE_IO);
	ok = ok && run(&c, &err);
	status(&c, true);
	progress_end(&c.progress);
	close_shards(&c);
	count_lost(&c);
	if (ok) {
		summary(&c);
		rc = exit_code(&c);
		if (!write_corpus(&c, given->corpus, &err)) {
			complain("%s", err.msg);
			rc = EXIT_TARGET;
		}
	} else {
		complain("%s", err.msg);
		rc = c.refused ? c.refused : EXIT_TARGET;
	}
	if (c.store && store_close(c.store, &err) != STORE_OK) {
		complain("%s", err.msg);
		rc = EXIT_TARGET;
	}
	tally_free(c.tally);
	corpus_free(&c.corpus);
	source_end(&c.source);
	if (o.baseline)
		baseline_free(&baseline);
	arena_free(&c.scratch);
	arena_free(&c.arena);
	return rc;
}

/* ---- several families ------------------------------------------------------------------------------------------------------------ */

/* Is target i the first of its family, version and device? */
static bool is_first(const struct options *o, int i)
{
	for (int k = 0; k < i; k++)
		if (target_same_home(&o->target[k], &o->target[i]))
			return false;
	return true;
}

static int homes(const struct options *o)
{
	int n = 0;
	for (int i = 0; i < o->ntarget; i++)
		n += is_first(o, i);
	return n;
}

/* A campaign for each home, one after the other, from one seed: each judges the same programs, as far as its time goes. */
static int take_turns(const struct options *o, int n)
{
	struct options turn = *o;
	int rc = EXIT_VOID, k = 0;
	turn.time_s = o->time_s / n;
	turn.seed = seed_of(o);
	turn.seed_given = true;
	for (int i = 0; i < o->ntarget; i++) {
		if (!is_first(o, i))
			continue;
		turn.ntarget = 0;
		for (int j = i; j < o->ntarget; j++)
			if (target_same_home(&o->target[j], &o->target[i]))
				turn.target[turn.ntarget++] = o->target[j];
		k++;
		if (!o->quiet)
			fprintf(stderr, "scatterproof fuzz: campaign %d of %d, on %s\n", k, n, target_family(&o->target[i]));
		const int code = one_campaign(&turn);
		if (interrupt_asked())
			return code;
		rc = exit_of_both(rc, code);
	}
	return rc;
}

int cmd_fuzz(const struct options *o)
{
	const int n = homes(o);
	if (!n)
		complain("fuzz: no --target given (`scatterproof targets` lists them)");
	else if (n > 1 && (o->nsample || o->corpus || o->python))
		complain("fuzz: --sample, --corpus and --python go with targets of one family, version and device");
	else if (n > 1 && !o->programs && o->time_s <= 0)
		complain("fuzz: targets of several families take turns: --time or --programs says how long");
	else
		return n > 1 ? take_turns(o, n) : one_campaign(o);
	return EXIT_USAGE;
}
