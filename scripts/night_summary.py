"""What a night says in the morning: summary.md, and the program and stand-alone script of each open cause that was seen, in causes/.

Started by scripts/nightly. Everything comes from the store, but for what the campaign shouted (campaign.json).
"""

from __future__ import annotations

import argparse
import json
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

    def finding(self, full_id: str) -> Row:
        return json.loads(self.run("findings", "show", full_id, "--json").stdout)


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


def write(path: Path, text: str) -> None:
    part = path.with_name(path.name + ".part")
    part.write_text(text)
    part.rename(path)


def try_to_write(path: Path, text: str) -> str:
    """A link to it. The program is in the summary, too, so that a full disk costs no more than the link."""
    try:
        write(path, text)
    except OSError as error:
        path.with_name(path.name + ".part").unlink(missing_ok=True)
        return f"no file of the program ({error.strerror})"
    return f"[program](causes/{path.name})"


def write_briefly(out: Path, lines: list[str], error: OSError) -> None:
    """Where there is no room for the programs: they are in the store."""
    for path in [*(out / "causes").glob("*"), *out.glob("summary.md.part")]:
        path.unlink()
    named = [line for line in lines if line.startswith(("# ", "## ", "### ", "* ", "Exit code"))]
    write(out / "summary.md", "\n".join([*named, "", f"The programs are in the store alone: {error.strerror}."]) + "\n")


def show_cause(store: Store, out: Path, cause: Row) -> list[str]:
    finding = store.finding(cause["full_id"])
    program = finding["minimised"] or finding["program"]
    name = cause["id"]
    prog = try_to_write(out / "causes" / f"{name}.prog", program)
    script = store.run("repro", cause["full_id"], "--script", str(out / "causes" / f"{name}.py"))
    why_not = " ".join(script.stderr.split()).removeprefix("scatterproof: ")
    shown = f"no script ({why_not})" if script.returncode else f"[script](causes/{name}.py)"
    lines = [f"### {cause['id']}: {cause['severity']}, {code(cause['cause'])}", ""]
    if cause["blame"]:
        lines += [cause["blame"].replace("\n", " "), ""]
    size = "minimised" if finding["minimised"] else "not minimised yet"
    several = f"{cause['nfindings']} findings" if cause["nfindings"] > 1 else "1 finding"
    where = f"{several}, seen {cause['nobs']} times on {code(finding['target'])}, since {cause['first_seen']}"
    again = f"again: `scatterproof repro {name} --db {store.db}`"
    lines += [f"{where}; {prog} ({size}), {shown}; {again}", "", "```", program.rstrip("\n"), "```", ""]
    return lines


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
    seen = [c for c in store.ask(f"select * from v_causes where last_seen >= '{at}'") if set(c["states"].split()) & set(OPEN)]
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


def head(args: argparse.Namespace, summary: Row, began: str) -> list[str]:
    verdict = VERDICT.get(args.exit_code, f"interrupted by signal {args.exit_code - 128}" if args.exit_code > 128 else "")
    lines = [f"# Night of {began}", "", f"Exit code {args.exit_code}: {verdict}.", ""]
    lines.append(f"* targets: {', '.join(map(code, summary.get('targets', args.target)))}; seed {args.seed}")
    if args.canary:
        lines.append("* **the canary was not found**: a planted fault went unseen" if args.canary == 4 else "* the canary did not run")
    else:
        lines.append("* the canary was found")
    if summary:
        verdicts = ("pass", "mismatch", "invariant", "crash", "hang", "unsupported", "invalid", "harness", "unjudged")
        counts = ", ".join(f"{summary[v]} {v}" for v in verdicts if summary.get(v))
        aside = f"{summary['set_aside']} set aside because known causes explain them"
        lines.append(f"* {summary['programs']} programs, {summary['compiled']} compiled, {aside}")
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
    if args.triage:
        lines.append(f"* triage ended with exit code {args.triage} (triage.log): some findings may not be minimised")
    return [*lines, ""]


def main() -> int:
    parser = argparse.ArgumentParser()
    for name in ("--binary", "--db", "--out"):
        parser.add_argument(name, required=True)
    for name in ("--since", "--exit-code", "--canary", "--triage", "--seed"):
        parser.add_argument(name, type=int, required=True)
    parser.add_argument("--marked", default="", help="what scripts/mark-known said")
    parser.add_argument("--target", action="append", default=[])
    args = parser.parse_args()
    out, store = Path(args.out), Store(args.binary, args.db)
    summary, shouts = campaign(out / "campaign.json")
    began = datetime.fromtimestamp(args.since // 1000, timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    lines = head(args, summary, began)
    there = Path(args.db).exists() and Path(args.db).stat().st_size > 0
    new, again, regressed = causes(store, args.since) if there else ([], [], [])
    for old in (out / "causes").glob("*"):
        old.unlink()
    for title, rows in ((f"## New: {len(new)} causes", new), (f"## Regressed: {len(regressed)}", regressed)):
        lines += [title, ""]
        for cause in rows:
            lines += show_cause(store, out, cause)
    lines += [f"## Open, seen again: {len(again)} causes", ""]
    for cause in again:
        marked = " (somebody has marked a finding of this cause)" if set(cause["states"].split()) - set(OPEN) else ""
        lines += show_cause(store, out, cause)[:1] + ["", f"since {cause['first_seen']}{marked}: [program](causes/{cause['id']}.prog)", ""]
    rows = known(store, args.since) if there else []
    lines += [f"## Known, seen again: {len(rows)}", ""]
    lines += [f"* {r['id']} {r['state']}, {r['severity']}: {code(r['signature'])}{' ' + r['issue'] if r['issue'] else ''}" for r in rows]
    gone = [s for s in shouts if s["what"] == "no longer happens"]
    lines += ["", f"## No longer happens: {len(gone)}", ""]
    for s in gone:
        mark = f"`scatterproof findings mark {s['recheck']} fixed-in VERSION --db FILE`"
        lines.append(f"* {s['recheck']} on {code(s['targets'])}: {code(s['signature'])}: is it fixed? {mark}")
    try:
        write(out / "summary.md", "\n".join(lines) + "\n")
    except OSError as error:
        write_briefly(out, lines, error)
    print(f"{out / 'summary.md'}: {len(new)} new causes, {len(regressed)} regressed, {len(again)} open and seen again, {len(rows)} known,"
          f" {len(gone)} no longer happen")
    return 0


try:
    sys.exit(main())
except OSError as error:
    sys.exit(f"night_summary.py: {error}")
