/* file_lock.c: see file_lock.h. */
#include "eager/base/file_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static bool still_named(int fd, const char *path)
{
	struct stat held, named;
	if (fstat(fd, &held) != 0 || stat(path, &named) != 0)
		return false;
	return held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

int file_lock(const char *path, int flags)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | flags, 0666), why;
	if (fd < 0)
		return -1;
	if (flock(fd, LOCK_EX | LOCK_NB) != 0)
		why = errno;
	else if (!still_named(fd, path))
		why = ESTALE;
	else
		return fd;
	close(fd);
	errno = why;
	return -1;
}
