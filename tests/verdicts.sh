#!/bin/sh
# What `check` says of programs, against what they state in comments: "# verdict: TARGET WORD", any number of lines; none: a pass on
# builtin:eager and torch:eager. Each target runs all its programs in one go.
# usage: verdicts.sh SCATTERPROOF builtin|torch FILE...      exit 77: no target of that kind is installed
set -eu
binary=$1
kind=$2
shift 2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

awk -v kind="$kind" '
	function give(target, word) { if ((target ~ /^builtin/) == (kind == "builtin")) print target, word, name }
	function finish() { if (name != "" && !said) { give("builtin:eager", "pass"); give("torch:eager", "pass") } }
	FNR == 1 { finish(); name = FILENAME; said = 0 }
	/^# verdict: / { give($3, $4); said = 1 }
	END { finish() }' "$@" > "$tmp/wanted"
[ -s "$tmp/wanted" ] || { echo "FAIL: no program states a verdict on $kind"; exit 1; }

bad=0
ran=0
for target in $(cut -d' ' -f1 "$tmp/wanted" | sort -u); do
	grep "^$target " "$tmp/wanted" > "$tmp/here"
	rc=0
	cut -d' ' -f3 "$tmp/here" | xargs "$binary" check --json --target "$target" > "$tmp/json" 2> "$tmp/errors" || rc=$?
	if [ ! -s "$tmp/json" ]; then
		echo "SKIPPED: $target: $(head -1 "$tmp/errors")"
		continue
	fi
	sed -n 's/^{"file": "\([^"]*\)".*"verdict": "\([a-z]*\)".*/\2 \1/p' "$tmp/json" > "$tmp/got"
	cut -d' ' -f2,3 "$tmp/here" > "$tmp/want"
	if ! diff "$tmp/want" "$tmp/got" > "$tmp/diff"; then
		echo "FAIL: $target (< stated, > said):"
		cat "$tmp/diff" "$tmp/errors"
		grep -F "$(sed -n 's/^> [a-z]* //p' "$tmp/diff" | head -3)" "$tmp/json" || true
		bad=1
	fi
	ran=$((ran + $(wc -l < "$tmp/got")))
done
echo "$ran verdicts"
[ $bad -eq 0 ] || exit 1
[ $ran -gt 0 ] || exit 77
