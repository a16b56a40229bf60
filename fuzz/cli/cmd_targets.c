/* cmd_targets.c: what programs can be run on, and which versions of it are here. */
#include "compiled/targets/driver.h"
#include "compiled/targets/exec.h"
#include "eager/base/escape.h"
#include "fuzz/cli/commands.h"
#include "eager/base/json.h"

static void print_stage_json(const char *name, const struct target_stage *st)
{
	struct strbuf sb;
	struct json j = json_into(&sb, JSON_SPACED);
	sb_init(&sb);
	json_object(&j, NULL);
	json_string(&j, "target", name);
	json_bool(&j, "compiles", st->compiles);
	json_end(&j);
	printf("%s\n", sb.s);
	sb_free(&sb);
}

static void print_stages(const struct target_driver *fam, bool json)
{
	for (int k = 0; k < fam->nstages; k++) {
		const struct target_stage *st = &fam->stage[k];
		char name[128];
		snprintf(name, sizeof name, "%s:%s", fam->name, fam->subject_form ? fam->subject_form : st->name);
		if (json)
			print_stage_json(name, st);
		else
			printf("%-34s %s\n", name, st->what);
	}
}

/* The smallest program, in a process of its own. False: *what says why it does not run. */
static bool probe(struct strbuf *what, const struct options *o, const struct target_driver *f, const char *python)
{
	static const char text[] = "# scatterproof 1\nx = input([1])\nreturn (x,)\n";
	const struct target t = {.driver = f};
	struct exec_options eo = {.self = o->self, .python = python};
	struct strbuf device;
	struct err err = {0};
	struct arena a;
	struct prog p;
	struct result r = {.status = RES_HARNESS, .message = err.msg};
	arena_init(&a);
	sb_init(&device);
	CHECK(prog_read(&p, &a, text, sizeof text - 1, READ_STRICT, &err));
	struct exec *e = exec_open(&t, &eo, &err);
	if (e)
		exec_run(&r, &a, e, &p, &t);
	if (r.status == RES_OK) {
		exec_versions(what, &device, e);
		sb_printf(what, ", works on %s", device.s);
	} else {
		sb_printf(what, "does not start: %s", escaped_line(&a, r.message));
		if (r.stderr_tail && r.stderr_tail[0])
			sb_printf(what, " (%s)", escaped_line(&a, last_line(r.stderr_tail, &a)));
	}
	exec_close(e);
	sb_free(&device);
	arena_free(&a);
	return r.status == RES_OK;
}

static void print_version(const struct target_driver *f, const char *name, const struct target_installed *t, const char *probed, bool json)
{
	struct strbuf sb;
	sb_init(&sb);
	if (json) {
		const char *const field[][2] = {{"installed", name}, {"python", t->python}, {f->name, t->holds}, {"cuda", t->cuda},
			{"problem", t->problem}, {"probed", probed}};
		struct json j = json_into(&sb, JSON_SPACED);
		json_object(&j, NULL);
		for (int i = 0; i < ARRAY_LEN(field); i++)
			if (field[i][1])
				json_string(&j, field[i][0], field[i][1]);
		json_end(&j);
		sb_putc(&sb, '\n');
	} else {
		sb_printf(&sb, "  %-32s ", name);
		if (t->holds[0])
			sb_printf(&sb, "%s %s, %s%s%s\n  %-32s ", f->title, t->holds, t->cuda[0] ? "built for CUDA " : "without CUDA", t->cuda,
				str_eq(t->version, f->default_version) ? "; meant by names without a version" : "", "");
		sb_printf(&sb, "%s\n", t->problem[0] ? t->problem : probed ? probed : t->python);
	}
	fputs(sb.s, stdout);
	fflush(stdout);
	sb_free(&sb);
}

static int print_one(const struct options *o, const struct target_driver *f, const char *name, const struct target_installed *t)
{
	struct strbuf what;
	sb_init(&what);
	bool ok = t->problem[0] || !o->probe || probe(&what, o, f, t->python);
	print_version(f, name, t, what.len ? what.s : NULL, o->json);
	sb_free(&what);
	return ok ? EXIT_CLEAN : EXIT_TARGET;
}

/* --python: one more version, which cannot be missing. */
static int print_given(const struct options *o, const struct target_driver *f)
{
	const struct target any = {.driver = f};
	struct target_installed t = {.version = "", .holds = "", .cuda = "", .problem = ""};
	struct strbuf path;
	struct err err = {0};
	sb_init(&path);
	if (!target_python(&path, &any, o->python, &err))
		t.problem = err.msg;
	t.python = path.s;
	int rc = print_one(o, f, "--python", &t);
	sb_free(&path);
	return t.problem[0] ? EXIT_TARGET : rc;
}

static int print_versions(const struct options *o, const struct target_driver *f)
{
	struct target_installed *t;
	struct arena a;
	struct strbuf dir;
	struct err err = {0};
	int rc = EXIT_CLEAN;
	arena_init(&a);
	sb_init(&dir);
	bool place = targets_dir(&dir, &err);
	int n = f->installed(&t, &a);
	if (!o->json && n)
		printf("versions in %s:\n", dir.s);
	else if (!o->json && !place)
		printf("  %s\n", err.msg);
	else if (!o->json)
		printf("  no version is installed in %s; run scripts/setup-targets %s-%s, or give --python PATH\n", dir.s, f->name,
			f->default_version);
	for (int i = 0; i < n; i++) {
		int one = print_one(o, f, arena_printf(&a, "%s-%s", f->name, t[i].version), &t[i]);
		rc = MAX(rc, one);
	}
	if (o->python) {
		int one = print_given(o, f);
		rc = MAX(rc, one);
	}
	sb_free(&dir);
	arena_free(&a);
	return rc;
}

int cmd_targets(const struct options *o)
{
	struct strbuf gpus;
	int rc = EXIT_CLEAN;
	for (int f = 0; f < ntarget_drivers; f++) {
		print_stages(target_drivers[f], o->json);
		if (target_drivers[f]->installed) {
			int one = print_versions(o, target_drivers[f]);
			rc = MAX(rc, one);
		}
	}
	sb_init(&gpus);
	gpu_names(&gpus);
	if (o->json) {
		struct strbuf sb;
		struct json j = json_into(&sb, JSON_SPACED);
		sb_init(&sb);
		json_object(&j, NULL);
		json_string(&j, "gpus", gpus.s);
		json_end(&j);
		printf("%s\n", sb.s);
		sb_free(&sb);
	} else {
		printf("  %-32s %s\n", "GPUs (@cuda)", gpus.len ? gpus.s : "none that NVIDIA's driver lists");
		printf("\nnames: family[-version]:stage[@device][+option=value...], for example torch-2.15.0:inductor@cpu+freezing=1\n");
	}
	sb_free(&gpus);
	return rc;
}
