/* cause.c: see cause.h. */
#include "fuzz/triage/cause.h"

#include <stdlib.h>

#include "compiled/targets/message.h"
#include "generated/op_id.h"

/* ---- operators ----------------------------------------------------------------------------------------------------------------------- */

static int by_text(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

/* Without overloads, so that sum and sum.dim_IntList are one; without those that only make a cotangent or take a result apart. */
static void put_operators(struct strbuf *sb, const struct prog *p, struct arena *a)
{
	const char *name[MAX_NODES];
	int n = 0;
	for (int i = 0; i < p->nnode; i++) {
		const struct op_info *op = &op_info[p->node[i].op];
		if (op->family != F_INPUT && op->family != F_FACTORY && p->node[i].op != OP_getitem)
			name[n++] = arena_printf(a, "%.*s", (int)strcspn(op->name, "."), op->name);
	}
	qsort(name, (size_t)n, sizeof *name, by_text);
	if (!n)
		sb_puts(sb, "inputs alone");
	for (int i = 0; i < n; i++)
		if (!i || !str_eq(name[i], name[i - 1]))
			sb_printf(sb, "%s%s", i ? " " : "", name[i]);
}

/* dtypes that a minimiser could not make plain: float ones but f32; whole numbers and masks. */
static void put_dtypes(struct strbuf *sb, const struct prog *p)
{
	bool there[NDTYPES] = {false};
	for (int i = 0; i < p->nnode; i++)
		if (node_is_input(&p->node[i]))
			there[node_meta(p, i)->dtype] = true;
	for (int dt = 0; dt < NDTYPES; dt++)
		if (there[dt] && dt != DT_F32 && dt != DT_I64)
			sb_printf(sb, "; %s", dtype_info[dt].name);
}

static const char *layout_of(const struct prog *p, int node)
{
	const struct meta *m = node_meta(p, node);
	if (p->node[node].op == OP_input_view)
		return "shared memory";
	if (meta_numel(m) == 0)
		return "no elements";
	if (meta_has_duplicates(m))
		return "overlapping";
	return meta_is_contiguous(m) ? m->offset ? "offset" : NULL : "strided";
}

static void put_layouts(struct strbuf *sb, const struct prog *p)
{
	const char *seen[MAX_NODES];
	int n = 0;
	for (int i = 0; i < p->nnode; i++) {
		const char *layout = node_is_input(&p->node[i]) ? layout_of(p, i) : NULL;
		for (int k = 0; k < n && layout; k++)
			if (str_eq(seen[k], layout))
				layout = NULL;
		if (layout)
			seen[n++] = layout;
	}
	qsort(seen, (size_t)n, sizeof *seen, by_text);
	for (int i = 0; i < n; i++)
		sb_printf(sb, "; %s", seen[i]);
}

/* ---- cures --------------------------------------------------------------------------------------------------------------------------- */

/* What the minimiser puts in place of any other operator (shrink.h): as the first wrong value they say nothing about the bug. */
static bool is_plain(const char *op)
{
	static const char *const plain[] = {"aten.neg", "aten.add", "aten.sum", "aten.clone", "aten.mul"};
	for (int i = 0; i < ARRAY_LEN(plain); i++)
		if (str_eq(plain[i], op))
			return true;
	return false;
}

/* Named by what was seen of the compiler's own graph, where cures are many. NULL: by nothing, or by a guess. */
static const char *suspected_operator(const struct blame *b, struct arena *a)
{
	const bool seen = b->suspect.rule == SUSPECT_VALUE || b->suspect.rule == SUSPECT_LAYOUT;
	const char *op = seen ? without_overload(b->suspect.op, a) : NULL;
	return op && !is_plain(op) ? op : NULL;
}

const char *cause_cure(const struct blame *b, struct arena *a)
{
	for (int i = 0; i < b->ncures; i++)
		if (cure_operator(&b->cure[i]))
			return arena_printf(a, "%s=%s", b->cure[i].option.name, b->cure[i].option.value);
	return "";
}

bool cause_cure_read(struct target_option *out, const char *text)
{
	size_t n = strcspn(text, "=");
	if (!n || text[n] != '=' || n >= sizeof out->name || strlen(text + n + 1) >= sizeof out->value || !text[n + 1])
		return false;
	*out = (struct target_option){.name = ""};
	memcpy(out->name, text, n);
	snprintf(out->value, sizeof out->value, "%s", text + n + 1);
	return true;
}

/* ---- the text ------------------------------------------------------------------------------------------------------------------------ */

static const char *sort_text(enum error_sort s)
{
	switch (s) {
	case ERROR_NONE: return "";
	case ERROR_SPECIAL: return ", NaN or infinite";
	case ERROR_ROUNDING: return ", a few units in the last place";
	case ERROR_SIZES: return ", sizes";
	case ERROR_DTYPE: return ", dtype";
	case ERROR_DEVICE: return ", device";
	case ERROR_STRIDES: return ", strides alone";
	case ERROR_OVERWRITTEN: return ", overwritten by a later call";
	case ERROR_REQUIRES_GRAD: return ", requires_grad";
	case ERROR_ZERO:
	case ERROR_SCALED:
	case ERROR_CONSTANT:
	case ERROR_MOVED:
	case ERROR_STALE:
	case ERROR_OTHER: break;
	}
	return ", wrong";
}

const char *cause_head(const struct failure *f, const struct blame *b, const struct target *t, struct arena *a)
{
	const char *what = f->signature[0] ? f->signature : finding_kind_name[f->kind];
	return arena_printf(a, "%s:%s: %s%s", target_family(t), b->stage, what, f->signature[0] ? "" : sort_text(f->sort));
}

const char *cause_of(const struct prog *least, const struct failure *f, const struct blame *b, const struct target *t, struct arena *a)
{
	const char *head = cause_head(f, b, t, a), *op = cures_operator(&(struct cures){b->cure, b->ncures, b->predicted}, a);
	struct strbuf sb;
	if (b->invariant[0])
		return arena_printf(a, "%s:%s: %s", target_family(t), b->stage, b->invariant);
	if (f->signature[0] && f->placed)
		return head;
	if (op && b->predicted[0]
		&& str_eq(op, without_overload(b->predicted, a))) /* whatever reads or writes by that layout goes wrong, each in its way */
		return arena_printf(a, "%s:%s: layout predicted wrong; %s", target_family(t), b->stage, op);
	if (op)
		return arena_printf(a, "%s; %s", head, op);
	op = suspected_operator(b, a);
	sb_init(&sb);
	sb_printf(&sb, "%s; %s", head, op ? op : "");
	if (!op)
		put_operators(&sb, least, a);
	put_dtypes(&sb, least);
	put_layouts(&sb, least);
	const char *s = arena_strdup(a, sb.s);
	sb_free(&sb);
	return s;
}
