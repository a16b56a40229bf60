"""What autograd saves, row by row of the op table: PyTorch against the eager interpreter.

For each example, each choice of operands that require grad, and each operand or result written after the row ran (or none): does
backward raise, and if not, are outputs and gradients the same to 1e-5? Tests the column `saves` of eager/lang/ops.def, the derivative
rules and autograd.h together. The examples are derived from the table (examples.py). Usage: saves_check.py FILL_PY INTERP_TEST OPCALL
"""
import itertools
import subprocess
import sys
import tempfile

import torch

import autograd_check
import calls
import examples

# Beside the derived examples of every row: broadcasts, values and indices that take another path of a derivative.
F = "[2, 3], seed={s}"
POS = '[2, 3], seed={s}, fill="positive"'
IDX = '[2], dtype=i64, seed={s}, fill="unique", high=2'
MASK = '[2, 3], dtype=b8, seed={s}, fill="mask"'
ONE = {"a": F}
SPECIAL = [
    *[(op, {"a": F, "b": "[3], seed={s}"}, "{a}, {b}")
      for op in ("add.Tensor", "mul.Tensor", "copy_", "add_.Tensor", "sub_.Tensor", "mul_.Tensor")],
    ("div.Tensor", {"a": POS, "b": POS}, "{a}, {b}"), ("div_.Tensor", {"a": POS, "b": POS}, "{a}, {b}"),
    *[(op, ONE, call) for op in ("add.Tensor", "sub.Tensor", "mul.Tensor") for call in ("{a}, 2", "1.5, {a}")],
    *[(op, ONE, "{a}, 2") for op in ("add_.Tensor", "sub_.Tensor", "mul_.Tensor", "div_.Tensor", "copy_")],
    *[("div.Tensor", {"a": POS}, call) for call in ("{a}, 2", "1.5, {a}")], ("rsub.Scalar", ONE, "{a}, 2.0, 3"),
    *[(op, {"a": F, "b": "[], seed={s}"}, "{a}, {b}") for op in ("fill.Tensor", "fill_.Tensor")],
    *[("pow.Tensor_Scalar", {"a": POS}, "{a}, " + e) for e in ("3.0", "0", "1.0", "0.5")],
    *[(op, ONE, "{a}") for op in ("exp", "expm1", "sin", "cos", "tanh", "sigmoid")],
    ("clamp", ONE, "{a}, -1.0, 1.0"), ("clamp", ONE, "{a}, 0.5"),
    ("slice_scatter", {"a": F, "b": "[2, 1], seed={s}"}, "{a}, {b}, dim=1, start=1, end=2"),
    ("select_scatter", {"a": F, "b": "[2], seed={s}"}, "{a}, {b}, 1, 2"),
    *[(op, {"a": F, "m0": MASK, "b": "[], seed={s}"}, "{a}, [{m0}], {b}") for op in ("index_put", "index_put_")],
    ("index.Tensor", {"a": F, "i0": IDX}, "{a}, [None, {i0}]"), ("cumprod", {"a": POS}, "{a}, 0"),
    ("addmm", {"a": "[2], seed={s}", "b": F, "c": "[3, 2], seed={s}"}, "{a}, {b}, {c}, beta=2, alpha=3"),
    *[("scatter_reduce.two", {"a": POS, "i0": IDX.replace("[2]", "[2, 3]"), "b": POS}, f'{{a}}, 0, {{i0}}, {{b}}, "{r}", include_self={s}')
      for r in ("prod", "mean", "amax", "amin") for s in (True, False)],
]
# Which of equals they name is not for us to say: of numbers that are all others.
NAME_ONE = ("kthvalue", "median.dim", "nanmedian.dim")


def without_ties(example):
    op, operands, call = example
    return op, {name: f'{args}, fill="normal"' for name, args in operands.items()} if op in NAME_ONE else operands, call


def every_example(opcall: str) -> tuple[list, dict]:
    """Examples, and the op table."""
    table = calls.read_table(opcall)
    derived = [without_ties(e) for op in table.values() if examples.differentiable(op) for e in examples.examples(op, table)]
    return derived + SPECIAL, table


def program(example, number: int, grads: dict, write) -> str:
    op, operands, call, results = example
    lines = ["# scatterproof 1"]
    for s, (name, args) in enumerate(operands.items()):
        lines.append(f"{name} = input({args.format(s=s + number)}{', requires_grad=True' if grads.get(name) else ''})")
        if grads.get(name):
            lines.append(f"{name}_ = clone({name})")
    names = {n: n + "_" if grads.get(n) else n for n in operands}
    lines.append(f"r = {op}({call.format(**names)})")
    lines += [f"r{k} = getitem(r, {k})" for k in range(results)] if results else ["r0 = alias(r)"]
    if write:
        lines.append(f"w = zero_({names.get(write, write)})")
    return "\n".join(lines) + "\n"


def count_results(example, fill) -> int:
    """Of a row that returns several."""
    run = autograd_check.Run(program((*example, 0), 0, {}, None), fill)
    for node in run.nodes[:-1]:
        run.node(*node)
    return len(run.env["r"])


def programs(opcall: str, fill):
    found, table = every_example(opcall)
    for number, example in enumerate(found):
        op, operands, call = example
        results = 0 if table[op]["nret"] == 1 else count_results(example, fill)
        # Of a result through which we take no gradient, a program asks for none and writes nothing.
        outs = [f"r{k}" for k in range(max(results, 1)) if not table[op]["opaque"] >> k & 1]
        floats = [n for n in operands if len(n) == 1]
        for chosen in itertools.product((False, True), repeat=len(floats)):
            grads = dict(zip(floats, chosen))
            # A view in place has given self another name.
            old = () if table[op]["traits"] & calls.T_INPLACE_VIEW else operands
            for write in [None, *old, *outs] if any(chosen) else []:
                text = program((*example, results), number, grads, write)
                yield f"{op} {call} grad {chosen} write {write}", op, text, outs


def finish(text: str, outs: list, fill) -> str:
    """Adds return and backward, knowing from PyTorch which results require grad and their sizes."""
    run = autograd_check.Run(text, fill)
    lines, back = [], []
    try:
        for node in run.nodes:
            run.node(*node)
    except RuntimeError:
        return text + f"return ({', '.join(outs)},)\n"
    for o in outs:
        t = run.env[o]
        if t.requires_grad:
            lines.append(f"g{o} = input({list(t.shape)}, dtype={autograd_check.SHORT[t.dtype]}, seed=99)")
            back.append(f"{o}: g{o}")
    return text + "\n".join([*lines, f"return ({', '.join(outs)},)"] + ([f"backward ({', '.join(back)},)"] if back else [])) + "\n"


def same(a: str, b: str) -> bool:
    la, lb = a.splitlines(), b.splitlines()
    if "eager: raised" in la[0]:
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


# Rows of which the interpreter may decline a program, and why.
DECLINED = dict.fromkeys(("_unsafe_view", "unsafe_split.Tensor", "unsafe_split_with_sizes"),
                         "a write into memory that it shares without saying so")


def main() -> int:
    fill = autograd_check.load(sys.argv[1])
    bad, raised, declined, todo, ran = 0, 0, 0, [], {}
    with tempfile.TemporaryDirectory() as d:
        for what, op, text, outs in programs(sys.argv[3], fill):
            text = finish(text, outs, fill)
            want = autograd_check.expectation(text, fill)
            path = f"{d}/{len(todo)}.prog"
            open(path, "w").write(text)
            todo.append((what, op, path, text, want))
            ran[op] = ran.get(op, 0) + ("# grad" in want)
            raised += "raised" in want
        answers = subprocess.run([sys.argv[2], "--print", *(path for _, _, path, _, _ in todo)], capture_output=True, text=True,
                                 check=False).stdout
    got = dict(part.split("\n", 1) for part in answers.split("==== ")[1:])
    for what, op, path, text, want in todo:
        if op in DECLINED and "# eager: unsupported" in got.get(path, ""):
            declined += 1
        elif not same(want, got.get(path, "nothing\n")):
            bad += 1
            print(f"==== {what}\n{text}--- PyTorch\n{want}--- interp\n{got.get(path, 'nothing')}")
    for op in [op for op, n in ran.items() if not n]:
        bad += 1
        print(f"{op}: no example has a gradient that PyTorch computes")
    print(f"{len(todo)} programs of {len(ran)} rows ({raised} raise, {declined} declined), {bad} differ")
    return 1 if bad or raised < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
