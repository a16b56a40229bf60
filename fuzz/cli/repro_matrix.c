/* repro_matrix.c: rows are stages, columns versions. A column is asked from top to bottom in one child, which starts once. */
#include "fuzz/cli/repro_matrix.h"

#include <unistd.h>

#include "compiled/targets/driver.h"
#include "eager/base/escape.h"
#include "eager/base/json.h"
#include "eager/base/output.h"
#include "fuzz/campaign/progress.h"
#include "fuzz/campaign/rerun.h"
#include "fuzz/cli/keep_result.h"

enum { MAX_ROWS = 32, MAX_COLUMNS = 32 };

struct cell {
	bool asked;
	const char *target, *word, *why; /* why: one line, "" for what passes or fails as the finding says */
};
struct matrix {
	const struct options *o;
	const struct found *x;
	struct arena *a;
	int nrow, ncol;
	struct target row[MAX_ROWS];    /* without a version */
	struct target col[MAX_COLUMNS]; /* family and version; the rest is the row's */
	bool wanted[MAX_ROWS][MAX_COLUMNS];
	struct cell cell[MAX_ROWS][MAX_COLUMNS];
	int nanswer;
};

/* ---- what is asked ------------------------------------------------------------------------------------------------------------------ */

static struct target without_version(const struct target *t)
{
	struct target r = *t;
	r.version[0] = 0;
	return r;
}

static int add_row(struct matrix *m, const struct target *t)
{
	struct target r = without_version(t);
	int i = 0;
	while (i < m->nrow && !str_eq(target_text(&m->row[i], m->a), target_text(&r, m->a)))
		i++;
	if (i == MAX_ROWS)
		return -1;
	m->row[i] = r;
	m->nrow = MAX(m->nrow, i + 1);
	return i;
}

static int add_column(struct matrix *m, const struct target *t)
{
	int i = 0;
	while (i < m->ncol && !(m->col[i].driver == t->driver && str_eq(m->col[i].version, t->version)))
		i++;
	if (i == MAX_COLUMNS)
		return -1;
	m->col[i] = *t;
	m->ncol = MAX(m->ncol, i + 1);
	return i;
}

static void want(struct matrix *m, const struct target *t)
{
	int r = add_row(m, t), c = add_column(m, t);
	if (r >= 0 && c >= 0)
		m->wanted[r][c] = true;
}

/* A name without a version means the default one, but for an interpreter that somebody names, which has its own. */
static void want_named(struct matrix *m)
{
	for (int i = 0; i < m->o->ntarget; i++) {
		struct target t = m->o->target[i];
		if (!t.version[0] && t.driver->default_version && !m->o->python)
			snprintf(t.version, sizeof t.version, "%s", t.driver->default_version);
		want(m, &t);
	}
}

/* The ladder of the finding's target, on every version. */
static void want_everything(struct matrix *m)
{
	struct target rung[MAX_ROWS];
	struct target_installed *installed = NULL;
	int n = target_ladder(rung, MAX_ROWS - 1, &m->x->t), nversion = 0;
	bool versions = target_has_versions(&m->x->t) && !m->o->python && m->x->t.driver->installed;
	rung[n++] = m->x->t;
	if (versions)
		nversion = m->x->t.driver->installed(&installed, m->a);
	for (int i = 0; i < n; i++) {
		struct target t = versions || m->o->python ? without_version(&rung[i]) : rung[i];
		for (int v = 0; v < nversion; v++) {
			snprintf(t.version, sizeof t.version, "%s", installed[v].version);
			want(m, &t);
		}
		if (!versions)
			want(m, &t);
	}
}

/* ---- asking ----------------------------------------------------------------------------------------------------------------------- */

static struct cell cell_of(const struct matrix *m, const struct target *t, const struct rerun *v)
{
	enum rerun_answer answer = rerun_answer(v);
	bool plain = answer == RERUN_PASSES || answer == RERUN_FAILS;
	const char *why = plain ? "" : v->claim == CLAIM_REFUTED ? v->o.why : v->why;
	return (struct cell){true, target_text(t, m->a), rerun_word[answer], arena_strdup(m->a, why)};
}

static struct exec *open_column(struct matrix *m, struct target *t, const char **problem)
{
	struct exec_options eo = {.self = m->o->self, .python = m->o->python, .limit_ms = m->o->limit_ms};
	struct err err = {0};
	struct exec *e = exec_open(t, &eo, &err);
	if (e && exec_identify(t, e, &err) == EXEC_IDENTIFIED)
		return e;
	exec_close(e);
	*problem = arena_strdup(m->a, err.msg);
	return NULL;
}

static void status(const struct target *t, struct arena *a)
{
	if (progress_terminal(STDERR_FILENO))
		progress_control(arena_printf(a, "\r\x1b[K%s%s", t ? escaped_line(a, target_text(t, a)) : "", t ? " ..." : ""));
}

static void ask_column(struct matrix *m, int c)
{
	struct exec *e = NULL;
	struct target home = {0};
	const char *problem = NULL;
	for (int r = 0; r < m->nrow; r++) {
		struct target t = m->row[r];
		struct arena a;
		struct rerun v;
		if (!m->wanted[r][c])
			continue;
		snprintf(t.version, sizeof t.version, "%s", m->col[c].version);
		if (!e || !target_same_home(&home, &t)) {
			exec_close(e);
			problem = NULL;
			home = t;
			e = open_column(m, &home, &problem);
		}
		snprintf(t.version, sizeof t.version, "%s", home.version);
		if (!e) {
			m->cell[r][c] = (struct cell){true, target_text(&t, m->a), "not here", problem};
			continue;
		}
		status(&t, m->a);
		arena_init(&a);
		rerun_finding(&v, e, m->x, &t, &a);
		m->cell[r][c] = cell_of(m, &t, &v);
		m->nanswer++;
		arena_free(&a);
	}
	if (home.driver)
		m->col[c] = home;
	exec_close(e);
}

/* ---- saying ------------------------------------------------------------------------------------------------------------------------ */

static const char *column_name(const struct matrix *m, int c)
{
	return m->col[c].version[0] ? m->col[c].version : target_family(&m->col[c]);
}

static const char *row_name(const struct matrix *m, int r) { return target_text(&m->row[r], m->a); }

static void print_table(const struct matrix *m)
{
	const struct found *x = m->x;
	int wide = 0;
	printf("%.*s: %s; program %.*s\n", STORE_ID_DIGITS, x->f.hex, claim_text(&x->claim, m->a), STORE_ID_DIGITS, x->program_id);
	for (int r = 0; r < m->nrow; r++)
		wide = MAX(wide, (int)strlen(row_name(m, r)));
	printf("%-*s", wide, "");
	for (int c = 0; c < m->ncol; c++)
		printf("  %-11s", column_name(m, c));
	for (int r = 0; r < m->nrow; r++) {
		printf("\n%-*s", wide, row_name(m, r));
		for (int c = 0; c < m->ncol; c++)
			printf("  %-11s", m->cell[r][c].asked ? m->cell[r][c].word : "");
	}
	printf("\n");
	for (int c = 0; c < m->ncol; c++)
		for (int r = 0; r < m->nrow; r++)
			if (m->cell[r][c].asked && m->cell[r][c].why[0])
				printf("%s: %s: %s\n", m->cell[r][c].target, m->cell[r][c].word, escaped_line(m->a, m->cell[r][c].why));
}

static void print_json(const struct matrix *m)
{
	struct strbuf sb;
	sb_init(&sb);
	for (int r = 0; r < m->nrow; r++)
		for (int c = 0; c < m->ncol; c++) {
			if (!m->cell[r][c].asked)
				continue;
			struct json j = json_into(&sb, JSON_SPACED);
			json_object(&j, NULL);
			json_string(&j, "finding", m->x->f.hex);
			json_string(&j, "program", m->x->program_id);
			json_string(&j, "target", m->cell[r][c].target);
			json_string(&j, "row", row_name(m, r));
			json_string(&j, "version", m->col[c].version);
			json_string(&j, "answer", m->cell[r][c].word);
			json_string(&j, "why", m->cell[r][c].why);
			json_end(&j);
			sb_putc(&sb, '\n');
		}
	printf("%s", sb.s);
	sb_free(&sb);
}

/* --store: the artifact `matrix`, see docs/store.md. */
static const char *artifact_text(const struct matrix *m)
{
	struct strbuf sb;
	struct json j = json_into(&sb, JSON_SPACED);
	sb_init(&sb);
	json_object(&j, NULL);
	json_int(&j, "schema", 1);
	json_string(&j, "program", m->x->program_id);
	json_array(&j, "stages");
	for (int r = 0; r < m->nrow; r++)
		json_string(&j, NULL, row_name(m, r));
	json_end(&j);
	json_array(&j, "versions");
	for (int c = 0; c < m->ncol; c++)
		json_string(&j, NULL, column_name(m, c));
	json_end(&j);
	json_array(&j, "cells");
	for (int r = 0; r < m->nrow; r++)
		for (int c = 0; c < m->ncol; c++) {
			const struct cell *cell = &m->cell[r][c];
			if (!cell->asked)
				continue;
			json_object(&j, NULL);
			json_string(&j, "stage", row_name(m, r));
			json_string(&j, "version", column_name(m, c));
			json_string(&j, "answer", cell->word);
			if (cell->why[0])
				json_string(&j, "why", cell->why);
			json_end(&j);
		}
	json_end(&j);
	json_end(&j);
	const char *text = arena_strdup(m->a, sb.s);
	sb_free(&sb);
	return text;
}

int repro_matrix(const struct options *o, const struct found *x, struct arena *a)
{
	struct matrix *m = ARENA_ZNEW(a, struct matrix, 1);
	*m = (struct matrix){.o = o, .x = x, .a = a};
	int rc = o->store ? result_can_be_kept(o->db) : EXIT_CLEAN;
	if (rc != EXIT_CLEAN)
		return rc;
	if (o->ntarget)
		want_named(m);
	else
		want_everything(m);
	bug_context(x->obs->program_text);
	for (int c = 0; c < m->ncol; c++)
		ask_column(m, c);
	bug_context(NULL);
	status(NULL, a);
	if (o->json)
		print_json(m);
	else
		print_table(m);
	if (!m->ncol)
		complain("repro: no version of %s is on this machine", target_family(&x->t));
	if (m->nanswer && o->store)
		rc = result_keep(o->db, &x->f.id, "matrix", artifact_text(m));
	return m->nanswer ? rc : EXIT_TARGET;
}
