/* gen_internal.h: what the generator's files share. `world` is the program in the making and what must be remembered about its
 * values so that the next node is legal. */
#ifndef SCATTERPROOF_GEN_INTERNAL_H
#define SCATTERPROOF_GEN_INTERNAL_H

#include "fuzz/gen/gen.h"

enum { MAX_DRAWN_RANK = 5 };
enum { UNBOUNDED = 2000 }; /* `bits` of a value that may be anything, infinities and NaN included */

/* How large a row's results can be. */
enum magnitude {
	MAG_KEEPS,      /* the largest value of an operand */
	MAG_CONVERTS,   /* the same, in a dtype that is not the value's */
	MAG_CHOOSES,    /* the larger or smaller of two */
	MAG_PICKS,      /* the largest or smallest of some, of which there must be one, and perhaps its position */
	MAG_FINDS,      /* the position alone */
	MAG_COUNTS,     /* positions, as many as data say */
	MAG_TELLS,      /* true or false */
	MAG_ADDS,       /* a sum of the operands */
	MAG_MULTIPLIES, /* a product of the operands */
	MAG_POWER,      /* a power whose exponent is a number */
	MAG_SUMS,       /* a sum of as many values as there are */
	MAG_AVERAGES,   /* the same, divided by their number: integers must be told a dtype */
	MAG_COLLECTS,   /* sums of values of all operands, or one of them */
	MAG_DOTS,       /* sums of products */
	MAG_PRODUCTS,   /* products of as many values as there are */
	MAG_SPREADS,    /* no bound: a variance */
	MAG_RETYPES,    /* the bits of an operand as another number: anything */
	MAG_FUNCTION    /* no bound: a quotient or a library function */
};
enum magnitude magnitude_of(int op);                   /* gen_rules.c */
bool takes_no_gradient(int op, const struct param *q); /* an operand that requires grad makes a program that nobody judges; gen_rules.c */

/* Per node. Autograd follows tensors: views of one tensor share its history, so `grad` counts at the root. Memory rules follow
 * storages: they count at the home. */
struct fact {
	int root; /* node of the tensor this is a view of, itself included */
	int home; /* node that owns the storage */
	int nuse;
	bool born_grad; /* the root required grad when this view of it was made */
	bool usable;    /* may be an operand: single tensor, not part of an assignment */
	bool renamed;   /* a row has given the object other sizes in place: no longer its name, and not usable */
	bool kept;      /* part of it was assigned: to be returned */
	bool unseen;    /* without the history of what it is a view of (detach): a write through it is not seen there */
	bool index;     /* holds positions: read as an index, never written */
	int high;       /* index: values are in [0, high) */
	bool unique;    /* index: no value twice along dim unique_dim */
	bool around;    /* index: some values are counted from the end, -high at least */
	int unique_dim;
	/* where root == this node */
	bool grad; /* requires grad */
	/* where home == this node */
	bool saved;  /* autograd keeps (a view of) it: not to be written */
	bool frozen; /* leaf that requires grad, index, base of several views: not to be written */
	bool shared; /* an input_view shares it: no write that carries a gradient */
	bool written;
	int bits;            /* |values| < 2^bits under every fill but `special` */
	uint32_t saved_outs; /* node with several results: those that autograd keeps */
};

struct world {
	struct prog *p;
	struct choices *c;
	const struct policy *pol;
	struct gen_stats *stats; /* may be NULL */
	struct fact fact[MAX_NODES];
	int npool;
	int64_t pool[4]; /* sizes that this program likes */
	int64_t max_numel;
	int64_t seed;    /* of the next input */
	bool overlap;    /* the row in the making may write through a view that overlaps itself */
	bool lane;       /* the row in the making puts lanes in order that no loop takes */
	bool unseen;     /* writes may go to detached views of what requires grad */
	bool zeros;      /* numbers are mostly zeros of either sign */
	bool alone;      /* a row for tests: nobody else holds its operands, and integers may overflow (gen_call.h) */
	int self_dtype;  /* alone: of a new self; -1: any that the row lists */
	bool no_special; /* some integer arithmetic or conversion would be undefined for `special` */
};

static inline bool chance(struct world *w, enum feature f) { return choose_chance(w->c, w->pol->chance[f]); }
static inline bool has_grad(const struct world *w, int node) { return w->fact[w->fact[node].root].grad; }
static inline struct fact *home_of(struct world *w, int node) { return &w->fact[w->fact[node].home]; }

/* ---- gen.c ---- */
/* An empty program; w->stats is the caller's. */
void begin_program(struct world *w, struct prog *out, struct arena *a, struct choices *c, const struct policy *pol);
bool is_input(const struct world *w, int node);
int draw_op(struct world *w); /* by the policy's weights; -1: it has none */
void add_return(struct world *w, int node);
void add_ends(struct world *w); /* returns what nobody reads, mostly reduced */
/* Cotangents, order, calls, symbols, surface. */
bool finish_program(struct world *w, struct err *err);

/* ---- gen_input.c ---- */
struct shape {
	int rank;
	int64_t size[MAX_RANK];
};
struct input_spec {
	enum dtype dtype;
	bool no_grad, no_overlap, no_view, positive, row_major;
	const char *fill; /* NULL: dyadic */
	int64_t high;     /* fills of positions */
	int dim;          /* unique ones */
};
int64_t draw_size(struct world *w);
void draw_shape(struct world *w, struct shape *s, int min_rank, int max_rank);
void draw_pool(struct world *w);
int64_t gen_numel(const struct shape *s);
void shape_limit(struct shape *s, int64_t max_numel);
struct shape shape_of(const struct meta *m);
/* The node, or -1 if that would be far too large. */
int add_input(struct world *w, const struct shape *s, const struct input_spec *spec);
/* Dtype by the policy's weights among `mask`; false if the policy has none of them. */
bool draw_dtype(struct world *w, uint32_t mask, enum dtype *out);

/* ---- gen_arg.c ---- */
enum fit { FIT_SAME, FIT_BCAST_TO, FIT_BCAST }; /* an operand's sizes beside self's */
/* One operator node in the making: arguments in schema order; `self` is the anchor of all roles, -1 if the row has none. */
struct making {
	int op;
	int anchor;       /* parameter index of self, -1 */
	int self;         /* node */
	struct meta meta; /* of self */
	struct arg arg[MAX_ARGS];
	bool done[MAX_ARGS];
	bool accumulate;   /* R_ACCUMULATE was drawn true */
	enum fit mask_fit; /* R_MASK's */
	int window;        /* R_STRIDED: where the strides and offset that belong to the drawn size are */
	struct meta strided;
};
/* A Python number for Tensor parameter k, if PyTorch takes one there and the policy wants it. */
bool draw_number(struct world *w, struct making *m, int k);
/* Now and then it comes first, as in 1 - x. */
void draw_number_first(struct world *w, struct making *m);
/* Of a convolution whose windows are drawn: how many channels its result has. */
int64_t filters_drawn(const struct making *m);
bool draw_plain_args(struct world *w, struct making *m); /* all but tensors; false: impossible for this self */
/* A number, a dim or a flag that is not the one there; false: the row has none. */
bool draw_other_arg(struct world *w, struct making *m);
int longest_dim(const struct meta *m);
int making_dim(const struct making *m); /* the first Dim argument, counted from the front; 0 if none */

/* ---- gen_op.c ---- */
/* May node be the self (parameter q) of a row of op? */
bool self_fits(struct world *w, int op, const struct param *q, int node);
bool small_enough(struct world *w, int node); /* its results */
bool has_mask(int op);
/* Appends one node of `op` (and its inputs); self = an existing node or -1. Returns the node, or -1 and leaves no trace. */
int add_op(struct world *w, int op, int self);
void count_uses(struct world *w, const struct node *n);
/* The node's row again, on the same operands with another number, dim or flag; nothing, if that does not work out. */
void add_twin(struct world *w, int node);

/* ---- gen_assign.c ---- */
struct arg own_copy(struct world *w, struct arg a); /* lists belong to one node: edits write into them */
/* Appends the nodes of one assignment to part of a value; false: it did not work out, and nothing was added. */
bool add_assignment(struct world *w);

/* ---- gen_symbol.c ---- */
void add_symbol(struct world *w); /* to a finished program; leaves it as it is if that does not work out */

/* ---- gen_stated.c ---- */
/* The last node, whose results are not known yet, states how many elements its data select; false: they cannot be counted. True of rows
 * that state nothing. */
bool state_count(struct world *w, int node);
/* Of a finished program: some of the numbers stated become symbols, and the data that decide them other ones in other calls. Leaves it
 * as it is if that does not work out. */
void vary_counts(struct world *w);

/* ---- gen_item.c ---- */
void add_item(struct world *w); /* to a finished program without symbols; leaves it as it is if that does not work out */

/* ---- gen_illegal.c ---- */
/* One mistake at the end of the nodes; the program says that eager must refuse it. Leaves it as it is if that does not work out. */
void add_illegality(struct world *w);
/* One more row, some position of which does not exist; half of them nobody reads. Eager must refuse it. */
void add_outside(struct world *w);

/* ---- gen_rules.c ---- */
void fact_input(struct world *w, int node, const struct input_spec *spec, bool grad, int base);
int arg_operands(const struct node *n, int k, const int **out); /* of argument k, at most MAX_LIST; -1 is a hole */
/* May node be written by an in-place row whose other operands are known to be elsewhere? */
bool writable(struct world *w, int node);
/* What node's object is called since a row gave it other sizes in place; node itself if none did. */
int current_name(const struct world *w, int node);
/* After inference: is the node legal? If so its consequences are recorded; if not nothing changes. */
bool admit(struct world *w, int node, const char **why);
/* Is a gradient taken through a scatter that is there? PyTorch's gradient of its self is a scatter into the cotangent, whose strides it
 * keeps unless one is 0: in windows the zeros go to other elements, too (corpus/regressions/scatter_of_window_cotangent.prog). */
bool differentiates_scatter(const struct world *w);
/* Kernels of these backward rows trust the sizes and positions that forward has checked, and read or write outside of what is there
 * (corpus/regressions/nll_loss_backward_of_no_class.prog). */
bool trusts_operands(int op);

#endif
