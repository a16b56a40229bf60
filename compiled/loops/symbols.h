/* symbols.h: loops of any size (loops.h): what their numbers are in one call, for which calls they are made, and the invariant
 *
 * I6  each symbol that a loop, an index, a constant, a buffer, a place or a guard uses is bound at the head, or, of data, by an instruction
 *     that stands before each that uses it or touches a buffer whose cells it counts; and a buffer's list of used symbols holds those of
 *     its cells and of every index and place that touches it (PyTorch #164948: a list that lacked some). */
#ifndef SCATTERPROOF_LOOP_SYMBOLS_H
#define SCATTERPROOF_LOOP_SYMBOLS_H

#include "compiled/loops/loops.h"
#include "compiled/loops/words.h"

enum { LEAST_SYMBOL = 2 }; /* sizes of 0 and 1 are other programs, as in PyTorch: a guard keeps every symbol above them */

bool loops_validate_symbols(const struct loops *l, struct err *err); /* I6 */
unsigned loops_symbols_of_cells(const struct loops *l, int buffer);
/* The symbol of data that instruction `ins` binds if it is a LOOP_STATED of just that symbol; -1: none. */
int loops_binds(const struct loops *l, int ins);
void loops_find_uses(struct loops *l); /* the buffers' lists */

/* The symbols' values: of the sizes of inputs and the `sym` rows of p, which a call was bound to (prog_bind). False: p has no such rows. */
bool loops_bind_symbols(int64_t value[MAX_POLY_SYMBOLS], const struct loops *l, const struct prog *p, struct err *err);
void guard_add(struct loops *l, const struct guard *g);
bool guard_holds(const struct guard *g, const int64_t *value);
void guard_print(struct strbuf *sb, const struct guard *g); /* s0*2 > 4 */
/* err: the first guard that does not hold. */
bool loops_guards_hold(const struct loops *l, const int64_t *value, struct err *err);
/* Of those alone in which one of `of` occurs (0: all), and none of `unknown`; 1u << symbol. */
bool loops_guards_of_hold(const struct loops *l, const int64_t *value, unsigned of, unsigned unknown, struct err *err);
unsigned loops_symbols_of_data(const struct loops *l);

void loops_clone(struct loops *out, const struct loops *l, struct arena *a); /* with instructions, buffers and places of its own */
/* The loops of one call: numbers alone, no symbol. They share with l what has none. False: a number that is too large, or negative where
 * none may be. */
bool loops_at(struct loops *out, const struct loops *l, const int64_t *value, struct arena *a, struct err *err);

int64_t word_of_float(enum word_kind kind, int64_t v); /* the number v as the bits of a float (words.h) */

/* Symbols that instructions [begin, end) need: their own, and those that the buffers which they touch list. 1u << number. */
unsigned loops_symbols_of(const struct loops *l, int begin, int end);
bool loops_holds(const struct loops *l, const struct loop_buffer *big, const struct loop_buffer *small); /* cells, whatever the call */

#endif
