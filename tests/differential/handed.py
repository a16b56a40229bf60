#!/usr/bin/env python3
"""What eager's backward hands on, row by row: the words of REFERENCE in oracle/ref against PyTorch.

handed.py SCATTERPROOF FILL_PY OPCALL SOURCES [--calls N] [--ops NAME,...]

For calls of each row (`scatterproof gen --calls`): does a gradient lie in the memory of the gradient that backward got, and is it that
tensor, a view of all of it, or of a part? A row fails if a gradient shares more than its word says, which would be a false
finding, or if no call shows what the word says, which would hide a true one.
Exit status: 0 all words are right, 1 one is not.
"""
from __future__ import annotations

import argparse
import re
import sys
import warnings
from collections import Counter
from pathlib import Path

import torch

import autograd_check
import calls
from rules_torch import overload

T_MUTATES, T_NONDIFF, T_INPLACE_VIEW = 4, 1 << 8, 1 << 20
NOT, SAME, VIEW, PART = range(4)
SHARES = ("nothing", "the gradient itself", "a view of all of it", "a view of a part")


def words(sources):
    """Word of each row, by the row's name."""
    table = (sources / "eager/lang/ops.def").read_text()
    said = re.findall(r'^(?:OP|INPLACE|INPLACE_VIEW|BODY)\((\w+), "([^"]+)".*?, (\w+)\)$', table, re.MULTILINE | re.DOTALL)
    said += [(i, name, i) for i, name in re.findall(r'^POINTWISE\((\w+), "([^"]+)"', table, re.MULTILINE)]
    of = {i: (name, reference) for i, name, reference in said}
    row = list(of.values())
    made = [of[i] for i in re.findall(r"IN_PLACE\((\w+)\)", table) if i in of]
    row += [(re.sub(r"(?=\.|$)", "_", name, count=1), reference) for name, reference in made]
    one_line = (sources / "oracle/ref/pointwise.def").read_text()
    word = {"none": "ANEW"} | {i: "ANEW" for i in re.findall(r"^[A-Z0-9]+\((\w+), ", one_line, re.MULTILINE)}
    for file in (sources / "oracle/ref").glob("*.c"):
        word |= dict(re.findall(r"^REFERENCE\((\w+), (\w+)\)", file.read_text(), re.MULTILINE))
    return {name: word[reference] for name, reference in row}


def given(call, name, default):
    """The value of an argument, by name."""
    for p, v in zip(call.op["params"], call.args):
        if p["name"] == name:
            return default if v is calls.OMIT else v
    return default


def allowed(word, call, k):
    """The most that argument k may get."""
    if word == "SUM":
        return SAME if k == 0 or given(call, "alpha", 1) == 1 else NOT
    if word == "BIAS":
        return SAME if k == 0 and given(call, "beta", 1) == 1 else NOT
    if word == "ADDED_TO":
        return SAME if k == 0 and given(call, "accumulate", False) else NOT
    if word == "INCLUDED":
        return SAME if k == 0 and given(call, "include_self", True) else NOT
    return {"SELF": SAME if k == 0 else NOT, "COPIED": SAME if k == 1 else NOT, "VIEW": VIEW, "PART": PART,
            "REGION": PART if k == 1 else NOT}.get(word, NOT)


def shared(grad, cotangents):
    """What of the gradients that came the gradient is."""
    for g in cotangents:
        if grad.numel() and not grad._is_zerotensor() and grad.untyped_storage().data_ptr() == g.untyped_storage().data_ptr():
            if grad.data_ptr() != g.data_ptr() or grad.numel() < g.numel():
                return PART
            return SAME if grad.shape == g.shape and grad.stride() == g.stride() else VIEW
    return NOT


def backward(op, call):
    """(argument, what it shares) of each gradient; nothing if PyTorch refuses the call."""
    leaves = [s.tensor().detach().requires_grad_(calls.has_gradient(s.dtype)) for s in call.tensors]
    tensors = [t.clone() if i == 0 and op["traits"] & (T_MUTATES | T_INPLACE_VIEW) else t for i, t in enumerate(leaves)]
    args, kwargs = call.python_args(tensors)
    try:
        result = overload(op)(*args, **kwargs)
        outs = [o for o in (result if isinstance(result, (list, tuple)) else [result]) if o.requires_grad]
        # each in memory of its own, from its second cell on
        came = [torch.ones(o.numel() + 1, dtype=o.dtype)[1:].view(o.shape) for o in outs]
        wanted = [i for i, t in enumerate(leaves) if t.requires_grad]
        grads = torch.autograd.grad(outs, [leaves[i] for i in wanted], came, allow_unused=True) if outs and wanted else []
    except Exception:  # noqa: BLE001
        return []
    return [(call.tensors[i].where[0], shared(g, came)) for i, g in zip(wanted, grads) if g is not None]


def main():
    ap = argparse.ArgumentParser()
    for name in ("scatterproof", "fill", "opcall"):
        ap.add_argument(name)
    ap.add_argument("sources", type=Path)
    ap.add_argument("--calls", type=int, default=200)
    ap.add_argument("--ops", default="")
    opt = ap.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    table, word, bad = calls.read_table(opt.opcall), words(opt.sources), 0
    made = calls.generated(opt.scatterproof, autograd_check.load(opt.fill), opt.calls, opt.ops.split(",") if opt.ops else None)
    for name, some in calls.by_row(made).items():
        op, seen, wrong = table[name], Counter(), []
        if op["traits"] & T_NONDIFF:
            continue
        for call in some:
            for k, shares in backward(op, call):
                seen[shares] += 1
                if shares > allowed(word[name], call, k):
                    wrong.append(f"    argument {k} gets {SHARES[shares]}:\n{call.text()}")
        if word[name] not in ("ANEW", "WINDOW") and seen[NOT] and not any(seen[s] for s in (SAME, VIEW, PART)):
            wrong.append(f"    none of {seen[NOT]} gradients shares what it came from\n")
        print(f"{name:26} {word[name]:9}", *(f"{SHARES[s]} {n}," for s, n in sorted(seen.items())), f"failed {len(wrong)}")
        print("".join(wrong[:1]), end="")
        bad += bool(wrong)
    print(f"{bad} rows differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
