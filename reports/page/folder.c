/* folder.c: every name is looked up from the folder's descriptor, never by a path, so what changes above it meanwhile does not matter. */
#include "reports/page/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reports/store/store.h"

static enum folder_status failed(struct err *err, const char *path, const char *name)
{
	const int why = errno;
	err_set(err, "%s%s%s: %s", path, name[0] ? "/" : "", name, strerror(why));
	return why == ENOTDIR || why == ELOOP ? FOLDER_BAD : FOLDER_WORLD;
}

enum folder_status folder_open(struct folder *out, const char *path, struct err *err)
{
	*out = (struct folder){.fd = -1, .path = path};
	if (mkdir(path, 0777) != 0 && errno != EEXIST)
		return failed(err, path, "");
	out->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return out->fd < 0 ? failed(err, path, "") : FOLDER_OK;
}

enum folder_status folder_inside(struct folder *out, const struct folder *f, const char *name, struct arena *a, struct err *err)
{
	CHECK(name[0] && name[strspn(name, "0123456789abcdef")] == 0);
	*out = (struct folder){.fd = -1, .path = arena_printf(a, "%s/%s", f->path, name)};
	if (mkdirat(f->fd, name, 0777) != 0 && errno != EEXIST)
		return failed(err, out->path, "");
	out->fd = openat(f->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return out->fd < 0 ? failed(err, out->path, "") : FOLDER_OK;
}

void folder_close(struct folder *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}

static bool write_all(int fd, const char *bytes, size_t n)
{
	while (n) {
		const ssize_t some = write(fd, bytes, n);
		if (some < 0 && errno == EINTR)
			continue;
		if (some <= 0)
			return false;
		bytes += some;
		n -= (size_t)some;
	}
	return true;
}

enum folder_status folder_write(const struct folder *f, const char *name, const struct strbuf *bytes, struct err *err)
{
	char part[64];
	CHECK(!strchr(name, '/') && strlen(name) + sizeof ".part" <= sizeof part);
	snprintf(part, sizeof part, "%s.part", name);
	if (unlinkat(f->fd, part, 0) != 0 && errno != ENOENT)
		return failed(err, f->path, part);
	const int fd = openat(f->fd, part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (fd < 0)
		return failed(err, f->path, name);
	bool ok = write_all(fd, bytes->s, bytes->len);
	int why = errno;
	if (close(fd) != 0 && ok) {
		ok = false;
		why = errno;
	}
	if (ok && renameat(f->fd, part, f->fd, name) == 0)
		return FOLDER_OK;
	errno = ok ? errno : why;
	const enum folder_status status = failed(err, f->path, name);
	unlinkat(f->fd, part, 0);
	return status;
}

/* ---- folders of causes that are no longer shown -------------------------------------------------------------------------------------- */

static bool is_id(const char *name)
{
	const size_t n = strlen(name);
	return n >= STORE_ID_DIGITS && n <= 32 && name[strspn(name, "0123456789abcdef")] == 0;
}

static enum folder_status drop_one(const struct folder *f, const char *name, const struct folder_drop *d, struct err *err)
{
	struct stat st;
	const int fd = openat(f->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOTDIR || errno == ELOOP || errno == ENOENT ? FOLDER_OK : failed(err, f->path, name);
	bool ours = fstatat(fd, d->mark, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode), ok = true;
	for (int i = 0; ours && ok && i <= d->nfiles; i++)
		ok = unlinkat(fd, i < d->nfiles ? d->file[i] : d->mark, 0) == 0 || errno == ENOENT;
	const enum folder_status status = ok ? FOLDER_OK : failed(err, f->path, name);
	close(fd);
	if (ours && ok && unlinkat(f->fd, name, AT_REMOVEDIR) != 0 && errno != ENOTEMPTY && errno != EEXIST)
		return failed(err, f->path, name);
	return status;
}

enum folder_status folder_drop(const struct folder *f, const struct folder_drop *d, struct err *err)
{
	const int fd = openat(f->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	enum folder_status status = FOLDER_OK;
	if (!dir) {
		status = failed(err, f->path, "");
		if (fd >= 0)
			close(fd);
		return status;
	}
	for (struct dirent *e; status == FOLDER_OK && (e = readdir(dir));)
		if (is_id(e->d_name) && !d->keep(d->ctx, e->d_name))
			status = drop_one(f, e->d_name, d, err);
	closedir(dir);
	return status;
}
