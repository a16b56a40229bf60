/* store_list.c: listing findings: a filter becomes one SELECT. What people type is bound as a parameter, never part of the text. */
#include "eager/base/guess.h"
#include "reports/store/store_internal.h"

/* ---- conditions: text with a %d where a parameter's number goes ------------------------------------------------------------------ */

/* Operators are words of s.ops; without overload, any. */
static const char has_op[] = "(instr(' ' || s.ops || ' ', ' ' || ?%d || ' ') > 0 OR instr(' ' || s.ops, ' ' || ?%d || '.') > 0)";
static const char has_op_somewhere[] = "EXISTS (SELECT 1 FROM program_op o WHERE (o.program IN (f.program, s.program) OR o.program IN"
									   " (SELECT b.program FROM observation b WHERE b.finding = f.id)) AND (o.op = ?%d OR"
									   " substr(o.op, 1, length(?%d) + 1) = ?%d || '.'))";
/* The target's name or one of its heads, as it is or without version. */
#define HEAD_OF(name) "(substr(" name ", 1, length(?%d)) = ?%d AND substr(" name " || ':', length(?%d) + 1, 1) IN (':', '@', '+'))"
static const char is_target[] = "(" HEAD_OF("e.target") " OR " HEAD_OF("e.family || substr(e.target, instr(e.target, ':'))") ")";
static const char is_version[] = "e.version = ?%d";

/* Writes the condition with its number in all its places. */
static void condition(struct strbuf *sb, const char *text, int parameter)
{
	for (const char *p = text; *p; p++) {
		bool number = p[0] == '%' && p[1] == 'd';
		if (number)
			sb_printf(sb, "%d", parameter);
		else
			sb_putc(sb, *p);
		p += number;
	}
}

/* One condition per text, between them `between`; *parameter is the last one used. */
static void conditions(struct strbuf *sb, const char *text, int n, const char *between, int *parameter)
{
	for (int i = 0; i < n; i++) {
		sb_puts(sb, i ? between : "");
		condition(sb, text, ++*parameter);
	}
}

/* " AND column IN ('a', 'b')" for the words in a mask. They are ours, none has a quote. */
static void one_of(struct strbuf *sb, const char *column, const char *const *names, int n, unsigned mask)
{
	const char *before = "";
	if (!mask)
		return;
	sb_printf(sb, " AND %s IN (", column);
	for (int i = 0; i < n; i++)
		if (mask & 1u << i) {
			sb_printf(sb, "%s'%s'", before, names[i]);
			before = ", ";
		}
	sb_putc(sb, ')');
}

static const char *const order_text[NORDERS] = {
	[ORDER_LAST] = "s.last_seen DESC",
	[ORDER_FIRST] = "s.first_seen DESC",
	[ORDER_SEVERITY] = "s.severity",
	[ORDER_NOBS] = "s.nobs DESC",
};

enum { NFIXED = 3 }; /* parameters: since, limit, new_since */

static void list_sql(struct strbuf *sb, const struct store_filter *f)
{
	int parameter = NFIXED;
	sb_puts(sb,
		"SELECT lower(hex(substr(f.id, 1, 4))) AS id, f.kind, s.target, s.signature, s.state, s.severity,"
		" strftime('%Y-%m-%dT%H:%M:%SZ', s.first_seen / 1000, 'unixepoch') AS first_seen,"
		" strftime('%Y-%m-%dT%H:%M:%SZ', s.last_seen / 1000, 'unixepoch') AS last_seen, s.nobs, s.npass, s.ops, lower(hex(f.id)) AS full_id"
		" FROM finding_summary s JOIN finding f ON f.id = s.finding WHERE s.last_seen >= ?1 AND s.first_seen >= ?3");
	one_of(sb, "s.state", finding_state_name, NFINDING_STATES, f->states);
	one_of(sb, "f.kind", finding_kind_name, NFINDING_KINDS, f->kinds);
	one_of(sb, "s.severity", finding_severity_name, NSEVERITIES, f->severities);
	if (f->nops) {
		sb_puts(sb, " AND ");
		conditions(sb, has_op, f->nops, " AND ", &parameter);
	}
	if (f->nops_any) {
		sb_puts(sb, " AND ");
		conditions(sb, has_op_somewhere, f->nops_any, " AND ", &parameter);
	}
	if (f->ntargets || f->nversions) {
		sb_puts(sb,
			" AND EXISTS (SELECT 1 FROM observation_count c WHERE c.finding = f.id AND c.verdict <> 'pass'"
			" AND c.environment IN (SELECT e.id FROM environment e WHERE (");
		conditions(sb, is_target, f->ntargets, " OR ", &parameter);
		sb_puts(sb, f->ntargets && f->nversions ? ") AND (" : "");
		conditions(sb, is_version, f->nversions, " OR ", &parameter);
		sb_puts(sb, ")))");
	}
	sb_puts(sb, " ORDER BY ");
	for (int i = 0; i < f->norders; i++)
		sb_printf(sb, "%s, ", order_text[f->order[i]]);
	sb_puts(sb, "s.last_seen DESC, f.id LIMIT ?2");
}

static void bind_all(sqlite3_stmt *st, const char *const *text, int n, int *parameter)
{
	for (int i = 0; i < n; i++)
		bind_text(st, ++*parameter, text[i]);
}

enum store_status store_list(struct store *s, const struct store_filter *f, store_row_fn *row, void *ctx)
{
	sqlite3_stmt *st = NULL;
	struct strbuf sql;
	int parameter = NFIXED;
	sb_init(&sql);
	list_sql(&sql, f);
	int rc = sqlite3_prepare_v2(s->db, sql.s, -1, &st, NULL);
	sb_free(&sql);
	if (rc != SQLITE_OK)
		return store_fail(s, rc, "listing findings");
	sqlite3_bind_int64(st, 1, f->since);
	sqlite3_bind_int64(st, 2, f->limit);
	sqlite3_bind_int64(st, 3, f->new_since);
	bind_all(st, f->op, f->nops, &parameter);
	bind_all(st, f->op_any, f->nops_any, &parameter);
	bind_all(st, f->target, f->ntargets, &parameter);
	bind_all(st, f->version, f->nversions, &parameter);
	rc = store_each_row(st, row, ctx);
	enum store_status status = rc == SQLITE_DONE ? STORE_OK : store_fail(s, rc, "listing findings");
	sqlite3_finalize(st);
	return status;
}

/* ---- words that the store knows -------------------------------------------------------------------------------------------------- */

static const struct {
	const char *table, *column, *is;
} words[NSTORE_WORDS] = {
	[WORD_OP] = {"program_op e", "e.op", "(e.op = ?%d OR substr(e.op, 1, length(?%d) + 1) = ?%d || '.')"},
	[WORD_TARGET] = {"environment e", "e.target", is_target},
	[WORD_VERSION] = {"environment e", "e.version", is_version},
};

static enum store_status offer_all(struct store *s, struct guess *g, enum store_word w)
{
	char sql[200];
	sqlite3_stmt *st = NULL;
	snprintf(sql, sizeof sql, "SELECT DISTINCT %s FROM %s ORDER BY 1", words[w].column, words[w].table);
	int rc = sqlite3_prepare_v2(s->db, sql, -1, &st, NULL);
	while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(st, 0);
		guess_add(g, name ? name : "", (size_t)sqlite3_column_bytes(st, 0));
		rc = SQLITE_OK;
	}
	sqlite3_finalize(st);
	return rc == SQLITE_DONE ? STORE_OK : store_fail(s, rc, "looking for words");
}

enum store_status store_word_known(struct store *s, bool *known, struct guess *g, enum store_word w, const char *text)
{
	struct strbuf sql;
	sqlite3_stmt *st = NULL;
	sb_init(&sql);
	sb_printf(&sql, "SELECT EXISTS (SELECT 1 FROM %s WHERE ", words[w].table);
	condition(&sql, words[w].is, 1);
	sb_putc(&sql, ')');
	int rc = sqlite3_prepare_v2(s->db, sql.s, -1, &st, NULL);
	sb_free(&sql);
	if (rc == SQLITE_OK) {
		bind_text(st, 1, text);
		rc = sqlite3_step(st);
	}
	*known = rc == SQLITE_ROW && sqlite3_column_int(st, 0) != 0;
	enum store_status status = rc == SQLITE_ROW ? STORE_OK : store_fail(s, rc, "looking for words");
	sqlite3_finalize(st);
	return status != STORE_OK || *known ? status : offer_all(s, g, w);
}
