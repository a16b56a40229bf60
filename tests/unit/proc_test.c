/* proc_test.c: child processes that misbehave in every way we know. The children are this very program, run again with the
 * name of a behaviour; each bad one must cost exactly one request, and the next request must be served by a fresh child. */
#include "eager/base/proc.h"
#include "eager/base/proc_dir.h"
#include "compiled/targets/torch/torch.h"
#include "eager/lang/wire.h"
#include "tests/test.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- the children ----------------------------------------------------------------------------------------- */

static void flood(size_t nbytes)
{
	static const char line[] = "some compiler complains at length about something that nobody asked for\n";
	for (size_t n = 0; n < nbytes; n += sizeof line - 1)
		fputs(line, stdout);
	fflush(stdout);
}

static void raw(const char *bytes, size_t n)
{
	if (write(PROC_FD, bytes, n) < 0)
		_exit(9);
}

/* rounds of a little work and much sleep. */
static void doze(int rounds, int work_ms, int sleep_ms)
{
	for (int i = 0; i < rounds; i++) {
		for (clock_t begin = clock(); clock() - begin < CLOCKS_PER_SEC * work_ms / 1000;)
			;
		usleep((useconds_t)sleep_ms * 1000);
	}
}

static void say_where(int sig)
{
	static const char text[] = "I was here\n";
	if (write(2, text, sizeof text - 1) < 0)
		_exit(sig);
}

/* What the request's first word asks for. Everything else is echoed. */
static bool behave(void *ctx, const void *request, size_t n, struct strbuf *answer)
{
	uint32_t seq = ++*(uint32_t *)ctx; /* a child's requests are numbered from 1 */
	char word[32] = "";
	memcpy(word, request, MIN(n, sizeof word - 1));
	if (str_starts(word, "abort")) {
		fputs("last words\n", stderr);
		abort();
	} else if (str_starts(word, "exit")) {
		exit(3);
	} else if (str_starts(word, "hang")) {
		for (;;)
			pause();
	} else if (str_starts(word, "slow")) { /* a fifth of a processor for longer than the limit of its test */
		doze(30, 20, 80);
	} else if (str_starts(word, "crawl")) { /* a tenth, for longer than PROC_STARVED times the limit */
		doze(60, 20, 130);
	} else if (str_starts(word, "nice")) {
		sb_printf(answer, "nice %d", getpriority(PRIO_PROCESS, 0));
		return true;
	} else if (str_starts(word, "speak")) {
		signal(SIGUSR1, say_where);
		for (;;)
			pause();
	} else if (str_starts(word, "rubbish")) {
		raw("this is not an answer at all", 28);
		pause();
	} else if (str_starts(word, "number")) {
		proc_send_frame(PROC_FD, 12345, "x", 1);
		pause();
	} else if (str_starts(word, "huge")) {
		raw("SPF1\1\0\0\0\377\377\377\377\377\377\377\177", 16);
		pause();
	} else if (str_starts(word, "half")) {
		char *bytes = xmalloc(100000);
		memset(bytes, 'x', 100000);
		uint32_t magic = PROC_MAGIC;
		uint64_t length = 1000000;
		raw((const char *)&magic, 4);
		raw((const char *)&seq, 4);
		raw((const char *)&length, 8);
		raw(bytes, 100000);
		_exit(0);
	} else if (str_starts(word, "deaf")) {
		close(PROC_FD);
		for (;;)
			pause();
	} else if (str_starts(word, "flood")) {
		flood((size_t)64 << 20);
	} else if (str_starts(word, "memory")) {
		for (;;) {
			memset(xmalloc(1 << 22), 1, 1 << 22);
			usleep(1000);
		}
	} else if (str_starts(word, "family")) {
		if (fork() == 0)
			for (;;)
				pause();
		for (;;)
			pause();
	} else if (str_starts(word, "orphan")) { /* dies, and leaves somebody who holds its descriptors */
		if (fork() == 0)
			for (;;)
				pause();
		if (str_eq(word, "orphan answer"))
			proc_send_frame(PROC_FD, seq, "orphan answer", 13);
		if (str_eq(word, "orphan later"))
			alarm(1);
		else
			raise(SIGKILL);
		sb_put(answer, request, n);
		return true;
	} else if (str_starts(word, "after")) {
		sb_puts(answer, "served, then gone");
		return false;
	} else if (str_starts(word, "where")) {
		char cwd[512];
		sb_printf(answer, "%s %s", getcwd(cwd, sizeof cwd) ? cwd : "?", getenv("TMPDIR"));
		return true;
	} else if (str_starts(word, "env")) {
		sb_puts(answer, getenv("PROC_WITHHELD_TEST") ? "not withheld" : getenv("PROC_TEST") ? getenv("PROC_TEST") : "unset");
		return true;
	}
	sb_put(answer, request, n);
	return true;
}

/* A worker that speaks frames but not always sense: what it answers stands in the request's source text. */
static void good_answer(struct strbuf *sb);
static bool answer_torch(void *ctx, const void *request, size_t n, struct strbuf *answer)
{
	(void)ctx;
	good_answer(answer);
	if (memmem(request, n, "SHORT", 5))
		answer->len -= 5;
	else if (memmem(request, n, "LONG", 4))
		sb_puts(answer, "more");
	else if (memmem(request, n, "STATUS", 6))
		answer->s[1] = RES_HANG;
	else if (memmem(request, n, "EMPTY", 5))
		sb_reset(answer);
	else if (memmem(request, n, "DIE", 3))
		raise(SIGSEGV);
	return true;
}

static int child(const char *kind)
{
	if (str_eq(kind, "torch"))
		return proc_serve("", 0, answer_torch, NULL);
	uint32_t nrequests = 0;
	if (str_eq(kind, "serve"))
		return proc_serve("hello", 5, behave, &nrequests);
	if (str_eq(kind, "silent"))
		for (;;)
			pause();
	if (str_eq(kind, "stillborn")) {
		fputs("no such library\n", stderr);
		return 42;
	}
	if (str_starts(kind, "hello ")) { /* of so many bytes */
		size_t n = (size_t)atol(kind + 6);
		char *hello = xmalloc(n);
		memset(hello, 'h', n);
		return proc_serve(hello, n, behave, &nrequests);
	}
	if (str_eq(kind, "babble")) {
		raw("I never learned to speak in frames", 34);
		for (;;)
			pause();
	}
	return 1;
}

/* ---- the tests -------------------------------------------------------------------------------------------- */

static char self[4096];

static struct proc_spec spec_of(const char **argv, const char *kind)
{
	argv[0] = self;
	argv[1] = "child";
	argv[2] = kind;
	argv[3] = NULL;
	return (struct proc_spec){.name = "the child", .argv = argv, .start_limit_ms = 5000};
}

static struct proc *open_child(const struct proc_spec *spec)
{
	struct err err = {0};
	struct proc *p = proc_open(spec, &err);
	EXPECT(p, "%s", err.msg);
	if (!p)
		exit(1);
	return p;
}

static enum proc_state ask(struct proc *p, const char *request, int limit_ms)
{
	struct err err = {0};
	EXPECT(proc_submit(p, request, strlen(request), limit_ms, &err), "%s", err.msg);
	while (!proc_ready(p))
		proc_wait(&p, 1, -1);
	return proc_state(p);
}

static void expect_answer(struct proc *p, const char *request, const char *want)
{
	enum proc_state s = ask(p, request, 5000);
	EXPECT(s == PROC_DONE, "'%s': state %d, %s", request, s, proc_why(p));
	if (s == PROC_DONE) {
		size_t n;
		const void *got = proc_answer(p, &n);
		EXPECT(n == strlen(want) && memcmp(got, want, n) == 0, "'%s': %zu bytes '%.60s'", request, n, (const char *)got);
	}
	proc_release(p);
}

static void test_serve(void)
{
	const char *argv[4];
	struct proc_spec spec = spec_of(argv, "serve");
	setenv("PROC_WITHHELD_TEST", "ours", 1);
	spec.env = (const char *const[]){"PROC_TEST=seen", NULL};
	spec.not_env = (const char *const[]){"PROC_WITHHELD", "PROC_TEST", NULL};
	struct proc *p = open_child(&spec);
	for (int i = 0; i < 100; i++)
		expect_answer(p, "echo", "echo");
	expect_answer(p, "env", "seen");
	EXPECT_INT(proc_nstarted(p), 1);
	EXPECT_INT(proc_nserved(p), 101);
	size_t n;
	EXPECT(memcmp(proc_hello(p, &n), "hello", 5) == 0 && n == 5, "hello of %zu bytes", n);
	EXPECT(proc_rss(p) > 0, "no resident memory");
	proc_close(p);
}

static void test_big_messages(void)
{
	const char *argv[4];
	struct proc_spec spec = spec_of(argv, "serve");
	struct proc *p = open_child(&spec);
	struct err err = {0};
	size_t n = (size_t)20 << 20, got;
	char *big = xmalloc(n);
	for (size_t i = 0; i < n; i++)
		big[i] = (char)(i * 31 >> 3);
	EXPECT(proc_submit(p, big, n, 20000, &err), "%s", err.msg);
	while (!proc_ready(p))
		proc_wait(&p, 1, -1);
	EXPECT(proc_state(p) == PROC_DONE, "%s", proc_why(p));
	if (proc_state(p) == PROC_DONE) {
		const void *back = proc_answer(p, &got);
		EXPECT(got == n && memcmp(back, big, n) == 0, "%zu of %zu bytes", got, n);
	}
	free(big);
	proc_close(p);
}

static void test_misbehaviour(void)
{
	static const struct {
		const char *request;
		enum proc_end end;
		int signal;
		const char *why;
	} row[] = {
		{"abort", PROC_END_DIED, SIGABRT, "signal 6"},
		{"exit", PROC_END_DIED, 0, "exited with code 3"},
		{"hang", PROC_END_TIME, 0, "no answer within 300 ms"},
		{"rubbish", PROC_END_RUBBISH, 0, "no answer"},
		{"number", PROC_END_RUBBISH, 0, "no answer"},
		{"huge", PROC_END_RUBBISH, 0, "no answer"},
		{"half", PROC_END_DIED, 0, "exited with code 0"},
		{"deaf", PROC_END_RUBBISH, 0, "closed its message socket"},
		{"memory", PROC_END_MEMORY, 0, "MiB"},
	};
	const char *argv[4];
	struct proc_spec spec = spec_of(argv, "serve");
	spec.max_rss = (int64_t)512 << 20;
	struct proc *p = open_child(&spec);
	for (int i = 0; i < ARRAY_LEN(row); i++) {
		bool timed = row[i].end == PROC_END_TIME;
		enum proc_state s = ask(p, row[i].request, timed ? 300 : 20000);
		EXPECT(s == PROC_ENDED && proc_end(p) == row[i].end, "%s: state %d, end %d, '%s'", row[i].request, s, proc_end(p), proc_why(p));
		EXPECT(strstr(proc_why(p), row[i].why), "%s: '%s' lacks '%s'", row[i].request, proc_why(p), row[i].why);
		EXPECT_INT(proc_signal(p), row[i].signal);
		if (row[i].signal == SIGABRT)
			EXPECT(strstr(proc_tail(p), "last words"), "tail '%s'", proc_tail(p));
		proc_release(p);
		expect_answer(p, "echo", "echo");
		EXPECT_INT(proc_nstarted(p), i + 2);
	}
	proc_close(p);
}

/* A limit is meant for who hangs: who computes but gets little of the processor has longer, and who is killed says where it was. */
static void test_time(void)
{
	const char *argv[4];
	struct proc_spec spec = spec_of(argv, "serve");
	spec.last_words = SIGUSR1;
	struct proc *p = open_child(&spec);
	EXPECT(ask(p, "slow", 2000) == PROC_DONE, "'%s'", proc_why(p));
	proc_release(p);
	EXPECT_INT(ask(p, "speak", 500), PROC_ENDED);
	EXPECT(proc_end(p) == PROC_END_TIME && strstr(proc_why(p), "within 500 ms"), "end %d, '%s'", proc_end(p), proc_why(p));
	EXPECT(strstr(proc_tail(p), "I was here"), "tail '%s'", proc_tail(p));
	proc_release(p);
	EXPECT_INT(ask(p, "hang", 500), PROC_ENDED); /* and dies of being asked */
	EXPECT(proc_end(p) == PROC_END_TIME && strstr(proc_why(p), "gave no answer within 500 ms"), "end %d, '%s'", proc_end(p), proc_why(p));
	EXPECT_INT(proc_signal(p), 0);
	proc_release(p);
	expect_answer(p, "echo", "echo");
	proc_close(p);
}

/* Whoever holds a dead child's descriptors changes nothing: a crash is one, at once; an answer is one; who died idle is replaced. */
static void test_orphans(void)
{
	const char *argv[4];
	struct proc_spec spec = spec_of(argv, "serve");
	spec.last_words = SIGUSR1;
	struct proc *p = open_child(&spec);
	for (int i = 0; i < 3; i++) {
		EXPECT_INT(ask(p, "orphan", 20000), PROC_ENDED);
		EXPECT(proc_end(p) == PROC_END_DIED && proc_signal(p) == SIGKILL, "end %d, '%s'", proc_end(p), proc_why(p));
		EXPECT(proc_elapsed_ms(p) < 5000, "after %.0f ms", proc_elapsed_ms(p));
		proc_release(p);
		expect_answer(p, "orphan answer", "orphan answer");
		proc_wait(&p, 1, 100);
		expect_answer(p, "echo", "echo");
	}
	expect_answer(p, "orphan later", "orphan later");
	proc_wait(&p, 1, 1500);
	expect_answer(p, "echo", "echo");
	proc_close(p);
}

static void test_hellos(void)
{
	static const struct {
		const char *kind;
		bool fine;
	} row[] = {{"hello 0", true}, {"hello 1048576", true}, {"hello 1048577", false}, {"hello 200000000", false}};
	const char *argv[4];
	for (int i = 0; i < ARRAY_LEN(row); i++) {
		struct proc_spec spec = spec_of(argv, row[i].kind);
		struct proc *p = open_child(&spec);
		enum proc_state s = ask(p, "echo", 5000);
		EXPECT(s == (row[i].fine ? PROC_DONE : PROC_ENDED), "%s: state %d, '%s'", row[i].kind, s, proc_why(p));
		EXPECT(row[i].fine || (proc_end(p) == PROC_END_START && strstr(proc_why(p), "no answer")), "%s: '%s'", row[i].kind, proc_why(p));
		proc_close(p);
	}
}

/* A child in the background yields to others, and is given the time that this takes. */
static void test_nice(void)
{
	char want[32];
	const char *argv[4];
	struct proc_spec spec = spec_of(argv, "serve");
	struct proc *p = open_child(&spec);
	snprintf(want, sizeof want, "nice %d", getpriority(PRIO_PROCESS, 0));
	expect_answer(p, "nice", want);
	EXPECT_INT(ask(p, "crawl", 2000), PROC_ENDED);
	proc_close(p);
	spec.nice = 1;
	p = open_child(&spec);
	snprintf(want, sizeof want, "nice %d", getpriority(PRIO_PROCESS, 0) + 1);
	expect_answer(p, "nice", want);
	EXPECT(ask(p, "crawl", 2000) == PROC_DONE, "'%s'", proc_why(p));
	proc_close(p);
}

static void test_bad_starts(void)
{
	static const struct {
		const char *kind, *why, *tail;
	} row[] = {
		{"silent", "not ready within 400 ms", ""},
		{"stillborn", "exited with code 42 before it was ready", "no such library"},
		{"babble", "bytes that are no answer", ""},
	};
	const char *argv[4];
	for (int i = 0; i < ARRAY_LEN(row); i++) {
		struct proc_spec spec = spec_of(argv, row[i].kind);
		spec.start_limit_ms = str_eq(row[i].kind, "silent") ? 400 : 5000;
		struct proc *p = open_child(&spec);
		for (int again = 0; again < 2; again++) {
			EXPECT_INT(ask(p, "echo", 5000), PROC_ENDED);
			EXPECT(proc_end(p) == PROC_END_START && strstr(proc_why(p), row[i].why), "%s: %s", row[i].kind, proc_why(p));
			EXPECT(strstr(proc_tail(p), row[i].tail), "%s: tail '%s'", row[i].kind, proc_tail(p));
			proc_release(p);
		}
		proc_close(p);
	}
	struct proc_spec spec = spec_of(argv, "serve");
	argv[0] = "/nonexistent/program";
	struct proc *p = open_child(&spec);
	EXPECT_INT(ask(p, "echo", 5000), PROC_ENDED);
	EXPECT(proc_end(p) == PROC_END_START && strstr(proc_tail(p), "cannot execute"), "%s / %s", proc_why(p), proc_tail(p));
	proc_close(p);
}

/* A flood of output neither blocks the child nor fills our memory; its end is kept. */
static void test_flood(void)
{
	const char *argv[4];
	struct proc_spec spec = spec_of(argv, "serve");
	struct proc *p = open_child(&spec);
	expect_answer(p, "flood", "flood");
	proc_wait(&p, 1, 50);
	size_t n = strlen(proc_tail(p));
	EXPECT(n > 1000 && n <= PROC_TAIL, "tail of %zu bytes", n);
	EXPECT(strstr(proc_tail(p), "nobody asked for"), "tail '%.80s'", proc_tail(p));
	expect_answer(p, "echo", "echo");
	proc_close(p);
}

/* Going after an answer, or while idle, is nobody's crash. */
static void test_idle_death(void)
{
	const char *argv[4];
	struct proc_spec spec = spec_of(argv, "serve");
	struct proc *p = open_child(&spec);
	for (int i = 0; i < 5; i++) {
		expect_answer(p, "after", "served, then gone");
		for (int k = 0; k < 600 && proc_state(p) != PROC_EMPTY; k++) /* until it is seen to be gone: a busy machine takes its time */
			proc_wait(&p, 1, 100);
		EXPECT_INT(proc_state(p), PROC_EMPTY);
		expect_answer(p, "echo", "echo");
	}
	EXPECT_INT(proc_nstarted(p), 6);
	proc_close(p);
}

static void test_recycling(void)
{
	const char *argv[4];
	struct proc_spec spec = spec_of(argv, "serve");
	spec.max_served = 10;
	struct proc *p = open_child(&spec);
	for (int i = 0; i < 35; i++)
		expect_answer(p, "echo", "echo");
	EXPECT_INT(proc_nstarted(p), 4);
	proc_recycle(p);
	expect_answer(p, "echo", "echo");
	expect_answer(p, "echo", "echo");
	EXPECT_INT(proc_nstarted(p), 5);
	proc_close(p);
}

/* Grandchildren die with the group: after the kill nobody holds the output pipe. */
static void test_group(void)
{
	const char *argv[4];
	struct proc_spec spec = spec_of(argv, "serve");
	struct proc *p = open_child(&spec);
	expect_answer(p, "echo", "echo");
	EXPECT_INT(ask(p, "family", 300), PROC_ENDED);
	proc_release(p);
	int living = 0;
	DIR *dir = opendir("/proc");
	for (struct dirent *e; dir && (e = readdir(dir));) {
		char path[300], line[4096] = "", state = 0;
		snprintf(path, sizeof path, "/proc/%s/cmdline", e->d_name);
		FILE *f = fopen(path, "r");
		size_t n = f ? fread(line, 1, sizeof line - 1, f) : 0;
		if (f)
			fclose(f);
		snprintf(path, sizeof path, "/proc/%s/stat", e->d_name);
		f = fopen(path, "r");
		if (f && fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
			state = 0;
		if (f)
			fclose(f);
		living += n > strlen(self) && memcmp(line, self, strlen(self) + 1) == 0 && str_eq(line + strlen(self) + 1, "child") && state != 'Z';
	}
	if (dir)
		closedir(dir);
	EXPECT_INT(living, 0);
	proc_close(p);
}

static bool exists(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0;
}

static void where(struct proc *p, char path[512])
{
	path[0] = '\0';
	if (ask(p, "where", 5000) == PROC_DONE) {
		size_t n;
		const char *s = proc_answer(p, &n);
		snprintf(path, 512, "%.*s", (int)n, s);
		char *space = strchr(path, ' ');
		EXPECT(space && str_starts(space + 1, "/") && exists(space + 1), "TMPDIR in '%s'", path);
		if (space)
			*space = '\0';
	}
	proc_release(p);
	EXPECT(exists(path), "working directory '%s'", path);
}

static void test_private_dirs(void)
{
	const char *argv[4];
	char a[512], b[512];
	struct proc_spec spec = spec_of(argv, "serve");
	struct proc *p = open_child(&spec), *q = open_child(&spec);
	where(p, a);
	where(q, b);
	EXPECT(!str_eq(a, b), "two slots share %s", a);
	ask(p, "hang", 200);
	proc_release(p);
	proc_close(p);
	EXPECT(!exists(a), "%s outlives its owner", a);
	EXPECT(exists(b), "%s went with another slot", b);
	proc_close(q);
	EXPECT(!exists(b), "%s outlives its owner", b);
}

/* Each process sweeps while the others make theirs: a directory that was handed over stays. Exit code: were all there? */
static void make_and_look(int rounds)
{
	bool there = true;
	for (int i = 0; i < rounds && there; i++) {
		struct err err = {0};
		struct proc_dir d;
		struct strbuf sub;
		sb_init(&sub);
		there = proc_dir_make(&d, &err) && proc_dir_sub(&sub, &d, "TMPDIR", &err);
		if (there)
			proc_dir_remove(&d);
		else
			fprintf(stderr, "round %d: %s\n", i, err.msg);
		sb_free(&sub);
	}
	_exit(there ? 0 : 1);
}

static void test_private_dirs_at_once(void)
{
	enum { PROCESSES = 6, ROUNDS = 400 };
	pid_t child[PROCESSES];
	for (int i = 0; i < PROCESSES; i++) {
		child[i] = fork();
		if (child[i] == 0)
			make_and_look(ROUNDS);
	}
	for (int i = 0; i < PROCESSES; i++) {
		int status = -1;
		CHECK(waitpid(child[i], &status, 0) == child[i]);
		EXPECT_INT(status, 0);
	}
}

/* An owner that is killed leaves its directory; the next proc_open removes it, and the child died with its parent. */
static void test_killed_parent(void)
{
	int pipes[2];
	char path[512] = "";
	if (pipe(pipes) != 0)
		return;
	pid_t owner = fork();
	if (owner == 0) {
		const char *argv[4];
		struct proc_spec spec = spec_of(argv, "serve");
		struct proc *p = open_child(&spec);
		where(p, path);
		if (write(pipes[1], path, sizeof path) < 0)
			_exit(1);
		ask(p, "hang", 0);
		_exit(0);
	}
	ssize_t n = read(pipes[0], path, sizeof path);
	kill(owner, SIGKILL);
	waitpid(owner, NULL, 0);
	close(pipes[0]);
	close(pipes[1]);
	EXPECT(n == sizeof path && exists(path), "'%s' should be left behind", path);
	const char *argv[4];
	struct proc_spec spec = spec_of(argv, "serve");
	struct proc *p = open_child(&spec);
	EXPECT(!exists(path), "%s was not swept", path);
	expect_answer(p, "echo", "echo");
	proc_close(p);
}

/* One thread, many children: eight that need 300 ms each end together, not one after another. */
static void test_many(void)
{
	enum { N = 8 };
	const char *argv[4];
	struct proc_spec spec = spec_of(argv, "serve");
	struct proc *p[N];
	struct err err = {0};
	for (int i = 0; i < N; i++) {
		p[i] = open_child(&spec);
		EXPECT(proc_start(p[i], &err), "%s", err.msg);
	}
	for (int i = 0; i < N; i++)
		EXPECT(proc_submit(p[i], i % 2 ? "hang" : "echo", 4, i % 2 ? 300 : 20000, &err), "%s", err.msg);
	int done = 0, ended = 0;
	while (done + ended < N) {
		proc_wait(p, N, -1);
		for (int i = 0; i < N; i++) {
			if (!proc_ready(p[i]))
				continue;
			done += proc_state(p[i]) == PROC_DONE;
			ended += proc_state(p[i]) == PROC_ENDED;
			proc_release(p[i]);
			proc_kill(p[i]);
		}
	}
	EXPECT_INT(done, N / 2);
	EXPECT_INT(ended, N / 2);
	for (int i = 0; i < N; i++)
		proc_close(p[i]);
}

/* ---- a worker that speaks frames but answers nonsense: torch_take ------------------------------------------- */

static void good_answer(struct strbuf *sb)
{
	static const float data[2] = {1, 2};
	static const char cells[8];
	struct result_tensor t = {.present = true, .storage = 1, .nbytes = 8, .data = data};
	meta_make_contiguous(&t.meta, DT_F32, (const int64_t[]){2}, 1);
	struct result_storage s = {sizeof cells, cells};
	struct result_call c = {.nouts = 1, .out = &t, .nstorages = 1, .storage = &s};
	struct result_artifact f = {"operators", "fw add\n"};
	static const float later[2] = {3, 4};
	struct result_change change[] = {{.role = TR_OUTPUT, .what = "", .tensor = t}, {.role = TR_STORAGE, .what = "moved", .storage = s}};
	change[0].tensor.data = later;
	struct result_meta_mismatch m = {.op = "aten.neg", .rank = 3, .detail = "", .layouts = true, .fake = t.meta, .real = t.meta};
	m.fake.stride[0] = 0;
	m.real.offset = 5;
	struct result r = {.status = RES_OK,
		.message = "",
		.ncalls = 1,
		.call = &c,
		.nartifact = 1,
		.artifact = &f,
		.nchange = 2,
		.change = change,
		.nmismatch = 1,
		.mismatch = &m};
	wire_put_u8(sb, 0);
	wire_put_result(sb, &r);
}

static const char *answer_bytes;
static size_t answer_nbytes;

static void take_answer(struct result *out, struct arena *a)
{
	static const size_t nbytes = 8;
	struct wire w = {(const uint8_t *)answer_bytes, (const uint8_t *)answer_bytes + answer_nbytes, false};
	struct wire_expect expect = {.nouts = 1, .nstorages = 1, .ncalls = 1, .storage_nbytes = &nbytes};
	struct err err = {0};
	wire_u8(&w);
	if (!wire_get_result(out, a, &w, &expect, &err)) {
		*out = (struct result){.status = RES_HARNESS, .message = arena_strdup(a, err.msg)};
		EXPECT(err.msg[0], "refused without a sentence");
	}
}

/* Generated code can be long: the head stays, with a note. */
static void test_long_artifact(void)
{
	enum { MORE = 10 };
	static const char note[] = "... 10 bytes more";
	char *text = xmalloc(MAX_ARTIFACT_TEXT + MORE + 1);
	memset(text, 'x', MAX_ARTIFACT_TEXT + MORE);
	text[MAX_ARTIFACT_TEXT + MORE] = '\0';
	struct result_artifact f = {"forward code", text};
	struct result r = {.status = RES_UNSUPPORTED, .message = "", .nartifact = 1, .artifact = &f};
	struct strbuf sb;
	struct arena a;
	sb_init(&sb);
	arena_init(&a);
	wire_put_u8(&sb, 0);
	wire_put_result(&sb, &r);
	answer_bytes = sb.s;
	answer_nbytes = sb.len;
	take_answer(&r, &a);
	EXPECT(r.status == RES_UNSUPPORTED && r.nartifact == 1, "%s", r.message);
	EXPECT_INT(strlen(r.artifact[0].text), MAX_ARTIFACT_TEXT + sizeof note - 1);
	EXPECT_STR(r.artifact[0].text + MAX_ARTIFACT_TEXT, note);
	sb_free(&sb);
	arena_free(&a);
	free(text);
}

static void test_violation(void)
{
	const struct result said = {.status = RES_INVARIANT, .message = "invariant after cse", .violation = {"I2", "cse", "neg"}};
	struct result r;
	struct strbuf sb;
	struct arena a;
	sb_init(&sb);
	arena_init(&a);
	wire_put_u8(&sb, 0);
	wire_put_result(&sb, &said);
	answer_bytes = sb.s;
	answer_nbytes = sb.len;
	take_answer(&r, &a);
	EXPECT_INT(r.status, RES_INVARIANT);
	EXPECT_STR(r.message, said.message);
	EXPECT_STR(r.violation.invariant, "I2");
	EXPECT_STR(r.violation.step, "cse");
	EXPECT_STR(r.violation.op, "neg");
	for (size_t n = 1; n < sb.len; n++) {
		answer_nbytes = n;
		take_answer(&r, &a);
		EXPECT(r.status == RES_HARNESS, "a prefix of %zu bytes was believed", n);
	}
	sb_free(&sb);
	arena_free(&a);
}

/* Every prefix of a good answer is refused, every single-byte change is refused or decodes to something well-formed. */
static void test_wrong_answers(void)
{
	struct strbuf good;
	struct arena a;
	struct result r;
	sb_init(&good);
	arena_init(&a);
	good_answer(&good);
	answer_bytes = good.s;
	answer_nbytes = good.len;
	take_answer(&r, &a);
	EXPECT(r.status == RES_OK && r.call[0].out[0].meta.size[0] == 2, "%s", r.message);
	EXPECT(r.nartifact == 1 && str_eq(r.artifact[0].name, "operators") && str_eq(r.artifact[0].text, "fw add\n"), "%d", r.nartifact);
	EXPECT(r.nchange == 2 && r.change[0].role == TR_OUTPUT && *(const float *)r.change[0].tensor.data == 3, "%d changes", r.nchange);
	EXPECT_STR(r.change[1].what, "moved");
	EXPECT_INT(r.change[1].storage.nbytes, 8);
	EXPECT(r.nmismatch == 1 && r.mismatch[0].layouts && r.mismatch[0].rank == 3, "%d mismatches", r.nmismatch);
	EXPECT(r.mismatch[0].fake.stride[0] == 0 && r.mismatch[0].real.stride[0] == 1 && r.mismatch[0].real.offset == 5, "other layouts");
	for (size_t n = 1; n < good.len; n++) {
		char *exact = xmalloc(n); /* so that ASan sees a read beyond the end */
		memcpy(exact, good.s, n);
		answer_bytes = exact;
		answer_nbytes = n;
		take_answer(&r, &a);
		EXPECT(r.status == RES_HARNESS, "a prefix of %zu bytes was believed", n);
		free(exact);
	}
	answer_bytes = good.s;
	answer_nbytes = good.len;
	int refused = 0;
	for (size_t i = 1; i < good.len; i++)
		for (int bit = 0; bit < 8; bit++) {
			good.s[i] = (char)(good.s[i] ^ 1 << bit);
			take_answer(&r, &a);
			refused += r.status == RES_HARNESS;
			if (r.status == RES_OK)
				EXPECT_INT(r.call[0].out[0].nbytes, 4 * r.call[0].out[0].meta.size[0]);
			good.s[i] = (char)(good.s[i] ^ 1 << bit);
		}
	EXPECT(refused > 500, "only %d changed bits were refused", refused);
	sb_free(&good);
	arena_free(&a);
}

/* The same through a process and torch_run: one result each, and the next request is served. */
static void test_nonsense_worker(void)
{
	static const struct {
		const char *source;
		enum result_status status;
		const char *text;
	} row[] = {
		{"SHORT", RES_HARNESS, "answer: "},
		{"LONG", RES_HARNESS, "4 bytes too many"},
		{"STATUS", RES_HARNESS, "status 4"},
		{"EMPTY", RES_HARNESS, "answer: "},
		{"DIE", RES_CRASH, ""},
		{"TWO", RES_HARNESS, "1 reported, 2 expected"},
	};
	static const char cells[8];
	const char *argv[4];
	struct proc_spec spec = spec_of(argv, "torch");
	struct proc *p = open_child(&spec);
	struct torch_bytes storage[2] = {{cells, 8}, {cells, 8}};
	struct torch_input in = {.name = "x", .to_f = true};
	struct meta meta;
	struct torch_call call = {&meta, NULL, storage};
	struct torch_request req = {.ninputs = 1, .nstorages = 1, .nouts = 1, .ncalls = 1, .input = &in, .call = &call};
	struct arena a;
	struct result r;
	struct err err = {0};
	meta_make_contiguous(&meta, DT_F32, (const int64_t[]){2}, 1);
	EXPECT(target_parse(&req.target, "torch:eager", &err), "%s", err.msg);
	arena_init(&a);
	for (int i = 0; i < ARRAY_LEN(row); i++) {
		req.source = row[i].source;
		req.nstorages = str_eq(row[i].source, "TWO") ? 2 : 1;
		torch_run(&r, &a, p, &req);
		EXPECT(r.status == row[i].status && strstr(r.message, row[i].text), "%s: %s: %s", row[i].source, result_status_name[r.status],
			r.message);
		req.source = "fine";
		req.nstorages = 1;
		torch_run(&r, &a, p, &req);
		EXPECT(r.status == RES_OK, "after %s: %s: %s", row[i].source, result_status_name[r.status], r.message);
		EXPECT_INT(proc_nstarted(p), i + 2);
	}
	arena_free(&a);
	proc_close(p);
}

static void bench(void)
{
	const char *argv[4];
	struct proc_spec spec = spec_of(argv, "serve");
	struct proc *p = open_child(&spec);
	struct err err = {0};
	enum { N = 20000 };
	struct timespec t0 = {0}, t1;
	for (int i = -1; i < N; i++) {
		proc_submit(p, "echo", 4, 5000, &err);
		while (!proc_ready(p))
			proc_wait(&p, 1, -1);
		proc_release(p);
		if (i < 0)
			clock_gettime(CLOCK_MONOTONIC, &t0);
	}
	clock_gettime(CLOCK_MONOTONIC, &t1);
	double ns = (double)(t1.tv_sec - t0.tv_sec) * 1e9 + (double)(t1.tv_nsec - t0.tv_nsec);
	printf("%.1f us per round trip\n", ns / N / 1e3);
	proc_close(p);
}

int main(int argc, char **argv)
{
	if (argc == 3 && str_eq(argv[1], "child"))
		return child(argv[2]);
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	if (n <= 0)
		return 1;
	self[n] = '\0';
	if (argc == 2 && str_eq(argv[1], "bench")) {
		bench();
		return 0;
	}
	RUN(test_serve);
	RUN(test_big_messages);
	RUN(test_misbehaviour);
	RUN(test_time);
	RUN(test_orphans);
	RUN(test_hellos);
	RUN(test_nice);
	RUN(test_bad_starts);
	RUN(test_flood);
	RUN(test_idle_death);
	RUN(test_recycling);
	RUN(test_group);
	RUN(test_private_dirs);
	RUN(test_private_dirs_at_once);
	RUN(test_killed_parent);
	RUN(test_many);
	RUN(test_wrong_answers);
	RUN(test_long_artifact);
	RUN(test_violation);
	RUN(test_nonsense_worker);
	return TEST_END();
}
