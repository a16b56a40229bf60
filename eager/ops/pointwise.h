/* pointwise.h: what a POINTWISE row of ops.def computes, for whoever takes rows apart into elements (compiled/loops). The kernels of
 * pointwise.c go by the same rules. */
#ifndef SCATTERPROOF_POINTWISE_H
#define SCATTERPROOF_POINTWISE_H

#include "eager/lang/prog.h"

enum { MAX_ELEMENTWISE = 3 }; /* tensor operands of a row */

/* A number in the type computed in: f64 for dtype f64, f32 for the other float dtypes, i64 for integers and bool. */
union computed {
	float f32;
	double f64;
	int64_t i64;
};

enum { ROW_NUMBERS = 4 };
struct pointwise_types {
	int nin;
	enum dtype common;                            /* dtype computed in */
	const struct scalar *scalar[ROW_NUMBERS];     /* s, t, u and w of the row's expression; NULL: not given */
	bool narrow[MAX_ELEMENTWISE], narrow_scalars; /* to be rounded to the common dtype first */
};
/* in: metas of the tensor operands in schema order (meta_operand). row: the POINTWISE row, n: it, or a row that writes its result. */
void pointwise_types(struct pointwise_types *out, int row, const struct node *n, const struct meta *const *in);
/* Scalar k (0: s, 1: t, 2: u, 3: w) as the row sees it; it is given. */
union computed pointwise_scalar(const struct pointwise_types *t, int k);
/* One element, not yet rounded to the result's dtype; comparisons give 0 or 1. number: NULL where not given. */
union computed pointwise_element(
	int row, enum dtype common, const union computed in[MAX_ELEMENTWISE], const union computed *const number[ROW_NUMBERS]);

int64_t int_pow(int64_t x, int64_t y);   /* wraps; y below 0 counts as 0 */
int64_t int_raise(int64_t x, int64_t y); /* the same, but 1 / x ** -y towards 0; 0 for 1 / 0 */
/* PyTorch takes roots as roots, which differ from pow at -inf and -0; but not in f16. */
double float_pow(double x, double y, enum dtype t);
/* Towards 0, or (floored) -infinity; the quotient of the least integer by -1 wraps, by 0 it is 0. Of a floored remainder the
 * sign is that of y. */
int64_t int_quotient(int64_t x, int64_t y, int floored);
int64_t int_remainder(int64_t x, int64_t y, int floored);
double float_remainder(double x, double y, int floored);
/* t: the dtype that PyTorch's kernel rounds each step to. A floored one is what is left without the remainder, divided: 1 // 0.1 is 9. */
double float_quotient(double x, double y, int floored, enum dtype t);
/* aten::copy_'s float to integer: by truncation. Out of range is undefined in C; here it is what x86-64 makes of it: the minimum of i64
 * (into 1; u32, too) or of i32 (0), which is cut to narrower dtypes; of u64 (2) 0 from 2^64 on. */
int64_t float_truncate(double v, int into);
float f32_of_u64(int64_t bits); /* rounded once */
double f64_of_u64(int64_t bits);
static inline int float_truncates_into(enum dtype to) { return to == DT_U64 ? 2 : dtype_nbytes(to) == 8 || to == DT_U32; }

#endif
