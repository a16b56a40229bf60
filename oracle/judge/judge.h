/* judge.h: one execution of a program (struct result) against the reference: values, gradients, mutation, aliasing, layout,
 * None-ness, raising; every call; and that no call touches what earlier ones left behind.
 *
 *   struct judge_case jc;                          // computed once per program and profile, used for many results
 *   judge_prepare(&jc, &prog, &profile, limits, arena)    // profile and arena outlive jc
 *   judge(&verdict, &jc, &result, arena)
 *
 * Kinds of mismatch are ordered by how much they hurt; `kind` is the first of them, `kinds` the mask of all. */
#ifndef SCATTERPROOF_JUDGE_H
#define SCATTERPROOF_JUDGE_H

#include "oracle/judge/compare.h"

enum mismatch {
	MM_NONE,
	MM_VALUE, /* an output */
	MM_GRADIENT,
	MM_MUTATION, /* an input's storage after the call, gaps included */
	MM_SHAPE,    /* sizes, dtype or device */
	MM_RAISE,    /* raised where it must not, or the reverse */
	MM_NONENESS, /* a gradient that should be None, or is */
	MM_ALIAS,    /* outputs and gradients that share memory and should not, or the reverse; where an output begins in it */
	MM_STRIDES,  /* only where they mean something */
	MM_REQUIRES_GRAD,
	NMISMATCH
};
extern const char *const mismatch_name[NMISMATCH];

/* What of a layout is wrong, the worst first. */
enum layout_part { LAYOUT_SIZES, LAYOUT_DTYPE, LAYOUT_DEVICE, LAYOUT_STRIDES, NLAYOUT_PARTS };

enum judge_status {
	JUDGE_PASS,
	JUDGE_MISMATCH,
	JUDGE_UNSUPPORTED, /* the reference cannot say (message), or the target refused */
	JUDGE_FAILED       /* the target crashed, hung, or the harness failed: not this module's verdict */
};

struct tensor_verdict {
	enum tensor_role role;
	int call, index, node;    /* index among outputs, gradients, storages; node of the program, -1 for storages */
	const struct meta *shape; /* in this call; NULL: a storage, which is flat */
	bool later;               /* as it is when all calls have run, held against what it was when its call returned; only if it changed */
	unsigned kinds;           /* 1 << MM_* */
	unsigned layout;          /* 1 << LAYOUT_*: of MM_SHAPE and MM_STRIDES, what is wrong */
	unsigned used;            /* FREE_*: freedoms without which this tensor would be wrong */
	struct compared cmp;
	const char *detail; /* layout, alias, None-ness: both facts in one sentence; "" else */
};

struct judgement {
	enum judge_status status;
	enum mismatch kind;
	unsigned kinds, used;
	const char *message;
	int64_t nelement, count[NELEMENT], exact, weak, suspect;
	int ntensor;
	struct tensor_verdict *tensor; /* all tensors of all calls; the mismatching ones first, worst kind first */
};

struct judge_case {
	const struct prog *p;
	int ncalls;
	const struct prog **bound; /* one per call */
	struct reference *ref;     /* one per call */
	const struct licence_profile *licence;
	struct tape_limits limit;
	enum ref_status status; /* OK if every call is; RAISES if call 0 does */
	const char *message;
	const char *undecided; /* that of a call that reads what an undecided comparison made, or whose kernel is not modelled; NULL: none */
};

/* ---- the same rules, for whoever compares without a result at hand (scripts) ---- */
/* May two tensors of a call share memory? */
enum alias_rule {
	ALIAS_APART,
	ALIAS_SHARED, /* they must */
	ALIAS_EQUAL,  /* apart, or one tensor if they are equal byte for byte and in layout */
	ALIAS_ANY
};
/* Output i with output k < i; with the input storage that the reference says (k = -1). Outputs on an input's storage are not compared with
 * each other. */
enum alias_rule judge_output_rule(const struct prog *p, const struct reference *ref, int i, int k, unsigned freedoms);
/* Does gradient i begin at 0 of its memory? */
bool judge_gradient_from_start(const struct reference *ref, int i, unsigned freedoms, struct arena *a);
/* Gradient i with storage k, with output k, with gradient k < i. */
enum alias_rule judge_gradient_rule(const struct reference *ref, int i, enum tensor_role other, int k, unsigned freedoms, struct arena *a);
/* What a leaf gets that no cotangent reaches, where every result and written input that has none is given zeros (the freedom's reason):
 * where it may be NaN, zeros for None may. NULL: nowhere. */
const struct ref_value *judge_zero_gradient(const struct judge_case *jc, int call, int index, struct arena *a);
/* What one of the elements of group w of ref->winners gets for pick k, and no other one does: low to high. False: anything. */
bool judge_pick(double *low, double *high, const struct reference *ref, int w, int k);

bool judge_prepare(struct judge_case *jc, const struct prog *p, const struct licence_profile *l, struct tape_limits limit, struct arena *a);
void judge(struct judgement *j, const struct judge_case *jc, const struct result *r, unsigned freedoms, struct arena *a);
/* A paragraph for people: kinds, wrong tensors, samples, pattern. */
void judgement_print(struct strbuf *sb, const struct judgement *j, const struct prog *p);

#endif
