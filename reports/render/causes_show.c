/* causes_show.c: a list that fits; a page in sections, of which those that have nothing to say are left out. */
#include "reports/render/causes_show.h"

#include <inttypes.h>
#include <strings.h>

#include "eager/base/escape.h"
#include "eager/base/json.h"
#include "reports/cause/json_doc.h"
#include "reports/life/lifecycle.h"
#include "reports/render/table.h"

/* ---- words --------------------------------------------------------------------------------------------------------------------------- */

const char *cause_stage(const struct store_cause *c, struct arena *a)
{
	const char *colon = strchr(c->target, ':');
	return colon ? arena_printf(a, "%s%s", cause_family(c->target, a), colon) : c->target;
}

const char *representative_state(const struct store_cause *c)
{
	for (int i = 0; i < c->nids; i++)
		if (str_eq(c->ids[i], c->id))
			return c->states[i];
	return c->nids ? c->states[0] : "";
}

static enum style style_of(enum finding_severity s)
{
	return s == SEVERITY_HIGH ? STYLE_HIGH : s == SEVERITY_NORMAL ? STYLE_NORMAL : STYLE_FAINT;
}

/* "2.11 2.15": of 2.11.0 and 2.15.0, whose last part says nothing. */
static const char *short_versions(const struct store_cause *c, struct arena *a)
{
	struct strbuf sb;
	sb_init(&sb);
	for (int i = 0; i < c->nversions; i++) {
		const char *v = c->versions[i], *dot = strchr(v, '.'), *second = dot ? strchr(dot + 1, '.') : NULL;
		const bool plain = second && str_eq(second, ".0");
		sb_printf(&sb, "%s%.*s", i ? " " : "", (int)(plain ? second - v : (ptrdiff_t)strlen(v)), v);
	}
	const char *text = escaped_line(a, sb.s);
	sb_free(&sb);
	return text;
}

/* ---- the list ------------------------------------------------------------------------------------------------------------------------ */

enum { NUMBER, SEVERITY, TITLE, STAGE, VERSIONS, SEEN, STATE, NCOLUMNS };

struct cells {
	const char *text[NCOLUMNS];
};

static int family_length(const char *stage) { return (int)strcspn(stage, ":"); }

/* Of torch:inductor@cpu only inductor@cpu, where all are torch's. */
static bool one_family(const struct store_causes *all, bool closed, struct arena *a)
{
	const char *first = NULL;
	for (int i = 0; i < all->n; i++) {
		const char *stage = cause_stage(&all->cause[i], a);
		if (!all->cause[i].open && !closed)
			continue;
		first = first ? first : stage;
		if (family_length(stage) != family_length(first) || strncmp(stage, first, (size_t)family_length(first)) != 0)
			return false;
	}
	return true;
}

static struct cells cells_of(const struct store_cause *c, bool short_stage, struct arena *a)
{
	const char *stage = cause_stage(c, a);
	if (short_stage && stage[family_length(stage)])
		stage += family_length(stage) + 1;
	return (struct cells){{arena_printf(a, "%d", c->number), finding_severity_name[c->severity], escaped_line(a, c->title),
		escaped_line(a, stage), short_versions(c, a), arena_printf(a, "%" PRId64, c->nobs), escaped_line(a, representative_state(c))}};
}

void causes_count(struct strbuf *sb, const struct store_causes *all)
{
	int64_t open = 0, without = 0;
	for (int i = 0; i < all->n; i++) {
		const struct store_cause *c = &all->cause[i];
		open += c->open && c->triaged;
		without += c->open && !c->triaged ? c->nfindings : 0;
	}
	sb_printf(sb, "%" PRId64 " open cause%s", open, open == 1 ? "" : "s");
	if (without)
		sb_printf(sb, ", and %" PRId64 " finding%s without one yet", without, without == 1 ? "" : "s");
}

static void count_causes(struct strbuf *sb, const struct store_causes *all, bool closed, int not_shown, const struct look *look)
{
	struct strbuf line;
	int others = 0;
	for (int i = 0; i < all->n; i++)
		others += !all->cause[i].open;
	sb_init(&line);
	causes_count(&line, all);
	if (not_shown)
		sb_printf(&line, "; %d not shown (--limit)", not_shown);
	if (others)
		sb_printf(&line, "; %d without an open finding%s", others, closed ? "" : " (--all shows them)");
	sb_puts(sb, all->n ? "\n" : "");
	sb_wrap(sb, line.s, 0, 0, look->width);
	sb_putc(sb, '\n');
	sb_free(&line);
}

void causes_list(struct strbuf *sb, const struct store_causes *all, bool closed, int64_t limit, const struct look *look)
{
	enum { LEAST_TITLE = 24, MOST_STAGE = 14, MOST_VERSIONS = 9 };
	struct table t = {.look = look,
		.n = NCOLUMNS,
		.column = {{"", 1, 0, false, true}, {"sev", 3, 0, false, false}, {"title", 0, 0, true, false}, {"stage", 5, 2, false, false},
			{"versions", 8, 1, false, false}, {"seen", 4, 3, false, true}, {"state", 5, 4, false, false}}};
	struct arena a;
	int shown = 0, not_shown = 0;
	arena_init(&a);
	const bool short_stage = one_family(all, closed, &a);
	struct cells *row = ARENA_NEW(&a, struct cells, MAX(all->n, 1));
	for (int i = 0; i < all->n; i++) {
		if (!all->cause[i].open && !closed)
			continue;
		if (limit >= 0 && shown >= limit) {
			not_shown++;
			continue;
		}
		row[shown] = cells_of(&all->cause[i], short_stage, &a);
		for (int k = 0; k < NCOLUMNS; k++)
			t.column[k].width = MAX(t.column[k].width, text_columns(row[shown].text[k], strlen(row[shown].text[k])));
		shown++;
	}
	if (look->width) {
		t.column[STAGE].width = MIN(t.column[STAGE].width, MOST_STAGE);
		t.column[VERSIONS].width = MIN(t.column[VERSIONS].width, MOST_VERSIONS);
	}
	table_layout(&t, LEAST_TITLE);
	if (shown)
		table_head(sb, &t);
	for (int i = 0; i < shown; i++) {
		enum finding_severity severity = SEVERITY_NORMAL;
		finding_severity_find(&severity, row[i].text[SEVERITY]);
		for (int k = 0; k < NCOLUMNS; k++)
			table_cell(sb, &t, k, row[i].text[k], k == SEVERITY ? style_of(severity) : k == STATE ? STYLE_FAINT : STYLE_PLAIN);
	}
	count_causes(sb, all, closed, not_shown, look);
	arena_free(&a);
}

/* ---- JSON ---------------------------------------------------------------------------------------------------------------------------- */

/* Words between blanks, as v_causes has them. */
static void json_words(struct json *j, const char *key, const char *const *word, int n)
{
	struct strbuf sb;
	sb_init(&sb);
	for (int i = 0; i < n; i++)
		sb_printf(&sb, "%s%s", i ? " " : "", word[i]);
	json_string(j, key, sb.s);
	sb_free(&sb);
}

static void variants_json(struct json *j, const struct store_cause *c)
{
	json_array(j, "variants");
	for (int i = 0; i < c->nvariants; i++) {
		json_object(j, NULL);
		json_string(j, "cause", c->variant[i].text);
		json_words(j, "ids", c->variant[i].ids, c->variant[i].nids);
		json_end(j);
	}
	json_end(j);
}

void cause_json(struct strbuf *sb, const struct store_cause *c)
{
	struct json j = json_into(sb, JSON_SPACED);
	json_object(&j, NULL);
	json_int(&j, "number", c->number);
	json_string(&j, "cause", c->text);
	json_string(&j, "title", c->title);
	json_string(&j, "id", c->id);
	json_string(&j, "full_id", c->full_id);
	json_string(&j, "kind", finding_kind_name[c->kind]);
	json_string(&j, "severity", finding_severity_name[c->severity]);
	json_string(&j, "reach", c->reach);
	json_bool(&j, "open", c->open);
	json_bool(&j, "triaged", c->triaged);
	json_bool(&j, "minimised", c->minimised);
	json_string(&j, "state", representative_state(c));
	json_string(&j, "blame", c->blame);
	json_string(&j, "unconfirmed", c->unconfirmed);
	json_string(&j, "signature", c->signature);
	json_string(&j, "raised", c->raised);
	json_int(&j, "nfindings", c->nfindings);
	json_int(&j, "nobs", c->nobs);
	json_string(&j, "first_seen", c->first_seen);
	json_string(&j, "last_seen", c->last_seen);
	json_words(&j, "states", c->states, c->nids);
	json_string(&j, "target", c->target);
	json_words(&j, "targets", c->targets, c->nids);
	json_words(&j, "versions", c->versions, c->nversions);
	json_string(&j, "ops", c->ops);
	json_string(&j, "issue", c->issue);
	json_string(&j, "program", c->program);
	json_words(&j, "ids", c->ids, c->nids);
	if (c->nvariants)
		variants_json(&j, c);
	json_end(&j);
	sb_putc(sb, '\n');
}

/* ---- a page -------------------------------------------------------------------------------------------------------------------------- */

struct page {
	struct strbuf *sb;
	const struct look *look;
	const struct store_cause *c;
	const struct store_loaded *f;
	const char *db;
	struct json_doc *facts, *since;
	struct arena a;
};

static void heading(struct page *p, const char *text)
{
	sb_putc(p->sb, '\n');
	style_begin(p->sb, p->look, STYLE_HEADING);
	sb_puts(p->sb, text);
	style_end(p->sb, p->look, STYLE_HEADING);
	sb_putc(p->sb, '\n');
}

/* One paragraph, indented by two. */
static void paragraph(struct page *p, const char *text)
{
	sb_puts(p->sb, "  ");
	sb_wrap(p->sb, escaped_line(&p->a, text), 2, 4, p->look->width);
	sb_putc(p->sb, '\n');
}

void cause_sentences(struct strbuf *sb, const char *text, int indent, const struct look *look)
{
	struct arena a;
	arena_init(&a);
	for (const char *s = text; *s;) {
		const char *end = look->width ? strstr(s, "; ") : NULL;
		const size_t n = end ? (size_t)(end - s) : strlen(s);
		for (int i = 0; i < indent; i++)
			sb_putc(sb, ' ');
		sb_wrap(sb, escaped_line(&a, arena_printf(&a, "%.*s", (int)n, s)), indent, indent + 2, look->width);
		sb_putc(sb, '\n');
		s += n + (end ? 2 : 0);
	}
	arena_free(&a);
}

static void put_head(struct page *p)
{
	const struct store_cause *c = p->c;
	sb_printf(p->sb, "cause %d, ", c->number);
	style_begin(p->sb, p->look, style_of(c->severity));
	sb_puts(p->sb, finding_severity_name[c->severity]);
	style_end(p->sb, p->look, style_of(c->severity));
	sb_puts(p->sb, ", ");
	escape_cell(p->sb, representative_state(c), strlen(representative_state(c)));
	if (!c->open)
		sb_puts(p->sb, " (none of its findings is open)");
	sb_putc(p->sb, '\n');
	style_begin(p->sb, p->look, STYLE_HEADING);
	sb_wrap(p->sb, escaped_line(&p->a, c->title), 0, 2, p->look->width);
	style_end(p->sb, p->look, STYLE_HEADING);
	sb_putc(p->sb, '\n');
}

/* "x.grad: 1 of 2 elements wrong, all zero" */
static void put_tensor(struct page *p)
{
	const char *name = json_doc_text(p->facts, &p->a, "$.tensor.name"), *pattern = json_doc_text(p->facts, &p->a, "$.pattern");
	const char *ratio = json_doc_text(p->facts, &p->a, "$.ratio");
	const int64_t wrong = json_doc_int(p->facts, -1, "$.wrong"), checked = json_doc_int(p->facts, -1, "$.checked");
	if (!name[0])
		return;
	paragraph(p,
		arena_printf(&p->a, "%s%s%s%s%s%s%s", name, wrong >= 0 && checked >= 0 ? ": " : "",
			wrong >= 0 && checked >= 0
				? arena_printf(&p->a, "%" PRId64 " of %" PRId64 " element%s wrong", wrong, checked, checked == 1 ? "" : "s")
				: "",
			pattern[0] ? ", " : "", pattern, ratio[0] ? ", adds up to " : "",
			ratio[0] ? arena_printf(&p->a, "%s times what it must", ratio) : ""));
}

static void put_wrong(struct page *p)
{
	const struct store_cause *c = p->c;
	struct arena *a = &p->a;
	heading(p, "what is wrong");
	paragraph(p, arena_printf(a, "%s: %s", c->triaged ? "cause" : "not triaged yet; signature", c->text));
	put_tensor(p);
	if (c->raised[0])
		paragraph(p, arena_printf(a, "raises: %.*s", (int)utf8_cut(c->raised, MIN(strlen(c->raised), (size_t)1000)), c->raised));
	paragraph(p,
		arena_printf(a, "seen %" PRId64 " time%s in %" PRId64 " finding%s, from %s to %s", c->nobs, c->nobs == 1 ? "" : "s", c->nfindings,
			c->nfindings == 1 ? "" : "s", c->first_seen, c->last_seen));
	if (str_eq(c->reach, "aten"))
		paragraph(p, "only a caller of the overload (torch.ops.aten) meets it");
	if (c->unconfirmed[0])
		paragraph(p, arena_printf(a, "not confirmed: %s", c->unconfirmed));
	if (c->issue[0])
		paragraph(p, arena_printf(a, "reported: %s", c->issue));
}

static void put_where(struct page *p)
{
	const struct store_cause *c = p->c;
	struct strbuf sb;
	sb_init(&sb);
	heading(p, "where");
	paragraph(p, arena_printf(&p->a, "found on %s", c->target));
	for (int i = 0; i < json_doc_count(p->facts, "$.ladder"); i++)
		sb_printf(&sb, "%s%s %s", i ? ", " : "stages: ", json_doc_text(p->facts, &p->a, "$.ladder[%d].stage", i),
			json_doc_text(p->facts, &p->a, "$.ladder[%d].verdict", i));
	if (sb.len)
		paragraph(p, sb.s);
	sb_reset(&sb);
	for (int i = 0; i < c->nversions; i++)
		sb_printf(&sb, "%s%s", i ? ", " : "seen in ", c->versions[i]);
	if (sb.len)
		paragraph(p, sb.s);
	if (json_doc_text(p->since, &p->a, "$.since")[0])
		paragraph(p, arena_printf(&p->a, "of the installed versions: %s", json_doc_text(p->since, &p->a, "$.since")));
	sb_free(&sb);
}

static void put_blame(struct page *p)
{
	if (p->c->blame[0]) {
		heading(p, "blame");
		cause_sentences(p->sb, p->c->blame, 2, p->look);
	}
	const int n = json_doc_count(p->facts, "$.cures");
	if (n)
		heading(p, "cures");
	for (int i = 0; i < n; i++) {
		const char *option = json_doc_text(p->facts, &p->a, "$.cures[%d].option", i);
		paragraph(p, arena_printf(&p->a, "%s%s%s", json_doc_text(p->facts, &p->a, "$.cures[%d].what", i), option[0] ? ": +" : "", option));
	}
}

static void put_program(struct page *p)
{
	heading(p, p->c->minimised ? "program (minimised)" : "program");
	escape_block(p->sb, "", p->c->program, strlen(p->c->program));
}

static void put_findings(struct page *p)
{
	heading(p, p->c->nids == 1 ? "its finding" : "its findings");
	for (int i = 0; i < p->c->nids; i++)
		paragraph(p, arena_printf(&p->a, "%s  %-10s  %s", p->c->ids[i], p->c->states[i], p->c->targets[i]));
}

/* One bug in several sorts: each with the first of its findings. */
static void put_variants(struct page *p)
{
	if (p->c->nvariants)
		heading(p, "its variants");
	for (int i = 0; i < p->c->nvariants; i++) {
		const struct store_variant *v = &p->c->variant[i];
		paragraph(p,
			arena_printf(
				&p->a, "%s%s  %s", v->nids ? v->ids[0] : "", v->nids > 1 ? arena_printf(&p->a, " and %d more", v->nids - 1) : "", v->text));
	}
}

static void put_history(struct page *p)
{
	char at[32];
	heading(p, arena_printf(&p->a, "history of %s", p->c->id));
	for (int i = 0; i < p->f->nevents; i++) {
		const struct store_loaded_event *e = &p->f->event[i];
		store_time_text(at, e->at);
		if (str_eq(e->kind, event_kind_name[EVENT_BLAME]) || str_eq(e->kind, event_kind_name[EVENT_CAUSE]))
			continue; /* stands above */
		sb_puts(p->sb, "  ");
		sb_fit(p->sb,
			escaped_line(&p->a,
				arena_printf(
					&p->a, "%s  %-11s %s%s%s", at, e->kind, e->payload, e->payload[0] && e->issue_url[0] ? " " : "", e->issue_url)),
			p->look->width ? MAX(p->look->width - 2, 1) : 0);
		sb_putc(p->sb, '\n');
	}
}

static void put_commands(struct page *p)
{
	static const char *const commands[] = {"repro", "findings show", "sweep"};
	struct strbuf db;
	sb_init(&db);
	escape_shell(&db, p->db);
	heading(p, "commands");
	for (int i = 0; i < ARRAY_LEN(commands); i++)
		sb_printf(p->sb, "  scatterproof %s %s --db %s\n", commands[i], p->c->id, db.s);
	sb_printf(p->sb, "  scatterproof findings mark %d known --issue URL --db %s\n", p->c->number, db.s);
	sb_free(&db);
}

static struct json_doc *open_artifact(const struct store_loaded *f, const char *name)
{
	const struct store_loaded_artifact *x = store_loaded_artifact(f, name);
	return json_doc_open(x ? x->bytes : "", x ? x->nbytes : 0);
}

void cause_page(struct strbuf *sb, const struct store_cause *c, const struct store_loaded *f, const char *db, const struct look *look)
{
	struct page p = {
		.sb = sb, .look = look, .c = c, .f = f, .db = db, .facts = open_artifact(f, "facts"), .since = open_artifact(f, "since")};
	arena_init(&p.a);
	put_head(&p);
	put_wrong(&p);
	put_where(&p);
	put_blame(&p);
	put_program(&p);
	put_findings(&p);
	put_variants(&p);
	put_history(&p);
	put_commands(&p);
	json_doc_close(p.facts);
	json_doc_close(p.since);
	arena_free(&p.a);
}
