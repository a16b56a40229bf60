/* oracle_own_test.c: what the oracle answers itself although eager answers it, too: layouts, wrapping, rounding. Both answers are compared,
 * and those about layouts with a count of cells. */
#include "eager/lang/meta.h"
#include "oracle/num/num.h"
#include "oracle/ref/layout.h"
#include "tests/test.h"

#include <float.h>

/* The definitions, cell by cell. */
struct counted {
	bool overlaps, dense;
};

static struct counted count_cells(const struct meta *m)
{
	static uint8_t held[1 << 16];
	struct counted c = {false, true};
	int64_t n = meta_numel(m), extent = meta_extent(m) - m->offset;
	if (n == 0)
		return c;
	memset(held, 0, (size_t)extent);
	struct meta_iter it;
	meta_iter_start(&it, m);
	do {
		c.overlaps |= held[it.off - m->offset];
		held[it.off - m->offset] = 1;
	} while (meta_iter_next(&it, m));
	for (int64_t i = 0; i < extent; i++)
		c.dense &= held[i];
	c.dense &= !c.overlaps;
	return c;
}

static void expect_layout(const struct meta *m)
{
	struct counted want = count_cells(m);
	bool ok = layout_overlaps(m) == want.overlaps && meta_has_duplicates(m) == want.overlaps && layout_is_dense(m) == want.dense
		&& meta_is_non_overlapping_and_dense(m) == want.dense && layout_is_contiguous(m) == meta_is_contiguous(m)
		&& layout_is_expanded(m) == meta_overlaps_itself(m);
	struct strbuf text;
	sb_init(&text);
	if (!ok)
		meta_print(&text, m);
	EXPECT(ok, "%s: overlaps %d %d, should be %d; dense %d %d, should be %d", text.s, layout_overlaps(m), meta_has_duplicates(m),
		want.overlaps, layout_is_dense(m), meta_is_non_overlapping_and_dense(m), want.dense);
	sb_free(&text);
}

/* Every layout of up to three dims with sizes 0 to 4 and strides 0 to 8. */
static void small_layouts(void)
{
	for (int rank = 0; rank <= 3; rank++) {
		int n = 1;
		for (int d = 0; d < rank; d++)
			n *= 45;
		for (int code = 0; code < n; code++) {
			struct meta m = {.dtype = DT_F32, .rank = rank, .offset = 3};
			for (int d = 0, c = code; d < rank; d++, c /= 45) {
				m.size[d] = c % 5;
				m.stride[d] = c / 5 % 9;
			}
			expect_layout(&m);
		}
	}
}

/* Layouts of five dims, drawn: products of sizes with mistakes, so that dense, gapped and overlapping ones occur. */
static void large_layouts(void)
{
	uint64_t state = 1;
	for (int k = 0; k < 20000; k++) {
		struct meta m = {.dtype = DT_F32, .rank = 5};
		int64_t step = 1;
		for (int d = 4; d >= 0; d--) {
			state = state * 6364136223846793005u + 1442695040888963407u;
			m.size[d] = 1 + (int64_t)(state >> 60) % 4;
			m.stride[d] = step + (int64_t)((state >> 40) % 16 * (state >> 50 & 1) / 8);
			step *= m.size[d];
		}
		expect_layout(&m);
	}
}

static void wrapping(void)
{
	static const enum dtype ints[] = {DT_B8, DT_U8, DT_I8, DT_I16, DT_I32, DT_I64};
	for (int t = 0; t < ARRAY_LEN(ints); t++)
		for (int bit = 0; bit < 64; bit++)
			for (int64_t near = -300; near <= 300; near++) {
				int64_t v = (int64_t)(((uint64_t)1 << bit) + (uint64_t)near);
				EXPECT_INT(num_wrap(ints[t], v), dtype_wrap(ints[t], v));
			}
}

static void expect_rounded(enum dtype t, double v)
{
	double own = num_rn(t, v, 0), eager = dtype_round(t, v);
	EXPECT((isnan(own) && isnan(eager)) || (own == eager && !signbit(own) == !signbit(eager)), "%s of %a: %a, eager %a", dtype_info[t].name,
		v, own, eager);
}

/* Each half, what lies midway to the next, and that with one bit of a double more and less; f32 where its exponents end. */
static void rounding(void)
{
	for (int t = 0; t < NDTYPES; t++) {
		if (!dtype_is_float((enum dtype)t))
			continue;
		for (int bits = 0; dtype_nbytes((enum dtype)t) == 2 && bits < 1 << 16; bits++) {
			uint16_t h = (uint16_t)bits, next = (uint16_t)(bits + 1);
			double v = dtype_load_f((enum dtype)t, &h), midway = (v + dtype_load_f((enum dtype)t, &next)) / 2;
			expect_rounded((enum dtype)t, v);
			expect_rounded((enum dtype)t, midway);
			expect_rounded((enum dtype)t, nextafter(midway, INFINITY));
			expect_rounded((enum dtype)t, nextafter(midway, -INFINITY));
		}
		for (int e = -1074; e < 1024; e++)
			for (int m = 0; m < 64; m++)
				expect_rounded((enum dtype)t, ldexp(m & 1 ? -1 - m / 64.0 : 1 + m * 0x1p-25, e));
	}
}

/* Of a product with zero nothing is lost, whatever the other factor is; and an interval is no wider than its ends are apart. */
static void sets(void)
{
	const struct num most = {.hi = DBL_MAX, .rad = 1, .dtype = DT_F64}, far = num_add(&most, &most), zero = num_exact(DT_F64, 0);
	const struct num product = num_mul(&zero, &far), both = num_ends(DT_F64, 0, 2, 0), next = num_ends(DT_F64, 1, 1 + DBL_EPSILON, 0);
	EXPECT(num_beyond_k(&far) > 0, "2e308 is beyond double");
	EXPECT(num_is_exact(&product) && product.hi == 0, "%g +- %g flags %x", product.hi, product.rad, (unsigned)product.flags);
	EXPECT(num_has(&both, 0) && num_has(&both, 2) && both.rad < 1 + 0x1p-40, "%g +- %g", both.hi, both.rad);
	EXPECT(num_has(&next, 1) && num_has(&next, 1 + DBL_EPSILON) && next.rad < DBL_EPSILON * 0.75, "%g +- %g", next.hi, next.rad);
	for (int k = 0; k < 64; k++) {
		const double low = ldexp(k % 8 - 5, k % 2 ? -1070 : 1000), high = low + ldexp(1 + k % 5, k % 3 ? -1072 : 1001);
		const struct num r = num_ends(DT_F64, low, high, 0);
		EXPECT(num_has(&r, low) && num_has(&r, high), "%d: %g, %g", k, low, high);
	}
}

int main(void)
{
	RUN(sets);
	RUN(small_layouts);
	RUN(large_layouts);
	RUN(wrapping);
	RUN(rounding);
	return TEST_END();
}
