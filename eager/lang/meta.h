/* meta.h: dtype, sizes, strides, offset and device of a tensor, without data. The arithmetic of layouts: no operator's shape
 * rule is here (those are eager/meta_*.c, and the oracle's own are in oracle/), only what any strided tensor library needs.
 * Sizes, strides and offsets are counted in elements. A 0-d tensor has rank 0 and one element. */
#ifndef SCATTERPROOF_META_H
#define SCATTERPROOF_META_H

#include "eager/lang/dtype.h"

enum device { DEV_RUN, DEV_CPU, DEV_META, NDEVICES }; /* DEV_RUN: the run's default device, unwritten in the text */

/* PyTorch's names for layouts of fresh memory. PRESERVE: the operand's, if it is dense and free of overlap, else its order of dims. */
enum memory_format { FORMAT_CONTIGUOUS, FORMAT_PRESERVE, FORMAT_CHANNELS_LAST, FORMAT_CHANNELS_LAST_3D, NFORMATS };
extern const char *const memory_format_name[NFORMATS];
bool memory_format_find(enum memory_format *out, const char *name); /* "channels_last" or "torch.channels_last" */

struct meta {
	enum dtype dtype;
	enum device device;
	bool absent; /* a result of several that is not there (None): nobody can read it; sizes [0] */
	bool number; /* an operand that is a Python number (PyTorch's wrapped number): 0-d, promotes as a scalar. Never a result. */
	int rank;
	int64_t size[MAX_RANK], stride[MAX_RANK];
	int64_t offset;
};

int64_t meta_numel(const struct meta *m);                                                 /* trusts sizes within MAX_NUMEL */
bool meta_check_sizes(const int64_t *size, int rank, struct err *err);                    /* rank, signs, overflow, MAX_NUMEL */
void meta_make_contiguous(struct meta *out, enum dtype t, const int64_t *size, int rank); /* row-major, offset 0, DEV_RUN */
bool meta_is_contiguous(const struct meta *m);                                            /* as torch: sizes 1 and numel 0 ignore strides */
/* Elements of storage needed: offset + 1 + sum (size-1)*stride; 0 if numel is 0 (then offset does not matter). */
int64_t meta_extent(const struct meta *m);
/* at::has_internal_overlap: true if some dim of size > 1 has stride 0; `maybe` = not provably dense. */
bool meta_overlaps_itself(const struct meta *m);
/* Not each dim steps over all that lie within its step, so that elements may share a cell. */
bool meta_may_overlap(const struct meta *m);
/* Exact answer: two different logical indices share a cell. */
bool meta_has_duplicates(const struct meta *m);
bool meta_is_non_overlapping_and_dense(const struct meta *m); /* as torch: a permutation of contiguous */
bool meta_same_sizes(const struct meta *a, const struct meta *b);
bool meta_same_strides(const struct meta *a, const struct meta *b); /* of one rank; those of dims of size 1, too */
/* Equal where strides mean something: dtype, device, sizes, strides of dims of size > 1 if numel > 0. Offsets are not compared. */
bool meta_equivalent(const struct meta *a, const struct meta *b);
/* "f32[4, 13][13, 1]" + device suffix ("cpu", "meta") if pinned, as in program text. */
void meta_print(struct strbuf *sb, const struct meta *m);

/* Odometer over logical indices in row-major order. Start: memset 0, off = m->offset. Use only when numel > 0. */
struct meta_iter {
	int64_t index[MAX_RANK];
	int64_t off;
};
void meta_iter_start(struct meta_iter *it, const struct meta *m);
bool meta_iter_next(struct meta_iter *it, const struct meta *m); /* false when done */

#endif
