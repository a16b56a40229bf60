/* text_expand.c: operators of printed graphs that stand for several rows of the table: those that PyTorch runs for them, or (bags) such as
 * give the same. The last row takes the name; the rows before it are called NAME__0, NAME__1, …, as no node of FX is. */
#include "eager/lang/build.h"
#include "eager/lang/text_reader.h"
#include "generated/op_args.h"
#include "generated/op_id.h"
#include "generated/op_input.h"

static const struct scalar one = {SC_INT, 1, 0};

/* Two numbers, from `least` on. */
static bool pair(int64_t out[2], const struct raw *v, int64_t least)
{
	for (int d = 0; d < 2; d++) {
		if (v->tag != RAW_LIST || v->n != 2 || v->item[d].tag != RAW_INT || v->item[d].i.expr >= 0)
			return false;
		out[d] = v->item[d].i.value;
		if (out[d] < least || out[d] > MAX_NUMEL)
			return false;
	}
	return true;
}

/* ---- pools that keep where in its window an element is ---- */

struct windows {
	int64_t kernel[2], stride[2], padding[2], dilation[2], plane[2];
};

/* No row divides integers. n + 1/2 is no multiple of m, so nothing depends on a rounding. */
static int divided(struct build *b, int n, int64_t m)
{
	if (m == 1)
		return n;
	const int x = emit_add_Scalar(b, emit_to_copy(b, n, DT_F64), scalar_float(0.5), one);
	return emit_to_copy(b, emit_floor(b, emit_div_Scalar(b, x, scalar_int(m))), DT_I64);
}

static int plus(struct build *b, int n, int64_t m) { return emit_add_Scalar(b, n, scalar_int(m), one); }
static int times(struct build *b, int n, int64_t m) { return m == 1 ? n : emit_mul_Scalar(b, n, scalar_int(m)); }

/* Where n windows begin: along dim 0 a column, along dim 1 a row. */
static int beginnings(struct build *b, const struct windows *w, int64_t n, int d)
{
	const int at = plus(b, times(b, emit_arange(b, scalar_int(n), DT_I64), w->stride[d]), -w->padding[d]);
	return d ? at : emit_view(b, at, (const int64_t[]){n, 1}, 2);
}

/* n is a number of two digits, the lower one below `base`. */
static void digits(struct build *b, int out[2], int n, int64_t base)
{
	out[0] = divided(b, n, base);
	out[1] = emit_sub_Tensor(b, n, times(b, out[0], base), one);
}

static int number(struct build *b, const int digit[2], int64_t base) { return emit_add_Tensor(b, times(b, digit[0], base), digit[1], one); }

/* prims._low_memory_max_pool_offsets_to_indices: elements as the plane counts them, of elements as their windows do. */
static int plane_of_window(struct build *b, const struct windows *w, int offsets)
{
	int at[2];
	digits(b, at, emit_to_copy(b, offsets, DT_I64), w->kernel[1]);
	for (int d = 0; d < 2; d++) {
		const struct meta *m = build_meta(b, offsets);
		const int from = beginnings(b, w, m->size[m->rank - 2 + d], d);
		at[d] = emit_add_Tensor(b, times(b, at[d], w->dilation[d]), from, one);
	}
	return number(b, at, w->plane[1]);
}

/* Result 1 of prims._low_memory_max_pool_with_offsets: the reverse. */
static int window_of_plane(struct build *b, const struct windows *w, int indices)
{
	int at[2];
	digits(b, at, indices, w->plane[1]);
	for (int d = 0; d < 2; d++) {
		const struct meta *m = build_meta(b, indices);
		const int from = beginnings(b, w, m->size[m->rank - 2 + d], d);
		at[d] = divided(b, emit_sub_Tensor(b, at[d], from, one), w->dilation[d]);
	}
	return emit_to_copy(b, number(b, at, w->kernel[1]), DT_I8);
}

/* An input of them gets data that lie on the plane: by turns the first and the last of a window. False: some window has none that does. */
static bool place_inside(struct prog *p, const struct windows *w, int input)
{
	const struct meta *m = node_meta(p, input);
	const int64_t n = meta_numel(m);
	struct scalar *cell = ARENA_NEW(p->arena, struct scalar, n + 1);
	for (int64_t k = 0; k < n; k++) {
		const int64_t columns = m->size[m->rank - 1], index[2] = {k / columns % m->size[m->rank - 2], k % columns};
		int64_t place[2];
		for (int d = 0; d < 2; d++) {
			const int64_t from = index[d] * w->stride[d] - w->padding[d], step = w->dilation[d];
			const int64_t first = from < 0 ? (step - 1 - from) / step : 0, end = (w->plane[d] - from + step - 1) / step;
			const int64_t last = MIN(w->kernel[d], end) - 1;
			if (first > last)
				return false;
			place[d] = k % 2 ? last : first;
		}
		cell[k] = scalar_int(place[0] * w->kernel[1] + place[1]);
	}
	p->node[input].arg[A_input_data] = arg_data(p, cell, (int)n);
	return true;
}

static int offsets_to_indices(struct build *b, const struct raw *raw)
{
	struct windows w;
	if (raw[0].tag != RAW_NODE || !pair(w.kernel, &raw[1], 1) || !pair(w.plane, &raw[2], 1) || !pair(w.stride, &raw[3], 1)
		|| !pair(w.padding, &raw[4], 0) || !pair(w.dilation, &raw[5], 1))
		return NO_VALUE;
	const struct meta *m = build_meta(b, raw[0].node);
	const bool input = b->p->node[raw[0].node].op == OP_input;
	if (m->dtype != DT_I8 || m->rank < 2 || (input && (!meta_is_contiguous(m) || meta_numel(m) > MAX_DATA)))
		return NO_VALUE;
	if (input && !place_inside(b->p, &w, raw[0].node))
		return NO_VALUE;
	return plane_of_window(b, &w, raw[0].node);
}

/* ---- positions that count where a mask is true alone ---- */

/* raw: of positions for each dim of self; out of range they name the first or the last element. */
static int within(struct build *b, int out[MAX_LIST], int self, const struct raw *raw)
{
	for (int d = 0; raw->tag == RAW_LIST && d < raw->n; d++) {
		const struct raw *v = &raw->item[d];
		const int64_t size = d < build_meta(b, self)->rank ? build_meta(b, self)->size[d] : 0;
		const struct scalar low = scalar_int(-size), high = scalar_int(size - 1);
		if (size == 0 || (v->tag == RAW_NODE ? build_meta(b, v->node)->dtype != DT_I64 : v->tag != RAW_NONE))
			return 0;
		out[d] = v->tag == RAW_NODE ? emit_clamp(b, v->node, &low, &high) : NO_VALUE;
	}
	return raw->tag == RAW_LIST ? raw->n : 0;
}

static int masked_index(struct build *b, const struct raw *raw)
{
	int at[MAX_LIST];
	const struct scalar fill = raw[3].tag == RAW_FLOAT ? scalar_float(raw[3].f) : scalar_int(raw[3].i.value);
	if (raw[0].tag != RAW_NODE || raw[1].tag != RAW_NODE || (raw[3].tag != RAW_FLOAT && (raw[3].tag != RAW_INT || raw[3].i.expr >= 0)))
		return NO_VALUE;
	const int n = within(b, at, raw[0].node, &raw[2]);
	if (n == 0)
		return NO_VALUE;
	const int read = emit_index_Tensor(b, raw[0].node, at, n), hidden = emit_logical_not(b, raw[1].node);
	return emit_masked_fill(b, read, hidden, fill);
}

static int masked_index_put(struct build *b, const struct raw *raw)
{
	int at[MAX_LIST];
	if (raw[0].tag != RAW_NODE || raw[1].tag != RAW_NODE || raw[3].tag != RAW_NODE)
		return NO_VALUE;
	const int n = within(b, at, raw[0].node, &raw[2]);
	if (n == 0)
		return NO_VALUE;
	const int shown = emit_masked_fill(b, raw[3].node, emit_logical_not(b, raw[1].node), scalar_int(0));
	return emit_index_put(b, raw[0].node, at, n, shown, true);
}

/* ---- sums of bags of rows ---- */

/* The sum of rows alone, without weights, padding or a last offset: arguments from k on have their defaults. */
static bool is_plain(const struct raw *raw, int k, int nraw, int padding)
{
	for (; k < nraw; k++)
		if (k == padding ? raw[k].tag != RAW_INT || raw[k].i.value != -1
						 : raw[k].tag != RAW_NONE && (raw[k].tag != RAW_BOOL || raw[k].b) && (raw[k].tag != RAW_INT || raw[k].i.value != 0))
			return false;
	return true;
}

/* Which bag each of n positions is in: the last that does not begin behind it. An input of offsets gets such that share n evenly. */
static int bags(struct build *b, int offsets, int64_t n)
{
	const struct meta *m = build_meta(b, offsets);
	if (b->p->node[offsets].op == OP_input && meta_is_contiguous(m) && m->size[0] <= MAX_DATA) {
		struct scalar *cell = ARENA_NEW(b->p->arena, struct scalar, m->size[0] + 1);
		for (int64_t k = 0; k < m->size[0]; k++)
			cell[k] = scalar_int(k * n / m->size[0]);
		b->p->node[offsets].arg[A_input_data] = arg_data(b->p, cell, (int)m->size[0]);
	}
	const int at = emit_view(b, emit_arange(b, scalar_int(n), DT_I64), (const int64_t[]){n, 1}, 2);
	return plus(b, emit_sum_dim(b, emit_ge_Tensor(b, at, offsets), (const int64_t[]){1}, 1, false, -1), -1);
}

static bool are_bags(const struct prog *p, const struct raw *indices, const struct raw *offsets)
{
	const struct raw *const v[] = {indices, offsets};
	for (int k = 0; k < ARRAY_LEN(v); k++)
		if (v[k]->tag != RAW_NODE || node_meta(p, v[k]->node)->rank != 1 || node_meta(p, v[k]->node)->dtype != DT_I64)
			return false;
	return true;
}

/* aten._embedding_bag, one result of it: PyTorch does not say what 2 and 3 hold where rows are summed, and leaves 1 empty. */
static int embedding_bag(struct build *b, const struct raw *raw, int k)
{
	const int64_t nbag = build_meta(b, raw[2].node)->size[0];
	if (k != 0)
		return emit_zeros(b, (const int64_t[]){k == 1 ? 0 : nbag}, 1, DT_I64);
	const struct meta weight = *build_meta(b, raw[0].node);
	const int bag = bags(b, raw[2].node, build_meta(b, raw[1].node)->size[0]), rows = emit_index_select(b, raw[0].node, 0, raw[1].node);
	return emit_index_add(b, emit_zeros(b, (const int64_t[]){nbag, weight.size[1]}, 2, (int)weight.dtype), 0, bag, rows, one);
}

static bool is_embedding_bag(const struct prog *p, const struct raw *raw)
{
	if (raw[0].tag != RAW_NODE || !are_bags(p, &raw[1], &raw[2]))
		return false;
	const struct meta *m = node_meta(p, raw[0].node);
	return m->rank == 2 && dtype_is_float(m->dtype) && m->dtype != DT_F64 && m->stride[1] == 1;
}

static int embedding_bag_backward(struct build *b, const struct raw *raw)
{
	if (raw[0].tag != RAW_NODE || !are_bags(b->p, &raw[1], &raw[2]) || raw[6].tag != RAW_INT || raw[6].i.expr >= 0)
		return NO_VALUE;
	const int bag = bags(b, raw[2].node, build_meta(b, raw[1].node)->size[0]), grad = emit_index_select(b, raw[0].node, 0, bag);
	return emit_embedding_dense_backward(b, grad, raw[1].node, raw[6].i.value, -1, false);
}

/* ---- products of three ---- */

/* The dims that v lists, as bits; -1: it is no list of dims. */
static int dims_of(const struct raw *v)
{
	int bits = 0;
	for (int k = 0; v->tag == RAW_LIST && k < v->n; k++) {
		const struct raw *d = &v->item[k];
		if (d->tag != RAW_INT || d->i.expr >= 0 || d->i.value < 0 || d->i.value >= MAX_RANK || bits >> d->i.value & 1)
			return -1;
		bits |= 1 << d->i.value;
	}
	return v->tag == RAW_LIST ? bits : -1;
}

/* aten._trilinear: of three tensors, each with dims of size 1 put in, the product, summed along dims. */
static int trilinear(struct build *b, const struct raw *raw)
{
	int64_t dims[MAX_RANK];
	int x[3], n = 0;
	const int summed = dims_of(&raw[6]);
	for (int k = 0; k < 3; k++) {
		const int new = dims_of(&raw[3 + k]);
		if (raw[k].tag != RAW_NODE || new < 0)
			return NO_VALUE;
		x[k] = raw[k].node;
		for (int d = 0; d < MAX_RANK; d++)
			if (new >> d & 1)
				x[k] = emit_unsqueeze(b, x[k], d);
	}
	for (int d = 0; d < MAX_RANK; d++)
		if (summed >> d & 1)
			dims[n++] = d;
	if (summed <= 0)
		return NO_VALUE;
	return emit_sum_dim(b, emit_mul_Tensor(b, emit_mul_Tensor(b, x[0], x[1]), x[2]), dims, n, false, -1);
}

/* ---- */

/* rows: appends them and returns the last one, or NO_VALUE for arguments that it does not read. NULL: its results are
 * read one by one. */
static const struct expansion {
	const char *name;
	int least, most, plain; /* arguments; from `plain` on they have their defaults, which of the last is -1 */
	int (*rows)(struct build *b, const struct raw *raw);
} expansions[] = {
	{"prims._low_memory_max_pool_offsets_to_indices.default", 6, 6, 6, offsets_to_indices},
	{"aten._unsafe_masked_index.default", 4, 4, 4, masked_index},
	{"aten._unsafe_masked_index_put_accumulate.default", 4, 4, 4, masked_index_put},
	{"aten._embedding_bag_backward.default", 11, 12, 7, embedding_bag_backward},
	{"aten._trilinear.default", 7, 7, 7, trilinear},
	{"aten._embedding_bag.default", 3, 9, 3, NULL},
	{"aten._embedding_bag_forward_only.default", 3, 9, 3, NULL},
};

static const struct expansion *find(const char *name)
{
	if (str_starts(name, "torch.ops."))
		name += strlen("torch.ops.");
	for (int i = 0; i < ARRAY_LEN(expansions); i++)
		if (str_eq(name, expansions[i].name))
			return &expansions[i];
	return NULL;
}

bool expand_knows(const char *name) { return find(name) != NULL; }

/* No tensor of it is what the row defines, or several. */
static bool is_defined(const struct prog *p, const struct raw *v)
{
	bool defined = v->tag != RAW_NODE || (v->node < p->nnode && p->node[v->node].nout == 1 && !node_is_sym(&p->node[v->node]));
	for (int i = 0; v->tag == RAW_LIST && i < v->n; i++)
		defined = defined && is_defined(p, &v->item[i]);
	return defined;
}

static bool are_read(const struct prog *p, const struct expansion *e, const struct raw *raw, int nraw)
{
	bool defined = nraw >= e->least && nraw <= e->most;
	for (int k = 0; k < nraw; k++)
		defined = defined && !raw[k].name && is_defined(p, &raw[k]);
	return defined && is_plain(raw, e->plain, nraw, e->most - 1);
}

/* The rows that were appended in the place of `own`. */
static bool expanded(struct text_reader *r, const struct node *own, int last, const struct build *b, int from)
{
	struct prog *p = r->p;
	if (last == NO_VALUE || b->refusal.msg[0])
		return err_at(
			r->err, own->line, own->col, "'%s': %s", own->name, last == NO_VALUE ? "such arguments are not read" : b->refusal.msg);
	CHECK(last == p->nnode - 1 && last >= from);
	for (int i = from; i < p->nnode; i++) {
		p->node[i].name = i == last ? own->name : arena_printf(p->arena, "%.*s__%d", MAX_NAME - 8, own->name, i - from);
		p->node[i].line = own->line;
		p->node[i].col = own->col;
	}
	return true;
}

/* Rows take the place of the last node, which has a name and nothing else yet. */
static bool begin(struct text_reader *r, struct node *own)
{
	enum { MOST = 32 };
	*own = r->p->node[r->p->nnode - 1];
	if (r->symbols && r->symbols->nsym)
		return err_at(r->err, own->line, own->col, "'%s' is read in graphs of constant sizes only", own->name);
	if (r->p->nnode > MAX_NODES - MOST)
		return err_at(r->err, own->line, own->col, "more than %d nodes", MAX_NODES);
	r->p->nnode--;
	return true;
}

bool expand_row(struct text_reader *r, const char *name, const struct raw *raw, int nraw)
{
	const struct expansion *e = find(name);
	struct build b = {.p = r->p, .may_refuse = true};
	struct node own;
	if (!begin(r, &own))
		return false;
	const int from = r->p->nnode;
	const bool read = e->rows && are_read(r->p, e, raw, nraw);
	return expanded(r, &own, read ? e->rows(&b, raw) : NO_VALUE, &b, from);
}

/* ---- results that are read one by one ---- */

/* A row with several, whose name stands for nothing but them. */
struct expand_parts {
	const char *name;
	const struct raw *raw;
	const struct expand_parts *before;
};

bool expand_later(struct text_reader *r, const char *op, const struct raw *raw, int nraw)
{
	const struct expansion *e = find(op);
	const char *const name = r->p->node[r->p->nnode - 1].name;
	if (!e || e->rows)
		return false;
	r->p->nnode--;
	const bool read = are_read(r->p, e, raw, nraw) && is_embedding_bag(r->p, raw);
	r->p->nnode += !read;
	if (!read)
		return false;
	struct expand_parts *parts = ARENA_NEW(r->a, struct expand_parts, 1);
	*parts = (struct expand_parts){name, raw, r->parts};
	r->parts = parts;
	return true;
}

bool expand_part(struct text_reader *r, const char *tuple, int64_t k)
{
	const struct expand_parts *parts = r->parts;
	struct build b = {.p = r->p, .may_refuse = true};
	struct node own;
	while (parts && !str_eq(parts->name, tuple))
		parts = parts->before;
	if (!parts)
		return err_at(r->err, r->line, 1, "'%s' is not defined", tuple);
	if (!begin(r, &own))
		return false;
	const int from = r->p->nnode;
	return expanded(r, &own, k >= 0 && k < 4 ? embedding_bag(&b, parts->raw, (int)k) : NO_VALUE, &b, from);
}

bool expand_has_offsets(const struct prog *p, int pool, const struct annotation *result)
{
	return p->node[pool].op == OP_max_pool2d_with_indices && result->given && result->meta.dtype == DT_I8;
}

bool expand_offsets(struct text_reader *r, int pool)
{
	static const int list[] = {N_kernel_size, N_stride, N_padding, N_dilation};
	struct windows w;
	int64_t *const into[] = {w.kernel, w.stride, w.padding, w.dilation}, v[MAX_LIST] = {0};
	struct build b = {.p = r->p, .may_refuse = true};
	struct node own;
	const struct node *n = &r->p->node[pool];
	const struct meta *m = node_meta(r->p, n->arg[A_max_pool_with_indices_self].node);
	bool read = true;
	for (int k = 0; k < ARRAY_LEN(list); k++) {
		read = read && node_ints(v, n, op_arg(n->op, list[k])) == 2;
		memcpy(into[k], v, sizeof w.kernel);
	}
	memcpy(w.plane, m->size + m->rank - 2, sizeof w.plane);
	if (!begin(r, &own))
		return false;
	const int from = r->p->nnode;
	return expanded(r, &own, read ? window_of_plane(&b, &w, emit_getitem(&b, pool, 1)) : NO_VALUE, &b, from);
}
