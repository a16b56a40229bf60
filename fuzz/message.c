/* message.c: see message.h. */
#include "fuzz/message.h"

const char *message_generalised(const char *m, struct arena *a)
{
	enum { LONGEST = 110 };
	struct strbuf sb;
	sb_init(&sb);
	int depth = 0;
	for (; *m && *m != '\n' && sb.len < LONGEST; m++) {
		if (strchr("[{", *m) && depth++ == 0)
			sb_puts(&sb, *m == '[' ? "[]" : "{}");
		if (strchr("]}", *m))
			depth -= depth > 0;
		if (depth || strchr("]}", *m))
			continue;
		if (*m >= '0' && *m <= '9') {
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

const char *message_innermost(const char *m, struct arena *a)
{
	static const char name[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_.";
	static const char *const noise[] = {"compile: ", "backend='inductor' raised:\n", "backend='aot_eager' raised:\n"};
	for (;;) {
		for (int i = 0; i < ARRAY_LEN(noise); i++)
			if (str_starts(m, noise[i]))
				m += strlen(noise[i]), i = -1;
		size_t n = strspn(m, name);
		const char *next = m + n + 2;
		if (n == 0 || !str_starts(m + n, ": "))
			break;
		bool inner = false;
		for (int i = 0; i < ARRAY_LEN(noise); i++)
			inner |= str_starts(next, noise[i]);
		size_t k = strspn(next, name);
		inner |= str_starts(next + k, ": ") && ((k >= 5 && str_starts(next + k - 5, "Error")) || (k >= 9 && str_starts(next + k - 9, "Exception")));
		if (!inner)
			break;
		m = next;
	}
	return message_generalised(m, a);
}
