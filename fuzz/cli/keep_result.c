/* keep_result.c: the store is open only to write: what is learnt may take hours, and others write, too. */
#include "fuzz/cli/keep_result.h"

#include "eager/base/clock.h"
#include "eager/base/output.h"
#include "fuzz/cli/commands.h"
#include "reports/store/store.h"

static struct store *open_to_write(int *rc, const char *db)
{
	enum { TRIES = 12 }; /* each waits STORE_BUSY_MS */
	enum store_status st = STORE_BUSY;
	struct err err = {0};
	struct store *s = NULL;
	for (int i = 0; i < TRIES && !s && st == STORE_BUSY; i++)
		s = store_open(&st, db, STORE_WRITE, &err);
	if (!s)
		complain("%s", err.msg);
	*rc = s ? EXIT_CLEAN : store_exit_code(st);
	return s;
}

int result_can_be_kept(const char *db)
{
	int rc;
	store_close(open_to_write(&rc, db), NULL);
	return rc;
}

int result_keep(const char *db, const struct hash128 *finding, const char *name, const char *text)
{
	int rc;
	struct store *s = open_to_write(&rc, db);
	if (!s)
		return rc;
	const enum store_status st = store_artifact(s, finding, name, clock_unix_ms(), text, strlen(text));
	if (st != STORE_OK)
		complain("what was learnt is not recorded: %s", store_message(s));
	store_close(s, NULL);
	return store_exit_code(st);
}
