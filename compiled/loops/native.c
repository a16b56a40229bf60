/* native.c: see native.h. Text, library and messages lie in a folder of their own in TMPDIR, which is gone before the code runs. */
#include "compiled/loops/native.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "eager/base/library.h"
#include "compiled/loops/emit_c.h"
#include "eager/base/output.h"
#include "eager/base/proc.h"

typedef bool native_function(void *frame, unsigned char *const *b, const int64_t *s);
struct native {
	void *library; /* NULL: another's, compiled ahead */
	native_function *run;
};

/* The compiler's exit status; -1: it did not start (errno). */
static int compile_text(const char *text, const char *library, const char *messages, const struct native_options *o)
{
	char level[] = "-O2";
	level[2] = (char)('0' + o->level);
	/* Halves and floats are moved as bits, too, hence no strict aliasing; arithmetic is as written, and nobody looks at its flags. */
	const char *argv[24] = {o->compiler, level, "-w", "-std=gnu11", "-shared", "-fPIC", "-ffp-contract=off", "-fno-strict-aliasing",
		"-fno-trapping-math", "-fno-math-errno", "-o", library, text, "-lm", "-Wl,-z,defs"};
	int n = 15;
	if (o->sanitize) {
		argv[n++] = "-fsanitize=undefined";
		argv[n++] = "-fsanitize-undefined-trap-on-error";
	}
	if (str_eq(o->compiler, "gcc")) /* 12.2 loses the rounding of (double)(float)x there (docs/found.md) */
		argv[n++] = "-fno-tree-slp-vectorize";
	if (o->level == 2 && str_eq(o->compiler, "gcc")) { /* its -O2 makes few loops vectors; clang's needs no word */
		argv[n++] = "-fvect-cost-model=dynamic";
		argv[n++] = "-funswitch-loops";
	}
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

/* An error at a line of the text is ours, and so is a function that nobody has; that a compiler breaks on the text is a finding, too. What
 * else keeps a compiler from its work (no room, no assembler, a signal) is the machine's. */
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
	const bool ours = (str_starts(line, source) && strstr(line, " error: ")) || strstr(text.s, "undefined reference to ")
		|| strstr(text.s, "internal compiler error: ");
	err_set(err, "%s%s ended with %d: %.500s", ours ? "generated code: " : "", o->compiler, status, line);
	sb_free(&text);
	return ours ? NATIVE_BROKEN : NATIVE_MISSING;
}

bool native_can_build(const struct native_options *o, struct err *err)
{
	struct strbuf path;
	sb_init(&path);
	const bool found = proc_find(&path, o->compiler) || err_set(err, "%s does not start: no such program in PATH", o->compiler);
	sb_free(&path);
	return found;
}

/* The text becomes a library. */
static enum native_end build(const char *library, const struct strbuf *text, const struct native_options *o, struct err *err)
{
	struct arena a;
	arena_init(&a);
	const char *source = arena_printf(&a, "%s.c", library), *messages = arena_printf(&a, "%s.messages", library);
	enum native_end end = NATIVE_MISSING;
	if (output_text(source, text, err)) {
		const int status = compile_text(source, library, messages, o);
		end = status == 0 ? NATIVE_OK : refused(status, source, messages, o, &a, err);
	}
	unlink(source);
	unlink(messages);
	arena_free(&a);
	return end;
}

enum native_end native_build(const char *library, const struct loops *l, const struct native_options *o, struct err *err)
{
	struct strbuf text;
	sb_init(&text);
	loops_emit_c(&text, l, true);
	const enum native_end end = build(library, &text, o, err);
	sb_free(&text);
	return end;
}

/* A function of `library`; NULL: it has none of that name. */
static native_function *function_of(void *library, const char *name)
{
	native_function *run;
	library_find(&run, library, name);
	return run;
}

bool native_load(struct native **out, const char *library, struct err *err)
{
	struct native *n = xmalloc(sizeof *n);
	*n = (struct native){.library = dlopen(library, RTLD_NOW | RTLD_LOCAL)};
	n->run = n->library ? function_of(n->library, "run") : NULL;
	*out = n->run ? n : NULL;
	if (n->run)
		return true;
	err_set(err, "%s", n->library ? "generated code has no function run" : dlerror());
	native_close(n);
	return false;
}

/* ---- ahead ---- */

static void *open_library(const char *path) { return dlopen(path, RTLD_NOW | RTLD_LOCAL); }

/* A function's address as data. */
static void *find_function(void *library, const char *name) { return dlsym(library, name); }

static void close_library(void *library) { dlclose(library); }

const struct batch_kind native_batches = {open_library, find_function, close_library};

static void name_of(char out[BATCH_NAME], const struct loops *l, const struct native_options *o)
{
	struct strbuf text;
	sb_init(&text);
	sb_printf(&text, "%s -O%d%s\n", o->compiler, o->level, o->sanitize ? " sanitized" : "");
	loops_emit_body(&text, l);
	batch_name(out, &text);
	sb_free(&text);
}

static native_function *find_ahead(const struct batches *ahead, const struct loops *l, const struct native_options *o)
{
	char name[BATCH_NAME];
	native_function *run;
	if (!ahead)
		return NULL;
	name_of(name, l, o);
	void *at = batches_find(ahead, name);
	memcpy(&run, &at, sizeof run);
	return run;
}

bool native_is_ahead(const struct batches *ahead, const struct loops *l, const struct native_options *o)
{
	return find_ahead(ahead, l, o) != NULL;
}

bool native_build_all(const char *library, const struct loops *const *l, int n, const struct native_options *o, struct err *err)
{
	struct arena a;
	struct strbuf text;
	arena_init(&a);
	sb_init(&text);
	const char **name = ARENA_NEW(&a, const char *, n);
	const struct loops **each = ARENA_NEW(&a, const struct loops *, n);
	for (int i = 0; i < n; i++) {
		char is[BATCH_NAME];
		name_of(is, l[i], o);
		each[i] = l[i];
		name[i] = arena_strdup(&a, is);
	}
	loops_emit_c_all(&text, each, name, batch_distinct(each, name, n));
	const bool ok = build(library, &text, o, err) == NATIVE_OK;
	sb_free(&text);
	arena_free(&a);
	return ok;
}

/* ---- alone ---- */

enum native_end native_open(
	struct native **out, const struct loops *l, const struct native_options *o, const struct batches *ahead, struct err *err)
{
	struct workshop w;
	native_function *run = find_ahead(ahead, l, o);
	*out = NULL;
	if (run) {
		*out = xmalloc(sizeof **out);
		**out = (struct native){.run = run};
		return NATIVE_OK;
	}
	if (!workshop_open(&w, err))
		return NATIVE_MISSING;
	enum native_end end = native_build(w.file, l, o, err);
	if (end == NATIVE_OK && !native_load(out, w.file, err)) /* a file system that nothing may be run from, a compiler that made nothing */
		end = NATIVE_MISSING;
	workshop_close(&w);
	return end;
}

void native_close(struct native *n)
{
	if (n && n->library)
		dlclose(n->library);
	free(n);
}

bool native_run(struct loop_frame *f, void *native) { return ((struct native *)native)->run(f, f->data, f->symbol); }
