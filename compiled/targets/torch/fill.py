# The data of inputs: the arithmetic of scatterproof's eager/lang/fill.h, bit for bit. Needs torch only.
import math

import torch

_M = (1 << 64) - 1
_DTYPE = {"b8": torch.bool, "u8": torch.uint8, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32,
          "i64": torch.int64, "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64}
_DYADIC = {"u8": (8, 1.0), "i8": (8, 1.0), "i16": (8, 1.0), "i32": (8, 1.0), "i64": (8, 1.0),
           "f16": (6, 0.5), "bf16": (3, 0.5), "f32": (32, 0.125), "f64": (64, 0.125)}
_HOLDS = {"u8": 8, "i8": 7, "i16": 15, "i32": 31, "i64": 63, "f16": 11, "bf16": 8, "f32": 24, "f64": 53}
_FLOAT = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52)}  # exponent and mantissa bits


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
    if dtype in _FLOAT:
        e, m = _FLOAT[dtype]
        sign, inf, one = 1 << (e + m), ((1 << e) - 1) << m, ((1 << (e - 1)) - 1) << m
        table = [inf, sign | inf, inf | 1 << (m - 1), sign, 1, sign | 1, (1 << m) - 1, 1 << m, inf - 1, sign | (inf - 1), one + 1, 0]
        bits = 1 + e + m
    else:
        bits = 8 * _DTYPE[dtype].itemsize
        lo, quarter = 1 << (bits - 1), 1 << (bits - 2)
        table = [lo, lo - 1, 0, -1, 1, lo + 1, lo - 2, -2, 2, quarter, 3 * quarter, 3]
    signed = {8: torch.int8, 16: torch.int16, 32: torch.int32, 64: torch.int64}[bits]
    table = [x % (1 << bits) for x in table]
    return torch.tensor([x - (1 << bits) if x >> (bits - 1) else x for x in table], dtype=signed).view(_DTYPE[dtype])


def _cells(dtype: str, h: torch.Tensor, fill: str, high: int) -> torch.Tensor:
    to, r = _DTYPE[dtype], _shr(h, 33)
    if dtype == "b8":
        return torch.ones_like(r, dtype=to) if fill == "positive" else (r & 1).to(to)
    if fill == "normal":
        n = torch.full_like(h, -6 * 65536)
        for _ in range(3):
            n += (h & 65535) + (_shr(h, 16) & 65535) + (_shr(h, 32) & 65535) + _shr(h, 48)
            h = _mix(h)
        return (n.double() / 65536).to(to) if to.is_floating_point else ((n >> 12) + (100 if dtype == "u8" else 0)).to(to)
    if fill == "ties":
        return ((r & 3) - int(dtype != "u8")).to(to)
    if fill == "wide" and not to.is_floating_point:
        return _shr(h, 9) - (1 << 54) if dtype == "i64" else h.to(to)
    if fill == "around" and dtype != "u8":
        return ((r >> 1) % high - (r & 1) * high).to(to)
    if fill in ("index", "around", "unique", "unique_around"):
        return (r % high).to(to)
    if fill == "mask":
        return (r & 1).to(to)
    reach, step = _DYADIC[dtype]
    if fill == "positive":
        return ((r % reach + 1).double() * step).to(to)
    k = r % (2 * reach + 1) - (0 if dtype == "u8" else reach)
    value = (k.double() * step).to(to)
    if fill == "special":
        value = torch.where((h & 3) == 0, _special(dtype)[(_shr(h, 2) & 31) % 12], value)
    return value


def make_storage(dtype: str, ncells: int, fill: str, seed: int, high: int = 0, dim: int = 0,
                 size: tuple = (), stride: tuple = (), offset: int = 0) -> torch.Tensor:
    """The cells of one input storage as a 1-d tensor; size, stride and offset matter to unique fills only."""
    high = max(min(high, 1 << _HOLDS.get(dtype, 0)), 1)
    cells = _cells(dtype, _hashes(seed, ncells), fill, high)
    if fill.startswith("unique") and dtype != "b8" and math.prod(size):
        less = high if fill == "unique_around" and dtype != "u8" else 0
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
        signed = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[to.itemsize]
        return torch.tensor(cells, dtype=signed).view(to)
    return torch.tensor(cells, dtype=torch.float64 if to.is_floating_point else torch.int64).to(to)
