/* summary.c: the table first, because a reader may stop there; each cause folds out. */
#include "reports/page/ci.h"
#include "reports/page/markup.h"
#include "reports/render/causes_show.h"

enum { MOST_PROGRAM = 8 << 10 };

static void put_counts(struct strbuf *sb, const struct page_store *all)
{
	int open = 0, high = 0;
	for (int i = 0; i < all->causes.n; i++) {
		const struct store_cause *c = &all->causes.cause[i];
		open += c->open;
		high += c->open && c->severity == SEVERITY_HIGH;
	}
	sb_puts(sb, "## scatterproof: ");
	causes_count(sb, &all->causes);
	sb_puts(sb, "\n\n");
	sb_printf(sb, "%d silently wrong. %d decided (known, fixed, dismissed).\n\n", high, all->causes.n - open);
}

static void put_row(struct strbuf *sb, const struct store_cause *c, const struct page_row *row)
{
	sb_printf(sb, "| %d | `%s` | %s | ", c->number, c->id, finding_severity_name[c->severity]);
	markup_title(sb, c->title);
	if (row->right_on[0]) {
		sb_puts(sb, " (right on ");
		markup_text(sb, row->right_on, MARKUP_LINE);
		sb_puts(sb, ", the newest here)");
	}
	sb_puts(sb, " | ");
	markup_code(sb, c->target, MARKUP_LINE);
	sb_printf(sb, " | %lld | %.10s |\n", (long long)c->nobs, c->last_seen);
}

static void put_details(struct strbuf *sb, const struct store_cause *c, const char *db)
{
	sb_printf(sb, "<details><summary>%d: ", c->number);
	markup_xml(sb, c->title, MARKUP_LINE);
	sb_puts(sb, "</summary>\n\n");
	if (c->blame[0]) {
		markup_text(sb, c->blame, MARKUP_LINE);
		sb_puts(sb, "\n\n");
	}
	markup_fence(sb, "", c->program, MOST_PROGRAM);
	sb_printf(sb, "\n`scatterproof repro %s --db` ", c->id);
	markup_code(sb, db, MARKUP_LINE);
	sb_puts(sb, "\n\n</details>\n\n");
}

/* Appends part if both, and a note, fit. */
static bool add(struct strbuf *sb, struct strbuf *part)
{
	enum { NOTE = 200 };
	const bool fits = sb->len + part->len + NOTE <= SUMMARY_MOST;
	if (fits)
		sb_put(sb, part->s, part->len);
	sb_reset(part);
	return fits;
}

void summary_write(struct strbuf *sb, const struct page_store *all)
{
	struct strbuf part;
	int open = 0, rows = 0, details = 0;
	while (open < all->causes.n && all->causes.cause[open].open)
		open++;
	sb_init(&part);
	put_counts(sb, all);
	if (open)
		sb_puts(sb, "| # | finding | severity | what | target | seen | last |\n|---|---|---|---|---|---|---|\n");
	for (bool fits = true; rows < open && fits; rows += fits) {
		put_row(&part, &all->causes.cause[rows], &all->row[rows]);
		fits = sb->len < SUMMARY_MOST / 2 && add(sb, &part);
	}
	sb_reset(&part);
	sb_putc(sb, '\n');
	if (rows < open)
		sb_printf(sb, "%d more rows do not fit here: report.json has them.\n\n", open - rows);
	for (bool fits = true; details < rows && fits; details += fits) {
		put_details(&part, &all->causes.cause[details], all->db);
		fits = add(sb, &part);
	}
	if (details < rows)
		sb_printf(sb, "The programs of %d more do not fit here: they are in their folders.\n", rows - details);
	sb_free(&part);
}
