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
	const char *finding;  /* the finding that --db kept it as, 32 hex digits; NULL: none */
	const char *before;   /* its state, if the store had it before; NULL: it is new */
	const char *source;   /* the printed graph that p was read from; NULL: none that says where its rows come from */
	bool own;             /* this program is the finding's first one; else its signature alone is the same */
	bool later;           /* it is marked fixed in a later version */
};
/* One line, without its end: an object with file, target, versions, device, verdict, why, calls, elements, by_fill, freedoms,
 * predicted_meta, suspects; of a divergence also kind, severity, tensor, call, pattern, signature, wrong (all tensors, with samples),
 * report, stderr; with --db finding, own, and before (its state) if the store had it. */
void check_json(struct strbuf *sb, const struct checked *c);
/* A line of its own: a graph that is judged in parts, and in which. */
struct fx_cut;
void check_parts_json(const char *name, const struct fx_cut *cut, const char *source);
/* Appends where the user wrote what makes the tensor ("model.py:8 in forward: y = self.l(x)"), if that is known. */
void checked_source(struct strbuf *sb, const struct checked *c, const struct tensor_verdict *v);

#endif
