/* ratio_law.c: each rule has one whole number c, which one point gives and all others must agree with. */
#include "fuzz/triage/ratio_law.h"

#include <math.h>

struct rule {
	double (*ratio)(double n, double c), (*solve)(double n, double ratio);
	const char *text; /* of c */
};

static double part_gone(double n, double c) { return n / (n - c); }
static double part_gone_of(double n, double r) { return n * (1 - 1 / r); }
static double rest_gone(double n, double c) { return c / (c - n); }
static double rest_gone_of(double n, double r) { return n * r / (r - 1); }
static double part_left(double n, double c) { return (n - c) / n; }
static double part_left_of(double n, double r) { return n * (1 - r); }
static double rest_left(double n, double c) { return (c - n) / c; }
static double rest_left_of(double n, double r) { return n / (1 - r); }
static double grows(double n, double c) { return n / c; }
static double grows_of(double n, double r) { return n / r; }
static double falls(double n, double c) { return c / n; }
static double falls_of(double n, double r) { return r * n; }

static const struct rule rules[] = {
	{part_gone, part_gone_of, "n/(n - %g)"},
	{rest_gone, rest_gone_of, "%g/(%g - n)"},
	{part_left, part_left_of, "(n - %g)/n"},
	{rest_left, rest_left_of, "(%g - n)/%g"},
	{grows, grows_of, "n/%g"},
	{falls, falls_of, "%g/n"},
};

static bool agrees(const struct ratio_point *p, double want)
{
	return isfinite(want) && fabs(p->ratio - want) <= fmax(p->within, 1e-6 * fabs(want));
}

static bool same_everywhere(const struct ratio_point *p, int n)
{
	for (int i = 1; i < n; i++)
		if (fabs(p[i].ratio - p[0].ratio) > fmax(p[i].within + p[0].within, 1e-6 * fabs(p[0].ratio)))
			return false;
	return true;
}

/* The point that knows its ratio best. */
static const struct ratio_point *sharpest(const struct ratio_point *p, int n)
{
	const struct ratio_point *best = p;
	for (int i = 1; i < n; i++)
		best = p[i].within < best->within ? &p[i] : best;
	return best;
}

/* With the digits that are known; as a fraction of small numbers, too, if it is known well enough for that to be no chance. */
static const char *number_text(const struct ratio_point *p, struct arena *a)
{
	for (int q = 2; q <= 64 && p->within < 1e-5 && fabs(p->ratio) < 1e3; q++) {
		double up = round(p->ratio * q);
		if (p->ratio == round(p->ratio) || fabs(p->ratio - up / q) > fmax(p->within, 1e-6))
			continue;
		return arena_printf(a, "%.6g = %g/%d", p->ratio, up, q);
	}
	double digits = p->within > 0 && p->ratio != 0 ? floor(log10(fabs(p->ratio) / p->within)) : 6;
	return arena_printf(a, "%.*g", (int)fmin(fmax(digits, 2), 6), p->ratio);
}

const char *ratio_law(const struct ratio_point *p, int n, struct arena *a)
{
	if (n < 2)
		return NULL;
	if (same_everywhere(p, n))
		return number_text(sharpest(p, n), a);
	for (int k = 0; k < ARRAY_LEN(rules) && !isnan(p[0].n); k++) {
		double c = round(rules[k].solve(sharpest(p, n)->n, sharpest(p, n)->ratio));
		bool holds = isfinite(c) && c != 0;
		for (int i = 0; i < n && holds; i++)
			holds = agrees(&p[i], rules[k].ratio(p[i].n, c));
		if (holds)
			return arena_printf(a, rules[k].text, c, c);
	}
	return NULL;
}
