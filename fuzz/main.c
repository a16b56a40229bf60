/* main.c: the command line: a verb, its options, its function. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "compiled/targets/builtin.h"
#include "fuzz/commands.h"
#include "fuzz/shard.h"
#include "reports/findings_cmd.h"

static const struct { const char *name; int (*run)(const struct options *o); } verbs[] = {
	{"fuzz", cmd_fuzz}, {"check", cmd_check}, {"repro", cmd_repro}, {"merge", cmd_merge}, {"targets", cmd_targets}, {"ops", cmd_ops}, {"gen", cmd_gen},
	{"eval", cmd_eval}, {"bench", cmd_bench}, {SHARD_VERB, shard_main},
};

FILE *open_out(const char *path)
{
	if (!path || str_eq(path, "-"))
		return stdout;
	FILE *f = fopen(path, "w");
	if (!f)
		perror(path);
	return f;
}

static const char *self_path(char *buf, size_t n)
{
	ssize_t len = readlink("/proc/self/exe", buf, n - 1);
	CHECK(len > 0);
	buf[len] = 0;
	return buf;
}

/* What could not be printed is not said; a signal's code stands. */
static int finish(int rc)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return rc;
	fprintf(stderr, "scatterproof: cannot write to standard output: %s\n", strerror(errno));
	return rc >= 128 ? rc : EXIT_TARGET;
}

int main(int argc, char **argv)
{
	signal(SIGXFSZ, SIG_IGN);       /* a file size limit is a full disk: writes fail, and whoever wrote says so */
	static char self[4096];
	const char *verb = argc > 1 ? argv[1] : "--help";
	if (str_eq(verb, "--help") || str_eq(verb, "-h") || str_eq(verb, "help")) {
		options_help(argc > 1 ? stdout : stderr, NULL);
		return argc > 1 ? EXIT_CLEAN : EXIT_USAGE;
	}
	if (str_eq(verb, "--version")) {
		puts(SCATTERPROOF);
		return EXIT_CLEAN;
	}
	if (str_eq(verb, BUILTIN_VERB))
		return builtin_child();
	if (str_eq(verb, "findings"))
		return cmd_findings(argc - 1, argv + 1);
	for (int i = 0; i < ARRAY_LEN(verbs); i++) {
		if (!str_eq(verb, verbs[i].name))
			continue;
		struct options o = {.self = self_path(self, sizeof self)};
		struct err err = {0};
		bool help;
		if (!options_parse(&o, argc - 1, argv + 1, &help, &err)) {
			fprintf(stderr, "scatterproof: %s\n", err.msg);
			return EXIT_USAGE;
		}
		if (help) {
			options_help(stdout, verb);
			return EXIT_CLEAN;
		}
		return finish(verbs[i].run(&o));
	}
	fprintf(stderr, "scatterproof: unknown verb '%s' (try --help)%s\n", verb, verb_guess(&(struct guess){0}, verb));
	return EXIT_USAGE;
}
