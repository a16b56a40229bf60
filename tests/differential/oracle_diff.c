/* oracle_diff.c: the C side of the reference's differential test against PyTorch (oracle_diff.py).
 *
 *   request  "PROG <bytes of text> <storages> <outputs> <gradients>\n", the text, then a line of hex per input storage, per output and per
 *            gradient as PyTorch gave them ("-": no bytes, "?": PyTorch raised or gives None). PyTorch's storages of inputs after the
 *            call follow.
 *   answer   "RAISE <text>", "UNSUP <text>", or per tensor
 *            "OUT|GRAD|STORE <k> <dtype> <sizes> <strides> <memory> <requires_grad> <agree> <undecided> <disagree> <exact> <weak>
 *            <sample>"; a gradient that is None: "NONE <k>". Then "END".
 *
 * Only the input rows' metas are inferred: no shape rule of eager has a say. */
#include "oracle/judge/compare.h"
#include "eager/lang/fill.h"
#include "fuzz/triage/profile.h"
#include "generated/op_id.h"

#include <inttypes.h>
#include <stdlib.h>

enum { MAX_TENSORS = 128 };
struct hex {
	int64_t n;
	unsigned char *b;
	bool none;
};
static struct hex storage_data[MAX_TENSORS]; /* read by the data of inputs, which is put in place of fill_storage by the linker */

void *__wrap_fill_storage(const struct prog *p, int storage, struct arena *a);
void *__wrap_fill_storage(const struct prog *p, int storage, struct arena *a)
{
	int64_t want = prog_storage_cells(p, storage);
	void *out = arena_zalloc(a, (size_t)(want * 8 + 8));
	memcpy(out, storage_data[storage].b, (size_t)storage_data[storage].n);
	return out;
}

/* The reader infers shapes as it reads, by eager's rules; here it learns only how many results a node may have. */
bool __real_prog_infer_or_refuse(struct prog *p, int node, struct err *err);
bool __wrap_prog_infer_or_refuse(struct prog *p, int node, struct err *err);
bool __wrap_prog_infer_or_refuse(struct prog *p, int node, struct err *err)
{
	struct node *n = &p->node[node];
	if (n->op == OP_input)
		return __real_prog_infer_or_refuse(p, node, err);
	n->nout = op_info[n->op].nret < 0 ? MAX_OUTS : MAX(op_info[n->op].nret, 1);
	n->out = ARENA_ZNEW(p->arena, struct value, n->nout);
	return true;
}

bool __wrap_prog_validate(const struct prog *p, struct err *err);
bool __wrap_prog_validate(const struct prog *p, struct err *err)
{
	(void)p;
	(void)err;
	return true; /* it would infer again */
}

static struct hex read_hex(struct arena *a)
{
	struct strbuf sb;
	int ch;
	sb_init(&sb);
	while ((ch = getchar()) != EOF && ch != '\n')
		sb_putc(&sb, (char)ch);
	struct hex h = {.none = str_eq(sb.s, "?")};
	if (!h.none && !str_eq(sb.s, "-"))
		h.n = (int64_t)sb.len / 2;
	h.b = arena_zalloc(a, (size_t)h.n + 1);
	for (int64_t i = 0; i < h.n; i++) {
		char b[3] = {sb.s[2 * i], sb.s[2 * i + 1], 0};
		h.b[i] = (unsigned char)strtoul(b, NULL, 16);
	}
	sb_free(&sb);
	return h;
}

static void put_list(const int64_t *v, int n)
{
	putchar('[');
	for (int i = 0; i < n; i++)
		printf("%s%" PRId64, i ? "," : "", v[i]);
	printf("] ");
}

static void put_compared(const struct num *val, int64_t n, const struct meta *m, const struct hex *got)
{
	struct compared c = {0};
	if (got->n != n * dtype_nbytes(m->dtype)) {
		printf("0 0 1 0 0 bytes: %" PRId64 " for %" PRId64 " elements\n", got->n, n);
		return;
	}
	compare_values(&c, val, n, m, got->b, NULL, 0);
	printf("%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " ", c.count[EL_AGREE], c.count[EL_UNDECIDED], c.count[EL_DISAGREE],
		c.exact, c.weak);
	if (c.nsample)
		printf("element %" PRId64 " want [%.17g, %.17g] flags %d got %.17g", c.sample[0].index, c.sample[0].low, c.sample[0].high,
			c.sample[0].flags, c.sample[0].got);
	putchar('\n');
}

static void put_value(const char *what, int k, const struct ref_value *v, const struct hex *got)
{
	printf("%s %d %s ", what, k, dtype_info[v->meta.dtype].name);
	put_list(v->meta.size, v->meta.rank);
	put_list(v->meta.stride, v->meta.rank);
	printf("%d %d ", v->memory, v->requires_grad);
	put_compared(v->val, v->n, &v->meta, got);
}

static void answer(const struct reference *r, const struct hex *out, const struct hex *grad, const struct hex *after)
{
	for (int k = 0; k < r->nouts; k++)
		if (!out[k].none)
			put_value("OUT", k, &r->out[k], &out[k]);
	for (int k = 0; k < r->ngrads; k++) {
		if (!r->grad[k].present)
			printf("NONE %d\n", k);
		else if (!grad[k].none)
			put_value("GRAD", k, &r->grad[k], &grad[k]);
	}
	for (int k = 0; k < r->nstorages; k++) {
		if (after[k].none)
			continue;
		struct meta m;
		meta_make_contiguous(&m, r->storage[k].dtype, &r->storage[k].n, 1);
		printf("STORE %d %s [] [] %d 0 ", k, dtype_info[m.dtype].name, k);
		put_compared(r->storage[k].val, r->storage[k].n, &m, &after[k]);
	}
}

static bool serve(const struct licence_profile *l)
{
	int ntext, nstorage, nout, ngrad;
	if (scanf(" PROG %d %d %d %d", &ntext, &nstorage, &nout, &ngrad) != 4)
		return false;
	getchar();
	CHECK(nstorage <= MAX_TENSORS && nout <= MAX_TENSORS && ngrad <= MAX_TENSORS);
	struct arena a;
	struct err err = {0};
	struct prog p;
	struct reference ref;
	struct hex out[MAX_TENSORS], grad[MAX_TENSORS], after[MAX_TENSORS];
	arena_init(&a);
	char *text = arena_zalloc(&a, (size_t)ntext + 1);
	CHECK(fread(text, 1, (size_t)ntext, stdin) == (size_t)ntext);
	bug_context(text);
	for (int k = 0; k < nstorage; k++)
		storage_data[k] = read_hex(&a);
	for (int k = 0; k < nout; k++)
		out[k] = read_hex(&a);
	for (int k = 0; k < ngrad; k++)
		grad[k] = read_hex(&a);
	for (int k = 0; k < nstorage; k++)
		after[k] = read_hex(&a);
	bool ok = prog_read(&p, &a, text, (size_t)ntext, READ_LENIENT, &err);
	if (!ok) {
		printf("BAD %d:%d: %s\n", err.line, err.col, err.msg);
	} else {
		enum ref_status s = ref_run(&ref, &p, l, TAPE_LIMITS_DEFAULT, &a, &err);
		if (s == REF_OK)
			answer(&ref, out, grad, after);
		else
			printf("%s %s\n", s == REF_RAISES ? "RAISE" : "UNSUP", ref.message);
	}
	printf("END\n");
	fflush(stdout);
	bug_context(NULL);
	arena_free(&a);
	return true;
}

/* oracle_diff [target]: the licence profile to judge by. */
int main(int argc, char **argv)
{
	struct licence_profile *l = xmalloc(sizeof *l);
	if (!profile_named(l, argc > 1 ? argv[1] : "torch:eager@cpu"))
		return 2;
	while (serve(l))
		;
	free(l);
	return 0;
}
