#!/usr/bin/env python3
"""pages.py SOURCE PART: the pages of reports/page, filled with sample data and drawn by a headless Chromium, which is asked what it drew.

Chromium is driven through its debugging pipe (a JSON message, then a NUL), so pages run, are clicked, and tell of errors and of what they
tried to load. `pages.py SOURCE --update` writes the hashes of script and style into the pages' Content-Security-Policy; `pages.py SOURCE
--keep DIR` leaves the filled pages and their pictures in DIR.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import random
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import page_samples as samples

SKIP = 77
PAGES = ("cause.html", "index.html")
SHARED = ("/* both pages { */", "/* } */")
PATIENCE_S = 120
WIDE, NARROW = (1400, 900), (390, 844)


# ---- the browser ------------------------------------------------------------------------------------------------------------------------


class Browser:
    """A Chromium with one tab."""

    def __init__(self, program: str, home: str) -> None:
        to_child, self._out = os.pipe()
        self._in, from_child = os.pipe()
        arguments = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-extensions",
            "--disable-background-networking",
        ]
        arguments += [
            "--disable-component-update",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            f"--user-data-dir={home}",
            "--remote-debugging-pipe",
        ]
        self._process = subprocess.Popen(
            ["sh", "-c", f'exec "$@" 3<&{to_child} 4>&{from_child}', "sh", program, *arguments],
            pass_fds=(to_child, from_child),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": home},
        )
        os.close(to_child)
        os.close(from_child)
        self._number, self._session, self._rest = 0, "", b""
        self.events: list[dict[str, Any]] = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.ask(f"{domain}.enable")
        self.ask("Page.setLifecycleEventsEnabled", enabled=True)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            os.write(self._out, b'{"id":0,"method":"Browser.close"}\0')
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _message(self) -> dict[str, Any]:
        end = time.monotonic() + PATIENCE_S
        while b"\0" not in self._rest:
            if not select.select([self._in], [], [], max(0.0, end - time.monotonic()))[0]:
                raise SystemExit(f"Chromium said nothing for {PATIENCE_S} seconds")
            got = os.read(self._in, 1 << 20)
            if not got:
                raise SystemExit(f"Chromium ended, exit code {self._process.wait()}")
            self._rest += got
        text, self._rest = self._rest.split(b"\0", 1)
        message: dict[str, Any] = json.loads(text)
        if "method" in message:
            self.events.append(message)
        return message

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        request: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            request["sessionId"] = self._session
        data = json.dumps(request).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data) :]
        while (message := self._message()).get("id") != self._number:
            pass
        if "error" in message:
            raise SystemExit(f"{method}: {message['error']}")
        result: dict[str, Any] = message["result"]
        return result

    def load(self, url: str) -> None:
        for goal in ("about:blank", url):
            self.events = []
            loader = self.ask("Page.navigate", url=goal)["loaderId"]
            while not any(
                e["method"] == "Page.lifecycleEvent" and e["params"]["name"] == "load" and e["params"]["loaderId"] == loader
                for e in self.events
            ):
                self._message()

    def value(self, expression: str) -> Any:
        """Of JavaScript that runs in the page."""
        got = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in got:
            raise SystemExit(f"{expression}: {got['exceptionDetails']}")
        return got["result"].get("value")

    def look(self, size: tuple[int, int], dark: bool = False, script: bool = True) -> None:
        self.ask("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1, mobile=False)
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.ask("Emulation.setScriptExecutionDisabled", value=not script)

    def picture(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot", captureBeyondViewport=True)["data"]))

    def complaints(self, url: str) -> list[str]:
        """What went wrong since the page was loaded: errors of scripts, what its policy blocked, what it asked of the network."""
        found = []
        for e in self.events:
            p = e["params"]
            if e["method"] == "Runtime.exceptionThrown":
                found.append(
                    f"script error: {p['exceptionDetails'].get('exception', {}).get('description', p['exceptionDetails']['text'])}"
                )
            elif e["method"] == "Log.entryAdded" and p["entry"]["level"] in ("error", "warning"):
                found.append(f"log: {p['entry']['text']}")
            elif e["method"] == "Network.requestWillBeSent" and p["request"]["url"].split("#")[0] != url.split("#")[0]:
                found.append(f"request: {p['request']['url']}")
        said = self.value("document.documentElement.getAttribute('data-error')")
        return found + ([f"the page: {said.strip()}"] if said else [])


# ---- the pages --------------------------------------------------------------------------------------------------------------------------


class Pages:
    """Templates, filled into a folder."""

    def __init__(self, source: Path, folder: Path, browser: Browser) -> None:
        self.folder, self.browser = folder, browser
        self.template = {name: (source / "reports/page" / name).read_text() for name in PAGES}

    def write(self, template: str, name: str, data: Any) -> str:
        text = json.dumps(data).replace("<", "\\u003c")
        path = self.folder / f"{name}.html"
        path.write_text(self.template[template].replace("@DATA@", text))
        return path.as_uri()

    def show(self, template: str, name: str, data: Any, fragment: str = "") -> Browser:
        """Draws it; nothing may go wrong."""
        url = self.write(template, name, data) + fragment
        self.browser.load(url)
        check(self.browser.complaints(url), [], f"{name}: complaints")
        check(self.browser.value("document.documentElement.getAttribute('data-drawn')"), "1", f"{name}: drawn")
        return self.browser


def check(got: Any, want: Any, what: str) -> None:
    if got != want:
        raise SystemExit(f"{what}: {got!r}, must be {want!r}")


def hashed(page: str, tag: str) -> str:
    found = re.search(rf"<{tag}>(.*?)</{tag}>", page, flags=re.DOTALL)
    if not found:
        raise SystemExit(f"no <{tag}>")
    return "sha256-" + base64.b64encode(hashlib.sha256(found[1].encode()).digest()).decode()


def with_policy(page: str) -> str:
    """The page with the hashes of what it contains."""
    for tag in ("style", "script"):
        page = re.sub(rf"{tag}-src '[^']*'", f"{tag}-src '{hashed(page, tag)}'", page, count=1)
    return page


def shared(page: str) -> list[str]:
    return re.findall(re.escape(SHARED[0]) + "(.*?)" + re.escape(SHARED[1]), page, flags=re.DOTALL)


# ---- parts ------------------------------------------------------------------------------------------------------------------------------


def count(browser: Browser, selector: str) -> int:
    n: int = browser.value(f"document.querySelectorAll({json.dumps(selector)}).length")
    return n


def texts(browser: Browser, selector: str) -> list[str]:
    """Of what matches and is shown."""
    found: list[str] = browser.value(
        f"[...document.querySelectorAll({json.dumps(selector)})].filter(e => e.getClientRects().length).map(e => e.textContent)"
    )
    return found


def contains(text: str, *parts: str) -> None:
    for part in parts:
        if part not in text:
            raise SystemExit(f"{part!r} is not in {text!r}")


def sees(pages: Pages) -> None:
    """The checks of the other parts can fail: pages that throw, load, and are not what their policy says."""
    browser = pages.browser
    pages.template["bad.html"] = "<!doctype html><html><body><img src='http://127.0.0.1:1/x.png'><script>missing()</script></body></html>"
    url = pages.write("bad.html", "bad", None)
    browser.load(url)
    found = "; ".join(browser.complaints(url))
    contains(found, "script error: ReferenceError: missing is not defined", "request: http://127.0.0.1:1/x.png")
    for name in PAGES:
        pages.template["changed.html"] = pages.template[name].replace('"use strict";', '"use strict"; ')
        url = pages.write("changed.html", "changed", samples.founding())
        browser.load(url)
        contains("; ".join(browser.complaints(url)), "Content Security Policy")
        check(browser.value("document.documentElement.getAttribute('data-drawn')"), None, "a changed script runs")


def template(source: Path) -> None:
    """What both have in common is the same text; the hashes are right; nothing makes markup or code of text."""
    pages = [(source / "reports/page" / name).read_text() for name in PAGES]
    for name, page in zip(PAGES, pages, strict=True):
        check(with_policy(page) == page, True, f"{name}: hashes of script and style (pages.py SOURCE --update)")
        check(page.count("@DATA@"), 1, f"{name}: places for data")
        contains(page, "default-src 'none'; ", "<noscript>")
        check(
            re.findall(r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|new Function|\son\w+=", page),
            [],
            f"{name}: markup or code from text",
        )
    first, second = map(shared, pages)
    check(len(first), 2, "what both pages have: style and script")
    check(first == second, True, "both pages have the same style and helpers between the marks")


def founding(pages: Pages) -> None:
    browser = pages.show("cause.html", "founding", samples.founding())
    contains(browser.value("document.title"), "slice_scatter: gradient is all zero with torch.compile")
    check(texts(browser, "h1"), ["slice_scatter: gradient is all zero with torch.compile"], "h1")
    facts = browser.value("document.querySelector('.key').innerText")
    contains(facts, "fails on 2.11.0; right from 2.12.1 on", "17 times in 2 findings", "open (blamed, known)", "torch-2.11.0:inductor@cpu")
    check(browser.value("document.querySelector('.key a').href"), "https://github.com/pytorch/pytorch/issues/180164", "link to the issue")
    for name, want in (("expected", ["0", "1"]), ("got", ["0", "0"]), ("difference", ["", "1"])):
        check(count(browser, f"[data-map={name}] [data-k]"), 2, f"cells of {name}")
        check(texts(browser, f"[data-map={name}] g text"), want, f"numbers of {name}")
    check(
        [t.replace("\u2713 ", " ").replace("\u2717 ", " ") for t in texts(browser, "section:nth-of-type(1) .ladder li")][-2:],
        ["aot_eager_decomp_partition pass", "inductor mismatch"],
        "ladder",
    )
    held = browser.value(
        "[...document.querySelectorAll('.memory')].slice(0, 2).map(f => [...f.querySelectorAll('[data-held]')].map(c => c.dataset.held))"
    )
    check(held, [["2", "0"], ["1", "1"]], "elements per cell, predicted and real")
    check(count(browser, ".memory:first-child .arrow.over"), 2, "arrows to the shared cell")
    check(
        browser.value("[...document.querySelectorAll('.graph [data-node]')].map(n => n.dataset.node)"),
        ["x", "y", "one", "slice_scatter", "sum_1"],
        "nodes",
    )
    check(count(browser, ".graph .arrow"), 3, "edges")
    contains(browser.value("document.querySelector('.graph .suspect').parentNode.textContent"), "slice_scatter", "blamed, in the backward")
    contains("".join(texts(browser, "details[open] .marked")), "slice_scatter_1", "suspect: written in place")
    check(count(browser, "svg.sweep"), 2, "charts of the sweep")
    helps = texts(browser, "section[aria-labelledby=what-helps] li")  # a probe is nothing that a user can do
    copied = "It is right if what add returns is copied before it is used: append .clone()."
    check(helps, [copied, "slice_scatter not decomposed: fallback=slice_scatter"], "what helps")
    contains("".join(texts(browser, "section[aria-labelledby=where-it-goes-wrong] p")), "9 things were copied, cloned or switched off")
    variant = ["torch:inductor: layout predicted wrong; aten.slice_scatter", "1", "3fa2c1d0"]
    check(texts(browser, "section[aria-labelledby=findings] td")[:3], variant, "a variant")
    headings = browser.value("[...document.querySelectorAll('h2')].map(h => h.textContent)")
    check(headings[:5], ["What is wrong", "Run it", "Where it goes wrong", "In memory", "The program"], "sections")
    check(len(headings), 13, "sections")
    browser.value("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    browser.value("document.querySelector('[aria-label=\"Copy the script\"]').click()")
    check(browser.value("copied"), samples.SCRIPT, "what the button copies")
    browser.value("document.querySelector('[aria-label=\"Copy Reproduce it\"]').click()")
    check(browser.value("copied"), "scatterproof repro 3fa2c1d0 --db findings.db", "a command, which waits for Enter")
    over = (
        "[...document.querySelectorAll('.code:not(.one)')].map("
        "c => ['pre code', 'button'].map(s => c.querySelector(s).getClientRects()[0]))"
        ".filter(([text, button]) => text && button && text.top < button.bottom).length"
    )
    check(browser.value(over), 0, "buttons that cover a script's first line")
    whole = "[...document.querySelectorAll('.pair .code pre')].every(p => p.scrollWidth <= p.clientWidth)"
    check((count(browser, ".pair .code pre") > 1, browser.value(whole)), (True, True), "nothing is cut in two columns")
    check(sum("Suspect" in t or "suspect:" in t for t in texts(browser, "main p")), 1, "the suspect, once")
    points(browser)
    sorts(browser)
    browser = pages.show(
        "cause.html",
        "versions",
        samples.cause(
            right_on="2.15.0",
            versions_tried=[{"version": "2.11.0", "verdict": "wrong"}, {"version": "2.15.0", "verdict": "right"}],
        ),
    )
    facts = browser.value("document.querySelector('.key').innerText")
    contains(facts, "fails on 2.11.0; right on 2.15.0", "try a nightly build before you file it")
    check(texts(browser, "#versions ~ .ladder li"), ["2.11.0\u2717 wrong", "2.15.0\u2713 right"], "versions that the script was run with")


def points(browser: Browser) -> None:
    """A pointer, and arrow keys, read an element."""
    browser.value("document.querySelector('[data-map=got] [data-k=\"0\"]').dispatchEvent(new PointerEvent('pointermove', {bubbles: true}))")
    check(texts(browser, ".read"), ["[0]  expected 0, got 0"], "the element below the pointer")
    browser.value("document.querySelector('.figures').dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}))")
    check(texts(browser, ".read"), ["[1]  expected 1, got 0, difference 1"], "the next element")


def sorts(browser: Browser) -> None:
    """Details as text with numbers in it, '10 of 2' behind '9 of 2'; twice is downwards."""
    table = "[...document.querySelectorAll('table')].find(t => t.textContent.includes('Detail'))"
    heading = f"[...{table}.tHead.rows[0].cells].find(c => c.textContent === 'Detail')"
    for way, want in (("ascending", ["1", "2", "3"]), ("descending", ["12", "11", "10"])):
        browser.value(f"{heading}.querySelector('button').click()")
        check(browser.value(f"{heading}.getAttribute('aria-sort')"), way, "aria-sort")
        got = browser.value(f"[...{table}.tBodies[0].rows].map(r => r.lastChild.textContent.split(' ')[0])")
        check(got[:3], want, f"rows, {way}")
        check(len(got), 12, "rows")


def values(pages: Pages) -> None:
    """As many cells as elements; NaN, infinities and what is not decided each in a look of their own, explained by the legend."""
    browser = pages.show("cause.html", "nan", samples.bf16_nan())
    for name in ("expected", "got", "difference"):
        check(count(browser, f"[data-map={name}] [data-k]"), 33 * 16, f"cells of {name}")
    looks = {"nan": (1, 17, 17), "inf": (1, 2, 0), "neginf": (1, 0, 0), "open": (1, 0, 1), "infinite": (0, 0, 1), "err": (0, 0, 40)}
    for look, want in looks.items():
        # Of element 43 NaN is expected; it has a number.
        got = tuple(count(browser, f"[data-map={name}] .cell.{look}") for name in ("expected", "got", "difference"))
        check(got, want if look != "nan" else (1, 16, 17), f"cells that are {look}")
        if look not in ("err",):
            contains(browser.value(f"getComputedStyle(document.querySelector('.map .cell.{look}')).fill"), f"#p-{look}")
            check(count(browser, f".legend .cell.{look}"), 1, f"{look} in the legend")
    check(texts(browser, ".read"), ["[0, 0]  expected -0.77, got NaN"], "the first wrong element")
    check("In memory" in texts(browser, "h2"), False, "a heading of an empty section")
    wide = {"size": [3], "from": [0], "expected": [2**53 + 1, -(2**62) - 1, 7], "got": [2**53, -(2**62) - 1, 7]}
    browser = pages.show("cause.html", "wide", samples.cause(facts={"values": wide}))
    check(count(browser, "[data-map=difference] .err"), 1, "integers that no double has")
    check(texts(browser, ".read"), [f"[0]  expected {2**53 + 1}, got {2**53}, difference 1"], "an integer that no double has")
    browser = pages.show("cause.html", "huge", samples.huge())
    for name in ("expected", "got", "difference"):
        check(count(browser, f"[data-map={name}] [data-k]"), 64 * 64, f"cells of {name}")
    contains("".join(texts(browser, "main p")), "[3, 128:192, 200:264] of [7, 300, 300]")
    check(count(browser, ".graph"), 0, "graph of a program of 101 values")
    contains("".join(texts(browser, "pre")), "x100 = relu(x99)")


def memory(pages: Pages) -> None:
    browser = pages.show("cause.html", "large", samples.large())
    rows: list[list[Any]] = browser.value(
        "[...document.querySelectorAll('.memory')].map(f => [f.querySelector('b').textContent, f.querySelector('.muted').textContent,"
        " ...['[data-held=\"0\"]', '.over[data-held]', '[data-held]'].map(s => f.querySelectorAll(s).length)])"
    )
    check(
        rows[0], ["Predicted", "1,716 elements in 132 cells; up to 13 elements share a cell", 1716 - 132, 132, 1716], "the predicted layout"
    )
    check(rows[1], ["Real", "1,716 elements in 1,716 cells", 0, 0, 1716], "the real layout")
    others = {row[0]: row[1:] for row in rows[2:]}
    check(others["g"], ["132 elements in 1 cell; up to 132 elements share a cell", 0, 1, 1], "an expanded value")
    check(others["gapped"], ["6 elements in 6 cells; 4 cells between them unused; 2 cells before the first", 6, 0, 12], "a value with gaps")
    check(others["window"], ["12 elements in 9 cells; up to 2 elements share a cell", 0, 3, 9], "overlapping rows")
    check(others["transposed"], ["24 elements in 24 cells", 0, 0, 24], "a transposed value")
    check(count(browser, "[data-map=difference] .err"), 7 * 33, "wrong elements of the window")


def hostile(pages: Pages) -> None:
    """Markup stays text, what reorders a line is seen, no link leads elsewhere than to the web; wrong types lose a part, not the page."""
    browser = pages.show("cause.html", "hostile", samples.hostile(None))
    check(browser.value("document.title").startswith("slice_scatter: gradient"), True, "the title")
    check(count(browser, "img, iframe, object, embed, form"), 0, "elements of the markup")
    check(count(browser, "script"), 2, "scripts")
    contains(texts(browser, "h1")[0], samples.MARKUP, "a\\u202egnp.exe\\u2066\\u0007\\u001b[31m\\u200b\\u{e0041}")
    hidden = browser.value("/[\\p{Cf}\\u0000-\\u0008\\u000b-\\u001f]/u.test(document.body.innerText)")
    check(hidden, False, "a character that is not seen")
    check(browser.value("[...document.querySelectorAll('a')].filter(a => !/^https?:$/.test(a.protocol)).length"), 0, "links to elsewhere")
    check(count(browser, "a"), 0, "links")
    browser.look(NARROW)
    check(browser.value("document.documentElement.scrollWidth <= innerWidth"), True, "a long word widens the page")
    browser.look(WIDE)
    for seed in range(12):
        pages.show("cause.html", "hostile", samples.hostile(seed))
        check(count(browser, "img, script[src]"), 0, f"elements of the markup, seed {seed}")
    for seed in range(4):
        rows = samples.overview(5)
        pages.show("index.html", "hostile", samples.poison(rows, random.Random(seed)))
        check(count(browser, "img"), 0, f"elements of the markup, seed {seed}")


def plain(pages: Pages) -> None:
    """Old stores, empty stores, no JavaScript."""
    for name, data in (
        ("nothing", {}),
        ("little", samples.cause(title="`add`: wrong result")),
        ("no_facts", samples.cause(facts={}, since={}, sweep={}, matrix={})),
    ):
        browser = pages.show("cause.html", name, data)
        check(texts(browser, "h2"), [], f"{name}: sections")
        check(count(browser, "table, figure"), 0, f"{name}: empty figures")
    browser = pages.show("index.html", "empty", samples.overview(0))
    check(texts(browser, "h1") + texts(browser, "main p"), ["No causes yet", "This store has no causes."], "an empty store")
    browser.look(WIDE, script=False)
    for template_name, where in (("cause.html", "cause.json"), ("index.html", "report.json")):
        url = pages.write(template_name, "unscripted", samples.founding())
        browser.load(url)
        contains(browser.value("document.body.innerText"), where)
    browser.look(WIDE)


SHOWN = "[...document.querySelectorAll('.causes tbody tr')].filter(r => !r.hidden)"


def overview(pages: Pages) -> None:
    data = samples.overview(300)
    browser = pages.show("index.html", "overview", data)
    check(browser.value(f"{SHOWN}.length"), 60, "causes at first")
    severities = browser.value(f"{SHOWN}.map(r => r.cells[0].textContent)")
    nhigh = sum(c["severity"] == "high" and c["open"] for c in data["causes"])
    check(severities, (["high"] * nhigh + ["normal"] * 60)[:60], "the most serious on top")
    browser.value("document.getElementById('more').click()")
    check(browser.value(f"{SHOWN}.length"), 300, "all causes")
    browser.value("document.querySelectorAll('.causes th button')[5].click()")
    seen = browser.value(f"{SHOWN}.map(r => Number(r.cells[5].textContent))")
    check(seen, sorted(c["nobs"] for c in data["causes"]), "sorted by how often they were seen")
    filters(pages, data)
    check(count(browser, ".matrix tbody tr"), len({t["op"] for t in data["tried"]}), "operators")
    check(count(browser, "svg.bars"), 2, "charts")
    check(count(browser, ".needs li"), 5, "what needs a person")
    check(
        browser.value("document.querySelector('.needs a').getAttribute('href')"), data["needs"][0]["id"] + "/index.html", "link to a page"
    )
    data["needs"][0]["command"] = "scatterproof triage 3fa2c1d0 --db findings.db"
    data["causes"][0].update(right_on="2.15.0", open=True)
    data["causes"][1].pop("cause", None)
    data["causes"][1].update(open=True)
    browser = pages.show("index.html", "overview", data)
    contains("".join(texts(browser, ".needs li code")), "scatterproof triage 3fa2c1d0 --db findings.db")
    contains("".join(texts(browser, ".causes .sub")), "right on 2.15.0, the newest here")
    contains("".join(texts(browser, "h1")), ", and 1 finding without one yet")
    colours = "[...document.querySelectorAll('.causes td a, .top a')].map(a => getComputedStyle(a).color)"
    check(len(set(browser.value(colours))) <= 2, True, "titles look like links")
    matrix(browser, data)
    for name, look in (("wide", WIDE), ("narrow", NARROW)):
        browser.look(look)
        check(browser.value("document.documentElement.scrollWidth <= innerWidth"), True, f"{name}: no sideways scrolling")
    browser.look(WIDE)
    pages.show("index.html", "many", samples.overview(500))
    size = (pages.folder / "many.html").stat().st_size
    check(size < 5_000_000, True, f"500 causes take {size} bytes")


def filters(pages: Pages, data: Any) -> None:
    browser = pages.browser
    kept = [c for c in data["causes"] if "mm" in c["ops"] and "bf16" in c["dtypes"] and c["open"]]
    check(0 < len(kept) < 60, True, "the sample has causes to filter")
    pages.show("index.html", "overview", data, "#op=mm&dtype=bf16&state=open")
    check(
        sorted(browser.value(f"{SHOWN}.map(r => r.querySelector('code:not(a code)').textContent)")),
        sorted(c["id"] for c in kept),
        "what the hash keeps",
    )
    check(
        browser.value("[...document.querySelectorAll('select')].map(s => s.value)"),
        ["", "open", "mm", "bf16", "", "", ""],
        "what the filters show",
    )
    check(browser.value("document.getElementById('counted').textContent"), f"{len(kept)} of 300 causes", "how many")
    browser.value("document.getElementById('reset').click()")
    check(browser.value("location.hash + document.getElementById('counted').textContent"), "300 causes", "without filters")
    browser.value(
        "(() => { const s = document.getElementById('filter-severity'); s.value = 'trivial'; s.dispatchEvent(new Event('change')); })()"
    )
    browser.value(
        "(() => { const s = document.getElementById('filter-q'); s.value = 'ASSERTION softmax'; s.dispatchEvent(new Event('input')); })()"
    )
    check(browser.value("location.hash"), "#severity=trivial&q=ASSERTION+softmax", "the hash")
    kept = [c for c in data["causes"] if c["severity"] == "trivial" and "Assertion" in c["title"] and "softmax" in c["ops"]]
    check(browser.value(f"{SHOWN}.length"), len(kept), "what two filters keep")
    check(len(kept) > 0, True, "the sample has such causes")
    browser.value("document.getElementById('reset').click()")


def matrix(browser: Browser, data: Any) -> None:
    """A number leads to the causes; it is the sum over targets."""
    op, dtype = browser.value("(() => { const r = document.querySelector('.matrix tbody tr'); return [r.cells[0].textContent, 'f32']; })()")
    column = browser.value("[...document.querySelectorAll('.matrix thead th')].map(t => t.textContent)").index(dtype)
    of = [t for t in data["tried"] if t["op"] == op and t["dtype"] == dtype]
    text = browser.value(f"document.querySelector('.matrix tbody tr').cells[{column}].textContent")
    check(text.replace(",", ""), f"{sum(t['diverging'] for t in of)} / {sum(t['programs'] for t in of)}", f"{op} of {dtype}")
    browser.value("document.querySelector('.matrix td button').click()")
    contains(browser.value("location.hash"), f"op={op}&dtype=")


# What the other parts must notice: (page, text that it has once, text in its place, part).
FAULTS: tuple[tuple[str, str, str, Callable[[Pages], None]], ...] = (
    ("cause.html", ".replace(HIDDEN,", ".replace(/^$/,", hostile),
    ("cause.html", "/^https?:\\/\\/[", "/^[a-z]+:[", hostile),
    ("cause.html", "e.append(c instanceof Node ? c : shown(c))", "c instanceof Node ? e.append(c) : (e.innerHTML += c)", hostile),
    ("cause.html", "overflow-wrap: anywhere", "overflow-wrap: normal", hostile),
    ("cause.html", "return down ? -c : c", "return c", founding),
    ("cause.html", "ArrowRight: 1", "ArrowRight: 0", founding),
    ("cause.html", "(Number.isNaN(e) && Number.isNaN(g))) return", "Number.isNaN(g)) return", values),
    ("cause.html", ".cell.nan { fill: url(#p-nan); }", "", values),
    ("cause.html", "sum + i * stride[d]", "sum + i", memory),
    ("cause.html", "parts.length ? make", "parts ? make", plain),
    ("cause.html", "\npage();", '\npage(); fetch("http://127.0.0.1:1/");', plain),
    ("index.html", "if (want && !f.of(c)", "if (want && f.key !== 'dtype' && !f.of(c)", overview),
    ("index.html", "severities.indexOf(a.severity) - severities.indexOf(b.severity)", "0", overview),
    ("index.html", "was.programs + whole", "whole", overview),
)


def faults(pages: Pages) -> None:
    """Faults are planted into the pages, each alone and with a policy that fits; the part named must notice."""
    for name, old, new, part in FAULTS:
        right = pages.template[name]
        check(right.count(old), 1, f"places of {old!r}")
        pages.template[name] = with_policy(right.replace(old, new))
        try:
            part(pages)
        except SystemExit:
            pages.template[name] = right
            pages.browser.look(WIDE)
        else:
            raise SystemExit(f"{part.__name__} does not notice {new!r} in place of {old!r}")


PARTS: dict[str, tuple[Callable[[Pages], None], ...]] = {
    "cause": (founding, values, memory, hostile, plain),
    "overview": (overview,),
    "faults": (sees, faults),
}


# ---- calls ------------------------------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def browsing() -> Iterator[Browser]:
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if not program:
        print("SKIPPED: there is no chromium")
        sys.exit(SKIP)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        browser = Browser(program, home)
        try:
            browser.look(WIDE)
            yield browser
        finally:
            browser.close()


def keep(pages: Pages) -> None:
    """Pictures of all samples, for people."""
    shots: list[tuple[str, str, Any]] = [
        ("cause.html", "founding", samples.founding()),
        ("cause.html", "large", samples.large()),
        ("cause.html", "nan", samples.bf16_nan()),
        ("cause.html", "huge", samples.huge()),
        ("cause.html", "hostile", samples.hostile(None)),
        ("index.html", "overview", samples.overview(300)),
        ("index.html", "empty", samples.overview(0)),
    ]
    for page, name, data in shots:
        for look, size, dark in (("wide", WIDE, False), ("dark", WIDE, True), ("narrow", NARROW, False)):
            pages.browser.look(size, dark)
            pages.show(page, name, data)
            pages.browser.picture(pages.folder / f"{name}-{look}.png")


def main(source: Path, what: str, folder: str = "") -> None:
    if what == "--update":
        for name in PAGES:
            page = source / "reports/page" / name
            page.write_text(with_policy(page.read_text()))
        return
    if what == template.__name__:  # needs no browser
        template(source)
        return
    with browsing() as browser, tempfile.TemporaryDirectory() as own:
        if what == "--keep":
            Path(folder).mkdir(parents=True, exist_ok=True)
            keep(Pages(source, Path(folder), browser))
        else:
            for part in PARTS[what]:
                part(Pages(source, Path(own), browser))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
