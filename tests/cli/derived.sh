#!/bin/sh
# The policies joint and double: generated programs with their backward written out. Usage: derived.sh BINARY SOURCES PART
. "$(dirname "$0")/shell.sh"

judged() { # judged POLICY TARGET LEAST: of the last campaign's programs at least so many pass, and none diverges
	expect "$1 on $2: no divergence" 0 $?
	has "$1: others were drawn again" "$tmp/out" '^ +[0-9]+  drawn again: no output requires grad$'
	passed=$(sed -n "s/^ *$2[^ ]* .*pass \([0-9]*\).*/\1/p" "$tmp/out")
	expect "$1 on $2: $passed pass" yes "$([ "${passed:-0}" -ge "$3" ] && echo yes)"
	hasnt "$1: eager refuses none" "$tmp/out" 'invalid|harness'
}

joint() {
	"$bin" gen --policy joint --seed 2 --programs 60 >"$tmp/all.prog"
	hasnt "nobody differentiates them" "$tmp/all.prog" '^backward|requires_grad|^raises|sym\('
	has "derivatives are rows" "$tmp/all.prog" '_backward'
	has "on data that changes" "$tmp/all.prog" '^call \(.*seed='
	"$bin" fuzz --policy joint --target builtin:eager --target builtin:joint --seed 2 --programs 500 --quiet >"$tmp/out" 2>&1
	judged joint builtin:eager 440
	has "the compiler takes them, too" "$tmp/out" 'builtin:joint +pass'
	hasnt "all of them" "$tmp/out" 'unsupported'
	"$bin" fuzz --policy joint --target builtin:eager+plant=zero --seed 2 --programs 100 --no-confirm --quiet >"$tmp/out" 2>&1
	expect "a wrong gradient is a wrong output" 1 $?
}

double() {
	"$bin" gen --policy double --seed 2 --programs 60 >"$tmp/all.prog"
	expect "each has a backward" 60 "$(grep -c '^backward' "$tmp/all.prog")"
	has "derivatives are rows that are differentiated" "$tmp/all.prog" '_backward: .* = .*_backward\('
	"$bin" fuzz --policy double --target builtin:eager --target builtin:joint --seed 2 --programs 300 --quiet >"$tmp/out" 2>&1
	judged double builtin:eager 260
	has "those that are linear, too" "$tmp/out" 'drawn again: no gradient depends on what requires grad'
	hasnt "the compiler takes all of them" "$tmp/out" 'unsupported'
	"$bin" gen --policy double --seed 2 --programs 40 >"$tmp/double.prog"
	"$bin" compile "$tmp/double.prog" --print-after joint >"$tmp/twice.prog"
	expect "the compiler's answer" 0 $?
	expect "a joint program of each" 40 "$(grep -c '^# joint of' "$tmp/twice.prog")"
	"$bin" check "$tmp/twice.prog" --quiet >"$tmp/out" 2>&1
	expect "they are right" 0 $?
}

again() { # a number of a seed is one program: of campaigns in any number of shards, of gen alone and among others
	for policy in joint double; do
		words="--seed 6 --policy $policy"
		db=$tmp/$policy.db
		"$bin" gen $words --programs 400 >"$tmp/all"
		"$bin" fuzz --target builtin:eager+plant=zero $words --programs 400 --jobs 2 --no-confirm --db "$db" >/dev/null 2>&1
		note="select distinct payload from v_events where kind = 'note' and payload like 'program % of seed 6,%' and payload not like '%, its wide twin'"
		numbers=$(sql "$note" "$db" | sed 's/^program \([0-9]*\) of .*/\1/' | sort -nu | head -12)
		expect "$policy: some diverge" yes "$([ "$(echo "$numbers" | wc -l)" -ge 4 ] && echo yes)"
		for n in $numbers; do
			text="$("$bin" gen $words --program "$n")"
			expect "$policy: program $n is the campaign's" 1 "$(sql "select count(*) from v_programs where text = '$text' || char(10)" "$db")"
			expect "$policy: and that of gen --programs" "$text" "$(awk -v n="$n" '/^# scatterproof/ { k++ } k == n + 1' "$tmp/all")"
		done
	done
	"$bin" gen --policy joint --dtypes i64 >"$tmp/out" 2>"$tmp/err"
	expect "integers have no gradient" 2 $?
	has "is said" "$tmp/err" 'no output requires grad'
}

torch() { # what PyTorch's operators make of our derivatives, and its autograd of theirs (needs PyTorch)
	"$bin" fuzz --policy joint --target torch:eager --seed 4 --programs 150 --quiet >"$tmp/out" 2>&1
	judged joint torch.*:eager 130
	"$bin" fuzz --policy double --target torch:eager --seed 4 --programs 100 --quiet >"$tmp/out" 2>&1
	judged double torch.*:eager 85
}
$part
end
