/* about.c: a line of collect_env is kept if its key is listed here and its value gives nothing of the machine away. So what a later version
 * of PyTorch adds is not kept before somebody has looked at it. */
#include "compiled/targets/torch/about.h"

#include <pwd.h>
#include <unistd.h>

#include "eager/base/capture.h"

/* "[pip3]" stands for a library, "GPU 0" and so on for themselves: a digit in a key is any number. */
static const char *const kept[] = {"PyTorch version", "Is debug build", "CUDA used to build PyTorch", "ROCM used to build PyTorch", "OS",
	"GCC version", "Clang version", "CMake version", "Libc version", "Python version", "Is CUDA available", "CUDA runtime version",
	"GPU models and configuration", "GPU 0", "Nvidia driver version", "Is XPU available", "HIP runtime version", "MIOpen runtime version",
	"Is XNNPACK available", "CPU", "Architecture", "CPU(s)", "Vendor ID", "Model name", "CPU family", "Model", "Thread(s) per core",
	"Core(s) per socket", "Socket(s)", "Stepping", "Flags", "L1d cache", "L1i cache", "L2 cache", "L3 cache",
	"Versions of relevant libraries"};

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_key(const char *line, size_t n, const char *key)
{
	size_t at = 0;
	for (; *key; key++) {
		const size_t begin = at;
		if (!is_digit(*key) && (at == n || line[at++] != *key))
			return false;
		while (is_digit(*key) && at < n && is_digit(line[at]))
			at++;
		if (at == begin)
			return false;
	}
	return at == n;
}

/* Where a path may begin; "GNU/Linux" is none. */
static bool has_path(const char *line)
{
	for (const char *c = line; *c; c++)
		if (*c == '\\' || *c == '~' || (*c == '/' && (c == line || strchr(" \t=:('\"@/", c[-1]))))
			return true;
	return false;
}

static bool is_kept(const char *line)
{
	static const char library[] = "[pip3] ";
	const size_t n = strcspn(line, ":");
	if (str_starts(line, library))
		return strstr(line, "==") != NULL; /* and not "name @ file:..." */
	for (int i = 0; line[n] && i < ARRAY_LEN(kept); i++)
		if (is_key(line, n, kept[i]))
			return true;
	return false;
}

/* A name of a letter or two is everywhere. */
static bool names(const char *line, const char *name) { return strlen(name) > 2 && strstr(line, name); }

void torch_about_keep(struct strbuf *out, const char *text, const char *user, const char *host)
{
	struct arena a;
	bool blank = true;
	arena_init(&a);
	for (const char *at = text; *at;) {
		const int n = (int)strcspn(at, "\n");
		const char *line = arena_printf(&a, "%.*s", n, at);
		const bool tells = has_path(line) || names(line, user) || names(line, host);
		if (is_kept(line) && !tells)
			sb_printf(out, "%s\n", line);
		else if (!line[0] && !blank)
			sb_puts(out, "\n");
		if (!line[0] || (is_kept(line) && !tells))
			blank = !line[0];
		at += n + (at[n] == '\n');
		arena_reset(&a);
	}
	arena_free(&a);
}

bool torch_about(struct strbuf *out, const char *python)
{
	enum { LIMIT_S = 60, MOST = 256 << 10 };
	const char *argv[] = {python, "-m", "torch.utils.collect_env", NULL};
	const struct capture c = {.argv = argv, .dir = "/", .most = MOST, .limit_s = LIMIT_S};
	char host[256] = "";
	const struct passwd *user = getpwuid(getuid());
	struct strbuf text;
	sb_init(&text);
	if (gethostname(host, sizeof host - 1) != 0)
		host[0] = 0;
	const bool ok = capture_run(&text, &c) == 0;
	if (ok)
		torch_about_keep(out, text.s, user ? user->pw_name : "", host);
	sb_free(&text);
	return ok;
}
