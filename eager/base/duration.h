/* duration.h: spans of time as people type them. */
#ifndef SCATTERPROOF_DURATION_H
#define SCATTERPROOF_DURATION_H

#include "eager/base/base.h"

/* "90", "90s", "10m", "1.5h", "200ms" -> seconds, more than 0. */
bool duration_parse(double *seconds, const char *text, struct err *err);

#endif
