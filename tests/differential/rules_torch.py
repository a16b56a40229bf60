#!/usr/bin/env python3
"""Differential test of eager's rules against the installed PyTorch: random calls of every operator of the op table.

rules_torch.py SCATTERPROOF FILL_PY OPCALL [--calls N | --plant | --excluded] [--ops NAME,... | --families F,...] [--seed N] [--texts]

The calls are those of `scatterproof gen --calls N`. Every call is run by torch.ops.aten on CPU and by the opcall program. Compared:
raised or not, number of results, dtype, sizes, strides of dimensions of size > 1 of non-empty tensors (all of rows with a memory format),
aliasing and offset of views, values, self's storage after in-place rows, gradients of every floating operand. Bits where the operator is
exact (data movement, comparisons, min/max, integers); otherwise within 4 ULP of the same call in double, or as near to it as PyTorch's own
answer is.
With --excluded only element types that rows do not list are given: PyTorch must refuse each, with our text.
With --plant the opcall program gives wrong answers of five kinds, and each must be noticed.
Exit status: 0 all agree, 1 a difference.
"""
from __future__ import annotations

import argparse
import json
import math
import random
import re
import subprocess
import sys
from collections import Counter

import torch

import autograd_check
import calls
import judge

DT = calls.DT
T_VIEW, T_MAYBE_VIEW, T_MUTATES, T_NONDIFF, T_ORDER = 1, 2, 4, 1 << 8, 1 << 9


def overload(op):
    base, _, ov = op["name"].partition(".")
    return getattr(getattr(torch.ops.aten, base), ov or "default")


class Run:
    """One call in PyTorch: results or the exception, and gradients."""

    def __init__(self, op, call, rng):
        self.error = None
        self.outs: list[torch.Tensor] = []
        self.gouts: list[torch.Tensor | None] = []
        self.grads: dict[tuple[int, int], torch.Tensor] = {}
        self.self_storage = None
        mutates = bool(op["traits"] & T_MUTATES)
        want = not (op["traits"] & (T_VIEW | T_NONDIFF)) and op["family"] != "factory"
        for tensors in self.attempts(op, call, want, mutates):
            try:
                self.forward(op, call, tensors, mutates)
            except Exception as e:  # noqa: BLE001
                if "Autograd not support dtype" in str(e):
                    continue    # an integer result of a leaf that requires grad: compare the call without gradients
                self.error = str(e)
                return
            try:
                self.backward(op, tensors, rng, mutates)
                return
            except Exception:  # noqa: BLE001
                continue    # saved, then written: try again with fewer operands that require grad
        self.gouts = []

    def attempts(self, op, call, want, mutates):
        if not want:
            yield [(t.tensor(), None) for t in call.tensors]
            return
        for only_self in ([False, True] if mutates else [False]):
            out = []
            for i, t in enumerate(call.tensors):
                leaf = None
                # PyTorch's gradient of it is wrong, or it has none.
                role = op["params"][t.where[0]]["role"]
                if role in ("packed", "class_weights", "total", "running", "running_variance") or role.endswith("no_gradient"):
                    out.append((t.tensor(), None))
                    continue
                if calls.has_gradient(t.dtype) and (i == 0 or not only_self):
                    if mutates and i == 0:
                        leaf = (t.flat if t.before is None else t.before).clone().requires_grad_()
                        out.append(((leaf * 1).as_strided(t.size, t.stride, t.offset), leaf))
                        continue
                    leaf = t.tensor().detach().requires_grad_()
                    out.append((leaf, leaf))
                else:
                    out.append((t.tensor(), None))
            yield out
        yield [(t.tensor(), None) for t in call.tensors]

    def forward(self, op, call, tensors, mutates):
        args, kwargs = call.python_args([t for t, _ in tensors])
        res = overload(op)(*args, **kwargs)
        self.outs = list(res) if isinstance(res, (tuple, list)) else [res]
        if mutates:
            t = tensors[0][0]
            cells = (call.tensors[0].flat.numel(),)
            self.self_storage = torch.empty(0, dtype=t.dtype).set_(t.detach().untyped_storage(), 0, cells, (1,)).clone()

    def backward(self, op, tensors, rng, mutates):
        outs, gouts = [], []
        self.gouts = []
        for k, o in enumerate(self.outs):
            g = None
            if o is not None and o.requires_grad and not op["opaque"] >> k & 1:
                g = calls.cotangent(rng, o)
            self.gouts.append(g)
            if g is not None:
                outs.append(o)
                gouts.append(g)
        leaves = [(i, leaf) for i, (_, leaf) in enumerate(tensors) if leaf is not None]
        if not outs or not leaves:
            return
        grads = torch.autograd.grad(outs, [leaf for _, leaf in leaves], gouts, allow_unused=True)
        for (i, leaf), g in zip(leaves, grads):
            if g is None:
                continue
            if mutates and i == 0:
                t = tensors[0][0]
                g = g.as_strided(t.shape, t.stride(), t.storage_offset())
            self.grads[i] = g


def request(call, run):
    text = call.text().encode()
    storages = [t.hex() for t in call.tensors]
    gouts = ["-" if g is None else calls.hex_of(g) for g in run.gouts]
    want = sum({1 << call.tensors[i].where[0] for i in run.grads})    # a bit per argument
    head = f"CALL {len(text)} {len(storages)} {len(gouts)} {want}\n".encode()
    return head + text + "".join(s + "\n" for s in storages + gouts).encode()


def parse(lines):
    ans = {"out": [], "gin": {}, "err": None, "limit": False, "self": None}
    for line in lines:
        w = line.split(" ")
        if w[0] in ("ERR", "LIMIT"):
            ans["err"], ans["limit"] = line[len(w[0]) + 1:], w[0] == "LIMIT"
        elif w[0] == "NONE":
            ans["out"].append(None)
        elif w[0] == "OUT":
            ans["out"].append((w[1], json.loads(w[2]), json.loads(w[3]), int(w[4]), int(w[5]), w[6]))
        elif w[0] == "SELF":
            ans["self"] = w[1]
        elif w[0] == "GIN":
            ans["gin"][(int(w[1]), int(w[2]))] = w[3]
    return ans


# Rules that another PyTorch than 2.11 has changed: compared only there.
CHANGED = dict.fromkeys(("clamp", "clamp_min", "clamp_max"), "the gradient at a bound is 0 and bounds outside an integer dtype are refused")
CHANGED |= dict.fromkeys(("clamp_min.Tensor", "clamp_max.Tensor", "fmax", "fmin"), "the gradient of equals is halved")


def answers(opcall, requests):
    p = subprocess.run(opcall if isinstance(opcall, list) else [opcall], input=b"".join(requests), capture_output=True, check=False)
    groups, cur = [], []
    for line in p.stdout.decode().split("\n"):
        if line == "END":
            groups.append(parse(cur))
            cur = []
        else:
            cur.append(line)
    return groups, p


def alias_of(o, tensors):
    for i, t in enumerate(tensors):
        if t.flat.numel() and o.untyped_storage().data_ptr() == t.flat.untyped_storage().data_ptr():
            return i
    return -1


def compare(op, call, run, ans, stats):
    """A sentence about the first difference, or None."""
    if run.error is not None or ans["err"] is not None:
        if run.error is not None and ans["err"] is not None:
            stats["raised"] += 1
            stats["texts"][(run.error.split("\n")[0][:150], ans["err"][:150])] += 1
            return None
        if run.error is not None:
            return f"PyTorch raised: {run.error[:300]}"
        if ans["limit"]:
            stats["narrower"] += 1
            return None
        return f"we raised: {ans['err']}"
    if len(run.outs) != len(ans["out"]):
        return f"{len(ans['out'])} results, PyTorch {len(run.outs)}"
    stats["ran"] += 1
    exact_strides = any(p["kind"] == "format" for p in op["params"])
    for k, (o, a) in enumerate(zip(run.outs, ans["out"])):
        if o is None or a is None:
            if o is not a:
                return f"result {k} is {'None' if a is None else 'a tensor'}, PyTorch {'None' if o is None else 'a tensor'}"
            continue
        dt, size, stride, offset, alias, data = a
        if DT[dt] != o.dtype or size != list(o.shape):
            return f"result {k} is {dt}{size}, PyTorch {o.dtype}{list(o.shape)}"
        for d in range(o.dim()):
            if (exact_strides or (o.numel() and o.shape[d] > 1)) and stride[d] != o.stride(d):
                return f"result {k} has strides {stride}, PyTorch {list(o.stride())} for sizes {size}"
        if op["traits"] & (T_VIEW | T_MAYBE_VIEW) and o.numel():
            mine = -1 if alias < 0 else 0
            torchs = min(alias_of(o, call.tensors), 0)
            if mine != torchs:
                return f"result {k} aliasing {alias}, PyTorch {torchs}"
            if mine == 0 and offset != o.storage_offset():
                return f"result {k} has offset {offset}, PyTorch {o.storage_offset()}"
        why = judge.values(op, call, k, o.detach(), calls.from_hex(data, o.dtype, size), stats)
        if why:
            return f"result {k}: {why}"
    if run.self_storage is not None:
        mine = calls.from_hex(ans["self"], run.self_storage.dtype, [run.self_storage.numel()])
        # the cells of self were compared as result 0; this is about the others
        self = call.tensors[0]
        other = torch.ones(mine.shape, dtype=torch.bool)
        other.as_strided(self.size, self.stride, self.offset).fill_(False)
        why = judge.bits(op, run.self_storage[other], mine[other])
        if why:
            return f"self's storage: {why}"
    if op["traits"] & T_ORDER and any(not torch.equal(o, calls.from_hex(a[5], o.dtype, list(o.shape)))
                                      for o, a in zip(run.outs, ans["out"]) if not o.dtype.is_floating_point):
        stats["ties"] += 1
        return None     # other winners among ties: other gradients
    for i, g in run.grads.items():
        key = call.tensors[i].where
        if key not in ans["gin"]:
            return f"no gradient of argument {key}"
        stats["grads"] += 1
        why = judge.gradient(op, call, i, run, g, calls.from_hex(ans["gin"][key], g.dtype, list(g.shape)), stats)
        if why:
            return f"gradient of argument {key}: {why}"
    return None


def is_in_no_order(op, call):
    """Slices with NaN: comparisons by which PyTorch sorts them contradict each other, and the generator states no count. Several NaNs: any
    may come first."""
    nans = sum(int(t.tensor().isnan().sum()) for t in call.tensors if t.flat.is_floating_point())
    return nans > {"unique_dim": 0, "_unique2": 1}.get(op["name"], nans)


def test_op(opcall, op, made, opt):
    rng = random.Random(f"{opt.seed}:{op['name']}")
    torch.manual_seed(0)
    stats = Counter()
    stats["texts"] = Counter()
    failures = []
    batch = [(call, Run(op, call, rng)) for call in made if not is_in_no_order(op, call)]
    groups, p = answers(opcall, [request(c, r) for c, r in batch])
    for (call, run), ans in zip(batch, groups):
        why = compare(op, call, run, ans, stats)
        if why:
            failures.append((call, run, why))
    if len(groups) < len(batch):
        failures.append((*batch[len(groups)], f"opcall died ({p.returncode}): {p.stderr.decode()[:1500]}"))
    return stats, failures


def planted(table, opt):
    """Every kind of wrong answer must fail on every operator it can touch."""
    opt.calls, missed = 120, 0
    rows = ("add.Tensor", "mean.dim", "max.dim", "mm", "flip", "scatter_add")
    made = calls.by_row(calls.generated(opt.scatterproof, opt.fill, opt.calls, rows, None, opt.seed))
    for kind in ("value", "stride", "dtype", "gradient", "refuse"):
        for name in rows:
            op = next(o for o in table if o["name"] == name)
            _, failures = test_op([opt.opcall, "--plant", kind], op, made[name], opt)
            print(f"planted {kind:8} in {name:12} noticed {len(failures)} of {opt.calls} calls")
            missed += len(failures) < (1 if kind in ("dtype", "stride") else 10)
    return 1 if missed else 0


# Element types with which an operator ends the process: this one divides by an integer, which a beta of 0.5 makes 0.
ENDS = {"smooth_l1_loss_backward": ("u8", "i8", "i16", "i32", "i64")}


# What is wrong with the write, whatever is wrong with what is written.
WRITES = ("a single memory location", "can't be cast to the desired output type")


def excluded(table, opt):
    """Element types that a row does not list: PyTorch refuses them, with our words, or we do not call it a refusal."""
    opt.calls, bad = 16, 0
    for op in table:
        if op["family"] in ("input", "factory") or op["name"] == "getitem" or opt.ops and op["name"] not in opt.ops.split(","):
            continue
        names = [name for name in DT if name not in op["dtypes"] and name not in ENDS.get(op["name"], ())]
        if not names:
            continue
        rng = random.Random(f"{opt.seed}:{op['name']}")
        made = calls.generated(opt.scatterproof, opt.fill, opt.calls, [op["name"]], names, opt.seed)
        batch = [(call, Run(op, call, rng)) for call in made]
        groups, _ = answers(opt.opcall, [request(c, r) for c, r in batch])
        count, wrong = Counter(), []
        told = [[0, 0] for _ in names]     # of each dtype: refusals, and those in PyTorch's words
        for k, ((call, run), ans) in enumerate(zip(batch, groups, strict=True)):
            text = re.sub(r"^(\d+:\d+: )?[a-z_0-9.A-Z]+: ", "", ans["err"] or "")
            kind = "ran" if not text else "limit" if ans["limit"] else "refused"
            count[kind] += 1
            count["alike"] += kind == "refused" and text in (run.error or "")
            told[k // opt.calls][0] += kind == "refused"
            told[k // opt.calls][1] += kind == "refused" and text in (run.error or "")
            writes = op["family"] == "inplace" and any(w in (run.error or "") for w in WRITES)
            count["other"] += kind == "refused" and writes and text not in run.error
            if (kind == "refused") > (run.error is not None) or (kind == "ran" and run.error):
                wrong.append((f"we: {text or 'ran'}; PyTorch: {run.error or 'ran'}", call.text()))
        # some calls have two faults, and either may be told; of volumes more than of others
        told_alike = op["computing"] not in CHANGED or torch.__version__.startswith("2.11.")     # a bound that the dtype does not hold
        silent = any(refused > 4 and not alike for refused, alike in told) and not count["other"]
        if told_alike and (count["alike"] < 0.7 * (count["refused"] - count["other"]) or silent):
            wrong.append(("other words", batch[0][0].text()))
        print(f"{op['name']:24} of {len(names):2} dtypes: refused {count['refused']:3} in PyTorch's words {count['alike']:3} "
              f"limit {count['limit']:3} ran {count['ran']:3} failed {len(wrong)}")
        report(opt, Counter(), wrong)
        bad += bool(wrong)
    return 1 if bad else 0


def report(opt, texts, failures):
    """The messages with which both raised, and why the first calls differ, each with its text."""
    for (a, b), n in texts.most_common(12) if opt.texts else []:
        print(f"    {n:4} torch: {a}\n         ours:  {b}")
    for why, text in failures[:opt.show]:
        print(f"    {why}\n" + "".join("        " + line + "\n" for line in text.splitlines()), end="")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("scatterproof")
    ap.add_argument("fill")
    ap.add_argument("opcall")
    ap.add_argument("--calls", type=int, default=80)
    ap.add_argument("--ops", default="")
    ap.add_argument("--families", default="")
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--plant", action="store_true")
    ap.add_argument("--excluded", action="store_true")
    ap.add_argument("--texts", action="store_true")
    ap.add_argument("--show", type=int, default=2)
    opt = ap.parse_args()
    torch.set_num_threads(1)
    import warnings
    warnings.simplefilter("ignore")
    rows = subprocess.run([opt.opcall, "--ops"], capture_output=True, text=True, check=True).stdout
    table = [json.loads(line) for line in rows.splitlines()]
    calls.set_table(table)
    opt.fill = autograd_check.load(opt.fill)
    if opt.plant:
        return planted(table, opt)
    if opt.excluded:
        return excluded(table, opt)
    bad = total = 0
    made = calls.by_row(calls.generated(opt.scatterproof, opt.fill, opt.calls, opt.ops.split(",") if opt.ops else None, None, opt.seed))
    for op in table:
        if op["family"] == "input" or op["name"] == "getitem":
            continue
        if op["computing"] in CHANGED and not torch.__version__.startswith("2.11."):
            print(f"{op['name']:24} not compared: in PyTorch {torch.__version__} {CHANGED[op['computing']]}")
            continue
        if opt.ops and op["name"] not in opt.ops.split(","):
            continue
        if opt.families and op["family"] not in opt.families.split(","):
            continue
        stats, failures = test_op(opt.opcall, op, made[op["name"]], opt)
        texts = stats.pop("texts")
        total += stats["ran"] + stats["raised"]
        print(f"{op['name']:24} ran {stats['ran']:5} raised {stats['raised']:4} narrower {stats['narrower']:4} "
              f"gradients {stats['grads']:5} exact {stats['exact']:7} near {stats['near']:6} loose {stats['loose']:4} "
              f"failed {len(failures)}", flush=True)
        report(opt, texts, [(why, call.text()) for call, _, why in failures])
        differentiable = (not (calls.lacks_derivative(op) or op["traits"] & (T_VIEW | T_NONDIFF))
                          and op["family"] != "factory" and set(op["dtypes"]) & set(calls.FLOATS))
        if not stats["ran"] or (differentiable and not stats["grads"]):
            print("    no gradient was compared" if stats["ran"] else "    nothing ran")
            bad += 1
        bad += len(failures) > 0
    print(f"{total} calls compared, {bad} operators differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
