/* cause_join_test.c: which findings of a store get one cause, and that what was seen of versions keeps them apart. */
#include <unistd.h>

#include "fuzz/triage/cause_join.h"
#include "tests/store/store_util.h"
#include "tests/test.h"

static const int64_t now = (int64_t)T0 * 1000;

#define LAYOUT(op) "torch:inductor: layout predicted wrong; aten." op

static const char facts[] = "{\"predicted\": {\"fake\": {\"size\": [2], \"stride\": [0]}, \"real\": {\"size\": [2], \"stride\": [1]}}}";

/* Finding n, seen before n + 1, with that cause. */
static struct hash128 put_caused(struct store *s, unsigned n, const char *cause, const char *cure)
{
	const struct hash128 run = put_run(s, 1), env = put_env_on(s, "2.11.0", "torch-2.11.0:inductor@cpu"), f = put_finding(s, n);
	put_obs_of(s, &f, n, &env, &run, now + n, "mismatch");
	if (cause[0])
		put_event(s, &f, now + 20, EVENT_CAUSE, cause);
	if (cure[0]) {
		put_event(s, &f, now + 20, EVENT_CURE, cure);
		EXPECT_INT(store_artifact(s, &f, "facts", now, facts, strlen(facts)), STORE_OK);
	}
	return f;
}

static void put_text(struct store *s, const struct hash128 *f, const char *name, const char *text)
{
	EXPECT_INT(store_artifact(s, f, name, now, text, strlen(text)), STORE_OK);
}

/* As `sweep --since --store` keeps it: "2.11.0 fails" and what 2.15.0 says. */
static void put_since(struct store *s, const struct hash128 *f, const char *program, const char *verdict)
{
	struct arena a;
	arena_init(&a);
	put_text(s, f, "since",
		arena_printf(&a,
			"{\"program\": \"%s\", \"versions\": [7, \"x\", {\"version\": \"2.11.0\", \"verdict\": \"fails\"}, {\"version\": \"2.15.0\", "
			"\"verdict\": \"%s\"}]}",
			program, verdict));
	arena_free(&a);
}

static const char *program_of(const struct hash128 *f)
{
	char hex[33];
	static char out[33], sql[128];
	hash_hex(hex, f);
	snprintf(sql, sizeof sql, "SELECT lower(hex(program)) FROM finding_summary WHERE lower(hex(finding)) = '%s'", hex);
	snprintf(out, sizeof out, "%s", sql_text(tmp_path("j.db"), sql));
	return out;
}

static const char *cause_of(const struct hash128 *f)
{
	char hex[33];
	static char sql[128];
	hash_hex(hex, f);
	snprintf(sql, sizeof sql, "SELECT cause FROM finding_summary WHERE lower(hex(finding)) = '%s'", hex);
	return sql_text(tmp_path("j.db"), sql);
}

static struct store *begin(void)
{
	unlink(tmp_path("j.db"));
	return open_ok(tmp_path("j.db"), STORE_CREATE);
}

static int settled(struct store *s, const char *finding)
{
	int n;
	EXPECT_INT(cause_settle(&n, s, finding, "test"), STORE_OK);
	return n;
}

/* A store that was triaged before there were keys: the earliest finding's text becomes the cause's, and each keeps its own. */
static void test_joins(void)
{
	struct store *s = begin();
	int would;
	const struct hash128 slice = put_caused(s, 1, LAYOUT("slice_scatter"), "probe.clone=bw:aten.slice_scatter.default"),
						 select = put_caused(s, 2, LAYOUT("select_scatter"), "probe.clone=fw:aten.select_scatter.default"),
						 other = put_caused(s, 3, "torch:inductor: value, wrong; argmin; strided", ""),
						 plain = put_caused(s, 4, "torch:inductor: value, wrong; argmin", "");
	EXPECT_INT(cause_settle(&would, s, "", NULL), STORE_OK);
	EXPECT_INT(would, 2);
	EXPECT_STR(cause_of(&select), LAYOUT("select_scatter")); /* nothing is written */
	EXPECT_INT(settled(s, ""), 2);
	EXPECT_STR(cause_of(&slice), LAYOUT("slice_scatter"));
	EXPECT_STR(cause_of(&select), LAYOUT("slice_scatter"));
	EXPECT_STR(cause_of(&plain), cause_of(&other));
	EXPECT_STR(sql_text(tmp_path("j.db"),
				   "SELECT group_concat(cast(bytes AS TEXT), '|') FROM (SELECT * FROM artifact WHERE name = 'variant' "
				   "ORDER BY bytes)"),
		LAYOUT("select_scatter") "|torch:inductor: value, wrong; argmin");
	EXPECT_INT(settled(s, ""), 0); /* it stays so */
	EXPECT_INT(store_close(s, NULL), STORE_OK);
}

/* Other stage, other cure, no facts, other operator. */
static void test_stays_apart(void)
{
	struct store *s = begin();
	put_caused(s, 1, LAYOUT("slice_scatter"), "probe.clone=bw:aten.slice_scatter.default");
	put_caused(s, 2, LAYOUT("select_scatter"), "probe.fallback=aten.select_scatter.default");
	put_caused(s, 3, "torch:aot_eager: layout predicted wrong; aten.diagonal_scatter", "probe.clone=bw:aten.diagonal_scatter.default");
	put_caused(s, 4, LAYOUT("as_strided_scatter"), "");
	put_caused(s, 5, LAYOUT("index_put"), "probe.clone=bw:aten.index_put.default");
	put_caused(s, 6, "", "");
	EXPECT_INT(settled(s, ""), 0);
	EXPECT_INT(sql_int(tmp_path("j.db"), "SELECT count(DISTINCT cause) FROM finding_summary"), 6);
	EXPECT_INT(store_close(s, NULL), STORE_OK);
}

/* Versions that `sweep --since` stored tell findings apart, even of one text. */
static void test_versions(void)
{
	struct store *s = begin();
	const struct hash128 one = put_caused(s, 1, "torch:inductor: value, wrong; argmin", ""),
						 two = put_caused(s, 2, "torch:inductor: value, wrong; argmin; strided", ""),
						 three = put_caused(s, 3, "torch:inductor: value, wrong; argmin", ""),
						 four = put_caused(s, 4, "torch:inductor: value, wrong; argmin", "");
	char hex[33];
	put_since(s, &one, program_of(&one), "passes");
	put_since(s, &two, program_of(&two), "fails");
	put_since(s, &three, program_of(&three), "fails");
	put_since(s, &four, program_of(&four), "cannot tell"); /* on 2.15.0 */
	hash_hex(hex, &three);
	EXPECT_INT(settled(s, hex), 1); /* that one alone */
	EXPECT_STR(cause_of(&three), "torch:inductor: value, wrong; argmin; strided");
	EXPECT_INT(settled(s, ""), 0);
	EXPECT_STR(cause_of(&one), "torch:inductor: value, wrong; argmin");
	EXPECT_STR(cause_of(&two), "torch:inductor: value, wrong; argmin; strided");
	EXPECT_STR(cause_of(&four), "torch:inductor: value, wrong; argmin");

	put_text(s, &four, "matrix", "nonsense");
	EXPECT_INT(settled(s, ""), 0);
	EXPECT_INT(store_close(s, NULL), STORE_OK);
}

/* Of one text, where no other cause is there: it is told apart by its versions. Of another program than the present one nothing counts. */
static void test_one_text(void)
{
	struct store *s = begin();
	const struct hash128 one = put_caused(s, 1, "torch:inductor: value, wrong; argmin", ""),
						 two = put_caused(s, 2, "torch:inductor: value, wrong; argmin", ""),
						 three = put_caused(s, 3, "torch:inductor: value, wrong; argmin", "");
	char own[33];
	snprintf(own, sizeof own, "%s", program_of(&two));
	put_since(s, &one, program_of(&one), "passes");
	put_since(s, &three, own, "fails"); /* of two's program */
	EXPECT_INT(settled(s, ""), 0);
	struct arena a;
	arena_init(&a);
	put_text(s, &two, "matrix",
		arena_printf(&a,
			"{\"program\": \"%s\", \"cells\": [{\"stage\": \"torch:eager@cpu\", \"version\": \"2.15.0\", \"answer\": \"passes\"}, "
			"{\"stage\": \"torch:inductor@cpu\", \"version\": \"2.11.0\", \"answer\": \"fails\"}, "
			"{\"stage\": \"torch:inductor@cpu\", \"version\": \"2.15.0\", \"answer\": \"fails\"}]}",
			own));
	arena_free(&a);
	EXPECT_INT(settled(s, ""), 1);
	EXPECT_STR(cause_of(&two), "torch:inductor: value, wrong; argmin; fails on 2.11.0, 2.15.0");
	EXPECT_STR(cause_of(&one), "torch:inductor: value, wrong; argmin");
	EXPECT_STR(cause_of(&three), "torch:inductor: value, wrong; argmin");
	EXPECT_INT(settled(s, ""), 0);
	EXPECT_INT(store_close(s, NULL), STORE_OK);
}

/* What blame asks: a finding that has no cause yet. */
static void test_new(void)
{
	struct store *s = begin();
	const struct hash128 old = put_caused(s, 1, LAYOUT("slice_scatter"), "probe.clone=bw:aten.slice_scatter.default"),
						 f = put_caused(s, 2, "", "");
	const struct cause_evidence e = {"gradient", "probe.clone=bw:aten.diagonal_scatter.default",
		"{\"fake\": {\"size\": [2], \"stride\": [0]}, \"real\": {\"size\": [2], \"stride\": [1]}}"};
	struct arena a;
	struct cause_join *j;
	char hex[33];
	arena_init(&a);
	hash_hex(hex, &f);
	EXPECT_INT(cause_join_load(&j, s, hex, &a), STORE_OK);
	EXPECT_STR(cause_join_of(j, hex, LAYOUT("diagonal_scatter"), &e), LAYOUT("slice_scatter"));
	EXPECT_STR(cause_join_of(j, hex, "torch:inductor: value, wrong; argmin", &e), "torch:inductor: value, wrong; argmin");
	EXPECT(cause_join_fits(j, hex, LAYOUT("slice_scatter")), "no version is known");
	put_since(s, &old, program_of(&old), "passes");
	put_since(s, &f, program_of(&f), "fails");
	EXPECT_INT(cause_join_load(&j, s, hex, &a), STORE_OK);
	EXPECT(!cause_join_fits(j, hex, LAYOUT("slice_scatter")), "they differ on 2.15.0");
	EXPECT_STR(cause_join_of(j, hex, LAYOUT("diagonal_scatter"), &e), LAYOUT("diagonal_scatter"));
	EXPECT_INT(store_close(s, NULL), STORE_OK);
	arena_free(&a);
}

int main(void)
{
	RUN(test_joins);
	RUN(test_stays_apart);
	RUN(test_versions);
	RUN(test_one_text);
	RUN(test_new);
	return TEST_END();
}
