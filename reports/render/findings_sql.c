/* findings_sql.c: see findings_sql.h.
 *
 * SQLite asks whether to stop between the steps of its virtual machine, but not inside one, and a function over a blob of 60 MB can
 * take longer than anybody waits. So a timer looks too. It may end the process at any moment: the connection only reads, and
 * what is to be printed lies in a buffer that nobody touches while SQLite computes. The store itself bounds memory (store.h). */
#include "reports/render/findings_sql.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#include "eager/base/clock.h"
#include "eager/base/interrupt.h"
#include "eager/base/escape.h"

enum { TICK_MS = 20, ENOUGH = 1 << 16 /* bytes of whole rows that are written at once */ };
static const double GRACE_S = 0.5; /* between asking and ending */

/* Signal handlers know no other place. computing: SQLite has control; since: from when on, of CLOCK_MONOTONIC. */
static struct watch {
	volatile sig_atomic_t computing, code;
	volatile double since, spent, limit;
	const struct printer *printer;
	char sentence[160];
} watch;

static double computed_s(double now) { return watch.spent + (watch.computing ? now - watch.since : 0); }

static void computes(bool yes)
{
	double now = clock_s();
	if (yes) {
		watch.since = now;
	} else {
		watch.spent += now - watch.since;
	}
	watch.computing = yes;
}

/* Only what may be called in a signal handler, and not for ever. */
static void write_raw(int fd, const char *s, size_t n)
{
	struct pollfd ready = {.fd = fd, .events = POLLOUT};
	while (n && poll(&ready, 1, 1000) == 1) {
		ssize_t got = write(fd, s, MIN(n, (size_t)PIPE_BUF));
		if (got <= 0)
			return;
		s += got;
		n -= (size_t)got;
	}
}

NORETURN static void end_here(const char *sentence, int code)
{
	write_raw(1, watch.printer->pending.s, watch.printer->pending.len);
	write_raw(2, sentence, strlen(sentence));
	_exit(code);
}

static void on_tick(int sig)
{
	(void)sig;
	if (!watch.computing)
		return;
	double now = clock_s();
	const int asked = interrupt_asked();
	if (interrupt_since_ms() > GRACE_S * 1e3)
		end_here(asked == SIGINT  ? "scatterproof findings: ended by signal 2\n"
				: asked == SIGHUP ? "scatterproof findings: ended by signal 1\n"
								  : "scatterproof findings: ended by signal 15\n",
			128 + asked);
	if (computed_s(now) > watch.limit + GRACE_S)
		end_here(watch.sentence, (int)watch.code);
}

static void end_now(int sig) { _exit(128 + sig); }

static bool must_stop(void *ctx)
{
	(void)ctx;
	return interrupt_asked() || computed_s(clock_s()) > watch.limit;
}

/* Signals end the query, and a write that waits for its reader; ticks disturb nothing. */
static void begin_watching(const struct printer *p, double limit_s)
{
	const struct sigaction tick = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
	const struct itimerval every = {{0, TICK_MS * 1000}, {0, TICK_MS * 1000}};
	watch = (struct watch){.limit = limit_s, .printer = p, .code = store_exit_code(STORE_BAD)};
	snprintf(watch.sentence, sizeof watch.sentence,
		"scatterproof findings: the query took longer than %g s and was stopped (--limit T changes that)\n", limit_s);
	interrupt_catch(end_now);
	sigaction(SIGALRM, &tick, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
}

static void end_watching(void)
{
	const struct itimerval never = {{0, 0}, {0, 0}};
	setitimer(ITIMER_REAL, &never, NULL);
}

/* A header and tab-separated cells, or JSON. */
static bool put_row(struct printer *p, int ncols, const char *const *names, const struct store_value *v)
{
	if (p->json && v)
		print_json_row(p, ncols, names, v);
	for (int i = 0; i < ncols && !p->json; i++) {
		if (i)
			sb_putc(&p->pending, '\t');
		if (v)
			print_cell(p, &v[i]);
		else
			escape_cell(&p->pending, names[i], strlen(names[i]));
	}
	if (!p->json)
		sb_putc(&p->pending, '\n');
	return p->pending.len < ENOUGH || printer_write(p);
}

static bool take_row(void *ctx, int ncols, const char *const *names, const struct store_value *v)
{
	computes(false);
	bool go = put_row(ctx, ncols, names, v) && !interrupt_asked();
	computes(true);
	return go;
}

enum store_status findings_sql(struct store *s, const char *sql, double limit_s, struct printer *p, struct strbuf *complaint, int *signal)
{
	begin_watching(p, limit_s);
	computes(true);
	enum store_status status = store_query_sql(s, sql, must_stop, take_row, p);
	computes(false);
	end_watching();
	printer_write(p);
	*signal = interrupt_asked();
	if (status != STORE_OK && !*signal && watch.spent > watch.limit)
		sb_printf(complaint, "the query took longer than %g s and was stopped (--limit T changes that)", limit_s);
	return status;
}
