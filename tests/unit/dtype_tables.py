#!/usr/bin/env python3
"""The tables by dtype that Python files hold are those of eager/lang/dtype.def.

dtype_tables.py ROOT [--update]

A block between `# dtypes: ...` and `# dtypes end` is written from dtype.def, by the function here that has the block's name. Without
--update nothing is written, and a block that is not as dtype.def has it fails.
"""
from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Callable

COLUMNS = ("id name torch cell load store class rows overflow precision emin emax compute acc letter c10 cpp full_cpp short_cpp "
           "reach step weight").split()
Row = dict[str, str]
FLOAT, INTS = "FLOAT", ("SIGNED", "UNSIGNED")
CELL_BYTES = {"float": 4, "double": 8}


def read_rows(root: Path) -> list[Row]:
    text = re.sub(r"/\*.*?\*/", "", (root / "eager/lang/dtype.def").read_text(), flags=re.S)
    rows = []
    for line in re.findall(r"^DT\((.*)\)$", text, flags=re.M):
        values = [v.strip().strip('"') for v in line.split(",")]
        if len(values) != len(COLUMNS):
            sys.exit(f"dtype.def: {values[0]} has {len(values)} columns, not {len(COLUMNS)}")
        rows.append(dict(zip(COLUMNS, values)))
    return rows


def nbytes(r: Row) -> int:
    return CELL_BYTES.get(r["cell"]) or int(re.sub(r"\D", "", r["cell"])) // 8


def fill(rows: list[Row]) -> str:
    """What fills and given data need: the dyadic fill, and of a float its significand and whether it has infinities."""
    lines = [f'    "{r["name"]}": (torch.{r["torch"]}, {r["reach"]}, {float(r["step"])}, {r["precision"]}, '
             f'{r["overflow"] == "TO_INF"}),' for r in rows]
    return "_ROWS = {  # the dyadic fill's reach and step, significand bits, has infinities\n" + "\n".join(lines) + "\n}\n"


def names(rows: list[Row]) -> str:
    listed = wrapped([f'"{r["torch"]}"' for r in rows], 8)
    return f"DTYPES = {{\n    name: getattr(torch, name)\n    for name in (\n{listed}\n    )\n}}  # fmt: skip\n"


def letters(rows: list[Row]) -> str:
    """struct's letter, bytes, and of a float the significand bits, the exponents and whether it has infinities."""
    lines = []
    for r in rows:
        form = f', ({r["precision"]}, {r["emin"]}, {r["emax"]}, {r["overflow"] == "TO_INF"})' if r["class"] == FLOAT else ", None"
        lines.append(f'    "{r["torch"]}": ("{r["letter"]}", {nbytes(r)}{form}),')
    return ("DTYPES = {  # struct's letter (\"\": numpy has none, either), bytes; of floats: precision, exponents, has infinities\n"
            + "\n".join(lines) + "\n}  # fmt: skip\n")


def short_names(rows: list[Row]) -> str:
    return "DT = {\n" + wrapped([f'"{r["name"]}": torch.{r["torch"]}' for r in rows], 4) + "\n}\n"


def abbreviations(rows: list[Row]) -> str:
    return "ABBREVIATIONS = {\n" + wrapped([f'"{r["torch"]}": "{r["name"]}"' for r in rows], 4) + "\n}\n"


def digits(rows: list[Row]) -> str:
    listed = wrapped([f'"{r["name"]}": {int(r["precision"]) - 1}' for r in rows if r["class"] == FLOAT], 4)
    return "DIGITS = {  # stored bits of the significand\n" + listed + "\n}\n"


def wrapped(items: list[str], indent: int) -> str:
    lines, line = [], ""
    for item in items:
        if line and indent + len(line) + len(item) + 2 > 118:
            lines.append(line)
            line = ""
        line += (" " if line else "") + item + ","
    return "\n".join(" " * indent + x for x in [*lines, line])


BLOCKS: list[tuple[str, str, Callable[[list[Row]], str]]] = [
    ("compiled/targets/torch/fill.py", "fill", fill),
    ("compiled/targets/torch/worker.py", "names", names),
    ("compiled/targets/torch/probe.py", "abbreviations", abbreviations),
    ("compiled/targets/python/worker.py", "letters", letters),
    ("tests/differential/calls.py", "short names", short_names),
    ("tests/differential/autograd_check.py", "short names", short_names),
    ("tests/differential/autograd_check.py", "digits", digits),
]


def main() -> int:
    root, update, bad = Path(sys.argv[1]), "--update" in sys.argv, 0
    rows = read_rows(root)
    for path, name, make in BLOCKS:
        text = (root / path).read_text()
        head = f"# dtypes: {name}; written by tests/unit/dtype_tables.py\n"
        block = re.compile(re.escape(head) + ".*?# dtypes end\n", flags=re.S)
        want = head + make(rows) + "# dtypes end\n"
        found = block.findall(text)
        if len(found) != 1:
            print(f"{path}: {len(found)} blocks '{name}', not 1")
            bad += 1
        elif found[0] != want and update:
            (root / path).write_text(block.sub(lambda _: want, text))
            print(f"{path}: '{name}' written")
        elif found[0] != want:
            print(f"{path}: '{name}' is not what dtype.def says: python3 tests/unit/dtype_tables.py . --update writes it")
            bad += 1
    print(f"{len(rows)} dtypes, {len(BLOCKS)} blocks, {bad} differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
