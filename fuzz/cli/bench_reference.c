/* bench_reference.c: what the reference costs in time and memory per operand entry, and how many programs per second one core
 * generates, executes on the interpreter, refers and compares. */
#include <inttypes.h>
#include <math.h>
#include <sys/resource.h>

#include "eager/run/interp.h"
#include "eager/base/clock.h"
#include "fuzz/cli/bench.h"
#include "oracle/judge/judge.h"
#include "fuzz/triage/profile.h"

/* ---- reference ----------------------------------------------------------------------------------------------------------------- */

/* One kind of program; the text has one %N, the size that scales its entries; n gives about 12,000 of them. */
struct bench_kind {
	const char *name;
	int64_t n;
	const char *text;
};
static const struct bench_kind kinds[] = {
	{"pointwise, sum", 3000,
		"x: \"f32[%N]\" = input([%N], seed=1, fill=normal, requires_grad=True)\n"
		"y: \"f32[%N]\" = input([%N], seed=2, fill=normal, requires_grad=True)\n"
		"a = mul.Tensor(x, y)\nb = add.Tensor(a, x)\ns = sum.dim_IntList(b, dim=[0])\n"},
	{"slice_scatter, sum", 12,
		"x: \"f32[%N, 33, 33]\" = input([%N, 33, 33], seed=1, fill=normal, requires_grad=True)\n"
		"y: \"f32[%N, 12, 33]\" = input([%N, 12, 33], seed=2, fill=normal, requires_grad=True)\n"
		"a = slice_scatter(x, y, dim=1, start=3, end=15)\ns = sum.dim_IntList(a, dim=[1])\n"},
	{"scatter_add", 60,
		"x: \"f32[16, 100]\" = input([16, 100], seed=1, fill=normal, requires_grad=True)\n"
		"i: \"i64[%N, 100]\" = input([%N, 100], dtype=i64, fill=index, high=16, seed=2)\n"
		"y: \"f32[%N, 100]\" = input([%N, 100], seed=3, fill=normal, requires_grad=True)\n"
		"s = scatter_add(x, 0, i, y)\n"},
	{"index_put, accumulate", 120,
		"x: \"f32[16, 100]\" = input([16, 100], seed=1, fill=normal, requires_grad=True)\n"
		"i: \"i64[%N]\" = input([%N], dtype=i64, fill=index, high=16, seed=2)\n"
		"y: \"f32[%N, 100]\" = input([%N, 100], seed=3, fill=normal, requires_grad=True)\n"
		"s = index_put(x, [i], y, True)\n"},
	{"gather, mul, sum", 40,
		"x: \"f32[16, 100]\" = input([16, 100], seed=1, fill=normal, requires_grad=True)\n"
		"i: \"i64[%N, 100]\" = input([%N, 100], dtype=i64, fill=index, high=16, seed=2)\n"
		"a = gather(x, 0, i)\nb = mul.Tensor(a, a)\ns = sum.dim_IntList(b, dim=[0])\n"},
	{"mm", 16,
		"x: \"f32[20, 20]\" = input([20, 20], seed=1, fill=normal, requires_grad=True)\n"
		"y: \"f32[20, %N]\" = input([20, %N], seed=2, fill=normal, requires_grad=True)\ns = mm(x, y)\n"},
	{"exp, tanh, logsumexp", 3000,
		"x: \"f32[%N]\" = input([%N], seed=1, fill=normal, requires_grad=True)\n"
		"a = exp(x)\nb = tanh(a)\ns = logsumexp(b, dim=[0])\n"},
	{"bf16 pointwise, sum", 3000,
		"x: \"bf16[%N]\" = input([%N], dtype=bf16, seed=1, fill=normal, requires_grad=True)\n"
		"y: \"bf16[%N]\" = input([%N], dtype=bf16, seed=2, fill=normal, requires_grad=True)\n"
		"a = mul.Tensor(x, y)\nb = add.Tensor(a, x)\ns = sum.dim_IntList(b, dim=[0])\n"},
};

/* The kind's program at size n, with a cotangent of ones. False: BUG, the texts are ours. */
static void kind_program(struct prog *out, struct arena *a, const struct bench_kind *k, int64_t n)
{
	struct strbuf sb;
	struct err err = {0};
	struct prog head;
	sb_init(&sb);
	sb_puts(&sb, "# scatterproof 1\n");
	for (const char *s = k->text; *s; s++)
		if (s[0] == '%' && s[1] == 'N')
			sb_printf(&sb, "%" PRId64, n), s++;
		else
			sb_putc(&sb, *s);
	size_t mark = sb.len;
	sb_puts(&sb, "return (s,)\n");
	if (!prog_read(&head, a, sb.s, sb.len, READ_LENIENT, &err))
		BUG("bench: %s: %d:%d: %s", k->name, err.line, err.col, err.msg);
	const struct meta *m = node_meta(&head, head.ret[0]);
	sb.s[sb.len = mark] = 0;
	sb_printf(&sb, "one = full([], 1.0, dtype=%s)\ng = expand(one, [", dtype_info[m->dtype].name);
	for (int d = 0; d < m->rank; d++)
		sb_printf(&sb, "%s%" PRId64, d ? ", " : "", m->size[d]);
	sb_puts(&sb, "])\nreturn (s,)\nbackward (s: g,)\n");
	if (!prog_read(out, a, sb.s, sb.len, READ_LENIENT, &err))
		BUG("bench: %s: %d:%d: %s", k->name, err.line, err.col, err.msg);
	sb_free(&sb);
}

struct cost {
	double s;
	int64_t nscalar, nentry;
	double nbytes;
};

/* Best of the repetitions that fit into a third of a second: what remains above it is other processes' cache misses. */
static bool measure(struct cost *out, struct arena *a, const struct prog *p, const struct licence_profile *l, struct err *err)
{
	double begin = clock_cpu_s();
	*out = (struct cost){.s = INFINITY};
	for (int k = 0; k < 3 || clock_cpu_s() - begin < 0.3; k++) {
		struct reference ref;
		arena_reset(a); /* keeps its largest block: warm after one or two runs */
		double t = clock_cpu_s();
		if (ref_run(&ref, p, l, TAPE_LIMITS_DEFAULT, a, err) != REF_OK)
			return err_set(err, "the reference refuses: %s", ref.message);
		out->s = fmin(out->s, clock_cpu_s() - t);
		*out = (struct cost){out->s, ref.nscalar, ref.nentry, (double)a->used};
	}
	return true;
}

/* Bytes = x * nodes + y * entries over all rows, by least squares. */
struct fit {
	double nn, ne, ee, nb, eb;
};
static void fit_add(struct fit *f, const struct cost *c)
{
	double n = (double)c->nscalar, e = (double)c->nentry;
	f->nn += n * n / (c->nbytes * c->nbytes);
	f->ne += n * e / (c->nbytes * c->nbytes);
	f->ee += e * e / (c->nbytes * c->nbytes);
	f->nb += n / c->nbytes;
	f->eb += e / c->nbytes;
}

static bool show_budget(const struct options *o, struct arena *a, const struct licence_profile *l)
{
	static const struct bench_kind above[] = {
		{"2,250,000 elements, sum", 1500,
			"x: \"f32[%N, %N]\" = input([%N, %N], seed=1, requires_grad=True)\ns = sum.dim_IntList(x, dim=[0])\n"},
		{"mm of 256 x 256 x 256", 256,
			"x: \"f32[%N, %N]\" = input([%N, %N], seed=1, requires_grad=True)\n"
			"y: \"f32[%N, %N]\" = input([%N, %N], seed=1, requires_grad=True)\ns = mm(x, y)\n"},
	};
	struct tape_limits limit = TAPE_LIMITS_DEFAULT;
	bench_note(o, "budget: %" PRId64 " nodes, %" PRId64 " entries; above it:", limit.nodes, limit.entries);
	for (int i = 0; i < ARRAY_LEN(above); i++) {
		struct prog p;
		struct reference ref;
		struct err err = {0};
		arena_reset(a);
		kind_program(&p, a, &above[i], above[i].n);
		double t = clock_cpu_s();
		enum ref_status s = ref_run(&ref, &p, l, limit, a, &err);
		bench_note(o, "  %-28s %s: %s (%.0f ms)", above[i].name,
			s == REF_UNSUPPORTED ? "unsupported"
				: s == REF_OK    ? "ok"
								 : "raises",
			ref.message, 1e3 * (clock_cpu_s() - t));
	}
	return true;
}

bool bench_reference(const struct options *o, struct err *err)
{
	static const struct bench_column columns[] = {{"nodes", 8, 0}, {"entries", 8, 0}, {"ns/entry", 9, 1}, {"ns/entry 10x", 13, 1},
		{"time 10x", 9, 2}, {"bytes/node", 11, 1}, {"bytes/entry", 12, 1}};
	struct bench_table t = {o, "reference", ARRAY_LEN(columns), columns};
	struct licence_profile l;
	struct arena a, progs;
	struct fit f = {0};
	CHECK(profile_named(&l, "builtin:eager"));
	arena_init(&a);
	arena_init(&progs);
	table_begin(&t, "value and gradient, warm (goals: <= 60 ns per entry; ten times the entries <= 13 times the time)");
	bool ok = true;
	for (int i = 0; ok && i < ARRAY_LEN(kinds); i++) {
		struct cost c[2];
		for (int k = 0; ok && k < 2; k++) {
			struct prog p;
			arena_reset(&progs);
			kind_program(&p, &progs, &kinds[i], kinds[i].n * (k ? 10 : 1));
			ok = measure(&c[k], &a, &p, &l, err);
		}
		if (!ok)
			break;
		fit_add(&f, &c[0]);
		fit_add(&f, &c[1]);
		double e = (double)c[0].nentry, e10 = (double)c[1].nentry;
		table_row(&t, kinds[i].name,
			(double[]){(double)c[0].nscalar, e, 1e9 * c[0].s / e, 1e9 * c[1].s / e10, c[1].s / c[0].s * (10 * e / e10),
				c[0].nbytes / (double)c[0].nscalar, c[0].nbytes / e});
	}
	double det = f.nn * f.ee - f.ne * f.ne;
	if (ok && det > 0)
		bench_note(o, "memory over all rows: %.0f bytes per node + %.1f bytes per entry (goal about 64 + 12)",
			(f.nb * f.ee - f.eb * f.ne) / det, (f.eb * f.nn - f.nb * f.ne) / det);
	ok = ok && show_budget(o, &a, &l);
	arena_free(&progs);
	arena_free(&a);
	return ok;
}

/* ---- throughput ------------------------------------------------------------------------------------------------------------------ */

enum { PROG_NODES = 4000, PROG_ENTRIES = 12000 };
struct work {
	int64_t programs, calls, larger, unjudged, diverged, scalars, entries;
	double s[4];
}; /* generate eager reference compare */

static bool small(const struct judge_case *jc)
{
	for (int k = 0; k < jc->ncalls; k++)
		if (jc->ref[k].nscalar > PROG_NODES || jc->ref[k].nentry > PROG_ENTRIES)
			return false;
	return true;
}

static bool one(
	struct work *w, struct arena *a, struct program_source *src, int64_t number, const struct licence_profile *l, struct err *err)
{
	struct prog p;
	struct result r;
	struct judge_case jc;
	struct judgement j;
	struct err why = {0};
	double t[5];
	t[0] = clock_cpu_s();
	if (!source_program(&p, a, src, number, err))
		return false;
	t[1] = clock_cpu_s();
	interp_run(&r, &p, a, NULL, &why);
	t[2] = clock_cpu_s();
	bool judged = judge_prepare(&jc, &p, l, TAPE_LIMITS_DEFAULT, a);
	t[3] = clock_cpu_s();
	judge(&j, &jc, &r, 0, a);
	t[4] = clock_cpu_s();
	if (!judged || r.status != RES_OK) {
		w->unjudged++;
		return true;
	}
	if (!small(&jc)) {
		w->larger++;
		return true;
	}
	w->programs++;
	w->calls += jc.ncalls;
	w->diverged += j.status != JUDGE_PASS;
	for (int k = 0; k < jc.ncalls; k++) {
		w->scalars += jc.ref[k].nscalar;
		w->entries += jc.ref[k].nentry;
	}
	for (int k = 0; k < 4; k++)
		w->s[k] += t[k + 1] - t[k];
	return true;
}

/* Programs of one source; false: err. */
static bool measure_source(struct work *w, struct program_source *src, const struct options *o, struct err *err)
{
	struct arena a;
	struct licence_profile l;
	CHECK(profile_named(&l, "builtin:eager"));
	arena_init(&a);
	int64_t n = o->programs ? o->programs : 4000;
	double limit = o->time_s > 0 ? o->time_s : 20, begin = clock_cpu_s();
	bool ok = true;
	for (int64_t i = 0; ok && i < n && clock_cpu_s() - begin < limit; i++) {
		arena_reset(&a);
		ok = one(w, &a, src, i, &l, err);
	}
	arena_free(&a);
	return ok;
}

static void throughput_row(const struct bench_table *t, const char *name, const struct work *w)
{
	double s = w->s[0] + w->s[1] + w->s[2] + w->s[3];
	table_row(t, name,
		(double[]){(double)w->programs / s, (double)w->calls / s, (double)w->programs / w->s[0], 100 * w->s[0] / s, 100 * w->s[1] / s,
			100 * w->s[2] / s, 100 * w->s[3] / s});
}

static void throughput_note(const struct options *o, const struct work *w)
{
	struct rusage ru;
	getrusage(RUSAGE_SELF, &ru);
	bench_note(o,
		"%" PRId64
		" programs of at most %d nodes and %d entries in each call; %.1f calls, %.0f nodes and %.0f entries a program; %.0f ns of "
		"reference per entry;"
		" %" PRId64 " larger and %" PRId64 " unjudged ones left out; %" PRId64 " diverge; peak memory of this process %ld MiB",
		w->programs, PROG_NODES, PROG_ENTRIES, (double)w->calls / (double)w->programs, (double)w->scalars / (double)w->programs,
		(double)w->entries / (double)w->programs, 1e9 * w->s[2] / (double)MAX(w->entries, 1), w->larger, w->unjudged, w->diverged,
		ru.ru_maxrss / 1024);
}

bool bench_throughput(const struct options *o, struct err *err)
{
	static const struct bench_column columns[] = {{"programs/s", 11, 0}, {"calls/s", 9, 0}, {"generated/s", 12, 0}, {"generate %", 11, 1},
		{"eager %", 9, 1}, {"reference %", 12, 1}, {"compare %", 10, 1}};
	struct bench_table t = {o, "throughput", ARRAY_LEN(columns), columns};
	struct work plain = {0}, guided = {0};
	struct program_source src = bench_source(o, NULL);
	if (!measure_source(&plain, &src, o, err))
		return false;
	src.guided = o->guided;
	bool ok = !o->guided || measure_source(&guided, &src, o, err);
	source_end(&src);
	if (!ok || !plain.programs)
		return ok;
	table_begin(&t, "generate, run on builtin:eager, refer and compare, one core, all calls of each program (goal: >= 2000 programs/s)");
	throughput_row(&t, o->policy, &plain);
	throughput_note(o, &plain);
	if (guided.programs) {
		throughput_row(&t, "guided", &guided);
		throughput_note(o, &guided);
	}
	return true;
}
