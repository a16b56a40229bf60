/* fuzz_store.c: libFuzzer target for the database opener: bytes become a file, the file is opened, and if it is accepted everything
 * that reads it is done to it, then it is merged and written to. Whatever the bytes are, the answer is a status. */
#include <unistd.h>

#include "tests/store/store_util.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const int64_t NOW = (int64_t)T0 * 1000;
enum { MAX_STEPS = 200 }; /* thousands of virtual-machine steps per query: a hostile store may hold endless ones */

struct reading {
	int64_t sum, steps;
};

static bool take_enough(void *ctx)
{
	struct reading *r = ctx;
	return ++r->steps > MAX_STEPS;
}

static bool take_row(void *ctx, int ncols, const char *const *names, const struct store_value *v)
{
	struct reading *r = ctx;
	for (int i = 0; i < ncols; i++)
		r->sum += (int64_t)strlen(names[i]) + (v ? (int64_t)v[i].nbytes : 0);
	return true;
}

static void read_everything(struct store *s)
{
	static const char *const queries[] = {"SELECT * FROM v_findings", "SELECT * FROM v_open", "SELECT * FROM v_new",
		"SELECT * FROM v_by_signature", "SELECT * FROM v_fixed", "SELECT * FROM v_events", "SELECT * FROM v_counters",
		"SELECT * FROM v_runs", "SELECT * FROM v_environments", "SELECT * FROM v_observations", "SELECT * FROM v_programs",
		"SELECT * FROM v_by_version", "SELECT * FROM finding_now", "SELECT * FROM program_op JOIN program ON id = program"};
	const struct store_filter all = {.since = INT64_MIN, .new_since = INT64_MIN, .limit = -1},
							  some = {.states = STATES_OPEN,
								  .op = {"sum"},
								  .nops = 1,
								  .target = {"torch"},
								  .ntargets = 1,
								  .version = {"2.11.0"},
								  .nversions = 1,
								  .limit = 3};
	struct reading r = {0};
	struct arena a;
	arena_init(&a);
	store_list(s, &all, take_row, &r);
	store_list(s, &some, take_row, &r);
	for (int i = 0; i < ARRAY_LEN(queries); i++) {
		r.steps = 0;
		store_query_sql(s, queries[i], take_enough, take_row, &r);
	}
	for (unsigned n = 0; n < 4; n++) {
		struct hash128 id = {{0}};
		struct store_loaded f;
		enum finding_state state;
		bool found;
		char signature[64];
		snprintf(signature, sizeof signature, "slice_scatter>sum grad zero #%u", n);
		if (store_open_by_signature(s, &found, &id, &state, signature, n % 3 ? "torch" : "jax") == STORE_OK && found) {
			char hex[33];
			store_load_finding(s, &f, &id, &a);
			hash_hex(hex, &id);
			hex[STORE_MIN_PREFIX] = '\0';
			store_find_by_prefix(s, &id, hex);
		}
	}
	arena_free(&a);
}

/* As a campaign would. No CHECK on statuses: a damaged store may refuse at any point. */
static void write_a_little(struct store *s)
{
	struct hash128 run, env, program, f;
	const char *const ops[] = {"sum"};
	const struct store_run r = {.seed = 1, .shard = "", .policy = "", .versions = "", .started = 1};
	store_begin(s);
	store_run_begin(s, &run, &r);
	store_environment(s, &env, &(struct store_env_text){"t", "", "t", "", "", ""});
	store_program(s, &program, "text", ops, 1);
	const struct store_finding finding = {
		.program = program, .family = "t", .kind = FINDING_VALUE, .signature = "x", .at = NOW, .tool = "t"};
	store_finding(s, &f, &finding);
	put_obs(s, &f, &env, &run, NOW, "mismatch");
	store_commit(s);
	store_counter_add(s, &run, "", &env, "pass", 1);
	store_close(s, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char path[600], other[600];
	if (!path[0]) {
		snprintf(path, sizeof path, "%s", tmp_path("fuzz.db"));
		snprintf(other, sizeof other, "%s", tmp_path("other.db"));
	}
	enum store_status status;
	struct err err = {0};
	write_file(path, data, size);
	struct hash128 before = file_hash(path);
	struct store *s = store_open(&status, path, STORE_READ, &err);
	CHECK((s != NULL) == (status == STORE_OK) && (s != NULL) == (err.msg[0] == '\0'));
	if (s)
		read_everything(s);
	store_abandon(s);
	struct hash128 after = file_hash(path);
	CHECK(same_hash(&before, &after)); /* neither refusing nor reading changes a byte */
	if (status == STORE_OK) {
		unlink(other);
		s = open_ok(other, STORE_CREATE);
		store_merge(s, path);
		store_abandon(s);
		s = store_open(&status, path, STORE_WRITE, NULL);
		if (s)
			write_a_little(s);
	}
	return 0;
}
