/* issue.c: the sections in their order. What is measured comes from triage's artifacts, or else from the first observation. */
#include "reports/page/issue.h"

#include "eager/base/escape.h"
#include "reports/page/markup.h"

enum { MOST_LINES = 60, MOST_MESSAGE = 2000 };

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

/* The input that owns a storage: "`z`"; else "input 2". */
static const char *owner_words(const struct cause_page *p, const char *number, struct arena *a)
{
	for (int i = 0; i < json_doc_count(p->facts, "$.inputs"); i++)
		if (str_eq(json_doc_text(p->facts, a, "$.inputs[%d].storage", i), number)) {
			struct strbuf sb;
			sb_init(&sb);
			sb_puts(&sb, "the input ");
			markup_code(&sb, json_doc_text(p->facts, a, "$.inputs[%d].name", i), MARKUP_LINE);
			const char *text = arena_strdup(a, sb.s);
			sb_free(&sb);
			return text;
		}
	return arena_printf(a, "input %s", number);
}

/* "output shares the storage of input 2 and should not", of the latest observation: no fact says it. */
static void put_aliasing(struct strbuf *sb, const struct cause_page *p, struct arena *a)
{
	static const char of_input[] = "shares the storage of input ";
	const char *clause = NULL;
	for (int i = 0; i < p->f.nobs_stored; i++) {
		const char *detail = p->f.obs[i].detail, *shares = strstr(detail, "share");
		if (!shares || !strstr(shares, "storage"))
			continue;
		while (shares > detail && shares[-1] != ';' && shares[-1] != ':')
			shares--;
		clause = shares + strspn(shares, " ");
	}
	if (!clause)
		return;
	clause = arena_printf(a, "%.*s", (int)strcspn(clause, ";"), clause);
	const char *input = strstr(clause, of_input);
	if (input) {
		input += strlen(of_input);
		const size_t digits = strspn(input, "0123456789");
		sb_printf(sb, " It shares the memory of %s, and must not.", owner_words(p, arena_printf(a, "%.*s", (int)digits, input), a));
		return;
	}
	sb_puts(sb, " Seen: ");
	markup_text(sb, clause, MARKUP_LINE);
	sb_putc(sb, '.');
}

/* What was observed, of a store that has no facts of it. */
static void put_seen(struct strbuf *sb, const struct cause_page *p, struct arena *a)
{
	const char *detail = "";
	for (int i = 0; !detail[0] && i < p->f.nobs_stored; i++)
		detail = p->f.obs[i].detail;
	if (!detail[0])
		return;
	sb_puts(sb, " Seen: ");
	markup_text(sb, issue_dtypes(detail, a), MARKUP_LINE);
	sb_putc(sb, '.');
}

/* "3 of 24 elements are wrong, all zero." */
static void put_extent(struct strbuf *sb, const struct cause_page *p, struct arena *a)
{
	const int64_t wrong = json_doc_int(p->facts, 0, "$.wrong"), checked = json_doc_int(p->facts, 0, "$.checked");
	const char *pattern = json_doc_text(p->facts, a, "$.pattern");
	if (p->c->kind == FINDING_META || p->c->kind == FINDING_ALIAS) {
		if (json_doc_has(p->facts, "$.tensor.got"))
			put_aliasing(sb, p, a);
		else
			put_seen(sb, p, a);
		return;
	}
	if (p->c->kind != FINDING_VALUE && p->c->kind != FINDING_GRADIENT && p->c->kind != FINDING_MUTATION)
		return;
	if (wrong > 0 && checked > 0) {
		sb_printf(sb, " %lld of %lld element%s %s wrong", (long long)wrong, (long long)checked, plural(checked), wrong == 1 ? "is" : "are");
		if (wrong > 1 && pattern[0] && !str_eq(pattern, "other") && !str_eq(pattern, "single element")) {
			sb_puts(sb, ": ");
			markup_text(sb, pattern, MARKUP_LINE);
		}
		sb_putc(sb, '.');
		return;
	}
	put_seen(sb, p, a);
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
	case FINDING_RAISE:
		return str_starts(p->c->raised, "runs what eager refuses") ? "the program below runs, and eager mode raises"
																   : "the program below raises, and eager mode runs it";
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
	for (int i = 0; i < json_doc_count(p->sweep, "$.series"); i++) {
		const char *law = json_doc_text(p->sweep, a, "$.series[%d].law", i), *axis = json_doc_text(p->sweep, a, "$.series[%d].axis", i);
		if (!strchr(law, 'n')) /* one number for all rows says less than the elements below */
			continue;
		const char *where = strstr(law, " where ");
		const char *rule = where ? arena_printf(a, "%.*s", (int)(where - law), law) : law;
		sb_puts(sb, "What comes out, added up, by what must come out:\n\n");
		markup_fence(sb, "", arena_printf(a, "sum(got) / sum(expected) = %s", rule), MARKUP_LINE);
		sb_puts(sb, "\n");
		if (axis[0]) {
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
		markup_fence(sb, "", raised, MOST_MESSAGE);
		sb_putc(sb, '\n');
	}
}

/* ---- the script ---------------------------------------------------------------------------------------------------------------------- */

static bool is_long(const char *text)
{
	int lines = 0;
	for (; *text; text++)
		lines += *text == '\n';
	return lines > MOST_LINES;
}

/* A program that nobody has made smaller is no text for an issue. */
static void put_script(struct strbuf *sb, const struct cause_page *p)
{
	sb_puts(sb, "### To reproduce\n\n");
	if (p->short_script) {
		markup_fence(sb, "python", p->script, MARKUP_BLOCK);
		sb_putc(sb, '\n');
		return;
	}
	if (p->script[0])
		sb_puts(sb, "[`repro.py`](repro.py) runs alone: it exits 1 if this happens, 0 if not, 2 if that cannot be told. ");
	if (!p->c->triaged || is_long(p->c->program)) {
		sb_puts(sb, "The program, a line per operator: [`program.prog`](program.prog).\n\n");
		return;
	}
	sb_puts(sb, "The program, a line per operator:\n\n");
	markup_fence(sb, "", p->c->program, MARKUP_BLOCK);
	sb_putc(sb, '\n');
}

/* ---- the rest ------------------------------------------------------------------------------------------------------------------------ */

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

static void put_unready(struct strbuf *sb, const struct cause_page *p)
{
	const bool candidate = cause_has_state(p->c, "candidate"), large = !p->c->minimised;
	if (p->c->triaged)
		return;
	sb_printf(sb, "> Do not file this: it is %s yet. Run ",
		large && candidate ? "not minimised and not confirmed"
			: large        ? "not minimised"
			: candidate    ? "not confirmed"
						   : "not triaged to its end");
	struct strbuf command;
	sb_init(&command);
	sb_printf(&command, "scatterproof triage %s --db ", p->c->id);
	escape_shell(&command, p->all->db);
	markup_code(sb, command.s, MARKUP_LINE);
	sb_puts(sb, ".\n\n");
	sb_free(&command);
}

/* What speaks against filing it, before anything that looks ready to be filed. */
static void put_warnings(struct strbuf *sb, const struct cause_page *p, struct arena *a)
{
	const char *right_on = page_versions_right_on(&p->versions);
	put_unready(sb, p);
	if (right_on[0]) {
		sb_puts(sb, "> It is right on ");
		markup_text(sb, right_on, MARKUP_LINE);
		sb_puts(sb, ", the newest version here: do not file it before you have tried a nightly build.\n\n");
	}
	for (int i = 0; i < p->nupstream; i++)
		if (p->upstream[i].same && strstr(p->upstream[i].remark, "not to be filed")) {
			const char *why = issue_remark(&p->upstream[i], a);
			sb_puts(sb, "> This should not be filed, says the table of upstream issues of ");
			markup_code(sb, p->upstream[i].program, MARKUP_LINE);
			sb_puts(sb, why[0] ? ": " : "");
			markup_text(sb, why, MARKUP_LINE);
			sb_puts(sb, ".\n\n");
			return;
		}
}

void issue_write(struct strbuf *sb, const struct cause_page *p, struct arena *a)
{
	put_warnings(sb, p, a);
	sb_puts(sb, "# ");
	markup_title(sb, p->c->title);
	/* As the family's own form for issues has it. */
	sb_puts(sb, str_eq(cause_family(p->c->target, a), "jax") ? "\n\n### Description\n\n" : "\n\n### \xf0\x9f\x90\x9b Describe the bug\n\n");
	put_what(sb, p, a);
	put_script(sb, p);
	issue_values(sb, p, a);
	issue_right(sb, p, a);
	issue_helps(sb, p, a);
	issue_place(sb, p, a);
	issue_hlo(sb, p, a);
	issue_reach(sb, p);
	issue_same(sb, p, a);
	issue_similar(sb, p, a);
	put_versions(sb, p);
	put_left(sb, p);
}
