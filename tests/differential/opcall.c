/* opcall.c: the C side of the differential test against PyTorch (rules_torch.py): one operator call per request.
 *
 *   opcall --ops          prints the op table as JSON lines, for a generator that is driven by kinds and roles
 *   opcall --reads NAME... prints those of ATen's names, without "aten.", that graphs may have: rows, and what is read as others
 *   opcall < requests     request: "CALL <bytes of program> <storages> <cotangents> <gradients>\n" (a bit per argument), the program's
 *                         text, then one line of hex per input storage and per result's cotangent ("-": zeros, no bytes).
 *                         The last node is the call; everything before it is inputs.
 *   answer                "ERR <text>", "LIMIT <text>" (more than we take, no rule of PyTorch) or, per result,
 *                         "OUT <dtype> <sizes> <strides> <offset> <alias> <hex of logical elements>",
 *                         "SELF <hex of self's storage>" after an in-place row, "GIN <argument> <entry> <hex>" per gradient; then "END".
 *   opcall --plant KIND   answers wrongly on purpose (value, stride, dtype, gradient, refuse), so that the test can be tested
 * It calls the columns meta, kern and vjp directly, so that a test needs neither interpreter nor autograd. */
#include "eager/lang/stated.h"
#include "eager/lang/text_reader.h"
#include "eager/ops/vjp.h"
#include "eager/run/autograd.h"
#include "eager/run/legality.h"
#include "eager/run/rule_run.h"

#include <inttypes.h>
#include <stdlib.h>

struct request {
	struct prog p;
	struct arena arena;
	struct tensor *value[MAX_NODES]; /* results of each node */
	int ngout;
	char *gout[MAX_OUTS];
	const char *plant;    /* what to get wrong, "" for nothing */
	struct tensor before; /* self before an in-place row wrote it; poison if the row does not save it */
};

static char *read_line(struct arena *a)
{
	struct strbuf sb;
	sb_init(&sb);
	int ch;
	while ((ch = getchar()) != EOF && ch != '\n')
		sb_putc(&sb, (char)ch);
	char *s = arena_strdup(a, sb.s);
	sb_free(&sb);
	return s;
}

static void from_hex(unsigned char *out, int64_t max, const char *hex)
{
	if (str_eq(hex, "-"))
		return;
	int64_t n = (int64_t)strlen(hex) / 2;
	if (n > max)
		BUG("request: %" PRId64 " bytes for %" PRId64, n, max);
	for (int64_t i = 0; i < n; i++) {
		char b[3] = {hex[2 * i], hex[2 * i + 1], 0};
		out[i] = (unsigned char)strtoul(b, NULL, 16);
	}
}

static void put_hex(const unsigned char *p, int64_t n)
{
	static const char digit[] = "0123456789abcdef";
	if (n == 0)
		putchar('-');
	for (int64_t i = 0; i < n; i++) {
		putchar(digit[p[i] >> 4]);
		putchar(digit[p[i] & 15]);
	}
}

/* A contiguous copy in logical order. */
static struct tensor contiguous_copy(const struct tensor *t, struct arena *a)
{
	struct meta m;
	struct tensor c;
	meta_make_contiguous(&m, t->meta.dtype, t->meta.size, t->meta.rank);
	tensor_new(&c, &m, a);
	if (meta_numel(&m))
		tensor_copy(&c, t);
	return c;
}

static void put_logical(const struct tensor *t, struct arena *a)
{
	struct tensor c = contiguous_copy(t, a);
	put_hex(c.base, meta_numel(&c.meta) * dtype_nbytes(c.meta.dtype));
}

static void put_list(const int64_t *v, int n)
{
	putchar('[');
	for (int i = 0; i < n; i++)
		printf("%s%" PRId64, i ? "," : "", v[i]);
	printf("] ");
}

static void put_out(const struct tensor *t, int alias, struct arena *a)
{
	if (t->meta.absent) {
		puts("NONE");
		return;
	}
	printf("OUT %s ", dtype_info[t->meta.dtype].name);
	put_list(t->meta.size, t->meta.rank);
	put_list(t->meta.stride, t->meta.rank);
	printf("%" PRId64 " %d ", t->meta.offset, alias);
	put_logical(t, a);
	putchar('\n');
}

static const struct tensor *value(struct request *r, int node) { return node < 0 ? NULL : &r->value[node][0]; }

static void operands(struct request *r, const struct node *n, const struct tensor **in, const struct tensor *const **list)
{
	for (int k = 0; k < op_info[n->op].nparam; k++) {
		in[k] = n->arg[k].tag == ARG_TENSOR ? value(r, n->arg[k].node) : NULL;
		if (n->arg[k].tag == ARG_SCALAR && op_info[n->op].param[k].kind == K_TENSOR) {
			struct tensor *number = ARENA_NEW(&r->arena, struct tensor, 1);
			tensor_number(number, &n->arg[k].scalar, &r->arena);
			in[k] = number;
		}
		list[k] = NULL;
		if (n->arg[k].tag == ARG_TENSORS) {
			const struct tensor **entry = ARENA_NEW(&r->arena, const struct tensor *, n->arg[k].n);
			for (int i = 0; i < n->arg[k].n; i++)
				entry[i] = value(r, n->arg[k].nodes[i]);
			list[k] = entry;
		}
	}
}

static void make_inputs(struct request *r, char *const *storage)
{
	struct prog *p = &r->p;
	for (int i = 0; i < p->nnode - 1; i++) {
		int s = p->node[i].out[0].storage;
		r->value[i] = ARENA_ZNEW(&r->arena, struct tensor, 1);
		r->value[i]->meta = p->node[i].out[0].meta;
		for (int j = 0; j < i && !r->value[i]->base; j++)
			if (p->node[j].out[0].storage == s)
				r->value[i]->base = r->value[j]->base;
		if (!r->value[i]->base) {
			int64_t n = prog_storage_cells(p, s) * dtype_nbytes(r->value[i]->meta.dtype);
			r->value[i]->base = arena_zalloc(&r->arena, (size_t)MAX(n, 1));
			from_hex(r->value[i]->base, n, storage[s]);
		}
	}
}

/* Fresh storage is poisoned so that an element nobody wrote shows. */
static struct tensor fresh(const struct meta *m, struct arena *a)
{
	struct tensor t;
	tensor_new(&t, m, a);
	memset(t.base, 0xa5, (size_t)(meta_extent(&t.meta) * dtype_nbytes(m->dtype)));
	return t;
}

static bool call_kernel(struct request *r, struct node *n, struct tensor *out, struct err *err)
{
	struct kern_ctx c = {.n = n, .out = out, .nout = n->nout, .scratch = &r->arena, .err = err};
	const struct tensor *in[MAX_ARGS] = {0};
	operands(r, n, in, c.list);
	memcpy(c.in, in, sizeof in);
	if (!op_kern[n->op])
		return err_set(err, "no kernel yet");
	return op_kern[n->op](&c);
}

/* The functional result's meta of an in-place row, which the node itself does not keep. */
static bool inplace_meta(struct request *r, struct node *n, struct meta *out, struct err *err)
{
	struct meta_ctx c = {.p = &r->p, .n = n, .nout = 1, .err = err};
	for (int k = 0; k < op_info[n->op].nparam; k++)
		c.in[k] = meta_operand(&r->p, n, k);
	bool ok = op_meta[n->op](&c);
	*out = c.out[0];
	return ok;
}

static bool forward(struct request *r, struct node *n, struct err *err)
{
	uint32_t traits = op_info[n->op].traits;
	struct tensor *out = ARENA_ZNEW(&r->arena, struct tensor, MAX(n->nout, 1));
	r->value[r->p.nnode - 1] = out;
	if (traits & T_MUTATES) {
		struct meta m;
		const struct tensor *self = value(r, n->arg[0].node);
		if (!inplace_meta(r, n, &m, err))
			return false;
		r->before = contiguous_copy(self, &r->arena);
		struct tensor t = fresh(&m, &r->arena);
		if (!call_kernel(r, n, &t, err))
			return false;
		*out = *self;
		tensor_copy(out, &t);
		return true;
	}
	bool any_fresh = false;
	for (int i = 0; i < n->nout; i++) {
		out[i].meta = n->out[i].meta;
		for (int j = 0; j < r->p.nnode - 1; j++)
			if (r->p.node[j].out[0].storage == n->out[i].storage)
				out[i].base = r->value[j]->base;
		if (!out[i].base) {
			any_fresh = true;
			out[i] = fresh(&n->out[i].meta, &r->arena);
		}
	}
	return !any_fresh || call_kernel(r, n, out, err);
}

static int alias_of(const struct request *r, const struct node *n, int i)
{
	for (int j = 0; j < r->p.nnode - 1; j++)
		if (r->p.node[j].out[0].storage == n->out[i].storage)
			return r->p.node[j].out[0].storage;
	return -1;
}

static struct tensor *gradient_space(const struct tensor *t, struct arena *a)
{
	if (!t || t->meta.number || !dtype_is_float(t->meta.dtype))
		return NULL;
	struct tensor *g = ARENA_NEW(a, struct tensor, 1);
	struct meta m;
	meta_make_contiguous(&m, t->meta.dtype, t->meta.size, t->meta.rank);
	tensor_new(g, &m, a);
	return g;
}

static void put_gin(int k, int i, const struct tensor *g)
{
	printf("GIN %d %d ", k, i);
	put_hex(g->base, meta_numel(&g->meta) * dtype_nbytes(g->meta.dtype));
	putchar('\n');
}

static bool saves_self(int op)
{
	for (int i = 0; i < op_info[op].nsave; i++)
		if (op_info[op].save[i].what == 0)
			return true;
	return false;
}

static void gradients(struct request *r, struct node *n, int wanted)
{
	bool arrived[MAX_OUTS];
	struct rule_call c = {.n = n, .out = r->value[r->p.nnode - 1], .nout = n->nout, .scratch = &r->arena, .arrived = arrived};
	memset(arrived, true, sizeof arrived);
	const struct tensor *in[MAX_ARGS] = {0};
	operands(r, n, in, c.list);
	if (op_has(n->op, T_MUTATES)) {
		if (!saves_self(n->op))
			memset(r->before.base, 0xa5, (size_t)(meta_extent(&r->before.meta) * dtype_nbytes(r->before.meta.dtype)));
		in[0] = &r->before;
	}
	memcpy(c.in, in, sizeof in);
	struct tensor *gout = ARENA_NEW(&r->arena, struct tensor, n->nout);
	for (int i = 0; i < n->nout; i++) {
		struct meta m;
		meta_make_contiguous(&m, c.out[i].meta.dtype, c.out[i].meta.size, c.out[i].meta.rank);
		tensor_new(&gout[i], &m, &r->arena);
		from_hex(gout[i].base, meta_numel(&m) * dtype_nbytes(m.dtype), r->gout[i]);
	}
	c.gout = gout;
	for (int k = 0; k < op_info[n->op].nparam; k++) {
		if (!(wanted >> k & 1))
			continue;
		c.gin[k] = gradient_space(in[k], &r->arena);
		if (n->arg[k].tag != ARG_TENSORS)
			continue;
		c.glist[k] = ARENA_ZNEW(&r->arena, struct tensor *, n->arg[k].n);
		for (int i = 0; i < n->arg[k].n; i++)
			c.glist[k][i] = gradient_space(c.list[k][i], &r->arena);
	}
	struct err err = {0};
	if (!rule_run(&c, &err))
		BUG("%s", err.msg);
	for (int k = 0; k < op_info[n->op].nparam; k++) {
		if (c.gin[k] && str_eq(r->plant, "gradient"))
			memset(c.gin[k]->base, 0x5a, (size_t)(meta_extent(&c.gin[k]->meta) ? dtype_nbytes(c.gin[k]->meta.dtype) : 0));
		if (c.gin[k])
			put_gin(k, 0, c.gin[k]);
		for (int i = 0; c.glist[k] && i < n->arg[k].n; i++)
			if (c.glist[k][i])
				put_gin(k, i, c.glist[k][i]);
	}
}

static void plant_result(const struct request *r, struct tensor *out)
{
	if (str_eq(r->plant, "value") && meta_numel(&out->meta) > 0)
		memset(tensor_at(out, out->meta.offset), 0x5a, (size_t)dtype_nbytes(out->meta.dtype));
	if (str_eq(r->plant, "stride") && out->meta.rank > 1)
		out->meta.stride[0] = out->meta.stride[1];
	if (str_eq(r->plant, "dtype") && out->meta.dtype == DT_F16)
		out->meta.dtype = DT_BF16;
}

/* The results a cotangent must exist for, printed before any gradient is asked: sizes come with OUT. */
static void answer(struct request *r, char *const *storage, int want_grad, struct err *err)
{
	struct node *n = &r->p.node[r->p.nnode - 1];
	make_inputs(r, storage);
	if (!legality_version(&r->p, r->p.nnode - 1, 0, err) || !forward(r, n, err))
		return;
	if (str_eq(r->plant, "refuse")) {
		err_set(err, "planted");
		return;
	}
	plant_result(r, &r->value[r->p.nnode - 1][0]);
	for (int i = 0; i < n->nout; i++)
		put_out(&r->value[r->p.nnode - 1][i], op_has(n->op, T_MUTATES) ? 0 : alias_of(r, n, i), &r->arena);
	if (op_has(n->op, T_MUTATES)) {
		int s = n->out[0].storage;
		printf("SELF ");
		put_hex(r->value[r->p.nnode - 1]->base, prog_storage_cells(&r->p, s) * dtype_nbytes(n->out[0].meta.dtype));
		putchar('\n');
	}
	if (want_grad && op_vjp[n->op])
		gradients(r, n, want_grad);
}

static bool serve(const char *plant)
{
	int nprog, nstorage, ngout, want_grad;
	char *storage[MAX_LIST];
	struct err err = {0};
	if (scanf(" CALL %d %d %d %d", &nprog, &nstorage, &ngout, &want_grad) != 4)
		return false;
	getchar();
	CHECK(nstorage <= MAX_LIST && ngout <= MAX_OUTS);
	struct request *r = xmalloc(sizeof *r);
	memset(r, 0, sizeof *r);
	r->plant = plant;
	arena_init(&r->arena);
	char *text = arena_zalloc(&r->arena, (size_t)nprog + 1);
	CHECK(fread(text, 1, (size_t)nprog, stdin) == (size_t)nprog);
	bug_context(text);
	for (int i = 0; i < nstorage; i++)
		storage[i] = read_line(&r->arena);
	for (int i = 0; i < MAX_OUTS; i++)
		r->gout[i] = i < ngout ? read_line(&r->arena) : arena_strdup(&r->arena, "-");
	if (prog_read(&r->p, &r->arena, text, (size_t)nprog, READ_LENIENT, &err) && prog_infer(&r->p, &err))
		answer(r, storage, want_grad, &err);
	if (err.msg[0])
		printf("%s %s\n", err.limit ? "LIMIT" : "ERR", err.msg);
	printf("END\n");
	fflush(stdout);
	bug_context(NULL);
	arena_free(&r->arena);
	free(r);
	return true;
}

/* ---- the op table as JSON lines ---- */

static void put_default(const struct param *q)
{
	if (q->dflt_none)
		printf("null");
	else if (q->dflt_str)
		printf("\"%s\"", q->dflt_str);
	else if (q->kind == K_INTS && q->dflt.kind == SC_INT)
		for (int k = 0; k < param_default_length(q); k++)
			printf("%s%" PRId64 "%s", k ? ", " : "[", q->dflt.i, k + 1 == param_default_length(q) ? "]" : "");
	else if (q->kind == K_DIMS && q->dflt.kind == SC_INT)
		printf("[%" PRId64 ", %" PRId64 "]", q->dflt.i, q->dflt.i + 1);
	else if (q->kind == K_INTS || q->kind == K_DIMS)
		printf("[]");
	else if (q->dflt.kind == SC_FLOAT)
		printf("%g", q->dflt.f);
	else if (q->dflt.kind == SC_BOOL)
		printf("%s", q->dflt.i ? "true" : "false");
	else
		printf("%" PRId64, q->dflt.i);
}

static const char *const kind_name[NKINDS] = {"Tensor", "Tensors", "Size", "Ints", "Dim", "Dims", "Index", "Step", "Int", "Scalar", "bool",
	"dtype", "format", "str", "float", "bools", "data"};
static const char *const licence_name[NLC] = {
	"MOVE", "ARITH", "MUL", "DIV", "TRANS", "COMPARE", "SUM", "PROD", "MINMAX", "VAR", "SCAN", "MATMUL", "ACCUM", "CONVERT", "NORM"};

static void put_op(int op)
{
	const struct op_info *o = &op_info[op];
	printf("{\"name\": \"%s\", \"schema\": \"%s\", \"family\": \"%s\", \"licence\": \"%s\", \"traits\": %u, \"nret\": %d, ", o->name,
		o->schema, family_name[o->family], licence_name[o->licence], o->traits, o->nret);
	printf("\"opaque\": %u, \"dtypes\": [", o->opaque);
	for (int t = 0, first = 1; t < NDTYPES; t++)
		if (o->dtypes & DTS(t)) {
			printf("%s\"%s\"", first ? "" : ", ", dtype_info[t].name);
			first = 0;
		}
	printf("], \"params\": [");
	for (int k = 0; k < o->nparam; k++) {
		const struct param *q = &o->param[k];
		printf("%s{\"name\": \"%s\", \"kind\": \"%s\", \"like\": \"%s\", \"optional\": %d, \"holes\": %d, \"kwonly\": %d, \"alias\": %d, "
			   "\"written\": %d",
			k ? ", " : "", q->name, kind_name[q->kind], q->like ? q->like : "", q->optional, q->holes, q->kwonly, q->is_alias,
			q->is_written);
		const struct role_info *r = &role_info[q->role];
		printf(", \"words\": \"%s\", \"length\": %d", q->words ? q->words : "", q->length);
		printf(", \"stated\": %d", param_is_stated(q));
		printf(", \"self\": %d, \"min_rank\": %d, \"max_rank\": %d, \"example\": \"%s\"", role_is_self(q), r->min_rank, r->max_rank,
			r->example);
		if (q->has_default) {
			printf(", \"default\": ");
			put_default(q);
		}
		printf("}");
	}
	printf("]}\n");
}

static bool reads(const char *name)
{
	char full[2 * MAX_NAME];
	snprintf(full, sizeof full, strchr(name, '.') ? "aten.%s" : "aten.%s.default", name);
	return op_find(name) >= 0 || rename_knows(full) || expand_knows(full);
}

int main(int argc, char **argv)
{
	if (argc > 1 && str_eq(argv[1], "--ops")) {
		for (int op = 0; op < op_nrows; op++)
			put_op(op);
		return 0;
	}
	if (argc > 1 && str_eq(argv[1], "--reads")) {
		for (int i = 2; i < argc; i++)
			if (reads(argv[i]))
				puts(argv[i]);
		return 0;
	}
	const char *plant = argc > 2 && str_eq(argv[1], "--plant") ? argv[2] : "";
	while (serve(plant))
		;
	return 0;
}
