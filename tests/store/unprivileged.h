/* unprivileged.h: a part of a test that runs in a child process without root's rights, to which permissions do not apply. Included by test
 * programs, each of which has counts of its own (test.h). */
#ifndef SCATTERPROOF_TEST_UNPRIVILEGED_H
#define SCATTERPROOF_TEST_UNPRIVILEGED_H

#include "eager/base/base.h"
#include "tests/test.h"

#include <sys/wait.h>
#include <unistd.h>

/* body's result if that is not 0; 1: a check failed, 2: nothing was checked, 99: the rights would not go, 128: killed. */
static int in_child(int (*body)(void))
{
	fflush(stdout);
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		test_nexpect = test_nfail = 0;
		if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
			_exit(99);
		int rc = body();
		fflush(stdout);
		_exit(rc ? rc : test_nfail ? 1 : test_nexpect ? 0 : 2);
	}
	int status = 0;
	CHECK(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

#endif
