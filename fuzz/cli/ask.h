/* ask.h: one question to a findings store. */
#ifndef SCATTERPROOF_ASK_H
#define SCATTERPROOF_ASK_H

#include "reports/store/store.h"

/* The rows of a SELECT, each to row. An exit code; what is wrong was said. */
int ask_store(const char *db, const char *sql, store_row_fn *row, void *ctx);

#endif
