"""torch.compile(backend="scatterproof"): the package in python/ judges every graph of a run, and the run's results are those of aot_eager.

    backend_check.py SCATTERPROOF PYTHON_FOLDER
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import io
import os
import sys
import tomllib
from pathlib import Path

import torch
from torch import nn

binary, folder = sys.argv[1], Path(sys.argv[2])
sys.path.insert(0, str(folder))
failed = 0


def expect(holds: bool, what: str) -> None:
    global failed
    failed += not holds
    if not holds:
        print(f"FAIL: {what}")


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.n, self.b = nn.Linear(8, 16), nn.LayerNorm(16), nn.Linear(16, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.add(self.b(nn.functional.gelu(self.n(self.a(x)))), x[:, :4], alpha=3)


def gradients(model: nn.Module, x: torch.Tensor, run: object) -> list[torch.Tensor]:
    model.zero_grad()
    assert callable(run)
    run(x).square().mean().backward()
    return [p.grad.clone() for p in model.parameters() if p.grad is not None]


def said(fn: object, *args: object) -> tuple[object, str]:
    """What it returns, and what standard error got."""
    err = io.StringIO()
    assert callable(fn)
    with contextlib.redirect_stderr(err):
        result = fn(*args)
    return result, err.getvalue()


project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
module, name = project["entry-points"]["torch_dynamo_backends"]["scatterproof"].split(":")
package = importlib.import_module(module)
backend = getattr(package, name)
torch.manual_seed(1)
model, x = Net(), torch.randn(5, 8)
want = gradients(model, x, model)

# Right: two graphs, a line each, eager's results.
compiled = torch.compile(model, backend=backend, options={"binary": binary, "targets": ["builtin:eager", "builtin:passes"]})
got, text = said(gradients, model, x, compiled)
expect(all(torch.equal(a, b) for a, b in zip(want, got, strict=True)), "the gradients are eager's")
expect(text.count("pass on builtin:eager, builtin:passes") == 2, f"two graphs pass: {text}")
expect("forward graph of backend_check.py:" in text, f"where it stands: {text}")
expect(package.counts() == {"graphs": 2, "right": 2, "wrong": 0, "in parts": 0, "not judged": 0}, f"{package.counts()}")
_, text = said(gradients, model, x, compiled)
expect(text == "", f"a graph is judged once, when it is compiled: {text}")

# Wrong, by a planted defect: said; the run goes on, or, if strict, ends.
torch._dynamo.reset()
planted = {"binary": binary, "targets": "builtin:passes+defect=alpha_lost"}
got, text = said(gradients, model, x, torch.compile(model, backend=backend, options=planted))
expect("MISMATCH on builtin:passes+defect=alpha_lost: " in text, f"the forward graph is wrong: {text}")
expect(all(torch.equal(a, b) for a, b in zip(want, got, strict=True)), "the run goes on")
expect(package.counts()["wrong"] == 1, f"{package.counts()}")
torch._dynamo.reset()
try:
    said(gradients, model, x, torch.compile(model, backend=backend, options={**planted, "strict": True}))
    expect(False, "strict: it raises")
except Exception as error:  # noqa: BLE001 - Dynamo wraps it
    expect("Wrong" in f"{type(error)} {error}", f"strict: {error}")

# An operator that no row is: the rest is judged, and it is said.
torch._dynamo.reset()
mylib = torch.library.Library("mylib", "DEF")
mylib.define("fused(Tensor x) -> Tensor")
mylib.impl("fused", lambda x: x * 2 + 1, "CompositeExplicitAutograd")
mylib._register_fake("fused", torch.empty_like)


def partly(x: torch.Tensor) -> torch.Tensor:
    return torch.ops.mylib.fused(x.sin()).cos()


_, text = said(torch.compile(partly, backend=backend, options={"binary": binary}), torch.randn(3))
expect("pass on builtin:eager; without mylib.fused" in text, f"in parts: {text}")
expect(package.counts()["in parts"] == 1, f"{package.counts()}")

torch._dynamo.reset()
scaled = torch.compile(lambda x: (x.sin() * x.shape[0]).cos(), backend=backend, dynamic=True, options={"binary": binary})
_, text = said(scaled, torch.randn(5, 3))
expect("without aten.mul.Tensor (" in text and "which it does not know" not in text, f"an argument that it does not take: {text}")
expect(package.counts()["right"] == 3, f"which is not right as a whole: {package.counts()}")

# Where it stands: the module, too, and a name of a file that is not one line.
torch._dynamo.reset()
_, text = said(torch.compile(nn.Sequential(nn.Tanh()), backend=backend, options={"binary": binary}), torch.randn(3))
expect(" (Tanh), 1 operators: " in text, f"the module: {text}")
scope: dict[str, object] = {}
exec(compile("def twice(x): return x * 2", "/tmp/ü\nb.py", "exec"), scope)  # noqa: S102
_, text = said(torch.compile(scope["twice"], backend=backend, options={"binary": binary}), torch.randn(3))
expect(text.count("\n") == 1, f"one line: {text}")

# A standard error that is closed, or none, is no error; a forked child has no graphs yet, and does not say its parent's.
torch._dynamo.reset()
stderr = sys.stderr
for sys.stderr in (None, closed := io.StringIO()):
    closed.close()
    torch._dynamo.reset()
    torch.compile(torch.sin, backend=backend, options={"binary": binary})(torch.randn(3))
sys.stderr = stderr
reading, writing = os.pipe()
if not (child := os.fork()):
    os.dup2(writing, 2)
    os.write(2, str(package.counts()["graphs"]).encode())
    atexit._run_exitfuncs()
    os._exit(0)
os.close(writing)
os.waitpid(child, 0)
with os.fdopen(reading) as pipe:
    text = pipe.read()
expect(text == "0", f"a child says nothing of its parent's graphs: {text}")

# Mistakes are told, at the first graph.
mistakes: tuple[tuple[dict[str, object], str], ...] = (
    ({"target": 1}, "takes the options targets, db"),
    ({"binary": "/nowhere/scatterproof"}, "/nowhere/scatterproof"),
    ({"binary": "/bin/true"}, "/bin/true is no scatterproof"),
    ({"binary": "/bin/cat"}, "Misconfigured"),
    ({"targets": []}, "at least one"),
    ({"targets": ["torch:induktor"]}, "did you mean 'inductor'"),
    ({"limit": 5}, "limit must be a text, and not 5"),
    ({"limit": "quick"}, "'quick' is not a time"),
    ({"db": "/nowhere/f.db"}, "/nowhere/f.db"),
    ({"targets": ["torch:aot_eager"], "python": "/bin/false"}, "before it was ready"),
)
for mistake, words in mistakes:
    options = {"binary": binary, **mistake}
    torch._dynamo.reset()
    try:
        said(torch.compile(torch.sin, backend=backend, options=options), torch.randn(3))
        expect(False, f"{options}: it raises")
    except Exception as error:  # noqa: BLE001 - Dynamo wraps it
        expect(words in f"{type(error)} {error}", f"{options}: {error}")
print("backend_check: " + (f"{failed} failed" if failed else "all as wanted"))
sys.exit(failed > 0)
