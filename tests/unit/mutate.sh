#!/bin/sh
# mutate.sh SOURCE BUILD: the table of faults fits the code and names tests of the build, and an entry that does not is an error that names it.
# Plants nothing: that is scripts/mutate's, by hand or by night.
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
"$1/scripts/mutate" --check --tests "$2" || exit 1
sed 's/^- return seen >= 2 && r != 0;$/- return this was never there;/' "$1/tests/mutants.txt" >"$tmp/stale.txt"
"$1/scripts/mutate" --check --table "$tmp/stale.txt" >"$tmp/out" 2>&1
[ $? = 2 ] && grep -q 'pattern-order: the old text is found 0 times in oracle/judge/compare.c, not once' "$tmp/out" || { cat "$tmp/out"; exit 1; }
sed 's/^\(pattern-order .*\) [a-z_]*$/\1 nonesuch/' "$1/tests/mutants.txt" >"$tmp/renamed.txt"
"$1/scripts/mutate" --check --tests "$2" --table "$tmp/renamed.txt" >"$tmp/out" 2>&1
[ $? = 2 ] && grep -q 'pattern-order: no test is called nonesuch' "$tmp/out" || { cat "$tmp/out"; exit 1; }
"$1/scripts/mutate" --check --only nonesuch >"$tmp/out" 2>&1
[ $? = 2 ] && grep -q 'no fault is called nonesuch' "$tmp/out" || { cat "$tmp/out"; exit 1; }
n=$("$1/scripts/mutate" --list | tail -1 | cut -d' ' -f1)
[ "$n" -ge 40 ] || { echo "only $n faults"; exit 1; }
