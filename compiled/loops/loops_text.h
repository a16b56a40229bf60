/* loops_text.h: what printing (loops_print.c) and reading (loops_text.c) of loop programs share. */
#ifndef SCATTERPROOF_LOOPS_TEXT_H
#define SCATTERPROOF_LOOPS_TEXT_H

#include "compiled/loops/loops.h"

/* By instruction the word behind `r3: f32 =`; NULL: it begins a line, or is a row of the op table. */
extern const char *const loop_word[NLOOPOPS];

#endif
