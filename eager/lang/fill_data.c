/* fill_data.c: inputs whose data stands in the program: one number per cell of the storage, in the order of memory. A number becomes a
 * cell as a Python number becomes an element (rounded once to a floating dtype), and what does not fit is refused; the cells of a
 * storage become numbers that give the same bits again, NaN payloads included. */
#include "eager/lang/fill.h"

#include <inttypes.h>
#include <math.h>

/* Payload bits of a NaN move with its top: f16 0x7e01 is nan(0x7ff8040000000000). One that would lose them all becomes quiet. */
static uint64_t nan_bits(enum dtype t, double v)
{
	uint64_t bits;
	memcpy(&bits, &v, 8);
	int mantissa = dtype_info[t].precision - 1, all = 8 * dtype_nbytes(t);
	uint64_t frac = (bits & 0xfffffffffffffu) >> (52 - mantissa), sign = bits >> 63 << (all - 1);
	uint64_t exponent = (((uint64_t)1 << (all - 1 - mantissa)) - 1) << mantissa;
	return sign | exponent | (frac ? frac : (uint64_t)1 << (mantissa - 1));
}

static double nan_of(enum dtype t, uint64_t bits)
{
	int mantissa = dtype_info[t].precision - 1, all = 8 * dtype_nbytes(t);
	uint64_t wide = bits >> (all - 1) << 63 | 0x7ff0000000000000u | (bits & (((uint64_t)1 << mantissa) - 1)) << (52 - mantissa);
	double v;
	memcpy(&v, &wide, 8);
	return v;
}

/* Little-endian, as all of the project. */
static uint64_t load_bits(enum dtype t, const void *cell)
{
	uint64_t bits = 0;
	memcpy(&bits, cell, (size_t)dtype_nbytes(t));
	return bits;
}

static bool holds(enum dtype t, const struct scalar *s)
{
	if (dtype_is_float(t)) {
		double v = s->kind == SC_FLOAT ? s->f : (double)s->i;
		return !isfinite(v) || isfinite(dtype_round(t, v));
	}
	return s->kind != SC_FLOAT && dtype_wrap(t, s->i) == s->i;
}

bool fill_data_check(const struct arg *data, const struct meta *m, struct err *err)
{
	int64_t want = meta_extent(m);
	if (data->n != want)
		return err_set(err, "data has %d numbers, the storage %" PRId64 " cells%s", data->n, want,
			want == meta_numel(m) ? "" : " (one number per cell, in the order of memory)");
	for (int i = 0; i < data->n; i++) {
		if (holds(m->dtype, &data->data[i]))
			continue;
		struct strbuf sb;
		sb_init(&sb);
		scalar_print(&sb, &data->data[i]);
		err_set(err, "data: %s is no %s", sb.s, dtype_info[m->dtype].name);
		sb_free(&sb);
		return false;
	}
	return true;
}

void fill_from_data(void *cells, enum dtype t, const struct arg *data)
{
	unsigned char *p = cells;
	for (int i = 0; i < data->n; i++, p += dtype_nbytes(t)) {
		const struct scalar *s = &data->data[i];
		double v = s->kind == SC_FLOAT ? s->f : (double)s->i;
		if (!dtype_is_float(t)) {
			dtype_store_i(t, p, s->i);
		} else if (isnan(v)) {
			uint64_t bits = nan_bits(t, v);
			memcpy(p, &bits, (size_t)dtype_nbytes(t));
		} else {
			dtype_store_f(t, p, v);
		}
	}
}

struct arg fill_to_data(const void *cells, int n, enum dtype t, struct arena *a)
{
	const unsigned char *p = cells;
	struct arg data = {.tag = ARG_DATA, .n = n, .data = ARENA_NEW(a, struct scalar, n)};
	CHECK(n <= MAX_DATA);
	for (int i = 0; i < n; i++, p += dtype_nbytes(t)) {
		if (t == DT_B8)
			data.data[i] = (struct scalar){SC_BOOL, dtype_load_i(t, p), 0};
		else if (!dtype_is_float(t))
			data.data[i] = (struct scalar){SC_INT, dtype_load_i(t, p), 0};
		else
			data.data[i] = (struct scalar){SC_FLOAT, 0, dtype_load_f(t, p)};
		if (data.data[i].kind == SC_FLOAT && isnan(data.data[i].f))
			data.data[i].f = nan_of(t, load_bits(t, p));
	}
	return data;
}
