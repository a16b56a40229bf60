/* tally_test.c: which findings make a run fail, and that each is met once. */
#include "fuzz/campaign/tally.h"
#include "tests/test.h"

static struct hash128 id(int n)
{
	struct hash128 h = {{0}};
	h.b[0] = (uint8_t)n;
	return h;
}

static bool meet(struct tally *t, int n, enum met how, enum finding_severity s)
{
	struct hash128 h = id(n);
	return tally_meet(t, &h, how, s);
}

/* One finding, met as such: does the run fail? */
static bool fails(const char *words, enum met how, enum finding_severity s)
{
	struct fail_on f;
	struct err err = {0};
	struct tally *t = tally_new();
	EXPECT(fail_on_parse(&f, words, &err), "%s: %s", words, err.msg);
	meet(t, 1, how, s);
	bool yes = tally_fails(t, &f);
	tally_free(t);
	return yes;
}

static void which_fail(void)
{
	static const struct {
		const char *words;
		bool new, open;
		enum finding_severity least;
	} row[] = {
		{"open", true, true, SEVERITY_NORMAL},
		{"new", true, false, SEVERITY_NORMAL},
		{"high", true, true, SEVERITY_HIGH},
		{"trivial", true, true, SEVERITY_TRIVIAL},
		{"new,high", true, false, SEVERITY_HIGH},
		{"trivial,new", true, false, SEVERITY_TRIVIAL},
		{"open,normal", true, true, SEVERITY_NORMAL},
		{"invalid", true, true, SEVERITY_NORMAL},
		{"invalid,new,high", true, false, SEVERITY_HIGH},
	};
	static const enum finding_severity severity[] = {SEVERITY_TRIVIAL, SEVERITY_NORMAL, SEVERITY_HIGH};
	for (int i = 0; i < ARRAY_LEN(row); i++)
		for (int k = 0; k < ARRAY_LEN(severity); k++) {
			bool enough = severity[k] >= row[i].least;
			EXPECT(fails(row[i].words, MET_NEW, severity[k]) == (enough && row[i].new), "%s: new, %d", row[i].words, k);
			EXPECT(fails(row[i].words, MET_REGRESSED, severity[k]) == (enough && row[i].new), "%s: regressed", row[i].words);
			EXPECT(fails(row[i].words, MET_OPEN, severity[k]) == (enough && row[i].open), "%s: open", row[i].words);
			for (int how = MET_KNOWN; how < NMETS; how++)
				EXPECT(!fails(row[i].words, (enum met)how, severity[k]), "%s: decided %d", row[i].words, how);
		}
}

static void bad_words(void)
{
	static const char *const words[] = {"", "meta", "low", "open,", ",open", "open,new", "high,normal", "HIGH", "known"};
	for (int i = 0; i < ARRAY_LEN(words); i++) {
		struct fail_on f;
		struct err err = {0};
		EXPECT(!fail_on_parse(&f, words[i], &err) && err.msg[0], "'%s' is accepted", words[i]);
	}
}

static void each_is_met_once(void)
{
	struct tally *t = tally_new();
	EXPECT(meet(t, 1, MET_NEW, SEVERITY_TRIVIAL), "the first time");
	EXPECT(!meet(t, 1, MET_OPEN, SEVERITY_HIGH), "new ones stay new");
	EXPECT(meet(t, 2, MET_FIXED, SEVERITY_HIGH), "the first time");
	EXPECT(!meet(t, 2, MET_FIXED, SEVERITY_HIGH), "not again");
	EXPECT(meet(t, 2, MET_REGRESSED, SEVERITY_HIGH), "it is back");
	EXPECT(!meet(t, 2, MET_REGRESSED, SEVERITY_HIGH), "once");
	for (int i = 3; i < 200; i++)
		meet(t, i, MET_KNOWN, SEVERITY_NORMAL);
	struct strbuf sb;
	sb_init(&sb);
	tally_print(&sb, t);
	EXPECT_STR(sb.s, "1 new finding, 1 regressed, 0 seen again and open, 197 known");
	EXPECT_INT(tally_trivial(t, MET_NEW), 0); /* its severity is the highest met */
	sb_free(&sb);
	tally_free(t);
}

static void states(void)
{
	static const enum met want[NFINDING_STATES] = {[STATE_CANDIDATE] = MET_OPEN,
		[STATE_CONFIRMED] = MET_OPEN,
		[STATE_MINIMISED] = MET_OPEN,
		[STATE_BLAMED] = MET_OPEN,
		[STATE_KNOWN] = MET_KNOWN,
		[STATE_FIXED_IN] = MET_FIXED,
		[STATE_REGRESSED] = MET_OPEN,
		[STATE_DISMISSED] = MET_DISMISSED,
		[STATE_DUPLICATE] = MET_DUPLICATE};
	for (int s = 0; s < NFINDING_STATES; s++)
		EXPECT_INT(met_of_state((enum finding_state)s), want[s]);
}

int main(void)
{
	RUN(which_fail);
	RUN(bad_words);
	RUN(each_is_met_once);
	RUN(states);
	return TEST_END();
}
