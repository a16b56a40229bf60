/* campaign.h: the verb fuzz: shards that generate and judge, and the parent that schedules them and alone writes the store. */
#ifndef SCATTERPROOF_CAMPAIGN_H
#define SCATTERPROOF_CAMPAIGN_H

#include "fuzz/ask/options.h"

int cmd_fuzz(const struct options *o); /* an exit code */

#endif
