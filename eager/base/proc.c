/* proc.c: slots for persistent child processes. The one idea: a slot is a state machine that proc_step advances as far as it can
 * without waiting; everything that can go wrong with a child ends in one place, end_child(). See proc.h for the contract. */
#include "eager/base/proc.h"
#include "eager/base/clock.h"
#include "eager/base/proc_dir.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HEAD = 16, READ_CHUNK = 1 << 16, GRACE_MS = 2000, LAST_WORDS_MS = 1000, WHY = 256, DEFAULT_START_MS = 120000 };

struct proc {
	const struct proc_spec *spec;
	struct proc_dir dir;
	enum proc_state state;
	pid_t pid;     /* 0: no child; also its process group */
	int sock, out; /* the message socket; the read end of its output; -1: closed */
	uint32_t seq;  /* of the request in hand; 0: none, hello awaited */
	struct strbuf send, recv, hello;
	size_t nsent; /* of send */
	bool queued;  /* a request waits for hello */
	bool recycle;
	bool eof; /* the child closed the socket: is it dying, or only silent? */
	int limit_ms;
	bool asked;                       /* for its last words */
	int64_t started, deadline, watch; /* monotonic ns */
	double cpu_begin, cpu_seen;       /* CPU seconds of the group when the request began, at the last look */
	double elapsed_ms;
	int nserved, nstarted, signal, note;
	enum proc_end end;
	char why[WHY];
	char tail[PROC_TAIL + 1];
	size_t ntail;
};

static int64_t ms(int64_t n) { return n * 1000000; }

/* ---- starting --------------------------------------------------------------------------------------------- */

/* Said before anything is started: a child that runs out of descriptors cannot say it. */
static bool enough_files(struct err *err)
{
	struct rlimit files;
	if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= PROC_MIN_FILES)
		return true;
	return err_set(err, "only %llu files may be open at once (ulimit -n), %d are needed to run targets", (unsigned long long)files.rlim_cur,
		PROC_MIN_FILES);
}

struct proc *proc_open(const struct proc_spec *spec, struct err *err)
{
	CHECK(spec->argv[0][0] == '/');
	struct proc_dir dir = {.lock_fd = -1};
	if (!enough_files(err) || !proc_dir_make(&dir, err))
		return NULL;
	struct proc *p = xmalloc(sizeof *p);
	*p = (struct proc){.spec = spec, .dir = dir, .sock = -1, .out = -1};
	sb_init(&p->send);
	sb_init(&p->recv);
	sb_init(&p->hello);
	return p;
}

/* Environment of the child: ours without not_env, spec->env, TMPDIR and the private directories. Later entries win, so earlier ones of
 * the same name are left out. One allocation per string; freed by free_env. */
static bool same_name(const char *a, const char *b)
{
	size_t n = strcspn(a, "=");
	return strcspn(b, "=") == n && memcmp(a, b, n) == 0;
}

static void env_put(char **env, int *n, const char *entry)
{
	for (int i = 0; i < *n; i++)
		if (same_name(env[i], entry)) {
			free(env[i]);
			env[i] = xstrdup(entry);
			return;
		}
	env[(*n)++] = xstrdup(entry);
}

static void free_env(char **env)
{
	for (int i = 0; env && env[i]; i++)
		free(env[i]);
	free(env);
}

static int count(const char *const *list)
{
	int n = 0;
	while (list && list[n])
		n++;
	return n;
}

static bool is_withheld(const struct proc *p, const char *entry)
{
	for (int i = 0; i < count(p->spec->not_env); i++)
		if (strncmp(entry, p->spec->not_env[i], strlen(p->spec->not_env[i])) == 0)
			return true;
	return false;
}

static bool make_env(char ***out, const struct proc *p, struct err *err)
{
	const char *const *ours = (const char *const *)environ;
	int max = count(ours) + count(p->spec->env) + count(p->spec->dir_env) + 2, n = 0;
	char **env = xmalloc(sizeof *env * (size_t)max);
	for (int i = 0; i < count(ours); i++)
		if (!is_withheld(p, ours[i]))
			env[n++] = xstrdup(ours[i]);
	for (int i = 0; i < count(p->spec->env); i++)
		env_put(env, &n, p->spec->env[i]);
	struct strbuf path, entry;
	sb_init(&path);
	sb_init(&entry);
	bool ok = true;
	for (int i = -1; ok && i < count(p->spec->dir_env); i++) {
		const char *name = i < 0 ? "TMPDIR" : p->spec->dir_env[i];
		ok = proc_dir_sub(&path, &p->dir, name, err);
		sb_reset(&entry);
		sb_printf(&entry, "%s=%s", name, path.s);
		env_put(env, &n, entry.s);
	}
	sb_free(&path);
	sb_free(&entry);
	env[n] = NULL;
	*out = env;
	if (!ok)
		free_env(env);
	return ok;
}

/* Between fork and exec: only async-signal-safe calls. What fails is said on the captured output. */
NORETURN static void become(const struct proc *p, char *const *env, int sock, int out, pid_t parent)
{
	static const char failed[] = "cannot execute the program\n";
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(127);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
	if (p->spec->nice)
		setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + p->spec->nice);
	int nothing = open("/dev/null", O_RDWR);
	/* sock and out may themselves be 0..3: park both above before they are put in place. */
	sock = fcntl(sock, F_DUPFD, 10);
	out = fcntl(out, F_DUPFD, 10);
	if (nothing < 0 || sock < 0 || out < 0 || dup2(nothing, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0 || dup2(sock, PROC_FD) < 0)
		_exit(127);
	close_range(PROC_FD + 1, ~0u, 0);
	if (chdir(p->dir.path) == 0)
		execve(p->spec->argv[0], (char *const *)p->spec->argv, env);
	if (write(2, failed, sizeof failed - 1) < 0)
		_exit(126);
	_exit(127);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static bool set_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);
	return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

static bool make_channels(int sock[2], int out[2])
{
	sock[0] = sock[1] = out[0] = out[1] = -1;
	return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock) == 0 && pipe2(out, O_CLOEXEC) == 0 && set_nonblocking(sock[0])
		&& set_nonblocking(out[0]);
}

bool proc_start(struct proc *p, struct err *err)
{
	CHECK(p->state == PROC_EMPTY);
	char **env = NULL;
	for (const struct proc_file *f = p->spec->files; f && f->name; f++)
		if (!proc_dir_file(&p->dir, f->name, f->data, f->nbytes, err))
			return false;
	if (!make_env(&env, p, err))
		return false;
	int sock[2], out[2];
	bool ok = make_channels(sock, out);
	pid_t parent = getpid(), pid = ok ? fork() : -1;
	if (pid == 0)
		become(p, env, sock[1], out[1], parent);
	int why = errno;
	close_fd(&sock[1]);
	close_fd(&out[1]);
	free_env(env);
	if (pid < 0) {
		close_fd(&sock[0]);
		close_fd(&out[0]);
		return err_set(err, "cannot start a process: %s", strerror(why));
	}
	setpgid(pid, pid); /* both sides do it: whoever comes first */
	p->pid = pid;
	p->sock = sock[0];
	p->out = out[0];
	p->state = PROC_STARTING;
	p->seq = 0;
	p->recycle = p->eof = p->asked = false;
	p->nserved = p->note = 0;
	p->nstarted++;
	p->ntail = 0;
	p->started = clock_ns();
	p->deadline = p->started + ms(p->spec->start_limit_ms ? p->spec->start_limit_ms : DEFAULT_START_MS);
	p->watch = 0;
	sb_reset(&p->recv);
	sb_reset(&p->hello);
	return true;
}

/* ---- ending ----------------------------------------------------------------------------------------------- */

static void drain_output(struct proc *p)
{
	char chunk[PROC_TAIL];
	for (int i = 0; p->out >= 0 && i < 64; i++) { /* a flood must not keep us here */
		ssize_t n = read(p->out, chunk, sizeof chunk);
		if (n < 0)
			break;
		if (n == 0) {
			close_fd(&p->out);
			break;
		}
		size_t got = (size_t)n, keep = MIN(p->ntail, PROC_TAIL - got);
		memmove(p->tail, p->tail + (p->ntail - keep), keep);
		memcpy(p->tail + keep, chunk, got);
		p->ntail = keep + got;
	}
}

/* Kills the group and reaps the child. Grandchildren that outlived their leader are in the group too. Returns wait status. */
static int bury(struct proc *p)
{
	int status = 0;
	kill(-p->pid, SIGKILL);
	kill(p->pid, SIGKILL); /* in case it is so young that its group does not exist yet */
	while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR)
		;
	drain_output(p);
	close_fd(&p->sock);
	close_fd(&p->out);
	p->pid = 0;
	return status;
}

void proc_kill(struct proc *p)
{
	if (p->pid)
		bury(p);
	p->queued = false;
	p->state = PROC_EMPTY;
}

void proc_close(struct proc *p)
{
	if (!p)
		return;
	proc_kill(p);
	proc_dir_remove(&p->dir);
	sb_free(&p->send);
	sb_free(&p->recv);
	sb_free(&p->hello);
	free(p);
}

static void say_status(struct proc *p, const char *when, int status)
{
	if (WIFSIGNALED(status)) {
		p->signal = WTERMSIG(status);
		snprintf(p->why, WHY, "%s died of signal %d (%s) %s", p->spec->name, p->signal, strsignal(p->signal), when);
	} else {
		snprintf(p->why, WHY, "%s exited with code %d %s", p->spec->name, WEXITSTATUS(status), when);
	}
}

/* The child's end, for whatever reason. A child that had neither a request nor a queued one owes nobody an explanation: the
 * slot is simply empty again. Its directories may hold half-written files of a compiler: removed. */
static void end_child(struct proc *p, enum proc_end end, const char *why, bool killed)
{
	bool starting = p->state == PROC_STARTING, owed = starting || p->state == PROC_BUSY;
	p->elapsed_ms = (double)(clock_ns() - p->started) / 1e6;
	p->signal = 0;
	int status = bury(p);
	proc_dir_clear(&p->dir);
	if (killed)
		snprintf(p->why, WHY, "%s %s", p->spec->name, why);
	else
		say_status(p, starting ? "before it was ready" : "during the request", status);
	p->end = starting ? PROC_END_START : end;
	p->queued = false;
	p->state = owed ? PROC_ENDED : PROC_EMPTY;
}

/* Whatever its socket says: a grandchild may hold that. */
static bool is_dead(const struct proc *p)
{
	siginfo_t info = {0};
	return waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == p->pid;
}

/* ---- moving bytes ----------------------------------------------------------------------------------------- */

/* CPU seconds of a process (its /proc name), of children that it waited for too, if it is in the group; 0 if not or if it has gone. */
static double process_cpu(const char *pid, pid_t group)
{
	char path[NAME_MAX + 16], text[1024];
	snprintf(path, sizeof path, "/proc/%s/stat", pid);
	FILE *f = fopen(path, "re");
	if (!f)
		return 0;
	text[fread(text, 1, sizeof text - 1, f)] = 0;
	fclose(f);
	const char *after = strrchr(text, ')'); /* the name may hold anything */
	long pgrp = 0;
	unsigned long t[4] = {0};
	if (!after || sscanf(after, ") %*c %*d %ld %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %lu %lu", &pgrp, &t[0], &t[1], &t[2], &t[3]) != 5
		|| pgrp != (long)group)
		return 0;
	return ((double)t[0] + (double)t[1] + (double)t[2] + (double)t[3]) / (double)sysconf(_SC_CLK_TCK);
}

static double group_cpu(pid_t group)
{
	double sum = 0;
	DIR *d = opendir("/proc");
	for (struct dirent *e; d && (e = readdir(d)) != NULL;)
		if (e->d_name[0] >= '0' && e->d_name[0] <= '9')
			sum += process_cpu(e->d_name, group);
	if (d)
		closedir(d);
	return sum;
}

/* At the beginning of a request the child is alone in its group: one file is read, not all of /proc. */
static double child_cpu(pid_t child)
{
	char name[24];
	snprintf(name, sizeof name, "%ld", (long)child);
	return process_cpu(name, child);
}

static void begin_request(struct proc *p)
{
	p->asked = false;
	p->cpu_begin = p->cpu_seen = p->limit_ms > 0 ? child_cpu(p->pid) : 0;
	p->queued = false;
	p->state = PROC_BUSY;
	p->nsent = 0;
	p->started = clock_ns();
	p->deadline = p->limit_ms > 0 ? p->started + ms(p->limit_ms) : 0;
	p->watch = p->started;
}

bool proc_submit(struct proc *p, const void *request, size_t nbytes, int limit_ms, struct err *err)
{
	if (p->state == PROC_ENDED)
		p->state = PROC_EMPTY;
	CHECK(p->state == PROC_EMPTY || p->state == PROC_IDLE || (p->state == PROC_STARTING && !p->queued));
	CHECK(nbytes <= PROC_MAX_MESSAGE);
	if (p->state == PROC_IDLE)
		proc_step(p); /* notices a child that died while idle: nobody's fault but its own */
	if (p->state == PROC_EMPTY && !proc_start(p, err))
		return false;
	p->end = PROC_END_NONE;
	p->why[0] = '\0';
	p->signal = 0;
	p->seq = p->seq + 1 ? p->seq + 1 : 1;
	p->limit_ms = (int)MIN((int64_t)limit_ms * MAX(p->spec->patience, 1), INT_MAX);
	uint8_t head[HEAD];
	put_le(head, PROC_MAGIC, 4);
	put_le(head + 4, p->seq, 4);
	put_le(head + 8, nbytes, 8);
	sb_reset(&p->send);
	sb_put(&p->send, head, HEAD);
	sb_put(&p->send, request, nbytes);
	p->queued = p->state == PROC_STARTING;
	if (!p->queued)
		begin_request(p);
	proc_step(p);
	return true;
}

static void send_some(struct proc *p)
{
	while (p->nsent < p->send.len) {
		ssize_t n = send(p->sock, p->send.s + p->nsent, p->send.len - p->nsent, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0)
			return; /* a full socket waits; a broken one is noticed by reading, which knows more */
		p->nsent += (size_t)n;
	}
}

/* Answer or hello complete. */
static void take_frame(struct proc *p)
{
	if (p->state == PROC_STARTING) {
		sb_reset(&p->hello);
		sb_put(&p->hello, p->recv.s + HEAD, p->recv.len - HEAD);
		sb_reset(&p->recv);
		p->state = PROC_IDLE;
		if (p->queued)
			begin_request(p);
		return;
	}
	p->state = PROC_DONE;
	p->nserved++;
	p->elapsed_ms = (double)(clock_ns() - p->started) / 1e6;
}

/* How many more bytes the frame in recv needs, at most `max` at a time; 0: complete; SIZE_MAX: rubbish. */
static size_t frame_needs(const struct proc *p, size_t max)
{
	size_t have = p->recv.len;
	if (have < HEAD)
		return HEAD - have;
	uint64_t nbytes = get_le(p->recv.s + 8, 8);
	uint32_t want_seq = p->state == PROC_STARTING ? 0 : p->seq;
	uint64_t most = p->state == PROC_STARTING ? PROC_MAX_HELLO : PROC_MAX_MESSAGE;
	if (get_le(p->recv.s, 4) != PROC_MAGIC || get_le(p->recv.s + 4, 4) != want_seq || nbytes > most)
		return SIZE_MAX;
	uint64_t left = nbytes - (have - HEAD);
	return (size_t)MIN(left, (uint64_t)max);
}

static void receive_some(struct proc *p)
{
	char chunk[READ_CHUNK];
	while (p->state == PROC_STARTING || p->state == PROC_BUSY) {
		size_t need = frame_needs(p, sizeof chunk);
		if (need == SIZE_MAX) {
			end_child(p, PROC_END_RUBBISH, "sent bytes that are no answer", true);
			return;
		}
		if (need == 0) {
			take_frame(p);
			send_some(p);
			continue;
		}
		ssize_t n = recv(p->sock, chunk, need, MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
			return;
		if (n <= 0) {
			p->eof = true;
			return;
		}
		sb_put(&p->recv, chunk, (size_t)n);
	}
}

/* An idle child has nothing to say; if it says something or goes, it is replaced at the next request. */
static void watch_idle(struct proc *p)
{
	char c;
	ssize_t n = recv(p->sock, &c, 1, MSG_DONTWAIT | MSG_PEEK);
	if (n >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) || is_dead(p))
		end_child(p, PROC_END_DIED, "ended while idle", true);
}

/* ---- limits ----------------------------------------------------------------------------------------------- */

int64_t process_rss(pid_t pid)
{
	char path[64];
	long pages = 0;
	snprintf(path, sizeof path, "/proc/%ld/statm", (long)pid);
	FILE *f = fopen(path, "re");
	if (f && fscanf(f, "%*s %ld", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return (int64_t)pages * sysconf(_SC_PAGESIZE);
}

int64_t proc_rss(const struct proc *p) { return p->pid ? process_rss(p->pid) : 0; }

/* A busy child whose time is up: more time if the machine, not the child, is slow. */
static bool starved(struct proc *p, int64_t now)
{
	double limit = p->limit_ms / 1e3, wall = (double)(now - p->started) / 1e9;
	if (p->state != PROC_BUSY || wall > (p->spec->nice ? PROC_STARVED_NICE : PROC_STARVED) * limit)
		return false;
	double cpu = group_cpu(p->pid), since = cpu - p->cpu_seen, used = cpu - p->cpu_begin;
	p->cpu_seen = cpu;
	if (used >= PROC_CPU_SHARE * limit || since < (p->spec->nice ? 0.0005 : 0.02) * limit / 4)
		return false;
	p->deadline = now + ms(p->limit_ms) / 4;
	return true;
}

static void end_for_time(struct proc *p)
{
	char why[WHY / 2];
	int64_t limit = p->state == PROC_BUSY ? p->limit_ms : (p->deadline - p->started) / 1000000;
	snprintf(why, sizeof why, "%s within %" PRId64 " ms", p->state == PROC_STARTING ? "was not ready" : "gave no answer", limit);
	end_child(p, PROC_END_TIME, why, true);
}

/* Buries a dead child, without a kill deciding what its status says. One that we had asked for its last words died of that. */
static bool bury_if_dead(struct proc *p)
{
	if (!is_dead(p))
		return false;
	if (!p->eof)
		receive_some(p); /* it may have answered before */
	if (p->state != PROC_STARTING && p->state != PROC_BUSY)
		return true;
	if (p->asked)
		end_for_time(p);
	else
		end_child(p, PROC_END_DIED, "", false);
	return true;
}

static void out_of_time(struct proc *p, int64_t now)
{
	if (!p->asked && starved(p, now))
		return;
	if (!p->asked && p->spec->last_words && p->state == PROC_BUSY && kill(p->pid, p->spec->last_words) == 0) {
		p->asked = true;
		p->deadline = now + ms(LAST_WORDS_MS);
		return;
	}
	end_for_time(p);
}

static void check_limits(struct proc *p)
{
	char why[WHY / 2];
	int64_t now = clock_ns();
	if (p->state != PROC_STARTING && p->state != PROC_BUSY)
		return;
	bool look = p->eof || now >= p->watch || (p->deadline && now >= p->deadline);
	if (look && bury_if_dead(p))
		return;
	if (p->eof) {
		/* The socket closes a moment before the process is a zombie; a child that lives on has hung up on us. */
		if (p->deadline == 0 || p->deadline > now + ms(GRACE_MS))
			p->deadline = now + ms(GRACE_MS);
		if (now >= p->deadline && p->asked)
			end_for_time(p);
		else if (now >= p->deadline)
			end_child(p, PROC_END_RUBBISH, "closed its message socket and lives on", true);
		return;
	}
	if (p->deadline && now >= p->deadline) {
		out_of_time(p, now);
		return;
	}
	if (now >= p->watch) {
		p->watch = now + ms(PROC_WATCH_MS);
		int64_t rss = p->spec->max_rss ? proc_rss(p) : 0;
		if (rss > p->spec->max_rss) {
			snprintf(why, sizeof why, "used %" PRId64 " MiB of memory, limit %" PRId64 " MiB", rss >> 20, p->spec->max_rss >> 20);
			end_child(p, PROC_END_MEMORY, why, true);
		}
	}
}

void proc_step(struct proc *p)
{
	if (!p->pid)
		return;
	drain_output(p);
	if (p->state == PROC_BUSY)
		send_some(p);
	if (p->state == PROC_STARTING || p->state == PROC_BUSY)
		receive_some(p);
	else if (p->state == PROC_IDLE)
		watch_idle(p);
	if (p->pid)
		check_limits(p);
}

/* ---- waiting ---------------------------------------------------------------------------------------------- */

int proc_pollfds(const struct proc *p, struct pollfd out[PROC_NPOLLFDS])
{
	int n = 0;
	if (!p->pid)
		return 0;
	if (!p->eof && p->state != PROC_DONE) {
		bool sending = p->state == PROC_BUSY && p->nsent < p->send.len;
		out[n++] = (struct pollfd){.fd = p->sock, .events = (short)(POLLIN | (sending ? POLLOUT : 0))};
	}
	if (p->out >= 0)
		out[n++] = (struct pollfd){.fd = p->out, .events = POLLIN};
	return n;
}

int proc_timeout_ms(const struct proc *p)
{
	if (p->state != PROC_STARTING && p->state != PROC_BUSY)
		return -1;
	if (p->eof)
		return 1;
	int64_t now = clock_ns(), left = p->deadline ? MAX((p->deadline - now) / 1000000 + 1, 0) : INT32_MAX;
	return (int)MIN(left, PROC_WATCH_MS);
}

int proc_wait(struct proc *const *p, int n, int timeout_ms)
{
	int64_t until = clock_ns() + ms(timeout_ms);
	struct pollfd *fds = xmalloc(sizeof *fds * (size_t)(PROC_NPOLLFDS * n + 1));
	int ready = 0;
	for (;;) {
		int nfds = 0, wait = -1;
		ready = 0;
		for (int i = 0; i < n; i++) {
			if (!p[i])
				continue;
			ready += proc_ready(p[i]);
			nfds += proc_pollfds(p[i], fds + nfds);
			int t = proc_timeout_ms(p[i]);
			wait = t >= 0 && (wait < 0 || t < wait) ? t : wait;
		}
		int64_t now = clock_ns(), left = timeout_ms < 0 ? -1 : MAX((until - now + 999999) / 1000000, 0);
		if (ready || left == 0)
			break;
		if (left > 0 && (wait < 0 || left < wait))
			wait = (int)left;
		bool interrupted = poll(fds, (nfds_t)nfds, wait) < 0;
		for (int i = 0; i < n; i++)
			if (p[i])
				proc_step(p[i]);
		if (interrupted) {
			for (int i = 0; i < n; i++)
				ready += p[i] && proc_ready(p[i]);
			break;
		}
	}
	free(fds);
	return ready;
}

/* ---- reading the slot ------------------------------------------------------------------------------------- */

enum proc_state proc_state(const struct proc *p) { return p->state; }
bool proc_ready(const struct proc *p) { return p->state == PROC_DONE || p->state == PROC_ENDED; }
enum proc_end proc_end(const struct proc *p) { return p->end; }
int proc_signal(const struct proc *p) { return p->signal; }
const char *proc_why(const struct proc *p) { return p->why; }
int proc_nstarted(const struct proc *p) { return p->nstarted; }
int proc_nserved(const struct proc *p) { return p->nserved; }

double proc_elapsed_ms(const struct proc *p) { return p->state == PROC_BUSY ? (double)(clock_ns() - p->started) / 1e6 : p->elapsed_ms; }

const void *proc_answer(const struct proc *p, size_t *nbytes)
{
	CHECK(p->state == PROC_DONE);
	*nbytes = p->recv.len - HEAD;
	return p->recv.s + HEAD;
}

const void *proc_hello(const struct proc *p, size_t *nbytes)
{
	*nbytes = p->hello.len;
	return p->hello.s;
}

const char *proc_tail(struct proc *p)
{
	for (size_t i = 0; i < p->ntail; i++)
		if ((uint8_t)p->tail[i] < ' ' && p->tail[i] != '\n' && p->tail[i] != '\t')
			p->tail[i] = '?';
	p->tail[p->ntail] = '\0';
	return p->tail;
}

void proc_note(struct proc *p, int note) { p->note = note; }
int proc_noted(const struct proc *p) { return p->pid ? p->note : 0; }
void proc_recycle(struct proc *p) { p->recycle = true; }

void proc_release(struct proc *p)
{
	CHECK(proc_ready(p));
	sb_reset(&p->recv);
	if (p->state == PROC_ENDED) {
		p->state = PROC_EMPTY;
		return;
	}
	const struct proc_spec *s = p->spec;
	bool served_out = s->max_served && p->nserved >= s->max_served;
	p->state = PROC_IDLE;
	if (served_out || p->recycle || (s->recycle_rss && proc_rss(p) > s->recycle_rss)) {
		proc_kill(p);
		if (served_out)
			proc_dir_clear(&p->dir); /* bounds what a compiler's cache may grow to */
	}
}

bool proc_find(struct strbuf *path, const char *name)
{
	const char *at = getenv("PATH");
	struct stat st;
	for (; at && name[0]; at = *at ? at + 1 : NULL) {
		const char *dir = at;
		at += strcspn(at, ":");
		sb_reset(path);
		sb_printf(path, "%.*s/%s", dir == at ? 1 : (int)(at - dir), dir == at ? "." : dir, name);
		if (access(path->s, X_OK) == 0 && stat(path->s, &st) == 0 && S_ISREG(st.st_mode))
			return true;
	}
	return false;
}
