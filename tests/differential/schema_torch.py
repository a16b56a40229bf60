#!/usr/bin/env python3
"""The schemas of the op table against the installed PyTorch's: names, order, types, defaults, keyword-only, alias marks, results.

schema_torch.py OPCALL: refined kinds (Dim, Index, Size…) are mapped back to ATen's types; trailing parameters that the table
leaves out must have defaults, and values of them that the reader of pasted graphs passes over must change nothing.
Exit status: 0 all agree, 1 a difference, 77 there is no PyTorch.
"""
from __future__ import annotations

import json
import subprocess
import sys

try:
    import torch
except ImportError:
    print("SKIPPED: PyTorch is not installed for this interpreter, so no schema was compared")
    sys.exit(77)

OURS = {"input", "input_view", "sym", "getitem"}        # rows of the language, not of ATen
ATEN = {"Tensor": "Tensor", "Size": "List[int]", "Ints": "List[int]", "Dim": "int", "Dims": "List[int]", "Index": "int", "Step": "int",
        "Int": "int", "Scalar": "number", "bool": "bool", "dtype": "int", "format": "int", "str": "str", "float": "float",
        "bools": "List[bool]"}
DTYPES = {"f32": torch.float32}
FORMATS = {"contiguous_format": 0}      # as the schema has it: c10::MemoryFormat::Contiguous
T_NUMBERS = 1 << 13
ENDS = ("start", "end")     # of a range: tensors of one number


def aten_type(p):
    if p["kind"] == "Tensors":
        return "List[Optional[Tensor]]" if p["holes"] else "List[Tensor]"
    t = ATEN[p["kind"]]
    return f"Optional[{t}]" if p["optional"] else t


def aten_default(p):
    d = p["default"]
    return DTYPES[d] if p["kind"] == "dtype" and d else FORMATS[d] if p["kind"] == "format" and d else d


def plain_value(p):
    """Some value of a parameter's type. A call of such values may well be refused, but not for the type of another argument."""
    ones = torch.ones(()) if p["name"] in ENDS else torch.ones(3, 3)
    return {"Tensor": ones, "Tensors": [ones], "Size": [3, 3], "Ints": [1], "Dims": [0], "Dim": 0, "Index": 0, "Step": 1, "Int": 1,
            "Scalar": 1, "bool": False, "dtype": torch.float32, "format": torch.contiguous_format,
            "str": p["words"].split("|")[0], "float": 0.5, "bools": [True] * p["length"]}[p["kind"]]


def takes_number(op, call, place):
    """Whether PyTorch takes a Python number for that parameter: not refused for its type."""
    args, kwargs = [], {}
    for i, p in enumerate(op["params"]):
        v = 1 if i == place else plain_value(p)
        if p["stated"]:
            continue
        if p["kwonly"]:
            kwargs[p["name"]] = v
        else:
            args.append(v)
    try:
        call(*args, **kwargs)
    except RuntimeError as e:
        return f"Expected a value of type 'Tensor' for argument '{op['params'][place]['name']}'" not in str(e) and \
            f"Expected a value of type 'Optional[Tensor]' for argument '{op['params'][place]['name']}'" not in str(e)
    except Exception:  # noqa: BLE001 - refused later, for another reason
        return True
    return True


def numbers_differ(op, schema, call):
    """A number is ours to take beside another operand only, where nothing is written, and not as that to which `copy` copies."""
    if op["name"] == "copy":
        return
    operands = [i for i, p in enumerate(op["params"]) if p["kind"] == "Tensor"]
    for i in operands:
        p = op["params"][i]
        ours = bool(op["traits"] & T_NUMBERS) and not p["written"]
        if len(operands) > 1 and not p["written"] and takes_number(op, call, i) != ours:
            yield f"'{p['name']}': one of the two takes a Python number for it"


def differences(op):
    base, _, ov = op["name"].partition(".")
    packet = getattr(torch.ops.aten, base, None)
    if packet is None or (ov or "default") not in packet.overloads():
        yield "no such overload"
        return
    schema = getattr(packet, ov or "default")._schema
    theirs = {a.name: a for a in schema.arguments}
    place = 0
    names = [a.name for a in schema.arguments]
    if any(p["stated"] and p["name"] in theirs for p in op["params"]):
        yield "a number that the program states is a parameter of ATen's"
    for p in op["params"]:
        if p["stated"]:
            continue
        a = theirs.get(p["name"])
        if a is None:
            yield f"no parameter '{p['name']}'"
            continue
        if names.index(a.name) < place:
            yield f"'{a.name}' out of order"
        place = names.index(a.name)
        if not p["kwonly"] and place != op["params"].index(p):
            yield f"'{a.name}' is argument {place}"
        if str(a.type) != aten_type(p):
            yield f"'{a.name}' is {a.type}, here {aten_type(p)}"
        if a.kwarg_only != bool(p["kwonly"]):
            yield f"'{a.name}': keyword-only differs"
        if a.has_default_value() != ("default" in p):
            yield f"'{a.name}': one of the two has a default"
        elif "default" in p and aten_default(p) != a.default_value and not (aten_default(p) == [] and a.default_value == []):
            yield f"'{a.name}': default {a.default_value}, here {p['default']}"
        written = a.alias_info is not None and a.alias_info.is_write
        if written != bool(p["written"]) or (a.alias_info is not None) != bool(p["alias"]):
            yield f"'{a.name}': alias marks differ"
    for a in schema.arguments:
        if a.name not in {p["name"] for p in op["params"]} and not a.has_default_value():
            yield f"parameter '{a.name}' has no default and is left out"
    yield from numbers_differ(op, schema, getattr(packet, ov or "default"))
    lists = len(schema.returns) == 1 and str(schema.returns[0].type) == "List[Tensor]"
    if op["nret"] != (-1 if lists else len(schema.returns)):
        yield f"{len(schema.returns)} results, here {op['nret']}"


# Arguments that the table leaves out, with values that a graph may state: the reader must take those of the first list, and may take
# the others only if they change nothing. An argument that is not here must be refused whatever its value.
UNSAID = {"layout": ([None, torch.strided], [torch.sparse_coo]), "device": ([None, torch.device("cpu")], [torch.device("meta")]),
          "pin_memory": ([None, False], [True]), "non_blocking": ([True, False], []), "implicit": ([True, False], []),
          "dtype": ([], [torch.float64]), "sparse_grad": ([], [True]), "padding_idx": ([], [0]), "scale_grad_by_freq": ([], [True]),
          "sparse": ([], [True])}
OPERAND = 'x0: "f32[3, 3][3, 1]cpu" = input([3, 3], seed=1)'
NUMBER = 'x0: "f32[][]cpu" = input([], seed=1)'     # an end of a range


def is_read(opcall, op, name, value):
    """Whether the reader of pasted graphs takes the argument with that value."""
    shown = {"Tensor": "x0", "Size": "[3, 3]", "Dim": "0", "Int": "1", "Index": "1", "Scalar": "1"}
    said = repr(value) if not isinstance(value, torch.device) else f"device(type='{value.type}')"
    args = [shown[p["kind"]] for p in op["params"] if "default" not in p]
    number = any(p["kind"] == "Tensor" and p["name"] in ENDS for p in op["params"])
    operand = NUMBER if number else OPERAND
    text = f"# scatterproof 1\n{operand}\ny = {op['name']}({', '.join([*args, f'{name} = {said}'])})\nreturn (y,)\n".encode()
    one = "00" * (4 if number else 36) + "\n"
    sent = f"CALL {len(text)} 1 0 0\n".encode() + text + one.encode()
    answer = subprocess.run([opcall], input=sent, capture_output=True, check=True).stdout.decode()
    return not answer.startswith("ERR"), answer


def look(t):
    return t.dtype, t.layout, t.device, tuple(t.shape), t.stride(), t.is_pinned() if t.device.type == "cpu" else None, t.tolist()


def changes_nothing(op, call, name, value):
    plain = [plain_value(p) for p in op["params"] if "default" not in p]
    try:
        return look(call(*plain, **{name: value})) == look(call(*plain))
    except (RuntimeError, NotImplementedError):
        return False


def unsaid_differ(opcall, op, counts):
    """What graphs may state of arguments that the table leaves out, asked of the reader and of PyTorch."""
    base, _, ov = op["name"].partition(".")
    call = getattr(getattr(torch.ops.aten, base), ov or "default")
    for a in call._schema.arguments:
        if a.name in {p["name"] for p in op["params"]}:
            continue
        taken, others = UNSAID.get(a.name, (None, None))
        if taken is None:
            yield f"'{a.name}' is left out of the table, and not in UNSAID"
            continue
        for value in [*taken, *others]:
            read, answer = is_read(opcall, op, a.name, value)
            counts[read] += 1
            if value in taken and not read:
                yield f"'{a.name}={value}' is not read: {answer}"
            if read and not changes_nothing(op, call, a.name, value):
                yield f"'{a.name}={value}' is passed over, and changes something"


def main():
    rows = subprocess.run([sys.argv[1], "--ops"], capture_output=True, text=True, check=True).stdout
    table = [json.loads(line) for line in rows.splitlines()]
    bad = n = 0
    unsaid = [0, 0]     # values of arguments that programs do not have: refused, passed over
    for op in table:
        if op["name"] in OURS:
            continue
        n += 1
        for why in [*differences(op), *unsaid_differ(sys.argv[1], op, unsaid)]:
            print(f"{op['name']}: {why}")
            bad += 1
    print(f"{n} schemas compared with PyTorch {torch.__version__}, {bad} differences; "
          f"of values of arguments that programs do not have, {unsaid[1]} were passed over and {unsaid[0]} refused")
    return 1 if bad or not n or not all(unsaid) else 0


if __name__ == "__main__":
    sys.exit(main())
