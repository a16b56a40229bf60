/* fault_vfs.h: an SQLite VFS over the default one whose Nth writing operation fails. As default VFS it also serves what
 * knows nothing of it.
 *
 * Writing operations: write, truncate, sync, delete, and opening a file that is created. A failing write may leave part of its
 * bytes in the file, as a full disk or a power cut does. */
#ifndef SCATTERPROOF_TEST_FAULT_VFS_H
#define SCATTERPROOF_TEST_FAULT_VFS_H

#include <sqlite3.h>
#include <stdbool.h>

enum { FAULT_KILL = -9 }; /* as rc: the process ends there by SIGKILL, a torn write half done */
struct fault {
	int countdown;     /* operations until the failing one; negative: none fails */
	int rc;            /* what it returns: SQLITE_FULL, SQLITE_IOERR_WRITE (each operation maps it to its own kind) */
	bool for_ever;     /* all that follow fail as well: the disk is gone */
	bool torn;         /* a failing write writes half */
	int nops, nfailed; /* counted since fault_set */
};
void fault_install(void);              /* registers the VFS as the default one */
void fault_set(const struct fault *f); /* nops and nfailed start at 0 */
struct fault fault_get(void);

#endif
