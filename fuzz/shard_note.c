/* shard_note.c: one struct in a shared mapping of an anonymous file: nothing is left behind, however parent or shard die. */
#include "fuzz/shard_note.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

static struct shard_note *map(int fd, struct err *err)
{
	void *p = mmap(NULL, sizeof(struct shard_note), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p != MAP_FAILED)
		return p;
	err_set(err, "no memory to share with a shard: %s", strerror(errno));
	return NULL;
}

struct shard_note *shard_note_new(char path[64], int *fd, struct err *err)
{
	*fd = memfd_create("scatterproof-shard", MFD_CLOEXEC);
	struct shard_note *n = NULL;
	if (*fd < 0 || ftruncate(*fd, sizeof *n) != 0)
		err_set(err, "no memory to share with a shard: %s", strerror(errno));
	else
		n = map(*fd, err);
	if (n)
		n->index = -1;
	snprintf(path, 64, "/proc/%ld/fd/%d", (long)getpid(), *fd);
	return n;
}

void shard_note_free(struct shard_note *n, int fd)
{
	if (n)
		munmap(n, sizeof *n);
	if (fd >= 0)
		close(fd);
}

struct shard_note *shard_note_open(const char *path, struct err *err)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		err_set(err, "%s: %s", path, strerror(errno));
		return NULL;
	}
	struct shard_note *n = map(fd, err);
	close(fd);
	return n;
}

void shard_note_take(struct shard_note *n, int64_t index, bool twin, const char *doing, const char *text)
{
	if (!n)
		return;
	n->index = index;
	n->twin = twin;
	snprintf(n->doing, sizeof n->doing, "%s", doing);
	snprintf(n->text, sizeof n->text, "%s", text);
	bug_context(n->text[0] ? n->text : n->doing);
}

void shard_note_clear(struct shard_note *n)
{
	if (n)
		n->index = -1;
	bug_context(NULL);
}
