/* cmd_report.c: a store as files that people and machines read. Everything is rendered from what triage kept: nothing is run, so a report
 * is made anywhere, in seconds, and twice gives the same but for the time. */
#include "eager/base/clock.h"
#include "eager/base/escape.h"
#include "eager/base/interrupt.h"
#include "eager/base/output.h"
#include "fuzz/cli/commands.h"
#include "fuzz/cli/finding_script.h"
#include "fuzz/triage/title.h"
#include "reports/page/ci.h"
#include "reports/page/folder.h"
#include "reports/page/html.h"
#include "reports/page/issue.h"
#include "reports/page/page_json.h"

struct reporting {
	const struct options *o;
	struct store *store;
	struct page_store all;
	const struct upstream *known;
	struct folder folder;
	struct arena a;
	int npages;
};

static int from_folder(enum folder_status status)
{
	return status == FOLDER_OK ? EXIT_CLEAN : status == FOLDER_BAD ? EXIT_USAGE : EXIT_TARGET;
}

/* What is wrong with the store, said. */
static int from_store(const struct reporting *r, enum store_status status)
{
	if (status != STORE_OK)
		complain("%s", store_message(r->store));
	return store_exit_code(status);
}

/* ---- which causes -------------------------------------------------------------------------------------------------------------------- */

static int choose(struct reporting *r)
{
	struct strbuf complaint;
	int rc = EXIT_CLEAN;
	sb_init(&complaint);
	for (int i = 0; i < r->o->nfile && rc == EXIT_CLEAN; i++) {
		const struct store_cause *c = store_causes_find(&r->all.causes, r->o->file[i], &complaint);
		if (c)
			r->all.row[c - r->all.causes.cause].page = true;
		else
			rc = EXIT_USAGE;
	}
	if (rc != EXIT_CLEAN)
		complain("%s", complaint.s);
	for (int i = 0; !r->o->nfile && i < r->all.causes.n; i++)
		r->all.row[i].page = r->o->all || r->all.causes.cause[i].open;
	sb_free(&complaint);
	return rc;
}

/* ---- a cause ------------------------------------------------------------------------------------------------------------------------- */

typedef void part_fn(struct strbuf *sb, const struct cause_page *p, struct arena *a);

static void put_program(struct strbuf *sb, const struct cause_page *p, struct arena *a)
{
	(void)a;
	sb_puts(sb, p->c->program);
}

static void put_script(struct strbuf *sb, const struct cause_page *p, struct arena *a)
{
	(void)a;
	escape_lines(sb, "", p->script, strlen(p->script)); /* a merged store's may hold anything; ours has nothing to escape */
}

static void put_page(struct strbuf *sb, const struct cause_page *p, struct arena *a)
{
	struct strbuf json;
	sb_init(&json);
	page_json(&json, p, a);
	html_page(sb, page_cause_html, &json);
	sb_free(&json);
}

/* What only those who know targets can say; and the judged script, where triage kept no short one. */
static void complete(struct cause_page *p, const char *db, struct arena *a)
{
	struct strbuf sb;
	struct err err = {0};
	p->where = title_where(p->c, a);
	sb_init(&sb);
	if (!p->script[0] && finding_script_of(&sb, &p->f, db, a, &err))
		p->script = arena_strdup(a, sb.s);
	sb_free(&sb);
}

static const char *const part_name[] = {"program.prog", "repro.py", "issue.md", "cause.json", "index.html"};

static int write_parts(const struct folder *f, const struct cause_page *p, struct arena *a)
{
	static part_fn *const put[ARRAY_LEN(part_name)] = {put_program, put_script, issue_write, page_json, put_page};
	struct err err = {0};
	enum folder_status status = FOLDER_OK;
	for (int i = 0; i < ARRAY_LEN(part_name) && status == FOLDER_OK; i++) {
		struct strbuf sb;
		sb_init(&sb);
		put[i](&sb, p, a);
		if (sb.len) /* a cause without a script has no file of it */
			status = folder_write(f, part_name[i], &sb, &err);
		sb_free(&sb);
	}
	if (status != FOLDER_OK)
		complain("%s", err.msg);
	return from_folder(status);
}

static int write_cause(struct reporting *r, const struct store_cause *c)
{
	struct arena once;
	struct cause_page p;
	struct folder inside = {.fd = -1};
	struct err err = {0};
	arena_init(&once);
	int rc = from_store(r, page_load(&p, &r->all, c, r->store, r->known, &once));
	if (rc == EXIT_CLEAN) {
		complete(&p, r->o->db, &once);
		rc = from_folder(folder_inside(&inside, &r->folder, c->id, &once, &err));
		if (rc != EXIT_CLEAN)
			complain("%s", err.msg);
		else
			rc = write_parts(&inside, &p, &once);
		page_close(&p);
	}
	folder_close(&inside);
	arena_free(&once);
	r->npages += rc == EXIT_CLEAN;
	return rc;
}

/* ---- all of them --------------------------------------------------------------------------------------------------------------------- */

static int write_file(struct reporting *r, const char *name, struct strbuf *sb)
{
	struct err err = {0};
	const enum folder_status status = folder_write(&r->folder, name, sb, &err);
	if (status != FOLDER_OK)
		complain("%s", err.msg);
	sb_free(sb);
	return from_folder(status);
}

static int write_overview(struct reporting *r)
{
	struct strbuf json, html, junit, sarif, summary;
	char made[32];
	store_time_text(made, clock_unix_ms());
	sb_init(&json);
	sb_init(&html);
	sb_init(&junit);
	sb_init(&sarif);
	sb_init(&summary);
	overview_json(&json, &r->all, made, &r->a);
	html_page(&html, page_index_html, &json);
	junit_write(&junit, &r->all);
	sarif_write(&sarif, &r->all, &r->a);
	summary_write(&summary, &r->all);
	const struct {
		const char *name;
		struct strbuf *text;
	} file[] = {{"report.json", &json}, {"index.html", &html}, {"junit.xml", &junit}, {"sarif.json", &sarif}, {"summary.md", &summary}};
	int rc = EXIT_CLEAN;
	for (int i = 0; i < ARRAY_LEN(file); i++)
		if (rc == EXIT_CLEAN)
			rc = write_file(r, file[i].name, file[i].text);
		else
			sb_free(file[i].text);
	return rc;
}

static bool has_page(void *ctx, const char *name)
{
	const struct reporting *r = ctx;
	for (int i = 0; i < r->all.causes.n; i++)
		if (r->all.row[i].page && str_eq(r->all.causes.cause[i].id, name))
			return true;
	return false;
}

/* The folders of an earlier report whose causes are decided, or have another representative, would still call them open. */
static int drop_others(struct reporting *r)
{
	struct err err = {0};
	const char *file[ARRAY_LEN(part_name)];
	struct folder_drop d = {.keep = has_page, .ctx = r, .file = file, .mark = "cause.json"};
	for (int i = 0; i < ARRAY_LEN(part_name); i++)
		if (!str_eq(part_name[i], d.mark))
			file[d.nfiles++] = part_name[i];
	const enum folder_status status = folder_drop(&r->folder, &d, &err);
	if (status != FOLDER_OK)
		complain("%s", err.msg);
	return from_folder(status);
}

static int write_all(struct reporting *r)
{
	struct err err = {0};
	int rc = from_folder(folder_open(&r->folder, r->o->folder, &err));
	if (rc != EXIT_CLEAN)
		complain("%s", err.msg);
	for (int i = 0; i < r->all.causes.n && rc == EXIT_CLEAN && !interrupt_asked(); i++)
		if (r->all.row[i].page)
			rc = write_cause(r, &r->all.causes.cause[i]);
	if (rc == EXIT_CLEAN && !interrupt_asked())
		rc = write_overview(r);
	if (rc == EXIT_CLEAN && !interrupt_asked() && !r->o->nfile)
		rc = drop_others(r);
	folder_close(&r->folder);
	return interrupt_asked() ? 128 + interrupt_asked() : rc;
}

/* ---- the command --------------------------------------------------------------------------------------------------------------------- */

static int open_store(struct reporting *r)
{
	enum store_status st;
	struct err err = {0};
	r->known = r->o->upstream ? upstream_read(r->o->upstream, &r->a, &err) : upstream_known(&r->a);
	if (!r->known) {
		complain("%s", err.msg);
		return EXIT_USAGE;
	}
	r->store = store_open(&st, r->o->db, STORE_READ, &err);
	if (!r->store) {
		complain("%s", err.msg);
		return store_exit_code(st);
	}
	const int rc = from_store(r, page_store_load(&r->all, r->store, r->o->db, &r->a));
	if (rc == EXIT_CLEAN)
		titles_write(&r->all.causes, &r->a);
	return rc;
}

int cmd_report(const struct options *o)
{
	struct reporting r = {.o = o, .folder = {.fd = -1}};
	if (!o->db || !o->folder) {
		complain("report: --db FILE and -o DIR are needed (try --help)");
		return EXIT_USAGE;
	}
	if (o->all && o->nfile) {
		complain("report: --all and IDs exclude each other");
		return EXIT_USAGE;
	}
	arena_init(&r.a);
	interrupt_catch(NULL);
	int rc = open_store(&r);
	if (rc == EXIT_CLEAN)
		rc = choose(&r);
	if (rc == EXIT_CLEAN)
		rc = write_all(&r);
	if (rc == EXIT_CLEAN)
		printf("%d cause%s, %d with a folder: %s/index.html\n", r.all.causes.n, r.all.causes.n == 1 ? "" : "s", r.npages, o->folder);
	store_close(r.store, NULL);
	arena_free(&r.a);
	return rc;
}
