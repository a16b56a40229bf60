/* program_json.h: one call of a program as JSON, for the Python worker. Both ends of it are in this folder: program_json.c writes it,
 * worker.py reads it.
 *
 *     {"inputs": [{"name": "x", "requires_grad": false, "storage": 0, META}],
 *      "nodes": [{"name": "add", "op": "aten.add.Tensor", "cotangent": false, "args": {"self": {"node": "x"}, "alpha": 1},
 *                 "metas": [{META}]}],
 *      "outputs": ["add"], "backward": [["add", "g"]], "raises": null}
 *
 * META is "dtype": "float32", "size": [2, 3], "stride": [3, 1], "offset": 0. Arguments have the schema's names; all are there, those that
 * the text leaves out with their defaults. A float is {"bits": its 64 bits as an integer}, because JSON has no infinities; a symbol is its
 * number in this call; a dtype is PyTorch's name for it. Rows that eager refuses have no metas. */
#ifndef SCATTERPROOF_PROGRAM_JSON_H
#define SCATTERPROOF_PROGRAM_JSON_H

#include "eager/lang/prog.h"

void program_json(struct strbuf *sb, const struct prog *bound); /* bound: by prog_bind */

#endif
