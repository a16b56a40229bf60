"""What autograd saves, row by row of the op table: PyTorch against the eager interpreter.

For each example, each choice of operands that require grad, and each operand or result written after the row ran (or none): does
backward raise, and if not, are outputs and gradients the same to 1e-5? Tests the column `saves` of eager/ops.def, the derivative
rules and autograd.h together. Usage: saves_check.py FILL_PY INTERP_TEST
"""
import importlib.util
import itertools
import os
import subprocess
import sys
import tempfile

import torch

sys.path.insert(0, os.path.dirname(__file__))
import autograd_check  # noqa: E402

# operands: name -> input arguments; floats (one letter a, b, c) may require grad, others not
F = "[2, 3], seed={s}"
POS = '[2, 3], seed={s}, fill="positive"'
IDX = '[2], dtype=i64, seed={s}, fill="unique", high=2'
IDXN = '[2, 3], dtype=i64, seed={s}, fill="unique", high=2'
MASK = '[2, 3], dtype=b8, seed={s}, fill="mask"'
ONE = {"a": F}
TWO = {"a": F, "b": F}
P1 = {"a": POS}
P2 = {"a": POS, "b": POS}
EXAMPLES = [
    *[(op, TWO, "{a}, {b}") for op in ("add.Tensor", "sub.Tensor", "mul.Tensor", "maximum", "minimum")],
    *[(op, {"a": F, "b": "[3], seed={s}"}, "{a}, {b}") for op in ("add.Tensor", "mul.Tensor", "copy_", "add_.Tensor", "sub_.Tensor", "mul_.Tensor")],
    ("div.Tensor", P2, "{a}, {b}"), ("div_.Tensor", P2, "{a}, {b}"),
    *[(op, ONE, call) for op in ("add.Tensor", "sub.Tensor", "mul.Tensor") for call in ("{a}, 2", "1.5, {a}")],
    *[(op, ONE, "{a}, 2") for op in ("add_.Tensor", "sub_.Tensor", "mul_.Tensor", "div_.Tensor", "copy_")],
    ("div.Tensor", P1, "{a}, 2"), ("div.Tensor", P1, "1.5, {a}"), ("rsub.Scalar", ONE, "{a}, 2.0, 3"), ("fill.Scalar", ONE, "{a}, 2.0"),
    *[(op, {"a": F, "b": "[], seed={s}"}, "{a}, {b}") for op in ("fill.Tensor", "fill_.Tensor")], ("lift_fresh_copy", ONE, "{a}"),
    *[(op, ONE, "{a}, 2.0") for op in ("add.Scalar", "sub.Scalar", "mul.Scalar", "div.Scalar", "fill_.Scalar")],
    *[(op, P1, "{a}, " + e) for op, e in (("pow.Tensor_Scalar", "2"), ("pow.Tensor_Scalar", "3.0"), ("pow.Tensor_Scalar", "0"), ("pow.Tensor_Scalar", "1.0"), ("pow.Tensor_Scalar", "0.5"))],
    *[(op, ONE, "{a}") for op in ("neg", "abs", "sign", "exp", "expm1", "sin", "cos", "tanh", "sigmoid", "relu", "floor", "ceil", "trunc", "relu_", "zero_", "clone", "sum", "mean", "prod", "max", "min")],
    *[(op, P1, "{a}") for op in ("log", "log1p", "sqrt", "rsqrt", "reciprocal")],
    ("clamp", ONE, "{a}, -1.0, 1.0"), ("clamp", ONE, "{a}, 0.5"),
    ("_to_copy", ONE, "{a}, dtype=f64"), ("contiguous", ONE, "{a}"), ("reshape", ONE, "{a}, [6]"),
    ("cat", TWO, "[{a}, {b}]"), ("stack", TWO, "[{a}, {b}], dim=1"), ("flip", ONE, "{a}, [1]"), ("roll", ONE, "{a}, [1], [1]"),
    ("repeat", ONE, "{a}, [2, 1]"), ("constant_pad_nd", ONE, "{a}, [1, 1], 2.0"), ("tril", ONE, "{a}"), ("triu", ONE, "{a}, 1"),
    ("slice_scatter", {"a": F, "b": "[2, 1], seed={s}"}, "{a}, {b}, dim=1, start=1, end=2"),
    ("select_scatter", {"a": F, "b": "[2], seed={s}"}, "{a}, {b}, 1, 2"),
    ("diagonal_scatter", {"a": F, "b": "[2], seed={s}"}, "{a}, {b}"),
    *[(op, {"a": F, "i0": IDXN, "b": F}, "{a}, 0, {i0}, {b}") for op in ("scatter.src", "scatter_add", "scatter_.src", "scatter_add_")],
    *[(op, {"a": F, "i0": IDXN}, "{a}, 0, {i0}, 2.0") for op in ("scatter.value", "scatter_.value")],
    *[("scatter_reduce.two", {"a": POS, "i0": IDXN, "b": POS}, f'{{a}}, 0, {{i0}}, {{b}}, "{r}", include_self={s}')
      for r in ("sum", "prod", "mean", "amax", "amin") for s in (True, False)],
    *[(op, {"a": F, "i0": IDX, "b": F}, f"{{a}}, [{{i0}}], {{b}}, {acc}") for op in ("index_put", "index_put_") for acc in (True, False)],
    *[(op, {"a": F, "m0": MASK, "b": "[], seed={s}"}, "{a}, [{m0}], {b}") for op in ("index_put", "index_put_")],
    *[(op, {"a": F, "i0": IDX, "b": F}, "{a}, 0, {i0}, {b}") for op in ("index_add", "index_copy", "index_add_", "index_copy_")],
    *[(op, {"a": F, "i0": IDX}, "{a}, 0, {i0}, 2.0") for op in ("index_fill.int_Scalar", "index_fill_.int_Scalar")],
    *[(op, {"a": F, "m0": MASK}, "{a}, {m0}, 2.0") for op in ("masked_fill.Scalar", "masked_fill_.Scalar")],
    ("masked_scatter", {"a": F, "m0": MASK, "b": F}, "{a}, {m0}, {b}"),
    ("where.self", {"m0": MASK, "a": F, "b": F}, "{m0}, {a}, {b}"),
    ("gather", {"a": F, "i0": IDXN}, "{a}, 0, {i0}"), ("index_select", {"a": F, "i0": IDX}, "{a}, 0, {i0}"),
    ("index.Tensor", {"a": F, "i0": IDX}, "{a}, [{i0}]"), ("index.Tensor", {"a": F, "i0": IDX}, "{a}, [None, {i0}]"),
    ("embedding", {"a": F, "i0": IDX}, "{a}, {i0}"),
    *[(op, ONE, "{a}, [1]") for op in ("sum.dim_IntList", "mean.dim", "amax", "amin", "logsumexp", "var.correction")],
    ("prod.dim_int", ONE, "{a}, 1"), ("cumsum", ONE, "{a}, 1"), ("cumprod", ONE, "{a}, 1"), ("cumprod", P1, "{a}, 0"),
    ("mm", {"a": F, "b": "[3, 2], seed={s}"}, "{a}, {b}"), ("bmm", {"a": "[2, 2, 3], seed={s}", "b": "[2, 3, 2], seed={s}"}, "{a}, {b}"),
    ("addmm", {"a": "[2], seed={s}", "b": F, "c": "[3, 2], seed={s}"}, "{a}, {b}, {c}, beta=2, alpha=3"),
    ("mv", {"a": F, "b": "[3], seed={s}"}, "{a}, {b}"), ("dot", {"a": "[3], seed={s}", "b": "[3], seed={s}"}, "{a}, {b}"),
    *[(op, ONE, "{a}, 1") for op in ("max.dim", "min.dim")], ("var_mean.correction", ONE, "{a}, [1]"), ("topk", ONE, "{a}, 2"),
]
RESULTS = {"max.dim": 2, "min.dim": 2, "var_mean.correction": 2, "topk": 2}


def programs():
    for number, (op, operands, call) in enumerate(EXAMPLES):
        floats = [n for n in operands if len(n) == 1]
        nres = RESULTS.get(op, 1)
        for grads in itertools.product((False, True), repeat=len(floats)):
            if not any(grads):
                continue
            written = [None, *operands, *[f"r{k}" for k in range(nres)]]
            for write in written:
                lines = ["# scatterproof 1"]
                for s, (name, args) in enumerate(operands.items()):
                    grad = name in floats and grads[floats.index(name)]
                    lines.append(f"{name} = input({args.format(s=s + number)}{', requires_grad=True' if grad else ''})")
                    if grad:
                        lines.append(f"{name}_ = clone({name})")
                names = {n: n + "_" if n in floats and grads[floats.index(n)] else n for n in operands}
                lines.append(f"r = {op}({call.format(**names)})")
                lines += [f"r{k} = getitem(r, {k})" for k in range(nres)] if nres > 1 else ["r0 = alias(r)"]
                if write:
                    lines.append(f"w = zero_({names.get(write, write)})")
                yield f"{op} {call} grad {grads} write {write}", op, "\n".join(lines) + "\n", nres


def finish(text: str, nres: int, fill) -> str:
    """Adds return and backward, knowing from PyTorch which results require grad and their sizes."""
    run = autograd_check.Run(text, fill)
    for node in run.nodes:
        run.node(*node)
    outs = [f"r{k}" for k in range(nres)]
    lines, back = [], []
    for o in outs:
        t = run.env[o]
        if t.requires_grad:
            lines.append(f"g{o} = input({list(t.shape)}, dtype={autograd_check.SHORT[t.dtype]}, seed=99)")
            back.append(f"{o}: g{o}")
    return text + "\n".join([*lines, f"return ({', '.join(outs)},)"] + ([f"backward ({', '.join(back)},)"] if back else [])) + "\n"


def same(a: str, b: str) -> bool:
    la, lb = a.splitlines(), b.splitlines()
    if "expect: raised" in la[0]:
        return lb[0].startswith(la[0])
    if len(la) != len(lb):
        return False
    for x, y in zip(la, lb):
        xs, ys = x.split(), y.split()
        if len(xs) != len(ys):
            return False
        for u, v in zip(xs, ys):
            if u != v:
                try:
                    if abs(float(u) - float(v)) > 1e-5 * max(abs(float(u)), 1):
                        return False
                except ValueError:
                    return False
    return True


def main() -> int:
    fill = autograd_check.load(sys.argv[1])
    bad, cases, raised = 0, 0, 0
    with tempfile.TemporaryDirectory() as d:
        todo = []
        for what, op, text, nres in programs():
            try:
                text = finish(text, nres, fill)
            except RuntimeError as e:
                print("PyTorch refuses", what, str(e).splitlines()[0])
                bad += 1
                continue
            path = f"{d}/{len(todo)}.prog"
            open(path, "w").write(text)
            todo.append((what, path, text, autograd_check.expectation(text, fill)))
        for what, path, text, want in todo:
            got = subprocess.run([sys.argv[2], "--print", path], capture_output=True, text=True, check=False).stdout
            cases += 1
            raised += "raised" in want
            if not same(want, got):
                bad += 1
                print(f"==== {what}\n{text}--- PyTorch\n{want}--- interp\n{got}")
    print(f"{cases} programs ({raised} raise), {bad} differ")
    return 1 if bad or raised < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
