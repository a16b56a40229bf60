/* clock.c: clock_gettime(2), which is safe in signal handlers and cannot fail for these clocks. */
#include "eager/base/clock.h"

#include <time.h>

static struct timespec read_clock(clockid_t which)
{
	struct timespec t;
	clock_gettime(which, &t);
	return t;
}

int64_t clock_ns(void)
{
	const struct timespec t = read_clock(CLOCK_MONOTONIC);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t clock_unix_ms(void)
{
	const struct timespec t = read_clock(CLOCK_REALTIME);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

double clock_cpu_s(void)
{
	const struct timespec t = read_clock(CLOCK_PROCESS_CPUTIME_ID);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
