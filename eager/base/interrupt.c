/* interrupt.c: what a signal handler may do: note a number and a time, both in statics because it knows no other place. */
#include "eager/base/interrupt.h"

#include <signal.h>
#include <stddef.h>

#include "eager/base/clock.h"

static const double PATIENCE_MS = 1000;
static volatile sig_atomic_t asked, insists;
static volatile double asked_at;
static interrupt_fn *volatile on_insisting;

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

void interrupt_catch(interrupt_fn *insisted)
{
	const struct sigaction end = {.sa_handler = on_signal};
	struct sigaction hup;
	asked = insists = 0;
	on_insisting = insisted;
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
}

int interrupt_asked(void) { return (int)asked; }
bool interrupt_insisted(void) { return insists; }
double interrupt_since_ms(void) { return asked ? clock_ms() - asked_at : 0; }
