/* causes.c: see causes.h. */
#include "fuzz/cli/causes.h"

#include <inttypes.h>

#include "eager/base/escape.h"
#include "eager/base/json.h"
#include "fuzz/cli/ask.h"
#include "fuzz/cli/options.h"

struct printing {
	struct arena a;
	const char *db;
	bool json;
	int n, without; /* rows; those of findings without a cause */
};

enum { MAX_LINES = 16 };
enum { CAUSE, ID, SEVERITY, REACH, BLAME, NFINDINGS, NOBS, STATES, TARGETS, PROGRAM, IDS, NCOLUMNS };
static const char *const column_name[NCOLUMNS] = {
	"cause", "id", "severity", "reach", "blame", "nfindings", "nobs", "states", "targets", "program", "ids"};

static const char *text_of(const struct store_value *v, struct arena *a)
{
	return v->type == STORE_INT ? arena_printf(a, "%" PRId64, v->i) : arena_strdup(a, v->s ? v->s : "");
}

static void print_json(const struct store_value *v)
{
	struct strbuf sb;
	sb_init(&sb);
	struct json j = json_into(&sb, JSON_SPACED);
	json_object(&j, NULL);
	for (int i = 0; i < NCOLUMNS; i++)
		if (v[i].type == STORE_INT)
			json_int(&j, column_name[i], v[i].i);
		else
			json_text(&j, column_name[i], v[i].s ? v[i].s : "", v[i].s ? v[i].nbytes : 0);
	json_end(&j);
	printf("%s\n", sb.s);
	sb_free(&sb);
}

/* The first word of a list in which all are alike, or "several targets". */
static const char *first_target(const char *targets, struct arena *a)
{
	size_t n = strcspn(targets, " ");
	for (const char *s = targets; *s; s += strcspn(s, " "), s += *s == ' ')
		if (strcspn(s, " ") != n || strncmp(s, targets, n) != 0)
			return "several targets";
	return arena_printf(a, "%.*s", (int)n, targets);
}

/* What nobody has minimised yet can be long: the command that shows it stands for it. */
static void print_program(struct printing *p, const struct store_value *v)
{
	const char *text = text_of(&v[PROGRAM], &p->a);
	int n = 0;
	for (const char *s = text; *s; s++)
		n += *s == '\n';
	if (n <= MAX_LINES)
		printf("%s", escaped_lines(&p->a, "      ", arena_printf(&p->a, "      %s", text)));
	else
		printf("      a program of %d lines: scatterproof findings show %s --db %s\n", n, text_of(&v[ID], &p->a), p->db);
}

/* What finding_cause names a finding without a cause by: kind, these words, signature. */
#define WITHOUT "; not triaged; "

/* A cause as triage names it; of a finding without one (`without`: from these words on) how far triage came with it. */
static const char *headline(const char *cause, const char *without, const char *states, struct arena *a)
{
	if (!without)
		return cause;
	return arena_printf(a, "%.*s, %s: %s", (int)(without - cause), cause,
		strstr(states, "minimised") ? "minimised, not blamed yet" : "not triaged yet", without + strlen(WITHOUT));
}

static void print_text(struct printing *p, const struct store_value *v, const char *cause, const char *without)
{
	struct arena *a = &p->a;
	const char *const reach = text_of(&v[REACH], a), *blame = text_of(&v[BLAME], a);
	bool several = v[NFINDINGS].i != 1;
	printf("\n%d  %s  %s, in %" PRId64 " finding%s, seen %" PRId64 " time%s%s\n", p->n, text_of(&v[SEVERITY], a),
		escaped_line(a, first_target(text_of(&v[TARGETS], a), a)), v[NFINDINGS].i, several ? "s" : "", v[NOBS].i, v[NOBS].i == 1 ? "" : "s",
		str_eq(reach, "aten") ? "; only by calling the overload" : "");
	printf("   %s\n", escaped_line(a, headline(cause, without, text_of(&v[STATES], a), a)));
	if (blame[0])
		printf("   %s\n", escaped_line(a, blame));
	print_program(p, v);
	printf("   scatterproof repro %s --db %s%s%s\n", text_of(&v[ID], a), p->db, several ? "      all: " : "",
		several ? text_of(&v[IDS], a) : "");
}

static bool print_one(void *ctx, int ncols, const char *const *names, const struct store_value *v)
{
	struct printing *p = ctx;
	(void)names;
	if (!v)
		return true;
	CHECK(ncols == NCOLUMNS);
	const char *cause = text_of(&v[CAUSE], &p->a), *without = strstr(cause, WITHOUT);
	p->n++;
	p->without += without != NULL;
	if (p->json)
		print_json(v);
	else
		print_text(p, v, cause, without);
	arena_reset(&p->a);
	return true;
}

static void print_count(const struct printing *p)
{
	const int known = p->n - p->without;
	printf("%s%d open cause%s", p->n ? "\n" : "", known, known == 1 ? "" : "s");
	if (p->without)
		printf(", and %d finding%s without one yet: the next `triage` goes on there", p->without, p->without == 1 ? "" : "s");
	printf("\n");
}

const char causes_sql[] =
	"select c.cause, c.id, c.severity, c.reach, coalesce(nullif(c.blame, ''), (select 'not confirmed: ' || payload from v_events e "
	"where e.full_id = c.full_id and e.kind = 'unconfirmed' order by at desc limit 1), ''), c.nfindings, c.nobs, c.states, "
	"c.targets, p.text, c.ids from v_causes c join program p on lower(hex(p.id)) = c.program where c.open order by c.number";

int causes_print(const char *db, bool json)
{
	struct printing p = {.db = db, .json = json};
	arena_init(&p.a);
	int rc = ask_store(db, causes_sql, print_one, &p);
	if (rc == EXIT_CLEAN && !json)
		print_count(&p);
	arena_free(&p.a);
	return rc;
}
