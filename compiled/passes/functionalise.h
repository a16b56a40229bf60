/* functionalise.h: the first step of the built-in compiler. A program with views and writes in, one whose rows write nothing out.
 *
 * Every tensor that owns memory (a ROOT: an input or a fresh result) has a VALUE, a node of the new program. A view of it is the row that
 * makes it, applied to its operand's value; a write through a view is the view's inverse, a scatter, applied from view to view up to the
 * root, which thereby has a new value. Views that are read afterwards are made again of it. So views stay rows, as in AOTAutograd, and
 * what shares memory in the old program shares it in the new one.
 *
 * What was written to an input is left to the EPILOGUE, `copy_` rows at the very end; outputs that are views of a written input are made
 * of the input behind them. Between the two calls more rows may be appended (the backward part of a joint program), which then read what
 * the inputs held before.
 *
 * Sizes are those of one call: symbols become numbers. */
#ifndef SCATTERPROOF_FUNCTIONALISE_H
#define SCATTERPROOF_FUNCTIONALISE_H

#include "eager/lang/build.h"

struct functional {
	const struct prog *from;
	struct prog p; /* inputs first, in from's order; then forward rows, then the cotangents' */
	struct build b;
	int *value;                          /* by node of `from`: its value in p, NO_VALUE if it was not made (views: when it was last made) */
	int *input;                          /* by node of `from`, inputs: its row in p */
	int *root;                           /* by node: the root whose memory it is, a node of `from` */
	int *same;                           /* by node: itself, or the tensor that an in-place row returns */
	int *changes;                        /* by node; roots: how often the value changed, views: the root's number when value[] was made */
	bool tracks;                         /* some input requires grad */
	bool *written;                       /* by node: an input whose memory the program writes */
	int ret[MAX_RETURNS];                /* what is returned, before the epilogue */
	int nback, back_source[MAX_RETURNS]; /* of back: the first line of from's backward that it is from */
	struct backward back[MAX_RETURNS];   /* from's backward: node is the output's value */
};

/* False: a program that this compiler does not take (err: why). f and everything of it live in a. keep: rows read a copy of inputs that the
 * epilogue writes, because an autograd that runs behind the epilogue has saved what they read. */
bool functionalise(struct functional *f, const struct prog *p, bool keep, struct arena *a, struct err *err);
/* A copy of a value that does not overlap itself, with its strides. */
int functional_copy(struct build *b, int value);
/* Is this output a written input, or a view of one? Then the epilogue makes it of the input, and ret[output] is no longer needed. */
bool functional_made_again(const struct functional *f, int output);
/* The epilogue; p.ret is then what `from` returns. Of p's rows it reads the inputs, ret[] and the value[] of written inputs: who
 * renumbers rows keeps inputs where they are and tells the others. */
void functional_epilogue(struct functional *f);

#endif
