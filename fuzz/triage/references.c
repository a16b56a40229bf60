/* references.c: a short list of references of one program, looked up by the facts that decide the enclosures. */
#include "fuzz/triage/references.h"

void references_in(struct references *r, const struct prog *p, struct arena *a) { *r = (struct references){.p = p, .arena = a}; }

void references_init(struct references *r, const struct prog *p)
{
	references_in(r, p, &r->own);
	arena_init(&r->own);
}

void references_free(struct references *r) { arena_free(&r->own); }

void references_drop(struct references *r)
{
	references_free(r);
	references_init(r, r->p);
}

const struct reference_of *references_get(struct references *r, const struct target *t)
{
	struct target_facts f;
	target_facts(&f, t);
	if (!f.known)
		return NULL;
	for (int i = 0; i < r->n; i++)
		if (target_semantics_same(&r->of[i]->semantics, &f.semantics) && target_arithmetic_same(&r->of[i]->arithmetic, &f.arithmetic))
			return r->of[i];
	if (r->arena == &r->own && r->own.used > REFERENCES_KEPT)
		references_drop(r);
	struct reference_of *one = ARENA_ZNEW(r->arena, struct reference_of, 1);
	one->semantics = f.semantics;
	one->arithmetic = f.arithmetic;
	licence_of(&one->profile, &f.semantics, &f.arithmetic);
	one->ok = judge_prepare(&one->jc, r->p, &one->profile, TAPE_LIMITS_DEFAULT, r->arena);
	if (r->n < MAX_REFERENCES)
		r->of[r->n++] = one;
	return one;
}
