/* found.c: which observation of a finding is meant: the one that was asked for, or the minimised program's, or the first program's. */
#include "fuzz/campaign/found.h"

#include "compiled/targets/driver.h"
#include "eager/base/output.h"
#include "fuzz/campaign/environment.h"
#include "reports/cause/store_cause.h"

static bool is_program(const struct store_loaded_obs *o, const char *prefix)
{
	char hex[33];
	hash_hex(hex, &o->program);
	return str_starts(hex, prefix);
}

/* The earliest of the program that was asked for; of the minimised one, or else of the finding's first. NULL: err says why. */
static const struct store_loaded_obs *choose_observation(const struct store_loaded *f, const char *asked, struct err *err)
{
	char first[33];
	hash_hex(first, &f->program_id);
	const struct store_loaded_obs *found = NULL;
	for (int i = 0; i < f->nobs_stored; i++) {
		const struct store_loaded_obs *o = &f->obs[i];
		if (asked && is_program(o, asked)) {
			if (found && memcmp(&found->program, &o->program, sizeof o->program) != 0) {
				err_set(err, "several programs of finding %.*s begin with %s", STORE_ID_DIGITS, f->hex, asked);
				return NULL;
			}
			found = found ? found : o;
		}
		if (!asked && !found && is_program(o, first))
			found = o;
	}
	for (int i = f->nobs_stored - 1; !asked && f->minimised && i >= 0; i--)
		if (str_eq(f->obs[i].program_text, f->minimised))
			found = &f->obs[i];
	if (!found)
		err_set(err,
			asked ? "finding %.*s has no observation of a program %s (`findings show` lists them)"
				  : "finding %.*s has no observation of its first program",
			STORE_ID_DIGITS, f->hex, asked);
	return found;
}

static int load_finding(struct store_loaded *f, const struct options *o, struct arena *a)
{
	enum store_status st;
	struct err err = {0};
	struct hash128 id;
	struct strbuf complaint;
	struct store *s = store_open(&st, o->db, STORE_READ, &err);
	if (!s) {
		complain("%s", err.msg);
		return store_exit_code(st);
	}
	sb_init(&complaint);
	st = store_find_word(s, &id, o->file[0], a, &complaint);
	if (st == STORE_OK)
		st = store_load_finding(s, f, &id, a);
	if (st != STORE_OK)
		complain("%s", complaint.len ? complaint.s : store_message(s));
	sb_free(&complaint);
	store_close(s, NULL);
	return store_exit_code(st);
}

/* --target, or where it was observed; with --python of whatever version that is. */
static bool choose_target(struct target *t, const struct options *o, const struct found *x, struct err *err)
{
	struct err why = {0};
	if (o->ntarget) {
		*t = o->target[0];
		return true;
	}
	const char *target = x->f.env[x->obs->env].target;
	if (str_eq(x->f.family, TOOL_TARGET))
		return err_set(err, "this is a fault of scatterproof itself; give a --target on which its program is to be run");
	if (!target_parse(t, target, &why))
		return err_set(err, "the stored target is not usable: %s", why.msg);
	if (o->python)
		t->version[0] = 0;
	return true;
}

bool found_choose(struct found *x, const char *program, const char *db, struct arena *a, struct err *err)
{
	struct err bad = {0};
	x->obs = choose_observation(&x->f, program, err);
	if (!x->obs)
		return false;
	if (x->obs->env < 0) /* its row or its count is gone: nothing that scatterproof writes */
		return err_set(err,
			"%s is damaged: the observation of finding %.*s names no environment that the store has, so nobody knows where the "
			"finding was seen",
			db, STORE_ID_DIGITS, x->f.hex);
	hash_hex(x->program_id, &x->obs->program);
	if (!prog_read(&x->p, a, x->obs->program_text, strlen(x->obs->program_text), READ_STRICT, &bad))
		return err_set(err, "the stored program does not read: %d:%d: %s", bad.line, bad.col, bad.msg);
	claim_of(&x->claim, x->f.kind, x->obs->verdict, x->obs->tensor, x->obs->call, &x->p);
	return true;
}

int found_load(struct found *x, const struct options *o, struct arena *a)
{
	struct err err = {0};
	int rc = load_finding(&x->f, o, a);
	if (rc != EXIT_CLEAN)
		return rc;
	if (found_choose(x, o->program_id, o->db, a, &err) && choose_target(&x->t, o, x, &err))
		return EXIT_CLEAN;
	complain("%s", err.msg);
	return EXIT_USAGE;
}
