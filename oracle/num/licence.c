/* licence.c: what the rows of a family's table come to for one target. The one idea: an operator that a row names has rules of its own,
 * which begin as its class's; all others share their class's. */
#include "oracle/num/licence.h"

static const char *const class_names[NLC] = {
	[LC_MOVE] = "move",
	[LC_ARITH] = "arith",
	[LC_MUL] = "mul",
	[LC_DIV] = "div",
	[LC_TRANS] = "trans",
	[LC_COMPARE] = "compare",
	[LC_SUM] = "sum",
	[LC_PROD] = "prod",
	[LC_MINMAX] = "minmax",
	[LC_VAR] = "var",
	[LC_SCAN] = "scan",
	[LC_MATMUL] = "matmul",
	[LC_ACCUM] = "accum",
	[LC_CONVERT] = "convert",
	[LC_NORM] = "norm",
};

const char *licence_entry_name(const struct licence_profile *l, int entry)
{
	return entry < NLC ? class_names[entry] : op_info[l->own[entry - NLC]].name;
}

int licence_entry(const struct licence_profile *l, int op)
{
	for (int i = 0; i < l->nown; i++)
		if (l->own[i] == op_computing(op))
			return NLC + i;
	return (int)op_info[op].licence;
}

static bool holds(const struct licence_row *r, const struct licence_kernels *k, enum licence_device device)
{
	return r->kernels & k->kernel && r->devices & 1u << device;
}

static void name_own(struct licence_profile *out, const struct licence_kernels *k, enum licence_device device)
{
	for (const struct licence_row *r = k->row; r < k->row + k->nrow; r++)
		for (const short *op = r->ops; op && holds(r, k, device) && *op >= 0; op++)
			if (licence_entry(out, *op) < NLC) {
				CHECK(out->nown < MAX_OWN);
				out->own[out->nown++] = *op;
			}
}

static bool speaks_of(const struct licence_row *r, const struct licence_profile *l, int entry)
{
	const int op = entry < NLC ? -1 : l->own[entry - NLC];
	for (const short *named = r->ops; named && *named >= 0; named++)
		if (*named == op)
			return true;
	return r->class_ == LIC_EVERY || r->class_ == (op < 0 ? entry : (int)op_info[op].licence);
}

static enum dtype resolve_dtype(int column, enum dtype dt)
{
	return column == LIC_SELF ? dt : column == LIC_INNER ? dtype_compute(dt) : (enum dtype)column;
}

static void resolve(struct licence_profile *out, const struct licence_kernels *k, enum licence_device device)
{
	for (const struct licence_row *r = k->row; r < k->row + k->nrow; r++)
		for (int e = 0; e < NLC + out->nown && holds(r, k, device); e++)
			for (int d = 0; d < NDTYPES && speaks_of(r, out, e); d++)
				if (r->dtypes & 1u << d)
					out->rule[e][d] = (struct lic_rule){
						resolve_dtype(r->compute, (enum dtype)d), resolve_dtype(r->acc, (enum dtype)d), r->ulp, r->flags, r};
}

static enum dtype narrower(enum dtype a, enum dtype b) { return num_format[a].p < num_format[b].p ? a : b; }

/* What either of two rules permits. Two flags are promises; all others are permissions. Where the two accumulate in different types,
 * partial results have the narrower one, or the wider (LF_WIDE). */
static void rule_unite(struct lic_rule *r, const struct lic_rule *e)
{
	const unsigned promises = LF_IEEE | LF_CASCADE;
	unsigned flags = ((r->flags | e->flags) & ~promises) | (r->flags & e->flags & promises);
	if (e->acc != r->acc || e->compute != r->compute)
		flags |= LF_WIDE;
	r->compute = narrower(r->compute, e->compute);
	r->acc = narrower(r->acc, e->acc);
	r->ulp = fmax(r->ulp, e->ulp);
	r->flags = flags;
}

void licence_of(struct licence_profile *out, const struct target_semantics *s, const struct target_arithmetic *f)
{
	const unsigned more = f->decomposed_tanh ? LF_TANH : 0u, less = f->library_expm1 ? LF_DECOMP : 0u;
	*out = (struct licence_profile){.kernels = f->kernels,
		.device = f->device,
		.semantics = *s,
		.numbers_wide = f->kernels->numbers_wide & 1u << f->device,
		.foreign = f->others,
		.traced = f->traced};
	name_own(out, f->kernels, f->device);
	if (f->others)
		name_own(out, f->others, f->device);
	struct licence_profile other = *out;
	resolve(out, f->kernels, f->device);
	if (f->others)
		resolve(&other, f->others, f->device);
	for (int e = 0; e < NLC + out->nown; e++)
		for (int d = 0; d < NDTYPES; d++) {
			if (f->others)
				rule_unite(&out->rule[e][d], &other.rule[e][d]);
			out->rule[e][d].flags = (out->rule[e][d].flags & ~less) | more;
		}
}
