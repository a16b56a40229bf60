/* sweep.h: for what else does a program fail in the same way? One thing at a time is varied, all others stay as they are: stages, dtypes,
 * options, sizes, versions. Each value of what is varied is a row, also one that makes no program or cannot be judged; the rows of one
 * thing are a series, which ends with what can be said of it as a whole. */
#ifndef SCATTERPROOF_SWEEP_H
#define SCATTERPROOF_SWEEP_H

#include "fuzz/triage/failure.h"
#include "fuzz/triage/runner.h"

/* AXIS(id, name, "fails for" or on, what its values are) in the order in which they are swept. */
#define SWEEP_AXES(AXIS)                                                                                                                   \
	AXIS(STAGES, "stages", "on", "stages")                                                                                                 \
	AXIS(DTYPES, "dtypes", "for", "dtypes")                                                                                                \
	AXIS(OPTIONS, "options", "with", "settings")                                                                                           \
	AXIS(SHAPES, "shapes", "for", "sizes")                                                                                                 \
	AXIS(VERSIONS, "versions", "on", "versions")
enum sweep_axis {
#define AXIS(id, name, on, values) SWEEP_##id,
	SWEEP_AXES(AXIS)
#undef AXIS
		NSWEEP_AXES
};
extern const char *const sweep_axis_name[NSWEEP_AXES];

enum sweep_answer {
	SWEEP_FAILS,     /* as the program does that is swept */
	SWEEP_OTHERWISE, /* in another way */
	SWEEP_PASSES,
	SWEEP_OPEN, /* it was not judged: row.why */
	NSWEEP_ANSWERS
};
extern const char *const sweep_answer_name[NSWEEP_ANSWERS];

struct sweep_row {
	const char *value;  /* "14", "f16", "epilogue_fusion=0", "2.13.0" */
	const char *varied; /* what differs in the program, "x: 4x13x33 -> 4x14x33"; "" if nothing does */
	const char *target;
	double number;        /* the value as a size; NaN: it is none */
	bool as_found, moved; /* moved: positions in the program had to */
	enum sweep_answer answer;
	const char *verdict;   /* of verdict_name, or "no program" */
	const char *why;       /* "" of what passes, and of wrong elements */
	const char *short_why; /* the same without what frameworks write around a message; numbers in it may be N */
	const char *dtype;     /* of the tensor that is wrong as found */
	/* the first wrong tensor, if elements of it are wrong; else "" */
	const char *tensor, *pattern, *at; /* at: "[0, 3]", of the first wrong element */
	int call;
	struct sample element;
	double want_sum, got_sum, ratio; /* ratio: got_sum / want_sum, NaN if nobody knows want_sum; within: how well it is known */
	double within;
};

enum { MAX_SWEEP_ROWS = 96 };
struct sweep_series {
	enum sweep_axis axis;
	const char *name;  /* "size 13", "dtype f32", "versions" */
	int n, left;       /* left: values that were not run any more */
	const char *bound; /* why no further values were tried; "" */
	struct sweep_row row[MAX_SWEEP_ROWS];
};

struct sweep_plan {
	const struct prog *p;
	struct target t;
	const struct target *also; /* further targets, as settings */
	int nalso;
	unsigned axes;    /* 1u << enum sweep_axis */
	bool one_version; /* an interpreter was named: there is no other version */
	double until;     /* clock_s(); 0: no limit */
	int64_t programs; /* runs; 0: no limit */
	void *ctx;        /* of those: */
	void (*begin)(void *ctx, const struct sweep_series *s);
	bool (*row)(void *ctx, const struct sweep_series *s, const struct sweep_row *row); /* false: stop */
	void (*end)(void *ctx, const struct sweep_series *s);
};

/* What o is to a failure f that was found: the same one, another, none. */
enum sweep_answer sweep_answer_of(const struct failure *f, const struct outcome *o);

struct sweep;
/* Runs the program as it is: *base. Its target is there (runner_start). NULL: it does not fail, or was not judged; *base says so. All lives
 * in a. */
struct sweep *sweep_begin(struct sweep_row *base, const struct sweep_plan *plan, struct runner *r, struct arena *a);
const struct failure *sweep_failure(const struct sweep *s);
void sweep_run(struct sweep *s); /* all axes of the plan; frees s */

/* ---- in words (sweep_words.c) ---- */
/* "fails for 12 of 14 sizes; passes for 1, 2; the ratio is n/(n - 7)". */
const char *sweep_summary(const struct sweep_series *s, struct arena *a);
/* The rule in the ratios of its rows that fail (ratio_law.h); *some: of those alone in which no positions moved. NULL: there is none. */
const char *sweep_law(bool *some, const struct sweep_series *s, struct arena *a);
/* Of the series of versions: "fails from 2.11.0 (first installed) to 2.12.1; right from 2.13.0 on". */
const char *sweep_since(const struct sweep_series *s, struct arena *a);
/* Do both fail for the same values? One that is not known of either (it was not judged, not run) says nothing. */
bool sweep_agrees(const struct sweep_series *x, const struct sweep_series *y);

#endif
