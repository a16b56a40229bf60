/* store_cause_test.c: the causes of a store: their order, their numbers, the words that name them; and the reader of artifacts' JSON. */
#include "reports/cause/json_doc.h"
#include "reports/cause/store_cause.h"
#include "tests/store/store_util.h"
#include "tests/test.h"

static const int64_t now = (int64_t)T0 * 1000;

/* Findings 1 to 4: 1 and 2 have one cause, 3 has one that only the overload reaches, 4 has none yet; 3 is dismissed if `decided`. */
static void make_causes(const char *path, bool decided)
{
	struct store *s = open_ok(path, STORE_CREATE);
	const struct hash128 run = put_run(s, 1), env = put_env(s, 1);
	for (unsigned n = 1; n <= 4; n++) {
		const struct hash128 f = put_finding(s, n);
		put_obs_of(s, &f, n, &env, &run, now + n, "mismatch");
		put_event(s, &f, now + 10, EVENT_SEVERITY, n == 4 ? "trivial" : "high");
		if (n < 4)
			put_event(s, &f, now + 20, EVENT_CAUSE, n == 3 ? "torch:inductor: gradient, wrong; add" : "torch:inductor: value, wrong; mul");
		if (n == 3)
			put_event(s, &f, now + 20, EVENT_REACH, "aten");
		if (n == 3 && decided)
			put_event(s, &f, now + 30, EVENT_STATE, "dismissed");
	}
	EXPECT_INT(store_close(s, NULL), STORE_OK);
}

static void test_order(void)
{
	struct arena a;
	struct store_causes all;
	arena_init(&a);
	make_causes(tmp_path("order.db"), false);
	struct store *s = open_ok(tmp_path("order.db"), STORE_READ);
	EXPECT_INT(store_causes(&all, s, &a), STORE_OK);
	EXPECT_INT(all.n, 3);
	static const int number[] = {1, 3, 4}; /* of the findings that were seen first */
	for (int i = 0; i < all.n; i++)
		EXPECT_INT(all.cause[i].number, number[i]);
	EXPECT_STR(all.cause[0].text, "torch:inductor: value, wrong; mul");
	EXPECT_INT(all.cause[0].nfindings, 2);
	EXPECT_INT(all.cause[0].nids, 2);
	EXPECT_INT(all.cause[0].nobs, 2);
	EXPECT_STR(all.cause[1].reach, "aten");
	EXPECT(all.cause[0].triaged && !all.cause[2].triaged, "one that triage has not had is a cause of its own");
	EXPECT(!strstr(all.cause[2].text, "not triaged"), "'%s'", all.cause[2].text);
	EXPECT_INT(all.cause[2].severity, SEVERITY_TRIVIAL);
	EXPECT_INT(strlen(all.cause[0].id), STORE_ID_DIGITS);
	store_close(s, NULL);
	arena_free(&a);
}

/* Findings of one cause come in the order in which they were seen, whatever the order in which they were written. */
static void test_findings_in_order(void)
{
	static const unsigned written[] = {3, 1, 4, 2};
	static const char *const state[] = {"known", "dismissed", "known", "blamed"};
	struct arena a;
	struct store_causes all;
	arena_init(&a);
	struct store *s = open_ok(tmp_path("members.db"), STORE_CREATE);
	const struct hash128 run = put_run(s, 1), env = put_env(s, 1);
	for (int i = 0; i < ARRAY_LEN(written); i++) {
		const unsigned n = written[i];
		const struct hash128 f = put_finding(s, n);
		put_obs_of(s, &f, n, &env, &run, now - 1000 + n, "mismatch");
		put_event(s, &f, now + 20, EVENT_CAUSE, "torch:inductor: value, wrong; mul");
		put_event(s, &f, now + 30, EVENT_STATE, state[n - 1]);
	}
	EXPECT_INT(store_causes(&all, s, &a), STORE_OK);
	EXPECT_INT(all.n, 1);
	EXPECT_INT(all.cause[0].nids, ARRAY_LEN(written));
	EXPECT_INT(all.cause[0].nvariants, 0);
	for (int i = 0; i < all.cause[0].nids; i++) {
		EXPECT_STR(all.cause[0].states[i], state[i]);
		EXPECT_INT(all.cause[0].numbers[i], i + 1);
	}
	store_close(s, NULL);
	arena_free(&a);
}

static void test_closed_last(void)
{
	struct arena a;
	struct store_causes all;
	arena_init(&a);
	make_causes(tmp_path("closed.db"), true);
	struct store *s = open_ok(tmp_path("closed.db"), STORE_READ);
	EXPECT_INT(store_causes(&all, s, &a), STORE_OK);
	EXPECT_INT(all.n, 3);
	EXPECT(
		all.cause[0].open && all.cause[1].open && !all.cause[2].open, "what is decided stands behind what is open, whatever its severity");
	EXPECT_STR(all.cause[2].states[0], "dismissed");
	EXPECT_INT(all.cause[2].number, 3); /* as before it was decided about */
	store_close(s, NULL);
	arena_free(&a);
}

static void test_words(void)
{
	struct arena a;
	struct store_causes all;
	struct strbuf complaint;
	struct hash128 id;
	char hex[33];
	arena_init(&a);
	sb_init(&complaint);
	make_causes(tmp_path("words.db"), false);
	struct store *s = open_ok(tmp_path("words.db"), STORE_READ);
	EXPECT_INT(store_causes(&all, s, &a), STORE_OK);
	EXPECT(store_causes_find(&all, "3", &complaint) == &all.cause[1], "a number");
	EXPECT(store_causes_find(&all, "1", &complaint) == &all.cause[0] && store_causes_find(&all, "2", &complaint) == &all.cause[0],
		"the number of any finding names its cause");
	for (int k = 0; k < all.cause[0].nids; k++)
		EXPECT(store_causes_find(&all, all.cause[0].ids[k], &complaint) == &all.cause[0], "any finding's id names its cause");
	EXPECT(store_causes_find(&all, all.cause[0].full_id, &complaint) == &all.cause[0], "a whole id");
	EXPECT(!complaint.len, "'%s'", complaint.s);
	EXPECT(!store_causes_find(&all, "5", &complaint), "there are four findings");
	EXPECT_STR(complaint.s, "no cause 5: numbers go from 1 to 4");
	EXPECT(!store_causes_find(&all, "0", &complaint) && !store_causes_find(&all, "abcde", &complaint), "five letters are no prefix");
	EXPECT(!store_causes_find(&all, "000000", &complaint), "six digits are a prefix, no number");
	EXPECT_INT(store_find_word(s, &id, "1", &a, &complaint), STORE_OK);
	hash_hex(hex, &id);
	EXPECT_STR(hex, all.cause[0].full_id);
	EXPECT_INT(store_find_word(s, &id, "9", &a, &complaint), STORE_BAD);
	store_close(s, NULL);
	sb_free(&complaint);
	arena_free(&a);
}

/* ---- JSON ---------------------------------------------------------------------------------------------------------------------------- */

static void test_json_doc(void)
{
	static const char text[] = "{\"schema\": 1, \"tensor\": {\"name\": \"x.grad\", \"size\": [2, 3]}, \"ladder\": [{\"stage\": \"eager\"}, "
							   "{\"stage\": \"</script>\\u202e\"}], \"got\": [\"nan\", null]}";
	struct arena a;
	struct strbuf sb;
	arena_init(&a);
	sb_init(&sb);
	struct json_doc *d = json_doc_open(text, strlen(text));
	EXPECT(!json_doc_empty(d), "it is JSON");
	EXPECT_STR(json_doc_text(d, &a, "$.tensor.name"), "x.grad");
	EXPECT_STR(json_doc_text(d, &a, "$.tensor.size"), "[2,3]");
	EXPECT_INT(json_doc_int(d, -1, "$.tensor.size[%d]", 1), 3);
	EXPECT_INT(json_doc_int(d, -1, "$.tensor.name"), -1);
	EXPECT_INT(json_doc_count(d, "$.ladder"), 2);
	EXPECT_INT(json_doc_count(d, "$.nothing"), 0);
	EXPECT_STR(json_doc_text(d, &a, "$.ladder[0].stage"), "eager");
	EXPECT(json_doc_has(d, "$.got[0]") && !json_doc_has(d, "$.got[1]") && !json_doc_has(d, "$.got[2]"), "null is as if it were not there");
	json_doc_embed(&sb, d);
	EXPECT(!strchr(sb.s, '<') && !strchr(sb.s, '>'), "nothing that a page takes for markup: %s", sb.s);
	struct json_doc *again = json_doc_open(sb.s, sb.len);
	EXPECT_STR(json_doc_text(again, &a, "$.ladder[1].stage"), json_doc_text(d, &a, "$.ladder[1].stage"));
	json_doc_close(again);
	json_doc_close(d);
	sb_free(&sb);
	arena_free(&a);
}

/* Numbers keep their digits; long arrays are cut. */
static void test_json_numbers(void)
{
	struct arena a;
	struct strbuf sb;
	arena_init(&a);
	sb_init(&sb);
	sb_puts(&sb, "{\"v\": [0.30000000000000004, -1.3271604818827087e-08, 12], \"long\": [0");
	for (int i = 0; i < 2 * JSON_DOC_MOST_ELEMENTS; i++)
		sb_puts(&sb, ",0");
	sb_puts(&sb, "]}");
	struct json_doc *d = json_doc_open(sb.s, sb.len);
	EXPECT_STR(json_doc_text(d, &a, "$.v[0]"), "0.30000000000000004");
	EXPECT_STR(json_doc_text(d, &a, "$.v[1]"), "-1.3271604818827087e-08");
	EXPECT_STR(json_doc_text(d, &a, "$.v[2]"), "12");
	EXPECT_INT(json_doc_count(d, "$.long"), JSON_DOC_MOST_ELEMENTS);
	json_doc_close(d);
	sb_free(&sb);
	arena_free(&a);
}

static void test_no_json(void)
{
	static char huge[JSON_DOC_MOST_BYTES + 2];
	memset(huge, ' ', sizeof huge - 1);
	huge[0] = '1';
	const char *const texts[] = {huge, "", "{", "{\"a\": 1", "nonsense", "{\"a\": \"\xff\"}"};
	struct arena a;
	arena_init(&a);
	for (int i = 0; i < ARRAY_LEN(texts); i++) {
		struct strbuf sb;
		sb_init(&sb);
		struct json_doc *d = json_doc_open(texts[i], strlen(texts[i]));
		json_doc_embed(&sb, d);
		EXPECT(json_doc_empty(d), "'%.40s'", texts[i]);
		EXPECT_STR(json_doc_text(d, &a, "$.a"), "");
		EXPECT_STR(sb.s, "null");
		json_doc_close(d);
		sb_free(&sb);
	}
	arena_free(&a);
}

int main(void)
{
	RUN(test_order);
	RUN(test_findings_in_order);
	RUN(test_closed_last);
	RUN(test_words);
	RUN(test_json_doc);
	RUN(test_json_numbers);
	RUN(test_no_json);
	return TEST_END();
}
