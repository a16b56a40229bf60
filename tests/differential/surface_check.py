"""Do the surfaces `torch` and `python` mean what `aten` means? Reads `surface_print` on standard input and runs each program's forward in
its three spellings on equal inputs. What must be equal: the sequence of ATen operators that they dispatch to (below autograd, where
compilers trace), their arguments, which tensors are the same memory; the recorded derivatives; every output and gradient, bit for bit.

    build/tests/differential/surface_print each 20 1 | python tests/differential/surface_check.py [--least N]   exits 1 if something differs

--least N: each alternative of spellings.def must have been written at least N times, so that none goes unseen.
"""

from __future__ import annotations

import argparse
import collections
import re
import sys
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from gen_accept import Program

INSERTS = ("unsqueeze", "stack")  # a dimension may be the one after the last


def from_front(v: Any, rank: int) -> Any:
    return None if v is None else [d % rank for d in v] if isinstance(v, (list, tuple)) else v % rank


# Where Python's bindings say the same in other words: name of the argument, what both are taken for, why. Nothing else may differ.
SAME: list[tuple[str, Callable[[Any, int], Any], str]] = [
    (r"dim\d?|dims|dimension", from_front, "an index says its place from the front: x[..., 1:3] of three dimensions is slice of dim 2"),
    ("start", lambda v, _: 0 if v is None else v, "x[:3] has start 0"),
    ("end", lambda v, _: 2**63 - 1 if v is None else v, "x[1:] ends at the largest integer"),
    ("device|pin_memory|layout", lambda v, _: None, "torch.full and its like state the defaults"),
]


class Recorder(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.log: list[tuple[Any, ...]] = []
        self.memory: dict[int, int] = {}
        self.keep: list[Any] = []

    def tensor(self, t: torch.Tensor) -> tuple[Any, ...]:
        storage = t.untyped_storage()
        self.keep.append(storage)
        number = self.memory.setdefault(storage._cdata, len(self.memory))
        return ("tensor", number, str(t.dtype), tuple(t.shape), t.stride(), t.storage_offset())

    def value(self, v: Any) -> Any:
        if isinstance(v, torch.Tensor):
            return self.tensor(v)
        if isinstance(v, (list, tuple)):
            return tuple(self.value(x) for x in v)
        return (type(v).__name__, repr(v))

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.log.append((str(func), *self.arguments(func, args, kwargs or {})))
        out = func(*args, **(kwargs or {}))
        self.value(out)  # its memory gets a number here
        return out

    def arguments(self, func: Any, args: Any, kwargs: dict[str, Any]) -> list[Any]:
        said = []
        rank = next((a.dim() for a in args if isinstance(a, torch.Tensor)), 0)
        if args and isinstance(args[0], (list, tuple)) and args[0] and isinstance(args[0][0], torch.Tensor):
            rank = args[0][0].dim()
        rank = max(rank + any(n in str(func) for n in INSERTS), 1)
        for i, a in enumerate(func._schema.arguments):
            v = args[i] if i < len(args) else kwargs.get(a.name, a.default_value if a.has_default_value() else None)
            for name, same, _ in SAME:
                v = same(v, rank) if re.fullmatch(name, a.name) else v
            said.append((a.name, self.value(v)))
        return said


def derivatives(t: Any) -> list[str]:
    """Names of the recorded derivative's nodes, in the order of a walk."""
    names, todo, seen = [], [t.grad_fn if isinstance(t, torch.Tensor) else None], set()
    while todo:
        f = todo.pop()
        if f is None:
            names.append("-")
        elif f in seen:
            names.append("seen")
        else:
            seen.add(f)
            names.append(type(f).__name__)
            todo += [g for g, _ in f.next_functions]
    return names


def image(t: Any) -> Any:
    if t is None:
        return None
    data = t.detach().contiguous().view(-1)
    data = data.view(torch.uint8).tolist() if t.numel() else []
    return (str(t.dtype), tuple(t.shape), t.stride(), t.storage_offset(), t.requires_grad, data)


def run(program: Program, source: str, call: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """The operators of the forward, and everything that the program leaves behind."""
    space: dict[str, Any] = {"torch": torch}
    exec(source, space)  # noqa: S102 - the subject of the test
    inputs = program.inputs(call)
    takes = lambda f: [inputs[n] for n in f.__code__.co_varnames[: f.__code__.co_argcount]]  # noqa: E731
    recorder = Recorder()
    for t in inputs.values():
        recorder.value(t)
    with recorder:
        outs = space["f"](*takes(space["f"]))
    left = [derivatives(t) for t in outs] + [recorder.tensor(t)[1] for t in outs]
    leaves = [t for t in inputs.values() if isinstance(t, torch.Tensor) and t.requires_grad]
    if program.back:
        with torch.no_grad():
            cotangents = space["cotangents"](*takes(space["cotangents"]))
        at = [program.ret.index(r) for r, _ in program.back]
        torch.autograd.backward([outs[i] for i in at], list(cotangents))
    left += [image(t) for t in outs] + [image(t.grad) for t in leaves]
    left += [image(t) for t in inputs.values() if isinstance(t, torch.Tensor)]
    return recorder.log, left


def attempt(program: Program, source: str, call: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    try:
        return run(program, source, call)
    except Exception as error:  # noqa: BLE001 - all surfaces must refuse alike
        return [], [type(error).__name__, str(error)]


def first_difference(a: list[Any], b: list[Any]) -> str:
    for x, y in zip(a, b):
        if x != y:
            return f"{str(x)[:600]}\n    against {str(y)[:600]}"
    return f"{len(a)} against {len(b)} entries: {str((a + b)[min(len(a), len(b)) :])[:600]}"


def compare(program: Program, sources: dict[str, str]) -> list[str]:
    bad = []
    for k, call in enumerate(program.calls):
        ops, left = attempt(program, sources["aten"], call)
        for surface in ("torch", "python"):
            other, after = attempt(program, sources[surface], call)
            if other != ops:
                bad.append(f"call {k}, {surface}: operators: {first_difference(ops, other)}")
            elif after != left:
                bad.append(f"call {k}, {surface}: results: {first_difference(left, after)}")
    return bad


def read(stream: Any, expected: list[str]) -> Any:
    """Text, sources by surface, choices by surface. What should be written at all goes to `expected`."""
    text, where = "", ""
    sources: dict[str, str] = {}
    choices: dict[str, list[str]] = {}
    for line in stream:
        if line.startswith("# expected "):
            expected.append(line[len("# expected ") :].strip())
        elif line == "# program\n":
            text, where, sources, choices = "", "", {}, {}
        elif line.startswith("# python "):
            where = line.split()[2]
            sources[where] = ""
        elif line.startswith("# choices"):
            choices[where] = line.split()[2:]
        elif line == "# end\n":
            yield text, sources, choices
        elif where:
            sources[where] += line
        else:
            text += line


def main() -> int:
    ap = argparse.ArgumentParser()
    ap.add_argument("--least", type=int, default=0)
    opts = ap.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    written: collections.Counter[str] = collections.Counter()
    expected: list[str] = []
    total = wrong = 0
    for text, sources, choices in read(sys.stdin, expected):
        total += 1
        written.update(f"{s} {c}" for s, row in choices.items() for c in row)
        for why in compare(Program(text), sources):
            wrong += 1
            print(f"{text}{sources['aten']}{sources['torch']}{sources['python']}{why}\n")
    lacking = [what for what in expected if written[what] < opts.least]
    for what in lacking:
        print(f"{what}: written {written[what]} times, fewer than {opts.least}")
    print(f"{total} programs with PyTorch {torch.__version__}: {wrong} differences, {sum(written.values())} rows spelled, "
          f"{len(lacking)} spellings unseen")
    return 1 if wrong or lacking or not total else 0


if __name__ == "__main__":
    sys.exit(main())
