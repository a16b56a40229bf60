/* policy.c: base weights, and how a block departs from them: some families, dtypes and features off, others louder. */
#include "fuzz/gen/policy.h"

#include <stdlib.h>

const char *const feature_name[NFEATURES] = {
#define FEATURE(id, base, swarm) [PF_##id] = #id,
	FEATURES(FEATURE)
#undef FEATURE
};
static const struct {
	int chance;
	bool swarm;
} feature_base[NFEATURES] = {
#define FEATURE(id, base, swarm) [PF_##id] = {base, swarm},
	FEATURES(FEATURE)
#undef FEATURE
};

static const int family_base[NFAMILIES] = {
	[F_FACTORY] = 1,
	[F_VIEW] = 4,
	[F_COPY] = 3,
	[F_SCATTER] = 5,
	[F_GATHER] = 3,
	[F_REDUCE] = 4,
	[F_MATMUL] = 2,
	[F_POINTWISE] = 4,
	[F_INPLACE] = 3,
	[F_MULTI] = 2,
	[F_COMPOSED] = 3,
};
static const int dtype_base[NDTYPES] = {
#define DT(id, name, torch, cell, load, store, class, rows, overflow, precision, emin, emax, compute, acc, letter, c10, cpp, full_cpp,     \
	short_cpp, reach, step, weight)                                                                                                        \
	[DT_##id] = weight,
#include "eager/lang/dtype.def"
#undef DT
};

/* Named policies: share of short blocks in percent, and what is louder. */
struct named {
	const char *name;
	int short_share;
	int family[NFAMILIES];
	int layouts, symbols, illegal, library, lanes;
	int extern_share; /* of blocks that are those of `extern` instead, in percent */
	int motifs;
	bool forward;
	enum policy_form form;
};
#define POLICIES(X)                                                                                                                        \
	X("default", .short_share = 60, .extern_share = 3, .motifs = 5)                                                                        \
	X("short", .short_share = 100)                                                                                                         \
	X("long", .short_share = 0)                                                                                                            \
	X("mutation", .short_share = 30, .family = {[F_INPLACE] = 12, [F_VIEW] = 8})                                                           \
	X("layout", .short_share = 60, .layouts = 3)                                                                                           \
	X("symbols", .short_share = 60, .symbols = 70)                                                                                         \
	X("extern", .short_share = 30, .family = {[F_POINTWISE] = 12, [F_VIEW] = 8}, .layouts = 3, .library = 50, .lanes = 80)                 \
	X("motifs", .short_share = 60, .motifs = 100)                                                                                          \
	X("illegal", .short_share = 90, .illegal = 95)                                                                                         \
	X("forward", .short_share = 60, .forward = true)                                                                                       \
	X("joint", .short_share = 60, .form = FORM_JOINT)                                                                                      \
	X("double", .short_share = 100, .form = FORM_DOUBLE)
#define NAMED(name_, ...)  {.name = name_, __VA_ARGS__},
#define LISTED(name_, ...) ", " name_
static const struct named named[] = {POLICIES(NAMED)};

const char *policy_names(void)
{
	static const char listed[] = POLICIES(LISTED);
	return listed + strlen(", ");
}

static const struct named *named_find(const char *name)
{
	for (int i = 0; i < ARRAY_LEN(named); i++)
		if (str_eq(named[i].name, name))
			return &named[i];
	return NULL;
}

static bool is_layout(int f) { return f >= PF_permuted && f <= PF_size_one; }

/* Keeps `keep` of the positive weights, drawn by weight, and gives each a new one in 1..4. */
static void draw_subset(int *out, const int *base, int n, int keep, struct choices *c)
{
	int left[MAX((int)NFAMILIES, (int)NDTYPES)];
	memcpy(left, base, (size_t)n * sizeof *left);
	memset(out, 0, (size_t)n * sizeof *out);
	for (int k = 0; k < keep; k++) {
		int i = choose_weighted(c, left, n);
		if (i < 0)
			return;
		out[i] = 1 + (int)choose_below(c, 4);
		left[i] = 0;
	}
}

static void draw_families(struct policy *p, const struct named *nm, struct choices *c)
{
	int base[NFAMILIES];
	for (int f = 0; f < NFAMILIES; f++)
		base[f] = nm->family[f] ? nm->family[f] : family_base[f];
	draw_subset(p->family, base, NFAMILIES, p->is_short ? 2 + choose_chance(c, 60) : 4 + (int)choose_below(c, 6), c);
}

static void draw_dtypes(struct policy *p, const struct named *nm, const int *base, struct choices *c)
{
	draw_subset(p->dtype, base, NDTYPES, 1 + (int)choose_below(c, 4), c);
	/* Without a floating dtype nothing is differentiated: rare enough, or never. */
	for (int t = 0; t < NDTYPES; t++)
		if (p->dtype[t] && dtype_has_grad((enum dtype)t))
			return;
	int floats[NDTYPES] = {0};
	for (int t = 0; t < NDTYPES; t++)
		if (dtype_has_grad((enum dtype)t))
			floats[t] = base[t];
	int t = nm->form == FORM_PLAIN && choose_chance(c, 10) ? -1 : choose_weighted(c, floats, NDTYPES);
	if (t >= 0)
		p->dtype[t] = 4;
}

static void draw_features(struct policy *p, const struct named *nm, struct choices *c)
{
	for (int f = 0; f < NFEATURES; f++) {
		int base = feature_base[f].chance;
		if (nm->layouts && is_layout(f))
			base *= nm->layouts;
		if (feature_base[f].swarm) {
			static const int weight[] = {4, 3, 2, 1};
			int k = choose_weighted(c, weight, ARRAY_LEN(weight));
			base = k == 0 ? base : k == 1 ? 0 : k == 2 ? (base + 1) / 2 : base * 3;
		}
		p->chance[f] = MIN(base, 95);
	}
	if (nm->symbols)
		p->chance[PF_symbols] = nm->symbols;
	if (nm->illegal)
		p->chance[PF_illegal] = nm->illegal;
	if (nm->lanes)
		p->chance[PF_lanes] = nm->lanes;
	p->chance[PF_library] = nm->library;
	p->chance[PF_motif] = p->restricted ? 0 : nm->motifs; /* a graph has its own operators */
	if (nm->forward)                                      /* for compilers without gradients, which get graphs that somebody captured */
		p->chance[PF_grad] = 0;
	if (nm->forward || nm->form != FORM_PLAIN) /* nobody captures or differentiates what eager refuses */
		p->chance[PF_illegal] = p->chance[PF_outside] = 0;
	if (!p->is_short)
		p->chance[PF_reduce_end] = 30 + 30 * (int)choose_below(c, 3);
}

/* Rows the generator may draw: those with a family that makes nodes, and whose result is taken apart by no other row. */
static bool drawable(int op)
{
	const struct op_info *o = &op_info[op];
	if (o->family == F_INPUT)
		return false;
	for (int k = 0; k < o->nparam; k++)
		if (o->param[k].role == R_TUPLE)
			return false;
	return true;
}

/* How often a row is among those that compilers have no loops for: orders (most often of few ranks, whose reference is cheap), and what a
 * mask selects. */
static int library_share(const struct op_info *o)
{
	int share = o->traits & T_ORDER ? 1 : 0;
	for (int k = 0; k < o->nparam; k++)
		share += o->param[k].role == R_UINDICES ? 1 : o->param[k].role == R_COUNT ? 3 : 0;
	return share;
}

static void policy_finish(struct policy *p)
{
	memset(p->nby_family, 0, sizeof p->nby_family);
	p->nreduction = p->nlibrary = 0;
	for (int op = 0; op < op_nrows; op++) {
		const struct op_info *o = &op_info[op];
		if (!drawable(op))
			continue;
		if ((o->traits & (T_REDUCE | T_LINEAR)) == (T_REDUCE | T_LINEAR) && o->family == F_REDUCE)
			p->reduction[p->nreduction++] = (short)op;
		if (p->restricted && !p->op[op])
			continue;
		p->by_family[o->family][p->nby_family[o->family]++] = (short)op;
		for (int k = library_share(o); k > 0 && p->nlibrary < ARRAY_LEN(p->library); k--)
			p->library[p->nlibrary++] = (short)op;
	}
	for (int f = 0; f < NFAMILIES; f++)
		if (!p->nby_family[f])
			p->family[f] = 0;
}

/* Next of a comma-separated list, copied to word; false at the end. */
static bool next_word(const char **s, char *word, size_t max)
{
	if (!**s)
		return false;
	size_t n = strcspn(*s, ",");
	snprintf(word, max, "%.*s", (int)MIN(n, max - 1), *s);
	*s += n;
	*s += **s == ',';
	return true;
}

static bool read_ops(struct policy *p, const char *list, struct err *err)
{
	char word[MAX_NAME];
	p->restricted = true;
	while (next_word(&list, word, sizeof word)) {
		int found[16], n = op_overloads(found, ARRAY_LEN(found), word), exact = op_find(word);
		if (exact >= 0)
			p->op[exact] = true;
		for (int i = 0; i < n && exact < 0; i++)
			p->op[found[i]] = true;
		if (exact < 0 && !n)
			return err_set(err, "policy: no operator '%s'%s", word, op_guess(&(struct guess){0}, word));
	}
	return true;
}

static bool read_dtypes(int *weight, const char *list, struct err *err)
{
	char word[MAX_NAME];
	memset(weight, 0, NDTYPES * sizeof *weight);
	while (next_word(&list, word, sizeof word)) {
		enum dtype t;
		if (!dtype_find(&t, word))
			return err_set(err, "policy: no dtype '%s'%s", word, dtype_guess(&(struct guess){0}, word));
		weight[t] = 4;
	}
	return true;
}

bool policy_draw(struct policy *out, const char *name, const struct policy_limits *limits, struct choices *c, struct err *err)
{
	const struct named *nm = named_find(name);
	if (!nm)
		return err_set(err, "no policy '%s' (there are: %s)%s", name, policy_names(),
			guess_from(&(struct guess){0}, name, &named[0].name, sizeof named[0], ARRAY_LEN(named)));
	if (nm->extern_share && choose_chance(c, nm->extern_share))
		nm = named_find("extern");
	struct policy p = {.form = nm->form};
	snprintf(p.name, sizeof p.name, "%s", nm->name);
	int dtypes[NDTYPES];
	memcpy(dtypes, dtype_base, sizeof dtypes);
	if (limits && limits->ops && !read_ops(&p, limits->ops, err))
		return false;
	if (limits && limits->dtypes && !read_dtypes(dtypes, limits->dtypes, err))
		return false;
	p.is_short = !choose_chance(c, 100 - nm->short_share);
	p.min_nodes = p.is_short ? 1 : 3;
	p.max_nodes = p.is_short ? 3 : 6 + (int)choose_below(c, 12);
	static const int numel_weight[] = {4, 4, 2, 1};
	p.max_numel = 128 << 2 * choose_weighted(c, numel_weight, ARRAY_LEN(numel_weight));
	p.max_numel = MIN(p.max_numel, 4096);
	if (p.restricted) {
		/* The user's rows alone decide the families. */
		for (int op = 0; op < op_nrows; op++)
			if (p.op[op])
				p.family[op_info[op].family]++;
	} else {
		draw_families(&p, nm, c);
	}
	draw_dtypes(&p, nm, dtypes, c);
	draw_features(&p, nm, c);
	policy_finish(&p);
	*out = p;
	return true;
}

/* ---- text --------------------------------------------------------------------------------------------------------- */

void policy_print(struct strbuf *sb, const struct policy *p)
{
	sb_printf(sb, "%s block=%s nodes=%d..%d numel=%d families=", p->name, p->is_short ? "short" : "long", p->min_nodes, p->max_nodes,
		p->max_numel);
	const char *sep = "";
	for (int f = 0; f < NFAMILIES; f++) {
		if (p->family[f]) {
			sb_printf(sb, "%s%s:%d", sep, family_name[f], p->family[f]);
			sep = ",";
		}
	}
	sb_puts(sb, " dtypes=");
	sep = "";
	for (int t = 0; t < NDTYPES; t++) {
		if (p->dtype[t]) {
			sb_printf(sb, "%s%s:%d", sep, dtype_info[t].name, p->dtype[t]);
			sep = ",";
		}
	}
	for (int f = 0; f < NFEATURES; f++)
		if (p->chance[f])
			sb_printf(sb, " %s=%d", feature_name[f], p->chance[f]);
	sep = " ops=";
	for (int op = 0; p->restricted && op < op_nrows; op++) {
		if (p->op[op]) {
			sb_printf(sb, "%s%s", sep, op_info[op].name);
			sep = ",";
		}
	}
}

static int family_find(const char *s)
{
	for (int f = 0; f < NFAMILIES; f++)
		if (str_eq(family_name[f], s))
			return f;
	return -1;
}

static bool number(int *out, const char *s, struct err *err)
{
	char *end;
	long v = strtol(s, &end, 10);
	if (end == s || *end || v < 0 || v > 1 << 20)
		return err_set(err, "policy: bad number '%s'", s);
	*out = (int)v;
	return true;
}

static bool read_weights(struct policy *p, bool families, const char *list, struct err *err)
{
	char word[MAX_NAME];
	while (next_word(&list, word, sizeof word)) {
		char *colon = strchr(word, ':');
		enum dtype t;
		if (!colon)
			return err_set(err, "policy: expected name:weight, got '%s'", word);
		*colon = 0;
		int f = families ? family_find(word) : dtype_find(&t, word) ? (int)t : -1;
		if (f < 0)
			return err_set(err, "policy: no %s '%s'", families ? "family" : "dtype", word);
		if (!number(families ? &p->family[f] : &p->dtype[f], colon + 1, err))
			return false;
	}
	return true;
}

static bool read_key(struct policy *p, const char *key, const char *value, struct err *err)
{
	if (str_eq(key, "block")) {
		p->is_short = str_eq(value, "short");
		return p->is_short || str_eq(value, "long") || err_set(err, "policy: block is short or long, not '%s'", value);
	}
	if (str_eq(key, "nodes"))
		return (sscanf(value, "%d..%d", &p->min_nodes, &p->max_nodes) == 2 && p->min_nodes > 0 && p->min_nodes <= p->max_nodes
				   && p->max_nodes <= MAX_NODES / 8)
			|| err_set(err, "policy: bad nodes '%s'", value);
	if (str_eq(key, "numel"))
		return number(&p->max_numel, value, err) && (p->max_numel > 0 || err_set(err, "policy: numel is 0"));
	if (str_eq(key, "families") || str_eq(key, "dtypes"))
		return read_weights(p, key[0] == 'f', value, err);
	if (str_eq(key, "ops"))
		return read_ops(p, value, err);
	for (int f = 0; f < NFEATURES; f++)
		if (str_eq(feature_name[f], key))
			return number(&p->chance[f], value, err);
	return err_set(err, "policy: unknown key '%s'", key);
}

bool policy_read(struct policy *out, const char *line, struct err *err)
{
	struct policy p = {.min_nodes = 1, .max_nodes = 3, .max_numel = 256};
	char *copy = xstrdup(line), *save = NULL, *word = strtok_r(copy, " \n", &save);
	bool ok = word != NULL || err_set(err, "policy: empty line");
	if (ok) {
		const struct named *nm = named_find(word);
		snprintf(p.name, sizeof p.name, "%s", word);
		p.form = nm ? nm->form : FORM_PLAIN;
	}
	while (ok && (word = strtok_r(NULL, " \n", &save))) {
		char *eq = strchr(word, '=');
		if (!eq) {
			ok = err_set(err, "policy: expected key=value, got '%s'", word);
			break;
		}
		*eq = 0;
		ok = read_key(&p, word, eq + 1, err);
	}
	free(copy);
	if (ok) {
		policy_finish(&p);
		*out = p;
	}
	return ok;
}
