/* target.c: the two tables of what is known about families and stages, and the parser of target names over them. */
#include "compiled/targets/target.h"

#include "eager/base/guess.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct target_stage builtin_stages[] = {
	{.name = "eager", .what = "own eager interpreter: the plain meaning of the language", .options = true},
};

static const struct target_stage torch_stages[] = {
	{.name = "eager", .what = "PyTorch, operator by operator"},
	{.name = "fake", .what = "eager, every operator's predicted meta compared with the real one"},
	{.name = "aot_fake", .what = "AOTAutograd with Inductor's decompositions, each node's predicted meta compared", .compiles = true},
	{.name = "aot_eager", .what = "Dynamo and AOTAutograd, graphs run by eager kernels", .compiles = true},
	{.name = "aot_eager_decomp_partition", .what = "the same with Inductor's decompositions and partitioner", .compiles = true},
	{.name = "inductor", .what = "torch.compile: generated kernels", .compiles = true, .options = true},
};

const struct target_family_info target_families[NTARGET_FAMILIES] = {
	[FAM_BUILTIN] = {"builtin", false, 1u << TDEV_CPU, builtin_stages, ARRAY_LEN(builtin_stages)},
	[FAM_TORCH] = {"torch", true, 1u << TDEV_CPU | 1u << TDEV_CUDA, torch_stages, ARRAY_LEN(torch_stages)},
};

static const char *const device_names[NTDEVICES] = {"cpu", "cuda"};

const char *target_device_name(enum target_device d) { return device_names[d]; }

const struct target_stage *target_stage(const struct target *t) { return &target_families[t->family].stage[t->stage]; }

const char *target_option(const struct target *t, const char *name)
{
	for (int i = 0; i < t->noptions; i++)
		if (str_eq(t->option[i].name, name))
			return t->option[i].value;
	return NULL;
}

/* A piece of the name, not NUL-terminated. */
struct span { const char *s; int n; };

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

static bool parse_family(struct target *t, struct span s, const char *text, struct err *err)
{
	int dash = 0;
	while (dash < s.n && s.s[dash] != '-')
		dash++;
	struct span name = {s.s, dash};
	int f = 0;
	while (f < NTARGET_FAMILIES && !span_is(name, target_families[f].name))
		f++;
	if (f == NTARGET_FAMILIES)
		return err_set(err, "target '%s': family '%.*s' is unknown; known: builtin, torch%s", text, name.n, name.s,
		               guess_span(&(struct guess){0}, name, &target_families[0].name, sizeof target_families[0], NTARGET_FAMILIES));
	t->family = (enum target_family)f;
	if (dash == s.n)
		return true;
	if (!target_families[f].versions)
		return err_set(err, "target '%s': family %s has no versions", text, target_families[f].name);
	struct span version = {s.s + dash + 1, s.n - dash - 1};
	if (!span_copy(t->version, sizeof t->version, version, ".+_-"))
		return err_set(err, "target '%s': '%.*s' is no version", text, version.n, version.s);
	return true;
}

static bool parse_stage(struct target *t, struct span s, const char *text, struct err *err)
{
	const struct target_family_info *f = &target_families[t->family];
	char known[256] = "";
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
			if (!(target_families[t->family].devices & 1u << d))
				return err_set(err, "target '%s': %s does not run on %s", text, target_families[t->family].name, device_names[d]);
			t->device = (enum target_device)d;
			return true;
		}
	return err_set(err, "target '%s': device '%.*s' is unknown; known: cpu, cuda%s", text, s.n, s.s,
	               guess_span(&(struct guess){0}, s, device_names, sizeof device_names[0], NTDEVICES));
}

static const char *const plants[] = {"zero", "row", "stale", "scale", "crash", "hang", "refuse", "bug-making", "bug-judging", "bug-confirming", "kill-judging"};

/* The built-in target knows plant=KIND alone (builtin.c). */
static bool builtin_option_fits(const struct target_option *o, const char *text, struct err *err)
{
	if (!str_eq(o->name, "plant"))
		return err_set(err, "target '%s': builtin has no option '%s'; it has: plant%s", text, o->name,
		               guess_from(&(struct guess){0}, o->name, &(const char *){"plant"}, sizeof(char *), 1));
	for (int i = 0; i < ARRAY_LEN(plants); i++)
		if (str_eq(o->value, plants[i]))
			return true;
	return err_set(err, "target '%s': plant=%s is not one of zero, row, stale, scale, crash, hang, refuse, bug-making, bug-judging, bug-confirming, kill-judging%s", text, o->value,
	               guess_from(&(struct guess){0}, o->value, plants, sizeof plants[0], ARRAY_LEN(plants)));
}

/* `dynamic` belongs to every compiling stage of torch, all other names to stages that take options. */
static bool option_fits(const struct target *t, const struct target_option *o, const char *text, struct err *err)
{
	const struct target_stage *st = target_stage(t);
	if (t->family == FAM_BUILTIN && st->options)
		return builtin_option_fits(o, text, err);
	if (str_eq(o->name, "dynamic") && st->compiles && t->family == FAM_TORCH)
		return str_eq(o->value, "0") || str_eq(o->value, "1") ||
		       err_set(err, "target '%s': option dynamic is 0 or 1, not '%s'", text, o->value);
	return st->options || err_set(err, "target '%s': stage %s takes no option '%s'", text, st->name, o->name);
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
	if (!span_copy(o.name, sizeof o.name, name, "_.") || !span_copy(o.value, sizeof o.value, value, "_.-,"))
		return err_set(err, "target '%s': '%.*s' is no option (name=value of letters, digits, '_', '.')", text, s.n, s.s);
	if (!option_fits(t, &o, text, err))
		return false;
	if (target_option(t, o.name))
		return err_set(err, "target '%s': option '%s' is given twice", text, o.name);
	if (t->noptions == MAX_TARGET_OPTIONS)
		return err_set(err, "target '%s': more than %d options", text, MAX_TARGET_OPTIONS);
	int at = t->noptions++;
	for (; at > 0 && strcmp(t->option[at - 1].name, o.name) > 0; at--)
		t->option[at] = t->option[at - 1];
	t->option[at] = o;
	return true;
}

bool target_parse(struct target *out, const char *text, struct err *err)
{
	struct target t = {0};
	const char *s = text;
	if (!parse_family(&t, cut(&s, ":"), text, err))
		return false;
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
	while (*s == '+') {
		s++;
		if (!parse_option(&t, cut(&s, "+"), text, err))
			return false;
	}
	*out = t;
	return true;
}

void target_print(struct strbuf *sb, const struct target *t)
{
	const struct target_family_info *f = &target_families[t->family];
	sb_puts(sb, f->name);
	if (t->version[0])
		sb_printf(sb, "-%s", t->version);
	sb_printf(sb, ":%s", target_stage(t)->name);
	if (f->devices != 1u << TDEV_CPU)
		sb_printf(sb, "@%s", device_names[t->device]);
	for (int i = 0; i < t->noptions; i++)
		sb_printf(sb, "+%s=%s", t->option[i].name, t->option[i].value);
}

int target_ladder(struct target *out, int max, const struct target *t)
{
	int n = 0;
	for (int rung = 0; rung < t->stage && n < max; rung++) {
		struct target *low = &out[n++];
		*low = *t;
		low->stage = rung;
		low->noptions = 0;
		for (int i = 0; i < t->noptions; i++)
			if (option_fits(low, &t->option[i], "", NULL))
				low->option[low->noptions++] = t->option[i];
	}
	return n;
}

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
		return err_set(err, "where PyTorch environments are is unknown: HOME is not set (nor XDG_DATA_HOME, nor "
		               "SCATTERPROOF_TARGETS)");
	return true;
}

/* Children change directory, so a relative path is made absolute. No symlink is resolved: a virtual environment is its path. */
static void make_absolute(struct strbuf *path)
{
	char cwd[4096];
	if (path->s[0] == '/' || !getcwd(cwd, sizeof cwd))
		return;
	char *relative = xstrdup(path->s);
	sb_reset(path);
	sb_printf(path, "%s/%s", cwd, relative);
	free(relative);
}

/* A name without a slash, as a shell would find it. */
static bool find_in_path(struct strbuf *path, const char *name)
{
	const char *at = getenv("PATH");
	struct stat st;
	for (; at && name[0]; at = *at ? at + 1 : NULL) {
		struct span dir = {at, (int)strcspn(at, ":")};
		at += dir.n;
		sb_reset(path);
		sb_printf(path, "%.*s/%s", dir.n ? dir.n : 1, dir.n ? dir.s : ".", name);
		if (access(path->s, X_OK) == 0 && stat(path->s, &st) == 0 && S_ISREG(st.st_mode))
			return true;
	}
	return false;
}

bool target_python(struct strbuf *path, const struct target *t, const char *override, struct err *err)
{
	const char *family = target_families[t->family].name, *version = t->version[0] ? t->version : TORCH_DEFAULT_VERSION;
	CHECK(target_families[t->family].versions);
	if (override && !strchr(override, '/')) {
		if (!find_in_path(path, override))
			return err_set(err, "--python %s: no such program in PATH", override);
		make_absolute(path);
		return true;
	}
	if (override) {
		sb_reset(path);
		sb_puts(path, override);
		make_absolute(path);
		return access(path->s, X_OK) == 0 || err_set(err, "--python %s: %s", override, strerror(errno));
	}
	if (!targets_dir(path, err))
		return false;
	make_absolute(path);
	/* The mark of scripts/setup-targets for an install that is not finished. */
	size_t base = path->len;
	sb_printf(path, "/%s-%s/.incomplete", family, version);
	if (access(path->s, F_OK) == 0)
		return err_set(err, "%s-%s is only half installed; run scripts/setup-targets %s-%s", family, version, family, version);
	path->len = base;
	sb_printf(path, "/%s-%s/bin/python", family, version);
	if (access(path->s, X_OK) == 0)
		return true;
	return err_set(err, "%s-%s is not installed (%s: %s); run scripts/setup-targets %s-%s, or give --python PATH", family, version,
		path->s, strerror(errno), family, version);
}
