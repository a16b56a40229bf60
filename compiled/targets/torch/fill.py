# The data of inputs: the arithmetic of scatterproof's eager/lang/fill.h, bit for bit. Needs torch only.
import math

import torch

_M = (1 << 64) - 1
# dtypes: fill; written by tests/unit/dtype_tables.py
_ROWS = {  # the dyadic fill's reach and step, significand bits, has infinities
    "b8": (torch.bool, 1, 1.0, 0, False),
    "u8": (torch.uint8, 8, 1.0, 0, False),
    "i8": (torch.int8, 8, 1.0, 0, False),
    "i16": (torch.int16, 8, 1.0, 0, False),
    "i32": (torch.int32, 8, 1.0, 0, False),
    "i64": (torch.int64, 8, 1.0, 0, False),
    "u16": (torch.uint16, 8, 1.0, 0, False),
    "u32": (torch.uint32, 8, 1.0, 0, False),
    "u64": (torch.uint64, 8, 1.0, 0, False),
    "f8_e4m3fn": (torch.float8_e4m3fn, 6, 0.5, 4, False),
    "f8_e5m2": (torch.float8_e5m2, 6, 0.5, 3, True),
    "f16": (torch.float16, 6, 0.5, 11, True),
    "bf16": (torch.bfloat16, 3, 0.5, 8, True),
    "f32": (torch.float32, 32, 0.125, 24, True),
    "f64": (torch.float64, 64, 0.125, 53, True),
}
# dtypes end
_DTYPE = {name: row[0] for name, row in _ROWS.items()}


def _holds(dtype: str) -> int:
    """The bits of a number in [0, 2^bits), each of which the dtype holds; bool: none."""
    to = _DTYPE[dtype]
    if to.is_floating_point:
        return _ROWS[dtype][3]
    return 0 if dtype == "b8" else 8 * to.itemsize - int(to.is_signed)


def _as_signed(to: torch.dtype) -> torch.dtype:
    return {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[to.itemsize]


def _signed(x: int) -> int:
    return x - (1 << 64) if x >> 63 else x


def _shr(x: torch.Tensor, n: int) -> torch.Tensor:
    return (x >> n) & ((1 << (64 - n)) - 1)


def _mix(x: torch.Tensor) -> torch.Tensor:
    x = (x ^ _shr(x, 30)) * _signed(0xBF58476D1CE4E5B9)
    x = (x ^ _shr(x, 27)) * _signed(0x94D049BB133111EB)
    return x ^ _shr(x, 31)


def _hashes(seed: int, count: int) -> torch.Tensor:
    key = _mix(torch.tensor([_signed((seed + 0x9E3779B97F4A7C15) & _M)]))
    return _mix(key ^ torch.arange(count) * _signed(0xD1342543DE82EF95))


def _special(dtype: str) -> torch.Tensor:
    """As integers: their bits."""
    to, (_, _, _, precision, infinite) = _DTYPE[dtype], _ROWS[dtype]
    bits = 8 * to.itemsize
    if to.is_floating_point:
        sign, ulp = 1 << (bits - 1), 1 << (precision - 1)
        last = sign - 1
        inf, nan = (last - (ulp - 1), last - (ulp - 1) | ulp >> 1) if infinite else (last, last)
        one = ((1 << (bits - 1 - precision)) - 1) * ulp
        table = [inf, sign | inf, nan, sign, 1, sign | 1, ulp - 1, ulp, inf - 1, sign | (inf - 1), one + 1, 0]
    else:
        lo, quarter = 1 << (bits - 1), 1 << (bits - 2)
        table = [lo, lo - 1, 0, -1, 1, lo + 1, lo - 2, -2, 2, quarter, 3 * quarter, 3]
    table = [x % (1 << bits) for x in table]
    return torch.tensor([x - (1 << bits) if x >> (bits - 1) else x for x in table], dtype=_as_signed(to))


def _cells(dtype: str, h: torch.Tensor, fill: str, high: int) -> torch.Tensor:
    to, r = _DTYPE[dtype], _shr(h, 33)
    signed = to.is_floating_point or to.is_signed
    if dtype == "b8":
        return torch.ones_like(r, dtype=to) if fill in ("positive", "nonzero") else (r & 1).to(to)
    if fill == "normal":
        n = torch.full_like(h, -6 * 65536)
        for _ in range(3):
            n += (h & 65535) + (_shr(h, 16) & 65535) + (_shr(h, 32) & 65535) + _shr(h, 48)
            h = _mix(h)
        return (n.double() / 65536).to(to) if to.is_floating_point else ((n >> 12) + (0 if signed else 100)).to(to)
    if fill == "ties":
        return ((r & 3) - int(signed)).to(to)
    if fill == "wide" and not to.is_floating_point:
        return _shr(h, 9) - (1 << 54) if dtype == "i64" else h.to(to)
    if fill == "around" and signed:
        return ((r >> 1) % high - (r & 1) * high).to(to)
    if fill in ("index", "around", "unique", "unique_around"):
        return (r % high).to(to)
    if fill == "mask":
        return (r & 1).to(to)
    _, reach, step, _, _ = _ROWS[dtype]
    if fill == "positive":
        return ((r % reach + 1).double() * step).to(to)
    if fill == "nonzero":
        k = r % (2 * reach) - (reach if signed else 0)
        return ((k + (k >= 0)).double() * step).to(to)
    k = r % (2 * reach + 1) - (reach if signed else 0)
    value = (k.double() * step).to(to)
    if fill == "special":
        value = torch.where((h & 3) == 0, _special(dtype)[(_shr(h, 2) & 31) % 12], value.view(_as_signed(to))).view(to)
    return value


def make_storage(dtype: str, ncells: int, fill: str, seed: int, high: int = 0, dim: int = 0,
                 size: tuple = (), stride: tuple = (), offset: int = 0) -> torch.Tensor:
    """The cells of one input storage as a 1-d tensor; size, stride and offset matter to unique fills only."""
    to = _DTYPE[dtype]
    high = max(min(high, 1 << _holds(dtype)), 1)
    cells = _cells(dtype, _hashes(seed, ncells), fill, high)
    if fill.startswith("unique") and dtype != "b8" and math.prod(size):
        less = high if fill == "unique_around" and (to.is_floating_point or to.is_signed) else 0
        n, step, lines = 1, 0, torch.zeros((), dtype=torch.int64)
        for d, (count, by) in enumerate(zip(size, stride)):
            if d == dim % len(size):
                n, step = count, by
            else:
                lines = lines.unsqueeze(-1) + torch.arange(count) * by
        starts = (lines + offset).flatten().tolist()
        for start, h in zip(starts, _hashes(seed, len(starts)).tolist()):
            a, b = (1 + (h & 0xFFFFFFFF) % high) % high, ((h & _M) >> 33) % high
            while math.gcd(a, high) != 1:
                a = (a + 1) % high
            for j in range(n):
                cells[start + j * step] = (a * j + b) % high - less * (j % 2)
    return cells


def make_data(dtype: str, cells: list, bits: bool = False) -> torch.Tensor:
    """The same from numbers that the dtype holds, or from the bits of its elements as signed integers."""
    to = _DTYPE[dtype]
    if bits:
        return torch.tensor(cells, dtype=_as_signed(to)).view(to)
    return torch.tensor(cells, dtype=torch.float64 if to.is_floating_point else torch.int64).to(to)
