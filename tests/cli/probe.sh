#!/bin/sh
# Probes: what a compiler is asked beside its results, and what is changed in what it compiles. The founding bug: slice_scatter's gradient
# on an expanded tensor is predicted with stride 0, and 2.11.0's Inductor writes into such a result.
# usage: probe.sh SCATTERPROOF SOURCE_DIR PART FINDING_OF [VERSION]
bin=$1
src=$2
version=${5:-2.11.0}
. "$src/tests/cli/shell.sh"
seed=$src/corpus/seeds/slice_scatter_f32_4x13x33_0_6.prog
check() { # check STAGE+OPTIONS [ARGUMENT...]: artifacts into $tmp/a
	on=torch-$version:$1
	shift
	rm -rf "$tmp/a"
	"$bin" check "$seed" --quiet --artifacts "$tmp/a" --target "$on" "$@" >"$tmp/out" 2>"$tmp/err"
}
sees() { # sees WHAT EXIT_CODE STAGE+OPTIONS: 0 pass, 1 it diverges
	check "$3"
	expect "$1" "$2" $?
	grep -q 'x.grad wrong.*all zero' "$tmp/out"
	expect "$1: the bug" "$2" $((1 - $?))
}
bug=$([ "$version" = 2.11.0 ] && echo 1 || echo 0)

headers() { # what Inductor prepares for an installation is kept for other processes, and half of it is not taken
	XDG_CACHE_HOME=$tmp/cache
	export XDG_CACHE_HOME
	kept=$XDG_CACHE_HOME/scatterproof/torch
	sees "none there" "$bug" inductor
	expect "a header" 1 "$(ls "$kept" | grep -c '\.h\.gch$')"
	expect "of the size beside it" "$(cat "$kept"/*.h.size)" "$(wc -c <"$(ls "$kept"/*.h.gch)")"
	touch "$tmp/then"
	sees "one there" "$bug" inductor
	expect "it was not made again" "" "$(find "$kept" -newer "$tmp/then" -type f -name '*.h*')"
	truncate -s 1000000 "$kept"/*.h.gch
	sees "half of one there" "$bug" inductor
	rm -rf "$XDG_CACHE_HOME"
	touch "$XDG_CACHE_HOME"
	sees "a folder that cannot be" "$bug" inductor
}

kernels() { # what Inductor built is taken by the next process that would build the same; half of it, or other bytes, is not
	export XDG_CACHE_HOME="$tmp/cache" CXX="$tmp/c++" BUILT="$tmp/built"
	printf '#!/bin/sh\ncase "$*" in *.main.cpp*) echo "$*" >>"$BUILT" ;; esac\nexec g++ "$@"\n' >"$CXX"
	chmod +x "$CXX"
	built() { # built WHAT HOW_MANY_KERNELS: in one process
		: >"$BUILT"
		sees "$1" "$bug" inductor
		expect "$1: built" "$2" "$(wc -l <"$BUILT")"
	}
	built "none there" 2
	expect "kernels of forward and backward" 2 "$(ls "$XDG_CACHE_HOME"/scatterproof/torch/kernels-*/*.so | wc -l)"
	built "both there" 0
	for f in "$XDG_CACHE_HOME"/scatterproof/torch/kernels-*/*.so; do
		truncate -s 5000 "$f"
	done
	built "half of each there" 2
	for f in "$XDG_CACHE_HOME"/scatterproof/torch/kernels-*/*.so; do
		cp "$bin" "$f"
	done
	built "something else there" 2
	built "both there again" 0
	CPATH=$tmp built "another environment of the compiler" 2
	rm -rf "$XDG_CACHE_HOME"/scatterproof/torch/kernels-*
	chmod 500 "$XDG_CACHE_HOME/scatterproof/torch"
	[ "$(id -u)" = 0 ] || built "a folder that cannot be written" 2
}

kept() { # graphs, generated code, a line per operator
	sees "probes that change nothing" "$bug" inductor+probe.keep=1+probe.excuse=1
	for name in forward-graph backward-graph forward-code backward-code operators excuse; do
		expect "artifact $name" yes "$([ -s "$tmp/a/1-$name.txt" ] && echo yes)"
	done
	expect "no more artifacts" 6 "$(ls "$tmp/a" | wc -l)"
	has "the graph" "$tmp/a/1-backward-graph.txt" 'slice_scatter_1: "f32\[4, 13, 33\].*= torch.ops.aten.slice_scatter.default\('
	has "the code" "$tmp/a/1-backward-code.txt" 'assert_size_stride\(tangents_1'
	hasnt "each graph's own code" "$tmp/a/1-forward-code.txt" tangents
	has "operators, forward" "$tmp/a/1-operators.txt" '^fw slice_scatter aten.slice_scatter.default f32\[4,13,33\]\[429,33,1\]$'
	stride=$([ $bug = 1 ] && echo 33,0,1 || echo 429,33,1)
	has "operators, backward" "$tmp/a/1-operators.txt" "^bw slice_scatter_1 aten.slice_scatter.default f32\[4,13,33\]\[$stride\]\$"
	calls=$(cat "$tmp/a/1-forward-graph.txt" "$tmp/a/1-backward-graph.txt" | grep -cE '^ *[a-z0-9_]+: "f32.* = torch.ops')
	expect "a line for each operator of the graphs" "$calls" "$(wc -l <"$tmp/a/1-operators.txt")"
	if [ $bug = 1 ]; then
		has "people's comparison" "$tmp/a/1-excuse.txt" '^assert_close: x.grad: Tensor-likes are not close!$'
		has "PyTorch's own" "$tmp/a/1-excuse.txt" '^same: differs$'
		"$bin" check "$seed" --target torch-$version:fake >"$tmp/out"
		has "prediction against truth" "$tmp/out" 'slice_scatter.default: fake .*\[33, 0, 1\].* real .*\[429, 33, 1\]'
	fi
	sees "aot_eager" 0 aot_eager+probe.keep=1+probe.excuse=1
	has "its graph" "$tmp/a/1-operators.txt" '^bw slice_scatter_1 aten.slice_scatter.default'
	has "people's comparison of a right result" "$tmp/a/1-excuse.txt" '^assert_close: equal$'
	has "PyTorch's own" "$tmp/a/1-excuse.txt" '^same: equal$'
	check aot_eager+probe.keep=1 --target torch-$version:aot_eager_decomp_partition+probe.keep=1
	expect "of two targets" "1.1-operators.txt 1.2-operators.txt" "$(cd "$tmp/a" && echo *operators.txt)"
	: >"$tmp/file"
	"$bin" check "$seed" --artifacts "$tmp/file/a" >"$tmp/out" 2>"$tmp/err"
	expect "a folder that cannot be made" 3 $?
	has "is said" "$tmp/err" '^scatterproof: --artifacts: cannot make .*file/a: Not a directory'
}

cures() { # what cures, and what does not
	sees "no probe" "$bug" inductor
	expect "no artifacts" 0 "$(ls "$tmp/a" | wc -l)"
	for place in aten.slice_scatter.default %slice_scatter_1 aten.expand.default; do
		sees "a copy of $place" 0 inductor+probe.clone=bw:$place
		expect "is said" "clone bw $place: 1 place" "$(cat "$tmp/a/1-probe.txt")"
	done
	for place in bw:aten.full.default fw:aten.slice_scatter.default; do
		sees "a copy of something else, $place" "$bug" inductor+probe.clone=$place
		expect "is said" "clone $(echo $place | tr : ' '): 1 place" "$(cat "$tmp/a/1-probe.txt")"
	done
	sees "a copy of what is not there" "$bug" inductor+probe.clone=bw:aten.neg.default
	expect "is said" "clone bw aten.neg.default: 0 places" "$(cat "$tmp/a/1-probe.txt")"
	sees "two copies" 0 "inductor+dynamic=1+probe.clone=bw:aten.full.default,bw:aten.expand.default"
	sees "ATen's kernel" 0 inductor+probe.fallback=aten.slice_scatter.default
	expect "is said" "fallback aten.slice_scatter.default: 2 places" "$(cat "$tmp/a/1-probe.txt")"
	sees "ATen's kernel of something else" "$bug" inductor+probe.fallback=aten.sum.dim_IntList
	sees "a copy on a stage without the bug" 0 aot_eager+probe.clone=bw:aten.slice_scatter.default
	expect "is said" "clone bw aten.slice_scatter.default: 1 place" "$(cat "$tmp/a/1-probe.txt")"
}

values() { # which node of the graphs is the first whose value is wrong
	line() { # line WHAT PATTERN
		has "$1" "$tmp/a/1-values.txt" "$2"
	}
	sees "values" "$bug" inductor+probe.values=1
	expect "one artifact" "1-values.txt" "$(ls "$tmp/a")"
	line "forward" '^fw: right$'
	line "what the graph returns" '^fw sum_1 aten.sum.dim_IntList equal - same [^ ]* f32\[4,33\]\[33,1\] f32\[4,33\]\[33,1\] slice_scatter$'
	if [ $bug = 1 ]; then
		line "backward" '^bw: wrong, also with every value as an output$'
		line "what it reads is right" '^bw expand aten.expand.default equal - same '
		line "the first wrong value" '^bw slice_scatter_1 aten.slice_scatter.default differs - overlap [^ ]*\[33,0,1\] [^ ]*\[429,33,1\] [^ ]* expand,full'
		check inductor+probe.values=1 --script "$tmp/s.py"
		expect "a probe that changes nothing is left out of a script" 1 $?
	else
		line "backward" '^bw: right$'
		line "the same value" '^bw slice_scatter_1 aten.slice_scatter.default equal - same '
	fi
	check aot_eager+probe.values=1
	expect "a stage whose kernels are ATen's" 2 $?
	has "is said" "$tmp/err" "stage aot_eager has no probe 'probe.values'"
	seed=$src/corpus/regressions/flip_of_scalar.prog
	check inductor+probe.values=1
	expect "a program that raises" "$bug" $?
	if [ $bug = 1 ]; then
		line "the first node up to which the graph does not compile" '^fw rev prims.rev.default raises - same '
	fi
	seed=$src/corpus/regressions/nan_times_zero.prog
	check inductor+probe.values=1
	expect "a pass over the joint graph" "$bug" $?
	line "the node is still there" "^fw mul aten.mul.Scalar $([ $bug = 1 ] && echo differs || echo equal) - same "
	seed=$src/corpus/regressions/cumsum_before_write.prog
	check inductor+probe.values=1
	expect "a written input" "$bug" $?
	line "what is computed" "^fw cumsum aten.cumsum.default $([ $bug = 1 ] && echo differs || echo equal) - same "
	line "what is written" "^fw copy_ aten.copy_.default equal - same .* add$"
}

suspect() { # whom blame names where cures are many, and how often it is right
	cat >"$tmp/p.prog" <<-'END'
		# scatterproof 1
		x = input([8], seed=1, requires_grad=True)
		a = as_strided(x, size=[2, 2], stride=[2, 1])
		r = repeat(a, repeats=[2, 1, 2])
		g = input([2, 2, 4], seed=3)
		return (r,)
		backward (r: g,)
	END
	"$bin" blame "$tmp/p.prog" --target torch-$version:inductor@cpu --quiet >"$tmp/out" 2>"$tmp/err"
	rc=$?
	if [ $bug = 0 ]; then
		expect "it does not fail" 4 $rc
		has "it says so" "$tmp/err" 'the program does not fail on this target: pass$'
		expect "in one line" 1 "$(wc -l <"$tmp/err")"
		hasnt "nobody is named" "$tmp/out" '^suspect: '
		return
	fi
	expect "blame" 0 $rc
	has "the operator of the backward graph" "$tmp/out" '^suspect: aten.as_strided_scatter.default \(as_strided_scatter\) in the backward graph: its output is the first wrong value; wrong from: inductor '
	has "what cures" "$tmp/out" '; cured by .*, or by (any one of )?[0-9]+ more changes?;'
	printf 'p\taten.as_strided_scatter\tmade up\n' >"$tmp/one.tsv"
	"$src/scripts/suspects" --table "$tmp/one.tsv" --binary "$bin" --no-bisector >"$tmp/out" 2>"$tmp/err"
	expect "suspects" 0 $?
	has "a hit" "$tmp/out" '^p	aten.as_strided_scatter	hit	aten.as_strided_scatter.default	its output is the first wrong value	miss	not asked$'
	has "the rate" "$tmp/out" '^suspect: 1 of 1$'
	printf 'p\taten.repeat\tmade up\n' >"$tmp/one.tsv"
	"$src/scripts/suspects" --table "$tmp/one.tsv" --binary "$bin" --no-bisector >"$tmp/out" 2>"$tmp/err"
	has "a miss" "$tmp/out" '^suspect: 0 of 1$'
	printf 'p\trepeat\tmade up\n' >"$tmp/one.tsv"
	"$src/scripts/suspects" --table "$tmp/one.tsv" --binary "$bin" >"$tmp/out" 2>"$tmp/err"
	expect "a row that makes no sense" 2 $?
	has "is said" "$tmp/err" 'one.tsv:1: not PROGRAM, OPERATORS'
}

steps() { # PyTorch's bisector
	sees "without a pass" "$bug" inductor+probe.off=post_grad_passes,joint_graph_passes
	has "is said" "$tmp/a/1-probe.txt" '^off post_grad_passes: [1-9][0-9]* places$'
	has "is said" "$tmp/a/1-probe.txt" '^off joint_graph_passes: [1-9][0-9]* places$'
	check inductor+probe.first=lowerings:3
	has "three lowerings" "$tmp/a/1-probe.txt" '^first lowerings:3: 7 asked, the last that was on: unsqueeze$'
	sees "all of them" "$bug" inductor+probe.first=lowerings:99
	has "is said" "$tmp/a/1-probe.txt" '^first lowerings:99: 7 asked, the last that was on: slice_1$'
	refused() { # refused OPTION PATTERN: by the worker, that knows its version
		check "inductor+$1"
		expect "$1" 2 $?
		has "$1" "$tmp/err" "$2"
	}
	refused probe.off=nothing "option 'probe.off': the bisector of PyTorch $version.* knows no subsystem 'nothing'; known: .*lowerings"
	refused probe.first=nothing:1 "option 'probe.first': .* knows no subsystem 'nothing'"
	refused probe.clone=bw:aten.nothing.default "option 'probe.clone': 'aten.nothing.default' is no operator of PyTorch $version"
	refused probe.fallback=aten.neg "option 'probe.fallback': 'aten.neg' is no operator of PyTorch $version.*aten.NAME.OVERLOAD"
	check inductor+probe.off=lowerings --script "$tmp/s.py"
	if [ $bug = 1 ]; then
		has "no script" "$tmp/err" 'script cannot change what is compiled, as option probe.off does'
	else
		has "no script" "$tmp/err" '--script: nothing diverges'
	fi
}
$3
end
