/* expected.c: tables of what must be. Elements become text first; equal neighbours are written once, so most tables are short. */
#include "fuzz/triage/expected.h"
#include "oracle/judge/distinct.h"

#include <inttypes.h>
#include <stdlib.h>

#include "compiled/targets/driver.h"
#include "eager/base/escape.h"
#include "fuzz/triage/profile.h"

struct wanted {
	const struct num *val;
	int64_t n, row;
	enum dtype dtype;
	const struct reference *ref; /* of an output: where its positions come from; else NULL */
	const struct ref_value *out;
}; /* row: elements per line, at best */

/* ---- which tensor --------------------------------------------------------------------------------------------------------------- */

void expected_name(struct strbuf *sb, const struct tensor_name *n)
{
	struct tensor_name of_call = *n;
	of_call.later = false;
	if (n->role == TR_OUTPUT)
		sb_printf(sb, "output %d", n->index);
	else
		tensor_name_print(sb, &of_call);
}

static int64_t row_length(const struct meta *m)
{
	int64_t n = 1;
	for (int d = m->rank - 1; d >= 0 && n < 8; d--)
		n *= m->size[d];
	return MAX(n, 1);
}

const struct ref_value *expected_value(const struct reference *ref, enum tensor_role role, int index)
{
	int count = role == TR_OUTPUT ? ref->nouts : role == TR_GRADIENT ? ref->ngrads : 0;
	return index >= count ? NULL : role == TR_OUTPUT ? &ref->out[index] : &ref->grad[index];
}

/* False: there are no elements to speak of. */
static bool find_elements(struct wanted *w, const struct reference *ref, const struct tensor_name *n)
{
	if (n->role == TR_STORAGE) {
		if (n->index >= ref->nstorages)
			return false;
		const struct ref_cells *c = &ref->storage[n->index];
		*w = (struct wanted){.val = c->val, .n = c->n, .row = MAX(c->n, 1), .dtype = c->dtype};
		return true;
	}
	const struct ref_value *v = expected_value(ref, n->role, n->index);
	if (!v || !v->present || v->meta.device == DEV_META)
		return false;
	*w = (struct wanted){.val = v->val, .n = v->n, .row = row_length(&v->meta), .dtype = v->meta.dtype, .out = v};
	w->ref = n->role == TR_OUTPUT ? ref : NULL;
	return true;
}

/* ---- one element ------------------------------------------------------------------------------------------------------------------- */

/* The number of a float dtype after v, a finite number of it, upwards or downwards; may be infinite. */
static double number_after(enum dtype dt, double v, bool up)
{
	unsigned char cell[8] = {0};
	uint64_t bits = 0, sign = (uint64_t)1 << (8 * dtype_nbytes(dt) - 1);
	dtype_store_f(dt, cell, v);
	memcpy(&bits, cell, (size_t)dtype_nbytes(dt));
	if (v == 0)
		bits = up ? 1 : sign | 1;
	else
		bits = (v > 0) == up ? bits + 1 : bits - 1;
	memcpy(cell, &bits, (size_t)dtype_nbytes(dt));
	return dtype_load_f(dt, cell);
}

/* The outermost number of dt, upwards or downwards, that num_has accepts; `end` if it accepts none. end: where about the finite part
 * ends. */
static double outermost(const struct num *v, enum dtype dt, double end, bool up)
{
	enum { STEPS = 64 }; /* ends are known to a few units in the last place */
	double at = num_rn(dt, end, 0);
	if (!isfinite(at))
		at = at > 0 ? num_format[dt].max : -num_format[dt].max;
	for (int i = 0; i < STEPS && !num_has(v, at); i++) {
		at = number_after(dt, at, !up);
		if (!isfinite(at))
			return end;
	}
	if (!num_has(v, at))
		return end;
	for (double next = number_after(dt, at, up); isfinite(next) && num_has(v, next); next = number_after(dt, at, up))
		at = next;
	return at;
}

void expected_ends(double *low, double *high, const struct num *v, enum dtype dt)
{
	*low = *high = v->hi;
	if (v->rad == 0 && v->lo == 0)
		return;
	*low = outermost(v, dt, num_low(v), false);
	*high = outermost(v, dt, num_high(v), true);
}

static void float_element(struct strbuf *sb, const struct num *v, enum dtype dt)
{
	static const struct {
		int flag;
		double value;
	} special[] = {{NUM_PINF, INFINITY}, {NUM_NINF, -INFINITY}, {NUM_NAN, NAN}};
	double value[2 + ARRAY_LEN(special)]; /* low, high and the others */
	int n = 2;
	for (int i = 0; i < ARRAY_LEN(special); i++)
		if (v->flags & special[i].flag)
			value[n++] = special[i].value;
	const double *first = value;
	if (v->flags & NUM_NOFIN && n > 2)
		first++, value[1] = value[2];
	else
		expected_ends(&value[0], &value[1], v, dt);
	n -= (int)(first - value);
	if (v->flags & NUM_ANY) {
		sb_puts(sb, "None");
	} else if (n == 2 && (first[0] == first[1] || isnan(first[0]))) {
		if (first[0] == 0 && !(v->flags & NUM_MOVED))
			sb_putc(sb, '0');
		else
			sb_double(sb, first[0], 15);
	} else {
		for (int i = 0; i < n; i++) {
			sb_puts(sb, i ? ", " : "(");
			sb_double(sb, first[i], 15);
		}
		sb_putc(sb, ')');
	}
}

static void int_element(struct strbuf *sb, const struct num *v, enum dtype dt)
{
	int64_t last = v->flags & NUM_UNDEC ? wrap_add(v->i, (int64_t)v->rad) : v->i;
	const char *before = "{";
	if (v->flags & NUM_ANY || last < v->i) {
		sb_puts(sb, "None");
	} else if (dt == DT_B8) {
		sb_puts(sb, v->i == last ? v->i ? "True" : "False" : "None");
	} else if (v->i == last) {
		sb_printf(sb, "%" PRId64, v->i);
	} else if (!v->among) {
		sb_printf(sb, "(%" PRId64 ", %" PRId64 ")", v->i, last);
	} else {
		for (int64_t k = 0; k <= last - v->i && k < 64; k++)
			if (v->among >> k & 1) {
				sb_printf(sb, "%s%" PRId64, before, v->i + k);
				before = ", ";
			}
		sb_putc(sb, '}');
	}
}

/* A position among equals that lie too far apart for `among`: a set of the positions, if they are few enough. */
static bool tied_element(struct strbuf *sb, const struct wanted *w, int64_t k)
{
	enum { MOST = 64 };
	int64_t at[MOST];
	bool wide = w->ref && !dtype_is_float(w->dtype) && w->val[k].flags & NUM_TIED && !w->val[k].among;
	int64_t n = wide ? distinct_equals(at, MOST, w->ref, w->out, k) : 0;
	if (n == 0 || n > MOST)
		return false;
	for (int64_t i = 0; i < n; i++)
		sb_printf(sb, "%s%" PRId64, i ? ", " : "{", at[i]);
	sb_putc(sb, '}');
	return true;
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
		else if (!tied_element(&sb, w, i))
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

/* For a person to read. */
static void list_short(struct strbuf *sb, const char *const *text, const struct wanted *w)
{
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

/* A sum of thousands of lists is too deep for Python's compiler. */
static void list_long(struct strbuf *sb, const char *const *text, const struct wanted *w)
{
	enum { PER_LINE = 6 };
	sb_puts(sb, "[x for n, x in [");
	for (int64_t at = 0, k = 0, run; at < w->n; at += run, k++) {
		run = run_length(text, at, w->n);
		sb_printf(sb, "%s(%" PRId64 ", %s),", k % PER_LINE ? " " : "\n        ", run, text[at]);
	}
	sb_puts(sb, "\n        ] for _ in range(n)]");
}

static void list_indices(struct strbuf *sb, const struct ref_winners *q)
{
	sb_puts(sb, "\n        ([");
	for (int k = 0; k < q->n; k++)
		sb_printf(sb, "%s%" PRId64, k ? ", " : "", q->index[k]);
	sb_puts(sb, "], ");
}

/* The gradients that a group's elements get, one each, as (low, high). */
static void list_picks(struct strbuf *sb, const struct reference *ref, int i)
{
	const struct ref_winners *q = &ref->winners[i];
	double low, high;
	bool known = true;
	for (int k = 0; k < q->npick; k++)
		known = known && judge_pick(&low, &high, ref, i, k);
	if (!known)
		return;
	list_indices(sb, q);
	sb_putc(sb, '[');
	for (int k = 0; k < q->npick; k++) {
		judge_pick(&low, &high, ref, i, k);
		sb_puts(sb, k ? ", (" : "(");
		sb_double(sb, low, 15);
		sb_puts(sb, ", ");
		sb_double(sb, high, 15);
		sb_putc(sb, ')');
	}
	sb_puts(sb, "]),");
}

/* Elements of which some get a gradient, nobody can know which: what these get, as judge.c allows it. */
static void list_winners(struct strbuf *sb, const struct reference *ref, const struct tensor_name *n)
{
	for (int i = 0; n->role == TR_GRADIENT && i < ref->nwinners; i++)
		if (ref->winners[i].grad == n->index)
			list_picks(sb, ref, i);
}

/* Elements that must differ from each other, as judge.c has it. */
static void list_distinct(struct strbuf *sb, const struct reference *ref, const struct tensor_name *n, struct arena *a)
{
	struct distinct *group;
	int64_t ngroup = n->role == TR_OUTPUT ? distinct_groups(&group, ref, &ref->out[n->index], a) : 0;
	for (int64_t q = 0; q < ngroup; q++) {
		sb_puts(sb, "\n        ([");
		for (int64_t k = 0; k < group[q].n; k++)
			sb_printf(sb, "%s%" PRId64, k ? ", " : "", group[q].index[k]);
		sb_puts(sb, "],),");
	}
}

/* ---- by version ------------------------------------------------------------------------------------------------------------------- */

static unsigned freedoms(const struct target *t)
{
	struct target_facts f;
	target_facts(&f, t);
	return f.freedoms;
}

/* The elements and groups, or "None, []". */
static void one_version(struct strbuf *sb, const struct claim *c, const struct prog *p, const struct target *t, struct arena *a)
{
	struct licence_profile profile;
	struct judge_case jc;
	struct wanted w;
	bool ok = profile_of(&profile, t) && judge_prepare(&jc, p, &profile, TAPE_LIMITS_DEFAULT, a);
	if (!ok || c->call >= jc.ncalls || !find_elements(&w, &jc.ref[c->call], &c->tensor)) {
		sb_puts(sb, "None, []");
		return;
	}
	const char *const *text = element_texts(&w, a);
	if (w.n <= EXPECTED_SHORT)
		list_short(sb, text, &w);
	else
		list_long(sb, text, &w);
	sb_puts(sb, ",\n        ");
	sb_putc(sb, '[');
	list_winners(sb, &jc.ref[c->call], &c->tensor);
	list_distinct(sb, &jc.ref[c->call], &c->tensor, a);
	sb_putc(sb, ']');
}

static void all_versions(struct strbuf *sb, const struct claim *c, const struct prog *p, const struct target *t, struct arena *a)
{
	struct strbuf table;
	const char *before = "";
	sb_init(&table);
	sb_puts(sb, "EXPECTED = [\n");
	static const char *const one[] = {"0.0", NULL};
	const char *const *step = t->driver->version_steps ? t->driver->version_steps : one;
	for (int i = 0; step[i]; i++) {
		struct target at = *t;
		struct arena_mark mark = arena_mark(a);
		int major, minor;
		CHECK(sscanf(step[i], "%d.%d", &major, &minor) == 2);
		snprintf(at.version, sizeof at.version, "%s", step[i]);
		sb_reset(&table);
		one_version(&table, c, p, &at, a);
		arena_release(a, mark);
		if (!str_eq(table.s, before))
			sb_printf(sb, "    ((%d, %d),\n        %s),\n", major, minor, table.s);
		before = arena_strdup(a, table.s);
	}
	sb_puts(sb, "]\n");
	sb_free(&table);
}

/* ---- as a list -------------------------------------------------------------------------------------------------------------------- */

static void list_element(struct strbuf *sb, const char *one)
{
	sb_printf(sb, str_eq(one, "inf") || str_eq(one, "nan") || str_eq(one, "-inf") ? "float('%s')" : "%s", one);
}

/* "[1.0, 2.0]"; of many equal ones "[2.0] * 17 + [1.0] * 14". */
static void list_line(struct strbuf *sb, const char *const *text, int64_t n)
{
	enum { MANY = 6 };
	bool open = false;
	for (int64_t i = 0, k; i < n; i = k) {
		for (k = i + 1; k < n && str_eq(text[k], text[i]);)
			k++;
		if (k - i >= MANY) {
			sb_puts(sb, open ? "] + [" : i ? " + [" : "[");
			list_element(sb, text[i]);
			sb_printf(sb, "] * %" PRId64, k - i);
			open = false;
			continue;
		}
		for (int64_t e = i; e < k; e++) {
			sb_puts(sb, open ? ", " : e ? " + [" : "[");
			list_element(sb, text[e]);
			open = true;
		}
	}
	sb_puts(sb, open ? "]" : n ? "" : "[]");
}

static void list_nested(struct strbuf *sb, const char *const **text, const int64_t *size, int rank)
{
	if (!rank) {
		list_element(sb, *(*text)++);
		return;
	}
	if (rank == 1) {
		list_line(sb, *text, size[0]);
		*text += size[0];
		return;
	}
	sb_putc(sb, '[');
	for (int64_t i = 0; i < size[0]; i++) {
		sb_puts(sb, i ? ", " : "");
		list_nested(sb, text, size + 1, rank - 1);
	}
	sb_putc(sb, ']');
}

/* Of a set so narrow that allclose cannot tell its middle from any other number of it. NULL: it is wider, or one number. */
static const char *middle_text(const struct num *v, struct arena *a)
{
	if (v->flags & (NUM_SPECIAL | NUM_UNDEC) || v->rad == 0 || v->rad > 1e-6 * fabs(v->hi))
		return NULL;
	return arena_printf(a, "%.9g", v->hi);
}

const char *expected_list(const struct claim *c, const struct prog *p, const struct target *t, struct arena *a)
{
	enum { READABLE = 64, MOST = 1024, LINE = 160 }; /* elements; of which a list is written as this many characters */
	struct licence_profile profile;
	struct judge_case jc;
	struct wanted w;
	bool ok = profile_of(&profile, t) && judge_prepare(&jc, p, &profile, TAPE_LIMITS_DEFAULT, a) && c->call < jc.ncalls;
	if (!ok || !find_elements(&w, &jc.ref[c->call], &c->tensor) || w.n > MOST)
		return NULL;
	const char *const *short_text = element_texts(&w, a);
	const char **text = ARENA_NEW(a, const char *, w.n + 1);
	for (int64_t i = 0; i < w.n; i++) {
		const bool floats = dtype_is_float(w.dtype);
		const char *middle = floats ? middle_text(&w.val[i], a) : NULL, *one = middle ? middle : short_text[i];
		if (strpbrk(one, "({N"))
			return NULL;
		text[i] = floats && !strpbrk(one, ".enf") ? arena_printf(a, "%s.0", one) : one;
	}
	const int node = w.out ? -1 : prog_find(p, c->tensor.node);
	const struct meta *m = w.out ? &w.out->meta : node < 0 ? NULL : node_meta(p, node);
	struct strbuf sb;
	if (!m || meta_numel(m) != w.n) /* of memory with gaps */
		return NULL;
	sb_init(&sb);
	const char *const *next = text;
	list_nested(&sb, &next, m->size, m->rank);
	const char *list = w.n > READABLE && sb.len > LINE ? NULL : arena_strdup(a, sb.s);
	sb_free(&sb);
	return list;
}

/* ---- facts ------------------------------------------------------------------------------------------------------------------------- */

static void shape_fact(struct strbuf *sb, const struct meta *m)
{
	sb_printf(sb, "    \"shape\": (\"torch.%s\", [", dtype_info[m->dtype].torch);
	for (int d = 0; d < m->rank; d++)
		sb_printf(sb, "%s%" PRId64, d ? ", " : "", m->size[d]);
	sb_puts(sb, "]),\n");
}

/* Where nothing reaches, zeros may stand for None, and NaN where a zero meets infinity on its way. */
static void zeros_fact(struct strbuf *sb, const struct judge_case *jc, const struct claim *c, const struct ref_value *v, struct arena *a)
{
	const struct ref_value *zero = judge_zero_gradient(jc, c->call, c->tensor.index, a);
	const char *before = "";
	sb_puts(sb, "    \"present\": \"or zeros\",\n");
	shape_fact(sb, &v->meta);
	sb_puts(sb, "    \"or nan at\": [");
	for (int64_t k = 0; zero && zero->present && k < zero->n; k++)
		if (zero->val[k].flags & (NUM_NAN | NUM_ANY)) {
			sb_printf(sb, "%s%" PRId64, before, k);
			before = ", ";
		}
	sb_puts(sb, "],\n");
}

static void meta_facts(struct strbuf *sb, unsigned parts, const struct ref_value *v)
{
	const struct meta *m = &v->meta;
	if (parts & CLAIM_PRESENT)
		sb_printf(sb, "    \"present\": %s,\n", v->present ? "True" : "False");
	if (parts & CLAIM_REQUIRES_GRAD)
		sb_printf(sb, "    \"requires_grad\": %s,\n", v->requires_grad ? "True" : "False");
	if (v->present && parts & CLAIM_SHAPE)
		shape_fact(sb, m);
	if (v->present && parts & CLAIM_STRIDES) {
		sb_puts(sb, "    \"strides\": [");
		for (int d = 0; d < m->rank; d++)
			sb_printf(sb, "%s%" PRId64, d ? ", " : "", m->stride[d]);
		sb_puts(sb, "],\n");
	}
}

static const char *const rule_name[] = {
	[ALIAS_APART] = "apart",
	[ALIAS_SHARED] = "shared",
	[ALIAS_EQUAL] = "apart unless equal",
	[ALIAS_ANY] = "any",
};

static const char *input_name(const struct prog *p, int storage, struct arena *a)
{
	struct tensor_name n;
	tensor_name_of(&n, p, TR_STORAGE, storage);
	return arena_printf(a, "input %s", n.node);
}

/* What an output may share memory with, and where it begins. */
static void output_memory(struct strbuf *sb, const struct reference *ref, const struct prog *p, int i, unsigned free, struct arena *a)
{
	const struct ref_value *v = &ref->out[i];
	bool of_input = v->memory < ref->nstorages;
	sb_puts(sb, "    \"memory\": {");
	if (of_input)
		sb_printf(sb, "\"%s\": \"%s\"", input_name(p, v->memory, a), rule_name[judge_output_rule(p, ref, i, -1, free)]);
	for (int k = 0; k < i && !of_input; k++)
		if (ref->out[k].n)
			sb_printf(sb, "\"output %d\": \"%s\", ", k, rule_name[judge_output_rule(p, ref, i, k, free)]);
	sb_puts(sb, "},\n");
	const unsigned from_start = FREE_OFFSET | FREE_ALIAS | FREE_PLAIN_ALIAS | FREE_SEVERAL_VIEWS;
	if (of_input)
		sb_printf(sb, "    \"offset\": ([%" PRId64 "], \"%s\"),\n", v->meta.offset, input_name(p, v->memory, a));
	else if (v->n)
		sb_printf(sb, "    \"offset\": ([%" PRId64 "%s], None),\n", v->meta.offset, v->meta.offset && free & from_start ? ", 0" : "");
	sb_puts(sb, "    \"offset from\": {");
	for (int k = 0; k < i; k++)
		if (ref->out[k].n && ref->out[k].memory == v->memory)
			sb_printf(sb, "\"output %d\": %" PRId64 ", ", k, v->meta.offset - ref->out[k].meta.offset);
	sb_puts(sb, "},\n");
}

static void gradient_memory(struct strbuf *sb, const struct reference *ref, const struct prog *p, int i, unsigned free, struct arena *a)
{
	struct tensor_name n;
	sb_puts(sb, "    \"memory\": {");
	for (int k = 0; k < ref->nstorages; k++)
		sb_printf(sb, "\"%s\": \"%s\", ", input_name(p, k, a), rule_name[judge_gradient_rule(ref, i, TR_STORAGE, k, free, a)]);
	for (int k = 0; k < ref->nouts; k++)
		if (ref->out[k].n)
			sb_printf(sb, "\"output %d\": \"%s\", ", k, rule_name[judge_gradient_rule(ref, i, TR_OUTPUT, k, free, a)]);
	for (int k = 0; k < i; k++)
		if (ref->grad[k].n) {
			tensor_name_of(&n, p, TR_GRADIENT, k);
			sb_printf(sb, "\"%s\": \"%s\", ", tensor_name_text(&n, a), rule_name[judge_gradient_rule(ref, i, TR_GRADIENT, k, free, a)]);
		}
	sb_puts(sb, "},\n");
	if (judge_gradient_from_start(ref, i, free, a))
		sb_puts(sb, "    \"offset\": (0, None),\n");
}

static void facts(
	struct strbuf *sb, const struct claim *c, const struct judge_case *jc, const struct ref_value *v, unsigned free, struct arena *a)
{
	const struct reference *ref = &jc->ref[c->call];
	bool output = c->tensor.role == TR_OUTPUT;
	if (!v->present && c->parts & CLAIM_PRESENT && free & FREE_ZERO_FOR_NONE) {
		zeros_fact(sb, jc, c, v, a);
		return;
	}
	meta_facts(sb, c->parts, v);
	if (c->parts & CLAIM_MEMORY && v->present && v->n)
		(output ? output_memory : gradient_memory)(sb, ref, jc->p, c->tensor.index, free, a);
}

bool expected_emit(
	struct strbuf *sb, const char **why, const struct claim *c, const struct prog *p, const struct target *t, struct arena *a)
{
	struct licence_profile profile;
	struct judge_case jc;
	struct wanted w;
	if (c->tensor.later) {
		*why = "";
		sb_puts(sb, "MUST = {\"stays\": True}  # what it was when its call returned, while later calls run on inputs of their own\n");
		sb_puts(sb, "EXPECTED = []\n");
		return true;
	}
	*why = "the reference knows nothing of this target";
	if (!profile_of(&profile, t))
		return false;
	if (!judge_prepare(&jc, p, &profile, TAPE_LIMITS_DEFAULT, a)) {
		*why = arena_printf(a, "the reference does not judge this program: %s", jc.message);
		return false;
	}
	const struct reference *ref = &jc.ref[c->call];
	const struct ref_value *v = expected_value(ref, c->tensor.role, c->tensor.index);
	bool elements = c->parts & CLAIM_ELEMENTS && find_elements(&w, ref, &c->tensor);
	*why = arena_printf(a, "the reference has no %s in call %d", tensor_name_text(&c->tensor, a), c->call);
	if (c->tensor.role == TR_STORAGE ? !elements : !v || v->meta.device == DEV_META)
		return false;
	*why = arena_printf(a, "%s has more than %d elements", tensor_name_text(&c->tensor, a), MAX_EXPECTED);
	if (elements && w.n > MAX_EXPECTED)
		return false;
	*why = "";
	sb_puts(sb, "MUST = {\n");
	if (v)
		facts(sb, c, &jc, v, freedoms(t), a);
	sb_puts(sb, "}\n");
	if (elements)
		all_versions(sb, c, p, t, a);
	else
		sb_puts(sb, "EXPECTED = []\n");
	return true;
}
