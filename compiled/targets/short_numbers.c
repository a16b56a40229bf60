/* short_numbers.c */
#include "compiled/targets/short_numbers.h"

#include <inttypes.h>
#include <math.h>

void short_sizes(struct strbuf *sb, const int64_t *v, int n)
{
	for (int i = 0; i < n; i++)
		sb_printf(sb, "%s%" PRId64, i ? ", " : "", v[i]);
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

bool short_are_steps(const struct scalar *v, int64_t n, double from, double step)
{
	for (int64_t i = 0; i < n; i++)
		if (short_value(&v[i]) != from + step * (double)i || (short_value(&v[i]) == 0 && signbit(short_value(&v[i]))))
			return false;
	return true;
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
