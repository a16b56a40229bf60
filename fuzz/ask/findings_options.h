/* findings_options.h: the command line of the `findings` verb, read and checked before a store is opened. */
#ifndef SCATTERPROOF_FINDINGS_OPTIONS_H
#define SCATTERPROOF_FINDINGS_OPTIONS_H

#include "fuzz/ask/help.h"
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
	int nids;                       /* mark: of which … */
	const char *const *ids;         /* … each is an id's prefix or a cause's number */
	const char *artifact, *program; /* show: only this one; NULL */
	struct decision decision;       /* mark, but for the findings' ids */
	const char *of;                 /* mark: the original's id, or NULL */
	const char *db;
	const char *out; /* export: a file, NULL: standard output */
	bool all;        /* causes: also those without an open finding */
	bool known;      /* export: what somebody has decided about */
	double limit_s;  /* sql */
	bool json, help;
	bool filtered, since_last_run, new_since_last_run; /* list */
	struct store_filter filter;
};
extern const char *const findings_order_name[NORDERS];
enum { NSTATE_GROUPS = 2, MAX_MARKED = 256 };
extern const char *const findings_state_group[NSTATE_GROUPS]; /* words of --state that mean several */
extern const struct option_table findings_table;
extern const char *const findings_verb_name[NFINDINGS_VERBS]; /* nobody types the first */
extern const char findings_synopsis[];
enum { NFINDINGS_PARAGRAPHS = 3 };
extern const char *const findings_paragraph[NFINDINGS_PARAGRAPHS];
void findings_usage(struct strbuf *sb, int width);
/* Texts are argv's or the arena's. now: unix milliseconds, for --since. */
bool findings_options_parse(struct findings_options *o, int argc, char **argv, int64_t now, struct arena *a, struct err *err);

#endif
