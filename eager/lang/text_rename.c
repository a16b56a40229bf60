/* text_rename.c: operators of printed graphs that are rows of the table under other names: what decompositions and Inductor write (prims.*,
 * _unsafe_*). Names and arguments are changed while a graph is read, so that a program has the rows of ATen alone. */
#include "eager/lang/text_reader.h"

#define LIKE_FULL " dtype=dtype layout=layout device=device pin_memory=pin_memory"

/* name: what stands behind `torch.ops.`, without overload `.default`; args: its arguments by position, "theirs=ours"; {length, start, step}
 * of prims.iota become a range. prims.fma rounds once, as addcmul may, or add where its second factor is a number. The unsafe ones check no
 * position. What is empty may hold anything: zeros, too. */
#define FMA_BY_NUMBER "prims.fma by a number"
static const struct renamed {
	const char *name, *row, *args;
} renamed[] = {
	{"prims.convert_element_type", "_to_copy", "a=self dtype=dtype"},
	{"prims.rev", "flip", "a=self dims=dims"},
	{"prims.fma", "addcmul", "a=tensor1 b=tensor2 c=self"},
	{FMA_BY_NUMBER, "add.Tensor", "a=other b=alpha c=self"},
	{"prims.iota", "arange.start_step", "length=end start=start step=step dtype=dtype device=device requires_grad=requires_grad"},
	{"aten._assert_async", "", ""}, /* no row: text_read.c passes over it */
	{"aten._assert_async.msg", "", ""},
	{"prims._low_memory_max_pool_with_offsets", "max_pool2d_with_indices", /* result 1: text_expand.c */
		"self=self kernel_size=kernel_size stride=stride padding=padding dilation=dilation ceil_mode=ceil_mode"},
	{"aten.empty.memory_format", "zeros", "size=size" LIKE_FULL},
	{"aten.empty_strided", "zeros", "size=size stride=stride" LIKE_FULL},
	{"aten.new_empty", "new_zeros", "self=self size=size" LIKE_FULL},
	{"aten.new_empty_strided", "new_zeros", "self=self size=size stride=stride" LIKE_FULL},
	{"aten.empty_like", "zeros_like", "self=self memory_format=memory_format" LIKE_FULL},
	{"aten._unsafe_index.Tensor", "index.Tensor", "self=self indices=indices"},
	{"aten._unsafe_index_put", "index_put", "self=self indices=indices values=values accumulate=accumulate"},
};

static const struct renamed *find(const char *name)
{
	if (str_starts(name, "torch.ops."))
		name += strlen("torch.ops.");
	for (int i = 0; i < ARRAY_LEN(renamed); i++) {
		const size_t n = strlen(renamed[i].name);
		if (strncmp(name, renamed[i].name, n) == 0 && (!name[n] || str_eq(name + n, ".default")))
			return &renamed[i];
	}
	return NULL;
}

bool rename_knows(const char *name) { return find(name) != NULL; }

/* Our name of argument `name`, or of number pos if it has none; NULL: there is no such argument. */
static const char *argument(struct text_reader *r, const char *args, const char *name, int pos)
{
	for (int k = 0; *args; k++) {
		const size_t theirs = strcspn(args, "="), ours = strcspn(args + theirs + 1, " ");
		if (name ? strlen(name) == theirs && strncmp(name, args, theirs) == 0 : k == pos)
			return arena_printf(r->a, "%.*s", (int)ours, args + theirs + 1);
		args += theirs + 1 + ours;
		args += *args == ' ';
	}
	return NULL;
}

static struct raw *named(struct raw *raw, int nraw, const char *name)
{
	for (int k = 0; k < nraw; k++)
		if (raw[k].name && str_eq(raw[k].name, name))
			return &raw[k];
	return NULL;
}

/* The end of length steps from start on. requires_grad goes if it says nothing. */
static bool range(struct raw *raw, int *nraw, struct err *err)
{
	struct raw *end = named(raw, *nraw, "end"), *start = named(raw, *nraw, "start"), *step = named(raw, *nraw, "step");
	struct raw *grad = named(raw, *nraw, "requires_grad");
	const struct raw *const given[] = {end, start, step};
	int64_t length;
	for (int k = 0; k < ARRAY_LEN(given); k++)
		if (!given[k] || given[k]->tag != RAW_INT || given[k]->i.expr >= 0)
			return err_set(err, "prims.iota: length, start and step must be numbers");
	if (grad && (grad->tag != RAW_BOOL || grad->b))
		return err_at(err, grad->line, grad->col, "prims.iota: requires_grad must be False");
	if (!mul_i64(&length, end->i.value, step->i.value) || !add_i64(&end->i.value, start->i.value, length))
		return err_at(err, end->line, end->col, "prims.iota: its last number is too large");
	if (grad)
		*grad = raw[--*nraw];
	return true;
}

/* Takes away strides that say what the sizes say. */
static bool packed(struct raw *raw, int *nraw, struct err *err)
{
	struct raw *stride = named(raw, *nraw, "stride"), *size = named(raw, *nraw, "size");
	int64_t next = 1;
	if (!stride)
		return true;
	bool same = size && size->tag == RAW_LIST && stride->tag == RAW_LIST && size->n == stride->n;
	for (int d = same ? size->n - 1 : -1; same && d >= 0; d--) {
		const struct raw *s = &size->item[d], *t = &stride->item[d];
		same =
			s->tag == RAW_INT && t->tag == RAW_INT && (t->i.value == next || s->i.value == 1) && mul_i64(&next, next, MAX(s->i.value, 1));
	}
	if (!same)
		return err_at(err, stride->line, stride->col, "an empty tensor's strides must be contiguous");
	*stride = raw[--*nraw];
	return true;
}

bool rename_row(struct text_reader *r, const char **name, struct raw *raw, int *nraw)
{
	const struct renamed *as = find(*name);
	if (!as)
		return true;
	if (str_eq(as->name, "prims.fma") && *nraw > 1 && (raw[1].tag == RAW_FLOAT || raw[1].tag == RAW_INT))
		as = find(FMA_BY_NUMBER);
	for (int k = 0; k < *nraw; k++) {
		const char *ours = argument(r, as->args, raw[k].name, k);
		if (!ours)
			return err_at(
				r->err, raw[k].line, raw[k].col, "%s: has no argument '%s'", as->name, raw[k].name ? raw[k].name : "behind its last");
		raw[k].name = ours;
	}
	*name = as->row;
	return str_eq(as->name, "prims.iota") ? range(raw, nraw, r->err)
										  : !strstr(as->args, "stride=stride dtype") || packed(raw, nraw, r->err);
}
