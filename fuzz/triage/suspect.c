/* suspect.c: see suspect.h. A node is passed over as soon as something that it reads is wrong: it cannot be the first. */
#include "fuzz/triage/suspect.h"

enum { MAX_VALUES = 256, NWORDS = 10 };

/* ---- cures --------------------------------------------------------------------------------------------------------------------------- */

/* What follows "fw:", "bw:" in its value, or the value itself. */
const char *cure_operator(const struct cure *c)
{
	const char *value = c->option.value;
	const char *aten = strstr(value, "aten."), *prims = strstr(value, "prims.");
	return !c->option.name[0] ? NULL : aten ? aten : prims;
}

const char *without_overload(const char *op, struct arena *a)
{
	size_t n = strcspn(op, ".");
	n += op[n] ? 1 + strcspn(op + n + 1, ".") : 0;
	return arena_printf(a, "%.*s", (int)n, op);
}

const char *cures_operator(const struct cures *c, struct arena *a)
{
	const char *one = NULL;
	for (int i = 0; i < c->n && c->predicted[0]; i++) {
		const char *op = cure_operator(&c->cure[i]);
		if (op && str_eq(op, c->predicted))
			return without_overload(op, a);
	}
	for (int i = 0; i < c->n; i++) {
		const char *op = cure_operator(&c->cure[i]);
		op = op ? without_overload(op, a) : NULL;
		if (op && one && !str_eq(one, op))
			return NULL;
		one = op ? op : one;
	}
	return one;
}

/* The first cure of that operator: of the graph that it names, or of any. */
static const struct cure *first_cure(const struct cures *c, const char *operator, struct arena * a)
{
	for (int i = 0; i < c->n; i++) {
		const char *op = cure_operator(&c->cure[i]);
		if (op && str_eq(without_overload(op, a), operator))
			return &c->cure[i];
	}
	return NULL;
}

/* The node's name, from a line "bw slice_scatter_1 aten.slice_scatter.default ..." of that operator; "" if there is none. */
static const char *node_of(const char *operators, bool backward, const char *op, struct arena *a)
{
	for (const char *line = operators; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		char graph[8], node[128], name[128];
		if (sscanf(line, "%7s %127s %127s", graph, node, name) == 3 && str_eq(graph, backward ? "bw" : "fw") && str_eq(name, op))
			return arena_strdup(a, node);
	}
	return "";
}

bool suspect_of_cures(struct suspect *out, const struct cures *c, const char *operators, bool backward_first, struct arena *a)
{
	const char *one = cures_operator(c, a);
	const struct cure *cure = one ? first_cure(c, one, a) : NULL;
	*out = (struct suspect){.op = "", .node = "", .graph = "", .why = ""};
	if (!cure)
		return false;
	const char *value = cure->option.value, *op = arena_strdup(a, cure_operator(cure));
	bool backward = strncmp(value, "bw:", 3) == 0;
	if (!backward && strncmp(value, "fw:", 3) != 0)
		backward = node_of(operators, backward_first, op, a)[0] ? backward_first : !backward_first;
	const bool predicted = c->predicted[0] && str_eq(op, c->predicted);
	*out = (struct suspect){.op = op,
		.node = node_of(operators, backward, op, a),
		.graph = backward ? "backward" : "forward",
		.why = predicted ? arena_printf(a, "its layout is predicted wrong, and %s cures the failure", cure->what)
						 : "it is the only operator that cures name",
		.rule = SUSPECT_CURE};
	return true;
}

/* ---- decompositions ------------------------------------------------------------------------------------------------------------------ */

/* "<OpOverload(op='aten.index_add', overload='default')>" is how PyTorch's bisector names one. */
bool suspect_of_step(struct suspect *out, const char *step, struct arena *a)
{
	char op[128], overload[128];
	*out = (struct suspect){.op = "", .node = "", .graph = "", .why = ""};
	if (sscanf(step, "<OpOverload(op='%127[a-zA-Z0-9_.]', overload='%127[a-zA-Z0-9_]')>", op, overload) != 2)
		return false;
	out->op = arena_printf(a, "%s.%s", op, overload);
	out->why = "its decomposition is the first with which the program goes wrong";
	out->rule = SUSPECT_DECOMPOSITION;
	return true;
}

/* ---- values -------------------------------------------------------------------------------------------------------------------------- */

struct value_line {
	const char *graph, *node, *op, *value, *alone, *layout, *predicted, *real, *made;
	const char *inputs; /* nodes that it reads, joined by commas */
	bool wrong;         /* it, or something that it reads */
};
struct values {
	int n;
	struct value_line line[MAX_VALUES];
};

/* The words of a line; how many, NWORDS + 1 if there are more. */
static int split(const char *word[NWORDS], const char *line, size_t n, struct arena *a)
{
	int nwords = 0;
	for (size_t at = 0; at < n; at++) {
		size_t len = 0;
		while (at + len < n && line[at + len] != ' ')
			len++;
		if (len && nwords < NWORDS)
			word[nwords] = arena_printf(a, "%.*s", (int)len, line + at);
		nwords += len && nwords <= NWORDS;
		at += len;
	}
	return nwords;
}

/* At most MAX_VALUES lines. */
static void read_values(struct values *out, const char *text, struct arena *a)
{
	for (const char *line = text; *line && out->n < MAX_VALUES; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *w[NWORDS];
		if (split(w, line, strcspn(line, "\n"), a) == NWORDS && (str_eq(w[0], "fw") || str_eq(w[0], "bw")))
			out->line[out->n++] = (struct value_line){w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], false};
	}
}

/* Is word in a list that is joined by commas? */
static bool has_word(const char *list, const char *word)
{
	for (size_t n; *list; list += n + (list[n] == ',')) {
		n = strcspn(list, ",");
		if (n == strlen(word) && memcmp(list, word, n) == 0)
			return true;
	}
	return false;
}

static bool reads_wrong(const struct values *vs, int k)
{
	const struct value_line *v = &vs->line[k];
	for (int i = 0; i < k; i++)
		if (vs->line[i].wrong && str_eq(vs->line[i].graph, v->graph) && has_word(v->inputs, vs->line[i].node))
			return true;
	return false;
}

/* Does it matter that the layout is predicted wrong? Always if a write or a read goes to other cells or a dtype is another; strides alone,
 * if strides are what is wrong or a cure names the operator. */
static bool layout_matters(const struct value_line *v, const struct failure *f, const struct cures *c)
{
	if (!str_eq(v->layout, "strides"))
		return !str_eq(v->layout, "same");
	for (int i = 0; i < c->n; i++) {
		const char *op = cure_operator(&c->cure[i]);
		if (op && str_eq(op, v->op))
			return true;
	}
	return f->sort == ERROR_STRIDES;
}

static void name(struct suspect *out, const struct value_line *v, enum suspect_rule rule, const char *why)
{
	if (out->rule != SUSPECT_NONE && rule != SUSPECT_OUTPUT)
		return;
	*out =
		(struct suspect){.op = v->op, .node = v->node, .graph = str_eq(v->graph, "bw") ? "backward" : "forward", .why = why, .rule = rule};
}

/* The rule that a node whose inputs are right meets; SUSPECT_NONE: none. */
static enum suspect_rule rule_of(const struct value_line *v, const struct failure *f, const struct cures *c)
{
	const bool of_layout = f->kind == FINDING_META;
	if (str_eq(v->value, "raises"))
		return SUSPECT_COMPILE;
	if (layout_matters(v, f, c) || (of_layout && !str_eq(v->made, "-") && !str_eq(v->made, v->real)))
		return SUSPECT_LAYOUT;
	return str_eq(v->value, "differs") && !of_layout ? SUSPECT_VALUE : SUSPECT_NONE;
}

static const char *why_of(const struct value_line *v, enum suspect_rule rule, struct arena *a)
{
	if (rule == SUSPECT_COMPILE)
		return "the graph up to it is the first part that does not compile";
	if (rule == SUSPECT_VALUE)
		return "its output is the first wrong value";
	if (!str_eq(v->layout, "same"))
		return arena_printf(a, "its layout is the first that is predicted wrong, as %s where ATen's is %s", v->predicted, v->real);
	return arena_printf(a, "its output is the first with a wrong layout, %s where ATen's is %s", v->made, v->real);
}

bool suspect_of_values(struct suspect *out, const char *values, const struct failure *f, const struct cures *c, struct arena *a)
{
	struct values *vs = ARENA_ZNEW(a, struct values, 1);
	*out = (struct suspect){.op = "", .node = "", .graph = "", .why = ""};
	read_values(vs, values, a);
	for (int i = 0; i < vs->n; i++) {
		struct value_line *v = &vs->line[i];
		v->wrong = reads_wrong(vs, i);
		enum suspect_rule rule = v->wrong ? SUSPECT_NONE : rule_of(v, f, c);
		if (rule == SUSPECT_NONE)
			continue;
		v->wrong = true;
		name(out, v, rule, why_of(v, rule, a));
	}
	for (int i = 0; i < vs->n && (out->rule == SUSPECT_NONE || out->rule == SUSPECT_OUTPUT); i++)
		if (str_eq(vs->line[i].alone, "cures"))
			name(out, &vs->line[i], SUSPECT_OUTPUT, "the failure goes away if its value is an output of the graph as well");
	return out->rule != SUSPECT_NONE;
}
