/* fuzz_text.c: libFuzzer target: the program reader. Any bytes, both modes: no crash; what is accepted prints and reads back to the
 * same bytes, validates, clones and binds. */
#include "eager/lang/prog.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void accepted(const struct prog *p, struct arena *a)
{
	struct strbuf one, two;
	struct prog q, b;
	struct err err = {0};
	sb_init(&one);
	sb_init(&two);
	prog_print(&one, p);
	if (!prog_read(&q, a, one.s, one.len, READ_STRICT, &err))
		BUG("printed text is refused: %d:%d: %s\n%s", err.line, err.col, err.msg, one.s);
	prog_print(&two, &q);
	if (one.len != two.len || memcmp(one.s, two.s, one.len) != 0)
		BUG("printing is not stable:\n%s\n%s", one.s, two.s);
	CHECK(prog_validate(&q, &err));
	for (int k = 0; k <= p->ncall; k++)
		(void)prog_bind(&b, p, k, a, &err);
	sb_free(&one);
	sb_free(&two);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a;
	arena_init(&a);
	for (int mode = READ_STRICT; mode <= READ_LENIENT; mode++) {
		struct prog p;
		struct err err = {0};
		arena_reset(&a);
		if (prog_read(&p, &a, (const char *)data, size, mode, &err))
			accepted(&p, &a);
		else
			CHECK(err.msg[0]);
	}
	arena_free(&a);
	return 0;
}
