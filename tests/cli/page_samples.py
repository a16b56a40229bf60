"""What the pages are filled with in tests: causes and stores as page_json.h describes them."""

from __future__ import annotations

import math
import random
from typing import Any

Json = dict[str, Any]

FOUNDING = """# scatterproof 1
x: "f32[2][1]" = input([2], seed=1, requires_grad=True)
y: "f32[1][1]" = input([1], seed=2)
slice_scatter: "f32[2][1]" = slice_scatter(x, y, end=1)
sum_1: "f32[][]" = sum(slice_scatter)
one: "f32[][]" = full([], 1.0)
return (sum_1,)
backward (sum_1: one,)
"""
SCRIPT = """import torch

def f(x, y):
    return torch.slice_scatter(x, y, end=1).sum()

x = torch.tensor([1.5, -0.25], requires_grad=True)
y = torch.tensor([0.75])
torch.compile(f)(x, y).backward()
print(x.grad)  # tensor([0., 0.]), must be tensor([0., 1.])
"""
LARGE = """# scatterproof 1
x: "f32[4, 13, 33][429, 33, 1]" = input([4, 13, 33], seed=1, requires_grad=True)
y: "f32[4, 6, 33][198, 33, 1]" = input([4, 6, 33], seed=2, requires_grad=True)
slice_scatter: "f32[4, 13, 33][429, 33, 1]" = slice_scatter(x, y, dim=1, start=0, end=6)
sum_1: "f32[4, 33][33, 1]" = sum.dim_IntList(slice_scatter, dim=[1])
one: "f32[][]" = full([], 1.0)
g: "f32[4, 33][0, 0]" = expand(one, [4, 33])
return (sum_1,)
backward (sum_1: g,)
call (x: seed=3 fill=normal, y: seed=4 fill=normal)
"""
GRAPH = """class GraphModule(torch.nn.Module):
    def forward(self, tangents_1: "f32[][]"):
        expand: "f32[2][0]" = torch.ops.aten.expand.default(tangents_1, [2]);  tangents_1 = None
        full: "f32[1][1]" = torch.ops.aten.full.default([1], 0, dtype = torch.float32)
        slice_scatter_1: "f32[2][0]" = torch.ops.aten.slice_scatter.default(expand, full, 0, 0, 1);  expand = full = None
        return (slice_scatter_1, None)
"""


def layout(size: list[int], stride: list[int], offset: int = 0, dtype: str = "f32", **more: Any) -> Json:
    return {"dtype": dtype, "size": size, "stride": stride, "offset": offset, **more}


STAGES = ("eager", "export", "dynamo", "aot_eager", "aot_eager_decomp_partition")


def ladder(fails: str = "inductor") -> list[Json]:
    return [{"stage": s, "verdict": "pass"} for s in STAGES] + [{"stage": fails, "verdict": "mismatch"}]


def cause(**more: Any) -> Json:
    return {
        "schema": 1,
        "tool": "scatterproof 0.9",
        "number": 1,
        "id": "3fa2c1d0",
        "full_id": "3fa2c1d0aa5e4b7f93cc01d2e4f50617",
        "kind": "gradient",
        "open": True,
        "target": "torch-2.11.0:inductor@cpu",
        "stage": "inductor",
        "nfindings": 1,
        "nobs": 1,
        **more,
    }


def founding() -> Json:
    return cause(
        title="`slice_scatter`: gradient is all zero with torch.compile",
        cause="torch:inductor: gradient, layout predicted wrong; aten.slice_scatter",
        severity="high",
        reach="torch",
        blame="suspect: slice_scatter; wrong from: inductor; `aten.slice_scatter` in the backward graph: its strides are predicted wrong",
        nfindings=2,
        nobs=17,
        first_seen="2026-11-02T03:14:15Z",
        last_seen="2026-11-23T22:01:09Z",
        issue="https://github.com/pytorch/pytorch/issues/180164",
        ops=["slice_scatter", "sum"],
        dtypes=["f32"],
        versions=["2.11.0"],
        states=["blamed", "known"],
        program=FOUNDING,
        minimised=True,
        first_program=LARGE,
        script=SCRIPT,
        facts={
            "schema": 1,
            "target": "torch-2.11.0:inductor@cpu",
            "versions": "torch 2.11.0+cpu, python 3.11.2",
            "kind": "gradient",
            "pattern": "all zero",
            "tensor": {"name": "x.grad", "role": "gradient", "index": 0, "expected": layout([2], [1]), "got": layout([2], [1], storage=2)},
            "values": {"size": [2], "from": [0], "expected": [0, 1], "got": [0, 0]},
            "wrong": 1,
            "checked": 2,
            "ratio": "0",
            "ladder": ladder(),
            "cures": [
                {"option": "probe.clone=bw:aten.expand.default", "what": "cloning aten.expand.default in the backward graph"},
                {"option": "probe.clone=fw:aten.add.Tensor", "what": "cloning aten.add.Tensor in the forward graph"},
                {"option": "fallback=slice_scatter", "what": "`slice_scatter` not decomposed"},
            ],
            "tried": 9,
            "predicted": {"op": "aten.slice_scatter.default", "backward": True, "fake": layout([2], [0]), "real": layout([2], [1])},
            "suspect": {
                "op": "aten.slice_scatter",
                "node": "slice_scatter_1",
                "graph": "backward graph",
                "why": "written in place into an expanded tensor",
            },
            "first_wrong": "`slice_scatter_1`, the result of slice_scatter.default",
            "reach": "torch",
            "inputs": [
                layout([2], [1], name="x", storage=0, requires_grad=True),
                layout([1], [1], name="y", storage=1, requires_grad=False),
            ],
            "layouts": [layout([2], [1], name="slice_scatter"), layout([], [], name="sum_1"), layout([], [], name="one")],
            "same": "assert_close: differs; same: differs",
        },
        since={
            "schema": 1,
            "versions": [
                {"version": "2.11.0", "verdict": "mismatch", "why": ""},
                {"version": "2.12.1", "verdict": "pass", "why": ""},
                {"version": "2.15.0", "verdict": "pass", "why": ""},
            ],
            "first_bad": "2.11.0",
            "last_bad": "2.11.0",
            "first_good": "2.12.1",
        },
        sweep={
            "schema": 1,
            "target": "torch-2.11.0:inductor@cpu",
            "series": [
                {
                    "axis": "shapes",
                    "law": "size 20: fails for 20 of 22 sizes; passes for 1, 2; the ratio is n/(n - 7)",
                    "rows": [
                        {
                            "value": str(n),
                            "verdict": "mismatch" if n > 7 else "pass",
                            "wrong": "x.grad[0,5,0]" if n > 7 else "",
                            "expected": "0",
                            "got": "0.515854",
                            "ratio": n / (n - 7) if n > 7 else None,
                        }
                        for n in (1, 2, 3, 7, 8, 9, 15, 16, 17, 20, 31, 32, 33, 63, 64, 65, 127, 128, 129)
                    ],
                },
                {
                    "axis": "dtypes",
                    "rows": [
                        {"value": d, "verdict": v}
                        for d, v in (
                            ("f64", "mismatch"),
                            ("f32", "mismatch"),
                            ("f16", "mismatch"),
                            ("bf16", "unsupported"),
                            ("i64", "pass"),
                        )
                    ],
                },
            ],
        },
        matrix={
            "cells": [
                {"stage": s, "version": v, "verdict": "mismatch" if (s, v) == ("inductor", "2.11.0") else "pass"}
                for s in ("eager", "aot_eager", "inductor")
                for v in ("2.11.0", "2.15.0")
            ]
        },
        environment="Collecting environment information...\nPyTorch version: 2.11.0+cpu\nOS: Debian GNU/Linux 12\nCPU: 2 cores",
        graphs=[
            {"name": "forward graph", "text": "class GraphModule:\n    def forward(self, x, y): …"},
            {"name": "backward graph", "text": GRAPH},
        ],
        upstream=[{"issue": "https://github.com/pytorch/pytorch/issues/170001", "remark": "the same operator, forward"}],
        variants=[
            {"cause": "torch:inductor: layout predicted wrong; aten.slice_scatter", "ids": ["3fa2c1d0"]},
            {"cause": "torch:inductor: layout predicted wrong; aten.select_scatter", "ids": ["7c0d11aa"]},
        ],
        findings=[
            {
                "id": "3fa2c1d0",
                "target": "torch-2.11.0:inductor@cpu",
                "state": "blamed",
                "severity": "high",
                "signature": "gradient x.grad all zero",
                "nobs": 12,
                "first_seen": "2026-11-02T03:14:15Z",
                "last_seen": "2026-11-23T22:01:09Z",
            },
            {
                "id": "91be0042",
                "target": "torch-2.11.0:inductor@cpu",
                "state": "known",
                "severity": "high",
                "signature": "gradient all zero",
                "nobs": 5,
                "first_seen": "2026-11-05T03:00:00Z",
                "last_seen": "2026-11-20T02:00:00Z",
                "issue": "https://github.com/pytorch/pytorch/issues/180164",
            },
        ],
        observations=[
            {
                "at": f"2026-11-{2 + k:02d}T03:14:15Z",
                "target": "torch-2.11.0:inductor@cpu",
                "device": "cpu",
                "verdict": "mismatch",
                "tensor": "x.grad",
                "call": k % 3,
                "fill": ("dyadic", "normal")[k % 2],
                "detail": f"{k + 1} of 2 elements are wrong",
            }
            for k in range(12)
        ],
        history=[
            {"at": "2026-11-02T03:14:15Z", "kind": "found", "text": "by the campaign of seed 2026"},
            {"at": "2026-11-02T03:20:00Z", "kind": "minimised", "text": "from 9 rows to 5"},
            {"at": "2026-11-03T09:00:00Z", "kind": "known", "text": "", "issue": "https://github.com/pytorch/pytorch/issues/180164"},
        ],
        commands={
            "repro": "scatterproof repro 3fa2c1d0 --db findings.db",
            "script": "scatterproof repro 3fa2c1d0 --short --db findings.db",
            "sweep": "scatterproof sweep 3fa2c1d0 --db findings.db",
        },
    )


def large() -> Json:
    """x [4, 13, 33], of which slice 0:6 of dim 1 is written."""
    return cause(
        title="`slice_scatter`: gradient is all zero with torch.compile",
        severity="high",
        program=LARGE,
        facts={
            "tensor": {
                "name": "x.grad",
                "role": "gradient",
                "index": 0,
                "expected": layout([4, 13, 33], [429, 33, 1]),
                "got": layout([4, 13, 33], [429, 33, 1], storage=3),
            },
            "values": {
                "size": [1, 13, 33],
                "from": [0, 0, 0],
                "expected": [0 if i < 6 else 1 for i in range(13) for _ in range(33)],
                "got": [0] * 429,
            },
            "wrong": 924,
            "checked": 1716,
            "predicted": {
                "op": "aten.slice_scatter.default",
                "backward": True,
                "fake": layout([4, 13, 33], [33, 0, 1]),
                "real": layout([4, 13, 33], [429, 33, 1]),
            },
            "inputs": [
                layout([4, 13, 33], [429, 33, 1], name="x", storage=0, requires_grad=True),
                layout([4, 6, 33], [198, 33, 1], name="y", storage=1, requires_grad=True),
            ],
            "layouts": [
                layout([4, 33], [0, 0], name="g"),
                layout([3, 2], [4, 1], offset=2, name="gapped"),
                layout([4, 6], [1, 4], name="transposed"),
                layout([4, 3], [2, 1], name="window"),
            ],
        },
    )


def bf16_nan() -> Json:
    """An infinity beside a row makes the row NaN; one element must be infinite, one is not decided."""
    rng = random.Random(7)
    expected: list[Any] = [round(rng.gauss(0, 3), 2) for _ in range(33 * 16)]
    got = list(expected)
    got[:16] = ["nan"] * 16
    expected[40], got[40] = "inf", "inf"
    expected[41], got[41] = "-inf", "inf"
    expected[42] = None
    expected[43] = "nan"
    for k in range(100, 140):
        got[k] = expected[k] + math.pow(10, -k / 20)
    return cause(
        title="`mm`: wrong result in eager",
        kind="value",
        severity="normal",
        target="torch-2.11.0:eager@cpu",
        states=["confirmed"],
        facts={
            "tensor": {
                "name": "out 0 (mm)",
                "role": "output",
                "index": 0,
                "expected": layout([33, 16], [16, 1], dtype="bf16"),
                "got": layout([33, 16], [16, 1], dtype="bf16", storage=5),
            },
            "pattern": "nan",
            "values": {"size": [33, 16], "from": [0, 0], "expected": expected, "got": got},
            "wrong": 58,
            "checked": 528,
            "ladder": [{"stage": "eager", "verdict": "mismatch"}],
            "raised": "RuntimeError: this is what it said\n  on two lines",
        },
    )


def huge() -> Json:
    """A window of 64 x 64 in a larger tensor; 100 rows of program."""
    rng = random.Random(5)
    expected = [rng.gauss(0, 1) for _ in range(64 * 64)]
    got = [e if k % 64 < 40 else e * (1 + 10 ** rng.uniform(-7, 1)) for k, e in enumerate(expected)]
    program = (
        "# scatterproof 1\nx0 = input([300, 300], seed=1)\n" + "".join(f"x{k + 1} = relu(x{k})\n" for k in range(100)) + "return (x100,)\n"
    )
    return cause(
        title="`mm` of `cat`: wrong result with torch.compile",
        severity="normal",
        program=program,
        facts={
            "tensor": {
                "name": "out 0 (mm)",
                "role": "output",
                "index": 0,
                "expected": layout([7, 300, 300], [90000, 300, 1]),
                "got": layout([7, 300, 300], [90000, 300, 1]),
            },
            "values": {"size": [1, 64, 64], "from": [3, 128, 200], "expected": expected, "got": got},
            "predicted": {"op": "aten.mm.default", "fake": layout([300, 300], [300, 1]), "real": layout([300, 300], [1, 320], offset=64)},
            "wrong": 1536,
            "checked": 630000,
        },
    )


MARKUP = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script></script><!--<script>"
BIDI = "a\u202egnp.exe\u2066\u0007\u001b[31m\u200b\U000e0041"


def poison(value: Any, rng: random.Random) -> Any:
    """Every text becomes hostile, every shape of data may be another."""
    if isinstance(value, str):
        return value + MARKUP + BIDI
    if isinstance(value, list):
        return [poison(v, rng) for v in value]
    if isinstance(value, dict):
        return {
            k: rng.choice([None, 7, "x", [[]], {}, [None, 3, "y"], 1e308, -1]) if rng.random() < 0.12 else poison(v, rng)
            for k, v in value.items()
        }
    return value


def hostile(seed: int | None) -> Json:
    """seed None: every text hostile, the shape right; else keys are of wrong types, too."""

    class Tame(random.Random):
        def random(self) -> float:
            return 1.0

    data: Json = poison(founding(), Tame() if seed is None else random.Random(seed))
    if seed is None:
        data["issue"] = "javascript:alert(1)"
        data["upstream"] = [{"issue": "https://example.org/\u202e", "remark": MARKUP}, {"issue": "data:text/html," + MARKUP, "remark": ""}]
        data["program"] = FOUNDING.replace("slice_scatter:", "__proto__:") + f'z: "{MARKUP}" = constructor(__proto__, toString)\n'
    return data


OPS = (
    "add",
    "sum",
    "mm",
    "cat",
    "slice_scatter",
    "index_put",
    "as_strided",
    "amin",
    "cumsum",
    "expand",
    "view",
    "select",
    "var_mean",
    "softmax",
    "conv2d",
    "sort",
    "gather",
    "pow",
)
DTYPES = ("f32", "f16", "bf16", "f64", "i64", "bool")


def overview(n: int) -> Json:
    rng = random.Random(3)
    causes = []
    for k in range(n):
        a, b = rng.sample(OPS, 2)
        severity = rng.choices(("high", "normal", "trivial"), (1, 4, 2))[0]
        stage = rng.choices(("inductor", "aot_eager", "eager"), (6, 2, 1))[0]
        version = rng.choice(("2.11.0", "2.15.0"))
        state = rng.choice(("blamed", "minimised", "confirmed", "known", "dismissed", "regressed"))
        causes.append(
            {
                "id": f"{k:08x}",
                "number": k + 1,
                "title": f"`{a}` of `{b}`: "
                + rng.choice(("gradient is all zero", "wrong result", 'raises "AssertionError: n=copy_"', "wrong strides"))
                + " with torch.compile",
                "cause": f"torch:{stage}: value; aten.{a}",
                "severity": severity,
                "kind": rng.choice(("value", "gradient", "raise", "meta")),
                "open": state not in ("known", "dismissed"),
                "reach": rng.choice(("python", "torch", "aten")),
                "target": f"torch-{version}:{stage}@cpu",
                "stage": stage,
                "nfindings": rng.randint(1, 9),
                "nobs": rng.randint(1, 400),
                "first_seen": f"2026-10-{rng.randint(1, 30):02d}T03:00:00Z",
                "last_seen": f"2026-11-{rng.randint(1, 23):02d}T03:00:00Z",
                "ops": sorted({a, b}),
                "dtypes": sorted(rng.sample(DTYPES, rng.randint(1, 2))),
                "versions": ["2.11.0", "2.15.0"] if rng.random() < 0.3 else [version],
                "states": [state],
                "page": f"{k:08x}/index.html",
                **({"issue": f"https://github.com/pytorch/pytorch/issues/{170000 + k}"} if state == "known" else {}),
            }
        )
    tried = [
        {"op": op, "dtype": d, "target": t, "programs": (p := rng.randint(0, 4000)), "diverging": rng.choice((0, 0, 0, 0, 1, p // 100))}
        for op in (*OPS, *(f"operator_{k}" for k in range(60 if n else 0)))
        for d in DTYPES
        for t in ("torch-2.11.0:inductor@cpu", "torch-2.15.0:inductor@cpu")
        if n
    ]
    runs = [
        {
            "at": f"2026-{10 + k // 30:02d}-{1 + k % 30:02d}T02:00:00Z",
            "policy": "guided",
            "target": "torch-2.15.0:inductor@cpu",
            "programs": rng.randint(2000, 90000),
            "diverging": rng.randint(0, 60),
            "new_causes": max(0, rng.randint(-4, 3)),
        }
        for k in range(45 if n else 0)
    ]
    needs = [
        {"id": c["id"], "what": w, "text": t}
        for c, w, t in zip(
            causes,
            ("regressed", "decide", "decide", "triage", "confirm"),
            ("seen again in 2.15.0", "minimised and blamed; report it or dismiss it", "no issue yet", "no cause yet", "seen once"),
            strict=False,
        )
    ]
    return {
        "schema": 1,
        "tool": "scatterproof 0.9",
        "store": "findings.db",
        "made": "2026-11-24T16:00:00Z",
        "causes": causes,
        "tried": tried,
        "runs": runs,
        "needs": needs,
    }
