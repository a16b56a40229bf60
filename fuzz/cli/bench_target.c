/* bench_target.c: what driving PyTorch costs: programs per second of one worker, and what a campaign does beside waiting for its
 * target. Campaigns are real ones: this binary's `fuzz` as a child, read by its summary. */
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "eager/base/proc.h"
#include "eager/base/clock.h"
#include "fuzz/cli/bench.h"
#include "compiled/targets/exec.h"

/* ---- one worker -------------------------------------------------------------------------------------------------------------------- */

struct worker_figures {
	int64_t programs, ok, rss;
	double wall, target, first;
};

static bool drive(struct worker_figures *f, const struct options *o, struct target *t, int64_t n, double limit, struct err *why)
{
	struct exec_options eo = {.self = o->self, .python = o->python};
	struct exec *e = exec_open(t, &eo, why);
	struct program_source src = bench_source(o, NULL);
	struct arena a;
	double begin = clock_s();
	bool ok = e && exec_identify(t, e, why) == EXEC_IDENTIFIED;
	arena_init(&a);
	for (int64_t i = -1; ok && i < n && (i < 1 || clock_s() - begin < limit); i++) {
		struct prog p;
		struct result r;
		arena_reset(&a);
		ok = source_program(&p, &a, &src, i + 1, why);
		if (!ok)
			break;
		exec_run(&r, &a, e, &p, t);
		if (i < 0) { /* the first one starts the worker and imports PyTorch */
			f->first = clock_s() - begin;
			begin = clock_s();
			if (r.status == RES_HARNESS)
				ok = err_set(why, "%s", r.message);
			continue;
		}
		f->programs++;
		f->ok += r.status == RES_OK;
		f->target += r.target_ms * 1e-3;
	}
	f->wall = clock_s() - begin;
	f->rss = e ? proc_rss(exec_proc(e)) : 0;
	exec_close(e);
	arena_free(&a);
	return ok;
}

bool bench_fake(const struct options *o, struct err *err)
{
	static const struct bench_column columns[] = {{"programs/s", 11, 1}, {"ms/program", 11, 2}, {"in target ms", 12, 2},
		{"outside %", 9, 1}, {"answered", 9, 0}, {"programs", 9, 0}, {"start s", 8, 1}, {"MiB", 6, 0}};
	struct bench_table tb = {o, "fake", ARRAY_LEN(columns), columns};
	static const char *const targets[] = {"torch:fake", "torch:eager", "torch:aot_eager"};
	(void)err;
	table_begin(&tb, "one worker, one program at a time, wall time (judging not included)");
	for (int i = 0; i < ARRAY_LEN(targets); i++) {
		struct target t;
		struct err why = {0};
		struct worker_figures f = {0};
		CHECK(target_parse(&t, targets[i], &why));
		if (!drive(&f, o, &t, o->programs ? o->programs : 1000, o->time_s > 0 ? o->time_s : 15, &why)) {
			bench_note(o, "%s: skipped: %s", targets[i], why.msg);
			return true;
		}
		double n = (double)MAX(f.programs, 1);
		struct strbuf name;
		sb_init(&name);
		target_print(&name, &t);
		table_row(&tb, name.s,
			(double[]){n / f.wall, 1e3 * f.wall / n, 1e3 * f.target / n, 100 * (f.wall - f.target) / f.wall, (double)f.ok, n, f.first,
				(double)(f.rss >> 20)});
		sb_free(&name);
	}
	return true;
}

/* ---- campaigns --------------------------------------------------------------------------------------------------------------------- */

/* Runs argv, collects its standard output (its standard error is dropped). rss: the largest process of the tree, targets too. */
static int run_self(struct strbuf *out, char *const *argv)
{
	int fd[2];
	char buf[4096];
	fflush(stdout);
	CHECK(pipe(fd) == 0);
	pid_t pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_WRONLY);
		if (dup2(null, 2) == 2 && dup2(fd[1], 1) == 1) {
			close(fd[0]);
			close(fd[1]);
			execv(argv[0], argv);
		}
		_exit(127);
	}
	close(fd[1]);
	for (ssize_t n; pid > 0 && (n = read(fd[0], buf, sizeof buf)) > 0;)
		sb_put(out, buf, (size_t)n);
	close(fd[0]);
	int status = -1;
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

struct campaign_figures {
	double seconds, programs, generate, reference, wait, parent, shards, targets;
};

/* The lines that campaign.c's summary() prints. */
static bool summary_read(struct campaign_figures *f, const char *s)
{
	const char *head = strstr(s, ": seed "), *time = strstr(s, "  time: generating "), *memory = strstr(s, "  memory: parent ");
	*f = (struct campaign_figures){0};
	return head && time && memory && sscanf(head, ": seed %*u, %lf s, %lf programs", &f->seconds, &f->programs) == 2
		&& sscanf(time, "  time: generating %lf%%, reference and comparison %lf%%, waiting for targets %lf%%", &f->generate, &f->reference,
			   &f->wait)
		== 3
		&& sscanf(memory, "  memory: parent %lf MiB, shards %lf MiB, targets %lf MiB", &f->parent, &f->shards, &f->targets) == 3;
}

struct campaign_case {
	const char *target;
	int64_t programs;
	int seconds;
	const char *name;
	int jobs; /* 0: as many as `fuzz` takes by itself */
};

static bool one_campaign(struct campaign_figures *f, const struct options *o, const struct campaign_case *c, struct strbuf *out)
{
	struct arena a;
	char *argv[24];
	int n = 0;
	arena_init(&a);
	argv[n++] = arena_strdup(&a, o->self);
	argv[n++] = arena_strdup(&a, "fuzz");
	argv[n++] = arena_strdup(&a, "--quiet");
	argv[n++] = arena_strdup(&a, "--no-confirm");
	argv[n++] = arena_printf(&a, "--target=%s", c->target);
	argv[n++] = arena_printf(&a, "--seed=%" PRIu64, o->seed);
	argv[n++] = arena_printf(&a, "--policy=%s", o->policy);
	if (c->programs)
		argv[n++] = arena_printf(&a, "--programs=%" PRId64, c->programs);
	if (c->jobs)
		argv[n++] = arena_printf(&a, "--jobs=%d", c->jobs);
	argv[n++] = arena_printf(&a, "--time=%.0fs", o->time_s > 0 ? o->time_s : (double)c->seconds);
	if (o->python)
		argv[n++] = arena_printf(&a, "--python=%s", o->python);
	argv[n] = NULL;
	int rc = run_self(out, argv);
	bool ok = (rc == EXIT_CLEAN || rc == EXIT_FINDINGS) && summary_read(f, out->s);
	arena_free(&a);
	return ok;
}

bool bench_campaign(const struct options *o, struct err *err)
{
	static const struct bench_column columns[] = {{"seconds", 8, 0}, {"programs", 9, 0}, {"programs/s", 10, 1}, {"generate %", 10, 2},
		{"judge %", 8, 2}, {"waiting %", 9, 2}, {"outside %", 9, 2}, {"parent MiB", 10, 0}, {"shards MiB", 11, 0}, {"targets MiB", 11, 0}};
	static const struct campaign_case cases[] = {
		{"builtin:eager", 10000, 120, "builtin:eager, 10^4 programs", 0},
		{"torch:eager", 2000, 60, "torch:eager", 0},
		{"torch:fake", 1000, 60, "torch:fake", 0},
		{"torch:aot_eager", 0, 60, "torch:aot_eager", 0},
		{"torch:inductor@cpu", 0, 120, "torch:inductor@cpu", 0},
	};
	struct bench_table tb = {o, "campaign", ARRAY_LEN(columns), columns};
	(void)err;
	table_begin(
		&tb, "share of wall time in which a shard did not wait for its target (goal: <= 5 % of a compiling one); parent <= 200 MiB");
	for (int i = 0; i < ARRAY_LEN(cases); i++) {
		struct campaign_figures f;
		struct strbuf out;
		struct target t;
		struct strbuf path;
		struct err why = {0};
		sb_init(&out);
		sb_init(&path);
		if (!target_parse(&t, cases[i].target, &why) || (target_has_versions(&t) && !target_python(&path, &t, o->python, &why)))
			bench_note(o, "%s: skipped: %s", cases[i].target, why.msg);
		else if (one_campaign(&f, o, &cases[i], &out))
			table_row(&tb, cases[i].name,
				(double[]){f.seconds, f.programs, f.programs / fmax(f.seconds, 0.5), f.generate, f.reference, f.wait, 100 - f.wait,
					f.parent, f.shards, f.targets});
		else
			bench_note(o, "%s: the campaign did not count", cases[i].target);
		sb_free(&path);
		sb_free(&out);
	}
	return true;
}

/* ---- scaling ----------------------------------------------------------------------------------------------------------------------- */

/* A row; programs per second, 0 if it did not count. one: what one worker does, 0: this is it. */
static double scaling_row(const struct bench_table *t, const struct campaign_case *c, double one)
{
	struct campaign_figures f;
	struct strbuf out;
	double rate = 0;
	sb_init(&out);
	if (one_campaign(&f, t->o, c, &out)) {
		rate = f.programs / fmax(f.seconds, 0.5);
		table_row(t, c->name, (double[]){f.programs, f.seconds, rate, one > 0 ? rate / one : NAN, f.parent, f.shards, f.targets});
	} else {
		bench_note(t->o, "%s: the campaign did not count", c->name);
	}
	sb_free(&out);
	return rate;
}

bool bench_scaling(const struct options *o, struct err *err)
{
	static const struct bench_column columns[] = {{"programs", 9, 0}, {"seconds", 8, 0}, {"programs/s", 11, 1}, {"x one", 7, 2},
		{"parent MiB", 11, 0}, {"shards MiB", 11, 0}, {"targets MiB", 12, 0}};
	static const struct campaign_case memory[] = {{"builtin:jit", 1000, 600, "builtin:jit, up to 10^3 programs", 2},
		{"builtin:jit", 10000, 600, "builtin:jit, up to 10^4 programs", 2}, {"builtin:jit", 100000, 600, "builtin:jit, 10^5 programs", 2}};
	static const char *const targets[] = {"builtin:eager", "builtin:jit", "builtin:o2"};
	const struct bench_table t = {o, "scaling", ARRAY_LEN(columns), columns};
	struct arena a;
	arena_init(&a);
	(void)err;
	table_begin(&t, "campaigns of one and two workers, wall time (goal: x 1.9 on a machine that does nothing else); memory (goal: flat)");
	for (int i = 0; i < ARRAY_LEN(targets); i++) {
		double one = 0;
		for (int jobs = 1; jobs <= 2; jobs++) {
			const char *name = arena_printf(&a, "%s, %d worker%s", targets[i], jobs, jobs > 1 ? "s" : "");
			one = scaling_row(&t, &(struct campaign_case){targets[i], 0, 20, name, jobs}, one);
		}
	}
	for (int i = 0; i < ARRAY_LEN(memory); i++)
		scaling_row(&t, &memory[i], 0);
	arena_free(&a);
	return true;
}
