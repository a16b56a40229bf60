/* findings_show.c: see findings_show.h. */
#include "reports/render/findings_show.h"

#include "eager/base/json.h"
#include "reports/life/lifecycle.h"

/* ---- harmless text -------------------------------------------------------------------------------------------------- */

void text_block(struct strbuf *sb, const char *indent, const char *s, size_t n)
{
	sb_puts(sb, n ? indent : "");
	escape_lines(sb, indent, s, n);
	if (n && s[n - 1] != '\n')
		sb_putc(sb, '\n');
}

void text_cell(struct strbuf *sb, const char *s, size_t n)
{
	for (size_t i = 0; i < n;) {
		if (s[i] == '\\') {
			sb_puts(sb, "\\\\");
			i++;
		} else {
			i += escape_char(sb, s + i, n - i);
		}
	}
}

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
	text_block(sb, indent, s, shown);
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
	text_cell(sb, s, shown);
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
		text_block(sb, "    ", o->detail, cut_length(o->detail, strlen(o->detail)));
	}
}

/* The database keeps the word that its first version had; people read one spelling. */
static const char *event_word(const char *kind)
{
	return str_eq(kind, event_kind_name[EVENT_MINIMIZED]) ? finding_state_name[STATE_MINIMISED] : kind;
}

static void show_history(struct strbuf *sb, const struct store_loaded *f)
{
	sb_puts(sb, "\nhistory\n");
	for (int i = 0; i < f->nevents; i++) {
		const struct store_loaded_event *e = &f->event[i];
		sb_puts(sb, "  ");
		put_time(sb, e->at);
		sb_printf(sb, "  %-10s", event_word(e->kind));
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
		sb_printf(sb, ", %zu bytes, ", f->artifact[i].nbytes);
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

static void key_text(struct strbuf *sb, const char *key, const char *s)
{
	json_key(sb, key);
	json_text(sb, s, strlen(s));
}

static void key_int(struct strbuf *sb, const char *key, int64_t v)
{
	json_key(sb, key);
	sb_printf(sb, "%lld", (long long)v);
}

static void key_time(struct strbuf *sb, const char *key, int64_t at)
{
	char text[32];
	store_time_text(text, at);
	key_text(sb, key, text);
}

static void open_list(struct strbuf *sb, const char *key)
{
	json_key(sb, key);
	sb_putc(sb, '[');
}

static void open_item(struct strbuf *sb, int nth) { sb_puts(sb, nth ? ",{" : "{"); }

static void json_environments(struct strbuf *sb, const struct store_loaded *f)
{
	open_list(sb, "environments");
	for (int i = 0; i < f->nenvs; i++) {
		const struct store_loaded_env *e = &f->env[i];
		open_item(sb, i);
		key_text(sb, "family", e->family);
		key_text(sb, "version", e->version);
		key_text(sb, "target", e->target);
		key_text(sb, "versions", e->versions);
		key_text(sb, "device", e->device);
		key_text(sb, "machine", e->machine);
		key_int(sb, "nobs", e->nobs);
		key_int(sb, "npass", e->npass);
		key_time(sb, "first_seen", e->first_seen);
		key_time(sb, "last_seen", e->last_seen);
		sb_putc(sb, '}');
	}
	sb_putc(sb, ']');
}

static void json_programs(struct strbuf *sb, const struct store_loaded *f)
{
	open_list(sb, "programs");
	for (int i = 0; i < f->nprograms; i++) {
		open_item(sb, i);
		key_text(sb, "id", f->programs[i].hex);
		key_text(sb, "text", f->programs[i].text);
		sb_putc(sb, '}');
	}
	sb_putc(sb, ']');
}

static void json_observations(struct strbuf *sb, const struct store_loaded *f)
{
	char program[33];
	open_list(sb, "observations");
	for (int i = 0; i < f->nobs_stored; i++) {
		const struct store_loaded_obs *o = &f->obs[i];
		open_item(sb, i);
		key_time(sb, "at", o->at);
		key_text(sb, "target", o->env >= 0 ? f->env[o->env].target : "");
		hash_hex(program, &o->program);
		key_text(sb, "program", program);
		key_text(sb, "verdict", o->verdict);
		key_text(sb, "tensor", o->tensor);
		key_int(sb, "fill", o->fill);
		key_int(sb, "call", o->call);
		key_text(sb, "detail", o->detail);
		sb_putc(sb, '}');
	}
	sb_putc(sb, ']');
}

static void json_events(struct strbuf *sb, const struct store_loaded *f)
{
	open_list(sb, "events");
	for (int i = 0; i < f->nevents; i++) {
		const struct store_loaded_event *e = &f->event[i];
		open_item(sb, i);
		key_time(sb, "at", e->at);
		key_text(sb, "kind", e->kind);
		key_text(sb, "payload", e->payload);
		key_text(sb, "issue", e->issue_url);
		key_text(sb, "tool", e->tool);
		sb_putc(sb, '}');
	}
	sb_putc(sb, ']');
}

/* Text as "text", other bytes as "hex". */
static void json_artifacts(struct strbuf *sb, const struct store_loaded *f)
{
	open_list(sb, "artifacts");
	for (int i = 0; i < f->nartifacts; i++) {
		const struct store_loaded_artifact *x = &f->artifact[i];
		bool text = utf8_valid(x->bytes, x->nbytes) && (x->nbytes == 0 || !memchr(x->bytes, 0, x->nbytes));
		open_item(sb, i);
		key_text(sb, "name", x->name);
		key_time(sb, "at", x->at);
		key_int(sb, "nbytes", (int64_t)x->nbytes);
		json_key(sb, text ? "text" : "hex");
		if (text)
			json_text(sb, x->bytes, x->nbytes);
		else
			json_hex(sb, x->bytes, x->nbytes);
		sb_putc(sb, '}');
	}
	sb_putc(sb, ']');
}

void finding_show_json(struct strbuf *sb, const struct store_loaded *f, const char *short_id, const char *db)
{
	const struct shown x = {f, short_id, db};
	struct strbuf repro;
	sb_init(&repro);
	repro_command(&repro, &x);
	sb_putc(sb, '{');
	key_text(sb, "id", short_id);
	key_text(sb, "full_id", f->hex);
	key_text(sb, "kind", finding_kind_name[f->kind]);
	key_text(sb, "target", target_of(f));
	key_text(sb, "family", f->family);
	key_text(sb, "state", finding_state_name[f->state]);
	key_text(sb, "duplicate_of", finding_original(f));
	key_text(sb, "severity", finding_severity_name[f->severity]);
	key_text(sb, "signature", f->signature);
	key_text(sb, "ops", f->ops);
	key_time(sb, "first_seen", f->first_seen);
	key_time(sb, "last_seen", f->last_seen);
	key_int(sb, "nobs", f->nobs);
	key_int(sb, "npass", f->npass);
	key_text(sb, "program", f->program);
	json_key(sb, "minimised");
	f->minimised ? json_text(sb, f->minimised, strlen(f->minimised)) : sb_puts(sb, "null");
	json_environments(sb, f);
	json_events(sb, f);
	json_observations(sb, f);
	json_programs(sb, f);
	json_artifacts(sb, f);
	key_text(sb, "repro", repro.s);
	sb_puts(sb, "}\n");
	sb_free(&repro);
}
