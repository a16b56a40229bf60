/* ask.c: see ask.h. */
#include "fuzz/cli/ask.h"

#include "eager/base/output.h"

int ask_store(const char *db, const char *sql, store_row_fn *row, void *ctx)
{
	enum store_status st;
	struct err err = {0};
	struct store *s = store_open(&st, db, STORE_READ, &err);
	if (s)
		st = store_query_sql(s, sql, NULL, row, ctx);
	if (st != STORE_OK)
		complain("%s", s ? store_message(s) : err.msg);
	store_close(s, NULL);
	return store_exit_code(st);
}
