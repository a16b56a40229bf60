/* emit_c.h: C text of a loop program, one function
 *     _Bool run(void *frame, unsigned char *const *b, const i64 *s)
 * frame: a struct loop_frame; b: its buffers; s: its symbols, of loops of any size. 0: raised (frame's err).
 * No #include: what it calls has prototypes (runtime.def), or, where the text shall stand alone, is in it but for libm. Each register is a
 * variable, each instruction a statement; arithmetic on table rows is the row's own expression (eager/ops/pointwise_words.h), so that what
 * generated code computes is what eager computes. */
#ifndef SCATTERPROOF_EMIT_C_H
#define SCATTERPROOF_EMIT_C_H

#include "compiled/loops/loops.h"

void loops_emit_c(struct strbuf *sb, const struct loops *l, bool alone);
/* n loop programs in one text that stands alone; function i is name[i] instead of `run`. */
void loops_emit_c_all(struct strbuf *sb, const struct loops *const *l, const char *const *name, int n);
/* The function's body: all in which the texts of two loop programs differ. */
void loops_emit_body(struct strbuf *sb, const struct loops *l);
/* The runtime's functions, for engines that link in memory. NULL name ends it. */
struct loop_symbol {
	const char *name;
	void *address;
};
extern const struct loop_symbol loop_symbols[];

#endif
