/* duration.c: see duration.h. */
#include "eager/base/duration.h"

#include <stdlib.h>

bool duration_parse(double *seconds, const char *text, struct err *err)
{
	static const struct {
		const char *name;
		double s;
	} units[] = {{"", 1}, {"ms", 0.001}, {"s", 1}, {"m", 60}, {"h", 3600}};
	char *end;
	double v = strtod(text, &end);
	for (int i = 0; end != text && v > 0 && v <= 1e9 && i < ARRAY_LEN(units); i++)
		if (str_eq(end, units[i].name)) {
			*seconds = v * units[i].s;
			return true;
		}
	return err_set(err, "'%.60s' is not a time such as 90s, 10m or 1h", text);
}
