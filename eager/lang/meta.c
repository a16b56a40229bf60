/* meta.c: layout arithmetic (see meta.h). */
#include "eager/lang/meta.h"

#include "eager/lang/result.h"

const char *const result_status_name[NRES] = {"ok", "raised", "unsupported", "crash", "hang", "harness", "invariant"};

const char *const memory_format_name[NFORMATS] = {"contiguous_format", "preserve_format", "channels_last", "channels_last_3d"};

bool memory_format_find(enum memory_format *out, const char *name)
{
	if (str_starts(name, "torch."))
		name += 6;
	for (int f = 0; f < NFORMATS; f++)
		if (str_eq(name, memory_format_name[f])) {
			*out = (enum memory_format)f;
			return true;
		}
	return false;
}

int64_t meta_numel(const struct meta *m)
{
	int64_t n = 1;
	for (int d = 0; d < m->rank; d++)
		n *= m->size[d];
	return n;
}

bool meta_check_sizes(const int64_t *size, int rank, struct err *err)
{
	if (rank > MAX_RANK)
		return err_limit(err, "rank %d exceeds the limit %d", rank, MAX_RANK);
	/* The product of the non-zero sizes is bounded too: strides are products of sizes even when numel is 0. */
	int64_t n = 1;
	for (int d = 0; d < rank; d++) {
		if (size[d] < 0)
			return err_set(err, "size %lld of dim %d is negative", (long long)size[d], d);
		if (!mul_i64(&n, n, MAX(size[d], 1)) || n > MAX_NUMEL)
			return err_limit(err, "more than %lld elements", (long long)MAX_NUMEL);
	}
	return true;
}

void meta_make_contiguous(struct meta *out, enum dtype t, const int64_t *size, int rank)
{
	struct meta m = {.dtype = t, .device = DEV_RUN, .rank = rank}; /* size may be out->size */
	int64_t s = 1;
	for (int d = rank - 1; d >= 0; d--) {
		m.size[d] = size[d];
		m.stride[d] = s;
		s *= MAX(size[d], 1);
	}
	*out = m;
}

bool meta_is_contiguous(const struct meta *m)
{
	if (meta_numel(m) == 0)
		return true;
	int64_t want = 1;
	for (int d = m->rank - 1; d >= 0; d--) {
		if (m->size[d] == 1)
			continue;
		if (m->stride[d] != want)
			return false;
		want *= m->size[d];
	}
	return true;
}

int64_t meta_extent(const struct meta *m)
{
	if (meta_numel(m) == 0)
		return 0;
	int64_t last = m->offset;
	for (int d = 0; d < m->rank; d++)
		last += (m->size[d] - 1) * m->stride[d];
	return last + 1;
}

bool meta_overlaps_itself(const struct meta *m)
{
	for (int d = 0; d < m->rank; d++)
		if (m->size[d] > 1 && m->stride[d] == 0)
			return meta_numel(m) > 0;
	return false;
}

/* Dims of size > 1 sorted by stride (insertion sort, stable); returns how many. */
static int sorted_dims(int *order, const struct meta *m)
{
	int n = 0;
	for (int d = 0; d < m->rank; d++) {
		if (m->size[d] <= 1)
			continue;
		int k = n++;
		for (; k > 0 && m->stride[order[k - 1]] > m->stride[d]; k--)
			order[k] = order[k - 1];
		order[k] = d;
	}
	return n;
}

bool meta_may_overlap(const struct meta *m)
{
	int order[MAX_RANK];
	int64_t extent = 1;
	for (int k = 0, n = sorted_dims(order, m); k < n; k++) {
		if (m->stride[order[k]] < extent)
			return meta_numel(m) > 0;
		extent += (m->size[order[k]] - 1) * m->stride[order[k]];
	}
	return false;
}

bool meta_is_non_overlapping_and_dense(const struct meta *m)
{
	if (meta_numel(m) == 0)
		return true;
	int order[MAX_RANK], n = sorted_dims(order, m);
	int64_t want = 1;
	for (int k = 0; k < n; k++) {
		if (m->stride[order[k]] != want)
			return false;
		want *= m->size[order[k]];
	}
	return true;
}

bool meta_has_duplicates(const struct meta *m)
{
	if (meta_numel(m) == 0)
		return false;
	int order[MAX_RANK], n = sorted_dims(order, m);
	/* Sufficient for none: each stride exceeds the reach of all smaller ones. */
	int64_t reach = 0;
	bool sure = true;
	for (int k = 0; k < n; k++) {
		int d = order[k];
		if (m->stride[d] == 0)
			return true;
		if (m->stride[d] <= reach)
			sure = false;
		reach += (m->size[d] - 1) * m->stride[d];
	}
	if (sure)
		return false;
	/* Mark cells; the extent is bounded by MAX_NUMEL for any tensor that exists. */
	int64_t cells = reach + 1;
	struct arena a;
	arena_init(&a);
	uint8_t *seen = arena_zalloc(&a, (size_t)(cells / 8 + 1));
	struct meta_iter it;
	meta_iter_start(&it, m);
	bool dup = false;
	do {
		int64_t c = it.off - m->offset;
		if (seen[c >> 3] >> (c & 7) & 1) {
			dup = true;
			break;
		}
		seen[c >> 3] = (uint8_t)(seen[c >> 3] | 1 << (c & 7));
	} while (meta_iter_next(&it, m));
	arena_free(&a);
	return dup;
}

bool meta_same_sizes(const struct meta *a, const struct meta *b)
{
	if (a->rank != b->rank)
		return false;
	for (int d = 0; d < a->rank; d++)
		if (a->size[d] != b->size[d])
			return false;
	return true;
}

bool meta_same_strides(const struct meta *a, const struct meta *b)
{
	return memcmp(a->stride, b->stride, (size_t)a->rank * sizeof *a->stride) == 0;
}

bool meta_equivalent(const struct meta *a, const struct meta *b)
{
	if (a->dtype != b->dtype || a->device != b->device || !meta_same_sizes(a, b))
		return false;
	if (meta_numel(a) == 0)
		return true;
	for (int d = 0; d < a->rank; d++)
		if (a->size[d] > 1 && a->stride[d] != b->stride[d])
			return false;
	return true;
}

void meta_print(struct strbuf *sb, const struct meta *m)
{
	static const char *const device[NDEVICES] = {"", "cpu", "meta"};
	if (m->absent) {
		sb_puts(sb, "None");
		return;
	}
	sb_puts(sb, dtype_info[m->dtype].name);
	for (int pass = 0; pass < 2; pass++) {
		sb_putc(sb, '[');
		for (int d = 0; d < m->rank; d++)
			sb_printf(sb, "%s%lld", d ? ", " : "", (long long)(pass ? m->stride[d] : m->size[d]));
		sb_putc(sb, ']');
	}
	sb_puts(sb, device[m->device]);
}

void meta_iter_start(struct meta_iter *it, const struct meta *m)
{
	memset(it->index, 0, sizeof it->index);
	it->off = m->offset;
}

bool meta_iter_next(struct meta_iter *it, const struct meta *m)
{
	for (int d = m->rank - 1; d >= 0; d--) {
		it->off += m->stride[d];
		if (++it->index[d] < m->size[d])
			return true;
		it->off -= m->size[d] * m->stride[d];
		it->index[d] = 0;
	}
	return false;
}
