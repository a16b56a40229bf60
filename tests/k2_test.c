/* k2_test.c: shape rules, kernels and derivatives of views, copies, scatters and gathers, one call each, against answers that
 * PyTorch gave (k2_cases.def, made by k2_cases.py). Strides of dims of size <= 1 are shown as 0. */
#include "eager/ops/rules.h"
#include "tests/test.h"
#include "generated/op_id.h"

static const struct {
	const char *op, *program, *want;
} cases[] = {
#define CASE(op, program, want) {op, program, want},
#include "tests/k2_cases.def"
};

struct run {
	struct prog p;
	struct arena a;
	struct tensor value[MAX_LIST];
	struct strbuf said;
};

static int64_t input_int(const struct node *n, const char *name) { return node_int(n, op_param(OP_input, name)); }

/* Cell c holds (7 * c + seed) % high, or c. */
static void make_input(struct run *r, int i)
{
	const struct node *n = &r->p.node[i];
	struct tensor *t = &r->value[i];
	int64_t high = input_int(n, "high"), seed = input_int(n, "seed"), cells = meta_extent(&n->out[0].meta);
	t->meta = n->out[0].meta;
	t->base = arena_zalloc(&r->a, (size_t)(cells + 1) * 8);
	for (int64_t c = 0; c < cells; c++) {
		int64_t v = high ? (7 * c + seed) % high : c;
		if (dtype_is_float(t->meta.dtype))
			dtype_store_f(t->meta.dtype, tensor_at(t, c), (double)v);
		else
			dtype_store_i(t->meta.dtype, tensor_at(t, c), v);
	}
}

static void say_values(struct run *r, const struct tensor *t)
{
	struct meta_iter it;
	if (meta_numel(&t->meta) == 0)
		return;
	meta_iter_start(&it, &t->meta);
	bool first = true;
	do {
		sb_printf(&r->said, "%s%.6g", first ? "" : " ", dtype_load_f(t->meta.dtype, tensor_at(t, it.off)));
		first = false;
	} while (meta_iter_next(&it, &t->meta));
}

static void say_result(struct run *r, const struct tensor *t)
{
	struct meta m = t->meta;
	int64_t numel = meta_numel(&m);
	for (int d = 0; d < m.rank; d++)
		if (m.size[d] <= 1 || numel == 0)
			m.stride[d] = 0;
	meta_print(&r->said, &m);
	sb_printf(&r->said, "@%" PRId64 ": ", numel ? m.offset : 0);
	say_values(r, t);
	sb_putc(&r->said, '\n');
}

struct operands {
	const struct tensor *in[MAX_ARGS];
	const struct tensor **list[MAX_ARGS];
};

static void gather_operands(struct operands *o, struct run *r, const struct node *n)
{
	for (int k = 0; k < op_info[n->op].nparam; k++) {
		const struct arg *a = &n->arg[k];
		if (a->tag == ARG_TENSOR)
			o->in[k] = &r->value[a->node];
		if (a->tag != ARG_TENSORS)
			continue;
		o->list[k] = ARENA_ZNEW(&r->a, const struct tensor *, a->n + 1);
		for (int i = 0; i < a->n; i++)
			o->list[k][i] = a->nodes[i] < 0 ? NULL : &r->value[a->nodes[i]];
	}
}

static bool compute(struct run *r, struct tensor *out, const struct operands *o, struct err *err)
{
	const struct node *n = &r->p.node[r->p.nnode - 1];
	struct kern_ctx c = {.n = n, .out = out, .nout = n->nout, .scratch = &r->a, .err = err};
	bool fresh = false;
	memcpy(c.in, o->in, sizeof c.in);
	for (int k = 0; k < MAX_ARGS; k++)
		c.list[k] = o->list[k];
	for (int i = 0; i < n->nout; i++) {
		out[i].meta = n->out[i].meta;
		for (int j = 0; j < r->p.nnode - 1; j++)
			if (r->p.node[j].out[0].storage == n->out[i].storage)
				out[i].base = r->value[j].base;
		if (out[i].base)
			continue;
		fresh = true;
		size_t nbytes = (size_t)meta_extent(&out[i].meta) * 8 + 8;
		out[i].base = arena_alloc(&r->a, nbytes);
		memset(out[i].base, 0x5a, nbytes);
	}
	return !fresh || op_kern[n->op](&c);
}

static struct tensor *gradient_room(struct run *r, const struct tensor *t)
{
	if (!t || !dtype_is_float(t->meta.dtype))
		return NULL;
	struct meta m;
	struct tensor *g = ARENA_NEW(&r->a, struct tensor, 1);
	meta_make_contiguous(&m, t->meta.dtype, t->meta.size, t->meta.rank);
	tensor_new(g, &m, &r->a);
	return g;
}

static void differentiate(struct run *r, const struct tensor *out, const struct operands *o)
{
	const struct node *n = &r->p.node[r->p.nnode - 1];
	struct grad_ctx c = {.n = n, .out = out, .nout = 1, .scratch = &r->a};
	struct tensor *gout = gradient_room(r, out), *room[MAX_LIST];
	int nroom = 0, node[MAX_LIST];
	memcpy(c.in, o->in, sizeof c.in);
	for (int k = 0; k < MAX_ARGS; k++)
		c.list[k] = o->list[k];
	for (int64_t i = 0; i < meta_numel(&gout->meta); i++)
		dtype_store_f(gout->meta.dtype, tensor_at(gout, i), (double)(i + 1));
	c.gout = gout;
	for (int k = 0; k < op_info[n->op].nparam; k++) {
		const struct arg *a = &n->arg[k];
		if ((c.gin[k] = gradient_room(r, o->in[k]))) {
			room[nroom] = c.gin[k];
			node[nroom++] = a->node;
		}
		if (a->tag != ARG_TENSORS)
			continue;
		c.glist[k] = ARENA_ZNEW(&r->a, struct tensor *, a->n + 1);
		for (int i = 0; i < a->n; i++)
			if ((c.glist[k][i] = gradient_room(r, o->list[k][i]))) {
				room[nroom] = c.glist[k][i];
				node[nroom++] = a->nodes[i];
			}
	}
	op_grad[n->op](&c);
	/* An operand named twice has one gradient. */
	for (int i = 0; i < nroom; i++) {
		struct tensor sum = *room[i];
		if (i > 0 && node[i] == node[i - 1])
			continue;
		for (int j = i + 1; j < nroom; j++)
			for (int64_t k = 0; node[j] == node[i] && k < meta_numel(&sum.meta); k++)
				dtype_store_f(sum.meta.dtype, tensor_at(&sum, k),
					dtype_load_f(sum.meta.dtype, tensor_at(&sum, k)) + dtype_load_f(sum.meta.dtype, tensor_at(room[j], k)));
		sb_printf(&r->said, "grad %s: ", r->p.node[node[i]].name);
		say_values(r, &sum);
		sb_putc(&r->said, '\n');
	}
}

static bool go(struct run *r, const char *program, struct err *err)
{
	struct tensor out[MAX_OUTS] = {0};
	struct operands o = {0};
	if (!prog_read(&r->p, &r->a, program, strlen(program), READ_LENIENT, err) || !prog_infer(&r->p, err))
		return false;
	const struct node *n = &r->p.node[r->p.nnode - 1];
	for (int i = 0; i < r->p.nnode - 1; i++)
		make_input(r, i);
	gather_operands(&o, r, n);
	if (!compute(r, out, &o, err))
		return false;
	for (int i = 0; i < n->nout; i++)
		say_result(r, &out[i]);
	if (!op_has(n->op, T_VIEW | T_NONDIFF) && dtype_is_float(out[0].meta.dtype))
		differentiate(r, out, &o);
	return true;
}

/* "error: " and PyTorch's text, which ours contains: it has the operator's name in front. */
static bool said_error(const char *want, const struct err *err)
{
	char text[MAX_ERR + 16];
	snprintf(text, sizeof text, "%s", want + strlen("error: "));
	size_t n = strlen(text);
	text[n ? n - 1 : 0] = 0;
	return strstr(err->msg, text) != NULL;
}

static void test_cases(void)
{
	for (int i = 0; i < ARRAY_LEN(cases); i++) {
		struct run r = {0};
		struct err err = {0};
		arena_init(&r.a);
		sb_init(&r.said);
		bool ok = go(&r, cases[i].program, &err);
		if (str_starts(cases[i].want, "error: "))
			EXPECT(!ok && said_error(cases[i].want, &err), "%s\ngot '%s', want %s", cases[i].program, err.msg, cases[i].want);
		else
			EXPECT(ok && str_eq(r.said.s, cases[i].want), "%s%s\ngot:\n%swant:\n%s", cases[i].program, err.msg, r.said.s, cases[i].want);
		sb_free(&r.said);
		arena_free(&r.a);
	}
}

/* What PyTorch cannot be asked in one call. */
static void test_refusals(void)
{
	static const struct {
		const char *program, *want;
	} bad[] = {
		{"x = input([2, 3], stride=[1])\nreturn (x,)\n", "1 strides for 2 sizes"},
		{"x = input([2], stride=[-1])\nreturn (x,)\n", "stride -1 of dim 0 is negative"},
		{"x = input([2], dtype=i64, requires_grad=True)\nreturn (x,)\n", "only Tensors of floating point dtype can require gradients"},
		{"x = input([3], dtype=i64, fill=\"unique\", high=2)\nreturn (x,)\n", "fill=unique needs 3 different values"},
		{"x = input([3], dtype=f32, fill=\"index\", high=2)\nreturn (x,)\n", "fill=index needs an integer dtype"},
		{"x = input([3])\ny = alias(x)\nz = input_view(y, [2], [1])\nreturn (z,)\n", "is not an input"},
		{"x = input([3])\nz = input_view(x, [2], [1], 2)\nreturn (z,)\n", "out of bounds for storage of size 12"},
		{"x = input([40])\ny = unbind.int(x)\nreturn (x,)\n", "40 results exceed the limit 32"},
		{"x = input([3])\ny = unbind.int(x)\nz = getitem(y, 3)\nreturn (z,)\n", "tuple index 3 out of range"},
		{"x = input([3])\nm = input([3], dtype=b8)\ny = index.Tensor(x, [m])\nreturn (y,)\n", "data-dependent"},
	};
	for (int i = 0; i < ARRAY_LEN(bad); i++) {
		struct arena a;
		struct prog p;
		struct err err = {0};
		char text[512];
		arena_init(&a);
		snprintf(text, sizeof text, "# scatterproof 1\n%s", bad[i].program);
		bool ok = prog_read(&p, &a, text, strlen(text), READ_LENIENT, &err) && prog_infer(&p, &err);
		EXPECT(!ok && strstr(err.msg, bad[i].want), "%sgot '%s', want '%s'", text, err.msg, bad[i].want);
		arena_free(&a);
	}
}

int main(void)
{
	RUN(test_cases);
	RUN(test_refusals);
	return TEST_END();
}
