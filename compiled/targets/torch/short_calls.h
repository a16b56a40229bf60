/* short_calls.h: one function for all calls of a short script. What differs between them is a parameter: the symbol that has these values,
 *
 *     def run(f, n):
 *         x = torch.ones(2).as_strided((2, n), (1, 0)).requires_grad_()
 *
 * or else the number of the call:
 *
 *     def run(f, call):
 *         i = [torch.tensor([0, 1]), torch.tensor([2, 2])][call] */
#ifndef SCATTERPROOF_SHORT_CALLS_H
#define SCATTERPROOF_SHORT_CALLS_H

#include "eager/lang/prog.h"

struct short_calls {
	const char *body;                /* lines of Python, indented */
	const char *params;              /* ", n" */
	int n;                           /* calls, at least 1 */
	const char *args[MAX_CALLS + 1]; /* of each: ", 5" */
};

/* text: of each call of p, what its numbers are; args: what f takes. Memory in a. False: they differ in more than numbers and values. */
bool short_calls_of(
	struct short_calls *out, const char *const *text, const struct prog *p, const char *args, struct arena *a, struct err *err);

#endif
