#!/usr/bin/env python3
"""store.py FINDING_OF DB: a store with one finding, made by hand: the wrong value of NVIDIA's compiler that docs/found.md describes.

FINDING_OF is the test program of that name (BUILD/tests/cli/finding_of), which makes the finding; what a campaign on a GPU and `triage` would
have learnt of it is written here: of the kernel that is left of the six programs found by `builtin:cuda`, not of these programs. script.py and
kernel.ptx are no inventions: NVRTC 13.0.88 made the one of what is in the other, which on an H100 (driver 580.159.04) says "out[0]: 9 as it
is; 7 at -O0; must be 7". Then `scatterproof findings mark 1 open --note ...` brings the store's summaries up to date.
"""

import hashlib
import json
import sqlite3
import subprocess
import sys
from pathlib import Path

here = Path(__file__).parent
finding_of, db = sys.argv[1:]
program = str(here / "masked_scatter.prog")
subprocess.run(
    [finding_of, "--as", "value single element masked_scatter", "builtin:cuda", "--minimised", db, "builtin:cuda", "value", "mismatch"]
    + [program, "out 0 (o)", "0"],
    check=True,
)
script = (here / "script.py").read_text()
kernel = script.split('rb"""\n')[1].split('"""')[0]
ptx = (here / "kernel.ptx").read_text()
layout = {"dtype": "u8", "size": [], "stride": [], "offset": 0}
blame = (
    "suspect: ld.global.nc: the loads of a[0] and b[0] became one, of an address chosen between them; such a load must not read what its "
    "kernel writes, and b is written; wrong from: cuda (jit is right); cured by ptxas -O0, or a without __restrict__"
)
facts = {
    "schema": 1,
    "target": "builtin:cuda",
    "versions": "NVRTC 13.0.88, driver 580.159.04",
    "kind": "value",
    "pattern": "single element",
    "tensor": {"name": "out 0 (o)", "role": "output", "index": 0, "expected": layout, "got": {**layout, "storage": 2}},
    "values": {"size": [], "from": [], "expected": [7], "got": [9]},
    "wrong": 1,
    "checked": 1,
    "ladder": [
        {"stage": "eager", "verdict": "pass"},
        {"stage": "loops", "verdict": "pass"},
        {"stage": "jit", "verdict": "pass"},
        {"stage": "cuda", "verdict": "mismatch"},
    ],
    "suspect": {
        "op": "ld.global.nc",
        "node": "",
        "why": "the loads of a[0] and b[0] became one, of an address chosen between them; such a load must not read what its kernel writes, "
        "and b is written",
    },
    "cures": [
        {"what": "compiling the kernel with --ptxas-options=-O0"},
        {"what": "leaving out __restrict__ at a: the load is ld.global then"},
    ],
    "tried": 2,
    "first_wrong": "`o`, the result of masked_scatter",
    "inputs": [
        {"name": "m", "dtype": "bool", "size": [], "stride": [], "offset": 0, "storage": 0, "requires_grad": False},
        {"name": "a", "dtype": "u8", "size": [1], "stride": [1], "offset": 0, "storage": 1, "requires_grad": False},
    ],
    "layouts": [{"name": name, **layout} for name in ("b", "o")],
}
events = {"blame": blame, "cause": "builtin:cuda: value, wrong; masked_scatter; u8"}
artifacts = {
    "facts": json.dumps(facts),
    "script": script,
    "kernel code": kernel,
    "PTX code": ptx,
    "environment": "NVRTC 13.0.88 (CUDA 13.0), driver 580.159.04\nNVIDIA H200; NVIDIA H100 80GB HBM3\n",
}
seen = 1795435200000  # 2026-11-23T12:00:00Z
with sqlite3.connect(db) as store:
    (finding,) = store.execute("select id from finding").fetchone()
    for column, value in {"version": "", "versions": facts["versions"], "device": "cuda: NVIDIA H200", "machine": ""}.items():
        store.execute(f"update environment set {column} = ?", (value,))
    store.execute("update observation set at = ?, detail = '1 of 1 elements wrong, expected 7, got 9'", (seen,))
    store.execute("update observation_count set first = ?, last = ?", (seen, seen))
    store.execute("update event set at = ?", (seen,))
    for kind, text in events.items():
        key = hashlib.md5(kind.encode()).digest()
        store.execute("insert into event (id, finding, at, kind, tool, payload) values (?, ?, ?, ?, 'by hand', ?)", (key, finding, seen, kind, text))
    for name, text in artifacts.items():
        key = hashlib.md5(name.encode()).digest()
        store.execute("insert into artifact (id, finding, name, at, bytes) values (?, ?, ?, ?, ?)", (key, finding, name, seen, text.encode()))
