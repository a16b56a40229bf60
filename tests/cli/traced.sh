#!/bin/bash
# traced.sh BIN SOURCE PART: functions of the user's as programs: `check FILE.py:NAME`. Most parts need PyTorch.
. "$(dirname "$0")/shell.sh"
version=${5-2.11.0}
cd "$tmp" || exit 1
check() { "$bin" check "$@" >out 2>err; }
refuses() { # refuses WHAT NAME PATTERN [OPTION...]: exit 2, nothing judged, and why
	local what=$1 name=$2 said=$3
	shift 3
	check "$name" --target "torch-$version:aot_eager" "$@"
	expect "$what: exit code" 2 $?
	has "$what: why" err "^scatterproof: $name: .*$said"
	hasnt "$what: nothing was judged" out " on (builtin|torch)"
	has "$what: is counted" out "^0 graphs of 1 function; 1 error$"
}
cat >net.py <<'END'
import torch
from torch import nn


@torch.library.custom_op("mylib::doubled", mutates_args=())
def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@doubled.register_fake
def _(x):
    return torch.empty_like(x)


doubled.register_autograd(lambda ctx, g: g * 2)


def rows(x, y):
    z = (x @ y).relu()
    return z.sum(1), z.cumsum(0)


def model():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.count = nn.Embedding(5, 4), nn.Buffer(torch.zeros(()))

        def forward(self, i):
            self.count += 1
            return self.table(i).tanh().sum(-1)

    return Net(), (torch.tensor([[0, 4, 4]]),)


def partly():
    def f(x):
        y = x.exp()
        z = torch.ops.mylib.doubled(y)
        return z.sum(0)

    return f, (torch.randn(3, 4, requires_grad=True),)


def unknown():
    return torch.ops.mylib.doubled, (torch.randn(3),)


def step():
    w = torch.ones(3, requires_grad=True)

    def train(x):
        loss = (w * x).sum()
        loss.backward()
        with torch.no_grad():
            w.sub_(w.grad, alpha=0.5)
        return loss.detach()

    return train, (torch.arange(3.0),)


def noise():
    import os

    return torch.sin, (torch.full((3,), float(os.getpid())),)


@torch._dynamo.disable
def eager(x):
    return x.sin()


def hidden():
    return (lambda x: eager(x)), (torch.randn(3),)


number = 3
END

usage() { # without PyTorch: what the command line says
	check net.py:rows --args 'torch.ones(3)' --python nonexistent-python
	expect "no such Python" 3 $?
	has "is said" err "nonexistent-python"
	check "$src/corpus/seeds/slice_scatter_f32_4x13x33_0_6.prog" --args 'torch.ones(3)'
	expect "--args without a function" 2 $?
	has "goes with one" err "check: --args goes with FILE.py:NAME"
	"$bin" help check >out
	has "help names it" out "FILE.py:NAME"
	has "and its arguments" out "\-\-args ARGUMENTS"
	"$bin" man check >out
	has "so does the manual page" out "FILE.py:NAME"
}

long() { # a printed graph of more rows and results than a program has: several programs, all of it judged
	awk 'BEGIN {
		meta = "\"f32[2, 2][2, 1]cpu\""
		printf "    def forward(self, p: %s, q: %s):\n", meta, meta
		for (i = 0; i < 1000; i++) {
			was = i ? "v" i - 1 : "p"
			if (i == 500)
				printf "        v%d: %s = torch.ops.mylib.foo.default(%s)\n", i, meta, was
			else if (i % 3)
				printf "        v%d: %s = torch.ops.aten.sin.default(%s);  %s = None\n", i, meta, was, was
			else
				printf "        v%d: %s = torch.ops.aten.mul.Tensor(%s, q)\n", i, meta, was
			if (i % 7 == 0)
				out = out "v" i ", "
		}
		printf "        return (%s)\n", out
	}' >long.txt
	check long.txt
	expect "all of it is right" 0 $?
	has "what is missing is said once" err "^scatterproof: long.txt: judged in parts, 999 of its 1000 operators; not judged: mylib.foo.default \(line 502\)$"
	has "the first program" out "^long.txt, program 1 of 3: pass on builtin:eager "
	has "the last one" out "^long.txt, program 3 of 3: pass on builtin:eager "
	has "one graph" out "^3 programs on 1 target: 3 pass; 1 graph in parts, without 1 operator$"
	expect "each result is judged once, and what the others need" yes \
		"$(sed -n 's/.*(\([0-9]*\) elements.*/\1/p' out | awk '{n += $1} END {print (n >= 572 && n <= 600) ? "yes" : n}')"
	sed 's/ = torch.ops.aten.sin.default(\(v300\))/ = torch.ops.aten.sin.default(nothing)/' long.txt >gone.txt
	check gone.txt
	has "a name that nothing has" err "aten.sin.default \(.*'nothing' is not defined\)"
}

errors() { # what the user's file may do wrong
	cat >bad.py <<-'END'
		import torch
		import sys


		def shape():
		    return (lambda x: x.view(5)), (torch.ones(4),)


		def exits():
		    sys.exit(7)


		def ends():
		    import os

		    os._exit(7)


		def ever():
		    while True:
		        pass


		def prints():
		    for _ in range(100000):
		        print("x" * 100)
		    return 3


		def one(x):
		    return x
	END
	printf 'def f(:\n' >syntax.py
	printf 'import no_such_module\n' >imports.py
	refuses "a file that is not there" none.py:f "No such file"
	refuses "no such name" net.py:row "there is no 'row' in it; did you mean 'rows'\?"
	refuses "no Python" syntax.py:f "importing it raises SyntaxError: .*; at .*syntax.py:1: def f\(:"
	refuses "a module that is not there" imports.py:f "importing it raises ModuleNotFoundError: .*no_such_module.*; at .*imports.py:1 "
	refuses "arguments are missing" bad.py:one "'one' takes arguments: say them by --args"
	refuses "arguments that raise" bad.py:one "raises NameError: name 'nothing' is not defined" --args 'nothing(3)'
	refuses "no pair" bad.py:prints "'prints' gives a int: it must give \(function or module, inputs\)"
	refuses "a number" net.py:number "'number' gives a int"
	refuses "the function raises" bad.py:shape "running it raises RuntimeError: shape .* invalid.*; at .*bad.py:6 in <lambda>: return"
	refuses "it exits" bad.py:exits "raises SystemExit: 7; at .*bad.py:10 in exits: sys.exit\(7\)"
	refuses "its process ends" bad.py:ends "run without a compiler: .*exit"
	refuses "it never ends" bad.py:ever "run without a compiler: .*no answer within 1000 ms" --limit 1s
}

graphs() { # what is judged, and what is said of what is not
	check net.py:rows --args 'torch.randn(3, 4, requires_grad=True), torch.randn(4, 5)' --target "torch-$version:aot_eager"
	expect "a function" 0 $?
	for graph in forward backward; do
		for target in builtin:eager "torch-$version:aot_eager@cpu"; do
			has "$graph, own data, $target" out "^net.py:rows, $graph graph, own data: pass on $target "
			has "$graph, adversarial, $target" out "^net.py:rows, $graph graph, adversarial data: pass on $target .*4 calls"
		done
	done
	has "the whole" out "^net.py:rows: pass on torch-$version:aot_eager@cpu, as a whole: 3 tensors as eager has them"
	has "counts of graphs" out "^2 graphs of 1 function; as a whole 0 of 1 differ from eager$"
	has "counts of programs" out "^4 programs on 2 targets \(builtin:eager, torch.*:aot_eager@cpu\): 8 pass$"
	check net.py:model --target "torch-$version:aot_eager"
	expect "a module, its positions and its buffer" 0 $?
	has "the table's gradient and the counter are compared" out "as a whole: 3 tensors as eager"
	check net.py:partly --target "torch-$version:aot_eager" --json
	expect "an operator that nobody knows" 0 $?
	has "is said" err "forward graph: judged in parts, [24] of its [35] operators; not judged: mylib.doubled.default; the first is at .*net.py:[0-9]+ in f: z = torch.ops.mylib.doubled\(y\)"
	python3 - out <<-'END' >py 2>&1
		import json, sys
		lines = [json.loads(line) for line in open(sys.argv[1])]
		parts = next(d for d in lines if "missing" in d)
		assert parts["missing"] == [{"operator": "mylib.doubled.default", "times": 1}] and parts["judged"] == parts["operators"] - 1, parts
		assert parts["source"].endswith("in f: z = torch.ops.mylib.doubled(y)"), parts
		assert sum("function" in d and d["verdict"] == "pass" for d in lines) == 1
		s = lines[-1]["summary"]
		assert (s["graphs"], s["graphs_in_parts"], s["in_parts"], s["operators_cut"], s["mismatch"]) == (2, 1, 1, 1, 0), s
	END
	expect "as JSON" 0 $?
	cat py
	check net.py:partly --target "torch-$version:aot_eager" --expect pass
	expect "--expect wants whole graphs" 4 $?
	check net.py:unknown --target "torch-$version:aot_eager"
	has "nothing of it is known" err "inference graph: not judged, 0 of its 1 operators; not judged: mylib.doubled.default"
	has "which is counted" out "1 graph of 1 function \(1 not judged\)"
	check net.py:step --target "torch-$version:aot_eager"
	expect "a step that runs its own backward" 0 $?
	has "what it writes is compared" out "as a whole: [3-9] tensors as eager"
	check net.py:noise --target "torch-$version:aot_eager"
	has "other inputs in each process" out "unjudged on .*, as a whole: each process makes other inputs"
}

spoils() { # backends that are wrong
	cat >spoils.py <<-'END'
		import torch
		from torch._dynamo.backends.common import aot_autograd
		from torch._dynamo.backends.registry import register_backend


		def spoil(gm, example_inputs):
		    for node in gm.graph.nodes:
		        if node.target is torch.ops.aten.cumsum.default:
		            node.args = (node.args[0], 1)
		    gm.recompile()
		    return gm.forward


		register_backend(compiler_fn=aot_autograd(fw_compiler=spoil, bw_compiler=lambda gm, _: gm.forward), name="spoils")


		def refuse(gm, example_inputs):
		    raise ValueError("not this one")


		register_backend(compiler_fn=refuse, name="refuses")
	END
}

wrong() { # a backend that is wrong: the whole and the graph, with the user's line
	spoils
	check net.py:rows --args 'torch.randn(3, 4, requires_grad=True), torch.randn(4, 5)' \
		--target "torch-$version:dynamo+backend=spoils,import=spoils" --db f.db
	expect "is found" 1 $?
	has "in the graph" out "forward graph, own data: mismatch on torch-$version:dynamo"
	has "with the user's line" out "^  out 1 \(cumsum\) comes from .*net.py:[0-9]+ in rows: return z.sum\(1\), z.cumsum\(0\)"
	has "and in the whole" out "^net.py:rows: mismatch on torch-$version:dynamo.*, as a whole: [1-3] of 3 tensors differ from eager"
	has "which says where" out "^  output 1: [0-9]+ of 15 elements differ; at [0-9]+: .* in place of "
	expect "the graph's programs are kept" yes "$([ "$(sql "select count(*) from v_findings" f.db)" -ge 1 ] && echo yes)"
	id=$(sql "select id from v_findings limit 1" f.db)
	"$bin" repro "$id" --db f.db --no-store >out 2>err
	expect "and can be run again" 1 $?
	check net.py:rows --args 'torch.randn(3, 4), torch.randn(4, 5)' --target "torch-$version:dynamo+backend=refuses,import=spoils"
	expect "raising where eager runs" 1 $?
	has "is one, too" out "as a whole: raises, and eager does not: BackendCompilerFailed"
	has "with its place" out "ValueError: not this one; at .*spoils.py:18 in refuse: raise ValueError"
}

compiled() { # what compiled nothing does not pass
	spoils
	for name in TORCHDYNAMO_DISABLE TORCH_COMPILE_DISABLE TORCHDYNAMO_SUPPRESS_ERRORS; do
		export "$name=1"
	done
	for target in spoils refuses; do
		check net.py:rows --args 'torch.randn(3, 4), torch.randn(4, 5)' --target "torch-$version:dynamo+backend=$target,import=spoils" --quiet
		expect "$target, whatever the environment says" 1 $?
		has "$target: the whole" out "^net.py:rows: mismatch on torch-$version:dynamo.*, as a whole: "
	done
	unset TORCHDYNAMO_DISABLE TORCH_COMPILE_DISABLE TORCHDYNAMO_SUPPRESS_ERRORS
	check net.py:hidden --target "torch-$version:aot_eager"
	expect "nothing becomes a graph: nothing is judged" 4 $?
	has "which is said" err "net.py:hidden: nothing of it becomes a graph"
	has "and counted" out "^0 graphs of 1 function; 1 whole not compared$"
	has "and of the whole" out "unjudged on .*, as a whole: nothing of it is compiled: no graph is made of it"
}

rounding() { # what eager alone does not settle is not compared; what it does settle is
	cat >other.py <<-'END'
		import torch
		from torch import fx, nn
		from torch._dynamo.backends.common import aot_autograd
		from torch._dynamo.backends.registry import register_backend
		from functorch.compile import make_boxed_func

		aten = torch.ops.aten


		class Otherwise(fx.Interpreter):  # sums in double precision, and what nobody writes is 7
		    def call_function(self, target, args, kwargs):
		        if target in (aten.sum.default, aten.mean.default, aten.sum.dim_IntList):
		            return target(args[0].double(), *args[1:], **kwargs).float()
		        result = super().call_function(target, args, kwargs)
		        return result.fill_(7) if target is aten.empty.memory_format else result


		def compiler(gm, example_inputs):
		    return make_boxed_func(lambda *args: Otherwise(gm).run(*args))


		register_backend(compiler_fn=aot_autograd(fw_compiler=compiler), name="otherwise")


		def centred():
		    return (lambda x: ((x - x.mean()).sum(), x * 2)), (torch.randn(1000),)


		def signs():
		    def f(x):
		        zero = x.sum(-1) - x.flip(-1).sum(-1)
		        return torch.sign(zero), torch.sign(zero).int(), x * 2

		    return f, (torch.randn(40, 300),)


		def unwritten():
		    return (lambda x: (torch.empty(100), x * 2)), (torch.randn(3),)


		def only_noise():
		    return (lambda x: (x - x.mean()).sum()), (torch.randn(1000),)


		def bias():  # before a mean is subtracted: its gradient is 0
		    class Net(nn.Module):
		        def __init__(self):
		            super().__init__()
		            self.a, self.table = nn.Linear(8, 6), nn.Buffer(torch.zeros(6))

		        def forward(self, x):
		            y = self.a(x)
		            return (y - y.mean() + self.table).tanh(), (y - y.mean()).sum()

		    return Net(), (torch.randn(20, 8, requires_grad=True),)


		def counted():  # PyTorch computes the gradient of the buffer as it is after the backward has written it once more
		    class Net(nn.Module):
		        def __init__(self):
		            super().__init__()
		            self.n = nn.Buffer(torch.zeros(3))

		        def forward(self, x):
		            self.n.add_(1)
		            return x * self.n

		    return Net(), (torch.ones(3, requires_grad=True),)
	END
	otherwise() { check "other.py:$1" --target "torch-$version:dynamo+backend=otherwise,import=other"; }
	otherwise centred
	expect "a sum that cancels" 0 $?
	has "is said" out "as a whole: 2 tensors as eager has them.*; numbers that are not judged: 1 that rounding decides$"
	otherwise signs
	expect "what is decided by it" 0 $?
	has "is said, too" out "as a whole: 3 tensors as eager has them.*; numbers that are not judged: [1-9][0-9]? that rounding decides$"
	otherwise unwritten
	expect "what nobody writes" 0 $?
	has "is not compared" out "numbers that are not judged: 100 that eager itself has otherwise each time$"
	otherwise only_noise
	has "nothing is left" out "unjudged on .*, as a whole: nothing of it can be compared; numbers that are not judged: 1 that rounding decides"
	otherwise bias
	expect "gradients, too" 0 $?
	check other.py:counted --target "torch-$version:aot_eager" --quiet
	expect "what is wrong is found" 1 $?
	has "and said" out "^  gradient of input 0: 3 of 3 elements differ; at "
}

models() { # a few of corpus/models; what is judged of them is right
	SCATTERPROOF=$bin "$src/scripts/dump-models" --version "$version" --out graphs mlp rotary lstm_cell graph_convolution averaged_weights >out 2>err
	expect "dump-models" 0 $?
	has "the table" out "^PyTorch $version, AOT: [0-9]+ graphs of 5 models$"
	has "all are read" out "^ +0 not at all$"
	has "and right" out "^  on builtin:eager: [0-9]+ pass; "
	has "the graphs are kept" graphs/products-mlp.txt "torch.ops.aten.addmm.default"
	SCATTERPROOF=$bin "$src/scripts/dump-models" --version "$version" --inductor relu >out 2>err
	expect "of Inductor's decompositions" 0 $?
	has "the table names them" out "^PyTorch $version, INDUCTOR: 2 graphs of 1 models$"
	SCATTERPROOF=$bin "$src/scripts/dump-models" --version "$version" no_such_model >out 2>err
	expect "no such model" 2 $?
	SCATTERPROOF=$bin "$src/scripts/dump-models" --version 0.0.1 >out 2>err
	expect "no such version" 3 $?
	check "$src/corpus/models/blocks.py:lstm_cell" --target "torch-$version:aot_eager"
	expect "check takes them, too" 0 $?
}

$part
end
