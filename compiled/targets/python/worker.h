/* worker.h: the Python worker (worker.py), for every family whose compiler is a Python module: a file of the user's, or one of ours. */
#ifndef SCATTERPROOF_PYTHON_WORKER_H
#define SCATTERPROOF_PYTHON_WORKER_H

#include "compiled/targets/driver.h"

/* The child that runs `module` with `python`; strings are kept. file: the module itself, if it is ours; NULL: it is at that path. */
void python_spec(struct proc_spec *out, struct arena *a, const char *python, const char *module, const struct proc_file *file);
/* The rest of a driver. hello: version is the module's __version__ if it is ours, what it says of itself else. */
bool python_hello(struct target_hello *out, const struct proc *p, const struct target *t);
bool python_submit(struct proc *child, const struct target_request *of, struct arena *a, void **request, struct err *err);
void python_take(struct result *out, struct arena *a, struct proc *p, const struct prog *prog, void *request);

#endif
