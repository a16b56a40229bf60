/* step_confirm.c: is it there? What is not seen again, is seen only now and then, or is our own fault, is said to be so. */
#include "eager/base/output.h"
#include "fuzz/cli/triage_steps.h"
#include "fuzz/triage/confirm.h"

int step_confirm(struct triage_case *c, const char **how)
{
	struct confirmation k;
	confirm(&k, c->runner, &c->x.p, &c->x.t, c->a);
	*how = arena_printf(c->a, "%s: %s%s%s", confirm_class_name[k.class], k.how, k.excuse[0] ? "; " : "", k.excuse);
	case_begin(c);
	if (k.class == CONFIRM_SEEN) {
		case_event(c, EVENT_CONFIRMED, k.how, NULL);
		if (k.excuse[0])
			case_event(c, EVENT_EXCUSE, k.excuse, NULL);
	} else {
		case_event(c, EVENT_UNCONFIRMED, *how, NULL);
	}
	if (!case_end(c))
		return EXIT_TARGET;
	return k.class == CONFIRM_SEEN ? EXIT_CLEAN : k.class == CONFIRM_HARNESS ? EXIT_TARGET : EXIT_VOID;
}
