/* store_kill_test.c: kill -9 at 30 random moments, and at 30 random writing operations. A child writes findings as a campaign does and
 * reports each commit over a pipe after it returned; the parent kills it at some moment, from the opening of the file on, then opens the
 * store as the next campaign would: every reported finding is there and whole, integrity is ok. The next child goes on in the same file. */
#include "tests/test.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/store/fault_vfs.h"
#include "tests/store/store_util.h"

enum { NKILLS = 30 };
static const int64_t NOW = (int64_t)T0 * 1000;

static struct hash128 write_one(struct store *s, unsigned n)
{
	static char big[30000];
	struct hash128 program, f;
	char text[64];
	memset(big, (int)(n & 0xff), sizeof big);
	snprintf(text, sizeof text, "program %u\n", n);
	const char *const ops[] = {"expand", "sum"};
	CHECK(store_begin(s) == STORE_OK);
	struct hash128 run = put_run(s, 1), env = put_env(s, 1);
	store_program(s, &program, text, ops, 2);
	const struct store_finding finding = {
		.program = program, .family = "torch", .kind = FINDING_VALUE, .signature = text, .at = NOW + n, .tool = "t"};
	store_finding(s, &f, &finding);
	put_obs(s, &f, &env, &run, NOW + n, "mismatch");
	store_artifact(s, &f, "got", NOW, big, sizeof big);
	CHECK(store_commit(s) == STORE_OK);
	store_counter_add(s, &run, "", &env, "pass", 1);
	CHECK(n % 3 || store_flush(s) == STORE_OK);
	return f;
}

/* Never returns: writes until it is killed. */
static void writer(const char *path, unsigned start, int out)
{
	struct store *s = open_ok(path, STORE_CREATE);
	for (unsigned n = start;; n++) {
		struct hash128 f = write_one(s, n);
		if (write(out, f.b, sizeof f.b) != (ssize_t)sizeof f.b)
			_exit(1);
	}
}

struct moment {
	long delay_us;
	struct fault fault;
}; /* delay_us < 0: the child ends itself at the fault */

/* Has a writer killed at that moment and collects what it reported. */
static int run_and_kill(const char *path, unsigned start, const struct moment *m, struct hash128 *reported, int max)
{
	int fd[2], n = 0;
	CHECK(pipe(fd) == 0);
	fflush(stdout);
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		close(fd[0]);
		fault_set(&m->fault);
		writer(path, start, fd[1]);
	}
	close(fd[1]);
	if (m->delay_us >= 0) {
		const struct timespec delay = {m->delay_us / 1000000, m->delay_us % 1000000 * 1000};
		nanosleep(&delay, NULL);
		CHECK(kill(pid, SIGKILL) == 0);
	}
	while (n < max && read(fd[0], reported[n].b, sizeof reported[n].b) == (ssize_t)sizeof reported[n].b)
		n++;
	close(fd[0]);
	int status;
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	return n;
}

static int missing(struct store *s, const struct hash128 *ids, int n)
{
	struct arena a;
	int nmissing = 0;
	arena_init(&a);
	for (int i = 0; i < n; i++) {
		struct store_loaded f;
		bool whole = store_load_finding(s, &f, &ids[i], &a) == STORE_OK && f.nobs_stored == 1 && f.nobs == 1 && f.nartifacts == 1
			&& f.artifact[0].nbytes == 30000;
		nmissing += !whole;
		arena_reset(&a);
	}
	arena_free(&a);
	return nmissing;
}

/* A journal that was synced, so that the file may have been written to. Before that it begins with zeros, and is left alone. */
static bool is_hot(const char *journal)
{
	FILE *f = fopen(journal, "rb");
	int c = f ? fgetc(f) : 0;
	if (f)
		fclose(f);
	return c > 0;
}

struct tally {
	int nreported, nhot;
};

static struct tally kill_at(const char *name, const struct moment *moments)
{
	enum { MAX = 100000 };
	struct hash128 *ids = xmalloc(MAX * sizeof *ids);
	char *path = xstrdup(tmp_path(name)), journal[600];
	struct tally t = {0};
	snprintf(journal, sizeof journal, "%s-journal", path);
	for (int k = 0; k < NKILLS; k++) {
		t.nreported += run_and_kill(path, (unsigned)k * 100000, &moments[k], ids + t.nreported, MAX - t.nreported);
		t.nhot += is_hot(journal);
		struct store *s = open_ok(path, STORE_CREATE);
		int nmissing = missing(s, ids, t.nreported);
		EXPECT(nmissing == 0, "kill %d: %d of %d findings are lost", k, nmissing, t.nreported);
		EXPECT_INT(store_close(s, NULL), STORE_OK);
		EXPECT_STR(integrity(path), "ok");
		EXPECT(!is_hot(journal), "kill %d: the journal was not rolled back", k);
		EXPECT(sql_int(path,
				   "SELECT count(*) FROM finding f WHERE NOT EXISTS (SELECT 1 FROM artifact a WHERE a.finding = f.id)"
				   " OR NOT EXISTS (SELECT 1 FROM finding_summary s WHERE s.finding = f.id)")
				== 0,
			"kill %d: half a finding", k);
		if (t.nreported == 0)
			unlink(path); /* so that making the file is hit more than once */
	}
	printf("  %d findings reported, %d hot journals left behind\n", t.nreported, t.nhot);
	free(ids);
	free(path);
	return t;
}

static void at_random_moments(void)
{
	struct moment moments[NKILLS];
	for (int k = 0; k < NKILLS; k++) /* the first ones fall into the making of the file */
		moments[k] = (struct moment){(long)(mix64((uint64_t)k) % (k < 8 ? 12000 : 150000)), {.countdown = -1}};
	struct tally t = kill_at("moments.db", moments);
	EXPECT(t.nreported > 0, "nothing was written");
}

/* Most of a fast disk's time is spent outside transactions: this finds their inside, and halves of pages. */
static void at_random_operations(void)
{
	struct moment moments[NKILLS];
	for (int k = 0; k < NKILLS; k++)
		moments[k] =
			(struct moment){-1, {.countdown = (int)(mix64((uint64_t)k) % (k < 8 ? 150 : 700)), .rc = FAULT_KILL, .torn = k % 2 == 1}};
	struct tally t = kill_at("operations.db", moments);
	EXPECT(t.nreported > 20, "only %d findings were written", t.nreported);
	EXPECT(t.nhot > 3, "only %d kills fell into a transaction", t.nhot);
}

int main(void)
{
	tmp_dir();
	fault_install();
	RUN(at_random_moments);
	RUN(at_random_operations);
	return TEST_END();
}
