/* table.h: rows in columns that fit a screen: one column is elastic and takes what the others leave; where that is too little, others are
 * left out, the least important first. Cells are cut with "…", never wrapped. On a screen without a width each cell is all there. */
#ifndef SCATTERPROOF_TABLE_H
#define SCATTERPROOF_TABLE_H

#include "eager/base/screen.h"

enum { MAX_TABLE = 12 };
struct table_column {
	const char *name;
	int width;    /* screen columns; not of the elastic one, nor of the last, which ends where it ends if there is no width */
	int leave;    /* left out in this order: 1 first; 0: never */
	bool elastic; /* one of them */
	bool right;
};
struct table {
	const struct look *look;
	int n;
	struct table_column column[MAX_TABLE];
	bool out[MAX_TABLE]; /* left out */
};
/* The caller sets all but `out`. least: columns that the elastic one should have. */
void table_layout(struct table *t, int least);
void table_head(struct strbuf *sb, const struct table *t);
/* The cells of a row in their order, k from 0; text: harmless (escape.h), one line. */
void table_cell(struct strbuf *sb, const struct table *t, int k, const char *text, enum style style);

#endif
