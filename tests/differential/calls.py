"""calls.py: random operator calls, driven by the kinds and roles of the op table's schemas; mostly valid, some wrong on purpose."""
from __future__ import annotations

import json
import math
import random
import re
import struct
import subprocess

import torch

# dtypes: short names; written by tests/unit/dtype_tables.py
DT = {
    "b8": torch.bool, "u8": torch.uint8, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64,
    "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64,
}
# dtypes end
NAME = {v: k for k, v in DT.items()}
FLOATS = [name for name, dtype in DT.items() if dtype.is_floating_point]
T_MUTATES, T_ACCUMULATES, T_NUMBERS = 4, 1 << 12, 1 << 13
SIZES = [0, 1, 1, 2, 2, 3, 3, 4, 5, 7, 8, 9, 17]

# PyTorch trusts the sizes of their operands and reads outside of them.
UNCHECKED = ("_log_softmax_backward_data", "native_layer_norm_backward")

_table: dict[str, dict] = {}


def set_table(table):
    for op in table:
        inner = op["schema"][1:op["schema"].index(") ->")]
        roles = []
        for piece in [p for p in re.split(r", (?![^<]*>)", inner) if p and p != "*"]:
            m = re.match(r"[A-Za-z]+(?:\?\[\]|\[\])?(?:<([a-z_0-9]+)(?::([^>]*))?>)?", piece)
            roles.append(m.group(1) or "any")
        assert len(roles) == len(op["params"]), op["name"]
        for p, r in zip(op["params"], roles):
            p["role"] = r
        _table[op["name"]] = op


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


SPECIAL = [math.inf, -math.inf, math.nan, -0.0, 0.0, 1e-40, 65504.0, 3e38, -1.0, 0.5]


def random_values(rng, n, dtype, fill):
    if dtype == torch.bool:
        return torch.tensor([rng.random() < 0.5 for _ in range(n)], dtype=dtype)
    if not dtype.is_floating_point:
        info = torch.iinfo(dtype)
        if fill == "special":
            limits = [info.min, info.max, 0, 1, 2]
            values = [rng.choice(limits) if rng.random() < 0.3 else rng.randint(max(info.min, -8), 8) for _ in range(n)]
            return torch.tensor(values, dtype=dtype)
        if fill == "ties":
            return torch.tensor([rng.randint(0 if info.min == 0 else -1, 2) for _ in range(n)], dtype=dtype)
        lo, hi = (max(info.min, -100), min(info.max, 100)) if fill == "normal" else (max(info.min, -8), 8)
        return torch.tensor([rng.randint(lo, hi) for _ in range(n)], dtype=dtype)
    if fill == "normal":
        return torch.tensor([rng.gauss(0, 1) for _ in range(n)], dtype=torch.float64).to(dtype)
    if fill == "special":
        values = [rng.choice(SPECIAL) if rng.random() < 0.3 else rng.randint(-16, 16) / 8 for _ in range(n)]
        return torch.tensor(values, dtype=torch.float64).to(dtype)
    if fill == "ties":
        return torch.tensor([float(rng.randint(-1, 2)) for _ in range(n)], dtype=dtype)
    if fill == "positive":
        return torch.tensor([rng.randint(1, 32) / 8 for _ in range(n)], dtype=dtype)
    return torch.tensor([rng.randint(-32, 32) / 8 for _ in range(n)], dtype=dtype)


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


def layout(rng, size, writable, dense, overlaps=True):
    """Strides and offset for sizes: contiguous, permuted, gaps, broadcast."""
    rank = len(size)
    order = list(range(rank))
    kind = rng.random()
    if rank >= 4 and rng.random() < 0.3:
        order = [0, *range(2, rank), 1]     # channels last
    elif kind > 0.5:
        rng.shuffle(order)
    overlap = overlaps and not writable and not dense and rng.random() < 0.04
    stride, s = [0] * rank, 1
    for d in reversed(order):
        if not writable and not dense and rng.random() < 0.08:
            stride[d] = 0
            continue
        if not dense and kind > 0.75 and rng.random() < 0.4:
            s *= rng.choice([2, 3])
        stride[d] = s
        if not overlap or rng.random() < 0.5:
            s *= max(size[d], 1)
    return stride, 0 if dense or rng.random() < 0.8 else rng.randint(1, 5)


def make(rng, dtype, size, fill=None, writable=False, dense=False, values=None, overlaps=True):
    stride, offset = layout(rng, size, writable, dense, overlaps)
    n = math.prod(size)
    cells = 0 if n == 0 else offset + 1 + sum((s - 1) * st for s, st in zip(size, stride))
    fill = fill or rng.choice(["dyadic"] * 4 + ["normal"] * 3 + ["special"] * 2 + ["ties"])
    flat = random_values(rng, cells, dtype, fill)
    spec = Spec(dtype, size, stride, offset, flat)
    if values is not None and n:
        v = values() if callable(values) else values
        # written through the view; overlapping strides are not used with given values
        flat.as_strided(size, stride, offset).copy_(v.reshape(size))
    return spec


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
        return [t.to(torch.float64) if s.dtype.is_floating_point else t.clone() for s, t in cells]

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
        out.append(f"return ({'x0' if self.tensors else 'y'},)")
        return "\n".join(out) + "\n"


class Omit:
    pass


OMIT = Omit()


def random_size(rng, rank=None, low=0):
    if rank is None:
        rank = rng.choice([0, 1, 1, 2, 2, 2, 3, 3, 4, 5])
    while True:
        size = [max(low, rng.choice(SIZES)) for _ in range(rank)]
        if 0 in size and rng.random() < 0.6:
            continue
        if math.prod(size) <= 400:
            return size


def broadcastable(rng, size, to_self):
    out = [s if rng.random() < 0.7 else 1 for s in size]
    k = rng.randint(0, len(out)) if rng.random() < 0.35 else 0
    out = out[k:]
    if not to_self and rng.random() < 0.2:
        out = [rng.choice([1, 2, 3])] + out if len(out) == len(size) and len(out) < 6 else out
    return out


class Gen:
    def __init__(self, op, rng):
        self.op, self.rng = op, rng
        self.call = Call(op)
        self.params = op["params"]
        self.wrong = rng.random() < 0.12        # one thing may be wrong
        dts = op["dtypes"]
        self.dtype = DT[rng.choice([d for d in dts for _ in range(3 if d == "f32" else 1)])]
        self.self_size: list[int] = []
        self.dim = None
        self.values: dict[str, object] = {}
        self.mixed = rng.random() < 0.3     # parameters in f32 beside halves
        self.mutates = bool(op["traits"] & T_MUTATES)
        self.like_src: Spec | None = None

    def spoil(self):
        """True once in a while in a call chosen to be wrong."""
        return self.wrong and self.rng.random() < 0.5

    # -- tensors --
    def tensor(self, p):
        rng, role = self.rng, p["role"]
        f = getattr(self, "t_" + role, self.self_of if p["self"] else None)
        if f is None:
            raise NotImplementedError(f"role {role} of {self.op['name']}")
        return f(p)

    def own(self, size, writable=None, dense=False, packed=False):
        self.self_size = size
        fill = None
        if self.op["name"] in ("log", "log1p", "sqrt", "rsqrt", "pow.Tensor_Scalar", "logsumexp") and self.rng.random() < 0.5:
            fill = "positive"
        # these keep the strides of a base that overlaps without stride 0, and then write it in an order of PyTorch's own
        overlaps = self.op["name"] not in ("slice_scatter", "select_scatter", "diagonal_scatter")
        spec = make(self.rng, self.dtype, size, fill=fill, writable=self.mutates, dense=dense or packed, overlaps=overlaps)
        if packed:
            spec.stride, spec.offset = [math.prod(size[d + 1:]) for d in range(len(size))], 0
        return spec

    def t_any(self, p):
        if self.params[0]["role"] == "mask" and not self.spoil():      # where.self: sizes that suit the condition
            return self.own([s if self.rng.random() < 0.8 else 1 for s in self.self_size])
        if any(q["kind"] == "format" for q in self.params) and self.rng.random() < 0.6:
            return self.own(random_size(self.rng, self.rng.choice([4, 4, 5])))
        return self.own(random_size(self.rng))

    def self_of(self, p):
        """A self of as many dimensions as its role wants; now and then the role's own example."""
        lo, hi = p["min_rank"], min(p["max_rank"], 4)
        if self.spoil():
            return self.own(random_size(self.rng, lo - 1 if lo else hi + 1))
        if self.rng.random() < 0.1:
            return self.own(json.loads(p["example"]))
        return self.own(random_size(self.rng, self.rng.randint(lo, hi)))

    def t_matrix(self, p):
        if self.self_size and self.params[0]["role"] == "bias":    # addmm: the bias came first
            m, n = self.product
            return make(self.rng, self.odd_dtype(), [m, self.inner])
        return self.own(random_size(self.rng, 2 if not self.spoil() else 1))

    def t_loss(self, p):        # comes before what its sizes follow from
        size = random_size(self.rng, self.rng.choice([1, 2]))
        self.own(size[:-1] + [max(size[-1], 1)])
        self.reduction = self.rng.choice([0, 1, 2])
        each = self.reduction == 0 and len(self.self_size) == 2
        size = [self.self_size[0]] if each else []
        return make(self.rng, self.dtype, random_size(self.rng) if self.spoil() else size)

    def t_classes(self, p):
        size = self.self_size or random_size(self.rng, self.rng.choice([1, 2, 2]))
        if self.spoil():
            size = random_size(self.rng, low=1)
        return self.own(size)

    def t_labels(self, p):
        size, classes = list(self.self_size[:-1]), self.self_size[-1] if self.self_size else 1
        if len(self.self_size) == 1 and self.rng.random() < 0.3:
            size = [1]
        if self.spoil():
            size = random_size(self.rng)
        v = self.indices(math.prod(size), max(classes, 1))
        if self.spoil() and v.numel() and self.op["name"] == "nll_loss_forward":    # nll_loss_backward writes outside of its result
            v[0] = classes + 2
        dt = torch.int64 if not self.spoil() else self.rng.choice([torch.int32, torch.uint8])
        return make(self.rng, dt, size, fill="ties", writable=True, values=v)

    def t_class_weights(self, p):
        size = self.self_size[-1:] if not self.spoil() else random_size(self.rng)
        return make(self.rng, self.odd_dtype(), size, fill=self.rng.choice(["positive", "dyadic"]))

    def t_total(self, p):
        return make(self.rng, self.odd_dtype(), [], fill="positive")

    def t_normed(self, p):
        size = random_size(self.rng) if self.spoil() else self.shape
        dt = torch.float32 if self.dtype in (torch.float16, torch.bfloat16) and self.mixed else self.odd_dtype()
        return make(self.rng, dt, size)

    t_shift = t_normed

    def t_moment(self, p):
        size = self.self_size[:len(self.self_size) - len(self.shape)] + [1] * len(self.shape)
        affine = any(a is not None for q, a in zip(self.params, self.call.args) if q["role"] in ("normed", "shift"))
        dt = torch.float32 if self.dtype in (torch.float16, torch.bfloat16) and self.mixed and affine else self.dtype
        spec = make(self.rng, dt, size, fill="positive", dense=True)
        spec.stride, spec.offset = [math.prod(spec.size[d + 1:]) for d in range(len(spec.size))], 0
        return spec

    def s_normalized(self, p):
        n = self.rng.randint(1, max(len(self.self_size), 1)) if self.rng.random() < 0.4 else 1
        self.shape = list(self.self_size[len(self.self_size) - n:]) if self.self_size else []
        if self.spoil():
            self.shape = self.rng.choice([[], self.shape + [2], [3, *self.shape], random_size(self.rng)])
        return self.shape

    def t_dense(self, p):
        return self.own(random_size(self.rng), dense=True)

    def other_dtype(self):
        if self.op["family"] in ("pointwise", "inplace") and self.rng.random() < 0.4:
            return DT[self.rng.choice(list(DT))]
        return self.odd_dtype()

    def odd_dtype(self):
        return DT[self.rng.choice(list(DT))] if self.spoil() else self.dtype

    def t_bcast(self, p):
        size = broadcastable(self.rng, self.self_size, False)
        if self.spoil():
            size = random_size(self.rng)
        return make(self.rng, self.other_dtype(), size)

    def t_bcast_to(self, p):
        size = broadcastable(self.rng, self.self_size, True)
        if self.spoil():
            size = random_size(self.rng)
        return make(self.rng, self.other_dtype(), size)

    def t_same(self, p):
        return make(self.rng, self.odd_dtype(), random_size(self.rng) if self.spoil() and self.op["name"] not in UNCHECKED else self.self_size)

    def t_zero_dim(self, p):
        return make(self.rng, self.odd_dtype(), [])

    def t_mat2(self, p):
        rng = self.rng
        first = self.call.tensors[-1].size
        if len(first) == 3:
            size = [first[0], first[2], rng.choice(SIZES)]
        elif len(first) == 2:
            n = self.product[1] if self.op["name"] == "addmm" else rng.choice(SIZES)
            size = [first[1], n]
        else:
            size = list(first)
        if self.spoil():
            size = random_size(rng, len(size))
        return make(rng, self.odd_dtype(), size)

    def t_vec2(self, p):
        first = self.call.tensors[-1].size
        size = [first[-1]] if first and not self.spoil() else random_size(self.rng, self.rng.choice([1, 2]))
        return make(self.rng, self.odd_dtype(), size)

    def t_bias(self, p):
        self.product = (self.rng.choice(SIZES), self.rng.choice(SIZES))
        self.inner = self.rng.choice(SIZES)
        size = broadcastable(self.rng, list(self.product), True)
        if self.spoil():
            size = random_size(self.rng)
        s = make(self.rng, self.dtype, size)
        self.self_size = [1]
        return s

    # -- index tensors --
    def dim_size(self):
        d = self.the_dim()
        if not self.self_size:
            return 1
        if d is None or not -len(self.self_size) <= d < len(self.self_size):
            return 1
        return self.self_size[d]

    def the_dim(self):
        """The call's `dim`, drawn early because index tensors depend on it."""
        if self.dim is None:
            r = max(len(self.self_size), 1)
            self.dim = self.rng.randint(-r, r - 1)
            if self.spoil():
                self.dim = self.rng.choice([-r - 1, r, r + 3])
        return self.dim

    def indices(self, n, size, negative=False):
        lo = -size if negative and self.rng.random() < 0.3 else 0
        return torch.tensor([self.rng.randint(lo, size - 1) if size else 0 for _ in range(n)], dtype=torch.int64)

    def index_tensor(self, size, values):
        dt = torch.int64
        if self.rng.random() < 0.1:
            dt = torch.int32 if not self.spoil() else torch.int16
        s = make(self.rng, dt, size, fill="ties", writable=True, values=values)
        return s

    def t_index1(self, p):
        n = self.rng.choice([0, 1, 2, 3, 5]) if self.dim_size() else 0
        v = self.indices(n, self.dim_size())
        if self.spoil() and n:
            v[0] = self.dim_size() + 2
        return self.index_tensor([n], v)

    def t_unique1(self, p):
        size = self.dim_size()
        n = self.rng.randint(0, size)
        return self.index_tensor([n], torch.tensor(self.rng.sample(range(size), n), dtype=torch.int64))

    def t_indexn(self, p, unique=False):
        d = self.the_dim()
        size = [self.rng.randint(0 if self.rng.random() < 0.1 else min(s, 1), s) for s in self.self_size]
        top = self.dim_size()
        if size and -len(size) <= d < len(size):
            if self.self_size[d] == 0:
                size[d] = 0
            elif not unique:
                size[d] = self.rng.randint(1, 6)
        if self.spoil() and size:
            size[self.rng.randrange(len(size))] += 3
        n = math.prod(size)
        if unique and size and -len(size) <= d < len(size) and size[d] <= top:
            v = torch.empty(size, dtype=torch.int64)
            vt = v.movedim(d, -1).reshape(-1, size[d]) if n else None
            if n:
                rows = [self.rng.sample(range(top), size[d]) for _ in range(vt.shape[0])]
                moved = [size[i] for i in range(len(size)) if i != d % len(size)] + [size[d]]
                v = torch.tensor(rows, dtype=torch.int64).reshape(moved).movedim(-1, d)
        else:
            v = self.indices(n, max(top, 1))
        if self.spoil() and n:
            v = v.clone()
            v.reshape(-1)[0] = top + 5
        self.index_size = size
        return self.index_tensor(size, v.reshape(size) if n else v)

    def t_uniquen(self, p):
        return self.t_indexn(p, unique=True)

    def t_srcn(self, p):
        # PyTorch refuses to differentiate a src larger than index (and errs for some of scatter_reduce).
        more = self.rng.random() < 0.25 and not (self.op["name"] == "scatter_reduce.two" and self.dtype.is_floating_point)
        size = [s + (self.rng.choice([0, 0, 1, 2]) if more else 0) for s in self.index_size]
        if self.spoil() and size:
            size[0] = max(0, size[0] - 3)
        return make(self.rng, self.odd_dtype(), size)

    def t_ids(self, p):
        size = random_size(self.rng, self.rng.choice([0, 1, 2, 3]))
        top = self.self_size[0] if self.self_size else 1
        if top == 0:
            size = [0]
        v = self.indices(math.prod(size), max(top, 1))
        return self.index_tensor(size, v)

    def t_rows(self, p):
        size = list(self.self_size[:-1])
        self.nrows = self.rng.choice([1, 2, 3, 5])
        v = self.indices(math.prod(size), self.nrows)
        if self.spoil():
            size, v = size + [2], self.indices(2 * math.prod(size), self.nrows)
        return self.index_tensor(size, v)

    def t_packed(self, p):
        return self.own(random_size(self.rng), packed=True)

    def t_mask(self, p):
        if p is self.params[0]:             # where.self: the condition comes before self
            self.self_size = random_size(self.rng)
            return make(self.rng, torch.bool if not self.spoil() else self.dtype, broadcastable(self.rng, self.self_size, True))
        to_self = self.mutates
        size = broadcastable(self.rng, self.self_size, to_self)
        if self.spoil():
            size = random_size(self.rng)
        return make(self.rng, torch.bool if not self.spoil() else self.dtype, size)

    def t_source(self, p):
        size = random_size(self.rng, 1)
        need = math.prod(self.self_size)
        if math.prod(size) < need and not self.spoil():
            size = [need + self.rng.choice([0, 1, 4])]
        return make(self.rng, self.odd_dtype(), size)

    def t_like(self, p):
        return None     # filled in afterwards

    def t_values(self, p):
        return None

    # -- lists of tensors --
    def tensors(self, k, p):
        rng, role = self.rng, p["role"]
        if role in ("cat", "same", "any"):
            size = random_size(rng, None if role != "cat" else rng.choice([1, 2, 3]))
            self.self_size = size
            out = []
            d = self.the_dim()
            for i in range(rng.randint(1, 4)):
                s = list(size)
                if role == "cat" and -len(s) <= d < len(s):
                    s[d] = rng.choice(SIZES)
                if self.spoil():
                    s = random_size(rng)
                if role == "cat" and rng.random() < 0.05:
                    s = [0]
                dt = DT[rng.choice(list(DT))] if rng.random() < 0.15 else self.dtype
                out.append(self.call.add(k, i, make(rng, dt, s)))
            return out
        if role == "uindices" and rng.random() < 0.2:
            return self.mask_list(k)
        if self.spoil():
            return [None] * rng.choice([0, 1])
        return self.index_list(k, role == "uindices" and not self.accumulate)

    def mask_list(self, k):
        """Holes and one mask."""
        rng, rank = self.rng, len(self.self_size)
        at = rng.randint(0, rank)
        size = self.self_size[at:at + rng.choice([1, 1, 2])] if rng.random() < 0.95 else []
        if self.spoil() and size:
            size[0] += 1
        s = make(rng, torch.bool if rng.random() < 0.9 else torch.uint8, size)
        return [None] * at + [self.call.add(k, at, s)]

    def index_list(self, k, unique):
        rng, out, d, i = self.rng, [], 0, 0
        rank = len(self.self_size)
        shape = random_size(rng, rng.choice([0, 1, 1, 2]), low=1) if math.prod(self.self_size) else [0]
        if unique:
            shape = [rng.randint(0, min([s for s in self.self_size] or [1]))]
        while d < rank and i < rank:
            r = rng.random()
            if r < 0.3 and i < rank:
                out.append(None)
                d += 1
            elif r < 0.45 and not unique:
                m = rng.choice([1, 2]) if d + 2 <= rank else 1
                size = self.self_size[d:d + m]
                want = math.prod(shape)
                total = math.prod(size)
                mask = torch.zeros(total, dtype=torch.bool)
                cnt = want if len(shape) <= 1 and want <= total else min(1, total)
                for j in rng.sample(range(total), cnt):
                    mask[j] = True
                s = make(rng, torch.bool, size, writable=True, values=mask)
                out.append(self.call.add(k, i, s))
                d += m
            else:
                top = self.self_size[d]
                sz = shape if unique else broadcastable(rng, shape, True)
                n = math.prod(sz)
                v = torch.tensor(rng.sample(range(top), n), dtype=torch.int64) if unique else self.indices(n, max(top, 1), negative=True)
                if self.spoil() and n:
                    v[0] = top + 1
                out.append(self.call.add(k, i, self.index_tensor(sz, v)))
                d += 1
            i += 1
            if rng.random() < 0.3:
                break
        if all(o is None for o in out):
            n = shape[0] if unique else max(1, rng.randint(0, 3))
            top = self.self_size[0] if rank else 1
            if unique:
                v = torch.tensor(rng.sample(range(top), min(n, top)), dtype=torch.int64)
            else:
                v = self.indices(n if top else 0, max(top, 1))
            out = [self.call.add(k, 0, self.index_tensor([v.numel()], v))]
        return out

    # -- everything else --
    def scalar(self, p):
        rng = self.rng
        if p["name"] == "alpha" and rng.random() < 0.5 and "default" in p:
            return OMIT
        if p["name"] == "correction":
            return rng.choice([OMIT, None, 0, 1, 1, 2, 3, 0.5])
        if p["role"] == "bound" and rng.random() < 0.3:
            return None
        if p["role"] == "range":
            v = rng.choice([0, 1, 3, 7, -2, 2.5, 4.0, -1.5, True] if p["name"] != "step" else [1, 2, -1, 0.5, -0.25, 3])
            return v if not self.spoil() else rng.choice([0, -5, math.nan, math.inf, 1e30])
        if "default" in p and p["name"] == "step" and rng.random() < 0.3:
            return OMIT
        if self.op["name"] == "addmm":
            return rng.choice([OMIT, 0, 1, 2, -1, 0.5, -1.25, 3.7])
        if p["name"] == "exponent":
            return rng.choice([0, 1, 2, 3, -1, -2, 0.5, -0.5, 2.5, 1.5, 4, 2.0, 3.0])
        r = rng.random()
        if self.dtype.is_floating_point or self.op["licence"] == "COMPARE" or r < 0.3:
            v = rng.choice([0.5, -1.25, 2.0, 3.7, 0.1, 1e-3, 0.0, -2, 3, 1, 0])
            if r > 0.93:
                v = rng.choice([math.inf, -math.inf, math.nan])
        else:
            v = rng.choice([0, 1, 2, 3, -1, -2, 7])
        if self.dtype == torch.bool and r < 0.6 or self.spoil():
            v = rng.choice([True, False, 300, -300, 255, -255, 70000, 1e6, -1e10, 1e300, 2**62])
        return v

    def wide(self, lo, hi):
        """An integer around [lo, hi], out of it when spoiled."""
        return self.rng.randint(lo, max(lo, hi)) if not self.spoil() else self.rng.choice([lo - 1, hi + 1, lo - 3, hi + 7])

    def number_stands(self, k, p):
        """A Python number in place of a tensor: where the row takes one, beside at least one tensor."""
        if not self.op["traits"] & T_NUMBERS or p["written"] or self.rng.random() > 0.3:
            return False
        return k == 0 or bool(self.call.tensors)

    def whole(self, p):
        """Sizes of a tensor and the part of it that self is, all at the first question."""
        rng, names = self.rng, [q["name"] for q in self.params if q["role"] == "whole"]
        if names[0] in self.values:
            return self.values[p["name"]]
        size, spoiled, v = list(self.self_size), self.spoil(), self.values
        if "start" in names:
            d = rng.randrange(len(size)) if size else 0
            n, step, start = size[d] if size else 1, rng.randint(1, 3), rng.randint(0, 3)
            end = start + max((n - 1) * step + 1, 0)
            size[d:d + 1] = [end + rng.randint(0, 3)]
            v.update(start=start, end=end if not spoiled else rng.randint(-3, end + 3), step=step if not self.spoil() else 0)
            if start and rng.random() < 0.4:
                v["start"] = start - size[d]
        elif "index" in names:
            d, n = rng.randint(0, len(size)), rng.randint(1, 5)
            size.insert(d, n)
            v["index"] = self.wide(-n, n - 1)
        elif "offset" in names:
            n, off = size.pop() if size else 1, rng.randint(-3, 3)
            a, b = rng.randint(0, len(size)), rng.randint(0, len(size) + 1)
            size.insert(a, n + max(-off, 0) + rng.choice([0, 0, 1]))
            size.insert(b, n + max(off, 0))
            a += b <= a
            v.update(offset=off if not spoiled else off + 1, dim1=rng.choice([a, a - len(size)]), dim2=rng.choice([b, b - len(size)]))
            d = 0
        else:
            n = size.pop() if size else 1
            d = rng.randrange(len(size)) if size else 0
            count, step = size[d] if size else 1, rng.randint(1, 5) if size or n < 2 else n
            if size:
                size[d] = max((count - 1) * step + n + rng.randrange(step), 0)
            # PyTorch checks the sizes only where windows do not overlap
            spoiled = spoiled and step >= n
            v.update(size=n, step=step)
        if spoiled and size:
            size[rng.randrange(len(size))] += rng.choice([1, 2])
        if rng.random() < 0.1 and ("step" not in names or "start" in names or v["step"] >= v["size"]):
            size = [rng.choice([2, 3]) if s == 1 and i != d else s for i, s in enumerate(size)]
        v["input_sizes"] = size
        if "dim" in names:
            v["dim"] = rng.choice([d, d - max(len(size), 1)]) if not self.spoil() or "size" in names else len(size) + 1
        return self.values[p["name"]]

    def value(self, k, p):
        rng, kind, role, name = self.rng, p["kind"], p["role"], p["name"]
        if role == "whole":
            return self.whole(p)
        if p["stated"]:
            return 0    # counted when the operands are there
        rank = len(self.self_size)
        if kind == "Tensor" and self.number_stands(k, p):
            return rng.choice([1, 2, 0, -1, 3, 0.5, 0.1, 1e-5, 3.7, -2.25, 1e30, math.inf, math.nan, True, False, 300, 2**40])
        if kind == "Tensor" and p["optional"] and rng.random() < 0.3:
            return None
        if kind == "Tensor":
            s = self.own(random_size(rng)) if k and not self.call.tensors else self.tensor(p)
            return None if s is None else self.call.add(k, 0, s)
        if kind == "Tensors":
            return self.tensors(k, p)
        if kind == "Scalar":
            return self.scalar(p)
        if kind == "bool":
            if role == "accumulate":
                return self.accumulate
            if role == "keep":
                return OMIT if "default" in p else self.spoil()
            return rng.choice([OMIT, True, False]) if "default" in p else rng.random() < 0.5
        if kind == "dtype" and role == "own":
            return ("dtype", NAME[self.odd_dtype()])
        if kind == "dtype":
            if any(isinstance(v, float) for v in self.call.args):
                return rng.choice([OMIT, ("dtype", rng.choice(FLOATS))])    # integers of such a range: 2.11 dies of a step of 0.5
            if rng.random() < 0.7:
                return OMIT
            return ("dtype", rng.choice(list(DT) if rng.random() < 0.3 else FLOATS))
        if kind == "format":
            return self.format_value(p, rank)
        if kind == "str":
            return rng.choice(p["words"].split("|")) if not self.spoil() else "median"
        if kind == "float":
            return rng.choice([1e-5, 1e-5, 0.5, 0.0, 1e-12, 1.0, 3.0])
        if kind == "bools":
            wanted = [True] + [a is not None for q, a in zip(self.params, self.call.args) if q["optional"]]
            return [(w or self.spoil()) and rng.random() < 0.8 for w in wanted]
        if kind == "Dim":
            return self.dim_value(p, role, rank)
        if kind == "Dims":
            return self.dims_value(p, role, rank)
        if kind in ("Size", "Ints"):
            return getattr(self, "s_" + role, self.integers)(p)
        return self.int_value(p, kind, role)

    def format_value(self, p, rank):
        legal = [OMIT, ("format", "contiguous_format")] + [None, ("format", "preserve_format")] * p["optional"]
        legal += [("format", "channels_last")] * 3 * (rank == 4) + [("format", "channels_last_3d")] * 3 * (rank == 5)
        every = ["contiguous_format", "preserve_format", "channels_last", "channels_last_3d"]
        return self.rng.choice(legal) if self.rng.random() < 0.9 else ("format", self.rng.choice(every))

    def dim_value(self, p, role, rank):
        rng = self.rng
        if role == "insert":
            d = rng.randint(-rank - 1, rank) if not self.spoil() else rank + 2
            self.values[p["name"]] = d
            return d
        if role == "distinct":
            before = self.values.get("dim1", 0)
            r = max(rank, 1)
            options = [d for d in range(-r, r) if (d - before) % r]
            v = rng.choice(options) if options and not self.spoil() else before
            return v
        if p["name"] in ("dim1", "dim0"):
            v = self.wide(-max(rank, 1), max(rank, 1) - 1)
            self.values[p["name"]] = v
            return v
        if "default" in p and rng.random() < 0.2:
            if p["default"] is None or self.dim is None:
                self.dim = p["default"] if self.dim is None else self.dim
                return OMIT
        if p.get("default", 0) is None and rng.random() < 0.15:
            return None
        return self.the_dim()

    def dims_value(self, p, role, rank):
        rng = self.rng
        if role == "perm":
            d = list(range(rank))
            rng.shuffle(d)
            if self.spoil() and d:
                d[0] = d[-1]
            return [x - rank if rng.random() < 0.3 else x for x in d]
        if p["optional"] and rng.random() < 0.15:
            return None
        if "default" in p and rng.random() < 0.15:
            return OMIT
        if rng.random() < 0.07:
            return []
        n = rng.randint(1, max(rank, 1))
        d = rng.sample(range(max(rank, 1)), n)
        if self.spoil():
            d.append(rng.choice([d[0], rank + 1, -rank - 2]))
        d = [x - max(rank, 1) if rng.random() < 0.3 else x for x in d]
        self.values["dims"] = d
        return d

    def int_value(self, p, kind, role):
        rng, name = self.rng, p["name"]
        if p["optional"] and rng.random() < 0.2:
            return None
        if "default" in p and rng.random() < 0.2:
            return OMIT
        if role == "nrows":
            return self.nrows
        if role == "reduction":
            return getattr(self, "reduction", rng.choice([0, 1, 2]))
        if role == "ignored":
            return rng.choice([-100, rng.randint(0, max(self.self_size[-1:] + [1]))])
        if role == "padding":
            rows = self.nrows if hasattr(self, "nrows") else (self.self_size or [0])[0]
            return rng.choice([-1, rng.randrange(rows)]) if rows else -1
        top = self.dim_size()
        if role == "diag":
            r = max(self.self_size or [1])
            return rng.randint(-r - 1, r + 1)
        if role == "window":
            return self.wide(1, top)
        if role == "count":
            return self.wide(0, top)
        if role == "chunk":
            return self.wide(1, top + 2)
        if role == "strided":
            return self.strided_offset
        if kind == "Step":
            return rng.randint(1, 4) if not self.spoil() else rng.choice([0, -1])
        if name == "index":
            return self.wide(-top, top - 1) if top else 0
        if name in ("start", "end"):
            return rng.randint(-top - 3, top + 3)
        if p["role"] != "any" and p["example"] and rng.random() < 0.5:
            return int(p["example"])
        return rng.randint(-3, 3)

    # -- sizes --
    def split_or_merge(self):
        rng, size = self.rng, list(self.self_size)
        for _ in range(rng.randint(0, 3)):
            if size and rng.random() < 0.5 and len(size) >= 2:
                d = rng.randrange(len(size) - 1)
                size[d:d + 2] = [size[d] * size[d + 1]]
            elif size:
                d = rng.randrange(len(size))
                div = [k for k in range(1, size[d] + 1) if size[d] % k == 0] or [1]
                k = rng.choice(div)
                if len(size) < 7 and size[d]:
                    size[d:d + 1] = [k, size[d] // k]
            else:
                size = [1]
        if rng.random() < 0.3 and size:
            size[rng.randrange(len(size))] = -1
        if self.spoil():
            size = size + [2]
        return size

    def integers(self, p):
        """Of a role that nothing more is known of: its example, or any few."""
        if p["example"] and self.rng.random() < 0.7:
            return json.loads(p["example"])
        return [self.rng.randint(-2, 4) for _ in range(self.rng.randint(0, 4))]

    def s_view(self, p):
        return self.split_or_merge()

    def s_reshape(self, p):
        return self.split_or_merge()

    def s_any(self, p):
        return random_size(self.rng)

    def s_expand(self, p):
        rng = self.rng
        size = [rng.choice([1, 2, 3]) for _ in range(rng.choice([0, 0, 1, 2]))]
        size += [rng.choice([0, 2, 3]) if s == 1 and rng.random() < 0.7 else s for s in self.self_size]
        lead = len(size) - len(self.self_size)
        size = [-1 if i >= lead and rng.random() < 0.2 else s for i, s in enumerate(size)]
        if self.spoil() and size:
            size[rng.randrange(len(size))] += 2
        return size

    def s_repeat(self, p):
        rng = self.rng
        r = [rng.choice([0, 1, 1, 2, 3]) for _ in range(len(self.self_size) + rng.choice([0, 0, 1]))]
        return r[1:] if self.spoil() and r else r

    def s_pad(self, p):
        rng = self.rng
        r = []
        for s in reversed(self.self_size[-rng.randint(0, len(self.self_size)):] if self.self_size else []):
            r += [rng.choice([0, 1, 2, -1 if s > 2 else 0]), rng.choice([0, 1, 3, -1 if s > 2 else 0])]
        if self.spoil():
            r = r + [rng.choice([1, -20])] * rng.choice([1, 2])
        return r

    def s_shifts(self, p):
        n = self.rng.randint(1, max(len(self.self_size), 1)) if self.rng.random() < 0.7 else 0
        self.nshift = n
        return [self.rng.randint(-5, 5) for _ in range(max(n, 1))]

    def s_strided(self, p):
        """A permutation of a part of a dense self."""
        rng = self.rng
        if p["kind"] == "Size":
            self.strided_size = self.strided_stride = None
            src = self.call.tensors[0]
            order = list(range(len(src.size)))
            rng.shuffle(order)
            size = [rng.randint(0 if src.size[d] == 0 else 1, src.size[d]) for d in order]
            stride = [src.stride[d] for d in order]
            reach = sum((src.size[d] - s) * st for d, s, st in zip(order, size, stride) if src.size[d])
            self.strided_offset = src.offset if not reach or rng.random() < 0.5 else src.offset
            if self.spoil():
                self.strided_offset += 10 ** 6
            self.strided_stride = stride
            return size
        return self.strided_stride

    # -- the whole call --
    def generate(self):
        op, rng = self.op, self.rng
        self.accumulate = rng.random() < 0.5
        call = self.call
        order = list(range(len(self.params)))
        call.args = [None] * len(order)
        if op["family"] == "factory" and op["name"] == "full":
            call.args = [random_size(rng), self.scalar(self.params[1]), OMIT if rng.random() < 0.4 else ("dtype", rng.choice(list(DT)))]
            return call
        order.sort(key=lambda k: self.params[k]["role"] == "moment")
        for k in order:
            call.args[k] = self.value(k, self.params[k])
        if op["name"] == "roll" and self.nshift == 0:
            call.args[2] = OMIT
        elif op["name"] == "roll":
            r = max(len(self.self_size), 1)
            call.args[2] = [rng.randint(-r, r - 1) for _ in range(self.nshift)] if not self.spoil() else [r + 1]
        self.late(call)
        for k, p in enumerate(self.params):
            if p["stated"]:
                call.args[k] = self.selected(call)
        return call

    def selected(self, call):
        """How many elements the data select: the true ones of the mask, else of self, broadcast with self."""
        at = next((k for k, p in enumerate(self.params) if p["role"] == "mask"), 0)
        seen = [call.args[k].tensor() for k in (at, 0)]
        try:
            return int((torch.broadcast_tensors(*seen)[0] != 0).sum())
        except RuntimeError:
            return 0    # refused for these sizes

    def late(self, call):
        """Operands whose sizes another operator decides."""
        for k, p in enumerate(self.params):
            if p["kind"] != "Tensor" or call.args[k] is not None or p["optional"]:
                continue
            size = self.deduce(call, k, p)
            if self.spoil():
                size = random_size(self.rng)
            dt = DT[self.rng.choice(list(DT))] if self.rng.random() < 0.05 else self.dtype
            call.args[k] = call.add(k, 0, make(self.rng, dt, size))

    def deduce(self, call, k, p):
        src = call.tensors[0]
        probe = torch.empty(src.size, dtype=src.dtype).as_strided(src.size, [0] * len(src.size))
        try:
            if p["role"] == "values":
                idx = [None if s is None else s.flat.as_strided(s.size, s.stride, s.offset) for s in call.args[1]]
                return broadcastable(self.rng, list(torch.ops.aten.index.Tensor(probe, idx).shape), True)
            like = _table[p["like"]]
            names = {q["name"]: v for q, v in zip(self.params, call.args)}
            args, kwargs = [], {}
            probe_call = Call(like)
            probe_call.args = [names.get(q["name"], OMIT) for q in like["params"]]
            probe_call.tensors = [s for s in call.tensors]
            args, kwargs = probe_call.python_args([s.flat.as_strided(s.size, s.stride, s.offset) for s in call.tensors])
            from rules_torch import overload
            return list(overload(like)(*args, **kwargs).shape)
        except Exception:  # noqa: BLE001
            return random_size(self.rng)


def generate(op, rng):
    return Gen(op, rng).generate()
