/* cause_key.c: a text word by word, of which some are replaced. */
#include "fuzz/triage/cause_key.h"

#include "eager/lang/meta.h"
#include "reports/cause/json_doc.h"

/* ---- messages ------------------------------------------------------------------------------------------------------------------------ */

static const char WORD[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
static const char DIGITS[] = "0123456789";

/* Signatures are cut behind so many characters (message.c): what is left of two whose dtypes are longer or shorter ends elsewhere. */
enum { WHOLE_MESSAGE = 100, MESSAGE_COMPARED = 80 };

/* "float32" as it is in a signature, "floatN". */
static const char *without_digits(const char *s, size_t n, struct arena *a)
{
	struct strbuf sb;
	sb_init(&sb);
	for (size_t i = 0; i < n; i++)
		if (!strchr(DIGITS, s[i]))
			sb_putc(&sb, s[i]);
		else if (!i || !strchr(DIGITS, s[i - 1]))
			sb_putc(&sb, 'N');
	const char *word = arena_strdup(a, sb.s);
	sb_free(&sb);
	return word;
}

/* qualified: "torch." or "tl." stands before it, where "int" is a dtype; elsewhere it is Python's. */
static bool is_dtype(const char *word, bool qualified)
{
	static const char *const names[] = {"floatN", "bfloatN", "intN", "uintN", "complexN", "intN_t", "uintN_t", "fN", "bfN", "fpN",
		"BFloatN", "Half", "Float", "Double", "Long", "Int", "Short", "Char", "Byte", "Bool", "ComplexFloat", "ComplexDouble"};
	static const char *const bare[] = {"bool", "float", "half", "double", "int", "long", "short"};
	for (int i = 0; i < ARRAY_LEN(names); i++)
		if (str_eq(word, names[i]))
			return true;
	for (int i = 0; qualified && i < ARRAY_LEN(bare); i++)
		if (str_eq(word, bare[i]))
			return true;
	return str_starts(word, "floatN_e") || str_starts(word, "FloatN_e");
}

/* "N", "NxNxN". */
static bool is_sizes(const char *word)
{
	for (const char *s = word; *s == 'N'; s += 2)
		if (s[1] != 'x')
			return !s[1];
	return false;
}

static bool ends_with(const struct strbuf *sb, const char *end)
{
	const size_t n = strlen(end);
	return sb->len >= n && memcmp(sb->s + sb->len - n, end, n) == 0;
}

static void cut(struct strbuf *sb, size_t n)
{
	if (!n)
		return;
	sb->len -= n;
	sb->s[sb->len] = 0;
}

/* Of "(N, N" is left "(N", of "N x N" "N", of "-N" "N". */
static void put_sizes(struct strbuf *sb)
{
	static const char *const before[] = {"N, ", "N,", "N x "};
	if (ends_with(sb, "-"))
		cut(sb, 1);
	for (int i = 0; i < ARRAY_LEN(before); i++)
		if (ends_with(sb, before[i])) {
			cut(sb, strlen(before[i]));
			break;
		}
	sb_putc(sb, 'N');
}

static void put_word(struct strbuf *sb, const char *s, size_t n, struct arena *a)
{
	const char *word = without_digits(s, n, a);
	const bool torch = ends_with(sb, "torch."), triton = ends_with(sb, "tl.");
	if (is_sizes(word)) {
		put_sizes(sb);
	} else if (is_dtype(word, torch || triton)) {
		cut(sb, torch ? strlen("torch.") : triton ? strlen("tl.") : 0);
		sb_puts(sb, "DTYPE");
	} else {
		sb_put(sb, s, n);
	}
}

static void put_message(struct strbuf *out, const char *message, struct arena *a)
{
	struct strbuf sb;
	sb_init(&sb);
	for (const char *s = message; *s;) {
		const size_t n = strspn(s, WORD);
		if (n)
			put_word(&sb, s, n, a);
		else if (*s != ')' || !ends_with(&sb, "N,"))
			sb_putc(&sb, *s);
		else /* "(3,)" */
			sb.s[sb.len - 1] = ')';
		s += MAX(n, (size_t)1);
	}
	sb_put(out, sb.s, strlen(message) < WHOLE_MESSAGE ? sb.len : MIN(sb.len, (size_t)MESSAGE_COMPARED));
	sb_free(&sb);
}

/* ---- layouts ------------------------------------------------------------------------------------------------------------------------- */

/* Do no two of its elements share memory, seen by sizes and strides alone: is each stride longer than all that the shorter ones reach? */
static bool is_apart(struct json_doc *d, const char *which)
{
	const int n = json_doc_count(d, "$.%s.size", which);
	double reach = 0;
	bool done[MAX_RANK] = {false};
	if (n > MAX_RANK)
		return false;
	for (int turn = 0; turn < n; turn++) {
		int least = -1;
		for (int i = 0; i < n; i++)
			if (!done[i]
				&& (least < 0 || json_doc_int(d, 0, "$.%s.stride[%d]", which, i) < json_doc_int(d, 0, "$.%s.stride[%d]", which, least)))
				least = i;
		const double size = (double)json_doc_int(d, 0, "$.%s.size[%d]", which, least),
					 stride = (double)json_doc_int(d, 0, "$.%s.stride[%d]", which, least);
		done[least] = true;
		if (size > 1 && stride <= reach)
			return false;
		reach += size > 1 ? (size - 1) * stride : 0;
	}
	return true;
}

static bool overlaps_by_prediction(const char *predicted)
{
	struct json_doc *d = json_doc_open(predicted, strlen(predicted));
	const bool yes = json_doc_has(d, "$.fake.size") && json_doc_has(d, "$.real.size") && !is_apart(d, "fake") && is_apart(d, "real");
	json_doc_close(d);
	return yes;
}

static bool is_scatter(const char *op)
{
	static const char *const family[] = {"aten.slice_scatter", "aten.select_scatter", "aten.diagonal_scatter", "aten.as_strided_scatter"};
	for (int i = 0; i < ARRAY_LEN(family); i++)
		if (str_eq(op, family[i]))
			return true;
	return false;
}

/* NULL: it is no scatter that copies what overlaps itself. */
static const char *scatter_key(const char *text, const struct cause_evidence *e, struct arena *a)
{
	static const char wrong[] = ": layout predicted wrong; ";
	const char *at = strstr(text, wrong);
	if (!at || !is_scatter(at + strlen(wrong)) || !e->cure[0] || !overlaps_by_prediction(e->predicted))
		return NULL;
	return arena_printf(
		a, "%.*s%sSCATTER; %.*s", (int)(at - text), text, wrong, (int)strcspn(e->cure, "="), e->cure); /* the stage, the sort of the cure */
}

/* ---- all ----------------------------------------------------------------------------------------------------------------------------- */

static bool has_message(const char *kind) { return str_eq(kind, "raise") || str_eq(kind, "crash") || str_eq(kind, "hang"); }

static const char *without(const char *text, const char *part, struct arena *a)
{
	struct strbuf sb;
	sb_init(&sb);
	for (const char *at; (at = strstr(text, part)); text = at + strlen(part))
		sb_put(&sb, text, (size_t)(at - text));
	sb_puts(&sb, text);
	const char *left = arena_strdup(a, sb.s);
	sb_free(&sb);
	return left;
}

const char *cause_key(const char *text, const struct cause_evidence *e, struct arena *a)
{
	const char *scatter = scatter_key(text, e, a), *plain = without(text, "; strided", a), *said = strstr(plain, ": ");
	struct strbuf sb;
	if (scatter)
		return scatter;
	if (!has_message(e->kind) || !said)
		return plain;
	sb_init(&sb);
	sb_put(&sb, plain, (size_t)(said - plain));
	put_message(&sb, said, a);
	const char *key = arena_strdup(a, sb.s);
	sb_free(&sb);
	return key;
}
