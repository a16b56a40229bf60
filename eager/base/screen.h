/* screen.h: how text stands on a screen: columns that characters take, lines cut or broken where the screen ends, a few colours.
 *
 * Columns are Unicode's (UAX 11, as terminals have it): two for wide and full-width characters and emoji, none for marks that combine
 * with what stands before them and for other characters that show nothing, else one. Text given here is valid UTF-8 and harmless
 * (escape.h); a byte that is no character counts as one column. */
#ifndef SCATTERPROOF_SCREEN_H
#define SCATTERPROOF_SCREEN_H

#include "eager/base/base.h"

/* What lists and pages are made for. */
struct look {
	int width; /* columns of a line; 0: lines end where they end */
	bool color;
};

int code_columns(uint32_t code);
int text_columns(const char *s, size_t n);
/* s, cut to `width` columns; of a longer one the last column is "…". width 0: all of it. Returns the columns. */
int sb_fit(struct strbuf *sb, const char *s, int width);
/* Words of s in lines of at most `width` columns, broken at blanks (a longer word is broken where the line ends); the first line begins
 * at column `from`, the others are indented by `indent`. Runs of blanks and newlines are one blank. width 0: one line. No newline at the
 * end. */
void sb_wrap(struct strbuf *sb, const char *s, int from, int indent, int width);

/* ---- colours: sober, and of the text's own 16, so that they suit light and dark screens -------------------------------------------- */
enum style { STYLE_PLAIN, STYLE_HEADING, STYLE_HIGH, STYLE_NORMAL, STYLE_FAINT, NSTYLES };
/* Text between style_begin and style_end. Nothing where look has no colour. */
void style_begin(struct strbuf *sb, const struct look *look, enum style style);
void style_end(struct strbuf *sb, const struct look *look, enum style style);
/* The length of the sequence that s begins with if it is one of these; 0. */
size_t style_sequence(const char *s, size_t n);
bool style_unfinished(const char *s, size_t n); /* it could become one if more bytes came */

/* ---- what standard output is -------------------------------------------------------------------------------------------------------- */
enum color_when { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER, NCOLOR_WHENS };
extern const char *const color_when_name[NCOLOR_WHENS];
/* AUTO: on a terminal that has colours (TERM is not dumb), unless the environment has a NO_COLOR that is not empty. */
bool screen_color(enum color_when when, int fd);
/* COLUMNS of the environment, if it is a number; else the terminal's; 0 if fd is none. */
int screen_width(int fd);
int screen_height(int fd); /* lines; 0 if it is no terminal */

#endif
