/* short_script.c: the function in the program's surface, its lines folded into expressions (inline.h), inputs by the plainest factory that
 * makes their numbers (short_inputs.h). What would make the script long or unlike the judged one is refused, with the reason. */
#include "compiled/targets/torch/short_script.h"

#include <inttypes.h>

#include "compiled/targets/message.h"
#include "compiled/targets/torch/emit_python.h"
#include "compiled/targets/torch/inline.h"
#include "compiled/targets/torch/short_calls.h"
#include "compiled/targets/torch/short_inputs.h"
#include "eager/base/escape.h"
#include "eager/lang/names.h"
#include "eager/lang/stated.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

/* ---- what can be said shortly ---------------------------------------------------------------------------------------------------- */

/* How the stage compiles, as an argument list after the function; NULL: not in one line. */
static const char *compiled_by(const struct target *t, struct arena *a)
{
	const char *stage = target_stage(t)->name, *dynamic = "";
	for (int i = 0; i < t->noptions; i++) {
		if (!str_eq(t->option[i].name, "dynamic"))
			return NULL;
		dynamic = str_eq(t->option[i].value, "0") ? ", dynamic=False" : ", dynamic=True";
	}
	if (str_eq(stage, "inductor"))
		return dynamic;
	return str_eq(stage, "aot_eager") ? arena_printf(a, ", backend=\"aot_eager\"%s", dynamic) : NULL;
}

static bool whole(const struct prog *p, int node)
{
	const struct meta *m = node_meta(p, node);
	return meta_is_contiguous(m) && m->offset == 0 && meta_extent(m) == meta_numel(m);
}

/* The input whose gradient, or whose memory, is meant. */
static int input_of(const struct prog *p, const struct script_look *look)
{
	for (int i = 0, k = 0; i < p->nnode; i++) {
		if (look->at == LOOK_STORAGE && p->node[i].op == OP_input && p->node[i].out[0].storage == look->index)
			return i;
		if (look->at == LOOK_GRADIENT && node_requires_grad(&p->node[i]) && k++ == look->index)
			return i;
	}
	return -1;
}

static bool is_one(const struct node *n)
{
	const struct scalar *v = &n->arg[A_full_fill_value].scalar;
	return n->op == OP_full && (v->kind == SC_FLOAT ? v->f == 1 : v->i == 1);
}

/* What sum().backward() gives: a one that is expanded, or a one. */
static bool is_of_sum(const struct prog *p, const struct backward *b)
{
	const struct node *n = &p->node[b->cotangent];
	if (n->op == OP_expand)
		return is_one(&p->node[n->arg[A_expand_self].node]) && !node_meta(p, n->arg[A_expand_self].node)->rank;
	return is_one(n) && !node_meta(p, b->cotangent)->rank;
}

static const char *not_compared(const struct prog *p, const struct script_look *look, const struct target *t, struct arena *a)
{
	if (target_stage(t)->compiles)
		return compiled_by(t, a) ? NULL : "how its target compiles is more than a line";
	const bool refused = look->at == LOOK_RUN && !p->must_raise,
			   known = look->at != LOOK_RUN && look->expected && look->fact == FACT_ELEMENTS;
	if (!str_eq(target_stage(t)->name, "eager") || (!refused && !known))
		return "nothing stands beside eager, and what is right cannot be written in a line";
	return NULL;
}

static const char *not_short(const struct prog *p, const struct script_look *look, const struct target *t, struct arena *a)
{
	if (p->ncall && p->late)
		return "the backward of a call runs after the next one's forward";
	if (p->ncall && p->must_raise)
		return "eager must refuse one of several calls";
	if (p->must_raise && look->at != LOOK_RUN)
		return "eager must refuse the program";
	for (int i = 0; i < p->nback; i++) {
		const int op = p->node[p->back[i].cotangent].op;
		if (op != OP_input && op != OP_full && !is_of_sum(p, &p->back[i]))
			return "a cotangent is computed";
	}
	if (look->at == LOOK_STORAGE && look->fact != FACT_ELEMENTS)
		return "it is about an input's memory";
	return not_compared(p, look, t, a);
}

/* ---- the function ---------------------------------------------------------------------------------------------------------------- */

/* Nodes that still have a line of their own: neg, the second one neg_1. */
static const char *with_names(const char *body, struct prog *q, const bool *left, struct arena *a)
{
	struct strbuf sb;
	sb_init(&sb);
	sb_puts(&sb, body);
	for (int i = 0; i < q->nnode; i++) {
		if (!left[i] || node_is_input(&q->node[i]) || q->node[i].op == OP_sym)
			continue;
		const char *op = op_info[q->node[i].op].name, *code = inline_name(i, a);
		op += strspn(op, "_");
		const char *word = arena_printf(a, "%.*s", (int)strcspn(op, "."), op);
		q->node[i].name = word;
		for (int k = 1; prog_find(q, q->node[i].name) != i; k++)
			q->node[i].name = arena_printf(a, "%s_%d", word, k);
		struct strbuf name, next;
		sb_init(&name);
		sb_init(&next);
		emit_name(&name, q, i);
		const char *from = sb.s, *at;
		for (; (at = strstr(from, code)); from = at + strlen(code))
			sb_printf(&next, "%.*s%s", (int)(at - from), from, name.s);
		sb_puts(&next, from);
		sb_free(&name);
		sb_free(&sb);
		sb = next;
	}
	const char *text = arena_strdup(a, sb.s);
	sb_free(&sb);
	return text;
}

/* Appends f; *args: what it takes, in a. q's nodes get the names that they have in it. */
static void function(struct strbuf *sb, const char **args, struct prog *q, enum target_device device, struct arena *a)
{
	bool left[MAX_NODES];
	struct strbuf text;
	for (int i = 0; i < q->nnode; i++)
		if (!node_is_input(&q->node[i]) && q->node[i].op != OP_sym)
			q->node[i].name = inline_name(i, a);
	sb_init(&text);
	emit_python(&text, q, device);
	char *end = strstr(text.s, "\n\ndef cotangents(");
	if (end)
		*end = '\0';
	const char *open = strchr(text.s, '('), *close = strstr(text.s, "):\n"), *last = strstr(text.s, "    return (");
	CHECK(open && close && last);
	*args = arena_printf(a, "%.*s", (int)(close - open - 1), open + 1);
	const char *results = last + strlen("    return (");
	const char *body = arena_printf(a, "%.*s    return %.*s\n", (int)(last - (close + 3)), close + 3,
		(int)(strlen(results) - (q->nret == 1 ? strlen(",)\n") : strlen(")\n"))), results);
	sb_printf(sb, "def f(%s):\n%s", *args, with_names(inline_lines(left, body, q->nnode, a), q, left, a));
	sb_free(&text);
}

/* ---- the run --------------------------------------------------------------------------------------------------------------------- */

static const char *output_name(const struct prog *q, int k, struct arena *a)
{
	return q->nret == 1 ? "out" : arena_printf(a, "out[%d]", k);
}

static const char *differentiated(const struct prog *q, const struct backward *b, struct arena *a)
{
	for (int r = 0; r < q->nret; r++)
		if (q->ret[r] == b->node)
			return output_name(q, r, a);
	BUG("what is differentiated is returned");
}

static bool cotangent(struct strbuf *sb, const struct prog *q, const struct backward *b, enum target_device device)
{
	const struct node *n = &q->node[b->cotangent];
	const struct meta *m = node_meta(q, b->cotangent);
	if (n->op == OP_input)
		return short_input(sb, q, b->cotangent, false, device);
	if (is_of_sum(q, b) || is_one(n)) {
		sb_puts(sb, m->rank ? "torch.ones(" : "torch.ones((");
		short_sizes(sb, m->size, m->rank);
		sb_puts(sb, m->rank ? "" : ")");
	} else {
		sb_puts(sb, "torch.full((");
		short_sizes(sb, m->size, m->rank);
		sb_puts(sb, m->rank == 1 ? ",), " : "), ");
		short_number(sb, &n->arg[A_full_fill_value].scalar);
	}
	if (m->dtype != DT_F32)
		sb_printf(sb, ", dtype=torch.%s", dtype_info[m->dtype].torch);
	sb_puts(sb, device == TDEV_CUDA ? ", device=\"cuda\")" : ")");
	return true;
}

/* "(out[0].sum() + out[1].sum()).backward()", or with the cotangents. */
static bool backward(struct strbuf *sb, const struct prog *q, const char *out, enum target_device device, struct arena *a)
{
	bool sums = true, ok = true;
	for (int i = 0; i < q->nback; i++)
		sums = sums && is_of_sum(q, &q->back[i]);
	sb_puts(sb, "    ");
	if (sums) {
		sb_puts(sb, q->nback > 1 ? "(" : "");
		for (int i = 0; i < q->nback; i++)
			sb_printf(sb, "%s%s%s", i ? " + " : "", out ? out : differentiated(q, &q->back[i], a),
				node_meta(q, q->back[i].cotangent)->rank ? ".sum()" : "");
		sb_puts(sb, q->nback > 1 ? ").backward()\n" : ".backward()\n");
		return true;
	}
	if (q->nback == 1) {
		sb_printf(sb, "%s.backward(", out ? out : differentiated(q, &q->back[0], a));
		ok = cotangent(sb, q, &q->back[0], device);
		sb_puts(sb, ")\n");
		return ok;
	}
	sb_puts(sb, "torch.autograd.backward([");
	for (int i = 0; i < q->nback; i++)
		sb_printf(sb, "%s%s", i ? ", " : "", differentiated(q, &q->back[i], a));
	sb_puts(sb, "], [");
	for (int i = 0; i < q->nback && ok; i++) {
		sb_puts(sb, i ? ", " : "");
		ok = cotangent(sb, q, &q->back[i], device);
	}
	sb_puts(sb, "])\n");
	return ok;
}

static bool inputs(struct strbuf *sb, const struct prog *q, const struct script_look *look, enum target_device device)
{
	bool forward[MAX_NODES], cot[MAX_NODES], ok = true;
	prog_partition(q, forward, cot);
	sb_puts(sb, look->random ? "    torch.manual_seed(0)\n" : "");
	for (int i = 0; i < q->nnode && ok; i++) {
		if (!node_is_input(&q->node[i]) || !forward[i])
			continue;
		sb_puts(sb, "    ");
		emit_name(sb, q, i);
		sb_puts(sb, " = ");
		ok = short_input(sb, q, i, look->random, device);
		sb_putc(sb, '\n');
	}
	return ok;
}

/* Which inputs and results lie in the tensor's memory. */
static void shares(struct strbuf *sb, const struct prog *q, const char *args, const char *tensor)
{
	sb_printf(
		sb, "    memory = [t.untyped_storage().data_ptr() for t in (%s%s%s)]\n", args, args[0] ? ", " : "", q->nret > 1 ? "*out" : "out,");
	sb_printf(sb, "    return [m == %s.untyped_storage().data_ptr() for m in memory]\n", tensor);
}

/* The gradient that shows that a program with a backward ran: of one input that has it. */
static int some_gradient(const struct prog *q)
{
	for (int i = 0; i < q->nnode && q->nback; i++)
		if (q->node[i].op == OP_input && node_requires_grad(&q->node[i]))
			return i;
	return -1;
}

/* What is looked at, of "out" or of an expression that calls f. */
static void answer(
	struct strbuf *sb, const struct prog *q, const struct script_look *look, const char *args, const char *out, struct arena *a)
{
	struct strbuf name;
	const char *tensor = out;
	sb_init(&name);
	if (look->at == LOOK_OUTPUT && q->nret > 1)
		tensor = arena_printf(a, "%s[%d]", out, look->index);
	const bool ran = look->at == LOOK_RUN && some_gradient(q) >= 0, grad = look->at == LOOK_GRADIENT || ran;
	if (grad || look->at == LOOK_STORAGE) {
		const int node = ran ? some_gradient(q) : input_of(q, look);
		emit_name(&name, q, node);
		tensor = arena_printf(a, "%s%s", name.s, grad ? ".grad" : node_requires_grad(&q->node[node]) ? ".detach()" : "");
		if (!grad && !whole(q, node)) /* all of its memory, gaps included */
			tensor = arena_printf(a, "%s.as_strided((%" PRId64 ",), (1,), 0)", tensor, meta_extent(node_meta(q, node)));
	}
	sb_free(&name);
	if (look->at == LOOK_RUN || look->fact == FACT_ELEMENTS)
		sb_printf(sb, "    return %s\n", tensor);
	else if (look->fact == FACT_META)
		sb_printf(sb, "    return %s.dtype, %s.shape, %s.stride()\n", tensor, tensor, tensor);
	else if (look->fact == FACT_PRESENT)
		sb_printf(sb, "    return %s is not None\n", tensor);
	else if (look->fact == FACT_REQUIRES_GRAD)
		sb_printf(sb, "    return %s.requires_grad\n", tensor);
	else
		shares(sb, q, args, tensor);
}

/* Does one place alone read what f returns? */
static bool read_once(const struct prog *q, const struct script_look *look)
{
	const bool answers = (look->at == LOOK_RUN && some_gradient(q) < 0) || look->at == LOOK_OUTPUT || look->fact == FACT_MEMORY;
	if (look->fact == FACT_META || look->fact == FACT_MEMORY)
		return false;
	return answers ? !q->nback : q->nback <= 1 && q->nret == 1;
}

/* Of one call: q is bound. */
static bool body(
	struct strbuf *sb, const struct prog *q, const char *args, const struct script_look *look, const struct target *t, struct arena *a)
{
	const char *call = arena_printf(a, "f(%s)", args), *out = read_once(q, look) ? call : "out";
	const bool uses_call = look->at == LOOK_RUN || look->at == LOOK_OUTPUT;
	if (!inputs(sb, q, look, t->device))
		return false;
	if (q->must_raise) {
		sb_printf(sb, "    try:\n        return %s\n    except Exception as error:\n", call);
		if (q->raises) {
			sb_puts(sb, "        if ");
			escape_python(sb, q->raises);
			sb_puts(sb, " not in str(error):\n            raise\n");
		}
		sb_puts(sb, "        return error\n");
		return !q->nback;
	}
	if (out != call)
		sb_printf(sb, "    out = %s\n", call);
	else if (!q->nback && !uses_call)
		sb_printf(sb, "    %s\n", call);
	if (q->nback && !backward(sb, q, out == call ? call : NULL, t->device, a))
		return false;
	answer(sb, q, look, args, out, a);
	return true;
}

static bool run(struct strbuf *sb, struct short_calls *calls, const struct prog *q, const char *args, const struct script_look *look,
	const struct target *t, struct arena *a, struct err *err)
{
	const char *text[MAX_CALLS + 1];
	for (int k = 0; k <= q->ncall; k++) {
		struct prog bound;
		struct strbuf one;
		sb_init(&one);
		const bool ok = prog_bind(&bound, q, k, a, err)
			&& (body(&one, &bound, args, look, t, a)
				|| err_set(err, "its inputs are more than a few numbers, or they share memory and need gradients"));
		text[k] = arena_strdup(a, one.s);
		sb_free(&one);
		if (!ok)
			return false;
	}
	return short_calls_of(calls, text, q, args, a, err) && (sb_printf(sb, "\ndef run(f%s):\n%s", calls->params, calls->body), true);
}

/* ---- the end --------------------------------------------------------------------------------------------------------------------- */

/* "# right: [2.0, 1.0], because x.grad[i] …": as much of the list as a line holds. */
static void expected(struct strbuf *sb, const struct script_look *look)
{
	enum { LINE = 110 };
	const bool list = look->expected && !(look->random && !look->law);
	const int said = (int)(look->law ? strlen(look->law) : 0), room = LINE - said;
	if (look->at == LOOK_RUN || look->fact != FACT_ELEMENTS || (!list && !look->law))
		return;
	sb_printf(sb, "# right: %s%s", look->law ? look->law : "", look->law && list ? " = " : "");
	if (list)
		sb_printf(sb, "%.*s%s", room, look->expected, (int)strlen(look->expected) > room ? " …" : "");
	sb_putc(sb, '\n');
}

static const char *same(const struct prog *q, const struct script_look *look)
{
	if (look->at == LOOK_RUN)
		return "isinstance(got, Exception) == isinstance(want, Exception)";
	if (look->fact != FACT_ELEMENTS)
		return "got == want";
	const int node = look->at == LOOK_OUTPUT ? q->ret[look->index] : input_of(q, look);
	if (!dtype_is_float(node_meta(q, node)->dtype))
		return "torch.equal(got, want)";
	return look->expected && !look->random && !strstr(look->expected, "nan") ? "torch.allclose(got, want)"
																			 : "torch.allclose(got, want, equal_nan=True)";
}

/* The class that catches it, as a script may name it. */
static const char *exception_class(const char *raised, struct arena *a)
{
	static const char *const builtin[] = {"ArithmeticError", "AssertionError", "AttributeError", "ImportError", "IndexError", "KeyError",
		"MemoryError", "NameError", "NotImplementedError", "OverflowError", "RecursionError", "RuntimeError", "SystemError", "TypeError",
		"UnboundLocalError", "ValueError", "ZeroDivisionError"};
	static const char *const torch[] = {"_dynamo.exc.BackendCompilerFailed", "_dynamo.exc.InternalTorchDynamoError",
		"_dynamo.exc.TorchRuntimeError", "_dynamo.exc.Unsupported", "_dynamo.exc.UserError", "_inductor.exc.CppCompileError",
		"_inductor.exc.InductorError"};
	const char *name = arena_printf(a, "%.*s", (int)strcspn(raised, ":"), raised);
	for (int i = 0; i < ARRAY_LEN(builtin); i++)
		if (str_eq(name, builtin[i]))
			return name;
	for (int i = 0; i < ARRAY_LEN(torch); i++)
		if (str_eq(name, strrchr(torch[i], '.') + 1))
			return arena_printf(a, "torch.%s", torch[i]);
	return "Exception";
}

/* Runs it; only the error of this bug ends with 1. */
static void must_run(struct strbuf *sb, const char *who, const char *what, const char *raised, const struct target *t, struct arena *a)
{
	if (!raised) {
		sb_printf(sb, "print(\"%s:\", %s)  # dies\n", who, what);
		return;
	}
	const char *part = message_part(raised, t, a);
	sb_printf(sb, "try:\n    print(\"%s:\", %s)\nexcept %s as error:\n", who, what, exception_class(raised, a));
	sb_printf(sb, "    print(\"%s:\", repr(error))\n    sys.exit(1", who);
	if (part[0]) {
		sb_puts(sb, " if ");
		escape_python(sb, part);
		sb_puts(sb, " in str(error) else 2");
	}
	sb_puts(sb, ")\n");
}

/* Runs every call: the last one's answer is looked at. */
static void earlier_calls(struct strbuf *sb, const char *fn, const struct short_calls *calls)
{
	for (int k = 0; k + 1 < calls->n; k++)
		sb_printf(sb, "run(%s%s)\n", fn, calls->args[k]);
}

static const char *every_call(const char *fn, const struct short_calls *calls, struct arena *a)
{
	const char *all = "";
	for (int k = 0; k < calls->n; k++)
		all = arena_printf(a, "%s%srun(%s%s)", all, k ? ", " : "", fn, calls->args[k]);
	return all;
}

static void compare(struct strbuf *sb, const struct prog *q, const char *fn, const char *last, const struct script_look *look, bool stated,
	const struct target *t)
{
	const bool compiles = target_stage(t)->compiles;
	if (compiles)
		sb_printf(sb, stated ? "print(\"eager:   \", run(f%s))\n" : "want = run(f%s)\nprint(\"eager:   \", want)\n", last);
	sb_printf(sb, "got = run(%s%s)\nprint(\"%s:\", got)\n", fn, last, compiles ? "compiled" : "eager");
	if (stated && look->law)
		sb_printf(sb, "# right: %s\n", look->law);
	if (stated)
		sb_printf(sb, "want = torch.tensor(%s, dtype=got.dtype, device=got.device)\n", look->expected);
	else
		expected(sb, look);
	sb_printf(sb, "sys.exit(0 if %s else 1)\n", same(q, look));
}

static void comparison(struct strbuf *sb, const struct prog *q, const struct short_calls *calls, const struct script_look *look,
	const struct target *t, struct arena *a)
{
	const bool compiles = target_stage(t)->compiles;
	const char *fn = compiles ? arena_printf(a, "torch.compile(f%s)", compiled_by(t, a)) : "f";
	sb_putc(sb, '\n');
	if (compiles && look->at == LOOK_RUN && !q->must_raise)
		sb_printf(sb, "print(\"eager:\", %s)\n", every_call("f", calls, a));
	if (calls->n > 1 && compiles) {
		sb_printf(sb, "compiled = %s\n", fn);
		fn = "compiled";
	}
	if (look->at == LOOK_RUN && !q->must_raise) {
		must_run(sb, compiles ? "compiled" : "eager", every_call(fn, calls, a), look->raised, t, a);
		return;
	}
	if (compiles)
		earlier_calls(sb, fn, calls);
	compare(sb, q, fn, calls->args[calls->n - 1], look, !compiles || look->beside_right, t);
}

/* x[mask]: how many elements that is, only data tell. */
static bool takes_masks(const struct prog *q, const struct node *n)
{
	for (int k = 0; k < op_info[n->op].nparam; k++)
		for (int i = 0; n->arg[k].tag == ARG_TENSORS && i < n->arg[k].n; i++)
			if (n->arg[k].nodes[i] >= 0 && node_meta(q, n->arg[k].nodes[i])->dtype == DT_B8 && str_starts(op_info[n->op].name, "index"))
				return true;
	return false;
}

/* What only data tell stays in the graph, as where the target compiled it. */
static void settings(struct strbuf *sb, const struct prog *q, const struct target *t)
{
	bool scalars = false, sizes = false;
	for (int i = 0; i < q->nnode && target_stage(t)->compiles; i++) {
		scalars |= op_states_value(q->node[i].op);
		sizes |= (op_stated(q->node[i].op) >= 0 && !op_states_value(q->node[i].op)) || takes_masks(q, &q->node[i]);
	}
	sb_puts(sb, scalars ? "torch._dynamo.config.capture_scalar_outputs = True\n" : "");
	sb_puts(sb, sizes ? "torch._dynamo.config.capture_dynamic_output_shape_ops = True\n" : "");
	sb_puts(sb, scalars || sizes ? "\n" : "");
}

bool torch_short_script(
	struct strbuf *sb, const struct script_look *look, const struct prog *p, const struct target *t, struct arena *a, struct err *err)
{
	const char *why = not_short(p, look, t, a), *args;
	struct short_calls calls;
	struct prog q;
	if (why)
		return err_set(err, "%s", why);
	prog_clone(&q, p, a);
	prog_name_nodes(&q);
	sb_puts(sb,
		"import sys\nsys.excepthook = lambda *error: sys.__excepthook__(*error) or sys.exit(2)  # 0: right, 1: wrong, 2: it does not run\n"
		"import torch\n\n");
	settings(sb, &q, t);
	function(sb, &args, &q, t->device, a);
	if (!run(sb, &calls, &q, args, look, t, a, err))
		return false;
	comparison(sb, &q, &calls, look, t, a);
	return true;
}
