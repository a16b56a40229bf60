/* ahead.c: see ahead.h. The programs are compiled to loops in the process that also starts the C compiler, so that a program that kills the
 * compiler takes down only the batch. The first one is compiled to loops here, too, to see whether its code is there: if that dies, it dies
 * of the program that runs now. */
#include "compiled/ahead.h"

enum { SHARE = 3 }; /* of the time that the program has: if it ends, the rest is enough for the program alone */

struct batch {
	const struct code_ahead *have;
	const struct compile_options *o;
	const char *const *text;
	int ntext;
	struct arena *arena;
	const struct loops *function[AHEAD_FUNCTIONS];
	int n;
	struct err *err;
};

static void add_call(struct batch *b, const struct prog *p, int call)
{
	struct prog bound;
	struct compiled c;
	struct err why = {0};
	bool planted;
	if (!prog_bind(&bound, p, call, b->arena, &why) || compile(&c, &bound, b->o, b->arena, &why) != COMPILE_OK)
		return;
	for (int i = 0; i < c.npart && b->n < AHEAD_FUNCTIONS; i++) {
		struct loops *l = ARENA_NEW(b->arena, struct loops, 1);
		if (code_loops(l, &planted, &c.part[i].p, &b->o->code, b->o->defect, b->arena, &why) && !code_is_ahead(b->have, l, &b->o->code))
			b->function[b->n++] = l;
	}
}

static void add_program(struct batch *b, const char *text)
{
	struct prog p;
	struct err why = {0};
	if (!prog_read(&p, b->arena, text, strlen(text), READ_STRICT, &why))
		return;
	for (int k = 0; k <= p.ncall; k++)
		add_call(b, &p, k);
}

static bool make_batch(void *ctx, const char *path)
{
	struct batch *b = ctx;
	b->n = 0;
	for (int i = 0; i < b->ntext; i++)
		add_program(b, b->text[i]);
	return code_build_all(path, b->function, b->n, &b->o->code, b->err);
}

bool compile_batch(const char *path, const char *const *text, int n, const struct compile_options *o, struct err *err)
{
	struct arena a;
	struct batch b = {.o = o, .text = text, .ntext = MIN(n, AHEAD_PROGRAMS), .arena = &a, .err = err};
	arena_init(&a);
	const bool ok = make_batch(&b, path);
	arena_free(&a);
	return ok;
}

void compile_ahead(struct code_ahead *h, const char *const *text, int n, const struct compile_options *o, int limit_ms)
{
	struct arena a;
	struct batch b = {.have = h, .o = o, .text = text, .ntext = MIN(n, AHEAD_PROGRAMS), .arena = &a};
	if (!code_can_be_ahead(&o->code))
		return;
	arena_init(&a);
	add_program(&b, text[0]);
	if (b.n > 0)
		code_make_ahead(h, make_batch, &b, &o->code, limit_ms / SHARE);
	arena_free(&a);
}
