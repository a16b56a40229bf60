/* html.h: JSON in a template: a page of one file that needs no network, no server and no other file. */
#ifndef SCATTERPROOF_HTML_H
#define SCATTERPROOF_HTML_H

#include "eager/base/base.h"

extern const unsigned char page_cause_html[], page_index_html[]; /* cause.html, index.html */

/* The template with the JSON in the place of its one mark @DATA@, written so that no text in it ends the element. */
void html_page(struct strbuf *sb, const unsigned char *template_, const struct strbuf *json);

#endif
