/* finding.h: what was found, on its way from the verdict to the store: which program it is, what is wrong with it, where it ran, and how
 * sure that is. A shard makes one of an outcome, holds it until it was tried again, and sends it to its parent; `check` makes its own. Both
 * keep it in the same way (keep.h). */
#ifndef SCATTERPROOF_FINDING_H
#define SCATTERPROOF_FINDING_H

#include "eager/lang/wire.h"
#include "fuzz/triage/verdict.h"

/* TEXT(field): the texts of a finding, in the order of the wire. */
#define FINDING_TEXTS(TEXT)                                                                                                                \
	TEXT(versions) /* with device as exec_versions says them */                                                                            \
	TEXT(device)                                                                                                                           \
	TEXT(program) /* its text */                                                                                                           \
	TEXT(policy)  /* in words: what it was drawn from */                                                                                   \
	TEXT(signature)                                                                                                                        \
	TEXT(tensor)                                                                                                                           \
	TEXT(detail)                                                                                                                           \
	TEXT(report)                                                                                                                           \
	TEXT(stderr_tail)                                                                                                                      \
	TEXT(how) /* "again in a fresh process", or why not confirmed */

/* A text that does not apply is "". */
struct finding {
	struct target target; /* that ran it; driver NULL: scatterproof itself, which a program ended */
	int nops;
	const char **op; /* of the program, as prog_ops has them */
#define TEXT(field) const char *field;
	FINDING_TEXTS(TEXT)
#undef TEXT
	enum verdict verdict;
	enum finding_kind kind;
	enum finding_severity severity;
	int call;
	bool confirmed;
	int64_t index, compiles; /* number of the program; programs that the shard had compiled by then */
	double found_ms, confirm_ms;
};

/* A divergence of p on t, or a refusal that nobody expected (o->unexpected), which concerns the plain stage. Not confirmed; where it ran
 * and how it was made is the caller's to say. The texts are copies, in a. */
void finding_of(
	struct finding *out, const struct prog *p, const struct outcome *o, const struct target *t, const char *stderr_tail, struct arena *a);
/* f's program ran once more, on t: what is wrong is what o, a divergence, says. */
void finding_judged(struct finding *f, const struct outcome *o, const struct target *t, const char *stderr_tail, struct arena *a);
/* Sets the operators of a program of which there is only the text; none if it does not read. */
void finding_read_ops(struct finding *f, struct arena *a);
const char *finding_target(const struct finding *f, struct arena *a); /* its name, in a */
const char *finding_family(const struct finding *f);

void finding_put(struct strbuf *sb, const struct finding *f);
void finding_get(struct finding *f, struct wire *w, struct arena *a);

#endif
