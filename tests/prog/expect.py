"""What `check` says of programs, against what they state in comments, any number of lines:

    # expect: TARGET VERDICT[|VERDICT...] [TENSOR: PATTERN]      # expect: torch-2.11.0:inductor@cpu mismatch x.grad: all zero

("torch:" without a version: 2.11.0.) VERDICT is check's word, or words where machines differ; TENSOR: PATTERN is the first wrong tensor and
the shape of its error, as check --json says them, and is compared if it is there. A program that states nothing must pass on eager; of JAX
nothing is asked then.

usage: expect.py SCATTERPROOF builtin|torch-2.11.0|torch-2.15.0|jax-0.10.2 FILE...

What generated kernels do depends on the vector instructions of the machine: what is stated of `inductor` was seen with AVX-512, and is
asserted where that is; elsewhere it is said to be skipped.

A line whose target is none of those kinds, or whose verdict is none of check's words, is a failure of each run that reads it: else nobody
would ever ask it.

Each target runs all its programs in one go. Whether that PyTorch is installed, with_target.sh looks before: a target that does not run is a
failure here.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

MARK = "# expect: "
KINDS = ("builtin", "torch-2.11.0", "torch-2.15.0", "jax-0.10.2")
VERDICTS = ("pass", "mismatch", "invariant", "crash", "hang", "unsupported", "invalid", "harness", "unjudged")
AVX512 = "avx512f" in Path("/proc/cpuinfo").read_text().split()


class Misstated(Exception):
    """A line that no run would ask."""


def expectations(path: str) -> list[tuple[str, str, list[str]]]:
    """(target, verdicts, [tensor and pattern]) of each line."""
    out = []
    for number, line in enumerate(Path(path).read_text().splitlines(), 1):
        if not re.match(r"\s*#\s*expect\b", line, re.IGNORECASE):
            continue
        if not line.startswith(MARK) or len(line[len(MARK) :].split()) < 2:
            raise Misstated(f"{path}:{number}: not '{MARK}TARGET VERDICT [TENSOR: PATTERN]'")
        target, verdicts, *rest = line[len(MARK) :].strip().split(" ", 2)
        if target.startswith("torch:"):
            target = "torch-2.11.0:" + target.removeprefix("torch:")
        if target.split(":")[0] not in KINDS or ":" not in target:
            raise Misstated(f"{path}:{number}: '{target}' is no target of {', '.join(KINDS)}")
        for verdict in verdicts.split("|"):
            if verdict not in VERDICTS:
                raise Misstated(f"{path}:{number}: '{verdict}' is none of {', '.join(VERDICTS)}")
        out.append((target, verdicts, rest))
    return out


def stated(path: str, kind: str) -> list[tuple[str, str, str]]:
    """(target, verdicts, tensor and pattern) of this kind."""
    lines = expectations(path)
    found = []
    for target, verdicts, rest in lines:
        if target.startswith(kind + ":"):
            found.append((target, verdicts, rest[0].strip() if rest else ""))
    return found if lines or kind.startswith("jax") else [(f"{kind}:eager", "pass", "")]


def said(binary: str, target: str, files: list[str]) -> dict[str, dict]:
    run = subprocess.run([binary, "check", "--json", "--target", target, *files], capture_output=True, text=True)
    answers = [json.loads(line) for line in run.stdout.splitlines()]
    if run.stderr:
        print(run.stderr, end="", file=sys.stderr)
    return {a["file"]: a for a in answers if "verdict" in a}


def main(binary: str, kind: str, files: list[str]) -> int:
    wanted: dict[str, list[tuple[str, str, str]]] = {}
    checks = fails = skipped = 0
    for path in files:
        try:
            for target, verdicts, tensor in stated(path, kind):
                wanted.setdefault(target, []).append((path, verdicts, tensor))
        except Misstated as e:
            print(f"FAIL: {e}")
            fails += 1
    for target, programs in sorted(wanted.items()):
        if ":inductor" in target and not AVX512:
            skipped += len(programs)
            continue
        answers = said(binary, target, [path for path, _, _ in programs])
        for path, verdicts, tensor in programs:
            a = answers.get(path, {"verdict": "no answer", "why": ""})
            got = f"{a.get('tensor', '')}: {a.get('pattern', '')}".strip()
            checks += 1
            if a["verdict"] not in verdicts.split("|") or (tensor and a["verdict"] == "mismatch" and tensor != got):
                print(f"FAIL: {path} on {target}: expected {verdicts} {tensor}, got {a['verdict']} {got} ({a.get('why', '')})")
                fails += 1
    if skipped:
        print(f"SKIPPED: {skipped} verdicts of inductor, seen with AVX-512, which this machine lacks")
    print(f"{checks} verdicts, {fails} failed")
    return 1 if fails or not checks else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
