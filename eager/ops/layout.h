/* layout.h: layout arithmetic that eager's shape rules share: dimensions that wrap, the strides PyTorch gives to fresh results,
 * the strides of a view under new sizes. Nothing here knows an operator. Facts of ATen: TensorIterator.cpp, ExpandUtils.cpp,
 * TensorUtils.cpp, WrapDimUtils.h. The oracle has its own answers to the same questions. */
#ifndef SCATTERPROOF_LAYOUT_H
#define SCATTERPROOF_LAYOUT_H

#include "eager/lang/meta.h"
#include "eager/lang/prog.h"

/* dim in [-rank, rank) to [0, rank); a 0-d tensor counts as rank 1. */
bool dim_wrap(int *out, int64_t dim, int rank, struct err *err);
/* "[4, 13]" into buf, for messages. Returns buf. */
enum { SIZES_TEXT = 32 + MAX_RANK * 22 };
const char *sizes_text(char buf[SIZES_TEXT], const int64_t *size, int n);

/* Sets of (size, stride) entries. Insert and remove keep the others' order. */
void meta_insert_dim(struct meta *m, int dim, int64_t size, int64_t stride); /* rank < MAX_RANK */
void meta_remove_dim(struct meta *m, int dim);
bool meta_room(const struct meta *m, int more, struct err *err); /* rank + more <= MAX_RANK */

/* Fresh results: all of them set rank, sizes, strides, dtype, offset 0; device is self's. */
void layout_contiguous(struct meta *out, const struct meta *self, const int64_t *size, int rank);
void layout_preserve(
	struct meta *out, const struct meta *self);   /* at::empty_like, clone: dense layouts kept, others made dense in stride order */
bool meta_is_channels_last(const struct meta *m); /* suggest_memory_format() != contiguous: rank 4 or 5, channel stride smallest */
/* One sample of `alone` dims, or samples of such, of which alone there may be none. */
bool layout_is_samples(const struct meta *m, int alone);
void layout_channels_last(struct meta *out); /* strides of out from its sizes, rank 3 or more */
/* What argument memory_format of n asks for, `otherwise` if the row has none or it is None. */
enum memory_format format_given(const struct node *n, enum memory_format otherwise);
/* A fresh result like self in that format (at::empty_like); false with PyTorch's message if it is one of other ranks. */
bool layout_formatted(struct meta *out, const struct meta *self, enum memory_format f, struct err *err);
bool meta_is_formatted(
	const struct meta *m, enum memory_format f); /* Tensor::is_contiguous(f), which takes preserve_format for contiguous */
/* TensorIterator's strides for an output of out's sizes, computed from operands in order (a NULL is skipped). Operands
 * broadcast to out's sizes. Sets out's strides only. */
void layout_iterator(struct meta *out, const struct meta *const *in, int n);

/* Strides of self seen as `size` without copying (at::detail::computeStride); false if there are none. numel must agree. */
bool layout_view_strides(int64_t *stride, const struct meta *self, const int64_t *size, int rank);
/* at::infer_size: replaces one -1 so that the product is numel. */
bool layout_infer_size(int64_t *out, const int64_t *size, int rank, int64_t numel, struct err *err);
/* Sizes both broadcast to; false with PyTorch's message. */
bool layout_broadcast(int64_t *size, int *rank, const struct meta *a, const struct meta *b, struct err *err);
/* self seen with `size` (all known), stride 0 where it repeats; false with expand's message. */
bool layout_expand(struct meta *out, const struct meta *self, const int64_t *size, int rank, struct err *err);
/* start and end clamped as slice.Tensor does; length of the slice. */
int64_t slice_clamp(int64_t *start, int64_t *end, int64_t size, int64_t step);

/* A Scalar into an element of dtype t as c10::Scalar::to<T>() does: overflow is an error ("value cannot be converted to ..."). */
bool scalar_fits(const struct scalar *s, enum dtype t, struct err *err);
/* The same for a whole tensor that is filled: one element of a half type is not checked (it becomes infinite). */
bool scalar_fits_fill(const struct scalar *s, const struct meta *m, struct err *err);
void scalar_store(unsigned char *cell, enum dtype t, const struct scalar *s); /* one that fits */

#endif
