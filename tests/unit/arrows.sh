#!/bin/sh
# The arrows of the rooms point down: eager <- {oracle, compiled} <- reports <- fuzz, and oracle and compiled do not know each other.
# (1) no upward or sideways #include; (2) no shape rule, kernel, derivative rule, legality rule or interpreter of eager can be reached from
# the oracle, through whatever functions and tables (objdump).  usage: arrows.sh SOURCE_DIR ORACLE_LIBRARY EAGER_LIBRARY
set -eu
src=$1
oracle=$2
eager=$3
bad=0
checked=0

forbid() { # forbid ROOM PATTERN
	room=$1
	pattern=$2
	n=$(find "$src/$room" -name '*.[ch]' -o -name '*.def' | wc -l)
	checked=$((checked + n))
	if grep -rnE "#include \"($pattern)" "$src/$room" --include='*.[ch]' --include='*.def'; then
		echo "FAIL: $room includes what it must not: $pattern"
		bad=1
	fi
}
forbid eager 'oracle/|compiled/|reports/|fuzz/'
forbid oracle 'compiled/|reports/|fuzz/|eager/ops/|eager/run/'
forbid compiled 'oracle/|reports/|fuzz/'
forbid reports 'fuzz/|compiled/'

# (2) What the oracle reaches through other functions and tables included.
reach() { # reach AWK_VARIABLE
	{
		objdump -t "$oracle" "$eager"
		objdump -dr --no-show-raw-insn "$oracle" "$eager"
		objdump -r "$oracle" "$eager"
	} | awk -f "$(dirname "$0")/reach.awk" -v "$1"
}
forbidden='^(meta_|kern_|grad_|op_meta|op_kern|op_grad|prog_infer|prog_validate|interp_|graph_|legality_|promote_|tensor_|pointwise_|'
forbidden="${forbidden}builtin_)"
# layout arithmetic of any strided tensor library, not a shape rule
layout='^meta_(numel|check_sizes|make_contiguous|is_contiguous|extent|overlaps_itself|has_duplicates|is_non_overlapping_and_dense|'
layout="${layout}same_sizes|equivalent|print|iter_start|iter_next)\$"

# The tool itself sees through functions and tables: binding a program with symbols runs the shape rules.
through=$(reach start=prog_bind)
printf '%s\n' "$through" | grep -q '^meta_expand <- .*prog_bind$' ||
	{ echo "FAIL: reach.awk does not see that prog_bind reaches meta_expand"; exit 1; }

reached=$(reach "first=$(basename "$oracle")")
printf '%s\n' "$reached" | grep -q '^fill_storage ' ||
	{ echo "FAIL: reach.awk does not see that the oracle fills inputs"; exit 1; }
bad_ways=$(printf '%s\n' "$reached" | awk -v forbidden="$forbidden" -v layout="$layout" \
	'{ name = $1; sub(/^.*:/, "", name); sub(/\.(part|isra|constprop|cold).*/, "", name); if (name ~ forbidden && name !~ layout) print }')
if [ -n "$bad_ways" ]; then
	printf '%s\n' "$bad_ways" | sed 's/^/FAIL: the oracle uses of eager: /'
	bad=1
fi
echo "$checked files, $(printf '%s\n' "$reached" | wc -l) symbols reached"
[ "$checked" -gt 20 ] || { echo "FAIL: too few files: wrong directory?"; exit 1; }
exit $bad
