/* short_print.c: the short scripts of programs, each of which must end with 0 on a target that is right: what they compare with is stated
 * in them, from the reference's numbers, so a spelling that says something else is found.
 *   short_print TARGET DIR FILE...     writes DIR/NAME_TENSOR.py per output and gradient, and prints "NAME TENSOR: why there is none" */
#include "compiled/targets/driver.h"
#include "eager/lang/names.h"
#include "fuzz/triage/profile.h"
#include "oracle/judge/judge.h"

#include <inttypes.h>
#include <libgen.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The middle of each element's set, as a nested list. NULL: one of them is not known. */
static const char *middles(const struct ref_value *v, struct arena *a)
{
	struct strbuf sb;
	bool known = v->present;
	sb_init(&sb);
	for (int d = 0; d < v->meta.rank; d++)
		sb_putc(&sb, '[');
	for (int64_t k = 0; k < v->n && known; k++) {
		const struct num *x = &v->val[k];
		known = !(x->flags & NUM_UNDEC) && (x->flags & NUM_NOFIN || !(x->flags & NUM_SPECIAL));
		int64_t block = v->n;
		for (int d = 0; d < v->meta.rank && k; d++) { /* a new row of dimension d begins */
			block /= v->meta.size[d];
			if (k % block == 0) {
				for (int e = d; e < v->meta.rank - 1; e++)
					sb_putc(&sb, ']');
				sb_puts(&sb, ", ");
				for (int e = d; e < v->meta.rank - 1; e++)
					sb_putc(&sb, '[');
				break;
			}
		}
		if (!dtype_is_float(v->meta.dtype))
			sb_printf(&sb, "%" PRId64, x->i);
		else if (isfinite(x->hi))
			sb_printf(&sb, "%.17g", x->hi + x->lo);
		else
			sb_printf(&sb, "float('%s')", isnan(x->hi) ? "nan" : x->hi < 0 ? "-inf" : "inf");
	}
	for (int d = 0; d < v->meta.rank; d++)
		sb_putc(&sb, ']');
	const char *text = known && v->n ? arena_strdup(a, sb.s) : NULL;
	sb_free(&sb);
	return text;
}

static void print_one(const struct ref_value *v, struct script_look look, const struct prog *p, const struct target *t, const char *dir,
	const char *name, struct arena *a)
{
	struct strbuf sb;
	struct err err = {0};
	look.expected = middles(v, a);
	look.beside_right = true;
	sb_init(&sb);
	if (!look.expected)
		err_set(&err, "the reference does not know every element");
	const char *tensor = arena_printf(a, "%s_%d", look.at == LOOK_OUTPUT ? "out" : "grad", look.index);
	if (look.expected && t->driver->script->brief(&sb, &look, p, t, a, &err)) {
		const char *path = arena_printf(a, "%s/%s_%s.py", dir, name, tensor);
		if (!sb_write_file(path, &sb, &err)) {
			fprintf(stderr, "%s\n", err.msg);
			exit(2);
		}
	} else {
		printf("%s %s: %s\n", name, tensor, err.msg);
	}
	sb_free(&sb);
}

static void print_all(const char *path, const struct licence_profile *l, const struct target *t, const char *dir)
{
	struct arena a;
	struct strbuf sb;
	struct err err = {0};
	struct judge_case jc;
	arena_init(&a);
	sb_init(&sb);
	struct prog *p = ARENA_ZNEW(&a, struct prog, 1);
	if (!sb_read_file(&sb, path, 1 << 20, &err) || !prog_read(p, &a, sb.s, sb.len, READ_LENIENT, &err)) {
		fprintf(stderr, "%s:%d:%d: %s\n", path, err.line, err.col, err.msg);
		exit(2);
	}
	const char *base = basename(arena_strdup(&a, path)), *name = arena_printf(&a, "%.*s", (int)(strlen(base) - strlen(".prog")), base);
	p->surface = SURFACE_PYTHON;
	prog_name_nodes(p);
	if (!judge_prepare(&jc, p, l, TAPE_LIMITS_DEFAULT, &a) || jc.ref[0].status != REF_OK) {
		printf("%s: the reference gives nothing\n", name);
	} else {
		for (int k = 0; k < jc.ref[0].nouts; k++)
			print_one(&jc.ref[0].out[k], (struct script_look){.at = LOOK_OUTPUT, .index = k}, p, t, dir, name, &a);
		for (int k = 0; k < jc.ref[0].ngrads; k++)
			print_one(&jc.ref[0].grad[k], (struct script_look){.at = LOOK_GRADIENT, .index = k}, p, t, dir, name, &a);
	}
	sb_free(&sb);
	arena_free(&a);
}

int main(int argc, char **argv)
{
	struct target t;
	struct licence_profile l;
	struct err err = {0};
	if (argc < 4 || !target_parse(&t, argv[1], &err) || !profile_of(&l, &t) || !t.driver->script || !t.driver->script->brief) {
		fprintf(stderr, "usage: short_print TARGET DIR FILE...\n%s\n", err.msg);
		return 2;
	}
	for (int i = 3; i < argc; i++)
		print_all(argv[i], &l, &t, argv[2]);
	return 0;
}
