/* partition_test.c: which rows go to which part and what crosses; what is donated and what that allows; what I8 says of partitions that
 * break it; and over the programs of a fixed seed that the parts give what the joint program gives, bit for bit. */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compiled/run/execute.h"
#include "compiled/compile.h"
#include "compiled/defects/defects.h"
#include "compiled/passes/joint.h"
#include "compiled/passes/validate.h"
#include "eager/run/interp.h"
#include "fuzz/campaign/source.h"
#include "generated/op_args.h"
#include "tests/unit/rows.h"

#define HEAD "# scatterproof 1\n"
#define X    "x = input([2, 3], seed=1, requires_grad=True)\n"
#define G    "g = input([2, 3], seed=9)\n"

static struct compile_options parts(bool save_all)
{
	return (struct compile_options){.stage = STAGE_PARTITIONED, .partition = true, .save_all = save_all, .validate = true};
}

/* "x: source 0, e: forward 0, donated": the inputs of the backward part, and from where they come. */
static const char *bound_to(const struct compiled *c)
{
	static const char *const from[] = {[FROM_SOURCE] = "source", [FROM_FORWARD] = "forward", [FROM_CALLER] = "caller"};
	struct strbuf sb;
	const struct prog *p = &c->part[1].p;
	sb_init(&sb);
	for (int i = 0; i < p->nnode; i++) {
		const struct node *n = &p->node[i];
		const char *comma = sb.len ? ", " : "";
		if (n->op == OP_input_view)
			sb_printf(&sb, "%s%s: in %s", comma, n->name, p->node[n->arg[A_input_view_base].node].name);
		if (n->op != OP_input)
			continue;
		const struct part_input *b = &c->part[1].input[n->out[0].storage];
		sb_printf(&sb, "%s%s: %s %d%s", comma, n->name, from[b->from], b->index, b->donated ? ", donated" : "");
	}
	const char *s = arena_strdup(&arena, sb.s);
	sb_free(&sb);
	return s;
}

static bool compiled(struct compiled *c, const char *text, const struct compile_options *o)
{
	struct err err = {0};
	const enum compile_status status = compile(c, program(text), o, &arena, &err);
	EXPECT(status == COMPILE_OK, "%s: %s", text, err.msg);
	return status == COMPILE_OK;
}

static void becomes(const char *text, bool save_all, const char *forward, const char *bound, const char *backward)
{
	struct compiled c;
	const struct compile_options o = parts(save_all);
	if (!compiled(&c, text, &o))
		return;
	EXPECT_INT(c.npart, 2);
	EXPECT_STR(rows(&c.part[0].p), forward);
	if (c.npart < 2)
		return;
	EXPECT_STR(bound_to(&c), bound);
	EXPECT_STR(rows(&c.part[1].p), backward);
}

/* ---- which rows, which values ---- */

static void test_saved(void)
{
	/* what is computed again, and what is not: the sum of rows */
	const char *text = HEAD X G "e = exp(x)\ns = sum.dim_IntList(e, [1], True)\nd = div.Tensor(e, s)\nm = mul.Tensor(d, 2.0)\n"
								"return (m,)\nbackward (m: g,)\n";
	struct compiled c;
	struct compile_options o = parts(false);
	if (compiled(&c, text, &o)) {
		EXPECT_STR(bound_to(&c), "x: source 0, g: caller 0, s: forward 0, donated");
		EXPECT(str_starts(rows(&c.part[1].p), "e = exp(x); ") && strstr(rows(&c.part[1].p), "div_1 = div.Tensor(e, s)"), "%s",
			rows(&c.part[1].p));
	}
	o = parts(true);
	if (compiled(&c, text, &o)) {
		EXPECT(strstr(bound_to(&c), "e: forward 0, donated") && strstr(bound_to(&c), "s: forward 1, donated"), "%s", bound_to(&c));
		EXPECT(!strstr(rows(&c.part[1].p), " exp("), "%s", rows(&c.part[1].p));
	}
	/* not if that needs what would have to be saved for it */
	becomes(HEAD X G "s = cumsum(x, 1)\nt = exp(s)\nr = neg(t)\nreturn (r,)\nbackward (r: g,)\n", false,
		"s = cumsum(x); t = exp(s); r = neg(t); return r t", "g: caller 0, t: forward 0, donated",
		"neg = neg(g); mul = mul.Tensor(neg, t); flip = flip(mul); cumsum = cumsum(flip); flip_1 = flip(cumsum); return flip_1");
	/* an output exists already: it is saved, and nobody may write it */
	becomes(HEAD X G "e = exp(x)\nreturn (e,)\nbackward (e: g,)\n", false, "e = exp(x); return e e", "g: caller 0, e: forward 0",
		"mul = mul.Tensor(g, e); return mul");
	/* nothing crosses but the cotangent; a gradient that is one */
	becomes(
		HEAD X G "e = neg(x)\nreturn (e,)\nbackward (e: g,)\n", false, "e = neg(x); return e", "g: caller 0", "neg = neg(g); return neg");
	becomes(HEAD X G "e = view(x, [2, 3])\nreturn (e,)\nbackward (e: g,)\n", false, "e = view(x); return e", "g: caller 0",
		"reshape = reshape(g); return reshape");
}

static void test_views(void)
{
	const char *text = HEAD X "y = input([3, 2], seed=2)\ng = input([2, 2], seed=9)\nm = mm(x, y)\nk = mm(m, m)\nt = t(k)\nu = t(t)\n"
							  "e = mul.Tensor(t, u)\nreturn (e,)\nbackward (e: g,)\n";
	struct compiled c;
	struct compile_options o = parts(false);
	if (compiled(&c, text, &o)) { /* views of what is saved are made again */
		EXPECT_STR(bound_to(&c), "y: source 1, g: caller 0, m: forward 0, donated, k: forward 1, donated");
		EXPECT(strstr(rows(&c.part[1].p), "t = t(k); u = t(t)"), "%s", rows(&c.part[1].p));
	}
	o = parts(true);
	if (compiled(&c, text, &o)) /* or lie in its memory */
		EXPECT_STR(bound_to(&c), "y: source 1, g: caller 0, m: forward 0, donated, k: forward 1, donated, t: in k, u: in k");
	/* a view of an input with an offset is handed over with the input */
	const char *of_input =
		HEAD X "z = input([8], seed=2, offset=1)\ns = slice.Tensor(z, 0, 2, 5)\n" G "e = mul.Tensor(x, s)\nreturn (e,)\nbackward (e: g,)\n";
	becomes(of_input, true, "s = slice.Tensor(z); e = mul.Tensor(x, s); return e", "z: source 1, g: caller 0, s: in z",
		"mul = mul.Tensor(g, s); return mul");
	if (compiled(&c, of_input, &o)) {
		const struct prog *p = &c.part[1].p;
		EXPECT_INT(node_meta(p, prog_find(p, "s"))->offset, 3);
	}
}

/* An input that is written: the backward part reads what it held. */
static void test_written(void)
{
	const char *text = HEAD X "y = input([2, 3], seed=2)\n" G "w = mul_.Tensor(y, x)\nreturn (w,)\nbackward (w: g,)\n";
	becomes(text, false, "w = mul.Tensor(y, x); clone = clone(y); copy_ = copy_(y, w); return y clone",
		"y: forward 0, donated, g: caller 0", "mul = mul.Tensor(g, y); return mul");
	becomes(text, true, "w = mul.Tensor(y, x); clone = clone(y); copy_ = copy_(y, w); return y clone", "y: forward 0, donated, g: caller 0",
		"mul = mul.Tensor(g, y); return mul");
	/* gaps and an offset: the copy has the same layout, and its views lie where they lay */
	text = HEAD X "y = input([2, 6], seed=2, stride=[8, 1], offset=2)\n" G
				  "v = slice.Tensor(y, 1, 0, 6, 2)\nw = mul_.Tensor(v, x)\nreturn (w,)\nbackward (w: g,)\n";
	struct compiled c;
	const struct compile_options o = parts(false);
	if (compiled(&c, text, &o)) {
		const struct prog *p = &c.part[1].p;
		EXPECT_STR(bound_to(&c), "y: forward 0, donated, g: caller 0");
		EXPECT(meta_identical(node_meta(p, prog_find(p, "y")), node_meta(&c.part[0].p, prog_find(&c.part[0].p, "y"))), "its layout");
	}
}

/* What the caller alone needs is in neither part; cotangents have the caller's strides. */
static void test_caller(void)
{
	const char *text = HEAD X "h = input([2, 1], seed=3)\ne = exp(x)\nd = neg(h)\ng = expand(d, [2, 3])\nreturn (e, e)\n"
							  "backward (e: g,)\n";
	struct compiled c;
	const struct compile_options o = parts(false);
	if (!compiled(&c, text, &o))
		return;
	EXPECT_STR(rows(&c.part[0].p), "e = exp(x); return e e e");
	EXPECT(prog_find(&c.part[0].p, "h") < 0 && prog_find(&c.part[1].p, "h") < 0, "'h' is the caller's");
	EXPECT_STR(rows(&c.caller), "d = neg(h); g = expand(d); return g");
	EXPECT_INT(node_meta(&c.part[1].p, prog_find(&c.part[1].p, "g"))->stride[1], 0);
	/* no gradient: one part */
	const char *none = HEAD "x = input([2, 3])\ne = exp(x)\nreturn (e,)\n";
	if (compiled(&c, none, &o))
		EXPECT(c.npart == 1 && !c.part[0].name, "a program without a backward has one part");
}

/* ---- donation ---- */

/* Rows of the backward part that write memory which they were given. */
static int writes_given(const struct compiled *c)
{
	const struct prog *p = &c->part[1].p;
	int n = 0;
	for (int i = 0; c->npart == MAX_PARTS && i < p->nnode; i++) {
		if (!op_has(p->node[i].op, T_MUTATES) || p->node[i].out[0].storage >= MAX_NODES)
			continue;
		EXPECT(c->part[1].input[p->node[i].out[0].storage].donated, "'%s' writes what is not donated", p->node[i].name);
		n++;
	}
	return n;
}

static void test_donated(void)
{
	/* s is saved for the backward part alone, which writes it when it reads it last */
	static const char donated[] = HEAD X G "s = cumsum(x, 1)\nr = cumsum(s, 0)\ne = div.Tensor(s, r)\nreturn (e,)\nbackward (e: g,)\n";
	/* s is an output */
	static const char held[] = HEAD X G "s = cumsum(x, 1)\nr = cumsum(s, 0)\ne = div.Tensor(s, r)\nreturn (e, s)\nbackward (e: g,)\n";
	/* a view of it is */
	static const char viewed[] =
		HEAD X G "s = cumsum(x, 1)\nr = cumsum(s, 0)\ne = div.Tensor(s, r)\nv = t(s)\nreturn (e, v)\nbackward (e: g,)\n";
	struct compiled c;
	struct compile_options o = parts(false);
	o.stage = compile_nstages() - 1;
	if (compiled(&c, donated, &o)) {
		EXPECT_STR(bound_to(&c), "g: caller 0, s: forward 0, donated, r: forward 1, donated");
		EXPECT(writes_given(&c) == 2 && strstr(rows(&c.part[1].p), "= div_.Tensor(s, r)"), "%s", rows(&c.part[1].p));
	}
	for (int i = 0; i < 2; i++)
		if (compiled(&c, i ? viewed : held, &o)) {
			EXPECT_STR(bound_to(&c), "g: caller 0, s: forward 0, r: forward 1, donated");
			EXPECT(writes_given(&c) == 0 && strstr(rows(&c.part[1].p), "= div.Tensor(s, r)"), "%s", rows(&c.part[1].p));
		}
	/* reinplace is what writes */
	o.off = 1u << npasses;
	if (compiled(&c, donated, &o))
		EXPECT_INT(writes_given(&c), 0);
}

/* Runs as if nobody looked at invariants: what is written though an output holds it kills the process. */
static int signal_of_run(const struct prog *p, const struct defect *d)
{
	struct compile_options o = parts(false);
	int status;
	o.stage = compile_nstages() - 1;
	o.validate = false;
	o.defect = d;
	const pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		struct result r;
		CHECK(freopen("/dev/null", "w", stderr));
		compile_run(&r, p, &o, &arena);
		_exit(r.status == RES_OK ? 0 : 1);
	}
	CHECK(waitpid(pid, &status, 0) == pid && (WIFSIGNALED(status) || WEXITSTATUS(status) == 0));
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void test_held(void)
{
	static const char donated[] = HEAD X G "s = cumsum(x, 1)\nr = cumsum(s, 0)\ne = div.Tensor(s, r)\nreturn (e,)\nbackward (e: g,)\n";
	static const char held[] = HEAD X G "s = cumsum(x, 1)\nr = cumsum(s, 0)\ne = div.Tensor(s, r)\nreturn (e, s)\nbackward (e: g,)\n";
	const struct defect *d = defect_find("output_donated");
	EXPECT_INT(signal_of_run(program(donated), d), 0);
	EXPECT_INT(signal_of_run(program(held), NULL), 0);
	EXPECT_INT(signal_of_run(program(held), d), SIGABRT);
}

/* ---- I8 ---- */

struct made {
	struct functional f;
	struct pure g;
	struct partition s;
};

/* x * y both ways, y written: a copy of y is saved, x is handed over. */
static struct made *made(const char *text)
{
	struct made *m = ARENA_ZNEW(&arena, struct made, 1);
	struct joint j;
	struct err err = {0};
	const struct prog *p = program(text);
	bool ok = functionalise(&m->f, p, false, &arena, &err);
	m->g = (struct pure){.p = &m->f.p};
	for (int i = 0; i < p->nret; i++)
		m->g.result[m->g.nresult++].value = functional_made_again(&m->f, i) ? NO_VALUE : m->f.ret[i];
	for (int i = 0; i < p->nnode; i++)
		if (m->f.written[i]) {
			m->g.result[m->g.nresult].role = RESULT_WRITTEN;
			m->g.result[m->g.nresult++].value = m->f.value[i];
		}
	const int nforward = m->f.p.nnode;
	ok = ok && joint_append(&j, &m->f, &arena, &err);
	for (int i = 0; ok && i < j.ngrad; i++) {
		m->g.result[m->g.nresult].role = RESULT_GRADIENT;
		m->g.result[m->g.nresult++].value = j.grad[i];
	}
	m->g.result[m->g.nresult].role = RESULT_COTANGENT;
	m->g.result[m->g.nresult++].value = m->f.value[p->back[0].cotangent];
	ok = ok && partition(&m->s, &m->f, &m->g, nforward, false, &arena, &err);
	EXPECT(ok && validate_partition(&m->s, &m->f, &m->g, &err), "%s", err.msg);
	return m;
}

static struct part_input *input_named(struct made *m, const char *name)
{
	const struct prog *p = &m->s.backward;
	const int i = prog_find(p, name);
	EXPECT(i >= 0, "no input '%s'", name);
	return &m->s.input[i < 0 ? 0 : p->node[i].out[0].storage];
}

static void broken(struct made *m, const char *want)
{
	struct err err = {0};
	EXPECT(!validate_partition(&m->s, &m->f, &m->g, &err), "not seen: %s", want);
	EXPECT_STR(err.msg, want);
}

static void test_invariants(void)
{
	static const char text[] = HEAD X "y = input([2, 3], seed=2)\n" G
									  "a = mul.Tensor(x, x)\ns = cumsum(a, 1)\nt = exp(s)\nu = mul.Tensor(t, s)\nw = mul_.Tensor(y, u)\n"
									  "return (w, s)\n"
									  "backward (w: g,)\n";
	struct made *m = made(text);
	*input_named(m, "y") = (struct part_input){.from = FROM_SOURCE, .index = 1};
	broken(m, "I8: 'y' (input) of the backward part is an input that is written before it runs");
	m = made(text);
	input_named(m, "y")->index = 7;
	broken(m, "I8: 'y' (input) of the backward part is bound by nothing");
	m = made(text);
	*input_named(m, "y") = (struct part_input){.from = FROM_CALLER, .index = 1};
	broken(m, "I8: 'y' (input) of the backward part is no cotangent");
	m = made(text);
	input_named(m, "x")->index = 5;
	broken(m, "I8: 'x' (input) of the backward part is no input");
	m = made(text);
	input_named(m, "s")->donated = true;
	broken(m, "I8: 's' (cumsum) is donated, but the forward part returns its memory");
	m = made(text);
	m->s.caller.node[prog_find(&m->s.caller, "g")].out[0].meta.stride[0] = 0;
	broken(m, "I8: 'g' (input) of the backward part has not the layout of the cotangent");
	m = made(text);
	m->g.result[m->g.nresult - 1].value = prog_find(m->g.p, "x");
	broken(m, "I8: the saved value 'x' (input) lies in an input's memory");
	m = made(text);
	m->s.depends[prog_find(&m->s.joint, "a")] = true;
	broken(m, "I8: 'a' (mul.Tensor) of the forward part depends on a cotangent");
	m = made(text);
	m->s.again[prog_find(&m->s.joint, "t")] = false;
	broken(m, "I8: 't' (exp) is in both parts");
}

/* ---- generated programs ---- */

static bool same_bytes(const struct result_tensor *x, const struct result_tensor *y)
{
	return x->present == y->present
		&& (!x->present
			|| (meta_identical(&x->meta, &y->meta) && x->nbytes == y->nbytes && (!x->data || !memcmp(x->data, y->data, x->nbytes))));
}

/* On eager's kernels: the rows are the same ones. */
static void compare(int *compared, const struct prog *p, const struct compile_options *o, int number, struct arena *a)
{
	struct result joint, two;
	compile_run(&joint, p, &(struct compile_options){.stage = STAGE_JOINT}, a);
	compile_run(&two, p, o, a);
	EXPECT(joint.status == two.status && str_eq(joint.message, two.message), "program %d: %s, %s", number, joint.message, two.message);
	*compared += joint.status == RES_OK && two.ngraphs > joint.ngraphs;
	for (int k = 0; joint.status == RES_OK && two.status == RES_OK && k < joint.ncalls; k++) {
		const struct result_call *x = &joint.call[k], *y = &two.call[k];
		for (int i = 0; i < x->nouts; i++)
			EXPECT(same_bytes(&x->out[i], &y->out[i]), "program %d: output %d", number, i);
		for (int i = 0; i < x->ngrads; i++)
			EXPECT(same_bytes(&x->grad[i], &y->grad[i]), "program %d: gradient %d", number, i);
		for (int i = 0; i < x->nstorages; i++)
			EXPECT(!x->storage[i].nbytes || !memcmp(x->storage[i].data, y->storage[i].data, x->storage[i].nbytes),
				"program %d: input %d afterwards", number, i);
	}
}

/* Behind all passes. */
static int count_written(const struct prog *p, bool save_all, struct arena *a)
{
	struct prog bound;
	struct compiled c;
	struct err err = {0};
	struct compile_options o = parts(save_all);
	o.stage = compile_nstages() - 1;
	return prog_bind(&bound, p, 0, a, &err) && compile(&c, &bound, &o, a, &err) == COMPILE_OK ? writes_given(&c) : 0;
}

static void test_generated(void)
{
	struct program_source source = {.seed = 4, .policy = "default"};
	int compared[2] = {0}, written = 0;
	for (int i = 0; i < 300; i++) {
		struct arena a;
		struct prog p;
		struct err err = {0};
		arena_init(&a);
		EXPECT(source_program(&p, &a, &source, i, &err), "%s", err.msg);
		for (int save_all = 0; save_all < 2; save_all++) {
			const struct compile_options o = parts(save_all);
			compare(&compared[save_all], &p, &o, i, &a);
			written += count_written(&p, save_all, &a);
		}
		arena_free(&a);
	}
	EXPECT(written > 0, "no backward part writes a saved value");
	EXPECT(compared[0] > 100 && compared[0] == compared[1], "%d and %d programs have two parts", compared[0], compared[1]);
}

int main(void)
{
	arena_init(&arena);
	RUN(test_saved);
	RUN(test_views);
	RUN(test_written);
	RUN(test_caller);
	RUN(test_donated);
	RUN(test_held);
	RUN(test_invariants);
	RUN(test_generated);
	arena_free(&arena);
	return TEST_END();
}
