/* store_fault_test.c: the Nth writing operation fails, for each N; once or from then on, whole or torn. Whatever was committed
 * before is there afterwards, integrity is ok, and what failed can be repeated. Then the same with a disk that is really full, where
 * one can be mounted. */
#include "tests/test.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

#include "tests/store/fault_vfs.h"
#include "tests/store/store_util.h"

static const int64_t NOW = (int64_t)T0 * 1000;
enum { NFINDINGS = 3 };

/* What a campaign does for one finding. Statuses are looked at only where a campaign must look. */
static enum store_status write_one(struct store *s, unsigned n)
{
	static char big[20000];
	struct hash128 program, f, env, run;
	char text[64], signature[32];
	const char *const ops[] = {"expand", "sum"};
	memset(big, 'a' + (int)(n % 26), sizeof big);
	snprintf(text, sizeof text, "program %u\n", n);
	snprintf(signature, sizeof signature, "signature %u", n);
	const struct store_run r = {.seed = 1, .shard = "", .policy = "", .versions = "", .started = 1};
	store_begin(s);
	store_run_begin(s, &run, &r);
	store_environment(s, &env, &(struct store_env_text){"torch", "", "torch:eager", "", "", ""});
	store_program(s, &program, text, ops, 2);
	const struct store_finding finding = {
		.program = program, .family = "torch", .kind = FINDING_VALUE, .signature = signature, .at = NOW + n, .tool = "t"};
	store_finding(s, &f, &finding);
	put_obs(s, &f, &env, &run, NOW + n, "mismatch");
	store_artifact(s, &f, "got", NOW, big, sizeof big);
	enum store_status status = store_commit(s);
	if (status == STORE_OK)
		store_counter_add(s, &run, "", &env, "pass", 10);
	return status;
}

static int64_t counted(const char *path) { return sql_int(path, "SELECT coalesce(sum(n), 0) FROM counter"); }

/* A finding is whole: with its observation, its artifact and its events. */
static int64_t whole_findings(const char *path)
{
	return sql_int(path,
		"SELECT count(*) FROM finding f WHERE EXISTS (SELECT 1 FROM observation o WHERE o.finding = f.id) AND"
		" EXISTS (SELECT 1 FROM artifact a WHERE a.finding = f.id AND length(a.bytes) = 20000) AND"
		" (SELECT count(*) FROM event e WHERE e.finding = f.id) = 3 AND"
		" EXISTS (SELECT 1 FROM finding_summary s WHERE s.finding = f.id AND s.nobs = 1)");
}

static void without_fault(struct fault *was)
{
	const struct fault none = {.countdown = -1};
	*was = fault_get();
	fault_set(&none);
}

/* One pass over: create, NFINDINGS findings, flush, with the nth operation failing. Returns whether the fault was reached. */
static bool survive(struct fault f, const char *path)
{
	struct err err = {0};
	enum store_status status;
	int64_t ncommitted = 0, nflushed = 0;
	struct fault was;
	unlink(path);
	unlink(tmp_path("fault.db-journal"));
	fault_set(&f);
	struct store *s = store_open(&status, path, STORE_CREATE, &err);
	bool made = s != NULL;
	EXPECT(s || (store_exit_code(status) == 3 && err.msg[0]), "op %d: open gives status %d: %s", f.countdown, (int)status, err.msg);
	for (unsigned n = 0; n < NFINDINGS && s; n++) {
		status = write_one(s, n);
		ncommitted += status == STORE_OK;
		EXPECT(status == STORE_OK || (store_exit_code(status) == 3 && store_message(s)[0]), "op %d: status %d: %s", f.countdown,
			(int)status, store_message(s));
		EXPECT(!(f.rc == SQLITE_FULL && status == STORE_READONLY), "op %d: a full disk is not read-only", f.countdown);
		if (s && store_flush(s) == STORE_OK)
			nflushed = ncommitted;
	}
	store_abandon(s); /* the process ends here */
	without_fault(&was);

	/* a commit that reports failure may still have happened (the last step is the journal's removal), never the reverse */
	if (made) {
		s = open_ok(path, STORE_WRITE);
		int64_t nwhole = whole_findings(path);
		EXPECT(nwhole >= ncommitted, "op %d: %d of %d committed findings are left", f.countdown, (int)nwhole, (int)ncommitted);
		EXPECT_INT(sql_int(path, "SELECT count(*) FROM finding"), nwhole);
		EXPECT(counted(path) >= 10 * nflushed, "op %d: counters went back", f.countdown);
	} else {
		s = open_ok(path, STORE_CREATE);
	}
	EXPECT_STR(integrity(path), "ok");
	for (unsigned n = 0; n < NFINDINGS; n++)
		EXPECT_INT(write_one(s, n), STORE_OK); /* all of it again: nothing twice */
	EXPECT_INT(store_close(s, NULL), STORE_OK);
	EXPECT_INT(sql_int(path, "SELECT count(*) FROM finding"), NFINDINGS);
	EXPECT_STR(integrity(path), "ok");
	return was.nfailed > 0;
}

/* Every STRIDEth operation, and each kind of failure another residue; SCATTERPROOF_THOROUGH takes every one (minutes). */
static void every_operation_fails(int rc, bool for_ever, bool torn, int residue)
{
	enum { STRIDE = 7 };
	const char *path = xstrdup(tmp_path("fault.db"));
	bool thorough = getenv("SCATTERPROOF_THOROUGH") != NULL;
	int nreached = 0;
	for (int n = thorough ? 0 : residue;; n += thorough ? 1 : STRIDE) {
		const struct fault f = {.countdown = n, .rc = rc, .for_ever = for_ever, .torn = torn};
		if (!survive(f, path))
			break;
		nreached++;
	}
	free((char *)(uintptr_t)path);
	EXPECT(nreached > 40, "only %d operations failed", nreached);
	printf("  %d failing operations\n", nreached);
}

static void one_failure(void) { every_operation_fails(SQLITE_IOERR_WRITE, false, false, 0); }
static void one_torn_write(void) { every_operation_fails(SQLITE_IOERR_WRITE, false, true, 1); }
static void disk_goes_away(void) { every_operation_fails(SQLITE_IOERR_WRITE, true, true, 2); }
static void disk_full_for_a_moment(void) { every_operation_fails(SQLITE_FULL, false, true, 3); }
static void disk_full_for_ever(void) { every_operation_fails(SQLITE_FULL, true, true, 4); }

/* The same process goes on with the same store after the failure: nothing waits in vain, nothing is lost. */
static void going_on_after_a_failure(void)
{
	int nfailures = 0;
	for (int n = 0; n < 200; n += 3) {
		const char *path = tmp_path("on.db");
		unlink(path);
		struct store *s = open_ok(path, STORE_CREATE);
		const struct fault f = {.countdown = n, .rc = SQLITE_FULL, .torn = true};
		struct fault was;
		fault_set(&f);
		for (unsigned i = 0; i < NFINDINGS; i++) {
			enum store_status status = write_one(s, i);
			nfailures += status != STORE_OK;
			if (status != STORE_OK)
				EXPECT(write_one(s, i) == STORE_OK, "op %d: the second try gives %s", n, store_message(s));
			if (store_flush(s) != STORE_OK)
				nfailures++;
		}
		EXPECT_INT(store_close(s, NULL), STORE_OK);
		without_fault(&was);
		EXPECT_INT(whole_findings(path), NFINDINGS);
		EXPECT_INT(counted(path), 10 * NFINDINGS);
		EXPECT_STR(integrity(path), "ok");
	}
	EXPECT(nfailures > 10, "only %d failures", nfailures);
}

/* ---- a real full disk --------------------------------------------------------------------------------------------------------- */

static int fill_disk(const char *path, enum store_status want)
{
	struct err err = {0};
	enum store_status status;
	unsigned n = 0;
	struct store *s = store_open(&status, path, STORE_CREATE, &err);
	if (!s)
		return 90 + (int)status;
	while (n < 1000 && (status = write_one(s, n)) == STORE_OK)
		n++;
	printf("  %u findings, then: %s\n", n, store_message(s));
	EXPECT(status == STORE_FULL || status == want, "status %d", (int)status);
	EXPECT(status != STORE_FULL || strstr(store_message(s), "the disk is full"), "%s", store_message(s));
	EXPECT_INT(store_exit_code(status), 3);
	store_abandon(s);
	EXPECT_INT(whole_findings(path), n);
	EXPECT_STR(integrity(path), "ok");
	fflush(stdout);
	return test_nfail ? 1 : 0;
}

static int run_child(int (*body)(void))
{
	fflush(stdout);
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		test_nfail = 0;
		_exit(body());
	}
	int status;
	CHECK(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int on_a_tiny_tmpfs(void)
{
	const char *disk = tmp_path("disk");
	if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWNS | CLONE_NEWUSER) != 0)
		return 77;
	mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL);
	if (mkdir(disk, 0777) != 0 || mount("tmpfs", disk, "tmpfs", 0, "size=1m") != 0)
		return 77;
	return fill_disk(tmp_path("disk/full.db"), STORE_FULL);
}

/* A file-size limit is a full disk that everybody can have; SQLite calls it an input/output error. */
static int under_a_limit(void)
{
	const struct rlimit limit = {1 << 20, 1 << 20};
	signal(SIGXFSZ, SIG_IGN);
	CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	return fill_disk(tmp_path("limit.db"), STORE_IO);
}

static void a_full_disk(void)
{
	int rc = run_child(on_a_tiny_tmpfs);
	if (rc == 77)
		printf("SKIPPED: a full disk: no tmpfs can be mounted here\n");
	EXPECT(rc == 0 || rc == 77, "tmpfs: exit %d", rc);
	rc = run_child(under_a_limit);
	EXPECT(rc == 0, "file-size limit: exit %d", rc);
}

int main(void)
{
	tmp_dir();
	fault_install();
	RUN(one_failure);
	RUN(one_torn_write);
	RUN(disk_goes_away);
	RUN(disk_full_for_a_moment);
	RUN(disk_full_for_ever);
	RUN(going_on_after_a_failure);
	RUN(a_full_disk);
	return TEST_END();
}
