/* zones.c: see zones.h. */
#include "eager/run/zones.h"

static const char zone[ZONE + 1] = "red zone<>RED ZONE{}red zone()RED ZONE[]red zone//RED ZONE||end.";

/* Floats: NaN, with a payload of 5a5a… behind its quiet bit (little-endian). A format with one NaN has that. */
static void poison(unsigned char *data, size_t nbytes, enum dtype t)
{
	const struct dtype_info *i = &dtype_info[t];
	if (!dtype_is_float(t)) {
		memset(data, 0xa5, nbytes);
		return;
	}
	const int mant = i->precision - 1, bits = 8 * i->nbytes;
	const uint64_t ulp = (uint64_t)1 << mant, quiet = (((uint64_t)1 << (bits - 1)) - 1) - (ulp / 2 - 1);
	const uint64_t nan = i->overflow == OVERFLOW_TO_NAN ? ((uint64_t)1 << (bits - 1)) - 1 : quiet | (0x5a5a5a5a5a5a5a5au & (ulp / 2 - 1));
	for (size_t at = 0; at < nbytes; at += (size_t)i->nbytes)
		memcpy(data + at, &nan, (size_t)i->nbytes);
}

unsigned char *zones_alloc(struct arena *a, size_t nbytes, enum dtype t)
{
	unsigned char *block = arena_alloc(a, nbytes + 2 * ZONE);
	memcpy(block, zone, ZONE);
	memcpy(block + ZONE + nbytes, zone, ZONE);
	poison(block + ZONE, nbytes, t);
	return block + ZONE;
}

bool zones_intact(const unsigned char *data, size_t nbytes)
{
	return memcmp(data - ZONE, zone, ZONE) == 0 && memcmp(data + nbytes, zone, ZONE) == 0;
}
