#!/bin/sh
# minimize: of a finding, of a file, and what it says where there is nothing to minimise. Usage: minimize.sh BINARY SOURCES PART
finding_of=$4
. "$(dirname "$0")/shell.sh"

finding() { # kept in the store, taken by repro, and a second run changes nothing
	"$bin" fuzz --target builtin:eager+plant=zero --programs 300 --seed 5 --db "$tmp/f.db" --quiet >"$tmp/out" 2>"$tmp/err"
	expect "a campaign with planted errors" 1 $?
	id=$(sql "select full_id from v_findings where kind = 'gradient' order by full_id limit 1" "$tmp/f.db")
	"$bin" minimize "$id" --db "$tmp/f.db" >"$tmp/least.prog" 2>"$tmp/err"
	expect "exit code" 0 $?
	has "the failure" "$tmp/err" '^gradient, all zero, in a program of [1-9][0-9]* operators?$'
	has "what it took" "$tmp/err" '^[0-9]+ to [0-9]+ operators?, [0-9]+ calls? of the target in [0-9]+ s; [1-9][0-9]* edits? kept'
	expect "state" minimised "$(sql "select state from v_findings where full_id = '$id'" "$tmp/f.db")"
	"$bin" findings show "$id" --db "$tmp/f.db" >"$tmp/shown"
	has "its program" "$tmp/shown" '^minimised program [0-9a-f]{8}$'
	"$bin" check "$tmp/least.prog" --target builtin:eager+plant=zero --quiet >"$tmp/out"
	has "it fails alone" "$tmp/out" 'mismatch on builtin:eager\+plant=zero: x.*grad|mismatch on builtin:eager\+plant=zero: .*\.grad wrong'
	"$bin" repro "$id" --db "$tmp/f.db" >"$tmp/out"
	expect "repro" 1 $?
	has "takes the minimised program" "$tmp/out" "program $(sed -n 's/^minimised program //p' "$tmp/shown"), "
	"$bin" minimize "$id" --db "$tmp/f.db" >"$tmp/again.prog" 2>"$tmp/err"
	expect "again" "$(cat "$tmp/least.prog")" "$(cat "$tmp/again.prog")"
	has "nothing is accepted" "$tmp/err" '; 0 edits kept of'
	expect "it is no campaign" "$id" "$("$bin" findings --since last-run --json --db "$tmp/f.db" | grep -o "$id" | head -1)"
	expect "nor hides one" yes "$([ "$("$bin" findings --since last-run --json --db "$tmp/f.db" | wc -l)" -gt 1 ] && echo yes)"
	cp "$tmp/f.db" "$tmp/g.db"
	"$bin" merge "$tmp/f.db" "$tmp/g.db" --into "$tmp/m.db" >"$tmp/out"
	expect "merged" minimised "$(sql "select state from v_findings where full_id = '$id'" "$tmp/m.db")"
}

file() {
	target=builtin:eager+plant=zero
	"$bin" fuzz --target $target --programs 60 --seed 5 --db "$tmp/f.db" --quiet >"$tmp/out" 2>"$tmp/err"
	id=$(sql "select full_id from v_findings where kind = 'value' order by full_id limit 1" "$tmp/f.db")
	"$bin" findings show "$id" --db "$tmp/f.db" --json | python3 -c 'import json, sys; sys.stdout.write(json.load(sys.stdin)["program"])' >"$tmp/p.prog"
	"$bin" minimize "$tmp/p.prog" --target $target --quiet >"$tmp/a.prog" 2>"$tmp/err"
	expect "exit code" 0 $?
	expect "quiet" "" "$(cat "$tmp/err")"
	"$bin" minimize "$tmp/p.prog" --target $target --quiet >"$tmp/b.prog" 2>/dev/null
	expect "the same twice" "$(cat "$tmp/a.prog")" "$(cat "$tmp/b.prog")"
	expect "smaller" yes "$([ "$(wc -c <"$tmp/a.prog")" -lt "$(wc -c <"$tmp/p.prog")" ] && echo yes)"
	"$bin" minimize "$tmp/p.prog" --target builtin:eager >"$tmp/out" 2>"$tmp/err"
	expect "of what does not fail" 4 $?
	has "it says so" "$tmp/err" 'the program does not fail on this target: pass'
	cat >"$tmp/u.prog" <<-'END'
		# scatterproof 1
		b = input([8], seed=2)
		x = slice.Tensor(b, dim=0, start=3, end=7)
		y = input([], seed=2)
		f = mul_.Scalar(x, 2.0)
		s = select_scatter(x, y, dim=0, index=1)
		w = as_strided(s, [3], [1], storage_offset=3)
		return (w, b)
	END
	"$bin" minimize "$tmp/u.prog" --target builtin:eager+plant=crash >"$tmp/out" 2>"$tmp/err"
	expect "of a crash where the reference cannot judge" 0 $?
	has "it is smaller" "$tmp/err" '^4 to [0-3] operators'
	"$bin" minimize "$tmp/none.prog" --target $target 2>"$tmp/err"
	expect "no such file" 2 $?
	echo "x = nonsense()" >"$tmp/bad.prog"
	"$bin" minimize "$tmp/bad.prog" --target $target 2>"$tmp/err"
	expect "no program" 2 $?
	has "its place" "$tmp/err" 'bad.prog:1:1: '
	"$bin" minimize "$tmp/p.prog" 2>"$tmp/err"
	expect "no target" 2 $?
	"$bin" minimize 12345678 --db "$tmp/f.db" 2>"$tmp/err"
	expect "no such finding" 2 $?
	"$bin" minimize "$tmp/p.prog" --target torch-9.9.9:eager 2>"$tmp/err"
	expect "no such version" 3 $?
}

causes() { sql "select count(distinct full_id) from v_events where kind = 'cause'" "$1"; }
has_causes() { [ "$(causes "$1")" -ge "$2" ]; }
triage() { # every open finding, most severe first; killed or stopped, it goes on where it was
	"$bin" fuzz --target builtin:eager+plant=zero --programs 400 --seed 5 --db "$tmp/f.db" --quiet >"$tmp/out" 2>"$tmp/err"
	n=$(sql "select count(*) from v_open" "$tmp/f.db")
	expect "several findings" yes "$([ "$n" -ge 5 ] && echo yes)"
	"$bin" triage --db "$tmp/f.db" --jobs 2 >"$tmp/out" 2>"$tmp/err" &
	pid=$!
	becomes "the first finding has a cause" has_causes "$tmp/f.db" 1
	children=$(descendants $pid)
	kill -KILL $pid
	wait $pid
	becomes "its children end when it does" gone $children
	some=$(causes "$tmp/f.db")
	"$bin" triage --db "$tmp/f.db" --time 0.0001s >"$tmp/out" 2>"$tmp/err"
	has "nothing begins" "$tmp/err" "^triaged 0, left $((n - some))$"
	has "a long program is a command" "$tmp/out" "^      a program of [1-9][0-9]+ lines: scatterproof findings show [0-9a-f]{8} --db $tmp/f.db$"
	cp "$tmp/f.db" "$tmp/s.db"
	python3 - "$tmp/s.db" <<-'END'
		import os, sqlite3, sys
		with sqlite3.connect(sys.argv[1]) as db:
		    for i, (finding,) in enumerate(db.execute("select id from finding").fetchall()):
		        row = (os.urandom(16), finding, 1 << 50, "severity", "test", ("trivial", "high", "normal")[i % 3])
		        db.execute("insert into event (id, finding, at, kind, tool, payload) values (?, ?, ?, ?, ?, ?)", row)
		    db.execute("delete from finding_summary")
		    db.execute("insert into finding_summary select * from finding_now")
	END
	cat >"$tmp/order.py" <<-'END'
		import sqlite3, sys
		with sqlite3.connect(sys.argv[1]) as db:
		    rows = db.execute("""select s.finding, s.severity, s.signature, s.nobs, p.text from finding_summary s join program p on p.id = s.program
		                         where not exists (select 1 from event e where e.finding = s.finding and e.kind = 'cause')""").fetchall()
		def operators(text): return sum(" = " in line and " = input(" not in line for line in text.splitlines())
		rows.sort(key=lambda r: (r[1], "predicted layout" not in r[2], operators(r[4]), -r[3], r[0]))
		for row in rows:
		    print(row[0].hex()[:8])
	END
	python3 "$tmp/order.py" "$tmp/s.db" >"$tmp/wanted"
	cp "$tmp/s.db" "$tmp/t.db"
	cp "$tmp/t.db" "$tmp/u.db"
	"$bin" triage --db "$tmp/t.db" >"$tmp/out" 2>"$tmp/err"
	expect "the order: severity, layouts, small programs, sightings" "$(cat "$tmp/wanted")" "$(sed -n 's/^[0-9]* of [0-9]*: \([0-9a-f]*\) .*/\1/p' "$tmp/err")"
	TERM=xterm python3 -c 'import pty, sys; pty.spawn(sys.argv[1:])' "$bin" triage --db "$tmp/u.db" </dev/null >"$tmp/out" 2>"$tmp/err"
	tr '\r' '\n' <"$tmp/out" >"$tmp/lines"
	has "on a terminal, what it does now" "$tmp/lines" "^.\[K1 of [0-9]+: $(head -1 "$tmp/wanted") "
	hasnt "which moves the cursor" "$tmp/lines" '\\x1b'
	hasnt "and its steps are gone afterwards" "$tmp/lines" '^  .*still fails$'
	"$bin" triage --db "$tmp/s.db" --time 0.0001s >"$tmp/out" 2>"$tmp/err"
	sed -n 's/^[0-9]*  \(high\|normal\|trivial\)  .*/\1/p' "$tmp/out" >"$tmp/order"
	expect "severities" 3 "$(sort -u "$tmp/order" | wc -l)"
	expect "most severe first" "$(sort "$tmp/order")" "$(cat "$tmp/order")"
	"$bin" triage --db "$tmp/f.db" --jobs 2 >"$tmp/out" 2>"$tmp/err"
	expect "exit code" 0 $?
	has "what was left was done" "$tmp/err" "^triaged $((n - some)), left 0$"
	has "causes" "$tmp/out" "^[1-9][0-9]* open causes"
	expect "each once" "$n" "$(sql "select count(*) from v_events where kind = 'cause'" "$tmp/f.db")"
	expect "each blamed" "$n" "$(sql "select count(*) from v_findings where state = 'blamed'" "$tmp/f.db")"
	expect "each confirmed" "$n" "$(sql "select count(distinct full_id) from v_events where kind = 'confirmed' and payload like '%data seeds%'" "$tmp/f.db")"
	expect "no answer is left" 0 "$(sql "select count(*) from answer" "$tmp/f.db")"
	expect "each in one cause" "$n" "$(sed -n 's/^[0-9]*  [a-z]*  .*, in \([0-9]*\) findings\{0,1\}, seen .*/\1/p' "$tmp/out" | awk '{ s += $1 } END { print s }')"
	"$bin" triage --db "$tmp/f.db" >"$tmp/again" 2>"$tmp/err"
	has "nothing to do" "$tmp/err" "^triaged 0, "
	expect "the same causes" "$(cat "$tmp/out")" "$(cat "$tmp/again")"
	"$bin" triage --db "$tmp/f.db" --json >"$tmp/json" 2>/dev/null
	expect "as JSON" "$(grep -c '   scatterproof repro' "$tmp/out")" "$(python3 -c 'import json, sys; print(sum("cause" in json.loads(line) for line in sys.stdin))' <"$tmp/json")"
	"$bin" triage 2>"$tmp/err"
	expect "no store" 2 $?
	mkdir "$tmp/there"
	cp "$src/examples/closure_compiler.py" "$tmp/there/c.py"
	printf '\n_run = run\n\n\ndef run(program):\n    return [[0.0, 0.0, 7.0] for _ in _run(program)]\n' >>"$tmp/there/c.py"
	printf '# scatterproof 1\nx = input([3], seed=1)\ny = add.Tensor(x, x)\nreturn (y,)\n' >"$tmp/there/p.prog"
	(cd "$tmp/there" && "$bin" check p.prog --target python:c.py --db "$tmp/py.db" --quiet >"$tmp/out" 2>&1 && rm -f c.py)
	rm -f "$tmp/there/c.py"
	(cd "$tmp/there" && "$bin" triage --db "$tmp/py.db" >"$tmp/out" 2>"$tmp/err")
	expect "a target that is gone" yes "$(case $? in 2 | 3) echo yes ;; esac)"
	has "it is counted" "$tmp/err" "^triaged 0, left 1$"

}

raised() { # a compiled stage of builtin raises what the interpreter runs: seen again, confirmed, minimised and blamed
	target=builtin:jit+defect=reused_before_last_reader
	cat >"$tmp/p.prog" <<-'END'
		# scatterproof 1
		y = input([4, 4], seed=1, requires_grad=True)
		z = input([], dtype=i64, seed=2)
		u = input([], dtype=i64, fill="unique", seed=3, high=1)
		v = input([], dtype=i64, seed=4)
		t = topk(y, 2, dim=1)
		a = getitem(t, 0)
		s = scatter_.src(z, dim=0, index=u, src=v)
		g = full([4, 2], 1.0)
		return (a, s)
		backward (a: g)
	END
	"$bin" check "$tmp/p.prog" --target builtin:jit --quiet >"$tmp/out"
	expect "without the defect" 0 $?
	"$bin" check "$tmp/p.prog" --target $target --db "$tmp/f.db" --quiet >"$tmp/out"
	expect "with it" 1 $?
	id=$(sql "select full_id from v_findings where kind = 'raise'" "$tmp/f.db")
	"$bin" repro "$id" --db "$tmp/f.db" >"$tmp/out"
	expect "repro" 1 $?
	has "it fails again" "$tmp/out" ': still happens: the target raises: '
	"$bin" triage --db "$tmp/f.db" --quiet >"$tmp/out" 2>"$tmp/err"
	expect "triage" 0 $?
	has "its cure" "$tmp/out" 'right without application [0-9]+ of buffers: reuse'
	expect "state" blamed "$(sql "select state from v_findings where full_id = '$id'" "$tmp/f.db")"
}

names() { # a minimised program's names tell what its nodes are; those of an older store stay until its finding is triaged again
	cp "$src/examples/closure_compiler.py" "$tmp/wrong.py"
	cat >>"$tmp/wrong.py" <<-'END'
		_run = run


		def run(program):
		    results = _run(program)
		    if any(node.op.startswith("aten.add_") and node.name == program.outputs[0] for node in program.nodes):
		        results[0].write([v + 1 for v in results[0].flat()])
		    return results
	END
	cat >"$tmp/p.prog" <<-'END'
		# scatterproof 1
		gather = input([4, 3], seed=1)
		index = input([4, 3], seed=2)
		nonzero = sub.Tensor(gather, index)
		clone = mul.Tensor(nonzero, gather)
		masked_fill_ = add_.Tensor(clone, index)
		topk = sub.Tensor(masked_fill_, index)
		return (masked_fill_, topk)
	END
	cat >"$tmp/old.prog" <<-'END'
		# scatterproof 1
		gather = input([2], seed=1)
		masked_fill_ = add_.Tensor(gather, gather)
		return (masked_fill_,)
	END
	cd "$tmp" || exit 1
	"$bin" minimize p.prog --target python:wrong.py --quiet >least.prog 2>err
	expect "of a file" 0 $?
	expect "names tell" "x y add_" "$(sed -n 's/:.* = .*//p' least.prog | xargs)"
	"$bin" check p.prog --target python:wrong.py --db f.db --quiet >out
	id=$(sql "select full_id from v_findings" f.db)
	"$bin" triage --db f.db --quiet >out 2>err
	expect "of a finding" 0 $?
	"$bin" findings show "$id" --db f.db >shown
	has "its program" shown '^add_: .* = add_.Tensor\('
	expect "which tensor is wrong, by that name" "out 0 (add_)" \
		"$(sql "select tensor from v_observations where full_id = '$id' order by at desc limit 1" f.db)"
	"$bin" repro "$id" --db f.db >out
	expect "repro" 1 $?
	has "by that name" out 'still happens: out 0 \(add_\) of call 0 is wrong'
	id=$("$finding_of" --minimised g.db python:wrong.py value mismatch p.prog "out 0 (masked_fill_)" 0 old.prog "out 0 (masked_fill_)" 0 | head -1)
	"$bin" findings show "$id" --db g.db >shown
	expect "an older store is shown" 0 $?
	has "as it is" shown '^masked_fill_: "f32\[2\]\[1\]" = add_.Tensor\(gather, gather\)$'
	"$bin" repro "$id" --db g.db --no-store >out
	expect "and run" 1 $?
	has "as it is" out 'still happens: out 0 \(masked_fill_\) of call 0 is wrong'
	old=$(sql "select full_id from v_programs where text like '%gather%' and text not like '%clone%'" g.db)
	cp g.db h.db
	"$bin" triage --db g.db --quiet >causes 2>err
	expect "triage of it" 0 $?
	has "names it" causes '^ *add_: "f32\[2\]\[1\]" = add_.Tensor\(x, x\)$'
	"$bin" repro "$id" --db g.db --no-store >out
	expect "it is run" 1 $?
	has "by the name that tells" out 'still happens: out 0 \(add_\) of call 0 is wrong'
	expect "the older program is still there" 1 "$(sql "select count(*) from v_programs where full_id = '$old'" g.db)"
	"$bin" repro "$id" --program "$old" --db g.db --no-store >out
	expect "and runs" 1 $?
	expect "said once" 2 "$(sql "select count(*) from v_events where full_id like '$id%' and kind = 'minimised'" g.db)"
	"$bin" minimize "$id" --db h.db --quiet >least.prog 2>err
	expect "minimize of it" "0 x add_" "$? $(sed -n 's/:.* = .*//p' least.prog | xargs)"
	"$bin" merge g.db --into h.db >out
	expect "both merge" 0 $?
	cat >>wrong.py <<-'END'
		_wrong = run


		def run(program):  # it trips over a name
		    return _wrong(program) if any(node.name == "masked_fill_" for node in program.nodes) else _run(program)
	END
	"$bin" minimize p.prog --target python:wrong.py --quiet >least.prog 2>err
	expect "of what fails by its names" 0 $?
	has "they stay" least.prog '^masked_fill_: .* = add_.Tensor\('
}

steps() { # each step alone, of a file and of a finding; what is not there is said
	target=builtin:eager+plant=zero
	"$bin" fuzz --target $target --programs 60 --seed 5 --db "$tmp/f.db" --quiet >"$tmp/out" 2>"$tmp/err"
	id=$(sql "select full_id from v_findings where kind = 'value' order by full_id limit 1" "$tmp/f.db")
	"$bin" confirm "$id" --db "$tmp/f.db" >"$tmp/out" 2>"$tmp/err"
	expect "confirm" 0 $?
	has "it says how" "$tmp/out" '^confirmed: diverges 2 times of 2 in a fresh process, and there with [0-9] of [1-9] other data seeds$'
	expect "kept" 1 "$(sql "select count(*) from v_events where full_id = '$id' and kind = 'confirmed' and payload like '%data seeds%'" "$tmp/f.db")"
	"$bin" blame "$id" --db "$tmp/f.db" >"$tmp/out" 2>"$tmp/err"
	expect "blame" 0 $?
	has "the stage" "$tmp/out" '^wrong from: eager'
	expect "state" blamed "$(sql "select state from v_findings where full_id = '$id'" "$tmp/f.db")"
	expect "cause" 1 "$(sql "select count(*) from v_causes where cause like 'builtin:eager: value, wrong; %' and full_id = '$id'" "$tmp/f.db")"
	n=$(sql "select count(*) from v_events" "$tmp/f.db")
	for verb in confirm minimize blame; do
		"$bin" $verb "$id" --db "$tmp/f.db" --target builtin:functional >"$tmp/out" 2>"$tmp/err"
		expect "$verb of a finding on a target that does not have it" 4 $?
		has "$verb says what becomes of it" "$tmp/err" "^--target: what comes out is not kept in finding $(echo "$id" | cut -c1-8)$"
	done
	expect "and keeps nothing" "$n" "$(sql "select count(*) from v_events" "$tmp/f.db")"
	"$bin" findings mark "$id" known --db "$tmp/f.db" >"$tmp/out"
	"$bin" findings mark "$id" open --db "$tmp/f.db" >"$tmp/out"
	has "open again, it is as far as it was" "$tmp/out" "was known, is blamed"
	other=$(sql "select full_id from v_findings where full_id <> '$id' order by full_id limit 1" "$tmp/f.db")
	ln -s "$tmp/f.db" "$tmp/link.db"
	flock -n "$tmp/f.db.triage" "$bin" triage "$other" --db "$tmp/link.db" >"$tmp/out" 2>"$tmp/err"
	expect "triage of one, while another triage works on the store by another name" 3 $?
	has "it says so" "$tmp/err" "another triage works on $tmp/link.db"
	rm -f "$tmp/f.db.triage"
	expect "it has no cause" 0 "$(sql "select count(*) from v_events where full_id = '$other' and kind = 'cause'" "$tmp/f.db")"
	"$bin" triage "$other" --db "$tmp/link.db" >"$tmp/out" 2>"$tmp/err"
	expect "afterwards it has" 1 "$(sql "select count(*) from v_events where full_id = '$other' and kind = 'cause'" "$tmp/f.db")"
	has "it ends with the cause" "$tmp/out" "^[1-9][0-9]*  (high|normal|trivial)  builtin:eager.plant=zero, in [0-9]+ finding"
	has "and its title" "$tmp/out" "^   (.[a-z_0-9]+.(: | of |, )|inputs that are returned: )"
	has "how to see it" "$tmp/out" "^   scatterproof repro [0-9a-f]{8} --db $tmp/link.db"
	last=$(sql "select full_id from v_findings where state not in ('blamed', 'known') order by full_id limit 1" "$tmp/f.db")
	"$bin" minimize "$last" --db "$tmp/f.db" --quiet >"$tmp/out" 2>"$tmp/err"
	"$bin" triage "$last" --db "$tmp/f.db" --time 1ms >"$tmp/out" 2>"$tmp/err"
	has "its time is over" "$tmp/err" "not blamed yet: its time is over"
	has "the page says so, too" "$tmp/out" "^   minimised, not blamed yet: "
	expect "a share that is over" 0 "$(sql "select count(*) from v_events where full_id = '$last' and kind = 'cause'" "$tmp/f.db")"
	SCATTERPROOF_TRIAGE="$$ 300" "$bin" triage "$last" --db "$tmp/f.db" --time 1ms >"$tmp/out" 2>"$tmp/err"
	expect "one that is minimised goes on beyond its share" 1 "$(sql "select count(*) from v_events where full_id = '$last' and kind = 'cause'" "$tmp/f.db")"
	printf '# scatterproof 1\nx = input([3], seed=1)\ny = add.Tensor(x, x)\nreturn (y,)\n' >"$tmp/right.prog"
	for verb in confirm minimize blame; do
		"$bin" $verb "$tmp/right.prog" --target builtin:eager >"$tmp/out" 2>"$tmp/err"
		expect "$verb of what does not fail" 4 $?
	done
	has "blame says so" "$tmp/err" 'the program does not fail on this target: pass'
	"$bin" confirm "$tmp/right.prog" --target builtin:eager >"$tmp/out" 2>"$tmp/err"
	has "confirm, too" "$tmp/out" '^not seen: diverges 0 times of 2 in a fresh process, and there with 0 of 3 other data seeds$'
	"$bin" blame "$tmp/right.prog" >"$tmp/out" 2>"$tmp/err"
	expect "no target" 2 $?
	mkdir "$tmp/slow" # a machine under load: nothing hangs, but everything takes longer than it should
	cp "$src/examples/closure_compiler.py" "$tmp/slow/slow.py"
	cat >>"$tmp/slow/slow.py" <<-'END'
		_run = run
		first = [1.8]


		def run(program):
		    import time
		    time.sleep(first.pop() if first else 0)
		    return _run(program)
	END
	cd "$tmp/slow" || exit 1
	"$bin" check "$tmp/right.prog" --target python:slow.py --limit 500ms --db slow.db >"$tmp/out" 2>&1
	has "a hang is suspected" "$tmp/out" 'hang on python:slow.py'
	"$bin" triage --db slow.db --limit 500ms >"$tmp/out" 2>"$tmp/err"
	has "slowness is no hang" "$tmp/err" 'not seen: slow: it answers in a fresh process that has 4 times as long'
	has "the list says so" "$tmp/out" '^   not confirmed: not seen: slow: '
	"$bin" fuzz --target python:slow.py --limit 500ms --policy forward --ops add.Tensor --programs 2 --db fuzz.db >"$tmp/out" 2>&1
	expect "a campaign confirms none" 0 "$(sql "select count(*) from v_events where kind = 'confirmed'" fuzz.db)"
	has "but tells of it" "$tmp/out" 'slow: it answers in a fresh process that has four times as long'
	"$bin" triage 12345678 --db "$tmp/f.db" >"$tmp/out" 2>"$tmp/err"
	expect "no such finding" 2 $?
}

erratic() { # a product overwrites memory, and whatever that process runs next dies of it
	cp "$src/examples/closure_compiler.py" "$tmp/erratic.py"
	cat >>"$tmp/erratic.py" <<-'END'
		_run = run
		spoiled = []


		def run(program):
		    import os
		    if spoiled:
		        os.write(2, b"free(): invalid next size (fast)\n")
		        os.abort()
		    if any(node.op.startswith("aten.mul") for node in program.nodes):
		        spoiled.append(True)
		    return _run(program)
	END
	cat >"$tmp/p.prog" <<-'END'
		# scatterproof 1
		x = input([4, 3], seed=1)
		y = input([4, 3], seed=2)
		a = add.Tensor(x, y)
		b = mul.Tensor(a, y)
		c = sub.Tensor(x, b)
		d = add.Tensor(c, c)
		return (d, a)
	END
	printf '# scatterproof 1\nx = input([3], seed=1)\ny = add.Tensor(x, x)\nreturn (y,)\n' >"$tmp/right.prog"
	cd "$tmp" || exit 1
	"$bin" confirm p.prog --target python:erratic.py >out 2>err
	expect "dying now and then is enough" 0 $?
	has "how often" out '^confirmed: diverges 1 time of 2 in a fresh process, and there with 1 of 3 other data seeds'
	echo 'call (x: seed=3, y: seed=4)' | cat p.prog - >twice.prog
	"$bin" check twice.prog --target python:erratic.py --db f.db --quiet >out 2>&1
	expect "a crash is found" "crash heap corrupted" "$(sql "select signature from v_findings" f.db)"
	id=$(sql "select full_id from v_findings" f.db)
	"$bin" triage --db f.db >out 2>err
	expect "triage" 0 $?
	"$bin" findings show "$id" --db f.db --json | python3 -c 'import json, sys; sys.stdout.write(json.load(sys.stdin)["minimised"])' >least.prog
	expect "the product alone is to blame" "mul.Tensor" "$(grep -oE '[a-z_.A-Z]+\(' least.prog | grep -v input | tr -d '(')"
	hasnt "in one call, of which it does not always die" least.prog "^call"
	expect "its cause" "python:module: crash heap corrupted" "$(sql "select cause from v_causes" f.db)"
	"$bin" confirm right.prog --target python:erratic.py >out 2>err
	expect "what does no harm is not seen" 4 $?
}

torch() { # two large programs with one cause end in one, by its cure; another cause does not join them
	for p in slice_scatter_f32_4x13x33_0_6 slice_scatter_f32_1x33x257_0_16; do
		"$bin" check "$src/corpus/seeds/$p.prog" --target torch-2.11.0:inductor@cpu --db "$tmp/f.db" --quiet >"$tmp/out" 2>&1
		expect "$p diverges" 1 $?
	done
	"$bin" check "$src/corpus/regressions/sub_scalar_alpha.prog" --target torch-2.11.0:inductor@cpu --db "$tmp/f.db" --quiet >"$tmp/out" 2>&1
	n=$(sql "select count(*) from v_open" "$tmp/f.db")
	expect "findings" yes "$([ "$n" -ge 2 ] && echo yes)"
	"$bin" triage --db "$tmp/f.db" >"$tmp/out" 2>"$tmp/err"
	expect "exit code" 0 $?
	has "all of them" "$tmp/err" "^triaged $n, left 0$"
	expect "one cause" "torch:inductor: layout predicted wrong; aten.slice_scatter" \
		"$(sql "select distinct cause from v_causes where cause like '%slice_scatter%'" "$tmp/f.db")"
	expect "and another" 2 "$(sql "select count(*) from v_causes" "$tmp/f.db")"
	has "its sentence" "$tmp/out" 'wrong from: inductor \(aot_eager_decomp_partition is right\); cured by cloning aten\.slice_scatter\.default in the backward graph'
	envs=${SCATTERPROOF_TARGETS:-${XDG_DATA_HOME:-$HOME/.local/share}/scatterproof/targets}
	mkdir "$tmp/two" # the founding bug is in the first of these versions, the other one in both, where both are here
	ln -s "$envs/torch-2.11.0" "$tmp/two"
	gone='fails on 2.11.0 \(the only one\)$'
	kept=$gone
	if [ -x "$envs/torch-2.15.0/bin/python" ]; then
		ln -s "$envs/torch-2.15.0" "$tmp/two"
		gone='fails on 2.11.0 \(first installed\); right from 2.15.0 on$'
		kept='fails from 2.11.0 \(first installed\) to 2.15.0 \(last installed\)$'
	fi
	SCATTERPROOF_TARGETS=$tmp/two "$bin" sweep --since --db "$tmp/f.db" >"$tmp/since" 2>/dev/null
	expect "on which versions" 0 $?
	expect "each finding" "$n" "$(grep -cE '^  [0-9a-f]{8}  torch-2.11.0:inductor@cpu ' "$tmp/since")"
	has "one is gone" "$tmp/since" "$gone"
	has "one is not" "$tmp/since" "$kept"
	has "findings of one cause agree" "$tmp/since" "^$n findings, 2 causes; ([01]) with several findings, which agree in \\1; 0 minimised perhaps into another bug$"
	has "the prediction" "$tmp/out" 'fake predicts aten\.slice_scatter\.default of the backward wrong: fake float32'
	expect "reached from Python" python "$(sql "select reach from v_causes where cause like '%slice_scatter%'" "$tmp/f.db")"
	id=$(sql "select full_id from v_causes where cause like '%slice_scatter%'" "$tmp/f.db")
	has "two operators" "$tmp/out" '^ +sum: '
	"$bin" findings show "$id" --artifact 'backward graph' --db "$tmp/f.db" >"$tmp/graph"
	has "and the graph" "$tmp/graph" 'slice_scatter'
	expect "PyTorch's own comparison" 1 \
		"$(sql "select payload like 'assert_close: %same: differs' from v_events where full_id = '$id' and kind = 'excuse'" "$tmp/f.db")"
}

$part
end
