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
/* Behind it: the generated kernel, where the store has its text and one alone can be meant. op: the suspect. */
void issue_code(struct strbuf *sb, const struct cause_page *p, const char *op, bool backward, struct arena *a);
/* What XLA was given and made of it, if that is kept. */
void issue_hlo(struct strbuf *sb, const struct cause_page *p, struct arena *a);
void issue_right(struct strbuf *sb, const struct cause_page *p, struct arena *a);   /* stages, sizes, dtypes, versions that are right */
void issue_helps(struct strbuf *sb, const struct cause_page *p, struct arena *a);   /* what a user can do */
void issue_reach(struct strbuf *sb, const struct cause_page *p);                    /* who meets it, if few do or in several variants */
void issue_same(struct strbuf *sb, const struct cause_page *p, struct arena *a);    /* what PyTorch's own comparisons say */
void issue_similar(struct strbuf *sb, const struct cause_page *p, struct arena *a); /* upstream issues */

/* What a remark of the table says beside "not found upstream" and "not to be filed". In a. */
const char *issue_remark(const struct upstream_issue *u, struct arena *a);
/* "f32" as PyTorch writes it, "torch.float32"; other words as they are. In a. */
const char *issue_dtype(const char *name, struct arena *a);
/* The same of each "f32[…]" of a text. */
const char *issue_dtypes(const char *text, struct arena *a);

#endif
