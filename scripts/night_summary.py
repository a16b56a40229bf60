"""What a night says in the morning: summary.md, and report/: a page, an issue, a script and a program of each open cause that was seen.

Started by scripts/nightly. Everything comes from the store, but for what the campaign shouted (campaign.json).
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

OPEN = ("candidate", "confirmed", "minimised", "blamed", "regressed")
Row = dict[str, Any]


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

    def causes(self) -> list[Row]:
        return [json.loads(line) for line in self.run("findings", "causes", "--all", "--json").stdout.splitlines()]


def code(text: str) -> str:
    """As Markdown's code, on one line."""
    return "`" + text.replace("`", "'").replace("\n", " ") + "`"


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


def plain(text: str) -> str:
    """In a line of Markdown: a title's `code` stays, nothing else is markup."""
    parts = text.replace("\n", " ").split("`")
    out = [part if i % 2 else "".join(f"\\{c}" if c in "\\*_[]<>#|&" else c for c in part) for i, part in enumerate(parts)]
    return "`".join(out) if len(parts) % 2 else "".join(f"\\{c}" if c in "\\`*_[]<>#|&" else c for c in text)


def write(path: Path, text: str) -> None:
    part = path.with_name(path.name + ".part")
    part.write_text(text)
    part.rename(path)


def write_briefly(out: Path, lines: list[str], error: OSError) -> None:
    """Where there is no room for the programs: they are in the store."""
    shutil.rmtree(out / "report", ignore_errors=True)
    (out / "summary.md.part").unlink(missing_ok=True)
    named = [line for line in lines if line.startswith(("# ", "## ", "### ", "* ", "Exit code"))]
    write(out / "summary.md", "\n".join([*named, "", f"The programs are in the store alone: {error.strerror}."]) + "\n")


def make_report(store: Store, out: Path, rows: list[Row]) -> str:
    """report/, of these causes; why there is none."""
    shutil.rmtree(out / "report", ignore_errors=True)
    if not rows:
        return ""
    made = store.run("report", *[cause["full_id"] for cause in rows], "-o", str(out / "report"))
    return " ".join(made.stderr.split()).removeprefix("scatterproof: ") if made.returncode else ""


def links(out: Path, cause: Row) -> str:
    """To what the report has of it."""
    names = {"page": "index.html", "issue": "issue.md", "script": "repro.py", "program": "program.prog"}
    there = [f"[{word}](report/{cause['id']}/{name})" for word, name in names.items() if (out / "report" / cause["id"] / name).exists()]
    return ", ".join(there)


def show_cause(store: Store, out: Path, cause: Row) -> list[str]:
    lines = [f"### {cause['id']}: {cause['severity']}, {plain(cause['title'])}", ""]
    if cause["blame"]:
        lines += [cause["blame"].replace("\n", " "), ""]
    several = f"{cause['nfindings']} findings" if cause["nfindings"] > 1 else "1 finding"
    times = f"{cause['nobs']} time{'' if cause['nobs'] == 1 else 's'}"
    where = f"{several}, seen {times} on {code(cause['target'])}, since {cause['first_seen']}"
    size = "minimised" if cause["minimised"] else "not minimised yet"
    what = "; ".join(filter(None, (where, size, links(out, cause), f"again: `scatterproof repro {cause['id']} --db {store.db}`")))
    return [*lines, what, "", "```", cause["program"].rstrip("\n"), "```", ""]


def to_do(store: Store, out: Path, cause: Row) -> str:
    """One line: what somebody does with a new cause."""
    if not cause["triaged"]:
        return f"* {cause['id']}: {plain(cause['title'])}: `scatterproof triage {cause['id']} --db {store.db}`"
    read = f"; read {links(out, cause)}" if links(out, cause) else ""
    mark = f"`scatterproof findings mark {cause['id']} known --issue URL --db {store.db}`, or dismissed"
    return f"* {cause['id']}: {plain(cause['title'])}{read}; then {mark}"


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
    seen = [c for c in store.causes() if c["last_seen"] >= at and set(c["states"].split()) & set(OPEN)]
    back = {e["full_id"] for e in store.ask(f"select distinct full_id from v_events where kind = 'regressed' and at >= '{at}'")}
    regressed = [c for c in seen if of_these(c, back)]
    here = sighted(store, since)
    older = {f["full_id"] for f in store.ask(f"select lower(hex(finding)) as full_id from finding_summary where first_seen < {since}")}
    others = [c for c in seen if c not in regressed and (of_these(c, here) or not of_these(c, older))]
    marked = [c for c in others if set(c["states"].split()) - set(OPEN)]
    new = [c for c in others if not of_these(c, older) and c not in marked]
    return new, [c for c in others if c not in new], regressed


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


def head(args: argparse.Namespace, summary: Row, judged: int, began: str) -> list[str]:
    verdict = VERDICT.get(args.exit_code, f"interrupted by signal {args.exit_code - 128}" if args.exit_code > 128 else "")
    lines = [f"# Night of {began}", "", f"Exit code {args.exit_code}: {verdict}.", ""]
    if args.exit_code > 128:
        lines += ["**This night was interrupted.** What follows is what it had found until then; the next one goes on.", ""]
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
        lines.append(f"* upstream's bugs, once: {args.marked}")
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


def show_open(store: Store, out: Path, new: list[Row], again: list[Row], regressed: list[Row]) -> list[str]:
    """What a person looks at, then what was there before."""
    lines = []
    if new or regressed:
        lines += ["## What to do now", "", *[to_do(store, out, cause) for cause in [*regressed, *new]], ""]
    for title, rows in ((f"## New: {len(new)} causes", new), (f"## Regressed: {len(regressed)}", regressed)):
        lines += [title, ""]
        for cause in rows:
            lines += show_cause(store, out, cause)
    lines += [f"## Open, seen again: {len(again)} causes", ""]
    for cause in again:
        marked = " (somebody has marked a finding of this cause)" if set(cause["states"].split()) - set(OPEN) else ""
        since = f"since {cause['first_seen']}{marked}"
        lines.append(f"* {cause['id']}: {cause['severity']}, {plain(cause['title'])}; {since}: {links(out, cause)}")
    return [*lines, ""]


def show_rest(store: Store, since: int, overload: list[Row], shouts: list[Row], there: bool) -> tuple[list[str], int, int]:
    """What decides nothing: a line each."""
    rows = known(store, since) if there else []
    lines = []
    if overload:
        names = ", ".join(f"{c['id']} ({plain(c['title'])})" for c in overload)
        lines += [f"Only callers of the overload (`torch.ops.aten`) meet {len(overload)} more: {names}.", ""]
    lines += [f"## Known, seen again: {len(rows)}", ""]
    lines += [f"* {r['id']} {r['state']}, {r['severity']}: {code(r['signature'])}{' ' + r['issue'] if r['issue'] else ''}" for r in rows]
    gone = [s for s in shouts if s["what"] == "no longer happens"]
    lines += ["", f"## No longer happens: {len(gone)}", ""]
    for s in gone:
        mark = f"`scatterproof findings mark {s['recheck']} fixed-in VERSION --db FILE`"
        lines.append(f"* {s['recheck']} on {code(s['targets'])}: {code(s['signature'])}: is it fixed? {mark}")
    return [*lines, ""], len(rows), len(gone)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    for name in ("--binary", "--db", "--out"):
        parser.add_argument(name, required=True)
    for name in ("--since", "--exit-code", "--canary", "--triage", "--seed"):
        parser.add_argument(name, type=int, required=True)
    parser.add_argument("--marked", default="", help="what scripts/mark-known said")
    parser.add_argument("--target", action="append", default=[])
    return parser.parse_args()


def main() -> int:
    args = arguments()
    out, store = Path(args.out), Store(args.binary, args.db)
    summary, shouts = campaign(out / "campaign.json")
    began = datetime.fromtimestamp(args.since // 1000, timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    there = Path(args.db).exists() and Path(args.db).stat().st_size > 0
    new, again, regressed = causes(store, args.since) if there else ([], [], [])
    overload = [c for c in [*new, *again] if c["reach"] == "aten"]
    new, again = [c for c in new if c not in overload], [c for c in again if c not in overload]
    no_report = make_report(store, out, [*regressed, *new, *again])
    lines = head(args, summary, judged(store, args.since, summary["targets"]) if summary and there else 0, began)
    if no_report:
        lines += [f"There is no report: {no_report}", ""]
    lines += show_open(store, out, new, again, regressed)
    rest, nknown, ngone = show_rest(store, args.since, overload, shouts, there)
    lines += rest + (trend(store, store.causes()) if there else [])
    try:
        write(out / "summary.md", "\n".join(lines) + "\n")
    except OSError as error:
        write_briefly(out, lines, error)
    print(f"{out / 'summary.md'}: {len(new)} new causes, {len(regressed)} regressed, {len(again)} open and seen again, {nknown} known,"
          f" {ngone} no longer happen")
    return 0


try:
    sys.exit(main())
except OSError as error:
    sys.exit(f"night_summary.py: {error}")
