/* fx.h: the graphs in what PyTorch prints: the output of TORCH_LOGS=aot_graphs (post_grad_graphs, aot_joint_graph) as it comes from a
 * terminal or a log file, or a printed GraphModule. Several graphs may stand in one text, between lines that are none of their business.
 *
 *   V1121 21:23:40.679000 13182 torch/_inductor/compile_fx.py:1346] [0/0] [__post_grad_graphs]     def forward(self, x: "f32[4][1]cpu"):
 *   \_________________________________ prefix ___________________________________________/     \________ the graph ________ …
 *
 * A graph is read alone, by prog_read in lenient mode, from a text in which everything else is blank: lines and columns are those of
 * the original, counted from the graph's first line. */
#ifndef SCATTERPROOF_FX_H
#define SCATTERPROOF_FX_H

#include "eager/lang/prog.h"

struct fx_graph {
	int line;         /* of `def`, from 1 */
	const char *text; /* from the beginning of that line to the end of `return`, NUL-terminated; in the arena */
	size_t len;
};
/* The graphs of a text, in its order; returns how many, 0 if nothing in it looks like one. */
int fx_graphs(struct fx_graph **out, struct arena *a, const char *text, size_t len);

/* Every operator of the text (what stands after `torch.ops.`) that the op table does not have, each once: "aten.erf.default (4 times,
 * first in line 23), prims.iota.default (line 40)". Appends nothing and returns 0 if there is none; else the line of the first. */
int fx_unknown(struct strbuf *sb, const char *text, size_t len);

/* Inputs that a graph reads as positions (of index_select, embedding, …) get data that are positions: fill index or unique, as high as
 * the tensor read is long. */
void fx_positions(struct prog *p);

#endif
