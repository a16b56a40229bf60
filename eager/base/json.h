/* json.h: the one writer of JSON. Values go into a strbuf; commas, quotes and closing brackets are its own business. No reader, no tree.
 *
 *     struct json j = json_into(&sb, JSON_SPACED);
 *     json_object(&j, NULL);
 *     json_string(&j, "file", path);
 *     json_array(&j, "sizes");
 *     json_int(&j, NULL, 4);
 *     json_end(&j);
 *     json_end(&j);                       gives  {"file": "a.prog", "sizes": [4]}
 *
 * `key` is the name of a value in an object, NULL in an array and at the top; what does not fit is a BUG.
 * Text may hold any bytes: a byte that is not part of valid UTF-8 comes out as U+FFFD, so that the result is always valid; what would
 * be harmful on a terminal (escape.h) as \u009b. */
#ifndef SCATTERPROOF_JSON_H
#define SCATTERPROOF_JSON_H

#include "eager/base/escape.h"

enum json_style { JSON_TIGHT, JSON_SPACED }; /* [1,2] or [1, 2] */
enum { JSON_MAX_DEPTH = 16 };

struct json {
	struct strbuf *sb;
	enum json_style style;
	bool more; /* a value stands before in this object or array */
	int depth;
	char close[JSON_MAX_DEPTH]; /* of what is open */
};
static inline struct json json_into(struct strbuf *sb, enum json_style style) { return (struct json){.sb = sb, .style = style}; }

void json_object(struct json *j, const char *key);
void json_array(struct json *j, const char *key);
void json_end(struct json *j); /* of the object or array that was begun last */

void json_string(struct json *j, const char *key, const char *s);
void json_text(struct json *j, const char *key, const char *s, size_t n);
void json_hex(struct json *j, const char *key, const void *p, size_t n); /* a string of hex digits */
void json_int(struct json *j, const char *key, int64_t v);
void json_unsigned(struct json *j, const char *key, uint64_t v);
void json_double(struct json *j, const char *key, double v);             /* all digits; inf and nan, which JSON lacks, as strings */
void json_digits(struct json *j, const char *key, double v, int digits); /* finite, so many significant digits */
void json_fixed(struct json *j, const char *key, double v, int digits);  /* after the point; inf and nan as null */
void json_bool(struct json *j, const char *key, bool v);
void json_null(struct json *j, const char *key);
/* A value that is JSON already, and valid. */
void json_raw(struct json *j, const char *key, const char *json, size_t n);

#endif
