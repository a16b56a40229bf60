/* half.h: f16, bf16 and the two f8 <-> f32: the functions that dtype.h declares. dtype.c includes this, and so does, as text, code that the
 * built-in compiler generates, where they are static (SCALAR_FUNCTION; the long ones LARGE_FUNCTION). Needs memcpy and the sized integer
 * types. */
#ifndef SCALAR_FUNCTION
#define SCALAR_FUNCTION
#endif
#ifndef LARGE_FUNCTION
#define LARGE_FUNCTION SCALAR_FUNCTION
#endif

static float f32_of_bits(uint32_t u)
{
	float f;
	memcpy(&f, &u, 4);
	return f;
}

/* Rounds a double to a format with `mant` stored significand bits and `nexp` exponent bits, nearest even. `inf` is what stands for numbers
 * beyond it, `nan` for NaN, without their sign. */
static uint16_t f64_to_small(double d, int mant, int nexp, uint16_t inf, uint16_t nan)
{
	uint64_t u;
	memcpy(&u, &d, 8);
	const int bias = (1 << (nexp - 1)) - 1;
	uint16_t sign = (uint16_t)(u >> 63 << (mant + nexp));
	uint64_t m = u & (((uint64_t)1 << 52) - 1);
	int e = (int)(u >> 52 & 2047);
	if (e == 2047)
		return (uint16_t)(sign | (m ? nan : inf));
	if (e == 0)
		return sign; /* double denormals are far below the smallest target denormal */
	m |= (uint64_t)1 << 52;
	int te = e - 1023 + bias; /* target exponent field if normal */
	int shift = 52 - mant;
	if (te <= 0) {
		shift += 1 - te;
		te = 0;
		if (shift > 63)
			return sign;
	}
	uint64_t keep = m >> shift, rest = m & (((uint64_t)1 << shift) - 1), half = (uint64_t)1 << (shift - 1);
	if (rest > half || (rest == half && (keep & 1)))
		keep++;
	/* keep includes the hidden bit for normals: adding it to (te - 1) << mant carries correctly into the exponent. */
	uint64_t r = te > 0 ? ((uint64_t)(te - 1) << mant) + keep : keep;
	return r >= inf ? (uint16_t)(sign | inf) : (uint16_t)(sign | r);
}

LARGE_FUNCTION uint16_t f64_to_f16(double d) { return f64_to_small(d, 10, 5, 0x7c00, 0x7e00); }
LARGE_FUNCTION uint16_t f64_to_bf16(double d) { return f64_to_small(d, 7, 8, 0x7f80, 0x7fc0); }
/* Its largest significand is NaN, which is all that there is beyond its numbers. */
LARGE_FUNCTION uint8_t f64_to_f8_e4m3fn(double d) { return (uint8_t)f64_to_small(d, 3, 4, 0x7f, 0x7f); }
LARGE_FUNCTION uint8_t f64_to_f8_e5m2(double d) { return (uint8_t)f64_to_small(d, 2, 5, 0x7c, 0x7f); }

SCALAR_FUNCTION float bf16_to_f32(uint16_t h) { return f32_of_bits((uint32_t)h << 16); }

LARGE_FUNCTION float f16_to_f32(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = h >> 10 & 31, m = h & 1023;
	if (e == 31)
		return f32_of_bits(sign | 0x7f800000 | m << 13);
	if (e)
		return f32_of_bits(sign | (e + 112) << 23 | m << 13);
	float f = (float)m * 0x1p-24f;
	return sign ? -f : f;
}

/* e5m2 is the upper half of an f16. */
SCALAR_FUNCTION float f8_e5m2_to_f32(uint8_t b) { return f16_to_f32((uint16_t)(b << 8)); }

LARGE_FUNCTION float f8_e4m3fn_to_f32(uint8_t b)
{
	uint32_t sign = (uint32_t)(b & 0x80) << 24, e = b >> 3 & 15, m = b & 7;
	if ((b & 0x7f) == 0x7f)
		return f32_of_bits(sign | 0x7fc00000);
	if (e)
		return f32_of_bits(sign | (e + 120) << 23 | m << 20);
	float f = (float)m * 0x1p-9f;
	return sign ? -f : f;
}
