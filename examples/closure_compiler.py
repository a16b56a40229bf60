"""A compiler of few operators, as scatterproof's family `python` runs one: a program becomes a list of closures, once per sizes.

    scatterproof check corpus/seeds --target python:examples/closure_compiler.py
    scatterproof fuzz --target python:examples/closure_compiler.py --policy forward --ops add.Tensor,sum.dim_IntList,permute --time 20s
"""

import operator

from scatterproof import Ref, Tensor, Unsupported

__version__ = "1.0"


def allocate(meta):
    """A tensor of the layout that the program predicts: views of it are then where the program says that they are."""
    cells = meta.offset + 1 + sum((n - 1) * s for n, s in zip(meta.size, meta.stride))
    return Tensor(meta.dtype, meta.size, meta.stride, meta.offset, bytearray(8 * max(cells, 0)))


def spread(value, like):
    """The elements of a tensor or number that broadcasts to the sizes of `like`, in row-major order."""
    if not isinstance(value, Tensor):
        return [value] * len(like.cells())
    stride = [0] * (len(like.size) - len(value.size)) + [0 if n == 1 else s for n, s in zip(value.size, value.stride)]
    return value.as_strided(like.size, stride, value.offset).flat()


def rounded(values, dtype):
    t = Tensor(dtype, [len(values)], [1], 0, bytearray(8 * len(values)))
    t.write(values)
    return t.flat()


def number(value, dtype):
    """A Python number as PyTorch computes with it: rounded to the dtype computed in, which of halves is float32."""
    return rounded([value], "float32")[0] if "float" in dtype and dtype != "float64" else value


def pointwise(fn):
    """fn, and the same in place. A closure looks its operands up in env, where every name has its tensor."""

    def build(node):
        a, b = node.args["self"], node.args["other"]
        alpha = number(node.args.get("alpha", 1), node.meta.dtype)
        in_place = node.op.partition("_.")[1]
        if in_place and any(n > 1 and step == 0 for n, step in zip(node.meta.size, node.meta.stride)):
            raise Unsupported("a write to an element that stands in several places, which eager refuses")

        def run(env):
            out = env[a.name] if in_place else allocate(node.meta)
            x, y = (spread(env[v.name] if isinstance(v, Ref) else number(v, out.dtype), out) for v in (a, b))
            out.write([fn(p, q if alpha == 1 else alpha * q) for p, q in zip(x, y)])
            return out

        return run

    return build


def view(node):
    return lambda env: env[node.args["self"].name].as_strided(node.meta.size, node.meta.stride, node.meta.offset)


def clone(node):
    def run(env):
        out = allocate(node.meta)
        out.write(env[node.args["self"].name].flat())
        return out

    return run


def slice_scatter(node):
    dim, start, end, step = (node.args[k] for k in ("dim", "start", "end", "step"))
    copy = clone(node)

    def run(env):
        out, src = copy(env), env[node.args["src"].name]
        first = slice(start, end, step).indices(out.size[dim])[0]
        stride = [s * step if d == dim % len(out.size) else s for d, s in enumerate(out.stride)]
        out.as_strided(src.size, stride, out.offset + first * out.stride[dim]).write(src.flat())
        return out

    return run


def sum_dims(node):
    def run(env):
        x, out = env[node.args["self"].name], allocate(node.meta)
        rank = len(x.size)
        summed = [d % rank for d in node.args["dim"] or range(rank)] if rank else []
        order = [d for d in range(rank) if d not in summed] + summed  # those that are summed vary fastest
        values = x.as_strided([x.size[d] for d in order], [x.stride[d] for d in order], x.offset).flat()
        if "float" in (node.args["dtype"] or ""):  # asked for: the elements are converted before they are summed
            values = rounded(values, out.dtype)
        rows = len(out.cells())
        width = len(values) // rows if rows else 0
        out.write([sum(values[i * width : (i + 1) * width]) for i in range(rows)])
        return out

    return run


VIEWS = ("expand.default", "permute.default", "select.int", "slice.Tensor", "transpose.int", "unsqueeze.default")
OPS = {"aten.clone.default": clone, "aten.slice_scatter.default": slice_scatter, "aten.sum.dim_IntList": sum_dims}
OPS.update({f"aten.{name}": view for name in VIEWS})
for name in ("add", "sub", "mul"):
    OPS[f"aten.{name}.Tensor"] = OPS[f"aten.{name}_.Tensor"] = pointwise(getattr(operator, name))


def compiled(program):
    nodes = [n for n in program.nodes if not n.cotangent]
    for n in nodes:
        if n.op not in OPS:
            raise Unsupported(f"operator {n.op}")
    return [(n.name, OPS[n.op](n)) for n in nodes]


def run(program):
    code = program.cache.get(program.key)
    if code is None:
        code = program.cache[program.key] = compiled(program)
    env = dict(program.inputs)
    for name, step in code:
        env[name] = step(env)
    return [env[name] for name in program.outputs]
