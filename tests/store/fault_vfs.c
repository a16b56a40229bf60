/* fault_vfs.c: see fault_vfs.h. A file of this VFS is a header followed by the real file. The state is one static: SQLite's list of
 * VFSs is global anyway. */
#include "tests/store/fault_vfs.h"

#include <signal.h>
#include <string.h>

#include "eager/base/base.h"

struct fault_file {
	sqlite3_file base;
	sqlite3_file *real;
};

static struct fault fault = {.countdown = -1};
static sqlite3_vfs *real_vfs;

void fault_set(const struct fault *f)
{
	fault = *f;
	fault.nops = fault.nfailed = 0;
}

struct fault fault_get(void) { return fault; }

/* Is this operation the one that fails? A write dies later, when it is half done. */
static bool fails(bool write)
{
	fault.nops++;
	if (fault.countdown < 0)
		return false;
	bool now = fault.countdown == 0;
	if (!now || !fault.for_ever)
		fault.countdown--;
	fault.nfailed += now;
	if (now && fault.rc == FAULT_KILL && !(write && fault.torn))
		raise(SIGKILL);
	return now;
}

static sqlite3_file *real_of(sqlite3_file *f) { return ((struct fault_file *)(void *)f)->real; }

static int f_close(sqlite3_file *f) { return real_of(f)->pMethods->xClose(real_of(f)); }
static int f_read(sqlite3_file *f, void *p, int n, sqlite3_int64 at) { return real_of(f)->pMethods->xRead(real_of(f), p, n, at); }

static int f_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
	if (!fails(true))
		return real_of(f)->pMethods->xWrite(real_of(f), p, n, at);
	if (fault.torn)
		real_of(f)->pMethods->xWrite(real_of(f), p, n / 2, at);
	if (fault.rc == FAULT_KILL)
		raise(SIGKILL);
	return fault.rc;
}

static int f_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	return fails(false) ? SQLITE_IOERR_TRUNCATE : real_of(f)->pMethods->xTruncate(real_of(f), size);
}

static int f_sync(sqlite3_file *f, int flags) { return fails(false) ? SQLITE_IOERR_FSYNC : real_of(f)->pMethods->xSync(real_of(f), flags); }

static int f_size(sqlite3_file *f, sqlite3_int64 *size) { return real_of(f)->pMethods->xFileSize(real_of(f), size); }
static int f_lock(sqlite3_file *f, int lock) { return real_of(f)->pMethods->xLock(real_of(f), lock); }
static int f_unlock(sqlite3_file *f, int lock) { return real_of(f)->pMethods->xUnlock(real_of(f), lock); }
static int f_reserved(sqlite3_file *f, int *out) { return real_of(f)->pMethods->xCheckReservedLock(real_of(f), out); }
static int f_control(sqlite3_file *f, int op, void *arg) { return real_of(f)->pMethods->xFileControl(real_of(f), op, arg); }
static int f_sector(sqlite3_file *f) { return real_of(f)->pMethods->xSectorSize(real_of(f)); }
static int f_device(sqlite3_file *f) { return real_of(f)->pMethods->xDeviceCharacteristics(real_of(f)); }

static const sqlite3_io_methods methods = {
	.iVersion = 1,
	.xClose = f_close,
	.xRead = f_read,
	.xWrite = f_write,
	.xTruncate = f_truncate,
	.xSync = f_sync,
	.xFileSize = f_size,
	.xLock = f_lock,
	.xUnlock = f_unlock,
	.xCheckReservedLock = f_reserved,
	.xFileControl = f_control,
	.xSectorSize = f_sector,
	.xDeviceCharacteristics = f_device,
};

static int v_open(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *f, int flags, int *out_flags)
{
	struct fault_file *file = (struct fault_file *)(void *)f;
	(void)vfs;
	file->base.pMethods = NULL;
	file->real = (sqlite3_file *)(void *)(file + 1);
	file->real->pMethods = NULL;
	int exists = 1;
	if ((flags & SQLITE_OPEN_CREATE) && name)
		real_vfs->xAccess(real_vfs, name, SQLITE_ACCESS_EXISTS, &exists);
	if (!exists && fails(false))
		return fault.rc == SQLITE_FULL ? SQLITE_FULL : SQLITE_CANTOPEN;
	int rc = real_vfs->xOpen(real_vfs, name, file->real, flags, out_flags);
	if (rc == SQLITE_OK)
		file->base.pMethods = &methods;
	return rc;
}

static int v_delete(sqlite3_vfs *vfs, const char *name, int sync_dir)
{
	(void)vfs;
	return fails(false) ? SQLITE_IOERR_DELETE : real_vfs->xDelete(real_vfs, name, sync_dir);
}

void fault_install(void)
{
	static sqlite3_vfs vfs;
	real_vfs = sqlite3_vfs_find(NULL);
	CHECK(real_vfs && !str_eq(real_vfs->zName, "fault"));
	vfs = *real_vfs; /* everything else is the real one's, called with this struct: it only reads pAppData, a copy */
	vfs.zName = "fault";
	vfs.szOsFile = (int)sizeof(struct fault_file) + real_vfs->szOsFile;
	vfs.pNext = NULL;
	vfs.xOpen = v_open;
	vfs.xDelete = v_delete;
	CHECK(sqlite3_vfs_register(&vfs, 1) == SQLITE_OK);
}
