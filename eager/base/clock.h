/* clock.h: the two clocks of the tool. Nothing that decides what a program is, or what is true of it, reads either. */
#ifndef SCATTERPROOF_CLOCK_H
#define SCATTERPROOF_CLOCK_H

#include <stdint.h>

/* Monotonic, for durations and limits: only differences mean something. May be called in a signal handler. */
int64_t clock_ns(void);
static inline double clock_ms(void) { return (double)clock_ns() * 1e-6; }
static inline double clock_s(void) { return (double)clock_ns() * 1e-9; }
/* Wall clock, for what is kept: milliseconds since 1970, UTC. */
int64_t clock_unix_ms(void);
/* CPU time of this process, user and system, of all threads. */
double clock_cpu_s(void);

#endif
