/* signature.c: see signature.h. */
#include "fuzz/triage/signature.h"
#include "generated/op_id.h"

#include <stdlib.h>

static bool passes_through(int op)
{
	return op_has(op, T_VIEW) || op_has(op, T_MAYBE_VIEW) || op_info[op].family == F_INPUT || op == OP_getitem;
}

/* Operators that made the wrong output, or that read the input of the wrong gradient, seen through views (the views, if there is nothing
 * else); every operator for storages and if nothing is known. */
static void neighbours(const struct prog *p, const struct tensor_verdict *w, bool *set)
{
	bool through[MAX_NODES] = {0};
	memset(set, 0, MAX_NODES * sizeof *set);
	if (w && w->role == TR_GRADIENT && w->node >= 0) {
		through[w->node] = true;
		for (int i = 0; i < p->nnode; i++)
			if (node_reads(p, &p->node[i], through))
				*(passes_through(p->node[i].op) ? &through[i] : &set[i]) = true;
	} else if (w && w->role == TR_OUTPUT && w->node >= 0) {
		through[w->node] = true;
		for (int i = p->nnode - 1; i >= 0; i--)
			if (through[i] && passes_through(p->node[i].op))
				node_mark_operands(p, &p->node[i], through);
			else
				set[i] = through[i];
	} else {
		for (int i = 0; i < p->nnode; i++) {
			through[i] = true;
			set[i] = !passes_through(p->node[i].op);
		}
	}
	bool any = false;
	for (int i = 0; i < p->nnode; i++)
		any = any || set[i];
	if (!any)
		memcpy(set, through, sizeof through);
}

static int by_text(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

/* Operators of the set without views and inputs, linear reductions under one name, sorted, each once. */
static void motif(struct strbuf *sb, const struct prog *p, const bool *set)
{
	const char *name[MAX_NODES];
	int n = 0;
	bool forward[MAX_NODES], cot[MAX_NODES];
	prog_partition(p, forward, cot);
	for (int i = 0; i < p->nnode; i++) {
		const struct op_info *op = &op_info[p->node[i].op];
		if (!set[i] || !forward[i] || op->family == F_INPUT || p->node[i].op == OP_getitem)
			continue;
		name[n++] = (op->traits & T_REDUCE) && (op->traits & T_LINEAR) ? "linear-reduction" : op->name;
	}
	qsort(name, (size_t)n, sizeof *name, by_text);
	for (int i = 0; i < n; i++)
		if (!i || !str_eq(name[i], name[i - 1]))
			sb_printf(sb, "%s%s", sb->len && sb->s[sb->len - 1] != ' ' ? "+" : "", name[i]);
}

static const char predicted[] = "predicted layout overlaps: ";

const char *signature_hint(const char *signature)
{
	static const enum finding_kind named[] = {FINDING_GRADIENT, FINDING_VALUE};
	for (int i = 0; i < ARRAY_LEN(named); i++) {
		size_t n = strlen(finding_kind_name[named[i]]);
		if (str_starts(signature, finding_kind_name[named[i]]) && signature[n] == ' ' && str_starts(signature + n + 1, predicted))
			return signature + n + 1 + strlen(predicted);
	}
	return "";
}

const char *signature_of(enum finding_kind kind, const struct prog *p, const struct tensor_verdict *w, const char *hint, struct arena *a)
{
	struct strbuf sig;
	bool set[MAX_NODES];
	sb_init(&sig);
	sb_printf(&sig, "%s ", finding_kind_name[kind]);
	if (hint && hint[0] && w && w->cmp.pattern != PAT_ULP && (kind == FINDING_GRADIENT || kind == FINDING_VALUE)) {
		sb_printf(&sig, "%s%s", predicted, hint);
	} else {
		if (w && w->cmp.count[EL_DISAGREE])
			sb_printf(&sig, "%s ", pattern_name[w->cmp.pattern]);
		neighbours(p, w, set);
		motif(&sig, p, set);
	}
	const char *s = arena_strdup(a, sig.s);
	sb_free(&sig);
	return s;
}
