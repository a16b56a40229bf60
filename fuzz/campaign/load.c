/* load.c: see load.h. */
#include "fuzz/campaign/load.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "eager/lang/fx.h"
#include "eager/base/output.h"
#include "fuzz/ask/options.h"

struct loading {
	const char *path;
	loaded_fn *fn;
	struct load_telling tell; /* members may be NULL */
	void *ctx;
	int64_t nfile;
	int rc; /* exit_of_both so far */
};

/* nprogram: of the file, for this reason; 0: the file cannot be read. */
static void pass_over(struct loading *l, int nprogram, const struct err *err, int line)
{
	if (err->line)
		complain("%s:%d:%d: %s", l->path, line + err->line - 1, err->col, err->msg);
	else
		complain("%s", err->msg);
	l->rc = exit_of_both(l->rc, EXIT_USAGE);
	struct err at = *err;
	at.line += at.line ? line - 1 : 0;
	if (l->tell.unread)
		l->tell.unread(l->tell.ctx, l->path, nprogram, &at);
}

static void hand_over(struct loading *l, const char *name, const struct prog *p, const char *text, size_t n)
{
	struct arena a;
	arena_init(&a);
	bug_context(arena_printf(&a, "%s:\n%.*s", name, (int)n, text));
	int rc = l->fn(l->ctx, name, p);
	bug_context(NULL);
	l->rc = exit_of_both(l->rc, rc);
	arena_free(&a);
}

static const char *name_of(const struct loading *l, int line, bool alone, struct arena *a)
{
	return alone ? l->path : arena_printf(a, "%s:%d", l->path, line);
}

/* One program, whose text begins at this line of the file. */
static void load_one(struct loading *l, const char *text, size_t n, int line, bool alone, int mode)
{
	struct arena a;
	struct prog p;
	struct err err = {0};
	arena_init(&a);
	if (prog_read(&p, &a, text, n, mode, &err)) {
		hand_over(l, name_of(l, line, alone, &a), &p, text, n);
	} else {
		if (!err.line)
			err.line = err.col = 1;
		pass_over(l, 1, &err, line);
	}
	arena_free(&a);
}

/* One graph of a dump in the rows that can be read. False: there are none, and nothing was said. */
static bool load_rows(struct loading *l, const struct fx_graph *g, int line, bool alone)
{
	struct arena a;
	struct prog *p;
	struct err err = {0};
	arena_init(&a);
	struct fx_cut *cut = ARENA_NEW(&a, struct fx_cut, 1);
	int n = fx_programs(&p, cut, &a, g->text, g->len, &err);
	bool read = n > 0 && cut->nread > 0;
	const char *name = name_of(l, line, alone, &a);
	for (int i = 0; i < n && read; i++) {
		if (i == 0)
			l->tell.graph(l->tell.ctx, name, g, line, cut);
		hand_over(l, n == 1 ? name : arena_printf(&a, "%s, program %d of %d", name, i + 1, n), &p[i], g->text, g->len);
	}
	arena_free(&a);
	return read;
}

/* A pasted dump: every graph of it that has known operators only, or, if the caller wants, those in what is known of them; what the others
 * need is said once. */
static void load_dump(struct loading *l, const char *text, size_t n, int line, bool alone)
{
	struct arena a;
	struct strbuf names;
	struct fx_graph *g;
	int unread = 0;
	arena_init(&a);
	sb_init(&names);
	int ngraph = fx_graphs(&g, &a, text, n), first = fx_unknown(&names, text, n);
	for (int i = 0; i < ngraph; i++) {
		const int at = line + g[i].line - 1;
		struct strbuf own;
		sb_init(&own);
		bool unknown = fx_unknown(&own, g[i].text, g[i].len) != 0, only = alone && ngraph == 1;
		if (!l->tell.graph || !load_rows(l, &g[i], at, only)) {
			unread += unknown;
			if (!unknown)
				load_one(l, g[i].text, g[i].len, at, only, READ_LENIENT);
		}
		sb_free(&own);
	}
	if (!ngraph && !first)
		load_one(l, text, n, line, alone, READ_LENIENT);
	if (unread || (first && !ngraph)) {
		struct err err = {0};
		if (ngraph)
			err_at(&err, first, 1, "%d of %d graphs use%s operators that scatterproof does not have: %s", unread, ngraph,
				unread == 1 ? "s" : "", names.s);
		else
			err_at(&err, first, 1, "operators that scatterproof does not have: %s", names.s);
		pass_over(l, MAX(unread, 1), &err, line);
	}
	sb_free(&names);
	arena_free(&a);
}

static void load_text(struct loading *l, const char *text, size_t n, int line, bool alone)
{
	if (n >= 14 && memcmp(text, "# scatterproof", 14) == 0)
		load_one(l, text, n, line, alone, READ_STRICT);
	else
		load_dump(l, text, n, line, alone);
}

/* The next line that begins a program, `end` if there is none: "# scatterproof" and a version. *line counts the lines passed. */
static const char *next_header(const char *s, const char *end, int *line)
{
	static const char header[] = "# scatterproof ";
	while (s < end) {
		const char *eol = memchr(s, '\n', (size_t)(end - s)), *stop = eol ? eol : end;
		size_t n = sizeof header - 1;
		if ((size_t)(stop - s) > n && memcmp(s, header, n) == 0 && s[n] >= '0' && s[n] <= '9')
			return s;
		s = eol ? eol + 1 : end;
		++*line;
	}
	return end;
}

static bool blank(const char *s, const char *end)
{
	while (s < end && (*s == ' ' || *s == '\t' || *s == '\r' || *s == '\n'))
		s++;
	return s == end;
}

static const char *skip_line(const char *s, const char *end)
{
	const char *eol = memchr(s, '\n', (size_t)(end - s));
	return eol ? eol + 1 : end;
}

static void load_file(struct loading *l)
{
	struct strbuf sb;
	struct err err = {0};
	sb_init(&sb);
	l->nfile++;
	if (!sb_read_file(&sb, str_eq(l->path, "-") ? "/dev/stdin" : l->path, MAX_FILE_TEXT, &err)) {
		pass_over(l, 0, &err, 0);
		sb_free(&sb);
		return;
	}
	const char *end = sb.s + sb.len, *at = sb.s;
	int line = 1, next_line = 1;
	const char *next = next_header(at, end, &next_line);
	if (next < end && blank(at, next))
		at = next, line = next_line;
	bool alone = true;
	do {
		next_line = line + 1;
		next = next_header(skip_line(at, end), end, &next_line);
		alone &= next == end;
		load_text(l, at, (size_t)(next - at), line, alone);
		at = next;
		line = next_line;
	} while (at < end);
	sb_free(&sb);
}

static int is_prog(const struct dirent *d)
{
	size_t n = strlen(d->d_name);
	return n > 5 && d->d_name[0] != '.' && str_eq(d->d_name + n - 5, ".prog");
}

static int by_name(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }

static void load_directory(struct loading *l)
{
	const char *dir = l->path;
	struct dirent **entry;
	struct err err = {0};
	int n = scandir(dir, &entry, is_prog, by_name);
	if (n <= 0) {
		err_set(&err, n < 0 ? "%s cannot be listed" : "%s has no file *.prog", dir);
		l->nfile++;
		pass_over(l, 0, &err, 0);
		if (n == 0)
			free(entry);
		return;
	}
	for (int i = 0; i < n; i++) {
		struct strbuf path;
		sb_init(&path);
		sb_printf(&path, "%s%s%s", dir, dir[strlen(dir) - 1] == '/' ? "" : "/", entry[i]->d_name);
		l->path = path.s;
		struct stat st;
		if (stat(path.s, &st) == 0 && S_ISREG(st.st_mode)) {
			load_file(l);
		} else { /* a pipe would be waited for */
			err_set(&err, "%s is no file", path.s);
			l->nfile++;
			pass_over(l, 0, &err, 0);
		}
		sb_free(&path);
		free(entry[i]);
	}
	l->path = dir;
	free(entry);
}

int load_programs(const char *path, loaded_fn *fn, void *ctx)
{
	int64_t nfile = 0;
	return load_programs_telling(path, fn, &(struct load_telling){0}, ctx, &nfile);
}

int load_programs_telling(const char *path, loaded_fn *fn, const struct load_telling *telling, void *ctx, int64_t *nfile)
{
	struct loading l = {.path = path, .fn = fn, .tell = *telling, .ctx = ctx, .rc = EXIT_VOID};
	struct stat st;
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		load_directory(&l);
	else
		load_file(&l);
	*nfile += l.nfile;
	return l.rc;
}
