/* case.c: see case.h. The store stays open, but no transaction does: others may write while a target compiles. */
#include "fuzz/cli/case.h"

#include "eager/base/clock.h"
#include "eager/base/escape.h"
#include "eager/base/interrupt.h"
#include "eager/base/output.h"
#include "fuzz/campaign/keep.h"

/* To write: each waits STORE_BUSY_MS. Others write, too, and the disk may be slow; what was learnt took minutes. */
enum { TRIES = 12 };

static bool load_file(struct prog *p, const char *path, struct arena *a)
{
	struct strbuf text;
	struct err err = {0}, bad = {0};
	sb_init(&text);
	bool ok = sb_read_file(&text, path, MAX_TEXT, &err);
	if (ok && !prog_read(p, a, text.s, text.len, READ_STRICT, &bad))
		ok = err_set(&err, "%s:%d:%d: %s", path, bad.line, bad.col, bad.msg);
	if (!ok)
		complain("%s", err.msg);
	sb_free(&text);
	return ok;
}

static int load(struct triage_case *c)
{
	const struct options *o = c->o;
	if (o->db)
		return found_load(&c->x, o, c->a);
	c->x.t = o->target[0];
	return load_file(&c->x.p, o->file[0], c->a) ? EXIT_CLEAN : EXIT_USAGE;
}

int case_open(struct triage_case *c, const struct options *o, struct arena *a)
{
	struct exec_options eo = {.self = o->self, .python = o->python, .limit_ms = o->limit_ms};
	struct err err = {0};
	enum store_status st;
	*c = (struct triage_case){.o = o, .started = clock_s(), .a = a};
	c->end = o->time_s > 0 ? c->started + o->time_s : 0;
	c->last_end = MAX(c->end, c->started + o->finish_s);
	int rc = load(c);
	if (rc != EXIT_CLEAN)
		return rc;
	if (o->db && c->x.claim.refused) {
		complain("finding %.*s says that eager refuses a program that it should run: there is no compiler to blame (`repro` runs it again)",
			STORE_ID_DIGITS, c->x.f.hex);
		return EXIT_USAGE;
	}
	c->runner = runner_new(&eo);
	enum exec_identity id = runner_start(c->runner, &c->x.t, &err);
	if (id != EXEC_IDENTIFIED) {
		complain("%s", err.msg);
		return id == EXEC_OTHER ? EXIT_USAGE : EXIT_TARGET;
	}
	const bool kept = o->db && !o->ntarget;
	if (o->db && !kept && !o->quiet)
		fprintf(stderr, "--target: what comes out is not kept in finding %.*s\n", STORE_ID_DIGITS, c->x.f.hex);
	for (int i = 0; kept && i < TRIES && !c->store && (i == 0 || st == STORE_BUSY); i++)
		c->store = store_open(&st, o->db, STORE_WRITE, &err);
	if (!kept || c->store)
		return EXIT_CLEAN;
	complain("%s", err.msg);
	return store_exit_code(st);
}

void case_close(struct triage_case *c)
{
	struct err err = {0};
	runner_free(c->runner);
	store_close(c->store, &err);
	if (err.msg[0])
		complain("%s", err.msg);
	c->runner = NULL;
	c->store = NULL;
}

/* A crash by chance (heap corruption) may need several processes. */
static void run(struct ran *out, struct triage_case *c)
{
	const bool crash = c->store && c->x.f.kind == FINDING_CRASH;
	for (int i = 0; i < (crash ? RUNNER_TRIES : 1); i++) {
		runner_run(out, c->runner, &c->x.p, &c->x.t, c->a);
		if (verdict_diverges(out->outcome.verdict) || !out->asked || out->broken)
			return;
	}
}

int case_fails(struct ran *out, struct triage_case *c)
{
	const struct outcome *o = &out->outcome;
	run(out, c);
	if (!verdict_diverges(o->verdict)) {
		complain("the program does not fail on this target: %s%s%s", verdict_name[o->verdict], o->why[0] ? ": " : "",
			escaped_line(c->a, o->why));
		return out->broken || o->verdict == VD_HARNESS ? EXIT_TARGET : EXIT_VOID;
	}
	if (!c->store || o->kind == c->x.f.kind)
		return EXIT_CLEAN;
	complain("finding %.*s is of kind %s, and its program fails in another way here: %s", STORE_ID_DIGITS, c->x.f.hex,
		finding_kind_name[c->x.f.kind], finding_kind_name[o->kind]);
	return EXIT_VOID;
}

void case_extend(struct triage_case *c) { c->end = c->end > 0 ? c->last_end : 0; }
bool case_over(const struct triage_case *c) { return interrupt_asked() || (c->end > 0 && clock_s() > c->end); }
int case_seconds(const struct triage_case *c) { return (int)(clock_s() - c->started); }

/* ---- writing ------------------------------------------------------------------------------------------------------------------------- */

void case_begin(struct triage_case *c)
{
	for (int i = 0; c->store && i < TRIES; i++) {
		if (store_begin(c->store) != STORE_BUSY)
			return;
		if (i + 1 < TRIES)
			store_rollback(c->store);
	}
}

void case_event(struct triage_case *c, enum event_kind kind, const char *payload, const struct hash128 *program)
{
	const struct store_event e = {
		.finding = c->x.f.id, .at = clock_unix_ms(), .kind = kind, .tool = SCATTERPROOF, .payload = payload, .program = program};
	if (c->store)
		store_event(c->store, &e);
}

void case_artifact(struct triage_case *c, const char *name, const char *text)
{
	if (c->store)
		store_artifact(c->store, &c->x.f.id, name, clock_unix_ms(), text, strlen(text));
}

static void begin_run(struct triage_case *c)
{
	const struct store_run run = {.seed = 0, .shard = "", .policy = "triage", .versions = SCATTERPROOF, .started = clock_unix_ms()};
	if (!c->run_begun)
		store_run_begin(c->store, &c->run, &run);
	c->run_begun = true;
}

void case_observation(struct triage_case *c, const struct prog *p, const struct outcome *o, struct hash128 *program)
{
	struct strbuf versions, hello;
	const char *ops[MAX_NODES], *text = prog_text(p, c->a);
	struct hash128 id;
	if (!c->store)
		return;
	int nops = prog_ops(ops, MAX_NODES, p);
	struct store_observation obs = {.finding = c->x.f.id,
		.at = clock_unix_ms(),
		.verdict = verdict_name[o->verdict],
		.tensor = o->tensor ? o->tensor : "",
		.fill = -1,
		.call = o->call,
		.detail = o->detail ? o->detail : ""};
	sb_init(&versions);
	sb_init(&hello);
	runner_versions(&versions, &hello, c->runner, &c->x.t);
	begin_run(c);
	obs.run = c->run;
	keep_environment(c->store, &obs.environment, &c->x.t, versions.s, hello.s, c->a);
	store_observation(c->store, &obs, text, ops, nops);
	store_program(c->store, program ? program : &id, text, ops, nops);
	sb_free(&hello);
	sb_free(&versions);
}

bool case_end(struct triage_case *c)
{
	if (!c->store || store_commit(c->store) == STORE_OK)
		return true;
	c->run_begun = false; /* rolled back with the rest */
	complain("what was learnt is not recorded: %s", store_message(c->store));
	return false;
}

bool case_has(const struct triage_case *c, enum event_kind kind, const char *part)
{
	bool has = false;
	for (int i = 0; i < c->x.f.nevents; i++)
		if (str_eq(c->x.f.event[i].kind, event_kind_name[kind]))
			has = strstr(c->x.f.event[i].payload, part) != NULL;
	return has;
}
