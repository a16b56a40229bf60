/* table.c: widths are settled once, before the first row. */
#include "reports/render/table.h"

enum { GAP = 2 };

/* What the columns but the elastic one take, gaps included. */
static int taken(const struct table *t)
{
	int sum = 0, n = 0;
	for (int k = 0; k < t->n; k++) {
		n += !t->out[k];
		sum += t->out[k] || t->column[k].elastic ? 0 : t->column[k].width;
	}
	return sum + GAP * (n - 1);
}

static int next_to_leave(const struct table *t)
{
	int found = -1;
	for (int k = 0; k < t->n; k++)
		if (!t->out[k] && t->column[k].leave && (found < 0 || t->column[k].leave < t->column[found].leave))
			found = k;
	return found;
}

void table_layout(struct table *t, int least)
{
	memset(t->out, 0, sizeof t->out);
	if (!t->look->width)
		return;
	for (int k; t->look->width - taken(t) < least && (k = next_to_leave(t)) >= 0;)
		t->out[k] = true;
	for (int k = 0; k < t->n; k++)
		if (t->column[k].elastic)
			t->column[k].width = MAX(t->look->width - taken(t), 1);
}

static void blanks(struct strbuf *sb, int n)
{
	for (int i = 0; i < n; i++)
		sb_putc(sb, ' ');
}

void table_cell(struct strbuf *sb, const struct table *t, int k, const char *text, enum style style)
{
	const struct table_column *c = &t->column[k];
	bool first = true, last = true;
	for (int i = 0; i < t->n; i++) {
		first &= t->out[i] || i >= k;
		last &= t->out[i] || i <= k;
	}
	if (t->out[k]) {
		sb_puts(sb, k == t->n - 1 ? "\n" : "");
		return;
	}
	struct strbuf cell;
	sb_init(&cell);
	const int columns = sb_fit(&cell, text, t->look->width ? c->width : 0), pad = MAX(c->width - columns, 0);
	blanks(sb, first ? 0 : GAP);
	blanks(sb, c->right ? pad : 0);
	style_begin(sb, t->look, style);
	sb_put(sb, cell.s, cell.len);
	style_end(sb, t->look, style);
	blanks(sb, c->right || last ? 0 : pad);
	sb_puts(sb, k == t->n - 1 ? "\n" : "");
	sb_free(&cell);
}

void table_head(struct strbuf *sb, const struct table *t)
{
	for (int k = 0; k < t->n; k++)
		table_cell(sb, t, k, t->column[k].name, STYLE_HEADING);
}
