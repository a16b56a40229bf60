"""Probes: what blame asks of PyTorch beside the program's results. Options of a target's name that begin with `probe.`:

    keep=1                 the graphs and the generated code, and one line per operator
    clone=fw|bw:OP         the results of OP (or of the one node %NODE) are copied; whoever reads them reads the copy
    fallback=OP            ATen's kernel runs OP
    off=SUBSYSTEM          PyTorch's own bisector: no application of that subsystem
    first=SUBSYSTEM:N      the first N only
    excuse=1               would PyTorch's own comparisons say that the results are right?
    values=1               a line per node of Inductor's graphs: is its value right? (values.py)

clone, fallback and off take several, separated by commas. Answers are artifacts: (name, text). A probe that changes something says in the
artifact `probe` in how many places; 0 is an answer too.

Graphs are changed at one moment: when AOTAutograd hands them to the compiler, after partitioning and joint-graph passes. Measured with
aten.clone on the founding bug (2.11.0): there a copy after slice_scatter, or after the expand before it, cures. In
post_grad_custom_pre_pass and post_grad_custom_post_pass it does not: Inductor has recorded by then which strides each result must have.
The copy is an operator of ours, not aten.clone, because remove_noop_ops takes a clone away that keeps the strides, and the clone that is
left is fused into its reader: nothing is materialised. An unknown operator with the tag flexible_layout is called with the tensor as it is
in memory, whatever strides were predicted. Its result has the predicted strides where these are dense (AOTAutograd may rebuild views of it
by them), otherwise it is contiguous; what was predicted of later nodes is then computed again.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import wraps
from itertools import zip_longest
from typing import Any
from unittest import mock

import torch
from torch import Tensor, fx

PREFIX = "probe."
MAX_GRAPHS = 8  # of each kind that are kept: calls of other sizes are compiled again
# dtypes: abbreviations; written by tests/unit/dtype_tables.py
ABBREVIATIONS = {
    "bool": "b8", "uint8": "u8", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint16": "u16",
    "uint32": "u32", "uint64": "u64", "float8_e4m3fn": "f8_e4m3fn", "float8_e5m2": "f8_e5m2", "float16": "f16",
    "bfloat16": "bf16", "float32": "f32", "float64": "f64",
}
# dtypes end
Artifact = tuple[str, str]


class ProbeError(Exception):
    """The option's value means nothing to this PyTorch."""


# ---- options -------------------------------------------------------------------------------------------------------


def operator_named(text: str, option: str) -> Any:
    """aten.slice_scatter.default, as graphs print it."""
    found: Any = torch.ops
    for part in text.split("."):
        found = getattr(found, part, None) if re.fullmatch(r"\w+", part) else None
    if not isinstance(found, torch._ops.OpOverload):
        raise ProbeError(f"option '{option}': '{text}' is no operator of PyTorch {torch.__version__} (aten.NAME.OVERLOAD is the form)")
    return found


def subsystems() -> list[str]:
    from torch._inductor.compiler_bisector import BACKENDS, BisectSubsystem

    return [s.name for known in BACKENDS.values() for s in known if isinstance(s, BisectSubsystem)]


def subsystem_named(text: str, option: str) -> str:
    known = subsystems()
    if text not in known:
        why = f"the bisector of PyTorch {torch.__version__} knows no subsystem '{text}'"
        raise ProbeError(f"option '{option}': {why}; known: {', '.join(known)}")
    return text


@dataclass
class Place:
    """Where copies are made: results of an operator, or of one node."""

    phase: str  # fw, bw
    what: str
    count: int = 0

    def holds(self, phase: str, node: fx.Node) -> bool:
        return phase == self.phase and self.what in (str(node.target), "%" + node.name)


def place_of(text: str) -> Place:
    phase, _, what = text.partition(":")
    if phase not in ("fw", "bw") or not what:
        raise ProbeError(f"option 'probe.clone': '{text}' is not fw:OP, bw:OP, fw:%NODE or bw:%NODE")
    if not what.startswith("%"):
        operator_named(what, "probe.clone")
    return Place(phase, what)


@dataclass
class Subsystem:
    """Applications that the bisector is asked for, and the first `on` of them that it allows."""

    name: str
    on: int = 0
    label: str = ""
    asked: int = 0
    last: str = "none was on"

    def allows(self, debug_info: Callable[[], str] | None) -> bool:
        self.asked += 1
        if self.asked > self.on:
            return False
        self.last = "the last that was on: " + (debug_info().partition("\n")[0] if debug_info else "(nameless)")
        return True


def first_of(text: str) -> Subsystem:
    name, _, on = text.partition(":")
    if not on.isdecimal():
        raise ProbeError(f"option 'probe.first': '{text}' is not SUBSYSTEM:N")
    return Subsystem(subsystem_named(name, "probe.first"), int(on), f"first {text}")


def places(n: int) -> str:
    return f"{n} place{'' if n == 1 else 's'}"


# ---- layouts -------------------------------------------------------------------------------------------------------


def short_dtype(dtype: torch.dtype) -> str:
    name = str(dtype).removeprefix("torch.")
    return ABBREVIATIONS.get(name, name)


def describe_value(val: Any) -> str:
    """f32[4,13,33][33,0,1]"""
    if isinstance(val, Tensor):
        size, stride = (",".join(map(str, numbers)) for numbers in (val.shape, val.stride()))
        return f"{short_dtype(val.dtype)}[{size}][{stride}]"
    if isinstance(val, (tuple, list)):
        return f"({', '.join(map(describe_value, val))})"
    return str(val)


def number(n: Any) -> int | None:
    """A size or stride; of a symbol its value in this program, without a guard. None: only data can tell."""
    return n if isinstance(n, int) else getattr(getattr(n, "node", None), "hint", None)


def dense_order(val: Tensor) -> list[int] | None:
    """Dimensions from the slowest to the fastest if every cell is reached once and there are no gaps."""
    numbers = [(number(s), number(n)) for s, n in zip(val.stride(), val.shape, strict=True)]
    if any(s is None or n is None for s, n in numbers):
        return None
    order = sorted(range(val.dim()), key=lambda d: -numbers[d][0])  # type: ignore[operator]
    reach = 1
    for d in sorted((d for d in order if numbers[d][1] != 1), key=lambda d: numbers[d][0]):  # type: ignore[return-value, arg-type]
        if numbers[d][0] != reach:
            return None
        reach *= numbers[d][1]  # type: ignore[operator]
    return order


def order_of(val: Tensor) -> list[int]:
    return dense_order(val) or list(range(val.dim()))


def empty_in_order(x: Tensor, order: Sequence[int]) -> Tensor:
    inverse = sorted(range(len(order)), key=lambda d: order[d])
    return torch.empty_like(x.permute(*order), memory_format=torch.contiguous_format).permute(*inverse) if order else torch.empty_like(x)


def copy_in_order(x: Tensor, order: Sequence[int]) -> Tensor:
    return empty_in_order(x, order).copy_(x)


def overlaps(t: Tensor) -> bool:
    """Some cell is, or may be, reached by two indices (exact for nested strides, which is what operators make)."""
    if t.numel() == 0:
        return False
    reach = 0
    for stride, size in sorted((s, n) for n, s in zip(t.shape, t.stride(), strict=True) if n > 1):
        if stride <= reach:
            return True
        reach += stride * (size - 1)
    return False


def tensors_in(val: Any) -> list[Tensor]:
    return [val] if isinstance(val, Tensor) else [t for v in val for t in tensors_in(v)] if isinstance(val, (tuple, list)) else []


# ---- operators of ours ---------------------------------------------------------------------------------------------

library: torch.library.Library | None = None


def define(schema: str, function: Callable[..., Any]) -> Any:
    """torch.ops.scatterproof.NAME.default; of fakes, function predicts."""
    global library
    library = library or torch.library.Library("scatterproof", "DEF")
    name = schema.partition("(")[0]
    if not hasattr(torch.ops.scatterproof, name):
        library.define(schema, tags=(torch.Tag.flexible_layout,))
        library.impl(name, function, "CompositeExplicitAutograd")
        torch.library.register_fake("scatterproof::" + name, function, lib=library)
    return getattr(torch.ops.scatterproof, name).default


def copying() -> Any:
    return define("copy(Tensor x, int[] order) -> Tensor", copy_in_order)


def numbers_of(node: fx.Node) -> dict[str, str]:
    """Graphs have numbers where a schema says Tensor: x + 1 is aten.add.Tensor(x, 1). Only ATen's own operators take that."""
    found = {}
    for given, param in zip(node.args, node.target._schema.arguments, strict=False):  # type: ignore[union-attr]
        given = given.meta.get("val") if isinstance(given, fx.Node) else given
        if str(param.type) == "Tensor" and isinstance(given, (int, float, torch.SymInt)):
            found[param.name] = "SymInt" if isinstance(given, torch.SymInt) else "Scalar"
    return found


def by_aten(op: Any, numbers: dict[str, str]) -> Any:
    """An operator with op's schema and one argument more, the order of dimensions of each result: op's own kernel, then a copy."""
    params, returns = str(op._schema).partition("(")[2].rpartition(") -> ")[::2]
    params, returns = (re.sub(r"Tensor\([^)]*\)", "Tensor", text) for text in (params, returns))
    for name, kind in numbers.items():
        params = re.sub(rf"\bTensor {name}\b", f"{kind} {name}", params)
    star = "" if re.search(r"(^|, )\*(,|$)", params) else "*, "

    def run(*args: Any, orders: str, **kwargs: Any) -> Any:
        each = iter(orders.split(";"))

        def own(val: Any) -> Any:
            if isinstance(val, Tensor):
                return copy_in_order(val, [int(d) for d in next(each).split(",") if d])
            return type(val)(map(own, val)) if isinstance(val, (tuple, list)) else val

        return own(op(*args, **kwargs))

    name = "_".join(["run", *re.findall(r"\w+", str(op)), *numbers, *numbers.values()])
    return define(f"{name}({params}{', ' if params else ''}{star}str orders) -> {returns}", run)


# ---- graphs --------------------------------------------------------------------------------------------------------


def predict(node: fx.Node, mode: Any) -> None:
    """Runs the operator on what is predicted of its arguments."""

    def predicted(n: fx.Node) -> Any:
        return n.meta["val"]

    with mode:
        node.meta["val"] = node.target(*fx.map_arg(node.args, predicted), **fx.map_arg(node.kwargs, predicted))  # type: ignore[operator]


def refresh(graph: fx.Graph, changed: set[fx.Node]) -> None:
    """Predicts again what hangs on changed predictions."""
    mode = tensors_in(next(iter(changed)).meta["val"])[0].fake_mode  # type: ignore[attr-defined]
    for node in graph.nodes:
        if node.op != "call_function" or node in changed or not changed.intersection(node.all_input_nodes):
            continue
        if "val" not in node.meta or "unbacked_bindings" in node.meta:
            continue
        before = describe_value(node.meta["val"])
        predict(node, mode)
        if describe_value(node.meta["val"]) != before:
            changed.add(node)


def results_of(node: fx.Node) -> list[fx.Node]:
    """The nodes that are tensors: itself, or what is taken out of its tuple."""
    if isinstance(node.meta.get("val"), Tensor):
        return [node]
    return [u for u in node.users if u.target is operator.getitem and isinstance(u.meta.get("val"), Tensor)]


def is_view(node: fx.Node) -> bool:
    if node.target is operator.getitem:
        return is_view(node.args[0])  # type: ignore[arg-type]
    return isinstance(node.target, torch._ops.OpOverload) and any(r.alias_info for r in node.target._schema.returns)


def is_output_view(node: fx.Node) -> bool:
    """Of a forward graph: the output, or a view that is returned. AOTAutograd makes a returned view again, from its base, with the sizes,
    strides and offset of what the graph returns, so it must stay a view of that base."""
    return node.op == "output" or (is_view(node) and any(map(is_output_view, node.users)))


def copy_results(graph: fx.Graph, node: fx.Node, phase: str) -> bool:
    """False: nobody reads them, or what it returns is what it has written."""
    if isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable:
        return False
    copied = False
    for n in results_of(node):
        readers = [u for u in n.users if not (phase == "fw" and is_view(n) and is_output_view(u))]
        if not readers:
            continue
        val, op = n.meta["val"], copying()
        order = order_of(val)
        with graph.inserting_after(n):
            copy = graph.call_function(op, (n, order))
        predict(copy, val.fake_mode)
        for u in readers:
            u.replace_input_with(n, copy)
        refresh(graph, {copy})
        copied = True
    return copied


def run_by_aten(graph: fx.Graph, node: fx.Node, phase: str) -> bool:
    """False: it writes into its arguments, or makes no tensor, or takes none (such operators have no kernel to choose by), or is a view
    that is returned."""
    tensors = tensors_in(node.meta.get("val"))
    takes = any(tensors_in(n.meta.get("val")) for n in node.all_input_nodes)
    if node.target._schema.is_mutable or not tensors or not takes:  # type: ignore[union-attr]
        return False
    if phase == "fw" and is_view(node) and any(map(is_output_view, [node, *results_of(node)])):
        return False
    kept = all(dense_order(t) is not None for t in tensors)
    node.target = by_aten(node.target, numbers_of(node))
    node.kwargs = {**node.kwargs, "orders": ";".join(",".join(map(str, order_of(t))) for t in tensors)}
    if not kept:
        predict(node, tensors[0].fake_mode)  # type: ignore[attr-defined]
        refresh(graph, {node})
    return True


# ---- the probes of one program -------------------------------------------------------------------------------------


@dataclass
class Probe:
    keep: bool = False
    excuse: bool = False
    values: Any = None  # scatterproof_values.Values
    clones: list[Place] = field(default_factory=list)
    fallbacks: dict[Any, int] = field(default_factory=dict)  # operator: places
    subsystems: list[Subsystem] = field(default_factory=list)
    kept: list[Artifact] = field(default_factory=list)
    operators: list[str] = field(default_factory=list)
    phase: str = "fw"  # of the graph that is being compiled

    def artifacts(self) -> list[Artifact]:
        lines = [f"clone {p.phase} {p.what}: {places(p.count)}" for p in self.clones]
        lines += [f"fallback {op}: {places(n)}" for op, n in self.fallbacks.items()]
        lines += [f"{s.label}: {s.asked} asked, {s.last}" if s.label else f"off {s.name}: {places(s.asked)}" for s in self.subsystems]
        out = list(self.kept)
        if self.keep:
            out.append(("operators", "".join(line + "\n" for line in self.operators)))
        if self.values:
            out.append(self.values.artifact())
        return out + ([("probe", "".join(line + "\n" for line in lines))] if lines else [])

    def keep_text(self, name: str, text: str) -> None:
        n = sum(re.sub(r" \d+$", "", known) == name for known, _ in self.kept)
        if self.keep and n < MAX_GRAPHS:
            self.kept.append((f"{name} {n + 1}" if n else name, text))

    def seen(self, phase: str, gm: fx.GraphModule) -> None:
        """A graph on its way to the compiler: changed as asked, and kept."""
        self.phase = phase
        for node in list(gm.graph.nodes):
            if node.op != "call_function":
                continue
            here = [p for p in self.clones if p.holds(phase, node)]
            if node.target in self.fallbacks:
                op = node.target
                self.fallbacks[op] += run_by_aten(gm.graph, node, phase)
            if here and copy_results(gm.graph, node, phase):
                for place in here:
                    place.count += 1
        gm.recompile()
        if self.keep:
            for node in gm.graph.nodes:
                if node.op == "call_function":
                    self.operators.append(f"{phase} {node.name} {node.target} {describe_value(node.meta.get('val'))}")
            text = gm.print_readable(print_output=False, include_stride=True, include_device=True)
            self.keep_text("backward graph" if phase == "bw" else "forward graph", text)

    def disabled(self, _backend: str, subsystem: str, debug_info: Callable[[], str] | None = None) -> bool:
        """In place of CompilerBisector.disable_subsystem, which is asked before each application."""
        asked = [s.allows(debug_info) for s in self.subsystems if s.name == subsystem]
        return not all(asked)

    # ---- where PyTorch calls us ----

    def _of_inductor(self, compile_fx: Callable[..., Any], inner: Callable[..., Any], table: Callable[[], Any]) -> Callable[..., Any]:
        def compile_graph(gm: fx.GraphModule, inputs: Any, **kwargs: Any) -> Any:
            self.seen("bw" if kwargs.get("is_backward") else "fw", gm)
            return self.values.compile(gm, inputs, inner, kwargs) if self.values else inner(gm, inputs, **kwargs)

        def compile_model(model: Any, inputs: Any, inner_compile: Any = compile_graph, config_patches: Any = None, **kwargs: Any) -> Any:
            if config_patches:  # it calls itself again without them
                config_patches = {**config_patches, "fx_graph_cache": False}
            elif self.fallbacks:
                kwargs["decompositions"] = {op: how for op, how in table().items() if op not in self.fallbacks}
            return compile_fx(model, inputs, inner_compile=inner_compile, config_patches=config_patches, **kwargs)

        return compile_model

    def _of_aot_eager(self, aot_autograd: Callable[..., Any]) -> Callable[..., Any]:
        def hook(phase: str, compiler: Callable[..., Any]) -> Callable[..., Any]:
            @wraps(compiler)
            def compile_graph(gm: fx.GraphModule, *args: Any, **kwargs: Any) -> Any:
                self.seen(phase, gm)
                return compiler(gm, *args, **kwargs)

            return compile_graph

        def backend(**kwargs: Any) -> Any:
            forward = kwargs["fw_compiler"]
            compilers = {
                "fw_compiler": hook("fw", forward),
                "bw_compiler": hook("bw", kwargs.get("bw_compiler") or forward),
                "inference_compiler": hook("fw", kwargs.get("inference_compiler") or forward),
            }
            return aot_autograd(**{**kwargs, **compilers})

        return backend

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Every compile in here is probed. Caches are off: one of an unprobed compile must not answer."""
        import torch._functorch.config as functorch_config
        from torch._dynamo.backends import debugging
        from torch._inductor import compile_fx, config, graph
        from torch._inductor.compiler_bisector import CompilerBisector

        def keep_code(code: str) -> None:
            self.keep_text("backward code" if self.phase == "bw" else "forward code", code)

        inductor = self._of_inductor(compile_fx.compile_fx, compile_fx.compile_fx_inner, compile_fx.select_decomp_table)
        with ExitStack() as stack:
            stack.enter_context(functorch_config.patch(enable_autograd_cache=False))
            stack.enter_context(config.patch(fx_graph_cache=False))
            stack.enter_context(mock.patch.object(compile_fx, "compile_fx", inductor))
            stack.enter_context(mock.patch.object(debugging, "aot_autograd", self._of_aot_eager(debugging.aot_autograd)))
            if self.keep:
                stack.enter_context(mock.patch.object(graph.GraphLowering, "save_output_code", keep_code))
            if self.values:
                passes = self.values.before_passes(compile_fx.joint_graph_passes)
                stack.enter_context(mock.patch.object(compile_fx, "joint_graph_passes", passes))
            if self.subsystems:
                stack.enter_context(mock.patch.object(CompilerBisector, "disable_subsystem", self.disabled))
            yield


def new_values() -> Any:
    import scatterproof_values  # values.py, which imports this module

    return scatterproof_values.Values()


def read_probe(options: dict[str, str]) -> Probe | None:
    """Takes the probes out of options; None: there are none."""
    texts = {name.removeprefix(PREFIX): options.pop(name) for name in list(options) if name.startswith(PREFIX)}
    if not texts:
        return None
    probe = Probe()
    for name, text in texts.items():
        option, each = PREFIX + name, text.split(",")
        if name in ("keep", "excuse", "values"):
            if text != "1":
                raise ProbeError(f"option '{option}' is 1, not '{text}'")
            setattr(probe, name, True if name != "values" else new_values())
        elif name == "clone":
            probe.clones = [place_of(t) for t in each]
        elif name == "fallback":
            probe.fallbacks = {operator_named(t, option): 0 for t in each}
        elif name == "off":
            probe.subsystems += [Subsystem(subsystem_named(t, option)) for t in each]
        elif name == "first":
            probe.subsystems.append(first_of(text))
        else:
            raise ProbeError(f"option '{option}' is unknown")
    return probe


# ---- excuses -------------------------------------------------------------------------------------------------------

Named = list[tuple[str, Any]]  # what a call left: "output 0", "x.grad", "input x"


def _as_people(res: Any, ref: Any) -> tuple[Any, Any]:
    """A gradient that one has as zeros and the other as None (torch.compile may) is compared as zeros."""
    if isinstance(res, Tensor) and ref is None:
        ref = torch.zeros_like(res)
    if isinstance(ref, Tensor) and res is None:
        res = torch.zeros_like(ref)
    return tuple(t.detach() if isinstance(t, Tensor) else t for t in (res, ref))  # type: ignore[return-value]


def assert_close_says(res: Named, ref: Named) -> str:
    for (name, a), (_, b) in zip(res, ref, strict=True):
        a, b = _as_people(a, b)
        try:
            torch.testing.assert_close(a, b, equal_nan=True)
        except AssertionError as error:
            return f"{name}: {str(error).partition(chr(10))[0]}"
    return "equal"


def same_says(res: Named, ref: Named, wide: Named) -> str:
    """wide: the same in f64, [] if that could not be computed."""
    from torch._dynamo.utils import same

    for (_, a), (_, b), w in zip_longest(res, ref, wide):
        a, b = _as_people(a, b)
        c = w[1].detach() if w and isinstance(w[1], Tensor) and isinstance(b, Tensor) and w[1].shape == b.shape else None
        if a is not None and not same(b, a, c, equal_nan=True, log_error=lambda *_: None):
            return "differs"
    return "equal"


def excuse(res: Named, ref: Named | str, wide: Named) -> Artifact:
    """ref: what eager made of the same call, or what it raised."""
    if isinstance(ref, str):
        return "excuse", f"assert_close: eager raises {ref}\nsame: differs\n"
    return "excuse", f"assert_close: {assert_close_says(res, ref)}\nsame: {same_says(res, ref, wide)}\n"
