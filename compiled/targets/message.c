/* message.c: what differs from case to case is cut out of a message; what a framework wraps around an error comes from the target's
 * driver. */
#include "compiled/targets/message.h"

#include "compiled/targets/driver.h"

#include "eager/lang/dtype.h"

static const char WORD[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";

/* Whether these n characters are a dtype's name: ours, PyTorch's, or one of those that only PyTorch, its C++ or Triton have. */
static bool is_dtype(const char *s, size_t n)
{
	static const char *const others[] = {"u16", "u32", "u64", "uint16", "uint32", "uint64", "fp8", "fp16", "fp32", "fp64", "BFloat16",
		"complex32", "complex64", "complex128", "int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t"};
	static const char *const small[] = {"float8_e", "Float8_e", "float4_e"}; /* float8_e4m3fn, … */
	for (int i = 0; i < NDTYPES; i++)
		if ((strlen(dtype_info[i].name) == n && memcmp(s, dtype_info[i].name, n) == 0)
			|| (strlen(dtype_info[i].torch) == n && memcmp(s, dtype_info[i].torch, n) == 0))
			return true;
	for (int i = 0; i < ARRAY_LEN(others); i++)
		if (strlen(others[i]) == n && memcmp(s, others[i], n) == 0)
			return true;
	for (int i = 0; i < ARRAY_LEN(small); i++)
		if (n > strlen(small[i]) && memcmp(s, small[i], strlen(small[i])) == 0)
			return true;
	return false;
}

enum { LONGEST_SIGNATURE = 110, LONGEST_SENTENCE = 400 };
/* dtypes: numbers that are part of a dtype's name stay. ours: the sentence is the reference's, whose small numbers mean what they say. */
static const char *masked(const char *m, bool dtypes, bool ours, struct arena *a)
{
	const size_t longest = ours ? LONGEST_SENTENCE : LONGEST_SIGNATURE;
	struct strbuf sb;
	sb_init(&sb);
	int depth = 0;
	bool inside = false; /* of a word */
	for (; *m && *m != '\n' && sb.len < longest; m++) {
		size_t n = inside ? 0 : strspn(m, WORD);
		inside = strchr(WORD, *m) != NULL;
		if (strchr("[{", *m) && depth++ == 0)
			sb_puts(&sb, *m == '[' ? "[]" : "{}");
		if (strchr("]}", *m))
			depth -= depth > 0;
		if (depth || strchr("]}", *m))
			continue;
		if (dtypes && is_dtype(m, n)) {
			sb_put(&sb, m, n);
			m += n - 1;
			continue;
		}
		if (*m >= '0' && *m <= '9' && !(ours && !(m[1] >= '0' && m[1] <= '9'))) {
			sb_putc(&sb, 'N');
			while (m[1] >= '0' && m[1] <= '9')
				m++;
			continue;
		}
		sb_putc(&sb, *m);
		if (*m == '=')
			while (m[1] && !strchr(" ,\n)[{", m[1]))
				m++;
	}
	const char *s = arena_strdup(a, sb.s);
	sb_free(&sb);
	return s;
}

const char *message_generalised(const char *m, struct arena *a) { return masked(m, true, false, a); }
const char *message_counted(const char *m, struct arena *a) { return masked(m, true, true, a); }

/* Without what the framework writes around an error. */
static const char *unwrapped(const char *m, const char *const *wrapping)
{
	for (int i = 0; wrapping && wrapping[i]; i++)
		if (str_starts(m, wrapping[i]))
			return unwrapped(m + strlen(wrapping[i]), wrapping);
	return m;
}

/* Behind all that stands around it. */
static const char *innermost(const char *m, const struct target *t)
{
	static const char name[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_.";
	for (;;) {
		m = unwrapped(m, t->driver->wrapping);
		size_t n = strspn(m, name);
		if (n == 0 || !str_starts(m + n, ": "))
			break;
		const char *next = m + n + 2;
		size_t k = strspn(next, name);
		bool error = str_starts(next + k, ": ")
			&& ((k >= 5 && str_starts(next + k - 5, "Error")) || (k >= 9 && str_starts(next + k - 9, "Exception")));
		if (!error && unwrapped(next, t->driver->wrapping) == next)
			break;
		m = next;
	}
	return m;
}

const char *message_innermost(const char *m, const struct target *t, struct arena *a) { return masked(innermost(m, t), false, false, a); }

/* As C++ and ATen speak of dtypes. */
static bool is_spoken_dtype(const char *s, size_t n)
{
	static const char *const spoken[] = {"float", "double", "half", "long", "int", "short", "char", "byte", "bool", "Float", "Double",
		"Half", "Long", "Int", "Short", "Char", "Byte", "Bool"};
	for (int i = 0; i < ARRAY_LEN(spoken); i++)
		if (strlen(spoken[i]) == n && memcmp(s, spoken[i], n) == 0)
			return true;
	return is_dtype(s, n);
}

static bool varies(const char *word, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (word[i] >= '0' && word[i] <= '9')
			return true;
	return is_spoken_dtype(word, n);
}

/* What begins here and differs from case to case; 0: nothing does. */
static size_t varying(const char *s)
{
	static const char *const pairs[] = {"[]", "{}", "''", "\"\"", "``"};
	const size_t word = strspn(s, WORD), line = strcspn(s, "\n");
	if (word)
		return varies(s, word) ? word : 0;
	for (int i = 0; i < ARRAY_LEN(pairs); i++) {
		const char *end = *s == pairs[i][0] ? memchr(s + 1, pairs[i][1], line - 1) : NULL;
		if (end)
			return (size_t)(end - s) + 1;
	}
	if (*s == '=')
		return 1 + strcspn(s + 1, " ,\n)[{");
	return strchr("/\\", *s) || *s < ' ' || *s > '~';
}

const char *message_part(const char *m, const struct target *t, struct arena *a)
{
	enum { ENOUGH = 6 };
	static const char edges[] = " :,;.(<-'\"`";
	const char *s = innermost(m, t), *best = "", *from;
	size_t longest = 0;
	const size_t type = strspn(s, WORD);
	const char *inner = s == m || !str_starts(s + type, ": ") ? "" : arena_printf(a, "%.*s", (int)type, s);
	if (str_starts(s + type, ": "))
		s += type + 2;
	while (*s && *s != '\n') {
		for (from = s; *s && *s != '\n' && !varying(s);) {
			const size_t word = strspn(s, WORD);
			s += word ? word : 1;
			if (word && *s == '\'' && strchr(WORD, s[1])) /* don't */
				s++;
		}
		from += strspn(from, edges);
		size_t n = s > from ? (size_t)(s - from) : 0;
		while (n && strchr(edges, from[n - 1]))
			n--;
		if (n >= ENOUGH && n > longest) {
			best = from;
			longest = n;
		}
		s += *s && *s != '\n' ? varying(s) : 0;
	}
	return longest ? arena_printf(a, "%.*s", (int)longest, best) : inner;
}

const char *message_first_line(const char *m, const struct target *t, struct arena *a)
{
	const char *s = innermost(m, t);
	return arena_printf(a, "%.*s", (int)strcspn(s, "\n"), s);
}

/* "error: …" of a C++ compiler and the line of source below it, if it shows one. "" if there is none. */
static const char *compiler_error(const char *m, struct arena *a)
{
	const char *e = strstr(m, " error: ");
	if (!e)
		return "";
	e++;
	size_t n = strcspn(e, "\n");
	const char *source = e[n] ? e + n + 1 : "";
	source += strspn(source, " 0123456789|");
	return arena_printf(a, "\n  %.*s\n  %.*s", (int)MIN(n, (size_t)300), e, (int)MIN(strcspn(source, "\n"), (size_t)300), source);
}

const char *message_shown(const char *m, struct arena *a)
{
	size_t n = strlen(m), line = strcspn(m, "\n");
	if (n <= MESSAGE_SHOWN)
		return m;
	const char *error = compiler_error(m, a);
	size_t shown = error[0] || line >= MESSAGE_SHOWN / 2 ? MIN(line, (size_t)MESSAGE_SHOWN) : MESSAGE_SHOWN / 2;
	return arena_printf(a, "%.*s ... (%zu characters more)%s", (int)shown, m, n - shown, error);
}

/* "  File "/…/torch/_inductor/scheduler.py", line 12 in fuse_nodes" -> "in _inductor/scheduler.py fuse_nodes"; NULL: no such line. */
static const char *frame_name(const char *line, const char *package, struct arena *a)
{
	const char *end = strchr(line, '\n'), *file = strstr(line, package), *in = strstr(line, ", line "), *quote = strstr(line, "\", ");
	end = end ? end : line + strlen(line);
	if (!str_starts(line, "  File \"") || !file || !in || !quote || file > quote || in > end || !(in = strstr(in, " in ")) || in > end)
		return NULL;
	file += strlen(package);
	return arena_printf(a, "in %.*s %.*s", (int)(quote - file), file, (int)(end - in - 4), in + 4);
}

const char message_heap[] = "heap corrupted";

const char *message_place(const char *tail, const struct target *t, struct arena *a)
{
	static const char *const heap[] = {"free(): ", "malloc(): ", "realloc(): ", "munmap_chunk(): ", "mremap_chunk(): ",
		"malloc_consolidate(): ", "tcache_thread_shutdown(): ", "sysmalloc: ", "corrupted size vs. prev_size",
		"corrupted double-linked list", "double free or corruption", "invalid fastbin entry"};
	static const char head[] = "(most recent call first):\n";
	for (int i = 0; i < ARRAY_LEN(heap); i++)
		if (strstr(tail, heap[i]))
			return message_heap;
	const char *last = NULL;
	for (const char *s = tail; (s = strstr(s, head)) != NULL;)
		last = s += strlen(head);
	for (const char *line = t->driver->package ? last : NULL; line && str_starts(line, "  File ");
		 line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
		const char *name = frame_name(line, t->driver->package, a);
		if (name)
			return name;
	}
	return "";
}
