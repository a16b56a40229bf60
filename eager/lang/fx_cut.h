/* fx_cut.h: printed graphs of which some rows cannot be read: operators that the op table does not have, arguments and dtypes that a row
 * does not take. The graph is judged in its other rows. A row that is cut out becomes an input of the sizes and strides that PyTorch
 * printed; what it read is returned, so that it is judged. What cannot be an input (several results at once, a dtype that programs do not
 * have) is gone, and with it the rows that need it; the parts of several results that PyTorch printed with sizes become inputs, too. */
#ifndef SCATTERPROOF_FX_CUT_H
#define SCATTERPROOF_FX_CUT_H

#include "eager/lang/prog.h"

enum { MAX_MISSING = 64 };
struct fx_missing {
	const char *op;  /* as printed, without torch.ops. */
	const char *why; /* NULL: nobody knows the operator */
	int count, line; /* of the first */
};
struct fx_cut {
	struct arena *arena;
	int nread;    /* rows that stay */
	int ncut;     /* rows that are cut out; 0: the graph is whole */
	int nwithout; /* of those, the ones that only lack what a row before them would have given */
	int nmissing; /* what the others are, each once; more than MAX_MISSING of them are not listed */
	struct fx_missing missing[MAX_MISSING];
	int nwant; /* values to return, in order; the program returns the first MAX_RETURNS of them */
	int *want;
	int ngone;
	const char **gone; /* names that nothing has */
	/* Of a graph that is too long for one program: */
	int from, row; /* rows before `from` are passed over; row: how many there were so far */
	int next;      /* where it became too long; -1: it did not */
	bool late;     /* inputs come when a row needs them; else all of them at once */
	int nlate;
	const struct cut_late *late_name; /* what may still become an input */
};

/* As prog_read in lenient mode, for one graph (fx_graphs), from row cut->from on. False: not even the rest makes sense. */
bool fx_read_cut(struct prog *out, struct fx_cut *cut, struct arena *a, const char *text, size_t len, struct err *err);
void cut_returns(struct prog *p, const struct fx_cut *cut, int from);
/* The graph as programs: one, or several if it has more rows than MAX_NODES, or more results than MAX_RETURNS. What a later one needs of an
 * earlier one is returned there and is an input here. *cut: of all of them. Returns how many, 0: err says why. */
int fx_programs(struct prog **out, struct fx_cut *cut, struct arena *a, const char *text, size_t len, struct err *err);
/* "aten.erf.default (4 times, first in line 23), aten.add.Tensor (line 40: argument 'alpha' …)": what is missing. line: of the file,
 * where the graph begins; 0: in no file, no lines. */
void fx_cut_print(struct strbuf *sb, const struct fx_cut *cut, int line);

/* Where the user wrote what this line of a graph does: "/home/me/model.py:8 in forward: y = self.l(x)", of the last comment of PyTorch's
 * before it; appends nothing if there is none. */
void fx_source(struct strbuf *sb, const char *text, size_t len, int line);

#endif
