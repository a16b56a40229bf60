/* screen.c: two tables of ranges say how wide a character is; the rest counts columns. */
#include "eager/base/screen.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "eager/base/escape.h"

/* ---- columns ------------------------------------------------------------------------------------------------------------------------- */

struct range {
	uint32_t first, last;
};
/* Marks that combine, and characters of format. */
static const struct range none[] = {{0x300, 0x36f}, {0x483, 0x489}, {0x591, 0x5bd}, {0x5bf, 0x5bf}, {0x5c1, 0x5c2}, {0x5c4, 0x5c5},
	{0x610, 0x61a}, {0x64b, 0x65f}, {0x670, 0x670}, {0x6d6, 0x6dc}, {0x6df, 0x6e4}, {0x6e7, 0x6e8}, {0x6ea, 0x6ed}, {0x900, 0x902},
	{0x93a, 0x93a}, {0x93c, 0x93c}, {0x941, 0x948}, {0x94d, 0x94d}, {0xe31, 0xe31}, {0xe34, 0xe3a}, {0xe47, 0xe4e}, {0x1ab0, 0x1aff},
	{0x1dc0, 0x1dff}, {0x200b, 0x200d}, {0x2060, 0x2064}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xfeff, 0xfeff},
	{0xe0100, 0xe01ef}};
/* East Asian wide and full-width, and emoji. */
static const struct range two[] = {{0x1100, 0x115f}, {0x231a, 0x231b}, {0x2329, 0x232a}, {0x23e9, 0x23ec}, {0x23f0, 0x23f0},
	{0x23f3, 0x23f3}, {0x25fd, 0x25fe}, {0x2614, 0x2615}, {0x2648, 0x2653}, {0x267f, 0x267f}, {0x2693, 0x2693}, {0x26a1, 0x26a1},
	{0x26aa, 0x26ab}, {0x26bd, 0x26be}, {0x26c4, 0x26c5}, {0x26ce, 0x26ce}, {0x26d4, 0x26d4}, {0x26ea, 0x26ea}, {0x26f2, 0x26f3},
	{0x26f5, 0x26f5}, {0x26fa, 0x26fa}, {0x26fd, 0x26fd}, {0x2705, 0x2705}, {0x270a, 0x270b}, {0x2728, 0x2728}, {0x274c, 0x274c},
	{0x274e, 0x274e}, {0x2753, 0x2755}, {0x2757, 0x2757}, {0x2795, 0x2797}, {0x27b0, 0x27b0}, {0x27bf, 0x27bf}, {0x2b1b, 0x2b1c},
	{0x2b50, 0x2b50}, {0x2b55, 0x2b55}, {0x2e80, 0x303e}, {0x3041, 0x33ff}, {0x3400, 0x4dbf}, {0x4e00, 0x9fff}, {0xa000, 0xa4cf},
	{0xa960, 0xa97f}, {0xac00, 0xd7a3}, {0xf900, 0xfaff}, {0xfe10, 0xfe19}, {0xfe30, 0xfe6f}, {0xff00, 0xff60}, {0xffe0, 0xffe6},
	{0x16fe0, 0x18aff}, {0x1b000, 0x1b2ff}, {0x1f004, 0x1f004}, {0x1f0cf, 0x1f0cf}, {0x1f18e, 0x1f18e}, {0x1f191, 0x1f19a},
	{0x1f200, 0x1f320}, {0x1f32d, 0x1f335}, {0x1f337, 0x1f37c}, {0x1f37e, 0x1f393}, {0x1f3a0, 0x1f3ca}, {0x1f3cf, 0x1f3d3},
	{0x1f3e0, 0x1f3f0}, {0x1f3f4, 0x1f3f4}, {0x1f3f8, 0x1f43e}, {0x1f440, 0x1f440}, {0x1f442, 0x1f4fc}, {0x1f4ff, 0x1f53d},
	{0x1f54b, 0x1f54e}, {0x1f550, 0x1f567}, {0x1f57a, 0x1f57a}, {0x1f595, 0x1f596}, {0x1f5a4, 0x1f5a4}, {0x1f5fb, 0x1f64f},
	{0x1f680, 0x1f6c5}, {0x1f6cc, 0x1f6cc}, {0x1f6d0, 0x1f6d2}, {0x1f6d5, 0x1f6d7}, {0x1f6dc, 0x1f6df}, {0x1f6eb, 0x1f6ec},
	{0x1f6f4, 0x1f6fc}, {0x1f7e0, 0x1f7eb}, {0x1f90c, 0x1f93a}, {0x1f93c, 0x1f945}, {0x1f947, 0x1f9ff}, {0x1fa70, 0x1faff},
	{0x20000, 0x2fffd}, {0x30000, 0x3fffd}};

static bool is_in(const struct range *table, int n, uint32_t code)
{
	int low = 0;
	while (low < n) {
		const int middle = low + (n - low) / 2;
		if (code >= table[middle].first && code <= table[middle].last)
			return true;
		if (code < table[middle].first)
			n = middle;
		else
			low = middle + 1;
	}
	return false;
}

int code_columns(uint32_t code)
{
	if (code < none[0].first)
		return 1;
	return is_in(none, ARRAY_LEN(none), code) ? 0 : is_in(two, ARRAY_LEN(two), code) ? 2 : 1;
}

/* Of the first character; *bytes that it has. */
static int char_columns(size_t *bytes, const char *s, size_t n)
{
	uint32_t code = (unsigned char)s[0];
	const size_t len = utf8_read(&code, s, n);
	*bytes = len ? len : 1;
	return len ? code_columns(code) : 1;
}

int text_columns(const char *s, size_t n)
{
	int columns = 0;
	size_t bytes;
	for (size_t i = 0; i < n; i += bytes)
		columns += char_columns(&bytes, s + i, n - i);
	return columns;
}

/* The bytes of s that fit into `width` columns, *columns that they take. */
static size_t fitting(int *columns, const char *s, size_t n, int width)
{
	size_t i = 0, bytes;
	for (*columns = 0; i < n; i += bytes) {
		const int c = char_columns(&bytes, s + i, n - i);
		if (*columns + c > width)
			break;
		*columns += c;
	}
	return i;
}

int sb_fit(struct strbuf *sb, const char *s, int width)
{
	static const char dots[] = "…";
	const size_t n = strlen(s);
	int columns;
	if (width <= 0 || fitting(&columns, s, n, width) == n) {
		sb_put(sb, s, n);
		return text_columns(s, n);
	}
	sb_put(sb, s, fitting(&columns, s, n, width - 1));
	sb_puts(sb, dots);
	return columns + 1;
}

static void new_line(struct strbuf *sb, int indent)
{
	sb_putc(sb, '\n');
	for (int i = 0; i < indent; i++)
		sb_putc(sb, ' ');
}

void sb_wrap(struct strbuf *sb, const char *s, int from, int indent, int width)
{
	int at = from;
	bool first = true; /* on its line */
	for (s += strspn(s, " \n"); *s; s += strspn(s, " \n")) {
		size_t n = strcspn(s, " \n");
		int columns = text_columns(s, n);
		if (width && !first && at + 1 + columns > width) {
			new_line(sb, indent);
			at = indent;
			first = true;
		}
		if (!first) {
			sb_putc(sb, ' ');
			at++;
		}
		while (width && at + columns > width && width > indent + 1) {
			int used;
			const size_t part = fitting(&used, s, n, width - at);
			sb_put(sb, s, part);
			new_line(sb, indent);
			s += part;
			n -= part;
			columns -= used;
			at = indent;
		}
		sb_put(sb, s, n);
		s += n;
		at += columns;
		first = false;
	}
}

/* ---- colours ------------------------------------------------------------------------------------------------------------------------- */

#define END "\033[0m"
static const char *const sequence[NSTYLES] = {
	[STYLE_PLAIN] = "",
	[STYLE_HEADING] = "\033[1m",
	[STYLE_HIGH] = "\033[31m",
	[STYLE_NORMAL] = "\033[33m",
	[STYLE_FAINT] = "\033[2m",
};

void style_begin(struct strbuf *sb, const struct look *look, enum style style) { sb_puts(sb, look->color ? sequence[style] : ""); }
void style_end(struct strbuf *sb, const struct look *look, enum style style)
{
	sb_puts(sb, look->color && style != STYLE_PLAIN ? END : "");
}

size_t style_sequence(const char *s, size_t n)
{
	for (int i = 0; i <= NSTYLES; i++) {
		const char *known = i == NSTYLES ? END : sequence[i];
		const size_t len = strlen(known);
		if (len && n >= len && memcmp(s, known, len) == 0)
			return len;
	}
	return 0;
}

bool style_unfinished(const char *s, size_t n)
{
	for (int i = 0; i < NSTYLES; i++)
		if (n < strlen(sequence[i]) && memcmp(s, sequence[i], n) == 0)
			return true;
	return n < strlen(END) && memcmp(s, END, n) == 0;
}

/* ---- what standard output is --------------------------------------------------------------------------------------------------------- */

const char *const color_when_name[NCOLOR_WHENS] = {"auto", "always", "never"};

bool screen_color(enum color_when when, int fd)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
	if (when != COLOR_AUTO)
		return when == COLOR_ALWAYS;
	return isatty(fd) && term && term[0] && !str_eq(term, "dumb") && !(no && no[0]);
}

enum { MOST_WIDTH = 4096 };

int screen_width(int fd)
{
	struct winsize w;
	const char *given = getenv("COLUMNS");
	const long n = given ? strtol(given, NULL, 10) : 0;
	if (n > 0)
		return (int)MIN(n, (long)MOST_WIDTH);
	return isatty(fd) ? ioctl(fd, TIOCGWINSZ, &w) == 0 && w.ws_col ? w.ws_col : 80 : 0;
}

int screen_height(int fd)
{
	struct winsize w;
	return isatty(fd) && ioctl(fd, TIOCGWINSZ, &w) == 0 ? w.ws_row : 0;
}
