/* gen_test.c: choices replay, policies round-trip, generated programs are valid, varied and reproducible.
 * `gen_test N [SEED [print|quiet [POLICY]]]` measures instead: N programs, histograms, refusals by the shape rules, speed. */
#include "eager/run/interp.h"
#include "eager/lang/edit.h"
#include "eager/lang/stated.h"
#include "fuzz/gen/gen.h"
#include "tests/test.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

#include <stdlib.h>
#include <time.h>

/* ---- choices ----------------------------------------------------------------------------------------------------- */

static void draw_some(struct choices *c, int64_t *out, int n)
{
	static const int weight[] = {0, 3, 1};
	for (int i = 0; i < n; i++) {
		switch (i % 5) {
		case 0: out[i] = choose_below(c, 7); break;
		case 1: out[i] = choose_int(c, -300, 300); break;
		case 2: out[i] = choose_chance(c, 30); break;
		case 3: out[i] = choose_weighted(c, weight, 3); break;
		default: out[i] = choose_below(c, (uint64_t)1 << 32);
		}
	}
}

static void choices_replay(void)
{
	enum { N = 500 };
	int64_t a[N], b[N];
	struct choices c, d;
	struct strbuf bytes, text;
	sb_init(&bytes);
	sb_init(&text);
	choices_from_seed(&c, 42);
	choices_record(&c);
	draw_some(&c, a, N);
	choices_to_bytes(&bytes, &c);
	choices_to_text(&text, &c);
	choices_from_seed(&d, 42);
	draw_some(&d, b, N);
	EXPECT(memcmp(a, b, sizeof a) == 0, "same seed, other choices");
	choices_from_bytes(&d, bytes.s, bytes.len);
	draw_some(&d, b, N);
	EXPECT(memcmp(a, b, sizeof a) == 0 && !d.ended, "bytes do not replay");
	draw_some(&d, b, 5);
	EXPECT(d.ended && b[0] == 0 && b[1] == -300 && b[2] == 0 && b[3] == 1 && b[4] == 0, "after the end: the simplest");
	struct err err = {0};
	struct choices t;
	EXPECT(choices_from_text(&t, text.s, &err), "%s", err.msg);
	draw_some(&t, b, N);
	EXPECT(memcmp(a, b, sizeof a) == 0, "text does not replay");
	choices_free(&t);
	EXPECT(!choices_from_text(&t, "3/4 5/4", &err) && err.msg[0], "value above its bound accepted");
	/* A fixed sequence: the same on every machine. */
	choices_from_seed(&d, 1);
	uint64_t sum = 0;
	for (int i = 0; i < 100; i++)
		sum = sum * 31 + choose_below(&d, 1000);
	EXPECT(sum == UINT64_C(1819163714637054331), "got %" PRIu64, sum);
	choices_free(&c);
	sb_free(&bytes);
	sb_free(&text);
}

/* ---- policies ------------------------------------------------------------------------------------------------------- */

static void policies_round_trip(void)
{
	static const char *const names[] = {
		"default", "short", "long", "mutation", "layout", "symbols", "extern", "illegal", "joint", "double"};
	struct policy *p = xmalloc(sizeof *p), *q = xmalloc(sizeof *q);
	int nshort = 0;
	for (int i = 0; i < 500; i++) {
		struct choices c;
		struct err err = {0};
		struct strbuf a, b;
		struct policy_limits limits = {.ops = i % 7 == 3 ? "slice_scatter,sum,add.Tensor" : NULL, .dtypes = i % 5 == 1 ? "f32,bf16" : NULL};
		sb_init(&a);
		sb_init(&b);
		choices_from_seed(&c, (uint64_t)i);
		EXPECT(policy_draw(p, names[i % ARRAY_LEN(names)], &limits, &c, &err), "%s", err.msg);
		policy_print(&a, p);
		EXPECT(policy_read(q, a.s, &err), "%s: %s", err.msg, a.s);
		policy_print(&b, q);
		EXPECT_STR(b.s, a.s);
		EXPECT(p->form == q->form, "form %d became %d: %s", (int)p->form, (int)q->form, a.s);
		EXPECT(memcmp(p->by_family, q->by_family, sizeof p->by_family) == 0, "rows differ: %s", a.s);
		nshort += i % ARRAY_LEN(names) == 0 && p->is_short;
		sb_free(&a);
		sb_free(&b);
	}
	EXPECT(nshort >= 28, "%d of 56 default blocks are short: fewer than half", nshort);
	struct err err = {0};
	struct choices c;
	choices_from_seed(&c, 0);
	EXPECT(!policy_draw(p, "nonesuch", NULL, &c, &err), "unknown policy accepted");
	EXPECT(!policy_read(p, "default families=viewx:1", &(struct err){0}), "unknown family accepted");
	EXPECT(!policy_read(p, "default nodes=3..1", &(struct err){0}), "empty range accepted");
	free(p);
	free(q);
}

/* ---- programs --------------------------------------------------------------------------------------------------------- */

struct blocks {
	uint64_t seed;
	const char *name;
	int made;
	struct policy pol;
	struct choices c;
};

static void next_program(struct blocks *b, struct prog *p, struct arena *a, struct gen_stats *st)
{
	struct err err = {0};
	if (b->made % POLICY_BLOCK == 0) {
		choices_from_seed(&b->c, b->seed + (uint64_t)(b->made / POLICY_BLOCK));
		if (!policy_draw(&b->pol, b->name ? b->name : "default", NULL, &b->c, &err))
			BUG("%s", err.msg);
	}
	choices_from_seed(&b->c, mix64(b->seed) + (uint64_t)b->made++);
	if (!gen_program_stats(p, a, &b->c, &b->pol, st, &err))
		BUG("gen_program: %s", err.msg);
}

/* The founding condition: a scatter of a region whose result reaches only linear reductions, differentiably. The detector may
 * name operators; the policy may not. */
static bool founding(const struct prog *p)
{
	for (int i = 0; i < p->nnode; i++) {
		const char *name = op_info[p->node[i].op].name;
		if (!str_eq(name, "slice_scatter") && !str_eq(name, "select_scatter") && !str_eq(name, "diagonal_scatter"))
			continue;
		/* Its first operand must lead to a leaf: good enough is that an input that requires grad is among its ancestors. */
		bool anc[MAX_NODES] = {false}, grad = false;
		anc[p->node[i].arg[0].node] = true;
		for (int k = i - 1; k >= 0; k--) {
			if (!anc[k])
				continue;
			grad |= p->node[k].op == OP_input && p->node[k].arg[8].b;
			for (int j = 0; j < op_info[p->node[k].op].nparam; j++)
				if (p->node[k].arg[j].tag == ARG_TENSOR)
					anc[p->node[k].arg[j].node] = true;
		}
		for (int k = i + 1; grad && k < p->nnode; k++) {
			const struct node *n = &p->node[k];
			if (n->arg[0].tag == ARG_TENSOR && n->arg[0].node == i && op_info[n->op].family == F_REDUCE
				&& (op_info[n->op].traits & (T_REDUCE | T_LINEAR)) == (T_REDUCE | T_LINEAR))
				for (int r = 0; r < p->nback; r++)
					if (p->back[r].node == k)
						return true;
		}
	}
	return false;
}

static void programs_are_valid(void)
{
	struct blocks *b = xmalloc(sizeof *b);
	struct gen_stats *st = xmalloc(sizeof *st);
	memset(st, 0, sizeof *st);
	*b = (struct blocks){.seed = 7};
	struct arena a;
	arena_init(&a);
	int64_t refused = 0, made = 0;
	for (int i = 0; i < 3000; i++) {
		struct prog p, r;
		struct err err = {0};
		struct strbuf text, again;
		sb_init(&text);
		sb_init(&again);
		next_program(b, &p, &a, st);
		prog_print(&text, &p);
		EXPECT(prog_validate(&p, &err), "%s\n%s", err.msg, text.s);
		EXPECT(prog_read(&r, &a, text.s, text.len, READ_STRICT, &err), "%d:%d: %s\n%s", err.line, err.col, err.msg, text.s);
		if (!err.msg[0]) {
			prog_print(&again, &r);
			EXPECT_STR(again.s, text.s);
		}
		for (int k = 1; k <= p.ncall; k++) {
			struct prog q;
			EXPECT(prog_bind(&q, &p, k, &a, &err), "%s\n%s", err.msg, text.s);
		}
		EXPECT(p.ncall >= 2, "%d calls", p.ncall);
		sb_free(&text);
		sb_free(&again);
		arena_reset(&a);
	}
	for (int op = 0; op < op_nrows; op++) {
		refused += st->refused[op];
		made += st->made[op];
	}
	EXPECT(refused * 100 < made, "shape rules refused %" PRId64 " of %" PRId64 " nodes", refused, made);
	arena_free(&a);
	free(st);
	free(b);
}

/* The bytes of a recording make the same program; so does an empty sequence every time. */
static void programs_replay(void)
{
	struct blocks *b = xmalloc(sizeof *b);
	*b = (struct blocks){.seed = 11};
	struct arena a;
	arena_init(&a);
	for (int i = 0; i < 500; i++) {
		struct prog p;
		struct err err = {0};
		struct strbuf bytes, t1, t2;
		sb_init(&bytes);
		sb_init(&t1);
		sb_init(&t2);
		struct choices c;
		if (i % 100 == 0) {
			choices_from_seed(&c, (uint64_t)i);
			EXPECT(policy_draw(&b->pol, b->name ? b->name : "default", NULL, &c, &err), "%s", err.msg);
		}
		choices_from_seed(&c, (uint64_t)i);
		choices_record(&c);
		EXPECT(gen_program(&p, &a, &c, &b->pol, &err), "%s", err.msg);
		prog_print(&t1, &p);
		choices_to_bytes(&bytes, &c);
		choices_free(&c);
		choices_from_bytes(&c, bytes.s, bytes.len);
		EXPECT(gen_program(&p, &a, &c, &b->pol, &err), "%s", err.msg);
		prog_print(&t2, &p);
		EXPECT_STR(t2.s, t1.s);
		choices_from_bytes(&c, bytes.s, bytes.len / 2);
		EXPECT(gen_program(&p, &a, &c, &b->pol, &err) && prog_validate(&p, &err), "half the bytes: %s", err.msg);
		sb_free(&bytes);
		sb_free(&t1);
		sb_free(&t2);
		arena_reset(&a);
	}
	arena_free(&a);
	free(b);
}

/* With the policy that has most of them, every call binds, and many programs keep a symbol. */
static void symbols_bind(void)
{
	struct blocks *b = xmalloc(sizeof *b);
	*b = (struct blocks){.seed = 19, .name = "symbols"};
	struct arena a;
	arena_init(&a);
	int nsym = 0;
	for (int i = 0; i < 1000; i++) {
		struct prog p, q;
		struct err err = {0};
		next_program(b, &p, &a, NULL);
		if (p.node[0].op != OP_sym)
			continue;
		nsym++;
		EXPECT(prog_validate(&p, &err), "%s", err.msg);
		for (int k = 0; k <= p.ncall; k++)
			EXPECT(prog_bind(&q, &p, k, &a, &err) && prog_validate(&q, &err), "%s", err.msg);
		arena_reset(&a);
	}
	printf("symbols: %d of 1000 programs\n", nsym);
	EXPECT(nsym > 100, "only %d programs have a symbol", nsym);
	arena_free(&a);
	free(b);
}

/* What the policy states, counted: surfaces, where sizes come from, -1, counting from the end. */
struct shares {
	int64_t n, surface[NSURFACES];
	int64_t symbolic, given, read, both; /* programs with symbols; whose operators take them from arguments, from tensors, from either */
	int64_t size, minus_one;             /* sizes where one entry could follow from the others, and does */
	int64_t dim, dim_negative, index, index_negative; /* that are not left at their defaults */
};

static bool could_follow(const struct prog *p, const struct node *n, const struct param *q)
{
	const struct meta *self = n->arg[0].tag == ARG_TENSOR ? node_meta(p, n->arg[0].node) : NULL;
	if (q->role == R_VIEW || q->role == R_RESHAPE)
		return meta_numel(self) > 0 && n->out[0].meta.rank > 0;
	for (int d = 0; q->role == R_EXPAND && d < self->rank; d++)
		if (self->size[d] != 1)
			return true;
	return false;
}

static void share_of_arg(struct shares *s, const struct prog *p, const struct node *n, int k)
{
	const struct param *q = &op_info[n->op].param[k];
	const struct arg *a = &n->arg[k];
	bool negative = a->tag == ARG_INT && a->i.value < 0 && a->i.expr < 0;
	for (int e = 0; a->tag == ARG_INTS && e < a->n; e++)
		negative |= a->ints[e].value < 0 && a->ints[e].expr < 0;
	if (a->tag == ARG_NONE || arg_is_default(q, a))
		return;
	if (q->kind == K_SIZE && could_follow(p, n, q)) {
		s->size++;
		s->minus_one += negative;
	} else if ((q->kind == K_DIM && a->tag == ARG_INT) || (q->kind == K_DIMS && a->n > 0)) {
		s->dim++;
		s->dim_negative += negative;
	} else if (q->kind == K_INDEX && q->role == R_ANY) {
		s->index++;
		s->index_negative += negative;
	}
}

static void share_of_symbols(struct shares *s, const struct prog *p)
{
	bool forward[MAX_NODES], cot[MAX_NODES], reads[MAX_NODES] = {0}, any[MAX_NODES] = {0}, of_data = true, given = false, read = false;
	prog_partition(p, forward, cot);
	for (int i = 0; i < p->nnode; i++) {
		stated_mark_others(p, &p->node[i], any);
		if (forward[i] && op_info[p->node[i].op].family != F_INPUT)
			stated_mark_others(p, &p->node[i], reads);
	}
	for (int i = 0; i < p->nnode; i++)
		of_data &= p->node[i].op != OP_sym || !any[i];
	if (of_data) /* no caller gives its sizes */
		return;
	for (int i = 0; i < p->nnode; i++) {
		given |= reads[i] && p->node[i].op == OP_sym;
		read |= reads[i] && p->node[i].op == OP_sym_size;
	}
	s->symbolic++;
	s->given += given && !read;
	s->read += read && !given;
	s->both += read && given;
}

static void share(struct shares *s, const struct prog *p)
{
	s->n++;
	s->surface[p->surface]++;
	for (int i = 0; i < p->nnode; i++)
		for (int k = 0; !p->node[i].refusal && op_info[p->node[i].op].family != F_INPUT && k < op_info[p->node[i].op].nparam; k++)
			share_of_arg(s, p, &p->node[i], k);
	if (p->node[0].op == OP_sym)
		share_of_symbols(s, p);
}

static void shares_are_as_stated(void)
{
	enum { N = 10000 };
	struct blocks *b = xmalloc(sizeof *b);
	struct shares s = {0};
	*b = (struct blocks){.seed = 23};
	struct arena a;
	arena_init(&a);
	for (int i = 0; i < N; i++) {
		struct prog p;
		next_program(b, &p, &a, NULL);
		share(&s, &p);
		arena_reset(&a);
	}
	for (int k = 0; k < NSURFACES; k++)
		EXPECT(
			llabs(s.surface[k] - N * (k ? 25 : 50) / 100) < N * 2 / 100, "surface %s: %" PRId64 " of %d", surface_name[k], s.surface[k], N);
	EXPECT(s.minus_one * 10 >= s.size, "-1 in %" PRId64 " of %" PRId64 " sizes", s.minus_one, s.size);
	EXPECT(s.dim_negative * 10 >= s.dim, "%" PRId64 " of %" PRId64 " dims are negative", s.dim_negative, s.dim);
	EXPECT(s.index_negative * 10 >= s.index, "%" PRId64 " of %" PRId64 " indices are negative", s.index_negative, s.index);
	EXPECT(s.symbolic * 100 >= N * 7, "%" PRId64 " of %d programs have symbols", s.symbolic, N);
	int64_t taken = s.given + s.read + s.both;
	EXPECT(taken * 4 >= s.symbolic, "operators take sizes in %" PRId64 " of %" PRId64 " symbolic programs", taken, s.symbolic);
	EXPECT(s.read * 100 >= taken * 35 && s.given * 100 >= taken * 15 && s.both > 0, "given %" PRId64 ", read %" PRId64 ", both %" PRId64,
		s.given, s.read, s.both);
	arena_free(&a);
	free(b);
}

/* Any bytes are a program: what libFuzzer relies on. */
static void any_bytes_are_a_program(void)
{
	struct policy *pol = xmalloc(sizeof *pol);
	struct arena a;
	arena_init(&a);
	for (int i = 0; i < 2000; i++) {
		uint8_t bytes[300];
		size_t n = (size_t)(i % 300);
		struct choices c;
		struct prog p;
		struct err err = {0};
		for (size_t k = 0; k < n; k++)
			bytes[k] = (uint8_t)(i % 3 == 0 ? 255 : mix64((uint64_t)i * 512 + k));
		choices_from_bytes(&c, bytes, n);
		EXPECT(policy_draw(pol, "default", NULL, &c, &err), "%s", err.msg);
		EXPECT(gen_program(&p, &a, &c, pol, &err) && prog_validate(&p, &err), "%s", err.msg);
		arena_reset(&a);
	}
	arena_free(&a);
	free(pol);
}

/* The interpreter knows autograd's rules by itself: it must accept what the generator makes. */
static void interpreter_accepts(void)
{
	struct blocks *b = xmalloc(sizeof *b);
	*b = (struct blocks){.seed = 17};
	struct arena a;
	arena_init(&a);
	int nok = 0, nunsupported = 0;
	for (int i = 0; i < 1500; i++) {
		struct prog p;
		struct result r;
		struct err err = {0};
		next_program(b, &p, &a, NULL);
		if (p.must_raise)
			continue;
		interp_run(&r, &p, &a, NULL, &err);
		nok += r.status == RES_OK;
		nunsupported += r.status == RES_UNSUPPORTED;
		if (r.status != RES_OK && r.status != RES_UNSUPPORTED) {
			struct strbuf sb;
			sb_init(&sb);
			prog_print(&sb, &p);
			EXPECT(r.status == RES_OK, "%s: %s\n%s", result_status_name[r.status], r.message, sb.s);
			sb_free(&sb);
		}
		arena_reset(&a);
	}
	printf("interpreter: %d ok, %d unsupported\n", nok, nunsupported);
	EXPECT(nok > 500, "only %d ran", nok);
	arena_free(&a);
	free(b);
}

static bool has_unread(const struct prog *p, struct arena *a)
{
	struct prog read;
	return edit_sweep(&read, p, a, NULL) && read.nnode < p->nnode;
}

/* A label that names no class: PyTorch's nll_loss_backward writes elsewhere. */
static bool has_label_outside(const struct prog *p)
{
	for (int i = 0; i < p->nnode; i++) {
		if (p->node[i].op != OP_nll_loss_backward)
			continue;
		const struct node *label = &p->node[p->node[i].arg[A_nll_loss_backward_target].node];
		const struct meta *self = node_meta(p, p->node[i].arg[A_nll_loss_backward_self].node);
		const struct arg *data = &label->arg[A_input_data];
		for (int k = 0; label->op == OP_input && data->tag == ARG_DATA && k < data->n; k++)
			if (data->data[k].i < 0 || data->data[k].i >= self->size[self->rank - 1])
				return true;
	}
	return false;
}

/* The gradient of a scatter is asked for, and comes from windows that share cells: PyTorch's is wrong. */
static bool has_windows_behind_scatter(const struct prog *p)
{
	bool grad[MAX_NODES] = {false}, scatter[MAX_NODES] = {false};
	for (int i = 0; i < p->nnode; i++) {
		const struct node *n = &p->node[i];
		const int leaf = op_param(n->op, "requires_grad");
		grad[i] = leaf >= 0 ? n->arg[leaf].b : node_reads(p, n, grad) && !node_is_constant(p, n);
		scatter[i] = grad[i] && (op_has(n->op, T_SCATTER) || node_reads(p, n, scatter));
		if (scatter[i] && n->op == OP_unfold_backward && node_int(n, A_unfold_backward_step) < node_int(n, A_unfold_backward_size))
			return true;
	}
	return false;
}

/* Programs with a deliberate mistake: the interpreter refuses each, in the words that the program gives; the share in default programs. */
static void mistakes_are_refused(void)
{
	struct arena a;
	struct policy *pol = xmalloc(sizeof *pol);
	int nmistake = 0, nkind = 0, ndefault = 0, noutside = 0, nunread = 0;
	const char *said[32];
	arena_init(&a);
	for (uint64_t i = 0; i < 4000; i++) {
		struct choices c;
		struct prog p, q;
		struct result r;
		struct err err = {0};
		struct strbuf sb;
		if (i % 25 == 0) {
			choices_from_seed(&c, i);
			EXPECT(policy_draw(pol, "illegal", NULL, &c, &err), "%s", err.msg);
			choices_free(&c);
		}
		choices_from_seed(&c, mix64(i));
		EXPECT(gen_program(&p, &a, &c, pol, &err), "%s", err.msg);
		choices_free(&c);
		nmistake += p.must_raise;
		if (p.must_raise) {
			int k = 0;
			while (k < nkind && !str_eq(said[k], p.raises))
				k++;
			if (k == nkind)
				said[nkind++] = p.raises;
			sb_init(&sb);
			prog_print(&sb, &p);
			interp_run(&r, &p, &a, NULL, &err);
			EXPECT(r.status == RES_RAISED && strstr(r.message, p.raises), "%s: %s\n%s", result_status_name[r.status], r.message, sb.s);
			EXPECT(prog_read(&q, &a, sb.s, sb.len, READ_STRICT, &err), "%d:%d: %s\n%s", err.line, err.col, err.msg, sb.s);
			sb_free(&sb);
		}
		arena_reset(&a);
	}
	EXPECT(nmistake > 1500 && nkind == 11, "%d programs with %d mistakes", nmistake, nkind);
	struct blocks *b = xmalloc(sizeof *b);
	*b = (struct blocks){.seed = 23};
	for (int i = 0; i < 20000; i++) {
		struct prog p;
		next_program(b, &p, &a, NULL);
		ndefault += p.must_raise;
		EXPECT(!has_label_outside(&p), "program %d: a label that names no class", i);
		EXPECT(!has_windows_behind_scatter(&p), "program %d: windows behind a scatter", i);
		noutside += p.must_raise && str_eq(p.raises, "out of");
		nunread += p.must_raise && str_eq(p.raises, "out of") && has_unread(&p, &a);
		arena_reset(&a);
	}
	printf("mistakes: %d of 20000 default programs, %d of them positions outside, of which nobody reads %d\n", ndefault, noutside, nunread);
	EXPECT(ndefault - noutside > 50 && ndefault - noutside < 170, "%d of 20000 default programs have a mistake", ndefault - noutside);
	EXPECT(noutside > 100 && noutside < 400 && nunread > noutside / 5, "%d of them have a position outside, %d unread", noutside, nunread);
	arena_free(&a);
	free(pol);
	free(b);
}

static void edits_keep_programs_valid(void)
{
	struct blocks *b = xmalloc(sizeof *b);
	*b = (struct blocks){.seed = 13};
	struct arena a;
	arena_init(&a);
	int ndrop = 0, nreplace = 0;
	for (int i = 0; i < 1000; i++) {
		struct prog p, q;
		struct err err = {0};
		next_program(b, &p, &a, NULL);
		int node = i % p.nnode;
		if (edit_drop(&q, &p, node, &a, NULL)) {
			ndrop++;
			EXPECT(q.nnode < p.nnode && prog_validate(&q, &err), "drop: %s", err.msg);
		}
		for (int by = 0; by < node; by++) {
			if (p.node[by].nout != 1 || p.node[node].nout != 1 || !meta_equivalent(node_meta(&p, by), node_meta(&p, node)))
				continue;
			if (edit_replace(&q, &p, node, by, &a, NULL)) {
				nreplace++;
				EXPECT(prog_infer(&q, &err), "replace: %s", err.msg);
			}
		}
		arena_reset(&a);
	}
	EXPECT(ndrop > 100 && nreplace > 20, "%d drops, %d replacements", ndrop, nreplace);
	arena_free(&a);
	free(b);
}

static void founding_condition_is_common(void)
{
	enum { N = 20000 };
	struct blocks *b = xmalloc(sizeof *b);
	*b = (struct blocks){.seed = 3};
	struct arena a;
	arena_init(&a);
	int n = 0;
	for (int i = 0; i < N; i++) {
		struct prog p;
		next_program(b, &p, &a, NULL);
		n += founding(&p);
		arena_reset(&a);
	}
	printf("founding condition: %.2f %% of %d programs\n", 100.0 * n / N, N);
	EXPECT(n >= N * 6 / 1000, "%d of %d programs: below 0.6 %%", n, N);
	arena_free(&a);
	free(b);
}

/* ---- measuring ----------------------------------------------------------------------------------------------------------- */

static void print_share(const char *what, int64_t n, int64_t of)
{
	printf("  %-24s %8" PRId64 "  %5.1f %%\n", what, n, 100.0 * (double)n / (double)of);
}

static void print_shares(const struct shares *s)
{
	printf("surfaces:\n");
	for (int k = 0; k < NSURFACES; k++)
		print_share(surface_name[k], s->surface[k], s->n);
	printf("sizes:\n");
	print_share("programs with symbols", s->symbolic, s->n);
	print_share("  of inputs only", s->symbolic - s->given - s->read - s->both, s->symbolic);
	print_share("  from arguments", s->given, s->symbolic);
	print_share("  from tensors", s->read, s->symbolic);
	print_share("  from both", s->both, s->symbolic);
	print_share("-1 in a size", s->minus_one, s->size);
	print_share("dims from the end", s->dim_negative, s->dim);
	print_share("indices from the end", s->index_negative, s->index);
}

struct census {
	struct shares shares;
	int64_t nnode, ninput, dtype[NDTYPES], family[NFAMILIES], backward, several, view, mutation, founding, strided, broadcast, overlap,
		offset, empty, across;
};

static bool differ(const struct value *a, const struct value *b)
{
	return a->storage == b->storage && (!meta_equivalent(&a->meta, &b->meta) || a->meta.offset != b->meta.offset);
}

static bool returned_across(const struct prog *p)
{
	for (int i = 0; i < p->nnode; i++)
		for (int k = 0; op_has(p->node[i].op, T_MUTATES) && k < p->nret; k++)
			if (!p->node[p->ret[k]].refusal && !p->node[i].refusal && differ(&p->node[p->ret[k]].out[0], &p->node[i].out[0]))
				return true;
	return false;
}

/* Written through one tensor, read later through another one that looks at the same storage differently. */
static bool read_across(const struct prog *p)
{
	for (int i = 0; i < p->nnode; i++) {
		if (!op_has(p->node[i].op, T_MUTATES) || p->node[i].refusal)
			continue;
		const struct value *to = &p->node[i].out[0];
		for (int k = i + 1; k < p->nnode; k++) {
			for (int j = 0; j < op_info[p->node[k].op].nparam; j++) {
				const struct arg *g = &p->node[k].arg[j];
				if (g->tag != ARG_TENSOR || p->node[g->node].nout != 1)
					continue;
				const struct value *from = &p->node[g->node].out[0];
				if (differ(from, to))
					return true;
			}
		}
	}
	return returned_across(p);
}

static void count(struct census *s, const struct prog *p)
{
	bool mutates = false, view = false;
	for (int i = 0; i < p->nnode; i++) {
		const struct node *n = &p->node[i];
		s->nnode++;
		s->family[op_info[n->op].family]++;
		mutates |= op_has(n->op, T_MUTATES);
		view |= n->op == OP_input_view;
		if (n->nout != 1)
			continue;
		const struct meta *m = node_meta(p, i);
		s->dtype[m->dtype]++;
		if (n->op == OP_input) {
			s->ninput++;
			s->strided += !meta_is_contiguous(m);
			s->broadcast += meta_overlaps_itself(m);
			s->overlap += !meta_overlaps_itself(m) && meta_has_duplicates(m);
			s->offset += m->offset != 0;
			s->empty += meta_numel(m) == 0;
		}
	}
	s->backward += p->has_backward;
	s->several += p->nret > 1;
	s->view += view;
	s->mutation += mutates;
	s->across += read_across(p);
	s->founding += founding(p);
	share(&s->shares, p);
}

static int measure(int n, uint64_t seed, bool print, const char *name)
{
	struct blocks *b = xmalloc(sizeof *b);
	struct gen_stats *st = xmalloc(sizeof *st);
	struct census s = {0};
	memset(st, 0, sizeof *st);
	*b = (struct blocks){.seed = seed, .name = name};
	struct arena a;
	arena_init(&a);
	double spent = 0;
	for (int i = 0; i < n; i++) {
		struct prog p;
		clock_t t = clock();
		next_program(b, &p, &a, st);
		spent += (double)(clock() - t) / CLOCKS_PER_SEC;
		count(&s, &p);
		if (print) {
			struct strbuf sb;
			sb_init(&sb);
			policy_print(&sb, &b->pol);
			printf("# program %d: %s\n", i, sb.s);
			sb_reset(&sb);
			prog_print(&sb, &p);
			printf("%s\n", sb.s);
			sb_free(&sb);
		}
		arena_reset(&a);
	}
	printf("%d programs, %.0f per second, %.1f nodes each\nfamilies of nodes:\n", n, n / spent, (double)s.nnode / n);
	for (int f = 0; f < NFAMILIES; f++)
		print_share(family_name[f], s.family[f], s.nnode);
	printf("dtypes of values:\n");
	for (int t = 0; t < NDTYPES; t++)
		print_share(dtype_info[t].name, s.dtype[t], s.nnode);
	printf("inputs:\n");
	print_share("not contiguous", s.strided, s.ninput);
	print_share("stride 0", s.broadcast, s.ninput);
	print_share("overlapping otherwise", s.overlap, s.ninput);
	print_share("offset", s.offset, s.ninput);
	print_share("empty", s.empty, s.ninput);
	printf("programs:\n");
	print_share("backward", s.backward, n);
	print_share("several returns", s.several, n);
	print_share("shared input storage", s.view, n);
	print_share("writes", s.mutation, n);
	print_share("  seen through another view", s.across, n);
	print_share("founding condition", s.founding, n);
	print_shares(&s.shares);
	printf("rows: made, refused by the shape rules (last reason):\n");
	for (int op = 0; op < op_nrows; op++)
		if (st->made[op] || st->refused[op] || op_info[op].family != F_INPUT)
			printf("  %-28s %7" PRId64 " %6" PRId64 "  %s\n", op_info[op].name, st->made[op], st->refused[op], st->why[op]);
	arena_free(&a);
	free(st);
	free(b);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return measure(atoi(argv[1]), argc > 2 ? strtoull(argv[2], NULL, 10) : 1, argc > 3 && str_eq(argv[3], "print"),
			argc > 4 ? argv[4] : "default");
	RUN(choices_replay);
	RUN(policies_round_trip);
	RUN(programs_are_valid);
	RUN(programs_replay);
	RUN(symbols_bind);
	RUN(shares_are_as_stated);
	RUN(any_bytes_are_a_program);
	RUN(interpreter_accepts);
	RUN(mistakes_are_refused);
	RUN(edits_keep_programs_valid);
	RUN(founding_condition_is_common);
	return TEST_END();
}
