/* progress.h: what a person sees of a running campaign: the status line on standard error and the findings on standard output.
 * On a terminal the line is written over again and again, never longer than the terminal is wide; whoever else prints clears it first.
 * A finding is a few lines there, and the command that shows the rest; the whole report if there is no store, or into a file. */
#ifndef SCATTERPROOF_PROGRESS_H
#define SCATTERPROOF_PROGRESS_H

#include "fuzz/campaign/shard.h"

struct progress {
	const struct options *o;
	double start, last;           /* milliseconds of the monotonic clock: of the campaign, of the latest status line */
	bool status_tty, finding_tty; /* standard error, standard output is a terminal */
};

/* Is it one on which a line can be written over? */
bool progress_terminal(int fd);
/* To standard error as it is: the cursor moves. What is in it was made harmless before. */
void progress_control(const char *s);

void progress_begin(struct progress *p, const struct options *o);
bool progress_due(const struct progress *p);
void progress_status(struct progress *p, const struct shard_stats *s, int64_t nfindings, bool finishing);
void progress_clear(const struct progress *p);
/* what: "confirmed", "candidate", "regressed". False: the reader of standard output has gone. */
bool progress_finding(struct progress *p, const struct finding *f, const char *what, const struct hash128 *id);
/* A line with a command on the store, ready to be pasted. */
void progress_command(const char *command, const char *db);
void progress_end(const struct progress *p);

#endif
