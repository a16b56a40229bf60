"""torch.compile(model, backend="scatterproof"): judges every graph that a run of yours compiles.

The model runs on PyTorch's own kernels: its results are those of backend="aot_eager". These are eager's, unless Dynamo or AOTAutograd,
which make the graphs, have a bug: what they do before a graph is there is not judged here (`check FILE.py:NAME` compares the whole).
Each forward, backward and inference graph is handed to `scatterproof check` once, when it is compiled, and says one line on standard error:

    scatterproof: forward graph of net.py:12 in forward (Linear), 9 operators: pass on builtin:eager, torch:inductor@cpu
    scatterproof: backward graph of net.py:12 in forward, 14 operators: MISMATCH on torch:inductor@cpu: ...

Options, torch.compile(model, backend="scatterproof", options={...}):

    targets   list of targets (default ["builtin:eager"]: is the graph one that the reference and the interpreter agree upon?)
    db        findings store, which `scatterproof triage`, `report` and `repro` read
    strict    True: a graph that is judged wrong raises Wrong; else the run goes on
    binary    the scatterproof binary; else $SCATTERPROOF, else the one in PATH, else build/scatterproof of the checkout that this package
              lies in (run from it, or installed by pip install -e)
    limit     time limit of a graph on a target, as `check --limit` takes it
    python    whose PyTorch runs targets of family torch (default: the one that runs you)

What cannot work (an unknown target, a store that cannot be opened, a binary that is none) raises Misconfigured at the first graph.
Nothing of a graph's data is used: its inputs are drawn, in their sizes, strides and dtypes. A graph with operators that scatterproof lacks
is judged in parts, and said to be so. counts() tells how many graphs there were; a last line at exit tells it, too.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Misconfigured", "Wrong", "backend", "counts"]
WRONG = ("mismatch", "invariant", "crash", "hang")
FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<name>\S+)')


class Wrong(Exception):
    """A graph of the model is judged wrong on a target."""


class Misconfigured(Exception):
    """No graph can be judged with these options."""


@dataclass
class Options:
    targets: list[str] = field(default_factory=lambda: ["builtin:eager"])
    db: str | None = None
    strict: bool = False
    binary: str | None = None
    limit: str | None = None
    python: str | None = None

    def __post_init__(self) -> None:
        self.targets = [self.targets] if isinstance(self.targets, str) else list(self.targets)
        if not self.targets or not all(isinstance(t, str) for t in self.targets):
            raise Misconfigured(f"targets must be names of targets, at least one, and not {self.targets!r}")
        for name in ("db", "binary", "limit", "python"):
            value = getattr(self, name)
            if isinstance(value, os.PathLike):
                setattr(self, name, os.fspath(value))
            elif value is not None and not isinstance(value, str):
                raise Misconfigured(f"{name} must be a text, and not {value!r}" + (' (a time: "90s", "10m")' if name == "limit" else ""))

    def command(self) -> list[str]:
        targets = [word for t in self.targets for word in ("--target", t)]
        store = ["--db", self.db] if self.db else []
        limit = ["--limit", self.limit] if self.limit else []
        ours = any(t.startswith("torch") for t in self.targets)
        python = ["--python", self.python or sys.executable] if ours or self.python else []
        return [found(self.binary), "check", "-", "--json", "--no-pager", *targets, *store, *limit, *python]


_counted: Counter[str] = Counter()


def counts() -> dict[str, int]:
    """Graphs so far: in all; of these right, wrong, right as far as they are known (in parts), not judged."""
    return {k: _counted[k] for k in ("graphs", "right", "wrong", "in parts", "not judged")}


def found(binary: str | None) -> str:
    here = Path(__file__).resolve().parents[2] / "build" / "scatterproof"
    path = binary or os.environ.get("SCATTERPROOF") or shutil.which("scatterproof") or (str(here) if here.exists() else None)
    if path is None:
        raise Misconfigured("scatterproof's binary is not in PATH: build it, and say where by SCATTERPROOF=/PATH/TO/scatterproof")
    return path


_usable: set[tuple[str, ...]] = set()  # commands that have judged something


def ensure_usable(command: list[str], run: subprocess.CompletedProcess[str], rows: list[dict[str, Any]]) -> None:
    """Of the first graph: what fails of it before it is judged would fail of every graph."""
    if tuple(command) in _usable or run.returncode < 0:
        return
    said = run.stderr.strip().splitlines()
    if not any("summary" in r for r in rows):
        raise Misconfigured(said[-1] if said else f"{command[0]} is no scatterproof: `check` ends with {run.returncode} and judges nothing")
    broken = [f"{r['target']}: {' '.join(r['why'].split())}" for r in rows if r.get("verdict") == "harness"]
    if broken or run.returncode == 3:  # a target does not start
        raise Misconfigured("; ".join(broken) or said[-1])
    if any("verdict" in r for r in rows):
        _usable.add(tuple(command))


def checked(command: list[str], text: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    except OSError as error:
        raise Misconfigured(f"scatterproof cannot be run: {error}") from error


def rows_of(text: str) -> list[dict[str, Any]]:
    rows = []
    for line in text.splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        rows += [row] if isinstance(row, dict) else []
    return rows


def escaped(text: str) -> str:
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def of_module(node: Any) -> str:
    """" (Linear)": the innermost module that the operator stands in."""
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    name = stack[-1][1] if stack and isinstance(stack[-1], tuple) and len(stack[-1]) > 1 else ""
    name = name if isinstance(name, str) else getattr(name, "__qualname__", "")
    return f" ({name.split('.')[-1]})" if name else ""


def tell(line: str) -> None:
    """On standard error, where there is one: a program that has closed it goes on."""
    with contextlib.suppress(Exception):
        print(line, file=sys.stderr)


def source(gm: Any) -> str:
    """Where the first operator of the graph stands in the user's code: "net.py:12 in forward"."""
    for node in gm.graph.nodes:
        frames = list(FRAME.finditer(node.meta.get("stack_trace") or ""))
        if frames:
            at = frames[-1]
            return escaped(f"{os.path.basename(at['file'])}:{at['line']} in {at['name']}{of_module(node)}")
    modules = [m for m in map(of_module, gm.graph.nodes) if m]
    return "your code" + (modules[0] if modules else "")


@dataclass
class Judged:
    right: list[str] = field(default_factory=list)
    wrong: list[tuple[str, str, str]] = field(default_factory=list)  # target, verdict, why
    other: list[tuple[str, str, str]] = field(default_factory=list)
    cut: list[str] = field(default_factory=list)  # operators that no row is
    refused: list[str] = field(default_factory=list)  # known ones, with arguments that their rows do not take, and why
    error: str = ""


def judge(text: str, o: Options) -> Judged:
    command = o.command()
    run = checked(command, text)
    rows = rows_of(run.stdout)
    ensure_usable(command, run, rows)
    j = Judged()
    for row in rows:
        if "missing" in row:
            j.cut = [m["operator"] for m in row["missing"] if not m.get("why")]
            j.refused = [f"{m['operator']} ({m['why']})" for m in row["missing"] if m.get("why")]
        elif "error" in row:
            j.error = row["error"]
        elif "verdict" in row:
            name = row["target"]
            if row["verdict"] == "pass":
                j.right.append(name)
            else:
                (j.wrong if row["verdict"] in WRONG else j.other).append((name, row["verdict"], row["why"]))
    if not (j.right or j.wrong or j.other or j.error):
        said = run.stderr.strip().splitlines()
        j.error = said[-1] if said else f"scatterproof check ends with {run.returncode}"
    return j


def say(kind: str, gm: Any, j: Judged) -> str:
    n = sum(node.op == "call_function" for node in gm.graph.nodes)
    parts = [f"{v.upper()} on {t}: {' '.join(why.split())[:200]}" for t, v, why in j.wrong]
    parts += [f"{v} on {t}: {' '.join(why.split())[:120]}" for t, v, why in j.other]
    parts += [f"pass on {', '.join(j.right)}"] if j.right else []
    parts += [f"not judged: {j.error}"] if j.error else []
    parts += [f"without {', '.join(sorted(set(j.cut)))}, which it does not know"] if j.cut else []
    parts += [f"without {', '.join(sorted(set(j.refused)))}"] if j.refused else []
    return f"scatterproof: {kind} graph of {source(gm)}, {n} operators: {'; '.join(parts)}"


def count(j: Judged) -> None:
    if not _counted:
        atexit.register(summarize, os.getpid())
    _counted["graphs"] += 1
    right = j.right and not j.other and not j.error
    _counted["wrong" if j.wrong else "not judged" if not right else "in parts" if j.cut or j.refused else "right"] += 1


def summarize(pid: int) -> None:
    """At exit, of the process that counted; a forked child has its parent's handlers, and not its graphs."""
    if os.getpid() == pid:
        tell("scatterproof: " + ", ".join(f"{n} {k}" for k, n in counts().items()))


def forget() -> None:
    _counted.clear()


os.register_at_fork(after_in_child=forget)


def compiler(kind: str, o: Options) -> Callable[..., Any]:
    from functorch.compile import make_boxed_func

    def compiled(gm: Any, _inputs: Any) -> Any:
        text = gm.print_readable(print_output=False, include_stride=True, include_device=True)
        j = judge(text, o)
        line = say(kind, gm, j)
        count(j)
        tell(line)
        if j.wrong and o.strict:
            with tempfile.NamedTemporaryFile("w", suffix=".txt", prefix="scatterproof-graph-", delete=False) as f:
                f.write(text)
            raise Wrong(f"{line} (the graph: {f.name})")
        return make_boxed_func(gm.forward)

    return compiled


def backend(gm: Any, inputs: Any, *, options: dict[str, Any] | None = None, mode: str | None = None) -> Any:
    """The backend of torch.compile. mode is accepted and means nothing here."""
    del mode
    from functorch.compile import min_cut_rematerialization_partition
    from torch._dynamo.backends.common import aot_autograd

    try:
        o = Options(**(options or {}))
    except TypeError as error:
        raise Misconfigured(f"backend='scatterproof' takes the options {', '.join(Options.__dataclass_fields__)}: {error}") from error
    return aot_autograd(
        fw_compiler=compiler("forward", o),
        bw_compiler=compiler("backward", o),
        inference_compiler=compiler("inference", o),
        partition_fn=min_cut_rematerialization_partition,
        keep_inference_input_mutations=True,
    )(gm, inputs)
