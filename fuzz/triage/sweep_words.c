/* sweep_words.c: what a whole series says, in one line. */
#include <math.h>

#include "fuzz/triage/ratio_law.h"
#include "fuzz/triage/sweep.h"

static const struct {
	const char *on, *values;
} words[NSWEEP_AXES] = {
#define AXIS(id, name, on, values) {on, values},
	SWEEP_AXES(AXIS)
#undef AXIS
};

static int count(const struct sweep_series *s, enum sweep_answer answer)
{
	int n = 0;
	for (int i = 0; i < s->n; i++)
		n += s->row[i].answer == answer;
	return n;
}

/* "1, 2, 64 and 7 more". */
static void put_values(struct strbuf *sb, const struct sweep_series *s, enum sweep_answer answer)
{
	enum { MOST = 6 };
	int all = count(s, answer), n = 0;
	for (int i = 0; i < s->n; i++) {
		if (s->row[i].answer != answer || n == MOST)
			continue;
		sb_printf(sb, "%s%s", n ? ", " : "", s->row[i].value);
		n++;
	}
	if (all > n)
		sb_printf(sb, " and %d more", all - n);
}

/* The ratios of what fails; without rows in which positions moved if there are enough others. */
static int ratio_points(struct ratio_point *out, const struct sweep_series *s, bool moved)
{
	int n = 0;
	for (int i = 0; i < s->n; i++) {
		const struct sweep_row *r = &s->row[i];
		if (r->answer == SWEEP_FAILS && !isnan(r->ratio) && (moved || !r->moved))
			out[n++] = (struct ratio_point){r->number, r->ratio, r->within};
	}
	return n;
}

const char *sweep_law(bool *some, const struct sweep_series *s, struct arena *a)
{
	struct ratio_point point[MAX_SWEEP_ROWS];
	int n = ratio_points(point, s, false), all = ratio_points(point, s, true);
	const char *law = ratio_law(point, all, a);
	*some = !law && n < all;
	return *some ? ratio_law(point, ratio_points(point, s, false), a) : law;
}

static void put_law(struct strbuf *sb, const struct sweep_series *s, struct arena *a)
{
	bool some;
	const char *law = sweep_law(&some, s, a);
	if (law)
		sb_printf(sb, "; the ratio is %s%s", law, some ? " where no positions moved" : "");
}

const char *sweep_summary(const struct sweep_series *s, struct arena *a)
{
	static const char *const verb[NSWEEP_ANSWERS] = {"fails", "fails in another way", "passes", "cannot be told"};
	struct strbuf sb;
	int fails = count(s, SWEEP_FAILS);
	const char *on = words[s->axis].on, *values = words[s->axis].values;
	sb_init(&sb);
	if (s->n > 1 && fails == s->n)
		sb_printf(&sb, "fails %s all %d %s", on, fails, values);
	else if (fails > 4)
		sb_printf(&sb, "fails %s %d of %d %s", on, fails, s->n, values);
	for (int k = 0; k < NSWEEP_ANSWERS; k++) {
		if (!count(s, (enum sweep_answer)k) || (k == SWEEP_FAILS && sb.len))
			continue;
		sb_printf(&sb, "%s%s %s ", sb.len ? "; " : "", verb[k], on);
		put_values(&sb, s, (enum sweep_answer)k);
	}
	put_law(&sb, s, a);
	if (s->left)
		sb_printf(&sb, "%s%d not tried any more", sb.len ? "; " : "", s->left);
	if (s->bound[0])
		sb_printf(&sb, "%s%s", sb.len ? "; " : "", s->bound);
	const char *text = arena_strdup(a, sb.s);
	sb_free(&sb);
	return text;
}

/* Rows from `from` on with the same answer. */
static int run_length(const struct sweep_series *s, int from)
{
	int to = from;
	while (to < s->n && s->row[to].answer == s->row[from].answer)
		to++;
	return to - from;
}

const char *sweep_since(const struct sweep_series *s, struct arena *a)
{
	static const char *const verb[NSWEEP_ANSWERS] = {"fails", "fails in another way", "right", "cannot be told"};
	struct strbuf sb;
	sb_init(&sb);
	for (int i = 0, n; i < s->n; i += n) {
		n = run_length(s, i);
		const char *first = s->row[i].value, *last = s->row[i + n - 1].value;
		bool end = i + n == s->n, right = s->row[i].answer == SWEEP_PASSES;
		sb_printf(&sb, "%s%s ", i ? "; " : "", verb[s->row[i].answer]);
		if (end && i && right)
			sb_printf(&sb, "from %s on", first);
		else if (n == 1)
			sb_printf(&sb, "on %s%s", first, s->n == 1 ? " (the only one)" : !i ? " (first installed)" : end ? " (last installed)" : "");
		else
			sb_printf(&sb, "from %s%s to %s%s", first, i ? "" : " (first installed)", last, end ? " (last installed)" : "");
		if (s->row[i].answer == SWEEP_OPEN)
			sb_printf(&sb, " (%s)", s->row[i].why);
	}
	if (s->left)
		sb_printf(&sb, "; %d not tried any more", s->left);
	const char *text = arena_strdup(a, sb.s);
	sb_free(&sb);
	return text;
}

bool sweep_agrees(const struct sweep_series *x, const struct sweep_series *y)
{
	for (int i = 0; i < x->n; i++)
		for (int k = 0; k < y->n; k++) {
			const enum sweep_answer a = x->row[i].answer, b = y->row[k].answer;
			if (str_eq(x->row[i].value, y->row[k].value) && a != SWEEP_OPEN && b != SWEEP_OPEN && (a == SWEEP_FAILS) != (b == SWEEP_FAILS))
				return false;
		}
	return true;
}
