#!/bin/sh
# The arrows of the rooms point down: eager <- {oracle, compiled} <- reports <- fuzz, and oracle and compiled do not know each other.
# (1) no upward or sideways #include; (2) no object of the oracle uses a shape rule, kernel, derivative rule or the interpreter of
# eager, nor a built-in compiler's symbol (nm).  usage: arrows.sh SOURCE_DIR ORACLE_LIBRARY
set -eu
src=$1
oracle=$2
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
forbid oracle 'compiled/|reports/|fuzz/|eager/rules|eager/promote|eager/interp|eager/autograd|eager/layout'
forbid compiled 'oracle/|reports/|fuzz/'
forbid reports 'fuzz/|compiled/'

symbols=$(nm -u "$oracle" | awk '$1 == "U" {print $2}' | sort -u)
[ -n "$symbols" ] || { echo "FAIL: nm printed no symbol of $oracle"; exit 1; }
defined=$(nm "$oracle" | awk '$2 ~ /[TDBRVW]/ {print $3}' | sort -u)
for s in $(printf '%s\n' "$symbols" | grep -E '^(meta_|kern_|grad_|op_meta|op_kern|op_grad|prog_infer|interp_|autograd_|promote_|tensor_|adjoint_)' || true); do
	case $s in
	# layout arithmetic of any strided tensor library, not a shape rule
	meta_numel | meta_check_sizes | meta_make_contiguous | meta_is_contiguous | meta_extent | meta_overlaps_itself | \
		meta_has_duplicates | meta_is_non_overlapping_and_dense | meta_same_sizes | meta_equivalent | meta_print | \
		meta_iter_start | meta_iter_next) continue ;;
	esac
	printf '%s\n' "$defined" | grep -qx "$s" && continue
	echo "FAIL: the oracle uses '$s' of eager"
	bad=1
done
echo "$checked files, $(printf '%s\n' "$symbols" | wc -l) symbols looked at"
[ "$checked" -gt 20 ] || { echo "FAIL: too few files: wrong directory?"; exit 1; }
exit $bad
