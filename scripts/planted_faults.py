"""Faults of PyTorch's compiler that are known because we planted them: options that Inductor has for that, and patches of a process.

scripts/planted starts Python with PYTHONPATH naming a folder whose sitecustomize.py calls install() with the name of a fault. A patch is
applied at the end of the import of the module that it changes, before anybody else can take a name out of it. The installed PyTorch is not
touched. A patch that does not fit this version of PyTorch raises; `python planted_faults.py NAME` imports everything and says so.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

INDUCTOR, DECOMPOSED = "inductor", "aot_eager_decomp_partition"
LOWERING, DECOMPOSITION = "torch._inductor.lowering", "torch._inductor.decomposition"
JOINT, POST = "torch._inductor.fx_passes.joint_graph", "torch._inductor.fx_passes.post_grad"
STEP = {LOWERING: "probe.off=lowerings", JOINT: "probe.off=joint_graph_passes", POST: "probe.off=post_grad_passes", DECOMPOSITION: ""}
Patch = Callable[[Any], None]


@dataclass(frozen=True)
class Fault:
    name: str
    like: str  # which real bug it resembles
    ops: str  # a campaign's --ops: the operator that is broken, those that surround it are added
    broken: tuple[str, ...]  # what blame has to name: operators without namespace and overload, passes, options
    stage: str = INDUCTOR  # the first that goes wrong
    step: str = ""  # the probe that switches off the part of that stage where the fault is
    option: str = ""  # of the target
    module: str = ""  # that the patch changes
    patch: Patch | None = None


FAULTS: dict[str, Fault] = {}
AROUND = "add.Tensor,mul.Tensor,mul.Scalar,neg,exp,clone,sum,sum.dim_IntList,mean,view,permute,unsqueeze"


def planted(module: str, ops: str, *broken: str, stage: str = INDUCTOR) -> Callable[[Patch], Patch]:
    """The function's name is the fault's, its text is `like`."""

    def register(patch: Patch) -> Patch:
        name = patch.__name__
        FAULTS[name] = Fault(name, " ".join((patch.__doc__ or "").split()), ops, broken, stage, STEP[module], "", module, patch)
        return patch

    return register


for _op in ("relu", "log1p"):
    _option = f"cpp.inject_{_op}_bug_TESTING_ONLY=accuracy"
    _like = f"Inductor's own injected bug: its C++ code of {_op} is x + 1"
    FAULTS[f"{_op}_option"] = Fault(f"{_op}_option", _like, _op, (_op, _option), INDUCTOR, STEP[LOWERING], _option)


# ---- lowerings -------------------------------------------------------------------------------------------------


def rewrap(lowering: Any, name: str, change: Callable[..., Any]) -> None:
    """The lowering NAME, "aten.amax.default", becomes change(the old one, arguments...)."""
    import torch

    op: Any = torch.ops
    for part in name.split("."):
        op = getattr(op, part)
    old = lowering.lowerings[op]
    lowering.lowerings[op] = wraps(old)(lambda *args, **kwargs: change(old, *args, **kwargs))


def by_name(lowering: Any, name: str) -> Any:
    import torch

    packet, overload = name.split(".")
    return lowering.lowerings[getattr(getattr(torch.ops.aten, packet), overload)]


@planted(LOWERING, "amax", "amax")
def amax_is_amin(lowering: Any) -> None:
    """The wrong row of a table: the largest element is computed by the reduction for the smallest."""
    other = by_name(lowering, "amin.default")
    rewrap(lowering, "aten.amax.default", lambda _old, *args, **kwargs: other(*args, **kwargs))


@planted(LOWERING, "sin", "sin", "cos")
def sin_is_cos(lowering: Any) -> None:
    """The wrong name of a library function behind one operator. The derivative of cos has a sin, too: both are named."""
    other = by_name(lowering, "cos.default")
    rewrap(lowering, "aten.sin.default", lambda _old, *args, **kwargs: other(*args, **kwargs))


@planted(LOWERING, "flip", "flip", "rev")
def flip_keeps(lowering: Any) -> None:
    """A loop over dimensions that never runs: the index arithmetic of a reversal is left out."""
    rewrap(lowering, "prims.rev.default", lambda old, x, dims: old(x, []))


@planted(LOWERING, "index_put,index_put_,index.Tensor,embedding", "index_put", "index_put_", "_unsafe_index_put")
def index_put_overwrites(lowering: Any) -> None:
    """An atomic addition that became a store: of several values for one cell the last one stays."""
    old = lowering.index_put_impl_

    @wraps(old)
    def overwrite(self: Any, indices: Any, values: Any, accumulate: bool, *args: Any, **kwargs: Any) -> Any:
        return old(self, indices, values, False, *args, **kwargs)

    lowering.index_put_impl_ = overwrite


@planted(LOWERING, "cumsum", "cumsum")
def cumsum_is_input(lowering: Any) -> None:
    """A scan that is split and never combined: each element is its own prefix."""

    def keep(old: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        total = old(x, *args, **kwargs)
        return lowering.to_dtype(x, total.get_dtype(), copy=True)

    rewrap(lowering, "aten.cumsum.default", keep)


@planted(LOWERING, "constant_pad_nd", "constant_pad_nd")
def pad_value(lowering: Any) -> None:
    """A masked load whose other value is wrong: what is padded is one too large."""
    rewrap(lowering, "aten.constant_pad_nd.default", lambda old, x, padding, value=0: old(x, padding, value + 1))


@planted(LOWERING, "embedding", "embedding")
def embedding_row(lowering: Any) -> None:
    """An index that is hoisted out of a loop: every row that is looked up is row 0."""
    times = by_name(lowering, "mul.Tensor")
    rewrap(lowering, "aten.embedding.default", lambda old, weight, indices, *args, **kw: old(weight, times(indices, 0), *args, **kw))


@planted(LOWERING, "gather", "gather")
def gather_before(lowering: Any) -> None:
    """Off by one in indirect addressing: the element before the one that was asked for."""
    minus, clamp = by_name(lowering, "sub.Tensor"), by_name(lowering, "clamp_min.default")

    def before(old: Any, x: Any, dim: int, index: Any, *args: Any, **kwargs: Any) -> Any:
        return old(x, dim, clamp(minus(index, 1), 0), *args, **kwargs)

    rewrap(lowering, "aten.gather.default", before)


@planted(LOWERING, "var.correction,var_mean.correction", "var", "var_mean")
def var_correction(lowering: Any) -> None:
    """An argument that a rewrite of a reduction forgets: the divisor is n, whatever the correction."""
    old = lowering.var_mean_helper_
    lowering.var_mean_helper_ = wraps(old)(lambda x, **kwargs: old(x, **{**kwargs, "correction": 0}))


@planted(LOWERING, "expand", "expand")
def expand_first_row(lowering: Any) -> None:
    """Stride 0 in one dimension too many: the first row is repeated in place of all."""

    def first_row(old: Any, x: Any, sizes: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(x, lowering.TensorBox):
            long = [d for d, n in enumerate(x.get_size()) if n != 1 and n != 0]
            x = lowering.slice_(x, long[0], 0, 1) if long else x
        return old(x, sizes, *args, **kwargs)

    rewrap(lowering, "aten.expand.default", first_row)


# ---- decompositions --------------------------------------------------------------------------------------------


def replace(module: Any, packet: str, how: Callable[..., Any]) -> None:
    import torch

    op = getattr(torch.ops.aten, packet).default
    if op not in module.decompositions:
        raise KeyError(f"{op} is not decomposed")
    module.decompositions[op] = how


@planted(DECOMPOSITION, "tanh", "tanh", "tanh_backward", stage=DECOMPOSED)
def tanh_backward_linear(module: Any) -> None:
    """A derivative that is simplified too far: 1 - y instead of 1 - y * y."""
    replace(module, "tanh_backward", lambda grad, y: grad * (1 - y))


@planted(DECOMPOSITION, "sigmoid", "sigmoid", "sigmoid_backward", stage=DECOMPOSED)
def sigmoid_backward_half(module: Any) -> None:
    """A factor that is lost in a derivative: y instead of y * (1 - y)."""
    replace(module, "sigmoid_backward", lambda grad, y: grad * y)


# ---- passes ----------------------------------------------------------------------------------------------------


@planted(JOINT, "sin,view", "constant_fold_uniform_value", "joint_graph_constant_folding=0", "mul")
def joint_drops_mul(module: Any) -> None:
    """A no-op test that accepts too much: multiplying by any number is taken for multiplying by one."""
    import torch

    old = module.constant_fold_uniform_value

    @wraps(old)
    def fold(gm: Any) -> Any:
        for node in gm.graph.find_nodes(op="call_function", target=torch.ops.aten.mul.Tensor):
            x, factor = node.args
            if isinstance(x, torch.fx.Node) and isinstance(factor, (int, float)) and x.meta["val"].dtype == node.meta["val"].dtype:
                node.replace_all_uses_with(x)
                gm.graph.erase_node(node)
        return old(gm)

    module.constant_fold_uniform_value = fold


@planted(POST, "add_.Tensor,mul_.Scalar,copy_,zero_,neg", "remove_assert_ops", "clone", "copy_")
def post_drops_clone(module: Any) -> None:
    """A copy that is removed although its source is overwritten later: x.clone() is x itself, with what is written to x afterwards."""
    import torch

    old = module.remove_assert_ops
    aten = torch.ops.aten

    @wraps(old)
    def remove(graph: Any) -> Any:
        written = {node.args[0] for node in graph.find_nodes(op="call_function", target=aten.copy_.default)}
        for node in graph.find_nodes(op="call_function", target=aten.clone.default):
            if node.args[0] in written and node.args[0].meta["val"].stride() == node.meta["val"].stride():
                node.replace_all_uses_with(node.args[0])
                graph.erase_node(node)
        return old(graph)

    module.remove_assert_ops = remove


# ---- applying one ----------------------------------------------------------------------------------------------


class PatchedLoader(Loader):
    def __init__(self, real: Loader, patch: Patch) -> None:
        self.real, self.patch = real, patch

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.real.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self.real.exec_module(module)
        self.patch(module)

    def __getattr__(self, name: str) -> Any:  # get_source and others, which tracebacks and Inductor ask for
        return getattr(self.real, name)


class Finder(MetaPathFinder):
    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        self.done = False

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != self.fault.module:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None and self.fault.patch is not None:
            spec.loader = PatchedLoader(spec.loader, self.apply)
        return spec

    def apply(self, module: ModuleType) -> None:
        if self.fault.patch is None:
            raise AssertionError(f"{self.fault.name} is no patch")
        self.fault.patch(module)
        self.done = True


def install(name: str) -> Finder:
    finder = Finder(FAULTS[name])
    sys.meta_path.insert(0, finder)
    return finder


def main(name: str) -> str:
    """In a process where sitecustomize.py has installed it: does it fit? Why not, or ""."""
    finder = next((f for f in sys.meta_path if type(f).__name__ == "Finder" and getattr(f, "fault", FAULTS[name]).name == name), None)
    if finder is None:
        return f"{name} is not installed in this process"
    try:
        importlib.import_module("torch._inductor.compile_fx")
        importlib.import_module(FAULTS[name].module)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "" if getattr(finder, "done", False) else f"{FAULTS[name].module} was imported without the patch"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]) or 0)
