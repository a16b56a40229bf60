/* shard_stats.c: each function expands the tables of the header in its own way; what stands in an array is a loop over it. */
#include "fuzz/campaign/shard_stats.h"

#define MERGE_SUM(a, b)  ((a) + (b))
#define MERGE_MAX(a, b)  MAX(a, b)
#define MERGE_EACH(a, b) (a)

void shard_stats_add(struct shard_stats *sum, const struct shard_stats *s)
{
#define FIELD(name, merge) sum->name = MERGE_##merge(sum->name, s->name);
	SHARD_STATS(FIELD, FIELD)
#undef FIELD
	for (int t = 0; t <= MAX_TARGETS; t++)
		for (int v = 0; v < NVERDICTS; v++)
			sum->verdict[t][v] += s->verdict[t][v];
	for (int k = 0; k < NFILL_CLASSES; k++)
		element_counts_add(&sum->elements[k], &s->elements[k]);
}

void shard_stats_put(struct strbuf *sb, const struct shard_stats *s)
{
#define INT(name, merge)  wire_put_i64(sb, s->name);
#define REAL(name, merge) wire_put_f64(sb, s->name);
	SHARD_STATS(INT, REAL)
#undef INT
#undef REAL
	for (int t = 0; t <= MAX_TARGETS; t++)
		for (int v = 0; v < NVERDICTS; v++)
			wire_put_i64(sb, s->verdict[t][v]);
#define COUNT(name, word) wire_put_i64(sb, s->elements[k].name);
	for (int k = 0; k < NFILL_CLASSES; k++) {
		ELEMENT_COUNTS(COUNT)
	}
#undef COUNT
	wire_put_u8(sb, s->exhausted);
}

void shard_stats_get(struct shard_stats *s, struct wire *w)
{
	*s = (struct shard_stats){0};
#define INT(name, merge)  s->name = wire_i64(w);
#define REAL(name, merge) s->name = wire_f64(w);
	SHARD_STATS(INT, REAL)
#undef INT
#undef REAL
	for (int t = 0; t <= MAX_TARGETS; t++)
		for (int v = 0; v < NVERDICTS; v++)
			s->verdict[t][v] = wire_i64(w);
#define COUNT(name, word) s->elements[k].name = wire_i64(w);
	for (int k = 0; k < NFILL_CLASSES; k++) {
		ELEMENT_COUNTS(COUNT)
	}
#undef COUNT
	s->exhausted = wire_u8(w) != 0;
}

int64_t shard_stats_verdicts(const struct shard_stats *s, enum verdict v)
{
	int64_t n = 0;
	for (int t = 0; t < MAX_TARGETS; t++)
		n += s->verdict[t][v];
	return n;
}
