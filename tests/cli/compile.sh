#!/bin/sh
# The built-in compiler: what `compile` prints, and its stages as targets. Usage: compile.sh BINARY SOURCES PART FINDING_OF [sanitized]
. "$(dirname "$0")/shell.sh"

printed() { # what each step leaves, as a program
	cat >"$tmp/a.prog" <<-'EOF'
		# scatterproof 1
		x = input([3, 4], seed=1, requires_grad=True)
		y = input([4], seed=2)
		g = input([3, 4], seed=3)
		a = mul.Tensor(x, 3.0)
		b = slice.Tensor(a, dim=1, start=1, end=3)
		d = mul_.Tensor(b, 2.0)
		p = select.int(a, 0, 1)
		w = copy_(y, p)
		q = slice.Tensor(y, dim=0, start=2)
		return (a, q)
		backward (a: g,)
	EOF
	"$bin" check "$tmp/a.prog" --target builtin:eager --target builtin:functional --target builtin:joint --target builtin:passes --quiet --expect pass >"$tmp/out" 2>&1
	expect "it is right on every stage" 0 $?
	"$bin" compile "$tmp/a.prog" --print-after functional >"$tmp/f.prog" 2>"$tmp/err"
	expect "functional" 0 $?
	has "says what it is" "$tmp/f.prog" '^# functional of .*a.prog$'
	has "the write is a scatter" "$tmp/f.prog" '^slice_scatter: .* = slice_scatter\(a, d, dim=1, start=1, end=3\)$'
	has "a view is made again" "$tmp/f.prog" '^p: .* = select.int\(slice_scatter, dim=0, index=1\)$'
	has "the epilogue" "$tmp/f.prog" '^copy_: .* = copy_\(y, slice_scatter_1\)$'
	hasnt "nothing else writes" "$tmp/f.prog" 'mul_'
	has "differentiated by autograd" "$tmp/f.prog" '^backward \(slice_scatter: g,\)$'
	"$bin" compile "$tmp/a.prog" --print-after joint >"$tmp/j.prog"
	expect "joint" 0 $?
	hasnt "nobody differentiates it" "$tmp/j.prog" 'backward \(|requires_grad'
	has "which gradient is whose" "$tmp/j.prog" "^# gradient of x: $(sed -n 's/^return (.*, \(.*\))$/\1/p' "$tmp/j.prog")\$"
	expect "outputs and one gradient" 3 "$(sed -n 's/^return (\(.*\))$/\1/p' "$tmp/j.prog" | tr ',' '\n' | wc -l)"
	for stage in f j; do
		"$bin" compile "$tmp/$stage.prog" --print-after functional >"$tmp/again.prog"
		"$bin" check "$tmp/again.prog" --quiet --expect pass >"$tmp/out" 2>&1
		expect "compiled again" 0 $?
		"$bin" check "$tmp/$stage.prog" --quiet --expect pass >"$tmp/out" 2>&1
		expect "an ordinary program" 0 $?
	done
}

usage() {
	"$bin" compile >"$tmp/out" 2>"$tmp/err"
	expect "no program" 2 $?
	"$bin" compile "$src/corpus/seeds" --print-after jiont >"$tmp/out" 2>"$tmp/err"
	expect "an unknown step" 2 $?
	has "is said" "$tmp/err" "'jiont' is not one of functional, joint, partition, decompose, fold, .*passes.*joint"
	printf '# scatterproof 1\nx = input([2], seed=1)\ny = view(x, [3])\nreturn (y,)\nraises\n' >"$tmp/r.prog"
	"$bin" compile "$tmp/r.prog" --validate >"$tmp/out" 2>"$tmp/err"
	expect "a program that must raise" 4 $?
	has "is said" "$tmp/err" "eager refuses it: .*shape '.3.' is invalid for input of size 2"
	"$bin" check "$tmp/r.prog" --target builtin:joint --target builtin:passes --quiet --expect pass >"$tmp/out"
	expect "the compiler refuses it, too" 0 $?
	printf '# scatterproof 1\nx = input([3], seed=1, requires_grad=True)\ny = add_.Tensor(x, 1)\nreturn (y,)\n' >"$tmp/l.prog"
	cat "$tmp/l.prog" "$src/tests/prog/oracle/two_outputs_of_one_tensor.prog" >"$tmp/both.prog"
	"$bin" compile "$tmp/both.prog" --print-after functional >"$tmp/f.prog" 2>"$tmp/err"
	expect "one of two" 4 $?
	has "which" "$tmp/err" 'eager refuses it: RuntimeError: a leaf Variable that requires grad'
	"$bin" check "$tmp/f.prog" --quiet --expect pass >"$tmp/out" 2>&1
	expect "two outputs that became one" 0 $?
	printf '# scatterproof 1\nx = input([3])\ni = input([1], dtype=i64, data=[7])\ny = index_select(x, 0, i)\nreturn (y,)\nraises\n' >"$tmp/d.prog"
	"$bin" compile "$tmp/d.prog" | "$bin" check - --quiet --expect pass >"$tmp/out" 2>&1
	expect "a program that raises upon its data" 0 $?
}

passes() { # which passes run, and what is checked after each
	cat >"$tmp/p.prog" <<-'EOF'
		# scatterproof 1
		x = input([3], seed=1, requires_grad=True)
		o = ones([3])
		n = neg(o)
		c = clone(x)
		a = exp(c)
		b = exp(c)
		v = view(a, [3])
		s = add.Tensor(v, b)
		m = mul.Tensor(s, n)
		g = ones([3])
		return (m,)
		backward (m: g,)
	EOF
	"$bin" compile "$tmp/p.prog" --validate >"$tmp/all.prog"
	expect "all passes" 0 $?
	expect "what was checked" "functional joint noop views cse dce epilogue reinplace" "$(sed -n 's/^# ok \([a-z]*\): [0-9]* rows$/\1/p' "$tmp/all.prog" | xargs)"
	hasnt "no clone, no view" "$tmp/all.prog" ' (clone|view)\('
	expect "exp is computed once" 1 "$(grep -c ' exp(' "$tmp/all.prog")"
	has "no folding" "$tmp/all.prog" ' neg\('
	"$bin" compile "$tmp/p.prog" --target builtin:passes+freezing=1 --validate >"$tmp/frozen.prog"
	has "folding" "$tmp/frozen.prog" '^# ok fold'
	has "the constant" "$tmp/frozen.prog" '= full\(\[3\], -1.0, dtype=f32\)'
	"$bin" compile "$tmp/p.prog" --target builtin:passes+passes=-cse,-dce >"$tmp/some.prog"
	expect "cse is off" 2 "$(grep -c ' exp(' "$tmp/some.prog")"
	"$bin" compile "$tmp/p.prog" --target builtin:passes+passes=-all | sed '/^#/d' >"$tmp/none"
	"$bin" compile "$tmp/p.prog" --print-after joint | sed '/^#/d' >"$tmp/joint"
	expect "none is joint" "" "$(diff "$tmp/none" "$tmp/joint")"
	for stage in fold noop views cse dce reinplace; do
		"$bin" compile "$tmp/p.prog" --target builtin:passes+freezing=1 --print-after $stage >"$tmp/stage.prog"
		expect "--print-after $stage" 0 $?
		"$bin" check "$tmp/stage.prog" --quiet --expect pass >"$tmp/out" 2>&1
		expect "$stage: an ordinary program" 0 $?
	done
	for off in passes=-cse,-dce/cse passes=-all/reinplace reinplace=0/reinplace; do
		"$bin" compile "$tmp/p.prog" --target builtin:passes+${off%/*} --print-after ${off#*/} >"$tmp/out" 2>"$tmp/err"
		expect "$off: a step that does not run" 2 $?
		has "is said" "$tmp/err" "the target leaves '${off#*/}' out"
	done
	"$bin" compile "$tmp/p.prog" --print-after fold >"$tmp/out" 2>"$tmp/err"
	expect "a step that runs under an option" 2 $?
	has "is said" "$tmp/err" "'fold' runs only with --target builtin:passes.freezing=1"
	"$bin" compile --help >"$tmp/out"
	has "one target" "$tmp/out" 'compile: once, a stage of builtin'
	for target in passes passes+reinplace=0 passes+passes=-cse passes+passes=-all passes+freezing=1,passes=-dce; do
		"$bin" check "$tmp/p.prog" --target builtin:$target --quiet --expect pass >"$tmp/out" 2>&1
		expect "$target" 0 $?
	done
	"$bin" check "$tmp/p.prog" --target builtin:passes+passes=-sce >"$tmp/out" 2>"$tmp/err"
	expect "an unknown pass" 2 $?
	has "is said" "$tmp/err" "'-sce' is not -all or - and the name of a pass: -fold, -noop, -views, -cse, -dce"
	"$bin" check "$tmp/p.prog" --target builtin:joint+freezing=1 >"$tmp/out" 2>"$tmp/err"
	expect "a stage without passes" 2 $?
}

decomposed() { # the core dialect: what is printed, which stages take the option, who is blamed
	cat >"$tmp/d.prog" <<-'EOF'
		# scatterproof 1
		x = input([3, 4], dtype=f16, seed=1, requires_grad=True)
		y = input([3, 2], seed=2)
		s = slice_scatter(x, y, dim=1, start=1, end=3)
		vm = var_mean.correction(s, dim=[1], correction=0)
		v = getitem(vm, 0)
		m = getitem(vm, 1)
		a = sigmoid(v)
		w = relu_(y)
		t = t(y)
		g = ones([3], dtype=f16)
		return (a, m, t)
		backward (a: g,)
	EOF
	"$bin" compile "$tmp/d.prog" --print-after decompose --validate >"$tmp/core.prog" 2>"$tmp/err"
	expect "the step" 0 $?
	has "says what it is" "$tmp/core.prog" '^# decompose of .*d.prog$'
	has "what was checked" "$tmp/core.prog" '^# ok decompose: [0-9]+ rows$'
	"$bin" compile "$tmp/d.prog" --print-after expand --validate >"$tmp/expanded" 2>"$tmp/err"
	expect "what loops are lowered from" 0 $?
	has "rows without loops go" "$tmp/expanded" '^# ok expand: [0-9]+ rows$'
	hasnt "all of them" "$tmp/expanded" 'var_mean|ones|slice_backward'
	has "rows with an expression stay" "$tmp/expanded" ' = sigmoid\('
	"$bin" compile "$tmp/d.prog" --print-after epilogue >"$tmp/out" 2>"$tmp/err"
	expect "nobody stops there" 2 $?
	has "which steps there are" "$tmp/err" 'is not one of functional, joint, .*dce, expand, reinplace, passes, loops, c, cuda, ptx, read$'
	has "a region stays one" "$tmp/core.prog" '^s: .* = slice_scatter\(x, '
	has "halves are computed in double" "$tmp/core.prog" '= _to_copy\(s, dtype=f64\)'
	"$bin" compile "$tmp/d.prog" --target builtin:decomposed | sed '/^#/d' >"$tmp/stage"
	expect "the stage is the step" "" "$(sed '/^#/d' "$tmp/core.prog" | diff - "$tmp/stage")"
	"$bin" check "$tmp/core.prog" --quiet --expect pass >"$tmp/out" 2>&1
	expect "an ordinary program" 0 $?
	"$bin" compile --help | sed -n '/^the core dialect/,$p' | tr ' ;' '\n\n' | grep -E '^[a-z_]+(\.[A-Za-z_]+)?$' | sort >"$tmp/dialect"
	sed -n 's/^[a-z].* = \([a-z][A-Za-z_.]*\)(.*/\1/p' "$tmp/core.prog" | grep -v '^input$' | sort -u >"$tmp/used"
	expect "of the dialect that --help lists" "" "$(comm -23 "$tmp/used" "$tmp/dialect")"
	expect "many of it" yes "$([ "$(wc -l <"$tmp/used")" -ge 12 ] && echo yes)"
	for target in decomposed passes+decompose=1 passes+decompose=1+until=decompose passes+decompose=0 loops+decompose=1 jit+decompose=1; do
		"$bin" check "$tmp/d.prog" --target builtin:$target --quiet --expect pass >"$tmp/out" 2>&1
		expect "$target" 0 $?
	done
	for target in passes+decompose=2 joint+decompose=1 decomposed+decompose=0 decomposed+until=decompose; do
		"$bin" check "$tmp/d.prog" --target builtin:$target >"$tmp/out" 2>"$tmp/err"
		expect "$target" 2 $?
	done
	"$bin" compile "$tmp/d.prog" | grep -c ' = sigmoid_*(' >"$tmp/out"
	expect "off unless asked for" 1 "$(cat "$tmp/out")"
	for target in decomposed passes+decompose=1 jit+decompose=1; do
		"$bin" blame "$tmp/d.prog" --target builtin:$target+defect=correction_lost --quiet >"$tmp/out" 2>"$tmp/err"
		expect "$target: blame" 0 $?
		has "$target: the step" "$tmp/out" 'wrong from: decomposed \(partitioned is right\)'
	done
}

partitioned() { # two programs: what is printed, which targets make them, who is blamed
	cat >"$tmp/q.prog" <<-'EOF'
		# scatterproof 1
		x = input([3, 4], seed=1, requires_grad=True)
		y = input([3, 4], seed=2)
		h = input([3, 1], seed=3)
		e = exp(x)
		s = sum.dim_IntList(e, dim=[1], keepdim=True)
		d = div.Tensor(e, s)
		w = mul_.Tensor(y, d)
		g = expand(h, [3, 4])
		return (d, w, s)
		backward (d: g, w: g)
	EOF
	"$bin" compile "$tmp/q.prog" --print-after partition --validate >"$tmp/both.prog" 2>"$tmp/err"
	expect "the step" 0 $?
	has "the forward part" "$tmp/both.prog" '^# partition of .*q.prog, part forward$'
	has "the backward part" "$tmp/both.prog" '^# partition of .*q.prog, part backward$'
	has "what was checked" "$tmp/both.prog" '^# ok partition of backward: [0-9]+ rows$'
	has "saved values are returned behind the outputs" "$tmp/both.prog" '^return \(d, y, s, clone, s\)$'
	has "an input that is written is copied" "$tmp/both.prog" '^clone: .* = clone\(y\)$'
	has "whose it is" "$tmp/both.prog" '^# saved as y: clone, donated$'
	has "an output is not donated" "$tmp/both.prog" '^# saved as s: s$'
	has "the caller's strides, and numbers" "$tmp/both.prog" '^g: "f32\[3, 4\]\[1, 0\]" = input\(\[3, 4\], stride=\[1, 0\], data=\['
	has "computed again" "$tmp/both.prog" '^e: .* = exp\(x\)$'
	"$bin" check "$tmp/both.prog" --quiet --expect pass >"$tmp/out" 2>&1
	expect "two ordinary programs" 0 $?
	has "two" "$tmp/out" '^2 programs on 1 target: 2 pass$'
	for part in forward backward; do
		"$bin" compile "$tmp/q.prog" --target builtin:passes+partition=1 --part $part >"$tmp/$part.prog"
		expect "--part $part" 0 $?
		expect "one program" 1 "$(grep -c '^# scatterproof 1' "$tmp/$part.prog")"
	done
	hasnt "the forward part knows no cotangent" "$tmp/forward.prog" '^(g|h):'
	has "gradients are the backward part's" "$tmp/backward.prog" '^# gradient of x: '
	"$bin" compile "$tmp/q.prog" --target builtin:partitioned+recompute=0 --part backward >"$tmp/saved.prog"
	has "saved" "$tmp/saved.prog" '^e: .* = input\('
	"$bin" compile "$tmp/q.prog" --print-after loops --target builtin:jit+partition=1 >"$tmp/out"
	expect "the loops of both" 2 "$(grep -c '^loops 1' "$tmp/out")"
	"$bin" compile "$tmp/q.prog" --part middle >"$tmp/out" 2>"$tmp/err"
	expect "an unknown part" 2 $?
	"$bin" compile "$tmp/q.prog" --part backward >"$tmp/out" 2>"$tmp/err"
	expect "one part alone" 4 $?
	has "is said" "$tmp/err" 'it has no backward part'
	for target in partitioned partitioned+recompute=0 decomposed+partition=1 passes+partition=1+decompose=1 passes+partition=1+until=partition loops+partition=1 jit+partition=1+recompute=0; do
		"$bin" check "$tmp/q.prog" --target builtin:$target --quiet --expect pass >"$tmp/out" 2>&1
		expect "$target" 0 $?
	done
	printf '%s\n' '# scatterproof 1' 'x = input([3], dtype=f16, seed=1)' 'y = input([3], dtype=bf16, seed=2, requires_grad=True)' 'a = neg(x)' \
		'v = view.dtype(a, bf16)' 'm = mul.Tensor(y, v)' 'g = input([3], dtype=bf16, seed=3)' 'return (m,)' 'backward (m: g)' >"$tmp/dtypes.prog"
	"$bin" check "$tmp/dtypes.prog" --target builtin:partitioned+recompute=0 --quiet --expect pass >"$tmp/out" 2>&1
	expect "a saved value is viewed as another dtype" 0 $?
	for target in partitioned+partition=1 joint+partition=1 joint+recompute=0 passes+partition=2; do
		"$bin" check "$tmp/q.prog" --target builtin:$target >"$tmp/out" 2>"$tmp/err"
		expect "$target" 2 $?
	done
	for target in partitioned passes+partition=1 jit+partition=1; do
		"$bin" blame "$tmp/q.prog" --target builtin:$target+defect=saved_after_write --quiet >"$tmp/out" 2>"$tmp/err"
		expect "$target: blame" 0 $?
		has "$target: the step" "$tmp/out" 'wrong from: partitioned \(joint is right\)'
	done
}

reinplace() { # the last pass makes writes again
	cat >"$tmp/w.prog" <<-'EOF'
		# scatterproof 1
		x = input([3, 4], seed=1)
		y = input([3, 4], seed=2, requires_grad=True)
		g = input([3, 4], seed=3)
		v = slice.Tensor(x, dim=1, start=1, end=3)
		w = mul_.Tensor(v, 2.0)
		a = mul.Tensor(y, x)
		b = add.Tensor(a, 1.0)
		return (b,)
		backward (b: g,)
	EOF
	"$bin" compile "$tmp/w.prog" --target builtin:passes+reinplace=0 >"$tmp/off.prog"
	has "off: a scatter" "$tmp/off.prog" '= slice_scatter\(x, w, '
	has "off: the epilogue" "$tmp/off.prog" '= copy_\(x, slice_scatter\)'
	"$bin" compile "$tmp/w.prog" --validate >"$tmp/on.prog"
	has "the write to the view" "$tmp/on.prog" '^w: .* = mul_.Tensor\(v, 2.0\)'
	has "its memory is overwritten" "$tmp/on.prog" '^b: .* = add_.Tensor\(a, 1.0\)'
	hasnt "no epilogue" "$tmp/on.prog" 'copy_\(|slice_scatter\('
	for made in off on; do
		"$bin" check "$tmp/$made.prog" --quiet --expect pass >"$tmp/out" 2>&1
		expect "$made: an ordinary program" 0 $?
	done
	for stage in functional joint; do
		"$bin" check "$tmp/w.prog" --target builtin:$stage+reinplace=0 >"$tmp/out" 2>"$tmp/err"
		expect "$stage does not reinplace" 2 $?
	done
	"$bin" check "$tmp/w.prog" --target builtin:passes+reinplace=2 >"$tmp/out" 2>"$tmp/err"
	expect "neither on nor off" 2 $?
}

refused() { # a part of an expand: which row was written its scatters do not say
	cat >"$tmp/e.prog" <<-'EOF'
		# scatterproof 1
		x = input([3], dtype=i64, seed=7741, fill="normal")
		e = expand(x, [3, 3])
		r = select.int(e, 0, 1)
		w = relu_(r)
		return (e,)
	EOF
	for stage in functional joint passes; do
		"$bin" check "$tmp/e.prog" --target builtin:$stage --expect unsupported >"$tmp/out" 2>&1
		expect "$stage" 0 $?
		has "is said" "$tmp/out" 'a write through expand'
	done
	cat >"$tmp/w.prog" <<-'EOF'
		# scatterproof 1
		x = input([3], offset=2, seed=1)
		y = input([], seed=2)
		f = zero_(x)
		s = select_scatter(f, y, dim=0, index=0)
		w = as_strided(s, [2], [1], storage_offset=2)
		return (w,)
	EOF
	"$bin" check "$tmp/w.prog" --target builtin:functional --target builtin:jit --expect unsupported >"$tmp/out" 2>&1
	expect "a window on a scatter into written memory with gaps" 0 $?
	has "is said" "$tmp/out" 'is a window on memory with gaps, which is written'
}

corpus() { # every program that the repository has: right, or a reason why not
	find "$src/corpus" "$src/tests/prog" -name '*.prog' | sort >"$tmp/files"
	for stage in functional joint partitioned decomposed passes loops jit jit+decompose=1 jit+partition=1; do
		xargs "$bin" check --json --target builtin:eager --target builtin:$stage <"$tmp/files" >"$tmp/$stage.json" 2>"$tmp/err"
		python3 - "$tmp/$stage.json" builtin:$stage >"$tmp/bad" <<-'EOF'
			import collections, json, sys
			rows = [json.loads(l) for l in open(sys.argv[1])]
			by = collections.defaultdict(dict)
			for r in rows:
			    if "target" in r:
			        by[r.get("file", r.get("program")), r.get("line")][r["target"]] = r
			passed = 0
			for name, at in sorted(by.items(), key=str):
			    eager, stage = at["builtin:eager"], at[sys.argv[2]]
			    passed += stage["verdict"] == "pass"
			    if stage["verdict"] not in (eager["verdict"], "unsupported") and eager["verdict"] != "unsupported":
			        print(name, stage["verdict"], stage.get("why", ""))
			print("passed", passed)
		EOF
		expect "$stage: no other verdict than eager's" "" "$(grep -v '^passed' "$tmp/bad")"
		expect "$stage: most pass" yes "$([ "$(sed -n 's/^passed //p' "$tmp/bad")" -gt 300 ] && echo yes)"
	done
}

passes_random() { # with folding; without some passes before reinplace
	for option in freezing=1 passes=-cse,-dce passes=-noop,-views; do
		"$bin" fuzz --target builtin:passes+$option --programs 500 --seed 12 --quiet >"$tmp/out" 2>"$tmp/err"
		expect "$option: no divergence" 0 $?
		judges "$option: it judges" "$tmp/out" builtin:passes+$option 500
	done
}

loops() { # what the program becomes after the passes: loops, C text
	cat >"$tmp/l.prog" <<-'EOF'
		# scatterproof 1
		x = input([3, 4], seed=1)
		a = exp(x)
		b = t(a)
		c = mul.Tensor(b, 2)
		return (c,)
	EOF
	"$bin" compile "$tmp/l.prog" --print-after loops --validate >"$tmp/loops"
	expect "loops" 0 $?
	has "from where" "$tmp/loops" "^# of .*l.prog"
	has "what was checked" "$tmp/loops" "^# ok epilogue"
	has "behind the passes" "$tmp/loops" "^# ok dce"
	expect "one nest" 1 "$(grep -c store "$tmp/loops")"
	has "that reads the view" "$tmp/loops" 'load b0\[r1\*4 \+ r0\]'
	"$bin" compile "$tmp/l.prog" --target builtin:loops+fusion=off --print-after loops >"$tmp/loops"
	expect "two" 2 "$(grep -c store "$tmp/loops")"
	"$bin" compile "$tmp/l.prog" --print-after c >"$tmp/l.c"
	expect "C text" 0 $?
	cc -c -Wall -Wextra -Werror -Wno-unused -Wno-builtin-declaration-mismatch -Wno-clobbered -o "$tmp/l.o" "$tmp/l.c" 2>"$tmp/err"
	expect "that a C compiler takes" "0 " "$? $(cat "$tmp/err")"
}

native() { # C compilers of the machine: loaded, or in a package for a fresh process
	cat >"$tmp/n.prog" <<-'EOF'
		# scatterproof 1
		n = sym(3)
		x = input([n, 4], seed=1, requires_grad=True)
		y = input([n, 2], seed=2)
		s = slice_scatter(x, y, dim=1, start=1, end=3)
		h = _to_copy(s, dtype=f16)
		c = clamp(h, min=-1, max=3)
		w = add_.Tensor(y, 1)
		z = sum.dim_IntList(c, dim=[1])
		g = ones([n], dtype=f16)
		return (z,)
		backward (z: g,)
		call (x: seed=4, y: seed=5 fill=special)
		call (n=5)
	EOF
	for target in o2 o2+cc=clang o2+opt=0 o2+opt=3+sanitize=1 package package+cc=clang; do
		"$bin" check "$tmp/n.prog" --target builtin:$target --expect pass >"$tmp/out" 2>&1
		expect "$target" 0 $?
		has "$target: all calls" "$tmp/out" '3 calls\)'
	done
	printf '# scatterproof 1\nz = input([9, 9, 6], dtype=f64, seed=9253)\nr = reciprocal(z)\nm = mean.dim(r, dim=[1], dtype=f32)\nreturn (m,)\n' >"$tmp/r.prog"
	"$bin" check "$tmp/r.prog" --target builtin:o2 --target builtin:o2+opt=3 --expect pass >"$tmp/out" 2>&1
	expect "gcc rounds to float" 0 $?
	for target in o2 package; do
		"$bin" fuzz --target builtin:$target --programs 12 --seed 31 --quiet >"$tmp/out" 2>"$tmp/err"
		expect "$target: no divergence" 0 $?
		has "$target: it judges" "$tmp/out" "builtin:$target +pass (9|1[0-2])"
	done
	mkdir "$tmp/tmp"
	TMPDIR=$tmp/tmp "$bin" check "$tmp/n.prog" --target builtin:o2 --target builtin:package --quiet >"$tmp/out" 2>&1
	expect "nothing is left behind" "" "$(ls "$tmp/tmp")"
	PATH=/nonexistent "$bin" check "$tmp/n.prog" --target builtin:o2 >"$tmp/out" 2>&1
	expect "no compiler: not judged" 4 $?
	has "is said" "$tmp/out" 'unsupported on builtin:o2: gcc does not start: no such program in PATH'
	printf '%s\n' '# scatterproof 1' 'x = input([4], seed=1, requires_grad=True)' 'y = sqrt(x)' 'z = add_.Tensor(y, 2)' \
		'w = full([4], 1.0)' 'return (z,)' 'backward (z: w)' 'raises "modified by an inplace operation"' >"$tmp/raises.prog"
	"$bin" check "$tmp/raises.prog" --target builtin:o2 --target builtin:package --expect pass --quiet >"$tmp/out" 2>&1
	expect "a program that must raise" 0 $?
	for target in o2 package; do
		PATH=/nonexistent "$bin" check "$tmp/raises.prog" --target builtin:$target >"$tmp/out" 2>&1
		expect "$target, no compiler: a program that must raise is not judged either" 4 $?
	done
	for wrong in o2+cc=tcc o2+opt=4 loops+cc=gcc o2+sanitize=2 passes+fusion=off jit+fusion=no; do
		"$bin" check "$tmp/n.prog" --target builtin:$wrong >"$tmp/out" 2>"$tmp/err"
		expect "$wrong" 2 $?
	done
	has "what there is" "$tmp/err" "fusion=no is not one of on, off"
}

ahead() { # builtin:o2 compiles the programs that come next with the one that runs: with a compiler that says how often, and one that spoils
	real=$(command -v gcc)
	mkdir "$tmp/bin"
	cat >"$tmp/bin/gcc" <<-EOF
		#!/bin/sh
		for text; do case \$text in *.c) break;; esac; done
		grep -c '^bool run' "\$text" >>"$tmp/functions"
		[ ! -e "$tmp/alone" ] || [ "\$(tail -n 1 "$tmp/functions")" = 1 ] || exit 1
		[ ! -e "$tmp/slow" ] || [ "\$(tail -n 1 "$tmp/functions")" = 1 ] || exec sleep 30
		[ ! -e "$tmp/trap" ] || sed -i 's/^\(static T row_[a-z]*_Tensor_f[0-9]*(.*)) {\)/\1 __builtin_trap();/' "\$text"
		[ ! -e "$tmp/missing" ] || { echo 'extern int nobody_has(void); int asks(void) { return nobody_has(); }' >>"\$text"; }
		[ ! -e "$tmp/breaks" ] || { echo 'gcc: internal compiler error: Segmentation fault signal terminated program cc1' >&2; exit 4; }
		exec $real "\$@"
	EOF
	chmod +x "$tmp/bin/gcc"
	forty() { # in a campaign
		rm -f "$tmp/functions"
		name=$1
		shift
		PATH=$tmp/bin:$PATH TMPDIR=$tmp "$bin" fuzz --target builtin:o2 --programs 40 --seed 6 --no-confirm --db "$tmp/$name.db" --quiet "$@" \
			>"$tmp/out" 2>"$tmp/err"
	}
	forty batch
	expect "batches: no divergence" 0 $?
	has "all are judged" "$tmp/out" "builtin:o2 +pass 40$"
	expect "few compilers" yes "$([ "$(wc -l <"$tmp/functions")" -le 4 ] && echo yes)"
	expect "nothing is left behind" "" "$(ls "$tmp" | grep scatterproof)"
	touch "$tmp/alone"
	forty alone
	has "batches that do not compile: each program alone" "$tmp/out" "builtin:o2 +pass 40$"
	expect "a function each" yes "$([ "$(grep -cx 1 "$tmp/functions")" -ge 40 ] && echo yes)"
	rm "$tmp/alone"
	touch "$tmp/slow"
	forty slow --limit 21s
	has "batches that take too long: no program hangs for it" "$tmp/out" "builtin:o2 +pass 40$"
	rm "$tmp/slow"
	touch "$tmp/trap"
	forty trap
	has "some die" "$tmp/out" "builtin:o2 +pass [0-9]+ crash [0-9]+$"
	died=$(sed -n 's/.*builtin:o2 .* \(pass [0-9]* crash [0-9]*\)$/\1/p' "$tmp/out")
	expect "few compilers more" yes "$([ "$(wc -l <"$tmp/functions")" -le $((4 + 2 * ${died##* })) ] && echo yes)"
	"$bin" gen --seed 6 --programs 40 --out "$tmp/forty.prog"
	PATH=$tmp/bin:$PATH "$bin" check "$tmp/forty.prog" --target builtin:o2 --quiet >"$tmp/out" 2>&1
	has "as many as alone" "$tmp/out" "^40 programs on 1 target: $(echo "$died" | sed 's/pass \([0-9]*\) crash \([0-9]*\)/\1 pass, \2 crash/')$"
	for id in $(sql "select distinct id from finding" "$tmp/trap.db"); do
		PATH=$tmp/bin:$PATH "$bin" repro "$id" --db "$tmp/trap.db" --no-store >"$tmp/out" 2>&1
		expect "and those: $id" 1 $?
	done
	rm "$tmp/trap"
	for fault in missing breaks; do
		touch "$tmp/$fault"
		PATH=$tmp/bin:$PATH "$bin" check "$src/tests/prog/oracle/two_outputs_of_one_tensor.prog" --target builtin:o2 --expect crash >"$tmp/out" 2>&1
		expect "a function that nobody has, a compiler that breaks: $fault" 0 $?
		rm "$tmp/$fault"
	done
}

cuda() { # a GPU's text and what becomes of it without one; with one, builtin:cuda runs
	cat >"$tmp/g.prog" <<-'EOF'
		# scatterproof 1
		x = input([3, 4], seed=1, requires_grad=True)
		i = input([3], dtype=i64, fill="index", high=3, seed=2)
		s = index_select(x, 0, i)
		e = exp(s)
		r = sum.dim_IntList(e, dim=[1])
		g = ones([3])
		return (r,)
		backward (r: g,)
	EOF
	"$bin" compile "$tmp/g.prog" --print-after cuda >"$tmp/g.cu" 2>"$tmp/err"
	expect "CUDA text" 0 $?
	has "kernels" "$tmp/g.cu" '^extern "C" __global__ void p_k0\(struct raised \*frame, i64 n, unsigned char \*__restrict__ b0'
	has "threads for loops" "$tmp/g.cu" '^r[0-9]+ = rest;'
	cat >"$tmp/part.prog" <<-'EOF'
		# scatterproof 1
		x = input([1], seed=1)
		mask = input([], dtype=b8, fill="mask", seed=2)
		source = input([1], dtype=b8, seed=3)
		whole = all.dim(x, dim=0)
		r = masked_scatter(whole, mask, source)
		return (r,)
	EOF
	"$bin" compile "$tmp/part.prog" --print-after cuda >"$tmp/part.cu" 2>"$tmp/err"
	expect "of what loads what it stores" 0 $?
	has "NVRTC is not told that what it only reads lies apart" "$tmp/part.cu" \
		'^extern "C" __global__ void p_k0\(struct raised \*frame, i64 n, unsigned char \*b0, unsigned char \*b1, unsigned char \*b2, unsigned char \*__restrict__ b3, unsigned char \*__restrict__ b4\)$'
	"$bin" compile "$tmp/g.prog" --print-after loops --target builtin:cuda >"$tmp/loops" 2>"$tmp/err"
	expect "its loops" 0 $?
	has "say what may run at once" "$tmp/loops" '^for r[0-9]+ < 3 parallel$'
	SCATTERPROOF_NVRTC=/nonexistent "$bin" compile "$tmp/g.prog" --print-after ptx >"$tmp/out" 2>"$tmp/err"
	expect "no NVRTC" 4 $?
	has "is said" "$tmp/err" 'unsupported: SCATTERPROOF_NVRTC: /nonexistent is no NVRTC'
	SCATTERPROOF_CUDA=/nonexistent "$bin" check "$tmp/g.prog" --target builtin:cuda >"$tmp/out" 2>&1
	expect "no GPU: not judged" 4 $?
	has "is said" "$tmp/out" 'unsupported on builtin:cuda: no CUDA device: no driver /nonexistent'
	printf '%s\n' '# scatterproof 1' 'x = input([4], seed=1, requires_grad=True)' 'y = sqrt(x)' 'z = add_.Tensor(y, 2)' \
		'w = full([4], 1.0)' 'return (z,)' 'backward (z: w)' 'raises "modified by an inplace operation"' >"$tmp/raises.prog"
	SCATTERPROOF_CUDA=/nonexistent "$bin" check "$tmp/raises.prog" --target builtin:cuda >"$tmp/out" 2>&1
	expect "nor is a program that must raise" 4 $?
	"$bin" check "$tmp/g.prog" --target builtin:cuda >"$tmp/out" 2>&1
	has "whatever this machine has" "$tmp/out" '(pass on builtin:cuda|unsupported on builtin:cuda: no )'
	"$bin" check "$tmp/g.prog" --target builtin:loops+order=reversed --expect pass >"$tmp/out" 2>&1
	expect "in another order" 0 $?
	printf '# scatterproof 1\nx = input([5, 3], seed=1)\ny = input([3, 4], stride=[1, 3], seed=2)\nz = mm(x, y)\nreturn (z,)\n' >"$tmp/mm.prog"
	"$bin" compile "$tmp/mm.prog" --print-after loops --target builtin:jit+blas=1 >"$tmp/out"
	has "a product by BLAS" "$tmp/out" '^extern [0-9]+\(b0 f32\[5, 3\]\[3, 1\]\+0, b1 f32\[3, 4\]\[1, 3\]\+0\) -> '
	"$bin" check "$tmp/mm.prog" --target builtin:jit+blas=1 --target builtin:package+blas=1 --expect pass >"$tmp/out"
	expect "it is right" 0 $?
	for wrong in cuda+blas=1 jit+blas=2 cuda+fast=2 cuda+opt=1 jit+order=reversed loops+order=random loops+fast=1; do
		"$bin" check "$tmp/g.prog" --target builtin:$wrong >"$tmp/out" 2>"$tmp/err"
		expect "$wrong" 2 $?
	done
}

# A build without ASan asks all of 1500 programs, one with it the first 300 of them (docs/tests.md).
many=1500
[ "${5:-}" != sanitized ] || many=300

random() {
	for stage in functional joint partitioned partitioned+recompute=0 decomposed passes passes+decompose=1 loops loops+fusion=off loops+order=reversed loops+blas=1 jit jit+decompose=1 jit+partition=1; do
		"$bin" fuzz --target builtin:$stage --programs $many --seed 11 --quiet >"$tmp/out" 2>"$tmp/err"
		expect "$stage: no divergence" 0 $?
		judges "$stage: it judges" "$tmp/out" builtin:$stage $many
	done
}

dynamic() { # compiled once for calls of several sizes
	cat >"$tmp/s.prog" <<-'EOF'
		# scatterproof 1
		n = sym(6)
		x = input([n, 4], seed=1)
		y = slice.Tensor(x, dim=0, start=1, end=5)
		z = view(x, [2*n, 2])
		w = sum.dim_IntList(z, dim=[0])
		return (y, w)
		call (n=5)
		call (n=3)
	EOF
	"$bin" compile "$tmp/s.prog" --print-after loops --target builtin:jit+dynamic=1 --validate >"$tmp/out" 2>"$tmp/err"
	expect "compiled" 0 $?
	expect "which calls it serves" "once once specialised:" "$(echo $(sed -n 's/^# call [0-9]: \(compiled \)*\([a-z:]*\).*/\2/p' "$tmp/out"))"
	has "why not" "$tmp/out" '^# call 2: specialised: s0 >= 5 does not hold$'
	expect "symbols and guards" "s0 = size 0 of input 0, 6; guard s0 > 1; guard s0 >= 5; b0: f32[s0*4] = input 0 uses s0; " \
		"$(sed -n '/^s0/,/^b0/p' "$tmp/out" | tr '\n' ';' | sed 's/;/; /g')"
	"$bin" compile "$tmp/s.prog" --print-after c --target builtin:jit+dynamic=1 >"$tmp/out"
	has "symbols are an argument" "$tmp/out" '^const i64 s0 = s\[0\];$'
	has "and bound loops" "$tmp/out" '< \(s0\*2\);'
	"$bin" compile "$tmp/s.prog" --print-after loops --target builtin:jit >"$tmp/out"
	hasnt "only if it is asked for" "$tmp/out" 's0'
	for stage in passes loops jit o2 package; do
		"$bin" check "$tmp/s.prog" --target builtin:$stage+dynamic=1 --expect pass >"$tmp/out" 2>&1
		expect "$stage" 0 $?
	done
	expect "a graph for any size, one for n = 3" 2 "$("$bin" check "$tmp/s.prog" --target builtin:jit+dynamic=1 --json | sed -n 's/.*"graphs": *\([0-9]*\).*/\1/p')"
	"$bin" compile "$tmp/s.prog" --print-after loops --target builtin:jit+dynamic=1 --validate --defect list_lacks_symbol >"$tmp/out" 2>"$tmp/err"
	expect "I6" 1 $?
	has "says what is missing" "$tmp/err" 'invariant after symbols: I6: buffer b0 uses s0, which its list lacks'
	"$bin" check "$tmp/s.prog" --target builtin:jit+dynamic=1+defect=hint_as_limit --expect pass >"$tmp/out" 2>&1
	expect "a hint in place of a symbol is right for sizes that are not larger" 0 $?
	sed 's/n=5/n=9/' "$tmp/s.prog" >"$tmp/l.prog"
	"$bin" check "$tmp/l.prog" --target builtin:jit+dynamic=1+defect=hint_as_limit --expect mismatch >"$tmp/out" 2>&1
	expect "and wrong for others" 0 $?
	# What only one size decides: a divisor that is 1, a constant that is too large to be folded, loops that do not divide by 0.
	printf '%s\n' '# scatterproof 1' 'n = sym(32)' 'x = input([n], seed=1)' 'y = var.correction(x, dim=[0], correction=10)' \
		'return (y,)' 'call (n=11)' >"$tmp/one.prog"
	"$bin" check "$tmp/one.prog" --target builtin:jit+dynamic=1+decompose=1 --expect pass >"$tmp/out" 2>&1
	expect "n - 10 is 1" 0 $?
	printf '%s\n' '# scatterproof 1' 'n = sym(12)' 'x = input([n])' 'z = zeros_like(x)' 'y = mul.Scalar(z, 2)' 'w = add.Tensor(x, y)' \
		'return (w,)' 'call (n=65537)' >"$tmp/large.prog"
	"$bin" check "$tmp/large.prog" --target builtin:passes+dynamic=1+freezing=1 --expect pass >"$tmp/out" 2>&1
	expect "more than is folded" 0 $?
	printf '%s\n' '# scatterproof 1' 'u = sym(2)' 'x = input([2], seed=1)' 'm = input([2], dtype=b8, data=[True, True])' \
		'y = masked_select(x, m, count=u)' 't = roll(y, [1], [0])' 'return (t,)' 'call (m: data=[False, False], u=0)' >"$tmp/none.prog"
	for stage in loops jit o2; do
		"$bin" check "$tmp/none.prog" --target builtin:$stage+dynamic=1 --expect pass >"$tmp/out" 2>&1
		expect "$stage: nothing selected is specialised" 0 $?
	done
	for stage in passes loops jit; do
		"$bin" fuzz --target builtin:$stage+dynamic=1 --programs $many --seed 11 --quiet >"$tmp/out" 2>"$tmp/err"
		expect "$stage: no divergence" 0 $?
		judges "$stage: it judges" "$tmp/out" builtin:$stage+dynamic=1 $many
	done
}
$part
end
