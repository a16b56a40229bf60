/* markup.h: the one way in which text of stores reaches XML, HTML and Markdown. All that is harmful on a terminal (escape.h: control
 * characters, NUL, directions of writing, bytes that are no UTF-8) comes as \x1b, \u202e here, too, so the result is always valid UTF-8 and
 * valid XML. Newline and tab stay where a block is meant, and come as \n, \t where a line is. Of a text longer than `most` bytes the
 * beginning is taken, and a note says how many bytes are missing. */
#ifndef SCATTERPROOF_MARKUP_H
#define SCATTERPROOF_MARKUP_H

#include "eager/base/base.h"

enum { MARKUP_LINE = 2000, MARKUP_BLOCK = 64 << 10 }; /* `most` of what a person reads */

/* Content of an element, or value of an attribute in double quotes. Lines stay. */
void markup_xml(struct strbuf *sb, const char *s, size_t most);
/* Text in a line of Markdown, or in a cell of a table: it shows as it is. It makes no emphasis, heading, list, link, HTML, mention of a
 * person (@name), reference to an issue (#1). */
void markup_text(struct strbuf *sb, const char *s, size_t most);
/* The same between backticks: `code`, in as many backticks as it takes. A | in a cell of a table ends the cell even there; it comes as
 * U+FF5C, which looks alike. */
void markup_code(struct strbuf *sb, const char *s, size_t most);
/* A title as title.h writes it: what stands between backticks is code if it is a name, all else is text. */
void markup_title(struct strbuf *sb, const char *title);
/* A fenced block, with a fence longer than any run of backticks in it. language: "python"; "" for none. Begins and ends a line. */
void markup_fence(struct strbuf *sb, const char *language, const char *s, size_t most);

#endif
