/* expected.c: see expected.h. Elements become text first; equal neighbours are written once, so most tables are short. */
#include "fuzz/expected.h"

#include <inttypes.h>
#include <stdlib.h>

#include "eager/escape.h"
#include "oracle/judge.h"

struct wanted { const struct num *val; int64_t n, row; enum dtype dtype; };     /* row: elements per line, at best */

/* ---- which tensor --------------------------------------------------------------------------------------------------------------- */

static const struct store_loaded_obs *latest_mismatch(const struct store_loaded *f)
{
	for (int i = f->nobs_stored - 1; i >= 0; i--)
		if (str_eq(f->obs[i].verdict, "mismatch") && f->obs[i].tensor[0] && f->obs[i].call >= 0)
			return &f->obs[i];
	return NULL;
}

static int64_t row_length(const struct meta *m)
{
	int64_t n = 1;
	for (int d = m->rank - 1; d >= 0 && n < 8; d--)
		n *= m->size[d];
	return MAX(n, 1);
}

static bool take_value(struct wanted *w, const struct ref_value *v)
{
	*w = (struct wanted){v->val, v->n, row_length(&v->meta), v->meta.dtype};
	return v->present && v->meta.device != DEV_META;
}

/* The reference of the tensor that an observation names as verdict.c does: "out 0 (name)", "x.grad", "input x afterwards".
 * *grad: its index among the gradients, -1 if it is none. */
static bool find_tensor(struct wanted *w, struct expected *out, int *grad, const struct prog *p, const struct reference *ref, const char *text,
                        struct arena *a)
{
	*grad = -1;
	if (str_starts(text, "out ")) {
		int i = atoi(text + 4);
		out->name = arena_printf(a, "output %d", i);
		return i >= 0 && i < ref->nouts && take_value(w, &ref->out[i]);
	}
	out->name = text;
	for (int i = 0; i < ref->ngrads; i++)
		if (str_eq(text, arena_printf(a, "%s.grad", p->node[ref->grad[i].node].name))) {
			*grad = i;
			return take_value(w, &ref->grad[i]);
		}
	for (int i = 0; i < p->nnode; i++)
		if (p->node[i].op == OP_input && str_eq(text, arena_printf(a, "input %s afterwards", p->node[i].name))) {
			const struct ref_cells *c = &ref->storage[p->node[i].out[0].storage];
			*w = (struct wanted){c->val, c->n, MAX(c->n, 1), c->dtype};
			return true;
		}
	return false;
}

/* ---- one element ------------------------------------------------------------------------------------------------------------------- */

/* Shortest text that reads back as v; Python's literals. */
static void float_text(struct strbuf *sb, double v)
{
	char text[40];
	if (!isfinite(v)) {
		sb_puts(sb, isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	sb_puts(sb, text);
	if (!strpbrk(text, ".e"))
		sb_puts(sb, ".0");
}

/* The largest number of a float dtype that is not greater than v; v itself where there is none. */
static double number_below(enum dtype dt, double v)
{
	unsigned char cell[8] = {0};
	double near = num_rn(dt, v, 0);
	if (!isfinite(near))
		return v;
	if (near <= v)
		return near;
	dtype_store_f(dt, cell, near);
	uint64_t bits = 0;
	int nbytes = dtype_nbytes(dt);
	memcpy(&bits, cell, (size_t)nbytes);
	if (near == 0)
		bits = ((uint64_t)1 << (8 * nbytes - 1)) | 1;   /* the smallest negative one */
	else
		bits = near > 0 ? bits - 1 : bits + 1;
	memcpy(cell, &bits, (size_t)nbytes);
	double below = dtype_load_f(dt, cell);
	return isfinite(below) ? below : v;
}

/* The outermost numbers of dt in the finite part: what num_has allows, and a little more for the roundings of num_low and num_high. */
static void finite_ends(double *low, double *high, const struct num *v, enum dtype dt)
{
	*low = *high = v->hi;
	if (v->rad == 0 && v->lo == 0)
		return;
	*low = num_low(v) - v->rad * 0x1p-49;
	*high = num_high(v) + v->rad * 0x1p-49;
	double inner_low = -number_below(dt, -*low), inner_high = number_below(dt, *high);
	if (inner_low <= inner_high)
		*low = inner_low, *high = inner_high;
}

static void float_element(struct strbuf *sb, const struct num *v, enum dtype dt)
{
	static const struct { int flag; double value; } special[] = {{NUM_PINF, INFINITY}, {NUM_NINF, -INFINITY}, {NUM_NAN, NAN}};
	double value[2 + ARRAY_LEN(special)];   /* low, high and the others */
	int n = 2;
	for (int i = 0; i < ARRAY_LEN(special); i++)
		if (v->flags & special[i].flag)
			value[n++] = special[i].value;
	const double *first = value;
	if (v->flags & NUM_NOFIN && n > 2)
		first++, value[1] = value[2];
	else
		finite_ends(&value[0], &value[1], v, dt);
	n -= (int)(first - value);
	if (v->flags & NUM_ANY) {
		sb_puts(sb, "None");
	} else if (n == 2 && (first[0] == first[1] || isnan(first[0]))) {
		if (first[0] == 0 && !(v->flags & NUM_MOVED))
			sb_putc(sb, '0');
		else
			float_text(sb, first[0]);
	} else {
		for (int i = 0; i < n; i++) {
			sb_puts(sb, i ? ", " : "(");
			float_text(sb, first[i]);
		}
		sb_putc(sb, ')');
	}
}

static void int_element(struct strbuf *sb, const struct num *v, enum dtype dt)
{
	int64_t last = v->flags & NUM_UNDEC ? wrap_add(v->i, (int64_t)v->rad) : v->i;
	if (v->flags & NUM_ANY || last < v->i)
		sb_puts(sb, "None");
	else if (dt == DT_B8)
		sb_puts(sb, v->i == last ? v->i ? "True" : "False" : "None");
	else if (v->i == last)
		sb_printf(sb, "%" PRId64, v->i);
	else
		sb_printf(sb, "(%" PRId64 ", %" PRId64 ")", v->i, last);
}

/* ---- the table -------------------------------------------------------------------------------------------------------------------- */

static const char *const *element_texts(const struct wanted *w, struct arena *a)
{
	const char **text = ARENA_NEW(a, const char *, w->n + 1);
	struct strbuf sb;
	sb_init(&sb);
	for (int64_t i = 0; i < w->n; i++) {
		sb_reset(&sb);
		if (dtype_is_float(w->dtype))
			float_element(&sb, &w->val[i], w->dtype);
		else
			int_element(&sb, &w->val[i], w->dtype);
		text[i] = i && str_eq(sb.s, text[i - 1]) ? text[i - 1] : arena_strdup(a, sb.s);
	}
	sb_free(&sb);
	return text;
}

static int64_t run_length(const char *const *text, int64_t at, int64_t end)
{
	int64_t n = 1;
	while (at + n < end && text[at + n] == text[at])
		n++;
	return n;
}

/* How many rows from `at` on are equal, element by element. */
static int64_t equal_rows(const char *const *text, int64_t at, int64_t row, int64_t n)
{
	int64_t k = 1;
	for (int64_t next = at + row; next + row <= n; next += row, k++)
		for (int64_t i = 0; i < row; i++)
			if (!str_eq(text[at + i], text[next + i]))
				return k;
	return k;
}

/* Elements `at` to the end of the row, over several lines if need be. */
static void list_row(struct strbuf *sb, const char *const *text, int64_t at, int64_t end)
{
	enum { WIDTH = 120 };
	size_t start = sb->len;
	sb_putc(sb, '[');
	for (int64_t i = at; i < end; i++) {
		sb_puts(sb, i > at ? "," : "");
		if (sb->len - start + strlen(text[i]) > WIDTH) {
			sb_puts(sb, "\n         ");
			start = sb->len;
		} else if (i > at) {
			sb_putc(sb, ' ');
		}
		sb_puts(sb, text[i]);
	}
	sb_putc(sb, ']');
}

static void list_elements(struct strbuf *sb, const struct wanted *w, struct arena *a)
{
	const char *const *text = element_texts(w, a);
	sb_puts(sb, w->n ? "" : "[]");
	for (int64_t at = 0; at < w->n;) {
		sb_puts(sb, at ? "\n        + " : "");
		int64_t run = run_length(text, at, w->n), end = MIN(w->n, (at / w->row + 1) * w->row);
		if (run > 1 && at + run >= end) {
			sb_printf(sb, "[%s] * %" PRId64, text[at], run);
			at += run;
		} else {
			int64_t rows = at % w->row ? 1 : equal_rows(text, at, w->row, w->n);
			list_row(sb, text, at, end);
			if (rows > 1)
				sb_printf(sb, " * %" PRId64, rows);
			at = end + (rows - 1) * w->row;
		}
	}
}

/* Elements between which a gradient is divided as nobody can know: together they get it, so one of them is not zero. */
static void list_winners(struct strbuf *sb, const struct wanted *w, const struct reference *ref, int grad)
{
	sb_puts(sb, "NOT_ALL_ZERO = [");
	size_t empty = sb->len;
	for (int i = 0; i < ref->nwinners; i++) {
		const struct ref_winners *q = &ref->winners[i];
		if (q->grad != grad || q->g.flags & NUM_SPECIAL || num_has(&q->g, 0))
			continue;
		const char *before = "\n    [";
		for (int k = 0; k < q->n; k++) {
			const struct num *v = &w->val[q->index[k]];
			if (num_is_exact(v) && v->hi == 0)
				continue;               /* surely not the one */
			sb_printf(sb, "%s%" PRId64, before, q->index[k]);
			before = ", ";
		}
		sb_puts(sb, before[0] == ',' ? "]," : "");
	}
	sb_puts(sb, sb->len > empty ? "\n]  # elements that share a gradient, nobody can know how: one of them must get it\n" : "]\n");
}

static bool about_elements(enum finding_kind k) { return k == FINDING_VALUE || k == FINDING_GRADIENT || k == FINDING_MUTATION; }

bool expected_emit(struct strbuf *sb, struct expected *out, const char **why, const struct prog *p, const struct target *t,
                   const struct store_loaded *finding, struct arena *a)
{
	struct strbuf name;
	struct licence_profile profile;
	struct judge_case jc;
	struct wanted w;
	int grad;
	const struct store_loaded_obs *o = finding && about_elements(finding->kind) ? latest_mismatch(finding) : NULL;
	*why = "";
	if (!o)
		return false;
	sb_init(&name);
	target_print(&name, t);
	bool known = licence_find(&profile, name.s);
	sb_free(&name);
	*why = "the reference knows nothing of this target";
	if (!known)
		return false;
	if (!judge_prepare(&jc, p, &profile, TAPE_LIMITS_DEFAULT, a)) {
		*why = arena_printf(a, "the reference does not judge this program: %s", jc.message);
		return false;
	}
	*why = arena_printf(a, "the reference has no elements of %s in call %d", o->tensor, o->call);
	out->call = o->call;
	if (o->call >= jc.ncalls || !find_tensor(&w, out, &grad, p, &jc.ref[o->call], o->tensor, a))
		return false;
	*why = arena_printf(a, "%s has more than %d elements", out->name, MAX_EXPECTED);
	if (w.n > MAX_EXPECTED)
		return false;
	*why = "";
	sb_printf(sb, "EXPECTED = {\n    (%d, ", out->call);
	escape_python(sb, out->name);
	sb_puts(sb, "):\n        ");
	list_elements(sb, &w, a);
	sb_puts(sb, ",\n}\n");
	list_winners(sb, &w, &jc.ref[o->call], grad);
	return true;
}
