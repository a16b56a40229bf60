#!/bin/bash
# The CUDA text computes what it must, run on the processor (cuda_on_cpu.c): programs whose threads share sums and tiles, and generated ones.
# Usage: cuda_on_cpu.sh BINARY LIBRARY PROGRAM...
bin=$1
export SCATTERPROOF_NVRTC=$2 SCATTERPROOF_CUDA=$2
shift 2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
bad=0
"$bin" check "$@" --target builtin:cuda --target builtin:cuda+dynamic=1 --expect pass >"$tmp/out" 2>&1 || { tail -30 "$tmp/out"; bad=1; }
"$bin" fuzz --target builtin:cuda --programs 150 --seed 11 --quiet >"$tmp/out" 2>&1 || { tail -30 "$tmp/out"; bad=1; }
judged=$(awk -v target=builtin:cuda -v programs=150 -f "$(dirname "$0")/../cli/judged.awk" "$tmp/out")
[ "$judged" = yes ] || { echo "few programs were judged: $judged"; cat "$tmp/out"; bad=1; }
exit $bad
