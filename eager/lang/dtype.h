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
enum dtype_kind { DK_BOOL, DK_INT, DK_FLOAT };

/* Sets of dtypes as bit masks, for op rows and policies. */
#define DTS(dt)   (1u << (dt))
#define DTS_FLOAT (DTS(DT_F16) | DTS(DT_BF16) | DTS(DT_F32) | DTS(DT_F64))
#define DTS_INT   (DTS(DT_U8) | DTS(DT_I8) | DTS(DT_I16) | DTS(DT_I32) | DTS(DT_I64))
#define DTS_BOOL  DTS(DT_B8)
#define DTS_NUM   (DTS_FLOAT | DTS_INT)
#define DTS_ALL   (DTS_NUM | DTS_BOOL)

struct dtype_info {
	const char *name;  /* "f32" */
	const char *torch; /* "float32" */
	int nbytes;
	enum dtype_kind kind;
	int precision; /* significand bits, hidden one included; 0 for integers */
	int emin, emax;
};
extern const struct dtype_info dtype_info[NDTYPES];

bool dtype_find(enum dtype *out, const char *name);         /* "f32" or "float32" or "torch.float32" */
const char *dtype_guess(struct guess *g, const char *name); /* see guess_text */
static inline int dtype_nbytes(enum dtype t) { return dtype_info[t].nbytes; }
static inline bool dtype_is_float(enum dtype t) { return dtype_info[t].kind == DK_FLOAT; }
static inline bool dtype_is_int(enum dtype t) { return dtype_info[t].kind == DK_INT; }

/* One element at p. The integer forms take and give the value modulo 2^bits (bool: 0 or 1); the float forms are exact on load
 * and round to nearest even on store (NaN stays NaN, overflow gives infinity). load_f of an integer dtype converts. */
double dtype_load_f(enum dtype t, const void *p);
int64_t dtype_load_i(enum dtype t, const void *p);    /* integer and bool dtypes only */
void dtype_store_f(enum dtype t, void *p, double v);  /* float dtypes only */
void dtype_store_i(enum dtype t, void *p, int64_t v); /* integer and bool dtypes only; bool: v != 0 */

double dtype_round(enum dtype t, double v);  /* v rounded to float dtype t, as a double */
int64_t dtype_wrap(enum dtype t, int64_t v); /* v reduced to integer dtype t; bool: v != 0 */
/* Bit patterns: f16 and bf16 <-> f32, round to nearest even, denormals kept. */
float f16_to_f32(uint16_t h);
float bf16_to_f32(uint16_t h);
uint16_t f64_to_f16(double d); /* one rounding, not two */
uint16_t f64_to_bf16(double d);

#endif
