/* issue_values.c: a window of elements as people read arrays, rows under each other, wrong ones marked; then the two layouts, if they
 * differ. */
#include "eager/lang/dtype.h"
#include "reports/page/issue.h"
#include "reports/page/markup.h"

enum { MOST_ROWS = 8, MOST_COLUMNS = 8, WIDTH = 14, MOST_STRIDE = 1 << 20 };

/* The window's last two dims. */
struct window {
	int rows, columns;
	int64_t stride; /* elements of one row of the window that is kept */
};

static struct window window_of(struct json_doc *d)
{
	const int rank = json_doc_count(d, "$.values.size");
	struct window w = {1, 1, 1};
	if (rank >= 1)
		w.stride = MIN(MAX(json_doc_int(d, 1, "$.values.size[%d]", rank - 1), 0), MOST_STRIDE);
	if (rank >= 2)
		w.rows = (int)MIN(MAX(json_doc_int(d, 1, "$.values.size[%d]", rank - 2), 0), MOST_ROWS);
	w.columns = (int)MIN(MAX(w.stride, 0), MOST_COLUMNS);
	return w;
}

/* "?": null, the reference leaves it open. */
static const char *element(struct json_doc *d, const char *side, int64_t at, struct arena *a)
{
	const char *text = json_doc_text(d, a, "$.values.%s[%lld]", side, (long long)at);
	return text[0] ? text : "?";
}

static void put_array(struct strbuf *sb, struct json_doc *d, const char *side, const struct window *w, struct arena *a)
{
	for (int i = 0; i < w->rows; i++) {
		sb_printf(sb, "%-9s", i ? "" : side);
		for (int k = 0; k < w->columns; k++)
			sb_printf(sb, " %*s", WIDTH, element(d, side, i * w->stride + k, a));
		sb_puts(sb, w->stride > w->columns ? " ...\n" : "\n");
	}
}

static bool special_in(struct json_doc *d, const char *side, const struct window *w, const char *word, struct arena *a)
{
	for (int i = 0; i < w->rows; i++)
		for (int k = 0; k < w->columns; k++)
			if (strstr(element(d, side, i * w->stride + k, a), word))
				return true;
	return false;
}

static void put_notes(struct strbuf *sb, struct json_doc *d, const struct window *w, struct arena *a)
{
	static const char *const words[] = {"nan", "inf"}, *const named[] = {"NaN", "infinity"};
	for (int i = 0; i < ARRAY_LEN(words); i++)
		if (special_in(d, "got", w, words[i], a) && !special_in(d, "expected", w, words[i], a))
			sb_printf(sb, "None of these must be %s.\n\n", named[i]);
	if (special_in(d, "expected", w, "?", a))
		sb_puts(sb, "`?`: several values are right there.\n\n");
}

/* "from [0, 6, 0]": the window is not the whole tensor, or not its beginning. A short script shows the bug with the plainest inputs that
 * do; what was judged had others. */
static void put_from(struct strbuf *sb, struct json_doc *d, bool short_script, struct arena *a)
{
	const char *from = json_doc_text(d, a, "$.values.from");
	sb_puts(sb, "Elements of ");
	markup_code(sb, json_doc_text(d, a, "$.tensor.name"), MARKUP_LINE);
	if (strpbrk(from, "123456789")) {
		sb_puts(sb, " from ");
		markup_code(sb, from, MARKUP_LINE);
		sb_puts(sb, " on");
	}
	sb_puts(sb, short_script ? " in the run that was judged (the script's inputs may be plainer):\n\n" : ":\n\n");
}

const char *issue_dtype(const char *name, struct arena *a)
{
	for (int i = 0; i < NDTYPES; i++)
		if (str_eq(dtype_info[i].name, name))
			return arena_printf(a, "torch.%s", dtype_info[i].torch);
	return name;
}

const char *issue_dtypes(const char *text, struct arena *a)
{
	static const char name[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
	struct strbuf sb;
	sb_init(&sb);
	while (*text) {
		const size_t n = strspn(text, name);
		const char *word = arena_printf(a, "%.*s", (int)MAX(n, 1), text);
		sb_puts(&sb, n && text[n] == '[' ? issue_dtype(word, a) : word);
		text += MAX(n, 1);
	}
	const char *out = arena_strdup(a, sb.s);
	sb_free(&sb);
	return out;
}

static const char *layout(struct json_doc *d, const char *path, struct arena *a)
{
	return arena_printf(a, "%s, size %s, strides %s, offset %s", issue_dtype(json_doc_text(d, a, "%s.dtype", path), a),
		json_doc_text(d, a, "%s.size", path), json_doc_text(d, a, "%s.stride", path), json_doc_text(d, a, "%s.offset", path));
}

static void put_layouts(struct strbuf *sb, struct json_doc *d, struct arena *a)
{
	const char *want = layout(d, "$.tensor.expected", a), *got = layout(d, "$.tensor.got", a);
	sb_puts(sb, "| | layout |\n|---|---|\n| expected | ");
	markup_code(sb, want, MARKUP_LINE);
	sb_puts(sb, " |\n| got | ");
	markup_code(sb, got, MARKUP_LINE);
	sb_puts(sb, " |\n\n");
}

/* "[0, 6, 0] expected 0.5, got 0": what the first report says of its first tensor, in stores without facts. */
static void put_reported(struct strbuf *sb, const struct cause_page *p, struct arena *a)
{
	enum { MOST_LINES = 8 };
	const struct store_loaded_artifact *kept = store_loaded_artifact(&p->f, "report");
	struct strbuf lines;
	int n = 0;
	sb_init(&lines);
	for (const char *s = kept ? kept->bytes : ""; *s && n < MOST_LINES;) {
		const size_t len = strcspn(s, "\n");
		const char *line = arena_printf(a, "%.*s", (int)len, s);
		line += strspn(line, " ");
		const bool element = line[0] == '[' && strstr(line, "] expected ");
		if (n && !element)
			break;
		if (element) {
			sb_printf(&lines, "%s\n", line);
			n++;
		}
		s += len + (s[len] == '\n');
	}
	if (n) {
		sb_puts(sb, "### Expected and got\n\nIn the program that it was found with:\n\n");
		markup_fence(sb, "", lines.s, MARKUP_BLOCK);
		sb_putc(sb, '\n');
	}
	sb_free(&lines);
}

void issue_values(struct strbuf *sb, const struct cause_page *p, struct arena *a)
{
	struct json_doc *d = p->facts;
	const bool values = json_doc_count(d, "$.values.got") > 0;
	const bool layouts = json_doc_has(d, "$.tensor.expected.stride") && json_doc_has(d, "$.tensor.got.stride")
		&& !str_eq(layout(d, "$.tensor.expected", a), layout(d, "$.tensor.got", a));
	if (!values && !layouts) {
		put_reported(sb, p, a);
		return;
	}
	sb_puts(sb, "### Expected and got\n\n");
	if (values) {
		struct strbuf text;
		const struct window w = window_of(d);
		sb_init(&text);
		put_from(sb, d, p->short_script, a);
		put_array(&text, d, "expected", &w, a);
		put_array(&text, d, "got", &w, a);
		markup_fence(sb, "", text.s, MARKUP_BLOCK);
		sb_putc(sb, '\n');
		put_notes(sb, d, &w, a);
		sb_free(&text);
	}
	if (layouts)
		put_layouts(sb, d, a);
}
