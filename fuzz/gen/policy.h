/* policy.h: what a block of programs is made of (swarm testing: Groce et al., ISSTA 2012). A policy is drawn once per
 * block, stored with the block's counts as one line of text, and read back to make the same programs again.
 *
 * There is ONE default policy, for discovery, clean runs and self-tests alike; some of its blocks are those of `extern`. Weights are
 * per family and dtype, chances per feature: no rule names an operator, a pair of them or the shape of a known bug. (Restricting a run
 * to operators, `--ops`, is the user's doing and is part of the stored line.)
 *
 * Line: "default block=short nodes=1..3 numel=256 families=view:3,scatter:2 dtypes=f32:4,i64:1 reduce_end=90 ... [ops=a,b]" */
#ifndef SCATTERPROOF_POLICY_H
#define SCATTERPROOF_POLICY_H

#include "eager/lang/op.h"
#include "fuzz/gen/choices.h"

/* FEATURE(id, base chance in percent, drawn per block?) in the order of the printed line. */
#define FEATURES(FEATURE)                                                                                                                  \
	FEATURE(reduce_end, 90, 0)    /* a differentiable output is summed or averaged by a linear reduction row */                            \
	FEATURE(grad, 75, 0)          /* a floating point input requires grad */                                                               \
	FEATURE(chain, 80, 0)         /* the first operand is an existing value */                                                             \
	FEATURE(reuse, 45, 1)         /* another operand is an existing value if one fits */                                                   \
	FEATURE(alias, 40, 1)         /* writes go to views, and what shares their storage is read or returned afterwards */                   \
	FEATURE(permuted, 20, 1)      /* layout of inputs: dims in another order */                                                            \
	FEATURE(gapped, 12, 1)        /*   cells between elements */                                                                           \
	FEATURE(offset, 12, 1)        /*   first element not in cell 0 */                                                                      \
	FEATURE(broadcast, 8, 1)      /*   stride 0 */                                                                                         \
	FEATURE(overlap, 3, 1)        /*   strides too small for the sizes */                                                                  \
	FEATURE(size_zero, 1, 1)      /* per dim */                                                                                            \
	FEATURE(size_one, 12, 1)      /* per dim */                                                                                            \
	FEATURE(ladder, 25, 1)        /* a size of the pool is 15/16/17/31/32/33/63/65 */                                                      \
	FEATURE(large, 2, 1)          /* ... or around 256 or 1024 */                                                                          \
	FEATURE(negative, 25, 1)      /* dims and indices counted from the end */                                                              \
	FEATURE(minus_one, 25, 1)     /* a size that follows from the others is -1 */                                                          \
	FEATURE(assign, 5, 1)         /* instead of a node: part of a value is assigned to, as x[1:3] = y or x[i] += y */                      \
	FEATURE(plain, 60, 1)         /* an argument that has a default keeps it */                                                            \
	FEATURE(mixed, 6, 1)          /* the other operand has another dtype */                                                                \
	FEATURE(number, 60, 1)        /* a Python number stands for the other operand, where PyTorch takes one */                              \
	FEATURE(input_view, 6, 1)     /* an input shares another input's storage */                                                            \
	FEATURE(self_operand, 2, 1)   /* an in-place operand is the written tensor itself */                                                   \
	FEATURE(extra_return, 12, 1)  /* a value that has users is returned too */                                                             \
	FEATURE(cot_broadcast, 35, 1) /* cotangent with stride 0 */                                                                            \
	FEATURE(cot_layout, 25, 1)    /* cotangent with a layout of its own */                                                                 \
	FEATURE(cot_overlap, 4, 1)    /* cotangent that overlaps itself, as windows do */                                                      \
	FEATURE(positive, 40, 1)      /* operands of divisions and transcendental functions are positive */                                    \
	FEATURE(special, 12, 1)       /* a further call has inf, nan, -0.0, limits */                                                          \
	FEATURE(ties, 20, 1)          /* a further call has few distinct values */                                                             \
	FEATURE(symbols, 12, 0)       /* a size changes from call to call, if the program allows it: four of five do */                        \
	FEATURE(sized, 60, 0)         /* a symbolic program has a view or two that state sizes, as x.view(n, -1) */                            \
	FEATURE(read_sizes, 50, 0)    /* a symbol is read off a tensor wherever one has that size (x.shape[0]) ... */                          \
	FEATURE(mixed_sizes, 20, 0)   /* ... or here and there; otherwise it is an argument of its own */                                      \
	FEATURE(counts, 40, 0)        /* a size that is data (masked_select) changes from call to call, if the program allows it */            \
	FEATURE(items, 6, 0)          /* a number of a program without symbols is what a tensor holds (item), if the program allows it */      \
	FEATURE(torch, 25, 0)         /* the program is written torch.add(x, y) ... */                                                         \
	FEATURE(python, 25, 0)        /* ... or x + y; otherwise torch.ops.aten.add.Tensor(x, y) */                                            \
	FEATURE(illegal, 1, 0)        /* half of those: one deliberate mistake, which eager must refuse */                                     \
	FEATURE(outside, 1, 0)        /* a position that does not exist, which eager must refuse; half of those rows nobody reads */           \
	FEATURE(wide, 8, 1)           /* an integer input has the whole range of its dtype (i64: numbers beyond 2^53) */                       \
	FEATURE(masks, 15, 1)         /* index_put takes a mask in place of positions */                                                       \
	FEATURE(unseen, 4, 0)         /* writes may go to a detached view of what requires grad */                                             \
	FEATURE(zeros, 4, 0)          /* a program whose numbers are mostly 0.0 and -0.0 */                                                    \
	FEATURE(twin, 4, 1)           /* a row again, on the same operands with another number or dim */                                       \
	FEATURE(library, 0, 0)        /* a node is one of those that compilers leave to a library (sort, topk, index_put) */                   \
	FEATURE(motif, 0, 0)          /* the program is made of a piece of what people run (motif.h) */                                        \
	FEATURE(lanes, 2, 0)          /* lanes that are put in order have more than 256 elements */                                            \
	FEATURE(overlap_write, 30, 1) /* a row that writes one number does it through a view that overlaps itself, if there is one */

/* Why half of the programs stay in the surface aten: every row has that spelling, in it a reproducer names the overload that is wrong, and
 * below Dynamo, where compilers have had their wrong values so far, surfaces are alike. What only the other two reach is Dynamo's own
 * handling of operators, methods, indexing and assignment: as people use both, they share the other half. */

enum feature {
#define FEATURE(id, base, swarm) PF_##id,
	FEATURES(FEATURE)
#undef FEATURE
		NFEATURES
};
extern const char *const feature_name[NFEATURES];

/* What becomes of a program that the generator makes, before anything runs it (fuzz/campaign/derived.h). */
enum policy_form { FORM_PLAIN, FORM_JOINT, FORM_DOUBLE };

struct policy {
	char name[32];
	enum policy_form form; /* follows from the name */
	bool is_short;
	int min_nodes, max_nodes;              /* operator nodes; those that end and derive are on top */
	int max_numel;                         /* elements of one tensor, roughly */
	int family[NFAMILIES], dtype[NDTYPES]; /* weights; 0 = off */
	int chance[NFEATURES];                 /* percent */
	bool restricted;                       /* op[] is a choice of the user */
	bool op[MAX_OPS];
	/* derived by policy_finish: rows that may be drawn, by family; linear reductions; rows of PF_library, some several times */
	short by_family[NFAMILIES][MAX_OPS], reduction[MAX_OPS], library[64];
	int nby_family[NFAMILIES], nreduction, nlibrary;
};

/* Programs per draw. A draw has two or three families, so a run of a few hundred compiled programs must see several. Measured over
 * 101 seeds, programs until the founding condition, median and 90th percentile: 39, 114 with draws of 25; 52, 178 with 50;
 * 185, 2010 with 1,000. */
enum { POLICY_BLOCK = 25 };

/* What a user asked for; all optional. */
struct policy_limits {
	const char *ops;    /* "slice_scatter,sum.dim_IntList": exact names or bare ones; NULL = all */
	const char *dtypes; /* "f32,bf16"; NULL = as the policy says */
};

/* Draws block number `block` of the policy `name` (see policy_names) from `c`. */
bool policy_draw(struct policy *out, const char *name, const struct policy_limits *limits, struct choices *c, struct err *err);
void policy_print(struct strbuf *sb, const struct policy *p); /* one line, no newline */
bool policy_read(struct policy *out, const char *line, struct err *err);
const char *policy_names(void); /* "default, short, ..." for help texts */

#endif
