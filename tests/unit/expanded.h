/* expanded.h: programs of unit tests as loops are lowered from them: rows without loops of their own become rows that have some. */
#ifndef SCATTERPROOF_TEST_EXPANDED_H
#define SCATTERPROOF_TEST_EXPANDED_H

#include "compiled/decompose/decompose.h"
#include "tests/test.h"

static struct prog *expanded(const struct prog *p, struct arena *a)
{
	struct prog *out = ARENA_NEW(a, struct prog, 1);
	struct err err = {0};
	prog_clone(out, p, a);
	EXPECT(decompose_returns(out, DIALECT_LOOPS, &err), "%s", err.msg);
	return out;
}

#endif
