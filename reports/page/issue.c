/* issue.c: the sections in their order. What is measured comes from triage's artifacts, or else from the first observation. */
#include "reports/page/issue.h"

#include "eager/base/escape.h"
#include "reports/page/markup.h"

/* ---- what happens -------------------------------------------------------------------------------------------------------------------- */

/* "the gradient of `x`", "output 0 (`sum_1`)", "the input `y` after the call". NULL: no tensor is known. */
static const char *tensor_words(const struct cause_page *p, struct arena *a)
{
	const char *name = json_doc_text(p->facts, a, "$.tensor.name"), *role = json_doc_text(p->facts, a, "$.tensor.role");
	for (int i = 0; !name[0] && i < p->f.nobs_stored; i++)
		name = p->f.obs[i].tensor;
	if (!name[0])
		return NULL;
	struct strbuf sb;
	sb_init(&sb);
	const size_t n = strlen(name);
	if (str_eq(role, "gradient") || (n > 5 && str_eq(name + n - 5, ".grad"))) {
		sb_puts(&sb, "the gradient of ");
		markup_code(&sb, n > 5 ? arena_printf(a, "%.*s", (int)n - 5, name) : name, MARKUP_LINE);
	} else if (str_starts(name, "input ")) {
		sb_puts(&sb, "the input ");
		markup_code(&sb, arena_printf(a, "%.*s", (int)strcspn(name + 6, " "), name + 6), MARKUP_LINE);
		sb_puts(&sb, ", as it is after the call,");
	} else {
		sb_puts(&sb, "the result ");
		markup_code(&sb, name, MARKUP_LINE);
	}
	const char *text = arena_strdup(a, sb.s);
	sb_free(&sb);
	return text;
}

/* "3 of 24 elements are wrong, all zero." */
static void put_extent(struct strbuf *sb, const struct cause_page *p, struct arena *a)
{
	const int64_t wrong = json_doc_int(p->facts, 0, "$.wrong"), checked = json_doc_int(p->facts, 0, "$.checked");
	const char *pattern = json_doc_text(p->facts, a, "$.pattern"), *detail = "";
	if (p->c->kind != FINDING_VALUE && p->c->kind != FINDING_GRADIENT && p->c->kind != FINDING_MUTATION)
		return;
	if (wrong > 0 && checked > 0) {
		sb_printf(sb, " %lld of %lld element%s %s wrong", (long long)wrong, (long long)checked, plural(checked), wrong == 1 ? "is" : "are");
		if (pattern[0] && !str_eq(pattern, "other") && !str_eq(pattern, "single element")) {
			sb_puts(sb, ": ");
			markup_text(sb, pattern, MARKUP_LINE);
		}
		sb_putc(sb, '.');
		return;
	}
	for (int i = 0; !detail[0] && i < p->f.nobs_stored; i++)
		detail = p->f.obs[i].detail;
	if (detail[0]) {
		sb_puts(sb, " Seen: ");
		markup_text(sb, detail, MARKUP_LINE);
		sb_putc(sb, '.');
	}
}

/* Which facts of two layouts differ: "strides", "sizes and strides". */
static const char *differing(const struct cause_page *p, struct arena *a)
{
	static const char *const key[] = {"dtype", "size", "stride", "offset"},
							 *const word[] = {"the dtype", "the size", "the strides", "the storage offset"};
	const char *text = "";
	for (int i = 0; i < ARRAY_LEN(key); i++) {
		const char *want = json_doc_text(p->facts, a, "$.tensor.expected.%s", key[i]),
				   *got = json_doc_text(p->facts, a, "$.tensor.got.%s", key[i]);
		if (want[0] && got[0] && !str_eq(want, got))
			text = arena_printf(a, "%s%s%s", text, text[0] ? " and " : "", word[i]);
	}
	return text;
}

/* The one sentence that a kind of finding is. */
static const char *fault_words(const struct cause_page *p, struct arena *a)
{
	const char *tensor = tensor_words(p, a), *subject = tensor ? tensor : "a result", *differs = differing(p, a);
	switch (p->c->kind) {
	case FINDING_VALUE:
	case FINDING_GRADIENT: return arena_printf(a, "%s is wrong. Nothing is raised", subject);
	case FINDING_MUTATION: return arena_printf(a, "%s holds something else than in eager mode. Nothing is raised", subject);
	case FINDING_ALIAS:
		return arena_printf(a, "%s shares memory with another tensor where it does not in eager mode, or the reverse", subject);
	case FINDING_META: return arena_printf(a, "%s of %s differ from eager mode", differs[0] ? differs : "dtype, size or strides", subject);
	case FINDING_NONENESS: return arena_printf(a, "%s is None where eager mode has one, or the reverse", subject);
	case FINDING_RAISE: return "the program below raises, and eager mode runs it (or the reverse)";
	case FINDING_CRASH: return "the process dies";
	case FINDING_HANG: return "the call does not return";
	case FINDING_INVARIANT: return "the compiler breaks an invariant that it checks itself";
	case FINDING_NONDETERMINISTIC: return "results differ from run to run with the same data";
	default: return "the program below goes wrong";
	}
}

static void put_where(struct strbuf *sb, const struct cause_page *p)
{
	const struct store_loaded_env *e = p->f.nenvs ? &p->f.env[0] : NULL;
	if (p->where[0]) {
		const char c = p->where[0];
		sb_putc(sb, c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c);
		sb_puts(sb, p->where + 1);
	} else {
		sb_puts(sb, "On ");
		markup_code(sb, p->c->target, MARKUP_LINE);
	}
	if (e && e->version[0]) {
		sb_puts(sb, ", version ");
		markup_text(sb, e->version, MARKUP_LINE);
	}
	if (e && e->device[0]) {
		sb_puts(sb, ", on device ");
		markup_code(sb, e->device, MARKUP_LINE);
	}
	sb_puts(sb, ", ");
}

/* "sum(got) / sum(expected) = n/(n - 7)": of the first series that has a law. */
static void put_formula(struct strbuf *sb, const struct cause_page *p, struct arena *a)
{
	static const char says[] = "the ratio is ";
	for (int i = 0; i < json_doc_count(p->sweep, "$.series"); i++) {
		const char *law = json_doc_text(p->sweep, a, "$.series[%d].law", i), *axis = json_doc_text(p->sweep, a, "$.series[%d].axis", i);
		const char *from = strstr(law, says);
		if (!from)
			continue;
		from += strlen(says);
		const char *formula = arena_printf(a, "%.*s", (int)strcspn(from, ";"), from), *where = strstr(formula, " where ");
		const char *rule = where ? arena_printf(a, "%.*s", (int)(where - formula), formula) : formula;
		sb_puts(sb, "What comes out, added up, by what must come out:\n\n");
		markup_fence(sb, "", arena_printf(a, "sum(got) / sum(expected) = %s", rule), MARKUP_LINE);
		sb_puts(sb, "\n");
		if (strchr(rule, 'n') && axis[0]) {
			sb_puts(sb, "Here n is what was varied: ");
			markup_text(sb, axis, MARKUP_LINE);
			sb_printf(sb, "%s.\n\n", where ? where : "");
		}
		return;
	}
}

static void put_what(struct strbuf *sb, const struct cause_page *p, struct arena *a)
{
	const char *raised = json_doc_text(p->facts, a, "$.raised");
	put_where(sb, p);
	sb_printf(sb, "%s.", fault_words(p, a));
	put_extent(sb, p, a);
	if (p->c->unconfirmed[0]) {
		sb_puts(sb, " It was not seen again in a fresh process: ");
		markup_text(sb, p->c->unconfirmed, MARKUP_LINE);
		sb_putc(sb, '.');
	}
	sb_puts(sb, "\n\n");
	put_formula(sb, p, a);
	for (int i = 0; !raised[0] && p->c->kind >= FINDING_RAISE && i < p->f.nobs_stored; i++)
		raised = p->f.obs[i].detail;
	if (raised[0]) {
		sb_puts(sb, "### Error logs\n\n");
		markup_fence(sb, "", raised, MARKUP_BLOCK);
		sb_putc(sb, '\n');
	}
}

/* ---- the script ---------------------------------------------------------------------------------------------------------------------- */

static void put_script(struct strbuf *sb, const struct cause_page *p)
{
	sb_puts(sb, "### To reproduce\n\n");
	if (p->short_script) {
		markup_fence(sb, "python", p->script, MARKUP_BLOCK);
	} else {
		if (p->script[0])
			sb_puts(sb, "`repro.py` (attached) runs alone: it exits 1 if this happens, 0 if not, 2 if that cannot be told. ");
		sb_puts(sb, "The program, a line per operator:\n\n");
		markup_fence(sb, "", p->c->program, MARKUP_BLOCK);
	}
	sb_putc(sb, '\n');
}

/* ---- what helps, who meets it -------------------------------------------------------------------------------------------------------- */

/* "probe.clone=fw:aten.add.Tensor": `add`. NULL: what users cannot write into a model, such as a copy in the backward graph. */
static const char *cloned_by_users(const char *option, struct arena *a)
{
	static const char is[] = "probe.clone=fw:aten.";
	if (!str_starts(option, is))
		return NULL;
	option += strlen(is);
	return arena_printf(a, "%.*s", (int)strcspn(option, "."), option);
}

/* A cure in a sentence for users; options named "probe.…" are the tool's own, and no advice (issue_place.c has them). */
static void put_cure(struct strbuf *sb, const char *option, struct arena *a)
{
	const char *op = cloned_by_users(option, a);
	if (op) {
		sb_puts(sb, "* It is right if what ");
		markup_code(sb, op, MARKUP_LINE);
		sb_puts(sb, " returns is copied before it is used: append `.clone()`.\n");
	} else if (option[0] && !str_starts(option, "probe.")) {
		sb_puts(sb, "* It is right with the compiler's option ");
		markup_code(sb, option, MARKUP_LINE);
		sb_puts(sb, ".\n");
	}
}

static void put_helps(struct strbuf *sb, const struct cause_page *p, struct arena *a)
{
	enum { MOST = 4 };
	struct strbuf helps;
	sb_init(&helps);
	if (p->right_where[0]) {
		sb_puts(&helps, "* It is right ");
		markup_text(&helps, p->right_where, MARKUP_LINE);
		sb_puts(&helps, ".\n");
	}
	for (int i = 0; i < MIN(json_doc_count(p->facts, "$.cures"), MOST); i++)
		put_cure(&helps, json_doc_text(p->facts, a, "$.cures[%d].option", i), a);
	if (helps.len)
		sb_printf(sb, "### Work-around\n\n%s\n", helps.s);
	sb_free(&helps);
}

static void put_reach(struct strbuf *sb, const struct cause_page *p)
{
	static const struct {
		const char *reach, *text;
	} words[] = {{"python", "Methods and operators of tensors are enough to meet it."},
		{"torch", "Public functions of `torch` meet it; with methods and operators alone it was not seen."},
		{"aten", "Only a direct call of the overload in `torch.ops.aten` met it; by public functions it was not seen."}};
	for (int i = 0; i < ARRAY_LEN(words); i++)
		if (str_eq(p->c->reach, words[i].reach))
			sb_printf(sb, "### Who meets it\n\n%s\n\n", words[i].text);
}

/* "assert_close: differs; same: differs", as torch's own comparisons say it. */
static void put_same(struct strbuf *sb, const struct cause_page *p, struct arena *a)
{
	const char *same = json_doc_text(p->facts, a, "$.same");
	for (int i = 0; !same[0] && i < p->f.nevents; i++)
		if (str_eq(p->f.event[i].kind, "excuse"))
			same = p->f.event[i].payload;
	if (!same[0])
		return;
	sb_puts(sb, "### What PyTorch's own comparisons say\n\n");
	for (const char *s = same; *s; s += strspn(s, "; ")) {
		const size_t n = strcspn(s, ";");
		sb_puts(sb, "* ");
		markup_code(sb, arena_printf(a, "%.*s", (int)n, s), MARKUP_LINE);
		sb_putc(sb, '\n');
		s += n;
	}
	sb_putc(sb, '\n');
}

static void put_upstream(struct strbuf *sb, const struct cause_page *p, struct arena *a)
{
	int n = 0;
	if (p->c->issue[0]) {
		sb_puts(sb, "### Similar issues\n\nIt is marked as known: ");
		markup_code(sb, p->c->issue, MARKUP_LINE);
		sb_puts(sb, ".\n\n");
	}
	for (int i = 0; i < p->nupstream; i++) {
		const struct upstream_issue *u = &p->upstream[i];
		if (str_eq(u->issue, "-") && !u->same)
			continue;
		if (!n++ && !p->c->issue[0])
			sb_puts(sb, "### Similar issues\n\n");
		if (str_eq(u->issue, "-"))
			sb_printf(
				sb, "* A search for `%s`, which has the same operators, found no issue (that proves nothing)", escaped_line(a, u->program));
		else
			sb_printf(sb, "* <%s>: like `%s`, which has %s", escaped_line(a, u->issue), escaped_line(a, u->program),
				u->same ? "the same operators" : "most of its operators in common");
		if (u->remark[0]) {
			sb_puts(sb, "; ");
			markup_text(sb, u->remark, MARKUP_LINE);
		}
		sb_puts(sb, ".\n");
	}
	sb_puts(sb, n ? "\n" : "");
}

static void put_versions(struct strbuf *sb, const struct cause_page *p)
{
	if (!p->environment[0])
		return;
	sb_puts(sb, "### Versions\n\n");
	markup_fence(sb, "", p->environment, MARKUP_BLOCK);
	sb_putc(sb, '\n');
}

static void put_left(struct strbuf *sb, const struct cause_page *p)
{
	sb_puts(sb,
		"### What a person adds\n\n<!-- Read the script and run it. Look at the similar issues. Say what you know beyond this, "
		"then send it yourself. -->\n\n\n");
	sb_printf(sb, "---\nFound by %s, a differential fuzzer; finding %s, seen %lld time%s in %lld finding%s.\n", SCATTERPROOF, p->c->id,
		(long long)p->c->nobs, p->c->nobs == 1 ? "" : "s", (long long)p->c->nfindings, p->c->nfindings == 1 ? "" : "s");
}

void issue_write(struct strbuf *sb, const struct cause_page *p, struct arena *a)
{
	sb_puts(sb, "# ");
	markup_title(sb, p->c->title);
	sb_puts(sb, "\n\n### \xf0\x9f\x90\x9b Describe the bug\n\n");
	put_what(sb, p, a);
	put_script(sb, p);
	issue_values(sb, p, a);
	issue_right(sb, p, a);
	put_helps(sb, p, a);
	issue_place(sb, p, a);
	put_reach(sb, p);
	put_same(sb, p, a);
	put_upstream(sb, p, a);
	put_versions(sb, p);
	put_left(sb, p);
}
