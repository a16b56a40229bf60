/* campaign.h: the parent of a campaign: starts shards, shows progress, alone writes the database. */
#ifndef SCATTERPROOF_CAMPAIGN_H
#define SCATTERPROOF_CAMPAIGN_H

#include "fuzz/options.h"

int cmd_fuzz(const struct options *o);

#endif
