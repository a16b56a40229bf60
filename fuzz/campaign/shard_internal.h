/* shard_internal.h: what the files of a shard share. shard.c is the loop, the slots and the answers; shard_job.c makes programs;
 * shard_trial.c takes what diverged and tries it again in a fresh process; shard_sample.c chooses for the targets of --sample;
 * shard_count.c counts for the next answer. */
#ifndef SCATTERPROOF_SHARD_INTERNAL_H
#define SCATTERPROOF_SHARD_INTERNAL_H

#include "compiled/targets/exec.h"
#include "fuzz/campaign/feature.h"
#include "fuzz/campaign/shard.h"
#include "fuzz/campaign/shard_note.h"
#include "fuzz/campaign/sightings.h"

enum { MAX_HINTS = 8 };
struct job {
	struct arena arena;
	struct prog prog;
	struct references refs;
	const char *text;
	int64_t index;
	int draw, next_target;
	int counted;   /* verdicts of it that a shard before this one counted: see struct shard_pending */
	bool diverged; /* there */
	double score;
	bool hit;  /* a rank-1 prediction mismatch */
	int nhint; /* the operators of all of them, … */
	const char *hints[MAX_HINTS];
	bool many_hints;        /* … and of more than that */
	bool twin;              /* made of a program that passed with suspects */
	bool new_shape;         /* of a nest of its loops: no program before it had it */
	enum sample_why why;    /* it goes to the targets of --sample */
	bool ran_eagerly;       /* on the cheap stage: whoever raises now raises alone */
	struct outcome *raised; /* waits for what the plain stage says of a raise (plain.h), with its result; NULL: nothing does */
	struct result *raised_result;
	const char *hint; /* operator of the worst mismatch, "" if none */
};

struct delta {
	int draw, target;
	int64_t n[NVERDICTS];
};

struct shard {
	const struct options *o;
	struct arena arena; /* lives as long as the shard */
	struct target target[MAX_TARGETS];
	struct shard_note *note;
	bool begun, identified; /* a first request came; targets have the version that they are */
	struct strbuf versions, hello;
	struct exec *main, *cheap, *fresh;
	struct job *in_main, *in_cheap;
	struct sighting *trial; /* what is being tried again … */
	bool trial_on_target;   /* … on its target, or still on the plain stage */
	struct job *queue[QUEUE_MAX];
	int nqueue;
	int64_t npopped; /* compiled from it */
	struct explained explained;
	struct sightings *sightings;
	bool compiles, cheap_on, draining;
	int ahead;            /* how many programs a target compiles in one go, the most of any but those of --sample; at least 1 */
	int ahead_sampled;    /* the same of those of --sample */
	struct job **sampled; /* chosen for them, in the order of choice */
	int nsampled;
	bool sampling;              /* they have their turn until none is left */
	struct feature_set *shapes; /* of loops, in this shard */
	struct target cheap_target, plain_target;
	char *target_name[MAX_TARGETS + 1];
	int64_t next; /* number of the next program */
	int64_t made;
	int nfailed;                 /* numbers in a row that gave no program */
	struct shard_pending *again; /* what a shard before this one still had to do with; npending of them */
	int nagain;
	struct shard_culprit *skip; /* what it died of */
	int nskip;
	struct program_source source;
	int ndraw;
	char **draw;                  /* of each block its policy draw, in words; NULL: not drawn here */
	struct feature_set *compiled; /* of what was compiled: a program is worth as much as it has beyond them */
	struct shard_stats stats;
	struct delta *delta;
	int ndelta;
	struct shard_reason reason[MAX_REASONS];
	int nreason;
	const char *refused[MAX_REASONS]; /* reasons of which a program was kept: see send_refused */
	int nrefused;
	struct strbuf findings;
	uint32_t nfindings;
	struct strbuf kept; /* texts of programs that the guide kept since the last answer, for --corpus */
	uint32_t nkept;
	struct feature_set *sent; /* of those ever */
	double start;
	double main_since; /* when the main slot got what it has, or lost what it had */
	int64_t last_hit;  /* cheap runs until the latest hit */
	struct err fatal;
	int fatal_code;
};

static inline const struct target *shard_target(const struct shard *s, int target)
{
	return target < s->o->ntarget ? &s->target[target] : &s->cheap_target;
}

/* ---- shard_queue.c ---- */
/* A known cause explains everything for which j would be compiled first. */
bool queue_explains(const struct shard *s, const struct job *j);
int queue_unexplained(const struct shard *s);    /* how many in the queue are not explained */
void queue_push(struct shard *s, struct job *j); /* takes the job; a full queue drops the least promising */
/* The most promising; NULL: none. One that is explained only if nothing else is left to do, or one time in EXPLAINED_TURN. */
struct job *queue_pop(struct shard *s);
int queue_texts(const char **out, int max, const struct shard *s); /* of programs in the queue, in any order; how many */
void queue_drain(struct shard *s);                                 /* of all but what waits for its confirmation */

/* ---- shard_job.c ---- */
/* In hand from now on: what its parent and a BUG name. t: appended to what it is doing; may be NULL. */
void shard_take_up(struct shard *s, int64_t index, bool twin, const char *text, const char *doing, const struct target *t);
void shard_take_up_job(struct shard *s, const struct job *j, const char *doing, const struct target *t);
/* plant=bug-making, bug-judging, bug-confirming, kill-judging of builtin:eager: this process dies of some programs. */
void shard_die_if_planted(const struct shard *s, const char *when, bool this_one);
/* The next program to run: what a shard before this one still had to do with, then new ones. NULL: there is none, or s->fatal says why. */
struct job *job_new(struct shard *s);
/* The same on data of a dtype that leaves no room. NULL: dtypes do not fit together any more. */
struct job *job_widened(struct shard *s, const struct job *of);
void job_free(struct job *j);
bool shard_may_generate(const struct shard *s);
/* A shard before this one died of it. */
bool shard_skips(const struct shard *s, int64_t index, bool twin);

/* ---- shard_sample.c ---- */
int shard_nplain(const struct shard *s); /* targets before those of --sample */
/* What j became on a target: does it have new shapes? */
void sample_see(struct shard *s, struct job *j, const struct result *r);
/* Is a program that diverged nowhere chosen (j->why)? Asked once. */
bool sample_wants(const struct shard *s, struct job *j);
void sample_push(struct shard *s, struct job *j);                   /* takes the job */
void sample_finding(struct shard *s, const struct job *of);         /* a copy of what diverged, for the targets that are left */
struct job *sample_pop(struct shard *s);                            /* NULL: there are not enough yet */
int sample_texts(const char **out, int max, const struct shard *s); /* of those that wait */
void sample_drop(struct shard *s);
void sample_count(struct shard *s, const struct job *j);

/* ---- shard_count.c ---- */
/* Which program something is said of. */
struct made {
	int64_t index;
	bool twin;
	int draw;
	const struct prog *p;
};
void shard_count(struct shard *s, int draw, int target, enum verdict v);
void shard_add_reason(struct shard *s, int target, const struct made *m, const char *text);
void shard_count_reasons(struct shard *s, struct arena *a, int target, const struct made *m, const struct outcome *o);
/* What became of a job on a target, if no shard before this one has counted it. */
void shard_count_job(struct shard *s, struct job *j, int target, const struct outcome *o);
/* What o says of m on t, unconfirmed; in a. */
void shard_finding(struct finding *out, const struct shard *s, const struct made *m, const struct target *t, const struct outcome *o,
	const char *stderr_tail, struct arena *a);
void shard_send_finding(struct shard *s, const struct finding *f);
void shard_put_counters(struct shard *s, struct strbuf *answer);
void shard_put_reasons(struct shard *s, struct strbuf *answer);

/* ---- shard_trial.c ---- */
/* A divergence: new signatures wait for a trial in a fresh process, those of settled ones are further observations. Takes the job. */
void shard_diverged(struct shard *s, struct job *j, int target, const struct outcome *o, const struct result *r);
/* The trial of the first sighting that waits; its process has answered; it ends. */
void trial_start(struct shard *s);
void trial_take(struct shard *s);
void trial_end(struct shard *s);
/* The campaign ends: what has no trial yet is sent as it is. */
void trials_give_up(struct shard *s);

#endif
