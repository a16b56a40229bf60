/* main.c: the command line: a verb, its options, its function. */
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "compiled/loops/package.h"
#include "compiled/targets/builtin/builtin.h"
#include "eager/base/output.h"
#include "fuzz/cli/commands.h"
#include "fuzz/campaign/recheck.h"
#include "fuzz/campaign/shard.h"
#include "fuzz/cli/complete.h"
#include "fuzz/cli/findings_cmd.h"
#include "fuzz/cli/man.h"
#include "fuzz/ask/pager.h"

typedef int verb_fn(const struct options *o);
static const struct {
	const char *name;
	verb_fn *run;
} verbs[] = {
	{"fuzz", cmd_fuzz},
	{"check", cmd_check},
	{"repro", cmd_repro},
	{"confirm", cmd_confirm},
	{"minimize", cmd_minimize},
	{"blame", cmd_blame},
	{"triage", cmd_triage},
	{"sweep", cmd_sweep},
	{"report", cmd_report},
	{"merge", cmd_merge},
	{"targets", cmd_targets},
	{"ops", cmd_ops},
	{"gen", cmd_gen},
	{"eval", cmd_eval},
	{"compile", cmd_compile},
	{"selftest", cmd_selftest},
	{"bench", cmd_bench},
	{SHARD_VERB, shard_main},
	{RECHECK_VERB, recheck_main},
};

static const char *self_path(char *buf, size_t n)
{
	ssize_t len = readlink("/proc/self/exe", buf, n - 1);
	CHECK(len > 0);
	buf[len] = 0;
	return buf;
}

/* What could not be written is exit 3, of every verb; a signal's code stands. */
static int close_output(struct output *out, int rc)
{
	struct err err = {0};
	if (output_close(out, &err))
		return rc;
	complain("%s", err.msg);
	return rc >= 128 ? rc : EXIT_TARGET;
}

/* --out FILE stands in the place of standard output. */
static int run_into_file(verb_fn *run, const struct options *o)
{
	static struct output file;
	struct err err = {0};
	FILE *standard = stdout;
	if (!output_file(&file, o->out, &err)) {
		complain("%s", err.msg);
		return EXIT_TARGET;
	}
	stdout = file.file;
	int rc = run(o);
	stdout = standard;
	file.abandoned = rc == EXIT_USAGE;
	return close_output(&file, rc);
}

/* verb NULL: of all verbs. */
static void print_help(const char *verb, const struct screen *screen)
{
	struct strbuf sb;
	struct pager pager;
	sb_init(&sb);
	help_print(&sb, verb, help_width(screen->look.width));
	pager_begin(&pager, screen);
	fwrite(sb.s, 1, sb.len, stdout);
	pager_end(&pager);
	sb_free(&sb);
}

static int run_verb(verb_fn *run, int argc, char **argv, const struct screen *screen)
{
	static char self[4096];
	struct options o = {.self = self_path(self, sizeof self), .look = screen->look};
	struct err err = {0};
	bool help;
	if (!options_parse(&o, argc, argv, &help, &err)) {
		complain("%s", err.msg);
		return EXIT_USAGE;
	}
	if (help) {
		print_help(argv[0], screen);
		return EXIT_CLEAN;
	}
	return o.out && !str_eq(o.out, "-") ? run_into_file(run, &o) : run(&o);
}

static int unknown_verb(const char *verb)
{
	complain("unknown verb '%s' (try --help)%s", verb, verb_guess(&(struct guess){0}, verb));
	return EXIT_USAGE;
}

/* `help VERB` is `VERB --help`. */
static int help_of(const char *verb, const struct screen *screen)
{
	int n;
	const struct verb_info *v = verbs_table(&n);
	for (int i = 0; i < n; i++)
		if (str_eq(verb, v[i].name)) {
			print_help(verb, screen);
			return EXIT_CLEAN;
		}
	return unknown_verb(verb);
}

static int print_man(const char *verb)
{
	struct strbuf sb;
	sb_init(&sb);
	bool found = man_page(&sb, verb);
	fwrite(sb.s, 1, sb.len, stdout);
	sb_free(&sb);
	return found ? EXIT_CLEAN : unknown_verb(verb);
}

static int print_completion(int nwords, char **word)
{
	struct strbuf sb;
	sb_init(&sb);
	complete_words(&sb, nwords, word);
	fwrite(sb.s, 1, sb.len, stdout);
	sb_free(&sb);
	return EXIT_CLEAN;
}

static int dispatch(int argc, char **argv, const struct screen *screen)
{
	const char *verb = argc > 1 ? argv[1] : "--help";
	if (str_eq(verb, "help") && argc == 3)
		return help_of(argv[2], screen);
	bool help = str_eq(verb, "--help") || str_eq(verb, "-h") || str_eq(verb, "help"),
		 version = str_eq(verb, "--version") || str_eq(verb, "version");
	if ((help || version) && argc > 2) {
		complain("'%s' is not understood after %s (VERB --help tells the options of a verb)", argv[str_eq(verb, "help") ? 3 : 2], verb);
		return EXIT_USAGE;
	}
	if (help) {
		if (argc > 1) {
			print_help(NULL, screen);
			return EXIT_CLEAN;
		}
		struct strbuf sb;
		sb_init(&sb);
		help_print(&sb, NULL, help_width(screen->look.width));
		fwrite(sb.s, 1, sb.len, stderr);
		sb_free(&sb);
		return EXIT_USAGE;
	}
	if (version) {
		puts(SCATTERPROOF);
		return EXIT_CLEAN;
	}
	if (str_eq(verb, BUILTIN_VERB))
		return builtin_child();
	if (str_eq(verb, PACKAGE_VERB) && argc == 3)
		return package_child(argv[2]);
	if (str_eq(verb, "man") && argc <= 3)
		return print_man(argc > 2 ? argv[2] : NULL);
	if (str_eq(verb, "findings"))
		return cmd_findings(argc - 1, argv + 1, screen);
	for (int i = 0; i < ARRAY_LEN(verbs); i++)
		if (str_eq(verb, verbs[i].name))
			return run_verb(verbs[i].run, argc - 1, argv + 1, screen);
	return unknown_verb(verb);
}

/* `git bisect run` takes every code below 128 but 0 and 125 for "bad", and the others for a wish to end. So whatever happens to
 * `repro --bisect`, wrong usage and a full disk included, is one of three. */
enum { BISECT_CANNOT_TELL = 125 };
static int code_of(int rc, int argc, char **argv)
{
	bool bisects = false;
	for (int i = 2; i < argc && str_eq(argv[1], "repro"); i++)
		bisects |= str_eq(argv[i], "--bisect");
	return bisects && rc != EXIT_CLEAN && rc != EXIT_FINDINGS ? BISECT_CANNOT_TELL : rc;
}

/* A descriptor 0, 1 or 2 that the caller closed would become the next file that is opened: a database, a worker's socket. */
static void occupy_standard_descriptors(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != fd)
			exit(EXIT_TARGET);
}

/* A program of a million elements needs much for a moment. glibc's thresholds grow with it, and the heap keeps it from then on, in pieces;
 * fixed ones give it back. */
static void give_memory_back(void)
{
	mallopt(M_MMAP_THRESHOLD, 4 << 20);
	mallopt(M_TRIM_THRESHOLD, 8 << 20);
}

int main(int argc, char **argv)
{
	static struct output out, errors; /* stdio flushes what is left of them at exit */
	signal(SIGXFSZ, SIG_IGN);         /* a file size limit is a full disk: writes fail, and whoever wrote says so */
	give_memory_back();
	occupy_standard_descriptors();
	output_standard(&out, STDOUT_FILENO);
	output_standard(&errors, STDERR_FILENO);
	stdout = out.file;
	stderr = errors.file;
	struct screen screen;
	struct err err = {0};
	int rc = EXIT_USAGE;
	if (argc > 1 && str_eq(argv[1], "complete")) { /* words that somebody types, and no options of ours */
		rc = print_completion(argc - 2, argv + 2);
	} else if (screen_options(&screen, &argc, argv, &err)) {
		out.styled = screen.look.color;
		rc = dispatch(argc, argv, &screen);
	} else {
		complain("%s", err.msg);
	}
	return code_of(close_output(&out, rc), argc, argv);
}
