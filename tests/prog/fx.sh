#!/bin/sh
# What `check` says of logs of PyTorch, pasted as they are: which graphs it judges, what it refuses and why; `expected` beside them has it.
# usage: fx.sh BINARY FILE...     UPDATE=1 rewrites the expectation; the review is its diff.
# The logs were printed by TORCH_LOGS=aot_graphs (slice_scatter: and post_grad_graphs; joint: aot_joint_graph) with ordinary functions; by_hand
# has what a terminal adds.
set -u
bin=$1
shift
got=$(mktemp)
trap 'rm -f "$got"' EXIT
cd "$(dirname "$1")" || exit 1
for f in "$@"; do
	"$bin" check "${f##*/}" 2>&1 | sed 's/ ([0-9]* elements.*//; s/^scatterproof: //' >>"$got"
done
[ -n "${UPDATE:-}" ] && cp "$got" expected
diff expected "$got" && echo "$(grep -c ' pass on ' "$got") graphs of $# files judged"
