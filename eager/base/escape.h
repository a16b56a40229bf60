/* escape.h: the one way in which text from outside (a program, a store, a worker, a command line) reaches a terminal, a report or a script.
 *
 * Harmful are: control characters (C0 with ESC and CR, DEL, C1 as the byte 0x9b or as UTF-8), characters that change the direction of
 * writing (U+061C, U+200E/F, U+202A to E, U+2066 to 9), U+2028/9, which some readers take for the end of a line, and bytes that are
 * no valid UTF-8. They come out as \x1b, \r, \u202e, \xff. Newline and tab are harmful where one line is meant, and fine in a block.
 * A backslash stays as it is: text is escaped for people, not to be read back, and escaping twice changes nothing. */
#ifndef SCATTERPROOF_ESCAPE_H
#define SCATTERPROOF_ESCAPE_H

#include "eager/base/base.h"

/* The character at s as in RFC 3629 (no overlong forms, no surrogates): its bytes, 0 if it is not valid. */
size_t utf8_read(uint32_t *code, const char *s, size_t n);
bool utf8_valid(const void *p, size_t n);
size_t utf8_cut(const char *s, size_t n); /* the largest length <= n that splits no character */
bool code_harmful(uint32_t code);

/* The first character of s, harmless: newline as \n, tab as \t. Returns the bytes used. */
size_t escape_char(struct strbuf *sb, const char *s, size_t n);
void escape_line(struct strbuf *sb, const char *s);
const char *escaped_line(struct arena *a, const char *s);
/* Lines and tabs stay. Every line but the first begins with indent, so that none can pose as one of ours. */
void escape_lines(struct strbuf *sb, const char *indent, const char *s, size_t n);
const char *escaped_lines(struct arena *a, const char *indent, const char *s);

/* Text that may hold anything, made harmless, newline and tab kept. Each line is preceded by indent; a final newline is
 * added if there is none. */
void escape_block(struct strbuf *sb, const char *indent, const char *s, size_t n);
/* The same without indent; newline and tab too come out as \n and \t, backslash as \\: for one cell of a line. */
void escape_cell(struct strbuf *sb, const char *s, size_t n);

void escape_python(struct strbuf *sb, const char *s); /* a string literal, quotes included */
bool python_keyword(const char *s, size_t n);         /* are these n bytes a word that is no name there? */
void escape_shell(struct strbuf *sb, const char *s);  /* one word of a command; quoted only if it needs to be */

#endif
