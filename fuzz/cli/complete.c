/* complete.c: the words before the last one are read as arguments.h would read them; that says what the last one is. */
#include "fuzz/cli/complete.h"

#include <stdlib.h>

#include "compiled/targets/driver.h"
#include "eager/lang/op.h"
#include "fuzz/cli/bench.h"
#include "fuzz/ask/findings_options.h"
#include "fuzz/ask/option_values.h"
#include "fuzz/ask/options.h"
#include "fuzz/ask/pager.h"
#include "reports/cause/store_cause.h"

enum { MAX_WORDS = 512 };

/* A command line up to its last word. */
struct typed {
	int n;
	const char *word[MAX_WORDS];
	const char *verb, *last;
	const struct option_table *table;
	const char *db;
	const char *option;           /* the last word is its value */
	int nplain;                   /* words behind the verb that are no option and no value */
	const char *plain[MAX_WORDS]; /* of these */
	struct arena a;
	struct strbuf *out;
};

/* ---- offers -------------------------------------------------------------------------------------------------------------------------- */

static void offer(const struct typed *t, const char *word)
{
	if (str_starts(word, t->last))
		sb_printf(t->out, "%s\n", word);
}

/* Of a list "A,B" the last piece is completed. */
static void offer_value(const struct typed *t, const char *before, const char *word)
{
	const char *comma = strrchr(t->last, ',');
	char text[256];
	snprintf(text, sizeof text, "%s%.*s%s", before, comma ? (int)(comma + 1 - t->last) : 0, t->last, word);
	if (str_starts(text + strlen(before), t->last))
		sb_printf(t->out, "%s\n", text);
}

static void offer_words(const struct typed *t, const char *before, const char *words)
{
	char word[128];
	for (const char *s = words + strspn(words, " "); *s; s += strspn(s, " ")) {
		const size_t n = strcspn(s, " ");
		snprintf(word, sizeof word, "%.*s", (int)MIN(n, sizeof word - 1), s);
		offer_value(t, before, word);
		s += n;
	}
}

static void offer_verbs(const struct typed *t, bool help)
{
	int n;
	const struct verb_info *v = verbs_table(&n);
	for (int i = 0; i < n; i++)
		offer(t, v[i].name);
	if (help) {
		offer(t, "help");
		offer(t, "--help");
		offer(t, "--version");
	}
}

static void offer_targets(const struct typed *t, const char *before)
{
	char name[128];
	for (int d = 0; d < ntarget_drivers; d++)
		for (int k = 0; k < target_drivers[d]->nstages && !target_drivers[d]->subject_form; k++) {
			snprintf(name, sizeof name, "%s:%s", target_drivers[d]->name, target_drivers[d]->stage[k].name);
			offer_value(t, before, name);
		}
}

static void offer_ops(const struct typed *t, const char *before)
{
	for (int op = 0; op < op_nrows; op++)
		offer_value(t, before, op_info[op].name);
}

/* bash hands words over as they were typed: "~/f.db", "'my f.db'", "my\\ f.db" are the paths that it would make of them. */
static const char *path_of_word(const char *word, struct arena *a)
{
	const char *home = getenv("HOME");
	char quote = 0;
	struct strbuf sb;
	sb_init(&sb);
	if (word[0] == '~' && (!word[1] || word[1] == '/') && home)
		sb_puts(&sb, home);
	for (const char *s = word + (sb.len ? 1 : 0); *s; s++) {
		const bool escapes = *s == '\\' && s[1] && (!quote || (quote == '"' && strchr("\\\"$`", s[1])));
		if (escapes)
			sb_putc(&sb, *++s);
		else if (quote ? *s == quote : *s == '"' || *s == '\'')
			quote = quote ? 0 : *s;
		else
			sb_putc(&sb, *s);
	}
	const char *path = arena_strdup(a, sb.s);
	sb_free(&sb);
	return path;
}

/* zsh has taken the quotes away, and a name may have some. */
static struct store *open_typed(const char *word, struct arena *a)
{
	enum store_status status;
	struct err err = {0};
	struct store *s = store_open(&status, word, STORE_READ, &err);
	return s ? s : store_open(&status, path_of_word(word, a), STORE_READ, &err);
}

/* Numbers of open causes; ids as soon as a digit is there. */
static void offer_ids(struct typed *t)
{
	struct store_causes all = {0};
	struct store *s = t->db ? open_typed(t->db, &t->a) : NULL;
	if (!s || store_causes(&all, s, &t->a) != STORE_OK)
		all.n = 0;
	for (int i = 0; i < all.n; i++) {
		const struct store_cause *c = &all.cause[i];
		if (c->open)
			offer(t, arena_printf(&t->a, "%d", c->number));
		for (int k = 0; k < c->nids && t->last[0]; k++)
			offer(t, c->ids[k]);
	}
	store_close(s, NULL);
}

/* ---- options ------------------------------------------------------------------------------------------------------------------------- */

static const char *scope(const struct typed *t)
{
	if (t->table != &findings_table)
		return t->verb;
	for (int v = FINDINGS_SHOW; v < NFINDINGS_VERBS && t->nplain; v++)
		if (str_eq(t->plain[0], findings_verb_name[v]))
			return findings_verb_name[v];
	return findings_verb_name[FINDINGS_LIST];
}

/* NULL: no such option, here. */
static const struct option_row *find_option(const struct typed *t, const char *name, size_t n, option_values_fn **values)
{
	const struct option_table *const tables[] = {t->table, &screen_table};
	for (int i = 0; i < ARRAY_LEN(tables); i++)
		for (int k = 0; k < tables[i]->n; k++) {
			const struct option_row *row = &tables[i]->row[k];
			if (strlen(row->name) == n && strncmp(row->name, name, n) == 0
				&& (i || t->table == &findings_table || option_known(row, t->verb))) {
				*values = tables[i]->values[k];
				return row;
			}
		}
	return NULL;
}

static void complete_value(struct typed *t, const char *option, size_t n, const char *before)
{
	option_values_fn *values = NULL;
	const struct option_row *row = find_option(t, option, n, &values);
	struct strbuf words;
	sb_init(&words);
	if (values)
		values(&words);
	offer_words(t, before, words.s);
	if (row && (str_eq(row->name, "--target") || str_eq(row->name, "--sample")))
		offer_targets(t, before);
	if (row && (str_eq(row->name, "--op") || str_eq(row->name, "--op-any") || str_eq(row->name, "--ops")))
		offer_ops(t, before);
	if (row && str_eq(row->name, "--of"))
		offer_ids(t);
	sb_free(&words);
}

static void complete_option(const struct typed *t)
{
	const char *who = scope(t);
	for (int k = 0; k < t->table->n; k++)
		if (option_known(&t->table->row[k], who))
			offer(t, t->table->row[k].name);
	for (int k = 0; k < screen_table.n; k++)
		offer(t, screen_table.row[k].name);
	offer(t, "--help");
}

/* ---- words --------------------------------------------------------------------------------------------------------------------------- */

static bool takes_id(const char *verb)
{
	int n;
	const struct verb_info *v = verbs_table(&n);
	for (int i = 0; i < n; i++)
		if (str_eq(v[i].name, verb))
			return str_starts(v[i].usage, "ID") || str_starts(v[i].usage, "[ID");
	return false;
}

static void complete_findings(struct typed *t)
{
	const char *who = scope(t);
	if (!t->nplain) {
		for (int v = FINDINGS_SHOW; v < NFINDINGS_VERBS; v++)
			offer(t, findings_verb_name[v]);
		return;
	}
	const bool mark = str_eq(who, findings_verb_name[FINDINGS_MARK]);
	if (mark || (t->nplain == 1 && (str_eq(who, findings_verb_name[FINDINGS_SHOW]) || str_eq(who, findings_verb_name[FINDINGS_CAUSES]))))
		offer_ids(t);
	for (int i = 0; mark && t->nplain > 1 && i < NDECISIONS; i++)
		offer(t, decision_name[i]);
}

static void complete_plain(struct typed *t)
{
	if (t->table == &findings_table)
		complete_findings(t);
	else if (str_eq(t->verb, "help") && !t->nplain)
		offer_verbs(t, false);
	else if (str_eq(t->verb, "ops"))
		offer_ops(t, "");
	else if (str_eq(t->verb, "bench"))
		offer_words(t, "", BENCH_NAMES);
	else if (takes_id(t->verb) && (!t->nplain || str_eq(t->verb, "report")))
		offer_ids(t);
}

/* bash breaks words at '=' and ':', too: "--axis" "=" "sh" is "--axis" "sh", "torch" ":" "ind" is "torch:ind". */
static void join_words(struct typed *t, int n, char **word)
{
	bool glue = false;
	for (int i = 0; i < n && t->n < MAX_WORDS - 1; i++) {
		if (str_eq(word[i], "=") && t->n && str_starts(t->word[t->n - 1], "--")) {
			if (i == n - 1)
				t->word[t->n++] = "";
		} else if (t->n && (str_eq(word[i], ":") || glue)) {
			t->word[t->n - 1] = arena_printf(&t->a, "%s%s", t->word[t->n - 1], word[i]);
		} else {
			t->word[t->n++] = word[i];
		}
		glue = str_eq(word[i], ":");
	}
}

/* All but the first and the last. */
static void read_words(struct typed *t)
{
	bool options = true;
	for (int i = 1; i + 1 < t->n; i++) {
		const char *w = t->word[i];
		const size_t n = strcspn(w, "=");
		option_values_fn *values;
		const struct option_row *row = options && w[0] == '-' && w[1] ? find_option(t, w, n, &values) : NULL;
		if (row && row->value && !w[n]) {
			t->option = i + 2 == t->n ? row->name : NULL;
			i++;
		}
		if (row && str_eq(row->name, "--db") && (w[n] || i + 1 < t->n))
			t->db = w[n] ? w + n + 1 : t->word[i];
		if (!row && !(options && w[0] == '-'))
			t->plain[t->nplain++] = w;
		options &= !str_eq(w, "--");
	}
}

void complete_words(struct strbuf *sb, int nwords, char **word)
{
	struct typed t = {.out = sb, .table = &options_table};
	arena_init(&t.a);
	join_words(&t, nwords, word);
	t.last = t.n ? t.word[t.n - 1] : "";
	t.verb = t.n > 1 ? t.word[0] : "";
	t.table = str_eq(t.verb, "findings") ? &findings_table : &options_table;
	read_words(&t);
	const size_t n = strcspn(t.last, "=");
	if (t.n < 2) {
		offer_verbs(&t, true);
	} else if (t.option) {
		complete_value(&t, t.option, strlen(t.option), "");
	} else if (t.last[0] == '-' && t.last[n]) {
		const char *before = arena_printf(&t.a, "%.*s", (int)(n + 1), t.last);
		t.last += n + 1;
		complete_value(&t, before, n, before);
	} else if (t.last[0] == '-') {
		complete_option(&t);
	} else {
		complete_plain(&t);
	}
	arena_free(&t.a);
}
