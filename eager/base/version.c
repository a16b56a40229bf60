/* version.c: see version.h. */
#include "eager/base/version.h"

static bool digit(char c) { return c >= '0' && c <= '9'; }

bool version_valid(const char *s)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.+-";
	return digit(*s) && strspn(s, allowed) == strlen(s);
}

/* The number at *s, 0 if there is none; *s moves behind it and a dot that a digit follows. */
static int64_t take_number(const char **s)
{
	int64_t n = 0;
	for (; digit(**s); ++*s)
		n = n < INT64_MAX / 16 ? n * 10 + (**s - '0') : n;
	if (**s == '.' && digit((*s)[1]))
		++*s;
	return n;
}

static bool final(const char *s) { return *s == '\0' || *s == '+'; }

/* What follows the numbers: 2.15.0.dev1, 2.15.0rc1 < 2.15.0 < 2.15.0.post1 (PEP 440). */
static int phase(const char *s) { return final(s) ? 0 : str_starts(s + (*s == '.' || *s == '-'), "post") ? 1 : -1; }

int version_compare(const char *a, const char *b)
{
	while (digit(*a) || digit(*b)) {
		int64_t x = take_number(&a), y = take_number(&b);
		if (x != y)
			return x < y ? -1 : 1;
	}
	if (phase(a) != phase(b))
		return phase(a) < phase(b) ? -1 : 1;
	for (; !final(a) && !final(b); a++, b++) { /* dev20260101 before dev20260102, rc2 before rc10 */
		if (digit(*a) && digit(*b))
			return version_compare(a, b);
		if (*a != *b)
			return *a < *b ? -1 : 1;
	}
	return final(b) - final(a);
}

const char *version_of_environment(const char *versions, struct arena *a)
{
	const char *s = strchr(versions, ' ');
	if (!s || !digit(s[1]))
		return "";
	s++;
	return arena_printf(a, "%.*s", (int)strcspn(s, ", +"), s);
}
