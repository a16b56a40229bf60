/* start.c: see start.h. */
#include "fuzz/cli/start.h"

#include "eager/base/output.h"

struct exec *start_target(int *rc, struct target *t, const struct options *o)
{
	struct exec_options eo = {.self = o->self, .python = o->python, .limit_ms = o->limit_ms};
	struct err err = {0};
	struct exec *e = exec_open(t, &eo, &err);
	enum exec_identity id = e ? exec_identify(t, e, &err) : EXEC_BROKEN;
	*rc = id == EXEC_IDENTIFIED ? EXIT_CLEAN : id == EXEC_OTHER ? EXIT_USAGE : EXIT_TARGET;
	if (id == EXEC_IDENTIFIED)
		return e;
	complain("%s", err.msg);
	exec_close(e);
	return NULL;
}
