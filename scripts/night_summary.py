"""What a night says in the morning: summary.md, and report/: a page, an issue, a script and a program of each open cause that was seen.

Started by scripts/nightly. Everything comes from the store, but for what the campaign shouted (campaign.json).

A cause is what triage named. A finding that triage has not given a cause is no cause: all of these together are one section, because
thousands of them may be one bug. Every list has a limit, so that summary.md fits on a page of GitHub Actions (1 MiB).
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import unicodedata
from collections import Counter
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path
from typing import Any

OPEN = ("candidate", "confirmed", "minimised", "blamed", "regressed")
SEVERITIES = ("high", "normal", "trivial")
Row = dict[str, Any]

MAX_BYTES = 900 << 10  # of summary.md
MAX_TO_DO = 10
MAX_SHOWN, MAX_LISTED = 20, 100  # causes with their program; then with a line
MAX_PROGRAM_LINES, MAX_LINE = 60, 400
MAX_SMALLEST = 5
MAX_SORTS = 10
MAX_UNTRIAGED_PAGES = 50


class Store:
    def __init__(self, binary: str, db: str) -> None:
        self.binary, self.db = binary, db

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([self.binary, *words, "--db", self.db], capture_output=True, text=True, stdin=subprocess.DEVNULL)

    def ask(self, sql: str) -> list[Row]:
        answer = self.run("findings", "sql", sql, "--json")
        if answer.returncode:
            sys.exit(answer.stderr)
        return [json.loads(line) for line in answer.stdout.splitlines()]

    @cached_property  # after the night: it no longer changes
    def causes(self) -> list[Row]:
        return [json.loads(line) for line in self.run("findings", "causes", "--all", "--json").stdout.splitlines()]


def code(text: str) -> str:
    """As Markdown's code, on one line."""
    return "`" + harmless(text).replace("`", "'").replace("\n", " ") + "`"


def campaign(path: Path) -> tuple[Row, list[Row]]:
    """Its summary, {} if it did not come to one, and what it shouted about what was known."""
    summary: Row = {}
    shouts = []
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            said = json.loads(line)
        except json.JSONDecodeError:  # it was killed in the middle of a line
            continue
        summary = said.get("summary", summary)
        if "recheck" in said:
            shouts.append(said)
    return summary, shouts


def harmless(text: str) -> str:
    """What a terminal or a page would obey (control characters, directions of writing) as \\u202e; newlines and tabs stay."""
    bad = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
    return "".join(f"\\u{ord(c):04x}" if c not in "\n\t" and unicodedata.category(c) in bad else c for c in text)


def escaped(text: str) -> str:
    """Nothing in it is markup, a mention or a link (reports/page/markup.c does the same)."""
    out = "".join(f"\\{c}" if c in "\\`*_[]<>#|&~$" else c for c in text)
    return out.replace("@", "\\@<!-- -->").replace("://", ":<!-- -->//").replace("www.", "w<!-- -->ww.")


def plain(text: str) -> str:
    """In a line of Markdown: a title's `code` stays, nothing else is markup."""
    parts = harmless(text).replace("\n", " ").split("`")
    if len(parts) % 2 == 0:
        return escaped("`".join(parts))
    return "`".join(part if i % 2 else escaped(part) for i, part in enumerate(parts))


def link(url: str) -> str:
    """An address as it is, anything else as text."""
    return url if re.fullmatch(r"https?://[!-;=?-~]{1,300}", url) else plain(clipped(url))


def fenced(text: str) -> list[str]:
    """A block of code: its fence is longer than any run of backticks in it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence, harmless(text).rstrip("\n"), fence, ""]


def counted(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"


def clipped(text: str, most: int = MAX_LINE) -> str:
    return text if len(text) <= most else text[:most] + "…"


def program_block(cause: Row) -> list[str]:
    lines = cause["program"].rstrip("\n").split("\n")
    rest = [f"... {len(lines) - MAX_PROGRAM_LINES} lines more"] if len(lines) > MAX_PROGRAM_LINES else []
    return fenced("\n".join([*[clipped(line) for line in lines[:MAX_PROGRAM_LINES]], *rest]))


def by_weight(cause: Row) -> tuple[bool, int, int]:
    """What a person reads first: named by triage, serious, often seen."""
    return not cause["triaged"], SEVERITIES.index(cause["severity"]), -cause["nobs"]


def within_limit(text: str) -> str:
    """Whatever is in the store, the text can be shown."""
    data = text.encode(errors="replace")
    if len(data) <= MAX_BYTES:
        return text
    cut = data[:MAX_BYTES - 200].decode(errors="ignore").rpartition("\n")[0]
    fence = "```\n" if len(re.findall("^```", cut, re.M)) % 2 else ""
    return f"{cut}\n{fence}\n**This summary was cut off here**: it is longer than {MAX_BYTES >> 10} KiB.\n"


def write(path: Path, text: str) -> None:
    part = path.with_name(path.name + ".part")
    part.write_text(text)
    part.rename(path)


def write_briefly(out: Path, lines: list[str], error: OSError) -> None:
    """Where there is no room for the programs: they are in the store."""
    shutil.rmtree(out / "report", ignore_errors=True)
    (out / "summary.md.part").unlink(missing_ok=True)
    named = [line for line in lines if line.startswith(("# ", "## ", "### ", "* ", "Exit code"))]
    write(out / "summary.md", within_limit("\n".join([*named, "", f"The programs are in the store alone: {error.strerror}."]) + "\n"))


def make_report(store: Store, out: Path, rows: list[Row]) -> str:
    """report/, of these causes, and of the first findings without one; why there is none."""
    shutil.rmtree(out / "report", ignore_errors=True)
    untriaged = [c for c in rows if not c["triaged"]]
    rows = [c for c in rows if c["triaged"]] + sorted(untriaged, key=lambda c: (by_weight(c), len(c["program"])))[:MAX_UNTRIAGED_PAGES]
    if not rows:
        return ""
    made = store.run("report", *[cause["full_id"] for cause in rows], "-o", str(out / "report"))
    return " ".join(made.stderr.split()).removeprefix("scatterproof: ") if made.returncode else ""


def links(out: Path, cause: Row) -> str:
    """To what the report has of it."""
    names = {"page": "index.html", "issue": "issue.md", "script": "repro.py", "program": "program.prog"}
    there = [f"[{word}](report/{cause['id']}/{name})" for word, name in names.items() if (out / "report" / cause["id"] / name).exists()]
    return ", ".join(there)


def repeat(store: Store, cause: Row) -> str:
    return f"again: `scatterproof repro {cause['id']} --db {store.db}`"


def show_cause(store: Store, out: Path, cause: Row) -> list[str]:
    lines = [f"### {cause['id']}: {cause['severity']}, {clipped(plain(cause['title']))}", ""]
    if cause["blame"]:
        lines += [plain(clipped(cause["blame"], 10 * MAX_LINE)), ""]
    times = counted(cause["nobs"], "time")
    where = f"{counted(cause['nfindings'], 'finding')}, seen {times} on {code(cause['target'])}, since {cause['first_seen']}"
    size = "minimised" if cause["minimised"] else "not minimised yet"
    return [*lines, "; ".join(filter(None, (where, size, links(out, cause), repeat(store, cause)))), "", *program_block(cause)]


def listed(out: Path, cause: Row) -> str:
    there = f": {links(out, cause)}" if links(out, cause) else ""
    marked = " (somebody has marked a finding of this cause)" if set(cause["states"].split()) - set(OPEN) else ""
    return f"* {cause['id']}: {cause['severity']}, {clipped(plain(cause['title']))}; since {cause['first_seen']}{marked}{there}"


def index_page(out: Path) -> str:
    return ": [index page](report/index.html)" if (out / "report/index.html").exists() else ""


def list_causes(out: Path, rows: list[Row]) -> list[str]:
    """A line each, then how many more."""
    lines = [listed(out, cause) for cause in rows[:MAX_LISTED]]
    return [*lines, *([f"* and {len(rows) - MAX_LISTED} more{index_page(out)}"] if len(rows) > MAX_LISTED else []), ""]


def show_causes(store: Store, out: Path, rows: list[Row]) -> list[str]:
    """The first with their programs, the next with a line."""
    rows = sorted(rows, key=by_weight)
    lines = [line for cause in rows[:MAX_SHOWN] for line in show_cause(store, out, cause)]
    return lines + (list_causes(out, rows[MAX_SHOWN:]) if len(rows) > MAX_SHOWN else [])


def to_do(store: Store, out: Path, cause: Row) -> str:
    """One line: what somebody does with a cause."""
    name = f"* {cause['id']}: {clipped(plain(cause['title']))}"
    if not cause["triaged"]:
        return f"{name}: `scatterproof triage {cause['id']} --db {store.db}`"
    read = f"; read {links(out, cause)}" if links(out, cause) else ""
    mark = f"`scatterproof findings mark {cause['id']} known --issue URL --db {store.db}`, or dismissed"
    return f"{name}{read}; then {mark}"


def what_to_do(store: Store, out: Path, causes: list[Row], untriaged: list[Row]) -> list[str]:
    """The first screen: at most MAX_TO_DO lines."""
    causes = sorted(causes, key=by_weight)
    room = MAX_TO_DO - bool(untriaged)
    shown = causes if len(causes) <= room else causes[:room - 1]
    lines = [to_do(store, out, cause) for cause in shown]
    if len(causes) > len(shown):
        lines.append(f"* and {len(causes) - len(shown)} more{index_page(out)}")
    if untriaged:
        goes_on = f"`scatterproof triage --db {store.db}` goes on with them"
        lines.append(f"* {counted(len(untriaged), 'finding')} not triaged yet: {goes_on}{one_bug(untriaged)}")
    return ["## What to do now", "", *lines, ""] if lines else []


# ---- findings without a cause ------------------------------------------------------------------------------------------------------------


def stage(target: str) -> str:
    """torch-2.15.0:inductor@cpu+dynamic: torch:inductor, whatever the version, the device and the options."""
    family, _, rest = target.partition(":")
    if family == "python":
        return target
    return f"{family.partition('-')[0]}:{re.split('[@+]', rest)[0]}"


def sort_of_error(finding: Row) -> str:
    """Its kind and how its signature begins; numbers, which differ from program to program, are all one."""
    words = re.sub(r"\d+", "N", finding["signature"]).split()[:6]
    return f"{finding['kind']}: {' '.join(words)}" if words else str(finding["kind"])


def one_bug(untriaged: list[Row]) -> str:
    """Of several, whether most have one kind on one stage."""
    (kind, where), n = Counter((f["kind"], stage(f["target"])) for f in untriaged).most_common(1)[0]
    if n < 3 or 2 * n <= len(untriaged):
        return ""
    return f". Most of these may be one bug: {n} of {len(untriaged)} are {plain(kind)} on {plain(where)}"


def show_untriaged(store: Store, out: Path, untriaged: list[Row], nnew: int) -> list[str]:
    lines = [f"## Not triaged yet: {counted(len(untriaged), 'finding')}", ""]
    if not untriaged:
        return lines
    old = f"{nnew} of them new, the others older and seen again. " if nnew < len(untriaged) else ""
    one = one_bug(untriaged).removeprefix(". ")
    lines += [f"{old}Triage has not given them a cause, so nobody knows how many bugs they are.{' ' + one + '.' if one else ''}", ""]
    sorts = Counter((stage(f["target"]), sort_of_error(f)) for f in untriaged).most_common()
    lines += ["| stage | sort of error | findings |", "|---|---|---:|"]
    lines += [f"| {plain(where)} | {clipped(plain(sort))} | {n} |" for (where, sort), n in sorts[:MAX_SORTS]]
    if len(sorts) > MAX_SORTS:
        lines.append(f"| | {len(sorts) - MAX_SORTS} other sorts | {sum(n for _, n in sorts[MAX_SORTS:])} |")
    smallest = sorted(untriaged, key=lambda f: (f["program"].count("\n"), len(f["program"])))[:MAX_SMALLEST]
    lines += ["", f"The smallest {'programs' if len(smallest) > 1 else 'program'}:", ""]
    for f in smallest:
        lines += [f"#### {f['id']}: {f['severity']}, {clipped(plain(f['title']))}", ""]
        lines += ["; ".join(filter(None, (f"on {code(f['target'])}", links(out, f), repeat(store, f)))), "", *program_block(f)]
    return lines


# ---- what was seen ---------------------------------------------------------------------------------------------------------------------


def time_text(since: int) -> str:
    """As the views have it."""
    return datetime.fromtimestamp(since // 1000, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def of_these(cause: Row, full_ids: set[str]) -> bool:
    return any(full_id.startswith(i) for i in cause["ids"].split() for full_id in full_ids)


def sighted(store: Store, since: int) -> set[str]:
    """The findings that this night's campaign saw, those included that it ran again because they are known. Triage, and people meanwhile,
    run older findings on the targets where these were found, which may be of another version: no sightings of this night's."""
    sql = (
        "select distinct lower(hex(c.finding)) as full_id from observation_count c join run r on r.id = c.run "
        f"where c.verdict <> 'pass' and c.last >= {since} and r.policy not in ('triage', 'repro', 'check', 'minimise')"
    )
    return {row["full_id"] for row in store.ask(sql)}


def causes(store: Store, since: int) -> tuple[list[Row], list[Row], list[Row]]:
    """Of this night: new, seen again by its campaign and open, regressed. What has a finding that somebody marked is known, not new."""
    at = time_text(since)
    seen = [c for c in store.causes if c["last_seen"] >= at and set(c["states"].split()) & set(OPEN)]
    back = {e["full_id"] for e in store.ask(f"select distinct full_id from v_events where kind = 'regressed' and at >= '{at}'")}
    regressed = [c for c in seen if of_these(c, back)]
    here = sighted(store, since)
    older = {f["full_id"] for f in store.ask(f"select lower(hex(finding)) as full_id from finding_summary where first_seen < {since}")}
    others = [c for c in seen if c not in regressed and (of_these(c, here) or not of_these(c, older))]
    marked = [c for c in others if set(c["states"].split()) - set(OPEN)]
    new = [c for c in others if not of_these(c, older) and c not in marked]
    return new, [c for c in others if c not in new], regressed


class Seen:
    """What this night saw, sorted by what a person does with it."""

    def __init__(self, new: list[Row], again: list[Row], regressed: list[Row]) -> None:
        def open_causes(rows: list[Row]) -> list[Row]:
            return [c for c in rows if c["triaged"] and c["reach"] != "aten"]

        self.overload = [c for c in [*new, *again] if c["triaged"] and c["reach"] == "aten"]
        self.untriaged = [c for c in [*new, *again] if not c["triaged"]]
        self.nuntriaged_new = sum(not c["triaged"] for c in new)
        self.new, self.again, self.regressed = open_causes(new), open_causes(again), regressed


def known(store: Store, since: int) -> list[Row]:
    here = sighted(store, since)
    rows = store.ask(
        "select v.id, v.full_id, v.state, v.severity, v.signature, "
        "(select max(issue) from v_events e where e.full_id = v.full_id) as issue "
        f"from v_findings v where v.state in ('known', 'fixed-in') and last_seen >= '{time_text(since)}' order by v.severity, v.signature"
    )
    return [r for r in rows if r["full_id"] in here]


VERDICT = {
    0: "clean, or only findings that somebody has marked",
    1: "findings that nobody has marked",
    2: "wrong usage",
    3: "a target, a disk or the store failed",
    4: "THIS NIGHT DOES NOT COUNT",
}


def head(args: argparse.Namespace, began: str) -> list[str]:
    verdict = VERDICT.get(args.exit_code, f"interrupted by signal {args.exit_code - 128}" if args.exit_code > 128 else "")
    lines = [f"# Night of {began}", "", f"Exit code {args.exit_code}: {verdict}.", ""]
    if args.exit_code > 128:
        lines += ["**This night was interrupted.** What follows is what it had found until then; the next one goes on.", ""]
    return lines


def numbers(args: argparse.Namespace, summary: Row, judged: int) -> list[str]:
    lines = ["## The night in numbers", ""]
    lines.append(f"* targets: {', '.join(map(code, summary.get('targets', args.target)))}; seed {args.seed}")
    if args.canary:
        lines.append("* **the canary was not found**: a planted fault went unseen" if args.canary == 4 else "* the canary did not run")
    else:
        lines.append("* the canary was found")
    if summary:
        verdicts = ("pass", "mismatch", "invariant", "crash", "hang", "unsupported", "invalid", "harness", "unjudged")
        counts = ", ".join(f"{summary[v]} {v}" for v in verdicts if summary.get(v))
        aside = f"{summary['set_aside']} set aside because known causes explain them"
        cheap = f"{summary['cheap']} through the cheap stage, " if summary["cheap"] else ""
        lines.append(f"* {summary['programs']} programs generated, {cheap}{summary['compiled']} compiled, {judged} judged; {aside}")
        lines.append(f"* answers, those of the stage that only predicts included: {counts}")
        if summary.get("few_compiled"):
            lines.append("* **NEXT TO NOTHING WAS COMPILED**: this night says little about the compiler (give it more time)")
        again = summary["recheck"]
        if again["findings"]:
            words = {"still_there": "still there", "no_longer": "no longer happen", "fixed": "fixed and gone", "regressed": "regressed",
                     "cannot_tell": "cannot be told", "not_reached": "not reached in time"}
            parts = ", ".join(f"{again[key]} {text}" for key, text in words.items() if again[key])
            lines.append(f"* known before, run again: {again['findings']}: {parts}")
    else:
        lines.append("* the campaign did not come to its end")
    if args.marked:
        lines.append(f"* upstream's bugs (mark-known): {args.marked}")
    if args.triage:
        lines.append(f"* triage ended with exit code {args.triage} (triage.log): some findings may not be minimised")
    return [*lines, ""]


NO_CAMPAIGNS = "('triage', 'repro', 'check', 'minimise', 'recheck')"


def judged(store: Store, since: int, targets: list[str]) -> int:
    """Answers of this night's campaign that were compared with the reference, on the targets proper."""
    names = ", ".join("'" + t.replace("'", "''") + "'" for t in targets)
    sql = (
        f"select coalesce(sum(n), 0) as n from v_counters where started >= '{time_text(since)}' and policy not in {NO_CAMPAIGNS} "
        f"and target in ({names}) and verdict in ('pass', 'mismatch', 'invariant', 'crash', 'hang')"
    )
    return int(store.ask(sql)[0]["n"])


def trend(store: Store, all_causes: list[Row]) -> list[str]:
    """The last 14 campaigns, the latest first."""
    sql = (
        "select started, policy, sum(n) as answers, sum(n * (verdict in ('mismatch', 'invariant', 'crash', 'hang'))) as diverging "
        f"from v_counters where policy not in {NO_CAMPAIGNS} group by started, policy order by started desc limit 14"
    )
    rows = store.ask(sql)
    if len(rows) < 2:
        return []
    lines = ["## The last nights", "", "| began | policy | answers | diverging | new causes |", "|---|---|---:|---:|---:|"]
    until = "9999"
    for row in rows:
        new = sum(row["started"] <= c["first_seen"] < until for c in all_causes)
        lines.append(f"| {row['started']} | {code(row['policy'])} | {row['answers']} | {row['diverging']} | {new} |")
        until = row["started"]
    return [*lines, ""]


def show_open(store: Store, out: Path, seen: Seen) -> list[str]:
    """The causes, then the findings that have none yet."""
    lines = [f"## New: {counted(len(seen.new), 'cause')}", "", *show_causes(store, out, seen.new)]
    lines += [f"## Regressed: {len(seen.regressed)}", "", *show_causes(store, out, seen.regressed)]
    lines += show_untriaged(store, out, seen.untriaged, seen.nuntriaged_new)
    lines += [f"## Open, seen again: {counted(len(seen.again), 'cause')}", "", *list_causes(out, sorted(seen.again, key=by_weight))]
    return lines


def limited(lines: list[str]) -> list[str]:
    return lines if len(lines) <= MAX_LISTED else [*lines[:MAX_LISTED], f"* and {len(lines) - MAX_LISTED} more"]


def show_rest(store: Store, since: int, overload: list[Row], shouts: list[Row], there: bool) -> tuple[list[str], int, int]:
    """What decides nothing: a line each."""
    rows = known(store, since) if there else []
    lines = []
    if overload:
        names = ", ".join(f"{c['id']} ({plain(c['title'])})" for c in overload[:MAX_SHOWN])
        names += ", ..." if len(overload) > MAX_SHOWN else ""
        lines += [f"Only callers of the overload (`torch.ops.aten`) meet {len(overload)} more: {names}.", ""]
    lines += [f"## Known, seen again: {len(rows)}", ""]
    said = [f"* {r['id']} {r['state']}, {r['severity']}: {code(clipped(r['signature']))} {link(r['issue'] or '')}" for r in rows]
    lines += limited([line.rstrip() for line in said])
    gone = [s for s in shouts if s["what"] == "no longer happens"]
    lines += ["", f"## No longer happens: {len(gone)}", ""]
    asked = []
    for s in gone:
        mark = f"`scatterproof findings mark {s['recheck']} fixed-in VERSION --db FILE`"
        asked.append(f"* {s['recheck']} on {code(clipped(s['targets']))}: {code(clipped(s['signature']))}: is it fixed? {mark}")
    return [*lines, *limited(asked), ""], len(rows), len(gone)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    for name in ("--binary", "--db", "--out"):
        parser.add_argument(name, required=True)
    for name in ("--since", "--exit-code", "--canary", "--triage", "--seed"):
        parser.add_argument(name, type=int, required=True)
    parser.add_argument("--marked", default="", help="what scripts/mark-known said, or why it did not run")
    parser.add_argument("--target", action="append", default=[])
    return parser.parse_args()


def main() -> int:
    args = arguments()
    out, store = Path(args.out), Store(args.binary, args.db)
    summary, shouts = campaign(out / "campaign.json")
    began = datetime.fromtimestamp(args.since // 1000, timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    there = Path(args.db).exists() and Path(args.db).stat().st_size > 0
    seen = Seen(*causes(store, args.since)) if there else Seen([], [], [])
    no_report = make_report(store, out, [*seen.regressed, *seen.new, *seen.again, *seen.untriaged])
    lines = head(args, began)
    if no_report:
        lines += [f"There is no report: {no_report}", ""]
    lines += what_to_do(store, out, [*seen.regressed, *seen.new], seen.untriaged)
    lines += numbers(args, summary, judged(store, args.since, summary["targets"]) if summary and there else 0)
    lines += show_open(store, out, seen)
    rest, nknown, ngone = show_rest(store, args.since, seen.overload, shouts, there)
    lines += rest + (trend(store, store.causes) if there else [])
    try:
        write(out / "summary.md", within_limit("\n".join(lines) + "\n"))
    except OSError as error:
        write_briefly(out, lines, error)
    print(f"{out / 'summary.md'}: {counted(len(seen.new), 'new cause')}, {len(seen.regressed)} regressed, {len(seen.again)} open and seen"
          f" again, {counted(len(seen.untriaged), 'finding')} not triaged yet, {nknown} known, {ngone} no longer happen")
    return 0


try:
    sys.exit(main())
except OSError as error:
    sys.exit(f"night_summary.py: {error}")
