/* installed.h: which versions of a family are on this machine: environments of scripts/setup-targets, NAME-VERSION in targets_dir. */
#ifndef SCATTERPROOF_INSTALLED_H
#define SCATTERPROOF_INSTALLED_H

#include "compiled/targets/driver.h"

/* What the files of the environment in dir tell: sets holds, and cuda. */
typedef void read_versions_fn(struct target_installed *t, const char *dir, struct arena *a);

/* Sorted by name; in a. Returns how many. No interpreter is started. */
int installed_environments(struct target_installed **out, const struct target_driver *d, read_versions_fn *read, struct arena *a);

#endif
