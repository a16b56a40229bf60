/* json.c: strings, numbers and keys; lists and braces are their callers'. */
#include "eager/base/json.h"

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

void json_text(struct strbuf *sb, const char *s, size_t n)
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

void json_hex(struct strbuf *sb, const void *p, size_t n)
{
	static const char digit[] = "0123456789abcdef";
	const unsigned char *u = p;
	sb_putc(sb, '"');
	for (size_t i = 0; i < n; i++) {
		sb_putc(sb, digit[u[i] >> 4]);
		sb_putc(sb, digit[u[i] & 15]);
	}
	sb_putc(sb, '"');
}

void json_real(struct strbuf *sb, double v)
{
	if (isfinite(v))
		sb_printf(sb, "%.17g", v);
	else
		sb_puts(sb, isnan(v) ? "\"NaN\"" : v > 0 ? "\"Infinity\"" : "\"-Infinity\"");
}

void json_key(struct strbuf *sb, const char *key)
{
	if (sb->len && sb->s[sb->len - 1] != '{' && sb->s[sb->len - 1] != '[')
		sb_putc(sb, ',');
	json_text(sb, key, strlen(key));
	sb_putc(sb, ':');
}
