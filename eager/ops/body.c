/* body.c: shape rule and kernel of rows with a body: the body's program on metas, and on tensors. */
#include "eager/ops/body.h"
#include "eager/ops/promote.h"

#include "eager/ops/execute.h"
#include "eager/ops/layout.h"
#include "eager/ops/row_rules.h"
#include "generated/op_id.h"

#include <math.h>

bool body_append(struct body *x)
{
	for (int k = 0; k < MAX_OUTS; k++) {
		x->out[k] = NO_VALUE;
		x->strided[k] = false;
	}
	op_body[op_computing(x->n->op)](x);
	return !x->b->refusal.msg[0];
}

void body_layout(struct meta *out, const struct body *x, int k)
{
	if (x->out[k] == NO_VALUE) {
		*out = (struct meta){.dtype = DT_F32, .absent = true, .rank = 1, .stride = {1}};
		return;
	}
	const struct meta *made = build_meta(x->b, x->out[k]);
	if (x->strided[k])
		*out = *made;
	else
		meta_make_contiguous(out, made->dtype, made->size, made->rank);
	out->device = made->device;
}

/* ---- shape rule ---- */

static void place_metas(struct body *x, struct execution *e, const struct meta_ctx *c)
{
	for (int k = 0; k < op_info[c->n->op].nparam; k++) {
		const struct arg *a = &c->n->arg[k];
		struct tensor t = {0};
		if (c->in[k])
			t.meta = *c->in[k];
		x->in[k] = execution_operand(e, c->n, k, c->in[k] ? &t : NULL);
		if (a->tag != ARG_TENSORS)
			continue;
		int *list = ARENA_NEW(e->a, int, MAX(a->n, 1));
		for (int i = 0; i < a->n; i++) {
			const struct meta *m = meta_list(c, k, i);
			list[i] = m ? execution_place(e, &(struct tensor){.meta = *m}) : NO_VALUE;
		}
		x->list[k] = list;
	}
}

static bool results(struct meta_ctx *c, const struct body *x)
{
	c->nout = op_info[c->n->op].nret;
	for (int k = 0; k < c->nout; k++)
		body_layout(&c->out[k], x, k);
	return true;
}

bool body_takes_self(const struct meta_ctx *c)
{
	const struct op_info *op = &op_info[c->n->op];
	const int at = op_self(c->n->op);
	const struct meta *self = at >= 0 ? c->in[at] : NULL;
	if (!self || op->dtypes & DTS(self->dtype))
		return true;
	return meta_numel(self) ? dtype_refuse(c->n->op, self->dtype, c->err)
							: err_limit(c->err, "%s without elements of dtype %s", op->name, dtype_info[self->dtype].name);
}

bool meta_body(struct meta_ctx *c)
{
	if (!body_takes_self(c))
		return false;
	struct arena a;
	arena_init(&a);
	struct execution *e = ARENA_NEW(&a, struct execution, 1);
	struct body x = {.b = &e->b, .n = c->n};
	execution_begin(e, &a, false);
	place_metas(&x, e, c);
	const bool ok = body_append(&x) ? results(c, &x) : err_copy(c->err, &e->b.refusal);
	arena_free(&a);
	return ok;
}

/* ---- kernel ---- */

bool kern_body(struct kern_ctx *c)
{
	struct execution *e = ARENA_NEW(c->scratch, struct execution, 1);
	struct body x = {.b = &e->b, .n = c->n};
	execution_begin(e, c->scratch, true);
	for (int k = 0; k < op_info[c->n->op].nparam; k++) {
		x.in[k] = execution_operand(e, c->n, k, c->in[k]);
		if (c->n->arg[k].tag == ARG_TENSORS)
			x.list[k] = execution_list(e, c->n, k, c->list[k]);
	}
	if (!body_append(&x))
		BUG("%s: the shape rule took what the body refuses: %s", op_info[c->n->op].name, e->b.refusal.msg);
	if (e->raised)
		return err_copy(c->err, &e->err);
	for (int k = 0; k < c->nout; k++)
		if (x.out[k] != NO_VALUE)
			tensor_copy(&c->out[k], e->result[x.out[k]]);
	return true;
}

/* ---- words ---- */

int body_to(struct build *b, int x, int dtype)
{
	const bool as_is = (int)build_meta(b, x)->dtype == dtype;
	return as_is ? x : emit_to_copy(b, x, dtype);
}

int body_as(struct build *b, int x, int like) { return body_to(b, x, body_dtype(b, like)); }
int body_acc(struct build *b, int x) { return body_to(b, x, body_wide(b, body_dtype(b, x))); }
int body_floating(struct build *b, int x) { return dtype_is_float(build_meta(b, x)->dtype) ? x : emit_to_copy(b, x, (int)DT_F32); }
int body_dtype(const struct build *b, int x) { return (int)build_meta(b, x)->dtype; }
int body_wide(const struct build *b, int dtype)
{
	(void)b;
	return dtype_is_narrow((enum dtype)dtype) ? (int)dtype_compute((enum dtype)dtype) : dtype;
}

int64_t body_rank(const struct build *b, int x) { return build_meta(b, x)->rank; }
int64_t body_numel(const struct build *b, int x) { return meta_numel(build_meta(b, x)); }

int64_t body_size(const struct build *b, int x, int64_t dim)
{
	const struct meta *m = build_meta(b, x);
	int d;
	CHECK(dim_wrap(&d, dim, m->rank, NULL));
	return m->rank ? m->size[d] : 1;
}

struct ints body_sizes(const struct build *b, int x)
{
	const struct meta *m = build_meta(b, x);
	struct ints out = {.n = m->rank};
	memcpy(out.v, m->size, sizeof m->size);
	return out;
}

int64_t body_count(const struct build *b, int x, const struct ints *dims)
{
	int64_t n = dims->n <= 0 ? body_numel(b, x) : 1;
	for (int i = 0; i < dims->n; i++)
		n *= body_size(b, x, dims->v[i]);
	return n;
}

int64_t body_len(const struct build *b, const struct ints *l)
{
	(void)b;
	return l->n;
}

int64_t body_quotient(const struct build *b, int64_t n, int64_t by)
{
	(void)b;
	CHECK(by > 0);
	return n / by - (n % by < 0);
}

int64_t body_entry(const struct build *b, const struct ints *l, int64_t i)
{
	(void)b;
	CHECK(i >= 0 && i < l->n);
	return l->v[i];
}

double body_largest(const struct build *b, int dtype)
{
	(void)b;
	return dtype_is_float((enum dtype)dtype) ? dtype_max((enum dtype)dtype) : 0;
}

struct ints body_embedded(const struct build *b, int x, int64_t offset, int64_t dim1, int64_t dim2)
{
	const struct meta *m = build_meta(b, x);
	const int64_t side = m->size[m->rank - 1] + (offset < 0 ? -offset : offset);
	struct ints out = {.n = m->rank + 1};
	int i, j, from = 0;
	CHECK(m->rank > 0 && dim_wrap(&i, dim1, out.n, NULL) && dim_wrap(&j, dim2, out.n, NULL));
	for (int d = 0; d < out.n; d++)
		out.v[d] = d == i || d == j ? side : m->size[from++];
	return out;
}

static struct ints consecutive(int64_t from, int64_t n)
{
	struct ints out = {.n = (int)n};
	CHECK(n >= 0 && n <= MAX_LIST);
	for (int i = 0; i < n; i++)
		out.v[i] = from + i;
	return out;
}

struct ints body_last(const struct build *b, int64_t n)
{
	(void)b;
	return consecutive(-n, n);
}

struct ints body_first(const struct build *b, int64_t n)
{
	(void)b;
	return consecutive(0, n);
}

bool body_asked(const struct build *b, const bool *l, int64_t i)
{
	(void)b;
	return l[i];
}

double body_real(const struct build *b, struct scalar s)
{
	(void)b;
	return s.kind == SC_FLOAT ? s.f : (double)s.i;
}

double body_real_or(const struct build *b, const struct scalar *s, double x) { return s ? body_real(b, *s) : x; }

double body_attention_scale(const struct build *b, int query, const struct scalar *s)
{
	return s ? body_real(b, *s) : 1 / sqrt((double)body_size(b, query, -1));
}
