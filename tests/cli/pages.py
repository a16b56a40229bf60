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
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import page_samples as samples  # noqa: E402  (lies beside this file)

SKIP = 77
PAGES = ("cause.html", "index.html")
SHARED = ("/* both pages { */", "/* } */")
PATIENCE_S = 120
WIDE, NARROW = (1400, 900), (390, 844)


# ---- the browser ----------------------------------------------------------------------------------------------------------------------


class Browser:
    """A Chromium with one tab."""

    def __init__(self, program: str, home: str) -> None:
        to_child, self._out = os.pipe()
        self._in, from_child = os.pipe()
        arguments = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-extensions", "--disable-background-networking"]
        arguments += ["--disable-component-update", "--disable-dev-shm-usage", "--hide-scrollbars", f"--user-data-dir={home}", "--remote-debugging-pipe"]
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
            while not any(e["method"] == "Page.lifecycleEvent" and e["params"]["name"] == "load" and e["params"]["loaderId"] == loader for e in self.events):
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
                found.append(f"script error: {p['exceptionDetails'].get('exception', {}).get('description', p['exceptionDetails']['text'])}")
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
    found = re.search(rf"<{tag}>(.*?)</{tag}>", page, flags=re.S)
    if not found:
        raise SystemExit(f"no <{tag}>")
    return "sha256-" + base64.b64encode(hashlib.sha256(found[1].encode()).digest()).decode()


def with_policy(page: str) -> str:
    """The page with the hashes of what it contains."""
    for tag in ("style", "script"):
        page = re.sub(rf"{tag}-src '[^']*'", f"{tag}-src '{hashed(page, tag)}'", page, count=1)
    return page


def shared(page: str) -> list[str]:
    return re.findall(re.escape(SHARED[0]) + "(.*?)" + re.escape(SHARED[1]), page, flags=re.S)


# ---- parts -------------------------------------------------------------------------------------------------------------------------------


def keep(source: Path, folder: Path, browser: Browser) -> None:
    pages = Pages(source, folder, browser)
    shots: list[tuple[str, str, Any]] = [
        ("cause.html", "founding", samples.founding()),
        ("cause.html", "large", samples.large()),
        ("cause.html", "nan", samples.bf16_nan()),
        ("cause.html", "huge", samples.huge()),
        ("cause.html", "hostile", samples.hostile(None)),
        ("index.html", "overview", samples.overview(300)),
        ("index.html", "empty", samples.overview(0)),
    ]
    for template, name, data in shots:
        if not pages.template.get(template):
            continue
        for look, size, dark in (("wide", WIDE, False), ("dark", WIDE, True), ("narrow", NARROW, False)):
            browser.look(size, dark)
            url = pages.write(template, name, data)
            browser.load(url)
            print(name, look, browser.complaints(url), "overflow" if browser.value("document.documentElement.scrollWidth > innerWidth") else "")
            browser.picture(folder / f"{name}-{look}.png")
