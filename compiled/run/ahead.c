/* ahead.c: see ahead.h. The programs are compiled to loops in the process that also starts the C compiler, so that a program that kills the
 * compiler takes down only the batch. The first one is compiled to loops here, too, to see whether its code is there: if that dies, it dies
 * of the program that runs now. */
#include "compiled/run/ahead.h"

#include "compiled/symbols/dynamic.h"

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

static void add_function(struct batch *b, const struct loops *l)
{
	if (b->n < AHEAD_FUNCTIONS && !code_is_ahead(b->have, l, &b->o->code))
		b->function[b->n++] = l;
}

static void add_call(struct batch *b, const struct prog *p, int call)
{
	struct prog bound;
	struct compiled c;
	struct err why = {0};
	bool planted;
	if (!prog_bind(&bound, p, call, b->arena, &why) || compile(&c, &bound, b->o, b->arena, &why) != COMPILE_OK)
		return;
	for (int i = 0; i < c.npart; i++) {
		struct loops *l = ARENA_NEW(b->arena, struct loops, 1);
		if (code_loops(l, &planted, &c.part[i].p, &b->o->code, b->o->defect, b->arena, &why))
			add_function(b, l);
	}
}

/* What is compiled for any size; NULL: nothing is. */
static const struct dynamic *add_dynamic(struct batch *b, const struct prog *p)
{
	struct prog bound;
	struct dynamic *d = NULL;
	struct dynamic_made made;
	struct err why = {0};
	if (!prog_bind(&bound, p, 0, b->arena, &why) || dynamic_compile(&d, &made, &bound, b->o, b->arena, &why) != COMPILE_OK || !d)
		return NULL;
	add_function(b, dynamic_loops(d));
	return d;
}

static bool serves(const struct dynamic *d, const struct prog *p, int call, struct arena *a)
{
	struct prog bound;
	struct err why = {0};
	return prog_bind(&bound, p, call, a, &why) && dynamic_serves(d, &bound, &why);
}

static void add_program(struct batch *b, const char *text)
{
	struct prog p;
	struct err why = {0};
	if (!prog_read(&p, b->arena, text, strlen(text), READ_STRICT, &why))
		return;
	const struct dynamic *d = b->o->code.dynamic ? add_dynamic(b, &p) : NULL;
	for (int k = 0; k <= p.ncall; k++)
		if (!d || !serves(d, &p, k, b->arena))
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
