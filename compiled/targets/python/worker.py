"""The Python worker of scatterproof: gives programs to a module of the user's and reports what it returns. Standard library only.

The module is a file with a function run(program). It is called once for each call of a program, with
    program.nodes       the operators in order. Each has
        .name, .op      "add_1", "aten.add.Tensor" (of an operator with several results: "getitem")
        .args           every parameter of ATen's schema by its name, defaults filled in: numbers (symbols are the numbers of this
                        call), lists, None, a Ref to a node or input (Ref.name), a dtype as "float32"
        .meta           what must come out: .dtype .size .stride .offset; the first of several results. .metas: of all of them
        .cotangent      it makes a cotangent, and no result needs it
    program.inputs      a dict from name to Tensor
    program.outputs     names of what must be returned
    program.backward    pairs of names (output, cotangent)
    program.stage, program.options  the stage of the target that runs it, "module", and its options, none, a dict of texts
    program.cache       a dict that lives as long as the program: what one compiled function keeps between its calls
    program.key         a text that is the same for calls with the same nodes, numbers and sizes (a program with symbols has several)
    program.call        number of the call, from 0
    program.artifacts   a dict, empty, of texts by name that are kept beside the result: what became of the program (`check --artifacts`)
    program.text        the program as it is stored
    program.raises      None, or a part of PyTorch's message ("": any): eager refuses this program, and the module must raise, too.
                        Nodes that eager refuses have no meta
    program.tensor(dtype, size, values)     a new Tensor; values: numbers, nested as you like, or its bytes

A Tensor has .dtype .size .stride .offset .requires_grad, and
    .storage                            a bytearray: in-place programs write there, and inputs may share one
    flat(), tolist()                    Python numbers, row-major; nested
    write(values)                       floats are rounded to the dtype (to infinity beyond its range), integers wrap as in C; or bytes
    as_strided(size, stride, offset)    another Tensor on the same storage
    numpy()                             a view of the storage, where numpy is installed and has the dtype

With +dialect=core in the target's name the operators are rows of the core dialect alone (`scatterproof compile --help` lists them), forward
and backward in one; none writes but aten.copy_.default to inputs, at the end; cotangents are inputs, .backward is empty, and
    program.gradients   a dict from each input that requires grad to the name of its gradient, or None

run returns a list or tuple of outputs, or (outputs, gradients). An output is a Tensor, an array (numpy's, or whatever has the buffer
protocol or __array__) or a number: 0-d, of the dtype that the program says if that is of its kind. gradients is a dict with one of these
or None for each input that requires grad. Only Tensors say whose memory they are: other arrays, and all gradients, count as copies.
The caller holds inputs and results until the program's last call: no later call may change them.

    from scatterproof import Unsupported

is raised, with the reason, for what the module does not support. A program with a backward for which run returns no gradients is
unsupported, too. Everything else that is raised is an error of the module, "Class: text (in function, file.py:line)", and a finding if
the reference accepts the program. So is WrongResult, for what is no result of the program (a wrong count, an unknown dtype): nobody but
the module can have made it. A module that cannot be imported, or has no run, is a target that does not exist (HARNESS).

Talks over descriptor 3 in frames (proc.h); requests are encoded as in driver.c and program_json.h, answers as in wire.h.
"""

from __future__ import annotations

import faulthandler
import hashlib
import importlib.util
import json
import math
import os
import platform
import re
import signal
import struct
import sys
import time
import traceback
import types
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Callable, Iterator, NamedTuple, Optional, Union

MAGIC = 0x31465053
OK, RAISED, UNSUPPORTED, HARNESS = 0, 1, 2, 5  # enum result_status
OUTPUT, GRADIENT, STORAGE = 0, 1, 2  # enum tensor_role
MAX_MESSAGE = 6000
MAX_RANK = 8
MAX_NAME = 80
# dtypes: letters; written by tests/unit/dtype_tables.py
DTYPES = {  # struct's letter ("": numpy has none, either), bytes; of floats: precision, exponents, has infinities
    "bool": ("?", 1, None),
    "uint8": ("B", 1, None),
    "int8": ("b", 1, None),
    "int16": ("h", 2, None),
    "int32": ("i", 4, None),
    "int64": ("q", 8, None),
    "uint16": ("H", 2, None),
    "uint32": ("I", 4, None),
    "uint64": ("Q", 8, None),
    "float8_e4m3fn": ("", 1, (4, -6, 8, False)),
    "float8_e5m2": ("", 1, (3, -14, 15, True)),
    "float16": ("e", 2, (11, -14, 15, True)),
    "bfloat16": ("", 2, (8, -126, 127, True)),
    "float32": ("f", 4, (24, -126, 127, True)),
    "float64": ("d", 8, (53, -1022, 1023, True)),
}  # fmt: skip
# dtypes end


class Unsupported(Exception):
    """The module does not support the program, for the reason in its text."""


class UnknownOption(Exception):
    """The compiler has no such option of the target's name, for the reason in its text."""


class WrongResult(Exception):
    """What run returned is no result of the program."""


class HarnessError(Exception):
    """The request makes no sense."""


# ---- numbers as bytes ------------------------------------------------------------------------------------------


def is_float(dtype: str) -> bool:
    return "float" in dtype


def round_float(letter: str, value: float) -> bytes:
    """To nearest, ties to even; struct refuses what rounds to infinity."""
    try:
        return struct.pack("<" + letter, value)
    except OverflowError:
        return struct.pack("<" + letter, float("inf") if value > 0 else float("-inf"))


def round_bits(dtype: str, value: float) -> bytes:
    """The same for a dtype without a letter, from the number itself: rounding twice, by way of float32, would be wrong."""
    _, width, (precision, emin, emax, infinite) = DTYPES[dtype]
    sign = 1 << 8 * width - 1
    nan = sign - 1 if not infinite else sign - 1 - ((1 << precision - 1) - 1) | 1 << precision - 2
    most = sign - 1 - (1 << precision - 1) if infinite else sign - 2  # the largest finite number
    negative = sign if math.copysign(1, value) < 0 else 0
    if value != value:
        out = nan
    elif math.isinf(value):
        out = most + 1
    elif value == 0:
        out = 0
    else:
        e = max(math.frexp(value)[1] - 1, emin)
        steps = round(abs(value) / 2.0 ** (e - precision + 1))  # half to even; exact: a power of two divides
        out = min(steps + (e - emin << precision - 1), most + 1)
    return (negative | out).to_bytes(width, "little")


def number_of_bits(dtype: str, bits: int) -> float:
    _, width, (precision, emin, _, infinite) = DTYPES[dtype]
    sign = 1 << 8 * width - 1
    magnitude, negative = bits & sign - 1, bits & sign
    inf = sign - (1 << precision - 1) if infinite else sign - 1  # or the NaN that stands in its place
    if magnitude >= inf:
        value = float("inf") if infinite and magnitude == inf else float("nan")
    else:
        field, fraction = magnitude >> precision - 1, magnitude & (1 << precision - 1) - 1
        value = math.ldexp(fraction + (1 << precision - 1 if field else 0), max(field, 1) - 1 + emin - precision + 1)
    return -value if negative else value


def encode(dtype: str, values: list[Any]) -> bytes:
    """Numbers as the elements of a tensor."""
    letter, nbytes, _ = DTYPES[dtype]
    if is_float(dtype):
        numbers = [float(v) for v in values]
        if letter:
            try:
                return struct.pack(f"<{len(numbers)}{letter}", *numbers)
            except OverflowError:
                return b"".join(round_float(letter, v) for v in numbers)
        return b"".join(round_bits(dtype, v) for v in numbers)
    for v in values:
        if not hasattr(v, "__index__"):
            raise TypeError(f"{type(v).__name__} is no element of dtype {dtype}")
    if dtype == "bool":
        return bytes(bool(v) for v in values)
    try:
        return struct.pack(f"<{len(values)}{letter}", *values)
    except struct.error:
        return b"".join((int(v) & (1 << 8 * nbytes) - 1).to_bytes(nbytes, "little") for v in values)


def decode(dtype: str, data: Union[bytes, bytearray, memoryview]) -> list[Any]:
    letter, nbytes, _ = DTYPES[dtype]
    n = len(data) // nbytes
    if dtype == "bool":
        return [b != 0 for b in bytes(data)]
    if letter:
        return list(struct.unpack(f"<{n}{letter}", data))
    return [number_of_bits(dtype, int.from_bytes(data[k * nbytes : (k + 1) * nbytes], "little")) for k in range(n)]


def flatten(values: Any, out: list[Any]) -> list[Any]:
    if isinstance(values, (list, tuple)):
        for v in values:
            flatten(v, out)
    else:
        out.append(values)
    return out


# ---- tensors ---------------------------------------------------------------------------------------------------


def numel(size: Any) -> int:
    n = 1
    for s in size:
        n *= s
    return n


def contiguous(size: Any) -> list[int]:
    stride, step = [], 1
    for s in reversed(size):
        stride.append(step)
        step *= max(s, 1)
    return stride[::-1]


class Tensor:
    """Elements on a storage that other tensors may share. Sizes, strides and offset count elements."""

    def __init__(self, dtype: str, size: Any, stride: Any, offset: int, storage: bytearray, requires_grad: bool = False) -> None:
        if dtype not in DTYPES:
            raise WrongResult(f"a tensor of dtype {dtype}; programs have {', '.join(DTYPES)}")
        self.dtype, self.size, self.stride, self.offset = dtype, list(size), list(stride), offset
        self.storage, self.requires_grad = storage, requires_grad
        self.itemsize = DTYPES[dtype][1]
        if len(self.size) > MAX_RANK:
            raise WrongResult(f"a tensor of {len(self.size)} dimensions; programs have at most {MAX_RANK}")
        if len(self.size) != len(self.stride) or min(self.size + self.stride + [offset]) < 0:
            raise WrongResult(f"no tensor has size {self.size}, stride {self.stride} and offset {offset}")
        last = offset + sum((n - 1) * s for n, s in zip(self.size, self.stride))
        if 0 not in self.size and (last + 1) * self.itemsize > len(storage):
            raise WrongResult(f"size {self.size}, stride {self.stride} and offset {offset} do not fit into {len(storage)} bytes")

    def cells(self) -> list[int]:
        """Where in the storage each element is, in row-major order."""
        at = [self.offset]
        for n, stride in zip(self.size, self.stride):
            at = [p + i * stride for p in at for i in range(n)]
        return at

    def is_contiguous(self) -> bool:
        return all(n == 1 or s == want for n, s, want in zip(self.size, self.stride, contiguous(self.size)))

    def tobytes(self) -> bytes:
        """The elements in row-major order."""
        w = self.itemsize
        if 0 in self.size:
            return b""
        if self.is_contiguous():
            return bytes(self.storage[self.offset * w : (self.offset + numel(self.size)) * w])
        return b"".join([bytes(self.storage[p * w : (p + 1) * w]) for p in self.cells()])

    def flat(self) -> list[Any]:
        return decode(self.dtype, self.tobytes())

    def tolist(self) -> Any:
        values = self.flat()
        if not self.size:
            return values[0]
        for n, outer in zip(self.size[:0:-1], range(len(self.size) - 1, 0, -1)):
            rows = numel(self.size[:outer])
            values = [values[i * n : (i + 1) * n] for i in range(rows)]
        return values

    def write(self, values: Any) -> None:
        """Into the storage: numbers, or their bytes; where elements share a cell, the last one stays."""
        w = self.itemsize
        data = values if isinstance(values, bytes) else encode(self.dtype, flatten(values, []))
        if len(data) != numel(self.size) * w:
            raise ValueError(f"{len(data) // w} values for a tensor of size {self.size}")
        if data and self.is_contiguous():
            self.storage[self.offset * w : self.offset * w + len(data)] = data
        elif data:
            for i, p in enumerate(self.cells()):
                self.storage[p * w : (p + 1) * w] = data[i * w : (i + 1) * w]

    def as_strided(self, size: Any, stride: Any, offset: int) -> Tensor:
        """Another tensor on the same storage."""
        return Tensor(self.dtype, size, stride, offset, self.storage)

    def numpy(self) -> Any:
        import numpy

        if not DTYPES[self.dtype][0]:
            raise Unsupported(f"numpy has no {self.dtype}")
        if 0 in self.size:
            return numpy.empty(self.size, self.dtype)
        strides = [s * self.itemsize for s in self.stride]
        return numpy.ndarray(self.size, self.dtype, self.storage, self.offset * self.itemsize, strides)

    def __repr__(self) -> str:
        return f"Tensor({self.dtype}, size={self.size}, stride={self.stride}, offset={self.offset})"


def new_tensor(dtype: str, size: Any, values: Any) -> Tensor:
    if dtype not in DTYPES:
        raise WrongResult(f"a tensor of dtype {dtype}; programs have {', '.join(DTYPES)}")
    n, size = numel(size), list(size)
    if isinstance(values, (bytes, bytearray, memoryview)):
        data = bytearray(values)
    else:
        data = bytearray(encode(dtype, flatten(values, [])))
    if len(data) != n * DTYPES[dtype][1]:
        raise ValueError(f"{len(data) // DTYPES[dtype][1]} values for a tensor of size {size}")
    return Tensor(dtype, size, contiguous(size), 0, data)


# ---- programs --------------------------------------------------------------------------------------------------


class Ref(NamedTuple):
    """An argument that is the result of a node, or an input."""

    name: str


class Meta(NamedTuple):
    dtype: str
    size: list[int]
    stride: list[int]
    offset: int


@dataclass(frozen=True)
class Node:
    name: str
    op: str
    args: dict[str, Any]
    metas: list[Meta]
    cotangent: bool

    @property
    def meta(self) -> Optional[Meta]:
        return self.metas[0] if self.metas else None


@dataclass
class Program:
    text: str
    call: int
    nodes: list[Node]
    inputs: dict[str, Tensor]
    outputs: list[str]
    backward: list[tuple[str, str]]
    gradients: dict[str, Optional[str]]  # of programs in a dialect without backward: the node that is an input's gradient
    stage: str
    options: dict[str, str]
    raises: Optional[str]
    key: str
    cache: dict[Any, Any] = field(repr=False)
    artifacts: dict[str, str] = field(default_factory=dict)
    tensor = staticmethod(new_tensor)


def read_arg(value: Any) -> Any:
    if isinstance(value, list):
        return [read_arg(v) for v in value]
    if isinstance(value, dict):
        return Ref(value["node"]) if "node" in value else struct.unpack("<d", struct.pack("<Q", value["bits"]))[0]
    return value


def read_meta(m: dict[str, Any]) -> Meta:
    return Meta(m["dtype"], m["size"], m["stride"], m["offset"])


def read_program(text: str, call: int, key: str, storages: list[bytearray], cache: dict[Any, Any]) -> Program:
    what = json.loads(key)
    if any("device" in i for i in what["inputs"]):
        raise Unsupported("an input on the device meta")
    nodes = [
        Node(n["name"], n["op"], {k: read_arg(v) for k, v in n["args"].items()}, [read_meta(m) for m in n["metas"]], n["cotangent"])
        for n in what["nodes"]
    ]
    inputs = {i["name"]: Tensor(*read_meta(i), storages[i["storage"]], i["requires_grad"]) for i in what["inputs"]}
    backward = [(out, cotangent) for out, cotangent in what["backward"]]
    gradients, options = dict(what["gradients"]), dict(what["options"])
    return Program(
        text, call, nodes, inputs, what["outputs"], backward, gradients, what["stage"], options, what["raises"], key, cache
    )


# ---- results ---------------------------------------------------------------------------------------------------


@dataclass
class Report:
    """A result as it is sent; memory: the storage of a Tensor, None: its own."""

    dtype: str
    size: list[int]
    stride: list[int]
    offset: int
    data: bytes
    memory: Optional[bytearray] = field(compare=False)


def report_number(value: Union[bool, int, float], want: Optional[Meta]) -> Report:
    kind = "bool" if isinstance(value, bool) else "int64" if isinstance(value, int) else "float64"
    if want and kind == "int64" and "int" in want.dtype or want and kind == "float64" and is_float(want.dtype):
        kind = want.dtype
    return Report(kind, [], [], 0, encode(kind, [value]), None)


def report_array(value: Any, what: str) -> Report:
    if not isinstance(value, memoryview) and hasattr(value, "__array__"):
        value = value.__array__()
    try:
        view = memoryview(value)
        data = view.tobytes()
    except (TypeError, ValueError, BufferError) as error:
        name = type(value).__name__
        raise WrongResult(f"{what} is a {name}; return Tensors (program.tensor makes them), arrays or numbers ({error})") from None
    order, letter = (view.format[:1], view.format[1:]) if view.format[:1] in "@=<>!" else ("@", view.format)
    nbytes = view.itemsize
    width = 8 * nbytes  # what a letter means depends on the machine
    kind = "bool" if letter == "?" else f"uint{width}" if letter in "BHILQN" else f"int{width}" if letter in "bhilqn" else f"float{width}"
    if order in (">", "!") or kind not in DTYPES or kind[:5] == "float" and letter not in "efd" or len(letter) != 1:
        raise WrongResult(f"{what} is an array of format '{view.format}', which is no dtype of programs")
    if view.ndim > MAX_RANK:
        raise WrongResult(f"{what} has {view.ndim} dimensions; programs have at most {MAX_RANK}")
    size = list(view.shape)
    return Report(kind, size, contiguous(size), 0, data, None)


def report(value: Any, want: Optional[Meta], what: str) -> Report:
    if isinstance(value, Tensor):
        return Report(value.dtype, list(value.size), list(value.stride), value.offset, value.tobytes(), value.storage)
    if type(value) in (bool, int, float):
        return report_number(value, want)
    return report_array(value, what)


def report_gradient(value: Any, x: Tensor, name: str) -> Optional[Report]:
    """A copy, as autograd makes one when it accumulates."""
    if value is None:
        return None
    r = report(value, Meta(x.dtype, x.size, x.stride, x.offset), f"the gradient of {name}")
    return Report(r.dtype, r.size, contiguous(r.size), 0, r.data, None)


@dataclass
class Seen:
    outputs: list[Optional[Report]]
    gradients: list[Optional[Report]]
    cells: list[bytes]


@dataclass
class Ran:
    storages: list[bytearray]
    seen: Seen  # when the call returned
    look: Callable[[], Seen]  # at the same things, now
    run_ms: float


def split_result(value: Any) -> tuple[Any, Any]:
    """Outputs and gradients. No output is None or a dict, so a pair with one of those is a pair of the two."""
    pair = isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], (list, tuple)) and isinstance(value[1], (dict, type(None)))
    outputs, gradients = value if pair else (value, None)
    if not isinstance(outputs, (list, tuple)):
        raise WrongResult(f"run(program) returned a {type(outputs).__name__}; it must be a list of outputs, or (outputs, gradients)")
    return outputs, gradients


def take_gradients(program: Program, gradients: dict[str, Any]) -> list[Optional[Report]]:
    wanted = {name: x for name, x in program.inputs.items() if x.requires_grad}
    for name in gradients:
        if name not in wanted:
            raise WrongResult(f"run(program) returned a gradient of '{name}', which is no input that requires grad")
    for name in wanted:
        if name not in gradients:
            raise WrongResult(f"run(program) returned no gradient of '{name}'; None says that it has none")
    return [report_gradient(gradients[name], x, name) for name, x in wanted.items()]


def run_call(run: Callable[[Program], Any], program: Program, storages: list[bytearray]) -> Ran:
    metas = {n.name: n.meta for n in program.nodes}
    metas.update((name, Meta(x.dtype, x.size, x.stride, x.offset)) for name, x in program.inputs.items())
    started = time.perf_counter()
    value = run(program)
    run_ms = (time.perf_counter() - started) * 1e3
    outputs, gradients = split_result(value)
    outputs, gradients = list(outputs), gradients and dict(gradients)  # these tensors, whatever becomes of what held them
    if len(outputs) != len(program.outputs):
        raise WrongResult(f"run(program) returned {len(outputs)} outputs, the program has {len(program.outputs)}")
    differentiated = bool(program.backward or program.gradients)
    if differentiated and gradients is None:
        raise Unsupported("the module returns no gradients")

    def look() -> Seen:
        out = [report(v, metas[name], f"output {name}") for v, name in zip(outputs, program.outputs)]
        return Seen(list(out), take_gradients(program, gradients) if differentiated else [], [bytes(s) for s in storages])

    return Ran(storages, look(), look, run_ms)


# ---- bytes -----------------------------------------------------------------------------------------------------


class Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.pos = memoryview(data), 0

    def take(self, n: int) -> memoryview:
        if n < 0 or self.pos + n > len(self.data):
            raise HarnessError(f"request ends after {len(self.data)} bytes, {self.pos + n} needed")
        self.pos += n
        return self.data[self.pos - n : self.pos]

    def u32(self) -> int:
        return int.from_bytes(self.take(4), "little")

    def blob(self) -> memoryview:
        return self.take(int.from_bytes(self.take(8), "little"))

    def text(self) -> str:
        return bytes(self.blob()).decode()


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

    def blob(self, data: Union[bytes, bytearray]) -> None:
        self.i64(len(data))
        self.parts.append(bytes(data))


def write_calls(w: Writer, calls: list[Ran]) -> None:
    w.u32(len(calls))
    for ran in calls:
        encoder = Encoder(ran.storages)
        for tensors in (ran.seen.outputs, ran.seen.gradients):
            w.u32(len(tensors))
            for t in tensors:
                encoder.tensor(w, t)
        w.u32(len(ran.storages))
        for cells in ran.seen.cells:
            w.blob(cells)
        w.f64(ran.run_ms)


class Encoder:
    """Of the tensors of one call, whose storages it numbers."""

    def __init__(self, storages: list[bytearray]) -> None:
        self.memory, self.fresh = {id(s): i for i, s in enumerate(storages)}, len(storages)

    def tensor(self, w: Writer, t: Optional[Report]) -> None:
        w.u8(t is not None)
        if t is None:
            return
        at = self.memory.get(id(t.memory), self.fresh) if t.memory is not None else self.fresh
        if at == self.fresh:
            self.fresh += 1
        if t.memory is not None:
            self.memory[id(t.memory)] = at  # ran keeps it, so no other storage gets its id
        w.u8(0)  # requires_grad: nobody says so (FREE_REQUIRES_GRAD)
        w.text(t.dtype)
        w.u8(0)  # DEV_RUN
        w.u8(len(t.size))
        w.i64(*t.size, *t.stride, t.offset, at)
        w.blob(t.data)


def changed(index: int, ran: Ran) -> Iterator[bytes]:
    """What is no longer as it was seen when the call returned, as result_change (result.h) has it."""
    try:
        now, what = ran.look(), ""
    except Exception as error:  # noqa: BLE001 - whatever the module did to what it had returned
        now, what = Seen([None] * len(ran.seen.outputs), ran.seen.gradients, ran.seen.cells), f"cannot be read any more: {describe(error)}"
    pairs = ((OUTPUT, ran.seen.outputs, now.outputs), (GRADIENT, ran.seen.gradients, now.gradients), (STORAGE, ran.seen.cells, now.cells))
    for role, before, after in pairs:
        for k, (was, t) in enumerate(zip(before, after)):
            if was == t:
                continue
            w = Writer()
            w.u32(index)
            w.u8(role)
            w.u32(k)
            w.text(what)
            if role == STORAGE:
                w.blob(t[: len(was)].ljust(len(was), b"\0"))
            else:
                Encoder(ran.storages).tensor(w, t)
            yield b"".join(w.parts)


# ---- the module ------------------------------------------------------------------------------------------------


@dataclass
class Module:
    path: str
    run: Optional[Callable[[Program], Any]]
    versions: str
    why: str  # there is no run
    version: str = ""  # of the compiler behind it


def offer_names() -> None:
    """What `from scatterproof import …` finds."""
    own = types.ModuleType("scatterproof", "What a module that runs programs may import.")
    for thing in (Unsupported, UnknownOption, Tensor, Ref, Meta, Node, Program):
        setattr(own, thing.__name__, thing)
    sys.modules["scatterproof"] = own


def load_module(path: str) -> Module:
    """One that cannot be imported is said when it is needed: hello must come. Its siblings can be imported, as from a script."""
    name = os.path.basename(path)
    python = f"python {platform.python_version()}"
    sys.path[0] = os.path.dirname(path)
    stem = name[: -len(".py")]
    stem += "_" if stem in sys.modules else ""
    try:
        with open(path, "rb") as f:
            digest = hashlib.sha256(f.read()).hexdigest()[:12]
        spec = importlib.util.spec_from_file_location(stem, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[stem] = module
        spec.loader.exec_module(module)
    except BaseException as error:  # noqa: BLE001 - SystemExit, too: it is the user's
        traceback.print_exc()
        return Module(path, None, f"{name}, {python}", f"{path} cannot be imported: {describe(error)}")
    version = str(getattr(module, "__version__", ""))
    version = " " + version if re.fullmatch(r"[0-9][0-9A-Za-z.+-]{0,39}", version) else ""
    versions = f"{name}{version} (sha256 {digest}), {python}"
    versions = getattr(module, "__versions__", versions)
    run = getattr(module, "run", None)
    why = "" if callable(run) else f"{path} has no function run(program)"
    return Module(path, run if not why else None, versions, why, version.strip())


def describe(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception as worse:  # noqa: BLE001 - it is the module's
        text = f"(its text raises {type(worse).__name__})"
    return f"{type(error).__name__}{': ' if text else ''}{text}".rstrip()[:MAX_MESSAGE]


def place(error: BaseException, folder: str) -> str:
    """The innermost function in the user's folder: what is raised in two places is two findings."""
    at = ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        path = frame.f_code.co_filename
        if path.startswith(folder + os.sep):
            at = f" (in {frame.f_code.co_name}, {path[len(folder) + 1 :]}:{line})"
    return at


# ---- serving ---------------------------------------------------------------------------------------------------


@dataclass
class Answer:
    status: int = OK
    message: str = ""
    no_target: bool = False  # there is no such target: no module, no such option
    calls: list[Ran] = field(default_factory=list)
    changes: list[bytes] = field(default_factory=list)
    artifacts: dict[str, str] = field(default_factory=dict)  # the last call's, where several have one of a name


def run_program(module: Module, data: bytes, answer: Answer) -> None:
    r = Reader(data)
    text, nstorages, ncalls = r.text(), r.u32(), r.u32()
    cache: dict[Any, Any] = {}
    for call in range(ncalls):
        key = r.text()
        storages = [bytearray(r.blob()) for _ in range(nstorages)]
        sizes = [len(s) for s in storages]
        try:
            program = read_program(text, call, key, storages, cache)
            program.artifacts = answer.artifacts
            ran = run_call(module.run, program, storages)
            if [len(s) for s in storages] != sizes:
                raise WrongResult("run(program) made the storage of an input longer or shorter")
        except Unsupported as why:
            answer.status, answer.message = UNSUPPORTED, str(why)[:MAX_MESSAGE] or "the module does not support it"
            return
        except UnknownOption as why:
            answer.status, answer.message, answer.no_target = HARNESS, str(why)[:MAX_MESSAGE], True
            return
        except BaseException as error:  # noqa: BLE001 - whatever a compiler throws is what we are here for
            traceback.print_exc()
            head, newline, rest = describe(error).partition("\n")
            at = "" if isinstance(error, WrongResult) else place(error, os.path.dirname(module.path))
            answer.status, answer.message = RAISED, head + at + newline + rest
            return
        answer.calls.append(ran)
    if ncalls > 1:
        answer.changes = [change for call, ran in enumerate(answer.calls) for change in changed(call, ran)]


def serve(module: Module, data: bytes) -> bytes:
    answer = Answer()
    started = time.perf_counter()
    try:
        if module.run:
            run_program(module, data, answer)
        else:
            answer.status, answer.message, answer.no_target = HARNESS, module.why, True
    except Exception as error:  # noqa: BLE001 - our own bug costs one result, never the worker
        traceback.print_exc()
        answer.status, answer.message = HARNESS, "worker: " + describe(error)
    w = Writer()
    w.u8(answer.no_target)
    w.u8(answer.status)
    w.text(answer.message)
    w.u32(answer.status == OK)  # graphs compiled: what the module made of the program, nobody knows how
    w.f64(0.0)
    w.f64((time.perf_counter() - started) * 1e3)
    write_calls(w, answer.calls)
    w.u32(len(answer.changes))
    w.parts += answer.changes
    w.u32(0)  # no predicted metas
    w.u32(len(answer.artifacts))
    for name, text in answer.artifacts.items():
        w.text(str(name)[:MAX_NAME])
        w.text(str(text))
    w.u32(0)  # nor shapes of loops
    return b"".join(w.parts)


def read_exactly(stream: BinaryIO, n: int) -> bytes:
    data = stream.read(n)
    if len(data) != n:
        sys.exit(0)  # the parent closed the socket: an orderly end
    return data


def send(stream: BinaryIO, number: int, payload: bytes) -> None:
    stream.write(struct.pack("<IIQ", MAGIC, number, len(payload)))
    stream.write(payload)
    stream.flush()


def main() -> None:
    if sys.version_info < (3, 9):
        sys.exit(f"Python {platform.python_version()} is too old: 3.9 or later is needed")
    faulthandler.enable(all_threads=False)
    faulthandler.register(signal.SIGUSR1)  # proc_spec.last_words: where it hangs
    requests, answers = os.fdopen(3, "rb"), os.fdopen(os.dup(3), "wb")
    offer_names()
    module = load_module(os.path.abspath(sys.argv[1]))
    w = Writer()
    w.text(module.versions)
    w.text(module.version)
    send(answers, 0, b"".join(w.parts))
    while True:
        magic, number, nbytes = struct.unpack("<IIQ", read_exactly(requests, 16))
        if magic != MAGIC:
            sys.exit("the request is no frame")
        send(answers, number, serve(module, read_exactly(requests, nbytes)))


if __name__ == "__main__":
    main()
