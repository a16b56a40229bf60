#!/bin/sh
# No shape rule, kernel, derivative rule, legality rule or interpreter of eager can be reached from the oracle, through whatever functions
# and tables (objdump): oracle_shared.txt names what may be. (Which folder may include which: folders.py.)
# usage: arrows.sh ORACLE_LIBRARY EAGER_LIBRARY
set -eu
oracle=$1
eager=$2
bad=0

# What the oracle reaches through other functions and tables included.
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
echo "$(printf '%s\n' "$reached" | wc -l) symbols reached"
exit $bad
