/* cmd_triage.c: from a list of findings to a few causes: a process for each open finding that has none, the most severe first, several at a
 * time; then the causes. What a process learns is in the store step by step, so a run that is stopped, or killed, goes on where it was. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "eager/base/clock.h"
#include "eager/base/escape.h"
#include "eager/base/file_lock.h"
#include "eager/base/interrupt.h"
#include "eager/base/output.h"
#include "fuzz/campaign/progress.h"
#include "fuzz/cli/ask.h"
#include "fuzz/cli/causes.h"
#include "fuzz/cli/commands.h"
#include "fuzz/cli/keep_result.h"
#include "fuzz/cli/triage_one.h"

/* ---- what there is to do ------------------------------------------------------------------------------------------------------------- */

struct todo {
	struct arena *a;
	int n, cap;
	struct todo_row {
		const char *id, *signature;
	} * row;
};

static bool take_row(void *ctx, int ncols, const char *const *names, const struct store_value *v)
{
	struct todo *t = ctx;
	(void)ncols, (void)names;
	if (!v)
		return true;
	if (t->n == t->cap) {
		t->row = ARENA_GROW(t->a, struct todo_row, t->row, t->n, t->cap + 64);
		t->cap += 64;
	}
	t->row[t->n++] = (struct todo_row){arena_strdup(t->a, v[0].s), arena_strdup(t->a, v[1].s ? v[1].s : "")};
	return true;
}

/* The most severe first; then what is predicted wrongly, because a silent error of a layout is worth most; then the smallest program, which
 * is minimised soonest; then what is seen most often. */
static int list_todo(struct todo *t, const char *db)
{
	static const char sql[] =
		"select lower(hex(s.finding)), s.signature from finding_summary s join finding_state t on t.name = s.state join program p on p.id "
		"= s.program where t.open and s.target <> 'scatterproof' and s.signature not like 'invalid: %' and not exists (select 1 from "
		"event e where e.finding = s.finding and e.kind = 'cause') and coalesce((select kind from event e where e.finding = "
		"s.finding and e.kind in ('confirmed', 'unconfirmed') order by at desc, kind limit 1), '') <> 'unconfirmed' "
		"order by s.severity, s.signature not like '%predicted layout%', (length(p.text) - length(replace(p.text, ' = ', ''))) / 3 "
		"- (length(p.text) - length(replace(p.text, ' = input(', ''))) / 9, s.nobs desc, s.finding";
	return ask_store(db, sql, take_row, t);
}

/* ---- processes ----------------------------------------------------------------------------------------------------------------------- */

/* For the processes that it starts: the number of the one that holds the store's lock, and the seconds after which a finding that is
 * minimised ends, too. */
#define OF_TRIAGE "SCATTERPROOF_TRIAGE"

/* To be minimised, a finding gets its share of the time that is left, but enough for most, and half of what is left: a few causes are
 * worth more than many findings that were begun. Once it is minimised, it is finished with what is left of all. */
enum { MOST_S = 600, ENOUGH_S = 60 };

struct worker {
	pid_t pid; /* 0: none */
	int row;
	FILE *said; /* what it prints */
};
struct triage {
	const struct options *o;
	double end; /* clock_s() after which no finding or step begins; 0: none */
	struct todo todo;
	int next;
	struct worker *worker;
	int nworkers, running;
	int rc;           /* of the last that failed; EXIT_CLEAN: none */
	bool on_terminal; /* one line says what is done now */
};

static bool over(const struct triage *t) { return interrupt_asked() || (t->end != 0 && clock_s() > t->end); }

static int seconds_for(const struct triage *t, int row)
{
	if (t->end == 0)
		return MOST_S;
	const double left = t->end - clock_s(), share = left * t->nworkers / (t->todo.n - row);
	return MAX(1, (int)MIN(MIN(MAX(MAX(share, left / 2), ENOUGH_S), MOST_S), left));
}

static int seconds_to_finish(const struct triage *t) { return t->end == 0 ? 2 * MOST_S : MAX(1, (int)MIN(2 * MOST_S, t->end - clock_s())); }

/* The same program and options, one finding. */
static char **arguments(const struct triage *t, int row, struct arena *a)
{
	char **argv = ARENA_ZNEW(a, char *, 14);
	int n = 0;
	const char *const fixed[] = {t->o->self, "triage", t->todo.row[row].id, "--db", t->o->db};
	for (int i = 0; i < ARRAY_LEN(fixed); i++)
		argv[n++] = arena_strdup(a, fixed[i]);
	if (!t->on_terminal) /* nobody sees its steps */
		argv[n++] = arena_strdup(a, "--quiet");
	if (t->o->python) {
		argv[n++] = arena_strdup(a, "--python");
		argv[n++] = arena_strdup(a, t->o->python);
	}
	argv[n++] = arena_strdup(a, "--time");
	argv[n++] = arena_printf(a, "%d", seconds_for(t, row));
	if (t->o->limit_ms) {
		argv[n++] = arena_strdup(a, "--limit");
		argv[n++] = arena_printf(a, "%dms", t->o->limit_ms);
	}
	return argv;
}

static bool begin(struct triage *t, struct worker *w, int row)
{
	struct arena a;
	arena_init(&a);
	char **argv = arguments(t, row, &a);
	pid_t parent = getpid();
	*w = (struct worker){.row = row, .said = tmpfile()};
	w->pid = w->said ? fork() : -1;
	if (w->pid == 0) {
		char number[48];
		snprintf(number, sizeof number, "%ld %d", (long)parent, seconds_to_finish(t));
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() == parent && setenv(OF_TRIAGE, number, 1) == 0 && dup2(fileno(w->said), STDOUT_FILENO) >= 0
			&& dup2(fileno(w->said), STDERR_FILENO) >= 0)
			execv(t->o->self, argv);
		_exit(127);
	}
	arena_free(&a);
	if (w->pid > 0) {
		t->running++;
		return true;
	}
	complain("a process cannot be started: %s", strerror(errno));
	if (w->said)
		fclose(w->said);
	*w = (struct worker){0};
	t->rc = EXIT_TARGET;
	return false;
}

static void print_said(FILE *said, bool quiet)
{
	enum { STEP = ' ' }; /* how a line begins that says what is done, not what came out */
	char line[4096];
	struct arena a;
	arena_init(&a);
	rewind(said);
	while (!quiet && fgets(line, sizeof line, said)) {
		if (line[0] == STEP)
			continue;
		line[strcspn(line, "\n")] = 0;
		fprintf(stderr, "  %s\n", escaped_line(&a, line));
		arena_reset(&a);
	}
	arena_free(&a);
	fclose(said);
}

/* Where nothing can be stored the next finding need not begin. */
static void stop_if_full(struct triage *t)
{
	enum { ENOUGH_BYTES = 128 << 10 };
	struct statvfs disk;
	if (statvfs(t->o->db, &disk) != 0 || (uint64_t)disk.f_bavail * disk.f_frsize >= ENOUGH_BYTES || t->next == t->todo.n)
		return;
	complain("%s: its disk is full: what is left is not begun", t->o->db);
	t->next = t->todo.n;
}

/* The last whole line that a process has written so far, in a; "": none. */
static const char *last_said(FILE *said, struct arena *a)
{
	char text[1024];
	struct stat st;
	if (fstat(fileno(said), &st) != 0)
		return "";
	const off_t from = MAX(st.st_size - (off_t)sizeof text + 1, 0);
	const ssize_t n = pread(fileno(said), text, sizeof text - 1, from);
	text[MAX(n, 0)] = 0;
	char *end = strrchr(text, '\n');
	if (!end)
		return "";
	*end = 0;
	const char *last = strrchr(text, '\n');
	last = last ? last + 1 : text;
	return escaped_line(a, last + strspn(last, " "));
}

/* What the process that began first does now, over the line that said so before. */
static void show_now(const struct triage *t, const struct worker *w)
{
	struct arena a;
	struct strbuf sb;
	arena_init(&a);
	sb_init(&sb);
	const char *said = last_said(w->said, &a);
	const char *line =
		arena_printf(&a, "%d of %d: %.*s %s", w->row + 1, t->todo.n, STORE_ID_DIGITS, t->todo.row[w->row].id, said[0] ? said : "begins");
	sb_fit(&sb, line, MAX(screen_width(STDERR_FILENO) - 1, 20));
	progress_control(arena_printf(&a, "\r\x1b[K%s", sb.s));
	sb_free(&sb);
	arena_free(&a);
}

static void clear_now(const struct triage *t)
{
	if (t->on_terminal)
		progress_control("\r\x1b[K");
}

/* Meanwhile, a few times a second, what the first of them does. As waitpid: -1 with EINTR if a signal came. */
static pid_t wait_for_any(struct triage *t, int *status)
{
	const struct timespec tick = {.tv_nsec = 250000000};
	pid_t pid;
	if (!t->on_terminal)
		return waitpid(-1, status, 0);
	while ((pid = waitpid(-1, status, WNOHANG)) == 0) {
		const struct worker *first = NULL;
		for (int i = 0; i < t->nworkers; i++)
			if (t->worker[i].pid && (!first || t->worker[i].row < first->row))
				first = &t->worker[i];
		show_now(t, first);
		if (nanosleep(&tick, NULL) != 0)
			return -1;
	}
	clear_now(t);
	return pid;
}

static void ended(struct triage *t, struct worker *w, int status)
{
	struct arena a;
	const struct todo_row *row = &t->todo.row[w->row];
	int rc = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	arena_init(&a);
	if (!t->o->quiet)
		fprintf(stderr, "%d of %d: %.*s %s\n", w->row + 1, t->todo.n, STORE_ID_DIGITS, row->id, escaped_line(&a, row->signature));
	print_said(w->said, t->o->quiet && rc == EXIT_CLEAN);
	arena_free(&a);
	t->running--;
	if (rc != EXIT_CLEAN && rc != EXIT_VOID)
		t->rc = rc < 128 ? rc : EXIT_TARGET;
	if (rc == EXIT_TARGET)
		stop_if_full(t);
	*w = (struct worker){0};
}

static void await_one(struct triage *t)
{
	int status;
	pid_t pid = wait_for_any(t, &status);
	if (pid < 0 && interrupt_asked()) /* whoever sent the signal to us alone did not send it to them */
		for (int i = 0; i < t->nworkers; i++)
			if (t->worker[i].pid > 0)
				kill(t->worker[i].pid, SIGTERM);
	for (int i = 0; pid > 0 && i < t->nworkers; i++)
		if (t->worker[i].pid == pid)
			ended(t, &t->worker[i], status);
}

static void work_off(struct triage *t)
{
	for (;;) {
		bool full = true;
		for (int i = 0; i < t->nworkers && t->next < t->todo.n && !over(t) && full; i++)
			if (!t->worker[i].pid) {
				full = false;
				if (!begin(t, &t->worker[i], t->next))
					return;
				t->next++;
			}
		if (!full)
			continue;
		if (!t->running)
			return;
		await_one(t);
	}
}

/* Beside the store itself, whatever link it was named by. */
static const char *lock_path(const char *db, struct arena *a)
{
	char whole[PATH_MAX];
	return arena_printf(a, "%s.triage", realpath(db, whole) ? whole : db);
}

/* One triage at a time: FILE.triage is locked as long as this process lives, however it ends. -1: it was said why not. */
static int lock_store(const char *db, struct arena *a)
{
	const char *path = lock_path(db, a);
	int fd;
	do
		fd = file_lock(path, O_CREAT);
	while (fd < 0 && errno == ESTALE); /* whoever unlocks it removes it */
	if (fd < 0 && errno == EWOULDBLOCK)
		complain("another triage works on %s (%s is locked)", db, path);
	else if (fd < 0)
		complain("%s: %s", path, strerror(errno));
	return fd;
}

static void unlock_store(const char *db, int fd, struct arena *a)
{
	unlink(lock_path(db, a));
	close(fd);
}

/* What is listed under the lock nobody else takes. An exit code. */
static int work_on(struct triage *t)
{
	int rc = list_todo(&t->todo, t->o->db);
	if (rc != EXIT_CLEAN)
		return rc;
	if (!t->todo.n)
		return result_settle(t->o->db);
	if (result_can_be_kept(t->o->db) != EXIT_CLEAN)
		return EXIT_TARGET;
	int lock = lock_store(t->o->db, t->todo.a);
	if (lock < 0)
		return EXIT_TARGET;
	t->todo.n = 0;
	rc = list_todo(&t->todo, t->o->db);
	if (rc == EXIT_CLEAN)
		rc = result_settle(t->o->db);
	if (rc == EXIT_CLEAN)
		work_off(t);
	while (t->running)
		await_one(t);
	if (rc == EXIT_CLEAN) /* several at a time do not see each other's causes */
		rc = result_settle(t->o->db);
	unlock_store(t->o->db, lock, t->todo.a);
	return rc;
}

/* What is being minimised when the time ends is then confirmed in a fresh process, which takes as long again as this leaves of it. */
static double end_of(const struct options *o)
{
	enum { CONFIRMING_S = 15 };
	return o->time_s != 0 ? clock_s() + o->time_s - MIN(CONFIRMING_S, 0.05 * o->time_s) : 0;
}

static int triage_all(const struct options *o)
{
	struct arena a;
	struct triage t = {.o = o, .end = end_of(o), .nworkers = o->jobs, .on_terminal = !o->quiet && progress_terminal(STDERR_FILENO)};
	arena_init(&a);
	struct todo left = {.a = &a};
	t.todo.a = &a;
	t.worker = ARENA_ZNEW(&a, struct worker, t.nworkers);
	interrupt_catch(NULL);
	int rc = work_on(&t);
	if (rc == EXIT_CLEAN)
		rc = causes_print(o->db, o->json, &o->look);
	fflush(stdout);
	if (rc == EXIT_CLEAN)
		rc = list_todo(&left, o->db);
	if (rc == EXIT_CLEAN) {
		fprintf(stderr, "triaged %d, left %d\n", t.todo.n - left.n, left.n);
		rc = t.rc;
	}
	arena_free(&a);
	return interrupt_asked() ? 128 + interrupt_asked() : rc;
}

/* One finding. The processes that triage_all starts work under its lock. */
static int triage_alone(const struct options *o)
{
	const char *under = getenv(OF_TRIAGE);
	struct arena a;
	long parent;
	int finish_s;
	if (under && sscanf(under, "%ld %d", &parent, &finish_s) == 2 && parent == (long)getppid()) {
		struct options of_triage = *o;
		of_triage.finish_s = finish_s;
		return triage_one(&of_triage, stdout);
	}
	if (result_can_be_kept(o->db) != EXIT_CLEAN)
		return EXIT_TARGET;
	arena_init(&a);
	int lock = lock_store(o->db, &a), rc = lock < 0 ? EXIT_TARGET : triage_one(o, stderr);
	if (lock >= 0)
		unlock_store(o->db, lock, &a);
	if (rc == EXIT_CLEAN)
		rc = cause_print_of(o->db, o->file[0], o->json, &o->look);
	arena_free(&a);
	return rc;
}

int cmd_triage(const struct options *o)
{
	if (!o->db) {
		complain("triage: --db FILE is needed (try --help)");
		return EXIT_USAGE;
	}
	return o->nfile ? triage_alone(o) : triage_all(o);
}
