"""Compares compiled/targets/fill.py with eager/fill.c byte for byte. Usage: fill_twin.py FILL_PY FILL_TEST_BINARY"""
import importlib.util
import json
import subprocess
import sys
import tempfile

import torch


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
    print(f"{cases} cases, {bad} differ")
    return 1 if bad or cases < 1000 else 0


sys.exit(main())
