/* traced.h: `check FILE.py:NAME`: a function of the user's, as the compiler's family (driver.h: trace) runs and traces it. Each of its
 * graphs becomes programs, with the function's own data and with adversarial data, that are handed over like those of a file; the function
 * as a whole runs compiled on every target that compiles, and is compared with eager. */
#ifndef SCATTERPROOF_TRACED_H
#define SCATTERPROOF_TRACED_H

#include "fuzz/ask/options.h"
#include "fuzz/campaign/load.h"

struct traced_counts {
	int64_t functions, failed; /* failed: the script, or tracing it */
	int64_t graphs, in_parts, unjudged;
	int64_t compared, uncompared, differ; /* whole functions, on targets */
};
struct traced_check {
	const struct options *o;
	loaded_fn *judge;
	struct load_telling tell; /* of every graph, too, before its programs are handed over */
	void *ctx;
	struct traced_counts n;
};

bool traced_named(const char *word); /* is it FILE.py:NAME? */
/* An exit code, as exit_of_both makes it of all programs and of the whole. */
int traced_function(struct traced_check *c, const char *word);
/* "2 graphs of 1 function (1 in parts); compiled as a whole on 1 target: 1 as eager" */
void traced_summary(struct strbuf *sb, const struct traced_counts *n);
struct json;
void traced_json(struct json *j, const struct traced_counts *n); /* the same as keys of an object */

#endif
