/* store_test.c: what is written is read back; life cycle, caps, counters, signatures, prefixes, times. */
#include "tests/test.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "eager/base/json.h"
#include "tests/store/store_util.h"

static const int64_t NOW = (int64_t)T0 * 1000;

static void round_trip(void)
{
	const char *path = tmp_path("round.db");
	struct store *s = open_ok(path, STORE_CREATE);
	struct hash128 run = put_run(s, 7), env = put_env(s, 1), f = put_finding(s, 1), issue, minimal = put_program(s, 101);
	const struct store_event known = {
		.finding = f, .at = NOW + 60, .kind = EVENT_KNOWN, .tool = "t", .payload = "reported", .issue = &issue};
	const struct store_event minimised = {
		.finding = f, .at = NOW + 50, .kind = EVENT_MINIMISED, .tool = "t", .payload = "9 nodes to 2", .program = &minimal};
	EXPECT_INT(put_obs(s, &f, &env, &run, NOW + 5, "mismatch"), STORE_OK);
	EXPECT_INT(store_artifact(s, &f, "report", NOW + 5, "expected 1\ngot 0\n", 17), STORE_OK);
	EXPECT_INT(store_artifact(s, &f, "report", NOW + 6, "newer", 5), STORE_OK);
	EXPECT_INT(store_artifact(s, &f, "got", NOW + 5, "\0\1\377", 3), STORE_OK);
	EXPECT_INT(store_artifact(s, &f, "stderr", NOW + 5, "", 0), STORE_OK);
	EXPECT_INT(store_issue(s, &issue, "https://example.org/1", "scatter"), STORE_OK);
	EXPECT_INT(store_event(s, &minimised), STORE_OK);
	EXPECT_INT(store_event(s, &known), STORE_OK);
	EXPECT_INT(store_close(s, NULL), STORE_OK);

	struct arena a;
	struct store_loaded l;
	arena_init(&a);
	s = open_ok(path, STORE_READ);
	EXPECT_INT(store_load_finding(s, &l, &f, &a), STORE_OK);
	EXPECT_STR(l.family, "torch");
	EXPECT_STR(l.signature, "slice_scatter>sum grad zero #1");
	EXPECT_INT(l.kind, FINDING_GRADIENT);
	EXPECT_INT(l.state, STATE_KNOWN);
	EXPECT_INT(l.severity, SEVERITY_HIGH);
	EXPECT_INT(l.first_seen, NOW + 1);
	EXPECT_INT(l.last_seen, NOW + 5);
	EXPECT_INT(l.nobs, 1);
	EXPECT(strstr(l.program, "seed=1,") != NULL, "%s", l.program);
	EXPECT(l.minimised && strstr(l.minimised, "seed=101,"), "%s", l.minimised ? l.minimised : "none");
	EXPECT_STR(l.ops, "expand slice_scatter sum.dim_IntList");
	EXPECT_INT(l.nenvs, 1);
	EXPECT_STR(l.env[0].target, "torch-2.11.0:inductor@cpu+option=1");
	EXPECT_INT(l.nobs_stored, 1);
	EXPECT_STR(l.obs[0].tensor, "x.grad");
	EXPECT_STR(l.obs[0].program_text, l.program);
	EXPECT_INT(l.obs[0].env, 0);
	EXPECT_INT(l.nevents, 5);
	EXPECT_STR(l.event[4].issue_url, "https://example.org/1");
	EXPECT_INT(l.nartifacts, 4);
	const struct store_loaded_artifact *report = store_loaded_artifact(&l, "report"), *got = store_loaded_artifact(&l, "got");
	EXPECT(report && report->nbytes == 5 && memcmp(report->bytes, "newer", 6) == 0, "the latest report");
	EXPECT(got && got->nbytes == 3 && memcmp(got->bytes, "\0\1\377", 3) == 0, "bytes as they were");
	EXPECT(store_loaded_artifact(&l, "script") == NULL, "there is no script");
	store_abandon(s);
	arena_free(&a);
	EXPECT_STR(integrity(path), "ok");
}

static enum finding_state state_of(struct store *s, const struct hash128 *f)
{
	struct arena a;
	struct store_loaded l = {.state = NFINDING_STATES};
	arena_init(&a);
	EXPECT_INT(store_load_finding(s, &l, f, &a), STORE_OK);
	arena_free(&a);
	return l.state;
}

/* Each step: an event, then the state it must lead to. Times may go back: the order of writing must not matter. */
static void life_cycle(void)
{
	static const struct {
		int at;
		enum event_kind kind;
		const char *payload;
		enum finding_state want;
	} steps[] = {
		{10, EVENT_CONFIRMED, "5 of 5", STATE_CONFIRMED},
		{20, EVENT_BLAME, "inductor", STATE_BLAMED},
		{30, EVENT_MINIMISED, "", STATE_BLAMED}, /* progress does not go back */
		{31, EVENT_NOTE, "hm", STATE_BLAMED},
		{40, EVENT_KNOWN, "reported", STATE_KNOWN},
		{45, EVENT_CONFIRMED, "again", STATE_KNOWN}, /* a decision stands */
		{50, EVENT_FIXED, "2.15.0", STATE_FIXED_IN},
		{42, EVENT_STATE, "dismissed", STATE_FIXED_IN}, /* told late, happened early */
		{60, EVENT_REGRESSED, "2.16.0", STATE_REGRESSED},
		{70, EVENT_STATE, "candidate", STATE_CANDIDATE},
		{71, EVENT_CONFIRMED, "", STATE_CONFIRMED}, /* progress starts afresh */
		{80, EVENT_STATE, "dismissed", STATE_DISMISSED},
		{90, EVENT_STATE, "minimised", STATE_MINIMISED},
	};
	struct store *s = open_ok(tmp_path("life.db"), STORE_CREATE);
	struct hash128 f = put_finding(s, 2);
	EXPECT_INT(state_of(s, &f), STATE_CANDIDATE);
	for (int i = 0; i < ARRAY_LEN(steps); i++) {
		EXPECT_INT(put_event(s, &f, NOW + steps[i].at, steps[i].kind, steps[i].payload), STORE_OK);
		EXPECT(state_of(s, &f) == steps[i].want, "step %d: %s, want %s", i, finding_state_name[state_of(s, &f)],
			finding_state_name[steps[i].want]);
	}
	EXPECT_INT(store_close(s, NULL), STORE_OK);
}

static void views_for_people(void)
{
	static const enum event_kind last[] = {EVENT_NOTE, EVENT_CONFIRMED, EVENT_MINIMISED, EVENT_KNOWN, EVENT_FIXED, EVENT_REGRESSED};
	const char *path = tmp_path("views.db");
	struct store *s = open_ok(path, STORE_CREATE);
	struct hash128 run = put_run(s, 1), env = put_env(s, 1);
	for (unsigned i = 0; i < 6; i++) {
		struct hash128 f = put_finding(s, i);
		put_obs(s, &f, &env, &run, NOW + 100 * i, "mismatch");
		EXPECT_INT(put_event(s, &f, NOW + 1000, last[i], "2.15.0"), STORE_OK);
	}
	EXPECT_INT(store_close(s, NULL), STORE_OK);
	EXPECT_INT(sql_int(path, "SELECT count(*) FROM v_findings"), 6);
	EXPECT_INT(sql_int(path, "SELECT count(*) FROM v_open"), 4);
	EXPECT_INT(sql_int(path, "SELECT count(*) FROM v_new"), 3);
	EXPECT_STR(sql_text(path, "SELECT group_concat(state || version) FROM (SELECT * FROM v_fixed ORDER BY state)"),
		"fixed-in2.15.0,regressed2.15.0");
	EXPECT_INT(sql_int(path, "SELECT count(*) FROM v_by_signature WHERE nfindings = 1 AND nobs = 1"), 6);
	EXPECT_STR(sql_text(path, "SELECT length(id) || target || first_seen || ' ' || ops FROM v_findings WHERE kind = 'gradient'"),
		"8torch-2.11.0:inductor@cpu+option=12023-11-14T22:13:20Z expand slice_scatter sum.dim_IntList");
	EXPECT_INT(sql_int(path, "SELECT count(*) FROM v_events WHERE kind = 'found'"), 6);
}

/* One row per cause; what is not triaged is told apart by kind and signature; the open one with the smallest minimised program speaks. */
static void causes(void)
{
	const char *path = tmp_path("causes.db");
	struct store *s = open_ok(path, STORE_CREATE);
	struct hash128 run = put_run(s, 1), env = put_env(s, 1), f[4];
	for (unsigned i = 0; i < 4; i++) {
		f[i] = put_finding(s, i);
		put_obs(s, &f[i], &env, &run, NOW + 100 * i, "mismatch");
	}
	EXPECT_INT(sql_int(path, "SELECT count(*) FROM v_causes"), 4);
	put_event(s, &f[0], NOW + 1000, EVENT_CAUSE, "one");
	put_event(s, &f[1], NOW + 1000, EVENT_CAUSE, "other");
	put_event(s, &f[1], NOW + 1001, EVENT_CAUSE, "one");
	put_event(s, &f[1], NOW + 1001, EVENT_MINIMISED, "");
	put_event(s, &f[1], NOW + 1001, EVENT_BLAME, "wrong from: inductor");
	put_event(s, &f[0], NOW + 1001, EVENT_REACH, "aten");
	put_event(s, &f[1], NOW + 1001, EVENT_REACH, "torch");
	EXPECT_INT(store_close(s, NULL), STORE_OK);
	EXPECT_INT(sql_int(path, "SELECT count(*) FROM v_causes"), 3);
	EXPECT_STR(
		sql_text(path, "SELECT nfindings || nobs || reach || blame FROM v_causes WHERE cause = 'one'"), "22torchwrong from: inductor");
	EXPECT_INT(
		sql_int(path, "SELECT count(*) FROM v_causes c JOIN v_findings v USING (full_id) WHERE c.cause = 'one' AND v.state = 'blamed'"), 1);
}

/* The order in which `triage` lists causes, open ones first; a cause without an open finding keeps a number behind them. */
static void numbers_of_causes(void)
{
	static const struct {
		enum finding_severity severity;
		const char *cause, *reach;
		int nobs;
		bool decided;
	} of[] = {
		{SEVERITY_HIGH, "seen often, decided", "torch", 9, true},
		{SEVERITY_NORMAL, "less severe", "torch", 8, false},
		{SEVERITY_HIGH, NULL, "", 7, false},
		{SEVERITY_HIGH, "of the overload", "aten", 6, false},
		{SEVERITY_HIGH, "seen once", "python", 1, false},
		{SEVERITY_HIGH, "seen twice", "", 2, false},
	};
	const char *path = tmp_path("numbers.db");
	struct store *s = open_ok(path, STORE_CREATE);
	struct hash128 run = put_run(s, 1), env = put_env(s, 1), id;
	for (unsigned i = 0; i < ARRAY_LEN(of); i++) {
		char signature[32];
		snprintf(signature, sizeof signature, "signature %u", i);
		const struct store_finding f = {put_program(s, i), "torch", FINDING_VALUE, of[i].severity, signature, NOW, "t"};
		CHECK(store_finding(s, &id, &f) == STORE_OK);
		for (int k = 0; k < of[i].nobs; k++)
			put_obs_of(s, &id, i, &env, &run, NOW + k, "mismatch");
		if (of[i].cause)
			put_event(s, &id, NOW + 1, EVENT_CAUSE, of[i].cause);
		if (of[i].reach[0])
			put_event(s, &id, NOW + 1, EVENT_REACH, of[i].reach);
		if (of[i].decided)
			put_event(s, &id, NOW + 2, EVENT_STATE, "dismissed");
	}
	EXPECT_INT(store_close(s, NULL), STORE_OK);
	EXPECT_STR(sql_text(path, "SELECT group_concat(place || open || ' ' || cause, ', ') FROM (SELECT * FROM v_causes ORDER BY place)"),
		"11 seen twice, 21 seen once, 31 value; not triaged; signature 2, 41 of the overload, 51 less severe, 60 seen often, decided");
	EXPECT_STR(sql_text(path,
				   "SELECT group_concat(id) = (SELECT group_concat(id) FROM (SELECT id FROM v_causes ORDER BY place))"
				   " FROM (SELECT id FROM v_causes)"),
		"1");
	EXPECT_STR(sql_text(path, "SELECT p.text FROM v_causes c JOIN v_programs p ON p.full_id = c.program WHERE place = 1"),
		sql_text(path,
			"SELECT p.text FROM v_findings f JOIN finding g ON lower(hex(g.id)) = f.full_id JOIN program p ON p.id = g.program"
			" WHERE f.cause = 'seen twice'"));
}

static void answers(void)
{
	const char *path = tmp_path("answers.db");
	struct store *s = open_ok(path, STORE_CREATE);
	struct hash128 f = put_finding(s, 1), g = put_finding(s, 2), q = hash_bytes("q", 1);
	bool known = true, yes = false;
	EXPECT_INT(store_answer(s, &known, &yes, &f, &q), STORE_OK);
	EXPECT(!known, "an answer to what nobody asked");
	EXPECT_INT(store_answer_put(s, &f, &q, true), STORE_OK);
	EXPECT_INT(store_answer_put(s, &g, &q, false), STORE_OK);
	EXPECT_INT(store_answer(s, &known, &yes, &f, &q), STORE_OK);
	EXPECT(known && yes, "it is lost");
	EXPECT_INT(store_answers_drop(s, &f), STORE_OK);
	EXPECT_INT(store_answer(s, &known, &yes, &f, &q), STORE_OK);
	EXPECT(!known, "it is still there");
	EXPECT_INT(store_answer(s, &known, &yes, &g, &q), STORE_OK);
	EXPECT(known && !yes, "another finding's is lost");
	EXPECT_INT(store_close(s, NULL), STORE_OK);
}

static void repeated_writes_add_nothing(void)
{
	const char *path = tmp_path("again.db");
	struct store *s = open_ok(path, STORE_CREATE);
	struct strbuf once, twice;
	sb_init(&once);
	sb_init(&twice);
	for (int i = 0; i < 2; i++) {
		put_run(s, 1);
		put_env(s, 1);
		struct hash128 f = put_finding(s, 3);
		EXPECT_INT(store_artifact(s, &f, "got", NOW, "abc", 3), STORE_OK);
		EXPECT_INT(put_event(s, &f, NOW, EVENT_CONFIRMED, "yes"), STORE_OK);
		dump(i ? &twice : &once, path, true);
	}
	EXPECT(once.len > 500 && str_eq(once.s, twice.s), "dumps differ:\n%s\n%s", once.s, twice.s);
	/* the same finding with another signature and severity: two events more, the latest counts */
	struct hash128 id;
	const struct store_finding f = {.program = put_program(s, 3),
		.family = "jax",
		.kind = FINDING_ALIAS,
		.severity = SEVERITY_TRIVIAL,
		.signature = "better",
		.at = NOW + 9,
		.tool = "t"};
	EXPECT_INT(store_finding(s, &id, &f), STORE_OK);
	EXPECT_INT(store_close(s, NULL), STORE_OK);
	EXPECT_INT(sql_int(path, "SELECT count(*) FROM finding"), 1);
	EXPECT_STR(sql_text(path, "SELECT signature || severity FROM finding_summary"), "bettertrivial");
	EXPECT_INT(sql_int(path, "SELECT count(*) FROM event"), 6);
	sb_free(&once);
	sb_free(&twice);
}

static void observations_are_capped_and_counted(void)
{
	const char *path = tmp_path("cap.db");
	struct store *s = open_ok(path, STORE_CREATE);
	struct hash128 run = put_run(s, 1), env[2] = {put_env(s, 1), put_env(s, 2)}, f = put_finding(s, 1);
	for (unsigned i = 0; i < 50; i++) {
		EXPECT_INT(put_obs_of(s, &f, i + 1, &env[0], &run, NOW + 10 + i, "mismatch"), STORE_OK); /* at first its own program */
		if (i < 5)
			EXPECT_INT(put_obs(s, &f, &env[1], &run, NOW + 10 + i, "crash"), STORE_OK); /* one program, one row */
	}
	EXPECT_INT(put_obs(s, &f, &env[0], &run, NOW + 999, "pass"), STORE_OK);
	EXPECT_INT(sql_int(path, "SELECT nobs FROM finding_summary"), 20); /* the rest waits */
	EXPECT_INT(store_flush(s), STORE_OK);
	EXPECT_INT(sql_int(path, "SELECT nobs FROM finding_summary"), 55);
	EXPECT_INT(sql_int(path, "SELECT npass FROM finding_summary"), 1);
	EXPECT_INT(sql_int(path, "SELECT count(*) FROM observation"), 20);
	EXPECT_INT(sql_int(path, "SELECT count(*) FROM program"), 19); /* two rows are of the first one */
	EXPECT_INT(sql_int(path, "SELECT count(*) FROM program_op o LEFT JOIN program p ON p.id = o.program WHERE p.id IS NULL"), 0);
	EXPECT_INT(sql_int(path, "SELECT last_seen FROM finding_summary"), NOW + 59);
	EXPECT_INT(sql_int(path, "SELECT last FROM observation_count WHERE verdict = 'pass'"), NOW + 999);
	/* in a batch the count is written at once, and a batch taken back counts nothing */
	EXPECT_INT(store_begin(s), STORE_OK);
	EXPECT_INT(put_obs(s, &f, &env[0], &run, NOW + 60, "mismatch"), STORE_OK);
	EXPECT_INT(store_commit(s), STORE_OK);
	EXPECT_INT(sql_int(path, "SELECT nobs FROM finding_summary"), 56);
	EXPECT_INT(store_begin(s), STORE_OK);
	EXPECT_INT(put_obs(s, &f, &env[0], &run, NOW + 61, "mismatch"), STORE_OK);
	store_rollback(s);
	EXPECT_INT(store_close(s, NULL), STORE_OK);
	EXPECT_INT(sql_int(path, "SELECT nobs FROM finding_summary"), 56);
}

/* Which rows are kept does not depend on the order in which they come, nor on batches. */
static void kept_observations_in_any_order(void)
{
	enum { N = 60, ROUNDS = 6 };
	struct strbuf want, got;
	sb_init(&want);
	sb_init(&got);
	for (unsigned round = 0; round < ROUNDS; round++) {
		const char *path = tmp_path("order.db");
		unlink(path);
		struct store *s = open_ok(path, STORE_CREATE);
		struct hash128 run = put_run(s, 1), env[2] = {put_env(s, 1), put_env(s, 2)}, f[2] = {put_finding(s, 1), put_finding(s, 2)};
		if (round % 2)
			CHECK(store_begin(s) == STORE_OK);
		for (unsigned k = 0; k < N; k++) {
			unsigned i = (k * 7 + round * 11) % N; /* 7 and 60 have no common divisor: all of them, in another order */
			unsigned program = i % 3 == 0 ? 1 + i % 2 : 300 + i / 3;
			EXPECT_INT(
				put_obs_of(s, &f[i % 2], program, &env[i / 2 % 2], &run, NOW + 1000 - 10 * i, i % 5 ? "mismatch" : "crash"), STORE_OK);
		}
		if (round % 2)
			CHECK(store_commit(s) == STORE_OK);
		EXPECT_INT(store_close(s, NULL), STORE_OK);
		sb_reset(&got);
		dump(&got, path, true);
		if (round == 0)
			sb_puts(&want, got.s);
		EXPECT(want.len > 5000 && str_eq(want.s, got.s), "round %u differs", round);
		EXPECT_INT(sql_int(path, "SELECT max(n) FROM (SELECT count(*) AS n FROM observation GROUP BY finding)"), STORE_MAX_OBS);
		EXPECT_INT(sql_int(path, "SELECT sum(nobs) FROM finding_summary"), N);
		EXPECT_INT(sql_int(path,
					   "SELECT count(*) FROM program p WHERE NOT EXISTS (SELECT 1 FROM observation WHERE program = p.id)"
					   " AND NOT EXISTS (SELECT 1 FROM finding WHERE program = p.id)"),
			0);
	}
	sb_free(&want);
	sb_free(&got);
}

/* A finding's own program comes first, however late; each row knows its program, and what was wrong with that. */
static void an_observation_has_its_program(void)
{
	const char *path = tmp_path("programs.db");
	struct store *s = open_ok(path, STORE_CREATE);
	struct hash128 run = put_run(s, 1), env[2] = {put_env(s, 1), put_env(s, 2)}, f = put_finding(s, 1);
	for (unsigned i = 0; i < STORE_MAX_OBS + 5; i++)
		EXPECT_INT(put_obs_of(s, &f, 100 + i, &env[0], &run, NOW + 10 + i, "mismatch"), STORE_OK);
	EXPECT_INT(sql_int(path, "SELECT count(*) FROM program"), STORE_MAX_OBS + 1);
	EXPECT_INT(put_obs(s, &f, &env[1], &run, NOW + 500, "mismatch"), STORE_OK);
	EXPECT_INT(sql_int(path, "SELECT count(*) FROM observation"), STORE_MAX_OBS);
	EXPECT_INT(sql_int(path, "SELECT count(*) FROM program"), STORE_MAX_OBS); /* the twentieth of the others has gone */
	EXPECT_INT(sql_int(path, "SELECT count(DISTINCT program) FROM program_op"), STORE_MAX_OBS);
	EXPECT_INT(put_obs_of(s, &f, 105, &env[0], &run, NOW + 1, "crash"), STORE_OK); /* the same program earlier: the row is replaced */
	EXPECT_INT(sql_int(path, "SELECT count(*) FROM observation"), STORE_MAX_OBS);
	struct arena a;
	struct store_loaded l;
	arena_init(&a);
	EXPECT_INT(store_load_finding(s, &l, &f, &a), STORE_OK);
	EXPECT_INT(l.nobs_stored, STORE_MAX_OBS);
	EXPECT_INT(l.nobs, STORE_MAX_OBS + 2); /* those that never had a row wait to be counted */
	EXPECT_INT(l.nprograms, STORE_MAX_OBS);
	EXPECT(strstr(l.obs[0].program_text, "seed=105,") && str_eq(l.obs[0].verdict, "crash"), "%s", l.obs[0].program_text);
	EXPECT(l.obs[STORE_MAX_OBS - 1].program_text == l.program && same_hash(&l.obs[STORE_MAX_OBS - 1].program, &l.program_id),
		"its own program");
	for (int i = 0; i < l.nobs_stored; i++) {
		struct hash128 key = program_key(l.obs[i].program_text);
		EXPECT(same_hash(&key, &l.obs[i].program), "observation %d has another program's text", i);
	}
	EXPECT_INT(put_obs_of(s, &f, 900, &env[0], &run, NOW, "pass"), STORE_OK); /* however early */
	EXPECT_INT(store_flush(s), STORE_OK);
	EXPECT_INT(sql_int(path, "SELECT count(*) FROM observation WHERE verdict = 'pass'"), 0);
	EXPECT_INT(sql_int(path, "SELECT nobs * 100 + npass FROM finding_summary"), (STORE_MAX_OBS + 7) * 100 + 1);
	EXPECT_INT(store_close(s, NULL), STORE_OK);
	EXPECT_STR(integrity(path), "ok");
	arena_free(&a);
}

static void latest_campaign(void)
{
	struct store *s = open_ok(tmp_path("runs.db"), STORE_CREATE);
	int64_t started = 0;
	struct hash128 id;
	EXPECT_INT(store_last_campaign(s, &started), STORE_OK);
	EXPECT_INT(started, INT64_MIN);
	static const struct {
		const char *policy;
		int at;
	} runs[] = {{"default", 1}, {"quick", 5}, {"check", 7}, {"default", 3}, {"repro", 9}};
	for (int i = 0; i < ARRAY_LEN(runs); i++) {
		const struct store_run r = {.seed = 1, .shard = "", .policy = runs[i].policy, .versions = "", .started = NOW + runs[i].at};
		EXPECT_INT(store_run_begin(s, &id, &r), STORE_OK);
	}
	EXPECT_INT(store_last_campaign(s, &started), STORE_OK);
	EXPECT_INT(started, NOW + 5);
	EXPECT_INT(store_close(s, NULL), STORE_OK);
}

static void batches_are_whole(void)
{
	const char *path = tmp_path("batch.db");
	struct store *s = open_ok(path, STORE_CREATE);
	struct hash128 run = put_run(s, 1), env = put_env(s, 1), unknown = {{9}}, f;
	EXPECT_INT(store_begin(s), STORE_OK);
	f = put_finding(s, 1);
	EXPECT_INT(put_obs(s, &f, &env, &run, NOW, "mismatch"), STORE_OK);
	EXPECT_INT(store_artifact(s, &unknown, "got", NOW, "x", 1), STORE_BAD);
	EXPECT(strstr(store_message(s), "FOREIGN KEY") != NULL, "%s", store_message(s));
	EXPECT_INT(put_obs(s, &f, &env, &run, NOW, "mismatch"), STORE_BAD); /* all that follows fails too */
	EXPECT_INT(store_commit(s), STORE_BAD);
	EXPECT_INT(sql_int(path, "SELECT count(*) FROM finding"), 0);
	EXPECT_INT(store_begin(s), STORE_OK);
	f = put_finding(s, 1);
	EXPECT_INT(put_obs(s, &f, &env, &run, NOW, "mismatch"), STORE_OK);
	EXPECT_INT(sql_int(path, "SELECT count(*) FROM finding"), 0); /* not before the commit */
	EXPECT_INT(store_commit(s), STORE_OK);
	EXPECT_INT(sql_int(path, "SELECT count(*) FROM finding f JOIN observation o ON o.finding = f.id"), 1);
	EXPECT_INT(store_close(s, NULL), STORE_OK);
}

static void counters(void)
{
	const char *path = tmp_path("counter.db");
	struct store *s = open_ok(path, STORE_CREATE);
	struct hash128 run = put_run(s, 1), env = put_env(s, 1), unknown = {{1}};
	EXPECT_INT(store_flush(s), STORE_OK);
	for (int i = 0; i < 1000; i++)
		store_counter_add(s, &run, i % 2 ? "draw a" : "draw b", &env, i % 10 ? "pass" : "mismatch", 1);
	EXPECT_INT(sql_int(path, "SELECT count(*) FROM counter"), 0);
	EXPECT_INT(store_flush(s), STORE_OK);
	EXPECT_INT(sql_int(path, "SELECT sum(n) FROM counter"), 1000);
	EXPECT_INT(sql_int(path, "SELECT n FROM v_counters WHERE verdict = 'mismatch'"), 100);
	store_counter_add(s, &run, "draw a", &env, "pass", 5);
	store_counter_add(s, &unknown, "draw a", &env, "pass", 5);
	EXPECT_INT(store_flush(s), STORE_BAD); /* a run that does not exist */
	EXPECT_INT(sql_int(path, "SELECT sum(n) FROM counter"), 1000);
	store_counter_add(s, &run, "draw a", &env, "pass", 7);
	EXPECT_INT(store_close(s, NULL), STORE_OK); /* flushes */
	EXPECT_INT(sql_int(path, "SELECT sum(n) FROM counter"), 1007);
	EXPECT_INT(sql_int(path, "SELECT count(*) FROM draw"), 2);
}

/* A counter adds to each operator of the families that its draw has, or to those that --ops left, with each dtype of the draw. */
static void what_was_tried(void)
{
	static const char first[] = "default block=short nodes=1..3 numel=128 families=scatter:2,reduce:1 dtypes=f32:4,i64:1 grad=75",
					  second[] = "default block=long nodes=1..3 numel=128 families=reduce:1 dtypes=f32:4 grad=75",
					  narrow[] = "joint block=short nodes=1..3 numel=128 families=reduce:1 dtypes=bf16:1 grad=75 ops=amax,sum.dim_IntList";
	const char *path = tmp_path("tried.db");
	struct store *s = open_ok(path, STORE_CREATE);
	struct hash128 run = put_run(s, 1), env = put_env_on(s, "2.11.0", "torch-2.11.0:inductor@cpu");
	store_counter_add(s, &run, first, &env, "pass", 20);
	store_counter_add(s, &run, first, &env, "mismatch", 2);
	store_counter_add(s, &run, first, &env, "crash", 1);
	store_counter_add(s, &run, first, &env, "unjudged", 2);
	EXPECT_INT(store_flush(s), STORE_OK);
	store_counter_add(s, &run, first, &env, "pass", 1);
	store_counter_add(s, &run, second, &env, "pass", 25);
	store_counter_add(s, &run, narrow, &env, "pass", 100);
	store_counter_add(s, &run, "", &env, "pass", 1000);
	EXPECT_INT(store_close(s, NULL), STORE_OK);
	EXPECT_STR(sql_text(path,
				   "SELECT group_concat(dtype || ' ' || policy || ' ' || programs || ' ' || passed || ' ' || diverging, ', ')"
				   " FROM v_tried WHERE op = 'sum.dim_IntList' AND target = 'torch-2.11.0:inductor@cpu' AND version = '2.11.0'"),
		"bf16 joint 100 100 0, f32 default 51 46 3, i64 default 26 21 3");
	EXPECT_INT(sql_int(path, "SELECT programs FROM v_tried WHERE op = 'slice_scatter' AND dtype = 'f32'"), 26);
	EXPECT_INT(sql_int(path, "SELECT count(*) FROM v_tried WHERE op = 'amin' AND dtype = 'bf16'"), 0);
	EXPECT_INT(sql_int(path, "SELECT count(*) FROM v_tried WHERE op = 'view'"), 0);
	EXPECT_INT(sql_int(path, "SELECT n FROM v_counters WHERE verdict = 'pass'"), 1146);
	EXPECT_INT(sql_int(path, "SELECT nverdicts FROM v_runs"), 1151);
}

/* A store of version 1 kept findings of torch-2.15.0 apart; their likes are looked for as torch's. */
static void old_families(void)
{
	struct store *s = open_ok(tmp_path("family.db"), STORE_CREATE);
	struct hash128 old, id;
	const struct store_finding f = {.program = put_program(s, 1),
		.family = "torch-2.15.0",
		.kind = FINDING_VALUE,
		.severity = SEVERITY_HIGH,
		.signature = "the same",
		.at = NOW,
		.tool = "t"};
	bool found;
	EXPECT_INT(store_finding(s, &old, &f), STORE_OK);
	EXPECT_INT(store_open_by_signature(s, &found, &id, NULL, "the same", "torch"), STORE_OK);
	EXPECT(found && same_hash(&old, &id), "torch-2.15.0 is torch");
	static const char *const others[] = {"torc", "torch-2.15", "jax", "torch-2.11.0"};
	for (int i = 0; i < ARRAY_LEN(others); i++) {
		EXPECT_INT(store_open_by_signature(s, &found, &id, NULL, "the same", others[i]), STORE_OK);
		EXPECT(!found, "torch-2.15.0 is not %s", others[i]);
	}
	EXPECT_INT(store_close(s, NULL), STORE_OK);
}

static void signatures(void)
{
	struct store *s = open_ok(tmp_path("signature.db"), STORE_CREATE);
	struct hash128 f1 = put_finding(s, 1), f2 = put_finding(s, 2), id;
	enum finding_state state;
	bool found;
	EXPECT_INT(store_open_by_signature(s, &found, &id, &state, "slice_scatter>sum grad zero #2", "torch"), STORE_OK);
	EXPECT(found && same_hash(&id, &f2) && state == STATE_CANDIDATE, "the second finding");
	EXPECT_INT(store_open_by_signature(s, &found, &id, NULL, "slice_scatter>sum grad zero #2", "jax"), STORE_OK);
	EXPECT(!found, "another family");
	EXPECT_INT(store_open_by_signature(s, &found, &id, NULL, "", "torch"), STORE_OK);
	EXPECT(!found, "no signature");
	EXPECT_INT(put_event(s, &f2, NOW + 100, EVENT_SIGNATURE, "slice_scatter>sum grad zero #1"), STORE_OK);
	EXPECT_INT(store_open_by_signature(s, &found, &id, NULL, "slice_scatter>sum grad zero #2", "torch"), STORE_OK);
	EXPECT(!found, "it has another signature now");
	EXPECT_INT(put_event(s, &f1, NOW + 100, EVENT_KNOWN, "reported"), STORE_OK);
	EXPECT_INT(store_open_by_signature(s, &found, &id, &state, "slice_scatter>sum grad zero #1", "torch"), STORE_OK);
	EXPECT(found && same_hash(&id, &f1) && state == STATE_KNOWN, "the earlier of two, although known");
	EXPECT_INT(store_close(s, NULL), STORE_OK);
}

/* A finding's key may be anything for this: rows are put in by hand so that prefixes collide. */
static void prefixes(void)
{
	const char *path = tmp_path("prefix.db");
	struct store *s = open_ok(path, STORE_CREATE);
	struct hash128 f = put_finding(s, 1), id;
	char hex[33];
	hash_hex(hex, &f);
	EXPECT_INT(store_find_by_prefix(s, &id, hex), STORE_OK);
	hex[6] = '\0';
	EXPECT_INT(store_find_by_prefix(s, &id, hex), STORE_OK);
	EXPECT(same_hash(&id, &f), "six digits");
	hex[5] = '\0';
	EXPECT_INT(store_find_by_prefix(s, &id, hex), STORE_BAD);
	EXPECT_INT(store_find_by_prefix(s, &id, "zzzzzz"), STORE_BAD);
	EXPECT_INT(store_find_by_prefix(s, &id, "000000000000000000000000000000000"), STORE_BAD);
	EXPECT_INT(store_find_by_prefix(s, &id, "00000000"), STORE_BAD);
	EXPECT(strstr(store_message(s), "no finding") != NULL, "%s", store_message(s));
	CHECK(sqlite3_exec(s->db,
			  "INSERT INTO finding SELECT unhex.k, program, family, kind FROM finding, (SELECT"
			  " x'abcdef00000000000000000000000001' AS k UNION SELECT x'abcdefff000000000000000000000002') unhex",
			  NULL, NULL, NULL)
		== SQLITE_OK);
	EXPECT_INT(store_find_by_prefix(s, &id, "abcdef"), STORE_BAD);
	EXPECT(strstr(store_message(s), "abcdef00000000000000000000000001") && strstr(store_message(s), "abcdefff000000000000000000000002"),
		"%s", store_message(s));
	EXPECT_INT(store_find_by_prefix(s, &id, "ABCDEFf"), STORE_OK);
	EXPECT_INT(id.b[15], 2);
	EXPECT_INT(store_close(s, NULL), STORE_OK);
}

/* A child that drops its copy of a store must not roll its parent's transaction back. */
static void a_fork_inside_a_batch(void)
{
	const char *path = tmp_path("fork.db");
	struct store *s = open_ok(path, STORE_CREATE);
	CHECK(sqlite3_exec(s->db, "PRAGMA cache_size=1; PRAGMA cache_spill=1", NULL, NULL, NULL) == SQLITE_OK);
	EXPECT_INT(store_begin(s), STORE_OK);
	for (unsigned n = 0; n < 50; n++)
		put_finding(s, n);
	fflush(stdout);
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		store_abandon(s);
		_exit(0);
	}
	CHECK(waitpid(pid, NULL, 0) == pid);
	for (unsigned n = 50; n < 60; n++)
		put_finding(s, n);
	EXPECT_INT(store_commit(s), STORE_OK);
	EXPECT_INT(store_close(s, NULL), STORE_OK);
	EXPECT_INT(sql_int(path, "SELECT count(*) FROM finding_summary"), 60);
	EXPECT_STR(integrity(path), "ok");
}

static void odd_texts(void)
{
	const char *path = tmp_path("odd.db");
	struct store *s = open_ok(path, STORE_CREATE);
	struct hash128 env, program, f;
	EXPECT_INT(store_environment(s, &env, &(struct store_env_text){"t\n", "", "t\xff\"'\n", "\x1b[31m", "", ""}), STORE_OK);
	EXPECT_INT(store_program(s, &program, "\xc3\x28 '; DROP TABLE finding; --", NULL, 0), STORE_OK);
	const struct store_finding finding = {.program = program, .family = "t", .kind = FINDING_CRASH, .signature = "", .at = -5, .tool = ""};
	EXPECT_INT(store_finding(s, &f, &finding), STORE_OK);
	char *big = xmalloc(STORE_MAX_BLOB + 1);
	memset(big, 'x', STORE_MAX_BLOB + 1);
	EXPECT_INT(store_artifact(s, &f, "got", 0, big, STORE_MAX_BLOB + 1), STORE_BAD);
	EXPECT(strstr(store_message(s), "too long") != NULL, "%s", store_message(s));
	EXPECT_INT(store_artifact(s, &f, "got", 0, big, 1 << 20), STORE_OK);
	free(big);
	struct arena a;
	struct store_loaded l;
	arena_init(&a);
	EXPECT_INT(store_load_finding(s, &l, &f, &a), STORE_OK);
	EXPECT_STR(l.program, "\xc3\x28 '; DROP TABLE finding; --");
	EXPECT_STR(l.signature, "");
	EXPECT_INT(l.first_seen, -5);
	EXPECT_INT(l.nartifacts, 1);
	arena_free(&a);
	EXPECT_INT(store_close(s, NULL), STORE_OK);
	EXPECT_STR(integrity(path), "ok");
}

static void words_match_the_schema(void)
{
	const char *path = tmp_path("words.db");
	EXPECT_INT(store_close(open_ok(path, STORE_CREATE), NULL), STORE_OK);
	char sql[160];
	for (int i = 0; i < NFINDING_KINDS; i++) {
		snprintf(sql, sizeof sql, "SELECT count(*) FROM finding_kind WHERE name = '%s'", finding_kind_name[i]);
		EXPECT_INT(sql_int(path, sql), 1);
	}
	for (int i = 0; i < NFINDING_STATES; i++) {
		snprintf(sql, sizeof sql, "SELECT count(*) FROM finding_state WHERE name = '%s' AND rank = %d AND open = %d", finding_state_name[i],
			i, (STATES_OPEN & 1u << i) != 0);
		EXPECT_INT(sql_int(path, sql), 1);
	}
	for (int i = 0; i < NEVENT_KINDS; i++) {
		snprintf(sql, sizeof sql, "SELECT count(*) FROM event_kind WHERE name = '%s'", event_kind_name[i]);
		EXPECT_INT(sql_int(path, sql), 1);
	}
	EXPECT_INT(sql_int(path,
				   "SELECT (SELECT count(*) FROM finding_kind) + (SELECT count(*) FROM finding_state)"
				   " + (SELECT count(*) FROM event_kind)"),
		NFINDING_KINDS + NFINDING_STATES + NEVENT_KINDS);
}

/* Keys are a promise to every store ever written: this one must never change. */
static void keys_are_stable(void)
{
	char hex[33];
	const struct column_value v[] = {value_text("torch"), value_text("2.11.0"), value_text("torch-2.11.0:eager"),
		value_text("torch 2.11.0"), value_text("cpu"), value_text("x86")};
	static const unsigned char canonical[] = "environment\0t\0\0\0\0\0\0\0\5torcht\0\0\0\0\0\0\0\6"
											 "2.11.0t\0\0\0\0\0\0\0\22"
											 "torch-2.11.0:eagert\0\0\0\0\0\0\0\14torch 2.11.0t\0\0\0\0\0\0\0\3cput\0\0\0\0\0\0\0\3x86";
	struct hash128 key = table_key(&store_table[TABLE_ENVIRONMENT], v), by_hand = hash_bytes(canonical, sizeof canonical - 1);
	EXPECT(same_hash(&key, &by_hand), "the canonical bytes of an environment");
	hash_hex(hex, &key);
	EXPECT_STR(hex, "6b8de5099d4f16e9f843030f76659bbe");
}

static void times(void)
{
	static const struct {
		const char *text;
		int64_t at;
	} good[] = {{"1970-01-01", 0}, {"2026-01-31", 1769817600000}, {"2024-02-29T23:59:59Z", 1709251199000}, {"1969-12-31 23:59", -60000},
		{"2000-03-01 00:00:01", 951868801000}};
	static const char *const bad[] = {
		"", "yesterday", "2026-1-1", "2026-02-29", "2026-13-01", "2026-01-01T", "2026-01-01T24:00", "2026-01-01x", "2026-01-01T10:00:00ZZ"};
	char text[32];
	int64_t at;
	for (int i = 0; i < ARRAY_LEN(good); i++) {
		struct err err = {0};
		EXPECT(store_time_parse(&at, good[i].text, &err) && at == good[i].at, "%s gives %lld %s", good[i].text, (long long)at, err.msg);
	}
	for (int i = 0; i < ARRAY_LEN(bad); i++) {
		struct err err = {0};
		EXPECT(!store_time_parse(&at, bad[i], &err) && err.msg[0], "'%s' is accepted", bad[i]);
	}
	store_time_text(text, 1709251199123);
	EXPECT_STR(text, "2024-02-29T23:59:59Z");
	store_time_text(text, -1);
	EXPECT_STR(text, "1969-12-31T23:59:59Z");
	store_time_text(text, INT64_MIN);
	EXPECT_STR(text, "-9223372036854775808");
	store_time_text(text, 253402300799999);
	EXPECT_STR(text, "9999-12-31T23:59:59Z");
	for (int64_t day = -200000; day < 200000; day += 1) { /* each day's text reads back */
		int64_t back = 0;
		store_time_text(text, day * 86400000);
		text[10] = '\0';
		if (!store_time_parse(&back, text, NULL) || back != day * 86400000)
			EXPECT(false, "day %lld is %s", (long long)day, text);
	}
}

static void json_strings(void)
{
	struct strbuf sb;
	struct json j = json_into(&sb, JSON_TIGHT);
	sb_init(&sb);
	json_text(&j, NULL, "a\"\\\n\x01\xff\xc3\xa9\xed\xa0\x80\0z", 13);
	EXPECT_STR(sb.s, "\"a\\\"\\\\\\n\\u0001\\ufffd\xc3\xa9\\ufffd\\ufffd\\ufffd\\u0000z\"");
	EXPECT(
		!utf8_valid("\xc0\x80", 2) && !utf8_valid("\xf4\x90\x80\x80", 4) && utf8_valid("\xf0\x9f\x98\x80", 4) && !utf8_valid("\xe2\x82", 2),
		"UTF-8");
	sb_free(&sb);
}

int main(void)
{
	RUN(round_trip);
	RUN(life_cycle);
	RUN(views_for_people);
	RUN(causes);
	RUN(numbers_of_causes);
	RUN(answers);
	RUN(repeated_writes_add_nothing);
	RUN(observations_are_capped_and_counted);
	RUN(kept_observations_in_any_order);
	RUN(an_observation_has_its_program);
	RUN(latest_campaign);
	RUN(batches_are_whole);
	RUN(counters);
	RUN(what_was_tried);
	RUN(signatures);
	RUN(old_families);
	RUN(prefixes);
	RUN(a_fork_inside_a_batch);
	RUN(odd_texts);
	RUN(words_match_the_schema);
	RUN(keys_are_stable);
	RUN(times);
	RUN(json_strings);
	return TEST_END();
}
