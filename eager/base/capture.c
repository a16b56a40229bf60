/* capture.c: a pipe and a process group. What the program starts may hold the pipe longer than it lives: its own end counts. */
#include "eager/base/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "eager/base/clock.h"
#include "eager/base/interrupt.h"

static _Noreturn void become(const struct capture *c, int out, pid_t parent)
{
	const int none = open("/dev/null", O_RDWR);
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == parent && none >= 0 && dup2(none, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0
		&& dup2(c->errors ? out : none, STDERR_FILENO) >= 0 && (!c->dir || chdir(c->dir) == 0))
		execv(c->argv[0], (char *const *)(uintptr_t)c->argv);
	_exit(127);
}

/* False: no more comes, or no more is wanted. */
static bool take_some(struct strbuf *out, int fd, size_t *left)
{
	char some[4096];
	const ssize_t n = read(fd, some, MIN(sizeof some, *left));
	if (n < 0 && errno == EINTR)
		return true;
	if (n <= 0)
		return false;
	sb_put(out, some, (size_t)n);
	*left -= (size_t)n;
	return *left > 0;
}

/* It stays a zombie, so that its group's number is nobody else's. */
static bool has_ended(pid_t pid)
{
	siginfo_t info = {.si_pid = 0};
	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

/* Until it ends, its output does, or it may not go on. */
static void read_output(struct strbuf *out, int fd, pid_t pid, const struct capture *c)
{
	enum { LOOK_MS = 100 };
	size_t left = c->most;
	const double end = clock_s() + c->limit_s;
	bool open = true, ended = false;
	while (clock_s() < end && !interrupt_asked() && left > 0 && !(ended && !open)) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		const bool ready = poll(&p, open, open && !ended ? LOOK_MS : ended ? 0 : 1) > 0;
		if (ready)
			open = take_some(out, fd, &left);
		else if (ended) /* the rest was read; whoever holds the pipe is not waited for */
			open = false;
		else
			ended = has_ended(pid);
	}
}

int capture_run(struct strbuf *out, const struct capture *c)
{
	int fd[2], status = 0;
	const pid_t parent = getpid();
	if (pipe2(fd, O_CLOEXEC) != 0)
		return 127;
	const pid_t pid = fork();
	if (pid == 0)
		become(c, fd[1], parent);
	close(fd[1]);
	if (pid > 0) {
		setpgid(pid, pid); /* it does so, too: whoever comes first */
		read_output(out, fd[0], pid, c);
		kill(-pid, SIGKILL);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	close(fd[0]);
	if (pid < 0)
		return 127;
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	return WTERMSIG(status) == SIGKILL ? 128 : 128 + WTERMSIG(status);
}
