/* finding_test.c: a finding says what its outcome says, owns what it says, and crosses the wire whole or not at all. */
#include "fuzz/campaign/finding.h"

#include "tests/test.h"

static const char text[] = "# scatterproof 1\nx = input([4])\ny = add.Tensor(x, x)\nz = sum(y)\nreturn (z,)\n";

static void program(struct prog *p, struct arena *a)
{
	struct err err = {0};
	CHECK(prog_read(p, a, text, strlen(text), READ_STRICT, &err));
}

static struct target target(const char *name)
{
	struct target t;
	struct err err = {0};
	CHECK(target_parse(&t, name, &err));
	return t;
}

/* All texts are gone once the finding is made. */
static void made(struct finding *f, enum verdict verdict, bool unexpected, struct arena *a)
{
	struct arena mine;
	struct prog p;
	struct target t = target("torch-2.11.0:inductor@cpu+freezing=1");
	arena_init(&mine);
	program(&p, &mine);
	const struct outcome o = {.verdict = verdict,
		.unexpected = unexpected,
		.kind = FINDING_GRADIENT,
		.severity = SEVERITY_HIGH,
		.call = 2,
		.why = arena_printf(&mine, "out of range: %d", 7),
		.signature = arena_strdup(&mine, "gradient all zero sum"),
		.tensor = arena_strdup(&mine, "x.grad"),
		.detail = arena_strdup(&mine, "4 of 4"),
		.report = arena_strdup(&mine, "report")};
	finding_of(f, &p, &o, &t, arena_strdup(&mine, "Segmentation fault"), a);
	f->versions = "torch 2.11.0";
	f->device = "x86_64";
	arena_free(&mine);
}

static void a_divergence(void)
{
	struct arena a;
	struct finding f;
	arena_init(&a);
	made(&f, VD_MISMATCH, false, &a);
	EXPECT_STR(finding_target(&f, &a), "torch-2.11.0:inductor@cpu+freezing=1");
	EXPECT_STR(finding_family(&f), "torch");
	EXPECT_STR(f.program,
		"# scatterproof 1\nx: \"f32[4][1]\" = input([4])\ny: \"f32[4][1]\" = add.Tensor(x, x)\nz: \"f32[][]\" = sum(y)\nreturn (z,)\n");
	EXPECT(f.nops == 2 && str_eq(f.op[0], "add.Tensor") && str_eq(f.op[1], "sum"), "%d operators", f.nops);
	EXPECT(f.verdict == VD_MISMATCH && f.kind == FINDING_GRADIENT && f.severity == SEVERITY_HIGH && f.call == 2 && !f.confirmed, "fields");
	EXPECT_STR(f.signature, "gradient all zero sum");
	EXPECT_STR(f.tensor, "x.grad");
	EXPECT_STR(f.stderr_tail, "Segmentation fault");
	arena_free(&a);
}

static void a_refusal_concerns_eager(void)
{
	struct arena a;
	struct finding f;
	arena_init(&a);
	made(&f, VD_INVALID, true, &a);
	EXPECT_STR(finding_target(&f, &a), "torch-2.11.0:eager@cpu");
	EXPECT(f.verdict == VD_INVALID && f.kind == FINDING_RAISE && f.severity == SEVERITY_NORMAL && f.call == -1, "fields");
	EXPECT_STR(f.signature, "invalid: out of range: N");
	EXPECT_STR(f.detail, "out of range: 7");
	arena_free(&a);
}

static void crosses_the_wire(void)
{
	struct arena a;
	struct finding f, g;
	struct strbuf sb, again;
	arena_init(&a);
	sb_init(&sb);
	sb_init(&again);
	made(&f, VD_CRASH, false, &a);
	f.policy = "uniform", f.how = "again in a fresh process", f.confirmed = true;
	f.index = 1234567890123, f.compiles = 7, f.found_ms = 1.5, f.confirm_ms = 2.5;
	finding_put(&sb, &f);
	struct wire w = {.p = (const uint8_t *)sb.s, .end = (const uint8_t *)sb.s + sb.len};
	finding_get(&g, &w, &a);
	EXPECT(!w.bad && w.p == w.end, "left over: %d", (int)(w.end - w.p));
	finding_put(&again, &g);
	EXPECT(again.len == sb.len && memcmp(again.s, sb.s, sb.len) == 0, "another finding came out");
	for (size_t n = 0; n < sb.len; n++) {
		struct wire cut = {.p = (const uint8_t *)sb.s, .end = (const uint8_t *)sb.s + n};
		finding_get(&g, &cut, &a);
		EXPECT(cut.bad, "%zu of %zu bytes do", n, sb.len);
	}
	sb_free(&again);
	sb_free(&sb);
	arena_free(&a);
}

int main(void)
{
	RUN(a_divergence);
	RUN(a_refusal_concerns_eager);
	RUN(crosses_the_wire);
	return TEST_END();
}
