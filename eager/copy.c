/* copy.c: fresh tensors with the elements of their operands in another order or number. Each is a set of views of the result
 * that are moved from views of the operands; derivatives move the cotangent the other way and add where an element was used
 * more than once. Facts: ATen/native/TensorFactories.cpp, TensorShape.cpp, TensorTransformations.cpp, PadNd.cpp. */
#include "eager/move.h"

#include <inttypes.h>

/* ---- clone, contiguous, reshape: the elements in order -------------------------------------------------------------- */

bool meta_clone(struct meta_ctx *c)
{
	layout_preserve(&c->out[0], c->in[0]);
	return true;
}

bool kern_clone(struct kern_ctx *c)
{
	tensor_move(&c->out[0], c->in[0]);
	return true;
}

void grad_clone(struct grad_ctx *c)
{
	if (c->gin[0])
		tensor_move(c->gin[0], &c->gout[0]);
}
