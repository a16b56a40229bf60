#!/bin/sh
# What `check` says of programs, against what they state in comments: "# verdict: TARGET WORD", any number of lines ("torch:" without a
# version: 2.11.0); none: a pass on eager of every kind. Each target runs all its programs in one go.
# usage: verdicts.sh SCATTERPROOF builtin|torch-2.11.0|torch-2.15.0 FILE...
# Whether that PyTorch is installed, with_torch.sh looks before: a target that does not run is a failure here.
set -eu
binary=$1
kind=$2
shift 2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

awk -v kind="$kind" '
	function give(target, word) { sub(/^torch:/, "torch-2.11.0:", target); if (index(target, kind ":") == 1) print target, word, name }
	function finish() { if (name != "" && !said) give(kind ":eager", "pass") }
	FNR == 1 { finish(); name = FILENAME; said = 0 }
	/^# verdict: / { give($3, $4); said = 1 }
	END { finish() }' "$@" > "$tmp/wanted"
[ -s "$tmp/wanted" ] || { echo "FAIL: no program states a verdict on $kind"; exit 1; }

bad=0
ran=0
for target in $(cut -d' ' -f1 "$tmp/wanted" | sort -u); do
	grep "^$target " "$tmp/wanted" > "$tmp/here"
	cut -d' ' -f3 "$tmp/here" | xargs "$binary" check --json --target "$target" > "$tmp/json" 2> "$tmp/errors" || :
	sed -n 's/^{"file":"\([^"]*\)".*"verdict":"\([a-z]*\)".*/\2 \1/p' "$tmp/json" > "$tmp/got"
	cut -d' ' -f2,3 "$tmp/here" > "$tmp/want"
	if ! diff "$tmp/want" "$tmp/got" > "$tmp/diff"; then
		echo "FAIL: $target (< stated, > said):"
		cat "$tmp/diff" "$tmp/errors"
		sed -n 's/^> [a-z]* //p' "$tmp/diff" | head -3 | while read -r file; do grep -F "\"$file\"" "$tmp/json"; done
		bad=1
	fi
	ran=$((ran + $(wc -l < "$tmp/got")))
done
echo "$ran verdicts"
[ $bad -eq 0 ]
