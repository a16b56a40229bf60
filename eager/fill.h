/* fill.h: the data of inputs, made by integer-hash arithmetic (no libm) so that C, Python and every machine agree bit for bit.
 * compiled/targets/reproducer Python carries the same few lines; a test compares them.
 *
 * Cell c of an input with seed s draws h = mix64(mix64(s + 0x9e3779b97f4a7c15) ^ c * 0xd1342543de82ef95). Then by fill:
 *   dyadic   small integers and eighths, narrow enough for the dtype that short sums and products stay exact
 *   normal   (sum of 12 uniform 16-bit numbers - 6*65536) / 65536, rounded to the dtype: standard normal to 6 sigma
 *   special  one in four from a table of inf, nan, -0.0, denormals, limits; else dyadic
 *   ties     one of -1, 0, 1, 2
 *   positive dyadic made > 0 (for logs, roots and divisors)
 *   index    integers in [0, high)
 *   unique   LOGICAL index, not cell: along dim `dim`, distinct integers in [0, high) (needs size(dim) <= high)
 *   mask     b8: random bits (dyadic of b8 is the same)
 * Integer dtypes: dyadic -8..8 (u8 0..16), normal rounds to -100..100, special includes the limits of the dtype. */
#ifndef SCATTERPROOF_FILL_H
#define SCATTERPROOF_FILL_H

#include "eager/prog.h"

enum fill { FILL_DYADIC, FILL_NORMAL, FILL_SPECIAL, FILL_TIES, FILL_POSITIVE, FILL_INDEX, FILL_UNIQUE, FILL_MASK, NFILLS };
extern const char *const fill_name[NFILLS];
int fill_find(const char *name);        /* -1 if none */

/* Fills `ncells` cells of dtype m->dtype at data for input `m`; unique also reads m's geometry. */
void fill_cells(void *data, int64_t ncells, const struct meta *m, enum fill fill, uint64_t seed, int64_t high, int dim);
/* The bytes of input storage `storage` of a bound program (prog_storage_cells cells), in the arena. */
void *fill_storage(const struct prog *p, int storage, struct arena *a);

#endif
