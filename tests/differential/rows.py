"""rows.py: one program per row of the op table, every example of it (examples.py), with PyTorch's answers: tests/prog/rows/NAME.prog.

rows.py FILL_PY OPCALL DIR [NAME...]      writes the programs of these rows, or of those that have none yet; --all: of all
The programs run on the interpreter (interp_test, which fails if a row has no program), through the reference and on targets (check).
"""
import os
import sys

import torch

import autograd_check
import calls
import examples
import judge

T_MUTATES, T_INPLACE_VIEW = 4, 1 << 20


def body(op: dict, found: list) -> tuple[list, list]:
    """Lines of inputs and calls, and the calls' names."""
    lines, seed = [], 1
    inputs, nodes, results = [], [], []
    for k, (name, operands, call) in enumerate(found):
        names = {}
        # Gradients of scans and products in another dtype than self's: what PyTorch works in differs by version, the reference declines.
        unclear = "dtype=" in call and op["licence"] in ("SCAN", "PROD")
        for i, (o, args) in enumerate(operands.items()):
            names[o] = f"{o}{k}"
            grad = len(o) == 1 and examples.differentiable(op) and not unclear
            inputs.append(f"{names[o]} = input({args.format(s=seed)}{', requires_grad=True' if grad else ''})")
            seed += 1
            if i == 0 and op["traits"] & (T_MUTATES | T_INPLACE_VIEW):
                nodes.append(f"w{k} = clone({names[o]})")
                names[o] = f"w{k}"
        nodes.append(f"r{k} = {name}({call.format(**names)})")
        results.append(f"r{k}")
    lines += inputs + nodes
    return lines, results


def program(op: dict, table: dict, fill) -> str:
    lines, results = body(op, examples.examples(op, table))
    run = autograd_check.Run("\n".join(lines), fill)
    for node in run.nodes:
        run.node(*node)
    outs, back = [], []
    for r in results:
        value = run.env[r]
        several = isinstance(value, (list, tuple))
        for i, t in enumerate(value if several else [value]):
            out = f"{r}_{i}" if several else r
            if several:
                lines.append(f"{out} = getitem({r}, {i})")
            outs.append(out)
            if t.requires_grad and not op["opaque"] >> i & 1:
                back.append((out, f"input({list(t.shape)}, dtype={autograd_check.SHORT[t.dtype]}, seed={900 + len(outs)})"))
    lines += [f"g_{o} = {cotangent}" for o, cotangent in back]
    lines.append(f"return ({', '.join(outs)},)")
    if back:
        lines.append(f"backward ({', '.join(f'{o}: g_{o}' for o, _ in back)},)")
    adds = op["name"].startswith(("avg_pool2d", "_adaptive_avg_pool", "huber_loss_backward"))      # in another order
    rounded = op["licence"] in ("TRANS", "DIV", "VAR", "NORM") or adds
    within = "# within: 1e-5\n" if op["name"] in judge.ATTENTION else "# within: 1e-6\n" if rounded else ""
    text = "# scatterproof 1\n" + "\n".join(lines) + "\n" + within
    return text + autograd_check.expectation(text, fill)


def main() -> int:
    fill, folder = autograd_check.load(sys.argv[1]), sys.argv[3]
    table = calls.read_table(sys.argv[2])
    for name, op in table.items():
        path = os.path.join(folder, name + ".prog")
        if op["family"] == "input" or name == "getitem":
            continue
        if name in sys.argv[4:] or "--all" in sys.argv[4:] or not os.path.exists(path):
            with open(path, "w") as f:
                f.write(program(op, table, fill))
            print(path, "from PyTorch", torch.__version__)
    return 0


if __name__ == "__main__":
    sys.exit(main())
