/* opgen.h: the build-time tool opgen. `opgen DIR` reads ops.def, role.def and arg_groups.def and writes, only where the text changed:
 *     DIR/op_table.c        op_info and op_arg_place, static const data; opgen.c parses and checks every schema and `saves` string
 *     DIR/op_id.h           enum op
 *     DIR/op_input.h        the same and the next for the language's own rows, which a new operator does not change
 *     DIR/op_args.h         names of arguments and of their positions
 *     DIR/op_functions.def  the functions that rows name, each once
 *     DIR/op_groups.def     ROW_T_VIEW(id), ROW_F_COPY(id), ...: the rows with a trait or of a family, each of which must state a fact
 *     DIR/op_vjp.c          derivative rules that rows state (opgen_body.c)
 *     DIR/op_body.c         what rows with a body compute, in rows (opgen_body.c)
 *     DIR/op_emit.h, .c     functions that append a row to a program (eager/lang/build.h)
 *     DIR/op_in_place.def   rows of ops.def that IN_PLACE asks for, which ops.def includes
 * A mistake in a row stops the build with the row's name and the place in its schema. */
#ifndef SCATTERPROOF_OPGEN_H
#define SCATTERPROOF_OPGEN_H

#include "eager/base/base.h"

enum { NCOLUMNS = 4 };       /* meta, kern, vjp, ref */
enum { MAX_BODY_ROWS = 64 }; /* that a body appends */

struct table_row {
	const char *id, *name, *schema, *family, *dtypes, *traits, *saves, *licence;
	const char *function[NCOLUMNS];
	const char *derivative[3];     /* pointwise rows: expressions; else NULL */
	const char *body, *cotangents; /* rows with a body, as ops.def has them, with their parentheses; else NULL */
};
extern const struct table_row *const opgen_rows;
extern int opgen_nrows;

/* The arguments of a row, in order. */
struct row_args {
	int n, nresult; /* nresult -1: as many as data say */
	char name[MAX_ARGS][32];
	bool is_tensor[MAX_ARGS], optional[MAX_ARGS]; /* optional: may be None */
	const char *kind[MAX_ARGS];                   /* "K_TENSOR" */
	char dflt[MAX_ARGS][32];                      /* as the schema has it; "": none */
};

/* Each appends one file's text (opgen_names.c); args: by row. A group with an unknown member ends the process with a message. */
void opgen_ids(struct strbuf *out, const struct row_args *args);
void opgen_input(struct strbuf *out, const struct row_args *args);
void opgen_args(struct strbuf *out, const struct row_args *args);
void opgen_functions(struct strbuf *out, const struct row_args *args);
void opgen_groups(struct strbuf *out, const struct row_args *args);
void opgen_arg_places(struct strbuf *out, const struct row_args *args);  /* for op_table.c */
void opgen_emit_header(struct strbuf *out, const struct row_args *args); /* opgen_emit.c */
void opgen_emit(struct strbuf *out, const struct row_args *args);
void opgen_vjp(struct strbuf *out, const struct row_args *args); /* opgen_body.c */
void opgen_body(struct strbuf *out, const struct row_args *args);

#endif
