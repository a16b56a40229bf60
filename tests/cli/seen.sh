#!/bin/bash
# seen.sh BIN SOURCE PART: what goes unjudged is said, counted and can be seen again: by campaigns, by `check`, by exit codes.
. "$(dirname "$0")/shell.sh"
sql() { "$bin" findings sql "$1" --db "$tmp/s.db" | tail -1; }

refused() { # programs that eager refuses and nobody expected: one per reason is kept, with the command that shows it
	"$bin" fuzz --target builtin:eager+plant=refuse --programs 200 --seed 5 --jobs 2 --db "$tmp/s.db" >"$tmp/out" 2>"$tmp/err"
	expect "they are findings" 1 $?
	has "reason and count" "$tmp/out" "^ +[0-9]+  invalid: RuntimeError: planted refusal of N bytes$"
	has "the command" "$tmp/out" "^ +see the first:  scatterproof gen --seed 5 --program [0-9]+$"
	command=$(sed -n 's/^ *see the first:  scatterproof //p' "$tmp/out")
	"$bin" $command >"$tmp/p.prog"
	"$bin" check "$tmp/p.prog" --target builtin:eager+plant=refuse >"$tmp/check"
	has "it shows the refusal" "$tmp/check" \
		"p.prog: invalid on builtin:eager\+plant=refuse: RuntimeError: planted refusal of [0-9]+ bytes"
	expect "one is kept" "1 raise normal" \
		"$(sql "select count(*) || ' ' || kind || ' ' || severity from v_findings where signature like '%planted refusal%'" | tail -1)"
	expect "its observation says so" "invalid" "$(sql "select distinct verdict from v_observations")"
	id=$(sql "select id from v_findings where signature like '%planted refusal%'")
	"$bin" repro "$id" --db "$tmp/s.db" >"$tmp/out"
	expect "repro: it still happens" 1 $?
	has "repro" "$tmp/out" "still happens: eager refuses it, neither the reference nor the interpreter does"
	"$bin" repro "$id" --db "$tmp/s.db" --target builtin:eager >"$tmp/out"
	expect "repro where it is not refused" 0 $?
	"$bin" repro "$id" --db "$tmp/s.db" --target torch:eager --script "$tmp/s.py" --full >"$tmp/out" 2>"$tmp/err"
	has "the script's claim" "$tmp/s.py" "^# Exits 1 if eager refuses the program, which both sets of rules accept, 0 if not"
	has "the script" "$tmp/s.py" "^REFUSED = True"
	fuzz="fuzz --target builtin:eager+plant=refuse --seed 5 --db $tmp/s.db"
	for each in $("$bin" findings sql "select id from v_findings" --db "$tmp/s.db" | tail -n +2); do # also of programs that must raise with other words than the planted ones
		"$bin" findings mark "$each" known --db "$tmp/s.db" >/dev/null
	done
	"$bin" $fuzz --programs 200 >"$tmp/out" 2>"$tmp/err"
	expect "so many that the run does not count, although they are known" 4 $?
	has "the share" "$tmp/err" "does not count: eager refuses [0-9]+ of 200 programs, more than one in 1000; the summary has the reasons"
	"$bin" $fuzz --programs 200 --fail-on invalid >"$tmp/out" 2>"$tmp/err"
	expect "--fail-on invalid" 1 $?
	few=4 # as many programs as have one to three refused ones, whatever the seed makes of its programs
	while "$bin" $fuzz --programs $few >"$tmp/out" 2>"$tmp/err" && ! grep -q 'invalid [123]$' "$tmp/out"; do
		few=$((few + 4))
	done
	has "a few" "$tmp/out" "invalid [123]$"
	"$bin" $fuzz --programs $few --fail-on invalid >"$tmp/out" 2>"$tmp/err"
	expect "a few, --fail-on invalid" 1 $?
	"$bin" fuzz --target builtin:eager --programs 50 --seed 5 --fail-on invalid,new >"$tmp/out" 2>"$tmp/err"
	expect "none, --fail-on invalid" 0 $?
	"$bin" fuzz --target builtin:eager+plant=refuse --programs 100 --seed 6 --json >"$tmp/out" 2>"$tmp/err"
	has "machines are told, too" "$tmp/out" '"reason": "invalid: RuntimeError: planted refusal of N bytes", "n": [0-9]+, "first": '\
'"scatterproof gen --seed 6 --program [0-9]+"'
	cat >"$tmp/must.prog" <<-END
		# scatterproof 1
		x = input([2], seed=1, requires_grad=True)
		c = clone(x)
		y = mul.Tensor(c, c)
		z = zero_(c)
		g = input([2], seed=2)
		return (y,)
		backward (y: g)
	END
	"$bin" check "$tmp/must.prog" >"$tmp/out"
	expect "it is not judged" 4 $?
	has "what must raise is invalid, too, and expected" "$tmp/out" "must.prog: invalid on builtin:eager"
}

few_torch() { # a campaign that compiled next to nothing says so and why (needs PyTorch)
	"$bin" fuzz --target torch:inductor@cpu --time 3s --seed 3 --no-confirm >"$tmp/out" 2>"$tmp/err"
	has "it says so" "$tmp/out" \
		"^  ONLY [0-9] PROGRAMS? (WAS|WERE) COMPILED: this says next to nothing about the compiler; it was ready after [0-9]+ s"
	has "and why" "$tmp/out" "; compiling [0-9]+ s, waiting for a program [0-9]+ s.*Give it more --time$"
	"$bin" fuzz --target torch:aot_eager@cpu --ops neg,sum --programs 1 --seed 3 --no-confirm --json >"$tmp/out" 2>"$tmp/err"
	has "not if nothing more was asked for" "$tmp/out" '"few_compiled": false'
	"$bin" fuzz --target builtin:eager --programs 5 --seed 3 --json >"$tmp/out" 2>"$tmp/err"
	has "nor where nothing is compiled" "$tmp/out" '"compiled": 0.*"few_compiled": false'
	"$bin" fuzz --target torch:aot_eager@cpu --ops neg,sum --dtypes f32 --time 45s --seed 3 --no-confirm --json >"$tmp/out" 2>"$tmp/err"
	checks=$((checks + 1))
	python3 - "$tmp/out" <<-END || fails=$((fails + 1))
		import json, sys
		s = json.loads(open(sys.argv[1]).read().splitlines()[-1])["summary"]
		most = 250 + 2 * s["compiled"] + 60     # CHEAP_PATIENCE, what keeps the queue, the queue
		print(s["cheap"], "cheap runs,", s["compiled"], "compiled")
		sys.exit(f"FAIL: a cheap stage that predicts nothing ran {s['cheap']} programs, at most {most} were wanted"
			if s["cheap"] > most else 0)
	END
}

expected() { # --expect: what is not judged is an exit code
	"$bin" check "$src/tests/prog/rows/add.Tensor.prog" "$src/tests/prog/undecided/number_rounded_to_infinity.prog" >"$tmp/out"
	expect "one was judged" 0 $?
	"$bin" check "$src/tests/prog/rows/add.Tensor.prog" "$src/tests/prog/undecided/number_rounded_to_infinity.prog" --expect pass >"$tmp/out"
	expect "--expect pass: one was not" 4 $?
	has "and it is said" "$tmp/out" "^2 programs on 1 target: 1 pass, 1 unjudged; 1 not the expected pass$"
	"$bin" check "$src/tests/prog/undecided" --expect unjudged >"$tmp/out"
	expect "--expect unjudged" 0 $?
	"$bin" check "$src/corpus/seeds" --expect mismatch >"$tmp/out"
	expect "--expect mismatch, and it passes" 4 $?
	"$bin" check "$src/tests/prog/rows" --expect pass --target builtin:eager+plant=zero >"$tmp/out"
	expect "--expect pass, and it diverges" 1 $?
	"$bin" check "$src/corpus/seeds" --expect pas >"$tmp/out" 2>&1
	expect "no verdict" 2 $?
	has "no verdict" "$tmp/out" "did you mean 'pass'"
	mkdir -p "$tmp/targets/torch-2.11.0/bin"
	printf '#!/bin/sh\nexit 1\n' >"$tmp/targets/torch-2.11.0/bin/python"
	chmod +x "$tmp/targets/torch-2.11.0/bin/python"
	export SCATTERPROOF_TARGETS="$tmp/targets"
	for version in 2.11.0 any; do
		"$src/tests/with_target.sh" $version true >"$tmp/out" 2>&1
		expect "an environment whose PyTorch does not start is no reason to skip a test ($version)" 1 $?
	done
	chmod -x "$tmp/targets/torch-2.11.0/bin/python"
	for version in 2.11.0 any; do
		"$src/tests/with_target.sh" $version true >"$tmp/out" 2>&1
		expect "nor is one without a Python ($version)" 1 $?
	done
	SCATTERPROOF_PYTHON=nonexistent-python "$src/tests/with_target.sh" any true >"$tmp/out" 2>&1
	expect "nor is a Python that somebody named" 1 $?
	"$src/tests/with_target.sh" 2.99.0 true >"$tmp/out" 2>&1
	expect "one that is not there is" 77 $?
	has "and says so" "$tmp/out" "^SKIPPED: no PyTorch 2.99.0 in .*scripts/setup-targets"
	printf '#!/bin/sh\n' >"$tmp/targets/torch-2.11.0/bin/python"
	chmod +x "$tmp/targets/torch-2.11.0/bin/python"
	"$src/tests/with_target.sh" 2.11.0 sh -c 'exit 3' >"$tmp/out" 2>&1
	expect "what a command returns is a result" 3 $?
	"$src/tests/with_target.sh" 2.11.0 sh -c 'exit 77' >"$tmp/out" 2>&1
	expect "a command that skips by itself" 1 $?
	"$src/tests/with_target.sh" 2.11.0 printf '%s\n' "{python}" "a b" >"$tmp/out" 2>&1
	expect "the interpreter's place" "$tmp/targets/torch-2.11.0/bin/python|a b|" "$(tr '\n' '|' <"$tmp/out")"
}

json() { # machines are told what people are told
	mkdir "$tmp/d"
	cat >"$tmp/d/a.prog" <<-END
		# scatterproof 1
		x = input([4, 3], seed=1, requires_grad=True)
		y = mul.Scalar(x, 2.0)
		s = sum(x)
		g = input([4, 3], seed=2)
		h = full([], 1.0)
		return (y, s)
		backward (y: g, s: h)
	END
	printf '# scatterproof 1\nx = input([4])\ny = slice(x, dim=7)\nreturn (y,)\n' >"$tmp/d/bad.prog"
	ln -s "$tmp/nowhere" "$tmp/d/gone.prog"
	"$bin" check "$tmp/d" >"$tmp/out" 2>"$tmp/err"
	expect "a directory with texts that do not read" 2 $?
	has "they are counted" "$tmp/out" "^2 programs in 3 files on 1 target: 1 pass; 1 could not be read; 1 file could not be opened$"
	has "one line each" "$tmp/err" "bad.prog:3:1: slice.Tensor: "
	has "one line each" "$tmp/err" "gone.prog is no file"
	"$bin" check "$tmp/d" --json >"$tmp/none.json" 2>"$tmp/err"
	"$bin" check "$tmp/d" --json --target builtin:eager+plant=zero >"$tmp/zero.json" 2>"$tmp/err"
	i=0     # which programs are spoiled depends on their text: look for a seed
	while ! grep -q '"verdict": *"mismatch"' "$tmp/zero.json" && [ $i -lt 60 ]; do
		i=$((i + 1))
		sed -i "s/seed=[0-9]*, requires/seed=$((i + 2)), requires/" "$tmp/d/a.prog"
		"$bin" check "$tmp/d" --json --target builtin:eager+plant=zero >"$tmp/zero.json" 2>"$tmp/err"
	done
	"$bin" check "$tmp/d/a.prog" --target builtin:eager+plant=zero >"$tmp/text"
	checks=$((checks + 1))
	python3 - "$tmp/none.json" "$tmp/zero.json" "$tmp/text" <<-END || fails=$((fails + 1))
		import json, sys
		none, zero = ([json.loads(line) for line in open(f)] for f in sys.argv[1:3])
		text = open(sys.argv[3]).read()
		files = {o["file"].rsplit("/", 1)[1]: o for o in none[:-1]}
		assert set(files) == {"a.prog", "bad.prog", "gone.prog"}, files
		assert files["bad.prog"]["line"] == 3 and "slice.Tensor" in files["bad.prog"]["error"]
		assert "is no file" in files["gone.prog"]["error"]
		assert {k: v for k, v in none[-1]["summary"].items() if v} == {
		    "programs": 2, "files": 3, "targets": 1, "pass": 1, "unread": 1, "unread_files": 1, "errors": 2}, none[-1]
		a = files["a.prog"]
		assert a["verdict"] == "pass" and a["calls"] == 1 and a["versions"].startswith("scatterproof ") and a["device"] == "cpu"
		assert a["elements"]["exact"] + a["elements"]["enclosed"] == 25 and a["by_fill"]["dyadic"] == a["elements"], a
		z = next(o for o in zero if o.get("verdict"))
		assert z["verdict"] == "mismatch" and z["kind"] == "gradient" and z["tensor"] == "x.grad" and z["severity"] == "high", z
		w = z["wrong"][0]
		assert len(z["wrong"]) == 1 and w["wrong"] > 0 and w["elements"] == 12, w
		assert w["kinds"] == ["gradient"] and w["pattern"] == "all zero", w
		assert len(w["samples"]) == min(8, w["wrong"])
		for s in w["samples"]:
		    assert s["got"] == 0 and s["expected"][0] == s["expected"][1] != 0 and s["at"] == [s["index"] // 3, s["index"] % 3], s
		assert z["report"] in text and z["why"] in text and z["elements"]["disagree"] == w["wrong"]
	END
}

keeps() { # check --db and --script
	rows="$src/tests/prog/rows"
	"$bin" check "$rows" --target builtin:eager+plant=zero --target builtin:eager --db "$tmp/s.db" >"$tmp/out"
	expect "divergences" 1 $?
	n=$(grep -c "^  kept as [0-9a-f]*$" "$tmp/out")
	has "some are kept" "$tmp/out" "^  kept as [0-9a-f]{8}$"
	expect "as many as there are signatures" "$n" "$(sql "select count(*) from v_findings")"
	expect "the run is no campaign" check "$(sql "select distinct policy from v_runs")"
	expect "every verdict is counted" $((2 * $(ls "$rows" | wc -l))) "$(sql "select sum(n) from v_counters")"
	"$bin" check "$rows" --target builtin:eager+plant=zero --db "$tmp/s.db" >"$tmp/out"
	has "seen again" "$tmp/out" "^  kept as [0-9a-f]{8}, there before: candidate$"
	expect "nothing new" "$n" "$(sql "select count(*) from v_findings")"
	"$bin" repro "$(sql "select id from v_findings limit 1")" --db "$tmp/s.db" >"$tmp/out"
	expect "repro of what check kept" 1 $?
	"$bin" check "$src/corpus/seeds" --db "$tmp" >"$tmp/out" 2>&1
	expect "no store" 2 $?
	seed=$src/corpus/seeds/slice_scatter_f32_4x13x33_0_6.prog
	"$bin" check "$seed" --script "$tmp/s.py" >"$tmp/out" 2>"$tmp/err"
	expect "nothing to show" 0 $?
	has "nothing to show" "$tmp/err" "scatterproof: --script: nothing diverges"
	expect "no script" 0 "$(ls "$tmp" | grep -c '^s.py$')"
}

plain() { # what a compiled program raises counts if eager does not raise, too: where the cheap stage has not run it, eager is asked
	worker=$src/tests/cli/hostile_worker.py
	fuzz="fuzz --target torch:aot_eager --target torch:aot_eager+dynamic=1 --no-cheap --programs 12 --seed 1 --python $worker"
	export HOSTILE=raise
	"$bin" $fuzz --db "$tmp/s.db" >"$tmp/out" 2>"$tmp/err"
	expect "a finding about eager" 1 $?
	expect "no divergence is counted" "invalid 12" \
		"$(sql "select group_concat(verdict || ' ' || n) from (select verdict, sum(n) as n from v_counters group by 1)")"
	has "reason and count" "$tmp/out" "^ +12  invalid: RuntimeError"
	has "the command" "$tmp/out" "^ +see the first:  scatterproof gen --seed 1 --program [0-9]+$"
	kept="select group_concat(kind || ' ' || severity || ' ' || nobs) from v_findings"
	where="select group_concat(distinct verdict || ' on ' || target) from v_observations"
	expect "one is kept" "raise normal 1" "$(sql "$kept")"
	"$bin" gen --seed 1 --program 0 >"$tmp/p.prog"
	"$bin" check "$tmp/p.prog" --target torch:aot_eager --python "$worker" --db "$tmp/s.db" >"$tmp/out"
	expect "check: invalid, unexpectedly" 1 $?
	has "check keeps it as the campaign does" "$tmp/out" "kept as [0-9a-f]{8}, there before"
	expect "and nothing else" "raise normal 2" "$(sql "$kept")"
	expect "of eager" "invalid on torch-2.11.0:eager@cpu" "$(sql "$where")"
	rm "$tmp/s.db"
	export HOSTILE=compiled
	"$bin" $fuzz --no-confirm --db "$tmp/s.db" >"$tmp/out" 2>"$tmp/err"
	expect "alone it is a divergence" 1 $?
	expect "all of them" "mismatch 12" \
		"$(sql "select group_concat(verdict || ' ' || n) from (select verdict, sum(n) as n from v_counters group by 1)")"
	expect "and a finding" "raise normal 12" "$(sql "$kept")"
}

no_kernel() { # what eager has no kernel for on a device is refused for a known reason there, and nowhere else
	worker="--python $src/tests/cli/hostile_worker.py"
	export HOSTILE=unimplemented
	counts="select group_concat(verdict || ' ' || n) from (select verdict, sum(n) as n from v_counters group by 1)"
	for target in eager@cuda aot_eager@cuda; do
		rm -f "$tmp/s.db"
		"$bin" fuzz --target torch:$target --no-cheap --programs 12 --seed 1 --ops add,mul,sum,exp $worker --db "$tmp/s.db" >"$tmp/out" 2>"$tmp/err"
		expect "$target: nothing is judged" 4 $?
		expect "$target: each is counted" "unsupported 12" "$(sql "$counts")"
		has "$target: the reason" "$tmp/out" "^ +12  unsupported: no kernel for this dtype on CUDA$"
		expect "$target: no finding" 0 "$(sql "select count(*) from v_findings")"
	done
	rm -f "$tmp/s.db"
	"$bin" fuzz --target torch:eager@cpu --programs 12 --seed 1 $worker --db "$tmp/s.db" >"$tmp/out" 2>"$tmp/err"
	expect "on the CPU a row of ours takes too much" 1 $?
	expect "on the CPU" "invalid 12" "$(sql "$counts")"
	printf '# scatterproof 1\nx = input([2], dtype=b8, seed=1)\ny = cumsum(x, 0, dtype=b8)\nreturn (y,)\nraises "not implemented for"\n' >"$tmp/m.prog"
	"$bin" check "$tmp/m.prog" --target torch:eager@cuda $worker >"$tmp/out" 2>"$tmp/err"
	expect "a program that says so" 0 $?
}

script_torch() { # check --script of the founding bug (needs PyTorch)
	seed=$src/corpus/seeds/slice_scatter_f32_4x13x33_0_6.prog
	"$bin" check "$seed" --target torch:inductor@cpu --script "$tmp/s.py" --full >"$tmp/out" 2>"$tmp/err"
	expect "it diverges" 1 $?
	"${SCATTERPROOF_TARGETS:-${XDG_DATA_HOME:-$HOME/.local/share}/scatterproof/targets}/torch-2.11.0/bin/python" \
		"$tmp/s.py" >"$tmp/out" 2>"$tmp/err"
	expect "and so says the script" 1 $?
	has "and so says the script" "$tmp/out" "x.grad: 924 of 1716 elements are wrong"
}

case $part in
refused) refused ;;
plain) plain ;;
few_torch) few_torch ;;
expected) expected ;;
no_kernel) no_kernel ;;
json) json ;;
keeps) keeps ;;
script_torch) script_torch ;;
*) echo "unknown part $part"; exit 2 ;;
esac
echo "$checks checks, $fails failed"
[ $checks -gt 2 ] && [ $fails = 0 ]
