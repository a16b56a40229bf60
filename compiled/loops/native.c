/* native.c: see native.h. Text, library and messages lie in a folder of their own in TMPDIR, which is gone before the code runs. */
#include "compiled/loops/native.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compiled/loops/emit_c.h"
#include "eager/base/output.h"

struct native {
	void *library;
	bool (*run)(void *frame, unsigned char *const *b);
};

/* The compiler's exit status; -1: it did not start (errno). */
static int compile_text(const char *text, const char *library, const char *messages, const struct native_options *o)
{
	char level[] = "-O2";
	level[2] = (char)('0' + o->level);
	/* Halves and floats are moved as bits, too, hence no strict aliasing; arithmetic is as written, and nobody looks at its flags. */
	const char *argv[] = {o->compiler, level, "-w", "-std=gnu11", "-shared", "-fPIC", "-ffp-contract=off", "-fno-strict-aliasing",
		"-fno-trapping-math", "-fno-math-errno", "-o", library, text, "-lm", o->sanitize ? "-fsanitize=undefined" : NULL,
		"-fsanitize-undefined-trap-on-error", NULL};
	int status;
	const pid_t parent = getpid(), pid = fork();
	if (pid == 0) {
		const int fd = open(messages, O_WRONLY | O_CREAT | O_TRUNC, 0600);
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* it ends with us, however we end */
		if (fd >= 0 && getppid() == parent && dup2(fd, STDERR_FILENO) >= 0 && dup2(fd, STDOUT_FILENO) >= 0)
			execvp(o->compiler, (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	if (pid < 0)
		return -1;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

/* The first line that names an error, else the last one. */
static const char *telling_line(const char *messages, struct arena *a)
{
	const char *at = strstr(messages, "rror: ");
	if (!at)
		return last_line(messages, a);
	while (at > messages && at[-1] != '\n')
		at--;
	return arena_printf(a, "%.*s", (int)strcspn(at, "\n"), at);
}

/* An error at a line of the text is ours. What else keeps a compiler from its work (no room, no assembler, a signal) is the machine's. */
static enum native_end refused(
	int status, const char *source, const char *messages, const struct native_options *o, struct arena *a, struct err *err)
{
	struct strbuf text;
	if (status == -1 || status == 127) {
		err_set(err, "%s does not start: %s", o->compiler, status == -1 ? strerror(errno) : "No such file, or it cannot be run");
		return NATIVE_MISSING;
	}
	sb_init(&text);
	sb_read_file(&text, messages, 1 << 16, NULL);
	const char *line = telling_line(text.s, a);
	const bool ours = str_starts(line, source) && strstr(line, " error: ");
	err_set(err, "%s%s ended with %d: %.500s", ours ? "generated code: " : "", o->compiler, status, line);
	sb_free(&text);
	return ours ? NATIVE_BROKEN : NATIVE_MISSING;
}

enum native_end native_build(const char *library, const struct loops *l, const struct native_options *o, struct err *err)
{
	struct arena a;
	struct strbuf text;
	arena_init(&a);
	sb_init(&text);
	const char *source = arena_printf(&a, "%s.c", library), *messages = arena_printf(&a, "%s.messages", library);
	loops_emit_c(&text, l, true);
	enum native_end end = NATIVE_MISSING;
	if (output_text(source, &text, err)) {
		const int status = compile_text(source, library, messages, o);
		end = status == 0 ? NATIVE_OK : refused(status, source, messages, o, &a, err);
	}
	unlink(source);
	unlink(messages);
	sb_free(&text);
	arena_free(&a);
	return end;
}

bool native_load(struct native **out, const char *library, struct err *err)
{
	struct native *n = xmalloc(sizeof *n);
	*n = (struct native){.library = dlopen(library, RTLD_NOW | RTLD_LOCAL)};
	void *run = n->library ? dlsym(n->library, "run") : NULL;
	memcpy(&n->run, &run, sizeof run); /* a function's address that comes as data */
	*out = run ? n : NULL;
	if (run)
		return true;
	err_set(err, "%s", n->library ? "generated code has no function run" : dlerror());
	native_close(n);
	return false;
}

enum native_end native_open(struct native **out, const struct loops *l, const struct native_options *o, struct err *err)
{
	const char *in = getenv("TMPDIR");
	char folder[4000], library[4096];
	*out = NULL;
	snprintf(folder, sizeof folder, "%s/scatterproof-native-XXXXXX", in && *in && strlen(in) < 3000 ? in : "/tmp");
	if (!mkdtemp(folder)) {
		err_set(err, "cannot make %s: %s", folder, strerror(errno));
		return NATIVE_MISSING;
	}
	snprintf(library, sizeof library, "%s/loops.so", folder);
	enum native_end end = native_build(library, l, o, err);
	if (end == NATIVE_OK && !native_load(out, library, err)) /* a file system that nothing may be run from, a compiler that made nothing */
		end = NATIVE_MISSING;
	unlink(library);
	rmdir(folder);
	return end;
}

void native_close(struct native *n)
{
	if (n && n->library)
		dlclose(n->library);
	free(n);
}

bool native_run(struct loop_frame *f, void *native) { return ((struct native *)native)->run(f, f->data); }
