/* zones.h: memory between two red zones, poisoned: NaN with a recognisable payload, 0xa5 bytes for integers and bool. */
#ifndef SCATTERPROOF_ZONES_H
#define SCATTERPROOF_ZONES_H

#include "eager/lang/dtype.h"

enum { ZONE = 64 }; /* bytes before and after */

unsigned char *zones_alloc(struct arena *a, size_t nbytes, enum dtype t);
bool zones_intact(const unsigned char *data, size_t nbytes); /* nobody wrote just before or behind it */

#endif
