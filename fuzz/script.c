/* script.c: the script in the order in which a person reads it: what is wrong, the function, the inputs, what must come out; then the
 * machinery that is the same in every script (fill.py, script_run.py). */
#include "fuzz/script.h"

#include <inttypes.h>
#include <math.h>

#include "compiled/targets/emit_python.h"
#include "eager/fill.h"
#include "fuzz/expected.h"

extern const unsigned char fill_py[], script_run_py[];  /* embedded by the build, NUL-terminated */

static void int_list(struct strbuf *sb, const int64_t *v, int n)
{
	sb_putc(sb, '(');
	for (int i = 0; i < n; i++)
		sb_printf(sb, "%s%" PRId64, i ? ", " : "", v[i]);
	sb_puts(sb, n == 1 ? "," : "");
	sb_putc(sb, ')');
}

static int64_t cell_bits(const void *cell, int nbytes)
{
	uint64_t bits = 0;
	memcpy(&bits, cell, (size_t)nbytes);
	uint64_t sign = (uint64_t)1 << (8 * nbytes - 1);
	return (int64_t)((bits ^ sign) - sign);
}

/* Cells given in the program, as the values that their dtype holds; as bits if there are NaNs, which may differ in theirs. */
static void data_row(struct strbuf *sb, const struct prog *q, int storage, enum dtype t, int n)
{
	struct arena a;
	arena_init(&a);
	const unsigned char *cells = fill_storage(q, storage, &a);
	struct arg data = fill_to_data(cells, n, t, &a);
	bool bits = false;
	for (int i = 0; i < n; i++)
		bits = bits || (data.data[i].kind == SC_FLOAT && isnan(data.data[i].f));
	sb_printf(sb, "        make_data(\"%s\", [", dtype_info[t].name);
	for (int i = 0; i < n; i++) {
		sb_puts(sb, i ? ", " : "");
		if (bits)
			sb_printf(sb, "%" PRId64, cell_bits(cells + i * dtype_nbytes(t), dtype_nbytes(t)));
		else if (data.data[i].kind == SC_FLOAT && isinf(data.data[i].f))
			sb_puts(sb, data.data[i].f < 0 ? "-math.inf" : "math.inf");
		else
			scalar_print(sb, &data.data[i]);
	}
	sb_printf(sb, "]%s),\n", bits ? ", bits=True" : "");
	arena_free(&a);
}

/* One storage: how its cells are made in this call. */
static void storage_row(struct strbuf *sb, const struct prog *q, int node)
{
	const struct node *n = &q->node[node];
	const struct meta *m = node_meta(q, node);
	const struct arg *given = &n->arg[op_param(OP_input, "data")];
	if (given->tag == ARG_DATA) {
		data_row(sb, q, n->out[0].storage, m->dtype, given->n);
		return;
	}
	sb_printf(sb, "        make_storage(\"%s\", %" PRId64 ", \"%s\", %" PRIu64 ", %" PRId64 ", %" PRId64 ", ", dtype_info[m->dtype].name, meta_extent(m),
	          n->arg[op_param(OP_input, "fill")].str, (uint64_t)node_int(n, op_param(OP_input, "seed")), node_int(n, op_param(OP_input, "high")),
	          node_int(n, op_param(OP_input, "dim")));
	int_list(sb, m->size, m->rank);
	sb_puts(sb, ", ");
	int_list(sb, m->stride, m->rank);
	sb_printf(sb, ", %" PRId64 "),\n", m->offset);
}

static bool call_rows(struct strbuf *sb, const struct prog *p, const struct torch_request *r, struct arena *a, struct err *err)
{
	sb_puts(sb, "\n# One entry per call of the same compiled function: storages, then (size, stride, offset) of each input or a symbol's value.\nCALLS = [\n");
	for (int k = 0; k <= p->ncall; k++) {
		struct prog q;
		if (!prog_bind(&q, p, k, a, err))
			return false;
		sb_puts(sb, "    lambda: ([\n");
		for (int i = 0; i < q.nnode; i++)
			if (q.node[i].op == OP_input)
				storage_row(sb, &q, i);
		sb_puts(sb, "    ], [\n");
		for (int i = 0; i < r->ninputs; i++) {
			const struct meta *m = &r->call[k].meta[i];
			if (r->input[i].symbol) {
				sb_printf(sb, "        %" PRId64 ",\n", r->call[k].symbol[i]);
				continue;
			}
			sb_puts(sb, "        (");
			int_list(sb, m->size, m->rank);
			sb_puts(sb, ", ");
			int_list(sb, m->stride, m->rank);
			sb_printf(sb, ", %" PRId64 "),\n", m->offset);
		}
		sb_puts(sb, "    ]),\n");
	}
	sb_puts(sb, "]\n");
	return true;
}

static void inputs_table(struct strbuf *sb, const struct torch_request *r)
{
	sb_puts(sb, "# name, storage (-1: a number), requires_grad, goes to f, goes to cotangents\nINPUTS = [\n");
	for (int i = 0; i < r->ninputs; i++)
		sb_printf(sb, "    (\"%s\", %d, %s, %s, %s),\n", r->input[i].name, r->input[i].symbol ? -1 : r->input[i].storage, r->input[i].requires_grad ? "True" : "False",
		          r->input[i].to_f ? "True" : "False", r->input[i].to_cotangents ? "True" : "False");
	sb_puts(sb, "]\n");
}

static void backward_list(struct strbuf *sb, const struct torch_request *r)
{
	sb_puts(sb, "BACKWARD = [");
	for (int i = 0; i < r->nbackward; i++)
		sb_printf(sb, "%s%d", i ? ", " : "", r->backward[i]);
	sb_puts(sb, "]  # outputs that get a cotangent\n");
}

/* Options are texts; Inductor's configuration says of which type. */
static const char option_values[] =
	"\n\ndef inductor_options(texts):\n"
	"    from torch._inductor import config, list_mode_options\n\n"
	"    words = {\"true\": True, \"True\": True, \"false\": False, \"False\": False, \"None\": None}\n"
	"    known = config.get_config_copy()\n"
	"    options = list_mode_options(texts.pop(\"mode\")) if \"mode\" in texts else {}\n"
	"    for name, text in texts.items():\n"
	"        if isinstance(known[name], bool):\n"
	"            options[name] = words[text] if text in words else bool(int(text))\n"
	"        elif text in words:\n"
	"            options[name] = words[text]\n"
	"        elif isinstance(known[name], (int, float)):\n"
	"            options[name] = type(known[name])(text)\n"
	"        else:\n"
	"            options[name] = int(text) if not isinstance(known[name], str) and text.lstrip(\"-\").isdigit() else text\n"
	"    return options\n";

static void wrap_target(struct strbuf *sb, const struct target *t)
{
	const char *stage = target_stage(t)->name;
	const char *dynamic = NULL;
	struct strbuf options;
	sb_init(&options);
	for (int i = 0; i < t->noptions; i++) {
		if (str_eq(t->option[i].name, "dynamic"))
			dynamic = str_eq(t->option[i].value, "0") || str_eq(t->option[i].value, "False") ? "False" : "True";
		else
			sb_printf(&options, "%s\"%s\": \"%s\"", options.len ? ", " : "", t->option[i].name, t->option[i].value);
	}
	if (options.len)
		sb_puts(sb, option_values);
	sb_puts(sb, "\n\ndef under_test(fn):\n");
	if (str_eq(stage, "eager") || str_eq(stage, "fake")) {
		sb_puts(sb, "    return fn\n");
	} else {
		sb_printf(sb, "    return torch.compile(fn, fullgraph=True, backend=\"%s\"", str_starts(stage, "aot_fake") ? "aot_eager" : stage);
		if (dynamic)
			sb_printf(sb, ", dynamic=%s", dynamic);
		if (options.len)
			sb_printf(sb, ", options=inductor_options({%s})", options.s);
		sb_puts(sb, ")\n");
	}
	sb_free(&options);
}

/* What was said of fill.py's imports holds for the whole script. */
static const char *after_imports(const char *py)
{
	const char *last = strstr(py, "\nimport torch\n");
	CHECK(last);
	return last + strlen("\nimport torch\n");
}

static void header(struct strbuf *sb, const struct target *t, const struct store_loaded *finding, const struct expected *x, const char *why,
                   bool must_raise)
{
	struct strbuf name;
	sb_init(&name);
	target_print(&name, t);
	sb_puts(sb, "#!/usr/bin/env python3\n");
	if (finding)
		sb_printf(sb, "# scatterproof finding %.8s (%s), found on %s; this is %s\n", finding->hex, finding->signature,
			finding->nenvs ? finding->env[0].target : "no target", name.s);
	if (must_raise)
		sb_puts(sb, "# Exits 1 if the target runs what eager refuses, 0 if it refuses it, too.\n");
	else if (x->name)
		sb_printf(sb, "# Exits 1 if %s of call %d is not what EXPECTED says that it must be, 0 if it is. The rest is compared with eager.\n", x->name, x->call);
	else
		sb_printf(sb, "# Exits 1 if the target differs from eager (values: beyond the tolerances of torch.testing.assert_close), 0 if not%s.\n",
			finding && finding->kind == FINDING_CRASH ? "; it crashed where it was found" : "");
	if (why[0] && !must_raise)
		sb_printf(sb, "# Only eager says what must come out: %s.\n", why);
	sb_puts(sb, "import math\nimport sys\n\nimport torch\n\n"
		"torch.set_num_threads(1)  # as where it was found\n");
	if (t->device == TDEV_CUDA)
		sb_puts(sb, "torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False\n"
			"torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False\n");
	sb_printf(sb, "DEVICE = \"%s\"\n", target_device_name(t->device));
	sb_free(&name);
}

static void expected_table(struct strbuf *sb, const struct expected *x, const char *table)
{
	if (!x->name) {
		sb_puts(sb, "\nEXPECTED, NOT_ALL_ZERO = {}, []\n");
		return;
	}
	sb_printf(sb, "\n# What %s of call %d must be, whatever order of sums, fused multiply-adds and wider intermediates a correct compiler\n"
		"# chooses: a number (exactly that; the int 0: a zero of either sign), (low, high, or one of these) or None (anything).\n", x->name, x->call);
	if (strstr(table, "inf") || strstr(table, "nan"))
		sb_puts(sb, "inf, nan = math.inf, math.nan\n");
	sb_puts(sb, table);
}

bool script_emit(struct strbuf *sb, const struct prog *p, const struct target *t, const struct store_loaded *finding, struct arena *a, struct err *err)
{
	struct torch_request r;
	struct expected x = {0};
	struct strbuf table;
	const char *why;
	if (t->family != FAM_TORCH)
		return err_set(err, "a stand-alone script is for PyTorch targets only");
	if (!emit_request(&r, p, t, a, err))
		return false;
	sb_init(&table);
	if (!expected_emit(&table, &x, &why, p, t, finding, a))
		x.name = NULL;
	header(sb, t, finding, &x, why, p->must_raise);
	sb_printf(sb, "\n\n%s", r.source);
	wrap_target(sb, t);
	sb_puts(sb, "\n\n");
	inputs_table(sb, &r);
	backward_list(sb, &r);
	bool ok = call_rows(sb, p, &r, a, err);
	expected_table(sb, &x, table.s);
	sb_printf(sb, "MUST_RAISE = %s  # whether eager must refuse the program, and the target with it\n", p->must_raise ? "True" : "False");
	sb_printf(sb, "MEMORY = %s  # whether to compare which results share memory\n", finding && finding->kind == FINDING_ALIAS ? "True" : "False");
	sb_puts(sb, "SHOWN = 8  # elements of a tensor\n\n\n"
		"# ---- the data of the inputs: integer arithmetic, the same everywhere ----\n");
	sb_puts(sb, after_imports((const char *)fill_py));
	sb_puts(sb, "\n\n# ---- running and comparing ----\n\n\n");
	sb_puts(sb, (const char *)script_run_py);
	sb_free(&table);
	return ok;
}
