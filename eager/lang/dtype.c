/* dtype.c: the table and the conversions, all by integer arithmetic on bit patterns so that every machine agrees. */
#include "eager/lang/dtype.h"

#include <math.h>

const struct dtype_info dtype_info[NDTYPES] = {
#define DT(id, name, torch, cell, load, store, class, rows, overflow, precision, emin, emax, compute, acc, letter, c10, cpp, full_cpp,     \
	short_cpp, reach, step, weight)                                                                                                        \
	[DT_##id] = {name, torch, (int)sizeof(cell), DC_##class, DR_##rows, OVERFLOW_##overflow, precision, emin, emax, DT_##compute,          \
		DT_##acc, #cell, #load, #store, letter, c10, cpp, full_cpp, short_cpp, reach, weight, step},
#include "eager/lang/dtype.def"
#undef DT
};

/* Graphs of PyTorch leave underscores out: f8e4m3fn. */
static bool is_abbreviated(const char *name, const char *ours)
{
	for (; *ours; ours++)
		if (*ours != '_' && *name++ != *ours)
			return false;
	return !*name;
}

bool dtype_find(enum dtype *out, const char *name)
{
	if (str_starts(name, "torch."))
		name += 6;
	for (int t = 0; t < NDTYPES; t++) {
		if (str_eq(name, dtype_info[t].name) || is_abbreviated(name, dtype_info[t].name) || str_eq(name, dtype_info[t].torch)) {
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

/* A row's case, where its class is among those that a function is for. */
#define NO_CASE(...)
#define OF_FLOAT_BOOL     NO_CASE
#define OF_FLOAT_SIGNED   NO_CASE
#define OF_FLOAT_UNSIGNED NO_CASE
#define OF_FLOAT_FLOAT    CASE
#define OF_INT_BOOL       CASE
#define OF_INT_SIGNED     CASE
#define OF_INT_UNSIGNED   CASE
#define OF_INT_FLOAT      NO_CASE

double dtype_load_f(enum dtype t, const void *p)
{
	switch (t) {
#define DT(id, name, torch, cell, load, ...)                                                                                               \
	case DT_##id: {                                                                                                                        \
		cell x;                                                                                                                            \
		memcpy(&x, p, sizeof x);                                                                                                           \
		return (double)(load(x));                                                                                                          \
	}
#include "eager/lang/dtype.def"
#undef DT
	default: BUG("dtype_load_f of dtype %d", (int)t);
	}
}

int64_t dtype_load_i(enum dtype t, const void *p)
{
	switch (t) {
#define CASE(id, cell, load)                                                                                                               \
	case DT_##id: {                                                                                                                        \
		cell x;                                                                                                                            \
		memcpy(&x, p, sizeof x);                                                                                                           \
		return (int64_t)(load(x));                                                                                                         \
	}
#define DT(id, name, torch, cell, load, store, class, ...) OF_INT_##class(id, cell, load)
#include "eager/lang/dtype.def"
#undef DT
#undef CASE
	default: BUG("dtype_load_i of dtype %d", (int)t);
	}
}

void dtype_store_f(enum dtype t, void *p, double v)
{
	switch (t) {
#define CASE(id, cell, store)                                                                                                              \
	case DT_##id: {                                                                                                                        \
		cell x = (cell)(store(v));                                                                                                         \
		memcpy(p, &x, sizeof x);                                                                                                           \
		return;                                                                                                                            \
	}
#define DT(id, name, torch, cell, load, store, class, ...) OF_FLOAT_##class(id, cell, store)
#include "eager/lang/dtype.def"
#undef DT
#undef CASE
	default: BUG("dtype_store_f of dtype %d", (int)t);
	}
}

void dtype_store_i(enum dtype t, void *p, int64_t v)
{
	switch (t) {
#define CASE(id, cell, store)                                                                                                              \
	case DT_##id: {                                                                                                                        \
		cell x = (cell)(store(v));                                                                                                         \
		memcpy(p, &x, sizeof x);                                                                                                           \
		return;                                                                                                                            \
	}
#define DT(id, name, torch, cell, load, store, class, ...) OF_INT_##class(id, cell, store)
#include "eager/lang/dtype.def"
#undef DT
#undef CASE
	default: BUG("dtype_store_i of dtype %d", (int)t);
	}
}

double dtype_round(enum dtype t, double v)
{
	switch (t) {
#define CASE(id, load, store)                                                                                                              \
	case DT_##id:                                                                                                                          \
		return (double)(load(store(v)));
#define DT(id, name, torch, cell, load, store, class, ...) OF_FLOAT_##class(id, load, store)
#include "eager/lang/dtype.def"
#undef DT
#undef CASE
	default: BUG("dtype_round to dtype %d", (int)t);
	}
}

int64_t dtype_wrap(enum dtype t, int64_t v)
{
	switch (t) {
#define CASE(id, load, store)                                                                                                              \
	case DT_##id:                                                                                                                          \
		return (int64_t)(load(store(v)));
#define DT(id, name, torch, cell, load, store, class, ...) OF_INT_##class(id, load, store)
#include "eager/lang/dtype.def"
#undef DT
#undef CASE
	default: BUG("dtype_wrap to dtype %d", (int)t);
	}
}

/* A format without infinity keeps its largest exponent for numbers, but for the largest significand, which is NaN. */
double dtype_max(enum dtype t)
{
	const struct dtype_info *i = &dtype_info[t];
	const int lost = i->overflow == OVERFLOW_TO_NAN ? 2 - i->precision : 1 - i->precision;
	return ldexp(2 - ldexp(1, lost), i->emax);
}

int64_t dtype_int_max(enum dtype t)
{
	const int bits = 8 * dtype_nbytes(t) - !dtype_is_unsigned(t);
	return (int64_t)(UINT64_MAX >> (64 - bits));
}

int64_t dtype_int_min(enum dtype t) { return dtype_is_unsigned(t) ? 0 : -dtype_int_max(t) - 1; }
