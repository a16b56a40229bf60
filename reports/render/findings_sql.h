/* findings_sql.h: `findings sql`: a query within limits of time and memory, which signals end. */
#ifndef SCATTERPROOF_FINDINGS_SQL_H
#define SCATTERPROOF_FINDINGS_SQL_H

#include "reports/render/findings_print.h"

/* Prints the answer. limit_s: seconds that SQLite may compute; time in which output waits for its reader does not count. The query is asked
 * to end then; if it does not (one SQL function can take minutes) the process ends, after whole rows, with the sentence and the code
 * that it would have had. *complaint: why it failed, if that is not store_message's. Returns the exit code's status; *signal: what ended
 * it, or 0. */
enum store_status findings_sql(struct store *s, const char *sql, double limit_s, struct printer *p, struct strbuf *complaint, int *signal);

#endif
