/* text_cost.c: texts as long as they may be, made to be slow to read: each is read or refused in linear time and memory. */
#include "eager/lang/prog.h"

#include <stdlib.h>
#include <time.h>

#include "tests/test.h"

/* before, then `again` as often as it fits, then after. */
static const struct hostile {
	const char *what, *before, *again, *after;
	int mode;
	const char *error;
} rows[] = {
	{"a sum of constants", "x = input([1", "+1", "])\nreturn (x,)\n", READ_STRICT, "2:527: a size expression of more than 256 "},
	{"a sum of symbols", "s = sym(1)\nx = input([s", "+s", "])\nreturn (x,)\n", READ_STRICT, "3:527: a size expression of more than 256 "},
	{"a product of symbols", "s = sym(1)\nx = input([s", "*s", "])\nreturn (x,)\n", READ_STRICT,
		"3:527: a size expression of more than 256 "},
	{"a sum in brackets", "s = sym(1)\nx = input([(s", "+(s)", ")])\nreturn (x,)\n", READ_STRICT, "a size expression of more than 256 "},
	{"sums in many lines", "s = sym(1)\n", "x = input([s+s+s+s+s+s+s+s+s+s+s+s+s+s+s+s])\n", "", READ_STRICT, "name 'x' is given twice"},
	{"brackets", "x = input([", "(", "", READ_STRICT, "nested deeper than 32"},
	{"minus signs", "x = input([", "-", "", READ_STRICT, "nested deeper than 32"},
	{"a list", "x = input([", "1,", "])\n", READ_STRICT, "a list of more than 16384 entries"},
	{"lists", "x = input([",
		"[[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[]]", "])\n",
		READ_STRICT, "expected ','"},
	{"comments", "x = input([4])\n", "# c\n", "return (x,)\n", READ_STRICT, NULL},
	{"empty lines", "x = input([4])\n", "\n", "return (x,)\n", READ_STRICT, NULL},
	{"blanks", "x = input([4])\n", " ", "\nreturn (x,)\n", READ_STRICT, NULL},
	{"a word", "x = input([4], fill=\"", "a", "\")\nreturn (x,)\n", READ_STRICT, "fill"},
	{"a name", "", "a", " = input([4])\n", READ_STRICT, "name longer than 63"},
	{"a number", "x = input([", "1", "])\n", READ_STRICT, "expected a value"},
	{"an annotation", "x: \"f32[", "1,", "]\" = input([4])\n", READ_STRICT, "rank exceeds 8"},
	{"annotations", "x: (", "\"f32[4]\",", ") = input([4])\n", READ_STRICT, "more than 32 annotations"},
	{"arguments", "x = input([4])\ny = sum(", "x,", ")\n", READ_STRICT, "more than 64 arguments"},
	{"results", "x = input([4])\nreturn (", "x,", ")\n", READ_STRICT, "more than 64 returned values"},
	{"cotangents", "x = input([4])\nreturn (x,)\nbackward (", "x: x,", ")\n", READ_STRICT, "is given twice"},
	{"seeds of a call", "x = input([4])\nreturn (x,)\ncall (x:", " seed=1", ")\n", READ_STRICT, NULL},
	{"fills of a call", "x = input([4])\nreturn (x,)\ncall (x:", " fill=ties", ")\n", READ_STRICT, NULL},
	{"inputs of a call", "x = input([4])\nreturn (x,)\ncall (", "x: seed=1,", ")\n", READ_STRICT, "call: 'x' is given twice"},
	{"an operator", "x = input([4])\ny = ", "a.", "b(x)\n", READ_STRICT, "name longer than 127"},
	{"classes", "", "class a\n", "def forward(self, x: \"f32[4][1]cpu\"):\n    return (x,)\n", READ_LENIENT, NULL},
	{"parameters", "def forward(", "self, ", "x: \"f32[4][1]cpu\"):\n    return (x,)\n", READ_LENIENT, NULL},
	{"what follows a semicolon", "def forward(self, x: \"f32[4][1]cpu\"):\n    y = neg(x);", "  x = None;", "\n    return (y,)\n",
		READ_LENIENT, NULL},
	{"a device", "def forward(self, x: \"f32[4][1]cpu\"):\n    y = sum(x, device=device(", "a", "))\n    return (y,)\n", READ_LENIENT,
		"but the graph's tensors are on cpu"},
};

/* Seconds of the processor; the message in *err. */
static double read_one(struct err *err, size_t *used, const struct hostile *h, size_t nbytes)
{
	struct strbuf sb;
	struct arena a;
	struct prog p;
	sb_init(&sb);
	arena_init(&a);
	sb_puts(&sb, h->mode == READ_STRICT ? "# scatterproof 1\n" : "");
	sb_puts(&sb, h->before);
	size_t n = strlen(h->again), after = strlen(h->after);
	while (sb.len + n + after <= nbytes)
		sb_put(&sb, h->again, n);
	sb_puts(&sb, h->after);
	clock_t begin = clock();
	*err = (struct err){0};
	prog_read(&p, &a, sb.s, sb.len, h->mode, err);
	double s = (double)(clock() - begin) / CLOCKS_PER_SEC;
	*used = a.used;
	arena_free(&a);
	sb_free(&sb);
	return s;
}

static void long_texts(void)
{
	for (int i = 0; i < ARRAY_LEN(rows); i++) {
		struct err err;
		size_t used;
		char message[MAX_ERR + 40];
		read_one(&err, &used, &rows[i], 2000); /* warm */
		double s = read_one(&err, &used, &rows[i], MAX_TEXT);
		snprintf(message, sizeof message, "%d:%d: %s", err.line, err.col, err.msg);
		if (rows[i].error)
			EXPECT(err.msg[0] && strstr(message, rows[i].error), "%s: '%s'", rows[i].what, message);
		else
			EXPECT(!err.msg[0], "%s: '%s'", rows[i].what, message);
		EXPECT(s < 2.0, "%s: %.1f s", rows[i].what, s);
		EXPECT(used < (size_t)64 << 20, "%s: %zu bytes", rows[i].what, used);
	}
}

/* Many lists, none too long: what a list costs is what it holds. */
static void nested_lists(void)
{
	struct strbuf inner, outer;
	struct arena a;
	struct prog p;
	struct err err = {0};
	sb_init(&inner);
	sb_init(&outer);
	sb_puts(&outer, "# scatterproof 1\nx = input([");
	for (int i = 0; i < 64; i++)
		sb_puts(&inner, "[],");
	for (int i = 0; i < 64 * 64; i++)
		sb_printf(&outer, "%s[%s]%s,", i % 64 == 0 ? "[" : "", inner.s, i % 64 == 63 ? "]" : "");
	sb_puts(&outer, "])\n");
	arena_init(&a);
	EXPECT(outer.len < MAX_TEXT && !prog_read(&p, &a, outer.s, outer.len, READ_STRICT, &err), "%zu bytes", outer.len);
	EXPECT_STR(err.msg, "input: argument 'size' must be a list of integers, not a list");
	EXPECT(a.used < (size_t)64 << 20, "%zu bytes", a.used);
	arena_free(&a);
	sb_free(&inner);
	sb_free(&outer);
}

/* The longest expression that is read, in as many places as there are. */
static void longest_expressions(void)
{
	struct strbuf sb, term;
	struct arena a;
	struct prog p, q;
	struct err err = {0};
	sb_init(&sb);
	sb_init(&term);
	sb_puts(&term, "s");
	for (int i = 0; i < MAX_TERMS / 2; i++)
		sb_puts(&term, "+s-s");
	sb_puts(&sb, "# scatterproof 1\ns = sym(1)\n");
	int n = 0;
	for (; n < 400; n++)
		sb_printf(&sb, "x%d = input([%s, %s])\n", n, term.s, term.s);
	sb_puts(&sb, "return (x0,)\ncall (s=2)\n");
	arena_init(&a);
	clock_t begin = clock();
	EXPECT(prog_read(&p, &a, sb.s, sb.len, READ_STRICT, &err) && prog_bind(&q, &p, 1, &a, &err), "%d:%d: %s", err.line, err.col, err.msg);
	double s = (double)(clock() - begin) / CLOCKS_PER_SEC;
	EXPECT(s < 2.0, "%.1f s", s);
	EXPECT(!err.msg[0] && node_meta(&q, 400)->size[1] == 2, "%s", err.msg);
	arena_free(&a);
	sb_free(&sb);
	sb_free(&term);
}

int main(void)
{
	RUN(long_texts);
	RUN(nested_lists);
	RUN(longest_expressions);
	return TEST_END();
}
