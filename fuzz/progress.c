/* progress.c: the status line of a campaign and its findings as they come. */
#include "fuzz/progress.h"

#include <errno.h>
#include <inttypes.h>
#include <time.h>
#include <unistd.h>

static double now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

void progress_begin(struct progress *p, const struct options *o) { *p = (struct progress){.o = o, .start = now_ms(), .tty = isatty(2) != 0}; }

/* ---- the status line -------------------------------------------------------------------------------------------------------- */

static void status_text(const struct progress *p, struct strbuf *sb, const struct shard_stats *s, int64_t nfindings, bool finishing)
{
	double sec = (now_ms() - p->start) / 1e3, wall = MAX(s->wall_ms, 1.0);
	int64_t judged = 0, undecided = 0;
	for (int k = 0; k < NFILL_CLASSES; k++) {
		const struct element_counts *e = &s->elements[k];
		judged += e->exact + e->agree + e->weak + e->suspect + e->undecided + e->disagree;
		undecided += e->undecided;
	}
	sb_printf(sb, "%.0fs%s  %" PRId64 " programs (%.1f/s)", sec, finishing ? " finishing" : "", s->generated, (double)s->generated / MAX(sec, 0.001));
	if (s->compiled)
		sb_printf(sb, "  %" PRId64 " compiled", s->compiled);
	sb_printf(sb, "  time gen %.0f%% ref %.0f%% target %.0f%%", 100 * s->generate_ms / wall, 100 * s->reference_ms / wall, 100 * s->wait_ms / wall);
	sb_printf(sb, "  pass %" PRId64, verdicts(s, VD_PASS));
	static const enum verdict shown[] = {VD_MISMATCH, VD_CRASH, VD_HANG, VD_UNSUPPORTED, VD_INVALID, VD_HARNESS, VD_UNJUDGED};
	for (int i = 0; i < ARRAY_LEN(shown); i++) {
		int64_t n = verdicts(s, shown[i]) + s->verdict[MAX_TARGETS][shown[i]];
		if (n)
			sb_printf(sb, " %s %" PRId64, verdict_name[shown[i]], n);
	}
	sb_printf(sb, "  undecided %.2f%%  findings %" PRId64, judged ? 100.0 * (double)undecided / (double)judged : 0.0, nfindings);
}

bool progress_due(const struct progress *p) { return now_ms() - p->last >= (p->tty ? 500 : 30000); }

void progress_status(struct progress *p, const struct shard_stats *s, int64_t nfindings, bool finishing)
{
	if (p->o->quiet)
		return;
	p->last = now_ms();
	struct strbuf sb;
	sb_init(&sb);
	status_text(p, &sb, s, nfindings, finishing);
	if (p->tty)
		fprintf(stderr, "\r\033[K%.*s", 200, sb.s);
	else
		fprintf(stderr, "%s\n", sb.s);
	fflush(stderr);
	sb_free(&sb);
}

void progress_clear(const struct progress *p)
{
	if (p->tty)
		fprintf(stderr, "\r\033[K");
}

void progress_end(const struct progress *p)
{
	if (p->tty && !p->o->quiet)
		fputc('\n', stderr);
}

/* ---- findings ------------------------------------------------------------------------------------------------------------------ */

bool progress_finding(const struct progress *p, const struct shard_finding *f, const char *what, const struct hash128 *id)
{
	char hex[33];
	hash_hex(hex, id);
	hex[STORE_ID_DIGITS] = 0;
	progress_clear(p);
	if (p->o->json) {
		printf("{\"finding\": \"%s\", \"target\": \"%s\", \"kind\": \"%s\", \"confirmed\": %s, \"regressed\": %s", hex, f->target,
		       finding_kind_name[f->kind], f->confirmed ? "true" : "false", str_eq(what, "regressed") ? "true" : "false");
		printf(", \"found_ms\": %.0f, \"confirm_ms\": %.0f, \"compiles\": %" PRId64 "}\n", f->found_ms, f->confirm_ms, f->compiles);
	} else if (!p->o->quiet) {
		printf("\nFINDING %s  %s on %s, %s (%s)\n%s", hex, finding_kind_name[f->kind], f->target, what, f->how, f->report);
		printf("found after %.1f s and %" PRId64 " compiled programs, confirmation took %.1f s\n", f->found_ms / 1e3, f->compiles, f->confirm_ms / 1e3);
		if (p->o->db)
			printf("see it again:  scatterproof repro %s --db %s\n", hex, p->o->db);
	}
	return fflush(stdout) == 0 || errno != EPIPE;
}
