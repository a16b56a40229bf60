/* json.h: writing JSON into a strbuf. Only what output needs: no reader, no tree.
 * Text may hold any bytes: a byte that is not part of valid UTF-8 comes out as U+FFFD, so that the result is always valid; what would
 * be harmful on a terminal (escape.h) as \u009b. */
#ifndef SCATTERPROOF_JSON_H
#define SCATTERPROOF_JSON_H

#include "eager/base/escape.h"

void json_text(struct strbuf *sb, const char *s, size_t n); /* quoted */
static inline void json_str(struct strbuf *sb, const char *s) { json_text(sb, s, strlen(s)); }
void json_hex(struct strbuf *sb, const void *p, size_t n); /* quoted hex digits */
void json_real(struct strbuf *sb, double v);               /* inf and nan, which JSON lacks, as strings */
void json_key(struct strbuf *sb, const char *key);         /* `"key":`, after a comma unless right after { or [ */

#endif
