"""torch.compile(model, backend="scatterproof"): judges every graph that a run of yours compiles.

The model runs on PyTorch's own kernels, as with backend="aot_eager"; its results are eager's. Each forward, backward and inference graph
that Dynamo and AOTAutograd make of it is handed to `scatterproof check` once, when it is compiled, and says one line on standard error:

    scatterproof: forward graph of net.py:12 in forward, 9 operators: pass on builtin:eager, torch:inductor@cpu
    scatterproof: backward graph of net.py:12 in forward, 14 operators: MISMATCH on torch:inductor@cpu: ...

Options, torch.compile(model, backend="scatterproof", options={...}):

    targets   list of targets (default ["builtin:eager"]: is the graph one that the reference and the interpreter agree upon?)
    db        findings store, which `scatterproof triage`, `report` and `repro` read
    strict    True: a graph that is judged wrong raises Wrong; else the run goes on
    binary    the scatterproof binary; else $SCATTERPROOF, else the one in PATH, else build/scatterproof of this checkout
    limit     time limit of a graph on a target, as `check --limit` takes it
    python    whose PyTorch runs targets of family torch (default: the one that runs you)

Nothing of a graph's data is used: its inputs are drawn, in their sizes, strides and dtypes. A graph with operators that scatterproof lacks
is judged in parts, and said to be so. counts() tells how many graphs there were; a last line at exit tells it, too.
"""

from __future__ import annotations

import atexit
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

__all__ = ["Wrong", "backend", "counts"]
WRONG = ("mismatch", "invariant", "crash", "hang")
FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<name>\S+)')


class Wrong(Exception):
    """A graph of the model is judged wrong on a target."""


@dataclass
class Options:
    targets: list[str] = field(default_factory=lambda: ["builtin:eager"])
    db: str | None = None
    strict: bool = False
    binary: str | None = None
    limit: str | None = None
    python: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.targets, str):
            self.targets = [self.targets]

    def command(self) -> list[str]:
        targets = [word for t in self.targets for word in ("--target", t)]
        store = ["--db", self.db] if self.db else []
        limit = ["--limit", self.limit] if self.limit else []
        ours = any(t.startswith("torch") for t in self.targets)
        python = ["--python", self.python or sys.executable] if ours or self.python else []
        return [found(self.binary), "check", "-", "--json", "--no-pager", *targets, *store, *limit, *python]


_counted: Counter[str] = Counter()


def counts() -> dict[str, int]:
    """Graphs so far: in all, right, wrong, in parts, not judged."""
    return {k: _counted[k] for k in ("graphs", "right", "wrong", "in parts", "not judged")}


def found(binary: str | None) -> str:
    here = Path(__file__).resolve().parents[2] / "build" / "scatterproof"
    path = binary or os.environ.get("SCATTERPROOF") or shutil.which("scatterproof") or (str(here) if here.exists() else None)
    if path is None:
        raise FileNotFoundError("scatterproof's binary is not in PATH: build it, and say where by SCATTERPROOF=/PATH/TO/scatterproof")
    return path


def source(gm: Any) -> str:
    """Where the first operator of the graph stands in the user's code: "net.py:12 in forward"."""
    for node in gm.graph.nodes:
        frames = list(FRAME.finditer(node.meta.get("stack_trace") or ""))
        if frames:
            at = frames[-1]
            return f"{os.path.basename(at['file'])}:{at['line']} in {at['name']}"
    return "your code"


@dataclass
class Judged:
    right: list[str] = field(default_factory=list)
    wrong: list[tuple[str, str, str]] = field(default_factory=list)  # target, verdict, why
    other: list[tuple[str, str, str]] = field(default_factory=list)
    cut: list[str] = field(default_factory=list)  # operators that no row is
    error: str = ""


def judge(text: str, o: Options) -> Judged:
    run = subprocess.run(o.command(), input=text, capture_output=True, text=True, check=False)
    j = Judged()
    for line in run.stdout.splitlines():
        row = json.loads(line)
        if "missing" in row:
            j.cut = [m["operator"] for m in row["missing"]]
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
    return f"scatterproof: {kind} graph of {source(gm)}, {n} operators: {'; '.join(parts)}"


def count(j: Judged) -> None:
    if not _counted:
        atexit.register(lambda: print("scatterproof: " + ", ".join(f"{n} {k}" for k, n in counts().items()), file=sys.stderr))
    _counted["graphs"] += 1
    _counted["wrong" if j.wrong else "right" if j.right and not j.other and not j.error else "not judged"] += 1
    _counted["in parts"] += bool(j.cut)


def compiler(kind: str, o: Options) -> Callable[..., Any]:
    from functorch.compile import make_boxed_func

    def compiled(gm: Any, _inputs: Any) -> Any:
        text = gm.print_readable(print_output=False, include_stride=True, include_device=True)
        j = judge(text, o)
        line = say(kind, gm, j)
        count(j)
        print(line, file=sys.stderr)
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
        raise TypeError(f"backend='scatterproof' takes the options {', '.join(Options.__dataclass_fields__)}: {error}") from error
    return aot_autograd(
        fw_compiler=compiler("forward", o),
        bw_compiler=compiler("backward", o),
        inference_compiler=compiler("inference", o),
        partition_fn=min_cut_rematerialization_partition,
        keep_inference_input_mutations=True,
    )(gm, inputs)
