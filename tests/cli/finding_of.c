/* finding_of.c: a finding about programs of our choice, where a campaign would have to meet them first:
 * finding_of DB TARGET KIND VERDICT FILE TENSOR CALL [FILE TENSOR CALL]... stores it with an observation of each program, the first a
 * millisecond before the next, and prints its id and then those of the programs. Before all that, `--as SIGNATURE STORED_TARGET` may say
 * what the store is to be told, word for word: what an attacker writes there; or `--minimised`: the last program is the minimised one, as
 * an older scatterproof left it. */
#include <stdlib.h>

#include "fuzz/campaign/environment.h"
#include "fuzz/triage/verdict.h"

struct finding {
	struct store *s;
	enum finding_kind kind;
	const char *family, *verdict, *signature;
	bool minimised;
	struct store_observation o;
};

static const char *text_of(struct prog *p, const char *path, struct arena *a)
{
	struct err err = {0};
	struct strbuf sb;
	sb_init(&sb);
	if (!sb_read_file(&sb, path, 1 << 20, &err) || !prog_read(p, a, sb.s, sb.len, READ_STRICT, &err)) {
		fprintf(stderr, "%s:%d:%d: %s\n", path, err.line, err.col, err.msg);
		exit(2);
	}
	sb_free(&sb);
	return prog_text(p, a);
}

static void observe(struct finding *f, const char *path, const char *tensor, int call, bool last, struct arena *a)
{
	struct prog p;
	struct hash128 program;
	const char *ops[MAX_NODES], *text = text_of(&p, path, a);
	int nops = prog_ops(ops, MAX_NODES, &p);
	f->o.at++;
	f->o.tensor = tensor;
	f->o.call = call;
	if (f->o.at == 1) {
		struct store_finding sf = {
			.family = f->family, .kind = f->kind, .severity = SEVERITY_HIGH, .signature = f->signature, .at = 1, .tool = "finding_of"};
		CHECK(store_program(f->s, &sf.program, text, ops, nops) == STORE_OK && store_finding(f->s, &f->o.finding, &sf) == STORE_OK);
	}
	CHECK(store_observation(f->s, &f->o, text, ops, nops) == STORE_OK);
	CHECK(store_program(f->s, &program, text, ops, nops) == STORE_OK);
	const struct store_event event = {
		.finding = f->o.finding, .at = f->o.at, .kind = EVENT_MINIMISED, .tool = "finding_of", .payload = "chosen", .program = &program};
	if (f->minimised && last)
		CHECK(store_event(f->s, &event) == STORE_OK);
	char hex[33];
	hash_hex(hex, f->o.at == 1 ? &f->o.finding : &program);
	printf("%.*s\n", STORE_ID_DIGITS, hex);
}

int main(int argc, char **argv)
{
	struct err err = {0};
	struct arena a;
	struct target t;
	struct store_env_text where;
	struct store_run run = {.seed = 1, .shard = "0/1", .policy = "chosen", .versions = "", .started = 1};
	const char *signature = "chosen", *stored_target = NULL;
	if (argc > 4 && str_eq(argv[1], "--as")) {
		signature = argv[2];
		stored_target = argv[3];
		argv += 3;
		argc -= 3;
	}
	const bool minimised = argc > 4 && str_eq(argv[1], "--minimised");
	argv += minimised;
	argc -= minimised;
	struct finding f = {.signature = signature, .minimised = minimised, .o = {.detail = "chosen", .fill = -1}};
	enum store_status st;
	arena_init(&a);
	CHECK(argc >= 8 && (argc - 5) % 3 == 0 && finding_kind_find(&f.kind, argv[3]) && target_parse(&t, argv[2], &err));
	f.family = target_family(&t);
	f.s = store_open(&st, argv[1], STORE_CREATE, &err);
	CHECK(f.s);
	f.o.verdict = argv[4];
	environment_of(&where, &t, arena_printf(&a, "torch %s+cpu, python 3.11.2", t.version[0] ? t.version : "2.11.0"), "x86_64", &a);
	where.target = stored_target ? stored_target : where.target;
	CHECK(store_run_begin(f.s, &f.o.run, &run) == STORE_OK && store_environment(f.s, &f.o.environment, &where) == STORE_OK);
	for (int i = 5; i < argc; i += 3)
		observe(&f, argv[i], argv[i + 1], atoi(argv[i + 2]), i + 3 == argc, &a);
	store_close(f.s, NULL);
	arena_free(&a);
	return 0;
}
