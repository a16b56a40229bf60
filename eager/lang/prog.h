/* prog.h: programs. A program is a straight-line list of nodes over the op table, then `return`, an optional `backward` and
 * `call` lines. Operands are node indices, never pointers. Everything of a program lives in one arena that outlives it.
 *
 *   # scatterproof 1
 *   s0: "Sym(6)" = sym(6)
 *   x: "f32[4, 13, 33][429, 33, 1]" = input([4, 13, 33], seed=1, requires_grad=True)
 *   y: "f32[4, 6, 33][198, 33, 1]" = input([4, s0, 33], seed=2, requires_grad=True)
 *   slice_scatter: "f32[4, 13, 33][429, 33, 1]" = slice_scatter(x, y, dim=1, start=0, end=s0)
 *   sum_1: "f32[4, 33][33, 1]" = sum.dim_IntList(slice_scatter, dim=[1])
 *   one: "f32[][]" = full([], 1.0)
 *   g: "f32[4, 33][0, 0]" = expand(one, [4, 33])
 *   return (sum_1,)
 *   backward (sum_1: g,)
 *   call (x: seed=3 fill=normal, s0=7)
 *
 * Sizes come from symbols: `sym` is given by each call, `sym_size.int` is read off a tensor (x.shape[0]), `item` is what a tensor of one
 * integer holds (stated.h). The line `surface python` (or
 * `surface torch`) after the first says how the program is spelled for targets that are Python libraries; its meaning is the same.
 *
 * An input may carry its data, i: "i64[3][1]" = input([3], dtype=i64, data=[0, 1, 0]), which stays in every call that does not give it
 * other (call (i: data=[2, 2, 2])).
 *
 * A program may say that eager must refuse it: `raises`, or `raises "some of PyTorch's message"`, after `return` and `backward`. Only such
 * programs may hold rows that the shape rules refuse; they, and the rows that need them, have no metas (node.refusal).
 *
 * Invariants (prog_validate): operands precede their users; names are unique; a value that is returned is a single tensor;
 * the nodes that cotangents need are disjoint from the nodes that the returned values and the mutations need; metas and
 * storages are what prog_infer computes. Integers inside arguments are constants or small expressions over symbols before them;
 * `value` always holds the number under the current binding, so that whoever executes never sees a symbol. */
#ifndef SCATTERPROOF_PROG_H
#define SCATTERPROOF_PROG_H

#include "eager/lang/meta.h"
#include "eager/lang/op.h"

/* Integer expression: a constant, or (expr >= 0) an entry of prog.expr; value is its number under the current binding. */
struct iexpr {
	int64_t value;
	int expr;
};
enum expr_op { EX_CONST, EX_SYM, EX_ADD, EX_SUB, EX_MUL, EX_FLOORDIV, EX_MOD, EX_NEG };
struct expr {
	enum expr_op op;
	int64_t value;
	int a, b;
}; /* SYM: a = index of the symbol's node; others: entries of prog.expr */

enum arg_tag {
	ARG_NONE,
	ARG_TENSOR,
	ARG_TENSORS,
	ARG_INT,
	ARG_INTS,
	ARG_SCALAR,
	ARG_BOOL,
	ARG_DTYPE,
	ARG_FORMAT,
	ARG_STR,
	ARG_BOOLS,
	ARG_DATA
};
struct arg {
	enum arg_tag tag; /* ARG_NONE: None, or not given and the default is None */
	int n;            /* entries of a list */
	union {
		int node;             /* ARG_TENSOR. A Tensor parameter may be ARG_SCALAR instead: op_takes_number */
		int *nodes;           /* ARG_TENSORS: -1 is a hole */
		struct iexpr i;       /* ARG_INT (K_DIM, K_INDEX, K_STEP, K_INT) */
		struct iexpr *ints;   /* ARG_INTS (K_SIZE, K_INTS, K_DIMS) */
		struct scalar scalar; /* ARG_SCALAR (K_SCALAR, K_FLOAT) */
		bool b;
		enum dtype dtype;
		enum memory_format format;
		const char *str;
		bool *bools;         /* ARG_BOOLS */
		struct scalar *data; /* ARG_DATA: one number per cell of an input's storage, at most MAX_DATA */
	};
};

/* One result of a node. */
struct value {
	struct meta meta;
	int storage; /* 0.. are the inputs' in node order, others follow MAX_NODES; views share their base's */
};

struct node {
	int op;
	const char *name;
	int line, col;            /* place in the text it was read from, 0 if built */
	struct arg arg[MAX_ARGS]; /* in schema order; defaults filled in */
	int nout;                 /* results: 1 for most */
	const char *refusal;      /* must-raise programs: what eager says of this row, or of one that it needs, and nout is 0; NULL: nothing */
	struct value *out;
	int64_t sym_value; /* symbols only (node_is_sym), current binding */
};

struct backward {
	int node, cotangent;
}; /* node is one of ret[] */

/* One `call` line: what differs from the program's own data. */
struct call_input {
	int node;
	uint64_t seed;
	const char *fill;
	struct arg data;
}; /* fill NULL, data ARG_NONE: unchanged */
struct call_sym {
	int node;
	int64_t value;
};
struct call {
	int ninput, nsym;
	struct call_input *input;
	struct call_sym *sym;
	int line;
}; /* line: of its text, 0 if built */

/* How a program is written down for a target that is a Python library: torch.ops.aten.add.Tensor(x, y, alpha=2); torch.add(x, y,
 * alpha=2); x.add(y, alpha=2) and, where there is one, an operator or an index. What has no such spelling is written as in aten. */
enum surface { SURFACE_ATEN, SURFACE_TORCH, SURFACE_PYTHON, NSURFACES };
extern const char *const surface_name[NSURFACES];

struct prog {
	struct arena *arena;
	enum surface surface;
	int nnode, nexpr, nret, nback, ncall, nstorage;
	struct node *node; /* capacity grows by doubling in the arena; do not keep pointers across prog_add */
	struct expr *expr;
	int cap_node, cap_expr;
	int ret[MAX_RETURNS];
	bool has_backward;
	bool late; /* the backward of each call runs after the forward of the next one (of the last call, at once), as users of two models do */
	struct backward back[MAX_RETURNS];
	bool must_raise;
	const char *raises; /* part of the message; NULL: any message */
	struct call call[MAX_CALLS];
};

/* ---- building ------------------------------------------------------------------------------------------------- */
void prog_init(struct prog *p, struct arena *a);
/* Appends a node with all arguments ARG_NONE (defaults: prog_defaults) and nout 0; name NULL or taken: a fresh one is made
 * from the operator ("sum", "sum_1", …); "": it has no name, in a program that is never printed. Returns its index. The caller fills
 * arguments, then calls prog_infer_node. */
int prog_add(struct prog *p, int op, const char *name);
void prog_defaults(struct prog *p, int node); /* fills unset arguments from the schema; ARG_NONE stays where None */
struct arg arg_tensor(int node);
struct arg arg_int(int64_t v);
struct arg arg_bool(bool b);
struct arg arg_scalar_i(int64_t v);
struct arg arg_scalar_f(double v);
struct arg arg_dtype(enum dtype t);
struct arg arg_format(enum memory_format f);
struct arg arg_str(struct prog *p, const char *s);
struct arg arg_ints(struct prog *p, const int64_t *v, int n);
struct arg arg_bools(struct prog *p, const bool *v, int n);
struct arg arg_data(struct prog *p, const struct scalar *v, int n);
struct arg arg_nodes(struct prog *p, const int *node, int n);
bool arg_same(const struct arg *a, const struct arg *b); /* bit for bit; data of inputs never */
int prog_add_expr(struct prog *p, struct expr e);        /* operands must be entries that exist; returns its index */
int prog_find(const struct prog *p, const char *name);   /* node index or -1 */
void prog_clone(struct prog *out, const struct prog *p, struct arena *a);

/* ---- reading and printing ------------------------------------------------------------------------------------- */
enum { READ_STRICT, READ_LENIENT }; /* lenient: torch.ops.aten. prefixes, .default, k = v, trailing `;  x = None`, placeholders */
bool prog_read(struct prog *out, struct arena *a, const char *text, size_t len, int mode, struct err *err);
void prog_print(struct strbuf *sb, const struct prog *p);     /* canonical: prog_read(prog_print(p)) prints the same bytes */
void scalar_print(struct strbuf *sb, const struct scalar *s); /* shortest decimal that is bit-exact, else hex; inf, nan, nan(0x…) */
bool scalar_read(struct scalar *out, const char *s, struct err *err);
bool arg_is_default(const struct param *q, const struct arg *a); /* such an argument is not printed */
void node_print(struct strbuf *sb, const struct prog *p, int node);

/* ---- meaning of the structure ----------------------------------------------------------------------------------- */
/* Shape rules: recomputes out[] (metas and storages) of one node from its operands, or of all. Errors name the node. */
bool prog_infer_node(struct prog *p, int node, struct err *err);
/* The same but in a must-raise program, where a refused row that is no input is told to node.refusal. */
bool prog_infer_or_refuse(struct prog *p, int node, struct err *err);
/* Meta of what an in-place row computes before it is stored: the functional row's result, on self's device whatever the operands'. */
bool node_functional_meta(struct meta *out, const struct prog *p, int node, struct err *err);
bool prog_infer(struct prog *p, struct err *err);
bool prog_validate(const struct prog *p, struct err *err); /* every invariant above; recomputes metas on a copy */
/* The same of each call that binds symbols: what is wrong in a call's sizes alone is as wrong as in the program's own. */
bool prog_validate_calls(const struct prog *p, struct err *err);
/* The program of call k (0: its own data): symbols bound, seeds and fills replaced, call lines dropped, metas recomputed. */
bool prog_bind(struct prog *out, const struct prog *p, int k, struct arena *a, struct err *err);
/* The same without shape rules: metas of input rows are what those state, the others stay p's. For whoever derives metas himself. */
bool prog_bind_inputs(struct prog *out, const struct prog *p, int k, struct arena *a, struct err *err);
bool iexpr_eval(const struct prog *p, struct iexpr *i, struct err *err);               /* value from the current binding */
bool expr_apply(int64_t *out, enum expr_op op, int64_t a, int64_t b, struct err *err); /* one operation on numbers; NEG: of a */
/* The integers of one node from the current binding; of an input row also the meta that it states. No shape rule. */
bool prog_eval_node(struct prog *p, int node, struct err *err);
void prog_size_read(struct prog *p, int node, const struct meta *of); /* sets the value of a sym_size row, whose operand has this meta */
/* After sym_values of `sym` rows changed: all values and metas, in node order (a size read off a tensor follows the tensor's meta). */
bool prog_rebind(struct prog *p, struct err *err);
/* Structure only: ops, arguments and metas; names, the data of inputs and call lines do not count. */
struct hash128 prog_hash(const struct prog *p);
/* needed[i]: node i is needed by a returned value or is a mutation (forward), resp. by a cotangent (cot). Arrays of nnode. */
void prog_partition(const struct prog *p, bool *forward, bool *cot);

/* Operands of a node, symbols in its integers included. Is one of n in the set; puts those of n into it. set: bool per node. */
bool node_reads(const struct prog *p, const struct node *n, const bool *set);
void node_mark_operands(const struct prog *p, const struct node *n, bool *set);
/* Symbols that an expression reads (entry of prog.expr; -1: none). */
void expr_mark(const struct prog *p, int expr, bool *set);

bool node_is_sym(const struct node *n);
bool node_is_run(const struct node *n);    /* neither an input nor a symbol that is known before anything runs */
bool node_is_source(const struct node *n); /* an input, a symbol, or a factory such as full */
bool prog_has_symbols(const struct prog *p);
bool prog_has_empty(const struct prog *p);        /* a tensor without elements */
int prog_operators(const struct prog *p);         /* nodes that are no source */
bool node_is_input(const struct node *n);         /* an `input` or `input_view` row */
bool node_divides_integers(const struct node *n); /* by those of a tensor: raises where one of them is 0 */
bool node_requires_grad(const struct node *n);    /* such a row that says requires_grad=True */
/* May no gradient pass: the row has none, or it is the getitem of a result that has none? */
bool node_is_constant(const struct prog *p, const struct node *n);
bool node_shares_memory(const struct prog *p, const struct node *n); /* its results lie in its first operand's memory: it is a view there */
static inline const struct meta *node_meta(const struct prog *p, int node) { return &p->node[node].out[0].meta; }
static inline int64_t node_int(const struct node *n, int k) { return n->arg[k].i.value; }
int node_ints(int64_t out[MAX_LIST], const struct node *n, int k); /* of a list argument; how many */
static inline bool node_given(const struct node *n, int k) { return n->arg[k].tag != ARG_NONE; }
/* Argument N_<name> (enum arg_name of generated/op_args.h); NULL if the row has none. */
static inline const struct arg *node_arg(const struct node *n, int name)
{
	int k = op_arg(n->op, name);
	return k < 0 ? NULL : &n->arg[k];
}

/* ---- inputs ----------------------------------------------------------------------------------------------------- */
/* input rows own a storage of meta_extent cells; input_view rows share one. The storages 0..n-1 are the inputs'. */
int prog_input_storages(const struct prog *p);
int64_t prog_storage_cells(const struct prog *p, int storage); /* cells of an input storage: its `input` row's extent (views fit in it) */
size_t prog_storage_nbytes(const struct prog *p, int storage); /* the same in bytes; of one on device meta: none */
int prog_ngrads(const struct prog *p);                         /* inputs that require grad; 0 without a backward */

#endif
