/* text_reader.h: what the files of the reader share (text_read.c: lines and statements; the others: parts of them). A function that returns
 * false has set r->err, at the place where the text stops making sense. */
#ifndef SCATTERPROOF_TEXT_READER_H
#define SCATTERPROOF_TEXT_READER_H

#include "eager/lang/prog.h"

enum raw_tag { RAW_NONE, RAW_NODE, RAW_BOOL, RAW_INT, RAW_FLOAT, RAW_STR, RAW_WORD, RAW_LIST };
struct raw {
	enum raw_tag tag;
	int line, col;
	int node;
	struct iexpr i;
	double f;
	bool b;
	const char *s;
	int n;
	struct raw *item;
	const char *name; /* given as name=value */
};

enum { MAX_DEVICE = 16, MAX_BOUND = 256 };
/* bound: integers by name: parameters "Sym(s37)", rows "Sym(2*s37)" of Python's operators. attempt: which values symbols get. */
struct symbols {
	int n, nsym, attempt;
	bool inside; /* an annotation is being read */
	struct bound {
		const char *name;
		struct iexpr i;
	} bound[MAX_BOUND];
};
struct text_reader {
	struct prog *p;
	struct arena *a;
	const char *s, *end, *line_start;
	int line, mode, depth, nterms;               /* nterms: operations of the expression that is being read */
	int nplaceholder, defining;                  /* node whose arguments are being read, -1: none */
	int return_line, backward_line, raises_line; /* 0: none yet */
	bool surface_given;
	char device[MAX_DEVICE];          /* lenient: where the graph's tensors lie; "": nothing has said it */
	struct symbols *symbols;          /* lenient: integers of a printed graph that are no rows (text_symbol.c) */
	const struct expand_parts *parts; /* lenient: text_expand.c */
	struct fx_cut *cut;               /* lenient: rows that cannot be read are cut out (fx_cut.h); NULL: they are errors */
	struct err *err;
};
enum { MAX_DEPTH = 32, MAX_RAW = 64 };

#define FAIL(r, ...) err_at((r)->err, (r)->line, (int)((r)->s - (r)->line_start) + 1, __VA_ARGS__)

/* ---- text_token.c ---- */
char token_peek(const struct text_reader *r); /* the next character, 0 at the end */
void token_blanks(struct text_reader *r);
bool token_eat(struct text_reader *r, const char *t);  /* past t if it comes next, blanks before it skipped; no error if not */
bool token_want(struct text_reader *r, const char *t); /* the same, an error if not */
bool token_line_end(struct text_reader *r);            /* nothing more on this line but a comment */
void token_skip_line(struct text_reader *r);
bool token_word_char(char c, bool first);
bool token_word(struct text_reader *r, char *out, size_t max, bool dotted); /* an identifier, with dots if dotted */
bool token_keyword(struct text_reader *r, const char *k);                   /* past k if it comes next as a whole word */

/* ---- text_value.c ---- */
bool raw_string(struct text_reader *r, struct raw *out, char quote); /* at the opening quote */
bool raw_value(struct text_reader *r, struct raw *out);
bool raw_combine(struct text_reader *r, struct raw *x, enum expr_op op, const struct raw *y);

/* ---- text_annotation.c ---- */
/* What a quoted text in a printed graph, or in a program, says of a tensor. */
struct annotation {
	bool given, has_stride, is_sym;
	struct meta meta;
	struct iexpr size[MAX_RANK], stride[MAX_RANK]; /* meta's, of which a printed graph may say by which symbols they are made */
	struct iexpr sym;
	int line, col;
};
bool annotation_read(struct text_reader *r, struct annotation *out);           /* at its quote */
bool annotations_read(struct text_reader *r, struct annotation *an, int *nan); /* `: "…"` or `: ("…", "…")`, if it stands there */

/* ---- text_read.c ---- */
bool annotated_input(struct text_reader *r, const char *name, int line, int col, const struct annotation *an);

/* ---- text_symbol.c ---- */
/* The integer at *s inside an annotation: a number, or an expression over symbols, as "s37*((s37**2)//s5)". Past it. */
bool symbol_expr(struct text_reader *r, const char **s, const char *end, struct iexpr *out);
bool symbol_bind(struct text_reader *r, const char *name, const struct iexpr *i); /* name stands for it from now on */
/* The integer that a name stands for, or, inside an annotation, the symbol of that name, which is made if it is new. */
bool symbol_value(struct text_reader *r, const char *name, struct iexpr *out);
bool symbol_call(struct text_reader *r, const char *name, struct raw *out); /* Max(…), Min(…), Mod(…) behind the name */

/* ---- text_cut.c ---- */
/* The row that begins where r stands cannot be read, for this reason: past it, without it. nnode: before it was tried. */
bool cut_row(struct text_reader *r, int nnode, const struct err *why);
/* A row is passed over (*over), because it was read before or no more fit; or what it reads of those before becomes inputs, now. */
bool cut_passes(struct text_reader *r, bool *over);
void cut_later(struct text_reader *r, const char *name, int line, int col, const struct annotation *an);
void cut_parameter(struct text_reader *r, const char *name, const struct err *why);
void cut_name(struct text_reader *r, const char *name); /* nothing has this name, and it is no error */
bool cut_has(const struct text_reader *r, const char *name);
bool cut_elsewhere(const struct text_reader *r, const char *name); /* another program has it, and returns it if it must */
bool cut_return(struct text_reader *r, int node);                  /* a value that the graph returns, or that a row takes that was cut */

/* ---- text_coerce.c ---- */
/* The data that v lists, for argument q of an input row. */
bool coerce_data(
	struct text_reader *r, struct arg *a, const struct op_info *op, const struct param *q, const struct raw *v, struct err *err);
/* Gives the node the operator of this name (by its overloads, if the name has none) and its arguments. */
bool raw_resolve(struct text_reader *r, int node, const char *opname, const struct raw *raw, int nraw, int line, int col);

/* ---- text_rename.c ---- */
/* Is that a row of the table under another name (prims.rev)? */
bool rename_knows(const char *name);
/* If it is, the row's name and arguments instead. */
bool rename_row(struct text_reader *r, const char **name, struct raw *raw, int *nraw);

/* ---- text_expand.c ---- */
bool expand_knows(const char *name); /* Does that stand for several rows? */
/* They take the place of the last node, whose name the last of them gets. */
bool expand_row(struct text_reader *r, const char *name, const struct raw *raw, int nraw);
/* aten._embedding_bag: the last node goes; results become rows when they are taken. False: nothing is done, it is none that is read. */
bool expand_later(struct text_reader *r, const char *op, const struct raw *raw, int nraw);
/* Result k of such a row takes the place of the last node. */
bool expand_part(struct text_reader *r, const char *tuple, int64_t k);
/* prims._low_memory_max_pool_with_offsets is read as max_pool2d_with_indices; its result 1, printed as i8, is computed of that row's. */
bool expand_has_offsets(const struct prog *p, int pool, const struct annotation *result);
bool expand_offsets(struct text_reader *r, int pool);

/* ---- text_unsaid.c ---- */
/* Is that an argument of ATen's that programs do not have? */
bool unsaid_knows(const char *name);
/* v, given for such an argument, changes nothing here; an error if it may. */
bool unsaid_says_nothing(struct text_reader *r, const struct op_info *op, const struct raw *v, struct err *err);
/* A tensor lies there; false: others lie elsewhere. */
bool unsaid_on_device(struct text_reader *r, const char *device);

#endif
