/* defects_test.c: planted defects over the programs of a fixed seed: each finds something to spoil; those that an invariant must catch
 * break one somewhere, and the others none anywhere; what a defect leaves alone is what a compiler without it makes; what one
 * of the loops changes is text that is read back. */
#include "compiled/compile.h"
#include "compiled/defects/defects.h"
#include "compiled/symbols/dynamic.h"
#include "fuzz/campaign/source.h"
#include "tests/test.h"
#include "tests/unit/expanded.h"

enum { PROGRAMS = 120, MOST_PROGRAMS = 1600, MOST_DEFECTS = 256 }; /* of all defects, of one that has spoiled nothing so far */

/* What the generator hardly ever makes. */
static const char *const rare[] = {
	"x = input([2, 3], stride=[1, 2], seed=1)\ny = contiguous(x)\nz = neg(y)\nreturn (z,)\n",
	"x = input([2, 3], seed=1, fill=\"normal\")\ny = _to_copy(x, dtype=f16)\nz = _to_copy(y, dtype=f32)\nw = neg(z)\nreturn (w,)\n",
	"x = input([9], seed=1)\ny = slice.Tensor(x, dim=0, start=2)\nz = slice.Tensor(y, dim=0, start=1, end=3)\nw = neg(z)\nreturn (w,)\n",
	"x = input([300])\nz = input([257])\na = cumsum(x, 0)\ns = sort(z)\ng = getitem(s, 0)\nb = flip(a, [0])\nreturn (g, b)\n",
};

static struct {
	int planted, broken, left_alone, changed;
	char why[256]; /* an invariant that was broken */
} seen[MOST_DEFECTS];

/* The loops as text, which is read back as it was printed and is what generated code is made of. */
static const char *text_of(const struct loops *l, const struct defect *d, struct arena *a)
{
	struct loops again;
	struct strbuf sb, sb2;
	struct err err = {0};
	sb_init(&sb);
	sb_init(&sb2);
	loops_print(&sb, l);
	const char *text = arena_strdup(a, sb.s);
	const bool ok = loops_read(&again, a, text, &err);
	EXPECT(ok, "%s: %d:%d: %s\n%s", d ? d->name : "sound", err.line, err.col, err.msg, text);
	if (ok)
		loops_print(&sb2, &again);
	EXPECT(!ok || str_eq(text, sb2.s), "%s reads back as another one", d ? d->name : "sound");
	sb_free(&sb);
	sb_free(&sb2);
	return text;
}

/* "": the program has none. */
static const char *loops_text(bool *planted, const struct prog *p, const struct defect *d, struct arena *a)
{
	struct loops l;
	struct err err = {0};
	*planted = false;
	if (!code_loops(&l, planted, expanded(p, a), &(struct code_options){.schedule = true, .reorder = true}, d, a, &err))
		return "";
	return text_of(&l, d, a);
}

/* Of loops of any size. "": the program is compiled to none, or an invariant is broken (err). */
static const char *any_size_text(
	struct dynamic_made *made, const struct prog *bound, const struct defect *d, struct arena *a, struct err *err)
{
	struct compile_options *o = ARENA_ZNEW(a, struct compile_options, 1);
	struct dynamic *compiled;
	*o = (struct compile_options){.stage = compile_nstages() - 1,
		.to_code = true,
		.validate = true,
		.defect = d,
		.code = {.schedule = true, .reorder = true, .dynamic = true}};
	if (dynamic_compile(&compiled, made, bound, o, a, err) != COMPILE_OK || !compiled)
		return "";
	return text_of(dynamic_loops(compiled), d, a);
}

/* How it is compiled: a defect of one of these needs it. */
enum mode { PLAIN, CORE, PARTS, NMODES };

static enum mode mode_of(const struct defect *d)
{
	return str_eq(d->step, "decompose") ? CORE : str_eq(d->step, "partition") ? PARTS : PLAIN;
}

/* Every part, and what it is bound to. */
static void print_parts(struct strbuf *sb, const struct compiled *c)
{
	for (int k = 0; k < c->npart; k++) {
		prog_print(sb, &c->part[k].p);
		for (int s = 0; s < prog_input_storages(&c->part[k].p); s++) {
			const struct part_input *from = &c->part[k].input[s];
			sb_printf(sb, "# %d: %d of %d%s\n", s, from->index, (int)from->from, from->donated ? ", donated" : "");
		}
	}
}

/* NULL d: none. text: as compiled; "" if it was not, or nobody is to know. */
static enum compile_status compiled(struct compiled *c, const char **text, bool *planted, const struct prog *p, const struct defect *d,
	enum mode steps, bool print, struct err *err, struct arena *a)
{
	const struct compile_options o = {.stage = compile_nstages() - 1,
		.freezing = true,
		.validate = true,
		.decompose = steps == CORE,
		.partition = steps == PARTS,
		.save_all = true,
		.defect = d};
	struct strbuf sb;
	*c = (struct compiled){.planted = false};
	const enum compile_status status = compile(c, p, &o, a, err);
	*planted = c->planted;
	*text = "";
	if (status != COMPILE_OK || !(print || c->planted))
		return status;
	sb_init(&sb);
	print_parts(&sb, c);
	*text = arena_strdup(a, sb.s);
	sb_free(&sb);
	return status;
}

/* A program behind all passes: the defects of the steps on its loops. */
static void look_at_loops(const struct prog *p, bool every, struct arena *a)
{
	bool planted;
	const char *sound = loops_text(&planted, p, NULL, a);
	for (int i = 0; sound[0] && i < ndefects; i++) {
		if (!defect_is_of_loops(&defects[i]) || defect_is_of_symbols(&defects[i]) || (!every && seen[i].changed))
			continue;
		const char *text = loops_text(&planted, p, &defects[i], a);
		seen[i].planted += planted;
		seen[i].changed += planted && strcmp(text, sound) != 0;
		seen[i].left_alone += !planted && strcmp(text, sound) != 0;
	}
}

/* A program with symbols, compiled for any size: the defects of the step that does that. */
static void look_at_any_size(const struct prog *bound, struct arena *a)
{
	struct err err = {0};
	struct dynamic_made made;
	const char *sound = any_size_text(&made, bound, NULL, a, &err);
	for (int i = 0; sound[0] && i < ndefects; i++) {
		struct err why = {0};
		if (!defect_is_of_symbols(&defects[i]))
			continue;
		const char *text = any_size_text(&made, bound, &defects[i], a, &why);
		const bool broken = why.msg[0];
		seen[i].planted += made.planted;
		seen[i].changed += made.planted && !broken && strcmp(text, sound) != 0;
		seen[i].left_alone += !made.planted && strcmp(text, sound) != 0;
		seen[i].broken += broken;
		if (!broken)
			continue;
		snprintf(seen[i].why, sizeof seen[i].why, "%.200s", why.msg);
		EXPECT_STR(made.violation.step, "symbols");
		EXPECT_STR(made.violation.invariant, "I6");
		EXPECT(str_starts(why.msg, "invariant after symbols: I6: "), "%s", why.msg);
	}
}

static bool has_spoiled(int i) { return defects[i].caught == CAUGHT_BY_INVARIANT ? seen[i].broken > 0 : seen[i].changed > 0; }

/* every: of all defects, else of those that have spoiled nothing so far; print: also what they leave alone is compared. */
static void look(const struct prog *p, bool every, bool print, struct arena *a)
{
	struct err err = {0};
	bool planted;
	const char *sound[NMODES], *text;
	struct compiled c;
	for (int steps = NMODES - 1; steps >= 0; steps--)
		if (compiled(&c, &sound[steps], &planted, p, NULL, (enum mode)steps, true, &err, a) != COMPILE_OK)
			return;
	look_at_loops(&c.part[0].p, every, a);
	look_at_any_size(p, a);
	for (int i = 0; i < ndefects; i++) {
		struct err why = {0};
		if (defect_is_of_loops(&defects[i]) || (!every && has_spoiled(i)))
			continue;
		const enum mode steps = mode_of(&defects[i]);
		const bool broken = compiled(&c, &text, &planted, p, &defects[i], steps, print, &why, a) == COMPILE_BROKEN;
		const bool differs = text[0] && strcmp(text, sound[steps]) != 0;
		seen[i].planted += planted;
		seen[i].changed += planted && differs;
		seen[i].left_alone += !planted && differs;
		seen[i].broken += broken;
		if (!broken)
			continue;
		snprintf(seen[i].why, sizeof seen[i].why, "%.200s", why.msg);
		EXPECT_STR(c.violation.step, defects[i].step);
		EXPECT(strstr(why.msg, arena_printf(a, "invariant after %s: %s: ", c.violation.step, c.violation.invariant)), "%s", why.msg);
		EXPECT(op_find(c.violation.op) >= 0 && strstr(why.msg, arena_printf(a, "(%s)", c.violation.op)), "%s", why.msg);
	}
}

static bool all_have_spoiled(void)
{
	for (int i = 0; i < ndefects; i++)
		if (!has_spoiled(i))
			return false;
	return true;
}

static bool read_rare(struct prog *p, const char *text, struct arena *a)
{
	struct err err = {0};
	const char *whole = arena_printf(a, "# scatterproof 1\n%s", text);
	const bool ok = prog_read(p, a, whole, strlen(whole), READ_LENIENT, &err);
	EXPECT(ok, "%d:%d: %s", err.line, err.col, err.msg);
	return ok;
}

static void test_campaign(void)
{
	struct program_source source = {.seed = 1, .policy = "default"};
	CHECK(ndefects <= MOST_DEFECTS);
	for (int k = -ARRAY_LEN(rare); k < PROGRAMS || (k < MOST_PROGRAMS && !all_have_spoiled()); k++) {
		struct arena a;
		struct prog p, bound;
		struct err err = {0};
		arena_init(&a);
		bool ok = k < 0 ? read_rare(&p, rare[-1 - k], &a) : source_program(&p, &a, &source, k, &err);
		if (ok && prog_bind(&bound, &p, 0, &a, &err))
			look(&bound, k < PROGRAMS, k % 16 == 0, &a);
		arena_free(&a);
	}
	for (int i = 0; i < ndefects; i++) {
		const struct defect *d = &defects[i];
		printf("  %-28s planted in %4d, text changed in %4d, invariant broken in %4d\n", d->name, seen[i].planted, seen[i].changed,
			seen[i].broken);
		EXPECT(has_spoiled(i), "%s changes no program", d->name);
		EXPECT(seen[i].left_alone == 0, "%s changed %d programs and says that it did not", d->name, seen[i].left_alone);
		if (d->caught == CAUGHT_BY_INVARIANT)
			EXPECT(seen[i].broken > 0, "%s breaks no invariant", d->name);
		else
			EXPECT(seen[i].broken == 0, "%s: %s", d->name, seen[i].why);
	}
}

/* Steps exist; names are a target's option; every invariant is broken by two. */
static void test_table(void)
{
	static const char *const invariants[] = {"I1", "I2", "I3", "I6", "I8"};
	for (int i = 0; i < ndefects; i++) {
		const struct defect *d = &defects[i];
		EXPECT(step_find(d->step) >= 0, "%s: step %s", d->name, d->step);
		EXPECT(d->what[0] && d->like[0], "%s says nothing", d->name);
		EXPECT(defect_find(d->name) == d, "%s is there twice", d->name);
	}
	EXPECT(defect_find("no_such_defect") == NULL, "an unknown name is found");
	for (int k = 0; k < ARRAY_LEN(invariants); k++) {
		int n = 0;
		for (int i = 0; i < ndefects; i++)
			n += strstr(seen[i].why, invariants[k]) != NULL;
		EXPECT(n >= 2, "%s is broken by %d defects", invariants[k], n);
	}
}

int main(void)
{
	RUN(test_campaign);
	RUN(test_table);
	return TEST_END();
}
