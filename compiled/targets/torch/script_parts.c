/* script_parts.c: the parts of a stand-alone script that know PyTorch: its imports, the program as a function, how this stage compiles
 * it, the inputs of every call; and the machinery that is the same in every script (fill.py, script_run.py), which reads the names in
 * capitals that are written here. */
#include "compiled/targets/torch/script_parts.h"

#include <inttypes.h>
#include <math.h>

#include "compiled/targets/torch/emit_python.h"
#include "compiled/targets/short_numbers.h"
#include "compiled/targets/torch/short_script.h"
#include "eager/base/escape.h"
#include "eager/lang/fill.h"
#include "eager/lang/stated.h"
#include "generated/op_input.h"

extern const unsigned char fill_py[], script_run_py[]; /* embedded by the build, NUL-terminated */

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
	const struct arg *given = &n->arg[A_input_data];
	if (given->tag == ARG_DATA) {
		data_row(sb, q, n->out[0].storage, m->dtype, given->n);
		return;
	}
	sb_printf(sb, "        make_storage(\"%s\", %" PRId64 ", ", dtype_info[m->dtype].name, meta_extent(m));
	escape_python(sb, n->arg[A_input_fill].str);
	sb_printf(sb, ", %" PRIu64 ", %" PRId64 ", %" PRId64 ", ", (uint64_t)node_int(n, A_input_seed), node_int(n, A_input_high),
		node_int(n, A_input_dim));
	short_tuple(sb, m->size, m->rank);
	sb_puts(sb, ", ");
	short_tuple(sb, m->stride, m->rank);
	sb_printf(sb, ", %" PRId64 ").to(%s),\n", m->offset, m->device == DEV_RUN ? "DEVICE" : m->device == DEV_CPU ? "\"cpu\"" : "\"meta\"");
}

static bool call_rows(struct strbuf *sb, const struct prog *p, const struct torch_request *r, struct arena *a, struct err *err)
{
	sb_puts(sb,
		"\n# One entry per call of the same compiled function: storages, then (size, stride, offset) of each input or a symbol's value.\n"
		"CALLS = [\n");
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
			short_tuple(sb, m->size, m->rank);
			sb_puts(sb, ", ");
			short_tuple(sb, m->stride, m->rank);
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
		sb_printf(sb, ", %d, %s, %s, %s),\n", r->input[i].symbol ? -1 : r->input[i].storage, r->input[i].requires_grad ? "True" : "False",
			r->input[i].to_f ? "True" : "False", r->input[i].to_cotangents ? "True" : "False");
	}
	sb_puts(sb, "]\n");
}

static void backward_list(struct strbuf *sb, const struct torch_request *r)
{
	sb_puts(sb, "BACKWARD = [");
	for (int i = 0; i < r->nbackward; i++)
		sb_printf(sb, "%s%d", i ? ", " : "", r->backward[i]);
	sb_puts(sb, "]  # outputs that get a cotangent\n");
	sb_printf(sb, "LATE = %s  # the backward of each call runs after the forward of the next one\n", r->late ? "True" : "False");
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

static void wrap_target(struct strbuf *sb, const struct prog *p, const struct target *t, int ncalls)
{
	enum { RECOMPILES = 8 }; /* Dynamo's default */
	const char *stage = target_stage(t)->name;
	const char *own = target_option(t, "backend"), *autograd = target_option(t, "compiled_autograd"),
			   *dynamic = target_option(t, "dynamic");
	bool aot_fake = str_eq(stage, "aot_fake");
	struct strbuf options, how;
	sb_init(&options);
	sb_init(&how);
	for (int i = 0; i < t->noptions; i++) {
		if (own || torch_option_of_dynamo(t->option[i].name) || strncmp(t->option[i].name, "probe.", 6) == 0)
			continue;
		sb_puts(&options, options.len ? ", " : "");
		escape_python(&options, t->option[i].name);
		sb_puts(&options, ": ");
		escape_python(&options, t->option[i].value);
	}
	sb_puts(&how, "fullgraph=True, backend=");
	if (aot_fake)
		sb_puts(&how, "aot_with_decompositions()");
	else
		escape_python(&how, own ? own : stage);
	if (dynamic)
		sb_printf(&how, ", dynamic=%s", str_eq(dynamic, "0") ? "False" : "True");
	if (options.len)
		sb_printf(&how, ", options=inductor_options({%s})", options.s);
	sb_puts(sb, options.len ? option_values : aot_fake ? aot_fake_backend : "");
	sb_puts(sb, "\n\ndef under_test(fn):\n");
	if (!target_stage(t)->compiles) {
		sb_puts(sb, "    return fn\n");
	} else {
		if (ncalls > RECOMPILES)
			sb_printf(sb, "    torch._dynamo.config.recompile_limit = %d  # calls, each may be compiled by itself\n", ncalls);
		if (prog_states(p))
			sb_puts(sb,
				"    torch._dynamo.config.capture_dynamic_output_shape_ops = True  # by default they end the graph\n"
				"    torch._dynamo.config.capture_scalar_outputs = True\n");
		if (autograd && str_eq(autograd, "alone"))
			sb_puts(sb, "    return fn\n");
		else
			sb_printf(sb, "    return torch.compile(fn, %s)\n", how.s);
	}
	sb_puts(sb, "\n\ndef under_backward():\n");
	if (!autograd)
		sb_puts(sb, "    return contextlib.nullcontext()\n");
	else
		sb_printf(sb,
			"    from torch._dynamo.compiled_autograd import _enable\n\n"
			"    return _enable(torch.compile(%s), dynamic=%s)\n",
			how.s, dynamic && str_eq(dynamic, "1") ? "True" : "False");
	sb_free(&options);
	sb_free(&how);
}

/* ---- what the driver gives ---------------------------------------------------------------------------------------------------- */

static void imports(struct strbuf *sb, const struct target *t)
{
	sb_puts(sb,
		"import contextlib\nimport math\nimport os\nimport pickle\nimport signal\nimport subprocess\nimport sys\nimport tempfile\n"
		"import time\n\n"
		"try:\n    import torch\nexcept Exception as e:\n    print(f\"PyTorch does not start in this Python: {e}\")\n    sys.exit(2)\n\n"
		"torch.set_num_threads(1)  # as where it was found\n");
	if (t->device == TDEV_CUDA)
		sb_puts(sb,
			"torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False\n"
			"torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False\n");
	if (target_option(t, "import"))
		sb_printf(sb,
			"\ntry:\n    import %s  # registers the backend\nexcept Exception as e:\n"
			"    print(f\"the backend's module is not there: {e}\")\n"
			"    sys.exit(2)\n\n",
			target_option(t, "import"));
	sb_printf(sb, "DEVICE = \"%s\"\n", target_device_name(t->device));
}

static bool program(struct strbuf *sb, const struct prog *p, const struct target *t, struct arena *a, struct err *err)
{
	struct torch_request r;
	for (int i = 0; i < t->noptions; i++)
		if (torch_probe_changes(t->option[i].name))
			return err_set(err, "a stand-alone script cannot change what is compiled, as option %s does", t->option[i].name);
	if (!emit_request(&r, p, t, a, err))
		return false;
	sb_printf(sb, "\n\n%s", r.source);
	wrap_target(sb, p, t, r.ncalls);
	sb_puts(sb, "\n\n");
	inputs_table(sb, &r);
	backward_list(sb, &r);
	return call_rows(sb, p, &r, a, err);
}

static const char *not_here(const struct target *t)
{
	bool fake = str_eq(target_stage(t)->name, "fake");
	return fake ? "the prediction of layouts, which torch:fake makes beside running the program" : NULL;
}

/* The script's imports hold for these, too. */
static const char *making_inputs(void)
{
	const char *last = strstr((const char *)fill_py, "\nimport torch\n");
	CHECK(last);
	return last + strlen("\nimport torch\n");
}

static const char *running(void) { return (const char *)script_run_py; }

const struct target_script torch_script = {.beside = "eager",
	.imports = imports,
	.program = program,
	.limit_ms = torch_limit_ms,
	.not_here = not_here,
	.making_inputs = making_inputs,
	.running = running,
	.brief = torch_short_script};
