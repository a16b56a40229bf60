/* finding.c: from an outcome to a finding, and both ways of its wire side by side. */
#include "fuzz/campaign/finding.h"

#include "fuzz/campaign/environment.h"
#include "fuzz/triage/plain.h"

void finding_judged(struct finding *f, const struct outcome *o, const struct target *t, const char *stderr_tail, struct arena *a)
{
	f->target = *t;
	f->verdict = o->verdict;
	f->kind = o->kind;
	f->severity = o->severity;
	f->call = o->call;
	f->signature = arena_strdup(a, o->signature);
	f->tensor = arena_strdup(a, o->tensor);
	f->detail = arena_strdup(a, o->detail);
	f->report = arena_strdup(a, o->report);
	f->stderr_tail = arena_strdup(a, stderr_tail);
}

static void set_ops(struct finding *f, const struct prog *p, struct arena *a)
{
	f->op = ARENA_NEW(a, const char *, p->nnode);
	f->nops = prog_ops(f->op, p->nnode, p);
}

void finding_read_ops(struct finding *f, struct arena *a)
{
	struct err err = {0};
	struct prog p;
	if (prog_read(&p, a, f->program, strlen(f->program), READ_STRICT, &err))
		set_ops(f, &p, a);
}

void finding_of(
	struct finding *out, const struct prog *p, const struct outcome *o, const struct target *t, const char *stderr_tail, struct arena *a)
{
	const struct target plain = plain_of(t);
	*out = (struct finding){.versions = "", .device = "", .program = prog_text(p, a), .policy = "", .how = ""};
	set_ops(out, p, a);
	finding_judged(out, o, o->unexpected ? &plain : t, stderr_tail, a);
	if (!o->unexpected)
		return;
	out->kind = FINDING_RAISE;
	out->severity = SEVERITY_NORMAL;
	out->call = -1;
	out->signature = verdict_reason(o, a);
	out->detail = arena_strdup(a, o->why);
	out->report = arena_printf(a, "%s\n%s", o->why, out->program);
}

const char *finding_target(const struct finding *f, struct arena *a) { return f->target.driver ? target_text(&f->target, a) : TOOL_TARGET; }
const char *finding_family(const struct finding *f) { return f->target.driver ? target_family(&f->target) : TOOL_TARGET; }

void finding_put(struct strbuf *sb, const struct finding *f)
{
	struct arena a;
	arena_init(&a);
	wire_put_str(sb, finding_target(f, &a));
	arena_free(&a);
	wire_put_u32(sb, (uint32_t)f->nops);
	for (int i = 0; i < f->nops; i++)
		wire_put_str(sb, f->op[i]);
#define TEXT(field) wire_put_str(sb, f->field);
	FINDING_TEXTS(TEXT)
#undef TEXT
	wire_put_u32(sb, (uint32_t)f->verdict);
	wire_put_u32(sb, (uint32_t)f->kind);
	wire_put_u32(sb, (uint32_t)f->severity);
	wire_put_u32(sb, (uint32_t)f->call);
	wire_put_u8(sb, f->confirmed);
	wire_put_i64(sb, f->index);
	wire_put_i64(sb, f->compiles);
	wire_put_f64(sb, f->found_ms);
	wire_put_f64(sb, f->confirm_ms);
}

void finding_get(struct finding *f, struct wire *w, struct arena *a)
{
	struct err err = {0};
	*f = (struct finding){0};
	w->bad |= !target_parse(&f->target, wire_str(w, a), &err);
	const uint32_t nops = wire_u32(w);
	w->bad |= nops > MAX_NODES;
	f->nops = w->bad ? 0 : (int)nops;
	f->op = ARENA_NEW(a, const char *, f->nops);
	for (int i = 0; i < f->nops; i++)
		f->op[i] = wire_str(w, a);
#define TEXT(field) f->field = wire_str(w, a);
	FINDING_TEXTS(TEXT)
#undef TEXT
	const uint32_t verdict = wire_u32(w), kind = wire_u32(w), severity = wire_u32(w);
	w->bad |= verdict >= NVERDICTS || kind >= NFINDING_KINDS || severity >= NSEVERITIES;
	f->verdict = w->bad ? VD_MISMATCH : (enum verdict)verdict;
	f->kind = w->bad ? FINDING_VALUE : (enum finding_kind)kind;
	f->severity = w->bad ? SEVERITY_NORMAL : (enum finding_severity)severity;
	f->call = (int)wire_u32(w);
	f->confirmed = wire_u8(w) != 0;
	f->index = wire_i64(w);
	f->compiles = wire_i64(w);
	f->found_ms = wire_f64(w);
	f->confirm_ms = wire_f64(w);
}
