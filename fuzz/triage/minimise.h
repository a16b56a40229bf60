/* minimise.h: the smallest program that an edit at a time reaches and that still fails in the same way (shrink.h has the edits). Whether
 * one fails in the same way is a question to the caller, asked at most once of each text; the answers may be kept between runs, and the
 * same answers lead to the same end. So a run that was stopped goes on where it was when it is asked again with the answers that there
 * are. */
#ifndef SCATTERPROOF_MINIMISE_H
#define SCATTERPROOF_MINIMISE_H

#include "eager/lang/shrink.h"

enum minimise_answer { MINIMISE_NO, MINIMISE_YES, MINIMISE_STOP }; /* STOP: no more questions; what there is, is the result */
typedef enum minimise_answer minimise_question(void *ctx, const struct prog *p, const char *text, const struct shrink *edit);

struct minimise_count {
	int asked, accepted; /* questions, and those answered with yes */
	bool stopped;
};

/* p fails. *out and what it points to live in a. */
void minimise(struct prog *out, struct minimise_count *count, const struct prog *p, minimise_question *ask, void *ctx, struct arena *a);

#endif
