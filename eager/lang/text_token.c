/* text_token.c: the reader's place in the text: blanks, marks, words and ends of lines, and the errors of what is not there. */
#include "eager/lang/text_reader.h"

#include <ctype.h>
#include <stdlib.h>

char token_peek(const struct text_reader *r) { return r->s < r->end ? *r->s : 0; }

void token_blanks(struct text_reader *r)
{
	while (r->s < r->end && (*r->s == ' ' || *r->s == '\t' || *r->s == '\r'))
		r->s++;
}

bool token_eat(struct text_reader *r, const char *t)
{
	token_blanks(r);
	size_t n = strlen(t);
	if ((size_t)(r->end - r->s) < n || memcmp(r->s, t, n) != 0)
		return false;
	r->s += n;
	return true;
}

bool token_want(struct text_reader *r, const char *t)
{
	if (token_eat(r, t))
		return true;
	char got[8] = "end";
	if (token_peek(r) == '\n')
		snprintf(got, sizeof got, "newline");
	else if (token_peek(r))
		snprintf(got, sizeof got, "'%c'", isprint((unsigned char)token_peek(r)) ? token_peek(r) : '?');
	return FAIL(r, "expected '%s', found %s", t, got);
}

bool token_line_end(struct text_reader *r)
{
	token_blanks(r);
	return r->s >= r->end || *r->s == '\n' || *r->s == '#';
}

void token_skip_line(struct text_reader *r)
{
	while (r->s < r->end && *r->s != '\n')
		r->s++;
	if (r->s < r->end) {
		r->s++;
		r->line++;
		r->line_start = r->s;
	}
}

bool token_word_char(char c, bool first) { return c == '_' || (first ? isalpha((unsigned char)c) : isalnum((unsigned char)c)) != 0; }

/* An identifier, with dots if dotted. */
bool token_word(struct text_reader *r, char *out, size_t max, bool dotted)
{
	token_blanks(r);
	size_t n = 0;
	if (!token_word_char(token_peek(r), true))
		return FAIL(r, "expected a name");
	while (r->s < r->end && (token_word_char(*r->s, n == 0) || (dotted && n && *r->s == '.'))) {
		if (n + 1 >= max)
			return FAIL(r, "name longer than %zu characters", max - 1);
		out[n++] = *r->s++;
	}
	out[n] = 0;
	return true;
}

bool token_keyword(struct text_reader *r, const char *k)
{
	token_blanks(r);
	size_t n = strlen(k);
	if ((size_t)(r->end - r->s) < n || memcmp(r->s, k, n) != 0 || (r->s + n < r->end && token_word_char(r->s[n], false)))
		return false;
	r->s += n;
	return true;
}
