/* test.h: the whole test framework. A test program is a list of functions run by RUN(); each EXPECT counts, a failed one
 * prints file:line and both facts and the program exits 1 at the end. A program in which nothing was expected fails. */
#ifndef SCATTERPROOF_TEST_H
#define SCATTERPROOF_TEST_H

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int test_nexpect, test_nfail;

#define EXPECT(cond, ...)                                                                                                                  \
	do {                                                                                                                                   \
		test_nexpect++;                                                                                                                    \
		if (!(cond)) {                                                                                                                     \
			test_nfail++;                                                                                                                  \
			printf("%s:%d: EXPECT(%s) failed: ", __FILE__, __LINE__, #cond);                                                               \
			printf(__VA_ARGS__);                                                                                                           \
			printf("\n");                                                                                                                  \
		}                                                                                                                                  \
	} while (0)
#define EXPECT_STR(got, want) EXPECT(strcmp((got), (want)) == 0, "got '%s', want '%s'", (got), (want))
#define EXPECT_INT(got, want) EXPECT((int64_t)(got) == (int64_t)(want), "got %" PRId64 ", want %" PRId64, (int64_t)(got), (int64_t)(want))
#define RUN(fn)                                                                                                                            \
	do {                                                                                                                                   \
		int before_ = test_nexpect;                                                                                                        \
		fn();                                                                                                                              \
		printf("%-40s %d checks\n", #fn, test_nexpect - before_);                                                                          \
		if (test_nexpect == before_) {                                                                                                     \
			printf("%s: checked nothing\n", #fn);                                                                                          \
			test_nfail++;                                                                                                                  \
		}                                                                                                                                  \
	} while (0)
#define TEST_END() (printf("%d checks, %d failed\n", test_nexpect, test_nfail), test_nfail ? 1 : 0)

#endif
