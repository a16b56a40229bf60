/* markup.c: each character is made harmless by escape.h first; then the few that mean something in the language get its own escape. */
#include "reports/page/markup.h"

#include <ctype.h>
#include <strings.h>

#include "eager/base/escape.h"

/* How much of s is taken: whole characters. */
static size_t taken(const char *s, size_t most)
{
	const size_t n = strlen(s);
	return n <= most ? n : utf8_cut(s, most);
}

static bool stays(char c) { return c == '\n' || c == '\t'; }

/* The next character as harmless text in one; newline and tab as they are if `lines`. Returns the bytes used. */
static size_t next_char(struct strbuf *one, const char *s, size_t n, bool lines)
{
	sb_reset(one);
	if (!lines || !stays(s[0]))
		return escape_char(one, s, n);
	sb_putc(one, s[0]);
	return 1;
}

static void note(struct strbuf *sb, size_t nbytes, size_t shown, const char *before)
{
	if (shown < nbytes)
		sb_printf(sb, "%s... (%zu bytes more)", before, nbytes - shown);
}

/* ---- XML ----------------------------------------------------------------------------------------------------------------------------- */

static void put_xml(struct strbuf *sb, const char *s)
{
	switch (s[0]) {
	case '<': sb_puts(sb, "&lt;"); break;
	case '>': sb_puts(sb, "&gt;"); break;
	case '&': sb_puts(sb, "&amp;"); break;
	case '"': sb_puts(sb, "&quot;"); break;
	case '\'': sb_puts(sb, "&#39;"); break;
	default: sb_puts(sb, s);
	}
}

/* XML has no U+FFFE and U+FFFF, and not the code points that no character has. */
static bool is_no_character(const char *s) { return str_eq(s, "\xef\xbf\xbe") || str_eq(s, "\xef\xbf\xbf"); }

void markup_xml(struct strbuf *sb, const char *s, size_t most)
{
	const size_t n = taken(s, most);
	struct strbuf one;
	sb_init(&one);
	for (size_t i = 0; i < n;) {
		i += next_char(&one, s + i, n - i, true);
		put_xml(sb, is_no_character(one.s) ? "\xef\xbf\xbd" : one.s);
	}
	note(sb, strlen(s), n, " ");
	sb_free(&one);
}

/* ---- Markdown ------------------------------------------------------------------------------------------------------------------------ */

static bool starts_word(const char *s, const char *word) { return strncmp(s, word, strlen(word)) == 0; }

/* A comment of HTML shows nothing, and parts what GitHub would take together: @name, #1, https://, www. */
#define APART "<!-- -->"
static void put_text(struct strbuf *sb, const char *c, const char *rest)
{
	if (str_eq(c, "@") || str_eq(c, "#"))
		sb_printf(sb, "\\%s" APART, c);
	else if ((str_eq(c, ":") && starts_word(rest, "//")) || (strcasecmp(c, "w") == 0 && strncasecmp(rest, "ww.", 3) == 0))
		sb_printf(sb, "%s" APART, c);
	else if (!c[1] && strchr("\\`*_[]<>|~&$", c[0]))
		sb_printf(sb, c[0] == '<' ? "&lt;" : c[0] == '&' ? "&amp;" : "\\%s", c);
	else
		sb_puts(sb, c);
}

/* "_" within a word emphasises nothing on GitHub: aot_eager stays as it is, for whoever copies it. */
static bool within_word(const char *s, size_t i, size_t n)
{
	return i > 0 && i + 1 < n && isalnum((unsigned char)s[i - 1]) && isalnum((unsigned char)s[i + 1]);
}

static void put_text_of(struct strbuf *sb, const char *s, size_t n)
{
	struct strbuf one;
	sb_init(&one);
	for (size_t i = 0; i < n;) {
		const size_t at = i;
		i += next_char(&one, s + i, n - i, false);
		if (one.len > 1 && one.s[0] == '\\') /* of escape_char: \n, \x1b */
			sb_putc(sb, '\\');
		if (s[at] == '_' && within_word(s, at, n))
			sb_putc(sb, '_');
		else
			put_text(sb, one.s, s + i);
	}
	sb_free(&one);
}

void markup_text(struct strbuf *sb, const char *s, size_t most)
{
	const size_t n = taken(s, most);
	put_text_of(sb, s, n);
	note(sb, strlen(s), n, " ");
}

static int longest_run(const char *s, size_t n)
{
	int longest = 0, run = 0;
	for (size_t i = 0; i < n; i++) {
		run = s[i] == '`' ? run + 1 : 0;
		longest = MAX(longest, run);
	}
	return longest;
}

static void put_ticks(struct strbuf *sb, int n)
{
	for (int i = 0; i < n; i++)
		sb_putc(sb, '`');
}

static void put_code(struct strbuf *sb, const char *s, size_t n)
{
	const int ticks = 1 + longest_run(s, n);
	const bool padded = n && (s[0] == '`' || s[n - 1] == '`' || s[0] == ' ' || s[n - 1] == ' ');
	struct strbuf one;
	if (!n)
		return;
	sb_init(&one);
	put_ticks(sb, ticks);
	sb_puts(sb, padded ? " " : "");
	for (size_t i = 0; i < n;) {
		i += next_char(&one, s + i, n - i, false);
		sb_puts(sb, str_eq(one.s, "|") ? "\xef\xbd\x9c" : one.s);
	}
	sb_puts(sb, padded ? " " : "");
	put_ticks(sb, ticks);
	sb_free(&one);
}

void markup_code(struct strbuf *sb, const char *s, size_t most)
{
	const size_t n = taken(s, most);
	put_code(sb, s, n);
	note(sb, strlen(s), n, " ");
}

static bool is_name(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!((s[i] >= 'a' && s[i] <= 'z') || (s[i] >= 'A' && s[i] <= 'Z') || (s[i] >= '0' && s[i] <= '9') || s[i] == '_' || s[i] == '.'))
			return false;
	return n > 0;
}

void markup_title(struct strbuf *sb, const char *title)
{
	for (const char *s = title; *s;) {
		const size_t before = strcspn(s, "`"), name = s[before] ? strcspn(s + before + 1, "`") : 0;
		put_text_of(sb, s, before);
		s += before;
		if (s[0] && s[1 + name] && is_name(s + 1, name)) {
			put_code(sb, s + 1, name);
			s += name + 2;
		} else if (s[0]) {
			sb_puts(sb, "\\`");
			s++;
		}
	}
}

void markup_fence(struct strbuf *sb, const char *language, const char *s, size_t most)
{
	const size_t n = taken(s, most);
	const int ticks = MAX(3, 1 + longest_run(s, n));
	struct strbuf one;
	sb_init(&one);
	put_ticks(sb, ticks);
	sb_printf(sb, "%s\n", language);
	for (size_t i = 0; i < n;) {
		i += next_char(&one, s + i, n - i, true);
		sb_puts(sb, one.s);
	}
	sb_puts(sb, n && s[n - 1] != '\n' ? "\n" : "");
	note(sb, strlen(s), n, "");
	sb_puts(sb, n < strlen(s) ? "\n" : "");
	put_ticks(sb, ticks);
	sb_putc(sb, '\n');
	sb_free(&one);
}
