#!/usr/bin/env python3
"""Differential test of the reference's rules (oracle/ref/ref_*.c) against the installed PyTorch: random calls of every operator.

oracle_diff.py SCATTERPROOF FILL_PY ORACLE_DIFF OPCALL [--calls N] [--ops NAME,... | --families F,...] [--seed N] [--show N] [--texts]

The calls are those of `scatterproof gen --calls N`. PyTorch runs each on CPU with gradients; the reference must contain every value
PyTorch gave (outputs, gradients, storages of inputs afterwards) under the licence of torch:eager@cpu, with the same dtype, sizes, strides
where they mean something, aliasing and requires_grad, and must raise where PyTorch raises.
Exit status: 0 all agree, 1 a difference.
"""
from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import warnings
from collections import Counter

import torch

import autograd_check
import calls
from rules_torch import Run, alias_of, report

T_VIEW, T_MAYBE_VIEW, T_MUTATES, T_NONDIFF, T_INPLACE_VIEW = 1, 2, 4, 1 << 8, 1 << 20


def hex_of(t):
    return calls.hex_of(torch.empty(t.numel(), dtype=t.dtype).copy_(t.detach().reshape(-1)))


def input_row(name, size, stride, offset, dtype, grad):
    more = ", requires_grad=True" if grad else ""
    return f"{name} = input({list(size)}, stride={list(stride)}, offset={offset}, dtype={calls.NAME[dtype]}{more})"


def contiguous(size):
    stride, s = [], 1
    for n in reversed(size):
        stride.insert(0, s)
        s *= max(n, 1)
    return stride


class Case:
    """The program of a call, and what PyTorch says of it."""

    def __init__(self, op, call, run):
        self.op, self.call, self.run = op, call, run
        if run.error is None and len(run.outs) > 16:        # MAX_RETURNS
            run.grads = {}
        self.mutates = bool(op["traits"] & (T_MUTATES | T_INPLACE_VIEW))
        self.lines, self.storages, self.grads = ["# scatterproof 1"], [], []
        for i, s in enumerate(call.tensors):
            self.operand(i, s)
        row = [line for line in call.text().splitlines() if line.startswith("y = ")][0]
        self.lines.append(row)
        self.outs = (run.outs if run.error is None else [])[:16]
        several = op["nret"] != 1
        names = ["y"]
        if several:
            names = [f"y{k}" for k, o in enumerate(self.outs) if o is not None]
            self.lines += [f"y{k} = getitem(y, {k})" for k, o in enumerate(self.outs) if o is not None]
        back = []
        if run.grads:
            for k, g in enumerate(run.gouts[:16]):
                if g is not None:
                    self.lines.append(input_row(f"g{k}", g.shape, contiguous(g.shape), 0, g.dtype, False))
                    self.storages.append(hex_of(g))
                    back.append(f"{f'y{k}' if several else 'y'}: g{k}")
        self.outs = [o for o in self.outs if o is not None]
        if several and not self.outs:
            names = ["x0"] if self.storages else []
        self.lines.append(f"return ({', '.join(names)},)")
        if back:
            self.lines.append(f"backward ({', '.join(back)},)")
        self.text = "\n".join(self.lines) + "\n"

    def operand(self, i, s):
        """An input row; self of an in-place row that requires grad is a view of a copy of a flat leaf."""
        grad = i in self.run.grads
        self.storages.append(s.hex())
        if grad:
            g = self.run.grads[i]
            self.grads.append((i, g))
        if grad and self.mutates and i == 0:
            n = s.flat.numel()
            self.lines.append(input_row("leaf", [n], [1], 0, s.dtype, True))
            self.lines.append("copied = clone(leaf)")
            self.lines.append(f"x0 = as_strided(copied, {s.size}, {s.stride}, {s.offset})")
        else:
            self.lines.append(input_row(f"x{i}", s.size, s.stride, s.offset, s.dtype, grad))

    def request(self):
        text = self.text.encode()
        if self.op["nret"] != 1 and not self.outs:
            outs = ["?"]
        else:
            outs = [hex_of(o) for o in self.outs] if self.outs else ["?"]
        grads = []
        for i, g in self.grads:
            if self.mutates and i == 0:
                grads.append(self.flat_gradient(g))
            else:
                grads.append(hex_of(g))
        n = len(self.storages)
        after = ["?"] * n
        if self.run.self_storage is not None and not (self.grads and self.grads[0][0] == 0):
            after[0] = hex_of(self.run.self_storage)
        head = f"PROG {len(text)} {n} {len(outs)} {len(grads)}\n".encode()
        return head + text + "".join(x + "\n" for x in self.storages + outs + grads + after).encode()

    def flat_gradient(self, g):
        """The leaf's gradient, whole: g is a view of it."""
        n = self.call.tensors[0].flat.numel()
        return hex_of(torch.empty(0, dtype=g.dtype).set_(g.untyped_storage(), 0, (n,), (1,)))


def answers(exe, target, requests):
    p = subprocess.run([exe, target], input=b"".join(requests), capture_output=True, check=False)
    groups, cur = [], []
    for line in p.stdout.decode().split("\n"):
        if line == "END":
            groups.append(cur)
            cur = []
        else:
            cur.append(line)
    return groups, p


def strides_differ(o, stride, exact):
    return any((exact or (o.numel() and n > 1)) and a != b for n, a, b in zip(o.shape, stride, o.stride()))


def check(case, lines, stats):
    """A sentence about the first difference, or None."""
    run, op = case.run, case.op
    head = lines[0].split(" ", 1) if lines else ["EMPTY", ""]
    if head[0] == "BAD":
        if run.error is not None:
            stats["malformed"] += 1
            return None
        return f"our reader refused: {head[1]}"
    if head[0] == "UNSUP":
        stats["unsupported"] += 1
        stats["texts"][("UNSUPPORTED", head[1][:100])] += 1
        return None
    if head[0] == "RAISE" or run.error is not None:
        if head[0] == "RAISE" and run.error is not None:
            stats["raised"] += 1
            stats["texts"][(run.error.split("\n")[0][:130], head[1][:130])] += 1
            return None
        if run.error is not None:
            return f"PyTorch raised: {run.error[:300]}"
        if "exceeds the limit" in head[1] or "more than" in head[1]:
            stats["unsupported"] += 1
            return None
        return f"we raised: {head[1]}"
    stats["ran"] += 1
    ninput = len(case.call.tensors)
    for line in lines:
        w = line.split(" ", 12)
        if w[0] == "NONE":
            return f"gradient {w[1]} is None, PyTorch has one"
        k, dt, size, stride = int(w[1]), w[2], json.loads(w[3]), json.loads(w[4])
        memory, agree, undecided, wrong, exact, weak = int(w[5]), *(int(x) for x in w[7:12])
        if w[0] == "OUT" and case.outs:
            o = case.outs[k]
            if calls.DT[dt] != o.dtype or size != list(o.shape):
                return f"result {k} is {dt}{size}, PyTorch {o.dtype}{list(o.shape)}"
            if not op["traits"] & T_MUTATES and strides_differ(o, stride, any(p["kind"] == "format" for p in op["params"])):
                return f"result {k} has strides {stride}, PyTorch {list(o.stride())} for sizes {size}"
            if bool(int(w[6])) != o.requires_grad and run.grads:
                return f"result {k} requires_grad {w[6]}, PyTorch {o.requires_grad}"
            if op["traits"] & (T_VIEW | T_MAYBE_VIEW) and o.numel():
                if (memory < ninput) != (alias_of(o, case.call.tensors) >= 0):
                    return f"result {k} memory {memory}, PyTorch aliases {alias_of(o, case.call.tensors)}"
        kind = {"OUT": "value", "GRAD": "gradient", "STORE": "storage"}[w[0]]
        if kind == "gradient" and size != list(case.grads[k][1].shape) and not case.mutates:
            return f"gradient {k} has sizes {size}, PyTorch {list(case.grads[k][1].shape)}"
        if wrong:
            return f"{kind} {k}: {wrong} of {agree + undecided + wrong} outside: {w[12] if len(w) > 12 else ''}"
        stats[kind] += agree + undecided
        stats[kind + " exact"] += exact
        stats[kind + " weak"] += weak
        stats["undecided"] += undecided
    return None


def test_op(opt, op, made):
    rng = random.Random(f"{opt.seed}:{op['name']}")
    stats = Counter()
    stats["texts"] = Counter()
    cases, failures = [], []
    for call in made:
        views_too = {**op, "traits": op["traits"] & ~T_VIEW | (T_MUTATES if op["traits"] & T_INPLACE_VIEW else 0)}
        cases.append(Case(op, call, Run(views_too, call, rng)))
    groups, p = answers(opt.oracle_diff, opt.target, [c.request() for c in cases])
    for case, lines in zip(cases, groups):
        why = check(case, lines, stats)
        if why:
            failures.append((case, why))
    if len(groups) < len(cases):
        failures.append((cases[len(groups)], f"oracle_diff died ({p.returncode}): {p.stderr.decode()[:1500]}"))
    return stats, failures


def share(stats, kind):
    n = stats[kind]
    return f"{kind} {n} ({100 * stats[kind + ' exact'] // n if n else 0}% exact, {stats[kind + ' weak']} weak)"


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("scatterproof")
    ap.add_argument("fill")
    ap.add_argument("oracle_diff")
    ap.add_argument("opcall")
    ap.add_argument("--calls", type=int, default=80)
    ap.add_argument("--ops", default="")
    ap.add_argument("--families", default="")
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--texts", action="store_true")
    ap.add_argument("--show", type=int, default=2)
    ap.add_argument("--target", default="torch:eager@cpu")
    opt = ap.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    rows = subprocess.run([opt.opcall, "--ops"], capture_output=True, text=True, check=True).stdout
    table = [json.loads(line) for line in rows.splitlines()]
    calls.set_table(table)
    fill = autograd_check.load(opt.fill)
    bad = total = 0
    made = calls.by_row(calls.generated(opt.scatterproof, fill, opt.calls, opt.ops.split(",") if opt.ops else None, None, opt.seed))
    for op in table:
        if op["family"] == "input" or op["name"] == "getitem":
            continue
        if opt.ops and op["name"] not in opt.ops.split(","):
            continue
        if opt.families and op["family"] not in opt.families.split(","):
            continue
        stats, failures = test_op(opt, op, made[op["name"]])
        texts = stats.pop("texts")
        total += stats["ran"] + stats["raised"]
        print(f"{op['name']:24} ran {stats['ran']} raised {stats['raised']} unsupported {stats['unsupported']} {share(stats, 'value')} "
              f"{share(stats, 'gradient')} undecided {stats['undecided']} failed {len(failures)}", flush=True)
        report(opt, texts, [(why, case.text) for case, why in failures])
        differentiable = (not (calls.lacks_derivative(op) or op["traits"] & T_NONDIFF)
                          and op["family"] != "factory" and set(op["dtypes"]) & set(calls.FLOATS))
        if not stats["value"] or (differentiable and not stats["gradient"]):
            print("    no gradient was judged" if stats["value"] else "    nothing was judged")
            bad += 1
        bad += len(failures) > 0
    print(f"{total} calls compared, {bad} operators differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
