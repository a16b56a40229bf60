/* store_open.c: opening, judging, migrating, closing.
 *
 * The one idea: judge the file's first 100 bytes (SQLite's database header) before SQLite may act on them, so that a refused
 * file stays as it was. They are read through SQLite's own VFS: a plain open/close of a database file in a process that
 * has it open through SQLite would drop SQLite's POSIX locks. */
#include "reports/store_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

extern const unsigned char store_schema_sql[];

static const char MAGIC[16] = "SQLite format 3";        /* with its NUL */
enum { HEADER = 100, AT_WRITE_VERSION = 18, AT_READ_VERSION = 19, AT_USER_VERSION = 60, AT_APPLICATION_ID = 68 };

int store_exit_code(enum store_status status)
{
	switch (status) {
	case STORE_OK: return 0;
	case STORE_BUSY:
	case STORE_FULL:
	case STORE_READONLY:
	case STORE_IO: return 3;
	default: return 2;
	}
}

/* ---- what went wrong -------------------------------------------------------------------------------------------- */

static enum store_status classify_errno(int sys, enum store_status otherwise)
{
	switch (sys) {
	case ENOSPC:
	case EDQUOT:
	case EFBIG: return STORE_FULL;
	case EACCES:
	case EPERM:
	case EROFS: return STORE_READONLY;
	default: return otherwise;
	}
}

/* A write that fails inside COMMIT leaves its errno with the file only. */
static int system_errno(sqlite3 *db)
{
	int sys = db ? sqlite3_system_errno(db) : 0;
	if (db && sys == 0)
		sqlite3_file_control(db, "main", SQLITE_FCNTL_LAST_ERRNO, &sys);
	return sys;
}

enum store_status store_classify(sqlite3 *db, int rc)
{
	int sys = system_errno(db);
	if (rc == SQLITE_READONLY_DBMOVED)
		return STORE_IO;
	switch (rc & 0xff) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE: return STORE_OK;
	case SQLITE_BUSY:
	case SQLITE_LOCKED: return STORE_BUSY;
	case SQLITE_FULL: return STORE_FULL;
	case SQLITE_READONLY: return STORE_READONLY;
	case SQLITE_CANTOPEN:
	case SQLITE_IOERR: return classify_errno(sys, STORE_IO);
	case SQLITE_PERM: return STORE_READONLY;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_SCHEMA: return STORE_CORRUPT;
	case SQLITE_CONSTRAINT:
	case SQLITE_TOOBIG:
	case SQLITE_INTERRUPT:
	case SQLITE_AUTH: return STORE_BAD;
	case SQLITE_ERROR: return STORE_CORRUPT;        /* our own SQL is right, so the tables are not what they were */
	default: return STORE_IO;
	}
}

static const char *status_sentence(enum store_status status)
{
	switch (status) {
	case STORE_BUSY: return "another process keeps the findings store locked";
	case STORE_FULL: return "the disk is full";
	case STORE_READONLY: return "the file or its directory cannot be written";
	case STORE_CORRUPT: return "the findings store is damaged";
	case STORE_BAD: return "the request was refused";
	default: return "the system failed to read or write";
	}
}

enum store_status store_fail(struct store *s, int rc, const char *doing)
{
	enum store_status status = store_classify(s->db, rc);
	CHECK(status != STORE_OK);
	sb_reset(&s->message);
	sb_printf(&s->message, "%s: %s, %s (%s)", s->path, doing,
		rc == SQLITE_READONLY_DBMOVED ? "the file vanished or was replaced" : status_sentence(status), sqlite3_errmsg(s->db));
	return status;
}

enum store_status store_refuse(struct store *s, enum store_status status, const char *fmt, ...)
{
	va_list ap;
	sb_reset(&s->message);
	va_start(ap, fmt);
	sb_vprintf(&s->message, fmt, ap);
	va_end(ap);
	return status;
}

static enum store_status fail(struct err *err, sqlite3 *db, int rc, const char *path, const char *doing)
{
	enum store_status status = store_classify(db, rc);
	err_set(err, "%s: %s, %s (%s)", path, doing, status_sentence(status), db ? sqlite3_errmsg(db) : sqlite3_errstr(rc));
	return status;
}

/* ---- judging the file ------------------------------------------------------------------------------------------------ */

enum shape { SHAPE_ABSENT, SHAPE_EMPTY, SHAPE_STORE };

static uint32_t be32(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Reads up to HEADER bytes (rest zero) without changing anything. */
static int read_header(const char *path, unsigned char *header)
{
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
	sqlite3_file *file = xmalloc((size_t)vfs->szOsFile);
	char *real = realpath(path, NULL);      /* SQLite's own open of a main database does not follow links */
	const char *name = sqlite3_create_filename(real ? real : path, "", "", 0, NULL);
	free(real);
	if (!name) {
		free(file);
		return SQLITE_NOMEM;
	}
	memset(file, 0, (size_t)vfs->szOsFile);
	int rc = vfs->xOpen(vfs, name, file, SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB, NULL);
	if (rc == SQLITE_OK) {
		rc = file->pMethods->xRead(file, header, HEADER, 0);
		rc = rc == SQLITE_IOERR_SHORT_READ ? SQLITE_OK : rc;
	}
	if (file->pMethods)
		file->pMethods->xClose(file);
	sqlite3_free_filename((char *)(uintptr_t)name);
	free(file);
	return rc;
}

static enum store_status judge_header(const char *path, const unsigned char *header, int64_t size, struct err *err)
{
	size_t have = (size_t)MIN(size, (int64_t)sizeof MAGIC);
	if (memcmp(header, MAGIC, have) != 0) {
		err_set(err, "%s is not a findings store: it is not even an SQLite database", path);
		return STORE_FOREIGN;
	}
	if (size < HEADER) {
		err_set(err, "%s is truncated: %lld bytes are left", path, (long long)size);
		return STORE_CORRUPT;
	}
	if (be32(header + AT_APPLICATION_ID) != STORE_APPLICATION_ID) {
		err_set(err, "%s is an SQLite database of another program, not a findings store", path);
		return STORE_FOREIGN;
	}
	if (be32(header + AT_USER_VERSION) > STORE_SCHEMA_VERSION) {
		err_set(err, "%s has schema version %u, this scatterproof knows up to %d: use a newer one", path,
			(unsigned)be32(header + AT_USER_VERSION), STORE_SCHEMA_VERSION);
		return STORE_NEWER;
	}
	if (header[AT_WRITE_VERSION] == 2 || header[AT_READ_VERSION] == 2) {
		err_set(err, "%s was switched to write-ahead logging, which scatterproof does not use: "
			"sqlite3 %s 'pragma journal_mode=delete' switches back", path, path);
		return STORE_CORRUPT;
	}
	return STORE_OK;
}

static enum store_status judge(enum shape *shape, const char *path, struct err *err)
{
	struct stat st;
	*shape = SHAPE_ABSENT;
	if (stat(path, &st) != 0) {
		int sys = errno;
		err_set(err, "%s: %s", path, strerror(sys));
		return sys == ENOENT || sys == ENOTDIR ? STORE_ABSENT : classify_errno(sys, STORE_IO);
	}
	if (!S_ISREG(st.st_mode)) {
		err_set(err, "%s is not a file%s", path, S_ISDIR(st.st_mode) ? " but a directory" : "");
		return STORE_FOREIGN;
	}
	if (access(path, R_OK) != 0) {
		int sys = errno;
		err_set(err, "%s cannot be read: %s", path, strerror(sys));
		return classify_errno(sys, STORE_IO);
	}
	*shape = st.st_size == 0 ? SHAPE_EMPTY : SHAPE_STORE;
	if (st.st_size == 0)
		return STORE_OK;
	unsigned char header[HEADER] = {0};
	int rc = read_header(path, header);
	return rc == SQLITE_OK ? judge_header(path, header, st.st_size, err) : fail(err, NULL, rc, path, "reading its header");
}

static bool dir_writable(const char *path)
{
	char *dir = xstrdup(path), *slash = strrchr(dir, '/');
	if (slash)
		slash[slash == dir] = '\0';
	bool ok = access(slash ? dir : ".", W_OK | X_OK) == 0;
	free(dir);
	return ok;
}

/* ---- connecting --------------------------------------------------------------------------------------------------------- */

static int configure(sqlite3 *db)
{
	int rc = SQLITE_OK;
	if (rc == SQLITE_OK)
		rc = sqlite3_busy_timeout(db, STORE_BUSY_MS);
	/* The file may come from anywhere: no tricks from inside its schema. */
	if (rc == SQLITE_OK)
		rc = sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, "PRAGMA temp_store=MEMORY; PRAGMA cell_size_check=ON; PRAGMA foreign_keys=ON;"
			"PRAGMA synchronous=FULL", NULL, NULL, NULL);
	return rc;
}

sqlite3 *store_connect(const char *path, bool create, int *rc)
{
	sqlite3 *db = NULL;
	*rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | (create ? SQLITE_OPEN_CREATE : 0) | SQLITE_OPEN_NOMUTEX, NULL);
	if (!db)
		return NULL;
	sqlite3_extended_result_codes(db, 1);
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, STORE_MAX_BLOB + (1 << 20));
	if (*rc == SQLITE_OK)
		*rc = configure(db);
	return db;
}

static int read_int(sqlite3 *db, const char *sql, int64_t *out)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &st, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	if (rc == SQLITE_ROW) {
		*out = sqlite3_column_int64(st, 0);
		rc = SQLITE_OK;
	}
	sqlite3_finalize(st);
	return rc;
}

/* ---- migrations ---------------------------------------------------------------------------------------------------------- */

static int migrate_locked(sqlite3 *db, const struct migration *steps, int nsteps)
{
	char pragma[96];
	int64_t version = 0;
	int rc = read_int(db, "PRAGMA user_version", &version);
	for (int i = 0; i < nsteps && rc == SQLITE_OK; i++)
		if (steps[i].version > version)
			rc = sqlite3_exec(db, steps[i].sql, NULL, NULL, NULL);
	if (rc == SQLITE_OK && version < steps[nsteps - 1].version) {
		snprintf(pragma, sizeof pragma, "PRAGMA application_id=%d; PRAGMA user_version=%d", STORE_APPLICATION_ID,
			steps[nsteps - 1].version);
		rc = sqlite3_exec(db, pragma, NULL, NULL, NULL);
	}
	return rc;
}

enum store_status store_migrate(sqlite3 *db, const struct migration *steps, int nsteps, struct err *err)
{
	CHECK(nsteps > 0);
	int64_t version = 0;
	int rc = read_int(db, "PRAGMA user_version", &version);
	if (rc == SQLITE_OK && version >= steps[nsteps - 1].version)
		return STORE_OK;
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = migrate_locked(db, steps, nsteps);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		return STORE_OK;
	enum store_status status = fail(err, db, rc, sqlite3_db_filename(db, "main"), "making its tables");
	if (!sqlite3_get_autocommit(db))
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return status;
}

static enum store_status migrate(sqlite3 *db, struct err *err)
{
	const struct migration steps[] = {{STORE_SCHEMA_VERSION, (const char *)store_schema_sql}};
	return store_migrate(db, steps, ARRAY_LEN(steps), err);
}

/* ---- is it our schema? ------------------------------------------------------------------------------------------------------ */

/* Every object of a fresh store must be in db, word for word; others may be there (a person's own view or index), but no
 * trigger: one could act while we write. */
static int schema_matches(sqlite3 *db, sqlite3 *fresh, bool *ok)
{
	static const char want_sql[] = "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL";
	static const char have_sql[] = "SELECT count(*) FROM sqlite_schema WHERE name = ?1 AND sql = ?2";
	sqlite3_stmt *want = NULL, *have = NULL;
	int64_t ntriggers = 0;
	int rc = read_int(db, "SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'", &ntriggers);
	*ok = ntriggers == 0;
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(fresh, want_sql, -1, &want, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(db, have_sql, -1, &have, NULL);
	while (rc == SQLITE_OK && *ok && sqlite3_step(want) == SQLITE_ROW) {
		for (int i = 0; i < 2; i++)
			sqlite3_bind_text(have, i + 1, (const char *)sqlite3_column_text(want, i), -1, SQLITE_TRANSIENT);
		int step = sqlite3_step(have);
		*ok = step == SQLITE_ROW && sqlite3_column_int(have, 0) == 1;
		rc = step == SQLITE_ROW ? SQLITE_OK : step;
		sqlite3_reset(have);
	}
	sqlite3_finalize(want);
	sqlite3_finalize(have);
	return rc;
}

static enum store_status check_schema(sqlite3 *db, const char *path, struct err *err)
{
	bool ok = false;
	int rc;
	sqlite3 *fresh = store_connect(":memory:", true, &rc);
	enum store_status status = rc == SQLITE_OK ? migrate(fresh, err) : fail(err, fresh, rc, path, "checking its tables");
	if (status == STORE_OK) {
		rc = schema_matches(db, fresh, &ok);
		if (rc != SQLITE_OK) {
			status = fail(err, db, rc, path, "checking its tables");
		} else if (!ok) {
			status = STORE_CORRUPT;
			err_set(err, "%s has the marks of a findings store of schema version %d, but its tables are not those of that "
				"version", path, STORE_SCHEMA_VERSION);
		}
	}
	sqlite3_close(fresh);
	return status;
}

/* ---- open and close ------------------------------------------------------------------------------------------------------------ */

static enum store_status check_writable(const char *path, enum shape shape, struct err *err)
{
	if (shape != SHAPE_ABSENT && access(path, W_OK) != 0) {
		int sys = errno;
		err_set(err, "%s cannot be written: %s", path, strerror(sys));
		return sys == EACCES || sys == EROFS || sys == EPERM ? STORE_READONLY : STORE_IO;
	}
	if (!dir_writable(path)) {
		int sys = errno;
		err_set(err, "the directory of %s cannot be written, SQLite keeps its journal there: %s", path, strerror(sys));
		return sys == ENOENT || sys == ENOTDIR ? STORE_ABSENT : classify_errno(sys, STORE_IO);
	}
	return STORE_OK;
}

/* Everything that can be refused before SQLite opens the file. */
static enum store_status admit(const char *path, enum store_mode mode, struct err *err)
{
	enum shape shape;
	struct err why = {0};
	enum store_status status = judge(&shape, path, &why);
	if (status == STORE_ABSENT && mode == STORE_CREATE)
		status = STORE_OK;
	if (status == STORE_OK && shape == SHAPE_EMPTY && mode != STORE_CREATE) {
		err_set(&why, "%s is empty, not a findings store", path);
		status = STORE_FOREIGN;
	}
	if (status == STORE_OK && mode != STORE_READ) {
		memset(&why, 0, sizeof why);
		status = check_writable(path, shape, &why);
	}
	if (status != STORE_OK)
		err_set(err, "%s", why.msg);
	return status;
}

struct identity { int64_t application, version, nobjects; bool short_file; };

/* SQLite does not miss what is cut off the last page: it would read zeros. Inside a read transaction. */
static int check_length(struct identity *id, sqlite3 *db)
{
	int64_t npages = 0, page_size = 0;
	sqlite3_int64 size = 0;
	sqlite3_file *file = NULL;
	int rc = read_int(db, "PRAGMA page_count", &npages);
	if (rc == SQLITE_OK)
		rc = read_int(db, "PRAGMA page_size", &page_size);
	if (rc == SQLITE_OK)
		rc = sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
	if (rc == SQLITE_OK)
		rc = file->pMethods->xFileSize(file, &size);
	id->short_file = size < npages * page_size;     /* 2^32 pages of at most 2^16 bytes: no overflow */
	return rc;
}

static enum store_status identify(struct identity *id, struct store *s, struct err *err)
{
	int rc = sqlite3_exec(s->db, "BEGIN", NULL, NULL, NULL);
	/* The first read: it rolls back a hot journal. */
	if (rc == SQLITE_OK)
		rc = read_int(s->db, "SELECT count(*) FROM sqlite_schema", &id->nobjects);
	if (rc == SQLITE_OK)
		rc = read_int(s->db, "PRAGMA application_id", &id->application);
	if (rc == SQLITE_OK)
		rc = read_int(s->db, "PRAGMA user_version", &id->version);
	if (rc == SQLITE_OK)
		rc = check_length(id, s->db);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL);
	if (rc == SQLITE_READONLY_ROLLBACK || rc == SQLITE_READONLY_RECOVERY || rc == SQLITE_READONLY_CANTINIT) {
		err_set(err, "%s holds an interrupted write that must be undone first, and it cannot be written", s->path);
		return STORE_READONLY;
	}
	if (rc == SQLITE_OK && id->short_file) {
		err_set(err, "%s is truncated: its last page is damaged", s->path);
		return STORE_CORRUPT;
	}
	return rc == SQLITE_OK ? STORE_OK : fail(err, s->db, rc, s->path, "reading its tables");
}

/* What admit() judged from outside is judged again from inside: a rollback may have changed it. */
static enum store_status prepare(struct store *s, struct err *err)
{
	struct identity id = {0};
	enum store_status status = identify(&id, s, err);
	if (status != STORE_OK)
		return status;
	bool empty = id.nobjects == 0 && id.version == 0;
	if (empty ? s->mode != STORE_CREATE : id.application != STORE_APPLICATION_ID) {
		err_set(err, empty ? "%s is empty, not a findings store" : "%s is a database of another program", s->path);
		return STORE_FOREIGN;
	}
	if (id.version > STORE_SCHEMA_VERSION) {
		err_set(err, "%s was written by a newer scatterproof", s->path);
		return STORE_NEWER;
	}
	if (id.version < STORE_SCHEMA_VERSION)
		status = migrate(s->db, err);
	if (status == STORE_OK)
		status = check_schema(s->db, s->path, err);
	if (status == STORE_OK && s->mode == STORE_READ) {
		int rc = sqlite3_exec(s->db, "PRAGMA query_only=ON", NULL, NULL, NULL);
		status = rc == SQLITE_OK ? STORE_OK : fail(err, s->db, rc, s->path, "preparing to read");
	}
	return status;
}

/* SQLite gives meaning to "", ":memory:" and "file:..."; a path here is a path. */
static char *plain_path(const char *path)
{
	struct strbuf sb;
	sb_init(&sb);
	sb_printf(&sb, "%s%s", path[0] == '/' ? "" : "./", path);
	char *out = xstrdup(sb.s);
	sb_free(&sb);
	return out;
}

struct store *store_open(enum store_status *status, const char *path, enum store_mode mode, struct err *err)
{
	if (path[0] == '\0') {
		err_set(err, "the findings store has no file name");
		*status = STORE_ABSENT;
		return NULL;
	}
	*status = admit(path, mode, err);
	if (*status != STORE_OK)
		return NULL;
	struct store *s = xmalloc(sizeof *s);
	int rc;
	*s = (struct store){.path = plain_path(path), .mode = mode, .owner = getpid()};
	sb_init(&s->message);
	s->db = store_connect(s->path, mode == STORE_CREATE, &rc);
	*status = rc == SQLITE_OK ? prepare(s, err) : fail(err, s->db, rc, path, "opening it");
	if (*status == STORE_OK)
		return s;
	store_abandon(s);
	return NULL;
}

static void pending_free(struct store *s)
{
	for (int i = 0; i < s->ncounters; i++) {
		free(s->counter[i].draw);
		free(s->counter[i].verdict);
	}
	for (int i = 0; i < s->ncounts; i++)
		free(s->count[i].verdict);
	free(s->counter);
	free(s->count);
}

void store_abandon(struct store *s)
{
	if (!s)
		return;
	bool ours = s->owner == getpid();       /* else SQLite's part is left alone, as its documentation asks */
	for (int i = 0; i < NQUERIES && ours; i++)
		sqlite3_finalize(s->stmt[i]);
	for (int i = 0; i < NTABLES && ours; i++)
		sqlite3_finalize(s->put[i]);
	if (ours)
		sqlite3_close(s->db);
	pending_free(s);
	sb_free(&s->message);
	free(s->path);
	free(s);
}

enum store_status store_close(struct store *s, struct err *err)
{
	if (!s)
		return STORE_OK;
	if (s->in_batch)
		store_rollback(s);
	enum store_status status = store_flush(s);
	if (status != STORE_OK)
		err_set(err, "%s", s->message.s);
	store_abandon(s);
	return status;
}

const char *store_path(const struct store *s) { return s->path; }
const char *store_message(const struct store *s) { return s->message.s; }
