/* program_json.h: one call of a program as JSON, for the Python worker. Both ends of it are in this folder: program_json.c writes it,
 * worker.py reads it.
 *
 *     {"inputs": [{"name": "x", "requires_grad": false, "storage": 0, META}],
 *      "nodes": [{"name": "add", "op": "aten.add.Tensor", "cotangent": false, "args": {"self": {"node": "x"}, "alpha": 1},
 *                 "metas": [{META}]}],
 *      "outputs": ["add"], "backward": [["add", "g"]], "gradients": [], "stage": "module", "options": [], "raises": null}
 *
 * META is "dtype": "float32", "size": [2, 3], "stride": [3, 1], "offset": 0. Arguments have the schema's names; all are there, those that
 * the text leaves out with their defaults. A float is {"bits": its 64 bits as an integer}, because JSON has no infinities; a symbol is its
 * number in this call; a dtype is PyTorch's name for it. Rows that eager refuses have no metas. "gradients" is of programs in a dialect
 * without backward: [input, node that is its gradient or null] of each input that requires grad. */
#ifndef SCATTERPROOF_PROGRAM_JSON_H
#define SCATTERPROOF_PROGRAM_JSON_H

#include "compiled/targets/dialect.h"
#include "compiled/targets/target.h"

/* bound: by prog_bind. said: the same call in the dialect that the stage takes, which is what is written; NULL: it is the program. */
void program_json(struct strbuf *sb, const struct prog *bound, const struct said_call *said, const struct target *t);

#endif
