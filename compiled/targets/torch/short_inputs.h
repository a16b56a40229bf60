/* short_inputs.h: the input of a short script, by the plainest factory that makes its numbers: torch.ones(2), torch.zeros, torch.full,
 * torch.arange(6.0).reshape(2, 3), torch.randn where the script says that they are random, or else a small list of them. */
#ifndef SCATTERPROOF_SHORT_INPUTS_H
#define SCATTERPROOF_SHORT_INPUTS_H

#include "compiled/targets/driver.h"
#include "compiled/targets/short_numbers.h"

/* Appends "torch.ones(2, requires_grad=True)" of an `input` or `input_view`. random: floats are torch.randn's. False: too many numbers. */
bool short_input(struct strbuf *sb, const struct prog *p, int node, bool random, enum target_device device);

#endif
