/* licence.c: resolves the rows of licence.def into the table of one target. */
#include "oracle/num/licence.h"

enum { ALL = NLC, SELF = NDTYPES, INNER };

struct licence_row {
	int class_;
	unsigned targets, devices, dtypes;
	int compute, acc;
	double ulp;
	unsigned flags;
	const char *source;
	int line;
};

enum { /* names of the rows' first column */
	CL_ALL = NLC,
	CL_MOVE = LC_MOVE,
	CL_ARITH = LC_ARITH,
	CL_MUL = LC_MUL,
	CL_DIV = LC_DIV,
	CL_TRANS = LC_TRANS,
	CL_COMPARE = LC_COMPARE,
	CL_SUM = LC_SUM,
	CL_PROD = LC_PROD,
	CL_MINMAX = LC_MINMAX,
	CL_VAR = LC_VAR,
	CL_SCAN = LC_SCAN,
	CL_MATMUL = LC_MATMUL,
	CL_ACCUM = LC_ACCUM,
	CL_CONVERT = LC_CONVERT,
	CL_NORM = LC_NORM
};

static const struct licence_row rows[] = {
#define LIC(class_, targets, devices, dtypes, compute, acc, ulp, flags, source)                                                            \
	{CL_##class_, targets, devices, dtypes, compute, acc, ulp, flags, source, __LINE__},
#include "oracle/num/licence.def"
};

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

const char *licence_class_name(enum licence_class c) { return class_names[c]; }

static enum dtype resolve_dtype(int column, enum dtype dt)
{
	if (column == SELF)
		return dt;
	if (column == INNER)
		return dtype_compute(dt);
	return (enum dtype)column;
}

void licence_resolve(struct licence_profile *out, enum licence_target target, enum licence_device device)
{
	static const char *const names[NLT][NLD] = {
		[LT_BUILTIN] = {"builtin@cpu", "builtin@cuda"},
		[LT_BUILTIN_JOINT] = {"builtin-joint@cpu", "builtin-joint@cuda"},
		[LT_TORCH_EAGER] = {"torch-eager@cpu", "torch-eager@cuda"},
		[LT_TORCH_INDUCTOR] = {"torch-inductor@cpu", "torch-inductor@cuda"},
	};
	memset(out, 0, sizeof *out);
	out->name = names[target][device];
	out->numbers_wide = device == LD_CUDA && target != LT_BUILTIN && target != LT_BUILTIN_JOINT; /* ours computes alike everywhere */
	for (int i = 0; i < ARRAY_LEN(rows); i++) {
		const struct licence_row *r = &rows[i];
		if (!(r->targets & 1u << target) || !(r->devices & 1u << device))
			continue;
		for (int c = 0; c < NLC; c++) {
			for (int d = 0; d < NDTYPES; d++) {
				if ((r->class_ == CL_ALL || r->class_ == c) && r->dtypes & 1u << d)
					out->rule[c][d] = (struct lic_rule){resolve_dtype(r->compute, (enum dtype)d), resolve_dtype(r->acc, (enum dtype)d),
						r->ulp, r->flags, r->source, r->line};
			}
		}
	}
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

static void allow_eager(struct licence_profile *out, enum licence_device device)
{
	struct licence_profile eager;
	licence_resolve(&eager, LT_TORCH_EAGER, device);
	out->foreign = true;
	for (int k = 0; k < NLC; k++)
		for (int d = 0; d < NDTYPES; d++)
			rule_unite(&out->rule[k][d], &eager.rule[k][d]);
}

void licence_of(struct licence_profile *out, const struct target_semantics *s, const struct target_arithmetic *f)
{
	licence_resolve(out, f->kernels, f->device);
	out->semantics = *s;
	out->traced = f->traced;
	if (f->foreign)
		allow_eager(out, f->device);
	unsigned more = f->decomposed_tanh ? LF_TANH : 0u, less = f->library_expm1 ? LF_DECOMP : 0u;
	for (int k = 0; k < NLC; k++)
		for (int d = 0; d < NDTYPES; d++)
			out->rule[k][d].flags = (out->rule[k][d].flags & ~less) | more;
}
