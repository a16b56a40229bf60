/* gen_never.c: what the generator does not make, and why: nogen.def by row. */
#include "fuzz/gen/gen.h"
#include "generated/op_id.h"

static const struct {
	int op;
	const char *what, *reason;
} never[] = {
#define NOGEN(row, what, reason) {OP_##row, what, reason},
#include "fuzz/gen/nogen.def"
};

const char *gen_never(int op, int k, const char **what)
{
	for (int i = 0; i < ARRAY_LEN(never); i++) {
		if (never[i].op == op && k-- == 0) {
			*what = never[i].what;
			return never[i].reason;
		}
	}
	return NULL;
}
