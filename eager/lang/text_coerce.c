/* text_coerce.c: raw values coerced to the kinds of an operator's schema. A bare name like `add` is resolved by trying its overloads: the
 * first whose schema accepts the raw values wins. */
#include "eager/lang/text_reader.h"

#include <inttypes.h>

/* ---- coercion to the schema --------------------------------------------------------------------------------------------- */

static const char *const raw_name[] = {"None", "a tensor", "a bool", "an integer", "a float", "a string", "an unknown name", "a list"};

#define REFUSE(err, v, op, q, what)                                                                                                        \
	((v)->tag == RAW_WORD                                                                                                                  \
			? err_at(err, (v)->line, (v)->col, "%s: '%s' is not defined", (op)->name, (v)->s)                                              \
			: err_at(err, (v)->line, (v)->col, "%s: argument '%s' must be %s, not %s", (op)->name, (q)->name, what, raw_name[(v)->tag]))

static bool coerce_tensors(
	struct text_reader *r, struct arg *a, const struct op_info *op, const struct param *q, const struct raw *v, struct err *err)
{
	if (v->tag != RAW_LIST)
		return REFUSE(err, v, op, q, "a list of tensors");
	if (v->n > MAX_LIST)
		return err_at(err, v->line, v->col, "%s: '%s' has more than %d entries", op->name, q->name, MAX_LIST);
	*a = (struct arg){.tag = ARG_TENSORS, .n = v->n, .nodes = ARENA_NEW(r->a, int, v->n)};
	for (int k = 0; k < v->n; k++) {
		if (v->item[k].tag != RAW_NODE && !(v->item[k].tag == RAW_NONE && q->holes))
			return REFUSE(err, &v->item[k], op, q, "a list of tensors");
		a->nodes[k] = v->item[k].tag == RAW_NODE ? v->item[k].node : -1;
	}
	return true;
}

static bool coerce_ints(
	struct text_reader *r, struct arg *a, const struct op_info *op, const struct param *q, const struct raw *v, struct err *err)
{
	const struct raw *item = v->tag == RAW_LIST ? v->item : v;
	int n = v->tag == RAW_LIST ? v->n : 1;
	if (v->tag != RAW_LIST && v->tag != RAW_INT)
		return REFUSE(err, v, op, q, "a list of integers");
	if (n > MAX_LIST)
		return err_at(err, v->line, v->col, "%s: '%s' has more than %d entries", op->name, q->name, MAX_LIST);
	*a = (struct arg){.tag = ARG_INTS, .n = n, .ints = ARENA_NEW(r->a, struct iexpr, n)};
	for (int k = 0; k < n; k++) {
		if (item[k].tag != RAW_INT)
			return REFUSE(err, &item[k], op, q, "a list of integers");
		a->ints[k] = item[k].i;
	}
	return true;
}

static bool coerce_scalar(struct arg *a, const struct op_info *op, const struct param *q, const struct raw *v, struct err *err)
{
	*a = (struct arg){.tag = ARG_SCALAR};
	switch (v->tag) {
	case RAW_INT:
		if (v->i.expr >= 0)
			return err_at(err, v->line, v->col, "%s: argument '%s' may not be symbolic", op->name, q->name);
		a->scalar = (struct scalar){SC_INT, v->i.value, 0};
		return true;
	case RAW_FLOAT: a->scalar = (struct scalar){SC_FLOAT, 0, v->f}; return true;
	case RAW_BOOL: a->scalar = (struct scalar){SC_BOOL, v->b, 0}; return true;
	default: return REFUSE(err, v, op, q, "a number");
	}
}

bool coerce_data(
	struct text_reader *r, struct arg *a, const struct op_info *op, const struct param *q, const struct raw *v, struct err *err)
{
	if (v->tag != RAW_LIST)
		return REFUSE(err, v, op, q, "a list of numbers");
	*a = (struct arg){.tag = ARG_DATA, .n = v->n, .data = ARENA_NEW(r->a, struct scalar, v->n)};
	for (int k = 0; k < v->n; k++) {
		struct arg one;
		if (!coerce_scalar(&one, op, q, &v->item[k], err))
			return false;
		a->data[k] = one.scalar;
	}
	return true;
}

/* A Python number where the schema says Tensor: it stays what it is, and the overload with it. */
static bool coerce_number(struct arg *a, const struct op_info *op, const struct param *q, const struct raw *v, struct err *err)
{
	if (!op_takes_number((int)(op - op_info), (int)(q - op->param)))
		return REFUSE(err, v, op, q, "a tensor");
	return coerce_scalar(a, op, q, v, err);
}

static bool coerce_bools(
	struct text_reader *r, struct arg *a, const struct op_info *op, const struct param *q, const struct raw *v, struct err *err)
{
	bool all = v->tag == RAW_LIST && v->n == q->length;
	*a = (struct arg){.tag = ARG_BOOLS, .n = q->length, .bools = ARENA_ZNEW(r->a, bool, q->length)};
	for (int k = 0; all && k < v->n; k++) {
		all = v->item[k].tag == RAW_BOOL;
		a->bools[k] = all && v->item[k].b;
	}
	return all ? true : REFUSE(err, v, op, q, "a list of True and False, as long as its schema says");
}

static bool coerce(
	struct text_reader *r, struct arg *a, const struct op_info *op, const struct param *q, const struct raw *v, struct err *err)
{
	if (v->tag == RAW_NONE) {
		*a = (struct arg){.tag = ARG_NONE};
		return q->optional || q->dflt_none ? true : REFUSE(err, v, op, q, "given");
	}
	switch (q->kind) {
	case K_TENSOR:
		if (v->tag == RAW_INT || v->tag == RAW_FLOAT || v->tag == RAW_BOOL)
			return coerce_number(a, op, q, v, err);
		*a = arg_tensor(v->node);
		return v->tag == RAW_NODE ? true : REFUSE(err, v, op, q, "a tensor");
	case K_TENSORS: return coerce_tensors(r, a, op, q, v, err);
	case K_SIZE:
	case K_INTS:
	case K_DIMS: return coerce_ints(r, a, op, q, v, err);
	case K_DIM:
	case K_INDEX:
	case K_STEP:
	case K_INT: *a = (struct arg){.tag = ARG_INT, .i = v->i}; return v->tag == RAW_INT ? true : REFUSE(err, v, op, q, "an integer");
	case K_SCALAR: return coerce_scalar(a, op, q, v, err);
	case K_BOOL:
		*a = arg_bool(v->tag == RAW_BOOL ? v->b : v->i.value != 0);
		return v->tag == RAW_BOOL ? true : REFUSE(err, v, op, q, "True or False");
	case K_STR:
		*a = (struct arg){.tag = ARG_STR, .str = v->s};
		return v->tag == RAW_STR || v->tag == RAW_WORD ? true : REFUSE(err, v, op, q, "a word");
	case K_FLOAT:
		*a = arg_scalar_f(v->tag == RAW_FLOAT ? v->f : v->tag == RAW_BOOL ? (double)v->b : (double)v->i.value);
		return v->tag == RAW_FLOAT || v->tag == RAW_BOOL || (v->tag == RAW_INT && v->i.expr < 0) ? true : REFUSE(err, v, op, q, "a number");
	case K_BOOLS: return coerce_bools(r, a, op, q, v, err);
	case K_DTYPE: {
		enum dtype t;
		bool word = v->tag == RAW_WORD || v->tag == RAW_STR;
		if (!word || !dtype_find(&t, v->s))
			return err_at(err, v->line, v->col, "%s: argument '%s' must be a dtype such as f32%s", op->name, q->name,
				word ? dtype_guess(&(struct guess){0}, v->s) : "");
		*a = arg_dtype(t);
		return true;
	}
	case K_FORMAT: {
		enum memory_format f;
		if ((v->tag != RAW_WORD && v->tag != RAW_STR) || !memory_format_find(&f, v->s))
			return err_at(err, v->line, v->col,
				"%s: argument '%s' must be contiguous_format, preserve_format, channels_last or channels_last_3d", op->name, q->name);
		*a = arg_format(f);
		return true;
	}
	case K_DATA: return coerce_data(r, a, op, q, v, err);
	case NKINDS: break;
	}
	BUG("kind %d", (int)q->kind);
}

/* Assigns raw arguments to the parameters of one overload. */
static bool assign(struct text_reader *r, struct arg *arg, int op, const struct raw *raw, int nraw, struct err *err)
{
	const struct op_info *o = &op_info[op];
	bool given[MAX_ARGS] = {0};
	int pos = 0;
	for (int k = 0; k < nraw; k++) {
		int q = raw[k].name ? op_param(op, raw[k].name) : pos++;
		if (q < 0 && r->mode == READ_LENIENT && unsaid_knows(raw[k].name)) {
			if (!unsaid_says_nothing(r, o, &raw[k], err))
				return false;
			continue;
		}
		if (q < 0)
			return err_at(err, raw[k].line, raw[k].col, "%s: has no argument '%s'", o->name, raw[k].name);
		if (q >= o->nparam || (!raw[k].name && o->param[q].kwonly))
			return err_at(err, raw[k].line, raw[k].col, "%s: more than %d positional arguments", o->name, pos - 1);
		if (given[q])
			return err_at(err, raw[k].line, raw[k].col, "%s: argument '%s' is given twice", o->name, o->param[q].name);
		given[q] = true;
		if (!coerce(r, &arg[q], o, &o->param[q], &raw[k], err))
			return false;
	}
	for (int q = 0; q < o->nparam; q++)
		if (!given[q] && !o->param[q].has_default)
			return err_at(err, r->line, (int)(r->s - r->line_start) + 1, "%s: argument '%s' is missing", o->name, o->param[q].name);
	return true;
}

bool raw_resolve(struct text_reader *r, int node, const char *opname, const struct raw *raw, int nraw, int line, int col)
{
	int cand[16], ncand = 0;
	int exact = op_find(opname);
	if (exact >= 0)
		cand[ncand++] = exact;
	const char *bare = opname;
	if (str_starts(bare, "torch.ops."))
		bare += 10;
	if (str_starts(bare, "aten."))
		bare += 5;
	bool has_overload = strchr(bare, '.') != NULL;
	if (!has_overload) /* of a bare name every overload, as PyTorch's packets; one that is named is the only one */
		ncand += op_overloads(cand + ncand, ARRAY_LEN(cand) - ncand, bare);
	if (!ncand)
		return err_at(r->err, line, col, "unknown operator '%s'%s", opname, op_guess(&(struct guess){0}, bare));
	struct err first = {0};
	for (int k = 0; k < ncand; k++) {
		struct arg arg[MAX_ARGS] = {0};
		struct err e = {0};
		if (assign(r, arg, cand[k], raw, nraw, &e)) {
			r->p->node[node].op = cand[k];
			memcpy(r->p->node[node].arg, arg, sizeof arg);
			return true;
		}
		if (!k)
			first = e;
	}
	return err_at(r->err, first.line, first.col, "%s", first.msg);
}
