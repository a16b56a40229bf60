/* short_script.c: the function in the surface `python`, nodes named after what they are, inputs by the plainest factory that makes their
 * numbers. What would make the script long or unlike the judged one is refused, with the reason. */
#include "compiled/targets/torch/short_script.h"

#include <inttypes.h>
#include <math.h>

#include "compiled/targets/torch/emit_python.h"
#include "eager/base/escape.h"
#include "eager/lang/fill.h"
#include "eager/lang/stated.h"
#include "generated/op_args.h"
#include "generated/op_id.h"
#include "generated/op_input.h"

enum { LITERAL = 64 }; /* numbers that a person reads */

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

static const char *not_short(const struct prog *p, const struct script_look *look, const struct target *t, struct arena *a)
{
	if (p->ncall || prog_states(p))
		return "it has several calls, or sizes that data give";
	if (p->must_raise)
		return "eager must refuse the program";
	for (int i = 0; i < p->nnode; i++)
		if (p->node[i].op == OP_sym || p->node[i].op == OP_input_view
			|| (node_is_input(&p->node[i]) && node_meta(p, i)->device == DEV_META))
			return "it has symbols, inputs that share memory, or inputs without data";
	for (int i = 0; i < p->nback; i++) {
		int op = p->node[p->back[i].cotangent].op;
		if (op != OP_input && op != OP_full)
			return "a cotangent is computed";
	}
	if (target_stage(t)->compiles && !compiled_by(t, a))
		return "how its target compiles is more than a line";
	if (!target_stage(t)->compiles && (!str_eq(target_stage(t)->name, "eager") || !look->expected || look->fact != FACT_ELEMENTS))
		return "nothing stands beside eager, and what is right cannot be written in a line";
	if (look->at == LOOK_STORAGE && !whole(p, input_of(p, look)))
		return "what was written has gaps or an offset";
	return NULL;
}

/* ---- names ----------------------------------------------------------------------------------------------------------------------- */

static void name_inputs(struct prog *q, struct arena *a)
{
	static const char *const letters[] = {"x", "y", "z", "u", "v", "w", "a", "b", "c", "d"};
	bool cot[MAX_NODES], forward[MAX_NODES];
	prog_partition(q, forward, cot);
	int n = 0, g = 0;
	for (int i = 0; i < q->nnode; i++) {
		if (!forward[i] && cot[i])
			q->node[i].name = g++ ? arena_printf(a, "g%d", g) : "g";
		else if (q->node[i].op == OP_input)
			q->node[i].name = n < ARRAY_LEN(letters) ? letters[n] : arena_printf(a, "x%d", n), n++;
	}
}

/* "slice.Tensor" becomes slice, the second one slice_2. */
static void name_nodes(struct prog *q, struct arena *a)
{
	for (int i = 0; i < q->nnode; i++)
		q->node[i].name = arena_printf(a, ".%d", i); /* nobody's name */
	name_inputs(q, a);
	for (int i = 0; i < q->nnode; i++) {
		if (q->node[i].name[0] != '.')
			continue;
		const char *op = op_info[q->node[i].op].name;
		const char *word = arena_printf(a, "%.*s", (int)strcspn(op, "."), op), *name = word;
		while (*name == '_')
			name++;
		word = name;
		for (int k = 2; prog_find(q, name) >= 0; k++)
			name = arena_printf(a, "%s_%d", word, k);
		q->node[i].name = name;
	}
}

/* ---- inputs ---------------------------------------------------------------------------------------------------------------------- */

static void size_list(struct strbuf *sb, const int64_t *v, int n)
{
	for (int i = 0; i < n; i++)
		sb_printf(sb, "%s%" PRId64, i ? ", " : "", v[i]);
}

static void number(struct strbuf *sb, const struct scalar *s)
{
	if (s->kind == SC_FLOAT && !isfinite(s->f))
		sb_printf(sb, "float('%s')", isnan(s->f) ? "nan" : s->f < 0 ? "-inf" : "inf");
	else
		scalar_print(sb, s);
}

static double value_of(const struct scalar *s) { return s->kind == SC_FLOAT ? s->f : (double)s->i; }

/* The cells are from, from + step, …: floats only. */
static bool are_steps(const struct scalar *v, int64_t n, double from, double step)
{
	for (int64_t i = 0; i < n; i++)
		if (v[i].kind != SC_FLOAT || v[i].f != from + step * (double)i || (v[i].f == 0 && signbit(v[i].f)))
			return false;
	return true;
}

static void nested(struct strbuf *sb, const struct scalar **v, const int64_t *size, int rank)
{
	if (!rank) {
		number(sb, (*v)++);
		return;
	}
	sb_putc(sb, '[');
	for (int64_t i = 0; i < size[0]; i++) {
		sb_puts(sb, i ? ", " : "");
		nested(sb, v, size + 1, rank - 1);
	}
	sb_putc(sb, ']');
}

/* "torch.ones(2, 3)". False: too many numbers. */
static bool factory(struct strbuf *sb, const struct prog *q, int node, enum target_device device)
{
	const struct meta *m = node_meta(q, node);
	const int64_t n = meta_extent(m);
	const bool straight = whole(q, node);
	struct arena a;
	if (n > MAX_DATA || !n)
		return false;
	arena_init(&a);
	const struct arg cells = fill_to_data(fill_storage(q, q->node[node].out[0].storage, &a), (int)n, m->dtype, &a);
	const struct scalar *v = cells.data;
	const bool ones = straight && are_steps(v, n, 1, 0), counts = !ones && n > 1 && are_steps(v, n, 0, 1);
	const int64_t flat[] = {n};
	if (ones) {
		sb_puts(sb, "torch.ones(");
		if (m->rank)
			size_list(sb, m->size, m->rank);
		else
			sb_puts(sb, "()");
	} else if (counts) {
		sb_printf(sb, "torch.arange(%" PRId64 ".0", n);
	} else {
		sb_puts(sb, "torch.tensor(");
		nested(sb, &v, straight ? m->size : flat, straight ? m->rank : 1);
	}
	if (m->dtype != DT_F32 && (dtype_is_float(m->dtype) || (m->dtype != DT_I64 && m->dtype != DT_B8)))
		sb_printf(sb, ", dtype=torch.%s", dtype_info[m->dtype].torch);
	if (device == TDEV_CUDA && m->device == DEV_RUN)
		sb_puts(sb, ", device=\"cuda\"");
	sb_putc(sb, ')');
	if (counts && straight && m->rank != 1) {
		sb_puts(sb, ".reshape(");
		size_list(sb, m->size, m->rank);
		sb_putc(sb, ')');
	} else if (!straight) {
		sb_puts(sb, ".as_strided([");
		size_list(sb, m->size, m->rank);
		sb_puts(sb, "], [");
		size_list(sb, m->stride, m->rank);
		sb_printf(sb, m->offset ? "], %" PRId64 ")" : "])", m->offset);
	}
	arena_free(&a);
	return ones || counts || n <= LITERAL;
}

/* ---- the parts ------------------------------------------------------------------------------------------------------------------- */

/* f alone, and a single result without its tuple. *args: what f takes, in a. */
static void function(struct strbuf *sb, const char **args, const struct prog *q, enum target_device device, struct arena *a)
{
	struct strbuf text;
	sb_init(&text);
	emit_python(&text, q, device);
	char *end = strstr(text.s, "\n\ndef cotangents(");
	if (end)
		*end = '\0';
	const char *open = strchr(text.s, '('), *close = strstr(text.s, "):\n"), *last = strstr(text.s, "    return (");
	CHECK(open && close && last);
	*args = arena_printf(a, "%.*s", (int)(close - open - 1), open + 1);
	sb_printf(sb, "%.*s", (int)(last - text.s), text.s);
	last += strlen("    return (");
	sb_printf(sb, "    return %.*s\n", (int)strcspn(last, q->nret == 1 ? ",)" : ")"), last);
	sb_free(&text);
}

static bool cotangent(struct strbuf *sb, const struct prog *q, const struct backward *b, const char *out, enum target_device device)
{
	const struct node *n = &q->node[b->cotangent];
	const struct meta *m = node_meta(q, b->cotangent);
	if (n->op == OP_input)
		return factory(sb, q, b->cotangent, device);
	const struct scalar *v = &n->arg[A_full_fill_value].scalar;
	const bool one = value_of(v) == 1;
	sb_printf(sb, "torch.%s(", one ? "ones" : "full");
	sb_puts(sb, one && m->rank ? "" : m->rank ? "[" : "()");
	size_list(sb, m->size, m->rank);
	sb_puts(sb, one ? "" : m->rank ? "], " : ", ");
	if (!one)
		number(sb, v);
	sb_printf(sb, ", dtype=%s.dtype%s)", out, device == TDEV_CUDA ? ", device=\"cuda\"" : "");
	return true;
}

static const char *output_name(const struct prog *q, int k, struct arena *a)
{
	return q->nret == 1 ? "out" : arena_printf(a, "out[%d]", k);
}

static bool backward(struct strbuf *sb, const struct prog *q, enum target_device device, struct arena *a)
{
	bool ok = true;
	if (!q->nback)
		return true;
	const char *out[MAX_RETURNS];
	for (int i = 0; i < q->nback; i++)
		for (int r = 0; r < q->nret; r++)
			if (q->ret[r] == q->back[i].node) {
				out[i] = output_name(q, r, a);
				break;
			}
	const struct node *g = &q->node[q->back[0].cotangent];
	if (q->nback == 1 && g->op == OP_full && !node_meta(q, q->back[0].cotangent)->rank
		&& value_of(&g->arg[A_full_fill_value].scalar) == 1) {
		sb_printf(sb, "    %s.backward()\n", out[0]);
		return true;
	}
	sb_puts(sb, "    torch.autograd.backward([");
	for (int i = 0; i < q->nback; i++)
		sb_printf(sb, "%s%s", i ? ", " : "", out[i]);
	sb_puts(sb, "], [");
	for (int i = 0; i < q->nback && ok; i++) {
		sb_puts(sb, i ? ", " : "");
		ok = cotangent(sb, q, &q->back[i], out[i], device);
	}
	sb_puts(sb, "])\n");
	return ok;
}

static bool run(
	struct strbuf *sb, const struct prog *q, const char *args, const struct script_look *look, const struct target *t, struct arena *a)
{
	bool forward[MAX_NODES], cot[MAX_NODES], ok = true;
	prog_partition(q, forward, cot);
	sb_puts(sb, "\n\ndef run(f):\n");
	for (int i = 0; i < q->nnode && ok; i++) {
		if (q->node[i].op != OP_input || !forward[i])
			continue;
		sb_puts(sb, "    ");
		emit_name(sb, q, i);
		sb_puts(sb, " = ");
		ok = factory(sb, q, i, t->device);
		sb_puts(sb, node_requires_grad(&q->node[i]) ? ".requires_grad_()\n" : "\n");
	}
	sb_printf(sb, "    out = f(%s)\n", args);
	ok = ok && backward(sb, q, t->device, a);
	sb_puts(sb, "    return ");
	if (look->at == LOOK_GRADIENT || look->at == LOOK_STORAGE) {
		emit_name(sb, q, input_of(q, look));
		sb_puts(sb, look->at == LOOK_GRADIENT ? ".grad\n" : ".detach()\n");
	} else {
		const bool plain = look->at == LOOK_RUN || look->fact == FACT_REQUIRES_GRAD;
		sb_printf(sb, "%s%s\n", look->at == LOOK_RUN ? "out" : output_name(q, look->index, a), plain ? "" : ".detach()");
	}
	return ok;
}

static void comparison(struct strbuf *sb, const struct script_look *look, const struct target *t, struct arena *a)
{
	static const char *const same[] = {
		[FACT_ELEMENTS] = "torch.allclose(got, want, equal_nan=True)",
		[FACT_SHAPE] = "(got.dtype, got.shape) == (want.dtype, want.shape)",
		[FACT_STRIDES] = "got.stride() == want.stride()",
		[FACT_PRESENT] = "(got is None) == (want is None)",
		[FACT_REQUIRES_GRAD] = "got.requires_grad == want.requires_grad",
	};
	static const char *const shown[] = {
		[FACT_ELEMENTS] = "", [FACT_SHAPE] = "", [FACT_STRIDES] = ".stride()", [FACT_PRESENT] = "", [FACT_REQUIRES_GRAD] = ""};
	const char *show = look->at == LOOK_RUN ? "" : shown[look->fact];
	sb_puts(sb, "\n\n");
	if (!target_stage(t)->compiles) {
		sb_printf(
			sb, "got = run(f)\nprint(\"eager:\", got)\nwant = torch.tensor(%s, dtype=got.dtype, device=got.device)\n", look->expected);
		sb_printf(sb, "assert %s\n", same[FACT_ELEMENTS]);
		return;
	}
	sb_printf(sb, "want = run(f)\nprint(\"eager:\", want%s)\n", show);
	if (look->expected && look->fact == FACT_ELEMENTS && look->at != LOOK_RUN)
		sb_printf(sb, "# right: %s\n", look->expected);
	sb_printf(sb, "got = run(torch.compile(f%s))\nprint(\"compiled:\", got%s)\n", compiled_by(t, a), show);
	if (look->at != LOOK_RUN)
		sb_printf(sb, "assert %s\n", same[look->fact]);
}

bool torch_short_script(
	struct strbuf *sb, const struct script_look *look, const struct prog *p, const struct target *t, struct arena *a, struct err *err)
{
	const char *why = not_short(p, look, t, a), *args;
	struct prog q;
	if (why)
		return err_set(err, "%s", why);
	prog_clone(&q, p, a);
	q.surface = SURFACE_PYTHON;
	name_nodes(&q, a);
	sb_puts(sb, "import torch\n\n\n");
	function(sb, &args, &q, t->device, a);
	if (!run(sb, &q, args, look, t, a))
		return err_set(err, "its inputs are more than %d numbers", LITERAL);
	comparison(sb, look, t, a);
	return true;
}
