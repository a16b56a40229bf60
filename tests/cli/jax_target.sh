#!/bin/bash
# jax_target.sh BIN SOURCE PART PYTHON SHORT_PRINT: the family jax: programs with views, writes and gradients, which it gets in the core dialect; options
# of XLA; mistakes in a lowering, which are found.
python=$4 short_print=$5
. "$(dirname "$0")/shell.sh"
cd "$tmp" || exit 1
lower=$src/compiled/targets/jax/lower.py
rows=$src/tests/prog/rows
cat >written.prog <<'END'
# scatterproof 1
x = input([3, 4], stride=[8, 2], offset=1, seed=1)
y = input([4], seed=2, requires_grad=True)
v = select.int(x, dim=0, index=1)
w = mul_.Tensor(v, y)
t = transpose.int(x, dim0=0, dim1=1)
s = sum.dim_IntList(w, dim=[0])
g = input([], seed=3)
return (t, s)
backward (s: g)
call (x: seed=4, y: seed=5)
END
check() { "$bin" check "$@" >out 2>err; }

rows() { # every row of the core dialect, and the seeds
	"$bin" compile --help | sed -n '/^the core dialect/,/copy_ to inputs/p' | sed 's/^the core dialect.*)://; s/; copy_ to inputs//' | tr -s ' \n' '\n\n' >names
	: >files
	while read -r name; do
		[ ! -f "$rows/$name.prog" ] || echo "$rows/$name.prog" >>files
	done <names
	expect "most rows have a program" 1 "$(($(wc -l <files) > 130))"
	xargs "$bin" check --target jax:jit@cpu <files >out 2>err
	expect "all are right" 0 $?
	hasnt "none is unsupported" out ": unsupported on"
	check "$src/corpus/seeds" --target jax:op --target jax:jit
	expect "whole programs, operator by operator and compiled" 0 $?
	has "as many as there are" out "^10 programs on 2 targets: 20 pass$"
	check written.prog --target jax:jit
	expect "an input that is written through a view, and gradients" 0 $?
	has "in both calls" out "pass on jax-[0-9.]+:jit .*2 calls"
	cat >raises.prog <<-'END'
		# scatterproof 1
		x = input([3], seed=1)
		y = input([4], seed=2)
		z = add.Tensor(x, y)
		return (z,)
		raises "must match"
	END
	check raises.prog --target jax:jit --expect unsupported
	expect "what eager refuses is not in the dialect" 0 $?
	has "and that is said" out "unsupported on jax.*: eager refuses the program, and nothing in the core dialect raises"
}

options() {
	cat >exp.prog <<-'END'
		# scatterproof 1
		x = input([4], seed=1)
		y = exp(x)
		return (y,)
	END
	check exp.prog --target jax:jit+xla_disable_hlo_passes=fusion --target jax:jit+xla_backend_optimization_level=0
	expect "options of XLA" 0 $?
	check exp.prog --target jax:jit+xla_nonsense=1
	expect "one that it does not have" 2 $?
	has "is said by it" err "xla_nonsense"
	check exp.prog --target jax:jit+xla_backend_optimization_level=fast
	expect "a value that it does not take" 2 $?
	check exp.prog --target jax:jit+fusion=off
	expect "no option of XLA" 2 $?
	has "says how they begin" err "their names begin with xla_"
	check exp.prog --target jax:op+xla_disable_hlo_passes=fusion
	expect "a stage that compiles nothing as a whole" 2 $?
	check exp.prog --target jax-9.9.9:jit
	expect "a version that is not here" 3 $?
	has "and how it comes" err "scripts/setup-targets jax-9.9.9"
	check exp.prog --target jax:jit+probe.keep=1 --artifacts kept
	expect "what XLA is given, and what it makes of it" 0 $?
	has "StableHLO" kept/1-StableHLO-graph.txt "stablehlo.exponential"
	has "HLO" kept/1-optimised-HLO-graph.txt "^HloModule"
	hasnt "without places in files of ours" kept/1-optimised-HLO-graph.txt "lower.py"
	check exp.prog --target jax:op+probe.keep=1
	expect "of a stage that compiles nothing as a whole" 2 $?
	mkdir none one
	ln -s "$(dirname "$(dirname "$python")")" one
	SCATTERPROOF_TARGETS=$tmp/none check exp.prog --all
	has "all compilers, of which none is installed" out "^1 program on 2 targets: 2 pass$"
	SCATTERPROOF_TARGETS=$tmp/one check "$src/corpus/regressions/mask_times_nan.prog" --all
	expect "all compilers, one of them wrong" 1 $?
	has "which one" out "mismatch on jax-0.10.2:jit"
	has "who agrees with the reference" out "^1 program on 4 targets: 3 pass, 1 mismatch$"
	mkdir none/jax-9.9.9
	: >none/jax-9.9.9/.incomplete
	SCATTERPROOF_TARGETS=$tmp/none check exp.prog --all
	has "which of them are only half there" err "check --all leaves jax-9.9.9 out: .*half installed"
	check exp.prog --all --python "$python"
	expect "of one Python" 2 $?
	"$bin" targets >out
	has "targets lists it" out "^jax:jit +the same in one jax.jit: XLA"
	check exp.prog --python "$python" --target "python:$lower+dialect=core"
	expect "the lowering as a module in the dialect" 0 $?
	check exp.prog --python "$python" --target "python:$lower+dialect=joint"
	expect "there is no such dialect" 2 $?
}

fault() { # fault ROW SED: the lowering with a mistake, which the row's program shows, or one of the test's own
	local program=$rows/$1.prog
	[ ! -f "$1.prog" ] || program=$1.prog
	sed "$2" "$lower" >"bad.py"
	checks=$((checks + 1))
	! cmp -s bad.py "$lower" || { echo "FAIL: $1: $2 changes nothing"; fails=$((fails + 1)); }
	check "$program" --python "$python" --target python:bad.py+dialect=core
	expect "$1: $2" 1 $?
	has "$1: as a mismatch" out ": mismatch on python:bad.py"
}

faults() {
	fault add.Tensor 's/lambda a, b, s: a + s \* b/lambda a, b, s: a + b/'
	fault rsub.Tensor 's/lambda a, b, s: b - s \* a/lambda a, b, s: a - s * b/'
	fault permute 's/return jnp.transpose(a\["self"\], .*/return jnp.reshape(a["self"], c.out.size)/'
	fault gather 's/    at\[dim\] = index/    at[dim - 1] = index/'
	fault scatter_add 's/lambda x, of: x.at\[grid(index, dim, x.shape)\].add/lambda x, of: x.at[grid(index, dim, x.shape)].set/'
	fault scatter_reduce.two 's/\.add(1) + bool(a\["include_self"\])/.add(1)/'
	fault slice_scatter 's/slice(a\["start"\], a\["end"\], a\["step"\])/slice(a["start"], a["end"], 1)/; s/\.set(a\["src"\])$/.set(0)/'
	fault diagonal_scatter 's/i + max(-offset, 0), i + max(offset, 0)/i + max(offset, 0), i + max(-offset, 0)/'
	fault as_strided 's/(-1,))\[at\]/(-1,))[at[::-1]]/'
	fault sum.dim_IntList 's/jnp.sum(x, c.dims(a\["dim"\], x.ndim)/jnp.sum(x[:1], c.dims(a["dim"], x.ndim)/'
	fault sort 's/key = jnp.flip(x, dim) if a\["descending"\] else x/key = x/'
	fault argmax 's/return best(c, a, jnp.argmax)/return best(c, a, jnp.argmin)/'
	fault cumsum 's/lax.cumsum(x, a\["dim"\] % x.ndim)/lax.cumsum(x, a["dim"] % x.ndim, reverse=True)/'
	fault remainder.Tensor 's/jnp.where((mod != 0) \& ((b < 0) != (mod < 0)), mod + b, mod)/mod/'
	# What the rows' programs have no data for.
	printf '# scatterproof 1\nx = input([4], dtype=i32, data=[-7, 7, -6, 6])\ny = input([4], dtype=i32, data=[3, -3, 3, -4])\nz = remainder.Tensor(x, y)\nreturn (z,)\n' >of_integers.prog
	fault of_integers 's/(b < 0) != (mod < 0)), mod + b, mod)/(b < 0) != (mod < 0)) \& (b > 9), mod + b, mod)/'
	printf '# scatterproof 1\nx = input([40], dtype=i64, data=[%s 0])\ns = sort.stable(x, stable=True)\ni = getitem(s, 1)\nreturn (i,)\n' \
		"$(for k in $(seq 39); do printf '%d, ' $((k % 3)); done)" >ties.prog
	fault ties 's/is_stable=True/is_stable=False/'
	printf '# scatterproof 1\nx = input([2], data=[9.0, -9.0])\ni = input([3], dtype=i64, data=[0, 1, 1])\ny = input([3], data=[1.0, 2.0, 3.0])\nz = scatter_reduce.two(x, 0, i, y, reduce="amax", include_self=False)\nreturn (z,)\n' >without_self.prog
	fault without_self 's/if not a\["include_self"\]:/if False:/'
	printf '# scatterproof 1\nx = input([3], data=[0.5, 0.0, nan])\ny = _to_copy(x, dtype=b8)\nreturn (y,)\n' >to_bool.prog
	fault to_bool 's/return x != 0 if dtype == "bool"/return x >= 1 if dtype == "bool"/'
	printf '# scatterproof 1\nx = input([2, 2], seed=1)\nm = input([2], dtype=b8, data=[False, True])\nv = input([], data=[7.0])\ny = index_put(x, [None, m], v)\nreturn (y,)\n' >by_mask.prog
	fault by_mask 's/mask = mask.reshape(mask.shape + (1,) \* after)/mask = mask.reshape((1,) * after + mask.shape)[..., None]/'
	fault written 's/for name, value in zip(code.writes, written):/for name, value in []:/'
	fault neg 's/made = iter(grads)/made = iter(grads * 0 or [g * 2 for g in grads])/'
}

scripts() { # what somebody files: the corpus' bugs in a few lines, which show them without scatterproof
	for p in max_of_nan mask_times_nan squares_of_product; do
		"$bin" check "$src/corpus/regressions/$p.prog" --target jax:jit --db f.db --quiet >out 2>&1
	done
	"$bin" triage --db f.db >out 2>err
	expect "they are triaged" 0 $?
	expect "each has its script" 3 "$(python3 -c 'import sqlite3; print(sqlite3.connect("f.db").execute("select count(distinct finding) from artifact where name = ?", ("script",)).fetchone()[0])')"
	for id in $(sql "select full_id from v_findings" f.db); do
		"$bin" repro "$id" --db f.db --script s.py 2>err
		expect "$id: the script" 0 $?
		has "$id: it names the family" s.py '^# Run with JAX [0-9.]+: wrong \(exit code 1\)\.$'
		JAX_PLATFORMS=cpu "$python" s.py >out 2>err
		expect "$id: it shows the bug" 1 $?
		has "$id: beside what JAX says without jit" out '^op by op:'
	done
	"$bin" report --db f.db -o rep >out 2>err
	expect "they are handed over" 0 $?
	for f in rep/*/issue.md; do
		has "$f: in the words of JAX's form" "$f" '^### Description$'
		has "$f: with what JAX alone runs" "$f" '^import jax$'
		has "$f: how it is right" "$f" '^\* It is right with the compiler.s option `xla_disable_hlo_passes='
		hasnt "$f: no issues of PyTorch" "$f" 'pytorch/pytorch'
	done
	has "HLO" "$(grep -l "mask\|mul" rep/*/issue.md | head -1)" '^### HLO$'
	"$bin" repro "$id" --db f.db --script s.py --full 2>err
	expect "there is no judged one" 2 $?
	has "which is said" err "targets of the family jax have no judged stand-alone scripts"
	# A spelling says what its row says: scripts of the rows' programs, which are right, compare with the reference's numbers.
	"$bin" compile --help | sed -n '/^the core dialect/,/copy_ to inputs/p' | sed 's/^the core dialect.*)://; s/; copy_ to inputs//' | tr -s ' \n' '\n\n' |
		sed "s|.*|$rows/&.prog|" | xargs ls 2>/dev/null >files
	mkdir right
	xargs "$short_print" jax:jit right <files >none
	expect "scripts" 1 "$(($(find right -name '*.py' | wc -l) > 150))"
	hasnt "none for another reason" none "shares|written|several"
	cat >all.py <<-'END'
		import contextlib, glob, io, sys
		for path in sorted(glob.glob("right/*.py")):
		    text, said, code = open(path).read().replace("equal_nan=True", "rtol=1e-4, atol=1e-6, equal_nan=True"), io.StringIO(), None
		    try:
		        with contextlib.redirect_stdout(said):
		            exec(compile(text, path, "exec"), {})
		    except SystemExit as e:
		        code = e.code
		    except Exception as e:
		        code = f"{type(e).__name__}: {e}"
		    if code != 0:
		        print(path, code, said.getvalue())
	END
	JAX_PLATFORMS=cpu "$python" all.py >wrong 2>err
	expect "run" 0 $?
	expect "all of them say what their rows say" "" "$(cat wrong)"
}

$part
end
