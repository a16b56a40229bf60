/* shard_count.c: what happened since the last answer. Counts are kept per policy draw and target, as the store keeps them. */
#include "fuzz/campaign/shard_internal.h"

#include <stdlib.h>

#include "compiled/targets/driver.h"
#include "eager/base/clock.h"

void shard_finding(struct finding *out, const struct shard *s, const struct made *m, const struct target *t, const struct outcome *o,
	const char *stderr_tail, struct arena *a)
{
	finding_of(out, m->p, o, t, stderr_tail, a);
	out->versions = s->versions.s;
	out->device = s->hello.s;
	out->policy = m->twin ? arena_printf(a, "%s, its wide twin", s->draw[m->draw]) : s->draw[m->draw];
	out->index = m->index;
	out->compiles = s->stats.compiled;
	out->found_ms = clock_ms() - s->start;
}

void shard_send_finding(struct shard *s, const struct finding *f)
{
	finding_put(&s->findings, f);
	s->nfindings++;
}

/* Eager refuses a program that neither the reference nor the interpreter refuses: the first one of each reason is kept. */
static void send_refused(struct shard *s, struct arena *a, const struct made *m, const struct target *ran, const struct outcome *o)
{
	struct finding f;
	shard_finding(&f, s, m, ran, o, "", a);
	for (int i = 0; i < s->nrefused; i++)
		if (str_eq(s->refused[i], f.signature))
			return;
	if (s->nrefused == MAX_REASONS)
		return;
	s->refused[s->nrefused++] = arena_strdup(&s->arena, f.signature);
	f.how = "eager refuses it, neither the reference nor the interpreter does";
	shard_send_finding(s, &f);
}

void shard_count(struct shard *s, int draw, int target, enum verdict v)
{
	s->stats.verdict[target][v]++;
	for (int i = s->ndelta - 1; i >= 0; i--)
		if (s->delta[i].draw == draw && s->delta[i].target == target) {
			s->delta[i].n[v]++;
			return;
		}
	s->delta = xrealloc(s->delta, sizeof *s->delta * (size_t)(s->ndelta + 1));
	s->delta[s->ndelta] = (struct delta){.draw = draw, .target = target};
	s->delta[s->ndelta++].n[v]++;
}

void shard_add_reason(struct shard *s, int target, const struct made *m, const char *text)
{
	struct shard_reason r = {.target = target, .n = 1, .index = m->index, .twin = m->twin};
	snprintf(r.text, sizeof r.text, "%s", text);
	shard_reason_add(s->reason, &s->nreason, &r);
}

void shard_count_reasons(struct shard *s, struct arena *a, int target, const struct made *m, const struct outcome *o)
{
	const char *why = verdict_reason(o, a);
	if (why[0])
		shard_add_reason(s, target, m, why);
	const struct target_driver *d = shard_target(s, target)->driver;
	for (int i = 0; i < d->nfreedoms; i++)
		if (o->freedoms & d->freedom[i].bit)
			shard_add_reason(
				s, target, m, arena_printf(a, "%s, legitimately different: %s", verdict_name[o->verdict], d->freedom[i].reason));
	if (o->unexpected)
		send_refused(s, a, m, shard_target(s, target), o);
}

static void count_elements(struct shard *s, const struct outcome *o)
{
	for (int k = 0; k < NFILL_CLASSES; k++)
		element_counts_add(&s->stats.elements[k], &o->by_fill[k]);
}

/* If no shard before this one has. Stage 1 is the cheap one, 2 + t is target t. */
void shard_count_job(struct shard *s, struct job *j, int target, const struct outcome *o)
{
	int stage = target == MAX_TARGETS ? 1 : 2 + target;
	if (stage <= j->counted)
		return;
	if (j->why && target == shard_nplain(s))
		sample_count(s, j);
	count_elements(s, o);
	shard_count(s, j->draw, target, o->verdict);
	shard_count_reasons(s, &j->arena, target, &(struct made){j->index, j->twin, j->draw, &j->prog}, o);
}

void shard_put_counters(struct shard *s, struct strbuf *answer)
{
	int n = 0;
	struct strbuf sb;
	sb_init(&sb);
	for (int i = 0; i < s->ndelta; i++)
		for (int v = 0; v < NVERDICTS; v++)
			if (s->delta[i].n[v]) {
				wire_put_str(&sb, s->draw[s->delta[i].draw]);
				wire_put_u32(&sb, (uint32_t)s->delta[i].target);
				wire_put_str(&sb, verdict_name[v]);
				wire_put_i64(&sb, s->delta[i].n[v]);
				n++;
			}
	s->ndelta = 0;
	wire_put_u32(answer, (uint32_t)n);
	sb_put(answer, sb.s, sb.len);
	sb_free(&sb);
}

void shard_put_reasons(struct shard *s, struct strbuf *answer)
{
	wire_put_u32(answer, (uint32_t)s->nreason);
	for (int i = 0; i < s->nreason; i++)
		shard_put_reason(answer, &s->reason[i]);
	s->nreason = 0;
}
