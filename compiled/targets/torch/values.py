"""The probe values=1: which node of Inductor's own graphs is the first whose value is wrong.

Each graph that AOTAutograd hands to Inductor is kept as it is. (Of a program without a backward that is before the passes over the joint
graph; else they have run, and what they spoil has no node any more.) When its code is called for the first time, the graph is run beside
it, node by node on ATen's kernels, on copies of the same inputs. Where what the code returned is wrong, the graph is compiled again with
every value as an output, and if that makes the wrong result right, once for each node with its value as one more output. All of that
happens beside the program, which gets the results that it would have got. Where Inductor raises, the part of the graph up to each node
is compiled instead.

The answer is the artifact `values`, a line of 10 words for each operator of a graph, in the order in which they run:

    GRAPH      fw, bw
    NODE       slice_scatter_1
    OPERATOR   aten.slice_scatter.default
    VALUE      equal, differs: what the code computed against ATen's kernels, by torch.testing.assert_close; not-materialised: nobody saw
               it; raises: the graph up to this node does not compile, compiles: it does
    ALONE      cures, keeps: the failure, if this one value is an output as well; -: not asked
    LAYOUT     as ATen's kernel makes it against what was predicted: same; overlap: the predicted one overlaps itself and the real one
               does not; meta: other sizes or another dtype; strides: those alone
    PREDICTED, REAL, MADE
               layouts: the fake's, of ATen's kernel, of the code (- unless the graph returns the node); f32[2,3][3,1]; + between those of
               a tuple
    INPUTS     nodes that it reads, joined by commas; -: inputs of the graph alone
"""

from __future__ import annotations

import copy
import operator
import re
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import scatterproof_probe as probes
import torch
from torch import Tensor, fx

MAX_ALONE = 24  # nodes that are made an output one by one
BUDGET_S = 60.0  # of compiling again, over all graphs of a program
MAX_BYTES = 256 << 20  # of a graph's values
MAX_LAYOUT = 150  # characters


# ---- values --------------------------------------------------------------------------------------------------------


def copies_of(inputs: Sequence[Any]) -> list[Any]:
    """The same sizes, strides, offsets and sharing in other memory."""
    storages: dict[int, torch.UntypedStorage] = {}

    def twin(t: Any) -> Any:
        if not isinstance(t, Tensor):
            return t
        own = t.untyped_storage()
        mine = storages.setdefault(own._cdata, own.clone())
        return torch.empty(0, dtype=t.dtype, device=t.device).set_(mine, t.storage_offset(), t.size(), t.stride())

    return [twin(t) for t in inputs]


def agree(a: Any, b: Any) -> bool:
    """Values, whatever the dtype and the strides."""
    if not isinstance(a, Tensor) or not isinstance(b, Tensor):
        return a is b or bool(a == b)
    if a.shape != b.shape:
        return False
    try:
        torch.testing.assert_close(a, b, equal_nan=True, check_dtype=False, check_stride=False)
    except AssertionError:
        return False
    return True


def layout_word(fake: Any, real: Any) -> str:
    words = ["same"]
    for f, r in zip(probes.tensors_in(fake), probes.tensors_in(real), strict=True):
        sizes, strides = ([probes.number(n) for n in numbers] for numbers in (f.shape, f.stride()))
        if f.dtype != r.dtype or f.dim() != r.dim() or any(a not in (None, b) for a, b in zip(sizes, r.shape, strict=True)):
            words.append("meta")
        elif None in sizes or None in strides or r.numel() == 0:
            continue
        elif any(a != b for a, b, n in zip(strides, r.stride(), r.shape, strict=True) if n > 1):
            cells = torch.empty(0, device="meta").as_strided(sizes, strides)
            words.append("overlap" if probes.overlaps(cells) and not probes.overlaps(r) else "strides")
    return max(words, key=("same", "strides", "meta", "overlap").index)


def layout_text(val: Any) -> str:
    return "+".join(map(probes.describe_value, probes.tensors_in(val)))[:MAX_LAYOUT] or "-"


# ---- graphs --------------------------------------------------------------------------------------------------------


def output_node(graph: fx.Graph) -> fx.Node:
    return next(n for n in reversed(graph.nodes) if n.op == "output")


def flat_outputs(graph: fx.Graph) -> list[Any]:
    return list(output_node(graph).args[0])  # type: ignore[arg-type]


def twin_of(gm: fx.GraphModule) -> fx.GraphModule:
    return fx.GraphModule(gm, copy.deepcopy(gm.graph))


def named(graph: fx.Graph, name: str) -> fx.Node:
    return next(n for n in graph.nodes if n.name == name)


def source(node: fx.Node) -> fx.Node:
    """What a tensor is taken out of."""
    return source(node.args[0]) if node.target is operator.getitem else node  # type: ignore[arg-type]


def with_outputs(gm: fx.GraphModule, names: Iterable[str], alone: bool = False) -> fx.GraphModule:
    """The graph that returns these nodes as well, or alone."""
    twin = twin_of(gm)
    out = output_node(twin.graph)
    more = [named(twin.graph, name) for name in names]
    out.args = (tuple([*([] if alone else flat_outputs(twin.graph)), *more]),)
    if alone:
        for node in reversed(list(twin.graph.nodes)):
            if writes(node) and not node.users:  # they are no dead code, and bring in what they write
                twin.graph.erase_node(node)
        out.meta.pop("user_visible_output_idxs", None)
        twin.graph.eliminate_dead_code()
    twin.recompile()
    return twin


class OnATen(fx.Interpreter):
    """Keeps each value as it is when it has been made: what is written later does not change it."""

    def __init__(self, gm: fx.GraphModule) -> None:
        super().__init__(gm)
        self.seen: dict[str, Any] = {}
        self.layouts: dict[str, tuple[str, str]] = {}  # word, text
        self.nbytes = 0

    def run_node(self, n: fx.Node) -> Any:
        val = super().run_node(n)
        if n.op == "call_function":
            self.nbytes += sum(t.numel() * t.itemsize for t in probes.tensors_in(val))
            if self.nbytes > MAX_BYTES:
                raise probes.ProbeError("values: too much memory")
            self.layouts[n.name] = layout_word(n.meta.get("val"), val), layout_text(val)
            if isinstance(val, Tensor):
                self.seen[n.name] = val.detach().clone()
        return val


@dataclass
class Budget:
    left_s: float = BUDGET_S


# ---- one graph -----------------------------------------------------------------------------------------------------


@dataclass
class Line:
    node: fx.Node
    results: list[str]  # the nodes that are its tensors
    value: str = "not-materialised"
    alone: str = "-"
    layout: str = "same"
    real: str = "-"
    made: str = "-"
    inputs: list[str] = field(default_factory=list)

    def text(self, phase: str) -> str:
        n = self.node
        words = [phase, n.name, str(n.target), self.value, self.alone, self.layout, layout_text(n.meta.get("val")), self.real, self.made]
        return " ".join("".join(w.split()) for w in [*words, ",".join(self.inputs) or "-"])


def same_error(one: Exception, other: Exception) -> bool:
    """Sizes and generated names aside: a part of a graph can fail for reasons of its own."""

    def first_line(error: Exception) -> str:
        return re.sub(r"\d+", "N", str(error).strip().partition("\n")[0])

    return type(one) is type(other) and first_line(one) == first_line(other)


def writes(node: fx.Node) -> bool:
    return isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable


class Watched:
    """A graph on its way to Inductor."""

    def __init__(self, gm: fx.GraphModule, fakes: Sequence[Any], inner: Callable[..., Any], kwargs: dict[str, Any], budget: Budget) -> None:
        """inner(gm, fakes, **kwargs) compiles gm."""
        self.gm, self.fakes, self.kwargs, self.budget = twin_of(gm), list(fakes), kwargs, budget
        self.inner, self.how = inner, "not called"
        self.phase = "bw" if kwargs.get("is_backward") else "fw"
        self.lines: list[Line] = []
        self.right: list[Any] = []  # what ATen's kernels return …
        self.theirs: list[Any] = []  # … what they leave in the inputs …
        self.seen: dict[str, Any] = {}  # … and the values in between
        self.wrong: set[tuple[str, int]] = set()  # results of the code
        self.refused = ""  # why a graph with more outputs did not run
        for node in self.gm.graph.nodes:
            if node.op != "call_function" or node.target is operator.getitem or not probes.tensors_in(node.meta.get("val")):
                continue
            reads = [source(n) for n in node.all_input_nodes]
            inputs = list(dict.fromkeys(n.name for n in reads if n.op == "call_function"))
            self.lines.append(Line(node, [n.name for n in probes.results_of(node)], inputs=inputs))

    def text(self) -> str:
        head = f"{self.phase}: {self.how}" + (f"; some did not run: {self.refused}" if self.refused else "")
        return head + "\n" + "".join(line.text(self.phase) + "\n" for line in self.lines)

    # ---- compiling again ----

    def compile(self, gm: fx.GraphModule) -> Callable[[list[Any]], Any]:
        from torch._dynamo.utils import detect_fake_mode
        from torch._guards import TracingContext, tracing
        from torch._inductor.virtualized import V

        fake_mode, started = detect_fake_mode(self.fakes), time.monotonic()
        try:
            with ExitStack() as stack:
                stack.enter_context(torch.no_grad())
                stack.enter_context(tracing(TracingContext(fake_mode)))
                stack.enter_context(V.set_fake_mode(fake_mode))
                return self.inner(gm, self.fakes, **self.kwargs)
        finally:
            self.budget.left_s -= time.monotonic() - started

    def run(self, names: list[str], inputs: Sequence[Any]) -> tuple[list[Any], list[Any]] | None:
        """What the graph returns with these outputs more, and its inputs afterwards. None: it does not compile so, or there is no time."""
        if self.budget.left_s < 0:
            self.refused = "no time was left"
            return None
        try:
            code, mine = self.compile(with_outputs(self.gm, names)), copies_of(inputs)
            return list(code(list(mine))), mine
        except Exception as error:  # noqa: BLE001 - another graph may fail in another way; then this one says nothing
            self.refused = f"{type(error).__name__}: {error}".partition("\n")[0]
            return None

    # ---- comparing ----

    def watch(self, code: Callable[[list[Any]], Any], inputs: list[Any]) -> Any:
        """The code's first call."""
        try:
            with torch.no_grad():
                self.compare(code, copies_of(inputs))
        except Exception as error:  # noqa: BLE001 - the program's own run says what there is to say
            self.how = f"not compared: {type(error).__name__}: {error}".partition("\n")[0]
        return code(inputs)

    def compare(self, code: Callable[[list[Any]], Any], inputs: list[Any]) -> None:
        """The code's results against ATen's; if one is wrong, the values in between."""
        aten, self.theirs, mine = OnATen(self.gm), copies_of(inputs), copies_of(inputs)
        self.right = list(aten.run(*self.theirs))
        self.seen = aten.seen
        made = list(code(list(mine)))
        names = [n.name if isinstance(n, fx.Node) else "" for n in flat_outputs(self.gm.graph)]
        returned = {name: value for name, value in zip(names, made, strict=True) if isinstance(value, Tensor)}
        self.wrong = self.wrong_results(made, mine)
        for line in self.lines:
            line.layout, line.real = aten.layouts[line.node.name]
            line.made = layout_text([returned[r] for r in line.results if r in returned])
            self.judge(line, returned)
            if writes(line.node) and isinstance(line.node.args[0], fx.Node) and line.node.args[0].op == "placeholder":
                k = [n for n in self.gm.graph.nodes if n.op == "placeholder"].index(line.node.args[0])
                line.value = "differs" if ("input", k) in self.wrong else "equal"
        self.how = "wrong" if self.wrong else "right"
        if self.wrong and not self.together(inputs):
            self.one_by_one(inputs)

    def wrong_results(self, outs: list[Any], inputs: list[Any]) -> set[tuple[str, int]]:
        pairs = [("output", k, a, b) for k, (a, b) in enumerate(zip(outs, self.right, strict=False))]
        pairs += [("input", k, a, b) for k, (a, b) in enumerate(zip(inputs, self.theirs, strict=True))]
        return {(role, k) for role, k, a, b in pairs if not agree(a, b)}

    def judge(self, line: Line, made: dict[str, Any]) -> None:
        here = [agree(made[r], self.seen[r]) for r in line.results if r in made and r in self.seen]
        if here:
            line.value = "equal" if all(here) else "differs"

    def candidates(self) -> list[Line]:
        return [line for line in self.lines if line.results and not writes(line.node) and line.value == "not-materialised"]

    def together(self, inputs: list[Any]) -> bool:
        """Every value as an output. False: that makes the wrong results right."""
        lines = self.candidates()
        names = [r for line in lines for r in line.results]
        ran = self.run(names, inputs) if names else None
        if not ran or not self.wrong & self.wrong_results(*ran):
            return not names
        self.how = "wrong, also with every value as an output"
        for line in lines:
            self.judge(line, dict(zip(names, ran[0][len(self.right) :], strict=True)))
        return True

    def one_by_one(self, inputs: list[Any]) -> None:
        self.how = "wrong; right with every value as an output, so one at a time"
        for line in self.candidates()[:MAX_ALONE]:
            ran = self.run(line.results, inputs)
            if not ran:
                continue
            line.alone = "keeps" if self.wrong & self.wrong_results(*ran) else "cures"
            if line.alone == "keeps":
                self.judge(line, dict(zip(line.results, ran[0][len(self.right) :], strict=True)))

    def raised(self, error: Exception) -> None:
        """The first node up to which the graph does not compile, either."""
        self.how = f"{type(error).__name__} while compiling"
        for line in self.lines:
            if not line.results or writes(line.node) or self.budget.left_s < 0:
                continue
            try:
                self.compile(with_outputs(self.gm, line.results, alone=True))
                line.value = "compiles"
            except Exception as other:  # noqa: BLE001 - whatever it raises is compared
                if same_error(other, error):
                    line.value = "raises"
                    return


class Values:
    """All graphs of a program."""

    def __init__(self) -> None:
        self.graphs: list[Watched] = []
        self.budget = Budget()
        self.passes: Callable[..., Any] | None = None  # over the joint graph …
        self.before: fx.GraphModule | None = None  # … which they have changed since
        self.more: tuple[Any, ...] = ()  # what they are given beside the graph

    def before_passes(self, passes: Callable[..., Any]) -> Callable[..., Any]:
        """In place of joint_graph_passes."""
        self.passes = passes

        def run(gm: fx.GraphModule, *more: Any) -> Any:
            self.before, self.more = twin_of(gm), more
            return passes(gm, *more)

        return run

    def from_before(self, inner: Callable[..., Any]) -> Callable[..., Any]:
        passes, more = self.passes, self.more

        def compile_graph(gm: fx.GraphModule, fakes: Sequence[Any], **kwargs: Any) -> Any:
            return inner(passes(gm, *more) if passes else gm, fakes, **kwargs)

        return compile_graph

    def compile(self, gm: fx.GraphModule, fakes: Sequence[Any], inner: Callable[..., Any], kwargs: dict[str, Any]) -> Any:
        watched = Watched(gm, fakes, inner, kwargs, self.budget)
        if self.before and kwargs.get("is_inference"):
            watched = Watched(self.before, fakes, self.from_before(inner), kwargs, self.budget)
        self.before = None
        self.graphs.append(watched)
        try:
            compiled = inner(gm, fakes, **kwargs)
        except Exception as error:
            watched.raised(error)
            raise
        code = compiled.current_callable
        first = True

        def call(inputs: list[Any]) -> Any:
            nonlocal first
            watching, first = first, False
            return watched.watch(code, inputs) if watching else code(inputs)

        compiled.current_callable = call
        return compiled

    def artifact(self) -> tuple[str, str]:
        return "values", "".join(watched.text() for watched in sorted(self.graphs, key=lambda w: w.phase == "bw"))
