#!/usr/bin/env python3
"""layout.py SOURCES: every C file is laid out as clang-format 14 does it by .clang-format, and no line of C or Python is longer than 140
columns (a tab is 4; tables in .def files are laid out by hand). Names what is not: `clang-format-14 -i FILE` mends the first kind.

The files are those that git tracks, or all of the rooms where this is no checkout. First the check itself is asked about two files that
are wrong.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOMS = ("eager", "oracle", "compiled", "reports", "fuzz", "tests", "scripts", "examples")
COLUMNS = 140


def clang_format() -> str:
    """Other versions lay out the same style in other ways."""
    for name in ("clang-format-14", "clang-format"):
        if shutil.which(name) and re.search(r"version 14\.", subprocess.run([name, "--version"], capture_output=True, text=True).stdout):
            return name
    sys.exit("install clang-format 14 (scripts/install-packages --test does): without it nobody knows how files must be laid out")


def files(sources: Path) -> list[Path]:
    top = subprocess.run(["git", "-C", str(sources), "rev-parse", "--show-toplevel"], capture_output=True, text=True)
    if top.returncode == 0 and Path(top.stdout.strip()).resolve() == sources.resolve():
        tracked = subprocess.run(["git", "-C", str(sources), "ls-files", "-z"], capture_output=True, text=True, check=True).stdout
        found = [sources / name for name in tracked.split("\0") if name]
    else:
        found = [p for room in ROOMS for p in (sources / room).rglob("*")]
    made = sources / "reports" / "examples"  # by `report`
    return sorted(p for p in found if p.suffix in (".c", ".h", ".py") and p.is_file() and made not in p.parents)


def wrong(paths: list[Path], tool: str) -> list[str]:
    """A line per file that is not laid out, and per line that is too long."""
    code = [str(p) for p in paths if p.suffix != ".py"]
    run = subprocess.run([tool, "--dry-run", "-Werror", *code], capture_output=True, text=True)
    bad = sorted(set(re.findall(r"^(.*?):\d+:\d+: error: code should be clang-formatted", run.stderr, flags=re.M)))
    if run.returncode and not bad:
        sys.exit(f"{tool}: {run.stderr[:1000]}")
    said = [f"{path}: not laid out by .clang-format" for path in bad]
    for path in paths:
        for n, line in enumerate(path.read_text().splitlines(), 1):
            if len(line.expandtabs(4)) > COLUMNS:
                said.append(f"{path}:{n}: {len(line.expandtabs(4))} columns")
    return said


def check_itself(sources: Path, tool: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(sources / ".clang-format", folder)
        c, py = Path(folder) / "wrong.c", Path(folder) / "long.py"
        c.write_text("int  f (void) {return 1;}\n")
        py.write_text("#" * (COLUMNS + 1) + "\n")
        want = [f"{c}: not laid out by .clang-format", f"{py}:1: {COLUMNS + 1} columns"]
        if wrong([py, c], tool) != want:
            sys.exit(f"what is wrong is not seen: {wrong([py, c], tool)}")


def main(sources: Path) -> int:
    tool = clang_format()
    check_itself(sources, tool)
    paths = files(sources)
    said = wrong(paths, tool)
    print("\n".join([*said, f"{len(paths)} files, {len(said)} faults"]))
    return 1 if said or len(paths) < 100 else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
