"""The PyTorch worker of scatterproof: runs programs that it is sent and reports raw bytes and metas.

Talks over descriptor 3 in frames (proc.h); requests and answers are encoded as in torch.c and wire.c. One message is
one program with all its calls. What a program may do wrong (raise, fail to compile) is reported, what we do wrong is
reported as status HARNESS, a crash is the parent's to notice. The program's text is what a reproducer contains.
"""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import glob
import importlib
import linecache
import math
import os
import platform
import signal
import struct
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO

import scatterproof_probe as probes  # probe.py, which lies beside this file under that name: users import modules of their own
import torch
from scatterproof_toolchain import Toolchain  # toolchain.py, likewise
from torch import Tensor

MAGIC = 0x31465053
OK, RAISED, HARNESS = 0, 1, 5  # enum result_status
DEV_RUN, DEV_CPU, DEV_META = 0, 1, 2  # enum device
OUTPUT, GRADIENT, STORAGE = 0, 1, 2  # enum tensor_role
MAX_MESSAGE = 6000
MAX_RANK, MAX_NUMEL = 8, 1 << 26  # of what the parent takes
COLLECT_AFTER = 1000  # programs; a compiled one, which leaves cycles by the thousand, counts as 20
# dtypes: names; written by tests/unit/dtype_tables.py
DTYPES = {
    name: getattr(torch, name)
    for name in (
        "bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "float8_e4m3fn",
        "float8_e5m2", "float16", "bfloat16", "float32", "float64",
    )
}  # fmt: skip
# dtypes end
Watcher = Callable[[str], AbstractContextManager[Any]]
DTYPE_NAMES = {dtype: name for name, dtype in DTYPES.items()}


class HarnessError(Exception):
    """The request makes no sense, or we cannot report what came out."""


class OptionError(HarnessError):
    """The target's name asks for an option that this PyTorch does not have, or for a value that the option cannot have."""


class ProgramError(Exception):
    """The program raised, in its own code or in the compiler."""

    def __init__(self, error: BaseException, call: int, phase: str) -> None:
        super().__init__(str(error))
        self.error, self.call, self.phase = error, call, phase


# ---- bytes -----------------------------------------------------------------------------------------------------


class Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.pos = memoryview(data), 0

    def take(self, n: int) -> memoryview:
        if n < 0 or self.pos + n > len(self.data):
            raise HarnessError(f"request ends after {len(self.data)} bytes, {self.pos + n} needed")
        self.pos += n
        return self.data[self.pos - n : self.pos]

    def u8(self) -> int:
        return self.take(1)[0]

    def u32(self) -> int:
        return int.from_bytes(self.take(4), "little")

    def i64(self) -> int:
        return int.from_bytes(self.take(8), "little", signed=True)

    def text(self) -> str:
        return bytes(self.take(self.u32())).decode()

    def blob(self) -> memoryview:
        return self.take(self.i64())


class Writer:
    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def u8(self, v: int) -> None:
        self.parts.append(bytes((v,)))

    def u32(self, v: int) -> None:
        self.parts.append(v.to_bytes(4, "little"))

    def i64(self, *values: int) -> None:
        self.parts.append(struct.pack(f"<{len(values)}q", *values))

    def f64(self, v: float) -> None:
        self.parts.append(struct.pack("<d", v))

    def text(self, s: str) -> None:
        data = s.encode(errors="backslashreplace")
        self.u32(len(data))
        self.parts.append(data)

    def blob(self, data: bytes) -> None:
        self.i64(len(data))
        self.parts.append(data)


# ---- requests --------------------------------------------------------------------------------------------------


@dataclass
class Input:
    name: str
    symbol: bool
    to_f: bool
    to_cotangents: bool
    requires_grad: bool
    storage: int


@dataclass
class Meta:
    dtype: torch.dtype
    device: torch.device
    size: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int

    def nbytes(self) -> int:
        """Bytes of storage that a tensor of this layout reaches into."""
        if 0 in self.size:
            return 0
        last = self.offset + sum((n - 1) * s for n, s in zip(self.size, self.stride, strict=True))
        return (last + 1) * self.dtype.itemsize


@dataclass
class Call:
    values: list[Meta | int]  # per input; a symbol is an int
    storages: list[memoryview]


@dataclass
class Request:
    stage: str
    device: torch.device
    options: dict[str, str]
    source: str
    nstorages: int
    inputs: list[Input]
    backward: list[int]
    late: bool  # the backward of each call runs after the forward of the next one
    nouts: int
    calls: list[Call]


def read_meta(r: Reader, run_device: torch.device) -> Meta:
    dtype = DTYPES[r.text()]
    device = (run_device, torch.device("cpu"), torch.device("meta"))[r.u8()]
    rank = r.u8()
    size = struct.unpack(f"<{rank}q", r.take(8 * rank))
    stride = struct.unpack(f"<{rank}q", r.take(8 * rank))
    return Meta(dtype, device, size, stride, r.i64())


def read_request(data: bytes) -> Request:
    r = Reader(data)
    stage, device = r.text(), torch.device(r.text())
    options = {r.text(): r.text() for _ in range(r.u32())}
    source, nstorages = r.text(), r.u32()
    inputs = [Input(r.text(), bool(r.u8()), bool(r.u8()), bool(r.u8()), bool(r.u8()), r.u32()) for _ in range(r.u32())]
    backward = [r.u32() for _ in range(r.u32())]
    late, nouts = bool(r.u8()), r.u32()
    calls = []
    for _ in range(r.u32()):
        values = [r.i64() if i.symbol else read_meta(r, device) for i in inputs]
        calls.append(Call(values, [r.blob() for _ in range(nstorages)]))
    if r.pos != len(data):
        raise HarnessError(f"request has {len(data) - r.pos} bytes too many")
    return Request(stage, device, options, source, nstorages, inputs, backward, late, nouts, calls)


# ---- one call --------------------------------------------------------------------------------------------------


@dataclass
class Ran:
    """What one call left behind; holding the tensors keeps storage addresses from being used again."""

    storages: list[torch.UntypedStorage]
    args: list[Any]  # every input
    leaves: list[Tensor]
    outs: Sequence[Any]
    run_ms: float


def make_storages(req: Request, call: Call) -> list[torch.UntypedStorage]:
    """Fresh memory for every storage, with the bytes that were sent."""
    device: list[torch.device | None] = [None] * req.nstorages
    need = [0] * req.nstorages
    for inp, value in zip(req.inputs, call.values, strict=True):
        if isinstance(value, Meta):
            device[inp.storage] = value.device
            need[inp.storage] = max(need[inp.storage], value.nbytes())
    storages = []
    for data, dev, want in zip(call.storages, device, need, strict=True):
        if dev is not None and dev.type == "meta":
            storages.append(torch.empty(max(want, len(data)), dtype=torch.uint8, device=dev).untyped_storage())
            continue
        if len(data) < want:
            raise HarnessError(f"a storage of {len(data)} bytes where the inputs reach {want}")
        cells = torch.empty(len(data), dtype=torch.uint8)
        if len(data):
            ctypes.memmove(cells.data_ptr(), bytes(data), len(data))
        storages.append(cells.to(dev or req.device).untyped_storage())
    return storages


def make_inputs(req: Request, call: Call, storages: list[torch.UntypedStorage]) -> list[Any]:
    args: list[Any] = []
    for inp, value in zip(req.inputs, call.values, strict=True):
        if isinstance(value, int):
            args.append(value)
            continue
        t = torch.empty(0, dtype=value.dtype, device=value.device)
        t.set_(storages[inp.storage], value.offset, value.size, value.stride)
        args.append(t.requires_grad_() if inp.requires_grad else t)
    return args


def synchronize(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def run_forward(req: Request, index: int, fn: Callable[..., Any], watch: Watcher | None = None) -> Ran:
    storages = make_storages(req, req.calls[index])
    args = make_inputs(req, req.calls[index], storages)
    leaves = [a for a, i in zip(args, req.inputs, strict=True) if i.requires_grad]
    to_f = [a for a, i in zip(args, req.inputs, strict=True) if i.to_f]
    started = time.perf_counter()
    try:
        with watch("forward") if watch else nullcontext():
            outs = fn(*to_f)
        if not req.backward:
            synchronize(req.device)
    except Exception as error:
        raise ProgramError(error, index, "forward") from error
    run_ms = (time.perf_counter() - started) * 1e3
    if not isinstance(outs, (tuple, list)) or len(outs) != req.nouts:
        raise HarnessError(f"f returned {type(outs).__name__}, expected a tuple of {req.nouts}")
    return Ran(storages, args, leaves, outs, run_ms)


def run_backward(
    req: Request,
    index: int,
    ran: Ran,
    cotangents: Callable[..., Any],
    watch: Watcher | None = None,
    around: Callable[[], Any] = nullcontext,
) -> None:
    to_cotangents = [a for a, i in zip(ran.args, req.inputs, strict=True) if i.to_cotangents]
    phase = "cotangents"
    started = time.perf_counter()
    try:
        with torch.no_grad():
            grads = cotangents(*to_cotangents)
            if watch:
                grads = [g.contiguous() for g in grads]
        phase = "backward"
        with watch("backward") if watch else around():
            torch.autograd.backward([ran.outs[i] for i in req.backward], list(grads))
            for leaf in ran.leaves:
                if leaf.grad is not None and leaf.grad._is_zerotensor():  # of sgn: it has no memory that could be read
                    leaf.grad = leaf.grad.clone()
        synchronize(req.device)
    except Exception as error:
        raise ProgramError(error, index, phase) from error
    ran.run_ms += (time.perf_counter() - started) * 1e3


def run_call(
    req: Request,
    index: int,
    fn: Callable[..., Any],
    cotangents: Callable[..., Any] | None,
    watch: Watcher | None = None,
) -> Ran:
    """Forward, cotangents, backward of one call. A watcher sees those three only, and makes the cotangents dense."""
    ran = run_forward(req, index, fn, watch)
    if cotangents is not None:
        run_backward(req, index, ran, cotangents, watch)
    return ran


def run_calls(
    req: Request,
    fn: Callable[..., Any],
    cotangents: Callable[..., Any] | None,
    around: Callable[[], Any] = nullcontext,
) -> Iterator[tuple[int, Ran]]:
    """All calls, each when its backward has run, in a context of around()."""
    waiting: Ran | None = None
    for index in range(len(req.calls)):
        ran = run_forward(req, index, fn)
        if waiting and cotangents:
            run_backward(req, index - 1, waiting, cotangents, around=around)
            yield index - 1, waiting
        waiting = ran if req.late and cotangents else None
        if not waiting:
            if cotangents:
                run_backward(req, index, ran, cotangents, around=around)
            yield index, ran
    if waiting and cotangents:
        run_backward(req, len(req.calls) - 1, waiting, cotangents, around=around)
        yield len(req.calls) - 1, waiting


def logical_bytes(t: Tensor) -> bytes:
    t = t.detach().resolve_conj().resolve_neg().cpu().contiguous()
    return ctypes.string_at(t.data_ptr(), t.numel() * t.dtype.itemsize) if t.numel() else b""


def storage_bytes(s: torch.UntypedStorage, nbytes: int) -> bytes:
    """Cells of an input storage after the call: as many as were sent, even if something resized it."""
    if s.device.type == "meta" or nbytes == 0:
        return bytes(nbytes)
    host = s.cpu() if s.device.type != "cpu" else s
    have = min(nbytes, host.nbytes())
    return ctypes.string_at(host.data_ptr(), have).ljust(nbytes, b"\0")


class Report:
    """A call's results as they are sent. It keeps them, so that they can be looked at again when all calls have run."""

    def __init__(self, req: Request, index: int, ran: Ran) -> None:
        self.req, self.index, self.ran = req, index, ran
        self.ids = {s._cdata: i for i, s in enumerate(ran.storages)}
        self.addresses = {s.data_ptr(): i for i, s in enumerate(ran.storages) if s.nbytes() and s.device.type != "meta"}
        self.keep: list[torch.UntypedStorage] = []
        self.outs = [self.tensor(t) for t in ran.outs]
        self.grads = [self.tensor(leaf.grad) for leaf in ran.leaves] if req.backward else []
        self.cells = [storage_bytes(s, len(sent)) for s, sent in self.storages()]
        self.layouts = self.input_layouts() if len(req.calls) > 1 else []

    def storages(self) -> Iterator[tuple[torch.UntypedStorage, memoryview]]:
        return zip(self.ran.storages, self.req.calls[self.index].storages, strict=True)

    def input_layouts(self) -> list[str]:
        return [f"{layout(a)}{' requires_grad' * a.requires_grad}" if isinstance(a, Tensor) else "" for a in self.ran.args]

    def storage_id(self, t: Tensor) -> int:
        s = t.untyped_storage()
        self.keep.append(s)
        at = self.ids.get(s._cdata)
        on_memory = s.nbytes() > 0 and s.device.type != "meta"
        if at is None and on_memory:
            at = self.addresses.get(s.data_ptr())
        if at is None:
            at = len(self.ids)
        self.ids[s._cdata] = at
        if on_memory:
            self.addresses.setdefault(s.data_ptr(), at)
        return at

    def tensor(self, t: Any) -> bytes:
        w = Writer()
        if t is None:
            return b"\0"
        if not isinstance(t, Tensor) or t.layout != torch.strided or t.dtype not in DTYPE_NAMES:
            raise HarnessError(f"cannot report a {type(t).__name__} {getattr(t, 'dtype', '')}")
        kind = t.device.type
        if kind not in ("meta", "cpu", self.req.device.type):
            raise HarnessError(f"a result on device {t.device}")
        w.u8(1)
        w.u8(t.requires_grad)
        w.text(DTYPE_NAMES[t.dtype])
        w.u8(DEV_RUN if kind == self.req.device.type else DEV_META if kind == "meta" else DEV_CPU)
        w.u8(t.dim())
        w.i64(*t.size(), *t.stride(), t.storage_offset(), self.storage_id(t))
        w.blob(b"" if kind == "meta" else logical_bytes(t))
        return b"".join(w.parts)

    def write(self, w: Writer) -> None:
        for tensors in (self.outs, self.grads):
            w.u32(len(tensors))
            w.parts += tensors
        w.u32(len(self.cells))
        for cells in self.cells:
            w.blob(cells)
        w.f64(self.ran.run_ms)

    def changes(self) -> Iterator[bytes]:
        """What is no longer as it was sent, as result_change (result.h) has it."""
        results = [(OUTPUT, then, t) for then, t in zip(self.outs, self.ran.outs, strict=True)]
        results += [(GRADIENT, then, leaf.grad) for then, leaf in zip(self.grads, self.ran.leaves, strict=False)]
        for k, (role, then, t) in enumerate(results):
            what = ""
            try:
                now = self.tensor(t)
            except Exception as error:  # noqa: BLE001 - whatever was done to it
                if "CUDAGraphs that has been overwritten" in str(error):  # as documented: nobody reads a wrong number
                    continue
                what, now = f"cannot be read any more: {describe(error)}", b"\0"
            if now != then:
                yield self.change(role, k - len(self.outs) * (role == GRADIENT), what) + now
        layouts = self.input_layouts()
        for k, (s, sent) in enumerate(self.storages()):
            here = zip(self.req.inputs, self.layouts, layouts, strict=True)
            what = "; ".join(f"{i.name} was {a} and is {b}" for i, a, b in here if i.storage == k and not i.symbol and a != b)
            now = storage_bytes(s, len(sent))
            if what or now != self.cells[k]:
                w = Writer()
                w.blob(now)
                yield self.change(STORAGE, k, what) + b"".join(w.parts)

    def change(self, role: int, k: int, what: str) -> bytes:
        w = Writer()
        w.u32(self.index)
        w.u8(role)
        w.u32(k)
        w.text(what)
        return b"".join(w.parts)


# ---- fake against real -----------------------------------------------------------------------------------------


@dataclass
class Mismatch:
    op: str
    backward: bool
    rank: int  # 1: the fake overlaps itself, the real does not; 2: size or dtype; 3: strides or offset
    detail: str
    layouts: bytes = b""  # the fake one and the real one, as wire.h has them; not the tensors: their memory would stay in use


def layout(t: Tensor) -> str:
    return f"{DTYPE_NAMES.get(t.dtype, t.dtype)}{list(t.shape)}{list(t.stride())}+{t.storage_offset()}"


def compare_metas(op: str, backward: bool, fake: Any, real: Any) -> Iterator[Mismatch]:
    """Predicted against real results of one operator: sizes, dtype; if numel > 0 the offset and meaningful strides."""
    fakes, reals = tensors_of(fake), tensors_of(real)
    if len(fakes) != len(reals):
        yield Mismatch(op, backward, 2, f"fake {len(fakes)} results, real {len(reals)}")
        return
    for f, r in zip(fakes, reals, strict=True):
        if f.shape != r.shape or f.dtype != r.dtype:
            rank = 2
        elif r.numel() == 0:
            continue
        elif probes.overlaps(f) and not probes.overlaps(r):
            rank = 1
        elif f.storage_offset() != r.storage_offset() or any(
            a != b for a, b, n in zip(f.stride(), r.stride(), r.shape, strict=True) if n > 1
        ):
            rank = 3
        else:
            continue
        both = layout_bytes(f) + layout_bytes(r) if is_plain(f) and is_plain(r) else b""
        yield Mismatch(op, backward, rank, f"fake {layout(f)} real {layout(r)}", both)


def is_plain(t: Tensor) -> bool:
    """Of a dtype and a size that the parent takes, and its layout is numbers, no symbols."""
    numbers = (*t.shape, *t.stride(), t.storage_offset())
    return (
        t.dtype in DTYPE_NAMES
        and all(type(n) is int for n in numbers)
        and len(t.shape) <= MAX_RANK
        and math.prod(t.shape) <= MAX_NUMEL
    )


def layout_bytes(t: Tensor) -> bytes:
    w = Writer()
    w.text(DTYPE_NAMES[t.dtype])
    w.u8(DEV_META if t.device.type == "meta" else DEV_RUN)
    w.u8(t.dim())
    w.i64(*t.size(), *t.stride(), t.storage_offset())
    return b"".join(w.parts)


def tensors_of(tree: Any) -> list[Tensor]:
    if isinstance(tree, Tensor):
        return [tree]
    if isinstance(tree, (tuple, list)):
        return [t for x in tree for t in tensors_of(x)]
    return []


def map_tensors(fn: Callable[[Tensor], Any], tree: Any) -> Any:
    if isinstance(tree, Tensor):
        return fn(tree)
    if isinstance(tree, (tuple, list)):
        return type(tree)(map_tensors(fn, x) for x in tree)
    return tree


def fake_watcher(found: list[Mismatch]) -> Watcher:
    """Every operator that eager dispatches inside such a context is repeated on fakes of its real arguments."""
    from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
    from torch.utils._python_dispatch import TorchDispatchMode

    mode = FakeTensorMode(allow_non_fake_inputs=True)

    def fake(t: Tensor) -> Tensor:
        cells = t.untyped_storage().nbytes() // t.dtype.itemsize
        bare = torch.empty(cells, dtype=t.dtype, device="meta").as_strided(t.size(), t.stride(), t.storage_offset())
        return FakeTensor(mode, bare, t.device)

    class Watch(TorchDispatchMode):
        def __init__(self, phase: str) -> None:
            super().__init__()
            self.backward = phase == "backward"

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            predicted: Any = None
            refused: Exception | None = None
            try:
                fake_args = map_tensors(fake, args)
                fake_kwargs = {k: map_tensors(fake, v) for k, v in kwargs.items()}
                with mode:
                    predicted = func(*fake_args, **fake_kwargs)
            except Exception as error:  # noqa: BLE001 - whatever a meta function throws is the finding
                refused = error
            real = func(*args, **kwargs)  # what the program itself raises is not ours to catch
            if refused is None:
                found.extend(compare_metas(str(func), self.backward, predicted, real))
            elif not data_dependent(refused):
                detail = f"fake raises {describe(refused)[:400]}, real does not"
                found.append(Mismatch(str(func), self.backward, 2, detail))
            return real

    return Watch


def data_dependent(error: Exception) -> bool:
    """Sizes or values that only data can tell: no meta can predict them."""
    return type(error).__name__ in ("DynamicOutputShapeException", "DataDependentOutputException")


def aot_fake_backend(found: list[Mismatch]) -> Any:
    """AOTAutograd as Inductor drives it (its decompositions, its partitioner); the graphs are interpreted on real
    tensors, each node's predicted meta is compared with what came out. First causes only: inputs must agree."""
    from functools import partial

    from torch._dynamo.backends.common import aot_autograd
    from torch._functorch.partitioners import min_cut_rematerialization_partition
    from torch._inductor.decomposition import select_decomp_table

    class Compare(torch.fx.Interpreter):
        def __init__(self, gm: torch.fx.GraphModule, backward: bool) -> None:
            super().__init__(gm)
            self.backward, self.tainted = backward, set[str]()

        def run_node(self, n: torch.fx.Node) -> Any:
            real = super().run_node(n)
            if n.op != "call_function" or "val" not in n.meta:
                return real
            here = list(compare_metas(str(n.target), self.backward, n.meta["val"], real))
            if here:
                self.tainted.add(n.name)
            if not any(a.name in self.tainted for a in n.all_input_nodes):
                found.extend(here)
            elif not here:
                self.tainted.discard(n.name)
            return real

    def compile_graph(gm: torch.fx.GraphModule, _inputs: Any, backward: bool) -> Callable[..., Any]:
        from torch._functorch.aot_autograd import make_boxed_func

        return make_boxed_func(lambda *args: Compare(gm, backward).run(*args))

    return aot_autograd(
        fw_compiler=partial(compile_graph, backward=False),
        bw_compiler=partial(compile_graph, backward=True),
        decompositions=select_decomp_table(),
        partition_fn=partial(min_cut_rematerialization_partition, compiler="inductor"),
        keep_inference_input_mutations=True,
    )


# ---- excuses (probe.excuse) ------------------------------------------------------------------------------------


def named_results(req: Request, ran: Ran) -> probes.Named:
    names = [i.name for i in req.inputs if i.requires_grad] if req.backward else []
    out = [(f"output {i}", t) for i, t in enumerate(ran.outs)]
    out += [(f"{name}.grad", leaf.grad) for name, leaf in zip(names, ran.leaves, strict=False)]
    return out + [(f"input {i.name}", a) for i, a in zip(req.inputs, ran.args, strict=True) if isinstance(a, Tensor)]


def widened(req: Request) -> Request:
    """Call 0 in f64. Inputs of several dtypes on one storage raise."""
    call = req.calls[0]
    storages = list(call.storages)
    values = list(call.values)
    for n in range(req.nstorages):
        here = [k for k, i in enumerate(req.inputs) if isinstance(values[k], Meta) and i.storage == n]
        (dtype,) = {values[k].dtype for k in here}
        if not dtype.is_floating_point:
            continue
        count = len(storages[n]) // dtype.itemsize
        cells = torch.frombuffer(bytearray(storages[n]), dtype=dtype, count=count) if count else torch.empty(0)
        storages[n] = memoryview(logical_bytes(cells.double()))
        for k in here:
            values[k] = replace(values[k], dtype=torch.float64)
    return replace(req, calls=[Call(values, storages)])


def excuse(req: Request, f: Callable[..., Any], cotangents: Callable[..., Any] | None, ran: Ran) -> probes.Artifact:
    try:
        eager: probes.Named | str = named_results(req, run_call(req, 0, f, cotangents))
    except ProgramError as failure:
        eager = describe(failure.error).partition("\n")[0]
    try:
        wide = named_results(req, run_call(widened(req), 0, f, cotangents))
    except Exception:  # noqa: BLE001 - programs may name dtypes; then there is no f64 run
        wide = []
    return probes.excuse(named_results(req, ran), eager, wide)


# ---- stages ----------------------------------------------------------------------------------------------------


def inductor_options(texts: dict[str, str]) -> dict[str, Any]:
    """Option texts as values of the type that Inductor's configuration has for them."""
    from torch._inductor import config, list_mode_options

    known = config.get_config_copy()
    options: dict[str, Any] = {}
    if "mode" in texts:
        try:
            options.update(list_mode_options(texts["mode"]))
        except (KeyError, RuntimeError):
            raise OptionError(f"option 'mode': '{texts['mode']}' is no mode of this torch.compile ({torch.__version__})") from None
    for name, text in texts.items():
        if name == "mode":
            continue
        if name not in known:
            raise OptionError(f"option '{name}' is unknown to this torch._inductor.config ({torch.__version__})")
        options[name] = option_value(name, text, known[name])
    return options


def option_value(name: str, text: str, default: Any) -> Any:
    words: dict[str, Any] = {"true": True, "True": True, "false": False, "False": False, "None": None}
    try:
        if isinstance(default, bool):
            return words[text] if text in words else bool(int(text))
        if text in words:
            return words[text]
        if isinstance(default, str):
            return text
        if isinstance(default, float):
            return float(text)
        if isinstance(default, int):
            return int(text)
    except ValueError:
        raise OptionError(f"option '{name}': '{text}' is no {type(default).__name__}") from None
    return int(text) if text.lstrip("-").isdigit() else text


def own_backend(name: str) -> Any:
    """A backend that the user's module registered with Dynamo, or one that this PyTorch has."""
    from torch._dynamo.backends.registry import lookup_backend
    from torch._dynamo.exc import InvalidBackend

    if broken_import:
        raise OptionError(broken_import)
    try:
        return lookup_backend(name)
    except InvalidBackend:
        raise OptionError(f"option 'backend': Dynamo knows no backend '{name}'; import=MODULE names the module that registers it") from None


def compiled(req: Request, f: Callable[..., Any], found: list[Mismatch]) -> tuple[Callable[..., Any], Callable[[], Any]]:
    """f under test, and the context that its backward runs in. Option compiled_autograd=1: compiled autograd makes one graph of what
    autograd runs and compiles it like f, =alone: and f itself runs eagerly."""
    options = dict(req.options)
    dynamic = {"0": False, "1": True}.get(options.pop("dynamic", ""))
    autograd = options.pop("compiled_autograd", "")
    how: dict[str, Any] = {"fullgraph": True, "dynamic": dynamic}
    values: dict[str, Any] = {}
    if req.stage == "inductor":
        how["options"] = values = inductor_options(options)
        toolchain.take()
    elif req.stage == "dynamo":
        options.pop("import", None)  # of the process: main() has imported it
        how["backend"] = own_backend(options.pop("backend", ""))
    else:
        how["backend"] = aot_fake_backend(found) if req.stage == "aot_fake" else req.stage
    if options and req.stage != "inductor":
        raise OptionError(f"stage {req.stage} takes no option '{next(iter(options))}'")
    try:
        fn = f if autograd == "alone" else torch.compile(f, **how)
    except RuntimeError as error:  # nothing is compiled yet: only options are looked at
        if values:
            raise OptionError(f"options: {error}") from None
        raise
    if not autograd:
        return fn, nullcontext
    from torch._dynamo.compiled_autograd import _enable

    return fn, lambda: _enable(torch.compile(**how), dynamic=bool(dynamic))


def compile_seconds() -> float:
    from torch._dynamo.utils import calculate_time_spent

    spent = calculate_time_spent()
    return sum(spent.get(k, 0.0) for k in ("entire_frame_compile", "entire_backward_compile"))


def load(source: str, number: int) -> dict[str, Any]:
    """Runs the text; linecache lets tracebacks and the compiler's own messages show its lines."""
    name = f"<program {number}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    namespace: dict[str, Any] = {"torch": torch, "__name__": "program"}
    exec(compile(source, name, "exec"), namespace)  # noqa: S102 - running what we are sent is the job
    linecache.cache.pop(f"<program {number - 1}>", None)
    return namespace


@dataclass
class Answer:
    status: int = OK
    message: str = ""
    ngraphs: int = 0
    compile_ms: float = 0.0
    calls: list[Report] = field(default_factory=list)
    changes: list[bytes] = field(default_factory=list)
    mismatches: list[Mismatch] = field(default_factory=list)
    artifacts: list[probes.Artifact] = field(default_factory=list)
    recycle: bool = False
    bad_target: bool = False
    compiling: bool = False


RECOMPILES = 8  # Dynamo's default
toolchain = Toolchain()
COMPILING = ("aot_fake", "aot_eager", "aot_eager_decomp_partition", "inductor", "dynamo")


def run_request(req: Request, number: int, answer: Answer) -> None:
    namespace = load(req.source, number)
    f = namespace["f"]
    cotangents = namespace["cotangents"] if req.backward else None
    if req.stage not in ("eager", "fake", *COMPILING):
        raise HarnessError(f"stage '{req.stage}' is unknown to this worker")
    try:
        probe = probes.read_probe(req.options)
    except probes.ProbeError as error:
        raise OptionError(str(error)) from None
    fn, around = f, nullcontext
    if req.stage in COMPILING:
        from torch._dynamo.utils import counters

        torch._dynamo.reset()
        counters.clear()
        # Dynamo's limit is 8 per function. Each call may have sizes of its own, and with dynamic=False each is compiled.
        torch._dynamo.config.recompile_limit = max(RECOMPILES, len(req.calls))
        torch._dynamo.config.capture_dynamic_output_shape_ops = True  # masked_select, nonzero: by default they end the graph
        torch._dynamo.config.capture_scalar_outputs = True  # item: the same
        fn, around = compiled(req, f, answer.mismatches)
    elif req.options:
        raise OptionError(f"stage {req.stage} takes no option '{next(iter(req.options))}'")
    before = compile_seconds() if req.stage in COMPILING else 0.0
    try:
        with probe.installed() if probe else nullcontext():
            for index, ran in run_calls(req, fn, cotangents, around):
                answer.calls.append(Report(req, index, ran))
                if probe and probe.excuse and index == 0:
                    answer.artifacts.append(excuse(req, f, cotangents, ran))
            if len(req.calls) > 1:
                answer.changes = [change for report in answer.calls for change in report.changes()]
    finally:
        if probe:
            answer.artifacts += probe.artifacts()
        if req.stage in COMPILING:
            answer.ngraphs = int(counters["stats"]["unique_graphs"])
            answer.compile_ms = (compile_seconds() - before) * 1e3
    if req.stage == "fake":
        run_call(req, 0, f, cotangents, watch=fake_watcher(answer.mismatches))
    toolchain.keep()


def describe(error: BaseException) -> str:
    text = f"{type(error).__name__}: {error}"
    return text.partition("\n\nSet TORCHDYNAMO_VERBOSE=1")[0].rstrip()[:MAX_MESSAGE]


def by_compiler(error: BaseException) -> bool:
    """Whether it was raised while compiling (also the backward, which is compiled late), not by the compiled code."""
    if any(c.__module__ in ("torch._dynamo.exc", "torch._inductor.exc") for c in type(error).__mro__):
        return True
    for frame, _line in traceback.walk_tb(error.__traceback__):
        path = frame.f_code.co_filename
        if path.endswith(("/convert_frame.py", "/graph_compile.py", "/output_graph.py", "/compiled_autograd.py")):
            return True
        if path.endswith("/compile_fx.py") and "compile" in frame.f_code.co_name:
            return True
    return False


def poisoned(device: torch.device) -> bool:
    """After a device fault every later CUDA call fails: this process is of no more use."""
    if device.type != "cuda" or not torch.cuda.is_available():
        return False
    try:
        synchronize(device)
    except Exception:  # noqa: BLE001 - any failure at all means the device is gone
        return True
    return False


def serve(data: bytes, number: int) -> tuple[str, bytes]:
    """The stage asked for, and the answer's bytes."""
    answer = Answer()
    started = time.perf_counter()
    req: Request | None = None
    try:
        req = read_request(data)
        run_request(req, number, answer)
    except ProgramError as failure:
        answer.compiling = req is not None and req.stage in COMPILING and by_compiler(failure.error)
        answer.status, answer.message = RAISED, describe(failure.error)
        print(f"program {number}, call {failure.call}, {failure.phase}: {describe(failure.error)}", file=sys.stderr)
        answer.recycle = req is not None and poisoned(req.device)
    except HarnessError as error:
        answer.status, answer.message = HARNESS, str(error)
        answer.bad_target = isinstance(error, OptionError)
    except Exception as error:  # noqa: BLE001 - our own bug costs one result, never the worker
        answer.status, answer.message = HARNESS, "worker: " + describe(error)
        traceback.print_exc()
    target_ms = (time.perf_counter() - started) * 1e3
    w = Writer()
    w.u8(answer.recycle | answer.bad_target << 1 | answer.compiling << 2)
    w.u8(answer.status)
    w.text(answer.message)
    w.u32(answer.ngraphs)
    w.f64(answer.compile_ms)
    w.f64(target_ms)
    w.u32(len(answer.calls))
    for report in answer.calls:
        report.write(w)
    w.u32(len(answer.changes))
    w.parts += answer.changes
    w.u32(len(answer.mismatches))
    for m in answer.mismatches:
        w.text(m.op)
        w.u8(m.backward)
        w.u8(m.rank)
        w.text(m.detail)
        w.u8(bool(m.layouts))
        w.parts.append(m.layouts)
    w.u32(len(answer.artifacts))
    for name, text in answer.artifacts:
        w.text(name)
        w.text(text)
    w.u32(0)  # no shapes of loops
    return req.stage if req else "", b"".join(w.parts)


# ---- the process -----------------------------------------------------------------------------------------------


def read_exactly(stream: BinaryIO, n: int) -> bytes:
    data = stream.read(n)
    if len(data) != n:
        sys.exit(0)  # the parent closed the socket: an orderly end
    return data


def send(stream: BinaryIO, number: int, payload: bytes) -> None:
    stream.write(struct.pack("<IIQ", MAGIC, number, len(payload)))
    stream.write(payload)
    stream.flush()


def device_names() -> str:
    """Asking torch for a GPU's name would open it, which costs a second and memory; the driver says it for free."""
    names = [f"{platform.machine()} {torch.backends.cpu.get_cpu_capability()}"]
    for path in sorted(glob.glob("/proc/driver/nvidia/gpus/*/information")) if torch.version.cuda else []:
        with open(path) as f:
            names += [line.partition(":")[2].strip() for line in f if line.startswith("Model:")]
    return ", ".join(names)


def missing_cuda() -> str:
    """Why no program can run on a CUDA device, or "". It is the driver's library that counts them: no device is opened."""
    if not torch.version.cuda:
        return "this PyTorch is built without CUDA"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = torch.cuda.device_count()
    return "" if found else "PyTorch sees no CUDA device (no GPU, no NVIDIA driver, or CUDA_VISIBLE_DEVICES hides it)"


def hello(module: str) -> bytes:
    w = Writer()
    w.text(torch.__version__)
    w.text(str(torch.version.git_version))
    w.text(platform.python_version())
    w.text(str(torch.version.cuda or ""))
    w.text(device_names())
    w.text(module)
    w.text(missing_cuda())
    return b"".join(w.parts)


broken_import = ""  # why the user's module is not there


def import_module(name: str, directory: str) -> str:
    """The user's module, "NAME 1.2"; one that cannot be imported is said when it is needed: hello must come."""
    global broken_import
    sys.path.insert(0, directory)
    try:
        module = importlib.import_module(name)
    except Exception as error:  # noqa: BLE001 - it is the user's
        broken_import = f"option 'import': {name}: {type(error).__name__}: {error}"
        return name
    return " ".join(filter(None, (name, str(getattr(module, "__version__", "")))))[:90]


class Collector:
    """Garbage is collected between programs, not inside them. A full collection over what torch and its compiler keep
    for ever takes 0.1 to 0.3 s, so that is frozen once it is there: after the import, and each stage's first use."""

    def __init__(self) -> None:
        self.weight, self.seen = 0, set[str]()
        gc.disable()
        gc.freeze()

    def after(self, stage: str) -> None:
        kind = "compiled" if stage in COMPILING else stage
        self.weight += 20 if kind == "compiled" else 1
        if kind in self.seen and self.weight < COLLECT_AFTER:
            return
        if kind == "compiled":
            torch._dynamo.reset()
        gc.collect()
        if kind not in self.seen:
            gc.freeze()
        self.seen.add(kind)
        self.weight = 0


def main() -> None:
    torch.set_num_threads(1)
    # cuBLAS may otherwise add the parts of a split product in f16 or bf16 (the notes on numerical accuracy); the licence says f32.
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    faulthandler.enable(all_threads=False)
    faulthandler.register(signal.SIGUSR1)  # proc_spec.last_words: where it hangs
    requests, answers = os.fdopen(3, "rb"), os.fdopen(os.dup(3), "wb")
    module = import_module(sys.argv[1], sys.argv[2]) if len(sys.argv) > 2 else ""
    send(answers, 0, hello(module))
    collector = Collector()
    while True:
        magic, number, nbytes = struct.unpack("<IIQ", read_exactly(requests, 16))
        if magic != MAGIC:
            sys.exit("the request is no frame")
        stage, answer = serve(read_exactly(requests, nbytes), number)
        send(answers, number, answer)
        collector.after(stage)


if __name__ == "__main__":
    main()
