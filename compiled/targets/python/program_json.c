/* program_json.c: driven by the schema's kinds, so that no operator is named here but those that are not ATen's. */
#include "compiled/targets/python/program_json.h"

#include <inttypes.h>

#include "eager/base/json.h"
#include "generated/op_id.h"

static void put_ints(struct strbuf *sb, const int64_t *v, int n)
{
	sb_putc(sb, '[');
	for (int i = 0; i < n; i++)
		sb_printf(sb, "%s%" PRId64, i ? ", " : "", v[i]);
	sb_putc(sb, ']');
}

static void put_meta(struct strbuf *sb, const struct meta *m)
{
	json_key(sb, "dtype");
	json_str(sb, dtype_info[m->dtype].torch);
	json_key(sb, "size");
	put_ints(sb, m->size, m->rank);
	json_key(sb, "stride");
	put_ints(sb, m->stride, m->rank);
	json_key(sb, "offset");
	sb_printf(sb, "%" PRId64, m->offset);
	if (m->device == DEV_META) {
		json_key(sb, "device");
		json_str(sb, "meta");
	}
}

static void put_ref(struct strbuf *sb, const struct prog *p, int node)
{
	if (node < 0) {
		sb_puts(sb, "null");
		return;
	}
	sb_puts(sb, "{\"node\": ");
	json_str(sb, p->node[node].name);
	sb_putc(sb, '}');
}

static void put_scalar(struct strbuf *sb, const struct scalar *s)
{
	uint64_t bits;
	memcpy(&bits, &s->f, sizeof bits);
	if (s->kind == SC_FLOAT)
		sb_printf(sb, "{\"bits\": %" PRIu64 "}", bits);
	else if (s->kind == SC_BOOL)
		sb_puts(sb, s->i ? "true" : "false");
	else
		sb_printf(sb, "%" PRId64, s->i);
}

static void put_arg(struct strbuf *sb, const struct prog *p, const struct arg *a)
{
	switch (a->tag) {
	case ARG_NONE: sb_puts(sb, "null"); return;
	case ARG_TENSOR: put_ref(sb, p, a->node); return;
	case ARG_INT: sb_printf(sb, "%" PRId64, a->i.value); return;
	case ARG_SCALAR: put_scalar(sb, &a->scalar); return;
	case ARG_BOOL: sb_puts(sb, a->b ? "true" : "false"); return;
	case ARG_DTYPE: json_str(sb, dtype_info[a->dtype].torch); return;
	case ARG_STR: json_str(sb, a->str); return;
	case ARG_DATA: BUG("data belongs to an input, which is no node here");
	case ARG_TENSORS:
	case ARG_INTS: break;
	}
	sb_putc(sb, '[');
	for (int k = 0; k < a->n; k++) {
		sb_puts(sb, k ? ", " : "");
		if (a->tag == ARG_INTS)
			sb_printf(sb, "%" PRId64, a->ints[k].value);
		else
			put_ref(sb, p, a->nodes[k]);
	}
	sb_putc(sb, ']');
}

static void put_op(struct strbuf *sb, int op)
{
	char name[2 * MAX_NAME];
	bool aten = op != OP_getitem, overload = strchr(op_info[op].name, '.') != NULL;
	snprintf(name, sizeof name, "%s%s%s", aten ? "aten." : "", op_info[op].name, aten && !overload ? ".default" : "");
	json_str(sb, name);
}

static void put_node(struct strbuf *sb, const struct prog *p, int node, bool cotangent)
{
	const struct node *n = &p->node[node];
	sb_putc(sb, '{');
	json_key(sb, "name");
	json_str(sb, n->name);
	json_key(sb, "op");
	put_op(sb, n->op);
	json_key(sb, "cotangent");
	sb_puts(sb, cotangent ? "true" : "false");
	json_key(sb, "args");
	sb_putc(sb, '{');
	for (int k = 0; k < op_info[n->op].nparam; k++) {
		json_key(sb, op_info[n->op].param[k].name);
		put_arg(sb, p, &n->arg[k]);
	}
	sb_putc(sb, '}');
	json_key(sb, "metas");
	sb_putc(sb, '[');
	for (int k = 0; k < n->nout; k++) {
		sb_puts(sb, k ? ", {" : "{");
		put_meta(sb, &n->out[k].meta);
		sb_putc(sb, '}');
	}
	sb_puts(sb, "]}");
}

static void put_input(struct strbuf *sb, const struct prog *p, int node)
{
	const struct node *n = &p->node[node];
	sb_putc(sb, '{');
	json_key(sb, "name");
	json_str(sb, n->name);
	json_key(sb, "requires_grad");
	sb_puts(sb, node_requires_grad(n) ? "true" : "false");
	json_key(sb, "storage");
	sb_printf(sb, "%d", n->out[0].storage);
	put_meta(sb, node_meta(p, node));
	sb_putc(sb, '}');
}

static void put_backward(struct strbuf *sb, const struct prog *p)
{
	for (int i = 0; i < p->nback; i++) {
		sb_puts(sb, i ? ", [" : "[");
		json_str(sb, p->node[p->back[i].node].name);
		sb_puts(sb, ", ");
		json_str(sb, p->node[p->back[i].cotangent].name);
		sb_putc(sb, ']');
	}
}

void program_json(struct strbuf *sb, const struct prog *p)
{
	bool forward[MAX_NODES], cotangent[MAX_NODES];
	const char *before = "";
	prog_partition(p, forward, cotangent);
	sb_puts(sb, "{\"inputs\": [");
	for (int i = 0; i < p->nnode; i++)
		if (node_is_input(&p->node[i])) {
			sb_puts(sb, before);
			put_input(sb, p, i);
			before = ", ";
		}
	sb_puts(sb, "], \"nodes\": [");
	before = "";
	for (int i = 0; i < p->nnode; i++)
		if (op_info[p->node[i].op].family != F_INPUT) {
			sb_puts(sb, before);
			put_node(sb, p, i, cotangent[i] && !forward[i]);
			before = ", ";
		}
	sb_puts(sb, "], \"outputs\": [");
	for (int i = 0; i < p->nret; i++) {
		sb_puts(sb, i ? ", " : "");
		json_str(sb, p->node[p->ret[i]].name);
	}
	sb_puts(sb, "], \"backward\": [");
	put_backward(sb, p);
	sb_puts(sb, "], \"raises\": ");
	if (p->must_raise)
		json_str(sb, p->raises ? p->raises : "");
	else
		sb_puts(sb, "null");
	sb_putc(sb, '}');
}
