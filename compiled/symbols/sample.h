/* sample.h: a program compiled for some sizes, as words (words.h): its own rows, what it was compiled to, and the lowered loops of that. */
#ifndef SCATTERPROOF_SAMPLE_H
#define SCATTERPROOF_SAMPLE_H

#include "compiled/compile.h"
#include "compiled/loops/words.h"

struct sample {
	int64_t value[MAX_POLY_SYMBOLS]; /* of the symbols */
	bool compiled;                   /* false: eager or the compiler refuses these sizes */
	int n;                           /* words */
	int64_t *word;
	unsigned char *kind; /* enum word_kind */
};

/* What is sampled: a program that a call was bound to, whose symbols are its `sym` rows in order. */
struct sampled {
	const struct prog *bound;
	const struct compile_options *o;
	int nsymbol, symbol[MAX_POLY_SYMBOLS]; /* nodes */
};
bool sampled_of(struct sampled *out, const struct prog *bound, const struct compile_options *o, struct err *err); /* false: too many */

/* The three things that words are of, compiled for the sizes of `bound`. With validators and notes only if `whole`. */
struct compilation_of {
	struct prog source;
	struct compiled c;
	struct loops l; /* lowered; of no buffer and no instruction where code is not wanted */
	bool planted;
};
enum compile_status sample_compile(
	struct compilation_of *out, const struct prog *bound, const struct compile_options *o, bool whole, struct arena *a, struct err *err);
void sample_walk(struct words *w, struct compilation_of *c);

/* At these values, or of a compilation; words live in a. */
void sample_take(struct sample *out, const struct sampled *of, const int64_t *value, struct arena *a);
void sample_of(struct sample *out, struct compilation_of *c, const int64_t *value, struct arena *a);
/* Are they the same but for numbers? */
bool sample_alike(const struct sample *a, const struct sample *b);

#endif
