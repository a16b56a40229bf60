/* pooled.h: data that name an element of each window of a pool (R_POOLED_AT). Kernels do not look whether it is one. */
#ifndef SCATTERPROOF_POOLED_H
#define SCATTERPROOF_POOLED_H

#include "eager/lang/prog.h"

/* One of low .. high, which says where in its window along one dim an element is. */
typedef int64_t pooled_choose(void *ctx, int64_t low, int64_t high);

/* Data for an i64 input that lies as `at` says, in the sizes of the pool's result. The windows are those of row n (kernel_size, stride,
 * padding, dilation), on the planes or volumes of self; each has an element inside. */
struct arg pooled_data(
	struct prog *p, const struct node *n, const struct meta *self, const struct meta *at, pooled_choose *choose, void *ctx);

/* Data of the same kind for R_UNPOOLED_AT: of each `places` elements different ones of `room`, while there are any. */
struct arg pooled_distinct(struct prog *p, int64_t places, int64_t room, const struct meta *at, pooled_choose *choose, void *ctx);

/* Does a row of this kind read such data, or R_UNPOOLED_AT's? They were drawn for its sizes alone. */
bool pooled_is_read(int op);

#endif
