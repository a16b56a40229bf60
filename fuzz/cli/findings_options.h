/* findings_options.h: the command line of the `findings` verb, read and checked before a store is opened. */
#ifndef SCATTERPROOF_FINDINGS_OPTIONS_H
#define SCATTERPROOF_FINDINGS_OPTIONS_H

#include "reports/life/lifecycle.h"

enum findings_verb {
	FINDINGS_LIST,
	FINDINGS_SHOW,
	FINDINGS_SQL,
	FINDINGS_MARK,
	FINDINGS_SCHEMA,
	FINDINGS_EXPORT,
	FINDINGS_CAUSES,
	NFINDINGS_VERBS
};

struct findings_options {
	enum findings_verb verb;
	const char *argument;           /* id, SQL, or a table's name; NULL: not given */
	const char *artifact, *program; /* show: only this one; NULL */
	struct decision decision;       /* mark, but for the findings' ids */
	const char *of;                 /* mark: the original's id, or NULL */
	const char *db;
	const char *out; /* export: a file, NULL: standard output */
	bool known;      /* export: what somebody has decided about */
	double limit_s;  /* sql */
	bool json, help;
	bool filtered, since_last_run; /* list */
	struct store_filter filter;
};
void findings_usage(struct strbuf *sb);
/* Texts are argv's or the arena's. now: unix milliseconds, for --since. */
bool findings_options_parse(struct findings_options *o, int argc, char **argv, int64_t now, struct arena *a, struct err *err);

#endif
