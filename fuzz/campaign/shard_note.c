/* shard_note.c: one struct in a System V segment that is marked for removal as soon as it is there: Linux lets others attach it while one
 * process has it, and nothing is left behind however parent or shard die. (A file without a name would count against `ulimit -f`.) */
#include "fuzz/campaign/shard_note.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/shm.h>

static struct shard_note *attach(int id, struct err *err)
{
	void *p = id < 0 ? (void *)-1 : shmat(id, NULL, 0);
	if (p != (void *)-1)
		return p;
	err_set(err, "no memory to share with a shard: %s", strerror(errno));
	return NULL;
}

struct shard_note *shard_note_new(char name[SHARD_NOTE_NAME], struct err *err)
{
	int id = shmget(IPC_PRIVATE, sizeof(struct shard_note), IPC_CREAT | 0600);
	struct shard_note *n = attach(id, err);
	if (id >= 0)
		shmctl(id, IPC_RMID, NULL);
	if (n)
		n->index = -1;
	snprintf(name, SHARD_NOTE_NAME, "%d", id);
	return n;
}

void shard_note_free(struct shard_note *n)
{
	if (n)
		shmdt(n);
}

struct shard_note *shard_note_open(const char *name, struct err *err) { return attach(atoi(name), err); }

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
