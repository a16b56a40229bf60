#!/bin/bash
# declared.sh SOURCE: cmake/test.cmake declares what it is told and refuses the rest: files that are not there, tests that contradict themselves.
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
src=$1
bad=0
mkdir "$tmp/cli"
touch "$tmp/cli/a.prog"
configure() { # configure LINE...: a folder `cli` that says so; CMake's exit code in $rc, its words in $tmp/out
	printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' 'project(x NONE)' 'enable_testing()' "include($src/cmake/test.cmake)" \
		'add_subdirectory(cli)' >"$tmp/CMakeLists.txt"
	printf '%s\n' "$@" >"$tmp/cli/CMakeLists.txt"
	rm -rf "$tmp/build"
	cmake -S "$tmp" -B "$tmp/build" >"$tmp/out" 2>&1
	rc=$?
}
is() { [ "$2" = "$3" ] || { echo "FAIL: $1: want '$2', got '$3'"; cat "$tmp/out"; bad=1; }; }
says() { grep -qF -- "$1" "$tmp/out" || { echo "FAIL: no '$1'"; cat "$tmp/out"; bad=1; }; }
here='${CMAKE_CURRENT_SOURCE_DIR}'
configure "sp_files(found $here/*.prog)" 'message(STATUS "found: ${found}")'
is "files that are there" 0 $rc
says "found: $tmp/cli/a.prog"
configure "sp_files(found $here/*.prog $here/*.nonesuch)"
is "a pattern that matches nothing" 1 $rc
says "no file matches"
for wrong in 'sp_test(a QUICK TORCH any COMMAND true)' 'sp_test(a QUICK)' 'sp_test(a SLOW COMMAND true)'; do
	configure "$wrong"
	is "$wrong" 1 $rc
	says "sp_test(a)"
done
configure 'sp_test(a QUICK COMMAND true)' 'sp_test(b TORCH 9.9.9 COMMAND true)' 'sp_test(c COMMAND sh -c "exit 77")' \
	'sp_test(d MAY_SKIP COMMAND sh -c "exit 77")'
is "tests" 0 $rc
SCATTERPROOF_TARGETS=$tmp/none ctest --test-dir "$tmp/build" >"$tmp/out" 2>&1
is "who runs, skips, fails" "a Passed b Skipped c Failed d Skipped" \
	"$(sed -n 's/^.*Test *#[0-9]*: \([a-d]\) [. *]*\([A-Z][a-z]*\).*/\1 \2/p' "$tmp/out" | paste -sd' ')"
for label in cli:abcd quick:a torch:b; do
	is "label ${label%:*}" "${label#*:}" "$(ctest --test-dir "$tmp/build" -N -L "^${label%:*}$" | sed -n 's/.*Test *#[0-9]*: //p' | tr -d '\n')"
done
exit $bad
