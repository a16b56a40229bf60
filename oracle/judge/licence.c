/* licence.c: resolves the rows of licence.def into the table of one target. */
#include "oracle/judge/licence.h"

enum { ALL = NLC, SELF = NDTYPES, INNER };

struct row {
	int class_;
	unsigned targets, devices, dtypes;
	int compute, acc;
	double ulp;
	unsigned flags;
	const char *source;
	int line;
};

enum { /* names of the rows' first column */
	CL_ALL = NLC, CL_MOVE = LC_MOVE, CL_ARITH = LC_ARITH, CL_MUL = LC_MUL, CL_DIV = LC_DIV, CL_TRANS = LC_TRANS,
	CL_COMPARE = LC_COMPARE, CL_SUM = LC_SUM, CL_PROD = LC_PROD, CL_MINMAX = LC_MINMAX, CL_VAR = LC_VAR, CL_SCAN = LC_SCAN,
	CL_MATMUL = LC_MATMUL, CL_ACCUM = LC_ACCUM, CL_CONVERT = LC_CONVERT
};

static const struct row rows[] = {
#define LIC(class_, targets, devices, dtypes, compute, acc, ulp, flags, source) \
	{CL_##class_, targets, devices, dtypes, compute, acc, ulp, flags, source, __LINE__},
#include "oracle/judge/licence.def"
};

static const char *const class_names[NLC] = {
	[LC_MOVE] = "move", [LC_ARITH] = "arith", [LC_MUL] = "mul", [LC_DIV] = "div", [LC_TRANS] = "trans", [LC_COMPARE] = "compare",
	[LC_SUM] = "sum", [LC_PROD] = "prod", [LC_MINMAX] = "minmax", [LC_VAR] = "var", [LC_SCAN] = "scan", [LC_MATMUL] = "matmul",
	[LC_ACCUM] = "accum", [LC_CONVERT] = "convert",
};

const char *licence_class_name(enum licence_class c)
{
	return class_names[c];
}

static enum dtype resolve_dtype(int column, enum dtype dt)
{
	if (column == SELF)
		return dt;
	if (column == INNER)
		return dt == DT_F64 ? DT_F64 : DT_F32;
	return (enum dtype)column;
}

void licence_resolve(struct licence_profile *out, enum licence_target target, enum licence_device device)
{
	static const char *const names[NLT][NLD] = {
		[LT_BUILTIN] = {"builtin@cpu", "builtin@cuda"}, [LT_TORCH_EAGER] = {"torch-eager@cpu", "torch-eager@cuda"},
		[LT_TORCH_INDUCTOR] = {"torch-inductor@cpu", "torch-inductor@cuda"},
	};
	memset(out, 0, sizeof *out);
	out->name = names[target][device];
	out->cuda = device == LD_CUDA;
	for (int i = 0; i < ARRAY_LEN(rows); i++) {
		const struct row *r = &rows[i];
		if (!(r->targets & 1u << target) || !(r->devices & 1u << device))
			continue;
		for (int c = 0; c < NLC; c++) {
			for (int d = 0; d < NDTYPES; d++) {
				if ((r->class_ == CL_ALL || r->class_ == c) && r->dtypes & 1u << d)
					out->rule[c][d] = (struct lic_rule){resolve_dtype(r->compute, (enum dtype)d),
						resolve_dtype(r->acc, (enum dtype)d), r->ulp, r->flags, r->source, r->line};
			}
		}
	}
}

/* clamp_backward: 2.11.0 passes g at a bound, 2.15.0 does not (both measured); between, nobody looked. */
const struct licence_step licence_steps[NLICENCE_STEPS] = {{0, 0}, {2, 12}, {2, 15}};

static bool at_least(const struct licence_step *s, int major, int minor) { return major > s->major || (major == s->major && minor >= s->minor); }

/* Which rows speak of a stage. A stage that is not here has no licence: nothing of it is judged, and test_verdict fails. The decompositions
 * of aot_eager_decomp_partition and the emission of inductor need the wider rows. */
static const struct { const char *family, *stage; enum licence_target rows; } stages[] = {
	{"builtin", "eager", LT_BUILTIN},
	{"torch", "eager", LT_TORCH_EAGER},
	{"torch", "fake", LT_TORCH_EAGER},
	{"torch", "aot_fake", LT_TORCH_EAGER},
	{"torch", "aot_eager", LT_TORCH_EAGER},
	{"torch", "aot_eager_decomp_partition", LT_TORCH_INDUCTOR},
	{"torch", "inductor", LT_TORCH_INDUCTOR},
};

static bool span_is(const char *s, size_t n, const char *word) { return strlen(word) == n && memcmp(s, word, n) == 0; }

/* family[-version]:stage[@device][+options] */
bool licence_find(struct licence_profile *out, const char *target)
{
	const char *colon = strchr(target, ':');
	int stage = 0;
	if (!colon)
		return false;
	while (stage < ARRAY_LEN(stages) && !(span_is(target, strcspn(target, "-:"), stages[stage].family)
	                                      && span_is(colon + 1, strcspn(colon + 1, "@+"), stages[stage].stage)))
		stage++;
	if (stage == ARRAY_LEN(stages))
		return false;
	enum licence_device dev = strstr(colon, "@cuda") ? LD_CUDA : LD_CPU;
	licence_resolve(out, stages[stage].rows, dev);
	if (stages[stage].rows == LT_BUILTIN)
		return true;
	int major = 2, minor = 11;
	bool known = target[5] == ':' || sscanf(target, "torch-%d.%d", &major, &minor) == 2;
	bool newer = known && at_least(&licence_steps[2], major, minor);
	bool between = !newer && (!known || at_least(&licence_steps[1], major, minor));
	unsigned more = newer ? LF_OPEN : between ? LF_OPEN | LF_CLOSED : 0u, less = 0;
	/* codegen/cpp.py: CppVecOverrides.expm1 is exp - 1 in 2.11.0, the library's in 2.15.0; tanh is the library's unless asked. */
	if (newer && dev == LD_CPU)
		less = LF_DECOMP;
	if (strstr(colon, "+cpp.use_decompose_tanh=1"))
		more |= LF_TANH;
	for (int k = 0; k < NLC; k++)
		for (int d = 0; d < NDTYPES; d++)
			out->rule[k][d].flags = (out->rule[k][d].flags & ~less) | more;
	return true;
}
