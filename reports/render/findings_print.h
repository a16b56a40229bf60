/* findings_print.h: rows as lines of text or JSON, and the one place where the `findings` verb writes to standard output. */
#ifndef SCATTERPROOF_FINDINGS_PRINT_H
#define SCATTERPROOF_FINDINGS_PRINT_H

#include "eager/base/screen.h"
#include "reports/store/store.h"

struct printer {
	bool json;
	struct look look;      /* the caller's; nothing where nobody sets it */
	int64_t nrows;         /* of the list */
	struct strbuf pending; /* what is to be written next */
	bool failed;           /* standard output took no more */
};
void printer_init(struct printer *p, bool json);
void printer_free(struct printer *p);
/* Writes what is pending, through to the system. False: it cannot be written, now or ever. */
bool printer_write(struct printer *p);

/* One value as it stands in a line: NULL, numbers, text on one line (harmless for a terminal), blobs as hex digits. A long one is
 * written piece by piece. */
void print_cell(struct printer *p, const struct store_value *v);
void print_json_row(struct printer *p, int ncols, const char *const *names, const struct store_value *v);

#endif
