/* installed.h: which versions of PyTorch this machine has: the environments that scripts/setup-targets made. */
#ifndef SCATTERPROOF_TORCH_INSTALLED_H
#define SCATTERPROOF_TORCH_INSTALLED_H

#include "eager/base/base.h"

struct target_installed;
int torch_installed(struct target_installed **out, struct arena *a); /* sorted by name; in a. Returns how many */

#endif
