"""Which folder may include which: the table of docs/architecture.md against every #include of the product.

usage: folders.py SOURCE_DIR

The table's rows are in order: a folder may use folders of rows above its own only, and of these the ones that its row names ("all above"
for any). A folder that the table does not name, a name in it that is no folder, and a row that allows what nobody uses are failures,
too."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOMS = ("eager", "oracle", "compiled", "reports", "fuzz")
FOLDER = re.compile(r"`([a-z]+(?:/[a-z]+)*)`")
INCLUDE = re.compile(r'^#\s*include "((?:%s)/[^"]+)"' % "|".join(ROOMS), re.MULTILINE)


def table(text: str) -> dict[str, set[str] | None]:
    """The folders that each may use, by row; None: all above."""
    lines = text.partition("## Folders")[2].partition("\n## ")[0].splitlines()
    rows: dict[str, set[str] | None] = {}
    for line in lines:
        cells = [c.strip() for c in line.strip().strip("|").split("|")]
        if len(cells) == 3 and FOLDER.match(cells[0]):
            for folder in FOLDER.findall(cells[0]):
                rows[folder] = None if "all above" in cells[2] else set(FOLDER.findall(cells[2]))
    return rows


def main(root: Path) -> int:
    rows = table((root / "docs/architecture.md").read_text(encoding="utf-8"))
    order = {folder: i for i, folder in enumerate(rows)}
    bad = [f"docs/architecture.md: `{f}`: there is no such folder" for f in rows if not (root / f).is_dir()]
    used: dict[str, set[str]] = {f: set() for f in rows}
    files = sorted(p for room in ROOMS for p in (root / room).rglob("*") if p.suffix in (".c", ".h", ".def"))
    for path in files:
        folder = path.parent.relative_to(root).as_posix()
        if folder not in rows:
            bad.append(f"{path.relative_to(root)}: docs/architecture.md has no row for {folder}")
            continue
        for name in INCLUDE.findall(path.read_text(encoding="utf-8")):
            to = Path(name).parent.as_posix()
            if to == folder:
                continue
            used[folder].add(to)
            allowed = rows[folder]
            if to not in order or order[to] > order[folder] or (allowed is not None and to not in allowed):
                bad.append(f'{path.relative_to(root)}: {folder} may not use {to} ("{name}")')
    for folder, allowed in rows.items():
        bad += [f"docs/architecture.md: {folder} may use {to}, and does not" for to in sorted((allowed or set()) - used[folder])]
        below = [to for to in (allowed or set()) if order.get(to, 0) > order[folder]]
        bad += [f"docs/architecture.md: {folder} may use {to}, which stands below it" for to in below]
    print("\n".join([*(f"FAIL: {b}" for b in sorted(set(bad))), f"{len(files)} files, {len(rows)} folders, {len(set(bad))} faults"]))
    return 1 if bad or len(files) < 300 else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
