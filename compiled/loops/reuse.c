/* reuse.c: see reuse.h. A buffer lives from the first to the last nest that touches it; a nest is a block that nothing encloses. */
#include "compiled/loops/reuse.h"

#include "compiled/loops/symbols.h"

struct lives {
	int *first, *last; /* by buffer: instructions that begin and end the nests; first -1: never touched */
};

static void touch(struct lives *v, int buffer, int begin, int end)
{
	if (v->first[buffer] == -1)
		v->first[buffer] = begin;
	v->last[buffer] = end;
}

static void touch_places(struct lives *v, const struct place *p, int n, int begin, int end)
{
	for (int k = 0; k < n; k++)
		touch(v, p[k].buffer, begin, end);
}

static void find_lives(struct lives *v, const struct loops *l)
{
	int begin = 0, end = -1;
	v->first = ARENA_NEW(l->arena, int, MAX(l->nbuffer, 1));
	v->last = ARENA_NEW(l->arena, int, MAX(l->nbuffer, 1));
	for (int b = 0; b < l->nbuffer; b++)
		v->first[b] = v->last[b] = -1;
	for (int i = 0; i < l->nins; i++) {
		const struct loop_ins *ins = &l->ins[i];
		if (i > end) {
			begin = i;
			end = loops_end_of(l, i) - 1;
		}
		if (ins->op == LOOP_LOAD || ins->op == LOOP_STORE)
			touch(v, ins->buffer, begin, end);
		if (ins->call) {
			touch_places(v, ins->call->in, ins->call->nin, begin, end);
			touch_places(v, ins->call->out, ins->call->nout, begin, end);
		}
	}
	for (int b = 0; b < l->nbuffer; b++)
		if (l->buffer[b].input >= 0)
			touch(v, b, 0, l->nins);
	touch_places(v, l->ret, l->nret, l->nins, l->nins);
}

/* By buffer its number among those that are left. */
static int *assign(struct loops *l, const struct lives *v)
{
	int *to = ARENA_NEW(l->arena, int, MAX(l->nbuffer, 1)), *free_from = ARENA_NEW(l->arena, int, MAX(l->nbuffer, 1)), n = 0;
	struct loop_buffer *left = ARENA_NEW(l->arena, struct loop_buffer, MAX(l->nbuffer, 1));
	for (int b = 0; b < l->nbuffer; b++) { /* in the order in which they come up: lowering makes each just before its first use */
		const struct loop_buffer *own = &l->buffer[b];
		int k = 0;
		if (v->first[b] == -1)
			k = n;
		while (k < n
			&& (own->input >= 0 || left[k].input >= 0 || left[k].dtype != own->dtype || !loops_holds(l, &left[k], own)
				|| free_from[k] > v->first[b]))
			k++;
		to[b] = k;
		if (k == n)
			left[n++] = *own;
		left[k].uses |= own->uses;
		free_from[k] = v->last[b] + 1;
	}
	l->buffer = left;
	l->nbuffer = l->cap_buffer = n;
	return to;
}

static struct place *renamed(struct loops *l, const struct place *p, int n, const int *to)
{
	struct place *out = ARENA_NEW(l->arena, struct place, MAX(n, 1));
	for (int k = 0; k < n; k++) {
		out[k] = p[k];
		out[k].buffer = to[p[k].buffer];
	}
	return out;
}

void loops_reuse_buffers(struct loops *l)
{
	struct lives v;
	find_lives(&v, l);
	const int *to = assign(l, &v);
	for (int i = 0; i < l->nins; i++) {
		struct loop_ins *ins = &l->ins[i];
		if (ins->op == LOOP_LOAD || ins->op == LOOP_STORE)
			ins->buffer = to[ins->buffer];
		if (!ins->call)
			continue;
		struct loop_call *call = ARENA_NEW(l->arena, struct loop_call, 1);
		*call = *ins->call;
		call->in = renamed(l, ins->call->in, ins->call->nin, to);
		call->out = renamed(l, ins->call->out, ins->call->nout, to);
		ins->call = call;
	}
	l->ret = renamed(l, l->ret, l->nret, to);
}
