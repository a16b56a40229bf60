#!/bin/bash
# The binary against hostile text, full disks, small machines and careless command lines. Needs no PyTorch.
# usage: doors.sh BINARY SOURCE_DIR PART FINDING_OF     PART: hostile | full | small | usage | status
set -u
finding_of=$4
. "$(dirname "$0")/shell.sh"
harmless() { # harmless WHAT FILE...: no control character but newline and tab, no bidi mark, valid UTF-8, and something at all
	for f in "${@:2}"; do
		checks=$((checks + 1))
		if LC_ALL=C grep -qaP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]|\xd8\x9c' "$f" ||
			! iconv -f utf-8 -t utf-8 "$f" >/dev/null 2>&1; then
			echo "FAIL: $1: harmful bytes in:"
			tail -20 "$f" | cat -v
			fails=$((fails + 1))
		fi
	done
	expect "$1: says something" yes "$(cat "${@:2}" | grep -q . && echo yes)"
}
run() { "$bin" "$@" >"$tmp/out" 2>"$tmp/err"; }
esc=$'\x1b[31m\x9b31m\xc2\x9b\r\xe2\x80\xae'
seed=$src/corpus/seeds/slice_scatter_f32_2x8x16_0_4.prog

hostile() { # text of workers, programs, stores and command lines on its way to a terminal and into a script
	worker=$src/tests/cli/hostile_worker.py
	for mode in raise refuse crash rubbish tail; do
		export HOSTILE=$mode
		for target in torch:eager torch:aot_eager; do
			run check "$seed" --target $target --python "$worker"
			harmless "check, $mode on $target" "$tmp/out" "$tmp/err"
			expect "no line of a worker's poses as ours: check, $mode on $target" 0 "$(cat "$tmp/out" "$tmp/err" | grep -c '^x.prog')"
			run check "$seed" --target $target --python "$worker" --json
			harmless "check --json, $mode on $target" "$tmp/out" "$tmp/err"
			python3 -c 'import json, sys; [json.loads(l) for l in open(sys.argv[1], encoding="utf-8")]' "$tmp/out"
			expect "it is JSON: $mode on $target" 0 $?
		done
		run targets --python "$worker" --probe
		harmless "targets --probe, $mode" "$tmp/out" "$tmp/err"
	done
	export HOSTILE=long LONG=20             # MiB
	run check "$seed" --target torch:eager --python "$worker" --db "$tmp/long.db"
	expect "a long message is cut when it is read" yes "$([ "$(wc -c <"$tmp/out")" -lt 100000 ] && echo yes)"
	has "and it is said" "$tmp/out" "\.\.\. 209[0-9]{5} bytes more"
	expect "it is not stored whole, either" yes "$([ "$(wc -c <"$tmp/long.db")" -lt 1000000 ] && echo yes)"
	for mode in compiled crash; do
		export HOSTILE=$mode
		run fuzz --target torch:aot_eager --no-cheap --no-confirm --programs 3 --seed 1 --python "$worker" --db "$tmp/$mode.db"
		has "a finding by $mode" "$tmp/out" "^FINDING"
		harmless "fuzz, $mode" "$tmp/out" "$tmp/err"
		expect "no line of a worker's poses as a finding: $mode" 0 "$(grep -c '^FINDING 00000000' "$tmp/out")"
		id=$("$bin" findings sql "select id from v_findings limit 1" --db "$tmp/$mode.db" | tail -1)
		run repro "$id" --db "$tmp/$mode.db" --python "$worker"
		harmless "repro, $mode" "$tmp/out" "$tmp/err"
		for words in "findings" "findings show $id" "findings show $id --json" "findings --json"; do
			run $words --db "$tmp/$mode.db"
			harmless "$words, $mode" "$tmp/out" "$tmp/err"
		done
		run repro "$id" --db "$tmp/$mode.db" --script "$tmp/s.py" --full
		harmless "repro --script, $mode" "$tmp/s.py"
	done

	n=0
	while IFS= read -r line; do # programs that do not read: what the error quotes
		printf '# scatterproof 1\nx = input([4])\ni = input([4], dtype=i64, fill=index, high=4)\n%s\nreturn (x,)\n' "${line//ESC/$esc}" >"$tmp/bad$esc.prog"
		run check "$tmp/bad$esc.prog"
		expect "a program with $line" 2 $?
		harmless "a program with $line" "$tmp/out" "$tmp/err"
		n=$((n + 1))
	done <<-'END'
		y = input([4], fill="ESC")
		y = scatter_reduce.two(x, 0, i, x, reduce="ESC")
		y = input([4], dtype="ESC")
		y = "ESC"
		y: "ESC" = neg(x)
		y: "f32[4][1]ESC" = neg(x)
		ESC
	END
	expect "programs" 7 $n
	printf '# scatterproof 1\nx = input([4])\nreturn (x,)\n' >"$tmp/good
x.prog: pass$esc.prog"
	run check "$tmp"/good*
	harmless "the name of a file" "$tmp/out"
	expect "the name of a file is one line" 1 "$(wc -l <"$tmp/out")"
	run eval "$tmp"/good*
	harmless "eval" "$tmp/out"
	while IFS='|' read -r words; do # command lines
		run ${words//ESC/$esc}
		expect "$words" 2 $?
		harmless "$words" "$tmp/err"
		expect "$words: one line" 1 "$(head -1 "$tmp/err" | wc -l)"
	done <<-'END'
		ESC
		check ESC.prog
		check x --target ESC
		check x --target torch:ESC
		check x --target torch-ESC:eager
		check x --target torch:eager@ESC
		check x --target torch:inductor+ESC=1
		fuzz --target builtin:eager --ops ESC
		fuzz --target builtin:eager --policy ESC
		fuzz --ESC
		fuzz --seed ESC
		ops ESC
		bench ESC
		merge ESC --into x
		repro ESC --db x
		findings --ESC
	END

	# A signature and a target in a store, with Python behind a newline.
	code=$'\nraise SystemExit(42)\n#'
	for where in signature target tensor; do
		rm -f "$tmp/h.db"
		signature=chosen target=torch:inductor@cpu tensor=x.grad
		eval "$where=\"\$$where\$code\$esc\""
		id=$("$finding_of" --as "$signature" "$target" "$tmp/h.db" torch:inductor@cpu gradient mismatch "$seed" "$tensor" 0)
		run repro "$id" --db "$tmp/h.db" --target torch:inductor@cpu --script "$tmp/s.py" --full
		rc=$?
		if [ $where = tensor ]; then # no tensor of the program: no script can show it
			expect "a script of a hostile tensor" 2 $rc
			harmless "a script of a hostile tensor" "$tmp/err"
		else
			expect "a script of a hostile $where" 0 $rc
			harmless "a script of a hostile $where" "$tmp/s.py"
			has "the hostile $where is there" "$tmp/s.py" '^# .*\\nraise SystemExit\(42\)\\n#\\x1b'
			python3 "$tmp/s.py" >"$tmp/out" 2>&1
			expect "no code of a hostile $where runs" no "$([ $? = 42 ] && echo yes || echo no)"
		fi
		run repro "$id" --db "$tmp/h.db"
		harmless "repro of a hostile $where" "$tmp/out" "$tmp/err"
		run findings show "$id" --db "$tmp/h.db"
		harmless "findings show of a hostile $where" "$tmp/out"
	done
}

full() { # output that cannot be written is exit 3 with the true reason, of every verb
	id=$("$finding_of" "$tmp/f.db" torch:inductor@cpu gradient mismatch "$seed" x.grad 0)
	while read -r words; do
		timeout 60 "$bin" $words >/dev/full 2>"$tmp/err"
		expect "exit of $words > /dev/full" 3 $?
		expect "$words > /dev/full" "scatterproof: cannot write to standard output: No space left on device" "$(tail -1 "$tmp/err")"
		"$bin" $words >&- 2>"$tmp/err"
		expect "exit of $words without standard output" 3 $?
		expect "$words without standard output" "scatterproof: cannot write to standard output: Bad file descriptor" "$(tail -1 "$tmp/err")"
	done <<-END
		--help
		--version
		fuzz --help
		findings --help
		fuzz --target builtin:eager --programs 20 --db $tmp/z.db
		fuzz --target builtin:eager+plant=zero --programs 60 --seed 5
		check $src/corpus/seeds
		check $src/corpus/seeds --json
		eval $src/corpus/seeds
		repro $id --db $tmp/f.db --full --script -
		repro $id --db $tmp/f.db --target builtin:eager
		findings --db $tmp/f.db
		findings show $id --db $tmp/f.db
		findings sql select*from(v_findings) --db $tmp/f.db
		merge $tmp/f.db --into $tmp/m.db
		targets
		targets --json
		ops
		ops sum
		gen
		gen --programs 400 --seed 3
		bench throughput --programs 20
	END
	timeout 60 "$bin" gen --programs 1000000000 >/dev/full 2>"$tmp/err"
	expect "a long gen ends when nobody can have it" 3 $?
	while read -r words; do
		"$bin" $words /dev/full >"$tmp/out" 2>"$tmp/err"
		expect "exit of $words /dev/full" 3 $?
		expect "$words /dev/full" "scatterproof: cannot write to /dev/full: No space left on device" "$(tail -1 "$tmp/err")"
		"$bin" $words "$tmp/none/x" >"$tmp/out" 2>"$tmp/err"
		expect "exit of $words into no directory" 3 $?
		expect "$words into no directory" "scatterproof: cannot write to $tmp/none/x: No such file or directory" "$(tail -1 "$tmp/err")"
		(ulimit -f 1; exec "$bin" $words "$tmp/small" >"$tmp/out" 2>"$tmp/err")
		expect "exit of $words with a file size limit" 3 $?
		expect "$words with a file size limit" "scatterproof: cannot write to $tmp/small: File too large" "$(tail -1 "$tmp/err")"
	done <<-END
		gen --programs 40 --seed 3 --out
		eval $src/corpus/seeds --out
		repro $id --db $tmp/f.db --full --script
	END
	"$bin" gen --seed 3 --programs 7 --out "$tmp/written" >"$tmp/out"
	expect "what can be written" "0 $("$bin" gen --seed 3 --programs 7 | cksum)" "$? $(cksum <"$tmp/written")"
	(set +o pipefail; "$bin" fuzz --target builtin:eager+plant=zero --time 30s --seed 5 2>/dev/null; echo $? >"$tmp/rc") | head -1 >/dev/null
	expect "a reader that goes away ends a campaign as its signal would" 141 "$(cat "$tmp/rc")"
}

threads() { # threads WHAT PID: one, however many processors there are
	expect "threads of $1" 1 "$(sed -n 's/^Threads:\t//p' "/proc/$2/status" 2>/dev/null)"
}
small() { # a small machine: one thread everywhere, little memory, few descriptors
	id=$("$finding_of" "$tmp/n.db" torch:inductor@cpu gradient mismatch "$seed" x.grad 0)
	mkfifo "$tmp/pipe"
	"$bin" check - <"$tmp/pipe" >"$tmp/out" 2>&1 &
	pid=$!
	exec 9>"$tmp/pipe"
	becomes "check reads" sleeps $pid
	threads "check" $pid
	exec 9>&-
	wait $pid
	"$bin" fuzz --target builtin:eager --time 20s --jobs 2 >"$tmp/out" 2>&1 &
	pid=$!
	becomes "two shards and their targets are there" has_descendants $pid 4
	all=$(descendants $pid)
	for p in $pid $all; do threads "$(tr '\0' ' ' </proc/"$p"/cmdline | cut -d' ' -f2)" "$p"; done
	expect "a campaign, its shards and their targets" yes "$([ "$(echo $pid $all | wc -w)" -ge 5 ] && echo yes)"
	kill $pid
	wait $pid
	python="--python $src/tests/cli/hostile_worker.py"
	for words in "check $seed" "fuzz --target builtin:eager --programs 5" "fuzz --target torch:eager --programs 5 $python" \
		"check $seed --target torch:eager $python" "repro $id --db $tmp/n.db --target builtin:eager"; do
		(ulimit -n 12; exec timeout -s KILL 20 "$bin" $words >"$tmp/out" 2>"$tmp/err")
		expect "$words with 12 descriptors" 3 $?
		has "$words with 12 descriptors" "$tmp/err" "^scatterproof: only 12 files may be open at once \(ulimit -n\), [0-9]+ are needed"
	done
	(ulimit -n 100; exec timeout -s KILL 20 "$bin" fuzz --target builtin:eager --programs 80 --jobs 40 >"$tmp/out" 2>"$tmp/err")
	expect "more jobs than descriptors" 3 $?
	has "more jobs than descriptors" "$tmp/err" "^scatterproof: .*Too many open files$"
	(ulimit -n 64; exec timeout -s KILL 60 "$bin" fuzz --target builtin:eager --programs 5 >"$tmp/out" 2>"$tmp/err")
	expect "as many descriptors as are needed" 0 $?
	if ! grep -qa __asan_init "$bin"; then # which needs terabytes
		printf '# scatterproof 1\nx = input([300, 300])\ny = mm(x, x)\nreturn (y,)\n' >"$tmp/mm.prog"
		while read -r want words; do
			(ulimit -v 100000; exec timeout -s KILL 20 "$bin" $words >"$tmp/out" 2>"$tmp/err")
			expect "$words in 100 MB" "$want" $?
			[ "$want" = 0 ] || has "$words in 100 MB" "$tmp/err" "^scatterproof: out of memory \([0-9]* bytes for a matrix product\)$"
		done <<-END
			0 --help
			0 --version
			0 fuzz --help
			0 findings --help
			0 gen
			0 ops
			0 targets
			0 check $seed
			3 eval $tmp/mm.prog
			0 fuzz --target builtin:eager --programs 5 --ops sum,add.Tensor
		END
	fi
}

overwritten() { # what a failed verb would have replaced stays; a store is never replaced
	printf 'x = 1\n' >"$tmp/own.prog"
	run eval "$tmp/own.prog" --out "$tmp/own.prog"
	expect "a text that cannot be read, --out onto itself" 2 $?
	expect "is still there" "x = 1" "$(cat "$tmp/own.prog")"
	run gen --ops nosuch --out "$tmp/never.prog"
	expect "a bad option" 2 $?
	expect "leaves no empty file" no "$([ -e "$tmp/never.prog" ] && echo yes || echo no)"
	run fuzz --target builtin:eager --programs 3 --seed 1 --db "$tmp/kept.db"
	run gen --out "$tmp/kept.db"
	expect "--out onto a store" 3 $?
	has "says so" "$tmp/err" "kept.db: it is a database \(a findings store\?\), which would be lost"
	run findings --db "$tmp/kept.db"
	expect "and the store is sound" 0 $?
	run gen --seed 1 --programs 2 --out "$tmp/two.prog"
	run gen --seed 1 --programs 1 --out "$tmp/two.prog"
	expect "a shorter text replaces all of a longer one" 1 "$(grep -c '^# scatterproof' "$tmp/two.prog")"
	run gen --seed 1 --seed 2
	expect "an option twice" 2 $?
	has "an option twice" "$tmp/err" "^scatterproof: --seed is given twice"
}

usage() { # careless command lines: a sentence and exit 2, nothing else
	overwritten
	printf '# scatterproof 1\nx = input([4])\nreturn (x,)\n' >"$tmp/-x.prog"
	while IFS='|' read -r words sentence; do
		run $words
		expect "$words" 2 $?
		has "$words" "$tmp/err" "$sentence"
		expect "$words: on standard output" "" "$(cat "$tmp/out")"
		expect "$words: one sentence" 1 "$(grep -c '^scatterproof' "$tmp/err")"
	done <<-END
		--help fuzz|'fuzz' is not understood after --help
		--version now|'now' is not understood
		fuzz --target builtin:eager --programs 3 $tmp/new.db|fuzz: '.*new.db' is not understood: it takes options only
		targets extra|targets: 'extra' is not understood
		gen 5|gen: '5' is not understood
		gen --prog 5|gen: unknown option '--prog' .*; did you mean '--program'\?$
		gen --policy|--policy needs a value
		ops --json=yes|--json takes no value
		ops sum extra|no operator 'extra'
		ops extra sum|no operator 'extra'
		bench reference extra|no section 'extra'
		repro 012345 6789ab --db x|repro: '6789ab' is not understood: it takes one word
		findings extra --db x|'extra' is not understood
		findings show 012345 extra --db x|'extra' is not understood
		gen --program 3 --programs 5|--program and --programs exclude each other
		gen --programs 5 --program 3|--program and --programs exclude each other
		check $seed --target builtin:eager+foo=1|builtin has no option 'foo'; it has: plant
		check $seed --target builtin:eager+plnt=zero|did you mean 'plant'\?$
		check $seed --target builtin:eager+plant=zer|plant=zer is not one of zero, row, .*; did you mean 'zero'\?$
		fuzz --target builtin:eager+foo=1 --programs 3|builtin has no option 'foo'
		fuzz -- --target builtin:eager|'--target' is not understood
		check -- --target|cannot open '--target'
		findings -- --open|'--open' is not understood
	END
	expect "nothing was made" 0 "$(ls "$tmp" | grep -c new.db)"
	(cd "$tmp" && "$bin" check -- -x.prog >"$tmp/out" 2>&1)
	expect "a file that looks like an option" 0 $?
	(cd "$tmp" && "$bin" eval --out "$tmp/out" -- -x.prog)
	expect "eval of it" 0 $?

	unset HOME XDG_DATA_HOME SCATTERPROOF_TARGETS # and where environments would be
	run check "$seed" --target torch:eager
	expect "check without HOME" 3 $?
	has "check without HOME" "$tmp/err" "^scatterproof: .*HOME is not set"
	run fuzz --target torch:eager --programs 3
	expect "fuzz without HOME" 3 $?
	has "fuzz without HOME" "$tmp/err" "^scatterproof: .*HOME is not set"
	run targets
	expect "targets without HOME" 0 $?
	has "targets without HOME" "$tmp/out" "^  .*HOME is not set"
	HOME=/nonexistent run targets
	has "targets with another HOME" "$tmp/out" "no version is installed in /nonexistent/.local/share/scatterproof/targets"

	db="$tmp/a b's; touch pwned\$(touch pwned).db" # what is printed can be pasted
	"$bin" fuzz --target builtin:eager+plant=zero --programs 60 --seed 5 --db "$db" >"$tmp/out" 2>"$tmp/err"
	expect "a campaign into a name with blanks and quotes" 1 $?
	n=0
	cd "$tmp" || exit 2
	for what in "see it again" "list them"; do
		command=$(sed -n "s/^$what:  scatterproof //p" "$tmp/out" | head -1)
		eval "\"\$bin\" $command" >"$tmp/out2" 2>"$tmp/err"
		expect "$what: the command, pasted" "$n" "$((1 - $?))"
		n=$((n + 1))
	done
	id=$("$bin" findings sql "select id from v_findings limit 1" --db "$db" | tail -1)
	command=$("$bin" findings show "$id" --db "$db" | sed -n 's/^  scatterproof repro/repro/p')
	eval "\"\$bin\" $command" >"$tmp/out2" 2>"$tmp/err"
	expect "findings show: the command, pasted" 1 $?
	expect "nothing else ran" 0 "$(ls "$tmp" | grep -c '^pwned$')"

	"$bin" fuzz --target builtin:eager+plant=zero --time 20s --seed 5 --db "$tmp/hup.db" >"$tmp/out" 2>"$tmp/err" &
	pid=$!
	becomes "programs are counted" counted "$tmp/hup.db" 1
	kill -HUP $pid
	wait $pid
	expect "SIGHUP" 129 $?
	lost="select (select coalesce(sum(n), 0) from v_counters where verdict = 'mismatch') - (select coalesce(sum(nobs), 0) from v_findings)"
	expect "every divergence is in the store" 0 "$("$bin" findings sql "$lost" --db "$tmp/hup.db" | tail -1)"
	mkfifo "$tmp/stuck"
	exec 8<>"$tmp/stuck" # a reader that does not read, whose pipe is full
	timeout 1 cat /dev/zero >"$tmp/stuck"
	timeout -s KILL 90 "$bin" fuzz --target builtin:eager+plant=zero --jobs 3 --time 80s --seed 5 --db "$tmp/stuck.db" >"$tmp/stuck" 2>"$tmp/err" &
	pid=$!
	becomes "three shards and their targets are there" has_descendants $pid 7
	becomes "everybody waits for the reader" stands_still $pid
	kill -TERM "$(descendants $pid | head -1)"
	(sleep 20 && for p in $(descendants $pid); do echo "still there: $(cat /proc/"$p"/wchan) $(cut -c1-150 /proc/"$p"/stat)"; done) >"$tmp/there" 2>&1 8>&- &
	watch=$!
	wait $pid
	expect "SIGTERM while the reader does not read" 143 $?
	kill $watch 2>/dev/null
	cat "$tmp/there"
	exec 8>&-
	(trap '' HUP; exec "$bin" fuzz --target builtin:eager --time 2s --seed 5 >"$tmp/out" 2>"$tmp/err") &
	pid=$!
	becomes "it runs" runs $pid
	kill -HUP $pid
	wait $pid
	expect "SIGHUP under nohup" 0 $?
	cd - >/dev/null || exit 2
	(cd "$src/tests/cli" && HOSTILE=refuse "$bin" fuzz --target torch:eager --programs 2 --python ./hostile_worker.py >"$tmp/out" 2>"$tmp/err")
	has "an interpreter by a relative path" "$tmp/out" "unsupported 2"
}

window() { # window WIDTH COMMAND: in a terminal of its own, which is full already
	$tmux kill-server 2>/dev/null
	nwindows=$((nwindows + 1))
	tmux="tmux -L doors$$.$nwindows -f /dev/null"
	$tmux new-session -d -x "$1" -y 24 "seq 40; $2; echo ended with \$?; sleep 1000"
}
until_end() {
	for _ in $(seq 300); do
		rows | grep -q '^ended with' && return
		sleep 0.2
	done
	expect "the campaign ended" yes no
}
rows() { $tmux capture-pane -p -J -S - 2>/dev/null | sed 's/ *$//'; } # what stands there, lines that were wrapped in one
shows() { rows | grep -qE "$1"; }
moved_on() { # the last status line is another than in $tmp/before, or the campaign has ended
	rows >"$tmp/now"
	grep -q '^ended with' "$tmp/now" || { grep -qE "$status" "$tmp/now" && ! cmp -s "$tmp/before" "$tmp/now"; }
}
status='^[0-9]+s( finishing)?  [0-9]+ programs?'

status() { # a campaign on a terminal: one line that fits, findings of a few lines
	command -v tmux >/dev/null || { echo "SKIPPED: no tmux"; exit 77; }
	export TMUX_TMPDIR=$tmp
	tmux=: nwindows=0
	trap '$tmux kill-server 2>/dev/null; rm -rf "$tmp"' EXIT
	for width in 80 40; do
		rm -f "$tmp/t.db"
		window $width "$bin fuzz --target builtin:eager+plant=zero --time 5s --seed 5 --db $tmp/t.db"
		becomes "$width columns: a status line" shows "$status"
		rows >"$tmp/running"
		until_end
		rows >"$tmp/out"
		has "$width columns: exit" "$tmp/out" "^ended with 1$"
		expect "$width columns: status lines left" 1 "$(grep -cE "$status" "$tmp/out")"
		expect "$width columns: of those, too long" "" "$(grep -E "$status" "$tmp/running" "$tmp/out" -h | awk -v w=$width 'length($0) >= w')"
		sed -n '/^scatterproof fuzz/,/^default: seed/p' "$tmp/out" | sed '1d;$d' >"$tmp/body"
		n=$(grep -c '^FINDING [0-9a-f]* ' "$tmp/body")
		expect "$width columns: findings" yes "$([ "$n" -ge 5 ] && echo yes)"
		expect "$width columns: lines of findings" "$((5 * n))" "$(grep -cE "^(FINDING |  )" "$tmp/body")"
		expect "$width columns: junk" "" "$(grep -vE "^(FINDING |  |$)|$status" "$tmp/body")"
		expect "$width columns: commands" "$n" "$(grep -cE "^  scatterproof findings show [0-9a-f]{8} --db $tmp/t.db$" "$tmp/body")"
		grep -E '^(FINDING|  )' "$tmp/body" | grep -v '^  scatterproof' >"$tmp/lines"
		expect "$width columns: other lines that are too long" "" "$(awk -v w=$width 'length($0) >= w' "$tmp/lines")"
	done
	window 80 "$bin fuzz --target builtin:eager --time 8s --seed 5"
	for width in 40 100 30 80 60; do # narrower and wider while it runs
		rows >"$tmp/before"
		becomes "another status line before $width columns" moved_on
		$tmux resize-window -x $width -y 24
	done
	until_end
	rows >"$tmp/out"
	expect "status lines left by resizing" 1 "$(grep -cE "$status" "$tmp/out")"
	window 80 "COLUMNS=50 $bin fuzz --target builtin:eager+plant=zero --programs 100 --seed 5"
	until_end
	rows >"$tmp/out"
	has "without a store, all of it" "$tmp/out" "^# scatterproof 1$"
	window 80 "$bin fuzz --target builtin:eager+plant=zero --programs 100 --seed 5 --db $tmp/u.db >$tmp/file"
	until_end
	has "into a file, all of it" "$tmp/file" "^# scatterproof 1$"
	window 80 "TERM=dumb $bin fuzz --target builtin:eager --programs 100 --seed 5 2>&1 | cat -v"
	until_end
	rows >"$tmp/out"
	expect "no control sequence into a pipe" 0 "$(grep -c '\^\[' "$tmp/out")"
}

case $part in
status) status ;;
usage) usage ;;
small) small ;;
full) full ;;
hostile) hostile ;;
*) echo "unknown part $part"; exit 2 ;;
esac
end
