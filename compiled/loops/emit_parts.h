/* emit_parts.h: what the texts for a processor (emit_c.c) and for a GPU (emit_cuda.c) share: the language is C for one and C++ for the
 * other, and both take these. A text defines bool, and CONSTS, CONSTS_GIVEN and CONSTS_OPEN: how a row's function gets its numbers. */
#ifndef SCATTERPROOF_EMIT_PARTS_H
#define SCATTERPROOF_EMIT_PARTS_H

#include "compiled/loops/loops.h"

extern const char *const emit_types;                      /* integers by size, moves of bits, enum dtype */
void emit_functions(struct strbuf *sb);                   /* wrapping integers, halves, pow; needs memcpy, pow, sqrt */
void emit_rows(struct strbuf *sb, const struct loops *l); /* a function for each row and type that is used */
/* A number of l, or the polynomial that it is, over variables s0, s1, ... */
void emit_number(struct strbuf *sb, const struct loops *l, int of, int64_t v);
void emit_register(struct strbuf *sb, const struct loops *l, int r);   /* its declaration */
void emit_statement(struct strbuf *sb, const struct loops *l, int at); /* instruction `at`; a loop's head ends with its brace */

#endif
