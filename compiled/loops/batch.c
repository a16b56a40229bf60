/* batch.c: see batch.h. A batch is made in a process of its own, so that a program that kills its compiler takes down only the batch. */
#include "compiled/loops/batch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

struct batches {
	const struct batch_kind *kind;
	void *code[MAX_BATCHES]; /* NULL: none yet */
	int next;
	int rest; /* calls of batches_make that do nothing */
};

/* ---- names ---- */

void batch_name(char out[BATCH_NAME], const struct strbuf *text)
{
	char hex[33];
	const struct hash128 h = hash_bytes(text->s, text->len);
	hash_hex(hex, &h);
	snprintf(out, BATCH_NAME, "run_%s", hex);
}

int batch_distinct(const struct loops **l, const char **name, int n)
{
	int out = 0;
	for (int i = 0; i < n; i++) {
		bool twice = false;
		for (int k = 0; k < out; k++)
			twice |= str_eq(name[k], name[i]);
		l[out] = l[i];
		name[out] = name[i];
		out += !twice;
	}
	return out;
}

/* ---- a folder ---- */

bool workshop_open(struct workshop *w, struct err *err)
{
	const char *in = getenv("TMPDIR");
	snprintf(w->folder, sizeof w->folder, "%s/scatterproof-native-XXXXXX", in && *in && strlen(in) < 3000 ? in : "/tmp");
	if (!mkdtemp(w->folder))
		return err_set(err, "cannot make %s: %s", w->folder, strerror(errno));
	snprintf(w->file, sizeof w->file, "%s/code", w->folder);
	return true;
}

void workshop_close(const struct workshop *w)
{
	static const char *const ends[] = {"", ".c", ".messages"};
	char path[sizeof w->file + 16];
	for (int i = 0; i < ARRAY_LEN(ends); i++) {
		snprintf(path, sizeof path, "%s%s", w->file, ends[i]);
		unlink(path);
	}
	rmdir(w->folder);
}

/* ---- batches ---- */

struct batches *batches_new(const struct batch_kind *kind)
{
	struct batches *h = xmalloc(sizeof *h);
	*h = (struct batches){.kind = kind};
	return h;
}

void batches_free(struct batches *h)
{
	for (int i = 0; h && i < MAX_BATCHES; i++)
		if (h->code[i])
			h->kind->close(h->code[i]);
	free(h);
}

void *batches_find(const struct batches *h, const char *name)
{
	void *found = NULL;
	for (int i = 0; h && !found && i < MAX_BATCHES && h->code[i]; i++)
		found = h->kind->find(h->code[i], name);
	return found;
}

/* What goes wrong in there is nobody's yet: it says nothing and ends. */
static void make_in_child(bool (*make)(void *ctx, const char *path), void *ctx, const char *path, int limit_ms, pid_t parent)
{
	const int nowhere = open("/dev/null", O_RDWR);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (nowhere < 0 || getppid() != parent || dup2(nowhere, STDERR_FILENO) < 0 || dup2(nowhere, STDOUT_FILENO) < 0)
		_exit(1);
	signal(SIGALRM, SIG_DFL);
	const struct itimerval limit = {.it_value = {limit_ms / 1000, limit_ms % 1000 * 1000}};
	setitimer(ITIMER_REAL, &limit, NULL);
	_exit(make(ctx, path) ? 0 : 1);
}

bool batches_make(struct batches *h, bool (*make)(void *ctx, const char *path), void *ctx, int limit_ms)
{
	enum { REST = 32 }; /* by then all programs of a batch that failed have had their turn alone */
	struct workshop w;
	int status = 1;
	void *code = NULL;
	if (h->rest > 0 || !workshop_open(&w, NULL)) {
		h->rest -= h->rest > 0;
		return false;
	}
	const pid_t parent = getpid(), pid = fork();
	if (pid == 0)
		make_in_child(make, ctx, w.file, MAX(limit_ms, 1), parent);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid > 0 && status == 0)
		code = h->kind->open(w.file);
	workshop_close(&w);
	if (!code) {
		h->rest = REST;
		return false;
	}
	if (h->code[h->next])
		h->kind->close(h->code[h->next]);
	h->code[h->next] = code;
	h->next = (h->next + 1) % MAX_BATCHES;
	return true;
}
