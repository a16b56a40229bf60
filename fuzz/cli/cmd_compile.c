/* cmd_compile.c: what the built-in compiler makes of programs, as text that every command reads. */
#include "compiled/defects/defects.h"
#include "compiled/loops/emit_c.h"
#include "compiled/loops/emit_cuda.h"
#include "compiled/loops/symbols.h"
#include "compiled/passes/pass.h"
#include "compiled/symbols/dynamic.h"
#include "compiled/targets/builtin/builtin.h"
#include "eager/base/escape.h"
#include "eager/base/output.h"
#include "fuzz/campaign/load.h"
#include "fuzz/cli/commands.h"

/* What is printed: the program after a step, its loops, or their text for a processor or a GPU. */
enum form_printed { FORM_PROGRAM, FORM_LOOPS, FORM_C, FORM_CUDA, FORM_PTX };
static const char *const form_name[] = {NULL, "loops", "c", "cuda", "ptx"};

struct request {
	struct compile_options options;
	enum form_printed form;
	bool missing; /* a program was not compiled */
};

/* Gradients are returned behind the outputs: which is whose. */
static void put_gradients(struct strbuf *sb, const struct compiled *c, const struct prog *source)
{
	int next = c->nout, g = 0;
	for (int i = 0; i < source->nnode && g < c->ngrad; i++)
		if (node_requires_grad(&source->node[i]))
			sb_printf(sb, "# gradient of %s: %s\n", source->node[i].name,
				c->grad[g++] && next < c->p.nret ? c->p.node[c->p.ret[next++]].name : "None");
}

/* As a program of its own: the header line first, then where it is from, then notes. */
static void print_stage(const struct prog *p, const char *name, int stage, const char *notes)
{
	struct strbuf sb;
	sb_init(&sb);
	prog_print(&sb, p);
	size_t header = strcspn(sb.s, "\n");
	printf("%.*s\n# %s of %s\n%s%s", (int)header, sb.s, compile_stage_name(stage), name, notes, sb.s + header + 1);
	sb_free(&sb);
}

static void tell_planted(struct strbuf *steps, const struct defect *d, bool planted)
{
	if (d)
		sb_printf(steps, "# defect %s: %s\n", d->name, planted ? "planted" : "nothing to spoil");
}

static void put_cuda(struct strbuf *sb, struct loops *l, struct arena *a)
{
	struct loop_kernel *k;
	const int n = loops_kernels(&k, l, a);
	loops_emit_cuda_head(sb);
	loops_emit_cuda(sb, l, k, n, "p");
}

/* For a GPU of compute capability 9.0. */
static bool put_ptx(struct strbuf *sb, struct loops *l, struct arena *a, struct err *err)
{
	struct strbuf text;
	sb_init(&text);
	put_cuda(&text, l, a);
	const enum gpu_end end = nvrtc_compile(sb, text.s, GPU_PTX, &(struct gpu_options){.arch = 90, .search = builtin_wheels()}, err);
	sb_free(&text);
	if (end == GPU_BROKEN)
		BUG("%s", err->msg);
	return end == GPU_OK;
}

/* False: there is no NVRTC here (err). */
static bool put_form(struct strbuf *sb, enum form_printed form, struct loops *l, struct arena *a, struct err *err)
{
	if (form == FORM_PTX)
		return put_ptx(sb, l, a, err);
	if (form == FORM_LOOPS)
		loops_print(sb, l);
	else if (form == FORM_CUDA)
		put_cuda(sb, l, a);
	else
		loops_emit_c(sb, l, true);
	return true;
}

/* Loops, or the text of these. */
static bool print_loops(struct loops *l, const char *name, const struct request *r, struct strbuf *steps, struct arena *a, struct err *err)
{
	struct strbuf sb;
	const bool own_notes = r->form == FORM_LOOPS;
	sb_init(&sb);
	const bool ok = put_form(&sb, r->form, l, a, err);
	const size_t header = own_notes ? strcspn(sb.s, "\n") + 1 : 0;
	if (ok)
		printf(own_notes ? "%.*s# of %s\n%s%s" : "%.*s/* of %s\n%s*/\n%s", (int)header, sb.s, name, steps->s, sb.s + header);
	sb_free(&sb);
	return ok;
}

static void step_holds(void *ctx, const char *step, const struct prog *p) { sb_printf(ctx, "# ok %s: %d rows\n", step, p->nnode); }

/* Of a program compiled for any size (+dynamic=1): which calls it serves. False: an invariant is broken (err). */
static bool tell_calls(struct strbuf *steps, const struct prog *p, const struct dynamic *d, const struct err *why, struct arena *a,
	bool validate, struct err *err)
{
	for (int k = 0; k <= p->ncall; k++) {
		struct prog bound;
		struct err no = {0};
		if (!d)
			sb_printf(steps, "# call %d: specialised: %s\n", k, why->msg);
		else if (!prog_bind(&bound, p, k, a, &no) || !dynamic_serves(d, &bound, &no))
			sb_printf(steps, "# call %d: specialised: %s\n", k, no.msg);
		else if (validate && !dynamic_validate(d, &bound, &no))
			return err_set(err, "invariant after symbols: call %d: %s", k, no.msg);
		else
			sb_printf(steps, "# call %d: compiled once\n", k);
	}
	return true;
}

/* One program compiled; *l: its loops, where those are asked for. */
static enum compile_status compile_program(struct compiled *c, struct loops *l, const struct prog *p, const struct prog *bound,
	const struct request *r, const struct compile_options *o, struct strbuf *steps, struct arena *a, struct err *err)
{
	struct dynamic *d = NULL;
	struct err why = {0};
	bool planted = false, symbolic = o->code.dynamic && o->stage >= STAGE_FIRST_PASS;
	if (symbolic) {
		struct compile_options *own = ARENA_NEW(a, struct compile_options, 1); /* dynamic_compile keeps it */
		*own = *o;
		own->to_code |= r->form != FORM_PROGRAM;
		const enum compile_status status = dynamic_compile(&d, &planted, bound, own, a, &why);
		if (status != COMPILE_OK) {
			err_set(err, "%s", why.msg);
			return status;
		}
		if (!tell_calls(steps, p, d, &why, a, o->validate, err))
			return COMPILE_BROKEN;
	}
	if (d) {
		*c = *dynamic_compiled(d);
		if (r->form != FORM_PROGRAM)
			loops_copy(l, dynamic_loops(d), a);
	} else {
		struct compile_options own = *o;
		own.done = symbolic ? NULL : o->done;
		const enum compile_status status = compile(c, bound, &own, a, err);
		if (status != COMPILE_OK)
			return status;
		if (r->form != FORM_PROGRAM && !code_loops(l, &planted, &c->p, &o->code, o->defect, a, err))
			return COMPILE_REFUSED;
	}
	tell_planted(steps, o->defect, planted || c->planted);
	return COMPILE_OK;
}

static int compile_one(void *ctx, const char *name, const struct prog *p)
{
	static const char *const why[] = {[COMPILE_RAISES] = "eager refuses it: ", [COMPILE_REFUSED] = "unsupported: ", [COMPILE_BROKEN] = ""};
	struct request *request = ctx;
	struct compile_options o = request->options;
	struct arena a;
	struct prog bound;
	struct compiled c = {0};
	struct loops l;
	struct err err = {0};
	struct strbuf steps;
	enum compile_status status = COMPILE_REFUSED;
	arena_init(&a);
	sb_init(&steps);
	name = escaped_line(&a, name);
	o.done = o.validate ? step_holds : NULL;
	o.ctx = &steps;
	o.code.schedule |= request->form == FORM_CUDA || request->form == FORM_PTX;
	if (prog_bind(&bound, p, 0, &a, &err))
		status = compile_program(&c, &l, p, &bound, request, &o, &steps, &a, &err);
	if (status == COMPILE_OK)
		put_gradients(&steps, &c, &bound);
	if (status == COMPILE_OK && request->form != FORM_PROGRAM)
		status = print_loops(&l, name, request, &steps, &a, &err) ? COMPILE_OK : COMPILE_REFUSED;
	else if (status == COMPILE_OK)
		print_stage(&c.p, name, o.stage, steps.s);
	if (status != COMPILE_OK)
		complain("%s: %s%s", name, why[status], err.msg);
	request->missing |= status == COMPILE_RAISES || status == COMPILE_REFUSED;
	sb_free(&steps);
	arena_free(&a);
	return status == COMPILE_OK ? EXIT_CLEAN : status == COMPILE_BROKEN ? EXIT_FINDINGS : EXIT_VOID;
}

/* Nothing stands after a step that does not run. */
static bool step_runs(const struct compile_options *o, const char *name)
{
	const int pass = str_eq(name, "reinplace") ? npasses : pass_find(name);
	const bool frozen = pass >= 0 && pass < npasses && passes[pass].freezing && !o->freezing;
	if (pass >= 0 && o->off & 1u << pass)
		complain("--print-after: the target leaves '%s' out", name);
	else if (frozen)
		complain("--print-after: '%s' runs only with --target builtin:passes+freezing=1", name);
	return pass < 0 || (!(o->off & 1u << pass) && !frozen);
}

static bool find_stage(struct request *r, const char *name)
{
	const char *names[64];
	struct strbuf all;
	struct guess g = {0};
	const int nsteps = compile_nstages(), n = nsteps + ARRAY_LEN(form_name) - 1;
	if (compile_stage_find(&r->options.stage, name)) {
		r->options.decompose |= r->options.stage == STAGE_DECOMPOSED;
		return true;
	}
	for (int f = FORM_LOOPS; f < ARRAY_LEN(form_name); f++)
		if (str_eq(name, form_name[f])) {
			r->form = (enum form_printed)f;
			r->options.to_code = true;
			return true;
		}
	CHECK(n <= ARRAY_LEN(names));
	sb_init(&all);
	for (int i = 0; i < n; i++) {
		names[i] = i < nsteps ? compile_stage_name(i) : form_name[i - nsteps + 1];
		sb_printf(&all, "%s%s", i ? ", " : "", names[i]);
	}
	complain("--print-after: '%s' is not one of %s%s", name, all.s, guess_from(&g, name, names, sizeof names[0], n));
	sb_free(&all);
	return false;
}

static bool find_defect(const struct defect **out, const char *name)
{
	*out = defect_find(name);
	if (!*out)
		complain("--defect: there is no defect '%s' (docs/compiler.md lists them)%s", name,
			guess_from(&(struct guess){0}, name, &defects[0].name, sizeof defects[0], ndefects));
	return *out != NULL;
}

/* --target says which passes run and how far; --print-after may stop earlier. */
static bool read_options(struct request *r, const struct options *o)
{
	struct compile_options *out = &r->options;
	*out = (struct compile_options){.stage = compile_nstages() - 1};
	if (o->ntarget > 1 || (o->ntarget && !builtin_compile_options(out, &o->target[0]))) {
		complain("compile: --target is one stage of builtin that compiles, as in builtin:passes+freezing=1");
		return false;
	}
	out->validate = o->validate;
	if (o->defect && !find_defect(&out->defect, o->defect))
		return false;
	return !o->print_after || (find_stage(r, o->print_after) && step_runs(out, o->print_after));
}

int cmd_compile(const struct options *o)
{
	struct request r = {0};
	int rc = EXIT_VOID;
	if (!o->nfile) {
		complain("compile: no program given (try --help)");
		return EXIT_USAGE;
	}
	if (!read_options(&r, o))
		return EXIT_USAGE;
	for (int i = 0; i < o->nfile && !ferror(stdout); i++) {
		int one = load_programs(o->file[i], compile_one, &r);
		rc = exit_of_both(rc, one);
	}
	return rc == EXIT_CLEAN && r.missing ? EXIT_VOID : rc; /* what reads the text must not take it for all of them */
}
