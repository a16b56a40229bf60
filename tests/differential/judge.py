"""judge.py: when two answers are the same answer (see rules_torch.py)."""
from __future__ import annotations

import math

import torch

import calls

EXACT = {"MOVE", "COMPARE", "CONVERT", "MINMAX"}
T_PURE_MOVE, T_ORDER = 1 << 10, 1 << 9
BITS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def ulp(ref, dtype):
    """Spacing of dtype's numbers at |ref| (double)."""
    info = torch.finfo(dtype)
    a = ref.abs().clamp(min=info.tiny)
    _, e = torch.frexp(a)
    slack = 64 if dtype == torch.float64 else 1     # nothing wider to compare with: both sides have rounded
    return slack * torch.ldexp(torch.full_like(a, info.eps), e - 1)


def first(bad, want, got):
    i = int(bad.reshape(-1).nonzero()[0])
    ours, theirs = got.reshape(-1)[i].item(), want.reshape(-1)[i].item()
    return f"{int(bad.sum())} of {bad.numel()} elements; element {i}: got {ours!r}, PyTorch {theirs!r}"


def same(a, b):
    if a.dtype.is_floating_point:
        return (a == b) | (a.isnan() & b.isnan())
    return a == b


# Where the operand is NaN these give the gradient, or 0, or NaN: the vector loop of PyTorch's kernel one thing, what is left over another.
LANES = {"hardshrink", "hardshrink_backward", "softshrink", "softshrink_backward", "hardswish", "hardswish_backward", "hardtanh",
         "hardtanh_backward", "elu", "elu_backward"}


def in_lanes(call, shape):
    """Which elements of a result or gradient of these sizes come of a NaN: of the operand, the last tensor of the call, or of a bound."""
    cells = [(s.flat if s.before is None else s.before).as_strided(s.size, s.stride, s.offset) for s in call.tensors]
    bound = any(isinstance(v, float) and math.isnan(v) for v in call.args)
    nan = (cells[-1].isnan() | bound).broadcast_to(torch.broadcast_shapes(*[t.shape for t in cells]))
    return nan.int().sum_to_size(shape) > 0


# A quotient that is beyond the format: the vector loop of PyTorch's kernel gives NaN (Sleef's fmod), what is left over the remainder.
DIVIDES = {"remainder.Tensor", "remainder.Scalar", "remainder.Scalar_Tensor", "fmod.Tensor", "fmod.Scalar", "floor_divide",
           "floor_divide.Scalar", "floor_divide.Tensor", "div.Tensor_mode", "div.Scalar_mode"}


def quotient_is_beyond(call, shape, dtype):
    """Of which elements of a result or gradient of these sizes it is."""
    cells = [(s.flat if s.before is None else s.before).as_strided(s.size, s.stride, s.offset).double() for s in call.tensors]
    over, under = call.python_args(cells)[0][:2]
    info = torch.finfo(torch.float64 if dtype == torch.float64 else torch.float32)
    q = torch.as_tensor(over, dtype=torch.float64) / torch.as_tensor(under, dtype=torch.float64)
    return (q.abs() > info.max * 0.99).int().sum_to_size(shape) > 0


def bits(op, want, got, call=None):
    if op["traits"] & T_PURE_MOVE and want.dtype.is_floating_point:
        w, g = want.contiguous().view(BITS[want.dtype.itemsize]), got.contiguous().view(BITS[want.dtype.itemsize])
        bad = (w != g) & ~(want.isnan() & got.isnan())
    else:
        bad = ~same(want, got)
    if op["computing"] in LANES and call is not None:
        bad &= ~in_lanes(call, want.shape)
    return first(bad, want, got) if bad.any() else None


# A NaN or infinite factor makes NaN with what lies in the padding in kernels that multiply by the 0 there, in double among them; a
# result that is finite has met none.
SLIDES = {"convolution", "convolution_backward"}
ATTENTION = {"_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_flash_attention_for_cpu_backward"}


def near(op, want, got, ref, stats, scale=None, unit=None, call=None, lost=0):
    """want: PyTorch's; ref: the same in double, or None; scale: magnitude of what was added up, or None; lost: how much of it may be."""
    if not want.dtype.is_floating_point:
        return bits(op, want, got)
    ok = same(want, got)
    if op["computing"] in LANES:
        ok = ok | want.isnan() | got.isnan()
        if call is not None:
            ok = ok | in_lanes(call, want.shape)
    if op["computing"] in DIVIDES and call is not None:
        ok = ok | (want.isnan() & quotient_is_beyond(call, want.shape, want.dtype))
    stats["exact"] += int(ok.sum())
    if ok.all():
        return None
    w, g = want.double(), got.double()
    r = w if ref is None else ref.double()
    if op["computing"] in LANES | SLIDES:
        r = torch.where(r.isnan(), w, r)
    unit = unit or want.dtype
    u = ulp(r, unit)
    err, terr = (g - r).abs(), (w - r).abs()
    # A result that double can hold but the dtype cannot: infinity and the largest number are both fair.
    big = torch.finfo(want.dtype).max
    close = (err <= 4 * u) | ((g - w).abs() <= 2 * u) | (g.isinf() & (r.abs() > big * 0.99) & (g.sign() == r.sign()))
    stats["near"] += int((close & ~ok).sum())
    ok = ok | close
    if ok.all():
        return None
    s = torch.zeros_like(r) if scale is None else scale.double().abs()
    finite = terr[terr.isfinite()]
    worst = finite.max() if finite.numel() else torch.tensor(0.0, dtype=torch.float64)
    # Overflow on the way depends on the order of the factors or terms.
    overflowed = ~g.isfinite() & ~w.isfinite() & ~r.isnan()
    if op["licence"] in ("PROD", "SCAN", "SUM", "MATMUL") or op["family"] == "composed":
        overflowed = ~g.isfinite() | ~w.isfinite()
    fuzz = 16 * max(1, sum(t.numel() for t in call.tensors)) if call is not None and op["licence"] == "PROD" else 8
    loose = (err <= fuzz * u) | (err <= 8 * terr) | (err <= 2 * worst) | (err <= 4 * ulp(torch.maximum(s, r.abs()), unit)) | overflowed
    if op["name"] in SLIDES | ATTENTION:    # where magnitudes add up to infinity, terms of either sign may have done so first
        loose |= (err <= lost + 4 * ulp(torch.maximum(s, r.abs()), unit)) | (s.isinf() & r.isfinite())
    stats["loose"] += int((loose & ~ok).sum())
    ok = ok | loose
    if ok.all():
        return None
    bad = ~ok
    return first(bad, want, got) + f", in double {r.reshape(-1)[int(bad.reshape(-1).nonzero()[0])].item()!r}"


def in_double(op, call, run):
    """run(call) with every floating operand in double."""
    try:
        return run(call.doubled())
    except Exception:  # noqa: BLE001
        return None


def forward64(op, call, k):
    from rules_torch import overload

    def go(tensors):
        if not any(t.is_floating_point() for t in tensors):     # a row that makes floats of integers takes them as f32 first
            tensors = [t.float().double() for t in tensors]
        args, kwargs = call.python_args(tensors)
        res = overload(op)(*args, **kwargs)
        return (list(res) if isinstance(res, (tuple, list)) else [res])[k]
    return in_double(op, call, go)


def magnitude(op, call, k, tiny=0.0):
    """tiny: without what is smaller."""
    from rules_torch import overload
    try:
        finite = (lambda t: t.nan_to_num(0, 0, 0)) if op["name"] in SLIDES else (lambda t: t)
        if tiny:
            finite = lambda t: torch.where(t.abs() < tiny, 0, t.nan_to_num(0, 0, 0))     # noqa: E731
        wide = [finite(t.double()) if op["licence"] != "ACCUM" and t.dtype != torch.bool else t for t in call.doubled()]
        args, kwargs = call.python_args([t if t.dtype == torch.bool else t.abs() for t in wide])
        sign = -1 if op["name"].startswith(("sub", "rsub")) else 1    # terms must add up, not cancel
        args = [abs(a) if isinstance(a, (int, float)) and not isinstance(a, bool) else a for a in args]
        kwargs = {k: sign * abs(a) if k == "alpha" else a for k, a in kwargs.items()}
        if sign < 0 and "alpha" not in kwargs:
            if len(args) == 3:
                args[2] = -args[2]
            else:
                kwargs["alpha"] = -1
        res = overload(op)(*args, **kwargs)
        return (list(res) if isinstance(res, (tuple, list)) else [res])[k]
    except Exception:  # noqa: BLE001
        return None


def score_error(call):
    """How far weights are off that come of rounded scores: exp(score), as often as a score is an error of 1."""
    x = torch.cat([t.flat.double().nan_to_num(0, 0, 0).abs() for t in call.tensors])
    return 1 + abs(float(call.python_args([t.tensor() for t in call.tensors])[1].get("scale") or 1)) * (x.max() ** 2 if x.numel() else 0)


def values(op, call, k, want, got, stats):
    if not want.dtype.is_floating_point or (op["licence"] in EXACT and not op["traits"] & 4):
        if op["traits"] & T_ORDER and k > 0:
            return None     # indices of an open order: their values are compared as result 0
        if op["name"] in ("max.dim", "min.dim", "topk") and k == 1:
            return None
        stats["exact"] += want.numel()
        return bits(op, want, got, call)
    ok = same(want, got)
    if ok.all():
        stats["exact"] += want.numel()
        return None
    ref = forward64(op, call, k)
    mag = magnitude(op, call, k) if op["licence"] in ("ARITH", "SUM", "SCAN", "MATMUL", "ACCUM") else None
    if op["family"] == "composed" or any(p["name"] == "approximate" for p in op["params"]):      # sums that cancel inside
        mag = want.double().abs().nan_to_num(0, 0, 0)
        mag = (mag.max() if mag.numel() else mag).expand(want.shape)
        if op["licence"] in ("VAR", "NORM") and want.numel():
            x = torch.cat([t.flat.double().nan_to_num(0, 0, 0).abs() for t in call.tensors])
            mag = torch.maximum(mag, x.max() ** 2) if x.numel() else mag
        if op["name"] in ATTENTION:
            mag = mag * score_error(call)
    if ref is not None and (not isinstance(ref, torch.Tensor) or not ref.dtype.is_floating_point or ref.shape != want.shape):
        ref = None
    fitting = mag if mag is not None and mag.shape == want.shape else None
    lost = 0
    if op["name"] in SLIDES and fitting is not None and want.dtype == torch.bfloat16:   # oneDNN takes denormal bf16 factors as 0
        lost = (fitting - magnitude(op, call, k, torch.finfo(want.dtype).tiny)).nan_to_num(0)
    return near(op, want, got, None if ref is None else ref.detach(), stats, fitting, call=call, lost=lost)


def gradient(op, call, i, run, want, got, stats):
    ok = same(want, got)
    if ok.all():
        stats["exact"] += want.numel()
        return None
    from rules_torch import overload

    def go(tensors):
        leaves = [t.detach().requires_grad_() if calls.has_gradient(t.dtype) else t for t in tensors]
        args, kwargs = call.python_args(leaves)
        if op["traits"] & 4:    # a leaf may not be written
            args[0] = args[0] * 1
        res = overload(op)(*args, **kwargs)
        outs = list(res) if isinstance(res, (tuple, list)) else [res]
        pairs = [(o, g.to(o.dtype)) for o, g in zip(outs, run.gouts) if g is not None]
        return torch.autograd.grad([o for o, _ in pairs], leaves[i], [g for _, g in pairs], allow_unused=True)[0]
    ref = in_double(op, call, go)
    if ref is not None and ref.shape != want.shape:
        ref = None
    s = want.double().abs().nan_to_num(0, 0, 0).max() if want.numel() else None
    summed = op["family"] in ("pointwise", "inplace") and any(want.numel() < g.numel() for g in run.gouts if g is not None)
    if op["licence"] == "TRANS" and want.dtype == torch.float64 and s is not None:  # of tanh near 1: 1 - y * y, and double is all there is
        s = torch.stack([s, *[g.double().nan_to_num(0, 0, 0).abs().max() for g in run.gouts if g is not None and g.numel()]]).max()
    # Distances from the mean cancel, and so do terms of sums.
    if (op["licence"] in ("VAR", "MATMUL") or op["family"] == "composed" or summed) and s is not None:
        x = torch.cat([t.flat.double().nan_to_num(0, 0, 0).abs() for t in call.tensors])
        g = torch.cat([g.double().nan_to_num(0, 0, 0).abs().reshape(-1) for g in run.gouts if g is not None])
        if x.numel() and g.numel():
            s = torch.maximum(s, x.max() * g.max())
            if op["name"] in ATTENTION:    # g * value that cancels out, times query or key; and weights from rounded scores
                s = torch.maximum(s, sum(call.tensors[1].size[2:]) * x.max() ** 2 * g.max() * score_error(call) ** 2)
            # what goes through the moments is in proportion to rstd^3 and to squares; batch norm that does not train keeps none
            if op["licence"] == "NORM" and run.outs[2].numel():
                s = torch.maximum(s, x.max() ** 2 * g.max() * run.outs[2].detach().double().nan_to_num(0, 0, 0).max().clamp(min=1) ** 3)
    # rounded to the result's dtype on the way
    coarse = [g.dtype for g in run.gouts if g is not None and torch.finfo(g.dtype).eps > torch.finfo(want.dtype).eps]
    return near(op, want, got, ref, stats, None if s is None else s.expand(want.shape), coarse[0] if coarse else None, call)
