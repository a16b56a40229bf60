/* shape.h: the oracle's own statement of PyTorch's rules for sizes, dtypes and strides, shared by the ref_*.c files. Nothing here
 * comes from eager/: the two are written from PyTorch's behaviour separately.
 *
 * Strides of a fresh result follow one of four rules, each named by a function below:
 *   contiguous           row-major (pass NULL to ref_out): most reductions, gathers, functional scatters with an index
 *   shape_strides_like   empty_like / clone: self's strides if dense and free of overlap, else self's dimension order, packed
 *   shape_iterator       TensorIterator (pointwise, where, index): dimension order agreed by the operands in turn, packed
 *   shape_channels_last  cat, roll, constant_pad_nd: channels-last if every operand suggests it
 * Sources: TensorIterator.cpp (reorder_dimensions, fast setup), TensorUtils/ExpandUtils, MemoryFormat.h, TypeProperties.cpp;
 * measured on PyTorch 2.11.0 CPU. */
#ifndef SCATTERPROOF_ORACLE_SHAPE_H
#define SCATTERPROOF_ORACLE_SHAPE_H

#include "oracle/ref/ref.h"

/* ---- arguments ---- */
static inline const struct ref_tensor *arg_of(const struct ref_ctx *c, int k) { return c->in[k]; }
static inline const struct meta *meta_of(const struct ref_ctx *c, int k) { return &c->in[k]->meta; }
static inline const struct scalar *scalar_of(const struct ref_ctx *c, int k) { return &c->n->arg[k].scalar; }
static inline bool flag_of(const struct ref_ctx *c, int k) { return c->n->arg[k].b; }
/* Position of a parameter by name; it is our bug if the row has none. */
int shape_param(const struct ref_ctx *c, int name);
/* A dimension argument of `m` made non-negative. */
bool shape_dim(struct ref_ctx *c, int *dim, int arg, const struct meta *m);
static inline int64_t shape_size(const struct meta *m, int d) { return m->rank ? m->size[d] : 1; }
static inline int64_t shape_stride(const struct meta *m, int d) { return m->rank ? m->stride[d] : 1; }
bool shape_equal(const int64_t *a, int ra, const int64_t *b, int rb);
int64_t shape_numel(const int64_t *size, int rank); /* sizes already bounded */
/* "[3, 4]" in the arena, for messages. */
const char *shape_text(struct ref_ctx *c, const int64_t *size, int rank);

/* ---- dtypes ---- */
enum dtype shape_promote(enum dtype a, enum dtype b); /* c10::promoteTypes */
/* torch.result_type of tensors and Python scalars: dimensioned tensors first, then 0-d ones, then scalars; a lower category counts
 * only if it is of a higher kind. */
struct result_type {
	int dims, zero, wrapped; /* -1: none yet; start with SHAPE_TYPE_NONE */
	bool none;               /* two of them have no common dtype */
};
#define SHAPE_TYPE_NONE ((struct result_type){-1, -1, -1, false})
void shape_type_tensor(struct result_type *r, const struct meta *m);
void shape_type_scalar(struct result_type *r, const struct scalar *s);
bool shape_type(enum dtype *out, struct ref_ctx *c, struct result_type *r); /* raises if two of them have no common dtype */
/* An in-place operator computed in `from` may write a tensor of dtype `to`; raises otherwise. */
bool shape_can_cast(struct ref_ctx *c, enum dtype from, enum dtype to);
/* Scalar::to<dtype>: raises if the number does not fit; `n` elements use it (none: not even looked at). */
bool shape_fits(struct ref_ctx *c, const struct scalar *s, enum dtype dt, int64_t n);
/* The same for fill_ and what is made by it: looked at even without elements, but one half element overflows silently (2.11, CPU). */
bool shape_fill_fits(struct ref_ctx *c, const struct scalar *s, enum dtype dt, int64_t n);

/* ---- sizes ---- */
/* Broadcasts `size` (in/out) with m. */
bool shape_broadcast(struct ref_ctx *c, int64_t size[MAX_RANK], int *rank, const struct meta *m);
/* m's sizes can be expanded to `size` (aligned at the last dim). */
bool shape_expands(const struct meta *m, const int64_t *size, int rank);
/* Ids of a tensor with sizes of m, repeated to `size`. */
const sid *shape_expand_ids(struct ref_ctx *c, const sid *ids, const struct meta *m, const int64_t *size, int rank);
/* -1 resolved, product checked: the sizes of view and reshape. */
bool shape_infer(struct ref_ctx *c, int64_t size[MAX_RANK], int *rank, int arg, int64_t numel);

/* ---- strides ---- */
void shape_strides_like(int64_t stride[MAX_RANK], const struct meta *m);
/* Operands m[0..n) broadcast to `size`; 0-d entries (Python scalars too) only switch the short cuts off. */
void shape_iterator(int64_t stride[MAX_RANK], const int64_t *size, int rank, const struct meta *m, int n);
/* Strides of m seen as `size`, without a copy; false if impossible. */
bool shape_view(int64_t stride[MAX_RANK], const struct meta *m, const int64_t *size, int rank);
/* 0 contiguous, 4 channels-last, 5 channels-last-3d, as Tensor::suggest_memory_format. */
int shape_format(const struct meta *m);
/* One sample of `alone` dims, or samples of such, of which alone there may be none. */
bool shape_is_samples(const struct meta *m, int alone);
/* Strides in that format; false (contiguous) for format 0. */
bool shape_channels_last(int64_t stride[MAX_RANK], const int64_t *size, int rank, int format);
/* Argument memory_format; `otherwise` if it is None or the row has none. */
enum memory_format shape_format_asked(const struct ref_ctx *c, enum memory_format otherwise);
/* Strides of a fresh tensor like m in that format; an error for a channels-last one of another rank. */
bool shape_format_strides(struct ref_ctx *c, int64_t stride[MAX_RANK], const struct meta *m, enum memory_format f);
bool shape_in_format(const struct meta *m,
	enum memory_format f); /* Tensor::is_contiguous(f): strides of sizes 1 aside; preserve_format asks for contiguous */

/* ---- ids ---- */
/* A Python scalar as an element of dt. */
sid shape_const(struct ref_ctx *c, enum dtype dt, const struct scalar *s);
/* The same as an operand: a half one is a CAST of the f32, which licences that keep f32 may skip; it wraps and overflows silently, as a
 * 0-d tensor converted would. */
sid shape_number(struct ref_ctx *c, const struct scalar *s, enum dtype dt);
/* s as f32 that is s, or s rounded to half: either is permitted. */
sid shape_const_or_rounded(struct ref_ctx *c, enum dtype half, const struct scalar *s);
sid shape_zero(struct ref_ctx *c, enum dtype dt);
/* alpha * ids[k] for f16 and bf16, as add(alpha=…) and index_add use it: the kernel rounds alpha to the dtype (backward does not) and may
 * or may not round the product before it is added; the scalars hold all of that. */
const sid *shape_scaled_half(struct ref_ctx *c, const sid *ids, int64_t n, const struct scalar *alpha, enum dtype dt);
bool shape_decided(const struct ref_ctx *c, sid id); /* an integer or bool that no undecided comparison made */
/* Result 0 with the dtype and sizes of m, contiguous or as given. */
sid *shape_out_like(struct ref_ctx *c, const struct meta *m, const int64_t *stride);
/* What region scatters write into: the result, whose elements are operand self's so far. It keeps self's strides (out: stride), gaps and
 * offset included; a self that repeats cells by stride 0 is cloned densely first (SEEDS.md, A). NULL: err. */
sid *ref_scatter_base(struct ref_ctx *c, int self, int64_t *stride);
bool ref_scatter_clones(const struct meta *self); /* is it such a self? */
/* Row-major strides of sizes. */
void shape_row_major(int64_t stride[MAX_RANK], const int64_t *size, int rank);
/* Steps a row-major counter; false after the last index. */
bool shape_next(int64_t index[MAX_RANK], const int64_t *size, int rank);

#endif
