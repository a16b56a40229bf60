#!/bin/sh
# What `check` says of each file of tests/prog/fx, logs of PyTorch pasted as they are: which graphs it judges, what it refuses and why.
# usage: fx.sh BINARY SOURCE_DIR     UPDATE=1 rewrites the expectation; the review is its diff.
# The logs were printed by TORCH_LOGS=aot_graphs (slice_scatter: and post_grad_graphs; joint: aot_joint_graph) with ordinary functions; by_hand
# has what a terminal adds.
set -u
bin=$1
dir=$2/tests/prog/fx
got=$(mktemp)
trap 'rm -f "$got"' EXIT
cd "$dir" || exit 1
for f in *.txt; do
	"$bin" check "$f" 2>&1 | sed 's/ ([0-9]* elements.*//; s/^scatterproof: //' >>"$got"
done
[ -n "${UPDATE:-}" ] && cp "$got" expected
diff expected "$got" && echo "$(grep -c ' pass on ' "$got") graphs of $(ls *.txt | wc -l) files judged"
