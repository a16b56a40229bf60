/* rules.c: eager's columns of the op table, gathered from ops.def. A row whose function is missing does not link. */
#include "eager/ops/row_rules.h"
#include "generated/op_id.h"

bool kern_none(struct kern_ctx *c) { BUG("%s has no kernel", op_info[c->n->op].name); }
void grad_none(struct grad_ctx *c) { BUG("%s has no derivative", op_info[c->n->op].name); }

meta_fn *const op_meta[NOPS] = {
#define OP(id, name, schema, fam, dts, traits, saves, lic, m, k, g, r) [OP_##id] = meta_##m,
#include "eager/lang/ops.def"
};
kern_fn *const op_kern[NOPS] = {
#define OP(id, name, schema, fam, dts, traits, saves, lic, m, k, g, r) [OP_##id] = kern_##k,
#include "eager/lang/ops.def"
};
grad_fn *const op_grad[NOPS] = {
#define OP(id, name, schema, fam, dts, traits, saves, lic, m, k, g, r) [OP_##id] = grad_##g,
#include "eager/lang/ops.def"
};
vjp_fn *const op_vjp[NOPS] = {
#define OP(id, name, schema, fam, dts, traits, saves, lic, m, k, g, r) [OP_##id] = vjp_##g,
#include "eager/lang/ops.def"
};
