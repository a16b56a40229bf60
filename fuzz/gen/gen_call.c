/* gen_call.c: a call is a row that the generator makes, and then perhaps one edit that ignores what is legal. An edit changes an argument
 * or an input's text; what may crash PyTorch instead of raising (positions that kernels do not check) is left as it is. */
#include "fuzz/gen/gen_call.h"

#include <inttypes.h>
#include <math.h>

#include "eager/lang/pooled.h"
#include "eager/lang/edit.h"
#include "eager/lang/stated.h"
#include "fuzz/gen/gen_internal.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

enum { WRONG_CHANCE = 22, ODD_NUMBER_CHANCE = 25, MAX_TRIES = 400, CALL_NUMEL = 400 };

bool gen_call_makes(int op) { return op_info[op].family != F_INPUT && op != OP_getitem; }

/* ---- one argument ------------------------------------------------------------------------------------------------------------ */

static enum dtype any_dtype(struct world *w) { return (enum dtype)choose_below(w->c, NDTYPES); }

/* finite: infinite factors of a product, whether they come before or after the sum, are more than the reference decides. */
static struct arg any_number(struct world *w, bool finite)
{
	static const double reals[] = {0.1, 3.7, 1e-3, -1.25, 0.0, -2, 1e-5, -0.0, 1e30, INFINITY, -INFINITY, NAN};
	enum { NFINITE = 9 };
	static const int64_t ints[] = {0, 7, -2, 3, 300, -300, 255, -255, 70000, INT64_C(1) << 40};
	switch (choose_below(w->c, 5)) {
	case 0: return arg_scalar_i(ints[choose_below(w->c, ARRAY_LEN(ints))]);
	case 1: return (struct arg){.tag = ARG_SCALAR, .scalar = {SC_BOOL, choose_chance(w->c, 50), 0}};
	default: return arg_scalar_f(reals[choose_below(w->c, finite ? NFINITE : ARRAY_LEN(reals))]);
	}
}

static struct arg wrong_number(struct world *w)
{
	static const double reals[] = {1e6, -1e10, 1e300};
	static const int64_t ints[] = {300, -300, 255, -255, 70000, INT64_C(1) << 62};
	return choose_chance(w->c, 60) ? arg_scalar_i(ints[choose_below(w->c, ARRAY_LEN(ints))])
								   : arg_scalar_f(reals[choose_below(w->c, ARRAY_LEN(reals))]);
}

/* Numbers of a range decide how many elements there are. */
static bool is_free_number(const struct param *q, const struct arg *a) { return a->tag == ARG_SCALAR && q->role != R_RANGE; }

/* Numbers that overflow, that are no numbers, or of another kind; legal or not. No exponents: a derivative's is one less, rounded. */
static void draw_odd_numbers(struct world *w, struct node *n)
{
	for (int k = 0; k < op_info[n->op].nparam && magnitude_of(n->op) != MAG_POWER; k++)
		if (is_free_number(&op_info[n->op].param[k], &n->arg[k]) && choose_chance(w->c, ODD_NUMBER_CHANCE))
			n->arg[k] = any_number(w, magnitude_of(n->op) == MAG_DOTS);
}

static bool wrong_list(struct world *w, struct arg *a, bool dims)
{
	int64_t value[2 * MAX_RANK + 1];
	int n = MIN(a->n, 2 * MAX_RANK);
	for (int i = 0; i < n; i++)
		value[i] = a->ints[i].value;
	switch (choose_below(w->c, 3)) {
	case 0:
		value[n] = dims ? (n ? value[0] : MAX_RANK + 2) : 2;
		n++;
		break;
	case 1:
		if (!n)
			return false;
		n--;
		break;
	default:
		if (!n)
			return false;
		value[choose_below(w->c, (uint64_t)n)] += dims ? (choose_chance(w->c, 50) ? MAX_RANK : -MAX_RANK - 1) : 2;
		break;
	}
	*a = arg_ints(w->p, value, n);
	return true;
}

static bool wrong_integer(struct world *w, const struct param *q, struct arg *a)
{
	static const int64_t steps[] = {0, -1}, others[] = {-1, 1, -3, 7, 100, -20};
	if (a->tag != ARG_INT)
		return false;
	int64_t v = a->i.value;
	switch (q->kind) {
	case K_DIM: v = choose_chance(w->c, 50) ? v + MAX_RANK : v - MAX_RANK - 1; break;
	case K_STEP: v = steps[choose_below(w->c, ARRAY_LEN(steps))]; break;
	default: v += others[choose_below(w->c, ARRAY_LEN(others))]; break;
	}
	*a = arg_int(v);
	return true;
}

/* Backward of overlapping windows checks no size and no position. */
static bool is_unchecked(int op)
{
	bool whole = false;
	for (int k = 0; k < op_info[op].nparam; k++)
		whole |= op_info[op].param[k].role == R_WHOLE;
	return (whole && op_has(op, T_ACCUMULATES)) || pooled_is_read(op) || op == OP_max_pool2d_with_indices
		|| op == OP_max_pool3d_with_indices; /* a window without an element has an index that is none */
}

/* PyTorch 2.11 ends its process for an integer range of a step of 0.5. */
static bool counts_through(int op)
{
	for (int k = 0; k < op_info[op].nparam; k++)
		if (op_info[op].param[k].role == R_RANGE)
			return true;
	return false;
}

static bool wrong_argument(struct world *w, struct node *n, int k)
{
	static const char *const words[] = {"median", "sum", "prod", "mean", "amax", "amin"};
	const struct param *q = &op_info[n->op].param[k];
	struct arg *a = &n->arg[k];
	if (param_is_stated(q) || (q->role == R_KEEP && q->has_default) || q->role == R_TRAINING || q->role == R_PADDING || q->role == R_NROWS)
		return false;
	switch (q->kind) {
	case K_DIM:
	case K_INDEX:
	case K_STEP:
	case K_INT: return wrong_integer(w, q, a);
	case K_SIZE:
	case K_INTS:
	case K_DIMS: return a->tag == ARG_INTS && wrong_list(w, a, q->kind == K_DIMS);
	case K_SCALAR: *a = q->role == R_RANGE ? arg_scalar_i(-5) : wrong_number(w); return true;
	case K_STR: *a = arg_str(w->p, words[choose_below(w->c, ARRAY_LEN(words))]); return true;
	case K_DTYPE:
		if (op_info[n->op].param[0].role == R_BEGIN || op_info[n->op].param[1].role == R_BEGIN)
			return false; /* another dtype may not hold what the end holds */
		*a = arg_dtype(counts_through(n->op) ? DT_F32 : any_dtype(w));
		return true;
	case K_FORMAT: *a = arg_format((enum memory_format)choose_below(w->c, NFORMATS)); return true;
	case K_BOOL: *a = arg_bool(!a->b); return true;
	default: return false;
	}
}

/* ---- one operand ------------------------------------------------------------------------------------------------------------- */

/* The input's sizes are these, in the layout that a tensor has by default. */
static void set_sizes(struct world *w, struct node *input, const int64_t *size, int rank)
{
	input->arg[A_input_size] = arg_ints(w->p, size, rank);
	input->arg[A_input_stride] = (struct arg){.tag = ARG_NONE};
	input->arg[A_input_offset] = arg_int(0);
	if (strncmp(input->arg[A_input_fill].str, "unique", 6) == 0) /* along a dim that may be gone */
		input->arg[A_input_fill] = arg_str(w->p, "index");
}

static bool wrong_sizes(struct world *w, struct node *input)
{
	struct shape s = shape_of(&input->out[0].meta);
	const bool add = s.rank == 0 || (s.rank < MAX_DRAWN_RANK && choose_chance(w->c, 30));
	if (add)
		s.size[s.rank++] = 2;
	else if (choose_chance(w->c, 30))
		s.rank--;
	else
		s.size[choose_below(w->c, (uint64_t)s.rank)] += choose_int(w->c, 1, 3);
	set_sizes(w, input, s.size, s.rank);
	return true;
}

/* PyTorch 2.11's kernel does not look at the number of samples, and writes beyond its result. */
static bool takes_any_samples(int op) { return op == OP_avg_pool2d_backward; }

/* Those of batch norm, attention and adaptive averages' gradients look at no sizes of other operands: they read beyond them. */
static bool reads_any_sizes(int op)
{
	return op == OP_batch_norm_functional || op == OP_batch_norm_no_training || op == OP_batch_norm_no_stats || op == OP_attention_for_cpu
		|| op == OP_attention_for_cpu_backward || op == OP_adaptive_avg_pool2d_backward || op == OP_adaptive_avg_pool3d_backward;
}

/* Kernels of these check what is in range; those of embeddings do not. */
static bool checks_positions(enum role r) { return role_is_positions(r) && r != R_IDS && r != R_ROWS; }

static bool wrong_operand(struct world *w, int op, const struct param *q, int operand)
{
	struct node *input = &w->p->node[operand];
	const bool trusts = trusts_operands(op);
	if (trusts && role_is_positions(q->role))
		return false;
	if (!trusts && checks_positions(q->role) && choose_chance(w->c, 40)) {
		const int64_t high = node_int(input, A_input_high);
		if (meta_numel(&input->out[0].meta) == 0 || high < 1)
			return false;
		input->arg[A_input_fill] = arg_str(w->p, "index");
		input->arg[A_input_high] = arg_int(3 * high + 2);
		return true;
	}
	if (trusts || takes_any_samples(op) || reads_any_sizes(op) || (choose_chance(w->c, 50) && !role_is_positions(q->role))) {
		input->arg[A_input_dtype] = arg_dtype(any_dtype(w));
		return true;
	}
	return wrong_sizes(w, input);
}

static bool make_wrong(struct world *w, int node)
{
	struct node *n = &w->p->node[node];
	for (int tries = 0; tries < 8 && op_info[n->op].nparam && !is_unchecked(n->op); tries++) {
		const int k = (int)choose_below(w->c, (uint64_t)op_info[n->op].nparam);
		const struct param *q = &op_info[n->op].param[k];
		if (n->arg[k].tag == ARG_TENSOR && wrong_operand(w, n->op, q, n->arg[k].node))
			return true;
		const int entry = n->arg[k].tag == ARG_TENSORS && n->arg[k].n ? n->arg[k].nodes[choose_below(w->c, (uint64_t)n->arg[k].n)] : -1;
		if (entry >= 0 ? wrong_operand(w, n->op, q, entry) : !trusts_operands(n->op) && wrong_argument(w, n, k))
			return true;
	}
	return false;
}

/* Self and what has its dtype get one that the row does not list. */
static void retype(struct world *w, int node, enum dtype to)
{
	const struct node *n = &w->p->node[node];
	int self = op_self(n->op);
	if (self >= 0 && n->arg[self].tag == ARG_SCALAR) /* 1 - x */
		self++;
	if (self < 0)
		return;
	const enum dtype from = node_meta(w->p, n->arg[self].tag == ARG_TENSORS ? n->arg[self].nodes[0] : n->arg[self].node)->dtype;
	for (int i = 0; i < node; i++)
		if (node_meta(w->p, i)->dtype == from && !w->fact[i].index && !str_eq(w->p->node[i].arg[A_input_fill].str, "mask"))
			w->p->node[i].arg[A_input_dtype] = arg_dtype(to);
}

/* ---- the call ---------------------------------------------------------------------------------------------------------------- */

static bool draw_policy(struct policy *pol, int op, struct choices *c, struct err *err)
{
	static const struct {
		enum feature feature;
		int chance;
	} chances[] = {{PF_permuted, 35}, {PF_gapped, 20}, {PF_offset, 20}, {PF_broadcast, 12}, {PF_overlap, 4}, {PF_size_zero, 4},
		{PF_size_one, 18}, {PF_ladder, 10}, {PF_large, 0}, {PF_input_view, 0}, {PF_grad, 40}, {PF_chain, 0}, {PF_reuse, 0}, {PF_plain, 40},
		{PF_mixed, 15}, {PF_number, 30}, {PF_overlap_write, 0}, {PF_zeros, 4}, {PF_unseen, 0}, {PF_lanes, 4}, {PF_masks, 25}, {PF_wide, 8},
		{PF_positive, 40}};
	if (!policy_draw(pol, "default", &(struct policy_limits){.ops = op_info[op].name}, c, err))
		return false;
	for (int i = 0; i < ARRAY_LEN(chances); i++)
		pol->chance[chances[i].feature] = chances[i].chance;
	for (int t = 0; t < NDTYPES; t++)
		pol->dtype[t] = 1 + 2 * (t == DT_F32);
	pol->max_numel = CALL_NUMEL;
	return true;
}

/* Inputs and the row; what takes its results apart goes. */
static bool one_row(struct prog *p, int *node)
{
	int n = p->nnode;
	while (n && p->node[n - 1].op == OP_getitem)
		n--;
	for (int i = 0; i < n - 1; i++)
		if (p->node[i].op != OP_input)
			return false;
	p->nnode = n;
	*node = n - 1;
	return n > 0;
}

static void print_call(struct strbuf *sb, const struct prog *p, int node)
{
	sb_puts(sb, "# scatterproof 1\n");
	for (int i = 0; i <= node; i++) {
		struct node *n = &p->node[i];
		n->refusal = ""; /* no annotations: what comes of it is not said */
		node_print(sb, p, i);
	}
	const struct node *first = node && !op_has(p->node[node].op, T_INPLACE_VIEW) ? &p->node[0] : &p->node[node];
	sb_printf(sb, "return (%s,)\n", first->name);
}

/* The dtypes that a row lists take turns, then -1 twice. */
static int turn(int op, int64_t number)
{
	int listed[NDTYPES], n = 0;
	for (int t = 0; t < NDTYPES; t++)
		if (op_info[op].dtypes & DTS(t))
			listed[n++] = t;
	const int64_t k = number % (n + 2);
	return k < n ? listed[k] : -1;
}

/* The edits of one call. False: they made an input that there is none of. */
static bool make_odd(struct world *w, int node, int self)
{
	struct node *n = &w->p->node[node];
	if (n->nout == 0 && counts_through(n->op))
		return false;
	const int stated = op_stated(n->op);
	draw_odd_numbers(w, n);
	if (self >= 0 && !(op_info[n->op].dtypes & DTS(self)))
		retype(w, node, (enum dtype)self);
	if (choose_chance(w->c, WRONG_CHANCE))
		make_wrong(w, node);
	for (int i = 0; i < node; i++)
		if (!prog_infer_node(w->p, i, NULL))
			return false;
	if (stated >= 0 && !state_count(w, node))
		n->arg[stated] = arg_int(0);
	return true;
}

static uint64_t call_seed(int op, int self, uint64_t seed, int64_t number, struct arena *a)
{
	const char *key = arena_printf(a, "%" PRIu64 " %s %" PRId64 " %d", seed, op_info[op].name, number, self);
	const struct hash128 h = hash_bytes(key, strlen(key));
	uint64_t out = 0;
	for (int i = 0; i < 8; i++)
		out = out << 8 | h.b[i];
	return out;
}

bool gen_call(struct strbuf *sb, int op, int self, uint64_t seed, int64_t number, struct arena *a, struct err *err)
{
	struct choices c;
	struct policy *pol = ARENA_NEW(a, struct policy, 1);
	struct world *w = ARENA_NEW(a, struct world, 1);
	struct prog *p = ARENA_NEW(a, struct prog, 1);
	choices_from_seed(&c, call_seed(op, self, seed, number, a));
	bool made = false, ok = draw_policy(pol, op, &c, err);
	for (int tries = 0; ok && !made && tries < MAX_TRIES; tries++) {
		int node;
		begin_program(w, p, a, &c, pol);
		w->stats = NULL;
		w->alone = true;
		w->self_dtype = self >= 0 && op_info[op].dtypes & DTS(self) ? self : turn(op, number);
		made = add_op(w, op, -1) >= 0 && one_row(p, &node) && make_odd(w, node, self);
		if (made)
			print_call(sb, p, node);
	}
	choices_free(&c);
	return ok && (made || err_set(err, "no call of %s was made", op_info[op].name));
}
