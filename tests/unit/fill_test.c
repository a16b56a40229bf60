/* fill_test.c: laws of the fills; and the bytes of every dtype and fill for scripts/fill_twin.py to compare with fill.py's.
 * Usage: fill_test            checks the laws
 *        fill_test dump FILE  writes, for each case, "dtype fill seed high dim size stride offset ncells\n" and the bytes */
#include "eager/lang/fill.h"
#include "tests/test.h"

#include <math.h>
#include <stdlib.h>

static struct arena arena;

static void *cells(const struct meta *m, int64_t n, enum fill fill, uint64_t seed, int64_t high, int dim)
{
	void *p = arena_alloc(&arena, (size_t)(n * dtype_nbytes(m->dtype)));
	fill_cells(p, n, m, fill, seed, high, dim);
	return p;
}

static struct meta line_meta(enum dtype t, int64_t n)
{
	struct meta m;
	meta_make_contiguous(&m, t, &n, 1);
	return m;
}

/* Values that the header promises: step and reach of dyadic, > 0 of positive, range of index. */
static void ranges(void)
{
	for (int t = 0; t < NDTYPES; t++) {
		struct meta m = line_meta((enum dtype)t, 4000);
		const char *p = cells(&m, 4000, FILL_POSITIVE, 7, 0, 0), *d = cells(&m, 4000, FILL_DYADIC, 8, 0, 0);
		const char *x = cells(&m, 4000, FILL_INDEX, 9, 5, 0), *around = cells(&m, 4000, FILL_AROUND, 9, 5, 0);
		double from = 0, lo = 0, hi = 0, least = 1e9, seen = 0;
		for (int i = 0; i < 4000; i++) {
			double v = dtype_load_f(m.dtype, d + i * dtype_nbytes(m.dtype));
			lo = MIN(lo, v);
			hi = MAX(hi, v);
			least = MIN(least, dtype_load_f(m.dtype, p + i * dtype_nbytes(m.dtype)));
			v = dtype_load_f(m.dtype, x + i * dtype_nbytes(m.dtype));
			seen = MAX(seen, v);
			EXPECT(v >= 0 && v < 5 && v == (double)(int)v, "%s: index %g", dtype_info[t].name, v);
			v = dtype_load_f(m.dtype, around + i * dtype_nbytes(m.dtype));
			from = MIN(from, v);
			EXPECT(v >= -5 && v < 5 && v == (double)(int)v, "%s: around %g", dtype_info[t].name, v);
		}
		double want = t == DT_B8                                  ? 1
			: dtype_is_unsigned((enum dtype)t)                    ? 16
			: t == DT_F16 || t == DT_F8_E4M3FN || t == DT_F8_E5M2 ? 3
			: t == DT_BF16                                        ? 1.5
			: t == DT_F32                                         ? 4
																  : 8;
		EXPECT(hi == want && lo == (t == DT_B8 || dtype_is_unsigned((enum dtype)t) ? 0 : -want), "%s: %g..%g", dtype_info[t].name, lo, hi);
		EXPECT(least > 0 && seen == (t == DT_B8 ? 1 : 4), "%s: %g %g", dtype_info[t].name, least, seen);
		EXPECT(from == (t == DT_B8 || dtype_is_unsigned((enum dtype)t) ? 0 : -5), "%s: around from %g", dtype_info[t].name, from);
	}
}

/* Both ends of the range come up, or nearly; of i64 most are no f64. */
static void wide_is_wide(void)
{
	static const enum dtype ints[] = {DT_U8, DT_I8, DT_I16, DT_I32, DT_I64};
	for (int k = 0; k < ARRAY_LEN(ints); k++) {
		struct meta m = line_meta(ints[k], 4000);
		const char *p = cells(&m, 4000, FILL_WIDE, 3, 0, 0);
		double lo = 0, hi = 0, most = ints[k] == DT_U8 ? 256 : ints[k] == DT_I64 ? 0x1p54 : ldexp(1, 8 * dtype_nbytes(ints[k]) - 1);
		int rounded = 0;
		for (int i = 0; i < 4000; i++) {
			int64_t v = dtype_load_i(m.dtype, p + i * dtype_nbytes(m.dtype));
			lo = MIN(lo, (double)v);
			hi = MAX(hi, (double)v);
			rounded += (int64_t)(double)v != v;
		}
		EXPECT(hi > 0.99 * most && hi <= most && (ints[k] == DT_U8 ? lo == 0 : lo < -0.99 * most), "%s: %g..%g", dtype_info[ints[k]].name,
			lo, hi);
		EXPECT(ints[k] == DT_I64 ? rounded > 500 : !rounded, "%d of %s are no f64", rounded, dtype_info[ints[k]].name);
	}
}

static void normal_moments(void)
{
	struct meta m = line_meta(DT_F64, 200000);
	const double *v = cells(&m, 200000, FILL_NORMAL, 3, 0, 0);
	double s = 0, s2 = 0;
	for (int i = 0; i < 200000; i++) {
		s += v[i];
		s2 += v[i] * v[i];
	}
	EXPECT(s > -2000 && s < 2000, "mean %g", s / 200000);
	EXPECT(s2 > 197000 && s2 < 203000, "variance %g", s2 / 200000);
}

/* Along dim the values are distinct, whatever the layout; high may exceed the size. */
static void unique_is_unique(void)
{
	for (uint64_t seed = 0; seed < 200; seed++) {
		int64_t n = 1 + (int64_t)(seed % 9), high = n + (int64_t)(seed % 4);
		struct meta m = {
			.dtype = seed & 1 ? DT_I32 : DT_I64, .rank = 3, .size = {3, n, 2}, .stride = {2 * n, 2, 1}, .offset = (int64_t)(seed % 3)};
		if (seed & 2)
			m.stride[0] = 1, m.stride[1] = 6, m.stride[2] = 3;
		const bool around = seed & 4;
		const char *p = cells(&m, meta_extent(&m), around ? FILL_UNIQUE_AROUND : FILL_UNIQUE, seed, high, 1);
		for (int line = 0; line < 6; line++) {
			bool seen[16] = {false};
			for (int64_t j = 0; j < n; j++) {
				int64_t c = m.offset + line / 2 * m.stride[0] + j * m.stride[1] + line % 2 * m.stride[2];
				int64_t v = dtype_load_i(m.dtype, p + c * dtype_nbytes(m.dtype));
				EXPECT(around ? v >= -high && v < high && (v < 0) == (j % 2) : v >= 0, "seed %d: %d of %d", (int)seed, (int)v, (int)j);
				v += v < 0 ? high : 0;
				EXPECT(v >= 0 && v < high && !seen[v], "seed %d line %d: %d again", (int)seed, line, (int)v);
				seen[v & 15] = true;
			}
		}
	}
}

/* Formula of the header worked out by hand in Python's big integers: h for seed 1, cell 2. */
static void known_values(void)
{
	struct meta m = line_meta(DT_F64, 3);
	const double *v = cells(&m, 3, FILL_DYADIC, 1, 0, 0);
	uint64_t h = mix64(mix64(1 + 0x9e3779b97f4a7c15u) ^ 2 * 0xd1342543de82ef95u);
	EXPECT(v[2] == (double)((int64_t)(h >> 33) % 129 - 64) / 8, "%g", v[2]);
	EXPECT_INT(fill_find("unique"), FILL_UNIQUE);
	EXPECT_INT(fill_find("none"), -1);
	EXPECT_INT(fill_high(DT_I8, 1000), 128);
	EXPECT_INT(fill_high(DT_I64, 0), 1);
}

static void dump_case(FILE *f, const struct meta *m, enum fill fill, uint64_t seed, int64_t high, int dim)
{
	int64_t n = meta_extent(m) + 5;
	fprintf(f, "%s %s %" PRIu64 " %d %d ", dtype_info[m->dtype].name, fill_name[fill], seed, (int)high, dim);
	for (int pass = 0; pass < 2; pass++) {
		fprintf(f, "[");
		for (int d = 0; d < m->rank; d++)
			fprintf(f, "%s%d", d ? "," : "", (int)(pass ? m->stride[d] : m->size[d]));
		fprintf(f, "] ");
	}
	fprintf(f, "%d %d\n", (int)m->offset, (int)n);
	fwrite(cells(m, n, fill, seed, high, dim), (size_t)dtype_nbytes(m->dtype), (size_t)n, f);
}

static int dump(const char *path)
{
	static const struct meta layouts[] = {
		{.rank = 1, .size = {700}, .stride = {1}},
		{.rank = 3, .size = {3, 5, 4}, .stride = {1, 15, 3}, .offset = 7},
		{.rank = 2, .size = {4, 3}, .stride = {0, 2}, .offset = 1},
		{.rank = 2, .size = {0, 3}, .stride = {3, 1}},
		{.rank = 0},
	};
	static const uint64_t seeds[] = {0, 1, 41, UINT64_MAX};
	FILE *f = fopen(path, "wb");
	if (!f)
		return 1;
	for (int t = 0; t < NDTYPES; t++)
		for (int fill = 0; fill < NFILLS; fill++)
			for (int l = 0; l < ARRAY_LEN(layouts); l++)
				for (int s = 0; s < ARRAY_LEN(seeds); s++) {
					struct meta m = layouts[l];
					m.dtype = (enum dtype)t;
					int dim = m.rank > 1 ? (s & 1 ? 1 : -1) : 0;
					int64_t n = m.rank ? m.size[dim < 0 ? dim + m.rank : dim] : 1;
					dump_case(f, &m, (enum fill)fill, seeds[s], n + s, dim);
				}
	return fclose(f) != 0;
}

static void names(void)
{
	struct strbuf sb;
	sb_init(&sb);
	for (int i = 0; i < NFILLS; i++) {
		sb_printf(&sb, "%s%s", i ? ", " : "", fill_name[i]);
		EXPECT_INT(fill_find(fill_name[i]), i);
	}
	EXPECT_STR(fill_names(), sb.s);
	EXPECT_INT(fill_find("dyadi"), -1);
	sb_free(&sb);
}

/* Cells as numbers, and back: the same bits, of every dtype and fill; NaNs of every payload. */
static void captured(void)
{
	for (int t = 0; t < NDTYPES; t++)
		for (int fill = 0; fill < NFILLS; fill++) {
			struct meta m = line_meta((enum dtype)t, 500);
			size_t nbytes = 500 * (size_t)dtype_nbytes(m.dtype);
			unsigned char *was = cells(&m, 500, (enum fill)fill, 5, 100, 0), *now = arena_alloc(&arena, nbytes);
			if (dtype_is_float(m.dtype) && fill == FILL_SPECIAL)
				for (size_t i = 0; i < nbytes; i++) /* any bits at all */
					was[i] = (unsigned char)mix64(i);
			struct arg data = fill_to_data(was, 500, m.dtype, &arena);
			struct err err = {0};
			EXPECT(fill_data_check(&data, &m, &err), "%s", err.msg);
			fill_from_data(now, m.dtype, &data);
			EXPECT(memcmp(was, now, nbytes) == 0, "%s %s: other bits", dtype_info[t].name, fill_name[fill]);
		}
}

static const struct {
	const char *row, *error;
} data_cases[] = {
	{"input([3], dtype=i64, data=[0, 1, 0])", NULL},
	{"input([2, 2], data=[inf, -inf, nan, -0.0])", NULL},
	{"input([2], dtype=f64, data=[0x1.8p-3, 1e-310])", NULL},
	{"input([1], data=[nan(0x7ff8000020000000)])", NULL},
	{"input([3], dtype=b8, data=[True, False, 1])", NULL},
	{"input([2, 1], stride=[2, 1], data=[1, 2, 3])", NULL}, /* a gap has a number, too */
	{"input([0], data=[])", NULL},
	{"input([], dtype=i64, data=[-9223372036854775808])", NULL},
	{"input([3], data=[1, 2])", "input: data has 2 numbers, the storage 3 cells"},
	{"input([2, 1], stride=[2, 1], data=[1, 2])", "(one number per cell, in the order of memory)"},
	{"input([1], dtype=u8, data=[256])", "data: 256 is no u8"},
	{"input([1], dtype=i32, data=[0.5])", "data: 0.5 is no i32"},
	{"input([1], dtype=b8, data=[2])", "data: 2 is no b8"},
	{"input([1], dtype=f16, data=[1e5])", "data: 1e+05 is no f16"},
	{"input([1], fill=\"ties\", data=[1])", "data or a fill, not both"},
	{"input([1], data=1)", "argument 'data' must be a list of numbers, not an integer"},
};

/* The text survives reading and printing. */
static void data_rows(void)
{
	for (int i = 0; i < ARRAY_LEN(data_cases); i++) {
		struct prog p, q;
		struct err err = {0};
		struct strbuf sb;
		sb_init(&sb);
		sb_printf(&sb, "# scatterproof 1\nx = %s\nreturn (x,)\n", data_cases[i].row);
		bool ok = prog_read(&p, &arena, sb.s, sb.len, READ_STRICT, &err);
		EXPECT(ok == !data_cases[i].error && (ok || strstr(err.msg, data_cases[i].error)), "%s: %s", data_cases[i].row,
			ok ? "accepted" : err.msg);
		sb_reset(&sb);
		if (ok)
			prog_print(&sb, &p);
		if (ok && prog_read(&q, &arena, sb.s, sb.len, READ_STRICT, &err)) {
			size_t nbytes = (size_t)prog_storage_cells(&p, 0) * (size_t)dtype_nbytes(node_meta(&p, 0)->dtype);
			EXPECT(memcmp(fill_storage(&p, 0, &arena), fill_storage(&q, 0, &arena), nbytes) == 0, "other data after\n%s", sb.s);
		} else {
			EXPECT(!ok, "%s\n%s", err.msg, sb.s);
		}
		sb_free(&sb);
	}
}

static double first(const struct prog *p, int call)
{
	struct prog q;
	struct err err = {0};
	EXPECT(prog_bind(&q, p, call, &arena, &err), "%s", err.msg);
	return dtype_load_f(DT_F32, fill_storage(&q, 0, &arena));
}

static void data_in_calls(void)
{
	static const char good[] = "# scatterproof 1\nx = input([1], data=[5])\ny = input([1], seed=1)\nreturn (x, y)\n"
							   "call (y: seed=7)\ncall (x: data=[6.5])\ncall (y: data=[2], x: data=[nan])\n";
	static const char *const bad[][2] = {{"call (x: seed=3)", "'x' has data, so no seed"}, {"call (x: data=[1, 2])", "data has 2 numbers"},
		{"call (y: seed=3 data=[1])", "data or a seed, not both"}};
	struct prog p;
	struct err err = {0};
	struct strbuf sb;
	sb_init(&sb);
	EXPECT(prog_read(&p, &arena, good, strlen(good), READ_STRICT, &err), "%s", err.msg);
	EXPECT(first(&p, 0) == 5 && first(&p, 1) == 5 && first(&p, 2) == 6.5 && first(&p, 3) != first(&p, 3), "data of the calls");
	prog_print(&sb, &p);
	EXPECT(strstr(sb.s, "call (x: data=[6.5])\ncall (y: data=[2], x: data=[nan])\n"), "printed as\n%s", sb.s);
	for (int i = 0; i < ARRAY_LEN(bad); i++) {
		struct prog q;
		sb_reset(&sb);
		sb_printf(&sb, "%.*s%s\n", (int)(strstr(good, "call") - good), good, bad[i][0]);
		err = (struct err){0};
		EXPECT(!prog_read(&q, &arena, sb.s, sb.len, READ_STRICT, &err) && strstr(err.msg, bad[i][1]), "%s: %s", bad[i][0], err.msg);
	}
	sb_free(&sb);
}

int main(int argc, char **argv)
{
	arena_init(&arena);
	if (argc == 3 && str_eq(argv[1], "dump")) {
		int rc = dump(argv[2]);
		arena_free(&arena);
		return rc;
	}
	RUN(names);
	RUN(ranges);
	RUN(normal_moments);
	RUN(wide_is_wide);
	RUN(unique_is_unique);
	RUN(known_values);
	RUN(captured);
	RUN(data_rows);
	RUN(data_in_calls);
	arena_free(&arena);
	return TEST_END();
}
