/* op.h: the op table as every layer sees it. One row of ops.def per operator overload; eager/lang/opgen.c reads the rows at build
 * time, parses and checks the schemas, and writes op_table.c (static const data). Each layer expands its own column:
 * eager: meta, kern, grad; oracle: ref. Generic code (text, generator, shrinker, Python emission) never names an operator:
 * it is driven by the parameter KINDS and ROLES below and by the traits.
 *
 * Schema grammar: ATen's, with refined kinds in place of int/SymInt/int[]:
 *   (Tensor self, Tensor<ROLE> src, Dim dim=0, Index? start=None, *, ScalarType? dtype=None) -> Tensor
 *   Tensor(a) marks a view, Tensor(a!) a written argument; -> (Tensor a, Tensor b) or Tensor[] for several results. */
#ifndef SCATTERPROOF_OP_H
#define SCATTERPROOF_OP_H

#include "eager/lang/dtype.h"

enum op {
#define OP(id, ...) OP_##id,
#include "eager/lang/ops.def"
	NOPS
};

/* Parameter kinds. ATen's type is beside each; the kind decides parse, print, generate, mutate, shrink and emit. */
enum kind {
	K_TENSOR,  /* Tensor */
	K_TENSORS, /* Tensor[]; with holes (None entries) if the entries are optional: Tensor?[] */
	K_SIZE,    /* SymInt[] sizes */
	K_INTS,    /* SymInt[]: strides, pads, shifts, repeats */
	K_DIM,     /* int: a dimension, negative counts from the end */
	K_DIMS,    /* int[]: dimensions */
	K_INDEX,   /* SymInt: a position along a dimension, or an offset */
	K_STEP,    /* SymInt: a positive step */
	K_INT,     /* SymInt: any other integer */
	K_SCALAR,  /* Scalar: int, float or bool */
	K_BOOL,    /* bool */
	K_DTYPE,   /* ScalarType */
	K_STR,     /* str from a closed set (reduce=) */
	K_DATA,    /* numbers: an input's data */
	NKINDS
};

/* What an argument must look like beside `self` (the first tensor argument that has no index, mask or bias role); read by the
 * generator and shrinker. */
enum role {
	R_ANY,      /* any sizes */
	R_BCAST,    /* broadcasts with self */
	R_BCAST_TO, /* broadcasts TO self's sizes (in-place operands, where self decides) */
	R_SAME,     /* self's sizes */
	R_ZERO_DIM, /* 0-d */
	R_LIKE,     /* the sizes that operator `like` would give on the same leading arguments (src of slice_scatter: slice.Tensor) */
	R_INDEX1,   /* i64 1-d, values in [0, self.size(dim)) */
	R_UNIQUE1,  /* the same without repeated values */
	R_INDEXN,   /* i64, self's rank, sizes <= self's except along dim; values in [0, self.size(dim)) */
	R_UNIQUEN,  /* the same, values unique along dim */
	R_SRCN,     /* at least index's sizes in every dim; exactly those if it requires grad (autograd refuses others) */
	R_IDS,      /* i64 of any sizes, values in [0, self.size(0)) */
	R_INDICES,  /* Tensor?[]: i64 or b8 index tensors that broadcast together, holes allowed */
	R_UINDICES, /* the same, hitting no element twice */
	R_VALUES,   /* broadcasts to the sizes of self[indices] */
	R_MASK,     /* b8, broadcasts with self */
	R_SOURCE,   /* 1-d or more, at least as many elements as the mask can select (self's numel) */
	R_MAT2,     /* second factor of mm/bmm: contracts with the first, same rank */
	R_BIAS,     /* addmm's first: broadcasts to the product */
	R_TUPLE,    /* a node with several results (getitem) */
	R_VEC2,     /* 1-d, contracts with the last dim of the first factor (mv, dot) */
	/* conditions on self */
	R_RANK1,  /* rank >= 1 */
	R_RANK2,  /* rank >= 2 */
	R_VECTOR, /* rank 1 */
	R_MATRIX, /* rank 2 */
	R_UPTO2,  /* rank <= 2 */
	R_BATCH,  /* rank 3 */
	R_DENSE,  /* non-overlapping and dense (PyTorch's derivative of as_strided elsewhere depends on the layout) */
	/* lists of tensors: sizes like the first entry's (R_SAME), or */
	R_CAT, /* the same but along dim, rank >= 1 */
	/* arguments that are not tensors: how a valid value is made from self */
	R_EXPAND,     /* Size: self expands to it */
	R_VIEW,       /* Size: a split or merge of self's sizes that its strides allow */
	R_RESHAPE,    /* Size: any split or merge */
	R_REPEAT,     /* Size: repetitions, at least self's rank of them */
	R_STRIDED,    /* Size, Ints, Index together: cells of self only, none twice */
	R_PAD,        /* Ints: pairs (before, after) from the last dim on */
	R_SHIFTS,     /* Ints: one per entry of the Dims that follow; one if those are empty */
	R_PERM,       /* Dims: all of them */
	R_INSERT,     /* Dim: where a new one goes: [-rank-1, rank] */
	R_DISTINCT,   /* Dim: not the one before */
	R_DIAG,       /* Int: a diagonal's offset */
	R_WINDOW,     /* Int: 1..size(dim) */
	R_COUNT,      /* Int: 0..size(dim) */
	R_CHUNK,      /* Step: makes at most MAX_OUTS pieces of size(dim) */
	R_BOUND,      /* Scalar?: at least one of several is given */
	R_RANGE,      /* Scalar: end; start and end; or start, end and step of a range */
	R_FACTOR,     /* Scalar: taken straight into the type computed in (f32 for halves): never promotes, must fit */
	R_ACCUMULATE, /* bool: if true, R_UINDICES may hit an element twice */
	R_KEEP,       /* bool: other values than the default leave the result open */
	R_REDUCE,     /* str: sum, prod, mean, amax, amin */
	NROLES
};

enum family { F_INPUT, F_FACTORY, F_VIEW, F_COPY, F_SCATTER, F_GATHER, F_REDUCE, F_MATMUL, F_POINTWISE, F_INPLACE, F_MULTI, NFAMILIES };
extern const char *const family_name[NFAMILIES];

enum trait {
	T_VIEW = 1 << 0,       /* result shares self's storage (always) */
	T_MAYBE_VIEW = 1 << 1, /* may return self or a view (contiguous, reshape): meta decides */
	T_MUTATES = 1 << 2,    /* writes its first argument and returns it */
	T_SCATTER = 1 << 3,
	T_REDUCE = 1 << 4,
	T_POINTWISE = 1 << 5,
	T_LINEAR = 1 << 6, /* linear in its tensor arguments taken together */
	T_COMMUTES = 1 << 7,
	T_NONDIFF = 1 << 8,      /* result never requires grad */
	T_ORDER = 1 << 9,        /* result depends on an order PyTorch leaves open */
	T_PURE_MOVE = 1 << 10,   /* moves values unchanged: results are bit-exact, zero signs and NaN payloads included */
	T_MULTI_VIEW = 1 << 11,  /* several views of one base (split, unbind): not to be written */
	T_ACCUMULATES = 1 << 12, /* several values may land on one cell */
	T_NUMBERS = 1 << 13      /* a Python number may stand for a Tensor that is not written (op_takes_number) */
};

/* Licence classes: which rows of oracle/judge/licence.def speak about an op. */
enum licence_class {
	LC_MOVE,
	LC_ARITH,
	LC_MUL,
	LC_DIV,
	LC_TRANS,
	LC_COMPARE,
	LC_SUM,
	LC_PROD,
	LC_MINMAX,
	LC_VAR,
	LC_SCAN,
	LC_MATMUL,
	LC_ACCUM,
	LC_CONVERT,
	NLC
};

enum scalar_kind { SC_BOOL, SC_INT, SC_FLOAT };
struct scalar {
	enum scalar_kind kind;
	int64_t i;
	double f;
}; /* i for BOOL and INT, f for FLOAT */

struct param {
	const char *name;
	enum kind kind;
	enum role role;
	const char *like; /* R_LIKE: name of the operator */
	bool optional;    /* Tensor?, Index?: None allowed */
	bool holes;       /* Tensor?[] */
	bool kwonly;      /* after `*` */
	bool has_default;
	bool dflt_none;            /* default is None */
	struct scalar dflt;        /* K_DIM..K_BOOL, K_SCALAR; K_BOOL in .i */
	const char *dflt_str;      /* K_STR and K_DTYPE; K_INTS/K_DIMS: only [] is possible */
	bool is_alias, is_written; /* (a), (a!) */
};

enum { SAVE_ANY = -1, SAVE_RESULT = 32 }; /* op_save.when: any input; op_save.what: SAVE_RESULT + k */
struct op_save {
	int8_t when, what;
}; /* if argument `when` requires grad, autograd saves `what` */
enum { MAX_SAVES = 6 };

struct op_info {
	const char *name; /* "sum.dim_IntList"; the default overload has no suffix */
	const char *schema;
	enum family family;
	uint32_t dtypes; /* of self: DTS_ mask */
	uint32_t traits;
	enum licence_class licence;

	int nparam;
	struct param param[MAX_ARGS];
	int nret; /* results; -1 for Tensor[] */
	int nsave;
	struct op_save save[MAX_SAVES];
};
extern const struct op_info op_info[NOPS];

int op_find(const char *name); /* exact name, "aten." prefix and ".default" suffix allowed; -1 if none */
/* Candidates for a name without overload: the rows `name` and `name.*`; returns how many (at most max written). */
int op_overloads(int *out, int max, const char *bare);
const char *op_guess(struct guess *g, const char *name); /* see guess_text */
int op_param(int op, const char *name);                  /* index of a parameter, -1 if none */
int op_self(int op);                                     /* index of self: the first argument with a role_is_self; -1 if the row has none */
bool role_is_self(const struct param *q);                /* sizes and dtypes of the other arguments follow from it */
bool role_selects(enum role r);                          /* positions or a mask: decides where, not what */
static inline bool role_is_positions(enum role r) { return role_selects(r) && r != R_MASK; }
static inline bool op_has(int op, uint32_t traits) { return (op_info[op].traits & traits) != 0; }
/* May a Python number stand for parameter k, whose kind is K_TENSOR? PyTorch has a list of names (should_allow_numbers_as_tensors in
 * torch/csrc/utils/python_arg_parser.cpp); a test asks the installed versions about every Tensor parameter of the table. */
static inline bool op_takes_number(int op, int k) { return op_has(op, T_NUMBERS) && !op_info[op].param[k].is_written; }

#endif
