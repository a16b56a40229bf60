#!/bin/sh
# A row of ops.def that lacks a fact does not compile: rows are added to a copy of the table, and each file that asks every row (or every
# view, reduction, ...) for a word must refuse the new one by name. Without new rows the same files compile.
# usage: row_facts.sh SOURCE_DIR CC
set -eu
src=$1
cc=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
bad=0
fail() { echo "FAIL: $*"; bad=1; }

table() { # table EXTRA: the op table with these rows, and what opgen makes of it
	rm -rf "$dir/eager" "$dir/generated"
	mkdir "$dir/eager" "$dir/generated"
	cp -r "$src/eager/lang" "$src/eager/base" "$dir/eager"
	sed -i '/^#undef OP$/,$d' "$dir/eager/lang/ops.def"
	printf '%s\n#undef OP\n#undef POINTWISE\n#undef BODY\n#undef INPLACE\n#undef IN_PLACE\n' "$1" >> "$dir/eager/lang/ops.def"
	"$cc" -std=c11 -D_GNU_SOURCE -I"$dir" -o "$dir/opgen" "$dir"/eager/lang/opgen*.c "$dir"/eager/base/base.c "$dir"/eager/base/escape.c
	"$dir/opgen" "$dir/generated"
}
compiles() { "$cc" -std=c11 -D_GNU_SOURCE -fsyntax-only -I"$dir" -I"$src" "$src/$1" 2> "$dir/errors"; }

# FILE WORD_<new row that it must ask for it>
asks="oracle/ref/refrun.c ORDER_new_reduction
compiled/passes/functionalise.c INVERSE_new_view
compiled/passes/fold.c FILLED_new_factory
eager/lang/shrink.c PART_new_views
eager/run/legality.c OVERLAP_new_write_"

table ''
for file in $(echo "$asks" | cut -d' ' -f1 | sort -u); do
	compiles "$file" || { fail "$file does not compile as it is"; cat "$dir/errors"; }
done

table 'OP(new_reduction, "new_reduction", "(Tensor self) -> Tensor", F_REDUCE, DTS_ALL, T_REDUCE, "", LC_SUM, sum, sum, sum, sum)
OP(new_view, "new_view", "(Tensor(a) self) -> Tensor(a)", F_VIEW, DTS_ALL, T_VIEW | T_PURE_MOVE, "", LC_MOVE, alias, none, alias, alias)
OP(new_views, "new_views", "(Tensor(a) self) -> Tensor(a)[]", F_MULTI, DTS_ALL, T_VIEW | T_MULTI_VIEW, "", LC_MOVE, unbind, none, unbind, unbind)
OP(new_factory, "new_factory", "(Size size) -> Tensor", F_FACTORY, DTS_ALL, T_NONDIFF, "", LC_MOVE, zeros, ones_like, none, ones)
INPLACE(new_write_, "new_write_", "(Tensor(a!) self) -> Tensor(a!)", DTS_NUM, 0, "", LC_MINMAX, pointwise_KEEP, relu, relu, relu)'
echo "$asks" | while read -r file word; do
	! compiles "$file" || echo "FAIL: $file compiles with a row that has no $word"
	grep -q "$word" "$dir/errors" || { echo "FAIL: $file does not name $word"; cat "$dir/errors"; }
done > "$dir/failures"
[ ! -s "$dir/failures" ] || { cat "$dir/failures"; bad=1; }
exit $bad
