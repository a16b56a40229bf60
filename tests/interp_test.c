/* interp_test.c: runs .prog files through the eager interpreter and compares with the expectation at their end:
 *     # expect: ok                                   or      # expect: raised RuntimeError: text (a prefix)
 *     # out 0: f32[2, 3][3, 1] grad 1 2 0.5 …        values in row-major order of the logical index; "grad" if it requires grad
 *     # grad x: none                                 or      a tensor as above, without "grad"
 *     # storage 0: 1 2 3                             every input storage afterwards, cell by cell
 * once per call. The expectations are written by tests/autograd_check.py from PyTorch, not by the interpreter.
 * Usage: interp_test FILE…       compares
 *        interp_test --print FILE    prints what the interpreter says */
#include "eager/interp.h"
#include "tests/test.h"

static void put_values(struct strbuf *sb, enum dtype t, const void *data, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		const unsigned char *p = (const unsigned char *)data + i * dtype_nbytes(t);
		if (!dtype_is_float(t)) {
			sb_printf(sb, " %" PRId64, dtype_load_i(t, p));
			continue;
		}
		double v = dtype_load_f(t, p);
		if (v != v)
			sb_puts(sb, " nan");
		else
			sb_printf(sb, t == DT_F64 ? " %.17g" : " %.9g", v == 0 ? 0 : v);
	}
}

static void put_tensor(struct strbuf *sb, const struct result_tensor *t)
{
	if (!t->present) {
		sb_puts(sb, " none\n");
		return;
	}
	sb_putc(sb, ' ');
	struct meta m = t->meta;
	for (int d = 0; d < m.rank; d++)
		if (m.size[d] == 1 || meta_numel(&m) == 0)
			m.stride[d] = 0;        /* strides that mean nothing */
	meta_print(sb, &m);
	if (t->requires_grad)
		sb_puts(sb, " grad");
	if (t->data)
		put_values(sb, t->meta.dtype, t->data, meta_numel(&t->meta));
	sb_putc(sb, '\n');
}

static void put_call(struct strbuf *sb, const struct prog *p, const struct result_call *c)
{
	for (int i = 0; i < c->nouts; i++) {
		sb_printf(sb, "# out %d:", i);
		put_tensor(sb, &c->out[i]);
	}
	int g = 0, s = 0;
	for (int i = 0; i < p->nnode && c->ngrads; i++) {
		const struct node *n = &p->node[i];
		if ((n->op == OP_input || n->op == OP_input_view) && n->arg[op_param(n->op, "requires_grad")].b) {
			sb_printf(sb, "# grad %s:", n->name);
			put_tensor(sb, &c->grad[g++]);
		}
	}
	for (int i = 0; i < p->nnode; i++)
		if (p->node[i].op == OP_input && p->node[i].out[0].meta.device != DEV_META) {
			enum dtype t = p->node[i].out[0].meta.dtype;
			sb_printf(sb, "# storage %d:", s);
			put_values(sb, t, c->storage[s].data, (int64_t)c->storage[s].nbytes / dtype_nbytes(t));
			sb_putc(sb, '\n');
			s++;
		}
}

static void put_result(struct strbuf *sb, const struct prog *p, const struct result *r)
{
	sb_printf(sb, "# expect: %s%s%s\n", result_status_name[r->status], r->message[0] ? " " : "", r->message);
	for (int k = 0; r->status == RES_OK && k < r->ncalls; k++)
		put_call(sb, p, &r->call[k]);
}

/* Lines of the expectation; the raised text is a prefix. Returns whether `got` fits. */
static bool fits(const char *want, const char *got)
{
	if (str_starts(want, "# expect: raised") && str_starts(got, "# expect: raised")) {
		size_t n = strcspn(want, "\n");
		return strncmp(want, got, n) == 0;
	}
	return str_eq(want, got);
}

static void check_file(const char *path, bool print)
{
	struct strbuf text, got;
	struct err err = {0};
	struct arena a;
	struct prog p;
	struct result r;
	sb_init(&text);
	sb_init(&got);
	arena_init(&a);
	bool read = sb_read_file(&text, path, MAX_TEXT, &err) && prog_read(&p, &a, text.s, text.len, READ_STRICT, &err);
	EXPECT(read, "%s:%d:%d: %s", path, err.line, err.col, err.msg);
	if (read) {
		EXPECT(prog_validate(&p, &err), "%s: %s", path, err.msg);
		interp_run(&r, &p, &a, NULL, NULL);
		put_result(&got, &p, &r);
		if (print)
			printf("%s", got.s);
		const char *want = strstr(text.s, "# expect:");
		if (!print)
			EXPECT(want && fits(want, got.s), "%s\n--- want\n%s--- got\n%s", path, want ? want : "", got.s);
	}
	arena_free(&a);
	sb_free(&text);
	sb_free(&got);
}

int main(int argc, char **argv)
{
	bool print = argc > 1 && str_eq(argv[1], "--print");
	for (int i = print ? 2 : 1; i < argc; i++)
		check_file(argv[i], print);
	return print ? 0 : TEST_END();
}
