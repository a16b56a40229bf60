/* package.c: see package.h. */
#include "compiled/loops/package.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compiled/loops/symbols.h"
#include "eager/base/output.h"
#include "eager/lang/wire.h"

extern char **environ;

static const char *const files[] = {"program.prog", "loops", "loops.so", "inputs", "result"};
enum { PROGRAM, LOOPS, LIBRARY, INPUTS, RESULT, NFILES };

struct package {
	char folder[4000];
	const struct prog *p;
};

static const char *file_of(const char *folder, int file, struct arena *a) { return arena_printf(a, "%s/%s", folder, files[file]); }

/* ---- writing ---- */

static bool write_file(const char *folder, int file, const struct strbuf *bytes, struct err *err)
{
	struct arena a;
	arena_init(&a);
	const bool ok = sb_write_file(file_of(folder, file, &a), bytes, err);
	arena_free(&a);
	return ok;
}

static bool write_program(const char *folder, const struct prog *p, struct err *err)
{
	struct strbuf text;
	sb_init(&text);
	prog_print(&text, p);
	const bool ok = write_file(folder, PROGRAM, &text, err);
	sb_free(&text);
	return ok;
}

static enum native_end fill_folder(const char *folder, const struct loops *l, const struct native_options *o, struct err *err)
{
	struct strbuf loops;
	struct arena a;
	sb_init(&loops);
	loops_print(&loops, l);
	const bool written = write_file(folder, LOOPS, &loops, err);
	sb_free(&loops);
	if (!written)
		return NATIVE_MISSING;
	arena_init(&a);
	const enum native_end end = native_build(file_of(folder, LIBRARY, &a), l, o, err);
	arena_free(&a);
	return end;
}

enum native_end package_open(
	struct package **out, const struct loops *l, const struct prog *p, const struct native_options *o, struct err *err)
{
	const char *in = getenv("TMPDIR");
	struct package *k = xmalloc(sizeof *k);
	*out = NULL;
	k->p = p;
	snprintf(k->folder, sizeof k->folder, "%s/scatterproof-package-XXXXXX", in && *in && strlen(in) < 3000 ? in : "/tmp");
	if (!mkdtemp(k->folder)) {
		err_set(err, "cannot make %s: %s", k->folder, strerror(errno));
		free(k);
		return NATIVE_MISSING;
	}
	const enum native_end end = fill_folder(k->folder, l, o, err);
	if (end == NATIVE_OK)
		*out = k;
	else
		package_close(k);
	return end;
}

void package_close(struct package *k)
{
	struct arena a;
	if (!k)
		return;
	arena_init(&a);
	for (int file = 0; file < NFILES; file++)
		unlink(file_of(k->folder, file, &a));
	rmdir(k->folder);
	arena_free(&a);
	free(k);
}

/* ---- the fresh process ---- */

static bool read_text(struct strbuf *out, const char *folder, int file, struct err *err)
{
	struct arena a;
	arena_init(&a);
	const bool ok = sb_read_file(out, file_of(folder, file, &a), (size_t)1 << 28, err);
	arena_free(&a);
	return ok;
}

static bool read_program(struct prog *p, const char *folder, struct arena *a, struct err *err)
{
	struct strbuf text;
	sb_init(&text);
	const bool ok = read_text(&text, folder, PROGRAM, err) && prog_read(p, a, text.s, text.len, READ_STRICT, err);
	sb_free(&text);
	return ok;
}

/* What a run takes: the symbols' values, then the cells. */
struct package_inputs {
	int64_t symbol[MAX_POLY_SYMBOLS];
	struct result_storage *storage;
};

static bool read_inputs(struct package_inputs *out, const struct prog *p, const char *folder, struct arena *a, struct err *err)
{
	struct strbuf bytes;
	size_t nsymbol;
	const int n = prog_input_storages(p);
	sb_init(&bytes);
	bool ok = read_text(&bytes, folder, INPUTS, err);
	struct wire w = {.p = (const uint8_t *)bytes.s, .end = (const uint8_t *)bytes.s + bytes.len};
	const void *symbol = wire_blob(&w, a, &nsymbol);
	ok = ok && ((!w.bad && nsymbol == sizeof out->symbol) || err_set(err, "the symbols' values do not fit"));
	if (ok)
		memcpy(out->symbol, symbol, sizeof out->symbol);
	out->storage = ARENA_ZNEW(a, struct result_storage, MAX(n, 1));
	for (int s = 0; ok && s < n; s++) {
		struct result_storage *one = &out->storage[s];
		one->data = wire_blob(&w, a, &one->nbytes);
		ok = (!w.bad && one->nbytes == prog_storage_nbytes(p, s)) || err_set(err, "the cells of input storage %d do not fit", s);
	}
	sb_free(&bytes);
	return ok;
}

/* At the call's sizes. */
static bool fits(const struct loops *l, const struct prog *p, const int64_t *symbol, struct arena *a, struct err *err)
{
	struct loops at = *l;
	return (!l->nsymbol || loops_at(&at, l, symbol, a, err)) && loops_fit(&at, p, err);
}

static bool load(struct prog *p, struct package_inputs *inputs, struct loops *l, const char *folder, struct arena *a, struct err *err)
{
	struct strbuf loops;
	sb_init(&loops);
	const bool ok = read_program(p, folder, a, err) && read_inputs(inputs, p, folder, a, err) && read_text(&loops, folder, LOOPS, err)
		&& (strlen(loops.s) == loops.len || err_set(err, "a NUL in the loops")) && loops_read(l, a, arena_strdup(a, loops.s), err)
		&& fits(l, p, inputs->symbol, a, err);
	sb_free(&loops);
	return ok;
}

int package_child(const char *folder)
{
	struct arena a;
	struct prog p;
	struct package_inputs inputs;
	struct loops l;
	struct native *code = NULL;
	struct err err = {0};
	struct strbuf answer;
	struct result r = {.status = RES_OK, .message = "", .stderr_tail = ""};
	arena_init(&a);
	sb_init(&answer);
	if (!load(&p, &inputs, &l, folder, &a, &err)) {
		complain(err.line ? "package %s: %s (line %d)" : "package %s: %s", folder, err.msg, err.line);
		return 3;
	}
	r.call = ARENA_ZNEW(&a, struct result_call, 1);
	enum loop_end end = LOOPS_TOO_LARGE;
	if (native_load(&code, file_of(folder, LIBRARY, &a), &err)) /* else nothing may be run from here */
		end = loops_run(&r.call[0], &l, &p, inputs.symbol, inputs.storage, native_run, code, &a, &err);
	r.ncalls = end == LOOPS_RAN;
	if (end != LOOPS_RAN)
		r.status = end == LOOPS_RAISED ? RES_RAISED : RES_UNSUPPORTED;
	r.message = arena_strdup(&a, err.msg);
	wire_put_result(&answer, &r);
	const bool written = write_file(folder, RESULT, &answer, &err);
	if (!written)
		complain("%s", err.msg);
	native_close(code);
	sb_free(&answer);
	arena_free(&a);
	return written ? 0 : 3;
}

/* ---- running it ---- */

/* How the process ended; -1: it did not start (errno). */
static int run_process(const char *folder)
{
	const char *argv[] = {"scatterproof", PACKAGE_VERB, folder, NULL};
	pid_t pid;
	int status;
	const int failed = posix_spawn(&pid, "/proc/self/exe", NULL, NULL, (char *const *)(uintptr_t)argv, environ);
	if (failed) {
		errno = failed;
		return -1;
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

static bool read_result(struct result *out, const struct package *k, const struct prog *p, struct arena *a, struct err *err)
{
	struct strbuf bytes;
	const int nstorages = prog_input_storages(p);
	size_t *nbytes = ARENA_NEW(a, size_t, MAX(nstorages, 1));
	for (int s = 0; s < nstorages; s++)
		nbytes[s] = prog_storage_nbytes(p, s);
	const struct wire_expect expect = {.nouts = p->nret, .nstorages = nstorages, .ncalls = 1, .storage_nbytes = nbytes};
	sb_init(&bytes);
	bool ok = read_text(&bytes, k->folder, RESULT, err);
	struct wire w = {.p = (const uint8_t *)bytes.s, .end = (const uint8_t *)bytes.s + bytes.len};
	ok = ok && wire_get_result(out, a, &w, &expect, err);
	sb_free(&bytes);
	return ok;
}

static bool write_inputs(const struct package *k, const struct call_sizes *at, const struct result_storage *inputs, struct err *err)
{
	static const int64_t none[MAX_POLY_SYMBOLS];
	const struct prog *p = at ? at->p : k->p;
	struct strbuf bytes;
	sb_init(&bytes);
	wire_put_blob(&bytes, at ? at->symbol : none, sizeof none);
	for (int s = 0; s < prog_input_storages(p); s++)
		wire_put_blob(&bytes, inputs[s].data, inputs[s].nbytes);
	const bool ok = write_program(k->folder, p, err) && write_file(k->folder, INPUTS, &bytes, err);
	sb_free(&bytes);
	return ok;
}

void package_run(
	struct result *out, const struct package *k, const struct call_sizes *at, const struct result_storage *inputs, struct arena *a)
{
	struct err err = {0};
	*out = (struct result){.status = RES_HARNESS, .message = "", .stderr_tail = ""};
	if (!write_inputs(k, at, inputs, &err)) {
		out->message = arena_strdup(a, err.msg);
		return;
	}
	const int status = run_process(k->folder);
	if (status == -1) {
		out->message = arena_printf(a, "the package's process does not start: %s", strerror(errno));
	} else if (WIFSIGNALED(status)) {
		out->status = RES_CRASH;
		out->message = arena_printf(a, "the package's process died of signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
	} else if (WEXITSTATUS(status) != 0) {
		out->message = arena_printf(a, "the package's process ended with %d", WEXITSTATUS(status));
	} else if (!read_result(out, k, at ? at->p : k->p, a, &err)) {
		*out = (struct result){.status = RES_HARNESS, .message = arena_strdup(a, err.msg), .stderr_tail = ""};
	}
}
