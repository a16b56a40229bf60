/* opgen_emit.c: one function per row that appends it (eager/lang/build.h): its C signature follows from the schema. */
#include "eager/lang/opgen.h"

/* By kind: C parameters, and the expression of the argument. %1$s is the parameter's name. params NULL: the default, always. */
struct emit_kind {
	const char *kind, *params, *arg, *maybe_params, *maybe_arg; /* maybe: of arguments that may be None; NULL: the same */
};
static const struct emit_kind emit_kinds[] = {
	{"K_TENSOR", "int %1$s", "build_value(b, %1$s)", NULL, NULL},
	{"K_TENSORS", "const int *%1$s, int n_%1$s", "build_list(b, %1$s, n_%1$s)", NULL, NULL},
	{"K_SIZE", "const int64_t *%1$s, int n_%1$s", "build_ints(b, %1$s, n_%1$s)", NULL, NULL},
	{"K_INTS", "const int64_t *%1$s, int n_%1$s", "build_ints(b, %1$s, n_%1$s)", NULL, NULL},
	{"K_DIMS", "const int64_t *%1$s, int n_%1$s", "build_ints(b, %1$s, n_%1$s)", NULL, NULL},
	{"K_DIM", "int64_t %1$s", "build_int(%1$s)", NULL, NULL},
	{"K_INDEX", "int64_t %1$s", "build_int(%1$s)", NULL, NULL},
	{"K_STEP", "int64_t %1$s", "build_int(%1$s)", NULL, NULL},
	{"K_INT", "int64_t %1$s", "build_int(%1$s)", NULL, NULL},
	{"K_SCALAR", "struct scalar %1$s", "build_maybe_scalar(&%1$s)", "const struct scalar *%1$s", "build_maybe_scalar(%1$s)"},
	{"K_BOOL", "bool %1$s", "arg_bool(%1$s)", NULL, NULL},
	{"K_DTYPE", "int %1$s", "%1$s < 0 ? (struct arg){0} : arg_dtype((enum dtype)%1$s)", NULL, NULL},
	{"K_FORMAT", NULL, NULL, NULL, NULL}, /* no parameter: nobody who builds rows asks for another than the default */
	{"K_STR", "const char *%1$s", "arg_str(b->p, %1$s)", NULL, NULL},
	{"K_FLOAT", "double %1$s", "arg_scalar_f(%1$s)", "const struct scalar *%1$s", "build_maybe_scalar(%1$s)"},
	{"K_BOOLS", "const bool *%1$s, int n_%1$s", "arg_bools(b->p, %1$s, n_%1$s)", NULL, NULL},
};

static const struct emit_kind *kind_of(const char *kind)
{
	for (int i = 0; i < ARRAY_LEN(emit_kinds); i++)
		if (str_eq(emit_kinds[i].kind, kind))
			return &emit_kinds[i];
	BUG("opgen: no C type for %s", kind);
}

/* `format` with %1$s replaced by `name`. */
static void substitute(struct strbuf *out, const char *format, const char *name)
{
	static const char mark[] = "%1$s";
	for (const char *at; (at = strstr(format, mark)); format = at + strlen(mark)) {
		sb_put(out, format, (size_t)(at - format));
		sb_puts(out, name);
	}
	sb_puts(out, format);
}

/* Inputs and symbols are the business of whoever makes the program. */
static bool emitted(int row) { return !str_eq(opgen_rows[row].family, "F_INPUT"); }

static void signature(struct strbuf *out, int row, const struct row_args *args)
{
	sb_printf(out, "int emit_%s(struct build *b", opgen_rows[row].id);
	for (int k = 0; k < args->n; k++) {
		const struct emit_kind *kind = kind_of(args->kind[k]);
		if (!kind->params)
			continue;
		sb_puts(out, ", ");
		substitute(out, args->optional[k] && kind->maybe_params ? kind->maybe_params : kind->params, args->name[k]);
	}
	sb_puts(out, ")");
}

void opgen_emit_header(struct strbuf *out, const struct row_args *args)
{
	sb_puts(out,
		"/* Included by eager/lang/build.h, which explains it. */\n#ifndef SCATTERPROOF_OP_EMIT_H\n#define SCATTERPROOF_OP_EMIT_H\n\n");
	for (int i = 0; i < opgen_nrows; i++)
		if (emitted(i)) {
			signature(out, i, &args[i]);
			sb_puts(out, ";\n");
		}
	sb_puts(out, "\n#endif\n");
}

void opgen_emit(struct strbuf *out, const struct row_args *args)
{
	sb_puts(out, "#include \"eager/lang/build.h\"\n#include \"generated/op_id.h\"\n");
	for (int i = 0; i < opgen_nrows; i++) {
		if (!emitted(i))
			continue;
		sb_puts(out, "\n");
		signature(out, i, &args[i]);
		sb_printf(out, "\n{\n\tstruct node *row = build_begin(b, OP_%s);\n", opgen_rows[i].id);
		for (int k = 0; k < args[i].n; k++) {
			const struct emit_kind *kind = kind_of(args[i].kind[k]);
			if (!kind->params)
				continue;
			sb_printf(out, "\trow->arg[%d] = ", k);
			substitute(out, args[i].optional[k] && kind->maybe_arg ? kind->maybe_arg : kind->arg, args[i].name[k]);
			sb_puts(out, ";\n");
		}
		sb_puts(out, "\treturn build_end(b);\n}\n");
	}
}
