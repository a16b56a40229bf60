/* choices.c: three sources behind one function, next(); everything else is arithmetic on its result. */
#include "fuzz/gen/choices.h"

#include <inttypes.h>
#include <stdlib.h>

void choices_from_seed(struct choices *c, uint64_t seed)
{
	*c = (struct choices){.source = FROM_SEED};
	for (int i = 0; i < 4; i++)
		c->state[i] = mix64(seed + (uint64_t)(i + 1) * 0x9e3779b97f4a7c15u);
}

void choices_from_bytes(struct choices *c, const void *p, size_t n)
{
	*c = (struct choices){.source = FROM_BYTES, .bytes = p, .nbytes = n};
}

bool choices_from_text(struct choices *c, const char *text, struct err *err)
{
	struct choices r = {.source = FROM_LIST};
	size_t cap = 0;
	for (const char *s = text;;) {
		s += strspn(s, " \t\r\n");
		if (!*s)
			break;
		uint64_t value, bound;
		int used = 0;
		if (sscanf(s, "%" SCNu64 "/%" SCNu64 "%n", &value, &bound, &used) != 2 || !used || !strchr(" \t\r\n", s[used])
			|| bound > (uint64_t)1 << 32 || value >= bound) {
			free(r.list);
			return err_set(err, "choices: expected value/bound at '%.20s'", s);
		}
		if (r.nlist == cap) {
			cap = cap ? cap * 2 : 64;
			r.list = xrealloc(r.list, mul_size(cap, sizeof *r.list));
		}
		r.list[r.nlist++] = (struct choice){(uint32_t)value, bound};
		s += used;
	}
	*c = r;
	return true;
}

void choices_free(struct choices *c)
{
	free(c->list);
	free(c->rec);
	*c = (struct choices){0};
}

void choices_record(struct choices *c)
{
	c->recording = true;
	c->nrec = 0;
}

static int width(uint64_t bound) { return bound <= 1u << 8 ? 1 : bound <= 1u << 16 ? 2 : 4; }

void choices_to_bytes(struct strbuf *out, const struct choices *c)
{
	for (size_t i = 0; i < c->nrec; i++)
		for (int k = 0; k < width(c->rec[i].bound); k++)
			sb_putc(out, (char)(uint8_t)(c->rec[i].value >> 8 * k));
}

void choices_to_text(struct strbuf *out, const struct choices *c)
{
	for (size_t i = 0; i < c->nrec; i++)
		sb_printf(out, "%s%" PRIu32 "/%" PRIu64, !i ? "" : i % 16 ? " " : "\n", c->rec[i].value, c->rec[i].bound);
	sb_putc(out, '\n');
}

static uint64_t rotl(uint64_t x, int k) { return x << k | x >> (64 - k); }

static uint32_t next_seed(struct choices *c, uint64_t n)
{
	uint64_t *s = c->state, r = rotl(s[1] * 5, 7) * 9, t = s[1] << 17;
	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotl(s[3], 45);
	/* The high half scaled to [0, n): the bias, below n / 2^32, does not matter here. */
	uint64_t hi = r >> 32;
	return (uint32_t)(n > UINT32_MAX ? hi : hi * n >> 32);
}

static uint32_t next_bytes(struct choices *c, uint64_t n)
{
	size_t w = (size_t)width(n);
	if (c->nbytes - c->pos < w) {
		c->pos = c->nbytes;
		c->ended = true;
		return 0;
	}
	uint32_t v = 0;
	for (size_t k = 0; k < w; k++)
		v |= (uint32_t)c->bytes[c->pos++] << 8 * k;
	return (uint32_t)(v % n);
}

static uint32_t next_list(struct choices *c, uint64_t n)
{
	if (c->pos == c->nlist) {
		c->ended = true;
		return 0;
	}
	return (uint32_t)(c->list[c->pos++].value % n);
}

uint32_t choose_below(struct choices *c, uint64_t n)
{
	CHECK(n >= 1 && n <= (uint64_t)1 << 32);
	if (n == 1)
		return 0;
	uint32_t v = c->source == FROM_SEED ? next_seed(c, n) : c->source == FROM_BYTES ? next_bytes(c, n) : next_list(c, n);
	if (c->recording) {
		if (c->nrec == c->cap) {
			c->cap = c->cap ? c->cap * 2 : 256;
			c->rec = xrealloc(c->rec, mul_size(c->cap, sizeof *c->rec));
		}
		c->rec[c->nrec++] = (struct choice){v, n};
	}
	return v;
}

int64_t choose_int(struct choices *c, int64_t lo, int64_t hi)
{
	CHECK(lo <= hi);
	return lo + (int64_t)choose_below(c, (uint64_t)(hi - lo) + 1);
}

bool choose_chance(struct choices *c, int percent)
{
	if (percent <= 0 || percent >= 100)
		return percent > 0;
	return (int)choose_below(c, 100) >= 100 - percent;
}

int choose_weighted(struct choices *c, const int *weight, int n)
{
	uint64_t sum = 0;
	for (int i = 0; i < n; i++)
		sum += (uint64_t)weight[i];
	if (!sum)
		return -1;
	uint64_t v = choose_below(c, sum);
	for (int i = 0; i < n; i++) {
		if (v < (uint64_t)weight[i])
			return i;
		v -= (uint64_t)weight[i];
	}
	BUG("choose_weighted: weights changed");
}
