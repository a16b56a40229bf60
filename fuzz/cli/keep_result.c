/* keep_result.c: the store is open only to write: what is learnt may take hours, and others write, too. */
#include "fuzz/cli/keep_result.h"

#include "eager/base/clock.h"
#include "eager/base/output.h"
#include "fuzz/cli/commands.h"
#include "fuzz/triage/cause_join.h"
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

static int settle(struct store *s, const char *finding)
{
	int nchanged;
	enum store_status st = store_begin(s);
	if (st == STORE_OK)
		st = cause_settle(&nchanged, s, finding, SCATTERPROOF);
	if (st == STORE_OK)
		st = store_commit(s);
	else
		store_rollback(s);
	if (st != STORE_OK)
		complain("causes are not brought up to date: %s", store_message(s));
	else if (nchanged)
		fprintf(stderr, "%d finding%s got another cause, by what is known now\n", nchanged, plural(nchanged));
	return store_exit_code(st);
}

int result_settle(const char *db)
{
	struct err err = {0};
	enum store_status st;
	int rc, nchanged = 0;
	struct store *s = store_open(&st, db, STORE_READ, &err);
	if (s)
		st = cause_settle(&nchanged, s, "", NULL);
	if (st != STORE_OK)
		complain("%s", s ? store_message(s) : err.msg);
	store_close(s, NULL);
	if (st != STORE_OK || !nchanged)
		return store_exit_code(st);
	s = open_to_write(&rc, db);
	if (s)
		rc = settle(s, "");
	store_close(s, NULL);
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
	char hex[33];
	hash_hex(hex, finding);
	const int rc_of_cause = st == STORE_OK ? settle(s, hex) : store_exit_code(st);
	store_close(s, NULL);
	return rc_of_cause;
}
