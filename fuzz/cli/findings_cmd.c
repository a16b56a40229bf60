/* findings_cmd.c: the `findings` verb: list, show, sql, schema, mark. Opens the store (for reading, but for mark), asks, prints. */
#include "fuzz/cli/findings_cmd.h"

#include <inttypes.h>
#include <stdlib.h>
#include <strings.h>

#include "eager/base/clock.h"
#include "eager/base/guess.h"
#include "eager/lang/op.h"
#include "eager/base/output.h"
#include "fuzz/cli/findings_options.h"
#include "fuzz/triage/title.h"
#include "reports/life/baseline.h"
#include "reports/render/findings_print.h"
#include "reports/render/findings_schema.h"
#include "reports/render/findings_show.h"
#include "reports/render/findings_sql.h"

struct session {
	const struct findings_options *o;
	struct store *s;
	struct printer out;
	struct strbuf complaint; /* if not store_message's */
	struct arena a;
	int64_t now;
	int signal; /* that ended a query */
};

/* ---- the list: a few columns of v_findings, in fixed places under their names ------------------------------------------------------ */

static const struct list_column {
	const char *name;
	size_t width;
} list_columns[] = {{"id", 8}, {"state", 10}, {"severity", 8}, {"kind", 10}, {"nobs", 6}, {"first_seen", 20}, {"last_seen", 20},
	{"target", 26}, {"signature", 40}, {"ops", 0}};

/* To the column's width, and two blanks more; the last one ends where it ends. */
static void pad(struct strbuf *sb, size_t from, const struct list_column *c)
{
	while (c->width && sb->len < from + c->width)
		sb_putc(sb, ' ');
	sb_puts(sb, c->width ? "  " : "");
}

static void list_header(struct strbuf *sb)
{
	for (int k = 0; k < ARRAY_LEN(list_columns); k++) {
		size_t before = sb->len;
		sb_puts(sb, list_columns[k].name);
		pad(sb, before, &list_columns[k]);
	}
	sb_putc(sb, '\n');
}

static const struct store_value *column(int ncols, const char *const *names, const struct store_value *v, const char *name)
{
	for (int i = 0; i < ncols; i++)
		if (str_eq(names[i], name))
			return &v[i];
	BUG("the list has no column %s", name);
}

static bool print_list_row(void *ctx, int ncols, const char *const *names, const struct store_value *v)
{
	struct printer *p = ctx;
	if (!v)
		return true;
	p->nrows++;
	if (p->json) {
		print_json_row(p, ncols, names, v);
		return printer_write(p);
	}
	if (p->nrows == 1)
		list_header(&p->pending);
	for (int k = 0; k < ARRAY_LEN(list_columns); k++) {
		size_t before = p->pending.len;
		print_cell(p, column(ncols, names, v, list_columns[k].name));
		pad(&p->pending, before, &list_columns[k]);
	}
	sb_putc(&p->pending, '\n');
	return printer_write(p);
}

/* A word that nothing in the world or in the store is called by is a mistake, not a list without rows. */
static enum store_status check_words(struct session *x, enum store_word word, const char *const *text, int n)
{
	static const char *const what[NSTORE_WORDS] = {[WORD_OP] = "no operator is called",
		[WORD_TARGET] = "no run in this store was on",
		[WORD_VERSION] = "no run in this store was on version"};
	enum store_status status = STORE_OK;
	for (int i = 0; i < n && status == STORE_OK; i++) {
		struct guess g;
		bool known = false;
		int any;
		guess_start(&g, text[i], strlen(text[i]));
		if (word == WORD_OP)
			op_guess(&g, text[i]);
		if (word == WORD_OP && (op_find(text[i]) >= 0 || op_overloads(&any, 1, text[i]) > 0))
			continue;
		status = store_word_known(x->s, &known, &g, word, text[i]);
		if (status == STORE_OK && !known) {
			sb_printf(&x->complaint, "%s '", what[word]);
			text_cell(&x->complaint, text[i], strnlen(text[i], 60));
			sb_putc(&x->complaint, '\'');
			text_cell(&x->complaint, guess_text(&g), strlen(guess_text(&g)));
			status = STORE_BAD;
		}
	}
	return status;
}

static enum store_status do_list(struct session *x)
{
	struct store_filter f = x->o->filter;
	enum store_status status = check_words(x, WORD_OP, f.op, f.nops);
	if (status == STORE_OK)
		status = check_words(x, WORD_TARGET, f.target, f.ntargets);
	if (status == STORE_OK)
		status = check_words(x, WORD_VERSION, f.version, f.nversions);
	if (status == STORE_OK && x->o->since_last_run)
		status = store_last_campaign(x->s, &f.since);
	if (status == STORE_OK)
		status = store_list(x->s, &f, print_list_row, &x->out);
	if (status == STORE_OK && x->out.nrows == 0 && !x->out.json)
		sb_puts(&x->out.pending, x->o->filtered ? "no such findings\n" : "no findings\n");
	return status;
}

/* ---- show -------------------------------------------------------------------------------------------------------------------------- */

/* Eight digits, or more if those are not enough. */
static void short_id(char out[33], struct store *s, const struct store_loaded *f)
{
	struct hash128 other;
	int n = STORE_ID_DIGITS;
	do
		snprintf(out, 33, "%.*s", n++, f->hex);
	while (n <= 32 && store_find_by_prefix(s, &other, out) == STORE_BAD);
}

static enum store_status put_artifact(struct session *x, const struct store_loaded *f)
{
	const struct store_loaded_artifact *artifact = store_loaded_artifact(f, x->o->artifact);
	struct guess g;
	if (artifact) {
		text_block(&x->out.pending, "", artifact->bytes, artifact->nbytes);
		return STORE_OK;
	}
	guess_start(&g, x->o->artifact, strlen(x->o->artifact));
	for (int i = 0; i < f->nartifacts; i++)
		guess_add(&g, f->artifact[i].name, strlen(f->artifact[i].name));
	sb_printf(&x->complaint, "finding %.*s has no artifact '%.60s'", STORE_ID_DIGITS, f->hex, x->o->artifact);
	text_cell(&x->complaint, guess_text(&g), strlen(guess_text(&g)));
	return STORE_BAD;
}

static enum store_status put_program(struct session *x, const struct store_loaded *f)
{
	const char *text = NULL, *wanted = x->o->program;
	bool several = false;
	for (int i = 0; i < f->nprograms; i++)
		if (strlen(wanted) >= STORE_MIN_PREFIX && strncasecmp(f->programs[i].hex, wanted, strlen(wanted)) == 0) {
			several = text != NULL;
			text = f->programs[i].text;
		}
	if (text && !several) {
		text_block(&x->out.pending, "", text, strlen(text));
		return STORE_OK;
	}
	sb_printf(&x->complaint, "%s of finding %.*s begins with '%.40s' (`findings show %.*s` lists them; at least %d digits)",
		several ? "more than one program" : "no program", STORE_ID_DIGITS, f->hex, wanted, STORE_ID_DIGITS, f->hex, STORE_MIN_PREFIX);
	return STORE_BAD;
}

static enum store_status do_show(struct session *x)
{
	struct hash128 id;
	struct store_loaded f;
	char shown[33];
	enum store_status status = store_find_by_prefix(x->s, &id, x->o->argument);
	if (status == STORE_OK)
		status = store_load_finding(x->s, &f, &id, &x->a);
	if (status != STORE_OK)
		return status;
	if (x->o->artifact)
		return put_artifact(x, &f);
	if (x->o->program)
		return put_program(x, &f);
	short_id(shown, x->s, &f);
	(x->o->json ? finding_show_json : finding_show_text)(&x->out.pending, &f, shown, x->o->db);
	return STORE_OK;
}

/* ---- mark ------------------------------------------------------------------------------------------------------------------------- */

static enum store_status find_original(struct session *x, struct decision *d)
{
	bool turns;
	char mine[33], other[33];
	const struct hash128 given = d->duplicate_of;
	enum store_status status = finding_last_original(&d->duplicate_of, &turns, x->s, &d->finding, &given);
	if (status != STORE_OK || !turns)
		return status;
	hash_hex(mine, &d->finding);
	hash_hex(other, &given);
	if (str_eq(mine, other))
		sb_puts(&x->complaint, "a finding is no duplicate of itself");
	else
		sb_printf(&x->complaint, "%.*s is a duplicate of %.*s already, itself or through others: mark it open first", STORE_ID_DIGITS,
			other, STORE_ID_DIGITS, mine);
	return STORE_BAD;
}

static void say_marked(struct strbuf *sb, const struct store_loaded *before, const struct store_loaded *after)
{
	sb_printf(
		sb, "finding %.*s was %s, is %s", STORE_ID_DIGITS, after->hex, finding_state_name[before->state], finding_state_name[after->state]);
	if (after->state == STATE_DUPLICATE)
		sb_printf(sb, " of %.*s", STORE_ID_DIGITS, finding_original(after));
	if (after->state == STATE_FIXED_IN && finding_fixed_version(after)[0])
		sb_printf(sb, " %s", finding_fixed_version(after));
	else if (after->state == STATE_FIXED_IN)
		sb_puts(sb, " no version that was named: seen again in any, it is a regression");
	sb_putc(sb, '\n');
}

/* mark ID STATE: one event, two with a note. */
static enum store_status do_mark(struct session *x)
{
	struct decision d = x->o->decision;
	struct store_loaded before, after;
	enum store_status status = store_find_by_prefix(x->s, &d.finding, x->o->argument);
	if (status == STORE_OK && x->o->of)
		status = store_find_by_prefix(x->s, &d.duplicate_of, x->o->of);
	if (status == STORE_OK && x->o->of)
		status = find_original(x, &d);
	if (status == STORE_OK)
		status = store_load_finding(x->s, &before, &d.finding, &x->a);
	if (status == STORE_OK)
		status = finding_decide(x->s, &d, x->now, SCATTERPROOF);
	if (status == STORE_OK)
		status = store_load_finding(x->s, &after, &d.finding, &x->a);
	if (status == STORE_OK)
		say_marked(&x->out.pending, &before, &after);
	return status;
}

/* ---- export ------------------------------------------------------------------------------------------------------------------------ */

static enum store_status do_export(struct session *x)
{
	struct strbuf sb;
	struct err err = {0};
	int n = 0;
	sb_init(&sb);
	enum store_status status = baseline_write(&sb, &n, x->s);
	if (status == STORE_OK && !x->o->out) {
		sb_put(&x->out.pending, sb.s, sb.len);
	} else if (status == STORE_OK && !output_text(x->o->out, &sb, &err)) {
		sb_puts(&x->complaint, err.msg);
		status = STORE_IO;
	} else if (status == STORE_OK) {
		sb_printf(&x->out.pending, "%d finding%s in ", n, n == 1 ? "" : "s");
		text_cell(&x->out.pending, x->o->out, strlen(x->o->out));
		sb_putc(&x->out.pending, '\n');
	}
	sb_free(&sb);
	return status;
}

/* ---- causes ------------------------------------------------------------------------------------------------------------------------ */

static enum store_status do_causes(struct session *x)
{
	struct store_causes all;
	enum store_status status = store_causes(&all, x->s, &x->a);
	if (status != STORE_OK)
		return status;
	titles_write(&all, &x->a);
	for (int i = 0; i < all.n; i++) {
		const struct store_cause *c = &all.cause[i];
		sb_printf(&x->out.pending, "%d  %s  %s  %" PRId64 "  ", c->number, c->id, finding_severity_name[c->severity], c->nobs);
		text_cell(&x->out.pending, c->title, strlen(c->title));
		sb_putc(&x->out.pending, '\n');
	}
	return STORE_OK;
}

/* ---- the verb ------------------------------------------------------------------------------------------------------------------------ */

static enum store_status run_verb(struct session *x)
{
	switch (x->o->verb) {
	case FINDINGS_SHOW: return do_show(x);
	case FINDINGS_SQL: return findings_sql(x->s, x->o->argument, x->o->limit_s, &x->out, &x->complaint, &x->signal);
	case FINDINGS_MARK: return do_mark(x);
	case FINDINGS_EXPORT: return do_export(x);
	case FINDINGS_CAUSES: return do_causes(x);
	case FINDINGS_SCHEMA: return findings_schema(x->o->argument, &x->out, &x->complaint) ? STORE_OK : STORE_BAD;
	default: return do_list(x);
	}
}

static int exit_code(struct session *x, enum store_status status)
{
	printer_write(&x->out);
	if (x->signal)
		fprintf(stderr, "scatterproof findings: ended by signal %d\n", x->signal);
	else if (status != STORE_OK)
		fprintf(stderr, "scatterproof findings: %s\n", x->complaint.len ? x->complaint.s : store_message(x->s));
	if (x->signal)
		return 128 + x->signal;
	/* whoever closes standard output says why (eager/base/output.h) */
	return status == STORE_OK && x->out.failed ? 3 : store_exit_code(status);
}

static int open_and_run(struct session *x)
{
	enum store_status status = STORE_OK;
	struct err err = {0};
	if (x->o->verb != FINDINGS_SCHEMA)
		x->s = store_open(&status, x->o->db, x->o->verb == FINDINGS_MARK ? STORE_WRITE : STORE_READ, &err);
	if (status != STORE_OK) {
		fprintf(stderr, "scatterproof findings: %s\n", err.msg);
		return store_exit_code(status);
	}
	int code = exit_code(x, run_verb(x));
	store_abandon(x->s);
	return code;
}

int cmd_findings(int argc, char **argv)
{
	struct findings_options o;
	struct session x = {.o = &o, .now = clock_unix_ms()};
	struct err err = {0};
	int code = 2;
	arena_init(&x.a);
	sb_init(&x.complaint);
	bool ok = findings_options_parse(&o, argc, argv, x.now, &x.a, &err);
	printer_init(&x.out, ok && o.json);
	if (!ok) {
		findings_usage(&x.complaint);
		fprintf(stderr, "scatterproof findings: %s\n%s", err.msg, x.complaint.s);
	} else if (o.help) {
		findings_usage(&x.out.pending);
		code = exit_code(&x, STORE_OK);
	} else {
		code = open_and_run(&x);
	}
	printer_free(&x.out);
	sb_free(&x.complaint);
	arena_free(&x.a);
	return code;
}
