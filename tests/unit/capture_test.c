/* capture_test.c: programs run to their end, or are ended; and what is kept of what PyTorch says of its environment. */
#include "compiled/targets/torch/about.h"
#include "eager/base/capture.h"
#include "eager/base/clock.h"
#include "tests/test.h"

#include <stdlib.h>

static int run(struct strbuf *out, const char *script, bool errors, size_t most, int limit_s)
{
	const char *argv[] = {"/bin/sh", "-c", script, NULL};
	const struct capture c = {.argv = argv, .dir = "/", .errors = errors, .most = most, .limit_s = limit_s};
	sb_reset(out);
	return capture_run(out, &c);
}

static void test_capture(void)
{
	enum { MOST = 1000, LONG_S = 600 };
	struct strbuf out;
	sb_init(&out);
	EXPECT_INT(run(&out, "echo said; echo error >&2; cat; pwd; exit 3", false, MOST, LONG_S), 3);
	EXPECT_STR(out.s, "said\n/\n");
	EXPECT_INT(run(&out, "echo said; echo error >&2", true, MOST, LONG_S), 0);
	EXPECT_STR(out.s, "said\nerror\n");
	EXPECT_INT(run(&out, "exec >&- 2>&-; exit 4", true, MOST, LONG_S), 4);
	EXPECT_INT(run(&out, "while :; do echo 1234567; done", false, MOST, LONG_S), 128);
	EXPECT_INT(out.len, MOST);
	EXPECT_INT(run(&out, "kill -9 $$", false, MOST, LONG_S), 128);
	EXPECT_INT(run(&out, "kill -6 $$", false, MOST, LONG_S), 134);
	const char *nothing[] = {"/no/such/program", NULL};
	EXPECT_INT(capture_run(&out, &(struct capture){.argv = nothing, .most = MOST, .limit_s = LONG_S}), 127);
	sb_free(&out);
}

static bool lives(long pid)
{
	struct strbuf stat;
	char path[64];
	sb_init(&stat);
	snprintf(path, sizeof path, "/proc/%ld/stat", pid);
	const bool is = sb_read_file(&stat, path, 4096, NULL) && !strstr(stat.s, ") Z ");
	sb_free(&stat);
	return is;
}

/* What it started holds the pipe, and would for ten minutes. */
static void test_ends(void)
{
	enum { MOST = 1000, LONG_S = 600 };
	struct strbuf out;
	sb_init(&out);
	const double began = clock_s();
	EXPECT_INT(run(&out, "sleep 600 & echo $!", false, MOST, LONG_S), 0);
	const long left = strtol(out.s, NULL, 10);
	EXPECT(left > 0, "'%s'", out.s);
	while (lives(left) && clock_s() - began < LONG_S / 2)
		;
	EXPECT(!lives(left), "what it started lives on");
	EXPECT_INT(run(&out, "echo begun; sleep 600", false, MOST, 1), 128);
	EXPECT_STR(out.s, "begun\n");
	EXPECT(clock_s() - began < LONG_S, "it was waited for");
	sb_free(&out);
}

static void test_kept(void)
{
	static const char said[] =
		"Collecting environment information...\nPyTorch version: 2.11.0+cpu\nIs debug build: False\n\n\n"
		"OS: Debian GNU/Linux 12 (bookworm) (x86_64)\nGCC version: (Debian 12.2.0-14+deb12u1) 12.2.0\nGCC version: /home/ann/gcc/bin\n"
		"Clang version: built by annabel\nPython platform: Linux-6.1-hosty\nCMake version: version 3.25.1, on hosty\n"
		"cuDNN version: Probably one of the following:\n/usr/local/cuda/lib/libcudnn.so.9\n"
		"GPU models and configuration: GPU 0: NVIDIA H100\nGPU 11: NVIDIA H100\nGPU x: what\nCUDA_MODULE_LOADING set to: LAZY\n"
		"PYTORCH_CUDA_ALLOC_CONF: secret\nIs CUDA available: True\nCPU:\nModel name:      Some(R) CPU\nModel: 143\nModels: 3\n\n"
		"Versions of relevant libraries:\n[pip3] numpy==2.4.6\n[pip3] torch @ file:///tmp/torch.whl\n[pip3] x==C:\\x\n[conda] y 1 /z\n";
	static const char kept[] = "PyTorch version: 2.11.0+cpu\nIs debug build: False\n\nOS: Debian GNU/Linux 12 (bookworm) (x86_64)\n"
							   "GCC version: (Debian 12.2.0-14+deb12u1) 12.2.0\n"
							   "GPU models and configuration: GPU 0: NVIDIA H100\nGPU 11: NVIDIA H100\nIs CUDA available: True\nCPU:\n"
							   "Model name:      Some(R) CPU\nModel: 143\n\nVersions of relevant libraries:\n[pip3] numpy==2.4.6\n";
	struct strbuf out;
	sb_init(&out);
	torch_about_keep(&out, said, "annabel", "hosty");
	EXPECT_STR(out.s, kept);
	sb_reset(&out);
	torch_about_keep(&out, "OS: Debian", "De", "");
	EXPECT_STR(out.s, "OS: Debian\n");
	sb_free(&out);
}

int main(void)
{
	RUN(test_capture);
	RUN(test_ends);
	RUN(test_kept);
	return TEST_END();
}
