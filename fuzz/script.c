/* script.c: the script in the order in which a person reads it: what is wrong, the function, the inputs, the comparison. */
#include "fuzz/script.h"

#include <inttypes.h>

#include "compiled/targets/emit_python.h"

extern const unsigned char fill_py[];  /* embedded by the build, NUL-terminated */

static void int_list(struct strbuf *sb, const int64_t *v, int n)
{
	sb_putc(sb, '(');
	for (int i = 0; i < n; i++)
		sb_printf(sb, "%" PRId64 ",%s", v[i], i + 1 < n ? " " : "");
	sb_putc(sb, ')');
}

/* One storage: how its cells are made in this call. */
static void storage_row(struct strbuf *sb, const struct prog *q, int node)
{
	const struct node *n = &q->node[node];
	const struct meta *m = node_meta(q, node);
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
	sb_puts(sb, "\n\n# One entry per call of the same compiled function: storages, then (size, stride, offset) of each input or a symbol's value.\nCALLS = [\n");
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
	sb_puts(sb, "# name, storage, requires_grad, goes to f, goes to cotangents\nINPUTS = [\n");
	for (int i = 0; i < r->ninputs; i++)
		sb_printf(sb, "    (\"%s\", %d, %s, %s, %s),\n", r->input[i].name, r->input[i].storage, r->input[i].requires_grad ? "True" : "False",
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

static void wrap_target(struct strbuf *sb, const struct target *t)
{
	const char *stage = target_stage(t)->name;
	sb_puts(sb, "\n\ndef under_test(fn):\n    torch._dynamo.reset()\n");
	if (str_eq(stage, "eager") || str_eq(stage, "fake")) {
		sb_puts(sb, "    return fn\n");
		return;
	}
	sb_printf(sb, "    return torch.compile(fn, fullgraph=True, backend=\"%s\"", str_starts(stage, "aot_fake") ? "aot_eager" : stage);
	bool options = false;
	for (int i = 0; i < t->noptions; i++) {
		if (str_eq(t->option[i].name, "dynamic")) {
			sb_printf(sb, ", dynamic=%s", str_eq(t->option[i].value, "0") || str_eq(t->option[i].value, "False") ? "False" : "True");
			continue;
		}
		if (!options)
			sb_puts(sb, ", options={");
		const char *v = t->option[i].value;
		bool bare = strspn(v, "-0123456789.") == strlen(v) || str_eq(v, "True") || str_eq(v, "False") || str_eq(v, "None");
		sb_printf(sb, "%s\"%s\": %s%s%s", options ? ", " : "", t->option[i].name, bare ? "" : "\"", v, bare ? "" : "\"");
		options = true;
	}
	sb_puts(sb, options ? "})\n" : ")\n");
}

static const char tail[] =
	"\n\ndef make_inputs(call):\n"
	"    storages, geometry = CALLS[call]()\n"
	"    storages = [s.to(DEVICE) for s in storages]\n"
	"    made = []\n"
	"    for (name, storage, grad, _, _), g in zip(INPUTS, geometry):\n"
	"        if isinstance(g, int):\n"
	"            made.append(g)\n"
	"            continue\n"
	"        x = torch.empty(0, dtype=storages[storage].dtype, device=DEVICE)\n"
	"        x.set_(storages[storage].untyped_storage(), g[2], g[0], g[1])\n"
	"        made.append(x.requires_grad_() if grad else x)\n"
	"    return storages, made\n"
	"\n\ndef run(fn, call):\n"
	"    storages, made = make_inputs(call)\n"
	"    outs = fn(*[x for x, row in zip(made, INPUTS) if row[3]])\n"
	"    if BACKWARD:\n"
	"        with torch.no_grad():\n"
	"            cots = cotangents(*[x for x, row in zip(made, INPUTS) if row[4]])\n"
	"        torch.autograd.backward([outs[i] for i in BACKWARD], list(cots))\n"
	"    named = {f\"output {i}\": x.detach() for i, x in enumerate(outs)}\n"
	"    for row, x in zip(INPUTS, made):\n"
	"        if row[2]:\n"
	"            named[f\"{row[0]}.grad\"] = x.grad\n"
	"    named.update({f\"storage {i} afterwards\": s for i, s in enumerate(storages)})\n"
	"    return named\n"
	"\n\nbad = 0\n"
	"fn = under_test(f)\n"
	"for call in range(len(CALLS)):\n"
	"    want = run(f, call)\n"
	"    try:\n"
	"        got = run(fn, call)\n"
	"    except Exception as e:\n"
	"        bad += 1\n"
	"        print(f\"call {call}: eager runs, the target raises {type(e).__name__}: {str(e)[:800]}\")\n"
	"        continue\n"
	"    for name, w in want.items():\n"
	"        g = got[name]\n"
	"        try:\n"
	"            assert (w is None) == (g is None), f\"eager {w}, target {g}\"\n"
	"            if w is not None:\n"
	"                torch.testing.assert_close(g, w, equal_nan=True)\n"
	"                assert [t for t, n in zip(g.stride(), g.shape) if n > 1] == [t for t, n in zip(w.stride(), w.shape) if n > 1] or not g.numel(), \\\n"
	"                    f\"strides: eager {w.stride()}, target {g.stride()}\"\n"
	"        except AssertionError as e:\n"
	"            bad += 1\n"
	"            print(f\"call {call}: {name} differs from eager: {e}\")\n"
	"            if w is not None and g is not None:\n"
	"                print(\"  eager \", w.flatten()[:8].tolist())\n"
	"                print(\"  target\", g.flatten()[:8].tolist())\n"
	"print(\"torch\", torch.__version__, \"differs\" if bad else \"agrees with eager within assert_close's tolerances\")\n"
	"sys.exit(1 if bad else 0)\n";

bool script_emit(struct strbuf *sb, const struct prog *p, const struct target *t, const struct store_loaded *finding, struct arena *a, struct err *err)
{
	struct torch_request r;
	if (t->family != FAM_TORCH)
		return err_set(err, "a stand-alone script is for PyTorch targets only");
	if (!emit_request(&r, p, t, a, err))
		return false;
	sb_puts(sb, "#!/usr/bin/env python3\n");
	struct strbuf name;
	sb_init(&name);
	target_print(&name, t);
	if (finding)
		sb_printf(sb, "# scatterproof finding %.8s: %s wrong on %s (%s)\n", finding->hex, finding_kind_name[finding->kind], name.s, finding->signature);
	sb_puts(sb, "# Exits 1 if the target differs from eager, 0 if it agrees.\nimport sys\n\n");
	sb_puts(sb, (const char *)fill_py);
	sb_printf(sb, "\n\nDEVICE = \"%s\"\n\n\n", target_device_name(t->device));
	sb_puts(sb, r.source);
	sb_puts(sb, "\n\n");
	inputs_table(sb, &r);
	backward_list(sb, &r);
	bool ok = call_rows(sb, p, &r, a, err);
	wrap_target(sb, t);
	sb_puts(sb, tail);
	sb_free(&name);
	return ok;
}
