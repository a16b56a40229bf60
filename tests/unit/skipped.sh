#!/bin/bash
# skipped.sh SOURCE: tests/skipped.py names what ctest skipped, and why, before ctest's summary, which stays the last thing said.
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
run() { # run TEST...: a ctest of such tests; what scripts/test would print, and its exit code in $rc
	printf '%s\n' "$@" >"$tmp/CTestTestfile.cmake"
	(set -o pipefail; ctest --test-dir "$tmp" 2>&1 | "$src/tests/skipped.py" "$tmp") >"$tmp/out"
	rc=$?
}
skip='PROPERTIES SKIP_RETURN_CODE 77)'
src=$1
bad=0
is() { [ "$2" = "$3" ] || { echo "FAIL: $1: want '$2', got '$3'"; cat "$tmp/out"; bad=1; }; }
run 'add_test(a sh -c "echo SKIPPED: no PyTorch 9; exit 77")' "set_tests_properties(a $skip" \
	'add_test(b sh -c "echo SKIPPED: the second half")' 'add_test(c true)' \
	'add_test(d sh -c "echo SKIPPED: no PyTorch 9; exit 77")' "set_tests_properties(d $skip"
is "skips are no failure" 0 $rc
is "who and why" "2 tests skipped:|  a, d: no PyTorch 9|1 test skipped a part:|  b: the second half|" \
	"$(sed -n '/tests* skipped/,/^$/p' "$tmp/out" | grep . | tr '\n' '|')"
is "then the summary" "100% tests passed, 0 tests failed out of 4" "$(grep -A1 '^$' "$tmp/out" | grep 'tests passed')"
is "it is the end" "d (Skipped)" "$(tail -1 "$tmp/out" | sed 's/.* - //')"
run 'add_test(a true)' 'add_test(b sh -c "echo SKIPPED: hidden by a failure; exit 1")'
is "a failure is one" 8 $rc
is "none skipped" "0 tests skipped" "$(grep skipped "$tmp/out")"
run 'add_test(a sh -c "exit 77")' "set_tests_properties(a $skip"
is "a skip without a reason" 1 $rc
exit $bad
