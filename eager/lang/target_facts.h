/* target_facts.h: what the oracle must know of a target: what its operators mean (semantics), with which kernels it computes (arithmetic),
 * and what it may do otherwise than eager (freedoms). The target's driver says it (compiled/targets/driver.h); the reference, the licence
 * table and the judge read it. So none of them names a compiler's family. */
#ifndef SCATTERPROOF_TARGET_FACTS_H
#define SCATTERPROOF_TARGET_FACTS_H

#include <stdbool.h>

enum licence_device { LD_CPU, LD_CUDA, NLD };
struct licence_kernels; /* oracle/num/licence.h */

/* ---- semantics: WHAT is computed, where families and their versions differ; how it may be rounded is the arithmetic's matter ----
 * The first of each is what 2.11 of PyTorch does, and what our own kernels do. ..._EITHER: a version of which nobody knows. */
/* Of clamp at one of its bounds. Where operands of fmax, fmin, clamp_min.Tensor, clamp_max.Tensor are equal, self takes all or half. */
enum clamp_gradient { CLAMP_PASSES, CLAMP_BLOCKS, CLAMP_PASSES_EITHER };
enum clamp_nan { /* a bound that is NaN and the only one; beside another bound it always gives NaN */
	CLAMP_NAN_IGNORED,
	CLAMP_NAN_WINS,
	CLAMP_NAN_EITHER
};
enum clamp_beyond {         /* a bound, an integer that the integer dtype cannot hold */
	CLAMP_BEYOND_CONVERTED, /* as every number: refused, but for negative ones of u8, which wrap */
	CLAMP_BEYOND_MEANT,     /* it bounds nothing, or, where it is below all (above all) and the upper (lower) bound, is refused */
	CLAMP_BEYOND_EITHER
};
enum small_overflow {   /* a number converted to a format without infinity, which it is beyond */
	SMALL_OVERFLOW_NAN, /* NaN */
	SMALL_OVERFLOW_MAX, /* the largest number of its sign; so do infinities */
	SMALL_OVERFLOW_EITHER
};
enum overlap_write { /* masked_fill_ through a view that overlaps itself, one index of a cell masked and another not */
	OVERLAP_SETS,    /* one by one, the masked ones alone: the cell is set */
	OVERLAP_RESTORES /* a kernel's threads write both back, and the last stays: no rule says which */
};
enum loss_of_one {     /* the mean of nll_loss of one sample that has no batch */
	LOSS_AVERAGED,     /* as every mean: its weighted loss by its weight; NaN if it is ignored */
	LOSS_ZERO_IGNORED, /* the same, but 0 if it is ignored */
	LOSS_ALONE         /* the loss without its weight; NaN if the weight is 0, 0 if the sample is ignored */
};
enum layout_rule {   /* strides of results that no schema promises */
	LAYOUT_CONVERTS, /* ATen on a CPU: an operand of another dtype is converted, as a dense copy, before strides are looked at; */
	LAYOUT_LOADS     /* ATen on CUDA: kernels convert what they load; index, pixel_shuffle and roll have layouts of their own */
};

/* struct target_<what> of a list of fields, and whether two are the same in each. */
#define TARGET_MEMBER(type, name) type name;
#define TARGET_EQUAL(type, name)  &&a->name == b->name
#define TARGET_RECORD(what, FIELDS)                                                                                                        \
	struct target_##what {                                                                                                                 \
		FIELDS(TARGET_MEMBER)                                                                                                              \
	};                                                                                                                                     \
	static inline bool target_##what##_same(const struct target_##what *a, const struct target_##what *b)                                  \
	{                                                                                                                                      \
		return true FIELDS(TARGET_EQUAL);                                                                                                  \
	}

/* FIELD(type, name): each is compared, and given by a row of the driver (torch: compiled/targets/torch/semantics.def). */
#define TARGET_SEMANTICS(FIELD)                                                                                                            \
	FIELD(enum clamp_gradient, clamp_gradient)                                                                                             \
	FIELD(enum clamp_nan, clamp_nan)                                                                                                       \
	FIELD(enum clamp_beyond, clamp_beyond)                                                                                                 \
	FIELD(enum small_overflow, small_overflow)                                                                                             \
	FIELD(enum overlap_write, overlap_write)                                                                                               \
	FIELD(enum loss_of_one, loss_of_one)                                                                                                   \
	FIELD(enum layout_rule, layout)
TARGET_RECORD(semantics, TARGET_SEMANTICS)

/* Legitimate differences from eager (bits): facts of a result that the target need not keep. A driver's table has the reasons. */
enum {
	FREE_STRIDES = 1,         /* output strides are not promised */
	FREE_ALIAS = 2,           /* outputs may be fresh where eager gives views */
	FREE_PLAIN_ALIAS = 4,     /* outputs that require no grad may be fresh where they are views of each other (not of inputs) */
	FREE_ZERO_FOR_NONE = 8,   /* a gradient that should be None may be zeros, or NaN where a zero meets infinity on its way */
	FREE_EQUAL_SHARED = 16,   /* outputs equal byte for byte and in layout may be one tensor */
	FREE_SEVERAL_VIEWS = 32,  /* an output that requires grad and is one of an operator's several views may be fresh */
	FREE_GRADIENT_PARTS = 64, /* gradients may be parts of larger memory, shared (with the caller's cotangent, too) behind any
	                                 * operator that computes nothing */
	FREE_REQUIRES_GRAD = 128, /* outputs do not say whether they require grad */
	FREE_UNREAD_RAISE = 256,  /* a row whose result nobody reads, and which writes nothing, need not raise */
	FREE_OFFSET = 512 /* an output that begins later in memory of its own may begin at the start: what comes before it is not made */
};

/* ---- arithmetic: how that may be rounded; the licence is worked out from these alone. FIELD(type, name); each is compared ---- */
#define TARGET_ARITHMETIC(FIELD)                                                                                                           \
	FIELD(const struct licence_kernels *, kernels) /* the rows of a family's table that hold */                                            \
	FIELD(const struct licence_kernels *, others)  /* nobody knows its kernels: they may compute as these, too; NULL: they are known */    \
	FIELD(enum licence_device, device)                                                                                                     \
	FIELD(bool, library_expm1)   /* expm1 is the library's although the kernels' rows say exp - 1 */                                       \
	FIELD(bool, traced)          /* AOTAutograd traces backward: the formulas of FunctionsManual.cpp that do not look at data */           \
	FIELD(bool, decomposed_tanh) /* tanh as 2/(1 + exp(-2x)) - 1 */
TARGET_RECORD(arithmetic, TARGET_ARITHMETIC)

struct target_facts {
	bool known; /* false: nothing is known of its arithmetic, results are not judged */
	struct target_semantics semantics;
	struct target_arithmetic arithmetic;
	int torch_minor;   /* eager's checks are those of PyTorch 2.<minor>; 0: what all versions have in common */
	unsigned freedoms; /* FREE_* */
};

#endif
