/* script.c: the script in the order in which a person reads it: what is wrong, the function, the inputs, what must come out; then the
 * machinery that is the same in every script (fill.py, script_run.py), which reads the names in capitals that are written here. */
#include "fuzz/triage/script.h"

#include <inttypes.h>
#include <math.h>

#include "compiled/targets/torch/emit_python.h"
#include "eager/base/escape.h"
#include "eager/lang/fill.h"
#include "fuzz/triage/expected.h"
#include "eager/base/json.h"

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
	sb_printf(sb, "        make_storage(\"%s\", %" PRId64 ", ", dtype_info[m->dtype].name, meta_extent(m));
	escape_python(sb, n->arg[op_param(OP_input, "fill")].str);
	sb_printf(sb, ", %" PRIu64 ", %" PRId64 ", %" PRId64 ", ", (uint64_t)node_int(n, op_param(OP_input, "seed")),
	          node_int(n, op_param(OP_input, "high")), node_int(n, op_param(OP_input, "dim")));
	int_list(sb, m->size, m->rank);
	sb_puts(sb, ", ");
	int_list(sb, m->stride, m->rank);
	sb_printf(sb, ", %" PRId64 ").to(%s),\n", m->offset, m->device == DEV_RUN ? "DEVICE" : m->device == DEV_CPU ? "\"cpu\"" : "\"meta\"");
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
	for (int i = 0; i < r->ninputs; i++) {
		sb_puts(sb, "    (");
		escape_python(sb, r->input[i].name);
		sb_printf(sb, ", %d, %s, %s, %s),\n", r->input[i].symbol ? -1 : r->input[i].storage,
		          r->input[i].requires_grad ? "True" : "False", r->input[i].to_f ? "True" : "False", r->input[i].to_cotangents ? "True" : "False");
	}
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

/* AOTAutograd as worker.py drives it for this stage, without the comparison of what it predicts. */
static const char aot_fake_backend[] =
	"\n\ndef aot_with_decompositions():\n"
	"    from torch._dynamo.backends.common import aot_autograd\n"
	"    from torch._functorch.aot_autograd import make_boxed_func\n"
	"    from torch._functorch.partitioners import min_cut_rematerialization_partition\n"
	"    from torch._inductor.decomposition import select_decomp_table\n\n"
	"    def interpreted(graph, _inputs):\n"
	"        return make_boxed_func(lambda *args: torch.fx.Interpreter(graph).run(*args))\n\n"
	"    def partition(*args, **kwargs):\n"
	"        return min_cut_rematerialization_partition(*args, compiler=\"inductor\", **kwargs)\n\n"
	"    return aot_autograd(fw_compiler=interpreted, bw_compiler=interpreted, decompositions=select_decomp_table(),\n"
	"                        partition_fn=partition, keep_inference_input_mutations=True)\n";

static void wrap_target(struct strbuf *sb, const struct target *t, int ncalls)
{
	enum { RECOMPILES = 8 };        /* Dynamo's default */
	const char *stage = target_stage(t)->name;
	const char *dynamic = NULL;
	bool aot_fake = str_eq(stage, "aot_fake");
	struct strbuf options;
	sb_init(&options);
	for (int i = 0; i < t->noptions; i++) {
		if (str_eq(t->option[i].name, "dynamic")) {
			dynamic = str_eq(t->option[i].value, "0") ? "False" : "True";
			continue;
		}
		sb_puts(&options, options.len ? ", " : "");
		escape_python(&options, t->option[i].name);
		sb_puts(&options, ": ");
		escape_python(&options, t->option[i].value);
	}
	sb_puts(sb, options.len ? option_values : aot_fake ? aot_fake_backend : "");
	sb_puts(sb, "\n\ndef under_test(fn):\n");
	if (!target_stage(t)->compiles) {
		sb_puts(sb, "    return fn\n");
	} else {
		if (ncalls > RECOMPILES)
			sb_printf(sb, "    torch._dynamo.config.recompile_limit = %d  # calls, each may be compiled by itself\n", ncalls);
		sb_puts(sb, "    return torch.compile(fn, fullgraph=True, backend=");
		sb_printf(sb, aot_fake ? "aot_with_decompositions()" : "\"%s\"", stage);
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

/* Of any text, a comment line per line: nothing of it can run, and Python can read it. */
static void comment(struct strbuf *sb, const char *text)
{
	sb_puts(sb, "# ");
	escape_lines(sb, "# ", text, strlen(text));
	sb_putc(sb, '\n');
}

/* What the target's stage does beside running the program, which this script does not. */
static const char *not_here(const struct target *t)
{
	bool fake = str_eq(target_stage(t)->name, "fake");
	return fake ? "the prediction of layouts, which torch:fake makes beside running the program" : NULL;
}

static void header(struct strbuf *sb, const struct target *t, const char *headline, const char *says,
                   const char *why, struct arena *a)
{
	sb_puts(sb, "#!/usr/bin/env python3\n");
	comment(sb, headline);
	comment(sb, arena_printf(a, "Exits 1 if %s, 0 if not, 2 if that cannot be told.", says));
	if (why[0])
		comment(sb, arena_printf(a, "It cannot be told unless the program does not run: %s.", why));
	sb_puts(sb, "import math\nimport os\nimport pickle\nimport signal\nimport subprocess\nimport sys\nimport tempfile\nimport time\n\n"
		"try:\n    import torch\nexcept Exception as e:\n    print(f\"PyTorch does not start in this Python: {e}\")\n    sys.exit(2)\n\n"
		"torch.set_num_threads(1)  # as where it was found\n");
	if (t->device == TDEV_CUDA)
		sb_puts(sb, "torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False\n"
			"torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False\n");
	sb_printf(sb, "DEVICE = \"%s\"\n", target_device_name(t->device));
}

static void python_text(struct strbuf *sb, const char *name, const char *value)
{
	sb_printf(sb, "%s = ", name);
	if (value)
		escape_python(sb, value);
	else
		sb_puts(sb, "None");
	sb_putc(sb, '\n');
}

/* How a run that does not go through is to be understood. */
static void run_facts(struct strbuf *sb, const struct claim *c, const struct prog *p, const struct target *t, struct arena *a)
{
	struct outcome asked;
	struct torch_refusals known;
	const struct result none = {.status = RES_RAISED, .message = "", .stderr_tail = ""};
	outcome_of(&asked, p, &none, t, NULL, a);
	torch_refusals(&known, t);
	sb_printf(sb, "COMPILES = %s\n", target_stage(t)->compiles ? "True" : "False");
	sb_printf(sb, "MUST_RAISE = %s\n", asked.reference == REF_RAISES ? "True" : "False");
	python_text(sb, "STATED", p->must_raise ? p->raises ? p->raises : "" : NULL);
	sb_printf(sb, "AUTOGRAD_REFUSES = %s  # whoever runs it\n", program_raises(p, t, a) ? "True" : "False");
	sb_printf(sb, "REFUSED = %s  # that eager refuses it is what this script is about\n", c->refused ? "True" : "False");
	sb_puts(sb, "KNOWN_REFUSALS = [");
	for (int i = 0; i < known.n; i++) {
		sb_puts(sb, i ? ", " : "");
		escape_python(sb, known.fragment[i]);
	}
	sb_puts(sb, "]  # of the compiler: no bugs by themselves\n");
	python_text(sb, "NOT_HERE", c->subject == CLAIM_RUN ? not_here(t) : NULL);
	sb_printf(sb, "FLAKY = %s  # not seen again when it was found: not to see it says nothing\n", c->flaky ? "True" : "False");
	sb_printf(sb, "LIMIT = %d  # seconds; what takes longer hangs\n", torch_limit_ms(t) / 1000);
}

bool script_emit(struct strbuf *sb, const struct claim *c, const struct prog *program, const struct target *t, const char *headline,
                 struct arena *a, struct err *err)
{
	struct torch_request r;
	struct strbuf table, name;
	const struct prog p = claim_program(c, program);
	const char *why = "";
	if (t->family != FAM_TORCH)
		return err_set(err, "a stand-alone script is for PyTorch targets only");
	if (c->subject == CLAIM_ANYTHING)
		return err_set(err, "no observation of this program says which tensor is wrong: a script could not show it");
	if (!emit_request(&r, &p, t, a, err))
		return false;
	sb_init(&table);
	sb_init(&name);
	if (c->subject == CLAIM_TENSOR)
		expected_name(&name, &c->tensor);
	bool known = c->subject == CLAIM_TENSOR && expected_emit(&table, &why, c, &p, t, a);
	header(sb, t, headline, p.must_raise ? "the target runs what eager refuses" : claim_text(c, a), why, a);
	sb_printf(sb, "\n\n%s", r.source);
	wrap_target(sb, t, r.ncalls);
	sb_puts(sb, "\n\n");
	inputs_table(sb, &r);
	backward_list(sb, &r);
	bool ok = call_rows(sb, &p, &r, a, err);
	sb_puts(sb, "\n# What is looked at: this tensor, after the last call; None: whether the program runs as it must.\n");
	python_text(sb, "TENSOR", c->subject == CLAIM_TENSOR ? name.s : NULL);
	python_text(sb, "UNKNOWN", why[0] ? why : NULL);
	run_facts(sb, c, &p, t, a);
	if (strstr(table.s, "inf") || strstr(table.s, "nan"))
		sb_puts(sb, "inf, nan = math.inf, math.nan\n");
	sb_puts(sb, "# What the reference says that it must be, whatever order of sums, fused multiply-adds and wider intermediates a correct\n"
		"# compiler chooses. EXPECTED: for each range of versions of PyTorch the first one, the elements, groups of elements that share\n"
		"# a gradient. An element is a number (exactly that; the int 0: a zero of either sign), (low, high, or one of these),\n"
		"# {one, of, these} or None (anything).\n");
	sb_puts(sb, known ? table.s : "MUST = {}\nEXPECTED = []\n");
	sb_puts(sb, "SHOWN = 8  # elements of a tensor\n\n\n"
		"# ---- the data of the inputs: integer arithmetic, the same everywhere ----\n");
	sb_puts(sb, after_imports((const char *)fill_py));
	sb_puts(sb, "\n\n# ---- running and comparing ----\n\n\n");
	sb_puts(sb, (const char *)script_run_py);
	sb_free(&name);
	sb_free(&table);
	return ok;
}
