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
#include "fuzz/ask/option_values.h"
#include "fuzz/cli/commands.h"
#include "generated/op_id.h"

/* What is printed: the program after a step, its loops, or their text for a processor or a GPU. */

struct request {
	struct compile_options options;
	enum form_printed form;
	const char *part; /* the one that is printed; NULL: all */
	bool missing;     /* a program was not compiled */
};

/* Gradients are returned behind the outputs, or by the backward part: which is whose. */
static void put_gradients(struct strbuf *sb, const struct compiled *c, int part, const struct prog *source)
{
	const struct prog *p = &c->part[part].p;
	int next = part == 0 ? c->nout : 0, g = 0;
	for (int i = 0; i < source->nnode && g < c->ngrad; i++)
		if (node_requires_grad(&source->node[i]))
			sb_printf(
				sb, "# gradient of %s: %s\n", source->node[i].name, c->grad[g++] && next < p->nret ? p->node[p->ret[next++]].name : "None");
}

/* Saved values are returned behind the outputs: which input of the backward part each is, and where its other inputs come from. */
static void put_saved(struct strbuf *sb, const struct compiled *c, int part)
{
	const struct prog *forward = &c->part[0].p, *backward = &c->part[1].p;
	for (int i = 0; i < backward->nnode; i++) {
		const struct node *n = &backward->node[i];
		const struct part_input *from = n->op == OP_input ? &c->part[1].input[n->out[0].storage] : NULL;
		if (!from || (part == 0 && from->from != FROM_FORWARD))
			continue;
		if (from->from == FROM_FORWARD)
			sb_printf(sb, "# saved as %s: %s%s\n", n->name, forward->node[forward->ret[c->nout + from->index]].name,
				from->donated ? ", donated" : "");
		else
			sb_printf(sb, "# %s: %s\n", from->from == FROM_SOURCE ? "input" : "cotangent", n->name);
	}
}

static void put_results(struct strbuf *sb, const struct compiled *c, int part, const struct prog *source)
{
	if (c->npart == MAX_PARTS)
		put_saved(sb, c, part);
	if (part == c->npart - 1)
		put_gradients(sb, c, part, source);
}

/* As a program of its own: the header line first, then where it is from, then notes. what: the step after which it stands so. */
static void print_stage(const struct part *part, const char *name, const char *what, const char *steps, const char *notes)
{
	struct strbuf sb;
	sb_init(&sb);
	prog_print(&sb, &part->p);
	size_t header = strcspn(sb.s, "\n");
	printf("%.*s\n# %s of %s%s%s\n%s%s%s", (int)header, sb.s, what, name, part->name ? ", part " : "", part->name ? part->name : "", steps,
		notes, sb.s + header + 1);
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
	loops_emit_cuda(sb, &(struct cuda_text){.l = l, .kernel = k, .nkernel = n, .name = "p"}, 1);
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

/* What it was compiled to. */
struct product {
	struct compiled c;
	struct dynamic *d; /* NULL: it is of one size */
	bool planted;
};

/* *l: behind all steps. False: err. */
static bool loops_of(struct loops *l, bool *planted, const struct product *made, const struct part *part, const struct request *r,
	struct arena *a, struct err *err)
{
	*planted = made->planted;
	if (made->d) {
		loops_clone(l, dynamic_loops(made->d), a);
		return true;
	}
	bool own;
	const bool ok = code_loops(l, &own, &part->p, &r->options.code, r->options.defect, a, err);
	*planted |= own;
	return ok;
}

/* The loops of a part, or the text of these. */
static bool print_loops(const struct product *made, const struct part *part, const char *name, const struct request *r, const char *steps,
	struct strbuf *notes, struct arena *a, struct err *err)
{
	struct loops l;
	struct strbuf sb;
	bool planted;
	const bool own_notes = r->form == FORM_LOOPS;
	if (!loops_of(&l, &planted, made, part, r, a, err))
		return false;
	tell_planted(notes, r->options.defect, planted);
	sb_init(&sb);
	const bool ok = put_form(&sb, r->form, &l, a, err);
	const size_t header = own_notes ? strcspn(sb.s, "\n") + 1 : 0;
	if (ok)
		printf(own_notes ? "%.*s# of %s%s%s\n%s%s%s" : "%.*s/* of %s%s%s\n%s%s*/\n%s", (int)header, sb.s, name, part->name ? ", part " : "",
			part->name ? part->name : "", steps, notes->s, sb.s + header);
	sb_free(&sb);
	return ok;
}

static void step_holds(void *ctx, const char *step, const char *part, const struct prog *p)
{
	sb_printf(ctx, "# ok %s%s%s: %d rows\n", step, part ? " of " : "", part ? part : "", p->nnode);
}

/* False: err. */
static bool print_parts(
	const struct product *made, const char *name, const struct request *r, const char *steps, const struct prog *bound, struct err *err)
{
	const struct compiled *c = &made->c;
	bool ok = true, any = false;
	if (r->part && c->npart == 1)
		return err_set(err, "it has no %s part: no gradient is asked for, or the target leaves partition out", r->part);
	for (int i = 0; ok && i < c->npart; i++) {
		const struct part *part = &c->part[i];
		struct strbuf notes;
		struct arena a;
		if (r->part && !str_eq(part->name, r->part))
			continue;
		arena_init(&a);
		sb_init(&notes);
		put_results(&notes, c, i, bound);
		if (r->form != FORM_PROGRAM)
			ok = print_loops(made, part, name, r, any ? "" : steps, &notes, &a, err);
		else
			print_stage(part, name, compile_stage_name(r->options.stage), any ? "" : steps, notes.s);
		any = true;
		sb_free(&notes);
		arena_free(&a);
	}
	return ok;
}

/* Of a program compiled for any size (+dynamic=1): which calls it serves. False: an invariant is broken (err). */
static bool tell_calls(struct strbuf *steps, const struct prog *p, const struct dynamic *d, const struct err *why, struct arena *a,
	bool validate, struct err *err)
{
	for (int k = 0; k <= p->ncall; k++) {
		struct prog bound;
		struct result_violation violation;
		struct err no = {0};
		if (!d)
			sb_printf(steps, "# call %d: specialised: %s\n", k, why->msg);
		else if (!prog_bind(&bound, p, k, a, &no) || !dynamic_serves(d, &bound, &no))
			sb_printf(steps, "# call %d: specialised: %s\n", k, no.msg);
		else if (!dynamic_fits(d, &bound, &no))
			sb_printf(steps, "# call %d: specialised when the data are known: %s\n", k, no.msg);
		else if (validate && !dynamic_validate(&violation, d, &bound, a, &no))
			return err_set(err, "%s, in call %d", no.msg, k);
		else
			sb_printf(steps, "# call %d: compiled once%s\n", k, validate ? "; I6 and I6b hold" : "");
	}
	return true;
}

/* made->d, if the target asks for it and the program has sizes that it can be made for. */
static enum compile_status compile_any_size(struct product *made, const struct prog *p, const struct prog *bound,
	const struct compile_options *o, struct strbuf *steps, struct arena *a, struct err *err)
{
	struct dynamic_made dynamic;
	struct err why = {0};
	const enum compile_status status = dynamic_compile(&made->d, &dynamic, bound, o, a, &why);
	if (status != COMPILE_OK) {
		err_set(err, "%s", why.msg);
		return status;
	}
	if (!tell_calls(steps, p, made->d, &why, a, o->validate, err))
		return COMPILE_BROKEN;
	if (made->d) {
		made->c = *dynamic_compiled(made->d);
		made->planted = dynamic.planted;
	}
	return COMPILE_OK;
}

static enum compile_status compile_program(struct product *made, const struct prog *p, const struct prog *bound,
	const struct compile_options *o, struct strbuf *steps, struct arena *a, struct err *err)
{
	struct compile_options own = *o;
	*made = (struct product){.d = NULL};
	if (o->code.dynamic && o->stage >= STAGE_FIRST_PASS) {
		const enum compile_status status = compile_any_size(made, p, bound, o, steps, a, err);
		if (status != COMPILE_OK || made->d)
			return status;
		own.done = NULL; /* it has told of each step */
	}
	const enum compile_status status = compile(&made->c, bound, &own, a, err);
	made->planted = made->c.planted;
	return status;
}

static int compile_one(void *ctx, const char *name, const struct prog *p)
{
	static const char *const why[] = {[COMPILE_RAISES] = "eager refuses it: ", [COMPILE_REFUSED] = "unsupported: ", [COMPILE_BROKEN] = ""};
	struct request *request = ctx;
	struct compile_options o = request->options;
	struct arena a;
	struct prog bound;
	struct product made;
	struct err err = {0};
	struct strbuf steps;
	enum compile_status status = COMPILE_REFUSED;
	arena_init(&a);
	sb_init(&steps);
	name = escaped_line(&a, name);
	o.done = o.validate ? step_holds : NULL;
	o.ctx = &steps;
	if (request->form == FORM_READ) {
		print_stage(&(struct part){.p = *p}, name, form_name[FORM_READ], "", "");
		status = COMPILE_OK;
	} else if (prog_bind(&bound, p, 0, &a, &err)) {
		status = compile_program(&made, p, &bound, &o, &steps, &a, &err);
		if (request->form == FORM_PROGRAM)
			tell_planted(&steps, o.defect, made.planted);
	}
	const bool compiled = status == COMPILE_OK && request->form != FORM_READ;
	if (compiled && !made.d)
		compile_give(&made.c, &bound, &a);
	if (compiled && !print_parts(&made, name, request, steps.s, &bound, &err))
		status = COMPILE_REFUSED;
	if (status != COMPILE_OK)
		complain("%s: %s%s", name, why[status], err.msg);
	request->missing |= status == COMPILE_RAISES || status == COMPILE_REFUSED;
	sb_free(&steps);
	arena_free(&a);
	return status == COMPILE_OK ? EXIT_CLEAN : status == COMPILE_BROKEN ? EXIT_FINDINGS : EXIT_VOID;
}

/* Nothing stands after a step that does not run. */
static bool runs_step(const struct compile_options *o, const char *name)
{
	const int pass = str_eq(name, compile_steps[STEP_reinplace].name) ? npasses : pass_find(name);
	const bool frozen = pass >= 0 && pass < npasses && passes[pass].freezing && !o->freezing;
	if (pass >= 0 && o->off & 1u << pass)
		complain("--print-after: the target leaves '%s' out", name);
	else if (frozen)
		complain("--print-after: '%s' runs only with --target builtin:passes+freezing=1", name);
	return pass < 0 || (!(o->off & 1u << pass) && !frozen);
}

/* Texts for a GPU are as they run there. */
static void print_form(struct request *r, enum form_printed form)
{
	struct code_options *code = &r->options.code;
	r->form = form;
	r->options.to_code = true;
	if ((form == FORM_CUDA || form == FORM_PTX) && code->engine != CODE_CUDA) {
		code->engine = CODE_CUDA;
		code->schedule = code->reorder = true;
	}
}

static bool find_stage(struct request *r, const char *name)
{
	const char *names[64];
	struct strbuf all;
	struct guess g = {0};
	int n = 0;
	if (compile_stage_find(&r->options.stage, name)) {
		r->options.to_code |= r->options.stage == STEP_expand;
		r->options.decompose |= r->options.stage == STAGE_DECOMPOSED;
		r->options.partition |= r->options.stage == STAGE_PARTITIONED;
		return true;
	}
	for (int f = FORM_LOOPS; f < NFORMS; f++)
		if (str_eq(name, form_name[f])) {
			print_form(r, (enum form_printed)f);
			return true;
		}
	CHECK(compile_nstages() + NFORMS <= ARRAY_LEN(names));
	for (int i = 0; i < compile_nstages(); i++)
		if (print_after_stage(i))
			names[n++] = compile_stage_name(i);
	for (int f = FORM_LOOPS; f < NFORMS; f++)
		names[n++] = form_name[f];
	sb_init(&all);
	for (int i = 0; i < n; i++)
		sb_printf(&all, "%s%s", i ? ", " : "", names[i]);
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
	r->part = o->part;
	if (o->part && !str_eq(o->part, "forward") && !str_eq(o->part, "backward")) {
		complain("--part: '%s' is neither forward nor backward", o->part);
		return false;
	}
	if (o->defect && !find_defect(&out->defect, o->defect))
		return false;
	return !o->print_after || (find_stage(r, o->print_after) && runs_step(out, o->print_after));
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
