/* text_annotation.c: what quoted texts say of tensors and integers: "f32[4, 13][13, 1]cpu", "Sym(6)", in printed graphs "f32[2*s37, 4]". */
#include "eager/lang/text_reader.h"

#include <stdlib.h>

static bool int_row(struct text_reader *r, const char **s, const char *end, struct iexpr *out, int *n)
{
	if (**s != '[')
		return FAIL(r, "annotation: expected '['");
	(*s)++;
	for (*n = 0; **s != ']'; (*n)++) {
		char *stop;
		if (*n)
			*s += strspn(*s, ", ");
		if (*n == MAX_RANK)
			return FAIL(r, "annotation: rank exceeds %d", MAX_RANK);
		out[*n] = (struct iexpr){strtoll(*s, &stop, 10), -1};
		if (r->symbols && (stop == *s || (*stop != ',' && *stop != ']'))) {
			if (!symbol_expr(r, s, end, &out[*n]))
				return false;
			continue;
		}
		if (stop == *s)
			return FAIL(r, "annotation: expected an integer");
		*s = stop + strspn(stop, " ");
	}
	(*s)++;
	return true;
}

/* "Sym(6)"; a printed graph has symbols there. */
static bool sym_annotation(struct text_reader *r, const char *s, const char *end, struct annotation *out)
{
	out->is_sym = true;
	out->sym = (struct iexpr){strtoll(s, NULL, 10), -1};
	return !r->symbols || symbol_expr(r, &s, end, &out->sym);
}

bool annotation_read(struct text_reader *r, struct annotation *out)
{
	token_blanks(r);
	struct raw v;
	*out = (struct annotation){.given = true, .line = r->line, .col = (int)(r->s - r->line_start) + 1};
	if (token_peek(r) != '"')
		return FAIL(r, "expected an annotation in double quotes");
	if (!raw_string(r, &v, '"'))
		return false;
	const char *s = v.s;
	const char *end = s + strlen(s);
	if (str_starts(s, "Sym("))
		return sym_annotation(r, s + 4, end, out);
	out->meta.absent = str_eq(s, "None");
	if (out->meta.absent)
		return true;
	char dt[MAX_NAME] = "";
	size_t n = strcspn(s, "[");
	if (n < sizeof dt)
		memcpy(dt, s, n);
	struct meta *m = &out->meta;
	if (!dtype_find(&m->dtype, dt))
		return FAIL(r, "annotation: '%s' does not start with a dtype%s", v.s, dtype_guess(&(struct guess){0}, dt));
	s += n;
	if (!int_row(r, &s, end, out->size, &m->rank))
		return false;
	int nstride = 0;
	if (*s == '[') {
		if (!int_row(r, &s, end, out->stride, &nstride))
			return false;
		if (nstride != m->rank)
			return FAIL(r, "annotation: %d sizes but %d strides", m->rank, nstride);
		out->has_stride = true;
	}
	for (int d = 0; d < m->rank; d++) {
		m->size[d] = out->size[d].value;
		m->stride[d] = out->has_stride ? out->stride[d].value : 0;
	}
	if (str_eq(s, "meta"))
		m->device = DEV_META;
	else if (*s && r->mode == READ_LENIENT && m->rank > 0 && !unsaid_on_device(r, s)) /* a 0-d one goes with tensors anywhere */
		return FAIL(r, "annotation: a tensor on %s, but others are on %s: only graphs on one device can be judged", s, r->device);
	else if (str_eq(s, "cpu") && r->mode == READ_STRICT)
		m->device = DEV_CPU;
	else if (*s && r->mode == READ_STRICT)
		return FAIL(r, "annotation: unknown device '%s'", s);
	return true;
}

bool annotations_read(struct text_reader *r, struct annotation *an, int *nan)
{
	*nan = 0;
	if (!token_eat(r, ":"))
		return true;
	if (!token_eat(r, "(")) {
		*nan = 1;
		return annotation_read(r, &an[0]);
	}
	while (!token_eat(r, ")")) {
		if (*nan && !token_want(r, ","))
			return false;
		if (token_eat(r, ")"))
			break;
		if (*nan == MAX_OUTS)
			return FAIL(r, "more than %d annotations", MAX_OUTS);
		if (!annotation_read(r, &an[(*nan)++]))
			return false;
	}
	return true;
}
