/* surface_test.c: the Python of .prog files, as their comment "# python:" has it, and as eager Python has it in any surface: the program
 * is the same. UPDATE=1 in the environment writes the comments; review is the diff. Usage: surface_test FILE… */
#include "compiled/targets/torch/emit_python.h"
#include "compiled/targets/torch/spell.h"
#include "eager/run/interp.h"
#include "tests/test.h"
#include "generated/op_id.h"

#include <stdlib.h>

static struct arena arena;

/* Each line as a comment, empty ones left out. */
static void put_comment(struct strbuf *sb, const char *python)
{
	sb_puts(sb, "# python:\n");
	while (*python) {
		size_t n = strcspn(python, "\n");
		if (n)
			sb_printf(sb, "# %.*s\n", (int)n, python);
		python += n + (python[n] == '\n');
	}
}

static void write_file(const char *path, const char *text, size_t n, const char *comment)
{
	FILE *f = fopen(path, "w");
	CHECK(f);
	fprintf(f, "%.*s%s", (int)n, text, comment);
	CHECK(fclose(f) == 0);
}

/* A program that says the same in another surface has another text and another hash, and no other result. */
static void other_surfaces(const char *path, const struct prog *p)
{
	struct prog q;
	struct result a, b;
	prog_clone(&q, p, &arena);
	q.surface = (enum surface)((p->surface + 1) % NSURFACES);
	struct hash128 h = prog_hash(p), g = prog_hash(&q);
	EXPECT(memcmp(&h, &g, sizeof h) != 0, "%s: the surface is not part of the hash", path);
	EXPECT(
		interp_run(&a, p, &arena, NULL, NULL) == INTERP_OK && interp_run(&b, &q, &arena, NULL, NULL) == INTERP_OK, "%s does not run", path);
	for (int k = 0; k < a.ncalls; k++)
		for (int i = 0; i < a.call[k].nouts; i++)
			EXPECT(meta_equivalent(&a.call[k].out[i].meta, &b.call[k].out[i].meta), "%s: output %d differs", path, i);
}

static void check_file(const char *path)
{
	struct strbuf text, python, comment;
	struct err err = {0};
	struct prog p, again;
	sb_init(&text);
	sb_init(&python);
	sb_init(&comment);
	bool read = sb_read_file(&text, path, MAX_TEXT, &err) && prog_read(&p, &arena, text.s, text.len, READ_STRICT, &err);
	EXPECT(read, "%s:%d:%d: %s", path, err.line, err.col, err.msg);
	if (read) {
		emit_python(&python, &p, TDEV_CPU);
		put_comment(&comment, python.s);
		const char *cotangents = strstr(python.s, "def cotangents"), *aten = strstr(python.s, "torch.ops.aten.");
		EXPECT(spell_all(&p, TDEV_CPU) == (!aten || (cotangents && aten > cotangents)), "%s: is all of it spelled?", path);
		const char *want = strstr(text.s, "# python:");
		if (getenv("UPDATE"))
			write_file(path, text.s, want ? (size_t)(want - text.s) : text.len, comment.s);
		else
			EXPECT_STR(want ? want : "", comment.s);
		sb_reset(&python);
		prog_print(&python, &p);
		EXPECT(prog_read(&again, &arena, python.s, python.len, READ_STRICT, &err) && again.surface == p.surface, "%s: %s", path, err.msg);
		other_surfaces(path, &p);
	}
	sb_free(&text);
	sb_free(&python);
	sb_free(&comment);
}

/* Every row with an overload says how it is written, and what rows say can be read: one that names an argument or a condition that does not
 * exist ends the process. */
static void every_spelling_reads(void)
{
	static const bool listed[NOPS] = {
#define SPELL(id, torch, python) [OP_##id] = true,
#define ASIS(id, reason)         [OP_##id] = true,
#include "compiled/targets/torch/spellings.def"
	};
	int n = 0;
	for (int op = 0; op < op_nrows; op++) {
		EXPECT(listed[op] || !strchr(op_info[op].name, '.'),
			"row %s is not in compiled/targets/torch/spellings.def: add SPELL, or ASIS with the reason", op_info[op].name);
		EXPECT(spell_alternatives(op, SURFACE_ATEN) == 0, "%s: aten has no spellings", op_info[op].name);
		n += spell_alternatives(op, SURFACE_TORCH) + spell_alternatives(op, SURFACE_PYTHON);
	}
	printf("%d spellings of %d rows\n", n, (int)NOPS);
}

int main(int argc, char **argv)
{
	arena_init(&arena);
	RUN(every_spelling_reads);
	for (int i = 1; i < argc; i++)
		check_file(argv[i]);
	arena_free(&arena);
	return TEST_END();
}
