/* installed.h: which versions of a family this machine has: the environments that scripts/setup-targets made. Their files are read, no
 * interpreter is started. */
#ifndef SCATTERPROOF_INSTALLED_H
#define SCATTERPROOF_INSTALLED_H

#include "compiled/targets/target.h"

struct target_installed {
	const char *version;    /* as in the target's name: "2.11.0" */
	const char *python;     /* path of its interpreter */
	const char *torch;      /* PyTorch's own version, "2.11.0+cu130"; "" if its files do not tell */
	const char *cuda;       /* version of CUDA it was built for, "13.0"; "" if without */
	const char *problem;    /* why it cannot be used; "" if it can */
};
/* Sorted by name; in a. Returns how many. */
int targets_installed(struct target_installed **out, enum target_family f, struct arena *a);
/* Models of the GPUs that NVIDIA's driver lists, "A, B"; "" if none. Nothing is opened, so no promise that they work. */
void gpu_names(struct strbuf *out);

#endif
