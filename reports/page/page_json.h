/* page_json.h: a cause, and a store, as JSON: the one description from which pages are made. The HTML templates (cause.html, index.html)
 * hold it in <script type="application/json" id="data"> and draw it; `report` writes it as ID/cause.json and report.json; JUnit, SARIF,
 * summary.md and issue.md say the same in their own words.
 *
 * Schema 1. Keys that do not apply are left out. Times are 2026-01-31T23:59:59Z. All text is the store's, so hostile: whoever draws it sets
 * text (textContent), never markup.
 *
 * cause.json
 *     {"schema": 1, "tool": "scatterproof 0.…", "number": 1, "id": "3fa2c1d0", "full_id": "3fa2…", "title": "`repeat` of `as_strided`: …",
 *      "cause": "torch:inductor: gradient, …" (absent: triage has not had it), "severity": "high", "kind": "gradient", "open": true,
 *      "reach": "python|torch|aten", "target": "torch-2.11.0:inductor@cpu", "stage": "inductor", "blame": "wrong from: …",
 *      "unconfirmed": "…", "nfindings": 2, "nobs": 17, "first_seen": "…", "last_seen": "…", "issue": "https://…",
 *      "right_on": "2.15.0" (the newest version that was tried, if it is right there),
 *      "ops": ["repeat", "as_strided"], "dtypes": ["f32"], "versions": ["2.11.0"], "states": ["blamed", "known"],
 *      "program": "# scatterproof 1\n…", "minimised": true, "first_program": "…", "script": "import torch …",
 *      "short_script": true,                                         "script" is the short one; else it is the judged one,
 *                                                                     left out here if it is longer than 64 KiB (repro.py has it)
 *      "facts": {…}, "sweep": {…}, "since": {…}, "matrix": {…}       the artifacts of these names as triage wrote them (docs/store.md)
 *      "versions_tried": [{"version": "2.11.0", "verdict": "wrong|right|…", "why"}],  oldest first: of "since", else of the script
 *      "environment": "…",                                            what collect_env said; else versions, device and machine
 *      "graphs": [{"name": "backward graph", "text": "…"}],           artifacts "… graph", "… code", "operators"; each cut at 256 KiB
 *      "upstream": [{"issue": "https://…", "remark": "…"}],           upstream issues that look alike (upstream.h)
 *      "variants": [{"cause": "…", "ids": ["3fa2c1d0"]}],             one bug in several sorts: what triage says of each, and its findings
 *      "findings": [{"id", "target", "state", "severity", "signature", "nobs", "first_seen", "last_seen", "issue"}],
 *      "observations": [{"at", "target", "device", "verdict", "tensor", "call", "fill", "detail"}],
 *      "history": [{"at", "kind", "text", "issue"}],
 *      "commands": {"repro": "scatterproof repro …", "script": "…", "sweep": "…"}}
 *
 * report.json (of the overview)
 *     {"schema": 1, "tool", "store": "findings.db", "made": time,
 *      "causes": [of cause.json: number id title cause severity kind open reach target stage nfindings nobs first_seen last_seen issue
 *                 right_on ops dtypes versions states, and "page": "3fa2c1d0/index.html" (absent: no page was asked for)],
 *      "tried": [{"op", "dtype", "target", "programs", "diverging"}],  by operator and dtype: programs of blocks in which both were on
 *                                                                     that passed or diverged (v_tried; others were not judged)
 *      "runs": [{"at", "policy", "target", "programs", "diverging", "new_causes"}],  campaigns, oldest first: the trend over nights
 *      "needs": [{"id", "what": "confirm|triage|decide|regressed", "text", "command"}]}   what needs a person */
#ifndef SCATTERPROOF_PAGE_JSON_H
#define SCATTERPROOF_PAGE_JSON_H

#include "reports/page/page_load.h"

void page_json(struct strbuf *sb, const struct cause_page *p, struct arena *a);
/* made: of the moment, 2026-01-31T23:59:59Z. */
void overview_json(struct strbuf *sb, const struct page_store *all, const char *made, struct arena *a);

#endif
