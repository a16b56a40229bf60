/* refapi.c: what the index formulas (ref_*.c) use: reading tensors as ids, declaring results, dims. */
#include "oracle/ref/ref.h"
#include "oracle/ref/ref_impl.h"
#include "oracle/tape/tape_impl.h"

bool ref_unsupported(struct ref_ctx *c, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	c->unsupported = true;
	if (c->err && !c->err->msg[0])
		vsnprintf(c->err->msg, sizeof c->err->msg, fmt, ap);
	va_end(ap);
	return false;
}

bool ref_not_on_cuda(struct ref_ctx *c)
{
	if (c->t->lic->semantics.layout != LAYOUT_LOADS)
		return true;
	c->undecided = true;
	return ref_unsupported(c, "%s on CUDA, whose kernel is not modelled", op_info[c->n->op].name);
}

bool ref_undecided(struct ref_ctx *c, const char *what)
{
	c->undecided = true;
	return ref_unsupported(c, "%s %s depends on an undecided comparison", what, op_info[c->n->op].name);
}

/* ---- reading ---- */
/* A map of `size` onto the id array of t; strides may be 0 for broadcast dims. */
static sid *gather(struct ref_ctx *c, const sid *cells, const struct meta *m)
{
	int64_t n = meta_numel(m);
	sid *out = tape_ids(c->t, n);
	struct meta_iter it;
	if (n == 0)
		return out;
	meta_iter_start(&it, m);
	int64_t k = 0;
	do {
		out[k++] = cells[it.off];
	} while (meta_iter_next(&it, m));
	return out;
}

static const sid *read_map(struct ref_ctx *c, const struct ref_tensor *t, const struct meta *m)
{
	const struct ref_storage *s = &c->r->storage[t->storage];
	const struct meta none = {.rank = 0};
	int64_t n = meta_numel(m);
	if (n > c->t->limit.nodes) {
		c->t->over = true;
		m = &none;
		n = 0;
	}
	const sid *ids = layout_is_contiguous(m) ? s->ids + (n ? m->offset : 0) : gather(c, s->ids, m);
	if (t->retyped)
		return ref_retyped(c, ids, n, t->meta.dtype);
	if (!dtype_is_float(t->meta.dtype) || n == 0 || c->t->over)
		return ids;
	if (s->graded)
		ids = shared_read(c, t, ids, m, n);
	if (t->overlapping && c->r->base[t->base].grad) {
		/* Backward of unfold and as_strided accumulates in the tensor's dtype: a consumer of its own. */
		sid first = tape_map1(c->t, SF_COPY, t->meta.dtype, ids, n);
		if (!c->t->over)
			c->t->block[c->t->nblock - 1].lc = LC_ACCUM;
		return ref_ids_block(c, first, n);
	}
	return ids;
}

const sid *ref_ids(struct ref_ctx *c, const struct ref_tensor *t) { return read_map(c, t, &t->map); }

void ref_each_cell(struct ref_ctx *c, const struct ref_tensor *t, void (*f)(struct ref_ctx *c, sid id))
{
	const struct ref_storage *s = &c->r->storage[t->storage];
	for (int64_t i = 0; i < s->ncells; i++)
		f(c, s->ids[i]);
}

const sid *ref_ids_expanded(struct ref_ctx *c, const struct ref_tensor *t, const int64_t *size, int rank)
{
	struct meta m = t->map;
	CHECK(rank >= t->map.rank && rank <= MAX_RANK);
	int lead = rank - t->map.rank;
	m.rank = rank;
	for (int d = 0; d < rank; d++) {
		bool own = d >= lead && t->map.size[d - lead] == size[d];
		CHECK(own || d < lead || t->map.size[d - lead] == 1);
		m.size[d] = size[d];
		m.stride[d] = own && size[d] != 1 ? t->map.stride[d - lead] : 0;
	}
	return read_map(c, t, &m);
}

const sid *ref_ids_repeat(struct ref_ctx *c, sid id, int64_t n)
{
	sid *out = tape_ids(c->t, n);
	for (int64_t i = 0; i < n; i++)
		out[i] = id;
	return out;
}

sid *ref_ids_block(struct ref_ctx *c, sid first, int64_t n)
{
	sid *out = tape_ids(c->t, n);
	for (int64_t i = 0; i < n; i++)
		out[i] = c->t->over ? 0 : first + (sid)i;
	return out;
}

/* What was written through a view of another dtype is read through it as it was written. */
const sid *ref_retyped(struct ref_ctx *c, const sid *ids, int64_t n, enum dtype to)
{
	if (n == 0 || c->t->over)
		return ids;
	sid *out = tape_ids(c->t, n), *others = tape_ids(c->t, n);
	int64_t left = 0;
	for (int64_t k = 0; k < n; k++) {
		const struct tape_block *b = tape_block_of(c->t, ids[k]);
		const sid was = b->f == SF_BITS ? b->a[ids[k] - b->first] : 0;
		out[k] = was && tape_dtype(c->t, was) == to ? was : 0;
		if (!out[k])
			others[left++] = ids[k];
	}
	sid made = left ? tape_map1(c->t, SF_BITS, to, others, left) : 0;
	for (int64_t k = 0; k < n && !c->t->over; k++)
		if (!out[k])
			out[k] = made++;
	return c->t->over ? ids : out;
}

const sid *ref_cast(struct ref_ctx *c, const sid *ids, int64_t n, enum dtype to)
{
	if (n == 0 || tape_dtype(c->t, ids[0]) == to || c->t->over)
		return ids;
	return ref_ids_block(c, tape_map1(c->t, SF_CAST, to, ids, n), n);
}

bool ref_is_largest(struct ref_ctx *c, sid id) { return !c->t->over && tape_block_of(c->t, id)->f == SF_MAXN; }

/* Through conversions and choices to what they convert, and to the first of what they choose from. */
static const struct tape_block *made_by(const struct tape *t, sid id)
{
	const struct tape_block *b = tape_block_of(t, id);
	int64_t n = 1;
	while (n && (b->f == SF_CAST || b->f == SF_COPY || b->f == SF_MAXN)) {
		const sid *from = b->f == SF_MAXN ? block_list(b, id - b->first, &n) : b->a + (id - b->first);
		id = n ? from[0] : id;
		b = tape_block_of(t, id);
	}
	return b;
}

const sid *ref_unrounded(struct ref_ctx *c, const sid *ids, int64_t n, enum dtype dt)
{
	if (n == 0 || c->t->over || !dtype_is_float(dt) || !(c->t->lic->rule[LC_TRANS][dt].flags & LF_SCALED))
		return ids;
	const struct tape_block *b = made_by(c->t, ids[0]);
	if ((b->f != SF_MUL && b->f != SF_DIV) || !dtype_is_float(b->dt))
		return ids;
	return ref_cast(c, ref_ids_block(c, tape_map1(c->t, SF_UNROUNDED, b->dt, ids, n), n), n, dt);
}

const sid *ref_copies(struct ref_ctx *c, const sid *ids, int64_t n, enum dtype dt)
{
	if (!c->grad || !dtype_is_float(dt) || n == 0)
		return ids;
	return ref_ids_block(c, tape_map1(c->t, SF_COPY, dt, ids, n), n);
}

sid ref_sums_at(struct ref_ctx *c, enum dtype dt, const int64_t *at, const sid *ids, int64_t n, int64_t cells)
{
	uint32_t *start = ARENA_ZNEW(c->t->arena, uint32_t, cells + 2);
	sid *entry = tape_ids(c->t, n);
	for (int64_t k = 0; k < n; k++)
		if (at[k] >= 0)
			start[at[k] + 2]++;
	for (int64_t i = 1; i <= cells; i++)
		start[i + 1] += start[i];
	for (int64_t k = 0; k < n; k++)
		if (at[k] >= 0)
			entry[start[at[k] + 1]++] = ids[k];
	return tape_nary(c->t, SF_SUM, dt, start, entry, cells, 0);
}

int ref_dims_named(const struct ref_ctx *c)
{
	const char *name = op_info[c->n->op].name;
	return name[strcspn(name, "123")] - '0';
}

bool ref_int(struct ref_ctx *c, int64_t *out, sid id)
{
	const struct num *v = tape_val(c->t, id);
	if (c->t->over || dtype_is_float((enum dtype)v->dtype) || v->flags & (NUM_UNDEC | NUM_ANY))
		return ref_undecided(c, "an index or mask of");
	*out = v->i;
	return true;
}

/* What an argmax or topk may have picked. */
static int64_t picked(struct ref_ctx *c, int64_t *at, const struct tape_block *b, sid id)
{
	int64_t n, count = 0;
	const sid *e = block_list(b, id - b->first, &n);
	struct arena_mark m = arena_mark(c->t->arena);
	bool *cand = ARENA_NEW(c->t->arena, bool, n + 1);
	pick_candidates(c->t, b, e, n, cand);
	for (int64_t i = 0; i < n; i++)
		if (cand[i])
			at[count++] = i;
	arena_release(c->t->arena, m);
	return count;
}

int64_t ref_positions(struct ref_ctx *c, const int64_t **at, sid id)
{
	enum { MOST = 4096 };
	const struct num *v = tape_val(c->t, id);
	const struct tape_block *b = tape_block_of(c->t, id);
	bool open = v->flags & NUM_UNDEC, arg = b->f == SF_KARGMAX || b->f == SF_KARGMIN;
	int64_t last = open ? (int64_t)v->rad : 0, n = 0;
	if (v->flags & NUM_ANY || last >= MOST)
		return 0;
	int64_t *out = ARENA_NEW(c->t->arena, int64_t, last + 1);
	*at = out;
	if (open && arg)
		return picked(c, out, b, id);
	for (int64_t k = 0; k <= last; k++)
		if (!open || !v->among || v->among >> k & 1)
			out[n++] = v->i + k;
	return n;
}

const int64_t *ref_ints(struct ref_ctx *c, const struct ref_tensor *t)
{
	int64_t n = meta_numel(&t->map);
	const sid *ids = ref_ids(c, t);
	if (c->t->over) {
		ref_unsupported(c, "too many scalars");
		return NULL;
	}
	int64_t *out = ARENA_NEW(c->t->arena, int64_t, n + 1);
	for (int64_t i = 0; i < n; i++)
		if (!ref_int(c, &out[i], ids[i]))
			return NULL;
	return out;
}

/* ---- results ---- */
static bool declare(struct ref_ctx *c, int k, enum dtype dt, const int64_t *size, int rank, const int64_t *stride)
{
	CHECK(k >= 0 && k < MAX_OUTS);
	if (!meta_check_sizes(size, rank, c->err))
		return false;
	struct meta *m = &c->out[k].meta;
	meta_make_contiguous(m, dt, size, rank);
	for (int d = 0; stride && d < rank; d++)
		m->stride[d] = stride[d];
	int64_t n = meta_numel(m);
	if (c->t->over || n > c->t->limit.nodes) {
		c->t->over = true;
		return ref_unsupported(c, "too many scalars");
	}
	c->view_of[k] = -1;
	c->nout = MAX(c->nout, k + 1);
	return true;
}

sid *ref_out(struct ref_ctx *c, int k, enum dtype dt, const int64_t *size, int rank, const int64_t *stride)
{
	if (!declare(c, k, dt, size, rank, stride))
		return NULL;
	return c->ids[k] = tape_ids(c->t, meta_numel(&c->out[k].meta));
}

bool ref_out_block(struct ref_ctx *c, int k, enum dtype dt, const int64_t *size, int rank, const int64_t *stride, sid first)
{
	sid *out = ref_out(c, k, dt, size, rank, stride);
	if (!out)
		return false;
	int64_t n = meta_numel(&c->out[k].meta);
	for (int64_t i = 0; i < n; i++)
		out[i] = first + (sid)i;
	return true;
}

bool ref_out_ids(struct ref_ctx *c, int k, enum dtype dt, const int64_t *size, int rank, const int64_t *stride, const sid *ids)
{
	if (!declare(c, k, dt, size, rank, stride))
		return false;
	int64_t n = meta_numel(&c->out[k].meta);
	c->ids[k] = tape_ids(c->t, n);
	memcpy(c->ids[k], ids, (size_t)n * sizeof *ids);
	return true;
}

bool ref_out_none(struct ref_ctx *c, int k)
{
	const int64_t nothing = 0;
	if (!ref_out(c, k, DT_F32, &nothing, 1, NULL))
		return false;
	c->out[k].meta.absent = true;
	return true;
}

bool ref_out_view(struct ref_ctx *c, int k, int arg, const int64_t *size, const int64_t *stride, int rank, int64_t offset)
{
	struct meta *m = &c->out[k].meta;
	const struct ref_tensor *in = c->in[arg];
	if (!meta_check_sizes(size, rank, c->err))
		return false;
	memset(m, 0, sizeof *m);
	m->dtype = in->meta.dtype;
	m->device = in->meta.device;
	m->rank = rank;
	m->offset = offset;
	for (int d = 0; d < rank; d++) {
		m->size[d] = size[d];
		m->stride[d] = stride[d];
	}
	c->view_of[k] = arg;
	c->ids[k] = NULL;
	c->nout = MAX(c->nout, k + 1);
	return true;
}

bool ref_out_same(struct ref_ctx *c, int k, int arg)
{
	const struct meta *m = &c->in[arg]->meta;
	return ref_out_view(c, k, arg, m->size, m->stride, m->rank, m->offset);
}

/* ---- dims ---- */
bool ref_dim(struct ref_ctx *c, int *out, int64_t dim, int rank)
{
	int64_t r = rank ? rank : 1;
	if (dim < -r || dim >= r)
		return err_set(c->err, "Dimension out of range (expected to be in range of [%lld, %lld], but got %lld)", (long long)-r,
			(long long)(r - 1), (long long)dim);
	*out = (int)(dim < 0 ? dim + r : dim);
	return true;
}

bool ref_dims(struct ref_ctx *c, bool mask[MAX_RANK], int arg, int rank, bool all_if_empty)
{
	const struct arg *a = &c->n->arg[arg];
	bool all = a->tag == ARG_NONE || (a->n == 0 && all_if_empty);
	for (int d = 0; d < MAX_RANK; d++)
		mask[d] = all && d < rank;
	for (int i = 0; a->tag == ARG_INTS && i < a->n; i++) {
		int d = 0;
		if (!ref_dim(c, &d, a->ints[i].value, rank))
			return false;
		if (mask[d] || (rank == 0 && i > 0))
			return err_set(c->err, "dim %d appears multiple times in the list of dims", d);
		mask[d] = true;
	}
	return true;
}

const sid *ref_rows(struct ref_ctx *c, const struct ref_tensor *t, const bool mask[MAX_RANK], int64_t *nkept, int64_t *nreduced)
{
	struct meta m = t->map;
	int r = 0;
	*nkept = *nreduced = 1;
	for (int pass = 0; pass < 2; pass++) {
		for (int d = 0; d < t->map.rank; d++) {
			if (mask[d] != (pass == 1))
				continue;
			m.size[r] = t->map.size[d];
			m.stride[r++] = t->map.stride[d];
			*(pass ? nreduced : nkept) *= t->map.size[d];
		}
	}
	return read_map(c, t, &m);
}

bool ref_out_rows(struct ref_ctx *c, int k, enum dtype dt, const struct meta *m, const bool mask[MAX_RANK], sid first)
{
	sid *out = ref_out(c, k, dt, m->size, m->rank, NULL);
	int64_t inner = 1, len = 1;
	int d = m->rank - 1;
	if (!out)
		return false;
	for (; d >= 0 && !mask[d]; d--)
		inner *= m->size[d];
	len = d >= 0 ? m->size[d] : 1;
	/* Element j of row r = (before, after dim) lies at (r / inner, j, r % inner). */
	for (int64_t i = 0, n = meta_numel(m); i < n; i++) {
		int64_t r = i / len, j = i % len;
		out[(r / inner * len + j) * inner + r % inner] = c->t->over ? 0 : first + (sid)i;
	}
	return true;
}

int ref_reduced(int64_t size[MAX_RANK], const struct meta *m, const bool mask[MAX_RANK], bool keepdim)
{
	int r = 0;
	for (int d = 0; d < m->rank; d++) {
		if (!mask[d])
			size[r++] = m->size[d];
		else if (keepdim)
			size[r++] = 1;
	}
	return r;
}
