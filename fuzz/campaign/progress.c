/* progress.c: the status line of a campaign and its findings as they come. The line is made of pieces, of which a terminal gets those
 * that fit, the important ones first. The cursor waits at the line's beginning: whatever a resize makes of the line lies behind it and is
 * cleared with it. */
#include "fuzz/campaign/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "eager/base/clock.h"
#include "eager/base/escape.h"
#include "eager/base/interrupt.h"
#include "eager/base/json.h"

#define CLEAR_BELOW "\033[J"   /* from the cursor to the end of the screen */
#define WRAP_OFF    "\033[?7l" /* a window may be narrower already than its size says */
#define WRAP_ON     "\033[?7h"

bool progress_terminal(int fd)
{
	const char *term = getenv("TERM");
	return isatty(fd) && term && term[0] && !str_eq(term, "dumb");
}

void progress_begin(struct progress *p, const struct options *o)
{
	*p = (struct progress){.o = o, .start = clock_ms()};
	p->status_tty = progress_terminal(STDERR_FILENO);
	p->finding_tty = progress_terminal(STDOUT_FILENO);
}

/* Columns that may be written without reaching the last one, where some terminals wrap at once. Asked anew every time: windows change. */
static int columns(int fd)
{
	struct winsize w;
	const char *given = getenv("COLUMNS");
	int n = ioctl(fd, TIOCGWINSZ, &w) == 0 ? w.ws_col : 0;
	n = n > 0 ? n : given ? atoi(given) : 0;
	return n > 1 ? n - 1 : 79;
}

/* Past stdio, which would escape it; standard error is unbuffered. */
void progress_control(const char *sequence)
{
	if (write(STDERR_FILENO, sequence, strlen(sequence)) < 0)
		return; /* a terminal that has gone is met again by whoever prints */
}

/* ---- the status line -------------------------------------------------------------------------------------------------------- */

/* In the order in which they are shown, each with the blanks before it. Of rank 0 come first. */
enum { MAX_PIECES = 16, LAST_RANK = 6 };
struct pieces {
	int n;
	struct {
		int rank;
		bool shown;
		char text[80];
	} piece[MAX_PIECES];
};

static void add(struct pieces *l, int rank, const char *fmt, ...) PRINTF_LIKE(3, 4);
static void add(struct pieces *l, int rank, const char *fmt, ...)
{
	va_list ap;
	CHECK(l->n < MAX_PIECES && rank <= LAST_RANK);
	va_start(ap, fmt);
	vsnprintf(l->piece[l->n].text, sizeof l->piece[l->n].text, fmt, ap);
	va_end(ap);
	l->piece[l->n++].rank = rank;
}

static void status_pieces(struct pieces *l, const struct progress *p, const struct shard_stats *s, int64_t nfindings, bool finishing)
{
	static const enum verdict shown[] = {VD_MISMATCH, VD_INVARIANT, VD_CRASH, VD_HANG, VD_UNSUPPORTED, VD_INVALID, VD_HARNESS, VD_UNJUDGED};
	double sec = (clock_ms() - p->start) / 1e3, wall = MAX(s->wall_ms, 1.0);
	int64_t judged = 0, undecided = 0;
	for (int k = 0; k < NFILL_CLASSES; k++) {
		const struct element_counts *e = &s->elements[k];
		judged += element_counts_total(e);
		undecided += e->undecided;
	}
	*l = (struct pieces){0};
	add(l, 0, "%.0fs%s", sec, finishing ? " finishing" : "");
	add(l, 0, "  %" PRId64 " program%s", s->generated, plural(s->generated));
	add(l, 2, " (%.1f/s)", (double)s->generated / MAX(sec, 0.001));
	if (s->compiled)
		add(l, 2, "  %" PRId64 " compiled", s->compiled);
	add(l, 6, "  time gen %.0f%% ref %.0f%% target %.0f%%", 100 * s->generate_ms / wall, 100 * s->reference_ms / wall,
		100 * s->wait_ms / wall);
	add(l, 3, "  pass %" PRId64, shard_stats_verdicts(s, VD_PASS));
	for (int i = 0; i < ARRAY_LEN(shown); i++) {
		int64_t n = shard_stats_verdicts(s, shown[i]) + s->verdict[MAX_TARGETS][shown[i]];
		if (n)
			add(l, verdict_diverges(shown[i]) || shown[i] == VD_HARNESS ? 3 : 4, " %s %" PRId64, verdict_name[shown[i]], n);
	}
	add(l, 5, "  undecided %.2f%%", judged ? 100.0 * (double)undecided / (double)judged : 0.0);
	add(l, 1, "  findings %" PRId64, nfindings);
}

/* At most width characters, all of them ASCII. */
static void fit(struct strbuf *sb, struct pieces *l, int width)
{
	size_t used = 0;
	for (int rank = 0; rank <= LAST_RANK; rank++)
		for (int i = 0; i < l->n; i++) {
			size_t n = strlen(l->piece[i].text);
			if (l->piece[i].rank == rank && used + n <= (size_t)width) {
				l->piece[i].shown = true;
				used += n;
			}
		}
	for (int i = 0; i < l->n; i++)
		if (l->piece[i].shown)
			sb_puts(sb, l->piece[i].text);
}

bool progress_due(const struct progress *p) { return clock_ms() - p->last >= (p->status_tty ? 500 : 30000); }

void progress_status(struct progress *p, const struct shard_stats *s, int64_t nfindings, bool finishing)
{
	struct pieces l;
	struct strbuf sb;
	if (p->o->quiet)
		return;
	p->last = clock_ms();
	sb_init(&sb);
	status_pieces(&l, p, s, nfindings, finishing);
	sb_puts(&sb, p->status_tty ? "\r" WRAP_OFF : "");
	fit(&sb, &l, p->status_tty ? columns(STDERR_FILENO) : INT32_MAX);
	sb_puts(&sb, p->status_tty ? CLEAR_BELOW WRAP_ON "\r" : "");
	if (p->status_tty)
		progress_control(sb.s);
	else
		fprintf(stderr, "%s\n", sb.s);
	sb_free(&sb);
}

void progress_clear(const struct progress *p)
{
	if (p->status_tty && !p->o->quiet)
		progress_control("\r" CLEAR_BELOW);
}

void progress_end(const struct progress *p)
{
	if (p->status_tty && !p->o->quiet)
		progress_control("\n");
}

void progress_command(const char *command, const char *db)
{
	struct strbuf sb;
	sb_init(&sb);
	escape_shell(&sb, db);
	printf("%s --db %s\n", command, sb.s);
	sb_free(&sb);
}

/* ---- findings ------------------------------------------------------------------------------------------------------------------ */

static void finding_json(const struct finding *f, const char *target, const char *what, const char *id)
{
	struct strbuf sb;
	struct json j = json_into(&sb, JSON_SPACED);
	sb_init(&sb);
	json_object(&j, NULL);
	json_string(&j, "finding", id);
	json_string(&j, "target", target);
	json_string(&j, "kind", finding_kind_name[f->kind]);
	json_bool(&j, "confirmed", f->confirmed);
	json_bool(&j, "regressed", str_eq(what, "regressed"));
	json_fixed(&j, "found_ms", f->found_ms, 0);
	json_fixed(&j, "confirm_ms", f->confirm_ms, 0);
	json_int(&j, "compiles", f->compiles);
	json_end(&j);
	printf("%s\n", sb.s);
	sb_free(&sb);
}

/* One line of a terminal. */
static void cut_line(int width, const char *label, const char *text)
{
	struct strbuf sb;
	sb_init(&sb);
	sb_puts(&sb, label);
	escape_line(&sb, text);
	size_t max = (size_t)MAX(width, 20), n = sb.len <= max ? sb.len : utf8_cut(sb.s, max - 3);
	printf("%.*s%s\n", (int)n, sb.s, n < sb.len ? "..." : "");
	sb_free(&sb);
}

/* The store has the rest: a few lines, and the command that shows it. */
static void finding_brief(const struct progress *p, const struct finding *f, const char *target, const char *what, const char *id)
{
	char text[256];
	int width = columns(STDOUT_FILENO);
	snprintf(text, sizeof text, "FINDING %s  %s on %s, %s", id, finding_kind_name[f->kind], target, what);
	putchar('\n');
	cut_line(width, "", text);
	cut_line(width, "  ", f->detail);
	cut_line(width, "  signature: ", f->signature);
	snprintf(text, sizeof text, "after %.1f s and %" PRId64 " compiled programs, %s (%.1f s)", f->found_ms / 1e3, f->compiles, f->how,
		f->confirm_ms / 1e3);
	cut_line(width, "  ", text);
	snprintf(text, sizeof text, "  scatterproof findings show %s", id);
	progress_command(text, p->o->db);
}

/* Everything: a file keeps it, and without a store nothing else has it. */
static void finding_whole(const struct progress *p, const struct finding *f, const char *target, const char *what, const char *id)
{
	char command[64];
	printf("\nFINDING %s  %s on %s, %s (%s)\n%s", id, finding_kind_name[f->kind], target, what, f->how, f->report);
	printf("found after %.1f s and %" PRId64 " compiled program%s, confirmation took %.1f s\n", f->found_ms / 1e3, f->compiles,
		plural(f->compiles), f->confirm_ms / 1e3);
	snprintf(command, sizeof command, "see it again:  scatterproof repro %s", id);
	if (p->o->db)
		progress_command(command, p->o->db);
}

/* Who ended us does not read: every write would wait for the next nudge (interrupt.h), a batch of findings for minutes. What was said stays
 * an error of stdout, which the end reports. */
static void stop_writing(void)
{
	int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (nowhere >= 0) {
		dup2(nowhere, STDOUT_FILENO);
		close(nowhere);
	}
}

bool progress_finding(struct progress *p, const struct finding *f, const char *what, const struct hash128 *id)
{
	char hex[33];
	struct arena a;
	arena_init(&a);
	const char *target = finding_target(f, &a);
	hash_hex(hex, id);
	hex[STORE_ID_DIGITS] = 0;
	progress_clear(p);
	p->last = 0; /* the line is due again */
	errno = 0;
	if (p->o->json)
		finding_json(f, target, what, hex);
	else if (!p->o->quiet)
		(p->finding_tty && p->o->db ? finding_brief : finding_whole)(p, f, target, what, hex);
	arena_free(&a);
	if (fflush(stdout) == 0 && !ferror(stdout))
		return true;
	const int why = errno;
	if (interrupt_asked())
		stop_writing();
	return why != EPIPE;
}
