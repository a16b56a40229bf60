/* shard_wire.c: what shards are asked and answer, as bytes, both directions side by side so that they stay each other's inverse. */
#include "fuzz/campaign/shard.h"

enum { NSTAT_INTS = 8 + (MAX_TARGETS + 1) * NVERDICTS + NFILL_CLASSES * 6 + 4, NSTAT_FLOATS = 11 };

/* Every number of the struct in one order, for both directions. */
static void stat_fields(struct shard_stats *s, int64_t **ints, double **floats)
{
	int n = 0, f = 0;
	int64_t *head[] = {&s->generated, &s->compiled, &s->cheap_runs, &s->cheap_hits, &s->confirmations, &s->refused_confirmations,
		&s->suspected, &s->twins};
	for (int i = 0; i < ARRAY_LEN(head); i++)
		ints[n++] = head[i];
	for (int t = 0; t <= MAX_TARGETS; t++)
		for (int v = 0; v < NVERDICTS; v++)
			ints[n++] = &s->verdict[t][v];
	for (int k = 0; k < NFILL_CLASSES; k++) {
		struct element_counts *e = &s->elements[k];
		int64_t *part[] = {&e->exact, &e->agree, &e->weak, &e->suspect, &e->undecided, &e->disagree};
		for (int i = 0; i < ARRAY_LEN(part); i++)
			ints[n++] = part[i];
	}
	int64_t *tail[] = {&s->first_divergence_compiles, &s->queue, &s->rss, &s->target_rss};
	for (int i = 0; i < ARRAY_LEN(tail); i++)
		ints[n++] = tail[i];
	CHECK(n == NSTAT_INTS);
	double *ms[] = {&s->generate_ms, &s->reference_ms, &s->target_ms, &s->wait_ms, &s->confirm_ms, &s->wall_ms, &s->first_compile_ms,
		&s->first_divergence_ms, &s->ready_ms, &s->main_ms, &s->starved_ms};
	for (f = 0; f < NSTAT_FLOATS; f++)
		floats[f] = ms[f];
}

static void put_stats(struct strbuf *sb, const struct shard_stats *s)
{
	struct shard_stats copy = *s;
	int64_t *ints[NSTAT_INTS];
	double *floats[NSTAT_FLOATS];
	stat_fields(&copy, ints, floats);
	for (int i = 0; i < NSTAT_INTS; i++)
		wire_put_i64(sb, *ints[i]);
	for (int i = 0; i < NSTAT_FLOATS; i++)
		wire_put_f64(sb, *floats[i]);
	wire_put_u8(sb, s->exhausted);
}

static void get_stats(struct shard_stats *s, struct wire *w)
{
	int64_t *ints[NSTAT_INTS];
	double *floats[NSTAT_FLOATS];
	*s = (struct shard_stats){0};
	stat_fields(s, ints, floats);
	for (int i = 0; i < NSTAT_INTS; i++)
		*ints[i] = wire_i64(w);
	for (int i = 0; i < NSTAT_FLOATS; i++)
		*floats[i] = wire_f64(w);
	s->exhausted = wire_u8(w) != 0;
}

static void put_state(struct strbuf *sb, const struct shard_state *s)
{
	wire_put_i64(sb, s->next);
	wire_put_i64(sb, s->made);
	wire_put_u32(sb, (uint32_t)s->npending);
	for (int i = 0; i < s->npending; i++) {
		const struct shard_pending *q = &s->pending[i];
		wire_put_i64(sb, q->index);
		wire_put_u8(sb, (uint8_t)(q->twin | q->diverged << 1));
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
		s->pending[i] = (struct shard_pending){.index = index, .twin = flags & 1, .diverged = flags >> 1 & 1, .counted = (int)wire_u32(w)};
	}
}

void shard_put_request(struct strbuf *sb, const struct shard_request *r)
{
	wire_put_u32(sb, (uint32_t)r->ms);
	wire_put_u8(sb, (uint8_t)r->mode);
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
	put_stats(sb, &s->stats);
	put_state(sb, &s->state);
}

void shard_get_answer(struct shard_answer *s, struct wire *w, struct arena *a)
{
	s->fatal = wire_str(w, a);
	s->fatal_code = (int)wire_u32(w);
	s->version = wire_str(w, a);
	s->versions = wire_str(w, a);
	s->hello = wire_str(w, a);
	get_stats(&s->stats, w);
	get_state(&s->state, w, a);
}

static void finding_texts(struct shard_finding *f, const char ***field, int *n)
{
	static const int count = 13;
	field[0] = &f->target, field[1] = &f->versions, field[2] = &f->device, field[3] = &f->text, field[4] = &f->policy;
	field[5] = &f->signature, field[6] = &f->tensor, field[7] = &f->pattern, field[8] = &f->detail, field[9] = &f->report;
	field[10] = &f->stderr_tail, field[11] = &f->how, field[12] = &f->verdict;
	*n = count;
}

void shard_put_finding(struct strbuf *sb, const struct shard_finding *f)
{
	struct shard_finding copy = *f;
	const char **field[16];
	int n;
	finding_texts(&copy, field, &n);
	for (int i = 0; i < n; i++)
		wire_put_str(sb, *field[i] ? *field[i] : "");
	wire_put_u32(sb, (uint32_t)f->kind);
	wire_put_u32(sb, (uint32_t)f->severity);
	wire_put_u32(sb, (uint32_t)f->call);
	wire_put_u8(sb, f->confirmed);
	wire_put_i64(sb, f->program_index);
	wire_put_i64(sb, f->compiles);
	wire_put_f64(sb, f->found_ms);
	wire_put_f64(sb, f->confirm_ms);
}

void shard_get_finding(struct shard_finding *f, struct wire *w, struct arena *a)
{
	const char **field[16];
	int n;
	*f = (struct shard_finding){0};
	finding_texts(f, field, &n);
	for (int i = 0; i < n; i++)
		*field[i] = wire_str(w, a);
	uint32_t kind = wire_u32(w), severity = wire_u32(w);
	w->bad |= kind >= NFINDING_KINDS || severity >= NSEVERITIES;
	f->kind = w->bad ? FINDING_VALUE : (enum finding_kind)kind;
	f->severity = w->bad ? SEVERITY_NORMAL : (enum finding_severity)severity;
	f->call = (int)wire_u32(w);
	f->confirmed = wire_u8(w) != 0;
	f->program_index = wire_i64(w);
	f->compiles = wire_i64(w);
	f->found_ms = wire_f64(w);
	f->confirm_ms = wire_f64(w);
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
