/* bench_catch.c: tables of the catch rate (catch.h) and of how tight the reference is. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "eager/lang/prog.h"
#include "fuzz/cli/catch.h"
#include "fuzz/triage/profile.h"

/* ---- catch --------------------------------------------------------------------------------------------------------------------- */

static double percent(struct catch_count c) { return c.planted ? 100.0 * (double)c.flagged / (double)c.planted : NAN; }

static void add(struct catch_count *sum, struct catch_count c)
{
	sum->planted += c.planted;
	sum->flagged += c.flagged;
}

static void add_table(struct catch_table *sum, const struct catch_table *t)
{
	sum->programs += t->programs;
	sum->unjudged += t->unjudged;
	sum->diverged += t->diverged;
	for (int p = 0; p < NPLANTS; p++)
		for (int k = 0; k < NKNOWLEDGE; k++)
			add(&sum->count[p][k], t->count[p][k]);
}

static void show_table(const struct bench_table *tb, const char *what, const struct catch_table *t)
{
	struct catch_count four[NKNOWLEDGE] = {{0}}, all = {0};
	for (int p = 0; p < NPLANTS; p++) {
		struct catch_count s = catch_sum(t, (enum plant)p);
		char name[64];
		snprintf(name, sizeof name, "%s %s", what, plant_name[p]);
		table_row(tb, name,
			(double[]){(double)s.planted, (double)s.flagged, percent(s), percent(t->count[p][KNOWN_EXACT]),
				percent(t->count[p][KNOWN_ENCLOSED]), percent(t->count[p][KNOWN_WEAK]), percent(t->count[p][KNOWN_NOT]),
				(double)t->count[p][KNOWN_EXACT].planted, (double)(t->count[p][KNOWN_WEAK].planted), (double)t->count[p][KNOWN_NOT].planted,
				(double)t->idle[p]});
		for (int k = 0; p != PLANT_ULP && k < NKNOWLEDGE; k++) {
			add(&four[k], t->count[p][k]);
			add(&all, t->count[p][k]);
		}
	}
	char name[64];
	snprintf(name, sizeof name, "%s THE FIRST FOUR", what);
	table_row(tb, name,
		(double[]){(double)all.planted, (double)all.flagged, percent(all), percent(four[KNOWN_EXACT]), percent(four[KNOWN_ENCLOSED]),
			percent(four[KNOWN_WEAK]), percent(four[KNOWN_NOT]), (double)four[KNOWN_EXACT].planted, (double)four[KNOWN_WEAK].planted,
			(double)four[KNOWN_NOT].planted, NAN});
}

/* The first few plants that went unnoticed, with the operators of their programs. */
struct misses {
	const struct options *o;
	const char *what;
	int n, most;
};

static void show_miss(
	void *ctx, const struct prog *p, enum plant what, enum knowledge k, const char *tensor, const struct num *want, double got)
{
	static const char *const names[NKNOWLEDGE] = {"exact", "enclosed", "weak", "undecided"};
	struct misses *m = ctx;
	struct strbuf sb;
	if (m->n++ >= m->most)
		return;
	sb_init(&sb);
	for (int i = 0; i < p->nnode; i++)
		if (!node_is_source(&p->node[i]))
			sb_printf(&sb, " %s", op_info[p->node[i].op].name);
	bench_note(m->o, "    missed: %s, %s, %s %s: %.9g +- %.3g, planted %.9g; program:%s", m->what, plant_name[what], names[k], tensor,
		want->hi, want->rad, got, sb.s);
	sb_free(&sb);
}

bool bench_catch(const struct options *o, struct err *err)
{
	static const struct bench_column columns[] = {{"planted", 8, 0}, {"flagged", 8, 0}, {"%", 7, 2}, {"exact %", 8, 2},
		{"enclosed %", 10, 2}, {"weak %", 7, 1}, {"undecided %", 11, 1}, {"n exact", 8, 0}, {"n weak", 7, 0}, {"n undec", 8, 0},
		{"no place", 8, 0}};
	struct bench_table tb = {o, "catch", ARRAY_LEN(columns), columns};
	static const struct {
		const char *fill, *licence;
	} cases[] = {{"normal", "builtin:eager"}, {"dyadic", "builtin:eager"}, {"normal", "torch:inductor@cpu"}};
	struct arena a;
	bool ok = true;
	int64_t n = o->programs ? o->programs : 1000;
	arena_init(&a);
	for (int f = 0; ok && f < ARRAY_LEN(cases); f++) {
		char title[240];
		snprintf(title, sizeof title,
			"errors planted into results of builtin:eager, %s fills, licence of %s (goals: f32 >= 99 %%, f16 >= 95 %%, bf16 >= 85 %% of "
			"the first four"
			" on normal; exact 100 %%)",
			cases[f].fill, cases[f].licence);
		table_begin(&tb, title);
		struct catch_table sum = {0};
		for (int k = NDTYPES - 1; ok && k >= 0; k--) {
			if (!(DTS_FLOAT >> k & 1))
				continue;
			struct catch_table t = {0};
			char what[32];
			snprintf(what, sizeof what, "%s %s", dtype_info[k].name, cases[f].fill);
			struct catch_case c = {.arena = &a,
				.source = bench_source(o, dtype_info[k].name),
				.dtype = (enum dtype)k,
				.fill = cases[f].fill,
				.licence = cases[f].licence,
				.missed = show_miss,
				.ctx = &(struct misses){o, what, 0, f == 0 ? 3 : 0}};
			while (ok && t.programs < n)
				ok = catch_one(&t, &c, err);
			if (ok)
				show_table(&tb, what, &t);
			add_table(&sum, &t);
		}
		bench_note(o,
			"%" PRId64 " programs; %" PRId64 " not judged; %" PRId64 " whose own result was refused (must be 0 with its own licence)",
			sum.programs, sum.unjudged, sum.diverged);
	}
	arena_free(&a);
	return ok;
}

/* ---- tightness ------------------------------------------------------------------------------------------------------------------- */

/* Radii in ULP by binary exponent and sixteenth; elements of big tensors are sampled, so that one tensor does not decide. */
enum { BINS = 16 * 80, BIAS = 16 * 10, PER_TENSOR = 256 };
struct radii {
	int64_t n, bin[BINS];
};
struct shares {
	int64_t n, known[NKNOWLEDGE];
	struct radii part[2];
};

static void add_radius(struct radii *r, const struct num *v, enum dtype t)
{
	double ulp = 2 * num_half_ulp(&num_format[t], fabs(v->hi));
	int b = (int)floor(16 * log2(v->rad / ulp)) + BIAS;
	r->bin[MAX(0, MIN(b, BINS - 1))]++;
	r->n++;
}

static double quantile(const struct radii *r, double q)
{
	int64_t want = (int64_t)ceil(q * (double)r->n), seen = 0;
	for (int b = 0; b < BINS; b++) {
		seen += r->bin[b];
		if (r->n && seen >= want)
			return exp2((b - BIAS + 0.5) / 16);
	}
	return NAN;
}

static void add_value(struct shares *s, const struct ref_value *v, enum dtype t, bool grad)
{
	if (!v->present || v->meta.dtype != t)
		return;
	int64_t step = (v->n + PER_TENSOR - 1) / PER_TENSOR;
	for (int64_t k = 0; k < v->n; k += step) {
		enum knowledge q = knowledge_of(&v->val[k]);
		s->n++;
		s->known[q]++;
		if (q == KNOWN_ENCLOSED || q == KNOWN_WEAK)
			add_radius(&s->part[grad], &v->val[k], t);
	}
}

static bool tight_one(struct shares *s, struct catch_case *c, const struct licence_profile *l, struct err *err)
{
	struct prog p, bound;
	struct reference ref;
	struct err why = {0};
	if (!catch_generate(&p, c, 0, err))
		return false;
	if (!prog_bind(&bound, &p, 0, c->arena, &why) || ref_run(&ref, &bound, l, TAPE_LIMITS_DEFAULT, c->arena, &why) != REF_OK)
		return true;
	for (int i = 0; i < ref.nouts; i++)
		add_value(s, &ref.out[i], c->dtype, false);
	for (int i = 0; i < ref.ngrads; i++)
		add_value(s, &ref.grad[i], c->dtype, true);
	return true;
}

bool bench_tightness(const struct options *o, struct err *err)
{
	static const struct bench_column columns[] = {{"elements", 9, 0}, {"exact %", 8, 1}, {"enclosed %", 10, 1}, {"weak %", 7, 2},
		{"undecided %", 11, 2}, {"fwd median", 10, 1}, {"fwd p90", 8, 1}, {"grad median", 11, 1}, {"grad p90", 8, 1}};
	struct bench_table tb = {o, "tightness", ARRAY_LEN(columns), columns};
	static const char *const fills[] = {"normal", "dyadic", "special", "ties"}, *const targets[] = {"builtin:eager", "torch:inductor@cpu"};
	struct arena a;
	bool ok = true;
	int64_t n = o->programs ? o->programs : 500;
	arena_init(&a);
	table_begin(&tb, "outputs and gradients; radius in ULP of those that are not exact (at most 256 elements of a tensor)");
	for (int g = 0; ok && g < ARRAY_LEN(targets); g++) {
		struct licence_profile l;
		CHECK(profile_named(&l, targets[g]));
		for (int f = 0; ok && f < (g ? 1 : ARRAY_LEN(fills)); f++) {
			for (int k = NDTYPES - 1; ok && k >= 0; k--) {
				if (!(DTS_FLOAT >> k & 1))
					continue;
				struct shares *s = xmalloc(sizeof *s);
				*s = (struct shares){0};
				struct catch_case c = {
					.arena = &a, .source = bench_source(o, dtype_info[k].name), .dtype = (enum dtype)k, .fill = fills[f]};
				for (int64_t i = 0; ok && i < n; i++)
					ok = tight_one(s, &c, &l, err);
				char name[64];
				snprintf(name, sizeof name, "%s %s%s", dtype_info[k].name, fills[f], g ? " (inductor)" : "");
				double e = (double)MAX(s->n, 1);
				table_row(&tb, name,
					(double[]){(double)s->n, 100 * (double)s->known[KNOWN_EXACT] / e, 100 * (double)s->known[KNOWN_ENCLOSED] / e,
						100 * (double)s->known[KNOWN_WEAK] / e, 100 * (double)s->known[KNOWN_NOT] / e, quantile(&s->part[0], 0.5),
						quantile(&s->part[0], 0.9), quantile(&s->part[1], 0.5), quantile(&s->part[1], 0.9)});
				free(s);
			}
		}
	}
	arena_free(&a);
	return ok;
}
