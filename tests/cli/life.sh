#!/bin/bash
# life.sh BIN SOURCE PART: a finding after it was found: bisected, run on every stage and version, run again by campaigns, avoided by their
# queues, exported as a baseline. On targets that need no PyTorch.
set -u
bin=$1 src=$2 part=$3 finding_of=${4:-}
. "$(dirname "$0")/shell.sh"

campaign() { "$bin" fuzz --target builtin:eager+plant="$1" --programs 300 --seed 5 --db "$tmp/$1.db" --quiet >"$tmp/out" 2>"$tmp/err"; }

bisect() { # 0, 1 or 125, whatever happens; git finds the commit that broke a compiler
	campaign zero
	id=$(sql "select id from v_findings where kind = 'gradient' order by 1 limit 1" "$tmp/zero.db")
	cp "$tmp/zero.db" "$tmp/before.db"
	while IFS='|' read -r want words; do
		"$bin" repro --bisect $words >"$tmp/out" 2>"$tmp/err"
		expect "repro --bisect $words" "$want" $?
	done <<-END
		1|$id --db $tmp/zero.db
		0|$id --db $tmp/zero.db --target builtin:eager
		125|$id --db $tmp/zero.db --target builtin:eager+plant=crash
		125|$id --db $tmp/zero.db --target torch-9.9:eager
		125|$id --db $tmp/zero.db --target builtin:nonsense
		125|$id --db $tmp/zero.db --python /nonexistent --target torch:eager
		125|$id --db $tmp/absent.db
		125|0123456789 --db $tmp/zero.db
		125|$id --db $tmp/zero.db --nonsense
		125|$id --db $tmp/zero.db --script $tmp/s.py
		125|
	END
	"$bin" repro --bisect "$id" --db "$tmp/zero.db" >/dev/full 2>"$tmp/err"
	expect "an answer that nobody could read" 125 $?
	cmp -s "$tmp/zero.db" "$tmp/before.db"
	expect "nothing is stored" 0 $?
	"$bin" repro "$id" --db "$tmp/zero.db" --target builtin:eager+plant=crash >"$tmp/out"
	expect "without --bisect a crash counts" 1 $?
	mkdir "$tmp/compiler" && cd "$tmp/compiler" || exit 1
	printf '# scatterproof 1\nx = input([3], seed=1)\ny = add.Tensor(x, x)\nreturn (y,)\n' >"$tmp/p.prog"
	good=$(cat "$src/examples/closure_compiler.py")
	wrong=$'\n_run = run\n\n\ndef run(program):\n    return [[0.0, 0.0, 7.0] for _ in _run(program)]\n'
	git init -q . 2>"$tmp/err"
	commit() { # what the compiler is from now on
		printf '%s\n' "$2" >c.py
		git add c.py
		git -c user.name=t -c user.email=t@example.org commit -q -m "$1" --allow-empty
	}
	commit first "$good"
	commit second "$good # 2"
	commit "does not start" "nonsense("
	commit "the culprit" "$good$wrong"
	commit "another" "$good$wrong # 5"
	"$bin" check "$tmp/p.prog" --target python:c.py --db "$tmp/py.db" >"$tmp/out" 2>"$tmp/err"
	expect "the compiler is wrong" 1 $?
	id=$(sql "select id from v_findings" "$tmp/py.db")
	git bisect start HEAD HEAD~4 >"$tmp/out" 2>&1
	git bisect run "$bin" repro "$id" --bisect --db "$tmp/py.db" >"$tmp/out" 2>&1
	has "git names the commits that it may be" "$tmp/out" "There are only 'skip'ped commits left to test"
	expect "those that did not start, and the culprit" 2 "$(sed -n "/could be any of:/,/^We/p" "$tmp/out" | grep -cE '^[0-9a-f]{40}$')"
	cd / || exit 1
}

matrix() { # stages x versions, one word each
	campaign zero
	id=$(sql "select id from v_findings where kind = 'gradient' order by 1 limit 1" "$tmp/zero.db")
	cp "$tmp/zero.db" "$tmp/before.db"
	"$bin" repro "$id" --matrix --db "$tmp/zero.db" >"$tmp/out" 2>"$tmp/err"
	expect "exit code of a query" 0 $?
	has "the claim and the program" "$tmp/out" "^$id: .*grad of call [0-9] is wrong; program [0-9a-f]{8}$"
	has "the target" "$tmp/out" "^builtin:eager\+plant=zero +fails *$"
	for v in 2.11.0 2.15.0; do # environments that do not start
		mkdir -p "$tmp/t/torch-$v/bin"
		printf '#!/bin/sh\necho "no torch here" >&2\nexit 1\n' >"$tmp/t/torch-$v/bin/python"
		chmod +x "$tmp/t/torch-$v/bin/python"
	done
	export SCATTERPROOF_TARGETS=$tmp/t
	words="--target builtin:eager --target builtin:eager+plant=zero --target builtin:eager+plant=crash --target torch-2.15.0:eager"
	"$bin" repro "$id" --matrix $words --db "$tmp/zero.db" >"$tmp/out" 2>"$tmp/err"
	expect "of targets that are named" 0 $?
	has "columns" "$tmp/out" "^ +builtin +2.15.0 *$"
	has "passes" "$tmp/out" "^builtin:eager +passes *$"
	has "fails" "$tmp/out" "^builtin:eager\+plant=zero +fails *$"
	has "otherwise" "$tmp/out" "^builtin:eager\+plant=crash +other *$"
	has "what else" "$tmp/out" "^builtin:eager\+plant=crash: other: crash: "
	has "not here" "$tmp/out" "^torch:eager@cpu +not here *$"
	has "why not" "$tmp/out" "^torch-2.15.0:eager@cpu: not here: .*no torch here"
	"$bin" repro "$id" --matrix --json $words --db "$tmp/zero.db" >"$tmp/out" 2>"$tmp/err"
	expect "as JSON" "passes fails other not here" "$(python3 -c 'import json, sys
print(*[json.loads(line)["answer"] for line in open(sys.argv[1])])' "$tmp/out")"
	"$bin" repro "$id" --matrix --target torch-2.15.0:eager --db "$tmp/zero.db" >"$tmp/out" 2>"$tmp/err"
	expect "nothing can be asked" 3 $?
	"$bin" repro "$id" --json --db "$tmp/zero.db" >"$tmp/out" 2>&1
	expect "--json alone" 2 $?
	cmp -s "$tmp/zero.db" "$tmp/before.db"
	expect "nothing is stored" 0 $?
}

recheck() { # a campaign begins with what is known: still there, gone, back
	printf '# scatterproof 1\nx = input([3], seed=1)\ny = add.Tensor(x, x)\nreturn (y,)\n' >"$tmp/p.prog"
	cd "$tmp" || exit 1
	compiler() { # compiler VERSION [WRONG]: its sums are differences
		sed "s/^__version__.*/__version__ = \"$1\"/" "$src/examples/closure_compiler.py" >c.py
		[ $# = 1 ] || echo 'OPS["aten.add.Tensor"] = pointwise(operator.sub)' >>c.py
	}
	fuzz="$bin fuzz --target python:c.py --policy forward --ops clone --programs 3 --seed 1 --db $tmp/r.db"
	compiler 1.0 wrong
	"$bin" check p.prog --target python:c.py --db "$tmp/r.db" >"$tmp/out" 2>"$tmp/err"
	id=$(sql "select id from v_findings" "$tmp/r.db")
	$fuzz >"$tmp/out" 2>"$tmp/err"
	expect "nothing is known yet" 0 $?
	hasnt "nothing is run again" "$tmp/out" "known before"
	"$bin" findings mark "$id" known --db "$tmp/r.db" >"$tmp/out"
	$fuzz >"$tmp/out" 2>"$tmp/err"
	expect "known and still there" 0 $?
	has "it is said" "$tmp/out" "^known before: 1 finding run again: 1 still there$"
	expect "an observation" 2 "$(sql "select nobs from v_findings" "$tmp/r.db")"
	expect "it is no part of the campaign" "6 forward, 1 recheck" "$(sql "select group_concat(n || ' ' || policy, ', ') from
		(select policy, sum(n) as n from v_counters where policy <> 'check' group by 1)" "$tmp/r.db")"
	$fuzz --no-recheck >"$tmp/out" 2>"$tmp/err"
	hasnt "it can be switched off" "$tmp/out" "known before"
	$fuzz --time 1ms >"$tmp/out" 2>"$tmp/err"
	has "its time is bounded" "$tmp/out" "^known before: 1 finding run again: 1 not reached in time$"
	compiler 2.0
	$fuzz >"$tmp/out" 2>"$tmp/err"
	expect "what is gone makes nothing fail" 0 $?
	has "it shouts" "$tmp/out" "^no longer happens: $id on python:c.py: "
	has "and says what to do" "$tmp/out" "^  scatterproof findings mark $id fixed-in 2.0 --db "
	has "it is counted" "$tmp/out" "^known before: 1 finding run again: 1 no longer happen"
	expect "a pass" 1 "$(sql "select npass from v_findings" "$tmp/r.db")"
	$fuzz --json >"$tmp/out" 2>"$tmp/err"
	has "machines are told, too" "$tmp/out" '^\{"recheck": "'"$id"'", "what": "no longer happens", "targets": "python:c.py", '
	has "in the summary" "$tmp/out" '"recheck": \{"findings": 1, "still_there": 0, "no_longer": 1, '
	"$bin" findings mark "$id" fixed-in 2.0 --db "$tmp/r.db" >"$tmp/out"
	$fuzz >"$tmp/out" 2>"$tmp/err"
	has "fixed" "$tmp/out" "^known before: 1 finding run again: 1 fixed and gone$"
	compiler 1.5 wrong
	$fuzz >"$tmp/out" 2>"$tmp/err"
	expect "an older version has it" 0 $?
	has "of course" "$tmp/out" "^known before: 1 finding run again: 1 still there$"
	compiler 2.1 wrong
	$fuzz --fail-on new >"$tmp/out" 2>"$tmp/err"
	expect "it is back" 1 $?
	has "it is said" "$tmp/out" "^regressed: $id on python:c.py: "
	has "and counted" "$tmp/out" "^known before: 1 finding run again: 1 regressed$"
	has "as a finding" "$tmp/out" "^0 new findings, 1 regressed, "
	expect "state" regressed "$(sql "select state from v_findings" "$tmp/r.db")"
	$fuzz >"$tmp/out" 2>"$tmp/err"
	hasnt "open ones are not run again" "$tmp/out" "known before"
	"$bin" findings mark "$id" known --db "$tmp/r.db" >"$tmp/out"
	echo 'nonsense(' >c.py
	$fuzz >"$tmp/out" 2>"$tmp/err"
	expect "a target that does not start" 2 $?
	campaign zero
	id=$(sql "select id from v_findings where kind = 'gradient' order by 1 limit 1" "$tmp/zero.db")
	"$bin" findings mark "$id" known --db "$tmp/zero.db" >"$tmp/out"
	"$bin" fuzz --target builtin:eager --programs 3 --seed 1 --db "$tmp/zero.db" >"$tmp/out" 2>"$tmp/err"
	hasnt "passing where it never was is no news" "$tmp/out" "no longer happens:"
	has "and is no answer" "$tmp/out" "^known before: 1 finding run again: 1 cannot be told$"
}

avoid() { # what the store explains is known to a campaign of that family
	printf '# scatterproof 1\nx = input([3], seed=1)\ny = add.Tensor(x, x)\nreturn (y,)\n' >"$tmp/p.prog"
	printf '#!/bin/sh\nexec python3 "%s"\n' "$src/tests/cli/fake_torch.py" >"$tmp/python"
	chmod +x "$tmp/python"
	export FAKE_TORCH=2.11.0
	for op in slice_scatter select_scatter; do
		"$finding_of" --as "gradient predicted layout overlaps: aten.$op.default" torch-2.11.0:inductor@cpu "$tmp/a.db" torch-2.11.0:inductor@cpu \
			gradient mismatch "$tmp/p.prog" "out 0 (y)" 0 >"$tmp/out"
		sed -i 's/seed=[0-9]*/seed=7/' "$tmp/p.prog"
	done
	"$bin" findings mark "$(tail -1 "$tmp/out")" dismissed --db "$tmp/a.db" >"$tmp/out"
	fuzz="$bin fuzz --target torch:inductor@cpu --python $tmp/python --programs 2 --seed 1 --json"
	explained() { python3 -c 'import json, sys
s = json.loads(open(sys.argv[1]).read().splitlines()[-1])["summary"]
print(*s["explained"], s["set_aside"])' "$tmp/out"; }
	$fuzz --db "$tmp/a.db" >"$tmp/out" 2>"$tmp/err"
	expect "findings of the store" "aten.select_scatter.default aten.slice_scatter.default 0" "$(explained)"
	$fuzz --db "$tmp/a.db" --no-avoid >"$tmp/out" 2>"$tmp/err"
	expect "--no-avoid" 0 "$(explained)"
	$fuzz --db "$tmp/new.db" >"$tmp/out" 2>"$tmp/err"
	expect "a new store" 0 "$(explained)"
	"$bin" fuzz --target builtin:eager --programs 2 --seed 1 --json --db "$tmp/a.db" >"$tmp/out" 2>"$tmp/err"
	expect "another family" 0 "$(explained)"
}

device() { # a device that is not there is no finding
	printf '#!/bin/sh\nexec python3 "%s"\n' "$src/tests/cli/fake_torch.py" >"$tmp/python"
	chmod +x "$tmp/python"
	printf '# scatterproof 1\nx = input([3], seed=1)\ny = add.Tensor(x, x)\nreturn (y,)\n' >"$tmp/p.prog"
	export FAKE_TORCH=2.11.0 FAKE_NO_CUDA="no CUDA device is here"
	local with="--python $tmp/python --db $tmp/d.db" missing="target 'torch:(eager|inductor)@cuda': its device is missing: no CUDA device is here"
	for stage in eager inductor; do
		"$bin" fuzz --target "torch:$stage@cuda" $with --programs 4 --seed 1 >"$tmp/out" 2>"$tmp/err"
		expect "a campaign ends" 3 $?
		has "and says why" "$tmp/err" "$missing"
		"$bin" check "$tmp/p.prog" --target "torch:$stage@cuda" $with >"$tmp/out" 2>"$tmp/err"
		expect "a check ends" 3 $?
		has "and says why" "$tmp/err" "$missing"
	done
	expect "nothing is stored" 0 "$([ ! -s "$tmp/d.db" ] && echo 0 || sql "select count(*) from v_findings" "$tmp/d.db")"
	"$bin" check "$tmp/p.prog" --target torch:eager@cpu $with >"$tmp/out" 2>"$tmp/err"
	hasnt "the CPU needs no GPU" "$tmp/err" "device is missing"
	export FAKE_NO_CUDA="" FAKE_RAISES
	for FAKE_RAISES in "RuntimeError: Found no NVIDIA driver on your system." \
		"RuntimeError: CUDA error: no CUDA-capable device is detected" \
		"RuntimeError: The NVIDIA driver on your system is too old: CUDA driver version is insufficient for CUDA runtime version"; do
		"$bin" check "$tmp/p.prog" --target torch:eager@cuda $with >"$tmp/out" 2>"$tmp/err"
		expect "$FAKE_RAISES" 3 $?
		"$bin" fuzz --target torch:eager@cuda $with --programs 4 --seed 1 >"$tmp/out" 2>"$tmp/err"
		expect "in a campaign" 3 $?
	done
	expect "nor is that a finding" 0 "$(sql "select count(*) from v_findings" "$tmp/d.db")"
	FAKE_RAISES="RuntimeError: something else"
	"$bin" check "$tmp/p.prog" --target torch:eager@cuda $with >"$tmp/out" 2>"$tmp/err"
	expect "what it raises otherwise is one" 1 "$(sql "select count(*) from v_findings" "$tmp/d.db")"
}

baseline() { # what was decided, as a text, keeps a run without a store green; the text is read strictly
	campaign zero
	n=$(sql "select count(*) from v_findings" "$tmp/zero.db")
	ids=($(sql "select group_concat(full_id, ' ') from v_findings" "$tmp/zero.db"))
	mark() { "$bin" findings mark "$@" --db "$tmp/zero.db" >"$tmp/out" || echo "FAIL: mark $*"; }
	"$bin" findings export --known --db "$tmp/zero.db" >"$tmp/none.txt"
	expect "nothing is decided" 0 "$(grep -c '^finding' "$tmp/none.txt")"
	fuzz="$bin fuzz --target builtin:eager+plant=zero --programs 300 --seed 5"
	$fuzz --baseline "$tmp/none.txt" >"$tmp/out" 2>"$tmp/err"
	expect "an empty baseline" 1 $?
	for id in "${ids[@]}"; do mark "$id" known --note "told them
again" --issue https://example.org/1; done
	mark "${ids[0]}" fixed-in 9.0
	mark "${ids[1]}" dismissed --note 'a back\slash'
	mark "${ids[2]}" duplicate --of "${ids[3]}"
	"$bin" minimize "${ids[3]}" --db "$tmp/zero.db" --quiet >"$tmp/least.prog" 2>"$tmp/err"
	"$bin" findings export --known --out "$tmp/b.txt" --db "$tmp/zero.db" >"$tmp/out"
	expect "export" 0 $?
	has "says how many" "$tmp/out" "^$n findings in .*b.txt$"
	expect "each once" "$n" "$(grep -c '^finding [0-9a-f]\{32\}$' "$tmp/b.txt")"
	has "fixed" "$tmp/b.txt" "^state fixed-in 9.0$"
	has "duplicate" "$tmp/b.txt" "^state duplicate ${ids[3]}$"
	has "issue" "$tmp/b.txt" "^issue https://example.org/1$"
	has "the first line of the note" "$tmp/b.txt" "^note told them$"
	has "a note with a backslash" "$tmp/b.txt" '^note a back\\\\slash$'
	expect "the minimised program" "$(cat "$tmp/least.prog")" \
		"$(awk -v id="${ids[3]}" '$1 == "finding" { on = $2 == id } on && sub(/^    /, "")' "$tmp/b.txt")"
	$fuzz --baseline "$tmp/b.txt" >"$tmp/out" 2>"$tmp/err"
	expect "all are in the baseline" 0 $?
	has "they are counted" "$tmp/out" "^0 new findings, .*, $n known \(baseline\); "
	has "and said" "$tmp/out" "^seen again: [0-9a-f]{8}  known \(baseline\), high: "
	hasnt "they are no findings" "$tmp/out" "^FINDING"
	$fuzz --baseline "$tmp/b.txt" --db "$tmp/new.db" >"$tmp/out" 2>"$tmp/err"
	expect "with a store of its own" 0 $?
	expect "which takes no marks from it" "$n" "$(sql "select count(*) from v_open" "$tmp/new.db")"
	$fuzz --baseline "$tmp/b.txt" --db "$tmp/new.db" >"$tmp/out" 2>"$tmp/err"
	expect "and meets them again" 0 $?
	$fuzz --db "$tmp/new.db" >"$tmp/out" 2>"$tmp/err"
	expect "without the baseline they count" 1 $?
	sed 's/^state fixed-in 9.0/state fixed-in 0.1/' "$tmp/b.txt" >"$tmp/old.txt"
	$fuzz --baseline "$tmp/old.txt" >"$tmp/out" 2>"$tmp/err"
	expect "one that is fixed in this version" 1 $?
	has "is back" "$tmp/out" "^0 new findings, 1 regressed, .*, $((n - 1)) known \(baseline\); "
	awk -v id="${ids[3]}" '$1 == "finding" { on = $2 == id } !on' "$tmp/b.txt" >"$tmp/less.txt"
	$fuzz --baseline "$tmp/less.txt" >"$tmp/out" 2>"$tmp/err"
	expect "one that is not in it" 1 $?
	has "is new" "$tmp/out" "^1 new finding, "
	sed 's/^kind .*/kind crash/' "$tmp/b.txt" >"$tmp/kind.txt"
	$fuzz --baseline "$tmp/kind.txt" >"$tmp/out" 2>"$tmp/err"
	expect "of another kind" 1 $?
	"$bin" findings show "${ids[3]}" --json --db "$tmp/zero.db" | python3 -c 'import json, sys
sys.stdout.write(json.load(sys.stdin)["program"])' >"$tmp/p.prog"
	check="$bin check $tmp/p.prog --target builtin:eager+plant=zero"
	$check >"$tmp/out"
	expect "check" 1 $?
	$check --baseline "$tmp/b.txt" >"$tmp/out"
	expect "check --baseline" 0 $?
	has "it is said" "$tmp/out" "^  known \(baseline\)$"
	$check --baseline "$tmp/b.txt" --json >"$tmp/out"
	has "machines, too" "$tmp/out" '"baseline":"known \(baseline\)"'
	id=${ids[4]}
	while IFS='|' read -r edit want; do # what is wrong is named by its place and fact
		sed "$edit" "$tmp/b.txt" >"$tmp/bad.txt"
		cmp -s "$tmp/b.txt" "$tmp/bad.txt" && echo "FAIL: '$edit' changes nothing" && fails=$((fails + 1))
		$fuzz --baseline "$tmp/bad.txt" >"$tmp/out" 2>&1
		expect "$edit" 2 $?
		has "$edit" "$tmp/out" "bad.txt:[0-9]+: $want"
	done <<-END
		1d|a baseline begins with the line '# scatterproof baseline 1'
		/^finding $id/,/^program/s/^state .*/state open/|'open' is no decision
		/^finding $id/,/^program/s/^state .*/state known today/|'today' after known is not understood
		/^finding $id/,/^program/s/^state .*/state duplicate 123/|duplicate needs the 32 digits
		/^finding $id/,/^program/s/^kind .*/kind valu/|'valu' is no kind of finding
		/^finding $id/,/^program/s/^signature .*//|finding ${id:0:8} has no line 'signature'
		/^finding $id/,/^program/s/^family/familly/|'familly' is not understood; did you mean 'family'
		/^finding $id/,/^program/s/^family .*/&\n&/|'family' is there twice
		s/^finding $id/finding ${id:0:8}/|'${id:0:8}' is no finding's id
		s/^finding $id/finding ${ids[5]}/|finding ${ids[5]:0:8} stands in line [0-9]+ already
		/^finding $id/,/^return/s/^    \(x: .*\)/    \1 nonsense/|the program does not read: 
		/^finding $id/,/^return/s/^    # scat/  # scat/|a program's lines are indented by four blanks
		/^finding $id/,/^program/s/^program/program x/|'program' takes no value
	END
	$fuzz --baseline "$tmp/absent.txt" >"$tmp/out" 2>&1
	expect "no such file" 2 $?
	"$bin" findings export --db "$tmp/zero.db" >"$tmp/out" 2>&1
	expect "export of what" 2 $?
	"$bin" findings export --known --db "$tmp/zero.db" --out /dev/full >"$tmp/out" 2>&1
	expect "a full disk" 3 $?
}

marks() { # a table of programs and issues marks a store
	mkdir "$tmp/t"
	target=builtin:eager+plant=zero
	i=0
	for name in one two three; do # three that fail there
		while :; do
			i=$((i + 1))
			"$bin" gen --seed 3 --program $i >"$tmp/t/$name.prog"
			"$bin" check "$tmp/t/$name.prog" --target $target --db "$tmp/probe.db" >"$tmp/out"
			grep -q '^  kept as [0-9a-f]*$' "$tmp/out" && break
		done
	done
	printf '# scatterproof 1\nx = input([3], seed=1)\ny = clone(x)\nreturn (y,)\n' >"$tmp/t/right.prog"
	printf '# a comment\none\thttps://example.org/1 https://example.org/2\tthe family\ntwo\t-\tnot found\nright\t-\t\nthree\t-\t\n' >"$tmp/t/up.tsv"
	"$bin" check "$tmp/t/three.prog" --target $target --db "$tmp/m.db" >"$tmp/out"
	three=$(sed -n 's/^  kept as //p' "$tmp/out")
	"$bin" findings mark "$three" dismissed --db "$tmp/m.db" >"$tmp/out"
	run() { "$src/scripts/mark-known" --db "$tmp/m.db" --target $target --table "$tmp/t/up.tsv" --binary "$bin" >"$tmp/out" 2>"$tmp/err"; }
	run
	expect "exit code" 0 $?
	expect "what it did" "2 marked known, 1 decided before, 1 programs fail on none of the targets" "$(tail -1 "$tmp/out")"
	expect "issue and note" "one: the family; also https://example.org/2 https://example.org/1" \
		"$(sql "select payload || ' ' || issue from v_events where kind = 'known' and issue is not null" "$tmp/m.db")"
	expect "no issue" "two: not found" "$(sql "select payload from v_events where kind = 'known' and issue is null" "$tmp/m.db")"
	expect "a decision stands" dismissed "$(sql "select state from v_findings where id = '$three'" "$tmp/m.db")"
	run
	expect "again" "0 marked known, 3 decided before, 1 programs fail on none of the targets" "$(tail -1 "$tmp/out")"
	"$src/scripts/mark-known" --db "$tmp/m.db" --target torch-9.9:eager --table "$tmp/t/up.tsv" --binary "$bin" >"$tmp/out" 2>"$tmp/err"
	expect "no such target" 3 $?
	"$src/scripts/mark-known" --target $target >"$tmp/out" 2>&1
	expect "no store" 2 $?
	"$src/scripts/mark-known" --db "$tmp/m.db" --table "$tmp/nowhere.tsv" --binary "$bin" >"$tmp/out" 2>"$tmp/err"
	expect "no table" 2 $?
	# A finding of another program that has the same signature, and no cure: its signature alone marks nothing.
	sed 's/^__version__.*/__version__ = "1.0"/' "$src/examples/closure_compiler.py" >"$tmp/c.py"
	echo 'OPS["aten.add.Tensor"] = pointwise(operator.sub)' >>"$tmp/c.py"
	for n in 3 4; do
		printf '# scatterproof 1\nx = input([%s], seed=1)\ny = add.Tensor(x, x)\nreturn (y,)\n' $n >"$tmp/t/of$n.prog"
	done
	"$bin" check "$tmp/t/of4.prog" --target "python:$tmp/c.py" --db "$tmp/s.db" >"$tmp/out"
	printf 'of3\thttps://example.org/3\t\n' >"$tmp/t/up.tsv"
	"$src/scripts/mark-known" --db "$tmp/s.db" --target "python:$tmp/c.py" --table "$tmp/t/up.tsv" --binary "$bin" >"$tmp/out" 2>"$tmp/err"
	expect "the signature is the same" 1 "$(sql "select count(*) from v_findings" "$tmp/s.db")"
	has "it is said" "$tmp/out" "^0 marked known, .* 1 like a finding of another program .*: not marked$"
	expect "and stays open" candidate "$(sql "select state from v_findings" "$tmp/s.db")"
	printf 'of4\thttps://example.org/4\t\n' >"$tmp/t/up.tsv"
	"$src/scripts/mark-known" --db "$tmp/s.db" --target "python:$tmp/c.py" --table "$tmp/t/up.tsv" --binary "$bin" >"$tmp/out" 2>"$tmp/err"
	expect "its own program marks it" known "$(sql "select state from v_findings" "$tmp/s.db")"
}

matrix_torch() { # the founding bug is of one version, and of its compiled stage (needs both)
	"$bin" check "$src/corpus/seeds/slice_scatter_f32_4x13x33_0_6.prog" --target torch-2.11.0:inductor@cpu --db "$tmp/m.db" >"$tmp/out" 2>"$tmp/err"
	id=$(sql "select id from v_findings" "$tmp/m.db")
	"$bin" repro "$id" --matrix --json --db "$tmp/m.db" >"$tmp/out" 2>"$tmp/err"
	expect "exit code" 0 $?
	has "eager" "$tmp/out" '"target": "torch-2.11.0:eager@cpu".*"answer": "passes"'
	has "a stage between" "$tmp/out" '"target": "torch-2.11.0:aot_eager@cpu".*"answer": "passes"'
	has "inductor" "$tmp/out" '"target": "torch-2.11.0:inductor@cpu".*"answer": "fails"'
	expect "every installed version has its column" "$("$bin" targets --json | grep -c '"installed": "torch-')" \
		"$(grep -o '"version": "[^"]*"' "$tmp/out" | sort -u | wc -l)"
}

case $part in
bisect) bisect ;;
matrix) matrix ;;
recheck) recheck ;;
avoid) avoid ;;
device) device ;;
baseline) baseline ;;
marks) marks ;;
matrix_torch) matrix_torch ;;
*) echo "unknown part $part"; exit 2 ;;
esac
end
