/* interrupt.h: Ctrl-C and its relatives, by one rule for all verbs that take long.
 *
 * The first SIGINT, SIGTERM or SIGHUP asks: work ends in good order, with exit code 128+n. One that comes more than a second later insists:
 * work ends at once. Two within a second are one wish: timeout(1) signals a process and then its group, a shell may do so, too.
 * They interrupt a write whose reader does not read (no SA_RESTART). A SIGHUP that nohup(1) has us ignore stays ignored. */
#ifndef SCATTERPROOF_INTERRUPT_H
#define SCATTERPROOF_INTERRUPT_H

#include <stdbool.h>

typedef void interrupt_fn(int signal);
/* From now on signals ask and insist; forgets what was asked before. insisted: called in the handler; NULL: whoever works polls. */
void interrupt_catch(interrupt_fn *insisted);
/* As if this signal had come first; not if one did. For SIGPIPE, which nobody catches: the reader of our output has gone. */
void interrupt_ask(int signal);
int interrupt_asked(void); /* the signal that asked; 0: none */
bool interrupt_insisted(void);
double interrupt_since_ms(void); /* milliseconds since it was asked; 0: it was not */

#endif
