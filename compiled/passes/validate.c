/* validate.c: the invariants, each checked on programs as they stand, none by asking a step what it did. */
#include "compiled/passes/validate.h"

#include "generated/op_args.h"
#include "generated/op_id.h"

bool validate_no_writes(const struct prog *p, struct err *err)
{
	for (int i = 0; i < p->nnode; i++)
		if (op_has(p->node[i].op, T_MUTATES))
			return err_set(err, "I1: '%s' (%s) writes before the epilogue", p->node[i].name, op_info[p->node[i].op].name);
	return true;
}

bool validate_epilogue(const struct prog *p, struct err *err)
{
	bool begun = false;
	for (int i = 0; i < p->nnode; i++) {
		const struct node *n = &p->node[i];
		const bool writes = op_has(n->op, T_MUTATES);
		if (writes && (n->op != OP_copy_ || !node_is_input(&p->node[n->arg[A_INPLACE_self].node])))
			return err_set(err, "I1: '%s' (%s) writes, but is no copy_ to an input", n->name, op_info[n->op].name);
		if (begun && !writes && !op_has(n->op, T_VIEW | T_MAYBE_VIEW))
			return err_set(err, "I1: '%s' (%s) comes behind the epilogue's first copy_", n->name, op_info[n->op].name);
		begun |= writes;
	}
	return true;
}

/* ---- I2 ---- */

bool validate_infer(struct prog *again, const struct prog *p, struct arena *a, struct err *err)
{
	struct err why;
	*again = *p; /* inference gives rows new results, and what else they hold it leaves alone */
	again->arena = a;
	again->cap_node = p->nnode;
	again->node = ARENA_NEW(a, struct node, MAX(p->nnode, 1));
	if (p->nnode)
		memcpy(again->node, p->node, (size_t)p->nnode * sizeof *p->node);
	again->cap_expr = p->nexpr;
	again->expr = ARENA_NEW(a, struct expr, MAX(p->nexpr, 1));
	if (p->nexpr)
		memcpy(again->expr, p->expr, (size_t)p->nexpr * sizeof *p->expr);
	return prog_infer(again, err_clear(&why)) || err_set(err, "I2: the rows do not fit together: %s", why.msg);
}

static bool other_meta(const struct node *n, const struct meta *is, const struct meta *must, struct err *err)
{
	struct strbuf sb;
	sb_init(&sb);
	meta_print(&sb, is);
	sb_printf(&sb, "+%lld, but its operands give ", (long long)is->offset);
	meta_print(&sb, must);
	sb_printf(&sb, "+%lld", (long long)must->offset);
	err_set(err, "I2: '%s' (%s) is %s", n->name, op_info[n->op].name, sb.s);
	sb_free(&sb);
	return false;
}

static bool same_metas(const struct node *is, const struct node *must, struct err *err)
{
	if (is->nout != must->nout)
		return err_set(err, "I2: '%s' has %d results, but its operands give %d", is->name, is->nout, must->nout);
	for (int k = 0; k < is->nout; k++)
		if (!meta_identical(&is->out[k].meta, &must->out[k].meta))
			return other_meta(is, &is->out[k].meta, &must->out[k].meta, err);
	return true;
}

bool validate_metas(const struct prog *p, const struct prog *again, struct err *err)
{
	for (int i = 0; i < p->nnode; i++)
		if (!same_metas(&p->node[i], &again->node[i], err))
			return false;
	return true;
}

/* ---- I5 ---- */

/* A scatter whose src lies where a view of self would: at::clone_preserve_strides of self. */
static bool scatters_region(int op)
{
	for (int k = 0; k < op_info[op].nparam; k++)
		if (op_info[op].param[k].role == R_LIKE && op_has(op_find(op_info[op].param[k].like), T_VIEW))
			return true;
	return false;
}

static bool repeats_a_dim(const struct meta *m)
{
	for (int d = 0; d < m->rank; d++)
		if (m->size[d] > 1 && m->stride[d] == 0)
			return true;
	return false;
}

static bool same_strides(const struct meta *a, const struct meta *b)
{
	for (int d = 0; d < a->rank; d++)
		if (a->stride[d] != b->stride[d])
			return false;
	return a->offset == b->offset;
}

static bool scatter_right(const struct node *n, const struct meta *base, struct err *err)
{
	const struct meta *m = &n->out[0].meta;
	const bool keeps = scatters_region(n->op) && !repeats_a_dim(base);
	if (!meta_same_sizes(base, m) || meta_numel(m) == 0) /* a mask may be larger than its base */
		return true;
	if (keeps && !same_strides(base, m))
		return err_set(err, "I5: '%s' (%s) does not keep its base's strides", n->name, op_info[n->op].name);
	if (!keeps && !meta_is_non_overlapping_and_dense(m))
		return err_set(err, "I5: '%s' (%s) is not dense", n->name, op_info[n->op].name);
	return true;
}

bool validate_scatters(const struct prog *p, struct err *err)
{
	bool ok = true;
	for (int i = 0; ok && i < p->nnode; i++) {
		const struct node *n = &p->node[i];
		const bool into_self = op_has(n->op, T_SCATTER) && str_eq(op_info[n->op].param[0].name, "self");
		if (into_self && !op_has(n->op, T_MUTATES) && n->nout && n->arg[0].tag == ARG_TENSOR)
			ok = scatter_right(n, node_meta(p, n->arg[0].node), err);
	}
	return ok;
}

/* ---- I7 ---- */

static bool device_right(const struct prog *p, const struct node *n, int operand, struct err *err)
{
	const enum device is = node_meta(p, operand)->device, self = node_meta(p, n->arg[A_INPLACE_self].node)->device;
	if (is == self || (is == DEV_META && n->op != OP_copy_) || node_meta(p, operand)->rank == 0)
		return true;
	return err_set(err, "I7: '%s' (%s) reads '%s', which is on another device", n->name, op_info[n->op].name, p->node[operand].name);
}

bool validate_devices(const struct prog *p, struct err *err)
{
	for (int i = 0; i < p->nnode; i++) {
		const struct node *n = &p->node[i];
		if (!op_has(n->op, T_MUTATES) || !n->nout)
			continue;
		if (n->out[0].meta.device != node_meta(p, n->arg[A_INPLACE_self].node)->device)
			return err_set(err, "I7: '%s' (%s) is not on its destination's device", n->name, op_info[n->op].name);
		for (int k = 0; k < op_info[n->op].nparam; k++) {
			if (n->arg[k].tag == ARG_TENSOR && !device_right(p, n, n->arg[k].node, err))
				return false;
			for (int j = 0; n->arg[k].tag == ARG_TENSORS && j < n->arg[k].n; j++)
				if (n->arg[k].nodes[j] >= 0 && !device_right(p, n, n->arg[k].nodes[j], err))
					return false;
		}
	}
	return true;
}

/* ---- I3 ---- */

static void add(struct aliases *out, const struct prog *again, int value, enum result_role role, const struct owners *o)
{
	const int i = out->n++;
	out->of[i].role = role;
	out->of[i].storage = NO_VALUE;
	out->of[i].input = false;
	out->of[i].name = out->of[i].op = "";
	if (value == NO_VALUE)
		return;
	out->of[i].storage = again->node[value].out[0].storage;
	out->of[i].input = out->of[i].storage < MAX_NODES && !o->donated[out->of[i].storage];
	out->of[i].name = again->node[value].name;
	out->of[i].op = op_info[again->node[value].op].name;
}

void aliases_of(struct aliases *out, const struct pure *g, const struct prog *again, const struct owners *o)
{
	out->n = 0;
	for (int i = 0; i < g->nresult; i++)
		add(out, again, g->result[i].value, g->result[i].role, o);
}

void aliases_of_returns(struct aliases *out, const struct prog *again, int nret, const struct owners *o)
{
	out->n = 0;
	for (int i = 0; i < nret; i++)
		add(out, again, again->ret[i], RESULT_OUTPUT, o);
}

static bool shared(const struct aliases *a, int i, int k) { return a->of[i].storage == a->of[k].storage; }

bool validate_aliases(const struct aliases *before, const struct aliases *after, struct err *err)
{
	const int n = MIN(before->n, after->n);
	for (int i = 0; i < n; i++) {
		if (before->of[i].storage == NO_VALUE || after->of[i].storage == NO_VALUE)
			continue;
		if (after->of[i].input && before->of[i].storage != after->of[i].storage)
			return err_set(
				err, "I3: result %d, '%s' (%s), lies in an input's memory and did not before", i, after->of[i].name, after->of[i].op);
		for (int k = 0; k < i; k++) {
			if (before->of[k].storage == NO_VALUE || after->of[k].storage == NO_VALUE || !shared(after, i, k) || shared(before, i, k))
				continue;
			if (before->of[i].role != RESULT_WRITTEN && before->of[k].role != RESULT_WRITTEN)
				return err_set(err, "I3: results %d and %d, '%s' and '%s' (%s), share memory and did not before", k, i, after->of[k].name,
					after->of[i].name, after->of[i].op);
		}
	}
	return true;
}

/* ---- in parts ---- */

/* The first operator in brackets. */
static const char *operator_in(const char *sentence, struct arena *a)
{
	for (const char *open = sentence; (open = strchr(open, '(')) != NULL; open++) {
		const char *op = arena_printf(a, "%.*s", (int)strcspn(open + 1, ")"), open + 1);
		if (op_find(op) >= 0)
			return op;
	}
	return "";
}

struct result_violation validate_violation(const char *sentence, const char *step, struct arena *a)
{
	return (struct result_violation){.invariant = arena_printf(a, "%.*s", (int)strcspn(sentence, ":"), sentence),
		.step = arena_strdup(a, step),
		.op = operator_in(sentence, a)};
}
