/* findings_cmd.h: the `findings` verb: a list with filters, show, sql, schema, mark (usage: findings_options.c). Output on stdout,
 * complaints (one sentence) on stderr.
 * Returns the exit code: 0; 2 usage or bad input (foreign, newer, damaged file, unknown id, SQL error, a query beyond its limit);
 * 3 when the world fails (unreadable, locked, cannot write to stdout); 128+n: a query ended by signal n. */
#ifndef SCATTERPROOF_FINDINGS_CMD_H
#define SCATTERPROOF_FINDINGS_CMD_H

struct screen;
int cmd_findings(int argc, char **argv, const struct screen *screen); /* argv[0] is "findings" */

#endif
