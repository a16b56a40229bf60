/* store_text.c: times for people. Proleptic Gregorian calendar by counting days, no locale and no time zone but UTC.
 * Day arithmetic: years start in March, so that the leap day comes last; eras of 400 years have 146,097 days. */
#include "reports/store/store.h"

enum { DAY_MS = 86400000, ERA_DAYS = 146097, TO_MARCH_0 = 719468 }; /* days from 0000-03-01 to 1970-01-01 */

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0)); }

static int64_t days_from_date(int64_t y, int64_t month, int64_t day)
{
	y -= month <= 2;
	int64_t era = floor_div(y, 400), year_of_era = y - era * 400;
	int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
	return era * ERA_DAYS + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - TO_MARCH_0;
}

static void date_from_days(int64_t *y, int64_t *month, int64_t *day, int64_t days)
{
	days += TO_MARCH_0;
	int64_t era = floor_div(days, ERA_DAYS), d = days - era * ERA_DAYS;
	int64_t year_of_era = (d - d / 1460 + d / 36524 - d / 146096) / 365;
	int64_t day_of_year = d - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	int64_t m = (5 * day_of_year + 2) / 153;
	*day = day_of_year - (153 * m + 2) / 5 + 1;
	*month = m < 10 ? m + 3 : m - 9;
	*y = year_of_era + era * 400 + (*month <= 2);
}

void store_time_text(char out[32], int64_t at)
{
	if (at < -62167219200000 || at > 253402300799999) {
		snprintf(out, 32, "%lld", (long long)at);
		return;
	}
	int64_t days = floor_div(at, DAY_MS), ms = at - days * DAY_MS, y, month, day;
	date_from_days(&y, &month, &day, days);
	snprintf(out, 32, "%04d-%02d-%02dT%02d:%02d:%02dZ", (int)(y % 10000), (int)(month % 100), (int)(day % 100), (int)(ms / 3600000 % 100),
		(int)(ms / 60000 % 60), (int)(ms / 1000 % 60));
}

/* n digits at *p */
static bool digits(int64_t *out, const char **p, int n)
{
	*out = 0;
	for (int i = 0; i < n; i++, ++*p) {
		if (**p < '0' || **p > '9')
			return false;
		*out = *out * 10 + (**p - '0');
	}
	return true;
}

static bool separated(int64_t *out, const char **p, const char *separators)
{
	if (**p == '\0' || !strchr(separators, **p))
		return false;
	++*p;
	return digits(out, p, 2);
}

static int64_t month_length(int64_t y, int64_t month)
{
	return days_from_date(month == 12 ? y + 1 : y, month == 12 ? 1 : month + 1, 1) - days_from_date(y, month, 1);
}

bool store_time_parse(int64_t *out, const char *text, struct err *err)
{
	const char *p = text;
	int64_t y, month, day, hour = 0, minute = 0, second = 0;
	bool ok = digits(&y, &p, 4) && separated(&month, &p, "-") && separated(&day, &p, "-");
	if (ok && *p && *p != 'Z') {
		ok = separated(&hour, &p, "T ") && separated(&minute, &p, ":");
		if (ok && *p == ':')
			ok = separated(&second, &p, ":");
	}
	if (ok && *p == 'Z')
		p++;
	if (!ok || *p)
		return err_set(err, "'%.60s' is no date: 2026-01-31 or 2026-01-31T23:59:59 is expected (UTC)", text);
	if (month < 1 || month > 12 || day < 1 || day > month_length(y, month) || hour > 23 || minute > 59 || second > 59)
		return err_set(err, "'%.60s' is no date that exists", text);
	*out = days_from_date(y, month, day) * DAY_MS + ((hour * 60 + minute) * 60 + second) * 1000;
	return true;
}

/* "90m", "1h", "2d", "1w": a whole number and a unit. */
static bool span_parse(int64_t *ms, const char *text)
{
	static const struct {
		char unit;
		int64_t ms;
	} units[] = {{'s', 1000}, {'m', 60000}, {'h', 3600000}, {'d', DAY_MS}, {'w', 7 * (int64_t)DAY_MS}};
	int64_t n = 0;
	const char *p = text;
	for (; *p >= '0' && *p <= '9' && n < 1000000; p++)
		n = n * 10 + (*p - '0');
	for (int i = 0; i < ARRAY_LEN(units); i++)
		if (p > text && p[0] == units[i].unit && p[1] == '\0') {
			*ms = n * units[i].ms;
			return true;
		}
	return false;
}

bool store_since_parse(int64_t *out, const char *text, int64_t now, struct err *err)
{
	int64_t midnight = floor_div(now, DAY_MS) * DAY_MS, span;
	if (str_eq(text, "today") || str_eq(text, "yesterday")) {
		*out = midnight - (text[0] == 'y' ? DAY_MS : 0);
		return true;
	}
	if (span_parse(&span, text)) {
		*out = now - span;
		return true;
	}
	return store_time_parse(out, text, NULL)
		|| err_set(err,
			"'%.60s' is no date: 2026-01-31, 2026-01-31T23:59:59, today, yesterday, 90m,"
			" 1h, 2d, 1w or last-run is expected (UTC)",
			text);
}
