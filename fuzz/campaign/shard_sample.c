/* shard_sample.c: which programs go to the dear targets of --sample, and when: together, because such a target may compile many in one go.
 * A program is chosen when the other targets are done with it: it has its turn, something is wrong with it, or one of its nests of loops
 * has a shape that no program of this shard had. */
#include "fuzz/campaign/shard_internal.h"

#include <stdlib.h>

int shard_nplain(const struct shard *s) { return s->o->ntarget - s->o->nsample; }

void sample_see(struct shard *s, struct job *j, const struct result *r)
{
	for (int i = 0; i < r->nshape && s->o->nsample; i++)
		j->new_shape |= feature_set_add(s->shapes, r->shape[i]);
}

bool sample_wants(const struct shard *s, struct job *j)
{
	if (j->why || !s->o->nsample)
		return false;
	const bool turn = !j->twin && j->index % s->o->every == 0;
	j->why = turn ? SAMPLE_TURN : j->new_shape ? SAMPLE_SHAPE : SAMPLE_NOT;
	return j->why != SAMPLE_NOT;
}

void sample_push(struct shard *s, struct job *j)
{
	j->next_target = MAX(j->next_target, shard_nplain(s));
	references_drop(&j->refs);
	s->sampled = xrealloc(s->sampled, sizeof *s->sampled * (size_t)(s->nsampled + 1));
	s->sampled[s->nsampled++] = j;
}

void sample_finding(struct shard *s, const struct job *of)
{
	if (of->diverged || MAX(of->next_target, shard_nplain(s)) >= s->o->ntarget) /* diverged: the shard before this one did it */
		return;
	struct job *j = xmalloc(sizeof *j);
	*j = (struct job){.index = of->index,
		.draw = of->draw,
		.hint = "",
		.twin = of->twin,
		.counted = of->counted,
		.next_target = of->next_target,
		.ran_eagerly = of->ran_eagerly,
		.why = of->why ? of->why : SAMPLE_FINDING};
	arena_init(&j->arena);
	references_init(&j->refs, &j->prog);
	prog_clone(&j->prog, &of->prog, &j->arena);
	j->text = arena_strdup(&j->arena, of->text);
	sample_push(s, j);
}

struct job *sample_pop(struct shard *s)
{
	if (s->nsampled >= s->ahead_sampled || !(s->nqueue || s->nagain || s->in_cheap || shard_may_generate(s)))
		s->sampling = true;
	s->sampling &= s->nsampled > 0;
	if (!s->sampling)
		return NULL;
	struct job *j = s->sampled[0];
	memmove(s->sampled, s->sampled + 1, sizeof *s->sampled * (size_t)--s->nsampled);
	return j;
}

int sample_texts(const char **out, int max, const struct shard *s)
{
	const int n = MIN(max, s->nsampled);
	for (int i = 0; i < n; i++)
		out[i] = s->sampled[i]->text;
	return n;
}

void sample_drop(struct shard *s)
{
	while (s->nsampled)
		job_free(s->sampled[--s->nsampled]);
}

void sample_count(struct shard *s, const struct job *j)
{
	s->stats.sampled_turn += j->why == SAMPLE_TURN;
	s->stats.sampled_shape += j->why == SAMPLE_SHAPE;
	s->stats.sampled_finding += j->why == SAMPLE_FINDING;
}
