"""examples.py: small calls of every row of the op table, derived from kinds and roles: a plain one, one per argument that leaves its
default.

Sizes of self and values come from the roles' own examples (role.def). A row that needs what is known neither there nor here raises
Unknown: whoever asks fails, and nobody has to list rows.
An example is (row, operands, call): operands maps names to arguments of `input` ("{s}" stands for a seed; one letter: a float that may
require grad; two: an index or mask), call is the text of the arguments with "{name}" for operands.
"""
from __future__ import annotations

import json
import math
import string

import torch

T_MUTATES, T_NONDIFF, T_NUMBERS = 1 << 2, 1 << 8, 1 << 13
STRIDED = {"Size": [3, 2], "Ints": [1, 3]}
WHOLE = ({"input_sizes": [2, 9], "dim": 1, "start": 2, "end": 8, "step": 2}, {"input_sizes": [2, 4, 3], "dim": 1, "index": -1},
         {"input_sizes": [4, 2, 3], "offset": -1, "dim1": 0, "dim2": 2}, {"input_sizes": [4], "dim": 0, "size": 3, "step": 1})
GROUPED = {"N": 2, "C": 4, "HxW": 3, "group": 2}
SLIDING = {"stride": [2, 1], "padding": [1, 0], "dilation": [1, 2], "output_padding": [0, 0], "transposed": False}
POOLED = {"kernel_size": [2, 3], "stride": [2, 1], "padding": [1, 0], "dilation": [1, 2], "divisor_override": 3}
FOLLOWS = ("like", "convolved_no_gradient", "pooled_at", "adapted", "unpooled_at")
FACTORS = ("mat2", "vec2", "bias", "batch_bias")
INDEX = '[2], dtype=i64, seed={s}, fill="unique", high=2'
INDEXN = '[2, 3], dtype=i64, seed={s}, fill="unique", high=2'
SELECTING, SELECTED_BY = '[2, 3], data=[1, 0, 2, -1, 0, 3]', '[2, 3], dtype=b8, data=[True, False, True, True, False, True]'
NSELECTED = 4
NDIFFERENT = {"_unique2": 5, "unique_consecutive": 6, "unique_consecutive along 1": 3, "unique_dim": 2}  # in SELECTING
MASK = '[2, 3], dtype=b8, seed={s}, fill="mask"'
RANGE = {"start": 1, "end": 7, "step": 2}
LINE = {"start": 1, "end": 3, "steps": 5}


class Unknown(Exception):
    pass


def differentiable(op: dict) -> bool:
    return (op["family"] != "input" and op["name"] != "getitem" and not op["traits"] & T_NONDIFF and "f32" in op["dtypes"]
            and any(p["kind"].startswith("Tensor") for p in op["params"]))


class Example:
    """One call in the making; `choice` are arguments by name that are to differ from what is plain."""

    def __init__(self, op: dict, table: dict, choice: dict):
        self.op, self.table, self.choice = op, table, choice
        self.operands: dict[str, str] = {}
        self.plain: dict[str, object] = {}      # arguments for PyTorch's own shape rule of `like`
        self.size: list[int] = [2, 3]
        self.letters = iter(string.ascii_lowercase)

    def operand(self, size, index=None) -> str:
        name = next(self.letters)
        if index is None and "f32" not in self.op["dtypes"]:
            index = f"{size}, dtype=i64, seed={{s}}"
        name = name if index is None else name + "0"
        # of zeros PyTorch refuses the gradient of cumprod into another dtype
        positive = ', fill="positive"' if self.op["licence"] in ("TRANS", "DIV", "SCAN") else ""
        self.operands[name] = index or f"{size}, seed={{s}}{positive}"
        return "{" + name + "}"

    def tensor(self, p) -> str:
        role, stated = p["role"], any(q["stated"] for q in self.op["params"])
        if stated and p["self"] and not any(q["role"] == "mask" for q in self.op["params"]):
            return self.operand(None, SELECTING)
        if role == "adapted":   # of planes [2, 5, 6], of volumes [2, 3, 4, 5]
            return self.operand([2, 3, 4] if len(self.size) == 3 else [2, 2, 3, 4])
        if role == "unpooled_at":
            n = math.prod(self.size[1:])
            return self.operand(None, f"{self.size}, dtype=i64, data={[(7 * i) % (2 * n + 1) for i in range(n)] * self.size[0]}")
        if role == "pooled_at" and self.op["name"].startswith("adaptive"):
            size = [2, 3, 4] if len(self.size) == 3 else [2, 2, 3, 4]
            at = getattr(torch.ops.aten, self.op["name"].removesuffix("_backward"))(torch.zeros(self.size), size[1:])[1]
            return self.operand(None, f"{size}, dtype=i64, data={at.reshape(-1).tolist()}")
        if role == "pooled_at":     # of planes [2, 5, 6], of volumes [2, 3, 4, 5]: an element of each window
            size = self.like(self.op["name"].removesuffix("_backward"))
            return self.operand(None, f"{size}, dtype=i64, data={self.pooled_at.reshape(-1).tolist()}")
        if role == "normed_no_gradient":
            return self.operand(None, f'{self.plain["normalized_shape"]}, seed={{s}}')
        if role == "moment_no_gradient":
            n = len(self.plain["normalized_shape"])
            return self.operand(None, f'{self.size[:-n] + [1] * n}, seed={{s}}, fill="positive"')
        if role == "per_channel":
            return self.operand([4])
        if role == "per_channel_no_gradient":
            return self.operand(None, "[4], seed={s}")
        if role in ("running", "running_variance", "saved_no_gradient"):
            return self.operand(None, '[4], seed={s}' + ("" if role == "running" else ', fill="positive"'))
        if role == "per_group_no_gradient":
            return self.operand(None, '[2, 2], seed={s}, fill="positive"')
        if role in ("keys", "keyed"):   # of heads [2, 2, 3, 4]
            return self.operand([2, 2, 5, 4])
        attention = {"keys_no_gradient": "[2, 2, 5, 4]", "keyed_no_gradient": "[2, 2, 5, 4]", "scores_no_gradient": "[3, 5]",
                     "per_query_no_gradient": "[2, 2, 3]"}
        if role in attention:
            return self.operand(None, attention[role] + ", seed={s}")
        if role in ("samples_no_gradient", "sampled_no_gradient", "heads_no_gradient"):
            self.size = json.loads(p["example"]) if p["self"] else self.size
            self.plain[p["name"]] = torch.zeros(self.size)
            return self.operand(None, f"{self.size}, seed={{s}}")
        if role in ("filter", "filter_no_gradient"):    # of image [2, 4, 5, 6]
            self.plain[p["name"]] = torch.zeros([4, 2, 2, 3])
            return self.operand(*([4, 2, 2, 3],) if role == "filter" else (None, "[4, 2, 2, 3], seed={s}"))
        if role == "image_no_gradient":
            self.plain[p["name"]] = torch.zeros(json.loads(p["example"]))
            return self.operand(None, p["example"] + ", seed={s}")
        if role == "convolved_no_gradient":
            return self.operand(None, f'{self.like("convolution")}, seed={{s}}')
        if role in ("begin", "zero_dim_no_gradient"):
            return self.operand(None, "[], seed={s}")
        if role == "half_no_gradient":      # of [2, 3] along dim 0
            return self.operand(None, "[1, 3], seed={s}")
        if role.endswith("no_gradient"):
            self.size = [2, 3]
            self.plain[p["name"]] = torch.zeros(self.size)
            return self.operand(None, f"{self.size}, seed={{s}}")
        if p["self"] and role != "packed" or role == "same":
            fixed = role == "same" or (role == "any" and self.op["params"][0]["role"] == "mask")
            self.size = self.size if fixed else json.loads(p["example"])
            self.plain[p["name"]] = torch.zeros(self.size)
            return self.operand(self.size)
        if role in ("index1", "unique1", "ids", "places"):
            self.plain[p["name"]] = torch.tensor([0, 1])
            return self.operand(None, INDEX)
        if role == "normed":
            return self.operand(self.plain["normalized_shape"])
        if role == "labels":
            return self.operand(None, '[2], dtype=i64, seed={s}, fill="index", high=3')
        if role == "per_filter":
            return self.operand([4])
        if role == "class_weights":
            return self.operand(None, '[3], seed={s}, fill="positive"')
        if role == "total":
            return self.operand(None, '[], seed={s}, fill="positive"')
        if role in ("loss", "loss_of"):
            return self.operand([])
        if role in ("indexn", "uniquen"):
            return self.operand(None, INDEXN)
        if role == "srcn_no_gradient":
            return self.operand(None, f"{self.size}, seed={{s}}")
        if role == "packed":    # two letters: no gradient
            self.plain[p["name"]] = torch.zeros(self.size)
            return self.operand(None, f"{self.size}, seed={{s}}")
        if role == "rows":      # of self [2, 3]
            return self.operand(None, INDEX)
        if role == "mask":
            return self.operand(None, SELECTED_BY if stated else MASK)
        if role in ("bcast", "bcast_to", "divisor", "divisor_to", "srcn", "values", "source"):
            return self.operand(self.size)
        shape = {"zero_dim": [], "mat2": [*self.size[:-2], *self.size[-1:], 2], "vec2": self.size[-1:], "bias": [2],
                 "batch_bias": [2]}.get(role)
        if role == "like":
            shape = self.like(p["like"])
        if shape is None:
            raise Unknown(f"{self.op['name']}: no example of a Tensor<{role}>")
        return self.operand(shape)

    def like(self, name) -> list[int]:
        base, _, overload = name.partition(".")
        f = getattr(getattr(torch.ops.aten, base), overload or "default")
        known = {q["name"]: None for q in self.table[name]["params"] if q["name"] in self.plain or (q["optional"] and "default" not in q)}
        made = f(**{k: self.plain.get(k) for k in known})
        self.pooled_at = made[1] if isinstance(made, tuple) and len(made) == 2 else None
        return list((made[0] if isinstance(made, tuple) else made).shape)

    def number(self, p, other):
        """Of what is one number, string or dtype: the plain value and others."""
        kind, role, name = p["kind"], p["role"], p["name"]
        if p["stated"]:
            along = " along 1" if "dim" in self.choice else ""
            return NDIFFERENT.get(self.op["name"] + along, NSELECTED)
        if role == "whole":     # of self [2, 3]
            names = {q["name"] for q in self.op["params"] if q["role"] == role}
            return next(v for v in WHOLE if v.keys() == names)[name]
        if kind == "Dim" and any(q["role"] == "insert_distinct" for q in self.op["params"]):
            return 0
        if kind == "Dim":
            plain = int(role == "distinct" or name == "dim1" and "default" not in p)
            pair = any(q["role"] == "distinct" for q in self.op["params"])
            return plain if not other else plain - 2 if pair else 1
        if kind == "Dims":
            return json.loads(p["example"]) if p["example"] and role != "any" else [0] if other and p.get("default", 0) is None else [1]
        if kind in STRIDED and role == "strided":
            return STRIDED[kind]
        if role == "sliding":
            return 2 if kind == "Int" else SLIDING[name]
        if role == "pooled" and name in POOLED:
            volumes = any(q["role"] == "volumes" for q in self.op["params"])
            return POOLED[name] if not volumes or not isinstance(POOLED[name], list) else [POOLED[name][0], *POOLED[name]]
        if role == "unfolded":  # of planes [2, 5, 6], of columns [12, 6]
            return {"kernel_size": [2, 3], "dilation": [1, 2], "padding": [1, 0], "stride": [2, 1], "output_size": [3, 7]}[name]
        if role in ("upsampled", "downsampled"):
            if kind == "float":
                return None if not other else 2.0
            spatial = self.size[2:]
            sizes = {"upsampled": [2 * d for d in spatial], "downsampled": spatial}[role] if name == "output_size" else \
                self.size[:2] + [2 * d for d in spatial]
            return sizes
        if role == "border":    # of one sample, whose first size is channels
            return [1, 2, 0, 1, 1, 0][:2 * (len(self.size) - 1)] if other else [1, 0] * (len(self.size) - 1)
        if role == "windows":
            return [3, 4] if len(self.size) == 3 else [2, 3, 4]
        if role == "unpooled":
            size = [2 * self.size[1] + 1, *self.size[2:]]
            return {"output_size": size, "stride": [2, 2, 2], "padding": [0, 0, 0]}[name]
        if role == "pooled":
            return bool(other) != p.get("default", False)
        if role == "grouped":   # of samples [2, 4, 3]
            return GROUPED[name]
        if role == "pieces" and self.choice.get("dim"):     # of self [2, 3]
            return [1, 2]
        if kind in ("Size", "Ints") and p["example"]:
            return json.loads(p["example"])
        if kind == "Index":
            return 1 if role == "any" else 0
        if kind == "Step":
            return 2 if other or role == "chunk" else 1
        if role == "line":
            return LINE[name]
        if kind == "Int" and role != "any" and p["example"]:
            return int(p["example"])
        if kind == "Scalar" and role == "range":
            return RANGE[name]
        if kind == "Scalar":
            return 2 if "f32" not in self.op["dtypes"] else -1.0 if name == "min" else 0 if name == "correction" else 2.0
        if role == "own":
            return "f32"
        if role == "keep":
            return False
        if kind == "bool":
            return not p.get("default", False) if other else True
        if kind == "dtype":
            return "i32" if role == "bits" else "f32" if self.op["family"] == "inplace" else "f64"
        if kind == "format":
            return "contiguous_format" if p["optional"] else "preserve_format"      # of an operand that is contiguous
        if kind == "str":
            return other or p["words"].split("|")[0]
        if kind == "float":
            return 0.0 if role == "dropout" else 0.5
        if kind == "bools":
            return [True] * p["length"]
        raise Unknown(f"{self.op['name']}: no example of a {kind}<{role}>")

    def value(self, p):
        if p["kind"] == "Tensors":
            if p["role"] in ("indices", "uindices"):
                return f"[{self.operand(None, INDEX)}]"
            return f"[{self.tensor(p)}, {self.operand(self.size)}]"
        if p["kind"] == "Tensor" and self.choice.get(p["name"]) == "number":
            return "1.5"
        if p["kind"] == "Tensor":
            return self.tensor(p)
        v = self.plain[p["name"]] = self.number(p, self.choice.get(p["name"]))
        return f'"{v}"' if p["kind"] == "str" else str(v)

    def text(self) -> str:
        args, params = {}, self.op["params"]
        # PyTorch needs tensors whose sizes follow from others last
        for p in sorted(params, key=lambda p: (p["role"] in FOLLOWS) * 2 + (p["role"] in FACTORS)):
            bound = p["name"] == "min" and (p["role"] == "bound" or self.op["name"] in ("clamp.Tensor", "clamp_.Tensor"))
            needed = "default" not in p or p["name"] in self.choice or bound
            if needed:
                args[p["name"]] = "None" if self.choice.get(p["name"]) == "None" else self.value(p)
        return ", ".join(f"{p['name']}={args[p['name']]}" for p in params if p["name"] in args)


def choices(op: dict):
    """Nothing, then each argument that can differ, alone."""
    yield {}
    for i, p in enumerate(op["params"]):
        if p["kind"] == "Tensor" and op["traits"] & T_NUMBERS and (i or not op["traits"] & T_MUTATES):
            yield {p["name"]: "number"}
        if p["kind"].startswith("Tensor") or p["role"] == "keep":
            continue
        if p["kind"] == "str":
            yield from ({p["name"]: r} for r in p["words"].split("|")[1:])
        elif "default" in p:
            yield {p["name"]: True}
        elif p["optional"]:
            yield {p["name"]: "None"}


def examples(op: dict, table: dict) -> list:
    found = {}
    for choice in choices(op):
        e = Example(op, table, choice)
        call = e.text()
        found.setdefault(call, (op["name"], e.operands, call))
    return list(found.values())
