/* words.h: a program and its loops as one sequence of WORDS: numbers that sizes decide, and all else. Two calls of a program have compiled
 * to the same thing but for their sizes if their sequences differ in numbers alone. What walks the sequence sees each word in turn, and
 * may change numbers. */
#ifndef SCATTERPROOF_WORDS_H
#define SCATTERPROOF_WORDS_H

#include "compiled/loops/loops.h"

/* FIXED: an operator, a register, a dtype. A float is a constant of loops, or a number argument of a row, as its bits. */
enum word_kind { WORD_FIXED, WORD_NUMBER, WORD_F32, WORD_F64 };
enum word_what { WORD_OTHER, WORD_ARG, WORD_SIZE, WORD_STRIDE, WORD_OFFSET, WORD_LOOPS };

struct words {
	/* of: of loops, where the number's polynomial is named; else NULL. */
	void (*word)(struct words *w, enum word_kind kind, int64_t *value, int *of);
	void *ctx;
	bool changes; /* the numbers are written back */
	enum word_what what;
	int node, at; /* of programs: whose word; ARG: at the argument; SIZE, STRIDE: at the dim of result 0, -1: of another result */
};

void words_of_program(struct words *w, struct prog *p);
void words_of_loops(struct words *w, struct loops *l);

#endif
