/* promote.c: result dtype, sizes and strides of element-wise operators (see promote.h). */
#include "eager/promote.h"

static bool is_narrow_float(enum dtype t) { return t == DT_F16 || t == DT_BF16; }

enum dtype promote_types(enum dtype a, enum dtype b)
{
	if (a == b)
		return a;
	if (a > b) {
		enum dtype t = a;
		a = b;
		b = t;
	}
	/* Now a < b in table order, which is promotion order but for two pairs that contain neither of the two. */
	if (a == DT_U8 && b == DT_I8)
		return DT_I16;
	if (is_narrow_float(a) && is_narrow_float(b))
		return DT_F32;
	return b;
}

static void add(int *slot, enum dtype t) { *slot = *slot < 0 ? (int)t : (int)promote_types((enum dtype)*slot, t); }

void promote_tensor(struct promotion *p, const struct meta *m) { add(m->rank > 0 ? &p->dim : &p->zero, m->dtype); }

void promote_scalar(struct promotion *p, const struct scalar *s)
{
	add(&p->wrapped, s->kind == SC_FLOAT ? DT_F32 : s->kind == SC_INT ? DT_I64 : DT_B8);
}

/* The higher category decides within its kind; a lower one counts if its kind is higher. */
static int combine(int higher, int lower)
{
	if (higher < 0 || lower < 0)
		return MAX(higher, lower);
	enum dtype h = (enum dtype)higher, l = (enum dtype)lower;
	return dtype_info[l].kind > dtype_info[h].kind ? (int)promote_types(h, l) : higher;
}

enum dtype promote_result(const struct promotion *p)
{
	int t = combine(p->dim, combine(p->zero, p->wrapped));
	CHECK(t >= 0);
	return (enum dtype)t;
}

static bool common_device(struct meta *out, const struct meta *const *in, int n, struct err *err)
{
	static const char *const name[NDEVICES] = {"the run's device", "cpu", "meta"};
	const struct meta *who = NULL;
	for (int k = 0; k < n; k++) {
		if (in[k]->rank == 0)
			continue;
		if (who && who->device != in[k]->device)
			return err_set(err, "Expected all tensors to be on the same device, but found at least two devices, %s and %s!",
				       name[who->device], name[in[k]->device]);
		who = in[k];
	}
	out->device = (who ? who : in[0])->device;
	return true;
}

bool promote_sizes(struct meta *out, const struct meta *const *in, int n, struct err *err)
{
	int rank = 0;
	int64_t size[MAX_RANK];
	for (int k = 0; k < n; k++)
		rank = MAX(rank, in[k]->rank);
	for (int d = 0; d < rank; d++)
		size[d] = 1;
	for (int k = 0; k < n; k++) {
		for (int d = rank - 1; d >= rank - in[k]->rank; d--) {
			int64_t s = in[k]->size[d - (rank - in[k]->rank)];
			if (s == 1 || s == size[d])
				continue;
			if (size[d] != 1)
				return err_set(err, "The size of tensor a (%lld) must match the size of tensor b (%lld) at non-singleton dimension %d",
					       (long long)size[d], (long long)s, d);
			size[d] = s;
		}
	}
	if (!common_device(out, in, n, err) || !meta_check_sizes(size, rank, err))
		return false;
	out->rank = rank;
	memcpy(out->size, size, sizeof size[0] * (size_t)rank);
	return true;
}

static bool same_strides(const struct meta *a, const struct meta *b)
{
	for (int d = 0; d < a->rank; d++)
		if (a->stride[d] != b->stride[d])
			return false;
	return true;
}

/* All operands have the result's sizes, are dense and agree: their strides are taken over as they are. */
static bool copy_strides(struct meta *out, const struct meta *const *in, int n)
{
	bool contiguous = true;
	for (int k = 0; k < n; k++) {
		if (!meta_same_sizes(out, in[k]))
			return false;
		contiguous = contiguous && meta_is_contiguous(in[k]);
	}
	if (contiguous) {
		meta_make_contiguous(out, out->dtype, out->size, out->rank);
		return true;
	}
	for (int k = 0; k < n; k++)
		if (!meta_is_non_overlapping_and_dense(in[k]) || !same_strides(in[0], in[k]))
			return false;
	memcpy(out->stride, in[0]->stride, sizeof out->stride);
	return true;
}

/* < 0: dim a is inside dim b; > 0: it is outside; 0: no operand can tell. The strides of a dim that is broadcast are 0. */
static int compare_dims(const struct meta *out, const struct meta *const *in, int n, int a, int b)
{
	for (int k = 0; k < n; k++) {
		int shift = out->rank - in[k]->rank;
		if (a < shift || b < shift)
			continue;
		bool bcast_a = in[k]->size[a - shift] != out->size[a], bcast_b = in[k]->size[b - shift] != out->size[b];
		int64_t sa = bcast_a ? 0 : in[k]->stride[a - shift], sb = bcast_b ? 0 : in[k]->stride[b - shift];
		if (sa == 0 || sb == 0)
			continue;
		if (sa != sb)
			return sa < sb ? -1 : 1;
		if (out->size[a] > out->size[b])
			return 1;
	}
	return 0;
}

void promote_strides(struct meta *out, const struct meta *const *in, int n, int nscalar)
{
	enum device device = out->device;
	out->offset = 0;
	if ((nscalar == 0 || out->rank == 0) && copy_strides(out, in, n)) {
		out->device = device;
		return;
	}
	/* order[0] is the fastest dim; an insertion sort that looks past pairs that nobody can tell apart. */
	int order[MAX_RANK], rank = out->rank;
	for (int i = 0; i < rank; i++)
		order[i] = rank - 1 - i;
	for (int i = 1; i < rank; i++) {
		for (int at = i, j = i - 1; j >= 0; j--) {
			int c = compare_dims(out, in, n, order[j], order[at]);
			if (c < 0)
				break;
			if (c > 0) {
				int t = order[j];
				order[j] = order[at];
				order[at] = t;
				at = j;
			}
		}
	}
	int64_t stride = 1;
	for (int i = 0; i < rank; i++) {
		out->stride[order[i]] = stride;
		stride *= MAX(out->size[order[i]], 1);
	}
}

const char *promote_torch_name(enum dtype t)
{
	static const char *const name[NDTYPES] = {
		[DT_B8] = "Bool", [DT_U8] = "Byte", [DT_I8] = "Char", [DT_I16] = "Short", [DT_I32] = "Int", [DT_I64] = "Long",
		[DT_F16] = "Half", [DT_BF16] = "BFloat16", [DT_F32] = "Float", [DT_F64] = "Double",
	};
	return name[t];
}
