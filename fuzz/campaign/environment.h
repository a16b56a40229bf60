/* environment.h: what ran, in the words of the store: the target's name with the version that the interpreter has, its device, this
 * machine. */
#ifndef SCATTERPROOF_ENVIRONMENT_H
#define SCATTERPROOF_ENVIRONMENT_H

#include "compiled/targets/target.h"
#include "reports/store/store.h"

/* t: as exec_identify left it. versions, hello: as exec_versions said. Texts live in a. */
void environment_of(struct store_env_text *out, const struct target *t, const char *versions, const char *hello, struct arena *a);
/* What is no target: the tool itself, whose faults are findings, too. */
#define TOOL_TARGET "scatterproof"
void environment_of_tool(struct store_env_text *out, struct arena *a);

#endif
