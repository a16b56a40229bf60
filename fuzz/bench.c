/* bench.c: figures of one run, never a test. */
#include "fuzz/commands.h"

int cmd_bench(const struct options *o)
{
	(void)o;
	fprintf(stderr, "scatterproof: bench: not written yet\n");
	return EXIT_TARGET;
}
