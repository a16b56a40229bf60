/* dtype.c: the table and the conversions, all by integer arithmetic on bit patterns so that every machine agrees. */
#include "eager/lang/dtype.h"

#include <math.h>

const struct dtype_info dtype_info[NDTYPES] = {
#define DT(id, fx, torch, nbytes, kind, prec, emin, emax) [DT_##id] = {fx, torch, nbytes, kind, prec, emin, emax},
#include "eager/lang/dtype.def"
#undef DT
};

bool dtype_find(enum dtype *out, const char *name)
{
	if (str_starts(name, "torch."))
		name += 6;
	for (int t = 0; t < NDTYPES; t++) {
		if (str_eq(name, dtype_info[t].name) || str_eq(name, dtype_info[t].torch)) {
			*out = (enum dtype)t;
			return true;
		}
	}
	return false;
}

const char *dtype_guess(struct guess *g, const char *name)
{
	guess_from(g, name, &dtype_info[0].torch, sizeof dtype_info[0], NDTYPES);
	for (int t = 0; t < NDTYPES; t++) /* shorter ones win only if nearer */
		guess_add(g, dtype_info[t].name, strlen(dtype_info[t].name));
	return guess_text(g);
}

#include "eager/lang/half.h"

double dtype_load_f(enum dtype t, const void *p)
{
	uint16_t h;
	float f;
	double d;
	switch (t) {
	case DT_F16: memcpy(&h, p, 2); return (double)f16_to_f32(h);
	case DT_BF16: memcpy(&h, p, 2); return (double)bf16_to_f32(h);
	case DT_F32: memcpy(&f, p, 4); return (double)f;
	case DT_F64: memcpy(&d, p, 8); return d;
	default: return (double)dtype_load_i(t, p);
	}
}

int64_t dtype_load_i(enum dtype t, const void *p)
{
	uint8_t u8;
	int8_t i8;
	int16_t i16;
	int32_t i32;
	int64_t i64;
	switch (t) {
	case DT_B8: memcpy(&u8, p, 1); return u8 != 0;
	case DT_U8: memcpy(&u8, p, 1); return u8;
	case DT_I8: memcpy(&i8, p, 1); return i8;
	case DT_I16: memcpy(&i16, p, 2); return i16;
	case DT_I32: memcpy(&i32, p, 4); return i32;
	case DT_I64: memcpy(&i64, p, 8); return i64;
	default: BUG("dtype_load_i of dtype %d", (int)t);
	}
}

void dtype_store_f(enum dtype t, void *p, double v)
{
	uint16_t h;
	float f;
	switch (t) {
	case DT_F16:
		h = f64_to_f16(v);
		memcpy(p, &h, 2);
		return;
	case DT_BF16:
		h = f64_to_bf16(v);
		memcpy(p, &h, 2);
		return;
	case DT_F32:
		f = (float)v;
		memcpy(p, &f, 4);
		return;
	case DT_F64: memcpy(p, &v, 8); return;
	default: BUG("dtype_store_f of dtype %d", (int)t);
	}
}

void dtype_store_i(enum dtype t, void *p, int64_t v)
{
	uint8_t x8 = (uint8_t)(t == DT_B8 ? v != 0 : v);
	uint16_t x16 = (uint16_t)v;
	uint32_t x32 = (uint32_t)v;
	switch (t) {
	case DT_B8:
	case DT_U8:
	case DT_I8: memcpy(p, &x8, 1); return;
	case DT_I16: memcpy(p, &x16, 2); return;
	case DT_I32: memcpy(p, &x32, 4); return;
	case DT_I64: memcpy(p, &v, 8); return;
	default: BUG("dtype_store_i of dtype %d", (int)t);
	}
}

double dtype_round(enum dtype t, double v)
{
	switch (t) {
	case DT_F16: return (double)f16_to_f32(f64_to_f16(v));
	case DT_BF16: return (double)bf16_to_f32(f64_to_bf16(v));
	case DT_F32: return (double)(float)v;
	case DT_F64: return v;
	default: BUG("dtype_round to dtype %d", (int)t);
	}
}

int64_t dtype_wrap(enum dtype t, int64_t v)
{
	switch (t) {
	case DT_B8: return v != 0;
	case DT_U8: return (int64_t)(uint8_t)v;
	case DT_I8: return (int64_t)(int8_t)(uint8_t)v;
	case DT_I16: return (int64_t)(int16_t)(uint16_t)v;
	case DT_I32: return (int64_t)(int32_t)(uint32_t)v;
	case DT_I64: return v;
	default: BUG("dtype_wrap to dtype %d", (int)t);
	}
}
