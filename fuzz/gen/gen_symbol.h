/* gen_symbol.h: what gen_symbol.c (a size becomes a symbol) and gen_size.c (where the program gets it from) share. */
#ifndef SCATTERPROOF_GEN_SYMBOL_H
#define SCATTERPROOF_GEN_SYMBOL_H

#include "fuzz/gen/gen_internal.h"

/* A program in which sizes became symbols, and the same program as each call binds it. */
struct symbolic {
	struct world *w;
	struct prog p;
	int nsym; /* its first nodes */
	int nbound;
	bool failed; /* sizes were taken from where they do not hold in every call: the program stays as it was */
	struct prog bound[MAX_CALLS + 1];
	struct arena arena; /* of the bound programs */
};

/* Binds every call; false: some call makes no sense. */
bool symbolic_bind(struct symbolic *s);
/* Binds call k, the next one, of whose numbers that data give nothing is asked. */
bool symbolic_bind_call(struct symbolic *s, int k);

/* ---- gen_size.c ---- */
/* Tensor operands that may be read through a view: not of what writes, or is written through. How many. */
struct operand_place {
	int user, arg;
};
int find_operands(const struct prog *p, struct operand_place *out, int max);
/* Operands become views of themselves, or reshaped or expanded to their own sizes. The program must be bound; it is bound again. */
void sizes_stated(struct symbolic *s);
/* Some sizes that follow from the others become -1. The program must be bound. */
void sizes_follow(struct symbolic *s);
/* Symbols are read off tensors, as the policy says. The program must be bound; it is bound again. */
void sizes_read(struct symbolic *s);

#endif
