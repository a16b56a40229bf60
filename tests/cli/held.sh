#!/bin/bash
# held.sh BIN SOURCE PART [PYTHON]: what a call returned and was given stays as it is while later calls run; whoever changes it is noticed.
python=${4-}
. "$(dirname "$0")/shell.sh"
cd "$tmp" || exit 1
check() { "$bin" check "$@" >out 2>err; }
late="after the last call wrong in 4 of 4 elements, overwritten by a later call"
cat >neg.prog <<'END'
# scatterproof 1
x = input([4], seed=1, fill=normal)
y = neg(x)
return (y,)
call (x: seed=9 fill=normal)
END
cat >grad.prog <<'END'
# scatterproof 1
x = input([4], seed=1, fill=normal, requires_grad=True)
g = input([4], seed=2, fill=normal)
y = neg(x)
return (y,)
backward (y: g)
call (x: seed=9 fill=normal, g: seed=8 fill=normal)
END
cat >long.prog <<'END'
# scatterproof 1
x = input([4], seed=1, fill=normal)
c = abs(x)
y = neg(x)
return (c, y)
call (x: seed=9 fill=normal)
call (x: seed=10 fill=normal)
END
# Legitimate: an input that its own call writes, outputs that are inputs or parts of them, a leaf with several gradients, ...
cat >right.prog <<'END'
# scatterproof 1
x = input([4], seed=1)
v = slice.Tensor(x, dim=0, start=1, end=3)
w = input([4], seed=2, requires_grad=True)
g = input([4], seed=3)
a = add_.Tensor(v, 1)
s = slice.Tensor(x, dim=0, start=0, end=2)
p = mul.Tensor(w, w)
q = add.Tensor(p, w)
return (a, s, x, q)
backward (q: g)
call (x: seed=9, w: seed=8)
call (x: seed=7)
END

# ... and inputs on one memory.
sed 's/^v = .*/v = input_view(x, [2], [1], offset=1)/' right.prog >shared.prog

module() { # module NAME: a module's run on standard input; neg(x), its gradient, a cache
	{
		printf 'from scatterproof import *\n\n\ndef run(program):\n'
		printf '    cache, x = program.cache, program.inputs["x"]\n'
		printf '    make = lambda t: program.tensor("float32", [4], [-v for v in t.flat()])\n'
		printf '    grads = {"x": make(program.inputs["g"])} if program.backward else None\n'
		sed 's/^/    /'
	} >"$1.py"
}
noticed() { # noticed NAME PROGRAM TENSOR
	check "$2" --target "python:$1.py" --db "$1.db"
	expect "$1" 1 $?
	has "$1: which tensor, and how" out "^$2: mismatch on python:$1.py: $3 $late$"
	id=$("$bin" findings sql "select id from v_findings" --db "$1.db" | tail -1)
	"$bin" repro "$id" --db "$1.db" >out 2>err
	expect "$1: repro sees it" 1 $?
	has "$1: repro says so" out "^$id on python:$1.py: still happens: "
	"$bin" repro "$id" --db "$1.db" --target python:sound.py --no-store >out 2>err
	expect "$1: not on a right one" 0 $?
}

modules() {
	module sound <<<'return [make(x)], grads'
	check neg.prog grad.prog --target python:sound.py --expect pass
	expect "a right one" 0 $?
	check neg.prog --target python:sound.py --json
	hasnt "and nothing is said of it" out "after the last call"
	module static <<-'END'
		y = cache.setdefault("y", make(x))
		y.write([-v for v in x.flat()])
		return [y], grads
	END
	noticed static neg.prog "out 0 \(y\)"
	module buffer <<-'END'
		import array
		y = cache.setdefault("y", array.array("f", [0.0] * 4))
		y[:] = array.array("f", [-v for v in x.flat()])
		return [y], grads
	END
	noticed buffer neg.prog "out 0 \(y\)"
	module gradient <<-'END'
		if grads:
		    kept = cache.setdefault("g", grads["x"])
		    kept.write(grads["x"].flat())
		    grads["x"] = kept
		return [make(x)], grads
	END
	noticed gradient grad.prog "x.grad"
	module before <<-'END'
		if "x" in cache:
		    cache["x"].write([7] * 4)
		cache["x"] = x
		return [make(x)], grads
	END
	noticed before neg.prog "input x"
	module resized <<-'END'
		y = make(x)
		if "y" in cache:
		    cache["y"].size[:] = [2, 2]
		    cache["y"].stride[:] = [2, 1]
		cache["y"] = y
		return [y], grads
	END
	check neg.prog --target python:resized.py
	expect "sizes" 1 $?
	has "sizes: which" out "^neg.prog: mismatch on python:resized.py: out 0 \(y\) after the last call: expected f32\[4\]\[1\] got f32\[2, 2\]\[2, 1\]"
	module list <<-'END'
		held = cache.setdefault("list", [None])
		held[0] = make(x)
		return held, grads
	END
	check neg.prog --target python:list.py --expect pass
	expect "a list that is used again holds other tensors" 0 $?
	module static2 <<-'END'
		y = cache.setdefault("y", make(x))
		y.write([-v for v in x.flat()])
		return [program.tensor("float32", [4], [abs(v) for v in x.flat()]), y][2 - len(program.outputs):]
	END
	"$bin" minimize long.prog --target python:static2.py >out 2>err
	expect "minimised" 0 $?
	expect "two calls are left" 1 "$(grep -c '^call (' out)"
	expect "and one output" 1 "$(grep -cE '^return \(\w+,\)$' out)"
	check long.prog --target python:static2.py --json
	has "JSON" out '"tensor":"out 1 \(y\) after the last call","call":0,"pattern":"overwritten by a later call"'
}

legitimate() { # on every stage of our own
	for stage in eager functional joint partitioned decomposed passes loops jit; do
		check neg.prog grad.prog long.prog right.prog --target builtin:$stage --expect pass
		expect "builtin:$stage" 0 $?
	done
	check shared.prog --target builtin:eager --expect pass
	expect "inputs on one memory" 0 $?
}

compiler() { # the planted defect, on results and gradients
	defect=+defect=result_of_next_call
	for stage in loops jit o2 package "jit+dynamic=1"; do
		check neg.prog --target builtin:$stage$defect
		expect "$stage" 1 $?
		has "$stage: which tensor, and how" out "mismatch on builtin:${stage%+*}.*: out 0 \(y\) $late$"
	done
	check grad.prog --target builtin:jit+partition=1$defect --json
	has "gradients, too" out '"tensor":"x.grad after the last call"'
	sed '/^call/d' neg.prog >once.prog
	check once.prog --target builtin:jit$defect --expect pass
	expect "one call shows nothing" 0 $?
	"$bin" selftest --defect result_of_next_call --programs 2000 >out 2>err
	expect "selftest finds it" 0 $?
	has "and names the step" out "^result_of_next_call +reuse .* caught by value; blamed: reuse;"
}

torch() { # a backend of Dynamo with static buffers; what eager does is right
	check neg.prog grad.prog long.prog right.prog --target torch:eager --target torch:aot_eager --expect pass
	expect "PyTorch is right" 0 $?
	check shared.prog --target torch:eager --expect pass
	expect "inputs on one memory" 0 $?
	cat >own.py <<-'END'
		import torch
		from torch._dynamo.backends.common import aot_autograd
		from torch._dynamo.backends.registry import register_backend
		from torch._functorch.aot_autograd import make_boxed_func

		def static(gm, inputs):
		    held = []
		    def run(*args):
		        outs = gm(*args)
		        if not held:
		            held.extend(torch.empty_like(t) for t in outs)
		        for h, t in zip(held, outs):
		            h.copy_(t)
		        return tuple(h.detach() for h in held)  # as CUDA graphs do: other tensors on the same memory
		    return make_boxed_func(run)

		def plain(gm, inputs):
		    return make_boxed_func(gm.forward)

		def before(gm, inputs):
		    held = []
		    def run(*args):
		        for t in held:
		            t.detach().fill_(7)
		        held[:] = [a for a in args if isinstance(a, torch.Tensor)]
		        return gm(*args)
		    return run

		def saves(gm, inputs):  # what the backward reads lies in memory that the next forward writes
		    held = []
		    def run(*args):
		        result, *saved = gm(*args)
		        if not held:
		            held.extend(torch.empty_like(t) for t in saved)
		        for h, t in zip(held, saved):
		            h.data.copy_(t)  # as a kernel writes: no version counter tells autograd
		        return (result, *held)
		    return make_boxed_func(run)

		register_backend(aot_autograd(fw_compiler=saves, bw_compiler=plain), name="saves")
		register_backend(aot_autograd(fw_compiler=static, bw_compiler=plain), name="static")
		register_backend(aot_autograd(fw_compiler=plain, bw_compiler=static), name="static_backward")
		register_backend(before, name="before")
	END
	target=torch:dynamo+backend
	noticed_by() { # noticed_by BACKEND PROGRAM TENSOR
		check "$2" --target "$target=$1,import=own" --db "$1.db" --script "$1.script.py" --full
		expect "$1" 1 $?
		has "$1: which tensor, and how" out "^$2: mismatch on .*: $3 $late$"
		PYTHONPATH=. "$python" "$1.script.py" >shown 2>&1
		expect "$1: the script shows it" 1 $?
		has "$1: and says how" shown "4 of 4 elements were overwritten by a later call"
	}
	noticed_by static neg.prog "out 0 \(y\)"
	noticed_by static_backward grad.prog "x.grad"
	noticed_by before neg.prog "input x"
	cp "$src/tests/prog/oracle/late_backward.prog" late.prog
	sed 's/ late$//' late.prog >early.prog
	check early.prog --target $target=saves,import=own --expect pass
	expect "what was saved is overwritten after it was read" 0 $?
	check late.prog --target $target=saves,import=own --script late.py --full
	expect "a backward after the next forward reads it too late" 1 $?
	has "its gradient is wrong" out "^late.prog: mismatch on .*: x.grad wrong in 4 of 4 elements"
	PYTHONPATH=. "$python" late.py >shown 2>&1
	expect "the script shows it" 1 $?
	has "and which" shown "x.grad of call 0 is wrong"
	"$bin" minimize late.prog --target $target=saves,import=own >out 2>err
	expect "minimised" 0 $?
	has "it stays late" out "^backward \(.*\) late$"
	expect "two calls are left" 1 "$(grep -c '^call (' out)"
	check late.prog --target torch:eager --target torch:aot_eager --expect pass
	expect "PyTorch keeps them apart" 0 $?
}

$part
end
