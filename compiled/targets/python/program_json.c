/* program_json.c: driven by the schema's kinds, so that no operator is named here but those that are not ATen's. */
#include "compiled/targets/python/program_json.h"

#include "eager/base/json.h"
#include "eager/lang/stated.h"
#include "generated/op_id.h"

static void put_ints(struct json *j, const char *key, const int64_t *v, int n)
{
	json_array(j, key);
	for (int i = 0; i < n; i++)
		json_int(j, NULL, v[i]);
	json_end(j);
}

static void put_meta(struct json *j, const struct meta *m)
{
	json_string(j, "dtype", dtype_info[m->dtype].torch);
	put_ints(j, "size", m->size, m->rank);
	put_ints(j, "stride", m->stride, m->rank);
	json_int(j, "offset", m->offset);
	if (m->device == DEV_META) {
		json_string(j, "device", "meta");
	}
}

static void put_ref(struct json *j, const char *key, const struct prog *p, int node)
{
	if (node < 0) {
		json_null(j, key);
		return;
	}
	json_object(j, key);
	json_string(j, "node", p->node[node].name);
	json_end(j);
}

static void put_scalar(struct json *j, const char *key, const struct scalar *s)
{
	uint64_t bits;
	memcpy(&bits, &s->f, sizeof bits);
	if (s->kind == SC_FLOAT) {
		json_object(j, key);
		json_unsigned(j, "bits", bits);
		json_end(j);
	} else if (s->kind == SC_BOOL) {
		json_bool(j, key, s->i != 0);
	} else {
		json_int(j, key, s->i);
	}
}

static void put_arg(struct json *j, const char *key, const struct prog *p, const struct arg *a)
{
	switch (a->tag) {
	case ARG_NONE: json_null(j, key); return;
	case ARG_TENSOR: put_ref(j, key, p, a->node); return;
	case ARG_INT: json_int(j, key, a->i.value); return;
	case ARG_SCALAR: put_scalar(j, key, &a->scalar); return;
	case ARG_BOOL: json_bool(j, key, a->b); return;
	case ARG_DTYPE: json_string(j, key, dtype_info[a->dtype].torch); return;
	case ARG_FORMAT: json_string(j, key, memory_format_name[a->format]); return;
	case ARG_STR: json_string(j, key, a->str); return;
	case ARG_DATA: BUG("data belongs to an input, which is no node here");
	case ARG_TENSORS:
	case ARG_BOOLS:
	case ARG_INTS: break;
	}
	json_array(j, key);
	for (int k = 0; k < a->n; k++)
		if (a->tag == ARG_INTS)
			json_int(j, NULL, a->ints[k].value);
		else if (a->tag == ARG_BOOLS)
			json_bool(j, NULL, a->bools[k]);
		else
			put_ref(j, NULL, p, a->nodes[k]);
	json_end(j);
}

static void put_op(struct json *j, int op)
{
	char name[2 * MAX_NAME];
	bool aten = op != OP_getitem, overload = strchr(op_info[op].name, '.') != NULL;
	snprintf(name, sizeof name, "%s%s%s", aten ? "aten." : "", op_info[op].name, aten && !overload ? ".default" : "");
	json_string(j, "op", name);
}

static void put_node(struct json *j, const struct prog *p, int node, bool cotangent)
{
	const struct node *n = &p->node[node];
	json_object(j, NULL);
	json_string(j, "name", n->name);
	put_op(j, n->op);
	json_bool(j, "cotangent", cotangent);
	json_object(j, "args");
	for (int k = 0; k < op_info[n->op].nparam; k++)
		if (!param_is_stated(&op_info[n->op].param[k]))
			put_arg(j, op_info[n->op].param[k].name, p, &n->arg[k]);
	json_end(j);
	json_array(j, "metas");
	for (int k = 0; k < n->nout; k++) {
		json_object(j, NULL);
		put_meta(j, &n->out[k].meta);
		json_end(j);
	}
	json_end(j);
	json_end(j);
}

/* As the source has it: a joint program's inputs do not require grad, and may be in another order. */
static void put_input(struct json *j, const struct prog *p, int node, const struct prog *source)
{
	const struct node *n = &p->node[node], *given = &source->node[prog_find(source, n->name)];
	json_object(j, NULL);
	json_string(j, "name", n->name);
	json_bool(j, "requires_grad", node_requires_grad(given));
	json_int(j, "storage", given->out[0].storage);
	put_meta(j, node_meta(p, node));
	json_end(j);
}

/* The gradients that exist are returned behind the outputs. */
static void put_gradients(struct json *j, const struct prog *source, const struct compiled *c)
{
	int grad = 0, next = c->nout;
	for (int i = 0; source->nback && i < source->nnode && grad < c->ngrad; i++)
		if (node_requires_grad(&source->node[i])) {
			json_array(j, NULL);
			json_string(j, NULL, source->node[i].name);
			if (c->grad[grad++])
				json_string(j, NULL, c->part[0].p.node[c->part[0].p.ret[next++]].name);
			else
				json_null(j, NULL);
			json_end(j);
		}
}

void program_json(struct strbuf *sb, const struct prog *bound, const struct said_call *said, const struct target *t)
{
	const struct prog *p = said ? &said->compiled.part[0].p : bound;
	bool forward[MAX_NODES], cotangent[MAX_NODES];
	struct json out = json_into(sb, JSON_TIGHT), *j = &out;
	prog_partition(p, forward, cotangent);
	json_object(j, NULL);
	json_string(j, "stage", target_stage(t)->name);
	json_array(j, "options");
	for (int i = 0; i < t->noptions; i++) {
		json_array(j, NULL);
		json_string(j, NULL, t->option[i].name);
		json_string(j, NULL, t->option[i].value);
		json_end(j);
	}
	json_end(j);
	json_array(j, "inputs");
	for (int i = 0; i < p->nnode; i++)
		if (node_is_input(&p->node[i]))
			put_input(j, p, i, bound);
	json_end(j);
	json_array(j, "nodes");
	for (int i = 0; i < p->nnode; i++)
		if (op_info[p->node[i].op].family != F_INPUT)
			put_node(j, p, i, cotangent[i] && !forward[i]);
	json_end(j);
	json_array(j, "outputs");
	for (int i = 0; i < bound->nret; i++)
		json_string(j, NULL, p->node[p->ret[i]].name);
	json_end(j);
	json_array(j, "backward");
	for (int i = 0; i < p->nback; i++) {
		json_array(j, NULL);
		json_string(j, NULL, p->node[p->back[i].node].name);
		json_string(j, NULL, p->node[p->back[i].cotangent].name);
		json_end(j);
	}
	json_end(j);
	json_array(j, "gradients");
	if (said)
		put_gradients(j, bound, &said->compiled);
	json_end(j);
	if (p->must_raise)
		json_string(j, "raises", p->raises ? p->raises : "");
	else
		json_null(j, "raises");
	json_end(j);
}
