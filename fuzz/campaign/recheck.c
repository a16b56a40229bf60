/* recheck.c: two processes: this one reads the store and writes down what the other one, which has the targets, sees. */
#include "fuzz/campaign/recheck.h"

#include <errno.h>
#include <unistd.h>

#include "compiled/targets/driver.h"
#include "eager/base/clock.h"
#include "eager/base/escape.h"
#include "eager/base/interrupt.h"
#include "eager/base/output.h"
#include "eager/base/proc.h"
#include "eager/base/version.h"
#include "eager/lang/wire.h"
#include "fuzz/campaign/rerun.h"
#include "reports/life/lifecycle.h"

enum { MOST_MS = 600000 }; /* of one answer; the target has its own limit */

/* ---- the process that runs ---------------------------------------------------------------------------------------------------------- */

struct runner {
	const struct options *o;
	struct exec *e;
	struct target target[MAX_TARGETS]; /* with the version that they are */
	struct err fatal;
};

static bool start(struct runner *r)
{
	struct exec_options eo = {.self = r->o->self, .python = r->o->python, .limit_ms = r->o->limit_ms};
	struct target first = r->o->target[0];
	r->e = exec_open(&first, &eo, &r->fatal);
	if (!r->e || exec_identify(&first, r->e, &r->fatal) != EXEC_IDENTIFIED)
		return false;
	for (int i = 0; i < r->o->ntarget; i++) {
		r->target[i] = r->o->target[i];
		memcpy(r->target[i].version, first.version, sizeof first.version);
	}
	return true;
}

static void put_answer(struct strbuf *sb, const struct rerun *v, const char *target, const char *fatal)
{
	wire_put_str(sb, fatal);
	wire_put_str(sb, target);
	wire_put_str(sb, v->versions ? v->versions : "");
	wire_put_str(sb, v->hello ? v->hello : "");
	wire_put_str(sb, v->why ? v->why : "");
	wire_put_u8(sb, v->bad_target);
	wire_put_u8(sb, v->otherwise);
	wire_put_u8(sb, (unsigned)v->claim);
	wire_put_u8(sb, (unsigned)v->o.verdict);
}

static void get_answer(struct rerun *v, const char **target, const char **fatal, struct wire *w, struct arena *a)
{
	*fatal = wire_str(w, a);
	*target = wire_str(w, a);
	*v = (struct rerun){.versions = wire_str(w, a), .hello = wire_str(w, a)};
	v->why = wire_str(w, a);
	v->bad_target = wire_u8(w);
	v->otherwise = wire_u8(w);
	v->claim = (enum claim_verdict)wire_u8(w);
	v->o.verdict = (enum verdict)wire_u8(w);
	w->bad |= v->claim > CLAIM_OPEN || v->o.verdict >= NVERDICTS;
}

static void put_request(struct strbuf *sb, const struct found *x, int target, bool fresh)
{
	wire_put_u8(sb, fresh);
	wire_put_u32(sb, (uint32_t)target);
	wire_put_u32(sb, (uint32_t)x->f.kind);
	wire_put_str(sb, x->obs->verdict);
	wire_put_str(sb, x->obs->tensor);
	wire_put_i64(sb, x->obs->call);
	wire_put_str(sb, x->obs->program_text);
}

/* Our own words, so anything odd is our bug. */
static void get_request(struct found *x, int *target, bool *fresh, struct wire *w, struct arena *a)
{
	struct err err = {0};
	struct store_loaded_obs *obs = ARENA_ZNEW(a, struct store_loaded_obs, 1);
	*x = (struct found){.obs = obs};
	*fresh = wire_u8(w);
	*target = (int)wire_u32(w);
	x->f.kind = (enum finding_kind)wire_u32(w);
	obs->verdict = wire_str(w, a);
	obs->tensor = wire_str(w, a);
	obs->call = (int)wire_i64(w);
	obs->program_text = wire_str(w, a);
	CHECK(!w->bad && x->f.kind < NFINDING_KINDS && prog_read(&x->p, a, obs->program_text, strlen(obs->program_text), READ_STRICT, &err));
	claim_of(&x->claim, x->f.kind, obs->verdict, obs->tensor, obs->call, &x->p);
}

static bool serve(void *ctx, const void *req, size_t nreq, struct strbuf *answer)
{
	struct runner *r = ctx;
	struct wire w = {.p = req, .end = (const uint8_t *)req + nreq};
	struct rerun v = {0};
	struct found x;
	struct arena a;
	int target;
	bool fresh;
	arena_init(&a);
	get_request(&x, &target, &fresh, &w, &a);
	CHECK(target < r->o->ntarget);
	if (fresh) {
		exec_close(r->e);
		r->e = NULL;
	}
	bool ok = r->e || start(r);
	if (ok) {
		bug_context(x.obs->program_text);
		rerun_finding(&v, r->e, &x, &r->target[target], &a);
		bug_context(NULL);
	}
	put_answer(answer, &v, ok ? target_text(&r->target[target], &a) : "", ok ? "" : r->fatal.msg);
	arena_free(&a);
	return ok;
}

int recheck_main(const struct options *o)
{
	struct runner r = {.o = o};
	int rc = EXIT_TARGET;
	if (o->directory && chdir(o->directory) != 0) /* names of targets may be paths */
		fprintf(stderr, "%s: %s\n", o->directory, strerror(errno));
	else
		rc = proc_serve("recheck", 7, serve, &r);
	exec_close(r.e);
	return rc;
}

/* ---- the process that knows --------------------------------------------------------------------------------------------------------- */

struct rechecking {
	const struct options *o;
	struct store *s;
	struct tally *tally;
	struct recheck *out;
	struct hash128 run;
	struct arena arena, a; /* of all; of one finding */
	struct proc *proc;
	double end; /* clock_ms() */
	bool over, failed;
	int nid;
	char (*id)[33];
};

static bool stored(struct rechecking *r, enum store_status st)
{
	r->failed |= st != STORE_OK;
	return !r->failed;
}

/* A later version of the store's schema 1 had families with versions: "torch-2.15.0". */
static const char *question(const struct rechecking *r, struct arena *a)
{
	const char *family = target_family(&r->o->target[0]);
	return arena_printf(a,
		"select lower(hex(f.id)) from finding f join finding_summary s on s.finding = f.id where s.state in ('known', 'fixed-in') and "
		"(f.family = '%s' or f.family like '%s-%%') order by (select max(c.last) from observation_count c where c.finding = f.id), f.id",
		family, family);
}

enum { MOST_FINDINGS = 10000 };
static bool take_id(void *ctx, int ncols, const char *const *names, const struct store_value *v)
{
	struct rechecking *r = ctx;
	(void)ncols, (void)names;
	if (!v)
		return true;
	if (!r->id)
		r->id = (char(*)[33])ARENA_NEW(&r->arena, char, MOST_FINDINGS * 33);
	snprintf(r->id[r->nid++], sizeof r->id[0], "%s", v[0].s);
	return r->nid < MOST_FINDINGS;
}

/* Says something about a finding that people want to know. what: of JSON. */
static void shout(const struct rechecking *r, const struct found *x, const char *what, const char *targets, const char *command)
{
	struct arena a;
	struct strbuf db;
	arena_init(&a);
	sb_init(&db);
	escape_shell(&db, r->o->db);
	if (r->o->json) {
		struct strbuf sb;
		sb_init(&sb);
		struct json j = json_into(&sb, JSON_SPACED);
		json_object(&j, NULL);
		json_text(&j, "recheck", x->f.hex, STORE_ID_DIGITS);
		json_string(&j, "what", what);
		json_string(&j, "targets", targets);
		json_string(&j, "signature", x->f.signature);
		json_end(&j);
		printf("%s\n", sb.s);
		sb_free(&sb);
	} else {
		printf("%s: %.*s on %s: %s\n  scatterproof %s --db %s\n", what, STORE_ID_DIGITS, x->f.hex, targets,
			escaped_line(&a, x->f.signature), command, db.s);
	}
	fflush(stdout);
	sb_free(&db);
	arena_free(&a);
}

/* Seen there before, in whatever version? */
static bool seen_on(const struct store_loaded *f, const struct target *t, struct arena *a)
{
	struct target want = *t;
	want.version[0] = 0;
	for (int i = 0; i < f->nenvs; i++) {
		struct target e;
		struct err err = {0};
		if (!f->env[i].nobs || !target_parse(&e, f->env[i].target, &err))
			continue;
		e.version[0] = 0;
		if (str_eq(target_text(&e, a), target_text(&want, a)))
			return true;
	}
	return false;
}

static bool time_is_over(struct rechecking *r)
{
	r->over |= interrupt_asked() || clock_ms() > r->end;
	return r->over;
}

/* One answer. False: there is none: the time is over (then r->over), or the process died of it. */
static bool ask(struct rechecking *r, struct rerun *v, const char **target, const struct found *x, int t, bool fresh)
{
	struct err err = {0};
	struct strbuf sb;
	sb_init(&sb);
	put_request(&sb, x, t, fresh);
	bool ok = proc_submit(r->proc, sb.s, sb.len, MOST_MS, &err);
	sb_free(&sb);
	while (ok && !proc_ready(r->proc) && !time_is_over(r))
		proc_wait(&r->proc, 1, 200);
	if (!ok || !proc_ready(r->proc)) {
		proc_kill(r->proc);
		r->over = true;
		return false;
	}
	ok = proc_state(r->proc) == PROC_DONE;
	if (ok) {
		size_t n;
		const char *fatal;
		const uint8_t *p = proc_answer(r->proc, &n);
		struct wire w = {.p = p, .end = p + n};
		get_answer(v, target, &fatal, &w, &r->a);
		CHECK(!w.bad);
		r->over |= fatal[0] != 0; /* the campaign itself will say it */
		ok = !fatal[0];
	} else {
		fprintf(stderr, "scatterproof: a fault of scatterproof itself while finding %.*s was run again: %s\n  %s\n", STORE_ID_DIGITS,
			x->f.hex, proc_why(r->proc), escaped_lines(&r->a, "  ", proc_tail(r->proc)));
	}
	proc_release(r->proc);
	return ok;
}

static bool keep(struct rechecking *r, const struct found *x, const char *target, const struct rerun *v)
{
	struct target t;
	struct err err = {0};
	CHECK(target_parse(&t, target, &err));
	store_begin(r->s);
	rerun_keep(r->s, &r->run, x, &t, v, clock_unix_ms(), &r->a);
	return stored(r, store_commit(r->s));
}

/* It fails where a fix should be: only a process that has run nothing else decides. */
static bool is_regressed(struct rechecking *r, struct found *x, int t, bool *regressed)
{
	struct rerun v;
	const char *target;
	enum after_fix after = FIX_NO_MATTER;
	*regressed = false;
	if (!ask(r, &v, &target, x, t, true) || rerun_answer(&v) != RERUN_FAILS)
		return true;
	if (!keep(r, x, target, &v) || !stored(r, finding_seen_after_fix(&after, r->s, &x->f, v.versions, true, clock_unix_ms(), SCATTERPROOF)))
		return false;
	*regressed = after == FIX_REFUTED;
	if (*regressed && tally_meet(r->tally, &x->f.id, MET_REGRESSED, x->f.severity))
		shout(r, x, "regressed", target, arena_printf(&r->a, "repro %.*s", STORE_ID_DIGITS, x->f.hex));
	return true;
}

/* What the campaign's targets say together. */
struct answers {
	int fails, open, passes; /* passes: where it was seen */
	bool regressed;
	const char *passing, *version; /* "A, B" */
};

/* False: it cannot go on. */
static bool ask_target(struct rechecking *r, struct found *x, int t, struct answers *n)
{
	struct rerun v;
	const char *target;
	if (!ask(r, &v, &target, x, t, false)) {
		n->open++;
		return !r->over;
	}
	const char *version = version_of_environment(v.versions, &r->a), *fixed = finding_fixed_version(&x->f);
	enum rerun_answer answer = v.claim == CLAIM_REFUTED ? RERUN_PASSES : rerun_answer(&v);
	if (answer == RERUN_FAILS && x->f.state == STATE_FIXED_IN && fix_contradicted(fixed, version)) {
		bool ok = is_regressed(r, x, t, &n->regressed);
		n->open += !n->regressed;
		return ok && !r->over;
	}
	n->fails += answer == RERUN_FAILS;
	n->open += answer != RERUN_FAILS && answer != RERUN_PASSES;
	if (answer == RERUN_PASSES && seen_on(&x->f, &r->o->target[t], &r->a)) {
		n->passing = n->passes++ ? arena_printf(&r->a, "%s, %s", n->passing, target) : target;
		n->version = version;
	}
	return answer == RERUN_FAILS || answer == RERUN_PASSES ? keep(r, x, target, &v) : true;
}

/* Then no version has fixed it; the machine is another, or it comes and goes. */
static bool seen_in(const struct store_loaded *f, const char *version, struct arena *a)
{
	bool seen = !version[0];
	for (int i = 0; i < f->nenvs; i++)
		seen |= f->env[i].nobs && str_eq(version_of_environment(f->env[i].versions, a), version);
	return seen;
}

static void count(struct rechecking *r, const struct found *x, const struct answers *n)
{
	struct recheck *out = r->out;
	if (n->regressed) {
		out->regressed++;
	} else if (n->fails) {
		out->still++;
	} else if (x->f.state == STATE_FIXED_IN) {
		out->fixed += !n->open;
		out->open += n->open > 0;
	} else if (n->open || !n->passes) {
		out->open++;
	} else {
		const char *id = arena_printf(&r->a, "%.*s", STORE_ID_DIGITS, x->f.hex);
		out->gone++;
		shout(r, x, "no longer happens", n->passing,
			seen_in(&x->f, n->version, &r->a) ? arena_printf(&r->a, "repro %s", id)
											  : arena_printf(&r->a, "findings mark %s fixed-in %s", id, n->version));
	}
}

static void one_finding(struct rechecking *r, const char *hex)
{
	struct found x = {0};
	struct hash128 id;
	struct err err = {0};
	struct answers n = {.passing = "", .version = ""};
	if (time_is_over(r) || !stored(r, store_find_by_prefix(r->s, &id, hex)) || !stored(r, store_load_finding(r->s, &x.f, &id, &r->a))) {
		r->out->unreached++;
		return;
	}
	bool ok = found_choose(&x, NULL, r->o->db, &r->a, &err);
	if (!ok)
		complain("%s", err.msg);
	for (int t = 0; t < r->o->ntarget && ok; t++)
		ok = ask_target(r, &x, t, &n);
	if (r->over && !n.regressed)
		r->out->unreached++;
	else if (err.msg[0])
		r->out->open++;
	else
		count(r, &x, &n);
}

static bool open_process(struct rechecking *r, struct proc_spec *spec)
{
	struct err err = {0};
	*spec = (struct proc_spec){.name = "recheck", .argv = (const char *const *)options_argv(r->o, RECHECK_VERB, 0, &r->arena)};
	r->proc = proc_open(spec, &err);
	if (!r->proc)
		complain("what is known is not run again: %s", err.msg);
	return r->proc;
}

bool recheck_run(struct recheck *out, struct store *s, struct tally *tally, const struct options *o)
{
	double most_s = o->time_s > 0 ? o->time_s / RECHECK_SHARE : RECHECK_S;
	struct rechecking r = {.o = o, .s = s, .tally = tally, .out = out, .end = clock_ms() + most_s * 1e3};
	struct proc_spec spec;
	struct store_run run = {.seed = o->seed, .shard = "", .policy = RECHECK_POLICY, .versions = SCATTERPROOF, .started = clock_unix_ms()};
	*out = (struct recheck){0};
	arena_init(&r.arena);
	arena_init(&r.a);
	stored(&r, store_query_sql(s, question(&r, &r.arena), NULL, take_id, &r));
	out->findings = r.nid;
	if (r.nid && !r.failed && stored(&r, store_run_begin(s, &r.run, &run)))
		r.over |= !open_process(&r, &spec);
	for (int i = 0; i < r.nid && !r.failed; i++) {
		arena_reset(&r.a);
		one_finding(&r, r.id[i]);
	}
	if (r.nid && !r.failed)
		stored(&r, store_flush(s));
	proc_close(r.proc);
	arena_free(&r.a);
	arena_free(&r.arena);
	return !r.failed;
}

/* ---- words -------------------------------------------------------------------------------------------------------------------------- */

void recheck_print(struct strbuf *sb, const struct recheck *r)
{
	const struct {
		int n;
		const char *words;
	} part[] = {{r->still, "still there"}, {r->gone, "no longer happen"}, {r->fixed, "fixed and gone"}, {r->regressed, "regressed"},
		{r->open, "cannot be told"}, {r->unreached, "not reached in time"}};
	const char *before = ": ";
	if (!r->findings)
		return;
	sb_printf(sb, "known before: %d finding%s run again", r->findings, r->findings == 1 ? "" : "s");
	for (int i = 0; i < ARRAY_LEN(part); i++)
		if (part[i].n) {
			sb_printf(sb, "%s%d %s", before, part[i].n, part[i].words);
			before = ", ";
		}
}

void recheck_json(struct json *j, const struct recheck *r)
{
	json_int(j, "findings", r->findings);
	json_int(j, "still_there", r->still);
	json_int(j, "no_longer", r->gone);
	json_int(j, "fixed", r->fixed);
	json_int(j, "regressed", r->regressed);
	json_int(j, "cannot_tell", r->open);
	json_int(j, "not_reached", r->unreached);
}
