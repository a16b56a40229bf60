/* gen_call.h: calls of one operator, for tests that ask PyTorch what it says: programs of inputs and one row, and nothing else.
 *
 * Every argument is drawn as in any program, by kind and role, but more widely: all dtypes alike, layouts of all kinds, special values in
 * every fill, numbers that overflow. About one call in five is wrong in one place: a size, a dtype, a position, a number that does not fit.
 * Whether it is wrong, and how it must be refused, is PyTorch's to say: such a row is not inferred here.
 * A call follows from the seed, the row's name and its number alone: another row changes none. */
#ifndef SCATTERPROOF_GEN_CALL_H
#define SCATTERPROOF_GEN_CALL_H

#include "eager/lang/prog.h"

/* Rows that can be called: all but inputs, symbols and getitem. */
bool gen_call_makes(int op);
/* Appends the text of call `number` of op to sb. self: its dtype, also one that the row does not list (wrong then); -1: any listed one.
 * False: after many tries none was made. */
bool gen_call(struct strbuf *sb, int op, int self, uint64_t seed, int64_t number, struct arena *a, struct err *err);

#endif
