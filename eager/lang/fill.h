/* fill.h: the data of inputs, made by integer-hash arithmetic (no libm) so that C, Python and every machine agree bit for bit.
 * compiled/targets/torch/fill.py is the same in Python and goes into reproducers; a test compares them byte for byte.
 *
 * Cell c of a storage with seed s draws, modulo 2^64,
 *     h = mix64(mix64(s + 0x9e3779b97f4a7c15) ^ (c * 0xd1342543de82ef95))      and      r = h >> 33     (31 bits)
 * where mix64 is splitmix64's finaliser (base.h). b8 is r & 1 under every fill (positive, nonzero: 1). The others:
 *   dyadic    k * step, k = r % (2K + 1) - K, integers: step 1; K by dtype:
 *                 f64 64/8   f32 32/8   f16 6/2   bf16 3/2   i64 i32 i16 i8 8   u8 0..16 (no - K)         (K/step^-1)
 *             so that in f32 products of three and sums of hundreds of them are exact, in f16 and bf16 products of two and sums
 *             of dozens always (products of three: nearly always, their standard deviation is 52 halves and 8 halves).
 *   positive  (r % K + 1) * step, the same K and step
 *   normal    n = sum of the four 16-bit quarters of each of h, mix64(h), mix64(mix64(h)), minus 6 * 65536. Floats: n / 65536 rounded
 *             to the dtype (n has 20 bits, so f32 and f64 are exact). Integers: floor(n / 4096), -96..95; u8: 100 more.
 *   special   if h & 3 is 0: entry (h >> 2 & 31) % 12 of the dtype's table in fill.c (infinities, nan, -0.0, denormals, limits); else
 *             dyadic
 *   ties      (r & 3) - 1, that is -1, 0, 1 or 2; u8: r & 3
 *   wide      integers alone, of the whole range of the dtype: the low bits of h; i64: (h >> 9) - 2^54, so that most are no number of f64
 *             and a hundred of them can be summed. Floats: dyadic
 *   index     r % high, high at least 1 and at most what the dtype holds exactly (fill_high)
 *   around    positions of which half are counted from the end: (r >> 1) % high, minus high if r is odd; u8: index
 *   unique    by LOGICAL index, in the storage of an `input` row: the line number l (row-major over the sizes without dim `dim`)
 *             draws h from l as above; element j of the line is (a * j + b) % high with b = r % high and a the first of
 *             1 + (h & 0xffffffff) % high, … (+1 modulo high) that has no common factor with high: distinct while
 *             size(dim) <= high. Cells that the input does not reach hold the `index` fill. Lines that share cells: the last wins.
 *   unique_around  unique, with high subtracted from the elements of odd j; u8: unique
 *   mask      r & 1
 *   nonzero   dyadic without 0: k = r % (2 * K) - K, k + 1 if that is not negative; unsigned: r % (2 * K) + 1 */
#ifndef SCATTERPROOF_FILL_H
#define SCATTERPROOF_FILL_H

#include "eager/lang/prog.h"
#include "eager/lang/result.h"

#define FILL_LIST(X)                                                                                                                       \
	X(DYADIC, "dyadic")                                                                                                                    \
	X(NORMAL, "normal")                                                                                                                    \
	X(SPECIAL, "special")                                                                                                                  \
	X(TIES, "ties")                                                                                                                        \
	X(POSITIVE, "positive")                                                                                                                \
	X(WIDE, "wide")                                                                                                                        \
	X(INDEX, "index")                                                                                                                      \
	X(AROUND, "around")                                                                                                                    \
	X(UNIQUE, "unique")                                                                                                                    \
	X(UNIQUE_AROUND, "unique_around")                                                                                                      \
	X(MASK, "mask")                                                                                                                        \
	X(NONZERO, "nonzero")
#define FILL_ENUM(id, name) FILL_##id,
enum fill { FILL_LIST(FILL_ENUM) NFILLS };
extern const char *const fill_name[NFILLS];
int fill_find(const char *name);                           /* -1 if none */
bool fill_is_positions(const char *name);                  /* below `high` ... */
bool fill_is_unique(const char *name);                     /*   and no two alike along `dim` */
bool fill_is_around(const char *name);                     /*   some counted from the end */
const char *fill_names(void);                              /* all of them, "dyadic, normal, ..." */
const char *fill_guess(struct guess *g, const char *name); /* see guess_text */

/* high within 1 .. number of non-negative integers that the dtype holds exactly. */
int64_t fill_high(enum dtype t, int64_t high);
/* Fills `ncells` cells of dtype m->dtype at data for input `m`; unique also reads m's geometry (and needs ncells >= its extent). */
void fill_cells(void *data, int64_t ncells, const struct meta *m, enum fill fill, uint64_t seed, int64_t high, int dim);
/* Data given in the program (fill_data.c). Right number of cells for input `m`, each of a value that the dtype has? */
bool fill_data_check(const struct arg *data, const struct meta *m, struct err *err);
void fill_from_data(void *cells, enum dtype t, const struct arg *data);
/* The numbers that give these cells, bit for bit. n at most MAX_DATA. */
struct arg fill_to_data(const void *cells, int n, enum dtype t, struct arena *a);
/* The bytes of input storage `storage` of a bound program (prog_storage_cells cells), in the arena. An unknown fill name is
 * our bug: the shape rule of `input` refuses it. */
void *fill_storage(const struct prog *p, int storage, struct arena *a);
/* Of all input storages (prog_input_storages): prog_storage_nbytes bytes each. */
struct result_storage *fill_storages(const struct prog *p, struct arena *a);

#endif
