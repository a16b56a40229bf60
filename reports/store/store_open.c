/* store_open.c: opening, judging, closing.
 *
 * The one idea: judge the file's first 100 bytes (SQLite's database header) before SQLite may act on them, so that a refused
 * file stays as it was. They are read through SQLite's own VFS: a plain open/close of a database file in a process that
 * has it open through SQLite would drop SQLite's POSIX locks. */
#include "reports/store/store_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char MAGIC[16] = "SQLite format 3"; /* with its NUL */
enum { HEADER = 100, AT_WRITE_VERSION = 18, AT_READ_VERSION = 19, AT_ENCODING = 56, AT_USER_VERSION = 60, AT_APPLICATION_ID = 68 };

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
	case SQLITE_ERROR: return STORE_CORRUPT; /* our own SQL is right, so the tables are not what they were */
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

enum store_status store_open_fail(struct err *err, sqlite3 *db, int rc, const char *path, const char *doing)
{
	enum store_status status = store_classify(db, rc);
	err_set(err, "%s: %s, %s (%s)", path, doing, status_sentence(status), db ? sqlite3_errmsg(db) : sqlite3_errstr(rc));
	return status;
}

/* ---- judging the file ------------------------------------------------------------------------------------------------ */

enum shape { SHAPE_ABSENT, SHAPE_EMPTY, SHAPE_STORE };

static uint32_t be32(const unsigned char *p) { return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]; }

/* Reads up to HEADER bytes (rest zero) without changing anything. */
static int read_header(const char *path, unsigned char *header)
{
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
	sqlite3_file *file = xmalloc((size_t)vfs->szOsFile);
	char *real = realpath(path, NULL); /* SQLite's own open of a main database does not follow links */
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
	if (be32(header + AT_ENCODING) > 1) { /* keys are hashes of UTF-8; 0: nothing is in it yet */
		err_set(err, "%s keeps its texts in UTF-16, a findings store keeps UTF-8", path);
		return STORE_CORRUPT;
	}
	if (header[AT_WRITE_VERSION] == 2 || header[AT_READ_VERSION] == 2) {
		err_set(err,
			"%s was switched to write-ahead logging, which scatterproof does not use: "
			"sqlite3 %s 'pragma journal_mode=delete' switches back",
			path, path);
		return STORE_CORRUPT;
	}
	return STORE_OK;
}

/* Does a rollback journal end in the name of a super-journal (SQLite's file format, 3.0)? */
static bool names_super_journal(const char *journal)
{
	static const unsigned char magic[8] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
	unsigned char tail[sizeof magic] = {0};
	FILE *f = fopen(journal, "rb");
	bool yes = f && fseek(f, -(long)sizeof tail, SEEK_END) == 0 && fread(tail, 1, sizeof tail, f) == sizeof tail
		&& memcmp(tail, magic, sizeof magic) == 0;
	if (f)
		fclose(f);
	return yes;
}

/* What lies beside a store belongs to it, for SQLite. A journal that names a super-journal makes SQLite delete the file of that name,
 * whatever it is; a write-ahead log replaces pages of the store, the header too. Neither is ever ours. */
static enum store_status judge_neighbours(const char *path, struct err *err)
{
	char *real = realpath(path, NULL);
	struct strbuf sb;
	enum store_status status = STORE_OK;
	sb_init(&sb);
	sb_printf(&sb, "%s-wal", real ? real : path);
	if (access(sb.s, F_OK) == 0) {
		err_set(err, "%s has a write-ahead log beside it, which scatterproof does not use: move %s away", path, sb.s);
		status = STORE_CORRUPT;
	}
	sb_reset(&sb);
	sb_printf(&sb, "%s-journal", real ? real : path);
	if (names_super_journal(sb.s)) {
		err_set(err, "%s has a journal beside it that names another file, which SQLite would delete: move %s away", path, sb.s);
		status = STORE_CORRUPT;
	}
	sb_free(&sb);
	free(real);
	return status;
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
	if (rc != SQLITE_OK)
		return store_open_fail(err, NULL, rc, path, "reading its header");
	enum store_status status = judge_header(path, header, st.st_size, err);
	return status == STORE_OK ? judge_neighbours(path, err) : status;
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
		rc = sqlite3_exec(db,
			"PRAGMA temp_store=MEMORY; PRAGMA cell_size_check=ON; PRAGMA foreign_keys=ON;"
			"PRAGMA cache_size=-32768;" /* the summaries of 10,000 findings, and what else a list reads */
			"PRAGMA synchronous=FULL",
			NULL, NULL, NULL);
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

sqlite3 *store_copy(sqlite3 *from, int *rc)
{
	sqlite3 *to = store_connect(":memory:", true, rc);
	if (*rc != SQLITE_OK)
		return to;
	sqlite3_backup *b = sqlite3_backup_init(to, "main", from, "main");
	if (b)
		sqlite3_backup_step(b, -1);
	*rc = b ? sqlite3_backup_finish(b) : sqlite3_errcode(to);
	return to;
}

int store_read_int(sqlite3 *db, const char *sql, int64_t *out)
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

struct identity {
	int64_t application, version, nobjects;
	bool short_file;
};

/* SQLite does not miss what is cut off the last page: it would read zeros. Inside a read transaction. */
static int check_length(struct identity *id, sqlite3 *db)
{
	int64_t npages = 0, page_size = 0;
	sqlite3_int64 size = 0;
	sqlite3_file *file = NULL;
	int rc = store_read_int(db, "PRAGMA page_count", &npages);
	if (rc == SQLITE_OK)
		rc = store_read_int(db, "PRAGMA page_size", &page_size);
	if (rc == SQLITE_OK)
		rc = sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
	if (rc == SQLITE_OK)
		rc = file->pMethods->xFileSize(file, &size);
	id->short_file = size < npages * page_size; /* 2^32 pages of at most 2^16 bytes: no overflow */
	return rc;
}

static enum store_status identify(struct identity *id, struct store *s, struct err *err)
{
	int rc = sqlite3_exec(s->db, "BEGIN", NULL, NULL, NULL);
	/* The first read: it rolls back a hot journal. */
	if (rc == SQLITE_OK)
		rc = store_read_int(s->db, "SELECT count(*) FROM sqlite_schema", &id->nobjects);
	if (rc == SQLITE_OK)
		rc = store_read_int(s->db, "PRAGMA application_id", &id->application);
	if (rc == SQLITE_OK)
		rc = store_read_int(s->db, "PRAGMA user_version", &id->version);
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
	return rc == SQLITE_OK ? STORE_OK : store_open_fail(err, s->db, rc, s->path, "reading its tables");
}

/* Who only reads an older store gets it migrated in memory: a program of its version may be writing to the file. */
static enum store_status into_memory(struct store *s, struct err *err)
{
	int rc;
	sqlite3 *memory = store_copy(s->db, &rc);
	if (rc != SQLITE_OK) {
		enum store_status status = store_open_fail(err, s->db, rc, s->path, "reading all of it");
		sqlite3_close(memory);
		return status;
	}
	sqlite3_close(s->db);
	s->db = memory;
	s->in_memory = true;
	return STORE_OK;
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
	if (id.version < STORE_SCHEMA_VERSION && !empty && s->mode == STORE_READ)
		status = into_memory(s, err);
	if (status == STORE_OK && id.version < STORE_SCHEMA_VERSION)
		status = store_upgrade(s, err);
	if (status == STORE_OK)
		status = store_check_schema(s->db, STORE_SCHEMA_VERSION, s->path, err);
	if (status == STORE_OK && s->mode != STORE_READ) {
		status = summary_verify(s);
		if (status == STORE_OK)
			status = totals_verify(s);
		if (status != STORE_OK)
			err_set(err, "%s", s->message.s);
	}
	if (status == STORE_OK && s->mode == STORE_READ) {
		int rc = sqlite3_exec(s->db, "PRAGMA query_only=ON", NULL, NULL, NULL);
		status = rc == SQLITE_OK ? STORE_OK : store_open_fail(err, s->db, rc, s->path, "preparing to read");
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
	*status = rc == SQLITE_OK ? prepare(s, err) : store_open_fail(err, s->db, rc, path, "opening it");
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
	bool ours = s->owner == getpid(); /* else SQLite's part is left alone, as its documentation asks */
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
