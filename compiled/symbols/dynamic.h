/* dynamic.h: a program with symbols compiled once for calls of several sizes, as torch.compile(dynamic=True) does.
 *
 * The rules of the compiler know numbers alone. So the program is compiled at several SAMPLES, sizes near those of the call that is
 * compiled. Where the results differ in numbers alone (words.h), each number becomes the polynomial over the symbols that has its values,
 * which further samples must confirm. What it must not depend on is learnt likewise: a relation of numbers (relations.h) is a GUARD unless
 * the program was seen to be the same where it does not hold. Sizes of 0 and 1 are always other programs.
 *
 * Proven: two values share a buffer only if one holds the other for all sizes that the guards admit (reuse.h); symbols are bound before
 * they are used (I6). Checked at samples: polynomials, guards and the marks of schedule. Checked for the sizes of each call, in the
 * validator:
 *
 * I6b the program that is compiled for the call's own sizes is the one that the polynomials give, word by word, behind the step lower; and
 *     loops that are marked are marked there, too
 *
 * The step reorder (reorder.h), whose tiles are numbers, does not run on loops of any size.
 *
 * A symbol that rows state and nothing else reads (eager/lang/stated.h) is a size of DATA, which no caller gives: the loops bind it to what
 * they count (LOOP_STATED), and guards on it are looked at then. One that does not hold ends the run, and the call is specialised, as
 * PyTorch compiles again behind a graph break. On a GPU and in a package such programs are specialised.
 *
 * A call whose sizes a guard excludes is SPECIALISED: compiled for its own sizes, and so is every call of a program that does not
 * generalise. */
#ifndef SCATTERPROOF_DYNAMIC_H
#define SCATTERPROOF_DYNAMIC_H

#include "compiled/compile.h"

struct dynamic;
struct dynamic_made {
	bool planted;                      /* as struct compiled says */
	struct result_violation violation; /* of a program that is BROKEN: what err says */
};
/* Of the first call, as prog_bind gives it; a program of one part: not with the option partition. BROKEN, RAISES, REFUSED: as compile(), or
 * an invariant of the steps on loops. OK and *out NULL: it is specialised (err: why). *out lives in a, as what bound points to must; o must
 * outlive it. */
enum compile_status dynamic_compile(struct dynamic **out, struct dynamic_made *made, const struct prog *bound,
	const struct compile_options *o, struct arena *a, struct err *err);

/* Its loops behind all steps, with symbols; NULL: no code is wanted. */
const struct loops *dynamic_loops(const struct dynamic *d);
/* What it was compiled from. */
const struct compiled *dynamic_compiled(const struct dynamic *d);
/* Does it serve that call, as far as is known before it runs? False (why): a guard does not hold. */
bool dynamic_serves(const struct dynamic *d, const struct prog *bound, struct err *why);
/* Do the guards on sizes that are data hold, too, if those are what the program states? Who runs it is told by code_run. */
bool dynamic_fits(const struct dynamic *d, const struct prog *bound, struct err *why);
/* The compiled program with the call's numbers and data, in a; *sizes points to it. */
void dynamic_at(struct compiled *out, struct call_sizes *sizes, const struct dynamic *d, const struct prog *bound, struct arena *a);
/* I6b; for a call that it fits. False: err and *violation, in a. */
bool dynamic_validate(
	struct result_violation *violation, const struct dynamic *d, const struct prog *bound, struct arena *a, struct err *err);

#endif
