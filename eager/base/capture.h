/* capture.h: runs another program to its end and keeps what it prints. It and all that it starts (its process group) is killed when its
 * time is over, when this process is asked to stop (interrupt.h), and when it has printed enough; it dies with this process. */
#ifndef SCATTERPROOF_CAPTURE_H
#define SCATTERPROOF_CAPTURE_H

#include "eager/base/base.h"

struct capture {
	const char *const *argv; /* argv[0] is a path; ends with NULL */
	const char *dir;         /* where it runs; NULL: here */
	bool errors;             /* keeps what it prints on standard error, too; else that is dropped */
	size_t most;             /* bytes that are kept */
	int limit_s;
};
/* Appends what it printed. Its exit code; 127: it was not started; 128: killed, by us or by whoever sends SIGKILL; 128 + N: it died of
 * another signal. */
int capture_run(struct strbuf *out, const struct capture *c);

#endif
