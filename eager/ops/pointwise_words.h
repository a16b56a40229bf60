/* pointwise_words.h: the words that the expressions of POINTWISE rows use, for one compute type: T, FN(x) and INST_INT as in
 * pointwise_inst.h, which includes this; so does, as text, the code that the built-in compiler generates (compiled/loops/emit_c.c). They
 * go again with pointwise_words_end.h. Needed around it: wrap_add, wrap_sub, wrap_mul, int_pow, float_pow, isnan, fabs, bool, enum dtype.
 */
#if INST_INT
#define ADD(x, y)           wrap_add(x, y)
#define SUB(x, y)           wrap_sub(x, y)
#define MUL(x, y)           wrap_mul(x, y)
#define NEG(x)              wrap_sub(0, x)
#define ABS(x)              ((x) < 0 ? wrap_sub(0, x) : (x))
#define MAXNAN(x, y)        ((x) > (y) ? (x) : (y))
#define MINNAN(x, y)        ((x) < (y) ? (x) : (y))
#define FMAX(x, y)          ((x) > (y) ? (x) : (y))
#define FMIN(x, y)          ((x) < (y) ? (x) : (y))
#define SIGNBIT(x)          ((x) < 0)
#define POW(x, y)           int_pow(x, y)
#define RAISE(x, y)         int_raise(x, y)
#define FMOD(x, y)          int_remainder(x, y, 0)
#define REMAINDER(x, y)     int_remainder(x, y, 1)
#define QUOTIENT(x, y, how) int_quotient(x, y, (int)(how)&1)
#define BIT_NOT(x)          (k->common == DT_B8 ? (x) == 0 : ~(x))
#define BIT_AND(x, y)       ((x) & (y))
#define BIT_OR(x, y)        ((x) | (y))
#define BIT_XOR(x, y)       ((x) ^ (y))
#define ROW_FLOAT(e)        0
#define ROW_REAL(e)         0
#define ROW_SLOPE(e)        0
#define floor(x)            (x)
#define ceil(x)             (x)
#define trunc(x)            (x)
#define rint(x)             (x)
#else
#define ADD(x, y)           ((x) + (y))
#define SUB(x, y)           ((x) - (y))
#define MUL(x, y)           ((x) * (y))
#define NEG(x)              (-(x))
#define ABS(x)              fabs((double)(x))
#define MAXNAN(x, y)        (isnan((double)(x)) || (x) > (y) ? (x) : (y)) /* a NaN on either side wins */
#define MINNAN(x, y)        (isnan((double)(x)) || (x) < (y) ? (x) : (y))
#define FMAX(x, y)          (isnan((double)(y)) || (x) >= (y) ? (x) : (y)) /* a NaN on either side loses */
#define FMIN(x, y)          (isnan((double)(y)) || (x) <= (y) ? (x) : (y))
#define SIGNBIT(x)          (copysign(1, (double)(x)) < 0)
#define FMOD(x, y)          float_remainder((double)(x), (double)(y), 0)
#define REMAINDER(x, y)     float_remainder((double)(x), (double)(y), 1)
#define STEPS_IN(how)       ((how) > 2 && k->common != DT_F64 ? DT_F32 : k->common)
#define QUOTIENT(x, y, how) float_quotient((double)(x), (double)(y), (int)(how)&1, STEPS_IN(how))
#define BIT_NOT(x)          0
#define BIT_AND(x, y)       0
#define BIT_OR(x, y)        0
#define BIT_XOR(x, y)       0
#define RAISE(x, y)         pow((double)(x), (double)(y))
#define POW(x, y)           float_pow((double)(x), (double)(y), k->common)
#define ROW_FLOAT(e)        (e)
#define ROW_REAL(e)         (e)
#define ROW_SLOPE(e)        (e)
/* The slope of x * P(N(0, 1) < x), and of that with a tanh in place of P. */
/* clang-format off */
#define GELU_SLOPE(x) ((T)0.5 * (1 + (T)erf((x) * (T)0.70710678118654752)) + (x) * ((T)exp((x) * (x) * (T)-0.5) * (T)0.3989422804014327))
/* clang-format on */
#define GELU_BEND(x)        ((T)tanh((T)0.7978845608028654 * ((x) + (T)0.044715 * ((x) * (x) * (x)))))
#define GELU_TANH_SLOPE(x)                                                                                                                 \
	((T)0.5 * (1 + GELU_BEND(x))                                                                                                           \
		+ (T)0.5 * (x) * (1 - GELU_BEND(x) * GELU_BEND(x)) * ((T)0.7978845608028654 * (1 + (T)0.134145 * ((x) * (x)))))
#endif
#define ROW_KEEP(e)     (e)
#define ROW_PROMOTE(e)  (e)
#define ROW_BOOL(e)     (e)
#define ROW_SUBTRACT(e) (e)
#define ROW_NEGATE(e)   (e)
#define ROW_BOUNDS(e)   (e)
#define ROW_GRADIENT(e) (e)
#define ROW_DIVIDE(e)   (e)
#define SIGN(x)         ((T)(((x) > 0) - ((x) < 0)))
#define RELU(x)         ((x) <= 0 ? 0 : (x)) /* NaN stays */
#define CLAMP(x)        FN(clamp)(x, k)

struct FN(consts) {
	T s, t, u, w;
	bool has_s, has_t;
	enum dtype common;
};

/* min(max(x, s), t) where each bound is optional. A NaN bound makes everything NaN if there are two bounds and nothing if it is
 * the only one; a NaN x stays. */
static T FN(clamp)(T x, const struct FN(consts) * k)
{
	if (k->has_s && k->has_t && (isnan((double)k->s) || isnan((double)k->t)))
		return (T)(k->s + k->t);
	if (k->has_s && x < k->s)
		x = k->s;
	if (k->has_t && x > k->t)
		x = k->t;
	return x;
}
