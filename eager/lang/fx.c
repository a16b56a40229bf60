/* fx.c: see fx.h. A graph begins at `def forward(`, ends with its `return` (which may take several lines), and everything else is text
 * around it: log prefixes, "TRACED GRAPH", `class` lines, the configuration that aot_graphs prints before. Lines of another log record
 * that got in between, which have another prefix, are left out. */
#include "eager/lang/fx.h"

#include "eager/lang/pooled.h"
#include "eager/lang/text_reader.h"
#include "generated/op_args.h"

#include <ctype.h>
#include <stdlib.h>

struct line {
	const char *s, *end;
	size_t prefix;
}; /* end: at the newline or the end of the text */

static bool digits(const char *s, const char *end, int n)
{
	if (end - s < n)
		return false;
	for (int i = 0; i < n; i++)
		if (!isdigit((unsigned char)s[i]))
			return false;
	return true;
}

/* Bytes of "[rank0]:V1121 21:23:40.679000 13182 torch/….py:1346] [0/0] [__post_grad_graphs] " without the last blank; 0: none. */
static size_t log_prefix(const char *s, const char *end)
{
	const char *at = s;
	if (end - at > 5 && memcmp(at, "[rank", 5) == 0) {
		const char *colon = memchr(at, ':', (size_t)(end - at));
		if (!colon)
			return 0;
		at = colon + 1;
	}
	if (at >= end || !strchr("VDIWECF", *at) || !digits(at + 1, end, 4))
		return 0;
	const char *close = memchr(at, ']', (size_t)(end - at));
	if (!close)
		return 0;
	while (end - close > 2 && close[1] == ' ' && close[2] == '[') {
		const char *next = memchr(close + 2, ']', (size_t)(end - close - 2));
		if (!next)
			break;
		close = next;
	}
	return (size_t)(close + 1 - s);
}

static bool next_line(struct line *l, const char **s, const char *end)
{
	if (*s >= end)
		return false;
	const char *eol = memchr(*s, '\n', (size_t)(end - *s));
	*l = (struct line){*s, eol ? eol : end, 0};
	l->prefix = log_prefix(l->s, l->end);
	*s = eol ? eol + 1 : end;
	return true;
}

static const char *code(const struct line *l)
{
	const char *s = l->s + l->prefix;
	while (s < l->end && (*s == ' ' || *s == '\t'))
		s++;
	return s;
}

static bool begins(const struct line *l, const char *word)
{
	const char *s = code(l);
	size_t n = strlen(word);
	return (size_t)(l->end - s) >= n && memcmp(s, word, n) == 0;
}

static bool is_def(const struct line *l) { return begins(l, "def forward("); }

static bool is_return(const struct line *l)
{
	const char *s = code(l) + 6;
	return begins(l, "return") && (s >= l->end || !(isalnum((unsigned char)*s) || *s == '_'));
}

/* Brackets opened and not closed in the line. Nothing in a `return` is a string. */
static int open_brackets(const struct line *l)
{
	int n = 0;
	for (const char *s = code(l); s < l->end && *s != '#'; s++)
		n += (*s == '(' || *s == '[') - (*s == ')' || *s == ']');
	return n;
}

static void put_line(struct strbuf *sb, const struct line *l, bool mine)
{
	if (mine) {
		for (size_t i = 0; i < l->prefix; i++)
			sb_putc(sb, ' ');
		sb_put(sb, l->s + l->prefix, (size_t)(l->end - l->s) - l->prefix);
	}
	sb_putc(sb, '\n');
}

static bool same_prefix(const struct line *a, const struct line *b) { return a->prefix == b->prefix && memcmp(a->s, b->s, a->prefix) == 0; }

/* One graph, whose `def` is given; *s and *line end after it. A text that ends within it is the reader's to complain about. */
static struct fx_graph take_graph(struct line def, const char **s, const char *end, int *line, struct arena *a)
{
	struct strbuf sb;
	struct fx_graph g = {.line = *line};
	bool returns = false;
	int open = 0;
	sb_init(&sb);
	put_line(&sb, &def, true);
	for (struct line l; !(returns && open <= 0) && next_line(&l, s, end);) {
		bool mine = same_prefix(&l, &def);
		if (mine && is_def(&l)) {
			*s = l.s;
			break;
		}
		++*line;
		returns = returns || (mine && is_return(&l));
		open += returns && mine ? open_brackets(&l) : 0;
		put_line(&sb, &l, mine);
	}
	g.text = arena_strdup(a, sb.s);
	g.len = strlen(g.text); /* up to a NUL, which no graph has */
	sb_free(&sb);
	return g;
}

int fx_graphs(struct fx_graph **out, struct arena *a, const char *text, size_t len)
{
	const char *s = text, *end = text + len;
	int n = 0, cap = 0;
	*out = NULL;
	struct line l;
	for (int line = 1; next_line(&l, &s, end); line++) {
		if (!is_def(&l))
			continue;
		if (n == cap) {
			*out = ARENA_GROW(a, struct fx_graph, *out, cap, MAX(8, 2 * cap));
			cap = MAX(8, 2 * cap);
		}
		(*out)[n++] = take_graph(l, &s, end, &line, a);
	}
	return n;
}

/* ---- operators that the table does not have ----------------------------------------------------------------------------- */

struct unknown {
	char name[2 * MAX_NAME];
	int count, line;
};

static bool is_known(const char *name)
{
	int any;
	return op_find(name) >= 0 || rename_knows(name) || expand_knows(name)
		|| (!strchr(name + (str_starts(name, "aten.") ? 5 : 0), '.') && op_overloads(&any, 1, name + 5 * str_starts(name, "aten.")) > 0);
}

/* Notes the operator named at s, after "torch.ops.". */
static void note(struct unknown *u, int *n, int max, const char *s, const char *end, int line)
{
	struct unknown one = {.count = 1, .line = line};
	size_t len = 0;
	while (s + len < end && len + 1 < sizeof one.name && (isalnum((unsigned char)s[len]) || s[len] == '_' || s[len] == '.'))
		len++;
	memcpy(one.name, s, len);
	if (is_known(one.name))
		return;
	for (int i = 0; i < *n; i++)
		if (str_eq(u[i].name, one.name)) {
			u[i].count++;
			return;
		}
	if (*n < max)
		u[(*n)++] = one;
}

int fx_unknown(struct strbuf *sb, const char *text, size_t len)
{
	enum { MAX_UNKNOWN = 256 };
	static const char before[] = "torch.ops.";
	struct unknown *u = xmalloc(MAX_UNKNOWN * sizeof *u);
	const char *s = text, *end = text + len;
	int n = 0;
	struct line l;
	for (int line = 1; next_line(&l, &s, end); line++)
		for (const char *at = code(&l); at < l.end && *at != '#'; at++)
			if ((size_t)(l.end - at) > sizeof before && memcmp(at, before, sizeof before - 1) == 0)
				note(u, &n, MAX_UNKNOWN, at + sizeof before - 1, l.end, line);
	for (int i = 0; i < n; i++) {
		sb_printf(sb, "%s%s (", i ? ", " : "", u[i].name);
		if (u[i].count > 1)
			sb_printf(sb, "%d times, first in ", u[i].count);
		sb_printf(sb, "line %d)", u[i].line);
	}
	int first = n ? u[0].line : 0;
	free(u);
	return first;
}

/* ---- data for positions ---------------------------------------------------------------------------------------------------- */

/* The input whose elements an index tensor has: through operators that only move. */
static struct node *leaf_of(struct prog *p, int node)
{
	while (node >= 0 && p->node[node].op != OP_input) {
		const struct node *n = &p->node[node];
		int self = op_has(n->op, T_PURE_MOVE | T_MAYBE_VIEW) ? op_self(n->op) : -1;
		node = self >= 0 && n->arg[self].tag == ARG_TENSOR ? n->arg[self].node : -1;
	}
	return node < 0 || !dtype_is_int(p->node[node].out[0].meta.dtype) ? NULL : &p->node[node];
}

static void use_as_position(struct prog *p, int node, int64_t size, bool unique, int dim)
{
	struct node *n = leaf_of(p, node);
	if (!n)
		return;
	int fill = A_input_fill, high = A_input_high, along = A_input_dim;
	const struct meta *m = &n->out[0].meta;
	bool first = str_eq(n->arg[fill].str, "dyadic");
	int64_t most = first ? size : MIN(size, n->arg[high].i.value);
	dim = dim < 0 ? dim + m->rank : dim;
	if (unique && &p->node[node] == n && m->rank > 0 && m->size[dim] <= most) {
		n->arg[fill] = arg_str(p, "unique");
		n->arg[along] = arg_int(dim);
	} else if (first) {
		n->arg[fill] = arg_str(p, "index");
	}
	n->arg[high] = arg_int(MAX(most, 1));
}

static int64_t size_along(const struct meta *m, int64_t dim)
{
	dim = dim < 0 ? dim + m->rank : dim;
	return m->rank == 0 ? 1 : dim >= 0 && dim < m->rank ? m->size[dim] : 1;
}

/* Entry i of a list of indices addresses dimension i, but for masks, which address as many as they have. */
static void list_positions(struct prog *p, const struct node *n, const struct arg *a, bool unique)
{
	const struct meta *self = node_meta(p, n->arg[A_indexed_self].node);
	const struct arg *accumulate = node_arg(n, N_accumulate);
	unique = unique && !(accumulate && accumulate->b);
	for (int i = 0, dim = 0; i < a->n; i++) {
		const struct meta *m = a->nodes[i] < 0 ? NULL : node_meta(p, a->nodes[i]);
		if (m && dtype_is_int(m->dtype))
			use_as_position(p, a->nodes[i], size_along(self, dim), unique, 0);
		unique = unique && !m; /* one that is distinct is enough */
		dim += m && m->dtype == DT_B8 ? m->rank : 1;
	}
}

/* Of the tensor that has a score per class, which need not be the row's first. */
static int64_t classes_of(const struct prog *p, const struct node *n)
{
	for (int k = 0; k < op_info[n->op].nparam; k++)
		if (op_info[n->op].param[k].role == R_CLASSES && n->arg[k].tag == ARG_TENSOR)
			return size_along(node_meta(p, n->arg[k].node), -1);
	return 1;
}

/* One after the other. */
static int64_t choose_next(void *ctx, int64_t low, int64_t high)
{
	int64_t *k = ctx;
	return low + (*k)++ % (high - low + 1);
}

static void use_as_elements(struct prog *p, const struct node *n, int node)
{
	const struct meta *self = node_meta(p, node_arg(n, N_self)->node);
	int64_t k = 0;
	if (p->node[node].op == OP_input && self->rank > 2)
		p->node[node].arg[A_input_data] = pooled_data(p, n, self, node_meta(p, node), choose_next, &k);
}

static void use_as_places(struct prog *p, const struct node *n, int node)
{
	const struct meta *at = node_meta(p, node);
	int64_t out[MAX_LIST], k = 0, room = 1, places = 1;
	const int dims = node_ints(out, n, op_arg(n->op, N_output_size));
	for (int d = 0; d < dims && dims < at->rank; d++) {
		room *= out[d];
		places *= at->size[at->rank - dims + d];
	}
	if (p->node[node].op == OP_input && room > 0)
		p->node[node].arg[A_input_data] = pooled_distinct(p, MAX(places, 1), room, at, choose_next, &k);
}

void fx_positions(struct prog *p)
{
	for (int i = 0; i < p->nnode; i++) {
		const struct node *n = &p->node[i];
		int dim = op_arg(n->op, N_dim), of = op_self(n->op);
		for (int k = 0; k < op_info[n->op].nparam; k++) {
			const struct arg *a = &n->arg[k];
			enum role role = op_info[n->op].param[k].role;
			if (a->tag == ARG_TENSORS && role_is_positions(role))
				list_positions(p, n, a, role_has(role, RF_UNIQUE));
			if (a->tag != ARG_TENSOR || of < 0 || n->arg[of].tag != ARG_TENSOR)
				continue;
			const struct meta *self = node_meta(p, n->arg[of].node);
			int64_t along = dim < 0 ? 0 : n->arg[dim].i.value;
			if (role == R_POOLED_AT)
				use_as_elements(p, n, a->node);
			else if (role == R_UNPOOLED_AT)
				use_as_places(p, n, a->node);
			else if (role == R_IDS)
				use_as_position(p, a->node, size_along(self, 0), false, 0);
			else if (role == R_LABELS)
				use_as_position(p, a->node, classes_of(p, n), false, 0);
			else if (role == R_ROWS)
				use_as_position(p, a->node, n->arg[op_arg(n->op, N_num_weights)].i.value, false, 0);
			else if (role_is_positions(role))
				use_as_position(p, a->node, size_along(self, along), role_has(role, RF_UNIQUE),
					role_has(role, RF_UNIQUE) && role_has(role, RF_FULL) ? (int)along : 0);
		}
	}
}
