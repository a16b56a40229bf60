/* short_script.h: a program as a person would write it for a bug report (driver.h's target_script has the contract of `brief`):
 *
 *     import sys
 *     sys.excepthook = lambda *error: sys.__excepthook__(*error) or sys.exit(2)  # 0: right, 1: wrong, 2: it does not run
 *     import torch
 *
 *     def f(x):
 *         return x.expand(2, 2).zero_()
 *
 *     def run(f):
 *         x = torch.ones(2)
 *         return f(x)
 *
 *     want = run(f)
 *     print("eager:   ", want)
 *     got = run(torch.compile(f, backend="aot_eager"))
 *     print("compiled:", got)
 *     # right: [[0.0, 0.0], [0.0, 0.0]]
 *     sys.exit(0 if torch.allclose(got, want) else 1)
 *
 * The hook makes 2 of what Python ends with 1, an error that nobody expects: whoever asks many versions must tell it from the bug. Of a bug
 * that raises only its own error ends with 1:
 *
 *     try:
 *         print("compiled:", run(torch.compile(f)))
 *     except IndexError as error:
 *         print("compiled:", repr(error))
 *         sys.exit(1 if "tensor has no dimensions" in str(error) else 2)
 *
 * It compares with eager and by allclose: whoever writes it runs it, and takes the judged script (fuzz/triage/script.h) where this one does
 * not show the bug. */
#ifndef SCATTERPROOF_SHORT_SCRIPT_H
#define SCATTERPROOF_SHORT_SCRIPT_H

#include "compiled/targets/driver.h"

bool torch_short_script(
	struct strbuf *sb, const struct script_look *look, const struct prog *p, const struct target *t, struct arena *a, struct err *err);

#endif
