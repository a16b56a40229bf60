"""Compares compiled/targets/torch/fill.py with eager/lang/fill.c byte for byte. Usage: fill_twin.py FILL_PY FILL_TEST_BINARY"""
import importlib.util
import json
import struct
import subprocess
import sys
import tempfile

import torch


def data_differs(fill) -> int:
    """Data given in a program, against the struct module."""
    given = [("f64", "<3d", [0.1, -0.0, float("-inf")]), ("f32", "<3f", [0.10000000149011612, -0.0, 1.401298464324817e-45]),
             ("f16", "<2e", [65504.0, 5.960464477539063e-08]), ("i64", "<2q", [-(2**63), 2**63 - 1]), ("u8", "<2B", [0, 255]),
             ("i8", "<2b", [-128, 127]), ("b8", "<2B", [True, False])]
    bad = sum(bytes(fill.make_data(t, v).view(torch.uint8).tolist()) != struct.pack(form, *v) for t, form, v in given)
    bits = [("f16", "<h", [0x7E01]), ("bf16", "<h", [0x7FC1]), ("f32", "<i", [-1]), ("f64", "<q", [0x7FF0000000000001])]
    return bad + sum(bytes(fill.make_data(t, v, bits=True).view(torch.uint8).tolist()) != struct.pack(form, *v) for t, form, v in bits)


def main() -> int:
    spec = importlib.util.spec_from_file_location("fill", sys.argv[1])
    fill = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fill)
    with tempfile.NamedTemporaryFile() as f:
        subprocess.run([sys.argv[2], "dump", f.name], check=True)
        data = open(f.name, "rb").read()
    at = cases = bad = 0
    while at < len(data):
        end = data.index(b"\n", at)
        dtype, kind, seed, high, dim, size, stride, offset, ncells = data[at:end].decode().split(" ")
        got = fill.make_storage(dtype, int(ncells), kind, int(seed), int(high), int(dim), json.loads(size), json.loads(stride), int(offset))
        want = data[end + 1 : end + 1 + got.numel() * got.itemsize]
        if bytes(got.view(torch.uint8).tolist()) != want:
            bad += 1
            print("differs:", data[at:end].decode())
        cases += 1
        at = end + 1 + len(want)
    bad += data_differs(fill)
    print(f"{cases} cases, {bad} differ")
    return 1 if bad or cases < 1000 else 0


sys.exit(main())
