/* reorder.c: see reorder.h. The program is built again, a nest after the other. */
#include "compiled/loops/reorder.h"

#include "compiled/loops/schedule.h"

enum { MOST_TILE_CPU = 64, MOST_TILE_GPU = 32, MOST_JAM = 1024, LEAST_JAM = 2, MOST_LOCAL = 32 << 10 };

struct reorder {
	enum reorder_for machine;
	const struct loops *from;
	const struct loop_ins *const *made; /* loops_indices(from) */
	struct loops *to;
	int *by; /* loops_copy */
};

/* Loops of a nest, by instruction. `run`: the first parallel ones that stand directly in one another. */
struct nest {
	int outer[MAX_LOOP_DEPTH], nouter;
	int run[MAX_LOOP_DEPTH], nrun;
	int begin, end; /* of the body of the run's last one */
	bool raises, loops;
};

static void find_nest(struct nest *n, const struct loops *l, int at)
{
	*n = (struct nest){.begin = at};
	for (bool inside = true; inside && l->ins[at].op == LOOP_FOR; at++) {
		if (n->nrun && !l->ins[at].parallel)
			break;
		if (l->ins[at].parallel)
			n->run[n->nrun++] = at;
		else
			n->outer[n->nouter++] = at;
		n->begin = at + 1;
		inside = l->ins[at + 1].op == LOOP_FOR && l->ins[at + 1].match == l->ins[at].match - 1;
	}
	n->end = l->ins[n->begin - 1].match;
	for (int i = n->begin; i < n->end; i++) {
		n->raises |= l->ins[i].op == LOOP_BOUND;
		n->loops |= l->ins[i].op == LOOP_FOR;
	}
}

/* ---- how cells are walked ---- */

static int64_t step_of(const struct reorder *r, const struct loop_ins *access, int variable)
{
	const struct affine at = loops_expanded(access->at, r->made);
	for (int k = 0; k < at.n; k++)
		if (at.term[k].reg == variable)
			return at.term[k].times;
	return 0;
}

static bool is_strided(const struct reorder *r, const struct loop_ins *access, int variable)
{
	const int64_t step = step_of(r, access, variable);
	return step < -1 || step > 1;
}

static bool is_access(const struct loop_ins *i) { return i->op == LOOP_LOAD || i->op == LOOP_STORE; }

/* Of the accesses in the loops of n's body, or in all of it if it has none: those that are strided for a variable, or (NO_REG) for that
 * of the innermost loop around them. */
static int count_strided(const struct reorder *r, const struct nest *n, int variable)
{
	int inner[MAX_LOOP_DEPTH], depth = 0, count = 0;
	for (int i = n->begin; i < n->end; i++) {
		const struct loop_ins *ins = &r->from->ins[i];
		if (ins->op == LOOP_FOR)
			inner[depth++] = ins->dst;
		else if (ins->op == LOOP_END && r->from->ins[ins->match].op == LOOP_FOR)
			depth--;
		else if (is_access(ins) && (depth > 0 || !n->loops))
			count += is_strided(r, ins, variable != NO_REG ? variable : inner[depth - 1]);
	}
	return count;
}

/* Which of the run becomes its innermost: by number in n->run. */
static int innermost(const struct reorder *r, const struct nest *n)
{
	int best = n->nrun - 1, least = count_strided(r, n, r->from->ins[n->run[best]].dst);
	for (int k = n->nrun - 2; k >= 0; k--) {
		const int count = count_strided(r, n, r->from->ins[n->run[k]].dst);
		if (count < least) {
			least = count;
			best = k;
		}
	}
	return best;
}

/* Loads that are strided for q's variable and walk neighbours for p's. */
static bool is_crossed(const struct reorder *r, const struct loop_ins *i, int p, int q)
{
	const int64_t step = is_access(i) && is_strided(r, i, q) ? step_of(r, i, p) : 0;
	return step == 1 || step == -1;
}

/* The loop of the run along which most accesses walk neighbours that are strided for loop q of it. -1: none. */
static int crossing(const struct reorder *r, const struct nest *n, int q)
{
	int best = -1, most = 0;
	for (int k = 0; k < n->nrun; k++) {
		int count = 0;
		for (int i = n->begin; i < n->end && k != q; i++)
			count += is_crossed(r, &r->from->ins[i], r->from->ins[n->run[k]].dst, r->from->ins[n->run[q]].dst);
		if (count > most) {
			most = count;
			best = k;
		}
	}
	return best;
}

/* ---- building ---- */

static void copy(struct reorder *r, int begin, int end)
{
	for (int i = begin; i < end; i++)
		loops_copy(r->to, r->from, &r->from->ins[i], r->by);
}

static void open_loop(struct reorder *r, int loop) { copy(r, loop, loop + 1); }

static int open_tiles(struct reorder *r, int loop, int64_t tile)
{
	const int variable = loops_for_tiles(r->to, r->from->ins[loop].imm, tile);
	r->to->ins[r->to->nins - 1].parallel = true;
	return variable;
}

static void open_within(struct reorder *r, int loop, int tiles, int64_t tile)
{
	r->by[r->from->ins[loop].dst] = loops_for_within(r->to, r->from->ins[loop].imm, tiles, tile);
	r->to->ins[r->to->nins - 1].parallel = true;
}

/* The loops outside of the run, and those of the run but two (-1: none). */
static void open_others(struct reorder *r, const struct nest *n, int p, int q)
{
	for (int k = 0; k < n->nouter; k++)
		open_loop(r, n->outer[k]);
	for (int k = 0; k < n->nrun; k++)
		if (k != p && k != q)
			open_loop(r, n->run[k]);
}

static void close_to(struct reorder *r, int depth)
{
	while (r->to->depth > depth)
		loops_end(r->to);
}

int64_t loops_tile(int64_t n, int64_t most)
{
	CHECK(n >= LEAST_CUT);
	while (most > 2 && most > (n + 1) / 2)
		most /= 2;
	return most;
}

/* ---- interchange ---- */

static void interchanged(struct reorder *r, const struct nest *n, int q)
{
	open_others(r, n, -1, q);
	open_loop(r, n->run[q]);
	copy(r, n->begin, n->end);
	close_to(r, 0);
}

/* ---- tiles ---- */

struct tiles {
	int p, q; /* instructions: the loops that are cut; q becomes the innermost */
	int64_t p_tile, q_tile;
	int ps, qs; /* variables of the loops over tiles */
	int *stage; /* by instruction of the body from its begin: the local buffer that a load reads; -1: none */
	int nstaged;
};

/* May a load be taken from memory before the body, whatever conditions it stands under? Its cells are known, and none is written. */
static bool is_early(const struct reorder *r, const struct nest *n, const struct loop_ins *load)
{
	int64_t least, greatest;
	const struct affine at = loops_expanded(load->at, r->made);
	for (int k = 0; k < at.n; k++) {
		bool around = false;
		for (int i = 0; i < n->nrun; i++)
			around |= r->from->ins[n->run[i]].dst == at.term[k].reg;
		for (int i = 0; i < n->nouter; i++)
			around |= r->from->ins[n->outer[i]].dst == at.term[k].reg;
		if (!around)
			return false;
	}
	for (int i = n->begin; i < n->end; i++)
		if (r->from->ins[i].op == LOOP_STORE && r->from->ins[i].buffer == load->buffer)
			return false;
	return affine_range(&least, &greatest, r->from, &at) && least >= 0 && greatest < r->from->buffer[load->buffer].ncells;
}

static bool is_staged(const struct reorder *r, const struct nest *n, const struct tiles *t, int i)
{
	const struct loop_ins *ins = &r->from->ins[i];
	return ins->op == LOOP_LOAD && is_crossed(r, ins, r->from->ins[t->p].dst, r->from->ins[t->q].dst) && is_early(r, n, ins);
}

/* Lengths of tiles with which all that is staged fits; false: it does not. */
static bool size_tiles(struct tiles *t, const struct reorder *r, const struct nest *n)
{
	const int64_t np = r->from->ins[t->p].imm, nq = r->from->ins[t->q].imm;
	int64_t bytes = 0; /* of a cell of each */
	if (np < LEAST_CUT || nq < LEAST_CUT)
		return false;
	for (int i = n->begin; i < n->end; i++)
		if (is_staged(r, n, t, i))
			bytes += dtype_nbytes(r->from->buffer[r->from->ins[i].buffer].dtype);
	for (int64_t most = r->machine == REORDER_GPU ? MOST_TILE_GPU : MOST_TILE_CPU; most >= 2; most /= 2) {
		t->p_tile = loops_tile(np, most);
		t->q_tile = loops_tile(nq, most);
		if (bytes * (t->p_tile + 1) * t->q_tile <= MOST_LOCAL)
			return bytes > 0 || r->machine == REORDER_CPU;
	}
	return false;
}

/* Where a staged cell is: rows along p, one cell apart from each other lest they share a cache's or a memory's bank. */
static struct affine staged_cell(const struct tiles *t, int p, int q)
{
	const struct affine own_q = affine_reg(q), ps = affine_reg(t->ps), qs = affine_reg(t->qs);
	const int64_t row = t->p_tile + 1;
	struct affine at = affine_reg(p);
	affine_add(&at, &ps, -1);
	affine_add(&at, &own_q, row);
	affine_add(&at, &qs, -row);
	return at;
}

static struct affine renamed(const struct affine *at, const int *by)
{
	struct affine out = affine_const(at->base);
	for (int k = 0; k < at->n; k++) {
		const struct affine term = affine_reg(by[at->term[k].reg]);
		affine_add(&out, &term, at->term[k].times);
	}
	return out;
}

/* The tile's cells of what a load reads, as they lie in memory, into a buffer of the tile's own. */
static void stage(struct reorder *r, const struct nest *n, struct tiles *t, int i)
{
	const struct loop_ins *load = &r->from->ins[i];
	struct loops *to = r->to;
	const int cells = loops_buffer(to, to->buffer[load->buffer].dtype, (t->p_tile + 1) * t->q_tile, -1), depth = to->depth;
	to->buffer[cells].local = true;
	open_within(r, t->q, t->qs, t->q_tile);
	open_within(r, t->p, t->ps, t->p_tile);
	const struct affine expanded = loops_expanded(load->at, r->made), from = renamed(&expanded, r->by);
	const struct affine at = staged_cell(t, r->by[r->from->ins[t->p].dst], r->by[r->from->ins[t->q].dst]);
	loops_store(to, cells, &at, loops_load(to, REG_BITS, load->buffer, &from));
	close_to(r, depth);
	t->stage[i - n->begin] = cells;
}

static void tiled_body(struct reorder *r, const struct nest *n, const struct tiles *t)
{
	open_within(r, t->p, t->ps, t->p_tile);
	open_within(r, t->q, t->qs, t->q_tile);
	const struct affine at = staged_cell(t, r->by[r->from->ins[t->p].dst], r->by[r->from->ins[t->q].dst]);
	for (int i = n->begin; i < n->end; i++) {
		const struct loop_ins *ins = &r->from->ins[i];
		if (t->stage[i - n->begin] >= 0)
			r->by[ins->dst] = loops_load(r->to, ins->type, t->stage[i - n->begin], &at);
		else
			loops_copy(r->to, r->from, ins, r->by);
	}
}

/* p, q: by number in n->run. False: there are no tiles of these. */
static bool tiled(struct reorder *r, const struct nest *n, int p, int q)
{
	struct tiles t = {.p = n->run[p], .q = n->run[q], .stage = ARENA_NEW(r->from->arena, int, n->end - n->begin)};
	if (!size_tiles(&t, r, n))
		return false;
	open_others(r, n, p, q);
	t.ps = open_tiles(r, t.p, t.p_tile);
	t.qs = open_tiles(r, t.q, t.q_tile);
	for (int i = n->begin; i < n->end; i++) {
		t.stage[i - n->begin] = -1;
		if (is_staged(r, n, &t, i))
			stage(r, n, &t, i);
	}
	tiled_body(r, n, &t);
	close_to(r, 0);
	return true;
}

/* ---- jam ---- */

/* q: by number in n->run. False: it stays where it is. */
static bool jammed(struct reorder *r, const struct nest *n, int q)
{
	const struct loop_ins *loop = &r->from->ins[n->run[q]];
	struct jam j;
	int64_t bytes, most = MOST_JAM;
	if (r->machine == REORDER_GPU || loop->imm < LEAST_CUT || count_strided(r, n, loop->dst) >= count_strided(r, n, NO_REG)
		|| !jam_begin(&j, r->from, n->begin - 1, &bytes))
		return false;
	while (most >= LEAST_JAM && most * bytes > MOST_LOCAL)
		most /= 2;
	if (most < LEAST_JAM)
		return false;
	open_others(r, n, -1, q);
	j.cut = n->run[q];
	j.to = r->to;
	j.by = r->by;
	j.tile = loops_tile(loop->imm, most);
	j.tiles = open_tiles(r, n->run[q], j.tile);
	jam_body(&j);
	close_to(r, 0);
	return true;
}

/* ---- all of it ---- */

static void reorder_nest(struct reorder *r, int begin, int end)
{
	struct nest n;
	find_nest(&n, r->from, begin);
	if (n.nrun == 0 || n.raises) {
		copy(r, begin, end);
		return;
	}
	const int q = innermost(r, &n), p = n.loops ? -1 : crossing(r, &n, q);
	if ((p >= 0 && tiled(r, &n, p, q)) || (n.loops && jammed(r, &n, q)))
		return;
	interchanged(r, &n, q);
}

void loops_reorder(struct loops *l, enum reorder_for machine)
{
	struct loops out;
	struct reorder r = {machine, l, loops_indices(l, l->arena), &out, ARENA_NEW(l->arena, int, MAX(l->nreg, 1))};
	CHECK(!l->nsymbol);
	loops_init(&out, l->arena);
	for (int b = 0; b < l->nbuffer; b++)
		loops_buffer(&out, l->buffer[b].dtype, l->buffer[b].ncells, l->buffer[b].input);
	for (int i = 0, end; i < l->nins; i = end) {
		end = loops_end_of(l, i);
		if (l->ins[i].op == LOOP_FOR)
			reorder_nest(&r, i, end);
		else
			copy(&r, i, end);
	}
	out.nret = l->nret;
	out.results_stay = l->results_stay;
	out.ret = l->ret;
	*l = out;
}
