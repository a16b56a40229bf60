/* builtin.h: the built-in targets: this very binary, started again as a child with the verb BUILTIN_VERB, so that a crash of
 * what is under test costs one result and never the oracle. Request: the target's name and the program's text; answer: the
 * result as wire.h encodes it. The child reads the text strictly: what is sent is what is stored. */
#ifndef SCATTERPROOF_BUILTIN_H
#define SCATTERPROOF_BUILTIN_H

#include "eager/base/proc.h"
#include "compiled/targets/target.h"
#include "eager/lang/prog.h"
#include "eager/lang/result.h"

#define BUILTIN_VERB "__builtin"

/* `self` is the path of this binary; it and the arena outlive the slot. */
void builtin_spec(struct proc_spec *out, struct arena *a, const char *self);
bool builtin_submit(struct proc *p, const struct prog *prog, const struct target *t, int limit_ms, struct err *err);
/* When proc_ready(p): what happened, memory in a; releases the slot. */
void builtin_take(struct result *out, struct arena *a, struct proc *p, const struct prog *prog);
int builtin_child(void);                /* the verb; returns the exit code */

#endif
