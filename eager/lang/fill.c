/* fill.c: the data of inputs (formulas in fill.h). One 64-bit hash per cell, then integer arithmetic; floats appear only when a
 * small integer is scaled by a power of two. */
#include "eager/lang/fill.h"
#include "generated/op_input.h"

#define NAME(id, name)   name,
#define LISTED(id, name) ", " name
const char *const fill_name[NFILLS] = {FILL_LIST(NAME)};

const char *fill_names(void)
{
	static const char listed[] = FILL_LIST(LISTED);
	return listed + strlen(", ");
}

const char *fill_guess(struct guess *g, const char *name) { return guess_from(g, name, fill_name, sizeof fill_name[0], NFILLS); }

int fill_find(const char *name)
{
	for (int i = 0; i < NFILLS; i++)
		if (str_eq(fill_name[i], name))
			return i;
	return -1;
}

bool fill_is_unique(const char *name) { return str_eq(name, "unique") || str_eq(name, "unique_around"); }
bool fill_is_around(const char *name) { return str_eq(name, "around") || str_eq(name, "unique_around"); }
bool fill_is_positions(const char *name) { return str_eq(name, "index") || fill_is_unique(name) || fill_is_around(name); }

static uint64_t hash_cell(uint64_t key, uint64_t c) { return mix64(key ^ c * 0xd1342543de82ef95u); }

enum { NSPECIAL = 12 };

/* inf -inf nan -0 | smallest denormal, its negative, largest denormal, smallest normal | largest, its negative, 1 + ulp, 0.
 * A format without infinity has its NaNs instead; they, too, are the largest number's neighbours. */
static uint64_t special_float(enum dtype t, int k)
{
	const struct dtype_info *i = &dtype_info[t];
	const int mant = i->precision - 1, last = 8 * i->nbytes - 1;
	const bool no_inf = i->overflow == OVERFLOW_TO_NAN;
	const uint64_t sign = (uint64_t)1 << last, ulp = (uint64_t)1 << mant, all = sign - 1;
	const uint64_t inf = no_inf ? all : all - (ulp - 1), nan = no_inf ? all : inf | ulp >> 1, one = (uint64_t)(1 - i->emin) << mant;
	const uint64_t of[NSPECIAL] = {inf, sign | inf, nan, sign, 1, sign | 1, ulp - 1, ulp, inf - 1, sign | (inf - 1), one + 1, 0};
	return of[k];
}

/* min max 0 -1 1 min+1 max-1 -2 2 half -half 3, of the signed integers with as many bits. */
static uint64_t special_int(enum dtype t, int k)
{
	const int last = 8 * dtype_nbytes(t) - 1;
	const uint64_t min = (uint64_t)1 << last, half = min >> 1;
	const uint64_t of[NSPECIAL] = {min, min - 1, 0, (uint64_t)-1, 1, min + 1, min - 2, (uint64_t)-2, 2, half, min | half, 3};
	return of[k];
}

static void store_bits(enum dtype t, void *p, uint64_t bits)
{
	uint8_t b8 = (uint8_t)bits;
	uint16_t b16 = (uint16_t)bits;
	uint32_t b32 = (uint32_t)bits;
	switch (dtype_nbytes(t)) {
	case 1: memcpy(p, &b8, 1); return;
	case 2: memcpy(p, &b16, 2); return;
	case 4: memcpy(p, &b32, 4); return;
	default: memcpy(p, &bits, 8); return;
	}
}

static void store_steps(enum dtype t, void *p, int64_t k, double step)
{
	if (dtype_is_float(t))
		dtype_store_f(t, p, (double)k * step);
	else
		dtype_store_i(t, p, k);
}

static int64_t quarters(uint64_t h) { return (int64_t)((h & 0xffff) + (h >> 16 & 0xffff) + (h >> 32 & 0xffff) + (h >> 48)); }

static void store_normal(enum dtype t, void *p, uint64_t h)
{
	uint64_t h2 = mix64(h);
	int64_t n = quarters(h) + quarters(h2) + quarters(mix64(h2)) - 6 * 65536;
	if (dtype_is_float(t)) {
		dtype_store_f(t, p, (double)n * 0x1p-16);
		return;
	}
	int64_t v = (n + 96 * 4096) / 4096 - 96; /* floor: n >= -96 * 4096 */
	dtype_store_i(t, p, dtype_is_unsigned(t) ? v + 100 : v);
}

/* The whole range of an integer; of i64 what is beyond f64's precision and may still be summed. */
static void store_wide(enum dtype t, void *p, uint64_t h)
{
	if (t == DT_I64)
		dtype_store_i(t, p, (int64_t)(h >> 9) - ((int64_t)1 << 54));
	else
		store_bits(t, p, h);
}

static void store_dyadic(enum dtype t, void *p, int64_t r)
{
	const struct dtype_info *d = &dtype_info[t];
	int64_t k = r % (2 * d->reach + 1);
	store_steps(t, p, dtype_is_unsigned(t) ? k : k - d->reach, d->step);
}

static void store_nonzero(enum dtype t, void *p, int64_t r)
{
	const struct dtype_info *d = &dtype_info[t];
	const int64_t k = r % (2 * d->reach) - (dtype_is_unsigned(t) ? 0 : d->reach);
	store_steps(t, p, k + (k >= 0), d->step);
}

int64_t fill_high(enum dtype t, int64_t high)
{
	const struct dtype_info *i = &dtype_info[t];
	int64_t most = INT64_MAX;
	if (i->class == DC_FLOAT)
		most = (int64_t)1 << i->precision;
	else if (i->nbytes < 8)
		most = (int64_t)1 << (8 * i->nbytes - (!dtype_is_unsigned(t)));
	return MAX(MIN(high, most), 1);
}

static void store_cell(enum dtype t, void *p, enum fill fill, uint64_t h, int64_t high)
{
	int64_t r = (int64_t)(h >> 33);
	if (t == DT_B8) {
		dtype_store_i(t, p, fill == FILL_POSITIVE || fill == FILL_NONZERO || (r & 1));
		return;
	}
	if (fill == FILL_SPECIAL && (h & 3) == 0) {
		const int k = (int)((h >> 2 & 31) % NSPECIAL);
		store_bits(t, p, dtype_is_float(t) ? special_float(t, k) : special_int(t, k));
		return;
	}
	if (fill == FILL_WIDE && dtype_is_int(t)) {
		store_wide(t, p, h);
		return;
	}
	switch (fill) {
	case FILL_NORMAL: store_normal(t, p, h); return;
	case FILL_TIES: store_steps(t, p, (r & 3) - (!dtype_is_unsigned(t)), 1); return;
	case FILL_POSITIVE: store_steps(t, p, r % dtype_info[t].reach + 1, dtype_info[t].step); return;
	case FILL_AROUND: store_steps(t, p, dtype_is_unsigned(t) ? r % high : (r >> 1) % high - (r & 1 ? high : 0), 1); return;
	case FILL_INDEX:
	case FILL_UNIQUE:
	case FILL_UNIQUE_AROUND: store_steps(t, p, r % high, 1); return;
	case FILL_MASK: store_steps(t, p, r & 1, 1); return;
	case FILL_NONZERO: store_nonzero(t, p, r); return;
	default: store_dyadic(t, p, r);
	}
}

static int64_t gcd(int64_t a, int64_t b)
{
	while (b) {
		int64_t t = a % b;
		a = b;
		b = t;
	}
	return a;
}

/* One line of the unique fill: an affine permutation of [0, high). high is at most 2^53 and j, a < high are sizes or residues:
 * the products are reduced step by step instead of multiplied. */
static void fill_line(unsigned char *data, const struct meta *m, int dim, int64_t off, uint64_t h, int64_t high, bool around)
{
	int64_t b = (int64_t)(h >> 33) % high, a = (1 + (int64_t)(h & 0xffffffff) % high) % high;
	while (gcd(a, high) != 1)
		a = (a + 1) % high;
	int64_t n = m->rank ? m->size[dim] : 1, stride = m->rank ? m->stride[dim] : 0, v = b;
	for (int64_t j = 0; j < n; j++) {
		store_steps(m->dtype, data + (off + j * stride) * dtype_nbytes(m->dtype), around && j % 2 ? v - high : v, 1);
		v = v >= high - a ? v - (high - a) : v + a;
	}
}

static void fill_unique(unsigned char *data, const struct meta *m, uint64_t key, int64_t high, int dim, bool around)
{
	if (m->dtype == DT_B8 || meta_numel(m) == 0)
		return;
	struct meta lines = *m; /* m without dim: its row-major order numbers the lines */
	if (m->rank) {
		dim = dim < 0 ? dim + m->rank : dim;
		CHECK(dim >= 0 && dim < m->rank);
		lines.rank--;
		for (int d = dim; d < lines.rank; d++) {
			lines.size[d] = m->size[d + 1];
			lines.stride[d] = m->stride[d + 1];
		}
	}
	struct meta_iter it;
	meta_iter_start(&it, &lines);
	uint64_t l = 0;
	do
		fill_line(data, m, dim, it.off, hash_cell(key, l++), high, around && !dtype_is_unsigned(m->dtype));
	while (meta_iter_next(&it, &lines));
}

void fill_cells(void *data, int64_t ncells, const struct meta *m, enum fill fill, uint64_t seed, int64_t high, int dim)
{
	uint64_t key = mix64(seed + 0x9e3779b97f4a7c15u);
	unsigned char *p = data;
	int nbytes = dtype_nbytes(m->dtype);
	high = fill_high(m->dtype, high);
	for (int64_t c = 0; c < ncells; c++, p += nbytes)
		store_cell(m->dtype, p, fill, hash_cell(key, (uint64_t)c), high);
	if (fill == FILL_UNIQUE || fill == FILL_UNIQUE_AROUND)
		fill_unique(data, m, key, high, dim, fill == FILL_UNIQUE_AROUND);
}

void *fill_storage(const struct prog *p, int storage, struct arena *a)
{
	const struct node *n = NULL;
	for (int i = 0; i < p->nnode && !n; i++)
		if (p->node[i].op == OP_input && p->node[i].out[0].storage == storage)
			n = &p->node[i];
	CHECK(n);
	int fill = fill_find(n->arg[A_input_fill].str);
	CHECK(fill >= 0);
	int64_t ncells = prog_storage_cells(p, storage);
	void *data = arena_alloc(a, mul_size((size_t)ncells, (size_t)dtype_nbytes(n->out[0].meta.dtype)));
	const struct arg *given = &n->arg[A_input_data];
	if (given->tag == ARG_DATA) {
		CHECK(given->n == ncells);
		fill_from_data(data, n->out[0].meta.dtype, given);
		return data;
	}
	fill_cells(data, ncells, &n->out[0].meta, (enum fill)fill, (uint64_t)node_int(n, A_input_seed), node_int(n, A_input_high),
		(int)node_int(n, A_input_dim));
	return data;
}

struct result_storage *fill_storages(const struct prog *p, struct arena *a)
{
	const int n = prog_input_storages(p);
	struct result_storage *out = ARENA_ZNEW(a, struct result_storage, MAX(n, 1));
	for (int s = 0; s < n; s++) {
		out[s].nbytes = prog_storage_nbytes(p, s);
		if (out[s].nbytes)
			out[s].data = fill_storage(p, s, a);
	}
	return out;
}
