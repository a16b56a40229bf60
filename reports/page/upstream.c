/* upstream.c: the table and the text of its programs, as one text that CMake joins ("== NAME" before each program). Of a program only the
 * names of operators and the tensors of its `# expect:` lines are looked at, so one that the language no longer reads does no harm. */
#include "reports/page/upstream.h"

#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { MOST_OPS = 64, MOST_ROWS = 4096, MOST_FILE = 4 << 20 };

/* What goes wrong, as far as it tells programs apart. */
enum sort { SORT_OTHER, SORT_VALUE, SORT_GRADIENT, SORT_INPUT, SORT_ENDS };

struct op_set {
	int n;
	const char *op[MOST_OPS];
};
struct row {
	const char *program, *issues, *remark;
	struct op_set ops;
	enum sort sort;
	const char *families; /* " torch jax ": those that its lines say it goes wrong on; "": of none in particular */
};
struct upstream {
	int n;
	struct row row[MOST_ROWS];
};

extern const unsigned char upstream_tsv[], upstream_programs[];

/* ---- operators ----------------------------------------------------------------------------------------------------------------------- */

/* Without overload and the "_" of a write in place; inputs and what makes constants tell nothing. */
static void add_op(struct op_set *s, const char *name, size_t n, struct arena *a)
{
	static const char *const tells_nothing[] = {"input", "full", "zeros", "ones", "arange", "scalar_tensor", "getitem", "return", "call"};
	const char *op = arena_printf(a, "%.*s", (int)MIN(n, strcspn(name, ".")), name);
	const size_t len = strlen(op);
	if (len > 1 && op[len - 1] == '_')
		op = arena_printf(a, "%.*s", (int)len - 1, op);
	for (int i = 0; i < ARRAY_LEN(tells_nothing); i++)
		if (str_eq(op, tells_nothing[i]))
			return;
	for (int i = 0; i < s->n; i++)
		if (str_eq(s->op[i], op))
			return;
	if (s->n < MOST_OPS && op[0])
		s->op[s->n++] = op;
}

/* "y = sum.dim_IntList(x, ...)": what stands between "= " and "(". */
static void add_op_of_line(struct op_set *s, const char *line, size_t n, struct arena *a)
{
	const char *text = arena_printf(a, "%.*s", (int)n, line), *from = strstr(text, " = ");
	if (!from)
		return;
	from += 3;
	if (str_starts(from, "torch.ops.aten."))
		from += strlen("torch.ops.aten.");
	const size_t len = strcspn(from, "(");
	if (from[len] && len == strspn(from, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_."))
		add_op(s, from, len, a);
}

static bool has_op(const struct op_set *s, const char *op)
{
	for (int i = 0; i < s->n; i++)
		if (str_eq(s->op[i], op))
			return true;
	return false;
}

/* ---- reading ------------------------------------------------------------------------------------------------------------------------- */

/* "# expect: TARGET mismatch x.grad: nan": the tensor that follows a verdict which diverges. */
static enum sort sort_of_line(const char *line)
{
	if (strstr(line, "crash"))
		return SORT_ENDS;
	const char *from = strstr(line, "mismatch");
	if (!from)
		return SORT_OTHER;
	return strstr(from, ".grad") ? SORT_GRADIENT : strstr(from, "input ") ? SORT_INPUT : strstr(from, "out ") ? SORT_VALUE : SORT_OTHER;
}

static bool concerns(const struct row *r, const char *family, struct arena *a)
{
	return !r->families[0] || strstr(r->families, arena_printf(a, " %s ", family));
}

/* Of a line that says that it goes wrong. */
static void add_family(struct row *r, const char *line, struct arena *a)
{
	const char *target = line + strlen("# expect:");
	const char *family = cause_family(target + strspn(target, " "), a);
	if (!r->families[0] || !concerns(r, family, a))
		r->families = arena_printf(a, "%s%s ", r->families[0] ? r->families : " ", family);
}

/* A program's text up to the next "== ". */
static void read_program(struct row *r, const char *text, struct arena *a)
{
	for (const char *line = text; *line && !str_starts(line, "== ");) {
		const size_t n = strcspn(line, "\n");
		if (str_starts(line, "# expect:")) {
			const enum sort s = sort_of_line(arena_printf(a, "%.*s", (int)n, line));
			r->sort = s != SORT_OTHER ? s : r->sort;
			if (s != SORT_OTHER)
				add_family(r, arena_printf(a, "%.*s", (int)n, line), a);
		} else if (line[0] != '#') {
			add_op_of_line(&r->ops, line, n, a);
		}
		line += n + (line[n] == '\n');
	}
}

static const char *program_text(const char *programs, const char *name, struct arena *a)
{
	const char *head = arena_printf(a, "== %s\n", name), *at = strstr(programs, head);
	return at ? at + strlen(head) : "";
}

static const char *cell(const char **s, struct arena *a)
{
	const size_t n = strcspn(*s, "\t");
	const char *text = arena_printf(a, "%.*s", (int)n, *s);
	*s += n + ((*s)[n] == '\t');
	return text;
}

static const struct upstream *read_table(const char *tsv, const char *programs, struct arena *a)
{
	struct upstream *u = ARENA_ZNEW(a, struct upstream, 1);
	for (const char *line = tsv; *line && u->n < MOST_ROWS;) {
		const size_t n = strcspn(line, "\n");
		const char *text = arena_printf(a, "%.*s", (int)n, line);
		line += n + (line[n] == '\n');
		if (!text[0] || text[0] == '#')
			continue;
		struct row *r = &u->row[u->n++];
		r->program = cell(&text, a);
		r->issues = cell(&text, a);
		r->remark = cell(&text, a);
		r->families = "";
		read_program(r, program_text(programs, r->program, a), a);
	}
	return u;
}

const struct upstream *upstream_known(struct arena *a)
{
	return read_table((const char *)upstream_tsv, (const char *)upstream_programs, a);
}

/* A FIFO or a device would keep a report waiting, or never end. */
static bool read_regular(struct strbuf *sb, const char *path, size_t most, struct err *err)
{
	struct stat st;
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return err_set(err, "%s: not a regular file, but %s", path,
			S_ISDIR(st.st_mode)        ? "a folder"
				: S_ISFIFO(st.st_mode) ? "a FIFO"
				: S_ISSOCK(st.st_mode) ? "a socket"
									   : "a device");
	return sb_read_file(sb, path, most, err);
}

/* The programs of a table, joined; their names are paths from its folder. */
static bool join_programs(struct strbuf *out, const char *path, const char *tsv, struct arena *a, struct err *err)
{
	const char *slash = strrchr(path, '/');
	const char *dir = slash ? arena_printf(a, "%.*s/", (int)(slash - path), path) : "";
	struct strbuf text;
	bool ok = true;
	sb_init(&text);
	for (const char *line = tsv; *line && ok;) {
		const size_t n = strcspn(line, "\n"), name = strcspn(line, "\t\n");
		if (n && line[0] != '#') {
			sb_reset(&text);
			const char *from = line[0] == '/' ? "" : dir;
			ok = read_regular(&text, arena_printf(a, "%s%.*s.prog", from, (int)name, line), MAX_TEXT, err);
			sb_printf(out, "== %.*s\n%s\n", (int)name, line, text.s);
		}
		line += n + (line[n] == '\n');
	}
	sb_free(&text);
	return ok;
}

const struct upstream *upstream_read(const char *path, struct arena *a, struct err *err)
{
	const struct upstream *u = NULL;
	struct strbuf tsv, programs;
	sb_init(&tsv);
	sb_init(&programs);
	if (read_regular(&tsv, path, MOST_FILE, err) && join_programs(&programs, path, tsv.s, a, err))
		u = read_table(tsv.s, programs.s, a);
	sb_free(&programs);
	sb_free(&tsv);
	return u;
}

/* ---- what is like a cause ------------------------------------------------------------------------------------------------------------ */

static enum sort sort_of(const struct store_cause *c)
{
	switch (c->kind) {
	case FINDING_VALUE: return SORT_VALUE;
	case FINDING_GRADIENT: return SORT_GRADIENT;
	case FINDING_MUTATION: return SORT_INPUT;
	case FINDING_CRASH:
	case FINDING_HANG: return SORT_ENDS;
	default: return SORT_OTHER;
	}
}

/* An operator that few programs of the table have weighs more. */
static double weight(const struct upstream *u, const char *op)
{
	int n = 0;
	for (int i = 0; i < u->n; i++)
		n += has_op(&u->row[i].ops, op);
	return log((u->n + 2.0) / (n + 1.0));
}

/* The weight of what both have, by that of all that one of them has: 1 if they have the same. */
static double likeness(const struct upstream *u, const struct op_set *x, const struct op_set *y)
{
	double both = 0, all = 0;
	for (int i = 0; i < x->n; i++) {
		const double w = weight(u, x->op[i]);
		all += w;
		both += has_op(y, x->op[i]) ? w : 0;
	}
	for (int i = 0; i < y->n; i++)
		all += has_op(x, y->op[i]) ? 0 : weight(u, y->op[i]);
	return all > 0 ? both / all : 0;
}

/* Each issue of a row that is not there yet. */
static int add_issues(struct upstream_issue *out, int n, const struct row *r, bool same, struct arena *a)
{
	const char *slash = strrchr(r->program, '/'), *base = slash ? slash + 1 : r->program;
	for (const char *s = r->issues; *s && n < UPSTREAM_MOST; s += strspn(s, " ")) {
		const size_t len = strcspn(s, " ");
		const char *issue = arena_printf(a, "%.*s", (int)len, s);
		bool there = false;
		for (int i = 0; i < n; i++)
			there |= str_eq(out[i].issue, issue);
		if (!there && len)
			out[n++] = (struct upstream_issue){issue, r->remark, base, same};
		s += len;
	}
	return n;
}

int upstream_like(const struct upstream_issue **out, const struct upstream *u, const struct store_cause *c, struct arena *a)
{
	const double least = 0.5, equal = 0.9999;
	struct upstream_issue *list = ARENA_ZNEW(a, struct upstream_issue, UPSTREAM_MOST);
	struct op_set ops = {0};
	int n = 0;
	for (const char *s = c->ops; *s; s += strspn(s, " ")) {
		add_op(&ops, s, strcspn(s, " "), a);
		s += strcspn(s, " ");
	}
	bool *taken = ARENA_ZNEW(a, bool, u->n);
	const char *family = cause_family(c->target, a);
	for (int rank = 0; rank < 3 && n < UPSTREAM_MOST; rank++) {
		int best = -1;
		double like = least;
		for (int i = 0; i < u->n; i++) {
			const bool other = u->row[i].sort != sort_of(c) || !concerns(&u->row[i], family, a);
			const double l = taken[i] || other ? 0 : likeness(u, &ops, &u->row[i].ops);
			if (l > like || (l >= like && best < 0 && l > 0)) {
				like = l;
				best = i;
			}
		}
		if (best < 0)
			break;
		taken[best] = true;
		n = add_issues(list, n, &u->row[best], like >= equal, a);
	}
	*out = list;
	return n;
}
