/* issue_code.c: the kernel that Inductor generated for the graph in which the suspect is. Its code names no node, but the operators
 * that each kernel is made of, and a minimised program mostly has one kernel: so the only one is shown, or the only one that is named after
 * the suspect. Where several could be meant, nothing is. */
#include "reports/page/issue.h"
#include "reports/page/markup.h"

enum { MOST_LINES = 60 };

/* name = async_compile.LANGUAGE(…, '''TEXT'''). */
struct kernel {
	const char *name, *language, *text;
};

/* Behind the kernel that begins at *at or later; false: there is none. */
static bool next_kernel(struct kernel *out, const char **at, struct arena *a)
{
	static const char made[] = " = async_compile.", quote[] = "'''";
	const char *is = strstr(*at, made), *text = is ? strstr(is, quote) : NULL, *end = text ? strstr(text + strlen(quote), quote) : NULL;
	if (!end)
		return false;
	const char *name = is;
	while (name > *at && name[-1] != '\n')
		name--;
	const char *language = is + strlen(made);
	text += strlen(quote);
	text += *text == '\n';
	*out = (struct kernel){.name = arena_printf(a, "%.*s", (int)(is - name), name),
		.language = arena_printf(a, "%.*s", (int)strcspn(language, "(_"), language),
		.text = arena_printf(a, "%.*s", (int)MAX(end - text, 0), text)};
	*at = end + strlen(quote);
	return true;
}

/* Is it named after the operator? "cpp_fused_expand_slice_scatter_0" after aten.slice_scatter.default. */
static bool is_of(const struct kernel *k, const char *op, struct arena *a)
{
	const char *name = str_starts(op, "aten.") ? op + strlen("aten.") : op;
	return strstr(k->name, arena_printf(a, "_%.*s_", (int)strcspn(name, "."), name)) != NULL;
}

/* NULL: none, or several. */
static const struct kernel *kernel_of(const char *code, const char *op, struct arena *a)
{
	struct kernel k, *only = ARENA_NEW(a, struct kernel, 1), *named = ARENA_NEW(a, struct kernel, 1);
	int n = 0, nnamed = 0;
	for (const char *at = code; next_kernel(&k, &at, a); n++) {
		*only = k;
		if (is_of(&k, op, a)) {
			*named = k;
			nnamed++;
		}
	}
	return n == 1 ? only : nnamed == 1 ? named : NULL;
}

/* The first lines; *more: how many are left out. */
static const char *first_lines(int *more, const char *text, struct arena *a)
{
	const char *s = text;
	int n = 0;
	for (; *s && n < MOST_LINES; s += *s == '\n')
		if (*(s += strcspn(s, "\n")))
			n++;
	const char *shown = arena_printf(a, "%.*s", (int)(s - text), text);
	for (*more = 0; *s; s += *s == '\n') {
		s += strcspn(s, "\n");
		++*more;
	}
	return shown;
}

static void put_text(struct strbuf *sb, const char *language, const char *text, struct arena *a)
{
	int more;
	const char *shown = first_lines(&more, text, a);
	markup_fence(sb, language, shown, MARKUP_BLOCK);
	if (more)
		sb_printf(sb, "\n%d line%s more are not shown.\n", more, plural(more));
	sb_putc(sb, '\n');
}

void issue_hlo(struct strbuf *sb, const struct cause_page *p, struct arena *a)
{
	static const struct {
		const char *artifact, *language, *what;
	} kept[] = {{"StableHLO graph", "mlir", "What XLA is given"}, {"optimised HLO graph", "", "What it makes of it"}};
	for (int i = 0; i < ARRAY_LEN(kept); i++) {
		const struct store_loaded_artifact *f = store_loaded_artifact(&p->f, kept[i].artifact);
		if (!f)
			continue;
		sb_printf(sb, "%s%s:\n\n", i ? "" : "### HLO\n\n", kept[i].what);
		put_text(sb, kept[i].language, f->bytes, a);
	}
}

void issue_code(struct strbuf *sb, const struct cause_page *p, const char *op, bool backward, struct arena *a)
{
	const char *name = backward ? "backward code" : "forward code";
	const struct store_loaded_artifact *kept = store_loaded_artifact(&p->f, name);
	const struct kernel *k = kept ? kernel_of(kept->bytes, op, a) : NULL;
	if (!k)
		return;
	sb_printf(sb, "The kernel that is generated for it, ");
	markup_code(sb, k->name, MARKUP_LINE);
	sb_puts(sb, ":\n\n");
	put_text(sb, str_eq(k->language, "cpp") ? "cpp" : "python", k->text, a);
}
