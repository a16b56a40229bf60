/* window.h: how a window slides over the last dims of a tensor: what the rows of window.c and pool.c state in lists. One or two dims are
 * taken as three, the first of size 1. */
#ifndef SCATTERPROOF_WINDOW_H
#define SCATTERPROOF_WINDOW_H

#include "eager/lang/prog.h"

enum { SLIDING_DIMS = 3 };
struct build;
struct sliding {
	int ndim;                                                          /* as the row has them: 1 to 3 */
	int64_t in[SLIDING_DIMS], kernel[SLIDING_DIMS], out[SLIDING_DIMS]; /* sizes */
	int64_t stride[SLIDING_DIMS], padding[SLIDING_DIMS], dilation[SLIDING_DIMS];
};
/* Where entry k of the window at position `at` lies along dim d; below 0 or not below in[d]: in the padding. */
static inline int64_t sliding_at(const struct sliding *s, int d, int64_t at, int64_t k)
{
	return at * s->stride[d] - s->padding[d] + k * s->dilation[d];
}
static inline bool sliding_inside(const struct sliding *s, int d, int64_t place) { return place >= 0 && place < s->in[d]; }

/* Windows slide over an image; each filter makes one number of what lies under a window: a map of places. A convolution makes the map of
 * the image. A transposed one makes the image of the map: it is the gradient of a convolution by its input. */
struct convolution {
	struct sliding s; /* in: the image; out: the map */
	bool transposed;
	int64_t samples, channels, filters, groups; /* channels of the image; filters: channels of the map */
	int64_t group_channels, group_filters;      /* of one group */
};
/* Elements of one channel of the image, of the map; of one channel of a filter. */
static inline int64_t sliding_numel(const int64_t size[SLIDING_DIMS]) { return size[0] * size[1] * size[2]; }
/* Of a row that the shape rule takes. */
struct convolution convolution_of(const struct node *n, const struct meta *input, const struct meta *weight);

/* Windows over the last two or three dims, each of which gives one number. With ceil_mode the last ones may stand out beyond the
 * padding. */
struct pool {
	struct sliding s;
	int64_t planes; /* what is before these dims; a volume is a plane, too */
	bool padding_counts;
	int64_t divisor; /* 0: none is stated */
};
/* The same; self: what is pooled. */
struct pool pool_of(const struct node *n, const struct meta *self);
/* What the sum of that window of a plane is divided by: its places inside, or inside and in the padding, or what is stated. */
int64_t pool_divisor(const struct pool *p, int64_t window);

/* A derivative: g, of planes of ndim dims, where indices that count each plane's elements say. */
int pool_gathered(struct build *b, int g, int at, int ndim);

#endif
