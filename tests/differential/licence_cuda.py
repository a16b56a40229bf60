#!/usr/bin/env python3
"""licence_cuda.tsv is what licence_probe measured on a GPU (scripts/gpu-run --only licence): every row of the op table that gives
a tensor must be in it or be named as not probed, and nothing in it may have failed, or be undecided as a whole.
usage: licence_cuda.py TABLE SCATTERPROOF"""

import subprocess
import sys
from pathlib import Path


def main() -> int:
    lines = Path(sys.argv[1]).read_text().splitlines()
    unprobed = {line.split(": ")[1] for line in lines if line.startswith("# not probed: ")}
    entries = [line.split("\t") for line in lines if not line.startswith("#")][1:]
    measured = {e[0] for e in entries}
    ops = subprocess.run([sys.argv[2], "ops"], capture_output=True, text=True, check=True).stdout.splitlines()
    rows = {line.split()[0] for line in ops if not line.startswith(" ") and "->" in line and not line.endswith("-> Sym")}
    missing = sorted(r for r in rows - measured - unprobed)
    failed = [e for e in entries if int(e[5]) or int(e[4]) == 0 and not e[-1] or int(e[8]) and not int(e[6]) + int(e[7])]
    for row in missing:
        print(f"FAIL: {row} was never probed on CUDA: run scripts/gpu-run --only licence on a machine with a GPU")
    for e in failed:
        print("FAIL:", *e)
    print(f"{len(rows)} rows, {len(measured)} measured, {len(entries)} entries, {len(missing)} missing, {len(failed)} failed")
    return 1 if missing or failed or len(rows) < 165 or len(entries) < 1000 else 0


sys.exit(main())
