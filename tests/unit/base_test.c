/* base_test.c: the small shared things of eager/base: numbers as text and bytes, last lines, clocks, signals. */
#include "eager/base/base.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif
#include <errno.h>
#include <fcntl.h>
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

/* What is there at a mark stays, an array that has grown since included; what was begun since goes, arrays included. */
static void marks(void)
{
	struct arena a;
	arena_init(&a);
	char *kept = arena_strdup(&a, "kept");
	int *old = ARENA_GROW(&a, int, NULL, 0, 4), *young = NULL;
	old[3] = 3;
	for (int k = 0; k < 3; k++) {
		struct arena_mark m = arena_mark(&a);
		const size_t before = a.used;
		young = ARENA_GROW(&a, int, NULL, 0, 1000);
		arena_alloc(&a, (size_t)k << 20);
		old = ARENA_GROW(&a, int, old, 4 << k, 8 << k);
		young = ARENA_GROW(&a, int, young, 1000, 100000);
		arena_release(&a, m);
		EXPECT(a.used == before + ((size_t)4 << k) * sizeof *old, "round %d: %zu bytes, %zu before", k, a.used, before);
	}
	EXPECT(old[3] == 3 && a.grown == 32 * sizeof *old, "%d, %zu", old[3], a.grown);
	EXPECT_STR(kept, "kept");
	arena_free(&a);
}

/* A loop that marks, allocates more than the head has left and releases gets the same block each time; a larger one where it needs that. */
static void marks_in_a_loop(void)
{
	struct arena a;
	arena_init(&a);
	arena_alloc(&a, 60000);
	const struct arena_mark m = arena_mark(&a);
	char *first = arena_alloc(&a, 10000), *again;
	for (int k = 0; k < 3; k++) {
		arena_alloc(&a, 200000); /* a third block, which goes */
		arena_release(&a, m);
#ifdef __SANITIZE_ADDRESS__
		EXPECT(__asan_address_is_poisoned(first), "round %d: what was released may still be read", k);
#endif
		again = arena_alloc(&a, 10000);
		EXPECT(again == first, "round %d: another block", k);
		memset(again, 1, 10000);
	}
	arena_release(&a, m);
	char *large = arena_alloc(&a, 1000000);
	memset(large, 1, 1000000);
	EXPECT(a.used == 1060000, "%zu bytes", a.used);
	arena_release(&a, m);
	arena_reset(&a);
	memset(arena_alloc(&a, 100000), 1, 100000);
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
	for (double end = clock_s() + 1.05; clock_s() < end;)
		usleep(10000);
	raise(SIGINT);
	EXPECT(interrupt_insisted() && called == SIGINT && interrupt_asked() == SIGTERM, "a later one insists");
	interrupt_catch(NULL);
	EXPECT(!interrupt_asked() && !interrupt_insisted(), "forgotten");
	interrupt_ask(SIGPIPE);
	interrupt_ask(SIGINT);
	EXPECT_INT(interrupt_asked(), SIGPIPE);
}

/* The signal comes before the write that blocks: nothing but the nudges ends it. */
static void write_after_a_signal(void)
{
	int fd[2];
	char block[4096] = {0};
	interrupt_catch(NULL);
	EXPECT(pipe(fd) == 0 && fcntl(fd[1], F_SETFL, O_NONBLOCK) == 0, "a pipe");
	while (write(fd[1], block, sizeof block) > 0)
		;
	EXPECT(errno == EAGAIN && fcntl(fd[1], F_SETFL, 0) == 0, "it is full");
	raise(SIGTERM);
	double before = clock_s();
	EXPECT(write(fd[1], block, 1) < 0 && errno == EINTR, "nobody reads it");
	EXPECT(clock_s() - before < 5, "%g s", clock_s() - before);
	close(fd[0]);
	close(fd[1]);
}

int main(void)
{
	RUN(doubles);
	RUN(bytes);
	RUN(lines);
	RUN(marks);
	RUN(marks_in_a_loop);
	RUN(clocks);
	RUN(signals);
	RUN(write_after_a_signal);
	return TEST_END();
}
