/* findings_schema.c: see findings_schema.h. schema.txt is read line by line: `name: meaning` begins a table or view, an indented line
 * is one of its columns; the paragraph before the first is for people only. tests/store/store_sql_test.c compares it with the real
 * schema. */
#include "reports/render/findings_schema.h"

#include "eager/base/guess.h"
#include "eager/base/escape.h"
#include "eager/base/json.h"

extern const unsigned char findings_schema_txt[];

/* A line without its newline. */
struct text {
	const char *s;
	size_t n;
};

static struct text next_line(const char **text)
{
	struct text line = {*text, strcspn(*text, "\n")};
	*text += line.n + ((*text)[line.n] == '\n');
	return line;
}

static bool is_table(struct text line) { return line.n && line.s[0] != ' ' && line.s[0] != '#'; }
static bool is_column(struct text line) { return line.n > 2 && line.s[0] == ' '; }

/* "  name      meaning" */
static void json_column(struct strbuf *sb, struct text table, struct text line)
{
	const char *end = line.s + line.n, *name = line.s + strspn(line.s, " ");
	struct text column = {name, strcspn(name, " ")};
	const char *meaning = column.s + column.n;
	while (meaning < end && *meaning == ' ')
		meaning++;
	struct json j = json_into(sb, JSON_TIGHT);
	json_object(&j, NULL);
	json_text(&j, "table", table.s, table.n);
	json_text(&j, "column", column.s, column.n);
	json_text(&j, "meaning", meaning, (size_t)(end - meaning));
	json_end(&j);
	sb_putc(sb, '\n');
}

bool findings_schema(const char *name, struct printer *p, struct strbuf *complaint)
{
	const char *text = (const char *)findings_schema_txt;
	struct text table = {"", 0};
	struct guess g;
	bool inside = !name, found = !name;
	guess_start(&g, name ? name : "", name ? strlen(name) : 0);
	while (*text) {
		struct text line = next_line(&text);
		if (is_table(line)) {
			table = (struct text){line.s, strcspn(line.s, ":")};
			guess_add(&g, table.s, table.n);
			inside = !name || (strlen(name) == table.n && memcmp(name, table.s, table.n) == 0);
			found |= inside;
		}
		if (!inside)
			continue;
		if (!p->json) {
			sb_put(&p->pending, line.s, line.n);
			sb_putc(&p->pending, '\n');
		} else if (is_column(line)) {
			json_column(&p->pending, table, line);
		}
	}
	if (!found) {
		sb_puts(complaint, "the store has no table or view '");
		escape_cell(complaint, name, strnlen(name, 60));
		sb_printf(complaint, "'%s", guess_text(&g));
	}
	return found;
}
