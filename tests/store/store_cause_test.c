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

/* ---- the same in SQL ----------------------------------------------------------------------------------------------------------------- */

/* Findings enough that causes differ in all that orders them, and in whatever decides which finding represents one. */
static void make_many(const char *path)
{
	static const char *const severity[] = {"high", "normal", "trivial", "no word"}, *const state[] = {"known", "dismissed", "candidate"};
	struct store *s = open_ok(path, STORE_CREATE);
	const struct hash128 run = put_run(s, 1), env = put_env(s, 1), other = put_env_on(s, "2.15.0", "torch-2.15.0:aot_eager@cpu");
	uint32_t x = 1;
	for (unsigned n = 1; n <= 200; n++) {
		char cause[64];
		const struct hash128 f = put_finding(s, n);
		x = x * 1664525 + 1013904223;
		for (unsigned k = 0; k <= (x >> 8) % 3; k++)
			put_obs_of(s, &f, n, k % 2 ? &other : &env, &run, now + (x >> 12) % 4 + k, "mismatch");
		if ((x >> 16) % 4)
			put_event(s, &f, now + 10, EVENT_SEVERITY, severity[(x >> 18) % ARRAY_LEN(severity)]);
		snprintf(cause, sizeof cause, (x >> 9) % 8 ? "torch:inductor: value, wrong; %u" : "gradient; NOT triaged; %u", (x >> 20) % 15);
		if ((x >> 22) % 5)
			put_event(s, &f, now + 20, EVENT_CAUSE, cause);
		if ((x >> 24) % 4 == 0)
			put_event(s, &f, now + 20, EVENT_REACH, (x >> 26) % 2 ? "aten" : "function");
		if ((x >> 27) % 3 == 0)
			put_event(s, &f, now + 25, EVENT_MINIMISED, "");
		if ((x >> 29) < 3)
			put_event(s, &f, now + 30, EVENT_STATE, state[x >> 29]);
	}
	EXPECT_INT(store_close(s, NULL), STORE_OK);
}

struct same {
	const struct store_causes *all;
	struct arena *a;
	int n;
};

static const char same_sql[] = "select cause, full_id, severity, reach, first_seen, last_seen, states, targets, numbers, nfindings, nobs, "
							   "open, number from v_causes order by place";

static const char *words(const char *const *word, int n, struct arena *a)
{
	const char *text = "";
	for (int i = 0; i < n; i++)
		text = arena_printf(a, "%s%s%s", text, i ? " " : "", word[i]);
	return text;
}

static bool is_same(void *ctx, int ncols, const char *const *names, const struct store_value *v)
{
	struct same *x = ctx;
	enum finding_severity severity = SEVERITY_NORMAL;
	(void)ncols, (void)names;
	if (!v)
		return true;
	EXPECT(x->n < x->all->n, "v_causes has more than %d causes", x->all->n);
	if (x->n >= x->all->n)
		return false;
	const struct store_cause *c = &x->all->cause[x->n++];
	const char *without = strstr(v[0].s, "; not triaged; ");
	finding_severity_find(&severity, v[2].s);
	EXPECT_STR(c->text, without ? without + strlen("; not triaged; ") : v[0].s);
	EXPECT_INT(c->triaged, !without);
	EXPECT_STR(c->full_id, v[1].s);
	EXPECT_INT(c->severity, severity);
	EXPECT_STR(c->reach, v[3].s);
	EXPECT_STR(c->first_seen, v[4].s);
	EXPECT_STR(c->last_seen, v[5].s);
	EXPECT_STR(words(c->states, c->nids, x->a), v[6].s);
	EXPECT_STR(words(c->targets, c->nids, x->a), v[7].s);
	const char *numbers = "";
	for (int i = 0; i < c->nids; i++)
		numbers = arena_printf(x->a, "%s%s%d", numbers, i ? " " : "", c->numbers[i]);
	EXPECT_STR(numbers, v[8].s);
	EXPECT_INT(c->nfindings, v[9].i);
	EXPECT_INT(c->nobs, v[10].i);
	EXPECT_INT(c->open, v[11].i);
	EXPECT_INT(c->number, v[12].i);
	return true;
}

static void test_same_as_view(void)
{
	struct arena a;
	struct store_causes all, listed;
	arena_init(&a);
	make_many(tmp_path("many.db"));
	struct store *s = open_ok(tmp_path("many.db"), STORE_READ);
	EXPECT_INT(store_causes(&all, s, &a), STORE_OK);
	EXPECT(all.n > 40, "%d causes", all.n);
	struct same x = {&all, &a, 0};
	EXPECT_INT(store_query_sql(s, same_sql, NULL, is_same, &x), STORE_OK);
	EXPECT_INT(x.n, all.n);
	EXPECT_INT(store_causes_listed(&listed, s, &a), STORE_OK);
	x = (struct same){&listed, &a, 0};
	EXPECT_INT(store_query_sql(s, same_sql, NULL, is_same, &x), STORE_OK);
	store_close(s, NULL);
	arena_free(&a);
}

/* ---- words --------------------------------------------------------------------------------------------------------------------------- */

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
	RUN(test_same_as_view);
	RUN(test_words);
	RUN(test_json_doc);
	RUN(test_json_numbers);
	RUN(test_no_json);
	return TEST_END();
}
