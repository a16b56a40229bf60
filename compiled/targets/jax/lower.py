"""The family `jax`: programs in the core dialect as functions of JAX. Stage `op` runs them operator by operator, `jit` compiles them whole.

A value is an array of the row's sizes; strides exist only where as_strided and its like ask where an element lies: then the metas of the
program say it. What a row computes is written once, over jax.numpy and jax.lax, in the dtype that eager computes in: float32 for a half.
"""

import os

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"

import platform

import jax
import jax.numpy as jnp
import jaxlib
import ml_dtypes
import numpy as np
from jax import lax
from scatterproof import Ref, UnknownOption, Unsupported

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_traceback_in_locations_limit", 0)  # HLO does not say which line of this file made it

__version__ = jax.__version__
__versions__ = f"jax {jax.__version__}, jaxlib {jaxlib.__version__}, numpy {np.__version__}, python {platform.python_version()}"

NAMES = """bool uint8 int8 int16 int32 int64 uint16 uint32 uint64
float8_e4m3fn float8_e5m2 float16 bfloat16 float32 float64""".split()
DTYPES = {name: np.dtype(getattr(ml_dtypes, name, name)) for name in NAMES}
NARROW = {"float8_e4m3fn", "float8_e5m2", "float16", "bfloat16"}
MOST_PROGRAMS = 400  # executables are never freed


def is_float(dtype):
    return "float" in dtype


def computed_in(dtype):
    return "float32" if dtype in NARROW else dtype


def cast(x, dtype):
    """As Tensor.to: of floats to bool, whether it is not 0; integers wrap."""
    to = DTYPES[dtype]
    if x.dtype == to:
        return x
    return x != 0 if dtype == "bool" else lax.convert_element_type(x, to)


def number(value, dtype):
    """A Python number as an operand of what is computed in dtype."""
    if is_float(dtype):
        return jnp.asarray(np.float64(value).astype(DTYPES[dtype]))
    if dtype == "bool":
        return jnp.asarray(bool(value))
    bits = 8 * DTYPES[dtype].itemsize
    wrapped = int(value) & (1 << bits) - 1
    return jnp.asarray(np.array(wrapped, f"uint{bits}").view(DTYPES[dtype]))


# ---- where elements lie ----------------------------------------------------------------------------------------


def cells(size, stride, offset):
    at = np.full((), offset, np.int64)
    for n, s in zip(size, stride):
        at = at[..., None] + np.arange(n, dtype=np.int64) * s
    return at


def elements_at(meta, wanted):
    """Which element of a tensor of this meta, in row-major order, is at each place of its memory that is wanted."""
    own = cells(meta.size, meta.stride, meta.offset).reshape(-1)
    order = np.argsort(own, kind="stable")
    at = np.searchsorted(own[order], wanted.reshape(-1))
    found = np.minimum(at, max(own.size - 1, 0))
    if wanted.size and (own.size == 0 or (own[order][found] != wanted.reshape(-1)).any()):
        raise Unsupported("as_strided reads memory that is no element's of the tensor")
    return order[found].reshape(wanted.shape) if wanted.size else np.zeros(wanted.shape, np.int64)


# ---- rows: each is f(c, args), c the call (dtypes and metas), args by the schema's names, tensors as arrays -------


class Call:
    def __init__(self, node, metas):
        self.node, self.metas, self.out = node, metas, node.meta

    def meta_of(self, name):
        return self.metas[self.node.args[name].name]

    def dims(self, dim, rank):
        return tuple(d % rank for d in dim) if dim and rank else tuple(range(rank))


ROWS = {}


def row(*names):
    def keep(f):
        for name in names:
            ROWS["aten." + name + ("" if "." in name else ".default")] = f
        return f

    return keep


def at_least_1d(x):
    return x.reshape((1,)) if x.ndim == 0 else x


# views and copies


@row("expand")
def expand(c, a):
    return jnp.broadcast_to(a["self"], c.out.size)


@row("permute")
def permute(c, a):
    return jnp.transpose(a["self"], [d % a["self"].ndim for d in a["dims"]])


@row("view")
def view(c, a):
    return jnp.reshape(a["self"], c.out.size)


@row("slice.Tensor")
def slice_(c, a):
    return a["self"][sliced(a, a["self"].ndim)]


def sliced(a, rank):
    dim = a["dim"] % rank
    return (slice(None),) * dim + (slice(a["start"], a["end"], a["step"]),)


@row("as_strided")
def as_strided(c, a):
    at = elements_at(c.meta_of("self"), cells(c.out.size, c.out.stride, c.out.offset))
    return jnp.reshape(a["self"], (-1,))[at]


@row("view.dtype")
def view_dtype(c, a):
    x, to = a["self"], DTYPES[a["dtype"]]
    if x.dtype == to:
        return x
    if "bool" in (a["dtype"], x.dtype.name):
        raise Unsupported("bits of a bool")
    if x.size == 0:
        return jnp.zeros(c.out.size, to)
    if to.itemsize > x.dtype.itemsize:
        x = x.reshape(x.shape[:-1] + (-1, to.itemsize // x.dtype.itemsize))
    return lax.bitcast_convert_type(x, to).reshape(c.out.size)


@row("clone", "contiguous")
def clone(c, a):
    return a["self"]


@row("_to_copy")
def to_copy(c, a):
    return cast(a["self"], c.out.dtype)


@row("cat")
def cat(c, a):
    parts = [cast(t, c.out.dtype) for t in a["tensors"] if t.shape != (0,) or len(c.out.size) == 1]
    return jnp.concatenate(parts, a["dim"] % max(len(c.out.size), 1)) if parts else jnp.zeros(c.out.size, DTYPES[c.out.dtype])


@row("full")
def full(c, a):
    return jnp.full(c.out.size, number(a["fill_value"], c.out.dtype))


@row("arange.start_step")
def arange(c, a):
    n, dtype = c.out.size[0], c.out.dtype
    kind = np.float64 if is_float(dtype) else np.int64
    values = kind(a["start"]) + np.arange(n).astype(kind) * kind(a["step"])
    return jnp.asarray(values.astype(DTYPES[dtype]))


# by positions and masks


@row("where.self")
def where(c, a):
    return jnp.where(a["condition"] != 0, cast(a["self"], c.out.dtype), cast(a["other"], c.out.dtype))


def grid(index, dim, size):
    """Positions along dim from index, along each other dim those of the element itself."""
    at = list(jnp.indices(index.shape, sparse=True))
    at[dim] = index
    return tuple(at)


def along(a, *others):
    x, index, *rest = (at_least_1d(a[name]) for name in ("self", "index", *others))
    return x, index, a["dim"] % x.ndim, [r[tuple(slice(0, n) for n in index.shape)] for r in rest]


def countable(x, f):
    """f of x, which adds or multiplies: a bool counts as an integer there."""
    return cast(f(cast(x, "int64"), lambda v: cast(v, "int64")), "bool") if x.dtype == np.bool_ else f(x, lambda v: v)


@row("gather")
def gather(c, a):
    x, index, dim, _ = along(a)
    return x[grid(index, dim, x.shape)].reshape(c.out.size)


@row("scatter.src")
def scatter(c, a):
    x, index, dim, (src,) = along(a, "src")
    return x.at[grid(index, dim, x.shape)].set(src).reshape(c.out.size)


@row("scatter_add")
def scatter_add(c, a):
    x, index, dim, (src,) = along(a, "src")
    return countable(x, lambda x, of: x.at[grid(index, dim, x.shape)].add(of(src))).reshape(c.out.size)


@row("scatter_reduce.two")
def scatter_reduce(c, a):
    x, index, dim, (src,) = along(a, "src")
    at, how = grid(index, dim, x.shape), a["reduce"]
    into = x
    if not a["include_self"]:
        first = {"sum": 0, "mean": 0, "prod": 1}.get(how)
        if first is None:
            low = how == "amax"
            first = (-np.inf if low else np.inf) if is_float(c.out.dtype) else least(c.out.dtype) if low else most(c.out.dtype)
        into = into.at[at].set(number(first, c.out.dtype))
    if how in ("sum", "mean"):
        out = countable(into, lambda x, of: x.at[at].add(of(src)))
    elif how == "prod":
        out = countable(into, lambda x, of: x.at[at].multiply(of(src)))
    else:
        out = into.at[at].max(src) if how == "amax" else into.at[at].min(src)
    if how == "mean":
        count = jnp.zeros(x.shape, np.int64).at[at].add(1) + bool(a["include_self"])
        count = jnp.maximum(count, 1)
        t = computed_in(c.out.dtype)
        out = cast(cast(out, t) / cast(count, t), c.out.dtype) if is_float(t) else jnp.floor_divide(out, cast(count, t))
    return out.reshape(c.out.size)


def least(dtype):
    return 0 if dtype == "bool" else np.iinfo(DTYPES[dtype]).min


def most(dtype):
    return 1 if dtype == "bool" else np.iinfo(DTYPES[dtype]).max


def is_mask(i):
    return i is not None and i.dtype in (np.bool_, np.uint8)


def mask_of(indices):
    """The mask and its first dimension, where one is the only index; None without masks."""
    at = [d for d, i in enumerate(indices) if i is not None]
    if not any(is_mask(i) for i in indices):
        return None
    if len(at) > 1:
        raise Unsupported("a mask among other indices")
    return indices[at[0]] != 0, at[0]


def positions(indices, count=None):
    """count: how many elements of a mask are true."""
    out = []
    for i in indices:
        out += [slice(None)] if i is None else jnp.nonzero(i != 0, size=count) if is_mask(i) else [i]
    return tuple(out)


@row("index.Tensor")
def index(c, a):
    masked = mask_of(a["indices"])
    return a["self"][positions(a["indices"], masked and c.out.size[masked[1]])]


@row("index_put")
def index_put(c, a):
    x, values, masked, count = a["self"], a["values"], mask_of(a["indices"]), None
    if masked:
        mask, d = masked
        after = x.ndim - d - mask.ndim  # dimensions behind the mask's, of x and of values
        if values.ndim <= after or values.shape[-1 - after] == 1:  # one value for all that is true
            cut = max(values.ndim - after - 1, 0)
            values = values.reshape(values.shape[:cut] + (1,) * mask.ndim + values.shape[values.ndim - min(after, values.ndim) :])
            mask = mask.reshape(mask.shape + (1,) * after)
            new = countable(x, lambda x, of: x + of(values)) if a["accumulate"] else values
            return jnp.where(mask, new, x)
        count = values.shape[-1 - after]
    at = positions(a["indices"], count)
    return countable(x, lambda x, of: x.at[at].add(of(values))) if a["accumulate"] else x.at[at].set(values)


@row("index_select")
def index_select(c, a):
    x, index = at_least_1d(a["self"]), at_least_1d(a["index"])
    return x[(slice(None),) * (a["dim"] % x.ndim) + (index,)].reshape(c.out.size)


@row("masked_scatter")
def masked_scatter(c, a):
    mask = jnp.broadcast_to(a["mask"], c.out.size)
    x, source = jnp.broadcast_to(a["self"], c.out.size), a["source"].reshape((-1,))
    if source.size == 0:
        return x
    at = jnp.cumsum(mask.reshape((-1,)).astype(np.int64)) - 1
    return jnp.where(mask, source[jnp.clip(at, 0, source.size - 1)].reshape(x.shape), x)


def true_at(mask, count):
    return jnp.nonzero(mask.reshape((-1,)), size=count, fill_value=0)[0]


@row("masked_select")
def masked_select(c, a):
    shape = np.broadcast_shapes(a["self"].shape, a["mask"].shape)
    return jnp.broadcast_to(a["self"], shape).reshape((-1,))[true_at(jnp.broadcast_to(a["mask"], shape), c.out.size[0])]


@row("nonzero")
def nonzero(c, a):
    x = a["self"]
    at = true_at(x != 0, c.out.size[0])
    return jnp.stack(jnp.unravel_index(at, x.shape), 1).astype(np.int64) if x.ndim else jnp.zeros(c.out.size, np.int64)


# a view's region


@row("slice_scatter")
def slice_scatter(c, a):
    return a["self"].at[sliced(a, a["self"].ndim)].set(a["src"])


@row("select_scatter")
def select_scatter(c, a):
    return a["self"].at[(slice(None),) * (a["dim"] % a["self"].ndim) + (a["index"],)].set(a["src"])


@row("diagonal_scatter")
def diagonal_scatter(c, a):
    x, d1, d2, offset = a["self"], a["dim1"] % a["self"].ndim, a["dim2"] % a["self"].ndim, a["offset"]
    n = a["src"].shape[-1]
    i = np.arange(n)
    y = jnp.moveaxis(x, (d1, d2), (-2, -1)).at[..., i + max(-offset, 0), i + max(offset, 0)].set(a["src"])
    return jnp.moveaxis(y, (-2, -1), (d1, d2))


@row("as_strided_scatter")
def as_strided_scatter(c, a):
    m = c.meta_of("self")
    offset = m.offset if a["storage_offset"] is None else a["storage_offset"]
    at = elements_at(m, cells(a["size"], a["stride"], offset))
    return a["self"].reshape((-1,)).at[at].set(a["src"]).reshape(a["self"].shape)


# reductions, scans, order, products


def wide(x, c):
    return cast(cast(x, c.out.dtype), computed_in(c.out.dtype))


@row("sum.dim_IntList")
def sum_(c, a):
    x = wide(a["self"], c)
    return cast(jnp.sum(x, c.dims(a["dim"], x.ndim), dtype=x.dtype, keepdims=a["keepdim"]), c.out.dtype)


@row("prod.dim_int")
def prod(c, a):
    x = wide(a["self"], c)
    return cast(jnp.prod(x, c.dims([a["dim"]], x.ndim) if x.ndim else (), dtype=x.dtype, keepdims=a["keepdim"]), c.out.dtype)


@row("amax")
def amax(c, a):
    return jnp.max(a["self"], c.dims(a["dim"], a["self"].ndim), keepdims=a["keepdim"])


@row("amin")
def amin(c, a):
    return jnp.min(a["self"], c.dims(a["dim"], a["self"].ndim), keepdims=a["keepdim"])


def best(c, a, f):
    x = a["self"]
    if x.ndim == 0:
        return jnp.zeros(c.out.size, np.int64)
    if a["dim"] is None:
        return f(x.reshape((-1,)), 0).reshape(c.out.size).astype(np.int64)
    return f(x, a["dim"] % x.ndim).reshape(c.out.size).astype(np.int64)


@row("argmax")
def argmax(c, a):
    return best(c, a, jnp.argmax)


@row("argmin")
def argmin(c, a):
    return best(c, a, jnp.argmin)


@row("cumsum")
def cumsum(c, a):
    x = at_least_1d(wide(a["self"], c))
    return cast(lax.cumsum(x, a["dim"] % x.ndim), c.out.dtype).reshape(c.out.size)


@row("cumprod")
def cumprod(c, a):
    x = at_least_1d(wide(a["self"], c))
    return cast(lax.cumprod(x, a["dim"] % x.ndim), c.out.dtype).reshape(c.out.size)


@row("sort")
def sort(c, a):
    x = at_least_1d(a["self"])
    dim = a["dim"] % x.ndim
    key = jnp.flip(x, dim) if a["descending"] else x
    at = lax.broadcasted_iota(np.int64, x.shape, dim)
    at = jnp.flip(at, dim) if a["descending"] else at
    key, at = lax.sort((key, at), dimension=dim, is_stable=True, num_keys=1)
    if a["descending"]:
        key, at = jnp.flip(key, dim), jnp.flip(at, dim)
    return key.reshape(c.out.size), at.reshape(c.out.size)


@row("mm", "bmm")
def product(c, a):
    to = DTYPES[computed_in(c.out.dtype)]
    x, y = a["self"], a["mat2"]
    batch = tuple(range(x.ndim - 2))
    dims = (((x.ndim - 1,), (x.ndim - 2,)), (batch, batch))
    return cast(lax.dot_general(x, y, dims, precision=lax.Precision.HIGHEST, preferred_element_type=to), c.out.dtype)


# ---- element by element: over the operands, in the dtype that they are computed in --------------------------------------


def pointwise(name, f, compares=False):
    def run(c, a):
        tensors = [v for k, v in a.items() if isinstance(c.node.args[k], Ref)]
        t = common(tensors) if compares else c.out.dtype
        t = computed_in(t)
        in_ints = t == "bool" and not compares and not name.startswith("bitwise")
        t = "int64" if in_ints else t
        values = []
        for k, v in a.items():
            if isinstance(c.node.args[k], Ref):
                values.append(cast(v, t))
            elif isinstance(v, (int, float)) and k not in ("is_result", "self_is_result"):
                values.append(number(v, t))
            else:
                values.append(v)
        arrays = [k for k, v in enumerate(values) if isinstance(v, jax.Array)]
        for k, v in zip(arrays, jnp.broadcast_arrays(*(values[k] for k in arrays))):
            values[k] = v
        return cast(jnp.broadcast_to(f(*values), c.out.size), c.out.dtype)

    ROWS["aten." + name + ("" if "." in name else ".default")] = run


def common(tensors):
    """torch.result_type of tensors: those without dimensions count only if they are of a higher kind."""
    kind = lambda t: 2 if is_float(t.dtype.name) else int(t.dtype != np.bool_)  # noqa: E731
    best = None
    for group in ([t for t in tensors if t.ndim], [t for t in tensors if not t.ndim]):
        if not group:
            continue
        dtype = group[0].dtype
        for t in group[1:]:
            dtype = jnp.promote_types(dtype, t.dtype)
        top = max(kind(t) for t in group)
        if best is None or top > best[1]:
            best = (dtype, top)
    return np.dtype(best[0]).name


def floats(x):
    return jnp.issubdtype(x.dtype, jnp.floating)


def quotient(a, b, how):
    if how is None:
        return a / b
    if not floats(a):
        q = lax.div(a, b)
        return q - cast((lax.rem(a, b) != 0) & ((a < 0) != (b < 0)), a.dtype.name) if how == "floor" else q
    if how == "trunc":
        return jnp.trunc(a / b)
    mod = lax.rem(a, b)
    div = (a - mod) / b
    div = jnp.where((mod != 0) & ((b < 0) != (mod < 0)), div - 1, div)
    low = jnp.floor(div)
    low = jnp.where(div - low > 0.5, low + 1, low)
    return jnp.where(b == 0, a / b, jnp.where(div != 0, low, jnp.copysign(jnp.zeros_like(a), a / b)))


def remainder(a, b):
    mod = lax.rem(a, b)
    return jnp.where((mod != 0) & ((b < 0) != (mod < 0)), mod + b, mod)


def power(a, b):
    if floats(a):
        return jnp.power(a, b)
    up = jnp.power(a, jnp.where(b < 0, 0, b))
    odd = (b & 1) != 0
    return jnp.where(b < 0, jnp.where(a == 1, 1, jnp.where(a == -1, jnp.where(odd, -1, 1), 0)).astype(a.dtype), up)


def lerp(a, b, w):
    return jnp.where((w < 0.5) & (w > -0.5), a + w * (b - a), b - (b - a) * (1 - w))


def logaddexp(a, b):
    same = (a == b) & ~jnp.isfinite(a)
    return jnp.where(same, a, jnp.where(a > b, a, b) + jnp.log1p(jnp.exp(-jnp.abs(a - b))))


def zero_times(a, b, f):
    return jnp.where(jnp.isnan(b), b, jnp.where(a == 0, jnp.zeros_like(a), a * f(b)))


def entropy(a):
    return jnp.where(a > 0, -a * jnp.log(a), jnp.where(a == 0, 0.0, jnp.where(a < 0, -jnp.inf, a)))


def clamp_low(a, s):
    return jnp.where(jnp.isnan(s) | (a < s), s, a) if floats(a) else jnp.where(a < s, s, a)


def clamp_high(a, s):
    return jnp.where(jnp.isnan(s) | (a > s), s, a) if floats(a) else jnp.where(a > s, s, a)


def fmax(a, b):
    return jnp.where(jnp.isnan(b) | (a >= b), a, b) if floats(a) else jnp.maximum(a, b)


def fmin(a, b):
    return jnp.where(jnp.isnan(b) | (a <= b), a, b) if floats(a) else jnp.minimum(a, b)


def sign(a):
    return (a > 0).astype(a.dtype) - (a < 0).astype(a.dtype)


def gelu_backward(g, x, how):
    if how == "none":
        return g * (0.5 * (1 + lax.erf(x * 0.7071067811865475)) + x * (jnp.exp(x * x * -0.5) * 0.3989422804014327))
    t = jnp.tanh(0.7978845608028654 * (x + 0.044715 * (x * x * x)))
    return g * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * (0.7978845608028654 * (1 + 3 * 0.044715 * (x * x))))


def sigmoid(x):
    return 1 / (1 + jnp.exp(-x))


def mish_backward(g, x):
    t = jnp.tanh(jnp.log1p(jnp.exp(x)))
    return g * (t + x / (1 + jnp.exp(-x)) * (1 - t * t))


def bend(x):
    return jnp.clip(x + 3, 0, 6)


def elu_backward(g, alpha, scale, slope, is_result, x):
    low = g * slope * (x + scale * alpha) if is_result else g * slope * (alpha * scale) * jnp.exp(x * slope)
    return jnp.where((x > 0) | jnp.isnan(x), g * scale, low)


def softplus_backward(g, x, beta, threshold):
    e = jnp.exp(x * beta)
    return jnp.where(x * beta > threshold, g, g * e / (e + 1))


POINTWISE = {
    "add.Tensor": lambda a, b, s: a + s * b,
    "rsub.Tensor": lambda a, b, s: b - s * a,
    "mul.Tensor": lambda a, b: a * b,
    "div.Tensor": lambda a, b: a / b,
    "div.Tensor_mode": quotient,
    "div.Scalar_mode": quotient,
    "floor_divide": lambda a, b: quotient(a, b, "floor"),
    "floor_divide.Scalar": lambda a, b: quotient(a, b, "floor"),
    "remainder.Tensor": remainder,
    "remainder.Scalar": remainder,
    "remainder.Scalar_Tensor": remainder,
    "fmod.Tensor": lax.rem,
    "fmod.Scalar": lax.rem,
    "addcdiv": lambda a, b, c, s: a + s * b / c,
    "lerp.Scalar": lerp,
    "lerp.Tensor": lerp,
    "fmax": fmax,
    "fmin": fmin,
    "pow.Tensor_Scalar": power,
    "pow.Tensor_Tensor": power,
    "pow.Scalar": power,
    "atan2": jnp.arctan2,
    "xlogy.Tensor": lambda a, b: zero_times(a, b, jnp.log),
    "special_xlog1py": lambda a, b: zero_times(a, b, jnp.log1p),
    "special_entr": entropy,
    "bitwise_not": jnp.bitwise_not,
    "bitwise_and.Tensor": jnp.bitwise_and,
    "bitwise_or.Tensor": jnp.bitwise_or,
    "bitwise_xor.Tensor": jnp.bitwise_xor,
    "bitwise_and.Scalar": jnp.bitwise_and,
    "bitwise_or.Scalar": jnp.bitwise_or,
    "bitwise_xor.Scalar": jnp.bitwise_xor,
    "neg": lambda a: -a,
    "abs": jnp.abs,
    "sgn": sign,
    "copysign.Tensor": jnp.copysign,
    "copysign.Scalar": jnp.copysign,
    "heaviside": lambda a, b: jnp.where(a == 0, b, (a > 0).astype(a.dtype)),
    "exp": jnp.exp,
    "log": jnp.log,
    "log1p": jnp.log1p,
    "expm1": jnp.expm1,
    "sqrt": jnp.sqrt,
    "sin": jnp.sin,
    "cos": jnp.cos,
    "tanh": jnp.tanh,
    "clamp_min": clamp_low,
    "clamp_max": clamp_high,
    "clamp_min.Tensor": jnp.maximum,
    "clamp_max.Tensor": jnp.minimum,
    "hardtanh": lambda a, low, high: clamp_high(clamp_low(a, low), high),
    "hardtanh_backward": lambda g, x, low, high: jnp.where((x <= low) | (x >= high), 0, g),
    "hardshrink": lambda a, s: jnp.where((a >= -s) & (a <= s), 0, a),
    "hardshrink_backward": lambda g, x, s: jnp.where((x >= -s) & (x <= s), 0, g),
    "softshrink": lambda a, s: jnp.where(a > s, a - s, jnp.where(a < -s, a + s, a * 0)),
    "softshrink_backward": lambda g, x, s: jnp.where((x >= -s) & (x <= s), 0, g),
    "threshold": lambda a, s, t: jnp.where(a <= s, t, a),
    "threshold_backward": lambda g, x, s: jnp.where(x <= s, 0, g),
    "gelu_backward": gelu_backward,
    "floor": lambda a: jnp.floor(a) if floats(a) else a,
    "round": lambda a: jnp.round(a) if floats(a) else a,
    "frac": lambda a: a - jnp.trunc(a),
    "sinh": jnp.sinh,
    "cosh": jnp.cosh,
    "erf": lax.erf,
    "erfc": lax.erfc,
    "hypot": jnp.hypot,
    "logaddexp": logaddexp,
    "tan": jnp.tan,
    "asin": jnp.arcsin,
    "acos": jnp.arccos,
    "atan": jnp.arctan,
    "asinh": jnp.arcsinh,
    "acosh": jnp.arccosh,
    "atanh": jnp.arctanh,
    "exp2": jnp.exp2,
    "log2": jnp.log2,
    "log10": jnp.log10,
    "sigmoid_backward": lambda g, y: g * (1 - y) * y,
    "silu": lambda a: a / (1 + jnp.exp(-a)),
    "silu_backward": lambda g, x: g * sigmoid(x) * (1 + x * (1 - sigmoid(x))),
    "mish": lambda a: a * jnp.tanh(jnp.log1p(jnp.exp(a))),
    "mish_backward": mish_backward,
    "hardswish": lambda a: a * bend(a) / 6,
    "hardswish_backward": lambda g, x: jnp.where(x <= -3, 0, jnp.where(x < 3, g * (x / 3 + 0.5), g)),
    "hardsigmoid": lambda a: bend(a) / 6,
    "hardsigmoid_backward": lambda g, x: jnp.where((x > -3) & (x < 3), g * np.float32(1.0 / 6.0).astype(g.dtype), 0),
    "leaky_relu": lambda a, s: jnp.where(a > 0, a, a * s),
    "leaky_relu_backward": lambda g, x, s, _: jnp.where(x > 0, g, g * s),
    "elu": lambda a, alpha, scale, slope: jnp.where(a < 0, jnp.expm1(a * slope) * (alpha * scale), a * scale),
    "elu_backward": elu_backward,
    "softplus": lambda a, beta, t: jnp.where(a * beta > t, a, jnp.log1p(jnp.exp(a * beta)) / beta),
    "softplus_backward": softplus_backward,
}
COMPARES = {
    "eq.Tensor": lambda a, b: a == b,
    "lt.Tensor": lambda a, b: a < b,
    "le.Tensor": lambda a, b: a <= b,
    "logical_or": lambda a, b: (a != 0) | (b != 0),
    "logical_xor": lambda a, b: (a != 0) ^ (b != 0),
    "isnan": lambda a: a != a,
    "isinf": lambda a: jnp.isinf(a) if floats(a) else a != a,
    "isposinf": lambda a: jnp.isposinf(a) if floats(a) else a != a,
    "isneginf": lambda a: jnp.isneginf(a) if floats(a) else a != a,
    "signbit": lambda a: jnp.signbit(a) if floats(a) else (a < 0 if a.dtype != np.bool_ else a != a),
}
for name, f in POINTWISE.items():
    pointwise(name, f)
for name, f in COMPARES.items():
    pointwise(name, f, compares=True)


# ---- programs ------------------------------------------------------------------------------------------------------------


def array(t):
    return np.frombuffer(t.tobytes(), DTYPES[t.dtype]).reshape(t.size)


def option_value(text):
    return {"true": True, "false": False}[text] if text in ("true", "false") else int(text) if text.lstrip("-").isdigit() else text


class Compiled:
    """A call's program as a function from arrays of the inputs to (outputs, gradients, written inputs)."""

    def __init__(self, program):
        self.nodes, self.outputs = program.nodes, program.outputs
        self.gradients = [node for node in program.gradients.values() if node]
        self.inputs = list(program.inputs)
        self.memory = {name: id(t.storage) for name, t in program.inputs.items()}
        self.writes = {n.args["self"].name: n.name for n in self.nodes if n.op == "aten.copy_.default"}
        self.metas = {name: t for name, t in program.inputs.items()}
        self.metas.update((n.name, n.meta) for n in self.nodes if n.meta)
        missing = {n.op for n in self.nodes} - set(ROWS) - {"aten.copy_.default", "getitem"}
        if missing:
            raise Unsupported("no lowering of " + ", ".join(sorted(missing)))
        options = {name: option_value(text) for name, text in program.options.items() if name.startswith("xla_")}
        self.fn = jax.jit(self.trace, compiler_options=options) if program.stage == "jit" else self.trace

    def trace(self, *given):
        env, stale = dict(zip(self.inputs, given)), set()

        def read(v):
            if isinstance(v, Ref):
                if v.name in stale:
                    raise Unsupported("a read of an input that another name of its memory has written")
                return env[v.name]
            return [read(x) for x in v] if isinstance(v, list) else v

        for n in self.nodes:
            args = {k: read(v) for k, v in n.args.items()}
            if n.op == "getitem":
                env[n.name] = args["self"][args["index"]]
            elif n.op == "aten.copy_.default":
                to, written = args["self"], n.args["self"].name
                env[n.name] = env[written] = jnp.broadcast_to(cast(args["src"], to.dtype.name), to.shape)
                stale |= {name for name in self.inputs if name != written and self.memory[name] == self.memory[written]}
            else:
                env[n.name] = ROWS[n.op](Call(n, self.metas), args)
        return [env[k] for k in self.outputs], [env[k] for k in self.gradients], [env[k] for k in self.writes]


compiled_programs = 0


def run(program):
    global compiled_programs
    code = program.cache.get((program.stage, program.key))
    if code is None:
        compiled_programs += 1
        if compiled_programs % MOST_PROGRAMS == 0:
            jax.clear_caches()
        code = program.cache[program.stage, program.key] = Compiled(program)
    jax.config.update("jax_disable_most_optimizations", program.stage == "op")
    given, fn = [jnp.asarray(array(t)) for t in program.inputs.values()], code.fn
    try:
        if "probe.keep" in program.options:
            lowered = fn.lower(*given)
            fn = lowered.compile()
            program.artifacts["StableHLO graph"] = lowered.as_text()
            program.artifacts["optimised HLO graph"] = fn.as_text()
        outputs, grads, written = fn(*given)
    except jax.errors.JaxRuntimeError as error:
        if "No such compile option" in str(error) or "While setting option" in str(error):
            raise UnknownOption(str(error)) from None
        raise
    for name, value in zip(code.writes, written):
        program.inputs[name].write(np.ascontiguousarray(value).tobytes())
    made = iter(grads)
    gradients = {name: node and tensor(program, next(made)) for name, node in program.gradients.items()}
    return [program.inputs.get(k) or tensor(program, v) for k, v in zip(code.outputs, outputs)], gradients


def tensor(program, value):
    value = np.asarray(value)
    return program.tensor(value.dtype.name, value.shape, np.ascontiguousarray(value).tobytes())
