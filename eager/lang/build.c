/* build.c: see build.h. */
#include "eager/lang/build.h"

#include "generated/op_args.h"
#include "generated/op_id.h"

int build_number(struct build *b, struct scalar s)
{
	CHECK(b->nnumber < MAX_NUMBERS);
	b->number[b->nnumber] = s;
	return FIRST_NUMBER - b->nnumber++;
}

int build_result(struct build *b, int node, int k)
{
	const struct node *n = &b->p->node[node];
	if (b->refusal.msg[0])
		return node;
	CHECK(k < n->nout);
	return op_info[n->op].nret == 1 ? node : n->out[k].meta.absent ? NO_VALUE : emit_getitem(b, node, k);
}

struct ints build_ints_of(const struct node *n, int k)
{
	struct ints out = {.n = -1};
	if (node_given(n, k))
		out.n = node_ints(out.v, n, k);
	return out;
}

struct ints build_dims_of(const struct node *n, int k)
{
	return (struct ints){.n = node_given(n, k), .v = {node_given(n, k) ? node_int(n, k) : 0}};
}

struct node *build_begin(struct build *b, int op)
{
	int node = prog_add(b->p, op, b->unnamed ? "" : NULL); /* moves p->node */
	return &b->p->node[node];
}

struct arg build_value(const struct build *b, int value)
{
	if (value == NO_VALUE)
		return (struct arg){0};
	if (build_is_number(value))
		return (struct arg){.tag = ARG_SCALAR, .scalar = *build_scalar(b, value)};
	return arg_tensor(value);
}

struct arg build_list(struct build *b, const int *value, int n) { return arg_nodes(b->p, value, n); }
struct arg build_ints(struct build *b, const int64_t *v, int n) { return n < 0 ? (struct arg){0} : arg_ints(b->p, v, n); }
struct arg build_int(int64_t v) { return v == NO_INT ? (struct arg){0} : arg_int(v); }
struct arg build_maybe_scalar(const struct scalar *s) { return s ? (struct arg){.tag = ARG_SCALAR, .scalar = *s} : (struct arg){0}; }

static void refused(struct build *b, int node, const struct err *err)
{
	struct node *n = &b->p->node[node];
	int k = op_self(n->op);
	if (!b->may_refuse || k < 0 || n->arg[k].tag != ARG_TENSOR)
		BUG("appending a node: %s", err->msg);
	if (!b->refusal.msg[0]) { /* PyTorch's text does not begin with our row's name */
		const char *name = op_info[n->op].name;
		b->refusal.limit = err->limit;
		err_set(&b->refusal, "%s", err->msg + (str_starts(err->msg, name) ? strlen(name) + strlen(": ") : 0));
	}
	n->nout = 1;
	n->out = ARENA_NEW(b->p->arena, struct value, 1);
	n->out[0] = b->p->node[n->arg[k].node].out[0];
}

int build_end(struct build *b)
{
	int node = b->p->nnode - 1;
	struct err err = {0};
	prog_defaults(b->p, node);
	if (!prog_infer_node(b->p, node, &err))
		refused(b, node, &err);
	if (b->run)
		b->run(b, node);
	return node;
}
