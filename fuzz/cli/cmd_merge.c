/* cmd_merge.c: findings stores into one, such as those of a nightly run's shards. */
#include <inttypes.h>

#include "eager/base/output.h"
#include "fuzz/cli/commands.h"
#include "reports/store/store.h"

static bool take_count(void *ctx, int ncols, const char *const *names, const struct store_value *v)
{
	(void)ncols, (void)names;
	if (v)
		*(int64_t *)ctx = v[0].i;
	return true;
}

static int fail(const char *message, enum store_status status)
{
	complain("merge: %s", message);
	return store_exit_code(status);
}

/* Every source is opened before anything is written. */
static int check_sources(const struct options *o)
{
	for (int i = 0; i < o->nfile; i++) {
		enum store_status status;
		struct err err = {0};
		struct store *s = store_open(&status, o->file[i], STORE_READ, &err);
		if (!s)
			return fail(err.msg, status);
		store_abandon(s);
	}
	return EXIT_CLEAN;
}

/* Each source in one transaction; what was merged before a failure stays, merging it again changes nothing. */
int cmd_merge(const struct options *o)
{
	static const char count[] = "SELECT count(*) FROM finding";
	enum store_status status;
	struct err err = {0};
	int64_t before = 0, after = 0;
	if (!o->nfile || !o->into) {
		complain("merge: databases and --into FILE are needed (try --help)");
		return EXIT_USAGE;
	}
	int rc = check_sources(o);
	if (rc != EXIT_CLEAN)
		return rc;
	struct store *s = store_open(&status, o->into, STORE_CREATE, &err);
	if (!s)
		return fail(err.msg, status);
	status = store_query_sql(s, count, NULL, take_count, &before);
	for (int i = 0; i < o->nfile && status == STORE_OK; i++)
		status = store_merge(s, o->file[i]);
	if (status == STORE_OK)
		status = store_query_sql(s, count, NULL, take_count, &after);
	if (status != STORE_OK)
		rc = fail(store_message(s), status);
	else
		printf("%s: %" PRId64 " finding%s, %" PRId64 " of them new\n", o->into, after, plural(after), after - before);
	store_abandon(s);
	return rc;
}
