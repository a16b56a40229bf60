/* screen_test.c: columns of characters, lines that are cut and broken, colours that pass and sequences that do not. */
#include "eager/base/screen.h"

#include <stdlib.h>
#include <unistd.h>

#include "eager/base/output.h"
#include "tests/test.h"

#define WIDE  "\xe5\x80\xa4"     /* U+5024, two columns */
#define ACUTE "e\xcc\x81"        /* e and a mark that combines, one column */
#define EMOJI "\xf0\x9f\x98\x80" /* U+1F600, two columns */

static void counts_columns(void)
{
	static const struct {
		const char *text;
		int columns;
	} rows[] = {{"", 0}, {"abc", 3}, {WIDE WIDE, 4}, {ACUTE "x", 2}, {EMOJI, 2}, {"\xc3\xa4\xe2\x80\xa6", 2}, {"\xe2\x80\x8b", 0},
		{"\xff", 1}, {"\xef\xbc\xa1", 2}, {"\xed\x95\x9c", 2}};
	for (int i = 0; i < ARRAY_LEN(rows); i++)
		EXPECT_INT(text_columns(rows[i].text, strlen(rows[i].text)), rows[i].columns);
}

static void expect_fit(const char *text, int width, const char *want, int columns)
{
	struct strbuf sb;
	sb_init(&sb);
	EXPECT_INT(sb_fit(&sb, text, width), columns);
	EXPECT_STR(sb.s, want);
	sb_free(&sb);
}

static void cuts(void)
{
	expect_fit("abcdef", 6, "abcdef", 6);
	expect_fit("abcdef", 5, "abcd…", 5);
	expect_fit("abcdef", 1, "…", 1);
	expect_fit("abcdef", 0, "abcdef", 6);
	expect_fit(WIDE WIDE WIDE, 5, WIDE WIDE "…", 5);
	expect_fit(WIDE WIDE WIDE, 4, WIDE "…", 3); /* half a character is none */
	expect_fit(ACUTE ACUTE ACUTE, 2, ACUTE "…", 2);
}

static void expect_wrap(const char *text, int from, int indent, int width, const char *want)
{
	struct strbuf sb;
	sb_init(&sb);
	sb_wrap(&sb, text, from, indent, width);
	EXPECT_STR(sb.s, want);
	sb_free(&sb);
}

static void breaks(void)
{
	expect_wrap("one two three", 0, 0, 80, "one two three");
	expect_wrap("one  two\n three", 0, 0, 0, "one two three");
	expect_wrap("one two three", 0, 2, 7, "one two\n  three");
	expect_wrap("one two three", 4, 2, 7, "one\n  two\n  three");
	expect_wrap("abcdefghij k", 0, 1, 5, "abcde\n fghi\n j k");
	expect_wrap(WIDE " " WIDE " " WIDE, 0, 0, 5, WIDE " " WIDE "\n" WIDE);
	expect_wrap("", 0, 2, 10, "");
}

/* What comes out behind output.h, in a file. */
static void expect_output(const char *text, size_t piece, bool styled, const char *want)
{
	char path[] = "/tmp/screen_test.XXXXXX";
	struct output out;
	struct err err = {0};
	struct strbuf got;
	const int fd = mkstemp(path);
	CHECK(fd >= 0);
	close(fd);
	sb_init(&got);
	CHECK(output_file(&out, path, &err));
	out.styled = styled;
	for (size_t i = 0; i < strlen(text); i += piece) {
		fwrite(text + i, 1, MIN(piece, strlen(text) - i), out.file);
		fflush(out.file); /* a sequence in two halves is one */
	}
	CHECK(output_close(&out, &err) && sb_read_file(&got, path, 1 << 16, &err));
	EXPECT_STR(got.s, want);
	sb_free(&got);
	unlink(path);
}

static void colours(void)
{
	struct strbuf sb;
	const struct look on = {.color = true}, off = {.color = false};
	sb_init(&sb);
	style_begin(&sb, &off, STYLE_HIGH);
	style_end(&sb, &off, STYLE_HIGH);
	EXPECT_STR(sb.s, "");
	style_begin(&sb, &on, STYLE_HIGH);
	sb_puts(&sb, "x");
	style_end(&sb, &on, STYLE_HIGH);
	EXPECT_INT((int)style_sequence(sb.s, sb.len), 5);
	for (size_t piece = 1; piece <= sb.len; piece++) {
		expect_output(sb.s, piece, true, "\033[31mx\033[0m");
		expect_output(sb.s, piece, false, "\\x1b[31mx\\x1b[0m");
	}
	expect_output("\033[2Jx\033[5;31my\033", 100, true, "\\x1b[2Jx\\x1b[5;31my\\x1b"); /* no colour of ours */
	sb_free(&sb);
}

static void decides(void)
{
	unsetenv("COLUMNS");
	EXPECT_INT(screen_width(-1), 0);
	setenv("COLUMNS", "61", 1);
	EXPECT_INT(screen_width(-1), 61);
	setenv("COLUMNS", "wide", 1);
	EXPECT_INT(screen_width(-1), 0);
	EXPECT_INT(screen_color(COLOR_AUTO, -1), 0);
	EXPECT_INT(screen_color(COLOR_ALWAYS, -1), 1);
	EXPECT_INT(screen_color(COLOR_NEVER, -1), 0);
}

int main(void)
{
	RUN(counts_columns);
	RUN(cuts);
	RUN(breaks);
	RUN(colours);
	RUN(decides);
	return TEST_END();
}
