/* sarif.c: Static Analysis Results Interchange Format 2.1.0 (OASIS, 2020). A rule per cause, a result per rule: whoever compares two files
 * sees by the rule, and by the fingerprint, what is new. */
#include "reports/page/ci.h"

#include "eager/base/json.h"

enum { MOST_RULE = 200, MOST_TEXT = 1000 }; /* bytes; GitHub takes 255 and 1,024 */

/* Findings without a cause are told apart by kind and signature. */
static const char *identity(const struct store_cause *c, struct arena *a)
{
	return c->triaged ? c->text : arena_printf(a, "%s; %s", finding_kind_name[c->kind], c->text);
}

static const char *fingerprint(const struct store_cause *c, struct arena *a)
{
	char hex[33];
	const char *text = identity(c, a);
	const struct hash128 h = hash_bytes(text, strlen(text));
	hash_hex(hex, &h);
	return arena_strdup(a, hex);
}

/* A rule's name is the cause; if it is long, its beginning and the fingerprint's. */
static const char *rule_id(const struct store_cause *c, struct arena *a)
{
	const char *text = identity(c, a);
	const size_t n = utf8_cut(text, MIN(strlen(text), (size_t)MOST_RULE));
	return text[n] ? arena_printf(a, "%.*s... %.16s", (int)n, text, fingerprint(c, a)) : text;
}

static void put_message(struct json *j, const char *key, const char *text)
{
	json_object(j, key);
	json_text(j, "text", text, utf8_cut(text, MIN(strlen(text), (size_t)MOST_TEXT)));
	json_end(j);
}

static void put_rule(struct json *j, const struct store_cause *c, struct arena *a)
{
	json_object(j, NULL);
	json_string(j, "id", rule_id(c, a));
	put_message(j, "shortDescription", c->title);
	put_message(j, "fullDescription", c->blame[0] ? c->blame : c->title);
	if (str_starts(c->issue, "https://") || str_starts(c->issue, "http://"))
		json_string(j, "helpUri", c->issue);
	json_end(j);
}

/* uriBaseId says that the path is relative to the folder of the file. */
static void put_location(struct json *j, const struct store_cause *c, bool page, struct arena *a)
{
	json_array(j, "locations");
	json_object(j, NULL);
	if (page) {
		json_object(j, "physicalLocation");
		json_object(j, "artifactLocation");
		json_string(j, "uri", arena_printf(a, "%s/program.prog", c->id));
		json_end(j);
		json_object(j, "region");
		json_int(j, "startLine", 1);
		json_end(j);
		json_end(j);
	}
	json_array(j, "logicalLocations");
	json_object(j, NULL);
	json_string(j, "fullyQualifiedName", c->target);
	json_string(j, "kind", "module");
	json_end(j);
	json_end(j);
	json_end(j);
	json_end(j);
}

static void put_suppression(struct json *j, const struct store_cause *c, struct arena *a)
{
	json_array(j, "suppressions");
	json_object(j, NULL);
	json_string(j, "kind", "external");
	json_string(j, "justification", arena_printf(a, "%s%s%s", cause_decision(c), c->issue[0] ? ": " : "", c->issue));
	json_end(j);
	json_end(j);
}

static void put_result(struct json *j, const struct page_store *all, int i, struct arena *a)
{
	static const char *const level[NSEVERITIES] = {[SEVERITY_TRIVIAL] = "note", [SEVERITY_NORMAL] = "warning", [SEVERITY_HIGH] = "error"};
	const struct store_cause *c = &all->causes.cause[i];
	json_object(j, NULL);
	json_string(j, "ruleId", rule_id(c, a));
	json_int(j, "ruleIndex", i);
	json_string(j, "level", level[c->severity]);
	put_message(j, "message", arena_printf(a, "%s (finding %s, seen %lld time%s)", c->title, c->id, (long long)c->nobs, plural(c->nobs)));
	put_location(j, c, all->row[i].page, a);
	json_object(j, "partialFingerprints");
	json_string(j, "scatterproofCause/v1", fingerprint(c, a));
	json_end(j);
	if (!c->open)
		put_suppression(j, c, a);
	json_end(j);
}

void sarif_write(struct strbuf *sb, const struct page_store *all, struct arena *a)
{
	const char *space = strchr(SCATTERPROOF, ' ');
	struct json j = json_into(sb, JSON_SPACED);
	json_object(&j, NULL);
	json_string(&j, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
	json_string(&j, "version", "2.1.0");
	json_array(&j, "runs");
	json_object(&j, NULL);
	json_object(&j, "tool");
	json_object(&j, "driver");
	json_string(&j, "name", "scatterproof");
	json_string(&j, "version", space ? space + 1 : "0");
	json_array(&j, "rules");
	for (int i = 0; i < all->causes.n; i++)
		put_rule(&j, &all->causes.cause[i], a);
	json_end(&j);
	json_end(&j);
	json_end(&j);
	json_string(&j, "columnKind", "unicodeCodePoints");
	json_array(&j, "results");
	for (int i = 0; i < all->causes.n; i++)
		put_result(&j, all, i, a);
	json_end(&j);
	json_end(&j);
	json_end(&j);
	json_end(&j);
	sb_putc(sb, '\n');
}
