/* tape.c: appends blocks and computes their values. */
#include "oracle/num/formula.h"
#include "oracle/tape/sample.h"

const char *const sf_name[NSF] = {
#define SF(id, arity, what) [SF_##id] = #id,
#include "oracle/num/sf.def"
};

void tape_init(struct tape *t, struct arena *a, const struct licence_profile *lic, struct tape_limits limit)
{
	memset(t, 0, sizeof *t);
	t->arena = a;
	t->lic = lic;
	t->limit = limit;
	t->node = -1;
	t->op = -1;
	tape_const_f(t, DT_F64, 0); /* id 0: what callers get once the budget is spent */
}

sid *tape_ids(struct tape *t, int64_t n) { return ARENA_NEW(t->arena, sid, n < 1 ? 1 : n); }

void tape_at(struct tape *t, int node, int op)
{
	t->node = node;
	t->op = op;
	t->result = 0;
}

/* Room for n more scalars with nentry operand reads; false if the budget is spent. */
static bool reserve(struct tape *t, int64_t n, int64_t nentry)
{
	if (t->over || n < 0 || nentry < 0 || t->nscalar + n > t->limit.nodes || t->nentry + nentry > t->limit.entries) {
		t->over = true;
		return false;
	}
	if (t->nscalar + n > t->cap_scalar) {
		int64_t cap = MAX(t->cap_scalar * 2, MAX(t->nscalar + n, (int64_t)256));
		t->val = ARENA_GROW(t->arena, struct num, t->val, t->cap_scalar, cap);
		t->cap_scalar = cap;
	}
	t->nentry += nentry;
	return true;
}

void tape_finish(struct tape *t)
{
	t->val = ARENA_GROW(t->arena, struct num, t->val, t->cap_scalar, t->nscalar);
	t->cap_scalar = t->nscalar;
}

static struct tape_block *new_block(struct tape *t, enum sf f, enum dtype dt, int64_t n)
{
	if (t->nblock == t->cap_block) {
		int cap = MAX(t->cap_block * 2, 64);
		t->block = ARENA_GROW(t->arena, struct tape_block, t->block, t->cap_block, cap);
		t->cap_block = cap;
	}
	struct tape_block *b = &t->block[t->nblock++];
	memset(b, 0, sizeof *b);
	b->f = f;
	b->dt = dt;
	b->node = (int16_t)t->node;
	b->result = (int16_t)t->result;
	b->lc = t->op < 0 ? LC_MOVE : licence_entry(t->lic, t->op);
	b->first = (sid)t->nscalar;
	b->n = n;
	t->nscalar += n;
	return b;
}

/* ---- sources ---- */
static sid one_const(struct tape *t, struct num v)
{
	if (!reserve(t, 1, 0))
		return 0;
	struct tape_block *b = new_block(t, SF_CONST, (enum dtype)v.dtype, 1);
	t->val[b->first] = v;
	return b->first;
}

sid tape_const_f(struct tape *t, enum dtype dt, double v)
{
	struct num x = num_exact(dt, num_rn(dt, v, 0));
	x.flags |= NUM_MOVED;
	return one_const(t, x);
}

sid tape_const_i(struct tape *t, enum dtype dt, int64_t v) { return one_const(t, num_int(dt, num_wrap(dt, v))); }

sid tape_const(struct tape *t, enum dtype dt, const struct scalar *s)
{
	if (dtype_is_float(dt)) {
		/* On its way to a half a number is an f32 (PyTorch's conversions), which may round it twice; or it is not. */
		double v = s->kind == SC_FLOAT ? s->f : (double)s->i, twice = num_rn(dt, num_rn(DT_F32, v, 0), 0);
		sid id = tape_const_f(t, dt, v);
		if (num_format[dt].p < num_format[DT_F32].p && isfinite(v) && twice != num_rn(dt, v, 0))
			tape_either(t, id, twice, num_rn(dt, v, 0));
		return id;
	}
	if (s->kind != SC_FLOAT)
		return tape_const_i(t, dt, s->i);
	if (dt == DT_B8)
		return tape_const_i(t, dt, s->f != 0);
	return tape_const_i(t, dt, fabs(s->f) < 0x1p62 ? (int64_t)s->f : 0);
}

sid tape_load(struct tape *t, enum sf f, enum dtype dt, const void *data, int64_t n)
{
	CHECK(f == SF_LEAF || f == SF_CONST);
	if (!reserve(t, n, 0))
		return 0;
	struct tape_block *b = new_block(t, f, dt, n);
	const unsigned char *p = data;
	struct num *v = &t->val[b->first];
	int nb = dtype_nbytes(dt);
	if (!dtype_is_float(dt)) {
		for (int64_t i = 0; i < n; i++)
			num_put(&v[i], num_int(dt, dtype_load_i(dt, p + i * nb)));
		return b->first;
	}
	const bool flushed = t->lic->rule[LC_MOVE][dt].flags & LF_FTZ; /* before anything reads them */
	for (int64_t i = 0; i < n; i++) {
		float single;
		if (dt == DT_F32)
			memcpy(&single, p + i * 4, 4);
		struct num x = num_exact(dt, dt == DT_F32 ? (double)single : dtype_load_f(dt, p + i * nb));
		x.flags |= NUM_MOVED;
		if (flushed)
			num_round(&x, dt, NR_IEEE | NR_FTZ);
		num_put(&v[i], x);
	}
	return b->first;
}

sid tape_sets(struct tape *t, enum dtype dt, const struct num *set, int64_t n)
{
	if (!reserve(t, n, 0))
		return 0;
	struct tape_block *b = new_block(t, SF_CONST, dt, n);
	memcpy(&t->val[b->first], set, (size_t)n * sizeof *set);
	return b->first;
}

/* ---- maps ---- */
const struct tape_block *tape_block_of(const struct tape *t, sid id)
{
	int low = 0, high = t->nblock - 1;
	while (low < high) {
		int mid = (low + high + 1) / 2;
		if (t->block[mid].first <= id)
			low = mid;
		else
			high = mid - 1;
	}
	return &t->block[low];
}

bool tape_is_const(const struct tape *t, sid id) { return tape_block_of(t, id)->f == SF_CONST; }

/* The same constant for all: a Python scalar, which has no derivative and may be inverted once. */
static bool one_constant(const struct tape *t, const sid *id, int64_t n)
{
	for (int64_t i = 1; i < n; i++)
		if (id[i] != id[0])
			return false;
	return tape_is_const(t, id[0]);
}

static const double *scalars_of(struct tape *t, const double scalar[FORMULA_SCALARS])
{
	return scalar ? memcpy(ARENA_NEW(t->arena, double, FORMULA_SCALARS), scalar, FORMULA_SCALARS * sizeof *scalar) : NULL;
}

sid tape_map(struct tape *t, enum sf f, enum dtype dt, const sid *const op[3], int64_t n, const double scalar[FORMULA_SCALARS])
{
	const struct sf_info *info = &sf_info[f];
	if (!reserve(t, n, n * info->arity))
		return 0;
	struct tape_block *b = new_block(t, f, dt, n);
	b->a = op[0];
	b->b = op[1];
	b->c = op[2];
	b->scalar = scalars_of(t, scalar);
	if (n == 0)
		return b->first;
	struct how h = block_how(t, b);
	h.constant_b = f == SF_DIV && one_constant(t, b->b, n);
	b->param = h.constant_b;
	info->value(&t->val[b->first], t->val, op, n, &h);
	if (f == SF_ADD && dtype_is_float(dt) && t->lic->rule[LC_MATMUL][dt].flags & LF_ONTO)
		add_onto(t, b);
	if (UNLIKELY(t->sample))
		sample_block(t, b);
	return b->first;
}

sid tape_map1(struct tape *t, enum sf f, enum dtype dt, const sid *a, int64_t n)
{
	CHECK(sf_info[f].arity == 1);
	return tape_map(t, f, dt, (const sid *const[3]){a}, n, NULL);
}

sid tape_map2(struct tape *t, enum sf f, enum dtype dt, const sid *a, const sid *b, int64_t n)
{
	CHECK(sf_info[f].arity == 2);
	return tape_map(t, f, dt, (const sid *const[3]){a, b}, n, NULL);
}

sid tape_map3(struct tape *t, enum sf f, enum dtype dt, const sid *a, const sid *b, const sid *c, int64_t n)
{
	CHECK(sf_info[f].arity == 3);
	return tape_map(t, f, dt, (const sid *const[3]){a, b, c}, n, NULL);
}

void tape_replace(struct tape *t, sid id, struct num set)
{
	if (t->over)
		return;
	enum dtype dt = tape_dtype(t, id);
	t->val[id] = set;
	t->val[id].dtype = (int32_t)dt;
	if (UNLIKELY(t->sample))
		t->val[id] = sample_one(&t->val[id], dt, t->sample, id, SAMPLE_VALUE, (struct sample_of){.n = 1});
}

void tape_either(struct tape *t, sid id, double a, double b)
{
	struct num x = num_exact(DT_F64, a), y = num_exact(DT_F64, b);
	if (LIKELY(!t->sample))
		tape_replace(t, id, num_hull(&x, &y));
	else
		tape_replace(t, id, sample_coin(t->sample, id) ? x : y);
}

/* ---- lists ---- */
static void evaluate(struct tape *t, const struct tape_block *b)
{
	nary_eval(t, b);
	if (UNLIKELY(t->sample))
		sample_block(t, b);
}

static sid lists(struct tape *t, enum sf f, enum dtype dt, const uint32_t *start, const sid *entry, int64_t n, int64_t len, double param)
{
	CHECK(sf_info[f].arity == -1);
	int64_t nentry = 0;
	if (start)
		nentry = n ? start[n] - start[0] : 0;
	else if (!mul_i64(&nentry, n, len))
		nentry = INT64_MAX / 2;
	if (!reserve(t, n, nentry))
		return 0;
	struct tape_block *b = new_block(t, f, dt, n);
	b->a = entry;
	b->start = start;
	b->len = len;
	b->param = param;
	evaluate(t, b);
	return b->first;
}

sid tape_nary(struct tape *t, enum sf f, enum dtype dt, const uint32_t *start, const sid *entry, int64_t n, double param)
{
	return lists(t, f, dt, start, entry, n, 0, param);
}

sid tape_rows(struct tape *t, enum sf f, enum dtype dt, const sid *entry, int64_t n, int64_t len, double param)
{
	return lists(t, f, dt, NULL, entry, n, len, param);
}

sid tape_scan(struct tape *t, enum sf f, enum dtype dt, const sid *entry, int64_t rows, int64_t len)
{
	CHECK(sf_info[f].arity == -2);
	int64_t n = 0, cost = 0;
	if (!mul_i64(&n, rows, len) || !mul_i64(&cost, n, f == SF_CUMPROD ? len : 1) || !reserve(t, n, cost))
		return t->over = true, 0;
	struct tape_block *b = new_block(t, f, dt, n);
	b->a = entry;
	b->len = len;
	evaluate(t, b);
	return b->first;
}

sid tape_formula(
	struct tape *t, enum sf f, enum dtype dt, const sid *const op[3], int64_t rows, int64_t len, const double scalar[FORMULA_SCALARS])
{
	CHECK(sf_info[f].arity < SF_ROWS && dtype_is_float(dt));
	int64_t n = 0, cost = 0;
	if (!mul_i64(&n, rows, len) || !mul_i64(&cost, n, sf_operands(f)) || !reserve(t, n, cost))
		return t->over = true, 0;
	struct tape_block *b = new_block(t, f, dt, formula_gives_one(f) ? rows : n);
	b->a = op[0];
	b->b = op[1];
	b->c = op[2];
	b->len = len;
	b->dim[0] = rows;
	b->scalar = scalars_of(t, scalar);
	evaluate(t, b);
	return b->first;
}

/* own NULL: no addend. The budget counts the addend's entries, too. */
static sid matmul_block(struct tape *t, enum dtype dt, const sid *own, double beta, double alpha, const sid *a, const sid *b, int64_t batch,
	int64_t m, int64_t k, int64_t n)
{
	int64_t out = 0, cost = 0;
	if (!mul_i64(&out, batch, m) || !mul_i64(&out, out, n) || !mul_i64(&cost, out, k + (own != NULL)) || !mul_i64(&cost, cost, 2)
		|| !reserve(t, out, cost))
		return t->over = true, 0;
	struct tape_block *blk = new_block(t, SF_MATMUL, dt, out);
	blk->a = a;
	blk->b = b;
	blk->c = own;
	blk->len = k;
	blk->dim[0] = batch;
	blk->dim[1] = m;
	blk->dim[2] = n;
	/* A Python scalar acts in the kernel's compute type: 0.7 on f32 is the f32 next to it. */
	blk->param = num_rn(dtype_compute(dt), alpha, 0);
	blk->beta = num_rn(dtype_compute(dt), beta, 0);
	evaluate(t, blk);
	return blk->first;
}

sid tape_matmul(struct tape *t, enum dtype dt, const sid *a, const sid *b, int64_t batch, int64_t m, int64_t k, int64_t n)
{
	return matmul_block(t, dt, NULL, 0, 1, a, b, batch, m, k, n);
}

sid tape_matmul_onto(struct tape *t, enum dtype dt, const sid *own, double beta, double alpha, const sid *a, const sid *b, int64_t batch,
	int64_t m, int64_t k, int64_t n)
{
	CHECK(dtype_is_float(dt));
	return matmul_block(t, dt, own, beta, alpha, a, b, batch, m, k, n);
}
