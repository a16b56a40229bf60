/* findings_show.c: see findings_show.h. */
#include "reports/render/findings_show.h"

#include "eager/base/json.h"
#include "reports/life/lifecycle.h"

/* ---- harmless text -------------------------------------------------------------------------------------------------- */

static void put_time(struct strbuf *sb, int64_t at)
{
	char text[32];
	store_time_text(text, at);
	sb_puts(sb, text);
}

/* What commands need to name the finding. */
struct shown {
	const struct store_loaded *f;
	const char *short_id, *db;
};

static void repro_command(struct strbuf *sb, const struct shown *x)
{
	sb_printf(sb, "scatterproof repro %s --db ", x->short_id);
	escape_shell(sb, x->db);
}

static void show_command(struct strbuf *sb, const struct shown *x, const char *option, const char *value)
{
	sb_printf(sb, "scatterproof findings show %s %s ", x->short_id, option);
	escape_shell(sb, value);
	sb_puts(sb, " --db ");
	escape_shell(sb, x->db);
}

static const char *target_of(const struct store_loaded *f) { return f->nenvs ? f->env[0].target : f->family; }

/* ---- long text -------------------------------------------------------------------------------------------------------------- */

enum { MOST_LINES = 100, MOST_BYTES = 8192, MOST_CELL = 500 };

/* The part of s that is shown: some whole lines, or of a longer line some whole characters. */
static size_t cut_length(const char *s, size_t n)
{
	size_t whole = 0;
	int lines = 0;
	for (size_t i = 0; i < n && i < MOST_BYTES && lines < MOST_LINES; i++)
		if (s[i] == '\n') {
			whole = i + 1;
			lines++;
		}
	if (n <= MOST_BYTES && (lines < MOST_LINES || whole == n))
		return n;
	if (whole)
		return whole;
	size_t end = MIN(n, (size_t)MOST_BYTES);
	while (end > MOST_BYTES - 4 && end < n && ((unsigned char)s[end] & 0xc0) == 0x80)
		end--;
	return end;
}

/* A block of lines; if it is cut, a line says so, with the command that prints all (option and value). */
static void put_block(
	struct strbuf *sb, const char *indent, const char *s, size_t n, const struct shown *x, const char *option, const char *value)
{
	size_t shown = cut_length(s, n);
	escape_block(sb, indent, s, shown);
	if (shown == n)
		return;
	sb_printf(sb, "%s... %zu bytes more; all of it: ", indent, n - shown);
	show_command(sb, x, option, value);
	sb_putc(sb, '\n');
}

static void cell(struct strbuf *sb, const char *s)
{
	size_t n = strlen(s), shown = n;
	if (n > MOST_CELL)
		for (shown = MOST_CELL; shown > MOST_CELL - 4 && ((unsigned char)s[shown] & 0xc0) == 0x80;)
			shown--;
	escape_cell(sb, s, shown);
	if (shown < n)
		sb_printf(sb, "... (%zu bytes more: --json)", n - shown);
}

/* ---- text -------------------------------------------------------------------------------------------------------------- */

static void show_header(struct strbuf *sb, const struct store_loaded *f, const char *short_id)
{
	sb_printf(sb, "finding %s: %s on ", short_id, finding_kind_name[f->kind]);
	cell(sb, target_of(f));
	sb_printf(sb, ", %s%s%.*s, severity %s\n", finding_state_name[f->state], finding_original(f)[0] ? " of " : "", STORE_ID_DIGITS,
		finding_original(f), finding_severity_name[f->severity]);
	sb_printf(sb, "  id          %s\n  signature   ", f->hex);
	cell(sb, f->signature[0] ? f->signature : "(none yet)");
	sb_puts(sb, "\n  operators   ");
	cell(sb, f->ops);
	sb_puts(sb, "\n  first seen  ");
	put_time(sb, f->first_seen);
	sb_puts(sb, "\n  last seen   ");
	put_time(sb, f->last_seen);
	sb_printf(sb, "\n  observed    %lld time%s", (long long)f->nobs, f->nobs == 1 ? "" : "s");
	if (f->npass)
		sb_printf(sb, ", and passed %lld time%s", (long long)f->npass, f->npass == 1 ? "" : "s");
	sb_putc(sb, '\n');
}

static void show_environments(struct strbuf *sb, const struct shown *x)
{
	const struct store_loaded *f = x->f;
	sb_puts(sb, f->nenvs == 1 ? "\nenvironment\n" : "\nenvironments\n");
	for (int i = 0; i < f->nenvs; i++) {
		const struct store_loaded_env *e = &f->env[i];
		sb_puts(sb, "  ");
		cell(sb, e->target);
		sb_printf(sb, ": observed %lld, passed %lld, last ", (long long)e->nobs, (long long)e->npass);
		put_time(sb, e->last_seen);
		sb_putc(sb, '\n');
		const char *const lines[] = {e->versions, e->device, e->machine};
		for (int k = 0; k < ARRAY_LEN(lines); k++)
			if (lines[k][0]) {
				sb_puts(sb, "    ");
				cell(sb, lines[k]);
				sb_putc(sb, '\n');
			}
	}
}

static void show_observations(struct strbuf *sb, const struct shown *x)
{
	const struct store_loaded *f = x->f;
	char program[33];
	sb_printf(sb, "\nobservations (%d kept of %lld, the first of each program and environment)\n", f->nobs_stored, (long long)f->nobs);
	for (int i = 0; i < f->nobs_stored; i++) {
		const struct store_loaded_obs *o = &f->obs[i];
		sb_puts(sb, "  ");
		put_time(sb, o->at);
		sb_puts(sb, "  ");
		cell(sb, o->verdict);
		hash_hex(program, &o->program);
		sb_printf(sb, ", program %.*s", STORE_ID_DIGITS, program);
		if (o->tensor[0]) {
			sb_puts(sb, ", wrong tensor ");
			cell(sb, o->tensor);
		}
		if (o->fill >= 0)
			sb_printf(sb, ", fill %d", o->fill);
		if (o->call >= 0)
			sb_printf(sb, ", call %d", o->call);
		if (f->nenvs > 1 && o->env >= 0) {
			sb_puts(sb, ", ");
			cell(sb, f->env[o->env].target);
		}
		sb_putc(sb, '\n');
		escape_block(sb, "    ", o->detail, cut_length(o->detail, strlen(o->detail)));
	}
}

static void show_history(struct strbuf *sb, const struct store_loaded *f)
{
	sb_puts(sb, "\nhistory\n");
	for (int i = 0; i < f->nevents; i++) {
		const struct store_loaded_event *e = &f->event[i];
		sb_puts(sb, "  ");
		put_time(sb, e->at);
		sb_printf(sb, "  %-10s", e->kind);
		if (e->payload[0]) {
			sb_putc(sb, ' ');
			cell(sb, e->payload);
		}
		if (e->issue_url[0]) {
			sb_puts(sb, " <");
			cell(sb, e->issue_url);
			sb_putc(sb, '>');
		}
		sb_puts(sb, "  (");
		cell(sb, e->tool);
		sb_puts(sb, ")\n");
	}
}

static void show_artifacts(struct strbuf *sb, const struct shown *x)
{
	const struct store_loaded *f = x->f;
	if (f->nartifacts == 0)
		return;
	sb_puts(sb, "\nartifacts\n");
	for (int i = 0; i < f->nartifacts; i++) {
		sb_puts(sb, "  ");
		cell(sb, f->artifact[i].name);
		sb_printf(sb, ", %zu byte%s, ", f->artifact[i].nbytes, plural((int64_t)f->artifact[i].nbytes));
		put_time(sb, f->artifact[i].at);
		sb_putc(sb, '\n');
	}
	sb_puts(sb, "one of them: ");
	show_command(sb, x, "--artifact", "NAME");
	sb_putc(sb, '\n');
}

/* The first program, and the minimised one, from column 1, so that they can be copied out of a terminal into a file as they are. */
static void show_programs(struct strbuf *sb, const struct shown *x)
{
	const struct store_loaded *f = x->f;
	for (int i = 0; i < f->nprograms; i++) {
		const struct store_loaded_program *p = &f->programs[i];
		bool minimised = f->minimised && p->text == f->minimised;
		if (i > 0 && !minimised)
			continue;
		sb_printf(sb, "\n%sprogram %.*s\n\n", minimised ? "minimised " : "", STORE_ID_DIGITS, p->hex);
		put_block(sb, "", p->text, strlen(p->text), x, "--program", p->hex);
	}
	int nothers = f->nprograms - 1 - (f->minimised != NULL);
	if (nothers <= 0)
		return;
	sb_printf(sb, "\n%d other program%s with this signature\n", nothers, nothers == 1 ? "" : "s");
	for (int i = 1; i < f->nprograms; i++)
		if (f->programs[i].text != f->minimised)
			sb_printf(sb, "  %.*s, %zu bytes\n", STORE_ID_DIGITS, f->programs[i].hex, strlen(f->programs[i].text));
	sb_puts(sb, "one of them: ");
	show_command(sb, x, "--program", "ID");
	sb_putc(sb, '\n');
}

/* A report carries its program, which stands above already. */
static void show_report(struct strbuf *sb, const struct shown *x, const struct store_loaded_artifact *report)
{
	const struct store_loaded *f = x->f;
	const char *s = report->bytes, *copy = strlen(s) == report->nbytes && f->program[0] ? strstr(s, f->program) : NULL;
	size_t before = copy ? (size_t)(copy - s) : report->nbytes, after = copy ? before + strlen(f->program) : report->nbytes;
	sb_puts(sb, "\nreport\n");
	put_block(sb, "  ", s, before, x, "--artifact", "report");
	if (cut_length(s, before) == before)
		put_block(sb, "  ", s + after, report->nbytes - after, x, "--artifact", "report");
}

void finding_show_text(struct strbuf *sb, const struct store_loaded *f, const char *short_id, const char *db)
{
	const struct shown x = {f, short_id, db};
	const struct store_loaded_artifact *report = store_loaded_artifact(f, "report");
	show_header(sb, f, short_id);
	show_environments(sb, &x);
	show_history(sb, f);
	show_observations(sb, &x);
	show_programs(sb, &x);
	if (report)
		show_report(sb, &x, report);
	show_artifacts(sb, &x);
	sb_puts(sb, "\nrun it again\n  ");
	repro_command(sb, &x);
	sb_putc(sb, '\n');
}

/* ---- JSON -------------------------------------------------------------------------------------------------------------------- */

static void json_time(struct json *j, const char *key, int64_t at)
{
	char text[32];
	store_time_text(text, at);
	json_string(j, key, text);
}

static void json_environments(struct json *j, const struct store_loaded *f)
{
	json_array(j, "environments");
	for (int i = 0; i < f->nenvs; i++) {
		const struct store_loaded_env *e = &f->env[i];
		json_object(j, NULL);
		json_string(j, "family", e->family);
		json_string(j, "version", e->version);
		json_string(j, "target", e->target);
		json_string(j, "versions", e->versions);
		json_string(j, "device", e->device);
		json_string(j, "machine", e->machine);
		json_int(j, "nobs", e->nobs);
		json_int(j, "npass", e->npass);
		json_time(j, "first_seen", e->first_seen);
		json_time(j, "last_seen", e->last_seen);
		json_end(j);
	}
	json_end(j);
}

static void json_programs(struct json *j, const struct store_loaded *f)
{
	json_array(j, "programs");
	for (int i = 0; i < f->nprograms; i++) {
		json_object(j, NULL);
		json_string(j, "id", f->programs[i].hex);
		json_string(j, "text", f->programs[i].text);
		json_end(j);
	}
	json_end(j);
}

static void json_observations(struct json *j, const struct store_loaded *f)
{
	char program[33];
	json_array(j, "observations");
	for (int i = 0; i < f->nobs_stored; i++) {
		const struct store_loaded_obs *o = &f->obs[i];
		json_object(j, NULL);
		json_time(j, "at", o->at);
		json_string(j, "target", o->env >= 0 ? f->env[o->env].target : "");
		hash_hex(program, &o->program);
		json_string(j, "program", program);
		json_string(j, "verdict", o->verdict);
		json_string(j, "tensor", o->tensor);
		json_int(j, "fill", o->fill);
		json_int(j, "call", o->call);
		json_string(j, "detail", o->detail);
		json_end(j);
	}
	json_end(j);
}

static void json_events(struct json *j, const struct store_loaded *f)
{
	json_array(j, "events");
	for (int i = 0; i < f->nevents; i++) {
		const struct store_loaded_event *e = &f->event[i];
		json_object(j, NULL);
		json_time(j, "at", e->at);
		json_string(j, "kind", e->kind);
		json_string(j, "payload", e->payload);
		json_string(j, "issue", e->issue_url);
		json_string(j, "tool", e->tool);
		json_end(j);
	}
	json_end(j);
}

/* Text as "text", other bytes as "hex". */
static void json_artifacts(struct json *j, const struct store_loaded *f)
{
	json_array(j, "artifacts");
	for (int i = 0; i < f->nartifacts; i++) {
		const struct store_loaded_artifact *x = &f->artifact[i];
		bool text = utf8_valid(x->bytes, x->nbytes) && (x->nbytes == 0 || !memchr(x->bytes, 0, x->nbytes));
		json_object(j, NULL);
		json_string(j, "name", x->name);
		json_time(j, "at", x->at);
		json_int(j, "nbytes", (int64_t)x->nbytes);
		if (text)
			json_text(j, "text", x->bytes, x->nbytes);
		else
			json_hex(j, "hex", x->bytes, x->nbytes);
		json_end(j);
	}
	json_end(j);
}

void finding_show_json(struct strbuf *sb, const struct store_loaded *f, const char *short_id, const char *db)
{
	const struct shown x = {f, short_id, db};
	struct strbuf repro;
	struct json j = json_into(sb, JSON_TIGHT);
	sb_init(&repro);
	repro_command(&repro, &x);
	json_object(&j, NULL);
	json_string(&j, "id", short_id);
	json_string(&j, "full_id", f->hex);
	json_string(&j, "kind", finding_kind_name[f->kind]);
	json_string(&j, "target", target_of(f));
	json_string(&j, "family", f->family);
	json_string(&j, "state", finding_state_name[f->state]);
	json_string(&j, "duplicate_of", finding_original(f));
	json_string(&j, "severity", finding_severity_name[f->severity]);
	json_string(&j, "signature", f->signature);
	json_string(&j, "ops", f->ops);
	json_time(&j, "first_seen", f->first_seen);
	json_time(&j, "last_seen", f->last_seen);
	json_int(&j, "nobs", f->nobs);
	json_int(&j, "npass", f->npass);
	json_string(&j, "program", f->program);
	if (f->minimised)
		json_string(&j, "minimised", f->minimised);
	else
		json_null(&j, "minimised");
	json_environments(&j, f);
	json_events(&j, f);
	json_observations(&j, f);
	json_programs(&j, f);
	json_artifacts(&j, f);
	json_string(&j, "repro", repro.s);
	json_end(&j);
	sb_putc(sb, '\n');
	sb_free(&repro);
}
