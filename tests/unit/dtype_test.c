/* dtype_test.c: the columns of dtype.def agree with each other, with loads and stores, and with the reference's own arithmetic. */
#include "eager/lang/dtype.h"
#include "eager/lang/op.h"
#include "eager/ops/pointwise.h"
#include "eager/ops/promote.h"
#include "oracle/num/num.h"
#include "tests/test.h"

#define FOR_DTYPES(t) for (enum dtype t = (enum dtype)0; t < NDTYPES; t = (enum dtype)(t + 1))

static uint64_t lot(void)
{
	static uint64_t n;
	return mix64(++n);
}

static bool same(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

static int64_t through_memory(enum dtype t, int64_t v)
{
	unsigned char cell[8];
	dtype_store_i(t, cell, v);
	return dtype_load_i(t, cell);
}

static void test_floats(void)
{
	FOR_DTYPES(t)
	{
		const struct dtype_info *i = &dtype_info[t];
		if (!dtype_is_float(t))
			continue;
		const double max = dtype_max(t), tiny = ldexp(1, i->emin - i->precision + 1), ulp = ldexp(1, 1 - i->precision);
		const double beyond = i->overflow == OVERFLOW_TO_NAN ? NAN : INFINITY, above = max + ldexp(ulp, i->emax);
		EXPECT(dtype_round(t, max) == max && dtype_round(t, -max) == -max, "%s: the maximum %a", i->name, max);
		EXPECT(same(dtype_round(t, above), beyond), "%s: %a gives %a", i->name, above, dtype_round(t, above));
		EXPECT(dtype_round(t, tiny) == tiny && dtype_round(t, tiny * 0.5) == 0, "%s: the smallest number %a", i->name, tiny);
		EXPECT(dtype_round(t, 1 + ulp) == 1 + ulp && (t == DT_F64 || dtype_round(t, 1 + ulp / 2) == 1), "%s: precision", i->name);
		EXPECT(dtype_round(t, i->step * i->reach) == i->step * i->reach, "%s: the dyadic fill's reach", i->name);
		EXPECT(dtype_info[i->compute].precision >= i->precision && dtype_info[i->acc].precision >= i->precision,
			"%s: computed in less than it is", i->name);
	}
}

static void test_names(void)
{
	static const struct {
		const char *name;
		enum dtype is;
	} known[] = {
		{"f32", DT_F32}, {"torch.bfloat16", DT_BF16}, {"float8_e5m2", DT_F8_E5M2}, {"f8_e4m3fn", DT_F8_E4M3FN}, {"f8e4m3fn", DT_F8_E4M3FN}};
	static const char *const unknown[] = {"", "f", "f8", "f8e4m3", "f8e4m3fnu", "f_32", "c64"};
	enum dtype t;
	for (int i = 0; i < ARRAY_LEN(known); i++)
		EXPECT(dtype_find(&t, known[i].name) && t == known[i].is, "%s", known[i].name);
	for (int i = 0; i < ARRAY_LEN(unknown); i++)
		EXPECT(!dtype_find(&t, unknown[i]), "%s", unknown[i]);
}

static void test_integers(void)
{
	FOR_DTYPES(t)
	{
		const struct dtype_info *i = &dtype_info[t];
		if (!dtype_is_int(t))
			continue;
		const int64_t max = dtype_int_max(t), min = dtype_int_min(t), past = wrap_add(max, 1);
		EXPECT_INT(through_memory(t, max), max);
		EXPECT_INT(through_memory(t, min), min);
		EXPECT_INT(through_memory(t, past), min);
		EXPECT_INT(dtype_wrap(t, past), min);
		EXPECT(i->overflow == OVERFLOW_WRAP && i->precision == 0 && i->compute == t, "%s: columns of a float", i->name);
		EXPECT(wrap_add(max, 1) == (i->nbytes == 8 ? min : (int64_t)1 << (8 * i->nbytes - (min < 0))), "%s: width", i->name);
		EXPECT(dtype_is_unsigned(t) == (min == 0), "%s: class", i->name);
		EXPECT(dtype_info[i->acc].nbytes >= i->nbytes, "%s: accumulated in less than it is", i->name);
	}
}

static void test_loads_of_integers_as_floats(void)
{
	const uint64_t all = UINT64_MAX;
	const uint32_t word = UINT32_MAX;
	const int8_t byte = -1;
	EXPECT(dtype_load_f(DT_U64, &all) == 0x1p64, "u64: %a", dtype_load_f(DT_U64, &all));
	EXPECT(dtype_load_f(DT_U32, &word) == 4294967295.0, "u32: %a", dtype_load_f(DT_U32, &word));
	EXPECT(dtype_load_f(DT_I8, &byte) == -1, "i8: %a", dtype_load_f(DT_I8, &byte));
}

static void test_u64_and_floats(void)
{
	for (int k = 0; k < 20000; k++) {
		const uint64_t u = lot() >> (lot() & 63);
		EXPECT(f32_of_u64((int64_t)u) == (float)u, "f32 of %" PRIu64, u);
		EXPECT(f64_of_u64((int64_t)u) == (double)u, "f64 of %" PRIu64, u);
		if ((double)u < 0x1p64)
			EXPECT((uint64_t)float_truncate((double)u, float_truncates_into(DT_U64)) == (uint64_t)(double)u, "u64 of %" PRIu64, u);
	}
}

/* Two answers to one question: eager rounds by bits, the reference by adding a quantum. */
static void test_the_reference_rounds_alike(void)
{
	FOR_DTYPES(t)
	{
		const struct num_format *f = &num_format[t];
		if (!dtype_is_float(t))
			continue;
		EXPECT(f->max == dtype_max(t) && f->p == dtype_info[t].precision && f->emin == dtype_info[t].emin, "%s", dtype_info[t].name);
		for (int k = 0; k < 20000; k++) {
			const int low = dtype_info[t].emin - f->p - 2, span = dtype_info[t].emax + 2 - low;
			const double v = ldexp((double)(int64_t)lot(), low + (int)(lot() % (uint64_t)span) - 62);
			EXPECT(
				same(num_rn(t, v, 0), dtype_round(t, v)), "%s: %a is %a or %a", dtype_info[t].name, v, num_rn(t, v, 0), dtype_round(t, v));
		}
	}
}

/* A row takes a dtype that is not FULL only by DTS_BARE or DTS_STORED, and the sets are what they say. */
static void test_sets(void)
{
	FOR_DTYPES(t)
	{
		const bool full = dtype_info[t].rows == DR_FULL;
		EXPECT(full == !!((unsigned)DTS_ALL & DTS(t)), "%s: DTS_ALL", dtype_info[t].name);
		EXPECT((dtype_info[t].rows == DR_BARE) == !!((unsigned)DTS_BARE & DTS(t)), "%s: DTS_BARE", dtype_info[t].name);
		EXPECT((full && dtype_is_float(t)) == !!((unsigned)DTS_FLOAT & DTS(t)), "%s: DTS_FLOAT", dtype_info[t].name);
		EXPECT((full && dtype_is_int(t)) == !!((unsigned)DTS_INT & DTS(t)), "%s: DTS_INT", dtype_info[t].name);
		EXPECT((full && dtype_is_narrow(t)) == !!((unsigned)DTS_NARROW & DTS(t)), "%s: DTS_NARROW", dtype_info[t].name);
		EXPECT((unsigned)DTS_STORED & DTS(t), "%s: DTS_STORED", dtype_info[t].name);
	}
}

static void test_promotion(void)
{
	FOR_DTYPES(a)
	FOR_DTYPES(b)
	{
		struct err e1 = {0}, e2 = {0};
		enum dtype ab = a, ba = b;
		const bool have = promote_types(&ab, a, b, &e1), full = dtype_info[a].rows == DR_FULL && dtype_info[b].rows == DR_FULL;
		const bool stored = dtype_info[a].rows == DR_STORED || dtype_info[b].rows == DR_STORED;
		const bool bare_float = DTS_BARE & ((1 << a) | (1 << b)) && (dtype_is_float(a) || dtype_is_float(b)) && !stored;
		EXPECT(have == promote_types(&ba, b, a, &e2) && (!have || ab == ba), "%s with %s depends on their order", dtype_info[a].name,
			dtype_info[b].name);
		EXPECT(have == (a == b || full || bare_float), "%s with %s: %s", dtype_info[a].name, dtype_info[b].name, e1.msg);
		EXPECT(!have || !dtype_is_float(a) || dtype_info[ab].precision >= dtype_info[a].precision, "%s with %s loses bits",
			dtype_info[a].name, dtype_info[b].name);
	}
	struct err err = {0};
	enum dtype t;
	EXPECT(!promote_types(&t, DT_U16, DT_I32, &err), "u16 with i32");
	EXPECT_STR(err.msg, "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote UInt16 and Int");
	err_clear(&err);
	EXPECT(!promote_types(&t, DT_F8_E5M2, DT_F32, &err), "f8_e5m2 with f32");
	EXPECT_STR(err.msg, "Promotion for Float8 Types is not supported, attempted to promote Float8_e5m2 and Float");
}

int main(void)
{
	RUN(test_floats);
	RUN(test_names);
	RUN(test_integers);
	RUN(test_loads_of_integers_as_floats);
	RUN(test_u64_and_floats);
	RUN(test_the_reference_rounds_alike);
	RUN(test_sets);
	RUN(test_promotion);
	return TEST_END();
}
