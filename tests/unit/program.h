/* program.h: programs of unit tests, read from their text into one arena. */
#ifndef SCATTERPROOF_TEST_PROGRAM_H
#define SCATTERPROOF_TEST_PROGRAM_H

#include "eager/lang/prog.h"
#include "tests/test.h"

static struct arena arena;

static struct prog *program(const char *text)
{
	struct prog *p = ARENA_NEW(&arena, struct prog, 1);
	struct err err = {0};
	bool ok = prog_read(p, &arena, text, strlen(text), READ_LENIENT, &err);
	EXPECT(ok, "%d:%d: %s", err.line, err.col, err.msg);
	return p;
}

#endif
