"""moves_cases.py: prints moves_cases.def: calls of views, copies, scatters, gathers with what PyTorch says (facts, not our own answers).

python moves_cases.py > moves_cases.def      (PyTorch 2.11.0, CPU). Values: an operand's cell c holds (7 * c + seed) % high, or c where high
is 0, as its dtype's number (b8: not 0); cotangents are 1, 2, 3, …
"""
import torch

VIEWS = {"expand", "permute", "transpose.int", "unsqueeze", "squeeze.dim", "slice.Tensor", "select.int", "view", "as_strided", "diagonal",
         "unfold", "split.Tensor", "unbind.int"}        # their derivative is the interpreter's
DT = {"b8": torch.bool, "u8": torch.uint8, "i32": torch.int32, "i64": torch.int64, "f16": torch.float16, "bf16": torch.bfloat16,
      "f32": torch.float32, "f64": torch.float64}
NAME = {v: k for k, v in DT.items()}


def T(size, stride=None, offset=0, dtype="f32", seed=0, high=0):
    if stride is None:
        stride, s = [], 1
        for n in reversed(size):
            stride.insert(0, s)
            s *= max(n, 1)
    return {"size": size, "stride": stride, "offset": offset, "dtype": dtype, "seed": seed, "high": high}


def build(t):
    n = 1
    for s in t["size"]:
        n *= s
    cells = t["offset"] + 1 + sum((a - 1) * b for a, b in zip(t["size"], t["stride"])) if n else 0
    v = [(7 * c + t["seed"]) % t["high"] if t["high"] else c for c in range(cells)]
    return torch.tensor(v, dtype=torch.int64).to(DT[t["dtype"]]).as_strided(t["size"], t["stride"], t["offset"])


def text(t):
    s = f"input({t['size']}, stride={t['stride']}, offset={t['offset']}, dtype={t['dtype']}, seed={t['seed']}"
    return s + (f", high={t['high']})" if t["high"] else ")")


def flat(t):
    return " ".join(format(float(v), ".6g") for v in t.reshape(-1).tolist())


def show(o):
    stride = [s if n > 1 and o.numel() else 0 for s, n in zip(o.stride(), o.shape)]
    return f"{NAME[o.dtype]}{list(o.shape)}{stride}@{o.storage_offset() if o.numel() else 0}: {flat(o)}"


def arg(v, names):
    if isinstance(v, dict):
        return names[id(v)]
    if isinstance(v, list):
        return "[" + ", ".join(arg(x, names) for x in v) + "]"
    if isinstance(v, str):
        return f'"{v}"'
    return repr(v)


def case(name, *args, **kwargs):
    tensors = []
    for v in args:
        for t in v if isinstance(v, list) else [v]:
            if isinstance(t, dict) and all(t is not u for u in tensors):
                tensors.append(t)
    names = {id(t): f"x{i}" for i, t in enumerate(tensors)}
    leaves = {id(t): build(t).requires_grad_(DT[t["dtype"]].is_floating_point) for t in tensors}

    def conv(v):
        if isinstance(v, dict):
            return leaves[id(v)]
        return [conv(x) for x in v] if isinstance(v, list) else v
    base, _, ov = name.partition(".")
    try:
        out = getattr(getattr(torch.ops.aten, base), ov or "default")(*[conv(a) for a in args], **kwargs)
        outs = list(out) if isinstance(out, (list, tuple)) else [out]
        want = [show(o.detach()) for o in outs]
        o = outs[0]
        if o.requires_grad and name not in VIEWS:
            g = torch.arange(1, o.numel() + 1).reshape(o.shape).to(o.dtype)
            need = [t for t in tensors if leaves[id(t)].requires_grad]
            for t, gi in zip(need, torch.autograd.grad(o, [leaves[id(t)] for t in need], g, allow_unused=True)):
                want.append(f"grad {names[id(t)]}: {'none' if gi is None else flat(gi)}")
    except Exception as e:  # noqa: BLE001
        want = ["error: " + str(e).split("\n")[0].replace("expand(torch.FloatTensor{[4, 3]}, size=[3]): ", "")]
    prog = ["# scatterproof 1"] + [f"{names[id(t)]} = {text(t)}" for t in tensors]
    parts = [arg(a, names) for a in args] + [f"{k}={arg(v, names)}" for k, v in kwargs.items()]
    prog += [f"y = {name}({', '.join(parts)})", f"return ({'x0' if tensors else 'y'},)"]

    def c(lines):
        return "\n\t".join('"' + line.replace("\\", "\\\\").replace('"', '\\"') + '\\n"' for line in lines)
    print(f'CASE("{name}",\n\t{c(prog)},\n\t{c(want)})')


def main():
    print("/* Made by moves_cases.py from PyTorch's answers; do not edit. */")
    x, xt, ex, gap = T([4, 3]), T([4, 3], [1, 4]), T([4, 3], [0, 1]), T([2, 3], [6, 2], 5)
    cl = T([2, 3, 2, 2], [12, 1, 6, 3])
    over = T([3, 2], [1, 1])
    ix = T([2, 3], dtype="i64", high=4)
    i1, iu = T([3], dtype="i64", high=4), T([3], dtype="i64", seed=1, high=3)
    m = T([4, 3], dtype="b8", high=2)
    # views
    case("expand", T([3, 1]), [2, -1, 4])
    case("expand", x, [3])
    case("permute", T([2, 3, 4]), [2, 0, 1])
    case("transpose.int", gap, 0, -1)
    case("unsqueeze", gap, -1)
    case("squeeze.dim", T([1, 3]), 0)
    case("slice.Tensor", gap, 1, -2, None, 1)
    case("slice.Tensor", x, 0, 1, 100, 2)
    case("slice.Tensor", x, 0, 3, 1, 1)
    case("slice.Tensor", T([]), 0)
    case("select.int", gap, -1, -1)
    case("select.int", x, 0, 4)
    case("view", x, [2, -1])
    case("view", xt, [12])
    case("as_strided", x, [2, 2], [3, 1], 4)
    case("as_strided", x, [2, 2], [30, 1])
    case("diagonal", x, 1, 1, 0)
    case("diagonal", x, 9)
    case("unfold", T([7]), 0, 3, 2)
    case("split.Tensor", T([7, 2]), 3)
    case("unbind.int", T([2, 3]), 1)
    # copies
    case("clone", gap)
    case("clone", ex)
    case("clone", T([2, 3, 4], [48, 2, 8]))
    case("contiguous", xt)
    case("reshape", xt, [2, 6])
    case("cat", [cl, cl], 1)
    case("cat", [T([0]), x, T([4, 2], dtype="f16")], -1)
    case("stack", [xt, xt], 1)
    case("flip", xt, [0, -1])
    case("roll", cl, [1], [2])
    case("roll", cl, [0], [2])
    case("roll", x, [-5])
    case("roll", x, [1, 1], [0, 0])
    case("repeat", T([2]), [2, 3])
    case("constant_pad_nd", x, [1, -1, -1, 2], 7)
    case("constant_pad_nd", xt, [-1, 0])
    case("constant_pad_nd", x, [-2, -2])
    case("tril", T([2, 3, 3]), -1)
    case("triu", xt, 1)
    # scatters of a region
    case("slice_scatter", ex, T([2, 3]), 0, 1, 3)
    case("slice_scatter", gap, T([2, 1], dtype="i32"), 1, -1)
    case("slice_scatter", xt, T([1, 3]), 0, 0, 9, 4)
    case("slice_scatter", x, T([1, 3]), 0, 0, 2)
    case("select_scatter", xt, T([4]), 1, -1)
    case("diagonal_scatter", gap, T([2]), 1)
    # scatters along a dim
    case("scatter.src", xt, 0, T([2, 3], dtype="i64", seed=1, high=4), T([2, 3]))
    case("scatter.value", x, 1, T([3, 2], dtype="i64", high=3), 2.5)
    case("scatter.value", T([2], dtype="u8"), 0, T([1], dtype="i64"), 300)
    case("scatter_add", x, 0, T([5, 2], dtype="i64", high=4), T([5, 2], seed=3, high=9))
    case("scatter_add", T([4], dtype="u8"), 0, T([9], dtype="i64", high=2), T([9], dtype="u8", high=251))
    for red in ("sum", "prod", "mean", "amax", "amin"):
        for inc in (True, False):
            case("scatter_reduce.two", T([4], high=3), 0, T([6], dtype="i64", high=3), T([6], high=4), red, include_self=inc)
    case("scatter_reduce.two", T([3], dtype="i64"), 0, T([4], dtype="i64", high=2), T([4], dtype="i64", seed=2, high=5), "mean")
    case("scatter_reduce.two", T([3]), 0, T([4], dtype="i64", high=2), T([4]), "median")
    # index operators
    case("index_add", xt, 0, i1, T([3, 3]), alpha=2)
    case("index_add", T([5], dtype="i32"), 0, T([3], dtype="i32", high=5), T([3], dtype="i32"), alpha=2.9)
    case("index_copy", ex, -2, T([2], dtype="i64", seed=1, high=4), T([2, 3], seed=3, high=9))
    case("index_copy", x, 0, i1, T([3, 2]))
    case("index_fill.int_Scalar", xt, 1, T([1], dtype="i64"), 9)
    case("index_select", xt, 0, i1)
    case("index_select", x, 0, T([2], dtype="i64", seed=4, high=6))
    case("embedding", x, T([2, 2], dtype="i64", high=4))
    case("gather", xt, 1, T([3, 4], dtype="i64", high=3))
    z = T([3, 2, 4])
    case("index.Tensor", z, [T([2], dtype="i64", high=3), None, T([2], dtype="i64", seed=1, high=4)])
    case("index.Tensor", z, [None, T([2, 2], dtype="i64", high=2)])
    case("index.Tensor", T([3, 2, 4], [1, 12, 3]), [None, None, T([2], dtype="i64", high=4)])
    case("index.Tensor", z, [T([2], dtype="i64", seed=2, high=4)])
    case("index_put", xt, [iu], T([3]))
    case("index_put", x, [None, T([4], dtype="i64", high=3)], T([4, 4]), True)
    case("index_put", x, [m], T([1], seed=9, high=10))
    case("index_put", x, [m], T([], dtype="i64", seed=9, high=10))
    case("index_put", x, [T([4], dtype="b8", high=2)], T([2, 3], seed=5, high=8))
    case("index_put", x, [T([4], dtype="b8", high=2)], T([3, 3]))
    # masks
    case("masked_fill.Scalar", xt, m, 7)
    case("masked_fill.Scalar", T([3]), m, -1)
    case("masked_scatter", xt, m, T([3, 3], seed=20, high=50))
    case("masked_scatter", x, m, T([2]))
    case("where.self", m, xt, T([3], dtype="f64"))
    case("where.self", T([4, 3], [1, 4], dtype="b8", high=2), xt, T([], dtype="i64"))
    case("full", [2, 2], 3)
    case("zeros_like", gap)
    case("ones_like", ex)
    case("clone", over)


main()
