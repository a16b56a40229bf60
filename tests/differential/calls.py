"""calls.py: calls of operators: as `scatterproof gen --calls` prints them, or as PyTorch makes them (opinfo.py); what both sides run."""
from __future__ import annotations

import ast
import json
import math
import re
import subprocess

import torch

T_INPLACE_VIEW = 1 << 20
# dtypes: short names; written by tests/unit/dtype_tables.py
DT = {
    "b8": torch.bool, "u8": torch.uint8, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64,
    "u16": torch.uint16, "u32": torch.uint32, "u64": torch.uint64, "f8_e4m3fn": torch.float8_e4m3fn,
    "f8_e5m2": torch.float8_e5m2, "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32,
    "f64": torch.float64,
}
# dtypes end
NAME = {v: k for k, v in DT.items()}


def has_gradient(dtype: torch.dtype) -> bool:
    """Gradients are taken of it: of the small floats PyTorch adds no two cotangents (dtype.h, dtype_has_grad)."""
    return dtype.is_floating_point and dtype.itemsize > 1


FLOATS = [name for name, dtype in DT.items() if dtype.is_floating_point]

_table: dict[str, dict] = {}


def lacks_derivative(op):
    """Does PyTorch have no derivative of the row (role.def)?"""
    return any(p["role"].endswith("no_gradient") for p in op["params"])


def set_table(table):
    for op in table:
        inner = op["schema"][1:op["schema"].index(") ->")]
        roles = []
        for piece in [p for p in re.split(r", (?![^<]*>|[^\[]*\])", inner) if p and p != "*"]:
            m = re.match(r"[A-Za-z]+(?:\?\[\]|\[[0-9]*\])?(?:<([a-z_0-9]+)(?::([^>]*))?>)?", piece)
            roles.append(m.group(1) or "any")
        assert len(roles) == len(op["params"]), op["name"]
        for p, r in zip(op["params"], roles):
            p["role"] = r
        _table[op["name"]] = op
    for op in table:
        op["computing"] = re.sub(r"_(?=\.|$)", "", op["name"]) if op["family"] == "inplace" else op["name"]


def read_table(opcall):
    """The op table by name, as the program `opcall` prints it."""
    lines = subprocess.run([opcall, "--ops"], capture_output=True, text=True, check=True).stdout.splitlines()
    set_table([json.loads(line) for line in lines])
    return _table


# ---- data ----

def hex_of(t):
    t = t.detach().contiguous()
    if t.numel() == 0:
        return "-"
    return bytes(t.reshape(-1).view(torch.uint8).tolist()).hex()


def from_hex(s, dtype, size):
    if s == "-":
        return torch.empty(size, dtype=dtype)
    raw = torch.frombuffer(bytearray(bytes.fromhex(s)), dtype=torch.uint8)
    return raw.view(dtype).reshape(size).clone()


def cotangent(rng, like):
    """A gradient of a result's dtype and sizes."""
    n = like.numel()
    values = [rng.randint(-32, 32) / 8 for _ in range(n)] if rng.random() < 0.7 else [rng.gauss(0, 1) for _ in range(n)]
    return torch.tensor(values, dtype=torch.float64).to(like.dtype).reshape(like.shape)


class Spec:
    """A tensor operand: storage cells and a geometry."""

    def __init__(self, dtype, size, stride, offset, flat):
        self.dtype, self.size, self.stride, self.offset, self.flat = dtype, list(size), list(stride), offset, flat
        self.where = (0, 0)     # argument, entry
        self.before = None      # the storage before any call

    def tensor(self):
        if self.before is None:
            self.before = self.flat.clone()
        # aliasing is told by storage address, so views must be of the storage that Spec keeps
        self.flat = self.before.clone()
        return self.flat.as_strided(self.size, self.stride, self.offset)

    def numel(self):
        return math.prod(self.size)

    def hex(self):
        return hex_of(self.flat if self.before is None else self.before)


# ---- calls ----

def scalar_text(v):
    if isinstance(v, bool):
        return "True" if v else "False"
    if isinstance(v, int):
        return str(v)
    if math.isnan(v):
        return "nan"
    if math.isinf(v):
        return "inf" if v > 0 else "-inf"
    r = repr(v)
    return r if any(c in r for c in ".en") else r + ".0"


class Call:
    def __init__(self, op):
        self.op = op
        self.tensors: list[Spec] = []
        # per parameter: Spec, [Spec or None], int, list, bool, float, str, ("dtype" or "format", name), None, or OMIT
        self.args: list = []

    def add(self, arg, entry, spec):
        spec.where = (arg, entry)
        self.tensors.append(spec)
        return spec

    def python_args(self, tensors):
        by_id = {id(s): t for s, t in zip(self.tensors, tensors)}

        def conv(v):
            if isinstance(v, Spec):
                return by_id[id(v)]
            if isinstance(v, list):
                return [conv(x) for x in v]
            if isinstance(v, tuple):
                return DT[v[1]] if v[0] == "dtype" else getattr(torch, v[1])
            return v
        args, kwargs = [], {}
        for p, v in zip(self.op["params"], self.args):
            if v is OMIT or p["stated"]:
                continue
            if p["kwonly"] or (len(args) < self.op["params"].index(p)):
                kwargs[p["name"]] = conv(v)
            else:
                args.append(conv(v))
        return args, kwargs

    def doubled(self):
        cells = [(s, (s.flat if s.before is None else s.before).as_strided(s.size, s.stride, s.offset)) for s in self.tensors]
        return [t.to(torch.float64, copy=True) if s.dtype.is_floating_point else t.clone() for s, t in cells]

    def text(self):
        names = {id(s): f"x{i}" for i, s in enumerate(self.tensors)}

        def show(v, kind):
            if isinstance(v, Spec):
                return names[id(v)]
            if v is None:
                return "None"
            if isinstance(v, list):
                return "[" + ", ".join(show(x, kind) for x in v) + "]"
            if isinstance(v, tuple):
                return v[1]
            if isinstance(v, str):
                return f'"{v}"'
            return scalar_text(v)
        out = ["# scatterproof 1"]
        for i, s in enumerate(self.tensors):
            out.append(f"x{i} = input({s.size}, stride={s.stride}, offset={s.offset}, dtype={NAME[s.dtype]})")
        args = [f"{p['name']}={show(v, p['kind'])}" for p, v in zip(self.op["params"], self.args) if v is not OMIT]
        out.append(f"y = {self.op['name']}({', '.join(args)})")
        renamed = self.op["traits"] & T_INPLACE_VIEW
        out.append(f"return ({'x0' if self.tensors and not renamed else 'y'},)")
        return "\n".join(out) + "\n"


class Omit:
    pass


OMIT = Omit()


# ---- reading them ----

FORMATS = {"contiguous_format", "preserve_format", "channels_last", "channels_last_3d"}
NODE = re.compile(r"(\w+) = ([\w.]+)\((.*)\)$")


def literal(node, operands):
    """A value of a program's text: numbers, words, lists, names of operands, dtypes and formats."""
    if isinstance(node, ast.List):
        return [literal(x, operands) for x in node.elts]
    if isinstance(node, ast.Name):
        if node.id in ("inf", "nan"):
            return float(node.id)
        if node.id in DT or node.id in FORMATS:
            return ("dtype" if node.id in DT else "format", node.id)
        return operands[node.id]
    if isinstance(node, ast.UnaryOp):
        return -literal(node.operand, operands)
    return node.value


def operand(fill, given):
    """An input row: its cells are what fill.py makes of it."""
    def spec(size, stride=None, offset=0, dtype=("dtype", "f32"), fill_="dyadic", seed=0, high=0, dim=0, requires_grad=False, data=None):
        steps = [math.prod(max(n, 1) for n in size[d + 1:]) for d in range(len(size))] if stride is None else stride
        cells = 0 if 0 in size else offset + 1 + sum((n - 1) * s for n, s in zip(size, steps))
        flat = fill.make_storage(dtype[1], cells, fill_, seed, high, dim, size, steps, offset)
        if data is not None:
            flat = torch.tensor(data, dtype=DT[dtype[1]])
        return Spec(DT[dtype[1]], size, steps, offset, flat)
    positional, named = given
    return spec(*positional, **{"fill_" if k == "fill" else k: v for k, v in named.items()})


def read_call(text, fill):
    """The program of inputs and one row as a Call."""
    operands = {}
    for line in text.splitlines():
        found = NODE.match(line)
        if not found:
            continue
        name, op, args = found.groups()
        parsed = ast.parse(f"f({args})", mode="eval").body
        positional = [literal(x, operands) for x in parsed.args]
        named = {k.arg: literal(k.value, operands) for k in parsed.keywords}
        if op == "input":
            operands[name] = operand(fill, (positional, named))
            continue
        call = Call(_table[op])
        for k, p in enumerate(call.op["params"]):
            value = positional[k] if k < len(positional) else named.get(p["name"], OMIT)
            for entry, x in enumerate(value if isinstance(value, list) else [value]):
                if isinstance(x, Spec):
                    call.add(k, entry, x)
            call.args.append(value)
        return call
    raise ValueError(text)


# Rows whose calls of small floats are not compared yet (docs/adding-a-dtype.md): PyTorch 2.15.0 saturates where 2.11.0 and the built-in
# kernels make NaN; sums and prefix sums into them are refused by some kernels alone, for some sizes alone.
OPEN_SMALL_FLOATS = ("_to_copy", "copy", "fill_.Tensor", "mean.dim", "cumsum")


def generated(scatterproof, fill, count, ops=None, dtypes=None, seed=1):
    """What `scatterproof gen --calls` makes, in its order: of each row `count` calls, or with dtypes `count` of each."""
    more = (["--ops", ",".join(ops)] if ops else []) + (["--dtypes", ",".join(dtypes)] if dtypes else [])
    command = [scatterproof, "gen", "--calls", str(count), "--seed", str(seed), *more]
    out = subprocess.run(command, capture_output=True, text=True, check=True)
    made = [read_call(text, fill) for text in out.stdout.split("# scatterproof 1\n")[1:]]
    return [call for call in made if dtypes or call.op["name"] not in OPEN_SMALL_FLOATS or "f8_" not in call.text()]


def by_row(calls):
    """Calls by the name of their row."""
    found: dict[str, list] = {}
    for call in calls:
        found.setdefault(call.op["name"], []).append(call)
    return found
