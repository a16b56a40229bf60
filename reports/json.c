/* json.c: see json.h. UTF-8 as in RFC 3629: no overlong forms, no surrogates, at most U+10FFFF. */
#include "reports/json.h"

#include <math.h>

/* Bytes of the character at s, 0 if it is not valid. */
static size_t utf8_length(const unsigned char *s, size_t n)
{
	if (s[0] < 0x80)
		return 1;
	size_t len = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
	if (s[0] < 0xc2 || s[0] > 0xf4 || len > n)
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	bool bad = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0) || (s[0] == 0xf0 && s[1] < 0x90) ||
		(s[0] == 0xf4 && s[1] >= 0x90);
	return bad ? 0 : len;
}

bool utf8_valid(const void *p, size_t n)
{
	const unsigned char *s = p;
	for (size_t i = 0, len; i < n; i += len) {
		len = utf8_length(s + i, n - i);
		if (len == 0)
			return false;
	}
	return true;
}

static void put_ascii(struct strbuf *sb, unsigned char c)
{
	switch (c) {
	case '"': sb_puts(sb, "\\\""); break;
	case '\\': sb_puts(sb, "\\\\"); break;
	case '\n': sb_puts(sb, "\\n"); break;
	case '\t': sb_puts(sb, "\\t"); break;
	case '\r': sb_puts(sb, "\\r"); break;
	default:
		if (c < 0x20 || c == 0x7f)
			sb_printf(sb, "\\u%04x", (unsigned)c);
		else
			sb_putc(sb, (char)c);
	}
}

void json_text(struct strbuf *sb, const char *s, size_t n)
{
	const unsigned char *u = (const unsigned char *)s;
	sb_putc(sb, '"');
	for (size_t i = 0; i < n;) {
		size_t len = utf8_length(u + i, n - i);
		if (len == 0)
			sb_puts(sb, "\\ufffd");
		else if (len == 1)
			put_ascii(sb, u[i]);
		else
			sb_put(sb, u + i, len);
		i += len ? len : 1;
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
