/* check_json.h: what `check` says of one program on one target, for machines: everything that its text says, and which versions ran. */
#ifndef SCATTERPROOF_CHECK_JSON_H
#define SCATTERPROOF_CHECK_JSON_H

#include "fuzz/triage/verdict.h"

struct checked {
	const struct target *on;
	const char *file, *target;     /* FILE or FILE:LINE; canonical, with the version that ran */
	const char *versions, *device; /* as exec_versions says */
	const struct prog *p;
	const struct result *r;
	const struct outcome *o;
	const char *baseline; /* what --baseline makes of a divergence: "known (baseline)", "regressed"; NULL: nothing */
};
/* One line, without its end: an object with file, target, versions, device, verdict, why, calls, elements, by_fill, freedoms,
 * predicted_meta, suspects; of a divergence also kind, severity, tensor, call, pattern, signature, wrong (all tensors, with samples),
 * report, stderr. */
void check_json(struct strbuf *sb, const struct checked *c);

#endif
