/* store_cost.c: figures of the findings store, on the disk that TMPDIR names: milliseconds per commit, bytes per observation, time to
 * open, list and merge. Not a test: the figures depend on the disk. */
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/store/store_util.h"

static double now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double file_size(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 ? (double)st.st_size : 0;
}

static bool no_row(void *ctx, int ncols, const char *const *names, const struct store_value *v)
{
	(void)ctx, (void)ncols, (void)names, (void)v;
	return true;
}

/* n findings with nobs observations each, in batches of one transaction per `per` findings. */
static void fill(const char *path, unsigned n, int nobs, unsigned per)
{
	struct store *s = open_ok(path, STORE_CREATE);
	struct hash128 run = {{0}}, env = {{0}};
	for (unsigned i = 0; i < n; i++) {
		if (i % per == 0) {
			CHECK(store_begin(s) == STORE_OK);
			run = put_run(s, 1);
			env = put_env(s, 1);
		}
		struct hash128 f = put_finding(s, i);
		for (int k = 0; k < nobs; k++)
			put_obs_of(s, &f, k ? n + i * (unsigned)nobs + (unsigned)k : i, &env, &run, (int64_t)T0 * 1000 + i * 1000 + k, "mismatch");
		if (i % per == per - 1 || i == n - 1)
			CHECK(store_commit(s) == STORE_OK);
	}
	CHECK(store_close(s, NULL) == STORE_OK);
}

static void sizes_and_queries(void)
{
	enum { N = 5000 };
	char *without = xstrdup(tmp_path("without.db")), *with = xstrdup(tmp_path("with.db")), *into = xstrdup(tmp_path("into.db"));
	fill(without, N, 0, 500);
	double t = now_ms();
	fill(with, N, STORE_MAX_OBS, 500);
	t = now_ms() - t;
	printf("bytes per observation and program  %8.0f\n", (file_size(with) - file_size(without)) / N / STORE_MAX_OBS);
	printf("bytes per finding without them     %8.0f\n", file_size(without) / N);
	printf("us per observation, batched        %8.1f\n", t * 1e3 / N / STORE_MAX_OBS);
	t = now_ms();
	struct store *s = open_ok(with, STORE_READ);
	printf("open, ms                           %8.2f\n", now_ms() - t);
	const struct store_filter all = {.since = INT64_MIN, .new_since = INT64_MIN, .limit = -1};
	t = now_ms();
	CHECK(store_list(s, &all, no_row, NULL) == STORE_OK);
	printf("list %d findings, ms             %8.1f\n", N, now_ms() - t);
	t = now_ms();
	CHECK(store_query_sql(s, "SELECT * FROM v_by_signature", NULL, no_row, NULL) == STORE_OK);
	printf("v_by_signature, ms                 %8.1f\n", now_ms() - t);
	store_abandon(s);
	s = open_ok(into, STORE_CREATE);
	t = now_ms();
	CHECK(store_merge(s, with) == STORE_OK);
	printf("merge %d observations, ms      %8.0f\n", N * STORE_MAX_OBS, now_ms() - t);
	CHECK(store_close(s, NULL) == STORE_OK);
	free(without);
	free(with);
	free(into);
}

static void commits(void)
{
	enum { N = 100 };
	char *path = xstrdup(tmp_path("commit.db"));
	struct store *s = open_ok(path, STORE_CREATE);
	struct hash128 run = put_run(s, 1), env = put_env(s, 1), f = {{0}};
	double t = now_ms();
	for (unsigned i = 0; i < N; i++) {
		store_begin(s);
		f = put_finding(s, i);
		put_obs(s, &f, &env, &run, (int64_t)T0 * 1000 + i, "mismatch");
		store_artifact(s, &f, "report", T0, "0123456789", 10);
		CHECK(store_commit(s) == STORE_OK);
	}
	printf("one finding in one commit, ms      %8.2f\n", (now_ms() - t) / N);
	t = now_ms();
	for (int i = 0; i < 1000 * N; i++)
		put_obs(s, &f, &env, &run, (int64_t)T0 * 1000 + i, "mismatch");
	printf("one observation only counted, us   %8.2f\n", (now_ms() - t) / N);
	t = now_ms();
	for (int i = 0; i < 10000 * N; i++)
		store_counter_add(s, &run, "a policy draw of some length", &env, i % 2 ? "pass" : "mismatch", 1);
	printf("one counter_add, us                %8.3f\n", (now_ms() - t) / 10 / N);
	t = now_ms();
	CHECK(store_flush(s) == STORE_OK);
	printf("flush, ms                          %8.2f\n", now_ms() - t);
	store_abandon(s);
	free(path);
}

int main(void)
{
	commits();
	sizes_and_queries();
	return 0;
}
