/* text_unsaid.c: arguments of ATen's schemas that pasted graphs state and programs do not have. The one idea: no argument is ignored. Each
 * is here with the values that change nothing in a program whose tensors are strided and lie on one device (schema_torch.py asks PyTorch
 * about every one of them); another value is refused, because it makes another program. */
#include "eager/lang/text_reader.h"

#include <inttypes.h>

static bool is_false(const struct raw *v) { return v->tag == RAW_NONE || (v->tag == RAW_BOOL && !v->b); }
static bool is_bool(const struct raw *v) { return v->tag == RAW_BOOL; }
static bool is_word(const struct raw *v) { return v->tag == RAW_WORD || v->tag == RAW_STR; }
static bool is_strided(const struct raw *v) { return v->tag == RAW_NONE || (is_word(v) && str_eq(v->s, "torch.strided")); }

static const struct unsaid {
	const char *name;
	bool (*nothing)(const struct raw *v); /* NULL: of a device */
	const char *taken;
} unsaid[] = {
	{"layout", is_strided, "None or torch.strided"}, {"device", NULL, "None or the device of the graph's tensors"},
	{"pin_memory", is_false, "None or False"}, {"non_blocking", is_bool, "True or False"}, /* when the copy is done, not what it gives */
	{"implicit", is_bool, "True or False"},                                                /* of expand: only vmap reads it */
};

static const struct unsaid *unsaid_find(const char *name)
{
	for (int i = 0; i < ARRAY_LEN(unsaid); i++)
		if (str_eq(name, unsaid[i].name))
			return &unsaid[i];
	return NULL;
}

/* "cuda:0" of device(type='cuda', index=0), torch.device("cuda", 0) and 'cuda:0', into out. */
static bool device_name(char out[MAX_DEVICE], const struct raw *v)
{
	const char *s = v->s;
	if (v->tag != RAW_WORD)
		return v->tag == RAW_STR && snprintf(out, MAX_DEVICE, "%s", s) < MAX_DEVICE;
	s += strcspn(s, "'\"");
	if (!*s)
		return false;
	const size_t n = strcspn(s + 1, "'\"");
	const char *index = strpbrk(s + 1 + n, "0123456789");
	return snprintf(out, MAX_DEVICE, "%.*s%s%.*s", (int)MIN(n, (size_t)MAX_DEVICE), s + 1, index ? ":" : "",
			   index ? (int)strspn(index, "0123456789") : 0, index ? index : "")
		< MAX_DEVICE;
}

/* "cuda" is any of them. */
static bool same_device(const char *a, const char *b)
{
	const size_t n = strcspn(a, ":"), m = strcspn(b, ":");
	return n == m && memcmp(a, b, n) == 0 && (!a[n] || !b[m] || str_eq(a, b));
}

bool unsaid_on_device(struct text_reader *r, const char *device)
{
	if (!r->device[0] && str_eq(device, "meta")) /* nobody has said that the inputs are without data */
		snprintf(r->device, sizeof r->device, "cpu or cuda");
	else if (!r->device[0])
		snprintf(r->device, sizeof r->device, "%s", device);
	return same_device(r->device, device);
}

static const char *shown(char *buf, size_t max, const struct raw *v)
{
	if (v->tag == RAW_BOOL)
		return v->b ? "True" : "False";
	if (is_word(v))
		snprintf(buf, max, "%s", v->s);
	else if (v->tag == RAW_INT)
		snprintf(buf, max, "%" PRId64, v->i.value);
	else
		return v->tag == RAW_NONE ? "None" : "this";
	return buf;
}

bool unsaid_knows(const char *name) { return unsaid_find(name) != NULL; }

bool unsaid_says_nothing(struct text_reader *r, const struct op_info *op, const struct raw *v, struct err *err)
{
	char device[MAX_DEVICE], buf[MAX_NAME];
	const struct unsaid *u = unsaid_find(v->name);
	if (u->nothing ? u->nothing(v) : v->tag == RAW_NONE || (device_name(device, v) && unsaid_on_device(r, device)))
		return true;
	if (!u->nothing && r->device[0])
		return err_at(err, v->line, v->col, "%s: %s=%s, but the graph's tensors are on %s: only graphs on one device can be judged",
			op->name, v->name, shown(buf, sizeof buf, v), r->device);
	return err_at(err, v->line, v->col, "%s: %s=%s cannot be judged, only %s", op->name, v->name, shown(buf, sizeof buf, v), u->taken);
}
