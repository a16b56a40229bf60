/* shard_wire.c: what shards are asked and answer, as bytes, both directions side by side so that they stay each other's inverse. */
#include "fuzz/campaign/shard.h"

static void put_state(struct strbuf *sb, const struct shard_state *s)
{
	wire_put_i64(sb, s->next);
	wire_put_i64(sb, s->made);
	wire_put_u32(sb, (uint32_t)s->npending);
	for (int i = 0; i < s->npending; i++) {
		const struct shard_pending *q = &s->pending[i];
		wire_put_i64(sb, q->index);
		wire_put_u8(sb, (unsigned)q->twin | (unsigned)q->diverged << 1 | (unsigned)q->why << 2);
		wire_put_u32(sb, (uint32_t)q->counted);
	}
}

/* The count of a list whose entries have at least nbytes each; 0 if the bytes are not there. */
static int list_count(struct wire *w, size_t nbytes)
{
	uint32_t n = wire_u32(w);
	w->bad |= n > (size_t)(w->end - w->p) / nbytes;
	return w->bad ? 0 : (int)n;
}

static void get_state(struct shard_state *s, struct wire *w, struct arena *a)
{
	s->next = wire_i64(w);
	s->made = wire_i64(w);
	s->npending = list_count(w, 13);
	s->pending = ARENA_ZNEW(a, struct shard_pending, s->npending);
	for (int i = 0; i < s->npending; i++) {
		int64_t index = wire_i64(w);
		unsigned flags = wire_u8(w);
		s->pending[i] = (struct shard_pending){.index = index,
			.twin = flags & 1,
			.diverged = flags >> 1 & 1,
			.why = (enum sample_why)(flags >> 2 & 3),
			.counted = (int)wire_u32(w)};
	}
}

void shard_put_request(struct strbuf *sb, const struct shard_request *r)
{
	wire_put_u32(sb, (uint32_t)r->ms);
	wire_put_u8(sb, (uint8_t)r->mode);
	explained_put(sb, &r->explained);
	wire_put_u8(sb, r->fresh);
	if (!r->fresh)
		return;
	wire_put_str(sb, r->note);
	put_state(sb, &r->state);
	wire_put_u32(sb, (uint32_t)r->nskip);
	for (int i = 0; i < r->nskip; i++) {
		wire_put_i64(sb, r->skip[i].index);
		wire_put_u8(sb, r->skip[i].twin);
	}
}

void shard_get_request(struct shard_request *r, struct wire *w, struct arena *a)
{
	*r = (struct shard_request){0};
	r->ms = (int)wire_u32(w);
	r->mode = (enum shard_mode)wire_u8(w);
	explained_get(&r->explained, w, a);
	r->fresh = wire_u8(w) != 0;
	if (!r->fresh)
		return;
	r->note = wire_str(w, a);
	get_state(&r->state, w, a);
	r->nskip = list_count(w, 9);
	r->skip = ARENA_ZNEW(a, struct shard_culprit, r->nskip);
	for (int i = 0; i < r->nskip; i++) {
		r->skip[i].index = wire_i64(w);
		r->skip[i].twin = wire_u8(w) != 0;
	}
}

void shard_put_answer(struct strbuf *sb, const struct shard_answer *s)
{
	wire_put_str(sb, s->fatal);
	wire_put_u32(sb, (uint32_t)s->fatal_code);
	wire_put_str(sb, s->version);
	wire_put_str(sb, s->versions);
	wire_put_str(sb, s->hello);
	shard_stats_put(sb, &s->stats);
	put_state(sb, &s->state);
	explained_put(sb, &s->explained);
}

void shard_get_answer(struct shard_answer *s, struct wire *w, struct arena *a)
{
	s->fatal = wire_str(w, a);
	s->fatal_code = (int)wire_u32(w);
	s->version = wire_str(w, a);
	s->versions = wire_str(w, a);
	s->hello = wire_str(w, a);
	shard_stats_get(&s->stats, w);
	get_state(&s->state, w, a);
	explained_get(&s->explained, w, a);
}

void shard_put_reason(struct strbuf *sb, const struct shard_reason *r)
{
	wire_put_u32(sb, (uint32_t)r->target);
	wire_put_str(sb, r->text);
	wire_put_i64(sb, r->n);
	wire_put_i64(sb, r->index);
	wire_put_u8(sb, r->twin);
}

void shard_get_reason(struct shard_reason *r, struct wire *w, struct arena *a)
{
	*r = (struct shard_reason){.target = (int)wire_u32(w)};
	snprintf(r->text, sizeof r->text, "%s", wire_str(w, a));
	r->n = wire_i64(w);
	r->index = wire_i64(w);
	r->twin = wire_u8(w) != 0;
}

void shard_reason_add(struct shard_reason *list, int *n, const struct shard_reason *add)
{
	struct shard_reason *r = list;
	while (r < list + *n && !(r->target == add->target && str_eq(r->text, add->text)))
		r++;
	if (r == list + *n && *n == MAX_REASONS) { /* the last one collects the rest */
		r = list + *n - 1;
		snprintf(r->text, sizeof r->text, "other reasons");
	} else if (r == list + *n) {
		list[(*n)++] = *add;
		return;
	}
	r->n += add->n;
}
