"""The graphs that PyTorch makes of models, written as it prints them: scripts/dump-models starts it with an installed version's Python.

usage: dump_models.py SOURCE OUT AOT|INDUCTOR [MODEL...]      MODEL: a name, or FILE:NAME; default: all of corpus/models
Writes OUT/FILE-NAME.txt for each model of which a graph is made, and a line on standard output for each that could not be traced.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from pathlib import Path
from types import ModuleType


def tracer(source: Path) -> ModuleType:
    """trace.py with its companions, under the names by which the binary installs them."""
    folder = source / "compiled/targets/torch"
    for name in ("toolchain", "probe", "values", "worker", "rounding", "trace"):
        full = "scatterproof_" + name
        spec = importlib.util.spec_from_file_location(full, folder / f"{name}.py")
        assert spec and spec.loader
        sys.modules[full] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[full])
    return sys.modules["scatterproof_trace"]


def models(source: Path, wanted: list[str]) -> list[tuple[Path, str]]:
    """Every public function without parameters of a file, as its text has them: nothing is imported for it."""
    found = []
    for file in sorted((source / "corpus/models").glob("*.py")):
        for line in file.read_text().splitlines():
            if line.startswith("def ") and line.endswith("():") and line[4] != "_":
                name = line[4:-3]
                if not wanted or name in wanted or f"{file.stem}:{name}" in wanted:
                    found.append((file, name))
    return found


def dump(trace: ModuleType, file: Path, name: str, decompose: bool) -> str:
    import torch

    torch._dynamo.reset()
    sys.modules.pop(file.stem, None)
    subject = trace.make(str(file), name, "")
    graphs: list[object] = []
    request = trace.Request("graphs", str(file), name, "", ".", decompose, "", {}, b"")
    trace.compile_and_run(request, subject, trace.state_of(subject), {"backend": trace.keeping(graphs, decompose), "dynamic": False})
    return "\n".join(f"{g.kind} graph\n{g.text}\n" for g in graphs)  # type: ignore[attr-defined]


def main() -> int:
    source, out, kind, *wanted = sys.argv[1:]
    trace, failures = tracer(Path(source)), 0
    chosen = models(Path(source), wanted)
    if not chosen:
        print(f"dump-models: no model is called {' or '.join(wanted)}", file=sys.stderr)
        return 2
    for file, name in chosen:
        started = time.monotonic()
        try:
            text = dump(trace, file, name, kind == "INDUCTOR")
        except Exception as error:  # noqa: BLE001 - one model costs only itself
            failures += 1
            print(f"{file.stem}:{name} cannot be traced: {error}", file=sys.stderr)
            continue
        kept = Path(out) / f"{file.stem}-{name}.txt"
        kept.unlink(missing_ok=True)
        if text:    # of some functions a version makes no graph: it runs them as they stand
            kept.write_text(text)
        print(f"{file.stem}:{name} {text.count('def forward(')} graphs, {time.monotonic() - started:.1f} s", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
