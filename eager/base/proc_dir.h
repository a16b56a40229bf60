/* proc_dir.h: a private directory that disappears with its owner, whatever happens to the owner. Part of proc.
 *
 * Named scatterproof-child-XXXXXX in ${TMPDIR:-/tmp}, holding a file `.lock` that the owner keeps flock()ed: the kernel drops the
 * lock when the owner dies, and the next proc_dir_make removes directories of ours (same user) whose lock is free. */
#ifndef SCATTERPROOF_PROC_DIR_H
#define SCATTERPROOF_PROC_DIR_H

#include "eager/base/base.h"

struct proc_dir {
	char *path;
	int lock_fd;
};

bool proc_dir_make(struct proc_dir *d, struct err *err);
bool proc_dir_sub(struct strbuf *path, const struct proc_dir *d, const char *name, struct err *err); /* makes it if missing */
bool proc_dir_file(const struct proc_dir *d, const char *name, const void *p, size_t n, struct err *err);
void proc_dir_clear(const struct proc_dir *d); /* removes everything in it but the lock */
void proc_dir_remove(struct proc_dir *d);

#endif
