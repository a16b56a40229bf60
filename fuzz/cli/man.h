/* man.h: `scatterproof man [VERB]`, which nobody types: a manual page in roff, of the tool or of a verb, from the same tables as --help
 * (help.h). One source, so a page says what this binary does: no page that somebody forgot to change, no tool (scdoc, help2man) that a
 * build needs, and nothing is parsed out of a text that was laid out for a screen. `cmake --install` asks the binary for its pages. */
#ifndef SCATTERPROOF_MAN_H
#define SCATTERPROOF_MAN_H

#include "eager/base/base.h"

/* verb NULL: the tool's own page. False: there is no such verb. */
bool man_page(struct strbuf *sb, const char *verb);

#endif
