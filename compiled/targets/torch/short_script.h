/* short_script.h: a program as a person would write it for a bug report (driver.h's target_script has the contract of `brief`):
 *
 *     import torch
 *
 *
 *     def f(x):
 *         expand = x.expand(2, 2)
 *         zero_ = expand.zero_()
 *         return zero_
 *
 *
 *     def run(f):
 *         x = torch.ones(2)
 *         out = f(x)
 *         return out.detach()
 *
 *
 *     want = run(f)
 *     print("eager:", want)
 *     # right: [[0.0, 0.0], [0.0, 0.0]]
 *     got = run(torch.compile(f, backend="aot_eager"))
 *     print("compiled:", got)
 *     assert torch.allclose(got, want, equal_nan=True)
 *
 * It compares with eager and by allclose: whoever writes it runs it, and takes the judged script (fuzz/triage/script.h) where this one does
 * not show the bug. */
#ifndef SCATTERPROOF_SHORT_SCRIPT_H
#define SCATTERPROOF_SHORT_SCRIPT_H

#include "compiled/targets/driver.h"

bool torch_short_script(
	struct strbuf *sb, const struct script_look *look, const struct prog *p, const struct target *t, struct arena *a, struct err *err);

#endif
