/* check_json.c: see check_json.h. Numbers that JSON lacks (inf, nan) are strings. */
#include "fuzz/cli/check_json.h"

#include <inttypes.h>

#include "compiled/targets/driver.h"
#include "eager/base/json.h"
#include "fuzz/triage/tensor_name.h"

static void put_text(struct strbuf *sb, const char *key, const char *value)
{
	json_key(sb, key);
	json_str(sb, value);
}

static void put_int(struct strbuf *sb, const char *key, int64_t v)
{
	json_key(sb, key);
	sb_printf(sb, "%" PRId64, v);
}

static void put_real(struct strbuf *sb, const char *key, double v)
{
	json_key(sb, key);
	json_real(sb, v);
}

static void put_elements(struct strbuf *sb, const char *key, const struct element_counts *e)
{
	json_key(sb, key);
	sb_puts(sb, "{");
	put_int(sb, "exact", e->exact);
	put_int(sb, "enclosed", e->agree);
	put_int(sb, "weak", e->weak);
	put_int(sb, "suspect", e->suspect);
	put_int(sb, "undecided", e->undecided);
	put_int(sb, "disagree", e->disagree);
	sb_puts(sb, "}");
}

static bool has_elements(const struct element_counts *e)
{
	return e->exact || e->agree || e->weak || e->suspect || e->undecided || e->disagree;
}

static void put_counts(struct strbuf *sb, const struct outcome *o, const struct target_driver *d)
{
	put_elements(sb, "elements", &o->all);
	json_key(sb, "by_fill");
	sb_puts(sb, "{");
	for (int k = 0; k < NFILL_CLASSES; k++)
		if (has_elements(&o->by_fill[k]))
			put_elements(sb, fill_class_name[k], &o->by_fill[k]);
	sb_puts(sb, "}");
	json_key(sb, "freedoms");
	sb_puts(sb, "[");
	for (int i = 0, n = 0; i < d->nfreedoms; i++)
		if (o->freedoms & d->freedom[i].bit) {
			sb_puts(sb, n++ ? ", " : "");
			json_str(sb, d->freedom[i].reason);
		}
	sb_puts(sb, "]");
}

static void put_predicted(struct strbuf *sb, const struct result *r)
{
	json_key(sb, "predicted_meta");
	sb_puts(sb, "[");
	for (int i = 0; i < r->nmismatch; i++) {
		sb_puts(sb, i ? ", {" : "{");
		put_text(sb, "op", r->mismatch[i].op);
		put_int(sb, "rank", r->mismatch[i].rank);
		json_key(sb, "backward");
		sb_puts(sb, r->mismatch[i].backward ? "true" : "false");
		put_text(sb, "detail", r->mismatch[i].detail);
		sb_puts(sb, "}");
	}
	sb_puts(sb, "]");
}

/* The element's place: index in row-major order, and per dimension where the tensor has some. */
static void put_place(struct strbuf *sb, int64_t index, const struct meta *m)
{
	put_int(sb, "index", index);
	if (!m || !m->rank || !meta_numel(m))
		return;
	int64_t at[MAX_RANK];
	for (int d = m->rank - 1; d >= 0; d--) {
		at[d] = index % m->size[d];
		index /= m->size[d];
	}
	json_key(sb, "at");
	for (int d = 0; d < m->rank; d++)
		sb_printf(sb, "%s%" PRId64, d ? ", " : "[", at[d]);
	sb_puts(sb, "]");
}

static void put_sample(struct strbuf *sb, const struct sample *s, const struct meta *m)
{
	sb_puts(sb, "{");
	put_place(sb, s->index, m);
	json_key(sb, "expected");
	sb_puts(sb, "[");
	json_real(sb, s->low);
	sb_puts(sb, ", ");
	json_real(sb, s->high);
	sb_puts(sb, "]");
	put_real(sb, "got", s->got);
	sb_puts(sb, "}");
}

static void put_tensor(struct strbuf *sb, const struct prog *p, const struct tensor_verdict *v)
{
	struct tensor_name name;
	struct strbuf text;
	sb_init(&text);
	tensor_name_of(&name, p, v->role, v->index);
	tensor_name_print(&text, &name);
	put_int(sb, "call", v->call);
	put_text(sb, "tensor", text.s);
	put_int(sb, "elements", v->cmp.n);
	sb_free(&text);
}

static void put_wrong(struct strbuf *sb, const struct prog *p, const struct tensor_verdict *v)
{
	sb_puts(sb, "{");
	put_tensor(sb, p, v);
	json_key(sb, "kinds");
	sb_puts(sb, "[");
	for (int k = 0, n = 0; k < NMISMATCH; k++)
		if (v->kinds >> k & 1) {
			sb_puts(sb, n++ ? ", " : "");
			json_str(sb, mismatch_name[k]);
		}
	sb_puts(sb, "]");
	put_int(sb, "wrong", v->cmp.count[EL_DISAGREE]);
	put_int(sb, "undecided", v->cmp.count[EL_UNDECIDED]);
	put_text(sb, "pattern", pattern_name[v->cmp.pattern]);
	if (v->cmp.pattern == PAT_SCALED)
		put_real(sb, "ratio", v->cmp.ratio);
	if (v->cmp.pattern == PAT_SHIFTED)
		put_int(sb, "shift", v->cmp.shift);
	put_text(sb, "detail", v->detail);
	json_key(sb, "samples");
	sb_puts(sb, "[");
	for (int k = 0; k < v->cmp.nsample; k++) {
		sb_puts(sb, k ? ", " : "");
		put_sample(sb, &v->cmp.sample[k], v->shape);
	}
	sb_puts(sb, "]}");
}

static void put_tensors(struct strbuf *sb, const struct prog *p, const struct judgement *j)
{
	int n = 0;
	json_key(sb, "wrong");
	sb_puts(sb, "[");
	for (int i = 0; j && i < j->ntensor; i++)
		if (j->tensor[i].kinds) {
			sb_puts(sb, n++ ? ", " : "");
			put_wrong(sb, p, &j->tensor[i]);
		}
	sb_puts(sb, "]");
}

static void put_suspects(struct strbuf *sb, const struct prog *p, const struct judgement *j)
{
	int n = 0;
	json_key(sb, "suspects");
	sb_puts(sb, "[");
	for (int i = 0; j && i < j->ntensor; i++) {
		const struct tensor_verdict *v = &j->tensor[i];
		if (!v->cmp.suspect)
			continue;
		sb_puts(sb, n++ ? ", {" : "{");
		put_tensor(sb, p, v);
		put_int(sb, "suspect", v->cmp.suspect);
		json_key(sb, "sample");
		put_sample(sb, &v->cmp.sample[v->cmp.nsample - 1], v->shape);
		sb_puts(sb, "}");
	}
	sb_puts(sb, "]");
}

static void put_divergence(struct strbuf *sb, const struct checked *c)
{
	const struct outcome *o = c->o;
	put_text(sb, "kind", finding_kind_name[o->kind]);
	put_text(sb, "severity", finding_severity_name[o->severity]);
	put_text(sb, "tensor", o->tensor);
	put_int(sb, "call", o->call);
	put_text(sb, "pattern", o->pattern);
	put_text(sb, "signature", o->signature);
	put_tensors(sb, c->p, o->judgement);
	put_text(sb, "report", o->report);
	put_text(sb, "stderr", c->r->stderr_tail);
}

void check_json(struct strbuf *sb, const struct checked *c)
{
	sb_puts(sb, "{");
	put_text(sb, "file", c->file);
	put_text(sb, "target", c->target);
	put_text(sb, "versions", c->versions);
	put_text(sb, "device", c->device);
	put_text(sb, "verdict", verdict_name[c->o->verdict]);
	put_text(sb, "why", c->o->why);
	if (c->o->verdict == VD_INVALID) {
		json_key(sb, "unexpected");
		sb_puts(sb, c->o->unexpected ? "true" : "false");
	}
	put_int(sb, "calls", c->r->ncalls);
	put_int(sb, "graphs", c->r->ngraphs);
	put_real(sb, "target_ms", c->r->target_ms);
	put_real(sb, "compile_ms", c->r->compile_ms);
	put_counts(sb, c->o, c->on->driver);
	put_predicted(sb, c->r);
	put_suspects(sb, c->p, c->o->judgement);
	if (verdict_diverges(c->o->verdict))
		put_divergence(sb, c);
	sb_puts(sb, "}");
}
