/* shard_queue.c: which program is compiled next. Programs whose predicted layout is impossible first, then wide twins, then what is new;
 * but a program whose every such prediction a known cause explains goes behind all others: it would only show once more what is known. */
#include "fuzz/campaign/shard_internal.h"

/* A confirmed finding does, or a divergence that is being confirmed: others like it would only wait with it. */
static bool is_explained(const struct shard *s, const char *op)
{
	bool on_trial = s->trial && str_eq(sighting_explains(s->trial), op);
	return on_trial || explained_has(&s->explained, op) || sightings_explain(s->sightings, op);
}

bool queue_explains(const struct shard *s, const struct job *j)
{
	bool all = s->cheap_on && !s->o->no_avoid && j->hit && !j->diverged && !j->many_hints;
	for (int i = 0; i < j->nhint && all; i++)
		all = is_explained(s, j->hints[i]);
	return all;
}

int queue_unexplained(const struct shard *s)
{
	int n = 0;
	for (int i = 0; i < s->nqueue; i++)
		n += !queue_explains(s, s->queue[i]);
	return n;
}

static double promise(const struct shard *s, const struct job *j)
{
	if (!s->cheap_on && !j->twin)
		return -(double)j->index;
	double first = queue_explains(s, j) ? -1e6 : j->hit ? 1e6 : 0;
	return first + (j->twin ? 1e5 : 0) + features_new(s->compiled, &j->prog);
}

/* Never to be compiled. */
static void drop(struct shard *s, struct job *j)
{
	s->stats.set_aside += queue_explains(s, j);
	job_free(j);
}

void queue_push(struct shard *s, struct job *j)
{
	j->score = promise(s, j);
	if (s->draining && !j->diverged) {
		drop(s, j);
		return;
	}
	if (s->nqueue == QUEUE_MAX) { /* drop the least promising */
		int worst = 0;
		for (int i = 1; i < s->nqueue; i++)
			if (s->queue[i]->score < s->queue[worst]->score)
				worst = i;
		if (s->queue[worst]->score >= j->score) {
			drop(s, j);
			return;
		}
		drop(s, s->queue[worst]);
		s->queue[worst] = s->queue[--s->nqueue];
	}
	references_drop(&j->refs); /* of the stage before, which computed otherwise if this one compiles */
	s->queue[s->nqueue++] = j;
}

/* The best of those that are explained, or of the others; -1: there is none. */
static int best_of(const struct shard *s, bool explained)
{
	int best = -1;
	for (int i = 0; i < s->nqueue; i++)
		if (queue_explains(s, s->queue[i]) == explained && (best < 0 || s->queue[i]->score > s->queue[best]->score))
			best = i;
	return best;
}

/* Nothing else is going to come. */
static bool nothing_else(const struct shard *s) { return !s->in_cheap && !s->nagain && !shard_may_generate(s); }

struct job *queue_pop(struct shard *s)
{
	for (int i = 0; i < s->nqueue && s->cheap_on; i++) /* what is new changes with every compile, and so does what is known */
		s->queue[i]->score = promise(s, s->queue[i]);
	int best = best_of(s, false), other = best_of(s, true);
	bool turn = s->npopped % EXPLAINED_TURN == EXPLAINED_TURN - 1;
	if (other >= 0 && (best < 0 ? nothing_else(s) : turn))
		best = other;
	if (best < 0)
		return NULL;
	struct job *j = s->queue[best];
	s->queue[best] = s->queue[--s->nqueue];
	s->npopped++;
	return j;
}

int queue_texts(const char **out, int max, const struct shard *s)
{
	const int n = MIN(max, s->nqueue);
	for (int i = 0; i < n; i++)
		out[i] = s->queue[i]->text;
	return n;
}

void queue_drain(struct shard *s)
{
	int kept = 0;
	for (int i = 0; i < s->nqueue; i++)
		if (s->queue[i]->diverged)
			s->queue[kept++] = s->queue[i];
		else
			drop(s, s->queue[i]);
	s->nqueue = kept;
}
