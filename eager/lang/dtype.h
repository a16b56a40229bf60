/* dtype.h: element types: names, sizes, loads, stores and rounding. Facts only; promotion RULES of operators live with the
 * shape rules (eager) and with the reference (oracle), separately, because two answers from one function are one answer. */
#ifndef SCATTERPROOF_DTYPE_H
#define SCATTERPROOF_DTYPE_H

#include "eager/base/guess.h"

enum dtype {
#define DT(id, ...) DT_##id,
#include "eager/lang/dtype.def"
#undef DT
	NDTYPES
};

/* Columns of dtype.def. */
enum dtype_class { DC_BOOL, DC_SIGNED, DC_UNSIGNED, DC_FLOAT };
enum dtype_rows { DR_FULL, DR_BARE, DR_STORED };
enum dtype_overflow { OVERFLOW_TRUTH, OVERFLOW_WRAP, OVERFLOW_TO_INF, OVERFLOW_TO_NAN };

/* Sets of dtypes as bit masks, for op rows and policies. All but DTS_BARE and DTS_STORED hold FULL dtypes only, so that no row takes a
 * BARE or STORED dtype that does not say so. */
#define DTS(dt) (1u << (dt))
enum {
#define DT(id, name, torch, cell, load, store, class, rows, ...) DTS_OF_##id = (DC_##class) << 4 | (DR_##rows),
#include "eager/lang/dtype.def"
#undef DT
#define DTS_IF(id, holds) | ((holds) ? 1 << DT_##id : 0)
#define DTS_FULL(id, of)  DTS_IF(id, DTS_OF_##id == ((of) << 4 | DR_FULL))
	DTS_FLOAT = 0
#define DT(id, ...) DTS_FULL(id, DC_FLOAT)
#include "eager/lang/dtype.def"
#undef DT
	,
	DTS_NARROW = 0 /* floats that are computed in wider ones */
#define DT(id, name, torch, cell, load, store, class, rows, overflow, precision, emin, emax, compute, ...)                                 \
	DTS_IF(id, DTS_OF_##id == (DC_FLOAT << 4 | DR_FULL) && DT_##compute != DT_##id)
#include "eager/lang/dtype.def"
#undef DT
	,
	DTS_INT = 0
#define DT(id, ...) DTS_FULL(id, DC_SIGNED) DTS_FULL(id, DC_UNSIGNED)
#include "eager/lang/dtype.def"
#undef DT
	,
	DTS_BOOL = 0
#define DT(id, ...) DTS_FULL(id, DC_BOOL)
#include "eager/lang/dtype.def"
#undef DT
	,
	DTS_NUM = DTS_FLOAT | DTS_INT,
	DTS_ALL = DTS_NUM | DTS_BOOL,
	DTS_BARE = 0 /* BARE dtypes alone: `DTS_ALL | DTS_BARE` */
#define DT(id, ...) DTS_IF(id, (DTS_OF_##id & 15) == DR_BARE)
#include "eager/lang/dtype.def"
#undef DT
	,
	DTS_STORED = (1 << NDTYPES) - 1 /* every dtype */
};
#undef DTS_FULL
#undef DTS_IF

struct dtype_info {
	const char *name;  /* "f32" */
	const char *torch; /* "float32" */
	int nbytes;
	enum dtype_class class;
	enum dtype_rows rows;
	enum dtype_overflow overflow;
	int precision; /* significand bits, hidden one included; 0 for integers */
	int emin, emax;
	enum dtype compute, acc;
	const char *cell, *load, *store; /* as text */
	const char *letter, *c10, *cpp, *full_cpp, *short_cpp;
	int reach, weight;
	double step;
};
extern const struct dtype_info dtype_info[NDTYPES];

bool dtype_find(enum dtype *out, const char *name);         /* "f32", "float32" or "torch.float32"; "f8e4m3fn" */
const char *dtype_guess(struct guess *g, const char *name); /* see guess_text */
static inline int dtype_nbytes(enum dtype t) { return dtype_info[t].nbytes; }
static inline bool dtype_is_float(enum dtype t) { return dtype_info[t].class == DC_FLOAT; }
/* Gradients are taken of it: STORED floats have none, since PyTorch does not even add two cotangents of theirs. */
static inline bool dtype_has_grad(enum dtype t) { return dtype_is_float(t) && dtype_info[t].rows == DR_FULL; }
static inline bool dtype_is_unsigned(enum dtype t) { return dtype_info[t].class == DC_UNSIGNED; } /* bool is none */
static inline bool dtype_is_int(enum dtype t) { return dtype_info[t].class == DC_SIGNED || dtype_is_unsigned(t); }
static inline enum dtype dtype_compute(enum dtype t) { return dtype_info[t].compute; }
static inline bool dtype_is_narrow(enum dtype t) { return dtype_info[t].compute != t; } /* computed in a wider float */
double dtype_max(enum dtype t);                                                         /* the largest finite number of a float dtype */
int64_t dtype_int_max(enum dtype t); /* of an integer dtype, and the smallest: of u64 as bits */
int64_t dtype_int_min(enum dtype t);

/* One element at p. The integer forms take and give the value modulo 2^bits (bool: 0 or 1); the float forms are exact on load
 * and round to nearest even on store (NaN stays NaN; beyond the format: dtype_info.overflow). load_f of an integer dtype converts. */
double dtype_load_f(enum dtype t, const void *p);
int64_t dtype_load_i(enum dtype t, const void *p);    /* integer and bool dtypes only */
void dtype_store_f(enum dtype t, void *p, double v);  /* float dtypes only */
void dtype_store_i(enum dtype t, void *p, int64_t v); /* integer and bool dtypes only; bool: v != 0 */

double dtype_round(enum dtype t, double v);  /* v rounded to float dtype t, as a double */
int64_t dtype_wrap(enum dtype t, int64_t v); /* v reduced to integer dtype t; bool: v != 0 */
/* Bit patterns: the small floats <-> f32, round to nearest even, denormals kept. */
float f16_to_f32(uint16_t h);
float bf16_to_f32(uint16_t h);
uint16_t f64_to_f16(double d); /* one rounding, not two */
uint16_t f64_to_bf16(double d);
float f8_e4m3fn_to_f32(uint8_t b);
float f8_e5m2_to_f32(uint8_t b);
uint8_t f64_to_f8_e4m3fn(double d); /* has no infinity: numbers beyond 448 and infinities give NaN */
uint8_t f64_to_f8_e5m2(double d);

#endif
