/* target_name_test.c: names of targets: what is accepted, how it prints, what each refusal says. */
#include "compiled/targets/driver.h"
#include "tests/test.h"

#include <stdlib.h>

static void test_accepted(void)
{
	static const char *const row[][2] = {
		{"builtin:eager", "builtin:eager"},
		{"torch:eager", "torch:eager@cpu"},
		{"torch:inductor@cuda", "torch:inductor@cuda"},
		{"torch-2.15.0:inductor@cpu+freezing=1", "torch-2.15.0:inductor@cpu+freezing=1"},
		{"torch:inductor+max_fusion_size=1+cpp.simdlen=1+dynamic=1", "torch:inductor@cpu+cpp.simdlen=1+dynamic=1+max_fusion_size=1"},
		{"torch-2.12.0.dev20260101+cpu:aot_eager", "torch-2.12.0.dev20260101+cpu:aot_eager@cpu"},
		{"torch:aot_fake+dynamic=1", "torch:aot_fake@cpu+dynamic=1"},
		{"builtin:jit+dynamic=1+partition=0", "builtin:jit+dynamic=1+partition=0"},
		{"torch:inductor+probe.clone=bw:%add_1,fw:aten.neg.default,freezing=1",
			"torch:inductor@cpu+freezing=1+probe.clone=bw:%add_1,fw:aten.neg.default"},
		{"torch:inductor+probe.first=lowerings:12+probe.off=a,b", "torch:inductor@cpu+probe.first=lowerings:12+probe.off=a,b"},
		{"torch:aot_eager+probe.keep=1+probe.excuse=1", "torch:aot_eager@cpu+probe.excuse=1+probe.keep=1"},
	};
	for (int i = 0; i < ARRAY_LEN(row); i++) {
		struct target t, again;
		struct err err = {0};
		struct strbuf sb, sb2;
		sb_init(&sb);
		sb_init(&sb2);
		EXPECT(target_parse(&t, row[i][0], &err), "%s: %s", row[i][0], err.msg);
		target_print(&sb, &t);
		EXPECT_STR(sb.s, row[i][1]);
		EXPECT(target_parse(&again, sb.s, &err), "%s: %s", sb.s, err.msg);
		target_print(&sb2, &again);
		EXPECT_STR(sb2.s, sb.s);
		sb_free(&sb);
		sb_free(&sb2);
	}
}

static void test_refused(void)
{
	static const char *const row[][2] = {
		{"", "family '' is unknown"},
		{"tortch:eager", "family 'tortch' is unknown; known: builtin, torch, jax, python"},
		{"torch", "no stage; the form is"},
		{"torch:", "stage '' is unknown; torch has: eager, fake, aot_fake, aot_eager"},
		{"torch:inductr@cpu", "stage 'inductr' is unknown"},
		{"torch:inductor@tpu", "device 'tpu' is unknown; known: cpu, cuda"},
		{"builtin:eager@cuda", "builtin does not run on cuda"},
		{"builtin-2:eager", "family builtin has no versions"},
		{"torch-:eager", "'' is no version"},
		{"torch-../../x:eager", "'../../x' is no version"},
		{"torch:eager+freezing=1", "stage eager takes no option 'freezing'"},
		{"torch:inductor+freezing", "option 'freezing' has no =value"},
		{"torch:inductor+=1", "'=1' is no option"},
		{"torch:inductor+freezing=", "'freezing=' is no option"},
		{"torch:inductor+a=1+a=2", "option 'a' is given twice"},
		{"torch:inductor+dynamic=maybe", "option dynamic is 0 or 1"},
		{"torch:aot_eager+compiled_autograd=0", "option compiled_autograd is 1 or alone"},
		{"torch:eager+compiled_autograd=1", "stage eager takes no option"},
		{"builtin:jit+dynamic=maybe", "dynamic=maybe is not one of 0, 1"},
		{"builtin:joint+dynamic=1", "stage joint has no option 'dynamic'"},
		{"builtin:jit+partition=1+dynamic=1", "partition=1 and dynamic=1 do not go together"},
		{"builtin:passes+dynamic=1+partition=1", "partition=1 and dynamic=1 do not go together"},
		{"torch:inductor+probe.nothing=1",
			"stage inductor has no probe 'probe.nothing'; it has: probe.keep, probe.clone, probe.fallback, "
			"probe.off, probe.first, probe.excuse, probe.values"},
		{"torch:aot_eager+probe.values=1",
			"stage aot_eager has no probe 'probe.values'; it has: probe.keep, probe.clone, probe.off, probe.first, probe.excuse"},
		{"torch:eager+probe.keep=1", "stage eager has no probe 'probe.keep'; it has: none"},
		{"torch:dynamo+backend=x+probe.keep=1", "stage dynamo has no probe 'probe.keep'"},
		{"torch:inductor+probe.keep=2", "option probe.keep is 1, not '2'"},
		{"torch:inductor+probe.clone=aten.neg.default", "option probe.clone is fw:OP, bw:OP, fw:%NODE or bw:%NODE"},
		{"torch:inductor+probe.clone=bw:neg", "option probe.clone is"},
		{"torch:inductor+probe.clone=bw:%", "option probe.clone is"},
		{"torch:inductor+probe.clone=bw:aten.neg.default,fw:", "option probe.clone is"},
		{"torch:inductor+probe.fallback=bw:aten.neg.default", "option probe.fallback is OP"},
		{"torch:inductor+probe.off=a:1", "option probe.off is SUBSYSTEM"},
		{"torch:inductor+probe.first=lowerings", "option probe.first is SUBSYSTEM:N"},
		{"torch:inductor+probe.first=lowerings:-1", "option probe.first is SUBSYSTEM:N"},
		{"torch:inductor+probe.first=lowerings:", "option probe.first is SUBSYSTEM:N"},
	};
	for (int i = 0; i < ARRAY_LEN(row); i++) {
		struct target t = {.stage = 77};
		struct err err = {0};
		EXPECT(!target_parse(&t, row[i][0], &err), "'%s' was accepted", row[i][0]);
		EXPECT(strstr(err.msg, row[i][1]), "'%s': '%s' lacks '%s'", row[i][0], err.msg, row[i][1]);
		EXPECT_INT(t.stage, 77);
	}
}

static void test_long_names(void)
{
	char text[4096];
	struct target t;
	struct err err = {0};
	int n = snprintf(text, sizeof text, "torch:inductor");
	for (int i = 0; i <= MAX_TARGET_OPTIONS; i++)
		n += snprintf(text + n, sizeof text - (size_t)n, "+o%d=1", i);
	EXPECT(!target_parse(&t, text, &err) && strstr(err.msg, "more than"), "%s", err.msg);
	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	memcpy(text, "torch:inductor+", 15);
	err = (struct err){0};
	EXPECT(!target_parse(&t, text, &err) && err.msg[0], "accepted");
	memcpy(text, "torch-", 6);
	err = (struct err){0};
	EXPECT(!target_parse(&t, text, &err) && err.msg[0], "accepted");
}

static void test_ladder(void)
{
	struct target t, low[8];
	struct err err = {0};
	target_parse(&t, "torch-2.15.0:inductor@cpu+freezing=1+dynamic=1", &err);
	EXPECT_INT(target_ladder(low, 8, &t), 5);
	static const char *const want[] = {"torch-2.15.0:eager@cpu", "torch-2.15.0:fake@cpu", "torch-2.15.0:aot_fake@cpu+dynamic=1",
		"torch-2.15.0:aot_eager@cpu+dynamic=1", "torch-2.15.0:aot_eager_decomp_partition@cpu+dynamic=1"};
	for (int i = 0; i < 5; i++) {
		struct strbuf sb;
		sb_init(&sb);
		target_print(&sb, &low[i]);
		EXPECT_STR(sb.s, want[i]);
		sb_free(&sb);
	}
	EXPECT_STR(target_option(&t, "freezing"), "1");
	EXPECT(!target_option(&t, "nothing"), "found an option that is not there");
}

/* Options that generic code adds, without knowing the family's words for them. */
static void test_probes(void)
{
	static const struct {
		const char *target;
		struct target_probe probe;
		const char *name; /* NULL: it cannot be asked */
	} row[] = {
		{"torch:inductor", {.kind = PROBE_KEEP}, "torch:inductor@cpu+probe.keep=1"},
		{"torch:inductor+dynamic=1", {.kind = PROBE_EXCUSE}, "torch:inductor@cpu+dynamic=1+probe.excuse=1"},
		{"torch:aot_eager", {.kind = PROBE_CLONE, .what = "%add"}, "torch:aot_eager@cpu+probe.clone=fw:%add"},
		{"torch:inductor+probe.clone=fw:%add", {.kind = PROBE_CLONE, .backward = true, .what = "aten.neg.default"},
			"torch:inductor@cpu+probe.clone=bw:aten.neg.default"},
		{"torch:inductor", {.kind = PROBE_FALLBACK, .what = "aten.neg.default"}, "torch:inductor@cpu+probe.fallback=aten.neg.default"},
		{"torch:inductor", {.kind = PROBE_FIRST, .what = "lowerings", .first = 3}, "torch:inductor@cpu+probe.first=lowerings:3"},
		{"torch:aot_eager", {.kind = PROBE_FALLBACK, .what = "aten.neg.default"}, NULL},
		{"torch:eager", {.kind = PROBE_KEEP}, NULL},
		{"builtin:eager", {.kind = PROBE_KEEP}, NULL},
		{"torch:inductor", {.kind = PROBE_CLONE, .what = "no operator"}, NULL},
	};
	for (int i = 0; i < ARRAY_LEN(row); i++) {
		struct target t, with = {.stage = 77};
		struct err err = {0};
		struct arena a;
		arena_init(&a);
		CHECK(target_parse(&t, row[i].target, &err));
		EXPECT_INT(target_probing(&with, &t, &row[i].probe, &err), row[i].name != NULL);
		if (row[i].name)
			EXPECT_STR(target_text(&with, &a), row[i].name);
		else
			EXPECT(with.stage == 77 && err.msg[0], "%s: '%s'", row[i].target, err.msg);
		arena_free(&a);
	}
}

/* Every row is an option that its stage takes, none of them twice, and subsystems can be counted. */
static void test_knobs(void)
{
	int rows = 0;
	for (int f = 0; f < ntarget_drivers; f++)
		for (int i = 0; i < target_drivers[f]->nknobs; i++, rows++) {
			const struct target_knob *k = &target_drivers[f]->knob[i];
			struct target t = {.driver = target_drivers[f]}, with;
			struct target_option o = {{0}, {0}};
			struct err err = {0};
			while (!str_eq(target_stage(&t)->name, k->stage))
				CHECK(++t.stage < t.driver->nstages);
			snprintf(o.name, sizeof o.name, "%s", k->option);
			snprintf(o.value, sizeof o.value, "%s", k->value);
			EXPECT(target_with(&with, &t, &o, &err), "%s", err.msg);
			EXPECT_STR(target_option(&with, k->option), k->value);
			for (int j = 0; j < i; j++)
				EXPECT(!str_eq(k[-1 - j].stage, k->stage) || !str_eq(k[-1 - j].option, k->option) || !str_eq(k[-1 - j].value, k->value),
					"%s twice", k->option);
			struct target_probe first = {.kind = PROBE_FIRST, .what = k->subsystem, .first = 0};
			if (k->subsystem)
				EXPECT(target_probing(&with, &t, &first, &err), "%s", err.msg);
		}
	EXPECT(rows > 20, "%d rows", rows);
}

static void test_with(void)
{
	struct target t, with;
	struct err err = {0};
	struct target_option o = {"max_fusion_size", "1"}, unfit = {"dynamic", "2"};
	CHECK(target_parse(&t, "torch:inductor+max_fusion_size=4", &err));
	EXPECT(target_with(&with, &t, &o, &err) && with.noptions == 1, "%s", err.msg);
	EXPECT_STR(target_option(&with, "max_fusion_size"), "1");
	EXPECT_STR(target_option(&t, "max_fusion_size"), "4");
	EXPECT(!target_with(&with, &t, &unfit, &err) && strstr(err.msg, "dynamic is 0 or 1, not '2'"), "%s", err.msg);
	err = (struct err){0};
	for (int i = 0; i < MAX_TARGET_OPTIONS - 1; i++) {
		snprintf(o.name, sizeof o.name, "o%d", i);
		EXPECT(target_with(&t, &t, &o, &err), "%s", err.msg);
	}
	snprintf(o.name, sizeof o.name, "more");
	EXPECT(!target_with(&t, &t, &o, &err) && strstr(err.msg, "more than 16 options"), "%s", err.msg);
}

static void test_python(void)
{
	struct target t;
	struct err err = {0};
	struct strbuf path;
	sb_init(&path);
	target_parse(&t, "torch-9.9.9:eager", &err);
	setenv("SCATTERPROOF_TARGETS", "/nonexistent/targets", 1);
	EXPECT(!target_python(&path, &t, NULL, &err), "found %s", path.s);
	EXPECT(strstr(err.msg, "/nonexistent/targets/torch-9.9.9/bin/python") && strstr(err.msg, "scripts/setup-targets torch-9.9.9"), "%s",
		err.msg);
	err = (struct err){0};
	EXPECT(!target_python(&path, &t, "/nonexistent/python", &err) && strstr(err.msg, "/nonexistent/python"), "%s", err.msg);
	EXPECT(target_python(&path, &t, "/bin/sh", &err), "%s", err.msg);
	EXPECT_STR(path.s, "/bin/sh");
	CHECK(setenv("PATH", "/nonexistent/bin:/usr:/bin", 1) == 0);
	EXPECT(target_python(&path, &t, "sh", &err) && str_eq(path.s, "/bin/sh"), "%s %s", path.s, err.msg);
	err = (struct err){0};
	EXPECT(!target_python(&path, &t, "bin", &err), "a directory: %s", path.s);
	err = (struct err){0};
	EXPECT(!target_python(&path, &t, "nonexistent-python", &err) && strstr(err.msg, "--python nonexistent-python: no such program in PATH"),
		"%s", err.msg);
	sb_free(&path);
}

int main(void)
{
	RUN(test_accepted);
	RUN(test_refused);
	RUN(test_long_names);
	RUN(test_ladder);
	RUN(test_probes);
	RUN(test_knobs);
	RUN(test_with);
	RUN(test_python);
	return TEST_END();
}
