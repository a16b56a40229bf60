"""The table of scripts/dump-models, out of what `check --json` said of the graphs.

usage: models_table.py JUDGED LIMIT TITLE      exit code 1: a graph was judged wrong
"""

from __future__ import annotations

import collections
import json
import re
import sys


def model(name: str) -> str:
    """dir/norms-batch_norm.txt:12 is of norms:batch_norm."""
    return re.sub(r".*/|\.txt(:\d+)?$", "", name).replace("-", ":", 1)


def main() -> int:
    judged, limit, title = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    verdicts: collections.Counter[str] = collections.Counter()
    missing: collections.Counter[str] = collections.Counter()
    undecided = elements = unread = operators = cut = 0
    parts, models, broken = set(), set(), set()
    wrong = []
    for line in open(judged):
        d = json.loads(line)
        if "summary" in d:
            continue
        models.add(model(d["file"]))
        if "missing" in d:
            parts.add(d["file"])
            broken.add(model(d["file"]))
            operators += d["operators"]
            cut += d["operators"] - d["judged"]
            missing.update({m["operator"] + (": " + m["why"] if "why" in m else "") for m in d["missing"]})
        elif "error" in d:
            unread += d["programs"]
            broken.add(model(d["file"]))
            missing.update(re.findall(r"(?:^|[ ,])((?:aten|prims|\w+)\.\w+\.\w+) \(", d["error"]) or [d["error"]])
        else:
            verdicts[d["verdict"]] += 1
            elements += sum(d["elements"].values())
            undecided += d["elements"]["undecided"]
            if d["verdict"] in ("mismatch", "crash", "hang", "harness", "invalid"):
                wrong.append(f"{model(d['file'])}: {d['verdict']}: {d['why']}")
    total = sum(verdicts.values()) + unread
    print(f"{title}: {total} graphs of {len(models)} models")
    print(f"  {total - unread - len(parts):4} read whole ({len(models - broken)} models)")
    print(f"  {len(parts):4} in parts ({cut} of their {operators} operators are not read)")
    print(f"  {unread:4} not at all")
    print(f"  on builtin:eager: {', '.join(f'{n} {v}' for v, n in verdicts.most_common())}; {undecided} of {elements} elements undecided")
    if missing:
        print("missing, and in how many graphs:")
    for what, n in missing.most_common(limit):
        print(f"  {n:4} {what}")
    if len(missing) > limit:
        print(f"       and {len(missing) - limit} others")
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
