/* interp_test.c: runs .prog files through the eager interpreter and compares with the expectation at their end:
 *     # eager: ok                                   or      # eager: raised RuntimeError: text (a prefix)
 *     # out 0: f32[2, 3][3, 1] grad 1 2 0.5 …        values in row-major order of the logical index; "grad" if it requires grad
 *     # grad x: none                                 or      a tensor as above, without "grad"
 *     # storage 0: 1 2 3                             every input storage afterwards, cell by cell
 * once per call. A line `# within: 1e-6` before it: numbers may be apart by so much times max(1, |number|). The expectations are
 * PyTorch's (tests/differential/autograd_check.py, tests/differential/rows.py), not the interpreter's.
 * Usage: interp_test FILE…       compares
 *        interp_test --print FILE…   prints what the interpreter says, "==== FILE" before each */
#include "eager/lang/fill.h"
#include "eager/run/interp.h"
#include "eager/run/legality.h"
#include "tests/test.h"
#include "generated/op_id.h"

#include <math.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

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
			m.stride[d] = 0; /* strides that mean nothing */
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
	sb_printf(sb, "# eager: %s%s%s\n", result_status_name[r->status], r->message[0] ? " " : "", r->message);
	for (int k = 0; r->status == RES_OK && k < r->ncalls; k++)
		put_call(sb, p, &r->call[k]);
}

/* The next word of a text; words end at blanks and line ends, which are words of their own. */
static size_t word_length(const char *s)
{
	size_t n = strcspn(s, " \n");
	return n ? n : *s != 0;
}

static bool words_fit(const char *want, const char *got, double within)
{
	while (*want && *got) {
		size_t n = word_length(want), m = word_length(got);
		char *end_want, *end_got;
		double a = strtod(want, &end_want), b = strtod(got, &end_got);
		bool numbers = end_want == want + n && end_got == got + m;
		bool same = n == m && strncmp(want, got, n) == 0;
		if (!same && !(numbers && fabs(a - b) <= within * fmax(1, fabs(a))))
			return false;
		want += n;
		got += m;
	}
	return *want == *got;
}

/* Lines of the expectation; the raised text is a prefix. Returns whether `got` fits. */
static bool fits(const char *want, const char *got, double within)
{
	if (str_starts(want, "# eager: raised") && str_starts(got, "# eager: raised")) {
		size_t n = strcspn(want, "\n");
		return strncmp(want, got, n) == 0;
	}
	return within > 0 ? words_fit(want, got, within) : str_eq(want, got);
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
			printf("==== %s\n%s", path, got.s);
		const char *want = strstr(text.s, "# eager:"), *within = strstr(text.s, "# within: ");
		if (!print)
			EXPECT(want && fits(want, got.s, within ? atof(within + strlen("# within: ")) : 0), "%s\n--- want\n%s--- got\n%s", path,
				want ? want : "", got.s);
	}
	arena_free(&a);
	sb_free(&text);
	sb_free(&got);
}

/* ---- what files cannot say --------------------------------------------------------------------------------------- */

static void read_prog(struct prog *p, struct arena *a, const char *text)
{
	struct err err = {0};
	const char *whole = arena_printf(a, "# scatterproof 1\n%s", text);
	if (!prog_read(p, a, whole, strlen(whole), READ_STRICT, &err))
		BUG("%d:%d: %s", err.line, err.col, err.msg);
}

/* cpu.add_(meta): nothing is computed, the destination decides the device; no data is reported for meta. */
static void meta_device(void)
{
	struct arena a;
	struct prog p;
	struct result r;
	arena_init(&a);
	read_prog(
		&p, &a, "x = input([2], seed=1)\ny = input([2], device=\"meta\")\nz = mul.Tensor(y, y)\nb = add_.Tensor(x, y)\nreturn (x, z)\n");
	EXPECT_INT(interp_run(&r, &p, &a, NULL, NULL), INTERP_OK);
	EXPECT_STR(r.message, "");
	CHECK(r.status == RES_OK);
	float *x = fill_storage(&p, 0, &a);
	EXPECT(memcmp(r.call[0].storage[0].data, x, 8) == 0 && memcmp(r.call[0].out[0].data, x, 8) == 0, "x changed");
	EXPECT(r.call[0].out[1].data == NULL && r.call[0].out[1].meta.device == DEV_META, "data on meta");
	EXPECT(r.call[0].storage[1].data == NULL, "data on meta");
	arena_free(&a);
}

static void limits_and_bad_calls(void)
{
	struct arena a;
	struct prog p;
	struct result r;
	struct err err = {0};
	arena_init(&a);
	read_prog(&p, &a, "x = input([1000], seed=1)\nc = clone(x)\nreturn (c,)\n");
	struct interp_options o = {.max_bytes = 7999};
	EXPECT_INT(interp_run(&r, &p, &a, &o, &err), INTERP_UNSUPPORTED);
	EXPECT_INT(r.status, RES_UNSUPPORTED);
	EXPECT(strstr(err.msg, "7999") && str_eq(err.msg, r.message), "%s", err.msg);
	o.max_bytes = 8000;
	EXPECT_INT(interp_run(&r, &p, &a, &o, NULL), INTERP_OK);
	read_prog(&p, &a, "s = sym(3)\nx = input([s - 1], seed=1)\nreturn (x,)\ncall (s=2)\n");
	p.call[0].sym[0].value = 0; /* no text says that: the reader binds every call */
	err = (struct err){0};
	EXPECT_INT(interp_run(&r, &p, &a, NULL, &err), INTERP_INVALID);
	EXPECT(r.status == RES_HARNESS && r.ncalls == 1 && err.msg[0], "%s", err.msg);
	arena_free(&a);
}

/* Outputs name the storages of inputs they share; fresh ones are greater and distinct; gradients share none. */
static void storage_ids(void)
{
	struct arena a;
	struct prog p;
	struct result r;
	arena_init(&a);
	read_prog(&p, &a,
		"x = input([2], seed=1, requires_grad=True)\ny = input([2, 2], seed=2, requires_grad=True)\n"
		"t = transpose.int(y, 0, 1)\nc = clone(x)\nd = alias(c)\ne = mul.Tensor(t, c)\ng = input([2, 2], seed=3)\n"
		"return (t, c, d, e)\nbackward (e: g,)\n");
	EXPECT_INT(interp_run(&r, &p, &a, NULL, NULL), INTERP_OK);
	const struct result_tensor *o = r.call[0].out, *g = r.call[0].grad;
	EXPECT_INT(o[0].storage, 1);
	EXPECT(o[1].storage > 2 && o[1].storage == o[2].storage && o[3].storage > 2 && o[3].storage != o[1].storage, "%d %d", o[1].storage,
		o[3].storage);
	EXPECT(g[0].storage != g[1].storage && g[0].storage > 2 && g[0].storage != o[1].storage && g[0].storage != o[3].storage, "%d",
		g[0].storage);
	EXPECT_INT(r.call[0].nstorages, 3);
	arena_free(&a);
}

/* Which writes depend on the order of elements: exact, also where PyTorch notices nothing. */
static void order_matters(void)
{
	static const struct {
		const char *text;
		bool want;
	} row[] = {
		{"x = input([4, 4], seed=1)\ny = alias(x)\nb = add_.Tensor(x, y)\nreturn (x,)\n", false},
		{"x = input([4, 4], seed=1)\ny = diagonal(x)\nb = add_.Tensor(y, y)\nreturn (x,)\n", false},
		{"x = input([4, 5], seed=1)\nu = slice.Tensor(x, 1, 0, 4)\nv = slice.Tensor(x, 1, 1, 5)\nb = add_.Tensor(u, v)\nreturn (x,)\n",
			true},
		{"x = input([4, 6], seed=1)\nu = slice.Tensor(x, 1, 0, 3)\nv = slice.Tensor(x, 1, 3, 6)\nb = add_.Tensor(u, v)\nreturn (x,)\n",
			false},
		{"x = input([5], seed=1)\nu = unfold(x, 0, 2, 1)\nb = relu_(u)\nreturn (x,)\n", true},
		{"x = input([4, 4], seed=1)\nd = diagonal(x)\ni = input([4], dtype=i64, fill=\"unique\", high=4)\nb = index_add_(d, 0, i, d)\n"
		 "return (x,)\n",
			true},
	};
	for (int i = 0; i < ARRAY_LEN(row); i++) {
		struct arena a;
		struct prog p;
		arena_init(&a);
		read_prog(&p, &a, row[i].text);
		EXPECT(legality_order_matters(&p, p.nnode - 1) == row[i].want, "%s", row[i].text);
		arena_free(&a);
	}
}

/* A write outside of its storage aborts with the program's text: a tampered meta sends zero_ into the red zone. */
static void red_zone_aborts(void)
{
	int fd[2];
	EXPECT(pipe(fd) == 0, "pipe");
	pid_t pid = fork();
	if (pid == 0) {
		dup2(fd[1], 2);
		struct arena a;
		struct prog p;
		struct result r;
		arena_init(&a);
		read_prog(&p, &a, "x = input([4], seed=1)\nv = slice.Tensor(x, 0, 0, 2)\nz = zero_(v)\nreturn (x,)\n");
		p.node[1].out[0].meta.offset = 3;
		interp_run(&r, &p, &a, NULL, NULL);
		_exit(0);
	}
	close(fd[1]);
	char text[2000] = "";
	size_t n = 0;
	for (ssize_t got; n < sizeof text - 1 && (got = read(fd[0], text + n, sizeof text - 1 - n)) > 0;)
		n += (size_t)got;
	int status = 0;
	waitpid(pid, &status, 0);
	close(fd[0]);
	EXPECT(WIFSIGNALED(status), "status %d", status);
	EXPECT(strstr(text, "wrote outside of storage 0") && strstr(text, "slice.Tensor(x"), "%s", text);
}

/* Every row has a program of its own, tests/prog/rows/NAME.prog, with PyTorch's answers. */
static void every_row_has_a_program(int nfile, char *const *file)
{
	for (int op = 0; op < op_nrows; op++) {
		bool found = op_info[op].family == F_INPUT || op == OP_getitem;
		for (int i = 0; i < nfile && !found; i++) {
			size_t n = strlen(file[i]), k = strlen(op_info[op].name);
			found = n > k + 11 && str_eq(file[i] + n - 5, ".prog") && strncmp(file[i] + n - 5 - k, op_info[op].name, k) == 0
				&& strncmp(file[i] + n - 11 - k, "/rows/", 6) == 0;
		}
		EXPECT(found,
			"%s has no program with PyTorch's answers: python tests/differential/rows.py compiled/targets/torch/fill.py "
			"BUILD/tests/differential/opcall tests/prog/rows",
			op_info[op].name);
	}
}

int main(int argc, char **argv)
{
	bool print = argc > 1 && str_eq(argv[1], "--print");
	for (int i = print ? 2 : 1; i < argc; i++)
		check_file(argv[i], print);
	if (print)
		return 0;
	int before = test_nexpect;
	every_row_has_a_program(argc - 1, argv + 1);
	printf("%d rows\n", test_nexpect - before);
	RUN(meta_device);
	RUN(limits_and_bad_calls);
	RUN(storage_ids);
	RUN(order_matters);
	RUN(red_zone_aborts);
	return TEST_END();
}
