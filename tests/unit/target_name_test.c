/* target_name_test.c: names of targets: what is accepted, how it prints, what each refusal says. */
#include "compiled/targets/target.h"
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
		{"tortch:eager", "family 'tortch' is unknown; known: builtin, torch, python"},
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
	RUN(test_python);
	return TEST_END();
}
