/* lifecycle.c: see lifecycle.h. */
#include "reports/life/lifecycle.h"

#include "reports/store/store_internal.h"
#include "eager/base/version.h"

const char *const decision_name[NDECISIONS] = {"open", "known", "fixed-in", "dismissed", "duplicate"};

bool decision_find(enum decision_kind *out, const char *name)
{
	for (int i = 0; i < NDECISIONS; i++)
		if (str_eq(decision_name[i], name)) {
			*out = (enum decision_kind)i;
			return true;
		}
	return false;
}

/* When something about f is dated so that it is the latest: now, or later if events of f are (a clock elsewhere). */
static enum store_status after_all(int64_t *at, struct store *s, const struct store_loaded *f, int64_t now)
{
	*at = now;
	for (int i = 0; i < f->nevents; i++) {
		if (f->event[i].at == INT64_MAX)
			return store_refuse(s, STORE_CORRUPT, "%s is damaged: an event of finding %.*s is dated so late that no decision can follow it",
				store_path(s), STORE_ID_DIGITS, f->hex);
		*at = MAX(*at, f->event[i].at + 1);
	}
	return STORE_OK;
}

static bool ever(const struct store_loaded *f, enum event_kind kind)
{
	for (int i = 0; i < f->nevents; i++)
		if (str_eq(f->event[i].kind, event_kind_name[kind]))
			return true;
	return false;
}

/* How far confirming and triage have come with it, whatever anybody decided since. */
static enum finding_state reached(const struct store_loaded *f)
{
	return ever(f, EVENT_BLAME)    ? STATE_BLAMED
		: ever(f, EVENT_MINIMISED) ? STATE_MINIMISED
		: ever(f, EVENT_CONFIRMED) ? STATE_CONFIRMED
								   : STATE_CANDIDATE;
}

const char *finding_fixed_version(const struct store_loaded *f)
{
	const char *version = "";
	for (int i = 0; i < f->nevents; i++)
		if (str_eq(f->event[i].kind, event_kind_name[EVENT_FIXED]) && f->event[i].payload[0])
			version = f->event[i].payload;
	return version;
}

/* Inside a batch: failures are remembered there. */
static void write_decision(struct store *s, const struct decision *d, const struct store_loaded *f, struct store_event e)
{
	struct hash128 issue;
	struct store_event note = e;
	note.kind = EVENT_NOTE;
	note.payload = d->note;
	char other[33];
	hash_hex(other, &d->duplicate_of);
	switch (d->kind) {
	case DECIDE_OPEN: e.payload = finding_state_name[reached(f)]; break;
	case DECIDE_KNOWN:
		e.kind = EVENT_KNOWN;
		e.payload = d->note;
		note.payload = ""; /* said already */
		if (d->issue_url[0] && store_issue(s, &issue, d->issue_url, "") == STORE_OK)
			e.issue = &issue;
		break;
	case DECIDE_FIXED_IN:
		e.kind = EVENT_FIXED;
		e.payload = d->version[0] ? d->version : finding_fixed_version(f);
		break;
	case DECIDE_DISMISSED: e.payload = finding_state_name[STATE_DISMISSED]; break;
	case DECIDE_DUPLICATE:
		e.kind = EVENT_DUPLICATE;
		e.payload = other;
		break;
	case NDECISIONS: BUG("no decision");
	}
	store_event(s, &e);
	if (note.payload[0])
		store_event(s, &note);
}

const char *finding_original(const struct store_loaded *f)
{
	for (int i = f->nevents - 1; f->state == STATE_DUPLICATE && i >= 0; i--)
		if (str_eq(f->event[i].kind, event_kind_name[EVENT_DUPLICATE]))
			return f->event[i].payload;
	return "";
}

enum store_status finding_last_original(
	struct hash128 *last, bool *turns, struct store *s, const struct hash128 *finding, const struct hash128 *original)
{
	enum { LONGEST = 100000 }; /* steps */
	enum store_status status = STORE_OK;
	bool more = true;
	*last = *original;
	*turns = memcmp(last, finding, sizeof *last) == 0;
	for (int i = 0; more && !*turns && status == STORE_OK; i++) {
		struct hash128 next;
		if (i == LONGEST)
			return store_refuse(s, STORE_CORRUPT, "%s is damaged: a chain of more than %d duplicates", store_path(s), LONGEST);
		status = store_original(s, &more, &next, last);
		more = more && status == STORE_OK;
		*last = more ? next : *last;
		*turns = memcmp(last, finding, sizeof *last) == 0;
	}
	return status;
}

/* Inside a batch. */
static enum store_status decide_one(struct store *s, const struct decision *d, int64_t now, const char *tool)
{
	struct arena a;
	struct store_loaded f;
	int64_t at = 0;
	arena_init(&a);
	enum store_status status = store_load_finding(s, &f, &d->finding, &a);
	if (status == STORE_OK)
		status = after_all(&at, s, &f, now);
	if (status == STORE_OK)
		write_decision(s, d, &f, (struct store_event){.finding = d->finding, .at = at, .kind = EVENT_STATE, .tool = tool});
	arena_free(&a);
	return status;
}

enum store_status finding_decide_all(struct store *s, const struct decision *d, int n, int64_t now, const char *tool)
{
	enum store_status status = store_begin(s);
	if (status != STORE_OK)
		return status;
	for (int i = 0; i < n && status == STORE_OK; i++)
		status = decide_one(s, &d[i], now, tool);
	if (status == STORE_OK)
		return store_commit(s);
	store_rollback(s);
	return status;
}

enum store_status finding_decide(struct store *s, const struct decision *d, int64_t now, const char *tool)
{
	return finding_decide_all(s, d, 1, now, tool);
}

/* ---- fixes ------------------------------------------------------------------------------------------------------------------------- */

/* The version of the fix that stands, NULL if none does. */
static const char *standing_fix(const struct store_loaded *f)
{
	const char *fixed = NULL;
	if (!(1u << f->state & (STATES_OPEN | 1u << STATE_FIXED_IN)) || f->state == STATE_REGRESSED)
		return NULL;
	for (int i = 0; i < f->nevents; i++) {
		const struct store_loaded_event *e = &f->event[i];
		if (str_eq(e->kind, event_kind_name[EVENT_FIXED]))
			fixed = e->payload;
		else if (event_decides(e->kind) && !str_eq(e->payload, finding_state_name[STATE_CANDIDATE]))
			fixed = NULL;
	}
	return fixed;
}

enum store_status finding_seen_after_fix(
	enum after_fix *out, struct store *s, const struct store_loaded *f, const char *versions, bool confirmed, int64_t now, const char *tool)
{
	struct arena a;
	arena_init(&a);
	const char *fixed = standing_fix(f), *seen = version_of_environment(versions, &a);
	enum store_status status = STORE_OK;
	enum after_fix what = !fixed || !fix_contradicted(fixed, seen) ? FIX_NO_MATTER
		: confirmed                                                ? FIX_REFUTED
		: f->state == STATE_FIXED_IN                               ? FIX_DOUBTED
																   : FIX_NO_MATTER;
	struct store_event e = {.finding = f->id, .kind = EVENT_REGRESSED, .tool = tool, .payload = seen};
	if (what != FIX_NO_MATTER)
		status = after_all(&e.at, s, f, now);
	if (status == STORE_OK && what == FIX_REFUTED) {
		status = store_event(s, &e);
	} else if (status == STORE_OK && what == FIX_DOUBTED) {
		store_begin(s); /* what fails from here on is store_commit's failure, too */
		e.kind = EVENT_STATE;
		e.payload = finding_state_name[STATE_CANDIDATE];
		store_event(s, &e);
		e.kind = EVENT_NOTE;
		e.payload = fix_doubted_note(fixed, seen, &a);
		store_event(s, &e);
		status = store_commit(s);
	}
	*out = status == STORE_OK ? what : FIX_NO_MATTER;
	arena_free(&a);
	return status;
}
