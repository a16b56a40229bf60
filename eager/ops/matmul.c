/* matmul.c: mm, bmm, addmm, mv, dot on OpenBLAS, one thread. Every one of them is a batch of products (m x k)(k x n); operands are
 * packed row-major first, f16 and bf16 widened to float, and the result rounded once. Integers wrap, in whatever order: three loops. */
#include "eager/ops/layout.h"
#include "eager/ops/promote.h"
#include "eager/ops/row_rules.h"
#include "generated/op_id.h"

#include <cblas.h>
#include <stdlib.h>
#include <sys/mman.h>

/* OpenBLAS starts its threads in a constructor, in every verb, and waits for ever for one that cannot be started. It asks the environment
 * how many: this comes first. */
BEFORE_CONSTRUCTORS static void one_thread(void) { setenv("OPENBLAS_NUM_THREADS", "1", 1); }

/* It also asks for ever for the work space of its first large product if there is no room: so ask once, before. It keeps what it got. */
static void require_workspace(void)
{
	static bool fits;
	const size_t nbytes = ((size_t)128 << 20) + 8192; /* BUFFER_SIZE of x86-64 and a little more */
	void *p = fits ? NULL : mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED) {
		fprintf(stderr, "scatterproof: out of memory (%zu bytes for a matrix product)\n", nbytes);
		exit(3);
	}
	if (p)
		munmap(p, nbytes);
	fits = true;
}

enum compute { FLOATS, DOUBLES, INTS };
struct product {
	int64_t batch, m, n, k;
	enum compute in;
};
struct packed { /* one of them */
	float *f;
	double *d;
	int64_t *i;
};

static struct product product_of(const struct meta *a, const struct meta *b)
{
	struct product p = {1, 1, 1, 1, !dtype_is_float(a->dtype) ? INTS : a->dtype == DT_F64 ? DOUBLES : FLOATS};
	int ra = a->rank, rb = b->rank;
	p.batch = ra == 3 ? a->size[0] : 1;
	p.m = ra >= 2 ? a->size[ra - 2] : 1;
	p.k = a->size[ra - 1];
	p.n = rb >= 2 ? b->size[rb - 1] : 1;
	return p;
}

static struct packed packed_new(enum compute in, int64_t n, struct arena *a)
{
	if (in == INTS)
		return (struct packed){.i = ARENA_ZNEW(a, int64_t, n)};
	return in == DOUBLES ? (struct packed){.d = ARENA_ZNEW(a, double, n)} : (struct packed){.f = ARENA_ZNEW(a, float, n)};
}

static struct packed pack(const struct tensor *t, enum compute in, struct arena *a)
{
	int64_t n = meta_numel(&t->meta);
	struct packed p = packed_new(in, n, a);
	struct meta_iter it;
	meta_iter_start(&it, &t->meta);
	for (int64_t i = 0; i < n; i++, meta_iter_next(&it, &t->meta)) {
		const unsigned char *cell = tensor_at(t, it.off);
		if (in == INTS)
			p.i[i] = dtype_load_i(t->meta.dtype, cell);
		else if (in == DOUBLES)
			p.d[i] = dtype_load_f(t->meta.dtype, cell);
		else
			p.f[i] = (float)dtype_load_f(t->meta.dtype, cell);
	}
	return p;
}

/* out is contiguous. */
static void unpack(struct tensor *out, const struct packed *p)
{
	int64_t n = meta_numel(&out->meta);
	for (int64_t i = 0; i < n; i++) {
		unsigned char *cell = tensor_at(out, out->meta.offset + i);
		if (p->i)
			dtype_store_i(out->meta.dtype, cell, p->i[i]);
		else
			dtype_store_f(out->meta.dtype, cell, p->d ? p->d[i] : (double)p->f[i]);
	}
}

/* A number as integers see it: cut to a whole one. 1 where the row has none. */
static int64_t whole(const struct node *n, int name)
{
	const struct arg *a = node_arg(n, name);
	if (!a)
		return 1;
	return a->scalar.kind == SC_FLOAT ? (int64_t)a->scalar.f : a->scalar.i;
}

static void gemm_ints(
	const struct product *p, int64_t alpha, const struct packed *pa, const struct packed *pb, int64_t beta, struct packed *pc, int64_t at)
{
	const int64_t m = p->m, n = p->n, k = p->k, *a = pa->i + at * m * k, *b = pb->i + at * k * n;
	int64_t *c = pc->i + at * m * n;
	for (int64_t i = 0; i < m; i++) {
		for (int64_t j = 0; j < n; j++) {
			int64_t sum = 0;
			for (int64_t x = 0; x < k; x++)
				sum = wrap_add(sum, wrap_mul(a[i * k + x], b[x * n + j]));
			c[i * n + j] = wrap_add(wrap_mul(alpha, sum), wrap_mul(beta, c[i * n + j]));
		}
	}
}

/* C (m x n) = alpha A B + beta C; A, B and C are entries `at` of batches. beta 0 reads no C. */
static void gemm(bool wide, int64_t m, int64_t n, int64_t k, double alpha, const struct packed *a, const struct packed *b, double beta,
	struct packed *c, int64_t at)
{
	enum CBLAS_TRANSPOSE no = CblasNoTrans;
	blasint im = (blasint)m, in = (blasint)n, ik = (blasint)k;
	blasint lda = MAX(ik, 1), ldb = MAX(in, 1), ldc = MAX(in, 1);
	if (m == 0 || n == 0)
		return;
	require_workspace();
	if (wide)
		cblas_dgemm(CblasRowMajor, no, no, im, in, ik, alpha, a->d + at * m * k, lda, b->d + at * k * n, ldb, beta, c->d + at * m * n, ldc);
	else
		cblas_sgemm(CblasRowMajor, no, no, im, in, ik, (float)alpha, a->f + at * m * k, lda, b->f + at * k * n, ldb, (float)beta,
			c->f + at * m * n, ldc);
}

static double scalar_value(const struct node *n, int name)
{
	const struct arg *a = node_arg(n, name);
	if (!a)
		return 1;
	const struct scalar *s = &a->scalar;
	return s->kind == SC_FLOAT ? s->f : (double)s->i;
}

static void forward(struct kern_ctx *c, const struct tensor *a, const struct tensor *b, const struct tensor *bias)
{
	struct product p = product_of(&a->meta, &b->meta);
	struct packed pa = pack(a, p.in, c->scratch), pb = pack(b, p.in, c->scratch), pc;
	double alpha = scalar_value(c->n, N_alpha), beta = bias ? scalar_value(c->n, N_beta) : 0;
	if (bias && beta != 0) {
		struct tensor full;
		CHECK(tensor_broadcast(&full, bias, c->out->meta.size, c->out->meta.rank));
		pc = pack(&full, p.in, c->scratch);
	} else {
		pc = packed_new(p.in, p.batch * p.m * p.n, c->scratch);
	}
	for (int64_t i = 0; i < p.batch; i++)
		if (p.in == INTS)
			gemm_ints(&p, whole(c->n, N_alpha), &pa, &pb, bias ? whole(c->n, N_beta) : 0, &pc, i);
		else
			gemm(p.in == DOUBLES, p.m, p.n, alpha == 0 ? 0 : p.k, alpha, &pa, &pb, beta, &pc, i);
	unpack(c->out, &pc);
}

bool kern_mm(struct kern_ctx *c) { return forward(c, c->in[A_mm_self], c->in[A_mm_mat2], NULL), true; }
bool kern_bmm(struct kern_ctx *c) { return forward(c, c->in[A_bmm_self], c->in[A_bmm_mat2], NULL), true; }
bool kern_mv(struct kern_ctx *c) { return forward(c, c->in[A_mv_self], c->in[A_mv_vec], NULL), true; }
bool kern_dot(struct kern_ctx *c) { return forward(c, c->in[A_dot_self], c->in[A_dot_tensor], NULL), true; }
bool kern_addmm(struct kern_ctx *c) { return forward(c, c->in[A_addmm_mat1], c->in[A_addmm_mat2], c->in[A_addmm_self]), true; }

bool kern_baddbmm(struct kern_ctx *c) { return forward(c, c->in[A_baddbmm_batch1], c->in[A_baddbmm_batch2], c->in[A_baddbmm_self]), true; }

/* x, or x times a factor that is not 1 (maybe_multiply). */
static int scaled(struct vjp *v, int x, const struct scalar *by)
{
	bool one = by->kind == SC_FLOAT ? by->f == 1 : by->i == 1;
	return one ? x : emit_mul_Scalar(v->b, x, *by);
}

/* PyTorch returns the gradient of a column-major matrix column-major. */
static bool is_column_major(const struct meta *m) { return m->stride[0] == 1 && m->stride[1] == m->size[0]; }

/* Of a in a b: g b^T. */
static int first_gradient(struct vjp *v, const struct meta *a, int b)
{
	if (is_column_major(a)) {
		int gt = emit_t(v->b, v->g[0]);
		gt = emit_mm(v->b, b, gt);
		return emit_t(v->b, gt);
	}
	b = emit_t(v->b, b);
	return emit_mm(v->b, v->g[0], b);
}

/* Of b in a b: a^T g. */
static int second_gradient(struct vjp *v, int a, const struct meta *b)
{
	if (is_column_major(b)) {
		int gt = emit_t(v->b, v->g[0]);
		gt = emit_mm(v->b, gt, a);
		return emit_t(v->b, gt);
	}
	a = emit_t(v->b, a);
	return emit_mm(v->b, a, v->g[0]);
}

void vjp_mm(struct vjp *v)
{
	if (v->want[A_mm_self])
		v->grad[A_mm_self] = first_gradient(v, vjp_meta(v, A_mm_self), v->in[A_mm_mat2]);
	if (v->want[A_mm_mat2])
		v->grad[A_mm_mat2] = second_gradient(v, v->in[A_mm_self], vjp_meta(v, A_mm_mat2));
}

/* Gradients are rounded before alpha and beta scale them. */
void vjp_addmm(struct vjp *v)
{
	const struct scalar *alpha = &v->n->arg[A_addmm_alpha].scalar, *beta = &v->n->arg[A_addmm_beta].scalar;
	if (v->want[A_addmm_self])
		v->grad[A_addmm_self] = scaled(v, v->g[0], beta);
	if (v->want[A_addmm_mat1]) {
		int g = first_gradient(v, vjp_meta(v, A_addmm_mat1), v->in[A_addmm_mat2]);
		v->grad[A_addmm_mat1] = scaled(v, g, alpha);
	}
	if (v->want[A_addmm_mat2]) {
		int g = second_gradient(v, v->in[A_addmm_mat1], vjp_meta(v, A_addmm_mat2));
		v->grad[A_addmm_mat2] = scaled(v, g, alpha);
	}
}

void vjp_bmm(struct vjp *v)
{
	if (v->want[A_bmm_self]) {
		int b = emit_transpose_int(v->b, v->in[A_bmm_mat2], 1, 2);
		v->grad[A_bmm_self] = emit_bmm(v->b, v->g[0], b);
	}
	if (v->want[A_bmm_mat2]) {
		int a = emit_transpose_int(v->b, v->in[A_bmm_self], 1, 2);
		v->grad[A_bmm_mat2] = emit_bmm(v->b, a, v->g[0]);
	}
}

void vjp_baddbmm(struct vjp *v)
{
	const struct scalar *alpha = &v->n->arg[A_baddbmm_alpha].scalar, *beta = &v->n->arg[A_baddbmm_beta].scalar;
	if (v->want[A_baddbmm_self])
		v->grad[A_baddbmm_self] = scaled(v, v->g[0], beta);
	if (v->want[A_baddbmm_batch1]) {
		const int b = emit_transpose_int(v->b, v->in[A_baddbmm_batch2], 1, 2);
		v->grad[A_baddbmm_batch1] = scaled(v, emit_bmm(v->b, v->g[0], b), alpha);
	}
	if (v->want[A_baddbmm_batch2]) {
		const int a = emit_transpose_int(v->b, v->in[A_baddbmm_batch1], 1, 2);
		v->grad[A_baddbmm_batch2] = scaled(v, emit_bmm(v->b, a, v->g[0]), alpha);
	}
}

void vjp_mv(struct vjp *v)
{
	if (v->want[A_mv_self]) {
		int g = emit_unsqueeze(v->b, v->g[0], 1);
		v->grad[A_mv_self] = emit_mul_Tensor(v->b, g, v->in[A_mv_vec]);
	}
	if (v->want[A_mv_vec]) {
		int a = emit_t(v->b, v->in[A_mv_self]);
		v->grad[A_mv_vec] = emit_mv(v->b, a, v->g[0]);
	}
}

void vjp_dot(struct vjp *v)
{
	if (v->want[A_dot_self])
		v->grad[A_dot_self] = emit_mul_Tensor(v->b, v->g[0], v->in[A_dot_tensor]);
	if (v->want[A_dot_tensor])
		v->grad[A_dot_tensor] = emit_mul_Tensor(v->b, v->g[0], v->in[A_dot_self]);
}

/* ---- shape rules ---- */

static bool result(struct meta_ctx *c, const struct meta *self, const int64_t *size, int rank)
{
	for (int k = 0; self->dtype == DT_B8 && c->n->op != OP_dot && k < op_info[c->n->op].nparam; k++)
		if (c->in[k] && meta_numel(c->in[k]) == 0)
			return err_limit(c->err, "of bools without elements: PyTorch does not always look at the dtype");
	meta_make_contiguous(&c->out[0], self->dtype, size, rank);
	c->out[0].device = self->device;
	return true;
}

static bool check_matrices(struct meta_ctx *c, const struct meta *a, const struct meta *b, const char *first)
{
	if (a->rank != 2)
		return err_set(c->err, "%s must be a matrix", first);
	if (b->rank != 2)
		return err_set(c->err, "mat2 must be a matrix");
	if (a->size[1] != b->size[0])
		return err_set(c->err, "mat1 and mat2 shapes cannot be multiplied (%lldx%lld and %lldx%lld)", (long long)a->size[0],
			(long long)a->size[1], (long long)b->size[0], (long long)b->size[1]);
	if (a->dtype != b->dtype)
		return err_set(c->err, "expected m1 and m2 to have the same dtype, but got: %s != %s", dtype_info[a->dtype].short_cpp,
			dtype_info[b->dtype].short_cpp);
	return true;
}

bool meta_mm(struct meta_ctx *c)
{
	const struct meta *a = c->in[A_mm_self], *b = c->in[A_mm_mat2];
	if (!check_matrices(c, a, b, "self"))
		return false;
	return result(c, a, (int64_t[]){a->size[0], b->size[1]}, 2);
}

/* alpha and beta, in the dtype that is computed in. Of integers without anything to multiply, self times beta is an ordinary product, whose
 * beta may be of a wider kind. */
static bool check_factors(struct meta_ctx *c, enum dtype t, const int64_t *size, int rank, int64_t inner)
{
	const struct scalar *beta = &c->n->arg[A_onto_beta].scalar, *alpha = &c->n->arg[A_onto_alpha].scalar;
	if (size[0] == 0 || size[1] == 0 || size[rank - 1] == 0 || (dtype_is_float(t) && inner == 0))
		return true;
	if (dtype_is_float(t))
		return scalar_fits(alpha, dtype_compute(t), c->err) && scalar_fits(beta, dtype_compute(t), c->err);
	if (inner == 0)
		return beta->kind != SC_FLOAT || beta->f == 0
			|| err_set(c->err, "result type Float can't be cast to the desired output type %s", dtype_info[t].c10);
	return scalar_fits(alpha, t, c->err) && scalar_fits(beta, t, c->err);
}

static bool expands(struct meta_ctx *c, const struct meta *bias, const int64_t *size, int rank)
{
	for (int d = 0; d < bias->rank; d++) {
		int at = rank - bias->rank + d;
		if (at < 0 || (bias->size[d] != 1 && bias->size[d] != size[at]))
			return err_set(c->err,
				"The expanded size of the tensor (%lld) must match the existing size (%lld) at non-singleton dimension %d",
				(long long)(at < 0 ? 0 : size[at]), (long long)bias->size[d], MAX(at, 0));
	}
	return true;
}

bool meta_addmm(struct meta_ctx *c)
{
	const struct meta *bias = c->in[A_addmm_self], *a = c->in[A_addmm_mat1], *b = c->in[A_addmm_mat2];
	if (!check_matrices(c, a, b, "mat1"))
		return false;
	const int64_t size[2] = {a->size[0], b->size[1]};
	if (!expands(c, bias, size, 2))
		return false;
	if (bias->dtype != a->dtype)
		return err_set(
			c->err, "self and mat2 must have the same dtype, but got %s and %s", dtype_info[bias->dtype].c10, dtype_info[b->dtype].c10);
	return check_factors(c, bias->dtype, size, 2, a->size[1]) && result(c, bias, size, 2);
}

static bool check_dtypes(struct meta_ctx *c, const struct meta *a, const struct meta *b)
{
	if (a->dtype == b->dtype)
		return true;
	if (meta_numel(a) == 0 || meta_numel(b) == 0)
		return err_limit(c->err, "of two dtypes without elements: PyTorch does not always look at them");
	return err_set(c->err, "expected scalar type %s but found %s", dtype_info[a->dtype].c10, dtype_info[b->dtype].c10);
}

static bool check_batches(struct meta_ctx *c, const struct meta *a, const struct meta *b)
{
	if (a->rank != 3)
		return err_set(c->err, "batch1 must be a 3D tensor");
	if (b->rank != 3)
		return err_set(c->err, "batch2 must be a 3D tensor");
	if (a->size[0] != b->size[0] || a->size[2] != b->size[1])
		return err_set(c->err, "Expected size for first two dimensions of batch2 tensor to be: [%lld, %lld] but got: [%lld, %lld].",
			(long long)a->size[0], (long long)a->size[2], (long long)b->size[0], (long long)b->size[1]);
	return check_dtypes(c, a, b);
}

bool meta_bmm(struct meta_ctx *c)
{
	const struct meta *a = c->in[A_bmm_self], *b = c->in[A_bmm_mat2];
	return check_batches(c, a, b) && result(c, a, (int64_t[]){a->size[0], a->size[1], b->size[2]}, 3);
}

bool meta_baddbmm(struct meta_ctx *c)
{
	const struct meta *bias = c->in[A_baddbmm_self], *a = c->in[A_baddbmm_batch1], *b = c->in[A_baddbmm_batch2];
	if (a->rank != 3 || b->rank != 3)
		return check_batches(c, a, b);
	const int64_t size[3] = {a->size[0], a->size[1], b->size[2]};
	if (!expands(c, bias, size, 3))
		return false;
	if (bias->dtype != a->dtype || bias->dtype != b->dtype)
		return err_set(c->err, "Input dtypes must be the same, got: input %s, batch1: %s, batch2: %s", dtype_info[bias->dtype].short_cpp,
			dtype_info[a->dtype].short_cpp, dtype_info[b->dtype].short_cpp);
	return check_batches(c, a, b) && check_factors(c, bias->dtype, size, 3, a->size[2]) && result(c, bias, size, 3);
}

bool meta_mv(struct meta_ctx *c)
{
	const struct meta *a = c->in[A_mv_self], *b = c->in[A_mv_vec];
	if (a->rank != 2 || b->rank != 1)
		return err_set(c->err, "vector + matrix @ vector expected, got 1, %d, %d", a->rank, b->rank);
	if (a->size[1] != b->size[0])
		return err_set(c->err, "size mismatch, got input (%lld), mat (%lldx%lld), vec (%lld)", (long long)a->size[0], (long long)a->size[0],
			(long long)a->size[1], (long long)b->size[0]);
	if (!check_dtypes(c, a, b))
		return false;
	return result(c, a, a->size, 1);
}

bool meta_dot(struct meta_ctx *c)
{
	const struct meta *a = c->in[A_dot_self], *b = c->in[A_dot_tensor];
	if (a->rank != 1 || b->rank != 1)
		return err_set(c->err, "1D tensors expected, but got %dD and %dD tensors", a->rank, b->rank);
	if (a->dtype != b->dtype)
		return err_set(c->err, "dot : expected both vectors to have same dtype, but found %s and %s", dtype_info[a->dtype].c10,
			dtype_info[b->dtype].c10);
	if (a->size[0] != b->size[0])
		return err_set(c->err,
			"inconsistent tensor size, expected tensor [%lld] and src [%lld] to have the same number of elements, but got "
			"%lld and %lld elements respectively",
			(long long)a->size[0], (long long)b->size[0], (long long)a->size[0], (long long)b->size[0]);
	return result(c, a, NULL, 0);
}
