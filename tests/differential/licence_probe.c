/* licence_probe.c: is each row of oracle/judge/licence.def as wide as it must be, and not much wider? The programs of licence_probe.def
 * run on the targets that the rows speak of, are judged as `check` judges them, and every enclosed element is measured: |got - centre| /
 * radius.
 *
 *   licence_probe /PATH/TO/scatterproof TARGET... [--python PATH] [--full] [--all]         (torch:eager@cuda torch:inductor@cuda)
 *
 * A row fails, for each class and dtype that it is in force for, if an element lies outside its set (the row is exceeded), if no error
 * reaches an eighth of its radius (more than 8 times too wide), or if nothing was judged; exact elements are as tight as can be. A probe
 * must reach an eighth, too, in each dtype, for values and for gradients, or say in its row why it does not: that is printed. A row
 * that is in force nowhere fails. --all prints every probe; --full runs compilers on f64 and f16 as well, which take the paths of f32
 * and bf16. */
#include "compiled/targets/exec.h"
#include "fuzz/triage/profile.h"
#include "fuzz/triage/verdict.h"
#include "tests/test.h"
#include "generated/op_id.h"

#include <stdlib.h>

enum { SKIP = 77, NEAREST = 8 };

/* ---- tables ---- */
enum scale { PLAIN, WIDE, NARROW };
struct probe {
	const char *inputs;
	enum scale scale;
	const char *text, *why;
};
static const struct probe probes[] = {
#define PROBE(inputs, scale, text, why) {inputs, scale, text, why},
#include "tests/differential/licence_probe.def"
};

struct row {
	int line;
	const char *class_;
	unsigned targets, devices, dtypes;
	const char *source;
};
static const struct row rows[] = {
#define LIC(class_, targets, devices, dtypes, compute, acc, ulp, flags, source) {__LINE__, #class_, targets, devices, dtypes, source},
#include "oracle/judge/licence.def"
};

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

/* ---- programs ---- */
/* `$x` becomes p7_x. */
static void put_text(struct strbuf *sb, const char *s, size_t n, int probe)
{
	for (size_t i = 0; i < n; i++)
		if (s[i] == '$')
			sb_printf(sb, "p%d_", probe);
		else
			sb_putc(sb, s[i]);
}

static void put_scalar(struct strbuf *sb, double f)
{
	struct scalar v = {.kind = SC_FLOAT, .f = f};
	scalar_print(sb, &v);
}

/* One input: "x 3,100:positive" or "i 40:index:8". Returns what follows. */
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
	bool grad = !high && name[1] != '!', positive = str_eq(fill, "abs");
	sb_printf(sb, "p%d_%c%s = input([%s], dtype=%s, fill=\"%s\", seed=%d, high=%d, requires_grad=%s)\n", probe, name[0], high ? "" : "0",
		size, high ? "i64" : dtype_info[dt].name, positive ? "normal" : fill, 16 * probe + name[0] % 16, high, grad ? "True" : "False");
	if (high)
		return s + strspn(s, " ");
	const char *scaled = positive ? "1" : "";
	if (scale == PLAIN || !str_starts(size, "3,")) {
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
	put_text(sb, text, before, probe);
	sb_printf(sb, "p%d = ", probe);
	put_text(sb, text + before, strlen(text + before), probe);
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

static bool differentiable(enum dtype out, int probe) { return dtype_is_float(out) && !strchr(probes[probe].inputs, '!'); }

/* Probes first … first + n - 1 in one program, one output each, every differentiable one with a cotangent of its own. */
static struct prog *make_program(struct arena *a, int first, int n, enum dtype dt)
{
	struct strbuf sb, whole;
	sb_init(&sb);
	sb_init(&whole);
	sb_puts(&sb, "# scatterproof 1\n");
	put_scales(&sb, dt);
	for (int k = first; k < first + n; k++)
		put_probe(&sb, k, dt);
	sb_puts(&whole, sb.s);
	sb_puts(&whole, "return (");
	for (int k = first; k < first + n; k++)
		sb_printf(&whole, "p%d, ", k);
	sb_puts(&whole, ")\n");
	struct prog *p = read_program(a, whole.s); /* for the outputs' sizes */
	for (int k = 0; k < n; k++) {
		const struct meta *m = &p->node[p->ret[k]].out[0].meta;
		if (!differentiable(m->dtype, first + k))
			continue;
		sb_printf(&sb, "g%d = input([", first + k);
		for (int d = 0; d < m->rank; d++)
			sb_printf(&sb, "%s%" PRId64, d ? ", " : "", m->size[d]);
		sb_printf(&sb, "], dtype=%s, fill=\"normal\", seed=%d)\n", dtype_info[m->dtype].name, 7000 + first + k);
	}
	sb_puts(&sb, whole.s + (strstr(whole.s, "return (") - whole.s));
	sb_puts(&sb, "backward (");
	for (int k = 0; k < n; k++)
		if (differentiable(p->node[p->ret[k]].out[0].meta.dtype, first + k))
			sb_printf(&sb, "p%d: g%d, ", first + k, first + k);
	sb_puts(&sb, ")\n");
	p = read_program(a, sb.s);
	sb_free(&sb);
	sb_free(&whole);
	return p;
}

/* ---- measuring ---- */
struct measured {
	int64_t exact, enclosed, open;
	double nearest;
}; /* nearest: to the end of its set, 1 = at the end */
struct entry {
	int line, probe;
	enum licence_class class_;
	enum dtype dt;
	const char *target;
	bool gradient;
	struct measured m;
};
static struct entry entries[8192];
static int nentry;

static void measure(struct measured *m, const struct ref_value *want, const void *data)
{
	enum dtype dt = want->meta.dtype;
	for (int64_t k = 0; k < want->n; k++) {
		const struct num *w = &want->val[k];
		bool f = dtype_is_float(dt);
		double got = f ? dtype_load_f(dt, (const unsigned char *)data + k * dtype_nbytes(dt)) : 0;
		if (w->flags & NUM_NOFIN || (f ? num_is_exact(w) : !(w->flags & NUM_UNDEC))) {
			m->exact++;
		} else if (!f || w->flags & (NUM_SPECIAL | NUM_UNDEC)) {
			m->open++;
		} else {
			m->enclosed++;
			m->nearest = fmax(m->nearest, fabs((got - w->hi) - w->lo) / w->rad);
		}
	}
}

/* The operator that a probe is about: what makes its output, tuples looked through. */
static int probed_op(const struct prog *p, int node)
{
	return p->node[node].op == OP_getitem ? p->node[p->node[node].arg[0].node].op : p->node[node].op;
}

/* A row that computes has a probe: moves and comparisons have no liberties, and their classes are probed below. */
static void check_every_row(void)
{
	bool probed[NOPS] = {false};
	struct arena a;
	arena_init(&a);
	for (int first = 0; first < ARRAY_LEN(probes); first += MAX_RETURNS) {
		const struct prog *p = make_program(&a, first, MIN(MAX_RETURNS, ARRAY_LEN(probes) - first), DT_F32);
		for (int k = 0; k < p->nret; k++)
			probed[probed_op(p, p->ret[k])] = true;
	}
	arena_free(&a);
	for (int op = 0; op < op_nrows; op++) {
		const struct op_info *o = &op_info[op];
		bool computes = o->licence != LC_MOVE && o->licence != LC_COMPARE && o->dtypes & DTS_FLOAT;
		EXPECT(probed[op] || !computes, "%s, licence class %s, has no probe in licence_probe.def", o->name, licence_class_name(o->licence));
	}
}

/* The dtype whose row is in force: of the conversion's result, else of the inputs. */
static void add_entry(const struct licence_profile *l, const struct prog *p, int node, int probe, bool gradient, const char *target,
	const struct ref_value *want, const struct result_tensor *got, enum dtype dt)
{
	enum licence_class c = op_info[probed_op(p, node)].licence;
	struct entry *e = &entries[nentry++];
	CHECK(nentry <= ARRAY_LEN(entries));
	if (c == LC_CONVERT && !gradient)
		dt = want->meta.dtype;
	*e = (struct entry){l->rule[c][dt].line, probe, c, dt, target, gradient, {0}};
	if (want->present && got->present && got->nbytes == (size_t)want->n * (size_t)dtype_nbytes(want->meta.dtype))
		measure(&e->m, want, got->data);
}

static int probe_of(const char *name)
{
	int k = -1;
	return sscanf(name, "p%d", &k) == 1 ? k : -1;
}

/* What is too large for a compiler goes to it in halves. */
static void run_program(struct exec *e, const struct target *t, const char *target, int first, int n, enum dtype dt)
{
	struct arena a;
	struct result r;
	struct outcome o;
	struct judge_case jc;
	struct licence_profile l;
	arena_init(&a);
	const struct prog *p = make_program(&a, first, n, dt);
	exec_run(&r, &a, e, p, t);
	outcome_of(&o, p, &r, t, NULL, &a);
	if (o.verdict == VD_UNSUPPORTED && n > 1) {
		arena_free(&a);
		run_program(e, t, target, first, n / 2, dt);
		run_program(e, t, target, first + n / 2, n - n / 2, dt);
		return;
	}
	EXPECT(o.verdict == VD_PASS, "%s on %s: %s\n%s", verdict_name[o.verdict], target, o.why,
		verdict_diverges(o.verdict) ? o.report : prog_text(p, &a));
	if (r.status == RES_OK && profile_named(&l, target) && judge_prepare(&jc, p, &l, TAPE_LIMITS_DEFAULT, &a)) {
		const struct reference *ref = &jc.ref[0];
		for (int k = 0; k < ref->nouts; k++)
			add_entry(&l, p, p->ret[k], first + k, false, target, &ref->out[k], &r.call[0].out[k], dt);
		for (int k = 0; k < ref->ngrads; k++) {
			int probe = probe_of(p->node[ref->grad[k].node].name);
			add_entry(&l, p, p->ret[probe - first], probe, true, target, &ref->grad[k], &r.call[0].grad[k], dt);
		}
	}
	arena_free(&a);
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

static void run_target(const char *target, const struct exec_options *eo, bool full)
{
	struct target t;
	struct err err = {0};
	if (!target_parse(&t, target, &err))
		BUG("%s", err.msg);
	struct exec *e = exec_open(&t, eo, &err);
	if (!e)
		BUG("%s: %s", target, err.msg); /* it is installed: main has looked */
	bool all = full || !target_stage(&t)->compiles;
	for (int d = 0; d < ARRAY_LEN(dtypes); d++)
		for (int first = 0; first < ARRAY_LEN(probes) && (all || dtypes[d] == DT_F32 || dtypes[d] == DT_BF16); first += MAX_RETURNS)
			run_program(e, &t, target, first, MIN(MAX_RETURNS, ARRAY_LEN(probes) - first), dtypes[d]);
	exec_close(e);
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
		printf(", nearest %.3f", m->nearest);
}

static void print_entry(const struct entry *e)
{
	printf("licence.def:%d %-7s %-18s %-4s %-8s %-40s ", e->line, licence_class_name(e->class_), e->target, dtype_info[e->dt].name,
		e->gradient ? "gradient" : "value", probe_text(e->probe));
	print_measured(&e->m);
	printf("%s%s\n", probes[e->probe].why[0] ? "; wide: " : "", probes[e->probe].why);
}

static void add_measured(struct measured *to, const struct measured *m)
{
	to->exact += m->exact;
	to->enclosed += m->enclosed;
	to->open += m->open;
	to->nearest = fmax(to->nearest, m->nearest);
}

static bool too_wide(const struct measured *m) { return m->enclosed > 0 && m->nearest * NEAREST < 1; }

/* What was measured of one class and dtype of a target; all classes, all dtypes: of one row. */
static struct measured measured_of(const char *target, int line, int c, int dt)
{
	struct measured m = {0};
	for (int i = 0; i < nentry; i++)
		if (entries[i].target == target && entries[i].line == line && (c == NLC || (int)entries[i].class_ == c)
			&& (dt == NDTYPES || (int)entries[i].dt == dt))
			add_measured(&m, &entries[i].m);
	return m;
}

static bool was_run(const char *target, enum dtype dt)
{
	for (int i = 0; i < nentry; i++)
		if (entries[i].target == target && entries[i].dt == dt && entries[i].class_ != LC_CONVERT)
			return true;
	return false;
}

/* Every class and dtype that a row is in force for was judged and came near. */
static void check_row(const struct row *r, const struct licence_profile *l, const char *target)
{
	struct measured all = measured_of(target, r->line, NLC, NDTYPES);
	double least = INFINITY;
	int n = 0;
	for (int c = 0; c < NLC; c++) {
		for (int d = 0; d < NDTYPES; d++) {
			if (!dtype_is_float((enum dtype)d) || l->rule[c][d].line != r->line || !was_run(target, (enum dtype)d))
				continue;
			struct measured m = measured_of(target, r->line, c, d);
			EXPECT(m.exact + m.enclosed > 0, "licence.def:%d on %s: nothing of class %s in %s was judged", r->line, target,
				licence_class_name((enum licence_class)c), dtype_info[d].name);
			EXPECT(!too_wide(&m),
				"licence.def:%d on %s is more than %d times too wide for class %s in %s: no error beyond %.3f of the radius", r->line,
				target, NEAREST, licence_class_name((enum licence_class)c), dtype_info[d].name, m.nearest);
			least = m.enclosed ? fmin(least, m.nearest) : least;
			n++;
		}
	}
	if (!n)
		return;
	printf("licence.def:%d %-7s %-18s %2d class x dtype ", r->line, r->class_, target, n);
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
	for (int i = 0; i < ARRAY_LEN(rows); i++) {
		bool alive = false;
		for (int t = 0; t < NLT; t++) {
			for (int d = 0; d < NLD; d++) {
				struct licence_profile l;
				licence_resolve(&l, (enum licence_target)t, (enum licence_device)d);
				for (int c = 0; c < NLC; c++)
					for (int k = 0; k < NDTYPES; k++)
						alive = alive || l.rule[c][k].line == rows[i].line;
			}
		}
		EXPECT(alive, "licence.def:%d (%s: %s) is in force nowhere", rows[i].line, rows[i].class_, rows[i].source);
	}
}

static void report(const char *target)
{
	struct licence_profile l;
	CHECK(profile_named(&l, target));
	for (int i = 0; i < ARRAY_LEN(rows); i++)
		check_row(&rows[i], &l, target);
	for (int i = 0; i < ARRAY_LEN(probes); i++)
		check_probe(i, target);
}

int main(int argc, char **argv)
{
	const char *target[8], *python = getenv("SCATTERPROOF_TEST_PYTHON");
	bool all = false, full = false;
	int ntarget = 0;
	for (int i = 2; i < argc; i++) {
		if (str_eq(argv[i], "--all"))
			all = true;
		else if (str_eq(argv[i], "--full"))
			full = true;
		else if (str_eq(argv[i], "--python") && i + 1 < argc)
			python = argv[++i];
		else if (argv[i][0] != '-' && ntarget < ARRAY_LEN(target))
			target[ntarget++] = argv[i];
		else
			argc = 0;
	}
	if (argc < 2 || !ntarget) {
		printf("usage: licence_probe /PATH/TO/scatterproof TARGET... [--python PATH] [--full] [--all]\n");
		return 2;
	}
	struct exec_options eo = {.self = argv[1], .python = python, .limit_ms = 300000};
	check_dead_rows();
	check_every_row();
	for (int k = 0; k < ntarget; k++)
		if (!installed(target[k], &eo))
			return SKIP;
	for (int k = 0; k < ntarget; k++)
		run_target(target[k], &eo, full);
	for (int i = 0; i < nentry && all; i++)
		print_entry(&entries[i]);
	for (int k = 0; k < ntarget; k++)
		report(target[k]);
	return TEST_END();
}
