/* check_json.c: see check_json.h. Numbers that JSON lacks (inf, nan) are strings. */
#include "fuzz/cli/check_json.h"

#include "compiled/targets/driver.h"
#include "eager/base/json.h"
#include "eager/lang/fx_cut.h"
#include "fuzz/triage/tensor_name.h"

static void put_elements(struct json *j, const char *key, const struct element_counts *e)
{
	json_object(j, key);
#define COUNT(field, word) json_int(j, word, e->field);
	ELEMENT_COUNTS(COUNT)
#undef COUNT
	json_end(j);
}

static void put_counts(struct json *j, const struct outcome *o, const struct target_driver *d)
{
	put_elements(j, "elements", &o->all);
	json_object(j, "by_fill");
	for (int k = 0; k < NFILL_CLASSES; k++)
		if (element_counts_total(&o->by_fill[k]))
			put_elements(j, fill_class_name[k], &o->by_fill[k]);
	json_end(j);
	json_array(j, "freedoms");
	for (int i = 0; i < d->nfreedoms; i++)
		if (o->freedoms & d->freedom[i].bit)
			json_string(j, NULL, d->freedom[i].reason);
	json_end(j);
}

static void put_predicted(struct json *j, const struct result *r)
{
	json_array(j, "predicted_meta");
	for (int i = 0; i < r->nmismatch; i++) {
		json_object(j, NULL);
		json_string(j, "op", r->mismatch[i].op);
		json_int(j, "rank", r->mismatch[i].rank);
		json_bool(j, "backward", r->mismatch[i].backward);
		json_string(j, "detail", r->mismatch[i].detail);
		json_end(j);
	}
	json_end(j);
}

/* The element's place: index in row-major order, and per dimension where the tensor has some. */
static void put_place(struct json *j, int64_t index, const struct meta *m)
{
	json_int(j, "index", index);
	if (!m || !m->rank || !meta_numel(m))
		return;
	int64_t at[MAX_RANK];
	for (int d = m->rank - 1; d >= 0; d--) {
		at[d] = index % m->size[d];
		index /= m->size[d];
	}
	json_array(j, "at");
	for (int d = 0; d < m->rank; d++)
		json_int(j, NULL, at[d]);
	json_end(j);
}

static void put_sample(struct json *j, const char *key, const struct sample *s, const struct meta *m)
{
	json_object(j, key);
	put_place(j, s->index, m);
	json_array(j, "expected");
	json_double(j, NULL, s->low);
	json_double(j, NULL, s->high);
	json_end(j);
	json_double(j, "got", s->got);
	json_end(j);
}

static void put_tensor(struct json *j, const struct prog *p, const struct tensor_verdict *v)
{
	struct tensor_name name;
	struct strbuf text;
	sb_init(&text);
	tensor_name_of_verdict(&name, p, v);
	tensor_name_print(&text, &name);
	json_int(j, "call", v->call);
	json_string(j, "tensor", text.s);
	json_int(j, "elements", v->cmp.n);
	sb_free(&text);
}

void checked_source(struct strbuf *sb, const struct checked *c, const struct tensor_verdict *v)
{
	if (c->source && v->node >= 0)
		fx_source(sb, c->source, strlen(c->source), c->p->node[v->node].line);
}

static void put_source(struct json *j, const struct checked *c, const struct tensor_verdict *v)
{
	struct strbuf sb;
	sb_init(&sb);
	checked_source(&sb, c, v);
	if (sb.len)
		json_string(j, "source", sb.s);
	sb_free(&sb);
}

static void put_wrong(struct json *j, const struct checked *c, const struct tensor_verdict *v)
{
	json_object(j, NULL);
	put_tensor(j, c->p, v);
	put_source(j, c, v);
	json_array(j, "kinds");
	for (int k = 0; k < NMISMATCH; k++)
		if (v->kinds >> k & 1)
			json_string(j, NULL, mismatch_name[k]);
	json_end(j);
	json_int(j, "wrong", v->cmp.count[EL_DISAGREE]);
	json_int(j, "undecided", v->cmp.count[EL_UNDECIDED]);
	json_string(j, "pattern", pattern_name[v->cmp.pattern]);
	if (v->cmp.pattern == PAT_SCALED)
		json_double(j, "ratio", v->cmp.ratio);
	if (v->cmp.pattern == PAT_SHIFTED)
		json_int(j, "shift", v->cmp.shift);
	json_string(j, "detail", v->detail);
	json_array(j, "samples");
	for (int k = 0; k < v->cmp.nsample; k++)
		put_sample(j, NULL, &v->cmp.sample[k], v->shape);
	json_end(j);
	json_end(j);
}

static void put_tensors(struct json *j, const struct checked *c)
{
	const struct judgement *judged = c->o->judgement;
	json_array(j, "wrong");
	for (int i = 0; judged && i < judged->ntensor; i++)
		if (judged->tensor[i].kinds)
			put_wrong(j, c, &judged->tensor[i]);
	json_end(j);
}

static void put_suspects(struct json *j, const struct prog *p, const struct judgement *judged)
{
	json_array(j, "suspects");
	for (int i = 0; judged && i < judged->ntensor; i++) {
		const struct tensor_verdict *v = &judged->tensor[i];
		if (!v->cmp.suspect)
			continue;
		json_object(j, NULL);
		put_tensor(j, p, v);
		json_int(j, "suspect", v->cmp.suspect);
		put_sample(j, "sample", &v->cmp.sample[v->cmp.nsample - 1], v->shape);
		json_end(j);
	}
	json_end(j);
}

static void put_divergence(struct json *j, const struct checked *c)
{
	const struct outcome *o = c->o;
	json_string(j, "kind", finding_kind_name[o->kind]);
	json_string(j, "severity", finding_severity_name[o->severity]);
	json_string(j, "tensor", o->tensor);
	json_int(j, "call", o->call);
	json_string(j, "pattern", o->pattern);
	json_string(j, "signature", o->signature);
	if (c->baseline)
		json_string(j, "baseline", c->baseline);
	put_tensors(j, c);
	json_string(j, "report", o->report);
	json_string(j, "stderr", c->r->stderr_tail);
}

void check_json(struct strbuf *sb, const struct checked *c)
{
	struct json out = json_into(sb, JSON_TIGHT), *j = &out;
	json_object(j, NULL);
	json_string(j, "file", c->file);
	json_string(j, "target", c->target);
	json_string(j, "versions", c->versions);
	json_string(j, "device", c->device);
	json_string(j, "verdict", verdict_name[c->o->verdict]);
	json_string(j, "why", c->o->why);
	if (c->o->verdict == VD_INVALID) {
		json_bool(j, "unexpected", c->o->unexpected);
	}
	json_int(j, "calls", c->r->ncalls);
	json_int(j, "graphs", c->r->ngraphs);
	json_double(j, "target_ms", c->r->target_ms);
	json_double(j, "compile_ms", c->r->compile_ms);
	put_counts(j, c->o, c->on->driver);
	put_predicted(j, c->r);
	put_suspects(j, c->p, c->o->judgement);
	if (verdict_diverges(c->o->verdict))
		put_divergence(j, c);
	if (c->finding)
		json_string(j, "finding", c->finding), json_bool(j, "own", c->own);
	if (c->before)
		json_string(j, "before", c->before);
	json_end(j);
}

void check_parts_json(const char *name, const struct fx_cut *cut, const char *source)
{
	struct strbuf sb;
	struct json j = json_into(&sb, JSON_TIGHT);
	sb_init(&sb);
	json_object(&j, NULL);
	json_string(&j, "file", name);
	json_int(&j, "judged", cut->nread);
	json_int(&j, "operators", cut->nread + cut->ncut);
	json_array(&j, "missing");
	for (int i = 0; i < cut->nmissing; i++) {
		json_object(&j, NULL);
		json_string(&j, "operator", cut->missing[i].op);
		json_int(&j, "times", cut->missing[i].count);
		if (cut->missing[i].why)
			json_string(&j, "why", cut->missing[i].why);
		json_end(&j);
	}
	json_end(&j);
	if (source[0])
		json_string(&j, "source", source);
	json_end(&j);
	printf("%s\n", sb.s);
	sb_free(&sb);
}
