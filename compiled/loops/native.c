/* native.c: see native.h. Text, library and messages lie in a folder of their own in TMPDIR, which is gone before the code runs. */
#include "compiled/loops/native.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compiled/library.h"
#include "compiled/loops/emit_c.h"
#include "eager/base/output.h"

typedef bool native_function(void *frame, unsigned char *const *b, const int64_t *s);
struct native {
	void *library; /* NULL: another's, compiled ahead */
	native_function *run;
};
struct native_ahead {
	void *library[MAX_AHEAD]; /* NULL: none yet */
	int next;
	int rest; /* calls of native_ahead_make that do nothing */
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

/* A folder of its own in TMPDIR, where a library is made. */
struct workshop {
	char folder[4000], library[4096];
};

static bool workshop_open(struct workshop *w, struct err *err)
{
	const char *in = getenv("TMPDIR");
	snprintf(w->folder, sizeof w->folder, "%s/scatterproof-native-XXXXXX", in && *in && strlen(in) < 3000 ? in : "/tmp");
	if (!mkdtemp(w->folder))
		return err_set(err, "cannot make %s: %s", w->folder, strerror(errno));
	snprintf(w->library, sizeof w->library, "%s/loops.so", w->folder);
	return true;
}

/* Also of what a compiler that was killed left behind. */
static void workshop_close(const struct workshop *w)
{
	static const char *const ends[] = {"", ".c", ".messages"};
	char path[sizeof w->library + 16];
	for (int i = 0; i < ARRAY_LEN(ends); i++) {
		snprintf(path, sizeof path, "%s%s", w->library, ends[i]);
		unlink(path);
	}
	rmdir(w->folder);
}

static native_function *find_ahead(const struct native_ahead *h, const struct loops *l, const struct native_options *o);

enum native_end native_open(struct native **out, const struct loops *l, const struct native_options *o, struct err *err)
{
	struct workshop w;
	native_function *run = find_ahead(o->ahead, l, o);
	*out = NULL;
	if (run) {
		*out = xmalloc(sizeof **out);
		**out = (struct native){.run = run};
		return NATIVE_OK;
	}
	if (!workshop_open(&w, err))
		return NATIVE_MISSING;
	enum native_end end = native_build(w.library, l, o, err);
	if (end == NATIVE_OK
		&& !native_load(out, w.library, err)) /* a file system that nothing may be run from, a compiler that made nothing */
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

/* ---- ahead ---- */

enum { NAME_SIZE = sizeof "run_" + 2 * sizeof(struct hash128) };

static void name_of(char out[NAME_SIZE], const struct loops *l, const struct native_options *o)
{
	struct strbuf text, name;
	sb_init(&text);
	sb_init(&name);
	sb_printf(&text, "%s -O%d%s\n", o->compiler, o->level, o->sanitize ? " sanitized" : "");
	loops_emit_body(&text, l);
	const struct hash128 h = hash_bytes(text.s, text.len);
	sb_hex(&name, &h, sizeof h);
	snprintf(out, NAME_SIZE, "run_%s", name.s);
	sb_free(&name);
	sb_free(&text);
}

static native_function *find_ahead(const struct native_ahead *h, const struct loops *l, const struct native_options *o)
{
	char name[NAME_SIZE];
	native_function *run = NULL;
	if (!h || !h->library[0])
		return NULL;
	name_of(name, l, o);
	for (int i = 0; !run && i < MAX_AHEAD && h->library[i]; i++)
		run = function_of(h->library[i], name);
	return run;
}

bool native_ahead_has(const struct native_ahead *h, const struct loops *l, const struct native_options *o)
{
	return find_ahead(h, l, o) != NULL;
}

struct native_ahead *native_ahead_new(void)
{
	struct native_ahead *h = xmalloc(sizeof *h);
	*h = (struct native_ahead){0};
	return h;
}

void native_ahead_free(struct native_ahead *h)
{
	for (int i = 0; h && i < MAX_AHEAD; i++)
		if (h->library[i])
			dlclose(h->library[i]);
	free(h);
}

bool native_build_all(const char *library, const struct loops *const *l, int n, const struct native_options *o, struct err *err)
{
	struct arena a;
	struct strbuf text;
	arena_init(&a);
	sb_init(&text);
	const char **name = ARENA_NEW(&a, const char *, n);
	const struct loops **each = ARENA_NEW(&a, const struct loops *, n);
	int nname = 0;
	for (int i = 0; i < n; i++) {
		char *is = ARENA_NEW(&a, char, NAME_SIZE);
		bool twice = false;
		name_of(is, l[i], o);
		for (int k = 0; k < nname; k++)
			twice |= str_eq(name[k], is);
		if (twice)
			continue;
		each[nname] = l[i];
		name[nname++] = is;
	}
	loops_emit_c_all(&text, each, name, nname);
	const bool ok = build(library, &text, o, err) == NATIVE_OK;
	sb_free(&text);
	arena_free(&a);
	return ok;
}

/* What goes wrong in there is nobody's yet: it says nothing and ends. */
static void make_in_child(bool (*make)(void *ctx, const char *library), void *ctx, const char *library, int limit_ms, pid_t parent)
{
	const int nowhere = open("/dev/null", O_RDWR);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (nowhere < 0 || getppid() != parent || dup2(nowhere, STDERR_FILENO) < 0 || dup2(nowhere, STDOUT_FILENO) < 0)
		_exit(1);
	signal(SIGALRM, SIG_DFL);
	const struct itimerval limit = {.it_value = {limit_ms / 1000, limit_ms % 1000 * 1000}};
	setitimer(ITIMER_REAL, &limit, NULL);
	_exit(make(ctx, library) ? 0 : 1);
}

bool native_ahead_make(struct native_ahead *h, bool (*make)(void *ctx, const char *library), void *ctx, int limit_ms)
{
	enum { REST = 32 }; /* by then all programs of a batch that failed have had their turn alone */
	struct workshop w;
	int status = 1;
	void *library = NULL;
	if (h->rest > 0 || !workshop_open(&w, NULL)) {
		h->rest -= h->rest > 0;
		return false;
	}
	const pid_t parent = getpid(), pid = fork();
	if (pid == 0)
		make_in_child(make, ctx, w.library, MAX(limit_ms, 1), parent);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid > 0 && status == 0)
		library = dlopen(w.library, RTLD_NOW | RTLD_LOCAL);
	workshop_close(&w);
	if (!library) {
		h->rest = REST;
		return false;
	}
	if (h->library[h->next])
		dlclose(h->library[h->next]);
	h->library[h->next] = library;
	h->next = (h->next + 1) % MAX_AHEAD;
	return true;
}
