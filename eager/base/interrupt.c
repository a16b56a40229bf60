/* interrupt.c: what a signal handler may do: note a number and a time, both in statics because it knows no other place. A write blocks for
 * ever if the signal came just before it, so a timer goes on interrupting once a signal asked. */
#include "eager/base/interrupt.h"

#include <signal.h>
#include <stddef.h>
#include <time.h>

#include "eager/base/clock.h"

static const double PATIENCE_MS = 1000;
static volatile sig_atomic_t asked, insists;
static volatile double asked_at;
static interrupt_fn *volatile on_insisting;
static timer_t nudge; /* SIGURG, which does nothing to whoever has no handler for it */
static bool has_nudge;

static void on_signal(int signal)
{
	if (!asked) {
		interrupt_ask(signal);
	} else if (clock_ms() - asked_at > PATIENCE_MS) {
		insists = 1;
		if (on_insisting)
			on_insisting(signal);
	}
}

static void on_nudge(int signal) { (void)signal; }

/* One per process (children of fork have none, and none of ours catches signals without an exec). */
static void make_nudge(void)
{
	const struct sigaction no_restart = {.sa_handler = on_nudge};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGURG};
	sigaction(SIGURG, &no_restart, NULL);
	has_nudge = timer_create(CLOCK_MONOTONIC, &event, &nudge) == 0;
}

void interrupt_catch(interrupt_fn *insisted)
{
	const struct sigaction end = {.sa_handler = on_signal};
	struct sigaction hup;
	asked = insists = 0;
	on_insisting = insisted;
	if (!has_nudge)
		make_nudge();
	sigaction(SIGINT, &end, NULL);
	sigaction(SIGTERM, &end, NULL);
	if (sigaction(SIGHUP, NULL, &hup) == 0 && hup.sa_handler != SIG_IGN)
		sigaction(SIGHUP, &end, NULL);
}

void interrupt_ask(int signal)
{
	if (asked)
		return;
	asked_at = clock_ms();
	asked = signal;
	const struct itimerspec often = {.it_interval = {.tv_nsec = 250 * 1000 * 1000}, .it_value = {.tv_nsec = 250 * 1000 * 1000}};
	if (has_nudge)
		timer_settime(nudge, 0, &often, NULL);
}

int interrupt_asked(void) { return (int)asked; }
bool interrupt_insisted(void) { return insists; }
double interrupt_since_ms(void) { return asked ? clock_ms() - asked_at : 0; }
