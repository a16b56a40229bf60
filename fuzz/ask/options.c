/* options.c: every option is one row; `apply` says where its value goes. */
#include "fuzz/ask/options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "fuzz/ask/arguments.h"
#include "fuzz/ask/option_values.h"
#include "fuzz/triage/verdict.h"
#include "eager/base/duration.h"

enum opt {
	O_TARGET,
	O_SAMPLE,
	O_EVERY,
	O_DB,
	O_TIME,
	O_PROGRAM,
	O_PROGRAMS,
	O_CALLS,
	O_SEED,
	O_JOBS,
	O_SHARD,
	O_POLICY,
	O_GUIDED,
	O_LOOP_SHAPES,
	O_CORPUS,
	O_OPS,
	O_DTYPES,
	O_PYTHON,
	O_LIMIT,
	O_NO_CHEAP,
	O_NO_CONFIRM,
	O_NO_AVOID,
	O_NO_RECHECK,
	O_PROGRAM_ID,
	O_AXIS,
	O_SINCE,
	O_STORE,
	O_NO_STORE,
	O_BISECT,
	O_MATRIX,
	O_JSON,
	O_QUIET,
	O_EXPECT,
	O_ARGS,
	O_SCRIPT,
	O_FULL,
	O_ARTIFACTS,
	O_OUT,
	O_FOLDER,
	O_DIR,
	O_ALL,
	O_UPSTREAM,
	O_PRINT_AFTER,
	O_PART,
	O_VALIDATE,
	O_DEFECT,
	O_FAIL_ON,
	O_INTO,
	O_BASELINE,
	O_PROBE,
	O_FINDINGS,
	O_OBSERVATIONS,
	O_CAUSES,
	O_KEEP,
	O_DIRECTORY,
	NOPTS
};
static const struct option_row opts[NOPTS] = {
	[O_TARGET] = {"--target", "NAME", "fuzz check repro confirm minimize blame sweep compile bench",
		"family[-version]:stage[@device][+option=value...], may be repeated (for compile: once, a stage of builtin;\n"
		"                    for bench: of section code; of fuzz: several families take turns; see `targets`)"},
	[O_SAMPLE] = {"--sample", "NAME", "fuzz",
		"a target that takes long: it gets each --every-th program, those that diverge on a --target, and those that become loops\n"
		"                    (`builtin:loops` and what follows it) of a new shape; may be repeated"},
	[O_EVERY] = {"--every", "K", "fuzz", "of --sample: each K-th program (default 500)"},
	[O_DB] = {"--db", "FILE", "fuzz check repro confirm minimize blame triage sweep report bench",
		"the findings store; `fuzz` and `check` make it if absent, and keep there what they find; `bench store` reads it, instead of a\n"
		"                    store that it makes"},
	[O_TIME] = {"--time", "T", "fuzz bench confirm minimize blame triage sweep",
		"stop after T: 90, 90s, 10m, 1h (minimize: with the smallest program so far; triage: minimizing a finding takes 10m of it at most; "
		"bench: each row, CPU time)"},
	[O_PROGRAM] = {"--program", "N", "gen", "only program number N of the seed (as campaigns count them, from 0)"},
	[O_PROGRAMS] = {"--programs", "N", "fuzz gen bench sweep selftest",
		"stop after N generated programs (sweep: after N runs; selftest: of each defect; default 100000)"},
	[O_CALLS] = {"--calls", "N", "gen",
		"N calls of each operator (--ops: of these): programs of inputs and one row, some of them wrong on purpose, to ask PyTorch; "
		"--dtypes: N with self of each of these, also of those that the row does not take"},
	[O_SEED] = {"--seed", "N", "fuzz gen bench selftest", "seed of all choices (fuzz: drawn from the time if not given, and printed)"},
	[O_JOBS] = {"--jobs", "N", "fuzz triage selftest", "processes at a time, each with its own targets (default 1)"},
	[O_SHARD] = {"--shard", "I/N", "fuzz gen", "run part I of N of the campaign of this seed (0-based)"},
	[O_POLICY] = {"--policy", "NAME", "fuzz gen bench", "generator policy (default: default)"},
	[O_GUIDED] = {"--guided", NULL, "fuzz gen bench selftest",
		"a third of the programs are mutants of those that had something new in them"},
	[O_LOOP_SHAPES] = {"--loop-shapes", NULL, "fuzz gen bench selftest",
		"--guided, and a new shape of loops that the built-in compiler makes of a program is something new, too"},
	[O_CORPUS] = {"--corpus", "DIR", "fuzz gen",
		"--guided, and the programs of DIR are there from the beginning; `fuzz` adds what it kept (DIR#HEX: as it was)"},
	[O_OPS] = {"--ops", "A,B", "fuzz gen selftest", "only these operators (and inputs, constants)"},
	[O_DTYPES] = {"--dtypes", "A,B", "fuzz gen selftest", "only these dtypes (and i64 indices, b8 masks)"},
	[O_PYTHON] = {"--python", "PATH", "fuzz check repro confirm minimize blame triage bench targets sweep",
		"Python with the compiler, PyTorch or JAX (a path, or a name in PATH), instead of the target's own environment"},
	[O_LIMIT] = {"--limit", "T", "fuzz check repro confirm minimize blame triage sweep", "time limit of one program on a target"},
	[O_NO_CHEAP] = {"--no-cheap", NULL, "fuzz", "compile every program; no cheap stages before"},
	[O_NO_CONFIRM] = {"--no-confirm", NULL, "fuzz", "do not run divergences again in a fresh process (they stay candidates)"},
	[O_NO_AVOID] = {"--no-avoid", NULL, "fuzz", "compile first whatever is predicted wrongly, also what a known cause explains"},
	[O_NO_RECHECK] = {"--no-recheck", NULL, "fuzz", "do not begin with the findings of the store that are known or fixed"},
	[O_PROGRAM_ID] = {"--program", "ID", "repro confirm minimize blame sweep",
		"another of the finding's programs (`findings show` lists them); default: the minimised one, or its first"},
	[O_AXIS] = {"--axis", "A,B", "sweep", "what to vary (default: all)"},
	[O_SINCE] = {"--since", NULL, "sweep",
		"only the first and the last version that fail, of those installed, in one line; without an ID: of every finding with a cause"},
	[O_STORE] = {"--store", NULL, "sweep repro",
		"keep the answer in the store, for reports: artifact sweep or since of the finding (repro: of --matrix, artifact matrix)"},
	[O_NO_STORE] = {"--no-store", NULL, "repro", "do not write what is seen into the store"},
	[O_BISECT] = {"--bisect", NULL, "repro",
		"exit code 0 (does not happen), 1 (happens) or 125 (anything else), for `git bisect run`; stores nothing"},
	[O_MATRIX] = {"--matrix", NULL, "repro",
		"one table: every stage up to the finding's, on every installed version (or the --target that are named); stores nothing but with "
		"--store"},
	[O_JSON] = {"--json", NULL, "fuzz check triage repro bench targets ops sweep selftest", "one JSON object per line"},
	[O_QUIET] = {"--quiet", NULL, "fuzz check confirm minimize blame triage",
		"no status line, no reports; of `check` only programs that do not pass, and the summary"},
	[O_EXPECT] = {"--expect", "VERDICT", "check",
		"every program must get it: exit code 0 if so, 1 if one diverges instead, else 4 (or 2, 3)"},
	[O_ARGS] = {"--args", "ARGUMENTS", "check",
		"of FILE.py:NAME: what the function is called with, as it would stand in a call in that file, where torch is known, too: "
		"'torch.randn(3, 4), dim=1'; without it NAME gives (function or module, inputs)"},
	[O_SCRIPT] = {"--script", "FILE", "repro check",
		"write a stand-alone Python script that shows the finding ('-': standard output), as a bug report wants it: a few lines, eager "
		"beside compiled, run on every installed version first (a minute; what triage kept is not run again, but with --python); where "
		"that does not show it, as --full"},
	[O_FULL] = {"--full", NULL, "repro check",
		"with --script: the judged script, with what the reference says that must come out and exit codes 1, 0 and 2 (cannot tell); "
		"it is not run"},
	[O_ARTIFACTS] = {"--artifacts", "DIR", "check",
		"write what targets were asked for (+probe.keep=1: graphs, generated code) into files DIR/PROGRAM-NAME.txt"},
	[O_OUT] = {"--out", "FILE", "compile eval gen", "write there instead of standard output"},
	[O_FOLDER] = {"--out", "DIR", "report", "the folder to write into, made if absent; what it has under the same names is replaced"},
	[O_DIR] = {"-o", "DIR", "report", "the same"},
	[O_ALL] = {"--all", NULL, "report check",
		"of report: a folder for every cause, not only for the open ones; of check: on all compilers that are here, plain and compiled: "
		"builtin:eager, builtin:jit and, on the CPU, each installed version of each family"},
	[O_UPSTREAM] = {"--upstream", "FILE", "report",
		"a table of upstream issues in place of the one that is in the binary (corpus/regressions/upstream.tsv); it names its programs "
		"from its own folder"},
	[O_PRINT_AFTER] = {"--print-after", "STAGE", "compile",
		"the program as it stands after this step (they are listed below; after partition these are two programs, the forward and the\n"
		"                    backward part), or passes: after all of them (the default); loops, c, cuda, ptx: what becomes of it then"},
	[O_PART] = {"--part", "forward|backward", "compile", "of the two parts that the step partition makes only this one"},
	[O_VALIDATE] = {"--validate", NULL, "compile",
		"check the compiler's invariants after each step and say so; exit code 1 if one is broken"},
	[O_DEFECT] = {"--defect", "A,B", "compile selftest", "plant this defect, one (selftest: only these; default: each of them, and none)"},
	[O_FAIL_ON] = {"--fail-on", "WORDS", "fuzz",
		"which findings make exit code 1: open (default: new ones and old ones that nobody marked) or new; and of\n"
		"                    which severity at least: high, normal (default), trivial (strides alone); as in new,high; invalid: a\n"
		"                    program that eager refuses makes it, too"},
	[O_BASELINE] = {"--baseline", "FILE", "fuzz check",
		"findings in it (`findings export --known` writes it) count as marked: they are said and make no exit code"},
	[O_PROBE] = {"--probe", NULL, "targets", "start each version (seconds) and say whether it works"},
	[O_FINDINGS] = {"--findings", "N", "bench", "of section store: the store has N findings (default 10000) ..."},
	[O_OBSERVATIONS] = {"--observations", "N", "bench", "... that were seen N times (default 1000000) ..."},
	[O_CAUSES] = {"--causes", "N", "bench", "... and have N causes (default 500)"},
	[O_KEEP] = {"--keep", "FILE", "bench", "of section store: keep the store that was measured; FILE must not exist"},
	[O_DIRECTORY] = {"--directory", "DIR", "", "of shards, which start in one of their own: where the user is"},
	[O_INTO] = {"--into", "FILE", "merge", "the findings store that takes the others up; made if absent"},
};

/* What enumerated options know. */
static option_values_fn *const values[NOPTS] = {[O_POLICY] = policy_values,
	[O_DTYPES] = dtype_values,
	[O_AXIS] = axis_values,
	[O_EXPECT] = verdict_values,
	[O_PRINT_AFTER] = print_after_values,
	[O_PART] = part_values,
	[O_DEFECT] = defect_values,
	[O_FAIL_ON] = fail_on_values};
const struct option_table options_table = {opts, values, NOPTS};

static const struct verb_info verbs[] = {
	{"fuzz", "--target NAME [--db FILE] [--time T] ...", "run a campaign: generate, judge against the reference, keep what diverges", 0},
	{"check", "FILE|DIR|FILE.py:NAME... [--target NAME]",
		"judge programs on targets (files of one or many, directories, pasted FX dumps, '-'; the graphs of a Python function); "
		"default: builtin:eager",
		MAX_FILES},
	{"triage", "[ID] --db FILE [--time T --jobs N]",
		"confirm, minimize and blame (every open finding that has no cause yet); then show the causes, the most serious first", 1},
	{"confirm", "ID --db FILE | FILE --target NAME",
		"again with other data, and in fresh processes: is it there, always, and the target's?", 1},
	{"minimize", "ID --db FILE | FILE --target NAME",
		"the smallest program that still fails in the same way; of a finding it is kept in the store", 1},
	{"blame", "ID --db FILE | FILE --target NAME",
		"the stage that goes wrong, and what cures it: passes and options off, values copied, operators not compiled", 1},
	{"sweep", "ID --db FILE | FILE --target NAME [--axis A,B] [--since] | --since --db FILE",
		"a failure over stages, dtypes, options, sizes and versions: what must come out, what came, their ratio", 1},
	{"repro", "ID [--program ID] --db FILE", "run a stored finding again: exit 1 if it still happens, 0 if not; --matrix: everywhere", 1},
	{"report", "[ID...] --db FILE -o DIR [--all]",
		"what to hand over: of each cause a page, a script, an issue's text; of all a page, JSON, JUnit, SARIF, a summary; runs nothing",
		MAX_FILES},
	{"findings", "[--open --op NAME --since DATE | causes | show ID | sql 'select ...' | mark ID... STATE | export --known] --db FILE",
		"query the findings store, say what became of one", 0},
	{"merge", "A.db B.db ... --into FILE", "findings stores (of shards, of machines) into one; merging one twice changes nothing",
		MAX_FILES},
	{"targets", "[--probe]", "what programs can be run on, and what this machine has of it: versions, GPUs", 0},
	{"ops", "[NAME...]", "the operators of the language", MAX_FILES},
	{"gen", "[--seed N --programs N | --program N --policy NAME | --calls N --ops A,B]",
		"print generated programs, which `check` and `eval` read", 0},
	{"eval", "FILE|DIR...", "run programs on the eager interpreter, print the results and whether the reference agrees", MAX_FILES},
	{"compile", "FILE|DIR... [--target builtin:passes+...] [--print-after STAGE] [--defect NAME] [--validate]",
		"what the built-in compiler makes of programs (of their own data and sizes): a program that other commands read", MAX_FILES},
	{"selftest", "[--defect A,B] [--ops A,B] [--programs N] [--seed N] [--jobs N] [--json]",
		"plant known bugs in the built-in compiler, one at a time: how many programs until each is seen, and who is blamed", 0},
	{"bench", "[SECTION...] [--target NAME] [--time T]",
		"measure generator, reference, comparison and drivers; prints figures of one run; sections:" BENCH_NAMES, MAX_FILES},
};

const struct verb_info *verbs_table(int *n)
{
	*n = ARRAY_LEN(verbs);
	return verbs;
}

static bool int_parse(int64_t *out, const char *text, int64_t min, int64_t max, struct err *err)
{
	char *end;
	errno = 0;
	long long v = strtoll(text, &end, 10);
	if (end == text || *end || errno || v < min || v > max)
		return err_set(err, "'%s' is not an integer from %" PRId64 " to %" PRId64, text, min, max);
	*out = v;
	return true;
}

bool options_target(struct options *o, const char *text, struct err *err)
{
	if (o->ntarget == MAX_TARGETS)
		return err_set(err, "more than %d targets", MAX_TARGETS);
	if (!target_parse(&o->target[o->ntarget], text, err))
		return false;
	o->ntarget++;
	return true;
}

static bool shard_parse(struct options *o, const char *v, struct err *err)
{
	int i, n, used = 0;
	if (sscanf(v, "%d/%d%n", &i, &n, &used) != 2 || v[used] || n < 1 || i < 0 || i >= n)
		return err_set(err, "--shard: '%s' is not I/N with 0 <= I < N", v);
	o->shard_index = i;
	o->shard_count = n;
	return true;
}

static bool apply(struct options *o, enum opt k, const char *v, struct err *err)
{
	int64_t n = 0;
	double t = 0;
	switch (k) {
	case O_TARGET: return options_target(o, v, err);
	case O_SAMPLE:
		if (o->nsample == MAX_TARGETS)
			return err_set(err, "more than %d targets", MAX_TARGETS);
		o->sample[o->nsample++] = v;
		return true;
	case O_EVERY: return int_parse(&o->every, v, 1, INT64_MAX, err);
	case O_DB: o->db = v; return true;
	case O_TIME: return duration_parse(&o->time_s, v, err);
	case O_PROGRAM: o->one_program = true; return int_parse(&o->program, v, 0, INT64_MAX - 1, err);
	case O_PROGRAMS: return int_parse(&o->programs, v, 1, INT64_MAX, err);
	case O_CALLS: return int_parse(&o->calls, v, 1, INT64_MAX, err);
	case O_SEED:
		if (!int_parse(&n, v, 0, INT64_MAX, err))
			return false;
		o->seed = (uint64_t)n;
		o->seed_given = true;
		return true;
	case O_JOBS:
		if (!int_parse(&n, v, 1, 256, err))
			return false;
		o->jobs = (int)n;
		return true;
	case O_SHARD: return shard_parse(o, v, err);
	case O_POLICY: o->policy = v; return true;
	case O_GUIDED: o->guided = true; return true;
	case O_LOOP_SHAPES: o->loop_shapes = o->guided = true; return true;
	case O_CORPUS:
		o->corpus = v;
		o->guided = true;
		return true;
	case O_OPS: o->ops = v; return true;
	case O_DTYPES: o->dtypes = v; return true;
	case O_PYTHON: o->python = v; return true;
	case O_LIMIT:
		if (!duration_parse(&t, v, err))
			return false;
		o->limit_ms = t > 1e6 ? 1000000000 : (int)(t * 1000);
		return true;
	case O_NO_CHEAP: o->no_cheap = true; return true;
	case O_PROGRAM_ID: o->program_id = v; return true;
	case O_AXIS: o->axes = v; return true;
	case O_SINCE: o->since = true; return true;
	case O_STORE: o->store = true; return true;
	case O_NO_STORE: o->no_store = true; return true;
	case O_BISECT: o->bisect = true; return true;
	case O_MATRIX: o->matrix = true; return true;
	case O_NO_AVOID: o->no_avoid = true; return true;
	case O_NO_RECHECK: o->no_recheck = true; return true;
	case O_NO_CONFIRM: o->no_confirm = true; return true;
	case O_JSON: o->json = true; return true;
	case O_QUIET: o->quiet = true; return true;
	case O_PROBE: o->probe = true; return true;
	case O_SCRIPT: o->script = v; return true;
	case O_FULL: o->full = true; return true;
	case O_ARTIFACTS: o->artifacts = v; return true;
	case O_ARGS: o->args = v; return true;
	case O_EXPECT: return verdict_find(&o->expect, v, err);
	case O_OUT: o->out = v; return true;
	case O_FOLDER:
	case O_DIR:
		if (o->folder)
			return err_set(err, "-o and --out are the same: one of them is enough");
		if (!v[0])
			return err_set(err, "%s needs a folder, and its value is empty", opts[k].name);
		o->folder = v;
		return true;
	case O_ALL: o->all = true; return true;
	case O_UPSTREAM: o->upstream = v; return true;
	case O_PRINT_AFTER: o->print_after = v; return true;
	case O_PART: o->part = v; return true;
	case O_VALIDATE: o->validate = true; return true;
	case O_DEFECT: o->defect = v; return true;
	case O_INTO: o->into = v; return true;
	case O_BASELINE: o->baseline = v; return true;
	case O_FINDINGS: return int_parse(&o->findings, v, 1, 1000000, err);
	case O_OBSERVATIONS: return int_parse(&o->observations, v, 1, 1000000000, err);
	case O_CAUSES: return int_parse(&o->causes, v, 1, 1000000, err);
	case O_KEEP: o->keep = v; return true;
	case O_DIRECTORY: o->directory = v; return true;
	case O_FAIL_ON: return fail_on_parse(&o->fail_on, v, err);
	case NOPTS: break;
	}
	BUG("option %d", (int)k);
}

const char *verb_guess(struct guess *g, const char *given)
{
	return guess_from(g, given, &verbs[0].name, sizeof verbs[0], ARRAY_LEN(verbs));
}

/* Nobody types it; it takes every option. */
static bool verb_of_ours(const char *verb) { return verb[0] == '_'; }

/* What options and words say together. */
static bool check_together(const struct options *o, const char *verb, struct err *err)
{
	int words = 0; /* of verbs that only we start */
	for (int i = 0; i < ARRAY_LEN(verbs); i++)
		if (str_eq(verb, verbs[i].name))
			words = verbs[i].words;
	if (o->nfile > words)
		return err_set(err, "%s: '%s' is not understood: it takes %s (try --help)", verb, o->file[words],
			words ? "one word beside its options" : "options only");
	if ((o->bisect && (o->matrix || o->script)) || (o->matrix && o->script))
		return err_set(err, "%s: --bisect, --matrix and --script exclude each other", verb);
	if (o->corpus && (o->ops || o->dtypes))
		return err_set(err, "%s: --corpus has programs of all operators and dtypes: it excludes --ops and --dtypes", verb);
	if (str_eq(verb, "repro") && o->store && !o->matrix)
		return err_set(err, "repro: --store goes with --matrix (what repro sees is stored unless --no-store)");
	if (o->store && o->no_store)
		return err_set(err, "%s: --store and --no-store exclude each other", verb);
	if (str_eq(verb, "check") && o->all && (o->python || o->script))
		return err_set(err, "check: --all asks several compilers: it excludes --python and --script");
	if (o->full && !o->script)
		return err_set(err, "%s: --full goes with --script", verb);
	if (str_eq(verb, "repro") && o->json && !o->matrix)
		return err_set(err, "repro: --json goes with --matrix");
	return !(o->one_program && o->programs) || err_set(err, "%s: --program and --programs exclude each other", verb);
}

/* Those of --sample behind the others, wherever they stood. */
static bool add_samples(struct options *o, struct err *err)
{
	if (o->every && !o->nsample)
		return err_set(err, "fuzz: --every goes with --sample");
	if (o->nsample && !o->ntarget)
		return err_set(err, "fuzz: --sample goes with a --target, whose programs it gets a part of");
	for (int i = 0; i < o->nsample; i++)
		if (!options_target(o, o->sample[i], err))
			return false;
	o->every = o->every ? o->every : SAMPLE_EVERY;
	return true;
}

/* One more file, or word of a verb that takes some. */
static bool add_word(struct options *o, const char *word, struct err *err)
{
	if (o->nfile == MAX_FILES)
		return err_set(err, "more than %d files", MAX_FILES);
	o->file[o->nfile++] = word;
	return true;
}

bool options_parse(struct options *o, int argc, char **argv, bool *help, struct err *err)
{
	const char *verb = argv[0], *self = o->self;
	const struct look look = o->look;
	char who[64];
	snprintf(who, sizeof who, "%s: ", verb);
	struct arguments r = {.row = opts,
		.nrow = NOPTS,
		.repeatable = UINT64_C(1) << O_TARGET | UINT64_C(1) << O_SAMPLE,
		.verb = verb_of_ours(verb) ? NULL : verb,
		.who = who,
		.argc = argc,
		.argv = argv};
	*o = (struct options){
		.expect = -1, .jobs = 1, .shard_count = 1, .policy = "default", .self = self, .look = look, .fail_on = {.least = SEVERITY_NORMAL}};
	*help = false;
	for (;;)
		switch (arguments_next(&r, err)) {
		case ARGUMENT_END: return check_together(o, verb, err) && add_samples(o, err);
		case ARGUMENT_HELP: *help = true; return true;
		case ARGUMENT_WORD:
			if (!add_word(o, r.value, err))
				return false;
			break;
		case ARGUMENT_OPTION:
			if (!apply(o, (enum opt)r.option, r.value, err))
				return false;
			break;
		case ARGUMENT_BAD: return false;
		}
}

static void arg(char ***av, struct arena *a, const char *name, const char *value)
{
	*(*av)++ = arena_strdup(a, name);
	if (value)
		*(*av)++ = arena_strdup(a, value);
}

/* Shards change directory. A name without a slash is looked for in PATH. */
static const char *absolute(const char *path, struct arena *a)
{
	char cwd[4096];
	return strchr(path, '/') && path[0] != '/' && getcwd(cwd, sizeof cwd) ? arena_printf(a, "%s/%s", cwd, path) : path;
}

char **options_argv(const struct options *o, const char *verb, int shard, struct arena *a)
{
	char **argv = ARENA_ZNEW(a, char *, 64 + 2 * o->ntarget), **av = argv, cwd[4096];
	arg(&av, a, o->self, NULL);
	arg(&av, a, verb, NULL);
	for (int i = 0; i < o->ntarget; i++) {
		struct strbuf sb;
		sb_init(&sb);
		target_print(&sb, &o->target[i]);
		arg(&av, a, i < o->ntarget - o->nsample ? "--target" : "--sample", sb.s);
		sb_free(&sb);
	}
	if (o->nsample)
		arg(&av, a, "--every", arena_printf(a, "%" PRId64, o->every));
	arg(&av, a, "--seed", arena_printf(a, "%" PRIu64, o->seed));
	arg(&av, a, "--shard", arena_printf(a, "%d/%d", o->shard_index * o->jobs + shard, o->shard_count * o->jobs));
	arg(&av, a, "--policy", o->policy);
	if (o->programs)
		arg(&av, a, "--programs", arena_printf(a, "%" PRId64, o->programs));
	if (o->ops)
		arg(&av, a, "--ops", o->ops);
	if (o->dtypes)
		arg(&av, a, "--dtypes", o->dtypes);
	if (o->guided)
		arg(&av, a, "--guided", NULL);
	if (o->loop_shapes)
		arg(&av, a, "--loop-shapes", NULL);
	if (o->corpus)
		arg(&av, a, "--corpus", absolute(o->corpus, a));
	if (o->python)
		arg(&av, a, "--python", absolute(o->python, a));
	if (getcwd(cwd, sizeof cwd))
		arg(&av, a, "--directory", cwd);
	if (o->limit_ms)
		arg(&av, a, "--limit", arena_printf(a, "%dms", o->limit_ms));
	if (o->no_cheap)
		arg(&av, a, "--no-cheap", NULL);
	if (o->no_avoid)
		arg(&av, a, "--no-avoid", NULL);
	if (o->no_confirm)
		arg(&av, a, "--no-confirm", NULL);
	return argv;
}
