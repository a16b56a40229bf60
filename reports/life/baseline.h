/* baseline.h: what somebody has decided about findings, as a text that people review and that runs without a store read.
 *
 *     # scatterproof baseline 1
 *
 *     finding 3fa2c1d0b3de50c3a7c1a2d9b7f3e0aa
 *     state known                                     or: fixed-in 2.15.0, dismissed, duplicate 0998474acae05e66187f98ac707c6af6
 *     issue https://github.com/pytorch/pytorch/issues/180164
 *     family torch
 *     kind gradient
 *     severity high
 *     signature gradient predicted layout overlaps: aten.slice_scatter.default
 *     cause slice_scatter: lowering: its predicted layout overlaps itself
 *     note reported by us
 *     program
 *         # scatterproof 1
 *         x: "f32[2][1]" = input([2], requires_grad=True)
 *         ...
 *
 * A block begins with `finding`; its other lines come in any order, each at most once; issue, cause and note may be absent. What is harmful
 * for a terminal, and a backslash, stands escaped in a value. Lines that are empty or begin with '#' mean nothing. A sighting is in a
 * baseline if family, kind and signature are; the rest is for people. */
#ifndef SCATTERPROOF_BASELINE_H
#define SCATTERPROOF_BASELINE_H

#include "reports/store/store.h"

/* Appends the findings of s in state known, fixed-in, dismissed, or duplicate of one of these, by signature; counts them. */
enum store_status baseline_write(struct strbuf *sb, int *n, struct store *s);

struct baseline_entry {
	char hex[33];
	enum finding_state state;
	enum finding_kind kind;
	enum finding_severity severity;
	const char *family, *signature; /* signature as in the file, escaped */
	const char *version;            /* of fixed-in, "": any later sighting is a regression */
	const char *issue, *note, *program;
	int line;
};
struct baseline {
	struct arena arena;
	int n;
	struct baseline_entry *entry;
};
/* err: "FILE:LINE: what is wrong"; *out needs no freeing then. */
bool baseline_read(struct baseline *out, const char *path, struct err *err);
void baseline_free(struct baseline *b);
/* NULL: it is not there. b may be NULL. */
const struct baseline_entry *baseline_find(const struct baseline *b, const char *family, enum finding_kind kind, const char *signature);

#endif
