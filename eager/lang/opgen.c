/* opgen.c: build-time tool: reads the rows of ops.def, parses and checks every schema and `saves` string, and prints op_table.c.
 * A mistake in a row stops the build with the row's name and the place in its schema. */
#include "eager/base/base.h"

#include <ctype.h>
#include <stdlib.h>

struct row {
	const char *id, *name, *schema, *family, *dtypes, *traits, *saves, *licence;
};
static const struct row rows[] = {
#define OP(id, name, schema, fam, dts, traits, saves, lic, m, k, g, r) {#id, name, schema, #fam, #dts, #traits, saves, #lic},
#include "eager/lang/ops.def"
};

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
	{"str", "K_STR"},
	{"Data", "K_DATA"},
};
static const char *const roles[][2] = {
	{"bcast", "R_BCAST"},
	{"bcast_to", "R_BCAST_TO"},
	{"same", "R_SAME"},
	{"zero_dim", "R_ZERO_DIM"},
	{"index1", "R_INDEX1"},
	{"unique1", "R_UNIQUE1"},
	{"indexn", "R_INDEXN"},
	{"uniquen", "R_UNIQUEN"},
	{"srcn", "R_SRCN"},
	{"ids", "R_IDS"},
	{"indices", "R_INDICES"},
	{"uindices", "R_UINDICES"},
	{"values", "R_VALUES"},
	{"mask", "R_MASK"},
	{"source", "R_SOURCE"},
	{"mat2", "R_MAT2"},
	{"bias", "R_BIAS"},
	{"tuple", "R_TUPLE"},
	{"vec2", "R_VEC2"},
	{"rank1", "R_RANK1"},
	{"rank2", "R_RANK2"},
	{"vector", "R_VECTOR"},
	{"matrix", "R_MATRIX"},
	{"upto2", "R_UPTO2"},
	{"batch", "R_BATCH"},
	{"dense", "R_DENSE"},
	{"cat", "R_CAT"},
	{"expand", "R_EXPAND"},
	{"view", "R_VIEW"},
	{"reshape", "R_RESHAPE"},
	{"repeat", "R_REPEAT"},
	{"strided", "R_STRIDED"},
	{"pad", "R_PAD"},
	{"shifts", "R_SHIFTS"},
	{"perm", "R_PERM"},
	{"insert", "R_INSERT"},
	{"distinct", "R_DISTINCT"},
	{"diag", "R_DIAG"},
	{"window", "R_WINDOW"},
	{"count", "R_COUNT"},
	{"chunk", "R_CHUNK"},
	{"bound", "R_BOUND"},
	{"range", "R_RANGE"},
	{"factor", "R_FACTOR"},
	{"accumulate", "R_ACCUMULATE"},
	{"keep", "R_KEEP"},
	{"reduce", "R_REDUCE"},
};

static const struct row *current;
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

struct names {
	int n;
	char name[MAX_ARGS][32];
	bool is_tensor[MAX_ARGS];
};

/* `<role>`, `[]`, `?[]`, `?`, `(a)`, `(a!)` after the type word, in this order. */
static const char *suffixes(char *type, bool *optional, char *role, char *like, const char **alias)
{
	*alias = "";
	bool list = eat("[]");
	bool holes = !list && eat("?[]");
	if (eat("<")) {
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

static void default_value(const char *kind)
{
	char w[64];
	printf(", .has_default = true");
	if (eat("None")) {
		printf(", .dflt_none = true");
	} else if (eat("True") || eat("False")) {
		printf(", .dflt = {SC_BOOL, %d, 0}", cursor[-2] == 'u');
	} else if (eat("[]")) {
		if (!str_eq(kind, "K_DIMS") && !str_eq(kind, "K_INTS"))
			fail("[] is a default for lists only");
	} else if (str_eq(kind, "K_STR") || str_eq(kind, "K_DTYPE")) {
		word(w, sizeof w, "_");
		printf(", .dflt_str = \"%s\"", w);
	} else {
		word(w, sizeof w, "-.");
		if (strchr(w, '.'))
			printf(", .dflt = {SC_FLOAT, 0, %s}", w);
		else
			printf(", .dflt = {SC_INT, %s, 0}", w);
	}
}

static void parameter(struct names *names, bool kwonly)
{
	char type[32], role[32] = "", like[64] = "";
	bool optional;
	const char *alias, *role_id = "R_ANY";
	word(type, sizeof type - 4, "");
	const char *kind = suffixes(type, &optional, role, like, &alias);
	if (str_eq(role, "like")) {
		role_id = "R_LIKE";
	} else if (role[0]) {
		role_id = NULL;
		for (int i = 0; i < ARRAY_LEN(roles); i++)
			if (str_eq(roles[i][0], role))
				role_id = roles[i][1];
		if (!role_id)
			fail("unknown role");
	}
	eat(" ");
	if (names->n == MAX_ARGS)
		fail("too many parameters");
	char *name = names->name[names->n];
	word(name, 32, "_");
	names->is_tensor[names->n++] = str_starts(kind, "K_TENSOR");
	printf("\t\t{.name = \"%s\", .kind = %s, .role = %s%s", name, kind, role_id, alias);
	if (like[0])
		printf(", .like = \"%s\"", like);
	if (optional)
		printf(", .optional = true");
	if (str_eq(type, "Tensor?[]"))
		printf(", .holes = true");
	if (kwonly)
		printf(", .kwonly = true");
	if (eat("="))
		default_value(kind);
	printf("},\n");
}

static int results(void)
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

static int saved_name(const struct names *names, const char *w)
{
	if (str_eq(w, "*"))
		return -1;
	if (str_starts(w, "result"))
		return 32 + atoi(w + 6);
	for (int i = 0; i < names->n; i++)
		if (names->is_tensor[i] && str_eq(names->name[i], w))
			return i;
	fail("saves: no such tensor parameter");
}

static void saves(const struct names *names)
{
	int n = 0;
	cursor = current->saves;
	if (*cursor && strstr(current->traits, "T_NONDIFF"))
		fail("saves: nothing is saved for a result that never requires grad");
	printf("\t.save = {");
	for (cursor = current->saves; *cursor; n++) {
		char when[32], what[32];
		eat(" ");
		word(when, sizeof when, "_*");
		if (!eat("<"))
			fail("saves: expected '<'");
		word(what, sizeof what, "_");
		printf("{%d, %d}, ", saved_name(names, when), saved_name(names, what));
	}
	if (n > 6)
		fail("saves: too many");
	if (!n)
		printf("{0, 0}");
	printf("}, .nsave = %d,\n", n);
}

static void row(const struct row *r)
{
	struct names names = {0};
	current = r;
	cursor = r->schema;
	printf("[OP_%s] = {\n\t.name = \"%s\", .schema = \"%s\", .family = %s, .dtypes = %s,\n\t.traits = %s, .licence = %s,\n\t.param = {\n",
		r->id, r->name, r->schema, r->family, r->dtypes, r->traits, r->licence);
	if (!eat("("))
		fail("expected '('");
	bool kwonly = false;
	while (!eat(")")) {
		if (names.n || kwonly) {
			if (!eat(","))
				fail("expected ',' or ')'");
		}
		if (eat("*")) {
			kwonly = true;
			if (!eat(","))
				fail("expected ',' after '*'");
		}
		eat(" ");
		parameter(&names, kwonly);
	}
	printf("\t}, .nparam = %d, .nret = %d,\n", names.n, results());
	saves(&names);
	printf("},\n");
}

int main(void)
{
	printf("/* Made by eager/lang/opgen.c from eager/lang/ops.def; do not edit. */\n#include \"eager/lang/op.h\"\n\n"
		   "const struct op_info op_info[NOPS] = {\n");
	for (int i = 0; i < ARRAY_LEN(rows); i++) {
		for (int j = 0; j < i; j++) {
			current = &rows[i];
			cursor = rows[i].schema;
			if (str_eq(rows[i].name, rows[j].name))
				fail("name given twice");
		}
		row(&rows[i]);
	}
	printf("};\n");
	return 0;
}
