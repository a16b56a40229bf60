#!/bin/bash
# A reproducer shows the bug that it names, on what its name says: `repro`, the scripts that it writes, and the versions of targets.
# usage: reproducers.sh BINARY SOURCE_DIR PART FINDING_OF     PART: observations | versions | script | script_torch | agree_torch | short_torch | kept_torch
set -u
finding_of=$4
. "$(dirname "$0")/shell.sh"
seed=$src/corpus/seeds/slice_scatter_f32_4x13x33_0_6.prog
envs=${SCATTERPROOF_TARGETS:-${XDG_DATA_HOME:-$HOME/.local/share}/scatterproof/targets}

prog() { printf '%s\n' '# scatterproof 1' "$@" >"$tmp/w.prog"; } # prog LINE...: a program in $tmp/w.prog
script_of() { # script_of FILE TARGET KIND TENSOR CALL [VERDICT]: the script of such a finding, in $tmp/s.py
	rm -f "$tmp/s.db"
	id=$("$finding_of" "$tmp/s.db" "$2" "$3" "${6:-mismatch}" "$1" "$4" "$5")
	"$bin" repro "$id" --db "$tmp/s.db" --script "$tmp/s.py" --full
	expect "repro --script --full of $1" 0 $?
}

observations() { # each observation has its own program, tensor and call; repro takes one of them and judges nothing else
	cat >"$tmp/one.prog" <<-END
		# scatterproof 1
		x = input([6], seed=1, requires_grad=True)
		y = neg(x)
		g = full([6], 1.0)
		return (y,)
		backward (y: g)
	END
	cat >"$tmp/two.prog" <<-END
		# scatterproof 1
		u = input([5], seed=1)
		v = neg(u)
		w = exp(u)
		return (v, w)
		call (u: seed=7)
	END
	ids=($("$finding_of" "$tmp/o.db" torch-2.11.0:inductor@cpu value mismatch "$tmp/one.prog" "out 0 (y)" 0 "$tmp/two.prog" "out 1 (w)" 1))
	"$bin" repro "${ids[0]}" --db "$tmp/o.db" --script - --full >"$tmp/s"
	has "the first program" "$tmp/s" '^def f\(x\):$'
	has "with its own tensor" "$tmp/s" '^TENSOR = "output 0"$'
	has "and it is named" "$tmp/s" "^# scatterproof finding ${ids[0]} \(chosen\), program [0-9a-f]{8}, the first of 2, found on torch-2.11.0:inductor@cpu;"
	expect "one call" 1 "$(grep -c '^    lambda' "$tmp/s")"
	"$bin" repro "${ids[0]}" --program "${ids[1]}" --db "$tmp/o.db" --script - --full >"$tmp/s"
	has "another program" "$tmp/s" '^def f\(u\):$'
	has "with its own tensor" "$tmp/s" '^TENSOR = "output 1"$'
	has "and it is named" "$tmp/s" "program ${ids[1]}, one of 2"
	expect "and the calls before that" 2 "$(grep -c '^    lambda' "$tmp/s")"
	"$bin" repro "${ids[0]}" --program ffffffff --db "$tmp/o.db" >"$tmp/out" 2>&1
	expect "a program that it does not have" 2 $?
	has "a program that it does not have" "$tmp/out" "no observation of a program ffffffff"
	# A planted error is in the first output: the finding about the second one does not hold, and that is said.
	"$bin" repro "${ids[0]}" --program "${ids[1]}" --db "$tmp/o.db" --target builtin:eager >"$tmp/out"
	expect "nothing is wrong" 0 $?
	has "nothing is wrong" "$tmp/out" "^${ids[0]} on builtin:eager: does not happen: out 1 \(w\) of call 1 is right$"
	has "which program" "$tmp/out" "^  program ${ids[1]}, one of 2; ran on scatterproof 0.1$"
	for k in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do    # a program in eight is spoilt, by its text
		sed "s/seed=1)/seed=$((100 + k)))/" "$tmp/two.prog" >"$tmp/p$k.prog"
		"$bin" check "$tmp/p$k.prog" --target builtin:eager+plant=zero --quiet >/dev/null || break
	done
	ids=($("$finding_of" "$tmp/p.db" torch:inductor@cpu value mismatch "$tmp/p$k.prog" "out 1 (w)" 1 "$tmp/one.prog" "out 0 (y)" 0))
	"$bin" repro "${ids[0]}" --db "$tmp/p.db" --target builtin:eager+plant=zero >"$tmp/out"
	expect "another tensor is wrong" 0 $?
	has "another tensor is wrong" "$tmp/out" "does not happen: out 1 \(w\) of call 1 is right"
	has "and it is said" "$tmp/out" "besides, and not what this finding is about: out 0 \(v\) wrong in 5 of 5"
	query="select family || ' ' || version || ' ' || nfail || ' ' || npass from v_by_version where family = 'builtin'"
	expect "what was seen" "builtin 0.1 0 1" "$(sql "$query" "$tmp/p.db")"
	expect "and the run" "repro mismatch 1" "$(sql "select policy || ' ' || verdict || ' ' || n from v_counters" "$tmp/p.db")"
	ids=($("$finding_of" "$tmp/q.db" torch:inductor@cpu value mismatch "$tmp/p$k.prog" "out 0 (v)" 1))
	"$bin" repro "${ids[0]}" --db "$tmp/q.db" --target builtin:eager+plant=zero --no-store >"$tmp/out"
	expect "this tensor is wrong" 1 $?
	has "this tensor is wrong" "$tmp/out" "still happens: out 0 \(v\) of call 1 is wrong"
	expect "nothing is written" "" "$(sql "select policy from v_runs where policy = 'repro'" "$tmp/q.db")"
	"$bin" findings mark "${ids[0]}" fixed-in 0.1 --db "$tmp/q.db" >/dev/null
	"$bin" repro "${ids[0]}" --db "$tmp/q.db" --target builtin:eager+plant=zero >"$tmp/out"
	expect "seen after its fix" 1 $?
	has "seen after its fix" "$tmp/out" "it is regressed now"
	expect "seen after its fix" regressed "$(sql "select state from v_open" "$tmp/q.db")"
	for damage in "update observation set environment = zeroblob(16)" "delete from environment"; do
		cp "$tmp/o.db" "$tmp/damaged.db"
		python3 -c 'import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); db.execute(sys.argv[2]); db.commit()' "$tmp/damaged.db" "$damage" \
			2>/dev/null || continue                         # no python3
		id=$(sql "select id from v_findings" "$tmp/damaged.db")
		for words in "" "--script -" "--target builtin:eager"; do
			"$bin" repro "$id" --db "$tmp/damaged.db" $words >"$tmp/out" 2>"$tmp/err"
			expect "an observation that was made nowhere: repro $words" 2 $?
			has "an observation that was made nowhere: repro $words" "$tmp/err" "the observation of finding $id names no environment"
		done
	done
	chmod a-w "$tmp/q.db" "$tmp"
	if ! touch "$tmp/q.db-journal" 2>/dev/null; then        # not as root
		"$bin" repro "${ids[0]}" --db "$tmp/q.db" --target builtin:eager >"$tmp.out" 2>"$tmp.err"
		expect "a store that cannot be written: the answer stands" 0 $?
		has "a store that cannot be written" "$tmp.err" "what was seen is not recorded"
		rm -f "$tmp.out" "$tmp.err"
	fi
	chmod u+w "$tmp" "$tmp/q.db"
}

versions() { # a name is what ran
	printf '#!/bin/sh\nexec python3 "%s"\n' "$src/tests/cli/fake_torch.py" >"$tmp/python"
	chmod +x "$tmp/python"
	export FAKE_TORCH=2.16.0.dev20260101+cpu
	for words in "check $seed" "fuzz --time 20s --db $tmp/v.db" "fuzz --time 20s --no-cheap --jobs 2"; do
		"$bin" $words --target torch-2.15.0:inductor@cpu --python "$tmp/python" >"$tmp/out" 2>"$tmp/err"
		expect "another version than the name says: $words" 2 $?
		has "both versions" "$tmp/err" "target 'torch-2.15.0:inductor@cpu' names version 2.15.0, but $tmp/python has torch 2.16.0.dev20260101\+cpu$"
		for name in torch torch-2.16.0.dev20260101 torch-2.16.0.dev20260101+cpu; do
			case $words in check*) ;; *) continue ;; esac
			"$bin" $words --target "$name:inductor@cpu" --python "$tmp/python" >"$tmp/out" 2>"$tmp/err"
			expect "$name" 4 $?
			has "$name is named by what it is" "$tmp/out" "unsupported on torch-2.16.0.dev20260101:inductor@cpu: a fake refuses"
		done
	done
	"$bin" check "$seed" --json --target torch:inductor@cpu --python "$tmp/python" >"$tmp/out"
	has "in JSON, too" "$tmp/out" '"target": ?"torch-2.16.0.dev20260101:inductor@cpu"'
	"$bin" check "$seed" --target torch-2.16.0.dev20260101+cu130:eager --python "$tmp/python" >"$tmp/out" 2>"$tmp/err"
	expect "another build of the version" 2 $?
	"$bin" fuzz --target torch:inductor@cpu --no-cheap --programs 3 --python "$tmp/python" --db "$tmp/f.db" >"$tmp/out" 2>"$tmp/err"
	expect "a campaign in which nothing is judged" 4 $?
	has "the summary's names" "$tmp/out" "^  torch-2.16.0.dev20260101:inductor@cpu unsupported 3$"
	query="select family || ' ' || version || ' ' || target || ' ' || device || ' ' || verdict || ' ' || n from v_counters"
	want="torch 2.16.0.dev20260101 torch-2.16.0.dev20260101:inductor@cpu cpu unsupported 3"
	expect "what ran is in the store, also when nothing diverged" "$want" "$(sql "$query" "$tmp/f.db")"
	expect "and on which machine" 1 "$(sql "select count(*) from v_environments where machine like 'x86_64 FAKE, %CPU%'" "$tmp/f.db")"
	"$bin" fuzz --target torch:inductor@cpu --no-cheap --programs 3 --json --python "$tmp/python" >"$tmp/out" 2>"$tmp/err"
	has "and in JSON" "$tmp/out" '"targets": \["torch-2.16.0.dev20260101:inductor@cpu"\]'
	ids=($("$finding_of" "$tmp/r.db" torch-2.15.0:inductor@cpu gradient mismatch "$seed" x.grad 0))
	"$bin" repro "${ids[0]}" --db "$tmp/r.db" --target torch-2.15.0:inductor@cpu --python "$tmp/python" >"$tmp/out" 2>"$tmp/err"
	expect "repro of another version than the name says" 2 $?
	"$bin" repro "${ids[0]}" --db "$tmp/r.db" --python "$tmp/python" >"$tmp/out" 2>"$tmp/err"
	expect "repro on an interpreter: cannot be told" 4 $?
	has "says what ran" "$tmp/out" "on torch-2.16.0.dev20260101:inductor@cpu: cannot be told: a fake refuses$"
	has "says what ran" "$tmp/out" "ran on torch 2.16.0.dev20260101\+cpu, python 3.11.2$"
	expect "and keeps it" "2.16.0.dev20260101 unsupported" "$(sql "select version || ' ' || verdict from v_counters" "$tmp/r.db")"
	"$bin" repro "${ids[0]}" --db "$tmp/r.db" --python "$tmp/python" --script "$tmp/s.py" >"$tmp/out" 2>"$tmp/err"
	has "the script, too" "$tmp/s.py" "^# this script is for torch-2.16.0.dev20260101:inductor@cpu$"
	has "a target that refuses the program has the judged one" "$tmp/err" "no script of a few lines: with plainer numbers the target does not fail, and as it is its inputs are more than"
	FAKE_TORCH="" "$bin" check "$seed" --target torch:eager --python "$tmp/python" >"$tmp/out" 2>"$tmp/err"
	expect "one that does not say what it is" 3 $?
	mkdir -p "$tmp/t/torch-2.15.0/bin" "$tmp/t/torch-2.15.0/lib/python3.11/site-packages/torch"
	cp "$tmp/python" "$tmp/t/torch-2.15.0/bin/python"
	printf "__version__ = '2.11.0+cu130'\n" >"$tmp/t/torch-2.15.0/lib/python3.11/site-packages/torch/version.py"
	SCATTERPROOF_TARGETS=$tmp/t "$bin" targets >"$tmp/out"
	has "an environment that is not what it is called" "$tmp/out" "holds PyTorch 2.11.0\+cu130, which its name does not say"
}

script() { # stand-alone scripts as they are written: needs no PyTorch
	script_of "$seed" torch:inductor@cpu gradient x.grad 0
	has "what is looked at" "$tmp/s.py" '^TENSOR = "x.grad"$'
	has "a name without version is the default's" "$tmp/s.py" '^# this script is for torch-2.11.0:inductor@cpu$'
	has "its shape" "$tmp/s.py" '^    "shape": \("torch.float32", \[4, 13, 33\]\),$'
	has "runs of equal elements" "$tmp/s.py" '^        \[0\] \* 198$'
	has "repeated rows" "$tmp/s.py" '^ .*\] \* 7(,|$)'
	expect "one table for all versions" 1 "$(grep -c '^    ((' "$tmp/s.py")"
	! command -v python3 >/dev/null || python3 -m py_compile "$tmp/s.py"
	expect "it is Python" 0 $?
	script_of "$src/corpus/regressions/min_of_bytes.prog" torch:inductor@cpu value "out 1 (b)" 0
	has "an integer" "$tmp/s.py" '^        \[63\],$'
	script_of "$src/corpus/regressions/unfold_write_with_gaps.prog" torch:aot_eager@cpu mutation "input x afterwards" 0
	has "a storage, its moved zeros with their sign" "$tmp/s.py" '^        \[-1.875, -0.25, .* 0.0, 3.25\],$'
	prog 'x = input([40], seed=1, fill="ties", requires_grad=True)' 'm = topk(x, 1)' 'v = getitem(m, 0)' 'g = full([1], 1.5)' \
		'return (v,)' 'backward (v: g)'
	script_of "$tmp/w.prog" torch:inductor@cuda gradient x.grad 0
	has "a winner that nobody knows" "$tmp/s.py" '^        \(\[5, 9, 15, 20, 24, 26, 34, 38\], \[\(1.5, 1.5\)\]\),\]\),$'
	prog 'x = input([2, 3], data=[1, 1, 1, 0, 2, 2])' 's = sort(x)' 'i = getitem(s, 1)' 'return (i,)'
	script_of "$tmp/w.prog" torch:eager value "out 0 (i)" 0
	has "positions that must differ" "$tmp/s.py" '^        \(\[0, 1, 2\],\),$'
	has "in each row that has equals" "$tmp/s.py" '^        \(\[3, 4, 5\],\),\]\),$'
	prog 'x = input([4], seed=1, fill="special")' 'y = exp(x)' 'z = div.Tensor(x, y)' 'return (x, z)'
	script_of "$tmp/w.prog" torch:inductor@cpu value "out 1 (z)" 0
	has "enclosures" "$tmp/s.py" '^        \[nan, \(-0.32100647[0-9]*, -0.32100623[0-9]*\), nan, nan\],$'
	prog 'x = input([65, 65], seed=1)' 'y = neg(x)' 'return (y,)'
	script_of "$tmp/w.prog" torch:inductor@cpu value "out 0 (y)" 0
	has "too large for a person" "$tmp/s.py" '^        \[x for n, x in \[$'
	! command -v python3 >/dev/null || python3 -m py_compile "$tmp/s.py"
	expect "it is Python, too" 0 $?
	prog 'x = input([512, 513], seed=1)' 'y = neg(x)' 'return (y,)'
	script_of "$tmp/w.prog" torch:inductor@cpu value "out 0 (y)" 0
	has "too large for a table" "$tmp/s.py" "^# It cannot be told .*: out 0 \(y\) has more than 262144 elements.$"
	script_of "$src/tests/prog/undecided/atan2_of_two_dtypes.prog" torch:inductor@cpu value "out 0 (a)" 0
	has "not judged" "$tmp/s.py" '^UNKNOWN = "the reference does not judge this program: '
	script_of "$src/corpus/regressions/clone_after_index_put.prog" torch:inductor@cpu alias "out 0 (c)" 0
	has "an alias finding compares memory" "$tmp/s.py" '^    "memory": \{\},$'
	has "and no elements" "$tmp/s.py" "^EXPECTED = \[\]$"
	prog 'x = input([4], seed=1, fill="ties", requires_grad=True)' 'y = clamp(x, min=0.0, max=1.0)' 'g = full([4], 1.0)' \
		'return (y,)' 'backward (y: g)'
	script_of "$tmp/w.prog" torch:inductor@cpu gradient x.grad 0
	has "what differs by version has a table for each" "$tmp/s.py" '^    \(\(2, 15\),$'
	printf '# scatterproof 1\nx = input([4], data=[0.1, -0.0, -inf, 1e-45])\nh = input([2], dtype=f16, data=[nan(0x7ff8040000000000), 2])\ni = input([2], dtype=i64, data=[0, 3])\ny = index_select(x, 0, i)\nreturn (y, h)\ncall (i: data=[1, 2])\n' >"$tmp/w.prog"
	script_of "$tmp/w.prog" torch:inductor@cpu value "out 0 (y)" 0
	has "data, as the dtype holds it" "$tmp/s.py" '^        make_data\("f32", \[0.10000000149011612, -0.0, -math.inf, 1.401298464324817e-45\]\),$'
	has "data with a NaN, by its bits" "$tmp/s.py" '^        make_data\("f16", \[32257, 16384\], bits=True\),$'
	script_of "$tmp/w.prog" torch:inductor@cpu value "out 0 (y)" 1
	has "data of the second call" "$tmp/s.py" '^        make_data\("i64", \[1, 2\]\),$'
	script_of "$src/tests/prog/raises/expanded_written.prog" torch:aot_eager@cpu raise "" 0
	has "what eager must refuse" "$tmp/s.py" '^STATED = ".'
	has "and when it exits 1" "$tmp/s.py" "^# Exits 1 if the target runs what eager refuses, 0 if not"
	rm -f "$tmp/s.db"
	id=$("$finding_of" "$tmp/s.db" torch:inductor@cpu value mismatch "$tmp/w.prog" "out 7 (nonsense)" 0)
	"$bin" repro "$id" --db "$tmp/s.db" --script "$tmp/s.py" --full >"$tmp/out" 2>&1
	expect "a tensor that the program does not have" 2 $?
	has "a tensor that the program does not have" "$tmp/out" "no observation of this program says which tensor is wrong"
}

run() { "$envs/torch-$1/bin/python" "$tmp/s.py" >"$tmp/out" 2>"$tmp/err"; }
instead() { sed -i "s/^    return fn\$/    $1/; s/^    return torch.compile.*/    $1/" "$tmp/s.py"; }  # of the target

script_torch() { # … and as they run; options that only PyTorch can refuse
	script_of "$seed" torch:eager gradient x.grad 0
	run 2.11.0
	expect "eager is right" 0 $?
	has "eager is right" "$tmp/out" "^torch 2.11.0.*: x.grad of call 0 is right$"
	cp "$tmp/s.py" "$tmp/right.py"
	instead 'import signal; os.kill(os.getpid(), signal.SIGSEGV)'
	run 2.11.0
	expect "a crash" 1 $?
	has "a crash" "$tmp/out" "the target dies: SIGSEGV"
	cp "$tmp/right.py" "$tmp/s.py"
	sed -i 's/^LIMIT = .*/LIMIT = 2/' "$tmp/s.py"
	instead 'import time; time.sleep(100)'
	run 2.11.0
	expect "a hang" 1 $?
	has "a hang" "$tmp/out" "the target hangs: it still runs after 2 seconds"
	script_of "$src/tests/prog/raises/expanded_written.prog" torch:aot_eager@cpu raise "" 0
	run 2.11.0
	expect "the target runs what eager refuses" 1 $?
	has "the target runs what eager refuses" "$tmp/out" "^eager raises RuntimeError: "
	script_of "$src/tests/prog/raises/wrong_shape.prog" torch:aot_eager@cpu raise "" 0
	run 2.11.0
	expect "both refuse it" 0 $?
	has "both refuse it" "$tmp/out" "^as it must$"
	script_of "$src/corpus/regressions/unfold_write_with_gaps.prog" torch:eager value "out 0 (w)" 0
	instead 'return lambda *a: [o.detach().nextafter(o + 1) for o in fn(*a)]'
	run 2.11.0
	expect "the last bit is wrong" 1 $?
	has "the last bit is wrong" "$tmp/out" "^call 0, output 0: 5 of 5 elements are wrong$"
	has "the last bit is wrong" "$tmp/out" "^  \(1, 0\) must be 2.375, eager gives 2.375, the target 2.37500023"
	prog 'x = input([40], seed=1, fill="ties", requires_grad=True)' 'm = topk(x, 1)' 'v = getitem(m, 0)' \
		'g = input([1], seed=2, fill="positive")' 'return (v,)' 'backward (v: g)'
	script_of "$tmp/w.prog" torch:inductor@cuda gradient x.grad 0
	sed -i 's/^DEVICE = "cuda"/DEVICE = "cpu"/' "$tmp/s.py"
	sed -i 's/^COMPILES = .*/COMPILES = False/' "$tmp/s.py"
	instead 'return fn'
	run 2.11.0
	expect "one winner" 0 $?
	cp "$tmp/s.py" "$tmp/winner.py"
	sed -i 's/, x.grad, memory)/, x.grad * 0, memory)/' "$tmp/s.py"
	run 2.11.0
	expect "no winner" 1 $?
	has "no winner" "$tmp/out" "^call 0, x.grad: of elements \(5,\), \(9,\), .* each gets one of \[\(3.5, 3.5\)\], or 0, and they get \[0"
	cp "$tmp/winner.py" "$tmp/s.py"
	sed -i 's/^DEVICE = .*/DEVICE = "nonsense"/' "$tmp/s.py"
	run 2.11.0
	expect "eager does not run, either" 2 $?
	has "eager does not run, either" "$tmp/out" "nothing to compare$"
	prog 'x = input([3, 4], seed=1, requires_grad=True)' 'y = permute(x, [1, 0])' 'z = mul.Tensor(y, y)' 'return (y, z)'
	while IFS='|' read -r kind tensor spoilt said; do       # facts other than elements
		script_of "$tmp/w.prog" torch:eager "$kind" "$tensor" 0
		instead "return lambda *a: [$spoilt for o in fn(*a)]"
		run 2.11.0
		rc=$?
		expect "$kind of $tensor, $spoilt" "$([ -n "$said" ] && echo 1 || echo 0)" $rc
		[ -z "$said" ] || has "$kind of $tensor, $spoilt" "$tmp/out" "$said"
	done <<-'END'
		alias|out 0 (y)|o|
		alias|out 0 (y)|o.clone()|must lie in the memory of input x
		alias|out 1 (z)|a[0]|must not lie in the memory of input x
		meta|out 1 (z)|o.clone(memory_format=torch.contiguous_format)|must have strides
		meta|out 1 (z)|o[:2]|must be .*, is
		meta|out 1 (z)|o * 2|
		none-ness|out 1 (z)|o.detach()|requires_grad must be True
	END
	"$bin" check "$src/corpus/seeds" --target torch:inductor@cpu+no_such_option=1 --target torch:eager >"$tmp/out" 2>"$tmp/err"
	expect "an option that Inductor does not have" 2 $?
	said="target 'torch-2.11.0:inductor@cpu+no_such_option=1': option 'no_such_option' is unknown"
	expect "is said once" 1 "$(grep -cF "$said" "$tmp/err")"
	n=$(ls "$src"/corpus/seeds/*.prog | wc -l)
	has "beside a good target" "$tmp/out" "^$n programs on 2 targets: $n pass, $n not run$"
	"$bin" fuzz --target torch:inductor@cpu+no_such_option=1 --no-cheap --time 100s >"$tmp/out" 2>"$tmp/err"
	expect "a campaign with it" 2 $?
	expect "a campaign with it" 1 "$(grep -cF "scatterproof: $said" "$tmp/err")"
	script_of "$seed" torch:inductor@cpu+no_such_option=1 gradient x.grad 0
	run 2.11.0
	expect "a script with it" 2 $?
	"$bin" repro "$id" --db "$tmp/s.db" --target torch:inductor@cpu+max_fusion_size=big >"$tmp/out" 2>"$tmp/err"
	expect "repro with a bad value" 2 $?
	has "repro with a bad value" "$tmp/err" "option 'max_fusion_size': 'big' is no int"
	script_of "$seed" torch:inductor@cpu gradient x.grad 0
	run 2.11.0
	expect "the founding bug" 1 $?
	has "the founding bug" "$tmp/out" "^call 0, x.grad: 924 of 1716 elements are wrong$"
	has "where, and what must be" "$tmp/out" "^  \(0, 6, 0\) must be 0.5158538818359375, eager gives 0.5158538818359375, the target 0.0$"
	expect "eight of them" 8 "$(grep -c '^  (' "$tmp/out")"
	[ -x "$envs/torch-2.15.0/bin/python" ] || return
	run 2.15.0
	expect "the founding bug, fixed" 0 $?
	expect "the founding bug, fixed" 1 "$(wc -l <"$tmp/out")"
}

agree() { # agree CODE FILE TARGET KIND TENSOR CALL [VERDICT]: repro and script both give it, 4 and 2 alike
	want=$1
	shift
	script_of "$@"
	"$bin" repro "$id" --db "$tmp/s.db" --no-store >"$tmp/repro" 2>&1
	expect "repro: $3 of $1, $4" "$want" $?
	run 2.11.0
	got=$?
	expect "script: $3 of $1, $4" "$([ "$want" = 4 ] && echo 2 || echo "$want")" $got
	[ $got = 0 ] || [ $got = 1 ] || cat "$tmp/repro" "$tmp/out"
}

agree_torch() { # one of each kind on the cheapest stage that shows it
	r=$src/corpus/regressions
	p=$r/scatter_add_of_expanded_index.prog
	agree 1 "$p" torch:eager@cpu value "$(wrong_tensor "$p" torch:eager@cpu)" 0
	p=$r/contiguous_before_write.prog
	agree 1 "$p" torch:aot_eager@cpu value "$(wrong_tensor "$p" torch:aot_eager@cpu)" 0
	agree 1 "$r/unfold_write_with_gaps.prog" torch:aot_eager@cpu mutation "input x afterwards" 0
	agree 1 "$r/expand_write_of_bool.prog" torch:aot_eager@cpu raise "" 0
	agree 0 "$r/expand_write_of_bool.prog" torch:eager@cpu raise "" 0
	agree 0 "$r/unfold_write_with_gaps.prog" torch:aot_fake@cpu crash "" 0 crash
	agree 0 "$seed" torch:fake@cpu gradient x.grad 0
	agree 4 "$seed" torch:eager@cpu nondeterministic x.grad 0
	agree 0 "$seed" torch:eager@cpu none-ness y.grad 0
	agree 0 "$seed" torch:eager@cpu meta "out 0 (sum_1)" 0
	agree 0 "$seed" torch:eager@cpu alias "out 0 (sum_1)" 0
	agree 0 "$r/scatter_reduce_amax_without_self.prog" torch:eager@cpu value "out 0 (scatter_reduce)" 0
	# Autograd refuses, whoever runs it: no claim about the compiler.
	prog 'x = input([2], seed=1, requires_grad=True)' 'e = exp(x)' 'z = mul_.Scalar(e, 2.0)' 'g = full([2], 1.0)' 'return (e,)' \
		'backward (e: g,)'
	agree 4 "$tmp/w.prog" torch:aot_eager@cpu raise "" 0
	# What must raise, and does.
	prog 'x = input([3], seed=1)' 'i = full([2], 7, dtype=i64)' 'y = index_select(x, 0, i)' 'return (y,)'
	agree 0 "$tmp/w.prog" torch:aot_eager@cpu raise "" 0
	# Nothing that a graph could hold.
	prog 'x = input([3], seed=1)' 'return (x,)'
	agree 4 "$tmp/w.prog" torch:aot_eager@cpu value "out 0 (x)" 0
	# The second call; symbols.
	prog 'n = sym(4)' 'x = input([n, 2], seed=1)' 'y = sum.dim_IntList(x, dim=[0])' 'return (y,)' 'call (x: seed=5, n=6)'
	agree 0 "$tmp/w.prog" torch:aot_eager@cpu+dynamic=1 value "out 0 (y)" 1
	# More elements than a person reads.
	prog 'x = input([70, 70], seed=1)' 'y = neg(x)' 'return (y,)'
	agree 0 "$tmp/w.prog" torch:eager@cpu value "out 0 (y)" 0
	instead 'return lambda *a: [o * 2 for o in fn(*a)]'
	run 2.11.0
	expect "wrong in a large one" 1 $?
}

short_torch() { # the script of a few lines: it is as short as a person's, shows the bug by itself, and exists only where it does
	p=$src/corpus/regressions/contiguous_before_write.prog
	rm -f "$tmp/s.db"
	code=$'\nraise SystemExit(42)\n#'
	id=$("$finding_of" --as "chosen$code" torch-2.11.0:aot_eager@cpu "$tmp/s.db" torch-2.11.0:aot_eager@cpu value mismatch "$p" \
		"$(wrong_tensor "$p" torch:aot_eager@cpu)" 0)
	"$bin" repro "$id" --db "$tmp/s.db" --script "$tmp/s.py" >"$tmp/out" 2>"$tmp/err"
	expect "a wrong value" 0 $?
	expect "nothing is said" "" "$(cat "$tmp/err")"
	expect "it is short" yes "$([ "$(wc -l <"$tmp/s.py")" -le 25 ] && echo yes)"
	has "it says where it was run" "$tmp/s.py" '^# Run with PyTorch 2.11.0: wrong \(exit code 1\)'
	has "its head is the title" "$tmp/s.py" '^# `.*: result is wrong'
	has "and the finding" "$tmp/s.py" "^# scatterproof finding $id, seen on torch-2.11.0:aot_eager@cpu\$"
	hasnt "nothing that is hostile" "$tmp/s.py" 'SystemExit'
	has "names tell what a node is" "$tmp/s.py" '^    contiguous = x.contiguous\(\)$'
	has "inputs of plain numbers" "$tmp/s.py" '^    y = torch.ones\(4, 8, requires_grad=True\)$'
	has "what is right" "$tmp/s.py" '^# right: \[\['
	run 2.11.0
	expect "it shows the bug" 1 $?
	sed 's/^import torch$/import torch.nowhere/' "$tmp/s.py" >"$tmp/o.py"
	"$envs/torch-2.11.0/bin/python" "$tmp/o.py" >"$tmp/out" 2>"$tmp/err"
	expect "what cannot run says nothing of the bug" 2 $?
	has "and why" "$tmp/err" '^ModuleNotFoundError: '
	sed -i 's/torch.compile(f, backend="aot_eager")/f/' "$tmp/s.py"
	run 2.11.0
	expect "eager beside eager is right" 0 $?
	mkdir -p "$tmp/two/torch-2.99.0/bin"
	ln -s "$envs/torch-2.11.0" "$tmp/two"
	printf '#!/bin/sh\nkill -9 $$\n' >"$tmp/two/torch-2.99.0/bin/python" # as if its time were over
	chmod +x "$tmp/two/torch-2.99.0/bin/python"
	SCATTERPROOF_TARGETS=$tmp/two "$bin" check "$p" --target torch-2.11.0:aot_eager@cpu --script "$tmp/c.py" >"$tmp/out" 2>"$tmp/err"
	expect "check says that it diverges" 1 $?
	has "a version that was killed has no verdict" "$tmp/c.py" '^# Run with PyTorch 2.11.0: wrong \(exit code 1\)\.$'
	sed -i 's/torch.compile(f, backend="aot_eager")/f/' "$tmp/c.py"
	expect "and writes the same" "$(sed '1,/^# Run with/d' "$tmp/s.py")" "$(sed '1,/^# Run with/d' "$tmp/c.py")"
	"$bin" repro "$id" --db "$tmp/s.db" --script "$tmp/s.py" --full >"$tmp/out" 2>"$tmp/err"
	expect "--full" "0 yes" "$? $([ "$(wc -l <"$tmp/s.py")" -gt 300 ] && echo yes)"
	"$bin" repro "$id" --db "$tmp/s.db" --full >"$tmp/out" 2>"$tmp/err"
	expect "--full alone" 2 $?
	has "it says so" "$tmp/err" '--full goes with --script'
	p=$src/corpus/regressions/expand_write_of_bool.prog
	rm -f "$tmp/s.db"
	id=$("$finding_of" "$tmp/s.db" torch-2.11.0:aot_eager@cpu raise mismatch "$p" "" 0)
	"$bin" repro "$id" --db "$tmp/s.db" --script "$tmp/s.py" >"$tmp/out" 2>"$tmp/err"
	expect "what raises" 0 $?
	run 2.11.0
	expect "it raises" 1 $?
	has "after eager has run" "$tmp/out" '^eager:'
	has "by the error of this bug" "$tmp/s.py" '^    sys.exit\(1 if "[^"]*" in str\(error\) else 2\)$'
	sed -i 's/torch.compile(f, /torch.compile("no function", /' "$tmp/s.py"
	run 2.11.0
	expect "another error is not this bug" 2 $?
	p=$src/corpus/regressions/as_strided_scatter_of_gradient.prog # eager is wrong itself; a gradient whose law is said
	"$bin" check "$p" --target torch-2.11.0:eager@cpu --script "$tmp/s.py" >"$tmp/out" 2>"$tmp/err"
	has "a law" "$tmp/s.py" '^# right: x.grad\[i\] = how many elements of the result read x\[i\]$'
	has "by sum().backward()" "$tmp/s.py" '^    f\(x, y\).sum\(\).backward\(\)$'
	run 2.11.0
	expect "it shows eager's bug" 1 $?
	p=$src/corpus/regressions/add_through_expand.prog
	"$bin" check "$p" --target torch-2.11.0:aot_eager@cpu --script "$tmp/s.py" >"$tmp/out" 2>"$tmp/err"
	has "what eager must refuse" "$tmp/s.py" 'isinstance\(got, Exception\)'
	run 2.11.0
	expect "is run by the compiler" 1 $?
	for p in reshape_of_expanded_leaf scatter_add_of_expanded_index pixel_shuffle_of_nothing; do # several calls; eager is wrong, too; eager refuses
		stage=aot_eager
		[ $p != pixel_shuffle_of_nothing ] || stage=eager
		"$bin" check "$src/corpus/regressions/$p.prog" --target "torch-2.11.0:$stage@cpu" --script "$tmp/s.py" >"$tmp/out" 2>"$tmp/err"
		expect "$p has a short one" "" "$(grep 'no script' "$tmp/err")"
		run 2.11.0
		expect "$p is shown" 1 $?
	done
	rm -f "$tmp/s.db" "$tmp/s.py"
	prog 'x = input([3], seed=1)' 'y = neg(x)' 'return (y,)'
	id=$("$finding_of" "$tmp/s.db" torch-2.11.0:aot_eager@cpu value mismatch "$tmp/w.prog" "out 0 (y)" 0)
	"$bin" repro "$id" --db "$tmp/s.db" --script "$tmp/s.py" >"$tmp/out" 2>"$tmp/err"
	expect "what does not fail has the judged one" 0 $?
	has "and it says so" "$tmp/err" 'no script of a few lines: the target does not fail any more: this is the judged one$'
	has "it is judged" "$tmp/s.py" '^TENSOR = "output 0"$'
	SCATTERPROOF_TARGETS=$tmp "$bin" repro "$id" --db "$tmp/s.db" --script "$tmp/s.py" >"$tmp/out" 2>"$tmp/err"
	expect "where PyTorch is not installed" 0 $?
	has "and it says so" "$tmp/err" 'no script of a few lines: .*: this is the judged one$'
	mkdir "$tmp/few"
	cp "$src/corpus/regressions/zero_through_expand.prog" "$src/corpus/regressions/output_replaced_by_next.prog" "$tmp/few"
	"$src/scripts/short-scripts" "$tmp/few" --version 2.11.0 --binary "$bin" --again >"$tmp/out" 2>"$tmp/err"
	expect "a table of them" 0 $?
	has "with the lines, and how the script ends" "$tmp/out" '^\| `zero_through_expand` \| aot_eager \| 2 \| 1[0-9] \| 1 \|'
	has "and a sum" "$tmp/out" '^2 programs, [12] with a short script, [12] of at most 25 lines \(median [0-9]+, longest [0-9]+\). Of the 1 with at most three operators 1 \(100 %\) have one'
	printf '%s\n' head '<!-- scripts/short-scripts writes what follows -->' old >"$tmp/doc.md"
	rm -f "$tmp/few/output_replaced_by_next.prog"
	"$src/scripts/short-scripts" "$tmp/few" --version 2.11.0 --binary "$bin" --jobs 2 --write "$tmp/doc.md" >"$tmp/out" 2>"$tmp/err"
	expect "the table in a document" "0 head" "$? $(head -1 "$tmp/doc.md")"
	hasnt "in place of the old one" "$tmp/doc.md" '^old$'
	has "with a sum" "$tmp/doc.md" '^\*\*1 programs, 1 with'
	"$src/scripts/short-scripts" "$tmp/few" --version 2.11.0 --binary "$bin" --write "$tmp/few/zero_through_expand.prog" >"$tmp/out" 2>"$tmp/err"
	expect "no place for it" 2 $?
}

wrong_tensor() { "$bin" check "$1" --target "$2" --json | grep -o '"tensor": *"[^"]*"' | head -1 | cut -d'"' -f4; }

kept_torch() { # what triage ran and kept is handed out, if it is ours, and if it was wrong on the version
	for p in contiguous_before_write expand_write_of_bool; do  # a wrong value; an error
		"$bin" check "$src/corpus/regressions/$p.prog" --target torch-2.11.0:aot_eager@cpu --db "$tmp/k.db" --quiet >"$tmp/out" 2>"$tmp/err"
	done
	"$bin" triage --db "$tmp/k.db" --quiet >"$tmp/out" 2>"$tmp/err"
	for id in $(sql "select id from v_findings" "$tmp/k.db"); do
		"$bin" findings show "$id" --db "$tmp/k.db" --artifact script >"$tmp/kept.py"
		expect "$id is kept" 0 $?
		SCATTERPROOF_TARGETS=$tmp "$bin" repro "$id" --db "$tmp/k.db" --script "$tmp/s.py" >"$tmp/out" 2>"$tmp/err"
		expect "$id: nothing is run" 0 $?
		has "$id: it says so" "$tmp/err" 'this is the script that triage kept: it was run with PyTorch 2.11.0 then'
		expect "$id: it is that one" "$(sed '1,/^# Run with/d' "$tmp/kept.py")" "$(sed '1,/^# Run with/d' "$tmp/s.py")"
		run 2.11.0
		expect "$id: it shows the bug" 1 $?
		SCATTERPROOF_TARGETS=$tmp "$bin" repro "$id" --db "$tmp/k.db" --target torch-2.10.0:aot_eager@cpu --script "$tmp/s.py" >"$tmp/out" 2>"$tmp/err"
		hasnt "$id: another version than it was run with" "$tmp/err" 'that triage kept'
		SCATTERPROOF_TARGETS=$tmp "$bin" repro "$id" --db "$tmp/k.db" --target torch-2.11.0:inductor@cpu --script "$tmp/s.py" >"$tmp/out" 2>"$tmp/err"
		hasnt "$id: another stage" "$tmp/err" 'that triage kept'
	done
	"$bin" repro "$id" --db "$tmp/k.db" --python "$envs/torch-2.11.0/bin/python" --script "$tmp/s.py" >"$tmp/out" 2>"$tmp/err"
	expect "--python: it is run" "0 " "$? $(cat "$tmp/err")"
	python3 -c 'import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("update artifact set bytes = cast(cast(bytes as text) || ? as blob) where name = ?", ("import nothing_of_ours\n", "script"))
db.commit()' "$tmp/k.db"
	for id in $(sql "select id from v_findings" "$tmp/k.db"); do
		SCATTERPROOF_TARGETS=$tmp "$bin" repro "$id" --db "$tmp/k.db" --script "$tmp/s.py" >"$tmp/out" 2>"$tmp/err"
		hasnt "$id: what somebody else wrote is not handed on" "$tmp/s.py" nothing_of_ours
		hasnt "$id: and not said to be" "$tmp/err" 'that triage kept'
	done
}

case $part in
observations) observations ;;
versions) versions ;;
script) script ;;
script_torch) script_torch ;;
agree_torch) agree_torch ;;
short_torch) short_torch ;;
kept_torch) kept_torch ;;
*) echo "unknown part $part"; exit 2 ;;
esac
end
