#!/usr/bin/env python3
"""What PyTorch's own samples ask of our rows: each call that the samples of an OpInfo make of a row of the op table, run by both.

opinfo.py OPCALL [--dtypes f32,i64,...] [--ops NAME,...] [--most N] [--show N]
opinfo.py OPCALL --samples [--dtypes ...] [--ops ...] [--show N]

A sample runs under a dispatch mode, which sees the calls that reach ATen's kernels. A call is written down as a program of inputs and
one row; calls of one text are one call. Counted, by row and reason: calls that PyTorch runs and our reader or kernel refuses, calls
whose argument a row does not have, and calls whose results or gradients differ.
--samples: how many samples (forward, and in place where the OpInfo has that) call nothing but what the language can say, and what the
others call, by kind: what is no tensor of ours (complex, sparse), random, a matrix factorisation or Fourier transform, a Python number as
result, data-dependent sizes; the overloads that most samples lack. No call is run.
Exit status: 0 if nothing differs and at most N calls are refused, else 1.
"""
from __future__ import annotations

import argparse
import re
import subprocess
import sys
import types
import unittest
import warnings
from collections import Counter

import torch
from torch.utils._python_dispatch import TorchDispatchMode

import calls
import rules_torch

if "expecttest" not in sys.modules:     # imported beside the samples, and not needed by them
    sys.modules["expecttest"] = types.SimpleNamespace(TestCase=unittest.TestCase)

# Differences that are no fault: the row, and why.
EXPLAINED = {
    "arange.start": "of more numbers than a half holds: each lane of a vector starts anew from one that is rounded",
    "tanh": "f64, near 1: 1 - y * y loses the digits in which the results of two libraries differ",
}
MOST_CELLS = 4096
SAYS_NOTHING = {"layout", "device", "pin_memory", "non_blocking", "generator"}     # on one device, of strided tensors
BATCH = 500


class Unwritten(Exception):
    """A call that no program can hold; its text says why, "" for what is not a matter of rows."""


def spec_of(tensor):
    if type(tensor) is not torch.Tensor or tensor.layout != torch.strided or tensor.dtype not in calls.NAME or tensor.device.type != "cpu":
        raise Unwritten("")
    if tensor.is_neg() or tensor.is_conj():
        raise Unwritten("")
    reach = sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride()))
    cells = tensor.storage_offset() + reach + 1 if tensor.numel() else 0
    if cells > MOST_CELLS:
        raise Unwritten("")
    flat = torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage(), 0, (cells,), (1,)).clone()
    return calls.Spec(tensor.dtype, tensor.shape, tensor.stride(), tensor.storage_offset(), flat)


def written(op, func, args, kwargs):
    """The call as a program. The caller still has to fill in what a program states of the result."""
    call, given = calls.Call(op), {}
    for k, argument in enumerate(func._schema.arguments):
        if k < len(args):
            given[argument.name] = args[k]
        elif argument.name in kwargs:
            given[argument.name] = kwargs[argument.name]
    names = {p["name"] for p in op["params"]}
    for argument in func._schema.arguments:
        value = given.get(argument.name)
        default = argument.default_value if argument.has_default_value() else None
        if argument.name not in names and argument.name not in SAYS_NOTHING and value is not None and value != default:
            raise Unwritten(f"argument {argument.name}")

    def convert(k, value, entry=0):
        if isinstance(value, torch.Tensor):
            return call.add(k, entry, spec_of(value))
        if isinstance(value, (list, tuple)):
            return [convert(k, v, i) for i, v in enumerate(value)]
        if isinstance(value, torch.dtype):
            if value not in calls.NAME:
                raise Unwritten("")
            return ("dtype", calls.NAME[value])
        if isinstance(value, complex):
            raise Unwritten("")
        return value
    for k, p in enumerate(op["params"]):
        call.args.append(convert(k, given[p["name"]]) if p["name"] in given else calls.OMIT)
    for spec in call.tensors:
        spec.tensor()
    return call


def stated(op, call, result):
    """What the program has to state of the result: how many elements there are, or slices along the dim that the call names."""
    dims = [v for p, v in zip(op["params"], call.args) if p["kind"] == "Dim" and isinstance(v, int)]
    values = result[0] if isinstance(result, tuple) else result
    return values.shape[dims[0] if dims and values.dim() else 0]


class Recorder(TorchDispatchMode):
    def __init__(self, table):
        super().__init__()
        self.table, self.calls, self.unwritten = table, {}, Counter()

    def __torch_dispatch__(self, func, kinds, args=(), kwargs=None):
        kwargs = kwargs or {}
        base, _, which = str(func).removeprefix("aten.").partition(".")
        op = self.table.get(base if which == "default" else f"{base}.{which}")
        call = None
        try:
            call = written(op, func, args, kwargs) if op and op["family"] != "input" else None
        except Unwritten as why:
            if str(why):
                self.unwritten[op["name"], str(why)] += 1
        result = func(*args, **kwargs)
        if call is not None:
            for k, p in enumerate(op["params"]):
                if p["stated"]:
                    call.args[k] = stated(op, call, result)
            self.calls.setdefault(call.text(), call)
        return result


def record(table, dtypes, only):
    from torch.testing._internal.common_methods_invocations import op_db
    recorder = Recorder(table)
    for info in op_db:
        if only and info.name not in only:
            continue
        for name in dtypes:
            if calls.DT[name] not in info.dtypes:
                continue
            try:
                for sample in info.sample_inputs("cpu", calls.DT[name], requires_grad=False):
                    torch.manual_seed(0)
                    with recorder:
                        info(sample.input, *sample.args, **sample.kwargs)
            except Exception:  # noqa: BLE001 - a sample that PyTorch itself refuses says nothing of ours
                continue
    return recorder


def reason(text):
    """A message without its numbers and names, so that like ones are counted together."""
    text = re.sub(r"^(\d+:\d+: )?([a-z_0-9.A-Z]+: )?", "", text)
    return re.sub(r"'x\d+'", "an operand", text)[:110]


def run(opcall, recorder):
    import random
    rng = random.Random(1)
    stats, texts = Counter(), {}
    stats["texts"] = Counter()
    refused, differ = Counter(), Counter()
    every = list(recorder.calls.values())
    for at in range(0, len(every), BATCH):
        batch = [(call, rules_torch.Run(call.op, call, rng)) for call in every[at:at + BATCH]]
        groups, process = rules_torch.answers(opcall, [rules_torch.request(c, r) for c, r in batch])
        if len(groups) < len(batch):
            raise SystemExit(f"opcall died: {process.stderr.decode()[:500]}\n{batch[len(groups)][0].text()}")
        for (call, ran), answer in zip(batch, groups):
            if ran.error is None and answer["err"] is not None:
                key = call.op["name"], reason(answer["err"])
                refused[key] += 1
            else:
                why = rules_torch.compare(call.op, call, ran, answer, stats)
                if not why:
                    continue
                key = call.op["name"], reason(why)
                differ[key] += 1
            texts.setdefault(key, call.text())
    return len(every), refused, differ, texts


class Names(TorchDispatchMode):
    """The overloads that a sample calls; `ours`: each tensor is one that a program can hold."""

    def __init__(self):
        super().__init__()
        self.names, self.ours = set(), True

    def __torch_dispatch__(self, func, kinds, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        name = str(func).removeprefix("aten.").removesuffix(".default")
        if name == "_local_scalar_dense" and args[0].dtype in INTEGERS:    # the row `item`, which states the number
            name = "item"
        self.names.add(name)
        for tensor in torch.utils._pytree.tree_leaves((args, kwargs, result)):
            if isinstance(tensor, torch.Tensor):
                self.ours &= tensor.layout == torch.strided and tensor.dtype in calls.NAME
        return result


INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)    # dtypes of the row `item`
SAYS_NO_ROW = {"detach", "lift_fresh", "alias"}     # a graph has no line for them, or one that is read as nothing
KINDS = (
    ("random", re.compile(r"rand|bernoulli|multinomial|normal|exponential|geometric|uniform|cauchy|native_dropout|poisson|rrelu|"
                          r"fractional")),
    ("linear algebra, Fourier", re.compile(r"_?linalg_|_fft|cholesky|lu_|ormqr|geqrf|householder|svd|qr|triangular_solve|logdet|_cdist")),
    ("a Python number as result", re.compile(r"equal$|allclose|_local_scalar_dense|is_nonzero|is_same_size")),
    ("sizes that are data", re.compile(r"unique|resize|histogramdd|segment_reduce|sparse")),
    ("special functions", re.compile(r"special_|polygamma|mvlgamma|igamma")),
)


def kind_of(name):
    return next((kind for kind, words in KINDS if words.match(name)), "rows")


def called(info, sample, which):
    """What one sample calls; None: PyTorch refuses it."""
    names, first = Names(), sample.input
    if which is info.inplace_variant and isinstance(first, torch.Tensor):
        first = first.clone()
    torch.manual_seed(0)
    try:
        with names:
            which(first, *sample.args, **sample.kwargs)
    except Exception:  # noqa: BLE001 - a sample that PyTorch itself refuses says nothing of ours
        return None
    return names


def samples(dtypes, only):
    """(OpInfo, in place?, what it calls) of each sample that PyTorch runs."""
    from torch.testing._internal.common_methods_invocations import op_db
    for info in op_db:
        for name in dtypes:
            if calls.DT[name] not in info.dtypes or (only and info.name not in only):
                continue
            try:
                for sample in info.sample_inputs("cpu", calls.DT[name], requires_grad=False):
                    for which in filter(None, (info.op, info.inplace_variant)):
                        names = called(info, sample, which)
                        if names:
                            yield info.name, which is not info.op, names
            except Exception:  # noqa: BLE001 - no samples of this dtype
                continue


def coverage(opcall, opt):
    every = list(samples(opt.dtypes.split(","), set(filter(None, opt.ops.split(",")))))
    names = sorted(set().union(*(n.names for _, _, n in every)))
    reads = subprocess.run([opcall, "--reads", *names], capture_output=True, text=True, check=True).stdout
    known = set(reads.split()) | SAYS_NO_ROW
    said, kinds, lacking, of = Counter(), Counter(), Counter(), {}
    for info, written, n in every:
        said[written, "all"] += 1
        missing = n.names - known
        if n.ours and not missing:
            said[written, "said"] += 1
            continue
        kind = "complex, sparse or quantized" if not n.ours else max(map(kind_of, missing), key=lambda k: k != "rows")
        kinds[kind] += 1
        for name in missing if n.ours else ():
            lacking[name] += 1
            of.setdefault(name, set()).add(info)
    for written, form in (False, "forward"), (True, "in place"):
        print(f"{form}: {said[written, 'said']} of {said[written, 'all']} samples can be said "
              f"({100 * said[written, 'said'] / max(said[written, 'all'], 1):.1f} %)")
    total = said[False, "all"] + said[True, "all"]
    for kind, n in kinds.most_common():
        print(f"  {n:6} ({100 * n / total:4.1f} %) {kind}")
    print("overloads that are missing, and of how many samples:")
    for name, n in lacking.most_common(opt.show):
        print(f"  {n:6} {name:34} {kind_of(name):26} {', '.join(sorted(of[name]))[:70]}")
    return 0 if total else 1


def show(title, counter, texts, most):
    print(f"{title}: {sum(counter.values())}")
    for key, n in counter.most_common(most):
        print(f"  {n:5} {key[0]:24} {key[1]}")
        print("".join(f"            {line}\n" for line in texts.get(key, "").splitlines()[1:-1]), end="")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("opcall")
    ap.add_argument("--dtypes", default=",".join(calls.DT))
    ap.add_argument("--ops", default="")
    ap.add_argument("--most", type=int, default=0)
    ap.add_argument("--show", type=int, default=200)
    ap.add_argument("--samples", action="store_true")
    opt = ap.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    if opt.samples:
        return coverage(opt.opcall, opt)
    recorder = record(calls.read_table(opt.opcall), opt.dtypes.split(","), set(filter(None, opt.ops.split(","))))
    total, refused, differ, texts = run(opt.opcall, recorder)
    show("calls of rows with an argument that the row lacks", recorder.unwritten, texts, opt.show)
    show("calls that PyTorch runs and we refuse", refused, texts, opt.show)
    explained = Counter({key: differ.pop(key) for key in list(differ) if key[0] in EXPLAINED and differ[key] == 1})
    show("calls that differ", differ, texts, opt.show)
    show("calls that differ, and why they may", explained, texts, opt.show)
    print("".join(f"  {row}: {why}\n" for row, why in EXPLAINED.items() if any(key[0] == row for key in explained)), end="")
    print(f"{total} calls of rows, {sum(refused.values())} refused, {sum(differ.values())} differ")
    return 1 if differ or sum(refused.values()) > opt.most or total == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
