/* runner.c: see runner.h. Homes are few: a ladder has one, a table of versions one per version; the one that waited longest makes room. */
#include "fuzz/triage/runner.h"

#include <stdlib.h>

#include "eager/base/interrupt.h"
#include "fuzz/triage/plain.h"

enum { MAX_HOMES = 3 };

struct home {
	struct target of;
	struct exec *e; /* NULL: free */
	int64_t used;
};
struct runner {
	struct exec_options o;
	struct home home[MAX_HOMES];
	int64_t clock;
	int calls;
};

struct runner *runner_new(const struct exec_options *o)
{
	struct runner *r = xmalloc(sizeof *r);
	*r = (struct runner){.o = *o};
	return r;
}

static void home_close(struct home *h)
{
	exec_close(h->e);
	h->e = NULL;
}

void runner_free(struct runner *r)
{
	for (int i = 0; r && i < MAX_HOMES; i++)
		home_close(&r->home[i]);
	free(r);
}

static struct home *home_find(const struct runner *r, const struct target *t)
{
	for (int i = 0; i < MAX_HOMES; i++)
		if (r->home[i].e && target_same_home(&r->home[i].of, t))
			return (struct home *)&r->home[i];
	return NULL;
}

static struct home *home_for(struct runner *r, const struct target *t)
{
	struct home *h = home_find(r, t);
	if (h)
		return h;
	h = &r->home[0];
	for (int i = 1; i < MAX_HOMES; i++)
		if (h->e && (!r->home[i].e || r->home[i].used < h->used))
			h = &r->home[i];
	home_close(h);
	return h;
}

enum exec_identity runner_start(struct runner *r, struct target *t, struct err *err)
{
	struct home *h = home_for(r, t);
	h->used = ++r->clock;
	if (h->e)
		return exec_identify(t, h->e, err);
	struct exec *e = exec_open(t, &r->o, err);
	enum exec_identity id = e ? exec_identify(t, e, err) : EXEC_BROKEN;
	if (id != EXEC_IDENTIFIED) {
		exec_close(e);
		return id;
	}
	h->e = e;
	h->of = *t; /* with its version: a later name without one is the default's */
	return id;
}

void runner_forget(struct runner *r, const struct target *t)
{
	struct home *h = home_find(r, t);
	if (h)
		home_close(h);
}

void runner_be_patient(struct runner *r, const struct target *t, bool patient)
{
	r->o.patient = patient;
	runner_forget(r, t);
}

int runner_calls(const struct runner *r) { return r->calls; }

void runner_versions(struct strbuf *versions, struct strbuf *device, const struct runner *r, const struct target *t)
{
	struct home *h = home_find(r, t);
	if (h)
		exec_versions(versions, device, h->e);
}

static void no_answer(struct ran *out, enum verdict v, const char *why)
{
	out->outcome = (struct outcome){
		.verdict = v, .why = why, .signature = "", .tensor = "", .pattern = "", .detail = "", .report = "", .suspicion = ""};
}

/* Would an answer mean anything? If not, why is said in *out. judged: only if it is one that the reference can judge. */
static bool worth_asking(struct ran *out, struct references *refs, const struct target *t, bool judged, struct arena *a)
{
	const struct prog *p = refs->p;
	if (p->must_raise)
		return true;
	const struct reference_of *ref = references_get(refs, t);
	if (!ref || (judged && ref->jc.status != REF_OK)) {
		no_answer(out, VD_UNJUDGED, ref ? ref->jc.message : "no licence is known for this target");
		return false;
	}
	const char *refused = target_has_own_plain(t) ? NULL : program_raises(p, t, a);
	if (refused)
		no_answer(out, VD_INVALID, refused);
	return !refused;
}

/* What our rules refuse is rarely worth a compile: the plain stage, which may refute them, comes first. */
static bool plain_refuses(struct ran *out, struct exec *e, const struct prog *p, const struct target *t, struct arena *a)
{
	const struct target plain = plain_of(t);
	if (p->must_raise || !target_must_run(t) || !target_has_own_plain(t) || !program_raises(p, t, a))
		return false;
	exec_run(&out->result, a, e, p, &plain);
	if (out->result.status == RES_RAISED)
		no_answer(out, VD_INVALID, out->result.message);
	return out->result.status == RES_RAISED;
}

static void run(struct ran *out, struct runner *r, const struct prog *p, const struct target *t, bool judged, struct arena *a)
{
	struct references refs;
	struct target named = *t;
	struct err err = {0};
	CHECK(t->version[0] || !target_has_versions(t));
	*out = (struct ran){0};
	references_in(&refs, p, a);
	if (!worth_asking(out, &refs, t, judged, a))
		return;
	if (runner_start(r, &named, &err) != EXEC_IDENTIFIED) {
		out->broken = true;
		no_answer(out, VD_HARNESS, arena_strdup(a, err.msg));
		return;
	}
	struct exec *e = home_find(r, &named)->e;
	if (plain_refuses(out, e, p, t, a))
		return;
	out->asked = true;
	r->calls++;
	exec_run(&out->result, a, e, p, t);
	out->broken = out->result.bad_target;
	outcome_with(&out->outcome, &refs, &out->result, t, NULL, a);
	if (plain_needed(&out->outcome, t)) {
		r->calls++;
		plain_ask(&out->outcome, e, p, &out->result, t, a);
	}
}

void runner_run(struct ran *out, struct runner *r, const struct prog *p, const struct target *t, struct arena *a)
{
	run(out, r, p, t, false, a);
}

void runner_judge(struct ran *out, struct runner *r, const struct prog *p, const struct target *t, struct arena *a)
{
	run(out, r, p, t, true, a);
}

void runner_ask(struct ran *out, struct runner *r, const struct prog *p, const struct target *t, const struct failure *f, struct arena *a)
{
	bool alone = false; /* the process has run nothing but p: the one before it died */
	for (int left = RUNNER_TRIES; left > 0 && (left == RUNNER_TRIES || !interrupt_asked()); left--) {
		run(out, r, p, t, !verdict_ends(f->verdict), a);
		if (!failure_is_erratic(f) || !out->asked || out->broken || (alone && failure_is(f, &out->outcome)))
			return;
		if (out->outcome.verdict == VD_CRASH && !alone) { /* perhaps of what others did: this run says nothing */
			alone = true;
			left++;
		}
	}
}
