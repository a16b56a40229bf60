/* page_json.c: see page_json.h, whose order of keys is that of the functions here. */
#include "reports/page/page_json.h"

#include "eager/base/json.h"

enum { MOST_GRAPH = 256 << 10, MOST_SCRIPT = 64 << 10 };

static void put(struct json *j, const char *key, const char *text)
{
	if (text[0])
		json_string(j, key, text);
}

static void put_words(struct json *j, const char *key, const struct page_words *w)
{
	json_array(j, key);
	for (int i = 0; i < w->n; i++)
		json_string(j, NULL, w->word[i]);
	json_end(j);
}

/* Each once. */
static void put_states(struct json *j, const struct store_cause *c)
{
	json_array(j, "states");
	for (int i = 0; i < c->nids; i++) {
		bool before = false;
		for (int k = 0; k < i; k++)
			before |= str_eq(c->states[k], c->states[i]);
		if (!before)
			json_string(j, NULL, c->states[i]);
	}
	json_end(j);
}

/* The stage that goes wrong first is what a cause begins with: "torch:inductor: ..."; else the target's own. */
static const char *stage_of(const struct store_cause *c, struct arena *a)
{
	const char *name = c->triaged ? c->text : c->target, *colon = strchr(name, ':');
	if (!colon)
		return "";
	return arena_printf(a, "%.*s", (int)strcspn(colon + 1, ":@+ "), colon + 1);
}

/* What a list and a page both say. */
static void put_head(struct json *j, const struct store_cause *c, const struct page_row *row, struct arena *a)
{
	json_int(j, "number", c->number);
	json_string(j, "id", c->id);
	json_string(j, "title", c->title);
	if (c->triaged)
		json_string(j, "cause", c->text);
	json_string(j, "severity", finding_severity_name[c->severity]);
	json_string(j, "kind", finding_kind_name[c->kind]);
	json_bool(j, "open", c->open);
	put(j, "reach", c->reach);
	json_string(j, "target", c->target);
	put(j, "stage", stage_of(c, a));
	json_int(j, "nfindings", c->nfindings);
	json_int(j, "nobs", c->nobs);
	json_string(j, "first_seen", c->first_seen);
	json_string(j, "last_seen", c->last_seen);
	put(j, "issue", c->issue);
	put(j, "right_on", row->right_on);
	put_words(j, "ops", &row->ops);
	put_words(j, "dtypes", &row->dtypes);
	put_words(j, "versions", &row->versions);
	put_states(j, c);
}

/* ---- a cause ------------------------------------------------------------------------------------------------------------------------- */

static void put_document(struct json *j, const char *key, struct json_doc *d)
{
	struct strbuf sb;
	if (json_doc_empty(d))
		return;
	sb_init(&sb);
	json_doc_embed(&sb, d);
	json_raw(j, key, sb.s, sb.len);
	sb_free(&sb);
}

static void put_versions(struct json *j, const struct cause_page *p)
{
	if (!p->versions.n)
		return;
	json_array(j, "versions_tried");
	for (int i = 0; i < p->versions.n; i++) {
		json_object(j, NULL);
		json_string(j, "version", p->versions.tried[i].version);
		json_string(j, "verdict", p->versions.tried[i].verdict);
		put(j, "why", p->versions.tried[i].why);
		json_end(j);
	}
	json_end(j);
}

static void put_programs(struct json *j, const struct cause_page *p)
{
	json_string(j, "program", p->c->program);
	json_bool(j, "minimised", p->c->minimised);
	if (!str_eq(p->f.program, p->c->program))
		json_string(j, "first_program", p->f.program);
	if (p->script[0] && strlen(p->script) <= MOST_SCRIPT) {
		json_string(j, "script", p->script);
		json_bool(j, "short_script", p->short_script);
	}
}

static bool artifact_is_graph(const char *name)
{
	const size_t n = strlen(name);
	return str_eq(name, "operators") || (n > 6 && str_eq(name + n - 6, " graph")) || (n > 5 && str_eq(name + n - 5, " code"));
}

/* The latest of each name. */
static void put_graphs(struct json *j, const struct cause_page *p)
{
	json_array(j, "graphs");
	for (int i = 0; i < p->f.nartifacts; i++) {
		const struct store_loaded_artifact *kept = &p->f.artifact[i];
		if (!artifact_is_graph(kept->name) || (i && str_eq(kept->name, p->f.artifact[i - 1].name)))
			continue;
		json_object(j, NULL);
		json_string(j, "name", kept->name);
		json_text(j, "text", kept->bytes, kept->nbytes <= MOST_GRAPH ? kept->nbytes : utf8_cut(kept->bytes, MOST_GRAPH));
		json_end(j);
	}
	json_end(j);
}

static void put_upstream(struct json *j, const struct cause_page *p)
{
	json_array(j, "upstream");
	for (int i = 0; i < p->nupstream; i++) {
		json_object(j, NULL);
		json_string(j, "issue", p->upstream[i].issue);
		json_string(j, "remark", p->upstream[i].remark);
		json_string(j, "program", p->upstream[i].program);
		json_end(j);
	}
	json_end(j);
}

static void put_findings(struct json *j, const struct cause_page *p)
{
	const struct page_finding *f;
	json_array(j, "findings");
	for (int at = 0; (f = page_finding_next(&at, p->all, p->c));) {
		json_object(j, NULL);
		json_string(j, "id", p->c->ids[at - 1]);
		json_string(j, "target", f->target);
		json_string(j, "state", f->state);
		json_string(j, "severity", f->severity);
		json_string(j, "signature", f->signature);
		json_int(j, "nobs", f->nobs);
		json_string(j, "first_seen", f->first_seen);
		json_string(j, "last_seen", f->last_seen);
		put(j, "issue", f->issue);
		json_end(j);
	}
	json_end(j);
}

static void put_variants(struct json *j, const struct store_cause *c)
{
	if (!c->nvariants)
		return;
	json_array(j, "variants");
	for (int i = 0; i < c->nvariants; i++) {
		json_object(j, NULL);
		json_string(j, "cause", c->variant[i].text);
		put_words(j, "ids", &(struct page_words){c->variant[i].nids, c->variant[i].ids});
		json_end(j);
	}
	json_end(j);
}

static void put_time(struct json *j, const char *key, int64_t at)
{
	char text[32];
	store_time_text(text, at);
	json_string(j, key, text);
}

static void put_observations(struct json *j, const struct cause_page *p)
{
	json_array(j, "observations");
	for (int i = 0; i < p->f.nobs_stored; i++) {
		const struct store_loaded_obs *o = &p->f.obs[i];
		const struct store_loaded_env *e = o->env >= 0 ? &p->f.env[o->env] : NULL;
		json_object(j, NULL);
		put_time(j, "at", o->at);
		put(j, "target", e ? e->target : "");
		put(j, "device", e ? e->device : "");
		json_string(j, "verdict", o->verdict);
		put(j, "tensor", o->tensor);
		if (o->call >= 0)
			json_int(j, "call", o->call);
		if (o->fill >= 0)
			json_int(j, "fill", o->fill);
		put(j, "detail", o->detail);
		json_end(j);
	}
	json_end(j);
}

static void put_history(struct json *j, const struct cause_page *p)
{
	json_array(j, "history");
	for (int i = 0; i < p->f.nevents; i++) {
		const struct store_loaded_event *e = &p->f.event[i];
		json_object(j, NULL);
		put_time(j, "at", e->at);
		json_string(j, "kind", e->kind);
		put(j, "text", e->payload);
		put(j, "issue", e->issue_url);
		json_end(j);
	}
	json_end(j);
}

static void put_command(struct json *j, const char *key, const char *verb, const char *end, const struct cause_page *p)
{
	struct strbuf sb;
	sb_init(&sb);
	sb_printf(&sb, "scatterproof %s %s --db ", verb, p->c->id);
	escape_shell(&sb, p->all->db);
	sb_puts(&sb, end);
	json_string(j, key, sb.s);
	sb_free(&sb);
}

static void put_commands(struct json *j, const struct cause_page *p)
{
	json_object(j, "commands");
	put_command(j, "repro", "repro", "", p);
	if (p->script[0])
		put_command(j, "script", "repro", " --script bug.py", p);
	put_command(j, "sweep", "sweep", "", p);
	json_end(j);
}

void page_json(struct strbuf *sb, const struct cause_page *p, struct arena *a)
{
	struct json j = json_into(sb, JSON_SPACED);
	json_object(&j, NULL);
	json_int(&j, "schema", 1);
	json_string(&j, "tool", SCATTERPROOF);
	put_head(&j, p->c, p->row, a);
	json_string(&j, "full_id", p->c->full_id);
	put(&j, "blame", p->c->blame);
	put(&j, "unconfirmed", p->c->unconfirmed);
	put_programs(&j, p);
	put_document(&j, "facts", p->facts);
	put_document(&j, "sweep", p->sweep);
	put_document(&j, "since", p->since);
	put_versions(&j, p);
	put_document(&j, "matrix", p->matrix);
	put(&j, "environment", p->environment);
	put_graphs(&j, p);
	put_upstream(&j, p);
	put_variants(&j, p->c);
	put_findings(&j, p);
	put_observations(&j, p);
	put_history(&j, p);
	put_commands(&j, p);
	json_end(&j);
	sb_putc(sb, '\n');
}

/* ---- the overview -------------------------------------------------------------------------------------------------------------------- */

static void put_causes(struct json *j, const struct page_store *all, struct arena *a)
{
	json_array(j, "causes");
	for (int i = 0; i < all->causes.n; i++) {
		const struct store_cause *c = &all->causes.cause[i];
		json_object(j, NULL);
		put_head(j, c, &all->row[i], a);
		if (all->row[i].page)
			json_string(j, "page", arena_printf(a, "%s/index.html", c->id));
		json_end(j);
	}
	json_end(j);
}

static void put_tried(struct json *j, const struct page_store *all)
{
	json_array(j, "tried");
	for (int i = 0; i < all->ntried; i++) {
		const struct page_tried *t = &all->tried[i];
		json_object(j, NULL);
		json_string(j, "op", t->op);
		json_string(j, "dtype", t->dtype);
		json_string(j, "target", t->target);
		json_int(j, "programs", t->programs);
		json_int(j, "diverging", t->diverging);
		json_end(j);
	}
	json_end(j);
}

static void put_runs(struct json *j, const struct page_store *all)
{
	json_array(j, "runs");
	for (int i = 0; i < all->nruns; i++) {
		const struct page_run *r = &all->run[i];
		json_object(j, NULL);
		json_string(j, "at", r->at);
		json_string(j, "policy", r->policy);
		json_string(j, "target", r->target);
		json_int(j, "programs", r->programs);
		json_int(j, "diverging", r->diverging);
		json_int(j, "new_causes", r->new_causes);
		json_end(j);
	}
	json_end(j);
}

/* What somebody has to do next about a cause that is open. */
static void need_of(const char **what, const char **text, const struct store_cause *c, const struct page_row *row, struct arena *a)
{
	if (cause_has_state(c, "regressed")) {
		*what = "regressed";
		*text = "it was marked fixed, and is back: say so upstream, or mark it again";
	} else if (c->triaged) {
		*what = "decide";
		*text = row->right_on[0]
			? arena_printf(a, "it is right on %s, the newest version here: try a nightly build before you file it", row->right_on)
			: "triage has named its cause: file it, or mark it known, dismissed or a duplicate";
	} else if (cause_has_state(c, "candidate")) {
		*what = "confirm";
		*text = c->unconfirmed[0] ? "it was not seen again in a fresh process" : "seen once, and not run again yet";
	} else {
		*what = "triage";
		*text = "triage has not found its cause yet";
	}
}

/* What to type for it; "": a person decides. */
static void put_need_command(struct json *j, const char *what, const struct store_cause *c, const char *db)
{
	struct strbuf sb;
	if (!str_eq(what, "triage") && !str_eq(what, "confirm"))
		return;
	sb_init(&sb);
	sb_printf(&sb, "scatterproof triage %s --db ", c->id);
	escape_shell(&sb, db);
	json_string(j, "command", sb.s);
	sb_free(&sb);
}

static void put_needs(struct json *j, const struct page_store *all, struct arena *a)
{
	json_array(j, "needs");
	for (int i = 0; i < all->causes.n; i++) {
		const struct store_cause *c = &all->causes.cause[i];
		const char *what, *text;
		if (!c->open)
			continue;
		need_of(&what, &text, c, &all->row[i], a);
		json_object(j, NULL);
		json_string(j, "id", c->id);
		json_string(j, "what", what);
		json_string(j, "text", text);
		put_need_command(j, what, c, all->db);
		json_end(j);
	}
	json_end(j);
}

void overview_json(struct strbuf *sb, const struct page_store *all, const char *made, struct arena *a)
{
	struct json j = json_into(sb, JSON_SPACED);
	json_object(&j, NULL);
	json_int(&j, "schema", 1);
	json_string(&j, "tool", SCATTERPROOF);
	json_string(&j, "store", all->db);
	json_string(&j, "made", made);
	put_causes(&j, all, a);
	put_tried(&j, all);
	put_runs(&j, all);
	put_needs(&j, all, a);
	json_end(&j);
	sb_putc(sb, '\n');
}
