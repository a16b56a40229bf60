/* short_numbers.h: numbers and sizes as the Python of a short script writes them (driver.h, target_script.brief). */
#ifndef SCATTERPROOF_SHORT_NUMBERS_H
#define SCATTERPROOF_SHORT_NUMBERS_H

#include "eager/lang/prog.h"

enum { SHORT_LITERAL = 64 }; /* numbers of a list that a person reads */

/* "2.5", "True", "float('nan')" */
void short_number(struct strbuf *sb, const struct scalar *s);
/* "2, 3" */
void short_sizes(struct strbuf *sb, const int64_t *v, int n);
/* "(2, 3)", "(2,)", "()" */
void short_tuple(struct strbuf *sb, const int64_t *v, int n);
/* "[[1, 2], [3, 4]]" of the next numbers of *v, which is moved on. */
void short_nested(struct strbuf *sb, const struct scalar **v, const int64_t *size, int rank);
double short_value(const struct scalar *s);
/* What a factory makes: n zeros or ones, 0, 1, 2, … (at least three), one number (at least four times); or none does. A negative zero is no
 * zero. n at least 1. */
enum short_pattern { SHORT_ZEROS, SHORT_ONES, SHORT_COUNTED, SHORT_SAME, SHORT_LISTED };
enum short_pattern short_pattern_of(const struct scalar *v, int64_t n);

#endif
