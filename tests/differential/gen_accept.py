"""Does PyTorch eager accept generated programs? Reads `gen_test N SEED print` on standard input and runs every program, every call,
forward and backward. Prints refusals by message, metas that differ from the annotations, and the share accepted; exits 1 below
99.9 %. It executes the program's text by itself (no emitter, no worker), so that a mistake of theirs cannot hide one of the
generator's.

    build/tests/unit/gen_test 10000 1 print | python tests/differential/gen_accept.py [--keep DIR]
"""

from __future__ import annotations

import argparse
import collections
import json
import pathlib
import re
import sys
import warnings
from typing import Any

import torch
from autograd_check import FORMAT, item

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "compiled" / "targets" / "torch"))
import fill as fills  # noqa: E402

DTYPES = fills._DTYPE
LINE = re.compile(r'(\w+)(?:: (\(.*?\)|"[^"]*"))? = ([\w.]+)\((.*)\)$')
META = re.compile(r'"(None|\w+(?=\[))(?:\[([^]]*)\]\[([^]]*)\]\w*)?"')
NAMES = {**DTYPES, **FORMAT, "inf": float("inf"), "nan": float("nan"), **{f: f for f in ("dyadic", "sum", "prod", "mean", "amax", "amin")}}


VALUE = r"\w+=(?:\w+|\[[^]]*\])"  # of a call line


def aten(name: str) -> Any:
    if name == "item":
        return item
    base, _, overload = name.partition(".")
    op = getattr(getattr(torch.ops.aten, base), overload or "default")
    if "count" in {a.name for a in op._schema.arguments}:
        return op
    return lambda *a, count=None, **k: op(*a, **k)  # noqa: ARG005 - what a program states of its data (eager/lang/stated.h)


class Node:
    def __init__(self, line: str) -> None:
        m = LINE.match(line)
        if not m:
            raise ValueError(f"not a node: {line}")
        self.name, self.annotation, self.op, args = m.groups()
        self.code = compile(f"call({args})", line, "eval")
        self.words = set(re.findall(r"\w+", args))
        self.fn = None if self.op in ("input", "input_view", "getitem", "sym") else aten(self.op)


class Program:
    def __init__(self, text: str) -> None:
        self.text = text
        self.nodes: dict[str, Node] = {}
        self.ret: list[str] = []
        self.back: list[tuple[str, str]] = []
        self.calls: list[dict[str, dict[str, str]]] = [{}]
        self.raises: str | None = None
        for line in text.splitlines():
            if line.startswith("return "):
                self.ret = [w for w in re.split(r"[(), ]+", line[7:]) if w]
            elif line.startswith("backward "):
                self.back = re.findall(r"(\w+): (\w+)", line)
            elif line.startswith("raises"):
                self.raises = line[len("raises "):].strip("\"'")
            elif line.startswith("call "):
                entries = re.findall(rf"(\w+): ((?:{VALUE} ?)+)", line)
                symbols = {n: {"value": v} for n, v in re.findall(r"(\w+)=(-?\d+)[,)]", re.sub(rf"\w+: (?:{VALUE} ?)+", "", line))}
                self.calls.append(symbols | {n: dict(kv.split("=") for kv in re.findall(VALUE, rest)) for n, rest in entries})
            elif line and not line.startswith(("#", "surface ")):
                node = Node(line)
                self.nodes[node.name] = node
        self.cot: set[str] = set()
        todo = [c for _, c in self.back]
        while todo:
            name = todo.pop()
            if name in self.nodes and name not in self.cot and self.nodes[name].op != "sym":
                self.cot.add(name)
                todo += self.nodes[name].words

    def inputs(self, call: dict[str, dict[str, str]]) -> dict[str, Any]:
        """Tensors and numbers that the functions take in this call, by name."""
        env: dict[str, Any] = dict(NAMES)
        made = [n for n in self.nodes.values() if n.op in ("input", "input_view", "sym")]
        self.evaluate(made, env, call, collections.Counter())
        return {n.name: env[n.name] for n in made}

    def run(self, call: dict[str, dict[str, str]], mismatch: collections.Counter[str]) -> None:
        env: dict[str, Any] = dict(NAMES)
        self.evaluate([n for n in self.nodes.values() if n.name not in self.cot], env, call, mismatch)
        with torch.no_grad():
            self.evaluate([n for n in self.nodes.values() if n.name in self.cot], env, call, mismatch)
        if self.back:
            for r in self.ret:
                if env[r].requires_grad != (r in dict(self.back)):
                    mismatch[f"requires_grad of {self.nodes[r].op}: {env[r].requires_grad}"] += 1
            torch.autograd.backward([env[r] for r, _ in self.back], [env[c] for _, c in self.back])
        elif any(env[r].requires_grad for r in self.ret):
            mismatch["an output requires grad, no backward"] += 1

    def evaluate(self, nodes: list[Node], env: dict[str, Any], call: dict[str, Any], mismatch: collections.Counter[str]) -> None:
        for node in nodes:
            env["call"] = self.maker(node, call, env)
            value = eval(node.code, env)
            env[node.name] = value
            if node.op in ("sym", "sym_size.int", "item") or node.annotation is None or any("value" in over for over in call.values()):
                continue  # annotations speak of the first call's sizes
            for got, want in zip(value if isinstance(value, (tuple, list)) else [value], META.findall(node.annotation or ""), strict=True):
                check(node.op, got, want, mismatch)

    def maker(self, node: Node, call: dict[str, Any], env: dict[str, Any]) -> Any:
        if node.op == "input":
            over = call.get(node.name, {})
            return lambda *a, **k: make_input(*a, **{**k, **{x: y if x == "fill" else json.loads(y) for x, y in over.items()}})
        if node.op == "sym":
            return lambda value: int(call.get(node.name, {}).get("value", value))
        if node.op == "input_view":
            return make_view
        if node.op == "getitem":
            return lambda t, i=0, index=None: t[i if index is None else index]
        return node.fn


def make_input(size: list[int], stride: Any = None, offset: int = 0, dtype: Any = torch.float32, fill: str = "dyadic", seed: int = 0,
               high: int = 0, dim: int = 0, requires_grad: bool = False, data: Any = None) -> torch.Tensor:
    name = next(n for n, t in DTYPES.items() if t == dtype)
    if stride is None:
        stride = torch.empty(size, device="meta").stride()
    cells = 0 if 0 in size else offset + 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    if data is None:
        data = fills.make_storage(name, cells, fill, seed, high, dim, size, stride, offset)
    else:
        data = fills.make_data(name, data)
    t = torch.empty(0, dtype=dtype)
    t.set_(data.untyped_storage(), offset, size, stride)
    return t.requires_grad_() if requires_grad else t


def make_view(base: torch.Tensor, size: list[int], stride: list[int], offset: int = 0, requires_grad: bool = False) -> torch.Tensor:
    t = torch.empty(0, dtype=base.dtype)
    t.set_(base.untyped_storage(), offset, size, stride)
    return t.requires_grad_() if requires_grad else t


def check(op: str, got: torch.Tensor | None, want: tuple[str, str, str], mismatch: collections.Counter[str]) -> None:
    if got is None or want[0] == "None":
        if (got is None) != (want[0] == "None"):
            mismatch[f"{op}: real {got if got is None else got.dtype} annotated {want[0]}"] += 1
        return
    size = [int(x) for x in want[1].split(", ") if x]
    stride = [int(x) for x in want[2].split(", ") if x]
    if got.dtype != DTYPES[want[0]] or list(got.shape) != size:
        mismatch[f"{op}: real {got.dtype}{list(got.shape)} annotated {want[0]}{size}"] += 1
    elif got.numel() and any(a != b for a, b, n in zip(got.stride(), stride, size, strict=True) if n > 1):
        mismatch[f"{op}: strides"] += 1


def read_programs(stream: Any) -> Any:
    text: list[str] = []
    for line in stream:
        if line.startswith("# program"):
            text = [line]
        elif line.strip():
            text.append(line)
        elif len(text) > 1:
            yield "".join(text)
            text = []


def main() -> int:
    ap = argparse.ArgumentParser()
    ap.add_argument("--keep", type=pathlib.Path, help="write refused programs here")
    opts = ap.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    why: collections.Counter[str] = collections.Counter()
    metas: collections.Counter[str] = collections.Counter()
    total = accepted = refused = 0
    for text in read_programs(sys.stdin):
        total += 1
        program = Program(text)
        try:
            before = metas.total()
            for call in program.calls:
                program.run(call, metas)
            if program.raises is not None:
                raise AssertionError(f"runs, but must raise '{program.raises}'")
            accepted += 1
            problem = "meta" if metas.total() > before else ""
        except Exception as error:
            if program.raises is not None and program.raises in str(error):
                accepted, refused = accepted + 1, refused + 1
                continue
            problem = "refused"
            where = error.__traceback__
            while where and where.tb_next and not where.tb_frame.f_code.co_filename.startswith(tuple("abcdefghijklmnopqrstuvwxyz_")):
                where = where.tb_next
            line = where.tb_frame.f_code.co_filename if where else ""
            op = re.search(r" = ([\w.]+)\(", line)
            message = re.sub(r"\d+", "N", str(error).splitlines()[0] if str(error) else "")[:110]
            problem += "\n# " + str(error)[:300].replace("\n", " ")
            why[f"{op.group(1) if op else 'backward'}: {type(error).__name__}: {message}"] += 1
        if problem and opts.keep:
            opts.keep.mkdir(exist_ok=True)
            problem, _, reason = problem.partition("\n")
            (opts.keep / f"{problem}_{total}.prog").write_text(text + reason + "\n")
    for k, n in why.most_common(60):
        print(f"{n:6} {k}")
    print(f"{metas.total()} metas differ from the annotation")
    for k, n in metas.most_common(30):
        print(f"{n:6} {k}")
    print(f"{accepted} of {total} programs accepted, or refused as they must be ({refused}): {100 * accepted / max(total, 1):.3f} %")
    return 0 if total and accepted >= 0.999 * total else 1


if __name__ == "__main__":
    sys.exit(main())
