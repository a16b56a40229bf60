/* opgen.c: see opgen.h; here: rows and roles as the C preprocessor gives them, schemas, and the table. */
#include "eager/lang/opgen.h"

#include <ctype.h>
#include <stdlib.h>

enum { MAX_TABLE = 512 };
static struct table_row rows[MAX_TABLE] = {
#define OP(id, name, schema, fam, dts, traits, saves, lic, m, k, g, r)                                                                     \
	{#id, name, schema, #fam, #dts, #traits, saves, #lic, {#m, #k, #g, #r}, {0}, NULL, NULL},
#define POINTWISE(id, name, schema, dts, traits, saves, lic, promo, fwd, d0, d1, d2)                                                       \
	{#id, name, schema, "F_POINTWISE", #dts, "(" #traits ") | T_POINTWISE", saves, #lic, {"pointwise_" #promo, #id, #id, #id},             \
		{#d0, #d1, #d2}, NULL, NULL},
#define BODY(id, name, schema, fam, dts, traits, saves, lic, m, rows, cotangents, r)                                                       \
	{#id, name, schema, #fam, #dts, #traits, saves, #lic, {#m, "body", #id, #r}, {0}, #rows, #cotangents},
#define OPGEN
#include "eager/lang/ops.def"
};
const struct table_row *const opgen_rows = rows;
int opgen_nrows;

static const char *const in_place[] = {
#define IN_PLACE(of) #of,
#define OP(...)
#define POINTWISE(...)
#define BODY(...)
#define INPLACE(...)
#include "eager/lang/ops.def"
};

/* ---- the in-place rows that follow from others ------------------------------------------------------------------------ */

struct in_place_text {
	char id[MAX_NAME], name[MAX_NAME], schema[512], dtypes[128], traits[256];
};
static struct in_place_text in_place_texts[ARRAY_LEN(in_place)];

static const struct table_row *functional_row(const char *id)
{
	for (int i = 0; i < opgen_nrows; i++)
		if (str_eq(rows[i].id, id) && rows[i].derivative[0])
			return &rows[i];
	fprintf(stderr, "ops.def: IN_PLACE(%s): there is no such pointwise row\n", id);
	exit(1);
}

/* Text with each `word` replaced. */
static void replaced(char *out, size_t max, const char *text, const char *const word[][2], int nword)
{
	struct strbuf sb;
	sb_init(&sb);
	while (*text) {
		int i = 0;
		while (i < nword && !str_starts(text, word[i][0]))
			i++;
		sb_put(&sb, i < nword ? word[i][1] : text, i < nword ? strlen(word[i][1]) : 1);
		text += i < nword ? strlen(word[i][0]) : 1;
	}
	CHECK(sb.len < max);
	snprintf(out, max, "%s", sb.s);
	sb_free(&sb);
}

/* exp -> exp_: the same columns, but that the result goes to self, which has the dtype and sizes that it must have. */
static void add_in_place(struct in_place_text *t, const struct table_row *of)
{
	static const char *const schema[][2] = {
		{" self", "(a!) self"}, {"<bcast>", "<bcast_to>"}, {"<divisor>", "<divisor_to>"}, {"-> Tensor", "-> Tensor(a!)"}};
	static const char *const traits[][2] = {{"T_COMMUTES", "0"}, {"T_PURE_MOVE", "0"}, {"T_POINTWISE", "0"}};
	const int n = (int)strcspn(of->name, ".");
	struct table_row *row = &rows[opgen_nrows++];
	CHECK(opgen_nrows < MAX_TABLE);
	snprintf(t->id, sizeof t->id, "%s_", of->id);
	snprintf(t->name, sizeof t->name, "%.*s_%s", n, of->name, of->name + n);
	replaced(t->schema, sizeof t->schema, of->schema, schema, ARRAY_LEN(schema));
	replaced(t->traits, sizeof t->traits - 16, of->traits, traits, ARRAY_LEN(traits));
	strcat(t->traits, " | T_MUTATES");
	const char *promo = of->function[0], *hold = str_eq(promo, "pointwise_FLOAT") ? "(%s) & DTS_FLOAT" : "%s";
	snprintf(t->dtypes, sizeof t->dtypes, str_eq(promo, "pointwise_DIVIDE") ? "(%s) & DTS_NUM" : hold, of->dtypes);
	*row = *of;
	row->id = t->id;
	row->name = t->name;
	row->schema = t->schema;
	row->family = "F_INPLACE";
	row->dtypes = t->dtypes;
	row->traits = t->traits;
	memset(row->derivative, 0, sizeof row->derivative);
}

static void write_in_place(struct strbuf *out, const struct row_args *args)
{
	(void)args;
	for (const struct table_row *r = rows + opgen_nrows - ARRAY_LEN(in_place); r < rows + opgen_nrows; r++)
		sb_printf(out, "INPLACE(%s, \"%s\", \"%s\", %s, %s, \"%s\", %s, %s, %s, %s, %s)\n", r->id, r->name, r->schema, r->dtypes, r->traits,
			r->saves, r->licence, r->function[0], r->function[1], r->function[2], r->function[3]);
}

static bool writes(const struct table_row *r) { return strstr(r->traits, "T_MUTATES"); }

/* The row that writes what row i computes to its first operand, or whose result row i writes: 1 + its place, 0: there is none. */
static int counterpart(int i, const struct row_args *args)
{
	for (int j = 0; j < opgen_nrows; j++) {
		if (writes(&rows[i]) == writes(&rows[j]) || args[i].n != args[j].n || !str_eq(rows[i].function[1], rows[j].function[1]))
			continue;
		const char *to = rows[writes(&rows[i]) ? i : j].name, *of = rows[writes(&rows[i]) ? j : i].name;
		const size_t n = strcspn(of, ".");
		if (strncmp(to, of, n) == 0 && to[n] == '_')
			return j + 1;
	}
	return 0;
}

static void write_counterparts(struct strbuf *out, const struct row_args *args)
{
	sb_puts(out, "\nconst short op_counterpart[] = {\n");
	for (int i = 0; i < opgen_nrows; i++) {
		const int other = counterpart(i, args);
		if (other)
			sb_printf(out, "\t[OP_%s] = 1 + OP_%s,\n", rows[i].id, rows[other - 1].id);
	}
	sb_puts(out, "\t[NOPS] = 0\n};\n");
}

/* ---- schemas ---- */

static const char *const kinds[][2] = {
	{"Tensor[]", "K_TENSORS"},
	{"Tensor?[]", "K_TENSORS"},
	{"Tensor", "K_TENSOR"},
	{"Size", "K_SIZE"},
	{"Ints", "K_INTS"},
	{"Dims", "K_DIMS"},
	{"Dim", "K_DIM"},
	{"Index", "K_INDEX"},
	{"Step", "K_STEP"},
	{"Int", "K_INT"},
	{"Scalar", "K_SCALAR"},
	{"bool", "K_BOOL"},
	{"ScalarType", "K_DTYPE"},
	{"MemoryFormat", "K_FORMAT"},
	{"str", "K_STR"},
	{"float", "K_FLOAT"},
	{"bool[]", "K_BOOLS"},
	{"Data", "K_DATA"},
};
static const char *const roles[][2] = {
#define ROLE(ID, name, ...) {name, "R_" #ID},
#include "eager/lang/role.def"
};

static struct strbuf table;
static const struct table_row *current;
static const char *cursor;

NORETURN static void fail(const char *what)
{
	fprintf(stderr, "ops.def: %s: %s at: %s\n", current->name, what, cursor);
	exit(1);
}

static bool eat(const char *s)
{
	while (*cursor == ' ')
		cursor++;
	if (!str_starts(cursor, s))
		return false;
	cursor += strlen(s);
	return true;
}

static void word(char *out, size_t max, const char *extra)
{
	size_t n = 0;
	while (isalnum((unsigned char)*cursor) || (*cursor && strchr(extra, *cursor))) {
		if (n + 1 >= max)
			fail("word too long");
		out[n++] = *cursor++;
	}
	out[n] = 0;
	if (!n)
		fail("expected a word");
}

/* `[]`, `?[]` or `[3]`, `<role>` or `<word|word>`, `?`, `(a)` or `(a!)` after the type word, in this order. */
static const char *suffixes(char *type, int *length, bool *optional, char *role, char *words, char *like, const char **alias)
{
	*alias = "";
	bool list = eat("[]");
	bool holes = !list && eat("?[]");
	if (!list && !holes && eat("[")) {
		char n[8];
		word(n, sizeof n, "");
		if (!eat("]"))
			fail("expected ']'");
		*length = atoi(n);
		list = true;
	}
	if (eat("<")) {
		if (str_eq(type, "str"))
			word(words, 64, "_|");
		else
			word(role, 32, "_");
		if (eat(":"))
			word(like, 64, "_.");
		if (!eat(">"))
			fail("expected '>'");
	}
	*optional = !holes && eat("?");
	if (eat("(a!)"))
		*alias = ", .is_alias = true, .is_written = true";
	else if (eat("(a)"))
		*alias = ", .is_alias = true";
	if (list || holes)
		strcat(type, list ? "[]" : "?[]");
	for (int i = 0; i < ARRAY_LEN(kinds); i++)
		if (str_eq(kinds[i][0], type))
			return kinds[i][1];
	fail("unknown type");
}

static void default_value(const char *kind, char text[32])
{
	char w[64];
	const size_t n = strcspn(cursor, ",)");
	if (n >= 32)
		fail("default too long");
	snprintf(text, 32, "%.*s", (int)n, cursor);
	sb_printf(&table, ", .has_default = true");
	if (eat("None")) {
		sb_printf(&table, ", .dflt_none = true");
	} else if (eat("True") || eat("False")) {
		sb_printf(&table, ", .dflt = {SC_BOOL, %d, 0}", cursor[-2] == 'u');
	} else if (eat("[]")) {
		if (!str_eq(kind, "K_DIMS") && !str_eq(kind, "K_INTS"))
			fail("[] is a default for lists only");
	} else if (eat("[0, 1]")) {
		if (!str_eq(kind, "K_DIMS"))
			fail("[0, 1] is a default for dims only");
		sb_printf(&table, ", .dflt = {SC_INT, 0, 0}");
	} else if (str_eq(kind, "K_STR") || str_eq(kind, "K_DTYPE") || str_eq(kind, "K_FORMAT")) {
		word(w, sizeof w, "_");
		sb_printf(&table, ", .dflt_str = \"%s\"", w);
	} else {
		word(w, sizeof w, "-.");
		if (strchr(w, '.'))
			sb_printf(&table, ", .dflt = {SC_FLOAT, 0, %s}", w);
		else
			sb_printf(&table, ", .dflt = {SC_INT, %s, 0}", w);
	}
}

static void parameter(struct row_args *args, bool kwonly)
{
	char type[32], role[32] = "", words[64] = "", like[64] = "";
	int length = 0;
	bool optional;
	const char *alias, *role_id = NULL;
	word(type, sizeof type - 4, "");
	const char *kind = suffixes(type, &length, &optional, role, words, like, &alias);
	for (int i = 0; i < ARRAY_LEN(roles); i++)
		if (str_eq(roles[i][0], role))
			role_id = roles[i][1];
	if (!role_id)
		fail("unknown role");
	eat(" ");
	if (args->n == MAX_ARGS)
		fail("too many parameters");
	char *name = args->name[args->n];
	word(name, 32, "_");
	args->kind[args->n] = kind;
	args->optional[args->n] = optional;
	args->is_tensor[args->n] = str_starts(kind, "K_TENSOR");
	sb_printf(&table, "\t\t{.name = \"%s\", .kind = %s, .role = %s%s", name, kind, role_id, alias);
	if (str_eq(kind, "K_STR") && !words[0] && !str_eq(current->family, "F_INPUT"))
		fail("a str needs its words: str<one|two>");
	if (words[0])
		sb_printf(&table, ", .words = \"%s\"", words);
	if (length)
		sb_printf(&table, ", .length = %d", length);
	if (like[0])
		sb_printf(&table, ", .like = \"%s\"", like);
	if (optional)
		sb_printf(&table, ", .optional = true");
	if (str_eq(type, "Tensor?[]"))
		sb_printf(&table, ", .holes = true");
	if (kwonly)
		sb_printf(&table, ", .kwonly = true");
	if (eat("="))
		default_value(kind, args->dflt[args->n]);
	args->n++;
	sb_printf(&table, "},\n");
}

static int results(unsigned *constant, unsigned *opaque)
{
	if (!eat("->"))
		fail("expected '->'");
	if (eat("Sym"))
		return 1;
	int n = 0;
	bool tuple = eat("(");
	do {
		if (!eat("Tensor"))
			fail("expected Tensor");
		*constant |= (unsigned)eat("<constant>") << n;
		*opaque |= (unsigned)eat("<opaque>") << n;
		n++;
		if (!eat("(a!)"))
			eat("(a)");
		if (eat("[]"))
			return -1;
	} while (tuple && eat(","));
	if (tuple && !eat(")"))
		fail("expected ')'");
	return n;
}

static int saved_name(const struct row_args *args, const char *w)
{
	if (str_eq(w, "*"))
		return -1;
	if (str_starts(w, "result"))
		return 32 + atoi(w + 6);
	for (int i = 0; i < args->n; i++)
		if (args->is_tensor[i] && str_eq(args->name[i], w))
			return i;
	fail("saves: no such tensor parameter");
}

static void saves(const struct row_args *args)
{
	int n = 0;
	cursor = current->saves;
	if (*cursor && strstr(current->traits, "T_NONDIFF"))
		fail("saves: nothing is saved for a result that never requires grad");
	sb_printf(&table, "\t.save = {");
	for (cursor = current->saves; *cursor; n++) {
		char when[32], what[32];
		eat(" ");
		word(when, sizeof when, "_*");
		if (!eat("<"))
			fail("saves: expected '<'");
		word(what, sizeof what, "_");
		sb_printf(&table, "{%d, %d}, ", saved_name(args, when), saved_name(args, what));
	}
	if (n > 6)
		fail("saves: too many");
	if (!n)
		sb_printf(&table, "{0, 0}");
	sb_printf(&table, "}, .nsave = %d,\n", n);
}

/* A minus before an operand, and nothing that it could be subtracted from: `g * -a`. The operand's letter; 0: there is none. */
static char negated_operand(const char *derivative)
{
	char before = '(';
	for (const char *s = derivative; *s; s++) {
		const char *of = s + 1 + strspn(s + (*s != 0), " ");
		if (*s == '-' && strchr("(,*/+-<>=?:", before) && *of >= 'a' && *of <= 'c' && !isalnum((unsigned char)of[1]) && of[1] != '_')
			return *of;
		if (*s != ' ')
			before = *s;
	}
	return 0;
}

static void negated(const struct row_args *args)
{
	for (int d = 0; d < ARRAY_LEN(current->derivative) && current->derivative[d]; d++) {
		const char letter = negated_operand(current->derivative[d]);
		for (int k = 0, tensors = 0; letter && k < args->n; k++)
			if (args->is_tensor[k] && tensors++ == letter - 'a') {
				sb_printf(&table, "\t.negated = %d,\n", k + 1);
				return;
			}
	}
}

static void row(struct row_args *args, const struct table_row *r)
{
	current = r;
	cursor = r->schema;
	sb_printf(&table,
		"[OP_%s] = {\n\t.name = \"%s\", .schema = \"%s\", .family = %s, .dtypes = %s,\n\t.traits = %s, .licence = %s,\n\t.param = {\n",
		r->id, r->name, r->schema, r->family, r->dtypes, r->traits, r->licence);
	if (!eat("("))
		fail("expected '('");
	bool kwonly = false;
	while (!eat(")")) {
		if (args->n || kwonly) {
			if (!eat(","))
				fail("expected ',' or ')'");
		}
		if (eat("*")) {
			kwonly = true;
			if (!eat(","))
				fail("expected ',' after '*'");
		}
		eat(" ");
		parameter(args, kwonly);
	}
	unsigned constant = 0, opaque = 0;
	args->nresult = results(&constant, &opaque);
	sb_printf(&table, "\t}, .nparam = %d, .nret = %d, .constant = %uu, .opaque = %uu,\n", args->n, args->nresult, constant, opaque);
	saves(args);
	negated(args);
	sb_printf(&table, "},\n");
}

static void check_names_differ(void)
{
	for (int i = 0; i < opgen_nrows; i++)
		for (int j = 0; j < i; j++) {
			current = &opgen_rows[i];
			cursor = current->schema;
			if (str_eq(opgen_rows[i].name, opgen_rows[j].name))
				fail("name given twice");
		}
}

/* A file whose text is the same keeps its time, so that nothing is compiled again because of it. */
static void write_if_changed(const char *dir, const char *file, const struct strbuf *text)
{
	struct strbuf path, old;
	struct err err = {0};
	sb_init(&path);
	sb_init(&old);
	sb_printf(&path, "%s/%s", dir, file);
	if (!sb_read_file(&old, path.s, SIZE_MAX, &err) || old.len != text->len || memcmp(old.s, text->s, text->len) != 0) {
		FILE *f = fopen(path.s, "wb");
		if (!f || fwrite(text->s, 1, text->len, f) != text->len || fclose(f) != 0) {
			perror(path.s);
			exit(1);
		}
	}
	sb_free(&path);
	sb_free(&old);
}

/* `write` fills the file. */
static void make(
	const char *dir, const char *file, void (*write)(struct strbuf *out, const struct row_args *args), const struct row_args *args)
{
	struct strbuf text;
	sb_init(&text);
	sb_printf(&text, "/* %s: made by eager/lang/opgen.c from ops.def; do not edit. */\n", file);
	write(&text, args);
	write_if_changed(dir, file, &text);
	sb_free(&text);
}

static int by_function(const void *a, const void *b)
{
	const int i = *(const int *)a, j = *(const int *)b;
	const char *f = opgen_rows[i].name, *g = opgen_rows[j].name;
	const size_t n = strcspn(f, "."), m = strcspn(g, ".");
	const int c = strncmp(f, g, MIN(n, m));
	return c ? c : n != m ? (n > m) - (n < m) : i - j;
}

static void write_order(struct strbuf *out)
{
	int *op = xmalloc((size_t)opgen_nrows * sizeof *op);
	for (int i = 0; i < opgen_nrows; i++)
		op[i] = i;
	qsort(op, (size_t)opgen_nrows, sizeof *op, by_function);
	sb_puts(out, "\nconst short op_by_function[] = {\n");
	for (int i = 0; i < opgen_nrows; i++)
		sb_printf(out, "\tOP_%s,\n", opgen_rows[op[i]].id);
	sb_puts(out, "};\n");
	free(op);
}

static void write_table(struct strbuf *out, const struct row_args *args)
{
	sb_puts(out,
		"#include \"eager/lang/op.h\"\n\n#include \"generated/op_args.h\"\n#include \"generated/op_id.h\"\n\nconst int op_nrows = NOPS;\n"
		"_Static_assert((int)NOPS <= (int)MAX_OPS, \"MAX_OPS\");\nconst struct op_info op_info[] = {\n");
	sb_put(out, table.s, table.len);
	sb_puts(out, "};\n");
	opgen_arg_places(out, args);
	write_order(out);
	write_counterparts(out, args);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: opgen DIR\n");
		return 2;
	}
	while (rows[opgen_nrows].id)
		opgen_nrows++;
	for (int i = 0; i < ARRAY_LEN(in_place); i++)
		add_in_place(&in_place_texts[i], functional_row(in_place[i]));
	struct row_args *args = xmalloc((size_t)opgen_nrows * sizeof *args);
	memset(args, 0, (size_t)opgen_nrows * sizeof *args);
	sb_init(&table);
	check_names_differ();
	for (int i = 0; i < opgen_nrows; i++)
		row(&args[i], &opgen_rows[i]);
	make(argv[1], "op_table.c", write_table, args);
	make(argv[1], "op_id.h", opgen_ids, args);
	make(argv[1], "op_input.h", opgen_input, args);
	make(argv[1], "op_args.h", opgen_args, args);
	make(argv[1], "op_functions.def", opgen_functions, args);
	make(argv[1], "op_groups.def", opgen_groups, args);
	make(argv[1], "op_vjp.c", opgen_vjp, args);
	make(argv[1], "op_body.c", opgen_body, args);
	make(argv[1], "op_emit.h", opgen_emit_header, args);
	make(argv[1], "op_emit.c", opgen_emit, args);
	make(argv[1], "op_in_place.def", write_in_place, args);
	sb_free(&table);
	free(args);
	return 0;
}
