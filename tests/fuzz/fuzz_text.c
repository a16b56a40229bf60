/* fuzz_text.c: libFuzzer target: the program reader. Any bytes, both modes, and as a printed graph of which rows may be cut out: no crash;
 * what is accepted prints and reads back to the same bytes, validates, clones and binds. */
#include "eager/lang/fx.h"
#include "eager/lang/fx_cut.h"
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

/* Graphs in the rows that can be read. */
static void in_parts(const char *text, size_t size, struct arena *a)
{
	struct fx_graph *g;
	int ngraph = fx_graphs(&g, a, text, size);
	for (int i = 0; i < ngraph; i++) {
		struct fx_cut *cut = ARENA_NEW(a, struct fx_cut, 1);
		struct prog *p;
		struct err err = {0};
		int n = fx_programs(&p, cut, a, g[i].text, g[i].len, &err);
		for (int k = 0; k < n; k++)
			if (prog_validate(&p[k], &err))
				accepted(&p[k], a);
	}
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
	arena_reset(&a);
	in_parts((const char *)data, size, &a);
	arena_free(&a);
	return 0;
}
