/* findings_schema.h: `findings schema`: what there is to ask the store for. */
#ifndef SCATTERPROOF_FINDINGS_SCHEMA_H
#define SCATTERPROOF_FINDINGS_SCHEMA_H

#include "reports/render/findings_print.h"

/* All tables and views with their columns (schema.txt), or the one of that name; JSON: one object per column. False: no such. */
bool findings_schema(const char *name, struct printer *p, struct strbuf *complaint);

#endif
