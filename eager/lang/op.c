/* op.c: look-ups in the op table. */
#include "eager/lang/op.h"

/* Of the generated table: all rows, in the order of their names without overloads; those of one name in the table's. */
extern const short op_by_function[];

const struct role_info role_info[NROLES] = {
#define ROLE(ID, name, flags, min, max, example) {name, flags, min, max, example},
#include "eager/lang/role.def"
};

const char *const family_name[NFAMILIES] = {
	"input", "factory", "view", "copy", "scatter", "gather", "reduce", "matmul", "pointwise", "inplace", "multi", "composed"};

/* Where rows of that function begin in op_by_function, or would. n: length of its name. */
static int first_of(const char *function, size_t n)
{
	int low = 0, high = op_nrows;
	while (low < high) {
		const int middle = low + (high - low) / 2;
		if (strncmp(op_info[op_by_function[middle]].name, function, n) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The i-th row in op_by_function; NULL: it is of another function. */
static const char *row_of(int i, const char *function, size_t n)
{
	const char *name = i < op_nrows ? op_info[op_by_function[i]].name : "";
	return n && strncmp(name, function, n) == 0 && (name[n] == '\0' || name[n] == '.') ? name : NULL;
}

int op_find(const char *name)
{
	char buf[MAX_NAME];
	if (str_starts(name, "torch.ops."))
		name += 10;
	if (str_starts(name, "aten."))
		name += 5;
	size_t n = strlen(name);
	if (n > 8 && str_eq(name + n - 8, ".default"))
		n -= 8;
	if (n >= sizeof buf)
		return -1;
	memcpy(buf, name, n);
	buf[n] = 0;
	n = strcspn(buf, ".");
	for (int i = first_of(buf, n); row_of(i, buf, n); i++)
		if (str_eq(row_of(i, buf, n), buf))
			return op_by_function[i];
	return -1;
}

int op_inplace(int op) { return op_has(op, T_MUTATES | T_INPLACE_VIEW) ? -1 : op_counterpart[op] - 1; }
int op_functional(int op) { return op_has(op, T_MUTATES | T_INPLACE_VIEW) ? op_counterpart[op] - 1 : -1; }
int op_computing(int op) { return op_functional(op) >= 0 ? op_functional(op) : op; }

int op_overloads(int *out, int max, const char *bare)
{
	const size_t n = strcspn(bare, ".");
	int found = 0;
	for (int i = first_of(bare, n); row_of(i, bare, n) && found < max; i++)
		if (bare[n] == '\0' || str_eq(row_of(i, bare, n), bare))
			out[found++] = op_by_function[i];
	return found;
}

const char *op_guess(struct guess *g, const char *name)
{
	guess_start(g, name, strlen(name));
	for (int op = 0; op < op_nrows; op++) { /* without overload too */
		const char *known = op_info[op].name;
		guess_add(g, known, strcspn(known, "."));
		guess_add(g, known, strlen(known));
	}
	return guess_text(g);
}

int op_param(int op, const char *name)
{
	for (int k = 0; k < op_info[op].nparam; k++)
		if (str_eq(op_info[op].param[k].name, name))
			return k;
	return -1;
}

bool op_is_told_dtype(int op)
{
	bool told = false;
	for (int k = 0; k < op_info[op].nparam; k++)
		told |= op_info[op].param[k].kind == K_DTYPE && str_eq(op_info[op].param[k].name, "dtype"); /* not _softmax_backward_data's */
	return told && op_info[op].family != F_POINTWISE && op_info[op].family != F_INPUT && !op_has(op, T_NONDIFF);
}

bool role_is_self(const struct param *q)
{
	return q->kind == K_TENSORS ? role_has(q->role, RF_LIST_SELF) : q->kind == K_TENSOR && role_has(q->role, RF_SELF);
}

int op_self(int op)
{
	for (int k = 0; k < op_info[op].nparam; k++)
		if (role_is_self(&op_info[op].param[k]))
			return k;
	return -1;
}

bool param_word(char buf[MAX_WORD], const struct param *q, int i)
{
	const char *s = q->words;
	for (; s && i > 0; i--) {
		s = strchr(s, '|');
		s = s ? s + 1 : NULL;
	}
	if (s)
		snprintf(buf, MAX_WORD, "%.*s", (int)strcspn(s, "|"), s);
	return s != NULL;
}
