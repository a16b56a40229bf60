/* finding_of.c: a finding about a program of our choice, where a campaign would have to meet it first:
 * finding_of DB FILE TARGET KIND TENSOR CALL [SIGNATURE STORED_TARGET] stores it, with one observation, and prints its id. */
#include <stdlib.h>

#include "compiled/targets/target.h"
#include "fuzz/verdict.h"

int main(int argc, char **argv)
{
	struct err err = {0};
	struct strbuf sb;
	struct arena a;
	struct prog p;
	struct target t;
	enum finding_kind kind;
	enum store_status st;
	sb_init(&sb);
	arena_init(&a);
	CHECK((argc == 7 || argc == 9) && finding_kind_find(&kind, argv[4]));
	if (!sb_read_file(&sb, argv[2], 1 << 20, &err) || !prog_read(&p, &a, sb.s, sb.len, READ_STRICT, &err) || !target_parse(&t, argv[3], &err)) {
		fprintf(stderr, "%s:%d:%d: %s\n", argv[2], err.line, err.col, err.msg);
		return 2;
	}
	struct store *s = store_open(&st, argv[1], STORE_CREATE, &err);
	CHECK(s);
	const char *ops[MAX_NODES];
	struct store_run run = {.seed = 1, .shard = "0/1", .policy = "chosen", .versions = "", .started = 1};
	struct store_finding f = {.family = "torch", .kind = kind, .severity = SEVERITY_HIGH, .signature = argc == 9 ? argv[7] : "chosen", .at = 1,
		.tool = "finding_of"};
	struct store_observation o = {.at = 1, .verdict = "mismatch", .tensor = argv[5], .call = atoi(argv[6]), .detail = "chosen"};
	st = store_run_begin(s, &o.run, &run);
	st = st ? st : store_environment(s, &o.environment, argc == 9 ? argv[8] : argv[3], "", "");
	st = st ? st : store_program(s, &f.program, prog_text(&p, &a), ops, prog_ops(ops, MAX_NODES, &p));
	st = st ? st : store_finding(s, &o.finding, &f);
	st = st ? st : store_observation(s, &o);
	if (st)
		fprintf(stderr, "%s\n", store_message(s));
	char hex[33];
	hash_hex(hex, &o.finding);
	printf("%.*s\n", STORE_ID_DIGITS, hex);
	store_close(s, NULL);
	arena_free(&a);
	sb_free(&sb);
	return st ? 1 : 0;
}
