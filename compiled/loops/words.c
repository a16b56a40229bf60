/* words.c: see words.h. */
#include "compiled/loops/words.h"

static void fixed(struct words *w, int64_t v) { w->word(w, WORD_FIXED, &v, NULL); }
static void number(struct words *w, int64_t *v, int *of) { w->word(w, WORD_NUMBER, v, of); }

static void float_word(struct words *w, double *v)
{
	int64_t bits;
	memcpy(&bits, v, sizeof bits);
	w->word(w, WORD_F64, &bits, NULL);
	if (w->changes)
		memcpy(v, &bits, sizeof bits);
}

/* ---- programs ---- */

static void words_of_list(struct words *w, struct arg *a, struct arena *arena)
{
	if (w->changes) {
		struct iexpr *own = ARENA_NEW(arena, struct iexpr, MAX(a->n, 1));
		memcpy(own, a->ints, (size_t)a->n * sizeof *own);
		a->ints = own;
	}
	fixed(w, a->n);
	for (int i = 0; i < a->n; i++)
		number(w, &a->ints[i].value, NULL);
}

static void words_of_number(struct words *w, struct scalar *s)
{
	fixed(w, (int64_t)s->kind);
	if (s->kind == SC_FLOAT)
		float_word(w, &s->f);
	else
		number(w, &s->i, NULL);
}

static void words_of_text(struct words *w, const char *s)
{
	const struct hash128 h = hash_bytes(s, strlen(s));
	fixed(w, (int64_t)get_le(h.b, 8));
}

static void words_of_arg(struct words *w, struct arg *a, struct arena *arena)
{
	fixed(w, (int64_t)a->tag);
	switch (a->tag) {
	case ARG_NONE: return;
	case ARG_TENSOR: fixed(w, a->node); return;
	case ARG_TENSORS:
		fixed(w, a->n);
		for (int i = 0; i < a->n; i++)
			fixed(w, a->nodes[i]);
		return;
	case ARG_INT: number(w, &a->i.value, NULL); return;
	case ARG_INTS: words_of_list(w, a, arena); return;
	case ARG_SCALAR: words_of_number(w, &a->scalar); return;
	case ARG_BOOL: fixed(w, a->b); return;
	case ARG_DTYPE: fixed(w, (int64_t)a->dtype); return;
	case ARG_FORMAT: fixed(w, (int64_t)a->format); return;
	case ARG_BOOLS:
		fixed(w, a->n);
		for (int i = 0; i < a->n; i++)
			fixed(w, a->bools[i]);
		return;
	case ARG_STR: words_of_text(w, a->str); return;
	case ARG_DATA: fixed(w, a->n); return; /* each call has its own */
	}
}

static void words_of_value(struct words *w, struct value *v, bool first)
{
	fixed(w, (int64_t)v->meta.dtype);
	fixed(w, (int64_t)v->meta.device);
	fixed(w, v->meta.rank);
	fixed(w, v->storage);
	for (int d = 0; d < v->meta.rank; d++) {
		w->at = first ? d : -1;
		w->what = WORD_SIZE;
		number(w, &v->meta.size[d], NULL);
		w->what = WORD_STRIDE;
		number(w, &v->meta.stride[d], NULL);
	}
	w->at = first ? 0 : -1;
	w->what = WORD_OFFSET;
	number(w, &v->meta.offset, NULL);
}

static void words_of_node(struct words *w, struct node *n, struct arena *arena)
{
	w->what = WORD_OTHER;
	fixed(w, n->op);
	fixed(w, n->nout);
	fixed(w, n->refusal != NULL);
	number(w, &n->sym_value, NULL);
	for (int k = 0; k < op_info[n->op].nparam; k++) {
		w->what = WORD_ARG;
		w->at = k;
		words_of_arg(w, &n->arg[k], arena);
	}
	if (w->changes && n->nout) {
		struct value *own = ARENA_NEW(arena, struct value, n->nout);
		memcpy(own, n->out, (size_t)n->nout * sizeof *own);
		n->out = own;
	}
	for (int k = 0; k < n->nout; k++)
		words_of_value(w, &n->out[k], k == 0);
}

void words_of_program(struct words *w, struct prog *p)
{
	w->node = -1;
	w->what = WORD_OTHER;
	fixed(w, p->nnode);
	fixed(w, p->nstorage);
	fixed(w, p->nret);
	fixed(w, p->has_backward ? p->nback : -1);
	for (int i = 0; i < p->nret; i++)
		fixed(w, p->ret[i]);
	for (int i = 0; p->has_backward && i < p->nback; i++) {
		fixed(w, p->back[i].node);
		fixed(w, p->back[i].cotangent);
	}
	for (w->node = 0; w->node < p->nnode; w->node++)
		words_of_node(w, &p->node[w->node], p->arena);
}

/* ---- loops ---- */

static void words_of_place(struct words *w, struct place *p)
{
	fixed(w, p->buffer);
	fixed(w, (int64_t)p->meta.dtype);
	fixed(w, p->meta.rank);
	for (int d = 0; d < p->meta.rank; d++) {
		number(w, &p->meta.size[d], &p->of.size[d]);
		number(w, &p->meta.stride[d], &p->of.stride[d]);
	}
	number(w, &p->meta.offset, &p->of.offset);
}

static void words_of_places(struct words *w, struct place **p, int n, struct arena *arena)
{
	fixed(w, n);
	if (w->changes) {
		struct place *own = ARENA_NEW(arena, struct place, MAX(n, 1));
		if (n)
			memcpy(own, *p, (size_t)n * sizeof *own);
		*p = own;
	}
	for (int i = 0; i < n; i++)
		words_of_place(w, &(*p)[i]);
}

static void words_of_index(struct words *w, struct loop_ins *i, struct arena *arena)
{
	struct affine at = *i->at;
	fixed(w, at.n);
	number(w, &at.base, &at.base_of);
	for (int k = 0; k < at.n; k++) {
		fixed(w, at.term[k].reg);
		number(w, &at.term[k].times, &at.term[k].times_of);
	}
	if (!w->changes)
		return;
	struct affine *own = ARENA_NEW(arena, struct affine, 1);
	*own = at;
	i->at = own;
}

static void words_of_call(struct words *w, struct loop_ins *i, struct arena *arena)
{
	struct loop_call call = *i->call;
	fixed(w, call.node);
	words_of_places(w, &call.in, call.nin, arena);
	words_of_places(w, &call.out, call.nout, arena);
	if (!w->changes)
		return;
	struct loop_call *own = ARENA_NEW(arena, struct loop_call, 1);
	*own = call;
	i->call = own;
}

static void words_of_const(struct words *w, struct loop_ins *i)
{
	int64_t bits = i->value.i64;
	uint32_t narrow;
	if (i->type != REG_F32) {
		const enum word_what what = w->what;
		w->what = i->type == REG_BITS ? WORD_OTHER : what; /* an element, which no size is compared with */
		w->word(w, i->type == REG_F64 ? WORD_F64 : WORD_NUMBER, &bits, &i->number_of);
		w->what = what;
		i->value.i64 = w->changes ? bits : i->value.i64;
		return;
	}
	memcpy(&narrow, &i->value.f32, sizeof narrow);
	bits = (int64_t)narrow;
	w->word(w, WORD_F32, &bits, &i->number_of);
	narrow = (uint32_t)bits;
	if (w->changes)
		memcpy(&i->value.f32, &narrow, sizeof narrow);
}

static void words_of_ins(struct words *w, struct loop_ins *i, struct arena *arena)
{
	const int64_t all[] = {(int64_t)i->op, (int64_t)i->type, i->dst, i->a, i->b, i->c, i->scalar[0], i->scalar[1], i->scalar[2],
		i->scalar[3], i->buffer, i->row, (int64_t)i->dtype, (int64_t)i->from, i->imm2, i->negative, i->parallel, i->summed, i->match};
	for (int k = 0; k < ARRAY_LEN(all); k++)
		fixed(w, all[k]);
	if (i->op == LOOP_CONST)
		words_of_const(w, i);
	else
		number(w, &i->imm, &i->number_of);
	if (i->at)
		words_of_index(w, i, arena);
	if (i->call)
		words_of_call(w, i, arena);
}

void words_of_loops(struct words *w, struct loops *l)
{
	w->node = -1;
	w->what = WORD_LOOPS;
	fixed(w, l->nbuffer);
	fixed(w, l->nins);
	fixed(w, l->nreg);
	for (int b = 0; b < l->nbuffer; b++) {
		fixed(w, (int64_t)l->buffer[b].dtype);
		fixed(w, l->buffer[b].input);
		number(w, &l->buffer[b].ncells, &l->buffer[b].ncells_of);
	}
	for (int r = 0; r < l->nreg; r++)
		fixed(w, (int64_t)l->reg[r]);
	for (int i = 0; i < l->nins; i++)
		words_of_ins(w, &l->ins[i], l->arena);
	words_of_places(w, &l->ret, l->nret, l->arena);
}
