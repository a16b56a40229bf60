/* commands.h: the verbs, one function each; each returns the exit code. */
#ifndef SCATTERPROOF_COMMANDS_H
#define SCATTERPROOF_COMMANDS_H

#include "fuzz/ask/options.h"
#include "fuzz/campaign/campaign.h"

int cmd_check(const struct options *o);    /* cmd_check.c */
int cmd_repro(const struct options *o);    /* cmd_repro.c */
int cmd_confirm(const struct options *o);  /* cmd_steps.c */
int cmd_minimize(const struct options *o); /* cmd_steps.c */
int cmd_blame(const struct options *o);    /* cmd_steps.c */
int cmd_triage(const struct options *o);   /* cmd_triage.c */
int cmd_sweep(const struct options *o);    /* cmd_sweep.c */
int cmd_report(const struct options *o);   /* cmd_report.c */
int cmd_merge(const struct options *o);    /* cmd_merge.c */
int cmd_targets(const struct options *o);  /* cmd_targets.c */
int cmd_ops(const struct options *o);      /* cmd_info.c */
int cmd_gen(const struct options *o);
int cmd_compile(const struct options *o);  /* cmd_compile.c */
int cmd_selftest(const struct options *o); /* cmd_selftest.c */
int cmd_eval(const struct options *o);     /* cmd_eval.c */
int cmd_bench(const struct options *o);    /* bench.c */

#endif
