#!/bin/sh
# What opgen promises: a file keeps its time where its text stays; an argument that is inserted or renamed in ops.def moves its readers'
# constant or takes it away, so that they do not compile.  usage: opgen.sh OPGEN SOURCE_DIR CC
set -eu
opgen=$1
src=$2
cc=$3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
bad=0
fail() { echo "FAIL: $*"; bad=1; }

mkdir "$dir/out" "$dir/eager"
"$opgen" "$dir/out"
touch -d '2001-01-01' "$dir"/out/*
"$opgen" "$dir/out"
[ -z "$(find "$dir/out" -type f -newermt 2002-01-01)" ] || fail "a second run wrote files whose text is the same"
[ "$(find "$dir/out" -type f | wc -l)" = 11 ] || fail "not eleven files"

sed -n '/^\[OP_atan2\]/,/^},/p' "$dir/out/op_table.c" | grep -q '\.negated = 1,' || fail "atan2's derivative negates self, and the table does not say so"
[ "$(grep -c '\.negated = ' "$dir/out/op_table.c")" = 3 ] || fail "another derivative than those of atan2, asin and acos negates an operand"

# opgen of an edited table: edited SED-SCRIPT
edited() {
	rm -rf "$dir/eager" "$dir/edited"
	mkdir "$dir/eager" "$dir/edited"
	cp -r "$src/eager/lang" "$src/eager/base" "$dir/eager"
	sed -i "$1" "$dir/eager/lang/ops.def"
	! cmp -s "$src/eager/lang/ops.def" "$dir/eager/lang/ops.def" || fail "nothing edited: $1"
	"$cc" -std=c11 -D_GNU_SOURCE -I"$dir" -o "$dir/opgen" "$dir"/eager/lang/opgen*.c "$dir"/eager/base/base.c "$dir"/eager/base/escape.c
	"$dir/opgen" "$dir/edited"
}
# place FOLDER NAME: the constant's value, nothing if there is none
place() { sed -n "s/^\t$2 = \([0-9]*\),$/\1/p" "$dir/$1/op_args.h"; }
expect() { # expect FOLDER NAME VALUE
	[ "$(place "$1" "$2")" = "$3" ] || fail "$1: $2 is '$(place "$1" "$2")', not '$3'"
}

expect out A_slice_scatter_dim 2
expect out A_along_dim_index 2
expect out A_amax_self 0
expect out A_amax_dim '' # kern_amax serves max, too, which has none

edited 's/"(Tensor<rank1> self, Tensor<like:slice.Tensor> src, Dim dim=0/"(Tensor<rank1> self, bool more=False, Tensor<like:slice.Tensor> src, Dim dim=0/'
expect edited A_slice_scatter_dim 3
expect edited A_region_scatter_src '' # no longer where select_scatter has it
expect edited A_along_dim_index 2

edited '/^OP(scatter_add,/,/scatter_add)$/{s/Tensor<indexn> index/Tensor<indexn> at/; s/"src<index"/"src<at"/}'
expect edited A_scatter_add_index ''
expect edited A_along_dim_index ''

expect out A_binary_other 1
expect out A_reduction_self 0
edited 's/"atan2", "(Tensor self, Tensor<bcast> other)/"atan2", "(Tensor self, bool more=False, Tensor<bcast> other)/'
expect edited A_binary_other '' # an operator joins the group by its argument

edited 's/"topk", "(Tensor self, Int<count> k/"topk", "(Int<count> k, Tensor self/'
expect edited A_reduction_self '' # by its trait

edited 's/(alias, "alias"/(alias, "alias2"/'
cmp -s "$dir/out/op_args.h" "$dir/edited/op_args.h" || fail "a name changed the positions"

# refused SED-SCRIPT MESSAGE: a mistake in a body, or a derivative, ends opgen with the row, what is wrong, and where
refused() {
	if edited "$1" 2>"$dir/said"; then fail "opgen took: $1"; fi
	[ "$(cat "$dir/said")" = "ops.def: $2" ] || fail "$1: said '$(cat "$dir/said")', not 'ops.def: $2'"
}
refused 's/(x = acc(self);/(x = acc(selv);/' '_softmax: body: an unknown name, before at: ); e = exp(x - (numel(x) == 0 ? x : amax'
refused 's/y = e \/ sum_dim(e, dim, True)/y = 1 \/ e/' '_softmax: body: a number divided by a tensor: write reciprocal at: ; refuse half_to_float "softmax with hal'
refused 's/y = e \/ sum_dim(e, dim, True)/y = e \/ sum_dim(e, x, True)/' '_softmax: body: a list is needed at: ; refuse half_to_float "softmax with hal'
refused 's/y = e \/ sum_dim(e, dim, True)/y = e \/ sum_dim(e)/' '_softmax: body: sum_dim has no argument dim, before at: ; refuse half_to_float "softmax with hal'
refused 's/y = e \/ sum_dim(e, dim, True)/y = e \/ sum_dims(e)/' '_softmax: body: no row and no word has this name, before at: ; refuse half_to_float "softmax with hal'
refused 's/y = e \/ sum_dim(e, dim, True)/x = e/' '_softmax: body: a name that has a value, before at: ; refuse half_to_float "softmax with hal'
refused 's/return as(y, self))/return as(y, self), y)/' '_softmax: body: more results than the schema has, before at: )'
refused 's/return as(y, self))/return dim)/' '_softmax: body: a tensor is needed at: )'
refused 's/(d_self = softmax_backward_data(g, y, dim/(d_self = softmax_backward_data(h, y, dim/' '_softmax: derivative: an unknown name, before at: , y, dim, dtype(self)))'
refused 's/(g \* b) \* inverse(a/(g * b) * inverse(d/' 'atan2: derivative: an unknown name, before at: * a + b * b)'
exit $bad
