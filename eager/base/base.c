/* base.c: errors, arena, strings, checked arithmetic, hashing. Nothing clever: everything else leans on it. */
#include "eager/base/base.h"

#include "eager/base/escape.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>
#if __has_include(<sanitizer/asan_interface.h>)
#include <sanitizer/asan_interface.h> /* its macros do nothing without ASan */
#else
#define ASAN_POISON_MEMORY_REGION(p, n)   ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

static _Thread_local const char *bug_text;

void bug_context(const char *text) { bug_text = text; }

void bug_at(const char *file, int line, const char *fmt, ...)
{
	va_list ap;
	fprintf(stderr, "scatterproof: BUG at %s:%d: ", file, line);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	if (bug_text)
		fprintf(stderr, "while working on:\n%s\n", bug_text);
	fflush(stderr);
	abort();
}

static void err_fill(struct err *err, int line, int col, const char *fmt, va_list ap) PRINTF_LIKE(4, 0);
static void err_fill(struct err *err, int line, int col, const char *fmt, va_list ap)
{
	if (!err || err->msg[0])
		return;
	err->line = line;
	err->col = col;
	struct strbuf raw, harmless; /* what an error quotes may come from anywhere */
	sb_init(&raw);
	sb_init(&harmless);
	sb_vprintf(&raw, fmt, ap);
	while (raw.len && raw.s[raw.len - 1] == '\n')
		raw.s[--raw.len] = 0;
	escape_line(&harmless, raw.s);
	snprintf(err->msg, sizeof err->msg, "%.*s", (int)utf8_cut(harmless.s, sizeof err->msg - 1), harmless.s);
	sb_free(&raw);
	sb_free(&harmless);
	if (!err->msg[0])
		snprintf(err->msg, sizeof err->msg, "unspecified error");
}

struct err *err_clear(struct err *err)
{
	err->line = err->col = 0;
	err->limit = false;
	err->msg[0] = 0;
	return err;
}

bool err_set(struct err *err, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	err_fill(err, 0, 0, fmt, ap);
	va_end(ap);
	return false;
}

bool err_copy(struct err *err, const struct err *from)
{
	if (err && !err->msg[0])
		*err = *from;
	return false;
}

bool err_limit(struct err *err, const char *fmt, ...)
{
	va_list ap;
	if (err && !err->msg[0])
		err->limit = true;
	va_start(ap, fmt);
	err_fill(err, 0, 0, fmt, ap);
	va_end(ap);
	return false;
}

bool err_at(struct err *err, int line, int col, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	err_fill(err, line, col, fmt, ap);
	va_end(ap);
	return false;
}

/* ---- memory --------------------------------------------------------------------------------------------------- */

static void *or_die(void *p, size_t n)
{
	if (!p) {
		fprintf(stderr, "scatterproof: out of memory (%zu bytes)\n", n);
		exit(3);
	}
	return p;
}

void *xmalloc(size_t n) { return or_die(malloc(n ? n : 1), n); }
void *xrealloc(void *p, size_t n) { return or_die(realloc(p, n ? n : 1), n); }

char *xstrdup(const char *s)
{
	size_t n = strlen(s) + 1;
	return memcpy(xmalloc(n), s, n);
}

struct arena_block {
	struct arena_block *prev;
	size_t size, used;
	uint64_t grown; /* one array of arena_grow: the how many-th; else 0 */
	_Alignas(16) unsigned char data[];
};

enum { ARENA_FIRST = 1 << 16, ARENA_KEPT = 1 << 22 };

void arena_init(struct arena *a) { *a = (struct arena){0}; }

void arena_free(struct arena *a)
{
	for (struct arena_block *b = a->head, *prev; b; b = prev) {
		prev = b->prev;
		free(b);
	}
	free(a->spare);
	free(a->next);
	arena_init(a);
}

void arena_reset(struct arena *a)
{
	struct arena_block *head = NULL, *spare = a->spare;
	for (struct arena_block *b = a->head, *prev; b; b = prev) {
		struct arena_block **best = b->grown ? &spare : &head;
		prev = b->prev;
		if (!*best || b->size > (*best)->size) {
			free(*best);
			*best = b;
		} else {
			free(b);
		}
	}
	if (head) {
		head->prev = NULL;
		head->used = 0;
	}
	free(a->next);
	*a = (struct arena){.head = head, .spare = spare};
}

/* Whoever marks, allocates and releases in a loop, with a head that is nearly full, would otherwise have malloc map and unmap a block each
 * time. Nobody may look into it meanwhile. */
static void keep_next(struct arena *a, struct arena_block *b)
{
	free(a->next);
	a->next = b->size <= ARENA_KEPT ? b : NULL;
	if (b->size > ARENA_KEPT)
		free(b);
	else
		ASAN_POISON_MEMORY_REGION(b->data, b->size);
}

static struct arena_block *next_of(struct arena *a, size_t n)
{
	struct arena_block *b = a->next;
	a->next = NULL;
	if (b && b->size < n) {
		free(b);
		return NULL;
	}
	if (b) {
		ASAN_UNPOISON_MEMORY_REGION(b->data, b->size);
		b->used = 0;
	}
	return b;
}

void *arena_alloc(struct arena *a, size_t nbytes)
{
	size_t n = (nbytes + 15) & ~(size_t)15;
	CHECK(n >= nbytes && n < MAX_ARENA - a->used);
	struct arena_block *b = a->head;
	if (!b || b->size - b->used < n) {
		size_t size = b ? MIN(b->size * 2, (size_t)1 << 26) : (size_t)ARENA_FIRST;
		size = MAX(size, n);
		b = next_of(a, n);
		if (!b)
			*(b = xmalloc(sizeof *b + size)) = (struct arena_block){.size = size};
		b->prev = a->head;
		a->head = b;
	}
	void *p = b->data + b->used;
	b->used += n;
	a->used += n;
	return p;
}

void *arena_zalloc(struct arena *a, size_t nbytes) { return memset(arena_alloc(a, nbytes), 0, nbytes); }

/* The block lies behind the head, where arena_alloc does not look and a mark made since ends before it. */
void *arena_grow(struct arena *a, void *p, size_t old, size_t nbytes)
{
	size_t n = (nbytes + 15) & ~(size_t)15, was = p ? (old + 15) & ~(size_t)15 : 0;
	CHECK(n >= nbytes && a->used >= was && n < MAX_ARENA - (a->used - was));
	if (!a->head)
		arena_alloc(a, 0);
	struct arena_block *b = p ? (struct arena_block *)((unsigned char *)p - offsetof(struct arena_block, data)) : NULL;
	struct arena_block **at = &a->head->prev;
	while (b && *at != b) {
		CHECK(*at);
		at = &(*at)->prev;
	}
	struct arena_block *prev = b ? b->prev : *at;
	if (!b) {
		b = a->spare;
		a->spare = NULL;
	}
	size_t size = b ? b->size : 0;
	const uint64_t nth = b ? b->grown : 0;
	if (size < n)
		b = xrealloc(b, sizeof *b + (size = n));
	*b = (struct arena_block){.prev = prev, .size = size, .used = n, .grown = p ? nth : ++a->ngrown};
	*at = b;
	a->used = a->used - was + n;
	a->grown = a->grown - was + n;
	return b->data;
}

char *arena_strdup(struct arena *a, const char *s)
{
	size_t n = strlen(s) + 1;
	return memcpy(arena_alloc(a, n), s, n);
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap, again;
	va_start(ap, fmt);
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	CHECK(n >= 0);
	char *s = arena_alloc(a, (size_t)n + 1);
	vsnprintf(s, (size_t)n + 1, fmt, again);
	va_end(again);
	return s;
}

struct arena_mark arena_mark(struct arena *a)
{
	return (struct arena_mark){a->head, a->head ? a->head->used : 0, a->used, a->grown, a->ngrown};
}

static void free_newest(struct arena *a, struct arena_block **at)
{
	struct arena_block *b = *at;
	*at = b->prev;
	a->grown -= b->grown ? b->used : 0;
	if (b->grown)
		free(b);
	else
		keep_next(a, b);
}

void arena_release(struct arena *a, struct arena_mark m)
{
	while (a->head != m.head) {
		CHECK(a->head->prev || !m.head);
		free_newest(a, &a->head);
	}
	if (a->head) {
		a->head->used = m.head_used;
		while (a->head->prev && a->head->prev->grown > m.ngrown) /* arrays begun since, with the head that the mark saw */
			free_newest(a, &a->head->prev);
	}
	a->used = m.used - m.grown + a->grown;
}

/* ---- strings -------------------------------------------------------------------------------------------------- */

static char sb_empty[1];

void sb_init(struct strbuf *sb) { *sb = (struct strbuf){.s = sb_empty}; }

void sb_free(struct strbuf *sb)
{
	if (sb->cap)
		free(sb->s);
	sb_init(sb);
}

void sb_reset(struct strbuf *sb)
{
	sb->len = 0;
	if (sb->cap)
		sb->s[0] = 0;
}

static void sb_reserve(struct strbuf *sb, size_t more)
{
	size_t need = sb->len + more + 1;
	CHECK(need > more);
	if (need <= sb->cap)
		return;
	size_t cap = MAX(MAX(need, sb->cap * 2), (size_t)64);
	sb->s = xrealloc(sb->cap ? sb->s : NULL, cap);
	sb->cap = cap;
}

void sb_put(struct strbuf *sb, const void *p, size_t n)
{
	sb_reserve(sb, n);
	if (n)
		memcpy(sb->s + sb->len, p, n);
	sb->len += n;
	sb->s[sb->len] = 0;
}

void sb_puts(struct strbuf *sb, const char *s) { sb_put(sb, s, strlen(s)); }
void sb_putc(struct strbuf *sb, char c) { sb_put(sb, &c, 1); }

static void put_hex(char *out, const void *p, size_t n)
{
	static const char digit[] = "0123456789abcdef";
	const unsigned char *u = p;
	for (size_t i = 0; i < n; i++) {
		*out++ = digit[u[i] >> 4];
		*out++ = digit[u[i] & 15];
	}
	*out = 0;
}

void sb_hex(struct strbuf *sb, const void *p, size_t n)
{
	const size_t digits = mul_size(2, n);
	sb_reserve(sb, digits);
	put_hex(sb->s + sb->len, p, n);
	sb->len += digits;
}

void sb_double(struct strbuf *sb, double v, int least)
{
	char text[64];
	if (!isfinite(v)) {
		sb_puts(sb, isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
		return;
	}
	for (int digits = least; digits <= 17; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	sb_puts(sb, text);
	if (!strpbrk(text, ".e"))
		sb_puts(sb, ".0");
}

void sb_vprintf(struct strbuf *sb, const char *fmt, va_list ap)
{
	enum { MOST = 120 }; /* what fits is written once */
	va_list again;
	va_copy(again, ap);
	sb_reserve(sb, MOST);
	const size_t room = sb->cap - sb->len;
	const int n = vsnprintf(sb->s + sb->len, room, fmt, ap);
	CHECK(n >= 0);
	if ((size_t)n >= room) {
		sb_reserve(sb, (size_t)n);
		vsnprintf(sb->s + sb->len, (size_t)n + 1, fmt, again);
	}
	va_end(again);
	sb->len += (size_t)n;
}

void sb_printf(struct strbuf *sb, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	sb_vprintf(sb, fmt, ap);
	va_end(ap);
}

bool sb_read_file(struct strbuf *sb, const char *path, size_t max, struct err *err)
{
	FILE *f = fopen(path, "rb");
	if (!f)
		return err_set(err, "cannot open '%s': %s", path, strerror(errno));
	char buf[1 << 14];
	size_t n;
	while ((n = fread(buf, 1, sizeof buf, f)) > 0) {
		if (sb->len + n > max) {
			fclose(f);
			return err_set(err, "'%s' is larger than %zu bytes", path, max);
		}
		sb_put(sb, buf, n);
	}
	bool bad = ferror(f) != 0;
	int why = errno;
	fclose(f);
	return bad ? err_set(err, "cannot read '%s': %s", path, strerror(why)) : true;
}

bool sb_write_file(const char *path, const struct strbuf *bytes, struct err *err)
{
	FILE *f = fopen(path, "wb");
	bool ok = f && fwrite(bytes->s, 1, bytes->len, f) == bytes->len;
	int why = errno;
	if (f && fclose(f) != 0 && ok) {
		ok = false;
		why = errno;
	}
	return ok || err_set(err, "cannot write %s: %s", path, strerror(why));
}

const char *last_line(const char *text, struct arena *a)
{
	size_t end = strlen(text);
	while (end && strchr(" \n", text[end - 1]))
		end--;
	size_t begin = end;
	while (begin && text[begin - 1] != '\n')
		begin--;
	return arena_printf(a, "%.*s", (int)MIN(end - begin, (size_t)200), text + begin);
}

bool str_eq(const char *a, const char *b) { return strcmp(a, b) == 0; }
bool str_starts(const char *s, const char *prefix) { return strncmp(s, prefix, strlen(prefix)) == 0; }

/* ---- arithmetic ----------------------------------------------------------------------------------------------- */

bool mul_i64(int64_t *out, int64_t a, int64_t b) { return !__builtin_mul_overflow(a, b, out); }
bool add_i64(int64_t *out, int64_t a, int64_t b) { return !__builtin_add_overflow(a, b, out); }

size_t mul_size(size_t a, size_t b)
{
	size_t r;
	if (__builtin_mul_overflow(a, b, &r))
		BUG("size overflow: %zu * %zu", a, b);
	return r;
}

void put_le(void *at, uint64_t v, int n)
{
	for (int i = 0; i < n; i++)
		((uint8_t *)at)[i] = (uint8_t)(v >> (8 * i));
}

uint64_t get_le(const void *at, int n)
{
	uint64_t v = 0;
	for (int i = 0; i < n; i++)
		v |= (uint64_t)((const uint8_t *)at)[i] << (8 * i);
	return v;
}

int64_t wrap_add(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
int64_t wrap_sub(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }
int64_t wrap_mul(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }

/* ---- hashing -------------------------------------------------------------------------------------------------- */

struct hash128 hash_bytes(const void *p, size_t n)
{
	XXH128_canonical_t c;
	XXH128_canonicalFromHash(&c, XXH3_128bits(p, n));
	struct hash128 h;
	memcpy(h.b, c.digest, sizeof h.b);
	return h;
}

void hash_hex(char out[33], const struct hash128 *h) { put_hex(out, h->b, sizeof h->b); }
