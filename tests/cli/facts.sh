#!/bin/bash
# facts: what triage keeps of a finding for reports: artifacts `facts` and `environment`. Usage: facts.sh BINARY SOURCES PART
. "$(dirname "$0")/shell.sh"
cd "$tmp" || exit 1
blamed() { # blamed PROGRAM TARGET: found, blamed as it is; its facts are in facts.json
	rm -f f.db facts.json
	"$bin" check "$1" --target "$2" --db f.db --quiet >out 2>err
	expect "$1 diverges" 1 $?
	id=$(sql "select full_id from v_findings" f.db)
	"$bin" blame "$id" --db f.db --quiet >out 2>err
	expect "$1 is blamed" 0 $?
	"$bin" findings show "$id" --artifact facts --db f.db >facts.json 2>err
	expect "$1 has facts" 0 $?
}
fact() { # fact PATH WANT: a value of facts.json as JSON, "absent" if there is none
	expect "$1" "$2" "$(python3 - "$1" <<-'END'
		import json, sys
		at = json.load(open("facts.json", encoding="utf-8"))
		for key in sys.argv[1].split("."):
		    at = at[int(key)] if isinstance(at, list) else at.get(key, "absent") if at != "absent" else at
		print(at if at == "absent" else json.dumps(at))
	END
	)"
}

gradient() { # every key of a wrong gradient, and their order
	cat >p.prog <<-'END'
		# scatterproof 1
		x = input([2, 3, 5], seed=1, fill="dyadic", requires_grad=True)
		y = input([3, 5], data=[1, 2, 3, 4, 5, -1, -2, -3, -4, -5, 10, 100, 1000, 0, 0.1], stride=[1, 3])
		m = mul.Tensor(x, y)
		r = mean.dim(m, [2])
		g = full([2, 3], 5.0)
		return (r,)
		backward (r: g,)
	END
	blamed p.prog builtin:passes+defect=mean_gradient_miscounted
	expect "keys" "schema target versions kind pattern tensor values wrong checked ratio ladder cures tried inputs layouts" \
		"$(python3 -c 'import json; print(*json.load(open("facts.json")))')"
	fact schema 1
	fact target '"builtin:passes+defect=mean_gradient_miscounted"'
	fact versions "\"$(sql "select versions from v_environments where target like 'builtin%'" f.db)\""
	fact kind '"gradient"'
	fact pattern '"scaled by 1.25"'
	fact tensor.name '"x.grad"'
	fact tensor.role '"gradient"'
	fact tensor.index 0
	fact tensor.call absent
	fact tensor.expected '{"dtype": "f32", "size": [2, 3, 5], "stride": [15, 5, 1], "offset": 0}'
	fact tensor.got.dtype '"f32"'
	fact tensor.got.size '[2, 3, 5]'
	fact values.size '[1, 3, 5]'
	fact values.from '[0, 0, 0]'
	fact values.expected '[1, 4, -2, -5, 1000, 2, 5, -3, 10, 0, 3, -1, -4, 100, 0.1]'
	fact values.got '[1.25, 5, -2.5, -6.25, 1250, 2.5, 6.25, -3.75, 12.5, 0, 3.75, -1.25, -5, 125, 0.125]'
	fact wrong 28
	fact checked 30
	fact ratio '"1.25"'
	fact ladder '[{"stage": "eager", "verdict": "pass"}, {"stage": "functional", "verdict": "pass"}, {"stage": "joint", "verdict": "mismatch"}, {"stage": "passes", "verdict": "mismatch"}]'
	fact cures '[]'
	fact tried 0
	fact inputs '[{"name": "x", "dtype": "f32", "size": [2, 3, 5], "stride": [15, 5, 1], "offset": 0, "storage": 0, "requires_grad": true}, {"name": "y", "dtype": "f32", "size": [3, 5], "stride": [1, 3], "offset": 0, "storage": 1, "requires_grad": false}]'
	fact layouts.0 '{"name": "m", "dtype": "f32", "size": [2, 3, 5], "stride": [15, 5, 1], "offset": 0}'
	fact layouts.2.name '"g"'
}

special() { # NaN and infinity, what is known to an interval, what is not decided; cures with and without an option
	cat >p.prog <<-'END'
		# scatterproof 1
		x = input([5], data=[1.0, nan, inf, -2.0, -inf])
		v = mul.Scalar(x, 0.0)
		w = add.Tensor(v, x)
		return (v, w)
	END
	blamed p.prog builtin:passes+defect=noop_times_zero
	fact tensor.name '"out 0 (v)"'
	fact tensor.role '"output"'
	fact values.expected '[0, "nan", "nan", 0, "nan"]'
	fact values.got '[0, 0, 0, 0, 0]'
	fact ratio absent
	fact cures '[{"what": "leaving defect=noop_times_zero away"}, {"option": "passes=-all", "what": "switching off all passes (passes=-all)"}]'
	fact tried 2
	fact culprit '"application 2 of passes: noop"'
	{ printf 'from scatterproof import *\n\n\ndef run(program):\n    ' && cat; } >sevens.py <<-'END'
		return [program.tensor(t.dtype, t.size, [[7.0, -INF, INF, NAN, 7.0, 7.0]]) for t in program.inputs.values()]
	END
	sed -i 's/-INF/float("-inf")/; s/INF/float("inf")/; s/NAN/float("nan")/' sevens.py
	cat >q.prog <<-'END'
		# scatterproof 1
		x = input([1, 6], data=[inf, -inf, 3.0, 3.0, 2.0, 0.1])
		y = div.Scalar(x, 3.0)
		f = floor(y)
		t = sqrt(x)
		return (t,)
	END
	blamed q.prog python:sevens.py
	fact values.size '[1, 6]'
	fact values.expected '["inf", "nan", 1.7320508, 1.7320508, 1.4142135, 0.31622776]'
	fact values.got '[7, "-inf", "inf", "nan", 7, 7]'
	sed -i 's/return (t,)/return (f,)/' q.prog
	blamed q.prog python:sevens.py
	fact values.expected '["inf", "-inf", null, null, 0, 0]'
}

window() { # 64 x 64 elements around the first wrong one, of integers
	{ printf 'from scatterproof import *\n\n\ndef run(program):\n    ' && cat; } >one.py <<-'END'
		x = program.inputs["x"]
		flat = x.flat()
		flat[(1 * 70 + 50) * 100 + 99] = 2**53 + 1
		return [program.tensor("int64", [2, 70, 100], [[flat[(i * 70 + k) * 100 : (i * 70 + k + 1) * 100] for k in range(70)] for i in range(2)])]
	END
	sed -i '6,$s/^\t*/    /' one.py
	cat >p.prog <<-'END'
		# scatterproof 1
		x = input([2, 70, 100], dtype=i64, fill="dyadic", seed=1)
		y = clone(x)
		return (y,)
	END
	blamed p.prog python:one.py
	fact values.size '[1, 64, 64]'
	fact values.from '[1, 6, 36]'
	fact values.got.2879 9007199254740993
	fact wrong 1
	fact checked 14000
	expect "elements" "4096 4096 1" "$(python3 -c 'import json; v = json.load(open("facts.json"))["values"]; e, g = v["expected"], v["got"]; print(len(e), len(g), sum(a != b for a, b in zip(e, g)))')"
}

kinds() { # what a tensor is compared with, and what did not run
	cat >w.prog <<-'END'
		# scatterproof 1
		x = input([6], data=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
		s = slice.Tensor(x, dim=0, start=1, end=5, step=2)
		m = mul_.Scalar(s, 10.0)
		v = add.Scalar(m, 0.5)
		return (v,)
	END
	blamed w.prog builtin:passes+defect=write_back_lost
	fact kind '"mutation"'
	fact tensor '{"name": "input x afterwards", "role": "input", "index": 0, "expected": {"dtype": "f32", "size": [6], "stride": [1], "offset": 0}, "got": {"dtype": "f32", "size": [6], "stride": [1], "offset": 0, "storage": 0}}'
	fact values.expected '[1, 20, 3, 40, 5, 6]'
	fact values.got '[1, 2, 3, 4, 5, 6]'
	fact layouts.0 '{"name": "s", "dtype": "f32", "size": [2], "stride": [2], "offset": 1}'
	cat >l.prog <<-'END'
		# scatterproof 1
		x = input([3], data=[1.0, 2.0, 3.0])
		v = mul.Tensor(x, x)
		return (v,)
		call (x: data=[2.0, 2.0, 3.0])
	END
	blamed l.prog builtin:jit+defect=result_of_next_call
	fact tensor.later true
	fact tensor.call absent
	fact values.expected '[1, 4, 9]'
	fact values.got '[4, 4, 9]'
	fact ratio absent
	cat >k.prog <<-'END'
		# scatterproof 1
		x = input([3, 4], data=[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
		v = sum.dim_IntList(x, dim=[1], keepdim=True)
		return (v,)
	END
	blamed k.prog builtin:joint+defect=keepdim_lost
	fact kind '"meta"'
	fact tensor.expected.size '[3, 1]'
	fact tensor.got.size '[3]'
	fact values absent
	printf 'def run(program):\n    raise ValueError("no \\x1b[31m " + "x" * 5000)\n' >raises.py
	blamed l.prog python:raises.py
	fact kind '"raise"'
	fact tensor absent
	fact wrong absent
	expect "what it raised" "2000 ValueError: no  True" "$(python3 -c 'import json; r = json.load(open("facts.json"))["raised"]; print(len(r), r[:15], "\x1b[31m" in r)')"
	cat >g.prog <<-'END'
		# scatterproof 1
		x = input([2], data=[1.0, 2.0], requires_grad=True)
		v = mul.Scalar(x, 2.0)
		g = full([2], 1.0)
		return (v,)
		backward (v: g,)
		call (x: data=[3.0, 4.0])
	END
	cat >none.py <<-'END'
		def run(program):
		    x = program.inputs["x"]
		    two = program.tensor("float32", [2], [2.0, 2.0])
		    return [program.tensor("float32", [2], [2 * v for v in x.flat()])], {"x": two if x.flat()[0] == 1 else None}
	END
	blamed g.prog python:none.py
	fact kind '"none-ness"'
	fact tensor '{"name": "x.grad", "role": "gradient", "index": 0, "call": 1, "expected": {"dtype": "f32", "size": [2], "stride": [1], "offset": 0}, "got": null}'
	fact values absent
}

torch() { # the founding bug, through triage
	"$bin" check "$src/corpus/seeds/slice_scatter_f32_4x13x33_0_6.prog" --target torch-2.11.0:inductor@cpu --db f.db --quiet >out 2>&1
	expect "it diverges" 1 $?
	"$bin" triage --db f.db >out 2>err
	expect "triage" 0 $?
	id=$(sql "select full_id from v_findings" f.db)
	"$bin" findings show "$id" --artifact facts --db f.db >facts.json
	expect "facts" 0 $?
	fact target '"torch-2.11.0:inductor@cpu"'
	fact tensor.name '"x.grad"'
	fact tensor.expected '{"dtype": "f32", "size": [2], "stride": [1], "offset": 0}'
	fact values.expected '[0, 1]'
	fact values.got '[0, 0]'
	fact predicted '{"op": "aten.slice_scatter.default", "backward": true, "fake": {"dtype": "f32", "size": [2], "stride": [0], "offset": 0}, "real": {"dtype": "f32", "size": [2], "stride": [1], "offset": 0}}'
	fact ladder '[{"stage": "eager", "verdict": "pass"}, {"stage": "aot_eager", "verdict": "pass"}, {"stage": "aot_eager_decomp_partition", "verdict": "pass"}, {"stage": "inductor", "verdict": "mismatch"}]'
	fact suspect.op '"aten.slice_scatter.default"'
	fact suspect.graph '"backward graph"'
	fact cures.0 '{"option": "probe.clone=bw:aten.slice_scatter.default", "what": "cloning aten.slice_scatter.default in the backward graph"}'
	fact reach '"python"'
	fact inputs.0.requires_grad true
	has "what torch's comparisons say" facts.json '"same": "assert_close: x.grad: [^"]*;same: differs"'
	"$bin" findings show "$id" --artifact environment --db f.db >about
	expect "environment" 0 $?
	has "PyTorch's version" about '^PyTorch version: 2\.11\.0'
	has "libraries" about '^\[pip3\] torch==2\.11\.0'
	has "the processor" about '^Model name: +[^ ]'
	hasnt "no path" about '(^|[ =:(])/|/home|/tmp'
	hasnt "no name of the machine" about "(^|[^[:alnum:]])$(uname -n)([^[:alnum:]]|\$)"
	expect "as the environment has it" 1 "$(python3 -c 'import json; print(json.load(open("facts.json"))["versions"])' | grep -cxF "$(sql "select distinct versions from v_environments" f.db)")"
	# What is handed over is made of that alone.
	"$bin" report --db f.db -o dir >out 2>err
	expect "report" 0 $?
	cat dir/*/issue.md >issue
	has "the analytic gradient" issue '^expected +0 +1( |$)'
	has "what came" issue '^got +0 +0( |$)'
	has "predicted strides" issue '^\| predicted \(fake tensor\) \| `size \[2\], strides \[0\]'
	has "real strides" issue '^\| real \| `size \[2\], strides \[1\]'
	has "the stage" issue '^\| `inductor` \| wrong \|$'
	has "the version" issue 'version 2\.11\.0'
	has "the line of the graph" issue 'torch\.ops\.aten\.slice_scatter\.default\(expand'
	has "a script of a few lines" issue '^import torch$'
	has "the versions that it was run with" issue '^Wrong on 2\.11\.0(, the only version here|; right on 2\.15\.0, the newest here: .*)\.$'
}

"$part"
end
