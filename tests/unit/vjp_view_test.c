/* vjp_view_test.c: the derivative rules of views, which eager's sweep never asks. For random views, the nodes that a rule appends compute
 * what the sweep finds in the base's adjoint memory. */
#include "eager/ops/vjp.h"
#include "eager/run/interp.h"
#include "generated/op_args.h"
#include "generated/op_id.h"
#include "tests/test.h"

enum { TRIES = 400 };

static struct arena arena;
static uint64_t state;
static int64_t below(int64_t n) { return (int64_t)(mix64(++state) % (uint64_t)n); }

struct shape {
	int rank;
	int64_t size[4];
};

/* A few sizes, 0 and 1 among them. */
static struct shape random_shape(void)
{
	static const int64_t sizes[] = {1, 2, 3, 4, 5, 1, 0};
	struct shape s = {.rank = (int)below(5)};
	for (int d = 0; d < s.rank; d++)
		s.size[d] = sizes[below(below(8) ? 6 : 7)];
	return s;
}

static void put_ints(struct strbuf *sb, const int64_t *v, int n)
{
	sb_putc(sb, '[');
	for (int i = 0; i < n; i++)
		sb_printf(sb, "%s%" PRId64, i ? ", " : "", v[i]);
	sb_putc(sb, ']');
}

/* x: dense in a random order of dims, sometimes with gaps, a repeating dim, an offset. */
static void put_input(struct strbuf *sb, const struct shape *s)
{
	int64_t stride[4] = {0}, next = 1 + (below(4) == 0);
	bool done[4] = {0};
	for (int k = 0; k < s->rank; k++) {
		int d = (int)below(s->rank);
		while (done[d])
			d = (d + 1) % s->rank;
		done[d] = true;
		stride[d] = below(12) ? next : 0;
		next *= s->size[d] ? s->size[d] : 1;
	}
	sb_puts(sb, "x = input(");
	put_ints(sb, s->size, s->rank);
	sb_puts(sb, ", stride=");
	put_ints(sb, stride, s->rank);
	sb_printf(sb, ", offset=%" PRId64 ", seed=1, requires_grad=True)\n", below(3));
}

static int64_t any_dim(const struct shape *s) { return s->rank ? below(2 * s->rank) - s->rank : 0; }

static void put_dims(struct strbuf *sb, const char *name, const struct shape *s)
{
	int64_t a = any_dim(s), b = any_dim(s);
	sb_printf(sb, "%s(x, %" PRId64 ", %" PRId64 ")", name, a, b);
}

static void put_permute(struct strbuf *sb, const struct shape *s)
{
	int64_t dims[4];
	for (int d = 0; d < s->rank; d++)
		dims[d] = d;
	for (int d = s->rank - 1; d > 0; d--) {
		int other = (int)below(d + 1);
		int64_t t = dims[d];
		dims[d] = dims[other] - (below(2) ? s->rank : 0);
		dims[other] = t;
	}
	sb_puts(sb, "permute(x, ");
	put_ints(sb, dims, s->rank);
	sb_putc(sb, ')');
}

static void put_expand(struct strbuf *sb, const struct shape *s)
{
	int64_t size[5];
	int more = (int)below(2);
	for (int k = 0; k < more; k++)
		size[k] = below(4);
	for (int d = 0; d < s->rank; d++)
		size[more + d] = s->size[d] == 1 ? below(4) : below(2) ? -1 : s->size[d];
	sb_puts(sb, "expand(x, ");
	put_ints(sb, size, more + s->rank);
	sb_putc(sb, ')');
}

static void put_view(struct strbuf *sb, const char *name, const struct shape *s)
{
	int64_t size[5], keep = s->rank ? below(s->rank) : 0;
	for (int d = 0; d < keep; d++)
		size[d] = s->size[d];
	size[keep] = -1;
	sb_printf(sb, "%s(x, ", name);
	put_ints(sb, size, (int)keep + 1);
	sb_putc(sb, ')');
}

static void put_as_strided(struct strbuf *sb)
{
	int64_t size[3], stride[3];
	int rank = (int)below(4);
	for (int d = 0; d < rank; d++) {
		size[d] = 1 + below(3);
		stride[d] = below(4);
	}
	sb_puts(sb, "as_strided(x, ");
	put_ints(sb, size, rank);
	sb_puts(sb, ", ");
	put_ints(sb, stride, rank);
	sb_printf(sb, below(2) ? ", %" PRId64 ")" : ")", below(3));
}

/* Pieces of d, the last what is left of it; in one call of four, one cell too many. */
static void put_pieces(struct strbuf *sb, const char *name, const struct shape *s, int64_t d)
{
	int64_t left = s->rank ? s->size[d < 0 ? d + s->rank : d] : 1, size[3];
	int count = 1 + (int)below(3);
	for (int k = 0; k < count; k++) {
		size[k] = k == count - 1 ? left : below(left + 1);
		left -= size[k];
	}
	size[0] += !below(4);
	sb_printf(sb, "%s(x, ", name);
	put_ints(sb, size, count);
	sb_printf(sb, ", %" PRId64 ")", d);
}

/* The call; whether its arguments make sense is the shape rule's business. */
static void put_call(struct strbuf *sb, int op, const struct shape *s)
{
	const char *name = op_info[op].name;
	int64_t d = any_dim(s);
	switch (op) {
	case OP_alias:
	case OP_t:
	case OP_squeeze: sb_printf(sb, "%s(x)", name); break;
	case OP_expand: put_expand(sb, s); break;
	case OP_permute: put_permute(sb, s); break;
	case OP_transpose_int: put_dims(sb, name, s); break;
	case OP_unsqueeze:
	case OP_squeeze_dim:
	case OP_unbind_int: sb_printf(sb, "%s(x, %" PRId64 ")", name, d); break;
	case OP_slice_Tensor:
		sb_printf(sb, "%s(x, %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 ")", name, d, below(7) - 3, below(9) - 3, 1 + below(3));
		break;
	case OP_squeeze_dims: sb_printf(sb, "%s(x, [%" PRId64 "])", name, d); break;
	case OP_select_int: sb_printf(sb, "%s(x, %" PRId64 ", %" PRId64 ")", name, d, below(5) - 2); break;
	case OP_view:
	case OP_unsafe_view: put_view(sb, name, s); break;
	case OP_as_strided: put_as_strided(sb); break;
	case OP_diagonal: sb_printf(sb, "%s(x, %" PRId64 ", %" PRId64 ", %" PRId64 ")", name, below(5) - 2, d, any_dim(s)); break;
	case OP_unfold: sb_printf(sb, "%s(x, %" PRId64 ", %" PRId64 ", %" PRId64 ")", name, d, below(4), 1 + below(3)); break;
	case OP_split_with_sizes:
	case OP_unsafe_split_with_sizes: put_pieces(sb, name, s, d); break;
	case OP_unsafe_split_Tensor:
	case OP_split_Tensor: sb_printf(sb, "%s(x, %" PRId64 ", %" PRId64 ")", name, 1 + below(3), d); break;
	default: BUG("%s: no arguments for it", name);
	}
}

/* One random call: x, the call, cotangents of some of its results. */
struct trial {
	struct strbuf inputs, call; /* x and cotangents; `y = ...` */
	struct prog *view;          /* x and y */
	int y, nout;
	bool several, arrives[MAX_OUTS];
};

static struct prog *program_of(const char *a, const char *b, const char *c)
{
	struct prog *p = ARENA_NEW(&arena, struct prog, 1);
	const char *text = arena_printf(&arena, "%s%s%s", a, b, c);
	struct err err = {0};
	return prog_read(p, &arena, text, strlen(text), READ_LENIENT, &err) && prog_infer(p, &err) ? p : NULL;
}

/* False: the shape rule refuses the call. */
static bool trial_make(struct trial *t, int op)
{
	struct shape s = random_shape();
	put_input(&t->inputs, &s);
	sb_puts(&t->call, "y = ");
	put_call(&t->call, op, &s);
	t->view = program_of(t->inputs.s, t->call.s, "\nreturn (x,)\n");
	if (!t->view)
		return false;
	t->y = prog_find(t->view, "y");
	t->nout = t->view->node[t->y].nout;
	t->several = op_info[op].nret != 1;
	for (int k = 0; k < t->nout; k++) {
		const struct meta *m = &t->view->node[t->y].out[k].meta;
		t->arrives[k] = k == 0 || below(2);
		sb_printf(&t->inputs, "g%d = input(", k);
		put_ints(&t->inputs, m->size, m->rank);
		sb_printf(&t->inputs, ", seed=%d)\n", 7 + k);
	}
	return t->nout > 0;
}

/* First output or first gradient; NULL: the sweep says that no gradient passes. */
static const struct result_tensor *answer(const struct prog *p, bool gradient)
{
	struct result *r = ARENA_NEW(&arena, struct result, 1);
	struct err err = {0};
	bool valid = prog_validate(p, &err);
	EXPECT(valid, "%s", err.msg);
	if (!valid || interp_run(r, p, &arena, NULL, &err) != INTERP_OK) {
		EXPECT(strstr(err.msg, "no gradient through"), "%s", err.msg);
		return NULL;
	}
	EXPECT(r->status == RES_OK, "%s", r->message);
	return r->status != RES_OK ? NULL : gradient ? r->call[0].grad : r->call[0].out;
}

static const struct result_tensor *swept(const struct trial *t)
{
	struct strbuf text, back;
	sb_init(&text);
	sb_init(&back);
	sb_printf(&text, "%s\n", t->call.s);
	for (int k = 0; k < t->nout; k++) {
		if (!t->arrives[k])
			continue;
		sb_printf(&text, t->several ? "y%d = getitem(y, %d)\n" : "y%d = alias(y)\n", k, k);
		sb_printf(&back, "%sy%d", k ? ", " : "", k);
	}
	sb_printf(&text, "return (%s,)\nbackward (", back.s);
	for (int k = 0; k < t->nout; k++)
		if (t->arrives[k])
			sb_printf(&text, "%sy%d: g%d", k ? ", " : "", k, k);
	sb_puts(&text, ")\n");
	struct prog *p = program_of(t->inputs.s, text.s, "");
	EXPECT(p, "%s%s", t->inputs.s, text.s);
	sb_free(&text);
	sb_free(&back);
	return p ? answer(p, true) : NULL;
}

/* The rule's nodes, over the same x and cotangents. */
static struct prog *rule_program(const struct trial *t)
{
	struct prog *p = program_of(t->inputs.s, "", "return (x,)\n");
	struct build b = {.p = p};
	struct vjp v = {.b = &b, .n = &t->view->node[t->y], .nout = t->nout};
	v.in[A_viewed_self] = prog_find(p, "x");
	v.want[A_viewed_self] = true;
	for (int k = 0; k < t->nout; k++) {
		v.out[k] = NO_VALUE;
		v.g[k] = t->arrives[k] ? prog_find(p, arena_printf(&arena, "g%d", k)) : NO_VALUE;
	}
	vjp_apply(&v);
	p->ret[0] = v.grad[A_viewed_self];
	return p;
}

/* got NULL: zeros. Zeros compare without sign: what adjoint memory takes over as it is a scatter adds to 0. */
static bool same_values(const struct result_tensor *want, const struct result_tensor *got)
{
	const float *x = want->data, *y = got ? got->data : NULL;
	bool same = !got || meta_same_sizes(&want->meta, &got->meta);
	for (size_t i = 0; same && i < want->nbytes / sizeof *x; i++)
		same = x[i] == (y ? y[i] : 0);
	return same;
}

/* Whether the call could be compared. */
static bool compare(int op)
{
	struct trial t = {0};
	sb_init(&t.inputs);
	sb_init(&t.call);
	const struct result_tensor *want = trial_make(&t, op) ? swept(&t) : NULL;
	if (want) {
		struct prog *rule = rule_program(&t);
		const struct result_tensor *got = rule->ret[0] == NO_VALUE ? NULL : answer(rule, false);
		struct strbuf text;
		sb_init(&text);
		if (!same_values(want, got))
			prog_print(&text, rule);
		EXPECT(!text.len, "of %s\n%s", t.call.s, text.s);
		EXPECT(rule->nnode - t.nout - 1 <= 40, "%s: %d nodes", t.call.s, rule->nnode);
		sb_free(&text);
	}
	sb_free(&t.inputs);
	sb_free(&t.call);
	return want != NULL;
}

static void test_views(void)
{
	for (int op = 0; op < op_nrows; op++) {
		int compared = 0;
		if (!op_has(op, T_VIEW) || !op_vjp[op])
			continue;
		for (int i = 0; i < TRIES; i++) {
			arena_init(&arena);
			compared += compare(op);
			arena_free(&arena);
		}
		EXPECT(compared >= TRIES / 10, "%s: %d of %d calls compared", op_info[op].name, compared, TRIES);
	}
}

/* The sweep refuses as_strided of a tensor that overlaps itself. PyTorch's formula shares a cell's cotangent among those that name it. */
static void test_shared_cells(void)
{
	static const char inputs[] = "x = input([2, 3], stride=[0, 1], seed=1, requires_grad=True)\ng0 = input([2, 2], seed=7)\n";
	static const float want[] = {-0.0625f, 1.6875f, 0.0625f, -0.0625f, 1.6875f, 0.0625f}; /* PyTorch 2.11 */
	struct trial t = {.nout = 1, .arrives = {true}};
	arena_init(&arena);
	sb_init(&t.inputs);
	sb_puts(&t.inputs, inputs);
	t.view = program_of(inputs, "y = as_strided(x, [2, 2], [1, 1])\n", "return (x,)\n");
	t.y = prog_find(t.view, "y");
	const struct result_tensor *got = answer(rule_program(&t), false);
	const float *x = got->data;
	for (int i = 0; i < ARRAY_LEN(want); i++)
		EXPECT(x[i] == want[i], "element %d: got %g, want %g", i, (double)x[i], (double)want[i]);
	sb_free(&t.inputs);
	arena_free(&arena);
}

/* Every view that a gradient passes has a rule; getitem is its operand's result itself. */
static void test_every_view_has_one(void)
{
	for (int op = 0; op < op_nrows; op++)
		if (op_info[op].family == F_VIEW || op == OP_split_Tensor || op == OP_unsafe_split_Tensor || op == OP_unbind_int)
			EXPECT(op_vjp[op] || op_has(op, T_NONDIFF), "%s", op_info[op].name);
}

int main(void)
{
	RUN(test_views);
	RUN(test_shared_cells);
	RUN(test_every_view_has_one);
	return TEST_END();
}
