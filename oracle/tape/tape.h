/* tape.h: the element-level tape: a program run with scalars' NAMES in place of numbers. A name (id) is an index into one
 * array of values; scalars come in blocks that share function, dtype and the program node that they belong to.
 *
 *   tape_map1(t, SF_EXP, DT_F32, a, n)   appends n scalars f(a[k]) and returns the id of the first; they are consecutive.
 *
 * Values and radii are computed when a block is appended (index tensors and masks steer later ops), under the licence
 * profile of the tape. The tape knows no tensors: what moves data without changing it (views, slice_scatter, cat, flip,
 * permute…) appends NOTHING and shuffles ids. Who reads one element several times inside an op whose backward accumulates
 * there (gather, index_select, repeat) makes SF_COPY scalars first; a broadcast operand simply repeats the id.
 *
 * Values move when scalars are appended: no pointer from tape_val survives that.
 *
 * Operand arrays are KEPT, NOT COPIED: they live in the tape's arena (tape_ids) and must not be changed afterwards.
 * Operands: the dtype of a scalar is its block's. Except for CAST, COPY's index-like functions, comparisons (result b8) and
 * SELECT's condition, operands have the block's dtype; cast them first. For f16/bf16 an op that computes several steps
 * inside one kernel gives the inner steps the dtype F32 (dtype_compute) and only the last one the tensor's.
 *
 * Budgets: nodes and entries are limited (struct tape_limits). Beyond them `over` is set, blocks are no longer appended, id 0
 * (the constant 0.0 of f64) comes back, and whoever drives the tape says `unsupported`. Callers need not test for it. */
#ifndef SCATTERPROOF_TAPE_H
#define SCATTERPROOF_TAPE_H

#include "oracle/num/num.h"
#include "oracle/num/sf.h"

enum { PICK_FIRST = -1, NANS_SHARE = 1, PROD_SCANS = 1 }; /* param of KMAX … KARGMIN; of MAXN, MINN; of PROD */

struct licence_profile; /* licence.h */
struct tape_block;      /* tape_impl.h */

struct tape_limits {
	int64_t nodes, entries;
}; /* entries: operand reads, implied ones (matmul, scan) included */
#define TAPE_LIMITS_DEFAULT ((struct tape_limits){(int64_t)1 << 21, (int64_t)1 << 24})

enum { TAPE_EVERY = -1 }; /* of struct tape.result: what several results of a node read together */
struct tape {
	struct arena *arena;
	const struct licence_profile *lic;
	struct tape_limits limit;
	int64_t nscalar, nentry;
	int64_t cap_scalar;
	struct num *val;          /* [nscalar]; dtype, flags inside */
	struct tape_block *block; /* in order of creation: a block's operands have smaller ids */
	int nblock, cap_block;
	int node;   /* program node that blocks belong to now (-1 outside) */
	int op;     /* its operator: licence class */
	int result; /* and to which of its results, or TAPE_EVERY; tape_at begins with 0 */
	bool over;
	uint64_t sample; /* not 0: every set is at once replaced by one of its numbers, drawn with this seed (sample.h) */
};

void tape_init(struct tape *t, struct arena *a, const struct licence_profile *lic, struct tape_limits limit);
void tape_finish(struct tape *t);         /* nothing is appended any more: val stays where it is, without room to grow */
sid *tape_ids(struct tape *t, int64_t n); /* undefined contents; n may be 0 */
/* Marks what follows as belonging to program node `node` with operator `op`. */
void tape_at(struct tape *t, int node, int op);

/* ---- sources ---- */
sid tape_const_f(struct tape *t, enum dtype dt, double v);             /* v is rounded to dt first (float dtypes); exact */
sid tape_const_i(struct tape *t, enum dtype dt, int64_t v);            /* integer and bool dtypes, wraps */
sid tape_const(struct tape *t, enum dtype dt, const struct scalar *s); /* a Python scalar as an element of dtype dt */
/* n elements of dtype dt at data (dense): constants or leaves. Zero signs are kept. */
sid tape_load(struct tape *t, enum sf leaf_or_const, enum dtype dt, const void *data, int64_t n);

/* n constants that are known as sets. */
sid tape_sets(struct tape *t, enum dtype dt, const struct num *set, int64_t n);

/* ---- blocks: n scalars, ids consecutive from the returned one ---- */
sid tape_map1(struct tape *t, enum sf f, enum dtype dt, const sid *a, int64_t n);
sid tape_map2(struct tape *t, enum sf f, enum dtype dt, const sid *a, const sid *b, int64_t n);
sid tape_map3(struct tape *t, enum sf f, enum dtype dt, const sid *a, const sid *b, const sid *c, int64_t n);
/* Of as many operands as f has; a row of formula.def may name the numbers s0, s1, ... */
sid tape_map(struct tape *t, enum sf f, enum dtype dt, const sid *const op[3], int64_t n, const double scalar[FORMULA_SCALARS]);
/* Scalar k has the entries entry[start[k]] … entry[start[k+1]-1] (SUMPROD: pairs, so an even count); start has n+1 values.
 * param: KMAX/KMIN/KARG*: rank, or PICK_FIRST: rank 0, the first of equals; MAXN/MINN: NANS_SHARE or 0; VAR, VARALL: correction;
 * SUM: how many additions an entry goes through at most, 0: all; SUM_ONTO: all, and the first entry is of another operand than the others
 * (their gradients are two, each rounded, even where both read one scalar); else 0. KARG*: dt is I64, entries of any dtype; ANY/ALL: dt
 * B8, entries of any. */
#define SUM_ONTO (-1.0)
/* param of a SUMPROD whose pairs come of windows that slide (convolutions). An operand that is in several lists has one gradient, a sum
 * of products as the lists are. A pair whose first entry is id 0 lies in the padding: kernels leave it out, or multiply by the 0 that
 * they wrote there, of which an infinite or NaN factor makes NaN; for gradients, too: of the second entry by an infinite cotangent. The
 * first entries' gradients may be sums over all `full` places of a window, with 0 for the cotangents that are not there (oneDNN's, of
 * windows that step or stand out): NaN, if some second entry is infinite or NaN. A pair whose second entry is id 0 adds nothing; its
 * first entry has such a gradient of no cotangent at all. SUMPROD_FALLS: the pairs of the last list fall outside of the result; their
 * cotangent is 0, which kernels leave out or multiply by. */
#define SUMPROD_SLIDES(full) (-3.0 - (double)(full))
#define SUMPROD_FALLS        (-2.0)
static inline bool sumprod_is_slides(double param) { return param <= SUMPROD_FALLS; }
static inline double sumprod_full(double param) { return -3 - param; }
sid tape_nary(struct tape *t, enum sf f, enum dtype dt, const uint32_t *start, const sid *entry, int64_t n, double param);
/* The same with every list of length len: entries entry[k*len …]. */
sid tape_rows(struct tape *t, enum sf f, enum dtype dt, const sid *entry, int64_t n, int64_t len, double param);
/* SF_CUMSUM / SF_CUMPROD: rows*len scalars; entry in row-major order. */
sid tape_scan(struct tape *t, enum sf f, enum dtype dt, const sid *entry, int64_t rows, int64_t len);
/* A row of formula.def with R: `rows` rows of len entries of each operand, row-major; rows*len scalars, or one for each row.
 * scalar: as of tape_map. */
sid tape_formula(
	struct tape *t, enum sf f, enum dtype dt, const sid *const op[3], int64_t rows, int64_t len, const double scalar[FORMULA_SCALARS]);
/* batch*m*n scalars; a: [batch, m, k], b: [batch, k, n], both row-major. */
sid tape_matmul(struct tape *t, enum dtype dt, const sid *a, const sid *b, int64_t batch, int64_t m, int64_t k, int64_t n);
/* beta * own + alpha * (a @ b). Libraries scale a factor, the terms or the sum, backward the finished gradients, and with
 * alpha = 0 may skip the product. own: batch*m*n scalars that libraries start from or add last; NULL if there are none. With beta = 0
 * their values are not looked at; their derivative is 0 * g. */
sid tape_matmul_onto(struct tape *t, enum dtype dt, const sid *own, double beta, double alpha, const sid *a, const sid *b, int64_t batch,
	int64_t m, int64_t k, int64_t n);

/* Another set for a scalar that nothing has read yet: what an operator may do beyond its function. Its dtype stays. */
void tape_replace(struct tape *t, sid id, struct num set);
void tape_either(struct tape *t, sid id, double a, double b); /* one of two numbers, finite or not; a finite a is the centre */
bool tape_is_const(const struct tape *t, sid id);             /* its block is SF_CONST (found by bisection) */
static inline const struct num *tape_val(const struct tape *t, sid id) { return &t->val[id]; }
static inline enum dtype tape_dtype(const struct tape *t, sid id) { return (enum dtype)t->val[id].dtype; }

#endif
