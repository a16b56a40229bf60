/* rules_test.c: eager's arithmetic, reductions, scans, selections and matrix products on small cases whose answers were worked out
 * with PyTorch 2.11.0. The wide comparison is tests/differential; this one needs no PyTorch and says which rule broke. */
#include "eager/ops/rules.h"
#include "tests/test.h"

#include <math.h>
#include <stdlib.h>

struct expect {
	const char *inputs; /* "f32[2,2] 1 2 3 4; i64[2] 0 1": x0, x1, … contiguous */
	const char *call;   /* the call, without `y = ` */
	const char *out;    /* results: "f32[2] 3 7", several joined by "; "; or "! " and a part of the error */
	const char *grad;   /* gradients of the float operands where result k's cotangent is 1, 2, 3, …; NULL: not asked */
};

static const struct expect expects[] = {
#define CASE(inputs, call, out, grad) {inputs, call, out, grad},
#include "tests/unit/rules_cases.def"
};

struct bench {
	struct prog p;
	struct arena a;
	struct tensor in[4];
	int nin;
	struct tensor *out;
};

/* "f32[2,2] 1 2 3 4" at s; the text of its input row goes to sb. Returns what follows. */
static const char *read_input(struct bench *b, struct strbuf *sb, const char *s)
{
	struct tensor *t = &b->in[b->nin];
	char name[8] = {0};
	s += strspn(s, "; ");
	memcpy(name, s, strcspn(s, "["));
	enum dtype dt;
	CHECK(dtype_find(&dt, name));
	s = strchr(s, '[') + 1;
	int64_t size[MAX_RANK];
	int rank = 0;
	for (; *s != ']'; s += *s == ',') {
		char *end;
		size[rank++] = strtoll(s, &end, 10);
		s = end;
	}
	s++;
	struct meta m;
	meta_make_contiguous(&m, dt, size, rank);
	tensor_new(t, &m, &b->a);
	sb_printf(sb, "x%d = input([", b->nin++);
	for (int d = 0; d < rank; d++)
		sb_printf(sb, "%s%lld", d ? ", " : "", (long long)size[d]);
	sb_printf(sb, "], dtype=%s)\n", name);
	for (int64_t i = 0; i < meta_numel(&m); i++) {
		char *end;
		double v = strtod(s, &end);
		CHECK(end != s);
		s = end;
		if (dtype_is_float(dt))
			dtype_store_f(dt, tensor_at(t, i), v);
		else
			dtype_store_i(dt, tensor_at(t, i), (int64_t)v);
	}
	return s;
}

static void put_values(struct strbuf *sb, const struct tensor *t)
{
	struct meta_iter it;
	if (meta_numel(&t->meta) == 0)
		return;
	meta_iter_start(&it, &t->meta);
	do {
		double v = dtype_load_f(t->meta.dtype, tensor_at(t, it.off));
		if (isnan(v))
			sb_puts(sb, " nan");
		else
			sb_printf(sb, " %.7g", v);
	} while (meta_iter_next(&it, &t->meta));
}

static void put_results(struct strbuf *sb, const struct bench *b, int n)
{
	for (int i = 0; i < n; i++) {
		const struct meta *m = &b->out[i].meta;
		sb_printf(sb, "%s%s[", i ? "; " : "", dtype_info[m->dtype].name);
		for (int d = 0; d < m->rank; d++)
			sb_printf(sb, "%s%lld", d ? "," : "", (long long)m->size[d]);
		sb_putc(sb, ']');
		put_values(sb, &b->out[i]);
	}
}

static bool run_forward(struct bench *b, struct node *n, const struct tensor *const *in, struct err *err)
{
	struct kern_ctx c = {.n = n, .nout = n->nout, .scratch = &b->a, .err = err};
	memcpy(c.in, in, sizeof c.in);
	b->out = ARENA_NEW(&b->a, struct tensor, n->nout);
	for (int i = 0; i < n->nout; i++) {
		tensor_new(&b->out[i], &n->out[i].meta, &b->a);
		memset(b->out[i].base, 0xa5, (size_t)(meta_extent(&b->out[i].meta) * dtype_nbytes(b->out[i].meta.dtype)));
	}
	c.out = b->out;
	return op_kern[n->op](&c);
}

static void run_backward(struct strbuf *sb, struct bench *b, struct node *n, const struct tensor *const *in)
{
	bool arrived[MAX_OUTS];
	memset(arrived, true, sizeof arrived);
	struct grad_ctx c = {.n = n, .out = b->out, .nout = n->nout, .scratch = &b->a, .arrived = arrived};
	memcpy(c.in, in, sizeof c.in);
	struct tensor *gout = ARENA_NEW(&b->a, struct tensor, n->nout), gin[MAX_ARGS];
	for (int i = 0; i < n->nout; i++) {
		struct meta m;
		meta_make_contiguous(&m, b->out[i].meta.dtype, b->out[i].meta.size, b->out[i].meta.rank);
		tensor_new(&gout[i], &m, &b->a);
		for (int64_t k = 0; dtype_is_float(m.dtype) && k < meta_numel(&m); k++)
			dtype_store_f(m.dtype, tensor_at(&gout[i], k), (double)(k + 1));
	}
	c.gout = gout;
	for (int k = 0; k < op_info[n->op].nparam; k++) {
		if (!in[k] || !dtype_is_float(in[k]->meta.dtype))
			continue;
		tensor_new(&gin[k], &in[k]->meta, &b->a);
		c.gin[k] = &gin[k];
	}
	op_grad[n->op](&c);
	for (int k = 0; k < op_info[n->op].nparam; k++) {
		if (!c.gin[k])
			continue;
		sb_puts(sb, sb->len ? ";" : "");
		put_values(sb, c.gin[k]);
	}
}

static void run_case(const struct expect *e)
{
	struct bench b = {.nin = 0};
	struct strbuf text, got;
	struct err err = {0};
	const struct tensor *in[MAX_ARGS] = {0};
	arena_init(&b.a);
	sb_init(&text);
	sb_init(&got);
	sb_puts(&text, "# scatterproof 1\n");
	for (const char *s = e->inputs; *s;)
		s = read_input(&b, &text, s);
	sb_printf(&text, "y = %s\nreturn (x0,)\n", e->call);
	bool ok = prog_read(&b.p, &b.a, text.s, text.len, READ_LENIENT, &err) && prog_infer(&b.p, &err);
	if (ok) {
		struct node *n = &b.p.node[b.p.nnode - 1];
		for (int k = 0; k < op_info[n->op].nparam; k++)
			in[k] = n->arg[k].tag == ARG_TENSOR ? &b.in[n->arg[k].node] : NULL;
		ok = run_forward(&b, n, in, &err);
		if (ok)
			put_results(&got, &b, n->nout);
	}
	if (e->out[0] == '!') {
		EXPECT(!ok && strstr(err.msg, e->out + 2), "%s of %s: '%s', want '%s'", e->call, e->inputs, ok ? got.s : err.msg, e->out);
	} else {
		EXPECT(ok && str_eq(got.s, e->out), "%s of %s: '%s', want '%s'", e->call, e->inputs, ok ? got.s : err.msg, e->out);
		if (ok && e->grad) {
			sb_reset(&got);
			run_backward(&got, &b, &b.p.node[b.p.nnode - 1], in);
			EXPECT(got.len && str_eq(got.s + 1, e->grad), "gradient of %s of %s: '%s', want '%s'", e->call, e->inputs, got.s + 1, e->grad);
		}
	}
	sb_free(&text);
	sb_free(&got);
	arena_free(&b.a);
}

static void test_cases(void)
{
	for (int i = 0; i < ARRAY_LEN(expects); i++)
		run_case(&expects[i]);
}

int main(void)
{
	RUN(test_cases);
	return TEST_END();
}
