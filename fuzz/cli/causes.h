/* causes.h: the causes of a store as people read them: the most serious first, each with the smallest program that shows it. */
#ifndef SCATTERPROOF_CAUSES_H
#define SCATTERPROOF_CAUSES_H

#include "eager/base/screen.h"

/* Those that have an open finding. An exit code; what is wrong was said. */
int causes_print(const char *db, bool json, const struct look *look);

#endif
