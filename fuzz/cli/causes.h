/* causes.h: the causes of a store as people read them: the most serious first, each with the smallest program that shows it. */
#ifndef SCATTERPROOF_CAUSES_H
#define SCATTERPROOF_CAUSES_H

#include "eager/base/screen.h"

/* Those that have an open finding. An exit code; what is wrong was said. */
int causes_print(const char *db, bool json, const struct look *look);
/* The cause of this finding alone, as the list has it. id: a number or a prefix, as commands take it. */
int cause_print_of(const char *db, const char *id, bool json, const struct look *look);

#endif
