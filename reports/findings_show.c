/* findings_show.c: see findings_show.h. */
#include "reports/findings_show.h"

#include "reports/json.h"
#include "reports/lifecycle.h"

/* ---- harmless text -------------------------------------------------------------------------------------------------- */

/* One character from s; control characters and broken bytes as \xNN. Returns the bytes used. */
static size_t put_char(struct strbuf *sb, const char *s, size_t n)
{
	size_t len = 1;
	unsigned char c = (unsigned char)s[0];
	while (len < 4 && len < n && ((unsigned char)s[len] & 0xc0) == 0x80)
		len++;
	if (c < 0x80)
		len = 1;
	bool c1_control = c == 0xc2 && len == 2 && (unsigned char)s[1] < 0xa0;
	if ((c >= 0x20 && c < 0x7f) || (c >= 0x80 && !c1_control && utf8_valid(s, len))) {
		sb_put(sb, s, len);
		return len;
	}
	sb_printf(sb, "\\x%02x", c);
	return 1;
}

void text_block(struct strbuf *sb, const char *indent, const char *s, size_t n)
{
	bool start = true;
	for (size_t i = 0; i < n;) {
		if (start)
			sb_puts(sb, indent);
		start = s[i] == '\n';
		if (s[i] == '\n' || s[i] == '\t')
			sb_putc(sb, s[i++]);
		else
			i += put_char(sb, s + i, n - i);
	}
	if (n && !start)
		sb_putc(sb, '\n');
}

void text_cell(struct strbuf *sb, const char *s, size_t n)
{
	for (size_t i = 0; i < n;) {
		if (s[i] == '\n' || s[i] == '\t' || s[i] == '\\') {
			sb_puts(sb, s[i] == '\n' ? "\\n" : s[i] == '\t' ? "\\t" : "\\\\");
			i++;
		} else {
			i += put_char(sb, s + i, n - i);
		}
	}
}

static void cell(struct strbuf *sb, const char *s) { text_cell(sb, s, strlen(s)); }
/* From column 1, so that it can be copied out of a terminal into a file as it is. */
static void show_program(struct strbuf *sb, const char *title, const char *text)
{
	sb_printf(sb, "\n%s\n\n", title);
	text_block(sb, "", text, strlen(text));
}

static void put_time(struct strbuf *sb, int64_t at)
{
	char text[32];
	store_time_text(text, at);
	sb_puts(sb, text);
}

/* In single quotes for a shell, if it needs any. */
static void shell_word(struct strbuf *sb, const char *s)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+=:,@%";
	if (*s && strspn(s, plain) == strlen(s)) {
		sb_puts(sb, s);
		return;
	}
	sb_putc(sb, '\'');
	for (; *s; s++)
		*s == '\'' ? sb_puts(sb, "'\\''") : sb_putc(sb, *s);
	sb_putc(sb, '\'');
}

static void repro_command(struct strbuf *sb, const char *short_id, const char *db)
{
	sb_printf(sb, "scatterproof repro %s --db ", short_id);
	shell_word(sb, db);
}

static const char *target_of(const struct store_loaded *f) { return f->nenvs ? f->env[0].target : f->family; }

/* ---- text -------------------------------------------------------------------------------------------------------------- */

static void show_header(struct strbuf *sb, const struct store_loaded *f, const char *short_id)
{
	sb_printf(sb, "finding %s: %s on ", short_id, finding_kind_name[f->kind]);
	cell(sb, target_of(f));
	sb_printf(sb, ", %s%s%.*s, severity %s\n", finding_state_name[f->state], finding_original(f)[0] ? " of " : "", STORE_ID_DIGITS, finding_original(f),
		finding_severity_name[f->severity]);
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

static void show_environments(struct strbuf *sb, const struct store_loaded *f)
{
	sb_puts(sb, f->nenvs == 1 ? "\nenvironment\n" : "\nenvironments\n");
	for (int i = 0; i < f->nenvs; i++) {
		const struct store_loaded_env *e = &f->env[i];
		sb_puts(sb, "  ");
		cell(sb, e->target);
		sb_printf(sb, ": observed %lld, passed %lld, last ", (long long)e->nobs, (long long)e->npass);
		put_time(sb, e->last_seen);
		sb_putc(sb, '\n');
		text_block(sb, "    ", e->versions, strlen(e->versions));
		text_block(sb, "    ", e->device, strlen(e->device));
	}
}

static void show_observations(struct strbuf *sb, const struct store_loaded *f)
{
	sb_printf(sb, "\nobservations (%d stored of %lld)\n", f->nobs_stored, (long long)(f->nobs + f->npass));
	for (int i = 0; i < f->nobs_stored; i++) {
		const struct store_loaded_obs *o = &f->obs[i];
		sb_puts(sb, "  ");
		put_time(sb, o->at);
		sb_puts(sb, "  ");
		cell(sb, o->verdict);
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
		text_block(sb, "    ", o->detail, strlen(o->detail));
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

static void show_artifacts(struct strbuf *sb, const struct store_loaded *f)
{
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
}

/* A report carries its program, which stands above already. */
static void show_report(struct strbuf *sb, const struct store_loaded *f, const struct store_loaded_artifact *report)
{
	const char *s = report->bytes, *copy = strlen(s) == report->nbytes && f->program[0] ? strstr(s, f->program) : NULL;
	size_t before = copy ? (size_t)(copy - s) : report->nbytes, after = copy ? before + strlen(f->program) : report->nbytes;
	sb_puts(sb, "\nreport\n");
	text_block(sb, "  ", s, before);
	text_block(sb, "  ", s + after, report->nbytes - after);
}

void finding_show_text(struct strbuf *sb, const struct store_loaded *f, const char *short_id, const char *db)
{
	const struct store_loaded_artifact *report = store_loaded_artifact(f, "report");
	show_header(sb, f, short_id);
	show_environments(sb, f);
	show_history(sb, f);
	show_observations(sb, f);
	show_program(sb, "program", f->program);
	if (f->minimised)
		show_program(sb, "minimised program", f->minimised);
	if (report)
		show_report(sb, f, report);
	show_artifacts(sb, f);
	sb_puts(sb, "\nrun it again\n  ");
	repro_command(sb, short_id, db);
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
		key_text(sb, "target", e->target);
		key_text(sb, "versions", e->versions);
		key_text(sb, "device", e->device);
		key_int(sb, "nobs", e->nobs);
		key_int(sb, "npass", e->npass);
		key_int(sb, "first_seen_ms", e->first_seen);
		key_int(sb, "last_seen_ms", e->last_seen);
		sb_putc(sb, '}');
	}
	sb_putc(sb, ']');
}

static void json_observations(struct strbuf *sb, const struct store_loaded *f)
{
	open_list(sb, "observations");
	for (int i = 0; i < f->nobs_stored; i++) {
		const struct store_loaded_obs *o = &f->obs[i];
		open_item(sb, i);
		key_int(sb, "at_ms", o->at);
		key_text(sb, "target", o->env >= 0 ? f->env[o->env].target : "");
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
		key_int(sb, "at_ms", e->at);
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
		key_int(sb, "at_ms", x->at);
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
	struct strbuf repro;
	sb_init(&repro);
	repro_command(&repro, short_id, db);
	sb_putc(sb, '{');
	key_text(sb, "id", short_id);
	key_text(sb, "full_id", f->hex);
	key_text(sb, "kind", finding_kind_name[f->kind]);
	key_text(sb, "target", target_of(f));
	key_text(sb, "family", f->family);
	key_text(sb, "state", finding_state_name[f->state]);
	key_text(sb, "severity", finding_severity_name[f->severity]);
	key_text(sb, "signature", f->signature);
	key_text(sb, "ops", f->ops);
	key_int(sb, "first_seen_ms", f->first_seen);
	key_int(sb, "last_seen_ms", f->last_seen);
	key_int(sb, "nobs", f->nobs);
	key_int(sb, "npass", f->npass);
	key_text(sb, "program", f->program);
	json_key(sb, "minimised");
	f->minimised ? json_text(sb, f->minimised, strlen(f->minimised)) : sb_puts(sb, "null");
	json_environments(sb, f);
	json_events(sb, f);
	json_observations(sb, f);
	json_artifacts(sb, f);
	key_text(sb, "repro", repro.s);
	sb_puts(sb, "}\n");
	sb_free(&repro);
}
