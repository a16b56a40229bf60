/* target.c: the table of families, and the parser of target names over what their drivers say. */
#include "compiled/targets/driver.h"

#include "eager/base/guess.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the families: one row each ----------------------------------------------------------------------------------------- */

extern const struct target_driver builtin_driver, torch_driver, jax_driver, python_driver;
const struct target_driver *const target_drivers[] = {&builtin_driver, &torch_driver, &jax_driver, &python_driver};
const int ntarget_drivers = ARRAY_LEN(target_drivers);

const struct target_driver *target_driver_named(const char *name, size_t n)
{
	for (int f = 0; f < ntarget_drivers; f++)
		if (strlen(target_drivers[f]->name) == n && memcmp(target_drivers[f]->name, name, n) == 0)
			return target_drivers[f];
	return NULL;
}

static const char *const device_names[NTDEVICES] = {"cpu", "cuda"};

const char *target_device_name(enum target_device d) { return device_names[d]; }

const struct target_stage *target_stage(const struct target *t) { return &t->driver->stage[t->stage]; }
const char *target_family(const struct target *t) { return t->driver->name; }
bool target_has_versions(const struct target *t) { return t->driver->default_version != NULL; }
bool target_has_plain(const struct target *t) { return !t->driver->stage[0].compiles; }

bool target_has_own_plain(const struct target *t) { return target_has_plain(t) && !t->driver->plain_is_interpreter; }
bool target_must_run(const struct target *t) { return target_stage(t)->compiles || (t->driver->plain_is_interpreter && t->stage != 0); }

const char *target_option(const struct target *t, const char *name)
{
	for (int i = 0; i < t->noptions; i++)
		if (str_eq(t->option[i].name, name))
			return t->option[i].value;
	return NULL;
}

/* A piece of the name, not NUL-terminated. */
struct span {
	const char *s;
	int n;
};

/* Cuts the longest prefix of *s without any of `stop`. */
static struct span cut(const char **s, const char *stop)
{
	struct span out = {*s, (int)MIN(strcspn(*s, stop), (size_t)MAX_ERR)};
	*s += strcspn(*s, stop);
	return out;
}

static bool span_is(struct span a, const char *b) { return strlen(b) == (size_t)a.n && memcmp(a.s, b, (size_t)a.n) == 0; }

/* Copies a piece of letters, digits and `also`; false if it is empty, too long or has something else. */
static bool span_copy(char *out, size_t max, struct span a, const char *also)
{
	if (a.n == 0 || (size_t)a.n >= max)
		return false;
	for (int i = 0; i < a.n; i++) {
		char c = a.s[i];
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
		if (!plain && (c == '\0' || !strchr(also, c)))
			return false;
	}
	memcpy(out, a.s, (size_t)a.n);
	out[a.n] = '\0';
	return true;
}

static const char *guess_span(struct guess *g, struct span given, const char *const *first, size_t stride, int n)
{
	char name[64];
	snprintf(name, sizeof name, "%.*s", (int)MIN((size_t)given.n, sizeof name - 1), given.s);
	return guess_from(g, name, first, stride, n);
}

static bool unknown_family(struct span name, const char *text, struct err *err)
{
	enum { MOST = 32 };
	const char *known[MOST];
	char list[256] = "";
	for (int f = 0; f < ntarget_drivers; f++) {
		known[f] = target_drivers[f]->name;
		size_t used = strlen(list);
		snprintf(list + used, sizeof list - used, "%s%s", f ? ", " : "", known[f]);
	}
	return err_set(err, "target '%s': family '%.*s' is unknown; known: %s%s", text, name.n, name.s, list,
		guess_span(&(struct guess){0}, name, known, sizeof known[0], ntarget_drivers));
}

static bool parse_family(struct target *t, struct span s, const char *text, struct err *err)
{
	int dash = 0;
	while (dash < s.n && s.s[dash] != '-')
		dash++;
	t->driver = target_driver_named(s.s, (size_t)dash);
	if (!t->driver)
		return unknown_family((struct span){s.s, dash}, text, err);
	if (dash == s.n)
		return true;
	if (!target_has_versions(t))
		return err_set(err, "target '%s': family %s has no versions", text, target_family(t));
	struct span version = {s.s + dash + 1, s.n - dash - 1};
	if (!span_copy(t->version, sizeof t->version, version, ".+_-"))
		return err_set(err, "target '%s': '%.*s' is no version", text, version.n, version.s);
	return true;
}

static bool parse_stage(struct target *t, struct span s, const char *text, struct err *err)
{
	const struct target_driver *f = t->driver;
	char known[256] = "";
	if (f->subject)
		return f->subject(t, s.s, (size_t)s.n, text, err);
	for (int i = 0; i < f->nstages; i++) {
		if (span_is(s, f->stage[i].name)) {
			t->stage = i;
			return true;
		}
		size_t used = strlen(known);
		snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", f->stage[i].name);
	}
	return err_set(err, "target '%s': stage '%.*s' is unknown; %s has: %s%s", text, s.n, s.s, f->name, known,
		guess_span(&(struct guess){0}, s, &f->stage[0].name, sizeof f->stage[0], f->nstages));
}

static bool parse_device(struct target *t, struct span s, const char *text, struct err *err)
{
	for (int d = 0; d < NTDEVICES; d++)
		if (span_is(s, device_names[d])) {
			if (!(t->driver->devices & 1u << d))
				return err_set(err, "target '%s': %s does not run on %s", text, target_family(t), device_names[d]);
			t->device = (enum target_device)d;
			return true;
		}
	return err_set(err, "target '%s': device '%.*s' is unknown; known: cpu, cuda%s", text, s.n, s.s,
		guess_span(&(struct guess){0}, s, device_names, sizeof device_names[0], NTDEVICES));
}

static bool add_option(struct target *t, const struct target_option *o, const char *text, struct err *err)
{
	if (t->noptions == MAX_TARGET_OPTIONS)
		return err_set(err, "target '%s': more than %d options", text, MAX_TARGET_OPTIONS);
	int at = t->noptions++;
	for (; at > 0 && strcmp(t->option[at - 1].name, o->name) > 0; at--)
		t->option[at] = t->option[at - 1];
	t->option[at] = *o;
	return true;
}

static bool parse_option(struct target *t, struct span s, const char *text, struct err *err)
{
	struct target_option o;
	int eq = 0;
	while (eq < s.n && s.s[eq] != '=')
		eq++;
	struct span name = {s.s, eq}, value = {s.s + eq + 1, s.n - eq - 1};
	if (eq == s.n)
		return err_set(err, "target '%s': option '%.*s' has no =value", text, s.n, s.s);
	if (!span_copy(o.name, sizeof o.name, name, "_.") || !span_copy(o.value, sizeof o.value, value, "_.-,:%"))
		return err_set(err, "target '%s': '%.*s' is no option (name=value of letters, digits, '_', '.')", text, s.n, s.s);
	if (!t->driver->option_fits(t, &o, text, err))
		return false;
	if (target_option(t, o.name))
		return err_set(err, "target '%s': option '%s' is given twice", text, o.name);
	return add_option(t, &o, text, err);
}

/* An option ends at '+', or at a comma that another name=value follows. */
static struct span cut_option(const char **s)
{
	struct span out = {*s, 0};
	for (;;) {
		struct span piece = cut(s, "+,");
		out.n += piece.n;
		size_t next = **s == ',' ? strcspn(*s + 1, "+,=") : 0;
		if (**s != ',' || (*s)[1 + next] == '=')
			return out;
		out.n++;
		(*s)++;
	}
}

bool target_parse(struct target *out, const char *text, struct err *err)
{
	struct target t = {0};
	const char *s = text;
	if (!parse_family(&t, cut(&s, ":"), text, err))
		return false;
	if (*s != ':' && t.driver->subject_form)
		return err_set(err, "target '%s': the form is %s:%s", text, target_family(&t), t.driver->subject_form);
	if (*s != ':')
		return err_set(err, "target '%s': no stage; the form is family[-version]:stage[@device][+option=value]", text);
	s++;
	if (!parse_stage(&t, cut(&s, "@+"), text, err))
		return false;
	if (*s == '@') {
		s++;
		if (!parse_device(&t, cut(&s, "+"), text, err))
			return false;
	}
	while (*s) {
		s++;
		if (!parse_option(&t, cut_option(&s), text, err))
			return false;
	}
	if (t.driver->complete && !t.driver->complete(&t, text, err))
		return false;
	*out = t;
	return true;
}

void target_print(struct strbuf *sb, const struct target *t)
{
	sb_puts(sb, target_family(t));
	if (t->version[0])
		sb_printf(sb, "-%s", t->version);
	sb_printf(sb, ":%s", t->subject[0] ? t->subject : target_stage(t)->name);
	if (t->driver->devices != 1u << TDEV_CPU)
		sb_printf(sb, "@%s", device_names[t->device]);
	for (int i = 0; i < t->noptions; i++)
		sb_printf(sb, "+%s=%s", t->option[i].name, t->option[i].value);
}

const char *target_text(const struct target *t, struct arena *a)
{
	struct strbuf sb;
	sb_init(&sb);
	target_print(&sb, t);
	const char *s = arena_strdup(a, sb.s);
	sb_free(&sb);
	return s;
}

bool target_with(struct target *out, const struct target *t, const struct target_option *o, struct err *err)
{
	struct arena a;
	arena_init(&a);
	const char *text = target_text(t, &a);
	struct target with = *t;
	struct target_option *there = NULL;
	for (int i = 0; i < with.noptions; i++)
		there = str_eq(with.option[i].name, o->name) ? &with.option[i] : there;
	bool ok = with.driver->option_fits(&with, o, text, err);
	if (ok && there)
		*there = *o;
	else
		ok = ok && add_option(&with, o, text, err);
	arena_free(&a);
	if (ok)
		*out = with;
	return ok;
}

struct target target_without(const struct target *t, int option)
{
	struct target out = *t;
	memmove(&out.option[option], &out.option[option + 1], sizeof *out.option * (size_t)(out.noptions - option - 1));
	out.noptions--;
	return out;
}

bool target_probing(struct target *out, const struct target *t, const struct target_probe *p, struct err *err)
{
	struct target_option o;
	if (t->driver->probe && t->driver->probe(&o, t, p))
		return target_with(out, t, &o, err);
	return err_set(err, "stage %s of family %s has no such probe", target_stage(t)->name, target_family(t));
}

int target_ladder(struct target *out, int max, const struct target *t)
{
	int n = 0;
	for (int rung = 0; rung < target_stage(t)->rungs && n < max; rung++) {
		struct target *low = &out[n++];
		*low = *t;
		low->stage = rung;
		low->noptions = 0;
		for (int i = 0; i < t->noptions; i++)
			if (t->driver->option_fits(low, &t->option[i], "", NULL))
				low->option[low->noptions++] = t->option[i];
	}
	return n;
}

struct target target_plain(const struct target *t)
{
	struct target plain = *t;
	plain.stage = 0;
	plain.noptions = 0;
	return plain;
}

bool target_predicting(struct target *out, const struct target *t)
{
	for (int k = 0; k < t->driver->nstages; k++)
		if (t->driver->stage[k].predicts && !t->driver->stage[k].compiles) {
			*out = target_plain(t);
			out->stage = k;
			return true;
		}
	return false;
}

bool target_same_home(const struct target *a, const struct target *b)
{
	const char *const *name = a->driver->of_child;
	for (; a->driver == b->driver && name && *name; name++) {
		const char *x = target_option(a, *name), *y = target_option(b, *name);
		if (!x != !y || (x && !str_eq(x, y)))
			return false;
	}
	return a->driver == b->driver && str_eq(a->version, b->version) && str_eq(a->subject, b->subject) && a->device == b->device;
}

static int stage_named(const struct target_driver *d, const char *name)
{
	for (int k = 0; k < d->nstages; k++)
		if (str_eq(d->stage[k].name, name))
			return k;
	BUG("%s: a row is about a stage '%s', which does not exist", d->name, name);
}

bool target_concerns(const struct target *t, const char *stage) { return t->stage >= stage_named(t->driver, stage); }

void target_facts(struct target_facts *out, const struct target *t)
{
	*out = (struct target_facts){.arithmetic.device = t->device == TDEV_CUDA ? LD_CUDA : LD_CPU};
	t->driver->facts(out, t);
	for (int i = 0; i < t->driver->nfreedoms; i++)
		if (target_concerns(t, t->driver->freedom[i].stage))
			out->freedoms |= t->driver->freedom[i].bit;
}

bool target_refusal_concerns(const struct target_refusal *r, const struct target *t)
{
	return r->plain ? !target_stage(t)->compiles && t->device == r->device : target_concerns(t, r->stage);
}

const struct target_refusal *target_refusal_of(const struct target *t, const char *message)
{
	for (int i = 0; i < t->driver->nrefusals; i++)
		if (target_refusal_concerns(&t->driver->refusal[i], t) && strstr(message, t->driver->refusal[i].fragment))
			return &t->driver->refusal[i];
	return NULL;
}

/* ---- where environments are --------------------------------------------------------------------------------------------------- */

bool targets_dir(struct strbuf *path, struct err *err)
{
	const char *own = getenv("SCATTERPROOF_TARGETS"), *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
	sb_reset(path);
	if (own && own[0])
		sb_puts(path, own);
	else if (data && data[0])
		sb_printf(path, "%s/scatterproof/targets", data);
	else if (home && home[0])
		sb_printf(path, "%s/.local/share/scatterproof/targets", home);
	else
		return err_set(err,
			"where PyTorch environments are is unknown: HOME is not set (nor XDG_DATA_HOME, nor "
			"SCATTERPROOF_TARGETS)");
	return true;
}

void path_make_absolute(struct strbuf *path)
{
	char cwd[4096];
	if (path->s[0] == '/' || !getcwd(cwd, sizeof cwd))
		return;
	char *relative = xstrdup(path->s);
	sb_reset(path);
	sb_printf(path, "%s/%s", cwd, relative);
	free(relative);
}

bool target_python(struct strbuf *path, const struct target *t, const char *override, struct err *err)
{
	const char *family = target_family(t), *version = t->version[0] ? t->version : t->driver->default_version;
	if (override && !strchr(override, '/')) {
		if (!proc_find(path, override))
			return err_set(err, "--python %s: no such program in PATH", override);
		path_make_absolute(path);
		return true;
	}
	if (override) {
		sb_reset(path);
		sb_puts(path, override);
		path_make_absolute(path);
		return access(path->s, X_OK) == 0 || err_set(err, "--python %s: %s", override, strerror(errno));
	}
	if (!targets_dir(path, err))
		return false;
	path_make_absolute(path);
	CHECK(version);
	/* The mark of scripts/setup-targets for an install that is not finished. */
	size_t base = path->len;
	sb_printf(path, "/%s-%s/.incomplete", family, version);
	if (access(path->s, F_OK) == 0)
		return err_set(err, "%s-%s is only half installed; run scripts/setup-targets %s-%s", family, version, family, version);
	path->len = base;
	sb_printf(path, "/%s-%s/bin/python", family, version);
	if (access(path->s, X_OK) == 0)
		return true;
	return err_set(err, "%s-%s is not installed (%s: %s); run scripts/setup-targets %s-%s, or give --python PATH", family, version, path->s,
		strerror(errno), family, version);
}
