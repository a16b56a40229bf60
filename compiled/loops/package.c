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

static const char *const files[] = {"program.prog", "loops", "loops.so", "inputs.prog", "result"};
enum { PROGRAM, LOOPS, LIBRARY, INPUTS, RESULT, NFILES };

struct package {
	char folder[4000];
	int nouts;
};

static const char *file_of(const char *folder, int file, struct arena *a) { return arena_printf(a, "%s/%s", folder, files[file]); }

/* ---- writing ---- */

/* Bytes as they are (output_text writes for readers). */
static bool write_file(const char *folder, int file, const struct strbuf *bytes, struct err *err)
{
	struct arena a;
	arena_init(&a);
	const char *path = file_of(folder, file, &a);
	FILE *f = fopen(path, "wb");
	bool ok = f && fwrite(bytes->s, 1, bytes->len, f) == bytes->len;
	ok = (!f || fclose(f) == 0) && ok;
	if (!ok)
		err_set(err, "cannot write %s: %s", path, strerror(errno));
	arena_free(&a);
	return ok;
}

static bool write_program(const char *folder, int file, const struct prog *p, struct err *err)
{
	struct strbuf text;
	sb_init(&text);
	prog_print(&text, p);
	const bool ok = write_file(folder, file, &text, err);
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
	k->nouts = p->nret;
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

static bool read_program(struct prog *p, const char *folder, int file, struct arena *a, struct err *err)
{
	struct strbuf text;
	sb_init(&text);
	const bool ok = read_text(&text, folder, file, err) && prog_read(p, a, text.s, text.len, READ_STRICT, err);
	sb_free(&text);
	return ok;
}

/* At the sizes of the inputs. */
static bool fits(const struct loops *l, const struct prog *p, const struct prog *inputs, struct arena *a, struct err *err)
{
	struct loops at = *l;
	int64_t value[MAX_POLY_SYMBOLS];
	return (!l->nsymbol || (loops_bind_symbols(value, l, inputs, err) && loops_at(&at, l, value, a, err))) && loops_fit(&at, p, err);
}

static bool load(struct prog *p, struct prog *inputs, struct loops *l, const char *folder, struct arena *a, struct err *err)
{
	struct strbuf loops;
	sb_init(&loops);
	const bool ok = read_program(p, folder, PROGRAM, a, err) && read_program(inputs, folder, INPUTS, a, err)
		&& read_text(&loops, folder, LOOPS, err) && (strlen(loops.s) == loops.len || err_set(err, "a NUL in the loops"))
		&& loops_read(l, a, arena_strdup(a, loops.s), err) && fits(l, p, inputs, a, err);
	sb_free(&loops);
	return ok;
}

int package_child(const char *folder)
{
	struct arena a;
	struct prog p, inputs;
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
		end = loops_run(&r.call[0], &l, &p, &inputs, native_run, code, &a, &err);
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
	const struct wire_expect expect = {.nouts = k->nouts, .nstorages = nstorages, .ncalls = 1, .storage_nbytes = nbytes};
	sb_init(&bytes);
	bool ok = read_text(&bytes, k->folder, RESULT, err);
	struct wire w = {.p = (const uint8_t *)bytes.s, .end = (const uint8_t *)bytes.s + bytes.len};
	ok = ok && wire_get_result(out, a, &w, &expect, err);
	sb_free(&bytes);
	return ok;
}

void package_run(struct result *out, const struct package *k, const struct prog *p, const struct prog *inputs, struct arena *a)
{
	struct err err = {0};
	*out = (struct result){.status = RES_HARNESS, .message = "", .stderr_tail = ""};
	if (!write_program(k->folder, PROGRAM, p, &err) || !write_program(k->folder, INPUTS, inputs, &err)) {
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
	} else if (!read_result(out, k, inputs, a, &err)) {
		*out = (struct result){.status = RES_HARNESS, .message = arena_strdup(a, err.msg), .stderr_tail = ""};
	}
}
