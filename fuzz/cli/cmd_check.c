/* cmd_check.c: judge programs on targets, say what came out, keep what was found. Nothing that was not judged goes unsaid: files that do
 * not read and targets that do not run are counted, and --expect makes them an exit code. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "compiled/targets/driver.h"
#include "compiled/targets/exec.h"
#include "eager/base/clock.h"
#include "eager/base/escape.h"
#include "eager/base/json.h"
#include "eager/base/output.h"
#include "eager/base/proc.h"
#include "fuzz/campaign/keep.h"
#include "fuzz/campaign/load.h"
#include "fuzz/cli/bug_script.h"
#include "fuzz/cli/check_json.h"
#include "fuzz/cli/commands.h"
#include "fuzz/cli/start.h"
#include "fuzz/cli/traced.h"
#include "fuzz/triage/plain.h"
#include "fuzz/triage/tensor_name.h"

/* Was that tensor wrong in another call, too, which comes before? */
static bool said_before(const struct judgement *j, int i)
{
	for (int k = 0; k < i; k++)
		if (j->tensor[k].kinds && j->tensor[k].node == j->tensor[i].node)
			return true;
	return false;
}

/* The user's lines that make what is wrong. */
static void print_sources(const struct checked *one, struct arena *a)
{
	const struct judgement *j = one->o->judgement;
	for (int i = 0; one->source && j && verdict_diverges(one->o->verdict) && i < j->ntensor; i++) {
		struct strbuf at;
		struct tensor_name name;
		sb_init(&at);
		if (j->tensor[i].kinds && !said_before(j, i))
			checked_source(&at, one, &j->tensor[i]);
		if (at.len) {
			tensor_name_of_verdict(&name, one->p, &j->tensor[i]);
			printf("  %s comes from %s\n", escaped_line(a, tensor_name_text(&name, a)), escaped_line(a, at.s));
		}
		sb_free(&at);
	}
}

static void print_text(const struct options *o, const struct checked *one, struct arena *a)
{
	const struct result *r = one->r;
	const struct outcome *out = one->o;
	printf("%s: %s on %s", escaped_line(a, one->file), verdict_name[out->verdict], one->target);
	if (out->verdict == VD_PASS && out->why[0])
		printf(" (%s)\n", escaped_line(a, out->why));
	else if (out->verdict == VD_PASS)
		printf(" (%" PRId64 " elements: %" PRId64 " exact, %" PRId64 " enclosed, %" PRId64 " weak, %" PRId64 " suspect, %" PRId64
			   " tied, %" PRId64 " undecided; %d call%s)\n%s",
			element_counts_total(&out->all), out->all.exact, out->all.agree, out->all.weak, out->all.suspect, out->all.tied,
			out->all.undecided, r->ncalls, r->ncalls == 1 ? "" : "s", out->suspicion);
	else
		printf(": %s\n", escaped_lines(a, "  ", out->why));
	if (out->verdict == VD_PASS && r->status == RES_OK && r->message[0])
		printf("  %s\n", escaped_line(a, r->message));
	for (int i = 0; i < r->nmismatch; i++)
		printf("  predicted meta, rank %d%s: %s: %s\n", r->mismatch[i].rank, r->mismatch[i].backward ? ", backward" : "",
			escaped_line(a, r->mismatch[i].op), escaped_line(a, r->mismatch[i].detail));
	if (one->baseline)
		printf("  %s\n", one->baseline);
	print_sources(one, a);
	if (verdict_diverges(out->verdict) && !o->quiet)
		printf("%s", out->report);
}

struct checking {
	struct options o;
	struct exec *warm[MAX_TARGETS]; /* one child per target for all programs */
	int refused[MAX_TARGETS];       /* EXIT_* of a target that runs no program at all: said once */
	struct references refs;         /* of the program in hand */
	int64_t programs, verdicts[NVERDICTS];
	int64_t unread, errors; /* programs that do not read, and the reasons why they and files do not */
	int64_t files, unread_files;
	int64_t unexpected;  /* --expect: verdicts that are another, programs that were not run */
	int strict;          /* --expect: the exit code that they make */
	struct store *store; /* --db */
	struct hash128 run;
	struct baseline baseline; /* --baseline */
	int artifacts_rc;         /* --artifacts: EXIT_TARGET if one could not be written */
	bool scripted;            /* --script: it was written */
	struct traced_check traced;
	const char *source;    /* the printed graph that the program in hand was read from; NULL: none */
	int64_t in_parts, cut; /* graphs that are judged without some of their operators, and how many those are */
	int script_rc;
};

static void print_one(struct checking *c, const struct checked *one)
{
	struct strbuf sb;
	c->verdicts[one->o->verdict]++;
	if (c->o.quiet && one->o->verdict == VD_PASS)
		return;
	sb_init(&sb);
	if (c->o.json) {
		check_json(&sb, one);
		printf("%s\n", sb.s);
	} else {
		struct arena a;
		arena_init(&a);
		print_text(&c->o, one, &a);
		arena_free(&a);
	}
	sb_free(&sb);
	fflush(stdout);
}

static int64_t not_run(const struct checking *c)
{
	int64_t left = c->programs * c->o.ntarget;
	for (int v = 0; v < NVERDICTS; v++)
		left -= c->verdicts[v];
	return left;
}

/* " (builtin:eager, torch:inductor@cpu)": of functions, whose graphs get a target that nobody named. */
static void print_targets(const struct options *o)
{
	struct arena a;
	arena_init(&a);
	for (int i = 0; i < o->ntarget; i++)
		printf("%s%s", i ? ", " : " (", target_text(&o->target[i], &a));
	printf("%s", o->ntarget ? ")" : "");
	arena_free(&a);
}

/* "7 programs on 2 targets: 12 pass, 2 mismatch"; "39 programs in 3 files on 1 target: 9 pass; 30 could not be read". */
static void print_summary(const struct checking *c)
{
	const int64_t programs = c->programs + c->unread;
	printf("%" PRId64 " program%s", programs, plural(programs));
	if (c->errors && c->files)
		printf(" in %" PRId64 " file%s", c->files, plural(c->files));
	printf(" on %d target%s", c->o.ntarget, plural(c->o.ntarget));
	if (c->traced.n.functions)
		print_targets(&c->o);
	printf(":");
	const char *before = " ";
	if (!c->programs)
		printf(" nothing ran");
	for (int v = 0; v < NVERDICTS; v++) {
		if (c->verdicts[v])
			printf("%s%" PRId64 " %s", before, c->verdicts[v], verdict_name[v]);
		before = c->verdicts[v] ? ", " : before;
	}
	if (not_run(c))
		printf("%s%" PRId64 " not run", before, not_run(c));
	if (c->in_parts)
		printf("; %" PRId64 " graph%s in parts, without %" PRId64 " operator%s", c->in_parts, plural(c->in_parts), c->cut, plural(c->cut));
	if (c->unread)
		printf("; %" PRId64 " could not be read", c->unread);
	if (c->unread_files)
		printf("; %" PRId64 " file%s could not be opened", c->unread_files, plural(c->unread_files));
	if (c->o.expect >= 0 && c->unexpected)
		printf("; %" PRId64 " not the expected %s", c->unexpected, verdict_name[c->o.expect]);
	printf("\n");
}

static void print_functions(const struct checking *c)
{
	struct strbuf sb;
	sb_init(&sb);
	traced_summary(&sb, &c->traced.n);
	printf("%s", sb.s);
	sb_free(&sb);
}

static void print_summary_json(const struct checking *c)
{
	struct strbuf sb;
	struct json j = json_into(&sb, JSON_SPACED);
	sb_init(&sb);
	json_object(&j, NULL);
	json_object(&j, "summary");
	json_int(&j, "programs", c->programs + c->unread);
	json_int(&j, "files", c->files);
	json_int(&j, "targets", c->o.ntarget);
	for (int v = 0; v < NVERDICTS; v++)
		json_int(&j, verdict_name[v], c->verdicts[v]);
	json_int(&j, "not_run", not_run(c));
	json_int(&j, "unread", c->unread);
	json_int(&j, "unread_files", c->unread_files);
	json_int(&j, "errors", c->errors);
	json_int(&j, "in_parts", c->in_parts);
	json_int(&j, "operators_cut", c->cut);
	if (c->traced.n.functions)
		traced_json(&j, &c->traced.n);
	if (c->o.expect >= 0) {
		json_string(&j, "expect", verdict_name[c->o.expect]);
		json_int(&j, "unexpected", c->unexpected);
	}
	json_end(&j);
	json_end(&j);
	printf("%s\n", sb.s);
	sb_free(&sb);
}

/* ---- --expect ------------------------------------------------------------------------------------------------------------------ */

/* Unlike exit_of_both: what was not judged counts for more than any number of passes. */
static void not_expected(struct checking *c, int rc)
{
	static const int weight[] = {[EXIT_CLEAN] = 0, [EXIT_VOID] = 1, [EXIT_USAGE] = 2, [EXIT_TARGET] = 3, [EXIT_FINDINGS] = 4};
	c->unexpected++;
	c->strict = weight[rc] > weight[c->strict] ? rc : c->strict;
}

/* ---- --db, --script ------------------------------------------------------------------------------------------------------------ */

static bool stored(struct checking *c, enum store_status st)
{
	if (st != STORE_OK)
		complain("%s", store_message(c->store));
	return st == STORE_OK;
}

static int open_store(struct checking *c)
{
	enum store_status st;
	struct err err = {0};
	const struct store_run run = {.seed = 0, .shard = "", .policy = "check", .versions = SCATTERPROOF, .started = clock_unix_ms()};
	c->store = store_open(&st, c->o.db, STORE_CREATE, &err);
	if (!c->store)
		complain("%s", err.msg);
	else if (stored(c, st = store_run_begin(c->store, &c->run, &run)))
		return EXIT_CLEAN;
	return store_exit_code(st);
}

/* What eager refuses and nothing of ours does is one about eager, or about our rules. */
static bool is_finding(const struct outcome *o) { return verdict_diverges(o->verdict) || o->unexpected; }

static void say_kept(const struct checking *c, const struct checked *one)
{
	if (one->finding && !c->o.json && !c->o.quiet)
		printf("  kept as %.*s%s%s%s\n", STORE_ID_DIGITS, one->finding, one->before ? ", there before: " : "",
			one->before ? one->before : "", one->later ? ", in a later version" : "");
}

/* As a campaign would: f, a divergence or a refusal that nobody expected; NULL: neither. Every verdict is counted. What the finding is to
 * this run, in *one, too; MET_NEW if it cannot be stored. */
static enum met keep(struct checking *c, struct checked *one, const struct finding *f, const struct target *t, struct arena *a)
{
	struct hash128 env, id;
	bool exists = false;
	enum finding_state state = STATE_CANDIDATE;
	enum met how = MET_NEW;
	struct store_loaded now;
	if (!stored(c, keep_environment(c->store, &env, t, one->versions, one->device, a)))
		return how;
	store_counter_add(c->store, &c->run, "", &env, verdict_name[one->o->verdict], 1);
	if (!f)
		return how;
	if (!stored(c, keep_finding(c->store, &c->run, f, arena_printf(a, "program %s, %s", one->file, f->how), &id, &exists, &state, a))
		|| (exists && !stored(c, keep_meet(&how, &now, c->store, f, &id, a))))
		return how;
	char hex[33];
	hash_hex(hex, &id);
	one->finding = arena_strdup(a, hex);
	one->before = how == MET_NEW ? NULL : finding_state_name[exists ? now.state : state];
	one->later = how == MET_FIXED;
	one->own = !exists || str_eq(now.program, f->program);
	return how;
}

/* Of the first divergence. target: of c->o's. */
static void write_script(struct checking *c, const struct checked *one, const struct finding *f, int target, struct arena *a)
{
	const struct outcome *o = one->o;
	struct store_loaded_obs seen = {.verdict = verdict_name[f->verdict]};
	struct found x = {.obs = &seen, .p = *one->p, .t = f->target};
	claim_of(&x.claim, f->kind, seen.verdict, f->tensor, f->call, one->p);
	const char *where = target_text(&x.t, a), *head = arena_printf(a, "%s: %s on %s", one->file, seen.verdict, where);
	const struct bug_script s = {.x = &x,
		.e = c->o.full ? NULL : c->warm[target],
		.headline = arena_printf(
			a, "%s on %s", verdict_diverges(o->verdict) && o->signature[0] ? escaped_line(a, o->signature) : seen.verdict, where),
		.full_headline = arena_printf(a, "%s\n%s", head, o->why)};
	c->script_rc = bug_script_write(&s, &c->o, a);
	c->scripted = true;
}

/* ---- --artifacts --------------------------------------------------------------------------------------------------------------- */

/* DIR/3-backward-graph.txt; of several targets DIR/3.2-backward-graph.txt. */
static bool write_artifact(const struct checking *c, const struct result_artifact *f, int target, struct err *err)
{
	struct strbuf path, text;
	sb_init(&path);
	sb_init(&text);
	sb_printf(&path, "%s/%" PRId64, c->o.artifacts, c->programs);
	if (c->o.ntarget > 1)
		sb_printf(&path, ".%d", target + 1);
	sb_puts(&path, "-");
	for (const char *s = f->name; *s; s++) /* a child's word: no '/', no "..", no escape sequence */
		sb_printf(&path, "%c", isalnum((unsigned char)*s) ? *s : '-');
	sb_puts(&path, ".txt");
	sb_puts(&text, f->text);
	bool ok = output_text(path.s, &text, err);
	sb_free(&text);
	sb_free(&path);
	return ok;
}

static void write_artifacts(struct checking *c, const struct result *r, int target)
{
	struct err err = {0};
	bool ok = mkdir(c->o.artifacts, 0777) == 0 || errno == EEXIST
		|| err_set(&err, "--artifacts: cannot make %s: %s", c->o.artifacts, strerror(errno));
	for (int i = 0; i < r->nartifact && ok; i++)
		ok = write_artifact(c, &r->artifact[i], target, &err);
	if (!ok && c->artifacts_rc == EXIT_CLEAN)
		complain("%s", err.msg);
	if (!ok)
		c->artifacts_rc = EXIT_TARGET;
}

/* ---- running ------------------------------------------------------------------------------------------------------------------- */

static int code_of(const struct outcome *o)
{
	return o->verdict == VD_PASS ? EXIT_CLEAN : is_finding(o) ? EXIT_FINDINGS : o->verdict == VD_HARNESS ? EXIT_TARGET : EXIT_VOID;
}

static int judged(struct checking *c, struct checked *one, int target, struct arena *a)
{
	const struct target *t = &c->o.target[target];
	const bool finds = is_finding(one->o);
	struct finding f;
	int rc = code_of(one->o);
	enum met how = MET_NEW, said = MET_NEW;
	if (finds) {
		finding_of(&f, one->p, one->o, t, one->r->stderr_tail, a);
		f.versions = one->versions;
		f.device = one->device;
		f.how = "seen by check, in a process that may have run other programs";
	}
	if (c->o.baseline && finds)
		said = keep_met(MET_NEW, &c->baseline, &f);
	one->baseline = said == MET_BASELINE ? "known (baseline)" : said == MET_REGRESSED ? "regressed" : NULL;
	if (c->store)
		how = keep(c, one, finds ? &f : NULL, t, a);
	print_one(c, one);
	say_kept(c, one);
	if (how == MET_NEW || how == MET_OPEN)
		how = said;
	if (c->o.script && finds && !c->scripted)
		write_script(c, one, &f, target, a);
	if (c->o.expect >= 0 && (int)one->o->verdict != c->o.expect)
		not_expected(c, rc == EXIT_CLEAN ? EXIT_VOID : rc);
	if (rc == EXIT_FINDINGS && met_marked(how))
		rc = EXIT_CLEAN;
	return rc;
}

/* A child that has run other programs may die of what one of those wrote beyond its memory: only a fresh child's death is the program's. */
static void answer_of(struct result *r, struct checking *c, const char *file, const struct prog *p, int target, struct arena *a)
{
	struct exec *e = c->warm[target];
	const int before = proc_nserved(exec_proc(e));
	exec_submit(e, p, &c->o.target[target]);
	references_get(&c->refs, &c->o.target[target]); /* while the target works */
	exec_await(r, a, e);
	if (r->status != RES_CRASH || before == 0)
		return;
	const char *death = r->message;
	exec_run(r, a, e, p, &c->o.target[target]);
	if (r->status != RES_CRASH)
		complain("%s: %s, after %d other program%s; in a fresh process it does not", file, death, before, before == 1 ? "" : "s");
}

/* On a target whose child is there. */
static int run_one(struct checking *c, const char *file, const struct prog *p, int target, struct arena *a)
{
	const struct target *t = &c->o.target[target];
	struct strbuf name, versions, device;
	struct result r;
	struct outcome out;
	int rc;
	sb_init(&name);
	sb_init(&versions);
	sb_init(&device);
	target_print(&name, t);
	answer_of(&r, c, file, p, target, a);
	exec_versions(&versions, &device, c->warm[target]);
	if (r.bad_target) {
		complain("target '%s': %s", name.s, r.message);
		rc = c->refused[target] = EXIT_USAGE;
	} else {
		outcome_with(&out, &c->refs, &r, t, NULL, a);
		plain_ask(&out, c->warm[target], p, &r, t, a);
		if (c->o.artifacts)
			write_artifacts(c, &r, target);
		rc = judged(c,
			&(struct checked){.on = t,
				.file = file,
				.target = name.s,
				.versions = versions.s,
				.device = device.s,
				.p = p,
				.r = &r,
				.o = &out,
				.source = c->source},
			target, a);
	}
	sb_free(&name);
	sb_free(&versions);
	sb_free(&device);
	return rc;
}

/* 0 pass, or diverges as a person has marked in the store; 1 diverges, 2 the target's options or version are not what its name says, 3
 * the target is broken, 4 not judged. exit_of_both over files and targets. */
static int check_one(struct checking *c, const char *file, const struct prog *p, int target)
{
	struct arena a;
	if (!c->warm[target] && !c->refused[target])
		c->warm[target] = start_target(&c->refused[target], &c->o.target[target], &c->o);
	if (c->refused[target]) {
		not_expected(c, c->refused[target]);
		return c->refused[target];
	}
	arena_init(&a);
	int rc = run_one(c, file, p, target, &a);
	if (c->refused[target])
		not_expected(c, rc);
	arena_free(&a);
	return rc;
}

static int check_on_targets(void *ctx, const char *name, const struct prog *p)
{
	struct checking *c = ctx;
	int rc = EXIT_VOID;
	c->programs++;
	references_init(&c->refs, p);
	for (int t = 0; t < c->o.ntarget && !ferror(stdout); t++) {
		int one = check_one(c, name, p, t);
		rc = exit_of_both(rc, one);
	}
	references_free(&c->refs);
	return rc;
}

/* Texts that are no programs, or a file: said on standard error already. */
static void passed_over(void *ctx, const char *name, int nprogram, const struct err *why)
{
	struct checking *c = ctx;
	struct strbuf sb;
	c->errors++;
	c->unread += nprogram;
	c->unread_files += nprogram == 0;
	not_expected(c, EXIT_USAGE);
	if (!c->o.json)
		return;
	sb_init(&sb);
	struct json j = json_into(&sb, JSON_SPACED);
	json_object(&j, NULL);
	json_string(&j, "file", name);
	json_int(&j, "programs", nprogram);
	json_string(&j, "error", why->msg);
	if (why->line) {
		json_int(&j, "line", why->line);
		json_int(&j, "col", why->col);
	}
	json_end(&j);
	printf("%s\n", sb.s);
	sb_free(&sb);
	fflush(stdout);
}

/* Which operators of a graph are not judged, and where the user wrote the first of them. */
static void say_parts(const struct checking *c, const char *name, const struct fx_graph *g, int line, const struct fx_cut *cut)
{
	struct strbuf missing, source;
	struct arena a;
	arena_init(&a);
	sb_init(&missing);
	sb_init(&source);
	fx_cut_print(&missing, cut, line);
	if (cut->nmissing)
		fx_source(&source, g->text, g->len, cut->missing[0].line);
	complain("%s: %s %d of its %d operators; not judged: %s%s%s%s", name, cut->nread ? "judged in parts," : "not judged,", cut->nread,
		cut->nread + cut->ncut, missing.s, cut->nwithout ? arena_printf(&a, ", and %d that need them", cut->nwithout) : "",
		source.len ? "; the first is at " : "", escaped_line(&a, source.s));
	if (c->o.json)
		check_parts_json(name, cut, source.s);
	sb_free(&source);
	sb_free(&missing);
	arena_free(&a);
}

static void graph_read(void *ctx, const char *name, const struct fx_graph *g, int line, const struct fx_cut *cut)
{
	struct checking *c = ctx;
	c->source = g->text;
	if (!cut->ncut)
		return;
	c->in_parts += cut->nread > 0;
	c->cut += cut->ncut;
	not_expected(c, EXIT_VOID);
	say_parts(c, name, g, line, cut);
}

static int check_all(struct checking *c)
{
	const struct load_telling tell = {passed_over, graph_read, c};
	c->traced = (struct traced_check){.o = &c->o, .judge = check_on_targets, .tell = tell, .ctx = c};
	int rc = EXIT_VOID;
	for (int i = 0; i < c->o.nfile && !ferror(stdout); i++) {
		int one = traced_named(c->o.file[i]) ? traced_function(&c->traced, c->o.file[i])
											 : load_programs_telling(c->o.file[i], check_on_targets, &tell, c, &c->files);
		c->source = NULL;
		rc = exit_of_both(rc, one);
	}
	for (int t = 0; t < c->o.ntarget; t++)
		exec_close(c->warm[t]);
	if (c->traced.n.functions && !c->o.json)
		print_functions(c);
	if (c->o.json)
		print_summary_json(c);
	else if (c->programs + c->unread + c->unread_files > 1 || c->in_parts || (c->programs && (c->o.ntarget > 1 || c->o.expect >= 0)))
		print_summary(c);
	fflush(stdout);
	return c->o.expect >= 0 && c->programs ? c->strict : rc;
}

static bool has_function(const struct options *o)
{
	for (int i = 0; i < o->nfile; i++)
		if (traced_named(o->file[i]))
			return true;
	return false;
}

/* The interpreter judges the graphs of functions whatever else does: it costs nothing beside tracing them. */
static bool add_interpreter(struct options *o, struct err *err)
{
	struct options first = {.ntarget = 0};
	if (!options_target(&first, "builtin:eager", err))
		BUG("%s", err->msg);
	for (int i = 0; i < o->ntarget; i++)
		if (target_same_home(&o->target[i], &first.target[0]) && o->target[i].stage == first.target[0].stage)
			return true;
	if (o->ntarget == MAX_TARGETS)
		return err_set(err, "check: more than %d targets with builtin:eager", MAX_TARGETS);
	memmove(o->target + 1, o->target, (size_t)o->ntarget++ * sizeof *o->target);
	o->target[0] = first.target[0];
	return true;
}

/* The plain stage and the one with the longest ladder below it. */
static bool add_version(struct options *o, const struct target_driver *d, const char *version, struct arena *a, struct err *err)
{
	int top = 0;
	for (int i = 1; i < d->nstages; i++)
		top = d->stage[i].rungs > d->stage[top].rungs ? i : top;
	return options_target(o, arena_printf(a, "%s-%s:%s", d->name, version, d->stage[0].name), err)
		&& options_target(o, arena_printf(a, "%s-%s:%s", d->name, version, d->stage[top].name), err);
}

/* --all: one program, and every compiler that is here. */
static bool add_all(struct options *o, struct err *err)
{
	struct arena a;
	arena_init(&a);
	bool ok = options_target(o, "builtin:eager", err) && options_target(o, "builtin:jit", err);
	for (int i = 0; i < ntarget_drivers && ok; i++) {
		struct target_installed *list;
		const int n = target_drivers[i]->installed ? target_drivers[i]->installed(&list, &a) : 0;
		for (int k = 0; k < n && ok; k++)
			if (list[k].problem[0])
				fprintf(
					stderr, "scatterproof: check --all leaves %s-%s out: %s\n", target_drivers[i]->name, list[k].version, list[k].problem);
			else
				ok = add_version(o, target_drivers[i], list[k].version, &a, err);
	}
	arena_free(&a);
	return ok;
}

int cmd_check(const struct options *given)
{
	struct checking c = {.o = *given, .strict = EXIT_CLEAN};
	struct err err = {0};
	if (!c.o.nfile) {
		complain("check: no program given (try --help)");
		return EXIT_USAGE;
	}
	if (c.o.all ? !add_all(&c.o, &err) : !c.o.ntarget && !options_target(&c.o, "builtin:eager", &err)) {
		complain("check: %s", err.msg);
		return EXIT_USAGE;
	}
	if (c.o.args && !has_function(&c.o))
		err_set(&err, "check: --args goes with FILE.py:NAME");
	if (err.msg[0] || (has_function(&c.o) && !add_interpreter(&c.o, &err))) {
		complain("%s", err.msg);
		return EXIT_USAGE;
	}
	if (c.o.baseline && !baseline_read(&c.baseline, c.o.baseline, &err)) {
		complain("%s", err.msg);
		return EXIT_USAGE;
	}
	int rc = c.o.db ? open_store(&c) : EXIT_CLEAN;
	if (rc == EXIT_CLEAN)
		rc = check_all(&c);
	if (c.store && store_close(c.store, &err) != STORE_OK) {
		complain("%s", err.msg);
		rc = EXIT_TARGET;
	}
	if (c.o.baseline)
		baseline_free(&c.baseline);
	if (c.o.script && !c.scripted)
		complain("--script: nothing diverges, so there is nothing that a script could show");
	if (c.artifacts_rc != EXIT_CLEAN || c.script_rc != EXIT_CLEAN)
		rc = c.artifacts_rc != EXIT_CLEAN ? c.artifacts_rc : c.script_rc;
	return rc;
}
