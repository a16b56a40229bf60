/* gen_rules.c: when a node is legal, and what follows from it.
 *
 * Autograd (TARGETS.md, "Eager's rules"): views of one tensor share its history (fact.grad at the root); what a derivative needs is
 * kept by reference, so its storage may not be written afterwards (op_info.save); leaves and views of leaves may not be written;
 * nor may results of a row with several views, nor their base once they exist.
 *
 * Magnitudes: every storage has a bound 2^bits on |value|, propagated by magnitude_of. i64 may not overflow (narrower integers wrap),
 * floats may become integers only where they fit; `special` fills break these bounds, so programs that rely on them are marked. */
#include "eager/lang/fill.h"
#include "eager/lang/stated.h"
#include "eager/run/legality.h"
#include "fuzz/gen/gen_internal.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

static int log2_ceil(int64_t n)
{
	int b = 0;
	while (((int64_t)1 << b) < n)
		b++;
	return b;
}

void fact_input(struct world *w, int node, const struct input_spec *spec, bool grad, int base)
{
	bool index = spec->fill && fill_is_positions(spec->fill), wide = spec->fill && str_eq(spec->fill, "wide");
	struct fact f = {.root = node, .home = node, .usable = true, .index = index, .grad = grad, .frozen = grad || index};
	f.high = (int)spec->high;
	f.unique = index && fill_is_unique(spec->fill);
	f.around = index && fill_is_around(spec->fill);
	f.unique_dim = spec->dim;
	f.bits = index ? log2_ceil(spec->high + 1) : dtype_is_float(spec->dtype) ? 4 : spec->dtype == DT_B8 ? 1 : 8;
	if (wide)
		f.bits = spec->dtype == DT_I64 ? 55 : 8 * dtype_nbytes(spec->dtype);
	if (base >= 0) {
		f.home = base;
		w->fact[base].shared = true;
		w->fact[base].frozen |= grad; /* memory of a leaf */
	}
	w->fact[node] = f;
}

/* Elements that share cells may be written by a row that sets one number, but not through stride 0 where backward would follow. */
static bool writable_cells(const struct world *w, int node)
{
	const struct meta *m = node_meta(w->p, node);
	return !meta_has_duplicates(m) || (w->overlap && !(has_grad(w, node) && meta_overlaps_itself(m)));
}

bool writable(struct world *w, int node)
{
	const struct fact *h = home_of(w, node), *f = &w->fact[node];
	/* PyTorch takes a view made before its base came to require grad for a leaf. */
	bool stale = f->root != node && has_grad(w, node) && !f->born_grad;
	return !h->saved && !h->frozen && !stale && (!f->unseen || w->unseen) && writable_cells(w, node);
}

/* ---- operands ----------------------------------------------------------------------------------------------------------- */

int arg_operands(const struct node *n, int k, const int **out)
{
	if (n->arg[k].tag == ARG_TENSOR) {
		*out = &n->arg[k].node;
		return 1;
	}
	*out = n->arg[k].nodes;
	return n->arg[k].tag == ARG_TENSORS ? n->arg[k].n : 0;
}

static bool arg_grad(const struct world *w, const struct node *n, int k)
{
	const int *v;
	for (int i = 0, c = arg_operands(n, k, &v); i < c; i++)
		if (v[i] >= 0 && has_grad(w, v[i]))
			return true;
	return false;
}

static bool any_grad(const struct world *w, const struct node *n)
{
	for (int k = 0; k < op_info[n->op].nparam; k++)
		if (arg_grad(w, n, k))
			return true;
	return false;
}

/* ---- magnitudes ------------------------------------------------------------------------------------------------------------ */

static enum magnitude extreme(int op)
{
	const bool of_many = op_has(op, T_REDUCE | T_ORDER);
	return !of_many ? MAG_CHOOSES : op_has(op, T_NONDIFF) ? MAG_FINDS : MAG_PICKS;
}

/* How a row rounds says how it computes; a row that is no example of its class says so by a trait. */
enum magnitude magnitude_of(int op)
{
	if (op == OP_view_dtype)
		return MAG_RETYPES;
	if (op_has(op, T_POWER | T_AVERAGES | T_PRODUCTS | T_COUNTS | T_UNBOUNDED))
		return op_has(op, T_POWER)   ? MAG_POWER
			: op_has(op, T_AVERAGES) ? MAG_AVERAGES
			: op_has(op, T_PRODUCTS) ? MAG_PRODUCTS
			: op_has(op, T_COUNTS)   ? MAG_COUNTS
									 : MAG_FUNCTION;
	switch (op_info[op].licence) {
	case LC_MOVE: return MAG_KEEPS;
	case LC_CONVERT: return MAG_CONVERTS;
	case LC_COMPARE: return MAG_TELLS;
	case LC_MINMAX: return extreme(op);
	case LC_ARITH: return MAG_ADDS;
	case LC_MUL: return MAG_MULTIPLIES;
	case LC_SUM: return MAG_SUMS;
	case LC_SCAN:
	case LC_ACCUM: return MAG_COLLECTS;
	case LC_MATMUL: return MAG_DOTS;
	case LC_PROD: return MAG_PRODUCTS;
	case LC_VAR: return MAG_SPREADS;
	case LC_DIV:
	case LC_NORM:
	case LC_TRANS: return MAG_FUNCTION;
	case NLC: break;
	}
	BUG("%s has no licence class", op_info[op].name);
}

struct sizes {
	int bits, sum;
	int64_t n;
	bool from_float;
};

static struct sizes gather_sizes(struct world *w, const struct node *n)
{
	struct sizes s = {0};
	for (int k = 0; k < op_info[n->op].nparam; k++) {
		const struct param *q = &op_info[n->op].param[k];
		const int *v;
		int b = 0;
		for (int i = 0, c = arg_operands(n, k, &v); i < c; i++) {
			if (v[i] < 0 || role_selects(q->role))
				continue;
			const struct meta *m = w->p->node[v[i]].nout ? node_meta(w->p, v[i]) : NULL;
			b = MAX(b, home_of(w, v[i])->bits);
			s.n += m ? meta_numel(m) : 0;
			s.from_float |= m && dtype_is_float(m->dtype);
		}
		if (n->arg[k].tag == ARG_SCALAR) {
			const struct scalar *x = &n->arg[k].scalar;
			b = x->kind == SC_FLOAT ? 4 : log2_ceil(x->i < 0 ? -x->i : x->i);
			s.from_float |= q->kind == K_TENSOR && x->kind == SC_FLOAT;
		}
		s.bits = MAX(s.bits, b);
		s.sum += b;
	}
	return s;
}

static int result_bits(enum magnitude rule, const struct sizes *s)
{
	int many = log2_ceil(s->n) + 1;
	int64_t b = UNBOUNDED;
	switch (rule) {
	case MAG_KEEPS:
	case MAG_CONVERTS: b = s->bits; break;
	case MAG_CHOOSES:
	case MAG_PICKS:
	case MAG_FINDS: b = MAX(s->bits, many); break; /* the value or its position */
	case MAG_ADDS: b = s->sum + 1; break;
	case MAG_MULTIPLIES: b = s->sum; break;
	case MAG_TELLS: b = 1; break;
	case MAG_COUNTS: b = many; break;
	case MAG_SUMS:
	case MAG_AVERAGES: b = s->bits + many; break;
	case MAG_COLLECTS:
	case MAG_DOTS: b = s->sum + many; break;
	case MAG_PRODUCTS: b = s->bits * (s->n + 1); break;
	case MAG_POWER: /* of integers: power_bits */
	case MAG_SPREADS:
	case MAG_RETYPES:
	case MAG_FUNCTION: b = UNBOUNDED; break;
	}
	return (int)MIN(b, UNBOUNDED);
}

static int bits_of(struct world *w, const struct arg *a)
{
	return a->tag == ARG_TENSOR ? home_of(w, a->node)->bits : log2_ceil(a->scalar.i < 0 ? -a->scalar.i : a->scalar.i);
}

/* Of integers: a power of e has e times as many. */
static int power_bits(struct world *w, const struct node *n)
{
	const struct arg *by = node_arg(n, N_exponent);
	const int64_t e = by->tag == ARG_SCALAR ? by->scalar.i : (int64_t)1 << MIN(bits_of(w, by), 32);
	return (int)MIN(bits_of(w, node_arg(n, N_self)) * MAX(MIN(e, UNBOUNDED), 1), UNBOUNDED);
}

/* Bits of the result in dtype t, or -1 if that is undefined or overflows. */
static int admit_bits(struct world *w, const struct node *n, enum dtype t, const struct sizes *s)
{
	const struct op_info *op = &op_info[n->op];
	const enum magnitude rule = magnitude_of(n->op);
	const bool power = !dtype_is_float(t) && node_arg(n, N_exponent),
			   not_values = rule == MAG_FINDS || rule == MAG_COUNTS || rule == MAG_TELLS;
	const bool quotient = !dtype_is_float(t) && op->licence == LC_DIV;
	int bits = power ? power_bits(w, n) : quotient ? s->bits : result_bits(rule, s), width = 8 * dtype_nbytes(t);
	if (t == DT_B8)
		return 1;
	if (dtype_is_float(t)) {
		int most = dtype_info[t].emax;
		return bits > most ? UNBOUNDED : bits;
	}
	if (not_values || rule == MAG_RETYPES)
		return MIN(bits, width - (rule == MAG_RETYPES ? 2 : 1));
	if (s->from_float && (dtype_is_unsigned(t) || bits > width - 2))
		return -1; /* a float that does not fit, or is negative, becomes an integer */
	if (width == 64 && bits > width - 2 && !w->alone)
		return -1;
	if (s->from_float || (!(op->traits & T_PURE_MOVE) && width == 64))
		w->no_special = true;
	return MIN(bits, width);
}

/* ---- in-place rows ---------------------------------------------------------------------------------------------------------- */

static bool admit_write(struct world *w, const struct node *n, bool grad, const char **why)
{
	const struct op_info *op = &op_info[n->op];
	int self = n->arg[A_INPLACE_self].node;
	struct fact *h = home_of(w, self);
	*why = "write";
	if (!writable(w, self) || legality_reads_written(w->p, (int)(n - w->p->node)))
		return false;
	bool incoming = false;
	for (int k = 1; k < op->nparam; k++)
		incoming |= arg_grad(w, n, k);
	/* Gradients come in through the whole memory: autograd refuses one that overlaps itself. */
	if (incoming
		&& (h->shared || !dtype_is_float(node_meta(w->p, self)->dtype) || meta_has_duplicates(node_meta(w->p, w->fact[self].home))))
		return false;
	if (!grad)
		return true;
	/* Nothing that this very node keeps may lie in what it writes; of self itself it keeps a copy. */
	for (int i = 0; i < op->nsave; i++) {
		const struct op_save *s = &op->save[i];
		if (s->what >= SAVE_RESULT || s->what == A_INPLACE_self || !(s->when == SAVE_ANY || arg_grad(w, n, s->when)))
			continue;
		const int *v;
		for (int j = 0, c = arg_operands(n, s->what, &v); j < c; j++)
			if (v[j] >= 0 && w->fact[v[j]].home == w->fact[self].home)
				return false;
	}
	return true;
}

static void record_saves(struct world *w, int node)
{
	const struct node *n = &w->p->node[node];
	const struct op_info *op = &op_info[n->op];
	for (int i = 0; i < op->nsave; i++) {
		const struct op_save *s = &op->save[i];
		const bool copied = op_has(n->op, T_MUTATES) && s->what == A_INPLACE_self;
		if (copied || !(s->when == SAVE_ANY ? any_grad(w, n) : arg_grad(w, n, s->when)))
			continue;
		if (s->what >= SAVE_RESULT) {
			if (w->fact[node].usable)
				home_of(w, node)->saved = true;
			else
				w->fact[node].saved_outs |= 1u << (s->what - SAVE_RESULT);
			continue;
		}
		const int *v;
		for (int j = 0, c = arg_operands(n, s->what, &v); j < c; j++)
			if (v[j] >= 0)
				home_of(w, v[j])->saved = true;
	}
}

/* ---- admission ----------------------------------------------------------------------------------------------------------------- */

static void admit_getitem(struct world *w, int node)
{
	const struct node *n = &w->p->node[node];
	int tuple = n->arg[A_getitem_self].node, self = w->p->node[tuple].arg[A_MULTI_self].node, k = (int)n->arg[A_getitem_index].i.value;
	enum dtype t = n->out[0].meta.dtype;
	struct fact f = {.root = node, .home = node, .usable = true};
	if (op_has(w->p->node[tuple].op, T_VIEW)) {
		f.root = w->fact[self].root;
		f.home = w->fact[self].home;
		f.born_grad = has_grad(w, self);
		w->fact[node] = f;
		return;
	}
	f.grad = w->fact[tuple].grad && dtype_is_float(t) && !node_is_constant(w->p, n);
	f.usable = !(f.grad && op_info[w->p->node[tuple].op].opaque >> k & 1);
	f.saved = w->fact[tuple].saved_outs >> k & 1;
	f.bits = dtype_is_float(t) ? w->fact[tuple].bits : 63;
	w->fact[node] = f;
}

/* Storage that a fresh-looking result shares with an operand, and whose view it is: the operand, or -1. */
static int viewed(const struct world *w, int node)
{
	const struct node *n = &w->p->node[node];
	const struct op_info *op = &op_info[n->op];
	for (int k = 0; k < op->nparam; k++)
		if (op->param[k].is_alias && n->arg[k].tag == ARG_TENSOR && w->p->node[n->arg[k].node].nout == 1 && n->nout
			&& w->p->node[n->arg[k].node].out[0].storage == n->out[0].storage)
			return n->arg[k].node;
	return -1;
}

/* Would the derivative negate a bool operand, which PyTorch refuses? */
static bool negates_bool(const struct world *w, const struct node *n)
{
	const int k = op_info[n->op].negated - 1, *v;
	bool grad = false;
	for (int other = 0; other < op_info[n->op].nparam; other++)
		grad |= other != k && arg_grad(w, n, other);
	return k >= 0 && grad && arg_operands(n, k, &v) == 1 && node_meta(w->p, *v)->dtype == DT_B8;
}

/* Floats of which no gradients are taken. */
static bool through(const struct node *n)
{
	return n->nout == 0 || !dtype_is_float(n->out[0].meta.dtype) || dtype_has_grad(n->out[0].meta.dtype);
}

bool differentiates_scatter(const struct world *w)
{
	for (int i = 0; i < w->p->nnode; i++)
		if (op_has(w->p->node[i].op, T_SCATTER) && w->p->node[i].nout && has_grad(w, i))
			return true;
	return false;
}

bool takes_no_gradient(int op, const struct param *q)
{
	return role_has(q->role, RF_NO_GRADIENT | RF_CONSTANT) || (op_has(op, T_MUTATES) && op_has(op, T_NONDIFF));
}

/* Does an operand require grad by which PyTorch has no derivative? */
static bool lacks_derivative(const struct world *w, const struct node *n)
{
	for (int k = 0; k < op_info[n->op].nparam; k++)
		if (takes_no_gradient(n->op, &op_info[n->op].param[k]) && arg_grad(w, n, k))
			return true;
	return false;
}

/* Its gradient is an unfold, whose windows share cells. */
static bool gives_windows(const struct world *w, const struct node *n)
{
	return n->op == OP_unfold_backward && node_int(n, A_unfold_backward_step) < node_int(n, A_unfold_backward_size)
		&& arg_grad(w, n, A_unfold_backward_grad_in);
}

bool trusts_operands(int op) { return op_info[op].family == F_COMPOSED && str_starts(op_info[op].param[0].name, "grad_out"); }

bool admit(struct world *w, int node, const char **why)
{
	const struct node *n = &w->p->node[node];
	const struct op_info *op = &op_info[n->op];
	*why = "";
	if (op->nparam && op->param[A_getitem_self].role == R_TUPLE) {
		admit_getitem(w, node);
		return true;
	}
	bool grad = any_grad(w, n) && !node_is_constant(w->p, n);
	if (op->traits & T_MUTATES && !admit_write(w, n, grad, why))
		return false;
	if (negates_bool(w, n) || lacks_derivative(w, n) || (grad && !through(n)) || (gives_windows(w, n) && differentiates_scatter(w))) {
		*why = "gradient";
		return false;
	}
	struct sizes s = gather_sizes(w, n);
	bool several = op->nret != 1;
	if (several && n->nout == 0)
		return false;
	enum dtype t = n->out[0].meta.dtype;
	int bits = admit_bits(w, n, t, &s);
	*why = "magnitude";
	if (bits < 0)
		return false;
	int of = viewed(w, node);
	struct fact f = {.root = node, .home = node, .usable = !several, .bits = bits};
	f.grad = grad && dtype_is_float(t);
	if (of >= 0) {
		f.root = w->fact[of].root;
		f.home = w->fact[of].home;
		f.unseen = w->fact[of].unseen;
	}
	if (of >= 0 && op_has(n->op, T_VIEW) && op_has(n->op, T_NONDIFF)) {
		f.root = node; /* a history of its own, which begins here */
		f.unseen = has_grad(w, of);
		home_of(w, of)->shared = true;
	}
	if (of < 0 && op_has(n->op, T_VIEW)) {
		f.home = n->arg[A_unsafe_view_self].node; /* shares memory unsaid: what it was made of is given up */
		w->fact[f.home].usable = false;
		w->fact[f.home].frozen = true;
	}
	w->fact[node] = f;
	if (op->traits & T_MUTATES) {
		struct fact *h = home_of(w, node);
		h->written = true;
		h->bits = node_meta(w->p, f.home)->dtype != t ? UNBOUNDED : MAX(h->bits, bits); /* a view of another dtype: any number */
		w->fact[f.root].grad |= grad && dtype_is_float(t);
	}
	w->fact[node].born_grad = has_grad(w, node);
	if (op->traits & T_MULTI_VIEW)
		home_of(w, node)->frozen = true;
	record_saves(w, node);
	return true;
}
