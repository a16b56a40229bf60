/* causes_show.h: the causes of a store (store_cause.h) for people: a list, one line each; one of them as a page; and for machines, a line
 * of JSON each. Titles are written before (fuzz/triage/title.h). Nothing is run: what is said is in the store. */
#ifndef SCATTERPROOF_CAUSES_SHOW_H
#define SCATTERPROOF_CAUSES_SHOW_H

#include "eager/base/screen.h"
#include "reports/cause/store_cause.h"

/* Those that are open, or all, the first `limit` of them (negative: none is left out); below them a line that counts. */
void causes_list(struct strbuf *sb, const struct store_causes *all, bool closed, int64_t limit, const struct look *look);
/* f: the representative, loaded. db: the store's name, for commands. */
void cause_page(struct strbuf *sb, const struct store_cause *c, const struct store_loaded *f, const char *db, const struct look *look);
/* "2 open causes, and 3 findings without one yet": what triage has not had is no cause. */
void causes_count(struct strbuf *sb, const struct store_causes *all);
/* One line, all fields. */
void cause_json(struct strbuf *sb, const struct store_cause *c);

/* What a cause's blame and the like say: "a; b; c", a paragraph each, indented; on a screen without a width all in one line. */
void cause_sentences(struct strbuf *sb, const char *text, int indent, const struct look *look);
/* Where the representative was found, without version: "torch:inductor@cpu". In a. */
const char *cause_stage(const struct store_cause *c, struct arena *a);
const char *representative_state(const struct store_cause *c); /* of the representative */

#endif
