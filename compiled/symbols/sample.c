/* sample.c: see sample.h. */
#include "compiled/symbols/sample.h"

#include "generated/op_id.h"

bool sampled_of(struct sampled *out, const struct prog *bound, const struct compile_options *o, struct err *err)
{
	*out = (struct sampled){.bound = bound, .o = o};
	for (int i = 0; i < bound->nnode; i++) {
		if (bound->node[i].op != OP_sym)
			continue;
		if (out->nsymbol == MAX_POLY_SYMBOLS)
			return err_set(err, "more than %d symbols", (int)MAX_POLY_SYMBOLS);
		out->symbol[out->nsymbol++] = i;
	}
	return true;
}

enum compile_status sample_compile(
	struct compilation_of *out, const struct prog *bound, const struct compile_options *o, bool whole, struct arena *a, struct err *err)
{
	struct compile_options own = *o;
	*out = (struct compilation_of){.source = *bound};
	if (!whole) {
		own.validate = false;
		own.done = NULL;
	}
	loops_init(&out->l, a);
	const enum compile_status status = compile(&out->c, bound, &own, a, err);
	out->planted = out->c.planted;
	if (status != COMPILE_OK || !own.to_code)
		return status;
	bool planted;
	if (!code_lower(&out->l, &planted, &out->c.part[0].p, &own.code, own.defect, a, err))
		return COMPILE_REFUSED;
	out->planted |= planted;
	return COMPILE_OK;
}

void sample_walk(struct words *w, struct compilation_of *c)
{
	int64_t flag = c->c.nout;
	words_of_program(w, &c->source);
	words_of_program(w, &c->c.part[0].p);
	w->what = WORD_OTHER;
	w->word(w, WORD_FIXED, &flag, NULL);
	for (int i = 0; i < c->c.ngrad; i++) {
		flag = c->c.grad[i];
		w->word(w, WORD_FIXED, &flag, NULL);
	}
	words_of_loops(w, &c->l);
}

struct collected {
	struct sample *s;
	struct arena *arena;
	int cap;
};

static void collect(struct words *w, enum word_kind kind, int64_t *value, int *of)
{
	struct collected *c = w->ctx;
	(void)of;
	if (c->s->n == c->cap) {
		const int cap = MAX(1024, 2 * c->cap);
		c->s->word = ARENA_GROW(c->arena, int64_t, c->s->word, c->cap, cap);
		c->s->kind = ARENA_GROW(c->arena, unsigned char, c->s->kind, c->cap, cap);
		c->cap = cap;
	}
	c->s->kind[c->s->n] = (unsigned char)kind;
	c->s->word[c->s->n++] = *value;
}

void sample_of(struct sample *out, struct compilation_of *c, const int64_t *value, struct arena *a)
{
	struct collected all = {.s = out, .arena = a};
	struct words w = {.word = collect, .ctx = &all};
	*out = (struct sample){.compiled = true};
	memcpy(out->value, value, sizeof out->value);
	sample_walk(&w, c);
}

void sample_take(struct sample *out, const struct sampled *of, const int64_t *value, struct arena *a)
{
	struct arena own;
	struct prog bound;
	struct err why = {0};
	struct compilation_of c;
	*out = (struct sample){.compiled = false};
	memcpy(out->value, value, sizeof out->value);
	arena_init(&own);
	prog_clone(&bound, of->bound, &own);
	for (int s = 0; s < of->nsymbol; s++) {
		struct node *n = &bound.node[of->symbol[s]];
		n->sym_value = value[s];
		n->arg[0] = arg_int(value[s]);
	}
	if (prog_rebind(&bound, &why) && sample_compile(&c, &bound, of->o, false, &own, &why) == COMPILE_OK)
		sample_of(out, &c, value, a);
	arena_free(&own);
}

bool sample_alike(const struct sample *a, const struct sample *b)
{
	bool alike = a->compiled && b->compiled && a->n == b->n && memcmp(a->kind, b->kind, (size_t)a->n) == 0;
	for (int k = 0; alike && k < a->n; k++)
		alike = a->kind[k] != WORD_FIXED || a->word[k] == b->word[k];
	return alike;
}
