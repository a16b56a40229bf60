/* lifecycle_test.c: decisions of people, regressions, and which version is later. */
#include <time.h>
#include <unistd.h>

#include "reports/life/lifecycle.h"
#include "eager/base/version.h"
#include "tests/store/store_util.h"
#include "tests/test.h"

static const int64_t NOW = (int64_t)T0 * 1000;

static enum finding_state state_of(struct store *s, const struct hash128 *id)
{
	struct arena a;
	struct store_loaded f;
	arena_init(&a);
	CHECK(store_load_finding(s, &f, id, &a) == STORE_OK);
	arena_free(&a);
	return f.state;
}

/* The payload of the latest event of that kind. */
static const char *payload_of(struct store *s, const struct hash128 *id, const char *kind, struct arena *a)
{
	struct store_loaded f;
	const char *out = "(none)";
	CHECK(store_load_finding(s, &f, id, a) == STORE_OK);
	for (int i = 0; i < f.nevents; i++)
		if (str_eq(f.event[i].kind, kind))
			out = f.event[i].payload;
	return out;
}

static void decide(struct store *s, const struct hash128 *id, enum decision_kind kind, const char *note, const char *version)
{
	struct decision d = {.finding = *id, .kind = kind, .note = note, .version = version, .issue_url = "", .duplicate_of = *id};
	EXPECT_INT(finding_decide(s, &d, NOW - 5, "t"), STORE_OK); /* an old clock: the decision counts all the same */
}

static void mark_duplicate(struct store *s, const struct hash128 *id, const struct hash128 *of)
{
	struct decision d = {.finding = *id, .kind = DECIDE_DUPLICATE, .note = "", .version = "", .issue_url = "", .duplicate_of = *of};
	EXPECT_INT(finding_decide(s, &d, NOW, "t"), STORE_OK);
}

static void decisions(void)
{
	struct store *s = open_ok(tmp_path("decide.db"), STORE_CREATE);
	struct hash128 id = put_finding(s, 1);
	struct arena a;
	char hex[33];
	arena_init(&a);
	decide(s, &id, DECIDE_DISMISSED, "eager does it too", "");
	EXPECT_INT(state_of(s, &id), STATE_DISMISSED);
	EXPECT_STR(payload_of(s, &id, "note", &a), "eager does it too");
	decide(s, &id, DECIDE_OPEN, "", "");
	EXPECT_INT(state_of(s, &id), STATE_CANDIDATE);
	CHECK(put_event(s, &id, NOW + 50, EVENT_CONFIRMED, "") == STORE_OK);
	EXPECT_INT(state_of(s, &id), STATE_CONFIRMED);
	decide(s, &id, DECIDE_KNOWN, "reported", "");
	EXPECT_INT(state_of(s, &id), STATE_KNOWN);
	EXPECT_STR(payload_of(s, &id, "known", &a), "reported");
	decide(s, &id, DECIDE_OPEN, "", "");
	EXPECT_INT(state_of(s, &id), STATE_CONFIRMED);
	struct hash128 other = put_finding(s, 2);
	mark_duplicate(s, &id, &other);
	EXPECT_INT(state_of(s, &id), STATE_DUPLICATE);
	hash_hex(hex, &other);
	EXPECT_STR(payload_of(s, &id, "duplicate", &a), hex);
	struct decision unknown = {.kind = DECIDE_KNOWN, .note = "", .version = "", .issue_url = ""};
	EXPECT_INT(finding_decide(s, &unknown, NOW, "t"), STORE_BAD);
	decide(s, &id, DECIDE_OPEN, "", ""); /* the refusal left no transaction open */
	arena_free(&a);
	store_abandon(s);
}

static const char *original_of(struct store *s, const struct hash128 *id, struct arena *a)
{
	struct store_loaded f;
	CHECK(store_load_finding(s, &f, id, a) == STORE_OK);
	EXPECT_STR(finding_state_name[f.state], finding_original(&f)[0] ? "duplicate" : finding_state_name[f.state]);
	return finding_original(&f);
}

static void duplicates(void)
{
	struct store *s = open_ok(tmp_path("duplicates.db"), STORE_CREATE);
	struct hash128 id[4];
	struct arena a;
	bool turns;
	char hex[33];
	struct hash128 last;
	arena_init(&a);
	for (unsigned i = 0; i < 4; i++)
		id[i] = put_finding(s, i);
	EXPECT_STR(original_of(s, &id[0], &a), "");
	mark_duplicate(s, &id[0], &id[1]);
	hash_hex(hex, &id[1]);
	EXPECT_STR(original_of(s, &id[0], &a), hex);
	decide(s, &id[0], DECIDE_DISMISSED, "duplicate of nothing", "");
	EXPECT_STR(original_of(s, &id[0], &a), "");
	mark_duplicate(s, &id[0], &id[1]);
	mark_duplicate(s, &id[1], &id[2]);
	for (int i = 0; i < 4; i++) {
		EXPECT_INT(finding_last_original(&last, &turns, s, &id[2], &id[i]), STORE_OK);
		EXPECT_INT(turns, i < 3);
		EXPECT_INT(finding_last_original(&last, &turns, s, &id[i], &id[3]), STORE_OK);
		EXPECT_INT(turns, i == 3);
	}
	mark_duplicate(s, &id[2], &id[0]); /* as two merged stores can hold it */
	EXPECT_INT(finding_last_original(&last, &turns, s, &id[3], &id[0]), STORE_OK);
	EXPECT(!turns, "a circle without the finding");
	arena_free(&a);
	store_abandon(s);
}

/* What two people mark in two stores: each finding a duplicate of the next one. */
static void circles(void)
{
	for (int n = 2; n <= 4; n++) {
		struct hash128 id[4];
		struct arena a;
		struct strbuf dumps[2];
		char name[64], hex[33];
		arena_init(&a);
		for (int order = 0; order < 2; order++) {
			snprintf(name, sizeof name, "circle%d-%d.db", n, order);
			struct store *all = open_ok(tmp_path(name), STORE_CREATE);
			for (int k = 0; k < n; k++) {
				int i = order ? n - 1 - k : k;
				snprintf(name, sizeof name, "part%d-%d-%d.db", n, order, i);
				struct store *s = open_ok(tmp_path(name), STORE_CREATE);
				for (unsigned f = 0; f < (unsigned)n; f++)
					id[f] = put_finding(s, f);
				mark_duplicate(s, &id[i], &id[(i + 1) % n]);
				EXPECT_INT(store_close(s, NULL), STORE_OK);
				EXPECT_INT(store_merge(all, tmp_path(name)), STORE_OK);
			}
			EXPECT_INT(store_close(all, NULL), STORE_OK);
			sb_init(&dumps[order]);
			snprintf(name, sizeof name, "circle%d-%d.db", n, order);
			dump(&dumps[order], tmp_path(name), true);
		}
		EXPECT(str_eq(dumps[0].s, dumps[1].s), "the order of merging decides");
		/* the one with the least id is the original: nobody's duplicate, and open */
		int least = 0;
		for (int i = 1; i < n; i++)
			if (memcmp(&id[i], &id[least], sizeof id[i]) < 0)
				least = i;
		struct store *s = open_ok(tmp_path(name), STORE_WRITE);
		for (int i = 0; i < n; i++) {
			EXPECT_INT(state_of(s, &id[i]), i == least ? STATE_CANDIDATE : STATE_DUPLICATE);
			hash_hex(hex, &id[(i + 1) % n]);
			EXPECT_STR(original_of(s, &id[i], &a), i == least ? "" : hex);
		}
		EXPECT_INT(sql_int(tmp_path(name), "SELECT count(*) FROM v_open"), 1);
		/* a decision about another one breaks the circle: then the least is a duplicate as it was marked */
		decide(s, &id[(least + 1) % n], DECIDE_KNOWN, "reported", "");
		EXPECT_INT(state_of(s, &id[(least + 1) % n]), STATE_KNOWN);
		EXPECT_INT(state_of(s, &id[least]), STATE_DUPLICATE);
		EXPECT_INT(sql_int(tmp_path(name),
					   "SELECT count(*) FROM finding_summary s JOIN finding_state_now n ON n.finding = s.finding"
					   " WHERE n.state <> s.state"),
			0);
		EXPECT_INT(store_close(s, NULL), STORE_OK);
		sb_free(&dumps[0]);
		sb_free(&dumps[1]);
		arena_free(&a);
	}
}

/* Each a duplicate of the next one, as no `mark` would write it in this order but merged stores can hold it: a mark, an opening and what
 * follows are linear in the length. (circles() compares with the schema's own views.) */
static void long_chains(void)
{
	enum { LENGTH = 300, MAX_S = 30 }; /* it takes about 2 s */
	static struct hash128 id[LENGTH];
	const char *path = tmp_path("chain.db");
	struct store *s = open_ok(path, STORE_CREATE);
	struct hash128 last;
	bool turns;
	clock_t begin = clock();
	CHECK(store_begin(s) == STORE_OK);
	for (unsigned i = 0; i < LENGTH; i++)
		id[i] = put_finding(s, i);
	CHECK(store_commit(s) == STORE_OK);
	for (int circle = 0; circle < 2; circle++) {
		for (int i = 0; i < LENGTH - 1; i++)
			if (!circle)
				mark_duplicate(s, &id[i], &id[i + 1]);
		EXPECT_INT(finding_last_original(&last, &turns, s, &id[LENGTH - 1], &id[0]), STORE_OK);
		EXPECT(turns, "the way from the first leads to the last one");
		if (circle)
			mark_duplicate(s, &id[LENGTH - 1], &id[0]);
		EXPECT_INT(store_close(s, NULL), STORE_OK);
		s = open_ok(path, STORE_WRITE);
		EXPECT_INT(sql_int(path, "SELECT count(*) FROM finding_summary WHERE state = 'duplicate'"), LENGTH - 1);
	}
	EXPECT(clock() - begin < (clock_t)MAX_S * CLOCKS_PER_SEC, "%.1f s", (double)(clock() - begin) / CLOCKS_PER_SEC);
	store_abandon(s);
}

static enum after_fix seen_again(struct store *s, const struct hash128 *id, const char *versions, bool confirmed)
{
	struct arena a;
	struct store_loaded f;
	enum after_fix out = FIX_NO_MATTER;
	arena_init(&a);
	CHECK(store_load_finding(s, &f, id, &a) == STORE_OK);
	EXPECT_INT(finding_seen_after_fix(&out, s, &f, versions, confirmed, NOW - 5, "t"), STORE_OK);
	arena_free(&a);
	return out;
}

static void regressions(void)
{
	static const struct {
		const char *fixed, *versions;
		bool regressed;
	} cases[] = {
		{"2.15.0", "torch 2.11.0+cu130, python 3.11.2", false},
		{"2.15.0", "torch 2.15.0+cu130, python 3.11.2", true},
		{"2.15.0", "torch 2.16.1, python 3.11.2", true},
		{"2.15.0", "torch 2.15.0.dev20260101, python 3", false},
		{"", "torch 2.11.0, python 3.11.2", true},
		{"2.15.0", "", true},
		{"0.1.post1", "scatterproof 0.1", false},
	};
	struct store *s = open_ok(tmp_path("regress.db"), STORE_CREATE);
	struct arena a;
	arena_init(&a);
	for (int i = 0; i < 2 * ARRAY_LEN(cases); i++) {
		const char *fixed = cases[i / 2].fixed, *versions = cases[i / 2].versions;
		bool back = cases[i / 2].regressed, confirmed = i % 2;
		struct hash128 id = put_finding(s, (unsigned)i);
		EXPECT_INT(seen_again(s, &id, versions, confirmed), FIX_NO_MATTER); /* was never fixed */
		decide(s, &id, DECIDE_FIXED_IN, "", fixed);
		EXPECT_INT(state_of(s, &id), STATE_FIXED_IN);
		EXPECT_INT(seen_again(s, &id, versions, confirmed), !back ? FIX_NO_MATTER : confirmed ? FIX_REFUTED : FIX_DOUBTED);
		EXPECT_INT(state_of(s, &id), !back ? STATE_FIXED_IN : confirmed ? STATE_REGRESSED : STATE_CANDIDATE);
		EXPECT(!back || confirmed || str_starts(payload_of(s, &id, "note", &a), "a candidate regression: marked fixed"), "a note");
		if (!back)
			continue;
		EXPECT_INT(seen_again(s, &id, versions, false), FIX_NO_MATTER); /* said already */
		EXPECT_INT(seen_again(s, &id, "torch 2.10.0", true), fixed[0] || confirmed ? FIX_NO_MATTER : FIX_REFUTED);
		/* what an unconfirmed sighting made a candidate is regressed once it is confirmed, and that once */
		EXPECT_INT(seen_again(s, &id, versions, true), confirmed || !fixed[0] ? FIX_NO_MATTER : FIX_REFUTED);
		EXPECT_INT(state_of(s, &id), STATE_REGRESSED);
		EXPECT_INT(seen_again(s, &id, versions, true), FIX_NO_MATTER);
		decide(s, &id, DECIDE_KNOWN, "", "");
		EXPECT_INT(seen_again(s, &id, versions, true), FIX_NO_MATTER);
		EXPECT_INT(state_of(s, &id), STATE_KNOWN);
	}
	arena_free(&a);
	store_abandon(s);
}

/* A clock that is far ahead, or a hostile store. */
static void dates(void)
{
	struct store *s = open_ok(tmp_path("dates.db"), STORE_CREATE);
	struct hash128 id = put_finding(s, 1), last = put_finding(s, 2);
	CHECK(
		put_event(s, &id, INT64_MAX - 1, EVENT_NOTE, "late") == STORE_OK && put_event(s, &last, INT64_MAX, EVENT_NOTE, "last") == STORE_OK);
	decide(s, &id, DECIDE_KNOWN, "", "");
	EXPECT_INT(state_of(s, &id), STATE_KNOWN);
	for (int i = 0; i < 2; i++) {
		struct decision d = {.finding = i ? id : last, .kind = DECIDE_DISMISSED, .note = "", .version = "", .issue_url = ""};
		EXPECT_INT(finding_decide(s, &d, NOW, "t"), STORE_CORRUPT);
		EXPECT(strstr(store_message(s), "is dated so late that no decision can follow it"), "%s", store_message(s));
	}
	store_abandon(s);
}

/* What another store saw after the fix comes out as if one store had seen all. Times: marked fixed in 0.2 at 100. */
static void regressions_elsewhere(void)
{
	static const struct {
		const char *versions;
		int64_t seen, confirmed;
		enum finding_state state;
	} cases[] = {
		{"t 0.2", 200, 200, STATE_REGRESSED},
		{"t 0.2", 200, 0, STATE_CANDIDATE},
		{"t 0.1", 200, 200, STATE_FIXED_IN},
		{"t 0.2", 50, 50, STATE_FIXED_IN},
		{"t 0.3", 200, 50, STATE_CANDIDATE},
	};
	for (int i = 0; i < 2 * ARRAY_LEN(cases); i++) {
		const char *here = tmp_path("here.db"), *there = tmp_path("there.db"), *into = i % 2 ? here : there, *from = i % 2 ? there : here;
		const struct store_env_text where = {
			.family = "t", .target = "t", .version = "", .versions = cases[i / 2].versions, .device = "", .machine = ""};
		const struct store_run run = {.seed = 1, .shard = "0/1", .policy = "p", .versions = "", .started = 1};
		unlink(here);
		unlink(there);
		struct store *s = open_ok(here, STORE_CREATE);
		struct hash128 id = put_finding(s, 1), env, r;
		CHECK(put_event(s, &id, NOW + 100, EVENT_FIXED, "0.2") == STORE_OK && store_close(s, NULL) == STORE_OK);
		s = open_ok(there, STORE_CREATE);
		put_finding(s, 1);
		CHECK(store_environment(s, &env, &where) == STORE_OK && store_run_begin(s, &r, &run) == STORE_OK);
		const struct store_observation o = {.finding = id,
			.environment = env,
			.run = r,
			.at = NOW + cases[i / 2].seen,
			.verdict = "mismatch",
			.tensor = "",
			.fill = -1,
			.call = -1,
			.detail = ""};
		CHECK(store_observation(s, &o, "# scatterproof 1\n", NULL, 0) == STORE_OK);
		if (cases[i / 2].confirmed)
			CHECK(put_event(s, &id, NOW + cases[i / 2].confirmed, EVENT_CONFIRMED, "") == STORE_OK);
		CHECK(store_close(s, NULL) == STORE_OK);
		s = open_ok(into, STORE_WRITE);
		for (int again = 0; again < 2; again++) {
			EXPECT_INT(store_merge(s, from), STORE_OK);
			EXPECT(state_of(s, &id) == cases[i / 2].state, "%d: is %s, not %s", i, finding_state_name[state_of(s, &id)],
				finding_state_name[cases[i / 2].state]);
		}
		decide(s, &id, DECIDE_KNOWN, "", "");
		EXPECT_INT(store_merge(s, from), STORE_OK);
		EXPECT_INT(state_of(s, &id), STATE_KNOWN); /* decided after all that */
		EXPECT_INT(sql_int(into, "SELECT count(*) FROM event WHERE tool = 'merge'"), 0);
		store_abandon(s);
	}
}

static void versions(void)
{
	static const char *const order[] = {"", "0.1", "2.9.1", "2.11.0.dev20260101", "2.11.0.dev20260102+cu130", "2.11.0a0+git1", "2.11.0rc2",
		"2.11.0rc10", "2.11.0", "2.11.0.post1", "2.11.0.post2+cu130", "2.11.0.post10", "2.11.1", "2.15.0", "10.0"};
	for (int i = 0; i < ARRAY_LEN(order); i++)
		for (int j = 0; j < ARRAY_LEN(order); j++) {
			int c = version_compare(order[i], order[j]);
			EXPECT((c > 0) - (c < 0) == (i > j) - (i < j), "%s and %s: %d", order[i], order[j], c);
		}
	EXPECT_INT(version_compare("2.11.0+cu130", "2.11.0"), 0);
	EXPECT_INT(version_compare("2.11", "2.11.0"), 0);
	struct arena a;
	arena_init(&a);
	EXPECT_STR(version_of_environment("torch 2.11.0+cu130, python 3.11.2", &a), "2.11.0");
	EXPECT_STR(version_of_environment(SCATTERPROOF, &a), "0.1");
	EXPECT_STR(version_of_environment("unknown", &a), "");
	EXPECT(version_valid("2.15.0") && version_valid("2.16.0.dev20260101+cu130") && version_valid("3-rc1"), "versions");
	EXPECT(!version_valid("") && !version_valid("v2") && !version_valid("2 15") && !version_valid("next"), "no versions");
	arena_free(&a);
}

int main(void)
{
	RUN(decisions);
	RUN(duplicates);
	RUN(circles);
	RUN(long_chains);
	RUN(regressions);
	RUN(dates);
	RUN(regressions_elsewhere);
	RUN(versions);
	return TEST_END();
}
