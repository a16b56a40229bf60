#!/bin/bash
# seen.sh BIN SOURCE PART: what goes unjudged is said, counted and can be seen again: by campaigns, by `check`, by exit codes.
bin=$1 src=$2 part=$3
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
checks=0 fails=0

expect() { # expect WHAT WANT GOT
	checks=$((checks + 1))
	if [ "$2" != "$3" ]; then
		echo "FAIL: $1: want '$2', got '$3'"
		fails=$((fails + 1))
	fi
}
has() { # has WHAT FILE PATTERN
	checks=$((checks + 1))
	grep -qE "$3" "$2" || { echo "FAIL: $1: no '$3' in:"; tail -20 "$2"; fails=$((fails + 1)); }
}
sql() { "$bin" findings sql "$1" --db "$tmp/s.db" | tail -1; }

refused() { # programs that eager refuses and nobody expected: one per reason is kept, with the command that shows it
	"$bin" fuzz --target builtin:eager+plant=refuse --programs 200 --seed 5 --jobs 2 --db "$tmp/s.db" >"$tmp/out" 2>"$tmp/err"
	expect "they are no findings about a target" 0 $?
	has "reason and count" "$tmp/out" "^ +[0-9]+  invalid: RuntimeError: planted refusal of N bytes$"
	has "the command" "$tmp/out" "^ +see the first:  scatterproof gen --seed 5 --program [0-9]+$"
	command=$(sed -n 's/^ *see the first:  scatterproof //p' "$tmp/out")
	"$bin" $command >"$tmp/p.prog"
	"$bin" check "$tmp/p.prog" --target builtin:eager+plant=refuse >"$tmp/check"
	has "it shows the refusal" "$tmp/check" "p.prog: invalid on builtin:eager\+plant=refuse: RuntimeError: planted refusal of [0-9]+ bytes"
	expect "one is kept" "1 raise trivial" "$(sql "select count(*) || ' ' || kind || ' ' || severity from v_findings group by signature" | tail -1)"
	expect "its observation says so" "invalid" "$(sql "select distinct verdict from v_observations")"
	id=$(sql "select id from v_findings")
	"$bin" repro "$id" --db "$tmp/s.db" >"$tmp/out"
	expect "repro: it still happens" 1 $?
	has "repro" "$tmp/out" "still happens: eager refuses it, neither the reference nor the interpreter does"
	"$bin" repro "$id" --db "$tmp/s.db" --target builtin:eager >"$tmp/out"
	expect "repro where it is not refused" 0 $?
	"$bin" repro "$id" --db "$tmp/s.db" --target torch:eager --script "$tmp/s.py" >"$tmp/out" 2>"$tmp/err"
	has "the script's claim" "$tmp/s.py" "^# Exits 1 if eager refuses the program, which both sets of rules accept, 0 if not"
	has "the script" "$tmp/s.py" "^REFUSED = True"
	"$bin" fuzz --target builtin:eager+plant=refuse --programs 100 --seed 6 --json >"$tmp/out" 2>"$tmp/err"
	has "machines are told, too" "$tmp/out" '"reason": "invalid: RuntimeError: planted refusal of N bytes", "n": [0-9]+, "first": "scatterproof gen --seed 6 --program [0-9]+"'
	printf '# scatterproof 1\nx = input([2], seed=1, requires_grad=True)\nc = clone(x)\ny = mul.Tensor(c, c)\nz = zero_(c)\ng = input([2], seed=2)\nreturn (y,)\nbackward (y: g)\n' >"$tmp/must.prog"
	"$bin" check "$tmp/must.prog" >"$tmp/out"
	has "what must raise is invalid, too, and expected" "$tmp/out" "must.prog: invalid on builtin:eager"
}

case $part in
refused) refused ;;
*) echo "unknown part $part"; exit 2 ;;
esac
echo "$checks checks, $fails failed"
[ $checks -gt 3 ] && [ $fails = 0 ]
