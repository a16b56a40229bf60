/* schedule.c: see schedule.h. */
#include "compiled/loops/schedule.h"

#include <stdlib.h>

#include "generated/op_id.h"

/* ---- cells as numbers in a mixed radix ---- */

/* A term of the difference of two cells: `times` a number in [low, high]. */
struct digit {
	int64_t times, low, high;
	bool known, parallel;
};
enum { MAX_DIGITS = 8 * MAX_RANK };
struct digits {
	struct digit of[MAX_DIGITS];
	int n;
	bool too_many;
};

static void add_digit(struct digits *d, int64_t times, int64_t low, int64_t high, bool known, bool parallel)
{
	if (times < 0)
		add_digit(d, -times, -high, -low, known, parallel);
	if (times <= 0)
		return;
	for (int k = 0; k < d->n; k++) {
		struct digit *g = &d->of[k];
		if (g->times == times && !g->parallel && !parallel) {
			*g = (struct digit){times, g->low + low, g->high + high, g->known && known, false};
			return;
		}
	}
	if (d->n == MAX_DIGITS)
		d->too_many = true;
	else
		d->of[d->n++] = (struct digit){times, low, high, known, parallel};
}

/* Largest first; of equal ones a parallel one last: then the other is not larger than what follows, and nothing is decided. */
static int by_size(const void *a, const void *b)
{
	const struct digit *x = a, *y = b;
	if (x->times != y->times)
		return x->times < y->times ? 1 : -1;
	return (int)x->parallel - (int)y->parallel;
}

/* Can the digits add up to `base` only with all parallel ones 0? They can if each digit from the smallest parallel one up is larger than
 * all below it together. */
static bool decides(struct digits *d, int64_t base)
{
	int64_t reach = base < 0 ? -base : base;
	if (d->too_many)
		return false;
	qsort(d->of, (size_t)d->n, sizeof *d->of, by_size);
	int last = d->n - 1;
	while (last >= 0 && !d->of[last].parallel)
		last--;
	for (int k = d->n - 1; k >= 0; k--) {
		const struct digit *g = &d->of[k];
		if (k <= last && g->times <= reach)
			return false;
		if (!g->known) /* it may only be the largest */
			return k == 0;
		const int64_t most = MAX(MAX(g->high, -g->low), 0);
		if (most && g->times > (INT64_MAX - reach) / most)
			return false;
		reach += g->times * most;
	}
	return true;
}

/* ---- one nest ---- */

const struct loop_ins **loops_indices(const struct loops *l, struct arena *a)
{
	const struct loop_ins **made = ARENA_ZNEW(a, const struct loop_ins *, MAX(l->nreg, 1));
	for (int i = 0; i < l->nins; i++)
		if (l->ins[i].op == LOOP_INDEX)
			made[l->ins[i].dst] = &l->ins[i];
	return made;
}

struct affine loops_expanded(const struct affine *at, const struct loop_ins *const *made)
{
	struct affine out = affine_const(at->base);
	bool whole = true;
	for (int k = 0; k < at->n && whole; k++) {
		const struct loop_ins *index = made[at->term[k].reg];
		const struct affine own = index ? loops_expanded(index->at, made) : affine_reg(at->term[k].reg);
		whole = out.n + own.n <= ARRAY_LEN(out.term);
		if (whole)
			affine_add(&out, &own, at->term[k].times);
	}
	return whole ? out : *at;
}

struct access {
	int buffer;
	bool stored;
	struct affine at; /* registers that stand for an index are replaced by it */
};

struct nest {
	const struct loops *l;
	int begin, end;
	const struct loop_ins *const *made; /* loops_indices */
	bool *parallel;                     /* by register: variable of a loop that is to be parallel */
	struct access *access;
	int naccess;
};

static const struct affine_term *term_of(const struct affine *a, int reg)
{
	for (int k = 0; k < a->n; k++)
		if (a->term[k].reg == reg)
			return &a->term[k];
	return NULL;
}

static void add_terms(struct digits *d, const struct nest *n, const struct affine *a, int64_t sign)
{
	for (int k = 0; k < a->n; k++) {
		const int64_t extent = n->l->extent[a->term[k].reg];
		if (!n->parallel[a->term[k].reg])
			add_digit(d, sign * a->term[k].times, 0, extent - 1, extent > 0, false);
	}
}

/* Is a cell of x in one iteration never one of y in another? */
static bool apart(const struct nest *n, const struct affine *x, const struct affine *y)
{
	struct digits d = {.n = 0};
	for (int i = n->begin; i < n->end; i++) {
		const struct loop_ins *loop = &n->l->ins[i];
		if (loop->op != LOOP_FOR || !n->parallel[loop->dst])
			continue;
		const struct affine_term *a = term_of(x, loop->dst), *b = term_of(y, loop->dst);
		if (!a || !b || a->times != b->times)
			return false;
		add_digit(&d, a->times, 1 - loop->imm, loop->imm - 1, true, true);
	}
	add_terms(&d, n, x, 1);
	add_terms(&d, n, y, -1);
	return decides(&d, x->base - y->base);
}

static bool all_apart(const struct nest *n)
{
	enum { MAX_PAIRS = 20000 };
	int64_t pairs = 0;
	for (int i = 0; i < n->naccess; i++)
		for (int k = i; k < n->naccess; k++) {
			const struct access *a = &n->access[i], *b = &n->access[k];
			if (a->buffer != b->buffer || !(a->stored || b->stored))
				continue;
			if (++pairs > MAX_PAIRS || !apart(n, &a->at, &b->at))
				return false;
		}
	return true;
}

/* Registers that are set in the nest must be made in it; kernels of eager run alone. */
static bool keeps_to_itself(const struct nest *n)
{
	bool *own = ARENA_ZNEW(n->l->arena, bool, MAX(n->l->nreg, 1)), keeps = true;
	for (int i = n->begin; i < n->end; i++) {
		const struct loop_ins *ins = &n->l->ins[i];
		keeps &= ins->op != LOOP_EXTERN && (ins->op != LOOP_SET || own[ins->dst]);
		if (ins->dst != NO_REG)
			own[ins->dst] = true;
	}
	return keeps;
}

static void find_accesses(struct nest *n)
{
	n->access = ARENA_NEW(n->l->arena, struct access, n->end - n->begin);
	for (int i = n->begin; i < n->end; i++) {
		const struct loop_ins *ins = &n->l->ins[i];
		if (ins->op == LOOP_LOAD || ins->op == LOOP_STORE)
			n->access[n->naccess++] = (struct access){ins->buffer, ins->op == LOOP_STORE, loops_expanded(ins->at, n->made)};
	}
}

/* The loops at the head of a nest, the outermost first: each is parallel that can be beside those that are. */
static void schedule_nest(struct loops *l, int begin, int end, const struct loop_ins *const *made)
{
	struct arena_mark m = arena_mark(l->arena);
	struct nest n = {.l = l, .begin = begin, .end = end, .made = made, .parallel = ARENA_ZNEW(l->arena, bool, MAX(l->nreg, 1))};
	const bool may = keeps_to_itself(&n);
	if (may)
		find_accesses(&n);
	for (int i = begin; may && i < end && l->ins[i].op == LOOP_FOR; i++) {
		bool *parallel = &n.parallel[l->ins[i].dst];
		*parallel = true;
		*parallel = l->ins[i].parallel = all_apart(&n);
	}
	arena_release(l->arena, m);
}

/* ---- sums ---- */

static bool made_in(const struct loops *l, int begin, int end, int reg)
{
	for (int i = begin; i < end; i++)
		if (l->ins[i].op != LOOP_SET && l->ins[i].dst == reg)
			return true;
	return false;
}

struct uses {
	int reg, n;
};

static void count_use(void *ctx, int reg)
{
	struct uses *u = ctx;
	u->n += u->reg == reg;
}

static int uses_in(const struct loops *l, int begin, int end, int reg)
{
	struct uses u = {reg, 0};
	for (int i = begin; i < end; i++)
		loops_each_operand(&l->ins[i], count_use, &u);
	return u.n;
}

/* Is instruction `set` `v := add(v, x; 1)`, wide, and does nothing else in the loop use v? */
static bool adds(const struct loops *l, int begin, int end, int set)
{
	const struct loop_ins *s = &l->ins[set], *sum = set > begin ? &l->ins[set - 1] : NULL, *one = NULL;
	if (!sum || sum->op != LOOP_ROW || sum->dst != s->a || sum->row != OP_add_Tensor || (sum->type != REG_F64 && sum->type != REG_I64)
		|| sum->a != s->dst || sum->b == s->dst || sum->scalar[0] == NO_REG)
		return false;
	for (int i = 0; i < set; i++)
		if (l->ins[i].dst == sum->scalar[0])
			one = &l->ins[i];
	return one && one->op == LOOP_CONST && (sum->type == REG_F64 ? one->value.f64 == 1 : one->value.i64 == 1)
		&& uses_in(l, begin, end, s->dst) == 2 && uses_in(l, begin, end, s->a) == 1; /* by the row, and by the SET itself */
}

static bool is_summed(const struct loops *l, int loop)
{
	const int begin = loop + 1, end = l->ins[loop].match;
	int nsums = 0;
	for (int i = begin; i < end; i++) {
		const struct loop_ins *ins = &l->ins[i];
		if (ins->op == LOOP_STORE || ins->op == LOOP_EXTERN)
			return false;
		if (ins->op != LOOP_SET || made_in(l, begin, end, ins->dst))
			continue;
		if (!adds(l, begin, end, i))
			return false;
		nsums++;
	}
	return nsums > 0;
}

int loops_sums(int *out, int most, const struct loops *l, int loop)
{
	const int begin = loop + 1, end = l->ins[loop].match;
	int n = 0;
	for (int i = begin; i < end; i++)
		if (l->ins[i].op == LOOP_SET && !made_in(l, begin, end, l->ins[i].dst) && n < most)
			out[n++] = l->ins[i].dst;
	return n;
}

void loops_schedule(struct loops *l)
{
	struct arena_mark m = arena_mark(l->arena);
	const struct loop_ins **made = loops_indices(l, l->arena);
	for (int i = 0, end; i < l->nins; i = end) {
		end = loops_end_of(l, i);
		schedule_nest(l, i, end, made);
		for (int at = i; at < end; at++)
			if (l->ins[at].op == LOOP_FOR && !l->ins[at].parallel && (l->ins[at].summed = is_summed(l, at)))
				at = l->ins[at].match; /* what is in it is its own affair */
	}
	arena_release(l->arena, m);
}

/* ---- kernels ---- */

struct first_use {
	const int *kernel; /* by register: the kernel that makes it */
	int first;
};

static void take_first(void *ctx, int reg)
{
	struct first_use *u = ctx;
	u->first = MIN(u->first, u->kernel[reg]);
}

/* One item more: with what made the registers that it uses, or with the single instructions before it, or alone. */
static int add_item(struct loop_kernel *k, int n, int *kernel, const struct loops *l, int begin, int end)
{
	const bool single = end == begin + 1 && l->ins[begin].op != LOOP_EXTERN;
	struct first_use u = {kernel, n};
	for (int at = begin; at < end; at++)
		loops_each_operand(&l->ins[at], take_first, &u);
	if (single && n && k[n - 1].single)
		u.first = MIN(u.first, n - 1);
	bool all_single = single, callback = false;
	for (int at = u.first; at < n; at++) {
		all_single &= k[at].single;
		callback |= l->ins[k[at].begin].op == LOOP_EXTERN;
	}
	CHECK(!callback); /* rows are lowered one by one: none uses a register of another */
	k[u.first] = (struct loop_kernel){.begin = u.first < n ? k[u.first].begin : begin, .end = end, .single = all_single};
	for (int r = 0; r < l->nreg; r++)
		kernel[r] = kernel[r] == INT32_MAX ? INT32_MAX : MIN(kernel[r], u.first);
	for (int at = begin; at < end; at++)
		if (l->ins[at].dst != NO_REG)
			kernel[l->ins[at].dst] = u.first;
	return u.first + 1;
}

static void find_buffers(struct loop_kernel *k, const struct loops *l, struct arena *a)
{
	k->buffer = ARENA_NEW(a, int, MAX(l->nbuffer, 1));
	for (int b = 0; b < l->nbuffer; b++)
		if (!loops_touch(l, k->begin, k->end, b))
			continue;
		else if (l->buffer[b].local)
			k->tiled = true;
		else
			k->buffer[k->nbuffer++] = b;
}

static void find_head(struct loop_kernel *k, const struct loops *l)
{
	k->npoint = 1;
	if (loops_end_of(l, k->begin) != k->end)
		return;
	for (int i = k->begin; l->ins[i].op == LOOP_FOR && l->ins[i].a == NO_REG; i++)
		if (l->ins[i].parallel) {
			k->loop[k->nloop++] = i;
			k->npoint *= loop_iterations(&l->ins[i]);
		}
}

int loops_sum_chain(int loop[MAX_LOOP_DEPTH], int64_t *iterations, const struct loops *l, int at)
{
	int n = 0;
	*iterations = 1;
	do {
		loop[n++] = at;
		*iterations *= l->ins[at].imm;
		at++;
	} while (l->ins[at].op == LOOP_FOR && l->ins[at].match == l->ins[at - 1].match - 1);
	return n;
}

bool loops_walk_neighbours(const struct loops *l, int inner)
{
	for (int i = inner; i < l->ins[inner].match; i++)
		for (int t = 0; l->ins[i].op == LOOP_LOAD && t < l->ins[i].at->n; t++)
			if (l->ins[i].at->term[t].reg == l->ins[inner].dst && l->ins[i].at->term[t].times == 1)
				return true;
	return false;
}

/* One thread of a team stores, and the others would not see it. */
static bool reads_what_it_stores(const struct loops *l, const struct loop_kernel *k)
{
	for (int i = k->begin; i < k->end; i++)
		for (int at = k->begin; at < k->end && l->ins[i].op == LOOP_STORE; at++)
			if (l->ins[at].op == LOOP_LOAD && l->ins[at].buffer == l->ins[i].buffer)
				return true;
	return false;
}

/* Threads that read neighbours are as good as threads that have points of their own next to each other; so many points that the GPU is
 * full need no teams. A thread that raises leaves its team, so where positions are looked up there is none. Blocks meet once in a
 * kernel. */
static void find_team(struct loop_kernel *k, const struct loops *l)
{
	enum { FULL = 1 << 16, MANY = 1 << 10 };
	int loop = -1, nsummed = 0, depth = 0, at_depth = 0;
	bool raises = false, stores = false, stores_before = false, many = false;
	int sums[MOST_SUMS + 1];
	k->team = k->tiled ? TEAM_BLOCK : 1;
	for (int i = k->begin; i < k->end; i++) {
		raises |= l->ins[i].op == LOOP_BOUND || l->ins[i].op == LOOP_STATED;
		stores |= l->ins[i].op == LOOP_STORE;
		depth += (l->ins[i].op == LOOP_FOR || l->ins[i].op == LOOP_IF) - (l->ins[i].op == LOOP_END);
		if (l->ins[i].op == LOOP_FOR && l->ins[i].summed) {
			loop = i;
			at_depth = depth;
			stores_before = stores;
			many |= loops_sums(sums, ARRAY_LEN(sums), l, i) > MOST_SUMS;
			nsummed++;
		}
	}
	if (!nsummed || many || raises || reads_what_it_stores(l, k) || k->npoint > INT32_MAX / MAX_TEAM * TEAM_BLOCK)
		return;
	int chain[MAX_LOOP_DEPTH];
	int64_t n;
	const int inner = chain[loops_sum_chain(chain, &n, l, loop) - 1];
	const bool neighbours = loops_walk_neighbours(l, inner);
	if (n < TEAM_WARP || (!neighbours && k->npoint >= FULL))
		return;
	k->team = n >= MANY && k->npoint < FULL ? TEAM_BLOCK : TEAM_WARP;
	const bool once = nsummed == 1 && at_depth == k->nloop + 1 && !stores_before && loops_sums(sums, ARRAY_LEN(sums), l, loop) == 1;
	if (k->team == TEAM_BLOCK && once && !l->nsymbol && k->npoint < MOST_SHARED_POINTS)
		k->team = TEAM_BLOCK * (int)MAX(MIN(MOST_BLOCKS / MAX(k->npoint, 1), n / (4 * TEAM_BLOCK)), 1);
}

int loops_kernels(struct loop_kernel **out, const struct loops *l, struct arena *a)
{
	int *kernel = ARENA_NEW(a, int, MAX(l->nreg, 1)), n = 0;
	*out = ARENA_NEW(a, struct loop_kernel, l->nins + 1);
	for (int r = 0; r < l->nreg; r++)
		kernel[r] = INT32_MAX;
	for (int i = 0, end; i < l->nins; i = end) {
		end = loops_end_of(l, i);
		n = add_item(*out, n, kernel, l, i, end);
	}
	for (int i = 0; i < n; i++) {
		find_buffers(&(*out)[i], l, a);
		find_head(&(*out)[i], l);
		find_team(&(*out)[i], l);
	}
	return n;
}
