/* finding_script.c: the judged script needs the reference, which is computed here, and no target. */
#include "fuzz/cli/finding_script.h"

#include "compiled/targets/driver.h"
#include "eager/base/escape.h"
#include "fuzz/triage/script.h"

const char *found_program_text(const struct found *x, struct arena *a)
{
	int n = 0;
	for (int i = 0; i < x->f.nobs_stored; i++) {
		int k = 0;
		while (memcmp(&x->f.obs[k].program, &x->f.obs[i].program, sizeof x->f.program_id) != 0)
			k++;
		n += k == i;
	}
	bool first = memcmp(&x->obs->program, &x->f.program_id, sizeof x->f.program_id) == 0;
	return arena_printf(a, "program %.*s, %s of %d", STORE_ID_DIGITS, x->program_id, first ? "the first" : "one", n);
}

const char *finding_headline(const struct found *x, struct arena *a)
{
	return arena_printf(a, "scatterproof finding %.*s (%s), %s, found on %s;\nthis script is for %s", STORE_ID_DIGITS, x->f.hex,
		escaped_line(a, x->f.signature), found_program_text(x, a), escaped_line(a, x->f.env[x->obs->env].target), target_text(&x->t, a));
}

static bool finding_script(struct strbuf *sb, const struct found *x, struct arena *a, struct err *err)
{
	return script_emit(sb, &x->claim, &x->p, &x->t, finding_headline(x, a), a, err);
}

bool finding_script_of(struct strbuf *sb, const struct store_loaded *f, const char *db, struct arena *a, struct err *err)
{
	struct found x = {.f = *f};
	struct err why = {0};
	if (!found_choose(&x, NULL, db, a, err))
		return false;
	const char *target = x.f.env[x.obs->env].target;
	if (!target_parse(&x.t, target, &why))
		return err_set(err, "the stored target is not usable: %s", why.msg);
	if (target_has_versions(&x.t) && !x.t.version[0])
		snprintf(x.t.version, sizeof x.t.version, "%s", x.t.driver->default_version);
	return finding_script(sb, &x, a, err);
}
