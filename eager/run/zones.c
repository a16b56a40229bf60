/* zones.c: see zones.h. */
#include "eager/run/zones.h"

static const char zone[ZONE + 1] = "red zone<>RED ZONE{}red zone()RED ZONE[]red zone//RED ZONE||end.";

static void poison(unsigned char *data, size_t nbytes, enum dtype t)
{
	static const unsigned char pattern[NDTYPES][8] = {
		/* little-endian NaNs with payload 5a5a… */
		[DT_F16] = {0x5a, 0x7e},
		[DT_BF16] = {0xda, 0x7f},
		[DT_F32] = {0x5a, 0x5a, 0xda, 0x7f},
		[DT_F64] = {0x5a, 0x5a, 0x5a, 0x5a, 0x5a, 0x5a, 0xfa, 0x7f},
	};
	if (!dtype_is_float(t)) {
		memset(data, 0xa5, nbytes);
		return;
	}
	size_t n = (size_t)dtype_nbytes(t);
	for (size_t i = 0; i < nbytes; i += n)
		memcpy(data + i, pattern[t], n);
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
