/* store_merge_test.c: merging is commutative, associative and idempotent, on random stores: equal dumps of every shared table and
 * of the rebuilt summaries. And what a merge refuses, and that it then changes nothing. */
#include "tests/test.h"

#include <stdlib.h>
#include <unistd.h>

#include "tests/store/store_util.h"

enum { NSTORES = 3, NROUNDS = 12 };
static const int64_t NOW = (int64_t)T0 * 1000;

struct rng {
	uint64_t state;
};
static unsigned below(struct rng *r, unsigned n) { return (unsigned)(mix64(r->state += 0x9e3779b97f4a7c15u) % n); }

/* Few different rows, so that stores overlap; runs are shared as well (a store and a later copy of it). */
static void random_writes(struct store *s, struct rng *r, int nwrites)
{
	static const char *const verdicts[] = {"mismatch", "crash", "pass"};
	static const char *const payloads[] = {"minimised", "dismissed", "candidate"};
	static const char *const draws[] = {"", "default block=short nodes=1..3 families=view:3,reduce:1 dtypes=f32:4,i64:1 grad=75",
		"default block=long nodes=1..3 families=view:1 dtypes=f32:4 grad=75", "joint block=short families=view:1 dtypes=f32:1 ops=add,mm"};
	CHECK(store_begin(s) == STORE_OK);
	for (int i = 0; i < nwrites; i++) {
		struct hash128 run = put_run(s, below(r, 3)), env = put_env(s, below(r, 2)), f = put_finding(s, below(r, 4)), minimal, issue, other;
		char hex[33];
		enum event_kind kind;
		int64_t at = NOW + below(r, 50);
		const char *verdict = verdicts[below(r, 3)];
		switch (below(r, 8)) {
		default:
			for (unsigned k = below(r, 12); k-- > 0;)
				CHECK((below(r, 3) ? put_obs_of(s, &f, 200 + below(r, 30), &env, &run, at + below(r, 50), verdict)
								   : put_obs(s, &f, &env, &run, at + below(r, 50), verdict))
					== STORE_OK);
			break;
		case 3:
			kind = (enum event_kind)below(r, NEVENT_KINDS);
			kind = kind == EVENT_STATE || kind == EVENT_DUPLICATE ? EVENT_CAUSE : kind;
			CHECK(put_event(s, &f, at, kind, below(r, 2) ? "text" : "another") == STORE_OK);
			other = put_finding(s, below(r, 4));
			hash_hex(hex, &other);
			CHECK(below(r, 2) || put_event(s, &f, at, EVENT_DUPLICATE, hex) == STORE_OK);
			break;
		case 4: CHECK(put_event(s, &f, at, EVENT_STATE, payloads[below(r, 3)]) == STORE_OK); break;
		case 5: CHECK(store_artifact(s, &f, "got", at, "abcdefgh", below(r, 8)) == STORE_OK); break;
		case 6: {
			minimal = put_program(s, 100 + below(r, 3));
			CHECK(store_issue(s, &issue, "https://example.org/1", "") == STORE_OK);
			const struct store_event e = {.finding = f,
				.at = at,
				.kind = EVENT_MINIMISED,
				.tool = "t",
				.payload = "",
				.program = &minimal,
				.issue = below(r, 2) ? &issue : NULL};
			CHECK(store_event(s, &e) == STORE_OK);
			break;
		}
		case 7: store_counter_add(s, &run, draws[below(r, ARRAY_LEN(draws))], &env, verdict, below(r, 100));
		}
	}
	CHECK(store_commit(s) == STORE_OK);
}

static void make(const char *path, uint64_t seed)
{
	struct rng r = {seed};
	struct store *s = open_ok(path, STORE_CREATE);
	random_writes(s, &r, 10 + (int)below(&r, 40));
	CHECK(store_close(s, NULL) == STORE_OK);
}

/* Merges stores into a new one, in this order. */
static void merged(struct strbuf *out, const char *name, const int *order, int n, int round)
{
	char src[64];
	const char *path = tmp_path(name);
	unlink(path);
	struct store *s = open_ok(path, STORE_CREATE);
	for (int i = 0; i < n; i++) {
		snprintf(src, sizeof src, "src%d-%d.db", round, order[i]);
		EXPECT(store_merge(s, tmp_path(src)) == STORE_OK, "%s", store_message(s));
	}
	EXPECT_INT(store_close(s, NULL), STORE_OK);
	sb_reset(out);
	dump(out, path, true);
}

static void same_in_every_order(void)
{
	static const int orders[][5] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}, {0, 1, 2, 1, 0}};
	struct strbuf want, got;
	char name[64];
	int64_t nconcluded = 0;
	sb_init(&want);
	sb_init(&got);
	for (int round = 0; round < NROUNDS; round++) {
		for (int i = 0; i < NSTORES; i++) {
			snprintf(name, sizeof name, "src%d-%d.db", round, i);
			make(tmp_path(name), (uint64_t)(round * NSTORES + i));
		}
		merged(&want, "m0.db", orders[0], 3, round);
		EXPECT(want.len > 3000, "only %zu bytes to compare", want.len);
		for (int i = 1; i < ARRAY_LEN(orders); i++) {
			merged(&got, "m1.db", orders[i], i == 6 ? 5 : 3, round);
			EXPECT(str_eq(want.s, got.s), "round %d, order %d differs", round, i);
		}
		/* (0 + 1) + 2 was above; 0 + (1 + 2): */
		static const int last_two[] = {1, 2};
		merged(&got, "m12.db", last_two, 2, round);
		snprintf(name, sizeof name, "src%d-0.db", round);
		struct store *s = open_ok(tmp_path(name), STORE_WRITE);
		EXPECT_INT(store_merge(s, tmp_path("m12.db")), STORE_OK);
		EXPECT_INT(store_close(s, NULL), STORE_OK);
		sb_reset(&got);
		dump(&got, tmp_path(name), true);
		EXPECT(str_eq(want.s, got.s), "round %d: not associative", round);
		EXPECT_STR(integrity(tmp_path("m1.db")), "ok");
		EXPECT(sql_int(tmp_path("m1.db"), "SELECT max(n) FROM (SELECT count(*) AS n FROM observation GROUP BY finding)") <= STORE_MAX_OBS,
			"too many observations are kept");
		nconcluded += sql_int(tmp_path("m1.db"), "SELECT count(*) FROM event WHERE tool = 'merge'");
	}
	EXPECT(nconcluded > 0, "nothing was seen after its fix: conclusions were not compared");
	sb_free(&want);
	sb_free(&got);
}

/* The summaries after any writes are those that a rebuild makes. */
static void cache_is_never_stale(void)
{
	const char *path = tmp_path("cache.db");
	struct rng r = {99};
	struct strbuf before, after;
	sb_init(&before);
	sb_init(&after);
	struct store *s = open_ok(path, STORE_CREATE);
	for (int i = 0; i < 20; i++) {
		random_writes(s, &r, 5);
		sb_reset(&before);
		sb_reset(&after);
		dump(&before, path, true);
		EXPECT_INT(write_enter(s), STORE_OK);
		EXPECT_INT(write_leave(s, summary_update(s, NULL)), STORE_OK);
		dump(&after, path, true);
		EXPECT(str_eq(before.s, after.s), "step %d: the cache was stale", i);
	}
	EXPECT_INT(store_close(s, NULL), STORE_OK);
	sb_free(&before);
	sb_free(&after);
}

static void with_itself_and_with_nothing(void)
{
	struct strbuf before, after;
	const char *path = tmp_path("self.db"), *empty = tmp_path("nothing.db");
	sb_init(&before);
	sb_init(&after);
	make(path, 5);
	CHECK(store_close(open_ok(empty, STORE_CREATE), NULL) == STORE_OK);
	dump(&before, path, true);
	struct store *s = open_ok(path, STORE_WRITE);
	EXPECT_INT(store_merge(s, path), STORE_OK);
	EXPECT_INT(store_merge(s, empty), STORE_OK);
	EXPECT_INT(store_close(s, NULL), STORE_OK);
	dump(&after, path, true);
	EXPECT(str_eq(before.s, after.s), "merging nothing changed something");
	sb_free(&before);
	sb_free(&after);
}

static void damaged_sources(void)
{
	static const char *const harm[] = {"UPDATE program SET text = text || ' ' WHERE rowid = 1", /* the key is no longer its content's */
		"UPDATE event SET at = at + 1 WHERE rowid = 1", "UPDATE run SET id = zeroblob(16) WHERE rowid = 1",
		"UPDATE finding SET kind = x'76' || kind WHERE rowid = 1", "DELETE FROM program WHERE rowid = 1", "DELETE FROM environment"};
	struct strbuf before, after;
	char name[32];
	sb_init(&before);
	sb_init(&after);
	struct store *s = open_ok(tmp_path("victim.db"), STORE_CREATE);
	put_finding(s, 50); /* nothing in common with the sources, so that it cannot supply what they lack */
	dump(&before, tmp_path("victim.db"), true);
	for (int i = 0; i < ARRAY_LEN(harm); i++) {
		snprintf(name, sizeof name, "harmed%d.db", i);
		make(tmp_path(name), 20);
		sqlite3 *db;
		CHECK(sqlite3_open(tmp_path(name), &db) == SQLITE_OK);
		CHECK(sqlite3_exec(db, "PRAGMA foreign_keys=OFF; PRAGMA ignore_check_constraints=ON", NULL, NULL, NULL) == SQLITE_OK);
		if (sqlite3_exec(db, harm[i], NULL, NULL, NULL) != SQLITE_OK)
			printf("(%s: %s)\n", harm[i], sqlite3_errmsg(db));
		sqlite3_close(db);
		enum store_status status = store_merge(s, tmp_path(name));
		EXPECT(
			status == STORE_CORRUPT && strstr(store_message(s), "damaged"), "'%s': status %d: %s", harm[i], (int)status, store_message(s));
	}
	EXPECT_INT(store_merge(s, tmp_path("absent.db")), STORE_ABSENT);
	EXPECT(!file_exists(tmp_path("absent.db")), "merging made its source");
	write_file(tmp_path("garbage.db"), "rubbish", 7);
	EXPECT_INT(store_merge(s, tmp_path("garbage.db")), STORE_FOREIGN);
	EXPECT_INT(store_close(s, NULL), STORE_OK);
	dump(&after, tmp_path("victim.db"), true);
	EXPECT(str_eq(before.s, after.s), "a refused merge changed something");
	EXPECT_STR(integrity(tmp_path("victim.db")), "ok");
	sb_free(&before);
	sb_free(&after);
}

int main(void)
{
	tmp_dir();
	RUN(same_in_every_order);
	RUN(cache_is_never_stale);
	RUN(with_itself_and_with_nothing);
	RUN(damaged_sources);
	return TEST_END();
}
