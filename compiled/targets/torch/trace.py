"""Programs as people have them: runs and traces a function of the user's in a process of its own.

One process serves one request (trace.c starts a fresh one for each), so that whatever the script does to PyTorch ends with it:

    eager     runs the function, with its backward, and returns what came out
    graphs    runs it compiled by a backend that keeps the forward and backward graphs and the data that they are called with
    compare   runs it compiled by a stage and compares with what the eager process returned

Each process makes function and inputs anew from the same seeds; where that gives other inputs, nothing is compared and it is said.
What the script raises is the script's, what the compiler raises where the script alone runs is the compiler's.
"""

from __future__ import annotations

import difflib
import hashlib
import importlib.util
import inspect
import io
import os
import random
import struct
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import scatterproof_rounding as rounding  # rounding.py, which lies beside this file under that name
import scatterproof_worker as worker  # worker.py, likewise
import torch
from torch import Tensor, fx
from torch.utils._pytree import tree_leaves

OK, SCRIPT, COMPILER, OTHER = 0, 1, 2, 3  # enum trace_status
MAX_CELLS = 1 << 14  # of an input of a graph whose data are sent
MAX_GRAPHS = 256
SEED = 0
WRITTEN = "{} (written)"
# A compiler may round elsewhere, and add in another order: what is compared here is whether a result is grossly another one. The graphs
# are judged exactly.
TOLERANCE = {torch.float64: 1e-7, torch.float32: 1e-3, torch.float16: 3e-2, torch.bfloat16: 6e-2}


class ScriptError(Exception):
    """The user's file does not give a function and its inputs, or the function raises."""


class CompilerError(Exception):
    """The compiler raised where the function alone runs."""


# ---- the user's file ---------------------------------------------------------------------------------------------


@dataclass
class Subject:
    fn: Callable[..., Any]
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)


def where(error: BaseException, file: str) -> str:
    """The innermost line of the user's own, "; at model.py:12 in f: y = x.view(3)"."""
    ours = os.path.dirname(os.path.abspath(__file__))
    own = [f for f in traceback.extract_tb(error.__traceback__) if not inside(f.filename, ours)]
    at = [f for f in own if f.filename == file] or [f for f in own if "site-packages" not in f.filename and f.filename[:1] != "<"]
    if isinstance(error, SyntaxError) and error.filename == file:
        return f"; at {file}:{error.lineno}: {(error.text or '').strip()}"
    return f"; at {at[-1].filename}:{at[-1].lineno} in {at[-1].name}: {at[-1].line}" if at else ""


def inside(path: str, folder: str) -> bool:
    return os.path.dirname(os.path.abspath(path)) == folder


def say(error: BaseException, file: str) -> str:
    try:
        text = worker.describe(error)
    except Exception:  # noqa: BLE001 - an error of the user's may be unable to say itself
        text = type(error).__name__
    return text + where(error, file)


def guarded(what: str, file: str, fn: Callable[[], Any]) -> Any:
    """Whatever the user's code raises, SystemExit too, ends this request and not the process."""
    try:
        return fn()
    except ScriptError:
        raise
    except BaseException as error:  # noqa: BLE001
        raise ScriptError(f"{what} raises {say(error, file)}") from error


def load(file: str) -> Any:
    name = Path(file).stem
    if not name.isidentifier() or name in sys.modules:
        name = "scatterproof_user_" + "".join(c if c.isalnum() else "_" for c in name)
    sys.path.insert(0, os.path.dirname(file))
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ScriptError(f"{file} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    loader = spec.loader
    guarded("importing it", file, lambda: loader.exec_module(module))
    return module


def named(module: Any, name: str, file: str) -> Any:
    value = module
    for part in name.split("."):
        if not hasattr(value, part):
            own = [k for k, v in vars(module).items() if k[:1] != "_" and getattr(v, "__module__", "") == module.__name__]
            near = difflib.get_close_matches(name, own, 1)
            guess = f"; did you mean '{near[0]}'?" if near else f"; it has {', '.join(own[:12])}" if own else ""
            raise ScriptError(f"there is no '{name}' in it{guess}")
        value = getattr(value, part)
    return value


def arguments(text: str, module: Any, file: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Those of a call: --args 'torch.randn(3, 4), k=2'."""
    names = {"torch": torch, **vars(module), "_arguments": lambda *args, **kwargs: (args, kwargs)}

    def evaluate() -> Any:
        return eval(f"_arguments({text}\n)", names)  # noqa: S307 - the user's own

    made: tuple[tuple[Any, ...], dict[str, Any]] = guarded(f"--args '{text}'", file, evaluate)
    return made


def pair(value: Any, name: str) -> Subject:
    """(function or module, inputs)"""
    if not isinstance(value, (tuple, list)) or len(value) != 2 or not callable(value[0]):
        form = "it must give (function or module, inputs); or say the inputs by --args"
        raise ScriptError(f"'{name}' gives a {type(value).__name__}: {form}")
    fn, inputs = value
    if isinstance(inputs, dict):
        return Subject(fn, (), inputs)
    return Subject(fn, tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,))


def needs_arguments(fn: Any) -> bool:
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        return True
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return any(p.default is p.empty and p.kind not in variadic for p in parameters)


def make(file: str, name: str, args: str) -> Subject:
    random.seed(SEED)
    torch.manual_seed(SEED)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(SEED)
    module = load(file)
    value = named(module, name, file)
    if args:
        if isinstance(value, type) and issubclass(value, torch.nn.Module) and not needs_arguments(value):
            value = guarded(f"{name}()", file, value)
        if not callable(value):
            raise ScriptError(f"'{name}' is a {type(value).__name__}, and nothing that takes --args")
        return Subject(value, *arguments(args, module, file))
    if callable(value) and (isinstance(value, torch.nn.Module) or needs_arguments(value)):
        form = "or name a function without arguments that returns (function or module, inputs)"
        raise ScriptError(f"'{name}' takes arguments: say them by --args 'ARGUMENTS', {form}")
    return pair(guarded(f"{name}()", file, value) if callable(value) else value, name)


# ---- running it ----------------------------------------------------------------------------------------------------


Named = dict[str, Tensor]


def reachable(fn: Any) -> Iterator[tuple[str, Any]]:
    """Modules and tensors that a function uses beside its arguments: its own, its closure's, globals that it names."""
    if isinstance(fn, torch.nn.Module):
        yield "", fn
        return
    if isinstance(getattr(fn, "__self__", None), torch.nn.Module):
        yield "self", fn.__self__
    code = getattr(fn, "__code__", None)
    if code is None:
        return
    for name, cell in zip(code.co_freevars, getattr(fn, "__closure__", None) or (), strict=False):
        try:
            yield name, cell.cell_contents
        except ValueError:  # an empty cell
            continue
    for name in code.co_names:
        if name in fn.__globals__:
            yield name, fn.__globals__[name]


def state_of(s: Subject) -> Named:
    """Every tensor that the function may read, write or have a gradient for, by a name that each process gives it."""
    found: Named = {}
    seen: set[int] = set()

    def add(name: str, t: Any) -> None:
        if isinstance(t, Tensor) and id(t) not in seen:
            seen.add(id(t))
            found[name] = t

    for k, leaf in enumerate(tree_leaves((s.args, s.kwargs))):
        add(f"input {k}", leaf)
    for name, thing in reachable(s.fn):
        if isinstance(thing, torch.nn.Module):
            for inner, t in [*thing.named_parameters(), *thing.named_buffers()]:
                add(f"{name}.{inner}".lstrip("."), t)
        else:
            for k, leaf in enumerate(tree_leaves(thing) if isinstance(thing, (tuple, list, dict)) else [thing]):
                add(f"{name}[{k}]" if k else name, leaf)
    return found


def kept(t: Tensor) -> Tensor:
    """As it is now, dense, on the CPU."""
    return t.detach().to_dense().cpu().clone() if t.layout != torch.strided else t.detach().cpu().clone()


def same_bits(t: Tensor, was: Tensor) -> bool:
    return t.shape == was.shape and t.dtype == was.dtype and worker.logical_bytes(kept(t)) == worker.logical_bytes(was)


def digest(state: Named) -> str:
    h = hashlib.sha256()
    for name, t in state.items():
        h.update(f"{name} {t.dtype} {tuple(t.shape)} {t.requires_grad}\n".encode())
        h.update(worker.logical_bytes(kept(t)))
    return h.hexdigest()


def cotangents(outs: list[Tensor]) -> list[Tensor]:
    """1 for a loss; else numbers of both signs, the same in each process."""
    g = torch.Generator().manual_seed(SEED + 1)
    return [
        torch.ones_like(t) if t.dim() == 0 else torch.randn(t.shape, generator=g, dtype=torch.float32).to(t.device, t.dtype) for t in outs
    ]


def run(
    s: Subject, fn: Callable[..., Any], state: Named, under: Callable[[], AbstractContextManager[Any]] = nullcontext
) -> list[tuple[str, Tensor]]:
    """Forward and backward; outputs, what the state is afterwards, gradients. A function that ran its own backward gets no second one.
    under: of the function, not of what is done with its results."""
    torch.manual_seed(SEED + 2)
    before = {name: kept(t) for name, t in state.items()}
    had = {name for name, t in state.items() if t.grad is not None}
    with under():
        returned = fn(*s.args, **s.kwargs)
    outs = [t for t in tree_leaves(returned) if isinstance(t, Tensor)]
    own_backward = any(t.grad is not None and name not in had for name, t in state.items())
    live = [t for t in outs if t.requires_grad and t.grad_fn is not None and t.dtype.is_floating_point]
    results = [(f"output {k}", kept(t)) for k, t in enumerate(outs)]
    if live and not own_backward:
        tangents = cotangents(live)
        with under():
            torch.autograd.backward(live, tangents)
    if any(t.device.type == "cuda" for t in [*outs, *state.values()]):
        torch.cuda.synchronize()
    results += [(WRITTEN.format(name), kept(t)) for name, t in state.items() if not same_bits(t, before[name])]
    results += [(f"gradient of {name}", kept(t.grad)) for name, t in state.items() if t.grad is not None]
    return results


# ---- graphs ----------------------------------------------------------------------------------------------------------


@dataclass
class Graph:
    kind: str  # forward, backward, inference
    text: str
    names: list[str]
    data: list[bytes] | None = None  # per name: dtype and cells, as sent

    def see(self, values: list[Any]) -> None:
        if self.data is None:
            self.data = [cells_of(v) for v in values]


def cells_of(t: Any) -> bytes:
    """The memory that a tensor reaches into, from its first cell on."""
    w = worker.Writer()
    plain = type(t) in (Tensor, torch.nn.Parameter) and t.layout == torch.strided and t.dtype in worker.DTYPE_NAMES
    extent = 0 if not plain or t.numel() == 0 else 1 + sum((n - 1) * s for n, s in zip(t.shape, t.stride(), strict=True))
    if not plain or extent > MAX_CELLS:
        return b"\0"
    w.u8(1)
    w.text(worker.DTYPE_NAMES[t.dtype])
    w.i64(extent)
    w.blob(worker.logical_bytes(t.detach().as_strided((extent,), (1,), t.storage_offset())))
    return b"".join(w.parts)


def keeping(graphs: list[Graph], decompose: bool) -> Any:
    """A backend of Dynamo that runs graphs as they are and keeps their text."""
    from functorch.compile import make_boxed_func, min_cut_rematerialization_partition
    from torch._dynamo.backends.common import aot_autograd

    def compiler(kind: str) -> Callable[..., Any]:
        def keep(gm: fx.GraphModule, example_inputs: list[Any]) -> Any:
            nodes = list(gm.graph.nodes)
            held = [n for n in nodes if n.op == "get_attr" and isinstance(getattr(gm, str(n.target), None), Tensor)]
            names = [n.name for n in nodes if n.op == "placeholder"] + [n.name for n in held]
            text = gm.print_readable(print_output=False, include_stride=True, include_device=True)
            graph = Graph(kind, text, names)
            if len(graphs) < MAX_GRAPHS:
                graphs.append(graph)

            def call(*args: Any) -> Any:
                graph.see([*args, *(getattr(gm, str(n.target)) for n in held)])
                return gm.forward(*args)

            return make_boxed_func(call)

        return keep

    decompositions = None
    if decompose:
        from torch._inductor.decomposition import select_decomp_table

        decompositions = select_decomp_table()
    return aot_autograd(
        fw_compiler=compiler("forward"),
        bw_compiler=compiler("backward"),
        inference_compiler=compiler("inference"),
        partition_fn=min_cut_rematerialization_partition,
        decompositions=decompositions,
        keep_inference_input_mutations=True,
    )


# ---- requests --------------------------------------------------------------------------------------------------------


@dataclass
class Request:
    task: str
    file: str
    name: str
    args: str
    cwd: str
    decompose: bool
    stage: str
    options: dict[str, str]
    eager: bytes


def read_request(data: bytes) -> Request:
    r = worker.Reader(data)
    task, file, name, args, cwd = (r.text() for _ in range(5))
    decompose, stage = bool(r.u8()), r.text()
    options = {r.text(): r.text() for _ in range(r.u32())}
    return Request(task, file, name, args, cwd, decompose, stage, options, bytes(r.blob()))


def backend_of(req: Request) -> dict[str, Any]:
    options = dict(req.options)
    dynamic = {"0": False, "1": True}.get(options.pop("dynamic", ""))
    if req.stage == "inductor":
        from torch._inductor import config

        config.fallback_random = True  # the same random numbers as eager
        worker.toolchain.take()
        return {"options": worker.inductor_options(options), "dynamic": dynamic}
    if req.stage == "dynamo":
        if "import" in options:
            worker.import_module(options["import"], req.cwd)
        return {"backend": worker.own_backend(options.get("backend", "")), "dynamic": dynamic}
    return {"backend": req.stage, "dynamic": dynamic}


def compile_and_run(req: Request, s: Subject, state: Named, how: dict[str, Any]) -> list[tuple[str, Tensor]]:
    try:
        return run(s, torch.compile(s.fn, **how), state)
    except BaseException as error:  # noqa: BLE001 - eager ran it
        raise CompilerError(say(error, req.file)) from error


def limit_of(want: Tensor) -> float:
    """How far a float may be away."""
    w = rounding.flat(want)
    largest = float(w[w.isfinite()].abs().max()) if bool(w.isfinite().any()) else 0.0
    return TOLERANCE.get(want.dtype, 1e-3) * max(largest, rounding.AT_LEAST)


@dataclass
class Compared:
    tensors: int = 0
    numbers: int = 0
    largest: float = 0.0  # difference, as a part of the tensor's largest number
    alone: int = 0  # numbers that eager has otherwise each time
    decided: int = 0  # numbers that rounding decides
    wrong: list[tuple[str, str]] = field(default_factory=list)  # tensor, what is wrong
    why: str = ""  # why nobody knows what eager's rounding is

    def note(self) -> str:
        parts = [f"{self.alone} that eager itself has otherwise each time"] if self.alone else []
        parts += [f"{self.decided} that rounding decides"] if self.decided else []
        text = f"; numbers that are not judged: {', '.join(parts)}" if parts else ""
        return text + (f"; what eager's rounding does is not known: {self.why}" if self.why else "")

    def see(self, name: str, got: Tensor, want: Tensor, doubts: rounding.Doubts) -> None:
        what = self.difference(name, got, want, doubts)
        if what:
            self.wrong.append((name, what))

    def difference(self, name: str, got: Tensor, want: Tensor, doubts: rounding.Doubts) -> str:
        """What is wrong, "" if nothing."""
        self.tensors += 1
        self.numbers += want.numel()
        limit = limit_of(want) if rounding.is_float(want) else 0.0
        doubt = doubts.of(name, want, limit)
        if got.dtype != want.dtype or got.shape != want.shape:
            if got.dtype == want.dtype and not doubt.shape:
                self.decided += want.numel()
                return ""
            return f"{got.dtype} {list(got.shape)} in place of {want.dtype} {list(want.shape)}"
        if not want.numel():
            return ""
        if not rounding.is_float(want):
            return self.count(doubt, (got != want).reshape(-1), "")
        g, w = rounding.flat(got), rounding.flat(want)
        same = (g == w) | (g.isnan() & w.isnan())
        finite = g.isfinite() & w.isfinite()
        allowed = limit + rounding.FACTOR * doubt.noise
        scale = float(w[w.isfinite()].abs().max()) if bool(w.isfinite().any()) else 0.0
        apart = torch.where(same | ~finite | doubt.alone | doubt.decided, 0.0, (g - w).abs())
        if allowed > max(scale, rounding.AT_LEAST * TOLERANCE.get(want.dtype, 1e-3)):  # it is noise: only what exceeds that is seen
            doubt.decided = ~doubt.alone
            bad = ~same & finite & ((g - w).abs() > allowed) & doubt.decided | (~same & ~finite & doubt.decided)
            doubt.decided = doubt.decided & ~bad
        else:
            bad = ~same & (~finite | (apart > allowed))
            self.largest = max(self.largest, float(apart.max()) / scale if scale else float(apart.max()))
        k = int((~same & (~finite | (apart == apart.max())) & bad).int().argmax())
        return self.count(doubt, bad, f"; at {k}: {float(g[k])!r} in place of {float(w[k])!r}")

    def count(self, doubt: rounding.Doubt, bad: Tensor, where: str) -> str:
        self.alone += int(doubt.alone.sum())
        self.decided += int(doubt.decided.sum())
        wrong = int((bad & ~doubt.alone & ~doubt.decided).sum())
        return f"{wrong} of {bad.numel()} elements differ{where}" if wrong else ""


def compare(got: list[tuple[str, Tensor]], want: list[tuple[str, Tensor]], before: Named, doubts: rounding.Doubts) -> Compared:
    """before: what was written in one run alone is compared with what it was."""
    c = Compared(why=doubts.why)
    mine, theirs = dict(got), dict(want)
    was = {WRITTEN.format(name): t for name, t in before.items()}
    mine.update((name, was[name]) for name in theirs if name not in mine and name in was)
    theirs.update((name, was[name]) for name in mine if name not in theirs and name in was)
    for name in [*theirs, *(n for n in mine if n not in theirs)]:
        if name not in mine or name not in theirs:
            c.wrong.append((name, "is not there" if name not in mine else "is there, and without compiling it is not"))
        else:
            c.see(name, mine[name], theirs[name], doubts)
    return c


def put_comparison(w: worker.Writer, c: Compared) -> None:
    w.u32(c.tensors)
    w.f64(c.largest)
    w.text(c.note())
    w.u32(len(c.wrong))
    for name, what in c.wrong:
        w.text(name)
        w.text(what)


def graphs_made() -> int:
    """How many Dynamo has handed to a backend so far."""
    from torch._dynamo.utils import counters

    return counters["stats"]["unique_graphs"]


def put_graphs(w: worker.Writer, graphs: list[Graph]) -> None:
    w.u32(len(graphs))
    for g in graphs:
        w.text(g.kind)
        w.text(g.text)
        data = g.data or [b"\0"] * len(g.names)
        w.u32(len(g.names))
        for name, cells in zip(g.names, data, strict=True):
            w.text(name)
            w.parts.append(cells)


def answer(req: Request) -> bytes:
    w = worker.Writer()
    os.chdir(req.cwd)
    s = make(req.file, req.name, req.args)
    state = state_of(s)
    w.u8(OK)
    w.text("")
    if req.task == "eager":
        made = digest(state)
        results = guarded("running it", req.file, lambda: run(s, s.fn, state))
        out = io.BytesIO()
        torch.save({"made": made, "results": results}, out)
        w.blob(out.getvalue())
    elif req.task == "graphs":
        graphs: list[Graph] = []
        torch._dynamo.config.recompile_limit = 64
        compile_and_run(req, s, state, {"backend": keeping(graphs, req.decompose), "dynamic": False})
        put_graphs(w, graphs)
    else:
        eager = torch.load(io.BytesIO(req.eager), weights_only=True)
        if eager["made"] != digest(state):
            raise NotComparable("each process makes other inputs or parameters, though the seeds of random and torch are the same")
        before = {name: kept(t) for name, t in state.items()}
        keeper = rounding.Keeper(lambda under: run(s, s.fn, state, under), state)
        got = compile_and_run(req, s, state, backend_of(req))
        if not graphs_made():
            raise NotComparable("nothing of it is compiled: no graph is made of it")
        c = compare(got, eager["results"], before, rounding.Doubts())
        if c.wrong:  # or is that rounding?
            c = compare(got, eager["results"], before, keeper.ask())
        if not c.wrong and c.alone + c.decided == c.numbers:
            raise NotComparable(f"nothing of it can be compared{c.note()}")
        put_comparison(w, c)
        worker.toolchain.keep()
    return b"".join(w.parts)


class NotComparable(Exception):
    """A second process made other inputs or parameters from the same seeds, or the compiled run is none."""


def failed(status: int, message: str) -> bytes:
    w = worker.Writer()
    w.u8(status)
    w.text(message[: worker.MAX_MESSAGE])
    return b"".join(w.parts)


def serve(data: bytes) -> bytes:
    try:
        return answer(read_request(data))
    except ScriptError as error:
        return failed(SCRIPT, str(error))
    except CompilerError as error:
        return failed(COMPILER, str(error))
    except NotComparable as error:
        return failed(OTHER, str(error))
    except worker.OptionError as error:
        return failed(SCRIPT, str(error))
    except OSError as error:
        return failed(SCRIPT, str(error))


def main() -> None:
    torch.set_num_threads(1)
    requests, answers = os.fdopen(os.dup(3), "rb"), os.fdopen(os.dup(3), "wb")
    os.close(3)  # the script's own files may have that number
    worker.send(answers, 0, worker.hello(""))
    magic, number, nbytes = struct.unpack("<IIQ", worker.read_exactly(requests, 16))
    if magic != worker.MAGIC:
        sys.exit("the request is no frame")
    worker.send(answers, number, serve(worker.read_exactly(requests, nbytes)))
    requests.read(1)  # until the parent has taken the answer and closes the socket
    os._exit(0)  # threads of the script's are not waited for


if __name__ == "__main__":
    main()
