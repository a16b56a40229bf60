/* mutate.h: a program that is like another one. The rows of the parent are made again, one after the other, by the generator's own rules
 * (gen_internal.h), with one to five changes on the way. What a change makes impossible is repaired: a row whose operands do not fit any
 * more is drawn again on the values that are there, or left out. So a mutant is as valid as a generated program, by the same rules.
 *
 * Returns are the parent's as far as they are there; what nobody reads is returned, too. Cotangents, data of calls, symbols and surface
 * are drawn anew, as for every generated program. */
#ifndef SCATTERPROOF_MUTATE_H
#define SCATTERPROOF_MUTATE_H

#include "eager/lang/prog.h"
#include "fuzz/gen/policy.h"

/* MUTATION(id, weight, what it does) */
#define MUTATIONS(MUTATION)                                                                                                                \
	MUTATION(APPEND, 4, "a row more at the end, or an assignment")                                                                         \
	MUTATION(INSERT, 5, "a row between a value and its readers; or beside them")                                                           \
	MUTATION(VIEW, 3, "the same, and the row is a view")                                                                                   \
	MUTATION(WRITE, 4, "the same, and the row writes in place")                                                                            \
	MUTATION(AGAIN, 3, "a row a second time, as it is or with other arguments")                                                            \
	MUTATION(REDRAW, 4, "a row with other arguments and operands")                                                                         \
	MUTATION(OPERATOR, 4, "another operator of its family in place of a row's")                                                            \
	MUTATION(DROP, 2, "a row less: who read it reads its operand")                                                                         \
	MUTATION(INPUT, 4, "an input with another layout, now and then other sizes, dtype, gradient")                                          \
	MUTATION(SIZE, 2, "another size wherever one is")                                                                                      \
	MUTATION(DTYPE, 2, "another dtype wherever one is")                                                                                    \
	MUTATION(SPLICE, 3, "rows of another program, on a value of this one")                                                                 \
	MUTATION(ENDS, 1, "only cotangents, data, symbols and surface")

enum mutation {
#define MUTATION(id, weight, what) MUTATE_##id,
	MUTATIONS(MUTATION)
#undef MUTATION
		NMUTATIONS
};
extern const char *const mutation_name[NMUTATIONS];

/* parent, donor (of MUTATE_SPLICE; may be the parent): valid programs that do not say that they raise. Everything of *out lives in `a`.
 * done: how often each change was tried, may be NULL. False: nothing is left of the parent, or it has what the generator does not make
 * (pinned devices). */
bool mutate_program(struct prog *out, const struct prog *parent, const struct prog *donor, struct arena *a, struct choices *c,
	const struct policy *pol, int64_t done[NMUTATIONS], struct err *err);

/* Are its values few enough for a mutant, whatever it is made of? */
bool is_small(const struct prog *p);
/* Has it positions that are computed, or data that name elements of windows? In other sizes they would name others, or none. */
bool names_elements(const struct prog *p);

#endif
