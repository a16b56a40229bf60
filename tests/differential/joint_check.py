"""Joint programs on the installed PyTorch: do they give what its autograd gives for the programs that they are made of?

Generated programs and what `scatterproof compile` makes of them run operator by operator (autograd_check.py) on the data of call 0.
The same gradients must be there, of the same dtypes and sizes, always; and of a hundred programs 98 must have the same bits. The bits of
the others are explained: autograd divides by the elements of a product where none is zero, while a compiler cannot look at the data and
multiplies the others (which overflows more often); it has kernels that round once where rows round after each step (sigmoid in bf16);
the shares of a gradient are added in another order where views and writes became rows, or where a row did nothing (contiguous). Whether
those are right the reference says (`fuzz --target builtin:joint`).
Usage: joint_check.py FILL_PY BINARY SEED PROGRAMS LEAST (so many must be comparable)
"""
import re
import subprocess
import sys
import tempfile
from typing import Any

import torch
from autograd_check import Run, load


def programs(text: str) -> list[str]:
    return ["# scatterproof 1" + part for part in text.split("# scatterproof 1")[1:]]


def results(text: str, fill: Any) -> tuple[list, list, list]:
    """Outputs, gradients and memory of inputs of call 0."""
    run = Run("\n".join(line for line in text.splitlines() if not line.startswith("surface")), fill)
    run.run()
    grads = [t.grad for t in run.leaves.values()] if run.back else []
    return [run.env[name] for name in run.ret], grads, run.storages


def same_kind(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    """But for the sign of a zero and the kind of a NaN."""
    return bool(((a == b) | ((a != a) & (b != b))).all())


def compare(source: str, joint: str, fill: Any) -> tuple[bool, list[str]]:
    """Is everything there, and what is different."""
    out, grad, memory = results(source, fill)
    got, _, got_memory = results(joint, fill)
    want = {f"out {i}": t for i, t in enumerate(out)} | {f"gradient {i}": g for i, g in enumerate(grad) if g is not None}
    if len(want) != len(got):
        return False, [f"{len(got)} results, {len(want)} expected"]
    want |= {f"input memory {i}": t for i, t in enumerate(memory)}
    bad, there = [], True
    for (name, a), b in zip(want.items(), got + got_memory):
        a, b = a.detach(), b.detach()
        if not same_kind(a, b):
            there = False
            bad.append(f"{name}: {b.dtype}{list(b.shape)}, autograd: {a.dtype}{list(a.shape)}")
        elif not same_bits(a, b):
            bad.append(f"{name}: {b.reshape(-1)[:6].tolist()}, autograd: {a.reshape(-1)[:6].tolist()}")
    return there, bad


def compiled(binary: str, path: str) -> dict[int, str]:
    """The joint programs of a file's programs, by the line on which each of those begins."""
    p = subprocess.run([binary, "compile", path, "--print-after", "joint"], capture_output=True, text=True, check=False)
    return {int(re.search(r"^# joint of .*:(\d+)$", joint, re.M).group(1)): joint for joint in programs(p.stdout)}


def main() -> int:
    fill, binary, seed, count, least = load(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5])
    made = subprocess.run([binary, "gen", "--seed", seed, "--programs", count], capture_output=True, text=True, check=True).stdout
    compared = wrong = other = refused = 0
    with tempfile.NamedTemporaryFile("w", suffix=".prog") as f:
        f.write(made)
        f.flush()
        joints = compiled(binary, f.name)
    line = 1
    for number, source in enumerate(programs(made)):
        joint = joints.get(line)
        line += source.count("\n")
        if "\nbackward" not in source or "\nraises" in source or "= sym" in source:
            continue
        if joint is None:
            refused += 1
            continue
        there, why = compare(source, joint, fill)
        compared += 1
        wrong += not there
        other += bool(why) and there
        if why:
            print(f"program {number} of seed {seed}: {'; '.join(why)}\n{source}\n{joint}")
    print(f"{compared} joint programs compared with autograd: {wrong} lack or change a result, {other} have other bits; "
          f"the compiler does not take {refused}")
    return 1 if wrong or 50 * other > compared or compared < least else 0


if __name__ == "__main__":
    sys.exit(main())
