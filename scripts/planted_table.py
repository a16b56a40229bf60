"""What a run of scripts/planted found, from the folders that it left: one row per planted fault, and how well causes separate faults.

A folder DIR/FAULT holds plan.json (what was planted), findings.db (campaign and triage on the broken target), times.json, and sound.json
(what `check` says of each finding's program on the target without the fault); of a run that was stopped, those that it came to. Only
findings that have a cause and whose program passes without the fault count: what fails there, too, is a bug of that compiler, or nobody
knows.
"""

from __future__ import annotations

import json
import math
import re
import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

Row = dict[str, Any]

# ---- the two figures -------------------------------------------------------------------------------------------


def entropy(labels: Sequence[Any]) -> float:
    n = len(labels)
    return -sum(k / n * math.log(k / n) for k in Counter(labels).values())


def conditional_entropy(labels: Sequence[str], given: Sequence[str]) -> float:
    """H(labels | given) = H(labels, given) - H(given)"""
    return entropy(list(zip(labels, given, strict=True))) - entropy(given)


def homogeneity(fault: Sequence[str], cause: Sequence[str]) -> float:
    """1 - H(fault | cause) / H(fault): 1 if no cause has findings of two faults. Of one fault alone: 1, as scikit-learn has it."""
    h = entropy(fault)
    return 1 - conditional_entropy(fault, cause) / h if h else 1.0


def completeness(fault: Sequence[str], cause: Sequence[str]) -> float:
    """1 - H(cause | fault) / H(cause): 1 if all findings of a fault have one cause."""
    return homogeneity(cause, fault)


# ---- what blame named ------------------------------------------------------------------------------------------

NAMED = (
    r"cloning (\S+) in the (?:forward|backward) graph",
    r"own kernel of ([^\s,;]+)",
    r"switching off [^;]*?\(((?:probe\.off|[a-z_.]+)=[^\s)]+)\)",
    r"leaving (\S+) away",
    r"copying `[^`]*`, the result of ([^\s,;]+)",
    r"right without application \d+ of \w+: ([^\s,;]+)",
    r"the first wrong value is `[^`]*`, the result of ([^\s,;]+)",
    r"predicts ([^\s,;]+)(?: of the backward)? wrong",
    r"cures it, too \(probe\.(?:clone|fallback)=(?:[fb]w:)?([^\s)]+)\)",
)


def plain_name(name: str) -> str:
    """An operator without namespace, overload and number: aten.amax.default, amax_1 and amax are one; options stay as they are."""
    if "=" in name:
        return name
    for namespace in ("aten.", "prims."):
        name = name.removeprefix(namespace)
    return re.sub(r"_\d+$", "", name.split(".")[0])


def names_of(sentence: str) -> set[str]:
    return {plain_name(m.group(1)) for pattern in NAMED for m in re.finditer(pattern, sentence)}


def names_stage(blame: str, cause: str) -> str:
    """The stage is in both; a known cause's blame has none."""
    found = re.match(r"wrong from: (\w+)", blame) or re.match(r"\w+:(\w+):", cause)
    return found.group(1) if found else ""


def judge_blame(blame: str, cause: str, stage: str, broken: Sequence[str], step: str = "") -> str:
    """right: what is broken, and perhaps the step that it belongs to; right step: that alone, or the stage alone if it is not the last;
    among others: one of these and something else; other: something else alone, or another stage; nothing."""
    if names_stage(blame, cause) != stage:
        return "other"
    named = names_of(blame)
    true = named & {*broken, step}
    if named - true:
        return "among others" if true else "other"
    if true & set(broken):
        return "right"
    return "right step" if true or stage != "inductor" else "nothing"


# ---- one folder ------------------------------------------------------------------------------------------------


@dataclass
class Finding:
    id: str
    cause: str  # "" if triage did not come to it, or could not confirm it
    blame: str
    ops: int
    calls: int | None  # of the target, to minimise it; None: it was not minimised
    index: int  # of the program in its campaign, from 0; -1 if unknown
    compiled: int  # its place among those compiled
    sound: str  # verdict without the fault; "" if not asked


@dataclass
class Planted:
    name: str
    plan: Row
    times: Row
    findings: list[Finding] = field(default_factory=list)
    tried: str = "none"  # of how many programs, if the campaign came to its end and found nothing

    def counted(self) -> list[Finding]:
        return [f for f in self.findings if f.cause and f.sound == "pass"]


def number(pattern: str, text: str) -> int | None:
    found = re.search(pattern, text)
    return int(found.group(1)) if found else None


def ask(binary: str, db: Path, sql: str) -> list[Row]:
    words = [binary, "findings", "sql", sql, "--db", str(db), "--json"]
    answer = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if answer.returncode:
        raise OSError(f"{db}: {answer.stderr.strip()}")
    return [json.loads(line) for line in answer.stdout.splitlines()]


def read_json(path: Path) -> Row:
    return json.loads(path.read_text()) if path.exists() else {}


def verdicts_without(path: Path) -> dict[str, str]:
    """What `check --json` says of DIR/FINDING.prog; of a check that was killed, as far as it came."""
    verdicts = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            said = json.loads(line)
        except json.JSONDecodeError:  # killed in the middle of it
            continue
        if "verdict" in said:
            verdicts[Path(said["file"]).stem] = said["verdict"]
    return verdicts


def findings_of(binary: str, folder: Path) -> list[Finding]:
    db, sound = folder / "findings.db", verdicts_without(folder / "sound.json")
    if not db.exists() or not db.stat().st_size:
        return []
    rows = ask(binary, db, "select full_id, id, ops from v_findings where target <> 'scatterproof' order by full_id")
    latest: dict[str, dict[str, str]] = {r["full_id"]: {} for r in rows}
    for event in ask(binary, db, "select full_id, kind, payload from v_events order by at"):
        latest.get(event["full_id"], {})[event["kind"]] = event["payload"]
    found = []
    for row in rows:
        said = latest[row["full_id"]]
        index, compiled = number(r"program (\d+) of seed", said.get("note", "")), number(r"compile (\d+)", said.get("note", ""))
        found.append(
            Finding(
                id=row["id"],
                cause=said.get("cause", ""),
                blame=said.get("blame", ""),
                ops=len(row["ops"].split()) if isinstance(row["ops"], str) else int(row["ops"] or 0),
                calls=number(r"(\d+) calls? of the target", said["minimised"]) if "minimised" in said else None,
                index=-1 if index is None else index,
                compiled=compiled or 0,
                sound=sound.get(row["id"], ""),
            )
        )
    return found


def tried(path: Path) -> str:
    """A campaign that compiled nothing, because a slow machine came to no more, did not show that a fault cannot be seen."""
    for line in path.read_text().splitlines() if path.exists() else []:
        if line.startswith('{"summary"'):
            summary = json.loads(line)["summary"]
            return f"none of {summary['programs']} ({summary['compiled']})"
    return "none"


def read_folder(binary: str, folder: Path) -> Planted:
    plan, times = read_json(folder / "plan.json"), read_json(folder / "times.json")
    return Planted(folder.name, plan, times, findings_of(binary, folder), tried(folder / "campaign.json"))


# ---- the table -------------------------------------------------------------------------------------------------


def middle(values: Sequence[int]) -> str:
    return f"{median(values):g}, {max(values)}" if values else "-"


def first_found(p: Planted) -> str:
    found = [f for f in p.findings if f.sound in ("pass", "") and f.index >= 0]
    first = min(found, key=lambda f: f.index, default=None)
    if first is None:
        return p.tried
    return f"{first.index + 1} ({first.compiled})" if first.compiled else str(first.index + 1)


def blamed(p: Planted) -> str:
    if "broken" not in p.plan or not p.plan["broken"]:
        return "-"
    words = Counter(judge_blame(f.blame, f.cause, p.plan["stage"], p.plan["broken"], p.plan["step"]) for f in p.counted())
    return ", ".join(f"{words[w]} {w}" for w in ("right", "right step", "among others", "other", "nothing") if words[w]) or "-"


def apart(p: Planted) -> str:
    """Findings that do not count."""
    real = sum(f.sound not in ("", "pass", "unjudged", "harness") for f in p.findings)
    unsure = sum(f.sound in ("unjudged", "harness") for f in p.findings)
    unchecked = sum(bool(f.cause) and not f.sound for f in p.findings)
    left = sum(not f.cause and not f.sound for f in p.findings)
    words = ((real, "real"), (unsure, "cannot tell"), (unchecked, "not checked"), (left, "no cause"))
    return ", ".join(f"{n} {word}" for n, word in words if n) or "-"


def row_of(p: Planted) -> list[str]:
    counted = p.counted()
    smallest = [f for f in counted if f.calls is not None]
    seconds = sum(v for k, v in p.times.items() if k.endswith("_s"))
    return [
        p.name,
        first_found(p),
        str(len(counted)),
        str(len({f.cause for f in counted})),
        middle([f.ops for f in smallest]),
        middle([f.calls for f in smallest if f.calls is not None]),
        p.times.get("problem") or blamed(p),
        apart(p),
        f"{seconds:.0f}",
    ]


HEAD = ["fault", "first", "findings", "causes", "operators", "calls", "blame named", "not counted", "seconds"]


def figures(planted: Sequence[Planted]) -> str:
    pairs = [(p.name, f.cause) for p in planted for f in p.counted()]
    faults, causes = [f for f, _ in pairs], [c for _, c in pairs]
    with_findings = len(set(faults))
    if with_findings < 2:
        return f"{len(pairs)} findings of {with_findings} fault{'s' * (with_findings != 1)}: too few for figures"
    return (
        f"homogeneity {homogeneity(faults, causes):.3f}, completeness {completeness(faults, causes):.3f}: "
        f"{len(pairs)} findings, {len(set(causes))} causes, {with_findings} of {len(planted)} faults"
    )


def table(planted: Sequence[Planted]) -> str:
    """In Markdown."""
    lines = [HEAD, ["---"] * len(HEAD), *(row_of(p) for p in planted)]
    text = ["| " + " | ".join(cell.replace("|", "/") for cell in line) + " |" for line in lines]
    text += ["", "first: generated programs until the first finding (of which compiled)"]
    text += ["operators, calls: median, max of the minimised ones", ""]
    shared: dict[str, set[str]] = {}
    for p in planted:
        for f in p.counted():
            shared.setdefault(f.cause, set()).add(p.name)
    text += [f"one cause for {', '.join(sorted(names))}: {cause}" for cause, names in sorted(shared.items()) if len(names) > 1]
    for p in planted:
        causes = Counter(f.cause for f in p.counted())
        if len(causes) > 1:
            text += [f"{len(causes)} causes for {p.name}:", *(f"    {n} {cause}" for cause, n in causes.most_common())]
    return "\n".join([*text, figures(planted)])
