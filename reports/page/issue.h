/* issue.h: a cause as the text of an upstream issue, in Markdown, in the order of PyTorch's form: what happens, the script, what must come
 * out and what does, what is right, since when, what helps, where it goes wrong, who meets it, versions. A section appears only if the
 * store knows something for it. The last one is left to a person, who reads and sends it: nothing is ever sent from here. */
#ifndef SCATTERPROOF_ISSUE_H
#define SCATTERPROOF_ISSUE_H

#include "reports/page/page_load.h"

void issue_write(struct strbuf *sb, const struct cause_page *p, struct arena *a);

/* The parts that have a file of their own. Each appends nothing where the store knows nothing. */
void issue_values(struct strbuf *sb, const struct cause_page *p, struct arena *a); /* expected against got: elements and layouts */
void issue_place(struct strbuf *sb, const struct cause_page *p, struct arena *a);  /* the operator to blame, and its lines in the graphs */
void issue_right(struct strbuf *sb, const struct cause_page *p, struct arena *a);  /* stages, sizes, dtypes, versions that are right */

#endif
