/* base.h: the ground that every room stands on.
 *
 * Three kinds of error, three mechanisms (never mixed):
 *   our bug     CHECK(cond), BUG("..."): on in every build; prints where and aborts.
 *   bad input   bool f(..., struct err *err): false = refused, *err says where and what, outputs untouched.
 *   the world   a status enum of the module concerned (a dead worker, no GPU, a full disk).
 *
 * Memory: one arena per unit of work (a program, a run, a reduction step). Arena memory comes
 * undefined from arena_alloc and zeroed from arena_zalloc. Nothing here is thread-safe; a process has one worker thread.
 * Compiler extensions (attributes, builtins) are used in this header and nowhere else. */
#ifndef SCATTERPROOF_BASE_H
#define SCATTERPROOF_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define SCATTERPROOF "scatterproof 0.1" /* what made a finding, an event, a line of --version */

#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#define NORETURN               __attribute__((noreturn))
#define INLINE                 static inline __attribute__((always_inline)) /* where a call would send structs through memory */
#define UNUSED                 __attribute__((unused))
#define IN_SECTION(name)       __attribute__((section(name)))
#define BEFORE_CONSTRUCTORS    __attribute__((constructor(101))) /* earlier than statically linked libraries' own */
#define LIKELY(x)              __builtin_expect(!!(x), 1)
#define UNLIKELY(x)            __builtin_expect(!!(x), 0)
#define trailing_zeros(u)      __builtin_ctzll(u) /* of a uint64_t other than 0 */
#define ARRAY_LEN(a)           ((int)(sizeof(a) / sizeof((a)[0])))
/* The chosen argument is evaluated twice: nothing that differs the second time (a clock, a choice) may stand in one. */
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* ---- limits: every one of them is named here, once -------------------------------------------------------- */
enum {
	MAX_RANK = 8,       /* dimensions of a tensor */
	MAX_NODES = 512,    /* nodes of a program */
	MAX_ARGS = 12,      /* arguments of an operator */
	MAX_OUTS = 32,      /* results of one node (split, unbind) */
	MAX_LIST = 64,      /* entries of a list argument */
	MAX_DATA = 1 << 14, /* numbers of an input's data */
	MAX_NAME = 64,      /* bytes of a node's name, NUL included */
	MAX_RETURNS = 64,   /* values after `return` */
	MAX_CALLS = 8,      /* `call` lines */
	MAX_SYMS = 8,       /* size symbols */
	MAX_TERMS = 256,    /* operations of one size expression */
	MAX_TEXT = 1 << 20, /* bytes of a program's text */
	MAX_ERR = 2000      /* bytes of an error message */
};
#define MAX_NUMEL ((int64_t)1 << 26) /* elements of one tensor, logical or stored */
#define MAX_ARENA ((size_t)1 << 32)  /* bytes of one arena: beyond it is our bug, limits are checked before */

/* ---- our bug ---------------------------------------------------------------------------------------------- */
NORETURN void bug_at(const char *file, int line, const char *fmt, ...) PRINTF_LIKE(3, 4);
#define BUG(...)    bug_at(__FILE__, __LINE__, __VA_ARGS__)
#define CHECK(cond) (LIKELY(cond) ? (void)0 : bug_at(__FILE__, __LINE__, "CHECK(%s) failed", #cond))
/* Text printed after a BUG message: the program in hand. Thread-local; NULL clears. Not copied. */
void bug_context(const char *text);

/* ---- bad input -------------------------------------------------------------------------------------------- */
struct err {
	int line, col;     /* 1-based place in the text; 0 = no place */
	bool limit;        /* the input is not wrong: it is more than we take */
	char msg[MAX_ERR]; /* one sentence, harmless (escape.h), no newline; "" = no error */
};
struct err *err_clear(struct err *err); /* no error; cheaper than {0}. Returns err */
/* Keeps the FIRST error (sticky); always returns false so that `return err_set(...)` reads well. err may be NULL. */
bool err_set(struct err *err, const char *fmt, ...) PRINTF_LIKE(2, 3);
bool err_limit(struct err *err, const char *fmt, ...) PRINTF_LIKE(2, 3); /* the same, and `limit` */
bool err_copy(struct err *err, const struct err *from);                  /* the same, one that was found already */
bool err_at(struct err *err, int line, int col, const char *fmt, ...) PRINTF_LIKE(4, 5);

/* ---- arena ------------------------------------------------------------------------------------------------ */
struct arena_block;
struct arena {
	struct arena_block *head;  /* newest first */
	size_t used;               /* bytes handed out since init or reset */
	size_t grown;              /* of those, in blocks of arena_grow */
	uint64_t ngrown;           /* arrays that arena_grow began */
	struct arena_block *spare; /* arena_reset keeps the largest block of arena_grow, too */
	struct arena_block *next;  /* arena_release keeps the oldest block that it empties, poisoned (ASan), for arena_alloc */
};
struct arena_mark {
	struct arena_block *head;
	size_t head_used, used, grown;
	uint64_t ngrown;
};

void arena_init(struct arena *a);
void arena_free(struct arena *a);                  /* a is as after arena_init */
void arena_reset(struct arena *a);                 /* keeps the largest blocks */
void *arena_alloc(struct arena *a, size_t nbytes); /* 16-byte aligned, contents undefined; never NULL */
void *arena_zalloc(struct arena *a, size_t nbytes);
char *arena_strdup(struct arena *a, const char *s);
char *arena_printf(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);
struct arena_mark arena_mark(struct arena *a);
void arena_release(struct arena *a, struct arena_mark m); /* frees everything allocated since the mark */
/* An array that grows: p (NULL at first, else from arena_grow, with old bytes) with n bytes, in a block of its own that realloc
 * moves, so nothing of it is left behind. Growing under a mark is fine if the array began before it. Also shrinks. */
void *arena_grow(struct arena *a, void *p, size_t old, size_t nbytes);
#define ARENA_GROW(a, type, p, old, n)                                                                                                     \
	((type *)arena_grow((a), (p), mul_size(sizeof(type), (size_t)(old)), mul_size(sizeof(type), (size_t)(n))))
#define ARENA_NEW(a, type, n)  ((type *)arena_alloc((a), mul_size(sizeof(type), (size_t)(n))))
#define ARENA_ZNEW(a, type, n) ((type *)arena_zalloc((a), mul_size(sizeof(type), (size_t)(n))))

/* ---- strings ---------------------------------------------------------------------------------------------- */
/* Growable byte string; s is always NUL-terminated, len excludes the NUL, binary content is fine. */
struct strbuf {
	char *s;
	size_t len, cap;
};
void sb_init(struct strbuf *sb); /* s = "", nothing allocated */
void sb_free(struct strbuf *sb);
void sb_reset(struct strbuf *sb); /* len = 0, keeps the memory */
void sb_put(struct strbuf *sb, const void *p, size_t n);
void sb_puts(struct strbuf *sb, const char *s);
void sb_putc(struct strbuf *sb, char c);
void sb_hex(struct strbuf *sb, const void *p, size_t n); /* two digits a byte */
/* A literal of Python that reads back as v, of as few digits as do, but no fewer than `least` (an end of zeros is left out): 100000.0 with
 * 15 is 1e+05 with 1. Also inf, -inf, nan. */
void sb_double(struct strbuf *sb, double v, int least);
void sb_printf(struct strbuf *sb, const char *fmt, ...) PRINTF_LIKE(2, 3);
void sb_vprintf(struct strbuf *sb, const char *fmt, va_list ap) PRINTF_LIKE(2, 0);
/* Reads a whole file, at most max bytes. */
bool sb_read_file(struct strbuf *sb, const char *path, size_t max, struct err *err);
/* The bytes as they are, for programs to read; what people read is written by output.h, which escapes. */
bool sb_write_file(const char *path, const struct strbuf *bytes, struct err *err);
/* The last line that says something: no blanks after it, at most 200 bytes. */
const char *last_line(const char *text, struct arena *a);
bool str_eq(const char *a, const char *b);
bool str_starts(const char *s, const char *prefix);
/* What the noun behind a number ends with: "1 finding", "2 findings". */
static inline const char *plural(int64_t n) { return n == 1 ? "" : "s"; }

void *xmalloc(size_t n); /* never NULL: out of memory ends the process, exit 3 */
void *xrealloc(void *p, size_t n);
char *xstrdup(const char *s);

/* ---- size arithmetic: overflow-checked here, trusted everywhere else ------------------------------------------ */
bool mul_i64(int64_t *out, int64_t a, int64_t b); /* false on overflow */
bool add_i64(int64_t *out, int64_t a, int64_t b);
size_t mul_size(size_t a, size_t b); /* BUG on overflow */
/* n bytes, the lowest first. */
void put_le(void *at, uint64_t v, int n);
uint64_t get_le(const void *at, int n);
/* Two's-complement wrap-around arithmetic on int64_t (never undefined). */
int64_t wrap_add(int64_t a, int64_t b);
int64_t wrap_sub(int64_t a, int64_t b);
int64_t wrap_mul(int64_t a, int64_t b);

/* ---- hashing ---------------------------------------------------------------------------------------------- */
struct hash128 {
	uint8_t b[16];
}; /* XXH3-128, canonical (big-endian) bytes */
struct hash128 hash_bytes(const void *p, size_t n);
void hash_hex(char out[33], const struct hash128 *h);
static inline uint64_t mix64(uint64_t x) /* splitmix64's finaliser: a bijection on 64 bits */
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9u;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

#endif
