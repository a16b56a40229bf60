/* promote.c: result dtype and sizes of element-wise operators (see promote.h). */
#include "eager/ops/promote.h"

#include "generated/op_id.h"

static bool is_rows(enum dtype a, enum dtype b, enum dtype_rows rows) { return dtype_info[a].rows == rows || dtype_info[b].rows == rows; }

/* How PyTorch names dtypes that have no common one, or NULL. */
static const char *without_common(enum dtype a, enum dtype b)
{
	if (a == b)
		return NULL;
	if (is_rows(a, b, DR_STORED))
		return "Float8 Types";
	return is_rows(a, b, DR_BARE) && !dtype_is_float(a) && !dtype_is_float(b) ? "uint16, uint32, uint64 types" : NULL;
}

bool promote_types(enum dtype *out, enum dtype a, enum dtype b, struct err *err)
{
	const char *none = without_common(a, b);
	if (none)
		return err_set(
			err, "Promotion for %s is not supported, attempted to promote %s and %s", none, dtype_info[a].c10, dtype_info[b].c10);
	/* Table order is promotion order but for two pairs that contain neither of the two. */
	*out = MAX(a, b);
	if (MIN(a, b) == DT_U8 && *out == DT_I8)
		*out = DT_I16;
	if (a != b && dtype_is_narrow(a) && dtype_is_narrow(b))
		*out = DT_F32;
	return true;
}

/* `slot` may be empty. A pair that cannot be promoted stays in p. */
static void add(struct promotion *p, int *slot, enum dtype t)
{
	enum dtype both = t;
	if (*slot >= 0 && !without_common((enum dtype) * slot, t)) {
		promote_types(&both, (enum dtype) * slot, t, NULL);
	} else if (*slot >= 0 && p->refused[0] < 0) {
		p->refused[0] = *slot;
		p->refused[1] = (int)t;
	}
	*slot = (int)both;
}

/* A wrapped number counts as torch.get_default_dtype() if it is a float. */
void promote_tensor(struct promotion *p, const struct meta *m)
{
	if (m->number)
		add(p, &p->wrapped, dtype_is_float(m->dtype) ? DT_F32 : m->dtype);
	else
		add(p, m->rank > 0 ? &p->dim : &p->zero, m->dtype);
}

void promote_scalar(struct promotion *p, const struct scalar *s)
{
	add(p, &p->wrapped, s->kind == SC_FLOAT ? DT_F32 : s->kind == SC_INT ? DT_I64 : DT_B8);
}

/* bool < int < float. */
static int kind(enum dtype t) { return dtype_is_float(t) ? 2 : dtype_is_int(t); }

/* The higher category decides within its kind; a lower one counts if its kind is higher. */
static bool combine(int *out, int higher, int lower, struct err *err)
{
	enum dtype t;
	*out = higher < 0 ? lower : higher;
	if (higher < 0 || lower < 0 || kind((enum dtype)lower) <= kind((enum dtype)higher))
		return true;
	if (!promote_types(&t, (enum dtype)higher, (enum dtype)lower, err))
		return false;
	*out = (int)t;
	return true;
}

bool promote_result(enum dtype *out, const struct promotion *p, struct err *err)
{
	int low, t;
	enum dtype none;
	if (p->refused[0] >= 0)
		return promote_types(&none, (enum dtype)p->refused[0], (enum dtype)p->refused[1], err);
	if (!combine(&low, p->zero, p->wrapped, err) || !combine(&t, p->dim, low, err))
		return false;
	CHECK(t >= 0);
	*out = (enum dtype)t;
	return true;
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
	if (dtype_info[t].rows != DR_FULL) /* some versions have a kernel, some have none */
		return err_limit(err, "not implemented for dtype %s", dtype_info[t].name);
	const int of = op_computing(op);
	if (refusal[of].kernel)
		return err_set(err, "\"%s\" not implemented for '%s'", refusal[of].kernel, dtype_info[t].c10);
	if (refusal[of].words)
		return err_set(err, "%s", refusal[of].words);
	return err_limit(err, "not implemented for dtype %s", dtype_info[t].name);
}

bool clamps_by_numbers(int op)
{
	const int row = op_computing(op);
	return row == OP_clamp || row == OP_clamp_min || row == OP_clamp_max;
}
