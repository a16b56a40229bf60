/* promote.c: result dtype and sizes of element-wise operators (see promote.h). */
#include "eager/ops/promote.h"

#include "generated/op_id.h"

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
	if (dtype_is_narrow(a) && dtype_is_narrow(b))
		return DT_F32;
	return b;
}

static void add(int *slot, enum dtype t) { *slot = *slot < 0 ? (int)t : (int)promote_types((enum dtype) * slot, t); }

/* A wrapped number counts as torch.get_default_dtype() if it is a float. */
void promote_tensor(struct promotion *p, const struct meta *m)
{
	if (m->number)
		add(&p->wrapped, dtype_is_float(m->dtype) ? DT_F32 : m->dtype);
	else
		add(m->rank > 0 ? &p->dim : &p->zero, m->dtype);
}

void promote_scalar(struct promotion *p, const struct scalar *s)
{
	add(&p->wrapped, s->kind == SC_FLOAT ? DT_F32 : s->kind == SC_INT ? DT_I64 : DT_B8);
}

/* bool < int < float. */
static int kind(enum dtype t) { return dtype_is_float(t) ? 2 : dtype_is_int(t); }

/* The higher category decides within its kind; a lower one counts if its kind is higher. */
static int combine(int higher, int lower)
{
	if (higher < 0 || lower < 0)
		return MAX(higher, lower);
	enum dtype h = (enum dtype)higher, l = (enum dtype)lower;
	return kind(l) > kind(h) ? (int)promote_types(h, l) : higher;
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
	out->device = (who ? who : in[0]->number && n > 1 ? in[1] : in[0])->device;
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

bool dtype_refuse(int op, enum dtype t, struct err *err)
{
	static const struct {
		const char *kernel, *words;
	} refusal[NOPS] = {
#define KERNEL(id, name) [OP_##id] = {.kernel = (name)},
#define WORDS(id, text)  [OP_##id] = {.words = (text)},
#include "eager/ops/dtype_refusals.def"
	};
	if (refusal[op].kernel)
		return err_set(err, "\"%s\" not implemented for '%s'", refusal[op].kernel, dtype_info[t].c10);
	if (refusal[op].words)
		return err_set(err, "%s", refusal[op].words);
	return err_limit(err, "not implemented for dtype %s", dtype_info[t].name);
}
