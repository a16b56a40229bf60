/* proc_dir.c: private directories. The one idea: a lock that the kernel releases says whether the owner lives; see proc_dir.h. */
#include "eager/base/proc_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "eager/base/file_lock.h"

#define PREFIX "scatterproof-child-"
#define LOCK   ".lock"

static const char *temp_dir(void)
{
	const char *t = getenv("TMPDIR");
	return t && t[0] == '/' ? t : "/tmp";
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	remove(path); /* best effort: what cannot be removed now is tried again by the next sweep */
	return 0;
}

static void remove_tree(const char *path) { nftw(path, remove_entry, 32, FTW_DEPTH | FTW_PHYS); }

/* Makes the lock file of a new directory. It gets its name when it is locked: no sweep ever sees it without an owner. (One that did, and
 * went on reading the directory of directories, took away each further one that was made instead.) */
static int new_lock(const char *dir)
{
	struct strbuf making, path;
	sb_init(&making);
	sb_init(&path);
	sb_printf(&making, "%s/" LOCK "-new", dir);
	sb_printf(&path, "%s/" LOCK, dir);
	int fd = open(making.s, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_CREAT | O_EXCL, 0600), why = errno;
	if (fd >= 0 && (flock(fd, LOCK_EX | LOCK_NB) != 0 || rename(making.s, path.s) != 0)) {
		why = errno;
		close(fd);
		fd = -1;
	}
	sb_free(&making);
	sb_free(&path);
	errno = why;
	return fd;
}

/* Opens and locks the lock file of `dir`; -1 if somebody living holds it or there is none (any more). */
static int lock_dir(const char *dir)
{
	struct strbuf path;
	sb_init(&path);
	sb_printf(&path, "%s/" LOCK, dir);
	int fd = file_lock(path.s, O_NOFOLLOW), why = errno;
	sb_free(&path);
	errno = why;
	return fd;
}

/* Removes what dead owners left. A directory without a lock file yet is being made by somebody: left alone. */
static void sweep(const char *tmp)
{
	DIR *dir = opendir(tmp);
	for (struct dirent *e; dir && (e = readdir(dir));) {
		if (!str_starts(e->d_name, PREFIX))
			continue;
		struct strbuf path;
		sb_init(&path);
		sb_printf(&path, "%s/%s", tmp, e->d_name);
		struct stat st;
		if (lstat(path.s, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid()) {
			int fd = lock_dir(path.s);
			if (fd >= 0) {
				remove_tree(path.s);
				close(fd);
			}
		}
		sb_free(&path);
	}
	if (dir)
		closedir(dir);
}

bool proc_dir_make(struct proc_dir *d, struct err *err)
{
	struct strbuf path;
	sweep(temp_dir());
	sb_init(&path);
	sb_printf(&path, "%s/" PREFIX "XXXXXX", temp_dir());
	if (!mkdtemp(path.s)) {
		err_set(err, "cannot make a directory in %s: %s", temp_dir(), strerror(errno));
	} else {
		d->lock_fd = new_lock(path.s);
		if (d->lock_fd >= 0) {
			d->path = path.s;
			return true;
		}
		err_set(err, "cannot lock %s: %s", path.s, strerror(errno));
		remove_tree(path.s);
	}
	sb_free(&path);
	return false;
}

bool proc_dir_sub(struct strbuf *path, const struct proc_dir *d, const char *name, struct err *err)
{
	sb_reset(path);
	sb_printf(path, "%s/%s", d->path, name);
	if (mkdir(path->s, 0700) != 0 && errno != EEXIST)
		return err_set(err, "cannot make %s: %s", path->s, strerror(errno));
	return true;
}

bool proc_dir_file(const struct proc_dir *d, const char *name, const void *p, size_t n, struct err *err)
{
	struct strbuf path;
	sb_init(&path);
	sb_printf(&path, "%s/%s", d->path, name);
	FILE *f = fopen(path.s, "wbe");
	bool ok = f && fwrite(p, 1, n, f) == n;
	if (f && fclose(f) != 0)
		ok = false;
	if (!ok)
		err_set(err, "cannot write %s: %s", path.s, strerror(errno));
	sb_free(&path);
	return ok;
}

void proc_dir_clear(const struct proc_dir *d)
{
	DIR *dir = opendir(d->path);
	for (struct dirent *e; dir && (e = readdir(dir));) {
		if (str_eq(e->d_name, ".") || str_eq(e->d_name, "..") || str_eq(e->d_name, LOCK))
			continue;
		struct strbuf path;
		sb_init(&path);
		sb_printf(&path, "%s/%s", d->path, e->d_name);
		remove_tree(path.s);
		sb_free(&path);
	}
	if (dir)
		closedir(dir);
}

void proc_dir_remove(struct proc_dir *d)
{
	if (d->path) {
		remove_tree(d->path);
		sb_free(&(struct strbuf){.s = d->path, .len = 1, .cap = 1});
	}
	if (d->lock_fd >= 0)
		close(d->lock_fd);
	d->path = NULL;
	d->lock_fd = -1;
}
