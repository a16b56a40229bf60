/* store_after_fix.c: decisions that a finding was fixed, against sightings that were made in another store.
 *
 * The one idea: what a merge concludes is a function of the other rows. It is taken back and concluded again at each merge, so merging
 * stays commutative and associative, and a merged store says what one store would have said. Confirmed, a sighting refutes the fix;
 * unconfirmed, it makes the finding a candidate again (lifecycle.h has the rule, for sightings in one store). */
#include <stdlib.h>

#include "reports/store/store_internal.h"
#include "eager/base/version.h"

#define MERGE_TOOL "merge"

bool fix_contradicted(const char *fixed, const char *seen) { return !fixed[0] || !seen[0] || version_compare(seen, fixed) >= 0; }

const char *fix_doubted_note(const char *fixed, const char *seen, struct arena *a)
{
	return arena_printf(a, "a candidate regression: marked fixed%s%s, seen again%s%s, unconfirmed", fixed[0] ? " in " : "", fixed,
		seen[0] ? " in " : "", seen);
}

/* Sightings after the latest decision of each finding whose fix stands: what was marked fixed, or has become a candidate since. A row per
 * finding and version, the confirmed and then the earliest first. */
static const char sightings_sql[] =
	"WITH fix AS (SELECT x.finding, e.payload AS version, d.at AS decided, d.kind = 'fixed' AS stands FROM ("
	"  SELECT l.finding, l.event, (SELECT e.id FROM event e JOIN event_kind k ON k.name = e.kind WHERE e.finding = l.finding AND k.decides"
	"    AND NOT (e.kind = 'state' AND e.payload = 'candidate') ORDER BY e.at DESC, e.id DESC LIMIT 1) AS latest"
	"  FROM finding_last_decision l WHERE l.finding IN (SELECT finding FROM event WHERE kind = 'fixed')) x"
	"  JOIN event e ON e.id = x.latest JOIN event d ON d.id = x.event WHERE e.kind = 'fixed')"
	" SELECT f.finding, f.version, n.versions, f.stands, min(CASE WHEN c.first > f.decided THEN c.first ELSE c.last END),"
	"  min((SELECT min(k.at) FROM event k WHERE k.finding = f.finding AND k.kind = 'confirmed' AND k.at > f.decided"
	"    AND k.at BETWEEN c.first AND c.last)) AS confirmed"
	" FROM fix f JOIN observation_count c ON c.finding = f.finding JOIN environment n ON n.id = c.environment"
	" WHERE c.verdict <> 'pass' AND c.last > f.decided GROUP BY f.finding, n.versions"
	" ORDER BY f.finding, confirmed IS NULL, confirmed, 5, n.versions";

struct conclusion {
	struct hash128 finding;
	bool confirmed;
	int64_t at;
	const char *fixed, *seen;
};
struct conclusions {
	struct conclusion *row;
	int n, cap;
};

/* The first row of a finding that contradicts its fix counts. */
static void conclude(struct conclusions *out, sqlite3_stmt *st, struct arena *a)
{
	struct conclusion c = {.confirmed = sqlite3_column_type(st, 5) != SQLITE_NULL};
	const char *fixed = (const char *)sqlite3_column_text(st, 1), *versions = (const char *)sqlite3_column_text(st, 2);
	if (!column_hash(&c.finding, st, 0) || (!c.confirmed && !sqlite3_column_int(st, 3)))
		return;
	c.fixed = arena_strdup(a, fixed ? fixed : "");
	c.seen = version_of_environment(versions ? versions : "", a);
	c.at = sqlite3_column_int64(st, c.confirmed ? 5 : 4);
	if (!fix_contradicted(c.fixed, c.seen) || (out->n && memcmp(&out->row[out->n - 1].finding, &c.finding, sizeof c.finding) == 0))
		return;
	if (out->n == out->cap) {
		out->cap = out->cap ? 2 * out->cap : 16;
		out->row = xrealloc(out->row, mul_size((size_t)out->cap, sizeof *out->row));
	}
	out->row[out->n++] = c;
}

static enum store_status write_conclusion(struct store *s, const struct conclusion *c, struct arena *a)
{
	struct store_event e = {.finding = c->finding, .at = c->at, .kind = EVENT_REGRESSED, .tool = MERGE_TOOL, .payload = c->seen};
	if (c->confirmed)
		return store_put_event(s, &e);
	e.kind = EVENT_STATE;
	e.payload = finding_state_name[STATE_CANDIDATE];
	enum store_status status = store_put_event(s, &e);
	e.kind = EVENT_NOTE;
	e.payload = fix_doubted_note(c->fixed, c->seen, a);
	return status == STORE_OK ? store_put_event(s, &e) : status;
}

static enum store_status read_conclusions(struct conclusions *out, struct store *s, struct arena *a)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(s->db, sightings_sql, -1, &st, NULL);
	while (rc == SQLITE_OK || rc == SQLITE_ROW) {
		rc = sqlite3_step(st);
		if (rc == SQLITE_ROW)
			conclude(out, st, a);
	}
	sqlite3_finalize(st);
	return rc == SQLITE_DONE ? STORE_OK : store_fail(s, rc, "looking for findings that were seen after their fix");
}

enum store_status conclude_from_merged(struct store *s)
{
	struct conclusions all = {0};
	struct arena a;
	arena_init(&a);
	int rc = sqlite3_exec(s->db, "DELETE FROM event WHERE tool = '" MERGE_TOOL "'", NULL, NULL, NULL);
	enum store_status status =
		rc == SQLITE_OK ? read_conclusions(&all, s, &a) : store_fail(s, rc, "taking back what an earlier merge concluded");
	for (int i = 0; i < all.n && status == STORE_OK; i++)
		status = write_conclusion(s, &all.row[i], &a);
	free(all.row);
	arena_free(&a);
	return status;
}
