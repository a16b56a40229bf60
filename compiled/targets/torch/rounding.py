"""What eager alone does not settle: which numbers of a function's results are its rounding, or whatever memory held.

A copy of the process, forked before anything is compiled, keeps function and inputs as they were made. Asked (only when a compiled run
differs from eager's), it runs the function again, each time in a further copy:

    again    as it is, with memory that nobody writes filled with NaN: what comes out otherwise is not the function's to say
    double   every float in double precision: eager's distance from that is eager's rounding
    rounded  as double, and whatever single precision cannot hold is rounded up or down at random: what another right compiler may give
"""

from __future__ import annotations

import io
import math
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

Results = list[tuple[str, Tensor]]
Runner = Callable[[Callable[[], AbstractContextManager[Any]]], Results]  # runs the function under a context
WIDE = {torch.float16: torch.float64, torch.bfloat16: torch.float64, torch.float32: torch.float64, torch.complex64: torch.complex128}
SINGLE = {torch.float64: torch.float32, torch.complex128: torch.complex64}
ROUNDED = 4  # runs that round at random
FACTOR = 16  # a difference of so many times what rounding does is none
JUMP = 64  # an element so much further away than most is one that rounding decides: which way a comparison goes, an index, a sign
LIMIT_S = 20  # of one run
AT_LEAST = 1e-6  # numbers below are compared as if they were that large


class Unfit(Exception):
    """The function cannot be run in double precision."""


# ---- in double precision ---------------------------------------------------------------------------------------------


def converted(value: Any, dtypes: dict[torch.dtype, torch.dtype]) -> Any:
    def one(x: Any) -> Any:
        if isinstance(x, Tensor) and x.dtype in dtypes:
            return x.to(dtypes[x.dtype])
        return dtypes.get(x, x) if isinstance(x, torch.dtype) else x

    return tree_map(one, value)


class Double(TorchDispatchMode):
    """Operators compute in double precision, random numbers are those of single precision."""

    def __init__(self, rounded: int = 0) -> None:
        super().__init__()
        self.random = torch.Generator().manual_seed(rounded) if rounded else None
        self.drew = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if any(t not in (Tensor, torch.nn.Parameter) for t in types) or func is torch.ops.aten.view.dtype:
            raise Unfit("it looks at bits, or has tensors of its own kind")
        if torch.Tag.nondeterministic_seeded in func.tags and "scaled_dot_product" not in str(func):
            return self.draw(func, args, kwargs)
        writes = [a.alias_info is not None and a.alias_info.is_write for a in func._schema.arguments]
        names = {a.name for a, w in zip(func._schema.arguments, writes, strict=True) if w}
        args = [a if w else converted(a, WIDE) for a, w in zip(args, writes, strict=False)]
        kwargs = {k: v if k in names else converted(v, WIDE) for k, v in kwargs.items()}
        result = func(*args, **kwargs)
        fresh = all(r.alias_info is None for r in func._schema.returns)
        return tree_map(self.round, result) if self.random and fresh else result

    def draw(self, func: Any, args: Any, kwargs: Any) -> Any:
        self.drew = True
        own = [a for a, s in zip(args, func._schema.arguments, strict=False) if s.alias_info is not None and s.alias_info.is_write]
        single = converted(args, SINGLE), converted(kwargs, SINGLE)
        torch.set_default_dtype(torch.float32)
        try:
            result = func(*single[0], **single[1])
        finally:
            torch.set_default_dtype(torch.float64)
        if own:
            own[0].copy_(result)
            return own[0]
        return converted(result, WIDE)

    def round(self, r: Any) -> Any:
        if not isinstance(r, Tensor) or r.dtype != torch.float64 or r.layout != torch.strided:
            return r
        near = r.float()
        beyond = torch.nextafter(near, torch.where(r > near, math.inf, -math.inf).float())
        other = torch.rand(r.shape, generator=self.random) < 0.5
        return torch.where((near.double() != r) & other & near.isfinite(), beyond, near).double().reshape(r.shape)


def widen(state: dict[str, Tensor]) -> None:
    """Tensors in place, with what shares their memory."""
    if any(t.dtype in SINGLE for t in state.values()):
        raise Unfit("it computes in double precision")
    memory: dict[tuple[int, torch.dtype], Tensor] = {}
    for t in state.values():
        if t.dtype not in WIDE:
            continue
        key = t.untyped_storage().data_ptr(), t.dtype
        if key not in memory:
            memory[key] = torch.empty(0, dtype=t.dtype).set_(t.untyped_storage()).to(WIDE[t.dtype])
        grad = t.grad
        t.grad = None
        t.data = memory[key].as_strided(t.shape, t.stride(), t.storage_offset())
        if grad is not None:
            t.grad = grad.to(t.dtype)


def in_double(run: Runner, state: dict[str, Tensor], rounded: int) -> Results:
    half = any(t.dtype in (torch.float16, torch.bfloat16) for t in state.values())
    widen(state)
    torch.set_default_dtype(torch.float64)
    mode = Double(rounded)
    results = run(lambda: mode)
    if mode.drew and half:
        raise Unfit("it draws random numbers, in half precision")
    return results


def again(run: Runner) -> Results:
    torch.use_deterministic_algorithms(True, warn_only=True)  # which fills what torch.empty returns, too
    return run(nullcontext)


# ---- copies of the process -------------------------------------------------------------------------------------------


def copy_of(work: Callable[[], Any]) -> tuple[int, int]:
    """Runs work in a copy of this process; (its id, a descriptor that what it saves is read from)."""
    mine, theirs = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        os.close(theirs)
        return pid, mine
    try:
        os.close(mine)
        data = io.BytesIO()
        torch.save(work(), data)
        with os.fdopen(theirs, "wb") as file:
            file.write(data.getvalue())
    finally:
        os._exit(0)


def outcome(work: Callable[[], Results]) -> dict[str, Any]:
    signal.alarm(LIMIT_S)  # ends the copy
    torch.compiler.set_stance("force_eager")
    try:
        return {"results": work(), "why": ""}
    except BaseException as error:  # noqa: BLE001 - a function that is not made for it
        return {"results": None, "why": str(error) if isinstance(error, Unfit) else f"{type(error).__name__}: {error}"}


def told(pid: int, source: int) -> Any:
    with os.fdopen(source, "rb") as file:
        data = file.read()
    os.waitpid(pid, 0)
    return torch.load(io.BytesIO(data), weights_only=True) if data else {"results": None, "why": "it does not end"}


class Keeper:
    """The process as it is now, to be asked later, once."""

    def __init__(self, run: Runner, state: dict[str, Tensor]) -> None:
        self.source, self.why = -1, "it runs on a GPU"
        if torch.cuda.is_initialized():
            return

        def work() -> dict[str, Any]:
            os.close(self.go)
            if not os.read(wait, 1):  # the parent has ended, or has no question
                os._exit(0)
            start = time.monotonic()
            said = [told(*copy_of(lambda: outcome(lambda: again(run))))]
            for rounded in range(1 + ROUNDED):
                if rounded < 2 or time.monotonic() - start < LIMIT_S / 2:
                    said.append(told(*copy_of(lambda n=rounded: outcome(lambda: in_double(run, state, n)))))
            return {"said": said}

        wait, self.go = os.pipe()
        self.pid, self.source = copy_of(work)
        os.close(wait)

    def ask(self) -> Doubts:
        if self.source < 0:
            return Doubts(why=self.why)
        os.write(self.go, b"?")
        said = told(self.pid, self.source).get("said")
        if not said:
            return Doubts(why="its copy ended")
        wide = [dict(s["results"]) for s in said[1:] if s["results"] is not None]
        return Doubts(dict(said[0]["results"] or []), wide, said[0]["why"] or said[1]["why"])


# ---- what it means ---------------------------------------------------------------------------------------------------


def flat(t: Tensor) -> Tensor:
    return (torch.view_as_real(t) if t.is_complex() else t).double().reshape(-1)


def is_float(t: Tensor) -> bool:
    return t.dtype.is_floating_point or t.dtype.is_complex


@dataclass
class Doubt:
    """Of one result."""

    alone: Tensor  # elements that eager has otherwise each time
    decided: Tensor  # elements that rounding decides
    noise: float = 0.0  # what rounding does to the others
    shape: bool = True  # is its shape certain?


@dataclass
class Doubts:
    again: dict[str, Tensor] = field(default_factory=dict)
    wide: list[dict[str, Tensor]] = field(default_factory=list)
    why: str = ""  # why some of it is not there

    def of(self, name: str, want: Tensor, limit: float) -> Doubt:
        v = flat(want)
        d = Doubt(torch.zeros(v.shape, dtype=torch.bool), torch.zeros(v.shape, dtype=torch.bool))
        apart = torch.zeros(v.shape, dtype=torch.float64)
        if name in self.again:
            self.see(d, apart, d.alone, want, self.again[name])
            d.alone |= (apart > limit) if is_float(want) else (apart > 0)
            apart[d.alone] = 0
        for results in self.wide:
            if name in results:
                self.see(d, apart, d.decided, want, results[name])
        if not is_float(want):
            d.decided |= apart > 0
        elif v.numel():
            d.decided |= (apart > limit) & (apart > JUMP * float(apart[~d.alone].median() if not d.alone.all() else 0) + limit)
            d.noise = float(torch.where(d.decided, 0.0, apart).max())
        d.decided &= ~d.alone
        return d

    def see(self, d: Doubt, apart: Tensor, mask: Tensor, want: Tensor, other: Tensor) -> None:
        if want.shape != other.shape or is_float(want) != is_float(other):
            mask.fill_(True)
            d.shape = False
            return
        a, b = flat(want), flat(other)
        same = (a == b) | (a.isnan() & b.isnan())
        mask |= ~same & ~(a.isfinite() & b.isfinite())
        torch.maximum(apart, torch.where(same | mask, 0.0, (a - b).abs()), out=apart)
