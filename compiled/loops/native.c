/* native.c: see native.h. Text, library and messages lie in a folder of their own in TMPDIR, which is gone before the code runs. */
#include "compiled/loops/native.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compiled/loops/emit_c.h"
#include "eager/base/output.h"

extern char **environ;

struct native {
	void *library;
	bool (*run)(void *frame, unsigned char *const *b);
};

struct files {
	char folder[4000], text[4096], library[4096], messages[4096];
};

static bool make_folder(struct files *f, struct err *err)
{
	const char *in = getenv("TMPDIR");
	snprintf(f->folder, sizeof f->folder, "%s/scatterproof-native-XXXXXX", in && *in && strlen(in) < 3000 ? in : "/tmp");
	if (!mkdtemp(f->folder))
		return err_set(err, "cannot make %s: %s", f->folder, strerror(errno));
	snprintf(f->text, sizeof f->text, "%s/loops.c", f->folder);
	snprintf(f->library, sizeof f->library, "%s/loops.so", f->folder);
	snprintf(f->messages, sizeof f->messages, "%s/messages", f->folder);
	return true;
}

static void remove_folder(const struct files *f)
{
	unlink(f->text);
	unlink(f->library);
	unlink(f->messages);
	rmdir(f->folder);
}

/* The compiler's exit status; -1: it did not start (errno). */
static int compile_text(const struct files *f, const struct native_options *o)
{
	char level[] = "-O2";
	level[2] = (char)('0' + o->level);
	/* Halves and floats are moved as bits, too, hence no strict aliasing; arithmetic is as written. */
	const char *argv[] = {o->compiler, level, "-w", "-std=gnu11", "-shared", "-fPIC", "-ffp-contract=off", "-fno-strict-aliasing", "-o",
		f->library, f->text, "-lm", o->sanitize ? "-fsanitize=undefined" : NULL, "-fsanitize-undefined-trap-on-error", NULL};
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int status;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, f->messages, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
	const int failed = posix_spawnp(&pid, o->compiler, &actions, NULL, (char *const *)(uintptr_t)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (failed) {
		errno = failed;
		return -1;
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static bool load(struct native *n, const struct files *f, struct err *err)
{
	n->library = dlopen(f->library, RTLD_NOW | RTLD_LOCAL);
	if (!n->library)
		return err_set(err, "generated code: %s", dlerror());
	void *run = dlsym(n->library, "run");
	memcpy(&n->run, &run, sizeof run); /* a function's address that comes as data */
	return run != NULL || err_set(err, "generated code has no function run");
}

static enum native_end build(
	struct native *n, const struct loops *l, const struct files *f, const struct native_options *o, struct err *err)
{
	struct strbuf text, messages;
	struct arena a;
	sb_init(&text);
	loops_emit_c(&text, l, true);
	const bool written = output_text(f->text, &text, err);
	sb_free(&text);
	if (!written)
		return NATIVE_MISSING;
	const int status = compile_text(f, o);
	if (status == -1 || status == 127) {
		err_set(err, "%s does not start: %s", o->compiler, status == -1 ? strerror(errno) : "not found");
		return NATIVE_MISSING;
	}
	if (status == 0)
		return load(n, f, err) ? NATIVE_OK : NATIVE_BROKEN;
	arena_init(&a);
	sb_init(&messages);
	sb_read_file(&messages, f->messages, 1 << 16, NULL);
	err_set(err, "generated code: %s ended with %d: %.500s", o->compiler, status, last_line(messages.s, &a));
	sb_free(&messages);
	arena_free(&a);
	return NATIVE_BROKEN;
}

enum native_end native_open(struct native **out, const struct loops *l, const struct native_options *o, struct err *err)
{
	struct files f;
	*out = NULL;
	if (!make_folder(&f, err))
		return NATIVE_MISSING;
	struct native *n = xmalloc(sizeof *n);
	*n = (struct native){0};
	const enum native_end end = build(n, l, &f, o, err);
	remove_folder(&f);
	if (end == NATIVE_OK)
		*out = n;
	else
		native_close(n);
	return end;
}

void native_close(struct native *n)
{
	if (n && n->library)
		dlclose(n->library);
	free(n);
}

bool native_run(struct loop_frame *f, void *native) { return ((struct native *)native)->run(f, f->data); }
