/* planted_test.c: programs that state which errors must be seen in their results, in comments:
 *
 *     # plant: grad 0 [3] = 7: gradient         element 3 of gradient 0 becomes 7; the finding's kind is "gradient"
 *     # plant: out 0 [0] += 1: value            ("all" for all elements)
 *     # plant: grad 1 shares grad 0: alias      or out K, storage K
 *     # plant: out 1 offset 1: alias
 *     # plant: out 0 stride 1 = 7: meta         of dim 1
 *     # plant: out 0 requires_grad: none-ness   the flag is turned round
 *     # plant: out 0 [0] += 0.1: suspect        no finding, but noticed; *= 1.5 is a factor
 *
 *     # plant: out 0 [0] = 0.3: pass          this is right, too
 *     # plant: nothing: unjudged              the verdict of the result as it is
 *
 *     # as: torch:inductor                    whose result it is taken for (torch:eager, on the CPU)
 *
 * builtin:eager runs the program, its result must pass as that target's would; then each error is planted, one at a time.
 * usage: planted_test FILE... */
#include "eager/run/interp.h"
#include "fuzz/triage/verdict.h"
#include "tests/test.h"

#include <stdlib.h>


static struct outcome judged(const struct prog *p, const struct result *r, const char *text, struct arena *a)
{
	struct target t;
	struct outcome o;
	struct err err = {0};
	const char *as = strstr(text, "# as: ");
	char name[64];
	snprintf(name, sizeof name, "%.*s", as ? (int)strcspn(as + 6, "\n") : 11, as ? as + 6 : "torch:eager");
	EXPECT(target_parse(&t, name, &err), "%s", err.msg);
	outcome_of(&o, p, r, &t, NULL, a);
	return o;
}

static struct result_tensor *tensor_of(struct result *r, const char *role, int k)
{
	struct result_call *c = &r->call[0];
	if (str_eq(role, "out") && k < c->nouts)
		return &c->out[k];
	return str_eq(role, "grad") && k < c->ngrads ? &c->grad[k] : NULL;
}

static void change(struct result_tensor *t, int64_t at, const char *op, double by)
{
	unsigned char *e = (unsigned char *)(uintptr_t)t->data + at * dtype_nbytes(t->meta.dtype);
	bool add = op[0] == '+', times = op[0] == '*';
	double was = dtype_load_f(t->meta.dtype, e);
	if (dtype_is_float(t->meta.dtype))
		dtype_store_f(t->meta.dtype, e, add ? was + by : times ? was * by : by);
	else
		dtype_store_i(t->meta.dtype, e, add ? dtype_load_i(t->meta.dtype, e) + (int64_t)by : (int64_t)by);
}

/* "grad 1 shares grad 0: alias" and its likes; false: not understood. */
static bool spoil(struct result *r, const char *text, char kind[32])
{
	char role[16], where[16], op[16], value[32], other[16];
	int k, j;
	struct result_tensor *t;
	if (sscanf(text, "%15s %d shares %15s %d: %31s", role, &k, other, &j, kind) == 5 && (t = tensor_of(r, role, k))) {
		struct result_tensor *with = tensor_of(r, other, j);
		t->storage = str_eq(other, "storage") ? j : with ? with->storage : -1;
		return t->storage >= 0;
	}
	if (sscanf(text, "%15s %d offset %d: %31s", role, &k, &j, kind) == 4 && (t = tensor_of(r, role, k))) {
		t->meta.offset = j;
		return true;
	}
	if (sscanf(text, "%15s %d stride %d = %15[0-9]: %31s", role, &k, &j, value, kind) == 5 && (t = tensor_of(r, role, k))
		&& j < t->meta.rank) {
		t->meta.stride[j] = atoi(value);
		return true;
	}
	if (sscanf(text, "%15s %d requires_grad: %31s", role, &k, kind) == 3 && (t = tensor_of(r, role, k))) {
		t->requires_grad = !t->requires_grad;
		return true;
	}
	if (sscanf(text, "%15s %d [%15[0-9a-z]] %15s %31[^:]: %31s", role, &k, where, op, value, kind) != 6 || !(t = tensor_of(r, role, k)))
		return false;
	bool all = str_eq(where, "all");
	int64_t n = meta_numel(&t->meta), at = all ? 0 : atoi(where);
	if (!t->present || at >= n)
		return false;
	for (int64_t i = at; i < (all ? n : at + 1); i++)
		change(t, i, op, strtod(value, NULL));
	return true;
}

static int check_file(const char *path)
{
	struct strbuf text;
	struct err err = {0};
	struct arena a;
	struct prog p;
	struct result r;
	int planted = 0;
	sb_init(&text);
	arena_init(&a);
	bool read = sb_read_file(&text, path, MAX_TEXT, &err) && prog_read(&p, &a, text.s, text.len, READ_LENIENT, &err);
	EXPECT(read, "%s:%d:%d: %s", path, err.line, err.col, err.msg);
	for (const char *s = read ? strstr(text.s, "# plant: ") : NULL; s; s = strstr(s + 1, "# plant: ")) {
		char line[200], kind[32] = "";
		snprintf(line, sizeof line, "%.*s", (int)strcspn(s + 9, "\n"), s + 9);
		EXPECT(interp_run(&r, &p, &a, NULL, &err) == INTERP_OK, "%s: %s", path, err.msg);
		struct outcome clean = judged(&p, &r, text.s, &a);
		planted++;
		if (sscanf(line, "nothing: %31s", kind) == 1) {
			EXPECT_STR(verdict_name[clean.verdict], kind);
			continue;
		}
		EXPECT(clean.verdict == VD_PASS, "%s: without a plant: %s: %s", path, verdict_name[clean.verdict], clean.why);
		EXPECT(spoil(&r, line, kind), "%s: not understood: %s", path, line);
		struct outcome o = judged(&p, &r, text.s, &a);
		bool seen = str_eq(kind, "suspect") ? o.verdict == VD_PASS && o.all.suspect > 0
			: str_eq(kind, "pass")          ? o.verdict == VD_PASS
											: o.verdict == VD_MISMATCH && str_eq(finding_kind_name[o.kind], kind);
		EXPECT(seen, "%s: %s: %s, %s, %s", path, line, verdict_name[o.verdict], o.verdict == VD_MISMATCH ? finding_kind_name[o.kind] : "",
			o.why);
	}
	arena_free(&a);
	sb_free(&text);
	return planted;
}

int main(int argc, char **argv)
{
	int planted = 0;
	for (int i = 1; i < argc; i++)
		planted += check_file(argv[i]);
	printf("%d errors planted in %d programs\n", planted, argc - 1);
	EXPECT(planted > 30, "too few");
	return TEST_END();
}
