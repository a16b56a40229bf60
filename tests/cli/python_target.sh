#!/bin/bash
# python_target.sh BIN SOURCE PART [PYTHON]: modules of the user's as targets (family python): right ones, wrong ones, and those that break.
python=${4-}
. "$(dirname "$0")/shell.sh"
cd "$tmp" || exit 1
cp "$src/examples/closure_compiler.py" .
check() { "$bin" check "$@" >out 2>err; }
module() { # module NAME: a module whose run is standard input, after what all have
	{ printf 'from scatterproof import *\n\n\ndef run(program):\n'; sed 's/^/    /'; } >"$1.py"
}
wrong() { # wrong NAME SED: the example with a mistake; it must differ
	sed "$2" closure_compiler.py >"$1.py"
	checks=$((checks + 1))
	! cmp -s "$1.py" closure_compiler.py || { echo "FAIL: $1 is the example"; fails=$((fails + 1)); }
}
finding() { # finding NAME KIND PROGRAM: kept, and seen again by repro
	check "$3" --target "python:$1.py" --db "$1.db"
	expect "$1 diverges" 1 $?
	expect "$1: kind" "$2" "$("$bin" findings sql "select kind from v_findings" --db "$1.db" | tail -1)"
	id=$("$bin" findings sql "select id from v_findings" --db "$1.db" | tail -1)
	"$bin" repro "$id" --db "$1.db" >out 2>err
	expect "$1: repro sees it" 1 $?
	has "$1: repro says so" out "^$id on python:$1.py: still happens: "
	"$bin" repro "$id" --db "$1.db" --target python:closure_compiler.py --no-store >out 2>err
	cat out err >both
}
cat >scatter.prog <<'END'
# scatterproof 1
x = input([6, 4], seed=1)
y = input([3, 4], seed=2)
s = slice_scatter(x, y, dim=0, start=0, end=6, step=2)
return (s,)
call (x: seed=3, y: seed=4)
END
cat >write.prog <<'END'
# scatterproof 1
x = input([2, 3], stride=[8, 2], offset=1, seed=1)
v = select.int(x, dim=1, index=1)
w = add_.Tensor(v, 2)
return (w,)
END
cat >sum.prog <<'END'
# scatterproof 1
x = input([3, 4], seed=1, requires_grad=True)
y = input([3, 4], seed=2, requires_grad=True)
s = sum.dim_IntList(x, dim=[0])
g = input([4], seed=3)
return (s,)
backward (s: g)
call (x: seed=4, g: seed=5)
END
cat >add.prog <<'END'
# scatterproof 1
x = input([2, 3], seed=1)
y = add.Tensor(x, x)
return (y,)
call (x: seed=2)
END

example() { # the compiler that README shows
	mkdir rows
	for f in "$src"/tests/prog/rows/*.prog; do
		sed 's/, requires_grad=True//; /^backward/d' "$f" >"rows/${f##*/}"
	done
	check "$src/corpus/regressions" rows --target python:closure_compiler.py
	expect "right or unsupported" 0 $?
	hasnt "nothing else" out "^[^ ]*: (mismatch|crash|hang|invalid|harness|unjudged) "
	has "some pass" out "^rows/slice_scatter.prog: pass on python:closure_compiler.py"
	has "written inputs, too" out "^rows/add_.Tensor.prog: pass"
	has "others are refused with their reason" out "unsupported on python:closure_compiler.py: operator aten.cos.default$"
	check "$src/corpus/seeds" --target python:closure_compiler.py --expect unsupported
	expect "no gradients: never a pass" 0 $?
	has "and it is said" out "unsupported on python:closure_compiler.py: the module returns no gradients$"
	check scatter.prog write.prog add.prog --target python:closure_compiler.py --expect pass
	expect "the programs below are right" 0 $?
	has "calls count" out "scatter.prog: pass .*2 calls"
	"$bin" targets >out
	has "targets lists it" out "^python:FILE.py +a compiler of yours"
	"$bin" check add.prog --target python:closure_compiler.py --json >out
	python3 - out <<-END
		import json, sys
		d = json.loads(open(sys.argv[1]).readline())
		ok = d["target"] == "python:closure_compiler.py" and "closure_compiler.py 1.0 (sha256 " in json.dumps(d)
		sys.exit(f"FAIL: {d}" if not ok else 0)
	END
	expect "the record names the module, its version and its text" 0 $?
	check add.prog --target python:closure_compiler.py --script s.py --db s.db
	has "no scripts" err "nothing diverges"
}

values() { # silently wrong results, and what a result may be
	wrong no_step 's/stride = \[s \* step if d == dim % len(out.size) else s for/stride = [s for/'
	finding no_step value scatter.prog
	has "the right one" both "does not happen"
	wrong lost_write 's/env\[a.name\] if in_place else //'
	finding lost_write mutation write.prog
	has "the right one" both "does not happen"
	cat >prod.prog <<-'END'
		# scatterproof 1
		x = input([16], dtype=bf16, data=[1.0078125, 1.0078125, 1.0078125, 1.0078125, 1.0078125, 1.0078125, 1.0078125, 1.0078125, 1.0078125, 1.0078125, 1.0078125, 1.0078125, 1.0078125, 1.0078125, 1.0078125, 1.0078125])
		y = prod.dim_int(x, dim=0)
		return (y,)
	END
	module every_step <<-'END'
		t = program.tensor("bfloat16", [], [1.0])
		for v in program.inputs["x"].tolist():
		    t.write([t.flat()[0] * v])
		return [t]
	END
	check prod.prog --target python:every_step.py
	expect "a product that is rounded at each step, as ATen's is" 0 $?
	module touches <<-'END'
		x = program.inputs["x"]
		y = program.tensor(x.dtype, x.size, [2 * v for v in x.flat()])
		x.storage[0] ^= 1
		return [y]
	END
	finding touches mutation add.prog
	module same <<-'END'
		x = program.inputs["x"]
		x.write([2 * v for v in x.flat()])
		return [x]
	END
	check add.prog --target python:same.py
	expect "the input itself as result" 1 $?
	has "is wrong memory" out "output shares the storage of input 0 and should not"
	module arrays <<-'END'
		import array
		flat = [2 * v for v in program.inputs["x"].flat()]
		a = memoryview(array.array("f", flat[::-1]))[::-1]
		return [program.tensor("float32", [2, 3], a.tobytes())]
	END
	check add.prog --target python:arrays.py --expect pass
	expect "bytes as a tensor" 0 $?
	module buffer <<-'END'
		import array
		x = program.inputs["x"]
		if len(x.size) == 1:
		    return [memoryview(array.array("f", [2 * v for v in x.flat()[::-1]]))[::-1]]
		return [memoryview(array.array("f", [2 * v for v in x.flat()])).cast("B").cast("f", x.size)]
	END
	sed 's/\[2, 3\]/[6]/' add.prog >flat.prog
	check add.prog flat.prog --target python:buffer.py --expect pass
	expect "buffers, strided ones too" 0 $?
	cat >scalar.prog <<-'END'
		# scatterproof 1
		x = input([], seed=1)
		b = input([], dtype=b8, seed=2)
		i = input([], dtype=i32, seed=3)
		h = input([2], dtype=bf16, seed=4)
		p = add.Tensor(x, x)
		q = clone(b)
		r = add.Tensor(i, i)
		s = mul.Tensor(h, 1.5)
		return (p, q, r, s)
	END
	module numbers <<-'END'
		x, b, i, h = (program.inputs[k] for k in "xbih")
		return (x.tolist() + x.tolist(), b.tolist(), 2 * i.tolist(), program.tensor("bfloat16", [2], [1.5 * v for v in h.tolist()]))
	END
	check scalar.prog --target python:numbers.py --expect pass
	expect "numbers take the dtype of the program; bfloat16" 0 $?
}

results() { # results NAME SAID: the module on standard input returns what is no result
	module "$1"
	check add.prog --target "python:$1.py"
	expect "$1 is a finding" 1 $?
	has "$1: what was wrong" out "^add.prog: mismatch on python:$1.py: $2"
}

rounding() { # numbers as elements, against exact arithmetic
	python3 - "$src/compiled/targets/python" >out 2>&1 <<-'END'
		import random, struct, sys
		from fractions import Fraction
		sys.dont_write_bytecode = True
		sys.path.insert(0, sys.argv[1])
		import worker
		rng = random.Random(1)
		bits = [(1023 - rng.randrange(-130, 160) << 52) + (rng.getrandbits(15) << 37) for _ in range(4000)]     # many are ties
		values = [struct.unpack("<d", struct.pack("<Q", b))[0] for b in bits + [rng.getrandbits(62) for _ in range(4000)]]
		values += [0.0, 2.0**-134, 2.0**-133, 3 * 2.0**-134, 3.39e38, 3.4e38, 1e39, 65519.9, 65520.0, 65504.0, float("inf")]
		formats = ("float16", 2, 0x7C00, 16), ("bfloat16", 2, 0x7F80, 128), ("float32", 4, 0x7F800000, 128)
		for name, nbytes, infinite, top in formats:
		    wrong = 0

		    def number(b): # infinity stands where the next finite number would be
		        return Fraction(2**top) if b == infinite else Fraction(worker.decode(name, b.to_bytes(nbytes, "little"))[0])

		    for v in values:
		        got = int.from_bytes(worker.encode(name, [v]), "little")
		        exact = min(Fraction(v), Fraction(2**top)) if v != float("inf") else Fraction(2**top)
		        near = [b for b in (got - 1, got, got + 1) if 0 <= b <= infinite]
		        wrong += got != min(near, key=lambda b: (abs(number(b) - exact), b & 1))
		        wrong += worker.encode(name, [-v])[-1] != worker.encode(name, [v])[-1] | 0x80
		    print(name, len(values), "values,", wrong, "wrong")
		for name, nbytes in ("uint8", 1), ("int8", 1), ("int16", 2), ("int32", 4), ("int64", 8):
		    ints = [rng.getrandbits(70) - 2**69 for _ in range(1000)]
		    print(name, worker.encode(name, ints) == b"".join((v % 2 ** (8 * nbytes)).to_bytes(nbytes, "little") for v in ints))
	END
	for dtype in float16 float32 bfloat16; do
		has "to nearest, ties to even: $dtype" out "^$dtype 80[0-9]{2} values, 0 wrong$"
	done
	expect "integers wrap" 5 "$(grep -cE '^u?int[0-9]+ True$' out)"
}

gradients() { # right, wrong, missing
	cat >sums.py <<-'END'
		import closure_compiler


		def run(program):
		    g = program.inputs["g"]
		    rows, outs = program.inputs["x"].size[0], closure_compiler.run(program)
		    return outs, {"x": program.tensor("float32", program.inputs["x"].size, [g.flat() for _ in range(rows)]), "y": None}
	END
	check sum.prog --target python:sums.py --expect pass
	expect "a right gradient, and None" 0 $?
	sed 's/g.flat() for/[2 * v for v in g.flat()] for/' sums.py >twice.py
	check sum.prog --target python:twice.py --db twice.db
	expect "a wrong one" 1 $?
	has "and how" out "grad of x|gradient.* x .*scaled by 2|scaled by 2"
	id=$("$bin" findings sql "select id from v_findings" --db twice.db | tail -1)
	"$bin" repro "$id" --db twice.db >out
	expect "repro sees it" 1 $?
	"$bin" repro "$id" --db twice.db --target python:sums.py >out
	expect "and not in the right one" 0 $?
	sed 's/"y": None/"y": g/' sums.py >shape.py
	check sum.prog --target python:shape.py
	expect "a gradient where there is none" 1 $?
	sed 's/, "y": None//' sums.py >forgets.py
	check sum.prog --target python:forgets.py
	has "one is forgotten" out "WrongResult: run\(program\) returned no gradient of 'y'; None says that it has none"
	sed 's/"y": None/"y": None, "z": None/' sums.py >invents.py
	check sum.prog --target python:invents.py
	has "one is invented" out "WrongResult: run\(program\) returned a gradient of 'z', which is no input that requires grad"
	sed 's/return outs, .*/return outs, None/' sums.py >none.py
	check sum.prog --target python:none.py
	expect "none at all does not count" 4 $?
	has "and it is said" out "unsupported on python:none.py: the module returns no gradients"
}

failures() { # everything that does not return
	results raises "KeyError: 'nothing'" <<<'return {}["nothing"]'
	results leaves "SystemExit: 3" <<<'raise SystemExit(3)'
	results wordless "Worse: \(its text raises ValueError\)" <<-'END'
		class Worse(Exception):
		    def __str__(self):
		        raise ValueError
		raise Worse
	END
	results count "WrongResult: run\(program\) returned 2 outputs, the program has 1" <<<'return [1.0, 2.0]'
	results dictionary "WrongResult: run\(program\) returned a dict" <<<'return {}'
	results nested "WrongResult: output y is a list; return Tensors" <<<'return [[[1.0] * 3] * 2]'
	results dtype "WrongResult: output y is an array of format '<g'" <<<'import ctypes; return [(ctypes.c_longdouble * 1)(1.0)]'
	results shorter "WrongResult: run\(program\) made the storage of an input longer or shorter" <<-'END'
		program.inputs["x"].storage.clear()
		return [1.0]
	END
	results shape "out 0 \(y\): expected f32\[2, 3\]" <<<'return [1.0]'
	finding raises raise add.prog
	module unsure <<<'raise Unsupported("operator nobody (knows)")'
	check add.prog --target python:unsure.py
	expect "unsupported does not count" 4 $?
	has "its reason" out "^add.prog: unsupported on python:unsure.py: operator nobody \(knows\)$"
	printf 'import no_such_module\n' >broken.py
	printf 'x = 1\n' >empty.py
	printf 'raise SystemExit(1)\n' >exits.py
	printf 'def run(:\n' >syntax.py
	for name in broken empty exits syntax; do
		check add.prog --target "python:$name.py"
		expect "$name: the target is not what its name says" 2 $?
		hasnt "$name: nothing was judged" out "pass|mismatch"
	done
	check add.prog --target python:broken.py
	has "why not" err "target 'python:broken.py': .*/broken.py cannot be imported: ModuleNotFoundError: .*'no_such_module'"
	check add.prog --target python:empty.py
	has "no run" err "empty.py has no function run\(program\)"
	"$bin" fuzz --target python:broken.py --programs 3 --seed 1 >out 2>err
	expect "a campaign" 2 $?
	has "says so, too" err "cannot be imported: ModuleNotFoundError"
	module aborts <<<'import os; os.abort()'
	check add.prog --target python:aborts.py --db aborts.db
	expect "a crash" 1 $?
	has "with its signal" out "crash on python:aborts.py: .*signal 6"
	module hangs <<-'END'
		while True:
		    pass
	END
	check add.prog --target python:hangs.py --limit 1s
	expect "a hang" 1 $?
	has "with its time" out "hang on python:hangs.py"
	check add.prog add.prog --target python:aborts.py --target python:closure_compiler.py
	has "each program has a child" out "2 programs on 2 targets: 2 pass, 2 crash"
	{ printf 'import os\nimport closure_compiler\n\nserved = []\n' && cat <<-'END'; } >tires.py


		def run(program):
		    served.append(program)
		    if len(served) == 3:  # a program has two calls
		        os.abort()
		    return closure_compiler.run(program)
	END
	check add.prog add.prog add.prog --target python:tires.py
	expect "a death that another program left behind" 0 $?
	has "is none of the next one's" out "3 programs on 1 target: 3 pass"
	has "but is said" err "^scatterproof: add.prog: .*signal 6.*, after 1 other program; in a fresh process it does not"
}

calls() { # cache, key, symbols, what a program says
	cat >sizes.prog <<-'END'
		# scatterproof 1
		n = sym(4)
		x = input([n, 3], seed=1)
		y = sum.dim_IntList(x, dim=[0])
		return (y,)
		call (n=4, x: seed=2)
		call (n=7)
	END
	cat >counts.py <<-'END'
		import closure_compiler

		built = []


		def run(program):
		    known = program.key in program.cache
		    out = closure_compiler.run(program)
		    built.append(not known)
		    if program.call == 2 and built != [True, False, True]:
		        raise RuntimeError(f"built {built}")
		    if program.call == 2:
		        built.clear()
		    return out
	END
	check sizes.prog sizes.prog --target python:counts.py --expect pass
	expect "calls of one program share the cache, other sizes and programs do not" 0 $?
	module once <<-'END'
		return program.cache.setdefault("first", [program.tensor("float32", [2, 3], [2 * v for v in program.inputs["x"].flat()])])
	END
	check add.prog --target python:once.py
	expect "a result of the call before" 1 $?
	has "is wrong in the second call" out "call 1, output y: .* stale"
	cat >says.prog <<-'END'
		# scatterproof 1
		x = input([4, 3], dtype=f64, seed=1)
		u = input_view(x, [2], [3], offset=1)
		i = input([2], dtype=i64, data=[2, 0])
		a = clamp(x, min=-inf, max=0.1)
		s = split.Tensor(a, split_size=2)
		p = getitem(s, 1)
		k = index.Tensor(x, [None, i])
		d = _to_copy(u, dtype=f16)
		unused = neg(x)
		return (p, k, d)
	END
	cat >says.py <<-'END'
		from scatterproof import Ref, Unsupported


		def run(program):
		    n = {n.name: n for n in program.nodes}
		    x, u, i = (program.inputs[k] for k in "xui")
		    ops = "aten.clamp.default aten.split.Tensor getitem aten.index.Tensor aten._to_copy.default aten.neg.default"
		    assert " ".join(m.op for m in program.nodes) == ops
		    assert n["a"].args == {"self": Ref("x"), "min": float("-inf"), "max": 0.1}, n["a"].args
		    assert n["p"].args == {"self": Ref("s"), "index": 1} and [m.size for m in n["s"].metas] == [[2, 3], [2, 3]]
		    assert n["k"].args["indices"] == [None, Ref("i")] and n["d"].args["dtype"] == "float16"
		    assert n["d"].meta == ("float16", [2], [1], 0), n["d"].meta
		    assert (u.size, u.stride, u.offset, u.dtype) == ([2], [3], 1, "float64") and u.storage is x.storage
		    flat = x.flat()
		    assert i.tolist() == [2, 0] and u.tolist() == [flat[1], flat[4]]
		    assert x.tolist() == [flat[k : k + 3] for k in range(0, 12, 3)]
		    assert program.outputs == ["p", "k", "d"] and program.backward == [] and program.raises is None
		    assert "input_view(x, [2], [3], offset=1)" in program.text
		    raise Unsupported("as it says")
	END
	check says.prog --target python:says.py
	has "what a program says" out "unsupported on python:says.py: as it says"
	cat >refused.prog <<-'END'
		# scatterproof 1
		x = input([2, 3], seed=1)
		y = input([4], seed=2)
		z = add.Tensor(x, y)
		return (z,)
		raises "must match the size"
	END
	module accepts <<<'assert program.raises == "must match the size" and program.nodes[0].meta is None; return [1.0]'
	check refused.prog --target python:accepts.py
	expect "running what eager refuses" 1 $?
	has "is a finding" out "mismatch on python:accepts.py: runs what eager refuses"
	module refuses <<<'raise ValueError("sizes")'
	check refused.prog --target python:refuses.py --expect pass
	expect "refusing it is right" 0 $?
}

paths() { # names and interpreters
	check add.prog --target python:missing.py
	expect "a file that is not there" 3 $?
	has "and where it would be" err "target 'python:missing.py': there is no file $tmp/missing.py; .* relative to the current directory"
	"$bin" fuzz --target python:missing.py --programs 3 --seed 1 >out 2>err
	expect "in a campaign" 3 $?
	has "is said, too" err "there is no file $tmp/missing.py"
	mkdir -p folder/deep
	cp closure_compiler.py folder/deep/json.py
	check add.prog --target python:folder/deep/json.py --target "python:$tmp/folder/deep/../deep/json.py" --expect pass
	expect "paths, and a file that is named as ours" 0 $?
	(cd folder && check ../add.prog --target python:../closure_compiler.py@cpu --expect pass)
	expect "relative to where the user is" 0 $?
	while read -r target said; do
		check add.prog --target "$target"
		expect "$target is no name" 2 $?
		has "$target: why" err "target '.*': $said"
	done <<-'END'
		python the form is python:FILE.py
		python: no file; the form is python:FILE.py
		python:eager 'eager' does not end in .py
		python-3.11:a.py family python has no versions
		python:a.py@cuda python does not run on cuda
		python:a.py+fast=1 python has no option 'fast'; it has: dialect
		python:a:b.py 'a:b.py' has other characters
	END
	PATH=$(dirname "$(command -v bash)") check add.prog --target python:closure_compiler.py --python nonexistent-python
	expect "no such interpreter" 3 $?
	has "is said" err "--python nonexistent-python: no such program in PATH"
	PATH=$tmp/folder check add.prog --target python:closure_compiler.py
	expect "no python3" 3 $?
	has "what to do" err "there is no python3 in PATH; give --python PATH"
	check add.prog --target python:closure_compiler.py --python "$(command -v python3)" --expect pass
	expect "an interpreter of one's own" 0 $?
}

numpy() { # arrays of any layout and dtype, with an interpreter that has numpy
	cat >layouts.prog <<-'END'
		# scatterproof 1
		x = input([3, 4], stride=[1, 5], offset=2, seed=1)
		h = input([2, 2], dtype=f16, seed=2)
		b = input([3], dtype=b8, seed=3)
		i = input([2], dtype=i16, seed=4)
		z = input([0, 3], seed=5)
		t = transpose.int(x, 0, 1)
		c = clone(t)
		e = expand(i, [3, 2])
		m = mul.Tensor(h, 2)
		w = add_.Tensor(x, 1)
		n = clone(z)
		k = sum.dim_IntList(x, dim=[0, 1])
		return (c, e, m, b, n, k, w)
	END
	module arrays <<-'END'
		import numpy
		x, h, b, i, z = (program.inputs[k].numpy() for k in "xhbiz")
		c = x.T.copy()[::-1]
		x += 1
		total = x.sum(dtype="float32")
		return c[::-1], numpy.broadcast_to(i, (3, 2)), h * numpy.float16(2), b, z.copy(), total, program.inputs["x"]
	END
	check layouts.prog --target python:arrays.py --python "$python" --expect pass
	expect "views, strides, zero-sized, 0-d, written inputs" 0 $?
	module wide <<<'return [2 * program.inputs["x"].numpy().astype("complex64")]'
	check add.prog --target python:wide.py --python "$python"
	has "a dtype that programs do not have" out "WrongResult: output y is an array of format 'Zf'"
	module swapped <<<'return [(2 * program.inputs["x"].numpy()).astype(">f4")]'
	check add.prog --target python:swapped.py --python "$python"
	has "another byte order" out "WrongResult: output y is an array of format '>f'"
	module double <<<'return [2.0 * program.inputs["x"].numpy().astype("float64")]'
	check add.prog --target python:double.py --python "$python"
	has "another dtype" out "expected f32\[2, 3\].* got f64\[2, 3\]"
	module torches <<<'import torch; return [2 * torch.from_numpy(program.inputs["x"].numpy())]'
	check add.prog --target python:torches.py --python "$python" --expect pass
	expect "what has __array__" 0 $?
	sed 's/seed=1/dtype=bf16, seed=1/' add.prog >half.prog
	module plain <<<'return [2 * program.inputs["x"].numpy()]'
	check half.prog --target python:plain.py --python "$python"
	has "bfloat16" out "unsupported on python:plain.py: numpy has no bfloat16"
}

campaign() { # shards, confirmation, a policy without gradients
	"$bin" gen --policy forward --programs 300 --seed 3 >out
	hasnt "policy forward" out "requires_grad|^backward|^raises"
	ops=add.Tensor,mul.Tensor,mul_.Tensor,sum.dim_IntList,slice_scatter,permute,slice.Tensor
	"$bin" fuzz --target python:closure_compiler.py --policy forward --ops $ops --programs 600 --jobs 2 --seed 4 >out 2>err
	expect "the example is right" 0 $?
	has "programs ran" out "python:closure_compiler.py +pass 5[0-9]{2}"
	"$bin" fuzz --target builtin:eager --target python:closure_compiler.py --policy forward --ops $ops --programs 40 --time 60s --db t.db >out 2>err
	expect "two families take turns" 0 $?
	expect "one is told which" 2 "$(grep -c '^scatterproof fuzz: campaign [12] of 2, on ' err)"
	expect "with one seed" "1 2" "$(python3 -c 'import sqlite3; print(*sqlite3.connect("t.db").execute("select count(distinct seed), count(*) from run").fetchone())')"
	has "the first" out "builtin:eager +pass [0-9]+"
	has "and the second" out "python:closure_compiler.py +pass [0-9]+"
	"$bin" fuzz --target builtin:eager --target python:closure_compiler.py >out 2>err
	expect "but not for ever" 2 $?
	has "which is said" err "take turns: --time or --programs says how long$"
	wrong no_step 's/stride = \[s \* step if d == dim % len(out.size) else s for/stride = [s for/'
	"$bin" fuzz --target python:no_step.py --policy forward --ops slice_scatter,clone --programs 300 --seed 4 --db f.db >out 2>err
	expect "a wrong one is found" 1 $?
	has "and confirmed, on the target itself" out "^FINDING [0-9a-f]+ +value on python:no_step.py, confirmed \(again in a fresh"
	id=$("$bin" findings sql "select id from v_findings where kind = 'value' limit 1" --db f.db | tail -1)
	"$bin" findings --target python:no_step.py --db f.db >out 2>err
	has "it is found by its name" out "$id"
	"$bin" repro "$id" --db f.db >out 2>err
	expect "repro" 1 $?
	"$bin" repro "$id" --db f.db --script s.py >out 2>err
	expect "a script there is not" 2 $?
	has "and it is said" err "targets of the family python have no stand-alone scripts"
	module raises <<<'raise KeyError("lost")'
	"$bin" fuzz --target python:raises.py --policy forward --ops clone,add --programs 20 --seed 4 >out 2>err
	expect "raises are findings without a plain stage" 1 $?
	has "confirmed" out "^FINDING [0-9a-f]+ +raise on python:raises.py, confirmed \(again in a fresh process\)"
}

$part
end
