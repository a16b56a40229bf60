/* json_doc.h: reads the JSON that triage keeps as artifacts (fuzz/triage/facts.h, docs/store.md "Artifacts"). SQLite, which is in the
 * binary anyway, does the reading: a path is SQLite's, "$.tensor.name", "$.ladder[2].stage", and `json_valid` decides what is JSON at
 * all. What stores hold is anybody's: a text that is no JSON is an empty document, a path that is not there gives the default. */
#ifndef SCATTERPROOF_JSON_DOC_H
#define SCATTERPROOF_JSON_DOC_H

#include "eager/base/base.h"

/* Triage writes less than a tenth of that. Each question reads the text again, so both are bounds of time. */
enum { JSON_DOC_MOST_BYTES = 1 << 20, JSON_DOC_MOST_ELEMENTS = 512 };

struct json_doc;
/* text: nbytes, copied. Never NULL; free with json_doc_close. */
struct json_doc *json_doc_open(const char *text, size_t nbytes);
void json_doc_close(struct json_doc *d);       /* NULL: nothing */
bool json_doc_empty(const struct json_doc *d); /* no JSON, or too long */

/* path: as printf has it, shorter than 500 bytes. */
bool json_doc_has(struct json_doc *d, const char *path, ...) PRINTF_LIKE(2, 3);
/* Text, or number (with the digits that it has there) or true/false as text; of an object or array its JSON. In a; "" if there is none. */
const char *json_doc_text(struct json_doc *d, struct arena *a, const char *path, ...) PRINTF_LIKE(3, 4);
int64_t json_doc_int(struct json_doc *d, int64_t otherwise, const char *path, ...) PRINTF_LIKE(3, 4);
/* The elements of an array, JSON_DOC_MOST_ELEMENTS at most; 0 if there is none. */
int json_doc_count(struct json_doc *d, const char *path, ...) PRINTF_LIKE(2, 3);

/* Appends the whole document for a <script type="application/json">: "<", ">", "&" and everything that escape.h calls harmful
 * come as \u00xx, which in JSON stand for themselves; so no text in it ends the element. "null" if it is no JSON. */
void json_doc_embed(struct strbuf *sb, struct json_doc *d);
/* The same of any JSON text of ours. */
void json_embed(struct strbuf *sb, const char *json, size_t n);

#endif
