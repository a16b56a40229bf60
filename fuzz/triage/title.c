/* title.c: the operators of the smallest program, the wrong tensor and the shape of its error, the stage that goes wrong first. */
#include "fuzz/triage/title.h"

#include "compiled/targets/driver.h"
#include "compiled/targets/message.h"
#include "eager/base/escape.h"
#include "eager/lang/prog.h"
#include "fuzz/triage/tensor_name.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

/* ---- what is called ------------------------------------------------------------------------------------------------------------------ */

enum { MOST_NAMED = 4, MOST_MESSAGE = 60 };

static bool is_named(const struct prog *p, int node)
{
	const struct op_info *op = &op_info[p->node[node].op];
	return op->family != F_INPUT && op->family != F_FACTORY && p->node[node].op != OP_getitem;
}

static const char *plain_name(int op, struct arena *a)
{
	return arena_printf(a, "%.*s", (int)strcspn(op_info[op].name, "."), op_info[op].name);
}

/* Of two, the second reads the first: "`b` of `a`". */
static bool is_chain(const struct prog *p, int first, int second)
{
	bool set[MAX_NODES] = {false};
	set[first] = true;
	return node_reads(p, &p->node[second], set);
}

/* Operators that the backward of a program has for its cotangents are not what is called, unless there is nothing else. */
static int named_nodes(int *node, const struct prog *p)
{
	bool forward[MAX_NODES], cot[MAX_NODES];
	int n = 0;
	prog_partition(p, forward, cot);
	for (int i = 0; i < p->nnode; i++)
		if (is_named(p, i) && forward[i])
			node[n++] = i;
	return n;
}

/* The operator that makes the wrong result, reads the input whose gradient is wrong, writes the wrong input. Negative: unknown, or a value
 * that none makes. */
static int wrong_node(const struct prog *p, const char *tensor)
{
	struct tensor_name name;
	struct err err = {0};
	bool forward[MAX_NODES], cot[MAX_NODES], of[MAX_NODES] = {false};
	if (!tensor[0] || !tensor_name_read(&name, tensor, p, &err))
		return -1;
	prog_partition(p, forward, cot);
	int node = prog_find(p, name.node);
	if (node < 0)
		return -1;
	if (name.role == TR_OUTPUT) {
		while (p->node[node].op == OP_getitem)
			node = p->node[node].arg[A_getitem_self].node;
		return is_named(p, node) ? node : -1;
	}
	of[node] = true;
	for (int i = 0; i < p->nnode; i++)
		if (is_named(p, i) && forward[i] && node_reads(p, &p->node[i], of)
			&& (name.role == TR_GRADIENT || op_info[p->node[i].op].traits & T_MUTATES))
			return i;
	return -1;
}

/* A program that nobody has made smaller has many operators, of which few matter. */
static bool few_matter(const struct store_cause *c, int n)
{
	return !c->minimised && n > 2 && (c->kind == FINDING_VALUE || c->kind == FINDING_GRADIENT || c->kind == FINDING_MUTATION);
}

static const char *called(const struct store_cause *c, const struct prog *p, struct arena *a)
{
	int node[MAX_NODES], n = named_nodes(node, p), shown = 0;
	const int wrong = few_matter(c, n) ? wrong_node(p, c->tensor) : -1;
	if (wrong >= 0)
		return arena_printf(a, "`%s` among %d operators", plain_name(p->node[wrong].op, a), n);
	if (!c->minimised && n > MOST_NAMED) /* the first few say nothing of what matters */
		return arena_printf(a, "%d operators, not minimised yet", n);
	struct strbuf sb;
	if (n == 2 && is_chain(p, node[0], node[1]))
		return arena_printf(a, "`%s` of `%s`", plain_name(p->node[node[1]].op, a), plain_name(p->node[node[0]].op, a));
	sb_init(&sb);
	for (int i = 0; i < n && shown < MOST_NAMED; i++) {
		bool again = false;
		for (int k = 0; k < i; k++)
			again |= str_eq(plain_name(p->node[node[k]].op, a), plain_name(p->node[node[i]].op, a));
		if (!again)
			sb_printf(&sb, "%s`%s`", shown++ ? ", " : "", plain_name(p->node[node[i]].op, a));
	}
	if (!n)
		sb_puts(&sb, "inputs that are returned");
	if (shown == MOST_NAMED && n > MOST_NAMED)
		sb_puts(&sb, " …");
	const char *text = arena_strdup(a, sb.s);
	sb_free(&sb);
	return text;
}

/* ---- how it goes wrong --------------------------------------------------------------------------------------------------------------- */

/* The shapes of errors, in the words of a cause or of pattern_name, as they follow "gradient is". NULL: it names none. */
static const char *shape_in(const char *said)
{
	static const struct {
		const char *word, *text;
	} shapes[] = {{"all zero", "all zero"}, {"NaN or infinite", "NaN or infinite"}, {" nan ", "NaN"}, {" inf ", "infinite"},
		{"overwritten by a later call", "overwritten by a later call"}, {" scaled ", "wrong by a factor"},
		{" permuted ", "in the wrong places"}, {" shifted ", "in the wrong places"}, {" stale ", "stale"},
		{" constant ", "one value everywhere"}, {" rows ", "wrong in whole rows"},
		{"units in the last place", "off by a few units in the last place"}, {"last bits", "off by a few units in the last place"}};
	for (int i = 0; i < ARRAY_LEN(shapes); i++)
		if (strstr(said, shapes[i].word))
			return shapes[i].text;
	return NULL;
}

/* What triage measured, else what the cause says, else the signature. One wrong element has no shape. */
static const char *shape_of(const struct store_cause *c, struct arena *a)
{
	const char *const said[] = {arena_printf(a, " %s ", c->pattern), c->text, c->signature};
	if (c->nwrong == 1 && strstr(said[0], "all zero"))
		return "wrong";
	for (int i = 0; i < ARRAY_LEN(said); i++)
		if (shape_in(said[i]))
			return shape_in(said[i]);
	return "wrong";
}

/* What is shown of a message: whole words, unless it begins with a very long one. */
static const char *cut_message(const char *from, struct arena *a)
{
	const size_t n = strlen(from);
	size_t cut = utf8_cut(from, MIN(n, (size_t)MOST_MESSAGE)), word = cut;
	if (cut == n)
		return from;
	while (word > 0 && from[word] != ' ')
		word--;
	while (word > 0 && strchr(" ,;:(", from[word - 1]))
		word--;
	cut = word > MOST_MESSAGE / 3 ? word : cut;
	return arena_printf(a, "%.*s …", (int)cut, from);
}

/* Behind the first ": " of a cause or signature, without the kind: the message of what raises. */
static const char *message_of(const char *text, const char *kind, struct arena *a)
{
	const char *from = strstr(text, kind);
	from = from ? from + strlen(kind) : text;
	from += strspn(from, " ");
	return cut_message(from, a);
}

/* Signatures lose numbers, so that those of several sizes are one; people read the first message with them. */
static const char *raises(const struct store_cause *c, struct arena *a)
{
	static const char accepts[] = "runs what eager refuses: ", again[] = "the target raises: ";
	struct target t;
	struct err err = {0};
	const char *said = str_starts(c->raised, again) ? c->raised + strlen(again) : c->raised;
	if (str_starts(said, accepts))
		return arena_printf(a, "runs what eager refuses (\"%s\")", cut_message(said + strlen(accepts), a));
	if (!said[0] || !target_parse(&t, c->target, &err))
		return arena_printf(a, "raises \"%s\"", message_of(c->text, "raise", a));
	return arena_printf(a, "raises \"%s\"", cut_message(message_first_line(said, &t, a), a));
}

static const char *fault(const struct store_cause *c, struct arena *a)
{
	const char *shape = shape_of(c, a), *note = strstr(c->text, "layout predicted wrong") ? " (its layout is predicted wrong)" : "";
	switch (c->kind) {
	case FINDING_VALUE: return arena_printf(a, "result is %s%s", shape, note);
	case FINDING_GRADIENT: return arena_printf(a, "gradient is %s%s", shape, note);
	case FINDING_MUTATION: return "an input holds something else after the call";
	case FINDING_ALIAS: return "results share memory differently than in eager";
	case FINDING_META: return strstr(c->text, "strides alone") ? "strides differ from eager" : "sizes, dtype or strides differ from eager";
	case FINDING_NONENESS: return "a gradient is None, or should be";
	case FINDING_RAISE: return raises(c, a);
	case FINDING_CRASH: return "the process dies";
	case FINDING_HANG: return "does not end";
	case FINDING_INVARIANT: return arena_printf(a, "breaks an invariant: %s", message_of(c->text, "invariant", a));
	case FINDING_NONDETERMINISTIC: return "gives different results from run to run";
	default: return "goes wrong";
	}
}

/* ---- where --------------------------------------------------------------------------------------------------------------------------- */

const char *title_where_of(const char *target, struct arena *a)
{
	struct target t;
	struct err err = {0};
	if (!target_parse(&t, target, &err))
		return arena_printf(a, "on %s", target);
	const char *words = target_stage(&t)->where;
	return words ? words : arena_printf(a, "on %s:%s", target_family(&t), target_stage(&t)->name);
}

/* A cause names the stage that goes wrong first: "torch:inductor: ...". */
const char *title_where(const struct store_cause *c, struct arena *a)
{
	const char *colon = c->triaged ? strstr(c->text, ": ") : NULL;
	return title_where_of(colon ? arena_printf(a, "%.*s", (int)(colon - c->text), c->text) : c->target, a);
}

/* The title is in a, what it takes to write it in scratch. */
static const char *write_title(const struct store_cause *c, struct arena *a, struct arena *scratch)
{
	struct err err = {0};
	struct prog p;
	if (!prog_read(&p, scratch, c->program, strlen(c->program), READ_STRICT, &err))
		return arena_printf(a, "%s %s", fault(c, scratch), title_where(c, scratch));
	return arena_printf(a, "%s: %s %s", called(c, &p, scratch), fault(c, scratch), title_where(c, scratch));
}

const char *title_of(const struct store_cause *c, struct arena *a)
{
	struct arena scratch;
	arena_init(&scratch);
	const char *title = write_title(c, a, &scratch);
	arena_free(&scratch);
	return title;
}

const char *title_of_finding(struct store *s, const char *full_id, struct arena *a)
{
	struct store_causes all;
	struct strbuf complaint;
	sb_init(&complaint);
	const struct store_cause *c = store_causes(&all, s, a) == STORE_OK ? store_causes_find(&all, full_id, &complaint) : NULL;
	sb_free(&complaint);
	return c ? title_of(c, a) : "";
}

void titles_write(struct store_causes *all, struct arena *a)
{
	struct arena scratch;
	arena_init(&scratch);
	for (int i = 0; i < all->n; i++) {
		all->cause[i].title = write_title(&all->cause[i], a, &scratch);
		arena_reset(&scratch);
	}
	arena_free(&scratch);
}
