/* motif.c: a graph of the library, a connected set of its operators, and what must come with them. */
#include "fuzz/gen/motif.h"

#include "eager/lang/edit.h"
#include "eager/lang/shrink_size.h"
#include "eager/lang/vary.h"
#include "fuzz/gen/mutate.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

extern const unsigned char motifs_prog[];

enum { LEAST = 2, MOST = 10 };

/* ---- the library ------------------------------------------------------------------------------------------------------------------- */

static const char header[] = "# scatterproof 1\n";

static const char *next_graph(const char *s) { return strstr(s, header); }

int motif_graphs(void)
{
	int n = 0;
	for (const char *s = next_graph((const char *)motifs_prog); s; s = next_graph(s + 1))
		n++;
	return n;
}

static bool read_graph(struct prog *out, struct arena *a, int number, struct err *err)
{
	const char *s = next_graph((const char *)motifs_prog);
	for (int i = 0; i < number; i++)
		s = next_graph(s + 1);
	const char *end = next_graph(s + 1);
	return prog_read(out, a, s, end ? (size_t)(end - s) : strlen(s), READ_STRICT, err);
}

/* ---- a piece ----------------------------------------------------------------------------------------------------------------------- */

struct cut {
	struct prog *p;
	bool in[MAX_NODES];      /* an operator of the piece */
	bool edge[MAX_NODES];    /* what it reads from outside: an input */
	bool history[MAX_NODES]; /* what such integers are computed from */
};

static bool is_operator(const struct prog *p, int i) { return node_is_run(&p->node[i]) && !node_is_sym(&p->node[i]); }

/* What the piece's operators read. */
static void mark_read(const struct cut *k, bool *read)
{
	for (int i = 0; i < k->p->nnode; i++)
		if (k->in[i])
			node_mark_operands(k->p, &k->p->node[i], read);
}

static int draw_of(const bool *set, int n, struct choices *c)
{
	int found[MAX_NODES], nfound = 0;
	for (int i = 0; i < n; i++)
		if (set[i])
			found[nfound++] = i;
	return nfound ? found[choose_below(c, (uint64_t)nfound)] : -1;
}

static void grow(struct cut *k, struct choices *c)
{
	const int want = (int)choose_int(c, LEAST, MOST);
	for (int n = 0; n < want; n++) {
		bool may[MAX_NODES] = {false}, read[MAX_NODES] = {false};
		mark_read(k, read);
		for (int i = 0; i < k->p->nnode; i++) {
			const bool neighbour = n == 0 || read[i] || node_reads(k->p, &k->p->node[i], k->in);
			may[i] = is_operator(k->p, i) && !k->in[i] && neighbour;
		}
		const int i = draw_of(may, k->p->nnode, c);
		if (i < 0)
			return;
		k->in[i] = true;
	}
}

/* What no input can stand for: several results at once, numbers of the program, and integers, which may be positions. */
static bool must_be_computed(const struct cut *k, int i)
{
	const struct node *n = &k->p->node[i];
	const bool several = n->nout != 1 || op_info[n->op].nret != 1;
	return is_operator(k->p, i) && (k->history[i] || several || dtype_is_int(n->out[0].meta.dtype));
}

/* Backwards, so that what comes with the piece is seen, too. */
static void close_cut(struct cut *k)
{
	for (int i = k->p->nnode - 1; i >= 0; i--) {
		bool read[MAX_NODES] = {false};
		const bool computed = must_be_computed(k, i);
		if (k->edge[i] && (computed || node_is_sym(&k->p->node[i]))) {
			k->in[i] = true;
			k->edge[i] = false;
		}
		if (!k->in[i])
			continue;
		node_mark_operands(k->p, &k->p->node[i], read);
		const bool integers = computed && (k->history[i] || dtype_is_int(k->p->node[i].out[0].meta.dtype));
		for (int j = 0; j < i; j++) {
			k->edge[j] |= read[j] && !k->in[j];
			k->history[j] |= read[j] && integers;
		}
	}
	for (int i = 0; i < k->p->nnode; i++) /* several results are read one by one */
		k->in[i] |= k->p->node[i].op == OP_getitem && k->in[k->p->node[i].arg[A_getitem_self].node];
}

static void become_input(struct prog *p, int i, bool grad)
{
	struct node *n = &p->node[i];
	const struct meta m = n->out[0].meta;
	if (n->op == OP_input) {
		n->arg[A_input_requires_grad] = arg_bool(grad && dtype_has_grad(m.dtype));
		return;
	}
	n->op = OP_input;
	for (int k = 0; k < MAX_ARGS; k++)
		n->arg[k] = (struct arg){.tag = ARG_NONE};
	n->arg[A_input_size] = arg_ints(p, m.size, m.rank);
	n->arg[A_input_stride] = arg_ints(p, m.stride, m.rank);
	n->arg[A_input_dtype] = arg_dtype(m.dtype);
	n->arg[A_input_seed] = arg_int(i + 1);
	n->arg[A_input_requires_grad] = arg_bool(grad && dtype_has_grad(m.dtype));
	prog_defaults(p, i);
}

static void return_what_nobody_reads(struct cut *k)
{
	bool read[MAX_NODES] = {false};
	mark_read(k, read);
	k->p->nret = 0;
	for (int i = 0; i < k->p->nnode && k->p->nret < MAX_RETURNS; i++)
		if (k->in[i] && !read[i] && k->p->node[i].nout == 1 && op_info[k->p->node[i].op].nret == 1)
			k->p->ret[k->p->nret++] = i;
}

bool motif_piece(struct prog *out, struct arena *a, struct choices *c, struct err *err)
{
	struct cut k = {.p = out};
	int order[MAX_NODES], n = 0;
	if (!read_graph(out, a, (int)choose_below(c, (uint64_t)motif_graphs()), err))
		return false;
	grow(&k, c);
	close_cut(&k);
	const bool grads = choose_chance(c, 60);
	for (int i = 0; i < out->nnode; i++) {
		if (out->node[i].op == OP_input_view && k.edge[i])
			return err_set(err, "motif: '%s' shares the memory of another input", out->node[i].name);
		if (k.edge[i])
			become_input(out, i, grads && choose_chance(c, 70));
		if (k.edge[i] || k.in[i])
			order[n++] = i;
	}
	return_what_nobody_reads(&k);
	if (!out->nret)
		return err_set(err, "motif: nothing is returned");
	return edit_reorder(out, order, n, err);
}

/* ---- a program --------------------------------------------------------------------------------------------------------------------- */

/* Half of the sizes, and now and then the dtype. What makes no program is not done. */
static void resize(struct prog *p, struct arena *a, struct choices *c)
{
	static const int64_t to[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 65};
	static const enum dtype other[] = {DT_F64, DT_BF16, DT_F16};
	int64_t size[MAX_SHRINK_SIZES];
	const int n = shrink_sizes(size, p);
	const bool fixed = names_elements(p);
	for (int i = 0; i < n && !fixed; i++) {
		struct prog q;
		struct err err = {0};
		bool moved = false;
		if (choose_chance(c, 50) && vary_size(&q, p, size[i], to[choose_below(c, ARRAY_LEN(to))], &moved, a, &err) && is_small(&q))
			*p = q;
	}
	if (!fixed && choose_chance(c, 30)) {
		struct prog q;
		struct err err = {0};
		if (vary_dtype(&q, p, DT_F32, other[choose_below(c, ARRAY_LEN(other))], a, &err))
			*p = q;
	}
}

bool motif_program(struct prog *out, struct arena *a, struct choices *c, const struct policy *pol, struct err *err)
{
	struct prog piece, donor;
	if (!motif_piece(&piece, a, c, err) || !motif_piece(&donor, a, c, err))
		return false;
	resize(&piece, a, c);
	return mutate_program(out, &piece, &donor, a, c, pol, NULL, err);
}
