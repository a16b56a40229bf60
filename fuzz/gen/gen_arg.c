/* gen_arg.c: arguments that are not tensors, by kind and role, valid for the self at hand. Dims are drawn first because indices,
 * windows and counts refer to them; then everything else in schema order. */
#include "fuzz/gen/gen_internal.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

#include <math.h>

static const struct param *param_of(const struct making *m, int k) { return &op_info[m->op].param[k]; }

static int64_t from_front(int64_t dim, int rank) { return dim < 0 ? dim + MAX(rank, 1) : dim; }

static int dim_arg(const struct making *m, int nth)
{
	for (int k = 0; k < op_info[m->op].nparam; k++) {
		if (param_of(m, k)->kind == K_DIM && m->arg[k].tag == ARG_INT && nth-- == 0)
			return (int)from_front(m->arg[k].i.value, m->meta.rank);
	}
	return -1;
}

int making_dim(const struct making *m)
{
	int d = dim_arg(m, 0);
	return d < 0 ? 0 : d;
}

static int64_t dim_size(const struct making *m)
{
	int d = making_dim(m);
	return d < m->meta.rank ? m->meta.size[d] : 1;
}

/* A position among n, sometimes counted from the end. */
static int64_t position(struct world *w, int64_t i, int64_t n) { return chance(w, PF_negative) ? i - n : i; }

static bool keep_default(struct world *w, const struct param *q) { return q->has_default && chance(w, PF_plain); }

int longest_dim(const struct meta *m)
{
	int longest = 0;
	for (int d = 1; d < m->rank; d++)
		if (m->size[d] > m->size[longest])
			longest = d;
	return longest;
}

/* ---- dims ------------------------------------------------------------------------------------------------------- */

static bool draw_dim(struct world *w, struct making *m, int k)
{
	const struct param *q = param_of(m, k);
	const bool inserts = q->role == R_INSERT || q->role == R_INSERT_DISTINCT;
	int rank = MAX(m->meta.rank, 1), n = inserts ? m->meta.rank + 1 : rank;
	int before = q->role == R_DISTINCT ? dim_arg(m, 0) : q->role == R_INSERT_DISTINCT ? (int)from_front(m->arg[k - 1].i.value, n) : -1;
	if (q->role == R_DISTINCT && n < 2)
		return false;
	bool splits = op_info[m->op].nret < 0 && m->meta.rank && q->role == R_ANY;
	if (q->optional && chance(w, PF_plain))
		return true;
	if (!w->lane && keep_default(w, q) && !q->dflt_none && q->dflt.i >= -n && q->dflt.i < n
		&& from_front(q->dflt.i, inserts ? n : m->meta.rank) != before && !splits) {
		m->arg[k] = arg_int(q->dflt.i);
		return true;
	}
	int64_t d = w->lane ? longest_dim(&m->meta) : choose_int(w->c, 0, n - 1 - (before >= 0));
	d += before >= 0 && d >= before;
	if (splits) {
		/* As many results as the dim is long, unless a chunk size says otherwise. */
		for (int i = 0; i < n && (m->meta.size[d] > MAX_OUTS || !m->meta.size[d]); i++)
			d = (d + 1) % n;
		if (m->meta.size[d] > MAX_OUTS || !m->meta.size[d])
			return false;
	}
	m->arg[k] = arg_int(position(w, d, n));
	return true;
}

static bool draw_dims(struct world *w, struct making *m, int k)
{
	const struct param *q = param_of(m, k);
	int rank = m->meta.rank, n = 0;
	int64_t dims[MAX_RANK];
	if (q->role == R_PERM) {
		for (int d = 0; d < rank; d++)
			dims[d] = d;
		for (int d = 0; d < rank - 1; d++) {
			int e = d + (int)choose_below(w->c, (uint64_t)(rank - d));
			int64_t t = dims[d];
			dims[d] = dims[e];
			dims[e] = t;
		}
		n = rank;
	} else {
		if (q->optional && choose_chance(w->c, 15))
			return true;
		if (q->has_default && (rank == 0 || choose_chance(w->c, 20)))
			return true; /* default: None or [], filled in later */
		if (rank == 0)
			dims[n++] = 0;
		else
			dims[n++] = (int64_t)choose_below(w->c, (uint64_t)rank);
		for (int d = 0; d < rank; d++)
			if (d != dims[0] && choose_chance(w->c, 30))
				dims[n++] = d;
	}
	for (int i = 0; i < n; i++)
		dims[i] = position(w, dims[i], MAX(rank, 1));
	m->arg[k] = arg_ints(w->p, dims, n);
	return true;
}

/* ---- sizes -------------------------------------------------------------------------------------------------------- */

static bool value_EXPAND(struct world *w, struct making *m, int k)
{
	const struct meta *s = &m->meta;
	int64_t size[MAX_RANK];
	int rank = s->rank + (s->rank < 5 ? (int)choose_below(w->c, 3) : 0), lead = rank - s->rank;
	int64_t room = w->max_numel / MAX(meta_numel(s), 1);
	for (int d = 0; d < rank; d++) {
		int64_t old = d < lead ? 1 : s->size[d - lead];
		int64_t new = old != 1 ? old : draw_size(w);
		if (old == 1 && new > 1) {
			new = new <= room ? new : 1;
			room /= new;
		}
		size[d] = old != 1 && d >= lead && chance(w, PF_minus_one) ? -1 : new;
	}
	m->arg[k] = arg_ints(w->p, size, rank);
	return true;
}

/* May dims d and d+1 be merged without a copy? */
static bool mergeable(const struct meta *s, int d)
{
	return s->size[d] == 1 || s->size[d + 1] == 1 || s->stride[d] == s->stride[d + 1] * s->size[d + 1];
}

/* A walk of splits, merges and ones from self's own sizes. With `strict` every merge respects strides (and then so do splits). */
static void draw_reshape(struct world *w, struct making *m, int k, bool strict)
{
	struct meta s = m->meta;
	int steps = 1 + (int)choose_below(w->c, 3);
	int64_t numel = meta_numel(&s);
	for (int i = 0; i < steps; i++) {
		int d = s.rank ? (int)choose_below(w->c, (uint64_t)s.rank) : 0;
		bool merge = choose_chance(w->c, 50);
		if (merge && d + 1 < s.rank && (!strict || (numel && mergeable(&s, d)))) {
			s.stride[d] = s.size[d + 1] == 1 ? s.stride[d] : s.stride[d + 1];
			s.size[d] *= s.size[d + 1];
			for (int e = d + 1; e + 1 < s.rank; e++) {
				s.size[e] = s.size[e + 1];
				s.stride[e] = s.stride[e + 1];
			}
			s.rank--;
		} else if (s.rank < 5) {
			/* Split dim d into [a, b]; a = 1 inserts a dim. */
			int64_t n = s.rank ? s.size[d] : 1, a = 1;
			for (int64_t f = 2; f <= 7; f++)
				if (n && n % f == 0 && choose_chance(w->c, 40))
					a = f;
			for (int e = s.rank; e > d; e--) {
				s.size[e] = s.size[e - 1];
				s.stride[e] = s.stride[e - 1];
			}
			s.size[d] = a;
			if (s.rank) {
				s.size[d + 1] = n / a;
				s.stride[d] = s.stride[d + 1] * (n / a);
			} else {
				s.stride[d] = 1;
			}
			s.rank++;
		}
	}
	if (numel && s.rank && chance(w, PF_minus_one))
		s.size[choose_below(w->c, (uint64_t)s.rank)] = -1;
	m->arg[k] = arg_ints(w->p, s.size, s.rank);
}

static bool value_REPEAT(struct world *w, struct making *m, int k)
{
	int rank = m->meta.rank + (m->meta.rank < 5 ? (int)choose_below(w->c, 2) : 0);
	int64_t reps[MAX_RANK], room = w->max_numel / MAX(meta_numel(&m->meta), 1);
	for (int d = 0; d < rank; d++) {
		reps[d] = chance(w, PF_size_zero) ? 0 : 1 + (int64_t)choose_below(w->c, 3);
		if (reps[d] > room)
			reps[d] = 1;
		room /= MAX(reps[d], 1);
	}
	m->arg[k] = arg_ints(w->p, reps, rank);
	return true;
}

/* Size, Ints and Index of as_strided: self's own cells seen as [a, b] cut somewhere, maybe swapped. Self is dense. */
static bool value_STRIDED(struct world *w, struct making *m, int k)
{
	if (param_of(m, k)->kind == K_SIZE) {
		int64_t n = meta_numel(&m->meta), start = n ? (int64_t)choose_below(w->c, (uint64_t)n) : 0;
		if (choose_chance(w->c, 60) || param_of(m, m->anchor)->role == R_PACKED)
			start = 0;
		struct meta *s = &m->strided;
		int64_t left = n - start, inner = left ? choose_int(w->c, 1, left) : 0;
		*s = (struct meta){
			.rank = 2, .size = {inner ? left / inner : 0, inner}, .stride = {MAX(inner, 1), 1}, .offset = m->meta.offset + start};
		if (inner > 1 && choose_chance(w->c, 40))
			s->size[1] = choose_int(w->c, 1, inner);
		if (inner > 1 && choose_chance(w->c, 30)) {
			s->stride[1] = 2;
			s->size[1] = (s->size[1] + 1) / 2;
		}
		if (choose_chance(w->c, 30)) {
			int64_t t = s->size[0], u = s->stride[0];
			s->size[0] = s->size[1], s->stride[0] = s->stride[1];
			s->size[1] = t, s->stride[1] = u;
		}
		m->arg[k] = arg_ints(w->p, s->size, s->rank);
	} else if (param_of(m, k)->kind == K_INTS) {
		m->arg[k] = arg_ints(w->p, m->strided.stride, m->strided.rank);
	} else if (param_of(m, m->anchor)->role != R_PACKED && (m->strided.offset != m->meta.offset || !choose_chance(w->c, 30))) {
		m->arg[k] = arg_int(m->strided.offset); /* None: self's own */
	}
	return true;
}

/* ---- the whole of which self is a part ---------------------------------------------------------------------------------- */

/* Arguments of a row by name; a row has the names that its view has. */
static void set_arg(struct world *w, struct making *m, int name, int64_t v, int64_t wraps)
{
	int k = op_arg(m->op, name);
	m->arg[k] = arg_int(wraps ? position(w, v, wraps) : v);
	m->done[k] = true;
}

static void insert_size(struct meta *s, int d, int64_t size)
{
	for (int e = s->rank++; e > d; e--)
		s->size[e] = s->size[e - 1];
	s->size[d] = size;
}

/* self = slice(whole, dim, start, end, step): some room before and behind; the end may be clipped. */
static bool whole_of_slice(struct world *w, struct making *m, struct meta *s)
{
	if (s->rank == 0)
		return false;
	int d = (int)choose_below(w->c, (uint64_t)s->rank);
	int64_t n = s->size[d], step = choose_int(w->c, 1, 3), start = choose_below(w->c, 4) ? (int64_t)choose_below(w->c, 3) : 0;
	int64_t end = n ? start + (n - 1) * step + 1 : start, size = end + (int64_t)choose_below(w->c, 3);
	bool open = n && size - end < step && choose_chance(w->c, 30);
	s->size[d] = size;
	set_arg(w, m, N_dim, d, s->rank);
	set_arg(w, m, N_start, start, start < size ? size : 0);
	if (open)
		set_arg(w, m, N_end, choose_chance(w->c, 50) ? size : INT64_MAX, 0);
	else
		set_arg(w, m, N_end, end, end < size ? size : 0);
	set_arg(w, m, N_step, step, 0);
	return true;
}

static bool whole_of_select(struct world *w, struct making *m, struct meta *s)
{
	int d = (int)choose_below(w->c, (uint64_t)s->rank + 1);
	int64_t size = draw_size(w);
	size = MAX(size, 1);
	insert_size(s, d, size);
	set_arg(w, m, N_dim, d, s->rank);
	set_arg(w, m, N_index, choose_int(w->c, 0, size - 1), size);
	return true;
}

/* The last dim of self is the diagonal of two dims; one of them may be longer. */
static bool whole_of_diagonal(struct world *w, struct making *m, struct meta *s)
{
	int64_t n = s->size[--s->rank], offset = choose_int(w->c, 0, 4) - 2, row = offset < 0 ? -offset : 0, col = offset > 0 ? offset : 0;
	int a = (int)choose_below(w->c, (uint64_t)s->rank + 1), b = (int)choose_below(w->c, (uint64_t)s->rank + 2);
	int64_t more = (int64_t)choose_below(w->c, 3);
	bool longer = choose_chance(w->c, 50);
	insert_size(s, a, n + row + (longer ? more : 0));
	insert_size(s, b, n + col + (longer ? 0 : more));
	a += b <= a;
	set_arg(w, m, N_offset, offset, 0);
	set_arg(w, m, N_dim1, a, s->rank);
	set_arg(w, m, N_dim2, b, s->rank);
	return true;
}

/* The last dim of self is a window's; the dim before it that was unfolded counts the windows. */
static bool whole_of_unfold(struct world *w, struct making *m, struct meta *s)
{
	int64_t len = s->size[--s->rank];
	int d = s->rank ? (int)choose_below(w->c, (uint64_t)s->rank) : 0;
	int64_t n = s->rank ? s->size[d] : 1, step = choose_int(w->c, 1, 3), rest = (int64_t)choose_below(w->c, (uint64_t)step);
	if (n == 0 || (s->rank == 0 && len > 1))
		return false;
	if (s->rank)
		s->size[d] = (n - 1) * step + len + rest;
	set_arg(w, m, N_dim, d, MAX(s->rank, 1));
	set_arg(w, m, N_size, len, 0);
	set_arg(w, m, N_step, step, 0);
	return true;
}

static bool value_WHOLE(struct world *w, struct making *m, int k)
{
	struct meta s = m->meta;
	if (m->arg[k].tag != ARG_NONE)
		return true; /* drawn with the one before */
	bool ok = op_arg(m->op, N_start) >= 0 ? whole_of_slice(w, m, &s)
		: op_arg(m->op, N_index) >= 0     ? whole_of_select(w, m, &s)
		: op_arg(m->op, N_offset) >= 0    ? whole_of_diagonal(w, m, &s)
										  : whole_of_unfold(w, m, &s);
	int size = op_arg(m->op, N_input_sizes);
	if (!ok || meta_numel(&s) > 4 * w->max_numel)
		return false;
	m->arg[size] = arg_ints(w->p, s.size, s.rank);
	m->done[size] = true;
	return true;
}

static bool draw_any_size(struct world *w, struct making *m, int k)
{
	struct shape s;
	draw_shape(w, &s, 0, 5);
	m->arg[k] = arg_ints(w->p, s.size, s.rank);
	return true;
}

static bool value_PAD(struct world *w, struct making *m, int k)
{
	int64_t pad[2 * MAX_RANK];
	int n = m->meta.rank ? 1 + (int)choose_below(w->c, (uint64_t)m->meta.rank) : 0;
	for (int i = 0; i < n; i++) {
		int64_t size = m->meta.size[m->meta.rank - 1 - i];
		pad[2 * i] = (int64_t)choose_below(w->c, 3);
		pad[2 * i + 1] = (int64_t)choose_below(w->c, 3);
		if (size > 1 && choose_chance(w->c, 20))
			pad[2 * i + (int)choose_below(w->c, 2)] = -choose_int(w->c, 1, size - 1);
	}
	m->arg[k] = arg_ints(w->p, pad, 2 * n);
	return true;
}

/* Two different dims. */
static bool value_PLANE(struct world *w, struct making *m, int k)
{
	const int rank = m->meta.rank;
	if (keep_default(w, param_of(m, k)))
		return true;
	const int64_t i = choose_int(w->c, 0, rank - 1), j = choose_int(w->c, 0, rank - 2);
	const int64_t dims[] = {position(w, i, rank), position(w, j + (j >= i), rank)};
	m->arg[k] = arg_ints(w->p, dims, 2);
	return true;
}

static bool value_TURNS(struct world *w, struct making *m, int k)
{
	if (!keep_default(w, param_of(m, k)))
		m->arg[k] = arg_int(choose_int(w->c, 0, 8) - 4);
	return true;
}

static bool value_EXTENT(struct world *w, struct making *m, int k)
{
	m->arg[k] = arg_int(MIN(draw_size(w), 16));
	return true;
}

/* A mirror shows no more than there is. */
static bool value_BORDER(struct world *w, struct making *m, int k)
{
	int64_t pad[6];
	const struct meta *self = &m->meta;
	const int n = role_info[op_info[m->op].param[op_arg(m->op, N_self)].role].max_rank - 2;
	for (int d = self->rank - n - 1; d < self->rank && !w->alone; d++)
		if (self->size[d] == 0)
			return false;
	for (int i = 0; i < n; i++) {
		const int64_t size = MAX(self->size[self->rank - 1 - i], 1), most = str_starts(op_info[m->op].name, "reflection") ? size - 1 : 3;
		for (int side = 0; side < 2; side++)
			pad[2 * i + side] = choose_int(w->c, 0, MIN(most, 3));
		if (size > 1 && choose_chance(w->c, 20))
			pad[2 * i + (int)choose_below(w->c, 2)] = -choose_int(w->c, 1, size - 1);
	}
	m->arg[k] = arg_ints(w->p, pad, 2 * n);
	return true;
}

static bool value_SHIFTS(struct world *w, struct making *m, int k)
{
	int64_t shift[MAX_RANK];
	int n = 1;
	for (int j = k + 1; j < op_info[m->op].nparam; j++)
		if (param_of(m, j)->kind == K_DIMS && m->arg[j].tag == ARG_INTS)
			n = MAX(m->arg[j].n, 1);
	for (int i = 0; i < n; i++)
		shift[i] = choose_int(w->c, 0, 6) - 2;
	m->arg[k] = arg_ints(w->p, shift, n);
	return true;
}

/* ---- single numbers --------------------------------------------------------------------------------------------------- */

/* `start` and `end` of a slice, drawn together: optional Index parameters side by side. */
static void draw_bounds(struct world *w, struct making *m, int k)
{
	int64_t n = dim_size(m), start, end;
	if (chance(w, PF_size_zero)) {
		start = choose_int(w->c, 0, n + 1);
		end = choose_int(w->c, 0, n + 1);
	} else {
		int64_t len = n ? choose_int(w->c, 1, n) : 0;
		start = choose_int(w->c, 0, n - len);
		end = start + len;
	}
	if (start || choose_chance(w->c, 50))
		m->arg[k] = arg_int(start < n ? position(w, start, n) : start);
	if (end < n || choose_chance(w->c, 50))
		m->arg[k + 1] = arg_int(end < n ? position(w, end, n) : end + (choose_chance(w->c, 15) ? INT32_MAX : 0));
	m->done[k + 1] = true;
}

static bool draw_index(struct world *w, struct making *m, int k)
{
	if (param_of(m, k)->optional) {
		draw_bounds(w, m, k);
		return true;
	}
	int64_t n = dim_size(m);
	if (n == 0)
		return false;
	m->arg[k] = arg_int(position(w, choose_int(w->c, 0, n - 1), n));
	return true;
}

static bool draw_step(struct world *w, struct making *m, int k)
{
	if (!keep_default(w, param_of(m, k)))
		m->arg[k] = arg_int(choose_int(w->c, 1, 3));
	return true;
}

static bool value_CHUNK(struct world *w, struct making *m, int k)
{
	int64_t n = dim_size(m), least = (n + MAX_OUTS - 1) / MAX_OUTS;
	m->arg[k] = arg_int(choose_int(w->c, MAX(least, 1), MAX(n, 1)));
	return true;
}

/* Some of them empty. */
static bool value_PIECES(struct world *w, struct making *m, int k)
{
	int64_t piece[6], left = dim_size(m);
	const int n = (int)choose_int(w->c, 1, ARRAY_LEN(piece));
	for (int i = 0; i < n; i++) {
		piece[i] = i == n - 1 ? left : choose_int(w->c, 0, left);
		left -= piece[i];
	}
	m->arg[k] = arg_ints(w->p, piece, n);
	return true;
}

static bool value_DIAG(struct world *w, struct making *m, int k)
{
	if (!keep_default(w, param_of(m, k)))
		m->arg[k] = arg_int(choose_int(w->c, 0, 4) - 2);
	return true;
}

static bool value_WINDOW(struct world *w, struct making *m, int k)
{
	int64_t n = dim_size(m);
	if (n == 0)
		return false;
	m->arg[k] = arg_int(choose_int(w->c, 1, n));
	return true;
}

static bool value_COUNT(struct world *w, struct making *m, int k)
{
	int64_t n = w->lane ? MIN(dim_size(m), 4) : dim_size(m);
	m->arg[k] = arg_int(n ? choose_int(w->c, 1, n) : 0);
	return true;
}

/* ---- windows that slide ---- */

static void set_list(struct world *w, struct making *m, int name, const int64_t *v, int n)
{
	const int k = op_arg(m->op, name);
	if (k < 0)
		return;
	m->arg[k] = arg_ints(w->p, v, n);
	m->done[k] = true;
}

/* A divisor of n, mostly 1 or n itself. */
static int64_t draw_divisor(struct world *w, int64_t n)
{
	int64_t d = choose_chance(w->c, 70) ? 1 : n;
	for (int64_t f = 2; f < n && f <= 8; f++)
		if (n % f == 0 && choose_chance(w->c, 25))
			d = f;
	return MAX(d, 1);
}

struct slide {
	int64_t kernel, stride, padding, dilation;
};

/* Does some position of the window have entry k inside? */
static bool is_inside(const struct slide *s, int64_t size, int64_t k)
{
	for (int64_t at = k * s->dilation - s->padding; at < size; at += s->stride) {
		if (at - k * s->dilation + (s->kernel - 1) * s->dilation >= size + s->padding)
			return false; /* no such position */
		if (at >= 0)
			return true;
	}
	return false;
}

/* One dim of a window, which fits into `size` and the padding around it. Each of its entries is inside somewhere: oneDNN's gradient of
 * bf16 of others is what the memory held, and it may end its process where a window of one entry steps through the padding. */
static struct slide draw_slide(struct world *w, int64_t size)
{
	struct slide s = {.dilation = choose_chance(w->c, 20) ? 2 : 1};
	const int64_t pad = choose_chance(w->c, 40) ? choose_int(w->c, 1, 2) : 0;
	const int64_t most = (size + 2 * pad - 1) / s.dilation + 1; /* entries that fit */
	s.kernel = choose_int(w->c, 1, MAX(MIN(most, 4), 1));
	s.stride = choose_chance(w->c, 40) ? choose_int(w->c, 2, 3) : 1;
	s.padding = MIN(pad, (s.kernel - 1) * s.dilation);
	bool inside = true;
	for (int64_t k = 0; k < s.kernel; k++)
		inside = inside && is_inside(&s, size, k);
	if (!inside || size + 2 * s.padding < (s.kernel - 1) * s.dilation + 1) {
		s.padding = 0;
		s.kernel = MIN(s.kernel, (size - 1) / s.dilation + 1);
		s.kernel = MAX(s.kernel, 1);
	}
	return s;
}

/* The same of a map of `size` places, of which a transposed convolution makes an image of *image; more: output_padding. */
static struct slide draw_transposed(struct world *w, int64_t size, int64_t *more, int64_t *image)
{
	struct slide s = {.dilation = choose_chance(w->c, 20) ? 2 : 1, .kernel = choose_int(w->c, 1, 3)};
	s.stride = choose_chance(w->c, 40) ? choose_int(w->c, 2, 3) : 1;
	*more = choose_chance(w->c, 40) ? choose_int(w->c, 0, MAX(s.stride, s.dilation) - 1) : 0;
	const int64_t whole = (size - 1) * s.stride + (s.kernel - 1) * s.dilation + 1 + *more;
	s.padding = choose_chance(w->c, 40) ? MIN(choose_int(w->c, 1, 2), (s.kernel - 1) * s.dilation) : 0;
	bool inside = whole > 2 * s.padding;
	for (int64_t k = 0; k < s.kernel; k++)
		inside = inside && is_inside(&s, whole - 2 * s.padding, k);
	s.padding = inside ? s.padding : 0;
	*image = whole - 2 * s.padding;
	return s;
}

static void set_value(struct making *m, int name, struct arg v)
{
	const int k = op_arg(m->op, name);
	m->arg[k] = v;
	m->done[k] = true;
}

/* All that says how a window slides, and the sizes of what slides (m->strided): filters, channels of a group, kernel. */
static bool value_SLIDING(struct world *w, struct making *m, int k)
{
	const struct meta *self = &m->meta;
	const int ndim = self->rank - 2;
	int64_t stride[3], padding[3], dilation[3], more[3] = {0}, work = 1;
	if (m->arg[k].tag != ARG_NONE)
		return true; /* drawn with the one before */
	if (meta_numel(self) == 0 && !w->alone)
		return false;
	const bool transposed = choose_chance(w->c, 30);
	const int64_t groups = draw_divisor(w, self->size[1]), each = choose_int(w->c, 1, 3);
	struct meta *filter = &m->strided;
	*filter =
		(struct meta){.rank = self->rank, .size = {transposed ? self->size[1] : groups * each, transposed ? each : self->size[1] / groups}};
	for (int d = 0; d < ndim; d++) {
		const int64_t size = self->size[2 + d];
		int64_t image = size;
		const struct slide s = transposed ? draw_transposed(w, MAX(size, 1), &more[d], &image) : draw_slide(w, size);
		filter->size[2 + d] = s.kernel;
		stride[d] = s.stride, padding[d] = s.padding, dilation[d] = s.dilation;
		work *= transposed ? MAX(s.kernel * size, image) : s.kernel * (size + 2 * s.padding) / s.stride;
	}
	int64_t *chosen = &filter->size[transposed];
	const int64_t least = transposed ? 1 : groups;
	work *= self->size[0] * filter->size[!transposed];
	while (*chosen > least && work * *chosen > 8 * w->max_numel)
		*chosen -= least;
	if (work * *chosen > 32 * w->max_numel)
		return false;
	set_list(w, m, N_stride, stride, ndim);
	set_list(w, m, N_padding, padding, ndim);
	set_list(w, m, N_dilation, dilation, ndim);
	set_list(w, m, N_output_padding, more, ndim);
	set_value(m, N_groups, arg_int(groups));
	set_value(m, N_transposed, arg_bool(transposed));
	return true;
}

int64_t filters_drawn(const struct making *m)
{
	const int64_t *size = m->strided.size;
	return m->arg[op_arg(m->op, N_transposed)].b ? size[1] * m->arg[op_arg(m->op, N_groups)].i.value : size[0];
}

/* Known once the filters are: what does not ask for the bias' gradient may say anything, PyTorch's graphs say [0]. */
static bool value_FILTERS(struct world *w, struct making *m, int k)
{
	const int first = op_arg(m->op, N_stride);
	if (!m->done[first]) {
		m->done[first] = true;
		if (!value_SLIDING(w, m, first))
			return false;
	}
	if (!choose_chance(w->c, 25)) /* else None */
		m->arg[k] = arg_ints(w->p, (int64_t[]){filters_drawn(m)}, 1);
	return true;
}

/* One dim of a pool's window, which fits into `size` and the padding around it. */
static struct slide draw_pooled(struct world *w, int64_t size, bool dilated)
{
	struct slide s = {.kernel = choose_int(w->c, 1, MIN(size + 2, 4)), .stride = choose_int(w->c, 1, 3), .dilation = 1};
	s.padding = choose_chance(w->c, 40) ? s.kernel / 2 : 0;
	if (dilated && choose_chance(w->c, 25) && size > 2 && (s.kernel - 1) * 2 + 1 <= size + 2 * s.padding)
		s.dilation = 2;
	if (s.kernel > size + 2 * s.padding)
		s.kernel = size, s.padding = 0;
	return s;
}

static bool value_POOLED(struct world *w, struct making *m, int k)
{
	static const int64_t divisors[] = {2, 3, 1, 5, -2};
	const struct meta *self = &m->meta;
	const struct param *q = param_of(m, k);
	int64_t kernel[3], stride[3], padding[3], dilation[3];
	const int n = op_info[m->op].param[op_arg(m->op, N_self)].role == R_VOLUMES ? 3 : 2;
	if (q->kind == K_BOOL)
		m->arg[k] = arg_bool(choose_chance(w->c, 50));
	if (q->kind == K_INT && choose_chance(w->c, 25))
		m->arg[k] = arg_int(divisors[choose_below(w->c, ARRAY_LEN(divisors))]);
	if (q->kind != K_INTS || m->arg[k].tag != ARG_NONE)
		return true;
	for (int d = 0; d < n; d++) {
		const int64_t size = self->size[self->rank - n + d];
		if (size == 0 && !w->alone)
			return false;
		const struct slide s = draw_pooled(w, MAX(size, 1), op_arg(m->op, N_dilation) >= 0);
		kernel[d] = s.kernel, stride[d] = s.stride, padding[d] = s.padding, dilation[d] = s.dilation;
	}
	set_list(w, m, N_kernel_size, kernel, n);
	set_list(w, m, N_stride, stride, choose_chance(w->c, 25) ? 0 : n);
	set_list(w, m, N_padding, padding, n);
	set_list(w, m, N_dilation, dilation, n);
	return true;
}

static int pooled_dims(const struct making *m) { return op_info[m->op].param[op_arg(m->op, N_self)].role == R_VOLUMES ? 3 : 2; }

static bool value_WINDOWS(struct world *w, struct making *m, int k)
{
	int64_t out[3];
	const int n = pooled_dims(m);
	if (meta_numel(&m->meta) == 0 && !w->alone)
		return false;
	for (int d = 0; d < n; d++)
		out[d] = choose_int(w->c, 1, MIN(m->meta.size[m->meta.rank - n + d] + 1, n == 2 ? 7 : 4));
	m->arg[k] = arg_ints(w->p, out, n);
	return true;
}

static bool value_UNPOOLED(struct world *w, struct making *m, int k)
{
	int64_t out[3], stride[3] = {2, 2, 2}, padding[3] = {0, 0, 0};
	const int n = pooled_dims(m);
	if (m->arg[k].tag != ARG_NONE)
		return true;
	if (meta_numel(&m->meta) == 0 && !w->alone)
		return false;
	for (int d = 0; d < n; d++)
		out[d] = MAX(m->meta.size[m->meta.rank - n + d], 1) + choose_int(w->c, 0, 3);
	set_list(w, m, N_output_size, out, n);
	set_list(w, m, N_stride, stride, n);
	set_list(w, m, N_padding, padding, n);
	return true;
}

/* One that divides n, small ones mostly. */
static int64_t draw_part_of(struct world *w, int64_t n, int64_t most)
{
	int64_t d = choose_int(w->c, 1, MIN(n, most));
	while (n % d)
		d--;
	return d;
}

/* Of planes as a pool's; of columns: a plane on which as many windows move, with taps that divide the channels. */
static bool value_UNFOLDED(struct world *w, struct making *m, int k)
{
	const struct meta *self = &m->meta;
	const bool columns = op_arg(m->op, N_output_size) >= 0;
	int64_t plane[2], kernel[2], stride[2], padding[2], dilation[2];
	if (m->arg[k].tag != ARG_NONE)
		return true;
	for (int d = self->rank - 2; d < self->rank; d++)
		if (self->size[d] == 0 || (self->rank > 2 && !columns && self->size[self->rank - 3] == 0))
			return false;
	int64_t taps = self->size[self->rank - 2], windows = self->size[self->rank - 1];
	for (int d = 0; d < 2; d++) {
		struct slide s = draw_pooled(w, self->size[self->rank - 2 + d], true);
		if (columns) {
			s.kernel = draw_part_of(w, taps, 4);
			taps /= s.kernel;
			const int64_t n = d ? windows : draw_part_of(w, windows, windows);
			windows /= n;
			const int64_t room = (n - 1) * s.stride + s.dilation * (s.kernel - 1) + 1 + choose_int(w->c, 0, s.stride - 1);
			s.padding = choose_chance(w->c, 40) ? choose_int(w->c, 0, MIN(2, (room - 1) / 2)) : 0;
			plane[d] = room - 2 * s.padding;
		}
		kernel[d] = s.kernel, stride[d] = s.stride, padding[d] = s.padding, dilation[d] = s.dilation;
	}
	set_list(w, m, N_output_size, plane, 2);
	set_list(w, m, N_kernel_size, kernel, 2);
	set_list(w, m, N_stride, stride, 2);
	set_list(w, m, N_padding, padding, 2);
	set_list(w, m, N_dilation, dilation, 2);
	return true;
}

static const double factors[] = {2, 0.5, 3, 1.5, 4, 0.25, 2.5, 1};

/* States the factor of each dim, mostly of all or of none; returns it, 0: none is stated. */
static double draw_factor_of(struct world *w, struct making *m, int dim, bool state)
{
	const double f = factors[choose_below(w->c, ARRAY_LEN(factors))];
	for (int k = 0; k < op_info[m->op].nparam; k++)
		if (param_of(m, k)->kind == K_FLOAT && dim-- == 0) {
			m->done[k] = true;
			if (state)
				m->arg[k] = arg_scalar_f(f);
		}
	return state ? f : 0;
}

static bool value_UPSAMPLED(struct world *w, struct making *m, int k)
{
	int64_t out[3];
	const int n = m->meta.rank - 2;
	const bool state = choose_chance(w->c, 40);
	if (m->arg[k].tag != ARG_NONE || param_of(m, k)->kind == K_FLOAT)
		return true;
	for (int d = 0; d < n; d++) {
		const int64_t size = m->meta.size[d + 2];
		const double f = draw_factor_of(w, m, d, state);
		if (m->meta.size[1] == 0 || size == 0)
			return false;
		out[d] = f > 0 ? MAX((int64_t)((double)size * f), 1) : choose_chance(w->c, 40) ? 2 * size : choose_int(w->c, 1, 2 * size + 1);
	}
	set_list(w, m, N_output_size, out, n);
	return true;
}

static bool value_DOWNSAMPLED(struct world *w, struct making *m, int k)
{
	int64_t in[5];
	const int n = m->meta.rank - 2;
	const bool state = choose_chance(w->c, 40);
	if (m->arg[k].tag != ARG_NONE || param_of(m, k)->kind == K_FLOAT)
		return true;
	memcpy(in, m->meta.size, sizeof in);
	for (int d = 0; d < n; d++) {
		const int64_t size = m->meta.size[d + 2];
		const double f = draw_factor_of(w, m, d, state);
		if (m->meta.size[1] == 0 || size == 0)
			return false;
		in[d + 2] = f > 0 ? MAX((int64_t)((double)size / f), 1) : choose_chance(w->c, 40) ? (size + 1) / 2 : choose_int(w->c, 1, size + 2);
	}
	set_list(w, m, N_output_size, &m->meta.size[2], n);
	set_list(w, m, N_input_size, in, n + 2);
	return true;
}

static bool value_NROWS(struct world *w, struct making *m, int k)
{
	int64_t n = draw_size(w);
	m->arg[k] = arg_int(MAX(n, 1));
	return true;
}

static bool value_PADDING(struct world *w, struct making *m, int k)
{
	const int given = op_arg(m->op, N_num_weights);
	int64_t rows = given >= 0 ? m->arg[given].i.value : m->meta.size[0];
	m->arg[k] = arg_int(rows && choose_chance(w->c, 40) ? (int64_t)choose_below(w->c, (uint64_t)rows) : -1);
	return true;
}

static bool value_EVEN(struct world *w, struct making *m, int k)
{
	int fits[MAX_RANK], n = 0;
	for (int d = 0; d < m->meta.rank; d++)
		if (m->meta.size[d] % 2 == 0)
			fits[n++] = d;
	if (!n)
		return false;
	m->arg[k] = arg_int(position(w, fits[choose_below(w->c, (uint64_t)n)], m->meta.rank));
	return true;
}

/* Of nothing only 1: PyTorch 2.11.0 and 2.15.0 refuse the gradient of pixel_shuffle by more of a tensor without elements, their bug
 * (corpus/regressions/pixel_shuffle_of_nothing.prog), and each such program would be refused for it again. */
static bool value_UPSCALE(struct world *w, struct making *m, int k)
{
	int64_t channels = m->meta.size[m->meta.rank - 3], fits[8] = {0};
	int n = 0;
	for (int64_t f = 1; n < ARRAY_LEN(fits) && (f == 1 || (f * f <= channels && meta_numel(&m->meta))); f++)
		if (channels % (f * f) == 0)
			fits[n++] = f;
	m->arg[k] = arg_int(fits[n - 1 - (int)choose_below(w->c, (uint64_t)n)]);
	return true;
}

/* Of nothing only 1, for the same reason: what PyTorch gives then has self's sizes, and its gradient is refused. */
static bool value_DOWNSCALE(struct world *w, struct making *m, int k)
{
	const int64_t *size = &m->meta.size[m->meta.rank - 2];
	int64_t fits[8] = {1};
	int n = 1;
	for (int64_t f = 2; n < ARRAY_LEN(fits) && f <= MIN(size[0], size[1]) && meta_numel(&m->meta); f++)
		if (size[0] % f == 0 && size[1] % f == 0)
			fits[n++] = f;
	m->arg[k] = arg_int(fits[n - 1 - (int)choose_below(w->c, (uint64_t)n)]);
	return true;
}

/* Of a row without self: what its dtype argument says. */
static enum dtype result_dtype(const struct making *m)
{
	for (int k = 0; k < op_info[m->op].nparam; k++)
		if (m->arg[k].tag == ARG_DTYPE)
			return m->arg[k].dtype;
	return DT_F32;
}

/* A range of a drawn length, as `end`, `start, end` or `start, end, step`. Quarters and small integers: no dtype rounds their sums. */
static bool value_RANGE(struct world *w, struct making *m, int k)
{
	int part[3], n = 0;
	for (int j = k; j < op_info[m->op].nparam; j++)
		if (param_of(m, j)->role == R_RANGE)
			part[n++] = j;
	static const int64_t steps[] = {4, 8, 2, 1, -4, -2}; /* of a quarter */
	bool ints = choose_chance(w->c, 50);
	int64_t length = MIN(draw_size(w), 100);
	int64_t start = n > 1 ? 4 * ((int64_t)choose_below(w->c, 8) - 3) : 0, step = n > 2 ? steps[choose_below(w->c, ARRAY_LEN(steps))] : 4;
	if (ints)
		step = step % 4 ? 4 * step : step;
	int64_t value[] = {start, start + length * step, step};
	for (int i = 0; i < n; i++) {
		int64_t v = n == 1 ? value[1] : value[i];
		m->arg[part[i]] = ints ? arg_scalar_i(v / 4) : arg_scalar_f((double)v / 4);
		m->done[part[i]] = true;
	}
	return true;
}

/* Such a range by its two ends. */
static bool value_LINE(struct world *w, struct making *m, int k)
{
	static const int64_t steps[] = {4, 8, 2, 1, -4, -2, 0}; /* of a quarter */
	const int64_t n = MIN(draw_size(w), 100), start = 4 * ((int64_t)choose_below(w->c, 8) - 3);
	const int64_t end = start + MAX(n - 1, 0) * steps[choose_below(w->c, ARRAY_LEN(steps))];
	const bool ints = end % 4 == 0 && choose_chance(w->c, 50);
	m->arg[k] = ints ? arg_scalar_i(start / 4) : arg_scalar_f((double)start / 4);
	m->arg[k + 1] = ints ? arg_scalar_i(end / 4) : arg_scalar_f((double)end / 4);
	m->arg[k + 2] = arg_int(n);
	m->done[k + 1] = m->done[k + 2] = true;
	return true;
}

static bool value_FINISH(struct world *w, struct making *m, int k)
{
	const int64_t v = (int64_t)choose_below(w->c, 33) - 12; /* quarters */
	m->arg[k] = v % 4 == 0 && choose_chance(w->c, 50) ? arg_scalar_i(v / 4) : arg_scalar_f((double)v / 4);
	return true;
}

static bool value_BASE(struct world *w, struct making *m, int k)
{
	static const double bases[] = {2, 10, 0.5, 3, 1.5, 1, 1.1};
	m->arg[k] = arg_scalar_f(bases[choose_below(w->c, ARRAY_LEN(bases))]);
	return true;
}

static bool value_STEPS(struct world *w, struct making *m, int k)
{
	static const int64_t steps[] = {5, 3, 2, 9, 4, 17, 0, 33, 1};
	const bool powers = op_arg(m->op, N_base) >= 0; /* PyTorch refuses one that the dtype does not hold, which data decide */
	m->arg[k] = arg_int(steps[choose_below(w->c, ARRAY_LEN(steps) - powers)]);
	return true;
}

/* Mostly 0.0 and -0.0 where a program is to have both. */
static double draw_real(struct world *w, const double *reals, int n)
{
	double v = reals[choose_below(w->c, (uint64_t)n)];
	if (w->zeros && choose_chance(w->c, 75))
		v = choose_chance(w->c, 50) ? -0.0 : 0.0;
	return v;
}

/* As an integer, if it is one: no integer is -0.0. */
static struct arg real_arg(struct world *w, double v, int percent)
{
	if (v == (double)(int64_t)v && !signbit(v) && !w->zeros && choose_chance(w->c, percent))
		return arg_scalar_i((int64_t)v);
	return arg_scalar_f(v);
}

static bool draw_scalar(struct world *w, struct making *m, int k)
{
	static const double reals[] = {1, 0, 2, -1, 0.5, 3, -2, 0.25, 1.5, 10};
	static const int64_t ints[] = {1, 0, 2, 3, -1, -2};
	const struct param *q = param_of(m, k);
	bool needed = q->role == R_BOUND && k && param_of(m, k - 1)->role == R_BOUND && m->arg[k - 1].tag == ARG_NONE;
	if (keep_default(w, q) && !needed)
		return true;
	enum dtype t = m->anchor >= 0 ? m->meta.dtype : result_dtype(m);
	const bool power = magnitude_of(m->op) == MAG_POWER; /* of integers: to a power that is no negative integer */
	if (dtype_is_float(t) || (power && dtype_is_int(t) && choose_chance(w->c, 20))) {
		m->arg[k] = real_arg(w, draw_real(w, reals, ARRAY_LEN(reals)), dtype_is_float(t) ? 30 : 0);
	} else if (t == DT_B8) {
		m->arg[k] = (struct arg){.tag = ARG_SCALAR, .scalar = {q->has_default ? SC_INT : SC_BOOL, choose_chance(w->c, 50), 0}};
	} else {
		m->arg[k] = arg_scalar_i(ints[choose_below(w->c, (uint64_t)(dtype_is_unsigned(t) || power ? 4 : ARRAY_LEN(ints)))]);
	}
	return true;
}

/* People leave most of them out, and Python's functions do not have them all. */
static bool draw_factor(struct world *w, struct making *m, int k)
{
	return (param_of(m, k)->has_default && choose_chance(w->c, 50)) || draw_scalar(w, m, k);
}

/* Numbers that x + 1, x * 0.5, x / 3 have, simplest first; the last two no half holds. */
static struct arg number_for(struct world *w, const struct making *m)
{
	static const double reals[] = {1, 2, 0.5, 0, -1, 3, 0.25, -2, 1.5, 10, 0.1, 1e-5};
	static const int64_t ints[] = {1, 2, 0, 3, -1, -2};
	enum dtype t = m->meta.dtype;
	bool writes = op_has(m->op, T_MUTATES), other_kind = chance(w, PF_mixed);
	bool bools = op_info[m->op].dtypes & DTS(DT_B8);
	if (bools && (t == DT_B8 ? writes || !other_kind : other_kind && choose_chance(w->c, 30)))
		return (struct arg){.tag = ARG_SCALAR, .scalar = {SC_BOOL, choose_chance(w->c, 50), 0}};
	if (dtype_is_float(t) || (other_kind && !writes)) {
		return real_arg(w, draw_real(w, reals, ARRAY_LEN(reals)), 50);
	}
	return arg_scalar_i(ints[choose_below(w->c, (uint64_t)(dtype_is_unsigned(t) ? 4 : ARRAY_LEN(ints)))]);
}

bool draw_number(struct world *w, struct making *m, int k)
{
	if (!op_takes_number(m->op, k) || !chance(w, PF_number))
		return false;
	m->arg[k] = number_for(w, m);
	return true;
}

void draw_number_first(struct world *w, struct making *m)
{
	int self = m->anchor, other = op_arg(m->op, N_other);
	if (!op_has(m->op, T_NUMBERS) || other < 0 || !op_takes_number(m->op, self) || m->arg[other].tag != ARG_SCALAR
		|| (role_has(param_of(m, other)->role, RF_DIVIDES)
			&& !dtype_is_float(node_meta(w->p, m->arg[self].node)->dtype)) /* self was not drawn to divide: it may hold 0 */
		|| !choose_chance(w->c, 25))
		return;
	struct arg t = m->arg[self];
	m->arg[self] = m->arg[other];
	m->arg[other] = t;
}

/* Which results are wanted: one at least. */
static bool draw_bools(struct world *w, struct making *m, int k)
{
	bool v[MAX_LIST], any = false;
	const int n = param_of(m, k)->length;
	for (int i = 0; i < n; i++)
		any |= v[i] = choose_chance(w->c, 75);
	v[0] |= !any;
	if (m->op == OP_convolution_backward) /* the bias' gradient comes with the weight's */
		v[1] |= v[2];
	m->arg[k] = arg_bools(w->p, v, n);
	return true;
}

/* A small positive number: what rows take floats for (eps). */
static bool draw_float(struct world *w, struct making *m, int k)
{
	static const double values[] = {1e-5, 0.5, 1e-12, 1, 0.125};
	const struct param *q = param_of(m, k);
	if (q->optional && choose_chance(w->c, 50))
		return true;
	m->arg[k] = arg_scalar_f(values[choose_below(w->c, ARRAY_LEN(values))]);
	return true;
}

static bool draw_bool(struct world *w, struct making *m, int k)
{
	const struct param *q = param_of(m, k);
	if (q->role == R_KEEP && !q->has_default)
		m->arg[k] = arg_bool(false);
	if (q->role == R_KEEP || keep_default(w, q) || (q->optional && choose_chance(w->c, 20)))
		return true;
	bool v = choose_chance(w->c, 50);
	m->arg[k] = arg_bool(v);
	if (q->role == R_ACCUMULATE)
		m->accumulate = v;
	return true;
}

/* Of a range from self: a dtype that holds whatever self's does, else the call may raise for what self holds. */
static void draw_dtype_beyond(struct world *w, struct making *m, int k)
{
	const enum dtype self = m->meta.dtype;
	const double least = dtype_is_float(self) ? -dtype_max(self) : self == DT_B8 ? 0 : (double)dtype_int_min(self);
	const double most = dtype_is_float(self) ? dtype_max(self) : self == DT_B8 ? 1 : (double)dtype_int_max(self);
	uint32_t mask = 0;
	enum dtype t;
	for (int d = 0; d < NDTYPES; d++)
		if (DTS(d) & DTS_NUM
			&& (dtype_is_float((enum dtype)d) ? most <= dtype_max((enum dtype)d)
											  : !dtype_is_float(self) && least >= (double)dtype_int_min((enum dtype)d)
						&& most <= (double)dtype_int_max((enum dtype)d)))
			mask |= DTS(d);
	if (self == DT_F64 || !chance(w, PF_plain))
		m->arg[k] = arg_dtype(draw_dtype(w, mask, &t) ? t : DT_F64);
}

/* Another dtype for the result. Conversions that may be undefined are left to admit(). */
static bool draw_dtype_arg(struct world *w, struct making *m, int k)
{
	const struct param *q = param_of(m, k);
	bool conversion = magnitude_of(m->op) == MAG_CONVERTS;
	if (m->anchor < 0) {
		enum dtype t;
		if (!keep_default(w, q) && draw_dtype(w, op_info[m->op].dtypes, &t))
			m->arg[k] = arg_dtype(t);
		return true;
	}
	if (param_of(m, m->anchor)->role == R_BEGIN) {
		draw_dtype_beyond(w, m, k);
		return true;
	}
	const bool averages = !dtype_is_float(m->meta.dtype) && magnitude_of(m->op) == MAG_AVERAGES; /* of integers it has no default */
	if (averages && !(w->alone && choose_chance(w->c, 30))) {
		enum dtype mean;
		m->arg[k] = arg_dtype(draw_dtype(w, DTS_FLOAT, &mean) ? mean : DT_F32);
		return true;
	}
	if (conversion ? choose_chance(w->c, 5) : chance(w, PF_plain))
		return true;
	/* PyTorch's derivatives that read self expect it in the result's dtype (cumprod with zeros raises otherwise). */
	for (int i = 0; i < op_info[m->op].nsave; i++)
		if (op_info[m->op].save[i].what == m->anchor && has_grad(w, m->self))
			return true;
	uint32_t mask = conversion ? op_info[m->op].dtypes : op_info[m->op].dtypes & (dtype_is_float(m->meta.dtype) ? DTS_FLOAT : DTS_NUM);
	enum dtype t;
	if (draw_dtype(w, mask, &t))
		m->arg[k] = arg_dtype(t);
	return true;
}

static bool value_REDUCTION(struct world *w, struct making *m, int k)
{
	m->arg[k] = arg_int((int64_t)choose_below(w->c, 3));
	return true;
}

static bool value_ORDER(struct world *w, struct making *m, int k)
{
	static const double values[] = {2, 2, 1, HUGE_VAL, -HUGE_VAL, 0}; /* the last one's gradient PyTorch leaves undefined */
	const double order = values[choose_below(w->c, ARRAY_LEN(values) - has_grad(w, m->self))];
	if (keep_default(w, param_of(m, k)) || (param_of(m, k)->optional && choose_chance(w->c, 20)))
		return true;
	m->arg[k] = isfinite(order) && choose_chance(w->c, 50) ? arg_scalar_i((int64_t)order) : arg_scalar_f(order);
	return true;
}

static bool value_TRAINING(struct world *w, struct making *m, int k)
{
	(void)w;
	m->arg[k] = arg_bool(true);
	return true;
}

/* One that halves do not hold, too. */
static bool value_BEND(struct world *w, struct making *m, int k)
{
	static const double values[] = {1, 0.5, 0.3, 2, 0.125};
	m->arg[k] = arg_scalar_f(values[choose_below(w->c, ARRAY_LEN(values))]);
	return true;
}

static bool value_IGNORED(struct world *w, struct making *m, int k)
{
	const int64_t classes = m->meta.size[m->meta.rank - 1];
	m->arg[k] = arg_int(choose_chance(w->c, 40) ? choose_int(w->c, 0, MAX(classes - 1, 0)) : -100);
	return true;
}

static bool value_NORMALIZED(struct world *w, struct making *m, int k)
{
	const int n = 1 + (choose_chance(w->c, 30) ? (int)choose_below(w->c, (uint64_t)m->meta.rank) : 0);
	m->arg[k] = arg_ints(w->p, &m->meta.size[m->meta.rank - n], n);
	return true;
}

/* All that says how channels are grouped. */
static bool value_GROUPED(struct world *w, struct making *m, int k)
{
	const struct meta *self = &m->meta;
	const int at = op_arg(m->op, N_N);
	int64_t each = 1;
	if (m->arg[k].tag != ARG_NONE)
		return true; /* drawn with the one before */
	for (int d = 2; d < self->rank; d++)
		each *= self->size[d];
	if (self->size[1] == 0 || each == 0)
		return false;
	const int64_t value[4] = {self->size[0], self->size[1], each, draw_divisor(w, self->size[1])};
	for (int i = 0; i < 4; i++) {
		m->arg[at + i] = arg_int(value[i]);
		m->done[at + i] = true;
	}
	return true;
}

static bool value_OWN(struct world *w, struct making *m, int k)
{
	if (!keep_default(w, param_of(m, k)))
		m->arg[k] = arg_dtype(m->meta.dtype);
	return true;
}

/* Another one of the same width, or self's own. */
static bool value_BITS(struct world *w, struct making *m, int k)
{
	uint32_t mask = 0;
	int weight[NDTYPES];
	for (int t = 0; t < NDTYPES; t++) {
		const bool fits = dtype_nbytes((enum dtype)t) == dtype_nbytes(m->meta.dtype) && (t == DT_B8) == (m->meta.dtype == DT_B8);
		mask |= fits ? DTS(t) : 0;
		weight[t] = !fits ? 0 : t == (int)m->meta.dtype ? 1 : 4;
	}
	enum dtype drawn;
	const bool usual = chance(w, PF_plain) && draw_dtype(w, mask & ~DTS(m->meta.dtype), &drawn);
	m->arg[k] = arg_dtype(usual ? drawn : (enum dtype)choose_weighted(w->c, weight, NDTYPES));
	return true;
}

/* A format for that number of dimensions, mostly a channels-last one where there is one: few tensors have four or five dimensions.
 * contiguous, which takes no None, raises with preserve_format. */
static bool draw_format(struct world *w, struct making *m, int k)
{
	const struct param *q = param_of(m, k);
	if (m->meta.rank >= 4 && m->meta.rank <= 5 && choose_chance(w->c, 70))
		m->arg[k] = arg_format(m->meta.rank == 4 ? FORMAT_CHANNELS_LAST : FORMAT_CHANNELS_LAST_3D);
	else if (!chance(w, PF_plain))
		m->arg[k] = arg_format(q->optional && choose_chance(w->c, 50) ? FORMAT_PRESERVE : FORMAT_CONTIGUOUS);
	return true;
}

static bool draw_str(struct world *w, struct making *m, int k)
{
	char word[MAX_WORD];
	int n = 0;
	while (param_word(word, param_of(m, k), n))
		n++;
	const bool none = param_of(m, k)->optional;
	const int i = (int)choose_below(w->c, (uint64_t)(n + none)) - none;
	if (i >= 0)
		param_word(word, param_of(m, k), i);
	m->arg[k] = i >= 0 ? arg_str(w->p, word) : (struct arg){.tag = ARG_NONE};
	return true;
}

static bool value_VIEW(struct world *w, struct making *m, int k)
{
	draw_reshape(w, m, k, true);
	return true;
}

static bool value_RESHAPE(struct world *w, struct making *m, int k)
{
	draw_reshape(w, m, k, false);
	return true;
}

/* Counted when the operands are there (gen_stated.c). */
static bool value_STATED(struct world *w, struct making *m, int k)
{
	(void)w;
	m->arg[k] = arg_int(0);
	return true;
}

/* Roles that the function of their kind looks at. */
#define value_PERM            draw_dims
#define value_INSERT          draw_dim
#define value_DISTINCT        draw_dim
#define value_INSERT_DISTINCT draw_dim
#define value_BOUND           draw_scalar
#define value_FACTOR          draw_factor
#define value_ACCUMULATE      draw_bool
#define value_KEEP            draw_bool

static bool value_DROPOUT(struct world *w, struct making *m, int k)
{
	(void)w;
	m->arg[k] = arg_scalar_f(0);
	return true;
}

typedef bool value_fn(struct world *, struct making *, int k);

/* By role; a VALUE_ROLE of role.def without a function does not compile. Arguments without a role: by kind. False: no valid value. */
static bool draw_one(struct world *w, struct making *m, int k)
{
	static value_fn *const of_role[NROLES] = {
#define ROLE(...)
#define SELF_ROLE(...)
#define OPERAND_ROLE(...)
#define LIST_ROLE(...)
#define VALUE_ROLE(ID, ...) [R_##ID] = value_##ID,
#include "eager/lang/role.def"
	};
	const struct param *q = param_of(m, k);
	if (of_role[q->role])
		return of_role[q->role](w, m, k);
	switch (q->kind) {
	case K_DIM: return draw_dim(w, m, k);
	case K_DIMS: return draw_dims(w, m, k);
	case K_SIZE: return draw_any_size(w, m, k);
	case K_INDEX: return draw_index(w, m, k);
	case K_STEP: return draw_step(w, m, k);
	case K_SCALAR: return draw_scalar(w, m, k);
	case K_BOOL: return draw_bool(w, m, k);
	case K_DTYPE: return draw_dtype_arg(w, m, k);
	case K_FORMAT: return draw_format(w, m, k);
	case K_INTS: /* none is valid whatever the operator: these need a role */
	case K_INT: return false;
	case K_BOOLS: return draw_bools(w, m, k);
	case K_STR: return draw_str(w, m, k);
	case K_FLOAT: return draw_float(w, m, k);
	default: BUG("%s: parameter kind %d", op_info[m->op].name, (int)q->kind);
	}
}

/* Positions along one dim are none along another. */
static bool reads_positions(int op)
{
	for (int k = 0; k < op_info[op].nparam; k++)
		if (role_is_positions(op_info[op].param[k].role))
			return true;
	return false;
}

static bool is_changeable(const struct making *m, int k)
{
	const struct param *q = param_of(m, k);
	if (q->kind == K_DIM && reads_positions(m->op))
		return false;
	if (q->kind == K_TENSOR || q->kind == K_SCALAR)
		return m->arg[k].tag == ARG_SCALAR && q->role != R_RANGE && q->role != R_LINE;
	return (q->kind == K_DIM || q->kind == K_DIMS || q->kind == K_BOOL) && q->role == R_ANY && m->arg[k].tag != ARG_NONE;
}

/* A zero becomes the other one in half of the draws. */
static void draw_changed(struct world *w, struct making *m, int k)
{
	const struct scalar *x = &m->arg[k].scalar;
	const bool zero = m->arg[k].tag == ARG_SCALAR && x->kind == SC_FLOAT && x->f == 0;
	if (zero && choose_chance(w->c, 50))
		m->arg[k] = arg_scalar_f(-x->f);
	else if (param_of(m, k)->kind == K_TENSOR)
		m->arg[k] = number_for(w, m);
	else
		draw_one(w, m, k);
}

bool draw_other_arg(struct world *w, struct making *m)
{
	int found[MAX_ARGS], n = 0;
	for (int k = 0; k < op_info[m->op].nparam; k++)
		if (is_changeable(m, k))
			found[n++] = k;
	if (n == 0)
		return false;
	const int k = found[choose_below(w->c, (uint64_t)n)];
	const struct arg was = m->arg[k];
	for (int tries = 0; tries < 3 && arg_same(&m->arg[k], &was); tries++)
		draw_changed(w, m, k);
	return !arg_same(&m->arg[k], &was);
}

bool draw_plain_args(struct world *w, struct making *m)
{
	int nparam = op_info[m->op].nparam;
	for (int k = 0; k < nparam; k++) {
		enum kind kind = param_of(m, k)->kind;
		if (kind != K_DIM && kind != K_DIMS)
			continue;
		m->done[k] = true;
		if (!draw_one(w, m, k))
			return false;
	}
	for (int k = 0; k < nparam && m->anchor < 0; k++) { /* without self the dtype decides which scalars fit */
		if (param_of(m, k)->kind != K_DTYPE)
			continue;
		m->done[k] = true;
		draw_dtype_arg(w, m, k);
	}
	for (int k = 0; k < nparam; k++) {
		enum kind kind = param_of(m, k)->kind;
		if (m->done[k] || kind == K_TENSOR || kind == K_TENSORS)
			continue;
		m->done[k] = true;
		if (!draw_one(w, m, k))
			return false;
	}
	return true;
}
