/* explained.c: a short list of names; a campaign meets a dozen. */
#include "fuzz/campaign/explained.h"

bool explained_has(const struct explained *e, const char *op)
{
	for (int i = 0; i < e->n; i++)
		if (str_eq(e->op[i], op))
			return true;
	return false;
}

void explained_add(struct explained *e, const char *op)
{
	if (op[0] && strlen(op) < MAX_EXPLAINED_NAME && e->n < MAX_EXPLAINED && !explained_has(e, op))
		snprintf(e->op[e->n++], MAX_EXPLAINED_NAME, "%s", op);
}

void explained_add_all(struct explained *e, const struct explained *more)
{
	for (int i = 0; i < more->n; i++)
		explained_add(e, more->op[i]);
}

void explained_put(struct strbuf *sb, const struct explained *e)
{
	wire_put_u32(sb, (uint32_t)e->n);
	for (int i = 0; i < e->n; i++)
		wire_put_str(sb, e->op[i]);
}

void explained_get(struct explained *e, struct wire *w, struct arena *a)
{
	e->n = 0;
	for (uint32_t n = wire_u32(w); n > 0 && !w->bad; n--)
		explained_add(e, wire_str(w, a));
}
