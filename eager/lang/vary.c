/* vary.c: an edit at many places, then the shape rules say whether that is a program. */
#include "eager/lang/vary.h"

#include "eager/lang/edit.h"
#include "eager/lang/shrink_size.h"
#include "generated/op_id.h"

/* q: edited, its metas as they were. */
static bool settle(struct prog *out, struct prog *q, struct err *err)
{
	if (!prog_rebind(q, err))
		return false;
	shrink_refit_cotangents(q);
	if (!prog_rebind(q, err) || !prog_validate(q, err) || !prog_validate_calls(q, err))
		return false;
	*out = *q;
	return true;
}

bool vary_size(struct prog *out, const struct prog *p, int64_t from, int64_t to, bool *moved, struct arena *a, struct err *err)
{
	struct prog q;
	prog_clone(&q, p, a);
	return shrink_resize(&q, from, to, moved, err) && settle(out, &q, err);
}

bool vary_dtype(struct prog *out, const struct prog *p, enum dtype from, enum dtype to, struct arena *a, struct err *err)
{
	struct prog q;
	prog_clone(&q, p, a);
	edit_dtypes(&q, from, to);
	return settle(out, &q, err);
}

/* ---- in words ------------------------------------------------------------------------------------------------------------------------ */

static void print_sizes(struct strbuf *sb, const struct meta *m)
{
	if (!m->rank)
		sb_puts(sb, "scalar");
	for (int d = 0; d < m->rank; d++)
		sb_printf(sb, "%s%lld", d ? "x" : "", (long long)m->size[d]);
}

static void print_input(struct strbuf *sb, const struct node *was, const struct node *is)
{
	const struct meta *m = &was->out[0].meta, *n = &is->out[0].meta;
	if (!meta_same_sizes(m, n)) {
		sb_printf(sb, "%s%s: ", sb->len ? ", " : "", was->name);
		print_sizes(sb, m);
		sb_puts(sb, " -> ");
		print_sizes(sb, n);
	}
	if (m->dtype != n->dtype)
		sb_printf(sb, "%s%s: %s -> %s", sb->len ? ", " : "", was->name, dtype_info[m->dtype].name, dtype_info[n->dtype].name);
}

/* Numbers, dtypes. */
static void print_arguments(struct strbuf *sb, const struct node *was, const struct node *is)
{
	for (int k = 0; k < op_info[was->op].nparam; k++) {
		const struct arg *m = &was->arg[k], *n = &is->arg[k];
		const char *name = op_info[was->op].param[k].name, *before = sb->len ? ", " : "";
		if (m->tag == ARG_INT && n->tag == ARG_INT && m->i.value != n->i.value)
			sb_printf(sb, "%s%s.%s: %lld -> %lld", before, was->name, name, (long long)m->i.value, (long long)n->i.value);
		if (m->tag == ARG_DTYPE && n->tag == ARG_DTYPE && m->dtype != n->dtype)
			sb_printf(sb, "%s%s.%s: %s -> %s", before, was->name, name, dtype_info[m->dtype].name, dtype_info[n->dtype].name);
	}
}

void vary_print(struct strbuf *sb, const struct prog *p, const struct prog *q)
{
	CHECK(p->nnode == q->nnode);
	for (int i = 0; i < p->nnode; i++) {
		if (p->node[i].op == OP_input)
			print_input(sb, &p->node[i], &q->node[i]);
		else
			print_arguments(sb, &p->node[i], &q->node[i]);
	}
}
