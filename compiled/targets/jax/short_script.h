/* short_script.h: a program as a few lines over jax.numpy, as somebody writes them who files a bug (driver.h, target_script.brief): what
 * lower.py makes of the core dialect, in the plainest functions that say it (spellings.def). Whether they show the bug, a run of the
 * script says, so a spelling may compute in another way than lower.py does, but nothing else. */
#ifndef SCATTERPROOF_JAX_SHORT_SCRIPT_H
#define SCATTERPROOF_JAX_SHORT_SCRIPT_H

#include "compiled/targets/driver.h"

bool jax_short_script(
	struct strbuf *sb, const struct script_look *look, const struct prog *p, const struct target *t, struct arena *a, struct err *err);

#endif
