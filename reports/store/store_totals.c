/* store_totals.c: the sums of table counter: per run, environment and verdict (counter_total), and by operators and dtype (tried).
 *
 * A counter is of a block of programs, and the block's policy draw says which families of operators and which dtypes were on. The one
 * idea: a family is expanded into its operators only by the view that shows them, so a counter adds to few rows of `tried`, and what a
 * family contains is a small table of its own. A draw that the user restricted (--ops) names its operators; they are put as they are. */
#include <stdlib.h>

#include "eager/lang/op.h"
#include "reports/store/store_internal.h"

/* ---- what a draw has on ---------------------------------------------------------------------------------------------------------- */

enum { MAX_ON = 1024 };
struct draw_words {
	char *copy; /* of the draw's text, cut into words */
	const char *policy, *ops[MAX_ON], *dtype[NDTYPES];
	int nops, ndtypes;
	bool families; /* ops are names of families */
};

/* "view:3,scatter:2" or "sum.dim_IntList,mm": names without weights. Cuts list. */
static int take_names(const char **out, int max, char *list)
{
	int n = 0;
	for (char *at = strtok_r(list, ",", &list); at && n < max; at = strtok_r(NULL, ",", &list)) {
		at[strcspn(at, ":")] = '\0';
		out[n++] = at;
	}
	return n;
}

/* A text that is no draw has nothing on. */
static void draw_words_read(struct draw_words *w, const char *text)
{
	static const char families[] = "families=", dtypes[] = "dtypes=", ops[] = "ops=";
	char *rest = NULL;
	*w = (struct draw_words){.copy = xstrdup(text), .families = true};
	w->policy = w->copy[0] == '\0' || w->copy[0] == ' ' ? "" : strtok_r(w->copy, " ", &rest);
	for (char *word = rest ? strtok_r(NULL, " ", &rest) : NULL; word; word = strtok_r(NULL, " ", &rest)) {
		if (str_starts(word, ops)) {
			w->families = false;
			w->nops = take_names(w->ops, MAX_ON, word + strlen(ops));
		} else if (str_starts(word, families) && w->families) {
			w->nops = take_names(w->ops, MAX_ON, word + strlen(families));
		} else if (str_starts(word, dtypes)) {
			w->ndtypes = take_names(w->dtype, NDTYPES, word + strlen(dtypes));
		}
	}
}

/* ---- adding ------------------------------------------------------------------------------------------------------------------------ */

struct counted {
	const char *verdict;
	struct hash128 environment;
	int64_t n;
};

/* As tables `tried` and `operator` name the i-th. */
enum { OPS_NAME = 128 };
static const char *ops_name(char out[OPS_NAME], const struct draw_words *w, int i)
{
	snprintf(out, OPS_NAME, "%s%s", w->families ? "family:" : "", w->ops[i]);
	return out;
}

static enum store_status add_tried(struct store *s, const struct draw_words *w, const struct counted *c)
{
	enum store_status status = STORE_OK;
	char name[OPS_NAME];
	for (int i = 0; i < w->nops && status == STORE_OK; i++) {
		ops_name(name, w, i);
		for (int k = 0; k < w->ndtypes && status == STORE_OK; k++) {
			sqlite3_stmt *st = NULL;
			status = store_stmt(s, &st, Q_TRIED);
			if (status != STORE_OK)
				break;
			bind_text(st, 1, w->policy);
			bind_hash(st, 2, &c->environment);
			bind_text(st, 3, name);
			bind_text(st, 4, w->dtype[k]);
			bind_text(st, 5, c->verdict);
			sqlite3_bind_int64(st, 6, c->n);
			status = store_run_stmt(s, st, "adding up counters");
		}
	}
	return status;
}

enum store_status totals_add(struct store *s, const struct pending_counter *p)
{
	struct draw_words w;
	sqlite3_stmt *st = NULL;
	enum store_status status = store_stmt(s, &st, Q_TOTAL);
	if (status != STORE_OK)
		return status;
	bind_hash(st, 1, &p->run);
	bind_hash(st, 2, &p->environment);
	bind_text(st, 3, p->verdict);
	sqlite3_bind_int64(st, 4, p->n);
	status = store_run_stmt(s, st, "adding up counters");
	if (status != STORE_OK)
		return status;
	draw_words_read(&w, p->draw);
	status = add_tried(s, &w, &(struct counted){p->verdict, p->environment, p->n});
	free(w.copy);
	return status;
}

/* ---- draw by draw ------------------------------------------------------------------------------------------------------------------ */

/* Counters of one draw come one after the other: its text is read once. */
typedef enum store_status take_counted(struct store *s, const struct draw_words *w, const struct counted *c, void *ctx);
static enum store_status each_counted(struct store *s, take_counted *take, void *ctx)
{
	static const char sql[] = "SELECT c.environment, c.verdict, c.n, d.text, d.id FROM (SELECT draw, environment, verdict, sum(n) AS n"
							  " FROM counter GROUP BY draw, environment, verdict) c JOIN draw d ON d.id = c.draw";
	struct draw_words w = {.copy = NULL};
	struct hash128 last = {{0}}, draw;
	sqlite3_stmt *row = NULL;
	enum store_status status = STORE_OK;
	int rc = sqlite3_prepare_v2(s->db, sql, -1, &row, NULL);
	while (status == STORE_OK && (rc == SQLITE_OK || rc == SQLITE_ROW) && (rc = sqlite3_step(row)) == SQLITE_ROW) {
		const char *verdict = (const char *)sqlite3_column_text(row, 1), *text = (const char *)sqlite3_column_text(row, 3);
		struct counted c = {.verdict = verdict, .n = sqlite3_column_int64(row, 2)};
		if (!verdict || !text || !column_hash(&c.environment, row, 0) || !column_hash(&draw, row, 4))
			continue;
		if (!w.copy || memcmp(&last, &draw, sizeof draw) != 0) {
			free(w.copy);
			draw_words_read(&w, text);
			last = draw;
		}
		status = take(s, &w, &c, ctx);
	}
	sqlite3_finalize(row);
	free(w.copy);
	return status == STORE_OK && rc != SQLITE_DONE ? store_fail(s, rc, "adding up counters") : status;
}

static enum store_status add_one_tried(struct store *s, const struct draw_words *w, const struct counted *c, void *ctx)
{
	(void)ctx;
	return add_tried(s, w, c);
}

/* ---- are they right? --------------------------------------------------------------------------------------------------------------- */

/* Of rows of `tried`: their counts, and these times a number that each of a row's words has a part in. */
struct tried_sum {
	uint64_t n, weighed; /* modulo 2^64 */
};
static uint64_t weight_of(const char *before, const char *word)
{
	uint64_t h = 14695981039346656037u; /* FNV-1a */
	for (const char *s = before; *s; s++)
		h = (h ^ (unsigned char)*s) * 1099511628211u;
	for (const char *s = word; *s; s++)
		h = (h ^ (unsigned char)*s) * 1099511628211u;
	return h;
}
static uint64_t weight_of_run(const char *policy, const struct hash128 *environment, const char *verdict)
{
	uint64_t h;
	memcpy(&h, environment->b, sizeof h);
	return h + weight_of("policy ", policy) + weight_of("verdict ", verdict);
}
/* What add_tried adds. */
static enum store_status sum_counted(struct store *s, const struct draw_words *w, const struct counted *c, void *ctx)
{
	struct tried_sum *sum = ctx;
	const uint64_t n = (uint64_t)c->n, nops = (uint64_t)w->nops, ndtypes = (uint64_t)w->ndtypes;
	uint64_t ops = 0, dtypes = 0;
	char name[OPS_NAME];
	(void)s;
	for (int i = 0; i < w->nops; i++)
		ops += weight_of("ops ", ops_name(name, w, i));
	for (int k = 0; k < w->ndtypes; k++)
		dtypes += weight_of("dtype ", w->dtype[k]);
	sum->n += n * nops * ndtypes;
	sum->weighed += n * (nops * ndtypes * weight_of_run(w->policy, &c->environment, c->verdict) + ndtypes * ops + nops * dtypes);
	return STORE_OK;
}

static enum store_status sum_tried(struct store *s, struct tried_sum *sum)
{
	sqlite3_stmt *row = NULL;
	struct hash128 environment;
	int rc = sqlite3_prepare_v2(s->db, "SELECT policy, environment, ops, dtype, verdict, n FROM tried", -1, &row, NULL);
	while ((rc == SQLITE_OK || rc == SQLITE_ROW) && (rc = sqlite3_step(row)) == SQLITE_ROW) {
		const char *const word[] = {(const char *)sqlite3_column_text(row, 0), (const char *)sqlite3_column_text(row, 2),
			(const char *)sqlite3_column_text(row, 3), (const char *)sqlite3_column_text(row, 4)};
		const uint64_t n = (uint64_t)sqlite3_column_int64(row, 5);
		if (!word[0] || !word[1] || !word[2] || !word[3] || !column_hash(&environment, row, 1))
			continue;
		sum->n += n;
		sum->weighed += n * (weight_of_run(word[0], &environment, word[3]) + weight_of("ops ", word[1]) + weight_of("dtype ", word[2]));
	}
	sqlite3_finalize(row);
	return rc == SQLITE_DONE ? STORE_OK : store_fail(s, rc, "looking at sums of counters");
}

/* Of another scatterproof, which read draws otherwise, they may be others; and a file may have been meddled with. */
static enum store_status tried_is_right(bool *right, struct store *s)
{
	struct tried_sum want = {0}, there = {0};
	enum store_status status = each_counted(s, sum_counted, &want);
	if (status == STORE_OK)
		status = sum_tried(s, &there);
	*right = want.n == there.n && want.weighed == there.weighed;
	return status;
}

/* ---- all of them ------------------------------------------------------------------------------------------------------------------- */

static enum store_status put_operators(struct store *s)
{
	enum store_status status = STORE_OK;
	for (int op = 0; op < op_nrows && status == STORE_OK; op++) {
		char family[64];
		snprintf(family, sizeof family, "family:%s", family_name[op_info[op].family]);
		const char *const ops[] = {family, op_info[op].name};
		for (int i = 0; i < ARRAY_LEN(ops) && status == STORE_OK && op_info[op].family != F_INPUT; i++) {
			sqlite3_stmt *st = NULL;
			status = store_stmt(s, &st, Q_OPERATOR);
			if (status != STORE_OK)
				break;
			bind_text(st, 1, ops[i]);
			bind_text(st, 2, op_info[op].name);
			status = store_run_stmt(s, st, "writing the operators of a family");
		}
	}
	return status;
}

enum store_status totals_rebuild(struct store *s)
{
	int rc = sqlite3_exec(s->db,
		"DELETE FROM tried; DELETE FROM operator; DELETE FROM counter_total;"
		"INSERT INTO counter_total (run, environment, verdict, n) SELECT run, environment, verdict, sum(n) FROM counter GROUP BY 1, 2, 3",
		NULL, NULL, NULL);
	enum store_status status = rc == SQLITE_OK ? put_operators(s) : store_fail(s, rc, "adding up counters");
	return status == STORE_OK ? each_counted(s, add_one_tried, NULL) : status;
}

/* What the store has of the operator table of this binary; and whether the sums are those of the counters. */
enum store_status totals_verify(struct store *s)
{
	int64_t different = 0, noperators = 0;
	int want = 0;
	for (int op = 0; op < op_nrows; op++)
		want += op_info[op].family == F_INPUT ? 0 : 2;
	int rc = store_read_int(s->db,
		"SELECT EXISTS (SELECT run, environment, verdict, sum(n) FROM counter GROUP BY 1, 2, 3 EXCEPT SELECT * FROM counter_total) "
		"OR (SELECT count(*) FROM counter_total) <> (SELECT count(*) FROM (SELECT DISTINCT run, environment, verdict FROM counter))",
		&different);
	if (rc == SQLITE_OK)
		rc = store_read_int(s->db, "SELECT count(*) FROM operator", &noperators);
	if (rc != SQLITE_OK)
		return store_fail(s, rc, "looking at sums of counters");
	bool right = !different && noperators == want;
	enum store_status status = right ? tried_is_right(&right, s) : STORE_OK;
	if (status != STORE_OK || right)
		return status;
	status = write_enter(s);
	return write_leave(s, status == STORE_OK ? totals_rebuild(s) : status);
}
