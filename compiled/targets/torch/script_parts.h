/* script_parts.h: what the family `torch` gives to stand-alone scripts. */
#ifndef SCATTERPROOF_SCRIPT_PARTS_H
#define SCATTERPROOF_SCRIPT_PARTS_H

#include "compiled/targets/driver.h"

extern const struct target_script torch_script;

#endif
