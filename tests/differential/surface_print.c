/* surface_print.c: what surface_check.py reads. For each program of the files, or generated: its text, and for each surface the Python
 * that is sent, after a line that says which alternative of spellings.def wrote which row.
 *     surface_print FILE…              surface_print N SEED [POLICY]
 *     surface_print each N SEED        N programs per row; first, what should be written at all */
#include "compiled/targets/torch/emit_python.h"
#include "compiled/targets/torch/spell.h"
#include "fuzz/gen/gen.h"
#include "generated/op_id.h"

#include <stdlib.h>

/* "slice.Tensor/0", and "slice.Tensor/+" where the row went into a statement of several. */
static void print_choices(const struct prog *p)
{
	bool forward[MAX_NODES], cot[MAX_NODES];
	struct spell_plan plan;
	prog_partition(p, forward, cot);
	spell_plan(&plan, p, forward, TDEV_CPU);
	printf("# choices");
	for (int i = 0; i < p->nnode; i++) {
		if (plan.choice[i] >= 0)
			printf(" %s/%d", op_info[p->node[i].op].name, plan.choice[i]);
		if (forward[i] && plan.form[i] != SPELL_ALONE)
			printf(" %s/%s", op_info[p->node[i].op].name, plan.form[i] == SPELL_FOLDED ? "+" : plan.form[i] == SPELL_ASSIGN ? "=" : "+=");
	}
	printf("\n");
}

/* Every alternative of every row, and the statements that several rows become. */
static void print_expected(void)
{
	static const char *const forms[] = {"slice.Tensor/+", "select.int/+", "index.Tensor/+", "copy_/=", "copy_/+=", "index_put_/+="};
	for (int op = 0; op < op_nrows; op++)
		for (int k = 0; k < NSURFACES; k++)
			for (int i = 0; i < spell_alternatives(op, (enum surface)k); i++)
				printf("# expected %s %s/%d\n", surface_name[k], op_info[op].name, i);
	for (int i = 0; i < ARRAY_LEN(forms); i++)
		printf("# expected python %s\n", forms[i]);
}

static void print_program(struct prog *p)
{
	struct strbuf sb;
	sb_init(&sb);
	p->surface = SURFACE_ATEN;
	prog_print(&sb, p);
	printf("# program\n%s", sb.s);
	for (int k = 0; k < NSURFACES; k++) {
		sb_reset(&sb);
		p->surface = (enum surface)k;
		emit_python(&sb, p, TDEV_CPU);
		printf("# python %s\n", surface_name[k]);
		print_choices(p);
		printf("%s", sb.s);
	}
	printf("# end\n");
	sb_free(&sb);
}

static bool print_file(struct arena *a, const char *path)
{
	struct strbuf sb;
	struct err err = {0};
	struct prog p;
	sb_init(&sb);
	bool ok = sb_read_file(&sb, path, MAX_TEXT, &err) && prog_read(&p, a, sb.s, sb.len, READ_LENIENT, &err);
	if (ok)
		print_program(&p);
	else
		fprintf(stderr, "%s:%d:%d: %s\n", path, err.line, err.col, err.msg);
	sb_free(&sb);
	return ok;
}

/* ops NULL: all. False: such programs do not exist. */
static bool generate(struct arena *a, int n, uint64_t seed, const char *policy, const char *ops)
{
	struct policy *pol = xmalloc(sizeof *pol);
	struct policy_limits limits = {.ops = ops};
	int made = 0;
	for (int i = 0; i < n; i++) {
		struct choices c;
		struct prog p;
		struct err err = {0};
		arena_reset(a);
		choices_from_seed(&c, mix64(seed + (uint64_t)(ops ? i : i / POLICY_BLOCK)));
		if (!policy_draw(pol, policy, &limits, &c, &err))
			BUG("%s", err.msg);
		choices_from_seed(&c, mix64(seed + mix64((uint64_t)i)));
		if (gen_program(&p, a, &c, pol, &err)) {
			print_program(&p);
			made++;
		}
	}
	free(pol);
	return made > 0;
}

int main(int argc, char **argv)
{
	struct arena a;
	bool ok = argc > 1;
	arena_init(&a);
	if (argc > 3 && str_eq(argv[1], "each")) {
		print_expected();
		for (int op = 0; op < op_nrows; op++) {
			char ops[128]; /* views in place, and those that do not say so, need what another row made */
			snprintf(ops, sizeof ops, "%s%s", op_info[op].name, op_has(op, T_VIEW) ? ",neg" : "");
			if (op_info[op].family != F_INPUT && op != OP_getitem)
				generate(&a, atoi(argv[2]), (uint64_t)strtoull(argv[3], NULL, 10) + (uint64_t)op, "short", ops);
		}
	} else if (argc > 2 && atoi(argv[1]) > 0) {
		ok = generate(&a, atoi(argv[1]), strtoull(argv[2], NULL, 10), argc > 3 ? argv[3] : "default", NULL);
	} else {
		for (int i = 1; i < argc; i++)
			ok = print_file(&a, argv[i]) && ok;
	}
	arena_free(&a);
	return ok ? 0 : 1;
}
