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

/* Is the number that a row is given 1? */
static bool is_one(const struct loops *l, const struct loop_ins *row)
{
	const struct loop_ins *made = NULL;
	for (const struct loop_ins *i = l->ins; i < row; i++)
		if (i->dst == row->scalar[0])
			made = i;
	return made && made->op == LOOP_CONST && (row->type == REG_F64 ? made->value.f64 == 1 : made->value.i64 == 1);
}

/* Instruction `set` is `v := add(v, x; 1)`, wide, or `v := maximum(x, v)` or `minimum(x, v)`, with the operands in either order, and
 * nothing else in the loop uses v. */
static enum loop_fold fold_of(const struct loops *l, int begin, int end, int set)
{
	const struct loop_ins *s = &l->ins[set], *row = set > begin ? &l->ins[set - 1] : NULL;
	if (!row || row->op != LOOP_ROW || row->dst != s->a || (row->type != REG_F64 && row->type != REG_I64)
		|| (row->a == s->dst) == (row->b == s->dst) || uses_in(l, begin, end, s->dst) != 2 || uses_in(l, begin, end, s->a) != 1)
		return FOLD_NONE; /* the uses: by the row, and by the SET itself */
	if (row->row == OP_maximum || row->row == OP_minimum)
		return row->row == OP_maximum ? FOLD_GREATEST : FOLD_LEAST;
	return row->row == OP_add_Tensor && row->a == s->dst && row->scalar[0] != NO_REG && is_one(l, row) ? FOLD_SUM : FOLD_NONE;
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
		if (fold_of(l, begin, end, i) == FOLD_NONE)
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

enum loop_fold loops_fold(const struct loops *l, int loop, int sum)
{
	const int begin = loop + 1, end = l->ins[loop].match;
	for (int i = begin; i < end; i++)
		if (l->ins[i].op == LOOP_SET && l->ins[i].dst == sum)
			return fold_of(l, begin, end, i);
	return FOLD_NONE;
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

/* The summed loops of a kernel, of which the last one decides. */
struct sums_of {
	int loop, n;
	bool once; /* the only one, of one sum, in no loop but the kernel's own, with no store before it */
	bool may;  /* threads may share them */
	bool conditional;
};

/* A thread that raises leaves its team, so where positions are looked up there is none. */
static struct sums_of find_sums(const struct loop_kernel *k, const struct loops *l)
{
	struct sums_of s = {.loop = -1, .may = true};
	int depth = 0, conditions = 0, sums[MOST_SUMS + 1];
	bool stores = false;
	for (int i = k->begin; i < k->end; i++) {
		const struct loop_ins *ins = &l->ins[i];
		const bool opens_if = ins->op == LOOP_IF, opens = ins->op == LOOP_FOR || opens_if, closes = ins->op == LOOP_END;
		s.may &= !loop_may_raise(ins->op);
		stores |= ins->op == LOOP_STORE;
		depth += opens - closes;
		conditions += opens_if - (closes && l->ins[ins->match].op != LOOP_FOR);
		if (ins->op != LOOP_FOR || !ins->summed)
			continue;
		const int nsum = loops_sums(sums, ARRAY_LEN(sums), l, i);
		s.loop = i;
		s.n++;
		s.may &= nsum <= MOST_SUMS;
		s.conditional |= conditions > 0;
		s.once = s.n == 1 && nsum == 1 && depth == k->nloop + 1 && !stores;
	}
	s.may &= s.n > 0 && !reads_what_it_stores(l, k);
	return s;
}

static int64_t step_along(const struct affine *at, int variable)
{
	const struct affine_term *t = term_of(at, variable);
	return t ? t->times : 0;
}

/* How many points in the order of the kernel's threads read neighbouring cells. */
static int64_t points_in_line(const struct loop_kernel *k, const struct loops *l, const struct affine *at)
{
	int64_t n = 1;
	for (int i = k->nloop - 1; i >= 0 && step_along(at, l->ins[k->loop[i]].dst) == n; i--)
		n *= loop_iterations(&l->ins[k->loop[i]]);
	return n;
}

/* Do points beside each other read neighbours in the loop, where iterations of it would not? How many; 0: no. */
static int64_t points_beside(const struct loop_kernel *k, const struct loops *l, int inner, const struct loop_ins *const *made)
{
	int along_loop = 0, along_points = 0;
	int64_t line = 0;
	for (int i = inner; k->nloop > 0 && i < l->ins[inner].match; i++) {
		if (l->ins[i].op != LOOP_LOAD)
			continue;
		const struct affine at = loops_expanded(l->ins[i].at, made);
		const int64_t step = step_along(&at, l->ins[inner].dst), across = step_along(&at, l->ins[k->loop[k->nloop - 1]].dst);
		along_loop += step < -1 || step > 1;
		along_points += across < -1 || across > 1;
		line = MAX(line, points_in_line(k, l, &at));
	}
	return along_points < along_loop && line > 1 ? line : 0;
}

/* Each thread adds up so many elements, at least, before another block helps. */
enum { LEAST_EACH = 16 };

static void find_team_beside(struct loop_kernel *k, const struct loops *l, int64_t line, int64_t n, bool once)
{
	for (k->beside = 2; k->beside < TEAM_WARP && k->beside < line;)
		k->beside *= 2;
	const int64_t groups = loops_team_groups(k, k->npoint);
	k->team = TEAM_BLOCK / k->beside;
	if (once && !l->nsymbol && groups <= MOST_SHARED_POINTS)
		k->team *= (int)MAX(MIN(2 * MOST_BLOCKS / MAX(groups, 1), n / (LEAST_EACH * k->team)), 1);
}

static bool has_loop_within(const struct loop_kernel *k, const struct loops *l)
{
	int nfor = 0;
	for (int i = k->begin; i < k->end; i++)
		nfor += l->ins[i].op == LOOP_FOR;
	return nfor > k->nloop;
}

/* Threads that read neighbours are as good as threads that have points of their own next to each other; so many points that the GPU is
 * full need no teams. Blocks meet once in a kernel. Threads of teams beside each other meet where their points differ, so not in a
 * condition. */
static void find_team(struct loop_kernel *k, const struct loops *l, const struct loop_ins *const *made)
{
	enum { FULL = 1 << 16, MANY = 1 << 10 };
	k->team = k->tiled ? TEAM_BLOCK : 1;
	k->beside = 1;
	k->each = k->npoint >= MANY_POINTS && !k->tiled && !has_loop_within(k, l) ? POINTS_EACH : 1;
	const struct sums_of sums = find_sums(k, l);
	if (!sums.may || k->npoint > INT32_MAX / MAX_TEAM * TEAM_BLOCK)
		return;
	int chain[MAX_LOOP_DEPTH];
	int64_t n;
	const int inner = chain[loops_sum_chain(chain, &n, l, sums.loop) - 1];
	const int64_t line = points_beside(k, l, inner, made);
	const bool neighbours = !line && loops_walk_neighbours(l, inner);
	if (n < TEAM_WARP || (!neighbours && k->npoint >= FULL))
		return;
	if (line && !sums.conditional) {
		find_team_beside(k, l, line, n, sums.once);
		return;
	}
	k->team = n >= MANY && k->npoint < FULL ? TEAM_BLOCK : TEAM_WARP;
	if (k->team == TEAM_BLOCK && sums.once && !l->nsymbol && k->npoint < MOST_SHARED_POINTS)
		k->team = TEAM_BLOCK * (int)MAX(MIN(MOST_BLOCKS / MAX(k->npoint, 1), n / (4 * TEAM_BLOCK)), 1);
}

int64_t loops_threads(const struct loop_kernel *k, int64_t npoint)
{
	if (k->each == 1)
		return loops_team_groups(k, npoint) * k->beside * k->team;
	return (npoint + TEAM_BLOCK * k->each - 1) / (TEAM_BLOCK * k->each) * TEAM_BLOCK;
}

int loops_kernels(struct loop_kernel **out, const struct loops *l, struct arena *a)
{
	const struct loop_ins **made = loops_indices(l, a);
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
		find_team(&(*out)[i], l, made);
	}
	return n;
}
