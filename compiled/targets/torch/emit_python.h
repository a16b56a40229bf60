/* emit_python.h: a program as Python, in its surface (spell.h; torch.ops.aten where that has no spelling), and the request that runs
 * it. The text is what a reproducer contains, byte for byte (see torch.h for its shape); it depends on the program and on the device only.
 * A function takes the tensors that its nodes need, and the symbols that they read. */
#ifndef SCATTERPROOF_EMIT_PYTHON_H
#define SCATTERPROOF_EMIT_PYTHON_H

#include "compiled/targets/torch/torch.h"
#include "eager/lang/prog.h"

/* Appends `def f(…)` and, with a backward, `def cotangents(…)`. Names that mean something to Python get a trailing '_'. */
void emit_python(struct strbuf *sb, const struct prog *p, enum target_device device);

/* Builds the request that runs p (all its calls) on t. Memory, data of the inputs included, is in a; p must outlive it.
 * False: a call cannot be bound (err). */
bool emit_request(struct torch_request *out, const struct prog *p, const struct target *t, struct arena *a, struct err *err);

/* Pieces of it: a node's name, an integer with its symbols, an argument. */
void emit_name(struct strbuf *sb, const struct prog *p, int node);
void emit_int(struct strbuf *sb, const struct prog *p, const struct iexpr *i);
void emit_arg(struct strbuf *sb, const struct prog *p, const struct arg *a);

#endif
