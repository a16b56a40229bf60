/* tally.c: a list of findings by id; a night meets hundreds at most. */
#include "fuzz/campaign/tally.h"

#include <inttypes.h>
#include <stdlib.h>

#include "eager/base/guess.h"

struct entry {
	struct hash128 id;
	enum met how;
	enum finding_severity severity;
};
struct tally {
	struct entry *entry;
	int n, cap;
};

static const struct {
	const char *words, *name;
	bool counted; /* words is a noun */
} met_info[NMETS] = {
	[MET_NEW] = {"new finding", "new_findings", true},
	[MET_REGRESSED] = {"regressed", "regressed", false},
	[MET_OPEN] = {"seen again and open", "seen_again_open", false},
	[MET_KNOWN] = {"known", "known", false},
	[MET_DISMISSED] = {"dismissed", "dismissed", false},
	[MET_DUPLICATE] = {"duplicate", "duplicates", true},
	[MET_FIXED] = {"fixed in a later version", "fixed_later", false},
	[MET_BASELINE] = {"known (baseline)", "known_baseline", false},
};

enum met met_of_state(enum finding_state s)
{
	return s == STATE_KNOWN    ? MET_KNOWN
		: s == STATE_DISMISSED ? MET_DISMISSED
		: s == STATE_DUPLICATE ? MET_DUPLICATE
		: s == STATE_FIXED_IN  ? MET_FIXED
							   : MET_OPEN;
}

bool met_marked(enum met how)
{
	return how == MET_KNOWN || how == MET_DISMISSED || how == MET_DUPLICATE || how == MET_FIXED || how == MET_BASELINE;
}

struct tally *tally_new(void)
{
	struct tally *t = xmalloc(sizeof *t);
	*t = (struct tally){0};
	return t;
}

void tally_free(struct tally *t)
{
	free(t->entry);
	free(t);
}

bool tally_meet(struct tally *t, const struct hash128 *id, enum met how, enum finding_severity severity)
{
	for (int i = 0; i < t->n; i++) {
		struct entry *e = &t->entry[i];
		if (memcmp(&e->id, id, sizeof *id) != 0)
			continue;
		e->severity = MAX(e->severity, severity);
		bool back = how == MET_REGRESSED && e->how != MET_NEW && e->how != MET_REGRESSED;
		e->how = back ? how : e->how;
		return back;
	}
	if (t->n == t->cap) {
		t->cap = t->cap ? 2 * t->cap : 64;
		t->entry = xrealloc(t->entry, sizeof *t->entry * (size_t)t->cap);
	}
	t->entry[t->n++] = (struct entry){*id, how, severity};
	return true;
}

int64_t tally_count(const struct tally *t, enum met how)
{
	int64_t n = 0;
	for (int i = 0; i < t->n; i++)
		n += t->entry[i].how == how;
	return n;
}

int64_t tally_trivial(const struct tally *t, enum met how)
{
	int64_t n = 0;
	for (int i = 0; i < t->n; i++)
		n += t->entry[i].how == how && t->entry[i].severity == SEVERITY_TRIVIAL;
	return n;
}

bool tally_fails(const struct tally *t, const struct fail_on *f)
{
	for (int i = 0; i < t->n; i++) {
		enum met how = t->entry[i].how;
		if (t->entry[i].severity >= f->least && !met_marked(how) && !(how == MET_OPEN && f->only_new))
			return true;
	}
	return false;
}

void tally_print(struct strbuf *sb, const struct tally *t)
{
	for (int k = 0; k < NMETS; k++) {
		int64_t n = tally_count(t, (enum met)k), trivial = tally_trivial(t, (enum met)k);
		if (k > MET_OPEN && !n)
			continue;
		if (k == MET_REGRESSED && !n)
			continue;
		sb_printf(sb, "%s%" PRId64 " %s%s", k ? ", " : "", n, met_info[k].words, met_info[k].counted ? plural(n) : "");
		if (trivial && k <= MET_OPEN)
			sb_printf(sb, " (%" PRId64 " trivial)", trivial);
	}
}

void tally_json(struct json *j, const struct tally *t)
{
	for (int k = 0; k < NMETS; k++)
		json_int(j, met_info[k].name, tally_count(t, (enum met)k));
	json_int(j, "new_trivial", tally_trivial(t, MET_NEW));
}
