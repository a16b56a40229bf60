#!/bin/sh
# Planted defects: `selftest`, defects as options of targets and of `compile`, and whether blame names the step. Usage: selftest.sh BINARY
# SOURCES PART
. "$(dirname "$0")/shell.sh"

# With these words a row that comes or goes elsewhere in the table changes no program that is drawn.
ops=add.Tensor,sub.Tensor,mul.Tensor,neg,abs,exp,sum,sum.dim_IntList,mean.dim,var.correction,amax,clone,expand,view,permute,slice.Tensor,select.int
ops="--ops $ops,unsqueeze,cat,copy_,add_.Tensor,mul_.Tensor,select_scatter,slice_scatter,cumsum,gather,index_select,where.self"

few() { # one of each catcher, and none
	names=gradient_summed_twice,cse_merges_outputs,keepdim_lost,view_of_output_copied,alpha_lost,noop_expand,correction_lost,cotangents_swapped
	"$bin" selftest $ops --defect $names --programs 200 >"$tmp/out" 2>"$tmp/err"
	expect "all are found" 0 $?
	has "none planted" "$tmp/out" '^none planted +nothing found in 200 programs, judged 1[89][0-9]$'
	has "a gradient" "$tmp/out" '^gradient_summed_twice +joint +[0-9]+ programs, planted in [0-9]+; caught by gradient; blamed: joint; [a-z]'
	has "an invariant" "$tmp/out" '^cse_merges_outputs +cse .* caught by invariant; blamed: cse; '
	has "a meta" "$tmp/out" '^keepdim_lost +joint .* caught by meta; blamed: joint; '
	has "an alias" "$tmp/out" '^view_of_output_copied +views .* caught by alias; blamed: views; '
	has "a value" "$tmp/out" '^alpha_lost +functional .* caught by value; blamed: functional; '
	has "a gradient of other sizes" "$tmp/out" '^noop_expand +noop .* caught by meta; blamed: noop; '
	has "a wrong rule" "$tmp/out" '^correction_lost +decompose .* caught by value; blamed: decompose; '
	has "a wrong crossing" "$tmp/out" '^cotangents_swapped +partition .* caught by gradient; blamed: partition; '
	has "the summary" "$tmp/out" '^8 defects, 8 found; programs to detection: median [0-9]+, max [0-9]+; caught as expected: 8; step named right: 8; none planted: nothing found$'
	"$bin" selftest $ops --defect $names --programs 200 --jobs 2 >"$tmp/again" 2>"$tmp/err"
	expect "two processes" 0 $?
	expect "say the same in the same order" "" "$(diff "$tmp/out" "$tmp/again")"
}

missed() { # nothing seen in too few programs; JSON
	"$bin" selftest $ops --defect cse_ignores_dim,gradient_summed_twice --programs 20 --json >"$tmp/out" 2>"$tmp/err"
	expect "one is not found" 1 $?
	python3 - "$tmp/out" >"$tmp/said" <<-'EOP'
		import json, sys
		rows = [json.loads(line) for line in open(sys.argv[1])]
		print([r["defect"] for r in rows[:-1]], [r["found"] for r in rows[:-1]])
		print({k: rows[1][k] for k in ("programs", "step", "expected")}, "caught" in rows[1])
		print(rows[2]["caught"], rows[2]["blamed"], rows[2]["expected"])
		print({k: rows[-1]["summary"][k] for k in ("defects", "found", "sound")})
	EOP
	has "which" "$tmp/said" "^\['', 'cse_ignores_dim', 'gradient_summed_twice'\] \[False, False, True\]$"
	has "of one that is missed" "$tmp/said" "^\{'programs': 20, 'step': 'cse', 'expected': 'value'\} False$"
	has "of one that is found" "$tmp/said" "^gradient joint gradient$"
	has "the summary" "$tmp/said" "^\{'defects': 2, 'found': 1, 'sound': True\}$"
}

violation() { # a broken invariant ends no process: a verdict and a kind of its own, from the target to the store and the cause
	printf '# scatterproof 1\nx = input([3], seed=1)\ny = clone(x)\nz = neg(y)\nreturn (y, z)\n' >"$tmp/v.prog"
	printf '# scatterproof 1\nx = input([3], seed=1)\nz = neg(x)\nreturn (z,)\n' >"$tmp/w.prog"
	target=builtin:passes+defect=noop_clone_of_output
	"$bin" check "$tmp/v.prog" "$tmp/w.prog" --target $target --db "$tmp/v.db" >"$tmp/out" 2>"$tmp/err"
	expect "check finds it" 1 $?
	has "the verdict" "$tmp/out" "v.prog: invariant on builtin:passes\\+defect=noop_clone_of_output"
	has "the sentence" "$tmp/out" "invariant after noop: I3: result 0, 'x' \(input\), lies in an input's memory and did not before"
	has "and the next one runs" "$tmp/out" '2 programs on 1 target: 1 pass, 1 invariant'
	hasnt "nothing died" "$tmp/out" 'crash|last output'
	"$bin" check "$tmp/v.prog" --target $target --expect invariant --json >"$tmp/out" 2>"$tmp/err"
	expect "it can be expected" 0 $?
	has "JSON" "$tmp/out" '"verdict":"invariant".*"kind":"invariant"'
	"$bin" findings --kind invariant --db "$tmp/v.db" >"$tmp/out" 2>"$tmp/err"
	has "listed by kind" "$tmp/out" 'invariant I3 after noop: input'
	"$bin" findings --kind crash --db "$tmp/v.db" >"$tmp/out" 2>"$tmp/err"
	hasnt "it is no crash" "$tmp/out" 'invariant'
	"$bin" triage --db "$tmp/v.db" --quiet >"$tmp/out" 2>"$tmp/err"
	expect "triage" 0 $?
	expect "its cause" "builtin:passes: invariant I3 after noop: input" "$(sql "select cause from v_causes" "$tmp/v.db")"
	expect "the smallest program keeps it" "clone" "$(sql "select ops from v_findings" "$tmp/v.db")"
	has "blame" "$tmp/out" 'wrong from: passes \(decomposed is right\); invariant I3 after noop: input; cured by leaving defect=noop_clone_of_output away'
	id=$(sql "select id from v_findings" "$tmp/v.db")
	"$bin" repro "$id" --db "$tmp/v.db" >"$tmp/out" 2>"$tmp/err"
	expect "repro: it still happens" 1 $?
	"$bin" repro "$id" --db "$tmp/v.db" --target builtin:passes --no-store >"$tmp/out" 2>"$tmp/err"
	expect "repro: the sound compiler has none" 0 $?
}

founding() { # the table of the bug that started all this: zero from the start on, else too large by n / (n - length)
	for shape in 4x13x33_0_6 2x8x16_0_4 1x6x100_0_3; do
		"$bin" check "$src/corpus/seeds/slice_scatter_f32_$shape.prog" --target builtin:passes+defect=scatter_meta_keeps_strides --expect mismatch >"$tmp/out" 2>&1
		expect "$shape" 0 $?
		has "$shape: zero" "$tmp/out" 'x.grad wrong in [0-9]+ of [0-9]+ elements, all zero'
		hasnt "$shape: the rest is right" "$tmp/out" '(y.grad|out 0).* wrong'
	done
	"$bin" sweep "$src/corpus/seeds/slice_scatter_f32_3x20x7_5_12.prog" --target builtin:passes+defect=scatter_meta_keeps_strides --axis shapes >"$tmp/out" 2>"$tmp/err"
	expect "sweep" 0 $?
	has "the ratio" "$tmp/out" '^size 3: fails for all [0-9]+ sizes; the ratio is 1.53846 = 20/13$'
	has "for every length" "$tmp/out" '^size 7: fails for .*; the ratio is 20/\(20 - n\)$'
}

steps() { # blame asks with until=STEP; what is wrong with the writing back alone is said
	cat >"$tmp/c.prog" <<-'EOP'
		# scatterproof 1
		x = input([3], seed=1, fill="normal")
		y = _to_copy(x, dtype=f16)
		z = _to_copy(y, dtype=f32)
		w = neg(z)
		return (w,)
	EOP
	"$bin" blame "$tmp/c.prog" --target builtin:passes+defect=noop_round_trip --quiet >"$tmp/out" 2>"$tmp/err"
	expect "blame" 0 $?
	has "the pass" "$tmp/out" 'wrong from: passes \(decomposed is right\).*right without application 2 of passes: noop'
	"$bin" check "$tmp/c.prog" --target builtin:passes+defect=noop_round_trip+until=joint --target builtin:passes+passes=-noop+defect=noop_round_trip --expect pass >"$tmp/out" 2>&1
	expect "right before that step, and without it" 0 $?
	"$bin" check "$tmp/c.prog" --target builtin:passes+defect=noop_round_trip+until=noop --expect mismatch >"$tmp/out" 2>&1
	expect "wrong behind it" 0 $?
	printf '# scatterproof 1\nx = input([3], seed=1)\ny = mul_.Tensor(x, 2.0)\nz = neg(y)\nreturn (z,)\n' >"$tmp/w.prog"
	"$bin" blame "$tmp/w.prog" --target builtin:passes+defect=write_back_lost --quiet >"$tmp/out" 2>"$tmp/err"
	expect "blame" 0 $?
	has "the writing back" "$tmp/out" 'what is written to .x. is right, but is not in it afterwards'
	"$bin" blame "$tmp/w.prog" --target builtin:passes+defect=alpha_lost --quiet >"$tmp/out" 2>"$tmp/err"
	expect "nothing to spoil: it does not fail" 4 $?
}

loops() { # defects of the steps lower and reuse: found, named, and the same to every engine that runs loops
	"$bin" selftest $ops --defect window_never,accumulation_lost,reused_in_last_nest,input_reused --programs 150 >"$tmp/out" 2>"$tmp/err"
	expect "all are found" 0 $?
	has "a window" "$tmp/out" '^window_never +lower +[0-9]+ programs, planted in [0-9]+; caught by (value|gradient); blamed: lower; [a-z]'
	has "a buffer" "$tmp/out" '^reused_in_last_nest +reuse .* caught by (value|gradient); blamed: reuse; '
	has "an input" "$tmp/out" '^input_reused +reuse .* caught by value; blamed: reuse; '
	has "the summary" "$tmp/out" '^4 defects, 4 found; .* step named right: 4; none planted: nothing found$'
	cat >"$tmp/s.prog" <<-'EOP'
		# scatterproof 1
		x = input([17, 2], seed=1)
		y = cumsum(x, 0)
		z = t(y)
		w = cumsum(z, 1)
		return (w,)
	EOP
	for defect in tile_one_more reused_in_last_nest; do
		"$bin" check "$tmp/s.prog" --target builtin:loops+defect=$defect --target builtin:jit+defect=$defect --expect mismatch >"$tmp/out" 2>&1
		expect "$defect: loops and jit" 0 $?
		"$bin" compile "$tmp/s.prog" --print-after loops --defect $defect >"$tmp/$defect" 2>"$tmp/err"
		has "$defect is said" "$tmp/$defect" "^# defect $defect: planted$"
	done
	has "the last round is gone" "$tmp/tile_one_more" '^(  )?for r[0-9]+ < 16$'
	"$bin" compile "$tmp/s.prog" --print-after c --defect tile_one_more >"$tmp/out" 2>"$tmp/err"
	has "in C, too" "$tmp/out" 'r[0-9]+ < 16; '
	"$bin" compile "$tmp/s.prog" --print-after loops --defect empty_identity_zero >"$tmp/out" 2>"$tmp/err"
	has "nothing to spoil" "$tmp/out" '^# defect empty_identity_zero: nothing to spoil$'
	"$bin" check "$tmp/s.prog" --target builtin:loops+defect=reused_in_last_nest+buffer_reuse=0 --target builtin:jit+defect=reused_in_last_nest+until=lower --expect pass >"$tmp/out" 2>&1
	expect "right where no buffers are shared" 0 $?
	"$bin" check "$tmp/s.prog" --target builtin:loops+defect=reused_in_last_nest+until=reuse --expect mismatch >"$tmp/out" 2>&1
	expect "wrong behind that step" 0 $?
	"$bin" blame "$tmp/s.prog" --target builtin:jit+defect=reused_in_last_nest --quiet >"$tmp/out" 2>"$tmp/err"
	expect "blame" 0 $?
	has "the step" "$tmp/out" 'wrong from: loops \(passes is right\); cured by .*buffer_reuse=0.*; right without application 1 of buffers: reuse'
}

printed() { # compile --defect
	printf '# scatterproof 1\nx = input([3], seed=1)\ny = input([3], seed=2)\nz = add.Tensor(x, y, alpha=2)\nreturn (z,)\n' >"$tmp/a.prog"
	"$bin" compile "$tmp/a.prog" --defect alpha_lost >"$tmp/out" 2>"$tmp/err"
	expect "compiles" 0 $?
	has "says so" "$tmp/out" '^# defect alpha_lost: planted$'
	has "without alpha" "$tmp/out" '= add.Tensor\(x, y\)$'
	"$bin" compile "$tmp/a.prog" --defect floor_as_trunc >"$tmp/out" 2>"$tmp/err"
	has "nothing to spoil" "$tmp/out" '^# defect floor_as_trunc: nothing to spoil$'
	"$bin" compile "$tmp/a.prog" --defect reinplaced_too_early --validate >"$tmp/out" 2>"$tmp/err"
	expect "an invariant is broken" 1 $?
	has "which" "$tmp/err" 'invariant after dce: I1: '
	"$bin" fuzz $ops --target builtin:functional+defect=alpha_lost --programs 120 --seed 1 --db "$tmp/f.db" --quiet >"$tmp/out" 2>"$tmp/err"
	expect "a campaign finds it" 1 $?
	id=$(sql "select id from v_findings limit 1" "$tmp/f.db")
	"$bin" repro "$id" --db "$tmp/f.db" >"$tmp/out" 2>"$tmp/err"
	expect "repro plants it again" 1 $?
	"$bin" repro "$id" --db "$tmp/f.db" --target builtin:functional --no-store >"$tmp/out" 2>"$tmp/err"
	expect "the sound compiler is right" 0 $?
}

usage() {
	"$bin" selftest --defect alpha_last >"$tmp/out" 2>"$tmp/err"
	expect "unknown" 2 $?
	has "is said" "$tmp/err" "there is no defect 'alpha_last'.*alpha_lost"
	"$bin" compile "$src/corpus/seeds" --defect nonsense >"$tmp/out" 2>"$tmp/err"
	expect "of compile" 2 $?
	"$bin" selftest --ops nonsense >"$tmp/out" 2>"$tmp/err"
	expect "an operator" 2 $?
	has "is said" "$tmp/err" "no operator 'nonsense'"
	"$bin" selftest alpha_lost >"$tmp/out" 2>"$tmp/err"
	expect "a word" 2 $?
	for target in eager+defect=alpha_lost functional+defect=cse_ignores_dim joint+defect=noop_expand passes+defect=nonsense passes+until=functional joint+until=joint passes+defect=tile_one_more passes+until=lower; do
		"$bin" check "$src/corpus/seeds" --target builtin:$target >"$tmp/out" 2>"$tmp/err"
		expect "$target" 2 $?
		has "$target: is said" "$tmp/err" "target 'builtin:.*(no defect|compiles nothing|does not have|is no step|has no option)"
	done
	"$bin" check "$src/corpus/seeds/slice_scatter_f32_2x8x16_0_4.prog" --target builtin:joint+defect=alpha_lost --quiet >"$tmp/out" 2>"$tmp/err"
	expect "a defect of an earlier step" 0 $?
}
$part
end
