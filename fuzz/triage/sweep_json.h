/* sweep_json.h: what a sweep learnt, as the store keeps it of a finding, for reports, which run nothing. A key that does not apply is left
 * out; numbers are numbers, or "nan", "inf", "-inf".
 *
 *     artifact `sweep`   {"schema": 1, "target", "program", "series": [SERIES]}
 *     SERIES             {"axis": "size 20", "rows": [ROW], "left", "law", "summary"}
 *                          axis      what was varied: the name of the series
 *                          left      how many values were not tried any more
 *                          law       of the ratios of all rows that fail (ratio_law.h): "n/(n - 7)"; of those in which no positions
 *                                    moved, if only these have one
 *                          summary   "fails for 20 of 22 sizes; passes for 1, 2; ...", as `sweep` prints it
 *     ROW                {"value", "answer", "verdict", "why", "wrong", "expected", "got", "ratio", "moved"}
 *                          answer    of sweep_answer_name: "fails", as the program that is swept does
 *                          wrong     the first wrong element: "x.grad[0,5,0]"; expected: the middle of what is legal there; got
 *                          ratio     what the tensor adds up to, by what it must
 *                          moved     true: positions in the program had to
 *     artifact `since`   {"schema": 1, "target", "program", "versions": [{"version", "verdict", "why"}], "first_bad", "last_bad",
 *                         "first_good"}
 *                          verdict   "fails", "passes", "cannot tell" (why: the reason), "not asked" (the time was over)
 *                          first_bad, last_bad   of the installed versions, the first and the last that fails
 *                          first_good            the first one behind last_bad that passes */
#ifndef SCATTERPROOF_SWEEP_JSON_H
#define SCATTERPROOF_SWEEP_JSON_H

#include "eager/base/json.h"
#include "fuzz/triage/sweep.h"

enum { SWEEP_SCHEMA = 1, SINCE_SCHEMA = 1 };
#define SWEEP_ARTIFACT "sweep"
#define SINCE_ARTIFACT "since"

/* The object up to its program; whoever opens it ends it. program: its id in hex. */
void sweep_json_begin(struct json *j, int schema, const struct target *t, const char *program, struct arena *a);
void sweep_json_series(struct json *j, const struct sweep_series *s, struct arena *a);
/* The whole artifact `since`. s: its rows are versions of t's family. In a. */
const char *since_json(const struct sweep_series *s, const struct target *t, const char *program, struct arena *a);

#endif
