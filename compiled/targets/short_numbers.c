/* short_numbers.c */
#include "compiled/targets/short_numbers.h"

#include <inttypes.h>
#include <math.h>

void short_sizes(struct strbuf *sb, const int64_t *v, int n)
{
	for (int i = 0; i < n; i++)
		sb_printf(sb, "%s%" PRId64, i ? ", " : "", v[i]);
}

void short_tuple(struct strbuf *sb, const int64_t *v, int n)
{
	sb_putc(sb, '(');
	short_sizes(sb, v, n);
	sb_puts(sb, n == 1 ? ",)" : ")");
}

void short_number(struct strbuf *sb, const struct scalar *s)
{
	if (s->kind == SC_FLOAT && !isfinite(s->f))
		sb_printf(sb, "float('%s')", isnan(s->f) ? "nan" : s->f < 0 ? "-inf" : "inf");
	else if (s->kind == SC_BOOL)
		sb_puts(sb, s->i ? "True" : "False");
	else
		scalar_print(sb, s);
}

double short_value(const struct scalar *s) { return s->kind == SC_FLOAT ? s->f : (double)s->i; }

/* They are from, from + step, … */
static bool are_steps(const struct scalar *v, int64_t n, double from, double step)
{
	for (int64_t i = 0; i < n; i++)
		if (short_value(&v[i]) != from + step * (double)i || (short_value(&v[i]) == 0 && signbit(short_value(&v[i]))))
			return false;
	return true;
}

enum short_pattern short_pattern_of(const struct scalar *v, int64_t n)
{
	if (are_steps(v, n, 0, 0))
		return SHORT_ZEROS;
	if (are_steps(v, n, 1, 0))
		return SHORT_ONES;
	if (n > 2 && are_steps(v, n, 0, 1))
		return SHORT_COUNTED;
	return n > 3 && are_steps(v, n, short_value(v), 0) ? SHORT_SAME : SHORT_LISTED;
}

void short_nested(struct strbuf *sb, const struct scalar **v, const int64_t *size, int rank)
{
	if (!rank) {
		short_number(sb, (*v)++);
		return;
	}
	sb_putc(sb, '[');
	for (int64_t i = 0; i < size[0]; i++) {
		sb_puts(sb, i ? ", " : "");
		short_nested(sb, v, size + 1, rank - 1);
	}
	sb_putc(sb, ']');
}
