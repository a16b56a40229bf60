/* licence_probe.c: is each row of the families' arithmetic.def as wide as it must be, and not much wider? And is there a row of the op
 * table that nobody has measured? The programs of licence_probe.def run on the targets that the rows speak of, are judged as `check` judges
 * them, and every enclosed element is measured: |got - centre| / radius.
 *
 *   licence_probe /PATH/TO/scatterproof TARGET... [--python PATH] [--full | --each N] [--all] [--jobs N] [--table FILE]
 *
 * A licence row fails, for each class and dtype that it is in force for, if an element lies outside its set (the row is exceeded), if no
 * error reaches an eighth of its radius (more than 8 times too wide), or if nothing was judged; exact elements are as tight as can be. A
 * probe must reach an eighth, too, in each dtype, for values and for gradients, or say in its row why it does not: that is printed. A row
 * that is in force nowhere fails, and so does an operator that has no probe, in a floating dtype, of its values or of its gradient.
 * --all prints every probe; --full runs compilers on f64 and f16 as well, which take the paths of f32 and bf16, on the probes of
 * licence_probe_rest.def, and on in-place forms (exp's probe of exp_); --each: of each class of rules, and of each operator that has
 * rules of its own (in the first TARGET's licence), the first N probes alone: rules are measured then, not every operator; --jobs: so many
 * processes of a target at once; --table: every operator, dtype, values and gradient, tab-separated, with date, version and device. */
#include "compiled/targets/builtin/arithmetic.h"
#include "compiled/targets/exec.h"
#include "compiled/targets/jax/arithmetic.h"
#include "compiled/targets/torch/arithmetic.h"
#include "eager/base/proc.h"
#include "fuzz/triage/profile.h"
#include "fuzz/triage/verdict.h"
#include "tests/test.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

#include <stdlib.h>
#include <time.h>

enum { SKIP = 77, NEAREST = 8, PER_PROGRAM = 32, MAX_TARGETS = 8, MAX_JOBS = 64, MAX_TASKS = 2048 };

/* ---- tables ---- */
enum scale { PLAIN, WIDE, NARROW, NO_HALVES };
struct probe {
	const char *inputs;
	enum scale scale;
	const char *text, *why;
};
enum { MAX_PROBES = 1024 };
static int nprobe;
static struct probe probes[MAX_PROBES] = {
#define PROBE(inputs, scale, text, why) {inputs, scale, text, why},
#define UNPROBED(name, why)
#include "tests/differential/licence_probe.def"
#define PROBE(inputs, scale, text, why) {inputs, scale, text, why},
#include "tests/differential/licence_probe_rest.def"
};
static int nrounding = 0 /* as many as licence_probe.def has: they come first */
#define PROBE(inputs, scale, text, why) +1
#define UNPROBED(name, why)
#include "tests/differential/licence_probe.def"
	;
/* Is `name` called in one of the first n probes? */
static bool has_probe(const char *name, int n)
{
	const size_t len = strlen(name);
	for (int i = 0; i < n; i++)
		for (const char *s = probes[i].text; (s = strstr(s, name)); s++)
			if (s[len] == '(' && (s == probes[i].text || strchr("\n ", s[-1])))
				return true;
	return false;
}

/* "x 3,100" -> "x! 3,100"; kept. */
static const char *without_gradients(const char *inputs)
{
	struct strbuf sb;
	sb_init(&sb);
	for (const char *s = inputs; *s; s++) {
		sb_putc(&sb, *s);
		if ((s == inputs || s[-1] == ' ') && s[1] == ' ')
			sb_putc(&sb, '!');
	}
	return sb.s;
}

/* "exp($x)" is a probe of exp_, too: "$w = clone($x)\nexp_($w)". They come last, as those of licence_probe_rest.def do. */
static void add_in_place(void)
{
	while (probes[nprobe].text)
		nprobe++;
	for (int i = 0, n = nprobe; i < n; i++) {
		char name[MAX_NAME], self;
		if (sscanf(probes[i].text, "%63[a-zA-Z0-9_.]($%c", name, &self) != 2 || strchr(probes[i].text, '\n') || op_find(name) < 0)
			continue;
		const int writes = op_inplace(op_find(name));
		if (writes < 0 || has_probe(op_info[writes].name, n))
			continue;
		struct strbuf sb;
		sb_init(&sb);
		sb_printf(&sb, "$w = clone($%c)\n%s($w%s", self, op_info[writes].name, probes[i].text + strlen(name) + 3);
		CHECK(nprobe + 1 < MAX_PROBES);
		const bool no_grad = op_has(writes, T_NONDIFF) || role_has(op_info[writes].param[A_INPLACE_self].role, RF_NO_GRADIENT);
		probes[nprobe] =
			(struct probe){no_grad ? without_gradients(probes[i].inputs) : probes[i].inputs, probes[i].scale, sb.s, probes[i].why};
		nprobe++;
	}
}

static const struct unprobed {
	const char *name, *why;
} unprobed[] = {
#define PROBE(inputs, scale, text, why)
#define UNPROBED(name, why) {name, why},
#include "tests/differential/licence_probe.def"
};

/* Of every family. */
static const struct licence_kernels *const kernels[] = {
	&builtin_kernels, &builtin_joint_kernels, &torch_eager_kernels, &torch_inductor_kernels, &jax_op_kernels, &jax_jit_kernels};

static const char *const scale_name[] = {[WIDE] = "wide", [NARROW] = "narrow"};
/* The fill's 20 bits times FULL are numbers with every bit of f32 or f64 in use, rounded once: exact under every row that keeps IEEE 754.
 * Halves are full as they are, and must be scaled without rounding. */
#define FULL 0x1.921fb54442d18p0
static const double factors[][NDTYPES][3] = {
	[PLAIN] = {[DT_F64] = {FULL}, [DT_F32] = {FULL}, [DT_BF16] = {1}, [DT_F16] = {1}},
	[WIDE] = {[DT_F64] = {FULL * 0x1p-40, FULL, FULL * 0x1p40},
		[DT_F32] = {FULL * 0x1p-40, FULL, FULL * 0x1p40},
		[DT_BF16] = {0x1p-40, 1, 0x1p40},
		[DT_F16] = {0x1p-6, 1, 0x1p4}},
	[NARROW] = {[DT_F64] = {FULL * 0x1p-20, FULL, FULL * 8},
		[DT_F32] = {FULL * 0x1p-20, FULL, FULL * 8},
		[DT_BF16] = {0x1p-20, 1, 8},
		[DT_F16] = {0x1p-6, 1, 8}},
};
static const enum dtype dtypes[] = {DT_F32, DT_F64, DT_F16, DT_BF16};

/* What a probe is of in a program of dt. */
static enum dtype dtype_in(int probe, enum dtype dt) { return probes[probe].scale == NO_HALVES && dtype_is_narrow(dt) ? DT_F32 : dt; }

/* ---- programs ---- */
/* `$x` becomes p7_x, and `@` the dtype. */
static void put_text(struct strbuf *sb, const char *s, size_t n, int probe, enum dtype dt)
{
	for (size_t i = 0; i < n; i++)
		if (s[i] == '$')
			sb_printf(sb, "p%d_", probe);
		else if (s[i] == '@')
			sb_puts(sb, dtype_info[dt].name);
		else
			sb_putc(sb, s[i]);
}

static void put_scalar(struct strbuf *sb, double f)
{
	struct scalar v = {.kind = SC_FLOAT, .f = f};
	scalar_print(sb, &v);
}

/* The same data wherever the probe stands in the table. */
static int seed_of(int probe, char input)
{
	uint32_t h = 2166136261u;
	for (const char *c = probes[probe].text; *c; c++)
		h = (h ^ (unsigned char)*c) * 16777619u;
	for (const char *c = probes[probe].inputs; *c; c++)
		h = (h ^ (unsigned char)*c) * 16777619u;
	return (int)((h ^ (unsigned char)input) % 1000003);
}

/* One input: "x 3,100:abs", "i 40:index:8" or "m 3,100:mask". Returns what follows. */
static const char *put_input(struct strbuf *sb, const char *s, int probe, enum dtype dt)
{
	char name[8], size[40], fill[16] = "normal";
	int high = 0, used = 0;
	enum scale scale = probes[probe].scale;
	if (sscanf(s, " %7[a-z!] %39[0-9,]%n", name, size, &used) != 2)
		BUG("probe %d: input '%s'", probe, s);
	s += used;
	if (sscanf(s, ":%15[a-z]%n", fill, &used) == 1)
		s += used;
	if (sscanf(s, ":%d%n", &high, &used) == 1)
		s += used;
	bool selects = high || str_eq(fill, "mask"), grad = !selects && name[1] != '!', positive = str_eq(fill, "abs");
	sb_printf(sb, "p%d_%c%s = input([%s], dtype=%s, fill=\"%s\", seed=%d, high=%d, requires_grad=%s)\n", probe, name[0], selects ? "" : "0",
		size,
		high          ? "i64"
			: selects ? "b8"
					  : dtype_info[dt].name,
		positive ? "normal" : fill, seed_of(probe, name[0]), high, grad ? "True" : "False");
	if (selects)
		return s + strspn(s, " ");
	const char *scaled = positive ? "1" : "";
	if (scale == PLAIN || scale == NO_HALVES || !str_starts(size, "3,")) {
		sb_printf(sb, "p%d_%c%s = mul.Scalar(p%d_%c0, ", probe, name[0], scaled, probe, name[0]);
		put_scalar(sb, factors[PLAIN][dt][0]);
		sb_puts(sb, ")\n");
	} else {
		bool rank3 = strchr(strchr(size, ',') + 1, ',');
		sb_printf(
			sb, "p%d_%c%s = mul.Tensor(p%d_%c0, %s%s)\n", probe, name[0], scaled, probe, name[0], scale_name[scale], rank3 ? "3" : "");
	}
	if (positive)
		sb_printf(sb, "p%d_%c = abs(p%d_%c1)\n", probe, name[0], probe, name[0]);
	return s + strspn(s, " ");
}

static void put_probe(struct strbuf *sb, int probe, enum dtype dt)
{
	const char *s = probes[probe].inputs, *text = probes[probe].text, *last = strrchr(text, '\n');
	while (*s)
		s = put_input(sb, s, probe, dt);
	size_t before = last ? (size_t)(last + 1 - text) : 0;
	put_text(sb, text, before, probe, dt);
	sb_printf(sb, "p%d = ", probe);
	put_text(sb, text + before, strlen(text + before), probe, dt);
	sb_putc(sb, '\n');
}

static void put_scales(struct strbuf *sb, enum dtype dt)
{
	for (int s = WIDE; s <= NARROW; s++) {
		for (int k = 0; k < 3; k++) {
			sb_printf(sb, "%s_%d = full([1, 1], ", scale_name[s], k);
			put_scalar(sb, factors[s][dt][k]);
			sb_printf(sb, ", dtype=%s)\n", dtype_info[dt].name);
		}
		sb_printf(sb, "%s = cat([%s_0, %s_1, %s_2])\n%s3 = unsqueeze(%s, 2)\n", scale_name[s], scale_name[s], scale_name[s], scale_name[s],
			scale_name[s], scale_name[s]);
	}
}

static struct prog *read_program(struct arena *a, const char *text)
{
	struct prog *p = ARENA_NEW(a, struct prog, 1);
	struct err err = {0};
	if (!prog_read(p, a, text, strlen(text), READ_LENIENT, &err))
		BUG("%d:%d: %s in\n%s", err.line, err.col, err.msg, text);
	return p;
}

/* The operator that a probe is about: what makes its output, tuples looked through. */
static int probed_op(const struct prog *p, int node)
{
	return p->node[node].op == OP_getitem ? p->node[p->node[node].arg[0].node].op : p->node[node].op;
}

/* Does an input of the probe require grad, and does the row pass it on? */
static bool differentiable(const struct prog *p, int node, int probe)
{
	char prefix[16];
	int n = snprintf(prefix, sizeof prefix, "p%d_", probe);
	bool passes = dtype_is_float(p->node[node].out[0].meta.dtype) && !op_has(probed_op(p, node), T_NONDIFF), asked = false;
	for (int i = 0; i < p->nnode; i++)
		asked = asked || (strncmp(p->node[i].name, prefix, (size_t)n) == 0 && node_requires_grad(&p->node[i]));
	return passes && asked;
}

/* Probes first … first + n - 1 in one program, one output each, every differentiable one with a cotangent of its own. */
static struct prog *make_program(struct arena *a, int first, int n, enum dtype dt)
{
	struct strbuf sb, whole;
	sb_init(&sb);
	sb_init(&whole);
	sb_puts(&sb, "# scatterproof 1\n");
	put_scales(&sb, dt);
	for (int k = first; k < first + n; k++)
		put_probe(&sb, k, dtype_in(k, dt));
	sb_puts(&whole, sb.s);
	sb_puts(&whole, "return (");
	for (int k = first; k < first + n; k++)
		sb_printf(&whole, "p%d, ", k);
	sb_puts(&whole, ")\n");
	struct prog *p = read_program(a, whole.s); /* for the outputs' sizes */
	for (int k = 0; k < n; k++) {
		const struct meta *m = &p->node[p->ret[k]].out[0].meta;
		if (!differentiable(p, p->ret[k], first + k))
			continue;
		sb_printf(&sb, "g%d = input([", first + k);
		for (int d = 0; d < m->rank; d++)
			sb_printf(&sb, "%s%" PRId64, d ? ", " : "", m->size[d]);
		sb_printf(&sb, "], dtype=%s, fill=\"normal\", seed=%d)\n", dtype_info[m->dtype].name, seed_of(first + k, 0));
	}
	sb_puts(&sb, strstr(whole.s, "return ("));
	int nback = 0;
	for (int k = 0; k < n; k++)
		if (differentiable(p, p->ret[k], first + k))
			sb_printf(&sb, "%sp%d: g%d, ", nback++ ? "" : "backward (", first + k, first + k);
	sb_puts(&sb, nback ? ")\n" : "");
	p = read_program(a, sb.s);
	sb_free(&sb);
	sb_free(&whole);
	return p;
}

/* ---- measuring ---- */
struct measured {
	int64_t exact, enclosed, open, weak, failed; /* weak ones are enclosed */
	double nearest;                              /* to the end of its set, 1 = at the end */
};
struct entry {
	const struct licence_row *row;
	int probe, op, rules; /* licence_entry */
	enum dtype dt;
	const char *target, *reason; /* reason: why nothing was judged */
	bool gradient;
	struct measured m;
};
static struct entry entries[32768];
static int nentry;

static void measure(struct measured *m, const struct ref_value *want, const void *data)
{
	enum dtype dt = want->meta.dtype;
	for (int64_t k = 0; k < want->n; k++) {
		const struct num *w = &want->val[k];
		bool f = dtype_is_float(dt);
		double got = f ? dtype_load_f(dt, (const unsigned char *)data + k * dtype_nbytes(dt)) : 0;
		m->failed += compare_element(w, dt, data, k) == EL_DISAGREE;
		if (w->flags & NUM_NOFIN || (f ? num_is_exact(w) : !(w->flags & NUM_UNDEC))) {
			m->exact++;
		} else if (!f || w->flags & (NUM_SPECIAL | NUM_UNDEC)) {
			m->open++;
		} else {
			m->enclosed++;
			m->weak += element_is_weak(w);
			m->nearest = fmax(m->nearest, fabs((got - w->hi) - w->lo) / w->rad);
		}
	}
}

static const char *unprobed_why(int op)
{
	for (int i = 0; i < ARRAY_LEN(unprobed); i++)
		if (str_eq(unprobed[i].name, op_info[op].name))
			return unprobed[i].why;
	return NULL;
}

/* Which dtypes of each row are probed: bits of enum dtype. */
struct coverage {
	unsigned value[MAX_OPS], gradient[MAX_OPS];
};

static void cover(struct coverage *c, enum dtype dt)
{
	struct arena a;
	arena_init(&a);
	for (int first = 0; first < nprobe; first += PER_PROGRAM) {
		const struct prog *p = make_program(&a, first, MIN(PER_PROGRAM, nprobe - first), dt);
		for (int k = 0; k < p->nret; k++) {
			const int op = probed_op(p, p->ret[k]);
			const unsigned of = DTS(dtype_in(first + k, dt));
			c->value[op] |= of;
			if (differentiable(p, p->ret[k], first + k)) /* NO_HALVES says that theirs are not taken */
				c->gradient[op] |= of | (probes[first + k].scale == NO_HALVES ? DTS_NARROW : 0);
		}
	}
	arena_free(&a);
}

/* Is there an operand that programs may differentiate it by? */
static bool has_derivative(int op)
{
	for (int k = 0; k < op_info[op].nparam; k++)
		if ((op_info[op].param[k].kind == K_TENSOR || op_info[op].param[k].kind == K_TENSORS)
			&& !role_has(op_info[op].param[k].role, RF_NO_GRADIENT | RF_CONSTANT | RF_POSITIONS))
			return !op_has(op, T_NONDIFF);
	return false;
}

/* Every row that takes a floating dtype has a probe in it, with a gradient if it has a derivative, or says why it has none. */
static void check_every_row(void)
{
	static struct coverage c;
	for (int d = 0; d < ARRAY_LEN(dtypes); d++)
		cover(&c, dtypes[d]);
	for (int op = 0; op < op_nrows; op++) {
		const struct op_info *o = &op_info[op];
		const char *why = unprobed_why(op);
		unsigned values = o->dtypes & DTS_FLOAT, gradients = has_derivative(op) ? values : 0;
		EXPECT(!why || !c.value[op], "%s has a probe in licence_probe.def, and a reason why it has none", o->name);
		if (why)
			continue;
		EXPECT(!(values & ~c.value[op]), "%s has no probe in licence_probe.def in some floating dtype (mask %#x)", o->name,
			values & ~c.value[op]);
		EXPECT(!(gradients & ~c.gradient[op]), "no probe in licence_probe.def has the gradient of %s in some dtype (mask %#x)", o->name,
			gradients & ~c.gradient[op]);
	}
	for (int i = 0; i < ARRAY_LEN(unprobed); i++)
		EXPECT(op_find(unprobed[i].name) >= 0, "UNPROBED(%s): there is no such row", unprobed[i].name);
}

/* The dtype whose row is in force: of the conversion's result, else of the inputs. */
static void add_entry(const struct licence_profile *l, const struct prog *p, int node, int probe, bool gradient, const char *target,
	const struct ref_value *want, const struct result_tensor *got, enum dtype dt)
{
	int op = probed_op(p, node);
	const int rules = licence_entry(l, op);
	CHECK(nentry < ARRAY_LEN(entries));
	struct entry *e = &entries[nentry++];
	dt = dtype_in(probe, dt);
	if (rules == LC_CONVERT && !gradient)
		dt = want->meta.dtype;
	*e = (struct entry){
		.row = l->rule[rules][dt].row, .probe = probe, .op = op, .rules = rules, .dt = dt, .target = target, .gradient = gradient};
	if (want->present && got->present && got->nbytes == (size_t)want->n * (size_t)dtype_nbytes(want->meta.dtype))
		measure(&e->m, want, got->data);
	/* `every element of the results is undecided` speaks of a program; a gradient beside results that are judged would pass unseen. (One
	 * number of all elements is undecided where one of them is.) */
	EXPECT(want->n == 1 || !e->m.open || e->m.exact + e->m.enclosed, "%s on %s: every element of %s of probe %d is undecided",
		op_info[op].name, target, gradient ? "a gradient" : "the result", probe);
}

static int probe_of(const char *name)
{
	int k = -1;
	return sscanf(name, "p%d", &k) == 1 ? k : -1;
}

/* ---- running ---- */
struct task {
	int first, n;
	enum dtype dt;
};
struct slot {
	struct exec *e;
	struct arena a;
	const struct prog *p;
	struct task task;
	bool busy;
};
struct runner {
	struct target t;
	const char *name;
	struct licence_profile l;
	struct slot slot[MAX_JOBS];
	int nslot, ntask;
	struct task task[MAX_TASKS];
};
/* What ran: of which version, on what. */
static struct ran {
	const char *target;
	struct strbuf versions, device;
} ran[MAX_TARGETS];

static void push_task(struct runner *r, int first, int n, enum dtype dt)
{
	CHECK(r->ntask < MAX_TASKS);
	r->task[r->ntask++] = (struct task){first, n, dt};
}

/* A probe that could not be judged stands in the table with the reason. */
static void add_unjudged(const struct runner *r, const struct prog *p, const struct task *k, const struct outcome *o)
{
	int op = probed_op(p, p->ret[0]);
	const int rules = licence_entry(&r->l, op);
	const enum dtype dt = dtype_in(k->first, k->dt);
	CHECK(nentry < ARRAY_LEN(entries));
	char *why = xmalloc(strlen(o->why) + 1);
	strcpy(why, o->why);
	entries[nentry++] = (struct entry){
		.row = r->l.rule[rules][dt].row, .probe = k->first, .op = op, .rules = rules, .dt = dt, .target = r->name, .reason = why};
}

static void measure_all(const struct runner *r, const struct slot *s, const struct result *got, struct arena *a)
{
	struct judge_case jc;
	if (!judge_prepare(&jc, s->p, &r->l, TAPE_LIMITS_DEFAULT, a))
		return;
	const struct reference *ref = &jc.ref[0];
	int first = s->task.first;
	for (int k = 0; k < ref->nouts; k++)
		add_entry(&r->l, s->p, s->p->ret[k], first + k, false, r->name, &ref->out[k], &got->call[0].out[k], s->task.dt);
	for (int k = 0; k < ref->ngrads; k++) {
		int probe = probe_of(s->p->node[ref->grad[k].node].name);
		if (ref->grad[k].present)
			add_entry(&r->l, s->p, s->p->ret[probe - first], probe, true, r->name, &ref->grad[k], &got->call[0].grad[k], s->task.dt);
	}
}

/* A bug of this target that spoils a probe, with its program in corpus/regressions; NULL: none. */
static const char *known_bug(const struct runner *r, const struct task *k, int op)
{
	static const struct known {
		int op;
		unsigned dtypes;
		const char *target, *program;
	} known[] = {{OP_atanh, DTS(DT_F32) | DTS_NARROW, "torch:inductor@cpu", "atanh_of_small: 0.5 * log((1 + x) / (1 - x))"},
		{OP_nll_loss_backward, DTS_NARROW, "torch:inductor", "scatter_of_value_upon_half_zeros (2.11.0): the result is f32"}};
	for (int i = 0; i < ARRAY_LEN(known); i++)
		if (known[i].op == op && known[i].dtypes & DTS(k->dt) && str_starts(r->name, known[i].target))
			return known[i].program;
	return NULL;
}

/* What gives no results, or others, comes again in halves: the reference or a compiler found the program too large, or one probe spoils
 * it. */
static void finish_task(struct runner *r, struct slot *s)
{
	struct result got;
	struct outcome o;
	struct task k = s->task;
	exec_take(&got, &s->a, s->e);
	outcome_of(&o, s->p, &got, &r->t, NULL, &s->a);
	s->busy = false;
	bool compared = got.status == RES_OK && (o.verdict == VD_PASS || o.verdict == VD_MISMATCH);
	if (k.n > 1 && (!compared || o.verdict != VD_PASS)) {
		push_task(r, k.first, k.n / 2, k.dt);
		push_task(r, k.first + k.n / 2, k.n - k.n / 2, k.dt);
		return;
	}
	const char *bug = k.n == 1 ? known_bug(r, &k, probed_op(s->p, s->p->ret[0])) : NULL;
	if (bug && o.verdict == VD_MISMATCH) {
		o.why = bug;
		add_unjudged(r, s->p, &k, &o);
		return;
	}
	EXPECT(o.verdict == VD_PASS, "%s on %s: %s\n%s", verdict_name[o.verdict], r->name, o.why,
		verdict_diverges(o.verdict) ? o.report : prog_text(s->p, &s->a));
	if (compared)
		measure_all(r, s, &got, &s->a);
	else
		add_unjudged(r, s->p, &k, &o);
}

static void run_tasks(struct runner *r)
{
	for (int busy = 1; busy > 0;) {
		struct proc *waiting[MAX_JOBS] = {NULL};
		busy = 0;
		for (int k = 0; k < r->nslot; k++) {
			struct slot *s = &r->slot[k];
			if (s->busy && exec_ready(s->e))
				finish_task(r, s);
			if (!s->busy && r->ntask > 0) {
				s->task = r->task[--r->ntask];
				arena_reset(&s->a);
				s->p = make_program(&s->a, s->task.first, s->task.n, s->task.dt);
				exec_submit(s->e, s->p, &r->t);
				s->busy = true;
			}
			waiting[k] = s->busy ? exec_proc(s->e) : NULL;
			busy += s->busy;
		}
		if (busy)
			proc_wait(waiting, r->nslot, 200);
	}
}

/* Is there an interpreter at all? Asked before anything runs: what fails later is a failure. */
static bool installed(const char *target, const struct exec_options *eo)
{
	struct target t;
	struct err err = {0};
	struct strbuf path;
	if (!target_parse(&t, target, &err))
		BUG("%s", err.msg);
	sb_init(&path);
	bool there = !target_has_versions(&t) || target_python(&path, &t, eo->python, &err);
	sb_free(&path);
	if (!there)
		printf("SKIPPED: %s: %s\n", target, err.msg);
	return there;
}

struct options {
	const char *target[MAX_TARGETS], *python, *table;
	const char *ops; /* NULL: all; else names, separated by commas: only probes with one of them */
	int ntarget, jobs;
	int each; /* probes of a class; 0: all */
	bool all, full;
};

/* Is one of these names called in the probe? */
static bool calls_one_of(const char *text, const char *names)
{
	for (const char *at = names; *at; at += *at == ',') {
		size_t n = strcspn(at, ",");
		for (const char *hit = text; (hit = strchr(hit, '(')); hit++)
			if ((size_t)(hit - text) >= n && !strncmp(hit - n, at, n)
				&& ((size_t)(hit - text) == n || strchr(" \n=", hit[-(ptrdiff_t)n - 1])))
				return true;
		at += n;
	}
	return false;
}

static void keep_each(const char *target, int most)
{
	struct licence_profile l;
	struct arena a;
	int kept = 0, taken[ARRAY_LEN(l.rule)] = {0};
	CHECK(profile_named(&l, target));
	arena_init(&a);
	for (int i = 0; i < nrounding; i++) {
		const struct prog *p = make_program(&a, i, 1, DT_F32);
		if (taken[licence_entry(&l, probed_op(p, p->ret[0]))]++ < most)
			probes[kept++] = probes[i];
	}
	nprobe = nrounding = kept;
	arena_free(&a);
}

static void push_tasks(struct runner *r, const struct options *o)
{
	bool all = o->full || !target_stage(&r->t)->compiles;
	const int n = all ? nprobe : nrounding, each = o->ops ? 1 : PER_PROGRAM;
	for (int d = 0; d < ARRAY_LEN(dtypes); d++)
		for (int first = 0; first < n && (all || dtypes[d] == DT_F32 || dtypes[d] == DT_BF16); first += each)
			if (!o->ops || calls_one_of(probes[first].text, o->ops))
				push_task(r, first, MIN(each, n - first), dtypes[d]);
}

static void run_target(struct ran *done, const char *target, const struct exec_options *eo, const struct options *o)
{
	const int jobs = o->jobs;
	static struct runner run;
	struct runner *r = &run;
	struct err err = {0};
	*r = (struct runner){.name = target, .nslot = jobs};
	if (!target_parse(&r->t, target, &err) || !profile_of(&r->l, &r->t))
		BUG("%s: %s", target, err.msg);
	for (int k = 0; k < jobs; k++) {
		arena_init(&r->slot[k].a);
		r->slot[k].e = exec_open(&r->t, eo, &err);
		if (!r->slot[k].e)
			BUG("%s: %s", target, err.msg); /* it is installed: main has looked */
	}
	push_tasks(r, o);
	run_tasks(r);
	done->target = target;
	sb_init(&done->versions);
	sb_init(&done->device);
	exec_versions(&done->versions, &done->device, r->slot[0].e);
	for (int k = 0; k < jobs; k++) {
		exec_close(r->slot[k].e);
		arena_free(&r->slot[k].a);
	}
}

/* ---- reporting ---- */
static const char *probe_text(int probe)
{
	const char *last = strrchr(probes[probe].text, '\n');
	return last ? last + 1 : probes[probe].text;
}

static void print_measured(const struct measured *m)
{
	printf("%8" PRId64 " exact %7" PRId64 " enclosed %4" PRId64 " open", m->exact, m->enclosed, m->open);
	if (m->enclosed)
		printf(", nearest %.3f, weak %.3f", m->nearest, (double)m->weak / (double)m->enclosed);
}

static void print_entry(const struct entry *e)
{
	struct licence_profile l;
	CHECK(profile_named(&l, e->target));
	printf("%s:%d %-7s %-18s %-4s %-8s %-40s ", e->row->file, e->row->line, licence_entry_name(&l, e->rules), e->target,
		dtype_info[e->dt].name, e->gradient ? "gradient" : "value", probe_text(e->probe));
	print_measured(&e->m);
	printf("%s%s\n", probes[e->probe].why[0] ? "; wide: " : "", probes[e->probe].why);
}

static void add_measured(struct measured *to, const struct measured *m)
{
	to->exact += m->exact;
	to->enclosed += m->enclosed;
	to->open += m->open;
	to->weak += m->weak;
	to->failed += m->failed;
	to->nearest = fmax(to->nearest, m->nearest);
}

static bool too_wide(const struct measured *m) { return m->enclosed > 0 && m->nearest * NEAREST < 1; }

/* What was measured of one class or operator (-1: of all) and dtype (NDTYPES: of all) of a target under one row. excused: only
 * by probes that say why their errors may stay far from the ends. */
static struct measured measured_of(bool *excused, const char *target, const struct licence_row *row, int rules, int dt)
{
	struct measured m = {0};
	*excused = true;
	for (int i = 0; i < nentry; i++) {
		const struct entry *e = &entries[i];
		if (e->target != target || e->row != row || (rules >= 0 && e->rules != rules) || (dt != NDTYPES && (int)e->dt != dt))
			continue;
		add_measured(&m, &e->m);
		*excused = *excused && (e->m.enclosed == 0 || probes[e->probe].why[0]);
	}
	return m;
}

static bool was_run(const char *target, enum dtype dt)
{
	for (int i = 0; i < nentry; i++)
		if (entries[i].target == target && entries[i].dt == dt && entries[i].rules != LC_CONVERT)
			return true;
	return false;
}

/* Every class, or operator with rules of its own, and dtype that a row is in force for was judged and came near. */
static void check_row(const struct licence_row *r, const struct licence_profile *l, const char *target)
{
	bool excused;
	struct measured all = measured_of(&excused, target, r, -1, NDTYPES);
	double least = INFINITY;
	int n = 0;
	for (int c = 0; c < NLC + l->nown; c++) {
		const char *name = licence_entry_name(l, c);
		for (int d = 0; d < NDTYPES; d++) {
			if (!dtype_is_float((enum dtype)d) || l->rule[c][d].row != r || !was_run(target, (enum dtype)d))
				continue;
			struct measured m = measured_of(&excused, target, r, c, d);
			EXPECT(m.exact + m.enclosed > 0, "%s:%d on %s: nothing of %s in %s was judged", r->file, r->line, target, name,
				dtype_info[d].name);
			EXPECT(excused || !too_wide(&m), "%s:%d on %s is more than %d times too wide for %s in %s: no error beyond %.3f of the radius",
				r->file, r->line, target, NEAREST, name, dtype_info[d].name, m.nearest);
			least = m.enclosed ? fmin(least, m.nearest) : least;
			n++;
		}
	}
	if (!n)
		return;
	printf("%s:%d %-18s %2d class or operator x dtype ", r->file, r->line, target, n);
	print_measured(&all);
	if (all.enclosed)
		printf(", least of them %.3f", least);
	printf("\n");
}

/* A probe that stays far from the ends of its sets on a target, in a dtype, says why in its row. */
static void check_probe(int probe, const char *target)
{
	for (int k = 0; k < 2 * ARRAY_LEN(dtypes); k++) {
		struct measured m = {0};
		enum dtype dt = dtypes[k / 2];
		const char *what = k % 2 ? "gradient" : "value";
		for (int i = 0; i < nentry; i++)
			if (entries[i].target == target && entries[i].probe == probe && entries[i].gradient == k % 2 && entries[i].dt == dt)
				add_measured(&m, &entries[i].m);
		if (too_wide(&m) && probes[probe].why[0])
			printf("  %s of %s in %s on %s: nearest %.3f: %s\n", what, probe_text(probe), dtype_info[dt].name, target, m.nearest,
				probes[probe].why);
		EXPECT(!too_wide(&m) || probes[probe].why[0],
			"%s of %s in %s on %s: no error beyond %.3f of the radius, and its row says no reason", what, probe_text(probe),
			dtype_info[dt].name, target, m.nearest);
	}
}

/* A row that later rows replace everywhere says nothing. */
static void check_dead_rows(void)
{
	static const struct target_semantics any;
	for (int k = 0; k < ARRAY_LEN(kernels); k++)
		for (const struct licence_row *r = kernels[k]->row; r < kernels[k]->row + kernels[k]->nrow; r++) {
			bool alive = false;
			for (int t = 0; t < ARRAY_LEN(kernels); t++)
				for (int d = 0; d < NLD && kernels[t]->row == kernels[k]->row; d++) {
					struct licence_profile l;
					licence_of(&l, &any, &(struct target_arithmetic){.kernels = kernels[t], .device = (enum licence_device)d});
					for (int e = 0; e < NLC + l.nown; e++)
						for (int dt = 0; dt < NDTYPES; dt++)
							alive |= l.rule[e][dt].row == r;
				}
			EXPECT(alive, "%s:%d (%s) is in force nowhere", r->file, r->line, r->source);
		}
}

static void report(const char *target)
{
	struct licence_profile l;
	struct target_facts f;
	struct target t;
	CHECK(profile_named(&l, target) && target_parse(&t, target, NULL));
	target_facts(&f, &t);
	for (int i = 0; i < f.arithmetic.kernels->nrow; i++)
		check_row(&f.arithmetic.kernels->row[i], &l, target);
	for (int i = 0; i < nprobe; i++)
		check_probe(i, target);
}

/* ---- the table ---- */
static void put_row(FILE *f, const char *target, int op, enum dtype dt, bool gradient)
{
	struct measured m = {0};
	const char *reason = NULL;
	for (int i = 0; i < nentry; i++) {
		const struct entry *e = &entries[i];
		if (e->target != target || e->op != op || e->dt != dt || e->gradient != gradient)
			continue;
		add_measured(&m, &e->m);
		reason = e->reason ? e->reason : reason;
	}
	if (m.exact + m.enclosed + m.open == 0 && !reason)
		return;
	fprintf(f, "%s\t%s\t%s\t%s\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t", op_info[op].name, dtype_info[dt].name,
		gradient ? "gradient" : "value", target, m.exact + m.enclosed + m.open, m.failed, m.exact, m.enclosed, m.open);
	if (m.enclosed)
		fprintf(f, "%.3f\t%.3f\t%s\n", m.nearest, (double)m.weak / (double)m.enclosed, reason ? reason : "");
	else
		fprintf(f, "-\t-\t%s\n", reason ? reason : "");
}

static bool write_table(const char *path, int ntarget)
{
	FILE *f = fopen(path, "w");
	char day[32];
	time_t now = time(NULL);
	struct tm utc;
	if (!f) {
		printf("%s: cannot be written\n", path);
		return false;
	}
	strftime(day, sizeof day, "%Y-%m-%d", gmtime_r(&now, &utc));
	fprintf(f,
		"# What licence_probe measured, %s. nearest: the largest error of an enclosed element in radii; weak: the share of them whose "
		"radius exceeds half the value.\n",
		day);
	for (int k = 0; k < ntarget; k++)
		fprintf(f, "# %s: %s%s%s\n", ran[k].target, ran[k].versions.s, ran[k].device.len ? ", on " : "", ran[k].device.s);
	for (int i = 0; i < ARRAY_LEN(unprobed); i++)
		fprintf(f, "# not probed: %s: %s\n", unprobed[i].name, unprobed[i].why);
	fprintf(f, "row\tdtype\tof\ttarget\tchecks\tfailed\texact\tenclosed\topen\tnearest\tweak\treason\n");
	for (int op = 0; op < op_nrows; op++)
		for (int d = 0; d < ARRAY_LEN(dtypes); d++)
			for (int k = 0; k < 2 * ntarget; k++)
				put_row(f, ran[k / 2].target, op, dtypes[d], k % 2);
	return fclose(f) == 0;
}

static bool read_options(struct options *o, int argc, char **argv)
{
	*o = (struct options){.python = getenv("SCATTERPROOF_TEST_PYTHON"), .jobs = 1};
	for (int i = 2; i < argc; i++) {
		if (str_eq(argv[i], "--all"))
			o->all = true;
		else if (str_eq(argv[i], "--full"))
			o->full = true;
		else if (str_eq(argv[i], "--python") && i + 1 < argc)
			o->python = argv[++i];
		else if (str_eq(argv[i], "--jobs") && i + 1 < argc)
			o->jobs = atoi(argv[++i]);
		else if (str_eq(argv[i], "--each") && i + 1 < argc)
			o->each = atoi(argv[++i]);
		else if (str_eq(argv[i], "--ops") && i + 1 < argc)
			o->ops = argv[++i];
		else if (str_eq(argv[i], "--table") && i + 1 < argc)
			o->table = argv[++i];
		else if (argv[i][0] != '-' && o->ntarget < MAX_TARGETS)
			o->target[o->ntarget++] = argv[i];
		else
			return false;
	}
	return argc >= 2 && argv[1][0] == '/' && o->ntarget && o->jobs > 0 && o->jobs <= MAX_JOBS && o->each >= 0 && !(o->full && o->each);
}

int main(int argc, char **argv)
{
	struct options o;
	if (!read_options(&o, argc, argv)) {
		printf("usage: licence_probe /PATH/TO/scatterproof TARGET... [--python PATH] [--full | --each N] [--all] [--jobs N] "
			   "[--ops LIST] [--table FILE]\n");
		return 2;
	}
	struct exec_options eo = {.self = argv[1], .python = o.python, .limit_ms = 300000};
	setvbuf(stdout, NULL, _IOLBF, 0);
	add_in_place();
	check_dead_rows();
	check_every_row();
	for (int k = 0; k < o.ntarget; k++)
		if (!installed(o.target[k], &eo))
			return SKIP;
	if (o.each)
		keep_each(o.target[0], o.each);
	for (int k = 0; k < o.ntarget; k++)
		run_target(&ran[k], o.target[k], &eo, &o);
	for (int i = 0; i < nentry && o.all; i++)
		print_entry(&entries[i]);
	for (int k = 0; k < o.ntarget && !o.ops; k++) /* some operators cannot tell where a rule is in force */
		report(o.target[k]);
	EXPECT(!o.table || write_table(o.table, o.ntarget), "the table was not written");
	return TEST_END();
}
