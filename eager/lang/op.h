/* op.h: the op table as every layer sees it. One row of ops.def per operator overload; eager/lang/opgen.h reads the rows at build
 * time, parses and checks the schemas, and writes the table, ids and names of arguments. Each layer expands its own column:
 * eager: meta, kern, grad; oracle: ref. Generic code (text, generator, shrinker, Python emission) never names an operator:
 * it is driven by the parameter KINDS and ROLES below and by the traits.
 *
 * Schema grammar: ATen's, with refined kinds in place of int/SymInt/int[]:
 *   (Tensor self, Tensor<ROLE> src, Dim dim=0, Index? start=None, *, ScalarType? dtype=None) -> Tensor
 *   Tensor(a) marks a view, Tensor(a!) a written argument; -> (Tensor a, Tensor b) or Tensor[] for several results.
 *   -> (Tensor, Tensor<constant>): the second result never requires grad; Tensor<opaque>: it does, and no gradient through it is taken.
 *   bool[3]: a list of three; str<none|tanh>: one of these words; Tensor?: None, or a tensor. */
#ifndef SCATTERPROOF_OP_H
#define SCATTERPROOF_OP_H

#include "eager/lang/dtype.h"

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
	K_FORMAT,  /* MemoryFormat */
	K_STR,     /* str: one of the words in `<…>`, str<none|tanh> */
	K_FLOAT,   /* float */
	K_BOOLS,   /* bool[N] */
	K_DATA,    /* numbers: an input's data */
	NKINDS
};

/* What an argument must look like beside `self` (the first tensor argument whose role is a condition on self); read by the generator, the
 * shrinker and tests. Their table, with what each demands, is role.def. */
enum role {
#define ROLE(ID, ...) R_##ID,
#include "eager/lang/role.def"
	NROLES
};
enum role_flag {
	RF_SELF = 1 << 0,         /* a Tensor of this role is self: sizes and dtypes of the other arguments follow from it */
	RF_LIST_SELF = 1 << 1,    /* the same of a Tensor[] */
	RF_POSITIONS = 1 << 2,    /* i64 positions along a dimension */
	RF_UNIQUE = 1 << 3,       /* RF_POSITIONS, none twice */
	RF_FULL = 1 << 4,         /* RF_POSITIONS with self's number of dimensions */
	RF_MASK = 1 << 5,         /* b8, selects elements */
	RF_FOLLOWS = 1 << 6,      /* sizes follow from another operand, which has to be there */
	RF_FOLLOWS_LAST = 1 << 7, /* from all others */
	RF_RUNS_OUT = 1 << 8,     /* may have too few elements for what the data select: raises then */
	RF_CONSTANT = 1 << 9,     /* may not require grad: PyTorch refuses the call */
	RF_NO_GRADIENT = 1 << 10, /* PyTorch has no derivative by it (raises in backward, or gives None), or we have none: not taken */
	RF_ROW_MAJOR = 1 << 11,   /* contiguous, and not channels-last: other layouts are not taken */
	RF_DIVIDES = 1 << 13,     /* divides: of integers none may be 0, or the row raises */
	RF_SIDE_BY_SIDE = 1 << 12 /* has elements, in cells of their own, side by side along the last dim */
};
struct role_info {
	const char *name;       /* in `<…>`; "": none */
	uint32_t flags;         /* enum role_flag */
	int min_rank, max_rank; /* of self */
	const char *example;    /* for tests; "": none */
};
extern const struct role_info role_info[NROLES];

enum family {
	F_INPUT,
	F_FACTORY,
	F_VIEW,
	F_COPY,
	F_SCATTER,
	F_GATHER,
	F_REDUCE,
	F_MATMUL,
	F_POINTWISE,
	F_INPLACE,
	F_MULTI,
	F_COMPOSED,
	NFAMILIES
};
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
	T_NUMBERS = 1 << 13,     /* a Python number may stand for a Tensor that is not written (op_takes_number) */
	T_ONE_VALUE = 1 << 14,   /* writes one number, only where its arguments say */
	/* How large results can be, where the licence class does not say it (magnitude_of in fuzz/gen/gen_rules.c). */
	T_POWER = 1 << 15,    /* a power whose exponent is a number */
	T_AVERAGES = 1 << 16, /* a sum divided by the number of its terms: integers must be told a dtype */
	T_PRODUCTS = 1 << 17, /* products of as many values as there are */
	T_COUNTS = 1 << 18,   /* positions, as many as data say */
	T_UNBOUNDED = 1 << 19 /* anything */
};

/* Licence classes: how an op rounds, so which rows of a target's arithmetic (oracle/num/licence.h) speak about it unless they name it; and
 * how large its results can be. */
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
	LC_NORM,
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
	const char *like;  /* R_LIKE: name of the operator */
	const char *words; /* K_STR: "none|tanh" */
	int length;        /* K_BOOLS */
	bool optional;     /* Tensor?, Index?: None allowed */
	bool holes;        /* Tensor?[] */
	bool kwonly;       /* after `*` */
	bool has_default;
	bool dflt_none; /* default is None */
	/* K_DIM..K_BOOL, K_SCALAR, K_FLOAT; K_BOOL in .i; K_INTS: an SC_INT is both entries, else there are none; K_DIMS: the first of two */
	struct scalar dflt;
	const char *dflt_str;      /* K_STR, K_DTYPE and K_FORMAT */
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
	int nret;          /* results; -1 for Tensor[] */
	uint32_t constant; /* bit k: result k never requires grad, whatever its dtype: Tensor<constant> */
	uint32_t opaque;   /* bit k: result k requires grad, and we take no gradient that arrives there: Tensor<opaque> */
	int nsave;
	struct op_save save[MAX_SAVES];
	int negated; /* 1 + position of an operand that the derivative negates (atan2's self); 0: none. From the row's expressions. */
};
enum { MAX_OPS = 512, MAX_ARG_NAMES = 160 };
extern const int op_nrows; /* NOPS of generated/op_id.h: who loops over all rows need not be compiled again for a new one */
extern const struct op_info op_info[];
extern const short op_counterpart[];                    /* see op_inplace: 1 + the row; 0: there is none */
extern const signed char op_arg_place[][MAX_ARG_NAMES]; /* by row and N_<name>: position + 1, 0 if the row has no such argument */
/* Position of argument N_<name> (enum arg_name of generated/op_args.h), -1 if the row has none. Where all rows that a function serves have
 * it at one position, that position is a constant there, A_<function>_<name>. */
static inline int op_arg(int op, int name) { return op_arg_place[op][name] - 1; }

int op_find(const char *name); /* exact name, "aten." prefix and ".default" suffix allowed; -1 if none */
/* The row that writes what `op` computes to its first operand ("add.Tensor" -> "add_.Tensor"), and the other way round; -1: none. */
int op_inplace(int op);
int op_functional(int op);
int op_computing(int op); /* op_functional, of a row without one the row itself */
/* Candidates for a name without overload: the rows `name` and `name.*`; returns how many (at most max written). */
int op_overloads(int *out, int max, const char *bare);
const char *op_guess(struct guess *g, const char *name); /* see guess_text */
/* Word i of a K_STR parameter, into buf; false: it has no more. */
enum { MAX_WORD = 32 };
bool param_word(char buf[MAX_WORD], const struct param *q, int i);
/* May a call say in which dtype the row computes (sum, prod, cumsum)? Not a row that only converts or makes a tensor. */
bool op_is_told_dtype(int op);
int op_param(int op, const char *name);   /* the same by a name that a text gives */
int op_self(int op);                      /* index of self: the first argument with a role_is_self; -1 if the row has none */
bool role_is_self(const struct param *q); /* sizes and dtypes of the other arguments follow from it */
static inline bool role_has(enum role r, uint32_t flags) { return (role_info[r].flags & flags) != 0; }
static inline bool role_selects(enum role r) { return role_has(r, RF_POSITIONS | RF_MASK); } /* decides where, not what */
static inline bool role_is_positions(enum role r) { return role_has(r, RF_POSITIONS); }
static inline bool op_has(int op, uint32_t traits) { return (op_info[op].traits & traits) != 0; }
/* May a Python number stand for parameter k, whose kind is K_TENSOR? PyTorch has a list of names (should_allow_numbers_as_tensors in
 * torch/csrc/utils/python_arg_parser.cpp); a test asks the installed versions about every Tensor parameter of the table. */
static inline bool op_takes_number(int op, int k) { return op_has(op, T_NUMBERS) && !op_info[op].param[k].is_written; }

#endif
