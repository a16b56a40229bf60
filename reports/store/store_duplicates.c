/* store_duplicates.c: who is whose duplicate, in linear time.
 *
 * The schema's view finding_decision walks from each duplicate through its originals, which is quadratic in the length of a chain, and a
 * writer computes summaries all the time. The one idea: only the least of each circle of duplicates needs that walk, and one pass over all
 * duplicates finds those. So a writer's connection has them in a temporary table, and temporary views of the schema's names that look
 * there; they say the same (tests/store/lifecycle_test.c compares). Writers alone: for people the schema's own views hold. */
#include <stdlib.h>

#include "reports/store/store_internal.h"

static const char setup_sql[] =
	"CREATE TEMP TABLE least_of_circle (finding BLOB NOT NULL PRIMARY KEY);"
	"CREATE TEMP TABLE circle_touched (finding BLOB NOT NULL PRIMARY KEY);" /* by the latest refresh: those that were such or are */
	"CREATE TEMP VIEW finding_decision AS SELECT d.finding, CASE WHEN e.kind = 'duplicate' AND d.finding IN (SELECT finding FROM"
	"  temp.least_of_circle) THEN (SELECT x.id FROM main.event x JOIN main.event_kind k ON k.name = x.kind WHERE x.finding = d.finding"
	"  AND k.decides AND x.kind <> 'duplicate' ORDER BY x.at DESC, x.id DESC LIMIT 1) ELSE d.event END AS event"
	" FROM main.finding_last_decision d LEFT JOIN main.event e ON e.id = d.event";

/* A temporary view of the same text, which resolves the names in it to temporary views first. */
static int shadow(sqlite3 *db, const char *view)
{
	static const char create[] = "CREATE VIEW";
	sqlite3_stmt *st = NULL;
	struct strbuf sb;
	sb_init(&sb);
	int rc = sqlite3_prepare_v2(db, "SELECT sql FROM main.sqlite_master WHERE type = 'view' AND name = ?", -1, &st, NULL);
	if (rc == SQLITE_OK)
		bind_text(st, 1, view);
	if (rc == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW && str_starts((const char *)sqlite3_column_text(st, 0), create))
		sb_printf(&sb, "CREATE TEMP VIEW%s", (const char *)sqlite3_column_text(st, 0) + strlen(create));
	sqlite3_finalize(st);
	if (rc == SQLITE_OK)
		rc = sb.len ? sqlite3_exec(db, sb.s, NULL, NULL, NULL) : SQLITE_ERROR;
	sb_free(&sb);
	return rc;
}

enum store_status circles_setup(struct store *s)
{
	int rc = sqlite3_exec(s->db, setup_sql, NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = shadow(s->db, "finding_state_now");
	if (rc == SQLITE_OK)
		rc = shadow(s->db, "finding_now");
	s->circles = rc == SQLITE_OK;
	return rc == SQLITE_OK ? STORE_OK : store_fail(s, rc, "preparing to sum up");
}

/* ---- finding the circles ------------------------------------------------------------------------------------------------------------ */

struct duplicate {
	struct hash128 id, of;
	int walk;
}; /* walk: number of the one that met it first; 0: none yet */
struct duplicates {
	struct duplicate *row;
	int n, cap;
};

/* Only as it is written: lower-case digits. False: of nothing that a store could have. */
static bool read_hex(struct hash128 *out, const char *text)
{
	static const char digits[] = "0123456789abcdef";
	if (!text || strlen(text) != 2 * sizeof out->b || strspn(text, digits) != 2 * sizeof out->b)
		return false;
	for (size_t i = 0; i < sizeof out->b; i++)
		out->b[i] = (uint8_t)((strchr(digits, text[2 * i]) - digits) << 4 | (strchr(digits, text[2 * i + 1]) - digits));
	return true;
}

static int by_id(const void *a, const void *b)
{
	return memcmp(&((const struct duplicate *)a)->id, &((const struct duplicate *)b)->id, sizeof(struct hash128));
}

static enum store_status read_duplicates(struct duplicates *all, struct store *s)
{
	sqlite3_stmt *st = NULL;
	struct duplicate d = {.walk = 0};
	int rc = SQLITE_ROW;
	enum store_status status = store_stmt(s, &st, Q_DUPLICATES);
	while (status == STORE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		if (!column_hash(&d.id, st, 0) || !read_hex(&d.of, (const char *)sqlite3_column_text(st, 1)))
			continue;
		if (all->n == all->cap) {
			all->cap = all->cap ? 2 * all->cap : 64;
			all->row = xrealloc(all->row, mul_size((size_t)all->cap, sizeof *all->row));
		}
		all->row[all->n++] = d;
	}
	if (status == STORE_OK && rc != SQLITE_DONE)
		status = store_fail(s, rc, "reading duplicates");
	if (st)
		sqlite3_reset(st);
	if (all->n)
		qsort(all->row, (size_t)all->n, sizeof *all->row, by_id);
	return status;
}

static struct duplicate *next_of(const struct duplicates *all, const struct duplicate *d)
{
	const struct duplicate key = {.id = d->of};
	return bsearch(&key, all->row, (size_t)all->n, sizeof *all->row, by_id);
}

static enum store_status put_least(struct store *s, const struct duplicates *all, const struct duplicate *in_circle)
{
	sqlite3_stmt *st = NULL;
	const struct duplicate *least = in_circle;
	for (const struct duplicate *d = next_of(all, in_circle); d != in_circle; d = next_of(all, d))
		least = by_id(d, least) < 0 ? d : least;
	enum store_status status = store_stmt(s, &st, Q_CIRCLE_PUT);
	if (status != STORE_OK)
		return status;
	bind_hash(st, 1, &least->id);
	return store_run_stmt(s, st, "noting a circle of duplicates");
}

/* Each duplicate is met by one walk; a walk that meets itself has found a circle. */
static enum store_status find_circles(struct store *s, const struct duplicates *all)
{
	enum store_status status = STORE_OK;
	for (int i = 0; i < all->n && status == STORE_OK; i++) {
		struct duplicate *d = &all->row[i];
		for (; d && !d->walk; d = next_of(all, d))
			d->walk = i + 1;
		if (d && d->walk == i + 1)
			status = put_least(s, all, d);
	}
	return status;
}

enum store_status circles_refresh(struct store *s)
{
	struct duplicates all = {0};
	if (!s->circles)
		return STORE_OK;
	int rc = store_read_int(s->db, "PRAGMA data_version", &s->circles_version);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(s->db,
			"DELETE FROM temp.circle_touched; INSERT INTO temp.circle_touched SELECT finding FROM temp.least_of_circle;"
			"DELETE FROM temp.least_of_circle",
			NULL, NULL, NULL);
	enum store_status status = rc == SQLITE_OK ? read_duplicates(&all, s) : store_fail(s, rc, "looking at duplicates");
	if (status == STORE_OK)
		status = find_circles(s, &all);
	free(all.row);
	if (status != STORE_OK)
		return status;
	rc = sqlite3_exec(s->db, "INSERT OR IGNORE INTO temp.circle_touched SELECT finding FROM temp.least_of_circle", NULL, NULL, NULL);
	return rc == SQLITE_OK ? STORE_OK : store_fail(s, rc, "looking at duplicates");
}

enum store_status circles_current(struct store *s)
{
	int64_t version = 0;
	if (!s->circles)
		return STORE_OK;
	int rc = store_read_int(s->db, "PRAGMA data_version", &version);
	if (rc != SQLITE_OK)
		return store_fail(s, rc, "looking at duplicates");
	return version == s->circles_version ? STORE_OK : circles_refresh(s);
}

/* ---- one finding's original ---------------------------------------------------------------------------------------------------------- */

/* The first row of a query about a finding, in *st, which the caller resets; *found: there is one. */
static enum store_status ask(sqlite3_stmt **st, bool *found, struct store *s, enum query q, const struct hash128 *finding)
{
	enum store_status status = store_stmt(s, st, q);
	if (status != STORE_OK)
		return status;
	bind_hash(*st, 1, finding);
	int rc = sqlite3_step(*st);
	*found = rc == SQLITE_ROW;
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? STORE_OK : store_fail(s, rc, "looking for an original");
}

enum store_status store_original(struct store *s, bool *found, struct hash128 *original, const struct hash128 *finding)
{
	sqlite3_stmt *st = NULL;
	*found = false;
	enum store_status status = circles_current(s);
	if (status == STORE_OK)
		status = ask(&st, found, s, Q_ORIGINAL, finding);
	*found = *found && read_hex(original, (const char *)sqlite3_column_text(st, 0));
	sqlite3_reset(st);
	if (status == STORE_OK && *found) { /* it may be in another store */
		status = ask(&st, found, s, Q_FINDING, original);
		sqlite3_reset(st);
	}
	return status;
}
