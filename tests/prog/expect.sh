#!/bin/bash
# expect.sh EXPECT_PY BINARY: what a program states of targets is asked, or refused where nobody would: a typo is no pass.
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
fails=0 checks=0
stated() { # stated LINES EXIT PATTERN: of a program that passes
	checks=$((checks + 1))
	printf '# scatterproof 1\n%bx = input([2], seed=1)\ny = neg(x)\nreturn (y,)\n' "$1" >"$tmp/p.prog"
	python3 "$expect" "$binary" builtin "$tmp/p.prog" >"$tmp/out" 2>&1
	[ $? = "$2" ] && grep -qE -e "$3" "$tmp/out" && return
	echo "FAIL: '$1': want exit $2 and '$3', got:"
	cat "$tmp/out"
	fails=$((fails + 1))
}
expect=$1 binary=$2
stated '' 0 '^1 verdicts, 0 failed'
stated '# expect: builtin:eager pass\n# expect: torch-2.15.0:eager crash\n' 0 '^1 verdicts, 0 failed'
stated '# expect: builtin:eager pass|mismatch\n' 0 '^1 verdicts, 0 failed'
stated '# expect: builtin:eager mismatch\n' 1 'expected mismatch *, got pass'
stated '# expect: builtin:eager pass\n# expect: torch-2.15:eager pass\n' 1 "p.prog:3: 'torch-2.15:eager' is no target"
stated '# expect: builtin:eager pass\n# expect: troch:eager pass\n' 1 "'troch:eager' is no target"
stated '# expect: builtin:eager pass\n# expect: builtin pass\n' 1 "'builtin' is no target"
stated '# expect: builtin:eager pass\n# expect: torch:eager passes\n' 1 "'passes' is none of pass"
stated '# expect: builtin:eager pass\n# expect: torch:eager pass|mismtach\n' 1 "'mismtach' is none of pass"
stated '# expect: builtin:eager pass\n#expect: builtin:eager mismatch\n' 1 "p.prog:3: not '# expect: TARGET"
stated '# expect: builtin:eager pass\n# expect builtin:eager mismatch\n' 1 "p.prog:3: not '# expect: TARGET"
stated '# expect: builtin:eager\n' 1 "p.prog:2: not '# expect: TARGET"
stated '# expect: builtin:eagre pass\n' 1 'no answer'
echo "$checks checks, $fails failed"
[ $fails = 0 ]
