/* base_test.c: the small shared things of eager/base: numbers as text and bytes, last lines, clocks, signals. */
#include "eager/base/base.h"

#include <math.h>
#include <signal.h>
#include <unistd.h>

#include "eager/base/clock.h"
#include "eager/base/interrupt.h"
#include "tests/test.h"

static void doubles(void)
{
	static const struct {
		double v;
		int least;
		const char *want;
	} rows[] = {{0.1, 1, "0.1"}, {0.1, 15, "0.1"}, {1e5, 1, "1e+05"}, {1e5, 15, "100000.0"}, {-2, 15, "-2.0"}, {5e-324, 1, "5e-324"},
		{0x1.8p-1, 1, "0.75"}, {1.0 / 3, 1, "0.3333333333333333"}, {0x1.0000000000001p0, 15, "1.0000000000000002"}, {-0.0, 1, "-0.0"},
		{INFINITY, 1, "inf"}, {-INFINITY, 15, "-inf"}, {NAN, 15, "nan"}};
	for (int i = 0; i < ARRAY_LEN(rows); i++) {
		struct strbuf sb;
		sb_init(&sb);
		sb_double(&sb, rows[i].v, rows[i].least);
		EXPECT_STR(sb.s, rows[i].want);
		sb_free(&sb);
	}
}

static void bytes(void)
{
	unsigned char b[8];
	put_le(b, 0x8877665544332211, 8);
	EXPECT(b[0] == 0x11 && b[7] == 0x88, "%02x .. %02x", b[0], b[7]);
	EXPECT(get_le(b, 8) == 0x8877665544332211 && get_le(b, 4) == 0x44332211 && get_le(b, 1) == 0x11, "read back");
}

static void lines(void)
{
	struct arena a;
	arena_init(&a);
	EXPECT_STR(last_line("", &a), "");
	EXPECT_STR(last_line("\n \n", &a), "");
	EXPECT_STR(last_line("Traceback:\n  x\nModuleNotFoundError: torch \n\n", &a), "ModuleNotFoundError: torch");
	EXPECT_STR(last_line("one", &a), "one");
	arena_free(&a);
}

static void clocks(void)
{
	const double ms = clock_ms(), s = clock_s(), cpu = clock_cpu_s();
	const int64_t unix_ms = clock_unix_ms();
	usleep(20000);
	EXPECT(clock_ms() - ms >= 20 && clock_s() - s >= 0.02 && clock_cpu_s() >= cpu, "time passes");
	EXPECT(clock_unix_ms() - unix_ms >= 19 && unix_ms > INT64_C(1700000000000), "and on the wall");
}

static int called;
static void note_call(int sig) { called = sig; }

static void signals(void)
{
	interrupt_catch(note_call);
	EXPECT(!interrupt_asked() && interrupt_since_ms() == 0, "nobody asked");
	raise(SIGTERM);
	raise(SIGINT); /* timeout(1) says it twice */
	EXPECT(interrupt_asked() == SIGTERM && !interrupt_insisted() && !called, "one wish: %d", interrupt_asked());
	usleep(1050000);
	raise(SIGINT);
	EXPECT(interrupt_insisted() && called == SIGINT && interrupt_asked() == SIGTERM, "a later one insists");
	interrupt_catch(NULL);
	EXPECT(!interrupt_asked() && !interrupt_insisted(), "forgotten");
	interrupt_ask(SIGPIPE);
	interrupt_ask(SIGINT);
	EXPECT_INT(interrupt_asked(), SIGPIPE);
}

int main(void)
{
	RUN(doubles);
	RUN(bytes);
	RUN(lines);
	RUN(clocks);
	RUN(signals);
	return TEST_END();
}
