/* bf16_of_float.h: a float rounded to bf16, nearest even, as f64_to_bf16 (eager/lang/half.h) rounds it, in a few steps. Text of what is
 * generated for a GPU, and C for the test that compares the two. Needs f32_bits and the sized integer types. */
static uint16_t bf16_of_float(float f)
{
	const uint32_t u = f32_bits(f);
	if (f != f)
		return (uint16_t)((u >> 16 & 0x8000) | 0x7fc0);
	return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}
