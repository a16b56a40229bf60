/* licence.h: what a target may legally do to an operator. Each family of targets has a table of rows, arithmetic.def in its folder: (class
 * or operators, kernels, device, dtypes) -> compute type, accumulation type, budget of library functions, permitted liberties, source. A
 * profile is what holds for one target, the later row winning; the oracle computes one enclosure per profile: the hull of everything that
 * the rows permit.
 *
 * Budgets speak of PRIMITIVES only (exp, log, sin…: `ulp` units in the last place of the compute type); what a composite may lose
 * follows from its forms (func.c, nary.c say which forms each function has). An error bound is never stated for a composite. */
#ifndef SCATTERPROOF_LICENCE_H
#define SCATTERPROOF_LICENCE_H

#include "eager/lang/target_facts.h"
#include "oracle/num/num.h"

enum {
	LF_IEEE = NR_IEEE,     /* + - * / sqrt: correctly rounded, not contracted: exact operands give one answer */
	LF_WIDE = NR_WIDE,     /* f16/bf16 intermediates may stay in f32 */
	LF_FTZ = NR_FTZ,       /* denormals may be flushed; of class MOVE: those of inputs, too, before anything reads them */
	LF_DECOMP = 8,         /* expm1 emitted as exp - 1; forms of formula.def that say so: PyTorch's decompositions */
	LF_TANH = 4096,        /* tanh emitted as 2/(1 + exp(-2x)) - 1: inductor's option cpp.use_decompose_tanh */
	LF_RECIP = 16,         /* x / constant as x * (1 / constant) */
	LF_STEPS = 32,         /* a derivative's formula runs operator by operator, each step rounded to the tensor's dtype */
	LF_WELFORD = 64,       /* var by Welford's recurrence or by two passes, in the accumulation type */
	LF_NARROW = 256,       /* sum and mean in a half dtype may convert a wider operand to it first */
	LF_FOLDED = 1024,      /* x * c1 * c2 as x * (c1 * c2), a / b as a * (1 / b), each rounded; x * c - y contracted across operators */
	LF_ONTO = 2048,        /* a matrix product that is added to something may be computed onto it, term by term */
	LF_POW = 8192,         /* pow has a budget of 2 more than the other library functions, but for powers that kernels single out */
	LF_ZERO = 16384,       /* -0 may become +0: negation as 0 - x; an atomic that adds +0 to a half's neighbour */
	LF_QUOT = 32768,       /* f32 quotients inside formulas, too, are within 2 ULP only */
	LF_EX2 = 65536,        /* sigmoid's exp in f32 is 2^(x * log2 e), the product rounded */
	LF_NUMBER = 131072,    /* a number added to a half tensor stays in f32 */
	LF_CASCADE = 262144,   /* sums go through a cascade of accumulators (sum_depth in ref_reduce.c): far fewer roundings than terms */
	LF_MERGE = 2097152,    /* var merges lanes that got no entry, too: delta * delta * 0, NaN where the square is infinite */
	LF_TANHB = 524288,     /* kernels of formula.def that say so round each of their steps to the tensor's dtype (tanh_backward) */
	LF_NEAR = 4194304,     /* functions of formula.def that say so have an absolute error (erf of halves, and of f32 in vectors) */
	LF_ONEDNN = 8388608,   /* forms of formula.def that say so: oneDNN's */
	LF_STORED = 16777216,  /* formulas that say so keep a step in the tensor's dtype (softmax of halves) */
	LF_SCALED = 33554432,  /* x * c - max(x * c) and softmax(x * c) multiply after the difference (x / c, too): products unrounded */
	LF_PRODUCT = 67108864, /* forms of formula.def that say so: of a product, as a tensor of its own or for a quotient */
	LF_FUSED = 268435456,  /* forms of formula.def that say so: (x - m) * r as x * r + -(m * r) */
	LF_LOOSE = NR_LOOSE    /* factors applied to operands or results, terms or sums: overflow on the way is optional */
};
#define LF_INEXACT (NR_WIDE | NR_FTZ | NR_LOOSE) /* for steps that are never THE correctly rounded answer */
#define LF_ROUND   (NR_IEEE | LF_INEXACT)

/* A row of a family's table (licence_row.h has its words). */
struct licence_row {
	int class_;                        /* LIC_EVERY: of every class; LIC_OPS: of ops only, whatever their class */
	const short *ops;                  /* ends with -1 */
	unsigned kernels, devices, dtypes; /* masks; of the table's kernels, of enum licence_device, of enum dtype */
	int compute, acc;                  /* a dtype, LIC_SELF: the tensor's, or LIC_INNER: f32 for a half, else the tensor's */
	double ulp;
	unsigned flags;
	const char *source, *file;
	int line;
};
enum { LIC_EVERY = NLC, LIC_OPS, LIC_SELF = NDTYPES, LIC_INNER };

/* Kernels that compute alike: what a target's driver names in its facts. */
struct licence_kernels {
	const char *name; /* for messages: "torch-eager" */
	const struct licence_row *row;
	int nrow;
	unsigned kernel;       /* of the rows, those whose kernels have this bit */
	unsigned numbers_wide; /* devices where a number stays f32 beside a half (struct licence_profile) */
};

struct lic_rule {
	enum dtype compute; /* inner steps of one kernel */
	enum dtype acc;     /* partial sums inside one operator, forward and backward */
	double ulp;
	unsigned flags;
	const struct licence_row *row; /* that gave it */
};

enum { MAX_OWN = 48 };
struct licence_profile {
	const struct licence_kernels *kernels;
	enum licence_device device;
	struct target_semantics semantics; /* what operators mean; the rest of a profile is how they may be rounded */
	bool numbers_wide;                 /* beside a half, a number may come first and stay f32; a 0-d tensor is rounded when it is loaded */
	bool foreign;                      /* either of two ways: what is no interval in a rule, a number's rounding, is a set of both */
	bool traced;                       /* derivatives are those that autograd traces: formulas without a look at the data */
	int nown;                          /* operators of which rows speak by name, behind the classes in rule */
	short own[MAX_OWN];
	struct lic_rule rule[NLC + MAX_OWN][NDTYPES]; /* float dtypes only; by licence_entry */
};

/* The profile of a target that computes this, so. */
void licence_of(struct licence_profile *out, const struct target_semantics *s, const struct target_arithmetic *f);
/* Whose rules hold for an operator: its class's, unless a row names it. */
int licence_entry(const struct licence_profile *l, int op);
const char *licence_entry_name(const struct licence_profile *l, int entry); /* "trans", "gelu" */

#endif
