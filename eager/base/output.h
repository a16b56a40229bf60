/* output.h: the one place where text leaves the process: standard output, standard error, or a file in the place of the former.
 *
 * Writing is stdio's (printf to `file`); what is below it escapes all that is harmful for a terminal (escape.h; newline and tab stay)
 * and keeps the errno of the first write that failed, which ferror alone forgets. After it nothing more is written (but on standard
 * error): a text with a hole would be worse. A write that a signal interrupts is an error, too, so that a reader who does not read holds
 * nobody. */
#ifndef SCATTERPROOF_OUTPUT_H
#define SCATTERPROOF_OUTPUT_H

#include "eager/base/base.h"

struct output {
	FILE *file;
	const char *name; /* for messages; not copied */
	int fd, error;    /* error: errno of the first write that failed, 0 if none did */
	bool replaces;    /* a file: what it held before goes when the first byte is written, or at the end if none was */
	bool made;        /* it was not there before */
	bool styled;      /* set by the caller: the colours of screen.h pass, and no other sequence */
	bool abandoned;   /* set by the caller: if nothing was written, the file stays as it was, or goes if it was not there */
	char held[4];     /* the beginning of a character whose end has not been written yet */
	size_t nheld;
};

/* On a descriptor that stays open. *out must not move until it is closed. Buffered like stdio's own: lines on a terminal, standard error
 * not at all. */
void output_standard(struct output *out, int fd);
/* In the place of a file; never of an SQLite database, which somebody named by mistake. */
bool output_file(struct output *out, const char *path, struct err *err);
/* Writes what is left and closes. False: something could not be written; err says what and why. */
bool output_close(struct output *out, struct err *err);

/* All of a text, to a file or, for "-", to standard output (whoever closes that says if it failed). */
bool output_text(const char *path, const struct strbuf *text, struct err *err);

/* One line on standard error, "scatterproof: " before it, newlines escaped too. */
void complain(const char *fmt, ...) PRINTF_LIKE(1, 2);

#endif
