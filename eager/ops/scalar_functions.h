/* scalar_functions.h: functions on single numbers that pointwise.h declares. pointwise.c includes this, and so does, as text, code that the
 * built-in compiler generates, where they are static (SCALAR_FUNCTION). Needs wrap_mul, pow, sqrt and enum dtype. */
#ifndef SCALAR_FUNCTION
#define SCALAR_FUNCTION
#endif

SCALAR_FUNCTION int64_t int_pow(int64_t x, int64_t y)
{
	int64_t r = 1;
	for (; y > 0; y >>= 1, x = wrap_mul(x, x))
		if (y & 1)
			r = wrap_mul(r, x);
	return r;
}

SCALAR_FUNCTION int64_t int_raise(int64_t x, int64_t y) { return y >= 0 ? int_pow(x, y) : x == 1 ? 1 : x == -1 ? (y & 1 ? -1 : 1) : 0; }

SCALAR_FUNCTION double float_pow(double x, double y, enum dtype t)
{
	if (t == DT_F16 || (y != 0.5 && y != -0.5))
		return pow(x, y);
	return y > 0 ? sqrt(x) : 1 / sqrt(x);
}

/* By -1 nothing is divided: the least integer has no opposite, and processors trap. */
SCALAR_FUNCTION int64_t int_quotient(int64_t x, int64_t y, int floored)
{
	if (y == 0 || y == -1)
		return y ? wrap_sub(0, x) : 0;
	return x / y - (floored && x % y != 0 && (x < 0) != (y < 0));
}

SCALAR_FUNCTION int64_t int_remainder(int64_t x, int64_t y, int floored)
{
	const int64_t left = y == 0 || y == -1 ? 0 : x % y;
	return floored && left != 0 && (left < 0) != (y < 0) ? left + y : left;
}

SCALAR_FUNCTION double float_remainder(double x, double y, int floored)
{
	const double left = fmod(x, y);
	return floored && left != 0 && (left < 0) != (y < 0) ? left + y : left;
}

static double float_step(double v, enum dtype t)
{
	return t == DT_F64 ? v
		: t == DT_F16  ? (double)f16_to_f32(f64_to_f16(v))
		: t == DT_BF16 ? (double)bf16_to_f32(f64_to_bf16(v))
					   : (double)(float)v;
}

SCALAR_FUNCTION double float_quotient(double x, double y, int floored, enum dtype t)
{
	const double left = fmod(x, y);
	if (!floored || y == 0)
		return floored ? x / y : trunc(float_step(x / y, t));
	double q = float_step(float_step(x - left, t) / y, t);
	if (left != 0 && (left < 0) != (y < 0))
		q = float_step(q - 1, t);
	if (q == 0)
		return copysign(0, x / y);
	return floor(q) + (q - floor(q) > 0.5);
}

SCALAR_FUNCTION int64_t float_truncate(double v, int into)
{
	const double limit = into ? 0x1p63 : 0x1p31;
	if (v > -limit - 1 && v < limit)
		return (int64_t)v;
	if (into == 2)
		return v >= limit && v < 0x1p64 ? (int64_t)(v - limit) ^ INT64_MIN : v >= 0x1p64 ? 0 : INT64_MIN;
	return into ? INT64_MIN : INT32_MIN;
}

/* By halves, whose lost bit is kept as the last one (round to odd): some C compilers have no such conversion of their own. */
SCALAR_FUNCTION float f32_of_u64(int64_t bits)
{
	const uint64_t u = (uint64_t)bits;
	return bits >= 0 ? (float)bits : 2 * (float)(int64_t)(u >> 1 | (u & 1));
}

SCALAR_FUNCTION double f64_of_u64(int64_t bits)
{
	const uint64_t u = (uint64_t)bits;
	return bits >= 0 ? (double)bits : 2 * (double)(int64_t)(u >> 1 | (u & 1));
}
