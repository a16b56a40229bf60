/* index_list.h: what index.Tensor, index_put and their derivatives ask of a list of index tensors (entries NULL for holes). */
#ifndef SCATTERPROOF_INDEX_LIST_H
#define SCATTERPROOF_INDEX_LIST_H

#include "eager/ops/rules.h"

/* The list after masks became index tensors: entry d belongs to dim d of self. Metas alone (base NULL) serve shape rules. */
struct index_entries {
	int n;
	bool given[MAX_RANK];
	struct tensor t[MAX_RANK];
};

static inline bool is_mask(const struct meta *m) { return m->dtype == DT_B8 || m->dtype == DT_U8; }
/* Is there an index tensor at all? Without one PyTorch's kernel refuses, unless there is nothing to do. */
bool index_list_any(const struct meta *const *in, int n);
/* One value under at most one mask and otherwise holes is a masked fill: the value converts like a Scalar. *mask: its place, -1: none. */
bool index_list_fills(int *mask, const struct meta *const *in, int n, const struct meta *values, bool accumulate);
bool index_list_adjacent(const struct index_entries *l); /* the indexed dims of self stand side by side */

#endif
