/* escape.c: harmless text. The one idea: decode a character, ask code_harmful, write it or its name. */
#include "eager/base/escape.h"

size_t utf8_read(uint32_t *code, const char *s, size_t n)
{
	const unsigned char *u = (const unsigned char *)s;
	*code = u[0];
	if (u[0] < 0x80)
		return 1;
	size_t len = u[0] >= 0xf0 ? 4 : u[0] >= 0xe0 ? 3 : 2;
	if (u[0] < 0xc2 || u[0] > 0xf4 || len > n)
		return 0;
	*code = u[0] & (0x7fu >> len);
	for (size_t i = 1; i < len; i++) {
		if ((u[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (u[i] & 0x3fu);
	}
	bool overlong = *code < (len == 4 ? 0x10000u : len == 3 ? 0x800u : 0x80u), surrogate = *code >= 0xd800 && *code <= 0xdfff;
	return overlong || surrogate || *code > 0x10ffff ? 0 : len;
}

bool utf8_valid(const void *p, size_t n)
{
	const char *s = p;
	uint32_t code;
	for (size_t i = 0, len; i < n; i += len) {
		len = utf8_read(&code, s + i, n - i);
		if (len == 0)
			return false;
	}
	return true;
}

size_t utf8_cut(const char *s, size_t n)
{
	size_t at = strnlen(s, n + 1);
	if (at <= n)
		return at;
	for (at = n; at > 0 && n - at < 4 && ((unsigned char)s[at] & 0xc0) == 0x80;)
		at--;
	return at;
}

bool code_harmful(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code <= 0x9f) || code == 0x61c || code == 0x200e || code == 0x200f
		|| (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

size_t escape_char(struct strbuf *sb, const char *s, size_t n)
{
	uint32_t code;
	size_t len = utf8_read(&code, s, n);
	if (len == 0)
		sb_printf(sb, "\\x%02x", (unsigned)(unsigned char)s[0]);
	else if (!code_harmful(code))
		sb_put(sb, s, len);
	else if (code == '\n' || code == '\r' || code == '\t')
		sb_puts(sb, code == '\n' ? "\\n" : code == '\r' ? "\\r" : "\\t");
	else
		sb_printf(sb, code < 0x80 ? "\\x%02x" : "\\u%04x", (unsigned)code);
	return len ? len : 1;
}

void escape_line(struct strbuf *sb, const char *s)
{
	for (size_t i = 0, n = strlen(s); i < n;)
		i += escape_char(sb, s + i, n - i);
}

void escape_lines(struct strbuf *sb, const char *indent, const char *s, size_t n)
{
	for (size_t i = 0; i < n;) {
		if (s[i] != '\n' && s[i] != '\t') {
			i += escape_char(sb, s + i, n - i);
			continue;
		}
		sb_putc(sb, s[i]);
		if (s[i++] == '\n' && i < n)
			sb_puts(sb, indent);
	}
}

void escape_block(struct strbuf *sb, const char *indent, const char *s, size_t n)
{
	sb_puts(sb, n ? indent : "");
	escape_lines(sb, indent, s, n);
	if (n && s[n - 1] != '\n')
		sb_putc(sb, '\n');
}

void escape_cell(struct strbuf *sb, const char *s, size_t n)
{
	for (size_t i = 0; i < n;) {
		if (s[i] == '\\') {
			sb_puts(sb, "\\\\");
			i++;
		} else {
			i += escape_char(sb, s + i, n - i);
		}
	}
}

static const char *in_arena(struct arena *a, struct strbuf *sb)
{
	const char *s = arena_strdup(a, sb->s);
	sb_free(sb);
	return s;
}

const char *escaped_line(struct arena *a, const char *s)
{
	struct strbuf sb;
	sb_init(&sb);
	escape_line(&sb, s);
	return in_arena(a, &sb);
}

const char *escaped_lines(struct arena *a, const char *indent, const char *s)
{
	struct strbuf sb;
	sb_init(&sb);
	escape_lines(&sb, indent, s, strlen(s));
	return in_arena(a, &sb);
}

bool python_keyword(const char *s, size_t n)
{
	static const char *const words[] = {"and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else",
		"except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise",
		"return", "try", "while", "with", "yield", "True", "False", "None", "__debug__"};
	for (int i = 0; i < ARRAY_LEN(words); i++)
		if (strlen(words[i]) == n && memcmp(words[i], s, n) == 0)
			return true;
	return false;
}

void escape_python(struct strbuf *sb, const char *s)
{
	sb_putc(sb, '"');
	for (size_t i = 0, n = strlen(s); i < n;) {
		if (s[i] == '"' || s[i] == '\\') {
			sb_putc(sb, '\\');
			sb_putc(sb, s[i++]);
		} else {
			i += escape_char(sb, s + i, n - i);
		}
	}
	sb_putc(sb, '"');
}

/* 'plain quotes', or $'\x1b' of bash, ksh and zsh if there is something harmful, byte by byte. */
void escape_shell(struct strbuf *sb, const char *s)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+=:,@%";
	bool harmful = false;
	uint32_t code;
	if (*s && strspn(s, plain) == strlen(s)) {
		sb_puts(sb, s);
		return;
	}
	for (size_t i = 0, n = strlen(s), len; i < n; i += len ? len : 1) {
		len = utf8_read(&code, s + i, n - i);
		harmful |= len == 0 || code_harmful(code);
	}
	sb_puts(sb, harmful ? "$'" : "'");
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;
		if (harmful && (c < 0x20 || c >= 0x7f))
			sb_printf(sb, "\\x%02x", (unsigned)c);
		else if (*s == '\'' || (harmful && *s == '\\'))
			sb_puts(sb, *s == '\\' ? "\\\\" : harmful ? "\\'" : "'\\''");
		else
			sb_putc(sb, *s);
	}
	sb_putc(sb, '\'');
}
