/* cmd_selftest.c: the nightly question "can we still see?": a campaign per planted defect, and one with none, which must find nothing.
 * Every campaign draws the same programs, in a process of its own. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "eager/base/json.h"
#include "eager/base/output.h"
#include "fuzz/cli/commands.h"
#include "fuzz/campaign/source.h"
#include "fuzz/cli/selftest.h"

enum { MOST_PROGRAMS = 100000, SOUND_PROGRAMS = 2000, MAX_TRIALS = 256 };

struct selftest {
	const struct options *o;
	struct program_source source;
	int n;
	const struct defect *defect[MAX_TRIALS]; /* NULL: none planted */
	struct selftest_row row[MAX_TRIALS];
};

/* ---- which ---- */

static bool choose(struct selftest *s, const char *names)
{
	for (const char *at = names; *at; at += *at == ',') {
		char name[64];
		const size_t n = strcspn(at, ",");
		snprintf(name, sizeof name, "%.*s", (int)MIN(n, sizeof name - 1), at);
		const struct defect *d = defect_find(name);
		if (!d) {
			complain("--defect: there is no defect '%s' (docs/compiler.md lists them)%s", name,
				guess_from(&(struct guess){0}, name, &defects[0].name, sizeof defects[0], ndefects));
			return false;
		}
		if (s->n == MAX_TRIALS) {
			complain("--defect: more than %d", (int)MAX_TRIALS);
			return false;
		}
		s->defect[s->n++] = d;
		at += n;
	}
	return true;
}

/* None planted comes first: it takes longest. */
static bool choose_all(struct selftest *s)
{
	CHECK(ndefects < MAX_TRIALS);
	s->defect[s->n++] = NULL;
	if (s->o->defect)
		return choose(s, s->o->defect);
	for (int i = 0; i < ndefects; i++)
		s->defect[s->n++] = &defects[i];
	return true;
}

/* ---- what came out ---- */

static bool named_right(const struct defect *d, const struct selftest_row *r) { return str_eq(r->step, d->step); }

static bool caught_as_expected(const struct defect *d, const struct selftest_row *r)
{
	const bool gradient_too = d->caught == CAUGHT_BY_VALUE && str_eq(r->by, defect_catcher_name[CAUGHT_BY_GRADIENT]);
	return gradient_too || str_eq(r->by, defect_catcher_name[d->caught]);
}

static void show_text(const struct selftest *s, int i)
{
	const struct defect *d = s->defect[i];
	const struct selftest_row *r = &s->row[i];
	const char *name = d ? d->name : "none planted";
	if (!r->ran)
		printf("%-28s did not run: %s\n", name, r->trouble[0] ? r->trouble : "its process ended");
	else if (!r->found)
		printf("%-28s nothing found in %lld programs, %s %lld\n", name, (long long)r->programs, d ? "planted in" : "judged",
			(long long)r->planted);
	else
		printf("%-28s %-10s %6lld programs, planted in %lld; caught by %s%s; blamed: %s%s; %s\n", name, d ? d->step : "",
			(long long)r->programs, (long long)r->planted, r->by, d && !caught_as_expected(d, r) ? " (not as expected)" : "", r->step,
			d && !named_right(d, r) ? " (wrong)" : "", r->ops);
}

static void show_json(const struct selftest *s, int i)
{
	const struct defect *d = s->defect[i];
	const struct selftest_row *r = &s->row[i];
	struct strbuf sb;
	sb_init(&sb);
	struct json j = json_into(&sb, JSON_SPACED);
	json_object(&j, NULL);
	json_string(&j, "defect", d ? d->name : "");
	json_bool(&j, "ran", r->ran);
	json_bool(&j, "found", r->found);
	json_int(&j, "programs", r->programs);
	json_int(&j, "planted", r->planted);
	if (d) {
		json_string(&j, "step", d->step);
		json_string(&j, "expected", defect_catcher_name[d->caught]);
	}
	if (r->found) {
		json_string(&j, "caught", r->by);
		json_string(&j, "blamed", r->step);
		json_string(&j, "operators", r->ops);
	}
	if (!r->ran)
		json_string(&j, "trouble", r->trouble);
	json_end(&j);
	printf("%s\n", sb.s);
	sb_free(&sb);
}

static void show(const struct selftest *s, int i)
{
	if (s->o->json)
		show_json(s, i);
	else
		show_text(s, i);
	fflush(stdout);
}

static int by_size(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

/* The last line, of the defects that were found. */
static int summary(const struct selftest *s)
{
	int64_t programs[MAX_TRIALS];
	int nfound = 0, ndefect = 0, nright = 0, ncatcher = 0, ntrouble = 0, sound = 0, unjudged = 0;
	for (int i = 0; i < s->n; i++) {
		const struct defect *d = s->defect[i];
		const struct selftest_row *r = &s->row[i];
		ntrouble += !r->ran;
		ndefect += d != NULL;
		sound += !d && r->ran && !r->found;
		unjudged += !d && r->ran && r->planted == 0;
		if (!d || !r->found)
			continue;
		programs[nfound++] = r->programs;
		nright += named_right(d, r);
		ncatcher += caught_as_expected(d, r);
	}
	qsort(programs, (size_t)nfound, sizeof *programs, by_size);
	const long long median = nfound ? programs[(nfound - 1) / 2] : 0, max = nfound ? programs[nfound - 1] : 0;
	if (s->o->json)
		printf("{\"summary\": {\"defects\": %d, \"found\": %d, \"median\": %lld, \"max\": %lld, \"as_expected\": %d, \"step_right\": %d, "
			   "\"sound\": %s}}\n",
			ndefect, nfound, median, max, ncatcher, nright, sound ? "true" : "false");
	else
		printf("%d defects, %d found; programs to detection: median %lld, max %lld; caught as expected: %d; step named right: %d; none "
			   "planted: %s\n",
			ndefect, nfound, median, max, ncatcher, nright, sound ? "nothing found" : "NOT SOUND");
	return ntrouble ? EXIT_TARGET : unjudged ? EXIT_VOID : nfound == ndefect && sound ? EXIT_CLEAN : EXIT_FINDINGS;
}

/* ---- running ---- */

static void run_one(struct selftest *s, int i)
{
	const struct options *o = s->o;
	int64_t most = s->defect[i] ? MOST_PROGRAMS : SOUND_PROGRAMS;
	if (o->programs)
		most = s->defect[i] ? o->programs : MIN(o->programs, SOUND_PROGRAMS);
	struct selftest_row row;
	selftest_run(&row, s->defect[i], &s->source, most, o->self);
	s->row[i] = row; /* of a process that died before: it did not run */
}

/* A process for each defect: the compiler may die of it, here, too. */
static pid_t begin(struct selftest *s, int i)
{
	const pid_t child = fork();
	if (child != 0)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	run_one(s, i);
	_exit(EXIT_CLEAN);
}

/* At most --jobs at a time; rows are shown in their order. */
static bool run_all(struct selftest *s)
{
	pid_t child[MAX_TRIALS] = {0};
	bool over[MAX_TRIALS] = {false};
	int begun = 0, running = 0, shown = 0;
	while (shown < s->n) {
		for (; begun < s->n && running < s->o->jobs; begun++, running++)
			if ((child[begun] = begin(s, begun)) < 0)
				return false;
		const pid_t ended = wait(NULL);
		if (ended < 0)
			return false;
		for (int i = 0; i < begun; i++)
			over[i] |= child[i] == ended;
		running--;
		for (; shown < begun && over[shown]; shown++)
			show(s, shown);
	}
	return true;
}

int cmd_selftest(const struct options *o)
{
	/* Rows are written by the processes that run. */
	struct selftest *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s == MAP_FAILED) {
		complain("selftest: %s", strerror(errno));
		return EXIT_TARGET;
	}
	*s = (struct selftest){.o = o, .source = options_source(o)};
	if (!o->seed_given)
		s->source.seed = 1;
	struct err err = {0};
	if (!source_usable(&s->source, &err))
		complain("%s", err.msg);
	if (err.msg[0] || !choose_all(s))
		return EXIT_USAGE;
	fflush(stdout);
	if (run_all(s))
		return summary(s);
	complain("selftest: no process could be started: %s", strerror(errno));
	return EXIT_TARGET;
}
