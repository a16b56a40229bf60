/* file_lock.h: a lock file that whoever holds it may remove. The kernel drops the lock when its owner dies, however that happens. */
#ifndef SCATTERPROOF_FILE_LOCK_H
#define SCATTERPROOF_FILE_LOCK_H

/* Opens path (flags beside O_RDWR | O_CLOEXEC, as of open(2); with O_CREAT by mode 0666) and locks it without waiting. The descriptor,
 * which holds the lock until it is closed; -1 with errno: EWOULDBLOCK if somebody holds it, ESTALE if its holder removed the file between
 * our opening and our locking it (ours would be the lock of a file without a name), else open's. */
int file_lock(const char *path, int flags);

#endif
