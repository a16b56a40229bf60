/* shard.h: one shard of a campaign: generates programs, runs them on its own target children, computes the reference, compares,
 * confirms divergences. A process of its own (verb SHARD_VERB, speaking proc.h's frames), so that our own crash costs one program.
 *
 * Shard i of n makes the programs i, i+n, i+2n, … of the campaign. Which program a number is, source.h decides, so a campaign's programs do
 * not depend on --jobs or on timing; which of them get a compile does.
 *
 * With compiling targets programs first pass the cheap stage (torch:fake: eager values and fake-tensor metas, ~10 ms); a
 * queue then orders compiles: predicted-meta mismatches first, then novelty. Without (--no-cheap) programs are compiled in order.
 * Compiles have the processor first: the cheap stage runs in the background; when it has predicted nothing for CHEAP_PATIENCE
 * programs it only keeps CHEAP_ENOUGH in the queue; and a compile slot that has waited MAIN_PATIENCE_MS for the queue takes the next
 * program as it is. A compiled program that raises and that the cheap stage has not run is asked of the plain stage first (plain.h): if
 * that raises, too, it is invalid, and no divergence is counted.
 *
 * Programs whose impossible predictions are explained by known causes (explained.h) go behind all others: one compile in EXPLAINED_TURN is
 * theirs, and what nothing else wants at the end; the others are counted as set aside. What is explained is said to a shard in every
 * request and comes back in every answer, so all shards know it, and one that takes the place of another, too. (--no-avoid: nothing is.)
 *
 * --sample names dear targets, which get few of the programs (shard_sample.c), several at a time, after the other targets.
 *
 * A program that passes with suspects (oracle/judge/spread.h) is run again as its wide twin (edit_widen), before what is merely new.
 *
 * An answer is a commit: it says what happened since the last one, and where the shard stands (struct shard_state). When a shard dies,
 * another one begins where the last answer stood, without the program that the dead one had in hand (shard_note.h): what it did since
 * then is done again, because a program is its number. So nothing is lost or counted twice but that program, which its parent counts as
 * `harness`.
 *
 * Messages: request = struct shard_request; answer = struct shard_answer, then counters, reasons, findings and (--corpus) texts of programs
 * that the guide kept, since the last one. */
#ifndef SCATTERPROOF_SHARD_H
#define SCATTERPROOF_SHARD_H

#include "eager/lang/wire.h"
#include "fuzz/ask/options.h"
#include "fuzz/campaign/explained.h"
#include "fuzz/campaign/finding.h"
#include "fuzz/campaign/shard_stats.h"
#include "fuzz/campaign/source.h"

#define SHARD_VERB "__shard"
enum { QUEUE_MAX = 48, CHEAP_PATIENCE = 250, CHEAP_ENOUGH = 4, MAIN_PATIENCE_MS = 2000, EXPLAINED_TURN = 16 };

enum shard_mode {
	SHARD_WORK,
	SHARD_DRAIN,  /* no new programs: what runs or was chosen for --sample is finished, what waits for its confirmation is confirmed */
	SHARD_GIVE_UP /* what waits for its confirmation is sent unconfirmed, at once */
};
/* Why a program goes to the targets of --sample: each --every-th does; some nest of its loops has a new shape; it diverged elsewhere. */
enum sample_why { SAMPLE_NOT, SAMPLE_TURN, SAMPLE_SHAPE, SAMPLE_FINDING };
#define HOW_SEEN_BEFORE "seen before in this run"

/* A program that a shard still has to do with: in a slot, in the queue, or waiting for its trial. */
struct shard_pending {
	int64_t index;
	bool twin, diverged;
	enum sample_why why; /* NOT: also of what is not chosen yet */
	int counted;         /* how many of its verdicts are counted: 0 none, 1 the cheap stage's, 2 + t also target t's */
};
struct shard_state {
	int64_t next, made; /* number of the next program; how many of --programs were made */
	int npending;
	struct shard_pending *pending;
};
struct shard_culprit {
	int64_t index;
	bool twin;
};
struct shard_request {
	int ms; /* to work */
	enum shard_mode mode;
	bool fresh;       /* the first of a process: what follows is there */
	const char *note; /* name for shard_note_open */
	struct shard_state state;
	int nskip;
	struct shard_culprit *skip; /* programs that are not done again */
	struct explained explained; /* by the store, by other shards */
};
struct shard_answer {
	const char *fatal;                      /* "": goes on; else why the whole campaign cannot … */
	int fatal_code;                         /* … and its exit code */
	const char *version, *versions, *hello; /* of every target: for its name; and as exec_versions says. "" while unknown */
	struct shard_stats stats;
	struct shard_state state;
	struct explained explained;
};
/* Deltas for the summary: reasons of anything but pass and divergence, legitimate differences that were met. index: the first program's. */
enum { MAX_REASONS = 256 };
struct shard_reason {
	int target;
	char text[440];
	int64_t n, index;
	bool twin;
};
/* Adds add->n to a list of at most MAX_REASONS, the last of which collects the rest. */
void shard_reason_add(struct shard_reason *list, int *n, const struct shard_reason *add);
void shard_put_reason(struct strbuf *sb, const struct shard_reason *r);
void shard_get_reason(struct shard_reason *r, struct wire *w, struct arena *a);

void shard_put_request(struct strbuf *sb, const struct shard_request *r);
void shard_get_request(struct shard_request *r, struct wire *w, struct arena *a);
void shard_put_answer(struct strbuf *sb, const struct shard_answer *s);
void shard_get_answer(struct shard_answer *s, struct wire *w, struct arena *a);

int shard_main(const struct options *o);

#endif
