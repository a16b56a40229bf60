/* reused.c: defects behind the step reuse: one buffer too many that became another. Buffers are compared as reuse.c compares them: of one
 * dtype, the later one not larger; a NEST is a block that nothing encloses. */
#include "compiled/defects/spoil.h"
#include "compiled/defects/spoil_loops.h"
#include "compiled/loops/symbols.h"

/* By buffer the nests, numbered by their first instruction, that touch it first, second, last and before that; -1: none. called: the first
 * one is a call that writes it. */
struct uses {
	int *first, *second, *last, *before;
	bool *returned, *called;
};

static void touch(struct uses *u, int buffer, int nest)
{
	if (u->last[buffer] == nest)
		return;
	if (u->first[buffer] == -1)
		u->first[buffer] = nest;
	else if (u->second[buffer] == -1)
		u->second[buffer] = nest;
	u->before[buffer] = u->last[buffer];
	u->last[buffer] = nest;
}

static void touch_call(struct uses *u, const struct loop_call *call, int nest)
{
	for (int k = 0; k < call->nin; k++)
		touch(u, call->in[k].buffer, nest);
	for (int k = 0; k < call->nout; k++) {
		touch(u, call->out[k].buffer, nest);
		u->called[call->out[k].buffer] |= u->first[call->out[k].buffer] == nest;
	}
}

static void find_uses(struct uses *u, const struct loops *l)
{
	int depth = 0, nest = 0;
	u->first = ARENA_NEW(l->arena, int, MAX(l->nbuffer, 1));
	u->last = ARENA_NEW(l->arena, int, MAX(l->nbuffer, 1));
	u->before = ARENA_NEW(l->arena, int, MAX(l->nbuffer, 1));
	u->second = ARENA_NEW(l->arena, int, MAX(l->nbuffer, 1));
	u->returned = ARENA_ZNEW(l->arena, bool, MAX(l->nbuffer, 1));
	u->called = ARENA_ZNEW(l->arena, bool, MAX(l->nbuffer, 1));
	for (int b = 0; b < l->nbuffer; b++)
		u->first[b] = u->second[b] = u->last[b] = u->before[b] = -1;
	for (int i = 0; i < l->nins; i++) {
		const struct loop_ins *ins = &l->ins[i];
		if (depth == 0)
			nest = i;
		depth += (ins->op == LOOP_FOR || ins->op == LOOP_IF) - (ins->op == LOOP_END);
		if (ins->op == LOOP_LOAD || ins->op == LOOP_STORE)
			touch(u, ins->buffer, nest);
		if (ins->call)
			touch_call(u, ins->call, nest);
	}
	for (int k = 0; k < l->nret; k++)
		u->returned[l->ret[k].buffer] = true;
}

static struct place *places_instead(struct loops *l, const struct place *p, int n, int buffer, int by)
{
	struct place *out = ARENA_NEW(l->arena, struct place, MAX(n, 1));
	for (int k = 0; k < n; k++) {
		out[k] = p[k];
		out[k].buffer = p[k].buffer == buffer ? by : p[k].buffer;
	}
	return out;
}

/* Buffer b is buffer `by` from now on; nobody uses its own memory. */
static void become(struct loops *l, int b, int by)
{
	for (int i = 0; i < l->nins; i++) {
		struct loop_ins *ins = &l->ins[i];
		if ((ins->op == LOOP_LOAD || ins->op == LOOP_STORE) && ins->buffer == b)
			ins->buffer = by;
		if (!ins->call)
			continue;
		struct loop_call *call = ARENA_NEW(l->arena, struct loop_call, 1);
		*call = *ins->call;
		call->in = places_instead(l, ins->call->in, ins->call->nin, b, by);
		call->out = places_instead(l, ins->call->out, ins->call->nout, b, by);
		ins->call = call;
	}
	l->ret = places_instead(l, l->ret, l->nret, b, by);
	l->buffer[by].uses |= l->buffer[b].uses;
}

/* May b take the memory of `of`, as the defect sees it? */
typedef bool buffer_taker(const struct loops *l, const struct uses *u, int b, int of);

static bool take(struct defect_site *s, buffer_taker *may)
{
	struct uses u;
	struct loops *l = s->l;
	find_uses(&u, l);
	for (int b = 0; b < l->nbuffer; b++)
		for (int of = 0; of < l->nbuffer; of++) {
			const bool fits = l->buffer[of].dtype == l->buffer[b].dtype && loops_holds(l, &l->buffer[of], &l->buffer[b]);
			if (b == of || l->buffer[b].input >= 0 || l->buffer[b].ncells == 0 || u.first[b] == -1 || !fits || !may(l, &u, b, of))
				continue;
			become(l, b, of);
			return true;
		}
	return false;
}

static bool in_its_last_nest(const struct loops *l, const struct uses *u, int b, int of)
{
	return l->buffer[of].input < 0 && !u->returned[of] && u->last[of] == u->first[b] && u->first[of] < u->first[b];
}
bool defect_reused_in_last_nest(struct defect_site *s) { return take(s, in_its_last_nest); }

static bool before_last_reader(const struct loops *l, const struct uses *u, int b, int of)
{
	return l->buffer[of].input < 0 && u->before[of] != -1 && u->before[of] < u->first[b] && u->first[b] < u->last[of];
}
bool defect_reused_before_last_reader(struct defect_site *s) { return take(s, before_last_reader); }

/* The call writes over what is read behind it. Nobody reads the call's result, or not before that is over. */
static bool until_it_is_read(const struct loops *l, const struct uses *u, int b, int of)
{
	const bool over = u->second[b] == -1 || u->last[of] < u->second[b];
	return u->called[b] && l->buffer[of].input < 0 && !u->returned[of] && u->first[of] < u->first[b] && u->last[of] > u->first[b] && over;
}
bool defect_extern_result_unused(struct defect_site *s) { return take(s, until_it_is_read); }

static bool of_result(const struct loops *l, const struct uses *u, int b, int of)
{
	return l->buffer[of].input < 0 && u->returned[of] && !u->returned[b] && u->last[of] < u->first[b];
}
bool defect_result_reused(struct defect_site *s) { return take(s, of_result); }

static bool of_input(const struct loops *l, const struct uses *u, int b, int of)
{
	return l->buffer[of].input >= 0 && !u->returned[b] && u->last[of] < u->first[b];
}
bool defect_input_reused(struct defect_site *s) { return take(s, of_input); }

bool defect_result_of_next_call(struct defect_site *s)
{
	s->l->results_stay = s->l->nret > 0;
	return s->l->results_stay;
}
