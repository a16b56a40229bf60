#!/bin/sh
# The arrows of the rooms point down: eager <- {oracle, compiled} <- reports <- fuzz, and oracle and compiled do not know each other.
# (1) no upward or sideways #include; (2) no shape rule, kernel, derivative rule, legality rule or interpreter of eager can be reached from
# the oracle, through whatever functions and tables (objdump): oracle_shared.txt names what may be.
# usage: arrows.sh SOURCE_DIR ORACLE_LIBRARY EAGER_LIBRARY
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
# The tool itself sees through functions and tables: binding a program with symbols runs the shape rules.
through=$(reach start=prog_bind)
printf '%s\n' "$through" | grep -q '^meta_expand <- .*prog_bind$' ||
	{ echo "FAIL: reach.awk does not see that prog_bind reaches meta_expand"; exit 1; }

reached=$(reach "first=$(basename "$oracle")")
printf '%s\n' "$reached" | grep -q '^fill_storage ' ||
	{ echo "FAIL: reach.awk does not see that the oracle fills inputs"; exit 1; }
# Nothing but what oracle_shared.txt names. (Names with a colon are of one file alone: reached through a function that is named.)
unknown=$(printf '%s\n' "$reached" | awk 'NR == FNR { if (!/^#/) { sub(/^[^:]*:/, ""); for (i = 1; i <= NF; i++) may[$i] = 1 }; next }
	$1 !~ /:/ { name = $1; sub(/\.(part|isra|constprop|cold).*/, "", name); if (!(name in may)) print }' "$(dirname "$0")/oracle_shared.txt" -)
if [ -n "$unknown" ]; then
	printf '%s\n' "$unknown" | sed 's/^/FAIL: the oracle uses of eager: /'
	echo "(what it may use, and why: oracle_shared.txt)"
	bad=1
fi
echo "$checked files, $(printf '%s\n' "$reached" | wc -l) symbols reached"
[ "$checked" -gt 20 ] || { echo "FAIL: too few files: wrong directory?"; exit 1; }
exit $bad
