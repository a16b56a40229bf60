/* large_store.c: see large_store.h. A finding is one function per part: its rows, what triage said, what a person decided, where it was
 * seen. Fifty findings are one transaction; what is only counted is written between transactions, as in a campaign. */
#include "fuzz/cli/large_store.h"

#include <inttypes.h>

#include "eager/base/version.h"
#include "fuzz/campaign/source.h"
#include "fuzz/triage/verdict.h"

enum {
	BASE_PROGRAMS = 512,  /* programs of the generator that observed programs are variants of */
	KEPT = STORE_MAX_OBS, /* observations of a finding that come with a program */
	BATCH = 50,           /* findings of a transaction */
	NRUNS = 60,           /* nights */
	NENVS = 4,
	PER_DRAW = 50,       /* observations per policy draw: two programs of 25 diverge on this or that target */
	UNTRIAGED = 50,      /* every 50th finding has no cause yet */
	SAME_SIGNATURE = 32, /* numbers; those of one shape among them share a signature */
	NIGHT_MS = 86400000
};
static const int64_t DAY_0 = INT64_C(1750000000000);
static const char TOOL[] = SCATTERPROOF;

struct base_program {
	const char *head, *tail; /* the text is head, a seed, tail */
	const char **ops;
	int nops;
};
struct filling {
	struct arena a, turn;
	struct store *s;
	const struct large_store *what;
	struct large_counts *n;
	struct program_source source;
	struct base_program base[BASE_PROGRAMS];
	struct hash128 before; /* the finding of the number before */
	struct hash128 env[NENVS], run[NRUNS];
	enum store_status status; /* the first failure outside of a transaction */
};

static void keep_status(struct filling *f, enum store_status status) { f->status = f->status == STORE_OK ? status : f->status; }

/* ---- words ------------------------------------------------------------------------------------------------------------------------- */

static const struct store_env_text environments[NENVS] = {
	{"torch", "2.11.0", "torch-2.11.0:inductor@cpu", "torch 2.11.0+cpu, python 3.11.2", "cpu", "x86_64, 2 CPUs"},
	{"torch", "2.15.0", "torch-2.15.0:inductor@cpu", "torch 2.15.0+cpu, python 3.11.2", "cpu", "x86_64, 2 CPUs"},
	{"torch", "2.11.0", "torch-2.11.0:aot_eager@cpu", "torch 2.11.0+cpu, python 3.11.2", "cpu", "x86_64, 2 CPUs"},
	{"torch", "2.15.0", "torch-2.15.0:inductor@cuda", "torch 2.15.0+cu130, python 3.11.2", "cuda: a GPU", "x86_64, 32 CPUs"},
};
static const char *const policies[] = {"default", "default", "default", "joint", "short"};

/* Shares of kinds as in a store of a few nights: most are wrong numbers. */
static const struct {
	enum finding_kind kind;
	enum finding_severity severity;
	const char *verdict, *tensor, *pattern;
} shapes[] = {
	{FINDING_GRADIENT, SEVERITY_HIGH, "mismatch", "x.grad", "all zero"},
	{FINDING_GRADIENT, SEVERITY_HIGH, "mismatch", "y.grad", "too large by a constant factor"},
	{FINDING_VALUE, SEVERITY_HIGH, "mismatch", "out 0", "a block of another row"},
	{FINDING_VALUE, SEVERITY_HIGH, "mismatch", "out 1", "nan"},
	{FINDING_MUTATION, SEVERITY_HIGH, "mismatch", "input x afterwards", "not written"},
	{FINDING_META, SEVERITY_TRIVIAL, "mismatch", "out 0", "strides"},
	{FINDING_RAISE, SEVERITY_NORMAL, "mismatch", "", "raises: IndexError: shape mismatch"},
	{FINDING_CRASH, SEVERITY_NORMAL, "crash", "", "signal 11"},
};
static const char *const stages[] = {"inductor", "aot_eager_decomp_partition", "aot_eager", "fake"};

/* ---- programs ------------------------------------------------------------------------------------------------------------------------ */

/* False: nothing in the program has a seed that could be another one. */
static bool base_read(struct base_program *b, const struct prog *p, struct arena *a)
{
	const char *ops[MAX_NODES];
	struct strbuf sb;
	sb_init(&sb);
	prog_print(&sb, p);
	const char *text = arena_strdup(a, sb.s), *seed = strstr(text, "seed=");
	sb_free(&sb);
	b->nops = prog_ops(ops, MAX_NODES, p);
	if (!seed || b->nops == 0)
		return false;
	seed += strlen("seed=");
	b->head = arena_printf(a, "%.*s", (int)(seed - text), text);
	b->tail = seed + strspn(seed, "0123456789");
	b->ops = ARENA_NEW(a, const char *, b->nops);
	memcpy(b->ops, ops, sizeof *ops * (size_t)b->nops); /* names of the table: they stay */
	return true;
}

static bool base_programs(struct filling *f, struct err *err)
{
	int n = 0;
	for (int64_t i = 0; n < BASE_PROGRAMS; i++) {
		struct prog p;
		arena_reset(&f->turn);
		if (!source_program(&p, &f->turn, &f->source, i, err))
			return false;
		n += base_read(&f->base[n], &p, &f->a);
	}
	return true;
}

/* Program number n: a base program whose first input has other data. */
static const struct base_program *program_text(const char **text, struct filling *f, int64_t n)
{
	const struct base_program *b = &f->base[(n + n / KEPT) % BASE_PROGRAMS];
	*text = arena_printf(&f->turn, "%s%" PRId64 "%s", b->head, n, b->tail);
	return b;
}

static struct hash128 put_minimised(struct filling *f, int64_t number)
{
	struct hash128 id;
	static const char *const ops[] = {"slice_scatter", "sum.dim_IntList"};
	const char *text = arena_printf(&f->turn,
		"# scatterproof 1\nx: \"f32[2][1]\" = input([2], seed=%" PRId64 ", requires_grad=True)\n"
		"y: \"f32[1][1]\" = input([1], seed=2)\nslice_scatter: \"f32[2][1]\" = slice_scatter(x, y, end=1)\n"
		"sum_1: \"f32[1][1]\" = sum.dim_IntList(slice_scatter, dim=[0], keepdim=True)\nreturn (sum_1,)\n",
		number);
	store_program(f->s, &id, text, ops, 2);
	return id;
}

/* ---- one finding --------------------------------------------------------------------------------------------------------------------- */

static int64_t night_of(int64_t number) { return number * 7 % NRUNS; }
static int64_t time_of(int64_t number) { return DAY_0 + night_of(number) * NIGHT_MS + number % 86400 * 1000; }

static void event(struct filling *f, const struct hash128 *finding, int64_t at, enum event_kind kind, const char *payload,
	const struct hash128 *program, const struct hash128 *issue)
{
	const struct store_event e = {*finding, at, kind, TOOL, payload, program, issue};
	store_event(f->s, &e);
}

static struct hash128 put_finding(struct filling *f, int64_t number)
{
	struct hash128 program, id;
	const char *text;
	const int shape = (int)(number % ARRAY_LEN(shapes));
	const struct base_program *b = program_text(&text, f, number * KEPT);
	store_program(f->s, &program, text, b->ops, b->nops);
	const struct store_finding sf = {.program = program,
		.family = "torch",
		.kind = shapes[shape].kind,
		.severity = shapes[shape].severity,
		.signature = arena_printf(&f->turn, "%s %s: %s; slice_scatter, sum.dim_IntList and %" PRId64 " more",
			finding_kind_name[shapes[shape].kind], shapes[shape].tensor, shapes[shape].pattern, number / SAME_SIGNATURE),
		.at = time_of(number),
		.tool = TOOL};
	store_finding(f->s, &id, &sf);
	const char *report = arena_printf(&f->turn, "%s\n%s is wrong: 12 of 78 elements, %s\nexpected up to 4\n\n%s", sf.signature,
		shapes[shape].tensor, shapes[shape].pattern, text);
	store_artifact(f->s, &id, "report", sf.at, report, strlen(report));
	if (shapes[shape].kind == FINDING_CRASH)
		store_artifact(f->s, &id, "stderr", sf.at, "Fatal Python error: Segmentation fault\n", 39);
	return id;
}

static bool triaged(int64_t number) { return number % UNTRIAGED != UNTRIAGED - 1; }

/* Every fourth finding goes to each cause in turn, so that each has one; of the others the first causes have more than the last. */
static int64_t cause_of(const struct large_store *w, int64_t number)
{
	if (number % 4 == 0)
		return number / 4 % w->causes;
	int64_t x = (int64_t)((uint64_t)number * UINT64_C(2654435761) % 1000003 % (uint64_t)w->causes);
	return x * x / w->causes;
}

static void put_triage(struct filling *f, int64_t number, const struct hash128 *id)
{
	const struct large_store *w = f->what;
	const int64_t at = time_of(number) + 60000, cause = cause_of(w, number);
	event(f, id, at, EVENT_CONFIRMED, "5 of 5 in a fresh process", NULL, NULL);
	if (!triaged(number))
		return;
	const struct hash128 small = put_minimised(f, number);
	const struct base_program *b = &f->base[cause % BASE_PROGRAMS];
	const char *op = b->ops[0], *stage = stages[cause % ARRAY_LEN(stages)];
	event(f, id, at + 1000, EVENT_MINIMISED, "2 of 9 operators are left, 31 runs", &small, NULL);
	event(f, id, at + 2000, EVENT_REACH, cause % 3 == 0 ? "torch" : cause % 3 == 1 ? "python" : "aten", NULL, NULL);
	event(f, id, at + 3000, EVENT_BLAME,
		arena_printf(&f->turn,
			"wrong from: %s; cured by cloning aten.%s in the backward graph; fake predicts aten.%s of the backward wrong: fake "
			"float32[2][0]+0 real float32[2][1]+0",
			stage, op, op),
		NULL, NULL);
	event(f, id, at + 4000, EVENT_CURE, arena_printf(&f->turn, "probe.clone=bw:aten.%s", op), NULL, NULL);
	event(f, id, at + 5000, EVENT_CAUSE, arena_printf(&f->turn, "torch:%s: layout predicted wrong; aten.%s; %" PRId64, stage, op, cause),
		NULL, NULL);
}

/* A fifth of the findings has been decided about. */
static void put_decision(struct filling *f, int64_t number, const struct hash128 *id)
{
	const int64_t at = time_of(number) + 3600000;
	struct hash128 issue;
	switch (number % 25) {
	case 3:
	case 8:
		store_issue(f->s, &issue, arena_printf(&f->turn, "https://example.org/issues/%" PRId64, number / 10), "");
		event(f, id, at, EVENT_KNOWN, "", NULL, &issue);
		return;
	case 13: event(f, id, at, EVENT_FIXED, "2.15.0", NULL, NULL); return;
	case 18:
		event(f, id, at, EVENT_FIXED, "2.11.0", NULL, NULL);
		event(f, id, at + NIGHT_MS, EVENT_REGRESSED, "2.15.0", NULL, NULL);
		return;
	case 23:
		event(f, id, at, EVENT_STATE, "dismissed", NULL, NULL);
		event(f, id, at, EVENT_NOTE, "the reference's ball is too small here", NULL, NULL);
		return;
	case 20:
		if (number > f->what->first) {
			char hex[33];
			hash_hex(hex, &f->before);
			event(f, id, at, EVENT_DUPLICATE, hex, NULL, NULL);
		}
		return;
	default: return;
	}
}

static void observe(struct filling *f, int64_t number, int64_t nth, const struct hash128 *id)
{
	const int shape = (int)(number % ARRAY_LEN(shapes));
	const char *text;
	const struct base_program *b = program_text(&text, f, number * KEPT + nth % KEPT);
	const int64_t night = (night_of(number) + nth / KEPT) % NRUNS;
	const int64_t env = number % 3 ? (number + nth / KEPT) % 5 % NENVS : nth / KEPT % 2 * 2; /* every third is of 2.11.0 alone */
	const struct store_observation o = {.finding = *id,
		.environment = f->env[env],
		.run = f->run[night],
		.at = time_of(number) + nth / KEPT * NIGHT_MS + nth,
		.verdict = nth % 40 == 39 ? "pass" : shapes[shape].verdict,
		.tensor = shapes[shape].tensor,
		.fill = -1,
		.call = 0,
		.detail = shapes[shape].pattern};
	keep_status(f, store_observation(f->s, &o, text, b->ops, b->nops));
	f->n->observations++;
}

static int64_t nobs_of(const struct large_store *w, int64_t number)
{
	return w->observations / w->findings + ((number - w->first) < w->observations % w->findings);
}

/* Findings first to last - 1. What has a row is written with them, the rest is counted afterwards. */
static bool fill_batch(struct filling *f, int64_t first, int64_t last)
{
	struct hash128 id[BATCH];
	arena_reset(&f->turn);
	store_begin(f->s);
	for (int64_t k = first; k < last; k++) {
		id[k - first] = put_finding(f, k);
		for (int64_t i = 0; i < MIN(nobs_of(f->what, k), KEPT); i++)
			observe(f, k, i, &id[k - first]);
		put_triage(f, k, &id[k - first]);
		put_decision(f, k, &id[k - first]);
		f->before = id[k - first];
	}
	keep_status(f, store_commit(f->s));
	for (int64_t k = first; k < last && f->status == STORE_OK; k++)
		for (int64_t i = KEPT; i < nobs_of(f->what, k); i++)
			observe(f, k, i, &id[k - first]);
	f->n->findings += last - first;
	keep_status(f, store_flush(f->s));
	return f->status == STORE_OK;
}

/* ---- runs, environments, counters --------------------------------------------------------------------------------------------------- */

static void put_homes(struct filling *f)
{
	for (int i = 0; i < NENVS; i++)
		keep_status(f, store_environment(f->s, &f->env[i], &environments[i]));
	for (int i = 0; i < NRUNS; i++) {
		const struct store_run r = {.seed = f->what->seed + (uint64_t)i,
			.shard = "0/1",
			.policy = policies[i % ARRAY_LEN(policies)],
			.versions = TOOL,
			.started = DAY_0 + i * (int64_t)NIGHT_MS};
		keep_status(f, store_run_begin(f->s, &f->run[i], &r));
	}
}

/* The verdicts of 25 programs on two targets, per draw. */
static bool fill_counters(struct filling *f, struct err *err)
{
	const int64_t ndraws = f->what->observations / PER_DRAW + 1,
				  before = f->what->first * (f->what->observations / f->what->findings) / PER_DRAW;
	struct strbuf sb;
	sb_init(&sb);
	bool ok = true;
	for (int64_t i = before; ok && i < before + ndraws && f->status == STORE_OK; i++) {
		ok = source_draw(&f->source, i * POLICY_BLOCK, err);
		sb_reset(&sb);
		policy_print(&sb, &f->source.drawn);
		for (int t = 0; ok && t < 2; t++) {
			const struct hash128 *run = &f->run[i % NRUNS], *env = &f->env[t * (1 + (int)(i % 3))];
			store_counter_add(f->s, run, sb.s, env, "pass", POLICY_BLOCK - 1 - (t ? i % 3 : 0));
			store_counter_add(f->s, run, sb.s, env, t ? "mismatch" : "unsupported", 1 + (t ? i % 3 : 0));
			f->n->verdicts += POLICY_BLOCK;
		}
		if (i % 100 == 99)
			keep_status(f, store_flush(f->s));
	}
	sb_free(&sb);
	keep_status(f, store_flush(f->s));
	return ok;
}

bool large_store_fill(struct large_counts *out, struct store *s, const struct large_store *what, struct err *err)
{
	struct filling f = {.s = s, .what = what, .n = out, .source = {.seed = what->seed, .policy = "default", .legal = true}};
	*out = (struct large_counts){0};
	arena_init(&f.a);
	arena_init(&f.turn);
	bool ok = what->causes * 4 <= what->findings
		|| err_set(err, "a store of %" PRId64 " findings has at most %" PRId64 " causes here", what->findings, what->findings / 4);
	ok = ok && base_programs(&f, err);
	if (ok)
		put_homes(&f);
	const int64_t last = what->first + what->findings;
	for (int64_t k = what->first; ok && k < last && f.status == STORE_OK; k += BATCH)
		ok = fill_batch(&f, k, MIN(k + BATCH, last));
	ok = ok && f.status == STORE_OK && fill_counters(&f, err);
	source_end(&f.source);
	arena_free(&f.turn);
	arena_free(&f.a);
	return f.status == STORE_OK ? ok : err_set(err, "%s", store_message(s));
}
