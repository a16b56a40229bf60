#!/bin/bash
# The binary as a user meets it, on the built-in target only: campaigns, verdicts, the store, repro, exit codes, kill -9.
# usage: campaign.sh BINARY SOURCE_DIR PART FINDING_OF     PART: clean | plants | full | targets | mark | merge | kill | usage | script | script_torch
set -u
bin=$1
src=$2
part=$3
finding_of=$4
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
fails=0
checks=0
expect() { # expect WHAT WANT GOT
	checks=$((checks + 1))
	if [ "$2" != "$3" ]; then
		echo "FAIL: $1: want '$2', got '$3'"
		fails=$((fails + 1))
	fi
}
has() { # has WHAT FILE PATTERN
	checks=$((checks + 1))
	grep -qE "$3" "$2" || { echo "FAIL: $1: no '$3' in:"; tail -20 "$2"; fails=$((fails + 1)); }
}
unobserved="select (select sum(n) from v_counters where verdict = 'mismatch') - (select sum(nobs) from v_findings)"
sql() { "$bin" findings sql "$1" --db "$2" | tail -1; }

clean() { # a fixed-seed smoke: no finding, nothing unexplained, same programs whatever --jobs
	"$bin" fuzz --target builtin:eager --programs 1500 --seed 11 --jobs 2 --db "$tmp/c.db" >"$tmp/out" 2>"$tmp/err"
	expect "exit of a clean campaign" 0 $?
	has "summary" "$tmp/out" "^0 new findings"
	expect "programs counted" 1500 "$(sql 'select sum(n) from v_counters' "$tmp/c.db")"
	expect "none invalid" 0 "$(sql "select count(*) from v_counters where verdict in ('invalid', 'harness', 'crash', 'hang', 'mismatch')" "$tmp/c.db")"
	"$bin" gen --seed 3 --programs 40 >"$tmp/g1"
	"$bin" gen --seed 3 --programs 40 >"$tmp/g2"
	expect "gen is repeatable" "$(cksum <"$tmp/g1")" "$(cksum <"$tmp/g2")"
	"$bin" check "$src/corpus/seeds" >"$tmp/out"
	expect "a directory on builtin:eager" 0 $?
	expect "every file of it" "$(ls "$src"/corpus/seeds/*.prog)" "$(sed -n 's/: pass on .*//p' "$tmp/out")"
	expect "and a summary" "7 programs on 1 target: 7 pass" "$(tail -1 "$tmp/out")"
	"$bin" check "$src/corpus/seeds" --quiet >"$tmp/out"
	expect "a summary alone" "7 programs on 1 target: 7 pass" "$(cat "$tmp/out")"
	"$bin" check "$src/corpus/regressions" --quiet --target builtin:eager --target builtin:eager+plant=zero >"$tmp/out"
	expect "exit of a quiet check" 1 $?
	has "two targets" "$tmp/out" "^[0-9]+ programs on 2 targets: [0-9]+ pass, [1-9][0-9]* mismatch, [1-9][0-9]* unjudged$"
	for v in mismatch unjudged; do
		expect "each $v" "$(sed -n "s/^[0-9]* programs .* \([0-9]*\) $v.*/\1/p" "$tmp/out")" "$(grep -c "\.prog: $v on " "$tmp/out")"
	done
	expect "what passes, and reports" "" "$(grep -v -e 'programs on' -e '\.prog: mismatch on ' -e '\.prog: unjudged on ' "$tmp/out")"
	"$bin" check "$src/corpus/seeds" --json --target builtin:eager >"$tmp/out"
	expect "nothing but JSON" "" "$(grep -v '^{.*}$' "$tmp/out")"
	"$bin" check "$tmp/g1" >"$tmp/out" 2>"$tmp/err"
	expect "every program of a file is judged" 40 "$(grep -cE '^[^ ].* on builtin:eager' "$tmp/out")"
	expect "programs are named by their lines" "$(grep -n '^# scatterproof 1' "$tmp/g1" | cut -d: -f1)" "$(sed -n 's/^[^ ]*g1:\([0-9]*\): .* on builtin.*/\1/p' "$tmp/out")"
	"$bin" eval - <"$tmp/g1" >"$tmp/out"
	expect "eval reads them too" 40 "$(grep -c '^reference:' "$tmp/out")"
	sed '/^return/{x;s/^/x/;/^xxx$/{x;s/.*/return (nonsense,)/;b};x}' "$tmp/g1" >"$tmp/g3"     # the third program is wrong
	"$bin" check "$tmp/g3" >"$tmp/out" 2>"$tmp/err"
	expect "one bad program among many" 2 "$([ $? -ge 2 ] && echo 2)"
	has "is named by its place" "$tmp/err" "g3:$(grep -n nonsense "$tmp/g3" | cut -d: -f1):[0-9]+: .*nonsense"
	expect "and the others are judged" 39 "$(grep -cE '^[^ ].* on builtin:eager' "$tmp/out")"
	mkdir "$tmp/empty"
	"$bin" check "$tmp/empty" >"$tmp/out" 2>&1
	expect "a directory without programs" 2 $?
	"$bin" check "$src/corpus/seeds/slice_scatter_backward_fx.txt" >"$tmp/out"
	expect "a pasted FX dump" 0 $?
}

plants() { # every kind of planted fault is found, stored once per signature, confirmed, and shown again
	for k in zero row stale scale; do
		db=$tmp/$k.db
		"$bin" fuzz --target builtin:eager+plant=$k --programs 400 --seed 5 --db "$db" >"$tmp/out" 2>"$tmp/err"
		expect "exit with plant=$k" 1 $?
		expect "none is a candidate while its likes wait for confirmation" 0 "$(grep -c '^FINDING.*candidate' "$tmp/out")"
		expect "every divergence is an observation" 0 "$(sql "$unobserved" "$db")"
		id=$(sql "select id from v_findings where state = 'confirmed' limit 1" "$db")
		"$bin" repro "$id" --db "$db" >"$tmp/out"
		expect "repro of plant=$k" 1 $?
		has "repro says so" "$tmp/out" "still happens"
		"$bin" repro "$id" --db "$db" --target builtin:eager >"$tmp/out"
		expect "repro without the plant" 0 $?
		"$bin" findings show "$id" --db "$db" >"$tmp/out"
		expect "findings show" 0 $?
		has "findings show" "$tmp/out" "scatterproof repro $id"
		expect "findings show prints the program once" 1 "$(grep -c '# scatterproof 1' "$tmp/out")"
		sed -n '/^# scatterproof 1$/,/^$/p' "$tmp/out" >"$tmp/pasted.prog"
		"$bin" check "$tmp/pasted.prog" --target "builtin:eager+plant=$k" >"$tmp/out"
		expect "the program that is shown, pasted into a file" 1 $?
		expect "equal signatures are one finding" 0 "$(sql 'select count(*) - count(distinct signature) from v_findings' "$db")"
	done
	"$bin" fuzz --target builtin:eager+plant=crash --programs 60 --seed 5 --db "$tmp/crash.db" >"$tmp/out" 2>"$tmp/err"
	expect "exit with crashes" 1 $?
	expect "all programs were still judged" 60 "$(sql 'select sum(n) from v_counters' "$tmp/crash.db")"
	expect "crashes have their kind" crash "$(sql 'select distinct kind from v_findings' "$tmp/crash.db")"
	"$bin" fuzz --target builtin:eager+plant=hang --programs 24 --seed 5 --limit 1s --db "$tmp/hang.db" >"$tmp/out" 2>"$tmp/err"
	expect "exit with hangs" 1 $?
	expect "hangs have their kind" hang "$(sql 'select distinct kind from v_findings' "$tmp/hang.db")"
}

targets() { # what this machine has, from made-up environments; nothing is started unless asked for
	for v in 2.9.1 2.11.0 2.15.0; do
		mkdir -p "$tmp/t/torch-$v/bin" "$tmp/t/torch-$v/lib/python3.11/site-packages/torch"
		printf '#!/bin/sh\ntouch "%s/started"\necho "no torch here" >&2\nexit 1\n' "$tmp" >"$tmp/t/torch-$v/bin/python"
		chmod +x "$tmp/t/torch-$v/bin/python"
		printf "__version__ = '%s+cu130'\ndebug = False\ncuda: Optional[str] = '13.0'\nhip: Optional[str] = None\n" $v \
			>"$tmp/t/torch-$v/lib/python3.11/site-packages/torch/version.py"
	done
	sed -i "s/^cuda.*/cuda: Optional[str] = None/; s/cu130/cpu/" "$tmp/t/torch-2.9.1/lib/python3.11/site-packages/torch/version.py"
	touch "$tmp/t/torch-2.15.0/.incomplete"
	export SCATTERPROOF_TARGETS=$tmp/t
	"$bin" targets >"$tmp/out"
	expect "targets" 0 $?
	expect "versions, oldest first" "torch-2.9.1 torch-2.11.0 torch-2.15.0" "$(grep -oE '^  torch-[0-9.]+' "$tmp/out" | xargs)"
	has "without CUDA" "$tmp/out" "torch-2.9.1 +PyTorch 2.9.1.cpu, without CUDA$"
	has "with CUDA, the default" "$tmp/out" "torch-2.11.0 +PyTorch 2.11.0.cu130, built for CUDA 13.0; meant by"
	has "half installed" "$tmp/out" "torch-2.15.0 is only half installed"
	expect "no interpreter was started" 0 "$(ls "$tmp" | grep -c started)"
	expect "the same as JSON" "2.9.1+cpu 2.11.0+cu130 2.15.0+cu130" "$("$bin" targets --json | sed -n 's/.*"torch": "\([^"]*\)".*/\1/p' | xargs)"
	"$bin" targets --probe >"$tmp/out"
	expect "targets --probe with versions that do not start" 3 $?
	has "why" "$tmp/out" "does not start: .*no torch here"
	expect "an interpreter was started" 1 "$(ls "$tmp" | grep -c started)"
	SCATTERPROOF_TARGETS=$tmp/nothing "$bin" targets >"$tmp/out"
	expect "targets without any" 0 $?
	has "what to do" "$tmp/out" "no version is installed in $tmp/nothing; run scripts/setup-targets"
}

mark() { # decisions of people, and what later campaigns make of them
	fuzz="$bin fuzz --target builtin:eager+plant=zero --programs 150 --seed 5 --db $tmp/m.db"
	$fuzz >"$tmp/out" 2>"$tmp/err"
	n=$("$bin" findings --open --json --db "$tmp/m.db" | wc -l)
	ids=($(sql "select group_concat(id, ' ') from v_findings" "$tmp/m.db"))
	"$bin" findings mark "${ids[0]}" known --note "told them" --issue https://example.org/1 --db "$tmp/m.db" >"$tmp/out"
	expect "mark known" 0 $?
	has "says what it did" "$tmp/out" "${ids[0]} was confirmed, is known"
	"$bin" findings mark "${ids[1]}" fixed-in 0.2 --db "$tmp/m.db" >"$tmp/out"
	"$bin" findings mark "${ids[2]}" duplicate --of "${ids[0]}" --db "$tmp/m.db" >"$tmp/out"
	has "a duplicate has its own word" "$tmp/out" "${ids[2]} was confirmed, is duplicate"
	"$bin" findings mark "${ids[3]}" dismissed --db "$tmp/m.db" >"$tmp/out"
	"$bin" findings show "${ids[0]}" --db "$tmp/m.db" >"$tmp/out"
	has "history" "$tmp/out" "known +told them <https://example.org/1>"
	expect "--open leaves decided ones out" $((n - 4)) "$("$bin" findings --open --json --db "$tmp/m.db" | wc -l)"
	expect "the list does not" "$n" "$("$bin" findings --json --db "$tmp/m.db" | wc -l)"
	$fuzz >"$tmp/out" 2>"$tmp/err"
	expect "known ones, and one fixed in a later version, seen again" 0 $?
	expect "stay decided" $((n - 4)) "$("$bin" findings --open --json --db "$tmp/m.db" | wc -l)"
	"$bin" findings mark "${ids[1]}" fixed-in 0.1 --db "$tmp/m.db" >"$tmp/out"
	$fuzz >"$tmp/out" 2>"$tmp/err"
	expect "a fixed one seen again" 1 $?
	has "is said" "$tmp/out" "^FINDING ${ids[1]} .*, regressed"
	expect "and open" regressed "$(sql "select state from v_open where id = '${ids[1]}'" "$tmp/m.db")"
	"$bin" findings mark "${ids[3]}" open --db "$tmp/m.db" >"$tmp/out"
	has "open again" "$tmp/out" "was dismissed, is confirmed"
	"$bin" findings mark "${ids[3]}" dismised --db "$tmp/m.db" >"$tmp/out" 2>&1
	expect "an unknown state" 2 $?
	has "an unknown state" "$tmp/out" "did you mean 'dismissed'"
	"$bin" findings mark "${ids[3]}" duplicate --of "${ids[3]}" --db "$tmp/m.db" >"$tmp/out" 2>&1
	expect "a duplicate of itself" 2 $?
	"$bin" findings --db "$tmp/m.db" >"$tmp/out"
	has "columns have names" "$tmp/out" "^id +state +kind "
	expect "the list's duplicates" "${ids[2]}" "$(sed -n 's/^\([0-9a-f]*\) *duplicate .*/\1/p' "$tmp/out")"
	"$bin" findings show "${ids[2]}" --db "$tmp/m.db" >"$tmp/out"
	has "show says of which" "$tmp/out" "^finding ${ids[2]}: .*, duplicate of ${ids[0]}, severity"
	"$bin" findings mark "${ids[3]}" duplicate --of "${ids[2]}" --db "$tmp/m.db" >"$tmp/out"
	expect "a duplicate of a duplicate" 0 $?
	"$bin" findings mark "${ids[0]}" duplicate --of "${ids[3]}" --db "$tmp/m.db" >"$tmp/out" 2>&1
	expect "duplicates of each other" 2 $?
	has "duplicates of each other" "$tmp/out" "${ids[3]} is a duplicate of ${ids[0]} already"
	"$bin" findings mark "${ids[2]}" dismissed --db "$tmp/m.db" >"$tmp/out"
	has "no duplicate any more" "$tmp/out" "was duplicate, is dismissed"
	"$bin" findings mark "${ids[0]}" duplicate --of "${ids[3]}" --db "$tmp/m.db" >"$tmp/out"
	expect "no duplicates of each other any more" 0 $?
	for v in soon v2.15 "2.15 or so" ""; do
		"$bin" findings mark "${ids[1]}" fixed-in "$v" --db "$tmp/m.db" >"$tmp/out" 2>&1
		expect "fixed in '$v'" 2 $?
		has "fixed in '$v'" "$tmp/out" "'$v' is no version"
	done
	"$bin" findings mark "${ids[1]}" fixed-in 2.16.0.dev20260101+cu130 --db "$tmp/m.db" >"$tmp/out"
	expect "fixed in a nightly" 0 $?
}

merge() { # shards merge into one store, again and again, also killed
	for i in 0 1; do
		"$bin" fuzz --target builtin:eager+plant=zero --programs 300 --seed 5 --shard $i/2 --db "$tmp/s$i.db" >"$tmp/out" 2>&1
	done
	all="select (select count(*) from finding) || ' ' || (select count(*) from observation) || ' ' || (select count(*) from event) || ' ' ||
		(select sum(n) from counter) || ' ' || (select sum(nobs) from v_findings)"
	"$bin" merge "$tmp/s0.db" "$tmp/s1.db" --into "$tmp/all.db" >"$tmp/out"
	expect "merge" 0 $?
	has "merge" "$tmp/out" "all.db: [1-9][0-9]* findings, [1-9][0-9]* of them new"
	want=$(sql "$all" "$tmp/all.db")
	expect "programs are added" 300 "$(sql 'select sum(n) from v_counters' "$tmp/all.db")"
	"$bin" merge "$tmp/s1.db" "$tmp/all.db" "$tmp/s0.db" --into "$tmp/all.db" >"$tmp/out"
	has "merged again" "$tmp/out" " 0 of them new"
	expect "merged again" "$want" "$(sql "$all" "$tmp/all.db")"
	killed=0
	for i in $(seq 25); do
		"$bin" merge "$tmp/s0.db" "$tmp/s1.db" --into "$tmp/k.db" >"$tmp/out" 2>"$tmp/err" &
		pid=$!
		sleep "$(printf '0.%03d' $((i * 2)))"
		kill -9 $pid 2>/dev/null
		wait $pid 2>/dev/null
		[ $? = 137 ] && killed=$((killed + 1))
		[ -s "$tmp/k.db" ] && expect "integrity after kill $i" ok "$(sqlite3 "$tmp/k.db" 'pragma integrity_check')"
		[ $((i % 3)) = 0 ] && rm -f "$tmp"/k.db*
	done
	echo "$killed of 25 merges killed"
	expect "some were killed" yes "$([ $killed -gt 0 ] && echo yes)"
	"$bin" merge "$tmp/s0.db" "$tmp/s1.db" --into "$tmp/k.db" >"$tmp/out"
	expect "whatever was killed" "$want" "$(sql "$all" "$tmp/k.db")"
	"$bin" merge "$tmp/s0.db" "$tmp/absent.db" --into "$tmp/none.db" >"$tmp/out" 2>&1
	expect "an absent source" 2 $?
	expect "nothing was made" 0 "$(ls "$tmp" | grep -c none.db)"
}

full() { # a file size limit, as a full disk: exit 3, what was stored stays, what was not is printed
	(ulimit -f 200; exec "$bin" fuzz --target builtin:eager+plant=zero --time 60s --seed 5 --db "$tmp/full.db" >"$tmp/out" 2>"$tmp/err")
	expect "exit with a full disk" 3 $?
	has "the reason" "$tmp/err" "full.db: .*the disk is full"
	has "findings that are only printed" "$tmp/err" "a finding could not be stored"
	"$bin" findings sql "select lower(hex(id)) from finding" --db "$tmp/full.db" >"$tmp/ids"
	expect "the store opens" 0 $?
	has "some were stored" "$tmp/out" "^FINDING"
	for id in $(sed -n 's/^FINDING \([0-9a-f]*\) .*/\1/p' "$tmp/out"); do
		has "$id was reported" "$tmp/ids" "^$id"
	done
	expect "integrity" ok "$(sqlite3 "$tmp/full.db" 'pragma integrity_check')"
	(ulimit -f 1; exec "$bin" gen --seed 3 --programs 40 >"$tmp/out" 2>"$tmp/err")
	expect "exit with a full disk for standard output" 3 $?
	has "and its reason" "$tmp/err" "standard output: File too large"
	for words in "check $src/corpus/seeds" "check $src/corpus/seeds --json" "gen --seed 3 --programs 40" "targets"; do
		"$bin" $words >/dev/full 2>"$tmp/err"
		expect "exit of $words > /dev/full" 3 $?
		has "$words > /dev/full" "$tmp/err" "cannot write to standard output: No space left on device"
	done
	(ulimit -f 1; exec "$bin" gen --seed 3 --programs 40 --out "$tmp/out" 2>"$tmp/err")
	expect "exit with a full disk for --out" 3 $?
}

kill_test() { # kill -9 at 30 random moments: what was reported is in the file, which is whole
	RANDOM=4
	for i in $(seq 30); do
		db=$tmp/k$i.db
		"$bin" fuzz --target builtin:eager+plant=zero --time 30s --seed $i --db "$db" >"$tmp/out" 2>/dev/null &
		pid=$!
		sleep "$(printf '0.%03d' $((RANDOM % 900 + 50)))"
		kill -9 $pid
		wait $pid 2>/dev/null
		[ -e "$db" ] || continue
		"$bin" findings sql "select lower(hex(id)) from finding" --db "$db" >"$tmp/ids" 2>"$tmp/err"
		rc=$?
		if [ $rc != 0 ] && ! grep -q '^FINDING' "$tmp/out" && grep -qiE "empty|not a database|absent|no such" "$tmp/err"; then
			continue        # killed before the schema was committed
		fi
		expect "kill $i: the store opens ($(cat "$tmp/err"))" 0 $rc
		for id in $(sed -n 's/^FINDING \([0-9a-f]*\) .*/\1/p' "$tmp/out"); do
			has "kill $i: $id was reported" "$tmp/ids" "^$id"
		done
		expect "kill $i: integrity" ok "$(sqlite3 "$db" 'pragma integrity_check')"
	done
}

usage() { # bad input: a sentence and the documented code
	"$bin" fuzz --target nonsense:eager >"$tmp/out" 2>&1
	expect "unknown target" 2 $?
	"$bin" fuzz --nonsense >"$tmp/out" 2>&1
	expect "unknown option" 2 $?
	printf '# scatterproof 1\nx = input([4], dtype=f32, fill=dyadc)\nreturn (x,)\n' >"$tmp/fill.prog"
	printf '# scatterproof 1\nx = input([4], dtype=flaot32)\nreturn (x,)\n' >"$tmp/dtype.prog"
	printf '# scatterproof 1\nx = input([4])\ny = aten.sllice(x)\nreturn (y,)\n' >"$tmp/op.prog"
	while IFS='|' read -r words want; do # a name that is nearly right
		"$bin" $words >"$tmp/out" 2>&1
		expect "$words" 2 $?
		has "$words" "$tmp/out" "did you mean '$want'\?$"
	done <<-END
		chekc x.prog|check
		fuzz --tagret builtin:eager|--target
		fuzz --prgrams=3|--programs
		fuzz --target trch:eager|torch
		fuzz --target torch:inducter@cpu|inductor
		fuzz --target torch:inductor@cdua|cuda
		fuzz --target builtin:eager --policy defualt|default
		fuzz --target builtin:eager --ops slice_scater|slice_scatter
		fuzz --target builtin:eager --dtypes f23|f32
		ops slice_scater|slice_scatter
		check $tmp/fill.prog|dyadic
		check $tmp/dtype.prog|float32
		check $tmp/op.prog|slice
		findings sow --db x.db|show
		findings --jsn --db x.db|--json
	END
	"$bin" frobnicate >"$tmp/out" 2>&1
	expect "nothing is near" 0 "$(grep -c 'did you mean' "$tmp/out")"
	"$bin" check "$tmp/absent.prog" >"$tmp/out" 2>&1
	expect "absent file" 2 $?
	printf '# scatterproof 1\nx = input([4, 13])\ny = slice(x, dim=7)\nreturn (y,)\n' >"$tmp/bad.prog"
	"$bin" check "$tmp/bad.prog" >"$tmp/out" 2>&1
	expect "bad program" 2 $?
	has "place and fact" "$tmp/out" "bad.prog:3:1: slice.Tensor: .*(-2|\[).*7"
	"$bin" gen --seed 5 --programs 60 | awk '/^# scatterproof/ { text = "" } { text = text $0 "\n" } END { printf "%s", text }' >"$tmp/last.prog"
	"$bin" gen --seed 5 --program 59 >"$tmp/only.prog"
	expect "gen of one program" "$(cat "$tmp/last.prog")" "$(cat "$tmp/only.prog")"
	"$bin" fuzz --target torch:eager --python /nonexistent/python --time 1s >"$tmp/out" 2>&1
	expect "no such interpreter" 3 $?
	for verb in "check $src/corpus/seeds/slice_scatter_f32_2x8x16_0_4.prog" "fuzz --time 1s"; do
		"$bin" $verb --target torch:eager --python nonexistent-python >"$tmp/out" 2>&1
		expect "no such interpreter in PATH: $verb" 3 $?
		has "no such interpreter in PATH: $verb" "$tmp/out" "nonexistent-python: no such program in PATH"
	done
	"$bin" check "$src/corpus/seeds" --target torch:eager --python nonexistent-python >"$tmp/out" 2>&1
	expect "and it is said once" 1 "$(grep -c 'no such program' "$tmp/out")"
	"$bin" repro abcdef --db "$tmp/absent.db" >"$tmp/out" 2>&1
	expect "absent store" 2 $?
	echo garbage >"$tmp/garbage.db"
	"$bin" fuzz --target builtin:eager --programs 1 --db "$tmp/garbage.db" >"$tmp/out" 2>&1
	expect "a file that is no store" 2 $?
	expect "and it is untouched" garbage "$(cat "$tmp/garbage.db")"
	endless='with recursive t(x) as (select 1 union all select x + 1 from t) select count(*) from t'
	"$bin" fuzz --target builtin:eager --programs 1 --db "$tmp/one.db" >"$tmp/out" 2>&1
	timeout 20 "$bin" findings sql "$endless" --limit 300ms --db "$tmp/one.db" >"$tmp/out" 2>&1
	expect "an endless query" 2 $?
	has "an endless query" "$tmp/out" "longer than 0.3 s.*--limit"
	timeout --preserve-status -s INT 2 "$bin" findings sql "$endless" --db "$tmp/one.db" >"$tmp/out" 2>&1
	expect "an endless query and Ctrl-C" 130 $?
	has "an endless query and Ctrl-C" "$tmp/out" "ended by signal 2"
	"$bin" findings sql "$endless" --db "$tmp/one.db" >"$tmp/out" 2>&1 &
	pid=$!
	sleep 2
	for i in 1 2 3 4 5; do kill -TERM $pid; sleep 0.01; done 2>/dev/null # a wish said five times is one wish
	wait $pid
	expect "an endless query and many signals" 143 $?
	has "an endless query and many signals" "$tmp/out" "ended by signal 15"
	"$bin" fuzz --target builtin:eager --time 20s --db "$tmp/sig.db" >"$tmp/out" 2>&1 &
	pid=$!
	sleep 2
	kill -TERM $pid
	wait $pid
	expect "SIGTERM" 143 $?
	expect "the store is whole" ok "$(sqlite3 "$tmp/sig.db" 'pragma integrity_check')"
	for i in 1 2 3 4 5 6; do # Ctrl-C while some wait for their confirmation: they are kept, unconfirmed
		"$bin" fuzz --target builtin:eager+plant=zero --time 20s --seed $i --db "$tmp/int.db" >"$tmp/out" 2>&1 &
		pid=$!
		sleep 0.$((i + 2))
		kill -TERM $pid
		[ $((i % 2)) = 0 ] && kill -TERM $pid   # as timeout(1) does: to the process and to its group
		wait $pid
		expect "SIGTERM $i" 143 $?
		expect "no divergence is lost by SIGTERM $i" 0 "$(sql "$unobserved" "$tmp/int.db")"
	done
}

script_of() { # script_of FILE TARGET KIND TENSOR CALL: the script of such a finding, in $tmp/s.py
	rm -f "$tmp/s.db"
	id=$("$finding_of" "$tmp/s.db" "$@")
	"$bin" repro "$id" --db "$tmp/s.db" --script "$tmp/s.py"
	expect "repro --script of $1" 0 $?
}
seed=$src/corpus/seeds/slice_scatter_f32_4x13x33_0_6.prog

script() { # stand-alone scripts as they are written: needs no PyTorch
	script_of "$seed" torch:inductor@cpu gradient x.grad 0
	has "what must come out" "$tmp/s.py" '^    \(0, "x.grad"\):$'
	has "runs of equal elements" "$tmp/s.py" '^        \[0\] \* 198$'
	has "repeated rows" "$tmp/s.py" '^ .*\] \* 7$'
	! command -v python3 >/dev/null || python3 -m py_compile "$tmp/s.py"
	expect "it is Python" 0 $?
	script_of "$src/corpus/regressions/min_of_bytes.prog" torch:inductor@cpu value "out 1 (b)" 0
	has "an integer" "$tmp/s.py" '^        \[63\],$'
	script_of "$src/corpus/regressions/unfold_write_with_gaps.prog" torch:aot_eager@cpu mutation "input x afterwards" 0
	has "a storage, its moved zeros with their sign" "$tmp/s.py" '^        \[-1.875, -0.25, .* 0.0, 3.25\],$'
	printf '# scatterproof 1\nx = input([40], seed=1, fill="ties", requires_grad=True)\nm = max.dim(x, 0)\nv = getitem(m, 0)\ng = full([], 1.5)\nreturn (v,)\nbackward (v: g)\n' >"$tmp/w.prog"
	script_of "$tmp/w.prog" torch:inductor@cuda gradient x.grad 0
	has "a winner that nobody knows" "$tmp/s.py" '^    \[5, 9, 15, 20, 24, 26, 34, 38\],$'
	printf '# scatterproof 1\nx = input([4], seed=1, fill="special")\ny = exp(x)\nz = div.Tensor(x, y)\nreturn (x, z)\n' >"$tmp/w.prog"
	script_of "$tmp/w.prog" torch:inductor@cpu value "out 1 (z)" 0
	has "enclosures" "$tmp/s.py" '^        \[nan, \(-0.32100647[0-9]*, -0.32100623[0-9]*\), nan, nan\],$'
	printf '# scatterproof 1\nx = input([64, 65], seed=1)\ny = neg(x)\nreturn (y,)\n' >"$tmp/w.prog"
	script_of "$tmp/w.prog" torch:inductor@cpu value "out 0 (y)" 0
	has "too large for a table" "$tmp/s.py" "^# Only eager says .*: output 0 has more than 4096 elements.$"
	script_of "$src/corpus/regressions/scatter_reduce_amax_without_self.prog" torch:inductor@cpu value "out 0 (y)" 0
	has "not judged" "$tmp/s.py" "^# Only eager says .*: the reference does not judge this program: "
	printf '# scatterproof 1\nx = input([4], data=[0.1, -0.0, -inf, 1e-45])\nh = input([2], dtype=f16, data=[nan(0x7ff8040000000000), 2])\ni = input([2], dtype=i64, data=[0, 3])\ny = index_select(x, 0, i)\nreturn (y, h)\ncall (i: data=[1, 2])\n' >"$tmp/w.prog"
	script_of "$tmp/w.prog" torch:inductor@cpu value "out 0 (y)" 0
	has "data, as the dtype holds it" "$tmp/s.py" '^        make_data\("f32", \[0.10000000149011612, -0.0, -math.inf, 1.401298464324817e-45\]\),$'
	has "data with a NaN, by its bits" "$tmp/s.py" '^        make_data\("f16", \[32257, 16384\], bits=True\),$'
	has "data of the second call" "$tmp/s.py" '^        make_data\("i64", \[1, 2\]\),$'
	script_of "$src/tests/prog/raises/expanded_written.prog" torch:aot_eager@cpu raise "" 0
	has "what eager must refuse" "$tmp/s.py" "^MUST_RAISE = True"
	has "and when it exits 1" "$tmp/s.py" "^# Exits 1 if the target runs what eager refuses"
	script_of "$src/corpus/regressions/clone_after_index_put.prog" torch:inductor@cpu alias "out 0 (a)" 0
	has "an alias finding compares memory" "$tmp/s.py" "^MEMORY = True"
	has "and has no table" "$tmp/s.py" "^EXPECTED, NOT_ALL_ZERO = "
}

script_torch() { # … and as they run; options that only PyTorch can refuse
	envs=${SCATTERPROOF_TARGETS:-${XDG_DATA_HOME:-$HOME/.local/share}/scatterproof/targets}
	[ -x "$envs/torch-2.11.0/bin/python" ] || { echo "SKIPPED: no torch-2.11.0 environment, run scripts/setup-targets"; exit 77; }
	run() { "$envs/torch-$1/bin/python" "$tmp/s.py" >"$tmp/out" 2>"$tmp/err"; }
	script_of "$seed" torch:eager gradient x.grad 0
	run 2.11.0
	expect "eager is right" 0 $?
	has "eager is right" "$tmp/out" "^torch 2.11.0.*: x.grad of call 0 is right$"
	script_of "$src/tests/prog/raises/expanded_written.prog" torch:aot_eager@cpu raise "" 0
	run 2.11.0
	expect "the target runs what eager refuses" 1 $?
	has "the target runs what eager refuses" "$tmp/out" "^call 0: eager raises RuntimeError: .*, the target runs$"
	script_of "$src/tests/prog/raises/wrong_shape.prog" torch:aot_eager@cpu raise "" 0
	run 2.11.0
	expect "both refuse it" 0 $?
	has "both refuse it" "$tmp/out" "and so does the target, as it must$"
	script_of "$src/corpus/regressions/unfold_write_with_gaps.prog" torch:eager value "out 0 (w)" 0
	sed -i 's/^    return fn$/    return lambda *a: [o.detach().nextafter(o + 1) for o in fn(*a)]/' "$tmp/s.py"
	run 2.11.0
	expect "the last bit is wrong" 1 $?
	has "the last bit is wrong" "$tmp/out" "^call 0, output 0: 5 of 5 elements are wrong$"
	has "the last bit is wrong" "$tmp/out" "^  \(1, 0\) must be 2.375, eager gives 2.375, the target 2.37500023"
	printf '# scatterproof 1\nx = input([40], seed=1, fill="ties", requires_grad=True)\nm = max.dim(x, 0)\nv = getitem(m, 0)\ng = input([], seed=2, fill="positive")\nreturn (v,)\nbackward (v: g)\n' >"$tmp/w.prog"
	script_of "$tmp/w.prog" torch:inductor@cuda gradient x.grad 0
	sed -i 's/^DEVICE = "cuda"/DEVICE = "cpu"/; s/^    return torch.compile.*/    return fn/' "$tmp/s.py"
	run 2.11.0
	expect "one winner" 0 $?
	sed -i 's/: x.grad for/: x.grad * 0 for/' "$tmp/s.py"
	run 2.11.0
	expect "no winner" 1 $?
	has "no winner" "$tmp/out" "^call 0, x.grad: elements \(5,\), \(9,\), .* are all 0 and share a gradient that is not"
	sed -i 's/^DEVICE = .*/DEVICE = "nonsense"/' "$tmp/s.py"
	run 2.11.0
	expect "eager does not run, either" 2 $?
	has "eager does not run, either" "$tmp/out" "nothing to compare$"
	"$bin" check "$src/corpus/seeds" --target torch:inductor@cpu+no_such_option=1 --target torch:eager >"$tmp/out" 2>"$tmp/err"
	expect "an option that Inductor does not have" 2 $?
	expect "is said once" 1 "$(grep -c "target 'torch:inductor@cpu+no_such_option=1': option 'no_such_option' is unknown" "$tmp/err")"
	has "beside a good target" "$tmp/out" "^7 programs on 2 targets: 7 pass, 7 not run$"
	"$bin" fuzz --target torch:inductor@cpu+no_such_option=1 --no-cheap --time 100s >"$tmp/out" 2>"$tmp/err"
	expect "a campaign with it" 2 $?
	has "a campaign with it" "$tmp/err" "^scatterproof: target 'torch:inductor@cpu\+no_such_option=1': option 'no_such_option' is unknown"
	"$bin" repro "$id" --db "$tmp/s.db" --target torch:inductor@cpu+max_fusion_size=big >"$tmp/out" 2>"$tmp/err"
	expect "repro with a bad value" 2 $?
	has "repro with a bad value" "$tmp/err" "option 'max_fusion_size': 'big' is no int"
	script_of "$seed" torch:inductor@cpu gradient x.grad 0
	run 2.11.0
	expect "the founding bug" 1 $?
	has "the founding bug" "$tmp/out" "^call 0, x.grad: 924 of 1716 elements are wrong$"
	has "where, and what must be" "$tmp/out" "^  \(0, 6, 0\) must be 0.5158538818359375, eager gives 0.5158538818359375, the target 0.0$"
	has "other calls" "$tmp/out" "^call 1, x.grad: 917 of 1716 elements differ from eager's$"
	expect "eight of each" 24 "$(grep -c '^  (' "$tmp/out")"
	[ -x "$envs/torch-2.15.0/bin/python" ] || return
	run 2.15.0
	expect "the founding bug, fixed" 0 $?
	expect "the founding bug, fixed" 1 "$(wc -l <"$tmp/out")"
}

case $part in
script) script ;;
script_torch) script_torch ;;
clean) clean ;;
plants) plants ;;
full) full ;;
targets) targets ;;
mark) mark ;;
merge) merge ;;
kill) kill_test ;;
usage) usage ;;
*) echo "unknown part $part"; exit 2 ;;
esac
echo "$checks checks, $fails failed"
[ $checks -gt 3 ] && [ $fails = 0 ]
