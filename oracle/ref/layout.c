/* layout.c: the four questions, each answered from its definition. Two elements share a cell if and only if the differences of their
 * indices, times the strides, add up to 0: the search below is for such differences, not for cells. */
#include "oracle/ref/layout.h"

bool layout_is_contiguous(const struct meta *m)
{
	bool row_major = true;
	for (int d = 0; d < m->rank; d++) {
		int64_t inner = 1;
		for (int k = d + 1; k < m->rank; k++)
			inner *= m->size[k];
		if (m->size[d] == 0)
			return true;
		row_major &= m->size[d] == 1 || m->stride[d] == inner;
	}
	return row_major;
}

bool layout_is_expanded(const struct meta *m)
{
	bool expanded = false;
	for (int d = 0; d < m->rank; d++) {
		if (m->size[d] == 0)
			return false;
		expanded |= m->size[d] > 1 && m->stride[d] == 0;
	}
	return expanded;
}

/* Dims of more than one element, the largest stride first; span[k]: how far apart elements can lie that differ in dims k.. alone. */
struct steps {
	int n;
	int64_t size[MAX_RANK], stride[MAX_RANK], span[MAX_RANK + 1];
};

static bool find_steps(struct steps *s, const struct meta *m)
{
	s->n = 0;
	for (int d = 0; d < m->rank; d++) {
		if (m->size[d] == 0)
			return false;
		if (m->size[d] == 1)
			continue;
		int k = s->n++;
		for (; k > 0 && s->stride[k - 1] < m->stride[d]; k--) {
			s->stride[k] = s->stride[k - 1];
			s->size[k] = s->size[k - 1];
		}
		s->stride[k] = m->stride[d];
		s->size[k] = m->size[d];
	}
	s->span[s->n] = 0;
	for (int k = s->n - 1; k >= 0; k--)
		s->span[k] = s->span[k + 1] + (s->size[k] - 1) * s->stride[k];
	return true;
}

static int64_t divide_down(int64_t a, int64_t b) { return a / b - (a % b < 0); } /* b > 0 */

/* Differences in dims k.. that bring the distance `apart` back to 0. `moved`: one of those before is not 0, so all that follow may be. */
static bool meets(const struct steps *s, int k, int64_t apart, bool moved)
{
	if (k == s->n)
		return moved && apart == 0;
	if (s->stride[k] == 0)
		return apart == 0;
	/* What remains must not exceed what the dims behind can make up for. Of a difference and its negative one is enough. */
	int64_t rest = s->span[k + 1], most = s->size[k] - 1;
	int64_t low = -divide_down(rest + apart, s->stride[k]), high = divide_down(rest - apart, s->stride[k]);
	for (int64_t i = moved ? MAX(low, -most) : 0; i <= MIN(high, most); i++)
		if (meets(s, k + 1, apart + i * s->stride[k], moved || i != 0))
			return true;
	return false;
}

bool layout_overlaps(const struct meta *m)
{
	struct steps s;
	return find_steps(&s, m) && meets(&s, 0, 0, false);
}

bool layout_is_dense(const struct meta *m)
{
	struct steps s;
	int64_t n = 1;
	for (int d = 0; d < m->rank; d++)
		n *= m->size[d];
	return !find_steps(&s, m) || (s.span[0] + 1 == n && !meets(&s, 0, 0, false));
}
