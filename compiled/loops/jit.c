/* jit.c: see jit.h. */
#include "compiled/loops/jit.h"

#include <libtcc.h>
#include <stdlib.h>

#include "compiled/loops/emit_c.h"

struct jit {
	TCCState *tcc;
	bool (*run)(void *frame, unsigned char *const *b, const int64_t *s);
};

static void first_message(void *ctx, const char *message)
{
	struct err *err = ctx;
	if (!err->msg[0])
		err_set(err, "generated code: %s", message);
}

static bool compiled(struct jit *j, const char *text)
{
	void *run;
	tcc_set_options(j->tcc, "-nostdlib -w");
	if (tcc_set_output_type(j->tcc, TCC_OUTPUT_MEMORY) != 0 || tcc_compile_string(j->tcc, text) != 0)
		return false;
	for (const struct loop_symbol *s = loop_symbols; s->name; s++)
		tcc_add_symbol(j->tcc, s->name, s->address);
	if (tcc_relocate(j->tcc, TCC_RELOCATE_AUTO) != 0)
		return false;
	run = tcc_get_symbol(j->tcc, "run");
	memcpy(&j->run, &run, sizeof run); /* a function's address that comes as data */
	return run != NULL;
}

struct jit *jit_open(const struct loops *l, struct err *err)
{
	struct strbuf text;
	struct jit *j = xmalloc(sizeof *j);
	sb_init(&text);
	loops_emit_c(&text, l, false);
	j->tcc = tcc_new();
	tcc_set_error_func(j->tcc, err, first_message);
	const bool ok = compiled(j, text.s);
	sb_free(&text);
	if (ok)
		return j;
	err_set(err, "generated code: libtcc does not take it");
	jit_close(j);
	return NULL;
}

void jit_close(struct jit *j)
{
	if (j)
		tcc_delete(j->tcc);
	free(j);
}

bool jit_run(struct loop_frame *f, void *jit) { return ((struct jit *)jit)->run(f, f->data, f->symbol); }
