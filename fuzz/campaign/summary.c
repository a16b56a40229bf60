/* summary.c: from totals to sentences, and to one object of JSON that says the same. */
#include "fuzz/campaign/summary.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "eager/base/json.h"
#include "fuzz/campaign/environment.h"
#include "fuzz/campaign/progress.h"

/* A campaign that compiled next to nothing says so: its passes are the cheap stage's. */
enum { FEW_COMPILED = 10 };
static bool few_compiled(const struct summary *c)
{
	bool compiles = false;
	for (int t = 0; t < c->o->ntarget; t++)
		compiles |= target_stage(&c->target[t])->compiles;
	return compiles && c->sum->compiled < FEW_COMPILED && (!c->o->programs || c->sum->compiled < c->o->programs);
}

static void reasons_json(struct json *j, const struct summary *c)
{
	struct arena a;
	arena_init(&a);
	for (int i = 0; i < c->nreason; i++) {
		const struct shard_reason *r = &c->reason[i];
		json_object(j, NULL);
		json_string(j, "target", target_text(&c->target[r->target], &a));
		json_string(j, "reason", r->text);
		json_int(j, "n", r->n);
		json_string(j, "first", arena_printf(&a, "scatterproof %s", source_command(c->source, r->index, &a)));
		json_end(j);
	}
	arena_free(&a);
}

static void summary_json(struct json *j, const struct summary *c)
{
	struct arena a;
	arena_init(&a);
	json_string(j, "policy", c->o->policy);
	json_unsigned(j, "seed", c->o->seed);
	json_fixed(j, "seconds", c->seconds, 1);
	json_int(j, "programs", c->sum->generated);
	json_int(j, "wide_twins", c->sum->twins);
	json_int(j, "redrawn", c->sum->redrawn);
	json_int(j, "compiled", c->sum->compiled);
	json_int(j, "cheap", c->sum->cheap_runs);
	json_int(j, "set_aside", c->sum->set_aside);
	for (int v = 0; v < NVERDICTS; v++)
		json_int(j, verdict_name[v], shard_stats_verdicts(c->sum, (enum verdict)v) + c->sum->verdict[MAX_TARGETS][v]);
	tally_json(j, c->tally);
	json_object(j, "recheck");
	recheck_json(j, c->recheck);
	json_end(j);
	json_int(j, "divergent", c->nobs);
	json_int(j, "lost_programs", c->lost_programs);
	json_array(j, "targets");
	for (int t = 0; t < c->o->ntarget; t++)
		json_string(j, NULL, target_text(&c->target[t], &a));
	json_end(j);
	if (c->o->nsample) {
		json_object(j, "sampled");
		json_int(j, "targets", c->o->nsample); /* the last ones */
		json_int(j, "every", c->o->every);
		json_int(j, "turn", c->sum->sampled_turn);
		json_int(j, "new_shape", c->sum->sampled_shape);
		json_int(j, "finding", c->sum->sampled_finding);
		json_end(j);
	}
	json_array(j, "explained"); /* what --no-avoid would compile first */
	for (int i = 0; i < c->explained->n; i++)
		json_string(j, NULL, c->explained->op[i]);
	json_end(j);
	json_array(j, "reasons");
	reasons_json(j, c);
	json_end(j);
	json_bool(j, "few_compiled", few_compiled(c));
	json_fixed(j, "ready_ms", c->sum->ready_ms, 0);
	json_fixed(j, "first_compile_ms", c->sum->first_compile_ms, 0);
	json_fixed(j, "compile_ms", c->sum->main_ms, 0);
	json_fixed(j, "starved_ms", c->sum->starved_ms, 0);
	json_fixed(j, "confirm_ms", c->sum->confirm_ms, 0);
	arena_free(&a);
}

static void print_summary_json(const struct summary *c)
{
	struct strbuf sb;
	struct json j = json_into(&sb, JSON_SPACED);
	sb_init(&sb);
	json_object(&j, NULL);
	json_object(&j, "summary");
	summary_json(&j, c);
	json_end(&j);
	json_end(&j);
	printf("%s\n", sb.s);
	sb_free(&sb);
}

/* Programs that were refused, or that broke something of ours, can be seen again. */
static bool has_command(const struct shard_reason *r)
{
	return str_starts(r->text, verdict_name[VD_INVALID]) || str_starts(r->text, verdict_name[VD_HARNESS]);
}

static void print_reason(const struct summary *c, const struct shard_reason *r)
{
	struct arena a;
	arena_init(&a);
	printf("    %8" PRId64 "  %s\n", r->n, r->text);
	if (has_command(r))
		printf("              see %s:  scatterproof %s\n", r->n == 1 ? "it" : "the first", source_command(c->source, r->index, &a));
	arena_free(&a);
}

/* Where the time went instead, as far as it was spent: what a reader can change. */
static void print_few_compiled(const struct summary *c)
{
	double load[1] = {0};
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	printf("  ONLY %" PRId64 " PROGRAM%s COMPILED: this says next to nothing about the compiler", c->sum->compiled,
		c->sum->compiled == 1 ? " WAS" : "S WERE");
	if (c->sum->ready_ms > 0)
		printf("; it was ready after %.0f s", c->sum->ready_ms / 1e3);
	if (c->sum->first_compile_ms > 0)
		printf(", its first program done after %.0f s", c->sum->first_compile_ms / 1e3);
	printf("; compiling %.0f s, waiting for a program %.0f s", c->sum->main_ms / 1e3, c->sum->starved_ms / 1e3);
	if (c->sum->confirmations || c->sum->confirm_ms > 0)
		printf(", confirming %" PRId64 " beside it %.0f s", c->sum->confirmations, c->sum->confirm_ms / 1e3);
	if (c->sum->cheap_runs)
		printf("; %" PRId64 " program%s went through the cheap stage beside it", c->sum->cheap_runs, plural(c->sum->cheap_runs));
	if (getloadavg(load, 1) == 1 && load[0] > (double)processors)
		printf("; the machine is busy: %.1f processes want its %ld processor%s", load[0], processors, processors == 1 ? "" : "s");
	printf(". Give it more --time%s\n", c->o->jobs > 1 ? ", or fewer --jobs" : "");
}

/* "  builtin:o2: 168 of 3000 programs (6 each 500th, 162 new shapes of loops, 0 findings)" */
static void print_sample(const struct summary *c)
{
	const struct shard_stats *s = c->sum;
	const int64_t n = s->sampled_turn + s->sampled_shape + s->sampled_finding;
	struct arena a;
	arena_init(&a);
	for (int t = c->o->ntarget - c->o->nsample; t < c->o->ntarget; t++)
		printf("  %s%s", target_text(&c->target[t], &a), t + 1 < c->o->ntarget ? ",\n" : "");
	if (c->o->nsample)
		printf(": %" PRId64 " of %" PRId64 " program%s (%" PRId64 " each %" PRId64 "th, %" PRId64 " new shape%s of loops, %" PRId64
			   " finding%s)\n",
			n, s->generated, plural(s->generated), s->sampled_turn, c->o->every, s->sampled_shape, plural(s->sampled_shape),
			s->sampled_finding, plural(s->sampled_finding));
	arena_free(&a);
}

static void print_head(const struct summary *c)
{
	const struct shard_stats *s = c->sum;
	printf("\n%s: seed %" PRIu64 ", %.0f s, %" PRId64 " program%s generated", c->o->policy, c->o->seed, c->seconds, s->generated,
		plural(s->generated));
	if (s->redrawn)
		printf(", %" PRId64 " drawn again", s->redrawn);
	if (s->compiled)
		printf(", %" PRId64 " compiled", s->compiled);
	if (s->cheap_runs)
		printf(
			", %" PRId64 " through the cheap stage (%" PRId64 " with a predicted meta that overlaps itself)", s->cheap_runs, s->cheap_hits);
	if (s->set_aside)
		printf(", set aside: %" PRId64 " program%s that known causes explain", s->set_aside, plural(s->set_aside));
	printf("\n");
	print_sample(c);
	if (few_compiled(c))
		print_few_compiled(c);
}

/* Verdicts, and the reasons of those that are no pass. */
static void print_target(const struct summary *c, int t)
{
	const int64_t *verdict = c->sum->verdict[t];
	struct strbuf sb;
	int64_t n = 0;
	for (int v = 0; v < NVERDICTS; v++)
		n += verdict[v];
	if (!n)
		return;
	sb_init(&sb);
	if (t < MAX_TARGETS)
		target_print(&sb, &c->target[t]);
	printf("  %-28s", t < MAX_TARGETS ? sb.s : "cheap stage");
	for (int v = 0; v < NVERDICTS; v++)
		if (verdict[v])
			printf(" %s %" PRId64, verdict_name[v], verdict[v]);
	printf("\n");
	sb_free(&sb);
	for (int i = 0; i < c->nreason; i++)
		if (c->reason[i].target == t)
			print_reason(c, &c->reason[i]);
}

static void print_elements(const char *fill, const struct element_counts *e)
{
	double n = (double)element_counts_total(e);
	if (n > 0)
		printf("  elements, %-8s %12.0f: exact %.2f%%, enclosed %.2f%%, weak %.2f%%, suspect %" PRId64
			   ", tied %.2f%%, undecided %.3f%%, disagree %" PRId64 "\n",
			fill, n, 100 * (double)e->exact / n, 100 * (double)e->agree / n, 100 * (double)e->weak / n, e->suspect,
			100 * (double)e->tied / n, 100 * (double)e->undecided / n, e->disagree);
}

static void print_time_and_memory(const struct summary *c)
{
	const struct shard_stats *s = c->sum;
	const double wall = MAX(s->wall_ms, 1.0);
	struct rusage ru;
	printf("  time: generating %.1f%%, reference and comparison %.1f%%, waiting for targets %.1f%%\n", 100 * s->generate_ms / wall,
		100 * s->reference_ms / wall, 100 * s->wait_ms / wall);
	for (int i = 0; i < c->nshards; i++)
		if (c->shard[i].first_divergence_ms > c->shard[i].first_compile_ms && c->shard[i].first_compile_ms > 0)
			printf("  shard %d: first compile done after %.1f s; first divergence %.1f s later, at compile %" PRId64 "\n", i,
				c->shard[i].first_compile_ms / 1e3, (c->shard[i].first_divergence_ms - c->shard[i].first_compile_ms) / 1e3,
				c->shard[i].first_divergence_compiles);
	getrusage(RUSAGE_SELF, &ru);
	printf("  memory: parent %ld MiB, shards %" PRId64 " MiB, targets %" PRId64 " MiB\n", ru.ru_maxrss / 1024, s->own_rss >> 20,
		s->target_rss >> 20);
}

static void print_findings(const struct summary *c)
{
	struct strbuf sb;
	if (c->lost_programs)
		printf("  %" PRId64 " program%s ended a shard: faults of scatterproof itself%s\n", c->lost_programs, plural(c->lost_programs),
			c->o->db ? ", kept with their programs: findings sql \"select * from v_findings where target = '" TOOL_TARGET "'\"" : "");
	sb_init(&sb);
	recheck_print(&sb, c->recheck);
	if (sb.len)
		printf("%s\n", sb.s);
	sb_reset(&sb);
	tally_print(&sb, c->tally);
	printf("%s; %" PRId64 " divergent program%s\n", sb.s, c->nobs, plural(c->nobs));
	sb_free(&sb);
	if (c->o->db && c->nobs) {
		progress_command("list them:  scatterproof findings", c->o->db);
		progress_command("to causes:  scatterproof triage", c->o->db);
	}
}

void summary_print(const struct summary *c)
{
	if (c->o->json) {
		print_summary_json(c);
		return;
	}
	print_head(c);
	for (int t = 0; t < c->o->ntarget; t++)
		print_target(c, t);
	print_target(c, MAX_TARGETS);
	for (int k = 0; k < NFILL_CLASSES; k++)
		print_elements(fill_class_name[k], &c->sum->elements[k]);
	if (c->sum->suspected)
		printf("  programs that pass with suspects: %" PRId64 "; %" PRId64 " of them run again in a wider dtype (wide twins)\n",
			c->sum->suspected, c->sum->twins);
	print_time_and_memory(c);
	print_findings(c);
}
