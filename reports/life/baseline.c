/* baseline.c: the text and its reader, side by side so that they stay each other's inverse. The reader takes nothing for granted: people
 * edit such files, and a word that it passed over would be a bug that nobody sees. */
#include "reports/life/baseline.h"

#include "eager/base/escape.h"
#include "eager/base/guess.h"
#include "eager/base/version.h"
#include "eager/lang/prog.h"
#include "reports/life/lifecycle.h"

enum { MAX_BASELINE = 64 << 20, MAX_ENTRIES = 100000 };
static const char header[] = "# scatterproof baseline 1", indent[] = "    ";

/* ---- writing ------------------------------------------------------------------------------------------------------------------------- */

/* The first line of a value; nothing if there is none. */
static void put_line(struct strbuf *sb, const char *key, const char *value)
{
	size_t n = strcspn(value, "\n");
	if (!n)
		return;
	sb_printf(sb, "%s ", key);
	escape_cell(sb, value, n);
	sb_putc(sb, '\n');
}

static const char *latest(const struct store_loaded *f, enum event_kind kind)
{
	for (int i = f->nevents - 1; i >= 0; i--)
		if (str_eq(f->event[i].kind, event_kind_name[kind]))
			return f->event[i].payload;
	return "";
}

/* What was said with the decision that counts, and the issue that was named last. */
static const char *words_of_decision(const struct store_loaded *f, const char **issue)
{
	int decision = -1;
	const char *note = "";
	*issue = "";
	for (int i = 0; i < f->nevents; i++) {
		if (event_decides(f->event[i].kind))
			decision = i;
		if (f->event[i].issue_url[0])
			*issue = f->event[i].issue_url;
	}
	for (int i = 0; i < f->nevents && decision >= 0; i++)
		if (f->event[i].at >= f->event[decision].at && str_eq(f->event[i].kind, event_kind_name[EVENT_NOTE]))
			note = f->event[i].payload;
	if (!note[0] && decision >= 0 && str_eq(f->event[decision].kind, event_kind_name[EVENT_KNOWN]))
		note = f->event[decision].payload;
	return note;
}

static void put_finding(struct strbuf *sb, const struct store_loaded *f)
{
	const char *program = f->minimised ? f->minimised : f->program, *issue, *note = words_of_decision(f, &issue);
	const char *of = f->state == STATE_DUPLICATE ? finding_original(f) : f->state == STATE_FIXED_IN ? finding_fixed_version(f) : "";
	sb_printf(sb, "\nfinding %s\nstate %s%s%s\n", f->hex, finding_state_name[f->state], of[0] ? " " : "", of);
	put_line(sb, "issue", issue);
	put_line(sb, "family", f->family);
	put_line(sb, "kind", finding_kind_name[f->kind]);
	put_line(sb, "severity", finding_severity_name[f->severity]);
	put_line(sb, "signature", f->signature);
	put_line(sb, "cause", latest(f, EVENT_CAUSE));
	put_line(sb, "note", note);
	sb_puts(sb, "program\n");
	for (const char *s = program; *s;) {
		size_t n = strcspn(s, "\n");
		sb_puts(sb, n ? indent : "");
		escape_cell(sb, s, n);
		sb_putc(sb, '\n');
		s += n + (s[n] == '\n');
	}
}

struct ids {
	struct arena *a;
	int n;
	const char **hex;
	bool over;
};

static bool take_id(void *ctx, int ncols, const char *const *names, const struct store_value *v)
{
	struct ids *ids = ctx;
	(void)ncols, (void)names;
	if (!v)
		return true;
	if (!ids->hex)
		ids->hex = ARENA_NEW(ids->a, const char *, MAX_ENTRIES);
	ids->over = ids->n == MAX_ENTRIES;
	if (!ids->over)
		ids->hex[ids->n++] = arena_strdup(ids->a, v[0].s);
	return !ids->over;
}

static bool is_decided(enum finding_state s) { return s == STATE_KNOWN || s == STATE_FIXED_IN || s == STATE_DISMISSED; }

/* A duplicate of what nobody has decided about is as open as that. */
static enum store_status belongs(bool *yes, struct store *s, const struct store_loaded *f, struct arena *a)
{
	struct store_loaded of;
	struct hash128 id;
	*yes = is_decided(f->state);
	if (f->state != STATE_DUPLICATE)
		return STORE_OK;
	if (store_find_by_prefix(s, &id, finding_original(f)) != STORE_OK) /* it is in another store */
		return STORE_OK;
	enum store_status status = store_load_finding(s, &of, &id, a);
	*yes = status == STORE_OK && is_decided(of.state);
	return status;
}

enum store_status baseline_write(struct strbuf *sb, int *n, struct store *s)
{
	static const char question[] = "select full_id from v_findings where state in ('known', 'fixed-in', 'dismissed', 'duplicate') and "
								   "signature <> '' order by signature, full_id";
	struct arena all, a;
	arena_init(&all);
	arena_init(&a);
	struct ids ids = {.a = &all};
	enum store_status status = store_query_sql(s, question, NULL, take_id, &ids);
	sb_printf(sb,
		"%s\n# Findings that somebody has decided about: `scatterproof fuzz --baseline THIS_FILE` does not fail because of them.\n",
		header);
	*n = 0;
	for (int i = 0; i < ids.n && status == STORE_OK; i++) {
		struct store_loaded f;
		struct hash128 id;
		bool yes = false;
		arena_reset(&a);
		status = store_find_by_prefix(s, &id, ids.hex[i]);
		if (status == STORE_OK)
			status = store_load_finding(s, &f, &id, &a);
		if (status == STORE_OK)
			status = belongs(&yes, s, &f, &a);
		if (status == STORE_OK && yes) {
			put_finding(sb, &f);
			++*n;
		}
	}
	arena_free(&a);
	arena_free(&all);
	return status;
}

/* ---- reading ------------------------------------------------------------------------------------------------------------------------- */

enum key { KEY_FINDING, KEY_STATE, KEY_ISSUE, KEY_FAMILY, KEY_KIND, KEY_SEVERITY, KEY_SIGNATURE, KEY_CAUSE, KEY_NOTE, KEY_PROGRAM, NKEYS };
static const struct {
	const char *name;
	bool needed;
} keys[NKEYS] = {
	[KEY_FINDING] = {"finding", true},
	[KEY_STATE] = {"state", true},
	[KEY_ISSUE] = {"issue", false},
	[KEY_FAMILY] = {"family", true},
	[KEY_KIND] = {"kind", true},
	[KEY_SEVERITY] = {"severity", true},
	[KEY_SIGNATURE] = {"signature", true},
	[KEY_CAUSE] = {"cause", false},
	[KEY_NOTE] = {"note", false},
	[KEY_PROGRAM] = {"program", true},
};

struct reader {
	struct baseline *b;
	const char *path, *at;
	int line, cap;
	struct baseline_entry *e; /* the block that is read; NULL before the first */
	bool given[NKEYS];
	struct strbuf program;
	int program_line; /* of its first line */
	bool in_program;
	struct err *err;
};

static bool wrong(struct reader *r, int line, const char *fmt, ...) PRINTF_LIKE(3, 4);
static bool wrong(struct reader *r, int line, const char *fmt, ...)
{
	struct strbuf sb;
	va_list ap;
	sb_init(&sb);
	va_start(ap, fmt);
	sb_vprintf(&sb, fmt, ap);
	va_end(ap);
	err_set(r->err, "%s:%d: %s", r->path, line, sb.s);
	sb_free(&sb);
	return false;
}

static bool is_id(const char *s) { return strlen(s) == 32 && strspn(s, "0123456789abcdef") == 32; }

/* "fixed-in 2.15.0". */
static bool take_state(struct reader *r, const char *value)
{
	const char *rest = strchr(value, ' ');
	const char *word = rest ? arena_printf(&r->b->arena, "%.*s", (int)(rest - value), value) : value;
	rest = rest ? rest + 1 : "";
	if (!finding_state_find(&r->e->state, word) || !(is_decided(r->e->state) || r->e->state == STATE_DUPLICATE))
		return wrong(r, r->line, "'%.40s' is no decision: known, fixed-in VERSION, dismissed, duplicate ID", word);
	if (r->e->state == STATE_DUPLICATE && !is_id(rest))
		return wrong(r, r->line, "duplicate needs the 32 digits of a finding's id, not '%.40s'", rest);
	if (r->e->state == STATE_FIXED_IN && rest[0] && !version_valid(rest))
		return wrong(r, r->line, "'%.40s' is no version", rest);
	if (rest[0] && r->e->state != STATE_DUPLICATE && r->e->state != STATE_FIXED_IN)
		return wrong(r, r->line, "'%.40s' after %s is not understood", rest, word);
	r->e->version = r->e->state == STATE_FIXED_IN ? rest : "";
	return true;
}

static bool begin_block(struct reader *r, const char *id)
{
	struct baseline *b = r->b;
	if (!is_id(id))
		return wrong(r, r->line, "'%.40s' is no finding's id: 32 hex digits", id);
	if (b->n == MAX_ENTRIES)
		return wrong(r, r->line, "more than %d findings", MAX_ENTRIES);
	for (int i = 0; i < b->n; i++)
		if (str_eq(b->entry[i].hex, id))
			return wrong(r, r->line, "finding %.*s stands in line %d already", STORE_ID_DIGITS, id, b->entry[i].line);
	if (b->n == r->cap) {
		struct baseline_entry *more = ARENA_NEW(&b->arena, struct baseline_entry, r->cap ? 2 * r->cap : 64);
		if (b->n)
			memcpy(more, b->entry, sizeof *more * (size_t)b->n);
		b->entry = more;
		r->cap = r->cap ? 2 * r->cap : 64;
	}
	r->e = &b->entry[b->n++];
	*r->e = (struct baseline_entry){.line = r->line, .version = "", .issue = "", .note = ""};
	memcpy(r->e->hex, id, sizeof r->e->hex);
	memset(r->given, 0, sizeof r->given);
	sb_reset(&r->program);
	return true;
}

static bool end_block(struct reader *r)
{
	struct prog p;
	struct arena a;
	struct err err = {0};
	if (!r->e)
		return true;
	for (int k = 0; k < NKEYS; k++)
		if (keys[k].needed && !r->given[k])
			return wrong(r, r->e->line, "finding %.*s has no line '%s'", STORE_ID_DIGITS, r->e->hex, keys[k].name);
	arena_init(&a);
	bool ok = prog_read(&p, &a, r->program.s, r->program.len, READ_STRICT, &err);
	arena_free(&a);
	r->e->program = arena_strdup(&r->b->arena, r->program.s);
	return ok || wrong(r, r->program_line + (err.line ? err.line - 1 : 0), "the program does not read: %s", err.msg);
}

static bool take_word(struct reader *r, enum key k, const char *value)
{
	struct baseline_entry *e = r->e;
	switch (k) {
	case KEY_STATE: return take_state(r, value);
	case KEY_KIND: return finding_kind_find(&e->kind, value) || wrong(r, r->line, "'%.40s' is no kind of finding", value);
	case KEY_SEVERITY: return finding_severity_find(&e->severity, value) || wrong(r, r->line, "'%.40s' is no severity", value);
	case KEY_FAMILY: e->family = value; return true;
	case KEY_SIGNATURE: e->signature = value; return true;
	case KEY_ISSUE: e->issue = value; return true;
	case KEY_NOTE: e->note = value; return true;
	case KEY_CAUSE: return true;
	case KEY_PROGRAM:
		r->in_program = true;
		r->program_line = r->line + 1;
		return true;
	case KEY_FINDING:
	case NKEYS: break;
	}
	BUG("no key");
}

static bool take_line(struct reader *r, const char *line)
{
	struct arena *a = &r->b->arena;
	size_t n = strcspn(line, " ");
	const char *name = arena_printf(a, "%.*s", (int)n, line), *value = arena_strdup(a, line[n] ? line + n + 1 : "");
	int k = 0;
	while (k < NKEYS && !str_eq(keys[k].name, name))
		k++;
	if (k == NKEYS)
		return wrong(
			r, r->line, "'%.40s' is not understood%s", name, guess_from(&(struct guess){0}, name, &keys[0].name, sizeof keys[0], NKEYS));
	r->in_program = false;
	if (k == KEY_FINDING) {
		bool ok = end_block(r) && begin_block(r, value);
		r->given[KEY_FINDING] = true;
		return ok;
	}
	if (!r->e)
		return wrong(r, r->line, "'%s' before the first 'finding'", name);
	if (r->given[k])
		return wrong(r, r->line, "'%s' is there twice", name);
	if ((k == KEY_PROGRAM) != !value[0])
		return wrong(
			r, r->line, k == KEY_PROGRAM ? "'%s' takes no value: the program stands below it, indented" : "'%s' needs a value", name);
	r->given[k] = true;
	return take_word(r, (enum key)k, value);
}

static bool read_lines(struct reader *r, const char *text)
{
	bool ok = true, blank = false;
	for (const char *s = text; *s && ok;) {
		size_t n = strcspn(s, "\n");
		const char *line = arena_printf(&r->b->arena, "%.*s", (int)n, s);
		r->line++;
		if (r->line == 1 && !str_eq(line, header))
			ok = wrong(r, 1, "a baseline begins with the line '%s'", header);
		else if (r->in_program && str_starts(line, indent) && !blank)
			sb_printf(&r->program, "%s\n", line + strlen(indent));
		else if (str_starts(line, " ") || str_starts(line, "\t"))
			ok = wrong(r, r->line,
				r->in_program ? "a program's lines are indented by four blanks, without empty lines between them"
							  : "an indented line that belongs to no program");
		else if (line[0] && line[0] != '#')
			ok = take_line(r, line);
		blank = !line[0];
		s += n + (s[n] == '\n');
	}
	if (ok && !r->line)
		ok = wrong(r, 1, "a baseline begins with the line '%s'", header);
	return ok && end_block(r);
}

bool baseline_read(struct baseline *out, const char *path, struct err *err)
{
	struct strbuf text;
	struct reader r = {.b = out, .path = path, .err = err};
	*out = (struct baseline){0};
	arena_init(&out->arena);
	sb_init(&text);
	sb_init(&r.program);
	bool ok = sb_read_file(&text, path, MAX_BASELINE, err);
	if (ok && strlen(text.s) != text.len)
		ok = err_set(err, "%s: a byte 0 is in it", path);
	ok = ok && read_lines(&r, text.s);
	sb_free(&r.program);
	sb_free(&text);
	if (!ok)
		arena_free(&out->arena);
	return ok;
}

void baseline_free(struct baseline *b) { arena_free(&b->arena); }

const struct baseline_entry *baseline_find(const struct baseline *b, const char *family, enum finding_kind kind, const char *signature)
{
	struct strbuf sb;
	const struct baseline_entry *found = NULL;
	sb_init(&sb);
	escape_cell(&sb, signature, strcspn(signature, "\n"));
	for (int i = 0; b && i < b->n && !found; i++) {
		const struct baseline_entry *e = &b->entry[i];
		if (e->kind == kind && str_eq(e->family, family) && str_eq(e->signature, sb.s))
			found = e;
	}
	sb_free(&sb);
	return found;
}
