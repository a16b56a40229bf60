#!/usr/bin/env python3
"""skipped.py BUILD: passes on what ctest prints, and says before its summary which tests were skipped, or skipped a part, and why.

A test gives its reason in a line "SKIPPED: why", which ctest keeps in BUILD/Testing/Temporary/LastTest.log. Exit code 1 if one gave none.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

SKIPPED = re.compile(r" *\d+/\d+ Test +#\d+: (\S+) \.*\*\*\*Skipped")
SUMMARY = re.compile(r"\d+% tests passed, ")


def reasons(log: str, whole: set[str]) -> Iterator[tuple[str, str, bool]]:
    """(test, why, whether all of it was skipped)"""
    for part in re.split(r"^\d+/\d+ Testing: ", log, flags=re.M)[1:]:
        name = part.split("\n", 1)[0].strip()
        found = re.findall(r"^\s*SKIPPED: (.*)", part, flags=re.M)
        if name in whole:
            yield name, "; ".join(found), True
        elif "\nTest Passed." in part:
            yield from ((name, why, False) for why in found)


def told(skipped: list[tuple[str, str, bool]]) -> list[str]:
    lines = []
    for whole, what in ((True, "skipped"), (False, "skipped a part")):
        by_reason: dict[str, list[str]] = {}
        for name, why, all_of_it in skipped:
            if all_of_it == whole:
                by_reason.setdefault(why or "no reason was given, which is a fault of the test", []).append(name)
        n = sum(len(names) for names in by_reason.values())
        if n or whole:
            lines.append(f"{n} test{'' if n == 1 else 's'} {what}{':' if n else ''}")
        lines += [f"  {', '.join(names)}: {why}" for why, names in by_reason.items()]
    return lines


def main(build: Path) -> int:
    held: list[str] = []
    whole: set[str] = set()
    for line in sys.stdin:
        if found := SKIPPED.match(line):
            whole.add(found[1])
        if held or SUMMARY.match(line):
            held.append(line)
        else:
            print(line, end="", flush=True)
    skipped = list(reasons((build / "Testing/Temporary/LastTest.log").read_text(errors="replace"), whole)) if held else []
    if held:
        print("\n".join([*told(skipped), ""]))
    print("".join(held), end="")
    return 1 if any(not why for _, why, _ in skipped) else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
