/* ci.h: the causes of a store for the machines of others: JUnit XML (a case per cause), SARIF 2.1.0 (a result per cause), a summary in
 * Markdown for the page of a job. All say what report.json says, in their own words. */
#ifndef SCATTERPROOF_CI_H
#define SCATTERPROOF_CI_H

#include "reports/page/page_load.h"

enum { SUMMARY_MOST = 1000 << 10 }; /* bytes; GitHub takes 1 MiB of a job */

/* Open causes are failures; the others are skipped, with their issue. */
void junit_write(struct strbuf *sb, const struct page_store *all);
/* Results of open causes; the others are suppressed. The place of a result is ID/program.prog, where it was written. */
void sarif_write(struct strbuf *sb, const struct page_store *all, struct arena *a);
/* Open causes: a table, then of each its program. What does not fit is counted. */
void summary_write(struct strbuf *sb, const struct page_store *all);
/* "known", "fixed-in": the decision that most of its findings have; "open". */
const char *cause_decision(const struct store_cause *c);

#endif
