/* findings_show.h: one finding, as text for people and as a JSON object. Pure rendering of what the store holds. */
#ifndef SCATTERPROOF_FINDINGS_SHOW_H
#define SCATTERPROOF_FINDINGS_SHOW_H

#include "reports/store/store.h"

/* short_id: a prefix that finds it; db: the path given by the user, for the commands. Text cuts long artifacts and programs, and says which
 * command prints all; JSON has everything. */
void finding_show_text(struct strbuf *sb, const struct store_loaded *f, const char *short_id, const char *db);
void finding_show_json(struct strbuf *sb, const struct store_loaded *f, const char *short_id, const char *db);

#endif
