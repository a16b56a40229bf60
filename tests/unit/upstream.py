"""corpus/regressions/upstream.tsv and the column "upstream" of docs/found.md say the same; scripts/suspects reads operators.tsv.
Usage: upstream.py SOURCES"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

URL = re.compile(r"https://github\.com/[\w.-]+/[\w.-]+/(?:issues|pull)/\d+")


def table(path: Path) -> dict[str, set[str]]:
    """Of each program its issues; {"not found"} if it was looked for."""
    rows: dict[str, set[str]] = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith("#"):
            continue
        program, issues = line.split("\t")[:2]
        words = issues.split(" ")
        assert program not in rows, f"{path}:{number}: {program} is there twice"
        assert (path.parent / f"{program}.prog").is_file(), f"{path}:{number}: no program {program}"
        assert issues == "-" or all(URL.fullmatch(w) for w in words), f"{path}:{number}: {issues} are no issues"
        rows[program] = {"not found"} if issues == "-" else set(words)
    return rows


def column(path: Path) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for line in path.read_text().splitlines():
        cells = [c.strip() for c in line.split("|")]
        if len(cells) != 6 or not cells[1].startswith("`"):
            continue
        names = re.findall(r"`([^`]*)`", cells[1])
        for name in names:
            mine = next((part for part in cells[4].split(";") if f"`{name}`" in part), "" if "`" in cells[4] else cells[4])
            said = set(URL.findall(mine)) | ({"not found"} if "not found" in mine else set())
            found[name] = said
    return found


def main() -> int:
    src = Path(sys.argv[1])
    rows, said = table(src / "corpus/regressions/upstream.tsv"), column(src / "docs/found.md")
    wrong = [name for name in sorted(said) if rows.get(name, set()) != said[name]]
    for name in wrong:
        print(f"FAIL: {name}: upstream.tsv says {rows.get(name)}, found.md {said[name]}")
    print(f"{len(said)} programs of found.md, {len(said.keys() & rows.keys())} of them in upstream.tsv, {len(wrong)} differ")
    read = subprocess.run([sys.executable, str(src / "scripts/suspects"), "--check"])
    return 1 if wrong or not said.keys() & rows.keys() or read.returncode else 0


sys.exit(main())
