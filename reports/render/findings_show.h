/* findings_show.h: one finding, as text for people and as a JSON object. Pure rendering of what the store holds. */
#ifndef SCATTERPROOF_FINDINGS_SHOW_H
#define SCATTERPROOF_FINDINGS_SHOW_H

#include "reports/store/store.h"

/* short_id: a prefix that finds it; db: the path given by the user, for the commands. Text cuts long artifacts and programs, and says which
 * command prints all; JSON has everything. */
void finding_show_text(struct strbuf *sb, const struct store_loaded *f, const char *short_id, const char *db);
void finding_show_json(struct strbuf *sb, const struct store_loaded *f, const char *short_id, const char *db);
/* Text that may hold anything, made harmless (escape.h), newline and tab kept. Each line is preceded by indent; a final newline is
 * added if there is none. */
void text_block(struct strbuf *sb, const char *indent, const char *s, size_t n);
/* The same without indent; newline and tab too come out as \n and \t, backslash as \\: for one cell of a line. */
void text_cell(struct strbuf *sb, const char *s, size_t n);

#endif
