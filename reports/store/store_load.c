/* store_load.c: reading findings back. One finding is read in one read transaction, so that its parts fit together. */
#include <stdlib.h>

#include "reports/store/store_internal.h"

/* ---- finding one ---------------------------------------------------------------------------------------------------- */

enum store_status store_open_by_signature(
	struct store *s, bool *found, struct hash128 *id, enum finding_state *state, const char *signature, const char *family)
{
	sqlite3_stmt *st = NULL;
	*found = false;
	if (signature[0] == '\0')
		return STORE_OK;
	enum store_status status = store_stmt(s, &st, Q_BY_SIGNATURE);
	if (status != STORE_OK)
		return status;
	bind_text(st, 1, signature);
	bind_text(st, 2, family);
	int rc = sqlite3_step(st);
	if (rc == SQLITE_ROW) {
		enum finding_state now;
		*found = column_hash(id, st, 0) && finding_state_find(&now, (const char *)sqlite3_column_text(st, 1));
		if (*found && state)
			*state = now;
		if (!*found)
			status = store_refuse(s, STORE_CORRUPT, "%s: a finding's summary is damaged", s->path);
	} else if (rc != SQLITE_DONE) {
		status = store_fail(s, rc, "looking a signature up");
	}
	sqlite3_reset(st);
	return status;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The least and greatest ids that begin with these digits. */
static bool prefix_range(struct hash128 *lo, struct hash128 *hi, const char *prefix)
{
	size_t n = strlen(prefix);
	if (n < STORE_MIN_PREFIX || n > 32)
		return false;
	memset(lo->b, 0, sizeof lo->b);
	memset(hi->b, 0xff, sizeof hi->b);
	for (size_t i = 0; i < n; i++) {
		int d = hex_digit(prefix[i]), shift = i % 2 ? 0 : 4;
		if (d < 0)
			return false;
		lo->b[i / 2] = (uint8_t)(lo->b[i / 2] | d << shift);
		hi->b[i / 2] = (uint8_t)((hi->b[i / 2] & ~(0xf << shift)) | d << shift);
	}
	return true;
}

static enum store_status ambiguous(
	struct store *s, sqlite3_stmt *st, const struct hash128 *first, const char *first_text, const char *prefix)
{
	enum { SHOWN = 10 };
	char hex[33];
	int n = 1;
	hash_hex(hex, first);
	store_refuse(s, STORE_BAD, "several findings begin with %s: %s %s", prefix, hex, first_text);
	do {
		struct hash128 id;
		if (++n > SHOWN) {
			sb_puts(&s->message, "; ...");
			break;
		}
		if (column_hash(&id, st, 0)) {
			hash_hex(hex, &id);
			const unsigned char *signature = sqlite3_column_text(st, 2);
			sb_printf(&s->message, "; %s %s %s", hex, (const char *)sqlite3_column_text(st, 1), signature ? (const char *)signature : "");
		}
	} while (sqlite3_step(st) == SQLITE_ROW);
	return STORE_BAD;
}

static enum store_status one_by_prefix(struct store *s, struct hash128 *id, sqlite3_stmt *st, const char *prefix)
{
	struct strbuf first;
	int rc = sqlite3_step(st);
	if (rc == SQLITE_DONE)
		return store_refuse(s, STORE_BAD, "no finding in %s begins with %s", s->path, prefix);
	if (rc != SQLITE_ROW)
		return store_fail(s, rc, "looking an id up");
	if (!column_hash(id, st, 0))
		return store_refuse(s, STORE_CORRUPT, "%s: the id of a finding is damaged", s->path);
	const unsigned char *signature = sqlite3_column_text(st, 2);
	sb_init(&first);
	sb_printf(&first, "%s %s", (const char *)sqlite3_column_text(st, 1), signature ? (const char *)signature : "");
	rc = sqlite3_step(st);
	enum store_status status = STORE_OK;
	if (rc == SQLITE_ROW)
		status = ambiguous(s, st, id, first.s, prefix);
	else if (rc != SQLITE_DONE)
		status = store_fail(s, rc, "looking an id up");
	sb_free(&first);
	return status;
}

enum store_status store_find_by_prefix(struct store *s, struct hash128 *id, const char *prefix)
{
	struct hash128 lo, hi, got;
	sqlite3_stmt *st = NULL;
	if (!prefix_range(&lo, &hi, prefix))
		return store_refuse(s, STORE_BAD, "'%.40s' is no finding's id: %d to 32 hex digits are needed", prefix, STORE_MIN_PREFIX);
	enum store_status status = store_stmt(s, &st, Q_BY_PREFIX);
	if (status != STORE_OK)
		return status;
	bind_hash(st, 1, &lo);
	bind_hash(st, 2, &hi);
	status = one_by_prefix(s, &got, st, prefix);
	sqlite3_reset(st);
	if (status == STORE_OK)
		*id = got;
	return status;
}

enum store_status store_last_campaign(struct store *s, int64_t *started)
{
	sqlite3_stmt *st = NULL;
	enum store_status status = store_stmt(s, &st, Q_LAST_CAMPAIGN);
	if (status != STORE_OK)
		return status;
	int rc = sqlite3_step(st);
	if (rc == SQLITE_ROW)
		*started = sqlite3_column_type(st, 0) == SQLITE_INTEGER ? sqlite3_column_int64(st, 0) : INT64_MIN;
	else
		status = store_fail(s, rc, "looking for the latest campaign");
	sqlite3_reset(st);
	return status;
}

/* ---- loading one ------------------------------------------------------------------------------------------------------ */

static const char *text_of(struct arena *a, sqlite3_stmt *st, int col)
{
	const unsigned char *text = sqlite3_column_text(st, col);
	return text ? arena_strdup(a, (const char *)text) : "";
}

/* The rows of a query about one finding, each handed to fn. */
typedef void load_row_fn(struct store_loaded *out, sqlite3_stmt *st, int nth, struct arena *a);

static enum store_status count_rows(struct store *s, int *n, sqlite3_stmt *st, const char *doing)
{
	int rc;
	*n = 0;
	while ((rc = sqlite3_step(st)) == SQLITE_ROW)
		++*n;
	sqlite3_reset(st);
	return rc == SQLITE_DONE ? STORE_OK : store_fail(s, rc, doing);
}

static enum store_status load_rows(
	struct store *s, struct store_loaded *out, enum query q, int *n, void *rows, size_t row_size, load_row_fn *fn, struct arena *a)
{
	static const char doing[] = "reading a finding";
	sqlite3_stmt *st = NULL;
	enum store_status status = store_stmt(s, &st, q);
	if (status != STORE_OK)
		return status;
	bind_hash(st, 1, &out->id);
	status = count_rows(s, n, st, doing);
	if (status != STORE_OK)
		return status;
	void *array = arena_zalloc(a, mul_size((size_t)*n, row_size));
	memcpy(rows, &array, sizeof array);
	int rc = SQLITE_DONE;
	for (int i = 0; i < *n && (rc = sqlite3_step(st)) == SQLITE_ROW; i++)
		fn(out, st, i, a);
	sqlite3_reset(st);
	return *n == 0 || rc == SQLITE_ROW ? STORE_OK : store_fail(s, rc == SQLITE_DONE ? SQLITE_CORRUPT : rc, doing);
}

static void load_env(struct store_loaded *out, sqlite3_stmt *st, int nth, struct arena *a)
{
	struct store_loaded_env *e = &out->env[nth];
	column_hash(&e->id, st, 0);
	e->family = text_of(a, st, 1);
	e->version = text_of(a, st, 2);
	e->target = text_of(a, st, 3);
	e->versions = text_of(a, st, 4);
	e->device = text_of(a, st, 5);
	e->machine = text_of(a, st, 6);
	e->nobs = sqlite3_column_int64(st, 7);
	e->npass = sqlite3_column_int64(st, 8);
	e->first_seen = sqlite3_column_int64(st, 9);
	e->last_seen = sqlite3_column_int64(st, 10);
}

static int env_index(const struct store_loaded *f, const struct hash128 *id)
{
	for (int i = 0; i < f->nenvs; i++)
		if (memcmp(&f->env[i].id, id, sizeof *id) == 0)
			return i;
	return -1;
}

static void load_obs(struct store_loaded *out, sqlite3_stmt *st, int nth, struct arena *a)
{
	struct store_loaded_obs *o = &out->obs[nth];
	struct hash128 env;
	o->env = column_hash(&env, st, 0) ? env_index(out, &env) : -1;
	column_hash(&o->program, st, 1);
	o->program_text = memcmp(&o->program, &out->program_id, sizeof o->program) == 0 ? out->program : text_of(a, st, 2);
	o->at = sqlite3_column_int64(st, 3);
	o->verdict = text_of(a, st, 4);
	o->tensor = text_of(a, st, 5);
	o->detail = text_of(a, st, 6);
	o->fill = sqlite3_column_int(st, 7);
	o->call = sqlite3_column_int(st, 8);
}

static void load_event(struct store_loaded *out, sqlite3_stmt *st, int nth, struct arena *a)
{
	out->event[nth] = (struct store_loaded_event){.at = sqlite3_column_int64(st, 0),
		.kind = text_of(a, st, 1),
		.tool = text_of(a, st, 2),
		.payload = text_of(a, st, 3),
		.issue_url = text_of(a, st, 4)};
}

static void load_artifact(struct store_loaded *out, sqlite3_stmt *st, int nth, struct arena *a)
{
	struct store_loaded_artifact *f = &out->artifact[nth];
	f->name = text_of(a, st, 0);
	f->at = sqlite3_column_int64(st, 1);
	const void *p = sqlite3_column_blob(st, 2);
	f->nbytes = (size_t)sqlite3_column_bytes(st, 2);
	char *copy = arena_alloc(a, f->nbytes + 1);
	if (f->nbytes)
		memcpy(copy, p, f->nbytes);
	copy[f->nbytes] = '\0';
	f->bytes = copy;
}

static enum store_status load_head(struct store *s, struct store_loaded *out, struct hash128 *current, sqlite3_stmt *st, struct arena *a)
{
	int rc = sqlite3_step(st);
	if (rc == SQLITE_DONE)
		return store_refuse(s, STORE_BAD, "no finding %.*s in %s", STORE_ID_DIGITS, out->hex, s->path);
	if (rc != SQLITE_ROW)
		return store_fail(s, rc, "reading a finding");
	if (!finding_kind_find(&out->kind, text_of(a, st, 1)) || !column_hash(&out->program_id, st, 2) || !column_hash(current, st, 13)
		|| !finding_state_find(&out->state, text_of(a, st, 3)) || !finding_severity_find(&out->severity, text_of(a, st, 4)))
		return store_refuse(s, STORE_CORRUPT, "%s: finding %.*s holds words that do not exist", s->path, STORE_ID_DIGITS, out->hex);
	out->family = text_of(a, st, 0);
	out->signature = text_of(a, st, 5);
	out->first_seen = sqlite3_column_int64(st, 6);
	out->last_seen = sqlite3_column_int64(st, 7);
	out->nobs = sqlite3_column_int64(st, 8);
	out->npass = sqlite3_column_int64(st, 9);
	out->ops = text_of(a, st, 10);
	out->program = text_of(a, st, 11);
	out->minimised = sqlite3_column_type(st, 12) == SQLITE_NULL ? NULL : text_of(a, st, 12);
	return STORE_OK;
}

static void add_program(struct store_loaded *f, const struct hash128 *id, const char *text, int nobs)
{
	int i = 0;
	while (i < f->nprograms && memcmp(&f->programs[i].id, id, sizeof *id) != 0)
		i++;
	if (i == f->nprograms) {
		f->programs[f->nprograms++] = (struct store_loaded_program){.id = *id, .text = text};
		hash_hex(f->programs[i].hex, id);
	}
	f->programs[i].nobs += nobs;
}

static void list_programs(struct store_loaded *f, const struct hash128 *current, struct arena *a)
{
	f->programs = ARENA_ZNEW(a, struct store_loaded_program, 2 + f->nobs_stored);
	add_program(f, &f->program_id, f->program, 0);
	if (f->minimised)
		add_program(f, current, f->minimised, 0);
	for (int i = 0; i < f->nobs_stored; i++)
		add_program(f, &f->obs[i].program, f->obs[i].program_text, 1);
}

static enum store_status load_all(struct store *s, struct store_loaded *f, struct arena *a)
{
	sqlite3_stmt *st = NULL;
	struct hash128 current;
	enum store_status status = store_stmt(s, &st, Q_LOAD);
	if (status != STORE_OK)
		return status;
	bind_hash(st, 1, &f->id);
	status = load_head(s, f, &current, st, a);
	sqlite3_reset(st);
	if (status == STORE_OK)
		status = load_rows(s, f, Q_LOAD_ENV, &f->nenvs, &f->env, sizeof *f->env, load_env, a);
	if (status == STORE_OK)
		status = load_rows(s, f, Q_LOAD_OBS, &f->nobs_stored, &f->obs, sizeof *f->obs, load_obs, a);
	if (status == STORE_OK)
		status = load_rows(s, f, Q_LOAD_EVENT, &f->nevents, &f->event, sizeof *f->event, load_event, a);
	if (status == STORE_OK)
		status = load_rows(s, f, Q_LOAD_ARTIFACT, &f->nartifacts, &f->artifact, sizeof *f->artifact, load_artifact, a);
	if (status == STORE_OK)
		list_programs(f, &current, a);
	return status;
}

enum store_status store_snapshot(struct store *s, bool *own)
{
	*own = sqlite3_get_autocommit(s->db) != 0;
	const int rc = *own ? sqlite3_exec(s->db, "BEGIN", NULL, NULL, NULL) : SQLITE_OK;
	return rc == SQLITE_OK ? STORE_OK : store_fail(s, rc, "reading findings");
}

void store_snapshot_end(struct store *s, bool own)
{
	if (own && !sqlite3_get_autocommit(s->db))
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
}

enum store_status store_load_finding(struct store *s, struct store_loaded *out, const struct hash128 *id, struct arena *a)
{
	struct store_loaded f = {.id = *id};
	bool own;
	hash_hex(f.hex, id);
	enum store_status status = store_snapshot(s, &own);
	if (status != STORE_OK)
		return status;
	status = load_all(s, &f, a);
	store_snapshot_end(s, own);
	if (status == STORE_OK)
		*out = f;
	return status;
}

const struct store_loaded_artifact *store_loaded_artifact(const struct store_loaded *f, const char *name)
{
	for (int i = 0; i < f->nartifacts; i++)
		if (str_eq(f->artifact[i].name, name))
			return &f->artifact[i];
	return NULL;
}
