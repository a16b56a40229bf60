/* opgen_names.c: the names that opgen makes of ops.def: operators, functions, arguments and their positions.
 *
 * The one idea: rows that one function serves form a group, and a position has a name in a group only if every row of it has that
 * argument there. So a function that reads A_<function>_<argument> is right for each row that names it, or does not compile. */
#include "eager/lang/opgen.h"

#include <stdlib.h>

enum { MAX_GROUPS = 2048, MAX_ROWS = 512 };
static const char trait_letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_";

struct arg_group {
	char name[64];
	bool unnamed; /* only a member of others: rows by the function of one column, by a trait */
	bool row[MAX_ROWS];
};
struct arg_groups {
	int n;
	struct arg_group group[MAX_GROUPS];
};

static const char *const column_name[NCOLUMNS] = {"meta", "kern", "vjp", "ref"};
static const char *const declared[][2] = {
#define GROUP(name, members) {#name, members},
	{"", ""},
#include "eager/lang/arg_groups.def"
};

/* The language's own rows, which no new operator touches. They come first, so that their ids stay. */
static bool is_language(int row) { return str_eq(opgen_rows[row].family, "F_INPUT"); }

void opgen_ids(struct strbuf *out, const struct row_args *args)
{
	int first = 0;
	(void)args;
	while (is_language(first))
		first++;
	sb_puts(out,
		"/* Changes only where a row comes, goes or gets another name. */\n"
		"#ifndef SCATTERPROOF_OP_ID_H\n#define SCATTERPROOF_OP_ID_H\n\n#include \"generated/op_input.h\"\n\nenum op {\n");
	for (int i = first; i < opgen_nrows; i++) {
		CHECK(!is_language(i));
		sb_printf(out, i == first ? "\tOP_%s = NINPUTOPS,\n" : "\tOP_%s,\n", opgen_rows[i].id);
	}
	sb_puts(out, "\tNOPS\n};\n\n#endif\n");
}

static bool named_before(int row, int column)
{
	for (int i = 0; i < row; i++)
		if (str_eq(opgen_rows[i].function[column], opgen_rows[row].function[column]))
			return true;
	return false;
}

void opgen_functions(struct strbuf *out, const struct row_args *args)
{
	static const char *const column[NCOLUMNS] = {"META", "KERN", "VJP", "REF"};
	(void)args;
	for (int c = 0; c < NCOLUMNS; c++)
		sb_printf(out, "#ifndef %s\n#define %s(function)\n#endif\n", column[c], column[c]);
	for (int c = 0; c < NCOLUMNS; c++)
		for (int i = 0; i < opgen_nrows; i++)
			if (!named_before(i, c))
				sb_printf(out, "%s(%s)\n", column[c], opgen_rows[i].function[c]);
	for (int c = 0; c < NCOLUMNS; c++)
		sb_printf(out, "#undef %s\n", column[c]);
}

/* ---- rows by trait and family ------------------------------------------------------------------------------------- */

/* `word` at `s` ends there: T_VIEW is not the beginning of T_VIEWED. */
static bool says(const char *text, const char *word)
{
	const size_t n = strlen(word);
	for (const char *s = text; (s = strstr(s, word)); s += n)
		if ((s == text || !strchr(trait_letters, s[-1])) && (!s[n] || !strchr(trait_letters, s[n])))
			return true;
	return false;
}

static void rows_of(struct strbuf *out, const char *word)
{
	sb_printf(out, "#ifndef ROW_%s\n#define ROW_%s(id)\n#endif\n", word, word);
	for (int i = 0; i < opgen_nrows; i++)
		if (says(opgen_rows[i].traits, word) || str_eq(opgen_rows[i].family, word))
			sb_printf(out, "ROW_%s(%s)\n", word, opgen_rows[i].id);
	sb_printf(out, "#undef ROW_%s\n", word);
}

void opgen_groups(struct strbuf *out, const struct row_args *args)
{
	static const char *const traits[] = {"T_VIEW", "T_MAYBE_VIEW", "T_MULTI_VIEW", "T_REDUCE", "T_MUTATES"};
	static const char *const families[] = {"F_FACTORY", "F_COPY", "F_SCATTER", "F_POINTWISE"};
	(void)args;
	for (int i = 0; i < ARRAY_LEN(traits); i++)
		rows_of(out, traits[i]);
	for (int i = 0; i < ARRAY_LEN(families); i++)
		rows_of(out, families[i]);
}

/* ---- groups ---------------------------------------------------------------------------------------------------- */

static struct arg_group *group_find(struct arg_groups *all, const char *name)
{
	for (int i = 0; i < all->n; i++)
		if (str_eq(all->group[i].name, name))
			return &all->group[i];
	return NULL;
}

static void group_add(struct arg_groups *all, const char *name, int row)
{
	struct arg_group *g = group_find(all, name);
	if (!g) {
		CHECK(all->n < MAX_GROUPS && strlen(name) < sizeof g->name);
		g = &all->group[all->n++];
		memset(g, 0, sizeof *g);
		strcpy(g->name, name);
	}
	g->row[row] = true;
}

static bool has_argument(const struct row_args *args, const char *name)
{
	for (int k = 0; k < args->n; k++)
		if (str_eq(args->name[k], name))
			return true;
	return false;
}

/* The rows of member `word`: a group, or GROUP.ARGUMENT: those of the group's rows that have the argument. */
static void add_member(struct arg_group *out, struct arg_groups *all, char *word, const struct row_args *args)
{
	char *dot = strchr(word, '.');
	if (dot)
		*dot = 0;
	const struct arg_group *g = group_find(all, word);
	bool any = false;
	for (int i = 0; g && i < opgen_nrows; i++)
		if (g->row[i] && (!dot || has_argument(&args[i], dot + 1)))
			any = out->row[i] = true;
	if (!any) {
		fprintf(stderr, "arg_groups.def: %s: '%s%s%s' is no operator, function, trait or group of ops.def\n", out->name, word,
			dot ? "." : "", dot ? dot + 1 : "");
		exit(1);
	}
}

static void add_declared(struct arg_groups *all, const char *name, const char *members, const struct row_args *args)
{
	struct arg_group out = {0};
	CHECK(!group_find(all, name) && strlen(name) < sizeof out.name && all->n < MAX_GROUPS);
	strcpy(out.name, name);
	while (*members) {
		char word[64];
		size_t n = strcspn(members, " ");
		CHECK(n < sizeof word);
		memcpy(word, members, n);
		word[n] = 0;
		members += n + strspn(members + n, " ");
		add_member(&out, all, word, args);
	}
	all->group[all->n++] = out;
}

static void add_by_traits(struct arg_groups *all, int row)
{
	for (const char *s = opgen_rows[row].traits; (s = strstr(s, "T_"));) {
		char name[64];
		size_t n = strspn(s, trait_letters);
		CHECK(n < sizeof name);
		memcpy(name, s, n);
		name[n] = 0;
		group_add(all, name, row);
		group_find(all, name)->unnamed = true;
		s += n;
	}
}

static void groups_make(struct arg_groups *all, const struct row_args *args)
{
	CHECK(opgen_nrows <= MAX_ROWS);
	all->n = 0;
	for (int i = 0; i < opgen_nrows; i++) {
		const struct table_row *r = &opgen_rows[i];
		group_add(all, r->id, i);
		group_add(all, r->family + strlen("F_"), i);
		for (int c = 0; c < NCOLUMNS; c++)
			if (!str_eq(r->function[c], "none")) {
				char one[64];
				snprintf(one, sizeof one, "%s_%s", column_name[c], r->function[c]);
				group_add(all, r->function[c], i);
				group_add(all, one, i);
				group_find(all, one)->unnamed = true;
			}
		add_by_traits(all, i);
	}
	for (int i = 0; i < ARRAY_LEN(declared); i++)
		if (declared[i][0][0])
			add_declared(all, declared[i][0], declared[i][1], args);
}

/* ---- arguments ---------------------------------------------------------------------------------------------------- */

static int place_of(const struct row_args *args, const char *name)
{
	for (int k = 0; k < args->n; k++)
		if (str_eq(args->name[k], name))
			return k;
	return -1;
}

static void group_places(struct strbuf *out, const struct arg_group *g, const struct row_args *args)
{
	int first = 0;
	while (!g->row[first])
		first++;
	for (int k = 0; k < args[first].n; k++) {
		bool all_agree = true;
		for (int i = first + 1; i < opgen_nrows && all_agree; i++)
			all_agree = !g->row[i] || place_of(&args[i], args[first].name[k]) == k;
		if (all_agree)
			sb_printf(out, "\tA_%s_%s = %d,\n", g->name, args[first].name[k], k);
	}
}

/* The name's number is where it comes first in the table: row, argument. */
static bool comes_first(const struct row_args *args, int row, int k)
{
	for (int i = 0; i < row; i++)
		if (place_of(&args[i], args[row].name[k]) >= 0)
			return false;
	return true;
}

static void arg_names(struct strbuf *out, const struct row_args *args, const char *format)
{
	for (int i = 0; i < opgen_nrows; i++)
		for (int k = 0; k < args[i].n; k++)
			if (comes_first(args, i, k))
				sb_printf(out, format, args[i].name[k]);
}

/* Do all rows of the group belong to the language? Then its names are in op_input.h. */
static bool group_is_language(const struct arg_group *g)
{
	for (int i = 0; i < opgen_nrows; i++)
		if (g->row[i] && !is_language(i))
			return false;
	return true;
}

static void all_places(struct strbuf *out, const struct arg_groups *all, const struct row_args *args, bool language)
{
	for (int i = 0; i < all->n; i++)
		if (!all->group[i].unnamed && group_is_language(&all->group[i]) == language)
			group_places(out, &all->group[i], args);
}

void opgen_input(struct strbuf *out, const struct row_args *args)
{
	struct arg_groups *all = xmalloc(sizeof *all);
	groups_make(all, args);
	sb_puts(out,
		"/* Ids and argument positions (op_args.h) of the language's own rows, family F_INPUT: a new operator does not change them. */\n"
		"#ifndef SCATTERPROOF_OP_INPUT_H\n#define SCATTERPROOF_OP_INPUT_H\n\nenum op_input {\n");
	for (int i = 0; is_language(i); i++)
		sb_printf(out, "\tOP_%s,\n", opgen_rows[i].id);
	sb_puts(out, "\tNINPUTOPS\n};\n\nenum input_arg_place {\n");
	all_places(out, all, args, true);
	sb_puts(out, "};\n\n#endif\n");
	free(all);
}

void opgen_args(struct strbuf *out, const struct row_args *args)
{
	static const char contract[] =
		"/* Arguments by name. Positions in node.arg[], and in in[], want[], list[] of the contexts of rules, are these constants, never\n"
		" * numbers.\n"
		" *\n"
		" *   A_<who>_<argument>  its position in the rows of <who>: an operator's id (A_slice_scatter_src), a function that ops.def's\n"
		" *                       columns name (A_pointwise_KEEP_self: every row with meta_, kern_, vjp_ or ref_pointwise_KEEP, in-place\n"
		" *                       rows included), a family (A_INPLACE_self) or a group of arg_groups.def (helpers of several functions).\n"
		" *                       It exists only if EVERY row of <who> has that argument at that position. So an argument of ops.def\n"
		" *                       that is renamed, inserted or missing from one of the rows moves every reader or stops the build.\n"
		" *   N_<argument>        the name itself, for functions whose rows differ: op_arg(op, N_dim), node_arg(n, N_dim). */\n";
	struct arg_groups *all = xmalloc(sizeof *all);
	groups_make(all, args);
	sb_puts(out, contract);
	sb_puts(
		out, "#ifndef SCATTERPROOF_OP_ARGS_H\n#define SCATTERPROOF_OP_ARGS_H\n\n#include \"generated/op_input.h\"\n\nenum arg_name {\n");
	arg_names(out, args, "\tN_%s,\n");
	sb_puts(out, "\tNARGNAMES\n};\n\nenum arg_place {\n");
	all_places(out, all, args, false);
	sb_puts(out, "};\n\n#endif\n");
	free(all);
}

void opgen_arg_places(struct strbuf *out, const struct row_args *args)
{
	sb_puts(out, "\nconst signed char op_arg_place[][MAX_ARG_NAMES] = { /* position + 1; 0: the row has none */\n");
	for (int i = 0; i < opgen_nrows; i++) {
		sb_puts(out, "\t{");
		for (int k = 0; k < args[i].n; k++)
			sb_printf(out, "%s[N_%s] = %d", k ? ", " : "", args[i].name[k], k + 1);
		sb_puts(out, args[i].n ? "},\n" : "0},\n");
	}
	sb_puts(out,
		"};\n_Static_assert((int)NARGNAMES <= (int)MAX_ARG_NAMES, "
		"\"MAX_ARG_NAMES\");\n");
}
