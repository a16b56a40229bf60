"""Runs .prog files on the installed PyTorch and compares with (--update: rewrites) the expectations at their end.

The second opinion on eager/run/autograd.c and eager/run/legality.c: reads the program text with a few lines of its own and calls
torch.ops.aten directly. Usage: autograd_check.py [--update] FILL_PY FILE…   The format: tests/prog/interp_test.c.
"""
import ast
import importlib.util
import math
import re
import sys
from typing import Any

import torch

# dtypes: short names; written by tests/unit/dtype_tables.py
DT = {
    "b8": torch.bool, "u8": torch.uint8, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64,
    "u16": torch.uint16, "u32": torch.uint32, "u64": torch.uint64, "f8_e4m3fn": torch.float8_e4m3fn,
    "f8_e5m2": torch.float8_e5m2, "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32,
    "f64": torch.float64,
}
# dtypes end
SHORT = {v: k for k, v in DT.items()}
FORMAT = {f: getattr(torch, f) for f in ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")}
NODE = re.compile(r'(\w+)(?:: (?:"[^"]*"|\([^)]*\)))? = ([\w.]+)\((.*)\)$')


def load(path: str) -> Any:
    spec = importlib.util.spec_from_file_location("fill", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def extent(size: list, stride: list, offset: int) -> int:
    return 0 if 0 in size else offset + 1 + sum((n - 1) * s for n, s in zip(size, stride))


def contiguous(size: list) -> list:
    return [math.prod(max(n, 1) for n in size[d + 1 :]) for d in range(len(size))]


def item(x: torch.Tensor, value: int) -> int:
    if x.item() != value:
        raise ValueError(f"item states {value}, but the data give {x.item()}")
    return value


def call_changes(line: str) -> dict:
    """"call (x: seed=3 fill=normal, y: data=[1, 2], s0=7)" -> {"x": {"seed": 3, "fill": "normal"}, "y": {"data": [1, 2]}, "s0": 7}"""
    changes: dict = {}
    for part in re.split(r",(?![^[]*\])", line.strip()[6:-1]):
        name, _, rest = part.strip().partition(":")
        if rest:
            pairs = re.findall(r"(\w+)=(\[[^]]*\]|\S+)", rest)
            changes[name] = {k: v.strip('"') if k == "fill" else ast.literal_eval(v) for k, v in pairs}
        else:
            name, _, value = name.partition("=")
            changes[name] = int(value)
    return changes


class Run:
    """One call of a program; `changes` as of its call line."""

    def __init__(self, text: str, fill: Any, changes: dict | None = None) -> None:
        self.fill, self.env, self.storages, self.leaves = fill, {**DT, **FORMAT, "inf": math.inf, "nan": math.nan}, [], {}
        self.nodes, self.ret, self.back, self.changes = [], [], [], changes or {}
        for line in text.splitlines():
            line = line.strip()
            if line.startswith("return"):
                self.ret = re.findall(r"\w+", line)[1:]
            elif line.startswith("backward"):
                self.back = re.findall(r"(\w+): (\w+)", line)
            elif line and not line.startswith(("#", "call")):
                name, op, args = NODE.match(line).groups()
                self.nodes.append((name, op, args))

    def cotangent_names(self) -> set:
        need, by_name = set(), {name: args for name, _, args in self.nodes}
        todo = [c for _, c in self.back]
        while todo:
            name = todo.pop()
            if name not in need:
                need.add(name)
                todo += [w for w in re.findall(r"[A-Za-z_]\w*", by_name[name]) if w in by_name]
        return need

    def input(self, size, stride=None, offset=0, dtype=torch.float32, fill="dyadic", seed=0, high=0, dim=0, requires_grad=False, data=None):
        stride = contiguous(size) if stride is None else stride
        n = extent(size, stride, offset)
        if data is None:
            cells = self.fill.make_storage(SHORT[dtype], n, fill, seed, high, dim, size, stride, offset)
        else:
            assert len(data) == n
            cells = torch.tensor(data, dtype=dtype)
        self.storages.append(cells)
        return self.on_storage(cells, size, stride, offset, requires_grad)

    def on_storage(self, cells, size, stride, offset, requires_grad):
        t = torch.empty(0, dtype=cells.dtype).set_(cells.untyped_storage(), offset, size, stride)
        return t.requires_grad_() if requires_grad else t

    def input_view(self, base, size, stride, offset=0, requires_grad=False):
        cells = next(c for c in self.storages if c.untyped_storage().data_ptr() == base.untyped_storage().data_ptr())
        return self.on_storage(cells, size, stride, offset, requires_grad)

    def node(self, name: str, op: str, args: str) -> None:
        if op == "sym":
            self.env[name] = self.changes.get(name, int(args))
            return
        if op in ("input", "input_view"):
            f = getattr(self, op)
            more = self.changes.get(name, {})
            args = re.sub(r",? *(%s)=(\[[^]]*\]|[^,)]*)" % "|".join(more), "", args) if more else args
            args += "".join(f", {k}={v!r}" for k, v in more.items())
        elif op == "getitem":
            f = lambda t, i: t[i]  # noqa: E731
        elif op == "item":
            f = item
        else:
            packet, _, overload = op.partition(".")
            f = aten = getattr(getattr(torch.ops.aten, packet), overload or "default")
            if "count" not in {a.name for a in aten._schema.arguments}:     # what a program states of its data (eager/lang/stated.h)
                f = lambda *a, count=None, **k: aten(*a, **k)  # noqa: E731, ARG005
        self.env[name] = eval(f"run_({args})", {**self.env, "run_": f})  # noqa: S307
        if op in ("input", "input_view"):
            if "requires_grad=True" in args:
                self.leaves[name] = self.env[name]

    def run(self) -> list:
        cot = self.cotangent_names()
        for node in self.nodes:
            if node[0] not in cot or node[1] == "input":
                self.node(*node)
        with torch.no_grad():
            for node in self.nodes:
                if node[0] in cot and node[1] != "input":
                    self.node(*node)
        if self.back:
            torch.autograd.backward([self.env[o] for o, _ in self.back], [self.env[c] for _, c in self.back])
        lines = [f"# out {i}: {show(self.env[n], True)}" for i, n in enumerate(self.ret)]
        if self.back:
            lines += [f"# grad {n}: {show(t.grad, False)}" for n, t in self.leaves.items()]
        return lines + [f"# storage {i}:{values(c)}" for i, c in enumerate(self.storages)]


def values(t: torch.Tensor) -> str:
    t = t.detach()
    if not t.is_floating_point():
        return "".join(f" {int(v)}" for v in t.reshape(-1).tolist())
    form = "%.17g" if t.dtype == torch.float64 else "%.9g"
    return "".join(" nan" if v != v else " " + form % (v + 0.0 if v else 0.0) for v in t.reshape(-1).tolist())


def show(t: Any, out: bool) -> str:
    if t is None:
        return "none"
    stride = [0 if n == 1 or t.numel() == 0 else s for n, s in zip(t.shape, t.stride())]
    return f"{SHORT[t.dtype]}{list(t.shape)}{stride}{' grad' if out and t.requires_grad else ''}{values(t)}"


def expectation(text: str, fill: Any) -> str:
    calls = [{}, *[call_changes(line) for line in text.splitlines() if line.startswith("call")]]
    try:
        lines = ["# eager: ok"]
        for changes in calls:
            lines += Run(text, fill, changes).run()
    except (RuntimeError, IndexError, ValueError) as e:
        message = str(e).splitlines()[0]
        message = re.split(r": \[|, but got| and does not have a grad_fn", message)[0]
        lines = [f"# eager: raised {type(e).__name__}: {message}"]
    return "\n".join(lines) + "\n"


# Units in the last place by which PyTorch's own answer may differ from one machine to another: its vector library rounds log, sqrt, ...
# by the processor's instruction set (seen: sqrt of f32, one unit; the gradient of pow's exponent, a product of pow and log, two units). Two
# such functions, each off by a unit, and two products that round what they hand on.
MACHINES_ULP = 4
# The same of sums of products, whose order the matrix library chooses by the processor: units of the greatest number of the tensor, as
# what cancels is off by the last place of what it was summed from (seen: attention, two units on a machine without AMX).
SUMS_ULP = 4
SUMS = re.compile(r" = (mm|bmm|addmm|baddbmm|mv|addmv|dot|convolution\w*|_scaled_dot_product\w*)\(")
# dtypes: digits; written by tests/unit/dtype_tables.py
DIGITS = {  # stored bits of the significand
    "f8_e4m3fn": 3, "f8_e5m2": 2, "f16": 10, "bf16": 7, "f32": 23, "f64": 52,
}
# dtypes end


def near(a: str, b: str, dtype: str, greatest: float) -> bool:
    """Two numbers of a line: equal, or that close. greatest: of the line, if it holds sums of products, else 0."""
    try:
        x, y = float(a), float(b)
    except ValueError:
        return a == b
    if a == b or dtype not in DIGITS or not (math.isfinite(x) and math.isfinite(y)):
        return a == b
    ulp = 2.0 ** (math.frexp(greatest or max(abs(x), abs(y)))[1] - 1 - DIGITS[dtype])
    # Nine digits tell two f32 apart, but are not the f32: the last of them is no unit.
    return round(abs(x - y) / ulp) <= (SUMS_ULP if greatest else MACHINES_ULP)


def greatest_of(words: list) -> float:
    numbers = [abs(float(w)) for w in words if re.fullmatch(r"-?\d+(\.\d*)?(e[-+]\d+)?", w)]
    return max(numbers, default=0.0)


def alike(old: str, new: str, sums: bool) -> bool:
    """Line for line the same words, and numbers that are near in the line's dtype ("# out 0: f32[2, 3][3, 1] grad 1.354 ...")."""
    lines, others = old.splitlines(), new.splitlines()
    if len(lines) != len(others):
        return False
    for line, other in zip(lines, others):
        words, theirs = line.split(), other.split()
        dtype = next((d for d in DIGITS for w in words if w.startswith(f"{d}[")), "f32" if line.startswith("# storage") else "")
        greatest = greatest_of(words[3:]) if sums and not line.startswith("# storage") else 0.0
        if len(words) != len(theirs) or not all(near(a, b, dtype, greatest) for a, b in zip(words, theirs)):
            return False
    return True


def main() -> int:
    args = sys.argv[1:]
    update = args[0] == "--update"
    fill, bad, last_bits = load(args[update]), 0, 0
    for path in args[1 + update :]:
        text = open(path).read()
        head, _, old = text.partition("# eager:")
        new = expectation(head, fill)
        if update:
            open(path, "w").write(head + new)
        elif "# eager:" + old != new and alike("# eager:" + old, new, bool(SUMS.search(head))):
            last_bits += 1
            print(f"{path}: the last bits differ on this machine")
        elif "# eager:" + old != new:
            bad += 1
            print(f"{path}\n--- file\n# eager:{old}--- PyTorch {torch.__version__}\n{new}")
    print(f"{len(args) - 1 - update} programs, {bad} differ, {last_bits} in their last bits alone")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
