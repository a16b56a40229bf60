#!/bin/bash
# sweep: rows, rules and exit codes. The targets are modules whose mistakes are known, one in eight programs of the built-in target, and
# PyTorch. Usage: sweep.sh BINARY SOURCES PART
. "$(dirname "$0")/shell.sh"
envs=${SCATTERPROOF_TARGETS:-${XDG_DATA_HOME:-$HOME/.local/share}/scatterproof/targets}
cd "$tmp" || exit 1

cat >twice.prog <<'END'
# scatterproof 1
x = input([4, 13], seed=1)
y = add.Tensor(x, x)
return (y,)
END
# Twice x; wrong by n/(n - 3) where the last size n is above 8, in another tensor's way below 3, and f16 it does not know.
cat >twice.py <<'END'
from scatterproof import Tensor, Unsupported


def like(x, values):
    t = Tensor(x.dtype, x.size, x.stride, 0, bytearray(8 * len(values)))
    t.write(values)
    return [t]


def run(program):
    x = program.inputs["x"]
    if x.dtype == "float16":
        raise Unsupported("no halves here")
    n = x.size[-1]
    if n == 2:
        raise RuntimeError("two is company")
    return like(x, [2 * v * (n / (n - 3) if n > 8 else 1) for v in x.flat()])
END
sweep() { "$bin" sweep "$@" >out 2>err; }
field() { # field SERIES VALUE EXPRESSION: of the row of that series and value in out
	python3 - "$@" <<-'END'
	import json, sys
	series, value, what = sys.argv[1:]
	rows = [json.loads(line) for line in open("out")]
	[r] = [r for r in rows if r.get("series") == series and r.get("value") == value]
	print(eval(what, {"r": r}))
	END
}
summary() { # summary SERIES: what is said of it
	python3 - "$1" <<-'END'
	import json, sys
	print(*[r["summary"] for r in map(json.loads, open("out")) if "summary" in r and r["series"] == sys.argv[1]])
	END
}

table() { # every size and dtype is a row of one line, and each series ends with what can be said of it
	sweep twice.prog --target python:twice.py --axis shapes,dtypes
	expect "exit code" 0 $?
	has "what fails" out '^value, .* on python:twice.py, in a program of add.Tensor$'
	has "as found" out '^as found +f32 +python:twice.py +mismatch +out 0 \(y\)\[0,0\] +[-0-9.]+(\+-[0-9e-]+)? +[-0-9.]+ +1\.3$'
	has "a size" out '^x: 4x13 -> 4x16 +f32 +python:twice.py +mismatch +out 0 \(y\)\[0,0\] +[-0-9.]+(\+-[0-9e-]+)? +[-0-9.]+ +1\.23077$'
	has "a size that passes" out '^x: 4x13 -> 4x8 +f32 +python:twice.py +pass$'
	has "a size that fails otherwise" out '^x: 4x13 -> 4x2 +f32 +python:twice.py +mismatch\* +.*two is company'
	has "a dtype that is refused" out '^x: f32 -> f16 +f16 +python:twice.py +unsupported no halves here$'
	has "the rule" out '^size 13: fails for 17 of 22 sizes; fails in another way for 2; passes for 1, 3, 7, 8; the ratio is n/\(n - 3\)$'
	has "the other size" out '^size 4: fails for all 22 sizes; the ratio is 1\.3 = 13/10$'
	has "dtypes" out '^dtype f32: fails for f64, f32, bf16; cannot be told for f16; the ratio is 1\.3'
	expect "no line is too long" "" "$(grep -E '^(x:|as found)' out | grep -E '^.{141}')"
	expect "a row for each value" 22 "$(grep -cE '^(x: 4x13 -> 4x|13 )' out)"
	expect "nothing else is said" "" "$(cat err)"
}

json() { # the same for machines: everything whole, one object per line
	sweep twice.prog --target python:twice.py --axis shapes --json
	expect "exit code" 0 $?
	expect "ratio" 1.230769 "$(field "size 13" 16 'round(r["ratio"], 6)')"
	expect "of sums" True "$(field "size 13" 16 'abs(r["got_sum"] - r["ratio"] * r["expected_sum"]) < 1e-9')"
	expect "and of the element" 1.230769 "$(field "size 13" 16 'round(r["got"] / r["expected"][0], 6)')"
	expect "what varied" "x: 4x13 -> 4x16" "$(field "size 13" 16 'r["varied"]')"
	expect "answer" "fails otherwise passes" "$(field "size 13" 9 'r["answer"]') $(field "size 13" 2 'r["answer"]') $(field "size 13" 3 'r["answer"]')"
	expect "as found" "True False" "$(field "size 13" 13 'r["as_found"]') $(field "size 13" 16 'r["as_found"]')"
	expect "the series" 'fails for all 22 sizes; the ratio is 1.3 = 13/10' "$(summary "size 4")"
}

region() { # the length of a region is a size, too; sizes for which there is no program are rows with their reason
	printf '%s\n' '# scatterproof 1' 'x = input([4, 10], seed=1)' 'y = input([4, 6], seed=2)' 's = slice_scatter(x, y, dim=1, start=1, end=7)' \
		'return (s,)' >region.prog
	printf 'from twice import like\n\n\ndef run(program):\n    x = program.inputs["x"]\n    return like(x, [v + 9 for v in x.flat()])\n' >plus.py
	sweep region.prog --target python:plus.py --axis shapes --json
	expect "exit code" 0 $?
	expect "longer" "y: 4x6 -> 4x9, s.end: 7 -> 10" "$(field "size 6" 9 'r["varied"]')"
	expect "too long" "no program a region of 15 does not fit into a dimension of 10" "$(field "size 6" 15 'r["verdict"] + " " + r["why"]')"
	expect "shorter than the region" "x: 4x10 -> 4x3, y: 4x6 -> 4x3, s.start: 1 -> 0, s.end: 7 -> 3" "$(field "size 10" 3 'r["varied"]')"
	sweep region.prog --target python:plus.py --axis shapes
	has "positions that moved are marked" out '^~ x: 4x10 -> 4x3, y: 4x6 -> 4x3'
}

options() { # its own options left away, further targets; one in eight programs is spoilt, so sizes decide by chance
	for n in 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
		printf '# scatterproof 1\nx = input([%s], seed=1)\ny = add.Tensor(x, x)\nreturn (y,)\n' $n >p.prog
		"$bin" check p.prog --target builtin:eager+plant=zero >/dev/null && continue
		break
	done
	sweep p.prog --target builtin:eager+plant=zero --target builtin:eager+plant=crash --axis options,stages,versions --json
	expect "exit code" 0 $?
	expect "as found" fails "$(field options "as found" 'r["answer"]')"
	expect "without the fault" passes "$(field options "without plant=zero" 'r["answer"]')"
	expect "another target" "otherwise crash" "$(field options "builtin:eager+plant=crash" 'r["answer"] + " " + r["verdict"]')"
	expect "one stage" fails "$(field stages eager 'r["answer"]')"
	has "no versions" out '"series": "versions".*"summary": "builtin has no versions"'
	sweep p.prog --target builtin:eager+plant=zero --axis shapes --json
	expect "some fail, some pass" True "$(python3 -c '
import json
a = [r["answer"] for r in map(json.loads, open("out")) if r.get("axis") == "shapes" and "answer" in r]
print(0 < a.count("passes") and 0 < a.count("fails") and len(a) > 15)')"
	sweep p.prog --target builtin:passes+plant=zero --axis options,stages --json
	expect "a pass switched off" "fails fails" "$(field options "passes=-cse" 'r["answer"]') $(field options "passes=-all" 'r["answer"]')"
	expect "the stages below" "fails fails fails" "$(for s in functional joint passes; do field stages $s 'r["answer"]'; done | xargs)"
	"$bin" check p.prog --target builtin:eager+plant=zero --db f.db --quiet >/dev/null
	id=$(sql "select id from v_findings" f.db)
	sweep "$id" --db f.db --axis options
	expect "of a finding" 0 $?
	has "its row" out '^without plant=zero +f32 +builtin:eager@cpu +pass$|^without plant=zero +f32 +builtin:eager +pass$'
}

bounds() { # --time and --programs end it, and what was not tried is counted
	sweep twice.prog --target python:twice.py --axis shapes --programs 5
	expect "exit code" 0 $?
	has "the first series has its share" out '^size 13: .*; 19 not tried any more$'
	has "so has the second" out '^size 4: .*; 19 not tried any more$'
	sweep twice.prog --target python:twice.py --time 0.001s
	expect "no time at all" 0 $?
	has "says so" out '^size 4: fails for 4; 21 not tried any more$'
	sed 's/^    n = /    __import__("time").sleep(0.3)\n&/' twice.py >slow.py
	timeout --preserve-status -s INT 3 "$bin" sweep twice.prog --target python:slow.py --axis shapes >out 2>err
	expect "Ctrl-C" 130 $?
	has "ends the table in good order" out '^size 4: fails for 4; 21 not tried any more$'
}

codes() { # 0 is an answer, 2 a wrong question, 3 no target, 4 nothing to sweep
	sweep twice.prog --target builtin:eager
	expect "it does not fail" 4 $?
	has "and says so" err 'the program does not fail on builtin:eager(@cpu)?: pass$'
	sweep twice.prog
	expect "no target" 2 $?
	sweep --target builtin:eager
	expect "no program" 2 $?
	sweep none.prog --target builtin:eager
	expect "no such file" 2 $?
	cat twice.prog twice.prog >two.prog
	sweep two.prog --target python:twice.py
	expect "two programs" 2 $?
	has "it says how many" err 'two.prog has 2 programs'
	sweep twice.prog --target python:twice.py --axis shape
	expect "no such axis" 2 $?
	has "which there are" err "'shape' is not one of stages, dtypes, options, shapes, versions"
	sweep twice.prog --target python:twice.py --since
	expect "no versions" 2 $?
	sweep twice.prog --target python:twice.py --since --axis shapes
	expect "two questions" 2 $?
	SCATTERPROOF_TARGETS=$tmp/nothing sweep twice.prog --target torch:inductor@cpu
	expect "no such target" 3 $?
	sweep 123456 --db none.db
	expect "no such store" 2 $?
}

store() { # --since without a finding: of all that have a cause; a family without versions has no answer
	"$bin" fuzz --target builtin:eager+plant=zero --programs 60 --seed 5 --db f.db --quiet >out 2>err
	sweep --since --db f.db
	expect "none has a cause" "0 findings, 0 causes; 0 with several findings, which agree in 0; 0 minimised perhaps into another bug" "$(cat out)"
	"$bin" triage --db f.db --jobs 2 >causes 2>err
	n=$(sql "select count(distinct full_id) from v_events where kind = 'cause'" f.db)
	sweep --since --db f.db
	expect "exit code" 0 $?
	expect "a line for each finding" "$n" "$(grep -cE '^  [0-9a-f]{8}  builtin:eager.*  builtin has no versions$' out)"
	has "and how many causes" out "^$n findings, $(sql 'select count(*) from v_causes' f.db) causes; "
	sweep --since --json --db f.db
	expect "as JSON" "$n" "$(python3 -c 'import json, sys; print(sum({"id", "cause", "fails", "since"} <= json.loads(line).keys() for line in sys.stdin))' <out)"
	sweep --since --db none.db
	expect "no such store" 2 $?
}

kept() { # --store: the answer is an artifact of the finding; without it nothing is written
	kept_is() { # kept_is WHAT WANT EXPRESSION: of the artifact k
		expect "$1" "$2" "$(python3 -c "import json; k = json.load(open('kept.json')); print($3)")"
	}
	cat >m.prog <<-'END'
		# scatterproof 1
		x = input([2, 5], data=[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], requires_grad=True)
		r = mean.dim(x, [1])
		g = full([2], 1.0)
		return (r,)
		backward (r: g,)
	END
	"$bin" check m.prog --target builtin:passes+defect=mean_gradient_miscounted --db m.db --quiet >out 2>err
	id=$(sql "select full_id from v_findings" m.db)
	cp m.db before.db
	sweep "$id" --db m.db --axis stages,shapes
	expect "a sweep" 0 $?
	expect "writes nothing" "" "$(cmp m.db before.db 2>&1)"
	cp out without
	sweep "$id" --db m.db --axis stages,shapes --store
	expect "--store" 0 $?
	expect "prints the same" "$(cat without)" "$(cat out)"
	"$bin" findings show "$id" --artifact sweep --db m.db >kept.json
	kept_is "its head" "1 builtin:passes+defect=mean_gradient_miscounted $(sql "select program from v_observations" m.db | head -1 | cut -c1-8)" 'k["schema"], k["target"], k["program"][:8]'
	kept_is "series" "stages, size 5, size 2" '", ".join(s["axis"] for s in k["series"])'
	kept_is "stages" "[('eager', 'pass'), ('functional', 'pass'), ('joint', 'mismatch'), ('partitioned', 'mismatch'), ('decomposed', 'mismatch'), ('passes', 'mismatch')]" \
		'[(r["value"], r["verdict"]) for r in k["series"][0]["rows"]]'
	kept_is "the law" "n/(n - 1)" 'k["series"][1]["law"]'
	kept_is "a row" "{'value': '2', 'answer': 'fails', 'verdict': 'mismatch', 'wrong': 'x.grad[0,0]', 'expected': 0.5, 'got': 1, 'ratio': 2}" 'k["series"][1]["rows"][1]'
	kept_is "one that passes" "{'value': '1', 'answer': 'passes', 'verdict': 'pass'}" 'k["series"][1]["rows"][0]'
	expect "and its words" "$(sed -n 's/^size 5: //p' out)" "$(python3 -c "import json; print(json.load(open('kept.json'))['series'][1]['summary'])")"
	sweep "$id" --db m.db --axis shapes --programs 3 --store
	"$bin" findings show "$id" --artifact sweep --db m.db >kept.json
	kept_is "what was not tried any more" True 'sum(s.get("left", 0) for s in k["series"]) > 10'
	"$bin" repro "$id" --matrix --store --db m.db >out 2>err
	expect "a matrix" 0 $?
	"$bin" findings show "$id" --artifact matrix --db m.db >kept.json
	kept_is "its cells" "6 1 6 builtin:eager builtin passes" 'len(k["stages"]), len(k["versions"]), len(k["cells"]), *k["cells"][0].values()'
	cp m.db before.db
	"$bin" repro "$id" --matrix --db m.db >out 2>err
	expect "no matrix without it" "" "$(cmp m.db before.db 2>&1)"
	sweep --since --db m.db --store
	expect "nobody has a cause" 0 $?
	sweep m.prog --target builtin:eager --store
	expect "of a file" 2 $?
	sweep "$id" --db m.db --target builtin:eager --store
	expect "on another target" 2 $?
	has "why not" err 'on the target on which it was found'
	"$bin" repro "$id" --store --db m.db >out 2>err
	expect "repro stores anyway" 2 $?
	"$bin" repro "$id" --matrix --store --no-store --db m.db >out 2>err
	expect "both" 2 $?
	n=$(sql "select count(*) from artifact" m.db)
	for words in "sweep $id --axis stages" "repro $id --matrix"; do
		(ulimit -f 1 && exec "$bin" $words --store --db m.db >/dev/null 2>err)
		expect "$words: nothing more can be written" 3 $?
		has "$words says so" err '^scatterproof: .*(full|File too large|disk)'
	done
	expect "there are artifacts" yes "$([ "$n" -ge 3 ] && echo yes)"
	expect "and nothing was" "$n" "$(sql "select count(*) from artifact" m.db)"
}

founding_torch() { # the founding bug: zero, or n/(n - len), as its report has it
	for row in 4x13x33_0_6:0 2x8x16_0_4:0 1x6x100_0_3:0; do
		sweep "$src/corpus/seeds/slice_scatter_f32_${row%:*}.prog" --target torch-2.11.0:inductor@cpu --axis stages --programs 3 --json
		expect "$row" 0 $?
		expect "ratio of $row" "${row#*:}" "$(field "" "as found" 'round(r["ratio"])')"
	done
	sweep "$src/corpus/seeds/slice_scatter_f32_3x20x7_5_12.prog" --target torch-2.11.0:inductor@cpu --axis shapes,stages --programs 36 --json
	expect "the last row" 0 $?
	expect "its ratio" "$(python3 -c 'print(round(20 / 13, 5))')" "$(field "" "as found" 'round(r["ratio"], 5)')"
	has "only inductor" out '"summary": "fails on inductor; passes on .*aot_eager'
	expect "the predicted factor" "n/(n - 7)" "$(summary "size 20" | grep -oE 'n/\(n - 7\)')"
	expect "and of the length" "20/(20 - n)" "$(summary "size 7" | grep -oE '20/\(20 - n\)')"
}

since_torch() { # of two versions, the first has the bug
	mkdir two
	ln -s "$envs/torch-2.11.0" "$envs/torch-2.15.0" two
	SCATTERPROOF_TARGETS=$tmp/two sweep "$src/corpus/seeds/slice_scatter_f32_4x13x33_0_6.prog" --target torch:inductor@cpu --since
	expect "exit code" 0 $?
	expect "one line" "fails on 2.11.0 (first installed); right from 2.15.0 on" "$(cat out)"
	"$bin" check "$src/corpus/seeds/slice_scatter_f32_4x13x33_0_6.prog" --target torch-2.11.0:inductor@cpu --db f.db --quiet >out 2>err
	id=$(sql "select full_id from v_findings" f.db)
	SCATTERPROOF_TARGETS=$tmp/two sweep "$id" --since --store --db f.db
	expect "of a finding" 0 $?
	"$bin" findings show "$id" --artifact since --db f.db >out
	expect "kept" "torch-2.11.0:inductor@cpu 2.11.0 fails 2.15.0 passes 2.11.0 2.11.0 2.15.0" "$(python3 -c 'import json
k = json.load(open("out"))
print(k["target"], *[w for v in k["versions"] for w in v.values()], k["first_bad"], k["last_bad"], k["first_good"])')"
	sweep "$src/corpus/seeds/slice_scatter_f32_4x13x33_0_6.prog" --target builtin:eager --since
	expect "a family without versions" 2 $?
	expect "nothing is printed then" "" "$(cat out)"
}

$part
end
