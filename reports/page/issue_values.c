/* issue_values.c: a window of elements as people read arrays, rows under each other, wrong ones marked; then the two layouts, if they
 * differ. */
#include "eager/lang/dtype.h"
#include "reports/page/issue.h"
#include "reports/page/markup.h"

enum { MOST_ROWS = 8, MOST_COLUMNS = 8, WIDTH = 14, MOST_STRIDE = 1 << 20 };

/* Of the window that is kept, in its last two dims: as much as is shown, with the first wrong element in it. */
struct window {
	int rows, columns;
	int64_t top, left; /* elements of the kept window before them */
	int64_t stride;    /* elements of one of its rows */
};

/* "?": null, the reference leaves it open. */
static const char *element(struct json_doc *d, const char *side, int64_t at, struct arena *a)
{
	const char *text = json_doc_text(d, a, "$.values.%s[%lld]", side, (long long)at);
	return text[0] ? text : "?";
}

static int64_t extent(struct json_doc *d, int dim, int64_t most)
{
	return dim < 0 ? 1 : MIN(MAX(json_doc_int(d, 1, "$.values.size[%d]", dim), 0), most);
}

/* The first of n elements that is shown, so that `at` is among those that are. */
static int64_t first_shown(int64_t at, int64_t n, int shown) { return MIN(MAX(at - shown / 2, 0), n - shown); }

static struct window window_of(struct json_doc *d, struct arena *a)
{
	const int rank = json_doc_count(d, "$.values.size");
	const int64_t rows = extent(d, rank - 2, MOST_STRIDE), columns = extent(d, rank - 1, MOST_STRIDE);
	struct window w = {.rows = (int)MIN(rows, MOST_ROWS), .columns = (int)MIN(columns, MOST_COLUMNS), .stride = columns};
	const int64_t n = MIN(rows * columns, json_doc_count(d, "$.values.got"));
	for (int64_t k = 0; k < n; k++) {
		const char *want = element(d, "expected", k, a);
		if (str_eq(want, "?") || str_eq(want, element(d, "got", k, a)))
			continue;
		w.top = first_shown(k / columns, rows, w.rows);
		w.left = first_shown(k % columns, columns, w.columns);
		break;
	}
	return w;
}

static const char *shown(struct json_doc *d, const char *side, const struct window *w, int row, int column, struct arena *a)
{
	return element(d, side, (w->top + row) * w->stride + w->left + column, a);
}

static void put_array(struct strbuf *sb, struct json_doc *d, const char *side, const struct window *w, struct arena *a)
{
	for (int i = 0; i < w->rows; i++) {
		sb_printf(sb, "%-9s", i ? "" : side);
		for (int k = 0; k < w->columns; k++)
			sb_printf(sb, " %*s", WIDTH, shown(d, side, w, i, k, a));
		sb_puts(sb, w->stride > w->left + w->columns ? " ...\n" : "\n");
	}
}

static bool special_in(struct json_doc *d, const char *side, const struct window *w, const char *word, struct arena *a)
{
	for (int i = 0; i < w->rows; i++)
		for (int k = 0; k < w->columns; k++)
			if (strstr(shown(d, side, w, i, k, a), word))
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
static void put_from(struct strbuf *sb, struct json_doc *d, const struct window *w, bool short_script, struct arena *a)
{
	const int rank = json_doc_count(d, "$.values.from");
	const char *from = "[";
	for (int k = 0; k < rank; k++)
		from = arena_printf(a, "%s%s%lld", from, k ? ", " : "",
			(long long)(json_doc_int(d, 0, "$.values.from[%d]", k)
				+ (k == rank - 1        ? w->left
						: k == rank - 2 ? w->top
										: 0)));
	from = arena_printf(a, "%s]", from);
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
		const struct window w = window_of(d, a);
		sb_init(&text);
		put_from(sb, d, &w, p->short_script, a);
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
