/* short_inputs.c: looks at the cells of the input's memory, then at how the tensor lies in it. */
#include "compiled/targets/torch/short_inputs.h"

#include <inttypes.h>

#include "compiled/targets/torch/emit_python.h"
#include "eager/lang/fill.h"
#include "generated/op_id.h"

/* ---- how it lies in memory ------------------------------------------------------------------------------------------------------- */

/* The sizes of what the factory makes, and what turns it into the tensor. */
struct lay {
	int rank;
	int64_t size[MAX_RANK];
	enum { LAY_PLAIN, LAY_TRANSPOSED, LAY_EXPANDED, LAY_STRIDED } how;
};

static void lay_of(struct lay *out, const struct meta *m)
{
	const int64_t n = meta_extent(m);
	bool expanded = m->rank > 0 && n == 1 && m->offset == 0;
	*out = (struct lay){.rank = m->rank};
	for (int i = 0; i < m->rank; i++) {
		out->size[i] = m->size[i];
		expanded = expanded && m->stride[i] == 0;
	}
	if (meta_is_contiguous(m) && m->offset == 0 && n == meta_numel(m))
		return;
	if (m->rank == 2 && m->offset == 0 && n == meta_numel(m) && m->stride[0] == 1 && m->stride[1] == m->size[0]) {
		out->how = LAY_TRANSPOSED;
		out->size[0] = m->size[1];
		out->size[1] = m->size[0];
		return;
	}
	out->how = expanded ? LAY_EXPANDED : LAY_STRIDED;
	out->rank = 1;
	out->size[0] = n;
}

static void as_strided(struct strbuf *sb, const struct meta *m)
{
	sb_puts(sb, ".as_strided(");
	short_tuple(sb, m->size, m->rank);
	sb_puts(sb, ", ");
	short_tuple(sb, m->stride, m->rank);
	if (m->offset)
		sb_printf(sb, ", %" PRId64, m->offset);
	sb_putc(sb, ')');
}

static void lay_out(struct strbuf *sb, const struct lay *l, const struct meta *m)
{
	switch (l->how) {
	case LAY_PLAIN: return;
	case LAY_TRANSPOSED: sb_puts(sb, ".t()"); return;
	case LAY_EXPANDED:
		sb_puts(sb, ".expand(");
		short_sizes(sb, m->size, m->rank);
		sb_putc(sb, ')');
		return;
	case LAY_STRIDED: as_strided(sb, m); return;
	}
}

/* ---- its numbers ----------------------------------------------------------------------------------------------------------------- */

/* "2, 3": as arguments; of no dimension the empty tuple. */
static void sizes_of(struct strbuf *sb, const struct lay *l)
{
	if (l->rank)
		short_sizes(sb, l->size, l->rank);
	else
		short_tuple(sb, l->size, 0);
}

/* What the factory makes by itself; NDTYPES: whatever is said. */
static enum dtype own_dtype(enum dtype t) { return dtype_is_float(t) ? DT_F32 : t == DT_B8 ? DT_B8 : DT_I64; }

/* Up to the arguments that are keywords. *reshape: the sizes are yet to be said; *dtype: what it is if none is said. False: too many. */
static bool numbers(
	struct strbuf *sb, bool *reshape, enum dtype *dtype, const struct scalar *v, int64_t n, const struct lay *l, enum dtype t)
{
	*reshape = false;
	*dtype = own_dtype(t);
	switch (short_pattern_of(v, n)) {
	case SHORT_ZEROS:
	case SHORT_ONES:
		sb_printf(sb, "torch.%s(", short_value(v) != 0 ? "ones" : "zeros");
		sizes_of(sb, l);
		*dtype = DT_F32;
		break;
	case SHORT_COUNTED:
		sb_printf(sb, dtype_is_float(t) ? "torch.arange(%" PRId64 ".0" : "torch.arange(%" PRId64, n);
		*reshape = l->rank != 1;
		break;
	case SHORT_SAME:
		sb_puts(sb, "torch.full(");
		short_tuple(sb, l->size, l->rank);
		sb_puts(sb, ", ");
		short_number(sb, v);
		break;
	case SHORT_LISTED:
		sb_puts(sb, "torch.tensor(");
		short_nested(sb, &v, l->size, l->rank);
		return n <= SHORT_LITERAL;
	}
	return true;
}

/* The memory of another input. */
static bool shared(struct strbuf *sb, const struct prog *p, int node)
{
	for (int i = 0; i < node; i++)
		if (p->node[i].op == OP_input && p->node[i].out[0].storage == p->node[node].out[0].storage) {
			emit_name(sb, p, i);
			as_strided(sb, node_meta(p, node));
			return !node_requires_grad(&p->node[i]) && !node_requires_grad(&p->node[node]);
		}
	return false;
}

static bool made(struct strbuf *sb, bool *chained, const struct prog *p, int node, bool random, enum target_device device)
{
	const struct meta *m = node_meta(p, node);
	const int64_t n = m->device == DEV_META ? 1 : meta_extent(m);
	const bool floats = dtype_is_float(m->dtype);
	bool reshape = false, ok = true;
	enum dtype dtype = DT_F32;
	struct lay l;
	struct arena a;
	lay_of(&l, m);
	if (m->device == DEV_META || !n || (random && floats)) {
		sb_puts(sb, m->device == DEV_META || !n ? "torch.empty(" : "torch.randn(");
		sizes_of(sb, &l);
	} else if (n > MAX_DATA) {
		return false;
	} else {
		arena_init(&a);
		const struct arg cells = fill_to_data(fill_storage(p, p->node[node].out[0].storage, &a), (int)n, m->dtype, &a);
		ok = numbers(sb, &reshape, &dtype, cells.data, n, &l, m->dtype);
		arena_free(&a);
	}
	if (m->dtype != dtype)
		sb_printf(sb, ", dtype=torch.%s", dtype_info[m->dtype].torch);
	if (m->device == DEV_META)
		sb_puts(sb, ", device=\"meta\"");
	else if (device == TDEV_CUDA && m->device == DEV_RUN)
		sb_puts(sb, ", device=\"cuda\"");
	*chained = reshape || l.how != LAY_PLAIN;
	if (!*chained && node_requires_grad(&p->node[node]))
		sb_puts(sb, ", requires_grad=True");
	sb_putc(sb, ')');
	if (reshape) {
		sb_puts(sb, ".reshape(");
		sizes_of(sb, &l);
		sb_putc(sb, ')');
	}
	lay_out(sb, &l, m);
	return ok;
}

bool short_input(struct strbuf *sb, const struct prog *p, int node, bool random, enum target_device device)
{
	bool chained = false;
	if (p->node[node].op != OP_input)
		return shared(sb, p, node);
	if (!made(sb, &chained, p, node, random, device))
		return false;
	if (chained && node_requires_grad(&p->node[node]))
		sb_puts(sb, ".requires_grad_()");
	return true;
}
