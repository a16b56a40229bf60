/* json.c: one flag, whether a value stands before, decides about commas: brackets and keys set it back. */
#include "eager/base/json.h"

#include <inttypes.h>
#include <math.h>

static void put_code(struct strbuf *sb, uint32_t code, const char *s, size_t len)
{
	switch (code) {
	case '"': sb_puts(sb, "\\\""); break;
	case '\\': sb_puts(sb, "\\\\"); break;
	case '\n': sb_puts(sb, "\\n"); break;
	case '\t': sb_puts(sb, "\\t"); break;
	case '\r': sb_puts(sb, "\\r"); break;
	default:
		if (code_harmful(code))
			sb_printf(sb, "\\u%04x", (unsigned)code);
		else
			sb_put(sb, s, len);
	}
}

static void put_quoted(struct strbuf *sb, const char *s, size_t n)
{
	uint32_t code;
	sb_putc(sb, '"');
	for (size_t i = 0, len; i < n; i += len ? len : 1) {
		len = utf8_read(&code, s + i, n - i);
		if (len)
			put_code(sb, code, s + i, len);
		else
			sb_puts(sb, "\\ufffd");
	}
	sb_putc(sb, '"');
}

/* What stands before a value. */
static void begin_value(struct json *j, const char *key)
{
	const char inside = j->depth ? j->close[j->depth - 1] : 0;
	CHECK((key != NULL) == (inside == '}'));
	CHECK(inside || !j->more);
	if (j->more)
		sb_puts(j->sb, j->style == JSON_SPACED ? ", " : ",");
	j->more = true;
	if (!key)
		return;
	put_quoted(j->sb, key, strlen(key));
	sb_puts(j->sb, j->style == JSON_SPACED ? ": " : ":");
}

static void open_bracket(struct json *j, const char *key, char open, char close)
{
	begin_value(j, key);
	CHECK(j->depth < JSON_MAX_DEPTH);
	sb_putc(j->sb, open);
	j->close[j->depth++] = close;
	j->more = false;
}

void json_object(struct json *j, const char *key) { open_bracket(j, key, '{', '}'); }
void json_array(struct json *j, const char *key) { open_bracket(j, key, '[', ']'); }

void json_end(struct json *j)
{
	CHECK(j->depth > 0);
	sb_putc(j->sb, j->close[--j->depth]);
	j->more = true;
}

void json_string(struct json *j, const char *key, const char *s) { json_text(j, key, s, strlen(s)); }

void json_text(struct json *j, const char *key, const char *s, size_t n)
{
	begin_value(j, key);
	put_quoted(j->sb, s, n);
}

void json_hex(struct json *j, const char *key, const void *p, size_t n)
{
	begin_value(j, key);
	sb_putc(j->sb, '"');
	sb_hex(j->sb, p, n);
	sb_putc(j->sb, '"');
}

void json_int(struct json *j, const char *key, int64_t v)
{
	begin_value(j, key);
	sb_printf(j->sb, "%" PRId64, v);
}

void json_unsigned(struct json *j, const char *key, uint64_t v)
{
	begin_value(j, key);
	sb_printf(j->sb, "%" PRIu64, v);
}

void json_double(struct json *j, const char *key, double v)
{
	begin_value(j, key);
	if (isfinite(v))
		sb_printf(j->sb, "%.17g", v);
	else
		sb_puts(j->sb, isnan(v) ? "\"NaN\"" : v > 0 ? "\"Infinity\"" : "\"-Infinity\"");
}

void json_digits(struct json *j, const char *key, double v, int digits)
{
	CHECK(isfinite(v));
	begin_value(j, key);
	sb_printf(j->sb, "%.*g", digits, v);
}

void json_fixed(struct json *j, const char *key, double v, int digits)
{
	begin_value(j, key);
	if (isfinite(v))
		sb_printf(j->sb, "%.*f", digits, v);
	else
		sb_puts(j->sb, "null");
}

void json_bool(struct json *j, const char *key, bool v)
{
	begin_value(j, key);
	sb_puts(j->sb, v ? "true" : "false");
}

void json_null(struct json *j, const char *key)
{
	begin_value(j, key);
	sb_puts(j->sb, "null");
}

void json_raw(struct json *j, const char *key, const char *json, size_t n)
{
	begin_value(j, key);
	sb_put(j->sb, json, n);
}
