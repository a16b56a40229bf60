/* bench_target.c: what driving PyTorch costs: programs per second of the cheap stage, and what a campaign does beside waiting. */
#include "fuzz/bench.h"

bool bench_fake(const struct options *o, struct err *err)
{
	(void)o, (void)err;
	return true;
}

bool bench_campaign(const struct options *o, struct err *err)
{
	(void)o, (void)err;
	return true;
}
