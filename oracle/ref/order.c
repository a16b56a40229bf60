/* order.c: see order.h. NaN comes last; equals keep their order. */
#include "oracle/ref/order.h"

bool order_is_nan(const struct num *x) { return (x->flags & NUM_SPECIAL) == (NUM_NOFIN | NUM_NAN) && !(x->flags & (NUM_UNDEC | NUM_ANY)); }

enum relation order_of(const struct num *x, const struct num *y)
{
	const bool wholes = !dtype_is_float((enum dtype)x->dtype);
	if ((x->flags | y->flags) & (NUM_UNDEC | NUM_ANY))
		return OPEN;
	if (wholes && x->dtype == DT_U64)
		return (uint64_t)x->i < (uint64_t)y->i ? BEFORE : x->i == y->i ? EQUAL : BEHIND;
	if (wholes)
		return x->i < y->i ? BEFORE : x->i == y->i ? EQUAL : BEHIND;
	if (order_is_nan(x) || order_is_nan(y)) {
		const bool number = !(x->flags & y->flags & NUM_NAN) && !((order_is_nan(x) ? y : x)->flags & NUM_NAN);
		return order_is_nan(x) && order_is_nan(y) ? EQUAL : !number ? OPEN : order_is_nan(y) ? BEFORE : BEHIND;
	}
	const bool exact = num_is_exact(x) && num_is_exact(y);
	if ((x->flags | y->flags) & NUM_SPECIAL)
		return OPEN;
	if (exact && x->hi == y->hi)
		return EQUAL;
	return x->hi + x->rad < y->hi - y->rad ? BEFORE : x->hi - x->rad > y->hi + y->rad ? BEHIND : OPEN;
}

bool order_known(int64_t *pos, const struct tape *t, const sid *e, int64_t n, bool descending)
{
	for (int64_t i = 0; i < n; i++) {
		int64_t k = i;
		for (; k > 0; k--) {
			const enum relation r = order_of(&t->val[e[pos[k - 1]]], &t->val[e[i]]);
			if (r == OPEN)
				return false;
			if (r == EQUAL || r == (descending ? BEHIND : BEFORE))
				break;
			pos[k] = pos[k - 1];
		}
		pos[k] = i;
	}
	return true;
}
