/* sweep_json.c: series as JSON. Which versions there are the driver says: those that a series has no row of were not asked. */
#include "fuzz/triage/sweep_json.h"

#include <math.h>

#include "compiled/targets/driver.h"

static void put_number(struct json *j, const char *key, double v)
{
	if (isfinite(v))
		json_double(j, key, v);
	else
		json_string(j, key, isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
}

void sweep_json_begin(struct json *j, int schema, const struct target *t, const char *program, struct arena *a)
{
	json_object(j, NULL);
	json_int(j, "schema", schema);
	json_string(j, "target", target_text(t, a));
	json_string(j, "program", program);
}

static void put_row(struct json *j, const struct sweep_row *r, struct arena *a)
{
	json_object(j, NULL);
	json_string(j, "value", r->value);
	json_string(j, "answer", sweep_answer_name[r->answer]);
	json_string(j, "verdict", r->verdict);
	if (r->why[0])
		json_string(j, "why", r->why);
	if (r->at[0]) {
		const struct sample *e = &r->element;
		json_string(j, "wrong", arena_printf(a, "%s%s", r->tensor, r->at));
		put_number(j, "expected", e->low == e->high ? e->low : e->low / 2 + e->high / 2);
		put_number(j, "got", e->got);
		if (isfinite(r->ratio))
			put_number(j, "ratio", r->ratio);
	}
	if (r->moved)
		json_bool(j, "moved", true);
	json_end(j);
}

void sweep_json_series(struct json *j, const struct sweep_series *s, struct arena *a)
{
	bool some;
	const char *law = sweep_law(&some, s, a);
	json_object(j, NULL);
	json_string(j, "axis", s->name);
	json_array(j, "rows");
	for (int i = 0; i < s->n; i++)
		put_row(j, &s->row[i], a);
	json_end(j);
	if (s->left)
		json_int(j, "left", s->left);
	if (law)
		json_string(j, "law", law);
	json_string(j, "summary", sweep_summary(s, a));
	json_end(j);
}

/* ---- versions ------------------------------------------------------------------------------------------------------------------------ */

static void put_version(struct json *j, const char *version, const char *verdict, const char *why)
{
	json_object(j, NULL);
	json_string(j, "version", version);
	json_string(j, "verdict", verdict);
	if (why[0])
		json_string(j, "why", why);
	json_end(j);
}

static void put_answer(struct json *j, const struct sweep_row *r)
{
	static const char *const word[NSWEEP_ANSWERS] = {
		[SWEEP_FAILS] = "fails", [SWEEP_OTHERWISE] = "cannot tell", [SWEEP_PASSES] = "passes", [SWEEP_OPEN] = "cannot tell"};
	put_version(j, r->value, word[r->answer], r->answer == SWEEP_OTHERWISE ? "it fails in another way" : r->why);
}

static void put_unasked(struct json *j, const struct sweep_series *s, const struct target *t, struct arena *a)
{
	struct target_installed *there = NULL;
	const int n = s->left && t->driver->installed ? t->driver->installed(&there, a) : 0;
	for (int i = 0; i < n; i++) {
		bool asked = false;
		for (int k = 0; k < s->n; k++)
			asked = asked || str_eq(s->row[k].value, there[i].version);
		if (!asked)
			put_version(j, there[i].version, "not asked", "");
	}
}

const char *since_json(const struct sweep_series *s, const struct target *t, const char *program, struct arena *a)
{
	const char *first_bad = NULL, *last_bad = NULL, *first_good = NULL;
	struct strbuf sb;
	sb_init(&sb);
	struct json j = json_into(&sb, JSON_SPACED);
	sweep_json_begin(&j, SINCE_SCHEMA, t, program, a);
	json_array(&j, "versions");
	for (int i = 0; i < s->n; i++) {
		const struct sweep_row *r = &s->row[i];
		put_answer(&j, r);
		if (r->answer == SWEEP_FAILS) {
			first_bad = first_bad ? first_bad : r->value;
			last_bad = r->value;
			first_good = NULL;
		} else if (r->answer == SWEEP_PASSES && last_bad && !first_good) {
			first_good = r->value;
		}
	}
	put_unasked(&j, s, t, a);
	json_end(&j);
	if (first_bad) {
		json_string(&j, "first_bad", first_bad);
		json_string(&j, "last_bad", last_bad);
	}
	if (first_good)
		json_string(&j, "first_good", first_good);
	json_end(&j);
	const char *text = arena_strdup(a, sb.s);
	sb_free(&sb);
	return text;
}
