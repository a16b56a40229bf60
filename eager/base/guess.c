/* guess.c: see guess.h. */
#include "eager/base/guess.h"

enum { LONGEST = 64 };

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

/* Optimal string alignment: the rows of the table for the last three letters of a are enough. */
static int distance(const char *a, const char *b)
{
	int row[3][LONGEST + 1];
	int na = (int)strnlen(a, LONGEST), nb = (int)strnlen(b, LONGEST);
	for (int j = 0; j <= nb; j++)
		row[0][j] = j;
	for (int i = 1; i <= na; i++) {
		int *now = row[i % 3], *before = row[(i + 2) % 3], *earlier = row[(i + 1) % 3];
		now[0] = i;
		for (int j = 1; j <= nb; j++) {
			char x = lower(a[i - 1]), y = lower(b[j - 1]);
			bool swapped = i > 1 && j > 1 && x == lower(b[j - 2]) && y == lower(a[i - 2]);
			now[j] = MIN(MIN(before[j], now[j - 1]) + 1, before[j - 1] + (x != y));
			if (swapped)
				now[j] = MIN(now[j], earlier[j - 2] + 1);
		}
	}
	return row[na % 3][nb];
}

void guess_start(struct guess *g, const char *given, size_t len)
{
	*g = (struct guess){.distance = LONGEST};
	snprintf(g->given, sizeof g->given, "%.*s", (int)MIN(len, sizeof g->given - 1), given);
}

void guess_add(struct guess *g, const char *name, size_t len)
{
	char known[sizeof g->best];
	snprintf(known, sizeof known, "%.*s", (int)MIN(len, sizeof known - 1), name);
	int n = (int)strlen(g->given), d = distance(g->given, known);
	if (n >= 3 && str_starts(known, g->given))
		d = 1;
	if (d < g->distance && d <= MAX(n / 3, 1) && d < n) {
		memcpy(g->best, known, sizeof known);
		g->distance = d;
	}
}

const char *guess_text(struct guess *g)
{
	g->text[0] = 0;
	if (g->best[0])
		snprintf(g->text, sizeof g->text, "; did you mean '%.50s'?", g->best);
	return g->text;
}

const char *guess_from(struct guess *g, const char *given, const char *const *first, size_t stride, int n)
{
	guess_start(g, given, strlen(given));
	for (int i = 0; i < n; i++) {
		const char *name = *(const char *const *)(const void *)((const char *)first + (size_t)i * stride);
		guess_add(g, name, strlen(name));
	}
	return guess_text(g);
}
