/* about.h: what an installation of PyTorch says that it runs on, as its bug reports want it. */
#ifndef SCATTERPROOF_TORCH_ABOUT_H
#define SCATTERPROOF_TORCH_ABOUT_H

#include "eager/base/base.h"

/* `python -m torch.utils.collect_env` in a fresh process, those of its lines that are about versions, the system, processors and libraries:
 * nothing of environment variables, no path, no name of this machine or its user. False: it did not run through, or took too long. */
bool torch_about(struct strbuf *out, const char *python);
/* What is kept of such text. user, host: "" if unknown. */
void torch_about_keep(struct strbuf *out, const char *text, const char *user, const char *host);

#endif
