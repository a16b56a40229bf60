/* options.h: the command line's options, one table for all verbs: name, what it takes, which verbs know it, help. */
#ifndef SCATTERPROOF_OPTIONS_H
#define SCATTERPROOF_OPTIONS_H

#include "compiled/targets/target.h"
#include "eager/base/guess.h"
#include "eager/base/screen.h"
#include "fuzz/ask/fail_on.h"
#include "fuzz/ask/help.h"

enum { MAX_TARGETS = 16, MAX_FILES = 4096, SAMPLE_EVERY = 500 };
/* Exit codes (DESIGN section 11). */
enum { EXIT_CLEAN = 0, EXIT_FINDINGS = 1, EXIT_USAGE = 2, EXIT_TARGET = 3, EXIT_VOID = 4 };
/* Of several programs' codes the one to return, EXIT_VOID before the first: a finding is never hidden by a program that was not judged or
 * could not be read, and the run counts as soon as one program was judged. */
static inline int exit_of_both(int a, int b)
{
	static const int weight[] = {[EXIT_VOID] = 0, [EXIT_CLEAN] = 1, [EXIT_USAGE] = 2, [EXIT_TARGET] = 3, [EXIT_FINDINGS] = 4};
	return weight[a] >= weight[b] ? a : b;
}

/* The sections of bench, in the order in which they run. */
#define BENCH_SECTIONS(X)  X(reference) X(throughput) X(compiler) X(code) X(fake) X(campaign) X(scaling) X(catch) X(tightness) X(store)
#define BENCH_LISTED(name) " " #name
#define BENCH_NAMES        BENCH_SECTIONS(BENCH_LISTED) /* " reference throughput ..." */

struct options {
	int ntarget;
	struct target target[MAX_TARGETS];
	const char *sample[MAX_TARGETS]; /* as they were given */
	int nsample;                     /* the last of them are those of --sample … */
	int64_t every;                   /* … which get every program whose number is a multiple of this */
	const char *db, *policy, *ops, *dtypes, *python, *script, *artifacts, *out, *print_after, *part, *defect, *into, *baseline, *corpus,
		*args;
	double time_s;   /* --time; 0: no limit */
	double finish_s; /* of a finding under `triage` that is minimised: when it ends, in place of time_s; 0: then, too */
	int64_t program; /* --program, if one_program */
	bool one_program;
	const char *folder, *upstream; /* of report */
	bool all;
	const char *program_id; /* --program of repro: a prefix */
	const char *axes;       /* --axis; NULL: all */
	bool since;
	bool guided; /* --guided; --corpus and --loop-shapes say it, too */
	bool loop_shapes;
	bool store, no_store;
	bool bisect, matrix; /* of repro */
	bool full;           /* --full: of --script, the judged one */
	int64_t programs;    /* --programs; 0: no limit */
	int64_t calls;       /* --calls of gen; 0: programs */
	uint64_t seed;
	bool seed_given;
	int jobs, shard_index, shard_count;
	int limit_ms;  /* --limit: per program on a target */
	bool no_cheap; /* --no-cheap: every generated program is compiled */
	bool no_confirm;
	bool no_avoid;                          /* --no-avoid: what known causes explain is compiled like everything else */
	bool no_recheck;                        /* --no-recheck: what is known is not run again first */
	int64_t findings, observations, causes; /* of bench store; 0: its default */
	const char *keep;                       /* --keep of bench store: the file */
	bool json, quiet, probe;
	bool validate; /* of compile */
	int expect;    /* --expect: an enum verdict, -1: none */
	struct fail_on fail_on;
	int nfile;
	const char *file[MAX_FILES];
	const char *directory; /* of a shard: where the user is */
	const char *self;      /* path of this binary */
	struct look look;      /* of standard output */
};

/* argv[0] is the verb. False: err says what is wrong; *help is set if --help was given (then nothing else matters). */
bool options_parse(struct options *o, int argc, char **argv, bool *help, struct err *err);
/* "torch:inductor@cpu" added to o->target. */
bool options_target(struct options *o, const char *text, struct err *err);
const char *verb_guess(struct guess *g, const char *given); /* see guess_text */
const struct verb_info *verbs_table(int *n);                /* all that people type */
extern const struct option_table options_table;
/* The inverse of options_parse for what a shard needs: appends arguments, NULL-terminated, memory in a. */
char **options_argv(const struct options *o, const char *verb, int shard, struct arena *a);

#endif
