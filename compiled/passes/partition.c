/* partition.c: which rows go where, what crosses, and the two programs. The backward part is a copy of the joint program in which what
 * crosses has become an input and from which everything else of the forward part is dropped. */
#include "compiled/passes/partition.h"

#include "eager/lang/edit.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

/* What becomes of a row of the forward part, or of an input, that the backward part reads. */
enum fate {
	NOT_READ,
	HANDED, /* an input: as it is */
	SAVED,  /* returned by the forward part; of an input a copy */
	VIEWED, /* a view, in the memory of the value that owns it, which is handed or saved */
	AGAIN   /* computed again */
};

struct split {
	const struct prog *j;
	const struct pure *g;
	bool save_all;
	bool *caller;    /* by row: a cotangent needs it */
	bool *depends;   /* on a cotangent, which itself counts */
	bool *backward;  /* a row of the backward part */
	bool *written;   /* inputs: the epilogue writes it */
	bool *needed;    /* forward rows and inputs that backward rows read */
	bool *available; /* can be had in the backward part without being saved for this alone */
	enum fate *fate; /* by row */
	int *copy;       /* of inputs that are saved: the forward part's copy */
};

/* ---- what rows are ---- */

/* Does it lie in the memory of its first operand? Of a tuple of fresh tensors the first getitem of each owns it. */
static bool is_view(const struct prog *p, int i)
{
	const struct node *n = &p->node[i];
	if (node_is_input(n) || !node_shares_memory(p, n))
		return false;
	return n->op != OP_getitem || node_shares_memory(p, &p->node[n->arg[A_getitem_self].node]);
}

/* The value that owns i's memory: the row of a view's first operand, and so on. */
static int owner_of(const struct prog *p, int i)
{
	while (is_view(p, i))
		i = p->node[i].arg[A_viewed_self].node;
	return i;
}

static bool is_cheap(const struct prog *p, int i)
{
	const int op = p->node[i].op;
	return p->node[i].nout == 1 && (op_has(op, T_POINTWISE) || op_info[op].family == F_FACTORY);
}

static bool is_returned(const struct split *s, int i)
{
	for (int k = 0; k < s->g->nresult; k++)
		if (s->g->result[k].role == RESULT_OUTPUT && s->g->result[k].value == i)
			return true;
	return false;
}

static void each_operand(struct split *s, int i, void (*visit)(struct split *s, int operand))
{
	bool operand[MAX_NODES] = {false};
	node_mark_operands(s->j, &s->j->node[i], operand);
	for (int k = 0; k < i; k++)
		if (operand[k])
			visit(s, k);
}

/* ---- which rows are whose ---- */

static void find_sides(struct split *s, int nforward)
{
	const struct prog *j = s->j;
	for (int k = 0; k < s->g->nresult; k++)
		if (s->g->result[k].role == RESULT_COTANGENT)
			s->caller[s->g->result[k].value] = s->depends[s->g->result[k].value] = true;
	for (int i = j->nnode - 1; i >= 0; i--)
		if (s->caller[i])
			node_mark_operands(j, &j->node[i], s->caller);
	for (int i = 0; i < j->nnode; i++) {
		const struct node *n = &j->node[i];
		s->depends[i] |= node_reads(j, n, s->depends);
		s->backward[i] = !s->caller[i] && !node_is_input(n) && (i >= nforward || s->depends[i]);
		if (n->op == OP_getitem && !s->backward[n->arg[A_getitem_self].node]) /* a tuple does not cross */
			s->backward[i] = false;
	}
}

static void find_written(struct split *s, const struct functional *f)
{
	for (int i = 0; i < f->from->nnode; i++)
		if (f->written[i])
			s->written[f->input[i]] = true;
}

/* ---- what crosses ---- */

static void need(struct split *s, int i)
{
	if (!s->backward[i] && !s->caller[i])
		s->needed[i] = true;
}

static void find_needed(struct split *s)
{
	for (int i = 0; i < s->j->nnode; i++)
		if (s->backward[i])
			each_operand(s, i, need);
	for (int k = 0; k < s->g->nresult; k++)
		if (s->g->result[k].role == RESULT_GRADIENT && s->g->result[k].value != NO_VALUE)
			need(s, s->g->result[k].value);
	for (int i = s->j->nnode - 1; i >= 0; i--) /* whoever owns memory that is read is there, too */
		if (s->needed[i])
			s->needed[owner_of(s->j, i)] = true;
}

static bool all_available(const struct split *s, int i)
{
	bool operand[MAX_NODES] = {false};
	node_mark_operands(s->j, &s->j->node[i], operand);
	for (int k = 0; k < i; k++)
		if (operand[k] && !s->available[k])
			return false;
	return true;
}

static void find_available(struct split *s)
{
	for (int i = 0; i < s->j->nnode; i++) {
		const bool again = (is_view(s->j, i) || is_cheap(s->j, i)) && !s->backward[i] && !s->caller[i] && all_available(s, i);
		s->available[i] = (node_is_input(&s->j->node[i]) && !s->caller[i]) || s->needed[i] || again;
	}
}

/* Would an input_view of what owns its memory be this view? It has that dtype; a copy of a written input may lie elsewhere in memory. */
static bool can_be_viewed(const struct split *s, int i)
{
	const int owner = owner_of(s->j, i);
	if (s->j->node[i].nout != 1 || s->j->node[owner].nout != 1 || node_meta(s->j, i)->dtype != node_meta(s->j, owner)->dtype)
		return false;
	return !s->written[owner] || node_meta(s->j, owner)->offset == 0;
}

/* i is read in the backward part. */
static void want(struct split *s, int i)
{
	const struct node *n = &s->j->node[i];
	if (s->fate[i] != NOT_READ || s->backward[i] || s->caller[i])
		return;
	if (node_is_input(n)) {
		s->fate[i] = s->written[i] ? SAVED : HANDED;
		each_operand(s, i, want);
	} else if (is_view(s->j, i) && s->save_all && can_be_viewed(s, i)) {
		s->fate[i] = VIEWED;
		want(s, owner_of(s->j, i));
	} else if (is_view(s->j, i) || (!s->save_all && is_cheap(s->j, i) && !is_returned(s, i) && all_available(s, i))) {
		s->fate[i] = AGAIN;
		each_operand(s, i, want);
	} else {
		s->fate[i] = SAVED;
	}
}

static void decide(struct split *s)
{
	find_needed(s);
	find_available(s);
	for (int i = 0; i < s->j->nnode; i++)
		if (s->needed[i])
			want(s, i);
}

/* ---- the caller's rows ---- */

static bool make_caller(struct partition *out, const struct prog *from, struct arena *a, struct err *err)
{
	bool forward[MAX_NODES], cotangent[MAX_NODES];
	int order[MAX_NODES], n = 0;
	struct prog only = *from;
	prog_partition(from, forward, cotangent);
	only.has_backward = false;
	only.nback = only.ncall = only.nret = 0;
	for (int i = 0; i < from->nback; i++)
		only.ret[only.nret++] = from->back[i].cotangent;
	for (int i = 0; i < from->nnode; i++)
		if (cotangent[i])
			order[n++] = i;
	return edit_select(&out->caller, &only, order, n, a, err);
}

/* ---- the forward part ---- */

static int result_in(const struct pure *g, enum result_role role)
{
	int n = 0;
	for (int i = 0; i < g->nresult; i++)
		n += g->result[i].role == role;
	return n;
}

/* Its results; the rows to keep, NULL: err. */
static bool *make_forward(struct partition *out, struct split *s, struct functional *f, struct pure *g, struct err *err)
{
	bool *keep = ARENA_ZNEW(f->p.arena, bool, MAX_NODES);
	struct pure results = {.p = g->p};
	const int nrow = f->p.nnode;
	for (int i = 0; i < g->nresult; i++)
		if (g->result[i].role == RESULT_OUTPUT || g->result[i].role == RESULT_WRITTEN)
			results.result[results.nresult++] = g->result[i];
	for (int i = 0; i < nrow; i++)
		keep[i] = node_is_input(&f->p.node[i]) || (!s->backward[i] && !s->caller[i]);
	for (int i = 0; i < nrow; i++) {
		if (s->fate[i] != SAVED)
			continue;
		if (result_in(g, RESULT_OUTPUT) + out->nsaved == MAX_RETURNS || f->p.nnode == MAX_NODES)
			return err_set(err, "too many outputs and saved values"), NULL;
		s->copy[i] = node_is_input(&f->p.node[i]) ? functional_copy(&f->b, i) : i;
		keep[s->copy[i]] = true;
		results.result[results.nresult].role = RESULT_SAVED;
		results.result[results.nresult++].value = s->copy[i];
		out->nsaved++;
	}
	*g = results;
	return keep;
}

/* ---- the backward part ---- */

static void become_input(struct prog *p, int i, const struct meta *m)
{
	struct node *n = &p->node[i];
	struct meta plain;
	meta_make_contiguous(&plain, m->dtype, m->size, m->rank);
	memset(n->arg, 0, sizeof n->arg);
	n->op = OP_input;
	n->refusal = NULL;
	n->arg[A_input_size] = arg_ints(p, m->size, m->rank);
	if (!meta_same_strides(m, &plain))
		n->arg[A_input_stride] = arg_ints(p, m->stride, m->rank);
	n->arg[A_input_offset] = arg_int(m->offset);
	n->arg[A_input_dtype] = arg_dtype(m->dtype);
	n->arg[A_input_seed] = arg_int(i + 1);
	if (!dtype_is_float(m->dtype))
		n->arg[A_input_fill] = arg_str(p, "mask");
	prog_defaults(p, i);
}

static void become_input_view(struct prog *p, int i, int owner)
{
	const struct meta m = *node_meta(p, i);
	struct node *n = &p->node[i];
	memset(n->arg, 0, sizeof n->arg);
	n->op = OP_input_view;
	n->arg[A_input_view_base] = arg_tensor(owner);
	n->arg[A_input_view_size] = arg_ints(p, m.size, m.rank);
	n->arg[A_input_view_stride] = arg_ints(p, m.stride, m.rank);
	n->arg[A_input_view_offset] = arg_int(m.offset);
	prog_defaults(p, i);
}

/* May the backward part write the memory of this saved value? Not that of outputs and of other saved values; no input is saved itself. */
static bool is_donated(const struct pure *forward, int value)
{
	int names = 0;
	const int storage = forward->p->node[value].out[0].storage;
	for (int i = 0; i < forward->nresult; i++) {
		const int other = forward->result[i].value;
		if (forward->result[i].role != RESULT_WRITTEN && other != NO_VALUE && forward->p->node[other].out[0].storage == storage)
			names++;
	}
	return names == 1;
}

/* The first line of the backward whose cotangent the row is, NO_VALUE: none. */
static int cotangent_of(const struct pure *joint, int row)
{
	int k = 0;
	for (int i = 0; i < joint->nresult; i++) {
		if (joint->result[i].role != RESULT_COTANGENT)
			continue;
		if (joint->result[i].value == row)
			return k;
		k++;
	}
	return NO_VALUE;
}

/* Row i of p, a copy of the joint program, becomes an input if it crosses; where it comes from. */
static bool cross(struct part_input *from, struct prog *p, const struct split *s, const struct pure *forward, int i, int *nsaved)
{
	const int cotangent = cotangent_of(s->g, i);
	*from = (struct part_input){.from = FROM_SOURCE, .index = s->j->node[i].out ? s->j->node[i].out[0].storage : NO_VALUE};
	if (cotangent != NO_VALUE) {
		*from = (struct part_input){.from = FROM_CALLER, .index = cotangent};
		become_input(p, i, node_meta(s->j, i));
	} else if (s->fate[i] == SAVED) {
		*from = (struct part_input){FROM_FORWARD, (*nsaved)++, is_donated(forward, s->copy[i])};
		become_input(p, i, node_meta(forward->p, s->copy[i]));
	} else if (s->fate[i] == VIEWED) {
		become_input_view(p, i, owner_of(s->j, i));
	} else if (s->fate[i] == HANDED) {
		p->node[i].arg[op_arg(p->node[i].op, N_requires_grad)] = arg_bool(false);
	} else {
		return false;
	}
	return true;
}

/* The gradients that exist. */
static void return_gradients(struct prog *p, const struct pure *joint)
{
	p->nret = p->nback = 0;
	p->has_backward = false;
	for (int i = 0; i < joint->nresult; i++)
		if (joint->result[i].role == RESULT_GRADIENT && joint->result[i].value != NO_VALUE)
			p->ret[p->nret++] = joint->result[i].value;
}

static void make_backward(struct partition *out, struct prog *p, const struct split *s, const struct pure *forward)
{
	struct err err = {0};
	int order[MAX_NODES], n = 0, ninput = 0, nsaved = 0;
	struct part_input from;
	for (int i = 0; i < s->j->nnode; i++)
		if (cross(&from, p, s, forward, i, &nsaved)) {
			order[n++] = i;
			if (p->node[i].op == OP_input)
				out->input[ninput++] = from;
		}
	for (int i = 0; i < s->j->nnode; i++)
		if (s->backward[i] || s->fate[i] == AGAIN)
			order[n++] = i;
	return_gradients(p, s->g);
	if (!edit_reorder(p, order, n, &err))
		BUG("partitioning, the backward part: %s", err.msg);
	out->backward = *p;
	out->gradients = (struct pure){.p = &out->backward};
	for (int i = 0; i < p->nret; i++) {
		out->gradients.result[i].role = RESULT_GRADIENT;
		out->gradients.result[out->gradients.nresult++].value = p->ret[i];
	}
	out->backward.nret = 0; /* as of every program on its way */
}

/* ---- the step ---- */

static void begin(struct split *s, const struct prog *joint, const struct pure *g, bool save_all, struct arena *a)
{
	const int n = joint->nnode;
	*s = (struct split){.j = joint, .g = g, .save_all = save_all};
	s->caller = ARENA_ZNEW(a, bool, n);
	s->depends = ARENA_ZNEW(a, bool, n);
	s->backward = ARENA_ZNEW(a, bool, n);
	s->written = ARENA_ZNEW(a, bool, n);
	s->needed = ARENA_ZNEW(a, bool, n);
	s->available = ARENA_ZNEW(a, bool, n);
	s->fate = ARENA_ZNEW(a, enum fate, n);
	s->copy = ARENA_ZNEW(a, int, n);
}

static bool on_meta(const struct split *s, struct err *err)
{
	for (int i = 0; i < s->j->nnode; i++)
		if (s->fate[i] == SAVED && node_meta(s->j, i)->device == DEV_META)
			return !err_set(err, "a saved value on device meta");
	return false;
}

bool partition(struct partition *out, struct functional *f, struct pure *g, int nforward, bool save_all, struct arena *a, struct err *err)
{
	struct split s;
	struct prog backward;
	struct pure *before = memcpy(ARENA_NEW(a, struct pure, 1), g, sizeof *g);
	*out = (struct partition){.nsaved = 0};
	prog_clone(&out->joint, &f->p, a);
	prog_clone(&backward, &f->p, a);
	before->p = &out->joint;
	begin(&s, &out->joint, before, save_all, a);
	find_sides(&s, nforward);
	find_written(&s, f);
	decide(&s);
	out->depends = s.depends;
	out->again = ARENA_ZNEW(a, bool, out->joint.nnode);
	for (int i = 0; i < out->joint.nnode; i++)
		out->again[i] = s.fate[i] == AGAIN;
	if (on_meta(&s, err) || !make_caller(out, f->from, a, err))
		return false;
	bool *keep = make_forward(out, &s, f, g, err);
	if (!keep)
		return false;
	make_backward(out, &backward, &s, g);
	pure_keep(g, keep);
	return true;
}
